/* observed.c - see observed.h. */
#include "engine/control/observed.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/orphans.h"
#include "engine/data/ending.h"
#include "engine/data/final.h"
#include "engine/data/move.h"
#include "engine/data/observe.h"
#include "engine/data/resolve.h"
#include "engine/data/stream.h"
#include "engine/model/turn/step.h"

enum { REPEATED_MS = 100, SOON_MS = 1000, ARRIVAL_MS = 30000, JUST_ENDED_MS = 2000 };
enum { START_LATE_MS = 30000 };
enum { STARTED_MIGRATED = 1, STOPPED_MIGRATED = 3 }; /* libvirt's details of the events */

/* Who gives its migrations, as far as the guest's marks tell. */
static const char *manager_of(const struct domain *at)
{
    enum hv_manager manager = at != NULL ? at->migratable.manager : HV_MANAGER_NONE;
    return manager != HV_MANAGER_NONE ? hv_manager_name(manager) : "unknown";
}

static void name_it(struct fleet *f, struct job *job)
{
    do {
        fleet_make_uid(f, job->uid);
        (void)snprintf(job->name, sizeof job->name, "observed-%.8s", job->uid);
    } while (fleet_job_named(f, job->ns, job->name) != NULL);
}

/* The guest is being migrated from source to target, or just was. */
static void record(struct fleet *f, struct guest *guest, const struct node *source,
                   const struct node *target, struct moment now, struct effects *fx)
{
    struct err err = {0};
    struct job *job = job_new(&err);
    if (job == NULL)
        return; /* no memory: the next list shows it again */
    heap_remove(&guest->passage.timer);
    guest->passage = (struct guest_passage){.asked = 0};
    admission_begin(job, guest, now);
    name_it(f, job);
    TEXT_SET(job->source, source->name);
    TEXT_SET(job->target, target->name);
    TEXT_SET(job->request.requester, "unknown");
    TEXT_SET(job->request.managed_by, manager_of(guest->owner));
    job->request.origin = ORIGIN_OBSERVED;
    job->epoch = 1;
    job->times.handed_off_ms = job->times.started_ms = now.wall_ms;
    job->call.begun_ms = now.mono_ms;
    stream_begin(job, now);
    fleet_add_job(f, job);
    struct effect *effect = effects_add(fx, EFFECT_STEP, job, now.wall_ms);
    effect->of.step.from = PHASE_NONE;
    effect->of.step.to = PHASE_PENDING;
    effect->of.step.seq = 1;
    step_take(f, job, TRIGGER_OBSERVED, now, fx);
    move_mode(job, MODE_PRECOPY, "observed", now, fx);
    observe_note_hosts(f, job);
    effects_event(fx, job, now.wall_ms, false, "Observed",
                  "Somebody else migrates the guest from %s to %s (manager: %s); it is observed "
                  "and not touched.",
                  job->source, job->target, job->request.managed_by);
    move_watch(job, now, fx);
    resolve_begin(job, now);
    job->resolving = false; /* as far as is known it runs */
    fleet_settle_job(f, job);
}

/* Is it Ferry's own migration, or one that is recorded already? */
static bool is_known(struct fleet *f, const struct guest *guest, const char *target)
{
    const struct job *own = fleet_active_job(f, guest->uuid);
    return fleet_observed_job(f, guest->uuid) != NULL ||
           (own != NULL && own->epoch > 0 &&
            (own->unreadable || target[0] == '\0' || strcmp(own->target, target) == 0));
}

static bool is_pair_of(const struct job *job, const struct node *a, const struct node *b)
{
    return job != NULL && job->epoch > 0 &&
           ((strcmp(job->source, a->name) == 0 && strcmp(job->target, b->name) == 0) ||
            (strcmp(job->source, b->name) == 0 && strcmp(job->target, a->name) == 0));
}

/* A copy that a migration between the two left paused, on either side, stays in the lists and looks
 * like one that arrives. A new migration between them shows by its events. */
static bool is_leftover(struct fleet *f, const struct guest *guest, const struct node *a,
                        const struct node *b)
{
    return is_pair_of(fleet_active_job(f, guest->uuid), a, b) ||
           is_pair_of(fleet_newest_finished(f, guest->uuid), a, b);
}

