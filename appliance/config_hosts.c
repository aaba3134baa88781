/* config_hosts.c - `hosts:` of ferry.yaml. */
#include <stdio.h>
#include <string.h>

#include "appliance/config_read.h"
#include "base/text.h"
#include "base/yaml.h"
#include "engine/model/settings/labels.h"
#include "hypervisor/hostd/protocol.h"

enum { KEEPALIVE_SECONDS_MAX = 3600 };

static struct hv_host *host_of(struct reading *r)
{
    return &r->config->hosts[r->host];
}

static bool read_host_name(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct hv_host *host = host_of(r);
    if (!config_read_text(r, node, host->name, sizeof host->name, err))
        return false;
    if (!text_is_dns_label(host->name))
        return yaml_fail(r->yaml, node, err,
                         "host name '%s' is not a DNS label: lower-case letters, digits and "
                         "'-', at most 63, no '-' at either end",
                         host->name);
    return true;
}

/* A guest can leave a session daemon for a system daemon elsewhere. Then it has another owner, and
 * it cannot come back: a session daemon does not listen for other hosts and ends with its user's
 * login. An embedded driver would run inside Ferry. rest: what follows "://". */
static bool check_daemon(struct reading *r, const struct yaml_node *node, const char *uri,
                         const char *rest, struct err *err)
{
    const char *path = rest + strcspn(rest, "/?#");
    size_t length = strcspn(path, "?#");
    bool is_session = length == 8 && strncmp(path, "/session", length) == 0;
    bool is_embedded = length == 6 && strncmp(path, "/embed", length) == 0;
    if (strncmp(uri, "qemu", 4) != 0 || (!is_session && !is_embedded))
        return true;
    return yaml_fail(r->yaml, node, err, "%s '%s' is %s; Ferry needs the system daemon: .../system",
                     node->key, uri,
                     is_session ? "a user's session daemon: it accepts no guest from other hosts, "
                                  "and its guests would change their owner"
                                : "an embedded driver: it would run inside Ferry");
}

