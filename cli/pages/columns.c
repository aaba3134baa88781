/* columns.c - see columns.h. The columns are rows of exporter/api/columns.def; those that are more
 * than the text at a path have a function here (how.def). */
#include "cli/pages/columns.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"
#include "engine/model/job/phase.h"

enum { CELL = TABLE_CELL_MAX };

typedef void column_fn(struct json_object *object, int64_t now_ms, char *out_cell);

struct column { /* a row of exporter/api/columns.def */
    int kind;
    const char *title;                 /* "": not here */
    enum { ALWAYS, ROOMY, WIDE } when; /* ROOMY: if it fits */
    int how;
    const char *path;
};

/* Like the STATUS of a pod: a condition that needs an operator replaces the phase. */
static void fill_status(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    const char *word = view_text(object, "status.phase");
    enum recovery recovery = recovery_from_name(view_text(object, "status.ferry.recovery.state"));
    if (text_equal(view_text(object, "status.ferry.outcome"), outcome_name(OUTCOME_IRRECOVERABLE)))
        word = "Irrecoverable";
    else if (view_bool(object, "status.ferry.recovering"))
        word = recovery == RECOVERY_EXHAUSTED ? recovery_name(recovery)
               : recovery == RECOVERY_BLIND   ? "recovery-unknown"
                                              : "Recovering";
    table_clean(out_cell, CELL, word);
}

static void fill_age(struct json_object *object, int64_t now_ms, char *out_cell)
{
    int64_t created_ms = view_time(object, "metadata.creationTimestamp");
    if (created_ms != 0)
        human_age(now_ms - created_ms, out_cell);
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

/* The failure reason, or the pending reason. */
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
        (void)snprintf(out_cell, CELL, "%s%s", ready ? "Ready" : "NotReady",
                       view_bool(object, "spec.unschedulable") ? ",Cordoned" : "");
    }
}

/* Yes, the first reason why not, or empty until the definition was read. */
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

static void fill_selectors(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    char guest[CELL / 2 - 8], ns[CELL / 2 - 8];
    struct json_object *selectors = json_at(object, "spec.selectors");
    struct json_object *guests =
        selectors != NULL ? json_at(selectors, "virtualMachineInstanceSelector") : NULL;
    struct json_object *namespaces =
        selectors != NULL ? json_at(selectors, "namespaceSelector") : NULL;
    if (selectors == NULL) {
        (void)snprintf(out_cell, CELL, "none");
        return;
    }
    page_pairs(guests, guest, sizeof guest);
    page_pairs(namespaces, ns, sizeof ns);
    if (guest[0] == '\0' && ns[0] == '\0')
        (void)snprintf(out_cell, CELL, "all");
    else
        (void)snprintf(out_cell, CELL, "%s%s%s%s", guest,
                       guest[0] != '\0' && ns[0] != '\0' ? "; " : "", ns[0] != '\0' ? "ns " : "",
                       ns);
}

/* Names of the settings of a policy. */
static void fill_sets(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    struct json_object *spec = json_at(object, "spec");
    struct buf text;
    buf_init(&text, CELL);
    if (json_object_is_type(spec, json_type_object)) {
        json_object_object_foreach(spec, key, value)
        {
            (void)value;
            if (!text_equal(key, "selectors"))
                buf_addf(&text, "%s%s", text.length > 0 ? "," : "", key);
        }
    }
    table_clean(out_cell, CELL, text.data);
    buf_fini(&text);
}

static void fill_map(struct json_object *map, char *out_cell)
{
    page_pairs(map, out_cell, CELL);
}

static void fill_hard(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    fill_map(json_at(object, "spec.hard"), out_cell);
}

static void fill_used(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    fill_map(json_at(object, "status.used"), out_cell);
}

static void fill_labels(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    fill_map(json_at(object, "metadata.labels"), out_cell);
}

static void fill_moved(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    (void)snprintf(out_cell, CELL, "%lld/%lld", (long long)view_i64(object, "status.moved", 0),
                   (long long)view_i64(object, "status.total", 0));
}

static void fill_eta(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    int64_t seconds = view_i64(object, "status.etaSeconds", -1);
    if (seconds >= 0)
        human_duration(seconds * 1000, out_cell);
}

static void fill_capacity(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    uint64_t bytes;
    if (human_read_quantity(view_text(object, "status.capacity.memory"), &bytes))
        human_bytes(bytes, out_cell);
}

static void fill_last_seen(struct json_object *object, int64_t now_ms, char *out_cell)
{
    int64_t seen_ms = view_time(object, "lastTimestamp");
    if (seen_ms != 0)
        human_age(now_ms > seen_ms ? now_ms - seen_ms : 0, out_cell);
}

/* What an event is about, as -o name prints it. */
static void fill_about(struct json_object *object, int64_t now_ms, char *out_cell)
{
    const char *word = view_text(object, "involvedObject.kind");
    char text[CELL];
    (void)now_ms;
    for (enum kind kind = 0; kind < KIND_COUNT; kind++)
        if (text_equal(word, kind_name(kind)))
            word = kind_short(kind);
    (void)snprintf(text, sizeof text, "%.60s/%.180s", word,
                   view_text(object, "involvedObject.name"));
    table_clean(out_cell, CELL, text);
}

