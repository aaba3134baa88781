/* reconcile.c - see reconcile.h. Each input first updates the facts, then advances the jobs that
 * it concerns. */
#include "engine/core/reconcile.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/advance.h"
#include "engine/control/advise.h"
#include "engine/control/drain.h"
#include "engine/control/observed.h"
#include "engine/control/orphans.h"
#include "engine/control/pending_changes.h"
#include "engine/control/placement.h"
#include "engine/control/scheduling/scheduling.h"
#include "engine/control/split.h"
#include "engine/control/stranded.h"
#include "engine/core/requests.h"
#include "engine/data/carry.h"
#include "engine/data/ending.h"
#include "engine/data/expect.h"
#include "engine/data/final.h"
#include "engine/data/gone.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/move.h"
#include "engine/data/observe.h"
#include "engine/data/order.h"
#include "engine/data/recovery.h"
#include "engine/data/remedy.h"
#include "engine/data/resolve.h"
#include "engine/data/stray.h"
#include "engine/data/stream.h"
#include "engine/data/userpause.h"
#include "engine/model/definition/volumes.h"
#include "engine/model/fleet/ledger.h"

/* The guest's unfinished job, unless an internal error froze it: a frozen job takes no input. */
static struct job *active_job(struct fleet *f, const char *guest_uuid)
{
    struct job *job = fleet_active_job(f, guest_uuid);
    return job != NULL && !job->frozen ? job : NULL;
}

/* The same of the migration that somebody else started. */
static struct job *observed_job(struct fleet *f, const char *guest_uuid)
{
    struct job *job = fleet_observed_job(f, guest_uuid);
    return job != NULL && !job->frozen ? job : NULL;
}

static void on_host(struct fleet *f, const struct input *input, struct moment now)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    if (node->connected != input->of.connected)
        node->since_wall_ms = now.wall_ms;
    node->connected = input->of.connected;
    node->lost.times += !node->connected;
    if (!node->connected) {
        node->lost.at_ms = now.mono_ms;
        node->lost.closed = input->err.hv_code == HV_LOST_CLOSED;
    }
    node->asked = true;
    node->listed = node->listed && input->of.connected;
    node->facts_fresh = false;
    TEXT_SET(node->error, input->of.connected ? "" : input->err.text);
    (void)fleet_touch(f);
    f->guests_version = f->version; /* the status of a guest shows whether its node is reachable */
    f->drains_due = true;
    fleet_node_improved(f, node);
    while (node->connected &&
           node->blocked.out.n > 0) /* a former disconnect is no longer the reason */
        fleet_queue_ready(f, heap_top(&node->blocked.out));
}

static void on_facts(struct fleet *f, const struct input *input)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    bool first = !node->has_facts || strcmp(node->facts.arch, input->of.facts.arch) != 0;
    bool grown = node->facts.memory_kib != input->of.facts.memory_kib ||
                 node->facts.cpus != input->of.facts.cpus;
    bool upgraded =
        node->has_facts && (node->facts.libvirt_version != input->of.facts.libvirt_version ||
                            node->facts.hypervisor_version != input->of.facts.hypervisor_version);
    node->facts = input->of.facts;
    node->has_facts = node->facts_fresh = true;
    (void)fleet_touch(f);
    if (first)
        fleet_refresh_node(f, node);
    if (grown)
        fleet_node_improved(f, node);
    if (upgraded) /* guests that could not leave it wait for the others */
        for (struct node *other = f->nodes; other != NULL; other = other->hh.next)
            fleet_node_improved(f, other);
}

static void on_capabilities(struct fleet *f, struct input *input)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    if (node->capabilities == NULL || node->capabilities->hash != input->of.capabilities->hash)
        cpus_forget_node(&f->cpus, node->name); /* another emulator may support another CPU */
    hv_capabilities_free(node->capabilities);
    node->capabilities = input->of.capabilities;
    input->of.capabilities = NULL;
    (void)fleet_touch(f);
    fleet_node_improved(f, node);
}

static void on_guests(struct fleet *f, const struct input *input, struct moment now)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    fleet_apply_list(f, node, input->of.guests, now.wall_ms);
    observed_listed(f, node, now);
}

/* ---- definitions ---- */

static void on_definition(struct fleet *f, const struct input *input, struct moment now,
                          struct effects *fx)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    fleet_apply_definition(f, node, input->guest, input->of.definition, now.wall_ms);
    struct guest *guest = fleet_guest(f, input->guest);
    if (guest != NULL && guest->owner != NULL && guest->owner->node == node)
        pending_changes_update(f, guest, now);
    orphans_definition(f, node, input->guest, now, fx);
}

