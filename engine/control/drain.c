/* drain.c - see drain.h. Each check of a drain computes everything from the fleet: guests that
 * are up on the node, the state of each, the state of the drain. It keeps only what the fleet
 * does not hold: attempts used and the job whose end is not yet counted. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/control/advance.h"
#include "engine/control/drain.h"
#include "engine/control/placement.h"
#include "engine/data/expect.h"
#include "engine/model/job/backoff.h"

struct turn { /* one check of one drain */
    struct fleet *f;
    struct object *object; /* NULL: a plan only */
    struct drain *drain;
    struct node *node;
    struct moment now;
    struct effects *fx;
    bool may_act;    /* the node is connected, its guests are listed, the deadline has not passed */
    bool changed;    /* the status differs from the stored one */
    bool incomplete; /* a guest up on the node is not in the drain */
    int64_t next_ms;
};

/* ---- status of a guest ---- */

static int64_t whole_seconds(int64_t wall_ms)
{
    return wall_ms / 1000 * 1000;
}

static void check_again_in(struct turn *t, int64_t ms)
{
    if (t->now.mono_ms + ms < t->next_ms)
        t->next_ms = t->now.mono_ms + ms;
}

__attribute__((format(printf, 5, 6))) static void show(struct turn *t, struct drain_guest *guest,
                                                       enum drain_guest_state state,
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

static void set_text(struct turn *t, char *into, size_t bytes, const char *text)
{
    if (strcmp(into, text) == 0)
        return;
    (void)text_copy(into, bytes, text);
    t->changed = true;
}
#define SHOW_TEXT(t, array, text) set_text((t), (array), sizeof(array), (text))

static void show_blocked(struct turn *t, struct drain_guest *guest, const struct domain *domain,
                         enum block block)
{
    if (block != BLOCK_NOT_MIGRATABLE) {
        show(t, guest, DRAIN_GUEST_BLOCKED, block, "%s", block_help(block));
        return;
    }
    char text[MIGRATABLE_TEXT_MAX];
    enum unmovable row = migratable_first_live(&domain->migratable);
    unmovable_text(row, &domain->migratable, text);
    bool is_new = guest->block != block || guest->unmovable != row;
    guest->unmovable = row;
    show(t, guest, DRAIN_GUEST_BLOCKED, block, "%s: %s", unmovable_name(row), text);
    t->changed = t->changed || is_new;
    if (is_new && t->object != NULL && domain->guest->owner != NULL)
        evacuation_report_blocked(domain->guest, t->now, t->fx);
}

/* ---- the guest's job ---- */

static bool was_refused_by_placement(const struct job *job)
{
    return job->times.handed_off_ms == 0 && job->result.outcome == OUTCOME_FAILED &&
           (job->placement.rejections != NULL || job->wait.pending == PENDING_UNSCHEDULABLE);
}

/* The guest's job has ended: counts an attempt where it was one. */
static void account_for_job(struct turn *t, struct drain_guest *guest)
{
    const struct job *job = guest->job_uid[0] != '\0' ? fleet_job(t->f, guest->job_uid) : NULL;
    if (guest->job_uid[0] == '\0' || (job != NULL && !phase_is_final(job->phase)))
        return;
    if (job != NULL && job->result.outcome != OUTCOME_SUCCEEDED &&
        guest->attempts < DRAIN_TRIES_MAX &&
        (job->times.handed_off_ms != 0 || was_refused_by_placement(job)))
        guest->attempts++;
    guest->job_uid[0] = '\0';
    t->changed = true;
}

static void show_job(struct turn *t, struct drain_guest *guest, const struct job *job)
{
    if (!evacuation_is_of(job, t->drain->node)) {
        if (strcmp(job->target, t->drain->node) == 0)
            show(t, guest, DRAIN_GUEST_WAITING, BLOCK_NONE,
                 "arriving by migration %s; will be drained after it", job->name);
        else
            show(t, guest, DRAIN_GUEST_BLOCKED, BLOCK_BUSY, "another migration is under way: %s",
                 job->name);
        return;
    }
    SHOW_TEXT(t, guest->job_uid, job->uid);
    SHOW_TEXT(t, guest->job_name, job->name);
    SHOW_TEXT(t, guest->target, job->target);
    if (phase_is_busy(job->phase))
        show(t, guest, DRAIN_GUEST_MOVING, BLOCK_NONE, "%s", "");
    else
        show(t, guest, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s",
             job->wait.reason[0] != '\0' ? job->wait.reason : pending_name(job->wait.pending));
}

static void show_failed(struct turn *t, struct drain_guest *guest)
{
    const struct job *last = fleet_newest_finished(t->f, guest->uuid);
    enum block block = BLOCK_TRIES;
    if (guest->state == DRAIN_GUEST_FAILED)
        return; /* the message was set when the job failed; that job may be forgotten by now */
    if (last != NULL && was_refused_by_placement(last))
        block = BLOCK_NO_NODE;
    show(t, guest, DRAIN_GUEST_FAILED, block, "%u of %u attempts failed; last: %s", guest->attempts,
         t->drain->retry_budget,
         last != NULL && last->result.failure_reason[0] != '\0' ? last->result.failure_reason
                                                                : "reason not known");
}

/* Requester shown in lists of jobs: "drain:maintenance-n1". */
static void make_job(struct turn *t, struct drain_guest *shown, struct guest *guest)
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
    show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s",
         err.text[0] != '\0' ? err.text : "out of memory: evacuation not recorded");
    check_again_in(t, DRAIN_AGAIN_MS);
}

