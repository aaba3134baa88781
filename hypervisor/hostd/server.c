/* server.c - see server.h. */
#include "hypervisor/hostd/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/queue.h"
#include "base/text.h"
#include "hypervisor/hostd/inspect.h"

enum {
    BACKLOG = 128,
    PAUSE_MS = 100,
    HOSTD_ERROR_MAX = 512,
    LOG_WINDOW_MS = 60000,
    LOG_LINES_MAX = 10, /* of refused clients, per window */
};

struct hostd_client;

struct hostd_server {
    char secret[HV_SECRET_MAX], proc[HV_TEXT_MAX], listen[HV_URI_MAX];
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)]; /* of a local socket, to remove */
    struct sockets_config sockets;
    int64_t ask_ms, serve_ms;
    int listen_fd, stop_fd;
    atomic_flag resolving;
    struct hostd_client *clients; /* HOSTD_WAITING_MAX; the listening thread's */
    int64_t log_since_ms;         /* the listening thread's, as is the next */
    uint64_t log_lines;
    struct queue *jobs; /* signed requests */
    size_t n_threads;   /* the first one listens, the others work */
    pthread_t threads[1 + HOSTD_CLIENTS_MAX];
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* --- requests --- */

static void answer_ping(char *out_answer)
{
    struct err err = {0};
    if (sockets_self_test(&err))
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok " FERRY_VERSION);
    else
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "failed %s %s", err_name(err.code), err.text);
}

static void answer_kill(const struct hostd_server *server, const struct hostd_request *request,
                        int64_t until_ms, char *out_answer)
{
    struct sockets_report report;
    struct err err = {0};
    struct buf text;
    buf_init(&text, HOSTD_ANSWER_MAX - HOSTD_HEX_MAX - 1);
    if (sockets_kill(&server->sockets, request->uuid, until_ms, &report, &err))
        buf_addf(&text, "ok %u", report.n);
    else
        buf_addf(&text, "failed %s %s", err_name(err.code), err.text);
    for (unsigned i = 0; i < report.n; i++) {
        char tuple[SOCKETS_TEXT_MAX];
        sockets_text(&report.closed[i], tuple);
        buf_addf(&text, "%s%s", err.code == ERR_NONE ? " " : "; closed ", tuple);
        LOG(WARN, "hostd_closed", FIELD_TEXT(GUEST, request->uuid), FIELD_TEXT(ADDRESS, tuple));
    }
    OWNED_TEXT whole = buf_take(&text);
    (void)text_copy(out_answer, HOSTD_ANSWER_MAX, whole != NULL ? whole : "failed nomem no memory");
}

static void write_failure(const struct err *err, char *out_answer)
{
    (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "failed %s %s", err_name(err->code), err->text);
}

static void answer_probe(const struct hostd_request *request, int64_t until_ms, char *out_answer)
{
    struct err err = {0};
    int64_t probe_until = now_ms() + HOSTD_PROBE_MS;
    enum hostd_path path;
    if (inspect_path(&request->to, probe_until < until_ms ? probe_until : until_ms, &path, &err))
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok %s", hostd_path_name(path));
    else
        write_failure(&err, out_answer);
}

/* A name server that does not answer holds one worker, never all of them. */
static void answer_resolve(struct hostd_server *server, const char *name, char *out_answer)
{
    struct err err = {0};
    char ip[HV_TEXT_MAX];
    if (atomic_flag_test_and_set(&server->resolving)) {
        (void)err_set(&err, ERR_LIMIT, "another lookup is under way");
        write_failure(&err, out_answer);
        return;
    }
    if (inspect_name(name, ip, &err))
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok %s", ip);
    else
        write_failure(&err, out_answer);
    atomic_flag_clear(&server->resolving);
}

static void answer_directory(const char *path, char *out_answer)
{
    struct err err = {0};
    char identity[HV_TEXT_MAX];
    if (inspect_directory(path, identity, &err))
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok %s", identity);
    else
        write_failure(&err, out_answer);
}

