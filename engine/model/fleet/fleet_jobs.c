/* fleet_jobs.c - jobs, their indexes and counters; see fleet.h. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/fleet/fleet_inside.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/job/backoff.h"

struct job *fleet_newest_finished(struct fleet *f, const char *guest_uuid)
{
    struct job *job = NULL;
    HASH_FIND(links.hh_newest, f->newest, guest_uuid, strlen(guest_uuid), job);
    return job;
}

struct job *fleet_job(struct fleet *f, const char *uid)
{
    struct job *job = NULL;
    HASH_FIND_STR(f->jobs, uid, job);
    return job;
}

static void make_key(const char *ns, const char *name, char *out_key)
{
    (void)snprintf(out_key, HV_HOST_MAX + JOB_NAME_MAX, "%s/%s", ns, name);
}

struct job *fleet_job_named(struct fleet *f, const char *ns, const char *name)
{
    char key[HV_HOST_MAX + JOB_NAME_MAX];
    make_key(ns, name, key);
    struct job *job = NULL;
    HASH_FIND(links.hh_name, f->named, key, strlen(key), job);
    return job;
}

struct job *fleet_active_job(struct fleet *f, const char *guest_uuid)
{
    struct job *job = NULL;
    HASH_FIND(links.hh_guest, f->active, guest_uuid, strlen(guest_uuid), job);
    return job;
}

struct job *fleet_observed_job(struct fleet *f, const char *guest_uuid)
{
    struct job *job = NULL;
    HASH_FIND(links.hh_guest, f->observed.jobs, guest_uuid, strlen(guest_uuid), job);
    return job;
}

struct job *fleet_moving_job(struct fleet *f, const char *guest_uuid)
{
    struct job *job = fleet_active_job(f, guest_uuid);
    return job != NULL && job->epoch > 0 ? job : fleet_observed_job(f, guest_uuid);
}

/* Unfinished ones, of Ferry's own and of others. */
static void add_unfinished(struct fleet *f, struct job *job)
{
    if (job_is_observed(job)) {
        assert(fleet_observed_job(f, job->guest_uuid) == NULL);
        HASH_ADD_KEYPTR(links.hh_guest, f->observed.jobs, job->guest_uuid, strlen(job->guest_uuid),
                        job);
    } else {
        assert(fleet_active_job(f, job->guest_uuid) == NULL);
        HASH_ADD_KEYPTR(links.hh_guest, f->active, job->guest_uuid, strlen(job->guest_uuid), job);
    }
}

static void drop_unfinished(struct fleet *f, struct job *job)
{
    if (job_is_observed(job))
        HASH_DELETE(links.hh_guest, f->observed.jobs, job);
    else
        HASH_DELETE(links.hh_guest, f->active, job);
}

/* A slot of the fleet and one of each node, for Ferry's own. They can be released before the job
 * ends. */
static void count_busy(struct fleet *f, struct job *job, bool more)
{
    struct node *source = fleet_node(f, job->source), *target = fleet_node(f, job->target);
    if (job->queue.holds_slot == more || job_is_observed(job))
        return;
    f->busy_jobs = more ? f->busy_jobs + 1 : f->busy_jobs - 1;
    job->queue.holds_slot = more;
    if (source != NULL)
        source->outbound = more ? source->outbound + 1 : source->outbound - 1;
    if (target != NULL)
        fleet_count_inbound(f, target, more ? 1 : -1);
    if (!more && source != NULL)
        fleet_node_improved(f, source);
    if (!more && target != NULL)
        fleet_node_improved(f, target);
}

bool fleet_release_slot(struct fleet *f, struct job *job)
{
    if (!job->queue.holds_slot)
        return false;
    if (job->epoch > 0) /* before the hand-off it becomes the limit of the call */
        ledger_release_bandwidth(f, job);
    count_busy(f, job, false);
    job->version = fleet_touch(f);
    return true;
}

void fleet_take_slot(struct fleet *f, struct job *job)
{
    if (phase_is_busy(job->phase))
        count_busy(f, job, true);
}

static void set_newest(struct fleet *f, struct job *before, struct job *now)
{
    if (before != NULL)
        HASH_DELETE(links.hh_newest, f->newest, before);
    if (now != NULL)
        HASH_ADD_KEYPTR(links.hh_newest, f->newest, now->guest_uuid, strlen(now->guest_uuid), now);
}

