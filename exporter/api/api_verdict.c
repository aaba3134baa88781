/* api_verdict.c - the verdict on a migration with its evidence. From the snapshot while it has the
 * migration, else from the store. */
#include "analyzer/record/recorded.h"
#include "exporter/api/api.h"
#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

static void add_envelope(struct json_object *document, const char *ns, const char *name,
                         const char *guest)
{
    json_add_text(document, "apiVersion", "ferry.internal/v1");
    json_add_text(document, "kind", "Verdict");
    struct json_object *metadata = json_add_object(document, "metadata");
    json_add_text(metadata, "namespace", ns);
    json_add_text(metadata, "name", name);
    json_add_text(document, "vmiName", guest);
}

static void reply_verdict(struct http_reply *reply, const struct verdict_rows *verdict_rows,
                          const char *ns, const char *name, const char *guest)
{
    struct json_object *document = recorded_json(verdict_rows, name);
    add_envelope(document, ns, name, guest);
    reply_json(reply, 200, document);
}

static void reply_not_judged(struct http_reply *reply, const char *name, bool has_ended)
{
    struct err err = {0};
    (void)err_set(&err, ERR_NOT_FOUND, "%s has no verdict yet: %s", name,
                  has_ended ? "it has just ended; try again" : "it has not ended");
    reply_err(reply, &err, KIND_MIGRATION, name);
}

struct found {
    bool is_there;
    char uid[SNAPSHOT_UID_MAX], ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX], guest[HV_NAME_MAX];
    bool has_ended;
};

static bool take_job(void *ctx, const struct store_job *row)
{
    struct found *found = ctx;
    found->is_there = true;
    TEXT_SET(found->uid, row->uid);
    TEXT_SET(found->ns, row->ns);
    TEXT_SET(found->name, row->name);
    TEXT_SET(found->guest, row->guest_name);
    found->has_ended = row->result.outcome[0] != '\0';
    return true;
}

static void reply_stored(const struct api_call *call, struct http_reply *reply)
{
    struct store *store = call->x->store;
    const struct http_request *http = call->request;
    struct found found = {0};
    struct verdict_rows *verdict_rows = NULL;
    struct err err = {0};
    if (store == NULL) {
        reply_not_found(reply, KIND_MIGRATION, http->name);
    } else if (!store->ops->find_job(store, http->ns, http->name, take_job, &found, &err) ||
               (found.is_there && !verdict_rows_load(store, found.uid, &verdict_rows, &err))) {
        reply_err(reply, &err, KIND_MIGRATION, http->name);
    } else if (!found.is_there || !api_may_see(http, found.ns)) {
        reply_not_found(reply, KIND_MIGRATION, http->name);
    } else if (verdict_rows == NULL) {
        reply_not_judged(reply, found.name, found.has_ended);
    } else {
        reply_verdict(reply, verdict_rows, found.ns, found.name, found.guest);
    }
    verdict_rows_unref(verdict_rows);
}

void serve_verdict(const struct api_call *call, struct http_reply *out_reply)
{
    const struct http_request *http = call->request;
    const struct snapshot_job *job =
        call->snapshot != NULL ? snapshot_find_job(call->snapshot, http->ns, http->name) : NULL;
    if (job == NULL)
        reply_stored(call, out_reply);
    else if (job->result.verdict == NULL)
        reply_not_judged(out_reply, job->name, phase_is_final(job->phase));
    else
        reply_verdict(out_reply, job->result.verdict, job->ns, job->name, job->guest_name);
}
