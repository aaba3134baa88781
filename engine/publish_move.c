/* publish_move.c - what readers see of a job's data plane; see publish.h. */
#include "base/text.h"
#include "engine/data/monitor_driver.h"
#include "engine/publish.h"

/* As configured; what libvirt chooses itself it tells nobody. */
static void fill_addresses(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    const struct node *source = NULL, *target = NULL;
    HASH_FIND_STR(f->nodes, job->source, source);
    HASH_FIND_STR(f->nodes, job->target, target);
    if (source != NULL)
        TEXT_SET(out->source_address, source->host.migration_host);
    if (target == NULL)
        return;
    const struct hv_host *host = &target->host;
    TEXT_SET(out->target_address, host->migration_host);
    out->port_min = host->port_min != 0 ? host->port_min : HV_PORT_MIN;
    out->port_max = host->port_max != 0 ? host->port_max : HV_PORT_MAX;
}

static void fill_final(const struct job *job, struct snapshot_job *out)
{
    out->final_known = job->final.known;
    out->final_from = job->final.known ? job->final.from : "";
    out->final_total_ms = job->final.total_ms;
    out->final_downtime_ms = job->final.downtime_ms;
    out->final_setup_ms = job->final.setup_ms;
    out->final_bytes = job->final.bytes;
    out->final_iterations = job->final.iterations;
    out->final_whole_bytes = job->final.whole_bytes;
}

static void fill_eta(const struct job *job, struct snapshot_job *out)
{
    bool runs = !phase_is_final(job->phase);
    out->eta_ms = runs ? eta_left_ms(&job->eta) : -1;
    out->eta_low_ms = runs ? eta_left_low_ms(&job->eta) : -1;
    out->eta_high_ms = runs ? eta_left_high_ms(&job->eta) : -1;
    TEXT_SET(out->eta_note, job->eta.note);
}

static void fill_stream(const struct job *job, struct snapshot_job *out)
{
    const struct job_stream *stream = &job->stream;
    bool stands = job->phase == PHASE_RUNNING && job->mode != MODE_POSTCOPY &&
                  stream->stopped_ms != 0 && !stream->target_resumed && !job->userpause.requested;
    out->port = stream->port;
    out->stopped_since_ms = stands ? stream->stopped_wall_ms : 0;
    TEXT_SET(out->remedy, stream->remedy);
    out->budget = monitor_driver_budget(job);
    out->monitor = job->config.monitor == MONITOR_LEGACY ? "legacy" : "stall";
}

void publish_fill_move(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    fill_addresses(f, job, out);
    _Static_assert(COUNT(out->modes) == JOB_MODES_MAX, "all of them are shown");
    out->n_modes = job->n_modes;
    for (unsigned i = 0; i < job->n_modes; i++) {
        out->modes[i].mode = job->modes[i].mode;
        out->modes[i].at_ms = job->modes[i].wall_ms;
        TEXT_SET(out->modes[i].cause, job->modes[i].cause);
    }
    out->abort_cause = job->abort_cause;
    out->recovery = job->recovery.state;
    out->recovery_tries = job->recovery.tries;
    bool probed = job->recovery.path != HV_PATH_UNKNOWN;
    out->recovery_path = probed ? hv_path_name(job->recovery.path) : "";
    out->recovery_since_ms = job->recovery.since_ms;
    out->recovery_until_ms = job->recovery.until_ms;
    fill_stream(job, out);
    out->paused_by_user = job->userpause.requested;
    out->ran_ms = job->userpause.ran_ms;
    fill_final(job, out);
    fill_eta(job, out);
    out->forecast_made = job->forecast.made;
    out->forecast_total_ms = job->forecast.total_ms;
    out->forecast_low_ms = job->forecast.low_ms;
    out->forecast_high_ms = job->forecast.high_ms;
    out->forecast_downtime_ms = job->forecast.downtime_ms;
    out->forecast_percent = job->forecast.percent;
}
