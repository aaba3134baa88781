/* get.h - objects of a kind, printed once or as they change: what `ferry get` and `ferry events`
 * share. */
#ifndef CLI_GET_H
#define CLI_GET_H

#include "cli/common/cli.h"
#include "cli/common/kinds.h"

struct get {
    struct cli_options common;
    enum kind kind;
    const char *name;            /* NULL: all */
    const char *labels, *fields; /* selectors; NULL: none */
    bool is_untitled, is_watched;
};
/* Returns the exit status. */
int get_print(const struct get *get);

#endif
