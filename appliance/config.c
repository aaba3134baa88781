/* config.c - see config.h. The top level and small keys; hosts and migrations have files of their
 * own (config_read.h).
 */
#include "appliance/config.h"

#include <stdio.h>
#include <string.h>

#include "appliance/config_read.h"
#include "base/human.h"
#include "base/text.h"
#include "base/yaml.h"
#include "store/any/any.h"

bool config_read_text(struct reading *r, const struct yaml_node *node, char *out, size_t out_bytes,
                      struct err *err)
{
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    if (*text == '\0')
        return yaml_fail(r->yaml, node, err, "'%s' is empty", node->key);
    if (!text_copy(out, out_bytes, text))
        return yaml_fail(r->yaml, node, err, "'%s' is longer than %zu bytes", node->key,
                         out_bytes - 1);
    return true;
}

static bool read_state(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return config_read_text(r, node, r->config->state_dir, sizeof r->config->state_dir, err);
}

/* A secret may be in it: the text is never repeated. */
static bool read_store_url(struct reading *r, const struct yaml_node *node, char *out,
                           struct err *err)
{
    if (!config_read_text(r, node, out, CONFIG_PATH_MAX, err))
        return false;
    return store_is_url(out) ||
           yaml_fail(r->yaml, node, err,
                     "'%s' is not a URL like postgresql://ferry@host/ferry; for files in a "
                     "directory leave it out and set 'state'",
                     node->key);
}

static bool read_store(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_store_url(r, node, r->config->store, err);
}

static bool read_store_query(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_store_url(r, node, r->config->store_query, err);
}

static bool read_log_level(struct reading *r, const struct yaml_node *node, struct err *err)
{
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    if (!log_level_from_name(text, &r->config->log_level))
        return yaml_fail(r->yaml, node, err, "level '%s' is none of debug, info, warn, error",
                         text);
    return true;
}

static bool read_log_format(struct reading *r, const struct yaml_node *node, struct err *err)
{
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    if (text_equal(text, "text"))
        r->config->log_format = LOG_FORMAT_TEXT;
    else if (text_equal(text, "json"))
        r->config->log_format = LOG_FORMAT_JSON;
    else
        return yaml_fail(r->yaml, node, err, "format '%s' is none of text, json", text);
    return true;
}

static bool read_log(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {{"level", read_log_level}, {"format", read_log_format}};
    return config_read_map(r, node, keys, COUNT(keys), err);
}

static bool read_interval(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_i64(r->yaml, node, 50, 60000, &r->config->sample_ms, err);
}

static bool read_sampling(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {{"intervalMs", read_interval}};
    return config_read_map(r, node, keys, COUNT(keys), err);
}

/* --- retention --- */

static bool read_span(struct reading *r, const struct yaml_node *node, int64_t unit_ms,
                      int64_t *out_ms, struct err *err)
{
    int64_t count;
    if (!yaml_i64(r->yaml, node, 0, 100000, &count, err))
        return false;
    *out_ms = count * unit_ms;
    return true;
}

static bool read_size(struct reading *r, const struct yaml_node *node, int64_t *out_bytes,
                      struct err *err)
{
    const char *text;
    uint64_t bytes;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    if (!human_read_quantity(text, &bytes) || bytes > (UINT64_C(1) << 60))
        return yaml_fail(r->yaml, node, err, "%s '%s' is not a size like 4Gi; 0 is no limit",
                         node->key, text);
    *out_bytes = (int64_t)bytes;
    return true;
}

enum { HOUR_MS = 3600 * 1000, DAY_MS = 24 * HOUR_MS };

static bool read_full_samples(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_span(r, node, HOUR_MS, &r->config->retention.full_samples_ms, err);
}

static bool read_samples(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_span(r, node, DAY_MS, &r->config->retention.samples_ms, err);
}

static bool read_history(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_span(r, node, DAY_MS, &r->config->retention.history_ms, err);
}

static bool read_samples_size(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_size(r, node, &r->config->retention.samples_bytes, err);
}

static bool read_history_size(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_size(r, node, &r->config->retention.history_bytes, err);
}

static bool read_retention(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {
        {"fullSamplesHours", read_full_samples}, {"samplesDays", read_samples},
        {"historyDays", read_history},           {"samplesSize", read_samples_size},
        {"historySize", read_history_size},
    };
    return config_read_map(r, node, keys, COUNT(keys), err);
}

