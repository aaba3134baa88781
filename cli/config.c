/* config.c - see config.h.
 *
 * Each map of the file is one table of keys, each key one reader; the same table refuses
 * unknown keys and names the nearest valid one. Duplicate keys are refused by yaml.h already.
 */
#include "cli/config.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/human.h"

enum { KEYS_MAX = 16, KEEPALIVE_SECONDS_MAX = 3600, PARALLEL_MAX = 10000 };
/* 8 TiB/s: beyond any link and well inside what libvirt takes. */
#define BANDWIDTH_MIBS_MAX (INT64_C(1) << 23)

/* Where a reader stands: the file, the configuration being filled, the host being filled. */
struct reading {
    const struct yaml *yaml;
    struct config *config;
    size_t host;
};

typedef bool read_fn(struct reading *r, const struct yaml_node *node, struct err *err);

struct key {
    const char *name;
    read_fn *read;
};

static bool read_map(struct reading *r, const struct yaml_node *map, const struct key *keys,
                     size_t n, struct err *err)
{
    if (map->kind != YAML_MAP)
        return yaml_fail(r->yaml, map, err, "expected a map of keys and values");
    const char *names[KEYS_MAX];
    for (size_t i = 0; i < n; i++)
        names[i] = keys[i].name;
    if (!yaml_only_keys(r->yaml, map, names, n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct yaml_node *child = yaml_child(map, keys[i].name);
        if (child != NULL && !keys[i].read(r, child, err))
            return false;
    }
    return true;
}

static bool read_text_into(struct reading *r, const struct yaml_node *node, char *out,
                           size_t out_bytes, struct err *err)
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

/* --- one host --- */

static struct hv_host *host_of(struct reading *r)
{
    return &r->config->hosts[r->host];
}

static bool read_host_name(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct hv_host *host = host_of(r);
    if (!read_text_into(r, node, host->name, sizeof host->name, err))
        return false;
    if (!text_is_dns_label(host->name))
        return yaml_fail(r->yaml, node, err,
                         "host name '%s' is not a DNS label: lower-case letters, digits and "
                         "'-', at most 63, no '-' at either end",
                         host->name);
    return true;
}

static bool read_uri(struct reading *r, const struct yaml_node *node, char *out, struct err *err)
{
    if (!read_text_into(r, node, out, HV_URI_MAX, err))
        return false;
    size_t scheme = strspn(out, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    if (scheme == 0 || strncmp(out + scheme, "://", 3) != 0)
        return yaml_fail(r->yaml, node, err,
                         "%s '%s' has no scheme; a libvirt uri looks like "
                         "qemu+ssh://root@host1/system",
                         node->key, out);
    return true;
}

static bool read_host_uri(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_uri(r, node, host_of(r)->uri, err);
}

static bool read_host_peer_uri(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_uri(r, node, host_of(r)->peer_uri, err);
}

static bool read_host_address(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct hv_host *host = host_of(r);
    if (!read_text_into(r, node, host->migration_host, sizeof host->migration_host, err))
        return false;
    if (strpbrk(host->migration_host, " \t/") != NULL)
        return yaml_fail(r->yaml, node, err,
                         "migrationAddress '%s' is not a host name or an IP address",
                         host->migration_host);
    return true;
}

static bool read_small_int(struct reading *r, const struct yaml_node *node, int *out_value,
                           struct err *err)
{
    int64_t value;
    if (!yaml_i64(r->yaml, node, 1, KEEPALIVE_SECONDS_MAX, &value, err))
        return false;
    *out_value = (int)value;
    return true;
}

static bool read_keepalive_interval(struct reading *r, const struct yaml_node *node,
                                    struct err *err)
{
    return read_small_int(r, node, &host_of(r)->keepalive_interval_s, err);
}

static bool read_keepalive_count(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_small_int(r, node, &host_of(r)->keepalive_count, err);
}

static bool read_host_keepalive(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct key keys[] = {
        {"intervalSeconds", read_keepalive_interval},
        {"count", read_keepalive_count},
    };
    return read_map(r, node, keys, COUNT(keys), err);
}

static bool read_host_labels(struct reading *r, const struct yaml_node *node, struct err *err)
{
    if (node->kind != YAML_MAP)
        return yaml_fail(r->yaml, node, err, "labels: expected a map of names and values");
    OWNED(json_object) labels = json_object_new_object();
    for (const struct yaml_node *label = node->child; label != NULL; label = label->next) {
        if (label->kind == YAML_MAP || label->kind == YAML_LIST)
            return yaml_fail(r->yaml, label, err, "label '%s': expected one value", label->key);
        json_add_text(labels, label->key, label->text != NULL ? label->text : "");
    }
    const char *text = json_object_to_json_string_ext(labels, JSON_C_TO_STRING_PLAIN);
    r->config->host_labels[r->host] = strdup(text);
    if (r->config->host_labels[r->host] == NULL)
        return err_set(err, ERR_NOMEM, "no memory for labels");
    return true;
}

static bool read_host(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct key keys[] = {
        {"name", read_host_name},           {"uri", read_host_uri},
        {"peerUri", read_host_peer_uri},    {"migrationAddress", read_host_address},
        {"keepalive", read_host_keepalive}, {"labels", read_host_labels},
    };
    if (!read_map(r, node, keys, COUNT(keys), err))
        return false;
    struct hv_host *host = host_of(r);
    if (host->name[0] == '\0')
        return yaml_fail(r->yaml, node, err, "a host needs a 'name'");
    if (host->uri[0] == '\0')
        return yaml_fail(r->yaml, node, err, "host '%s' needs a 'uri'", host->name);
    if (host->peer_uri[0] == '\0')
        TEXT_SET(host->peer_uri, host->uri);
    return true;
}

/* Quadratic would be slow at 10,000 hosts: compare neighbours of a sorted list of indexes. */
struct named {
    const char *name;
    const struct yaml_node *node;
};

static int by_name_then_line(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0
               ? order
               : (left->node->line > right->node->line) - (left->node->line < right->node->line);
}

static bool check_names_differ(struct reading *r, const struct yaml_node *list, struct err *err)
{
    struct config *config = r->config;
    struct named *names = calloc(config->n_hosts, sizeof *names);
    if (names == NULL)
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", config->n_hosts);
    const struct yaml_node *node = list->child;
    for (size_t i = 0; i < config->n_hosts; i++, node = node->next)
        names[i] = (struct named){config->hosts[i].name, node};
    qsort(names, config->n_hosts, sizeof *names, by_name_then_line);
    bool differ = true;
    for (size_t i = 1; differ && i < config->n_hosts; i++)
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            differ =
                yaml_fail(r->yaml, names[i].node, err, "host '%s' is there already, at line %d",
                          names[i].name, names[i - 1].node->line);
    free(names);
    return differ;
}

static bool read_hosts(struct reading *r, const struct yaml_node *list, struct err *err)
{
    struct config *config = r->config;
    size_t n = 0;
    if (list->kind != YAML_LIST)
        return yaml_fail(r->yaml, list, err, "hosts: expected a list ('- name: ...')");
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next)
        n++;
    if (n == 0)
        return yaml_fail(r->yaml, list, err, "hosts is empty; at least one host is needed");
    if (n > CONFIG_HOSTS_MAX)
        return yaml_fail(r->yaml, list, err, "%zu hosts; at most %d are possible", n,
                         CONFIG_HOSTS_MAX);
    config->hosts = calloc(n, sizeof *config->hosts);
    config->host_labels = calloc(n, sizeof *config->host_labels);
    if (config->hosts == NULL || config->host_labels == NULL)
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", n);
    config->n_hosts = n;
    r->host = 0;
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next, r->host++)
        if (!read_host(r, node, err))
            return false;
    return check_names_differ(r, list, err);
}

