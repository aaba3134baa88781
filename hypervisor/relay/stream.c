/* stream.c - one connection of the source and the one to the target that it is spliced to. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hypervisor/relay/inside.h"

enum {
    CHUNK = 1 << 20, /* of a pipe, where the kernel gives so much */
    ROUNDS = 16,     /* then the others have their turn */
};

void relay_close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static bool open_duct(struct duct *duct)
{
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return false;
    duct->out = ends[0];
    duct->in = ends[1];
    return true;
}

/* A peer that vanished while nothing was under way is noticed too, in minutes. */
static void tune(int fd)
{
    static const struct {
        int level, name, value;
    } rows[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 30},
        {IPPROTO_TCP, TCP_KEEPINTVL, 10},
        {IPPROTO_TCP, TCP_NODELAY, 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        (void)setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value, sizeof rows[i].value);
}

/* What epoll is to tell of this leg. One that nobody wants to hear of is taken out: it would be
 * told again and again that it hung up. */
static bool listen_to(int epoll, struct stream *stream, struct leg *leg, unsigned interest)
{
    enum what what = leg == &stream->source ? WHAT_SOURCE : WHAT_TARGET;
    struct epoll_event event = {.events = interest, .data.u64 = relay_key(stream->id, what)};
    if (leg->interest == interest)
        return true;
    int how = leg->interest == 0 ? EPOLL_CTL_ADD : interest == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    if (epoll_ctl(epoll, how, leg->fd, &event) != 0)
        return false;
    leg->interest = interest;
    return true;
}

static bool connect_target(struct stream *stream)
{
    const struct hostd_address *to = &stream->relay->target;
    stream->target.fd =
        socket(to->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (stream->target.fd < 0)
        return false;
    tune(stream->target.fd);
    stream->connecting = true;
    return connect(stream->target.fd, (const struct sockaddr *)&to->at, to->length) == 0 ||
           errno == EINPROGRESS;
}

struct stream *stream_new(int epoll, uint64_t id, struct relay *relay, int source_fd,
                          int64_t now_ms)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        relay_close_fd(&source_fd);
        return NULL;
    }
    stream->id = id;
    stream->relay = relay;
    stream->began_ms = now_ms;
    stream->source.fd = source_fd;
    stream->target.fd = stream->there.in = stream->there.out = stream->back.in = stream->back.out =
        -1;
    tune(source_fd);
    if (!open_duct(&stream->there) || !open_duct(&stream->back) || !connect_target(stream) ||
        !listen_to(epoll, stream, &stream->target, EPOLLOUT)) {
        stream_free(stream, true);
        return NULL;
    }
    (void)fcntl(stream->there.in, F_SETPIPE_SZ, CHUNK); /* a smaller one does too */
    return stream;
}

static void reset_leg(struct leg *leg)
{
    struct linger now = {.l_onoff = 1};
    if (leg->fd >= 0)
        (void)setsockopt(leg->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void stream_free(struct stream *take_stream, bool reset)
{
    struct stream *stream = take_stream;
    if (reset) {
        reset_leg(&stream->source);
        reset_leg(&stream->target);
    }
    relay_close_fd(&stream->source.fd);
    relay_close_fd(&stream->target.fd);
    relay_close_fd(&stream->there.in);
    relay_close_fd(&stream->there.out);
    relay_close_fd(&stream->back.in);
    relay_close_fd(&stream->back.out);
    free(stream);
}

/* As much as there is, at most one pipe. False: the leg is broken. */
static bool take(struct leg *from, struct duct *duct, uint64_t *total)
{
    ssize_t n;
    do
        n = splice(from->fd, NULL, duct->in, NULL, CHUNK, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN;
    from->eof = n == 0;
    duct->held += (size_t)n;
    *total += (uint64_t)n;
    return true;
}

/* False: the leg is broken. */
static bool give(struct leg *to, struct duct *duct, uint64_t *total, bool *out_full)
{
    ssize_t n;
    do
        n = splice(duct->out, NULL, to->fd, NULL, duct->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    *out_full = n < 0 && errno == EAGAIN;
    if (n < 0)
        return *out_full;
    duct->held -= (size_t)n;
    *total += (uint64_t)n;
    return true;
}

/* The pipe is emptied before it is filled again, so that an empty one tells that there was nothing
 * to read. */
static bool pump(struct leg *from, struct leg *to, struct duct *duct, uint64_t *taken,
                 uint64_t *written)
{
    bool full = false;
    for (int i = 0; i < ROUNDS && !full; i++) {
        if (duct->held == 0 && !from->eof && !take(from, duct, taken))
            return false;
        if (duct->held == 0)
            break;
        if (!give(to, duct, written, &full))
            return false;
    }
    if (from->eof && duct->held == 0 && !to->shut) {
        to->shut = true;
        (void)shutdown(to->fd, SHUT_WR); /* an end is passed on as an end */
    }
    return true;
}

static unsigned wants(const struct leg *leg, const struct duct *out, const struct duct *in)
{
    bool reads = !leg->eof && out->held == 0;
    return (reads ? (unsigned)EPOLLIN : 0U) | (in->held > 0 ? (unsigned)EPOLLOUT : 0U);
}

static bool finish_connect(struct stream *stream)
{
    int why = 0;
    socklen_t size = sizeof why;
    stream->connecting = false;
    return getsockopt(stream->target.fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0;
}

bool stream_is_over(const struct stream *stream)
{
    return stream->source.eof && stream->target.eof && stream->there.held == 0 &&
           stream->back.held == 0;
}

bool stream_step(int epoll, struct stream *stream, enum what leg, bool failed)
{
    uint64_t back = 0;
    if (stream->connecting && leg == WHAT_TARGET && !finish_connect(stream))
        return false;
    if (failed || stream->connecting)
        return !failed;
    return pump(&stream->source, &stream->target, &stream->there, &stream->taken,
                &stream->written) &&
           pump(&stream->target, &stream->source, &stream->back, &back, &back) &&
           !stream_is_over(stream) &&
           listen_to(epoll, stream, &stream->source,
                     wants(&stream->source, &stream->there, &stream->back)) &&
           listen_to(epoll, stream, &stream->target,
                     wants(&stream->target, &stream->back, &stream->there));
}

void stream_count(const struct stream *stream, uint64_t *out_waiting, uint64_t *out_delivered)
{
    int unread = 0, unacknowledged = 0;
    (void)ioctl(stream->source.fd, SIOCINQ, &unread);
    if (!stream->connecting)
        (void)ioctl(stream->target.fd, SIOCOUTQ, &unacknowledged);
    *out_waiting += stream->there.held + (uint64_t)unread + (uint64_t)unacknowledged;
    *out_delivered += stream->written - (uint64_t)unacknowledged;
}
