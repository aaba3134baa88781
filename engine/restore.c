/* restore.c - the store's rows back into the engine's types; see persist.h. */
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/objects.h"
#include "engine/data/intent.h"
#include "engine/data/recovery.h"
#include "engine/incidents.h"
#include "engine/model/fleet/rejection.h"
#include "engine/model/objects/policy.h"
#include "engine/persist.h"

struct loading {
    struct store *store;
    struct fleet *fleet;
    struct job *job;               /* whose rows are being read */
    struct job *found;             /* read, and not in the fleet */
    struct rejections *rejections; /* room for one job's */
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
    if (row->volumes_json[0] != '\0')
        job->volumes_json = strdup(row->volumes_json);
    TEXT_SET(job->policy, row->policy_name);
    TEXT_SET(job->evacuates, row->evacuates);
    TEXT_SET(job->pending_reason, row->pending_reason);
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
    job->origin = row->trigger[0] == '\0' ? ORIGIN_HUMAN : origin_from_name(row->trigger);
    job->pending = pending_from_name(row->pending);
    if (job->phase < PHASE_COUNT && phase_is_final(job->phase) && job->pending < PENDING_COUNT) {
        job->ended_waiting = job->pending;
        job->pending = PENDING_NONE;
    }
    job->launcher = launcher_from_name(row->launcher);
    job->abort_cause = abort_cause_from_name(row->abort_cause);
    job->recovery.state = recovery_from_name(row->recovery);
    return job->phase != PHASE_NONE && job->phase < PHASE_COUNT && job->mode < MODE_COUNT &&
           job->abort_status < ABORT_COUNT && job->outcome < OUTCOME_COUNT &&
           job->guest_at < GUEST_AT_COUNT && job->priority < PRIORITY_COUNT &&
           job->origin < ORIGIN_COUNT && job->pending < PENDING_COUNT &&
           job->launcher < LAUNCHER_COUNT && job->abort_cause < ABORT_CAUSE_COUNT &&
           job->recovery.state < RECOVERY_COUNT;
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

/* An order whose answer died with the process that gave it: closed when the job is taken over. */
static void add_left(struct job *job, const struct store_intent *row)
{
    enum { LEFT_MAX = 16 };
    enum intent_kind kind = intent_kind_from_name(row->action);
    if (kind == INTENT_MIGRATE || kind == INTENT_ABORT || row->epoch != job->epoch ||
        strcmp(row->status, "open") != 0 || phase_is_final(job->phase) || job->n_left >= LEFT_MAX)
        return;
    if (job->left == NULL)
        job->left = calloc(LEFT_MAX, sizeof *job->left);
    if (job->left == NULL)
        return;
    struct job_left *left = &job->left[job->n_left++];
    struct job_order *order = &left->order;
    order->seq = row->seq;
    order->asked_ms = row->asked_ms;
    order->kind = kind;
    if (kind == INTENT_COUNT) {
        TEXT_SET(left->unknown, row->action); /* closed under its own name */
        LOG(WARN, "intent_not_known", FIELD_TEXT(MIGRATION, job->name),
            FIELD_TEXT(CALL, row->action));
    }
    TEXT_SET(order->node, row->node);
    TEXT_SET(order->argument, row->argument);
}

/* An order of that kind that was not refused: it worked, or nobody knows. */
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
    if (may_have_worked(row, INTENT_START_POSTCOPY)) /* it may run on the target by itself */
        job->stream.postcopy_ordered = true;
    if (row->epoch == job->epoch && kind == INTENT_MIGRATE && row->err[0] != '\0') {
        enum err_code code = err_from_name(row->err);
        job->error.code = code < ERR_COUNT ? code : ERR_INTERNAL;
    }
    if (row->epoch == job->epoch && row->seq > job->intent_seq)
        job->intent_seq = row->seq;
    if (row->epoch == job->epoch && kind == INTENT_MIGRATE && strcmp(row->status, "open") == 0) {
        job->call_seq = row->seq;
        job->call_asked_ms = row->asked_ms;
    }
    if (row->epoch == job->epoch && kind == INTENT_ABORT && strcmp(row->status, "open") == 0) {
        job->abort_call_seq = row->seq;
        job->abort_call_asked_ms = row->asked_ms;
    }
    bool worked = strcmp(row->status, "done") == 0 && strcmp(row->err, "none") == 0;
    if (kind == INTENT_STOP_BACKUP) { /* not answered: a look at the guest decides */
        job->backup_aborted = job->backup_aborted || worked;
        job->backup_asked =
            job->backup_asked || worked || err_from_name(row->err) == ERR_HYPERVISOR;
    }
    bool stops = kind == INTENT_ABORT ||
                 (kind == INTENT_YANK && job->delete_asked_ms > 0 &&
                  row->asked_ms >= job->delete_asked_ms); /* where an abort would have frozen it */
    if (stops && worked)
        job->abort_accepted = true;
    if (may_have_worked(row, INTENT_SUSPEND)) /* a pause of ours is ours to take back */
        job->stopped_by_us = true;
    if (kind == INTENT_RESUME && worked)
        job->stopped_by_us = false;
    return true;
}