/* The guest is to be observed again soon. */
static void observe_soon(struct fleet *f, struct guest *guest, struct moment now)
{
    if (guest->passage.timer.in != NULL)
        return;
    guest->passage.since_ms = now.mono_ms;
    heap_put(&f->observed.passing, &guest->passage.timer, now.mono_ms, (int64_t)fleet_touch(f),
             guest);
}

/* ---- events ---- */

/* libvirt lists a copy before it tells that it was started, seconds before on a busy host: a record
 * that was made from the lists gets the event of its own start later. */
static bool is_own_start(struct job *job, const struct node *target, struct moment now)
{
    bool again = job->stream.start_told || now.mono_ms - job->entered_ms > START_LATE_MS ||
                 strcmp(job->target, target->name) != 0;
    job->stream.start_told = true;
    return !again;
}

/* A guest has one migration at a time: when another begins, the one before has ended. It brought
 * the guest to its target if its source completed its job, or if the guest now returns there.
 * Returns the node that the guest leaves now; NULL: there was none before, or it goes on. */
static const struct node *end_earlier(struct fleet *f, struct job *job, const struct node *target,
                                      struct moment now, struct effects *fx)
{
    if (job == NULL || job->frozen || is_own_start(job, target, now) ||
        now.mono_ms - job->entered_ms <= REPEATED_MS)
        return NULL;
    bool arrived = job->call.over || strcmp(job->source, target->name) == 0;
    struct step_ending ending = {.outcome = OUTCOME_SUCCEEDED, .guest_at = GUEST_AT_TARGET};
    if (!arrived)
        ending_on_source(job, &ending);
    const struct node *from = fleet_node(f, arrived ? job->target : job->source);
    final_finish(f, job, arrived ? TRIGGER_ON_TARGET : TRIGGER_ON_SOURCE, &ending, now, fx);
    fleet_settle_job(f, job);
    return from;
}

/* Ferry's own call failed before memory moved, as where the target's daemon hangs: when that goes
 * on it still starts the copy, and tells it once. A migration of somebody else that is taken for
 * this one is recorded when it brings the guest away. */
static bool is_late_start_of_own(struct fleet *f, const char *uuid, const struct node *target,
                                 struct moment now)
{
    struct job *job = fleet_newest_finished(f, uuid);
    if (job == NULL || job_is_observed(job) || job->epoch == 0 || job->call.moved ||
        job->stream.start_told || strcmp(job->target, target->name) != 0)
        return false;
    job->stream.start_told = true;
    return now.mono_ms - job->entered_ms <= START_LATE_MS;
}

/* A copy was started on the node to receive the guest. */
static void arrives(struct fleet *f, const char *uuid, const struct node *target, struct moment now,
                    struct effects *fx)
{
    struct job *job = fleet_observed_job(f, uuid);
    const struct node *from = end_earlier(f, job, target, now, fx);
    struct guest *guest = fleet_guest(f, uuid); /* forgotten with that, if no node had it */
    if (guest == NULL)
        return;
    if (from == NULL && guest->owner != NULL && domain_is_up(guest->owner))
        from = guest->owner->node;
    if (from == NULL || from == target || is_known(f, guest, target->name) ||
        is_late_start_of_own(f, uuid, target, now))
        return;
    record(f, guest, from, target, now, fx);
    job = fleet_observed_job(f, uuid);
    if (job != NULL)
        job->stream.start_told = true;
}

/* The end of a migration that is recorded: its last event may come after it. */
static bool just_ended(struct fleet *f, const struct guest *guest, const char *source,
                       struct moment now)
{
    const struct job *job = fleet_newest_finished(f, guest->uuid);
    return job != NULL && strcmp(job->source, source) == 0 && job->epoch > 0 &&
           now.mono_ms - job->entered_ms < JUST_ENDED_MS;
}

static void leaves(struct fleet *f, struct guest *guest, const struct node *source,
                   struct moment now)
{
    if (is_known(f, guest, "") || just_ended(f, guest, source->name, now))
        return;
    TEXT_SET(guest->passage.from, source->name);
    observe_soon(f, guest, now);
}

void observed_event(struct fleet *f, const struct hv_event *event, struct moment now,
                    struct effects *fx)
{
    if (event->kind != HV_EVENT_LIFECYCLE)
        return;
    const struct node *node = fleet_node(f, event->host);
    struct guest *guest = fleet_guest(f, event->guest);
    if (node == NULL || guest == NULL)
        return;
    if (event->a == HV_LIFECYCLE_STARTED && event->b == STARTED_MIGRATED)
        arrives(f, event->guest, node, now, fx);
    else if (event->a == HV_LIFECYCLE_STOPPED && event->b == STOPPED_MIGRATED)
        leaves(f, guest, node, now);
}

