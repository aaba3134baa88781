/* definition.c - definitions: read when a guest is new, after an event that may have changed it,
 * and again when the last reading is old (not every change sends an event). First the live
 * definition, then the persistent one if the guest has one; the sink gets both together.
 *
 * Each host has a queue of guests to be read and at most one query in flight; hosts with queued
 * guests share one queue for the fleet's COLLECTOR_DEFINITIONS_MAX queries. So the definitions of
 * 200,000 guests after a start do not delay state queries and lists. The sink does not get an
 * unchanged definition again.
 */
#include "collector/internal.h"

#include <utlist.h>

#include "base/hash.h"
#include "base/text.h"

void definition_arm(struct collector *c, struct host *h)
{
    bool has_work = h->definitions.line != NULL && h->definitions.id == 0 && h->connected;
    if (has_work && !h->definitions.in_queue)
        DL_APPEND2(c->definition_queue, h, definitions.prev, definitions.next);
    if (!has_work && h->definitions.in_queue)
        DL_DELETE2(c->definition_queue, h, definitions.prev, definitions.next);
    h->definitions.in_queue = has_work;
}

static void enqueue_guest(struct host *h, struct known *known)
{
    if (h->definitions.being_read == known)
        known->again = true; /* the answer in flight may be older than the event */
    else if (!known->waits)
        DL_APPEND(h->definitions.line, known);
    known->waits = known->waits || h->definitions.being_read != known;
}

static void forget(struct host *h, struct known *known)
{
    if (known->waits)
        DL_DELETE(h->definitions.line, known);
    if (h->definitions.being_read == known)
        h->definitions.being_read = NULL;
    HASH_DEL(h->definitions.known, known);
    free(known);
}

static struct known *find(struct host *h, const char *uuid)
{
    struct known *known = NULL;
    HASH_FIND_STR(h->definitions.known, uuid, known);
    return known;
}

static struct known *add(struct host *h, const char *uuid)
{
    struct known *known = calloc(1, sizeof *known);
    if (known == NULL)
        return NULL;
    TEXT_SET(known->uuid, uuid);
    HASH_ADD_STR(h->definitions.known, uuid, known);
    if (known->hh.tbl == NULL) { /* no memory: the next list adds it again */
        free(known);
        return NULL;
    }
    return known;
}

/* An incoming copy, or a source in its switch-over: not read now, an event follows. */
static bool is_in_transit(const struct hv_guest *guest)
{
    return guest->state == HV_STATE_PAUSED && guest->reason == HV_PAUSED_MIGRATION;
}

/* Deleting a snapshot sends no event, and until then the guest cannot migrate. */
enum { SNAPSHOTS_AGAIN_MS = 30000 };

static bool is_old(const struct collector *c, const struct known *known)
{
    int64_t age_ms = c->now_ms - known->read_ms;
    return !known->has_reading || age_ms >= c->config.definition_ms ||
           (known->snapshots > 0 && age_ms >= SNAPSHOTS_AGAIN_MS);
}

void definition_listed(struct collector *c, struct host *h, const struct hv_guest_list *guests)
{
    if (c->sink.on_definition == NULL)
        return;
    unsigned listed = 0;
    struct known *next = h->definitions.known; /* lists come in the same order nearly always */
    h->definitions.n_lists++;
    for (size_t i = 0; i < guests->n; i++) {
        const struct hv_guest *guest = &guests->guests[i];
        struct known *known = next;
        if (known == NULL || strcmp(known->uuid, guest->uuid) != 0)
            known = find(h, guest->uuid);
        if (known == NULL)
            known = add(h, guest->uuid);
        if (known == NULL)
            continue;
        listed += known->list != h->definitions.n_lists;
        known->list = h->definitions.n_lists;
        next = known->hh.next;
        bool is_redefined = known->persistent != guest->persistent;
        known->persistent = guest->persistent;
        if ((is_old(c, known) || is_redefined) && !is_in_transit(guest))
            enqueue_guest(h, known);
    }
    struct known *known = NULL, *after = NULL;
    if (listed != HASH_COUNT(h->definitions.known))
        HASH_ITER(hh, h->definitions.known, known, after)
        {
            if (known->list != h->definitions.n_lists)
                forget(h, known);
        }
    definition_arm(c, h);
}

void definition_event(struct collector *c, struct host *h, const struct hv_event *event)
{
    bool is_lifecycle = event->kind == HV_EVENT_LIFECYCLE;
    if (is_lifecycle && event->a != HV_LIFECYCLE_DEFINED && event->a != HV_LIFECYCLE_STARTED &&
        event->a != HV_LIFECYCLE_RESUMED)
        return;
    struct known *known = find(h, event->guest);
    if (known != NULL) { /* else the next list adds it */
        if (is_lifecycle)
            known->hash = 0; /* passed again even if unchanged: the sink may have lost it */
        enqueue_guest(h, known);
    }
    definition_arm(c, h);
}

