/* feed.c - see feed.h.
 *
 * The lock guards pointers, the kept changes and the waiters; nothing is compared or written as
 * text under it. Changes of a turn are collected apart and become visible together with the
 * versions that they lead to. */
#include "exporter/api/feed_change.h"
#include "exporter/api/feed_events.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

enum { TICK_MS = 250, SETTLE_MS = 1000, KEEP_MIN = 16 };

/* The kept changes of a kind, oldest first, in a ring. */
struct ring {
    struct change_block **slots;
    size_t first, n, capacity; /* capacity: a power of two, or 0 */
    uint64_t from;             /* the changes after this version are all here */
    int64_t warm_until_ms;
};

struct feed {
    const struct clock *clock;
    bool is_threaded, has_thread, stopping;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;       /* of taken, newest and stopping; monotonic clock */
    const struct snapshot *taken; /* to be worked on; NULL: none */
    uint64_t n_taken, n_done; /* snapshots handed over; of these, how many are shown or skipped */
    const struct versions *newest;
    struct ring rings[KIND_COUNT];
    struct change_block *oldest, **last; /* all kept ones */
    size_t n_kept, bytes;
    uint64_t written;
    struct feed_waiter *waiters;
    struct event_queue events; /* stored, not shown yet */
    /* Of the turn at work; its thread only. */
    struct event_counts *counts;
    struct change_block *turn, **turn_last;
    bool is_warm[KIND_COUNT];
    bool has_lost[KIND_COUNT]; /* a change could not be written: no memory */
};

/* ---- the kept ones; under the lock ---- */

static struct change_block *ring_at(const struct ring *ring, size_t i)
{
    return ring->slots[(ring->first + i) & (ring->capacity - 1)];
}

static bool ring_grow(struct ring *ring)
{
    size_t capacity = ring->capacity == 0 ? KEEP_MIN : ring->capacity * 2;
    struct change_block **slots = calloc(capacity, sizeof(struct change_block *));
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < ring->n; i++)
        slots[i] = ring_at(ring, i);
    free(ring->slots);
    ring->slots = slots;
    ring->first = 0;
    ring->capacity = capacity;
    return true;
}

static void drop_oldest(struct feed *feed)
{
    struct change_block *block = feed->oldest;
    struct ring *ring = &feed->rings[block->kind];
    feed->oldest = block->next;
    if (feed->oldest == NULL)
        feed->last = &feed->oldest;
    ring->from = block->change.version;
    ring->first = (ring->first + 1) & (ring->capacity - 1);
    ring->n--;
    feed->n_kept--;
    feed->bytes -= block->bytes;
    feed_change_unref(&block->change);
}

/* A change that is not kept makes every version before it too old. */
static void keep(struct feed *feed, struct change_block *block)
{
    struct ring *ring = &feed->rings[block->kind];
    if (ring->n == ring->capacity && !ring_grow(ring)) {
        feed->has_lost[block->kind] = true;
        feed_change_unref(&block->change);
        return;
    }
    block->next = NULL;
    *feed->last = block;
    feed->last = &block->next;
    ring->slots[(ring->first + ring->n++) & (ring->capacity - 1)] = block;
    feed->n_kept++;
    feed->written++;
    feed->bytes += block->bytes;
    while (feed->bytes > FEED_BYTES)
        drop_oldest(feed);
}

/* ---- a turn ---- */

static void on_change(void *ctx, const struct version_change *change)
{
    struct feed *feed = ctx;
    if (!feed->is_warm[change->kind])
        return;
    struct change_block *block = feed_change_new(change, clock_wall_ms(feed->clock));
    if (block == NULL) {
        feed->has_lost[change->kind] = true;
        return;
    }
    *feed->turn_last = block;
    feed->turn_last = &block->next;
}

static void update_warm(struct feed *feed)
{
    int64_t now_ms = clock_mono_ms(feed->clock);
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++) {
        feed->is_warm[kind] = feed->rings[kind].warm_until_ms > now_ms;
        feed->has_lost[kind] = false;
    }
}

/* Those whose turn it is; they are called without the lock. */
static struct feed_waiter *take_waiters(struct feed *feed, bool all)
{
    struct feed_waiter *due = NULL, **at = &feed->waiters;
    int64_t now_ms = clock_mono_ms(feed->clock);
    uint64_t newest = feed->newest == NULL ? 0 : feed->newest->newest;
    while (*at != NULL) {
        struct feed_waiter *waiter = *at;
        if (!all && waiter->until_ms > now_ms && newest <= waiter->after) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        waiter->next = due;
        due = waiter;
    }
    return due;
}

static void wake(struct feed_waiter *due)
{
    while (due != NULL) {
        struct feed_waiter *next = due->next; /* it may be gone afterwards */
        due->wake(due->ctx);
        due = next;
    }
}

/* Makes the turn's result visible. A kind that is cold, or of which a change was lost, has no
 * history before it. */
