/* word.h - the operator's word about a migration, for the verbs that carry it. */
#ifndef CLI_WORD_H
#define CLI_WORD_H

#include "cli/client.h"

/* Posts the body to the migration's subresource. False: nobody took it, err says why. */
bool word_say(struct client *client, const char *ns, const char *name, const char *subresource,
              struct json_object *body, struct err *err);

/* Says why nobody took it, and what to look at; the verb's exit code. */
int word_fail(const struct err *err);

/* Does this line, as typed, mean yes? Pure. */
bool word_is_yes(const char *line);

#endif
