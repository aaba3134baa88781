/* metrics_guests.h - totals of the guests of a snapshot. */
#ifndef EXPORTER_METRICS_METRICS_GUESTS_H
#define EXPORTER_METRICS_METRICS_GUESTS_H

#include "exporter/metrics/metrics.h"

enum {
#define STATE(id, number, name) GUEST_STATE_##id,
#include "hypervisor/state.def"
#undef STATE
    GUEST_STATES_KNOWN,
    GUEST_STATES /* and one for unknown states */
};
const char *guest_state_word(unsigned i); /* name of a column of `states` */

struct guest_totals {
    unsigned *states; /* GUEST_STATES for each node in order, then for guests without an owner */
    unsigned *stuck;  /* likewise: should be migratable and are not */
    size_t movable, fixed, unknown, n_stuck;
    unsigned reasons[UNMOVABLE_COUNT];
};
/* False: no memory. */
bool guest_totals_init(struct guest_totals *totals, const struct snapshot *snapshot);
void guest_totals_fini(struct guest_totals *totals);

/* Its eviction strategy requires a migration, and it is not migratable. */
bool metrics_is_stuck(const struct snapshot_guest *guest);
void metrics_render_stuck(const struct snapshot *snapshot, const struct guest_totals *totals,
                          struct promx_page *page);

#endif
