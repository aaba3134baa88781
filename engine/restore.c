/* restore.c - the store's rows back into the engine's types; see persist.h. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/objects.h"
#include "engine/data/order.h"
#include "engine/data/recovery.h"
#include "engine/incidents.h"
#include "engine/model/fleet/rejection.h"
#include "engine/model/objects/drain.h"
#include "engine/model/objects/policy.h"
#include "engine/persist.h"

struct loading {
    struct store *store;
    struct fleet *fleet;
    struct job *job;               /* the job whose rows are being read */
    struct job *found;             /* parsed, not yet in the fleet */
    struct rejections *rejections; /* memory for one job's */
    struct err *err;
};

#define GET_TEXT(detail, to, from) TEXT_SET(to, from);
#define GET_I64(detail, to, from) to = from;
#define GET_U64(detail, to, from) to = (uint64_t)from;
#define GET_UINT(detail, to, from) to = (unsigned)from;
#define GET_TIME(detail, to, from) to = from;
#define GET_BOOL(detail, to, from) to = from;
#define GET_WORD(word, to, from)                   \
    if (from[0] != '\0') {                         \
        to = JOB_WORD_FROM word(from);             \
        known = known && to < JOB_WORD_COUNT word; \
    }
#define GET_HAND(detail, to, from)

/* Plain stored fields. False when the row has a name that is in no table: a record of a later
 * version. */
static bool restore_fields(struct job *job, const struct store_job *row)
{
    bool known = row->phase[0] != '\0';
#define JOB_FIELD(at, kind, detail, member, ...) GET_##kind(detail, job->at member, row->at member)
#include "store/job_fields.def"
#undef JOB_FIELD
    return known;
}

static void restore_wait(struct job *job, const struct store_job *row)
{
    if (phase_is_final(job->phase)) {
        job->wait.at_end = job->wait.pending;
        job->wait.pending = PENDING_NONE;
    }
    job->wait.since_ms = row->wait.since_ms;
    /* The deadline stays where it was. */
    job->wait.waited_ms[job->wait.pending] = row->wait.waited_before_ms;
}

/* Fields of kind HAND, except for objects, and what follows from them. False as above. */
static bool restore_by_hand(struct job *job, const struct store_job *row)
{
    job->wait.pending = pending_from_name(row->wait.pending);
    if (row->resolution.guest_at[0] != '\0')
        job->resolution.guest_at = guest_at_from_name(row->resolution.guest_at);
    if (job->wait.pending >= PENDING_COUNT || job->resolution.guest_at >= GUEST_AT_COUNT)
        return false;
    restore_wait(job, row);
    job->abort.asked = job->abort.requester[0] != '\0';
    job->call.moved = job->phase == PHASE_RUNNING;
    recovery_read_unsafe(job, row->recovery.unsafe);
    job_error_set(&job->result.error, row->result.error_hv_code != 0 ? ERR_HYPERVISOR : ERR_NONE,
                  row->result.error_text);
    job->result.error.hv_code = (int)row->result.error_hv_code;
    job->result.error.hv_domain = (int)row->result.error_hv_domain;
    job->final.known = job->final.from[0] != '\0';
    job->forecast.made = row->forecast.percent >= 0;
    job->forecast.percent = job->forecast.made ? (int)row->forecast.percent : 0;
    return true;
}

static bool add_step(void *ctx, const struct store_transition *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    enum phase phase = phase_from_name(row->to);
    if (job->history.n_steps < PHASE_COUNT && phase < PHASE_COUNT) {
        job->history.steps[job->history.n_steps].phase = phase;
        job->history.steps[job->history.n_steps].wall_ms = row->at_ms;
        job->history.n_steps++;
    }
    return true;
}

/* Its answer cannot come any more: no number. */
static void restore_order(const struct store_intent *row, enum intent_kind kind,
                          struct job_order *out_order)
{
    *out_order = (struct job_order){.epoch = row->epoch,
                                    .seq = row->seq,
                                    .asked_ms = row->asked_ms,
                                    .first_ms = row->first_ms,
                                    .times = (unsigned)row->times,
                                    .kind = kind};
    TEXT_SET(out_order->node, row->node);
    TEXT_SET(out_order->argument, row->argument);
}

