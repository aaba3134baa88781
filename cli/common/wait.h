/* wait.h - watching one migration until it is over, and saying how it ended.
 *
 * Polls the object; the appliance may restart meanwhile (it adopts what runs), so silence is
 * forgiven for WAIT_BLIND_MS. On a terminal one line is redrawn in place; elsewhere a line per
 * change of phase and at most one a second. Ctrl-C stops the watching, never the migration.
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
    WAIT_BLIND_MS = 60000,
    WAIT_ANSWER_MS = 2000
}; /* of one look: Ctrl-C and --timeout wait for it */

struct wait {
    struct client *client;
    const char *ns, *name;
    int64_t timeout_ms; /* < 0: none */
    bool quiet;         /* -o json: no progress, the caller prints the object */
};

/* EXIT_DONE: it is over and *out_object (new reference) is its last state. Anything else is the
 * exit status, and the reason has been said on stderr. */
int wait_until_over(const struct wait *wait, struct json_object **out_object);

/* For those who watch something else: Ctrl-C and SIGTERM as a descriptor, blocked from now on (the
 * process ends after the wait); < 0 with *err. wait_pause() is true when one came. */
int wait_open_signals(struct err *err);
bool wait_pause(int signals, int64_t ms);

/* The numbers of a migration object; pure. */
void wait_read(struct json_object *object, int64_t elapsed_ms, struct progress *out_progress);
/* One or two lines on how it ended; pure. True when the guest moved. */
bool wait_summary(struct json_object *object, int64_t took_ms, struct buf *out);

#endif
