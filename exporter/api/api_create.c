/* api_create.c - creates and deletes migrations. */
#include <string.h>

#include "base/log.h"
#include "engine/model/settings/labels.h"
#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

enum { BANDWIDTH_MIB_MAX = 1 << 30 };

static const char bandwidth_key[] = "ferry.internal/bandwidth-mib";
static const char hostname_key[] = "kubernetes.io/hostname";

/* ---- reading the object ---- */

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
    const char *name, *prefix;
    if (!api_read_names(object, out->ns, &name, &prefix, err) ||
        !api_copy_texts(object, "labels", true, kept, err) ||
        !api_copy_texts(object, "annotations", false, kept, err) ||
        !read_bandwidth(kept, out, err) || !api_kept_text(kept, &out->metadata_json, err))
        return false;
    TEXT_SET(out->name, name);
    TEXT_SET(out->generate_name, prefix);
    return true;
}

static bool read_target(struct json_object *value, const char *path, struct migration_request *out,
                        struct err *err)
{
    if (json_object_get_string_len(value) ==
        0) /* an empty variable of a script must not mean "any node" */
        return err_set(err, ERR_UNPROCESSABLE, "%s.%s: is empty; name a node or omit it", path,
                       hostname_key);
    if (!text_copy(out->target, sizeof out->target, json_object_get_string(value)))
        return err_set(err, ERR_UNPROCESSABLE, "%s.%s: longer than %zu", path, hostname_key,
                       sizeof out->target - 1);
    return true;
}

static bool check_pair(const char *key, struct json_object *value, const char *path,
                       struct err *err)
{
    if (!json_object_is_type(value, json_type_string))
        return err_set(err, ERR_INVALID, "%s.%.100s: expected a string", path, key);
    if (!label_key_is_valid(key))
        return err_set(err, ERR_UNPROCESSABLE, "%s.%.100s: is not a valid label name", path, key);
    if (strcmp(key, hostname_key) != 0 && !label_value_is_valid(json_object_get_string(value)))
        return err_set(err, ERR_UNPROCESSABLE, "%s.%.100s: '%.100s' is not a valid label value",
                       path, key, json_object_get_string(value));
    return true;
}

bool api_read_selector(struct json_object *selector, const char *path,
                       struct migration_request *out, struct json_object **out_rest,
                       struct err *err)
{
    if (selector == NULL)
        return true;
    OWNED(json_object) rest = json_object_new_object();
    if (!api_object_or_absent(selector, path, err))
        return false;
    json_object_object_foreach(selector, key, value)
    {
        if (!check_pair(key, value, path, err))
            return false;
        if (strcmp(key, hostname_key) != 0)
            json_add(rest, key, json_object_get(value));
        else if (!read_target(value, path, out, err))
            return false;
    }
    if (json_object_object_length(rest) > 0) {
        out->selector_json = json_object_to_json_string_ext(rest, JSON_C_TO_STRING_PLAIN);
        *out_rest = TAKE(rest);
    }
    return true;
}

/* spec.ferry: fields that KubeVirt does not have. */
static bool read_extras(struct json_object *object, struct migration_request *out, struct err *err)
{
    static const char *const known[] = {"volumes"};
    struct json_object *ferry = json_at(object, "spec.ferry");
    if (ferry == NULL)
        return true;
    if (!api_object_or_absent(ferry, "spec.ferry", err) ||
        !api_only_known(ferry, "spec.ferry.", API_WORDS(known), (struct api_words){0}, err))
        return false;
    struct json_object *volumes = json_at(ferry, "volumes");
    if (volumes != NULL && !json_object_is_type(volumes, json_type_array))
        return err_set(err, ERR_INVALID, "spec.ferry.volumes: expected a list");
    if (volumes != NULL)
        out->volumes_json = json_object_to_json_string_ext(volumes, JSON_C_TO_STRING_PLAIN);
    return true;
}

static bool read_spec(struct json_object *object, struct migration_request *out,
                      struct json_object **out_rest, struct err *err)
{
    static const char *const known[] = {"vmiName", "addedNodeSelector", "priority", "ferry"};
    static const char *const later[] = {"sendTo", "receive"};
    struct json_object *spec = json_at(object, "spec");
    const char *guest, *priority;
    if (!api_object_or_absent(spec, "spec", err))
        return false;
    if (spec != NULL && !api_only_known(spec, "spec.", API_WORDS(known), API_WORDS(later), err))
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
    return read_extras(object, out, err) &&
           api_read_selector(json_at(object, "spec.addedNodeSelector"), "spec.addedNodeSelector",
                             out, out_rest, err);
}

