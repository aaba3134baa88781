/* split.c - see split.h. */
#include "engine/control/split.h"

#include <string.h>

#include "base/text.h"
#include "engine/model/fleet/fleet_incidents.h"

enum { SOON_MS = 1000, LATER_MS = 10000, ROUNDS = 2 };

static void ask(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    guest->twice.asked = f->next_call_id + 1;
    guest->twice.asked_ms = now.mono_ms;
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of) {
        struct effect *effect =
            effects_order(fx, EFFECT_DO_OBSERVE, domain->node->name, guest->uuid, now.wall_ms);
        effect->of.act.id = ++f->next_call_id;
    }
}

static bool has_answers(const struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain_runs(domain) && domain->seen < guest->twice.asked)
            return false;
    return guest->twice.asked != 0;
}

static bool was_between(const struct job *job, const char *one, const char *other)
{
    return job->epoch > 0 && ((strcmp(job->source, one) == 0 && strcmp(job->target, other) == 0) ||
                              (strcmp(job->source, other) == 0 && strcmp(job->target, one) == 0));
}

static void tell(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    static const char *const text = "The guest runs on both %s and %s; touch neither";
    const char *one = guest->owner->node->name, *other = "";
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain != guest->owner && domain_runs(domain))
            other = domain->node->name;
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true,
                 "Split", text, one, other);
    const struct job *job = fleet_active_job(f, guest->uuid);
    if (job == NULL || !job->frozen || !was_between(job, one, other)) /* else it looks by itself */
        job = fleet_newest_finished(f, guest->uuid);
    while (job != NULL && !was_between(job, one, other))
        job = job->links.older;
    if (job != NULL) {
        effects_event(fx, job, now.wall_ms, true, "Split", text, one, other);
        incidents_split(f, job, now.wall_ms);
        TEXT_SET(guest->twice.job, job->uid);
    }
    guest->twice.told = true;
    heap_remove(&guest->twice.timer);
}

/* The nodes say otherwise now, and still do a while later: lists are of different moments, and a
 * copy that stands still may run again. A node that cannot be asked says nothing. */
static void settle(struct fleet *f, struct guest *guest, struct moment now)
{
    struct guest_twice *twice = &guest->twice;
    unsigned n = 0;
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        n += domain_is_up(domain);
    heap_remove(&twice->timer);
    if (n < 2 && twice->settles) {
        incidents_one_copy(f, twice->job, now.wall_ms);
        *twice = (struct guest_twice){.asked = 0};
        return;
    }
    twice->settles = n < 2;
    if (twice->settles)
        heap_put(&f->twice, &twice->timer, now.mono_ms + LATER_MS, twice->timer.second, guest);
}

static void inspect(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    struct guest_twice *twice = &guest->twice;
    const struct job *job = fleet_active_job(f, guest->uuid);
    int64_t again_ms = now.mono_ms + SOON_MS;
    bool observes = job != NULL && job->epoch > 0 && !job->frozen; /* at both sides, by itself */
    for (const struct domain *domain = guest->domains; observes && domain != NULL;
         domain = domain->next_of)
        observes = !domain_runs(domain) || strcmp(domain->node->name, job->source) == 0 ||
                   strcmp(domain->node->name, job->target) == 0;
    if (observes) {
        twice->asked = twice->rounds = 0;
    } else {
        bool answered = has_answers(guest);
        twice->rounds += answered;
        if (twice->rounds >= ROUNDS) {
            tell(f, guest, now, fx);
            return;
        }
        if (answered || twice->asked == 0 || now.mono_ms - twice->asked_ms >= LATER_MS)
            ask(f, guest, now, fx);
    }
    heap_put(&f->twice, &twice->timer, again_ms, twice->timer.second, guest);
}

void split_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    struct guest *guest;
    while ((guest = heap_top(&f->twice)) != NULL && guest->twice.timer.first <= now.mono_ms) {
        if (guest->twice.told)
            settle(f, guest, now);
        else
            inspect(f, guest, now, fx);
    }
}
