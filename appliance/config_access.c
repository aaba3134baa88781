/* config_access.c - listeners, roles and names of ferry.yaml (exporter/access/access_config.h). */
#include <stdio.h>
#include <string.h>

#include "appliance/config_read.h"
#include "base/text.h"

/* A list, or one entry alone. */
static bool read_entries(struct reading *r, const struct yaml_node *node, yaml_reader *add,
                         struct err *err)
{
    if (node->kind != YAML_LIST)
        return add(r, node, err);
    for (const struct yaml_node *entry = node->child; entry != NULL; entry = entry->next)
        if (!add(r, entry, err))
            return false;
    return true;
}

/* ---- listeners ---- */

static bool check_listen(struct reading *r, const struct yaml_node *node, const char *listen,
                         struct err *err)
{
    const char *slashes = strstr(listen, "://");
    const char *address = slashes == NULL ? listen : slashes + 3, *colon = strrchr(address, ':');
    int64_t port;
    if (slashes != NULL && !text_has_prefix(listen, "http://") &&
        !text_has_prefix(listen, "https://"))
        return yaml_fail(r->yaml, node, err, "listen '%s': the scheme is http or https", listen);
    if (colon == NULL || colon == address || !text_to_i64(colon + 1, 0, 65535, &port))
        return yaml_fail(r->yaml, node, err, "listen '%s' is not ADDRESS:PORT, like 127.0.0.1:9178",
                         listen);
    return true;
}

static bool add_listen(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct access_config *access = &r->config->access;
    if (access->n_listen == ACCESS_LISTEN_MAX)
        return yaml_fail(r->yaml, node, err, "at most %d addresses to listen on",
                         ACCESS_LISTEN_MAX);
    char *listen = access->listen[access->n_listen];
    if (!config_read_text(r, node, listen, sizeof access->listen[0], err) ||
        !check_listen(r, node, listen, err))
        return false;
    access->n_listen++;
    return true;
}

bool config_read_listen(struct reading *r, const struct yaml_node *node, struct err *err)
{
    r->config->access.n_listen = 0;
    return read_entries(r, node, add_listen, err);
}

bool config_read_socket(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct access_config *access = &r->config->access;
    if (!config_read_text(r, node, access->socket, sizeof access->socket, err))
        return false;
    access->socket_is_default = false;
    if (text_equal(access->socket, "none"))
        access->socket[0] = '\0';
    return access->socket[0] == '/' || access->socket[0] == '\0' ||
           yaml_fail(r->yaml, node, err, "socket '%s' is not an absolute path or none",
                     access->socket);
}

static bool read_metrics_listen(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct access_config *access = &r->config->access;
    return config_read_text(r, node, access->metrics_listen, sizeof access->metrics_listen, err) &&
           check_listen(r, node, access->metrics_listen, err);
}

static bool read_metrics_auth(struct reading *r, const struct yaml_node *node, struct err *err)
{
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    r->config->access.metrics_open = text_equal(text, "none");
    return r->config->access.metrics_open || text_equal(text, "required") ||
           yaml_fail(r->yaml, node, err, "auth '%s' is none of none, required", text);
}

bool config_read_metrics(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {{"listen", read_metrics_listen},
                                           {"auth", read_metrics_auth}};
    return config_read_map(r, node, keys, COUNT(keys), err);
}

bool config_read_web_file(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return config_read_text(r, node, r->config->access.web_file, sizeof r->config->access.web_file,
                            err);
}

/* ---- roles ---- */

static struct access_grant *grant_of(struct reading *r)
{
    return &r->config->access.grants[r->config->access.n_grants];
}

static bool read_grant_name(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return config_read_text(r, node, grant_of(r)->name, sizeof grant_of(r)->name, err);
}

static bool read_grant_role(struct reading *r, const struct yaml_node *node, struct err *err)
{
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    return access_role_from_name(text, &grant_of(r)->role) ||
           yaml_fail(r->yaml, node, err, "role '%s' is none of viewer, operator, admin", text);
}

static bool read_grant_namespace(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return config_read_text(r, node, grant_of(r)->ns, sizeof grant_of(r)->ns, err);
}

