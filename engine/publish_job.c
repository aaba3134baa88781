/* publish_job.c - the view of a job in the snapshot; see publish.h. */
#include <string.h>

#include "base/text.h"
#include "engine/data/flags.h"
#include "engine/data/monitor_driver.h"
#include "engine/model/job/decision.h"
#include "engine/model/job/launcher.h"
#include "engine/publish.h"

#define SHOW_TEXT(to, from) TEXT_SET(to, from);
#define SHOW_I64(to, from) to = from;
#define SHOW_U64(to, from) to = from;
#define SHOW_UINT(to, from) to = from;
#define SHOW_TIME(to, from) to = from;
#define SHOW_BOOL(to, from) to = from;
#define SHOW_WORD(to, from) to = from;
#define SHOW_HAND(to, from)

/* Plain stored fields are published unchanged. */
static void fill_fields(const struct job *job, struct snapshot_job *out)
{
#define JOB_FIELD(at, kind, detail, member, ...) SHOW_##kind(out->at member, job->at member)
#include "store/job_fields.def"
#undef JOB_FIELD
}

static void fill_observation(const struct job_side *side, struct snapshot_observation *out)
{
    out->presence = side->observation.presence;
    out->state = side->observation.state;
    out->reason = side->observation.reason;
    out->at_ms = side->seen_wall_ms;
}

/* The source and the target launcher, from hand-off on or while they exist. */
static void fill_pods(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    const struct guest *guest = NULL;
    HASH_FIND_STR(f->guests, job->guest_uuid, guest);
    const char *stay = guest != NULL ? guest->stay_job : "";
    if (strcmp(stay, job->uid) == 0)
        stay = ""; /* it has arrived: its former launcher is not known any more */
    if (job->source[0] != '\0')
        launcher_pod(job->guest_name, job->guest_uuid, job->source, stay,
                     out->placement.source_pod);
    if (job->placement.launcher == LAUNCHER_NONE)
        return;
    launcher_pod(job->guest_name, job->guest_uuid, job->target, job->uid,
                 out->placement.target_pod);
    launcher_uid(job->guest_uuid, job->target, job->uid, out->placement.target_pod_uid);
}

/* As configured; libvirt does not report its own choice. */
static void fill_addresses(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    const struct node *source = NULL, *target = NULL;
    HASH_FIND_STR(f->nodes, job->source, source);
    HASH_FIND_STR(f->nodes, job->target, target);
    if (source != NULL)
        out->stream.source_address = source->host.migration_host;
    if (target == NULL)
        return;
    const struct hv_host *host = &target->host;
    out->stream.target_address = host->migration_host;
    out->stream.port_min = host->port_min != 0 ? host->port_min : HV_PORT_MIN;
    out->stream.port_max = host->port_max != 0 ? host->port_max : HV_PORT_MAX;
}

static void fill_eta(const struct job *job, struct snapshot_job *out)
{
    bool runs = !phase_is_final(job->phase);
    out->progress.eta_ms = runs ? eta_left_ms(&job->progress.eta) : -1;
    out->progress.eta_low_ms = runs ? eta_left_low_ms(&job->progress.eta) : -1;
    out->progress.eta_high_ms = runs ? eta_left_high_ms(&job->progress.eta) : -1;
    out->progress.eta_note = runs ? job->progress.eta.note : NULL;
}

static void fill_stream(const struct job *job, struct snapshot_job *out)
{
    const struct job_stream *stream = &job->stream;
    bool is_paused = job->phase == PHASE_RUNNING && job->mode != MODE_POSTCOPY &&
                     stream->stopped_ms != 0 && !stream->target_resumed &&
                     !job->userpause.requested;
    out->stream.stopped_since_ms = is_paused ? stream->stopped_wall_ms : 0;
}

static void fill_wait(const struct job *job, struct snapshot_job *out)
{
    out->wait.pending = job->wait.pending;
    if (job->wait.pending != PENDING_NONE) {
        out->wait.since_ms = job->wait.since_ms;
        out->wait.until_ms = job->wait.until_ms;
    }
    memcpy(out->wait.waited_ms, job->wait.waited_ms, sizeof out->wait.waited_ms);
}

static void fill_monitor(const struct job *job, struct snapshot_job *out)
{
    out->monitor.name = job_is_observed(job)                         ? ""
                        : job->call.config.monitor == MONITOR_LEGACY ? "legacy"
                                                                     : "stall";
    out->monitor.decision =
        job->monitor.decision_ms != 0 ? decision_name((enum decision)job->monitor.decision) : "";
    out->monitor.decision_text = job->monitor.decision_text;
    out->monitor.decision_ms = job->monitor.decision_ms;
    out->monitor.budget = monitor_driver_budget(job);
}

static void fill_result(const struct job *job, struct snapshot_job *out)
{
    out->resolution.guest_at = job->resolution.guest_at;
    fill_observation(&job->resolution.source_side, &out->resolution.source);
    fill_observation(&job->resolution.target_side, &out->resolution.target);
    out->result.error = job->result.error;
    out->result.verdict = job->result.verdict_rows;
    out->final.known = job->final.known;
    out->final.whole_bytes = job->final.whole_bytes;
    out->advice = job->advice;
    if (phase_is_final(job->phase))
        out->advice = (struct job_advice){.is = ADVICE_NONE};
    out->forecast.made = job->forecast.made;
    out->forecast.percent = job->forecast.percent;
}

void publish_job(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    memset(out, 0, sizeof *out);
    fill_fields(job, out);
    out->request.metadata_json = job->request.metadata_json;
    out->abort.asked = job->abort.asked;
    out->history = job->history;
    out->progress.has_sample = job->progress.has_sample;
    out->progress.sample = job->progress.sample;
    out->recovery.path =
        job->recovery.path != HV_PATH_UNKNOWN ? hv_path_name(job->recovery.path) : "";
    out->call.shown = flags_shown(job);
    out->call.left_out = flags_left_out(job);
    out->placement.rejections = job->placement.rejections;
    fill_wait(job, out);
    fill_addresses(f, job, out);
    fill_stream(job, out);
    fill_monitor(job, out);
    fill_eta(job, out);
    fill_result(job, out);
    fill_pods(f, job, out);
}
