/* scenario.c - see scenario.h. */
#include "appliance/scenario.h"
#include "appliance/config.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/text.h"
#include "base/yaml.h"
#include "engine/model/settings/labels.h"
#include "engine/model/settings/settings.h"

/* Two hosts and five guests: one idle, one busy, one that takes a few iterations, one that is not
 * migratable (host device), one whose namespace quota has no room for a second launcher. */
static const char demo[] =
    "hosts:\n"
    "- {name: ferry-a, memory: 16Gi, cpus: 8, link: 256Mi, labels: {zone: a}}\n"
    "- {name: ferry-b, memory: 16Gi, cpus: 8, link: 256Mi, labels: {zone: b}}\n"
    "guests:\n"
    "- {name: web, host: ferry-a, memory: 2Gi, workingSet: 256Mi, dirtyRate: 32Mi,"
    " labels: {app: web}, evictionStrategy: LiveMigrate}\n"
    "- {name: db, host: ferry-a, memory: 4Gi, workingSet: 512Mi, dirtyRate: 96Mi, vcpus: 4,"
    " labels: {app: db}, evictionStrategy: LiveMigrate}\n"
    "- {name: idle, host: ferry-b, memory: 1Gi}\n"
    "- {name: gpu, host: ferry-a, memory: 1Gi, hostDevice: true, evictionStrategy: LiveMigrate}\n"
    "- {name: till, namespace: shop, host: ferry-a, memory: 1Gi, evictionStrategy: LiveMigrate}\n"
    "objects:\n"
    "- {kind: MigrationPolicy, name: databases, spec: {allowAutoConverge: true,"
    " bandwidthPerMigration: 192Mi, selectors: {virtualMachineInstanceSelector: {app: db}}}}\n"
    "- {kind: ResourceQuota, namespace: shop, name: small, spec: {hard: {memory: 1536Mi}}}\n";

struct loading {
    const struct yaml *yaml;
    struct sim *sim;
    struct scenario *scenario;
    size_t n_guests;
};

/* --- fields; a missing one keeps the default --- */

static bool read_word(const struct loading *l, const struct yaml_node *map, const char *key,
                      char *out, size_t out_bytes, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    const char *text;
    if (node == NULL)
        return true;
    if (!yaml_text(l->yaml, node, &text, err))
        return false;
    if (!text_copy(out, out_bytes, text))
        return yaml_fail(l->yaml, node, err, "'%s' is too long", key);
    return true;
}

static bool read_bytes(const struct loading *l, const struct yaml_node *map, const char *key,
                       uint64_t *out_bytes, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    const char *text;
    if (node == NULL)
        return true;
    if (!yaml_text(l->yaml, node, &text, err))
        return false;
    if (!human_read_quantity(text, out_bytes))
        return yaml_fail(l->yaml, node, err, "%s '%s' is not a size like 2Gi", key, text);
    return true;
}

static bool read_number(const struct loading *l, const struct yaml_node *map, const char *key,
                        int64_t *out_value, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    return node == NULL || yaml_i64(l->yaml, node, 0, INT64_C(1) << 40, out_value, err);
}

static bool read_flag(const struct loading *l, const struct yaml_node *map, const char *key,
                      bool *out_value, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    return node == NULL || yaml_bool(l->yaml, node, out_value, err);
}

static bool only_keys(const struct loading *l, const struct yaml_node *map, const char *const *keys,
                      size_t n, struct err *err)
{
    if (map->kind != YAML_MAP)
        return yaml_fail(l->yaml, map, err, "expected a map of keys and values");
    return yaml_only_keys(l->yaml, map, keys, n, err);
}

/* --- rows --- */

/* A guest's uuid from its index in the list, unless the file has one. */
static void make_uuid(size_t number, char *out_uuid)
{
    (void)snprintf(out_uuid, HV_UUID_MAX, "00000000-0000-4000-8000-%012zx", number);
}

