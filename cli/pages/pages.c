/* pages.c - see pages.h. The scalar fields of each kind are a table of label and path; a missing
 * field is not shown. Lists and tables follow. */
#include "cli/pages/pages.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "cli/common/view.h"

struct fact {
    const char *label, *path;
};

static const struct fact guest_facts[] = {
    {"Name", "metadata.name"},
    {"Namespace", "metadata.namespace"},
    {"UUID", "metadata.uid"},
    {"Phase", "status.phase"},
    {"Node", "status.nodeName"},
    {"State", "status.ferry.state"},
    {"Reason", "status.ferry.reason"},
    {"Memory", "spec.domain.memory.guest"},
    {"CPUs", "spec.domain.cpu.cores"},
    {"Eviction", "spec.evictionStrategy"},
    {"Evacuation", "status.evacuationNodeName"},
    {"Observed", "status.ferry.seenAt"},
    {"Migration", "status.ferry.migration"}, /* from here on: its newest migration */
    {"From", "status.migrationState.sourceNode"},
    {"To", "status.migrationState.targetNode"},
    {"Address", "status.migrationState.targetNodeAddress"},
    {"Mode", "status.migrationState.mode"},
    {"Policy", "status.migrationState.migrationPolicyName"},
    {"Started", "status.migrationState.startTimestamp"},
    {"Ended", "status.migrationState.endTimestamp"},
    {"Source pod", "status.migrationState.sourcePod"},
    {"Target pod", "status.migrationState.targetPod"},
    {"Abort", "status.migrationState.abortStatus"},
    {"Abort cause", "status.ferry.abortCause"},
    {"Failure", "status.migrationState.failureReason"},
};
static const struct fact node_facts[] = {
    {"Name", "metadata.name"},
    {"URI", "status.ferry.uri"},
    {"Created", "metadata.creationTimestamp"},
    {"Error", "status.ferry.error"},
    {"Drain", "status.ferry.drain"},
    {"CPUs", "status.capacity.cpu"},
    {"Memory", "status.capacity.memory"},
    {"Free memory", "status.allocatable.memory"},
    {"Guests", "status.ferry.guests"},
    {"Outbound", "status.ferry.outbound"},
    {"Inbound", "status.ferry.inbound"},
    {"Arch", "status.nodeInfo.architecture"},
    {"CPU model", "status.ferry.cpuModel"},
    {"Libvirt", "status.ferry.libvirtVersion"},
    {"QEMU", "status.ferry.qemuVersion"},
};

static const struct fact policy_facts[] = {
    {"Name", "metadata.name"},
    {"UID", "metadata.uid"},
    {"Created", "metadata.creationTimestamp"},
};
static const struct fact incident_facts[] = {
    {"Migration", "metadata.name"}, {"Namespace", "metadata.namespace"},
    {"Guest", "spec.vmiName"},      {"State", "status.state"},
    {"Kind", "status.kind"},        {"Node", "status.nodeName"},
    {"Plane", "status.plane"},      {"Cause", "status.cause"},
    {"Since", "status.since"},      {"Closed", "status.closedAt"},
    {"By", "status.closedBy"},
};
static const struct fact other_facts[] = {
    {"Name", "metadata.name"}, {"Namespace", "metadata.namespace"},
    {"UID", "metadata.uid"},   {"Created", "metadata.creationTimestamp"},
    {"Phase", "status.phase"}, {"Node", "spec.nodeName"},
};

void page_fact(struct buf *out, const char *label, const char *value)
{
    char clean[PAGE_TEXT_MAX], named[PAGE_LABEL_WIDTH * 2];
    if (*value == '\0')
        return;
    table_clean(clean, sizeof clean, value);
    (void)snprintf(named, sizeof named, "%s%s", label, *label != '\0' ? ":" : "");
    buf_addf(out, "%-*s %s\n", PAGE_LABEL_WIDTH - 1, named, clean);
}

