/* fault.c - the script of faults: when each begins, what it affects, when it ends.
 *
 * A fault of a host is counted on the host while it acts. A fault of a migration hits the one in
 * flight and does nothing when there is none; PORT_REFUSED, PORT_DROPPED and NO_MEMORY given for a
 * guest wait for its next migration. A killed or powered-off guest needs no migration.
 */
#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "hypervisor/sim/inside.h"

enum target { HITS_MIGRATION, HITS_HOST, HITS_NEXT_MIGRATION };

static const char *const names[SIM_FAULT_COUNT] = {
#define SIM_FAULT(id, name, help) [SIM_FAULT_##id] = name,
#include "hypervisor/sim/fault.def"
#undef SIM_FAULT
};

static const enum target targets[SIM_FAULT_COUNT] = {
    [SIM_FAULT_KILL_TARGET_QEMU] = HITS_MIGRATION,
    [SIM_FAULT_KILL_SOURCE_QEMU] = HITS_MIGRATION,
    [SIM_FAULT_STREAM_RESET] = HITS_MIGRATION,
    [SIM_FAULT_STREAM_STALL] = HITS_MIGRATION,
    [SIM_FAULT_PORT_REFUSED] = HITS_NEXT_MIGRATION,
    [SIM_FAULT_PORT_TAKEN] = HITS_NEXT_MIGRATION,
    [SIM_FAULT_PORT_DROPPED] = HITS_NEXT_MIGRATION,
    [SIM_FAULT_LINK_DOWN] = HITS_HOST,
    [SIM_FAULT_KILL_LIBVIRTD] = HITS_HOST,
    [SIM_FAULT_STOP_LIBVIRTD] = HITS_HOST,
    [SIM_FAULT_HOST_LOST] = HITS_HOST,
    [SIM_FAULT_NO_MEMORY] = HITS_NEXT_MIGRATION,
    [SIM_FAULT_GUEST_POWEROFF] = HITS_MIGRATION,
    [SIM_FAULT_STREAM_STALL_OUT] = HITS_MIGRATION,
    [SIM_FAULT_STREAM_HALF_RESET] = HITS_MIGRATION,
    [SIM_FAULT_FINISH_LOST] = HITS_NEXT_MIGRATION,
    [SIM_FAULT_FINISH_LATE] = HITS_NEXT_MIGRATION,
};

const char *sim_fault_name(enum sim_fault_kind kind)
{
    assert(kind < SIM_FAULT_COUNT);
    return names[kind];
}

bool sim_fault_from_name(const char *name, enum sim_fault_kind *out_kind)
{
    for (enum sim_fault_kind kind = 0; kind < SIM_FAULT_COUNT; kind++) {
        if (strcmp(names[kind], name) != 0)
            continue;
        *out_kind = kind;
        return true;
    }
    return false;
}

/* A guest that is not being migrated: its active copy; only a running one can power off. */
static void hit_still_guest(struct sim *sim, struct guest *guest, enum sim_fault_kind kind)
{
    struct copy *copy, *live = NULL;
    DL_FOREACH2(guest->copies, copy, guest_next)
    {
        if (copy->state == HV_STATE_RUNNING || (live == NULL && sim_copy_is_live(copy)))
            live = copy;
    }
    if (live == NULL)
        return;
    if (kind == SIM_FAULT_KILL_SOURCE_QEMU)
        sim_copy_stop(sim, live, HV_SHUTOFF_CRASHED, 5);
    else if (kind == SIM_FAULT_GUEST_POWEROFF && live->state == HV_STATE_RUNNING) {
        sim_emit_lifecycle(sim, live, HV_LIFECYCLE_SHUTDOWN, 0);
        sim_copy_stop(sim, live, HV_SHUTOFF_SHUTDOWN, 0);
    }
}

/* The counter of a stall; NULL: the fault is no stall. */
static unsigned *stalls_of(struct job *job, enum sim_fault_kind kind)
{
    if (kind == SIM_FAULT_STREAM_STALL_OUT)
        return &job->stalls_out;
    return kind == SIM_FAULT_STREAM_STALL ? &job->stalls : NULL;
}

static void hit_migration(struct sim *sim, struct fault *fault)
{
    struct job *job = fault->guest->job;
    bool stalls = fault->what.kind == SIM_FAULT_STREAM_STALL ||
                  fault->what.kind == SIM_FAULT_STREAM_STALL_OUT;
    if (!stalls) {
        if (job != NULL)
            sim_job_hit(sim, job, fault->what.kind);
        else
            hit_still_guest(sim, fault->guest, fault->what.kind);
        return;
    }
    bool has_stream = job != NULL && job->phase >= JOB_DISKS && job->phase != JOB_FINISH;
    if (!has_stream)
        return;
    fault->job = job;
    fault->acts = true;
    ++*stalls_of(job, fault->what.kind);
    sim_job_path_changed(sim, job);
}

