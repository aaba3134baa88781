/* cli.h - what the verbs share: the table of verbs, common options, error output.
 *
 * Exit status: exit.def. Results go to stdout, failures to stderr: one line for the error, one for
 * a hint.
 */
#ifndef CLI_COMMON_CLI_H
#define CLI_COMMON_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "base/text.h"

enum {
#define EXIT_STATUS(id, number, help) EXIT_##id = (number),
#include "cli/common/exit.def"
#undef EXIT_STATUS
};
const char *cli_exit_help(int status); /* NULL: not in the table */

enum { CLI_PAGE_MAX = 64 << 20 }; /* bytes of one output */

typedef int verb_fn(int argc, char **argv);
#define VERB(function, name, usage, help) verb_fn verb_##function;
#include "cli/common/verbs.def"
#undef VERB

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_NAME };

/* Options of every client verb; cli_options_argp is its argp child with this struct as input. */
struct cli_options {
    const char *server; /* NULL: FERRY_SERVER or the default */
    const char *ns;     /* "default" unless given */
    bool all_namespaces;
    enum output output;
};
extern const struct argp cli_options_argp;
void cli_options_init(struct cli_options *options);
/* The argp children of every client verb. */
extern const struct argp_child cli_options_children[];

/* Prints the failure and the hint (NULL: the default one for its code); returns its exit status. */
int cli_fail(const struct err *err, const char *hint);
/* Prints a table buffer or any built text; returns EXIT_DONE, or fails without memory. */
int cli_print(struct buf *take_text);
/* The same for text that others wrote: on a terminal without what it may obey. */
int cli_print_data(struct buf *take_text);
int cli_print_json(struct json_object *value); /* the same, indented; with -o yaml as YAML */

/* Call first: opens descriptors 0 to 2 if the parent closed them. Otherwise the next file would get
 * that number, and a log line would go into the lock file or to a host. */
bool cli_hold_standard_files(void);
/* Call last: output that could not be written is a failure. */
int cli_end(int status);

bool cli_is_terminal(int fd);
/* COLUMNS if it is set; else the columns of the terminal on fd; fallback if it is none. */
size_t cli_width(int fd, size_t fallback);
/* For a table on standard output: 0, nothing is cut, unless it is a terminal or COLUMNS is set. */
size_t cli_table_width(enum output output);
bool cli_wants_colour(int fd); /* a terminal, and NO_COLOR is not set */

#endif
