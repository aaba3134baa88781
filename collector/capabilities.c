/* capabilities.c - capabilities of hosts: queried when a host connects and every capabilities_ms, a
 * bounded number at a time in the fleet, because the answers are long. Passed to the sink when they
 * changed, free pages included, and once after each connection.
 */
#include "collector/internal.h"

#include <utlist.h>

#include "base/hash.h"

static void leave_queue(struct collector *c, struct host *h)
{
    if (h->capabilities.in_queue)
        DL_DELETE2(c->capabilities_queue, h, capabilities.prev, capabilities.next);
    h->capabilities.in_queue = false;
}

static void enqueue_host(struct collector *c, struct host *h)
{
    if (!h->capabilities.in_queue)
        DL_APPEND2(c->capabilities_queue, h, capabilities.prev, capabilities.next);
    h->capabilities.in_queue = true;
    h->capabilities.at_ms = 0;
}

void capabilities_connected(struct collector *c, struct host *h)
{
    h->capabilities.hash = 0;
    if (!h->connected) {
        leave_queue(c, h);
        h->capabilities.at_ms = 0;
    } else if (h->capabilities.id == 0 && c->sink.on_capabilities != NULL) {
        enqueue_host(c, h);
    }
}

int64_t capabilities_due_ms(const struct host *h)
{
    if (h->capabilities.id != 0)
        return h->capabilities.asked_ms + REPLY_LOST_MS;
    return h->capabilities.at_ms != 0 ? h->capabilities.at_ms : INT64_MAX;
}

/* The query has ended, answered or not. */
static void settle(struct collector *c, struct host *h)
{
    h->capabilities.id = 0;
    c->n_capabilities--;
    if (h->connected)
        h->capabilities.at_ms = h->capabilities.asked_ms + c->config.capabilities_ms;
}

/* The host's deadline is shared by all its queries: here it may only become earlier. */
static void arm(struct collector *c, struct host *h)
{
    int64_t due_ms = capabilities_due_ms(h);
    if (due_ms != INT64_MAX && (h->due.position == 0 || h->due.at_ms > due_ms))
        due_set(&c->due, &h->due, due_ms);
}

void capabilities_due(struct collector *c, struct host *h)
{
    if (h->capabilities.id != 0 && c->now_ms - h->capabilities.asked_ms >= REPLY_LOST_MS)
        settle(c, h);
    if (h->capabilities.id == 0 && h->capabilities.at_ms != 0 && c->now_ms >= h->capabilities.at_ms)
        enqueue_host(c, h);
}

void capabilities_run(struct collector *c)
{
    while (c->capabilities_queue != NULL && c->n_capabilities < COLLECTOR_CAPABILITIES_MAX) {
        struct host *h = c->capabilities_queue;
        struct err err = {0};
        leave_queue(c, h);
        h->capabilities.id = collector_submit(c, QUERY_CAPABILITIES, h->slot, h->name, "", &err);
        h->capabilities.asked_ms = c->now_ms;
        c->n_capabilities += h->capabilities.id != 0;
        if (h->capabilities.id == 0) /* refused */
            h->capabilities.at_ms = c->now_ms + LIST_RETRY_MS;
        arm(c, h);
    }
}

static uint64_t hash_of(const struct hv_capabilities *capabilities)
{
    uint64_t hash = capabilities->hash;
    for (size_t i = 0; i < capabilities->n_pages; i++)
        hash = hash_step(hash, capabilities->pages[i].free);
    return hash != 0 ? hash : 1;
}

void capabilities_reply(struct collector *c, size_t slot, struct hv_reply *reply)
{
    struct host *h = inventory_slot(c, slot);
    if (h == NULL || h->capabilities.id != reply->id)
        return;
    settle(c, h);
    bool has_list = reply->err.code == ERR_NONE && reply->with.capabilities != NULL;
    c->stats.capabilities += has_list;
    uint64_t hash = has_list ? hash_of(reply->with.capabilities) : 0;
    if (has_list && h->connected && hash != h->capabilities.hash) {
        h->capabilities.hash = 0;
        if (c->sink.on_capabilities(c->sink.ctx, h->name, reply->with.capabilities)) {
            reply->with.capabilities = NULL;
            h->capabilities.hash = hash;
        }
    }
    if (!has_list && h->connected)
        h->capabilities.at_ms = c->now_ms + c->config.inventory_ms;
    arm(c, h);
}