static void migrate_guest(struct turn *t, struct drain_guest *shown, struct guest *guest)
{
    struct backoff backoff;
    backoff_of(fleet_newest_finished(t->f, guest->uuid), &backoff);
    if (shown->attempts >= t->drain->retry_budget)
        show_failed(t, shown);
    else if (backoff.exhausted)
        show(t, shown, DRAIN_GUEST_FAILED, BLOCK_TRIES, "%u automatic migrations failed in a row",
             backoff.failures);
    else if (t->may_act && t->object != NULL)
        make_job(t, shown, guest);
    else
        show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s", "");
}

static void shut_down_guest(struct turn *t, struct drain_guest *shown)
{
    show(t, shown, DRAIN_GUEST_STOPPING, BLOCK_NONE, "%s", "shutdown requested");
    if (t->object == NULL || !t->may_act)
        return;
    if (shown->stop_asked_ms == 0 || t->now.mono_ms >= shown->stop_asked_ms + DRAIN_STOP_AGAIN_MS) {
        (void)effects_order(t->fx, EFFECT_DO_SHUTDOWN, t->drain->node, shown->uuid, t->now.wall_ms);
        shown->stop_asked_ms = t->now.mono_ms > 0 ? t->now.mono_ms : 1;
    }
    check_again_in(t, DRAIN_STOP_AGAIN_MS);
}

/* ---- one guest ---- */

static struct domain *domain_on(const struct guest *guest, const struct node *node)
{
    struct domain *domain = guest != NULL ? guest->domains : NULL;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    return domain;
}

static void show_moved(struct turn *t, struct drain_guest *shown, struct guest *guest)
{
    const struct domain *owner = guest != NULL ? guest->owner : NULL;
    bool elsewhere = owner != NULL && owner->node != t->node && domain_is_up(owner);
    if (shown->state != DRAIN_GUEST_MOVED) {
        t->drain->last_moved_ms = whole_seconds(t->now.wall_ms);
        SHOW_TEXT(t, shown->target, elsewhere ? owner->node->name : "");
        shown->stop_asked_ms = 0;
        show(t, shown, DRAIN_GUEST_MOVED, BLOCK_NONE, "%s", elsewhere ? "" : "guest is shut off");
    }
    if (guest != NULL && t->object != NULL && strcmp(guest->evacuation_node, t->drain->node) == 0)
        evacuation_unset(t->f, guest);
}

/* Up on the node, without an active job. */
static void check_idle(struct turn *t, struct drain_guest *shown, struct guest *guest,
                       struct domain *domain)
{
    enum block block;
    if (guest->owner != domain && guest->owner != NULL) {
        show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE,
             "observed here and on %s; waiting until one owner is proven",
             guest->owner->node->name);
        return;
    }
    switch (drain_action(t->f, domain, t->drain->shutdown, &block)) {
    case DRAIN_ACTION_MIGRATE: migrate_guest(t, shown, guest); break;
    case DRAIN_ACTION_SHUT_DOWN: shut_down_guest(t, shown); break;
    case DRAIN_ACTION_BLOCK:
        if (block == BLOCK_EXTERNAL && t->may_act && t->object != NULL)
            (void)evacuation_set(t->f, guest, t->drain->node, false, t->now);
        show_blocked(t, shown, domain, block);
        break;
    }
}

/* The node is unreachable or has not listed its guests: keeps the last state and marks it as
 * stale. */
static void show_stale(struct turn *t, struct drain_guest *shown)
{
    if (shown->state == DRAIN_GUEST_MOVING || shown->state == DRAIN_GUEST_FAILED)
        return; /* the migration observes its hosts itself; a failure keeps its message */
    show(t, shown, shown->state, shown->block, "node %s %s; last known state", t->node->name,
         t->node->connected ? "has not listed its guests yet" : "is unreachable");
}

