/* orphans.c - see orphans.h. */
#include "engine/control/orphans.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/scheduling/scheduling.h"
#include "engine/data/move.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/turn/step.h"

enum { CLEAR_AGAIN_MS = 10000, CLEAR_TRIES_MAX = 6, TICK_MS = 500 };

/* What a mark means to this appliance. */
enum meaning {
    MARK_IN_USE, /* of an unfinished job here */
    MARK_OVER,   /* of a migration that ended, as this appliance knows: to be removed */
    MARK_ORPHAN, /* of another appliance, or of a job that this one does not know */
};

static bool is_between_hosts(const struct domain *domain)
{
    switch (domain->state) {
    case HV_STATE_RUNNING:
        return domain->reason == HV_RUNNING_POSTCOPY ||
               domain->reason == HV_RUNNING_POSTCOPY_FAILED;
    case HV_STATE_PAUSED:
        return domain->reason == HV_PAUSED_MIGRATION || domain->reason == HV_PAUSED_POSTCOPY ||
               domain->reason == HV_PAUSED_POSTCOPY_FAILED ||
               domain->reason == HV_PAUSED_STARTING_UP;
    default: return false;
    }
}

static bool is_marked(const struct job *job, const struct hv_mark *mark)
{
    return strcmp(job->uid, mark->job) == 0 || strcmp(job->marked_as, mark->job) == 0;
}

/* NULL: of no job that this appliance has in memory. */
static const struct job *job_of(struct fleet *f, const struct domain *domain)
{
    const struct hv_mark *mark = &domain->mark->is;
    const struct job *job = fleet_active_job(f, domain->guest->uuid);
    if (job != NULL && is_marked(job, mark))
        return job;
    job = fleet_newest_finished(f, domain->guest->uuid);
    while (job != NULL && !is_marked(job, mark))
        job = job->links.older;
    return job;
}

/* A store that was restored does not know what began after its backup; one that was not has only
 * forgotten jobs that ended long ago. */
static enum meaning meaning_of(struct fleet *f, const struct domain *domain)
{
    const struct hv_mark *mark = &domain->mark->is;
    const struct job *job = job_of(f, domain);
    if (job != NULL)
        return phase_is_final(job->phase) ? MARK_OVER : MARK_IN_USE;
    bool ours = strcmp(mark->appliance, f->marks.identity.id) == 0 &&
                mark->appliance_epoch <= f->marks.identity.epoch;
    bool forgotten = ours && !f->marks.identity.restored && !is_between_hosts(domain);
    return forgotten ? MARK_OVER : MARK_ORPHAN;
}

const struct hv_mark *orphans_mark(struct fleet *f, const struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain->mark != NULL && domain_is_up(domain) && meaning_of(f, domain) == MARK_ORPHAN)
            return &domain->mark->is;
    return NULL;
}

bool orphans_check(struct fleet *f, const struct guest *guest, struct err *err)
{
    const struct hv_mark *mark = orphans_mark(f, guest);
    if (mark == NULL)
        return true;
    return err_set(err, ERR_REFUSED,
                   "guest %s carries the mark of migration %s by appliance %s (epoch %" PRId64
                   ", from %s to %s): that appliance works on it, or lost it; if it is gone: "
                   "`ferry adopt %s --from %s --to %s`",
                   guest->name, mark->job, mark->appliance, mark->appliance_epoch, mark->source,
                   mark->target, guest->name, mark->source, mark->target);
}

/* ---- every so often ---- */

static void clear(struct domain *domain, struct moment now, struct effects *fx)
{
    struct domain_mark *mark = domain->mark;
    if (mark->tries >= CLEAR_TRIES_MAX || now.mono_ms < mark->next_ms || !domain->node->connected ||
        domain->node->host.observe || is_between_hosts(domain))
        return;
    mark->next_ms = now.mono_ms + ((int64_t)CLEAR_AGAIN_MS << mark->tries);
    mark->tries++;
    (void)effects_order(fx, EFFECT_DO_CLEAR_MARK, domain->node->name, domain->guest->uuid,
                        now.wall_ms);
    if (mark->tries == CLEAR_TRIES_MAX)
        effects_note(fx,
                     involved_guest(domain->guest->ns, domain->guest->name, domain->guest->uuid),
                     now.wall_ms, true, "MarkNotCleared",
                     "The mark of migration %s, which is over, could not be removed on %s.",
                     mark->is.job, domain->node->name);
}

