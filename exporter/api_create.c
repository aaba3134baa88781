/* api_create.c - asking for a migration and cancelling one.
 *
 * A request is read strictly: a field that Ferry does not know is refused with the nearest one it
 * does know, because a field that is silently ignored is a guest moved to the wrong place.
 */
#include <string.h>

#include "base/log.h"
#include "exporter/api.h"
#include "exporter/exporter_impl.h"

enum { GENERATE_NAME_MAX = 240, BANDWIDTH_MIB_MAX = 1 << 30 };

static const char bandwidth_key[] = "ferry.internal/bandwidth-mib";
static const char hostname_key[] = "kubernetes.io/hostname";

/* Who asks: as told, printable and bounded; nothing is proven by it. */
static void read_requester(const struct http_request *request, char *out, size_t out_bytes)
{
    const char *user = http_header(request, "X-Ferry-User");
    (void)text_copy(out, out_bytes, user == NULL || *user == '\0' ? "api" : user);
    for (char *c = out; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

/* dryRun=All or nothing. */
static bool read_dry_run(const char *text, bool *out_dry_run, struct err *err)
{
    *out_dry_run = text_equal(text, "All");
    if (text != NULL && *text != '\0' && !*out_dry_run)
        return err_set(err, ERR_UNPROCESSABLE, "dryRun: '%.40s' is not supported, only All", text);
    return true;
}

/* ---- checking ---- */

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Kubernetes' name of an object: lower case letters, digits, '-' and '.'; a prefix for generated
 * names may end in '-'. */
static bool is_object_name(const char *name, size_t max, bool is_prefix)
{
    size_t n = strlen(name);
    if (n == 0 || n > max || !is_lower_alnum(name[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_lower_alnum(name[i]) && name[i] != '-' && name[i] != '.')
            return false;
    return is_prefix || is_lower_alnum(name[n - 1]);
}

static bool is_label_value(const char *value)
{
    static const char ends[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t n = strlen(value);
    if (n == 0)
        return true;
    if (n > 63 || strchr(ends, value[0]) == NULL || strchr(ends, value[n - 1]) == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strchr(ends, value[i]) == NULL && strchr("-_.", value[i]) == NULL)
            return false;
    return true;
}

/* Refuses members of `object` that are not among `known`; the second list is KubeVirt's too but
 * not here yet. */
static bool only_known(struct json_object *object, const char *path, const char *const *known,
                       size_t n_known, const char *const *later, size_t n_later, struct err *err)
{
    json_object_object_foreach(object, key, value)
    {
        (void)value;
        size_t i = 0, j = 0;
        while (i < n_known && strcmp(known[i], key) != 0)
            i++;
        if (i < n_known)
            continue;
        while (j < n_later && strcmp(later[j], key) != 0)
            j++;
        if (j < n_later)
            return err_set(err, ERR_UNPROCESSABLE, "%s%s: not supported by this version of Ferry",
                           path, key);
        const char *nearest = text_nearest(key, known, n_known);
        return err_set(err, ERR_UNPROCESSABLE, "%s%.100s: unknown field%s%s%s", path, key,
                       nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                       nearest == NULL ? "" : "'?");
    }
    return true;
}

static bool is_object_or_absent(struct json_object *value, const char *path, struct err *err)
{
    if (value == NULL || json_object_is_type(value, json_type_object))
        return true;
    return err_set(err, ERR_INVALID, "%s: expected an object", path);
}

/* ---- reading the object ---- */

static bool read_type(struct json_object *object, struct err *err)
{
    static const char *const known[] = {"apiVersion", "kind", "metadata", "spec", "status"};
    const struct api_kind_row *row = api_kind_row(KIND_MIGRATION);
    const char *version, *kind;
    if (!json_object_is_type(object, json_type_object))
        return err_set(err, ERR_INVALID, "body: expected an object");
    if (!only_known(object, "", known, COUNT(known), NULL, 0, err) ||
        !json_get_text(object, "apiVersion", row->api_version, &version, err) ||
        !json_get_text(object, "kind", row->kind, &kind, err))
        return false;
    if (strcmp(version, row->api_version) != 0 || strcmp(kind, row->kind) != 0)
        return err_set(err, ERR_INVALID, "expected a %s of %s, found a %.60s of %.60s", row->kind,
                       row->api_version, kind, version);
    return true;
}

static bool read_names(struct json_object *object, struct migration_request *out, struct err *err)
{
    const char *ns, *name, *prefix;
    if (!is_object_or_absent(json_at(object, "metadata"), "metadata", err) ||
        !json_get_text(object, "metadata.namespace", out->ns, &ns, err) ||
        !json_get_text(object, "metadata.name", "", &name, err) ||
        !json_get_text(object, "metadata.generateName", "", &prefix, err))
        return false;
    if (strcmp(ns, out->ns) != 0)
        return err_set(err, ERR_INVALID,
                       "metadata.namespace: '%.63s' is not the namespace of the request, '%s'", ns,
                       out->ns);
    if (*name != '\0' && !is_object_name(name, SNAPSHOT_NAME_MAX - 1, false))
        return err_set(err, ERR_UNPROCESSABLE,
                       "metadata.name: '%.100s': lower case letters, digits, '-' and '.', at most "
                       "253, beginning and ending with a letter or digit",
                       name);
    if (*prefix != '\0' && !is_object_name(prefix, GENERATE_NAME_MAX, true))
        return err_set(err, ERR_UNPROCESSABLE,
                       "metadata.generateName: '%.100s': lower case letters, digits, '-' and '.', "
                       "at most %d",
                       prefix, GENERATE_NAME_MAX);
    TEXT_SET(out->name, name);
    TEXT_SET(out->generate_name, prefix);
    return true;
}

/* Copies labels or annotations into `into`; every value must be text. */
static bool copy_texts(struct json_object *object, const char *what, bool are_labels,
                       struct json_object *into, struct err *err)
{
    char path[32];
    (void)snprintf(path, sizeof path, "metadata.%s", what);
    struct json_object *from = json_at(object, path);
    if (!is_object_or_absent(from, path, err))
        return false;
    if (from == NULL || json_object_object_length(from) == 0)
        return true;
    json_object_object_foreach(from, key, value)
    {
        if (!json_object_is_type(value, json_type_string))
            return err_set(err, ERR_INVALID, "%s.%.100s: expected a string", path, key);
        if (are_labels && !is_label_value(json_object_get_string(value)))
            return err_set(err, ERR_UNPROCESSABLE,
                           "%s.%.100s: at most 63 letters, digits, '-', '_' and '.'", path, key);
    }
    json_add(into, what, json_object_get(from));
    return true;
}

static bool read_bandwidth(struct json_object *metadata, struct migration_request *out,
                           struct err *err)
{
    struct json_object *value = NULL;
    int64_t mib;
    (void)json_object_object_get_ex(json_at(metadata, "annotations"), bandwidth_key, &value);
    if (value == NULL)
        return true;
    if (!text_to_i64(json_object_get_string(value), 1, BANDWIDTH_MIB_MAX, &mib))
        return err_set(err, ERR_UNPROCESSABLE,
                       "metadata.annotations.%s: '%.40s' is not a number of MiB/s from 1 on",
                       bandwidth_key, json_object_get_string(value));
    out->bandwidth_mibs = (uint64_t)mib;
    return true;
}

static bool read_metadata(struct json_object *object, struct json_object *kept,
                          struct migration_request *out, struct err *err)
{
    if (!read_names(object, out, err) || !copy_texts(object, "labels", true, kept, err) ||
        !copy_texts(object, "annotations", false, kept, err) || !read_bandwidth(kept, out, err))
        return false;
    out->metadata_json = json_object_object_length(kept) == 0
                             ? NULL
                             : json_object_to_json_string_ext(kept, JSON_C_TO_STRING_PLAIN);
    if (out->metadata_json != NULL && strlen(out->metadata_json) >= REQUEST_METADATA_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "metadata: labels and annotations over %d bytes",
                       REQUEST_METADATA_MAX);
    return true;
}

static bool read_target(struct json_object *spec, struct migration_request *out, struct err *err)
{
    static const char *const known[] = {hostname_key};
    struct json_object *selector = json_at(spec, "addedNodeSelector"), *value = NULL;
    if (!is_object_or_absent(selector, "spec.addedNodeSelector", err))
        return false;
    if (selector == NULL)
        return true;
    if (!only_known(selector, "spec.addedNodeSelector.", known, COUNT(known), NULL, 0, err))
        return false;
    if (!json_object_object_get_ex(selector, hostname_key, &value))
        return true;
    if (!json_object_is_type(value, json_type_string))
        return err_set(err, ERR_INVALID, "spec.addedNodeSelector.%s: expected a string",
                       hostname_key);
    if (json_object_get_string_len(value) == 0) /* a script's empty variable, not "anywhere" */
        return err_set(err, ERR_UNPROCESSABLE,
                       "spec.addedNodeSelector.%s: is empty; name a node or leave it out",
                       hostname_key);
    if (!text_copy(out->target, sizeof out->target, json_object_get_string(value)))
        return err_set(err, ERR_UNPROCESSABLE, "spec.addedNodeSelector.%s: longer than %zu",
                       hostname_key, sizeof out->target - 1);
    return true;
}

static bool read_spec(struct json_object *object, struct migration_request *out, struct err *err)
{
    static const char *const known[] = {"vmiName", "addedNodeSelector", "priority"};
    static const char *const later[] = {"sendTo", "receive"};
    struct json_object *spec = json_at(object, "spec");
    const char *guest, *priority;
    if (!is_object_or_absent(spec, "spec", err))
        return false;
    if (spec != NULL && !only_known(spec, "spec.", known, COUNT(known), later, COUNT(later), err))
        return false;
    if (!json_get_text(object, "spec.vmiName", "", &guest, err))
        return false;
    if (*guest == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "spec.vmiName: vmiName is missing");
    if (!text_copy(out->guest_name, sizeof out->guest_name, guest))
        return err_set(err, ERR_UNPROCESSABLE, "spec.vmiName: longer than %zu",
                       sizeof out->guest_name - 1);
    if (!json_get_text(object, "spec.priority", "", &priority, err))
        return false;
    if (!text_copy(out->priority, sizeof out->priority, priority))
        return err_set(err, ERR_UNPROCESSABLE, "spec.priority: longer than %zu",
                       sizeof out->priority - 1);
    return spec == NULL || read_target(spec, out, err);
}

/* ---- answering ---- */

/* The object of a job that no snapshot shows: a dry run, or one that ended and went at once. */
static struct json_object *object_of_request(const struct migration_request *request,
                                             const struct migration_ref *ref, int64_t now_ms)
{
    struct snapshot_job *job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    TEXT_SET(job->uid, ref->uid);
    TEXT_SET(job->ns, request->ns);
    TEXT_SET(job->name, ref->name[0] != '\0' ? ref->name : request->name);
    TEXT_SET(job->guest_name, request->guest_name);
    TEXT_SET(job->wanted, request->target);
    TEXT_SET(job->requester, request->requester);
    job->metadata_json = request->metadata_json;
    job->phase = PHASE_PENDING;
    job->created_ms = now_ms;
    job->eta_ms = -1;
    struct json_object *object = api_job_object(job);
    free(job);
    return object;
}

static void reply_created(const struct api_call *call, const struct migration_request *request,
                          const struct migration_ref *ref, struct http_reply *reply)
{
    /* Newer than call->snapshot: published before the engine said yes. */
    const struct snapshot *s = exporter_snapshot(call->x);
    const struct snapshot_job *job =
        s == NULL || request->dry_run ? NULL : snapshot_find_job(s, ref->ns, ref->name);
    reply_json(reply, 201,
               job != NULL ? api_job_object(job)
                           : object_of_request(request, ref, clock_wall_ms(call->x->clock)));
    snapshot_unref(s);
}

static bool is_json(const char *type)
{
    size_t n = type == NULL ? 0 : strcspn(type, "; ");
    return n == strlen("application/json") && strncasecmp(type, "application/json", n) == 0;
}

static bool create(const struct api_call *call, struct json_object *object,
                   struct json_object *kept, struct http_reply *reply, struct err *err)
{
    const struct http_request *http = call->request;
    struct migration_request request = {0};
    struct migration_ref ref = {0};
    read_requester(http, request.requester, sizeof request.requester);
    if (!text_is_dns_label(http->ns) || !text_copy(request.ns, sizeof request.ns, http->ns))
        return err_set(err, ERR_UNPROCESSABLE, "namespace '%.100s' is not a valid name", http->ns);
    if (!read_dry_run(http_query(http, "dryRun"), &request.dry_run, err) ||
        !read_type(object, err) || !read_metadata(object, kept, &request, err) ||
        !read_spec(object, &request, err))
        return false;
    if (!call->x->requests.create(call->x->requests.ctx, &request, &ref, err))
        return false;
    reply_created(call, &request, &ref, reply);
    return true;
}

void serve_create(const struct api_call *call, struct http_reply *out_reply)
{
    struct err err = {0};
    /* Strict for a reason: a form on a web page cannot send this type without being asked. */
    if (!is_json(http_header(call->request, "Content-Type"))) {
        reply_refusal(out_reply, 415, "the body must have Content-Type application/json");
        return;
    }
    OWNED(json_object) object =
        json_parse(call->request->body, call->request->body_bytes, "body", &err);
    OWNED(json_object) kept = json_object_new_object();
    if (object == NULL || !create(call, object, kept, out_reply, &err)) {
        const char *name = NULL;
        struct err ignored = {0};
        if (object != NULL)
            (void)json_get_text(object, "metadata.name", NULL, &name, &ignored);
        reply_err(out_reply, &err, KIND_MIGRATION, name);
    }
}

/* ---- delete ---- */

struct delete_options {
    bool dry_run;
    char uid[SNAPSHOT_UID_MAX]; /* only if it is this one; empty: any */
};

/* A list of words, as Kubernetes writes it. A wish for a dry run that is not understood is
 * refused: the other way to read it is a guest's migration stopped for real. */
static bool read_dry_runs(struct json_object *list, bool *out_dry_run, struct err *err)
{
    if (list == NULL)
        return true;
    if (!json_object_is_type(list, json_type_array))
        return err_set(err, ERR_INVALID, "dryRun: expected a list, like [\"All\"]");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *word = json_object_array_get_idx(list, i);
        const char *text = json_object_get_string(word);
        if (!read_dry_run(text == NULL || *text == '\0' ? "null" : text, out_dry_run, err))
            return false;
    }
    return true;
}

static bool read_delete_body(const struct http_request *request, struct delete_options *out,
                             struct err *err)
{
    if (request->body_bytes == 0)
        return true;
    OWNED(json_object) body = json_parse(request->body, request->body_bytes, "body", err);
    if (body == NULL)
        return false;
    const char *uid;
    if (!json_object_is_type(body, json_type_object))
        return err_set(err, ERR_INVALID, "body: expected an object");
    if (!json_get_text(body, "preconditions.uid", "", &uid, err) ||
        !read_dry_runs(json_at(body, "dryRun"), &out->dry_run, err))
        return false;
    if (!text_copy(out->uid, sizeof out->uid, uid)) /* cut, it could be another one */
        return err_set(err, ERR_REFUSED, "precondition: no migration has a uid that long");
    return true;
}

static bool check_delete(const struct api_call *call, const struct snapshot_job *job,
                         struct delete_options *out, struct err *err)
{
    if (!read_dry_run(http_query(call->request, "dryRun"), &out->dry_run, err))
        return false;
    struct delete_options body = {0};
    if (!read_delete_body(call->request, &body, err))
        return false;
    out->dry_run = out->dry_run || body.dry_run;
    if (body.uid[0] != '\0' && job != NULL && strcmp(body.uid, job->uid) != 0)
        return err_set(err, ERR_REFUSED, "precondition: the migration's uid is %s, not %s",
                       job->uid, body.uid);
    return true;
}

/* False, with the reply filled, when the engine says no. */
static bool cancel(const struct api_call *call, bool remove, struct http_reply *reply)
{
    const struct http_request *http = call->request;
    struct err err = {0};
    char requester[SNAPSHOT_WHO_MAX];
    read_requester(http, requester, sizeof requester);
    if (call->x->requests.cancel(call->x->requests.ctx, http->ns, http->name, requester, remove,
                                 &err))
        return true;
    if (err.code == ERR_NOT_FOUND)
        reply_not_found(reply, KIND_MIGRATION, http->name);
    else
        reply_err(reply, &err, KIND_MIGRATION, http->name);
    return false;
}

/* What is there now: the object while it waits for its end, else that it is gone. */
static void reply_now(const struct api_call *call, const char *uid, struct http_reply *reply)
{
    const struct snapshot *s = exporter_snapshot(call->x);
    const struct snapshot_job *job =
        s == NULL ? NULL : snapshot_find_job(s, call->request->ns, call->request->name);
    if (job != NULL)
        reply_json(reply, 200, api_job_object(job));
    else
        reply_deleted(reply, KIND_MIGRATION, call->request->name, uid);
    snapshot_unref(s);
}

void serve_delete(const struct api_call *call, struct http_reply *out_reply)
{
    const struct http_request *http = call->request;
    const struct snapshot_job *job =
        call->snapshot == NULL ? NULL : snapshot_find_job(call->snapshot, http->ns, http->name);
    struct delete_options options = {0};
    struct err err = {0};
    if (!check_delete(call, job, &options, &err)) {
        reply_err(out_reply, &err, KIND_MIGRATION, http->name);
    } else if (options.dry_run) {
        if (job == NULL)
            reply_not_found(out_reply, KIND_MIGRATION, http->name);
        else
            reply_json(out_reply, 200, api_job_object(job));
    } else if (cancel(call, true, out_reply)) {
        reply_now(call, job == NULL ? NULL : job->uid, out_reply);
    }
}

void serve_abort(const struct api_call *call, struct http_reply *out_reply)
{
    if (cancel(call, false, out_reply))
        reply_now(call, NULL, out_reply);
}