/* An order whose answer was lost with the process that gave it: closed when the job is adopted. */
static void add_left(struct job *job, const struct store_intent *row)
{
    enum { LEFT_MAX = 16 };
    enum intent_kind kind = intent_kind_from_name(row->action);
    if (kind == INTENT_MIGRATE || strcmp(row->status, "open") != 0 || phase_is_final(job->phase) ||
        job->resolution.n_left >= LEFT_MAX)
        return;
    if (job->resolution.left == NULL)
        job->resolution.left = calloc(LEFT_MAX, sizeof *job->resolution.left);
    if (job->resolution.left == NULL)
        return;
    struct job_stale_order *left = &job->resolution.left[job->resolution.n_left++];
    restore_order(row, kind, &left->order);
    if (kind == INTENT_COUNT) {
        TEXT_SET(left->unknown, row->action); /* closed under its own name */
        LOG(WARN, "intent_not_known", FIELD_TEXT(MIGRATION, job->name),
            FIELD_TEXT(CALL, row->action));
    }
}

/* An order of that kind that was not refused: it worked, or its result is not known. */
static bool may_have_worked(const struct store_intent *row, enum intent_kind kind)
{
    enum err_code code = err_from_name(row->err);
    bool refused = strcmp(row->status, "done") == 0 && code != ERR_NONE;
    return intent_kind_from_name(row->action) == kind && !refused;
}

static bool add_intent(void *ctx, const struct store_intent *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    enum intent_kind kind = intent_kind_from_name(row->action);
    add_left(job, row);
    if (may_have_worked(row, INTENT_START_POSTCOPY)) /* the guest may run on the target by itself */
        job->stream.postcopy_ordered = true;
    if (row->epoch == job->epoch && kind == INTENT_MIGRATE && row->err[0] != '\0') {
        enum err_code code = err_from_name(row->err);
        job->result.error.code = code < ERR_COUNT ? code : ERR_INTERNAL;
    }
    if (row->epoch == job->epoch && row->seq > job->intent_seq)
        job->intent_seq = row->seq;
    if (row->epoch == job->epoch && kind == INTENT_MIGRATE && strcmp(row->status, "open") == 0)
        restore_order(row, kind, &job->orders[ORDER_MIGRATE]);
    bool worked = strcmp(row->status, "done") == 0 && strcmp(row->err, "none") == 0;
    if (kind == INTENT_STOP_BACKUP) { /* not answered: an observation of the guest decides */
        job->placement.backup_aborted = job->placement.backup_aborted || worked;
        job->placement.backup_asked =
            job->placement.backup_asked || worked || err_from_name(row->err) == ERR_HYPERVISOR;
    }
    bool stops = kind == INTENT_ABORT ||
                 (kind == INTENT_YANK && job->times.delete_asked_ms > 0 &&
                  row->asked_ms >=
                      job->times.delete_asked_ms); /* where an abort would have frozen the guest */
    if (stops && worked)
        job->abort.accepted = true;
    if (may_have_worked(row, INTENT_SUSPEND)) /* a guest that Ferry paused is Ferry's to resume */
        job->monitor.stopped_by_us = true;
    if (kind == INTENT_RESUME && worked)
        job->monitor.stopped_by_us = false;
    return true;
}

/* The observations of the two sides at its end. */
static bool add_observation(void *ctx, const struct store_observation *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    if (strcmp(row->moment, "outcome") != 0)
        return true;
    struct job_side *side = strcmp(row->role, "source") == 0 ? &job->resolution.source_side
                                                             : &job->resolution.target_side;
    side->observation.presence = hv_presence_from_name(row->presence);
    if (side->observation.presence == HV_PRESENT)
        hv_state_from_names(row->state, row->reason, &side->observation.state,
                            &side->observation.reason);
    side->seen_wall_ms = row->at_ms;
    return true;
}

/* Counters of the monitor; its state is with the job. */
static bool add_decision(void *ctx, const struct store_decision *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    enum decision decision = decision_from_name(row->decision);
    job->monitor.decisions_before = row->seq;
    if (row->shadow || decision >= DECISION_COUNT) /* COUNT: of another version, not shown */
        return true;
    job->monitor.decision = (int)decision;
    job->monitor.decision_ms = row->at_ms;
    TEXT_SET(job->monitor.decision_text, row->text);
    return true;
}

static bool add_sample(void *ctx, const struct store_sample *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    job->monitor.next_sample_seq = row->seq + 1;
    job->call.moved = true;
    return true;
}

static bool add_monitor_input(void *ctx, const struct store_monitor_input *row)
{
    ((struct loading *)ctx)->job->monitor.inputs_before = row->seq;
    return true;
}

