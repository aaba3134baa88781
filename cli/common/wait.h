/* wait.h - waits until a migration has ended, with progress and outcome.
 *
 * Polls the object. The appliance may restart meanwhile and adopt the migration, so it may be
 * unreachable for WAIT_UNREACHABLE_MS. On a terminal one line is redrawn in place; elsewhere a line
 * per change of phase and at most one a second. Ctrl-C ends the wait, never the migration.
 */
#ifndef CLI_COMMON_WAIT_H
#define CLI_COMMON_WAIT_H

#include "base/json.h"
#include "base/text.h"
#include "cli/common/client.h"
#include "cli/common/progress.h"

enum {
    WAIT_POLL_MS = 200,
    WAIT_NEAR_END_MS = 50,
    WAIT_PLAIN_MS = 1000,
    WAIT_UNREACHABLE_MS = 60000,
    WAIT_ANSWER_MS = 2000
}; /* of one poll: Ctrl-C and --timeout wait for it */

struct wait {
    struct client *client;
    const char *ns, *name;
    int64_t timeout_ms; /* < 0: none */
    bool quiet;         /* -o json: no progress, the caller prints the object */
};

/* EXIT_DONE: it has ended and *out_object (new reference) is its last state. Otherwise the exit
 * status; the error was printed to stderr. */
int wait_until_over(const struct wait *wait, struct json_object **out_object);

/* Ctrl-C and SIGTERM as a descriptor, blocked from now on (the process ends after the wait); < 0
 * with *err. wait_pause() is true when a signal arrived. */
int wait_open_signals(struct err *err);
bool wait_pause(int signals, int64_t ms);

/* Progress of a migration object; pure. */
void wait_read(struct json_object *object, int64_t elapsed_ms, struct progress *out_progress);
/* One or two lines with the outcome; pure. True: succeeded. */
bool wait_summary(struct json_object *object, int64_t took_ms, struct buf *out);

#endif
