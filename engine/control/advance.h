/* advance.h - moves an unfinished job as far as the facts allow: through scheduling before its
 * hand-off, through the data plane after it. Pure. */
#ifndef ENGINE_CONTROL_ADVANCE_H
#define ENGINE_CONTROL_ADVANCE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* Does nothing for a frozen or final job; updates the job's timer and the list of jobs to store. */
void advance_job(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
struct stop {
    const char *who;
    enum abort_cause cause;
    const char *why;
};
/* Asks an unfinished job to stop, then advances it. */
void advance_stop(struct fleet *f, struct job *job, struct stop stop, struct moment now,
                  struct effects *fx);

#endif
