/* drain_watch.h - watching a drain until it is over, or until nothing moves any more.
 *
 * A line for each guest whose state changed; on a terminal a bar below them, redrawn in place.
 * Silence of the appliance is forgiven as in wait.h. Ctrl-C stops the watching, never the drain.
 */
#ifndef CLI_PAGES_DRAIN_WATCH_H
#define CLI_PAGES_DRAIN_WATCH_H

#include "base/json.h"
#include "base/text.h"
#include "cli/common/client.h"

enum { DRAIN_LINE_MAX = 256 };

struct drain_watch {
    struct client *client;
    const char *name, *node;
    int64_t timeout_ms; /* < 0: none */
    bool quiet;
};
/* EXIT_DONE: it is over or blocked, and *out_object (new reference) is its last state. Anything
 * else is the exit status, and the reason has been said on stderr. */
int drain_watch(const struct drain_watch *watch, struct json_object **out_object);

/* ---- pure ---- */
/* Is there nothing more to watch? A blocked drain goes on, but only an operator can help it. */
bool drain_is_settled(struct json_object *object);
/* "[=====>    ] 3 of 8 moved, ..." no wider than width; out_line holds DRAIN_LINE_MAX. */
void drain_bar(struct json_object *object, size_t width, char *out_line);
/* A line for each guest whose state is another than before; before may be NULL. */
void drain_changes(struct json_object *before, struct json_object *now, struct buf *out);

#endif
