/* api_update.c - updates of a migration. Its spec and metadata are immutable: an unchanged object
 * is accepted, a change is refused with KubeVirt's message. */
#include <string.h>

#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

static const char name_label[] = "kubevirt.io/vmi-name";

static bool same(struct json_object *a, struct json_object *b)
{
    bool a_is_empty = a == NULL || (json_object_is_type(a, json_type_object) &&
                                    json_object_object_length(a) == 0);
    bool b_is_empty = b == NULL || (json_object_is_type(b, json_type_object) &&
                                    json_object_object_length(b) == 0);
    return (a_is_empty && b_is_empty) || json_object_equal(a, b);
}

/* A defaulted priority is shown, but need not be sent back. */
static bool check_spec(struct json_object *before, struct json_object *after, struct err *err)
{
    struct json_object *was = json_at(before, "spec"), *spec = json_at(after, "spec");
    bool is_same = json_object_is_type(spec, json_type_object);
    if (is_same) {
        json_object_object_foreach(was, key, value)
        {
            struct json_object *now = json_object_object_get(spec, key);
            is_same =
                is_same && (same(value, now) || (now == NULL && strcmp(key, "priority") == 0));
        }
        json_object_object_foreach(spec, word, wanted)
        {
            is_same = is_same && same(json_object_object_get(was, word), wanted);
        }
    }
    return is_same ||
           err_set(err, ERR_UNPROCESSABLE, "spec: update of Migration object's spec is restricted");
}

static bool check_metadata(struct json_object *before, struct json_object *after, bool in_flight,
                           struct err *err)
{
    static const char *const fixed[] = {"labels", "annotations", "finalizers"};
    struct json_object *was = json_at(before, "metadata"), *now = json_at(after, "metadata");
    struct json_object *old = json_object_object_get(json_at(was, "labels"), name_label);
    struct json_object *labels = now == NULL ? NULL : json_at(now, "labels"), *new = NULL;
    if (json_object_is_type(labels, json_type_object))
        new = json_object_object_get(labels, name_label);
    if (in_flight && old != NULL && !same(old, new))
        return err_set(err, ERR_UNPROCESSABLE,
                       "metadata.labels: selector label can't be %s an in-flight migration",
                       new == NULL ? "removed from" : "modified on");
    for (size_t i = 0; i < COUNT(fixed); i++)
        if (now == NULL ||
            !same(json_object_object_get(was, fixed[i]), json_object_object_get(now, fixed[i])))
            return err_set(err, ERR_UNPROCESSABLE,
                           "metadata.%s: is stored with the migration and cannot be changed",
                           fixed[i]);
    return true;
}

static bool check(struct json_object *before, struct json_object *after, const char *ns,
                  const struct snapshot_job *job, struct err *err)
{
    const char *name, *prefix, *version, *now;
    if (!api_check_type(after, KIND_MIGRATION, err) ||
        !api_read_names(after, ns, &name, &prefix, err) ||
        !json_get_text(after, "metadata.resourceVersion", "", &version, err) ||
        !json_get_text(before, "metadata.resourceVersion", "", &now, err))
        return false;
    if (strcmp(name, job->name) != 0)
        return err_set(
            err, ERR_INVALID,
            "the name of the object (%.100s) does not match the name on the URL (%.100s)", name,
            job->name);
    if (*version != '\0' && strcmp(version, now) != 0)
        return err_set(err, ERR_REFUSED,
                       "Operation cannot be fulfilled on %s \"%.100s\": the object has been "
                       "modified; please apply your changes to the latest version and try again",
                       api_kind_row(KIND_MIGRATION)->plural, job->name);
    return check_spec(before, after, err) &&
           check_metadata(before, after, !phase_is_final(job->phase), err);
}

/* patch COUNT: the body is the whole object. */
static bool update(const struct api_call *call, enum api_patch patch, struct http_reply *reply,
                   struct err *err)
{
    const struct http_request *http = call->request;
    size_t i = 0;
    bool is_there = call->snapshot != NULL &&
                    api_find(&api_migrations, call->snapshot, http->ns, http->name, &i);
    const struct snapshot_job *job = is_there ? call->snapshot->jobs[i] : NULL;
    if (job == NULL && patch != API_PATCH_APPLY) {
        reply_not_found(reply, KIND_MIGRATION, http->name);
        return true;
    }
    OWNED(json_object) before = is_there ? api_versioned(call->versions, KIND_MIGRATION, i) : NULL;
    OWNED(json_object) after = patch == API_PATCH_COUNT
                                   ? api_body(http, err)
                                   : api_patch(patch, before, http->body, http->body_bytes, err);
    bool dry_run;
    if (after == NULL || !api_dry_run(http, &dry_run, err))
        return false;
    if (job == NULL && !text_equal(api_name_in(after), http->name))
        return err_set(err, ERR_INVALID, "metadata.name: must be '%.100s', as in the URL",
                       http->name);
    if (job == NULL)
        return api_create_migration(call, after, reply, err);
    if (!check(before, after, http->ns, job, err))
        return false;
    reply_json(reply, 200, TAKE(before));
    return true;
}

static void serve(const struct api_call *call, enum api_patch patch, struct http_reply *reply)
{
    struct err err = {0};
    if (!update(call, patch, reply, &err))
        reply_err(reply, &err, KIND_MIGRATION, call->request->name);
}

void serve_migration_replace(const struct api_call *call, struct http_reply *out_reply)
{
    if (api_is_json(call->request, out_reply))
        serve(call, API_PATCH_COUNT, out_reply);
}

void serve_migration_patch(const struct api_call *call, struct http_reply *out_reply)
{
    enum api_patch patch;
    if (api_is_patch(call->request, &patch, out_reply))
        serve(call, patch, out_reply);
}