static void answer_facts(char *out_answer)
{
    struct hostd_facts facts;
    char text[HOSTD_REQUEST_MAX];
    inspect_facts("", &facts);
    inspect_write_facts(&facts, text, sizeof text);
    (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok %s", text);
}

static void perform(struct hostd_server *server, const struct hostd_request *request,
                    int64_t until_ms, char *out_answer)
{
    switch (request->verb) {
    case HOSTD_PING: answer_ping(out_answer); return;
    case HOSTD_KILL_STREAM: answer_kill(server, request, until_ms, out_answer); return;
    case HOSTD_PATH_PROBE: answer_probe(request, until_ms, out_answer); return;
    case HOSTD_RESOLVE: answer_resolve(server, request->word, out_answer); return;
    case HOSTD_ASK_FACTS: answer_facts(out_answer); return;
    case HOSTD_DIRECTORY: answer_directory(request->word, out_answer); return;
    case HOSTD_VERBS: break;
    }
    (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "failed internal no such request");
}

/* --- clients whose request is not complete --- */

/* Only a signed request gets a worker: who sends none, or slowly, holds a slot of this table, which
 * the newer connections of the same address take from it. */
struct hostd_client {
    int fd; /* -1: free */
    int64_t began_ms, until_ms;
    struct sockaddr_storage peer;
    char nonce[HOSTD_HEX_MAX], line[HOSTD_REQUEST_MAX];
    size_t n; /* bytes of the line */
};

static void peer_text(const struct sockaddr_storage *peer, char *out_text)
{
    char ip[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)peer;
    if (peer->ss_family == AF_INET && inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof ip) != NULL)
        (void)snprintf(out_text, HV_TEXT_MAX, "%s:%u", ip, ntohs(v4->sin_port));
    else if (peer->ss_family == AF_INET6 &&
             inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof ip) != NULL)
        (void)snprintf(out_text, HV_TEXT_MAX, "[%s]:%u", ip, ntohs(v6->sin6_port));
    else
        (void)snprintf(out_text, HV_TEXT_MAX, "local");
}

static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->ss_family != AF_INET6 ||
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* Any client can cause these: a few lines per window, then their number. */
static void log_refused(struct hostd_server *server, const struct sockaddr_storage *peer,
                        const struct err *err)
{
    char from[HV_TEXT_MAX];
    int64_t now = now_ms();
    if (now - server->log_since_ms >= LOG_WINDOW_MS) {
        if (server->log_lines > LOG_LINES_MAX)
            LOG(WARN, "hostd_refused",
                FIELD_I64(COUNT, (int64_t)server->log_lines - LOG_LINES_MAX));
        server->log_since_ms = now;
        server->log_lines = 0;
    }
    if (server->log_lines++ >= LOG_LINES_MAX)
        return;
    peer_text(peer, from);
    LOG(WARN, "hostd_refused", FIELD_TEXT(ADDRESS, from), FIELD_TEXT(ERROR, err_name(err->code)),
        FIELD_TEXT(TEXT, err->text));
}

static void drop_client(struct hostd_server *server, struct hostd_client *client,
                        enum err_code code, const char *why)
{
    struct err err = {0};
    (void)err_set(&err, code, "%s", why);
    log_refused(server, &client->peer, &err);
    (void)close(client->fd);
    client->fd = -1;
}

/* A free slot; else the oldest of that address if it has too many; else the oldest of all. */
static struct hostd_client *slot_for(struct hostd_server *server,
                                     const struct sockaddr_storage *peer)
{
    struct hostd_client *free_one = NULL, *oldest = NULL, *oldest_same = NULL;
    unsigned same = 0;
    for (size_t i = 0; i < HOSTD_WAITING_MAX; i++) {
        struct hostd_client *client = &server->clients[i];
        if (client->fd < 0) {
            free_one = client;
            continue;
        }
        if (oldest == NULL || client->began_ms < oldest->began_ms)
            oldest = client;
        if (!is_same_address(&client->peer, peer))
            continue;
        same++;
        if (oldest_same == NULL || client->began_ms < oldest_same->began_ms)
            oldest_same = client;
    }
    struct hostd_client *victim = same >= HOSTD_PER_ADDRESS_MAX ? oldest_same
                                  : free_one == NULL            ? oldest
                                                                : NULL;
    if (victim == NULL)
        return free_one;
    drop_client(server, victim, ERR_LIMIT, "evicted: too many connections without a request");
    return victim;
}

static void greet(struct hostd_server *server, int fd, const struct sockaddr_storage *peer)
{
    struct hostd_client *client = slot_for(server, peer);
    struct err err = {0};
    char line[HOSTD_REQUEST_MAX];
    client->n = 0;
    client->peer = *peer;
    client->began_ms = now_ms();
    client->until_ms = client->began_ms + server->ask_ms;
    client->fd = fd;
    if (!hostd_nonce(client->nonce, &err)) {
        drop_client(server, client, err.code, err.text);
        return;
    }
    hostd_write_greeting(client->nonce, line);
    if (!hostd_send_line(fd, line, client->began_ms + 100, &err)) /* fits the socket's buffer */
        drop_client(server, client, err.code, err.text);
}

static void accept_all(struct hostd_server *server)
{
    for (unsigned i = 0; i < HOSTD_WAITING_MAX; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t length = sizeof peer;
        int fd = accept4(server->listen_fd, (struct sockaddr *)&peer, &length,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            greet(server, fd, &peer);
            continue;
        }
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            clock_sleep_ms(PAUSE_MS); /* no files or memory left: do not spin */
        return;
    }
}

