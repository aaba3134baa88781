/* world.h - a simulated fleet from a YAML file (or the built-in demo), for `serve --simulate`.
 *
 *     hosts:  [{name: ferry-a, memory: 16Gi, cpus: 8, link: 1Gi}]         link: bytes per second
 *     guests: [{name: web, host: ferry-a, memory: 2Gi, workingSet: 256Mi, dirtyRate: 32Mi,
 *               vcpus: 2, namespace: default}]                            dirtyRate: bytes/s
 *     faults: [{kind: kill-target-qemu, guest: web, afterPassMs: 500}]    or at: MS, host: NAME
 */
#ifndef CLI_WORLD_H
#define CLI_WORLD_H

#include "hypervisor/sim/sim.h"

enum { WORLD_HOSTS_MAX = 10000 };

struct world {
    size_t n_hosts;
    struct hv_host *hosts; /* as the engine wants them; uri "sim://NAME" */
};

/* Fills the simulation from a file, "demo" for the built-in one. */
MUST_CHECK bool world_load(const char *file, struct sim *sim, struct world *out_world,
                           struct err *err);
void world_fini(struct world *world);

#endif
