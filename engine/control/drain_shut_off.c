/* drain_shut_off.c - guests that are shut off on a node that is drained; see drain.h. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/drain.h"

/* Defined here, off, and no other node has a better claim to it: a drain does not move it. */
static bool is_left(const struct domain *domain)
{
    return !domain_is_up(domain) && domain->guest->owner == domain;
}

bool drain_list_shut_off(struct drain *drain, const struct node *node)
{
    size_t n = 0;
    bool changed = false;
    for (const struct domain *domain = node->domains; domain != NULL; domain = domain->next_here) {
        if (!is_left(domain))
            continue;
        if (n < DRAIN_SHUT_OFF_MAX) {
            struct drain_shut_off *one = &drain->shut_off[n];
            changed = changed || strcmp(one->ns, domain->guest->ns) != 0 ||
                      strcmp(one->name, domain->guest->name) != 0;
            TEXT_SET(one->ns, domain->guest->ns);
            TEXT_SET(one->name, domain->guest->name);
        }
        n++;
    }
    changed = changed || n != drain->n_shut_off;
    drain->n_shut_off = n;
    return changed;
}

void drain_add_shut_off(const struct drain *drain, char *message, size_t bytes)
{
    size_t length = strlen(message);
    if (drain->n_shut_off > 0)
        (void)snprintf(message + length, bytes - length,
                       "; %zu that are shut off stay: a wipe of the host loses them",
                       drain->n_shut_off);
}