/* The answer is about a CPU and a node, so it holds for every guest with the same CPU. */
static void on_cpu(struct fleet *f, const struct input *input, struct moment now,
                   struct effects *fx)
{
    struct job *job = active_job(f, input->guest);
    if (job == NULL || job->placement.probe_id != input->id)
        return;
    const struct guest *guest = fleet_guest(f, input->guest);
    job->placement.probe_id = 0;
    if (input->err.code != ERR_NONE) {
        job->placement.probe_failed = input->err.code != ERR_UNREACHABLE;
        job->placement.probe_lost = !job->placement.probe_failed;
        effects_event(fx, job, now.wall_ms, true, "CPUNotCompared",
                      "%s could not compare the guest's CPU: %.300s", input->host, input->err.text);
    } else if (guest != NULL && guest->owner != NULL && guest->owner->requirements != NULL) {
        cpus_learn(&f->cpus, guest->owner->requirements->facts.cpu_hash, input->host,
                   input->of.comparison > 0 ? CPU_FIT_YES : CPU_FIT_NO);
    }
    advance_job(f, job, now, fx);
}

static void on_volumes(struct fleet *f, const struct input *input, struct moment now,
                       struct effects *fx)
{
    struct job *job = active_job(f, input->guest);
    if (job == NULL || job->request.volumes == NULL ||
        job->request.volumes->question != input->id || job->phase != PHASE_SCHEDULING)
        return;
    schedule_volumes_answered(job, input->of.volumes, &input->err, now, fx);
    advance_job(f, job, now, fx);
}

/* An event about somebody else's migration: what it shows is noted, and both hosts are observed. */
static void observed_job_event(struct fleet *f, struct job *job, const struct hv_event *event,
                               struct moment now, struct effects *fx)
{
    bool at_source = strcmp(event->host, job->source) == 0;
    bool at_target = strcmp(event->host, job->target) == 0;
    ending_event(job, event);
    if (at_source || at_target)
        remedy_event(job, at_source, event, now); /* when the guest stopped and ran */
    if (at_source)
        gone_event(job, event);
    if ((!at_source && !at_target) || event->kind != HV_EVENT_LIFECYCLE)
        return;
    /* libvirt's detail 7 of SUSPENDED: the source stopped for post-copy. */
    if (at_source && event->a == HV_LIFECYCLE_SUSPENDED && event->b == 7)
        move_mode(job, MODE_POSTCOPY, "post-copy began", now, fx);
    resolve_event(job, at_target, event);
    job->resolution.next_round_ms = now.mono_ms; /* a change: observe at once */
    advance_job(f, job, now, fx);
}

static void on_event(struct fleet *f, const struct input *input, struct moment now,
                     struct effects *fx)
{
    const struct hv_event *event = &input->of.event;
    struct job *job = observed_job(f, event->guest);
    if (job != NULL)
        observed_job_event(f, job, event, now, fx);
    observed_event(f, event, now, fx);
    job = active_job(f, event->guest);
    if (job == NULL || job->epoch == 0 || event->kind == HV_EVENT_JOB_ENDED)
        return;
    bool at_source = strcmp(event->host, job->source) == 0;
    bool at_target = strcmp(event->host, job->target) == 0;
    if (at_source && event->kind == HV_EVENT_ITERATION && move_is_ours(job)) {
        move_seen(f, job, now, fx);
        userpause_iteration(job, now);
    }
    if (event->kind == HV_EVENT_LIFECYCLE) {
        if (at_target && event->a == HV_LIFECYCLE_STARTED) {
            job->stream.received = job->stream.start_told = true;
            move_seen(f, job, now, fx);
        }
        /* libvirt's detail 7 of SUSPENDED: the source stopped for post-copy. */
        if (at_source && event->a == HV_LIFECYCLE_SUSPENDED && event->b == 7)
            move_mode(job, MODE_POSTCOPY, "post-copy began", now, fx);
        if (!order_is_out(job, ORDER_MIGRATE))
            job->resolution.next_round_ms = now.mono_ms; /* a change: observe at once */
        if (at_source || at_target) {
            remedy_event(job, at_source, event, now);
            stray_event(job, at_source, event, now);
            resolve_event(job, at_target, event);
            userpause_event(f, job, at_source, event, now, fx);
            carry_event(job, at_source, event, now, fx);
        }
    }
    advance_job(f, job, now, fx);
}

