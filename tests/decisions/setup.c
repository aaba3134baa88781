/* setup.c - see case.h: the fleet of a case. */
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "store/sqlite/sqlite.h"
#include "tests/decisions/case.h"

/* ---- members ---- */

bool case_text(const struct world *w, const struct yaml_node *map, const char *key,
               const char **out_text, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    return node == NULL || yaml_text(w->yaml, node, out_text, err);
}

bool case_number(const struct world *w, const struct yaml_node *map, const char *key,
                 uint64_t *out_value, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    const char *text = NULL;
    struct err bad = {0};
    int64_t value = 0;
    if (node == NULL)
        return true;
    if (!yaml_text(w->yaml, node, &text, err))
        return false;
    if (!quantity_parse_whole(text, key, &value, &bad))
        return yaml_fail(w->yaml, node, err, "%s", bad.text);
    *out_value = (uint64_t)value;
    return true;
}

bool case_bool(const struct world *w, const struct yaml_node *map, const char *key, bool *out_value,
               struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    return node == NULL || yaml_bool(w->yaml, node, out_value, err);
}

bool case_seconds(const struct world *w, const struct yaml_node *map, const char *key,
                  int64_t *out_ms, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    const char *text = NULL;
    struct err bad = {0};
    if (node == NULL)
        return true;
    if (!yaml_text(w->yaml, node, &text, err))
        return false;
    if (!quantity_parse(text, key, out_ms, &bad))
        return yaml_fail(w->yaml, node, err, "%s", bad.text);
    return true;
}

bool case_observation(const struct world *w, const struct yaml_node *node,
                      struct hv_observation *out_observation, struct err *err)
{
    const char *text = NULL;
    char state[HV_TEXT_MAX], back[HV_TEXT_MAX];
    *out_observation = (struct hv_observation){.presence = HV_PRESENT, .job_type = -1};
    if (!yaml_text(w->yaml, node, &text, err))
        return false;
    if (hv_presence_from_name(text) == HV_ABSENT || hv_presence_from_name(text) == HV_UNREACHABLE) {
        out_observation->presence = hv_presence_from_name(text);
        return true;
    }
    TEXT_SET(state, text);
    char *autostart =
        strstr(state, " autostart"); /* it is defined there, and starts with the host */
    if (autostart != NULL) {
        *autostart = '\0';
        out_observation->persistent = out_observation->autostart = true;
    }
    char *reason = strchr(state, '(');
    if (reason != NULL)
        *reason++ = '\0';
    if (reason != NULL && strchr(reason, ')') != NULL)
        *strchr(reason, ')') = '\0';
    hv_state_from_names(state, reason != NULL ? reason : "", &out_observation->state,
                        &out_observation->reason);
    hv_state_text(out_observation->state, out_observation->reason, back);
    if (strncmp(back, text, strlen(back)) != 0 ||
        strcmp(text + strlen(back), autostart != NULL ? " autostart" : "") != 0)
        return yaml_fail(w->yaml, node, err, "'%s' is no state; as 'paused(migration)', or absent",
                         text);
    return true;
}

/* ---- configuration ---- */

