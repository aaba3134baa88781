/* placement.h - which node can take a guest, and why the others cannot. Pure functions over
 * known facts; an unknown fact does not reject: preparation checks it (CPU), or libvirt does. */
#ifndef ENGINE_CONTROL_PLACEMENT_H
#define ENGINE_CONTROL_PLACEMENT_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/fleet/rejection.h"

enum { PLACEMENT_AVOIDED_MAX = 8 };

/* The input of scheduling for one guest; made once per job and scan. */
struct placement {
    const struct guest *guest;
    const struct node *source;
    const struct host_requirements *requirements; /* NULL: not known */
    const struct settings *settings;              /* NULL: none */
    const struct labels *added;                   /* the job's addedNodeSelector; NULL: none */
    const char *wanted;                           /* "" or the requested target */
    const struct job *job; /* whose own reservation does not count; may be NULL */
    bool encrypted;        /* requireTLS: only hosts with TLS */
    uint64_t bandwidth;    /* bytes per second to reserve; 0: no limit set */
    /* nodes whose preparation failed a moment ago */
    const char (*failed)[HV_HOST_MAX];
    size_t n_failed;
    /* targets of the guest's last migrations, which failed before data moved: the last choice */
    const char *avoided[PLACEMENT_AVOIDED_MAX];
    size_t n_avoided;
};
/* Fills everything above for a job whose guest has an owner. job NULL: as for a new request. */
void placement_of(const struct fleet *f, const struct guest *guest, const struct job *job,
                  struct placement *out_placement);

/* REJECT_NONE when the node can take the guest; else why not, with the detail
 * (PLACEMENT_DETAIL_MAX bytes, or NULL). The CPU is checked against cached results only. */
enum reject placement_check(const struct fleet *f, const struct placement *p,
                            const struct node *node, char *out_detail);
/* Higher is better: few arrivals, much free memory, a path with few failures. */
double placement_score(const struct fleet *f, const struct placement *p, const struct node *node);

/* The best node, or NULL; then *out (may be NULL) has all rejections. Deterministic. Scans nodes
 * with the fewest arrivals first and stops after PLACEMENT_SCANS candidates; expensive checks
 * run on the best candidates first. */
struct node *placement_choose(const struct fleet *f, const struct placement *p,
                              struct rejections *out);
/* All nodes, for `ferry check` and for an unschedulable job; *out_fits counts the nodes that can
 * take the guest (counted as REJECT_NONE, not listed). The caller sets at_ms. */
void placement_explain(const struct fleet *f, const struct placement *p, struct rejections *out,
                       size_t *out_fits);

#endif