static bool add_mode(void *ctx, const struct store_mode *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    enum mode mode = mode_from_name(row->mode);
    if (mode >= MODE_COUNT || job->history.n_modes >= JOB_MODES_MAX)
        return true;
    job->history.modes[job->history.n_modes].mode = mode;
    job->history.modes[job->history.n_modes].wall_ms = row->at_ms;
    TEXT_SET(job->history.modes[job->history.n_modes].cause, row->cause);
    job->history.n_modes++;
    return true;
}

/* Parses again what was parsed when the job was accepted. */
static bool restore_objects(struct job *job, const struct store_job *row, struct err *err)
{
    if (row->request.metadata_json[0] != '\0')
        job->request.metadata_json = strdup(row->request.metadata_json);
    if (row->request.volumes_json[0] != '\0')
        job->request.volumes_json = strdup(row->request.volumes_json);
    migration_config_restore(row->call.config_json, &job->call.config);
    if (row->monitor.json[0] != '\0')
        job->monitor.json = strdup(row->monitor.json);
    admission_read_annotations(job);
    struct err what = {0};
    return labels_parse(row->request.selector_json, "addedNodeSelector",
                        &job->request.added_selector, &what) ||
           err_set(err, ERR_CORRUPT, "job %s in the store: %.200s", row->uid, what.text);
}

static bool add_rejection(void *ctx, const struct store_rejection *row)
{
    struct rejections *all = ((struct loading *)ctx)->rejections;
    enum reject why = reject_from_name(row->reason);
    if (why >= REJECT_COUNT || all->n >= COUNT(all->list))
        return true;
    struct rejection *one = &all->list[all->n++];
    TEXT_SET(one->node, row->node);
    TEXT_SET(one->detail, row->detail);
    one->why = why;
    all->counts[why]++;
    all->n_nodes++;
    all->at_ms = row->at_ms;
    return true;
}

static bool load_rejections(struct loading *loading, struct job *job)
{
    struct rejections *all = loading->rejections;
    memset(all, 0, sizeof *all);
    if (!loading->store->ops->each_rejection(loading->store, job->uid, add_rejection, loading,
                                             loading->err))
        return false;
    if (all->n == 0)
        return true;
    size_t bytes = offsetof(struct rejections, list) + all->n * sizeof all->list[0];
    job->placement.rejections = malloc(bytes);
    if (job->placement.rejections == NULL)
        return err_set(loading->err, ERR_NOMEM, "out of memory: migration job");
    memcpy(job->placement.rejections, all, bytes);
    return true;
}

/* The rows of a job. */
static bool read_records(struct loading *loading, struct job *job)
{
    struct store *store = loading->store;
    struct err *err = loading->err;
    bool unfinished = !phase_is_final(job->phase);
    loading->job = job;
    return store->ops->each_transition(store, job->uid, add_step, loading, err) &&
           store->ops->each_intent(store, job->uid, add_intent, loading, err) &&
           store->ops->each_mode(store, job->uid, add_mode, loading, err) &&
           store->ops->each_observation(store, job->uid, add_observation, loading, err) &&
           store->ops->each_decision(store, job->uid, add_decision, loading, err) &&
           load_rejections(loading, job) &&
           (!unfinished ||
            (store->ops->each_sample(store, job->uid, add_sample, loading, err) &&
             store->ops->each_monitor_input(store, job->uid, add_monitor_input, loading, err)));
}

/* NULL with err: the row, or one of its rows, cannot be read. */
static struct job *read_job(struct loading *loading, const struct store_job *row)
{
    OWNED(job) job = job_new(loading->err);
    if (job == NULL)
        return NULL;
    if (!restore_fields(job, row) || !restore_by_hand(job, row)) {
        (void)err_set(loading->err, ERR_CORRUPT, "job %s in the store: phase '%s', outcome '%s'",
                      row->uid, row->phase, row->result.outcome);
        return NULL;
    }
    if (!restore_objects(job, row, loading->err) || !read_records(loading, job))
        return NULL;
    return TAKE(job);
}

/* ---- what cannot be read ---- */

static bool add_any_step(void *ctx, const struct store_transition *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    enum phase phase = phase_from_name(row->to);
    if (job->history.n_steps >= PHASE_COUNT)
        return true;
    job->history.steps[job->history.n_steps].phase = phase < PHASE_COUNT ? phase : job->phase;
    job->history.steps[job->history.n_steps++].wall_ms = row->at_ms;
    return true;
}

