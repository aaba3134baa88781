/* schedule.c - see schedule.h: Pending. */
#include "engine/control/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/placement.h"
#include "engine/control/policy_choose.h"
#include "engine/control/queue.h"
#include "engine/data/final.h"
#include "engine/data/intent.h"
#include "engine/data/ownership.h"
#include "engine/model/backoff.h"
#include "engine/model/launcher.h"
#include "engine/model/ledger.h"
#include "engine/model/policy.h"

enum { JOB_AGE_MAX_MS = 2 * 86400 * 1000 };

/* Nothing was asked of any host yet, so the guest is where it was last seen running; if that is
 * not known, it is not claimed. */
static enum guest_at place_of_guest(struct fleet *f, const struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest == NULL || guest->owner == NULL || !guest->owner->node->connected)
        return GUEST_AT_UNKNOWN;
    struct hv_sight sight = {
        .presence = HV_PRESENT, .state = guest->owner->state, .reason = guest->owner->reason};
    bool elsewhere = job->source[0] != '\0' && strcmp(guest->owner->node->name, job->source) != 0;
    return ownership_side(&sight) == SIDE_OWNS && !elsewhere ? GUEST_AT_SOURCE : GUEST_AT_UNKNOWN;
}

void schedule_fail(struct fleet *f, struct job *job, enum trigger why, const char *text,
                   struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_FAILED, .guest_at = place_of_guest(f, job)};
    TEXT_SET(ending.reason, text);
    final_finish(f, job, why, &ending, now, fx);
}

static void cancel(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct step_ending ending = {.outcome = OUTCOME_ABORTED, .guest_at = place_of_guest(f, job)};
    (void)snprintf(ending.reason, sizeof ending.reason, "cancelled by %s before anything moved",
                   job->abort_requester);
    job->abort_status = ABORT_SUCCEEDED;
    final_finish(f, job, TRIGGER_CANCELLED, &ending, now, fx);
}

/* ---- deadlines ---- */

enum { TIMEOUT_UNSCHEDULABLE, TIMEOUT_PENDING, TIMEOUT_UTILITY };

/* An annotation of the job comes first, then the configuration, then the table. */
static int64_t limit_ms(const struct fleet *f, const struct job *job)
{
    const struct fleet_config *config = &f->config;
    int64_t said_s = 0, configured_ms = 0;
    switch (job->pending) {
    case PENDING_UNSCHEDULABLE:
        said_s = job->timeouts_s[TIMEOUT_UNSCHEDULABLE];
        configured_ms = config->unschedulable_timeout_ms;
        break;
    case PENDING_UTILITY_VOLUMES:
        said_s = job->timeouts_s[TIMEOUT_UTILITY];
        configured_ms = config->migration.utility_volumes_timeout * 1000;
        break;
    case PENDING_GUEST_UNSEEN:
    case PENDING_SOURCE_UNREACHABLE:
    case PENDING_GUEST_BUSY:
    case PENDING_STORAGE:
    case PENDING_STORE:
        said_s = job->timeouts_s[TIMEOUT_PENDING];
        configured_ms = config->pending_timeout_ms;
        break;
    case PENDING_TARGET_SILENT:
    case PENDING_PREPARING: configured_ms = config->prepare_timeout_ms; break;
    default: break;
    }
    if (said_s > 0)
        return said_s * 1000;
    return configured_ms > 0 ? configured_ms : pending_limit_ms(job->pending);
}

static void fail_late(struct fleet *f, struct job *job, int64_t waited_ms, struct moment now,
                      struct effects *fx)
{
    char text[JOB_REASON_MAX];
    const char *what = job->pending == PENDING_UNSCHEDULABLE ? "unschedulable" : "pending";
    if (job->pending == PENDING_UTILITY_VOLUMES)
        (void)snprintf(text, sizeof text,
                       "Migration timeout waiting for utility volumes to detach from VMI [%s/%s]. "
                       "Utility volumes still present after %lld seconds.",
                       job->ns, job->guest_name, (long long)(waited_ms / 1000));
    else
        (void)snprintf(text, sizeof text, "gave up in phase %s after %lld s: %.400s",
                       phase_name(job->phase), (long long)(waited_ms / 1000), job->pending_reason);
    if (job->launcher != LAUNCHER_NONE) {
        char pod[LAUNCHER_POD_MAX];
        launcher_pod(job->guest_name, job->guest_uuid, job->target, job->uid, pod);
        effects_event(fx, job, now.wall_ms, false, "SuccessfulDelete",
                      "%s pod %s/%s timeout period exceeded", what, job->ns, pod);
    }
    schedule_fail(f, job, TRIGGER_WAITED_TOO_LONG, text, now, fx);
}

