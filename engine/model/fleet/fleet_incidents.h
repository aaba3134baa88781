/* fleet_incidents.h - what opens and closes incidents (incident.h): verdicts, guests running
 * twice, unproven outcomes, internal errors, operators, time. Pure. */
#ifndef ENGINE_MODEL_FLEET_FLEET_INCIDENTS_H
#define ENGINE_MODEL_FLEET_FLEET_INCIDENTS_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"

enum { INCIDENT_NEWS_MS = 24 * 60 * 60 * 1000 }; /* older ends are history, not incidents */

/* For a new verdict: opens an incident, or closes those of a guest that was migrated. Works
 * without the job, which may have been deleted. */
void incidents_judged(struct fleet *f, const struct verdict_rows *judged, int64_t now_ms);
/* Both hosts run the guest of an unfinished job: opens an incident before its end. */
void incidents_split(struct fleet *f, const struct job *job, int64_t now_ms);
/* An internal error froze that migration until an operator decides. */
void incidents_internal(struct fleet *f, const struct job *job, int64_t now_ms);
/* The stored rows of that migration cannot be read: its guest is held until an operator decides. */
void incidents_unreadable(struct fleet *f, const struct job *job, int64_t now_ms);
/* Only one copy is left: closes the split incident of that migration. */
void incidents_one_copy(struct fleet *f, const char *job_uid, int64_t now_ms);
/* The outcome of an unfinished job has not been proven for a minute. */
void incidents_unproven(struct fleet *f, const struct job *job, int64_t now_ms);
/* The hosts prove the contrary: closes the migration's incident if it is of that kind. */
void incidents_settled(struct fleet *f, const char *job_uid, enum incident_kind kind,
                       int64_t now_ms);
/* An operator acknowledges or resolves the incident of a migration. ERR_NOT_FOUND: none is open. */
MUST_CHECK bool incidents_override(struct fleet *f, const struct resolve_request *request,
                                   int64_t now_ms, struct err *err);
/* About once a second. */
void incidents_tick(struct fleet *f, int64_t now_ms);

#endif
