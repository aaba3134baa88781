/* exporter_impl.h - the inside of exporter.h, for exporter.c and the handlers in api_*.c. */
#ifndef EXPORTER_EXPORTER_IMPL_H
#define EXPORTER_EXPORTER_IMPL_H

#include <pthread.h>

#include "exporter/exporter.h"
#include "exporter/http.h"
#include "exporter/metrics.h"

enum { EXPORTER_VERSION_MAX = 64 };

struct self_sample; /* exporter.c: a copy of struct exporter_self, counted */

/* Two locks, never held together by a reader for long: `lock` guards pointers that the engine's
 * thread swaps, `page_lock` is held while a page is rendered, which the engine never waits for. */
struct exporter {
    const struct clock *clock;
    struct engine_requests requests;
    struct store *store;
    char version[EXPORTER_VERSION_MAX];
    struct metrics_counters *counters;
    struct http *http;

    pthread_mutex_t lock;
    const struct snapshot *snapshot;
    struct self_sample *self;
    uint64_t self_number;
    bool is_ready;
    char not_ready[SNAPSHOT_REASON_MAX];

    pthread_mutex_t page_lock;
    struct http_page *page;
    bool page_has_snapshot;
    uint64_t page_generation, page_self_number, page_number;
};

/* The newest snapshot, a reference of the caller's; NULL when there is none yet. */
const struct snapshot *exporter_snapshot(struct exporter *x);

#endif
