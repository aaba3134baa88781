/* placement.h - which node can take a guest, and why the others cannot. Pure functions over what
 * is known; what is not known does not reject, preparation asks it (CPU) or libvirt has the last
 * word. */
#ifndef ENGINE_CONTROL_PLACEMENT_H
#define ENGINE_CONTROL_PLACEMENT_H

#include "engine/control/placement_types.h"
#include "engine/model/fleet.h"

/* What is asked of a node; made once per job and look. */
struct placement {
    const struct guest *guest;
    const struct node *source;
    const struct needs *needs;       /* NULL: not known */
    const struct settings *settings; /* NULL: asks for nothing */
    const struct labels *added;      /* the job's addedNodeSelector; NULL: none */
    const char *wanted;              /* "" or the only node that will do */
    const struct job *job;           /* whose own reservation does not count; may be NULL */
    bool encrypted;                  /* requireTLS: only between hosts that have it */
    uint64_t bandwidth;              /* bytes per second it will be promised; 0: no limit set */
    /* Nodes whose preparation failed a moment ago; whoever places again and again fills it. */
    const char (*failed)[HV_HOST_MAX];
    size_t n_failed;
};
/* Everything above from a job whose guest is seen somewhere. job NULL: as if one asked now. */
void placement_of(const struct fleet *f, const struct guest *guest, const struct job *job,
                  struct placement *out_placement);

/* REJECT_NONE when the node would do; else why not and, in words, what is missing, if there is
 * room of PLACEMENT_DETAIL_MAX for that (or NULL). The CPU is judged by what is cached only. */
enum reject placement_check(const struct fleet *f, const struct placement *p,
                            const struct node *node, char *out_detail);
/* Higher is better: few arrivals, much memory left, a path with a good record. */
double placement_score(const struct fleet *f, const struct placement *p, const struct node *node);

/* The best node, or NULL; then every node is in *out (may be NULL). Deterministic. Looks at the
 * nodes with the fewest arrivals first and stops after PLACEMENT_LOOKS that may fit: what costs
 * time to ask is asked of the best of them first. */
struct node *placement_choose(const struct fleet *f, const struct placement *p,
                              struct rejections *out);
/* All nodes, for `ferry check` and for a job that cannot be placed; *out_fits counts those that
 * would do (they are counted as REJECT_NONE and not listed). at_ms is the caller's to set. */
void placement_explain(const struct fleet *f, const struct placement *p, struct rejections *out,
                       size_t *out_fits);
/* What that node said, if it was kept; else NULL. */
const struct rejection *rejections_find(const struct rejections *r, const struct node *node);
/* The node's name in short: many are looked through for one. */
uint16_t rejections_tag(const struct node *node);
bool rejections_all_for_ever(const struct rejections *r);
/* "0/3 nodes are available: 1 cordoned, 1 memory, 1 source-node." as Kubernetes says it. */
void rejections_text(const struct rejections *r, char *out_text, size_t bytes);

/* ---- the CPU, as preparation learned it ---- */
enum cpu_fit { CPU_FIT_UNKNOWN, CPU_FIT_YES, CPU_FIT_NO };
enum cpu_fit placement_cpu(const struct fleet *f, uint64_t cpu_hash, const char *node);
void placement_learn_cpu(struct fleet *f, uint64_t cpu_hash, const char *node, enum cpu_fit fit);
/* The node's capabilities changed: what was learned about it is void. */
void placement_forget_cpu(struct fleet *f, const char *node);
void placement_free_cpus(struct fleet *f); /* everything that was learned */

#endif
