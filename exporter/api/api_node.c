/* api_node.c - a host as Kubernetes' Node. */
#include <string.h>

#include "exporter/api/api.h"
#include "hypervisor/versions.h"

static struct json_object *labels_of(const struct snapshot_node *node)
{
    struct json_object *labels = api_object_from(node->labels, NULL);
    json_add_text(labels, "kubernetes.io/hostname", node->name);
    if (node->has_facts)
        json_add_text(labels, "kubernetes.io/arch", node->facts.arch);
    return labels;
}

static void add_spec(struct json_object *object, const struct snapshot_node *node)
{
    struct err ignored = {0};
    struct json_object *spec = json_add_object(object, "spec");
    OWNED(json_object) taints =
        node->taints == NULL ? NULL
                             : json_parse(node->taints, strlen(node->taints), "taints", &ignored);
    if (json_object_is_type(taints, json_type_array) && json_object_array_length(taints) > 0)
        json_add(spec, "taints", TAKE(taints));
    if (node->cordoned)
        json_add_bool(spec, "unschedulable", true);
}

/* A version as libvirt encodes it; "": not known. */
static void version_text(unsigned long version, char *out_text)
{
    out_text[0] = '\0';
    if (version != 0)
        hv_version_text(version, out_text);
}

/* ---- what its versions cannot do: hypervisor/versions.def ---- */

enum { WARNINGS_TEXT_MAX = 4096 };
#define NEWER "newer-than-known"

/* In the order of the table; refusals and notes. */
static bool next_warning(const struct hv_facts *facts, int *at)
{
    while (++*at < HV_QUIRK_COUNT)
        if (hv_quirk_shown((enum hv_quirk) * at) != HV_QUIRK_QUIET &&
            hv_quirk_of((enum hv_quirk) * at, facts->libvirt_version, facts->hypervisor_version))
            return true;
    return false;
}

static void newer_text(struct buf *out)
{
    char libvirt[HV_VERSION_TEXT_MAX], qemu[HV_VERSION_TEXT_MAX];
    hv_version_text(hv_newest_libvirt, libvirt);
    hv_version_text(hv_newest_qemu, qemu);
    buf_addf(out, "newer than the versions that Ferry was tested with (libvirt %s, QEMU %s)",
             libvirt, qemu);
}

static struct json_object *add_warning(struct json_object *list, const char *name, const char *side,
                                       bool refuses)
{
    struct json_object *warning = json_add_object(list, "");
    json_add_text(warning, "name", name);
    json_add_text(warning, "side", side);
    json_add_bool(warning, "refuses", refuses);
    return warning;
}

/* status.ferry.warnings: for each what cannot be done, and what Ferry does instead. */
static void add_warnings(struct json_object *ferry, const struct hv_facts *facts)
{
    static const char *const sides[] = {[HV_QUIRK_OF_SOURCE] = "source",
                                        [HV_QUIRK_OF_TARGET] = "target",
                                        [HV_QUIRK_OF_EITHER] = "either"};
    struct json_object *list = json_add_array(ferry, "warnings");
    for (int at = -1; next_warning(facts, &at);) {
        enum hv_quirk quirk = (enum hv_quirk)at;
        struct json_object *warning =
            add_warning(list, hv_quirk_name(quirk), sides[hv_quirk_side(quirk)],
                        hv_quirk_shown(quirk) == HV_QUIRK_REFUSES);
        json_add_text(warning, "message", hv_quirk_why(quirk));
        json_add_text(warning, "instead", hv_quirk_instead(quirk));
    }
    if (hv_is_newer_than_known(facts)) {
        struct buf text;
        buf_init(&text, WARNINGS_TEXT_MAX);
        newer_text(&text);
        json_add_text(add_warning(list, NEWER, sides[HV_QUIRK_OF_EITHER], false), "message",
                      text.data);
        buf_fini(&text);
    }
}

/* Names alone, for a column. */
static void add_warning_names(struct buf *out, const struct snapshot_node *node)
{
    if (!node->has_facts)
        return;
    for (int at = -1; next_warning(&node->facts, &at);)
        buf_addf(out, "%s%s", out->length > 0 ? "," : "", hv_quirk_name((enum hv_quirk)at));
    if (hv_is_newer_than_known(&node->facts))
        buf_addf(out, "%s%s", out->length > 0 ? "," : "", NEWER);
}

