/* web_config.c - see web_config.h. */
#include "exporter/access/web_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/yaml.h"

enum { BCRYPT_COST_MAX = 14 }; /* cost 14 is about a second of one core */

struct reading {
    const struct yaml *yaml;
    struct web_config *web;
    const char *file;
    size_t min, max; /* indexes of versions */
    struct buf suites, curves;
};

static const struct {
    const char *name, *gnutls;
} versions[] =
    {
#define VERSION(name, gnutls) {name, gnutls},
#include "exporter/access/tls_names.def"
#undef VERSION
},
  curves[] = {
#define CURVE(name, gnutls) {name, gnutls},
#include "exporter/access/tls_names.def"
#undef CURVE
};

static const struct {
    const char *name, *exchange, *cipher, *mac;
} ciphers[] = {
#define CIPHER(name, exchange, cipher, mac) {name, exchange, cipher, mac},
#include "exporter/access/tls_names.def"
#undef CIPHER
};

/* ---- files ---- */

static bool read_path(struct reading *r, const struct yaml_node *node, char *out, struct err *err)
{
    const char *text, *slash = strrchr(r->file, '/');
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    int folder = text[0] == '/' || slash == NULL ? 0 : (int)(slash - r->file) + 1;
    int n = snprintf(out, WEB_PATH_MAX, "%.*s%s", text[0] == '\0' ? 0 : folder, r->file, text);
    return n < WEB_PATH_MAX || yaml_fail(r->yaml, node, err, "%s is too long", node->key);
}

static bool read_cert(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_path(r, node, r->web->cert_file, err);
}
static bool read_key(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_path(r, node, r->web->key_file, err);
}
static bool read_client_ca(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_path(r, node, r->web->client_ca_file, err);
}

/* ---- what clients must show ---- */

static bool read_client_auth(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const char *const names[] = {
#define CLIENT_AUTH(id, name, asks, requires, verifies) name,
#include "exporter/access/client_auth.def"
#undef CLIENT_AUTH
    };
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i], text) == 0)
            return text_copy(r->web->client_auth_type, sizeof r->web->client_auth_type, text);
    const char *near = text_nearest(text, names, COUNT(names));
    return yaml_fail(r->yaml, node, err, "client_auth_type '%s' is unknown%s%s", text,
                     near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

static bool read_sans(struct reading *r, const struct yaml_node *list, struct err *err)
{
    if (list->kind != YAML_LIST)
        return yaml_fail(r->yaml, list, err, "client_allowed_sans: expected a list");
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        const char *text;
        if (!yaml_text(r->yaml, node, &text, err))
            return false;
        if (r->web->n_allowed_sans == WEB_SANS_MAX ||
            !text_copy(r->web->allowed_sans[r->web->n_allowed_sans], WEB_SAN_MAX, text))
            return yaml_fail(r->yaml, node, err, "client_allowed_sans: at most %d of %d bytes",
                             WEB_SANS_MAX, WEB_SAN_MAX - 1);
        r->web->n_allowed_sans++;
    }
    return true;
}

/* ---- TLS versions, ciphers, curves ---- */

static bool read_version(struct reading *r, const struct yaml_node *node, size_t *out,
                         struct err *err)
{
    const char *text;
    if (!yaml_text(r->yaml, node, &text, err))
        return false;
    for (*out = 0; *out < COUNT(versions); (*out)++)
        if (strcmp(versions[*out].name, text) == 0)
            return true;
    return yaml_fail(r->yaml, node, err, "%s '%s' is none of TLS10, TLS11, TLS12, TLS13", node->key,
                     text);
}
static bool read_min(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_version(r, node, &r->min, err);
}
static bool read_max(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_version(r, node, &r->max, err);
}

static bool add_cipher(struct reading *r, const struct yaml_node *node, const char *text,
                       struct err *err)
{
    const char *names[COUNT(ciphers)];
    for (size_t i = 0; i < COUNT(ciphers); i++) {
        names[i] = ciphers[i].name;
        if (strcmp(names[i], text) != 0)
            continue;
        if (ciphers[i].cipher[0] != '\0')
            buf_addf(&r->suites, ":+%s:+%s:+%s", ciphers[i].exchange, ciphers[i].cipher,
                     ciphers[i].mac);
        return true;
    }
    const char *near = text_nearest(text, names, COUNT(ciphers));
    return yaml_fail(r->yaml, node, err, "cipher suite '%s' is not supported%s%s", text,
                     near == NULL ? "" : "; the nearest is ", near == NULL ? "" : near);
}