static bool read_config(const struct world *w, const struct yaml_node *node,
                        struct fleet_config *config, struct err *err)
{
    static const char *const keys[] = {"parallelMigrationsPerCluster",
                                       "parallelOutboundMigrationsPerNode",
                                       "parallelInboundMigrationsPerNode",
                                       "bandwidthPerNode",
                                       "evictionStrategy",
                                       "progressTimeout"};
    uint64_t fleet = 5, out = 2, in = 2, progress = 150;
    const char *strategy = "LiveMigrate";
    *config = (struct fleet_config){.abort_guard_ms = 30000,
                                    .idle_call_timeout_ms = 300000,
                                    .prepare_timeout_ms = 60000,
                                    .jobs_kept_per_guest = 5,
                                    .jobs_kept = 100};
    migration_config_default(&config->migration);
    if (node != NULL &&
        (!yaml_only_keys(w->yaml, node, keys, COUNT(keys), err) ||
         !case_number(w, node, keys[0], &fleet, err) || !case_number(w, node, keys[1], &out, err) ||
         !case_number(w, node, keys[2], &in, err) ||
         !case_number(w, node, keys[3], &config->bandwidth_per_node, err) ||
         !case_text(w, node, keys[4], &strategy, err) ||
         !case_number(w, node, keys[5], &progress, err)))
        return false;
    config->parallel_per_fleet = (unsigned)fleet;
    config->parallel_outbound_per_node = (unsigned)out;
    config->parallel_inbound_per_node = (unsigned)in;
    config->migration.progress_timeout = (int64_t)progress;
    config->eviction_strategy = strategy_from_name(strategy);
    if (config->eviction_strategy == STRATEGY_COUNT)
        return yaml_fail(w->yaml, node, err, "there is no eviction strategy '%s'", strategy);
    return true;
}

/* ---- hosts ---- */

static bool read_version(const struct world *w, const struct yaml_node *host, const char *key,
                         unsigned long *out_version, struct err *err)
{
    const char *text = NULL;
    unsigned long major = 0, minor = 0, micro = 0;
    if (!case_text(w, host, key, &text, err))
        return false;
    if (text == NULL)
        return true;
    if (sscanf(text, "%lu.%lu.%lu", &major, &minor, &micro) < 2)
        return yaml_fail(w->yaml, yaml_child(host, key), err, "'%s' is no version", text);
    *out_version = major * 1000000 + minor * 1000 + micro;
    return true;
}

static bool read_cpu(const struct world *w, const struct yaml_node *node, struct world_host *host,
                     struct err *err)
{
    const char *cpu = "same", *path = "unknown";
    if (!case_text(w, node, "cpu", &cpu, err) || !case_text(w, node, "path", &path, err))
        return false;
    host->comparison = strcmp(cpu, "incompatible") == 0 ? 0 : 1;
    host->cannot_compare = strcmp(cpu, "cannot-compare") == 0;
    host->loses_question = strcmp(cpu, "unreachable") == 0;
    for (int i = HV_PATH_UNKNOWN; i <= HV_PATH_DEAD; i++)
        if (strcmp(hv_path_name((enum hv_path)i), path) == 0)
            host->path = (enum hv_path)i;
    return true;
}

static bool read_host(struct world *w, const struct yaml_node *node, struct err *err)
{
    static const char *const keys[] = {"name",     "libvirt", "qemu",  "memory",        "cpus",
                                       "address",  "helper",  "tls",   "labels",        "taints",
                                       "cpu",      "path",    "pools", "unschedulable", "machines",
                                       "networks", "bridges", "arch",  "hugepages",     "silent",
                                       "uuid"};
    const char *name = NULL, *address = "", *arch = "x86_64", *uuid = "";
    bool helper = false, silent = false;
    uint64_t memory = 0, cpus = 0;
    if (w->n_hosts == WORLD_HOSTS_MAX)
        return yaml_fail(w->yaml, node, err, "%d hosts are the limit", WORLD_HOSTS_MAX);
    struct world_host *host = &w->hosts[w->n_hosts++];
    host->node = node;
    host->is.tls = true;
    if (!yaml_only_keys(w->yaml, node, keys, COUNT(keys), err) ||
        !case_text(w, node, "name", &name, err) || !case_text(w, node, "address", &address, err) ||
        !case_text(w, node, "arch", &arch, err) || !case_text(w, node, "uuid", &uuid, err) ||
        !case_bool(w, node, "helper", &helper, err) ||
        !case_bool(w, node, "silent", &silent, err) ||
        !case_bool(w, node, "tls", &host->is.tls, err) ||
        !case_number(w, node, "memory", &memory, err) ||
        !case_number(w, node, "cpus", &cpus, err) ||
        !read_version(w, node, "libvirt", &host->facts.libvirt_version, err) ||
        !read_version(w, node, "qemu", &host->facts.hypervisor_version, err) ||
        !read_cpu(w, node, host, err))
        return false;
    if (name == NULL)
        return yaml_fail(w->yaml, node, err, "a host needs a name");
    TEXT_SET(host->is.name, name);
    TEXT_SET(host->is.migration_host, address);
    TEXT_SET(host->is.helper, helper ? "helper" : "");
    TEXT_SET(host->facts.arch, arch);
    TEXT_SET(host->facts.uuid, uuid);
    host->facts.memory_kib = memory / 1024;
    host->facts.cpus = (unsigned)cpus;
    host->connected = !silent;
    return fleet_add_node(w->fleet, &host->is, w->now.wall_ms, err);
}

