/* token.h - makes a bearer token, for `ferry token create` and `ferry kubeconfig`. */
#ifndef CLI_TOKEN_H
#define CLI_TOKEN_H

#include "cli/common/client.h"

struct token_wanted {
    const char *name, *role;
    const char *ns;      /* NULL: all */
    const char *expires; /* "90d", "never" */
};
/* The answer of the API, with status.token; NULL: err. */
struct json_object *token_create(struct client *client, const struct token_wanted *wanted,
                                 struct err *err);

#endif
