/* get.c - `ferry get`: objects as a table, names or JSON.
 *
 * Each kind is a table of columns; a column knows how to read itself from an API object, and
 * whether it is shown only with -o wide.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/human.h"
#include "cli/kinds.h"
#include "cli/table.h"
#include "cli/view.h"

enum { CELL = TABLE_CELL_MAX };

typedef void column_fn(struct json_object *object, int64_t now_ms, char *out_cell);

struct column {
    const char *title;
    enum { ALWAYS, WIDE } when;
    bool is_phase; /* coloured by its word */
    const char *path;
    column_fn *fill; /* NULL: the text at path */
};

static void fill_age(struct json_object *object, int64_t now_ms, char *out_cell)
{
    int64_t born = view_time(object, "metadata.creationTimestamp");
    if (born != 0)
        human_age(now_ms - born, out_cell);
}

static void fill_progress(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    int64_t total = view_i64(object, "status.ferry.sample.totalBytes", 0);
    int64_t left = view_i64(object, "status.ferry.sample.remainingBytes", -1);
    if (text_equal(view_text(object, "status.phase"), "Succeeded"))
        (void)snprintf(out_cell, CELL, "100%%");
    else if (total > 0 && left >= 0)
        (void)snprintf(
            out_cell, CELL, "%d%%",
            (int)(100.0 * (double)(total - (left < total ? left : total)) / (double)total));
}

static void fill_took(struct json_object *object, int64_t now_ms, char *out_cell)
{
    int64_t began = view_time(object, "status.migrationState.startTimestamp");
    int64_t ended = view_time(object, "status.migrationState.endTimestamp");
    if (began != 0)
        human_duration((ended != 0 ? ended : now_ms) - began, out_cell);
}

static void fill_from(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    table_clean(out_cell, CELL, view_text(object, "status.migrationState.sourceNode"));
}

static void fill_to(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    table_clean(out_cell, CELL, view_text(object, "status.migrationState.targetNode"));
}

/* Why it waits or why it failed, whichever is known. */
static void fill_reason(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    const char *reason = view_text(object, "status.migrationState.failureReason");
    if (*reason == '\0')
        reason = view_text(object, "status.ferry.pendingReason");
    table_clean(out_cell, CELL, reason);
}

static void fill_memory(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    uint64_t bytes;
    const char *text = view_text(object, "spec.domain.memory.guest");
    if (human_read_quantity(text, &bytes))
        human_bytes(bytes, out_cell);
    else
        table_clean(out_cell, CELL, text);
}

static void fill_state(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    (void)snprintf(out_cell, CELL, "%.60s(%.60s)", view_text(object, "status.ferry.state"),
                   view_text(object, "status.ferry.reason"));
}

static void fill_ready(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    (void)snprintf(out_cell, CELL, "Unknown");
    for (size_t i = 0; i < view_count(object, "status.conditions"); i++) {
        struct json_object *condition = view_element(object, "status.conditions", i);
        if (!text_equal(view_text(condition, "type"), "Ready"))
            continue;
        bool ready = text_equal(view_text(condition, "status"), "True");
        (void)snprintf(out_cell, CELL, "%s", ready ? "Ready" : "NotReady");
    }
}

/* yes, the first reason why not, or nothing while its definition was not read. */
static void fill_migratable(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    for (size_t i = 0; i < view_count(object, "status.conditions"); i++) {
        struct json_object *condition = view_element(object, "status.conditions", i);
        if (!text_equal(view_text(condition, "type"), "LiveMigratable"))
            continue;
        if (text_equal(view_text(condition, "status"), "True"))
            (void)snprintf(out_cell, CELL, "yes");
        else
            table_clean(out_cell, CELL, view_text(condition, "reason"));
    }
}

static void fill_capacity(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    uint64_t bytes;
    if (human_read_quantity(view_text(object, "status.capacity.memory"), &bytes))
        human_bytes(bytes, out_cell);
}

static const struct column migration_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"PHASE", ALWAYS, true, "status.phase", NULL},
    {"GUEST", ALWAYS, false, "spec.vmiName", NULL},
    {"FROM", ALWAYS, false, NULL, fill_from},
    {"TO", ALWAYS, false, NULL, fill_to},
    {"MODE", ALWAYS, false, "status.migrationState.mode", NULL},
    {"DONE", ALWAYS, false, NULL, fill_progress},
    {"TOOK", ALWAYS, false, NULL, fill_took},
    {"AGE", ALWAYS, false, NULL, fill_age},
    {"OUTCOME", WIDE, false, "status.ferry.outcome", NULL},
    {"GUEST AT", WIDE, false, "status.ferry.guestAt", NULL},
    {"ABORT", WIDE, false, "status.migrationState.abortStatus", NULL},
    {"REASON", WIDE, false, NULL, fill_reason},
};
static const struct column guest_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"PHASE", ALWAYS, true, "status.phase", NULL},
    {"NODE", ALWAYS, false, "status.nodeName", NULL},
    {"STATE", ALWAYS, false, NULL, fill_state},
    {"MEMORY", ALWAYS, false, NULL, fill_memory},
    {"CPUS", ALWAYS, false, "spec.domain.cpu.cores", NULL},
    {"MIGRATABLE", WIDE, false, NULL, fill_migratable},
    {"MIGRATION", WIDE, false, "status.ferry.migration", NULL},
    {"UUID", WIDE, false, "metadata.uid", NULL},
};
static const struct column node_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"STATUS", ALWAYS, true, NULL, fill_ready},
    {"GUESTS", ALWAYS, false, "status.ferry.guests", NULL},
    {"CPUS", ALWAYS, false, "status.capacity.cpu", NULL},
    {"MEMORY", ALWAYS, false, NULL, fill_capacity},
    {"LIBVIRT", ALWAYS, false, "status.ferry.libvirtVersion", NULL},
    {"QEMU", ALWAYS, false, "status.ferry.qemuVersion", NULL},
    {"AGE", ALWAYS, false, NULL, fill_age},
    {"CPU MODEL", WIDE, false, "status.ferry.cpuModel", NULL},
    {"ERROR", WIDE, false, "status.ferry.error", NULL},
    {"URI", WIDE, false, "status.ferry.uri", NULL},
};
static const struct {
    const struct column *columns;
    size_t n;
} layouts[KIND_COUNT] = {
    [KIND_MIGRATION] = {migration_columns, COUNT(migration_columns)},
    [KIND_GUEST] = {guest_columns, COUNT(guest_columns)},
    [KIND_NODE] = {node_columns, COUNT(node_columns)},
};

