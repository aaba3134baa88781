/* core_world.h - a world for tests of the pure core: two hosts, one guest, no threads, no clock.
 *
 * The test says what each host answers when it is looked at, whether a job runs on the source, and
 * what the calls return. Time moves in steps of 100 ms.
 */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

#include "engine/control/reconcile.h"

#define CORE_GUEST "11111111-1111-4111-8111-111111111111"
#define CORE_OTHER "22222222-2222-4222-8222-222222222222"

struct core_world {
    struct fleet *fleet;
    struct effects fx;
    size_t played; /* effects already played out */
    struct moment now;
    struct hv_sight source, target;
    int job_type, job_operation; /* what the source says of its job */
    bool loses_looks;            /* answers to looks get lost */
    uint64_t migrate_id, abort_id;
    unsigned migrates, aborts, watches, unwatches, warnings;
    char job[JOB_UID_MAX];
    char event[64]; /* reason of the newest warning */
};

extern const struct hv_sight CORE_RUNS, CORE_ARRIVED, CORE_INCOMING, CORE_SUSPENDED, CORE_BROKEN;
extern const struct hv_sight CORE_ABSENT, CORE_BLIND;

struct core_world *core_new(void);    /* h1 and h2 connected, guest g1 on h1 */
struct core_world *core_moving(void); /* ... and its memory moves to h2 */
void core_free(struct core_world *w);

void core_feed(struct core_world *w, const struct input *input);
void core_settle(struct core_world *w); /* plays out everything asked for so far */
void core_pass(struct core_world *w, int64_t ms);
void core_connect(struct core_world *w, const char *host, bool connected);
void core_create(struct core_world *w);
void core_cancel(struct core_world *w);
void core_sample(struct core_world *w);
/* The call comes back; ERR_HYPERVISOR: refused by the source, ERR_UNREACHABLE: we lost sight. */
void core_returns(struct core_world *w, enum hv_call call, enum err_code code);
void core_expect(struct core_world *w, enum phase phase, enum outcome outcome, enum guest_at at);
struct job *core_job(struct core_world *w);

#endif