/* --- signed requests --- */

struct hostd_job {
    int fd;
    int64_t began_ms, until_ms;
    struct sockaddr_storage peer;
    struct hostd_request request;
    char nonce[HOSTD_HEX_MAX], answer[HOSTD_ERROR_MAX]; /* not empty: it is known already */
};

static void do_job(struct hostd_server *server, struct hostd_job *job)
{
    char from[HV_TEXT_MAX], answer[HOSTD_ANSWER_MAX], line[HOSTD_ANSWER_MAX];
    struct err err = {0};
    TEXT_SET(answer, job->answer);
    if (answer[0] == '\0')
        perform(server, &job->request, job->until_ms, answer);
    if (hostd_write_answer(server->secret, job->nonce, job->request.client_nonce, answer, line,
                           &err))
        (void)hostd_send_line(job->fd, line, job->until_ms, &err);
    (void)close(job->fd);
    peer_text(&job->peer, from);
    LOG(INFO, "hostd_request", FIELD_TEXT(ADDRESS, from),
        FIELD_TEXT(CALL, hostd_verb_name(job->request.verb)), FIELD_TEXT(GUEST, job->request.uuid),
        FIELD_TEXT(TEXT, answer), FIELD_I64(SPENT_MS, now_ms() - job->began_ms));
}

/* A signed but malformed request gets a signed error; an unsigned one gets only "no". */
static void take_request(struct hostd_server *server, struct hostd_client *client)
{
    struct hostd_job job = {.fd = client->fd,
                            .began_ms = client->began_ms,
                            .until_ms = now_ms() + server->serve_ms,
                            .peer = client->peer,
                            .request = {.verb = HOSTD_VERBS}};
    struct err bad = {0};
    TEXT_SET(job.nonce, client->nonce);
    if (!hostd_read_request(server->secret, client->nonce, client->line, &job.request, &bad)) {
        if (bad.code != ERR_INVALID) {
            (void)hostd_send_line(client->fd, "no", now_ms() + 100, &(struct err){0});
            drop_client(server, client, bad.code, bad.text);
            return;
        }
        (void)snprintf(job.answer, sizeof job.answer, "failed %s %.400s", err_name(bad.code),
                       bad.text);
    }
    if (queue_push(server->jobs, &job))
        client->fd = -1; /* the worker's */
    else
        drop_client(server, client, ERR_LIMIT, "too many requests wait");
}

