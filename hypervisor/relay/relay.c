/* relay.c - see relay.h: the relays, their listeners and their thread. stream.c moves the bytes. */
#include "hypervisor/relay/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "hypervisor/relay/inside.h"

enum { TICK_MS = 250, EVENTS_MAX = 64 };

struct relays {
    pthread_mutex_t lock; /* everything below */
    pthread_t thread;
    int epoll, wake;
    bool stopping;
    uint64_t next_id;
    unsigned next_port; /* where the search begins: another Ferry may use the same range */
    struct relay *all;
    struct stream *streams;
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* --- one relay --- */

static void drop_stream(struct relays *relays, struct stream *stream, bool reset)
{
    uint64_t waiting = 0;
    struct relay *relay = stream->relay;
    stream_count(stream, &waiting, &relay->delivered);
    relay->taken += stream->taken;
    HASH_DEL(relays->streams, stream);
    DL_DELETE(relay->streams, stream);
    stream_free(stream, reset);
}

static void drop_relay(struct relays *relays, struct relay *relay)
{
    while (relay->streams != NULL)
        drop_stream(relays, relay->streams, true);
    relay_close_fd(&relay->listener);
    HASH_DEL(relays->all, relay);
    free(relay);
}

/* One that cannot be let in, for want of files or memory, fails its migration: nobody else comes.
 */
static void let_in(struct relays *relays, struct relay *relay)
{
    int fd = accept4(relay->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
        return;
    struct stream *stream =
        fd >= 0 ? stream_new(relays->epoll, ++relays->next_id, relay, fd, now_ms()) : NULL;
    if (stream == NULL) {
        LOG(WARN, "relay_refused", FIELD_TEXT(GUEST, relay->guest),
            FIELD_TEXT(ERROR, strerror(errno)));
        relay_close_fd(&relay->listener);
        return;
    }
    HASH_ADD(hh, relays->streams, id, sizeof stream->id, stream);
    DL_APPEND(relay->streams, stream);
    if (--relay->streams_left == 0)
        relay_close_fd(&relay->listener);
}

static void measure(struct relay *relay, int64_t now)
{
    uint64_t waiting = 0, delivered = relay->delivered;
    const struct stream *stream;
    DL_FOREACH(relay->streams, stream)
    {
        stream_count(stream, &waiting, &delivered);
    }
    if (waiting == 0 || delivered != relay->seen)
        relay->delivered_ms = now;
    relay->waiting = waiting;
    relay->seen = delivered;
}

/* Its migration is over, as far as anybody can tell. */
static bool is_over(struct relay *relay, int64_t now)
{
    if (!relay->released)
        return false;
    if (relay->known || relay->streams == NULL)
        return now >= relay->until_ms || (relay->streams == NULL && relay->listener < 0);
    relay->until_ms = now + RELAY_ORPHAN_MS;
    return false;
}

/* --- the thread --- */

static void handle(struct relays *relays, const struct epoll_event *event)
{
    uint64_t id = event->data.u64 / WHAT_COUNT;
    enum what what = (enum what)(event->data.u64 % WHAT_COUNT);
    struct relay *relay = NULL;
    struct stream *stream = NULL;
    if (what == WHAT_LISTENER) {
        HASH_FIND(hh, relays->all, &id, sizeof id, relay);
        if (relay != NULL && relay->listener >= 0)
            let_in(relays, relay);
        return;
    }
    HASH_FIND(hh, relays->streams, &id, sizeof id, stream);
    bool failed = (event->events & EPOLLERR) != 0;
    if (stream != NULL && !stream_step(relays->epoll, stream, what, failed))
        drop_stream(relays, stream, !stream_is_over(stream));
}

static void tick(struct relays *relays, int64_t now)
{
    struct relay *relay, *next;
    struct stream *stream, *after;
    HASH_ITER(hh, relays->all, relay, next)
    {
        DL_FOREACH_SAFE(relay->streams, stream, after)
        {
            if (stream->connecting && now - stream->began_ms >= RELAY_CONNECT_MS)
                drop_stream(relays, stream, true);
        }
        measure(relay, now);
        if (is_over(relay, now))
            drop_relay(relays, relay);
    }
}

static void *main_loop(void *arg)
{
    struct relays *relays = arg;
    struct epoll_event events[EVENTS_MAX];
    int64_t ticked = 0;
    for (;;) {
        int n = epoll_wait(relays->epoll, events, EVENTS_MAX, TICK_MS);
        (void)pthread_mutex_lock(&relays->lock);
        bool stopping = relays->stopping;
        for (int i = 0; !stopping && i < n; i++)
            handle(relays, &events[i]);
        if (!stopping && now_ms() - ticked >= TICK_MS) {
            ticked = now_ms();
            tick(relays, ticked);
        }
        (void)pthread_mutex_unlock(&relays->lock);
        if (stopping)
            return NULL;
    }
}

static bool start(struct relays *relays)
{
    sigset_t all, before;
    (void)sigfillset(
        &all); /* SIGPIPE among them: whom a broken stream concerns is told otherwise */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&relays->thread, NULL, main_loop, relays) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct relays *relays_new(struct err *err)
{
    struct relays *relays = calloc(1, sizeof *relays);
    if (relays == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for relays");
        return NULL;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = relay_key(0, WHAT_WAKE)};
    relays->next_port = (unsigned)getpid();
    relays->epoll = epoll_create1(EPOLL_CLOEXEC);
    relays->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&relays->lock, NULL);
    if (relays->epoll >= 0 && relays->wake >= 0 &&
        epoll_ctl(relays->epoll, EPOLL_CTL_ADD, relays->wake, &event) == 0 && start(relays))
        return relays;
    (void)err_set(err, ERR_LIMIT, "no thread or files for relays");
    relay_close_fd(&relays->epoll);
    relay_close_fd(&relays->wake);
    free(relays);
    return NULL;
}

void relays_free(struct relays *relays)
{
    struct relay *relay, *next;
    uint64_t one = 1;
    if (relays == NULL)
        return;
    (void)pthread_mutex_lock(&relays->lock);
    relays->stopping = true;
    (void)pthread_mutex_unlock(&relays->lock);
    (void)!write(relays->wake, &one, sizeof one);
    (void)pthread_join(relays->thread, NULL);
    HASH_ITER(hh, relays->all, relay, next)
    {
        drop_relay(relays, relay);
    }
    relay_close_fd(&relays->epoll);
    relay_close_fd(&relays->wake);
    (void)pthread_mutex_destroy(&relays->lock);
    free(relays);
}

/* --- opening --- */

/* -1: not that one; errno says why. */
static int listen_on(const struct hostd_address *at)
{
    int on = 1;
    int fd = socket(at->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&at->at, at->length) == 0 &&
        listen(fd, RELAY_STREAMS_MAX) == 0)
        return fd;
    int why = errno;
    (void)close(fd);
    errno = why;
    return -1;
}

