/* final.c - see final.h. */
#include "engine/data/final.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/expect.h"
#include "engine/data/observe.h"

enum { LATER_MS = 1000 }; /* until both hosts are observed once more after the end */

void final_statistics(struct fleet *f, struct job *job, const struct hv_job_stats *stats,
                      const char *from)
{
    if (job->final.known && strcmp(job->final.from, "event") == 0)
        return;
    job->final.known = true;
    TEXT_SET(job->final.from, from);
    job->final.total_ms = stats->time_elapsed_ms;
    job->final.downtime_ms = stats->downtime_ms;
    job->final.setup_ms = stats->setup_ms;
    job->final.bytes = stats->data_processed;
    job->final.iterations = stats->memory_iteration;
    job->final.whole_bytes = stats->data_total;
    job->changed = true;
    job->version = fleet_touch(f);
    if (phase_is_final(job->phase))
        expect_learn(f, job);
    fleet_settle_job(f, job);
}

/* No event had the statistics: the node that owns the guest keeps them for a while. */
static void ask_final(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->result.outcome != OUTCOME_SUCCEEDED || job->final.known)
        return;
    job->final.question = ++f->next_call_id;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_FINAL, job, now.wall_ms);
    effect->of.act.id = job->final.question;
    TEXT_SET(effect->of.act.node, job->target);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

/* Compares forecast and result; starts the last observation of both hosts. */
static void end_move(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    expect_ended(f, job, now, fx);
    expect_learn(f, job);
    ask_final(f, job, now, fx);
    (void)effects_add(fx, EFFECT_DO_UNWATCH, job, now.wall_ms);
    job->result.observe_later = true;
    job->queue.wake_ms = now.mono_ms + LATER_MS;
    job->resolution.source_side.query_id = job->resolution.target_side.query_id =
        0; /* no longer awaited */
}

void final_finish(struct fleet *f, struct job *job, enum trigger why,
                  const struct step_ending *ending, struct moment now, struct effects *fx)
{
    bool handed_off = job->epoch > 0;
    if (handed_off && job->resolution.source_side.seen_wall_ms != 0)
        observe_record_sides(job, "outcome", now, fx);
    step_finish(f, job, why, ending, now, fx);
    if (job->frozen)
        return;
    /* An incident open by now is about a split; the verdict opens another one if needed. */
    (void)incidents_close(&f->incidents, job->uid, INCIDENT_END_SETTLED, "ferry", now.wall_ms);
    if (handed_off)
        end_move(f, job, now, fx);
    if (job->request.remove_when_final)
        (void)effects_add(fx, EFFECT_DO_REMOVE, job, now.wall_ms);
}
