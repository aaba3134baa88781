/* move.c - see move.h. Reading the outcome is resolve.c. */
#include "engine/data/move.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/carry.h"
#include "engine/data/flags.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/observe.h"
#include "engine/data/order.h"
#include "engine/data/ownership.h"
#include "engine/data/recovery.h"
#include "engine/data/remedy.h"
#include "engine/data/resolve.h"
#include "engine/data/stream.h"
#include "engine/data/userpause.h"
#include "hypervisor/versions.h"

enum { STOP_AGAIN_MS = 200, MONITOR_DRIVER_BLIND_MS = 1000 };

/* A migration to the node that is unfinished may be resumed on that port. */
static bool port_is_used(struct fleet *f, const struct node *node, unsigned port)
{
    for (const struct domain *domain = node->domains; domain != NULL; domain = domain->next_here) {
        const struct job *job = fleet_active_job(f, domain->guest->uuid);
        if (job != NULL && job->stream.port == port && strcmp(job->target, node->name) == 0)
            return true;
    }
    return false;
}

/* Chooses a port for the target to listen on: a broken post-copy can then be resumed by connecting
 * to it again (recovery.h), the only way where libvirt's own is not safe, and a second way
 * elsewhere. libvirt does not report the port it takes. It takes the lowest free one of its range,
 * so this is one of the upper half; the last one is left for path probes. A port in use by another
 * program makes the call fail, which is then repeated (resolve.c). 0: libvirt's choice. */
static unsigned choose_port(struct fleet *f, const struct job *job)
{
    struct node *target = fleet_node(f, job->target);
    bool tunnelled = (job->call.flags & HV_MIGRATE_TUNNELLED) != 0;
    if (target == NULL || tunnelled || !hv_host_listens_on_address(&target->host) ||
        !flags_allow_postcopy(job))
        return 0;
    bool needed = hv_quirk_of(HV_QUIRK_RESUME_KILLS_TARGET, target->facts.libvirt_version,
                              target->facts.hypervisor_version);
    unsigned tries_max = needed ? 2 : 1;
    if (job->call.retries >= tries_max)
        return 0;
    unsigned min = target->host.port_min != 0 ? target->host.port_min : HV_PORT_MIN;
    unsigned max = target->host.port_max != 0 ? target->host.port_max : HV_PORT_MAX;
    if (max < min + 3)
        return 0;
    unsigned first = min + (max - min + 1) / 2, port = 0;
    for (unsigned i = 0; i < max - first && port == 0; i++) {
        port = first + target->next_port++ % (max - first);
        port = port_is_used(f, target, port) ? 0 : port;
    }
    return port;
}

/* What an appliance without this store needs to know (engine/control/orphans.h). */
static void fill_mark(const struct fleet *f, const struct job *job, struct hv_mark *out_mark)
{
    if (f->marks.identity.id[0] == '\0')
        return;
    *out_mark = (struct hv_mark){
        .appliance_epoch = f->marks.identity.epoch, .epoch = job->epoch, .port = job->stream.port};
    TEXT_SET(out_mark->appliance, f->marks.identity.id);
    TEXT_SET(out_mark->job, job->uid);
    TEXT_SET(out_mark->source, job->source);
    TEXT_SET(out_mark->target, job->target);
}

void move_watch(const struct job *job, struct moment now, struct effects *fx)
{
    struct effect *watch = effects_add(fx, EFFECT_DO_WATCH, job, now.wall_ms);
    TEXT_SET(watch->of.act.node, job->source);
    TEXT_SET(watch->of.act.guest, job->guest_uuid);
    watch->of.act.next_seq = job->monitor.next_sample_seq;
    watch->of.act.foreign = job_is_observed(job);
}

