/* diagnose.h - checks of hosts and pairs of hosts for migration. Pure: doctor.c and visit.c collect
 * the facts, this file evaluates them.
 *
 * OK and FAILED are certain. What was not tried is UNCHECKED, whatever else is known: a result that
 * was not seen is never OK.
 */
#ifndef CLI_DOCTOR_DIAGNOSE_H
#define CLI_DOCTOR_DIAGNOSE_H

#include "cli/doctor/hook.h"
#include "hypervisor/hostd/client.h"
#include "hypervisor/types.h"

enum { DIAGNOSE_TEXT_MAX = 512, DIAGNOSE_PATHS_MAX = 8 };
/* A certificate with less than this is noted; a clock further away too. */
enum { DIAGNOSE_END_DAYS = 14, DIAGNOSE_CLOCK_MS = 2000 };

enum result {
#define RESULT(id, name, mark, help) RESULT_##id,
#include "cli/doctor/checks.def"
#undef RESULT
    RESULT_COUNT
};
const char *result_name(enum result result);
const char *result_mark(enum result result); /* one character */

enum port_state { PORT_NOT_ASKED, PORT_NO_ADDRESS, PORT_ANSWERS, PORT_SILENT, PORT_NO_TIME };

struct certificate_seen {
    bool asked;
    int64_t end_s; /* when err is empty */
    struct err err;
};

struct path_seen { /* a directory of storage.sharedPaths */
    const char *path;
    bool asked;
    char identity[HV_TEXT_MAX]; /* when err is empty */
    struct err err;
};

struct diagnosis { /* what is known about one host */
    const struct hv_host *host;
    bool reached;
    struct err err; /* when not reached */
    struct hv_facts facts;
    enum port_state tls_port;
    enum hook_state hook;
    bool helper_asked;
    struct err helper_err;          /* when asked: its failure, if any */
    bool facts_known;               /* seen.at, clock_off_ms */
    struct hostd_facts seen;        /* by a program on the host */
    int64_t clock_off_ms;           /* its clock minus ours */
    int64_t clock_doubt_ms;         /* plus or minus: the time the question took */
    struct certificate_seen server; /* of its daemon, from here */
    char peer_ip[HV_TEXT_MAX];      /* address of its peer URI's host here; empty: it has none */
    size_t n_paths;
    struct path_seen paths[DIAGNOSE_PATHS_MAX];
    int64_t now_s;
};

/* One part of the way from a source to a target, tried on the source. */
enum way_step {
    WAY_NOT_TRIED,
    WAY_OPEN,    /* connected; to a memory port: or refused, which proves the path */
    WAY_NO_NAME, /* does not resolve on the source */
    WAY_REFUSED, /* nobody listens */
    WAY_DEAD,    /* no answer */
    WAY_COUNT
};
struct way {
    enum way_step daemon, memory;
    char daemon_at[HV_URI_MAX], memory_at[HV_URI_MAX]; /* "h2.example:16514" */
    char why[HV_URI_MAX];                              /* it was not tried */
};

/* virCPUCompareResult, and one more: there was no answer. */
enum cpu_answer { CPU_INCOMPATIBLE = 0, CPU_IDENTICAL = 1, CPU_SUPERSET = 2, CPU_NOT_ASKED = -2 };

struct pair_facts {
    int cpu;             /* result of comparing the CPU of the source's guests on the target */
    const char *cpu_why; /* the error when that failed, or "" */
    struct way way;
};

/* Hosts and pairs with the same result and text are one group of the report; `detail` is what
 * differs inside a group: names, addresses. */
struct check {
    const char *name;
    enum result result;
    char text[DIAGNOSE_TEXT_MAX];
    char detail[DIAGNOSE_TEXT_MAX];
};

enum {
#define CHECK(id, name, help) CHECK_##id,
#include "cli/doctor/checks.def"
#undef CHECK
    CHECK_COUNT
};
/* Checks of diagnoses[i]; the other hosts are compared with it. */
void diagnose_host(const struct diagnosis *diagnoses, size_t n, size_t i,
                   struct check out_checks[CHECK_COUNT]);

/* Can guests migrate from one host to the other? */
void diagnose_pair(const struct diagnosis *from, const struct diagnosis *to,
                   const struct pair_facts *facts, struct check *out_check);

/* Parts of a libvirt URI. out_host holds HV_TEXT_MAX; empty for a local URI. */
void diagnose_uri(const char *uri, char *out_host, bool *out_tls, bool *out_system);
/* The port of the daemon that a remote URI leads to. */
unsigned diagnose_uri_port(const char *uri);
/* How the other hosts' daemons reach this one. */
const char *diagnose_peer_uri(const struct hv_host *host);
/* The CPU a guest gets as host-model, from domain capabilities, as a <cpu> element, malloc'ed; NULL
 * when there is none. This CPU is compared, because the host's own CPU has features that no guest
 * gets. */
char *diagnose_guest_cpu(const char *domain_capabilities);

#endif