/* What the two sides looked like when it ended. */
static bool add_observation(void *ctx, const struct store_observation *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    if (strcmp(row->moment, "outcome") != 0)
        return true;
    struct job_side *side =
        strcmp(row->role, "source") == 0 ? &job->source_side : &job->target_side;
    side->observation.presence = hv_presence_from_name(row->presence);
    if (side->observation.presence == HV_PRESENT)
        hv_state_from_names(row->state, row->reason, &side->observation.state,
                            &side->observation.reason);
    side->seen_wall_ms = row->at_ms;
    return true;
}

/* How far the monitor had come; its state is with the job. */
static bool add_decision(void *ctx, const struct store_decision *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    job->decisions_before = row->seq;
    if (row->shadow)
        return true;
    job->decision = (int)decision_from_name(row->decision);
    job->decision_ms = row->at_ms;
    TEXT_SET(job->decision_text, row->text);
    return true;
}

static bool add_sample(void *ctx, const struct store_sample *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    job->next_sample_seq = row->seq + 1;
    job->moved = true;
    return true;
}

static bool add_monitor_input(void *ctx, const struct store_monitor_input *row)
{
    ((struct loading *)ctx)->job->inputs_before = row->seq;
    return true;
}

static void restore_numbers(struct job *job, const struct store_job *row)
{
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
    job->order = row->arrival;
    job->requirement = (uint64_t)row->requirement;
    job->streak = (unsigned)row->streak;
    job->waits_since_ms = row->waits_since_ms;
    job->waited_ms[job->pending] = row->waited_before_ms; /* the deadline stays where it was */
    job->launcher_since_ms = row->launcher_since_ms;
    job->reserved_memory_kib = (uint64_t)row->reserved_memory_kib;
    job->reserved_vcpus = (uint64_t)row->reserved_vcpus;
    job->reserved_huge_kib = (uint64_t)row->reserved_huge_kib;
    job->reserved_bandwidth = (uint64_t)row->reserved_bandwidth;
}

/* What the data plane had learned of it. */
static void restore_move(struct job *job, const struct store_job *row)
{
    job->recovering = row->recovering;
    job->recovery.tries = (unsigned)row->recovery_tries;
    job->recovery.since_ms = row->recovery_since_ms;
    job->recovery.until_ms = row->recovery_until_ms;
    recovery_read_unsafe(job, row->recovery_unsafe);
    job->stream.port = (unsigned)row->stream_port;
    TEXT_SET(job->stream.remedy, row->remedy_text);
    job->userpause.requested = row->paused_by_user;
    job->userpause.ran_ms = row->ran_ms;
    job->final.known = row->final_from[0] != '\0';
    job->final.from = strcmp(row->final_from, "event") == 0 ? "event" : "target";
    job->final.total_ms = (uint64_t)row->final_total_ms;
    job->final.downtime_ms = (uint64_t)row->final_downtime_ms;
    job->final.setup_ms = (uint64_t)row->final_setup_ms;
    job->final.bytes = (uint64_t)row->final_bytes;
    job->final.iterations = (uint64_t)row->final_iterations;
    job->forecast.made = row->forecast_percent >= 0;
    job->forecast.total_ms = row->forecast_total_ms;
    job->forecast.low_ms = row->forecast_low_ms;
    job->forecast.high_ms = row->forecast_high_ms;
    job->forecast.downtime_ms = row->forecast_downtime_ms;
    job->forecast.percent = job->forecast.made ? (int)row->forecast_percent : 0;
}

