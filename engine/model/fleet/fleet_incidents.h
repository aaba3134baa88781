/* fleet_incidents.h - what opens and closes incidents (incident.h): verdicts, guests seen twice,
 * internal errors, operators, time. Pure. */
#ifndef ENGINE_MODEL_FLEET_FLEET_INCIDENTS_H
#define ENGINE_MODEL_FLEET_FLEET_INCIDENTS_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"

enum { INCIDENT_NEWS_MS = 24 * 60 * 60 * 1000 }; /* older ends are history, not incidents */

/* A verdict came: opens an incident, or closes those of a guest that moved. Needs no job: that may
 * have been deleted, and its guest is harmed all the same. */
void incidents_judged(struct fleet *f, const struct verdict_rows *judged, int64_t now_ms);
/* Both hosts say that they run the guest of an unfinished job: nobody waits for its end. */
void incidents_split(struct fleet *f, const struct job *job, int64_t now_ms);
/* An internal error froze that migration: nothing more is done about it until somebody decides. */
void incidents_internal(struct fleet *f, const struct job *job, int64_t now_ms);
/* What the store holds of that migration cannot be read: its guest is held until somebody decides.
 */
void incidents_unreadable(struct fleet *f, const struct job *job, int64_t now_ms);
/* The hosts say that one copy is left: closes the one of that migration if it was about two. */
void incidents_one_copy(struct fleet *f, const char *job_uid, int64_t now_ms);
/* An operator acknowledges or resolves the one of a migration. ERR_NOT_FOUND: none is open. */
MUST_CHECK bool incidents_said(struct fleet *f, const struct resolve_request *request,
                               int64_t now_ms, struct err *err);
/* Once a second or so. */
void incidents_tick(struct fleet *f, int64_t now_ms);

#endif
