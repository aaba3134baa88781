/* world.h - the world of one case: the pure core, a store in memory, and hosts that answer what the
 * case says. No threads, no clock: time moves in steps of 100 ms and is told from the beginning.
 *
 * As the shell of the engine does: what a turn recorded is committed first, then its questions are
 * answered and its orders noted. An order stays out until the case says what came back; only those
 * that set downtime or speed are accepted at once.
 *
 * Everything that can be decided goes into `out` (report.h).
 */
#ifndef TESTS_DECISIONS_WORLD_H
#define TESTS_DECISIONS_WORLD_H

#include "base/text.h"
#include "base/yaml.h"
#include "engine/core/reconcile.h"
#include "engine/model/definition/volumes.h"

enum {
    WORLD_HOSTS_MAX = 8,
    WORLD_GUESTS_MAX = 24,
    WORLD_ORDERS_MAX = 256,
    WORLD_ASKED_MAX = 128,
    WORLD_STEP_MS = 100,
    WORLD_BEGIN_MS = 1000, /* monotonic */
    WORLD_TEXT_MAX = 1024,
};

struct world_host {
    struct hv_host is;
    struct hv_facts facts;
    const struct yaml_node *node; /* as in the case: its capabilities are made from it */
    bool connected;
    int comparison;                      /* of CPUs, libvirt's number */
    bool cannot_compare, loses_question; /* about a CPU */
    enum hv_path path;                   /* what its helper finds */
};

struct world_guest {
    struct hv_guest is; /* owns its texts */
    char home[HV_HOST_MAX], target[HV_HOST_MAX];
    const char *xml, *stored_xml; /* borrowed from the case; NULL: not read */
    unsigned snapshots;
    bool moves;             /* a migration of it is at work on the hosts */
    int job;                /* enum hv_job_operation that its host shows; -1: as `moves` says */
    struct volume_facts at; /* what hosts say about the places of its disks */
    uint64_t sent;          /* bytes of its migration so far */
    enum hv_migration_status stream; /* what its QEMU says; UNKNOWN: as `moves` says */
    bool monitor_hangs;              /* its QEMU says nothing */
    int64_t downtime_ms;             /* in the statistics that its target kept; 0: none */
    struct {
        char host[HV_HOST_MAX];
        struct hv_observation is;
    } seen[WORLD_HOSTS_MAX]; /* what the case says, over what follows from the rest */
    size_t n_seen;
};

struct world_order {
    uint64_t id; /* 0: answered */
    enum hv_call call;
    char host[HV_HOST_MAX], guest[HV_UUID_MAX];
};

struct world {
    struct yaml *yaml; /* owned: the case */
    struct fleet *fleet;
    struct store *store;
    struct effects fx;
    size_t shown, asked; /* of fx: printed; looked through for questions while commits fail */
    struct moment now;
    int64_t headed_ms; /* the time that was printed last; -1: none */
    bool store_fails;
    unsigned starts, n_migrations;
    size_t n_hosts, n_guests, n_orders, n_asked;
    struct world_host hosts[WORLD_HOSTS_MAX];
    struct world_guest guests[WORLD_GUESTS_MAX];
    struct world_order orders[WORLD_ORDERS_MAX];
    const char *shared_paths[4], *shared_pools[4];
    size_t n_shared_paths, n_shared_pools;
    struct {
        char question[160], answer[160];
    } answers[WORLD_ASKED_MAX]; /* as printed last: only news is printed */
    struct {
        char uid[JOB_UID_MAX], text[WORLD_TEXT_MAX];
    } waits[WORLD_GUESTS_MAX]; /* what jobs wait for, as printed last */
    size_t n_waits;
    struct buf out;
};

#define WORLD_WALL_MS INT64_C(1700000000000)

void world_free(struct world *w);
DEFINE_OWNED(world)

struct world_host *world_host(struct world *w, const char *name);         /* or NULL */
struct world_guest *world_guest(struct world *w, const char *name);       /* or NULL */
struct world_guest *world_guest_by_uuid(struct world *w, const char *id); /* or NULL */
struct hv_observation world_observation(struct world *w, const struct world_guest *guest,
                                        const char *host);

/* One input; false: a request was refused, and err says why. */
bool world_feed(struct world *w, struct input *input, struct migration_ref *out_ref,
                struct err *err);
/* Commits, answers and notes until nothing is left to do at this moment. */
void world_settle(struct world *w);
void world_iteration(struct world *w, int64_t until_ms); /* since the beginning */
int64_t world_elapsed_ms(const struct world *w);

/* The host connects and says all about itself and its guests; or is lost: hv_code says how. */
bool world_connect(struct world *w, struct world_host *host, struct err *err);
void world_lose(struct world *w, struct world_host *host, int hv_code);
void world_list(struct world *w, const struct world_host *host);
bool world_define(struct world *w, const struct world_guest *guest, struct err *err);

/* The process ends; the next one reads what was stored. */
bool world_restart(struct world *w, int64_t away_ms, struct err *err);
/* As the shell does after an internal error about a job: engine/rollback.c. */
bool world_roll_back(struct world *w, struct err *err);
/* The ledger agrees with a recount and no job contradicts itself. */
bool world_is_lawful(struct world *w, struct err *err);

#endif
