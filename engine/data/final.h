/* final.h - the end of a job: the final step and all that belongs to it, and the statistics that
 * the hypervisors keep of a migration that succeeded. Pure. */
#ifndef ENGINE_DATA_FINAL_H
#define ENGINE_DATA_FINAL_H

#include "engine/model/turn/step.h"

/* Ends a job, in whatever phase it is: sightings of both sides, the final step, its incident, what
 * was expected against what came, the question for final statistics, the end of the watch. */
void final_finish(struct fleet *f, struct job *job, enum trigger why,
                  const struct step_ending *ending, struct moment now, struct effects *fx);

/* The numbers of a move that ended well; from is a literal: event, target. The event's count. */
void final_statistics(struct fleet *f, struct job *job, const struct hv_job_stats *stats,
                      const char *from);

#endif
