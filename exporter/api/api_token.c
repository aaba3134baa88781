/* api_token.c - bearer tokens: made with a secret that is shown once, listed without it, deleted.
 * Only the hash of the secret is stored (exporter/access/tokens.h). */
#include <string.h>

#include "base/human.h"
#include "exporter/access/tokens.h"
#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

static size_t count(const struct snapshot *s)
{
    return s->n_objects;
}
static const char *name(const struct snapshot *s, size_t i)
{
    return s->objects[i]->name;
}
static const char *uid(const struct snapshot *s, size_t i)
{
    return s->objects[i]->uid;
}
static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    return api_documents_are_same(a->objects[i], b->objects[j]);
}
static bool is_token(const struct snapshot *s, size_t i)
{
    return s->objects[i]->kind == OBJECT_TOKEN;
}
static struct json_object *labels(const struct snapshot *s, size_t i)
{
    return api_object_from(s->objects[i]->metadata_json, "labels");
}

static int64_t expires_of(struct json_object *spec)
{
    struct err ignored = {0};
    int64_t at_ms = 0;
    return json_get_i64(spec, "expiresMs", 0, &at_ms, &ignored) ? at_ms : 0;
}

/* Without the hash: it is of no use to a reader. */
static struct json_object *token_object(const struct snapshot *s, size_t i)
{
    const struct snapshot_object *object = s->objects[i];
    const struct api_meta meta = {"", object->name, object->uid, object->created_ms};
    struct json_object *out = json_object_new_object();
    (void)api_add_meta(out, KIND_TOKEN, &meta);
    struct json_object *spec = api_object_from(object->spec_json, NULL);
    int64_t expires_ms = expires_of(spec);
    json_object_object_del(spec, "sha256");
    json_object_object_del(spec, "expiresMs");
    if (expires_ms > 0)
        json_add_time(spec, "expires", expires_ms);
    json_add(out, "spec", spec);
    return out;
}

static void token_cells(const struct snapshot *s, size_t i, int64_t now_ms,
                        struct json_object *cells)
{
    OWNED(json_object) spec = api_object_from(s->objects[i]->spec_json, NULL);
    char left[API_SHORT_TEXT_MAX] = "never", age[API_SHORT_TEXT_MAX];
    struct err ignored = {0};
    const char *role = "", *ns = "";
    int64_t expires_ms = expires_of(spec);
    (void)json_get_text(spec, "role", "", &role, &ignored);
    (void)json_get_text(spec, "namespace", "", &ns, &ignored);
    if (expires_ms > now_ms)
        api_age_text(now_ms, expires_ms, left);
    else if (expires_ms > 0)
        (void)snprintf(left, sizeof left, "expired");
    api_age_text(s->objects[i]->created_ms, now_ms, age);
    json_add_text(cells, "", role);
    json_add_text(cells, "", ns);
    json_add_text(cells, "", left);
    json_add_text(cells, "", age);
}

const struct api_view api_tokens = {.count = count,
                                    .name = name,
                                    .uid = uid,
                                    .is_same = is_same,
                                    .labels = labels,
                                    .object = token_object,
                                    .add_cells = token_cells,
                                    .is_there = is_token};

/* ---- making one ---- */

struct wanted {
    const char *name, *role, *ns;
    int64_t expires_ms; /* wall; 0: never */
};

static bool read_expiry(const struct api_call *call, struct json_object *body, int64_t *out_ms,
                        struct err *err)
{
    int64_t seconds;
    if (!json_get_i64(body, "spec.expiresSeconds", 0, &seconds, err))
        return false;
    if (seconds < 0 || seconds > INT64_C(100) * 365 * 86400)
        return err_set(err, ERR_UNPROCESSABLE,
                       "spec.expiresSeconds: expected 1 second to 100 "
                       "years, 0 for never");
    *out_ms = seconds == 0 ? 0 : clock_wall_ms(call->x->clock) + seconds * 1000;
    return true;
}

