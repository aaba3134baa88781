/* api_subresource.c - subresources of a guest: eviction, its cancellation, KubeVirt's migrate,
 * pause, what KubeVirt has and Ferry does not, and checks. */
#include <string.h>

#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

/* ---- eviction ---- */

static bool has_annotation(struct json_object *body, const char *key, const char *wanted)
{
    struct json_object *annotations = json_at(body, "metadata.annotations"), *value = NULL;
    return json_object_is_type(annotations, json_type_object) &&
           json_object_object_get_ex(annotations, key, &value) &&
           text_equal(json_object_get_string(value), wanted);
}

/* The pod that is meant is the one that is there. */
static bool check_preconditions(const struct api_call *call, struct json_object *options,
                                struct err *err)
{
    struct api_delete_options wanted = {0};
    size_t i;
    if (options == NULL)
        return true;
    if (!api_read_preconditions(options, &wanted, err))
        return false;
    bool is_there = call->snapshot != NULL &&
                    api_find(&api_pods, call->snapshot, call->request->ns, call->request->name, &i);
    return api_check_uid(&wanted, is_there ? api_pods.uid(call->snapshot, i) : NULL, err);
}

/* policy/v1, and v1beta1 of older clients. */
static bool read_eviction(const struct api_call *call, struct eviction_request *out,
                          struct err *err)
{
    const struct http_request *http = call->request;
    OWNED(json_object) body = api_body(http, err);
    const char *version, *kind, *name, *prefix;
    bool by_body = false;
    if (body == NULL || !json_get_text(body, "apiVersion", "policy/v1", &version, err) ||
        !json_get_text(body, "kind", "Eviction", &kind, err) ||
        !api_read_names(body, http->ns, &name, &prefix, err) ||
        !api_object_or_absent(json_at(body, "deleteOptions"), "deleteOptions", err) ||
        !check_preconditions(call, json_at(body, "deleteOptions"), err) ||
        !api_dry_run_list(json_at(body, "deleteOptions.dryRun"), &by_body, err) ||
        !api_dry_run(http, &out->dry_run, err))
        return false;
    if (strcmp(kind, "Eviction") != 0 ||
        (strcmp(version, "policy/v1") != 0 && strcmp(version, "policy/v1beta1") != 0))
        return err_set(err, ERR_INVALID,
                       "expected an Eviction of policy/v1, found a %.60s of %.60s", kind, version);
    if (*name != '\0' && strcmp(name, http->name) != 0)
        return err_set(
            err, ERR_INVALID,
            "the name of the object (%.100s) does not match the name on the URL (%.100s)", name,
            http->name);
    out->dry_run = out->dry_run || by_body;
    out->descheduler = has_annotation(body, "requested-by", "sigs.k8s.io/descheduler");
    out->allow_shutdown = has_annotation(body, "ferry.internal/allow-shutdown", "true");
    return true;
}

/* False: no object can have such a name. */
static bool fill_eviction(const struct http_request *http, struct eviction_request *out)
{
    api_requester(http, out->requester);
    return text_copy(out->ns, sizeof out->ns, http->ns) &&
           text_copy(out->pod, sizeof out->pod, http->name);
}

static void evict(const struct api_call *call, const struct eviction_request *request,
                  enum api_kind kind, unsigned status, struct http_reply *reply)
{
    struct err err = {0};
    if (call->x->requests.evict(call->x->requests.ctx, request, &err))
        reply_success(reply, status);
    else if (err.code == ERR_NOT_FOUND)
        reply_not_found(reply, kind, call->request->name);
    else
        reply_err(reply, &err, kind, call->request->name);
    reply->try_again = false; /* no Retry-After: a migration takes longer */
}

void serve_evict(const struct api_call *call, struct http_reply *out_reply)
{
    struct eviction_request request = {0};
    struct err err = {0};
    if (!api_is_json(call->request, out_reply))
        return;
    if (!fill_eviction(call->request, &request))
        reply_not_found(out_reply, KIND_POD, call->request->name);
    else if (!read_eviction(call, &request, &err))
        reply_err(out_reply, &err, KIND_POD, call->request->name);
    else
        evict(call, &request, KIND_POD, 201, out_reply);
}

/* The body of a subresource that has options only; empty is fine. NULL with err. */
static struct json_object *read_options(const struct http_request *http, bool *out_dry_run,
                                        struct err *err)
{
    OWNED(json_object) body =
        http->body_bytes == 0 ? json_object_new_object() : api_body(http, err);
    bool by_body = false;
    if (body == NULL || !api_dry_run(http, out_dry_run, err) ||
        !api_dry_run_list(json_at(body, "dryRun"), &by_body, err))
        return NULL;
    *out_dry_run = *out_dry_run || by_body;
    return TAKE(body);
}

void serve_evacuate_cancel(const struct api_call *call, struct http_reply *out_reply)
{
    struct eviction_request request = {.cancel = true};
    struct err err = {0};
    OWNED(json_object) options = read_options(call->request, &request.dry_run, &err);
    if (options == NULL)
        reply_err(out_reply, &err, KIND_INSTANCE, call->request->name);
    else if (!fill_eviction(call->request, &request))
        reply_not_found(out_reply, KIND_INSTANCE, call->request->name);
    else
        evict(call, &request, KIND_INSTANCE, 200, out_reply);
}

/* ---- migrate ---- */

/* The guest must exist and run, as in KubeVirt; admission checks the rest. */
static const struct snapshot_guest *find_guest(const struct api_call *call)
{
    return call->snapshot == NULL
               ? NULL
               : snapshot_find_guest(call->snapshot, call->request->ns, call->request->name);
}

