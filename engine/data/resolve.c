/* resolve.c - see resolve.h. */
#include "engine/data/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/move.h"
#include "engine/data/ownership.h"

enum {
    ROUND_FAST_MS = 200,  /* between rounds at first */
    ROUND_SLOW_MS = 1000, /* while it moves, or after FAST_FOR_MS */
    FAST_FOR_MS = 10000,
    SETTLED_MS = 1000,     /* a verdict about absence must stand this long */
    JOB_ANSWER_MS = 10000, /* how long an answer about the source's job is awaited */
    LEFTOVER_MS = 10000,   /* how long a dead copy may linger on the target */
    CALLS_AGAIN_MAX = 2,
};

void resolve_begin(struct job *job, struct moment now)
{
    if (phase_is_final(job->phase))
        return;
    job->resolving = true;
    job->changed = true;
    job->next_round_ms = job->wake_ms = now.mono_ms;
    job->hv_job = JOB_SEEN_UNKNOWN;
    job->hv_job_question = 0; /* an answer to an older question says nothing about now */
    job->hv_job_round = 0;
    job->judged_round = job->round;
    job->verdict_last = -1;
    job->verdict_since_ms = now.mono_ms;
}

static void reason_from_error(const struct job *job, char *out, size_t out_bytes)
{
    const struct err *error = &job->error;
    if (error->code == ERR_NONE || error->code == ERR_UNREACHABLE)
        (void)snprintf(out, out_bytes,
                       "the migration ended out of sight and the guest stayed on %s", job->source);
    else if (error->hv_code != 0)
        (void)snprintf(out, out_bytes, "virError(Code=%d, Domain=%d, Message='%.400s')",
                       error->hv_code, error->hv_domain, error->text);
    else
        (void)snprintf(out, out_bytes, "%s: %.450s", err_name(error->code), error->text);
}

static void finish_on_source(struct fleet *f, struct job *job, struct moment now,
                             struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_FAILED, .guest_at = GUEST_AT_SOURCE};
    if (job->abort_asked && job->abort_accepted) {
        ending.outcome = OUTCOME_ABORTED;
        (void)snprintf(ending.reason, sizeof ending.reason, "aborted by %s: %.400s",
                       job->abort_requester, job->abort_why);
    } else {
        reason_from_error(job, ending.reason, sizeof ending.reason);
    }
    if (job->abort_asked)
        job->abort_status = job->abort_accepted ? ABORT_SUCCEEDED : ABORT_FAILED;
    step_finish(f, job, TRIGGER_ON_SOURCE, &ending, now, fx);
}

static void finish_on_target(struct fleet *f, struct job *job, struct moment now,
                             struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_SUCCEEDED, .guest_at = GUEST_AT_TARGET};
    if (job->abort_asked)
        job->abort_status = ABORT_FAILED; /* the migration won the race */
    step_finish(f, job, TRIGGER_ON_TARGET, &ending, now, fx);
}

static void finish_lost(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_LOST, .guest_at = GUEST_AT_LOST};
    char cause[JOB_REASON_MAX];
    reason_from_error(job, cause, sizeof cause);
    (void)snprintf(ending.reason, sizeof ending.reason,
                   "the guest runs on neither node: %s on %s, %s on %s; %.300s",
                   ownership_side_name(ownership_side(&job->source_side.sight)), job->source,
                   ownership_side_name(ownership_side(&job->target_side.sight)), job->target,
                   cause);
    if (job->abort_asked)
        job->abort_status = ABORT_FAILED;
    step_finish(f, job, TRIGGER_LOST, &ending, now, fx);
}

/* An earlier process recorded the intent and died: proof that the call was never made, or ended
 * before anything moved, lets us make it, in a new epoch. */
static void call_again(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->abort_asked) {
        struct step_ending ending = {.outcome = OUTCOME_ABORTED, .guest_at = GUEST_AT_SOURCE};
        (void)snprintf(ending.reason, sizeof ending.reason, "cancelled by %s before anything moved",
                       job->abort_requester);
        job->abort_status = ABORT_SUCCEEDED;
        step_finish(f, job, TRIGGER_CANCELLED, &ending, now, fx);
        return;
    }
    job->retries++;
    job->epoch++;
    job->intent_seq = 0;
    job->resolving = false;
    job->changed = true;
    job->entered_ms = now.mono_ms;
    effects_event(fx, job, now.wall_ms, false, "CallRepeated",
                  "Nothing of the recorded call is on either node; calling again, epoch %lld.",
                  (long long)job->epoch);
    move_call(f, job, now, fx);
}

/* The source runs the guest. That is the end only if its own job is over too: a call that was
 * refused because another one is at work must not be taken for a failed migration. */