static void on_sample(struct fleet *f, const struct input *input, struct moment now,
                      struct effects *fx)
{
    const struct sample *sample = &input->of.sample;
    struct job *job = fleet_job(f, sample->job_uid);
    if (job == NULL || job->frozen)
        return;
    job->progress.sample =
        *sample; /* the last sample, with the real downtime, may come after the end */
    job->progress.has_sample = true;
    job->monitor.next_sample_seq = sample->seq + 1;
    job_note_eta(job);
    job->version = fleet_touch(f);
    stream_sample(job, sample, now);
    stray_sample(job, sample);
    if (sample->source == SAMPLE_COMPLETED)
        final_statistics(f, job, &sample->stats, "event");
    if (job->phase == PHASE_RUNNING && job_is_observed(job)) {
        advise_sample(f, job, sample, now, fx);
        fleet_settle_job(f, job);
    } else if (job->phase == PHASE_RUNNING) {
        monitor_driver_step(f, job, sample, now, fx);
        if (job->abort.asked)
            advance_job(f, job, now, fx);
        else
            fleet_settle_job(f, job);
    }
    if (job->phase != PHASE_TARGET_READY || !move_is_ours(job))
        return;
    move_seen(f, job, now, fx);
    advance_job(f, job, now, fx);
}

/* The side of this job that was queried under that number; NULL: none was. */
static struct job_side *side_asked(struct job *job, uint64_t id)
{
    if (job != NULL && job->resolution.source_side.query_id == id)
        return &job->resolution.source_side;
    return job != NULL && job->resolution.target_side.query_id == id ? &job->resolution.target_side
                                                                     : NULL;
}

static void on_observed(struct fleet *f, const struct input *input, struct moment now,
                        struct effects *fx)
{
    struct node *node = fleet_node(f, input->host);
    if (node != NULL)
        fleet_apply_observation(f, node, input->guest, &input->of.observation);
    struct job *job = fleet_newest_finished(f, input->guest);
    if (job != NULL && observe_answered_later(f, job, input->id, &input->of.observation, now, fx)) {
        fleet_settle_job(f, job);
        return;
    }
    job = observed_job(f, input->guest);
    if (side_asked(job, input->id) == NULL)
        job = active_job(f, input->guest);
    if (job == NULL)
        return;
    struct job_side *side = side_asked(job, input->id);
    if (side == NULL) {
        if (monitor_driver_target_seen(f, job, input->id, &input->of.observation, now, fx))
            fleet_settle_job(f, job);
        return; /* else a late answer to an earlier question */
    }
    side->query_id = 0;
    side->round = job->resolution.round;
    side->observation =
        observe_trusted(f, job, side == &job->resolution.source_side, &input->of.observation);
    side->seen_wall_ms = now.wall_ms;
    side->seen_ms = side->observation.at_ms > 0 && side->observation.at_ms < now.mono_ms
                        ? side->observation.at_ms
                        : now.mono_ms;
    job->version = fleet_touch(f);
    advance_job(f, job, now, fx);
}

/* Only "no job" proves that there is none: a failed or cancelled one may still clean up. */
static enum job_seen read_job(const struct input *input)
{
    const struct hv_job_stats *stats = &input->of.stats;
    if (input->err.code != ERR_NONE)
        return JOB_SEEN_UNKNOWN; /* the domain states decide */
    if (stats->type == HV_JOB_NONE)
        return JOB_SEEN_NONE;
    if (stats->type != HV_JOB_BOUNDED && stats->type != HV_JOB_UNBOUNDED)
        return JOB_SEEN_UNKNOWN;
    bool ours =
        stats->operation == HV_OPERATION_MIGRATION_OUT || stats->operation == HV_OPERATION_UNKNOWN;
    return ours ? JOB_SEEN_ACTIVE : JOB_SEEN_OTHER;
}

static void on_ask_job(struct fleet *f, const struct input *input, struct moment now,
                       struct effects *fx)
{
    struct job *job = observed_job(f, input->guest);
    if (job == NULL || job->resolution.hv_job_question != input->id)
        job = active_job(f, input->guest);
    if (job == NULL || job->resolution.hv_job_question != input->id)
        return;
    job->resolution.hv_job_question = 0;
    job->resolution.hv_job_round = job->resolution.round;
    job->resolution.hv_job = read_job(input);
    job->resolution.hv_job_is_backup = job->resolution.hv_job == JOB_SEEN_OTHER &&
                                       input->of.stats.operation == HV_OPERATION_BACKUP;
    advance_job(f, job, now, fx);
}

static void on_path(struct fleet *f, const struct input *input, struct moment now,
                    struct effects *fx)
{
    struct job *job = active_job(f, input->guest);
    if (job != NULL && recovery_probed(job, input->id, input->of.path, &input->err, now, fx))
        advance_job(f, job, now, fx);
}

