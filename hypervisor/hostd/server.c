/* server.c - see server.h. */
#include "hypervisor/hostd/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

enum { BACKLOG = 16, PAUSE_MS = 100 };

struct hostd_server {
    char secret[HV_SECRET_MAX], proc[HV_TEXT_MAX], listen[HV_URI_MAX];
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)]; /* of a local socket, to remove */
    struct sockets_config sockets;
    int64_t ask_ms, serve_ms;
    int listen_fd, stop_fd;
    size_t n_threads;
    pthread_t threads[HOSTD_CLIENTS_MAX];
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

static void answer_probe(const struct hostd_request *request, int64_t until_ms, char *out_answer)
{
    struct err err = {0};
    int64_t probe_until = now_ms() + HOSTD_PROBE_MS;
    int fd;
    if (hostd_connect(&request->to, probe_until < until_ms ? probe_until : until_ms, &fd, &err)) {
        (void)close(fd);
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok open");
    } else if (err.code == ERR_REFUSED) {
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok refused");
    } else if (err.code == ERR_UNREACHABLE || err.code == ERR_TIMEOUT) {
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "ok dead");
    } else {
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "failed %s %s", err_name(err.code), err.text);
    }
}

static void perform(const struct hostd_server *server, const struct hostd_request *request,
                    int64_t until_ms, char *out_answer)
{
    switch (request->verb) {
    case HOSTD_PING: answer_ping(out_answer); return;
    case HOSTD_KILL_STREAM: answer_kill(server, request, until_ms, out_answer); return;
    case HOSTD_PATH_PROBE: answer_probe(request, until_ms, out_answer); return;
    case HOSTD_VERBS: break;
    }
    (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "failed internal no such request");
}

/* --- one client --- */

static void log_client(const char *peer, const struct hostd_request *request, const struct err *err,
                       const char *answer, int64_t began_ms)
{
    bool refused = err->code != ERR_NONE;
    if (refused)
        LOG(WARN, "hostd_refused", FIELD_TEXT(ADDRESS, peer),
            FIELD_TEXT(ERROR, err_name(err->code)), FIELD_TEXT(TEXT, err->text));
    else
        LOG(INFO, "hostd_request", FIELD_TEXT(ADDRESS, peer),
            FIELD_TEXT(CALL, hostd_verb_name(request->verb)), FIELD_TEXT(GUEST, request->uuid),
            FIELD_TEXT(TEXT, answer), FIELD_I64(SPENT_MS, now_ms() - began_ms));
}

/* A signed but malformed request gets a signed error; an unsigned one gets only "no". */
static bool receive_request(const struct hostd_server *server, int fd, const char *nonce,
                            struct hostd_request *out_request, char *out_answer, struct err *err)
{
    int64_t until_ms = now_ms() + server->ask_ms;
    char line[HOSTD_REQUEST_MAX];
    struct err bad = {0};
    hostd_write_greeting(nonce, line);
    if (!hostd_send_line(fd, line, until_ms, err) ||
        !hostd_receive_line(fd, line, sizeof line, until_ms, err))
        return false;
    if (hostd_read_request(server->secret, nonce, line, out_request, &bad)) {
        out_answer[0] = '\0';
        return true;
    }
    if (bad.code == ERR_INVALID) {
        (void)snprintf(out_answer, HOSTD_ANSWER_MAX, "failed %s %s", err_name(bad.code), bad.text);
        return true;
    }
    (void)hostd_send_line(fd, "no", until_ms, &(struct err){0});
    *err = bad;
    return false;
}

static bool serve(const struct hostd_server *server, int fd, struct hostd_request *request,
                  char *out_answer, struct err *err)
{
    char nonce[HOSTD_HEX_MAX], line[HOSTD_ANSWER_MAX];
    int64_t until = now_ms() + server->serve_ms;
    if (!hostd_nonce(nonce, err) || !receive_request(server, fd, nonce, request, out_answer, err))
        return false;
    if (out_answer[0] == '\0')
        perform(server, request, until, out_answer);
    return hostd_write_answer(server->secret, nonce, request->client_nonce, out_answer, line,
                              err) &&
           hostd_send_line(fd, line, until, err);
}

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

static void take_client(const struct hostd_server *server)
{
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof peer;
    char from[HV_TEXT_MAX], answer[HOSTD_ANSWER_MAX] = "";
    struct hostd_request request = {.verb = HOSTD_VERBS}; /* until it is known */
    struct err err = {0};
    int64_t began = now_ms();
    int fd =
        accept4(server->listen_fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            clock_sleep_ms(PAUSE_MS); /* no files or memory left: do not spin */
        return;
    }
    (void)serve(server, fd, &request, answer, &err);
    (void)close(fd);
    peer_text(&peer, from);
    log_client(from, &request, &err, answer, began);
}

static void *work(void *ctx)
{
    const struct hostd_server *server = ctx;
    for (;;) {
        struct pollfd wait[] = {{.fd = server->stop_fd, .events = POLLIN},
                                {.fd = server->listen_fd, .events = POLLIN}};
        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (wait[0].revents != 0)
            return NULL;
        if (wait[1].revents != 0)
            take_client(server);
    }
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
    while (server->n_threads < HOSTD_CLIENTS_MAX) {
        if (pthread_create(&server->threads[server->n_threads], NULL, work, server) != 0)
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
        (void)eventfd_write(server->stop_fd, 1); /* stays readable: every thread sees it */
    for (size_t i = 0; i < server->n_threads; i++)
        (void)pthread_join(server->threads[i], NULL);
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