static void add_finished(struct fleet *f, struct job *job)
{
    job->links.older = fleet_newest_finished(f, job->guest_uuid);
    set_newest(f, job->links.older, job);
    heap_put(&f->finished, &job->links.finished, job->request.arrival, 0, job);
    f->finished_jobs++;
}

static void drop_finished(struct fleet *f, struct job *job)
{
    struct job *newest = fleet_newest_finished(f, job->guest_uuid);
    f->finished_jobs--;
    heap_remove(&job->links.finished);
    if (newest == job) {
        set_newest(f, job, job->links.older);
        return;
    }
    while (newest != NULL && newest->links.older != job)
        newest = newest->links.older;
    if (newest != NULL)
        newest->links.older = job->links.older;
}

void fleet_queue_ready(struct fleet *f, struct job *job)
{
    if (job->frozen)
        return;
    if (!job->queue.fresh) {
        job->queue.fresh = true;
        job->queue.next_fresh = f->queue.fresh;
        f->queue.fresh = job;
    }
    heap_put(&f->queue.ready, &job->queue.wait, (int64_t)job->request.priority,
             job->request.arrival, job);
}

void fleet_settle_job(struct fleet *f, struct job *job)
{
    if (job->changed && !job->links.listed) {
        job->links.listed = true;
        job->links.next_changed = f->changed;
        f->changed = job;
    }
    bool waits = job->frozen ? job->queue.holds_slot
                             : !phase_is_final(job->phase) || job->result.observe_later;
    if (!waits)
        heap_remove(&job->queue.timer);
    else if (job->queue.timer.in == NULL || job->queue.timer.first != job->queue.wake_ms)
        heap_put(&f->timers, &job->queue.timer, job->queue.wake_ms, job->request.arrival, job);
}

/* For good: its guest stays in it. */
static void set_cell(struct fleet *f, struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    const struct node *node =
        guest != NULL && guest->owner != NULL ? guest->owner->node : fleet_node(f, job->source);
    if (node != NULL)
        TEXT_SET(job->cell, node->host.cell);
}

void fleet_add_job(struct fleet *f, struct job *take_job)
{
    struct job *job = take_job;
    if (job->cell[0] == '\0')
        set_cell(f, job);
    make_key(job->ns, job->name, job->links.key);
    if (job->request.arrival == 0)
        job->request.arrival = f->next_order + 1;
    if (job->request.arrival > f->next_order)
        f->next_order = job->request.arrival;
    HASH_ADD_STR(f->jobs, uid, job);
    HASH_ADD_KEYPTR(links.hh_name, f->named, job->links.key, strlen(job->links.key), job);
    if (phase_is_final(job->phase)) {
        add_finished(f, job);
    } else {
        add_unfinished(f, job);
        if (phase_is_busy(job->phase))
            count_busy(f, job, true);
        if (job->phase == PHASE_PENDING && !job_is_observed(job)) {
            f->waiting_jobs++;
            fleet_queue_ready(f, job);
        }
        fleet_settle_job(f, job);
    }
    job->version = fleet_touch(f);
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL) {
        TEXT_SET(guest->newest_job, job->uid);
        f->guests_version = fleet_touch(f);
    }
}

void fleet_freeze_job(struct fleet *f, struct job *job, const char *fmt, ...)
{
    if (job->frozen)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(job->wait.reason, sizeof job->wait.reason, fmt, args);
    va_end(args);
    job->frozen = true;
    job->links.next_broken = f->broken;
    f->broken = job;
    heap_remove(&job->queue.wait);
    heap_remove(&job->queue.timer);
}

/* Normally in neither: both are emptied before a finished job can be forgotten. */
static void leave_lists(struct fleet *f, struct job *job)
{
    struct job **link = &f->changed;
    while (job->links.listed && *link != job)
        link = &(*link)->links.next_changed;
    if (job->links.listed)
        *link = job->links.next_changed;
    link = &f->queue.fresh;
    while (job->queue.fresh && *link != job)
        link = &(*link)->queue.next_fresh;
    if (job->queue.fresh)
        *link = job->queue.next_fresh;
}

/* From every index, list and heap. */
static void take_out(struct fleet *f, struct job *job)
{
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL && strcmp(guest->newest_job, job->uid) == 0) {
        guest->newest_job[0] = '\0';
        f->guests_version = fleet_touch(f);
    }
    leave_lists(f, job);
    heap_remove(&job->queue.wait);
    heap_remove(&job->queue.timer);
    HASH_DEL(f->jobs, job);
    HASH_DELETE(links.hh_name, f->named, job);
    job_free(job);
    (void)fleet_touch(f);
}

