/* definition.c - definitions: read when a guest is new, after an event that may have changed it,
 * and again when the last reading is old (not every change is told). The live one first, then, of a
 * guest that has one, the persistent one; both are given together.
 *
 * Each host has a line of guests to be read and at most one question in flight; hosts with a line
 * stand in one queue for the fleet's COLLECTOR_DEFINITIONS_MAX questions. So a fleet of 200,000
 * guests is read in good order after a start, and nobody's looks and lists wait behind it. A
 * definition that did not change is not given to the sink again.
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

static void stand_in_line(struct host *h, struct known *known)
{
    if (h->definitions.being_read == known)
        known->again = true; /* what is on its way may be from before */
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
    if (known->hh.tbl == NULL) { /* no memory: it is new again with the next list */
        free(known);
        return NULL;
    }
    return known;
}

/* An incoming copy, or one in its blackout: left alone, an event follows. */
static bool is_in_transit(const struct hv_guest *guest)
{
    return guest->state == HV_STATE_PAUSED && guest->reason == HV_PAUSED_MIGRATION;
}

/* Nobody tells when a snapshot is dropped, and until then the guest cannot move. */
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
            stand_in_line(h, known);
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
    if (known != NULL) { /* else it is new with the list that follows */
        if (is_lifecycle)
            known->hash = 0; /* given again in any case: the reader may have lost it meanwhile */
        stand_in_line(h, known);
    }
    definition_arm(c, h);
}

static void ask(struct collector *c, struct host *h)
{
    struct err err = {0};
    struct known *known = h->definitions.line;
    DL_DELETE(h->definitions.line, known);
    known->waits = false;
    known->read_ms = c->now_ms;
    h->definitions.id = collector_ask(c, ASK_DEFINITION, h->slot, h->name, known->uuid, &err);
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
        ask(c, h);
        definition_arm(c, h);
    }
}

/* The question is over, one way or the other. Returns whom it was about, NULL when gone. */
static struct known *settle(struct collector *c, struct host *h)
{
    struct known *known = h->definitions.being_read;
    free(TAKE(h->definitions.live));
    h->definitions.being_read = NULL;
    h->definitions.id = 0;
    c->n_definitions--;
    if (known != NULL && known->again) {
        known->again = false;
        stand_in_line(h, known);
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

/* Never 0. A text that is not there is another text than an empty one. */
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

/* The second question about the same guest, in the place of the first. */
static bool ask_stored(struct collector *c, struct host *h, struct hv_reply *reply)
{
    struct err err = {0};
    uint64_t id =
        collector_ask(c, ASK_STORED, h->slot, h->name, h->definitions.being_read->uuid, &err);
    if (id == 0)
        return false;
    h->definitions.id = id;
    h->definitions.asked_ms = c->now_ms;
    h->definitions.live = TAKE(reply->with.text);
    return true;
}

void definition_live(struct collector *c, size_t slot, struct hv_reply *reply)
{
    if (slot >= c->n_hosts || c->hosts[slot]->definitions.id != reply->id)
        return;
    struct host *h = c->hosts[slot];
    struct known *known = h->definitions.being_read;
    bool has_text = reply->err.code == ERR_NONE && reply->with.text != NULL;
    c->stats.definitions += has_text;
    if (has_text && known != NULL)
        known->snapshots = reply->snapshots;
    if (has_text && known != NULL && known->persistent && ask_stored(c, h, reply))
        return;
    known = settle(c, h);
    if (known != NULL && has_text)
        give(c, h, known, reply->with.text, NULL);
    else if (known != NULL)
        known->has_reading = false;
    definition_arm(c, h);
}

/* A host that is gone says nothing about either; one that refuses (it was undefined meanwhile)
 * leaves the live one. */
void definition_stored(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    if (slot >= c->n_hosts || c->hosts[slot]->definitions.id != reply->id)
        return;
    struct host *h = c->hosts[slot];
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
