/* wild_acts.c - what happens to a wild fleet: requests, documents, drains, evictions, faults,
 * failing disks, crashes. Whether it makes sense is for Ferry to find out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/sim/wild_fleet.h"

static struct engine *engine(struct wild_fleet *w)
{
    return fleet_sim_engine(&w->fs);
}

static void tell(struct wild_fleet *w, const char *what, const char *who, const char *how)
{
    if (w->traces)
        print_message("%10lld %s %s %s\n", (long long)fleet_sim_now(&w->fs), what, who,
                      how != NULL ? how : "");
}

static struct sim_guest *some_guest(struct wild_fleet *w)
{
    return &w->guests[wild_dice(w, w->n_guests)];
}

static const char *some_host(struct wild_fleet *w)
{
    return w->fs.hosts[wild_dice(w, w->fs.n_hosts)].name;
}

/* ---- migrations ---- */

static void migrate(struct wild_fleet *w)
{
    static const char *const classes[] = {"", "system-critical", "user-triggered",
                                          "system-maintenance", "none"};
    static const char *const selectors[] = {"{\"zone\":\"a\"}", "{\"disk\":\"ssd\"}",
                                            "{\"zone\":\"c\"}",
                                            "{\"kubernetes.io/hostname\":\"h1\"}"};
    const struct sim_guest *guest = some_guest(w);
    struct migration_request request = {.requester = "somebody"};
    struct err err = {0};
    TEXT_SET(request.ns, guest->ns);
    TEXT_SET(request.guest_name, guest->name);
    (void)snprintf(request.name, sizeof request.name, "m%u", w->asked++);
    TEXT_SET(request.priority, classes[wild_dice(w, COUNT(classes))]);
    if (wild_chance(w, 40))
        TEXT_SET(request.target, some_host(w));
    if (wild_chance(w, 15))
        request.selector_json = selectors[wild_dice(w, COUNT(selectors))];
    if (wild_chance(w, 15))
        request.bandwidth_mibs = 16 + wild_dice(w, 300);
    if (guest->local_disk && wild_chance(w, 90))
        request.volumes_json =
            "[{\"name\":\"vda\",\"destination\":{\"path\":\"/srv/default/moved.img\"}}]";
    if (wild_chance(w, 10))
        request.metadata_json =
            "{\"annotations\":{\"kubevirt.io/migrationUnschedulablePodTimeoutSeconds\":\"20\","
            "\"kubevirt.io/migrationPendingPodTimeoutSeconds\":\"30\"}}";
    tell(w, "migrate", guest->name, request.target);
    assert_true(engine_post_create(engine(w), &request, &err));
}

static void migrate_many(struct wild_fleet *w)
{
    for (uint64_t n = 2 + wild_dice(w, 8); n > 0; n--)
        migrate(w);
}

/* One of those asked for lately, or one that Ferry made itself. */
static void cancel(struct wild_fleet *w)
{
    const struct snapshot *now = w->fs.snapshot;
    struct err err = {0};
    if (now == NULL || now->n_jobs == 0)
        return;
    const struct snapshot_job *job = now->jobs[wild_dice(w, now->n_jobs)];
    for (size_t i = 0; i < now->n_jobs && wild_chance(w, 80); i++)
        if (!phase_is_final(now->jobs[i]->phase))
            job = now->jobs[i];
    tell(w, "cancel", job->name, NULL);
    assert_true(
        engine_post_cancel(engine(w), job->ns, job->name, "somebody", wild_chance(w, 40), &err));
}

/* ---- documents ---- */

static void put(struct wild_fleet *w, enum object_kind kind, const char *ns, const char *name,
                const char *spec)
{
    struct object_request request = {.kind = kind, .requester = "somebody", .spec_json = spec};
    struct err err = {0};
    TEXT_SET(request.ns, ns);
    TEXT_SET(request.name, name);
    tell(w, "put", name, spec);
    lawbook_document(w->book, kind, ns, name);
    if (kind == OBJECT_NODE || kind == OBJECT_DRAIN)
        lawbook_unmarks(w->book, NULL);
    assert_true(engine_post_put(engine(w), &request, &err));
}

