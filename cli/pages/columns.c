/* columns.c - see columns.h. A column has a function that reads it from an API object, and when it
 * is shown. */
#include "cli/pages/columns.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"
#include "engine/model/job/phase.h"

enum { CELL = TABLE_CELL_MAX };

typedef void column_fn(struct json_object *object, int64_t now_ms, char *out_cell);

struct column {
    const char *title;
    enum { ALWAYS, ROOMY, WIDE } when; /* ROOMY: if it fits */
    bool is_phase;                     /* coloured as a phase */
    const char *path;
    column_fn *fill; /* NULL: the text at path */
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

static const struct column migration_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"PHASE", ALWAYS, true, NULL, fill_status},
    {"GUEST", ALWAYS, false, "spec.vmiName", NULL},
    {"FROM", ALWAYS, false, NULL, fill_from},
    {"TO", ALWAYS, false, NULL, fill_to},
    {"MODE", ROOMY, false, "status.migrationState.mode", NULL},
    {"DONE", ROOMY, false, NULL, fill_progress},
    {"TOOK", ROOMY, false, NULL, fill_took},
    {"AGE", ALWAYS, false, NULL, fill_age},
    {"POLICY", WIDE, false, "status.ferry.policy", NULL},
    {"OUTCOME", WIDE, false, "status.ferry.outcome", NULL},
    {"PLANE", WIDE, false, "status.ferry.verdict.plane", NULL},
    {"CAUSE", WIDE, false, "status.ferry.verdict.cause", NULL},
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
    {"CPUS", ROOMY, false, "spec.domain.cpu.cores", NULL},
    {"MIGRATABLE", WIDE, false, NULL, fill_migratable},
    {"EVICTION", WIDE, false, "spec.evictionStrategy", NULL},
    {"MIGRATION", WIDE, false, "status.ferry.migration", NULL},
    {"UUID", WIDE, false, "metadata.uid", NULL},
};
static const struct column node_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"STATUS", ALWAYS, true, NULL, fill_ready},
    {"GUESTS", ALWAYS, false, "status.ferry.guests", NULL},
    {"CPUS", ALWAYS, false, "status.capacity.cpu", NULL},
    {"MEMORY", ALWAYS, false, NULL, fill_capacity},
    {"LIBVIRT", ROOMY, false, "status.ferry.libvirtVersion", NULL},
    {"QEMU", ROOMY, false, "status.ferry.qemuVersion", NULL},
    {"AGE", ALWAYS, false, NULL, fill_age},
    {"CPU MODEL", WIDE, false, "status.ferry.cpuModel", NULL},
    {"DRAIN", WIDE, false, "status.ferry.drain", NULL},
    {"ERROR", WIDE, false, "status.ferry.error", NULL},
    {"URI", WIDE, false, "status.ferry.uri", NULL},
};
static const struct column policy_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"MATCHES", ALWAYS, false, NULL, fill_selectors},
    {"SETS", ALWAYS, false, NULL, fill_sets},
    {"AGE", ALWAYS, false, NULL, fill_age},
};
static const struct column quota_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"HARD", ALWAYS, false, NULL, fill_hard},
    {"USED", ALWAYS, false, NULL, fill_used},
    {"AGE", ALWAYS, false, NULL, fill_age},
};
static const struct column namespace_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"LABELS", ALWAYS, false, NULL, fill_labels},
    {"AGE", ALWAYS, false, NULL, fill_age},
};
static const struct column drain_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"STATE", ALWAYS, true, "status.state", NULL},
    {"NODE", ALWAYS, false, "spec.nodeName", NULL},
    {"MOVED", ALWAYS, false, NULL, fill_moved},
    {"BLOCKED", ALWAYS, false, "status.blocked", NULL},
    {"ETA", ALWAYS, false, NULL, fill_eta},
    {"AGE", ALWAYS, false, NULL, fill_age},
    {"DEADLINE", WIDE, false, "status.deadline", NULL},
};
static const struct column incident_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"STATE", ALWAYS, true, "status.state", NULL},
    {"KIND", ALWAYS, false, "status.kind", NULL},
    {"GUEST", ALWAYS, false, "spec.vmiName", NULL},
    {"NODE", ROOMY, false, "status.nodeName", NULL},
    {"CAUSE", ALWAYS, false, "status.cause", NULL},
    {"AGE", ALWAYS, false, NULL, fill_age},
    {"PLANE", WIDE, false, "status.plane", NULL},
    {"CLOSED", WIDE, false, "status.closedAt", NULL},
    {"BY", WIDE, false, "status.closedBy", NULL},
};
static const struct column token_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL},
    {"ROLE", ALWAYS, false, "spec.role", NULL},
    {"NAMESPACE", ALWAYS, false, "spec.namespace", NULL},
    {"EXPIRES", ALWAYS, false, "spec.expires", NULL},
    {"AGE", ALWAYS, false, NULL, fill_age},
};
static const struct column pod_columns[] = {
    {"NAME", ALWAYS, false, "metadata.name", NULL}, {"STATUS", ALWAYS, true, "status.phase", NULL},
    {"NODE", ALWAYS, false, "spec.nodeName", NULL}, {"AGE", ALWAYS, false, NULL, fill_age},
    {"LABELS", WIDE, false, NULL, fill_labels},
};
static const struct column event_columns[] = {
    {"LAST SEEN", ALWAYS, false, NULL, fill_last_seen},
    {"TYPE", ALWAYS, false, "type", NULL},
    {"REASON", ALWAYS, false, "reason", NULL},
    {"OBJECT", ALWAYS, false, NULL, fill_about},
    {"COUNT", WIDE, false, "count", NULL},
    {"MESSAGE", ALWAYS, false, "message", NULL},
};
static const struct {
    const struct column *columns;
    size_t n;
} layouts[KIND_COUNT] = {
    [KIND_MIGRATION] = {migration_columns, COUNT(migration_columns)},
    [KIND_GUEST] = {guest_columns, COUNT(guest_columns)},
    [KIND_NODE] = {node_columns, COUNT(node_columns)},
    [KIND_POLICY] = {policy_columns, COUNT(policy_columns)},
    [KIND_QUOTA] = {quota_columns, COUNT(quota_columns)},
    [KIND_NAMESPACE] = {namespace_columns, COUNT(namespace_columns)},
    [KIND_DRAIN] = {drain_columns, COUNT(drain_columns)},
    [KIND_INCIDENT] = {incident_columns, COUNT(incident_columns)},
    [KIND_TOKEN] = {token_columns, COUNT(token_columns)},
    [KIND_POD] = {pod_columns, COUNT(pod_columns)},
    [KIND_EVENT] = {event_columns, COUNT(event_columns)},
};

