/* test_stranded.c - guests that no job is about: left broken or paused by somebody's migration, or
 * running twice. When somebody is paged, and when the page ends. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "tests/core_move.h"

static bool is_open(struct core_world *w, enum incident_kind kind)
{
    for (size_t i = 0; i < w->fleet->incidents.n; i++) {
        const struct incident *incident = &w->fleet->incidents.list[i];
        if (incident->kind == kind && incident->end == INCIDENT_END_NONE)
            return true;
    }
    return false;
}

/* h1 lists the guest in that state, and answers so when it is asked. Absent: it lists none. */
static void shows(struct core_world *w, const struct hv_observation *state)
{
    struct core_guest *guest = core_guest(w, "g1");
    w->source = *state;
    TEXT_SET(guest->host, state->presence == HV_PRESENT ? "h1" : "");
    guest->is.state = state->state;
    guest->is.reason = state->reason;
    core_list(w, "h1");
}

static void also_on_h2(struct core_world *w, const struct hv_observation *state)
{
    w->target = *state;
    fleet_apply_observation(w->fleet, core_node(w, "h2"), CORE_GUEST, state);
}

static void somebody_is_paged_after_a_minute_and_only_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shows(w, &CORE_PC_BROKEN_SOURCE);
    core_advance(w, 55000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    core_advance(w, 10000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_advance(w, 600000);
    assert_int_equal(core_count_events(w, "Stranded", NULL), 1);
    shows(w, &CORE_RUNS);
    core_advance(w, 15000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    shows(w, &CORE_PC_BROKEN_SOURCE); /* another time, and another minute */
    core_advance(w, 40000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

/* Its record is a job, which recovers nothing. */
static void a_broken_migration_of_somebody_else_is_paged_though_it_is_recorded(void **state)
{
    enum { STARTED_MIGRATED = 1 };
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    core_lifecycle_event(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_non_null(fleet_observed_job(w->fleet, CORE_GUEST));
    shows(w, &CORE_PC_BROKEN_SOURCE);
    also_on_h2(w, &CORE_PC_BROKEN_TARGET);
    core_advance(w, 75000);
    assert_non_null(fleet_observed_job(w->fleet, CORE_GUEST)); /* nothing is proven yet */
    assert_true(is_open(w, INCIDENT_STRANDED));
    assert_int_equal(core_count_events(w, "Stranded", NULL), 1);
    core_free(w);
}

/* A migration that others make passes through such states. */
static void the_minute_begins_anew_when_it_ran_meanwhile(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shows(w, &CORE_PC_BROKEN_SOURCE);
    core_advance(w, 40000);
    shows(w, &CORE_RUNS);
    core_advance(w, 1000);
    shows(w, &CORE_PC_BROKEN_SOURCE);
    core_advance(w, 40000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    core_advance(w, 30000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

/* A node that does not answer is waited for, ten seconds. */
static void a_node_without_an_answer_delays_the_page_for_ten_seconds(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shows(w, &CORE_PC_BROKEN_SOURCE);
    w->source = CORE_BLIND;
    core_advance(w, 66000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    core_advance(w, 10000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

/* A job that only waits has nothing to do with it. */
static void a_waiting_job_does_not_hide_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_node(w, "h2")->cordoned = true;
    core_create(w);
    assert_int_equal(core_job(w)->epoch, 0);
    shows(w, &CORE_PC_BROKEN_SOURCE);
    core_advance(w, 80000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

/* A job that is about it reports it itself. When the job has ended, somebody else must. */
static void a_guest_that_an_ended_job_left_behind_is_found_later(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ABSENT;
    static const struct hv_observation left = {
        .presence = HV_PRESENT, .state = HV_STATE_PAUSED, .reason = HV_PAUSED_MIGRATION};
    shows(w, &left);
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    core_advance(w, 100000);
    assert_false(is_open(w, INCIDENT_STRANDED)); /* the job is about it */
    assert_true(core_override(w, RESOLVE_ON_SOURCE));
    assert_true(phase_is_final(core_job(w)->phase));
    core_advance(w, 200000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

/* Somebody else migrates it later. */
static void an_earlier_post_copy_that_succeeded_does_not_hide_it(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 5000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    struct core_guest *guest = core_guest(w, "g1");
    TEXT_SET(guest->host, "h2");
    guest->is.state = CORE_PC_BROKEN_SOURCE.state;
    guest->is.reason = CORE_PC_BROKEN_SOURCE.reason;
    w->target = CORE_PC_BROKEN_SOURCE;
    core_list(w, "h1");
    core_list(w, "h2");
    core_advance(w, 90000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

/* An unreachable node may still have it. */
static void a_page_does_not_end_while_one_of_its_nodes_is_unreachable(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shows(w, &CORE_PC_BROKEN_SOURCE);
    also_on_h2(w, &CORE_RUNS);
    core_advance(w, 80000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_connect(w, "h2", false);
    shows(w, &CORE_ABSENT);
    core_advance(w, 60000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_advance(w, 60000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

static void a_split_does_not_end_while_one_of_its_nodes_is_unreachable(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    also_on_h2(w, &CORE_RUNS);
    core_advance(w, 30000);
    assert_true(is_open(w, INCIDENT_SPLIT));
    core_connect(w, "h2", false);
    shows(w, &CORE_ABSENT);
    core_advance(w, 120000);
    assert_true(is_open(w, INCIDENT_SPLIT));
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_advance(w, 60000);
    assert_false(is_open(w, INCIDENT_SPLIT));
    core_free(w);
}

/* A frozen job observes nothing: nobody else would notice. */
static void a_split_of_a_frozen_job_s_guest_is_reported(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_job(w)->frozen = true;
    also_on_h2(w, &CORE_RUNS);
    core_advance(w, 30000);
    assert_true(is_open(w, INCIDENT_SPLIT));
    core_free(w);
}

/* One guest, one incident: while it is split nobody is paged for one broken copy too. */
static void a_split_guest_is_not_reported_as_stranded_too(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    also_on_h2(w, &CORE_RUNS);
    core_advance(w, 30000);
    assert_true(is_open(w, INCIDENT_SPLIT));
    shows(w, &CORE_PC_BROKEN_SOURCE);
    core_advance(w, 120000);
    assert_true(is_open(w, INCIDENT_SPLIT));
    assert_false(is_open(w, INCIDENT_STRANDED));
    assert_int_equal(core_count_events(w, "Stranded", NULL), 0);
    core_free(w);
}

/* It left that state while one node was unreachable and is in it again: the same incident. */
static void a_guest_that_is_stranded_again_before_its_incident_ended_is_reported_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shows(w, &CORE_PC_BROKEN_SOURCE);
    also_on_h2(w, &CORE_RUNS);
    core_advance(w, 80000);
    assert_int_equal(core_count_events(w, "Stranded", NULL), 1);
    core_connect(w, "h2", false);
    shows(w, &CORE_ABSENT);
    core_advance(w, 15000);
    shows(w, &CORE_PC_BROKEN_SOURCE);
    core_advance(w, 120000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    assert_int_equal(core_count_events(w, "Stranded", NULL), 1);
    core_free(w);
}

/* Each time the hosts are asked before somebody is paged: the list may be old. */
static void the_second_time_too_the_hosts_are_asked_before_the_page(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shows(w, &CORE_PC_BROKEN_SOURCE);
    core_advance(w, 70000);
    shows(w, &CORE_RUNS);
    core_advance(w, 15000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    shows(w, &CORE_PC_BROKEN_SOURCE);
    w->source = CORE_RUNS;
    core_advance(w, 80000);
    assert_false(is_open(w, INCIDENT_STRANDED));
    assert_int_equal(core_count_events(w, "Stranded", NULL), 1);
    core_free(w);
}

/* The last state of an unreachable node is no better after another ten seconds. */
static void an_unreachable_node_does_not_delay_the_page(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shows(w, &CORE_PC_BROKEN_SOURCE);
    also_on_h2(w, &CORE_PC_BROKEN_TARGET);
    core_connect(w, "h2", false);
    w->target = CORE_BLIND;
    core_advance(w, 64000);
    assert_true(is_open(w, INCIDENT_STRANDED));
    core_free(w);
}

TEST_FILE(test_stranded)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_migration_of_somebody_else_is_paged_though_it_is_recorded),
        cmocka_unit_test(somebody_is_paged_after_a_minute_and_only_once),
        cmocka_unit_test(the_minute_begins_anew_when_it_ran_meanwhile),
        cmocka_unit_test(a_node_without_an_answer_delays_the_page_for_ten_seconds),
        cmocka_unit_test(a_waiting_job_does_not_hide_it),
        cmocka_unit_test(a_guest_that_an_ended_job_left_behind_is_found_later),
        cmocka_unit_test(an_earlier_post_copy_that_succeeded_does_not_hide_it),
        cmocka_unit_test(a_page_does_not_end_while_one_of_its_nodes_is_unreachable),
        cmocka_unit_test(a_split_does_not_end_while_one_of_its_nodes_is_unreachable),
        cmocka_unit_test(a_split_of_a_frozen_job_s_guest_is_reported),
        cmocka_unit_test(a_split_guest_is_not_reported_as_stranded_too),
        cmocka_unit_test(a_guest_that_is_stranded_again_before_its_incident_ended_is_reported_once),
        cmocka_unit_test(the_second_time_too_the_hosts_are_asked_before_the_page),
        cmocka_unit_test(an_unreachable_node_does_not_delay_the_page),
    };
    return cmocka_run_group_tests_name("stranded", tests, NULL, NULL);
}
