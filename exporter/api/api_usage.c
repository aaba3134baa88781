/* api_usage.c - what nodes and launchers use, as Kubernetes' metrics.k8s.io: `kubectl top`.
 *
 * Memory of a node is measured: what its libvirt reports as not free. Memory of a launcher is the
 * guest's size. CPU time is not measured by Ferry: shown are the vCPUs that run, which is the most
 * that they can use. Not watchable: it changes with every look. */
#include "exporter/api/api.h"

enum { WINDOW_S = 30 };

static void add_usage(struct json_object *into, unsigned vcpus, uint64_t kib)
{
    char memory[API_SHORT_TEXT_MAX], cpus[API_SHORT_TEXT_MAX];
    (void)snprintf(memory, sizeof memory, "%lluKi", (unsigned long long)kib);
    (void)snprintf(cpus, sizeof cpus, "%u", vcpus);
    struct json_object *usage = json_add_object(into, "usage");
    json_add_text(usage, "cpu", cpus);
    json_add_text(usage, "memory", memory);
}

static void add_time(struct json_object *object, const struct snapshot *s)
{
    char window[API_SHORT_TEXT_MAX];
    (void)snprintf(window, sizeof window, "%ds", WINDOW_S);
    json_add_time(object, "timestamp", s->wall_ms);
    json_add_text(object, "window", window);
}

static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    (void)a, (void)i, (void)b, (void)j;
    return true; /* no version says that it changed */
}

static void add_cells_of(struct json_object *usage, struct json_object *cells)
{
    json_add_text(cells, "", json_object_get_string(json_object_object_get(usage, "cpu")));
    json_add_text(cells, "", json_object_get_string(json_object_object_get(usage, "memory")));
}

/* ---- nodes ---- */

static size_t count_nodes(const struct snapshot *s)
{
    return s->n_nodes;
}
static bool has_facts(const struct snapshot *s, size_t i)
{
    return s->nodes[i].has_facts && s->nodes[i].connected;
}
static const char *node_name(const struct snapshot *s, size_t i)
{
    return s->nodes[i].name;
}
static const char *node_uid(const struct snapshot *s, size_t i)
{
    return s->nodes[i].facts.uuid;
}
static struct json_object *node_labels(const struct snapshot *s, size_t i)
{
    return api_nodes.labels(s, i);
}

static struct json_object *node_object(const struct snapshot *s, size_t i)
{
    const struct snapshot_node *node = &s->nodes[i];
    const struct api_meta meta = {NULL, node->name, NULL, node->created_ms};
    struct json_object *out = json_object_new_object();
    struct json_object *metadata = api_add_meta(out, KIND_NODE_METRICS, &meta);
    json_add(metadata, "labels", node_labels(s, i));
    add_time(out, s);
    uint64_t all = node->facts.memory_kib, free_kib = node->facts.free_memory_kib;
    add_usage(out, node->running_vcpus, all > free_kib ? all - free_kib : 0);
    return out;
}

static void node_cells(const struct snapshot *s, size_t i, int64_t now_ms,
                       struct json_object *cells)
{
    (void)now_ms;
    OWNED(json_object) object = node_object(s, i);
    add_cells_of(json_at(object, "usage"), cells);
}

const struct api_view api_node_usage = {.count = count_nodes,
                                        .name = node_name,
                                        .uid = node_uid,
                                        .is_same = is_same,
                                        .labels = node_labels,
                                        .object = node_object,
                                        .add_cells = node_cells,
                                        .is_there = has_facts};

/* ---- launchers of guests that are up ---- */

static size_t count_guests(const struct snapshot *s)
{
    return s->n_guests;
}
static bool is_up(const struct snapshot *s, size_t i)
{
    return s->guests[i].up && s->guests[i].pod[0] != '\0' && s->guests[i].node_reachable;
}
static const char *pod_ns(const struct snapshot *s, size_t i)
{
    return s->guests[i].ns;
}
static const char *pod_name(const struct snapshot *s, size_t i)
{
    return s->guests[i].pod;
}
static const char *pod_uid(const struct snapshot *s, size_t i)
{
    return s->guests[i].pod_uid;
}
static struct json_object *pod_labels(const struct snapshot *s, size_t i)
{
    return api_pods.labels(s, i); /* guests come first there, with the same numbers */
}

static struct json_object *pod_object(const struct snapshot *s, size_t i)
{
    const struct snapshot_guest *guest = &s->guests[i];
    const struct api_meta meta = {guest->ns, guest->pod, NULL, guest->here_since_ms};
    struct json_object *out = json_object_new_object();
    struct json_object *metadata = api_add_meta(out, KIND_POD_METRICS, &meta);
    json_add(metadata, "labels", pod_labels(s, i));
    add_time(out, s);
    struct json_object *container = json_add_object(json_add_array(out, "containers"), "");
    json_add_text(container, "name", "compute");
    add_usage(container, guest->vcpus, guest->memory_kib);
    return out;
}

static void pod_cells(const struct snapshot *s, size_t i, int64_t now_ms, struct json_object *cells)
{
    (void)now_ms;
    OWNED(json_object) object = pod_object(s, i);
    add_cells_of(json_at(object, "containers.0.usage"), cells);
}

const struct api_view api_pod_usage = {.count = count_guests,
                                       .ns = pod_ns,
                                       .name = pod_name,
                                       .uid = pod_uid,
                                       .is_same = is_same,
                                       .labels = pod_labels,
                                       .object = pod_object,
                                       .add_cells = pod_cells,
                                       .is_there = is_up};