static bool find_port(struct relays *relays, const struct relay_wish *wish, int *out_fd,
                      unsigned *out_port, struct err *err)
{
    struct hostd_address at;
    unsigned n = wish->port_max - wish->port_min + 1;
    for (unsigned i = 0; i < n; i++) {
        unsigned port = wish->port_min + (relays->next_port + i) % n;
        if (!hostd_address_make(wish->address, port, &at, err))
            return err_wrap(err, "relay");
        *out_fd = listen_on(&at);
        if (*out_fd >= 0) {
            *out_port = port;
            relays->next_port += i + 1;
            return true;
        }
        if (errno != EADDRINUSE)
            return err_set(err, ERR_IO, "relay: cannot listen on %s: %s", wish->address,
                           strerror(errno));
    }
    return err_set(err, ERR_LIMIT, "relay: none of the ports %u-%u of %s is free", wish->port_min,
                   wish->port_max, wish->address);
}

static struct relay *make(struct relays *relays, const struct relay_wish *wish, unsigned *out_port,
                          struct err *err)
{
    int fd = -1;
    struct relay *relay = calloc(1, sizeof *relay);
    if (relay == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for a relay");
        return NULL;
    }
    relay->listener = -1;
    if (!find_port(relays, wish, &fd, out_port, err) ||
        !hostd_address_make(wish->target, *out_port, &relay->target, err)) {
        relay_close_fd(&fd);
        free(relay);
        return NULL;
    }
    TEXT_SET(relay->guest, wish->guest);
    relay->listener = fd;
    relay->port = *out_port;
    relay->streams_left = wish->streams;
    relay->delivered_ms = now_ms();
    relay->id = ++relays->next_id;
    return relay;
}