struct get {
    struct cli_options common;
    const char *kind_word, *name;
    enum kind kind;
};

/* The columns to show; a namespace column first when there may be several. */
static size_t choose_columns(const struct get *get, struct column *out_columns)
{
    static const struct column ns = {"NAMESPACE", ALWAYS, false, "metadata.namespace", NULL};
    size_t n = 0;
    if (get->common.all_namespaces && kind_is_namespaced(get->kind))
        out_columns[n++] = ns;
    for (size_t i = 0; i < layouts[get->kind].n; i++)
        if (layouts[get->kind].columns[i].when == ALWAYS || get->common.output == OUTPUT_WIDE)
            out_columns[n++] = layouts[get->kind].columns[i];
    return n;
}

static void add_object(struct table *table, const struct column *columns, size_t n,
                       struct json_object *object, int64_t now_ms)
{
    table_add_row(table);
    for (size_t i = 0; i < n; i++) {
        char cell[CELL] = "";
        if (columns[i].fill != NULL)
            columns[i].fill(object, now_ms, cell);
        else
            table_clean(cell, sizeof cell, view_text(object, columns[i].path));
        table_set(table, i, cell);
        if (columns[i].is_phase)
            table_colour(table, i, colour_of_phase(cell));
    }
}

static int print_table(const struct get *get, struct json_object *answer)
{
    struct column columns[TABLE_COLUMNS_MAX];
    const char *titles[TABLE_COLUMNS_MAX];
    size_t n = choose_columns(get, columns);
    for (size_t i = 0; i < n; i++)
        titles[i] = columns[i].title;
    struct table table;
    table_init(&table, titles, n);
    int64_t now_ms = clock_wall_ms(clock_system());
    if (get->name != NULL)
        add_object(&table, columns, n, answer, now_ms);
    for (size_t i = 0; i < view_count(answer, "items"); i++)
        add_object(&table, columns, n, view_element(answer, "items", i), now_ms);
    if (table.n_rows == 0) {
        (void)fprintf(stderr, "no %s found%s\n", get->kind_word,
                      kind_is_namespaced(get->kind) && !get->common.all_namespaces
                          ? " in this namespace; -A looks in all"
                          : "");
        table_fini(&table);
        return EXIT_DONE;
    }
    bool wide = get->common.output == OUTPUT_WIDE;
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    if (!table_render(&table, wide ? 0 : cli_width(STDOUT_FILENO, TABLE_WIDTH),
                      cli_wants_colour(STDOUT_FILENO), &text))
        text.failed = true;
    table_fini(&table);
    return cli_print(&text);
}

static void add_name(struct buf *text, const struct get *get, struct json_object *object)
{
    char name[CELL];
    table_clean(name, sizeof name, view_text(object, "metadata.name"));
    buf_addf(text, "%s/%s\n", kind_short(get->kind), name);
}

static int print_names(const struct get *get, struct json_object *answer)
{
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    buf_add(&text, ""); /* no rows is an empty answer, not a failed one */
    if (get->name != NULL)
        add_name(&text, get, answer);
    for (size_t i = 0; i < view_count(answer, "items"); i++)
        add_name(&text, get, view_element(answer, "items", i));
    return cli_print(&text);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct get *get = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &get->common; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            get->kind_word = arg;
        else if (state->arg_num == 1)
            get->name = arg;
        else
            argp_error(state, "one KIND and at most one NAME, not also '%s'", arg);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "which KIND? migrations, guests or nodes"); return 0;
    case ARGP_KEY_END:
        if (get->name != NULL && get->common.all_namespaces)
            argp_error(state, "-A lists; a NAME is looked for in one namespace (-n)");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int verb_get(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = on_option,
        .args_doc = "KIND [NAME]",
        .doc = "List migrations (vmim), guests (vmi) or nodes.",
        .children = cli_options_children,
    };
    struct get get = {0};
    cli_options_init(&get.common);
    if (argp_parse(&argp, argc, argv, 0, NULL, &get) != 0)
        return EXIT_USAGE;
    struct err err = {0};
    if (!kind_from_word(get.kind_word, &get.kind, &err))
        return cli_fail(&err, "the kinds are migrations (vmim), guests (vmi) and nodes");
    char path[KINDS_PATH_MAX];
    OWNED(client) client = client_new(get.common.server, &err);
    if (client == NULL || !kind_path(get.kind, get.common.all_namespaces ? NULL : get.common.ns,
                                     get.name, path, &err))
        return cli_fail(&err, NULL);
    OWNED(json_object) answer = client_call(client, "GET", path, NULL, &err);
    if (answer == NULL)
        return cli_fail(&err, NULL);
    if (get.common.output == OUTPUT_JSON)
        return cli_print_json(answer);
    if (get.common.output == OUTPUT_NAME)
        return print_names(&get, answer);
    return print_table(&get, answer);
}