static bool read_uri(struct reading *r, const struct yaml_node *node, char *out, struct err *err)
{
    if (!config_read_text(r, node, out, HV_URI_MAX, err))
        return false;
    size_t scheme = strspn(out, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    if (scheme == 0 || strncmp(out + scheme, "://", 3) != 0)
        return yaml_fail(r->yaml, node, err,
                         "%s '%s' has no scheme; a libvirt uri looks like "
                         "qemu+ssh://root@host1/system",
                         node->key, out);
    return check_daemon(r, node, out, out + scheme + 3, err);
}

static bool read_host_uri(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_uri(r, node, host_of(r)->uri, err);
}

static bool read_host_peer_uri(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_uri(r, node, host_of(r)->peer_uri, err);
}

/* A name or an address, at most HV_TEXT_MAX. */
static bool read_name(struct reading *r, const struct yaml_node *node, char *out, struct err *err)
{
    if (!config_read_text(r, node, out, HV_TEXT_MAX, err))
        return false;
    if (strpbrk(out, " \t/") != NULL)
        return yaml_fail(r->yaml, node, err, "%s '%s' is not a host name or an IP address",
                         node->key, out);
    return true;
}

static bool read_host_address(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_name(r, node, host_of(r)->migration_host, err);
}

static bool read_host_listen(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_name(r, node, host_of(r)->listen, err);
}

/* --- encryption and the helper --- */

bool config_read_mode(struct reading *r, const struct yaml_node *node, bool *out_observe,
                      struct err *err)
{
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    *out_observe = text_equal(text, "observe");
    return *out_observe || text_equal(text, "manage") ||
           yaml_fail(r->yaml, node, err, "mode '%s' is neither observe nor manage", text);
}

static bool read_host_mode(struct reading *r, const struct yaml_node *node, struct err *err)
{
    r->config->host_settings[r->host].mode_set = true;
    return config_read_mode(r, node, &host_of(r)->observe, err);
}

static bool read_host_tls(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_bool(r->yaml, node, &host_of(r)->tls, err);
}

static bool read_host_tls_name(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_name(r, node, host_of(r)->tls_name, err);
}

static bool read_host_helper(struct reading *r, const struct yaml_node *node, struct err *err)
{
    char *helper = host_of(r)->helper;
    struct hostd_address address;
    struct err why = {0};
    if (!config_read_text(r, node, helper, HV_URI_MAX, err))
        return false;
    if (!hostd_address_parse(helper, &address, &why))
        return yaml_fail(r->yaml, node, err, "helper: %s", why.text);
    return true;
}

static bool read_host_relay(struct reading *r, const struct yaml_node *node, struct err *err)
{
    (void)node, (void)err;
    r->config->retired |= 1U << CONFIG_RETIRED_RELAY;
    return true;
}

static bool read_host_ports(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct hv_host *host = host_of(r);
    char text[16];
    if (!config_read_text(r, node, text, sizeof text, err))
        return false;
    if (!hostd_ports_parse(text, &host->port_min, &host->port_max))
        return yaml_fail(r->yaml, node, err, "%s '%s' is not MIN-MAX, like 49152-49215", node->key,
                         text);
    return true;
}

static bool read_secret(struct reading *r, const struct yaml_node *node, char *out_secret,
                        struct err *err)
{
    char file[CONFIG_PATH_MAX];
    struct err why = {0};
    if (!config_read_text(r, node, file, sizeof file, err))
        return false;
    if (file[0] != '/')
        return yaml_fail(r->yaml, node, err, "%s '%s' is not an absolute path", node->key, file);
    if (!hostd_secret_read(file, out_secret, &why))
        return yaml_fail(r->yaml, node, err, "%s: %s", node->key, why.text);
    return true;
}

static bool read_host_secret(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_secret(r, node, host_of(r)->helper_secret, err);
}

bool config_read_helper_secret(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_secret(r, node, r->config->helper_secret, err);
}

static bool settle_helper(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct hv_host *host = host_of(r);
    if (host->helper[0] == '\0')
        return true;
    if (host->helper_secret[0] == '\0')
        TEXT_SET(host->helper_secret, r->config->helper_secret);
    if (host->helper_secret[0] == '\0')
        return yaml_fail(
            r->yaml, node, err,
            "host '%s' has a helper but no 'helperSecretFile', and there is no common one",
            host->name);
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
    static const struct yaml_key keys[] = {
        {"intervalSeconds", read_keepalive_interval},
        {"count", read_keepalive_count},
    };
    return config_read_map(r, node, keys, COUNT(keys), err);
}

static bool keep_json(struct json_object *value, char **out_text, struct err *err)
{
    const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
    free(*out_text);
    *out_text = text != NULL ? strdup(text) : NULL;
    return *out_text != NULL ? true : err_set(err, ERR_NOMEM, "no memory for a host");
}

static bool read_host_labels(struct reading *r, const struct yaml_node *node, struct err *err)
{
    size_t n = 0;
    if (node->kind != YAML_MAP)
        return yaml_fail(r->yaml, node, err, "labels: expected a map of names and values");
    OWNED(json_object) labels = json_object_new_object();
    for (const struct yaml_node *label = node->child; label != NULL; label = label->next) {
        if (label->kind == YAML_MAP || label->kind == YAML_LIST)
            return yaml_fail(r->yaml, label, err, "label '%s': expected one value", label->key);
        const char *value = label->text != NULL ? label->text : "";
        if (!label_key_is_valid(label->key) || !label_value_is_valid(value))
            return yaml_fail(r->yaml, label, err,
                             "label '%s: %s': both are at most 63 letters, digits, '-', '_' and "
                             "'.', and a name may have 'dns.domain/' before it",
                             label->key, value);
        if (++n > LABELS_MAX)
            return yaml_fail(r->yaml, label, err, "labels: at most %d are possible", LABELS_MAX);
        json_add_text(labels, label->key, value);
    }
    return keep_json(labels, &r->config->host_settings[r->host].labels, err);
}

/* --- taints: [{key, value, effect}] --- */

static bool read_taint_text(struct reading *r, const struct yaml_node *map, const char *name,
                            bool (*is_valid)(const char *text), struct json_object *out_taint,
                            struct err *err)
{
    const struct yaml_node *node = yaml_child(map, name);
    const char *text;
    if (node == NULL)
        return true;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    if (!is_valid(text))
        return yaml_fail(r->yaml, node, err, "taint: '%s' is not a valid %s", text, name);
    json_add_text(out_taint, name, text);
    return true;
}

static bool is_effect(const char *text)
{
    return text_equal(text, "NoSchedule") || text_equal(text, "PreferNoSchedule") ||
           text_equal(text, "NoExecute");
}

static bool read_taint(struct reading *r, const struct yaml_node *map, struct json_object *taints,
                       struct err *err)
{
    static const char *const keys[] = {"key", "value", "effect"};
    if (map->kind != YAML_MAP)
        return yaml_fail(r->yaml, map, err, "taints: expected {key, value, effect}");
    if (!yaml_only_keys(r->yaml, map, keys, COUNT(keys), err))
        return false;
    if (yaml_child(map, "key") == NULL)
        return yaml_fail(r->yaml, map, err, "a taint requires a 'key'");
    const struct yaml_node *effect = yaml_child(map, "effect");
    if (effect == NULL || effect->text == NULL || !is_effect(effect->text))
        return yaml_fail(r->yaml, effect != NULL ? effect : map, err,
                         "a taint requires an 'effect': NoSchedule, PreferNoSchedule or NoExecute");
    struct json_object *taint = json_add_object(taints, "");
    return read_taint_text(r, map, "key", label_key_is_valid, taint, err) &&
           read_taint_text(r, map, "value", label_value_is_valid, taint, err) &&
           read_taint_text(r, map, "effect", is_effect, taint, err);
}

static bool read_taints(struct reading *r, const struct yaml_node *list, struct json_object *taints,
                        struct err *err)
{
    if (list->kind != YAML_LIST)
        return yaml_fail(r->yaml, list, err, "taints: expected a list of {key, value, effect}");
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        if (json_object_array_length(taints) >= TAINTS_MAX)
            return yaml_fail(r->yaml, node, err, "taints: at most %d are possible", TAINTS_MAX);
        if (!read_taint(r, node, taints, err))
            return false;
    }
    return true;
}

