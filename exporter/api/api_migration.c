/* api_migration.c - a migration job as KubeVirt's VirtualMachineInstanceMigration.
 *
 * Field names are KubeVirt's wherever the meaning is the same. What it has no field for (ownership,
 * observations, the newest sample) is in status.ferry.
 */
#include <string.h>

#include "base/human.h"
#include "engine/data/flags.h"
#include "exporter/api/api.h"
#include "exporter/api/versions.h"

static const char name_label[] = "kubevirt.io/vmi-name";

/* KubeVirt labels every migration with its guest; a name too long for a label is left out. */
static struct json_object *labels_of(const struct snapshot_job *job)
{
    struct json_object *labels = api_object_from(job->request.metadata_json, "labels");
    if (strlen(job->guest_name) < LABEL_VALUE_MAX &&
        json_object_object_get(labels, name_label) == NULL)
        json_add_text(labels, name_label, job->guest_name);
    return labels;
}

static void add_metadata(struct json_object *object, const struct snapshot_job *job)
{
    const struct api_meta meta = {job->ns, job->name, job->uid, job->times.created_ms};
    struct json_object *metadata = api_add_meta(object, KIND_MIGRATION, &meta);
    json_add(metadata, "labels", labels_of(job));
    api_add_annotations(metadata, job->request.metadata_json);
    if (phase_is_final(job->phase))
        return;
    json_add_time(metadata, "deletionTimestamp", job->times.delete_asked_ms);
    struct json_object *finalizers = json_add_array(metadata, "finalizers");
    json_add_text(finalizers, "", "kubevirt.io/migrationJobFinalize");
}

/* spec: disks and destinations. status: also their sources and sizes. */
static void add_volumes(struct json_object *ferry, const char *volumes_json, bool only_asked)
{
    struct err err = {0};
    OWNED(json_object) known = volumes_json != NULL
                                   ? json_parse(volumes_json, strlen(volumes_json), "volumes", &err)
                                   : NULL;
    size_t n = known != NULL && json_object_is_type(known, json_type_array)
                   ? json_object_array_length(known)
                   : 0;
    struct json_object *list = n > 0 ? json_add_array(ferry, "volumes") : NULL;
    for (size_t i = 0; i < n; i++) {
        struct json_object *volume = json_object_array_get_idx(known, i);
        if (only_asked) {
            struct json_object *asked = json_add_object(list, "");
            json_add(asked, "name", json_object_get(json_at(volume, "name")));
            json_add(asked, "destination", json_object_get(json_at(volume, "destination")));
        } else {
            json_add(list, "", json_object_get(volume));
        }
    }
}

static void add_spec(struct json_object *object, const struct snapshot_job *job)
{
    struct json_object *spec = json_add_object(object, "spec");
    api_add_fields(spec, JOB_OBJECT_SPEC, job);
    if (job->request.priority != PRIORITY_DEFAULT)
        json_add_text(spec, "priority", priority_name(job->request.priority));
    OWNED(json_object) selector = api_object_from(job->request.selector_json, NULL);
    if (job->request.wanted[0] != '\0')
        json_add_text(selector, "kubernetes.io/hostname", job->request.wanted);
    if (json_object_object_length(selector) > 0)
        json_add(spec, "addedNodeSelector", TAKE(selector));
    if (job->request.volumes_json != NULL)
        add_volumes(json_add_object(spec, "ferry"), job->request.volumes_json, true);
}

/* Ready: observed running there. */
static void add_target_observation(struct json_object *state,
                                   const struct snapshot_observation *observation)
{
    if (observation->presence != HV_PRESENT || observation->at_ms == 0)
        return;
    json_add_bool(state, "targetNodeDomainDetected", true);
    if (observation->state == HV_STATE_RUNNING && observation->reason != HV_RUNNING_POSTCOPY_FAILED)
        json_add_time(state, "targetNodeDomainReadyTimestamp", observation->at_ms);
}

/* By port, with KubeVirt's channel: 0 is memory. Known if Ferry chose the port
 * (engine/data/move.c); libvirt does not report its own choice. */
static void add_ports(struct json_object *state, const struct snapshot_job *job)
{
    char port[API_SHORT_TEXT_MAX];
    if (job->stream.port == 0)
        return;
    (void)snprintf(port, sizeof port, "%u", job->stream.port);
    json_add_i64(json_add_object(state, "targetDirectMigrationNodePorts"), port, 0);
}