static void query(struct collector *c, struct host *h)
{
    struct err err = {0};
    struct known *known = h->definitions.line;
    DL_DELETE(h->definitions.line, known);
    known->waits = false;
    known->read_ms = c->now_ms;
    h->definitions.id = collector_submit(c, QUERY_DEFINITION, h->slot, h->name, known->uuid, &err);
    h->definitions.asked_ms = c->now_ms;
    known->has_reading = h->definitions.id != 0; /* refused: again with the next list */
    if (h->definitions.id != 0) {
        h->definitions.being_read = known;
        c->n_definitions++;
        if (h->due.position == 0 || h->due.at_ms > c->now_ms + REPLY_LOST_MS)
            due_set(&c->due, &h->due, c->now_ms + REPLY_LOST_MS);
    }
}

void definition_run(struct collector *c)
{
    while (c->definition_queue != NULL && c->n_definitions < COLLECTOR_DEFINITIONS_MAX) {
        struct host *h = c->definition_queue;
        query(c, h);
        definition_arm(c, h);
    }
}

/* The query has ended, answered or not. Returns its guest, NULL when it is gone. */
static struct known *settle(struct collector *c, struct host *h)
{
    struct known *known = h->definitions.being_read;
    free(TAKE(h->definitions.live));
    h->definitions.being_read = NULL;
    h->definitions.id = 0;
    c->n_definitions--;
    if (known != NULL && known->again) {
        known->again = false;
        enqueue_guest(h, known);
    }
    return known;
}

void definition_expire(struct collector *c, struct host *h)
{
    if (h->definitions.id != 0 && c->now_ms - h->definitions.asked_ms >= REPLY_LOST_MS) {
        struct known *known = settle(c, h);
        if (known != NULL)
            known->has_reading = false;
    }
    definition_arm(c, h);
}

/* Never 0. A missing text differs from an empty one. */
static uint64_t hash_of(const char *live, const char *stored, int snapshots)
{
    uint64_t hash = hash_step(hash_text(HASH_START, live), stored != NULL);
    hash = hash_step(hash_text(hash, stored != NULL ? stored : ""), (unsigned)snapshots);
    return hash != 0 ? hash : 1;
}

static void give(struct collector *c, struct host *h, struct known *known, const char *live,
                 const char *stored)
{
    uint64_t hash = hash_of(live, stored, known->snapshots);
    if (hash == known->hash)
        return;
    known->has_reading =
        c->sink.on_definition(c->sink.ctx, h->name, known->uuid, live, stored, known->snapshots);
    known->hash = known->has_reading && !known->waits ? hash : 0;
}

/* The second query about the same guest takes the slot of the first. */
static bool query_stored(struct collector *c, struct host *h, struct hv_reply *reply)
{
    struct err err = {0};
    uint64_t id =
        collector_submit(c, QUERY_STORED, h->slot, h->name, h->definitions.being_read->uuid, &err);
    if (id == 0)
        return false;
    h->definitions.id = id;
    h->definitions.asked_ms = c->now_ms;
    h->definitions.live = TAKE(reply->with.text);
    return true;
}

void definition_live(struct collector *c, size_t slot, struct hv_reply *reply)
{
    struct host *h = inventory_slot(c, slot);
    if (h == NULL || h->definitions.id != reply->id)
        return;
    struct known *known = h->definitions.being_read;
    bool has_text = reply->err.code == ERR_NONE && reply->with.text != NULL;
    c->stats.definitions += has_text;
    if (has_text && known != NULL)
        known->snapshots = reply->snapshots;
    if (has_text && known != NULL && known->persistent && query_stored(c, h, reply))
        return;
    known = settle(c, h);
    if (known != NULL && has_text)
        give(c, h, known, reply->with.text, NULL);
    else if (known != NULL)
        known->has_reading = false;
    definition_arm(c, h);
}

/* Host lost: neither definition is passed on. Query refused (the guest was undefined meanwhile):
 * only the live one is. */
void definition_stored(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    struct host *h = inventory_slot(c, slot);
    if (h == NULL || h->definitions.id != reply->id)
        return;
    OWNED_TEXT live = TAKE(h->definitions.live);
    struct known *known = settle(c, h);
    bool has_text = reply->err.code == ERR_NONE && reply->with.text != NULL;
    if (known != NULL && reply->err.code != ERR_UNREACHABLE)
        give(c, h, known, live, has_text ? reply->with.text : NULL);
    else if (known != NULL)
        known->has_reading = false;
    definition_arm(c, h);
}

void definition_fini(struct host *h)
{
    struct known *known = NULL, *after = NULL;
    HASH_ITER(hh, h->definitions.known, known, after)
    {
        forget(h, known);
    }
    free(TAKE(h->definitions.live));
}
