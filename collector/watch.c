/* watch.c - migrations being sampled: when to poll statistics, and when not. The modes and their
 * transitions are in watch.h.
 *
 * Why there are modes: during the switch-over the source's QEMU may not answer its monitor; a
 * statistics call then hangs in libvirtd and holds the lock that abort needs. libvirt always
 * answers the state of a guest, so the state is queried instead. */
#include "collector/internal.h"

#include <assert.h>

#include "base/text.h"

enum { /* libvirt's virDomainEventSuspendedDetailType, those that matter here */
       SUSPENDED_MIGRATED = 1,
       SUSPENDED_POSTCOPY = 7,
};
enum { /* libvirt's virErrorNumber: answers of a poll that raced with the end of the job */
       HV_CODE_NO_DOMAIN = 42,
       HV_CODE_OPERATION_INVALID = 55,
};

void watch_init(struct collector *c)
{
    for (size_t i = 0; i < COLLECTOR_WATCHES_MAX; i++)
        c->watches[i].slot = i;
}

static bool is_live(const struct watch *w)
{
    return w->mode != WATCH_FREE && w->mode != WATCH_ENDED;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void arm(struct collector *c, struct watch *w)
{
    int64_t at = 0;
    switch (w->mode) {
    case WATCH_FREE: due_clear(&c->due, &w->due); return;
    case WATCH_BEGIN:
        at = w->state_id != 0 ? w->state_asked_ms + c->config.patience_ms : w->next_state_ms;
        break;
    case WATCH_POLL:
        at = w->stats_id != 0 ? w->stats_asked_ms + c->config.patience_ms : w->next_stats_ms;
        break;
    case WATCH_STALLED:
    case WATCH_SWITCHOVER:
        at = w->state_id != 0 ? w->state_asked_ms + STATE_LOST_MS : w->next_state_ms;
        break;
    case WATCH_ENDED: at = w->stats_asked_ms + REPLY_LOST_MS; break;
    }
    due_set(&c->due, &w->due, at);
}

/* The one place where a watch changes its mode. A state queried before the change is ignored after
 * it. */
static void enter(struct collector *c, struct watch *w, enum watch_mode mode)
{
    c->stats.stalled_watches -= w->mode == WATCH_STALLED;
    c->stats.stalled_watches += mode == WATCH_STALLED;
    w->mode = mode;
    w->state_id = 0;
    switch (mode) {
    case WATCH_BEGIN:
    case WATCH_STALLED: w->next_state_ms = c->now_ms; break;
    case WATCH_SWITCHOVER: /* most end before the first query */
        w->next_state_ms = c->now_ms + STATE_EVERY_MS;
        break;
    case WATCH_POLL: w->next_stats_ms = c->now_ms + (w->is_foreign ? FOREIGN_SETTLE_MS : 0); break;
    case WATCH_FREE:
    case WATCH_ENDED: break;
    }
    arm(c, w);
}

static bool is_same_guest(const struct watch *w, const char *host, const char *guest)
{
    return strcmp(w->guest, guest) == 0 && strcmp(w->host, host) == 0;
}

static struct watch *find_live(struct collector *c, const char *job_uid)
{
    for (size_t i = 0; i < COLLECTOR_WATCHES_MAX; i++)
        if (is_live(&c->watches[i]) && strcmp(c->watches[i].job_uid, job_uid) == 0)
            return &c->watches[i];
    return NULL;
}

/* A slot for a new watch: the one that holds a hanging call of this guest, else a free one, else
 * one that only holds another guest's. */
static struct watch *find_slot(struct collector *c, const char *host, const char *guest)
{
    struct watch *free_slot = NULL, *ended = NULL;
    for (size_t i = 0; i < COLLECTOR_WATCHES_MAX; i++) {
        struct watch *w = &c->watches[i];
        if (w->mode == WATCH_ENDED && is_same_guest(w, host, guest))
            return w;
        if (w->mode == WATCH_ENDED && ended == NULL)
            ended = w;
        if (w->mode == WATCH_FREE && free_slot == NULL)
            free_slot = w;
    }
    return free_slot != NULL ? free_slot : ended;
}

static void release(struct collector *c, struct watch *w)
{
    enter(c, w, w->stats_id != 0 ? WATCH_ENDED : WATCH_FREE);
    atomic_fetch_sub(&c->n_watches, 1);
}

void watch_begin(struct collector *c, const struct post *post)
{
    struct watch *old = find_live(c, post->as.watch.job_uid);
    if (old != NULL)
        release(c, old);
    struct watch *w = find_slot(c, post->as.watch.host, post->as.watch.guest);
    assert(w != NULL); /* n_watches keeps the bound */

    bool inherits =
        w->mode == WATCH_ENDED && is_same_guest(w, post->as.watch.host, post->as.watch.guest);
    due_clear(&c->due, &w->due);
    *w = (struct watch){
        .slot = w->slot,
        .stats_id = inherits ? w->stats_id : 0,
        .stats_foreign = inherits,
        .stats_asked_ms = inherits ? w->stats_asked_ms : c->now_ms - QUERY_SPACING_MS,
        .next_seq = post->as.watch.next_seq,
        .is_foreign = post->as.watch.foreign,
        .due = {.owner = DUE_WATCH, .object = w},
    };
    TEXT_SET(w->job_uid, post->as.watch.job_uid);
    TEXT_SET(w->host, post->as.watch.host);
    TEXT_SET(w->guest, post->as.watch.guest);
    enter(c, w, WATCH_BEGIN);
}

void watch_end(struct collector *c, const char *job_uid)
{
    struct watch *w = find_live(c, job_uid);
    if (w != NULL)
        release(c, w);
}

static void query_stats(struct collector *c, struct watch *w)
{
    struct err err = {0};
    c->stats.lag_ms = c->now_ms - w->next_stats_ms;
    c->stats.stats_calls++;
    w->stats_source = w->iteration_waits ? SAMPLE_ITERATION : SAMPLE_POLL;
    w->iteration_waits = false;
    w->stats_foreign = false;
    w->stats_asked_ms = c->now_ms;
    w->stats_id = collector_submit(c, QUERY_STATS, w->slot, w->host, w->guest, &err);
    if (w->stats_id == 0) {
        c->stats.stats_failures++;
        w->next_stats_ms = c->now_ms + c->config.sample_ms;
    }
}

static void query_guest_state(struct collector *c, struct watch *w)
{
    struct err err = {0};
    w->state_asked_ms = c->now_ms;
    w->next_state_ms = c->now_ms + STATE_EVERY_MS;
    w->state_id = collector_submit(c, QUERY_STATE, w->slot, w->host, w->guest, &err);
}

static bool is_older(const struct collector *c, int64_t asked_ms, int64_t limit_ms)
{
    return c->now_ms - asked_ms >= limit_ms;
}

static void run_polling(struct collector *c, struct watch *w)
{
    if (w->stats_id == 0) {
        if (c->now_ms >= w->next_stats_ms)
            query_stats(c, w);
    } else if (is_older(c, w->stats_asked_ms, c->config.patience_ms)) {
        enter(c, w, WATCH_STALLED);
    }
}

static void run_state_queries(struct collector *c, struct watch *w)
{
    int64_t limit_ms = w->mode == WATCH_BEGIN ? c->config.patience_ms : STATE_LOST_MS;
    if (w->state_id != 0 && is_older(c, w->state_asked_ms, limit_ms)) {
        w->state_id = 0;
        w->next_state_ms = c->now_ms;
        if (w->mode == WATCH_BEGIN) { /* a state that cannot be read must not stop sampling */
            enter(c, w, WATCH_POLL);
            return;
        }
    }
    if (w->state_id == 0 && c->now_ms >= w->next_state_ms)
        query_guest_state(c, w);
}

void watch_run(struct collector *c, struct watch *w)
{
    switch (w->mode) {
    case WATCH_FREE: break;
    case WATCH_POLL: run_polling(c, w); break;
    case WATCH_BEGIN:
    case WATCH_STALLED:
    case WATCH_SWITCHOVER: run_state_queries(c, w); break;
    case WATCH_ENDED:
        if (is_older(c, w->stats_asked_ms, REPLY_LOST_MS)) {
            w->stats_id = 0;
            enter(c, w, WATCH_FREE);
        }
        break;
    }
    arm(c, w);
}

/* The remaining bytes need less than a second, or iterations follow each other quickly. */
static bool is_near_end(const struct collector *c, const struct watch *w)
{
    bool little_left = w->is_measuring && w->bandwidth_bps > 0 &&
                       w->remaining < w->bandwidth_bps / 1000 * NEAR_END_MS;
    bool quick_iterations = w->iteration_gap_ms > 0 && w->iteration_gap_ms < NEAR_END_MS &&
                            c->now_ms - w->iteration_ms < NEAR_END_MS;
    return little_left || quick_iterations;
}

/* What is left of the iteration, as time; -1: not known. */
static int64_t left_ms(const struct watch *w, const struct hv_job_stats *stats)
{
    uint64_t bps = w->bandwidth_bps != 0 ? w->bandwidth_bps : stats->memory_bps;
    if (!w->is_measuring || bps == 0)
        return -1;
    return (int64_t)(stats->data_remaining / (bps / 1000 + 1));
}

/* After an answer: the next poll is timed from the query, an iteration from now. */
static void plan_next(struct collector *c, struct watch *w, const struct hv_job_stats *stats)
{
    if (w->is_foreign) {
        w->next_stats_ms = foreign_pace_answered(&w->pace, w->stats_asked_ms, c->now_ms,
                                                 c->config.sample_ms, left_ms(w, stats));
        return;
    }
    int64_t every = is_near_end(c, w) ? c->config.near_end_ms : c->config.sample_ms;
    if (w->iteration_waits && every > QUERY_SPACING_MS)
        every = QUERY_SPACING_MS;
    w->next_stats_ms = later(w->stats_asked_ms + every, c->now_ms);
}

static void take_sample(struct collector *c, struct watch *w, enum sample_source source,
                        int64_t at_ms, const struct hv_job_stats *stats)
{
    /* The host's time stamp, but never in the future or before the previous sample. */
    int64_t mono_ms = at_ms > 0 && at_ms < c->now_ms ? at_ms : c->now_ms;
    if (w->has_sample)
        mono_ms = later(mono_ms, w->sample_ms);
    struct sample sample = {
        .source = source,
        .seq = w->next_seq++,
        .mono_ms = mono_ms,
        .wall_ms = clock_wall_ms(c->clock) - (c->now_ms - mono_ms),
        .gap_ms = w->has_sample ? mono_ms - w->sample_ms : 0,
        .bandwidth_bps = rate_add(&w->rate, mono_ms, stats->data_processed),
        .stats = *stats,
    };
    TEXT_SET(sample.job_uid, w->job_uid);
    TEXT_SET(sample.host, w->host);
    TEXT_SET(sample.guest, w->guest);
    w->has_sample = true;
    w->sample_ms = mono_ms;
    w->remaining = stats->data_remaining;
    w->bandwidth_bps = sample.bandwidth_bps;
    c->stats.samples++;
    c->stats.gap_max_ms = later(c->stats.gap_max_ms, sample.gap_ms);
    if (c->recorder != NULL)
        recorder_append(c->recorder, &sample);
    if (c->sink.on_sample != NULL)
        c->sink.on_sample(c->sink.ctx, &sample);
}

static bool is_race_with_end(const struct err *err)
{
    return err->code == ERR_NOT_FOUND ||
           (err->code == ERR_HYPERVISOR &&
            (err->hv_code == HV_CODE_NO_DOMAIN || err->hv_code == HV_CODE_OPERATION_INVALID));
}

/* While libvirt cleans up after a migration, its statistics tell a failure from a cancellation. */
static void report_end(struct collector *c, struct watch *w, const struct hv_reply *reply)
{
    const struct hv_job_stats *stats = &reply->with.stats;
    bool has_ended = stats->type == HV_JOB_FAILED || stats->type == HV_JOB_CANCELLED;
    if (!has_ended || stats->operation != HV_OPERATION_MIGRATION_OUT || w->is_end_known)
        return;
    w->is_end_known = true;
    struct hv_event event = {
        .kind = HV_EVENT_JOB_ENDED, .a = stats->type, .at_ms = reply->ended_ms, .stats = *stats};
    TEXT_SET(event.host, w->host);
    TEXT_SET(event.guest, w->guest);
    if (c->sink.on_event != NULL)
        c->sink.on_event(c->sink.ctx, &event);
}

void watch_stats(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    if (slot >= COLLECTOR_WATCHES_MAX || c->watches[slot].stats_id != reply->id)
        return;
    struct watch *w = &c->watches[slot];
    w->stats_id = 0;
    if (w->mode == WATCH_ENDED) {
        enter(c, w, WATCH_FREE);
        return;
    }
    if (reply->err.code != ERR_NONE && !is_race_with_end(&reply->err))
        c->stats.stats_failures++;
    if (reply->err.code == ERR_NONE) {
        c->stats.unknown_statuses[1] += !status_is_known_type(reply->with.stats.type);
        c->stats.unknown_statuses[2] += !status_is_known_operation(reply->with.stats.operation);
    }
    w->is_measuring = reply->err.code == ERR_NONE && !w->stats_foreign && !w->is_completed &&
                      sample_is_measurement(&reply->with.stats);
    if (w->is_measuring)
        take_sample(c, w, w->stats_source, reply->ended_ms, &reply->with.stats);
    else if (reply->err.code == ERR_NONE && !w->stats_foreign)
        report_end(c, w, reply);
    if (w->mode == WATCH_POLL)
        plan_next(c, w, &reply->with.stats);
    else /* the hanging call returned: query whether the guest runs again */
        w->next_state_ms = c->now_ms;
    arm(c, w);
}

void watch_state(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    if (slot >= COLLECTOR_WATCHES_MAX || c->watches[slot].state_id != reply->id)
        return;
    struct watch *w = &c->watches[slot];
    const struct hv_observation *observation = &reply->with.observation;
    w->state_id = 0;
    bool present = reply->err.code == ERR_NONE && observation->presence == HV_PRESENT;
    bool switchover = present && observation->state == HV_STATE_PAUSED &&
                      observation->reason == HV_PAUSED_MIGRATION;

    if (w->mode == WATCH_BEGIN) {
        enter(c, w, switchover ? WATCH_SWITCHOVER : WATCH_POLL);
        return;
    }
    if (present && !switchover) {
        if (w->stats_id != 0 && is_older(c, w->stats_asked_ms, REPLY_LOST_MS))
            w->stats_id = 0; /* the guest runs and a minute has passed: the answer will not come */
        if (w->stats_id == 0) {
            enter(c, w, WATCH_POLL);
            return;
        }
    }
    arm(c, w);
}

static void on_suspended(struct collector *c, struct watch *w, int detail)
{
    if (detail == SUSPENDED_MIGRATED)
        enter(c, w, WATCH_SWITCHOVER);
    else if (detail == SUSPENDED_POSTCOPY && w->mode == WATCH_SWITCHOVER)
        enter(c, w, WATCH_POLL); /* the target runs; the source still answers */
}

static void on_iteration(struct collector *c, struct watch *w)
{
    w->iteration_gap_ms = w->has_iteration ? later(c->now_ms - w->iteration_ms, 1) : 0;
    w->has_iteration = true;
    w->iteration_ms = c->now_ms;
    w->iteration_waits = !w->is_foreign;
    if (w->is_foreign) {
        w->next_stats_ms =
            foreign_pace_iteration(&w->pace, c->now_ms, w->iteration_gap_ms, w->next_stats_ms);
    } else if (w->mode == WATCH_POLL && w->stats_id == 0) {
        int64_t soonest = later(c->now_ms, w->stats_asked_ms + QUERY_SPACING_MS);
        if (soonest < w->next_stats_ms)
            w->next_stats_ms = soonest;
    }
    arm(c, w);
}

static void on_lifecycle(struct collector *c, struct watch *w, const struct hv_event *event)
{
    if (event->a == HV_LIFECYCLE_SUSPENDED) {
        on_suspended(c, w, event->b);
    } else if (event->a == HV_LIFECYCLE_RESUMED && w->mode != WATCH_POLL) {
        w->next_state_ms = c->now_ms;
        arm(c, w);
    }
}

/* The final sample: a poll that was answered earlier and arrives later is ignored. */
static void on_completed(struct collector *c, struct watch *w, const struct hv_event *event)
{
    if (w->is_completed)
        return;
    w->is_completed = true;
    w->is_measuring = false;
    take_sample(c, w, SAMPLE_COMPLETED, event->at_ms, &event->stats);
}

/* libvirt ended the target's copy of somebody else's migration: nothing is left for a call to
 * delay, unless the source still switches over, and the source's statistics tell for some
 * milliseconds how it ended. */
static void on_copy_stopped(struct collector *c, struct watch *w)
{
    int64_t soonest = later(c->now_ms, w->stats_asked_ms + QUERY_SPACING_MS);
    if (w->mode != WATCH_POLL || w->stats_id != 0 || soonest >= w->next_stats_ms)
        return;
    w->next_stats_ms = soonest;
    arm(c, w);
}

void watch_event(struct collector *c, const struct hv_event *event)
{
    for (size_t i = 0; i < COLLECTOR_WATCHES_MAX; i++) {
        struct watch *w = &c->watches[i];
        if (is_live(w) && w->is_foreign && strcmp(w->guest, event->guest) == 0 &&
            event->kind == HV_EVENT_LIFECYCLE && event->a == HV_LIFECYCLE_STOPPED)
            on_copy_stopped(c, w);
        if (!is_live(w) || !is_same_guest(w, event->host, event->guest))
            continue;
        if (event->kind == HV_EVENT_LIFECYCLE)
            on_lifecycle(c, w, event);
        else if (event->kind == HV_EVENT_ITERATION)
            on_iteration(c, w);
        else if (event->kind == HV_EVENT_JOB_COMPLETED)
            on_completed(c, w, event);
    }
}