static void on_stream(struct fleet *f, const struct input *input, struct moment now,
                      struct effects *fx)
{
    struct job *job = active_job(f, input->guest);
    if (job != NULL && stream_answered(job, input->id, &input->of.migration, &input->err, now))
        advance_job(f, job, now, fx);
}

/* What an answer leads to, by order. */
enum late { DROPPED, CLOSES, TAKEN };
static const struct {
    void (*answered)(struct job *job, const struct err *err, struct moment now, struct effects *fx);
    enum late late;
} answers[ORDER_COUNT] = {
#define ORDER(id, answered, late, stands, help) [ORDER_##id] = {answered, late},
#include "engine/model/job/order.def"
#undef ORDER
};

/* The order was given for a job that has ended since. */
static void on_late_call(struct fleet *f, const struct input *input, struct moment now,
                         struct effects *fx)
{
    struct job *job = fleet_newest_finished(f, input->guest);
    enum order order = job != NULL ? order_with_id(job, input->id) : ORDER_COUNT;
    if (order == ORDER_COUNT || answers[order].late == DROPPED)
        return;
    order_answered(job, order, &input->err, now, fx);
    if (answers[order].late == TAKEN)
        answers[order].answered(job, &input->err, now, fx);
    job->version = fleet_touch(f);
    fleet_settle_job(f, job);
}

static void on_call(struct fleet *f, const struct input *input, struct moment now,
                    struct effects *fx)
{
    struct job *job = active_job(f, input->guest);
    enum order order = job != NULL ? order_with_id(job, input->id) : ORDER_COUNT;
    if (order == ORDER_COUNT) {
        on_late_call(f, input, now, fx);
        return;
    }
    order_answered(job, order, &input->err, now, fx);
    orphans_unmarked(job, input->unmarked, now, fx);
    answers[order].answered(job, &input->err, now, fx);
    job->version = fleet_touch(f);
    advance_job(f, job, now, fx);
}

/* The final statistics of a finished migration, from its target. */
static void on_final(struct fleet *f, const struct input *input, struct moment now,
                     struct effects *fx)
{
    struct job *active = active_job(f, input->guest);
    if (active != NULL && stray_statistics(active, input->id, &input->err, &input->of.stats, now)) {
        advance_job(f, active, now, fx);
        return;
    }
    struct job *job = fleet_newest_finished(f, input->guest);
    if (job == NULL || job->final.question == 0 || job->final.question != input->id)
        return;
    job->final.question = 0;
    if (input->err.code == ERR_NONE && input->of.stats.type == HV_JOB_COMPLETED)
        final_statistics(f, job, &input->of.stats, "target");
}

/* ---- timers ---- */

static void tick_jobs(struct fleet *f, struct moment now, struct effects *fx)
{
    struct job *job;
    while ((job = heap_top(&f->timers)) != NULL && job->queue.wake_ms <= now.mono_ms) {
        if (job->frozen) { /* nothing is decided for it, but others go on */
            (void)fleet_release_slot(f, job);
            fleet_settle_job(f, job);
            continue;
        }
        if (phase_is_final(job->phase)) {
            observe_later(f, job, now, fx);
            fleet_settle_job(f, job);
            continue;
        }
        advance_job(f, job, now, fx);
        if (!phase_is_final(job->phase) && job->queue.wake_ms <= now.mono_ms) {
            job->queue.wake_ms = now.mono_ms + 1; /* to be advanced again at once */
            fleet_settle_job(f, job);
        }
    }
}

/* Drains, and guests marked for evacuation without a drain. */
static void tick_drains(struct fleet *f, struct moment now, struct effects *fx)
{
    bool all = f->drains_due;
    f->drains_due = false;
    struct object *object, *next;
    DL_FOREACH_SAFE(f->of_kind[OBJECT_DRAIN], object, next)
    {
        if (drain_is_final(object->drain->state) && all)
            drain_follow(f, object, now, fx);
        else if (all || object->drain->next_ms <= now.mono_ms)
            drain_advance(f, object, now, fx);
    }
    if (!all)
        return;
    DL_FOREACH_SAFE(f->of_kind[OBJECT_GUEST], object, next)
    {
        unsigned count = 0;
        struct guest *guest = fleet_guest_named(f, object->ns, object->name, &count);
        if (guest != NULL && guest->evacuation_node[0] != '\0')
            evacuation_advance(f, guest, now, fx);
    }
}

