/* expect.h - forecasts for this fleet's guests: collects facts of guest, path and policy for
 * engine/model/forecast/forecast.h, keeps measurements and results of migrations. Pure. */
#ifndef ENGINE_DATA_EXPECT_H
#define ENGINE_DATA_EXPECT_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

struct json_object;

enum {
    EXPECT_MEASURES_MAX = 4
}; /* guests measured at the same time: each costs its host a little */

/* Forecast of a migration of this guest to that node (NULL: not chosen yet) under that
 * configuration. */
void expect_move(const struct fleet *f, const struct guest *guest, const struct node *target,
                 const struct migration_config *config, struct forecast *out_forecast);
/* A short form for plans: the duration with the fleet's settings, to any node; 0: the dirty rate
 * is not known, so that only the guest's size would count. */
int64_t expect_ms(const struct fleet *f, const struct guest *guest);
/* Bytes of the volumes that migrate along, as reported by their hosts; 0: none, or not known. */
uint64_t expect_disk_bytes(const struct job *job);
/* Fills job->forecast, at hand-off. */
void expect_job(struct fleet *f, struct job *job);
/* A job ended: compares forecast and result, and keeps the guest's dirty rate. */
void expect_ended(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Its final statistics are known, now or later: updates the path's record. */
void expect_learn(struct fleet *f, const struct job *job);
void expect_restore(struct fleet *f); /* the same for all finished jobs in memory */

/* May this guest be measured now? ERR_REFUSED with the reason. */
bool expect_may_measure(const struct fleet *f, const struct guest *guest, struct err *err);
bool expect_is_measuring(const struct guest *guest, int64_t wall_ms);
/* A measurement began; its answer is awaited for that long. False: no memory. */
bool expect_measuring(struct guest *guest, int64_t wall_ms, int64_t for_ms);
/* The measurement ended, or did not begin; err: why. */
void expect_measured(struct fleet *f, const char *guest_uuid, const struct dirty_curve *curve,
                     const struct err *err);
/* The newest known rate, or NULL. */
const struct dirty_curve *expect_curve(const struct guest *guest);

/* "dirtyRate" and, when made, "forecast" for `ferry check`; see check.h. */
void expect_add_json(struct json_object *root, const struct guest *guest, const char *node,
                     const struct forecast *forecast, int64_t wall_ms);

#endif
