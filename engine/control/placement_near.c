/* placement_near.c - affinity: which guests are where, by the value of a label of their nodes.
 *
 * The node itself (kubernetes.io/hostname) is answered by looking at its guests. Any other key asks
 * all guests once for a look, not once for each node. */
#include <string.h>

#include "engine/control/placement_look.h"

static bool speaks_of(const struct look *look, const struct affinity *term,
                      const struct guest *guest)
{
    const struct guest *self = look->p->guest;
    return guest != self && strcmp(guest->ns, self->ns) == 0 &&
           labels_cover(&guest->labels, &term->match, NULL);
}

/* What a job was promised; false when it was promised nothing or speaks of nobody known. */
static bool promised(const struct look *look, const struct job *job, struct arrival *out_arrival)
{
    if (!job->placement.reserved || strcmp(job->ns, look->p->guest->ns) != 0)
        return false;
    struct arrival a = {0};
    HASH_FIND_STR(look->f->guests, job->guest_uuid, a.guest);
    HASH_FIND_STR(look->f->nodes, job->target, a.node);
    *out_arrival = a;
    return a.guest != NULL && a.node != NULL;
}

static void fill_arrivals(struct look *look)
{
    struct arrival a;
    look->arrivals_filled = true;
    for (const struct job *job = look->f->active; job != NULL; job = job->links.hh_guest.next) {
        if (!promised(look, job, &a))
            continue;
        if (look->n_arrivals == NEAR_ARRIVALS_MAX) {
            look->arrivals_cut = true;
            return;
        }
        look->arrivals[look->n_arrivals++] = a;
    }
}

static void add_value(struct near_set *set, const char *value)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->values[i], value) == 0)
            return;
    if (set->n < NEAR_VALUES_MAX)
        set->values[set->n++] = value;
    else
        set->cut = true;
}

static void see(struct near_set *set, const struct affinity *term, const struct node *node)
{
    const char *value = labels_get(&node->labels, term->topology_key);
    set->any = true;
    if (value != NULL)
        add_value(set, value);
}

static void fill(struct look *look, const struct affinity *term, struct near_set *set)
{
    set->filled = true;
    for (const struct guest *guest = look->f->guests; guest != NULL; guest = guest->hh.next) {
        if (guest->places == NULL || !speaks_of(look, term, guest))
            continue;
        for (const struct place *place = guest->places; place != NULL; place = place->next_of)
            if (place_is_up(place))
                see(set, term, place->node);
    }
}

static const struct near_set *set_of(struct look *look, size_t affinity)
{
    if (!look->near[affinity].filled)
        fill(look, &look->p->settings->affinities[affinity], &look->near[affinity]);
    return &look->near[affinity];
}

static bool is_there(const struct affinity *term, const struct node *there, const char *value)
{
    const char *has = labels_get(&there->labels, term->topology_key);
    return has != NULL && strcmp(has, value) == 0;
}

/* The set was cut: ask the guests themselves. */
static bool search(const struct look *look, const struct affinity *term, const char *value)
{
    for (const struct guest *guest = look->f->guests; guest != NULL; guest = guest->hh.next) {
        if (guest->places == NULL || !speaks_of(look, term, guest))
            continue;
        for (const struct place *place = guest->places; place != NULL; place = place->next_of)
            if (place_is_up(place) && is_there(term, place->node, value))
                return true;
    }
    return false;
}

/* value NULL: on that very node. */
static bool is_in_the_way(const struct look *look, const struct affinity *term,
                          const struct arrival *a, const struct node *node, const char *value)
{
    bool here = value == NULL ? a->node == node : is_there(term, a->node, value);
    return here && speaks_of(look, term, a->guest);
}

/* Two that must stay apart may be on their way at the same time: a promised place counts. */
static bool arrives(struct look *look, const struct affinity *term, const struct node *node,
                    const char *value)
{
    struct arrival a;
    if (!look->arrivals_filled)
        fill_arrivals(look);
    for (size_t i = 0; i < look->n_arrivals; i++)
        if (is_in_the_way(look, term, &look->arrivals[i], node, value))
            return true;
    const struct job *job = look->arrivals_cut ? look->f->active : NULL;
    for (; job != NULL; job = job->links.hh_guest.next)
        if (promised(look, job, &a) && is_in_the_way(look, term, &a, node, value))
            return true;
    return false;
}

bool near_has(struct look *look, size_t affinity, const struct node *node)
{
    const struct affinity *term = &look->p->settings->affinities[affinity];
    if (strcmp(term->topology_key, PLACEMENT_HOSTNAME) == 0) {
        for (const struct place *place = node->places; place != NULL; place = place->next_here)
            if (place_is_up(place) && speaks_of(look, term, place->guest))
                return true;
        return term->anti && node->reserved.launchers > 0 && arrives(look, term, node, NULL);
    }
    const char *value = labels_get(&node->labels, term->topology_key);
    if (value == NULL)
        return false;
    const struct near_set *set = set_of(look, affinity);
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->values[i], value) == 0)
            return true;
    if (set->cut && search(look, term, value))
        return true;
    return term->anti && arrives(look, term, node, value);
}

bool near_is_first(struct look *look, size_t affinity, const struct node *node)
{
    const struct affinity *term = &look->p->settings->affinities[affinity];
    return labels_get(&node->labels, term->topology_key) != NULL &&
           labels_cover(&look->p->guest->labels, &term->match, NULL) &&
           !set_of(look, affinity)->any;
}