static bool add_any_intent(void *ctx, const struct store_intent *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    if (row->epoch == job->epoch && row->seq > job->intent_seq)
        job->intent_seq = row->seq;
    return true;
}

/* A number of a row that may be damaged; 0: it cannot be that. */
static uint64_t plausible(int64_t number, int64_t most)
{
    return number > 0 && number <= most ? (uint64_t)number : 0;
}

/* Holds the guest, so that nothing is done with it, until an operator says where it is. What is
 * certain is taken over: whether it was handed off, and the numbers that the next rows go on from.
 */
static struct job *stand_in(struct loading *loading, const struct store_job *row)
{
    enum { RESERVED_VCPUS_MAX = 1 << 16 };
    const int64_t RESERVED_KIB_MAX = INT64_C(1) << 36; /* 64 TiB */
    OWNED(job) job = job_new(loading->err);
    if (job == NULL)
        return NULL;
    TEXT_SET(job->uid, row->uid);
    TEXT_SET(job->ns, row->ns);
    TEXT_SET(job->name, row->name);
    TEXT_SET(job->guest_uuid, row->guest_uuid);
    TEXT_SET(job->guest_name, row->guest_name);
    TEXT_SET(job->source, row->source);
    TEXT_SET(job->target, row->target);
    job->epoch = row->epoch;
    job->times.created_ms = row->times.created_ms;
    job->request.arrival = row->request.arrival;
    job->resolution.guest_at = GUEST_AT_UNKNOWN;
    bool handed_off = row->epoch > 0 && row->source[0] != '\0' && row->target[0] != '\0';
    job->phase = handed_off ? PHASE_RUNNING : PHASE_PENDING;
    if (handed_off) { /* the guest may be there: its reservation stays too */
        job->placement.launcher = LAUNCHER_READY;
        job->placement.reserved_memory_kib =
            plausible(row->placement.reserved_memory_kib, RESERVED_KIB_MAX);
        job->placement.reserved_vcpus =
            plausible(row->placement.reserved_vcpus, RESERVED_VCPUS_MAX);
    }
    loading->job = job;
    struct store *store = loading->store;
    return store->ops->each_transition(store, job->uid, add_any_step, loading, loading->err) &&
                   store->ops->each_intent(store, job->uid, add_any_intent, loading, loading->err)
               ? TAKE(job)
               : NULL;
}

static void set_unreadable(struct job *job, const char *why)
{
    job->frozen = job->unreadable = true;
    heap_remove(&job->queue.wait);
    TEXT_SET(job->wait.reason, why);
}

/* Its row stays as it is. One that ended is history: it is only missing from the view. */
static bool set_aside(struct loading *loading, const struct store_job *row, const char *why)
{
    LOG(ERROR, "job_unreadable", FIELD_TEXT(MIGRATION, row->name),
        FIELD_TEXT(GUEST, row->guest_name), FIELD_TEXT(ERROR, why));
    if (row->result.outcome[0] != '\0' || row->guest_uuid[0] == '\0')
        return true;
    struct job *active = fleet_active_job(loading->fleet, row->guest_uuid);
    if (active != NULL) {
        set_unreadable(active, why);
        return true;
    }
    struct job *job = stand_in(loading, row);
    if (job == NULL)
        return false;
    set_unreadable(job, why); /* before it is queued */
    fleet_add_job(loading->fleet, job);
    return true;
}

static bool add_job(void *ctx, const struct store_job *row)
{
    struct loading *loading = ctx;
    if (!fleet_has_cell(loading->fleet, row->cell))
        return true;
    OWNED(job) job = read_job(loading, row);
    if (job == NULL && loading->err->code == ERR_CORRUPT) {
        struct err why = *loading->err;
        *loading->err = (struct err){0};
        return set_aside(loading, row, why.text);
    }
    if (job == NULL)
        return false;
    if (phase_is_final(job->phase) && job->request.remove_when_final)
        return true; /* removed by its owner */
    struct job *other = job_is_observed(job) ? fleet_observed_job(loading->fleet, job->guest_uuid)
                                             : fleet_active_job(loading->fleet, job->guest_uuid);
    if (!phase_is_final(job->phase) && other != NULL) {
        char why[JOB_REASON_MAX];
        (void)snprintf(why, sizeof why,
                       "the store has two unfinished jobs of the guest: %.200s "
                       "and %.200s",
                       other->name, job->name);
        return set_aside(loading, row, why);
    }
    struct job *kept = TAKE(job);
    fleet_add_job(loading->fleet, kept);
    fleet_prune_jobs(loading->fleet, row->guest_uuid);
    return true;
}

