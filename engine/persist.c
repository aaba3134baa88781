/* persist.c - see persist.h. */
#include "engine/persist.h"

#include <string.h>

#include "base/log.h"
#include "base/text.h"

void persist_job(struct store *store, const struct job *job)
{
    struct store_job row = {
        .uid = job->uid,
        .ns = job->ns,
        .name = job->name,
        .guest_uuid = job->guest_uuid,
        .guest_name = job->guest_name,
        .source_node = job->source,
        .target_node = job->target,
        .wanted_node = job->wanted,
        .phase = phase_name(job->phase),
        .mode = mode_name(job->mode),
        .requester = job->requester,
        .priority = priority_name(job->priority),
        .abort_status = abort_status_name(job->abort_status),
        .abort_requester = job->abort_requester,
        .abort_why = job->abort_why,
        .failure_reason = job->failure_reason,
        .outcome = outcome_name(job->outcome),
        .guest_at = job->phase == PHASE_PENDING ? "" : guest_at_name(job->guest_at),
        .metadata_json = job->metadata_json,
        .resolving = job->resolving,
        .recovering = job->recovering,
        .adopted = job->adopted,
        .epoch = job->epoch,
        .resource_version = (int64_t)job->version,
        .bandwidth_mibs = (int64_t)job->bandwidth_mibs,
        .flags = (int64_t)job->flags,
        .created_ms = job->created_ms,
        .handed_off_ms = job->handed_off_ms,
        .started_ms = job->started_ms,
        .ended_ms = job->ended_ms,
        .delete_asked_ms = job->delete_asked_ms,
        .removed = job->remove_when_final,
        .error_hv_code = job->error.hv_code,
        .error_hv_domain = job->error.hv_domain,
        .error_text = job->error.text,
    };
    store->ops->put_job(store, &row);
}

static void put_step(struct store *store, const struct effect *effect)
{
    const bool first = effect->of.step.from == PHASE_NONE;
    struct store_transition row = {
        .job_uid = effect->job_uid,
        .from = phase_name(effect->of.step.from),
        .to = phase_name(effect->of.step.to),
        .why = first ? "accepted" : trigger_name(effect->of.step.why),
        .seq = effect->of.step.seq,
        .at_ms = effect->wall_ms,
        .spent_ms = effect->of.step.spent_ms,
    };
    store->ops->put_transition(store, &row);
}

static void put_event(struct store *store, const struct fleet *f, const struct effect *effect)
{
    struct job *job = NULL;
    HASH_FIND_STR(f->jobs, effect->job_uid, job);
    struct store_event row = {
        .kind = "VirtualMachineInstanceMigration",
        .ns = job != NULL ? job->ns : "",
        .name = job != NULL ? job->name : "",
        .uid = effect->job_uid,
        .type = effect->of.event.warning ? "Warning" : "Normal",
        .reason = effect->of.event.reason,
        .message = effect->of.event.message,
        .at_ms = effect->wall_ms,
    };
    store->ops->put_event(store, &row);
}

static void put_sighting(struct store *store, const struct effect *effect)
{
    const struct hv_sight *sight = &effect->of.sighting.sight;
    bool present = sight->presence == HV_PRESENT;
    struct store_sighting row = {
        .job_uid = effect->job_uid,
        .node = effect->of.sighting.node,
        .role = effect->of.sighting.role,
        .presence = hv_presence_name(sight->presence),
        .state = present ? hv_state_name(sight->state) : "",
        .reason = present ? hv_reason_name(sight->state, sight->reason) : "",
        .moment = effect->of.sighting.moment,
        .at_ms = effect->wall_ms,
    };
    store->ops->put_sighting(store, &row);
}

static void put_intent(struct store *store, const struct effect *effect)
{
    struct store_intent row = {
        .job_uid = effect->job_uid,
        .epoch = effect->of.intent.epoch,
        .seq = effect->of.intent.seq,
        .action = effect->of.intent.action,
        .node = effect->of.intent.node,
        .status = effect->of.intent.status,
        .asked_ms = effect->of.intent.asked_ms,
        .done_ms = effect->of.intent.done_ms,
        .err = effect->of.intent.done_ms == 0 ? "" : err_name(effect->of.intent.err.code),
        .hv_code = effect->of.intent.err.hv_code,
        .hv_domain = effect->of.intent.err.hv_domain,
        .text = effect->of.intent.err.text,
    };
    store->ops->put_intent(store, &row);
}

