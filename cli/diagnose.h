/* diagnose.h - checks of hosts and pairs of hosts for migration. Pure: doctor.c collects the facts,
 * this file evaluates them.
 *
 * Three results: OK and FAILED are certain; NOTE is for what is uncertain or not visible through
 * libvirt, and never counts as a failure.
 */
#ifndef CLI_DIAGNOSE_H
#define CLI_DIAGNOSE_H

#include "cli/hook.h"
#include "hypervisor/types.h"

enum { DIAGNOSE_TEXT_MAX = 512 };

enum result { RESULT_OK, RESULT_NOTE, RESULT_FAILED, RESULT_COUNT };
const char *result_name(enum result result); /* ok note failed */

enum port_state { PORT_NOT_ASKED, PORT_NO_ADDRESS, PORT_ANSWERS, PORT_SILENT, PORT_NO_TIME };

struct diagnosis { /* what is known about one host */
    const struct hv_host *host;
    bool reached;
    struct err err; /* when not reached */
    struct hv_facts facts;
    enum port_state tls_port;
    enum hook_state hook;
    bool helper_asked;
    struct err helper_err; /* when asked: its failure, if any */
};

/* virCPUCompareResult, and one more: there was no answer. */
enum cpu_answer { CPU_INCOMPATIBLE = 0, CPU_IDENTICAL = 1, CPU_SUPERSET = 2, CPU_NOT_ASKED = -2 };

struct check {
    const char *name;
    enum result result;
    char text[DIAGNOSE_TEXT_MAX];
};

/* Checks of diagnoses[i], in a fixed order; the other hosts are compared with it by identity. */
enum {
    CHECK_REACHABLE,
    CHECK_IDENTITY,
    CHECK_VERSIONS,
    CHECK_POSTCOPY,
    CHECK_TLS,
    CHECK_CLOCK,
    CHECK_HELPER,
    CHECK_HOOK,
    CHECK_COUNT
};
void diagnose_host(const struct diagnosis *diagnoses, size_t n, size_t i,
                   struct check out_checks[CHECK_COUNT]);

/* Can guests migrate from one host to the other? cpu: the result of comparing the CPU of `from`'s
 * guests on `to`; cpu_why: the error when the comparison failed, or "". */
void diagnose_pair(const struct diagnosis *from, const struct diagnosis *to, int cpu,
                   const char *cpu_why, struct check *out_check);

/* Parts of a libvirt URI. out_host holds HV_TEXT_MAX; empty for a local URI. */
void diagnose_uri(const char *uri, char *out_host, bool *out_tls, bool *out_system);
/* The CPU a guest gets as host-model, from domain capabilities, as a <cpu> element, malloc'ed; NULL
 * when there is none. This CPU is compared, because the host's own CPU has features that no guest
 * gets. */
char *diagnose_guest_cpu(const char *domain_capabilities);

#endif
