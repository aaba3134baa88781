/* persist.c - see persist.h. */
#include "engine/persist.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/recovery.h"
#include "engine/model/fleet/rejection.h"

#define PUT_TEXT(detail, to, from) to = from;
#define PUT_I64(detail, to, from) to = from;
#define PUT_U64(detail, to, from) to = (int64_t)from;
#define PUT_UINT(detail, to, from) to = from;
#define PUT_TIME(detail, to, from) to = from;
#define PUT_BOOL(detail, to, from) to = from;
#define PUT_WORD(word, to, from) to = JOB_WORD_TEXT word(from);
#define PUT_HAND(detail, to, from)

/* The fields that are stored as they are. */
static void put_fields(const struct job *job, struct store_job *row)
{
#define JOB_FIELD(at, kind, detail, member, ...) PUT_##kind(detail, row->at member, job->at member)
#include "store/job_fields.def"
#undef JOB_FIELD
}

/* Those of kind HAND, except for documents. */
static void put_by_hand(const struct job *job, struct store_job *row)
{
    bool waits = job->wait.pending != PENDING_NONE;
    bool is_final = phase_is_final(job->phase);
    row->version = (int64_t)job->version;
    row->wait.pending = pending_name(is_final ? job->wait.at_end : job->wait.pending);
    row->wait.since_ms = waits ? job->wait.since_ms : 0;
    row->wait.waited_before_ms = waits ? job->wait.waited_ms[job->wait.pending] : 0;
    row->resolution.guest_at =
        job->phase == PHASE_PENDING ? "" : guest_at_name(job->resolution.guest_at);
    row->recovery.unsafe = recovery_unsafe_text(job);
    row->result.error_hv_code = job->result.error.hv_code;
    row->result.error_hv_domain = job->result.error.hv_domain;
    row->result.error_text = job_error_text(&job->result.error);
    row->forecast.percent = job->forecast.made ? job->forecast.percent : -1;
}

void persist_job(struct store *store, const struct job *job)
{
    bool has_config = job->epoch > 0 && !job_is_observed(job);
    OWNED(json_object) frozen = has_config ? migration_config_json(&job->call.config) : NULL;
    OWNED(json_object) selector = labels_json(&job->request.added_selector);
    struct store_job row = {
        .request.metadata_json = job->request.metadata_json,
        .request.selector_json = selector != NULL ? json_object_to_json_string(selector) : "",
        .request.volumes_json = job->request.volumes_json,
        .call.config_json = frozen != NULL ? json_object_to_json_string(frozen) : "",
        .monitor.json = phase_is_final(job->phase) ? "" : monitor_driver_json(job),
    };
    put_fields(job, &row);
    put_by_hand(job, &row);
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
        return; /* removed before it was published */
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

struct store_event persist_event(const struct fleet *f, const struct effect *effect)
{
    struct job *job = NULL;
    bool other = effect->of.event.kind != NULL;
    if (!other)
        HASH_FIND_STR(f->jobs, effect->job_uid, job);
    return (struct store_event){
        .kind = other ? effect->of.event.kind : "VirtualMachineInstanceMigration",
        .ns = job != NULL ? job->ns : effect->of.event.ns,
        .name = job != NULL ? job->name : effect->of.event.name,
        .uid = effect->job_uid,
        .type = effect->of.event.warning ? "Warning" : "Normal",
        .reason = effect->of.event.reason,
        .message = effect->of.event.message,
        .at_ms = effect->wall_ms,
    };
}

/* The reason on the guest; NULL: the event is not told there. */
static const char *guest_reason(const struct effect *effect)
{
    static const struct {
        const char *of_job, *of_guest;
    } rows[] = {{"Migrating", "Migrating"},
                {"Observed", "Migrating"},
                {"SuccessfulMigration", "Migrated"},
                {"FailedMigration", "Migrated"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (text_equal(effect->of.event.reason, rows[i].of_job))
            return rows[i].of_guest;
    return effect->of.event.warning ? effect->of.event.reason : NULL;
}

bool persist_guest_event(const struct fleet *f, const struct effect *effect,
                         char out_text[static PERSIST_TEXT_MAX], struct store_event *out_event)
{
    struct job *job = NULL;
    const char *reason = guest_reason(effect);
    if (effect->of.event.kind == NULL)
        HASH_FIND_STR(f->jobs, effect->job_uid, job);
    if (job == NULL || reason == NULL || job->guest_uuid[0] == '\0')
        return false;
    const struct involved guest = involved_guest(job->ns, job->guest_name, job->guest_uuid);
    (void)snprintf(out_text, PERSIST_TEXT_MAX, "%s: %s", job->name, effect->of.event.message);
    *out_event = persist_event(f, effect);
    out_event->kind = guest.kind;
    out_event->name = guest.name;
    out_event->uid = guest.uid;
    out_event->reason = reason;
    out_event->message = out_text;
    return true;
}

static void put_event(struct store *store, const struct fleet *f, const struct effect *effect)
{
    char text[PERSIST_TEXT_MAX];
    struct store_event row = persist_event(f, effect);
    store->ops->put_event(store, &row);
    if (persist_guest_event(f, effect, text, &row))
        store->ops->put_event(store, &row);
}

static void put_observation(struct store *store, const struct effect *effect)
{
    const struct hv_observation *observation = &effect->of.observation.observation;
    bool present = observation->presence == HV_PRESENT;
    struct store_observation row = {
        .job_uid = effect->job_uid,
        .node = effect->of.observation.node,
        .role = effect->of.observation.role,
        .presence = hv_presence_name(observation->presence),
        .state = present ? hv_state_name(observation->state) : "",
        .reason = present ? hv_reason_name(observation->state, observation->reason) : "",
        .moment = effect->of.observation.moment,
        .at_ms = effect->wall_ms,
    };
    store->ops->put_observation(store, &row);
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
        .times = effect->of.intent.times,
        .first_ms = effect->of.intent.first_ms,
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

void persist_monitor_input(struct store *store, const struct effect *effect)
{
    struct store_monitor_input row = {
        .seq = effect->of.monitor_input.seq,
        .at_ms = effect->wall_ms,
        .elapsed_ms = effect->of.monitor_input.elapsed_ms,
        .sample_seq = effect->of.monitor_input.sample_seq,
        .stopped = effect->of.monitor_input.stopped,
        .aborting = effect->of.monitor_input.aborting,
        .resumed = effect->of.monitor_input.resumed,
        .post_copy = effect->of.monitor_input.post_copy,
        .vfio = effect->of.monitor_input.facts.vfio,
        .tuning = effect->of.monitor_input.facts.tuning,
        .memory_bytes = (int64_t)effect->of.monitor_input.facts.memory_bytes,
        .disk_bytes = (int64_t)effect->of.monitor_input.facts.disk_bytes,
    };
    TEXT_SET(row.job_uid, effect->job_uid);
    TEXT_SET(row.kind, monitor_input_kind_name(effect->of.monitor_input.kind));
    TEXT_SET(row.mode, mode_name(effect->of.monitor_input.mode));
    (void)store->ops->append_monitor_input(store, &row);
}

void persist_effect(struct store *store, const struct fleet *f, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_STEP: put_step(store, effect); break;
    case EFFECT_EVENT: put_event(store, f, effect); break;
    case EFFECT_OBSERVATION: put_observation(store, effect); break;
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
    default: break; /* an action, not a record */
    }
}
