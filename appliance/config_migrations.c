/* config_migrations.c - `migrations:` and `evictionStrategy:` of ferry.yaml.
 *
 * The settings of a migration are the rows of migration_config.def; here the YAML tree is walked,
 * so that each value is validated by the code for policies and errors have a line.
 */
#include <stdio.h>
#include <string.h>

#include "appliance/config_read.h"
#include "base/human.h"
#include "base/text.h"
#include "base/yaml.h"

enum { NAMES_MAX = 64, PATH_MAX_ = 128, PARALLEL_MAX = 10000 };
/* 8 TiB/s: above any link and below libvirt's limit. */
#define BANDWIDTH_MIBS_MAX (INT64_C(1) << 23)

static const struct {
    const char *path;
    bool is_bytes;
} settings[] = {
#define IS_BOOL false
#define IS_COUNT false
#define IS_BYTES true
#define IS_REAL false
#define IS_WORD false
#define SETTING(id, type, json, fallback, low, high, policy, help) {json, IS_##type},
#include "engine/model/settings/migration_config.def"
#undef SETTING
#undef IS_BOOL
#undef IS_COUNT
#undef IS_BYTES
#undef IS_REAL
#undef IS_WORD
};

/* --- fleet settings --- */

static bool read_number(struct reading *r, const struct yaml_node *node, int64_t low, int64_t high,
                        unsigned *out_value, struct err *err)
{
    int64_t value;
    if (!yaml_i64(r->yaml, node, low, high, &value, err))
        return false;
    *out_value = (unsigned)value;
    return true;
}

static bool read_per_fleet(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_number(r, node, 0, PARALLEL_MAX, &r->config->parallel_per_fleet, err);
}

static bool read_per_node(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_number(r, node, 0, PARALLEL_MAX, &r->config->parallel_outbound_per_node, err);
}

static bool read_into_node(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_number(r, node, 0, PARALLEL_MAX, &r->config->parallel_inbound_per_node, err);
}

static bool read_overcommit(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_number(r, node, 1, 1000, &r->config->memory_overcommit_percent, err);
}

static bool read_cpu_ratio(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_number(r, node, 1, 1000, &r->config->vcpus_per_cpu, err);
}

/* A plain number is MiB/s; with a suffix it is KubeVirt's quantity of bytes per second. */
static bool read_bandwidth(struct reading *r, const struct yaml_node *node, uint64_t *out_bytes,
                           struct err *err)
{
    const char *text;
    int64_t mibs;
    uint64_t bytes;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    if (text_to_i64(text, 0, BANDWIDTH_MIBS_MAX, &mibs)) {
        *out_bytes = (uint64_t)mibs << 20;
        return true;
    }
    if (!human_read_quantity(text, &bytes) || (bytes >> 20) > BANDWIDTH_MIBS_MAX)
        return yaml_fail(r->yaml, node, err,
                         "%s '%s' is neither a number of MiB/s nor a quantity of bytes per second "
                         "like 64Mi",
                         node->key, text);
    if (bytes != 0 && bytes < (1 << 20))
        return yaml_fail(r->yaml, node, err, "%s '%s' is less than 1 MiB/s, libvirt's minimum",
                         node->key, text);
    *out_bytes = bytes;
    return true;
}

static bool read_bandwidth_per_node(struct reading *r, const struct yaml_node *node,
                                    struct err *err)
{
    return read_bandwidth(r, node, &r->config->bandwidth_per_node, err);
}

static bool read_allow_managed(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_bool(r->yaml, node, &r->config->allow_managed, err);
}

static bool read_relayed(struct reading *r, const struct yaml_node *node, struct err *err)
{
    (void)node, (void)err;
    r->config->retired |= 1U << CONFIG_RETIRED_RELAYED;
    return true;
}

static const struct yaml_key others[] = {
    {"parallelMigrationsPerCluster", read_per_fleet},
    {"parallelOutboundMigrationsPerNode", read_per_node},
    {"parallelInboundMigrationsPerNode", read_into_node},
    {"bandwidthPerNode", read_bandwidth_per_node},
    {"memoryOvercommit", read_overcommit},
    {"cpuAllocationRatio", read_cpu_ratio},
    {"allowManagedElsewhere", read_allow_managed},
    {"relayed", read_relayed},
};

/* --- settings --- */

/* The names directly below a path ("" is the top), each once. */
static size_t names_below(const char *path, char (*out_names)[PATH_MAX_])
{
    size_t n = 0, prefix = strlen(path);
    for (size_t i = 0; i < COUNT(settings); i++) {
        if (strncmp(settings[i].path, path, prefix) != 0)
            continue;
        char name[PATH_MAX_];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(settings[i].path + prefix, "."),
                       settings[i].path + prefix);
        bool is_new = n < NAMES_MAX;
        for (size_t j = 0; j < n; j++)
            is_new = is_new && !text_equal(out_names[j], name);
        if (is_new)
            TEXT_SET(out_names[n++], name);
    }
    return n;
}

