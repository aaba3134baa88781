/* placement_scan.h - one scan over the nodes for one guest: what placement.c and
 * placement_choose.c share. Results for one node are kept for the next. */
#ifndef ENGINE_CONTROL_PLACEMENT_SCAN_H
#define ENGINE_CONTROL_PLACEMENT_SCAN_H

#include "engine/control/placement.h"

#define PLACEMENT_HOSTNAME "kubernetes.io/hostname" /* label of every node: its name */

enum { NEAR_VALUES_MAX = 64, NEAR_ARRIVALS_MAX = 64, NEAR_NAMES_MAX = 64 };

/* Where the guests are that one affinity term selects: values of its topology key. */
struct near_set {
    bool filled, any; /* any: some guest matches */
    bool cut;         /* truncated: there are more values than fit */
    size_t n;
    const char *values[NEAR_VALUES_MAX]; /* borrowed from the nodes' labels */
};
struct arrival { /* a reservation of a guest that has not arrived yet */
    const struct guest *guest;
    const struct node *node;
};
struct placement_scan {
    const struct fleet *f;
    const struct placement *p;
    struct resources resources;
    uint64_t matched_hash; /* capabilities with this hash have the guest's machine, networks and
                       pools; 0: none */
    char only[PLACEMENT_DETAIL_MAX]; /* "the request names h7", the detail of all other nodes */
    bool names_wanted, names_filled;
    size_t n_names;
    const struct domain *names[NEAR_NAMES_MAX]; /* other guests with its name, and their nodes */
    bool arrivals_filled, arrivals_cut;
    size_t n_arrivals;
    struct near_set near[SETTINGS_AFFINITIES_MAX];
    struct arrival arrivals[NEAR_ARRIVALS_MAX];
};
void placement_scan_begin(struct placement_scan *scan, const struct fleet *f,
                          const struct placement *p);

/* Searches other guests with the same name once per scan instead of once per node: faster with
 * many nodes. */
void placement_scan_names(struct placement_scan *scan);

/* CHEAP: checks of the node's own record. */
enum scan_part { SCAN_CHEAP = 1, SCAN_COSTLY = 2, SCAN_ALL = 3 };
/* detail NULL: not wanted. */
enum reject scan_node(struct placement_scan *scan, const struct node *node, enum scan_part part,
                      char *detail);

/* Is a guest that the affinity term selects in the node's topology domain? */
bool near_has(struct placement_scan *scan, size_t affinity, const struct node *node);
/* No guest matches, and the guest itself does: the first guest may go to any node with the
 * label. */
bool near_is_first(struct placement_scan *scan, size_t affinity, const struct node *node);

#endif
