/* copy.c - guests as their hosts know them, and the law: at most one running copy. */
#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "base/text.h"
#include "hypervisor/sim/inside.h"

struct copy *sim_copy_new(struct guest *guest, struct host *host, const char *name)
{
    struct copy *copy = calloc(1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    copy->guest = guest;
    copy->host = host;
    TEXT_SET(copy->name, name);
    copy->state = HV_STATE_SHUTOFF;
    copy->reason = HV_SHUTOFF_UNKNOWN;
    DL_APPEND2(host->copies, copy, host_prev, host_next);
    DL_APPEND2(guest->copies, copy, guest_prev, guest_next);
    return copy;
}

struct copy *sim_copy_find(const struct guest *guest, const struct host *host)
{
    struct copy *copy;
    DL_FOREACH2(guest->copies, copy, guest_next)
    {
        if (copy->host == host)
            return copy;
    }
    return NULL;
}

struct copy *sim_copy_named(const struct host *host, const char *name)
{
    struct copy *copy;
    DL_FOREACH2(host->copies, copy, host_next)
    {
        if (strcmp(copy->name, name) == 0)
            return copy;
    }
    return NULL;
}

static bool state_is_live(int state)
{
    return state == HV_STATE_RUNNING || state == HV_STATE_PAUSED;
}

bool sim_copy_is_live(const struct copy *copy)
{
    return state_is_live(copy->state);
}

void sim_copy_state(struct sim *sim, struct copy *copy, enum hv_state state, enum hv_reason reason)
{
    struct guest *guest = copy->guest;
    uint64_t kib = guest->what.memory_bytes / 1024;
    if (state_is_live(copy->state))
        copy->host->used_kib -= kib;
    if (copy->state == HV_STATE_RUNNING)
        guest->running--;
    copy->state = (int)state;
    copy->reason = (int)reason;
    if (state_is_live(copy->state))
        copy->host->used_kib += kib;
    if (state == HV_STATE_RUNNING && ++guest->running > 1)
        sim->violations++;
}

void sim_copy_stop(struct sim *sim, struct copy *copy, enum hv_reason reason, int detail)
{
    sim_copy_state(sim, copy, HV_STATE_SHUTOFF, reason);
    copy->resumes_with_daemon = false;
    sim_emit_lifecycle(sim, copy, HV_LIFECYCLE_STOPPED, detail);
    if (!copy->persistent)
        sim_copy_free(sim, copy);
}

void sim_copy_free(struct sim *sim, struct copy *copy)
{
    assert(copy->out == NULL || copy->out->source == copy);
    if (copy->out != NULL)
        copy->out->source = NULL;
    if (copy->in != NULL)
        copy->in->target = NULL;
    sim_copy_state(sim, copy, HV_STATE_SHUTOFF, HV_SHUTOFF_UNKNOWN); /* memory and the count */
    DL_DELETE2(copy->host->copies, copy, host_prev, host_next);
    DL_DELETE2(copy->guest->copies, copy, guest_prev, guest_next);
    free(copy);
}