static bool check_names(struct reading *r, const struct yaml_node *map, const char *path,
                        struct err *err)
{
    char below[NAMES_MAX][PATH_MAX_];
    const char *names[NAMES_MAX + COUNT(others)];
    size_t n = names_below(path, below);
    for (size_t i = 0; i < n; i++)
        names[i] = below[i];
    for (size_t i = 0; *path == '\0' && i < COUNT(others); i++)
        names[n++] = others[i].name;
    return yaml_only_keys(r->yaml, map, names, n, err);
}

static const struct yaml_key *other_of(const char *path)
{
    for (size_t i = 0; i < COUNT(others); i++)
        if (text_equal(others[i].name, path))
            return &others[i];
    return NULL;
}

enum place { PLACE_MAP, PLACE_PLAIN, PLACE_BYTES };

static enum place place_of(const char *path)
{
    for (size_t i = 0; i < COUNT(settings); i++)
        if (text_equal(settings[i].path, path))
            return settings[i].is_bytes ? PLACE_BYTES : PLACE_PLAIN;
    return PLACE_MAP;
}

/* {"experimental": {"compression": value}} for "experimental.compression". */
static struct json_object *nested(const char *path, struct json_object *take_value)
{
    struct json_object *top = json_object_new_object(), *at = top;
    char name[PATH_MAX_];
    for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        (void)snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
        at = json_add_object(at, name);
    }
    json_add(at, path, take_value);
    return top;
}

static bool judge(struct reading *r, const struct yaml_node *node, struct json_object *object,
                  struct migration_config *config, struct err *err)
{
    struct err inner = {0};
    if (migration_config_read(object, false, NULL, config, NULL, &inner))
        return true;
    return yaml_fail(r->yaml, node, err, "%s", inner.text);
}

/* Validates one value; *out_value is its JSON form. */
static bool read_setting(struct reading *r, const struct yaml_node *node, const char *path,
                         struct json_object **out_value, struct err *err)
{
    uint64_t bytes;
    char text[HUMAN_TEXT_MAX];
    struct migration_config scratch;
    if (node->kind != YAML_SCALAR)
        return yaml_fail(r->yaml, node, err, "'%s': expected one value", node->key);
    if (place_of(path) == PLACE_BYTES) {
        if (!read_bandwidth(r, node, &bytes, err))
            return false;
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
    }
    OWNED(json_object) value =
        place_of(path) == PLACE_BYTES ? json_object_new_string(text) : yaml_to_json(node);
    OWNED(json_object) alone = nested(path, json_object_get(value));
    migration_config_default(&scratch);
    if (!judge(r, node, alone, &scratch, err))
        return false;
    *out_value = TAKE(value);
    return true;
}

/* Depth is bounded by the known names. */
static bool walk(struct reading *r, const struct yaml_node *map, const char *path,
                 struct json_object *out, struct err *err)
{
    if (map->kind != YAML_MAP)
        return yaml_fail(r->yaml, map, err, "expected a map of keys and values");
    if (!check_names(r, map, path, err))
        return false;
    for (const struct yaml_node *node = map->child; node != NULL; node = node->next) {
        char here[PATH_MAX_], below[PATH_MAX_ + 1];
        (void)snprintf(here, sizeof here, "%s%s", path, node->key);
        const struct yaml_key *other = other_of(here);
        struct json_object *value = NULL;
        bool read;
        if (other != NULL) {
            read = other->read(r, node, err);
        } else if (place_of(here) == PLACE_MAP) {
            (void)snprintf(below, sizeof below, "%s.", here);
            read = walk(r, node, below, json_add_object(out, node->key), err);
        } else {
            read = read_setting(r, node, here, &value, err);
            if (read)
                json_add(out, node->key, value);
        }
        if (!read)
            return false;
    }
    return true;
}

bool config_read_migrations(struct reading *r, const struct yaml_node *node, struct err *err)
{
    OWNED(json_object) all = json_object_new_object();
    return walk(r, node, "", all, err) && judge(r, node, all, &r->config->migration, err);
}

bool config_read_eviction(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const char names[] =
#define STRATEGY(id, name, moves, marks, help) " " name
#include "engine/model/settings/eviction.def"
#undef STRATEGY
        "";
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    enum strategy strategy = strategy_from_name(text);
    if (strategy == STRATEGY_COUNT || strategy == STRATEGY_UNSET)
        return yaml_fail(r->yaml, node, err, "evictionStrategy '%s' is none of%s", text,
                         names + strspn(names, " ") - 1);
    r->config->eviction_strategy = strategy;
    return true;
}

bool config_migrations_differ(const struct config *a, const struct config *b)
{
    const struct migration_config *x = &a->migration;
    struct migration_config y = b->migration;
    bool differ = x->disruption_set != y.disruption_set;
    y.unsafe = x->unsafe; /* a part of its own: CONFIG_PART_UNSAFE */
#define SETTING(id, type, json, fallback, low, high, policy, help) differ |= x->id != y.id;
#include "engine/model/settings/migration_config.def"
#undef SETTING
    return differ || a->bandwidth_per_node != b->bandwidth_per_node ||
           a->parallel_per_fleet != b->parallel_per_fleet ||
           a->parallel_outbound_per_node != b->parallel_outbound_per_node ||
           a->parallel_inbound_per_node != b->parallel_inbound_per_node ||
           a->memory_overcommit_percent != b->memory_overcommit_percent ||
           a->vcpus_per_cpu != b->vcpus_per_cpu;
}