/* The same as a condition, for those who look at conditions. */
static void add_warnings_condition(struct json_object *conditions, const struct snapshot_node *node)
{
    struct buf text;
    bool refuses = false;
    buf_init(&text, WARNINGS_TEXT_MAX);
    for (int at = -1; next_warning(&node->facts, &at);) {
        enum hv_quirk quirk = (enum hv_quirk)at;
        refuses = refuses || hv_quirk_shown(quirk) == HV_QUIRK_REFUSES;
        buf_addf(&text, "%s%s: %s", text.length > 0 ? "; " : "", hv_quirk_why(quirk),
                 hv_quirk_instead(quirk));
    }
    if (hv_is_newer_than_known(&node->facts)) {
        buf_add(&text, text.length > 0 ? "; " : "");
        newer_text(&text);
    }
    bool has_any = text.length > 0;
    api_add_condition(conditions, "ferry.internal/CapabilityWarnings", has_any ? "True" : "False",
                      node->since_ms,
                      refuses   ? "MigrationRefused"
                      : has_any ? "KnownLimits"
                                : "NoneKnown",
                      has_any ? text.data : NULL);
    buf_fini(&text);
}

static void add_facts(struct json_object *status, const struct hv_facts *facts)
{
    char memory[API_SHORT_TEXT_MAX], cpus[API_SHORT_TEXT_MAX], libvirt[API_SHORT_TEXT_MAX];
    char qemu[API_SHORT_TEXT_MAX], runtime[64];
    (void)snprintf(memory, sizeof memory, "%lluKi", (unsigned long long)facts->memory_kib);
    version_text(facts->hypervisor_version, qemu);
    (void)snprintf(runtime, sizeof runtime, "qemu://%s", qemu);
    (void)snprintf(cpus, sizeof cpus, "%u", facts->cpus);
    version_text(facts->libvirt_version, libvirt);
    struct json_object *capacity = json_add_object(status, "capacity");
    json_add_text(capacity, "cpu", cpus);
    json_add_text(capacity, "memory", memory);
    struct json_object *allocatable = json_add_object(status, "allocatable");
    json_add_text(allocatable, "cpu", cpus);
    json_add_text(allocatable, "memory", memory);
    struct json_object *info = json_add_object(status, "nodeInfo");
    json_add_text(info, "architecture", facts->arch);
    json_add_text(info, "systemUUID", facts->uuid);
    json_add_text(info, "kubeletVersion", libvirt); /* the host's agent is libvirtd */
    json_add_text(info, "containerRuntimeVersion", runtime);
}

static void add_addresses(struct json_object *status, const struct snapshot_node *node)
{
    struct json_object *addresses = json_add_array(status, "addresses");
    struct json_object *hostname = json_add_object(addresses, "");
    json_add_text(hostname, "type", "Hostname");
    json_add_text(hostname, "address", node->has_facts ? node->facts.hostname : node->name);
    if (node->migration_host[0] == '\0')
        return;
    struct json_object *internal = json_add_object(addresses, "");
    json_add_text(internal, "type", "InternalIP");
    json_add_text(internal, "address", node->migration_host);
}

static void add_resources(struct json_object *ferry, const char *key, uint64_t kib, unsigned vcpus)
{
    struct json_object *reserved = json_add_object(ferry, key);
    json_add_i64(reserved, "memoryKiB", (int64_t)kib);
    json_add_i64(reserved, "vcpus", vcpus);
}

static void add_ferry(struct json_object *status, const struct snapshot_node *node)
{
    struct json_object *ferry = json_add_object(status, "ferry");
    json_add_text(ferry, "uri", node->uri);
    json_add_bool(ferry, "connected", node->connected);
    json_add_i64(ferry, "guests", node->guests);
    json_add_i64(ferry, "outbound", node->outbound);
    json_add_i64(ferry, "inbound", node->inbound);
    add_resources(ferry, "running", node->running_kib, node->running_vcpus);
    add_resources(ferry, "reserved", node->reserved_kib, node->reserved_vcpus);
    api_add_unless_empty(ferry, "drain", node->drain);
    api_add_unless_empty(ferry, "error", node->error);
    if (!node->has_facts)
        return;
    char libvirt[API_SHORT_TEXT_MAX], qemu[API_SHORT_TEXT_MAX];
    version_text(node->facts.libvirt_version, libvirt);
    version_text(node->facts.hypervisor_version, qemu);
    json_add_text(ferry, "libvirtVersion", libvirt);
    json_add_text(ferry, "qemuVersion", qemu);
    json_add_text(ferry, "cpuModel", node->facts.cpu_model);
    json_add_i64(ferry, "freeMemoryKiB", (int64_t)node->facts.free_memory_kib);
    char free_memory[API_SHORT_TEXT_MAX];
    (void)snprintf(free_memory, sizeof free_memory, "%lluKi",
                   (unsigned long long)node->facts.free_memory_kib);
    json_add_text(ferry, "freeMemory", free_memory);
    add_warnings(ferry, &node->facts);
}