static bool read_host_taints(struct reading *r, const struct yaml_node *list, struct err *err)
{
    OWNED(json_object) taints = json_object_new_array();
    if (!read_taints(r, list, taints, err))
        return false;
    if (json_object_array_length(taints) == 0)
        return true;
    return keep_json(taints, &r->config->host_settings[r->host].taints, err);
}

static bool read_host_schedulable(struct reading *r, const struct yaml_node *node, struct err *err)
{
    bool schedulable;
    if (!yaml_bool(r->yaml, node, &schedulable, err))
        return false;
    r->config->host_settings[r->host].cordoned = !schedulable;
    return true;
}

/* --- QEMU's logs --- */

static const char local_logs[] = "/var/log/libvirt/qemu";

static bool keep_text(const char *text, char **out_text, struct err *err)
{
    free(*out_text);
    *out_text = strdup(text);
    return *out_text != NULL ? true : err_set(err, ERR_NOMEM, "no memory for a host");
}

static bool read_host_logs(struct reading *r, const struct yaml_node *node, struct err *err)
{
    char dir[CONFIG_PATH_MAX];
    if (!config_read_text(r, node, dir, sizeof dir, err))
        return false;
    if (dir[0] != '/')
        return yaml_fail(r->yaml, node, err, "%s '%s' is not an absolute path", node->key, dir);
    return keep_text(dir, &r->config->host_settings[r->host].log_dir, err);
}

/* The default directory, only for the system daemon of this machine. */
static bool settle_logs(struct reading *r, struct err *err)
{
    char **dir = &r->config->host_settings[r->host].log_dir;
    const char *uri = host_of(r)->uri;
    if (*dir != NULL || !text_has_prefix(uri, "qemu:///") || strchr(uri, '?') != NULL)
        return true;
    return keep_text(local_logs, dir, err);
}

static bool read_host(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {
        {"name", read_host_name},
        {"uri", read_host_uri},
        {"peerUri", read_host_peer_uri},
        {"migrationAddress", read_host_address},
        {"keepalive", read_host_keepalive},
        {"labels", read_host_labels},
        {"taints", read_host_taints},
        {"schedulable", read_host_schedulable},
        {"listen", read_host_listen},
        {"mode", read_host_mode},
        {"tls", read_host_tls},
        {"tlsName", read_host_tls_name},
        {"migrationPorts", read_host_ports},
        {"relay", read_host_relay},
        {"helper", read_host_helper},
        {"helperSecretFile", read_host_secret},
        {"qemuLogDir", read_host_logs},
        {"cell", config_read_cell},
    };
    if (!config_read_map(r, node, keys, COUNT(keys), err))
        return false;
    struct hv_host *host = host_of(r);
    if (host->name[0] == '\0')
        return yaml_fail(r->yaml, node, err, "a host requires a 'name'");
    if (host->uri[0] == '\0')
        return yaml_fail(r->yaml, node, err, "host '%s' requires a 'uri'", host->name);
    if (host->peer_uri[0] == '\0')
        TEXT_SET(host->peer_uri, host->uri);
    return settle_logs(r, err) && settle_helper(r, node, err);
}

static bool reserve(struct config *config, size_t room)
{
    struct hv_host *hosts = realloc(config->hosts, room * sizeof *hosts);
    if (hosts != NULL)
        config->hosts = hosts;
    struct host_settings *settings = realloc(config->host_settings, room * sizeof *settings);
    if (settings != NULL)
        config->host_settings = settings;
    return hosts != NULL && settings != NULL;
}

