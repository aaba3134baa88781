/* remedy.c - see remedy.h. */
#include "engine/data/remedy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/flags.h"
#include "engine/data/monitor.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/move.h"
#include "engine/data/observe.h"
#include "engine/data/order.h"
#include "engine/data/ownership.h"
#include "engine/data/recovery.h"
#include "engine/data/stream.h"
#include "hypervisor/versions.h"

/* libvirt's details of the lifecycle event SUSPENDED that mean a switch-over. */
enum { SUSPENDED_MIGRATED = 1, SUSPENDED_POSTCOPY = 7 };

_Static_assert(DECISION_COUNT <= 64, "what was tried is a set of 64 bits");

static bool was_tried(const struct remedy_facts *facts, enum decision remedy)
{
    return (facts->tried & UINT64_C(1) << remedy) != 0;
}

static enum decision decide(char *out_text, enum decision decision, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static enum decision decide(char *out_text, enum decision decision, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out_text, MONITOR_TEXT_MAX, fmt, args);
    va_end(args);
    return decision;
}

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

/* Why the copy must not be destroyed; NULL when it may. */
static const char *why_keep_copy(const struct remedy_facts *facts)
{
    if (facts->has_disks)
        return "disks are migrated too";
    if (facts->parallel)
        return "with several streams that frees no guest";
    if (facts->target_resumed)
        return "the guest ran on the target";
    if (facts->postcopy_ordered)
        return "post-copy was ordered, so the guest may run on the target at any moment";
    if (!facts->source_paused)
        return "no recent observation of the source paused for the migration";
    if (!facts->target_paused)
        return "no recent observation of the target paused for the migration";
    return NULL;
}

/* The expected end. */
static int64_t due_ms(const struct remedy_facts *facts)
{
    int64_t due = facts->estimate_ms + facts->estimate_ms / 4 + REMEDY_SLACK_MS;
    if (facts->estimate_ms < 0)
        due = REMEDY_UNKNOWN_MS;
    return due < REMEDY_SWITCH_MS ? REMEDY_SWITCH_MS : due;
}

/* The guest is stopped, and the source's monitor does not answer: no abort, no statistics. */
static enum decision choose_in_switch(const struct remedy_facts *facts, char *out_text)
{
    if (facts->stopped_ms < due_ms(facts) || facts->silent_ms < REMEDY_SWITCH_MS)
        return decide(out_text, DECISION_GOES_ON, "The switch-over takes %.1f s so far.",
                      seconds(facts->stopped_ms));
    bool waits = facts->since_remedy_ms >= 0 && facts->since_remedy_ms < REMEDY_SWITCH_MS;
    if (waits)
        return decide(out_text, DECISION_STREAM_QUIET, "A remedy was ordered %.1f s ago.",
                      seconds(facts->since_remedy_ms));
    if (facts->source_helps && !was_tried(facts, DECISION_STREAM_KILLED))
        return decide(out_text, DECISION_STREAM_KILLED,
                      "Switch-over stalled for %.1f s; the source's helper closes its socket.",
                      seconds(facts->stopped_ms));
    const char *why_not = why_keep_copy(facts);
    if (why_not == NULL && !was_tried(facts, DECISION_STREAM_COPY_DROPPED))
        return decide(
            out_text, DECISION_STREAM_COPY_DROPPED,
            "Switch-over stalled for %.1f s, both sides are paused for it; destroying the copy "
            "on the target, which never ran.",
            seconds(facts->stopped_ms));
    bool dropping = was_tried(facts, DECISION_STREAM_COPY_DROPPED) && !facts->copy_dropped;
    if (dropping && facts->order_is_out)
        return decide(out_text, DECISION_STREAM_QUIET,
                      "Switch-over stalled for %.0f s. Destroying the copy on the target was "
                      "ordered %.0f s ago and not answered yet.",
                      seconds(facts->stopped_ms), seconds(facts->since_remedy_ms));
    if (was_tried(facts, DECISION_STREAM_COPY_DROPPED))
        return decide(out_text, DECISION_STREAM_ABANDONED,
                      "Switch-over stalled for %.0f s. The copy on the target %s, and the source "
                      "still sends into a dead path. It ends when the path recovers, when TCP "
                      "times out, or by a helper on the source.",
                      seconds(facts->stopped_ms),
                      dropping ? "could not be destroyed" : "was destroyed");
    return decide(out_text, DECISION_STREAM_ABANDONED,
                  "Switch-over stalled for %.0f s; the copy on the target is not destroyed: "
                  "%s. It ends when TCP times out, or by a helper on the source.",
                  seconds(facts->stopped_ms), why_not);
}

