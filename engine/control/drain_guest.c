/* drain_guest.c - the guests of a drain; see drain.h and drain_turn.h. */
#include "engine/control/drain_turn.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/advance.h"
#include "engine/model/job/backoff.h"

/* ---- status of a guest ---- */

int64_t drain_whole_seconds(int64_t wall_ms)
{
    return wall_ms / 1000 * 1000;
}

void drain_check_again_in(struct drain_turn *t, int64_t ms)
{
    if (t->now.mono_ms + ms < t->next_ms)
        t->next_ms = t->now.mono_ms + ms;
}

void drain_show(struct drain_turn *t, struct drain_guest *guest, enum drain_guest_state state,
                enum block block, const char *fmt, ...)
{
    char message[JOB_REASON_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (block != BLOCK_NOT_MIGRATABLE)
        guest->unmovable = UNMOVABLE_COUNT;
    if (guest->state == state && guest->block == block && strcmp(guest->message, message) == 0)
        return;
    guest->state = state;
    guest->block = block;
    (void)text_copy(guest->message, sizeof guest->message, message);
    t->changed = true;
}

void drain_set_text(struct drain_turn *t, char *into, size_t bytes, const char *text)
{
    if (strcmp(into, text) == 0)
        return;
    (void)text_copy(into, bytes, text);
    t->changed = true;
}

static void show_blocked(struct drain_turn *t, struct drain_guest *guest,
                         const struct domain *domain, enum block block)
{
    if (block != BLOCK_NOT_MIGRATABLE) {
        drain_show(t, guest, DRAIN_GUEST_BLOCKED, block, "%s", block_help(block));
        return;
    }
    char text[MIGRATABLE_TEXT_MAX];
    enum unmovable row = migratable_first_live(&domain->migratable);
    unmovable_text(row, &domain->migratable, text);
    bool is_new = guest->block != block || guest->unmovable != row;
    guest->unmovable = row;
    drain_show(t, guest, DRAIN_GUEST_BLOCKED, block, "%s: %s", unmovable_name(row), text);
    t->changed = t->changed || is_new;
    if (is_new && t->object != NULL && domain->guest->owner != NULL)
        evacuation_report_blocked(t->f, domain->guest, t->now, t->fx);
}

/* ---- the guest's job ---- */

static bool was_refused_by_placement(const struct job *job)
{
    return job->times.handed_off_ms == 0 && job->result.outcome == OUTCOME_FAILED &&
           (job->placement.rejections != NULL || job->wait.pending == PENDING_UNSCHEDULABLE);
}

/* The guest's job has ended: counts an attempt where it was one. A job that was stopped because its
 * drain was cancelled, by an earlier drain of the node for one, was none. */
static void account_for_job(struct drain_turn *t, struct drain_guest *guest)
{
    const struct job *job = guest->job_uid[0] != '\0' ? fleet_job(t->f, guest->job_uid) : NULL;
    if (guest->job_uid[0] == '\0' || (job != NULL && !phase_is_final(job->phase)))
        return;
    bool cancelled = job != NULL && job->result.outcome == OUTCOME_ABORTED &&
                     job->abort.cause == ABORT_CAUSE_DRAIN;
    if (job != NULL && !cancelled && job->result.outcome != OUTCOME_SUCCEEDED &&
        guest->attempts < DRAIN_TRIES_MAX &&
        (job->times.handed_off_ms != 0 || was_refused_by_placement(job)))
        guest->attempts++;
    guest->job_uid[0] = '\0';
    t->changed = true;
}

static void show_job(struct drain_turn *t, struct drain_guest *guest, const struct job *job)
{
    if (!evacuation_is_of(job, t->drain->node)) {
        if (strcmp(job->target, t->drain->node) == 0)
            drain_show(t, guest, DRAIN_GUEST_WAITING, BLOCK_NONE,
                       "arriving by migration %s; will be drained after it", job->name);
        else
            drain_show(t, guest, DRAIN_GUEST_BLOCKED, BLOCK_BUSY,
                       "another migration is under way: %s", job->name);
        return;
    }
    DRAIN_SHOW_TEXT(t, guest->job_uid, job->uid);
    DRAIN_SHOW_TEXT(t, guest->job_name, job->name);
    DRAIN_SHOW_TEXT(t, guest->target, job->target);
    if (phase_is_busy(job->phase))
        drain_show(t, guest, DRAIN_GUEST_MOVING, BLOCK_NONE, "%s", "");
    else
        drain_show(t, guest, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s",
                   job->wait.reason[0] != '\0' ? job->wait.reason
                                               : pending_name(job->wait.pending));
}

static void show_failed(struct drain_turn *t, struct drain_guest *guest)
{
    const struct job *last = fleet_newest_finished(t->f, guest->uuid);
    enum block block = BLOCK_TRIES;
    if (guest->state == DRAIN_GUEST_FAILED)
        return; /* the message was set when the job failed; that job may be forgotten by now */
    if (last != NULL && was_refused_by_placement(last))
        block = BLOCK_NO_NODE;
    drain_show(t, guest, DRAIN_GUEST_FAILED, block, "%u of %u attempts failed; last: %s",
               guest->attempts, t->drain->retry_budget,
               last != NULL && last->result.failure_reason[0] != '\0' ? last->result.failure_reason
                                                                      : "reason not known");
}

/* Requester shown in lists of jobs: "drain:maintenance-n1". */
static void make_job(struct drain_turn *t, struct drain_guest *shown, struct guest *guest)
{
    char who[JOB_WHO_MAX];
    struct err err = {0};
    (void)snprintf(who, sizeof who, "drain:%.50s", t->object->name);
    const struct job *job = NULL;
    if (evacuation_set(t->f, guest, t->drain->node, false, t->now))
        job = evacuation_job(t->f, guest, who, t->now, t->fx, &err);
    if (job != NULL) {
        show_job(t, shown, job);
        return;
    }
    drain_show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s",
               err.text[0] != '\0' ? err.text : "out of memory: evacuation not recorded");
    drain_check_again_in(t, DRAIN_AGAIN_MS);
}