bool schedule_wait_on(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    int64_t limit = limit_ms(f, job);
    int64_t waited_ms = job->waited_ms[job->pending] + now.mono_ms - job->waits_mono_ms;
    int64_t left_ms = limit - waited_ms;
    int64_t age_left_ms = job->created_ms + JOB_AGE_MAX_MS - now.wall_ms; /* over all its waits */
    if (job->phase == PHASE_PENDING && age_left_ms < left_ms)
        left_ms = age_left_ms;
    if (limit > 0 && left_ms <= 0) {
        fail_late(f, job, waited_ms, now, fx);
        return false;
    }
    if (limit > 0) {
        int64_t until_ms = now.wall_ms + left_ms;
        if (until_ms != job->waits_until_ms && job->waits_until_ms == 0)
            job->changed = true;
        if (job->waits_until_ms == 0)
            job->waits_until_ms = until_ms;
        job->wake_ms = now.mono_ms + left_ms;
    }
    return true;
}

void schedule_wait_turn(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    f->store_waits = f->store_waits || !f->store_ok;
    if (!f->store_ok)
        step_wait(job, PENDING_STORE, now, "the store cannot be written");
    else
        step_wait(job, PENDING_SLOT_FLEET, now, "the fleet's %u places are taken",
                  f->config.parallel_per_fleet);
    (void)schedule_wait_on(f, job, now, fx);
}

/* ---- what stands in the way of one job ---- */

void schedule_configure(struct fleet *f, struct job *job, const struct guest *guest)
{
    const struct object *policy =
        f->of_kind[OBJECT_POLICY] != NULL ? policy_choose(f, guest) : NULL;
    TEXT_SET(job->policy, policy != NULL ? policy->name : "");
    policy_merge(&f->config.migration, policy != NULL ? policy->policy : NULL, &job->config);
    if (job->bandwidth_mibs != 0)
        job->config.bandwidth = (int64_t)(job->bandwidth_mibs << 20);
}

bool schedule_quota_allows(struct fleet *f, struct space *space, const struct demand *more,
                           char out_text[static QUOTA_TEXT_MAX])
{
    (void)f;
    for (const struct object *o = space->quotas; o != NULL; o = o->next_here)
        if (o->quota != NULL && !quota_allows(o->quota, o->name, &space->used, more, out_text))
            return false;
    return true;
}

/* Re-asked at KubeVirt's pace: the higher the class the sooner. */
static int64_t again_ms(const struct job *job)
{
    if (job->priority == PRIORITY_SYSTEM_CRITICAL)
        return 1000;
    return job->priority == PRIORITY_USER_TRIGGERED ? 3000 : 5000;
}

static void ask_job(struct fleet *f, struct job *job, const char *node, struct moment now,
                    struct effects *fx)
{
    job->asked_job = true;
    job->hv_job_question = ++f->next_call_id;
    job->hv_job_asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_JOB, job, now.wall_ms);
    effect->of.act.id = job->hv_job_question;
    TEXT_SET(effect->of.act.node, node);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

void schedule_first_look(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL && guest->owner != NULL && guest->owner->node->connected)
        ask_job(f, job, guest->owner->node->name, now, fx);
}