/* The map at a key as JSON text; a missing one does not change *out. */
static bool read_labels(const struct loading *l, const struct yaml_node *map, const char *key,
                        char **out_text, struct err *err)
{
    const struct yaml_node *node = yaml_child(map, key);
    struct labels labels = {0};
    struct err inner = {0};
    if (node == NULL)
        return true;
    OWNED(json_object) object = yaml_to_json(node);
    if (!labels_from(object, key, &labels, &inner))
        return yaml_fail(l->yaml, node, err, "%s", inner.text);
    labels_fini(&labels);
    *out_text = strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
    return *out_text != NULL ? true : err_set(err, ERR_NOMEM, "no memory for labels");
}

/* Such as 11.3.0, as libvirt counts them; what such a host cannot do: hypervisor/versions.def. */
static bool read_version(const struct loading *l, const struct yaml_node *map, const char *key,
                         unsigned long *out_version, struct err *err)
{
    char text[32] = "", rest;
    unsigned major, minor, micro;
    if (yaml_child(map, key) == NULL)
        return true;
    if (!read_word(l, map, key, text, sizeof text, err))
        return false;
    if (strspn(text, "0123456789.") != strlen(text) ||
        sscanf(text, "%3u.%3u.%3u%c", &major, &minor, &micro, &rest) != 3)
        return yaml_fail(l->yaml, yaml_child(map, key), err, "%s '%s' is not a version like 11.3.0",
                         key, text);
    *out_version = (major * 1000UL + minor) * 1000UL + micro;
    return true;
}

static bool add_host(struct loading *l, const struct yaml_node *map, struct err *err)
{
    static const char *const keys[] = {"name",    "memory",       "cpus",         "link",
                                       "labels",  "lacksNetwork", "lacksMachine", "otherCpu",
                                       "libvirt", "qemu"};
    struct sim_host host = {.memory_kib = 16 << 20, .cpus = 8, .link_bps = UINT64_C(1) << 30};
    uint64_t memory = host.memory_kib << 10;
    int64_t cpus = host.cpus;
    size_t number = l->scenario->n_hosts++;
    if (!only_keys(l, map, keys, COUNT(keys), err) ||
        !read_word(l, map, "name", host.name, sizeof host.name, err) ||
        !read_bytes(l, map, "memory", &memory, err) ||
        !read_bytes(l, map, "link", &host.link_bps, err) ||
        !read_word(l, map, "lacksNetwork", host.lacks_network, sizeof host.lacks_network, err) ||
        !read_word(l, map, "lacksMachine", host.lacks_machine, sizeof host.lacks_machine, err) ||
        !read_flag(l, map, "otherCpu", &host.other_cpu, err) ||
        !read_version(l, map, "libvirt", &host.libvirt_version, err) ||
        !read_version(l, map, "qemu", &host.qemu_version, err) ||
        !read_labels(l, map, "labels", &l->scenario->host_settings[number].labels, err) ||
        !read_number(l, map, "cpus", &cpus, err))
        return false;
    if (!text_is_dns_label(host.name))
        return yaml_fail(l->yaml, map, err, "a host requires a 'name' that is a DNS label");
    host.memory_kib = memory >> 10;
    host.cpus = (unsigned)cpus;
    struct hv_host *row = &l->scenario->hosts[number];
    TEXT_SET(row->name, host.name);
    (void)snprintf(row->uri, sizeof row->uri, "sim://%s", host.name);
    TEXT_SET(row->peer_uri, row->uri);
    return sim_add_host(l->sim, &host, err);
}