static void on_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    tick_jobs(f, now, fx);
    pending_changes_tick(f, now, fx);
    split_tick(f, now, fx);
    stranded_tick(f, now, fx);
    observed_tick(f, now, fx);
    orphans_tick(f, now, fx);
}

static void on_fact(struct fleet *f, struct input *input, struct moment now, struct effects *fx)
{
    switch (input->kind) {
    case INPUT_TICK: on_tick(f, now, fx); break;
    case INPUT_HOST: on_host(f, input, now); break;
    case INPUT_MISSED: f->missed++; break;
    case INPUT_FACTS: on_facts(f, input); break;
    case INPUT_CAPABILITIES: on_capabilities(f, input); break;
    case INPUT_GUESTS: on_guests(f, input, now); break;
    case INPUT_DEFINITION: on_definition(f, input, now, fx); break;
    case INPUT_EVENT: on_event(f, input, now, fx); break;
    case INPUT_SAMPLE: on_sample(f, input, now, fx); break;
    case INPUT_OBSERVED: on_observed(f, input, now, fx); break;
    case INPUT_ASK_JOB: on_ask_job(f, input, now, fx); break;
    case INPUT_FINAL: on_final(f, input, now, fx); break;
    case INPUT_CPU: on_cpu(f, input, now, fx); break;
    case INPUT_VOLUMES: on_volumes(f, input, now, fx); break;
    case INPUT_DIRTY: expect_measured(f, input->guest, &input->of.dirty, &input->err); break;
    case INPUT_PATH: on_path(f, input, now, fx); break;
    case INPUT_STREAM: on_stream(f, input, now, fx); break;
    case INPUT_CALL: on_call(f, input, now, fx); break;
    default: break;
    }
}

bool reconcile(struct fleet *f, struct input *input, struct moment now, struct effects *fx,
               struct migration_ref *out_ref, struct err *err)
{
    bool done = true;
    if (input_class(input->kind) == INPUT_IS_REQUEST)
        done = core_request(f, input, now, fx, out_ref, err);
    else
        on_fact(f, input, now, fx);
    tick_drains(f, now, fx);
    schedule_run(f, now, fx);
    return done;
}

/* Only the wall bridges a start; what it says of the future happened now. 0: never. */
static int64_t rebase(int64_t wall_ms, struct moment now)
{
    int64_t ago_ms = wall_ms > 0 ? now.wall_ms - wall_ms : 0;
    return now.mono_ms - (ago_ms > 0 ? ago_ms : 0);
}

void reconcile_restore_final(struct job *job, struct moment now)
{
    job->entered_ms = rebase(job->times.ended_ms, now);
}

void reconcile_restore(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    job->entered_ms = job->queue.wake_ms = now.mono_ms;
    job->wait.born_ms = rebase(job->times.created_ms, now);
    job->wait.mono_ms = rebase(job->wait.since_ms, now);
    job->call.begun_ms = rebase(job->times.handed_off_ms, now);
    if (job->placement.launcher != LAUNCHER_NONE && job->target[0] != '\0')
        ledger_restore(f, job);
    if (job->phase == PHASE_TARGET_READY || job->phase == PHASE_RUNNING)
        move_adopt(f, job, now, fx);
    else
        order_close_left(job, now, fx);
    fleet_settle_job(f, job);
}

int64_t reconcile_next_ms(const struct fleet *f, int64_t now_ms)
{
    if (f->drains_due || f->queue.crowded)
        return now_ms;
    int64_t next_ms = now_ms + 1000;
    const struct job *job = heap_top(&f->timers);
    if (job != NULL && job->queue.wake_ms < next_ms)
        next_ms = job->queue.wake_ms;
    if (f->marks.list != NULL && f->marks.next_ms < next_ms)
        next_ms = f->marks.next_ms;
    const struct guest *guest = heap_top(&f->pending_change);
    if (guest != NULL && guest->change_timer.first < next_ms)
        next_ms = guest->change_timer.first;
    guest = heap_top(&f->split);
    if (guest != NULL && guest->split.timer.first < next_ms)
        next_ms = guest->split.timer.first;
    guest = heap_top(&f->stranded);
    if (guest != NULL && guest->stranded.timer.first < next_ms)
        next_ms = guest->stranded.timer.first;
    guest = heap_top(&f->observed.passing);
    if (guest != NULL && guest->passage.timer.first < next_ms)
        next_ms = guest->passage.timer.first;
    for (const struct object *o = f->of_kind[OBJECT_DRAIN]; o != NULL; o = o->next)
        if (!drain_is_final(o->drain->state) && o->drain->next_ms < next_ms)
            next_ms = o->drain->next_ms;
    return next_ms;
}