/* ---- as a kind ---- */

static size_t count(const struct snapshot *s)
{
    return s->n_nodes;
}
static const char *name(const struct snapshot *s, size_t i)
{
    return s->nodes[i].name;
}
static const char *uid(const struct snapshot *s, size_t i)
{
    return s->nodes[i].facts.uuid;
}
static struct json_object *labels(const struct snapshot *s, size_t i)
{
    return labels_of(&s->nodes[i]);
}

static struct snapshot_node shown(const struct snapshot_node *node)
{
    struct snapshot_node out = *node;
    out.labels = out.taints = NULL;
    return out;
}

static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    const struct snapshot_node x = shown(&a->nodes[i]), y = shown(&b->nodes[j]);
    return memcmp(&x, &y, sizeof x) == 0 && text_equal(a->nodes[i].labels, b->nodes[j].labels) &&
           text_equal(a->nodes[i].taints, b->nodes[j].taints) &&
           api_documents_are_same(api_document(a, OBJECT_NODE, "", x.name),
                                  api_document(b, OBJECT_NODE, "", y.name));
}

static struct json_object *object(const struct snapshot *s, size_t i)
{
    const struct snapshot_node *node = &s->nodes[i];
    const struct api_meta meta = {NULL, node->name, node->facts.uuid, node->created_ms};
    struct json_object *out = json_object_new_object();
    struct json_object *metadata = api_add_meta(out, KIND_NODE, &meta);
    json_add(metadata, "labels", labels_of(node));
    const struct snapshot_object *overlay = api_document(s, OBJECT_NODE, "", node->name);
    if (overlay != NULL)
        api_add_annotations(metadata, overlay->metadata_json);
    add_spec(out, node);
    struct json_object *status = json_add_object(out, "status");
    struct json_object *conditions = json_add_array(status, "conditions");
    /* Unreachable: Unknown, not False. */
    api_add_condition(conditions, "Ready", node->connected ? "True" : "Unknown", node->since_ms,
                      node->connected ? "Connected" : "Unreachable",
                      node->connected ? "libvirt answers" : node->error);
    add_addresses(status, node);
    if (node->has_facts)
        add_warnings_condition(conditions, node);
    if (node->has_facts)
        add_facts(status, &node->facts);
    add_ferry(status, node);
    return out;
}

static void add_cells(const struct snapshot *s, size_t i, int64_t now_ms, struct json_object *cells)
{
    const struct snapshot_node *node = &s->nodes[i];
    char libvirt[API_SHORT_TEXT_MAX], qemu[API_SHORT_TEXT_MAX], age[API_SHORT_TEXT_MAX];
    version_text(node->facts.libvirt_version, libvirt);
    version_text(node->facts.hypervisor_version, qemu);
    api_age_text(node->created_ms, now_ms, age);
    char status[API_SHORT_TEXT_MAX];
    (void)snprintf(status, sizeof status, "%s%s", node->connected ? "Ready" : "NotReady",
                   node->cordoned ? ",SchedulingDisabled" : "");
    json_add_text(cells, "", status);
    json_add_i64(cells, "", node->guests);
    struct buf warnings;
    buf_init(&warnings, WARNINGS_TEXT_MAX);
    add_warning_names(&warnings, node);
    const char *const texts[] = {
        libvirt,     qemu,     age, warnings.length > 0 ? warnings.data : "", node->facts.cpu_model,
        node->error, node->uri};
    for (size_t c = 0; c < COUNT(texts); c++)
        json_add_text(cells, "", texts[c]);
    buf_fini(&warnings);
}

static const char *field(const struct snapshot *s, size_t i, const char *key)
{
    (void)key;
    return s->nodes[i].cordoned ? "true" : "false";
}

const struct api_view api_nodes = {.count = count,
                                   .name = name,
                                   .uid = uid,
                                   .is_same = is_same,
                                   .labels = labels,
                                   .object = object,
                                   .add_cells = add_cells,
                                   .fields = "spec.unschedulable",
                                   .field = field};
