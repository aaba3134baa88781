/* monitor_driver.h - lets the monitor decide about a migration that runs, and turns its wishes into
 * orders: more downtime, post-copy, a pause, an abort. Each order is an intent, each decision a
 * record; a second monitor may look on and only say what it would have done. Pure. */
#ifndef ENGINE_DATA_MONITOR_DRIVER_H
#define ENGINE_DATA_MONITOR_DRIVER_H

#include "collector/sample.h"
#include "engine/model/turn/step.h"

/* The call is about to be made: a monitor begins under the frozen configuration. One that was taken
 * up from the store goes on. */
void monitor_driver_begin(struct fleet *f, struct job *job);
/* A measurement came, or (sample NULL) none did for a while. */
void monitor_driver_step(struct fleet *f, struct job *job, const struct sample *sample,
                         struct moment now, struct effects *fx);
/* The target answered, or could not, whether its daemon is there: asked before a switch to
 * post-copy, which is ordered only now. False: nobody asked. */
bool monitor_driver_target_seen(struct fleet *f, struct job *job, uint64_t id,
                                const struct hv_observation *observation, struct moment now,
                                struct effects *fx);
/* A decision that was ordered was answered; the order to resume the guest was. */
void monitor_driver_answered(struct job *job, const struct err *err, struct moment now,
                             struct effects *fx);
void monitor_driver_resumed(struct job *job, const struct err *err, struct moment now,
                            struct effects *fx);
/* The guest stands still on the source because we stopped it, and the migration is over. */
bool monitor_driver_owes(const struct job *job);
/* ... so it is let run again; the target was just proven empty. True: the order is under way, the
 * outcome waits for it. */
bool monitor_driver_gives_back(struct fleet *f, struct job *job, struct moment now,
                               struct effects *fx);
/* The guest was left standing on the source, and is proven to be nowhere else: it is let run again.
 * False: that was tried often enough. */
bool monitor_driver_takes_back(struct fleet *f, struct job *job, const char *why, struct moment now,
                               struct effects *fx);

/* The same by an operator's word that the source has it: the order is given, whatever comes of it
 * is recorded with the job. */
void monitor_driver_gives_back_by_override(struct fleet *f, struct job *job, struct moment now,
                                           struct effects *fx);

/* How long the hypervisor may stop the guest to finish, as last ordered; 0: its own default. */
int64_t monitor_driver_downtime_ms(const struct job *job);
/* What the rest takes at the rate the monitor last saw, also an earlier process's; -1: no idea. */
int64_t monitor_driver_estimate_ms(const struct job *job);
/* How much of its time it has used and how far it came, by the monitor that acts. */
struct job_budget monitor_driver_budget(const struct job *job);
/* Is an order of ours out to pause the guest? */
bool monitor_driver_stops(const struct job *job);
/* A decision that somebody else took about it; by is a literal. */
void monitor_driver_record(struct job *job, const char *by, const struct monitor_decision *decision,
                           struct moment now, struct effects *fx);

/* The acting monitor's state as it is to be stored, or NULL; good until it decides again. */
const char *monitor_driver_json(const struct job *job);

#endif