static void migrate_guest(struct drain_turn *t, struct drain_guest *shown, struct guest *guest)
{
    struct backoff backoff;
    backoff_of(fleet_newest_finished(t->f, guest->uuid), &backoff);
    if (shown->attempts >= t->drain->retry_budget)
        show_failed(t, shown);
    else if (backoff.exhausted)
        drain_show(t, shown, DRAIN_GUEST_FAILED, BLOCK_TRIES,
                   "%u automatic migrations failed in a row", backoff.failures);
    else if (t->may_act && t->object != NULL)
        make_job(t, shown, guest);
    else
        drain_show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s", "");
}

static void shut_down_guest(struct drain_turn *t, struct drain_guest *shown)
{
    drain_show(t, shown, DRAIN_GUEST_STOPPING, BLOCK_NONE, "%s", "shutdown requested");
    if (t->object == NULL || !t->may_act)
        return;
    if (shown->stop_asked_ms == 0 || t->now.mono_ms >= shown->stop_asked_ms + DRAIN_STOP_AGAIN_MS) {
        (void)effects_order(t->fx, EFFECT_DO_SHUTDOWN, t->drain->node, shown->uuid, t->now.wall_ms);
        shown->stop_asked_ms = t->now.mono_ms > 0 ? t->now.mono_ms : 1;
    }
    drain_check_again_in(t, DRAIN_STOP_AGAIN_MS);
}

/* Somebody else migrates it: perhaps it leaves the node. */
static bool waits_for_others(struct drain_turn *t, struct drain_guest *shown,
                             const struct guest *guest)
{
    const struct job *observed = fleet_observed_job(t->f, guest->uuid);
    if (observed == NULL)
        return false;
    drain_show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE, "somebody else migrates it from %s to %s",
               observed->source, observed->target);
    drain_check_again_in(t, DRAIN_AGAIN_MS);
    return true;
}

/* ---- one guest ---- */

static struct domain *domain_on(const struct guest *guest, const struct node *node)
{
    struct domain *domain = guest != NULL ? guest->domains : NULL;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    return domain;
}

static void show_moved(struct drain_turn *t, struct drain_guest *shown, struct guest *guest)
{
    const struct domain *owner = guest != NULL ? guest->owner : NULL;
    bool elsewhere = owner != NULL && owner->node != t->node && domain_is_up(owner);
    if (shown->state != DRAIN_GUEST_MOVED) {
        t->drain->last_moved_ms = drain_whole_seconds(t->now.wall_ms);
        DRAIN_SHOW_TEXT(t, shown->target, elsewhere ? owner->node->name : "");
        shown->stop_asked_ms = 0;
        drain_show(t, shown, DRAIN_GUEST_MOVED, BLOCK_NONE, "%s",
                   elsewhere ? "" : "guest is shut off");
    }
    if (guest != NULL && t->object != NULL && strcmp(guest->evacuation_node, t->drain->node) == 0)
        evacuation_unset(t->f, guest);
}