static void add_conditions(struct buf *out, struct json_object *object)
{
    size_t n = view_count(object, "status.conditions");
    if (n > 0)
        buf_add(out, "Conditions:\n");
    for (size_t i = 0; i < n; i++) {
        struct json_object *condition = view_element(object, "status.conditions", i);
        char type[TABLE_CELL_MAX], status[TABLE_CELL_MAX], reason[TABLE_CELL_MAX];
        char message[PAGE_TEXT_MAX];
        table_clean(type, sizeof type, view_text(condition, "type"));
        table_clean(status, sizeof status, view_text(condition, "status"));
        table_clean(reason, sizeof reason, view_text(condition, "reason"));
        table_clean(message, sizeof message, view_text(condition, "message"));
        bool both = reason[0] != '\0' && message[0] != '\0';
        buf_addf(out, "  %-24s %-8s %s%s%s\n", type, status, reason, both ? ": " : "", message);
    }
}

/* Why the guest is not migratable by its definition, and what to do. */
static void add_reasons(struct buf *out, struct json_object *object)
{
    size_t n = view_count(object, "status.ferry.reasons");
    if (n > 0)
        buf_add(out, "Not migratable:\n");
    for (size_t i = 0; i < n; i++) {
        struct json_object *reason = view_element(object, "status.ferry.reasons", i);
        char name[TABLE_CELL_MAX], message[PAGE_TEXT_MAX], todo[PAGE_TEXT_MAX];
        table_clean(name, sizeof name, view_text(reason, "reason"));
        table_clean(message, sizeof message, view_text(reason, "message"));
        table_clean(todo, sizeof todo, view_text(reason, "whatToDo"));
        buf_addf(out, "  %s: %s\n    %s\n", name, message, todo);
    }
}

void page_pairs(struct json_object *map, char *out_text, size_t n)
{
    struct buf text;
    buf_init(&text, n);
    if (json_object_is_type(map, json_type_object)) {
        json_object_object_foreach(map, key, value)
        {
            buf_addf(&text, "%s%s=%s", text.length > 0 ? ", " : "", key,
                     value != NULL ? json_object_get_string(value) : "");
        }
    }
    (void)text_copy(out_text, n, text.data != NULL ? text.data : "");
    buf_fini(&text);
}

void page_table(struct table *take_table, const struct page_style *style, struct buf *out)
{
    struct buf plain;
    buf_init(&plain, PAGE_MAX);
    if (!table_render(take_table, style->width > 2 ? style->width - 2 : 0, style->coloured, &plain))
        out->failed = true;
    for (const char *line = plain.data; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n") + 1;
        buf_add(out, "  ");
        buf_add_bytes(out, line, length);
        line += length;
    }
    buf_fini(&plain);
    table_fini(take_table);
}

static void add_pairs(struct buf *out, const char *label, struct json_object *object,
                      const char *path)
{
    char text[PAGE_TEXT_MAX];
    page_pairs(json_at(object, path), text, sizeof text);
    page_fact(out, label, text);
}

/* --- nodes --- */

static void add_taints(struct json_object *object, struct buf *out)
{
    for (size_t i = 0; i < view_count(object, "spec.taints"); i++) {
        struct json_object *taint = view_element(object, "spec.taints", i);
        const char *value = view_text(taint, "value");
        char text[PAGE_TEXT_MAX];
        (void)snprintf(text, sizeof text, "%s%s%s:%s", view_text(taint, "key"),
                       *value != '\0' ? "=" : "", value, view_text(taint, "effect"));
        page_fact(out, i == 0 ? "Taints" : "", text);
    }
}

static void page_node(struct json_object *object, struct buf *out)
{
    char text[PAGE_TEXT_MAX], bytes[HUMAN_TEXT_MAX];
    if (view_bool(object, "spec.unschedulable"))
        page_fact(out, "Cordoned", "yes, unschedulable");
    add_taints(object, out);
    add_pairs(out, "Labels", object, "metadata.labels");
    int64_t kib = view_i64(object, "status.ferry.reserved.memoryKiB", 0);
    int64_t cpus = view_i64(object, "status.ferry.reserved.vcpus", 0);
    if (kib <= 0 && cpus <= 0)
        return;
    human_bytes((uint64_t)kib << 10, bytes);
    (void)snprintf(text, sizeof text, "%s and %lld CPUs, for inbound migrations", bytes,
                   (long long)cpus);
    page_fact(out, "Reserved", text);
}