static bool add_grant(struct reading *r, const struct yaml_node *node, enum access_source source,
                      struct err *err)
{
    static const struct yaml_key keys[] = {
        {"name", read_grant_name}, {"role", read_grant_role}, {"namespace", read_grant_namespace}};
    if (r->config->access.n_grants == ACCESS_GRANTS_MAX)
        return yaml_fail(r->yaml, node, err, "at most %d users and certificates",
                         ACCESS_GRANTS_MAX);
    *grant_of(r) = (struct access_grant){.source = source};
    if (!config_read_map(r, node, keys, COUNT(keys), err))
        return false;
    if (grant_of(r)->name[0] == '\0' || grant_of(r)->role == ROLE_NONE)
        return yaml_fail(r->yaml, node, err, "expected {name: NAME, role: viewer|operator|admin}");
    r->config->access.n_grants++;
    return true;
}

static bool add_user(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return add_grant(r, node, SOURCE_PASSWORD, err);
}
static bool add_certificate(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return add_grant(r, node, SOURCE_CERTIFICATE, err);
}
static bool read_users(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_entries(r, node, add_user, err);
}
static bool read_certificates(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_entries(r, node, add_certificate, err);
}
static bool read_group(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return config_read_text(r, node, r->config->access.group, sizeof r->config->access.group, err);
}

bool config_read_access(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {
        {"group", read_group}, {"users", read_users}, {"certificates", read_certificates}};
    return config_read_map(r, node, keys, COUNT(keys), err);
}

/* ---- behind a proxy ---- */

bool config_external_url(const char *text, char *out_url)
{
    if (!text_copy(out_url, ACCESS_TEXT_MAX, text))
        return false;
    size_t n = strlen(out_url);
    while (n > 0 && out_url[n - 1] == '/')
        out_url[--n] = '\0';
    const char *slashes = strstr(out_url, "://");
    return (text_has_prefix(out_url, "http://") || text_has_prefix(out_url, "https://")) &&
           slashes[3] != '\0' && slashes[3] != '/' && strpbrk(out_url, " \"'<>?#@") == NULL;
}

bool config_read_external_url(struct reading *r, const struct yaml_node *node, struct err *err)
{
    char text[ACCESS_TEXT_MAX];
    if (!config_read_text(r, node, text, sizeof text, err))
        return false;
    return config_external_url(text, r->config->access.external_url) ||
           yaml_fail(r->yaml, node, err,
                     "externalUrl '%s' is not a URL like https://ferry.example.org", text);
}

static bool add_proxy(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct access_config *access = &r->config->access;
    if (access->n_proxies == ACCESS_PROXIES_MAX)
        return yaml_fail(r->yaml, node, err, "at most %d trusted proxies", ACCESS_PROXIES_MAX);
    char *proxy = access->proxies[access->n_proxies];
    if (!config_read_text(r, node, proxy, sizeof access->proxies[0], err))
        return false;
    if (strspn(proxy, "0123456789abcdefABCDEF.:/") != strlen(proxy))
        return yaml_fail(r->yaml, node, err,
                         "trustedProxies: '%s' is not an address or a network like 10.0.0.0/8",
                         proxy);
    access->n_proxies++;
    return true;
}

bool config_read_proxies(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_entries(r, node, add_proxy, err);
}

static bool add_host(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct access_config *access = &r->config->access;
    if (access->n_hosts == ACCESS_HOSTS_MAX)
        return yaml_fail(r->yaml, node, err, "at most %d allowed host names", ACCESS_HOSTS_MAX);
    if (!config_read_text(r, node, access->hosts[access->n_hosts], sizeof access->hosts[0], err))
        return false;
    if (strpbrk(access->hosts[access->n_hosts], "/: *") != NULL)
        return yaml_fail(r->yaml, node, err,
                         "allowedHosts: '%s' is not a host name, without scheme and port",
                         access->hosts[access->n_hosts]);
    access->n_hosts++;
    return true;
}

bool config_read_allowed_hosts(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_entries(r, node, add_host, err);
}

bool config_access_differs(const struct config *a, const struct config *b)
{
    return memcmp(&a->access, &b->access, sizeof a->access) != 0; /* zeroed before it is filled */
}
