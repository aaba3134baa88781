/* step.c - see step.h. */
#include "engine/model/step.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/expect.h"

enum { FRESH_MS = 1000, LOOKS_AGAIN_MAX = 3, LOOK_LOST_MS = 60000 };
enum { LATER_MS = 1000, RESIDUE_MS = 10000 };

void step_launcher(struct job *job, enum launcher launcher, struct moment now)
{
    if (job->launcher == launcher)
        return;
    job->launcher = launcher;
    job->launcher_since_ms = now.wall_ms;
    job->changed = true;
}

void step_take(struct fleet *f, struct job *job, enum trigger why, struct moment now,
               struct effects *fx)
{
    enum phase from = job->phase;
    int64_t spent_ms = now.mono_ms - job->entered_ms;
    if (job->frozen)
        return;
    if (!job_step(job, why, now)) {
        fleet_freeze_job(f, job, "there is no step '%s' from %s", trigger_name(why),
                         phase_name(from));
        return;
    }
    const char *flaw = job_flaw(job);
    if (flaw != NULL) { /* before anything else follows from the step */
        fleet_freeze_job(f, job, "after the step '%s' from %s: %s", trigger_name(why),
                         phase_name(from), flaw);
        job->phase = from;
        return;
    }
    step_wait_over(job, now);
    fleet_job_moved(f, job, from);
    job->wake_ms = now.mono_ms;

    struct effect *effect = effects_add(fx, EFFECT_STEP, job, now.wall_ms);
    effect->of.step.from = from;
    effect->of.step.to = job->phase;
    effect->of.step.why = why;
    effect->of.step.seq = job->n_steps;
    effect->of.step.spent_ms = spent_ms > 0 ? spent_ms : 0;
}

void step_wait(struct job *job, enum pending pending, struct moment now, const char *fmt, ...)
{
    char text[JOB_REASON_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (job->pending != pending) {
        step_wait_over(job, now);
        job->pending = pending;
        job->waits_since_ms = now.wall_ms;
        job->waits_mono_ms = now.mono_ms;
        job->waits_until_ms = 0;
        job->changed = true;
    }
    if (strcmp(job->pending_reason, text) == 0)
        return;
    TEXT_SET(job->pending_reason, text);
    job->changed = true;
}

void step_wait_over(struct job *job, struct moment now)
{
    if (job->pending == PENDING_NONE)
        return;
    if (now.mono_ms > job->waits_mono_ms)
        job->waited_ms[job->pending] += now.mono_ms - job->waits_mono_ms;
    job->pending = PENDING_NONE;
    job->pending_reason[0] = '\0';
}

static void record_side(const struct job *job, const struct hv_sight *sight, bool is_source,
                        const char *moment, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_SIGHTING, job, now.wall_ms);
    TEXT_SET(effect->of.sighting.node, is_source ? job->source : job->target);
    effect->of.sighting.role = is_source ? "source" : "target";
    effect->of.sighting.moment = moment;
    effect->of.sighting.sight = *sight;
}

void step_record_sides(struct job *job, const char *moment, struct moment now, struct effects *fx)
{
    record_side(job, &job->source_side.sight, true, moment, now, fx);
    record_side(job, &job->target_side.sight, false, moment, now, fx);
}

static void end_event(const struct job *job, struct moment now, struct effects *fx)
{
    if (job->outcome == OUTCOME_SUCCEEDED)
        effects_event(fx, job, now.wall_ms, false, "SuccessfulMigration",
                      "The guest runs on %s and is gone from %s.", job->target, job->source);
    else
        effects_event(fx, job, now.wall_ms, true, "FailedMigration", "%s; guest: %s",
                      job->failure_reason, guest_at_name(job->guest_at));
}

void step_final(struct fleet *f, struct job *job, const struct hv_job_stats *stats,
                const char *from)
{
    if (job->final.known && strcmp(job->final.from, "event") == 0)
        return;
    job->final.known = true;
    job->final.from = from;
    job->final.total_ms = stats->time_elapsed_ms;
    job->final.downtime_ms = stats->downtime_ms;
    job->final.setup_ms = stats->setup_ms;
    job->final.bytes = stats->data_processed;
    job->final.passes = stats->memory_iteration;
    job->final.whole_bytes = stats->data_total;
    job->changed = true;
    job->version = fleet_touch(f);
    if (phase_is_final(job->phase))
        expect_learn(f, job);
    fleet_settle_job(f, job);
}

/* Nobody told the numbers: the node that has the guest keeps them for a while. */
static void ask_final(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->outcome != OUTCOME_SUCCEEDED || job->final.known)
        return;
    job->final.question = ++f->next_call_id;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_FINAL, job, now.wall_ms);
    effect->of.act.id = job->final.question;
    TEXT_SET(effect->of.act.node, job->target);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

void step_finish(struct fleet *f, struct job *job, enum trigger why,
                 const struct step_ending *ending, struct moment now, struct effects *fx)
{
    bool handed_off = job->epoch > 0;
    job->outcome = ending->outcome;
    if (job->launcher != LAUNCHER_NONE)
        step_launcher(job, ending->outcome == OUTCOME_SUCCEEDED ? LAUNCHER_GONE : LAUNCHER_FAILED,
                      now);
    job->guest_at = ending->guest_at;
    TEXT_SET(job->failure_reason, ending->reason);
    job->ended_waiting = job->pending;
    if (handed_off && job->source_side.seen_wall_ms != 0)
        step_record_sides(job, "outcome", now, fx);
    step_take(f, job, why, now, fx);
    if (job->frozen)
        return;
    /* What is open about it was about its being split; its verdict opens what is to be opened. */
    (void)incidents_close(&f->incidents, job->uid, INCIDENT_END_SETTLED, "ferry", now.wall_ms);
    end_event(job, now, fx);
    if (handed_off) {
        expect_ended(f, job, now, fx);
        expect_learn(f, job);
    }
    if (handed_off) {
        ask_final(f, job, now, fx);
        (void)effects_add(fx, EFFECT_DO_UNWATCH, job, now.wall_ms);
        job->looks_later = true;
        job->wake_ms = now.mono_ms + LATER_MS;
        job->source_side.look_id = job->target_side.look_id = 0; /* nobody waits for them */
    }
    if (job->remove_when_final)
        (void)effects_add(fx, EFFECT_DO_REMOVE, job, now.wall_ms);
}

