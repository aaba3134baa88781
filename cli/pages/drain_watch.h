/* drain_watch.h - waits until a drain has ended or is blocked, with progress.
 *
 * A line for each guest whose state changed; on a terminal a bar below them, redrawn in place. The
 * appliance may be unreachable for a while as in wait.h. Ctrl-C ends the wait, never the drain.
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
/* EXIT_DONE: it has ended or is blocked, and *out_object (new reference) is its last state.
 * Otherwise the exit status; the error was printed to stderr. */
int drain_watch(const struct drain_watch *watch, struct json_object **out_object);

/* ---- pure ---- */
/* Has it ended or is it blocked? A blocked drain continues, but needs an operator. */
bool drain_is_settled(struct json_object *object);
/* "[=====>    ] 3 of 8 moved, ..." no wider than width; out_line holds DRAIN_LINE_MAX. */
void drain_bar(struct json_object *object, size_t width, char *out_line);
/* A line for each guest whose state changed; before may be NULL. */
void drain_changes(struct json_object *before, struct json_object *now, struct buf *out);

#endif
