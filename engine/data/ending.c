/* ending.c - see ending.h. */
#include "engine/data/ending.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/types.h"

static const char cancelled[] = "cancelled", failed[] = "failed";

/* libvirt's details of STOPPED are its shut-off reasons without the first, "unknown". */
static const char *stopped_name(int detail)
{
    return hv_reason_name(HV_STATE_SHUTOFF, detail + 1);
}

void ending_event(struct job *job, const struct hv_event *event)
{
    bool at_source = strcmp(event->host, job->source) == 0;
    bool at_target = strcmp(event->host, job->target) == 0;
    if (at_source && event->kind == HV_EVENT_JOB_ENDED)
        TEXT_SET(job->result.job_end, event->a == HV_JOB_CANCELLED ? cancelled : failed);
    else if (at_target && event->kind == HV_EVENT_LIFECYCLE && event->a == HV_LIFECYCLE_STOPPED)
        TEXT_SET(job->result.copy_end, stopped_name(event->b));
    else
        return;
    job->changed = true;
}

void ending_on_source(const struct job *job, struct step_ending *out_ending)
{
    bool by_someone = strcmp(job->result.job_end, cancelled) == 0;
    const char *how = by_someone ? "was cancelled; who asked for that is unknown"
                      : job->result.job_end[0] != '\0'
                          ? "failed; libvirt's error went to who started it"
                          : "ended; who started it knows why";
    out_ending->outcome = by_someone ? OUTCOME_ABORTED : OUTCOME_FAILED;
    out_ending->guest_at = GUEST_AT_SOURCE;
    (void)snprintf(out_ending->reason, sizeof out_ending->reason,
                   "a migration that somebody else started %s; the guest stayed on %s", how,
                   job->source);
}
