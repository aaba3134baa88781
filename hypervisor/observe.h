/* observe.h - read-only calls; they cannot change a guest. Used by the collector. See hv.h. */
#ifndef HYPERVISOR_OBSERVE_H
#define HYPERVISOR_OBSERVE_H

#include "hypervisor/hv.h"

struct hv_observe {
    const struct hv *hv; /* borrowed; outlives this */
};

MUST_CHECK bool hv_observe_submit(const struct hv_observe *observe,
                                  const struct hv_request *request, struct err *err);

#endif
