/* move.c - see move.h. Reading the outcome is resolve.c. */
#include "engine/data/move.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/flags.h"
#include "engine/data/intent.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/observe.h"
#include "engine/data/ownership.h"
#include "engine/data/recovery.h"
#include "engine/data/remedy.h"
#include "engine/data/resolve.h"
#include "engine/data/userpause.h"
#include "hypervisor/versions.h"

enum { ABORT_RETRY_MS = 200, MONITOR_DRIVER_BLIND_MS = 1000 };

static void close_call(struct job *job, bool is_abort, const struct err *err, struct moment now,
                       struct effects *fx)
{
    if (is_abort)
        intent_close(job, job->abort_kind, job->abort_call_seq, job->abort_call_asked_ms, err, now,
                     fx);
    else
        intent_close(job, INTENT_MIGRATE, job->call_seq, job->call_asked_ms, err, now, fx);
}

/* A port on which the target will listen, where a broken post-copy can only be resumed by
 * connecting to it again (recovery.h): libvirt tells nobody which one it takes. It takes the lowest
 * free one of its range, so this is one of the upper half; the last is left to those who try
 * whether there is a path. A port that another program has is found out by the call, which is then
 * made again (resolve.c). 0: libvirt's choice. */
static unsigned choose_port(struct fleet *f, const struct job *job)
{
    enum { PORTS_TRIED_MAX = 2 };
    struct node *target = fleet_node(f, job->target);
    bool tunnelled = (job->flags & HV_MIGRATE_TUNNELLED) != 0;
    if (target == NULL || tunnelled || !hv_host_listens_on_address(&target->host) ||
        !hv_quirk_of(HV_QUIRK_RESUME_KILLS_TARGET, target->facts.libvirt_version) ||
        !flags_allow_postcopy(job) || job->retries >= PORTS_TRIED_MAX)
        return 0;
    unsigned min = target->host.port_min != 0 ? target->host.port_min : HV_PORT_MIN;
    unsigned max = target->host.port_max != 0 ? target->host.port_max : HV_PORT_MAX;
    if (max < min + 3)
        return 0;
    unsigned first = min + (max - min + 1) / 2;
    return first + target->next_port++ % (max - first);
}

void move_call(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct hv_observation *observation = &job->source_side.observation;
    bool paused = observation->state == HV_STATE_PAUSED && observation->reason == HV_PAUSED_USER;
    job->flags &= ~(unsigned)(HV_MIGRATE_PAUSED | HV_MIGRATE_PERSIST | FLAGS_RELAYED);
    job->flags |= paused ? HV_MIGRATE_PAUSED : 0U; /* its user paused it: it arrives paused */
    job->flags |=
        observation->persistent ? HV_MIGRATE_PERSIST : 0U; /* defined there: it stays so */
    job->stream.port = choose_port(f, job);
    char port[32] = "";
    if (job->stream.port != 0)
        (void)snprintf(port, sizeof port, "port %u", job->stream.port);
    job->call_seq = intent_open(job, INTENT_MIGRATE, port, now, fx);
    job->call_asked_ms = now.wall_ms;
    struct effect *watch = effects_add(fx, EFFECT_DO_WATCH, job, now.wall_ms);
    TEXT_SET(watch->of.act.node, job->source);
    TEXT_SET(watch->of.act.guest, job->guest_uuid);
    watch->of.act.next_seq = job->next_sample_seq;

    job->call_id = ++f->next_call_id;
    job->call_out = true;
    job->call_over = job->withdrawn = false;
    job->stream.switched = job->stream.unseen = false;
    const struct node *target = fleet_node(f, job->target);
    job->stream.target_resumed = false;
    job->stream.target_unseen = target == NULL || !target->connected;
    job->stream.target_losses = target != NULL ? target->lost.times + f->missed : 0;
    struct effect *call = effects_add(fx, EFFECT_DO_MIGRATE, job, now.wall_ms);
    call->of.act.id = job->call_id;
    TEXT_SET(call->of.act.node, job->source);
    TEXT_SET(call->of.act.guest, job->guest_uuid);
    TEXT_SET(call->of.act.migrate.target, job->target);
    flags_fill(job, &call->of.act.migrate);
    call->of.act.migrate.port = job->stream.port;
}

void move_begin(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    observe_record_sides(job, "before", now, fx);
    step_take(f, job, TRIGGER_TARGET_CHECKED, now, fx);
    job->ownership_last = -1;
    job->ownership_since_ms = 0;
    job->wake_ms = now.mono_ms + f->config.idle_call_timeout_ms;
    monitor_driver_begin(f, job);
    move_call(f, job, now, fx);
}