struct json_object *api_migration_state(const struct snapshot_job *job)
{
    if (job->source[0] == '\0' && job->placement.source_pod[0] == '\0')
        return NULL;
    struct json_object *state = json_object_new_object();
    api_add_fields(state, JOB_OBJECT_STATE, job);
    api_add_unless_empty(state, "sourcePod", job->placement.source_pod);
    api_add_unless_empty(state, "targetNodeAddress", job->stream.target_address);
    api_add_unless_empty(state, "targetPod", job->placement.target_pod);
    add_target_observation(state, &job->resolution.target);
    add_ports(state, job);
    api_add_unless_empty(state, "migrationPolicyName", job->request.policy);
    if (job->call.config_json != NULL)
        json_add(state, "migrationConfiguration", api_object_from(job->call.config_json, NULL));
    if (phase_is_final(job->phase)) {
        json_add_bool(state, "completed", true);
        if (job->phase == PHASE_FAILED)
            json_add_bool(state, "failed", true);
    }
    if (job->abort.asked)
        json_add_bool(state, "abortRequested", true);
    return state;
}

/* Pending reasons that are conditions in KubeVirt. */
static void add_waiting(struct json_object *conditions, const struct snapshot_job *job)
{
    char text[SNAPSHOT_REASON_MAX];
    if (phase_is_final(job->phase))
        return;
    if (job->wait.pending == PENDING_QUOTA)
        api_add_condition(conditions, "migrationRejectedByResourceQuota", "True",
                          job->wait.since_ms, "ExceededQuota", job->wait.reason);
    if (job->wait.pending == PENDING_BACKUP)
        api_add_condition(conditions, "migrationBlockedByBackup", "True", job->wait.since_ms,
                          "BackupInProgress", job->wait.reason);
    if (job->wait.pending != PENDING_UTILITY_VOLUMES)
        return;
    (void)snprintf(text, sizeof text,
                   "Migration is waiting for utility volumes to detach. Will timeout in %lld "
                   "seconds.",
                   (long long)(job->wait.until_ms - job->wait.since_ms) / 1000);
    api_add_condition(conditions, "migrationBlockedByUtilityVolumes", "True", job->wait.since_ms,
                      "UtilityVolumesPresent", text);
}

/* States that need an operator have a reason of their own. */
static const char *recovery_reason(enum recovery recovery)
{
    return recovery == RECOVERY_EXHAUSTED ? "RecoveryExhausted"
           : recovery == RECOVERY_BLIND   ? "HostUnreachable"
                                          : "PostCopyBroken";
}

static void add_conditions(struct json_object *status, const struct snapshot_job *job)
{
    OWNED(json_object) conditions = json_object_new_array();
    if (job->abort.asked)
        api_add_condition(conditions, "migrationAbortRequested", "True", job->times.delete_asked_ms,
                          NULL, job->abort.why[0] == '\0' ? NULL : job->abort.why);
    add_waiting(conditions, job);
    if (job->resolving)
        api_add_condition(conditions, "ferry.internal/Resolving", "True", 0, "OutcomeUnknown",
                          "The outcome is being determined from both hosts.");
    if (job->recovering)
        api_add_condition(conditions, "ferry.internal/Recovering", "True", job->recovery.since_ms,
                          recovery_reason(job->recovery.state),
                          job->wait.pending == PENDING_RECOVERY
                              ? job->wait.reason
                              : "A broken post-copy is being resumed.");
    if (job->result.outcome == OUTCOME_IRRECOVERABLE)
        api_add_condition(conditions, "ferry.internal/Irrecoverable", "True", job->times.ended_ms,
                          "HalfOfGuestGone", job->result.failure_reason);
    if (json_object_array_length(conditions) > 0)
        json_add(status, "conditions", TAKE(conditions));
}

static void add_observation(struct json_object *ferry, const char *key,
                            const struct snapshot_observation *observation)
{
    if (observation->at_ms == 0)
        return;
    struct json_object *out = json_add_object(ferry, key);
    json_add_text(out, "presence", hv_presence_name(observation->presence));
    if (observation->presence == HV_PRESENT) {
        json_add_text(out, "state", hv_state_name(observation->state));
        json_add_text(out, "reason", hv_reason_name(observation->state, observation->reason));
    }
    json_add_time(out, "at", observation->at_ms);
}