static void settle_on_source(struct fleet *f, struct job *job, struct moment now,
                             struct effects *fx)
{
    if (job->hv_job != JOB_SEEN_NONE)
        job->verdict_since_ms = now.mono_ms; /* "nothing at work" must stand by itself */
    if (job->hv_job == JOB_SEEN_ACTIVE && !job->call_over) {
        job->changed = job->changed || job->resolving;
        job->resolving = false; /* it simply runs; nobody's call tells, we watch */
        move_seen(f, job, now, fx);
    }
    if (job->hv_job != JOB_SEEN_NONE)
        return;

    int64_t stood_ms = now.mono_ms - job->verdict_since_ms;
    bool leftover = ownership_side(&job->target_side.sight) == SIDE_MOVING;
    if (leftover && stood_ms < LEFTOVER_MS)
        return; /* the target is still clearing its copy away */
    if (!job->call_over && stood_ms < SETTLED_MS)
        return;
    bool never_moved = job->phase == PHASE_TARGET_READY && !job->moved;
    if (!job->call_over && never_moved && job->retries < CALLS_AGAIN_MAX)
        call_again(f, job, now, fx);
    else
        finish_on_source(f, job, now, fx);
}

/* Told once per verdict, not once per round. */
static void cry(struct job *job, const char *reason, const char *text, struct moment now,
                struct effects *fx)
{
    effects_event(fx, job, now.wall_ms, true, reason, "%s (%s on %s, %s on %s)", text,
                  ownership_side_name(ownership_side(&job->source_side.sight)), job->source,
                  ownership_side_name(ownership_side(&job->target_side.sight)), job->target);
}

static void judge(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum ownership_verdict verdict = ownership_judge(ownership_side(&job->source_side.sight),
                                                     ownership_side(&job->target_side.sight));
    bool fresh = job->verdict_last != (int)verdict;
    if (fresh) {
        job->verdict_last = (int)verdict;
        job->verdict_since_ms = now.mono_ms;
        job->guest_at = ownership_guest_at(verdict);
        job->changed = true;
    }
    int64_t stood_ms = now.mono_ms - job->verdict_since_ms;
    switch (verdict) {
    case OWNERSHIP_ON_TARGET: finish_on_target(f, job, now, fx); break;
    case OWNERSHIP_ON_SOURCE: settle_on_source(f, job, now, fx); break;
    case OWNERSHIP_GONE:
        if (stood_ms >= SETTLED_MS)
            finish_lost(f, job, now, fx);
        break;
    case OWNERSHIP_SPLIT:
        if (fresh)
            cry(job, "Split", "The guest is active on both nodes; touch neither", now, fx);
        break;
    case OWNERSHIP_BROKEN:
        if (fresh)
            cry(job, "PostCopyBroken", "The stream broke in post-copy; nothing is touched", now,
                fx);
        break;
    case OWNERSHIP_BLIND:
        if (fresh)
            cry(job, "OutcomeUnknown", "A node cannot be asked; waiting for facts", now, fx);
        job->resolving = true;
        break;
    case OWNERSHIP_NONE:
    case OWNERSHIP_WAIT: break;
    }
}

/* Is the source's own job at work? Asked in each round in which the guest runs there, and only
 * then: in the blackout the question would hang, and hold the lock that an abort needs. True when
 * the answer of this round is here, or has been awaited long enough. */
static bool knows_job(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (ownership_side(&job->source_side.sight) != SIDE_OWNS || job->hv_job_round == job->round)
        return true;
    if (job->hv_job_question != 0) {
        int64_t until_ms = job->hv_job_asked_ms + JOB_ANSWER_MS;
        if (now.mono_ms < until_ms) {
            if (job->wake_ms > until_ms)
                job->wake_ms = until_ms;
            return false;
        }
        job->hv_job = JOB_SEEN_UNKNOWN;
        job->hv_job_question = 0;
        job->hv_job_round = job->round;
        return true;
    }
    job->hv_job_question = ++f->next_call_id;
    job->hv_job_asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_JOB, job, now.wall_ms);
    effect->of.act.id = job->hv_job_question;
    TEXT_SET(effect->of.act.node, job->source);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
    return false;
}

void resolve_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->judged_round != job->round && step_looked(f, job, now, fx)) {
        if (!knows_job(f, job, now, fx))
            return;
        job->judged_round = job->round;
        int64_t standing_ms = now.mono_ms - job->verdict_since_ms;
        bool calm = !job->resolving || standing_ms > FAST_FOR_MS;
        job->next_round_ms = now.mono_ms + (calm ? ROUND_SLOW_MS : ROUND_FAST_MS);
        judge(f, job, now, fx);
    }
    if (phase_is_final(job->phase) || job->call_out)
        return;
    if (now.mono_ms < job->next_round_ms) {
        if (job->wake_ms > job->next_round_ms)
            job->wake_ms = job->next_round_ms;
    } else if (job->judged_round == job->round) {
        step_look(f, job, now, fx);
    }
}
