/* sim.c - see sim.h: creating the simulation, running it, reading it in tests. */
#include "hypervisor/sim/sim.h"

#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/text.h"
#include "hypervisor/sim/inside.h"

static const struct hv_ops ops = {
    .submit = sim_call_submit,
    .lane_status = sim_call_lane_status,
    .free = NULL, /* the simulation belongs to its creator */
};

static int64_t mono_ms(void *ctx)
{
    return ((const struct sim *)ctx)->now_ms;
}

static int64_t wall_ms(void *ctx)
{
    const struct sim *sim = ctx;
    return sim->epoch_ms + sim->now_ms;
}

struct sim *sim_new(uint64_t seed, int64_t epoch_wall_ms, const struct hv_event_sink *events,
                    struct err *err)
{
    struct sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the simulation");
        return NULL;
    }
    sim->seed = seed;
    sim->epoch_ms = epoch_wall_ms;
    sim->trace = HASH_START;
    sim->hv = (struct hv){.ops = &ops, .impl = sim};
    sim->clock = (struct clock){mono_ms, wall_ms, sim};
    if (events != NULL)
        sim->events = *events;
    return sim;
}

static void free_guests(struct sim *sim)
{
    struct guest *guest, *next;
    HASH_ITER(hh, sim->guests, guest, next)
    {
        if (guest->job != NULL)
            sim_job_free(sim, guest->job);
        struct copy *copy, *other;
        DL_FOREACH_SAFE2(guest->copies, copy, other, guest_next)
        {
            sim_copy_free(sim, copy);
        }
        HASH_DEL(sim->guests, guest);
        sim_guest_fini(sim, guest);
    }
}

void sim_free(struct sim *sim)
{
    if (sim == NULL)
        return;
    assert(!sim->advances);
    sim->events.on_event = NULL; /* no events during the tear-down */
    sim_faults_free(sim);
    free_guests(sim);
    struct host *host, *next;
    HASH_ITER(hh, sim->hosts, host, next)
    {
        sim_flush_events(sim, host, false);
        sim_calls_free(sim, host);
        sim_volumes_free(host);
        timer_clear(&sim->timers, &host->keepalive);
        timer_clear(&sim->timers, &host->reconnect);
        HASH_DEL(sim->hosts, host);
        free(host);
    }
    timers_fini(&sim->timers);
    free(sim);
}

struct hv *sim_hv(struct sim *sim)
{
    return &sim->hv;
}

const struct clock *sim_clock(struct sim *sim)
{
    return &sim->clock;
}

bool sim_add_host(struct sim *sim, const struct sim_host *what, struct err *err)
{
    struct host *host;
    HASH_FIND_STR(sim->hosts, what->name, host);
    if (host != NULL || what->name[0] == '\0')
        return err_set(err, ERR_EXISTS, "host '%s' is empty or exists already", what->name);
    host = timers_reserve(&sim->timers, 2) ? calloc(1, sizeof *host) : NULL;
    if (host == NULL)
        return err_set(err, ERR_NOMEM, "no memory for host '%s'", what->name);
    host->what = *what;
    host->number = HASH_COUNT(sim->hosts) + 1;
    sim_host_init(host);
    HASH_ADD_STR(sim->hosts, what.name, host);
    sim_host_changed(sim, host);
    return true;
}

static struct guest *guest_get(struct sim *sim, const struct sim_guest *what)
{
    struct guest *guest;
    HASH_FIND_STR(sim->guests, what->uuid, guest);
    if (guest != NULL)
        return guest;
    guest = timers_reserve(&sim->timers, SIM_GUEST_TIMERS) ? calloc(1, sizeof *guest) : NULL;
    if (guest == NULL)
        return NULL;
    sim_guest_init(guest);
    guest->what = *what;
    if (guest->what.ns[0] == '\0')
        TEXT_SET(guest->what.ns, "default");
    HASH_ADD_STR(sim->guests, what.uuid, guest);
    return guest;
}