/* The source's end of the stream is dead and the target does not know: libvirt's call waits for
 * the target, and blocks any other. */
static enum decision choose_for_target(const struct remedy_facts *facts, char *out_text)
{
    bool waits = facts->since_remedy_ms >= 0 && facts->since_remedy_ms < REMEDY_AGAIN_MS;
    if (facts->target_helps && !waits)
        return decide(
            out_text, DECISION_STREAM_TARGET_KILLED,
            "The stream is dead on the source and the target does not know it; the target's "
            "helper closes its end.");
    return decide(
        out_text, facts->target_helps ? DECISION_STREAM_QUIET : DECISION_STREAM_ABANDONED,
        "The stream is dead on the source and the target does not know it: post-copy can be "
        "resumed when the target's TCP times out, or a helper there closes its end.");
}

static enum decision choose_in_postcopy(const struct remedy_facts *facts, char *out_text)
{
    if (facts->quiet_ms < REMEDY_POSTCOPY_MS && !facts->forced)
        return decide(out_text, DECISION_STREAM_QUIET,
                      "No data transferred in post-copy for %.1f s.", seconds(facts->quiet_ms));
    if (facts->since_remedy_ms >= 0 && facts->since_remedy_ms < REMEDY_AGAIN_MS)
        return decide(out_text, DECISION_STREAM_QUIET,
                      "The end of the stream was ordered %.1f s ago.",
                      seconds(facts->since_remedy_ms));
    if (facts->forced)
        return decide(out_text, DECISION_STREAM_PAUSED,
                      "An operator decided that the post-copy stream, which cannot be measured, is "
                      "dead: ending it, then resuming post-copy.");
    return decide(
        out_text, DECISION_STREAM_PAUSED,
        "No data transferred in post-copy for %.1f s: ending the stream, then resuming post-copy.",
        seconds(facts->quiet_ms));
}

/* An abort was accepted, or the stream broken, and the call is still out. */
static enum decision choose_after_abort(const struct remedy_facts *facts, char *out_text)
{
    bool broken =
        was_tried(facts, DECISION_STREAM_YANKED) || was_tried(facts, DECISION_STREAM_KILLED);
    const char *what = broken ? "The stream was broken" : "Aborted";
    bool is_over = facts->stream == HV_STREAM_OVER;
    bool cancels = facts->stream == HV_STREAM_ENDING || facts->stream == HV_STREAM_OPEN;
    if (cancels && facts->yanked_ms < 0 && facts->aborted_ms >= REMEDY_CANCEL_MS &&
        !was_tried(facts, DECISION_STREAM_CANCEL_YANKED))
        return decide(out_text, DECISION_STREAM_CANCEL_YANKED,
                      "%s %.1f s ago and the source's QEMU still cancels: breaking the "
                      "stream. The guest runs.",
                      what, seconds(facts->aborted_ms));
    bool waits = facts->since_remedy_ms >= 0 && facts->since_remedy_ms < REMEDY_KILL_MS;
    bool tried =
        facts->yanked_ms >= REMEDY_YANKED_MS || (was_tried(facts, DECISION_STREAM_CANCEL_YANKED) &&
                                                 facts->yanked_ms < 0 && !facts->order_is_out);
    bool killed_now = was_tried(facts, DECISION_STREAM_CANCEL_KILLED) && waits;
    if (cancels && tried && facts->source_helps && !facts->order_is_out && !killed_now)
        return decide(out_text, DECISION_STREAM_CANCEL_KILLED,
                      "%s %.1f s ago and the source's QEMU still cancels, in spite of a yank; "
                      "the source's helper closes its socket. The guest runs.",
                      what, seconds(facts->aborted_ms));
    if (cancels && tried)
        return decide(out_text, DECISION_STREAM_CANCEL_WAITS,
                      "%s %.0f s ago and the source's QEMU still cancels. The guest is safe "
                      "and runs. It ends when the path recovers or TCP gives up (about 15 "
                      "minutes)%s. Do not restart libvirtd on the source.",
                      what, seconds(facts->aborted_ms),
                      facts->source_helps ? "" : "; a helper on the source would end it");
    bool may_drop = is_over && facts->source_runs && facts->target_paused &&
                    !facts->target_resumed && !facts->has_disks && !facts->postcopy_ordered &&
                    !was_tried(facts, DECISION_STREAM_ABORT_DROPPED);
    if (may_drop && facts->aborted_ms >= REMEDY_KEEPALIVE_MS)
        return decide(out_text, DECISION_STREAM_ABORT_DROPPED,
                      "%s %.0f s ago, the source's QEMU is done and the guest runs, but the "
                      "target keeps its copy; destroying it.",
                      what, seconds(facts->aborted_ms));
    return decide(out_text, DECISION_STREAM_CANCEL_WAITS,
                  is_over ? "%s %.0f s ago and the source's QEMU is done; the guest runs. "
                            "libvirt's call is awaited: its keepalive ends it."
                          : "%s %.0f s ago; the source's QEMU is awaited. The guest runs.",
                  what, seconds(facts->aborted_ms));
}

