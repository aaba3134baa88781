/* http_guard.c - see http_guard.h. */
#include "exporter/http/http_guard.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <utlist.h>

struct guarded {
    const void *group;
    int fd;
    enum guard_state state;
    bool ended;          /* shut down already */
    int64_t since_ms;    /* in this state */
    int64_t progress_ms; /* SENDING: when its client last took something */
    uint64_t taken;      /* then; a mark that changes with what the client takes */
    struct guarded *prev, *next;
};

struct guard {
    const struct clock *clock;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    struct guarded *first; /* in order of arrival */
    size_t bytes;
    bool stopping, has_thread;
    pthread_t thread;
};

static void end(struct guarded *connection)
{
    connection->ended = true;
    (void)shutdown(connection->fd, SHUT_RDWR);
}

/* Changes when the client has taken something. *out_idle: nothing waits for it. */
static uint64_t taken_mark(int fd, bool *out_idle)
{
    struct tcp_info tcp = {0};
    socklen_t n = sizeof tcp;
    int unsent = 0;
    *out_idle = ioctl(fd, SIOCOUTQ, &unsent) != 0 || unsent == 0;
    bool is_tcp = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &n) == 0;
    return is_tcp ? (uint64_t)tcp.tcpi_bytes_acked : (uint64_t)unsent;
}

/* For how long has its client not read? */
static int64_t stalled_ms(struct guarded *connection, int64_t now_ms)
{
    bool idle;
    if (connection->state != GUARD_SENDING && connection->state != GUARD_WATCHING)
        return 0;
    uint64_t taken = taken_mark(connection->fd, &idle);
    if (idle || taken != connection->taken) {
        connection->taken = taken;
        connection->progress_ms = now_ms;
    }
    return now_ms - connection->progress_ms;
}

static void check(struct guarded *connection, int64_t now_ms)
{
    static const int64_t limits[] = {
        [GUARD_READING] = GUARD_HEADERS_MS,
        [GUARD_WORKING] = INT64_MAX,
        [GUARD_SENDING] = GUARD_SENDING_MS,
        [GUARD_WATCHING] = INT64_MAX, /* but who does not read what is sent is ended */
        [GUARD_IDLE] = GUARD_IDLE_MS,
    };
    int64_t stalled = stalled_ms(connection, now_ms);
    if (!connection->ended &&
        (now_ms - connection->since_ms > limits[connection->state] || stalled > GUARD_STALL_MS))
        end(connection);
}

static void *watch(void *ctx)
{
    struct guard *guard = ctx;
    (void)pthread_mutex_lock(&guard->lock);
    while (!guard->stopping) {
        struct guarded *connection;
        int64_t now_ms = clock_mono_ms(guard->clock);
        DL_FOREACH(guard->first, connection)
        {
            check(connection, now_ms);
        }
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += GUARD_TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&guard->changed, &guard->lock, &until);
    }
    (void)pthread_mutex_unlock(&guard->lock);
    return NULL;
}

struct guard *guard_new(const struct clock *clock, struct err *err)
{
    struct guard *guard = calloc(1, sizeof *guard);
    pthread_condattr_t monotonic;
    if (guard == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the HTTP server");
        return NULL;
    }
    guard->clock = clock;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&guard->lock, NULL);
    (void)pthread_cond_init(&guard->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    guard->has_thread = pthread_create(&guard->thread, NULL, watch, guard) == 0;
    if (guard->has_thread)
        return guard;
    guard_free(guard);
    (void)err_set(err, ERR_NOMEM, "cannot start the guard of the HTTP server");
    return NULL;
}

void guard_free(struct guard *guard)
{
    struct guarded *connection, *next;
    if (guard == NULL)
        return;
    (void)pthread_mutex_lock(&guard->lock);
    guard->stopping = true;
    (void)pthread_cond_signal(&guard->changed);
    (void)pthread_mutex_unlock(&guard->lock);
    if (guard->has_thread)
        (void)pthread_join(guard->thread, NULL);
    DL_FOREACH_SAFE(guard->first, connection, next)
    {
        free(connection);
    }
    (void)pthread_cond_destroy(&guard->changed);
    (void)pthread_mutex_destroy(&guard->lock);
    free(guard);
}

/* The oldest that waits for nothing but its client; whoever sent no request first. */
static void make_room(struct guard *guard, const void *group, unsigned max)
{
    struct guarded *connection, *unread = NULL, *stalled = NULL;
    unsigned n = 0;
    int64_t now_ms = clock_mono_ms(guard->clock);
    DL_FOREACH(guard->first, connection)
    {
        if (connection->group != group || connection->ended)
            continue;
        n++;
        bool waits = connection->state == GUARD_READING || connection->state == GUARD_IDLE;
        if (unread == NULL && waits)
            unread = connection;
        if (stalled == NULL && stalled_ms(connection, now_ms) > 2 * GUARD_TICK_MS)
            stalled = connection;
    }
    if (n < max - max / 4)
        return;
    if (unread != NULL || stalled != NULL)
        end(unread != NULL ? unread : stalled);
}

struct guarded *guard_add(struct guard *guard, const void *group, unsigned max, int fd)
{
    struct guarded *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return NULL;
    connection->group = group;
    connection->fd = fd;
    connection->since_ms = clock_mono_ms(guard->clock);
    (void)pthread_mutex_lock(&guard->lock);
    make_room(guard, group, max);
    DL_APPEND(guard->first, connection);
    (void)pthread_mutex_unlock(&guard->lock);
    return connection;
}

void guard_remove(struct guard *guard, struct guarded *connection)
{
    if (connection == NULL)
        return;
    (void)pthread_mutex_lock(&guard->lock);
    DL_DELETE(guard->first, connection);
    (void)pthread_mutex_unlock(&guard->lock);
    free(connection);
}

void guard_set(struct guard *guard, struct guarded *connection, enum guard_state state)
{
    if (connection == NULL)
        return;
    int64_t now_ms = clock_mono_ms(guard->clock);
    (void)pthread_mutex_lock(&guard->lock);
    connection->state = state;
    connection->since_ms = connection->progress_ms = now_ms;
    connection->taken = UINT64_MAX;
    (void)pthread_mutex_unlock(&guard->lock);
}

bool guard_take_bytes(struct guard *guard, size_t n, size_t budget)
{
    (void)pthread_mutex_lock(&guard->lock);
    bool fits = guard->bytes + n <= budget;
    if (fits)
        guard->bytes += n;
    (void)pthread_mutex_unlock(&guard->lock);
    return fits;
}

void guard_give_bytes(struct guard *guard, size_t n)
{
    (void)pthread_mutex_lock(&guard->lock);
    guard->bytes -= n < guard->bytes ? n : guard->bytes;
    (void)pthread_mutex_unlock(&guard->lock);
}

bool guard_take_shared(struct guard *guard, unsigned *readers, size_t n, size_t budget)
{
    (void)pthread_mutex_lock(&guard->lock);
    bool fits = *readers > 0 || guard->bytes + n <= budget;
    if (fits && (*readers)++ == 0)
        guard->bytes += n;
    (void)pthread_mutex_unlock(&guard->lock);
    return fits;
}

void guard_give_shared(struct guard *guard, unsigned *readers, size_t n)
{
    (void)pthread_mutex_lock(&guard->lock);
    if (--*readers == 0)
        guard->bytes -= n;
    (void)pthread_mutex_unlock(&guard->lock);
}

size_t guard_bytes(struct guard *guard)
{
    (void)pthread_mutex_lock(&guard->lock);
    size_t bytes = guard->bytes;
    (void)pthread_mutex_unlock(&guard->lock);
    return bytes;
}
