/* snapshot.c - see snapshot.h. */
#include "engine/snapshot.h"

#include <string.h>

const struct snapshot_job *snapshot_find_job(const struct snapshot *s, const char *ns,
                                             const char *name)
{
    for (size_t i = 0; i < s->n_jobs; i++)
        if (strcmp(s->jobs[i]->name, name) == 0 && strcmp(s->jobs[i]->ns, ns) == 0)
            return s->jobs[i];
    return NULL;
}

/* Guests and nodes are sorted, so that a page over 50,000 guests finds one in 16 steps. */
const struct snapshot_guest *snapshot_find_guest(const struct snapshot *s, const char *ns,
                                                 const char *name)
{
    size_t low = 0, high = s->n_guests;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(s->guests[middle].ns, ns);
        if (order == 0)
            order = strcmp(s->guests[middle].name, name);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < s->n_guests && strcmp(s->guests[low].ns, ns) == 0 &&
                 strcmp(s->guests[low].name, name) == 0;
    return found ? &s->guests[low] : NULL;
}

const char *snapshot_condition(const struct snapshot_guest *guest, enum guest_condition which)
{
    const struct migratable *m = &guest->migratable;
    switch (which) {
    case CONDITION_READY:
        return guest->state == HV_STATE_RUNNING && guest->node_reachable ? "True" : "False";
    case CONDITION_LIVE_MIGRATABLE:
        if (!m->known)
            return NULL;
        return migratable_first_live(m) == UNMOVABLE_COUNT ? "True" : "False";
    case CONDITION_STORAGE_MIGRATABLE:
        if (!m->known)
            return NULL;
        return migratable_first_storage(m) == UNMOVABLE_COUNT ? "True" : "False";
    case CONDITION_PAUSED: return guest->state == HV_STATE_PAUSED ? "True" : NULL;
    case CONDITION_EVICTION: return guest->evacuation_node[0] != '\0' ? "True" : NULL;
    case CONDITION_SELECTOR: return guest->unmet_selector[0] != '\0' ? "False" : NULL;
    case CONDITION_COUNT: break;
    }
    return NULL;
}