static void look_at(struct fleet *f, struct job *job, struct job_side *side, const char *node,
                    struct moment now, struct effects *fx)
{
    side->look_id = ++f->next_call_id;
    side->asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_LOOK, job, now.wall_ms);
    effect->of.act.id = side->look_id;
    TEXT_SET(effect->of.act.node, node);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

void step_look_later(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    job->looks_later = false;
    look_at(f, job, &job->source_side, job->source, now, fx);
    look_at(f, job, &job->target_side, job->target, now, fx);
}

/* It moved. A definition that did not is nothing to be mended from here: to undefine, or define, a
 * guest by what an older look said may hit somebody else's. NULL: all is as it should be. */
static const char *residue_of(const struct job *job, const struct hv_sight *sight, bool is_source)
{
    if (job->outcome != OUTCOME_SUCCEEDED || sight->presence != HV_PRESENT)
        return NULL;
    if (is_source && (sight->state == HV_STATE_SHUTOFF || sight->state == HV_STATE_CRASHED))
        return "DefinitionLeft";
    bool missing = (job->flags & HV_MIGRATE_PERSIST) != 0 && !sight->persistent;
    return !is_source && missing ? "DefinitionMissing" : NULL;
}

/* Hosts may be slow to clear up: what was seen once is looked at once more, then told. */
static void tell_residue(struct job *job, const char *what, bool again, bool is_source,
                         struct moment now, struct effects *fx)
{
    if (what == NULL)
        return;
    if (!again) {
        job->residue = job->looks_later = true;
        job->wake_ms = now.mono_ms + RESIDUE_MS;
    } else if (is_source) {
        effects_event(fx, job, now.wall_ms, true, what,
                      "The guest runs on %s, but its definition is still on %s, where it could be "
                      "started a second time: undefine it there.",
                      job->target, job->source);
    } else {
        effects_event(fx, job, now.wall_ms, true, what,
                      "The guest runs on %s but is not defined there: it is gone once it stops. "
                      "Define it there.",
                      job->target);
    }
}

bool step_seen_later(struct fleet *f, struct job *job, uint64_t id, const struct hv_sight *sight,
                     struct moment now, struct effects *fx)
{
    bool is_source = job->source_side.look_id == id;
    if (id == 0 || (!is_source && job->target_side.look_id != id))
        return false;
    (is_source ? &job->source_side : &job->target_side)->look_id = 0;
    const struct job *next = fleet_active_job(f, job->guest_uuid);
    if (!is_source && job->outcome == OUTCOME_SUCCEEDED && next != NULL && next->epoch > 0)
        return true; /* it moves on: that it is gone says nothing */
    record_side(job, sight, is_source, "later", now, fx);
    tell_residue(job, residue_of(job, sight, is_source), job->residue && !job->looks_later,
                 is_source, now, fx);
    return true;
}

/* An answer that never comes (a full queue, no memory) counts as "could not be asked". */
static void give_up(struct job *job, struct job_side *side, struct moment now)
{
    if (side->look_id == 0 || now.mono_ms - side->asked_ms < LOOK_LOST_MS)
        return;
    side->look_id = 0;
    side->round = job->round;
    side->sight = (struct hv_sight){.presence = HV_UNREACHABLE, .job_type = -1};
    side->seen_ms = now.mono_ms;
    side->seen_wall_ms = now.wall_ms;
}

void step_look(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->source_side.look_id != 0 || job->target_side.look_id != 0)
        return;
    job->round++;
    job->again = 0;
    look_at(f, job, &job->source_side, job->source, now, fx);
    look_at(f, job, &job->target_side, job->target, now, fx);
}

/* A host that does not answer holds up a round for many seconds; what the other one said by then
 * is history. Asked again a few times at most: two slow hosts must not keep a job waiting for
 * ever. What could not be seen does not age. */
static bool has_aged(const struct job *job, const struct job_side *side, struct moment now)
{
    bool is_fact = side->sight.presence == HV_PRESENT || side->sight.presence == HV_ABSENT;
    return is_fact && job->again < LOOKS_AGAIN_MAX && now.mono_ms - side->seen_ms > FRESH_MS;
}

bool step_looked(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct job_side *source = &job->source_side, *target = &job->target_side;
    give_up(job, source, now);
    give_up(job, target, now);
    if (job->round == 0 || source->round != job->round || target->round != job->round)
        return false;
    if (job->judged_round == job->round)
        return true;
    bool source_aged = has_aged(job, source, now), target_aged = has_aged(job, target, now);
    if (!source_aged && !target_aged)
        return true;
    job->again++;
    if (source_aged) {
        source->round = 0;
        look_at(f, job, source, job->source, now, fx);
    }
    if (target_aged) {
        target->round = 0;
        look_at(f, job, target, job->target, now, fx);
    }
    return false;
}