void move_call(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct hv_observation *observation = &job->resolution.source_side.observation;
    bool paused = observation->state == HV_STATE_PAUSED && observation->reason == HV_PAUSED_USER;
    job->call.flags &= ~(unsigned)(HV_MIGRATE_PAUSED | HV_MIGRATE_PERSIST | FLAGS_RELAYED);
    job->call.flags |= paused ? HV_MIGRATE_PAUSED : 0U; /* paused by its user: it arrives paused */
    job->call.flags |= observation->persistent ? HV_MIGRATE_PERSIST
                                               : 0U; /* it has a persistent definition: keeps it */
    carry_begin(job);
    job->stream.port = choose_port(f, job);
    char port[32] = "";
    if (job->stream.port != 0)
        (void)snprintf(port, sizeof port, "port %u", job->stream.port);
    const struct order_spec spec = {.effect = EFFECT_DO_MIGRATE,
                                    .call = HV_CALL_MIGRATE,
                                    .intent = INTENT_MIGRATE,
                                    .node = job->source,
                                    .argument = port};
    order_open(f, job, ORDER_MIGRATE, &spec, now, fx);
    move_watch(job, now, fx);

    job->call.over = job->call.withdrawn = false;
    /* Nothing is measured of it yet, also when the call is made again: hosts may prepare for long.
     */
    job->stream.flow_ms = job->stream.sampled_ms = 0;
    job->stream.bytes = 0;
    job->stream.query = (struct job_stream_query){0};
    job->stream.switched = job->stream.unseen = job->stream.received = false;
    job->stream.start_told = false;
    job->stream.shut_down_there = job->resolution.foreign = false;
    job->resolution.not_received_ms = 0;
    const struct node *target = fleet_node(f, job->target);
    job->stream.target_resumed = false;
    job->stream.target_unseen = target == NULL || !target->connected;
    job->stream.target_losses = target != NULL ? target->lost.times + f->missed : 0;
    struct effect *call = order_carry_out(job, ORDER_MIGRATE, &spec, now, fx);
    TEXT_SET(call->of.act.migrate.target, job->target);
    flags_fill(job, &call->of.act.migrate);
    call->of.act.migrate.port = job->stream.port;
    fill_mark(f, job, &call->of.act.migrate.mark);
}

void move_begin(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    observe_record_sides(job, "before", now, fx);
    step_take(f, job, TRIGGER_TARGET_CHECKED, now, fx);
    job->resolution.ownership_last = -1;
    job->resolution.ownership_since_ms = 0;
    job->queue.wake_ms = now.mono_ms + f->config.idle_call_timeout_ms;
    observe_note_hosts(f, job);
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
    if (job->history.n_modes == JOB_MODES_MAX) { /* the first stays: how it began */
        memmove(&job->history.modes[1], &job->history.modes[2],
                sizeof job->history.modes - 2 * sizeof job->history.modes[0]);
        job->history.n_modes--;
    }
    job->history.modes[job->history.n_modes].mode = mode;
    job->history.modes[job->history.n_modes].wall_ms = now.wall_ms;
    TEXT_SET(job->history.modes[job->history.n_modes].cause, cause);
    job->history.n_modes++;
    struct effect *effect = effects_add(fx, EFFECT_MODE, job, now.wall_ms);
    effect->of.mode.mode = mode;
    effect->of.mode.cause = cause;
}

void move_seen(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->phase != PHASE_TARGET_READY || job->call.over)
        return;
    job->call.moved = true;
    job->times.started_ms = now.wall_ms;
    if (job->mode == MODE_NONE)
        move_mode(job, MODE_PRECOPY, "started", now, fx);
    step_take(f, job, TRIGGER_MOVING, now, fx);
    effects_event(fx, job, now.wall_ms, false, "Migrating", "Memory is being copied from %s to %s.",
                  job->source, job->target);
}

void move_called(struct job *job, const struct err *err, struct moment now, struct effects *fx)
{
    job_error_set(&job->result.error, err->code, err->text);
    job->result.error.hv_code = err->hv_code;
    job->result.error.hv_domain = err->hv_domain;
    if (err->code == ERR_UNREACHABLE) {
        /* The connection broke, not the migration: an unreachable host is never an outcome. */
        job->stream.unseen = true;
        effects_event(fx, job, now.wall_ms, true, "LostSight",
                      "The connection to %s broke during the call; observing both nodes.",
                      job->source);
    } else if (err->code == ERR_REFUSED) {
        job->call.withdrawn = true; /* refused by the shell: the order was never given */
        job_error_fini(&job->result.error);
    } else {
        job->call.over = true;
    }
    resolve_begin(job, now);
}

