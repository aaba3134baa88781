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
/* The outcome of an unfinished job has not been proven for a minute. */
void incidents_unproven(struct fleet *f, const struct job *job, int64_t now_ms);
/* No migration is about that guest: opens an incident of the guest, SPLIT or STRANDED. one, other:
 * nodes that have it; other may be empty. */
void incidents_guest(struct fleet *f, const struct guest *guest, enum incident_kind kind,
                     const char *one, const char *other, int64_t now_ms);
/* The hosts prove that it is over: closes the incident of that kind with that key. */
void incidents_settled(struct fleet *f, const char *uid, enum incident_kind kind, int64_t now_ms);
/* Both nodes of that incident list their guests, or are no longer configured: what they do not show
 * is gone. */
bool incidents_is_visible(struct fleet *f, const char *uid);
/* A guest seen for the first time in this process: is an incident of an earlier one open? */
void incidents_adopt_guest(struct fleet *f, struct guest *guest);
/* An operator acknowledges or resolves the incident of a migration. ERR_NOT_FOUND: none is open. */
MUST_CHECK bool incidents_override(struct fleet *f, const struct resolve_request *request,
                                   int64_t now_ms, struct err *err);
/* About once a second. */
void incidents_tick(struct fleet *f, int64_t now_ms);

#endif
