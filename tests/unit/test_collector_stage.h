/* test_collector_stage.h - a scripted hypervisor and a stage for the collector's stories.
 *
 * The hypervisor only notes what it is asked; the story answers when and what it likes. Time
 * moves in stage_run(), which sleeps exactly as long as collector_step() says it may: a step
 * that promises to be idle for too long makes stories fail. */
#ifndef TESTS_UNIT_TEST_COLLECTOR_STAGE_H
#define TESTS_UNIT_TEST_COLLECTOR_STAGE_H

#include "tests/unit/test_collector_seen.h"

static inline struct stage *stage_new(struct recorder *recorder,
                                      const struct collector_config *config)
{
    static const struct hv_ops ops = {.submit = stage_submit};
    static const struct collector_config defaults = {0};
    struct stage *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->asks = calloc(STAGE_MAX, sizeof *s->asks);
    assert_non_null(s->asks);
    clock_fake_init(&s->clock, 1700000000000);
    s->clock.now_ms = 5000;
    s->refuse_call = -1;
    s->hv = (struct hv){&ops, s};
    s->observe = (struct hv_observe){&s->hv};
    struct collector_sink sink = {s,
                                  stage_on_sample,
                                  stage_on_host,
                                  stage_on_facts,
                                  stage_on_guests,
                                  stage_on_event,
                                  stage_on_observed,
                                  stage_on_definition,
                                  stage_on_capabilities};
    struct err err = {0};
    s->c =
        collector_new(config == NULL ? &defaults : config, &s->clock.clock, recorder, &sink, &err);
    assert_non_null(s->c);
    s->events = collector_event_sink(s->c);
    collector_attach(s->c, &s->observe);
    return s;
}
static inline void stage_free(struct stage *s)
{
    collector_free(s->c);
    free(s->asks);
    free(s);
}
DEFINE_OWNED(stage)

static inline void stage_host(struct stage *s, const char *host)
{
    struct err err = {0};
    assert_true(collector_add_host(s->c, host, &err));
}
/* Two hosts, no events yet. */
static inline struct stage *stage_two_hosts(void)
{
    struct stage *s = stage_new(NULL, NULL);
    stage_host(s, HOST_A);
    stage_host(s, HOST_B);
    return s;
}

static inline void stage_step(struct stage *s)
{
    while (collector_step(s->c) == 0)
        ;
}
/* Lets ms pass, stepping whenever the collector said it wants to. */
static inline void stage_run(struct stage *s, int64_t ms)
{
    int64_t end_ms = s->clock.now_ms + ms;
    for (;;) {
        int64_t wait_ms = collector_step(s->c);
        assert_true(wait_ms >= 0 && wait_ms <= 1000);
        if (s->clock.now_ms + wait_ms > end_ms)
            break;
        s->clock.now_ms += wait_ms;
    }
    s->clock.now_ms = end_ms;
    stage_step(s);
}

#endif