void move_ask_abort(struct job *job, const char *requester, enum abort_cause cause, const char *why,
                    struct moment now, struct effects *fx)
{
    bool again = job->abort.status == ABORT_FAILED && job->mode != MODE_POSTCOPY;
    if (phase_is_final(job->phase) || job_is_observed(job) || (job->abort.asked && !again))
        return;
    job->abort.asked = true;
    job->abort.accepted = false;
    job->abort.status = ABORT_ABORTING;
    job->abort.cause = cause;
    job->abort.asked_ms = job->queue.wake_ms = now.mono_ms;
    job->times.delete_asked_ms = now.wall_ms;
    TEXT_SET(job->abort.requester, requester);
    if (strcmp(requester, "ferry") != 0)
        order_hurry(job, ORDER_ABORT);
    TEXT_SET(job->abort.why, why);
    job->changed = true;
    effects_event(fx, job, now.wall_ms, false, "AbortRequested", "%s asked to stop: %s", requester,
                  why);
}

void move_abort_called(struct job *job, const struct err *err, struct moment now,
                       struct effects *fx)
{
    (void)fx;
    if (err->code == ERR_NONE) {
        job->abort.accepted = true; /* accepted is not done: the hosts' states decide */
        job->stream.aborted_ms = now.mono_ms;
        if (job->orders[ORDER_ABORT].kind == INTENT_YANK)
            job->stream.yanked_ms = now.mono_ms;
        job->changed = true;
        if (!order_is_out(job, ORDER_MIGRATE))
            resolve_begin(job, now);
    }
}

static void fail_abort(struct job *job, const char *text, struct moment now, struct effects *fx)
{
    if (job->abort.status == ABORT_FAILED)
        return;
    job->abort.status = ABORT_FAILED;
    job->changed = true;
    effects_event(fx, job, now.wall_ms, true, "FailedAbortMigration", "%s", text);
}

static void wake_by(struct job *job, int64_t mono_ms)
{
    if (job->queue.wake_ms > mono_ms)
        job->queue.wake_ms = mono_ms;
}

/* Orders the abort until the source accepts it, the call ends, or the guard time is over. */
static void advance_abort(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (!job->abort.asked || job->call.over || job->call.withdrawn ||
        job->abort.status == ABORT_FAILED)
        return;
    if (!order_is_out(job, ORDER_MIGRATE) && job->resolution.hv_job == JOB_SEEN_OTHER)
        return; /* the job there is not Ferry's to stop */
    if (job->mode == MODE_POSTCOPY) {
        fail_abort(job, "refused: in post-copy the guest already runs on the target", now, fx);
        return;
    }
    bool runs_there =
        ownership_side(&job->resolution.target_side.observation) == SIDE_OWNS && job->resolving;
    if (!order_is_out(job, ORDER_MIGRATE) && runs_there) {
        fail_abort(job, "refused: the guest already runs on the target", now, fx);
        return;
    }
    int64_t guard_ms = job->abort.asked_ms + f->config.abort_guard_ms;
    if (now.mono_ms >= guard_ms) {
        fail_abort(job,
                   move_is_ours(job) ? "no result in time; a late one still counts"
                                     : "not ordered: the target was not seen to receive the "
                                       "migration, so it may be somebody else's",
                   now, fx);
        return;
    }
    wake_by(job, guard_ms);
    if (!move_is_ours(job))
        return; /* nor is one that the target does not receive */
    if (job->orders[ORDER_ABORT].id != 0 || job->abort.accepted)
        return;
    enum remedy_stop how = remedy_how_to_stop(job, now);
    if (how == REMEDY_STOP_NOT_YET) {
        wake_by(job, now.mono_ms + STOP_AGAIN_MS);
        return;
    }
    bool yanks = how == REMEDY_STOP_YANK;
    const struct order_spec spec = {.effect = yanks ? EFFECT_DO_TUNE : EFFECT_DO_ABORT,
                                    .call = yanks ? HV_CALL_YANK : HV_CALL_ABORT,
                                    .intent = yanks ? INTENT_YANK : INTENT_ABORT,
                                    .node = job->source};
    int64_t due_ms = order_due_ms(job, ORDER_ABORT, &spec);
    if (now.mono_ms < due_ms) {
        wake_by(job, due_ms);
        return;
    }
    struct effect *call = order_give(f, job, ORDER_ABORT, &spec, now, fx);
    call->of.act.stops = yanks;
}

