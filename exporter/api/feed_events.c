/* feed_events.c - see feed_events.h. */
#include "exporter/api/feed_events.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/hash.h"

uint64_t event_number(const struct store_event *event)
{
    uint64_t hash = hash_word(HASH_START, event->uid == NULL ? "" : event->uid);
    return hash_word(hash_word(hash, event->reason), event->message);
}

/* ---- the queue ---- */

void event_queue_init(struct event_queue *queue)
{
    *queue = (struct event_queue){0};
    queue->last = &queue->first;
}

static const char *keep(char **at, const char *text)
{
    size_t n = strlen(text == NULL ? "" : text) + 1;
    char *kept = memcpy(*at, text == NULL ? "" : text, n);
    *at += n;
    return kept;
}

void event_queue_add(struct event_queue *queue, const struct store_event *event)
{
    const char *const texts[] = {event->kind, event->ns,     event->name,   event->uid,
                                 event->type, event->reason, event->message};
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT(texts); i++)
        bytes += strlen(texts[i] == NULL ? "" : texts[i]) + 1;
    struct queued_event *queued =
        queue->n < EVENT_QUEUE_MAX ? malloc(sizeof *queued + bytes) : NULL;
    if (queued == NULL) {
        queue->has_lost = true;
        return;
    }
    char *at = queued->texts;
    *queued = (struct queued_event){.event = *event};
    queued->event.kind = keep(&at, event->kind);
    queued->event.ns = keep(&at, event->ns);
    queued->event.name = keep(&at, event->name);
    queued->event.uid = keep(&at, event->uid);
    queued->event.type = keep(&at, event->type);
    queued->event.reason = keep(&at, event->reason);
    queued->event.message = keep(&at, event->message);
    *queue->last = queued;
    queue->last = &queued->next;
    queue->n++;
}

struct event_queue event_queue_take(struct event_queue *queue)
{
    struct event_queue taken = *queue;
    if (taken.first == NULL)
        taken.last = NULL; /* the caller's copy has another place for it */
    event_queue_init(queue);
    return taken;
}

void event_queue_fini(struct event_queue *queue)
{
    for (struct queued_event *event = queue->first, *next; event != NULL; event = next) {
        next = event->next;
        free(event);
    }
    queue->first = NULL;
}

/* ---- counts ---- */

struct counted {
    uint64_t number;
    int64_t first_ms, count;
    UT_hash_handle hh; /* the one seen longest ago comes first */
};
struct event_counts {
    struct counted *all;
};

struct event_counts *event_counts_new(void)
{
    return calloc(1, sizeof(struct event_counts));
}

static void forget(struct event_counts *counts, struct counted *counted)
{
    HASH_DEL(counts->all, counted);
    free(counted);
}

void event_counts_free(struct event_counts *counts)
{
    if (counts == NULL)
        return;
    while (counts->all != NULL)
        forget(counts, counts->all);
    free(counts);
}

bool event_counts_see(struct event_counts *counts, struct store_event *event)
{
    struct counted *counted = NULL;
    uint64_t number = event_number(event);
    int64_t more = event->count > 0 ? event->count : 1;
    HASH_FIND(hh, counts->all, &number, sizeof number, counted);
    bool is_known = counted != NULL;
    if (is_known)
        HASH_DEL(counts->all, counted);
    else
        counted = calloc(1, sizeof *counted);
    if (event->first_ms == 0)
        event->first_ms = event->at_ms;
    event->count = more;
    if (counted == NULL)
        return false; /* no memory: it counts from 1 */
    if (!is_known)
        *counted = (struct counted){.number = number, .first_ms = event->first_ms};
    counted->count += more;
    HASH_ADD(hh, counts->all, number, sizeof counted->number, counted);
    if (HASH_COUNT(counts->all) > EVENT_COUNTS_MAX)
        forget(counts, counts->all);
    event->count = counted->count;
    event->first_ms = counted->first_ms;
    return is_known;
}
