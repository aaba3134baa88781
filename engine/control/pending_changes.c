/* pending_changes.c - see pending_changes.h. */
#include "engine/control/pending_changes.h"

#include "engine/control/admission.h"

enum { PENDING_CHANGE_AGAIN_MS = 10000 };

/* The hash of the pending change that the newest update job was created for; the job keeps it
 * over a restart. */
static uint64_t last_tried(struct fleet *f, const struct guest *guest)
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
    return guest->owner->pending_change.is == PENDING_CHANGE_NOW ||
           guest->change_due_ms > guest->change_since_ms;
}

void pending_changes_update(struct fleet *f, struct guest *guest, struct moment now)
{
    if (guest->change_tried == 0)
        guest->change_tried = last_tried(f, guest);
    const struct pending_change *pending_change = &guest->owner->pending_change;
    bool was_tried = pending_change->hash == guest->change_tried;
    if (pending_change->is == PENDING_CHANGE_NO || (was_tried && is_due(guest))) {
        heap_remove(&guest->change_timer);
        return;
    }
    int64_t due_ms = now.mono_ms;
    if (!is_due(guest)) {
        int64_t ago_ms = now.wall_ms - guest->change_since_ms;
        due_ms += PENDING_CHANGE_GRACE_MS - (ago_ms > 0 ? ago_ms : 0); /* a clock set back: now */
    }
    heap_put(&f->pending_change, &guest->change_timer, due_ms, 0, guest);
}

/* The grace period ended without a hotplug: the condition MigrationRequired is shown from now
 * on. */
static void end_grace(struct fleet *f, struct guest *guest, struct moment now)
{
    guest->change_due_ms =
        now.wall_ms > guest->change_since_ms ? now.wall_ms : guest->change_since_ms + 1;
    f->guests_version = fleet_touch(f);
}

/* Acts once per change: a change that one migration did not apply, a second will not either. */
static void apply_change(struct fleet *f, struct guest *guest, struct moment now,
                         struct effects *fx)
{
    const struct pending_change *pending_change = &guest->owner->pending_change;
    uint64_t hash = pending_change->hash;
    struct err err = {0};
    if (!pending_change->cures) {
        guest->change_tried = hash;
        effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true,
                     "NotCuredByMigration", "%s; %s", pending_change->detail,
                     pending_change->todo != NULL ? pending_change->todo : "restart the guest");
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
        heap_put(&f->pending_change, &guest->change_timer, now.mono_ms + PENDING_CHANGE_AGAIN_MS, 0,
                 guest);
        return;
    }
    guest->change_tried = job->request.requirement = hash;
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, false,
                 "SuccessfulCreate", "Created Migration %s for automated workload update",
                 job->name);
}

void pending_changes_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    struct guest *guest;
    while ((guest = heap_top(&f->pending_change)) != NULL &&
           guest->change_timer.first <= now.mono_ms) {
        heap_remove(&guest->change_timer);
        if (guest->owner == NULL || guest->owner->pending_change.is == PENDING_CHANGE_NO)
            continue;
        if (!is_due(guest))
            end_grace(f, guest, now);
        if (guest->owner->pending_change.hash != guest->change_tried)
            apply_change(f, guest, now, fx);
    }
}
