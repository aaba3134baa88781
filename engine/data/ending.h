/* ending.h - how somebody else's migration ended without the guest having moved.
 *
 * Who started it got libvirt's error; Ferry sees two facts: what the statistics of the job said
 * while libvirt cleaned up (failed or cancelled), and how libvirt ended the target's copy. Who
 * cancelled it is not among them. Pure. */
#ifndef ENGINE_DATA_ENDING_H
#define ENGINE_DATA_ENDING_H

#include "engine/model/job/job.h"
#include "engine/model/turn/step.h"

/* An event of its source or its target. */
void ending_event(struct job *job, const struct hv_event *event);
/* The guest stayed on its source: outcome and reason, by what is known. */
void ending_on_source(const struct job *job, struct step_ending *out_ending);

#endif
