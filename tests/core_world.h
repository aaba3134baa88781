/* core_world.h - a world for tests of the pure core: no threads, no clock.
 *
 * It begins with two hosts and one guest; a test adds what it needs. The test says what each host
 * answers when it is looked at, whether a job runs on a guest, what a CPU compares to and what the
 * calls return. Time moves in steps of 100 ms.
 *
 * g1 at home on h1 is seen as `source` on h1 and as `target` on h2; every other guest is seen on
 * its host and nowhere else, and a host that is not connected sees nothing.
 */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

#include "engine/core/reconcile.h"
#include "engine/model/definition/volumes.h"
#include "engine/model/fleet/rejection.h"

#define CORE_GUEST "11111111-1111-4111-8111-111111111111"
#define CORE_OTHER "22222222-2222-4222-8222-222222222222"

enum { CORE_HOSTS = 8, CORE_GUESTS = 16 };

struct core_guest {
    struct hv_guest is;
    char host[HV_HOST_MAX];
    int job_type, job_operation; /* what its host says of its job */
    struct guest_facts facts;    /* what its definition says */
    uint64_t migrate_id;         /* call out, 0: none */
};
struct core_host {
    char name[HV_HOST_MAX];
    int comparison;        /* answer to a question about a CPU; 1: the same */
    enum err_code unasked; /* it cannot compare */
    unsigned compares;     /* questions so far */
};

struct core_world {
    struct fleet *fleet;
    struct effects fx;
    size_t played; /* effects already played out */
    struct moment now;
    struct hv_observation source, target;
    int job_type, job_operation; /* what the source says of g1's job */
    uint64_t rest_bytes;         /* what is left to move: core_move.h */
    uint64_t tuned_id;           /* the order about downtime that was answered last */
    bool hides_version;          /* hosts that connect do not say which libvirt they have */
    struct {
        bool observations;        /* answers to looks get lost */
        bool jobs, cpus, volumes; /* answers about these */
        bool stops;               /* answers to the order to end a backup */
        bool paths;               /* what helpers find */
        bool streams;             /* what the source's QEMU says */
    } loses;
    enum hv_path path;             /* what helpers find; UNKNOWN: they do not answer */
    struct hv_migration migration; /* what the source's QEMU says; UNKNOWN: it does not answer */
    struct volume_facts volumes;   /* what hosts say about a job's disks and their places */
    enum err_code volumes_unasked; /* they are unreachable */
    uint64_t migrate_id, abort_id, stop_id;
    unsigned migrates, aborts, watches, unwatches, warnings;
    unsigned observations, compares, shutdowns, backup_stops, removes;
    struct {
        unsigned jobs, volumes, paths, streams;
    } asks;                 /* questions so far */
    struct hv_migrate last; /* the newest migrate call */
    char job[JOB_UID_MAX];
    char event[64]; /* reason of the newest warning */
    struct err err; /* the newest refusal */
    unsigned n_hosts, n_guests;
    struct core_host hosts[CORE_HOSTS];
    struct core_guest guests[CORE_GUESTS];
};

extern const struct hv_observation CORE_RUNS, CORE_ARRIVED, CORE_INCOMING, CORE_SUSPENDED,
    CORE_BROKEN;
extern const struct hv_observation CORE_ABSENT, CORE_BLIND;

struct core_world *core_new(void);    /* h1 and h2 connected, guest g1 on h1 */
struct core_world *core_moving(void); /* ... and its memory moves to h2 */
void core_free(struct core_world *w);
struct fleet_config core_config(void); /* what core_new() begins with: no limits */

void core_feed(struct core_world *w, const struct input *input);
void core_settle(struct core_world *w); /* plays out everything asked for so far */
void core_advance(struct core_world *w, int64_t ms);
void core_connect(struct core_world *w, const char *host, bool connected);
void core_create(struct core_world *w);
void core_cancel(struct core_world *w);
void core_sample(struct core_world *w);
/* The call comes back; ERR_HYPERVISOR: refused by the source, ERR_UNREACHABLE: we lost sight. */
void core_returns(struct core_world *w, enum hv_call call, enum err_code code);
void core_expect(struct core_world *w, enum phase phase, enum outcome outcome, enum guest_at at);
struct job *core_job(struct core_world *w);

/* ---- more hosts and guests ---- */
struct core_host *core_host(struct core_world *w, const char *name);
struct core_guest *core_guest(struct core_world *w, const char *name);
struct node *core_node(struct core_world *w, const char *name);
void core_add_host(struct core_world *w, const char *name); /* connected, listed, empty */
/* Running, in namespace "default"; its host is told. */
struct core_guest *core_add_guest(struct core_world *w, const char *name, const char *host,
                                  uint64_t mib);
void core_add_guests(struct core_world *w, const char *host, unsigned from, unsigned to); /* gN */
void core_list(struct core_world *w, const char *host); /* the host says who is there */
void core_size(struct core_world *w, const char *host, uint64_t mib, unsigned cpus);
void core_define(struct core_world *w, const char *guest); /* its facts are read */
void core_able(struct core_world *w, const char *host, struct hv_capabilities *take_capabilities);
void core_abort_asked(struct core_world *w, const char *guest); /* its job is cancelled */

/* ---- requests; refused: false or NULL, and w->err says why ---- */
struct core_request { /* all may be left out */
    const char *priority, *target, *name, *metadata, *selector, *volumes, *ns;
    uint64_t bandwidth_mibs;
    bool dry_run;
};
struct job *core_ask(struct core_world *w, const char *guest, const struct core_request *request);
bool core_put(struct core_world *w, enum object_kind kind, const char *name, const char *spec);
bool core_remove(struct core_world *w, enum object_kind kind, const char *name);
bool core_evict(struct core_world *w, const struct eviction_request *request);

/* ---- what became of it ---- */
struct job *core_job_of(struct core_world *w, const char *guest); /* unfinished, or the newest */
void core_phase(struct core_world *w, const char *guest, enum phase phase);
/* Pending for that, with "since" and a deadline in the future. */
void core_waits(struct core_world *w, const char *guest, enum pending pending);
void core_fails(struct core_world *w, const char *guest);   /* the call is refused by its host */
void core_arrives(struct core_world *w, const char *guest); /* the call ends and it is there */
/* Events of that reason whose message holds the text (NULL: any). */
unsigned core_count_events(const struct core_world *w, const char *reason, const char *text);
/* No job holds a slot or a reservation, and the ledger agrees with a recount. */
void core_clean(struct core_world *w);
void core_ledger(struct core_world *w); /* the ledger agrees with a recount */

#endif
