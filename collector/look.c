/* look.c - one-off questions: what state has this guest on that host? Exactly one answer each.
 *
 * All wait equally long, so the oldest in flight stands first and expiry looks no further. */
#include "collector/internal.h"

#include <assert.h>
#include <utlist.h>

#include "base/text.h"

void look_init(struct collector *c)
{
    for (size_t i = COLLECTOR_LOOKS_MAX; i-- > 0;) {
        c->looks[i].slot = i;
        LL_PREPEND(c->looks_free, &c->looks[i]);
    }
}

static void answer(struct collector *c, const struct look *look, const struct hv_sight *sight,
                   const struct err *err)
{
    atomic_fetch_sub(&c->n_looks, 1);
    if (c->sink.on_look != NULL)
        c->sink.on_look(c->sink.ctx, look->asker_id, look->host, look->guest, sight, err);
}

static void answer_unreachable(struct collector *c, const struct look *look, const struct err *err)
{
    struct hv_sight sight = {.presence = HV_UNREACHABLE, .job_type = -1, .at_ms = c->now_ms};
    answer(c, look, &sight, err);
}

/* Gives the slot back and returns what was in it. */
static struct look take_slot(struct collector *c, struct look *slot)
{
    struct look look = *slot;
    DL_DELETE(c->looks_in_flight, slot);
    slot->id = 0;
    LL_PREPEND(c->looks_free, slot);
    return look;
}

void look_begin(struct collector *c, const struct post *post)
{
    struct look *look = c->looks_free;
    assert(look != NULL); /* n_looks keeps the bound */
    look->asker_id = post->as.look.asker_id;
    TEXT_SET(look->host, post->as.look.host);
    TEXT_SET(look->guest, post->as.look.guest);
    look->asked_ms = c->now_ms;

    struct err err = {0};
    look->id = collector_ask(c, ASK_LOOK, look->slot, look->host, look->guest, &err);
    if (look->id == 0) {
        answer_unreachable(c, look, &err);
        return;
    }
    LL_DELETE(c->looks_free, look);
    DL_APPEND(c->looks_in_flight, look);
}

void look_reply(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    if (slot >= COLLECTOR_LOOKS_MAX || c->looks[slot].id != reply->id)
        return; /* answered by its timeout already */
    struct look look = take_slot(c, &c->looks[slot]);
    struct hv_sight sight = reply->with.sight;
    if (reply->err.code == ERR_NONE && sight.presence == HV_PRESENT) {
        c->stats.unknown_statuses[0] += !status_is_known_state(sight.state);
        c->stats.unknown_statuses[1] += !status_is_known_type(sight.job_type);
        c->stats.unknown_statuses[2] += !status_is_known_operation(sight.job_operation);
    }
    if (reply->err.code == ERR_HYPERVISOR)
        sight = (struct hv_sight){
            .presence = HV_UNKNOWN, .job_type = -1, .at_ms = reply->with.sight.at_ms};
    else if (reply->err.code != ERR_NONE) {
        answer_unreachable(c, &look, &reply->err);
        return;
    }
    answer(c, &look, &sight, &reply->err);
}

void look_expire(struct collector *c)
{
    while (c->looks_in_flight != NULL && c->now_ms - c->looks_in_flight->asked_ms >= LOOK_LOST_MS) {
        struct look look = take_slot(c, c->looks_in_flight);
        struct err err = {0};
        err_set(&err, ERR_UNREACHABLE, "host '%s' did not say in %d s what state a guest has",
                look.host, LOOK_LOST_MS / 1000);
        answer_unreachable(c, &look, &err);
    }
}
