/* persist.c - see persist.h. */
#include "engine/persist.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/data/recovery.h"
#include "engine/data/steer.h"
#include "engine/model/rejection.h"

/* What the data plane learned of it. */
static void add_move(const struct job *job, struct store_job *row)
{
    row->abort.cause = abort_cause_name(job->abort.cause);
    row->recovery.state = recovery_name(job->recovery.state);
    row->recovery.tries = job->recovery.tries;
    row->recovery.since_ms = job->recovery.since_ms;
    row->recovery.until_ms = job->recovery.until_ms;
    row->recovery.unsafe = recovery_unsafe_text(job);
    row->stream.port = job->stream.port;
    row->stream.remedy = job->stream.remedy;
    row->userpause.wished = job->userpause.wished;
    row->userpause.ran_ms = job->userpause.ran_ms;
    row->final.from = job->final.known ? job->final.from : "";
    row->final.total_ms = (int64_t)job->final.total_ms;
    row->final.downtime_ms = (int64_t)job->final.downtime_ms;
    row->final.setup_ms = (int64_t)job->final.setup_ms;
    row->final.bytes = (int64_t)job->final.bytes;
    row->final.passes = (int64_t)job->final.passes;
    row->forecast.total_ms = job->forecast.total_ms;
    row->forecast.low_ms = job->forecast.low_ms;
    row->forecast.high_ms = job->forecast.high_ms;
    row->forecast.downtime_ms = job->forecast.downtime_ms;
    row->forecast.percent = job->forecast.made ? job->forecast.percent : -1;
}

void persist_job(struct store *store, const struct job *job)
{
    bool waits = job->wait.pending != PENDING_NONE;
    OWNED(json_object) frozen = job->epoch > 0 ? migration_config_json(&job->call.config) : NULL;
    OWNED(json_object) selector = labels_json(&job->request.added_selector);
    struct store_job row = {
        .call.config_json = frozen != NULL ? json_object_to_json_string(frozen) : "",
        .request.selector_json = selector != NULL ? json_object_to_json_string(selector) : "",
        .request.policy = job->request.policy,
        .request.volumes_json = job->request.volumes_json,
        .request.evacuates = job->request.evacuates,
        .request.origin = origin_name(job->request.origin),
        .wait.pending =
            pending_name(phase_is_final(job->phase) ? job->wait.at_end : job->wait.pending),
        .wait.reason = job->wait.reason,
        .request.arrival = job->request.arrival,
        .request.requirement = (int64_t)job->request.requirement,
        .request.streak = job->request.streak,
        .wait.waited_before_ms = waits ? job->wait.waited_ms[job->wait.pending] : 0,
        .wait.since_ms = waits ? job->wait.since_ms : 0,
        .placement.launcher = launcher_name(job->placement.launcher),
        .monitor.json = phase_is_final(job->phase) ? "" : steer_json(job),
        .placement.launcher_since_ms = job->placement.launcher_since_ms,
        .placement.reserved_memory_kib = (int64_t)job->placement.reserved_memory_kib,
        .placement.reserved_vcpus = (int64_t)job->placement.reserved_vcpus,
        .placement.reserved_huge_kib = (int64_t)job->placement.reserved_huge_kib,
        .placement.reserved_bandwidth = (int64_t)job->placement.reserved_bandwidth,
        .uid = job->uid,
        .ns = job->ns,
        .name = job->name,
        .guest_uuid = job->guest_uuid,
        .guest_name = job->guest_name,
        .source = job->source,
        .target = job->target,
        .request.wanted = job->request.wanted,
        .phase = phase_name(job->phase),
        .mode = mode_name(job->mode),
        .request.requester = job->request.requester,
        .request.priority = priority_name(job->request.priority),
        .abort.status = abort_status_name(job->abort.status),
        .abort.requester = job->abort.requester,
        .abort.why = job->abort.why,
        .result.failure_reason = job->result.failure_reason,
        .result.outcome = outcome_name(job->result.outcome),
        .resolution.guest_at =
            job->phase == PHASE_PENDING ? "" : guest_at_name(job->resolution.guest_at),
        .request.metadata_json = job->request.metadata_json,
        .resolving = job->resolving,
        .recovering = job->recovering,
        .adopted = job->adopted,
        .epoch = job->epoch,
        .version = (int64_t)job->version,
        .request.bandwidth_mibs = (int64_t)job->request.bandwidth_mibs,
        .call.flags = (int64_t)job->call.flags,
        .times.created_ms = job->times.created_ms,
        .times.handed_off_ms = job->times.handed_off_ms,
        .times.started_ms = job->times.started_ms,
        .times.ended_ms = job->times.ended_ms,
        .times.delete_asked_ms = job->times.delete_asked_ms,
        .request.remove_when_final = job->request.remove_when_final,
        .result.error_hv_code = job->result.error.hv_code,
        .result.error_hv_domain = job->result.error.hv_domain,
        .result.error_text = job->result.error.text,
    };
    add_move(job, &row);
    store->ops->put_job(store, &row);
}

