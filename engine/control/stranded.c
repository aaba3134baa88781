/* stranded.c - see stranded.h. */
#include "engine/control/stranded.h"

#include "engine/data/observe.h"
#include "engine/model/fleet/fleet_incidents.h"

enum { STRANDED_MS = 60000, SOON_MS = 1000, ANSWER_MS = 10000 };

/* A job that was handed off observes the guest and reports it; so did one that ended with it in
 * this state. Nobody recovers the post-copy of somebody else's migration: it does not count. */
static bool is_known_to_a_job(struct fleet *f, const struct guest *guest)
{
    const struct job *job = fleet_moving_job(f, guest->uuid);
    if (job != NULL && !job_is_observed(job))
        return true;
    job = fleet_newest_finished(f, guest->uuid);
    return job != NULL && !job_is_observed(job) &&
           (job->result.outcome == OUTCOME_IRRECOVERABLE ||
            (job->mode == MODE_POSTCOPY && job->result.outcome != OUTCOME_SUCCEEDED));
}

/* Nodes that do not answer are not waited for: the state that they last reported is no better. */
static bool has_answers(const struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain->node->connected && domain->seen < guest->stranded.asked)
            return false;
    return true;
}

static void report(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    const char *one = guest->owner->node->name, *other = "";
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain != guest->owner && domain_is_up(domain))
            other = domain->node->name;
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true,
                 "Stranded",
                 "The guest is left in a migration on %s%s%s (%s), and no migration of Ferry's is "
                 "about it; nothing is changed on the hosts.",
                 one, other[0] != '\0' ? " and " : "", other,
                 hv_reason_name(guest->owner->state, guest->owner->reason));
    incidents_guest(f, guest, INCIDENT_STRANDED, one, other, now.wall_ms);
    guest->stranded.reported = true;
}

/* When to look again; 0: not before its state changes. */
static int64_t inspect(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    struct guest_stranded *stranded = &guest->stranded;
    if (stranded->since_ms == 0)
        stranded->since_ms = now.mono_ms;
    int64_t due_ms = stranded->since_ms + STRANDED_MS;
    if (guest->split.reported || is_known_to_a_job(f, guest))
        return now.mono_ms + STRANDED_MS;
    if (now.mono_ms < due_ms)
        return due_ms;
    if (stranded->asked == 0) {
        stranded->asked = observe_guest(f, guest, now, fx);
        return now.mono_ms + SOON_MS;
    }
    if (!has_answers(guest) && now.mono_ms < due_ms + ANSWER_MS)
        return now.mono_ms + SOON_MS;
    report(f, guest, now, fx);
    return 0;
}

/* It runs again, or is gone. An unreachable node proves nothing. */
static int64_t settle(struct fleet *f, struct guest *guest, struct moment now)
{
    if (guest->stranded.reported && !incidents_is_visible(f, guest->uuid))
        return now.mono_ms + ANSWER_MS;
    if (guest->stranded.reported)
        incidents_settled(f, guest->uuid, INCIDENT_STRANDED, now.wall_ms);
    guest->stranded.reported = false;
    guest->stranded.since_ms = 0;
    guest->stranded.asked = 0;
    return 0;
}

void stranded_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    struct guest *guest;
    while ((guest = heap_top(&f->stranded)) != NULL && guest->stranded.timer.first <= now.mono_ms) {
        int64_t second = guest->stranded.timer.second, next_ms = 0;
        heap_remove(&guest->stranded.timer);
        if (!guest_is_stranded(guest))
            next_ms = settle(f, guest, now);
        else if (!guest->stranded.reported)
            next_ms = inspect(f, guest, now, fx);
        if (next_ms != 0)
            heap_put(&f->stranded, &guest->stranded.timer, next_ms, second, guest);
        else
            fleet_forget_if_gone(f, guest);
    }
}
