/* test_collector_fake.h - what a story can make the scripted hypervisor say: answers to what it
 * was asked, and events. Each lets the collector step, so that its reaction can be seen next. */
#ifndef TESTS_UNIT_TEST_COLLECTOR_FAKE_H
#define TESTS_UNIT_TEST_COLLECTOR_FAKE_H

#include <string.h>

#include "tests/unit/test_collector_stage.h"

/* The newest question of a kind that waits for its answer; NULL when there is none. */
static inline struct stage_ask *stage_open(struct stage *s, enum hv_call call)
{
    for (size_t i = s->n_asks; i-- > 0;)
        if (s->asks[i].request.call == call && !s->asks[i].answered)
            return &s->asks[i];
    return NULL;
}
static inline size_t stage_n_open(const struct stage *s, enum hv_call call)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_asks; i++)
        n += s->asks[i].request.call == call && !s->asks[i].answered;
    return n;
}

static inline struct hv_reply stage_reply(const struct stage *s, const struct stage_ask *a)
{
    struct hv_reply reply = {.id = a->request.id,
                             .call = a->request.call,
                             .queued_ms = a->at_ms,
                             .began_ms = a->at_ms,
                             .ended_ms = s->clock.now_ms};
    TEXT_SET(reply.host, a->request.host);
    TEXT_SET(reply.guest, a->request.guest);
    return reply;
}
static inline void stage_send(struct stage_ask *a, struct hv_reply *reply)
{
    a->answered = true;
    a->request.reply_to.on_reply(a->request.reply_to.ctx, reply);
}
static inline void stage_answer_error(struct stage *s, enum hv_call call, enum err_code code,
                                      int hv_code)
{
    struct stage_ask *a = stage_open(s, call);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    err_set(&reply.err, code, "scripted");
    reply.err.hv_code = hv_code;
    stage_send(a, &reply);
    stage_step(s);
}
static inline void stage_answer_stats(struct stage *s, const struct hv_job_stats *stats)
{
    struct stage_ask *a = stage_open(s, HV_CALL_JOB_STATS);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.stats = *stats;
    stage_send(a, &reply);
    stage_step(s);
}
static inline void stage_answer_state(struct stage *s, enum hv_presence presence, int state,
                                      int reason)
{
    struct stage_ask *a = stage_open(s, HV_CALL_DOMAIN_STATE);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.observation = (struct hv_observation){
        .presence = presence, .state = state, .reason = reason, .at_ms = s->clock.now_ms};
    stage_send(a, &reply);
    stage_step(s);
}
static inline void stage_answer_list(struct stage *s, size_t n)
{
    struct stage_ask *a = stage_open(s, HV_CALL_LIST_GUESTS);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.guests = calloc(1, sizeof *reply.with.guests);
    assert_non_null(reply.with.guests);
    reply.with.guests->n = n;
    reply.with.guests->guests = calloc(n + 1, sizeof *reply.with.guests->guests);
    stage_send(a, &reply);
    stage_step(s);
}
/* A list of guests that have a name; they run unless the state says otherwise. */
static inline void stage_answer_guests(struct stage *s, const char *const *uuids, size_t n,
                                       int state, int reason)
{
    struct stage_ask *a = stage_open(s, HV_CALL_LIST_GUESTS);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.guests = calloc(1, sizeof *reply.with.guests);
    assert_non_null(reply.with.guests);
    reply.with.guests->n = n;
    reply.with.guests->guests = calloc(n + 1, sizeof *reply.with.guests->guests);
    for (size_t i = 0; i < n; i++) {
        TEXT_SET(reply.with.guests->guests[i].uuid, uuids[i]);
        reply.with.guests->guests[i].state = state;
        reply.with.guests->guests[i].reason = reason;
        reply.with.guests->guests[i].persistent = s->lists_persistent;
    }
    stage_send(a, &reply);
    stage_step(s);
}
static inline void stage_answer_definition(struct stage *s, const char *text)
{
    struct stage_ask *a = stage_open(s, HV_CALL_GUEST_XML);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.text = strdup(text);
    reply.snapshots = s->keeps_snapshots;
    stage_send(a, &reply);
    stage_step(s);
}
static inline void stage_answer_stored(struct stage *s, const char *text)
{
    struct stage_ask *a = stage_open(s, HV_CALL_GUEST_XML_STORED);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.text = strdup(text);
    stage_send(a, &reply);
    stage_step(s);
}
static inline void stage_answer_capabilities(struct stage *s, uint64_t hash, uint64_t free_pages)
{
    struct stage_ask *a = stage_open(s, HV_CALL_HOST_CAPABILITIES);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.capabilities = calloc(1, sizeof *reply.with.capabilities);
    assert_non_null(reply.with.capabilities);
    reply.with.capabilities->hash = hash;
    reply.with.capabilities->n_pages = 1;
    reply.with.capabilities->pages[0] = (struct hv_pages){2048, 512, free_pages};
    stage_send(a, &reply);
    stage_step(s);
}
static inline void stage_answer_facts(struct stage *s)
{
    struct stage_ask *a = stage_open(s, HV_CALL_HOST_FACTS);
    assert_non_null(a);
    struct hv_reply reply = stage_reply(s, a);
    reply.with.facts.cpus = 8;
    stage_send(a, &reply);
    stage_step(s);
}

static inline void stage_post_event(struct stage *s, enum hv_event_kind kind, const char *host,
                                    const char *guest, int a, int b)
{
    struct hv_event event = {.kind = kind, .a = a, .b = b, .at_ms = s->clock.now_ms};
    TEXT_SET(event.host, host);
    TEXT_SET(event.guest, guest);
    if (kind == HV_EVENT_DISCONNECTED)
        err_set(&event.err, ERR_UNREACHABLE, "keepalive");
    s->events.on_event(s->events.ctx, &event);
}
static inline void stage_event(struct stage *s, enum hv_event_kind kind, const char *host,
                               const char *guest, int a, int b)
{
    stage_post_event(s, kind, host, guest, a, b);
    stage_step(s);
}

/* A migration in its passes. */
static inline struct hv_job_stats stage_copying(uint64_t processed, uint64_t remaining)
{
    return (struct hv_job_stats){
        .type = HV_JOB_UNBOUNDED,
        .operation = HV_OPERATION_MIGRATION_OUT,
        .data_total = 1024 * MIB,
        .data_processed = processed,
        .data_remaining = remaining,
        .memory_total = 1024 * MIB,
        .memory_bps = 77 * MIB,
    };
}
/* Starts a watch of GUEST_1 on HOST_A and answers its first look: running. */
static inline void stage_watch(struct stage *s, const char *job_uid, int64_t next_seq)
{
    struct err err = {0};
    assert_true(collector_watch(s->c, job_uid, HOST_A, GUEST_1, next_seq, &err));
    stage_step(s);
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
}

#endif
