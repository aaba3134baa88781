/* self.h - Ferry's numbers about itself, gathered once a second for the next /metrics page. */
#ifndef CLI_SELF_H
#define CLI_SELF_H

#include "collector/collector.h"
#include "engine/engine.h"
#include "exporter/exporter.h"

struct self;
struct self *self_new(const struct hv_host *hosts, size_t n, struct err *err); /* hosts borrowed */
void self_free(struct self *self);
DEFINE_OWNED(self)

struct self_parts { /* borrowed for the call */
    struct collector *collector;
    struct engine *engine;
    struct store *store;
    struct recorder *recorder;
    const struct hv *hv;
};
/* Gathers and hands over; true while the store commits. */
bool self_sample(struct self *self, const struct self_parts *parts, struct exporter *exporter);

#endif
