/* override.h - the operator's word about a migration, for the verbs that carry it. */
#ifndef CLI_COMMON_OVERRIDE_H
#define CLI_COMMON_OVERRIDE_H

#include "cli/common/client.h"

/* Posts the body to the migration's subresource. False: nobody took it, err says why. */
bool override_post(struct client *client, const char *ns, const char *name, const char *subresource,
                   struct json_object *body, struct err *err);

/* Says why nobody took it, and what to look at; the verb's exit code. */
int override_fail(const struct err *err);

/* Does this line, as typed, mean yes? Pure. */
bool override_is_yes(const char *line);

#endif
