/* test_collector_sim.c - the collector on the simulated world: a whole migration is seen from
 * its first pass to its end, a stalled stream shows as no bandwidth, and a libvirtd that stops
 * answering is left alone until it answers again. */
#include "tests/test.h"

#include "base/text.h"
#include "collector/collector.h"
#include "hypervisor/act.h"
#include "hypervisor/sim/sim.h"

#define GUEST "11111111-1111-1111-1111-111111111111"
#define MIB ((uint64_t)1 << 20)

struct seen {
    size_t samples, by_source[3], guests, lists;
    int64_t gap_max_ms, last_seq;
    bool migrate_returned;
    struct sample last;
    struct err migrate_err;
};
struct world {
    struct sim *sim;
    struct hv_observe observe;
    struct hv_act act;
    struct collector *c;
    struct seen seen;
};

static void on_sample(void *ctx, const struct sample *sample)
{
    struct seen *seen = ctx;
    assert_int_equal(sample->seq, seen->last_seq + 1);
    seen->last_seq = sample->seq;
    seen->samples++;
    seen->by_source[sample->source]++;
    if (sample->gap_ms > seen->gap_max_ms)
        seen->gap_max_ms = sample->gap_ms;
    seen->last = *sample;
}
static void on_guests(void *ctx, const char *host, const struct hv_guest_list *guests)
{
    struct seen *seen = ctx;
    (void)host;
    seen->lists++;
    seen->guests += guests->n;
}
static void on_migrated(void *ctx, struct hv_reply *take_reply)
{
    struct seen *seen = ctx;
    seen->migrate_returned = true;
    seen->migrate_err = take_reply->err;
    hv_reply_fini(take_reply);
}

/* The simulator's clock is needed at birth and its events go to the collector, so the clock is
 * reached through the world. */
static int64_t world_mono_ms(void *ctx)
{
    const struct world *w = ctx;
    return clock_mono_ms(sim_clock(w->sim));
}
static int64_t world_wall_ms(void *ctx)
{
    const struct world *w = ctx;
    return clock_wall_ms(sim_clock(w->sim));
}

static void world_open(struct world *w, struct clock *clock)
{
    struct err err = {0};
    struct collector_config config = {0};
    struct collector_sink sink = {.ctx = &w->seen, .on_sample = on_sample, .on_guests = on_guests};
    *w = (struct world){.seen.last_seq = -1};
    *clock = (struct clock){world_mono_ms, world_wall_ms, w};
    w->c = collector_new(&config, clock, NULL, &sink, &err);
    assert_non_null(w->c);
    struct hv_event_sink events = collector_event_sink(w->c);
    w->sim = sim_new(1, 1700000000000, &events, &err);
    assert_non_null(w->sim);
    w->observe.hv = w->act.hv = sim_hv(w->sim);
    collector_attach(w->c, &w->observe);
    static const char *const names[] = {"a", "b"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct sim_host host = {.memory_kib = 64 << 20, .cpus = 8, .link_bps = 100 * MIB};
        TEXT_SET(host.name, names[i]);
        assert_true(sim_add_host(w->sim, &host, &err));
        assert_true(collector_add_host(w->c, names[i], &err));
    }
    struct sim_guest guest = {.name = "guest", .uuid = GUEST, .ns = "default", .vcpus = 1};
    guest.memory_bytes = 1024 * MIB;
    guest.working_set_bytes = 200 * MIB;
    guest.dirty_bps = 20 * MIB;
    assert_true(sim_add_guest(w->sim, "a", &guest, &err));
}
static void world_close(struct world *w)
{
    sim_free(w->sim);
    collector_free(w->c);
}

static void world_run(struct world *w, int64_t ms)
{
    const struct clock *clock = sim_clock(w->sim);
    int64_t end_ms = clock_mono_ms(clock) + ms;
    while (clock_mono_ms(clock) < end_ms) {
        int64_t now_ms = clock_mono_ms(clock);
        int64_t next_ms = now_ms + collector_step(w->c);
        int64_t sim_ms = sim_next_ms(w->sim);
        next_ms = sim_ms < next_ms ? sim_ms : next_ms;
        sim_advance(w->sim, next_ms < now_ms ? now_ms : next_ms < end_ms ? next_ms : end_ms);
    }
    while (collector_step(w->c) == 0)
        ;
}