void fleet_remove_job(struct fleet *f, struct job *job)
{
    assert(phase_is_final(job->phase));
    drop_finished(f, job);
    take_out(f, job);
}

void fleet_drop_job(struct fleet *f, struct job *job)
{
    if (phase_is_final(job->phase)) {
        drop_finished(f, job);
    } else {
        drop_unfinished(f, job);
        ledger_release(f, job);
        if (job->phase == PHASE_PENDING && !job_is_observed(job))
            f->waiting_jobs--;
        if (phase_is_busy(job->phase))
            count_busy(f, job, false);
    }
    take_out(f, job);
}

/* Stored with the job, since only the newest few stay in memory. */
static void count_streak(struct fleet *f, struct job *job)
{
    struct backoff before;
    if (job->result.outcome == OUTCOME_SUCCEEDED || !origin_is_automatic(job->request.origin))
        return;
    if (job->result.outcome == OUTCOME_ABORTED && !job->call.moved)
        return;
    backoff_of(fleet_newest_finished(f, job->guest_uuid), &before);
    job->request.streak = before.failures + 1;
}

/* Recent results of migrations to a node: placement prefers a good path. */
static void count_arrival(struct fleet *f, const struct job *job)
{
    enum { ARRIVALS_MAX = 64 };
    struct node *target = fleet_node(f, job->target);
    if (target == NULL || job->epoch == 0 || job->result.outcome == OUTCOME_ABORTED ||
        job_is_observed(job)) /* why it ended is not known */
        return;
    if (job->result.outcome == OUTCOME_SUCCEEDED)
        target->arrivals.good++;
    else
        target->arrivals.bad++;
    if (target->arrivals.good + target->arrivals.bad > ARRIVALS_MAX) {
        target->arrivals.good /= 2;
        target->arrivals.bad /= 2;
    }
}

static void end_job(struct fleet *f, struct job *job)
{
    drop_unfinished(f, job);
    heap_remove(&job->queue.timer);
    count_streak(f, job);
    count_arrival(f, job);
    add_finished(f, job);
    ledger_release(f, job);
    f->drains_due = true;
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest == NULL)
        return;
    if (guest->domains == NULL && fleet_active_job(f, job->guest_uuid) == NULL &&
        fleet_observed_job(f, job->guest_uuid) == NULL)
        fleet_forget_guest(f, guest);
    else
        f->guests_version = fleet_touch(f);
}

/* The job ended while it waited: wakes the next for the room it was woken for. */
static void leave_room(struct fleet *f, struct job *job)
{
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (job->queue.woken_for != NULL)
        fleet_node_improved(f, job->queue.woken_for);
    if (job->queue.woken_out != NULL) /* the guest itself may be gone */
        fleet_node_improved(f, job->queue.woken_out);
    if (guest != NULL && guest->owner != NULL && guest->owner->node->blocked.out.n > 0)
        fleet_node_improved(f, guest->owner->node);
    if (job->queue.woken_by_quota && guest != NULL && guest->namespace != NULL) {
        guest->namespace->quota_changed = true;
        fleet_quota_changed(f, guest->namespace);
    }
    job->queue.woken_for = job->queue.woken_out = NULL;
}

void fleet_job_moved(struct fleet *f, struct job *job, enum phase from)
{
    if (from == PHASE_PENDING && phase_is_final(job->phase))
        leave_room(f, job);
    if (from == PHASE_PENDING && !job_is_observed(job)) {
        f->waiting_jobs--;
        heap_remove(&job->queue.wait);
    }
    if (!phase_is_busy(from) && phase_is_busy(job->phase))
        count_busy(f, job, true);
    if (phase_is_busy(from) && !phase_is_busy(job->phase))
        count_busy(f, job, false);
    if (phase_is_final(job->phase) && !phase_is_final(from))
        end_job(f, job);
    job->version = fleet_touch(f);
}

void fleet_prune_jobs(struct fleet *f, const char *guest_uuid)
{
    struct job *job = fleet_newest_finished(f, guest_uuid);
    for (unsigned kept = 1; job != NULL && kept < f->config.jobs_kept_per_guest; kept++)
        job = job->links.older;
    while (job != NULL && job->links.older != NULL)
        fleet_remove_job(f, job->links.older);

    while (f->finished_jobs >
           f->config.jobs_kept) /* guests come and go: also a bound over all guests */
        fleet_remove_job(f, heap_top(&f->finished));
}