/* --- everything else --- */

static bool read_state(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_text_into(r, node, r->config->state_dir, sizeof r->config->state_dir, err);
}

static bool read_listen(struct reading *r, const struct yaml_node *node, struct err *err)
{
    char *listen = r->config->listen;
    if (!read_text_into(r, node, listen, sizeof r->config->listen, err))
        return false;
    const char *colon = strrchr(listen, ':');
    int64_t port;
    if (colon == NULL || colon == listen || !text_to_i64(colon + 1, 0, 65535, &port))
        return yaml_fail(r->yaml, node, err, "listen '%s' is not ADDRESS:PORT, like 127.0.0.1:9178",
                         listen);
    return true;
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
    static const struct key keys[] = {{"level", read_log_level}, {"format", read_log_format}};
    return read_map(r, node, keys, COUNT(keys), err);
}

/* A plain number is MiB/s; with a suffix it is KubeVirt's quantity of bytes per second. */
static bool read_bandwidth(struct reading *r, const struct yaml_node *node, struct err *err)
{
    const char *text;
    int64_t mibs;
    uint64_t bytes;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    if (text_to_i64(text, 0, BANDWIDTH_MIBS_MAX, &mibs)) {
        r->config->bandwidth_mibs = (uint64_t)mibs;
        return true;
    }
    if (!human_read_quantity(text, &bytes) || (bytes >> 20) > BANDWIDTH_MIBS_MAX)
        return yaml_fail(r->yaml, node, err,
                         "bandwidthPerMigration '%s' is neither a number of MiB/s nor a quantity "
                         "of bytes per second like 64Mi",
                         text);
    if (bytes != 0 && bytes < (1 << 20))
        return yaml_fail(r->yaml, node, err,
                         "bandwidthPerMigration '%s' is less than 1 MiB/s, the smallest limit "
                         "libvirt takes",
                         text);
    r->config->bandwidth_mibs = (bytes + (1 << 19)) >> 20;
    return true;
}

