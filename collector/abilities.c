/* abilities.c - what hosts offer to guests: asked when a host connects and every abilities_ms, a
 * bounded number at a time in the fleet, because the answers are long. Given to the sink when it
 * changed, free pages included, and once after each connection.
 */
#include "collector/internal.h"

#include <utlist.h>

#include "base/hash.h"

static void leave_queue(struct collector *c, struct host *h)
{
    if (h->abilities.in_queue)
        DL_DELETE2(c->abilities_queue, h, abilities.prev, abilities.next);
    h->abilities.in_queue = false;
}

static void stand_in_queue(struct collector *c, struct host *h)
{
    if (!h->abilities.in_queue)
        DL_APPEND2(c->abilities_queue, h, abilities.prev, abilities.next);
    h->abilities.in_queue = true;
    h->abilities.at_ms = 0;
}

void abilities_connected(struct collector *c, struct host *h)
{
    h->abilities.hash = 0;
    if (!h->connected) {
        leave_queue(c, h);
        h->abilities.at_ms = 0;
    } else if (h->abilities.id == 0 && c->sink.on_abilities != NULL) {
        stand_in_queue(c, h);
    }
}

int64_t abilities_due_ms(const struct host *h)
{
    if (h->abilities.id != 0)
        return h->abilities.asked_ms + REPLY_LOST_MS;
    return h->abilities.at_ms != 0 ? h->abilities.at_ms : INT64_MAX;
}

/* The question is over, one way or the other. */
static void settle(struct collector *c, struct host *h)
{
    h->abilities.id = 0;
    c->n_abilities--;
    if (h->connected)
        h->abilities.at_ms = h->abilities.asked_ms + c->config.abilities_ms;
}

/* The host's deadline is for all that is asked of it: it only comes nearer here. */
static void arm(struct collector *c, struct host *h)
{
    int64_t due_ms = abilities_due_ms(h);
    if (due_ms != INT64_MAX && (h->due.place == 0 || h->due.at_ms > due_ms))
        due_set(&c->due, &h->due, due_ms);
}

void abilities_due(struct collector *c, struct host *h)
{
    if (h->abilities.id != 0 && c->now_ms - h->abilities.asked_ms >= REPLY_LOST_MS)
        settle(c, h);
    if (h->abilities.id == 0 && h->abilities.at_ms != 0 && c->now_ms >= h->abilities.at_ms)
        stand_in_queue(c, h);
}

void abilities_run(struct collector *c)
{
    while (c->abilities_queue != NULL && c->n_abilities < COLLECTOR_ABILITIES_MAX) {
        struct host *h = c->abilities_queue;
        struct err err = {0};
        leave_queue(c, h);
        h->abilities.id = collector_ask(c, ASK_ABILITIES, h->slot, h->name, "", &err);
        h->abilities.asked_ms = c->now_ms;
        c->n_abilities += h->abilities.id != 0;
        if (h->abilities.id == 0) /* refused */
            h->abilities.at_ms = c->now_ms + LIST_RETRY_MS;
        arm(c, h);
    }
}

static uint64_t hash_of(const struct hv_abilities *abilities)
{
    uint64_t hash = abilities->hash;
    for (size_t i = 0; i < abilities->n_pages; i++)
        hash = hash_step(hash, abilities->pages[i].free);
    return hash != 0 ? hash : 1;
}

void abilities_reply(struct collector *c, size_t slot, struct hv_reply *reply)
{
    if (slot >= c->n_hosts || c->hosts[slot]->abilities.id != reply->id)
        return;
    struct host *h = c->hosts[slot];
    settle(c, h);
    bool has_list = reply->err.code == ERR_NONE && reply->with.abilities != NULL;
    c->stats.abilities += has_list;
    uint64_t hash = has_list ? hash_of(reply->with.abilities) : 0;
    if (has_list && h->connected && hash != h->abilities.hash) {
        h->abilities.hash = 0;
        if (c->sink.on_abilities(c->sink.ctx, h->name, reply->with.abilities)) {
            reply->with.abilities = NULL;
            h->abilities.hash = hash;
        }
    }
    if (!has_list && h->connected)
        h->abilities.at_ms = c->now_ms + c->config.inventory_ms;
    arm(c, h);
}