/* Up on the node, without an active job. */
static void check_idle(struct drain_turn *t, struct drain_guest *shown, struct guest *guest,
                       struct domain *domain)
{
    enum block block;
    if (guest->owner != domain && guest->owner != NULL) {
        drain_show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE,
                   "observed here and on %s; waiting until one owner is proven",
                   guest->owner->node->name);
        return;
    }
    switch (drain_action(t->f, domain, t->drain->shutdown, &block)) {
    case DRAIN_ACTION_MIGRATE: migrate_guest(t, shown, guest); break;
    case DRAIN_ACTION_SHUT_DOWN:
        if (!waits_for_others(t, shown, guest))
            shut_down_guest(t, shown);
        break;
    case DRAIN_ACTION_BLOCK:
        if (block == BLOCK_EXTERNAL && t->may_act && t->object != NULL)
            (void)evacuation_set(t->f, guest, t->drain->node, false, t->now);
        show_blocked(t, shown, domain, block);
        break;
    }
}

/* The node is unreachable or has not listed its guests: keeps the last state and marks it as
 * stale. */
static void show_stale(struct drain_turn *t, struct drain_guest *shown)
{
    if (shown->state == DRAIN_GUEST_MOVING || shown->state == DRAIN_GUEST_FAILED)
        return; /* the migration observes its hosts itself; a failure keeps its message */
    drain_show(t, shown, shown->state, shown->block, "node %s %s; last known state", t->node->name,
               t->node->connected ? "has not listed its guests yet" : "is unreachable");
}

/* A pending job of a guest that is no longer up would keep the drain from ending. */
static void cancel_useless_job(struct drain_turn *t, struct drain_guest *shown)
{
    struct job *job = fleet_active_job(t->f, shown->uuid);
    if (job == NULL || t->object == NULL || !t->may_act || phase_is_busy(job->phase) ||
        !evacuation_is_of(job, t->drain->node))
        return;
    advance_stop(t->f, job,
                 (struct stop){.who = "drain",
                               .cause = ABORT_CAUSE_DRAIN,
                               .why = "the guest is no longer up on the node"},
                 t->now, t->fx);
    account_for_job(t, shown);
}

void drain_check_guest(struct drain_turn *t, struct drain_guest *shown)
{
    struct guest *guest = fleet_guest(t->f, shown->uuid);
    struct domain *domain = domain_on(guest, t->node);
    bool up = domain != NULL && domain_is_up(domain);
    bool known = t->node->connected && t->node->listed;
    account_for_job(t, shown);
    if (!up)
        cancel_useless_job(t, shown);
    guest = fleet_guest(
        t->f, shown->uuid); /* stopping the last job of a guest that is gone frees the guest */
    const struct job *job = fleet_active_job(t->f, shown->uuid);
    bool has_job = job != NULL && (up || evacuation_is_of(job, t->drain->node));
    if (has_job)
        show_job(t, shown, job);
    if (!known && (up || shown->state != DRAIN_GUEST_MOVED))
        show_stale(t, shown);
    else if (!has_job && !up)
        show_moved(t, shown, guest);
    else if (!has_job)
        check_idle(t, shown, guest, domain);
}

/* ---- after the deadline ---- */

/* The deadline passed: nothing is waited for any more. */
void drain_show_left(struct drain_turn *t)
{
    for (size_t i = 0; i < t->drain->n; i++)
        if (t->drain->guests[i].state == DRAIN_GUEST_WAITING)
            drain_show(t, &t->drain->guests[i], DRAIN_GUEST_FAILED, BLOCK_DEADLINE, "%s",
                       "the deadline passed before its migration began");
}

/* A guest that was moving when the deadline passed. */
void drain_follow_guest(struct drain_turn *t, struct drain_guest *shown)
{
    struct guest *guest = fleet_guest(t->f, shown->uuid);
    const struct job *job = fleet_active_job(t->f, shown->uuid);
    const struct job *last = fleet_newest_finished(t->f, shown->uuid);
    const struct domain *domain = domain_on(guest, t->node);
    if (shown->state != DRAIN_GUEST_MOVING)
        return;
    account_for_job(t, shown);
    if (job != NULL && evacuation_is_of(job, t->drain->node))
        show_job(t, shown, job);
    else if (t->node->connected && t->node->listed && (domain == NULL || !domain_is_up(domain)))
        show_moved(t, shown, guest);
    else if (t->node->connected && t->node->listed)
        drain_show(t, shown, DRAIN_GUEST_FAILED, BLOCK_DEADLINE,
                   "its migration failed after the deadline%s%s",
                   last != NULL && last->result.failure_reason[0] != '\0' ? ": " : "",
                   last != NULL ? last->result.failure_reason : "");
}