bool move_saw_target(struct fleet *f, const struct job *job)
{
    const struct node *target = fleet_node(f, job->target);
    return target != NULL && !job->stream.target_unseen &&
           target->lost.times + f->missed == job->stream.target_losses;
}

/* Remembers what is visible only for a moment: that the guest stopped, that it ran on the
 * target. */
static void remember(struct job *job)
{
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    bool has_run = target != SIDE_MOVING && target != SIDE_BLIND && !ownership_is_gone(target);
    job->stream.switched = job->stream.switched || source == SIDE_MOVING;
    job->stream.target_resumed = job->stream.target_resumed || has_run;
    job->stream.received = job->stream.received || has_run || target == SIDE_MOVING;
}

bool move_is_ours(const struct job *job)
{
    return order_is_out(job, ORDER_MIGRATE) ||
           (job->stream.received && !job->resolution.foreign && !job_is_observed(job));
}

void move_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    remember(job);
    job->queue.wake_ms = now.mono_ms + 1000;
    if (job_is_observed(job)) { /* somebody else's: its outcome is read, nothing is ordered */
        resolve_advance(f, job, now, fx);
        return;
    }
    if (job->unconfirmed && !job->abort.asked) { /* from a backup: it may be long over */
        resolve_advance(f, job, now, fx);
        return;
    }
    int64_t idle_ms = job->entered_ms + f->config.idle_call_timeout_ms;
    if (job->phase == PHASE_TARGET_READY && order_is_out(job, ORDER_MIGRATE) &&
        now.mono_ms >= idle_ms)
        move_ask_abort(job, "ferry", ABORT_CAUSE_IDLE, "no data transferred in time after the call",
                       now, fx);
    if (job->phase == PHASE_RUNNING &&
        now.mono_ms - job->monitor.driven_ms >= MONITOR_DRIVER_BLIND_MS)
        monitor_driver_step(f, job, NULL, now, fx);
    if (move_is_ours(job))
        remedy_advance(f, job, now, fx);
    userpause_seen(job, now, fx);
    if (!order_is_out(job, ORDER_MIGRATE))
        resolve_advance(f, job, now, fx);
    if (!phase_is_final(job->phase)) /* no order for a migration that this turn proved to be over */
        advance_abort(f, job, now, fx);
}

void move_adopt(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    job->adopted = job->stream.unseen = job->stream.target_unseen = true;
    job->changed = true;
    if (!job_is_observed(job))
        monitor_driver_begin(f, job);
    job->resolution.hv_job = JOB_SEEN_UNKNOWN;
    stream_begin(job, now);
    if (job->orders[ORDER_MIGRATE].seq != 0) { /* its answer died with the process that gave it */
        struct err lost = {0};
        err_set(&lost, ERR_UNREACHABLE, "the process that made the call ended");
        order_close(job, ORDER_MIGRATE, &lost, now, fx);
    }
    recovery_adopt(f, job, now);
    order_close_left(job, now, fx);
    effects_event(fx, job, now.wall_ms, false, job_is_observed(job) ? "Observed" : "Adopted",
                  "%s after a restart in phase %s; reading both nodes.",
                  job_is_observed(job) ? "Observed further" : "Adopted", phase_name(job->phase));
    move_watch(job, now, fx);
    job->abort.asked_ms = now.mono_ms;
    resolve_begin(job, now);
}
