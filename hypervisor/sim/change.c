/* change.c - changes that Ferry did not make, during a run: a guest is edited, a host loses a
 * network, a guest shuts down on request.
 *
 * Events of a change are sent when time advances, like all events.
 */
#include <string.h>
#include <utlist.h>

#include "base/text.h"
#include "hypervisor/sim/inside.h"

enum {
    SHUTDOWN_MS = 1000,
    EVENT_UPDATED = 1,
    EVENT_SHUTDOWN_GUEST = 1,
    EVENT_STOPPED_SHUTDOWN = 0
};

static void changed_fires(struct sim *sim, void *owner)
{
    struct guest *guest = owner;
    const struct copy *copy;
    DL_FOREACH2(guest->copies, copy, guest_next)
    {
        if (guest->stored_changed && copy->persistent)
            sim_emit_lifecycle(sim, copy, HV_LIFECYCLE_DEFINED, EVENT_UPDATED);
        if (guest->live_changed && sim_copy_is_live(copy))
            sim_emit_changed(sim, copy);
    }
    guest->live_changed = guest->stored_changed = false;
}

/* It shuts down on the host where it runs by then; during a migration that takes longer. */
static void off_fires(struct sim *sim, void *owner)
{
    struct guest *guest = owner;
    if (guest->job != NULL) {
        timer_set(&sim->timers, &guest->off, sim->now_ms + SHUTDOWN_MS);
        return;
    }
    struct copy *copy;
    DL_FOREACH2(guest->copies, copy, guest_next)
    {
        if (copy->state != HV_STATE_RUNNING)
            continue;
        sim_emit_lifecycle(sim, copy, HV_LIFECYCLE_SHUTDOWN, EVENT_SHUTDOWN_GUEST);
        sim_copy_stop(sim, copy, HV_SHUTOFF_SHUTDOWN, EVENT_STOPPED_SHUTDOWN);
        return; /* the copy may be gone */
    }
}

void sim_guest_init(struct guest *guest)
{
    guest->frozen_since_ms = -1;
    guest->changed = (struct timer){.fire = changed_fires, .owner = guest};
    guest->off = (struct timer){.fire = off_fires, .owner = guest};
}

void sim_guest_fini(struct sim *sim, struct guest *guest)
{
    timer_clear(&sim->timers, &guest->changed);
    timer_clear(&sim->timers, &guest->off);
    timers_release(&sim->timers, SIM_GUEST_TIMERS);
    free(guest->stored);
    free(guest);
}

void sim_guest_freeze(struct sim *sim, struct guest *guest, bool frozen)
{
    bool was = guest->frozen_since_ms >= 0;
    if (was && !frozen)
        guest->frozen_ms += sim->now_ms - guest->frozen_since_ms;
    if (was != frozen)
        guest->frozen_since_ms = frozen ? sim->now_ms : -1;
}

int64_t sim_frozen_ms(const struct sim *sim, const char *uuid)
{
    const struct guest *guest;
    HASH_FIND_STR(sim->guests, uuid, guest);
    if (guest == NULL)
        return 0;
    int64_t now_ms = guest->frozen_since_ms >= 0 ? sim->now_ms - guest->frozen_since_ms : 0;
    return guest->frozen_ms + now_ms;
}

void sim_guest_shut_down(struct sim *sim, struct guest *guest)
{
    if (!timer_is_set(&guest->off))
        timer_set(&sim->timers, &guest->off, sim->now_ms + SHUTDOWN_MS);
}

/* Everything but identity, size and state. */
static void redefine(struct sim_guest *guest, const struct sim_guest *wanted)
{
    struct sim_guest changed = *wanted;
    TEXT_SET(changed.name, guest->name);
    TEXT_SET(changed.uuid, guest->uuid);
    TEXT_SET(changed.ns, guest->ns);
    changed.memory_bytes = guest->memory_bytes;
    changed.working_set_bytes = guest->working_set_bytes;
    changed.dirty_bps = guest->dirty_bps;
    changed.vcpus = guest->vcpus;
    changed.persistent = guest->persistent;
    changed.paused = guest->paused;
    changed.disk_bytes = guest->disk_bytes;
    changed.disk = guest->disk;
    *guest = changed;
}

bool sim_set_guest(struct sim *sim, const struct sim_guest *what, enum sim_which which,
                   struct err *err)
{
    struct guest *guest;
    HASH_FIND_STR(sim->guests, what->uuid, guest);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "no guest '%s'", what->uuid);
    if (guest->stored == NULL) {
        guest->stored = malloc(sizeof *guest->stored);
        if (guest->stored == NULL)
            return err_set(err, ERR_NOMEM, "no memory for guest '%s'", what->uuid);
        *guest->stored = guest->what;
    }
    if (which != SIM_LIVE)
        redefine(guest->stored, what);
    if (which != SIM_STORED)
        redefine(&guest->what, what);
    guest->live_changed = guest->live_changed || which != SIM_STORED;
    guest->stored_changed = guest->stored_changed || which != SIM_LIVE;
    timer_set(&sim->timers, &guest->changed, sim->now_ms);
    return true;
}

bool sim_set_host(struct sim *sim, const struct sim_host *what, struct err *err)
{
    struct host *host;
    HASH_FIND_STR(sim->hosts, what->name, host);
    if (host == NULL)
        return err_set(err, ERR_NOT_FOUND, "no host '%s'", what->name);
    uint64_t link_bps = host->what.link_bps;
    host->what = *what; /* the name, by which it is found, is the same */
    host->what.link_bps = link_bps;
    return true;
}