void persist_effect(struct store *store, const struct fleet *f, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_STEP: put_step(store, effect); break;
    case EFFECT_EVENT: put_event(store, f, effect); break;
    case EFFECT_SIGHTING: put_sighting(store, effect); break;
    case EFFECT_ERROR:
        store->ops->put_error(store, &(struct store_error){
                                         .job_uid = effect->job_uid,
                                         .node = effect->of.error.node,
                                         .call = effect->of.error.call,
                                         .hv_code = effect->of.error.err.hv_code,
                                         .hv_domain = effect->of.error.err.hv_domain,
                                         .at_ms = effect->wall_ms,
                                         .text = effect->of.error.err.text,
                                     });
        break;
    case EFFECT_MODE:
        store->ops->put_mode(store, &(struct store_mode){
                                        .job_uid = effect->job_uid,
                                        .mode = mode_name(effect->of.mode.mode),
                                        .cause = effect->of.mode.cause,
                                        .at_ms = effect->wall_ms,
                                    });
        break;
    case EFFECT_INTENT: put_intent(store, effect); break;
    default: break; /* something to do, not to store */
    }
}

struct loading {
    struct store *store;
    struct fleet *fleet;
    struct job *job; /* whose rows are being read */
    struct err *err;
};

static void restore_text(struct job *job, const struct store_job *row)
{
    TEXT_SET(job->uid, row->uid);
    TEXT_SET(job->ns, row->ns);
    TEXT_SET(job->name, row->name);
    TEXT_SET(job->guest_uuid, row->guest_uuid);
    TEXT_SET(job->guest_name, row->guest_name);
    TEXT_SET(job->source, row->source_node);
    TEXT_SET(job->target, row->target_node);
    TEXT_SET(job->wanted, row->wanted_node);
    TEXT_SET(job->requester, row->requester);
    TEXT_SET(job->abort_requester, row->abort_requester);
    TEXT_SET(job->abort_why, row->abort_why);
    TEXT_SET(job->failure_reason, row->failure_reason);
    if (row->metadata_json != NULL && row->metadata_json[0] != '\0')
        job->metadata_json = strdup(row->metadata_json);
    TEXT_SET(job->error.text, row->error_text);
    job->error.hv_code = (int)row->error_hv_code;
    job->error.hv_domain = (int)row->error_hv_domain;
    job->error.code = row->error_hv_code != 0 ? ERR_HYPERVISOR : ERR_NONE;
}

/* False when the row holds a word that no table knows: a record from a future we cannot read. */
static bool restore_words(struct job *job, const struct store_job *row)
{
    job->phase = phase_from_name(row->phase);
    job->mode = mode_from_name(row->mode);
    job->abort_status = abort_status_from_name(row->abort_status);
    job->outcome = outcome_from_name(row->outcome);
    job->guest_at = row->guest_at[0] == '\0' ? GUEST_AT_UNKNOWN : guest_at_from_name(row->guest_at);
    job->abort_asked = row->abort_requester[0] != '\0';
    job->priority =
        row->priority[0] == '\0' ? PRIORITY_USER_TRIGGERED : priority_from_name(row->priority);
    return job->phase != PHASE_NONE && job->phase < PHASE_COUNT && job->mode < MODE_COUNT &&
           job->abort_status < ABORT_COUNT && job->outcome < OUTCOME_COUNT &&
           job->guest_at < GUEST_AT_COUNT && job->priority < PRIORITY_COUNT;
}

static bool add_step(void *ctx, const struct store_transition *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    enum phase phase = phase_from_name(row->to);
    if (job->n_steps < PHASE_COUNT && phase < PHASE_COUNT) {
        job->steps[job->n_steps].phase = phase;
        job->steps[job->n_steps].wall_ms = row->at_ms;
        job->n_steps++;
    }
    return true;
}