static bool retention_differs(const struct store_retention *a, const struct store_retention *b)
{
    return a->full_samples_ms != b->full_samples_ms || a->samples_ms != b->samples_ms ||
           a->history_ms != b->history_ms || a->samples_bytes != b->samples_bytes ||
           a->history_bytes != b->history_bytes;
}

/* --- storage --- */

static bool read_texts(struct reading *r, const struct yaml_node *list, char **out_texts,
                       size_t *out_n, struct err *err)
{
    if (list->kind != YAML_LIST)
        return yaml_fail(r->yaml, list, err, "%s: expected a list", list->key);
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        const char *text;
        if (!yaml_text(r->yaml, node, &text, err))
            return false;
        if (*text == '\0')
            return yaml_fail(r->yaml, node, err, "%s: an entry is empty", list->key);
        if (*out_n == CONFIG_SHARED_MAX)
            return yaml_fail(r->yaml, node, err, "%s: at most %d are possible", list->key,
                             CONFIG_SHARED_MAX);
        out_texts[*out_n] = strdup(text);
        if (out_texts[*out_n] == NULL)
            return err_set(err, ERR_NOMEM, "no memory for %s", list->key);
        (*out_n)++;
    }
    return true;
}

static bool read_shared_paths(struct reading *r, const struct yaml_node *list, struct err *err)
{
    struct config *config = r->config;
    if (!read_texts(r, list, config->shared_paths, &config->n_shared_paths, err))
        return false;
    const struct yaml_node *node = list->child;
    for (size_t i = 0; i < config->n_shared_paths; i++, node = node->next) {
        const char *path = config->shared_paths[i];
        if (path[0] != '/' || strstr(path, "/..") != NULL)
            return yaml_fail(r->yaml, node, err,
                             "sharedPaths: '%s' is not an absolute path without '..'", path);
    }
    return true;
}

static bool read_shared_pools(struct reading *r, const struct yaml_node *list, struct err *err)
{
    return read_texts(r, list, r->config->shared_pools, &r->config->n_shared_pools, err);
}

static bool read_storage(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {
        {"sharedPaths", read_shared_paths},
        {"sharedPools", read_shared_pools},
    };
    return config_read_map(r, node, keys, COUNT(keys), err);
}

static bool read_rules_dir(struct reading *r, const struct yaml_node *node, struct err *err)
{
    char *dir = r->config->rules_dir;
    if (!config_read_text(r, node, dir, sizeof r->config->rules_dir, err))
        return false;
    return dir[0] == '/' ||
           yaml_fail(r->yaml, node, err, "rules '%s' is not an absolute path", dir);
}

static bool read_analyzer(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {{"rules", read_rules_dir}};
    return config_read_map(r, node, keys, COUNT(keys), err);
}

static bool read_out_of_band(struct reading *r, const struct yaml_node *node, struct err *err)
{
    (void)node, (void)err;
    r->config->retired |= 1U << CONFIG_RETIRED_OUT_OF_BAND;
    return true;
}

static bool read_mode(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return config_read_mode(r, node, &r->config->observe, err);
}

/* Also hosts of hosts.d. */
static void settle_modes(struct config *config)
{
    for (size_t i = 0; i < config->n_hosts; i++)
        if (!config->host_settings[i].mode_set)
            config->hosts[i].observe = config->observe;
}

