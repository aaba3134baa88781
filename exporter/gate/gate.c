/* gate.c - see gate.h. */
#include "exporter/gate/gate_impl.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"

/* ---- the decision ---- */

static bool is_of_metrics(const struct gate_ask *ask)
{
    static const char *const paths[] = {"/metrics", "/healthz", "/readyz"};
    for (size_t i = 0; ask != NULL && i < COUNT(paths); i++)
        if (text_equal(ask->action.path, paths[i]))
            return true;
    return false;
}

static bool is_open(const struct gate *gate, const struct gate_ask *ask)
{
    return gate->config.metrics_open && is_of_metrics(ask);
}

enum http_admission gate_refuse(struct gate_refusal *refusal, unsigned status, const char *text)
{
    refusal->status = status;
    (void)snprintf(refusal->text, sizeof refusal->text, "%s", text);
    return HTTP_REFUSED;
}

static enum http_admission refuse_plain(const struct gate *gate, const struct access_action *action,
                                        struct gate_refusal *refusal)
{
    char what[ACCESS_WHY_MAX];
    struct buf text;
    buf_init(&text, GATE_REFUSAL_MAX);
    access_action_text(action, what, sizeof what);
    buf_addf(&text, "cannot %s over plain http, which is read-only: use ", what);
    gate_ways(gate, &text);
    (void)gate_refuse(refusal, 403, text.failed ? "plain http is read-only" : text.data);
    buf_fini(&text);
    return HTTP_REFUSED;
}

/* An identity that is known, a route that exists. */
static enum http_admission authorise(const struct gate *gate, const struct gate_ask *ask,
                                     const struct http_request *request,
                                     const struct access_identity *identity,
                                     struct gate_refusal *refusal)
{
    char why[ACCESS_WHY_MAX];
    const char *page = gate_foreign_page(gate, ask, request);
    if (page != NULL) {
        (void)snprintf(why, sizeof why, "the request comes from a web page of another origin (%s)",
                       page);
        return gate_refuse(refusal, 403, why);
    }
    if (request->peer->transport == HTTP_PLAIN && access_is_change(access_rule_find(&ask->action)))
        return refuse_plain(gate, &ask->action, refusal);
    return access_allows(identity, &ask->action, why) ? HTTP_ADMITTED
                                                      : gate_refuse(refusal, 403, why);
}

enum http_admission gate_admit(struct gate *gate, const struct gate_ask *ask,
                               const struct http_request *request, bool may_wait,
                               struct access_identity *out_identity,
                               struct gate_refusal *out_refusal)
{
    const struct gate_listener *listener = &gate->listeners[request->peer->tag];
    if (listener->is_metrics_only && !is_of_metrics(ask))
        return gate_refuse(out_refusal, 404, "only /metrics, /healthz and /readyz are served here");
    if (is_open(gate, ask)) {
        *out_identity = (struct access_identity){.source = SOURCE_ANONYMOUS, .role = ROLE_VIEWER};
        gate_client_address(gate, request, out_identity->address);
        if (!request->peer->is_loopback || listener->is_metrics_only ||
            gate_host_is_allowed(gate, request))
            return HTTP_ADMITTED;
    }
    if (!gate_host_is_allowed(gate, request))
        return gate_refuse_host(gate, request, out_refusal);
    switch (gate_identify(gate, request, may_wait, out_identity)) {
    case PROOF_LATER: return HTTP_LATER;
    case PROOF_BUSY:
        return gate_refuse(out_refusal, 429, "too many passwords are being tried; try again");
    case PROOF_WRONG:
        return gate_refuse(out_refusal, 401, "the token, password or certificate is not valid");
    case PROOF_FOUND: break;
    }
    if (out_identity->role == ROLE_NONE)
        return gate_refuse(
            out_refusal, 401,
            "authentication is required: a bearer token (ferry token create), a user of "
            "the web configuration file, or a client certificate");
    return ask == NULL ? HTTP_ADMITTED : authorise(gate, ask, request, out_identity, out_refusal);
}

/* ---- tokens ---- */

static bool read_token(const struct snapshot_object *object, struct token *out)
{
    const char *role, *hash, *ns, *text = object->spec_json;
    struct err ignored = {0};
    OWNED(json_object) spec =
        text == NULL ? NULL : json_parse(text, strlen(text), "token", &ignored);
    *out = (struct token){0};
    if (spec == NULL || !json_get_text(spec, "role", "", &role, &ignored) ||
        !json_get_text(spec, "sha256", "", &hash, &ignored) ||
        !json_get_text(spec, "namespace", "", &ns, &ignored) ||
        !json_get_i64(spec, "expiresMs", 0, &out->expires_ms, &ignored))
        return false;
    return access_role_from_name(role, &out->role) &&
           text_copy(out->hash, sizeof out->hash, hash) && text_copy(out->ns, sizeof out->ns, ns) &&
           text_copy(out->name, sizeof out->name, object->name);
}

/* Changes with every token that is made, changed or removed. */
static uint64_t tokens_version(const struct snapshot *snapshot, size_t *out_n)
{
    uint64_t version = 1;
    *out_n = 0;
    for (size_t i = 0; i < snapshot->n_objects; i++)
        if (snapshot->objects[i]->kind == OBJECT_TOKEN) {
            version = version * 31 + snapshot->objects[i]->resource_version;
            (*out_n)++;
        }
    return version;
}

