/* job.c - see job.h. */
#include "engine/model/job/job.h"

#include <stdlib.h>
#include <string.h>

struct job *job_new(struct err *err)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        err_set(err, ERR_NOMEM, "out of memory: migration job");
        return NULL;
    }
    job->phase = PHASE_PENDING;
    job->request.priority = PRIORITY_USER_TRIGGERED;
    job->resolution.ownership_last = -1;
    return job;
}

void job_free(struct job *job)
{
    if (job == NULL)
        return;
    if (job->links.view != NULL)
        job->links.drop_view(job->links.view);
    if (job->monitor.monitor_driver != NULL)
        job->monitor.free_monitor_driver(job->monitor.monitor_driver);
    verdict_rows_unref(job->result.verdict_rows);
    job_error_fini(&job->result.error);
    free(job->resolution.left);
    free(job->monitor.json);
    labels_fini(&job->request.added_selector);
    free(job->placement.rejections);
    free(job->request.volumes_json);
    free(job->request.volumes);
    free(job->request.metadata_json);
    free(job);
}

/* Without memory the text is missing; decisions read the numbers. */
void job_error_set(struct job_error *error, enum err_code code, const char *text)
{
    job_error_fini(error);
    error->code = code;
    error->text = text[0] != '\0' ? strdup(text) : NULL;
}

void job_error_fini(struct job_error *error)
{
    free(error->text);
    *error = (struct job_error){0};
}

const char *job_error_text(const struct job_error *error)
{
    return error->text != NULL ? error->text : "";
}

const char *job_flaw(const struct job *job)
{
    if (job->phase <= PHASE_NONE || job->phase >= PHASE_COUNT)
        return "its phase is not in phase.def";
    if (job->uid[0] == '\0' || job->guest_uuid[0] == '\0')
        return "it has no uid, or no guest";
    bool is_final = phase_is_final(job->phase);
    if (is_final != (job->result.outcome != OUTCOME_NONE))
        return is_final ? "it is final without an outcome" : "it has an outcome and is not final";
    if (is_final && (job->times.ended_ms == 0 || job->resolving))
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
    if (to == PHASE_NONE || job->history.n_steps >= PHASE_COUNT)
        return false;
    job->phase = to;
    job->entered_ms = now.mono_ms;
    job->history.steps[job->history.n_steps].phase = to;
    job->history.steps[job->history.n_steps].wall_ms = now.wall_ms;
    job->history.n_steps++;
    job->changed = true;
    if (phase_is_final(to)) {
        job->times.ended_ms = now.wall_ms;
        job->resolving = false;
        job->recovering = false;
    }
    return true;
}

enum order order_with_id(const struct job *job, uint64_t id)
{
    enum order order = 0;
    while (order < ORDER_COUNT && (id == 0 || job->orders[order].id != id))
        order++;
    return order;
}

void job_note_eta(struct job *job)
{
    const struct hv_job_stats *stats = &job->progress.sample.stats;
    int64_t begun_ms = job->orders[ORDER_MIGRATE].asked_ms != 0
                           ? job->orders[ORDER_MIGRATE].asked_ms
                           : job->times.handed_off_ms;
    struct eta_input input = {
        .now_ms = job->progress.sample.mono_ms,
        .remaining = stats->data_remaining,
        .bandwidth_bps = job->progress.sample.bandwidth_bps,
        .sent = stats->memory_processed,
        .dirty_bps = stats->memory_dirty_rate * stats->memory_page_size,
        .iteration = stats->memory_iteration,
        .postcopy = job->mode == MODE_POSTCOPY,
        .stopped = job->mode == MODE_PAUSED || job->stream.stopped_ms != 0,
    };
    if (job->forecast.made) {
        begun_ms +=
            job->progress.sample.mono_ms - job->progress.sample.wall_ms; /* on the sample's clock */
        input.forecast_ms = begun_ms + job->forecast.total_ms;
        input.forecast_high_ms = begun_ms + job->forecast.high_ms;
    }
    eta_step(&job->progress.eta, &input);
}