/* file: of which hosts.d is read too; NULL: none. */
static bool read_all(struct reading *r, const char *file, struct err *err)
{
    static const struct yaml_key keys[] = {
        {"mode", read_mode},
        {"appliance", config_read_appliance},
        {"helperSecretFile", config_read_helper_secret},
        {"outOfBand", read_out_of_band},
        {"hosts", config_read_hosts},
        {"state", read_state},
        {"store", read_store},
        {"storeQuery", read_store_query},
        {"listen", config_read_listen},
        {"socket", config_read_socket},
        {"metrics", config_read_metrics},
        {"webConfigFile", config_read_web_file},
        {"access", config_read_access},
        {"externalUrl", config_read_external_url},
        {"trustedProxies", config_read_proxies},
        {"allowedHosts", config_read_allowed_hosts},
        {"log", read_log},
        {"migrations", config_read_migrations},
        {"sampling", read_sampling},
        {"retention", read_retention},
        {"storage", read_storage},
        {"analyzer", read_analyzer},
        {"evictionStrategy", config_read_eviction},
    };
    if (yaml_document_count(r->yaml) != 1)
        return err_set(err, ERR_INVALID, "%s: expected one YAML document, found %zu",
                       yaml_file(r->yaml), yaml_document_count(r->yaml));
    const struct yaml_node *top = yaml_document(r->yaml, 0);
    if (!config_read_map(r, top, keys, COUNT(keys), err))
        return false;
    if (file != NULL && !config_read_dir(r, file, err))
        return false;
    settle_modes(r->config);
    const struct yaml_node *hosts = yaml_child(top, "hosts");
    if (r->config->n_hosts == 0 && hosts != NULL)
        return yaml_fail(r->yaml, hosts, err, "hosts is empty; at least one host is required");
    if (r->config->n_hosts == 0)
        return yaml_fail(r->yaml, top, err, "'hosts' is missing; at least one host is required");
    return config_check_hosts(r->config, err) &&
           config_settle_cells(r, yaml_child(top, "appliance"), err);
}

const char *config_retired_text(enum config_retired key)
{
    static const char *const texts[CONFIG_RETIRED_COUNT] = {
        [CONFIG_RETIRED_RELAY] = "`relay` of hosts is no longer used; use `ferry hostd` (`helper`) "
                                 "to end a stalled switch-over",
        [CONFIG_RETIRED_OUT_OF_BAND] = "`outOfBand` is no longer used; use `ferry hostd` "
                                       "(`helper`) to end a stalled switch-over",
        [CONFIG_RETIRED_RELAYED] = "`migrations.relayed` is no longer used; use `ferry hostd` "
                                   "(`helper`) to end a stalled switch-over",
    };
    return key < CONFIG_RETIRED_COUNT ? texts[key] : "";
}

/* --- lifecycle --- */

struct config *config_new(struct err *err)
{
    struct config *config = calloc(1, sizeof *config);
    if (config == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the configuration");
        return NULL;
    }
    TEXT_SET(config->state_dir, CONFIG_STATE_DEFAULT);
    access_config_default(&config->access);
    config->log_level = LOG_LEVEL_INFO;
    config->log_format = LOG_FORMAT_TEXT;
    config->parallel_per_fleet = 5; /* KubeVirt's defaults */
    config->parallel_outbound_per_node = 2;
    config->parallel_inbound_per_node = 2;
    config->memory_overcommit_percent = 100;
    config->vcpus_per_cpu = 10;
    config->eviction_strategy = STRATEGY_UNSET;
    migration_config_default(&config->migration);
    store_retention_default(&config->retention);
    return config;
}

void config_free_texts(struct host_settings *settings)
{
    free(settings->labels);
    free(settings->taints);
    free(settings->log_dir);
    free(settings->origin);
}

void config_free_settings(struct host_settings *settings, size_t n)
{
    for (size_t i = 0; settings != NULL && i < n; i++)
        config_free_texts(&settings[i]);
    free(settings);
}

void config_free(struct config *config)
{
    if (config == NULL)
        return;
    config_free_settings(config->host_settings, config->n_hosts);
    if (config->hosts != NULL)
        explicit_bzero(config->hosts, config->n_hosts * sizeof *config->hosts); /* secrets */
    free(config->hosts);
    explicit_bzero(config->helper_secret, sizeof config->helper_secret);
    explicit_bzero(config->store, sizeof config->store);
    explicit_bzero(config->store_query, sizeof config->store_query);
    for (size_t i = 0; i < CONFIG_SHARED_MAX; i++) {
        free(config->shared_paths[i]);
        free(config->shared_pools[i]);
    }
    free(config);
}

static struct config *config_from(const struct yaml *yaml, const char *file, struct err *err)
{
    OWNED(config) config = config_new(err);
    struct reading reading = {.yaml = yaml, .config = config};
    if (config == NULL || !read_all(&reading, file, err))
        return NULL;
    return TAKE(config);
}