/* The columns to show; NAMESPACE first when listing all namespaces. */
static size_t choose(const struct columns *choice, struct column *out_columns)
{
    static const struct column ns = {"NAMESPACE", ALWAYS, false, "metadata.namespace", NULL};
    size_t n = 0;
    if (choice->all_namespaces && kind_is_namespaced(choice->kind))
        out_columns[n++] = ns;
    for (size_t i = 0; i < layouts[choice->kind].n; i++)
        if (layouts[choice->kind].columns[i].when != WIDE || choice->wide)
            out_columns[n++] = layouts[choice->kind].columns[i];
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

size_t columns_render(const struct columns *choice, struct json_object *answer,
                      const struct page_style *style, struct buf *out)
{
    struct column columns[TABLE_COLUMNS_MAX];
    const char *titles[TABLE_COLUMNS_MAX] = {NULL};
    size_t n = choose(choice, columns);
    for (size_t i = 0; i < n; i++)
        titles[i] = columns[i].title;
    struct table table;
    table_init(&table, titles, n);
    table.is_untitled = choice->is_untitled;
    table.widths = choice->widths;
    for (size_t i = 0; i < n; i++)
        table.optional[i] = columns[i].when == ROOMY;
    bool is_list = json_at(answer, "items") != NULL;
    if (!is_list)
        add_object(&table, columns, n, answer, choice->now_ms);
    for (size_t i = 0; is_list && i < view_count(answer, "items"); i++)
        add_object(&table, columns, n, view_element(answer, "items", i), choice->now_ms);
    size_t rows = table.n_rows;
    if (rows > 0 && !table_render(&table, choice->wide ? 0 : style->width, style->coloured, out))
        out->failed = true;
    table_fini(&table);
    return rows;
}
