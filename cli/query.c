/* query.c - `ferry query 'SQL'`: one SQL query on the migration records, from the appliance or from
 * a state directory. Read-only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "store/any/any.h"

enum { KEY_SERVER = 0x200, KEY_STATE, KEY_LIMIT, KEY_TIMEOUT };
enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

struct options {
    const char *sql, *server, *state;
    struct query_limits limits;
    enum format format;
    char *read; /* from standard input; owned */
};

static bool read_format(const char *text, enum format *out)
{
    static const char *const names[] = {"table", "csv", "json"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (text_equal(names[i], text)) {
            *out = (enum format)i;
            return true;
        }
    return false;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_SERVER: o->server = arg; return 0;
    case KEY_STATE: o->state = arg; return 0;
    case KEY_LIMIT:
        if (!text_to_i64(arg, 1, QUERY_ROWS_MAX, &o->limits.rows))
            argp_error(state, "--limit takes 1 to %d rows, not '%s'", QUERY_ROWS_MAX, arg);
        return 0;
    case KEY_TIMEOUT:
        if (!human_read_duration(arg, &o->limits.ms) || o->limits.ms < 1000 ||
            o->limits.ms > QUERY_MS_MAX)
            argp_error(state, "--timeout takes a duration from 1s to %ds, not '%s'",
                       QUERY_MS_MAX / 1000, arg);
        return 0;
    case 'o':
        if (!read_format(arg, &o->format))
            argp_error(state, "-o '%s' is none of table, csv, json", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "only one statement is allowed; put the SQL in quotes");
        o->sql = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "SQL is missing: 'SELECT ...', or - to read standard input");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool read_standard_input(struct options *o, struct err *err)
{
    struct buf text;
    char piece[4096];
    size_t n;
    buf_init(&text, QUERY_SQL_MAX);
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0)
        buf_add_bytes(&text, piece, n);
    o->read = buf_take(&text);
    o->sql = o->read;
    return o->read != NULL ||
           err_set(err, ERR_INVALID, "the statement is longer than %d bytes", QUERY_SQL_MAX);
}

static struct json_object *ask(const struct options *o, struct err *err)
{
    if (o->state != NULL)
        return query_run(o->state, o->sql, &o->limits, err);
    OWNED(client) client = client_new(o->server, err);
    if (client == NULL)
        return NULL;
    OWNED(json_object) body = json_object_new_object();
    json_add_text(body, "sql", o->sql);
    if (o->limits.rows > 0)
        json_add_i64(body, "limit", o->limits.rows);
    return client_call(client, "POST", "/query", body, err);
}

/* ---- the answer ---- */

static void set_cell(struct table *table, size_t column, struct json_object *value)
{
    char text[64];
    if (value == NULL)
        table_set(table, column, "");
    else if (json_object_is_type(value, json_type_double)) {
        (void)snprintf(text, sizeof text, "%.6g", json_object_get_double(value));
        table_set(table, column, text);
    } else
        table_set(table, column, json_object_get_string(value));
}

static int print_table(struct json_object *answer, struct err *err)
{
    struct json_object *names = json_at(answer, "columns"), *rows = json_at(answer, "rows");
    size_t columns = json_object_array_length(names), n = json_object_array_length(rows);
    const char *titles[TABLE_COLUMNS_MAX];
    struct table table;
    struct buf page;
    if (columns > TABLE_COLUMNS_MAX) {
        (void)err_set(err, ERR_INVALID, "the result has %zu columns, a table at most %d", columns,
                      TABLE_COLUMNS_MAX);
        return cli_fail(err, "select fewer columns, or use -o csv or -o json");
    }
    for (size_t i = 0; i < columns; i++)
        titles[i] = json_object_get_string(json_object_array_get_idx(names, i));
    table_init(&table, titles, columns);
    for (size_t i = 0; i < n; i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        table_add_row(&table);
        for (size_t k = 0; k < columns; k++)
            set_cell(&table, k, json_object_array_get_idx(row, k));
    }
    buf_init(&page, CLI_PAGE_MAX);
    bool fits = table_render(&table, cli_width(STDOUT_FILENO, 0), false, &page);
    table_fini(&table);
    page.failed = page.failed || !fits;
    return cli_print(&page);
}

static int print(struct json_object *answer, enum format format, struct err *err)
{
    if (!json_object_is_type(json_at(answer, "columns"), json_type_array) ||
        !json_object_is_type(json_at(answer, "rows"), json_type_array)) {
        (void)err_set(err, ERR_INTERNAL, "the appliance's answer is not rows");
        return cli_fail(err, NULL);
    }
    if (format == FORMAT_JSON)
        return cli_print_json(answer);
    if (format == FORMAT_TABLE)
        return print_table(answer, err);
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    query_csv(answer, &text);
    return cli_print_data(&text);
}

static const char *hint_of(const struct err *err)
{
    switch (err->code) {
    case ERR_INVALID:
        return "views: migrations failures timeline phases policy_effect downtime waste paths "
               "repeat_failures forecasts node_trouble audit";
    case ERR_FORBIDDEN: return "nothing was changed";
    case ERR_TIMEOUT: return "restrict the query, or raise --timeout (with --state)";
    case ERR_REFUSED: return "start the appliance with --state DIR to keep records";
    default: return NULL;
    }
}

int verb_query(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FORMAT", 0, "table, csv or json", 0},
        {"limit", KEY_LIMIT, "ROWS", 0, "maximum number of rows; default 1000", 0},
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "with --state: time limit; default 10s", 0},
        {"state", KEY_STATE, "DIR", 0, "read this state directory, not the appliance", 0},
        {"server", KEY_SERVER, "URL", 0,
         "the appliance; default FERRY_SERVER, the socket, or http://127.0.0.1:9178", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "'SQL'",
        .doc = "Run a read-only SQL query on the migration records. Examples: docs/queries.md. "
               "Views and columns: docs/views.md.",
    };
    struct options o = {0};
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    struct err err = {0};
    if (text_equal(o.sql, "-") && !read_standard_input(&o, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) answer = ask(&o, &err);
    free(o.read);
    if (answer == NULL)
        return cli_fail(&err, hint_of(&err));
    int status = print(answer, o.format, &err);
    const char *cut = json_object_get_string(json_at(answer, "cut"));
    if (status == EXIT_DONE && cut != NULL)
        (void)fprintf(stderr, "ferry: output truncated at the limit of %s\n", cut);
    return status;
}
