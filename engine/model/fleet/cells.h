/* cells.h - whose records a fleet takes from a store that other appliances write to: those of its
 * cells. Pure. */
#ifndef ENGINE_MODEL_FLEET_CELLS_H
#define ENGINE_MODEL_FLEET_CELLS_H

#include <stdbool.h>

#include "hypervisor/types.h"

struct fleet;
enum { FLEET_CELLS_MAX = 64 };
struct fleet_cells {
    bool is_shared; /* false: the store is this fleet's alone */
    size_t n;
    char list[FLEET_CELLS_MAX][HV_HOST_MAX]; /* as in hv_host: empty is the default cell */
};
/* Are records about that cell, or that node, this fleet's? */
bool fleet_has_cell(const struct fleet *f, const char *cell);
bool fleet_is_standby(const struct fleet *f); /* it has no cell */
bool fleet_is_about(struct fleet *f, const char *node);

#endif