static bool read_wanted(const struct api_call *call, struct json_object *body, struct wanted *out,
                        struct err *err)
{
    static const char *const known[] = {"role", "namespace", "expiresSeconds"};
    enum access_role role;
    const char *prefix;
    struct json_object *spec = json_at(body, "spec");
    if (!api_check_type(body, KIND_TOKEN, err) ||
        !api_read_names(body, NULL, &out->name, &prefix, err) ||
        !api_object_or_absent(spec, "spec", err))
        return false;
    if (spec == NULL || *out->name == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "%s: is missing",
                       spec == NULL ? "spec" : "metadata.name");
    if (strlen(out->name) >= ACCESS_NAME_MAX - sizeof "token")
        return err_set(err, ERR_UNPROCESSABLE, "metadata.name: at most %zu bytes",
                       ACCESS_NAME_MAX - sizeof "token" - 1);
    if (!api_only_known(spec, "spec.", API_WORDS(known), (struct api_words){0}, err) ||
        !json_get_text(spec, "role", "", &out->role, err) ||
        !json_get_text(spec, "namespace", "", &out->ns, err) ||
        (*out->ns != '\0' && !api_namespace_is_valid(out->ns, err)) ||
        !read_expiry(call, body, &out->expires_ms, err))
        return false;
    return access_role_from_name(out->role, &role) ||
           err_set(err, ERR_UNPROCESSABLE, "spec.role: '%.40s' is none of viewer, operator, admin",
                   out->role);
}

static bool check_count(const struct api_call *call, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; call->snapshot != NULL && i < call->snapshot->n_objects; i++)
        n += call->snapshot->objects[i]->kind == OBJECT_TOKEN;
    return n < TOKENS_MAX ||
           err_set(err, ERR_LIMIT, "there are %d tokens already; delete some", TOKENS_MAX);
}

static bool put(const struct api_call *call, const struct wanted *wanted, const char *hash,
                struct err *err)
{
    struct object_request request = {.kind = OBJECT_TOKEN, .must_be_new = true};
    struct migration_ref ref = {0};
    OWNED(json_object) spec = json_object_new_object();
    json_add_text(spec, "role", wanted->role);
    if (*wanted->ns != '\0')
        json_add_text(spec, "namespace", wanted->ns);
    json_add_text(spec, "sha256", hash);
    if (wanted->expires_ms != 0)
        json_add_i64(spec, "expiresMs", wanted->expires_ms);
    TEXT_SET(request.name, wanted->name);
    api_requester(call->request, request.requester);
    request.spec_json = json_object_to_json_string_ext(spec, JSON_C_TO_STRING_PLAIN);
    return call->x->requests.put(call->x->requests.ctx, &request, &ref, err);
}

static bool create(const struct api_call *call, struct json_object *body, struct http_reply *reply,
                   struct err *err)
{
    struct wanted wanted;
    char secret[TOKEN_SECRET_MAX], hash[TOKEN_HASH_MAX];
    bool dry_run;
    if (!read_wanted(call, body, &wanted, err) || !api_dry_run(call->request, &dry_run, err) ||
        !check_count(call, err))
        return false;
    if (dry_run)
        return err_set(err, ERR_UNPROCESSABLE, "dryRun: not supported for tokens");
    if (!token_make(secret, hash, err) || !put(call, &wanted, hash, err))
        return false;
    const struct api_meta meta = {.name = wanted.name};
    struct json_object *out = json_object_new_object();
    (void)api_add_meta(out, KIND_TOKEN, &meta);
    struct json_object *spec = json_add_object(out, "spec");
    json_add_text(spec, "role", wanted.role);
    if (*wanted.ns != '\0')
        json_add_text(spec, "namespace", wanted.ns);
    if (wanted.expires_ms != 0)
        json_add_time(spec, "expires", wanted.expires_ms);
    json_add_text(json_add_object(out, "status"), "token", secret); /* this once */
    explicit_bzero(secret, sizeof secret);
    reply_json(reply, 201, out);
    return true;
}

void serve_token_create(const struct api_call *call, struct http_reply *out_reply)
{
    api_serve_create(call, create, out_reply);
}
