/* fleet_sim.h - the whole appliance below HTTP on the simulator, driven by one thread: the same
 * collector, reconcile, store and shell that serve real hosts. */
#ifndef TESTS_SIM_FLEET_SIM_H
#define TESTS_SIM_FLEET_SIM_H

#include "collector/collector.h"
#include "engine/engine.h"
#include "hypervisor/sim/sim.h"
#include "store/sqlite/sqlite.h"

enum { FLEET_SIM_LIVES_MAX = 64 };

/* One life of the appliance. A crashed one is kept, unconnected and idle, until the end: replies of
 * the simulated hypervisor may still be on their way to it. */
struct fleet_sim_life {
    struct fleet_sim *fs;
    struct store *store; /* the world's, unless it has one of its own */
    struct hv spy;       /* in front of the simulator's: knows who submits */
    struct hv_observe observe;
    struct hv_probe probe;
    struct hv_act act;
    struct hv_permit permit;
    bool is_gone;             /* it ended: it is neither stepped nor told of events */
    int64_t stopped_until_ms; /* it is not stepped until then, as by SIGSTOP */
    struct collector *collector;
    struct recorder *recorder;
    struct engine *engine;
};

struct fleet_sim {
    struct sim *sim;
    struct store *store;
    struct hv_host *hosts;
    bool *connected; /* hosts, as the simulator last said */
    size_t n_hosts;
    struct engine_config engine_config;
    struct collector_config collector_config;
    struct fleet_sim_life lives[FLEET_SIM_LIVES_MAX];
    unsigned n_lives;
    uint64_t random, seed;
    uint64_t finished[OUTCOME_COUNT];
    bool wants_snapshots;
    bool observes;                     /* all hosts are in observe mode; before they are added */
    const struct snapshot *snapshot;   /* newest, if wanted */
    char last_name[SNAPSHOT_NAME_MAX]; /* of a job that took a step not long ago */
    /* Told of every job that ends; may be NULL. */
    void (*on_finished)(struct fleet_sim *fs, const struct snapshot_job *job);
    void (*on_crashed)(struct fleet_sim *fs, const char *job_uid);                    /* or NULL */
    void (*on_judged)(struct fleet_sim *fs, const struct verdict_rows *verdict_rows); /* or NULL */
    /* Told of every publication (wants_snapshots), and asked about every order and question to a
     * host: false loses it, as if the appliance had died before it went out. May be NULL. */
    void (*on_snapshot)(struct fleet_sim *fs, const struct snapshot *snapshot);
    bool (*on_submit)(struct fleet_sim *fs, const struct hv_request *request);
    /* Between any two steps of the engine; may call fleet_sim_crash(). May be NULL. */
    void (*between)(struct fleet_sim *fs);
    struct clock clock; /* the simulator's, its wall clock shifted by ... */
    int64_t wall_shift_ms;
    int64_t commit_patience_ms; /* of the engines of lives that begin from now on */
    uint64_t internal_errors;   /* that the test provokes; any other fails it */
    /* Where several appliances live at once: what a life begins with; NULL: with the world's. */
    void (*equip)(struct fleet_sim *fs, struct fleet_sim_life *life);
    const struct fleet_cells *cells; /* of the engines; NULL: they are alone */
    unsigned speaking;               /* the life that is at work */
    void *ctx;
};

/* Hosts h0..hN-1, guests spread over them; guest i has uuid fleet_sim_uuid(i). */
void fleet_sim_init(struct fleet_sim *fs, uint64_t seed, size_t n_hosts, size_t n_guests,
                    uint64_t guest_bytes);
/* The same in parts, for a world of one's own: an empty one; then sim_add_guest() on fs->sim,
 * hosts, and engine_config; then life begins. */
void fleet_sim_open(struct fleet_sim *fs, uint64_t seed, size_t n_hosts);
void fleet_sim_host(struct fleet_sim *fs, size_t i, struct sim_host *host); /* names it */
void fleet_sim_start(struct fleet_sim *fs);
void fleet_sim_fini(struct fleet_sim *fs);
/* Runs to that virtual time. */
void fleet_sim_run(struct fleet_sim *fs, int64_t until_ms);
/* The appliance dies here and now and a new one starts on the same store. */
void fleet_sim_crash(struct fleet_sim *fs);
/* Another one starts, those that live go on. */
void fleet_sim_join(struct fleet_sim *fs);
void fleet_sim_uuid(size_t guest, char out_uuid[static HV_UUID_MAX]);
uint64_t fleet_sim_dice(struct fleet_sim *fs, uint64_t sides);
/* Asks to migrate; refusals (busy guest, ...) are part of life and not reported. */
void fleet_sim_migrate(struct fleet_sim *fs, size_t guest, size_t target);
struct engine *fleet_sim_engine(struct fleet_sim *fs);
int64_t fleet_sim_now(struct fleet_sim *fs);

#endif