static bool add_mode(void *ctx, const struct store_mode *row)
{
    struct job *job = ((struct loading *)ctx)->job;
    enum mode mode = mode_from_name(row->mode);
    if (mode >= MODE_COUNT || job->n_modes >= JOB_MODES_MAX)
        return true;
    job->modes[job->n_modes].mode = mode;
    job->modes[job->n_modes].wall_ms = row->at_ms;
    TEXT_SET(job->modes[job->n_modes].cause, row->cause);
    job->n_modes++;
    return true;
}

/* What was read as text when it was accepted is read again. */
static bool restore_documents(struct job *job, const struct store_job *row, struct err *err)
{
    migration_config_thaw(row->config_json, &job->config);
    if (row->monitor_json[0] != '\0')
        job->monitor_json = strdup(row->monitor_json);
    admission_read_annotations(job);
    struct err what = {0};
    return labels_parse(row->selector_json, "addedNodeSelector", &job->added_selector, &what) ||
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
    job->rejections = malloc(bytes);
    if (job->rejections == NULL)
        return err_set(loading->err, ERR_NOMEM, "a migration job");
    memcpy(job->rejections, all, bytes);
    return true;
}

/* The rows that belong to a job. */
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

/* NULL with err: the row, or one that belongs to it, cannot be read. */
static struct job *read_job(struct loading *loading, const struct store_job *row)
{
    OWNED(job) job = job_new(loading->err);
    if (job == NULL)
        return NULL;
    restore_text(job, row);
    if (!restore_words(job, row)) {
        (void)err_set(loading->err, ERR_CORRUPT, "job %s in the store: phase '%s', outcome '%s'",
                      row->uid, row->phase, row->outcome);
        return NULL;
    }
    restore_numbers(job, row);
    restore_move(job, row);
    if (!restore_documents(job, row, loading->err) || !read_records(loading, job))
        return NULL;
    return TAKE(job);
}

static bool add_job(void *ctx, const struct store_job *row)
{
    struct loading *loading = ctx;
    OWNED(job) job = read_job(loading, row);
    if (job == NULL)
        return false;
    if (phase_is_final(job->phase) && job->remove_when_final)
        return true; /* taken out of view by its owner */
    if (!phase_is_final(job->phase) && fleet_active_job(loading->fleet, job->guest_uuid) != NULL)
        return err_set(loading->err, ERR_CORRUPT,
                       "the store holds two unfinished jobs of guest %s; end one of them by hand",
                       job->guest_uuid);
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

/* A document that cannot be read is not lost: its row stays, and the log says which. */
static bool add_object(void *ctx, const struct store_object *row)
{
    struct loading *loading = ctx;
    struct object *object = object_of(row);
    if (object == NULL)
        return err_set(loading->err, ERR_NOMEM, "a document");
    struct err err = {0};
    if (object->kind < OBJECT_COUNT) {
        if (documents_restore(loading->fleet, object, &err)) /* it is the fleet's, or gone */
            return true;
    } else {
        err_set(&err, ERR_CORRUPT, "there is no such kind");
        object_free(object);
    }
    LOG(ERROR, "document_not_restored", FIELD_TEXT(KIND, row->kind), FIELD_TEXT(NAME, row->name),
        FIELD_TEXT(ERROR, err.text));
    return true;
}

/* Only of those that stayed in view: there are ever more of the others. */
static bool load_verdict_rows(struct store *store, struct fleet *f, struct err *err)
{
    for (struct job *job = f->jobs; job != NULL; job = job->hh.next)
        if (phase_is_final(job->phase) &&
            !verdict_rows_load(store, job->uid, &job->verdict_rows, err))
            return false;
    return true;
}

static void warn_of_retired(const struct fleet *f)
{
    for (const struct object *o = f->of_kind[OBJECT_POLICY]; o != NULL; o = o->next)
        if (o->policy->retired)
            LOG(WARN, "policy_setting_retired", FIELD_TEXT(NAME, o->name),
                FIELD_TEXT(TEXT, "`" SETTING_RETIRED "` is no longer used: memory goes straight to "
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
