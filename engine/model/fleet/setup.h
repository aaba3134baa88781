/* setup.h - what a configuration says about the fleet: its hosts, limits and defaults. Given at the
 * start and again by a reload. Plain record; owns its texts. */
#ifndef ENGINE_MODEL_FLEET_SETUP_H
#define ENGINE_MODEL_FLEET_SETUP_H

#include "engine/model/fleet/fleet.h"

struct setup_host {
    struct hv_host host;
    char *labels, *taints; /* JSON or NULL */
    bool cordoned;
};
struct setup {
    struct fleet_config config;
    size_t n_hosts;
    struct setup_host *hosts;
    struct setup_host **by_name; /* sorted by setup_sort() */
};

/* Without hosts; NULL: no memory. */
struct setup *setup_new(const struct fleet_config *config, size_t n_hosts);
void setup_free(struct setup *setup);
DEFINE_OWNED(setup)
/* Fills one of its hosts; both texts may be NULL. */
MUST_CHECK bool setup_host(struct setup *setup, size_t i, const struct hv_host *host,
                           const char *labels, const char *taints);

/* Before setup_find(). False, with ERR_EXISTS, when two hosts have the same name. */
MUST_CHECK bool setup_sort(struct setup *setup, struct err *err);
struct setup_host *setup_find(const struct setup *setup, const char *name); /* or NULL */

#endif