/* Labels, taints and cordon are the node's document. */
static bool put_node(struct world *w, const struct world_host *host, struct err *err)
{
    static const char *const keys[] = {"labels", "taints", "unschedulable"};
    OWNED(json_object) spec = json_object_new_object();
    for (size_t i = 0; i < COUNT(keys); i++) {
        const struct yaml_node *child = yaml_child(host->node, keys[i]);
        if (child != NULL)
            json_add(spec, keys[i], yaml_to_json(child));
    }
    return json_object_object_length(spec) == 0 ||
           case_put(w, OBJECT_NODE, host->is.name, json_object_to_json_string(spec), err);
}

/* ---- guests ---- */

static char *json_of(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *child = yaml_child(map, key);
    if (child == NULL)
        return NULL;
    OWNED(json_object) json = yaml_to_json(child);
    return strdup(json_object_to_json_string(json));
}

static bool read_guest(struct world *w, const struct yaml_node *node, struct err *err)
{
    static const char *const keys[] = {"name",  "host",   "namespace",  "uuid",   "memory",
                                       "vcpus", "state",  "persistent", "labels", "settings",
                                       "xml",   "stored", "snapshots"};
    const char *name = NULL, *host = NULL, *ns = "default", *uuid = NULL;
    uint64_t memory = 64 << 20, vcpus = 1, snapshots = 0;
    struct hv_observation state = {.state = HV_STATE_RUNNING, .reason = HV_RUNNING_BOOTED};
    if (w->n_guests == WORLD_GUESTS_MAX)
        return yaml_fail(w->yaml, node, err, "%d guests are the limit", WORLD_GUESTS_MAX);
    struct world_guest *guest = &w->guests[w->n_guests++];
    if (!yaml_only_keys(w->yaml, node, keys, COUNT(keys), err) ||
        !case_text(w, node, "name", &name, err) || !case_text(w, node, "host", &host, err) ||
        !case_text(w, node, "namespace", &ns, err) || !case_text(w, node, "uuid", &uuid, err) ||
        !case_text(w, node, "xml", &guest->xml, err) ||
        !case_text(w, node, "stored", &guest->stored_xml, err) ||
        !case_number(w, node, "memory", &memory, err) ||
        !case_number(w, node, "vcpus", &vcpus, err) ||
        !case_number(w, node, "snapshots", &snapshots, err) ||
        !case_bool(w, node, "persistent", &guest->is.persistent, err) ||
        (yaml_child(node, "state") != NULL &&
         !case_observation(w, yaml_child(node, "state"), &state, err)))
        return false;
    if (name == NULL || host == NULL || world_host(w, host) == NULL)
        return yaml_fail(w->yaml, node, err, "a guest needs a name and a host of this case");
    (void)snprintf(guest->is.uuid, sizeof guest->is.uuid, "00000000-0000-4000-8000-%012zu",
                   w->n_guests);
    if (uuid != NULL)
        TEXT_SET(guest->is.uuid, uuid);
    TEXT_SET(guest->is.name, name);
    TEXT_SET(guest->is.ns, ns);
    TEXT_SET(guest->home, host);
    guest->is.state = state.state;
    guest->is.reason = state.reason;
    guest->is.memory_kib = memory / 1024;
    guest->is.vcpus = (unsigned)vcpus;
    guest->is.labels = json_of(node, "labels");
    guest->is.settings = json_of(node, "settings");
    guest->snapshots = (unsigned)snapshots;
    guest->job = -1;
    return true;
}

