/* publish.h - makes snapshots of the fleet. Guests, which are many and change rarely, are one
 * block shared by all snapshots between two changes; each job has a view that is shared until
 * the job changes, so that a finished job costs one pointer. Thread: the engine's. */
#ifndef ENGINE_PUBLISH_H
#define ENGINE_PUBLISH_H

#include <stdatomic.h>

#include "engine/model/fleet/fleet.h"
#include "engine/snapshot.h"

struct job_view;                               /* a published job, reference counted */
void publish_drop_view(struct job_view *view); /* NULL is fine; any thread */

struct publisher; /* keeps the shared blocks between snapshots */
struct publisher *publisher_new(struct err *err);
void publisher_free(struct publisher *p);

/* A new snapshot with one reference, the caller's; NULL without memory. */
const struct snapshot *publish(struct publisher *p, struct fleet *f, int64_t wall_ms);
/* publish_job.c: the view of one job; text pointers are borrowed from the job. */
void publish_job(const struct fleet *f, const struct job *job, struct snapshot_job *out_job);
/* Progress of each node's drain, sorted; malloc'ed, NULL without memory. */
struct snapshot_drain *publish_drains(const struct fleet *f, size_t *out_n);

/* publish_incidents.c: open incidents, then closed ones that are still shown; shared by all
 * snapshots between two changes. */
struct incident_block {
    atomic_uint references;
    uint64_t version;
    size_t n, n_closed;
    struct incident list[];
};
/* The present block, also put in *kept and in the snapshot; a reference of the caller's. NULL
 * without memory. */
struct incident_block *publish_incidents(struct incident_block **kept,
                                         const struct incidents *incidents,
                                         struct snapshot *out_snapshot);
void publish_drop_incidents(struct incident_block *block); /* NULL is fine; any thread */

/* publish_newest.c: the newest job of each guest, by the guest's number; shared by all snapshots
 * between two changes. */
struct newest_block {
    atomic_uint references;
    size_t n;
    const struct snapshot_job *jobs[];
};
struct newest_jobs { /* what a snapshot's are made from */
    const struct snapshot_guest *guests;
    size_t n_guests;
    bool has_new_guests;                       /* another list than that of *kept */
    const struct snapshot_job *const *changed; /* published anew since */
    size_t n_changed;
};
/* The present block, also put in *kept; a reference of the caller's. NULL without memory. */
struct newest_block *publish_newest(struct newest_block **kept, struct fleet *f,
                                    const struct newest_jobs *from);
void publish_drop_newest(struct newest_block *block); /* NULL is fine; any thread */
const struct snapshot_job *publish_view_job(const struct job_view *view);

/* publish_since.c: since when each condition of each guest holds: an unchanged condition keeps
 * the old list's time, a changed one gets now. Both lists are sorted alike. */
int publish_guest_order(const void *a, const void *b);
void publish_since(const struct snapshot_guest *old, size_t n_old, struct snapshot_guest *fresh,
                   size_t n, int64_t wall_ms);

#endif