static void add_sample(struct json_object *ferry, const struct snapshot_job *job)
{
    if (!job->progress.has_sample)
        return;
    const struct hv_job_stats *stats = &job->progress.sample.stats;
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"iteration", stats->memory_iteration},
        {"remainingBytes", stats->data_remaining},
        {"processedBytes", stats->data_processed},
        {"totalBytes", stats->data_total},
        {"dirtyRateBytesPerSecond", stats->memory_dirty_rate * stats->memory_page_size},
        {"transferRateBytesPerSecond", job->progress.sample.bandwidth_bps},
        {"throttlePercent", stats->auto_converge_throttle},
        {"elapsedMs", stats->time_elapsed_ms},
        {"expectedDowntimeMs", stats->downtime_ms},
        {"diskRemainingBytes", stats->disk_remaining}, /* from here on: if disks migrate */
        {"diskProcessedBytes", stats->disk_processed},
        {"diskTotalBytes", stats->disk_total},
    };
    size_t n = job->request.volumes_json != NULL ? COUNT(rows) : COUNT(rows) - 3;
    struct json_object *sample = json_add_object(ferry, "sample");
    for (size_t i = 0; i < n; i++)
        json_add_i64(sample, rows[i].key, (int64_t)rows[i].value);
    json_add_time(sample, "at", job->progress.sample.wall_ms);
    if (job->progress.eta_ms >= 0) {
        json_add_i64(ferry, "etaMs", job->progress.eta_ms);
        json_add_i64(ferry, "etaLowMs", job->progress.eta_low_ms);
        json_add_i64(ferry, "etaHighMs", job->progress.eta_high_ms);
    }
    if (!phase_is_final(job->phase))
        api_add_unless_empty(ferry, "etaNote", job->progress.eta_note);
    if (job->progress.sample.source == SAMPLE_COMPLETED)
        json_add_i64(ferry, "downtimeMs", (int64_t)stats->downtime_ms); /* measured, not expected */
}

/* Summary; the whole verdict with evidence: api_verdict.c. */
static void add_verdict(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->result.verdict == NULL)
        return;
    const struct store_verdict *verdict = &job->result.verdict->verdict;
    struct json_object *out = json_add_object(ferry, "verdict");
    json_add_text(out, "outcome", verdict->outcome);
    json_add_text(out, "plane", verdict->plane);
    json_add_text(out, "cause", verdict->cause);
    api_add_unless_empty(out, "family", verdict->family);
    api_add_unless_empty(out, "resembles", verdict->resembles);
    api_add_unless_empty(out, "failedAt", verdict->failed_at);
    json_add_bool(out, "irrecoverable", verdict->irrecoverable);
    json_add_i64(out, "confidencePercent", verdict->confidence_percent);
    api_add_unless_empty(out, "action", verdict->action);
    api_add_unless_empty(out, "runbook", verdict->runbook);
    json_add_time(out, "at", verdict->judged_ms);
}

/* Rejections by node of the newest full scheduling attempt. */
static void add_rejections(struct json_object *ferry, const struct rejections *rejections)
{
    if (rejections == NULL)
        return;
    struct json_object *list = json_add_array(ferry, "rejections");
    for (size_t i = 0; i < rejections->n; i++) {
        const struct rejection *rejection = &rejections->list[i];
        struct json_object *out = json_add_object(list, "");
        json_add_text(out, "node", rejection->node);
        json_add_text(out, "reason", reject_name(rejection->why));
        json_add_text(out, "detail", rejection->detail);
        json_add_text(out, "message", reject_help(rejection->why));
        json_add_bool(out, "forEver", reject_is_for_ever(rejection->why));
    }
    struct json_object *placement = json_add_object(ferry, "placement");
    json_add_i64(placement, "nodes", (int64_t)rejections->n_nodes);
    json_add_time(placement, "at", rejections->at_ms);
    struct json_object *counts = json_add_object(placement, "rejected");
    for (enum reject why = REJECT_NONE + 1; why < REJECT_COUNT; why++)
        if (rejections->counts[why] > 0)
            json_add_i64(counts, reject_name(why), rejections->counts[why]);
}

