/* test_marks.c - evacuation marks and drains with the real admission behind them: when a mark goes,
 * and when a drain looks again. test_drain.c and test_evacuation.c have a fake admission. */
#include "tests/test.h"

#include "base/text.h"
#include "engine/control/drain.h"
#include "tests/core_world.h"

static void drain(struct core_world *w, const char *node)
{
    char spec[100];
    (void)snprintf(spec, sizeof spec, "{\"nodeName\":\"%s\"}", node);
    assert_true(core_put(w, OBJECT_DRAIN, "d", spec));
}

static void a_waiting_drain_is_not_checked_again_at_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.eviction_strategy = STRATEGY_LIVE_MIGRATE;
    drain(w, "h1");
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_advance(w, 1000);
    assert_false(w->fleet->drains_due);
    assert_true(reconcile_next_ms(w->fleet, w->now.mono_ms) > w->now.mono_ms);
    core_free(w);
}

/* A guest that is gone takes its mark along: the same one started later is not moved away. */
static void a_mark_does_not_outlive_its_guest(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.eviction_strategy = STRATEGY_LIVE_MIGRATE;
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":true}"));
    drain(w, "h1");
    assert_string_equal(fleet_guest(w->fleet, CORE_GUEST)->evacuation_node, "h1");
    w->source = CORE_ABSENT;
    TEXT_SET(core_guest(w, "g1")->host, "nowhere"); /* turned off, and transient */
    core_list(w, "h1");
    core_advance(w, 1000);
    assert_null(fleet_guest(w->fleet, CORE_GUEST));
    assert_true(core_remove(w, OBJECT_DRAIN, "d"));
    assert_true(core_put(w, OBJECT_NODE, "h1", "{\"unschedulable\":false}"));
    TEXT_SET(core_guest(w, "g1")->host, "h1");
    w->source = CORE_RUNS;
    core_list(w, "h1");
    core_advance(w, 1000);
    assert_string_equal(fleet_guest(w->fleet, CORE_GUEST)->evacuation_node, "");
    assert_null(fleet_active_job(w->fleet, CORE_GUEST));
    assert_null(fleet_object(w->fleet, OBJECT_GUEST, "default", "g1"));
    core_free(w);
}

static void a_mark_goes_with_the_document_that_holds_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.eviction_strategy = STRATEGY_EXTERNAL;
    struct guest *guest = fleet_guest(w->fleet, CORE_GUEST);
    struct err err = {0};
    assert_true(evacuation_mark(w->fleet, guest, false, w->now, &w->fx, &err));
    assert_true(core_remove(w, OBJECT_GUEST, "g1"));
    core_advance(w, 1000);
    assert_string_equal(guest->evacuation_node, "");
    core_free(w);
}

TEST_FILE(test_marks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiting_drain_is_not_checked_again_at_once),
        cmocka_unit_test(a_mark_does_not_outlive_its_guest),
        cmocka_unit_test(a_mark_goes_with_the_document_that_holds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