static bool add_curve(struct reading *r, const struct yaml_node *node, const char *text,
                      struct err *err)
{
    for (size_t i = 0; i < COUNT(curves); i++)
        if (strcmp(curves[i].name, text) == 0) {
            buf_addf(&r->curves, ":+%s", curves[i].gnutls);
            return true;
        }
    return yaml_fail(r->yaml, node, err,
                     "curve '%s' is none of CurveP256, CurveP384, CurveP521, X25519", text);
}

static bool read_words(struct reading *r, const struct yaml_node *list,
                       bool (*add)(struct reading *, const struct yaml_node *, const char *,
                                   struct err *),
                       struct err *err)
{
    if (list->kind != YAML_LIST)
        return yaml_fail(r->yaml, list, err, "%s: expected a list", list->key);
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next) {
        const char *text;
        if (!yaml_text(r->yaml, node, &text, err) || !add(r, node, text, err))
            return false;
    }
    return true;
}
static bool read_ciphers(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_words(r, node, add_cipher, err);
}
static bool read_curves(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return read_words(r, node, add_curve, err);
}

/* The server's order is GnuTLS' default; the client's is used with "false". */
static bool read_prefer(struct reading *r, const struct yaml_node *node, struct err *err)
{
    bool ignored;
    return yaml_bool(r->yaml, node, &ignored, err);
}

static bool compose_priority(struct reading *r, const struct yaml_node *node, struct err *err)
{
    struct buf text;
    if (r->min > r->max)
        return yaml_fail(r->yaml, node, err, "min_version is newer than max_version");
    buf_init(&text, WEB_PRIORITY_MAX);
    buf_add(&text, "NORMAL:-VERS-ALL");
    for (size_t i = r->max + 1; i-- > r->min;)
        buf_addf(&text, ":+%s", versions[i].gnutls);
    if (r->suites.length > 0) /* what TLS 1.3 has cannot be chosen, as in Go */
        buf_addf(&text,
                 ":-KX-ALL:-CIPHER-ALL:-MAC-ALL:+AEAD:+AES-128-GCM:+AES-256-GCM:"
                 "+CHACHA20-POLY1305%s",
                 r->suites.data);
    if (r->curves.length > 0)
        buf_addf(&text, ":-GROUP-ALL%s", r->curves.data);
    bool fits = !text.failed && text_copy(r->web->priority, sizeof r->web->priority, text.data);
    buf_fini(&text);
    return fits || yaml_fail(r->yaml, node, err, "too many cipher suites");
}

static bool read_tls(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {
        {"cert_file", read_cert},           {"key_file", read_key},
        {"client_ca_file", read_client_ca}, {"client_auth_type", read_client_auth},
        {"client_allowed_sans", read_sans}, {"min_version", read_min},
        {"max_version", read_max},          {"cipher_suites", read_ciphers},
        {"curve_preferences", read_curves}, {"prefer_server_cipher_suites", read_prefer},
    };
    struct web_config *web = r->web;
    if (!yaml_read_map(r->yaml, node, keys, COUNT(keys), r, err) || !compose_priority(r, node, err))
        return false;
    if ((web->cert_file[0] == '\0') != (web->key_file[0] == '\0'))
        return yaml_fail(r->yaml, node, err, "cert_file and key_file belong together");
    if (web->cert_file[0] == '\0')
        return yaml_fail(r->yaml, node, err, "cert_file and key_file are missing");
    bool verifies = strstr(web->client_auth_type, "Verify") != NULL;
    if (verifies && web->client_ca_file[0] == '\0')
        return yaml_fail(r->yaml, node, err, "client_auth_type %s needs client_ca_file",
                         web->client_auth_type);
    if (!verifies && web->client_ca_file[0] != '\0' && web->client_auth_type[0] == '\0')
        return yaml_fail(r->yaml, node, err, "client_ca_file needs a client_auth_type");
    return true;
}

/* ---- http_server_config ---- */

static bool read_http2(struct reading *r, const struct yaml_node *node, struct err *err)
{
    bool wanted;
    return yaml_bool(r->yaml, node, &wanted, err); /* without: HTTP/1.1 is spoken */
}

/* Headers that every answer carries: Ferry sets its own. */
static bool read_headers(struct reading *r, const struct yaml_node *node, struct err *err)
{
    return yaml_fail(r->yaml, node, err,
                     "http_server_config.headers is not supported; set them in a proxy");
}

