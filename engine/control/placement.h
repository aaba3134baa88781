/* placement.h - which node can take a guest, and why the others cannot. Pure functions over what
 * is known; what is not known does not reject, preparation asks it (CPU) or libvirt has the last
 * word. */
#ifndef ENGINE_CONTROL_PLACEMENT_H
#define ENGINE_CONTROL_PLACEMENT_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/fleet/rejection.h"

/* What is asked of a node; made once per job and look. */
struct placement {
    const struct guest *guest;
    const struct node *source;
    const struct host_requirements *requirements; /* NULL: not known */
    const struct settings *settings;              /* NULL: asks for nothing */
    const struct labels *added;                   /* the job's addedNodeSelector; NULL: none */
    const char *wanted;                           /* "" or the only node that will do */
    const struct job *job; /* whose own reservation does not count; may be NULL */
    bool encrypted;        /* requireTLS: only between hosts that have it */
    uint64_t bandwidth;    /* bytes per second it will be promised; 0: no limit set */
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
 * nodes with the fewest arrivals first and stops after PLACEMENT_SCANS that may fit: what costs
 * time to ask is asked of the best of them first. */
struct node *placement_choose(const struct fleet *f, const struct placement *p,
                              struct rejections *out);
/* All nodes, for `ferry check` and for a job that cannot be placed; *out_fits counts those that
 * would do (they are counted as REJECT_NONE and not listed). at_ms is the caller's to set. */
void placement_explain(const struct fleet *f, const struct placement *p, struct rejections *out,
                       size_t *out_fits);

#endif
