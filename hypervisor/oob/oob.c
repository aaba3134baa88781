/* oob.c - see oob.h. */
#include "hypervisor/oob/oob.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "hypervisor/hostd/protocol.h"
#include "hypervisor/oob/qmp.h"

enum { TICK_MS = 500, EVENTS_MAX = 64, PAUSE_MS = 50, LISTENER = 1, WAKE = 2, FIRST_PEER = 3 };

enum stage { STAGE_GREETING, STAGE_NEGOTIATES, STAGE_WHO, STAGE_READY };
enum answer { ANSWER_NONE, ANSWER_PENDING, ANSWER_DONE, ANSWER_NO_STREAM, ANSWER_REFUSED };

struct peer {
    uint64_t id;
    int fd;
    enum stage stage;
    int64_t since_ms;
    char uuid[HV_UUID_MAX];
    uint64_t order; /* the newest yank that concerned it */
    enum answer answer;
    char why[HV_TEXT_MAX]; /* REFUSED */
    size_t n;
    char line[OOB_LINE_MAX];
    UT_hash_handle hh;
};

struct oob {
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t answered;
    pthread_t thread;
    int epoll, listener, wake;
    bool stopping;
    uint64_t next_id, next_order;
    struct peer *peers;
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* --- one monitor --- */

static void drop(struct oob *oob, struct peer *peer)
{
    if (peer->stage == STAGE_READY)
        LOG(INFO, "oob_gone", FIELD_TEXT(GUEST, peer->uuid));
    HASH_DEL(oob->peers, peer);
    (void)close(peer->fd);
    free(peer);
    (void)pthread_cond_broadcast(&oob->answered);
}

/* Short ones only: who does not even take these is stuck. */
static bool tell(const struct peer *peer, const char *text)
{
    char line[4096];
    int n = snprintf(line, sizeof line, "%s\r\n", text);
    return n > 0 && (size_t)n < sizeof line &&
           send(peer->fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n;
}

static void settle(struct oob *oob, struct peer *peer, enum answer answer, const char *why)
{
    peer->answer = answer;
    TEXT_SET(peer->why, why);
    (void)pthread_cond_broadcast(&oob->answered);
}

/* An answer to one of the two orders of a yank. */
static bool on_order(struct oob *oob, struct peer *peer, const struct qmp_message *message)
{
    char asked[QMP_ID_MAX], yanked[QMP_ID_MAX];
    struct err err = {0};
    (void)snprintf(asked, sizeof asked, "ask-%llu", (unsigned long long)peer->order);
    (void)snprintf(yanked, sizeof yanked, "yank-%llu", (unsigned long long)peer->order);
    bool is_asked = strcmp(message->id, asked) == 0, is_yanked = strcmp(message->id, yanked) == 0;
    if (peer->answer != ANSWER_PENDING || (!is_asked && !is_yanked))
        return true; /* of long ago */
    if (message->kind == QMP_ERROR) {
        settle(oob, peer, ANSWER_REFUSED, message->text);
    } else if (is_yanked) {
        settle(oob, peer, ANSWER_DONE, "");
    } else {
        OWNED_TEXT order = qmp_yank_order(message->returned, "exec-oob", yanked, &err);
        if (order == NULL)
            settle(oob, peer, ANSWER_NO_STREAM, err.text);
        return order == NULL || tell(peer, order);
    }
    return true;
}

/* False: it is not what it should be. */
static bool on_message(struct oob *oob, struct peer *peer, const struct qmp_message *message)
{
    bool answer = message->kind == QMP_RETURN || message->kind == QMP_ERROR;
    switch (peer->stage) {
    case STAGE_GREETING:
        peer->stage = STAGE_NEGOTIATES;
        return message->kind == QMP_GREETING && message->oob &&
               tell(peer, "{\"execute\":\"qmp_capabilities\",\"arguments\":{\"enable\":[\"oob\"]},"
                          "\"id\":\"negotiate\"}");
    case STAGE_NEGOTIATES:
        if (!answer)
            return true;
        peer->stage = STAGE_WHO;
        return message->kind == QMP_RETURN &&
               tell(peer, "{\"execute\":\"query-uuid\",\"id\":\"who\"}");
    case STAGE_WHO:
        if (!answer)
            return true;
        if (message->uuid[0] == '\0')
            return false;
        TEXT_SET(peer->uuid, message->uuid);
        peer->stage = STAGE_READY;
        LOG(INFO, "oob_ready", FIELD_TEXT(GUEST, peer->uuid));
        return true;
    case STAGE_READY: return !answer || on_order(oob, peer, message);
    }
    return false;
}

static bool on_line(struct oob *oob, struct peer *peer, const char *line, size_t n)
{
    struct err err = {0};
    struct qmp_message message;
    while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
        n--;
    if (n == 0)
        return true;
    OWNED(json_object) object = json_parse(line, n, "monitor", &err);
    if (object == NULL)
        return false;
    qmp_read(object, &message);
    return on_message(oob, peer, &message);
}

/* False: it is gone, or talks nonsense. */
static bool hear(struct oob *oob, struct peer *peer)
{
    ssize_t n = recv(peer->fd, peer->line + peer->n, sizeof peer->line - peer->n, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    peer->n += (size_t)n;
    size_t at = 0;
    for (char *end; (end = memchr(peer->line + at, '\n', peer->n - at)) != NULL;) {
        size_t length = (size_t)(end - (peer->line + at));
        if (!on_line(oob, peer, peer->line + at, length))
            return false;
        at += length + 1;
    }
    peer->n -= at;
    memmove(peer->line, peer->line + at, peer->n);
    return n > 0 && peer->n < sizeof peer->line;
}

/* --- the thread --- */

/* False: there are no files or memory for another one now. */
static bool let_in(struct oob *oob)
{
    int fd = accept4(oob->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    struct peer *peer = HASH_COUNT(oob->peers) < OOB_PEERS_MAX ? calloc(1, sizeof *peer) : NULL;
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (peer != NULL) {
        peer->id = oob->next_id++;
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = peer->id};
        if (epoll_ctl(oob->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
            peer->fd = fd;
            peer->since_ms = now_ms();
            HASH_ADD(hh, oob->peers, id, sizeof peer->id, peer);
            return true;
        }
    }
    free(peer);
    (void)close(fd);
    return false;
}

static bool handle(struct oob *oob, uint64_t id)
{
    struct peer *peer = NULL;
    if (id == LISTENER)
        return let_in(oob);
    HASH_FIND(hh, oob->peers, &id, sizeof id, peer);
    if (peer != NULL && !hear(oob, peer))
        drop(oob, peer);
    return true;
}

static void tick(struct oob *oob, int64_t now)
{
    struct peer *peer, *next;
    HASH_ITER(hh, oob->peers, peer, next)
    {
        if (peer->stage != STAGE_READY && now - peer->since_ms >= OOB_HANDSHAKE_MS)
            drop(oob, peer);
    }
}

static void *main_loop(void *arg)
{
    struct oob *oob = arg;
    struct epoll_event events[EVENTS_MAX];
    for (bool stopping = false, fine = true; !stopping;) {
        int n = epoll_wait(oob->epoll, events, EVENTS_MAX, TICK_MS);
        if (!fine)
            clock_sleep_ms(PAUSE_MS); /* not in circles */
        (void)pthread_mutex_lock(&oob->lock);
        stopping = oob->stopping;
        fine = true;
        for (int i = 0; !stopping && i < n; i++)
            fine = handle(oob, events[i].data.u64) && fine;
        if (!stopping)
            tick(oob, now_ms());
        (void)pthread_mutex_unlock(&oob->lock);
    }
    return NULL;
}

/* --- birth and end --- */

static bool listen_on(struct oob *oob, const char *address, struct err *err)
{
    struct hostd_address at;
    int on = 1;
    struct epoll_event listener = {.events = EPOLLIN, .data.u64 = LISTENER};
    struct epoll_event wake = {.events = EPOLLIN, .data.u64 = WAKE};
    if (!hostd_address_parse(address, &at, err))
        return err_wrap(err, "out-of-band monitors");
    oob->epoll = epoll_create1(EPOLL_CLOEXEC);
    oob->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    oob->listener = socket(at.at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (oob->listener >= 0)
        (void)setsockopt(oob->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (oob->epoll >= 0 && oob->wake >= 0 && oob->listener >= 0 &&
        bind(oob->listener, (const struct sockaddr *)&at.at, at.length) == 0 &&
        listen(oob->listener, EVENTS_MAX) == 0 &&
        epoll_ctl(oob->epoll, EPOLL_CTL_ADD, oob->listener, &listener) == 0 &&
        epoll_ctl(oob->epoll, EPOLL_CTL_ADD, oob->wake, &wake) == 0)
        return true;
    return err_set(err, ERR_IO, "out-of-band monitors: cannot listen on %s: %s", address,
                   strerror(errno));
}

static bool start(struct oob *oob, struct err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&oob->thread, NULL, main_loop, oob) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started || err_set(err, ERR_LIMIT, "no thread for out-of-band monitors");
}

static void close_all(struct oob *oob)
{
    int *files[] = {&oob->listener, &oob->wake, &oob->epoll};
    struct peer *peer, *next;
    HASH_ITER(hh, oob->peers, peer, next)
    {
        drop(oob, peer);
    }
    for (size_t i = 0; i < COUNT(files); i++)
        if (*files[i] >= 0)
            (void)close(*files[i]);
    (void)pthread_cond_destroy(&oob->answered);
    (void)pthread_mutex_destroy(&oob->lock);
    free(oob);
}

struct oob *oob_new(const char *address, struct err *err)
{
    struct oob *oob = calloc(1, sizeof *oob);
    if (oob == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for out-of-band monitors");
        return NULL;
    }
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&oob->answered, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&oob->lock, NULL);
    oob->epoll = oob->listener = oob->wake = -1;
    oob->next_id = FIRST_PEER;
    if (listen_on(oob, address, err) && start(oob, err))
        return oob;
    close_all(oob);
    return NULL;
}

void oob_free(struct oob *oob)
{
    uint64_t one = 1;
    if (oob == NULL)
        return;
    (void)pthread_mutex_lock(&oob->lock);
    oob->stopping = true;
    (void)pthread_mutex_unlock(&oob->lock);
    (void)!write(oob->wake, &one, sizeof one);
    (void)pthread_join(oob->thread, NULL);
    close_all(oob);
}

/* --- orders --- */

static bool is_ready(const struct peer *peer, const char *guest)
{
    return peer->stage == STAGE_READY && strcasecmp(peer->uuid, guest) == 0;
}

unsigned oob_monitors(struct oob *oob, const char *guest)
{
    unsigned n = 0;
    struct peer *peer, *next;
    (void)pthread_mutex_lock(&oob->lock);
    HASH_ITER(hh, oob->peers, peer, next)
    {
        n += is_ready(peer, guest);
    }
    (void)pthread_mutex_unlock(&oob->lock);
    return n;
}

static unsigned ask_all(struct oob *oob, const char *guest, uint64_t order)
{
    char text[96];
    unsigned n = 0;
    struct peer *peer, *next;
    (void)snprintf(text, sizeof text, "{\"exec-oob\":\"query-yank\",\"id\":\"ask-%llu\"}",
                   (unsigned long long)order);
    HASH_ITER(hh, oob->peers, peer, next)
    {
        if (!is_ready(peer, guest))
            continue;
        peer->order = order;
        peer->answer = ANSWER_PENDING;
        if (tell(peer, text))
            n++;
        else
            drop(oob, peer);
    }
    return n;
}

/* The best of what they said; one that broke its stream is enough. */
static enum answer best_of(const struct oob *oob, uint64_t order, bool *out_pending, char *why)
{
    enum answer best = ANSWER_NONE;
    const struct peer *peer;
    *out_pending = false;
    for (peer = oob->peers; peer != NULL; peer = peer->hh.next) {
        if (peer->order != order)
            continue;
        *out_pending = *out_pending || peer->answer == ANSWER_PENDING;
        if (best == ANSWER_NONE || peer->answer == ANSWER_DONE || best == ANSWER_PENDING)
            best = peer->answer;
        if (peer->answer == ANSWER_REFUSED)
            (void)text_copy(why, HV_TEXT_MAX, peer->why);
    }
    return best;
}

static enum answer await(struct oob *oob, uint64_t order, char *why)
{
    struct timespec until;
    bool pending, late = false;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += OOB_ANSWER_MS / 1000;
    enum answer best = best_of(oob, order, &pending, why);
    while (pending && !late && best != ANSWER_DONE) { /* the other end may be out of reach */
        late = pthread_cond_timedwait(&oob->answered, &oob->lock, &until) != 0;
        best = best_of(oob, order, &pending, why);
    }
    return best;
}

bool oob_yank(struct oob *oob, const char *guest, struct err *err)
{
    char why[HV_TEXT_MAX] = "";
    (void)pthread_mutex_lock(&oob->lock);
    uint64_t order = ++oob->next_order;
    unsigned asked = ask_all(oob, guest, order);
    enum answer best = asked > 0 ? await(oob, order, why) : ANSWER_NONE;
    (void)pthread_mutex_unlock(&oob->lock);
    if (asked == 0)
        return err_set(err, ERR_NOT_FOUND, "the guest has no out-of-band monitor here");
    switch (best) {
    case ANSWER_DONE: return true;
    case ANSWER_NO_STREAM: return err_set(err, ERR_REFUSED, "no stream to break");
    case ANSWER_REFUSED: return err_set(err, ERR_REFUSED, "%s", why);
    case ANSWER_NONE:
    case ANSWER_PENDING: break;
    }
    return err_set(err, ERR_TIMEOUT, "the guest's out-of-band monitor did not answer in time");
}