static bool migrate(const struct api_call *call, struct http_reply *reply, struct err *err)
{
    struct migration_request request = {.generate_name = "kubevirt-migrate-vm-"};
    OWNED(json_object) options = read_options(call->request, &request.dry_run, err);
    OWNED(json_object) rest = NULL;
    if (options == NULL || !api_read_selector(json_at(options, "addedNodeSelector"),
                                              "addedNodeSelector", &request, &rest, err))
        return false;
    api_requester(call->request, request.requester);
    TEXT_SET(request.ns, call->request->ns);
    TEXT_SET(request.guest_name, call->request->name);
    return api_ask_migration(call, &request, 202, reply, err);
}

void serve_migrate(const struct api_call *call, struct http_reply *out_reply)
{
    const struct snapshot_guest *guest = find_guest(call);
    struct err err = {0};
    if (guest == NULL) {
        reply_not_found(out_reply, KIND_INSTANCE, call->request->name);
    } else if (!api_guest_runs(guest)) {
        (void)err_set(&err, ERR_REFUSED, "VM is not running");
        reply_err(out_reply, &err, KIND_INSTANCE, call->request->name);
    } else if (!migrate(call, out_reply, &err)) {
        reply_err(out_reply, &err, KIND_INSTANCE, call->request->name);
    }
}

/* ---- pause ---- */

static void serve_pausing(const struct api_call *call, enum override_kind kind,
                          struct http_reply *reply)
{
    struct resolve_request request = {.kind = kind};
    struct err err = {0};
    const struct http_request *http = call->request;
    OWNED(json_object) options = read_options(http, &request.dry_run, &err);
    api_requester(http, request.requester);
    if (options == NULL)
        reply_err(reply, &err, KIND_INSTANCE, http->name);
    else if (!text_copy(request.ns, sizeof request.ns, http->ns) ||
             !text_copy(request.name, sizeof request.name, http->name))
        reply_not_found(reply, KIND_INSTANCE, http->name);
    else if (call->x->requests.resolve(call->x->requests.ctx, &request, &err))
        reply_success(reply, 202);
    else if (err.code == ERR_NOT_FOUND)
        reply_not_found(reply, KIND_INSTANCE, http->name);
    else
        reply_err(reply, &err, KIND_INSTANCE, http->name);
}

void serve_pause(const struct api_call *call, struct http_reply *out_reply)
{
    serve_pausing(call, RESOLVE_PAUSE, out_reply);
}

void serve_unpause(const struct api_call *call, struct http_reply *out_reply)
{
    serve_pausing(call, RESOLVE_UNPAUSE, out_reply);
}

/* ---- what KubeVirt has and Ferry does not ---- */

/* "/apis/subresources.kubevirt.io/v1/namespaces/NS/KIND/NAME/SUBRESOURCE". */
const char *api_unsupported(const char *path)
{
    static const struct {
        const char *name, *why;
    } rows[] = {
#define UNSUPPORTED(name, why) {name, name ": " why},
#include "exporter/api/unsupported.def"
#undef UNSUPPORTED
    };
    static const char head[] = "/apis/subresources.kubevirt.io/v1/namespaces/";
    if (!text_has_prefix(path, head))
        return NULL;
    const char *at = path + sizeof head - 1;
    for (unsigned part = 0; part < 3; part++) {
        at = strchr(at, '/');
        if (at == NULL)
            return NULL;
        at++;
    }
    size_t n = strcspn(at, "/");
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, at, n) == 0)
            return rows[i].why;
    return NULL;
}

/* ---- check ---- */

static bool check(const struct api_call *call, struct json_object *body, struct http_reply *reply,
                  struct err *err)
{
    static const char *const known[] = {"vmiName", "node", "measureSeconds"};
    struct json_object *spec = json_at(body, "spec");
    struct question question = {.kind = QUESTION_CHECK};
    const char *guest, *node;
    int64_t measure_s;
    if (!api_check_type(body, KIND_CHECK, err) || !api_namespace_is_valid(call->request->ns, err) ||
        !api_object_or_absent(spec, "spec", err) ||
        (spec != NULL &&
         !api_only_known(spec, "spec.", API_WORDS(known), (struct api_words){0}, err)) ||
        !json_get_text(body, "spec.vmiName", "", &guest, err) ||
        !json_get_text(body, "spec.node", "", &node, err) ||
        !json_get_i64(body, "spec.measureSeconds", 0, &measure_s, err))
        return false;
    if (measure_s < 0 || measure_s > CHECK_MEASURE_MAX_S)
        return err_set(err, ERR_UNPROCESSABLE, "spec.measureSeconds: not within 0 and %d",
                       (int)CHECK_MEASURE_MAX_S);
    question.measure_s = (unsigned)measure_s;
    if (*guest == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "spec.vmiName: vmiName is missing");
    TEXT_SET(question.ns, call->request->ns);
    if (!text_copy(question.name, sizeof question.name, guest) ||
        !text_copy(question.wanted, sizeof question.wanted, node))
        return err_set(err, ERR_NOT_FOUND, "no object has a name that long");
    OWNED_TEXT text = NULL;
    if (!call->x->requests.ask(call->x->requests.ctx, &question, &text, err))
        return false;
    const struct api_kind_row *row = api_kind_row(KIND_CHECK);
    struct json_object *out = json_object_new_object();
    json_add_text(out, "apiVersion", row->api_version);
    json_add_text(out, "kind", row->kind);
    json_add_text(json_add_object(out, "metadata"), "namespace", call->request->ns);
    json_add(out, "spec", json_object_get(spec));
    json_add(out, "status", api_object_from(text, NULL));
    reply_json(reply, 201, out);
    return true;
}

void serve_check(const struct api_call *call, struct http_reply *out_reply)
{
    api_serve_create(call, check, out_reply);
}
