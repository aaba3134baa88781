/* cli.h - what the verbs share: the table of verbs, common options, how a failure is said.
 *
 * Exit status: 0 done, 1 tried and failed, 2 wrong usage or bad input, 3 the appliance or a host
 * cannot be reached, 4 a wait ran out (err.def has the status of each kind of failure).
 * Results go to stdout, failures to stderr: one line of what, one of what to do.
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
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_UNREACHABLE = 3,
    EXIT_WAITED = 4,
    EXIT_INTERRUPTED = 130, /* as a shell reports Ctrl-C */
};

enum { CLI_PAGE_MAX = 64 << 20 }; /* of anything printed at once */

typedef int verb_fn(int argc, char **argv);
#define VERB(function, name, usage, help) verb_fn verb_##function;
#include "cli/common/verbs.def"
#undef VERB

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_NAME };

/* Options of every verb that talks to the appliance; plug cli_options_argp in as argp child
 * and hand it this struct. */
struct cli_options {
    const char *server; /* NULL: FERRY_SERVER or the default */
    const char *ns;     /* "default" unless given */
    bool all_namespaces;
    enum output output;
};
extern const struct argp cli_options_argp;
void cli_options_init(struct cli_options *options);
/* The two lines of argp children every client verb has. */
extern const struct argp_child cli_options_children[];

/* Prints the failure and the hint (NULL: the usual one for its kind); returns its exit status. */
int cli_fail(const struct err *err, const char *hint);
/* Prints a table buffer or any built text; returns EXIT_DONE, or fails when memory was short. */
int cli_print(struct buf *take_text);
int cli_print_json(struct json_object *value); /* the same, indented */

/* First of all: whoever started us may have closed 0, 1 or 2. The next file opened would get
 * that number, and a log line would go into the lock file or to a host. */
bool cli_hold_standard_files(void);
/* Last of all: an answer that could not be written is a failure. */
int cli_end(int status);

bool cli_is_terminal(int fd);
/* Columns of the terminal on fd; fallback when it is none. */
size_t cli_width(int fd, size_t fallback);
bool cli_wants_colour(int fd); /* a terminal, and NO_COLOR is not set */

#endif
