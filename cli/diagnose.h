/* diagnose.h - what the facts of some hosts mean for migrating between them. Pure: doctor.c
 * gathers, this judges, and a test can ask about any pair of hosts.
 *
 * Three results: OK and FAILED are certain; NOTE says what is not certain, or cannot be seen
 * through libvirt, and never counts as a failure.
 */
#ifndef CLI_DIAGNOSE_H
#define CLI_DIAGNOSE_H

#include "hypervisor/types.h"

enum { DIAGNOSE_TEXT_MAX = 512 };

enum result { RESULT_OK, RESULT_NOTE, RESULT_FAILED, RESULT_COUNT };
const char *result_name(enum result result); /* ok note failed */

enum port_state { PORT_NOT_ASKED, PORT_NO_ADDRESS, PORT_ANSWERS, PORT_SILENT, PORT_NO_TIME };

struct patient { /* one host, as far as it could be examined */
    const struct hv_host *host;
    bool reached;
    struct err err; /* why not */
    struct hv_facts facts;
    enum port_state tls_port;
    bool helper_asked;
    struct err helper_err; /* when asked: why it is no use, or nothing */
};

/* virCPUCompareResult, and one more: the question was not answered. */
enum cpu_answer { CPU_INCOMPATIBLE = 0, CPU_IDENTICAL = 1, CPU_SUPERSET = 2, CPU_NOT_ASKED = -2 };

struct check {
    const char *name;
    enum result result;
    char text[DIAGNOSE_TEXT_MAX];
};

/* Checks of patients[i], in a fixed order; the others are there to compare identities. */
enum {
    CHECK_REACHABLE,
    CHECK_IDENTITY,
    CHECK_VERSIONS,
    CHECK_POSTCOPY,
    CHECK_TLS,
    CHECK_CLOCK,
    CHECK_HELPER,
    CHECK_COUNT
};
void diagnose_host(const struct patient *patients, size_t n, size_t i,
                   struct check out_checks[CHECK_COUNT]);

/* Can guests go from one to the other? cpu: what `to` says about the CPU of `from`'s guests;
 * cpu_why: the error when the comparison failed, or "". */
void diagnose_pair(const struct patient *from, const struct patient *to, int cpu,
                   const char *cpu_why, struct check *out_check);

/* Parts of a libvirt URI. out_host holds HV_TEXT_MAX; empty when it is local. */
void diagnose_uri(const char *uri, char *out_host, bool *out_tls, bool *out_system);
/* The CPU a guest gets as host-model, from domain capabilities, as a <cpu> element, malloc'ed;
 * NULL when there is none. It is what migrates: the host's own CPU has features that no
 * hypervisor hands on, so comparing that refuses pairs that work. */
char *diagnose_guest_cpu(const char *domain_capabilities);

#endif