/* Scheduling constraints, as engine/model/settings/settings.h reads them from a domain. */
static bool read_settings(const struct loading *l, const struct yaml_node *map,
                          struct sim_guest *guest, struct err *err)
{
    static const char *const keys[] = {"evictionStrategy", "nodeSelector", "tolerations",
                                       "affinity"};
    OWNED(json_object) object = json_object_new_object();
    OWNED_TEXT labels = NULL;
    struct settings settings = {0};
    struct err inner = {0};
    if (!read_labels(l, map, "labels", &labels, err))
        return false;
    for (size_t i = 0; i < COUNT(keys); i++)
        if (yaml_child(map, keys[i]) != NULL)
            json_add(object, keys[i], yaml_to_json(yaml_child(map, keys[i])));
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
    if (!settings_parse(text, NULL, "guest", &settings, &inner))
        return yaml_fail(l->yaml, map, err, "%s", inner.text);
    settings_fini(&settings);
    bool fits = text_copy(guest->labels, sizeof guest->labels, labels);
    if (json_object_object_length(object) > 0)
        fits = text_copy(guest->settings, sizeof guest->settings, text) && fits;
    return fits ? true : yaml_fail(l->yaml, map, err, "labels and settings are too long");
}

static bool add_guest(struct loading *l, const struct yaml_node *map, struct err *err)
{
    static const char *const keys[] = {
        "name",       "host",    "memory",  "workingSet", "dirtyRate",        "namespace",
        "vcpus",      "uuid",    "network", "localDisk",  "evictionStrategy", "nodeSelector",
        "hostDevice", "machine", "labels",  "affinity",   "tolerations"};
    struct sim_guest guest = {.memory_bytes = UINT64_C(1) << 30, .ns = "default"};
    char host[HV_HOST_MAX] = "";
    int64_t vcpus = 2;
    make_uuid(++l->n_guests, guest.uuid);
    if (!only_keys(l, map, keys, COUNT(keys), err) ||
        !read_word(l, map, "name", guest.name, sizeof guest.name, err) ||
        !read_word(l, map, "host", host, sizeof host, err) ||
        !read_word(l, map, "namespace", guest.ns, sizeof guest.ns, err) ||
        !read_word(l, map, "uuid", guest.uuid, sizeof guest.uuid, err) ||
        !read_word(l, map, "network", guest.network, sizeof guest.network, err) ||
        !read_word(l, map, "machine", guest.machine, sizeof guest.machine, err) ||
        !read_bytes(l, map, "memory", &guest.memory_bytes, err) ||
        !read_bytes(l, map, "workingSet", &guest.working_set_bytes, err) ||
        !read_bytes(l, map, "dirtyRate", &guest.dirty_bps, err) ||
        !read_flag(l, map, "localDisk", &guest.local_disk, err) ||
        !read_flag(l, map, "hostDevice", &guest.host_device, err) ||
        !read_number(l, map, "vcpus", &vcpus, err) || !read_settings(l, map, &guest, err))
        return false;
    if (guest.name[0] == '\0' || host[0] == '\0')
        return yaml_fail(l->yaml, map, err, "a guest requires a 'name' and a 'host'");
    guest.vcpus = (unsigned)vcpus;
    if (!sim_add_guest(l->sim, host, &guest, err))
        return err_wrap(err, "%s:%d", yaml_file(l->yaml), map->line);
    return true;
}

static bool add_object(struct loading *l, const struct yaml_node *map, struct err *err)
{
    return scenario_add_object(l->yaml, map, l->scenario, err);
}

/* A fault names a guest; the simulator needs its uuid. */
static bool find_guest(const struct loading *l, const struct yaml_node *fault, const char *name,
                       char *out_uuid, struct err *err)
{
    const struct yaml_node *list = yaml_child(yaml_document(l->yaml, 0), "guests");
    size_t number = 0;
    for (const struct yaml_node *node = list != NULL ? list->child : NULL; node != NULL;
         node = node->next) {
        const struct yaml_node *named = yaml_child(node, "name"), *uuid = yaml_child(node, "uuid");
        number++;
        if (named == NULL || named->text == NULL || !text_equal(named->text, name))
            continue;
        if (uuid != NULL && uuid->text != NULL)
            (void)text_copy(out_uuid, HV_UUID_MAX, uuid->text);
        else
            make_uuid(number, out_uuid);
        return true;
    }
    return yaml_fail(l->yaml, fault, err, "unknown guest '%s'", name);
}