void persist_rejections(struct store *store, const struct job *job)
{
    const struct rejections *r = job->placement.rejections;
    store->ops->clear_rejections(store, job->uid);
    for (size_t i = 0; r != NULL && i < r->n; i++)
        store->ops->put_rejection(store, &(struct store_rejection){
                                             .job_uid = job->uid,
                                             .node = r->list[i].node,
                                             .reason = reject_name(r->list[i].why),
                                             .detail = r->list[i].detail,
                                             .for_ever = reject_is_for_ever(r->list[i].why),
                                             .at_ms = r->at_ms,
                                         });
}

void persist_object(struct store *store, struct fleet *f, const struct object *object,
                    int64_t wall_ms)
{
    if (object->removed && !object->stored)
        return; /* it was gone before anybody was told of it */
    /* Removed and written again between two commits: the new one counts. */
    if (object->removed && fleet_object(f, object->kind, object->ns, object->name) != NULL)
        return;
    struct store_object row = {
        .kind = object_kind_name(object->kind),
        .ns = object->ns,
        .name = object->name,
        .uid = object->uid,
        .requester = object->requester,
        .spec_json = object->spec_json,
        .metadata_json = object->metadata_json,
        .status_json = object->status_json,
        .created_ms = object->created_ms,
        .changed_ms = wall_ms,
        .resource_version = (int64_t)object->version,
        .removed = object->removed,
    };
    store->ops->put_object(store, &row);
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
    bool other = effect->of.event.kind != NULL;
    if (!other)
        HASH_FIND_STR(f->jobs, effect->job_uid, job);
    struct store_event row = {
        .kind = other ? effect->of.event.kind : "VirtualMachineInstanceMigration",
        .ns = job != NULL ? job->ns : effect->of.event.ns,
        .name = job != NULL ? job->name : effect->of.event.name,
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
        .action = effect_intent_name(effect),
        .node = effect->of.intent.node,
        .argument = effect->of.intent.argument,
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

static void put_decision(struct store *store, const struct effect *effect)
{
    const struct monitor_decision *is = &effect->of.decision.is;
    struct store_decision row = {
        .job_uid = effect->job_uid,
        .seq = effect->of.decision.seq,
        .at_ms = effect->wall_ms,
        .monitor = effect->of.decision.monitor,
        .shadow = effect->of.decision.shadow,
        .decision = decision_name(is->why),
        .action = monitor_action_name(is->action),
        .text = is->text,
        .downtime_ms = is->downtime_ms,
        .elapsed_ms = is->elapsed_ms,
        .budget_ms = is->budget_ms,
        .estimate_ms = is->estimate_ms,
        .remaining = (int64_t)is->remaining,
        .low_water = (int64_t)is->low_water,
        .bandwidth_bps = (int64_t)is->bandwidth_bps,
        .dirty_bps = (int64_t)is->dirty_bps,
        .iteration = (int64_t)is->iteration,
    };
    store->ops->put_decision(store, &row);
}

void persist_look(struct store *store, const struct effect *effect)
{
    struct store_look row = {
        .seq = effect->of.look.seq,
        .at_ms = effect->wall_ms,
        .elapsed_ms = effect->of.look.elapsed_ms,
        .sample_seq = effect->of.look.sample_seq,
        .stopped = effect->of.look.stopped,
        .aborting = effect->of.look.aborting,
        .resumed = effect->of.look.resumed,
        .post_copy = effect->of.look.post_copy,
        .vfio = effect->of.look.facts.vfio,
        .tuning = effect->of.look.facts.tuning,
        .memory_bytes = (int64_t)effect->of.look.facts.memory_bytes,
        .disk_bytes = (int64_t)effect->of.look.facts.disk_bytes,
    };
    TEXT_SET(row.job_uid, effect->job_uid);
    TEXT_SET(row.kind, look_kind_name(effect->of.look.kind));
    TEXT_SET(row.mode, mode_name(effect->of.look.mode));
    (void)store->ops->append_look(store, &row);
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
    case EFFECT_DECISION: put_decision(store, effect); break;
    default: break; /* something to do, not to store */
    }
}
