/* job.c - see job.h. */
#include "engine/model/job/job.h"

struct job *job_new(struct err *err)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        err_set(err, ERR_NOMEM, "a migration job");
        return NULL;
    }
    job->phase = PHASE_PENDING;
    job->priority = PRIORITY_USER_TRIGGERED;
    job->ownership_last = -1;
    return job;
}

void job_free(struct job *job)
{
    if (job == NULL)
        return;
    if (job->view != NULL)
        job->drop_view(job->view);
    if (job->monitor_driver != NULL)
        job->free_monitor_driver(job->monitor_driver);
    verdict_rows_unref(job->verdict_rows);
    free(job->left);
    free(job->monitor_json);
    labels_fini(&job->added_selector);
    free(job->rejections);
    free(job->volumes_json);
    free(job->volumes);
    free(job->metadata_json);
    free(job);
}

const char *job_flaw(const struct job *job)
{
    if (job->phase <= PHASE_NONE || job->phase >= PHASE_COUNT)
        return "its phase is none of phase.def";
    if (job->uid[0] == '\0' || job->guest_uuid[0] == '\0')
        return "it has no uid, or no guest";
    bool is_final = phase_is_final(job->phase);
    if (is_final != (job->outcome != OUTCOME_NONE))
        return is_final ? "it is final without an outcome" : "it has an outcome and is not final";
    if (is_final && (job->ended_ms == 0 || job->resolving))
        return "it is final and has no end, or is still resolving";
    if (phase_is_busy(job->phase) && job->source[0] == '\0')
        return "it is under way and has no source";
    bool handed_off = job->phase == PHASE_PREPARING_TARGET || job->phase == PHASE_TARGET_READY ||
                      job->phase == PHASE_RUNNING;
    if (handed_off && (job->target[0] == '\0' || job->epoch < 1))
        return "it is handed off and has no target, or no epoch";
    return NULL;
}

bool job_step(struct job *job, enum trigger why, struct moment now)
{
    enum phase to = phase_next(job->phase, why);
    if (to == PHASE_NONE || job->n_steps >= PHASE_COUNT)
        return false;
    job->phase = to;
    job->entered_ms = now.mono_ms;
    job->steps[job->n_steps].phase = to;
    job->steps[job->n_steps].wall_ms = now.wall_ms;
    job->n_steps++;
    job->changed = true;
    if (phase_is_final(to)) {
        job->ended_ms = now.wall_ms;
        job->resolving = false;
        job->recovering = false;
    }
    return true;
}

void job_note_eta(struct job *job)
{
    const struct hv_job_stats *stats = &job->sample.stats;
    int64_t begun_ms = job->call_asked_ms != 0 ? job->call_asked_ms : job->handed_off_ms;
    struct eta_input input = {
        .now_ms = job->sample.mono_ms,
        .remaining = stats->data_remaining,
        .bandwidth_bps = job->sample.bandwidth_bps,
        .sent = stats->memory_processed,
        .dirty_bps = stats->memory_dirty_rate * stats->memory_page_size,
        .iteration = stats->memory_iteration,
        .postcopy = job->mode == MODE_POSTCOPY,
        .stopped = job->mode == MODE_PAUSED || job->stream.stopped_ms != 0,
    };
    if (job->forecast.made) {
        begun_ms += job->sample.mono_ms - job->sample.wall_ms; /* on the sample's clock */
        input.forecast_ms = begun_ms + job->forecast.total_ms;
        input.forecast_high_ms = begun_ms + job->forecast.high_ms;
    }
    eta_step(&job->eta, &input);
}
