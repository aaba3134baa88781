/* userpause.c - see userpause.h. */
#include "engine/data/userpause.h"

#include "engine/data/monitor_driver.h"
#include "engine/data/order.h"

enum { TRIES_MAX = 20, AGAIN_MS = 500, DOWNTIME_MS = 300, STANDS_MS = 1000, FRESH_MS = 1500 };
enum { DETAIL_PAUSED = 0, DETAIL_MIGRATED = 1, DETAIL_UNPAUSED = 0 }; /* libvirt's */

static bool is_ours(const struct job *job)
{
    return job->monitor.stopped_by_us || monitor_driver_is_pausing(job) ||
           job->orders[ORDER_RESUME].id != 0;
}

static void note_pause(struct job *job, bool paused, struct moment now, struct effects *fx)
{
    if (job->userpause.requested == paused)
        return;
    job->userpause.requested = paused;
    job->changed = true;
    effects_event(fx, job, now.wall_ms, false, paused ? "PausedByUser" : "UnpausedByUser",
                  paused
                      ? "The user paused the guest during the migration; it will be paused on %s."
                      : "The user resumed the guest; it will run on %s.",
                  job->target);
}

static void pause_at(struct fleet *f, struct job *job, bool at_source, struct moment now,
                     struct effects *fx)
{
    int64_t since_ms = now.wall_ms - job->orders[ORDER_USER_PAUSE].asked_ms;
    if (job->orders[ORDER_USER_PAUSE].id != 0 || job->userpause.tries >= TRIES_MAX ||
        (since_ms >= 0 && since_ms < AGAIN_MS))
        return;
    if (job->userpause.ran_since_ms == 0)
        job->userpause.ran_since_ms = now.mono_ms;
    job->userpause.tries++;
    const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                    .call = HV_CALL_SUSPEND,
                                    .intent =
                                        at_source ? INTENT_PAUSE_AT_SOURCE : INTENT_PAUSE_AT_TARGET,
                                    .node = at_source ? job->source : job->target};
    (void)order_give(f, job, ORDER_USER_PAUSE, &spec, now, fx);
}

/* By the newest sample little remains: the migration may be about to finish. */
static bool is_almost_done(const struct job *job)
{
    if (!job->progress.has_sample || job->progress.sample.bandwidth_bps == 0)
        return true;
    int64_t allowed_ms = monitor_driver_downtime_ms(job);
    int64_t rest_ms = (int64_t)(job->progress.sample.stats.data_remaining * 1000 /
                                job->progress.sample.bandwidth_bps);
    return rest_ms <= 3 * (allowed_ms > DOWNTIME_MS ? allowed_ms : DOWNTIME_MS) + 2000;
}

/* Could the hypervisor itself have stopped the guest, for the switch-over? It does so right after
 * an iteration began, and what remains then is not known before the next sample: compressed or zero
 * pages go far faster than the bandwidth says. */
static bool may_be_switch(const struct job *job, struct moment now)
{
    bool fresh = job->progress.has_sample && now.mono_ms - job->progress.sample.mono_ms <= FRESH_MS;
    return !fresh || job->userpause.iteration_ms > job->progress.sample.mono_ms ||
           is_almost_done(job);
}

void userpause_iteration(struct job *job, struct moment now)
{
    job->userpause.iteration_ms = now.mono_ms;
}

void userpause_event(struct fleet *f, struct job *job, bool at_source, const struct hv_event *event,
                     struct moment now, struct effects *fx)
{
    bool before = (job->call.flags & HV_MIGRATE_PAUSED) != 0; /* it arrives paused anyway */
    if (event->kind != HV_EVENT_LIFECYCLE || job->phase != PHASE_RUNNING || before)
        return;
    bool ours = is_ours(job);
    bool resumed = event->a == HV_LIFECYCLE_RESUMED;
    bool suspended = event->a == HV_LIFECYCLE_SUSPENDED && job->mode != MODE_POSTCOPY;
    if (at_source)
        job->userpause.suspect_ms = 0;
    if (at_source && !ours && suspended && event->b == DETAIL_PAUSED)
        note_pause(job, true, now, fx);
    else if (at_source && !ours && suspended && event->b == DETAIL_MIGRATED &&
             !may_be_switch(job, now))
        job->userpause.suspect_ms = now.mono_ms;
    else if (at_source && !ours && resumed && event->b == DETAIL_UNPAUSED)
        note_pause(job, false, now, fx);
    else if (!at_source && resumed && job->userpause.requested)
        pause_at(f, job, false, now, fx);
}

