/* session.h - what `ferry top` does with the appliance: watches, and one short request at a time.
 *
 * It fills a struct top. A request of its own every few seconds notices an appliance that hangs;
 * then the watches are opened again, with a pause that grows. One thread.
 */
#ifndef CLI_TOP_SESSION_H
#define CLI_TOP_SESSION_H

#include "base/clock.h"
#include "cli/top/top.h"

enum {
    SESSION_SILENT_MS = 4000, /* then the appliance is asked whether it is there */
    SESSION_ANSWER_MS = 4000, /* of a short request */
    SESSION_ANSWER_MAX = 16 << 20,
};

struct session;
/* top is filled, the client used; both must outlive it. */
struct session *session_new(struct client *client, struct top *top, const struct clock *clock,
                            struct err *err);
void session_free(struct session *session);
DEFINE_OWNED(session)

/* Does what is due, waits for the appliance and for the descriptors, at most so long; the result as
 * of streams_wait(). */
unsigned session_wait(struct session *session, const int *descriptors, size_t n, int64_t most_ms);
/* What a key asked for, about top->target as it is now. columns: of the page. */
void session_command(struct session *session, enum top_command command, int columns);
/* Did something change since this was last asked? */
bool session_has_changed(struct session *session);
/* Everything is known: rows and the verdicts of incidents. */
bool session_is_complete(const struct session *session);
/* The first failure of a watch, if there is no connection; false: none. */
bool session_failure(const struct session *session, struct err *out_err);

#endif