/* ---- documents ---- */

bool case_put(struct world *w, enum object_kind kind, const char *name, const char *spec_json,
              struct err *err)
{
    struct input input = {.kind = INPUT_PUT, .of.put.kind = kind, .of.put.spec_json = spec_json};
    struct migration_ref ref = {{0}, {0}, {0}};
    TEXT_SET(input.of.put.ns, object_kind_is_spaced(kind) ? "default" : "");
    TEXT_SET(input.of.put.name, name);
    TEXT_SET(input.of.put.requester, "operator");
    return world_feed(w, &input, &ref, err);
}

static bool put_document(struct world *w, const struct yaml_node *node, struct err *err)
{
    static const char *const keys[] = {"kind", "name", "spec"};
    const char *kind = "", *name = "";
    if (!yaml_only_keys(w->yaml, node, keys, COUNT(keys), err) ||
        !case_text(w, node, "kind", &kind, err) || !case_text(w, node, "name", &name, err))
        return false;
    if (object_kind_from_name(kind) == OBJECT_COUNT || yaml_child(node, "spec") == NULL)
        return yaml_fail(w->yaml, node, err, "a document needs a kind, a name and a spec");
    OWNED_TEXT spec = json_of(node, "spec");
    struct err refused = {0};
    if (!case_put(w, object_kind_from_name(kind), name, spec, &refused))
        return yaml_fail(w->yaml, node, err, "%s", refused.text);
    return true;
}

static bool each(struct world *w, const struct yaml_node *document, const char *key,
                 bool (*read)(struct world *, const struct yaml_node *, struct err *),
                 struct err *err)
{
    const struct yaml_node *list = yaml_child(document, key);
    if (list != NULL && list->kind != YAML_LIST)
        return yaml_fail(w->yaml, list, err, "%s: a list is expected", key);
    for (const struct yaml_node *one = list != NULL ? list->child : NULL; one; one = one->next)
        if (!read(w, one, err))
            return false;
    return true;
}

static bool read_shared_path(struct world *w, const struct yaml_node *node, struct err *err)
{
    if (w->n_shared_paths == COUNT(w->shared_paths))
        return yaml_fail(w->yaml, node, err, "too many shared paths");
    return yaml_text(w->yaml, node, &w->shared_paths[w->n_shared_paths++], err);
}

static bool read_shared_pool(struct world *w, const struct yaml_node *node, struct err *err)
{
    if (w->n_shared_pools == COUNT(w->shared_pools))
        return yaml_fail(w->yaml, node, err, "too many shared pools");
    return yaml_text(w->yaml, node, &w->shared_pools[w->n_shared_pools++], err);
}

bool case_set_up(struct world *w, const struct yaml_node *document, struct err *err)
{
    static const char *const keys[] = {"config", "sharedPaths", "sharedPools", "hosts",
                                       "guests", "documents",   "steps"};
    struct fleet_config config;
    w->now = (struct moment){WORLD_BEGIN_MS, WORLD_WALL_MS};
    if (!yaml_only_keys(w->yaml, document, keys, COUNT(keys), err) ||
        !read_config(w, yaml_child(document, "config"), &config, err))
        return false;
    w->fleet = fleet_new(&config, 7, err);
    w->store = w->fleet != NULL ? store_sqlite_open(NULL, err) : NULL;
    if (w->store == NULL || !each(w, document, "sharedPaths", read_shared_path, err) ||
        !each(w, document, "sharedPools", read_shared_pool, err) ||
        !each(w, document, "hosts", read_host, err) ||
        !each(w, document, "guests", read_guest, err))
        return false;
    for (size_t i = 0; i < w->n_hosts; i++)
        if (!put_node(w, &w->hosts[i], err) ||
            (w->hosts[i].connected && !world_connect(w, &w->hosts[i], err)))
            return false;
    return each(w, document, "documents", put_document, err);
}