static void report(struct domain *domain, struct moment now, struct effects *fx)
{
    const struct hv_mark *mark = &domain->mark->is;
    const struct guest *guest = domain->guest;
    if (domain->mark->reported)
        return;
    domain->mark->reported = true;
    effects_note(
        fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true, "Orphaned",
        "On %s the guest carries the mark of migration %s (from %s to %s) by appliance %s, "
        "epoch %" PRId64 ", which is not this one's: it is not touched.",
        domain->node->name, mark->job, mark->source, mark->target, mark->appliance,
        mark->appliance_epoch);
}

void orphans_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    struct domain *domain;
    if (f->marks.list == NULL || now.mono_ms < f->marks.next_ms)
        return;
    f->marks.next_ms = now.mono_ms + TICK_MS;
    DL_FOREACH2(f->marks.list, domain, next_marked)
    {
        if (!domain_is_up(domain))
            continue;
        enum meaning meaning = meaning_of(f, domain);
        bool orphan = meaning == MARK_ORPHAN;
        if (orphan != domain->mark->orphan) { /* readers see it */
            domain->mark->orphan = orphan;
            f->guests_version = fleet_touch(f);
        }
        if (orphan)
            report(domain, now, fx);
        if (meaning == MARK_OVER && domain->guest->owner == domain &&
            fleet_active_job(f, domain->guest->uuid) == NULL)
            clear(domain, now, fx);
    }
}

/* ---- into the running phase, without a call of this process ---- */

static void take_over(struct fleet *f, struct job *job, const struct hv_mark *mark,
                      struct moment now, struct effects *fx)
{
    static const enum trigger next[PHASE_COUNT] = {
        [PHASE_PENDING] = TRIGGER_ADMITTED,     [PHASE_SCHEDULING] = TRIGGER_PLACED,
        [PHASE_SCHEDULED] = TRIGGER_HANDED_OFF, [PHASE_PREPARING_TARGET] = TRIGGER_TARGET_CHECKED,
        [PHASE_TARGET_READY] = TRIGGER_MOVING,
    };
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    job->unconfirmed = false;
    job->epoch = mark->epoch > job->epoch ? mark->epoch : job->epoch + 1;
    job->stream.port = mark->port;
    job->times.handed_off_ms = now.wall_ms; /* when it really was is not known */
    job->times.started_ms = now.wall_ms;
    job->call.begun_ms = now.mono_ms;
    if (guest != NULL)
        schedule_configure(f, job, guest);
    if (guest != NULL && !job->placement.reserved) {
        struct resources resources = ledger_resources(guest);
        ledger_reserve(f, job, &resources);
        step_launcher(job, LAUNCHER_READY, now);
    }
    while (!job->frozen && job->phase != PHASE_RUNNING && !phase_is_final(job->phase))
        step_take(f, job, next[job->phase], now, fx);
    if (job->call.flags == 0) /* those of the call are not known; what recovery and the end need */
        job->call.flags = HV_MIGRATE_POSTCOPY |
                          (guest != NULL && guest->persistent ? (unsigned)HV_MIGRATE_PERSIST : 0U);
    if (job->mode == MODE_NONE)
        move_mode(job, MODE_PRECOPY, "adopted", now, fx);
    for (const struct domain *domain = guest != NULL ? guest->domains : NULL; domain != NULL;
         domain = domain->next_of)
        if (is_between_hosts(domain) && domain->reason != HV_PAUSED_MIGRATION &&
            domain->reason != HV_PAUSED_STARTING_UP)
            move_mode(job, MODE_POSTCOPY, "adopted in post-copy", now, fx);
    if (!job->frozen)
        move_adopt(f, job, now, fx);
}

/* ---- after a restore ---- */

static bool was_handed_off(const struct job *job)
{
    return job->phase == PHASE_TARGET_READY || job->phase == PHASE_RUNNING;
}

static void confirm(struct fleet *f, struct job *job, const struct hv_mark *mark, struct moment now,
                    struct effects *fx)
{
    effects_event(fx, job, now.wall_ms, false, "Confirmed",
                  "Restored from a backup, and confirmed: its guest carries its mark.");
    if (was_handed_off(job)) {
        job->unconfirmed = false;
        if (job->stream.port == 0)
            job->stream.port = mark->port;
        return;
    }
    if (fleet_node(f, mark->source) == NULL || fleet_node(f, mark->target) == NULL)
        return; /* stays unconfirmed, until its deadline */
    TEXT_SET(job->source, mark->source);
    TEXT_SET(job->target, mark->target);
    take_over(f, job, mark, now, fx);
}

