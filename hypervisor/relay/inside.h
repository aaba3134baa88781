/* inside.h - what relay.c and stream.c share; nobody else includes this. */
#ifndef HYPERVISOR_RELAY_INSIDE_H
#define HYPERVISOR_RELAY_INSIDE_H

#include <uthash.h>
#include <utlist.h>

#include "hypervisor/hostd/protocol.h"
#include "hypervisor/relay/relay.h"

enum what { WHAT_SOURCE, WHAT_TARGET, WHAT_LISTENER, WHAT_WAKE, WHAT_COUNT };

struct leg {
    int fd;
    unsigned interest; /* as epoll knows it; 0: it does not know the leg */
    bool eof;          /* nothing more comes from it */
    bool shut;         /* nothing more goes to it */
};

struct duct { /* one direction */
    int in, out;
    size_t held;
};

struct stream {
    uint64_t id;
    struct relay *relay;
    struct leg source, target;
    struct duct there, back;
    int64_t began_ms;
    bool connecting;
    uint64_t taken, written; /* towards the target */
    struct stream *prev, *next;
    UT_hash_handle hh;
};

struct relay {
    uint64_t id;
    char guest[HV_UUID_MAX];
    struct hostd_address target;
    unsigned port;
    int listener; /* -1: nobody else is let in */
    unsigned streams_left;
    bool released, known;      /* its migration ended, or nobody can tell */
    int64_t until_ms;          /* released: known, it ends then; else it is waited for a stream */
    uint64_t taken, delivered; /* by streams that ended */
    uint64_t waiting, seen;    /* by all of them, at the newest look: what waits, what arrived */
    int64_t delivered_ms;      /* when something last arrived, or nothing waited */
    struct stream *streams;
    UT_hash_handle hh;
};

/* stream.c: -1 for epoll is never asked; false: it is over, drop it. */
struct stream *stream_new(int epoll, uint64_t id, struct relay *relay, int source_fd,
                          int64_t now_ms);
bool stream_step(int epoll, struct stream *stream, enum what leg, bool failed);
bool stream_is_over(const struct stream *stream);
/* What of it has not arrived, in our hands or the kernel's, and what has. */
void stream_count(const struct stream *stream, uint64_t *out_waiting, uint64_t *out_delivered);
/* Closes and frees; reset: both ends are told that it broke. */
void stream_free(struct stream *take_stream, bool reset);
void relay_close_fd(int *fd); /* -1 is fine */
static inline uint64_t relay_key(uint64_t id, enum what what)
{
    return id * WHAT_COUNT + (uint64_t)what;
}

#endif