static void read_client(struct hostd_server *server, struct hostd_client *client)
{
    ssize_t more = recv(client->fd, client->line + client->n, sizeof client->line - client->n, 0);
    if (more < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (more <= 0) {
        drop_client(server, client, ERR_UNREACHABLE, "the connection was closed");
        return;
    }
    client->n += (size_t)more;
    const char *end = memchr(client->line, '\n', client->n);
    bool whole =
        end == client->line + client->n - 1 && memchr(client->line, '\0', client->n) == NULL;
    if (end == NULL && client->n < sizeof client->line)
        return;
    if (!whole) {
        drop_client(server, client, ERR_CORRUPT, "not one line of text");
        return;
    }
    client->line[client->n - 1] = '\0';
    take_request(server, client);
}

/* --- threads --- */

static int64_t drop_late(struct hostd_server *server)
{
    int64_t now = now_ms(), next = now + server->ask_ms;
    for (size_t i = 0; i < HOSTD_WAITING_MAX; i++) {
        struct hostd_client *client = &server->clients[i];
        if (client->fd >= 0 && now >= client->until_ms)
            drop_client(server, client, ERR_TIMEOUT, "no request in time");
        else if (client->fd >= 0 && client->until_ms < next)
            next = client->until_ms;
    }
    return next - now;
}

/* One loop over all clients that have not asked yet. */
static void *listen_loop(void *ctx)
{
    struct hostd_server *server = ctx;
    struct pollfd wait[HOSTD_WAITING_MAX + 2] = {{.fd = server->stop_fd, .events = POLLIN},
                                                 {.fd = server->listen_fd, .events = POLLIN}};
    for (;;) {
        int64_t left = drop_late(server);
        for (size_t i = 0; i < HOSTD_WAITING_MAX; i++)
            wait[i + 2] = (struct pollfd){.fd = server->clients[i].fd, .events = POLLIN};
        if (poll(wait, COUNT(wait), (int)left) < 0 && errno != EINTR)
            return NULL;
        if (wait[0].revents != 0)
            return NULL;
        for (size_t i = 0; i < HOSTD_WAITING_MAX; i++)
            if (wait[i + 2].fd >= 0 && wait[i + 2].revents != 0)
                read_client(server, &server->clients[i]);
        if (wait[1].revents != 0)
            accept_all(server);
    }
}

static void *work(void *ctx)
{
    struct hostd_server *server = ctx;
    struct hostd_job job;
    while (queue_pop(server->jobs, &job, -1) == QUEUE_ITEM)
        do_job(server, &job);
    return NULL;
}

/* --- creation and end --- */

static bool start_listening(struct hostd_server *server, const char *listen_on, struct err *err)
{
    struct hostd_address address;
    const int yes = 1;
    if (!hostd_address_parse(listen_on, &address, err))
        return false;
    bool is_local = address.at.ss_family == AF_UNIX;
    server->listen_fd = socket(address.at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->listen_fd < 0)
        return err_set(err, ERR_IO, "socket: %s", strerror(errno));
    (void)setsockopt(server->listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct stat old;
    if (is_local && lstat(listen_on, &old) == 0 && S_ISSOCK(old.st_mode))
        (void)unlink(listen_on); /* left by a helper that was killed */
    if (is_local)
        (void)fchmod(server->listen_fd, 0600);
    if (bind(server->listen_fd, (const struct sockaddr *)&address.at, address.length) != 0 ||
        listen(server->listen_fd, BACKLOG) != 0)
        return err_set(err, ERR_IO, "cannot listen on %s: %s", listen_on, strerror(errno));
    if (is_local)
        TEXT_SET(server->path, listen_on);
    TEXT_SET(server->listen, listen_on);
    return true;
}

static bool start(struct hostd_server *server, const struct hostd_config *config, struct err *err)
{
    if (!start_listening(server, config->listen, err))
        return false;
    server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->stop_fd < 0)
        return err_set(err, ERR_IO, "eventfd: %s", strerror(errno));
    server->jobs = queue_new(sizeof(struct hostd_job), HOSTD_JOBS_MAX, err);
    server->clients = calloc(HOSTD_WAITING_MAX, sizeof *server->clients);
    if (server->jobs == NULL || server->clients == NULL)
        return err_set(err, ERR_NOMEM, "no memory for the helper");
    for (size_t i = 0; i < HOSTD_WAITING_MAX; i++)
        server->clients[i].fd = -1;
    while (server->n_threads < COUNT(server->threads)) {
        void *(*run)(void *) = server->n_threads == 0 ? listen_loop : work;
        if (pthread_create(&server->threads[server->n_threads], NULL, run, server) != 0)
            return err_set(err, ERR_NOMEM, "cannot start a thread");
        server->n_threads++;
    }
    return true;
}

struct hostd_server *hostd_server_new(const struct hostd_config *config, struct err *err)
{
    OWNED(hostd_server) server = calloc(1, sizeof *server);
    if (server == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the helper");
        return NULL;
    }
    server->listen_fd = server->stop_fd = -1;
    TEXT_SET(server->secret, config->secret);
    TEXT_SET(server->proc, config->sockets.proc);
    server->sockets = config->sockets;
    server->sockets.proc = server->proc;
    server->ask_ms = config->ask_ms > 0 ? config->ask_ms : HOSTD_ASK_MS;
    server->serve_ms = config->serve_ms > 0 ? config->serve_ms : HOSTD_SERVE_MS;
    return start(server, config, err) ? TAKE(server) : NULL;
}

void hostd_server_free(struct hostd_server *server)
{
    if (server == NULL)
        return;
    if (server->stop_fd >= 0)
        (void)eventfd_write(server->stop_fd, 1);
    for (size_t i = 0; i < server->n_threads; i++) {
        (void)pthread_join(server->threads[i], NULL);
        if (i == 0)
            queue_close(server->jobs); /* nobody listens any more: the workers finish */
    }
    for (size_t i = 0; server->clients != NULL && i < HOSTD_WAITING_MAX; i++)
        if (server->clients[i].fd >= 0)
            (void)close(server->clients[i].fd);
    free(server->clients);
    queue_free(server->jobs);
    if (server->listen_fd >= 0)
        (void)close(server->listen_fd);
    if (server->stop_fd >= 0)
        (void)close(server->stop_fd);
    if (server->path[0] != '\0')
        (void)unlink(server->path);
    explicit_bzero(server->secret, sizeof server->secret);
    free(server);
}

void hostd_server_address(const struct hostd_server *server, char *out_text)
{
    struct sockaddr_storage at = {0};
    socklen_t length = sizeof at;
    char text[HV_TEXT_MAX];
    if (server->path[0] == '\0' &&
        getsockname(server->listen_fd, (struct sockaddr *)&at, &length) == 0)
        peer_text(&at, text);
    else
        TEXT_SET(text, server->path);
    (void)text_copy(out_text, HV_URI_MAX, text);
}
