/* publish.h - makes snapshots of the fleet. The guests, which are many and change rarely, are a
 * block shared by all snapshots between two changes. Thread: the engine's. */
#ifndef ENGINE_PUBLISH_H
#define ENGINE_PUBLISH_H

#include "engine/model/fleet.h"
#include "engine/snapshot.h"

struct publisher; /* keeps the shared blocks between snapshots */
struct publisher *publisher_new(struct err *err);
void publisher_free(struct publisher *p);

/* A new snapshot with one reference, the caller's; NULL when memory is short. */
const struct snapshot *publish(struct publisher *p, const struct fleet *f, int64_t wall_ms);
/* One job as readers see it; text pointers are borrowed from the job. */
void publish_job(const struct fleet *f, const struct job *job, struct snapshot_job *out_job);

#endif
