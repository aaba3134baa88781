/* cells.h - the cells that this appliance holds, where several share one store.
 *
 * One process, one engine, and a set of cells that is fixed as long as this image of the process
 * runs. Whoever gains a cell, hands one over or loses one stops and runs itself anew (execve: the
 * same process, every thread gone), and the next image opens the store and adopts what it finds
 * exactly as a restart does. That is the simplest that holds the laws: there is no second way in
 * which jobs or hosts enter or leave a running fleet, and one fence names all tenures of a writer.
 * An appliance without a cell is a standby: an engine without hosts.
 *
 * Thread: its own polls the store: it tells that the appliance is alive, renews, takes and gives
 * (engine/lease.h decides). A lease that could not be renewed stops orders by itself, and goes on
 * if nobody took it meanwhile; one that was taken ends this image.
 */
#ifndef APPLIANCE_CELLS_H
#define APPLIANCE_CELLS_H

#include "appliance/config.h"
#include "hypervisor/hv.h"
#include "store/store.h"

struct cells;
/* Reads what an earlier image of this process handed over. */
struct cells *cells_new(const struct config *config, struct err *err);
/* Without what was handed over: takes what is free and may be used at once, through a connection of
 * its own. */
MUST_CHECK bool cells_begin(struct cells *c, const char *place, struct err *err);
void cells_free(struct cells *c); /* NULL is fine */
DEFINE_OWNED(cells)

const char *cells_name(const struct cells *c); /* of the appliance */
/* For the whole life of this image. */
const struct fleet_cells *cells_held(const struct cells *c);
void cells_sharing(const struct cells *c, struct store_sharing *out_sharing);
struct hv_permit cells_permit(struct cells *c);
/* May clients change objects here (struct exporter_change)? False: this appliance is a standby; err
 * says who holds the cells, as the store said last. cells NULL: always. Any thread. */
bool cells_may_change(void *cells, struct err *err);

MUST_CHECK bool cells_start(struct cells *c, struct store *store, struct err *err);
/* `is_busy`: migrations are under way. */
void cells_note_busy(struct cells *c, bool is_busy);
/* Why this image must end; NULL: it need not. Any thread. */
const char *cells_restart(const struct cells *c);
/* The thread ends. */
void cells_stop(struct cells *c);
/* No order of this process is on its way any more: gives all leases back. */
void cells_release(struct cells *c, struct store *store);
/* Runs this program anew with what it holds; returns only when that fails. No other thread may be
 * at work for a cell. store NULL: a cell that is to be given away is not released but runs out. */
void cells_exec(struct cells *c, struct store *store);

/* For metrics and `get appliances`. */
struct cells_status {
    size_t n_leases, n_appliances;
    struct store_lease leases[STORE_CELLS_MAX];
    struct store_appliance appliances[STORE_CELLS_MAX];
    int64_t left_ms[STORE_CELLS_MAX]; /* of own leases, by this machine's clock; -1: another's */
    bool is_known;                    /* the store answered the last time */
    int64_t answer_ms, takeover_ms;   /* of the store; of this image's start, 0: none */
};
void cells_status(struct cells *c, struct cells_status *out_status);

#endif
