/* prepare.c - see prepare.h.
 *
 * Before hand-off the control plane may change the target: a node that turns out to be
 * unsuitable is released and another one chosen. At hand-off the configuration is frozen; from
 * then on the job keeps its target. */
#include "engine/control/scheduling/prepare.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/placement.h"
#include "engine/control/scheduling/guest_free.h"
#include "engine/control/scheduling/room.h"
#include "engine/control/scheduling/wait.h"
#include "engine/data/expect.h"
#include "engine/data/flags.h"
#include "engine/data/move.h"
#include "engine/data/observe.h"
#include "engine/data/ownership.h"
#include "engine/model/fleet/ledger.h"

enum { RETRY_MS = 1000, PROBE_LOST_MS = 30000, FORGIVE_MS = 10000 };

static void release_target(struct fleet *f, struct job *job, struct moment now)
{
    struct node *node = fleet_node(f, job->target);
    ledger_release(f, job);
    if (node != NULL) {
        fleet_count_inbound(f, node, -1);
        fleet_node_improved(f, node);
    }
    job->target[0] = '\0';
    job->placement.probe_id = 0;
    job->changed = true;
    step_launcher(job, LAUNCHER_PENDING, now);
}

/* The target did not answer: excludes it for this job; the oldest excluded node makes room. */
static void remember_failed(struct job *job)
{
    if (job->placement.n_failed == JOB_FAILED_NODES) {
        memmove(job->placement.failed[0], job->placement.failed[1],
                sizeof job->placement.failed - sizeof job->placement.failed[0]);
        job->placement.n_failed--;
    }
    TEXT_SET(job->placement.failed[job->placement.n_failed++], job->target);
}

static void wait_here(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (wait_until_deadline(f, job, now, fx) && job->queue.wake_ms > now.mono_ms + RETRY_MS)
        job->queue.wake_ms = now.mono_ms + RETRY_MS;
}

/* The released quota may be used by another job by now, or the quota may be smaller. */
static bool quota_has_room(struct fleet *f, struct job *job, const struct guest *guest,
                           struct moment now, struct effects *fx)
{
    struct resources more = ledger_resources(guest);
    char text[QUOTA_TEXT_MAX];
    if (ledger_in_quota(guest->namespace, &more, text))
        return true;
    step_wait(job, PENDING_QUOTA, now, "%s", text);
    wait_here(f, job, now, fx);
    return false;
}

/* The same for the source's bandwidth. */
static bool source_has_bandwidth(struct fleet *f, struct job *job, struct moment now,
                                 struct effects *fx)
{
    const struct node *source = fleet_node(f, job->source);
    uint64_t budget = f->config.bandwidth_per_node;
    if (budget == 0 || source == NULL || source->out_bandwidth == 0 ||
        source->out_bandwidth + ledger_bandwidth(f, job) <= budget)
        return true;
    step_wait(job, PENDING_BANDWIDTH, now,
              "migrations from %s use %llu of its %llu bytes per second", source->name,
              (unsigned long long)source->out_bandwidth, (unsigned long long)budget);
    wait_here(f, job, now, fx);
    return false;
}

/* Chooses another node; the job keeps its slot meanwhile. */
static bool reschedule(struct fleet *f, struct job *job, const struct guest *guest,
                       struct moment now, struct effects *fx)
{
    prepare_volumes_again(job, now);
    room_configure(f, job, guest);
    if (!quota_has_room(f, job, guest, now, fx) || !source_has_bandwidth(f, job, now, fx))
        return false;
    if (room_reserve(f, job, guest, now, fx)) {
        fleet_count_inbound(f, fleet_node(f, job->target), 1);
        return true;
    }
    room_none(f, job, now, fx);
    if (phase_is_final(job->phase))
        return false;
    if (now.mono_ms - job->wait.mono_ms >= FORGIVE_MS)
        job->placement.n_failed =
            0; /* no other node was found: the excluded ones may answer by now */
    if (job->queue.wake_ms > now.mono_ms + RETRY_MS)
        job->queue.wake_ms = now.mono_ms + RETRY_MS;
    return false;
}