/* No data in pre-copy; the guest runs. */
static enum decision choose_in_precopy(const struct remedy_facts *facts, char *out_text)
{
    bool yanks = facts->has_disks || facts->parallel;
    int64_t due = facts->has_disks ? REMEDY_DISKS_MS : REMEDY_PRECOPY_MS;
    if (facts->quiet_ms < due)
        return decide(out_text, DECISION_STREAM_QUIET,
                      "No data transferred for %.1f s; the guest runs.", seconds(facts->quiet_ms));
    if (facts->since_remedy_ms >= 0 && facts->since_remedy_ms < REMEDY_AGAIN_MS)
        return decide(out_text, DECISION_STREAM_QUIET,
                      "No data transferred for %.1f s; breaking the streams was ordered %.1f s "
                      "ago. The guest runs.",
                      seconds(facts->quiet_ms), seconds(facts->since_remedy_ms));
    if (facts->abort_asked)
        return decide(out_text, DECISION_STREAM_QUIET,
                      "No data transferred for %.1f s; an abort is ordered. The guest runs.",
                      seconds(facts->quiet_ms));
    const char *warning =
        facts->yank_may_hang ? " QEMU before 11.0 may hang on a yank of parallel streams." : "";
    if (facts->has_disks)
        return decide(
            out_text, DECISION_STREAM_YANKED,
            "No data transferred for %.1f s while disks are mirrored: breaking the streams before "
            "libvirt's keepalive does, which would freeze the guest.%s",
            seconds(facts->quiet_ms), warning);
    return decide(
        out_text, yanks ? DECISION_STREAM_YANKED : DECISION_STREAM_ABORTED,
        "No data transferred for %.1f s: %s before the target's keepalive ends; the guest "
        "runs.%s",
        seconds(facts->quiet_ms),
        yanks ? "breaking the parallel streams, which an abort would not end," : "aborting",
        warning);
}

enum decision remedy_choose(const struct remedy_facts *facts, char out_text[MONITOR_TEXT_MAX])
{
    bool switches = facts->mode != MODE_POSTCOPY && facts->stopped_ms >= 0;
    if (switches && !facts->tunnelled)
        return choose_in_switch(facts, out_text);
    bool silent = facts->stopped_ms >= REMEDY_SWITCH_MS && facts->silent_ms >= REMEDY_SWITCH_MS;
    if (switches)
        return decide(
            out_text, silent ? DECISION_STREAM_QUIET : DECISION_GOES_ON,
            "The switch-over takes %.1f s so far; libvirt's keepalive ends a dead tunnel.",
            seconds(facts->stopped_ms));
    bool broken = facts->aborted_ms >= REMEDY_CANCEL_MS / 2 && facts->silent_ms >= REMEDY_QUIET_MS;
    if (facts->mode != MODE_POSTCOPY && broken)
        return choose_after_abort(facts, out_text);
    bool half_dead = facts->mode == MODE_POSTCOPY && facts->source_failed; /* observed: */
    if (half_dead && facts->silent_ms >= REMEDY_POSTCOPY_MS / 2) /* no statistics needed */
        return choose_for_target(facts, out_text);
    if (facts->mode == MODE_POSTCOPY && facts->forced)
        return choose_in_postcopy(facts, out_text);
    if (facts->quiet_ms < REMEDY_QUIET_MS)
        return decide(out_text, DECISION_GOES_ON, "Data is transferred.");
    return facts->mode == MODE_POSTCOPY ? choose_in_postcopy(facts, out_text)
                                        : choose_in_precopy(facts, out_text);
}