static bool read_count(struct reading *r, const struct yaml_node *node, unsigned *out_value,
                       struct err *err)
{
    int64_t value;
    if (!yaml_i64(r->yaml, node, 0, PARALLEL_MAX, &value, err))
        return false;
    *out_value = (unsigned)value;
    return true;
}

static bool read_per_fleet(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_count(r, node, &r->config->parallel_per_fleet, err);
}

static bool read_per_node(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_count(r, node, &r->config->parallel_outbound_per_node, err);
}

static bool read_into_node(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_count(r, node, &r->config->parallel_inbound_per_node, err);
}

static bool read_auto_converge(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_bool(r->yaml, node, &r->config->allow_auto_converge, err);
}

static bool read_postcopy(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_bool(r->yaml, node, &r->config->allow_postcopy, err);
}

static bool read_unsafe(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_bool(r->yaml, node, &r->config->unsafe, err);
}

static bool read_migrations(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct key keys[] = {
        {"bandwidthPerMigration", read_bandwidth},
        {"parallelMigrationsPerCluster", read_per_fleet},
        {"parallelOutboundMigrationsPerNode", read_per_node},
        {"parallelInboundMigrationsPerNode", read_into_node},
        {"allowAutoConverge", read_auto_converge},
        {"allowPostCopy", read_postcopy},
        {"unsafeMigrationOverride", read_unsafe},
    };
    return read_map(r, node, keys, COUNT(keys), err);
}

static bool read_interval(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_i64(r->yaml, node, 50, 60000, &r->config->sample_ms, err);
}

static bool read_sampling(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct key keys[] = {{"intervalMs", read_interval}};
    return read_map(r, node, keys, COUNT(keys), err);
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
                             "sharedPaths: '%s' is not a path from the root without '..'", path);
    }
    return true;
}

static bool read_shared_pools(struct reading *r, const struct yaml_node *list, struct err *err)
{
    return read_texts(r, list, r->config->shared_pools, &r->config->n_shared_pools, err);
}

static bool read_storage(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct key keys[] = {
        {"sharedPaths", read_shared_paths},
        {"sharedPools", read_shared_pools},
    };
    return read_map(r, node, keys, COUNT(keys), err);
}

static bool read_all(struct reading *r, struct err *err)
{
    static const struct key keys[] = {
        {"hosts", read_hosts},     {"state", read_state},           {"listen", read_listen},
        {"log", read_log},         {"migrations", read_migrations}, {"sampling", read_sampling},
        {"storage", read_storage},
    };
    if (yaml_document_count(r->yaml) != 1)
        return err_set(err, ERR_INVALID, "%s: expected one YAML document, found %zu",
                       yaml_file(r->yaml), yaml_document_count(r->yaml));
    const struct yaml_node *top = yaml_document(r->yaml, 0);
    if (!read_map(r, top, keys, COUNT(keys), err))
        return false;
    if (r->config->n_hosts == 0)
        return yaml_fail(r->yaml, top, err, "'hosts' is missing; at least one host is needed");
    return true;
}

