/* wiring.h - forwards calls between the parts: collector to engine, engine to exporter and
 * analyser, exporter to engine. The wiring is created first and passed to each part as its sink;
 * later parts are plugged in as they are created, before any thread starts, so that the pointers
 * need no lock. It also counts HTTP requests that wait in the engine: a stop lets them finish and
 * refuses new ones.
 */
#ifndef APPLIANCE_WIRING_H
#define APPLIANCE_WIRING_H

#include <stdatomic.h>

#include "analyzer/record/analysis.h"
#include "engine/engine.h"
#include "exporter/exporter.h"

struct wiring {
    struct collector_sink engine;    /* set by wiring_plug_engine */
    struct engine_requests requests; /* set by wiring_plug_engine */
    struct exporter *exporter;       /* set by wiring_plug_exporter */
    struct analysis *analysis;       /* set by wiring_plug_analysis */
    const struct snapshot *early;    /* published before the exporter was plugged in */
    atomic_bool published, settled, closed;
    atomic_uint waiting; /* requests inside the engine */
};

struct collector_sink wiring_collector_sink(struct wiring *wiring);
struct engine_sink wiring_engine_sink(struct wiring *wiring);
struct engine_requests wiring_requests(struct wiring *wiring);

void wiring_plug_engine(struct wiring *wiring, struct engine *engine);
void wiring_plug_analysis(struct wiring *wiring, struct analysis *analysis);
void wiring_plug_exporter(struct wiring *wiring, struct exporter *exporter);
/* From now on requests are refused with ERR_UNREACHABLE; pending ones continue. Any thread. */
void wiring_close(struct wiring *wiring);
unsigned wiring_waiting(const struct wiring *wiring);
bool wiring_has_settled(const struct wiring *wiring);   /* every host was asked once */
bool wiring_has_published(const struct wiring *wiring); /* the engine has made its first snapshot */
void wiring_fini(struct wiring *wiring);

#endif