/* Room for one more: doubled whenever a power of two is full. */
static bool grow(struct config *config, struct err *err)
{
    size_t n = config->n_hosts;
    if (n == CONFIG_HOSTS_MAX)
        return err_set(err, ERR_INVALID, "more than %d hosts; no more are possible",
                       CONFIG_HOSTS_MAX);
    if ((n & (n - 1)) == 0 && !reserve(config, n == 0 ? 1 : 2 * n))
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", n + 1);
    memset(&config->hosts[n], 0, sizeof config->hosts[n]);
    config->host_settings[n] = (struct host_settings){0};
    config->n_hosts = n + 1;
    return true;
}

bool config_add_host(struct reading *r, const struct yaml_node *map, struct err *err)
{
    char origin[CONFIG_PATH_MAX];
    struct err why = {0};
    if (!grow(r->config, &why))
        return why.code == ERR_INVALID ? yaml_fail(r->yaml, map, err, "%s", why.text)
                                       : err_set(err, why.code, "%s", why.text);
    r->host = r->config->n_hosts - 1;
    (void)snprintf(origin, sizeof origin, "%s:%d", yaml_file(r->yaml), map->line);
    return keep_text(origin, &r->config->host_settings[r->host].origin, err) &&
           read_host(r, map, err);
}

bool config_read_hosts(struct reading *r, const struct yaml_node *list, struct err *err)
{
    if (list->kind != YAML_LIST)
        return yaml_fail(r->yaml, list, err, "hosts: expected a list ('- name: ...')");
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next)
        if (!config_add_host(r, node, err))
            return false;
    return true;
}

/* Compares neighbours in a sorted list: quadratic would be slow with 10,000 hosts. */
struct named {
    const char *name;
    size_t i;
};

static int by_name_then_place(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->i > right->i) - (left->i < right->i);
}

/* "line 2" in the same file, else "FILE:2". */
static const char *place_of(const char *origin, const char *from, char *out, size_t bytes)
{
    const char *colon = strrchr(origin, ':');
    size_t n = colon != NULL ? (size_t)(colon - origin) + 1 : 0;
    bool is_same = n > 0 && strncmp(origin, from, n) == 0;
    (void)snprintf(out, bytes, "%s%s", is_same ? "line " : "", is_same ? colon + 1 : origin);
    return out;
}

bool config_check_hosts(const struct config *config, struct err *err)
{
    struct named *names = calloc(config->n_hosts + 1, sizeof *names);
    char place[CONFIG_PATH_MAX];
    if (names == NULL)
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", config->n_hosts);
    for (size_t i = 0; i < config->n_hosts; i++)
        names[i] = (struct named){config->hosts[i].name, i};
    qsort(names, config->n_hosts, sizeof *names, by_name_then_place);
    bool differ = true;
    for (size_t i = 1; differ && i < config->n_hosts; i++) {
        const char *first = config->host_settings[names[i - 1].i].origin,
                   *second = config->host_settings[names[i].i].origin;
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            differ = err_set(err, ERR_INVALID, "%s: host '%s' is a duplicate of %s", second,
                             names[i].name, place_of(first, second, place, sizeof place));
    }
    free(names);
    return differ;
}

static bool texts_differ(const char *a, const char *b)
{
    return !text_equal(a != NULL ? a : "", b != NULL ? b : "");
}

bool config_settings_differ(const struct host_settings *a, const struct host_settings *b)
{
    return a->cordoned != b->cordoned || texts_differ(a->log_dir, b->log_dir) ||
           texts_differ(a->labels, b->labels) || texts_differ(a->taints, b->taints);
}

bool config_hosts_differ(const struct config *a, const struct config *b)
{
    if (a->n_hosts != b->n_hosts)
        return true;
    for (size_t i = 0; i < a->n_hosts; i++) {
        const struct hv_host *x = &a->hosts[i], *y = &b->hosts[i];
        if (!text_equal(x->name, y->name) || !text_equal(x->uri, y->uri) ||
            !text_equal(x->peer_uri, y->peer_uri) ||
            !text_equal(x->migration_host, y->migration_host) ||
            !text_equal(x->listen, y->listen) || !text_equal(x->tls_name, y->tls_name) ||
            x->port_min != y->port_min || x->port_max != y->port_max || x->tls != y->tls ||
            x->observe != y->observe || !text_equal(x->helper, y->helper) ||
            !text_equal(x->helper_secret, y->helper_secret) || !text_equal(x->cell, y->cell) ||
            x->keepalive_interval_s != y->keepalive_interval_s ||
            x->keepalive_count != y->keepalive_count ||
            config_settings_differ(&a->host_settings[i], &b->host_settings[i]))
            return true;
    }
    return false;
}