static void stopped_since(struct job_stream *stream, int64_t mono_ms, int64_t wall_ms)
{
    stream->stopped_ms = mono_ms;
    stream->stopped_wall_ms = wall_ms;
}

void remedy_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now)
{
    if (event->kind != HV_EVENT_LIFECYCLE)
        return;
    if (!at_source) {
        job->stream.target_resumed = job->stream.target_resumed || event->a == HV_LIFECYCLE_RESUMED;
        return;
    }
    if (event->a == HV_LIFECYCLE_SUSPENDED &&
        (event->b == SUSPENDED_MIGRATED || event->b == SUSPENDED_POSTCOPY))
        job->stream.switched = true;
    if (event->a == HV_LIFECYCLE_SUSPENDED && event->b == SUSPENDED_MIGRATED)
        stopped_since(&job->stream, now.mono_ms, now.wall_ms);
    else if (event->a == HV_LIFECYCLE_SUSPENDED || event->a == HV_LIFECYCLE_RESUMED)
        job->stream.stopped_ms = 0;
}

static bool is_paused(const struct job_side *side)
{
    return side->seen_ms > 0 && side->observation.presence == HV_PRESENT &&
           side->observation.state == HV_STATE_PAUSED &&
           side->observation.reason == HV_PAUSED_MIGRATION;
}

static bool is_paused_now(const struct job_side *side, struct moment now)
{
    return is_paused(side) && now.mono_ms - side->seen_ms <= REMEDY_FRESH_MS;
}

static bool runs(const struct job_side *side, struct moment now)
{
    return side->seen_ms > 0 && now.mono_ms - side->seen_ms <= REMEDY_FRESH_MS &&
           side->observation.presence == HV_PRESENT && side->observation.state == HV_STATE_RUNNING;
}

static bool failed(const struct job_side *side, struct moment now)
{
    return side->seen_ms > 0 && now.mono_ms - side->seen_ms <= REMEDY_FRESH_MS &&
           ownership_side(&side->observation) == SIDE_POSTCOPY_FAILED;
}

static int64_t estimate_ms(const struct job *job)
{
    if (!job->progress.has_sample || job->progress.sample.bandwidth_bps == 0)
        return monitor_driver_estimate_ms(job); /* of an earlier process */
    return (int64_t)(job->progress.sample.stats.data_remaining * 1000 /
                     job->progress.sample.bandwidth_bps);
}

/* libvirt cancels by itself when its connection to the target breaks. */
static int64_t aborted_ms(const struct job *job, struct moment now)
{
    int64_t since_ms =
        job->stream.aborted_ms != 0 ? job->stream.aborted_ms : job->stream.query.ending_ms;
    return since_ms != 0 ? now.mono_ms - since_ms : -1;
}

