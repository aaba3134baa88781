/* visit.h - asks what libvirt does not tell: the certificate of a host's daemon, and what a program
 * on the host sees, its helper or, for the machine that doctor runs on, doctor itself. From there
 * it also tries the way of a migration to every other host: look up the name of the peer URI,
 * connect to the daemon, connect to the last migration port. Nothing is sent and no guest is
 * touched.
 *
 * Why not through libvirt: it has no call that opens another host without a guest, and a migration
 * that is meant to fail takes the guest's job first.
 */
#ifndef CLI_DOCTOR_VISIT_H
#define CLI_DOCTOR_VISIT_H

#include "cli/doctor/diagnose.h"

enum { VISIT_THREADS = 64 }; /* hosts at the same time */

struct visit {
    struct diagnosis
        *diagnoses;   /* n; `host`, `reached` and `facts` are set, the rest is filled in */
    struct way *ways; /* n * n by source and target; NULL: not tried */
    size_t n;
    const char *const *paths; /* shared by all hosts, up to DIAGNOSE_PATHS_MAX */
    size_t n_paths;
    int64_t timeout_ms; /* for all hosts; a call that has begun ends by itself within 5 s */
};
void visit_hosts(struct visit *visit);

#endif
