/* relay.h - closes the circle of the wiring: the collector is made before the engine that hears
 * it, the engine before the exporter that shows it.
 *
 * The relay is made first, handed to each as its sink, and filled as the later parts appear; all
 * of it before any thread starts, so the pointers need no lock. It also counts HTTP requests
 * that wait in the engine, so that a stop can let them finish and refuse new ones.
 */
#ifndef APPLIANCE_RELAY_H
#define APPLIANCE_RELAY_H

#include <stdatomic.h>

#include "analyzer/record/desk.h"
#include "engine/engine.h"
#include "exporter/exporter.h"

struct relay {
    struct collector_sink engine;    /* filled by relay_plug_engine */
    struct engine_requests requests; /* filled by relay_plug_engine */
    struct exporter *exporter;       /* filled by relay_plug_exporter */
    struct desk *desk;               /* filled by relay_plug_desk */
    const struct snapshot *early;    /* published before the exporter was there */
    atomic_bool published, settled, closed;
    atomic_uint waiting; /* requests inside the engine */
};

struct collector_sink relay_collector_sink(struct relay *relay);
struct engine_sink relay_engine_sink(struct relay *relay);
struct engine_requests relay_requests(struct relay *relay);

void relay_plug_engine(struct relay *relay, struct engine *engine);
void relay_plug_desk(struct relay *relay, struct desk *desk);
void relay_plug_exporter(struct relay *relay, struct exporter *exporter);
/* From now on requests are refused with ERR_UNREACHABLE; those inside go on. Any thread. */
void relay_close(struct relay *relay);
unsigned relay_waiting(const struct relay *relay);
bool relay_has_settled(const struct relay *relay);   /* every host was asked once */
bool relay_has_published(const struct relay *relay); /* the engine has made its first snapshot */
void relay_fini(struct relay *relay);

#endif
