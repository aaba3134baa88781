/* flags.h - from the settings of a migration and the facts of the guest and both hosts to the
 * flags of the migrate call. Pure; the rows are flags.def.
 *
 * Chosen once, at hand-off; the job keeps the port's flags and its settings, and everything else
 * follows from these two: the call, and the texts, also long after the end. A user may pause the
 * guest between hand-off and call; then PAUSED is added and incompatible flags are removed here. */
#ifndef ENGINE_DATA_FLAGS_H
#define ENGINE_DATA_FLAGS_H

#include "engine/model/job/job.h"
#include "hypervisor/types.h"

enum flag {
#define FLAG(id, bit, name, help) FLAG_##id,
#include "engine/data/flags.def"
#undef FLAG
    FLAG_COUNT
};
enum flag_rule {
#define RULE(id, flag, when, other, text) FLAG_RULE_##id,
#include "engine/data/flags.def"
#undef RULE
    FLAG_RULE_COUNT
};
_Static_assert(FLAG_COUNT <= 32 && FLAG_RULE_COUNT <= 32, "sets of them are 32 bits");

/* Bits of stored flags that are no longer used in calls. */
enum { FLAGS_RELAYED = 1 << 14 };

enum flags_disks { FLAGS_DISKS_STAY, FLAGS_DISKS_WHOLE, FLAGS_DISKS_INCREMENTAL };
struct flags_side {
    bool tls;                                    /* TLS is configured for its QEMU */
    unsigned long libvirt_version, qemu_version; /* as in struct hv_facts; 0: not known */
};
struct flags_facts {
    bool persistent; /* it has a persistent definition: stays so */
    bool paused;     /* by its user */
    bool as_defined; /* its persistent definition connects interfaces elsewhere */
    bool vfio;       /* it has a host device */
    enum flags_disks disks;
    struct flags_side source, target;
};

/* Flags, limits and streams; target and volumes of *out_how are unchanged. Never a combination
 * that libvirt or QEMU refuses. */
void flags_choose(const struct migration_config *config, const struct flags_facts *facts,
                  struct hv_migrate *out_how);
/* The same for the call of a job that was handed off, from its stored values. */
void flags_fill(const struct job *job, struct hv_migrate *out_how);
/* Is post-copy both allowed and possible? */
bool flags_allow_postcopy(const struct job *job);

/* For readers. Sets of 1 << enum flag and 1 << enum flag_rule; empty before hand-off. */
uint32_t flags_shown(const struct job *job);
uint32_t flags_left_out(const struct job *job);
const char *flag_name(enum flag flag);      /* "post-copy" */
const char *flag_help(enum flag flag);      /* what it means for the guest */
enum flag flag_from_name(const char *name); /* FLAG_COUNT: there is none */
const char *flag_rule_text(enum flag_rule rule);
/* Both sets in one line: "live, peer-to-peer; post-copy left out: the guest is paused". */
void flags_summary(uint32_t shown, uint32_t left_out, char *out_text, size_t bytes);

#endif
