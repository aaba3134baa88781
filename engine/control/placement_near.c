/* placement_near.c - affinity: which guests are where, by the value of a label of their nodes.
 *
 * For kubernetes.io/hostname the node's own guests are checked. For any other key all guests are
 * scanned once per scheduling, not once per node. */
#include <string.h>

#include "engine/control/placement_scan.h"

static bool selects(const struct placement_scan *scan, const struct affinity *term,
                    const struct guest *guest)
{
    const struct guest *self = scan->p->guest;
    return guest != self && strcmp(guest->ns, self->ns) == 0 &&
           labels_cover(&guest->labels, &term->match, NULL);
}

/* The reservation of a job; false when it has none or its guest or node is not known. */
static bool promised(const struct placement_scan *scan, const struct job *job,
                     struct arrival *out_arrival)
{
    if (!job->placement.reserved || strcmp(job->ns, scan->p->guest->ns) != 0)
        return false;
    struct arrival a = {0};
    HASH_FIND_STR(scan->f->guests, job->guest_uuid, a.guest);
    HASH_FIND_STR(scan->f->nodes, job->target, a.node);
    *out_arrival = a;
    return a.guest != NULL && a.node != NULL;
}

static void fill_arrivals(struct placement_scan *scan)
{
    struct arrival a;
    scan->arrivals_filled = true;
    for (const struct job *job = scan->f->active; job != NULL; job = job->links.hh_guest.next) {
        if (!promised(scan, job, &a))
            continue;
        if (scan->n_arrivals == NEAR_ARRIVALS_MAX) {
            scan->arrivals_cut = true;
            return;
        }
        scan->arrivals[scan->n_arrivals++] = a;
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

static void add_node(struct near_set *set, const struct affinity *term, const struct node *node)
{
    const char *value = labels_get(&node->labels, term->topology_key);
    set->any = true;
    if (value != NULL)
        add_value(set, value);
}

static void fill(struct placement_scan *scan, const struct affinity *term, struct near_set *set)
{
    set->filled = true;
    for (const struct guest *guest = scan->f->guests; guest != NULL; guest = guest->hh.next) {
        if (guest->domains == NULL || !selects(scan, term, guest))
            continue;
        for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
            if (domain_is_up(domain))
                add_node(set, term, domain->node);
    }
}

static const struct near_set *set_of(struct placement_scan *scan, size_t affinity)
{
    if (!scan->near[affinity].filled)
        fill(scan, &scan->p->settings->affinities[affinity], &scan->near[affinity]);
    return &scan->near[affinity];
}

static bool is_there(const struct affinity *term, const struct node *there, const char *value)
{
    const char *has = labels_get(&there->labels, term->topology_key);
    return has != NULL && strcmp(has, value) == 0;
}

/* The set was truncated: search the guests. */
static bool search(const struct placement_scan *scan, const struct affinity *term,
                   const char *value)
{
    for (const struct guest *guest = scan->f->guests; guest != NULL; guest = guest->hh.next) {
        if (guest->domains == NULL || !selects(scan, term, guest))
            continue;
        for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
            if (domain_is_up(domain) && is_there(term, domain->node, value))
                return true;
    }
    return false;
}

/* value NULL: on that very node. */
static bool conflicts(const struct placement_scan *scan, const struct affinity *term,
                      const struct arrival *a, const struct node *node, const char *value)
{
    bool here = value == NULL ? a->node == node : is_there(term, a->node, value);
    return here && selects(scan, term, a->guest);
}

/* Two guests with anti-affinity may migrate at the same time: a reservation counts. */
static bool arrives(struct placement_scan *scan, const struct affinity *term,
                    const struct node *node, const char *value)
{
    struct arrival a;
    if (!scan->arrivals_filled)
        fill_arrivals(scan);
    for (size_t i = 0; i < scan->n_arrivals; i++)
        if (conflicts(scan, term, &scan->arrivals[i], node, value))
            return true;
    const struct job *job = scan->arrivals_cut ? scan->f->active : NULL;
    for (; job != NULL; job = job->links.hh_guest.next)
        if (promised(scan, job, &a) && conflicts(scan, term, &a, node, value))
            return true;
    return false;
}

bool near_has(struct placement_scan *scan, size_t affinity, const struct node *node)
{
    const struct affinity *term = &scan->p->settings->affinities[affinity];
    if (strcmp(term->topology_key, PLACEMENT_HOSTNAME) == 0) {
        for (const struct domain *domain = node->domains; domain != NULL;
             domain = domain->next_here)
            if (domain_is_up(domain) && selects(scan, term, domain->guest))
                return true;
        return term->anti && node->reserved.launchers > 0 && arrives(scan, term, node, NULL);
    }
    const char *value = labels_get(&node->labels, term->topology_key);
    if (value == NULL)
        return false;
    const struct near_set *set = set_of(scan, affinity);
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->values[i], value) == 0)
            return true;
    if (set->cut && search(scan, term, value))
        return true;
    return term->anti && arrives(scan, term, node, value);
}

bool near_is_first(struct placement_scan *scan, size_t affinity, const struct node *node)
{
    const struct affinity *term = &scan->p->settings->affinities[affinity];
    return labels_get(&node->labels, term->topology_key) != NULL &&
           labels_cover(&scan->p->guest->labels, &term->match, NULL) &&
           !set_of(scan, affinity)->any;
}