/* True: the node has the guest's CPU, or the comparison is not possible. */
static bool cpu_suits(struct fleet *f, struct job *job, const struct guest *guest,
                      struct moment now, struct effects *fx)
{
    const struct host_requirements *requirements = guest->owner->requirements;
    if (requirements == NULL || requirements->facts.cpu_hash == 0 || job->placement.probe_failed)
        return true;
    enum cpu_fit fit = cpus_find(&f->cpus, requirements->facts.cpu_hash, job->target);
    if (fit == CPU_FIT_YES)
        return true;
    if (fit == CPU_FIT_NO || job->placement.probe_lost) {
        const char *what = fit == CPU_FIT_NO ? "cannot provide the CPU that the guest sees"
                                             : "did not answer the CPU comparison";
        effects_event(fx, job, now.wall_ms, true, "TargetRejected", "%s %s.", job->target, what);
        if (job->placement.probe_lost)
            remember_failed(job);
        job->placement.probe_lost = false;
        release_target(f, job, now);
        (void)reschedule(f, job, guest, now, fx);
        return false; /* the next call checks the new target */
    }
    if (job->placement.probe_id != 0 && now.mono_ms - job->placement.probe_asked_ms < PROBE_LOST_MS)
        return false;
    job->placement.probe_id = ++f->next_call_id;
    job->placement.probe_asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_COMPARE_CPU, job, now.wall_ms);
    effect->of.act.id = job->placement.probe_id;
    TEXT_SET(effect->of.act.node, job->target);
    TEXT_SET(effect->of.act.from, job->source);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
    return false;
}

/* True: it has space for the volumes that migrate along, if any. */
static bool volumes_suit(struct fleet *f, struct job *job, const struct guest *guest,
                         struct moment now, struct effects *fx)
{
    bool rejected = false;
    if (prepare_volumes(f, job, now, fx, &rejected))
        return true;
    if (rejected) {
        release_target(f, job, now);
        (void)reschedule(f, job, guest, now, fx);
    } else {
        wait_here(f, job, now, fx);
    }
    return false;
}

static bool target_is_usable(struct fleet *f, const struct job *job)
{
    const struct node *node = fleet_node(f, job->target);
    return node != NULL && node->connected && !node->cordoned;
}

/* The guest on the job's source; else NULL, and the job fails or waits. Only a node that has
 * listed its guests proves that a guest is gone: after a restart none has. */
static const struct guest *guest_on_source(struct fleet *f, struct job *job, struct moment now,
                                           struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    const struct node *source = fleet_node(f, job->source);
    if (guest != NULL && guest->owner != NULL && guest->owner->node == source)
        return guest;
    if (source == NULL || (source->connected && source->listed)) {
        wait_fail(f, job, TRIGGER_IMPOSSIBLE, "the guest is no longer on its node", now, fx);
        return NULL;
    }
    step_wait(job, PENDING_GUEST_UNSEEN, now, "node %s has not listed its guests yet", job->source);
    wait_here(f, job, now, fx);
    return NULL;
}

/* The guest may turn out to be not migratable after admission: its definition was not read yet
 * (after a restart), or changed while the job waited. Volumes that migrate along were checked
 * with the request. */
static bool is_movable(struct fleet *f, struct job *job, const struct guest *guest,
                       struct moment now, struct effects *fx)
{
    const struct migratable *migratable = &guest->owner->migratable;
    enum unmovable row = migratable_first_for(migratable, job->request.on_behalf_of);
    char text[MIGRATABLE_TEXT_MAX], reason[JOB_REASON_MAX];
    if (row == UNMOVABLE_COUNT || job->request.volumes_json != NULL)
        return true;
    unmovable_text(row, migratable, text);
    (void)snprintf(reason, sizeof reason, "Cannot migrate VMI, Reason: %s, Message: %s",
                   unmovable_name(row), text);
    wait_fail(f, job, TRIGGER_IMPOSSIBLE, reason, now, fx);
    return false;
}