static void show(struct feed *feed, const struct versions *fresh, uint64_t n_taken)
{
    (void)pthread_mutex_lock(&feed->lock);
    for (struct change_block *block = feed->turn, *next; block != NULL; block = next) {
        next = block->next;
        keep(feed, block);
    }
    feed->turn = NULL;
    feed->turn_last = &feed->turn;
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++)
        if (!feed->is_warm[kind] || feed->has_lost[kind] || feed->newest == NULL)
            feed->rings[kind].from = fresh->newest;
    const struct versions *before = feed->newest;
    feed->newest = fresh;
    feed->n_done = n_taken;
    struct feed_waiter *due = take_waiters(feed, false);
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
    versions_unref(before);
    wake(due);
}

static void skip(struct feed *feed, uint64_t n_taken)
{
    LOG(WARN, "feed_skipped", FIELD_TEXT(ERROR, "no memory: an older state is shown"));
    (void)pthread_mutex_lock(&feed->lock);
    feed->n_done = n_taken;
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
}

static void add_event(struct feed *feed, struct store_event *event, const struct versions *fresh)
{
    bool is_known = event_counts_see(feed->counts, event);
    if (!feed->is_warm[KIND_EVENT])
        return;
    struct change_block *block =
        feed_change_of_event(event, is_known ? CHANGE_MODIFIED : CHANGE_ADDED,
                             versions_number(fresh), clock_wall_ms(feed->clock));
    if (block == NULL) {
        feed->has_lost[KIND_EVENT] = true;
        return;
    }
    *feed->turn_last = block;
    feed->turn_last = &block->next;
}

static void add_events(struct feed *feed, const struct versions *fresh)
{
    (void)pthread_mutex_lock(&feed->lock);
    struct event_queue events = event_queue_take(&feed->events);
    (void)pthread_mutex_unlock(&feed->lock);
    if (events.has_lost)
        feed->has_lost[KIND_EVENT] = true;
    for (struct queued_event *queued = events.first; queued != NULL; queued = queued->next)
        add_event(feed, &queued->event, fresh);
    event_queue_fini(&events);
}

/* snapshot NULL: only events are new. */
static void work_on(struct feed *feed, const struct snapshot *snapshot, uint64_t n_taken)
{
    const struct version_sink sink = {feed, on_change};
    uint64_t first = (uint64_t)clock_wall_ms(feed->clock) * 1000;
    const struct versions *fresh = snapshot == NULL
                                       ? versions_again(feed->newest)
                                       : versions_next(feed->newest, snapshot, first, &sink);
    if (fresh != NULL) {
        add_events(feed, fresh);
        show(feed, fresh, n_taken);
        return;
    }
    for (struct change_block *block = feed->turn, *next; block != NULL; block = next) {
        next = block->next;
        feed_change_unref(&block->change);
    }
    feed->turn = NULL;
    feed->turn_last = &feed->turn;
    skip(feed, n_taken);
}

/* Until the next snapshot, the next tick or the end; under the lock. */
static void sleep_until_tick(struct feed *feed, int64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(&feed->changed, &feed->lock, &until);
}

static void *run(void *arg)
{
    struct feed *feed = arg;
    (void)pthread_mutex_lock(&feed->lock);
    while (!feed->stopping) {
        const struct snapshot *snapshot = feed->taken;
        uint64_t n_taken = feed->n_taken;
        feed->taken = NULL;
        bool has_events = feed->events.n > 0 && feed->newest != NULL;
        if (snapshot != NULL || has_events)
            update_warm(feed);
        else if (feed->n_done == feed->n_taken)
            sleep_until_tick(feed, TICK_MS);
        struct feed_waiter *due = take_waiters(feed, false);
        (void)pthread_mutex_unlock(&feed->lock);
        wake(due);
        if (snapshot != NULL || has_events)
            work_on(feed, snapshot, n_taken);
        snapshot_unref(snapshot);
        (void)pthread_mutex_lock(&feed->lock);
    }
    (void)pthread_mutex_unlock(&feed->lock);
    return NULL;
}

/* ---- the interface ---- */

struct feed *feed_new(const struct clock *clock, bool is_threaded, struct err *err)
{
    struct feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL) {
        err_set(err, ERR_NOMEM, "out of memory: the change feed");
        return NULL;
    }
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&feed->lock, NULL);
    (void)pthread_cond_init(&feed->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    feed->clock = clock;
    feed->is_threaded = is_threaded;
    feed->last = &feed->oldest;
    feed->turn_last = &feed->turn;
    event_queue_init(&feed->events);
    feed->counts = event_counts_new();
    if (feed->counts == NULL) {
        feed_free(feed);
        err_set(err, ERR_NOMEM, "out of memory: the change feed");
        return NULL;
    }
    feed->has_thread = is_threaded && pthread_create(&feed->thread, NULL, run, feed) == 0;
    if (is_threaded && !feed->has_thread) {
        feed_free(feed);
        err_set(err, ERR_NOMEM, "cannot start the thread of the change feed");
        return NULL;
    }
    return feed;
}

