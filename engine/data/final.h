/* final.h - the end of a job: the final step and all that belongs to it, and the final
 * statistics of a successful migration. Pure. */
#ifndef ENGINE_DATA_FINAL_H
#define ENGINE_DATA_FINAL_H

#include "engine/model/turn/step.h"

/* Ends a job in any phase: observations of both hosts, the final step, its incident, the
 * comparison with the forecast, the query for final statistics, the end of sampling. */
void final_finish(struct fleet *f, struct job *job, enum trigger why,
                  const struct step_ending *ending, struct moment now, struct effects *fx);

/* The statistics of a successful migration; from is a literal: event, target. The event's win. */
void final_statistics(struct fleet *f, struct job *job, const struct hv_job_stats *stats,
                      const char *from);

#endif