/* --- guests: scheduling constraints --- */

static void add_tolerations(struct json_object *object, struct buf *out)
{
    for (size_t i = 0; i < view_count(object, "spec.tolerations"); i++) {
        struct json_object *row = view_element(object, "spec.tolerations", i);
        const char *value = view_text(row, "value"), *effect = view_text(row, "effect");
        char text[PAGE_TEXT_MAX];
        (void)snprintf(text, sizeof text, "%s%s%s%s%s", view_text(row, "key"),
                       *value != '\0' ? "=" : "", value, *effect != '\0' ? ":" : "", effect);
        page_fact(out, i == 0 ? "Tolerates" : "", text);
    }
}

static void add_affinities(struct json_object *object, const char *kind, const char *label,
                           struct buf *out)
{
    char path[PAGE_TEXT_MAX], text[PAGE_TEXT_MAX], pairs[PAGE_TEXT_MAX / 2];
    (void)snprintf(path, sizeof path,
                   "spec.affinity.%s.requiredDuringSchedulingIgnoredDuringExecution", kind);
    for (size_t i = 0; i < view_count(object, path); i++) {
        struct json_object *row = view_element(object, path, i);
        page_pairs(json_at(row, "labelSelector.matchLabels"), pairs, sizeof pairs);
        (void)snprintf(text, sizeof text, "guests with %s, by %.200s", pairs,
                       view_text(row, "topologyKey"));
        page_fact(out, label, text);
    }
}

/* Volumes that migrate to other storage, or still have to after a failure. */
static void add_disks(struct json_object *object, struct buf *out)
{
    for (size_t i = 0; i < view_count(object, "status.migratedVolumes"); i++) {
        struct json_object *row = view_element(object, "status.migratedVolumes", i);
        const char *from = view_text(row, "sourcePVCInfo.claimName");
        char text[PAGE_TEXT_MAX];
        (void)snprintf(text, sizeof text, "%.64s: %.400s%sto %.400s", view_text(row, "volumeName"),
                       from, *from != '\0' ? " " : "",
                       view_text(row, "destinationPVCInfo.claimName"));
        page_fact(out, i == 0 ? "Volumes" : "", text);
    }
}

static void page_guest(struct json_object *object, struct buf *out)
{
    add_pairs(out, "Labels", object, "metadata.labels");
    add_pairs(out, "Selector", object, "spec.nodeSelector");
    add_tolerations(object, out);
    add_affinities(object, "podAffinity", "Affinity", out);
    add_affinities(object, "podAntiAffinity", "Anti-affinity", out);
    add_pairs(out, "Active pods", object, "status.activePods");
    add_disks(object, out);
    add_conditions(out, object);
    add_reasons(out, object);
    page_move(object, out);
}

/* --- policies --- */

/* A selector is a map of pairs; KubeVirt also has it below matchLabels. */
static void add_selector(struct json_object *object, const char *label, const char *path,
                         struct buf *out)
{
    struct json_object *map = json_at(object, path);
    char text[PAGE_TEXT_MAX], nested[PAGE_TEXT_MAX];
    if (map == NULL)
        return;
    struct json_object *inner = json_at(map, "matchLabels");
    page_pairs(inner != NULL ? inner : map, nested, sizeof nested);
    (void)snprintf(text, sizeof text, "%s", nested[0] != '\0' ? nested : "all");
    page_fact(out, label, text);
}

