/* test_sim_world.h - a small simulated world for tests: it keeps what was told and answered,
 * and asks with one line. */
#ifndef TESTS_UNIT_TEST_SIM_WORLD_H
#define TESTS_UNIT_TEST_SIM_WORLD_H

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/act.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"
#include "hypervisor/sim/sim.h"

#define MIB (UINT64_C(1) << 20)
#define UUID_1 "11111111-1111-4111-8111-111111111111"
#define UUID_2 "22222222-2222-4222-8222-222222222222"
enum { WORLD_EVENTS_MAX = 512, WORLD_REPLIES_MAX = 512 };

struct world {
    struct sim *sim;
    struct hv_event events[WORLD_EVENTS_MAX];
    size_t n_events;
    struct hv_reply replies[WORLD_REPLIES_MAX]; /* owned parts freed by world_free */
    size_t n_replies;
    uint64_t last_id, splits; /* splits: what a fault makes by itself */
};

static inline void world_on_event(void *ctx, const struct hv_event *event)
{
    struct world *w = ctx;
    assert_true(w->n_events < WORLD_EVENTS_MAX);
    w->events[w->n_events++] = *event;
}

static inline void world_on_reply(void *ctx, struct hv_reply *take_reply)
{
    struct world *w = ctx;
    assert_true(w->n_replies < WORLD_REPLIES_MAX);
    w->replies[w->n_replies++] = *take_reply;
}

/* A world of hosts h1 and h2 (1 GiB/s links) without guests. */
static inline struct world *world_new(uint64_t seed)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    struct err err = {0};
    w->sim = sim_new(seed, 0, &(struct hv_event_sink){world_on_event, w}, &err);
    assert_non_null(w->sim);
    for (int i = 1; i <= 2; i++) {
        struct sim_host host = {.memory_kib = 64 << 20, .cpus = 8, .link_bps = 1024 * MIB};
        (void)snprintf(host.name, sizeof host.name, "h%d", i);
        assert_true(sim_add_host(w->sim, &host, &err));
    }
    sim_advance(w->sim, 10);
    return w;
}

static inline void world_free(struct world *w)
{
    assert_int_equal(sim_violations(w->sim), w->splits);
    sim_free(w->sim);
    for (size_t i = 0; i < w->n_replies; i++)
        hv_reply_fini(&w->replies[i]);
    free(w);
}

/* 1 GiB, writes 64 MiB/s inside 128 MiB: converges after a few passes. */
static inline struct sim_guest a_guest(const char *name, const char *uuid)
{
    struct sim_guest guest = {.memory_bytes = 1024 * MIB, .working_set_bytes = 128 * MIB};
    guest.dirty_bps = 64 * MIB;
    guest.vcpus = 2;
    TEXT_SET(guest.name, name);
    TEXT_SET(guest.uuid, uuid);
    return guest;
}

static inline void world_add(struct world *w, const char *host, const struct sim_guest *guest)
{
    struct err err = {0};
    assert_true(sim_add_guest(w->sim, host, guest, &err));
}

static inline uint64_t world_submit(struct world *w, struct hv_request request)
{
    struct err err = {0};
    request.id = ++w->last_id;
    request.reply_to = (struct hv_reply_sink){world_on_reply, w};
    const struct hv *hv = sim_hv(w->sim);
    const enum hv_access access = hv_call_access(request.call);
    if (access == HV_ACCESS_OBSERVE)
        assert_true(hv_observe_submit(&(struct hv_observe){hv}, &request, &err));
    else if (access == HV_ACCESS_PROBE)
        assert_true(hv_probe_submit(&(struct hv_probe){hv}, &request, &err));
    else
        assert_true(hv_act_submit(&(struct hv_act){hv}, &request, &err));
    return request.id;
}

static inline uint64_t world_ask(struct world *w, enum hv_call call, const char *host,
                                 const char *guest)
{
    struct hv_request request = {.call = call};
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, guest);
    return world_submit(w, request);
}

static inline uint64_t world_migrate(struct world *w, const char *from, const char *guest,
                                     const char *to, struct hv_migrate how)
{
    struct hv_request request = {.call = HV_CALL_MIGRATE, .with.migrate = how};
    TEXT_SET(request.host, from);
    TEXT_SET(request.guest, guest);
    TEXT_SET(request.with.migrate.target, to);
    return world_submit(w, request);
}

static inline int64_t world_now(struct world *w)
{
    return clock_mono_ms(sim_clock(w->sim));
}
static inline void world_run(struct world *w, int64_t ms)
{
    sim_advance(w->sim, world_now(w) + ms);
}

/* NULL while there is none; more than one is a failure. */
static inline struct hv_reply *world_reply(struct world *w, uint64_t id)
{
    struct hv_reply *found = NULL;
    for (size_t i = 0; i < w->n_replies; i++) {
        if (w->replies[i].id != id)
            continue;
        assert_null(found);
        found = &w->replies[i];
    }
    return found;
}

/* Runs until the answer is there. */
static inline struct hv_reply *world_wait(struct world *w, uint64_t id, int64_t limit_ms)
{
    int64_t until = world_now(w) + limit_ms;
    while (world_reply(w, id) == NULL && sim_next_ms(w->sim) <= until)
        sim_advance(w->sim, sim_next_ms(w->sim));
    struct hv_reply *reply = world_reply(w, id);
    assert_non_null(reply);
    return reply;
}

/* "running(booted)", "absent", "unreachable". */
static inline void world_observe(struct world *w, const char *host, const char *guest,
                                 char *out_text)
{
    uint64_t id = world_ask(w, HV_CALL_DOMAIN_STATE, host, guest);
    const struct hv_observation *observation = &world_wait(w, id, 60000)->with.observation;
    if (observation->presence == HV_PRESENT)
        hv_state_text(observation->state, observation->reason, out_text);
    else
        (void)text_copy(out_text, HV_TEXT_MAX, hv_presence_name(observation->presence));
}

static inline void world_assert_state(struct world *w, const char *host, const char *guest,
                                      const char *expected)
{
    char text[HV_TEXT_MAX];
    world_observe(w, host, guest, text);
    assert_string_equal(text, expected);
}

static inline bool world_told(const struct world *w, const char *host, enum hv_event_kind kind,
                              int a, int b)
{
    for (size_t i = 0; i < w->n_events; i++) {
        const struct hv_event *event = &w->events[i];
        if (event->kind == kind && strcmp(event->host, host) == 0 && event->a == a && event->b == b)
            return true;
    }
    return false;
}

static inline void world_run_until_told(struct world *w, const char *host, enum hv_event_kind kind,
                                        int a, int b)
{
    int64_t until = world_now(w) + 600000;
    while (!world_told(w, host, kind, a, b)) {
        assert_true(sim_next_ms(w->sim) <= until);
        sim_advance(w->sim, sim_next_ms(w->sim));
    }
}

#endif