/* Flags of the migrate call by name, and why others are left out. */
static void add_flags(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->call.shown == 0)
        return;
    struct json_object *flags = json_add_array(ferry, "flags");
    for (unsigned i = 0; i < FLAG_COUNT; i++)
        if ((job->call.shown & UINT32_C(1) << i) != 0)
            json_add_text(flags, "", flag_name((enum flag)i));
    struct json_object *left_out =
        job->call.left_out != 0 ? json_add_array(ferry, "flagsLeftOut") : NULL;
    for (unsigned i = 0; i < FLAG_RULE_COUNT; i++)
        if ((job->call.left_out & UINT32_C(1) << i) != 0)
            json_add_text(left_out, "", flag_rule_text((enum flag_rule)i));
}

/* The monitor's decision, the flags of the migrate call, and the reservation on the target. */
static void add_control(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->monitor.decision != NULL && job->monitor.decision[0] != '\0') {
        struct json_object *monitor = json_add_object(ferry, "monitor");
        json_add_text(monitor, "decision", job->monitor.decision);
        json_add_text(monitor, "text",
                      job->monitor.decision_text != NULL ? job->monitor.decision_text : "");
        json_add_time(monitor, "at", job->monitor.decision_ms);
    }
    add_flags(ferry, job);
    if (job->placement.launcher != LAUNCHER_NONE) {
        struct json_object *launcher = json_add_object(ferry, "launcher");
        api_add_fields(launcher, JOB_OBJECT_LAUNCHER, job);
        api_add_unless_empty(launcher, "pod", job->placement.target_pod);
        api_add_unless_empty(launcher, "node", job->target);
    }
    add_volumes(ferry, job->request.volumes_json, false);
    add_rejections(ferry, job->placement.rejections);
}

/* About somebody else's migration in trouble. */
static void add_advice(struct json_object *ferry, const struct job_advice *advice)
{
    if (advice->is == ADVICE_NONE)
        return;
    struct json_object *out = json_add_object(ferry, "advice");
    json_add_text(out, "name", advice_name(advice->is));
    json_add_text(out, "text", advice->text);
    json_add_text(out, "help", advice_help(advice->is));
    api_add_unless_empty(out, "node", advice->node);
    api_add_unless_empty(out, "command", advice->command);
    json_add_time(out, "since", advice->since_ms);
}

static void add_ferry(struct json_object *status, const struct snapshot_job *job)
{
    struct json_object *ferry = json_add_object(status, "ferry");
    api_add_fields(ferry, JOB_OBJECT_FERRY, job);
    json_add_text(ferry, "guestAt", guest_at_name(job->resolution.guest_at));
    if (job->wait.pending != PENDING_NONE) {
        struct json_object *pending = json_add_object(ferry, "pending");
        json_add_text(pending, "reason", pending_name(job->wait.pending));
        json_add_text(pending, "message", job->wait.reason);
        json_add_time(pending, "since", job->wait.since_ms);
        json_add_time(pending, "deadline", job->wait.until_ms);
    }
    add_advice(ferry, &job->advice);
    add_control(ferry, job);
    api_add_move(ferry, job);
    if (job->result.error.code != ERR_NONE) {
        struct json_object *error = json_add_object(ferry, "error");
        json_add_text(error, "kind", err_name(job->result.error.code));
        json_add_i64(error, "code", job->result.error.hv_code);
        json_add_i64(error, "domain", job->result.error.hv_domain);
        json_add_text(error, "text", job_error_text(&job->result.error));
    }
    add_verdict(ferry, job);
    add_observation(ferry, "source", &job->resolution.source);
    add_observation(ferry, "target", &job->resolution.target);
    add_sample(ferry, job);
}

static void add_status(struct json_object *object, const struct snapshot_job *job)
{
    struct json_object *status = json_add_object(object, "status");
    api_add_fields(status, JOB_OBJECT_STATUS, job);
    struct json_object *steps = json_add_array(status, "phaseTransitionTimestamps");
    for (unsigned i = 0; i < job->history.n_steps; i++) {
        struct json_object *step = json_add_object(steps, "");
        json_add_text(step, "phase", phase_name(job->history.steps[i].phase));
        json_add_time(step, "phaseTransitionTimestamp", job->history.steps[i].wall_ms);
    }
    add_conditions(status, job);
    struct json_object *state = api_migration_state(job);
    if (state != NULL)
        json_add(status, "migrationState", state);
    add_ferry(status, job);
}

struct json_object *api_job_object(const struct snapshot_job *job)
{
    struct json_object *object = json_object_new_object();
    add_metadata(object, job);
    add_spec(object, job);
    add_status(object, job);
    return object;
}

