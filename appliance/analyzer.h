/* analyzer.h - the analyser of the appliance: its rules and its analysis worker, from the
 * configuration. */
#ifndef APPLIANCE_ANALYZER_H
#define APPLIANCE_ANALYZER_H

#include "analyzer/record/analysis.h"
#include "appliance/config.h"
#include "engine/engine.h"

struct analyzer;
/* All borrowed; must outlive it. Bad rules of the site are logged and ignored. */
struct analyzer_parts {
    const struct config *config;
    bool has_logs; /* of QEMU: a simulated host has none */
    const struct clock *clock;
    struct store *store;
    struct engine *engine;
    const struct fleet_cells *cells; /* as in analysis_parts */
};
struct analyzer *analyzer_new(const struct analyzer_parts *parts, struct err *err);
void analyzer_free(struct analyzer *analyzer);
DEFINE_OWNED(analyzer)
/* Where the logs of the configuration's hosts are; any thread. */
MUST_CHECK bool analyzer_set_hosts(struct analyzer *analyzer, const struct config *config,
                                   struct err *err);
struct analysis *analyzer_worker(struct analyzer *analyzer);

#endif