static void add_leaves(struct json_object *object, const char *prefix, struct buf *out)
{
    json_object_object_foreach(object, key, value)
    {
        char path[PAGE_TEXT_MAX];
        (void)snprintf(path, sizeof path, "%s%s%.200s", prefix, *prefix != '\0' ? "." : "", key);
        if (text_equal(path, "selectors"))
            continue;
        if (json_object_is_type(value, json_type_object))
            add_leaves(value, path, out); /* depth is bounded by the parser */
        else
            buf_addf(out, "  %s: %s\n", path,
                     value != NULL ? json_object_get_string(value) : "null");
    }
}

static void page_policy(struct json_object *object, struct buf *out)
{
    if (json_at(object, "spec.selectors") == NULL)
        page_fact(out, "Matches", "nothing: it has no selectors");
    add_selector(object, "Guests", "spec.selectors.virtualMachineInstanceSelector", out);
    add_selector(object, "Namespaces", "spec.selectors.namespaceSelector", out);
    struct json_object *spec = json_at(object, "spec");
    if (json_object_is_type(spec, json_type_object)) {
        buf_add(out, "Settings:\n");
        add_leaves(spec, "", out);
    }
}

/* --- any --- */

/* Memory is a quantity of Kubernetes, "16Gi". */
static void add_fact(struct buf *out, const struct fact *fact, const char *value)
{
    char text[HUMAN_TEXT_MAX];
    uint64_t bytes;
    if (strstr(fact->path, ".memory") != NULL && human_read_quantity(value, &bytes)) {
        human_bytes(bytes, text);
        value = text;
    }
    page_fact(out, fact->label, value);
}

static void add_facts(struct buf *out, struct json_object *object, const struct fact *facts,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_fact(out, &facts[i], view_text(object, facts[i].path));
}

static void page_other(struct json_object *object, struct buf *out)
{
    add_facts(out, object, other_facts, COUNT(other_facts));
    add_pairs(out, "Labels", object, "metadata.labels");
    add_pairs(out, "Hard", object, "spec.hard");
    add_pairs(out, "Used", object, "status.used");
    add_conditions(out, object);
}

void page_object(enum kind kind, struct json_object *object, const struct page_style *style,
                 struct buf *out)
{
    switch (kind) {
    case KIND_MIGRATION:
        page_migration(object, style, out);
        add_conditions(out, object);
        return;
    case KIND_GUEST:
        add_facts(out, object, guest_facts, COUNT(guest_facts));
        page_guest(object, out);
        return;
    case KIND_NODE:
        add_facts(out, object, node_facts, COUNT(node_facts));
        page_node(object, out);
        add_conditions(out, object);
        return;
    case KIND_POLICY:
        add_facts(out, object, policy_facts, COUNT(policy_facts));
        page_policy(object, out);
        return;
    case KIND_DRAIN: page_drain(object, style, out); return;
    case KIND_INCIDENT: add_facts(out, object, incident_facts, COUNT(incident_facts)); return;
    case KIND_QUOTA:
    case KIND_NAMESPACE:
    case KIND_TOKEN:
    case KIND_POD:
    case KIND_EVENT:
    case KIND_COUNT: page_other(object, out); return;
    }
}

void page_events(struct json_object *events, const char *uid, struct buf *out)
{
    size_t n = view_count(events, "items"), shown = 0;
    for (size_t i = n > PAGE_EVENTS_MAX ? n - PAGE_EVENTS_MAX : 0; i < n; i++) {
        struct json_object *event = view_element(events, "items", i);
        char at[TABLE_CELL_MAX], reason[TABLE_CELL_MAX], message[PAGE_TEXT_MAX];
        if (!text_equal(view_text(event, "involvedObject.uid"), uid))
            continue;
        table_clean(at, sizeof at, view_text(event, "lastTimestamp"));
        table_clean(reason, sizeof reason, view_text(event, "reason"));
        table_clean(message, sizeof message, view_text(event, "message"));
        buf_addf(out, "%s  %s  %s  %s: %s\n", shown++ == 0 ? "Events:\n" : "", at,
                 view_text(event, "type"), reason, message);
    }
}