/* A pending job of a guest that is no longer up would keep the drain from ending. */
static void cancel_useless_job(struct turn *t, struct drain_guest *shown)
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

static void check(struct turn *t, struct drain_guest *shown)
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

/* ---- the drain ---- */

static void join(struct turn *t)
{
    bool joined = false;
    for (struct domain *domain = t->node->domains; domain != NULL; domain = domain->next_here) {
        const struct guest *guest = domain->guest;
        if (!domain_is_up(domain) || drain_find(t->drain, guest->uuid) != NULL)
            continue;
        struct drain_guest shown = {.memory_kib = guest->memory_kib,
                                    .expected_ms = expect_ms(t->f, guest),
                                    .unmovable = UNMOVABLE_COUNT};
        TEXT_SET(shown.uuid, guest->uuid);
        TEXT_SET(shown.ns, guest->ns);
        TEXT_SET(shown.name, guest->name);
        if (drain_add_guest(t->drain, &shown))
            joined = true;
        else
            t->incomplete = true;
    }
    if (!joined)
        return;
    drain_order(t->drain);
    t->changed = true;
}

static enum drain_state state_of(const struct turn *t)
{
    const struct drain *drain = t->drain;
    unsigned counts[DRAIN_GUEST_COUNT], busy = 0;
    drain_count(drain, counts);
    for (size_t i = 0; i < drain->n; i++)
        busy += drain->guests[i].block == BLOCK_BUSY; /* migrated by another requester */
    bool known = t->node->connected && t->node->listed && !t->incomplete;
    bool quiet = t->node->inbound == 0;
    if (known && quiet && counts[DRAIN_GUEST_MOVED] == drain->n)
        return DRAIN_SUCCEEDED;
    if (drain->deadline_ms != 0 && t->now.mono_ms >= drain->ends_ms)
        return DRAIN_FAILED;
    bool goes_on = counts[DRAIN_GUEST_WAITING] + counts[DRAIN_GUEST_MOVING] +
                       counts[DRAIN_GUEST_STOPPING] + busy >
                   0;
    return known && quiet && !goes_on ? DRAIN_BLOCKED : DRAIN_DRAINING;
}

static void state_message(struct turn *t, char *out_message, size_t bytes)
{
    unsigned counts[DRAIN_GUEST_COUNT];
    const struct drain *drain = t->drain;
    drain_count(drain, counts);
    unsigned stuck = counts[DRAIN_GUEST_BLOCKED] + counts[DRAIN_GUEST_FAILED];
    unsigned moved = counts[DRAIN_GUEST_MOVED];
    switch (drain->state) {
    case DRAIN_SUCCEEDED:
        (void)snprintf(out_message, bytes, "all %u guests left node %s", moved, drain->node);
        drain_add_shut_off(drain, out_message, bytes);
        break;
    case DRAIN_FAILED:
        (void)snprintf(out_message, bytes, "deadline passed; %zu of %zu guests are left",
                       drain->n - moved, drain->n);
        break;
    case DRAIN_BLOCKED:
        (void)snprintf(out_message, bytes, "%u of %zu guests are left and cannot be migrated",
                       stuck, drain->n);
        break;
    default: out_message[0] = '\0'; break;
    }
}

static void enter(struct turn *t, enum drain_state state, const char *message)
{
    struct drain *drain = t->drain;
    drain->state = state;
    drain->since_ms = whole_seconds(t->now.wall_ms);
    t->changed = true;
    if (message != NULL)
        TEXT_SET(drain->message, message);
    else
        state_message(t, drain->message, sizeof drain->message);
    bool warning = state == DRAIN_BLOCKED || state == DRAIN_FAILED;
    if (t->object != NULL)
        effects_note(t->fx, (struct involved){"Drain", "", t->object->name, t->object->uid},
                     t->now.wall_ms, warning, drain_state_name(state), "%s",
                     drain->message[0] != '\0' ? drain->message : "migrating guests");
}

/* Ends a drain that failed or was cancelled: clears its evacuation marks and cancels its pending
 * jobs; running ones only for a cancel. The drain is already final, so that the end of a
 * cancelled job does not start the next. */
