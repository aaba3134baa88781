/* admission.h - decides whether a request becomes a job: a typed refusal, with KubeVirt's text
 * where KubeVirt has one, or a job ready to be stored. Pure. */
#ifndef ENGINE_CONTROL_ADMISSION_H
#define ENGINE_CONTROL_ADMISSION_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/effects.h"

/* Would a migration of this guest be admitted now, by a user to that target ("": any), or as one
 * of Ferry's own? Asked before one is promised: by an eviction, a drain's plan and `ferry check`,
 * and by admission itself. False with the refusal. */
bool admission_allows(struct fleet *f, const struct guest *guest, const char *target,
                      bool automatic, struct err *err);
/* NULL with err set, or a Pending job that is not yet in the fleet; the caller owns it. */
struct job *admission_admit(struct fleet *f, const struct migration_request *request,
                            struct moment now, struct err *err);
/* A new job of that guest begins its life in Pending; its uid is the caller's. */
void admission_begin(struct job *job, const struct guest *guest, struct moment now);
/* Adds the job to the fleet: records it, emits its event, queues it. */
void admission_add(struct fleet *f, struct job *take_job, struct moment now, struct effects *fx);
struct automatic_request {
    enum origin origin;
    enum priority priority;
    const char *requester, *name_stem;
};
/* A job that Ferry creates itself, already added; NULL with err when the guest cannot be
 * migrated, has an active job, or its automatic jobs failed too often in a row. */
struct job *admission_automatic(struct fleet *f, struct guest *guest,
                                struct automatic_request request, struct moment now,
                                struct effects *fx, struct err *err);
/* Reads what counts of the annotations in job->metadata_json: deadlines, on_behalf_of. */
void admission_read_annotations(struct job *job);

#endif
