/* analyst.h - the analyser of the appliance: its rules and its desk, from the configuration. */
#ifndef APPLIANCE_ANALYST_H
#define APPLIANCE_ANALYST_H

#include "analyzer/record/desk.h"
#include "appliance/config.h"
#include "engine/engine.h"

struct analyst;
/* All borrowed, and outlive it. Bad rules of the site are logged and left out. */
struct analyst_parts {
    const struct config *config;
    const struct hv_host *hosts; /* of the configuration, or a simulated world's */
    size_t n_hosts;
    const struct clock *clock;
    struct store *store;
    struct engine *engine;
};
struct analyst *analyst_new(const struct analyst_parts *parts, struct err *err);
void analyst_free(struct analyst *analyst);
DEFINE_OWNED(analyst)
struct desk *analyst_desk(struct analyst *analyst);
const struct ruleset *analyst_rules(const struct analyst *analyst);

#endif
