/* laws.h - what must hold of the engine's pure core, whatever happens to it and in whatever order.
 *
 * A second, much simpler memory of the same history: which questions were asked, what was answered,
 * which steps were recorded. The laws compare the two. They read a host's answer by themselves,
 * not with engine/data/ownership.h.
 */
#ifndef TESTS_FUZZ_LAWS_H
#define TESTS_FUZZ_LAWS_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* Requests end at their bound; what Ferry makes by itself comes on top. */
enum { LAWS_HOSTS = 3, LAWS_GUESTS = 2, LAWS_REQUESTS_MAX = 24, LAWS_JOBS_MAX = 128 };

/* The newest question about one side of a job. */
struct laws_side {
    uint64_t id; /* 0: none was asked by this process */
    bool answered;
    struct hv_observation observation;
};

/* What nothing may change once a job is final, not even a restart. */
struct laws_record {
    enum phase phase;
    enum outcome outcome;
    enum guest_at guest_at;
    enum abort_status abort_status;
    enum mode mode;
    unsigned n_steps;
    int64_t epoch, ended_ms;
    char source[HV_HOST_MAX], target[HV_HOST_MAX], failure_reason[JOB_REASON_MAX];
};

struct laws_job {
    char uid[JOB_UID_MAX], guest[HV_UUID_MAX];
    enum phase phase; /* by the recorded steps */
    int64_t n_steps;
    struct laws_side source, target;
    uint64_t call, abort; /* orders out, 0: none */
    bool abort_asked;     /* once */
    bool backup_out;      /* the order to stop one */
    bool backup_stopped;  /* ... was answered by the host */
    bool final;
    struct laws_record record;
};

struct laws {
    struct laws_job jobs[LAWS_JOBS_MAX];
    unsigned n_jobs;
    bool restarted;
    /* The newest word of a host about a guest, whoever asked. */
    struct hv_observation facts[LAWS_HOSTS][LAWS_GUESTS];
    bool connected[LAWS_HOSTS];
};

const char *laws_host(unsigned i);  /* h1 h2 h3 */
const char *laws_guest(unsigned i); /* uuids */

/* Told before the core is. */
void laws_got_list(struct laws *l, unsigned host, const struct hv_guest_list *list);
void laws_on_observed(struct laws *l, uint64_t id, unsigned host, unsigned guest,
                      const struct hv_observation *observation);
void laws_got_call(struct laws *l, uint64_t id);
void laws_restart(struct laws *l);

/* Looks at what one input made the core ask for, and at everything it holds. */
void laws_check(struct laws *l, struct fleet *f, const struct effect *effects, size_t n);

#endif