static void put_node(struct wild_fleet *w)
{
    static const char *const specs[] = {
        "{\"unschedulable\":true}",
        "{\"unschedulable\":false}",
        "{\"unschedulable\":false}",
        "{\"labels\":{\"zone\":\"a\"}}",
        "{\"labels\":{\"zone\":\"c\",\"disk\":\"ssd\"}}",
        "{\"taints\":[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]}",
        "{\"taints\":[{\"key\":\"x\",\"effect\":\"PreferNoSchedule\"}]}",
        "{\"taints\":[]}",
    };
    put(w, OBJECT_NODE, "", some_host(w), specs[wild_dice(w, COUNT(specs))]);
}

static void put_quota(struct wild_fleet *w)
{
    static const char *const namespaces[] = {"default", "prod", "dev"};
    char spec[128];
    const char *ns = namespaces[wild_dice(w, COUNT(namespaces))];
    unsigned long long guests = 0, mib = 0, cpus = 0, room = 1 + wild_dice(w, 4);
    for (size_t i = 0; i < w->n_guests; i++)
        if (strcmp(w->guests[i].ns, ns) == 0) {
            guests++;
            mib += w->guests[i].memory_bytes >> 20;
            cpus += w->guests[i].vcpus;
        }
    if (wild_chance(w, 40))
        (void)snprintf(spec, sizeof spec, "{\"hard\":{\"launchers\":%llu}}", guests + room);
    else if (wild_chance(w, 50))
        (void)snprintf(spec, sizeof spec, "{\"hard\":{\"memory\":\"%lluMi\"}}", mib + room * 2048);
    else
        (void)snprintf(spec, sizeof spec, "{\"hard\":{\"cpu\":%llu,\"launchers\":%llu}}",
                       cpus + room, guests + room);
    put(w, OBJECT_QUOTA, ns, wild_chance(w, 80) ? "q" : "q2", spec);
}

static void put_policy(struct wild_fleet *w)
{
    char spec[256], name[WILD_NAME_MAX];
    (void)snprintf(spec, sizeof spec,
                   "{\"selectors\":{\"virtualMachineInstanceSelector\":{\"app\":\"%c\"}},"
                   "\"bandwidthPerMigration\":\"%lluMi\",\"allowPostCopy\":%s}",
                   (char)('w' + (int)wild_dice(w, 4)), (unsigned long long)(16 + wild_dice(w, 200)),
                   wild_chance(w, 50) ? "true" : "false");
    (void)snprintf(name, sizeof name, "p%llu", (unsigned long long)wild_dice(w, 3));
    put(w, OBJECT_POLICY, "", name, spec);
}

static void put_guest(struct wild_fleet *w)
{
    static const char *const specs[] = {
        "{\"evictionStrategy\":\"LiveMigrate\"}", "{\"evictionStrategy\":\"None\"}",
        "{\"nodeSelector\":{\"zone\":\"a\"}}",
        "{\"labels\":{\"app\":\"x\"},\"tolerations\":[{\"operator\":\"Exists\"}]}", "{}"};
    const struct sim_guest *guest = some_guest(w);
    put(w, OBJECT_GUEST, guest->ns, guest->name, specs[wild_dice(w, COUNT(specs))]);
}

static void put_namespace(struct wild_fleet *w)
{
    put(w, OBJECT_NAMESPACE, "", "prod",
        wild_chance(w, 50) ? "{\"labels\":{\"env\":\"prod\"}}" : "{\"labels\":{}}");
}

static void put_something(struct wild_fleet *w)
{
    uint64_t dice = wild_dice(w, 100);
    if (dice < 45)
        put_node(w);
    else if (dice < 65)
        put_quota(w);
    else if (dice < 80)
        put_policy(w);
    else if (dice < 95)
        put_guest(w);
    else
        put_namespace(w);
}

/* A document that is there; drains have an act of their own. */
static void remove_something(struct wild_fleet *w, bool drain)
{
    const struct snapshot *now = w->fs.snapshot;
    struct err err = {0};
    if (now == NULL || now->n_objects == 0)
        return;
    size_t at = wild_dice(w, now->n_objects);
    for (size_t i = 0; i < now->n_objects; i++) {
        const struct snapshot_object *object = now->objects[(at + i) % now->n_objects];
        if ((object->kind == OBJECT_DRAIN) != drain)
            continue;
        struct object_ref ref = {.kind = object->kind, .requester = "somebody"};
        TEXT_SET(ref.ns, object->ns);
        TEXT_SET(ref.name, object->name);
        tell(w, "remove", object->name, object_kind_name(object->kind));
        lawbook_document(w->book, object->kind, object->ns, object->name);
        lawbook_unmarks(w->book, NULL);
        assert_true(engine_post_remove(engine(w), &ref, &err));
        return;
    }
}