static void cancel_jobs(struct turn *t, const char *who, const char *why, bool also_moving)
{
    for (struct domain *domain = t->node->domains; domain != NULL; domain = domain->next_here)
        if (strcmp(domain->guest->evacuation_node, t->drain->node) == 0)
            evacuation_unset(t->f, domain->guest);
    for (size_t i = 0; i < t->drain->n; i++) {
        struct guest *guest = fleet_guest(t->f, t->drain->guests[i].uuid);
        if (guest != NULL && strcmp(guest->evacuation_node, t->drain->node) == 0)
            evacuation_unset(t->f, guest);
    }
    for (size_t i = 0; i < t->drain->n; i++) {
        struct job *job = fleet_active_job(t->f, t->drain->guests[i].uuid);
        if (job != NULL && evacuation_is_of(job, t->drain->node) &&
            (also_moving || !phase_is_busy(job->phase)))
            advance_stop(t->f, job,
                         (struct stop){.who = who, .cause = ABORT_CAUSE_DRAIN, .why = why}, t->now,
                         t->fx);
    }
}

static void write_status(struct turn *t)
{
    OWNED_TEXT status = drain_status(t->drain);
    struct object *object = t->object;
    if (status == NULL) {
        LOG(ERROR, "out_of_memory", FIELD_TEXT(WHY, "the status of a drain cannot be written"));
        return;
    }
    if (object->status_json != NULL && strcmp(object->status_json, status) == 0)
        return;
    free(object->status_json);
    object->status_json = TAKE(status);
    fleet_object_changed(t->f, object);
}

static void set_next_check(struct turn *t)
{
    const struct drain *drain = t->drain;
    check_again_in(t, DRAIN_CHECK_MS);
    if (drain->deadline_ms != 0 && drain->ends_ms > t->now.mono_ms)
        check_again_in(t, drain->ends_ms - t->now.mono_ms);
    t->drain->next_ms = drain_is_final(drain->state) ? INT64_MAX : t->next_ms;
}

static void turn_init(struct turn *t, struct fleet *f, struct object *object, struct moment now,
                      struct effects *fx)
{
    *t = (struct turn){.f = f, .object = object, .drain = object->drain, .now = now, .fx = fx};
    t->next_ms = INT64_MAX;
    t->node = fleet_node(f, t->drain->node);
}

/* Once per process: later the wall clock may jump. One that was set back since the drain began
 * gives it no more than the whole time. */
static void set_end(struct drain *drain, struct moment now)
{
    if (drain->deadline_ms == 0 || drain->ends_ms != 0)
        return;
    int64_t left_ms = drain->deadline_ms - now.wall_ms;
    int64_t whole_ms = drain->deadline_ms - drain->began_ms;
    drain->ends_ms = now.mono_ms + (left_ms < whole_ms ? left_ms : whole_ms);
}

void drain_advance(struct fleet *f, struct object *object, struct moment now, struct effects *fx)
{
    struct turn t;
    if (object->drain == NULL || drain_is_final(object->drain->state))
        return;
    turn_init(&t, f, object, now, fx);
    if (t.node == NULL) { /* the node was removed from the configuration */
        enter(&t, DRAIN_CANCELLED, "its node was removed from the fleet");
        write_status(&t);
        return;
    }
    set_end(t.drain, now);
    bool in_time = t.drain->deadline_ms == 0 || now.mono_ms < t.drain->ends_ms;
    t.may_act = t.node->connected && t.node->listed && in_time;
    join(&t);
    for (size_t i = 0; i < t.drain->n; i++)
        check(&t, &t.drain->guests[i]);
    t.changed = drain_list_shut_off(t.drain, t.node) || t.changed;
    enum drain_state state = state_of(&t);
    if (state != t.drain->state) {
        enter(&t, state, NULL);
        if (drain_is_final(state))
            evacuation_keep_cordon(f, t.node);
        if (state == DRAIN_FAILED)
            cancel_jobs(&t, "drain", "drain deadline passed", false);
    }
    char message[JOB_REASON_MAX];
    state_message(&t, message, sizeof message);
    SHOW_TEXT(&t, t.drain->message, message);
    if (t.changed || object->status_json == NULL)
        write_status(&t);
    set_next_check(&t);
}

bool drain_may_begin(struct fleet *f, const struct object *object, struct err *err)
{
    const struct drain *drain = object->drain;
    const struct object *other = NULL;
    if (fleet_node(f, drain->node) == NULL)
        return err_set(err, ERR_NOT_FOUND, "node %s not found", drain->node);
    DL_FOREACH(f->of_kind[OBJECT_DRAIN], other)
    {
        if (other != object && other->drain != NULL && !drain_is_final(other->drain->state) &&
            strcmp(other->drain->node, drain->node) == 0)
            return err_set(err, ERR_REFUSED, "node %s is already being drained by %s", drain->node,
                           other->name);
    }
    return true;
}

