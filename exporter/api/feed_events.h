/* feed_events.h - events on their way to watches, and how often each was seen.
 *
 * The engine tells of each stored event once; one that repeats (same object, reason and message) is
 * the same Event with a count, as in the store. Counts are known for the newest EVENT_COUNTS_MAX,
 * from the store on after a restart; an older one that comes again begins with 1 in a watch.
 * Private to the feed; not threaded: the feed's lock guards the queue, the counts are of the
 * thread that works on turns. */
#ifndef EXPORTER_API_FEED_EVENTS_H
#define EXPORTER_API_FEED_EVENTS_H

#include "exporter/api/feed.h"
#include "store/row_types.h"

enum { EVENT_QUEUE_MAX = 4096, EVENT_COUNTS_MAX = 4096 };

/* A copy, with its texts behind it. */
struct queued_event {
    struct queued_event *next;
    struct store_event event;
    char texts[];
};
struct event_queue {
    struct queued_event *first, **last;
    size_t n;
    bool has_lost; /* one did not fit, or there was no memory */
};
void event_queue_init(struct event_queue *queue);
void event_queue_add(struct event_queue *queue, const struct store_event *event);
/* All of them, in order; the queue is empty afterwards. */
struct event_queue event_queue_take(struct event_queue *queue);
void event_queue_fini(struct event_queue *queue);

struct event_counts;
struct event_counts *event_counts_new(void); /* NULL without memory */
void event_counts_free(struct event_counts *counts);
/* Counts it and fills first_ms and count; true: it was seen before. */
bool event_counts_see(struct event_counts *counts, struct store_event *event);

/* The number that names an event: the same for repeated ones, in every run. */
uint64_t event_number(const struct store_event *event);

#endif