void orphans_definition(struct fleet *f, const struct node *node, const char *guest_uuid,
                        struct moment now, struct effects *fx)
{
    struct job *job = fleet_active_job(f, guest_uuid);
    const struct guest *guest = fleet_guest(f, guest_uuid);
    if (job == NULL || job->frozen || !job->unconfirmed || guest == NULL)
        return;
    const struct domain *domain = guest->domains;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    if (domain == NULL)
        return;
    if (domain->mark != NULL && is_marked(job, &domain->mark->is))
        confirm(f, job, &domain->mark->is, now, fx);
    else if (!was_handed_off(job) && guest->owner == domain)
        schedule_fail(
            f, job,
            "restored from a backup: it was not begun when the backup was made, and its guest "
            "carries no mark of it; ask again if it is still wanted",
            now, fx);
    job->changed = true;
    fleet_settle_job(f, job);
}

void orphans_unmarked(const struct job *job, const char *why, struct moment now, struct effects *fx)
{
    if (why[0] != '\0')
        effects_event(fx, job, now.wall_ms, true, "NotMarked",
                      "The guest could not be marked (%s): without Ferry's store nobody would know "
                      "of its migration.",
                      why);
}

/* ---- by an operator ---- */

static bool check_nodes(struct fleet *f, const struct resolve_request *request, struct err *err)
{
    const char *const names[] = {request->source, request->target};
    for (size_t i = 0; i < COUNT(names); i++)
        if (fleet_node(f, names[i]) == NULL)
            return err_set(err, ERR_UNPROCESSABLE, "node \"%s\" is not configured", names[i]);
    return strcmp(request->source, request->target) != 0 ||
           err_set(err, ERR_UNPROCESSABLE, "source and target are the same node, %s",
                   request->source);
}

static bool check_orphan(struct fleet *f, const struct resolve_request *request,
                         const struct guest **out_guest, const struct hv_mark **out_mark,
                         struct err *err)
{
    unsigned count = 0;
    const struct guest *guest = fleet_guest_named(f, request->ns, request->name, &count);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "the VMI \"%s/%s\" does not exist", request->ns,
                       request->name);
    const struct job *active = fleet_active_job(f, guest->uuid);
    if (active != NULL)
        return err_set(err, ERR_REFUSED,
                       "migration %s of the guest is unfinished; it needs no "
                       "adoption",
                       active->name);
    *out_guest = guest;
    *out_mark = count == 1 ? orphans_mark(f, guest) : NULL;
    return *out_mark != NULL ||
           err_set(
               err, ERR_REFUSED,
               "guest %s carries no mark of a migration that this appliance does not know: there "
               "is nothing to adopt",
               guest->name);
}

/* Names of another appliance may be unknown here; known ones must be those of the request: in the
 * wrong roles, or with a node that has no part of the guest, every conclusion would be wrong. */
static bool check_direction(struct fleet *f, const struct resolve_request *request,
                            const struct hv_mark *mark, struct err *err)
{
    bool known = fleet_node(f, mark->source) != NULL && fleet_node(f, mark->target) != NULL;
    bool same =
        strcmp(mark->source, request->source) == 0 && strcmp(mark->target, request->target) == 0;
    return !known || same ||
           err_set(err, ERR_UNPROCESSABLE,
                   "the guest's mark says that it migrates from %s to %s, not from %s to %s",
                   mark->source, mark->target, request->source, request->target);
}

bool orphans_adopt(struct fleet *f, const struct resolve_request *request, struct moment now,
                   struct effects *fx, struct job **out_job, struct err *err)
{
    const struct guest *guest = NULL;
    const struct hv_mark *mark = NULL;
    if (!check_nodes(f, request, err) || !check_orphan(f, request, &guest, &mark, err) ||
        !check_direction(f, request, mark, err))
        return false;
    struct job *job = job_new(err);
    if (job == NULL)
        return false;
    const struct hv_mark taken = *mark;
    fleet_make_uid(f, job->uid); /* the store may hold the record of the mark's job, ended */
    TEXT_SET(job->marked_as, taken.job);
    admission_begin(job, guest, now);
    (void)snprintf(job->name, sizeof job->name, "adopted-%.8s", taken.job);
    TEXT_SET(job->source, request->source);
    TEXT_SET(job->target, request->target);
    TEXT_SET(job->request.requester, request->requester);
    job->request.origin = ORIGIN_HUMAN;
    fleet_add_job(f, job);
    struct effect *effect = effects_add(fx, EFFECT_STEP, job, now.wall_ms);
    effect->of.step.from = PHASE_NONE;
    effect->of.step.to = PHASE_PENDING;
    effect->of.step.seq = 1;
    effects_event(fx, job, now.wall_ms, true, "AdoptedByOperator",
                  "%s adopted the migration of appliance %s, epoch %" PRId64 ".",
                  request->requester, taken.appliance, taken.appliance_epoch);
    take_over(f, job, &taken, now, fx);
    *out_job = job;
    return true;
}