/* ---- lists ---- */

static bool is_in_postcopy(const struct domain *domain, int state)
{
    return domain->state == state &&
           (state == HV_STATE_RUNNING ? domain->reason == HV_RUNNING_POSTCOPY
                                      : domain->reason == HV_PAUSED_POSTCOPY);
}

static bool is_incoming(const struct domain *domain)
{
    return domain->state == HV_STATE_PAUSED &&
           (domain->reason == HV_PAUSED_MIGRATION || domain->reason == HV_PAUSED_STARTING_UP);
}

/* The two nodes between which it seems to be, by what was last observed. */
static bool is_between(const struct guest *guest, const struct node **out_source,
                       const struct node **out_target)
{
    const struct domain *owner = guest->owner;
    for (const struct domain *other = guest->domains; other != NULL; other = other->next_of) {
        if (owner == NULL || other == owner)
            continue;
        bool postcopy =
            is_in_postcopy(owner, HV_STATE_RUNNING) && is_in_postcopy(other, HV_STATE_PAUSED);
        bool precopy = domain_runs(owner) && is_incoming(other);
        if (!postcopy && !precopy)
            continue;
        *out_source = postcopy ? other->node : owner->node;
        *out_target = postcopy ? owner->node : other->node;
        return true;
    }
    return false;
}

void observed_listed(struct fleet *f, const struct node *node, struct moment now)
{
    const struct node *source = NULL, *target = NULL;
    for (const struct domain *domain = node->domains; domain != NULL; domain = domain->next_here)
        if (is_between(domain->guest, &source, &target) &&
            !is_known(f, domain->guest, target->name) &&
            !is_leftover(f, domain->guest, source, target))
            observe_soon(f, domain->guest, now);
}

/* ---- every so often ---- */

static bool has_answers(const struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain->seen < guest->passage.asked)
            return false;
    return guest->passage.asked != 0;
}

static void note_gone(const struct guest *guest, struct moment now, struct effects *fx)
{
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, false,
                 "MovedAway",
                 "Somebody else migrated the guest away from %s, to a host that is not configured "
                 "or not reachable.",
                 guest->passage.from);
}

/* It left a node, and nobody saw where to. When to look again; 0: never. */
static int64_t follow(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    const struct node *source = fleet_node(f, guest->passage.from);
    const struct domain *owner = guest->owner;
    bool there = owner != NULL && source != NULL && owner->node != source && domain_is_up(owner);
    if (there && !is_incoming(owner)) {
        record(f, guest, source, owner->node, now, fx);
        return 0;
    }
    if (now.mono_ms - guest->passage.since_ms < ARRIVAL_MS)
        return now.mono_ms + SOON_MS;
    if (owner == NULL || !domain_is_up(owner))
        note_gone(guest, now, fx);
    return 0;
}

/* Lists are of different moments: both nodes are observed again first. */
static int64_t confirm(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    const struct node *source = NULL, *target = NULL;
    if (!is_between(guest, &source, &target) || is_known(f, guest, target->name) ||
        is_leftover(f, guest, source, target) || orphans_mark(f, guest) != NULL)
        return 0;
    if (has_answers(guest)) {
        record(f, guest, source, target, now, fx);
        return 0;
    }
    if (guest->passage.asked == 0)
        guest->passage.asked = observe_guest(f, guest, now, fx);
    else if (now.mono_ms - guest->passage.since_ms >= ARRIVAL_MS)
        return 0;
    return now.mono_ms + SOON_MS;
}

void observed_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    struct guest *guest;
    while ((guest = heap_top(&f->observed.passing)) != NULL &&
           guest->passage.timer.first <= now.mono_ms) {
        int64_t second = guest->passage.timer.second, next_ms = 0;
        heap_remove(&guest->passage.timer);
        if (guest->passage.from[0] == '\0')
            next_ms = confirm(f, guest, now, fx);
        else if (!is_known(f, guest, ""))
            next_ms = follow(f, guest, now, fx);
        if (next_ms != 0) {
            heap_put(&f->observed.passing, &guest->passage.timer, next_ms, second, guest);
            continue;
        }
        guest->passage = (struct guest_passage){.asked = 0};
        fleet_forget_if_gone(f, guest);
    }
}
