/* recorder.c - see recorder.h. Rings grow by doubling, since most migrations are short and 512
 * full rings would be half a gigabyte. When RECORDER_JOBS_MAX rings exist the one that has been
 * silent longest makes room: the store still has its samples. */
#include "collector/recorder.h"

#include <assert.h>
#include <pthread.h>

#include "base/text.h"
#include "collector/hash.h"

enum { RING_FIRST = 64 };

struct ring {
    char job_uid[SAMPLE_JOB_MAX];
    struct sample *samples;
    size_t capacity, head, n; /* head: the oldest */
    uint64_t touched;
    UT_hash_handle hh;
};

struct recorder {
    struct store *store;
    pthread_mutex_t lock; /* everything below; never held while the store is called */
    struct ring *rings;
    uint64_t turn, dropped;
};

struct recorder *recorder_new(struct store *store, struct err *err)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (r == NULL) {
        err_set(err, ERR_NOMEM, "recorder");
        return NULL;
    }
    r->store = store;
    (void)pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void ring_drop(struct recorder *r, struct ring *ring)
{
    HASH_DEL(r->rings, ring);
    free(ring->samples);
    free(ring);
}

void recorder_free(struct recorder *r)
{
    if (r == NULL)
        return;
    struct ring *ring = NULL, *next = NULL;
    HASH_ITER(hh, r->rings, ring, next)
    ring_drop(r, ring);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
}

static void make_room(struct recorder *r)
{
    if (HASH_COUNT(r->rings) < RECORDER_JOBS_MAX)
        return;
    struct ring *silent = r->rings;
    for (struct ring *ring = r->rings; ring != NULL; ring = ring->hh.next)
        if (ring->touched < silent->touched)
            silent = ring;
    ring_drop(r, silent);
}

static struct ring *ring_of(struct recorder *r, const char *job_uid)
{
    struct ring *ring = NULL;
    HASH_FIND_STR(r->rings, job_uid, ring);
    return ring;
}

/* NULL when memory is short. */
static struct ring *ring_make(struct recorder *r, const char *job_uid)
{
    make_room(r);
    struct ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return NULL;
    TEXT_SET(ring->job_uid, job_uid);
    HASH_ADD_STR(r->rings, job_uid, ring);
    if (ring->hh.tbl == NULL) {
        free(ring);
        return NULL;
    }
    return ring;
}

/* Doubles the room until RECORDER_RING_MAX. Only called when full, so head may be anywhere;
 * the samples are laid out oldest first. A failure leaves the ring as it is. */
static void ring_grow(struct ring *ring)
{
    size_t grown = ring->capacity == 0 ? RING_FIRST : ring->capacity * 2;
    if (grown > RECORDER_RING_MAX)
        return;
    struct sample *samples = malloc(grown * sizeof *samples);
    if (samples == NULL)
        return;
    for (size_t i = 0; i < ring->n; i++)
        samples[i] = ring->samples[(ring->head + i) % ring->capacity];
    free(ring->samples);
    ring->samples = samples;
    ring->capacity = grown;
    ring->head = 0;
}

static void ring_push(struct ring *ring, const struct sample *sample)
{
    if (ring->n == ring->capacity)
        ring_grow(ring);
    if (ring->capacity == 0)
        return;
    if (ring->n == ring->capacity) { /* full for good: the oldest goes */
        ring->head = (ring->head + 1) % ring->capacity;
        ring->n--;
    }
    ring->samples[(ring->head + ring->n) % ring->capacity] = *sample;
    ring->n++;
}

static int64_t as_i64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void fill_row(struct store_sample *row, const struct sample *sample)
{
    const struct hv_job_stats *stats = &sample->stats;
    *row = (struct store_sample){
        .seq = sample->seq,
        .at_ms = sample->wall_ms,
        .mono_ms = sample->mono_ms,
        .time_elapsed_ms = as_i64(stats->time_elapsed_ms),
        .downtime_ms = as_i64(stats->downtime_ms),
        .setup_ms = as_i64(stats->setup_ms),
        .data_total = as_i64(stats->data_total),
        .data_processed = as_i64(stats->data_processed),
        .data_remaining = as_i64(stats->data_remaining),
        .memory_total = as_i64(stats->memory_total),
        .memory_processed = as_i64(stats->memory_processed),
        .memory_remaining = as_i64(stats->memory_remaining),
        .memory_bps = as_i64(stats->memory_bps),
        .memory_dirty_rate = as_i64(stats->memory_dirty_rate),
        .memory_page_size = as_i64(stats->memory_page_size),
        .memory_iteration = as_i64(stats->memory_iteration),
        .memory_postcopy_requests = as_i64(stats->memory_postcopy_requests),
        .memory_constant = as_i64(stats->memory_constant),
        .memory_normal_bytes = as_i64(stats->memory_normal_bytes),
        .disk_total = as_i64(stats->disk_total),
        .disk_processed = as_i64(stats->disk_processed),
        .disk_remaining = as_i64(stats->disk_remaining),
        .disk_bps = as_i64(stats->disk_bps),
        .throttle_percent = as_i64(stats->auto_converge_throttle),
        .bandwidth_bps = as_i64(sample->bandwidth_bps),
    };
    TEXT_SET(row->job_uid, sample->job_uid);
    TEXT_SET(row->source, sample_source_name(sample->source));
}

void recorder_append(struct recorder *r, const struct sample *sample)
{
    assert(sample->job_uid[0] != '\0');
    struct store_sample row;
    fill_row(&row, sample);
    bool stored = r->store->ops->append_samples(r->store, &row, 1);

    (void)pthread_mutex_lock(&r->lock);
    struct ring *ring = ring_of(r, sample->job_uid);
    if (ring == NULL)
        ring = ring_make(r, sample->job_uid);
    if (ring != NULL) {
        ring->touched = ++r->turn;
        ring_push(ring, sample);
    }
    if (!stored)
        r->dropped++;
    (void)pthread_mutex_unlock(&r->lock);
}

void recorder_end(struct recorder *r, const char *job_uid)
{
    (void)pthread_mutex_lock(&r->lock);
    struct ring *ring = ring_of(r, job_uid);
    if (ring != NULL)
        ring_drop(r, ring);
    (void)pthread_mutex_unlock(&r->lock);
}

size_t recorder_copy(struct recorder *r, const char *job_uid, struct sample *out_samples, size_t n)
{
    (void)pthread_mutex_lock(&r->lock);
    const struct ring *ring = ring_of(r, job_uid);
    size_t copied = ring == NULL ? 0 : ring->n < n ? ring->n : n;
    for (size_t i = 0; i < copied; i++) {
        size_t at = ring->head + (ring->n - copied) + i;
        out_samples[i] = ring->samples[at % ring->capacity];
    }
    (void)pthread_mutex_unlock(&r->lock);
    return copied;
}

uint64_t recorder_dropped(const struct recorder *r)
{
    struct recorder *writable = (struct recorder *)(uintptr_t)r; /* the lock is not its value */
    (void)pthread_mutex_lock(&writable->lock);
    uint64_t dropped = r->dropped;
    (void)pthread_mutex_unlock(&writable->lock);
    return dropped;
}
