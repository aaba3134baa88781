/* opening.h - opens connections in bounded time; opening.c says how. Included by internal.h. */
#ifndef HYPERVISOR_LIBVIRT_OPENING_H
#define HYPERVISOR_LIBVIRT_OPENING_H

#include <pthread.h>

#include <libvirt/libvirt.h>

#include "hypervisor/hv.h"

struct host;

enum {
    OPENING_MAX_MS = 10000,        /* an opening that takes longer is left behind */
    OPENING_PAUSE_MAX_MS = 600000, /* between two that are tried while others hang */
    OPENINGS_HANGING_MAX = 16,     /* of one host, each with its thread and its socket */
};

/* Connections that are being opened. */
struct openings {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool silent;               /* the last one hung: only the keeper tries ... */
    int64_t next_ms, pause_ms; /* ... not before next_ms */
    unsigned hanging[HV_LANE_COUNT];
    uint64_t abandoned[HV_LANE_COUNT]; /* all in all */
};

void libvirt_openings_init(struct openings *openings);
void libvirt_openings_fini(struct openings *openings);
/* NULL with UNREACHABLE after OPENING_MAX_MS at the latest; at once while others hang. The lane is
 * the one it counts for. */
virConnectPtr libvirt_opening(struct host *host, enum hv_lane lane, bool read_only, bool is_keeper,
                              struct err *err);
void libvirt_openings_count(struct openings *openings, enum hv_lane lane,
                            struct hv_lane_status *status);

#endif
