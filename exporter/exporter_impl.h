/* exporter_impl.h - private part of exporter.h, for exporter.c and the handlers in api_*.c. */
#ifndef EXPORTER_EXPORTER_IMPL_H
#define EXPORTER_EXPORTER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "exporter/api/feed.h"
#include "exporter/api/list_keep.h"
#include "exporter/exporter.h"
#include "exporter/gate/gate.h"
#include "exporter/http/http.h"
#include "exporter/metrics/metrics.h"
#include "exporter/metrics/scrape.h"
#include "exporter/request_log.h"

enum { EXPORTER_VERSION_MAX = 64, EXPORTER_PATH_MAX = 4096, EXPORTER_EVENTS_KNOWN = 2000 };

struct self_sample; /* exporter.c: a copy of struct exporter_self, counted */

/* The lock guards pointers that the engine's thread swaps; no page is rendered under it. */
struct exporter {
    const struct clock *clock;
    struct engine_requests requests;
    struct store *store;
    struct exporter_reload reload;
    struct exporter_logs logs;
    struct exporter_change change;
    char version[EXPORTER_VERSION_MAX];
    bool kubevirt_metrics;
    char query_place[EXPORTER_PATH_MAX];              /* "": none */
    bool is_stored;                                   /* not in memory */
    atomic_bool is_querying, is_rendering_postmortem; /* one at a time */
    struct metrics_counters *counters;
    struct scrape *scrape;
    struct feed *feed;
    struct http *http;
    struct gate *gate;
    struct request_log *request_log;
    struct list_keep *lists; /* snapshots of lists under way */

    pthread_mutex_t lock;
    const struct snapshot *snapshot;
    struct self_sample *self;
    uint64_t self_number;
    bool is_ready;
    char not_ready[SNAPSHOT_REASON_MAX];
};

/* What is shown now, a reference of the caller's; NULL when there is nothing yet. */
const struct versions *exporter_versions(struct exporter *x);
/* Likewise after a change: the change is in it. */
const struct versions *exporter_versions_after(struct exporter *x);

#endif