void move_mode(struct job *job, enum mode mode, const char *cause, struct moment now,
               struct effects *fx)
{
    if (job->mode == mode)
        return;
    job->mode = mode;
    job->changed = true;
    if (job->n_modes == JOB_MODES_MAX) { /* the first stays: how it began */
        memmove(&job->modes[1], &job->modes[2], sizeof job->modes - 2 * sizeof job->modes[0]);
        job->n_modes--;
    }
    job->modes[job->n_modes].mode = mode;
    job->modes[job->n_modes].wall_ms = now.wall_ms;
    TEXT_SET(job->modes[job->n_modes].cause, cause);
    job->n_modes++;
    struct effect *effect = effects_add(fx, EFFECT_MODE, job, now.wall_ms);
    effect->of.mode.mode = mode;
    effect->of.mode.cause = cause;
}

void move_seen(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->phase != PHASE_TARGET_READY || job->call_over)
        return;
    job->moved = true;
    job->started_ms = now.wall_ms;
    if (job->mode == MODE_NONE)
        move_mode(job, MODE_PRECOPY, "started", now, fx);
    step_take(f, job, TRIGGER_MOVING, now, fx);
    effects_event(fx, job, now.wall_ms, false, "Migrating", "Memory moves from %s to %s.",
                  job->source, job->target);
}

void move_called(struct job *job, const struct err *err, struct moment now, struct effects *fx)
{
    assert(job->call_out);
    job->call_out = false;
    job->error = *err;
    close_call(job, false, err, now, fx);
    if (err->code != ERR_NONE && err->code != ERR_REFUSED)
        intent_error(job, INTENT_MIGRATE, err, now, fx);
    if (err->code == ERR_UNREACHABLE) {
        /* Our connection broke, not the migration: loss of sight is never an outcome. */
        job->stream.unseen = true;
        effects_event(fx, job, now.wall_ms, true, "LostSight",
                      "The connection to %s broke during the call; watching both nodes.",
                      job->source);
    } else if (err->code == ERR_REFUSED) {
        job->withdrawn = true; /* by our own shell: the order was never given */
        job->error = (struct err){0};
    } else {
        job->call_over = true;
    }
    resolve_begin(job, now);
}

void move_ask_abort(struct job *job, const char *requester, enum abort_cause cause, const char *why,
                    struct moment now, struct effects *fx)
{
    bool again = job->abort_status == ABORT_FAILED && job->mode != MODE_POSTCOPY;
    if (phase_is_final(job->phase) || (job->abort_asked && !again))
        return;
    job->abort_asked = true;
    job->abort_accepted = false;
    job->abort_status = ABORT_ABORTING;
    job->abort_cause = cause;
    job->abort_asked_ms = job->abort_next_ms = job->wake_ms = now.mono_ms;
    job->delete_asked_ms = now.wall_ms;
    TEXT_SET(job->abort_requester, requester);
    TEXT_SET(job->abort_why, why);
    job->changed = true;
    effects_event(fx, job, now.wall_ms, false, "AbortRequested", "%s asked to stop: %s", requester,
                  why);
}

void move_abort_called(struct job *job, const struct err *err, struct moment now,
                       struct effects *fx)
{
    close_call(job, true, err, now, fx);
    job->abort_call_id = 0;
    if (err->code == ERR_NONE) {
        job->abort_accepted = true; /* accepted is not yet done: the hosts decide */
        job->stream.aborted_ms = now.mono_ms;
        job->changed = true;
        if (!job->call_out)
            resolve_begin(job, now);
        return;
    }
    if (err->code != ERR_REFUSED) /* our own shell's word, not a host's */
        intent_error(job, job->abort_kind, err, now, fx);
    job->abort_next_ms = now.mono_ms + ABORT_RETRY_MS;
}

static void fail_abort(struct job *job, const char *text, struct moment now, struct effects *fx)
{
    if (job->abort_status == ABORT_FAILED)
        return;
    job->abort_status = ABORT_FAILED;
    job->changed = true;
    effects_event(fx, job, now.wall_ms, true, "FailedAbortMigration", "%s", text);
}

