/* probe.h - calls that need a read-write connection but change nothing. Used by placement. See
 * hv.h. */
#ifndef HYPERVISOR_PROBE_H
#define HYPERVISOR_PROBE_H

#include "hypervisor/hv.h"

struct hv_probe {
    const struct hv *hv; /* borrowed; outlives this */
};

MUST_CHECK bool hv_probe_submit(const struct hv_probe *probe, const struct hv_request *request,
                                struct err *err);

#endif