bool sim_add_guest(struct sim *sim, const char *host_name, const struct sim_guest *what,
                   struct err *err)
{
    struct host *host;
    HASH_FIND_STR(sim->hosts, host_name, host);
    if (host == NULL)
        return err_set(err, ERR_NOT_FOUND, "no host '%s'", host_name);
    if (what->uuid[0] == '\0' || what->name[0] == '\0' || what->memory_bytes == 0)
        return err_set(err, ERR_INVALID, "a guest needs uuid, name and memory");
    struct guest *known;
    HASH_FIND_STR(sim->guests, what->uuid, known);
    if (sim_copy_named(host, what->name) != NULL ||
        (known != NULL && sim_copy_find(known, host) != NULL))
        return err_set(err, ERR_EXISTS, "guest '%s' is on host '%s' already", what->name,
                       host_name);
    bool is_twin = known != NULL && known->copies != NULL;
    if (is_twin && !what->persistent)
        return err_set(err, ERR_INVALID, "guest '%s': a second copy can only be defined",
                       what->uuid);
    struct guest *guest = guest_get(sim, what);
    struct copy *copy = guest == NULL ? NULL : sim_copy_new(guest, host, what->name);
    if (copy == NULL)
        return err_set(err, ERR_NOMEM, "no memory for guest '%s'", what->name);
    copy->persistent = what->persistent;
    copy->autostart = what->persistent && what->autostart;
    if (is_twin)
        return true;
    sim_copy_state(sim, copy, what->paused ? HV_STATE_PAUSED : HV_STATE_RUNNING,
                   what->paused ? HV_PAUSED_USER : HV_RUNNING_BOOTED);
    return true;
}

void sim_advance(struct sim *sim, int64_t until_ms)
{
    assert(!sim->advances); /* a sink must not advance the simulation */
    sim->advances = true;
    struct timer *timer;
    while ((timer = timers_first(&sim->timers)) != NULL && timer->at_ms <= until_ms) {
        assert(timer->at_ms >= sim->now_ms);
        sim->now_ms = timer->at_ms;
        timer_clear(&sim->timers, timer);
        timer->fire(sim, timer->owner);
    }
    if (until_ms > sim->now_ms)
        sim->now_ms = until_ms;
    sim->advances = false;
}

int64_t sim_next_ms(const struct sim *sim)
{
    const struct timer *timer = timers_first(&sim->timers);
    return timer == NULL ? INT64_MAX : timer->at_ms;
}

unsigned sim_running_copies(const struct sim *sim, const char *uuid)
{
    const struct guest *guest;
    HASH_FIND_STR(sim->guests, uuid, guest);
    return guest == NULL ? 0 : guest->running;
}

/* A running copy, else a paused one that is not an incoming migration. */
static const struct copy *owner_of(const struct guest *guest)
{
    const struct copy *copy, *paused = NULL;
    DL_FOREACH2(guest->copies, copy, guest_next)
    {
        if (copy->state == HV_STATE_RUNNING)
            return copy;
        if (copy->state == HV_STATE_PAUSED && (paused == NULL || paused->in != NULL))
            paused = copy;
    }
    return paused;
}

const char *sim_guest_host(const struct sim *sim, const char *uuid)
{
    const struct guest *guest;
    HASH_FIND_STR(sim->guests, uuid, guest);
    const struct copy *owner = guest == NULL ? NULL : owner_of(guest);
    return owner == NULL ? NULL : owner->host->what.name;
}

bool sim_guest_persistent(const struct sim *sim, const char *uuid)
{
    const struct guest *guest;
    HASH_FIND_STR(sim->guests, uuid, guest);
    const struct copy *owner = guest == NULL ? NULL : owner_of(guest);
    return owner != NULL && owner->persistent;
}

size_t sim_guest_count(const struct sim *sim)
{
    size_t n = 0;
    for (const struct guest *guest = sim->guests; guest != NULL; guest = guest->hh.next)
        n += owner_of(guest) != NULL;
    return n;
}

uint64_t sim_daemons_ended(const struct sim *sim)
{
    return sim->daemons_ended;
}

uint64_t sim_violations(const struct sim *sim)
{
    return sim->violations;
}

static uint64_t hash_guest(uint64_t hash, const struct guest *guest)
{
    hash = hash_word(hash, guest->what.uuid);
    const struct copy *copy;
    DL_FOREACH2(guest->copies, copy, guest_next)
    {
        hash = hash_number(hash, copy->host->number);
        hash = hash_number(hash, (uint64_t)copy->state << 32 | (uint64_t)copy->reason);
        hash = hash_number(hash, copy->persistent);
        hash = hash_number(hash, copy->autostart);
    }
    const struct job *job = guest->job;
    if (job == NULL)
        return hash;
    hash = hash_number(hash, (uint64_t)job->phase << 32 | job->stream.iteration);
    hash = hash_number(hash, job->stream.processed);
    return hash_number(hash, job->stream.rate_bps);
}

uint64_t sim_hash(const struct sim *sim)
{
    uint64_t hash = hash_number(sim->trace, (uint64_t)sim->now_ms);
    for (const struct host *host = sim->hosts; host != NULL; host = host->hh.next) {
        hash = hash_word(hash, host->what.name);
        hash = hash_number(hash, host->connected);
        hash = hash_number(hash, host->used_kib);
    }
    for (const struct guest *guest = sim->guests; guest != NULL; guest = guest->hh.next)
        hash = hash_guest(hash, guest);
    return hash_number(hash, sim->violations);
}