/* ---- replies ---- */

/* The object of a job that is in no snapshot: a dry run, or one that ended and was removed at
 * once. */
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
    TEXT_SET(job->request.wanted, request->target);
    TEXT_SET(job->request.requester, request->requester);
    job->request.metadata_json = request->metadata_json;
    job->request.selector_json = request->selector_json;
    job->request.volumes_json = request->volumes_json;
    job->phase = PHASE_PENDING;
    job->times.created_ms = now_ms;
    job->progress.eta_ms = -1;
    struct json_object *object = api_job_object(job);
    free(job);
    return object;
}

bool api_ask_migration(const struct api_call *call, const struct migration_request *request,
                       unsigned status, struct http_reply *reply, struct err *err)
{
    struct migration_ref ref = {0};
    if (!call->x->requests.create(call->x->requests.ctx, request, &ref, err))
        return false;
    /* Newer than call->snapshot: published before the engine accepted. */
    const struct versions *v = exporter_versions_after(call->x);
    size_t i;
    bool is_there = v != NULL && !request->dry_run &&
                    api_find(&api_migrations, v->snapshot, ref.ns, ref.name, &i);
    reply_json(reply, status,
               is_there ? api_versioned(v, KIND_MIGRATION, i)
                        : object_of_request(request, &ref, clock_wall_ms(call->x->clock)));
    versions_unref(v);
    return true;
}

bool api_create_migration(const struct api_call *call, struct json_object *object,
                          struct http_reply *reply, struct err *err)
{
    const struct http_request *http = call->request;
    struct migration_request request = {0};
    OWNED(json_object) kept = json_object_new_object();
    OWNED(json_object) rest = NULL;
    api_requester(http, request.requester);
    TEXT_SET(request.ns, http->ns);
    return api_namespace_is_valid(http->ns, err) && api_dry_run(http, &request.dry_run, err) &&
           api_check_type(object, KIND_MIGRATION, err) &&
           read_metadata(object, kept, &request, err) && read_spec(object, &request, &rest, err) &&
           api_ask_migration(call, &request, 201, reply, err);
}

void serve_create(const struct api_call *call, struct http_reply *out_reply)
{
    api_serve_create(call, api_create_migration, out_reply);
}

/* ---- delete ---- */

/* False, with the reply filled, when the engine rejects it. */
static bool cancel(const struct api_call *call, bool remove, struct http_reply *reply)
{
    const struct http_request *http = call->request;
    struct err err = {0};
    char requester[SNAPSHOT_WHO_MAX];
    api_requester(http, requester);
    if (call->x->requests.cancel(call->x->requests.ctx, http->ns, http->name, requester, remove,
                                 &err))
        return true;
    if (err.code == ERR_NOT_FOUND)
        reply_not_found(reply, KIND_MIGRATION, http->name);
    else
        reply_err(reply, &err, KIND_MIGRATION, http->name);
    return false;
}

/* The object while the migration has not ended, else a Status. */
static void reply_now(const struct api_call *call, const char *uid, struct http_reply *reply)
{
    const struct versions *v = exporter_versions_after(call->x);
    size_t i;
    if (v != NULL &&
        api_find(&api_migrations, v->snapshot, call->request->ns, call->request->name, &i))
        reply_json(reply, 200, api_versioned(v, KIND_MIGRATION, i));
    else
        reply_deleted(reply, KIND_MIGRATION, call->request->name, uid);
    versions_unref(v);
}

void serve_delete(const struct api_call *call, struct http_reply *out_reply)
{
    const struct http_request *http = call->request;
    const struct snapshot_job *job =
        call->snapshot == NULL ? NULL : snapshot_find_job(call->snapshot, http->ns, http->name);
    struct api_delete_options options;
    struct err err = {0};
    if (!api_read_delete(http, &options, &err) ||
        !api_check_uid(&options, job == NULL ? NULL : job->uid, &err)) {
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
    struct err err = {0};
    bool dry_run = false;
    if (!api_dry_run(call->request, &dry_run, &err))
        reply_err(out_reply, &err, KIND_MIGRATION, call->request->name);
    else if (dry_run)
        serve_get(call, out_reply);
    else if (cancel(call, false, out_reply))
        reply_now(call, NULL, out_reply);
}