static bool add_fault(struct loading *l, const struct yaml_node *map, struct err *err)
{
    static const char *const keys[] = {"kind", "at", "afterPassMs", "host", "guest", "durationMs"};
    struct sim_fault fault = {.after_iteration_ms = -1};
    char kind[HV_TEXT_MAX] = "", guest[HV_NAME_MAX] = "";
    if (!only_keys(l, map, keys, COUNT(keys), err) ||
        !read_word(l, map, "kind", kind, sizeof kind, err) ||
        !read_word(l, map, "host", fault.host, sizeof fault.host, err) ||
        !read_word(l, map, "guest", guest, sizeof guest, err) ||
        !read_number(l, map, "at", &fault.at_ms, err) ||
        !read_number(l, map, "afterPassMs", &fault.after_iteration_ms, err) ||
        !read_number(l, map, "durationMs", &fault.duration_ms, err))
        return false;
    if (guest[0] != '\0' && !find_guest(l, map, guest, fault.guest, err))
        return false;
    if (!sim_fault_from_name(kind, &fault.kind))
        return yaml_fail(l->yaml, map, err, "unknown fault kind '%s'", kind);
    if (!sim_add_fault(l->sim, &fault, err))
        return err_wrap(err, "%s:%d", yaml_file(l->yaml), map->line);
    return true;
}

typedef bool row_fn(struct loading *l, const struct yaml_node *map, struct err *err);

static bool each(struct loading *l, const struct yaml_node *list, row_fn *row, struct err *err)
{
    if (list == NULL)
        return true;
    if (list->kind != YAML_LIST)
        return yaml_fail(l->yaml, list, err, "'%s': expected a list", list->key);
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next)
        if (!row(l, node, err))
            return false;
    return true;
}

static size_t count(const struct yaml_node *list)
{
    size_t n = 0;
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next)
        n++;
    return n;
}

static bool load(struct loading *l, struct err *err)
{
    static const char *const keys[] = {"hosts", "guests", "objects", "faults"};
    if (yaml_document_count(l->yaml) != 1)
        return err_set(err, ERR_INVALID, "%s: expected one YAML document", yaml_file(l->yaml));
    const struct yaml_node *top = yaml_document(l->yaml, 0);
    if (!only_keys(l, top, keys, COUNT(keys), err))
        return false;
    const struct yaml_node *hosts = yaml_child(top, "hosts");
    size_t n = hosts != NULL ? count(hosts) : 0;
    if (n == 0 || n > SCENARIO_HOSTS_MAX)
        return yaml_fail(l->yaml, top, err, "'hosts' requires 1 to %d hosts", SCENARIO_HOSTS_MAX);
    l->scenario->hosts = calloc(n, sizeof *l->scenario->hosts);
    l->scenario->host_settings = calloc(n, sizeof *l->scenario->host_settings);
    if (l->scenario->hosts == NULL || l->scenario->host_settings == NULL)
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", n);
    return each(l, hosts, add_host, err) && each(l, yaml_child(top, "guests"), add_guest, err) &&
           each(l, yaml_child(top, "objects"), add_object, err) &&
           each(l, yaml_child(top, "faults"), add_fault, err);
}

bool scenario_load(const char *file, struct sim *sim, struct scenario *out_world, struct err *err)
{
    OWNED(yaml) yaml = text_equal(file, "demo") ? yaml_parse(demo, sizeof demo - 1, "demo", err)
                                                : yaml_read_file(file, err);
    if (yaml == NULL)
        return false;
    memset(out_world, 0, sizeof *out_world);
    struct loading loading = {.yaml = yaml, .sim = sim, .scenario = out_world};
    if (load(&loading, err))
        return true;
    scenario_fini(out_world);
    return false;
}

void scenario_fini(struct scenario *scenario)
{
    config_free_settings(scenario->host_settings, scenario->n_hosts);
    for (size_t i = 0; i < scenario->n_objects; i++)
        free(scenario->objects[i].spec_json);
    free(scenario->objects);
    free(scenario->hosts);
    memset(scenario, 0, sizeof *scenario);
}
