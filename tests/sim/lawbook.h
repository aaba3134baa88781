/* lawbook.h - the laws of a fleet, checked from outside.
 *
 * Shares nothing with reconcile: it reads what Ferry publishes, what the store holds, what the
 * world really looks like, which orders went out, and its own notes of what was asked. Limits,
 * memory, quotas and order are counted here a second time, in the dullest way there is.
 *
 * The first law that is broken is kept, with what happened; the rest of the run is not looked at.
 */
#ifndef TESTS_SIM_LAWBOOK_H
#define TESTS_SIM_LAWBOOK_H

#include "engine/snapshot.h"
#include "hypervisor/hv.h"
#include "store/store.h"

enum law {
    LAW_NONE,
    LAW_LIMITS,       /* fleet, outbound, inbound, bandwidth: never exceeded */
    LAW_ONE_JOB,      /* a guest has one unfinished job at most */
    LAW_ONE_PROMISE,  /* no memory, CPU or quota is promised twice */
    LAW_SAYS_WHY,     /* who waits says what for, since when, until when; and it does not move */
    LAW_ENDS,         /* every job and every drain ends, or says what blocks it */
    LAW_ORDER,        /* nobody is overtaken who could have gone himself */
    LAW_NOTHING_LOST, /* jobs, outcomes, documents and marks outlive any crash */
    LAW_GUESTS_LIVE,  /* none runs twice, none is shut down unasked, none dies of Ferry */
    LAW_HALVES,       /* lost or irrecoverable is only what somebody killed */
    LAW_DEFINED,      /* a guest that is defined stays so, wherever it goes */
    LAW_MAY_COME,     /* a target that was chosen was open to the guest */
    LAW_SAME_AGAIN,   /* the same seed does the same */
    LAW_LEASES,       /* of several appliances: shared_fleet.h */
    LAW_COUNT
};

struct lawbook_rules { /* what Ferry was configured with; 0: no limit */
    unsigned fleet, outbound, inbound;
    uint64_t bandwidth;     /* of a node, bytes per second, each way */
    unsigned overcommit;    /* percent; 0: 100 */
    unsigned vcpus_per_cpu; /* 0: 10 */
};
struct lawbook_world { /* how things really are */
    void *ctx;
    const char *(*host_of)(void *ctx, const char *uuid); /* where it is up; NULL: nowhere */
    uint64_t (*violations)(void *ctx);                   /* times a guest ran twice */
    bool (*is_defined)(void *ctx, const char *uuid);     /* where it is up */
    /* How a publication is kept and let go: snapshot_ref() and snapshot_unref(). */
    const struct snapshot *(*keep)(const struct snapshot *);
    void (*drop)(const struct snapshot *);
};

struct lawbook;
struct lawbook *lawbook_new(const struct lawbook_rules *rules, const struct lawbook_world *world,
                            struct store *store);
void lawbook_free(struct lawbook *book);
void lawbook_reads(struct lawbook *book, struct store *store); /* another one from now on */

/* Notes of what there is and what was asked. */
void lawbook_guest(struct lawbook *book, const char *uuid, const char *ns, const char *name,
                   uint64_t memory_kib, unsigned vcpus);
void lawbook_is_defined(struct lawbook *book, const char *uuid);    /* and not only running */
void lawbook_may_shut_down(struct lawbook *book, const char *uuid); /* an eviction said so */
void lawbook_may_die(struct lawbook *book, const char *uuid); /* a fault kills it, or half of it */
void lawbook_document(struct lawbook *book, enum object_kind kind, const char *ns,
                      const char *name);                      /* somebody wrote or removed it */
void lawbook_unmarks(struct lawbook *book, const char *uuid); /* NULL: possibly any guest */

/* What happens. */
void lawbook_see(struct lawbook *book, const struct snapshot *snapshot);
void lawbook_order(struct lawbook *book, const struct hv_request *request);
void lawbook_crashed(struct lawbook *book);
/* Faults ended long ago: whatever was asked before this time must have come to an end. */
void lawbook_close(struct lawbook *book, int64_t asked_before_ms);

/* Breaks a law from outside (LAW_SAME_AGAIN). The first one stays. */
void lawbook_broken(struct lawbook *book, enum law law, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum law lawbook_verdict(const struct lawbook *book, const char **out_text);
/* A digest of everything it saw: equal for equal histories. */
uint64_t lawbook_digest(const struct lawbook *book);
/* How often each law had something to look at; a law that never has proves nothing. */
uint64_t lawbook_checks(const struct lawbook *book, enum law law);

#endif
