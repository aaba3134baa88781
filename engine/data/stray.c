/* stray.c - see stray.h. */
#include "engine/data/stray.h"

#include <stdio.h>
#include <time.h>

#include "base/text.h"
#include "engine/model/fleet/fleet_incidents.h"

enum {
    SUSPENDED_MIGRATED = 1, /* libvirt's detail of SUSPENDED in a switch-over */
    TOGETHER_MS = 200,      /* both are seen running in two rounds, this far apart */
    LATENCY_MS = 500,       /* of the events that the source's pause is measured by */
    PAUSE_MIN_MS = 1000,    /* of a pause that only events tell: they may come late, in a burst */
    ASK_AGAIN_MS = 2000,    /* after a query that is not answered */
    ASK_PAUSE_MS = 400,     /* after an answer without statistics */
    ASKS_MAX = 100,
    FRESH_MS = 1500,
};

/* QEMU answers nothing between the stop and the end of a pre-copy. So when a sample shows more
 * memory copied and some left, the guest ran at the sample before it, which was asked for after the
 * answer before that one: no delay of an answer or event makes that time too late. */
void stray_sample(struct job *job, const struct sample *sample)
{
    struct job_stray *stray = &job->resolution.stray;
    if (sample->source == SAMPLE_COMPLETED || stray->stopped_ms != 0)
        return; /* a copy goes on while the guest is paused by somebody */
    if (sample->stats.data_processed > stray->bytes && sample->stats.data_remaining != 0)
        stray->ran_ms = stray->before_ms;
    stray->bytes = sample->stats.data_processed;
    stray->before_ms = stray->last_ms;
    stray->last_ms = sample->mono_ms;
}

void stray_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now)
{
    struct job_stray *stray = &job->resolution.stray;
    if (event->kind != HV_EVENT_LIFECYCLE)
        return;
    bool resumed = event->a == HV_LIFECYCLE_RESUMED;
    if (at_source && event->a == HV_LIFECYCLE_SUSPENDED && event->b == SUSPENDED_MIGRATED)
        *stray = (struct job_stray){.stopped_ms = now.mono_ms,
                                    .ran_ms = stray->ran_ms,
                                    .target_first = stray->target_first};
    else if (at_source && resumed && stray->stopped_ms != 0 && stray->back_ms == 0)
        stray->back_ms = now.mono_ms;
    else if (!at_source && resumed && stray->back_ms == 0)
        stray->target_first = true;
}

static bool runs_because(const struct job_side *side, int reason)
{
    return side->observation.presence == HV_PRESENT &&
           side->observation.state == HV_STATE_RUNNING && side->observation.reason == reason;
}

/* libvirt's own words for it. A guest that somebody resumed by hand has another reason. */
static bool was_taken_back(const struct job *job)
{
    return runs_because(&job->resolution.source_side, HV_RUNNING_MIGRATION_CANCELED);
}

static bool was_started(const struct job *job)
{
    return runs_because(&job->resolution.target_side, HV_RUNNING_MIGRATED);
}

static void note_order_of_starts(struct job *job, int64_t stable_ms)
{
    struct job_stray *stray = &job->resolution.stray;
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    if (was_taken_back(job) && stray->stopped_ms != 0 && stray->back_ms == 0)
        stray->back_ms = job->resolution.source_side.seen_ms; /* its event was missed */
    if (source == SIDE_MOVING && was_started(job))
        stray->target_first = true;
    if (was_taken_back(job) && target == SIDE_MOVING && stable_ms >= TOGETHER_MS)
        stray->target_waited = true;
}

/* The target's statistics count from the stop of the source's CPUs to the start of its own. A
 * source's pause that is measured too short would count for the target: events may be late. From
 * a time at which the guest surely ran it is never too short, however soon the source resumed: the
 * keepalive counts from the target's last answer, which may be long before the switch-over. */
static bool target_was_last(const struct job_stray *stray)
{
    if (stray->target_first)
        return false;
    if (stray->target_waited)
        return true;
    if (!stray->known || stray->stopped_ms == 0 || stray->back_ms == 0)
        return false;
    int64_t pause_ms = stray->back_ms - stray->stopped_ms;
    int64_t downtime_ms = (int64_t)stray->downtime_ms;
    bool by_samples = stray->ran_ms != 0 && downtime_ms >= stray->back_ms - stray->ran_ms;
    return by_samples || (pause_ms >= PAUSE_MIN_MS && downtime_ms + LATENCY_MS >= pause_ms);
}

/* The target keeps its statistics only at the end of Finish: on a busy host seconds after it has
 * started its copy. */
static void ask(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct job_stray *stray = &job->resolution.stray;
    int64_t pause_ms = stray->question != 0 ? ASK_AGAIN_MS : ASK_PAUSE_MS;
    bool waits = stray->asks > 0 && now.mono_ms - stray->asked_ms < pause_ms;
    if (stray->known || waits || stray->asks >= ASKS_MAX)
        return;
    stray->question = ++f->next_call_id;
    stray->asked_ms = now.mono_ms;
    stray->asks++;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_FINAL, job, now.wall_ms);
    effect->of.act.id = stray->question;
    TEXT_SET(effect->of.act.node, job->target);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