static void advance_scheduling(struct fleet *f, struct job *job, struct moment now,
                               struct effects *fx)
{
    const struct guest *guest = guest_on_source(f, job, now, fx);
    if (guest == NULL || !is_movable(f, job, guest, now, fx))
        return;
    if (job->target[0] != '\0' && !target_is_usable(f, job))
        release_target(f, job, now);
    if (job->target[0] == '\0' && !reschedule(f, job, guest, now, fx))
        return;
    if (!f->store_ok) {
        step_wait(job, PENDING_STORE, now, "the store is not writable");
        wait_here(f, job, now, fx);
        return;
    }
    if (!guest_is_free(f, job, guest, now, fx))
        return;
    if (cpu_suits(f, job, guest, now, fx)) {
        if (!volumes_suit(f, job, guest, now, fx))
            return;
        step_launcher(job, LAUNCHER_PREPARED, now);
        step_take(f, job, TRIGGER_PLACED, now, fx);
        return;
    }
    if (phase_is_final(job->phase) || job->target[0] == '\0')
        return; /* the pending reason is set */
    step_wait(job, PENDING_PREPARING, now, "asking %s whether it has the guest's CPU", job->target);
    wait_here(f, job, now, fx);
}

static struct flags_side side_of(const struct node *node)
{
    struct flags_side side = {0};
    if (node != NULL) {
        side.tls = node->host.tls;
        side.libvirt_version = node->facts.libvirt_version;
        side.qemu_version = node->facts.hypervisor_version;
    }
    return side;
}

/* Flags from the facts at hand-off; a user's pause and the persistent definition are read again
 * at the call. */
static void choose_flags(struct fleet *f, struct job *job, const struct guest *guest)
{
    const struct domain *at = guest != NULL ? guest->owner : NULL;
    struct flags_facts facts = {
        .persistent = guest != NULL && guest->persistent,
        .disks = job->request.volumes_json != NULL ? FLAGS_DISKS_WHOLE : FLAGS_DISKS_STAY,
        .source = side_of(fleet_node(f, job->source)),
        .target = side_of(fleet_node(f, job->target)),
    };
    if (at != NULL) {
        facts.paused = at->state == HV_STATE_PAUSED && at->reason == HV_PAUSED_USER;
        facts.as_defined = at->pending_change.cures;
        facts.vfio = migratable_has(&at->migratable, UNMOVABLE_HOST_DEVICE) ||
                     migratable_has(&at->migratable, UNMOVABLE_INTERFACE);
    }
    struct hv_migrate how = {0};
    flags_choose(&job->call.config, &facts, &how);
    job->call.flags = how.flags;
}

static void report_hand_off(const struct job *job, struct moment now, struct effects *fx)
{
    char left_out[JOB_REASON_MAX / 2];
    flags_summary(0, flags_left_out(job), left_out, sizeof left_out);
    effects_event(fx, job, now.wall_ms, false, "SuccessfulHandOver",
                  "Migration target pod is ready for preparation: %s to %s, epoch %lld%s%s.%s%s",
                  job->source, job->target, (long long)job->epoch,
                  job->request.policy[0] != '\0' ? ", policy " : "", job->request.policy,
                  left_out[0] != '\0' ? " Note: " : "", left_out);
}

/* Without the override libvirt fails where the target lacks a disk; whether a file of that name is
 * the same one rests on the configuration. */
static void report_unchecked(struct fleet *f, const struct job *job, struct moment now,
                             struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    struct volumes volumes;
    bool by_name = guest != NULL && guest->owner != NULL &&
                   volumes_by_name(guest->owner->requirements, &volumes);
    if (!by_name || job->request.volumes_json != NULL || job->call.config.unsafe)
        return;
    effects_event(
        fx, job, now.wall_ms, false, "StorageNotChecked",
        "%zu disk%s of the guest, the first is %s: declared shared, and not looked for on "
        "%s.",
        volumes.n, volumes.n == 1 ? "" : "s", volumes.list[0].is.disk, job->target);
}