void remedy_gather(struct fleet *f, const struct job *job, struct moment now,
                   struct remedy_facts *out)
{
    struct hv_migrate how = {0};
    const struct node *source = fleet_node(f, job->source);
    flags_fill(job, &how);
    *out = (struct remedy_facts){
        .mode = job->mode,
        .has_disks = job->request.volumes_json != NULL,
        .parallel = how.parallel_connections > 0,
        .yank_may_hang = how.parallel_connections > 0 && source != NULL &&
                         hv_quirk_of(HV_QUIRK_YANK_HANGS, source->facts.libvirt_version,
                                     source->facts.hypervisor_version),
        .tunnelled = (job->call.flags & HV_MIGRATE_TUNNELLED) != 0,
        .quiet_ms = stream_quiet_ms(job),
        .silent_ms = job->stream.flow_ms != 0 ? now.mono_ms - job->stream.flow_ms : 0,
        .stopped_ms = job->stream.stopped_ms != 0 && !job->userpause.requested
                          ? now.mono_ms - job->stream.stopped_ms
                          : -1,
        .estimate_ms = estimate_ms(job),
        .aborted_ms = aborted_ms(job, now),
        .yanked_ms = job->stream.yanked_ms != 0 ? now.mono_ms - job->stream.yanked_ms : -1,
        .abort_asked = job->abort.asked && job->abort.status == ABORT_ABORTING,
        .stream = stream_state(job, now),
        .forced = job->recovery.forced && stream_blind_ms(job, now) >= STREAM_PAGE_MS,
        .order_is_out = job->orders[ORDER_REMEDY].id != 0,
        .copy_dropped = job->stream.copy_dropped,
        .source_runs = runs(&job->resolution.source_side, now),
        .source_paused = is_paused_now(&job->resolution.source_side, now),
        .target_paused = is_paused_now(&job->resolution.target_side, now),
        .target_resumed = job->stream.target_resumed,
        .postcopy_ordered = job->stream.postcopy_ordered,
        /* Once the call is answered the stream is recovery's: a remedy would end what recovery
         * resumes. */
        .source_failed =
            order_is_out(job, ORDER_MIGRATE) && failed(&job->resolution.source_side, now),
        .source_helps = fleet_has_helper(f, job->source),
        .target_helps = fleet_has_helper(f, job->target),
        .tried = job->stream.tried,
        .since_remedy_ms = job->stream.ordered_ms != 0 ? now.mono_ms - job->stream.ordered_ms : -1,
    };
}

static void order_remedy(struct fleet *f, struct job *job, enum decision decision, const char *text,
                         struct moment now, struct effects *fx)
{
    static const struct {
        enum decision decision;
        enum hv_call call;
        enum intent_kind intent;
        bool at_target;
    } orders[] = {
        {DECISION_STREAM_YANKED, HV_CALL_YANK, INTENT_YANK, false},
        {DECISION_STREAM_CANCEL_YANKED, HV_CALL_YANK, INTENT_YANK, false},
        {DECISION_STREAM_CANCEL_KILLED, HV_CALL_KILL_STREAM, INTENT_KILL_STREAM, false},
        {DECISION_STREAM_COPY_DROPPED, HV_CALL_DROP_COPY, INTENT_DROP_COPY, true},
        {DECISION_STREAM_ABORT_DROPPED, HV_CALL_DROP_COPY, INTENT_DROP_COPY, true},
        {DECISION_STREAM_KILLED, HV_CALL_KILL_STREAM, INTENT_KILL_STREAM, false},
        {DECISION_STREAM_TARGET_KILLED, HV_CALL_KILL_STREAM, INTENT_KILL_STREAM, true},
        {DECISION_STREAM_PAUSED, HV_CALL_ABORT, INTENT_PAUSE_STREAM, false},
    };
    for (size_t i = 0; i < COUNT(orders); i++) {
        if (orders[i].decision != decision)
            continue;
        const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                        .call = orders[i].call,
                                        .intent = orders[i].intent,
                                        .node = orders[i].at_target ? job->target : job->source};
        struct effect *effect = order_give(f, job, ORDER_REMEDY, &spec, now, fx);
        effect->of.act.postcopy = decision == DECISION_STREAM_PAUSED;
        job->stream.tried |= UINT64_C(1) << decision;
        job->stream.ordered_ms = now.mono_ms;
        TEXT_SET(job->stream.remedy, text);
        effects_event(fx, job, now.wall_ms, true, "StreamStalled", "%s", text);
    }
}

/* Nothing else observes the two sides while a call is open. */
static void keep_observing(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum { AGAIN_MS = 1000 };
    if (!order_is_out(job, ORDER_MIGRATE))
        return;
    if (now.mono_ms - job->stream.observed_ms >= AGAIN_MS) {
        job->stream.observed_ms = now.mono_ms;
        observe_begin(f, job, now, fx);
    }
    if (job->queue.wake_ms > job->stream.observed_ms + AGAIN_MS)
        job->queue.wake_ms = job->stream.observed_ms + AGAIN_MS;
}

