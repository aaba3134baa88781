/* override.h - sends an operator override about a migration. */
#ifndef CLI_COMMON_OVERRIDE_H
#define CLI_COMMON_OVERRIDE_H

#include "cli/common/client.h"

/* Posts the body to the migration's subresource. */
bool override_post(struct client *client, const char *ns, const char *name, const char *subresource,
                   struct json_object *body, struct err *err);

/* Prints the rejection and a hint; returns the exit status. */
int override_fail(struct client *client, const char *ns, const char *name, const struct err *err);

/* Is the typed line a yes? Pure. */
bool override_is_yes(const char *line);

#endif
