/* self.h - Ferry's own statistics, collected once a second for the next /metrics page. */
#ifndef APPLIANCE_SELF_H
#define APPLIANCE_SELF_H

#include "analyzer/record/analysis.h"
#include "appliance/cells.h"
#include "collector/collector.h"
#include "engine/engine.h"
#include "exporter/exporter.h"

struct self;
struct self *self_new(struct err *err);
/* The hosts whose lanes are shown; borrowed until the next call. */
MUST_CHECK bool self_set_hosts(struct self *self, const struct hv_host *hosts, size_t n,
                               struct err *err);
void self_free(struct self *self);
DEFINE_OWNED(self)

struct self_parts { /* borrowed for the call */
    struct collector *collector;
    struct engine *engine;
    struct store *store;
    const struct hv *hv;
    struct analysis *analysis;
    struct cells *cells; /* NULL: it is alone on its store */
};
enum { SELF_TURN_AGE_MAX_MS = 10000 }; /* without a turn for longer Ferry is not ready */
/* Collects and publishes the statistics; why Ferry is not ready, a literal, or NULL. */
const char *self_sample(struct self *self, const struct self_parts *parts,
                        struct exporter *exporter);
/* The statistics of the parts, without lanes. Pure. */
void self_fill(const struct collector_stats *collector, const struct engine_stats *engine,
               const struct store_stats *store, const struct analysis_stats *analysis,
               struct exporter_self *out_self);
bool self_is_stuck(struct engine *engine); /* no turn of it has ended for too long */
const char *self_trouble(const struct engine_stats *engine); /* as self_sample. Pure. */

#endif