/* The configuration is frozen here; later changes do not reach a job that was handed off. */
static void advance_scheduled(struct fleet *f, struct job *job, struct moment now,
                              struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL)
        room_configure(f, job, guest);
    if (f->config.bandwidth_per_node != 0) /* the reserved bandwidth is the limit */
        job->call.config.bandwidth = (int64_t)job->placement.reserved_bandwidth;
    choose_flags(f, job, guest);
    if (job->call.config.require_tls && (job->call.flags & HV_MIGRATE_TLS) == 0) {
        wait_fail(f, job, TRIGGER_IMPOSSIBLE,
                  "encryption is required since the target was chosen (requireTLS), but not "
                  "both hosts have TLS",
                  now, fx);
        return;
    }
    job->epoch++;
    job->intent_seq = 0;
    job->times.handed_off_ms = now.wall_ms;
    job->call.begun_ms = now.mono_ms;
    expect_job(f, job);
    job->resolution.next_round_ms = now.mono_ms;
    job->resolution.hv_job = JOB_SEEN_UNKNOWN;
    job->resolution.hv_job_question = job->resolution.hv_job_round = 0;
    step_take(f, job, TRIGGER_HANDED_OFF, now, fx);
    report_hand_off(job, now, fx);
    report_unchecked(f, job, now, fx);
}

static void check_target(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    const struct node *node = fleet_node(f, job->target);
    const struct guest *twin =
        node != NULL ? fleet_namesake(node, job->guest_name, job->guest_uuid) : NULL;
    char text[JOB_REASON_MAX];

    if (source == SIDE_BLIND || target == SIDE_BLIND) {
        step_wait(job, PENDING_TARGET_SILENT, now, "node %s did not answer about the guest",
                  source == SIDE_BLIND ? job->source : job->target);
        job->resolution.next_round_ms = now.mono_ms + RETRY_MS;
    } else if (source != SIDE_OWNS) {
        (void)snprintf(text, sizeof text, "the guest no longer runs on %s (%s)", job->source,
                       ownership_side_name(source));
        wait_fail(f, job, TRIGGER_IMPOSSIBLE, text, now, fx);
    } else if (target != SIDE_ABSENT && target != SIDE_OFF && target != SIDE_LEFT) {
        (void)snprintf(text, sizeof text, "node %s already has an active guest with this UUID (%s)",
                       job->target, ownership_side_name(target));
        wait_fail(f, job, TRIGGER_IMPOSSIBLE, text, now, fx);
    } else if (twin != NULL) {
        (void)snprintf(text, sizeof text, "node %s has another guest named %s (%s)", job->target,
                       twin->name, twin->uuid);
        wait_fail(f, job, TRIGGER_IMPOSSIBLE, text, now, fx);
    } else {
        step_launcher(job, LAUNCHER_READY, now);
        move_begin(f, job, now, fx);
    }
}

static void advance_preparing(struct fleet *f, struct job *job, struct moment now,
                              struct effects *fx)
{
    if (!f->store_ok) {
        step_wait(job, PENDING_STORE, now, "the store is not writable");
        job->resolution.next_round_ms = now.mono_ms + RETRY_MS;
    } else if (job->resolution.decided_round != job->resolution.round &&
               observe_answered(f, job, now, fx)) {
        job->resolution.decided_round = job->resolution.round;
        check_target(f, job, now, fx);
    }
    if (job->phase != PHASE_PREPARING_TARGET)
        return;
    if (job->wait.pending == PENDING_NONE)
        step_wait(job, PENDING_TARGET_SILENT, now, "observing the guest on %s and %s", job->source,
                  job->target);
    bool rests = observe_answered(f, job, now, fx) && now.mono_ms < job->resolution.next_round_ms;
    if (!rests)
        observe_begin(f, job, now, fx);
    if (wait_until_deadline(f, job, now, fx) && rests &&
        job->queue.wake_ms > job->resolution.next_round_ms)
        job->queue.wake_ms = job->resolution.next_round_ms;
}

void prepare_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum phase before;
    do {
        before = job->phase;
        switch (before) {
        case PHASE_SCHEDULING: advance_scheduling(f, job, now, fx); break;
        case PHASE_SCHEDULED: advance_scheduled(f, job, now, fx); break;
        case PHASE_PREPARING_TARGET: advance_preparing(f, job, now, fx); break;
        default: break;
        }
    } while (job->phase != before);
}
