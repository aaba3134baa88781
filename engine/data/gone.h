/* gone.h - neither the source nor the target has the guest: where is it? Looks at the whole
 * inventory, the result of the migrate call and the target's shut-off reason before a guest counts
 * as lost. Pure. */
#ifndef ENGINE_DATA_GONE_H
#define ENGINE_DATA_GONE_H

#include "engine/model/fleet/fleet.h"
#include "hypervisor/hv.h"

enum gone {
    GONE_UNKNOWN,   /* another node may have it: nothing is proven yet */
    GONE_ELSEWHERE, /* it runs on a third node */
    GONE_MOVED_ON,  /* the same, after it had arrived on the target */
    GONE_ARRIVED,   /* it ran on the target and ended there */
    GONE_STOPPED,   /* it ended on the source, which has its definition */
    GONE_LEFT,      /* somebody else's migration: the guest left by another one of his */
    GONE_UNSEEN,    /* the same, ended while Ferry did not run: where the guest went is not known */
    GONE_LOST,
};

/* out_node: ELSEWHERE, MOVED_ON: where it runs. UNKNOWN: a node that may have it. */
enum gone gone_decide(struct fleet *f, const struct job *job, const char **out_node);
/* A third node has the guest, up or as an incoming copy. NULL: none. */
const struct domain *gone_elsewhere(struct fleet *f, const struct job *job);

/* The target of somebody else's migration was observed without its copy: a job on the source is
 * another migration, perhaps to a host that is not configured. */
bool gone_from_target(const struct job *job);
/* An event of the source: what it says of such a job is not about this one. */
void gone_event(struct job *job, const struct hv_event *event);

#endif
