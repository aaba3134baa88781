/* admission.h - may this request become a job? A typed refusal with KubeVirt's text where it has
 * one, or a job ready to be stored. Pure. */
#ifndef ENGINE_CONTROL_ADMISSION_H
#define ENGINE_CONTROL_ADMISSION_H

#include "engine/model/fleet.h"
#include "engine/requests.h"

/* NULL with err set, or a Pending job that is not in the fleet yet; the caller owns it. */
struct job *admission_admit(struct fleet *f, const struct migration_request *request,
                            struct moment now, struct err *err);

#endif
