/* state_query.c - the state of one guest on one host, on request. Exactly one answer each.
 *
 * All have the same timeout, so the list in flight is ordered by age and expiry stops at the first
 * that is not due. */
#include "collector/internal.h"

#include <assert.h>
#include <utlist.h>

#include "base/text.h"

void state_query_init(struct collector *c)
{
    for (size_t i = COLLECTOR_STATE_QUERIES_MAX; i-- > 0;) {
        c->queries[i].slot = i;
        LL_PREPEND(c->queries_free, &c->queries[i]);
    }
}

static void answer(struct collector *c, const struct state_query *query,
                   const struct hv_observation *observation, const struct err *err)
{
    atomic_fetch_sub(&c->n_queries, 1);
    if (c->sink.on_observed != NULL)
        c->sink.on_observed(c->sink.ctx, query->asker_id, query->host, query->guest, observation,
                            err);
}

static void answer_unreachable(struct collector *c, const struct state_query *query,
                               const struct err *err)
{
    struct hv_observation observation = {
        .presence = HV_UNREACHABLE, .job_type = -1, .at_ms = c->now_ms};
    answer(c, query, &observation, err);
}

/* Gives the slot back and returns what was in it. */
static struct state_query take_slot(struct collector *c, struct state_query *slot)
{
    struct state_query query = *slot;
    DL_DELETE(c->queries_in_flight, slot);
    slot->id = 0;
    LL_PREPEND(c->queries_free, slot);
    return query;
}

void state_query_begin(struct collector *c, const struct post *post)
{
    struct state_query *query = c->queries_free;
    assert(query != NULL); /* n_monitor_inputs keeps the bound */
    query->asker_id = post->as.query.asker_id;
    TEXT_SET(query->host, post->as.query.host);
    TEXT_SET(query->guest, post->as.query.guest);
    query->asked_ms = c->now_ms;

    struct err err = {0};
    query->id =
        collector_submit(c, QUERY_STATE_QUERY, query->slot, query->host, query->guest, &err);
    if (query->id == 0) {
        answer_unreachable(c, query, &err);
        return;
    }
    LL_DELETE(c->queries_free, query);
    DL_APPEND(c->queries_in_flight, query);
}

void state_query_reply(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    if (slot >= COLLECTOR_STATE_QUERIES_MAX || c->queries[slot].id != reply->id)
        return; /* answered by its timeout already */
    struct state_query query = take_slot(c, &c->queries[slot]);
    struct hv_observation observation = reply->with.observation;
    if (reply->err.code == ERR_NONE && observation.presence == HV_PRESENT) {
        c->stats.unknown_statuses[0] += !status_is_known_state(observation.state);
        c->stats.unknown_statuses[1] += !status_is_known_type(observation.job_type);
        c->stats.unknown_statuses[2] += !status_is_known_operation(observation.job_operation);
    }
    if (reply->err.code == ERR_HYPERVISOR)
        observation = (struct hv_observation){
            .presence = HV_UNKNOWN, .job_type = -1, .at_ms = reply->with.observation.at_ms};
    else if (reply->err.code != ERR_NONE) {
        answer_unreachable(c, &query, &reply->err);
        return;
    }
    answer(c, &query, &observation, &reply->err);
}

void state_query_expire(struct collector *c)
{
    while (c->queries_in_flight != NULL &&
           c->now_ms - c->queries_in_flight->asked_ms >= STATE_LOST_MS) {
        struct state_query query = take_slot(c, c->queries_in_flight);
        struct err err = {0};
        err_set(&err, ERR_UNREACHABLE, "host '%s' did not answer a state query within %d s",
                query.host, STATE_LOST_MS / 1000);
        answer_unreachable(c, &query, &err);
    }
}