static void world_migrate(struct world *w)
{
    struct err err = {0};
    assert_true(collector_watch(w->c, "job", "a", GUEST, 0, &err));
    struct hv_request request = {
        .id = 1, .call = HV_CALL_MIGRATE, .reply_to = {on_migrated, &w->seen}};
    TEXT_SET(request.host, "a");
    TEXT_SET(request.guest, GUEST);
    TEXT_SET(request.with.migrate.target, "b");
    assert_true(hv_act_submit(&w->act, &request, &err));
}

static void a_migration_is_sampled_from_its_first_iteration_to_its_end(void **state)
{
    (void)state;
    struct world w;
    struct clock clock;
    world_open(&w, &clock);
    world_run(&w, 1000);
    assert_true(w.seen.lists >= 2);
    assert_true(w.seen.guests >= 1);
    world_migrate(&w);
    world_run(&w, 60000);
    assert_true(w.seen.migrate_returned);
    assert_int_equal(w.seen.migrate_err.code, ERR_NONE);
    assert_true(w.seen.by_source[SAMPLE_POLL] >= 20);     /* 10 s at 400 ms */
    assert_true(w.seen.by_source[SAMPLE_ITERATION] >= 2); /* passes */
    assert_int_equal(w.seen.by_source[SAMPLE_COMPLETED], 1);
    assert_int_equal(w.seen.last.source, SAMPLE_COMPLETED);
    assert_in_range(w.seen.gap_max_ms, 100, 1500); /* the switch-over is not measured */
    struct collector_stats stats;
    collector_stats(w.c, &stats);
    assert_int_equal(stats.posts_dropped, 0);
    assert_int_equal(stats.stats_failures, 0);
    assert_string_equal(sim_guest_host(w.sim, GUEST), "b");
    world_close(&w);
}

static void add_fault(struct world *w, enum sim_fault_kind kind, int64_t duration_ms)
{
    struct err err = {0};
    struct sim_fault fault = {.kind = kind, .after_iteration_ms = 2000, .duration_ms = duration_ms};
    TEXT_SET(fault.host, "a");
    TEXT_SET(fault.guest, GUEST);
    assert_true(sim_add_fault(w->sim, &fault, &err));
}

static void a_stalled_stream_shows_as_no_bandwidth(void **state)
{
    (void)state;
    struct world w;
    struct clock clock;
    world_open(&w, &clock);
    world_run(&w, 1000);
    add_fault(&w, SIM_FAULT_STREAM_STALL, 0);
    world_migrate(&w);
    world_run(&w, 3000);
    assert_true(w.seen.last.bandwidth_bps > 10 * MIB);
    world_run(&w, 10000);
    assert_false(w.seen.migrate_returned);
    assert_in_range(w.seen.samples, 25, 60); /* it went on measuring */
    assert_true(w.seen.last.bandwidth_bps < MIB / 10);
    world_close(&w);
}

static void a_stopped_libvirtd_is_not_polled_until_it_answers_again(void **state)
{
    (void)state;
    struct world w;
    struct clock clock;
    struct collector_stats before, during, after;
    world_open(&w, &clock);
    world_run(&w, 1000);
    add_fault(&w, SIM_FAULT_STOP_LIBVIRTD, 4000);
    world_migrate(&w);
    world_run(&w, 4500);
    collector_stats(w.c, &before);
    assert_int_equal(before.stalled_watches, 1);
    world_run(&w, 1000);
    collector_stats(w.c, &during);
    assert_int_equal(during.stalled_watches, 1);
    assert_int_equal(during.stats_calls, before.stats_calls); /* the one that hangs is enough */
    world_run(&w, 3000);
    collector_stats(w.c, &after);
    assert_int_equal(after.stalled_watches, 0);
    assert_true(after.samples > during.samples + 2);
    assert_in_range(after.gap_max_ms, 3000, 5500);
    world_close(&w);
}

TEST_FILE(test_collector_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_migration_is_sampled_from_its_first_iteration_to_its_end),
        cmocka_unit_test(a_stalled_stream_shows_as_no_bandwidth),
        cmocka_unit_test(a_stopped_libvirtd_is_not_polled_until_it_answers_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
