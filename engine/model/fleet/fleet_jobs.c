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
    HASH_FIND(hh_newest, f->newest, guest_uuid, strlen(guest_uuid), job);
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
    HASH_FIND(hh_name, f->named, key, strlen(key), job);
    return job;
}

struct job *fleet_active_job(struct fleet *f, const char *guest_uuid)
{
    struct job *job = NULL;
    HASH_FIND(hh_guest, f->active, guest_uuid, strlen(guest_uuid), job);
    return job;
}

/* Node counters stay true as long as the job is busy; the fleet's slot can be given up earlier. */
static void count_busy(struct fleet *f, struct job *job, bool more)
{
    struct node *source = fleet_node(f, job->source), *target = fleet_node(f, job->target);
    if (job->holds_slot != more) {
        f->busy_jobs = more ? f->busy_jobs + 1 : f->busy_jobs - 1;
        job->holds_slot = more;
    }
    if (source != NULL)
        source->outbound = more ? source->outbound + 1 : source->outbound - 1;
    if (target != NULL)
        fleet_count_inbound(f, target, more ? 1 : -1);
    if (!more && source != NULL)
        fleet_node_improved(f, source);
    if (!more && target != NULL)
        fleet_node_improved(f, target);
}

void fleet_release_slot(struct fleet *f, struct job *job)
{
    if (!job->holds_slot)
        return;
    job->holds_slot = false;
    f->busy_jobs--;
}

static void set_newest(struct fleet *f, struct job *before, struct job *now)
{
    if (before != NULL)
        HASH_DELETE(hh_newest, f->newest, before);
    if (now != NULL)
        HASH_ADD_KEYPTR(hh_newest, f->newest, now->guest_uuid, strlen(now->guest_uuid), now);
}

static void add_finished(struct fleet *f, struct job *job)
{
    job->older = fleet_newest_finished(f, job->guest_uuid);
    set_newest(f, job->older, job);
    heap_put(&f->finished, &job->finished, job->order, 0, job);
    f->finished_jobs++;
}

static void drop_finished(struct fleet *f, struct job *job)
{
    struct job *newest = fleet_newest_finished(f, job->guest_uuid);
    f->finished_jobs--;
    heap_remove(&job->finished);
    if (newest == job) {
        set_newest(f, job, job->older);
        return;
    }
    while (newest != NULL && newest->older != job)
        newest = newest->older;
    if (newest != NULL)
        newest->older = job->older;
}

void fleet_queue_ready(struct fleet *f, struct job *job)
{
    if (job->frozen)
        return;
    if (!job->fresh) {
        job->fresh = true;
        job->next_fresh = f->queue.fresh;
        f->queue.fresh = job;
    }
    heap_put(&f->queue.ready, &job->wait, (int64_t)job->priority, job->order, job);
}

void fleet_settle_job(struct fleet *f, struct job *job)
{
    if (job->changed && !job->listed) {
        job->listed = true;
        job->next_changed = f->changed;
        f->changed = job;
    }
    if (job->frozen || (phase_is_final(job->phase) && !job->observe_later))
        heap_remove(&job->timer);
    else if (job->timer.in == NULL || job->timer.first != job->wake_ms)
        heap_put(&f->timers, &job->timer, job->wake_ms, job->order, job);
}

void fleet_add_job(struct fleet *f, struct job *take_job)
{
    struct job *job = take_job;
    make_key(job->ns, job->name, job->key);
    if (job->order == 0)
        job->order = f->next_order + 1;
    if (job->order > f->next_order)
        f->next_order = job->order;
    HASH_ADD_STR(f->jobs, uid, job);
    HASH_ADD_KEYPTR(hh_name, f->named, job->key, strlen(job->key), job);
    if (phase_is_final(job->phase)) {
        add_finished(f, job);
    } else {
        assert(fleet_active_job(f, job->guest_uuid) == NULL);
        HASH_ADD_KEYPTR(hh_guest, f->active, job->guest_uuid, strlen(job->guest_uuid), job);
        if (phase_is_busy(job->phase))
            count_busy(f, job, true);
        if (job->phase == PHASE_PENDING) {
            f->waiting_jobs++;
            fleet_queue_ready(f, job);
        }
        fleet_settle_job(f, job);
    }
    job->version = fleet_touch(f);
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL) {
        TEXT_SET(guest->newest_job, job->uid);
        guest->version = f->guests_version = fleet_touch(f);
    }
}