/* Warnings of a node, by name. */
static void fill_warnings(struct json_object *object, int64_t now_ms, char *out_cell)
{
    (void)now_ms;
    struct buf text;
    buf_init(&text, CELL);
    for (size_t i = 0; i < view_count(object, "status.ferry.warnings"); i++)
        buf_addf(&text, "%s%s", i > 0 ? "," : "",
                 view_text(view_element(object, "status.ferry.warnings", i), "name"));
    table_clean(out_cell, CELL, text.length > 0 ? text.data : "");
    buf_fini(&text);
}

/* By `how` of columns.def. */
enum how {
#define HOW(how, fill, is_phase) HOW_##how,
#include "cli/pages/how.def"
#undef HOW
    HOW_COUNT
};
static const struct {
    column_fn *fill;
    bool is_phase;
} hows[HOW_COUNT] = {
#define HOW(how, fill, is_phase) [HOW_##how] = {fill, is_phase},
#include "cli/pages/how.def"
#undef HOW
};

/* The kinds of the API that `ferry get` knows, by their names there. */
enum {
    OF_MIGRATION = KIND_MIGRATION,
    OF_INSTANCE = KIND_GUEST,
    OF_NODE = KIND_NODE,
    OF_POD = KIND_POD,
    OF_POLICY = KIND_POLICY,
    OF_QUOTA = KIND_QUOTA,
    OF_NAMESPACE = KIND_NAMESPACE,
    OF_DRAIN = KIND_DRAIN,
    OF_INCIDENT = KIND_INCIDENT,
    OF_TOKEN = KIND_TOKEN,
    OF_EVENT = KIND_EVENT,
    OF_SERVICE = KIND_COUNT,
    OF_DISRUPTION_BUDGET = KIND_COUNT,
    OF_NODE_METRICS = KIND_COUNT,
    OF_POD_METRICS = KIND_COUNT,
};
static const struct column columns[] = {
#define COLUMN(kind, name, type, wide, title, when, how, path, help) \
    {OF_##kind, title, when, HOW_##how, path},
#include "exporter/api/columns.def"
#undef COLUMN
};

/* The columns to show; NAMESPACE first when listing all namespaces. */
static size_t choose(const struct columns *choice, struct column *out_columns)
{
    static const struct column first[] = {
        {KIND_COUNT, "NAMESPACE", ALWAYS, HOW_TEXT, "metadata.namespace"},
        {KIND_COUNT, "NAME", ALWAYS, HOW_TEXT, "metadata.name"},
    };
    size_t n = 0;
    if (choice->all_namespaces && kind_is_namespaced(choice->kind))
        out_columns[n++] = first[0];
    if (choice->kind != KIND_EVENT) /* nobody asks for one by its name */
        out_columns[n++] = first[1];
    for (size_t i = 0; i < COUNT(columns); i++)
        if (columns[i].kind == (int)choice->kind && columns[i].title[0] != '\0' &&
            (columns[i].when != WIDE || choice->wide))
            out_columns[n++] = columns[i];
    return n;
}

static void add_object(struct table *table, const struct column *chosen, size_t n,
                       struct json_object *object, int64_t now_ms)
{
    table_add_row(table);
    for (size_t i = 0; i < n; i++) {
        char cell[CELL] = "";
        if (hows[chosen[i].how].fill != NULL)
            hows[chosen[i].how].fill(object, now_ms, cell);
        else
            table_clean(cell, sizeof cell, view_text(object, chosen[i].path));
        table_set(table, i, cell);
        if (hows[chosen[i].how].is_phase)
            table_colour(table, i, colour_of_phase(cell));
    }
}

size_t columns_render(const struct columns *choice, struct json_object *answer,
                      const struct page_style *style, struct buf *out)
{
    struct column chosen[TABLE_COLUMNS_MAX];
    const char *titles[TABLE_COLUMNS_MAX] = {NULL};
    size_t n = choose(choice, chosen);
    for (size_t i = 0; i < n; i++)
        titles[i] = chosen[i].title;
    struct table table;
    table_init(&table, titles, n);
    table.is_untitled = choice->is_untitled;
    table.widths = choice->widths;
    for (size_t i = 0; i < n; i++)
        table.optional[i] = chosen[i].when == ROOMY;
    bool is_list = json_at(answer, "items") != NULL;
    if (!is_list)
        add_object(&table, chosen, n, answer, choice->now_ms);
    for (size_t i = 0; is_list && i < view_count(answer, "items"); i++)
        add_object(&table, chosen, n, view_element(answer, "items", i), choice->now_ms);
    size_t rows = table.n_rows;
    if (rows > 0 && !table_render(&table, choice->wide ? 0 : style->width, style->coloured, out))
        out->failed = true;
    table_fini(&table);
    return rows;
}