static void suspend(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                    .call = HV_CALL_SUSPEND,
                                    .intent = INTENT_SUSPEND_STRAY,
                                    .node = job->target};
    if (job->orders[ORDER_STRAY].id != 0 || now.mono_ms < order_due_ms(job, ORDER_STRAY, &spec))
        return;
    if (job->resolution.stray_ms == 0) {
        job->resolution.stray_ms = now.wall_ms;
        effects_event(fx, job, now.wall_ms, true, "SecondCopy",
                      "The migration failed and %s resumed the guest; after that libvirtd on %s "
                      "started its copy too: suspending that copy.",
                      job->source, job->target);
        (void)snprintf(job->stream.remedy, sizeof job->stream.remedy,
                       "libvirt started a second copy on %.64s, which Ferry suspended",
                       job->target);
    }
    (void)order_give(f, job, ORDER_STRAY, &spec, now, fx);
}

void stray_seen(struct fleet *f, struct job *job, int64_t stable_ms, struct moment now,
                struct effects *fx)
{
    const struct job_resolution *seen = &job->resolution;
    note_order_of_starts(job, stable_ms);
    bool precopy =
        job->phase == PHASE_RUNNING && job->mode != MODE_POSTCOPY && !job->stream.postcopy_ordered;
    bool ours = !seen->foreign && !job->unconfirmed && !order_is_out(job, ORDER_MIGRATE);
    if (!precopy || !ours || !was_taken_back(job) || !was_started(job))
        return;
    bool is_last = seen->stray_ms != 0 || target_was_last(&seen->stray);
    bool fresh = now.mono_ms - seen->source_side.seen_ms <= FRESH_MS &&
                 now.mono_ms - seen->target_side.seen_ms <= FRESH_MS;
    bool over = seen->hv_job == JOB_SEEN_NONE && seen->hv_job_round == seen->round;
    if (!is_last)
        ask(f, job, now, fx);
    else if (fresh && over && stable_ms >= TOGETHER_MS && f->store_ok)
        suspend(f, job, now, fx);
}

bool stray_statistics(struct job *job, uint64_t id, const struct err *err,
                      const struct hv_job_stats *stats, struct moment now)
{
    struct job_stray *stray = &job->resolution.stray;
    if (stray->question == 0 || stray->question != id)
        return false;
    stray->question = 0;
    stray->known =
        err->code == ERR_NONE && stats->type == HV_JOB_COMPLETED && stats->downtime_ms != 0;
    stray->downtime_ms = stats->downtime_ms;
    job->resolution.next_round_ms = now.mono_ms;
    return true;
}

void stray_called(struct job *job, const struct err *err, struct moment now, struct effects *fx)
{
    if (err->code == ERR_NONE)
        effects_event(fx, job, now.wall_ms, true, "SecondCopySuspended",
                      "Suspended the second copy on %s, %.1f s after both were seen to run. The "
                      "guest runs on %s. Destroy the copy on %s.",
                      job->target,
                      (double)(now.mono_ms - job->resolution.ownership_since_ms) / 1000,
                      job->source, job->target);
    job->resolution.next_round_ms = now.mono_ms;
}

void stray_note_split(struct fleet *f, struct job *job, enum ownership ownership, struct moment now)
{
    const struct hv_observation *source = &job->resolution.source_side.observation,
                                *target = &job->resolution.target_side.observation;
    bool seen = ownership_side(source) != SIDE_BLIND && ownership_side(target) != SIDE_BLIND;
    bool runs_on_both = source->state != HV_STATE_PAUSED && target->state != HV_STATE_PAUSED;
    if (ownership == OWNERSHIP_SPLIT && job->resolution.guest_at != GUEST_AT_SPLIT) {
        job->resolution.guest_at = GUEST_AT_SPLIT;
        job->changed = true;
        /* A paused copy writes nothing: reported, but no such incident. */
        if (runs_on_both || job->resolution.stray_ms != 0)
            incidents_split(f, job, now.wall_ms);
    } else if (ownership != OWNERSHIP_SPLIT && seen && !stray_is_suspended(job)) {
        incidents_settled(f, job->uid, INCIDENT_SPLIT, now.wall_ms);
    }
}

bool stray_is_suspended(const struct job *job)
{
    const struct hv_observation *target = &job->resolution.target_side.observation;
    return job->resolution.stray_ms != 0 &&
           (target->presence == HV_UNREACHABLE ||
            (target->presence == HV_PRESENT && target->state == HV_STATE_PAUSED));
}

void stray_describe(const struct job *job, char out[static JOB_REASON_MAX])
{
    time_t at = (time_t)(job->resolution.stray_ms / 1000);
    struct tm utc;
    char when[32] = "";
    if (gmtime_r(&at, &utc) != NULL)
        (void)strftime(when, sizeof when, "%H:%M:%S UTC", &utc);
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    if (ownership_is_gone(source))
        (void)snprintf(out, JOB_REASON_MAX,
                       "The only copy left is the one on %.64s that Ferry suspended at %s: resume "
                       "it there if it is to run; Ferry does not",
                       job->target, when);
    else
        (void)snprintf(out, JOB_REASON_MAX,
                       "The guest belongs to %.64s; libvirt started a second copy on %.64s, which "
                       "Ferry suspended at %s: destroy that copy there, never resume it while "
                       "%.64s has the guest",
                       job->source, job->target, when, job->source);
}

void stray_left(struct job *job, bool on_source, struct moment now, struct effects *fx)
{
    if (!stray_is_suspended(job))
        return;
    effects_event(fx, job, now.wall_ms, true, "SecondCopyLeft",
                  on_source
                      ? "The copy on %s that Ferry suspended is left there: destroy it, never "
                        "resume it."
                      : "The copy on %s was suspended by Ferry and stays so: resume it there once "
                        "no other copy is left.",
                  job->target);
}