/* A source observed paused whose event was lost, or that resumed. */
static void read_source(struct job *job, struct moment now)
{
    if (job->mode == MODE_POSTCOPY || job->resolution.source_side.seen_ms == 0)
        return;
    if (is_paused(&job->resolution
                       .source_side)) { /* an outdated observation does not prove the contrary */
        if (job->stream.stopped_ms == 0 && is_paused_now(&job->resolution.source_side, now))
            stopped_since(&job->stream, job->resolution.source_side.seen_ms,
                          job->resolution.source_side.seen_wall_ms);
    } else if (job->stream.stopped_ms != 0 &&
               job->resolution.source_side.seen_ms > job->stream.stopped_ms &&
               job->resolution.source_side.observation.presence == HV_PRESENT) {
        job->stream.stopped_ms = 0;
    }
}

/* Is there a stream? In this process's call, in one found running, or in a switch-over without a
 * call. In post-copy a stream without a call is recovery's, except recovery's own. */
static bool has_stream(const struct job *job)
{
    if (order_is_out(job, ORDER_MIGRATE))
        return true;
    if (job->mode == MODE_POSTCOPY)
        return job->recovery.state == RECOVERY_RESUMING && job->orders[ORDER_RECOVERY].id != 0;
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    bool waits = target == SIDE_MOVING || target == SIDE_ABSENT || target == SIDE_BLIND;
    bool active = job->resolution.hv_job == JOB_SEEN_ACTIVE && !job->resolving;
    return active || (!job->call.over && waits && is_paused(&job->resolution.source_side));
}

/* This process was stopped: the time without samples does not count as a stall. */
static void forgive_gap(struct job *job, struct moment now)
{
    struct job_stream *stream = &job->stream;
    bool away = stream->advanced_ms != 0 && now.mono_ms - stream->advanced_ms > REMEDY_AWAY_MS;
    stream->advanced_ms = now.mono_ms;
    if (away && stream->flow_ms != 0)
        stream_begin(job, now);
    if (away && stream->stopped_ms != 0)
        stopped_since(stream, now.mono_ms, now.wall_ms);
}

/* The stall is the pending reason, unless recovery or an unproven outcome is. Its text says how
 * long nothing moves, so it is renewed. */
static bool shows_stall(const struct job *job, bool decision_changed, struct moment now)
{
    bool other = job->recovery.state != RECOVERY_NONE || job->wait.pending == PENDING_UNPROVEN;
    bool outdated = now.mono_ms - job->stream.shown_ms >= REMEDY_SHOWN_MS;
    return !other && (decision_changed || outdated || job->wait.pending != PENDING_STALLED);
}

static void show_stall(struct job *job, const char *text, struct moment now)
{
    job->stream.shown_ms = now.mono_ms;
    step_wait(job, PENDING_STALLED, now, "%s", text);
}

/* Where samples are missing, or do not tell whether QEMU is done with an abort, QEMU is asked. Not
 * in the switch-over, where its monitor is blocked and the query would hold a lock. */
static void measure(struct fleet *f, struct job *job, const struct remedy_facts *facts,
                    struct moment now, struct effects *fx)
{
    bool postcopy = job->mode == MODE_POSTCOPY;
    bool blind = stream_blind_ms(job, now) >= (postcopy ? STREAM_BLIND_MS : REMEDY_SWITCH_MS);
    bool answers = postcopy || (facts->stopped_ms < 0 && facts->source_runs);
    if (answers && (blind || (!postcopy && facts->aborted_ms >= 0)))
        stream_ask(f, job, now, fx);
    if (!postcopy || !order_is_out(job, ORDER_MIGRATE) || facts->source_failed)
        return; /* without a call of this process the stream is recovery's */
    if (recovery_is_unmeasured(job, now))
        recovery_unmeasured(job, now, fx);
    else
        recovery_measured(job, now);
}

bool remedy_watch(struct job *job, struct moment now)
{
    forgive_gap(job, now);
    if (job->phase != PHASE_RUNNING || !has_stream(job))
        return false;
    read_source(job, now);
    return true;
}