/* --- life --- */

struct config *config_new(struct err *err)
{
    struct config *config = calloc(1, sizeof *config);
    if (config == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the configuration");
        return NULL;
    }
    TEXT_SET(config->state_dir, "/var/lib/ferry");
    TEXT_SET(config->listen, "127.0.0.1:9178");
    config->log_level = LOG_LEVEL_INFO;
    config->log_format = LOG_FORMAT_TEXT;
    config->parallel_per_fleet = 5; /* KubeVirt's defaults */
    config->parallel_outbound_per_node = 2;
    config->parallel_inbound_per_node = 2;
    return config;
}

void config_free(struct config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; config->host_labels != NULL && i < config->n_hosts; i++)
        free(config->host_labels[i]);
    free(config->host_labels);
    free(config->hosts);
    for (size_t i = 0; i < CONFIG_SHARED_MAX; i++) {
        free(config->shared_paths[i]);
        free(config->shared_pools[i]);
    }
    free(config);
}

static struct config *config_from(const struct yaml *yaml, struct err *err)
{
    OWNED(config) config = config_new(err);
    struct reading reading = {.yaml = yaml, .config = config};
    if (config == NULL || !read_all(&reading, err))
        return NULL;
    return TAKE(config);
}

struct config *config_read(const char *file, struct err *err)
{
    OWNED(yaml) yaml = yaml_read_file(file, err);
    return yaml != NULL ? config_from(yaml, err) : NULL;
}

struct config *config_parse(const char *text, size_t n, const char *file, struct err *err)
{
    OWNED(yaml) yaml = yaml_parse(text, n, file, err);
    return yaml != NULL ? config_from(yaml, err) : NULL;
}

static bool hosts_differ(const struct config *a, const struct config *b)
{
    if (a->n_hosts != b->n_hosts)
        return true;
    for (size_t i = 0; i < a->n_hosts; i++) {
        const struct hv_host *x = &a->hosts[i], *y = &b->hosts[i];
        if (!text_equal(x->name, y->name) || !text_equal(x->uri, y->uri) ||
            !text_equal(x->peer_uri, y->peer_uri) ||
            !text_equal(x->migration_host, y->migration_host) ||
            x->keepalive_interval_s != y->keepalive_interval_s ||
            x->keepalive_count != y->keepalive_count ||
            !text_equal(a->host_labels[i] != NULL ? a->host_labels[i] : "",
                        b->host_labels[i] != NULL ? b->host_labels[i] : ""))
            return true;
    }
    return false;
}

static bool texts_differ(char *const *a, char *const *b)
{
    for (size_t i = 0; i < CONFIG_SHARED_MAX; i++)
        if (!text_equal(a[i], b[i]))
            return true;
    return false;
}

bool config_needs_restart(const struct config *now, const struct config *next, char *out_text)
{
    const struct {
        const char *word;
        bool differs;
    } parts[] = {
        {"hosts", hosts_differ(now, next)},
        {"state", !text_equal(now->state_dir, next->state_dir)},
        {"listen", !text_equal(now->listen, next->listen)},
        {"log", now->log_level != next->log_level || now->log_format != next->log_format},
        {"migrations", now->bandwidth_mibs != next->bandwidth_mibs ||
                           now->parallel_per_fleet != next->parallel_per_fleet ||
                           now->parallel_outbound_per_node != next->parallel_outbound_per_node ||
                           now->parallel_inbound_per_node != next->parallel_inbound_per_node ||
                           now->allow_auto_converge != next->allow_auto_converge ||
                           now->allow_postcopy != next->allow_postcopy ||
                           now->unsafe != next->unsafe},
        {"sampling", now->sample_ms != next->sample_ms},
        {"storage", texts_differ(now->shared_paths, next->shared_paths) ||
                        texts_differ(now->shared_pools, next->shared_pools)},
    };
    out_text[0] = '\0';
    size_t length = 0;
    for (size_t i = 0; i < COUNT(parts); i++)
        if (parts[i].differs)
            length += (size_t)snprintf(out_text + length, HV_TEXT_MAX - length, "%s%s",
                                       length > 0 ? ", " : "", parts[i].word);
    return length > 0;
}
