/* drain.c - see drain.h. Each check of a drain computes everything from the fleet: guests that
 * are up on the node, the state of each, the state of the drain. It keeps only what the fleet
 * does not hold: attempts used and the job whose end is not yet counted. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/advance.h"
#include "engine/control/drain_turn.h"
#include "engine/control/placement.h"
#include "engine/data/expect.h"
#include "engine/model/fleet/ledger.h"

/* ---- the drain ---- */

static void join(struct drain_turn *t)
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

/* Guests for which neither they nor the fleet set an eviction strategy: treated as
 * LiveMigrateIfPossible, which the status says. True: the count changed. */
static bool count_unset(const struct drain_turn *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->drain->n; i++) {
        const struct guest *guest = fleet_guest(t->f, t->drain->guests[i].uuid);
        n += guest != NULL && evacuation_strategy(t->f, guest) == STRATEGY_UNSET;
    }
    bool changed = n != t->drain->n_unset;
    t->drain->n_unset = n;
    return changed;
}

static enum drain_state state_of(const struct drain_turn *t)
{
    const struct drain *drain = t->drain;
    unsigned counts[DRAIN_GUEST_COUNT], busy = 0;
    drain_count(drain, counts);
    for (size_t i = 0; i < drain->n; i++)
        busy += drain->guests[i].block == BLOCK_BUSY; /* migrated by another requester */
    bool known = t->node->connected && t->node->listed && !t->incomplete;
    /* An unproven outcome has no slot any more, but keeps its reservation. */
    bool quiet = t->node->inbound == 0 && t->node->reserved.launchers == 0;
    if (known && quiet && counts[DRAIN_GUEST_MOVED] == drain->n)
        return DRAIN_SUCCEEDED;
    if (drain->deadline_ms != 0 && t->now.mono_ms >= drain->ends_ms)
        return DRAIN_FAILED;
    bool goes_on = counts[DRAIN_GUEST_WAITING] + counts[DRAIN_GUEST_MOVING] +
                       counts[DRAIN_GUEST_STOPPING] + busy >
                   0;
    return known && quiet && !goes_on ? DRAIN_BLOCKED : DRAIN_DRAINING;
}

static void state_message(struct drain_turn *t, char *out_message, size_t bytes)
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

static void enter(struct drain_turn *t, enum drain_state state, const char *message)
{
    struct drain *drain = t->drain;
    drain->state = state;
    drain->since_ms = drain_whole_seconds(t->now.wall_ms);
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
static void cancel_jobs(struct drain_turn *t, const char *who, const char *why, bool also_moving)
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

static void write_status(struct drain_turn *t)
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

static void set_next_check(struct drain_turn *t)
{
    const struct drain *drain = t->drain;
    drain_check_again_in(t, DRAIN_CHECK_MS);
    if (drain->deadline_ms != 0 && drain->ends_ms > t->now.mono_ms)
        drain_check_again_in(t, drain->ends_ms - t->now.mono_ms);
    t->drain->next_ms = drain_is_final(drain->state) ? INT64_MAX : t->next_ms;
}

static void turn_init(struct drain_turn *t, struct fleet *f, struct object *object,
                      struct moment now, struct effects *fx)
{
    *t =
        (struct drain_turn){.f = f, .object = object, .drain = object->drain, .now = now, .fx = fx};
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

void drain_follow(struct fleet *f, struct object *object, struct moment now, struct effects *fx)
{
    struct drain_turn t;
    char message[JOB_REASON_MAX];
    if (object->drain == NULL || object->drain->state != DRAIN_FAILED)
        return;
    turn_init(&t, f, object, now, fx);
    for (size_t i = 0; t.node != NULL && i < t.drain->n; i++)
        drain_follow_guest(&t, &t.drain->guests[i]);
    if (!t.changed)
        return;
    state_message(&t, message, sizeof message);
    DRAIN_SHOW_TEXT(&t, t.drain->message, message);
    write_status(&t);
}

void drain_advance(struct fleet *f, struct object *object, struct moment now, struct effects *fx)
{
    struct drain_turn t;
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
        drain_check_guest(&t, &t.drain->guests[i]);
    t.changed = drain_list_shut_off(t.drain, t.node) || t.changed;
    t.changed = count_unset(&t) || t.changed;
    enum drain_state state = state_of(&t);
    if (state != t.drain->state) {
        enter(&t, state, NULL);
        if (drain_is_final(state))
            evacuation_keep_cordon(f, t.node);
        if (state == DRAIN_FAILED) {
            cancel_jobs(&t, "drain", "drain deadline passed", false);
            drain_show_left(&t);
        }
    }
    char message[JOB_REASON_MAX];
    state_message(&t, message, sizeof message);
    DRAIN_SHOW_TEXT(&t, t.drain->message, message);
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
    if (!fleet_may_act(fleet_node(f, drain->node), err))
        return false;
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
    struct drain_turn t;
    turn_init(&t, f, object, now, fx);
    enter(&t, DRAIN_DRAINING, NULL);
    drain_advance(f, object, now, fx);
    return true;
}

void drain_cancel(struct fleet *f, struct object *object, const char *who, struct moment now,
                  struct effects *fx)
{
    struct drain_turn t;
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
static void plan_target(struct drain_turn *t, struct drain_guest *shown,
                        struct rejections *rejections)
{
    struct guest *guest = fleet_guest(t->f, shown->uuid);
    char text[JOB_REASON_MAX] = "", quota[QUOTA_TEXT_MAX];
    struct placement placement;
    struct err err = {0};
    if (shown->state != DRAIN_GUEST_WAITING || guest == NULL || guest->owner == NULL ||
        shown->job_uid[0] != '\0')
        return;
    if (!admission_allows(t->f, guest, "", true, &err)) {
        drain_show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s", err.text);
        return;
    }
    const struct resources more = ledger_resources(guest);
    if (!ledger_in_quota(guest->namespace, &more, quota)) {
        drain_show(t, shown, DRAIN_GUEST_WAITING, BLOCK_NONE, "%s", quota);
        return;
    }
    placement_of(t->f, guest, NULL, &placement);
    struct node *target = placement_choose(t->f, &placement, rejections);
    if (target != NULL) {
        TEXT_SET(shown->target, target->name);
        add_resources(&target->reserved, guest, true);
        return;
    }
    rejections_text(rejections, text, sizeof text);
    bool never = rejections_all_for_ever(rejections);
    drain_show(t, shown, never ? DRAIN_GUEST_BLOCKED : DRAIN_GUEST_WAITING,
               never ? BLOCK_NO_NODE : BLOCK_NONE, "%s", text);
}

static void plan_targets(struct drain_turn *t, struct rejections *rejections)
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
                          .since_ms = drain_whole_seconds(now.wall_ms)};
    struct drain_turn t = {.f = f, .drain = &drain, .now = now, .next_ms = INT64_MAX};
    t.node = fleet_node(f, node);
    if (t.node == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "node %s not found", node);
        return NULL;
    }
    TEXT_SET(drain.node, node);
    struct rejections *rejections = calloc(1, sizeof *rejections);
    join(&t);
    for (size_t i = 0; i < drain.n; i++)
        drain_check_guest(&t, &drain.guests[i]);
    if (rejections != NULL)
        plan_targets(&t, rejections);
    (void)drain_list_shut_off(&drain, t.node);
    (void)count_unset(&t);
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
