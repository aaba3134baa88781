/* publish_move.c - what readers see of a job's data plane; see publish.h. */
#include "base/text.h"
#include "engine/data/steer.h"
#include "engine/publish.h"

/* As configured; what libvirt chooses itself it tells nobody. */
static void fill_addresses(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    const struct node *source = NULL, *target = NULL;
    HASH_FIND_STR(f->nodes, job->source, source);
    HASH_FIND_STR(f->nodes, job->target, target);
    if (source != NULL)
        TEXT_SET(out->stream.source_address, source->host.migration_host);
    if (target == NULL)
        return;
    const struct hv_host *host = &target->host;
    TEXT_SET(out->stream.target_address, host->migration_host);
    out->stream.port_min = host->port_min != 0 ? host->port_min : HV_PORT_MIN;
    out->stream.port_max = host->port_max != 0 ? host->port_max : HV_PORT_MAX;
}

static void fill_final(const struct job *job, struct snapshot_job *out)
{
    out->final.known = job->final.known;
    TEXT_SET(out->final.from, job->final.known ? job->final.from : "");
    out->final.total_ms = job->final.total_ms;
    out->final.downtime_ms = job->final.downtime_ms;
    out->final.setup_ms = job->final.setup_ms;
    out->final.bytes = job->final.bytes;
    out->final.passes = job->final.passes;
    out->final.whole_bytes = job->final.whole_bytes;
}

static void fill_eta(const struct job *job, struct snapshot_job *out)
{
    bool runs = !phase_is_final(job->phase);
    out->progress.eta_ms = runs ? eta_left_ms(&job->progress.eta) : -1;
    out->progress.eta_low_ms = runs ? eta_left_low_ms(&job->progress.eta) : -1;
    out->progress.eta_high_ms = runs ? eta_left_high_ms(&job->progress.eta) : -1;
    TEXT_SET(out->progress.eta_note, job->progress.eta.note);
}

static void fill_stream(const struct job *job, struct snapshot_job *out)
{
    const struct job_stream *stream = &job->stream;
    bool stands = job->phase == PHASE_RUNNING && job->mode != MODE_POSTCOPY &&
                  stream->stopped_ms != 0 && !stream->target_resumed && !job->userpause.wished;
    out->stream.port = stream->port;
    out->stream.stopped_since_ms = stands ? stream->stopped_wall_ms : 0;
    TEXT_SET(out->stream.remedy, stream->remedy);
    out->monitor.budget = steer_budget(job);
    out->monitor.name = job->call.config.monitor == MONITOR_LEGACY ? "legacy" : "stall";
}

void publish_fill_move(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    fill_addresses(f, job, out);
    _Static_assert(COUNT(out->history.modes) == JOB_MODES_MAX, "all of them are shown");
    out->history.n_modes = job->history.n_modes;
    for (unsigned i = 0; i < job->history.n_modes; i++) {
        out->history.modes[i].mode = job->history.modes[i].mode;
        out->history.modes[i].wall_ms = job->history.modes[i].wall_ms;
        TEXT_SET(out->history.modes[i].cause, job->history.modes[i].cause);
    }
    out->abort.cause = job->abort.cause;
    out->recovery.state = job->recovery.state;
    out->recovery.tries = job->recovery.tries;
    bool probed = job->recovery.path != HV_PATH_UNKNOWN;
    out->recovery.path = probed ? hv_path_name(job->recovery.path) : "";
    out->recovery.since_ms = job->recovery.since_ms;
    out->recovery.until_ms = job->recovery.until_ms;
    fill_stream(job, out);
    out->userpause.wished = job->userpause.wished;
    out->userpause.ran_ms = job->userpause.ran_ms;
    fill_final(job, out);
    fill_eta(job, out);
    out->forecast.made = job->forecast.made;
    out->forecast.total_ms = job->forecast.total_ms;
    out->forecast.low_ms = job->forecast.low_ms;
    out->forecast.high_ms = job->forecast.high_ms;
    out->forecast.downtime_ms = job->forecast.downtime_ms;
    out->forecast.percent = job->forecast.percent;
}
