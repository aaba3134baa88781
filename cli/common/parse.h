/* parse.h - options of a verb, read by argp: -h as well as --help, and a suggestion for a misspelt
 * option. Pure but for usage errors, which end the process as argp does. */
#ifndef CLI_COMMON_PARSE_H
#define CLI_COMMON_PARSE_H

#include <argp.h>
#include <stdbool.h>

/* argp_parse() for a verb; argv[0] is "ferry VERB". False: wrong usage, already reported. */
bool cli_parse(const struct argp *argp, int argc, char **argv, void *input);
/* Reports the first long option that argp does not know, with the nearest one. in_order: only those
 * before the first other argument. */
bool cli_options_known(const struct argp *argp, int argc, char **argv, bool in_order);

#endif