/* ---- phases that fell between two snapshots ---- */

/* Its parts, as far as they are known of that moment: as they were before; of a job that is new,
 * without what came of it. */
static void set_as_known(struct snapshot_job *out, const struct snapshot_job *before,
                         const struct snapshot_job *is)
{
    *out = before != NULL ? *before : *is;
    out->wait.pending = PENDING_NONE; /* it went on */
    out->wait.reason[0] = '\0';
    if (before != NULL)
        return;
    memset(&out->resolution, 0, sizeof out->resolution);
    memset(&out->monitor, 0, sizeof out->monitor);
    memset(&out->progress, 0, sizeof out->progress);
    memset(&out->result, 0, sizeof out->result);
    memset(&out->final, 0, sizeof out->final);
    out->times.ended_ms = 0;
}

/* A job takes several steps in one turn; KubeVirt's clients wait for each phase. */
static bool passed(const struct snapshot *before, size_t was, const struct snapshot *after,
                   size_t is, unsigned nth, struct api_passed *out)
{
    const struct snapshot_job *job = after->jobs[is];
    const struct snapshot_job *known = before == NULL ? NULL : before->jobs[was];
    unsigned step = (known == NULL ? 0 : known->history.n_steps) + nth;
    if (step + 1 >= job->history.n_steps)
        return false;
    set_as_known(&out->job, known, job);
    out->job.phase = job->history.steps[step].phase;
    out->job.history.n_steps = step + 1;
    memcpy(out->job.history.steps, job->history.steps, sizeof out->job.history.steps);
    out->jobs[0] = &out->job;
    out->snapshot = (struct snapshot){.wall_ms = after->wall_ms, .n_jobs = 1, .jobs = out->jobs};
    return true;
}

/* ---- as a kind ---- */

static size_t count(const struct snapshot *s)
{
    return s->n_jobs;
}
static const char *ns(const struct snapshot *s, size_t i)
{
    return s->jobs[i]->ns;
}
static const char *name(const struct snapshot *s, size_t i)
{
    return s->jobs[i]->name;
}
static struct json_object *labels(const struct snapshot *s, size_t i)
{
    return labels_of(s->jobs[i]);
}
static struct json_object *object(const struct snapshot *s, size_t i)
{
    return api_job_object(s->jobs[i]);
}

static const char *uid(const struct snapshot *s, size_t i)
{
    return s->jobs[i]->uid;
}

/* A job that has not changed is shared between snapshots. */
static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    return a->jobs[i] == b->jobs[j];
}

static void add_cells(const struct snapshot *s, size_t i, int64_t now_ms, struct json_object *cells)
{
    const struct snapshot_job *job = s->jobs[i];
    char remaining[API_SHORT_TEXT_MAX] = "", age[API_SHORT_TEXT_MAX];
    if (job->progress.has_sample && !phase_is_final(job->phase))
        human_bytes(job->progress.sample.stats.data_remaining, remaining);
    api_age_text(job->times.created_ms, now_ms, age);
    const char *const texts[] = {
        phase_name(job->phase),
        job->guest_name,
        job->source,
        job->target[0] != '\0' ? job->target : job->request.wanted,
        mode_name(job->mode),
        remaining,
        age,
        outcome_name(job->result.outcome),
        job->result.verdict != NULL ? job->result.verdict->verdict.plane : "",
        job->result.verdict != NULL ? job->result.verdict->verdict.cause : "",
        recovery_name(job->recovery.state),
        job->result.failure_reason[0] != '\0' ? job->result.failure_reason : job->wait.reason};
    for (size_t c = 0; c < COUNT(texts); c++)
        json_add_text(cells, "", texts[c]);
}

static const char *field(const struct snapshot *s, size_t i, const char *key)
{
    const struct snapshot_job *job = s->jobs[i];
    if (text_equal(key, "spec.vmiName"))
        return job->guest_name;
    return text_equal(key, "status.phase") ? phase_name(job->phase) : NULL;
}

const struct api_view api_migrations = {.count = count,
                                        .ns = ns,
                                        .name = name,
                                        .uid = uid,
                                        .is_same = is_same,
                                        .labels = labels,
                                        .object = object,
                                        .add_cells = add_cells,
                                        .fields = "spec.vmiName status.phase",
                                        .field = field,
                                        .passed = passed};