static void wait_for_answer(struct fleet *f, struct job *job, const struct guest *guest,
                            struct moment now, struct effects *fx)
{
    if (job->hv_job == JOB_SEEN_ACTIVE)
        step_wait(job, PENDING_GUEST_BUSY, now,
                  "a migration that Ferry did not start runs on the guest");
    else
        step_wait(job, PENDING_GUEST_BUSY, now, "node %s is asked whether a job runs on the guest",
                  guest->owner->node->name);
    if (schedule_wait_on(f, job, now, fx) && job->wake_ms > now.mono_ms + again_ms(job))
        job->wake_ms = now.mono_ms + again_ms(job);
}

/* An order like any other that changes a guest: recorded open, closed by its answer. */
static void stop_backup(struct fleet *f, struct job *job, const char *node, struct moment now,
                        struct effects *fx)
{
    effects_event(fx, job, now.wall_ms, false, "BackupAbortedForMigration",
                  "Aborting backup of %s for system-critical migration", job->guest_name);
    struct effect *effect =
        order_give(f, job, &job->backup_order, HV_CALL_ABORT, node, "stop-backup", NULL, now, fx);
    effect->kind = EFFECT_DO_STOP_BACKUP; /* somebody else's job, not the migration's */
}

bool schedule_backup_answered(struct job *job, uint64_t id, const struct err *err,
                              struct moment now, struct effects *fx)
{
    if (!order_answered(job, &job->backup_order, id, err, now, fx))
        return false;
    /* Lost, or never given: the next look tells whether the backup is still there. */
    job->backup_asked = err->code == ERR_NONE || err->code == ERR_HYPERVISOR;
    job->backup_aborted = err->code == ERR_NONE;
    job->hv_job_is_backup = false; /* as it was before the order */
    job->hv_job_question = 0;
    if (err->code == ERR_HYPERVISOR)
        effects_event(fx, job, now.wall_ms, true, "BackupNotAborted",
                      "The backup could not be ended: %.300s", err->text);
    return true;
}

static void wait_for_backup(struct fleet *f, struct job *job, const struct guest *guest,
                            struct moment now, struct effects *fx)
{
    bool may = job->priority == PRIORITY_SYSTEM_CRITICAL && job->config.backup_abort;
    bool is_backup = job->hv_job == JOB_SEEN_OTHER;
    if (may && job->hv_job_is_backup && !job->backup_asked && job->backup_order.id == 0)
        stop_backup(f, job, guest->owner->node->name, now, fx);
    step_wait(job, PENDING_BACKUP, now, "%s of %s to complete",
              job->backup_aborted || job->backup_order.id != 0 ? "Waiting for the aborted backup"
              : is_backup                                      ? "Waiting for backup"
                                                               : "Waiting for block job",
              job->guest_name);
    if (schedule_wait_on(f, job, now, fx) && job->wake_ms > now.mono_ms + again_ms(job))
        job->wake_ms = now.mono_ms + again_ms(job);
}

/* An answer that does not come in this time is not waited for. */
enum { ANSWER_MS = 10000 };

bool schedule_guest_free(struct fleet *f, struct job *job, const struct guest *guest,
                         struct moment now, struct effects *fx)
{
    int64_t age_ms = now.mono_ms - job->hv_job_asked_ms;
    bool busy = job->hv_job == JOB_SEEN_OTHER || job->hv_job == JOB_SEEN_ACTIVE;
    if (job->hv_job_question != 0 && age_ms >= ANSWER_MS)
        job->hv_job_question = 0;
    if (job->hv_job_question == 0 && (!job->asked_job || (busy && age_ms >= again_ms(job))))
        ask_job(f, job, guest->owner->node->name, now, fx);
    if (job->hv_job == JOB_SEEN_OTHER || job->backup_order.id != 0) {
        wait_for_backup(f, job, guest, now, fx);
        return false;
    }
    if (job->hv_job_question != 0 || busy) {
        wait_for_answer(f, job, guest, now, fx);
        return false;
    }
    if (guest->owner->block_jobs > 0) {
        wait_for_backup(f, job, guest, now, fx);
        return false;
    }
    if (guest->owner->utility_disks == 0)
        return true;
    step_wait(job, PENDING_UTILITY_VOLUMES, now,
              "Migration waiting for utility volumes to detach from VMI [%s/%s].", job->ns,
              job->guest_name);
    if (job->waits_until_ms == 0)
        effects_event(fx, job, now.wall_ms, true, "UtilityVolumeMigrationPending",
                      "Migration waiting for utility volumes to detach from VMI [%s/%s]. Will "
                      "timeout in %lld seconds.",
                      job->ns, job->guest_name, (long long)(limit_ms(f, job) / 1000));
    if (schedule_wait_on(f, job, now, fx) && phase_is_busy(job->phase) &&
        job->wake_ms > now.mono_ms + again_ms(job))
        job->wake_ms = now.mono_ms + again_ms(job); /* only waiting ones are woken by the guest */
    return false;
}