/* Asks the source to stop until it accepts, the call ends, or the guard time is over. */
static void advance_abort(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (!job->abort_asked || job->call_over || job->withdrawn || job->abort_status == ABORT_FAILED)
        return;
    if (!job->call_out && job->hv_job == JOB_SEEN_OTHER)
        return; /* what runs there is not ours to stop */
    if (job->mode == MODE_POSTCOPY) {
        fail_abort(job, "refused: in post-copy the guest already runs on the target", now, fx);
        return;
    }
    int64_t guard_ms = job->abort_asked_ms + f->config.abort_guard_ms;
    if (now.mono_ms >= guard_ms) {
        fail_abort(job, "no result in time; a late one still counts", now, fx);
        return;
    }
    if (job->wake_ms > guard_ms)
        job->wake_ms = guard_ms;
    if (job->abort_call_id != 0 || job->abort_accepted)
        return;
    if (now.mono_ms < job->abort_next_ms) {
        if (job->wake_ms > job->abort_next_ms)
            job->wake_ms = job->abort_next_ms;
        return;
    }
    enum remedy_stop how = remedy_how_to_stop(job, now);
    if (how == REMEDY_STOP_NOT_YET) {
        job->abort_next_ms = now.mono_ms + ABORT_RETRY_MS;
        job->wake_ms = job->abort_next_ms;
        return;
    }
    bool yanks = how == REMEDY_STOP_YANK;
    job->abort_kind = yanks ? INTENT_YANK : INTENT_ABORT;
    job->abort_call_seq = intent_open(job, job->abort_kind, NULL, now, fx);
    job->abort_call_asked_ms = now.wall_ms;
    job->abort_call_id = ++f->next_call_id;
    struct effect *call =
        effects_add(fx, yanks ? EFFECT_DO_TUNE : EFFECT_DO_ABORT, job, now.wall_ms);
    call->of.act.call = HV_CALL_YANK;
    call->of.act.stops = yanks;
    call->of.act.id = job->abort_call_id;
    TEXT_SET(call->of.act.node, job->source);
    TEXT_SET(call->of.act.guest, job->guest_uuid);
}

bool move_saw_target(struct fleet *f, const struct job *job)
{
    const struct node *target = fleet_node(f, job->target);
    return target != NULL && !job->stream.target_unseen &&
           target->lost.times + f->missed == job->stream.target_losses;
}

/* What can be seen only for a moment is remembered: that it stopped, that it ran on the target. */
static void remember(struct job *job)
{
    enum ownership_side source = ownership_side(&job->source_side.observation);
    enum ownership_side target = ownership_side(&job->target_side.observation);
    bool has_run = target != SIDE_MOVING && target != SIDE_BLIND && !ownership_is_gone(target);
    job->stream.switched = job->stream.switched || source == SIDE_MOVING;
    job->stream.target_resumed = job->stream.target_resumed || has_run;
}

void move_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    remember(job);
    job->wake_ms = now.mono_ms + 1000;
    int64_t idle_ms = job->entered_ms + f->config.idle_call_timeout_ms;
    if (job->phase == PHASE_TARGET_READY && job->call_out && now.mono_ms >= idle_ms)
        move_ask_abort(job, "ferry", ABORT_CAUSE_IDLE, "nothing moved in time after the call", now,
                       fx);
    if (job->phase == PHASE_RUNNING && now.mono_ms - job->driven_ms >= MONITOR_DRIVER_BLIND_MS)
        monitor_driver_step(f, job, NULL, now, fx);
    remedy_advance(f, job, now, fx);
    userpause_seen(job, now, fx);
    if (!job->call_out)
        resolve_advance(f, job, now, fx);
    if (!phase_is_final(job->phase)) /* no order for what this very turn proved to be over */
        advance_abort(f, job, now, fx);
}

void move_adopt(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    job->adopted = job->stream.unseen = job->stream.target_unseen = true;
    job->changed = true;
    monitor_driver_begin(f, job);
    job->hv_job = JOB_SEEN_UNKNOWN;
    job->stream.flow_ms = job->stream.sampled_ms = now.mono_ms;
    job->abort_kind = INTENT_ABORT;
    if (job->call_seq != 0) { /* the call's own answer died with the process that made it */
        struct err lost = {0};
        err_set(&lost, ERR_UNREACHABLE, "the process that made the call ended");
        close_call(job, false, &lost, now, fx);
        if (job->abort_call_seq != 0)
            close_call(job, true, &lost, now, fx);
    }
    recovery_adopt(f, job, now);
    intent_close_left(job, now, fx);
    effects_event(fx, job, now.wall_ms, false, "Adopted",
                  "Taken over after a restart in phase %s; reading both nodes.",
                  phase_name(job->phase));
    struct effect *watch = effects_add(fx, EFFECT_DO_WATCH, job, now.wall_ms);
    TEXT_SET(watch->of.act.node, job->source);
    TEXT_SET(watch->of.act.guest, job->guest_uuid);
    watch->of.act.next_seq = job->next_sample_seq;
    job->abort_next_ms = job->abort_asked_ms = now.mono_ms;
    resolve_begin(job, now);
}