bool drain_begin(struct fleet *f, struct object *object, struct moment now, struct effects *fx,
                 struct err *err)
{
    if (object->drain == NULL)
        object->drain = drain_parse(object->spec_json, NULL, object->created_ms, err);
    if (object->drain == NULL || !drain_may_begin(f, object, err))
        return false;
    evacuation_cordon(f, fleet_node(f, object->drain->node), now, fx);
    struct turn t;
    turn_init(&t, f, object, now, fx);
    enter(&t, DRAIN_DRAINING, NULL);
    drain_advance(f, object, now, fx);
    return true;
}

void drain_cancel(struct fleet *f, struct object *object, const char *who, struct moment now,
                  struct effects *fx)
{
    struct turn t;
    char message[JOB_REASON_MAX];
    if (object->drain == NULL || drain_is_final(object->drain->state))
        return;
    turn_init(&t, f, object, now, fx);
    (void)snprintf(message, sizeof message, "cancelled by %s", who);
    enter(&t, DRAIN_CANCELLED, message);
    if (t.node != NULL) {
        cancel_jobs(&t, who, "drain cancelled", true);
        evacuation_uncordon(f, t.node, now, fx);
    }
    write_status(&t);
    set_next_check(&t);
}

/* ---- the plan ---- */

static void add_resources(struct resources *to, const struct guest *guest, bool add)
{
    uint64_t sign = add ? 1 : UINT64_MAX; /* modulo 2^64: adds -1 */
    to->launchers += sign;
    to->memory_kib += sign * guest->memory_kib;
    to->vcpus += sign * guest->vcpus;
}

/* The target that scheduling would choose now. Resources of guests earlier in the plan count as
 * reserved until the plan is complete. */
static void plan_target(struct turn *t, struct drain_guest *shown, struct rejections *rejections)
{
    const struct guest *guest = fleet_guest(t->f, shown->uuid);
    char text[JOB_REASON_MAX] = "";
    struct placement placement;
    if (shown->state != DRAIN_GUEST_WAITING || guest == NULL || guest->owner == NULL ||
        shown->job_uid[0] != '\0')
        return;
    placement_of(t->f, guest, NULL, &placement);
    struct node *target = placement_choose(t->f, &placement, rejections);
    if (target != NULL) {
        TEXT_SET(shown->target, target->name);
        add_resources(&target->reserved, guest, true);
        return;
    }
    rejections_text(rejections, text, sizeof text);
    bool never = rejections_all_for_ever(rejections);
    show(t, shown, never ? DRAIN_GUEST_BLOCKED : DRAIN_GUEST_WAITING,
         never ? BLOCK_NO_NODE : BLOCK_NONE, "%s", text);
}

static void plan_targets(struct turn *t, struct rejections *rejections)
{
    for (size_t i = 0; i < t->drain->n; i++)
        plan_target(t, &t->drain->guests[i], rejections);
    for (size_t i = 0; i < t->drain->n; i++) {
        const struct drain_guest *shown = &t->drain->guests[i];
        struct node *target = fleet_node(t->f, shown->target);
        if (target != NULL && shown->job_uid[0] == '\0' && shown->state == DRAIN_GUEST_WAITING)
            add_resources(&target->reserved, fleet_guest(t->f, shown->uuid), false);
    }
}

char *drain_plan(struct fleet *f, const char *node, bool shutdown, struct moment now,
                 struct err *err)
{
    struct drain drain = {.shutdown = shutdown,
                          .retry_budget = DRAIN_TRIES_DEFAULT,
                          .began_ms = now.wall_ms,
                          .since_ms = whole_seconds(now.wall_ms)};
    struct turn t = {.f = f, .drain = &drain, .now = now, .next_ms = INT64_MAX};
    t.node = fleet_node(f, node);
    if (t.node == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "node %s not found", node);
        return NULL;
    }
    TEXT_SET(drain.node, node);
    struct rejections *rejections = calloc(1, sizeof *rejections);
    join(&t);
    for (size_t i = 0; i < drain.n; i++)
        check(&t, &drain.guests[i]);
    if (rejections != NULL)
        plan_targets(&t, rejections);
    (void)drain_list_shut_off(&drain, t.node);
    drain.state = state_of(&t);
    state_message(&t, drain.message, sizeof drain.message);
    char *status = rejections != NULL ? drain_status(&drain) : NULL;
    if (status == NULL)
        (void)err_set(err, ERR_NOMEM, "out of memory: no plan");
    free(rejections);
    free(drain.guests);
    free(drain.by_uuid);
    return status;
}
