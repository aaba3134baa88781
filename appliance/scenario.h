/* scenario.h - a simulated fleet from a YAML file (or the built-in demo), for `serve --simulate`.
 *
 *     hosts:   [{name: ferry-a, memory: 16Gi, cpus: 8, link: 1Gi,          link: bytes per second
 *                labels: {zone: a}, lacksNetwork: lan, lacksMachine: q35, otherCpu: true,
 *                libvirt: 11.3.0, qemu: 10.0.13}]
 *     guests:  [{name: web, host: ferry-a, memory: 2Gi, workingSet: 256Mi, dirtyRate: 32Mi,
 *                vcpus: 2, namespace: default, labels: {app: web}, network: lan, machine: q35,
 *                localDisk: true, hostDevice: true, evictionStrategy: LiveMigrate,
 *                nodeSelector: {zone: a}, tolerations: [..], affinity: {..}}]  dirtyRate: bytes/s
 *     objects: [{kind: MigrationPolicy, name: gentle, spec: {..}},         also ResourceQuota and
 *               {kind: ResourceQuota, namespace: shop, name: q, spec: {..}}]        Namespace
 *     faults:  [{kind: kill-target-qemu, guest: web, afterPassMs: 500}]    or at: MS, host: NAME
 */
#ifndef APPLIANCE_SCENARIO_H
#define APPLIANCE_SCENARIO_H

#include "engine/engine.h"
#include "engine/model/objects/object_kind.h"
#include "hypervisor/sim/sim.h"
#include "store/store.h"

struct yaml;
struct yaml_node;

enum { SCENARIO_HOSTS_MAX = 10000, SCENARIO_OBJECTS_MAX = 1000 };

struct scenario_object {
    enum object_kind kind;
    char ns[HV_HOST_MAX], name[HV_HOST_MAX];
    char *spec_json; /* owned */
};

struct scenario {
    size_t n_hosts;
    struct hv_host *hosts;               /* for the engine; uri "sim://NAME" */
    struct host_settings *host_settings; /* one per host: labels only */
    size_t n_objects;
    struct scenario_object *objects;
};

/* Fills the simulation from a file, "demo" for the built-in one. */
MUST_CHECK bool scenario_load(const char *file, struct sim *sim, struct scenario *out_world,
                              struct err *err);
void scenario_fini(struct scenario *scenario);
/* Writes its objects into the store, replacing those of the same names. Before the engine reads
 * it. */
MUST_CHECK bool scenario_seed(const struct scenario *scenario, struct store *store, int64_t wall_ms,
                              struct err *err);

/* Part of scenario_load(): appends one validated row of `objects:`. */
bool scenario_add_object(const struct yaml *yaml, const struct yaml_node *map,
                         struct scenario *scenario, struct err *err);

#endif
