/* appliance.h - what `ferry serve` runs: store, hypervisor, collector, engine, analyser and
 * exporter, put together.
 *
 * SIGTERM and SIGINT stop in order; running migrations are left alone, libvirt goes on with them
 * and the next start adopts them. SIGHUP reads the configuration again and says what it would
 * need a restart for; a bad file changes nothing.
 *
 * Threads: every call on the main thread, before any other thread of the process is started.
 * One appliance in a process: it blocks signals and sets up the log.
 */
#ifndef APPLIANCE_APPLIANCE_H
#define APPLIANCE_APPLIANCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"

struct appliance_options { /* borrowed as long as the appliance lives */
    const char *config_file;
    const char *state, *listen; /* over what the file says; NULL: the file's */
    const char *simulate;       /* a world file or "demo"; NULL: libvirt */
    bool config_given;          /* a simulation reads a file only when it was named */
    bool kubevirt_metrics;      /* /metrics under KubeVirt's names too */
};

struct appliance;
struct appliance *appliance_new(struct err *err); /* NULL: no memory */
/* Opens every part and starts the threads; false with *err set when one refuses. */
MUST_CHECK bool appliance_start(struct appliance *a, const struct appliance_options *options,
                                struct err *err);
/* After appliance_start() failed: is the configuration or the world file to blame? */
bool appliance_is_file_bad(const struct appliance *a);
/* Until a signal asks for the end; then stops in order. */
void appliance_run(struct appliance *a);
void appliance_free(struct appliance *a); /* NULL is fine; also after a start that failed */
DEFINE_OWNED(appliance)

#endif