/* ---- drains and evictions ---- */

static void drain(struct wild_fleet *w)
{
    char name[WILD_NAME_MAX], deadline[48] = "", spec[192];
    (void)snprintf(name, sizeof name, "d%u", w->drains++);
    if (wild_chance(w, 60))
        (void)snprintf(deadline, sizeof deadline, "\"deadlineSeconds\":%llu,",
                       (unsigned long long)(10 + wild_dice(w, 2000)));
    (void)snprintf(spec, sizeof spec,
                   "{\"nodeName\":\"%s\",%s\"retryBudget\":%llu,\"shutdown\":%s}", some_host(w),
                   deadline, (unsigned long long)(1 + wild_dice(w, 3)),
                   wild_chance(w, 25) ? "true" : "false");
    put(w, OBJECT_DRAIN, "", name, spec);
}

static void evict(struct wild_fleet *w)
{
    const struct snapshot *now = w->fs.snapshot;
    struct err err = {0};
    if (now == NULL || now->n_guests == 0)
        return;
    const struct snapshot_guest *guest = &now->guests[wild_dice(w, now->n_guests)];
    struct eviction_request request = {.requester = "somebody",
                                       .descheduler = wild_chance(w, 30),
                                       .allow_shutdown = wild_chance(w, 25),
                                       .cancel = wild_chance(w, 25)};
    TEXT_SET(request.ns, guest->ns);
    TEXT_SET(request.pod, request.cancel ? guest->name : guest->pod);
    tell(w, "evict", guest->name, request.cancel ? "no more" : "");
    if (request.cancel)
        lawbook_unmarks(w->book, guest->uuid);
    else if (request.allow_shutdown)
        lawbook_may_shut_down(w->book, guest->uuid);
    assert_true(engine_post_evict(engine(w), &request, &err));
}

/* ---- the world ---- */

