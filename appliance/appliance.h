/* appliance.h - the process of `ferry serve`: store, hypervisor, collector, engine, analyser and
 * exporter.
 *
 * SIGTERM and SIGINT stop it in order; running migrations continue in libvirt and the next start
 * adopts them. SIGHUP reads the configuration again and logs what requires a restart; a bad file
 * changes nothing.
 *
 * Threads: every call on the main thread, before any other thread of the process is started. One
 * appliance in a process: it blocks signals and sets up the log.
 */
#ifndef APPLIANCE_APPLIANCE_H
#define APPLIANCE_APPLIANCE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/own.h"
#include "exporter/access/access_config.h"

struct appliance_options { /* borrowed as long as the appliance lives */
    const char *config_file;
    const char *state;                     /* overrides the file; NULL: the file's */
    const char *listen[ACCESS_LISTEN_MAX]; /* override the file's; the first NULL: the file's */
    const char *socket, *web_file;         /* likewise; socket "none": none */
    const char *simulate;                  /* a scenario file or "demo"; NULL: libvirt */
    bool config_given;                     /* a simulation reads only a file that was named */
    bool kubevirt_metrics;                 /* /metrics under KubeVirt's names too */
};

struct appliance;
struct appliance *appliance_new(struct err *err); /* NULL: no memory */
/* Opens every part and starts the threads; false with *err set on failure. */
MUST_CHECK bool appliance_start(struct appliance *a, const struct appliance_options *options,
                                struct err *err);
/* After appliance_start() failed: was it the configuration or the scenario file? */
bool appliance_is_file_bad(const struct appliance *a);
/* Runs until SIGTERM or SIGINT, then stops in order. */
void appliance_run(struct appliance *a);
void appliance_free(struct appliance *a); /* NULL is fine; also after a start that failed */
DEFINE_OWNED(appliance)

#endif