void fleet_freeze_job(struct fleet *f, struct job *job, const char *fmt, ...)
{
    if (job->frozen)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(job->pending_reason, sizeof job->pending_reason, fmt, args);
    va_end(args);
    job->frozen = true;
    job->next_broken = f->broken;
    f->broken = job;
    heap_remove(&job->wait);
    heap_remove(&job->timer);
}

/* Normally it is in neither: both are emptied before a finished job can be forgotten. */
static void leave_lists(struct fleet *f, struct job *job)
{
    struct job **link = &f->changed;
    while (job->listed && *link != job)
        link = &(*link)->next_changed;
    if (job->listed)
        *link = job->next_changed;
    link = &f->queue.fresh;
    while (job->fresh && *link != job)
        link = &(*link)->next_fresh;
    if (job->fresh)
        *link = job->next_fresh;
}

/* From every index, list and heap. */
static void take_out(struct fleet *f, struct job *job)
{
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL && strcmp(guest->newest_job, job->uid) == 0) {
        guest->newest_job[0] = '\0';
        guest->version = f->guests_version = fleet_touch(f);
    }
    leave_lists(f, job);
    heap_remove(&job->wait);
    heap_remove(&job->timer);
    HASH_DEL(f->jobs, job);
    HASH_DELETE(hh_name, f->named, job);
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
        HASH_DELETE(hh_guest, f->active, job);
        ledger_release(f, job);
        if (job->phase == PHASE_PENDING)
            f->waiting_jobs--;
        if (phase_is_busy(job->phase))
            count_busy(f, job, false);
    }
    take_out(f, job);
}

/* Kept with the job, since only the newest few stay in view. */
static void count_streak(struct fleet *f, struct job *job)
{
    struct backoff before;
    if (job->outcome == OUTCOME_SUCCEEDED || !origin_is_automatic(job->origin))
        return;
    if (job->outcome == OUTCOME_ABORTED && !job->moved)
        return;
    backoff_of(fleet_newest_finished(f, job->guest_uuid), &before);
    job->streak = before.failures + 1;
}

/* How migrations to a node went of late: a good path is preferred. */
static void count_arrival(struct fleet *f, const struct job *job)
{
    enum { ARRIVALS_MAX = 64 };
    struct node *target = fleet_node(f, job->target);
    if (target == NULL || job->epoch == 0 || job->outcome == OUTCOME_ABORTED)
        return;
    if (job->outcome == OUTCOME_SUCCEEDED)
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
    HASH_DELETE(hh_guest, f->active, job);
    heap_remove(&job->timer);
    count_streak(f, job);
    count_arrival(f, job);
    add_finished(f, job);
    ledger_release(f, job);
    f->drains_due = true;
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest == NULL)
        return;
    if (guest->domains == NULL)
        fleet_forget_guest(f, guest);
    else
        guest->version = f->guests_version = fleet_touch(f);
}

/* It ended while it waited: what woke it is there for the next. */
static void leave_room(struct fleet *f, struct job *job)
{
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (job->woken_for != NULL)
        fleet_node_improved(f, job->woken_for);
    if (job->woken_out != NULL) /* the guest itself may be gone */
        fleet_node_improved(f, job->woken_out);
    if (guest != NULL && guest->owner != NULL && guest->owner->node->blocked.out.n > 0)
        fleet_node_improved(f, guest->owner->node);
    if (job->woken_by_quota && guest != NULL && guest->namespace != NULL) {
        guest->namespace->quota_changed = true;
        fleet_quota_changed(f, guest->namespace);
    }
    job->woken_for = job->woken_out = NULL;
}

void fleet_job_moved(struct fleet *f, struct job *job, enum phase from)
{
    if (from == PHASE_PENDING && phase_is_final(job->phase))
        leave_room(f, job);
    if (from == PHASE_PENDING) {
        f->waiting_jobs--;
        heap_remove(&job->wait);
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
        job = job->older;
    while (job != NULL && job->older != NULL)
        fleet_remove_job(f, job->older);

    while (f->finished_jobs > f->config.jobs_kept) /* guests come and go: a bound over all too */
        fleet_remove_job(f, heap_top(&f->finished));
}
