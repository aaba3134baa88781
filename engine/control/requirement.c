/* requirement.c - see requirement.h. */
#include "engine/control/requirement.h"

#include "engine/control/admission.h"

enum { REQUIRED_AGAIN_MS = 10000 };

/* What the newest job made for a requirement was made for: it is known over a restart by the job.
 */
static uint64_t tried_before(struct fleet *f, const struct guest *guest)
{
    const struct job *job = fleet_active_job(f, guest->uuid);
    if (job == NULL || job->request.origin != ORIGIN_UPDATE)
        job = fleet_newest_finished(f, guest->uuid);
    while (job != NULL && job->request.origin != ORIGIN_UPDATE)
        job = job->links.older;
    return job != NULL ? job->request.requirement : 0;
}

static bool is_due(const struct guest *guest)
{
    return guest->owner->required.is == REQUIRED_NOW ||
           guest->required_due_ms > guest->required_since_ms;
}

void requirement_changed(struct fleet *f, struct guest *guest, struct moment now)
{
    if (guest->required_tried == 0)
        guest->required_tried = tried_before(f, guest);
    const struct required *required = &guest->owner->required;
    bool was_tried = required->hash == guest->required_tried;
    if (required->is == REQUIRED_NO || (was_tried && is_due(guest))) {
        heap_leave(&guest->required_timer);
        return;
    }
    int64_t due_ms = now.mono_ms;
    if (!is_due(guest))
        due_ms += guest->required_since_ms + REQUIRED_GRACE_MS - now.wall_ms;
    heap_put(&f->required, &guest->required_timer, due_ms, 0, guest);
}

/* Nobody plugged it in its time: readers see that it is required now. */
static void end_grace(struct fleet *f, struct guest *guest, struct moment now)
{
    guest->required_due_ms =
        now.wall_ms > guest->required_since_ms ? now.wall_ms : guest->required_since_ms + 1;
    guest->version = f->guests_version = fleet_touch(f);
}

/* Once per change of the definition: what a migration did not cure, a second will not. */
static void answer(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    const struct required *required = &guest->owner->required;
    uint64_t hash = required->hash;
    struct err err = {0};
    if (!required->cures) {
        guest->required_tried = hash;
        effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true,
                     "NotCuredByMigration", "%s; %s", required->detail,
                     required->todo != NULL ? required->todo : "restart the guest");
        return;
    }
    static const struct automatic_request request = {
        .origin = ORIGIN_UPDATE,
        .priority = PRIORITY_USER_TRIGGERED,
        .requester = "ferry",
        .name_stem = "kubevirt-workload-update-",
    };
    struct job *job = admission_automatic(f, guest, request, now, fx, &err);
    if (job == NULL) {
        heap_put(&f->required, &guest->required_timer, now.mono_ms + REQUIRED_AGAIN_MS, 0, guest);
        return;
    }
    guest->required_tried = job->request.requirement = hash;
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, false,
                 "SuccessfulCreate", "Created Migration %s for automated workload update",
                 job->name);
}

void requirement_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    struct guest *guest;
    while ((guest = heap_top(&f->required)) != NULL && guest->required_timer.first <= now.mono_ms) {
        heap_leave(&guest->required_timer);
        if (guest->owner == NULL || guest->owner->required.is == REQUIRED_NO)
            continue;
        if (!is_due(guest))
            end_grace(f, guest, now);
        if (guest->owner->required.hash != guest->required_tried)
            answer(f, guest, now, fx);
    }
}