void userpause_seen(struct job *job, struct moment now, struct effects *fx)
{
    const struct hv_observation *observation = &job->resolution.source_side.observation;
    bool paused = observation->presence == HV_PRESENT && observation->state == HV_STATE_PAUSED &&
                  observation->reason == HV_PAUSED_USER;
    bool ours = is_ours(job);
    bool outdated = job->resolution.source_side.asked_ms <= job->userpause.ours_ms;
    bool before = (job->call.flags & HV_MIGRATE_PAUSED) != 0; /* it arrives paused anyway */
    if (ours)
        job->userpause.ours_ms = now.mono_ms;
    if (ours || outdated || before || job->phase != PHASE_RUNNING || job->mode == MODE_POSTCOPY)
        return;
    bool is_paused = observation->presence == HV_PRESENT && observation->state == HV_STATE_PAUSED &&
                     observation->reason == HV_PAUSED_MIGRATION;
    int64_t suspect_ms = job->userpause.suspect_ms;
    bool proven = suspect_ms != 0 && is_paused &&
                  job->resolution.source_side.seen_ms - suspect_ms >= STANDS_MS &&
                  !is_almost_done(job); /* by a sample that came after the event */
    if (paused || proven)
        note_pause(job, true, now, fx);
}

/* The guest is seen paused before the order to pause it is answered: the job may end first, and its
 * answer is then nobody's. */
static void note_seen_paused(struct job *job, bool at_source, const struct hv_observation *seen,
                             struct moment now, struct effects *fx)
{
    bool paused = seen->presence == HV_PRESENT && seen->state == HV_STATE_PAUSED;
    if (!paused || !order_is_out(job, ORDER_USER_PAUSE))
        return;
    effects_event(fx, job, now.wall_ms, false, at_source ? "PausedAtSource" : "PausedAtTarget",
                  at_source ? "Paused on %s again, as by its user, after the migration ended."
                            : "Paused on %s as on the source.",
                  at_source ? job->source : job->target);
}

bool userpause_holds(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct hv_observation *observation = &job->resolution.target_side.observation;
    bool runs = observation->presence == HV_PRESENT && observation->state == HV_STATE_RUNNING;
    if (!job->userpause.requested || !runs) {
        note_seen_paused(job, false, observation, now, fx);
        return false;
    }
    if (job->userpause.tries >= TRIES_MAX && job->orders[ORDER_USER_PAUSE].id == 0) {
        effects_event(fx, job, now.wall_ms, true, "NotPausedAtTarget",
                      "The user paused the guest, but %s does not pause it: it runs there.",
                      job->target);
        return false;
    }
    pause_at(f, job, false, now, fx);
    step_wait(job, PENDING_UNPROVEN, now, "Arrived on %s; pausing it as on the source",
              job->target);
    return true;
}

/* libvirt lets the guest run again when a migration fails, as it did before the migration. A user
 * who resumed it leaves another reason. */
static bool was_undone(const struct hv_observation *source)
{
    return source->presence == HV_PRESENT && source->state == HV_STATE_RUNNING &&
           source->reason != HV_RUNNING_UNPAUSED;
}

bool userpause_holds_source(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct hv_observation *source = &job->resolution.source_side.observation;
    bool before = (job->call.flags & HV_MIGRATE_PAUSED) != 0;
    bool paused = source->presence == HV_PRESENT && source->state == HV_STATE_PAUSED;
    if (!job->userpause.requested || before)
        return false;
    if (paused && job->userpause.tries == 0)
        effects_event(fx, job, now.wall_ms, false, "PausedAtSource",
                      "The migration ended; the guest stays paused on %s, as its user wished.",
                      job->source);
    if (!was_undone(source)) {
        note_seen_paused(job, true, source, now, fx);
        return false;
    }
    if (job->userpause.tries >= TRIES_MAX && job->orders[ORDER_USER_PAUSE].id == 0) {
        effects_event(fx, job, now.wall_ms, true, "NotPausedAtSource",
                      "The user paused the guest, but %s does not pause it again after the failed "
                      "migration: it runs there.",
                      job->source);
        return false;
    }
    pause_at(f, job, true, now, fx);
    step_wait(job, PENDING_UNPROVEN, now, "Stayed on %s and runs again; pausing it as its user did",
              job->source);
    return true;
}

void userpause_called(struct job *job, const struct err *err, struct moment now, struct effects *fx)
{
    bool at_source = job->orders[ORDER_USER_PAUSE].kind == INTENT_PAUSE_AT_SOURCE;
    if (err->code == ERR_NONE) {
        job->userpause.ran_ms = now.mono_ms - job->userpause.ran_since_ms;
        effects_event(fx, job, now.wall_ms, false, at_source ? "PausedAtSource" : "PausedAtTarget",
                      at_source
                          ? "Paused on %s again, as by its user, after the migration ended; it "
                            "ran for at least %lld ms."
                          : "Paused on %s as on the source; it ran there for about %lld ms.",
                      at_source ? job->source : job->target, (long long)job->userpause.ran_ms);
    }
    job->resolution.next_round_ms = now.mono_ms;
}
