/* placement_scan.h - one look over the nodes for one guest: what placement.c and
 * placement_choose.c share. What was found out for one node is kept for the next. */
#ifndef ENGINE_CONTROL_PLACEMENT_SCAN_H
#define ENGINE_CONTROL_PLACEMENT_SCAN_H

#include "engine/control/placement.h"

#define PLACEMENT_HOSTNAME "kubernetes.io/hostname" /* label of every node: its name */

enum { NEAR_VALUES_MAX = 64, NEAR_ARRIVALS_MAX = 64, NEAR_NAMES_MAX = 64 };

/* Where the guests are that one affinity speaks of: values of its topology key. */
struct near_set {
    bool filled, any; /* any: there is such a guest at all */
    bool cut;         /* there are more values than are kept */
    size_t n;
    const char *values[NEAR_VALUES_MAX]; /* borrowed from the nodes' labels */
};
struct arrival { /* promised a place, and not there yet as far as was seen */
    const struct guest *guest;
    const struct node *node;
};
struct placement_scan {
    const struct fleet *f;
    const struct placement *p;
    struct resources resources;
    uint64_t
        suits; /* abilities of this hash have the guest's machine, networks and pools; 0: none */
    char only[PLACEMENT_DETAIL_MAX]; /* "only h7 will do", said of all the others */
    bool names_wanted, names_filled;
    size_t n_names;
    const struct domain *names[NEAR_NAMES_MAX]; /* other guests of its name, and where */
    bool arrivals_filled, arrivals_cut;
    size_t n_arrivals;
    struct near_set near[SETTINGS_AFFINITIES_MAX];
    struct arrival arrivals[NEAR_ARRIVALS_MAX];
};
void placement_scan_begin(struct placement_scan *scan, const struct fleet *f,
                          const struct placement *p);

/* Other guests of its name are looked for once, when a node comes so far, instead of on each: worth
 * it for many nodes. */
void placement_scan_names(struct placement_scan *scan);

/* CHEAP: what the node's own record tells. */
enum scan_part { SCAN_CHEAP = 1, SCAN_COSTLY = 2, SCAN_ALL = 3 };
/* detail NULL: nobody will read it. */
enum reject scan_node(struct placement_scan *scan, const struct node *node, enum scan_part part,
                      char *detail);

/* For look_at: is there a guest that the affinity speaks of where the node is? */
bool near_has(struct placement_scan *scan, size_t affinity, const struct node *node);
/* There is none anywhere, and the guest is one itself: somebody has to be the
 * first, if the node has the label at all. */
bool near_is_first(struct placement_scan *scan, size_t affinity, const struct node *node);

#endif
