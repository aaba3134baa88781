/* monitor_driver.h - runs the monitor on a running migration and turns its decisions into
 * orders: more downtime, post-copy, a pause, an abort. Each order is an intent, each decision a
 * record; the decisions of a shadow monitor are only recorded. Pure. */
#ifndef ENGINE_DATA_MONITOR_DRIVER_H
#define ENGINE_DATA_MONITOR_DRIVER_H

#include "collector/sample.h"
#include "engine/model/turn/step.h"

/* The call is about to be made: a monitor begins under the frozen configuration. A restored one
 * continues. */
void monitor_driver_begin(struct fleet *f, struct job *job);
/* A sample came, or (sample NULL) none did for a while. */
void monitor_driver_step(struct fleet *f, struct job *job, const struct sample *sample,
                         struct moment now, struct effects *fx);
/* Somebody else's migration: what the monitor would decide under that configuration. Its orders
 * are never given, so it asks for them again; only the downtime, which Ferry would have set from
 * the start, counts as set. Decisions are recorded as a shadow's. */
void monitor_driver_begin_advice(struct fleet *f, struct job *job,
                                 const struct migration_config *config);
void monitor_driver_advise(struct job *job, const struct sample *sample, struct moment now,
                           struct effects *fx, struct monitor_decision *out_decision);
/* The answer to the check of the target's daemon before a switch to post-copy, which is ordered
 * only now. False: not this query. */
bool monitor_driver_target_seen(struct fleet *f, struct job *job, uint64_t id,
                                const struct hv_observation *observation, struct moment now,
                                struct effects *fx);
/* A decision that was ordered was answered; the order to resume the guest was. */
void monitor_driver_answered(struct job *job, const struct err *err, struct moment now,
                             struct effects *fx);
void monitor_driver_resumed(struct job *job, const struct err *err, struct moment now,
                            struct effects *fx);
/* Is the guest paused on the source by Ferry, with the migration over? */
bool monitor_driver_must_resume(const struct job *job);
/* ... then resumes the guest; the target was just proven empty. True: the order is under way,
 * the outcome waits for it. */
bool monitor_driver_resume_guest(struct fleet *f, struct job *job, struct moment now,
                                 struct effects *fx);
/* Resumes a guest that was left paused on the source and is proven to be nowhere else. False:
 * tried often enough. */
bool monitor_driver_resume_leftover(struct fleet *f, struct job *job, const char *why,
                                    struct moment now, struct effects *fx);

/* The same by an operator override that the guest is on the source: gives the order; its result
 * is only recorded. */
void monitor_driver_resume_by_override(struct fleet *f, struct job *job, struct moment now,
                                       struct effects *fx);

/* The max downtime last ordered; 0: the hypervisor's default. */
int64_t monitor_driver_downtime_ms(const struct job *job);
/* Time for the remaining bytes at the last known bandwidth, also of an earlier process; -1: not
 * known. */
int64_t monitor_driver_estimate_ms(const struct job *job);
/* Use of the completion timeout and progress, by the acting monitor. */
struct job_budget monitor_driver_budget(const struct job *job);
/* Is an order to pause the guest open? */
bool monitor_driver_is_pausing(const struct job *job);
/* Records a decision that was not a monitor's; by is a literal. */
void monitor_driver_record(struct job *job, const char *by, const struct monitor_decision *decision,
                           struct moment now, struct effects *fx);

/* The acting monitor's state to be stored, or NULL; valid until the next decision. */
const char *monitor_driver_json(const struct job *job);

#endif
