/* version.c - `ferry version`. */
#include <stdio.h>

#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "store/sqlite/sqlite.h"

int verb_version(int argc, char **argv)
{
    struct cli_options common;
    cli_options_init(&common);
    if (!cli_parse(&cli_options_argp, argc, argv, &common))
        return EXIT_USAGE;
    if (common.output == OUTPUT_JSON)
        (void)printf("{\"version\":\"%s\",\"schema\":%d}\n", FERRY_VERSION, STORE_SCHEMA_VERSION);
    else
        (void)printf("ferry %s\n", FERRY_VERSION);
    return EXIT_DONE;
}
