/* act.h - calls that change a guest. Only engine/data/ may include this. See hv.h. */
#ifndef HYPERVISOR_ACT_H
#define HYPERVISOR_ACT_H

#include "hypervisor/hv.h"

struct hv_act {
    const struct hv *hv; /* borrowed; outlives this */
};

MUST_CHECK bool hv_act_submit(const struct hv_act *act, const struct hv_request *request,
                              struct err *err);

#endif
