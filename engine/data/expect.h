/* expect.h - forecasts of this fleet's guests: gathers what is known of guest, path and policy for
 * engine/model/forecast/forecast.h, keeps what was measured and what migrations showed. Pure. */
#ifndef ENGINE_DATA_EXPECT_H
#define ENGINE_DATA_EXPECT_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

struct json_object;

enum { EXPECT_MEASURES_MAX = 4 }; /* guests measured at once: each costs its host a little */

/* Of moving this guest to that node (NULL: not chosen yet) under that configuration. */
void expect_move(const struct fleet *f, const struct guest *guest, const struct node *target,
                 const struct migration_config *config, struct forecast *out_forecast);
/* The same in short for plans: the time by the fleet's settings, whichever node it goes to; 0: how
 * it writes is not known, so that only its size could be told from others'. */
int64_t expect_ms(const struct fleet *f, const struct guest *guest);
/* Of the disks that move along with it, as their hosts said; 0: none, or not known. */
uint64_t expect_disk_bytes(const struct job *job);
/* Fills job->forecast, at hand-off. */
void expect_job(struct fleet *f, struct job *job);
/* A job ended: what was expected is compared with what came, and the guest's rate is kept. */
void expect_ended(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Its final numbers are known, now or later: its path is remembered. */
void expect_learn(struct fleet *f, const struct job *job);
void expect_restore(struct fleet *f); /* the same of all finished jobs in view */

/* May this guest be measured now? ERR_REFUSED with the reason. */
bool expect_may_measure(const struct fleet *f, const struct guest *guest, struct err *err);
bool expect_is_measuring(const struct guest *guest, int64_t wall_ms);
/* A measurement was begun; it is awaited for that long. False: no memory. */
bool expect_measuring(struct guest *guest, int64_t wall_ms, int64_t for_ms);
/* It ended, or was not even begun; err: why. */
void expect_measured(struct fleet *f, const char *guest_uuid, const struct dirty_curve *curve,
                     const struct err *err);
/* The newest that is known, or NULL. */
const struct dirty_curve *expect_curve(const struct guest *guest);

/* "dirtyRate" and, when made, "forecast" for `ferry check`; see check.h. */
void expect_add_json(struct json_object *root, const struct guest *guest, const char *node,
                     const struct forecast *forecast, int64_t wall_ms);

#endif
