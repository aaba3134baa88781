/* names.h - an object that somebody named: NAME or KIND/NAME as an argument, and what leads on when
 * there is no such object. */
#ifndef CLI_COMMON_NAMES_H
#define CLI_COMMON_NAMES_H

#include <argp.h>

#include "cli/common/client.h"
#include "cli/common/kinds.h"

struct named {
    enum kind kind;
    const char *ns; /* ignored for kinds without one */
    const char *name;
};

/* For an argp parser: the name in an argument; another kind is wrong usage. */
const char *name_arg(const char *arg, enum kind kind, const struct argp_state *state);

enum { NAME_HINT_MAX = 512, NAME_ASK_MS = 3000 };
/* Asks the appliance for the names of that kind. True: there is no such object; the hint has its
 * namespace, the nearest name, or how to list the names. */
bool name_hint(struct client *client, const struct named *what, char *out_hint);
/* cli_fail() of a request about that object, with name_hint() if it was not found; else with hint,
 * which may be NULL. client may be NULL. Returns the exit status. */
int name_fail(struct client *client, const struct named *what, const struct err *err,
              const char *hint);

#endif