void feed_stop(struct feed *feed)
{
    if (feed == NULL)
        return;
    (void)pthread_mutex_lock(&feed->lock);
    feed->stopping = true;
    struct feed_waiter *due = take_waiters(feed, true);
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
    wake(due);
}

void feed_free(struct feed *feed)
{
    if (feed == NULL)
        return;
    feed_stop(feed);
    if (feed->has_thread)
        (void)pthread_join(feed->thread, NULL);
    while (feed->oldest != NULL)
        drop_oldest(feed);
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++)
        free(feed->rings[kind].slots);
    event_queue_fini(&feed->events);
    event_counts_free(feed->counts);
    snapshot_unref(feed->taken);
    versions_unref(feed->newest);
    (void)pthread_mutex_destroy(&feed->lock);
    (void)pthread_cond_destroy(&feed->changed);
    free(feed);
}

void feed_take(struct feed *feed, const struct snapshot *snapshot)
{
    (void)snapshot_ref(snapshot);
    (void)pthread_mutex_lock(&feed->lock);
    const struct snapshot *before = feed->taken;
    feed->taken = feed->is_threaded ? snapshot : NULL;
    uint64_t n_taken = ++feed->n_taken;
    if (!feed->is_threaded)
        update_warm(feed);
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
    snapshot_unref(before); /* overtaken before it was shown */
    if (feed->is_threaded)
        return;
    work_on(feed, snapshot, n_taken);
    snapshot_unref(snapshot);
}

void feed_take_event(struct feed *feed, const struct store_event *event)
{
    (void)pthread_mutex_lock(&feed->lock);
    event_queue_add(&feed->events, event);
    (void)pthread_mutex_unlock(&feed->lock);
}

void feed_know_event(struct feed *feed, const struct store_event *event)
{
    struct store_event known = *event;
    (void)event_counts_see(feed->counts, &known);
}

void feed_settle(struct feed *feed)
{
    (void)pthread_mutex_lock(&feed->lock);
    uint64_t wanted = feed->n_taken;
    int64_t until_ms = clock_mono_ms(clock_system()) + SETTLE_MS, left_ms = SETTLE_MS;
    while (feed->is_threaded && feed->n_done < wanted && left_ms > 0 && !feed->stopping) {
        sleep_until_tick(feed, left_ms);
        left_ms = until_ms - clock_mono_ms(clock_system());
    }
    (void)pthread_mutex_unlock(&feed->lock);
}

const struct versions *feed_newest(struct feed *feed)
{
    (void)pthread_mutex_lock(&feed->lock);
    const struct versions *newest = versions_ref(feed->newest);
    (void)pthread_mutex_unlock(&feed->lock);
    return newest;
}

bool feed_warm(struct feed *feed, enum api_kind kind)
{
    int64_t now_ms = clock_mono_ms(feed->clock);
    (void)pthread_mutex_lock(&feed->lock);
    bool was_warm = feed->rings[kind].warm_until_ms > now_ms;
    feed->rings[kind].warm_until_ms = now_ms + FEED_WARM_MS;
    (void)pthread_mutex_unlock(&feed->lock);
    return was_warm;
}

enum feed_found feed_next(struct feed *feed, enum api_kind kind, uint64_t after,
                          const struct feed_change **out_change, uint64_t *out_at)
{
    enum feed_found found = FEED_NONE;
    (void)pthread_mutex_lock(&feed->lock);
    const struct ring *ring = &feed->rings[kind];
    *out_change = NULL;
    *out_at = feed->newest == NULL ? 0 : feed->newest->newest;
    size_t low = 0, high = ring->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring_at(ring, middle)->change.version <= after)
            low = middle + 1;
        else
            high = middle;
    }
    if (feed->stopping) {
        found = FEED_ENDS;
    } else if (after < ring->from || after > *out_at) {
        found = FEED_GONE;
    } else if (low < ring->n) {
        found = FEED_FOUND;
        *out_change = feed_change_ref(&ring_at(ring, low)->change);
    }
    (void)pthread_mutex_unlock(&feed->lock);
    return found;
}

void feed_wait(struct feed *feed, struct feed_waiter *waiter)
{
    (void)pthread_mutex_lock(&feed->lock);
    uint64_t newest = feed->newest == NULL ? 0 : feed->newest->newest;
    bool is_due = newest > waiter->after || feed->stopping;
    if (!is_due) {
        waiter->next = feed->waiters;
        feed->waiters = waiter;
    }
    (void)pthread_mutex_unlock(&feed->lock);
    if (is_due)
        waiter->wake(waiter->ctx);
}

void feed_stats(struct feed *feed, struct feed_stats *out_stats)
{
    (void)pthread_mutex_lock(&feed->lock);
    *out_stats = (struct feed_stats){
        .changes = feed->n_kept, .bytes = feed->bytes, .written = feed->written};
    for (const struct feed_waiter *waiter = feed->waiters; waiter != NULL; waiter = waiter->next)
        out_stats->waiters++;
    (void)pthread_mutex_unlock(&feed->lock);
}
