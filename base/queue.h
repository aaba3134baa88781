/* queue.h - how data is passed between threads: a bounded queue of copied items.
 *
 * Many producers, any number of consumers. Items are copied in and out by value; a pointer inside
 * an item changes owner with it. The capacity is fixed at creation. Pushing to a full queue returns
 * false and the producer decides (drop and count, wait, or refuse its own caller). Threads: every
 * function may be called from any thread, except free (last user only).
 */
#ifndef BASE_QUEUE_H
#define BASE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

struct queue;

enum queue_pop { QUEUE_ITEM, QUEUE_EMPTY, QUEUE_CLOSED };

struct queue *queue_new(size_t item_bytes, size_t capacity, struct err *err);
void queue_free(struct queue *q); /* items still queued are not freed */
DEFINE_OWNED(queue)

/* False when full or closed; nothing is copied then. Never blocks for long. */
MUST_CHECK bool queue_push(struct queue *q, const void *item);
/* Waits up to timeout_ms for room (< 0: for ever, until closed). */
MUST_CHECK bool queue_push_wait(struct queue *q, const void *item, int64_t timeout_ms);
/* Waits up to timeout_ms (0: not at all, < 0: for ever). After close() the remaining items are
 * returned first, then QUEUE_CLOSED. */
enum queue_pop queue_pop(struct queue *q, void *out_item, int64_t timeout_ms);
void queue_close(struct queue *q);

size_t queue_depth(const struct queue *q);
size_t queue_capacity(const struct queue *q);

#endif