static bool backs_off(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (!origin_is_automatic(job->origin))
        return false;
    struct backoff backoff;
    backoff_of(fleet_newest_finished(f, job->guest_uuid), &backoff);
    if (backoff.until_ms <= now.wall_ms)
        return false;
    if (job->pending != PENDING_BACKOFF)
        effects_note(fx, "VirtualMachineInstance", job->ns, job->guest_name, job->guest_uuid,
                     now.wall_ms, true, "MigrationBackoff", "backoff migrating vmi %s/%s", job->ns,
                     job->guest_name);
    step_wait(job, PENDING_BACKOFF, now, "%u migrations of the guest failed in a row",
              backoff.failures);
    job->waits_until_ms = backoff.until_ms;
    job->wake_ms = now.mono_ms + backoff.until_ms - now.wall_ms;
    queue_park_alone(job);
    return true;
}

/* Places and bandwidth of the node it leaves. */
static bool source_has_room(struct fleet *f, struct node *source, struct job *job,
                            struct moment now, struct effects *fx)
{
    const struct fleet_config *config = &f->config;
    uint64_t budget = config->bandwidth_per_node;
    uint64_t wants = job->config.bandwidth > 0 ? (uint64_t)job->config.bandwidth : budget;
    if (config->parallel_outbound_per_node != 0 &&
        source->outbound >= config->parallel_outbound_per_node)
        step_wait(job, PENDING_SLOT_SOURCE, now, "%u migrations leave %s, its limit",
                  source->outbound, source->name);
    else if (budget != 0 && source->out_bandwidth > 0 && source->out_bandwidth + wants > budget)
        step_wait(job, PENDING_BANDWIDTH, now,
                  "migrations that leave %s use %llu of its %llu bytes per second", source->name,
                  (unsigned long long)source->out_bandwidth, (unsigned long long)budget);
    else
        return true;
    queue_park_at(&source->blocked_out, job);
    (void)schedule_wait_on(f, job, now, fx);
    return false;
}

/* Right after a start what a namespace uses is not known before every node was asked; one that does
 * not even say that it cannot be reached is not waited for longer than this. */
enum { FIRST_LISTS_MS = 30000, LISTS_AGAIN_MS = 1000 };

static const struct node *not_listed_yet(const struct fleet *f, struct moment now)
{
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        if (now.wall_ms - node->created_wall_ms >= FIRST_LISTS_MS)
            return NULL; /* they are all of one age */
        if (!node->asked || (node->connected && !node->listed))
            return node;
    }
    return NULL;
}

static bool use_is_known(struct fleet *f, const struct guest *guest, struct job *job,
                         struct moment now, struct effects *fx)
{
    const struct node *node = not_listed_yet(f, now);
    if (node == NULL || guest->space == NULL || guest->space->quotas == NULL)
        return true;
    step_wait(job, PENDING_QUOTA, now, "what its namespace uses on node %s is not known yet",
              node->name);
    queue_park_alone(job);
    if (schedule_wait_on(f, job, now, fx) && job->wake_ms > now.mono_ms + LISTS_AGAIN_MS)
        job->wake_ms = now.mono_ms + LISTS_AGAIN_MS;
    return false;
}