static void edit_guest(struct wild_fleet *w)
{
    struct sim_guest *guest = some_guest(w);
    struct err err = {0};
    switch (wild_dice(w, 5)) {
    case 0: guest->block_job = !guest->block_job; break;
    case 1: guest->utility_disk = !guest->utility_disk; break;
    case 2: TEXT_SET(guest->network, guest->network[0] != '\0' ? "" : "default"); break;
    case 3: guest->host_device = !guest->host_device; break;
    default: TEXT_SET(guest->network, "storage"); break;
    }
    tell(w, "edit", guest->name, guest->network);
    if (!sim_set_guest(w->fs.sim, guest, (enum sim_which)wild_dice(w, 3), &err))
        assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void edit_host(struct wild_fleet *w)
{
    size_t i = wild_dice(w, w->fs.n_hosts);
    struct sim_host *host = &w->hosts[i];
    struct err err = {0};
    if (wild_chance(w, 50))
        host->memory_kib = host->memory_kib + wild_dice(w, 6 << 20) - (2 << 20);
    else
        TEXT_SET(host->lacks_network, host->lacks_network[0] != '\0' ? "" : "prod");
    tell(w, "edit", host->name, host->lacks_network);
    assert_true(sim_set_host(w->fs.sim, host, &err));
}

/* One that moves, in post-copy if there is one. */
static const char *some_moving_guest(struct wild_fleet *w)
{
    const struct snapshot *now = w->fs.snapshot;
    const char *uuid = NULL;
    bool postcopy = false;
    for (size_t i = 0; now != NULL && i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (job->phase != PHASE_RUNNING || (postcopy && job->mode != MODE_POSTCOPY))
            continue;
        if (uuid == NULL || (!postcopy && job->mode == MODE_POSTCOPY) || wild_chance(w, 50))
            uuid = job->guest_uuid;
        postcopy = postcopy || job->mode == MODE_POSTCOPY;
    }
    return uuid != NULL ? uuid : some_guest(w)->uuid;
}

static void throw(struct wild_fleet * w, struct sim_fault *fault)
{
    struct err err = {0};
    bool kills = fault->kind == SIM_FAULT_KILL_SOURCE_QEMU ||
                 fault->kind == SIM_FAULT_KILL_TARGET_QEMU ||
                 fault->kind == SIM_FAULT_GUEST_POWEROFF;
    tell(w, "fault", sim_fault_name(fault->kind), fault->guest);
    if (!sim_add_fault(w->fs.sim, fault, &err))
        assert_true(err.code == ERR_INVALID || err.code == ERR_NOT_FOUND);
    else if (kills)
        lawbook_may_die(w->book, fault->guest);
}

/* The stream of a running migration breaks or stalls, or its host becomes unreachable. */
static void stream_fault(struct wild_fleet *w)
{
    static const enum sim_fault_kind kinds[] = {
        SIM_FAULT_STREAM_RESET,      SIM_FAULT_STREAM_STALL, SIM_FAULT_STREAM_STALL_OUT,
        SIM_FAULT_STREAM_HALF_RESET, SIM_FAULT_STREAM_STALL, SIM_FAULT_KILL_TARGET_QEMU,
        SIM_FAULT_LINK_DOWN,         SIM_FAULT_HOST_LOST,    SIM_FAULT_STOP_LIBVIRTD,
        SIM_FAULT_KILL_LIBVIRTD};
    struct sim_fault fault = {.kind = kinds[wild_dice(w, COUNT(kinds))],
                              .at_ms = fleet_sim_now(&w->fs) + (int64_t)wild_dice(w, 2000),
                              .after_iteration_ms = -1,
                              .duration_ms = 1000 + (int64_t)wild_dice(w, 60000)};
    TEXT_SET(fault.guest, some_moving_guest(w));
    const char *host = sim_guest_host(w->fs.sim, fault.guest);
    bool at_host = fault.kind == SIM_FAULT_LINK_DOWN || fault.kind == SIM_FAULT_HOST_LOST ||
                   fault.kind == SIM_FAULT_STOP_LIBVIRTD || fault.kind == SIM_FAULT_KILL_LIBVIRTD;
    if (at_host) {
        TEXT_SET(fault.host, host != NULL ? host : some_host(w));
        fault.guest[0] = '\0';
    }
    throw(w, &fault);
}

/* An operator asks for another try. */
static void recover(struct wild_fleet *w)
{
    const struct snapshot *now = w->fs.snapshot;
    for (size_t i = 0; now != NULL && i < now->n_jobs; i++) {
        struct resolve_request request = {.requester = "somebody", .kind = RESOLVE_RECOVER};
        struct err err = {0};
        if (!now->jobs[i]->recovering)
            continue;
        TEXT_SET(request.ns, now->jobs[i]->ns);
        TEXT_SET(request.name, now->jobs[i]->name);
        tell(w, "recover", request.name, "");
        assert_true(engine_post_resolve(engine(w), &request, &err));
    }
}

static void fault(struct wild_fleet *w)
{
    struct sim_fault fault = {.kind = (enum sim_fault_kind)wild_dice(w, SIM_FAULT_FINISH_LOST),
                              .at_ms = fleet_sim_now(&w->fs) + (int64_t)wild_dice(w, 5000),
                              .after_iteration_ms = -1,
                              .duration_ms = 1000 + (int64_t)wild_dice(w, 90000)};
    TEXT_SET(fault.host, some_host(w));
    TEXT_SET(fault.guest, some_guest(w)->uuid);
    throw(w, &fault);
}

static void disk_fails(struct wild_fleet *w)
{
    w->fails_until_ms = fleet_sim_now(&w->fs) + (int64_t)wild_dice(w, 20000);
    tell(w, "disk", "fails", "");
}

static void crash(struct wild_fleet *w)
{
    if (w->crash != CRASH_NONE || w->crash_in != 0)
        return;
    w->crash = (enum wild_crash)wild_dice(w, 4);
    w->orders_left = (unsigned)wild_dice(w, 3);
    if (w->crash == CRASH_NONE)
        w->crash_in = 1 + (unsigned)wild_dice(w, 12);
    tell(w, "crash", "", "");
}

void wild_fleet_act(struct wild_fleet *w)
{
    static const struct {
        unsigned weight;
        void (*act)(struct wild_fleet *);
    } acts[] = {
        {30, migrate}, {10, migrate_many}, {8, cancel},    {15, put_something}, {5, drain},
        {6, evict},    {5, edit_guest},    {2, edit_host}, {10, fault},         {3, disk_fails},
        {7, crash},    {14, stream_fault}, {2, recover},
    };
    uint64_t dice = wild_dice(w, 124);
    for (size_t i = 0; i < COUNT(acts); i++) {
        if (dice < acts[i].weight) {
            acts[i].act(w);
            return;
        }
        dice -= acts[i].weight;
    }
    remove_something(w, dice < 3);
}
