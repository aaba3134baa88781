/* split.c - see split.h. */
#include "engine/control/split.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/observe.h"
#include "engine/model/fleet/fleet_incidents.h"

enum { SOON_MS = 1000, LATER_MS = 10000, ROUNDS = 2 };

static bool has_answers(const struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain_runs(domain) && domain->seen < guest->split.asked)
            return false;
    return guest->split.asked != 0;
}

static bool was_between(const struct job *job, const char *one, const char *other)
{
    return job->epoch > 0 && ((strcmp(job->source, one) == 0 && strcmp(job->target, other) == 0) ||
                              (strcmp(job->source, other) == 0 && strcmp(job->target, one) == 0));
}

static void report(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    static const char *const text = "The guest runs on both %s and %s; touch neither";
    const char *one = guest->owner->node->name, *other = "";
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain != guest->owner && domain_runs(domain))
            other = domain->node->name;
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true,
                 "Split", text, one, other);
    const struct job *job = fleet_active_job(f, guest->uuid);
    if (job == NULL || !job->frozen ||
        !was_between(job, one, other)) /* else the job resolves it itself */
        job = fleet_newest_finished(f, guest->uuid);
    while (job != NULL && !was_between(job, one, other))
        job = job->links.older;
    if (job != NULL) {
        effects_event(fx, job, now.wall_ms, true, "Split", text, one, other);
        incidents_split(f, job, now.wall_ms);
    } else {
        incidents_guest(f, guest, INCIDENT_SPLIT, one, other, now.wall_ms);
    }
    TEXT_SET(guest->split.incident, job != NULL ? job->uid : guest->uuid);
    guest->split.reported = true;
    heap_remove(&guest->split.timer);
}

/* Closes the incident when both nodes report one copy now and after LATER_MS: lists are of
 * different moments, and a paused copy may run again. An unreachable node proves nothing. */
static void confirm_one_copy(struct fleet *f, struct guest *guest, struct moment now)
{
    struct guest_split *split = &guest->split;
    unsigned n = 0;
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        n += domain_is_up(domain);
    heap_remove(&split->timer);
    if (!incidents_is_visible(f, split->incident)) {
        split->settles = false;
        heap_put(&f->split, &split->timer, now.mono_ms + LATER_MS, split->timer.second, guest);
        return;
    }
    if (n < 2 && split->settles) {
        incidents_settled(f, split->incident, INCIDENT_SPLIT, now.wall_ms);
        *split = (struct guest_split){.asked = 0};
        fleet_forget_if_gone(f, guest);
        return;
    }
    split->settles = n < 2;
    if (split->settles)
        heap_put(&f->split, &split->timer, now.mono_ms + LATER_MS, split->timer.second, guest);
}

static void inspect(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    struct guest_split *split = &guest->split;
    const struct job *job = fleet_moving_job(f, guest->uuid);
    int64_t next_ms = now.mono_ms + SOON_MS;
    bool observes =
        job != NULL && job->epoch > 0 && !job->frozen; /* the job observes both hosts itself */
    for (const struct domain *domain = guest->domains; observes && domain != NULL;
         domain = domain->next_of)
        observes = !domain_runs(domain) || strcmp(domain->node->name, job->source) == 0 ||
                   strcmp(domain->node->name, job->target) == 0;
    if (observes) {
        split->asked = split->rounds = 0;
    } else {
        bool answered = has_answers(guest);
        split->rounds += answered;
        if (split->rounds >= ROUNDS) {
            report(f, guest, now, fx);
            return;
        }
        if (answered || split->asked == 0 || now.mono_ms - split->asked_ms >= LATER_MS) {
            split->asked = observe_guest(f, guest, now, fx);
            split->asked_ms = now.mono_ms;
        }
    }
    heap_put(&f->split, &split->timer, next_ms, split->timer.second, guest);
}

void split_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    struct guest *guest;
    while ((guest = heap_top(&f->split)) != NULL && guest->split.timer.first <= now.mono_ms) {
        if (guest->split.reported)
            confirm_one_copy(f, guest, now);
        else
            inspect(f, guest, now, fx);
    }
}