static bool quota_has_room(struct fleet *f, const struct guest *guest, struct job *job,
                           struct moment now, struct effects *fx)
{
    struct demand more = ledger_demand(guest);
    char text[QUOTA_TEXT_MAX];
    if (!use_is_known(f, guest, job, now, fx))
        return false;
    if (guest->space == NULL || schedule_quota_allows(f, guest->space, &more, text))
        return true;
    step_wait(job, PENDING_QUOTA, now, "%s", text);
    queue_park_at(&guest->space->blocked, job);
    guest->space->seen = guest->space->used; /* less than this is room */
    (void)schedule_wait_on(f, job, now, fx);
    return false;
}

/* ---- a place ---- */

static bool same_reasons(const struct rejections *a, const struct rejections *b)
{
    if (a->n != b->n || memcmp(a->counts, b->counts, sizeof a->counts) != 0)
        return false;
    for (size_t i = 0; i < a->n; i++) /* as many of each, but of other nodes? */
        if (a->list[i].why != b->list[i].why || strcmp(a->list[i].node, b->list[i].node) != 0)
            return false;
    return true;
}

static void keep_rejections(struct fleet *f, struct job *job, struct moment now)
{
    struct rejections *found = f->scratch;
    size_t bytes = offsetof(struct rejections, list) + found->n * sizeof found->list[0];
    if (job->rejections != NULL && same_reasons(job->rejections, found))
        return; /* nothing new; the first time stands */
    struct rejections *kept = malloc(bytes);
    if (kept == NULL)
        return;
    memcpy(kept, found, bytes);
    kept->at_ms = now.wall_ms;
    free(job->rejections);
    job->rejections = kept;
    job->rejections_changed = job->changed = true;
}

bool schedule_place(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                    struct effects *fx)
{
    struct placement placement;
    placement_of(f, guest, job, &placement);
    placement.failed = job->failed;
    placement.n_failed = job->n_failed;
    const struct node *node = placement_choose(f, &placement, f->scratch);
    if (node == NULL) {
        keep_rejections(f, job, now);
        return false;
    }
    struct demand demand = ledger_demand(guest);
    TEXT_SET(job->target, node->name);
    ledger_reserve(f, job, &demand);
    step_launcher(job, LAUNCHER_SCHEDULED, now);
    char pod[LAUNCHER_POD_MAX];
    launcher_pod(job->guest_name, job->guest_uuid, job->target, job->uid, pod);
    effects_event(fx, job, now.wall_ms, false, "SuccessfulCreate",
                  "Created migration target pod %s on %s", pod, job->target);
    return true;
}

/* If all that could take it lack a place or bandwidth only, that is what it waits for. */
static enum pending kind_of_wait(const struct rejections *r)
{
    unsigned slots = r->counts[REJECT_INBOUND], bandwidth = r->counts[REJECT_BANDWIDTH], other = 0;
    for (enum reject why = 0; why < REJECT_COUNT; why++)
        if (!reject_is_for_ever(why) && why != REJECT_INBOUND && why != REJECT_BANDWIDTH)
            other += r->counts[why];
    if (slots > 0)
        return PENDING_SLOT_TARGET;
    return bandwidth > 0 && other == 0 ? PENDING_BANDWIDTH : PENDING_UNSCHEDULABLE;
}

void schedule_unplaced(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    char text[JOB_REASON_MAX];
    rejections_text(f->scratch, text, sizeof text);
    if (rejections_all_for_ever(f->scratch)) {
        char reason[JOB_REASON_MAX];
        (void)snprintf(reason, sizeof reason, "no node can ever take the guest: %.400s", text);
        schedule_fail(f, job, TRIGGER_IMPOSSIBLE, reason, now, fx);
        return;
    }
    enum pending pending = kind_of_wait(f->scratch);
    if (pending == PENDING_UNSCHEDULABLE && job->pending != PENDING_UNSCHEDULABLE)
        effects_event(fx, job, now.wall_ms, true, "migrationTargetPodUnschedulable",
                      "Migration target pod for VMI [%s/%s] is currently unschedulable. %.300s",
                      job->ns, job->guest_name, text);
    step_wait(job, pending, now, "%s", text);
    (void)schedule_wait_on(f, job, now, fx);
}

