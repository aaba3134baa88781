/* http_guard.h - keeps connections free for those who ask: slow headers, stopped readers and
 * floods.
 *
 * libmicrohttpd closes a connection only after 30 s of silence, so a byte now and then keeps one
 * for ever, and a full server accepts nobody, also no scrape. The guard knows what each connection
 * waits for. It ends one whose headers take too long and one whose client stopped reading; and when
 * a listener is three quarters full, each new connection ends the oldest that has sent no request,
 * or else the oldest whose client does not read. A connection is ended by shutdown(2): the library
 * notices and frees it. It also counts the bytes of replies that are not sent yet.
 *
 * Progress of a reply is what TCP's peer has acknowledged; of a Unix socket only what it still
 * holds is known, so that a steady slow reader there may look like one that has stopped.
 *
 * Threads: any. One lock, held for a walk over the connections at most.
 */
#ifndef EXPORTER_HTTP_HTTP_GUARD_H
#define EXPORTER_HTTP_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

enum {
    GUARD_HEADERS_MS = 5000,   /* from the connection to the end of the headers */
    GUARD_IDLE_MS = 30000,     /* between two requests */
    GUARD_STALL_MS = 8000,     /* a reply without progress */
    GUARD_SENDING_MS = 120000, /* a reply as a whole: it holds memory, maybe a snapshot */
    GUARD_TICK_MS = 500,
};

struct guard;
struct guard *guard_new(const struct clock *clock, struct err *err);
void guard_free(struct guard *guard); /* after the last connection */
DEFINE_OWNED(guard)

/* A connection of a listener (group) that takes max; NULL: no memory, it is not guarded. */
struct guarded;
struct guarded *guard_add(struct guard *guard, const void *group, unsigned max, int fd);
void guard_remove(struct guard *guard, struct guarded *connection); /* before its fd is closed */
/* What it waits for from now on. */
enum guard_state { GUARD_READING, GUARD_WORKING, GUARD_SENDING, GUARD_WATCHING, GUARD_IDLE };
/* WATCHING: a reply that goes on; only one whose client does not read is ended. */
void guard_set(struct guard *guard, struct guarded *connection, enum guard_state state);

/* Bytes of a reply: false if they do not fit the budget. Give them back when it is sent or lost. */
bool guard_take_bytes(struct guard *guard, size_t n, size_t budget);
void guard_give_bytes(struct guard *guard, size_t n);
/* Bytes that many replies share: they count once, from the first reader to the last. */
bool guard_take_shared(struct guard *guard, unsigned *readers, size_t n, size_t budget);
void guard_give_shared(struct guard *guard, unsigned *readers, size_t n);
size_t guard_bytes(struct guard *guard);

#endif
