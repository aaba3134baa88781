/* test_collector_seen.h - what a stage keeps: the questions that came, and everything the collector
 * gave to its sink. */
#ifndef TESTS_UNIT_TEST_COLLECTOR_SEEN_H
#define TESTS_UNIT_TEST_COLLECTOR_SEEN_H

#include "tests/test.h"

#include <stdio.h>

#include "base/text.h"
#include "collector/collector.h"

enum { STAGE_MAX = 32768, STAGE_SEEN_MAX = 512 };
#define HOST_A "host-a"
#define HOST_B "host-b"
#define GUEST_1 "11111111-1111-1111-1111-111111111111"
#define GUEST_2 "22222222-2222-2222-2222-222222222222"
#define MIB ((uint64_t)1 << 20)

struct stage_ask {
    struct hv_request request;
    int64_t at_ms;
    bool answered;
};
struct stage_observed {
    uint64_t id;
    char host[HV_HOST_MAX];
    struct hv_observation observation;
    enum err_code code;
};
struct stage {
    struct clock_fake clock;
    struct hv hv;
    struct hv_observe observe;
    struct collector *c;
    struct hv_event_sink events;
    int refuse_call; /* this call is refused with LIMIT; -1: none */
    struct stage_ask *asks;
    size_t n_asks;
    size_t n_of[HV_CALL_COUNT];

    struct sample samples[STAGE_SEEN_MAX];
    struct stage_observed observed[STAGE_SEEN_MAX];
    size_t n_samples, n_observed, n_connected, n_lost, n_facts, n_lists, n_events;
    size_t guests_in_last_list;
    size_t samples_at_last_event; /* order of sample and event */
    struct hv_event last_event;
    size_t n_definitions;
    char definition[HV_TEXT_MAX];   /* "host guest text" of the newest */
    int keeps_snapshots, snapshots; /* of the guest that is read; as told */
    bool loses_definitions;         /* the sink cannot keep them */
    bool lists_persistent;          /* guests of the lists to come */
    size_t n_capabilities;
    bool loses_capabilities;
    uint64_t free_pages; /* of the newest */
};

static inline bool stage_submit(void *impl, const struct hv_request *request, struct err *err)
{
    struct stage *s = impl;
    if ((int)request->call == s->refuse_call)
        return err_set(err, ERR_LIMIT, "the lane is full");
    assert_true(s->n_asks < STAGE_MAX);
    s->asks[s->n_asks++] = (struct stage_ask){*request, s->clock.now_ms, false};
    s->n_of[request->call]++;
    return true;
}

static inline void stage_on_sample(void *ctx, const struct sample *sample)
{
    struct stage *s = ctx;
    assert_true(s->n_samples < STAGE_SEEN_MAX);
    s->samples[s->n_samples++] = *sample;
}
static inline void stage_on_host(void *ctx, const char *host, bool connected, const struct err *err)
{
    struct stage *s = ctx;
    (void)host;
    assert_int_equal(connected, err->code == ERR_NONE);
    s->n_connected += connected;
    s->n_lost += !connected;
}
static inline void stage_on_facts(void *ctx, const char *host, const struct hv_facts *facts)
{
    struct stage *s = ctx;
    (void)host;
    assert_int_equal(facts->cpus, 8);
    s->n_facts++;
}
static inline void stage_on_guests(void *ctx, const char *host, const struct hv_guest_list *guests)
{
    struct stage *s = ctx;
    (void)host;
    s->n_lists++;
    s->guests_in_last_list = guests->n;
}
static inline void stage_on_event(void *ctx, const struct hv_event *event)
{
    struct stage *s = ctx;
    assert_true(event->kind != HV_EVENT_CONNECTED && event->kind != HV_EVENT_DISCONNECTED);
    s->n_events++;
    s->last_event = *event;
    s->samples_at_last_event = s->n_samples;
}
static inline void stage_on_observed(void *ctx, uint64_t id, const char *host, const char *guest,
                                     const struct hv_observation *observation,
                                     const struct err *err)
{
    struct stage *s = ctx;
    (void)guest;
    assert_true(s->n_observed < STAGE_SEEN_MAX);
    struct stage_observed *one = &s->observed[s->n_observed++];
    *one = (struct stage_observed){.id = id, .observation = *observation, .code = err->code};
    TEXT_SET(one->host, host);
}

static inline bool stage_on_definition(void *ctx, const char *host, const char *guest,
                                       const char *xml, const char *stored_xml, int snapshots)
{
    struct stage *s = ctx;
    s->n_definitions++;
    s->snapshots = snapshots;
    (void)snprintf(s->definition, sizeof s->definition, "%s %.8s %s%s%s", host, guest, xml,
                   stored_xml != NULL ? " stored " : "", stored_xml != NULL ? stored_xml : "");
    return !s->loses_definitions;
}
static inline bool stage_on_capabilities(void *ctx, const char *host,
                                         struct hv_capabilities *take_capabilities)
{
    struct stage *s = ctx;
    (void)host;
    s->n_capabilities++;
    s->free_pages = take_capabilities->pages[0].free;
    if (!s->loses_capabilities)
        hv_capabilities_free(take_capabilities);
    return !s->loses_capabilities;
}

#endif
