/* test_configure_sim.c - hosts come and go under the whole engine, collector included: a third host
 * while a migration runs, and an idle one that leaves. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "tests/sim/fleet_sim.h"

enum { GUESTS = 6 };

static void connect(struct fleet_sim *fs, const char *host)
{
    struct hv_event_sink sink = collector_event_sink(fs->lives[fs->n_lives - 1].collector);
    struct hv_event event = {.kind = HV_EVENT_CONNECTED, .at_ms = fleet_sim_now(fs)};
    TEXT_SET(event.host, host);
    sink.on_event(sink.ctx, &event);
}

static void configure(struct fleet_sim *fs, size_t n_hosts)
{
    struct err err = {0};
    struct engine_config config = fs->engine_config;
    config.n_hosts = n_hosts;
    assert_true(engine_post_configure(fleet_sim_engine(fs), &config, &err));
}

static size_t guests_on(const struct fleet_sim *fs, const char *node)
{
    size_t n = 0;
    for (size_t i = 0; i < fs->snapshot->n_guests; i++)
        n += text_equal(fs->snapshot->guests[i].node, node);
    return n;
}

static void a_third_host_leaves_and_returns_during_a_migration(void **state)
{
    (void)state;
    struct fleet_sim fs = {.wants_snapshots = true};
    struct err err = {0};
    fleet_sim_init(&fs, 5, 3, GUESTS, UINT64_C(16) << 30);
    fleet_sim_run(&fs, 20000);
    struct collector *collector = fs.lives[0].collector;
    assert_int_equal(fs.snapshot->n_nodes, 3);
    size_t there = guests_on(&fs, "h2");
    assert_true(there > 0);
    fleet_sim_migrate(&fs, 0, 1); /* h0 to h1, some seconds long */
    fleet_sim_run(&fs, 22000);
    assert_int_equal(fs.finished[OUTCOME_SUCCEEDED], 0);

    configure(&fs, 2);
    fleet_sim_run(&fs, 22100);
    assert_true(collector_remove_host(collector, "h2", &err));
    fleet_sim_run(&fs, 22500);
    assert_int_equal(fs.snapshot->n_nodes, 2);
    assert_int_equal(fs.snapshot->n_guests, GUESTS - there);

    configure(&fs, 1); /* refused: h1 takes the guest */
    fleet_sim_run(&fs, 23000);
    assert_int_equal(fs.snapshot->n_nodes, 2);

    configure(&fs, 3);
    fleet_sim_run(&fs, 23100);
    assert_true(collector_add_host(collector, "h2", &err));
    connect(&fs, "h2");
    fleet_sim_run(&fs, 120000);
    assert_int_equal(fs.snapshot->n_nodes, 3);
    assert_int_equal(fs.snapshot->n_guests, GUESTS);
    assert_int_equal(fs.finished[OUTCOME_SUCCEEDED], 1);

    fleet_sim_migrate(&fs, 0, 2);
    fleet_sim_run(&fs, 240000);
    assert_int_equal(fs.finished[OUTCOME_SUCCEEDED], 2);
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(0, uuid);
    assert_string_equal(sim_guest_host(fs.sim, uuid), "h2");
    configure(&fs, 2); /* now it has a guest and no job: it may go */
    fleet_sim_run(&fs, 241000);
    assert_int_equal(fs.snapshot->n_nodes, 2);
    fleet_sim_fini(&fs);
}

TEST_FILE(test_configure_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_third_host_leaves_and_returns_during_a_migration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