static bool keep_job(void *ctx, const struct store_job *row)
{
    struct loading *loading = ctx;
    loading->found = read_job(loading, row);
    return loading->found != NULL;
}

bool persist_read_job(struct store *store, struct fleet *f, const char *uid, struct job **out_job,
                      struct err *err)
{
    struct loading loading = {
        .store = store, .fleet = f, .rejections = f->queue.scratch, .err = err};
    if (!store->ops->find_job(store, "", uid, keep_job, &loading, err) || err->code != ERR_NONE)
        return false;
    *out_job = loading.found;
    return true;
}

static struct object *object_of(const struct store_object *row)
{
    struct object *object = calloc(1, sizeof *object);
    if (object == NULL)
        return NULL;
    object->kind = object_kind_from_name(row->kind);
    TEXT_SET(object->ns, row->ns);
    TEXT_SET(object->name, row->name);
    TEXT_SET(object->uid, row->uid);
    TEXT_SET(object->requester, row->requester);
    object->created_ms = row->created_ms;
    object->stored = true;
    object->spec_json = strdup(row->spec_json);
    object->metadata_json = row->metadata_json[0] != '\0' ? strdup(row->metadata_json) : NULL;
    object->status_json = row->status_json[0] != '\0' ? strdup(row->status_json) : NULL;
    if (object->spec_json != NULL)
        return object;
    object_free(object);
    return NULL;
}

/* Another appliance's: it acts on it and may change it at any time. */
static bool is_others(struct fleet *f, const struct object *object)
{
    struct err ignored = {0};
    if (!f->marks.cells.is_shared || (object->kind != OBJECT_NODE && object->kind != OBJECT_DRAIN))
        return false;
    if (object->kind == OBJECT_NODE)
        return fleet_node(f, object->name) == NULL;
    struct drain *drain =
        drain_parse(object->spec_json, object->status_json, object->created_ms, &ignored);
    bool is_others = drain != NULL && fleet_node(f, drain->node) == NULL;
    drain_free(drain);
    return is_others;
}

/* An object that cannot be parsed is not lost: its row stays, and the log names it. */
static bool add_object(void *ctx, const struct store_object *row)
{
    struct loading *loading = ctx;
    struct object *object = object_of(row);
    if (object == NULL)
        return err_set(loading->err, ERR_NOMEM, "out of memory: object");
    struct err err = {0};
    if (is_others(loading->fleet, object)) {
        object_free(object);
        return true;
    }
    if (object->kind < OBJECT_COUNT) {
        if (objects_restore(loading->fleet, object, &err)) /* owned by the fleet, or freed */
            return true;
    } else {
        err_set(&err, ERR_CORRUPT, "unknown kind");
        object_free(object);
    }
    LOG(ERROR, "document_not_restored", FIELD_TEXT(KIND, row->kind), FIELD_TEXT(NAME, row->name),
        FIELD_TEXT(ERROR, err.text));
    return true;
}

/* Only for jobs in memory: the others are ever more. */
static bool load_verdict_rows(struct store *store, struct fleet *f, struct err *err)
{
    for (struct job *job = f->jobs; job != NULL; job = job->hh.next)
        if (phase_is_final(job->phase) &&
            !verdict_rows_load(store, job->uid, &job->result.verdict_rows, err))
            return false;
    return true;
}

static void warn_of_retired(const struct fleet *f)
{
    for (const struct object *o = f->of_kind[OBJECT_POLICY]; o != NULL; o = o->next)
        if (o->policy->retired)
            LOG(WARN, "policy_setting_retired", FIELD_TEXT(NAME, o->name),
                FIELD_TEXT(TEXT,
                           "`" SETTING_RETIRED "` is no longer used: memory is sent directly to "
                           "the target; use `ferry hostd` to end a stalled switch-over"));
}

bool persist_load(struct store *store, struct fleet *f, struct err *err)
{
    struct loading loading = {
        .store = store, .fleet = f, .rejections = f->queue.scratch, .err = err};
    if (!store->ops->each_object(store, add_object, &loading, err))
        return false;
    warn_of_retired(f);
    return store->ops->each_recent_job(store, f->config.jobs_kept, add_job, &loading, err) &&
           err->code == ERR_NONE && load_verdict_rows(store, f, err) &&
           incidents_load(store, f, err);
}
