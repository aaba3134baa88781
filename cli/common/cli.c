/* cli.c - see cli.h. */
#include "cli/common/cli.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/own.h"
#include "base/yaml.h"
#include "cli/common/table.h"

enum { KEY_SERVER = 0x100, KEY_TOKEN_FILE, KEY_CA_FILE };

/* -o yaml is -o json, printed as YAML. Of the process, as the environment of the other options. */
static bool is_yaml;

static bool read_output(const char *text, enum output *out_output)
{
    static const struct {
        const char *name;
        enum output output;
    } names[] = {
        {"table", OUTPUT_TABLE}, {"text", OUTPUT_TABLE}, {"wide", OUTPUT_WIDE},
        {"json", OUTPUT_JSON},   {"yaml", OUTPUT_JSON},  {"name", OUTPUT_NAME},
    };
    is_yaml = text_equal(text, "yaml");
    for (size_t i = 0; i < COUNT(names); i++) {
        if (text_equal(names[i].name, text)) {
            *out_output = names[i].output;
            return true;
        }
    }
    return false;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct cli_options *options = state->input;
    switch (key) {
    case KEY_SERVER: options->server = arg; return 0;
    case KEY_TOKEN_FILE: return setenv("FERRY_TOKEN_FILE", arg, 1) == 0 ? 0 : ENOMEM;
    case KEY_CA_FILE: return setenv("FERRY_CA_FILE", arg, 1) == 0 ? 0 : ENOMEM;
    case 'n': options->ns = arg; return 0;
    case 'A': options->all_namespaces = true; return 0;
    case 'o':
        if (!read_output(arg, &options->output))
            argp_error(state, "-o '%s' is none of table, wide, json, yaml, name", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common[] = {
    {"server", KEY_SERVER, "URL", 0,
     "the appliance: unix:PATH, https://... or http://...; default FERRY_SERVER, the socket, or "
     "http://127.0.0.1:9178 (read-only)",
     10},
    {"token-file", KEY_TOKEN_FILE, "FILE", 0, "a token; default FERRY_TOKEN", 10},
    {"ca-file", KEY_CA_FILE, "FILE", 0, "trusted for https; default FERRY_CA_FILE", 10},
    {"namespace", 'n', "NS", 0, "namespace of the object; default 'default'", 10},
    {"all-namespaces", 'A', NULL, 0, "every namespace", 10},
    {"output", 'o', "FORMAT", 0, "table, wide, json, yaml or name", 10},
    {0},
};

const struct argp cli_options_argp = {.options = common, .parser = on_option};
const struct argp_child cli_options_children[] = {{&cli_options_argp, 0, NULL, 0}, {0}};

void cli_options_init(struct cli_options *options)
{
    *options = (struct cli_options){.ns = "default"};
}

const char *cli_exit_help(int status)
{
    switch (status) {
#define EXIT_STATUS(id, number, help) \
    case number:                      \
        return help;
#include "cli/common/exit.def"
#undef EXIT_STATUS
    default: return NULL;
    }
}

/* The default hint for each error. */
static const char *usual_hint(enum err_code code)
{
    static const char *const hints[ERR_COUNT] = {
        [ERR_INVALID] = "correct it and try again; `ferry help` lists the verbs",
        [ERR_UNPROCESSABLE] = "correct the field it names and try again",
        [ERR_EXISTS] = "choose another name; `ferry describe` shows the existing object",
        [ERR_REFUSED] = "nothing was changed; `ferry describe KIND NAME` shows an object's state",
        [ERR_FORBIDDEN] = "docs/access.md: roles, the socket, tokens (--token-file, FERRY_TOKEN)",
        [ERR_LIMIT] = "ask for less, or raise the limit",
        [ERR_FULL] = "free space on the disk that holds the state directory",
        [ERR_READ_ONLY] = "make the file or directory writable for this user",
        [ERR_LOCKED] = "stop the other process, or use another state directory",
        [ERR_TIMEOUT] = "the request may still succeed: see `ferry get migrations -A`",
        [ERR_UNREACHABLE] = "start the appliance with `ferry serve`, or name it with --server URL",
        [ERR_HYPERVISOR] = "check the host with `ferry doctor`",
    };
    assert(code < ERR_COUNT);
    return hints[code];
}

int cli_fail(const struct err *err, const char *hint)
{
    char text[ERR_TEXT_MAX];
    table_clean(text, sizeof text, err->text);
    (void)fprintf(stderr, "ferry: %s\n", text);
    if (hint == NULL)
        hint = usual_hint(err->code);
    if (hint != NULL)
        (void)fprintf(stderr, "  %s\n", hint);
    return err_exit_status(err->code);
}

int cli_print(struct buf *take_text)
{
    OWNED_TEXT text = buf_take(take_text);
    struct err err = {0};
    if (text == NULL) {
        (void)err_set(&err, ERR_NOMEM, "no memory for the answer");
        return cli_fail(&err, NULL);
    }
    if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
        (void)err_set(&err, ERR_IO, "cannot write to standard output");
        return cli_fail(&err, NULL);
    }
    return EXIT_DONE;
}

/* On a terminal, what it may obey instead of show is replaced: by '?', or in JSON by an escape.
 * Elsewhere every byte is passed on. Line ends and tabs stay. */
static char *safe_text(const char *text, bool is_json)
{
    struct buf out;
    unsigned code;
    buf_init(&out, CLI_PAGE_MAX);
    while (*text != '\0') {
        size_t unsafe = *text != '\n' && *text != '\t' ? text_unsafe_bytes(text, &code) : 0;
        size_t n = text_utf8_bytes(text) > 0 ? text_utf8_bytes(text) : 1;
        if (unsafe == 0)
            buf_add_bytes(&out, text, n);
        else if (is_json)
            buf_addf(&out, "\\u%04x", code);
        else
            buf_add(&out, "?");
        text += unsafe > 0 ? unsafe : n;
    }
    return buf_take(&out);
}

static int print_data(struct buf *take_text, bool is_json)
{
    if (!cli_is_terminal(STDOUT_FILENO) || take_text->data == NULL || take_text->failed)
        return cli_print(take_text);
    OWNED_TEXT safe = safe_text(take_text->data, is_json);
    buf_fini(take_text);
    buf_init(take_text, CLI_PAGE_MAX);
    buf_add(take_text, safe != NULL ? safe : "");
    take_text->failed = take_text->failed || safe == NULL;
    return cli_print(take_text);
}

int cli_print_data(struct buf *take_text)
{
    return print_data(take_text, false);
}

/* The second one and those after it as documents of their own. */
static int print_yaml(struct json_object *value)
{
    static bool is_next;
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    buf_add(&text, is_next ? "---\n" : "");
    is_next = true;
    yaml_write(value, &text);
    return print_data(&text, false);
}

int cli_print_json(struct json_object *value)
{
    struct buf text;
    if (is_yaml)
        return print_yaml(value);
    buf_init(&text, CLI_PAGE_MAX);
    buf_add(&text, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PRETTY |
                                                             JSON_C_TO_STRING_NOSLASHESCAPE));
    buf_add(&text, "\n");
    return print_data(&text, true);
}

bool cli_hold_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

int cli_end(int status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return status;
    struct err err = {0};
    if (status != EXIT_DONE)
        return status; /* the first failure counts */
    (void)err_set(&err, ERR_IO, "cannot write to standard output: %s", strerror(errno));
    return cli_fail(&err, "the request was carried out; only its output is lost");
}

bool cli_is_terminal(int fd)
{
    return isatty(fd) == 1;
}

size_t cli_width(int fd, size_t fallback)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int64_t width;
    if (columns != NULL && text_to_i64(columns, 1, 10000, &width))
        return (size_t)width;
    if (!cli_is_terminal(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return fallback;
    return size.ws_col;
}

size_t cli_table_width(enum output output)
{
    return output == OUTPUT_WIDE ? 0 : cli_width(STDOUT_FILENO, 0);
}

bool cli_wants_colour(int fd)
{
    return cli_is_terminal(fd) && getenv("NO_COLOR") == NULL;
}