/* A token that cannot be read, or when memory is short all of them, lets nobody in. */
void gate_on_snapshot(struct gate *gate, const struct snapshot *snapshot)
{
    size_t n;
    uint64_t version = tokens_version(snapshot, &n);
    if (gate->tokens != NULL && gate->tokens->version == version) /* only this thread writes it */
        return;
    struct token_table *table = calloc(1, sizeof *table + n * sizeof table->tokens[0]);
    if (table != NULL)
        table->version = version;
    for (size_t i = 0; table != NULL && i < snapshot->n_objects; i++)
        if (snapshot->objects[i]->kind == OBJECT_TOKEN &&
            read_token(snapshot->objects[i], &table->tokens[table->n]))
            table->n++;
    (void)pthread_rwlock_wrlock(&gate->lock);
    struct token_table *before = gate->tokens;
    gate->tokens = table;
    (void)pthread_rwlock_unlock(&gate->lock);
    free(before);
}

/* ---- files ---- */

static bool read_web(struct gate *gate, struct web_config **out_web, struct err *err)
{
    *out_web = NULL;
    if (gate->config.web_file[0] == '\0')
        return true;
    if (stat(gate->config.web_file, &gate->web_stat) != 0)
        memset(&gate->web_stat, 0, sizeof gate->web_stat);
    *out_web = web_config_read(gate->config.web_file, err);
    return *out_web != NULL;
}

bool gate_reload(struct gate *gate, struct err *err)
{
    struct web_config *web;
    struct http_tls_files files;
    if (!read_web(gate, &web, err))
        return false;
    bool has_certificate = web != NULL && web->cert_file[0] != '\0';
    bool had_certificate = gate->web != NULL && gate->web->cert_file[0] != '\0';
    gate_tls_files(gate, web, &files);
    bool is_loaded = has_certificate == had_certificate ||
                     err_set(err, ERR_REFUSED,
                             "%s: tls_server_config was added or removed; that needs a restart",
                             gate->config.web_file);
    is_loaded = is_loaded && (gate->tls == NULL || http_tls_load(gate->tls, &files, err));
    if (!is_loaded) {
        web_config_free(web);
        return false;
    }
    (void)pthread_rwlock_wrlock(&gate->lock);
    struct web_config *before = gate->web;
    gate->web = web;
    (void)pthread_rwlock_unlock(&gate->lock);
    web_config_free(before);
    return true;
}

static bool web_has_changed(const struct gate *gate)
{
    struct stat now;
    if (gate->config.web_file[0] == '\0' || stat(gate->config.web_file, &now) != 0)
        return false; /* missing for a moment: being replaced */
    return now.st_ino != gate->web_stat.st_ino || now.st_size != gate->web_stat.st_size ||
           now.st_mtim.tv_sec != gate->web_stat.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != gate->web_stat.st_mtim.tv_nsec;
}

void gate_tick(struct gate *gate)
{
    struct err err = {0};
    if (!web_has_changed(gate) && (gate->tls == NULL || !http_tls_has_changed(gate->tls)))
        return;
    if (gate_reload(gate, &err))
        LOG(INFO, "certificates_reloaded",
            FIELD_TEXT(TEXT, "new connections use the new certificate"));
    else
        LOG(ERROR, "certificates_refused", FIELD_TEXT(ERROR, err.text),
            FIELD_TEXT(TEXT, "the old ones are used"));
}

/* ---- lifecycle ---- */

/* The short name and the full one, if this machine knows it without asking DNS. */
static void read_own_names(struct gate *gate)
{
    char name[ACCESS_TEXT_MAX] = "";
    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
        return;
    TEXT_SET(gate->own_names[0], name);
    char *dot = strchr(name, '.');
    if (dot != NULL) {
        *dot = '\0';
        TEXT_SET(gate->own_names[1], name);
    }
}

struct gate *gate_new(const struct access_config *config, const char *state_dir,
                      const struct clock *clock, struct err *err)
{
    struct gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the listeners");
        return NULL;
    }
    (void)pthread_rwlock_init(&gate->lock, NULL);
    gate->config = *config;
    gate->clock = clock;
    TEXT_SET(gate->state_dir, state_dir == NULL ? "" : state_dir);
    read_own_names(gate);
    gate->password = password_new(err);
    if (gate->password != NULL && read_web(gate, &gate->web, err) &&
        gate_settle_listeners(gate, err) && gate_open_tls(gate, err))
        return gate;
    gate_free(gate);
    return NULL;
}

void gate_free(struct gate *gate)
{
    if (gate == NULL)
        return;
    http_tls_free(gate->tls);
    password_free(gate->password);
    web_config_free(gate->web);
    free(gate->tokens);
    (void)pthread_rwlock_destroy(&gate->lock);
    free(gate);
}

struct http_tls *gate_tls(struct gate *gate)
{
    return gate->tls;
}

const struct access_config *gate_config(const struct gate *gate)
{
    return &gate->config;
}