/* Where what may change will find it: the company of nodes, the node it named, any node. */
static void park_unplaced(struct fleet *f, struct job *job, const struct guest *guest)
{
    const unsigned *counts = f->scratch->counts;
    bool own = guest->settings != NULL && guest->settings->node_selector.n > 0;
    const char *named = job->wanted;
    if (named[0] == '\0' && !own) /* the guest's own selector wins over what is added */
        named = labels_get(&job->added_selector, "kubernetes.io/hostname");
    struct node *node = named != NULL ? fleet_node(f, named) : NULL;
    if (counts[REJECT_AFFINITY] + counts[REJECT_ANTI_AFFINITY] > 0)
        queue_park_at(&f->near, job);
    else
        queue_park_at(node != NULL ? &node->blocked_in : &f->unplaced, job);
}

static void start(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                  struct effects *fx)
{
    TEXT_SET(job->source, guest->owner->node->name);
    if (schedule_place(f, job, guest, now, fx)) {
        job->target_side = job->source_side = (struct job_side){0};
        job->asked_job = false; /* asked once more before the hand-off */
        job->hv_job = JOB_SEEN_UNKNOWN;
        step_take(f, job, TRIGGER_ADMITTED, now, fx);
        prepare_advance(f, job, now, fx);
        return;
    }
    schedule_unplaced(f, job, now, fx);
    if (job->phase == PHASE_PENDING)
        park_unplaced(f, job, guest);
}

/* Is the guest where it can be asked, and in a state from which it can leave? */
static bool guest_is_there(struct fleet *f, struct job *job, const struct guest *guest,
                           struct moment now, struct effects *fx)
{
    if (guest == NULL || guest->owner == NULL) {
        step_wait(job, PENDING_GUEST_UNSEEN, now, "the guest has not been seen on any node");
        queue_park_alone(job);
    } else if (!guest->owner->node->connected) {
        step_wait(job, PENDING_SOURCE_UNREACHABLE, now,
                  "node %s, where the guest was last seen, cannot be reached",
                  guest->owner->node->name);
        queue_park_at(&guest->owner->node->blocked_out, job);
    } else {
        return true;
    }
    (void)schedule_wait_on(f, job, now, fx);
    return false;
}

static void try_it(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                   struct effects *fx)
{
    if (!guest_is_there(f, job, guest, now, fx) || backs_off(f, job, now, fx))
        return;
    schedule_configure(f, job, guest);
    if (source_has_room(f, guest->owner->node, job, now, fx) &&
        quota_has_room(f, guest, job, now, fx) && schedule_guest_free(f, job, guest, now, fx))
        start(f, job, guest, now, fx);
}

/* Another may have the room that this one was woken for and did not take. */
static void pass_on(struct fleet *f, struct job *job, struct node *source, struct space *space)
{
    bool waits = job->phase == PHASE_PENDING;
    if (waits && source != NULL && job->wait.in != &source->blocked_out)
        queue_next_may_leave(f, source); /* at once: before somebody who waits for less */
    if (job->woken_for != NULL && strcmp(job->woken_for->name, job->target) != 0)
        fleet_node_improved(f, job->woken_for);
    if (waits && job->woken_out != NULL && job->woken_out != source)
        queue_next_may_leave(f, job->woken_out);
    if (waits && job->woken_by_quota && space != NULL && job->wait.in != &space->blocked) {
        space->quota_changed = true;
        fleet_space_stirred(f, space);
    }
    job->woken_for = job->woken_out = NULL;
    job->woken_by_quota = false;
}

void schedule_try(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    struct node *source = guest != NULL && guest->owner != NULL ? guest->owner->node : NULL;
    struct space *space = guest != NULL ? guest->space : NULL;
    try_it(f, job, guest, now, fx); /* the guest may be gone after it */
    pass_on(f, job, source, space);
}

static void advance_pending(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->pending != PENDING_NONE && !schedule_wait_on(f, job, now, fx))
        return;
    if (job->wait.in == NULL) /* time or an answer was all it waited for */
        fleet_queue_ready(f, job);
}

void schedule_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->abort_asked)
        cancel(f, job, now, fx);
    else if (job->phase == PHASE_PENDING)
        advance_pending(f, job, now, fx);
    else
        prepare_advance(f, job, now, fx);
}