void remedy_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    forgive_gap(job, now);
    if (job->phase != PHASE_RUNNING || !has_stream(job) || !f->store_ok)
        return;
    read_source(job, now);
    struct remedy_facts facts;
    struct monitor_decision decision = {.estimate_ms = -1};
    remedy_gather(f, job, now, &facts);
    if (facts.silent_ms < REMEDY_QUIET_MS && facts.stopped_ms < 0) {
        if (job->wait.pending == PENDING_STALLED) {
            step_wait_over(job, now);
            job->changed = true;
        }
        if (order_is_out(job, ORDER_MIGRATE))
            recovery_measured(job, now);
        return;
    }
    keep_observing(f, job, now, fx);
    measure(f, job, &facts, now, fx);
    decision.why = remedy_choose(&facts, decision.text);
    decision.action = decision_action(decision.why);
    decision.elapsed_ms = now.mono_ms - job->call.begun_ms;
    decision.estimate_ms = facts.estimate_ms;
    decision.remaining = job->progress.has_sample ? job->progress.sample.stats.data_remaining : 0;
    if (decision.why == DECISION_GOES_ON)
        return;
    bool decision_changed = job->stream.last != (int)decision.why;
    if (facts.mode == MODE_POSTCOPY && facts.source_failed && order_is_out(job, ORDER_MIGRATE))
        recovery_await_call(job, decision.text, now, fx);
    else if (shows_stall(job, decision_changed, now))
        show_stall(job, decision.text, now);
    if (decision_changed)
        monitor_driver_record(job, "remedy", &decision, now, fx);
    job->stream.last = (int)decision.why;
    if (decision.action == MONITOR_ABORT)
        move_ask_abort(job, "ferry", ABORT_CAUSE_STALLED, decision.text, now, fx);
    else if (decision.action != MONITOR_NOTHING && job->orders[ORDER_REMEDY].id == 0)
        order_remedy(f, job, decision.why, decision.text, now, fx);
}

void remedy_answered(struct job *job, const struct err *err, struct moment now, struct effects *fx)
{
    enum intent_kind kind = job->orders[ORDER_REMEDY].kind;
    bool done = err->code == ERR_NONE;
    bool breaks = kind == INTENT_KILL_STREAM || kind == INTENT_YANK;
    if (breaks && done && job->mode != MODE_POSTCOPY && job->stream.aborted_ms == 0)
        job->stream.aborted_ms =
            now.mono_ms; /* ended: a target that does not know gets its own remedy */
    if (kind == INTENT_YANK && done)
        job->stream.yanked_ms = now.mono_ms;
    job->stream.copy_dropped = job->stream.copy_dropped || (kind == INTENT_DROP_COPY && done);
    if (err->code != ERR_NONE)
        effects_event(fx, job, now.wall_ms, true, "RemedyFailed", "%s at %s: %.300s",
                      intent_kind_name(kind), job->orders[ORDER_REMEDY].node, err->text);
}

enum remedy_stop remedy_how_to_stop(const struct job *job, struct moment now)
{
    struct hv_migrate how = {0};
    bool disks = job->request.volumes_json != NULL && job->mode != MODE_POSTCOPY;
    flags_fill(job, &how);
    bool quiet = job->stream.flow_ms != 0 && now.mono_ms - job->stream.flow_ms >= REMEDY_QUIET_MS;
    if (!disks && how.parallel_connections > 0 && quiet && job->mode != MODE_POSTCOPY)
        return REMEDY_STOP_YANK;
    if (!disks || job->stream.flow_ms == 0)
        return REMEDY_STOP_ABORT;
    if (job->stream.flow_ms - job->abort.asked_ms >= REMEDY_PROOF_MS)
        return REMEDY_STOP_ABORT;
    int64_t quiet_ms = now.mono_ms - job->stream.flow_ms;
    if (quiet_ms >= REMEDY_QUIET_MS ||
        (quiet_ms >= REMEDY_PROOF_MS && now.mono_ms - job->abort.asked_ms >= REMEDY_PROOF_MS))
        return REMEDY_STOP_YANK;
    return REMEDY_STOP_NOT_YET;
}