static bool read_http(struct reading *r, const struct yaml_node *node, struct err *err)
{
    static const struct yaml_key keys[] = {{"http2", read_http2}, {"headers", read_headers}};
    return yaml_read_map(r->yaml, node, keys, COUNT(keys), r, err);
}

/* ---- users ---- */

/* "$2y$10$" and 53 characters. */
static bool is_bcrypt(const char *hash, int64_t *out_cost)
{
    char cost[3] = {0};
    if (strlen(hash) != 60 || hash[0] != '$' || hash[1] != '2' || strchr("aby", hash[2]) == NULL ||
        hash[3] != '$' || hash[6] != '$')
        return false;
    memcpy(cost, hash + 4, 2);
    return text_to_i64(cost, 4, 31, out_cost);
}

static bool read_user(struct reading *r, const struct yaml_node *node, struct err *err)
{
    const char *hash;
    int64_t cost;
    struct web_user *user = &r->web->users[r->web->n_users];
    if (r->web->n_users == WEB_USERS_MAX)
        return yaml_fail(r->yaml, node, err, "at most %d users", WEB_USERS_MAX);
    if (!yaml_text(r->yaml, node, &hash, err))
        return false;
    if (!text_copy(user->name, sizeof user->name, node->key) || user->name[0] == '\0' ||
        strchr(user->name, ':') != NULL)
        return yaml_fail(r->yaml, node, err, "a user's name has 1 to %d bytes and no colon",
                         WEB_USER_MAX - 1);
    if (!is_bcrypt(hash, &cost))
        return yaml_fail(r->yaml, node, err,
                         "the password of '%s' is not a bcrypt hash (htpasswd -nBC 10 \"\")",
                         user->name);
    if (cost > BCRYPT_COST_MAX)
        return yaml_fail(r->yaml, node, err, "the bcrypt cost of '%s' is %d, at most %d",
                         user->name, (int)cost, BCRYPT_COST_MAX);
    (void)text_copy(user->hash, sizeof user->hash, hash);
    r->web->n_users++;
    return true;
}

static bool read_users(struct reading *r, const struct yaml_node *map, struct err *err)
{
    if (map->kind != YAML_MAP)
        return yaml_fail(r->yaml, map, err, "basic_auth_users: expected names and hashes");
    for (const struct yaml_node *node = map->child; node != NULL; node = node->next)
        if (!read_user(r, node, err))
            return false;
    return true;
}

/* ---- the file ---- */

static bool read_all(struct reading *r, struct err *err)
{
    static const struct yaml_key keys[] = {{"tls_server_config", read_tls},
                                           {"http_server_config", read_http},
                                           {"basic_auth_users", read_users}};
    size_t n = yaml_document_count(r->yaml);
    (void)text_copy(r->web->priority, sizeof r->web->priority, WEB_PRIORITY_DEFAULT);
    if (n == 0)
        return true; /* an empty file is valid */
    return n == 1 ? yaml_read_map(r->yaml, yaml_document(r->yaml, 0), keys, COUNT(keys), r, err)
                  : err_set(err, ERR_INVALID, "%s: expected one YAML document", r->file);
}

static struct web_config *web_from(const struct yaml *yaml, const char *file, struct err *err)
{
    OWNED(web_config) web = calloc(1, sizeof *web);
    if (web == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for %s", file);
        return NULL;
    }
    struct reading r = {.yaml = yaml, .web = web, .file = file, .min = 2, .max = 3};
    buf_init(&r.suites, WEB_PRIORITY_MAX);
    buf_init(&r.curves, WEB_PRIORITY_MAX);
    bool is_read = read_all(&r, err);
    buf_fini(&r.suites);
    buf_fini(&r.curves);
    return is_read ? TAKE(web) : NULL;
}

struct web_config *web_config_read(const char *file, struct err *err)
{
    OWNED(yaml) yaml = yaml_read_file(file, err);
    return yaml == NULL ? NULL : web_from(yaml, file, err);
}

struct web_config *web_config_parse(const char *text, size_t n, const char *file, struct err *err)
{
    OWNED(yaml) yaml = yaml_parse(text, n, file, err);
    return yaml == NULL ? NULL : web_from(yaml, file, err);
}

void web_config_free(struct web_config *web)
{
    if (web != NULL)
        explicit_bzero(web, sizeof *web);
    free(web);
}
