/* queue.c - see queue.h. A ring, a mutex, two condition variables on the monotonic clock. */
#include "base/queue.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t has_item, has_room;
    size_t item_bytes, capacity, head, depth;
    bool closed;
    unsigned char ring[];
};

struct queue *queue_new(size_t item_bytes, size_t capacity, struct err *err)
{
    assert(item_bytes > 0 && capacity > 0);
    struct queue *q = calloc(1, sizeof *q + item_bytes * capacity);
    if (q == NULL) {
        err_set(err, ERR_NOMEM, "queue of %zu items", capacity);
        return NULL;
    }
    q->item_bytes = item_bytes;
    q->capacity = capacity;
    (void)pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&q->has_item, &attr);
    (void)pthread_cond_init(&q->has_room, &attr);
    (void)pthread_condattr_destroy(&attr);
    return q;
}

void queue_free(struct queue *q)
{
    if (q == NULL)
        return;
    (void)pthread_cond_destroy(&q->has_item);
    (void)pthread_cond_destroy(&q->has_room);
    (void)pthread_mutex_destroy(&q->lock);
    free(q);
}

static struct timespec deadline_after(int64_t timeout_ms)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(timeout_ms / 1000);
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* Waits on cond, lock held. False when the time is over. */
static bool wait_until(struct queue *q, pthread_cond_t *cond, int64_t timeout_ms,
                       const struct timespec *deadline)
{
    if (timeout_ms == 0)
        return false;
    if (timeout_ms < 0)
        return pthread_cond_wait(cond, &q->lock) == 0;
    return pthread_cond_timedwait(cond, &q->lock, deadline) != ETIMEDOUT;
}

bool queue_push(struct queue *q, const void *item)
{
    return queue_push_wait(q, item, 0);
}

bool queue_push_wait(struct queue *q, const void *item, int64_t timeout_ms)
{
    struct timespec deadline = {0};
    if (timeout_ms > 0)
        deadline = deadline_after(timeout_ms);

    (void)pthread_mutex_lock(&q->lock);
    while (q->depth == q->capacity && !q->closed)
        if (!wait_until(q, &q->has_room, timeout_ms, &deadline))
            break;
    bool pushed = q->depth < q->capacity && !q->closed;
    if (pushed) {
        size_t slot = (q->head + q->depth) % q->capacity;
        memcpy(q->ring + slot * q->item_bytes, item, q->item_bytes);
        q->depth++;
        (void)pthread_cond_signal(&q->has_item);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return pushed;
}

enum queue_pop queue_pop(struct queue *q, void *out_item, int64_t timeout_ms)
{
    struct timespec deadline = {0};
    if (timeout_ms > 0)
        deadline = deadline_after(timeout_ms);

    (void)pthread_mutex_lock(&q->lock);
    while (q->depth == 0 && !q->closed)
        if (!wait_until(q, &q->has_item, timeout_ms, &deadline))
            break;
    enum queue_pop result = q->closed ? QUEUE_CLOSED : QUEUE_EMPTY;
    if (q->depth > 0) {
        memcpy(out_item, q->ring + q->head * q->item_bytes, q->item_bytes);
        q->head = (q->head + 1) % q->capacity;
        q->depth--;
        (void)pthread_cond_signal(&q->has_room);
        result = QUEUE_ITEM;
    }
    (void)pthread_mutex_unlock(&q->lock);
    return result;
}

void queue_close(struct queue *q)
{
    (void)pthread_mutex_lock(&q->lock);
    q->closed = true;
    (void)pthread_cond_broadcast(&q->has_item);
    (void)pthread_cond_broadcast(&q->has_room);
    (void)pthread_mutex_unlock(&q->lock);
}

size_t queue_depth(const struct queue *q)
{
    struct queue *writable = (struct queue *)(uintptr_t)q; /* the lock is not part of the value */
    (void)pthread_mutex_lock(&writable->lock);
    size_t depth = q->depth;
    (void)pthread_mutex_unlock(&writable->lock);
    return depth;
}

size_t queue_capacity(const struct queue *q)
{
    return q->capacity;
}
