/* test_carry.c - what belongs to a defined guest and libvirt does not take along: autostart, and
 * edits of its stored definition. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/carry.h"
#include "engine/data/order.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

enum { UPDATED = 1 }; /* libvirt's detail of DEFINED */

static struct hv_observation defined(struct hv_observation is, bool autostart)
{
    is.persistent = true;
    is.autostart = autostart;
    return is;
}

/* Its memory moves; it is defined on the source and started with it. */
static struct core_world *moving(struct hv_observation source)
{
    struct core_world *w = core_new();
    w->source = source;
    core_create(w);
    core_sample(w);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->target = CORE_INCOMING;
    return w;
}

static void arrives(struct core_world *w)
{
    w->source = CORE_ABSENT;
    w->target = defined(CORE_ARRIVED, false);
    if (order_is_out(core_job(w), ORDER_MIGRATE))
        core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 1000);
}

static void expect_set_on_target(struct core_world *w)
{
    assert_int_equal(core_orders(w, HV_CALL_SET_AUTOSTART), 1);
    assert_string_equal(core_newest(w, HV_CALL_SET_AUTOSTART)->of.act.node, "h2");
    assert_int_equal(core_newest(w, HV_CALL_SET_AUTOSTART)->of.act.value, 1);
    assert_int_equal(core_intents(w, "set-autostart"), 1);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN); /* not yet as it was */
    w->target = defined(CORE_ARRIVED, true);
    core_answers(w, HV_CALL_SET_AUTOSTART, ERR_NONE);
    core_advance(w, 1000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_count_events(w, "AutostartSet", NULL), 1);
    assert_int_equal(core_count_events(w, "AutostartNotSet", NULL), 0);
    assert_int_equal(core_open_intents(w), 0);
    core_clean(w);
}

static void autostart_is_set_on_the_target_before_the_job_is_over(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, true));
    arrives(w);
    expect_set_on_target(w);
    core_free(w);
}

static void autostart_is_set_after_adoption(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, true));
    core_restart(w, 1000);
    arrives(w);
    expect_set_on_target(w);
    core_free(w);
}

static void autostart_is_set_by_the_next_process_if_the_first_one_ends(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, true));
    arrives(w);
    core_restart(w, 1000);
    core_advance(w, 1000);
    unsigned before = core_orders(w, HV_CALL_SET_AUTOSTART);
    assert_true(before >= 1);
    w->target = defined(CORE_ARRIVED, true);
    core_answers(w, HV_CALL_SET_AUTOSTART, ERR_NONE);
    core_advance(w, 1000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

static void autostart_is_set_after_a_recovery(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, true));
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_POSTCOPY);
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 5000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    w->source = CORE_ABSENT;
    w->target = defined(CORE_ARRIVED, false);
    core_answers(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 1000);
    expect_set_on_target(w);
    core_free(w);
}

static void autostart_is_set_once_when_an_operator_names_the_target(void **state)
{
    (void)state;
    const enum err_code answers[] = {ERR_NONE, ERR_HYPERVISOR, ERR_UNREACHABLE};
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct core_world *w = moving(defined(CORE_RUNS, true));
        w->source = CORE_BLIND;
        core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
        core_advance(w, 5000);
        assert_true(core_override(w, RESOLVE_ON_TARGET));
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_orders(w, HV_CALL_SET_AUTOSTART), 1);
        assert_true(order_stands(core_job(w), core_newest(w, HV_CALL_SET_AUTOSTART)));
        core_answers(w, HV_CALL_SET_AUTOSTART, answers[i]);
        core_advance(w, 20000);
        assert_int_equal(core_orders(w, HV_CALL_SET_AUTOSTART), 1);
        assert_int_equal(core_count_events(w, "AutostartSet", NULL), answers[i] == ERR_NONE);
        assert_int_equal(core_count_events(w, "AutostartNotSet", "virsh autostart g1"),
                         answers[i] != ERR_NONE);
        assert_int_equal(core_open_intents(w), 0);
        core_free(w);
    }
}

