/* advance.h - moves an unfinished job as far as the facts allow: through scheduling before its
 * hand-off, through the data plane after it. Pure. */
#ifndef ENGINE_CONTROL_ADVANCE_H
#define ENGINE_CONTROL_ADVANCE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* A frozen or final job is left as it is; its timer and the list of what to store are kept up. */
void advance_job(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
struct stop {
    const char *who;
    enum abort_cause cause;
    const char *why;
};
/* Asks an unfinished job to stop, and moves it as far as the facts allow. */
void advance_stop(struct fleet *f, struct job *job, struct stop stop, struct moment now,
                  struct effects *fx);

#endif