struct config *config_read(const char *file, struct err *err)
{
    OWNED(yaml) yaml = yaml_read_file(file, err);
    return yaml != NULL ? config_from(yaml, file, err) : NULL;
}

struct config *config_parse(const char *text, size_t n, const char *file, struct err *err)
{
    OWNED(yaml) yaml = yaml_parse(text, n, file, err);
    return yaml != NULL ? config_from(yaml, NULL, err) : NULL;
}

static bool texts_differ(char *const *a, char *const *b)
{
    for (size_t i = 0; i < CONFIG_SHARED_MAX; i++)
        if (!text_equal(a[i], b[i]))
            return true;
    return false;
}

static const char *const part_names[CONFIG_PART_COUNT] = {
#define PART(id, name, how) [CONFIG_PART_##id] = name,
#include "appliance/config_parts.def"
#undef PART
};

static const bool part_is_restart[CONFIG_PART_COUNT] = {
#define NOW false
#define RESTART true
#define PART(id, name, how) [CONFIG_PART_##id] = how,
#include "appliance/config_parts.def"
#undef PART
#undef NOW
#undef RESTART
};

const char *config_part_name(enum config_part part)
{
    return part < CONFIG_PART_COUNT ? part_names[part] : "";
}

bool config_part_requires_restart(enum config_part part)
{
    return part < CONFIG_PART_COUNT && part_is_restart[part];
}

unsigned config_compare(const struct config *now, const struct config *next)
{
    const bool differs[CONFIG_PART_COUNT] = {
        [CONFIG_PART_HOSTS] = config_hosts_differ(now, next),
        [CONFIG_PART_APPLIANCE] = config_appliance_differs(now, next),
        [CONFIG_PART_STATE] = !text_equal(now->state_dir, next->state_dir),
        [CONFIG_PART_STORE] = !text_equal(now->store, next->store) ||
                              !text_equal(now->store_query, next->store_query),
        [CONFIG_PART_LISTEN] = config_access_differs(now, next),
        [CONFIG_PART_LOG_LEVEL] = now->log_level != next->log_level,
        [CONFIG_PART_LOG_FORMAT] = now->log_format != next->log_format,
        [CONFIG_PART_MIGRATIONS] = config_migrations_differ(now, next),
        [CONFIG_PART_UNSAFE] = now->migration.unsafe != next->migration.unsafe,
        [CONFIG_PART_MANAGED] = now->allow_managed != next->allow_managed,
        [CONFIG_PART_EVICTION] = now->eviction_strategy != next->eviction_strategy,
        [CONFIG_PART_SAMPLING] = now->sample_ms != next->sample_ms,
        [CONFIG_PART_ANALYZER] = !text_equal(now->rules_dir, next->rules_dir),
        [CONFIG_PART_RETENTION] = retention_differs(&now->retention, &next->retention),
        [CONFIG_PART_STORAGE] = texts_differ(now->shared_paths, next->shared_paths) ||
                                texts_differ(now->shared_pools, next->shared_pools),
    };
    unsigned parts = 0;
    for (enum config_part part = 0; part < CONFIG_PART_COUNT; part++)
        parts |= differs[part] ? 1U << part : 0U;
    return parts;
}

static void swap_hosts(struct config *a, struct config *b)
{
    size_t n = a->n_hosts;
    struct hv_host *hosts = a->hosts;
    struct host_settings *settings = a->host_settings;
    a->n_hosts = b->n_hosts;
    a->hosts = b->hosts;
    a->host_settings = b->host_settings;
    b->n_hosts = n;
    b->hosts = hosts;
    b->host_settings = settings;
}

void config_take(struct config *config, struct config *next)
{
    bool unsafe = config->migration.unsafe;
    swap_hosts(config, next);
    config->log_level = next->log_level;
    config->migration = next->migration;
    config->migration.unsafe = unsafe;
    config->bandwidth_per_node = next->bandwidth_per_node;
    config->parallel_per_fleet = next->parallel_per_fleet;
    config->parallel_outbound_per_node = next->parallel_outbound_per_node;
    config->parallel_inbound_per_node = next->parallel_inbound_per_node;
    config->memory_overcommit_percent = next->memory_overcommit_percent;
    config->vcpus_per_cpu = next->vcpus_per_cpu;
    config->eviction_strategy = next->eviction_strategy;
}