static bool add_intent(void *ctx, const struct store_intent *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    bool is_call = strcmp(row->action, "migrate") == 0;
    if (row->epoch == job->epoch && is_call && row->err[0] != '\0') {
        enum err_code code = err_from_name(row->err);
        job->error.code = code < ERR_COUNT ? code : ERR_INTERNAL;
    }
    if (row->epoch == job->epoch && row->seq > job->intent_seq)
        job->intent_seq = row->seq;
    if (row->epoch == job->epoch && strcmp(row->action, "migrate") == 0 &&
        strcmp(row->status, "open") == 0) {
        job->call_seq = row->seq;
        job->call_asked_ms = row->asked_ms;
    }
    if (row->epoch == job->epoch && strcmp(row->action, "abort") == 0 &&
        strcmp(row->status, "open") == 0) {
        job->abort_call_seq = row->seq;
        job->abort_call_asked_ms = row->asked_ms;
    }
    if (strcmp(row->action, "abort") == 0 && strcmp(row->status, "done") == 0 &&
        strcmp(row->err, "none") == 0)
        job->abort_accepted = true;
    return true;
}

/* What the two sides looked like when it ended. */
static bool add_sighting(void *ctx, const struct store_sighting *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    if (strcmp(row->moment, "outcome") != 0)
        return true;
    struct job_side *side =
        strcmp(row->role, "source") == 0 ? &job->source_side : &job->target_side;
    side->sight.presence = hv_presence_from_name(row->presence);
    if (side->sight.presence == HV_PRESENT)
        hv_state_from_names(row->state, row->reason, &side->sight.state, &side->sight.reason);
    side->seen_wall_ms = row->at_ms;
    return true;
}

static bool add_sample(void *ctx, const struct store_sample *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    job->next_sample_seq = row->seq + 1;
    job->moved = true;
    return true;
}

static bool add_job(void *ctx, const struct store_job *row)
{
    struct loading *loading = ctx;
    struct store *store = loading->store;
    OWNED(job) job = job_new(loading->err);
    if (job == NULL)
        return false;
    restore_text(job, row);
    if (!restore_words(job, row))
        return err_set(loading->err, ERR_CORRUPT, "job %s in the store: phase '%s', outcome '%s'",
                       row->uid, row->phase, row->outcome);
    job->bandwidth_mibs = (uint64_t)row->bandwidth_mibs;
    job->flags = (unsigned)row->flags;
    job->epoch = row->epoch;
    job->adopted = row->adopted;
    job->created_ms = row->created_ms;
    job->handed_off_ms = row->handed_off_ms;
    job->started_ms = row->started_ms;
    job->ended_ms = row->ended_ms;
    job->delete_asked_ms = row->delete_asked_ms;
    job->remove_when_final = row->removed;
    job->moved = job->phase == PHASE_RUNNING;
    if (phase_is_final(job->phase) && job->remove_when_final)
        return true; /* taken out of view by its owner */

    loading->job = job;
    bool unfinished = !phase_is_final(job->phase);
    if (!store->ops->each_transition(store, job->uid, add_step, loading, loading->err) ||
        !store->ops->each_intent(store, job->uid, add_intent, loading, loading->err) ||
        !store->ops->each_sighting(store, job->uid, add_sighting, loading, loading->err) ||
        (unfinished &&
         !store->ops->each_sample(store, job->uid, add_sample, loading, loading->err)))
        return false;
    if (unfinished && fleet_active_job(loading->fleet, job->guest_uuid) != NULL)
        return err_set(loading->err, ERR_CORRUPT,
                       "the store holds two unfinished jobs of guest %s; end one of them by hand",
                       job->guest_uuid);
    struct job *kept = TAKE(job);
    fleet_add_job(loading->fleet, kept);
    fleet_prune_jobs(loading->fleet, row->guest_uuid);
    return true;
}

bool persist_load(struct store *store, struct fleet *f, struct err *err)
{
    struct loading loading = {.store = store, .fleet = f, .err = err};
    return store->ops->each_job(store, false, add_job, &loading, err) && err->code == ERR_NONE;
}