static void begin(struct sim *sim, struct fault *fault)
{
    enum sim_fault_kind kind = fault->what.kind;
    if (targets[kind] == HITS_MIGRATION) {
        hit_migration(sim, fault);
    } else if (fault->host != NULL) {
        fault->acts = true;
        fault->host->faults[kind]++;
        sim_host_changed(sim, fault->host);
    } else {
        fault->guest->planned_faults[kind] = true;
    }
    if (fault->acts && fault->what.duration_ms > 0)
        timer_set(&sim->timers, &fault->timer, sim->now_ms + fault->what.duration_ms);
}

static void end(struct sim *sim, struct fault *fault)
{
    fault->acts = false;
    if (fault->host != NULL && targets[fault->what.kind] != HITS_MIGRATION) {
        fault->host->faults[fault->what.kind]--;
        sim_host_changed(sim, fault->host);
    } else if (fault->job != NULL) {
        struct job *job = fault->job;
        fault->job = NULL;
        --*stalls_of(job, fault->what.kind);
        sim_job_path_changed(sim, job);
    }
}

static void fault_fires(struct sim *sim, void *owner)
{
    struct fault *fault = owner;
    if (fault->acts)
        end(sim, fault);
    else
        begin(sim, fault);
}

static bool check(const struct sim *sim, const struct sim_fault *what, struct err *err)
{
    if (what->kind >= SIM_FAULT_COUNT)
        return err_set(err, ERR_INVALID, "no fault of number %d", (int)what->kind);
    const char *name = names[what->kind];
    enum target target = targets[what->kind];
    const struct host *host;
    const struct guest *guest;
    HASH_FIND_STR(sim->hosts, what->host, host);
    HASH_FIND_STR(sim->guests, what->guest, guest);
    if (what->host[0] != '\0' && host == NULL)
        return err_set(err, ERR_NOT_FOUND, "fault '%s': no host '%s'", name, what->host);
    if (what->guest[0] != '\0' && guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "fault '%s': no guest '%s'", name, what->guest);
    if (target == HITS_HOST && host == NULL)
        return err_set(err, ERR_INVALID, "fault '%s' needs a host", name);
    if (target != HITS_HOST && guest == NULL && (target == HITS_MIGRATION || host == NULL))
        return err_set(err, ERR_INVALID, "fault '%s' needs a guest", name);
    if (what->after_iteration_ms >= 0 && (guest == NULL || target == HITS_NEXT_MIGRATION))
        return err_set(err, ERR_INVALID, "fault '%s' cannot wait for an iteration", name);
    return true;
}

bool sim_add_fault(struct sim *sim, const struct sim_fault *what, struct err *err)
{
    if (!check(sim, what, err))
        return false;
    struct fault *fault = timers_reserve(&sim->timers, 1) ? calloc(1, sizeof *fault) : NULL;
    if (fault == NULL)
        return err_set(err, ERR_NOMEM, "no memory for a fault");
    fault->what = *what;
    HASH_FIND_STR(sim->hosts, what->host, fault->host);
    HASH_FIND_STR(sim->guests, what->guest, fault->guest);
    fault->timer = (struct timer){.fire = fault_fires, .owner = fault};
    DL_APPEND(sim->faults, fault);
    if (what->after_iteration_ms >= 0)
        DL_APPEND2(fault->guest->armed, fault, armed_prev, armed_next);
    else
        timer_set(&sim->timers, &fault->timer,
                  what->at_ms > sim->now_ms ? what->at_ms : sim->now_ms);
    return true;
}

void sim_fault_arm(struct sim *sim, struct guest *guest)
{
    struct fault *fault, *next;
    DL_FOREACH_SAFE2(guest->armed, fault, next, armed_next)
    {
        DL_DELETE2(guest->armed, fault, armed_prev, armed_next);
        timer_set(&sim->timers, &fault->timer, sim->now_ms + fault->what.after_iteration_ms);
    }
}

void sim_fault_detach_job(struct sim *sim, const struct job *job)
{
    if (job->stalls + job->stalls_out == 0)
        return;
    struct fault *fault;
    DL_FOREACH(sim->faults, fault)
    {
        if (fault->job != job)
            continue;
        fault->job = NULL;
        fault->acts = false;
        timer_clear(&sim->timers, &fault->timer);
    }
}

void sim_faults_free(struct sim *sim)
{
    struct fault *fault, *next;
    DL_FOREACH_SAFE(sim->faults, fault, next)
    {
        timer_clear(&sim->timers, &fault->timer);
        free(fault);
    }
    sim->faults = NULL;
}
