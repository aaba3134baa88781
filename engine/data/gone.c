/* gone.c - see gone.h. */
#include "engine/data/gone.h"

#include <string.h>

#include "engine/data/ownership.h"

static bool is_third(const struct job *job, const struct node *node)
{
    return strcmp(node->name, job->source) != 0 && strcmp(node->name, job->target) != 0;
}

bool gone_from_target(const struct job *job)
{
    const struct job_side *target = &job->resolution.target_side;
    return job_is_observed(job) && target->seen_wall_ms != 0 &&
           ownership_is_gone(ownership_side(&target->observation));
}

void gone_event(struct job *job, const struct hv_event *event)
{
    enum { STOPPED_MIGRATED = 3 }; /* libvirt's detail of STOPPED */
    bool completed = event->kind == HV_EVENT_JOB_COMPLETED;
    bool left = event->kind == HV_EVENT_LIFECYCLE && event->a == HV_LIFECYCLE_STOPPED &&
                event->b == STOPPED_MIGRATED;
    if ((completed || left) && gone_from_target(job) && !job->stream.target_resumed)
        job->resolution.foreign = true;
    else if (completed)
        job->call.over = true; /* the source's job ended with a success */
}

static enum ownership_side side_of(const struct domain *domain)
{
    const struct hv_observation observation = {
        .presence = HV_PRESENT, .state = domain->state, .reason = domain->reason};
    return ownership_side(&observation);
}

const struct domain *gone_elsewhere(struct fleet *f, const struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    const struct domain *found = NULL;
    for (const struct domain *domain = guest != NULL ? guest->domains : NULL; domain != NULL;
         domain = domain->next_of) {
        if (!is_third(job, domain->node) || ownership_is_gone(side_of(domain)))
            continue;
        if (found == NULL || side_of(domain) == SIDE_OWNS)
            found = domain;
    }
    return found;
}

/* A node whose guests are not known. Only where the migration was not observed all the time: an
 * unobserved guest may have been moved on. */
static const struct node *unlisted_node(const struct fleet *f, const struct job *job)
{
    if (!job->stream.unseen && !job->resolution.foreign)
        return NULL;
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next)
        if (is_third(job, node) && !node->listed)
            return node;
    return NULL;
}

/* Did the migration complete? The call's success, the guest seen running on the target, or a
 * source that released it. The target's definition alone may be an old one. */
static bool has_arrived(const struct job *job)
{
    const struct hv_observation *there = &job->resolution.target_side.observation;
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    bool released = source == SIDE_LEFT || (source == SIDE_ABSENT && there->persistent &&
                                            (job->call.flags & HV_MIGRATE_PERSIST) != 0);
    return (job->call.over && job->result.error.code == ERR_NONE) ||
           (job->stream.target_resumed && job->mode != MODE_POSTCOPY) ||
           (released && ownership_side(there) == SIDE_OFF && !job->resolution.foreign);
}

enum gone gone_decide(struct fleet *f, const struct job *job, const char **out_node)
{
    const struct domain *elsewhere = gone_elsewhere(f, job);
    const struct node *unlisted = unlisted_node(f, job);
    if (elsewhere != NULL) {
        enum ownership_side side = side_of(elsewhere);
        *out_node = elsewhere->node->name;
        if (!elsewhere->node->listed || (side != SIDE_OWNS && side != SIDE_STUCK))
            return GONE_UNKNOWN;
        return has_arrived(job) ? GONE_MOVED_ON : GONE_ELSEWHERE;
    }
    *out_node = unlisted != NULL ? unlisted->name : job->source;
    bool is_off_there = ownership_side(&job->resolution.target_side.observation) == SIDE_OFF;
    if (has_arrived(job) && (is_off_there || unlisted == NULL))
        return GONE_ARRIVED;
    if (ownership_side(&job->resolution.source_side.observation) == SIDE_OFF)
        return GONE_STOPPED;
    if (unlisted != NULL)
        return GONE_UNKNOWN;
    if (job_is_observed(job) && job->resolution.foreign)
        return GONE_LEFT;
    bool unseen = job->stream.unseen && !job->stream.received;
    return job_is_observed(job) && unseen ? GONE_UNSEEN : GONE_LOST;
}
