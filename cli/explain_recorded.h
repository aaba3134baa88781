/* explain_recorded.h - `ferry explain` for migrations that Ferry itself recorded. */
#ifndef CLI_EXPLAIN_RECORDED_H
#define CLI_EXPLAIN_RECORDED_H

#include "cli/common/cli.h"

struct explain_recorded {
    const struct cli_options *common;
    const char *name;  /* of a migration, or its uid; NULL: all */
    const char *state; /* directory to read; NULL: the appliance (one), the default (all) */
    const char *rules; /* the site's own; NULL: none */
    int64_t since_ms;  /* all: those that ended in this time; < 0: any */
};
/* The exit status. */
int explain_recorded(const struct explain_recorded *what);

#endif
