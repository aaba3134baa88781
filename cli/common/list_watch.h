/* list_watch.h - `-w`: prints the changes of a list until Ctrl-C.
 *
 * The appliance may restart meanwhile and be unreachable for LIST_WATCH_UNREACHABLE_MS. Then
 * everything is told again, and what has changed is printed. One thread.
 */
#ifndef CLI_COMMON_LIST_WATCH_H
#define CLI_COMMON_LIST_WATCH_H

#include "cli/common/client.h"
#include "cli/common/follow.h"

enum { LIST_WATCH_UNREACHABLE_MS = 60000 };

struct list_watch {
    struct client *client;
    struct follow_spec spec;   /* version: of the list that was printed */
    struct json_object *shown; /* that list; borrowed */
    void *ctx;
    /* An exit status: EXIT_DONE goes on. */
    int (*print)(void *ctx, struct json_object *object);
};
/* EXIT_INTERRUPTED after Ctrl-C; otherwise the status of a failure, which was printed to stderr. */
int list_watch_run(const struct list_watch *watch);

#endif