static void autostart_that_cannot_be_set_is_tried_a_few_times_and_reported(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, true));
    arrives(w);
    for (unsigned n = 1; n <= CARRY_TRIES_MAX; n++) {
        assert_int_equal(core_orders(w, HV_CALL_SET_AUTOSTART), n);
        core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
        core_answers(w, HV_CALL_SET_AUTOSTART, ERR_HYPERVISOR);
        core_advance(w, CARRY_AGAIN_MS + 500);
    }
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_orders(w, HV_CALL_SET_AUTOSTART), CARRY_TRIES_MAX);
    assert_int_equal(core_count_events(w, "AutostartNotSet", "virsh autostart g1"), 1);
    core_clean(w);
    core_free(w);
}

static void a_host_that_does_not_answer_holds_the_job_for_a_bounded_time(void **state)
{
    (void)state;
    const enum err_code answers[] = {ERR_NONE, ERR_HYPERVISOR};
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct core_world *w = moving(defined(CORE_RUNS, true));
        arrives(w);
        core_advance(w, CARRY_WAIT_MS - 3000);
        core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
        core_advance(w, 4000);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_count_events(w, "AutostartNotSet", "no answer"), 1);
        core_answers(w, HV_CALL_SET_AUTOSTART, answers[i]); /* late */
        assert_int_equal(core_count_events(w, "AutostartSet", NULL), answers[i] == ERR_NONE);
        assert_int_equal(core_count_events(w, "AutostartNotSet", NULL), 1);
        assert_int_equal(core_open_intents(w), 0);
        core_free(w);
    }
}

static void a_guest_that_is_not_started_with_its_host_gets_no_order(void **state)
{
    (void)state;
    const struct hv_observation sources[] = {CORE_RUNS, defined(CORE_RUNS, false)};
    for (size_t i = 0; i < COUNT(sources); i++) {
        struct core_world *w = moving(sources[i]);
        arrives(w);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_orders(w, HV_CALL_SET_AUTOSTART), 0);
        core_free(w);
    }
}

static void a_guest_that_stayed_gets_no_order(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, true));
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(core_orders(w, HV_CALL_SET_AUTOSTART), 0);
    core_free(w);
}

static void an_edit_of_the_persistent_definition_during_the_migration_is_reported(void **state)
{
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        struct core_world *w = moving(defined(CORE_RUNS, false));
        core_lifecycle_event(w, "h1", HV_LIFECYCLE_DEFINED, UPDATED);
        core_lifecycle_event(w, "h1", HV_LIFECYCLE_DEFINED, UPDATED);
        assert_int_equal(core_count_events(w, "DefinitionEdited", NULL), 1);
        if (restarted)
            core_restart(w, 1000);
        arrives(w);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_count_events(w, "DefinitionEditNotCarried", "repeat it there"), 1);
        core_free(w);
    }
}

static void an_edit_of_a_guest_that_stayed_is_not_lost(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, false));
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_DEFINED, UPDATED);
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(core_count_events(w, "DefinitionEditNotCarried", NULL), 0);
    core_free(w);
}

static void a_definition_that_arrives_is_no_edit(void **state)
{
    (void)state;
    struct core_world *w = moving(defined(CORE_RUNS, false));
    core_lifecycle_event(w, "h2", HV_LIFECYCLE_DEFINED, 0);
    core_lifecycle_event(w, "h2", HV_LIFECYCLE_DEFINED, UPDATED);
    arrives(w);
    assert_int_equal(core_count_events(w, "DefinitionEdited", NULL), 0);
    assert_int_equal(core_count_events(w, "DefinitionEditNotCarried", NULL), 0);
    core_free(w);
}

TEST_FILE(test_carry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(autostart_is_set_on_the_target_before_the_job_is_over),
        cmocka_unit_test(autostart_is_set_after_adoption),
        cmocka_unit_test(autostart_is_set_by_the_next_process_if_the_first_one_ends),
        cmocka_unit_test(autostart_is_set_after_a_recovery),
        cmocka_unit_test(autostart_is_set_once_when_an_operator_names_the_target),
        cmocka_unit_test(autostart_that_cannot_be_set_is_tried_a_few_times_and_reported),
        cmocka_unit_test(a_host_that_does_not_answer_holds_the_job_for_a_bounded_time),
        cmocka_unit_test(a_guest_that_is_not_started_with_its_host_gets_no_order),
        cmocka_unit_test(a_guest_that_stayed_gets_no_order),
        cmocka_unit_test(an_edit_of_the_persistent_definition_during_the_migration_is_reported),
        cmocka_unit_test(an_edit_of_a_guest_that_stayed_is_not_lost),
        cmocka_unit_test(a_definition_that_arrives_is_no_edit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