uint64_t relays_open(struct relays *relays, const struct relay_wish *wish, unsigned *out_port,
                     struct err *err)
{
    if (wish->streams < 1 || wish->streams > RELAY_STREAMS_MAX || wish->port_min < 1 ||
        wish->port_min > wish->port_max) {
        (void)err_set(err, ERR_INVALID, "relay: %u streams on ports %u-%u", wish->streams,
                      wish->port_min, wish->port_max);
        return 0;
    }
    (void)pthread_mutex_lock(&relays->lock);
    struct relay *relay = NULL;
    uint64_t id = 0;
    if (HASH_COUNT(relays->all) >= RELAY_MAX)
        (void)err_set(err, ERR_LIMIT, "relay: %d are at work already", RELAY_MAX);
    else
        relay = make(relays, wish, out_port, err);
    struct epoll_event event = {.events = EPOLLIN};
    if (relay != NULL) {
        event.data.u64 = relay_key(relay->id, WHAT_LISTENER);
        HASH_ADD(hh, relays->all, id, sizeof relay->id, relay);
        if (epoll_ctl(relays->epoll, EPOLL_CTL_ADD, relay->listener, &event) == 0)
            id = relay->id;
        else
            (void)err_set(err, ERR_LIMIT, "relay: %s", strerror(errno));
        if (id == 0)
            drop_relay(relays, relay);
    }
    (void)pthread_mutex_unlock(&relays->lock);
    return id;
}

void relays_release(struct relays *relays, uint64_t id, bool known)
{
    struct relay *relay = NULL;
    (void)pthread_mutex_lock(&relays->lock);
    HASH_FIND(hh, relays->all, &id, sizeof id, relay);
    if (relay != NULL) {
        relay->released = true;
        relay->known = known;
        relay->until_ms = now_ms() + (known ? RELAY_DRAIN_MS : RELAY_ORPHAN_MS);
        if (known)
            relay_close_fd(&relay->listener);
    }
    (void)pthread_mutex_unlock(&relays->lock);
}

/* --- what is under way --- */

unsigned relays_reset(struct relays *relays, const char *guest)
{
    unsigned n = 0;
    struct relay *relay, *next;
    (void)pthread_mutex_lock(&relays->lock);
    HASH_ITER(hh, relays->all, relay, next)
    {
        if (strcmp(relay->guest, guest) != 0)
            continue;
        relay_close_fd(&relay->listener);
        for (; relay->streams != NULL; n++)
            drop_stream(relays, relay->streams, true);
    }
    (void)pthread_mutex_unlock(&relays->lock);
    return n;
}

bool relays_look(struct relays *relays, const char *guest, struct hv_relay *out_relay)
{
    struct relay *relay, *next;
    struct hv_relay sum = {.stuck_ms = -1};
    int64_t now = now_ms();
    (void)pthread_mutex_lock(&relays->lock);
    HASH_ITER(hh, relays->all, relay, next)
    {
        if (strcmp(relay->guest, guest) != 0 || relay->streams == NULL)
            continue;
        const struct stream *stream;
        measure(relay, now);
        sum.port = relay->port;
        sum.taken += relay->taken;
        DL_FOREACH(relay->streams, stream)
        {
            sum.streams++;
            sum.taken += stream->taken;
        }
        sum.delivered += relay->seen;
        sum.waiting += relay->waiting;
        if (relay->waiting > 0 && now - relay->delivered_ms > sum.stuck_ms)
            sum.stuck_ms = now - relay->delivered_ms;
    }
    (void)pthread_mutex_unlock(&relays->lock);
    *out_relay = sum;
    return sum.streams > 0;
}
