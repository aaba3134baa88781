/* test_missed.c - a message of a host that did not get in: the core hears of it before it decides
 * anything else, once for each time. */
#include "tests/test.h"

#include "engine/impl.h"
#include "tests/sim/fleet_sim.h"

static void what_was_dropped_is_told_to_the_core_once(void **state)
{
    (void)state;
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fleet_sim_init(fs, 5, 2, 2, 1ULL << 30);
    fleet_sim_run(fs, 2000);
    struct engine *e = fleet_sim_engine(fs);
    assert_int_equal(e->fleet->missed, 0);
    atomic_fetch_add(&e->messages_dropped, 1);
    (void)engine_step(e);
    assert_int_equal(e->fleet->missed, 1);
    fleet_sim_run(fs, 4000);
    assert_int_equal(e->fleet->missed, 1);
    atomic_fetch_add(&e->messages_dropped, 3);
    struct err lost = {.code = ERR_UNREACHABLE};
    struct collector_sink sink = engine_collector_sink(e);
    sink.on_host(sink.ctx, "h1", false, &lost);
    engine_wait(e, 10); /* before the input that it waited for */
    assert_int_equal(e->fleet->missed, 2);
    fleet_sim_run(fs, 6000);
    assert_int_equal(e->fleet->missed, 2);
    fleet_sim_fini(fs);
    free(fs);
}

TEST_FILE(test_missed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_dropped_is_told_to_the_core_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
