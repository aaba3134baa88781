/* test_ladder_relay.c - the ladder where memory passes through Ferry's relay. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/ladder.h"
#include "engine/publish.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

static struct core_world *relayed(void)
{
    struct core_world *w = core_flowing(NULL, false);
    core_job(w)->call.flags |= HV_MIGRATE_RELAYED;
    w->relay = (struct hv_relay){.streams = 1, .taken = 1000, .delivered = 1000, .stuck_ms = -1};
    return w;
}

static void stops_for_the_switch(struct core_world *w)
{
    w->source = CORE_SWITCHING;
    core_told(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_MIGRATED);
}

/* The path dies: what the source still sends stays with us. */
static void gets_stuck(struct core_world *w, int64_t from_ms, int64_t to_ms)
{
    w->relay.taken = 90000;
    w->relay.waiting = w->relay.taken - w->relay.delivered;
    for (int64_t i = from_ms; i < to_ms; i += 100) {
        w->relay.stuck_ms = i;
        core_pass(w, 100);
    }
}

static void goes_on_at_the_source(struct core_world *w)
{
    w->source = CORE_RUNS;
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    w->relay = (struct hv_relay){.stuck_ms = -1};
    core_told(w, "h1", HV_LIFECYCLE_RESUMED, 0);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_pass(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
}

static void a_stalled_switch_over_is_reset_long_before_its_estimate(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    w->rest_bytes = UINT64_C(60) << 20; /* six seconds: nine would be too long */
    core_flow(w, 400);
    core_pass(w, 1600); /* else it would be taken for a pause by its user */
    stops_for_the_switch(w);
    gets_stuck(w, 0, LADDER_SWITCH_MS - 500);
    assert_int_equal(core_remedies(w), 0);
    gets_stuck(w, LADDER_SWITCH_MS - 500, LADDER_SWITCH_MS + 1600);
    assert_int_equal(core_orders(w, HV_CALL_RESET_RELAY), 1);
    assert_int_equal(core_remedies(w), 1);
    assert_true(core_intents(w, "reset-relay") == 1 &&
                core_said(w, "StreamStalled", "resets") == 1);
    core_answers(w, HV_CALL_RESET_RELAY, ERR_NONE);
    goes_on_at_the_source(w);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "passes through Ferry"));
    assert_int_equal(core_open_intents(w), 0);
    core_clean(w);
    core_free(w);
}

/* Asked for once, to be shown: the target listens on the same. */
static void the_port_of_a_relay_is_known_while_all_is_well(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    w->relay.port = 49190;
    core_flow(w, 5000);
    assert_int_equal(w->relay_asks, 1);
    assert_int_equal(core_job(w)->stream.relay_port, 49190);
    struct err err = {0};
    struct publisher *publisher = publisher_new(&err);
    const struct snapshot *shot = publish(publisher, w->fleet, w->now.wall_ms);
    assert_int_equal(shot->jobs[0]->stream.relay_port, 49190);
    assert_int_equal(shot->jobs[0]->stream.port_min, HV_PORT_MIN);
    assert_string_equal(shot->jobs[0]->stream.relay_address, core_node(w, "h2")->host.relay);
    snapshot_unref(shot);
    publisher_free(publisher);
    core_free(w);
}

/* Nobody but the relay can tell: statistics hang, and the estimate is long over. */
static void a_slow_switch_over_that_moves_is_left_alone(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    stops_for_the_switch(w);
    for (int i = 0; i < 600; i++) {
        w->relay.delivered += 10;
        core_pass(w, 100);
    }
    assert_true(w->relay_asks >= 50 && w->relay_asks <= 70);
    assert_int_equal(core_remedies(w), 0);
    gets_stuck(w, 0, LADDER_SWITCH_MS + 2500);
    assert_int_equal(core_orders(w, HV_CALL_RESET_RELAY), 1);
    core_free(w);
}

static void a_reset_that_frees_nobody_is_followed_by_the_next_rung(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    stops_for_the_switch(w);
    gets_stuck(w, 0, 6000);
    assert_int_equal(core_orders(w, HV_CALL_RESET_RELAY), 1);
    core_answers(w, HV_CALL_RESET_RELAY, ERR_HYPERVISOR);
    w->relay.streams = 0;
    core_pass(w, LADDER_SWITCH_MS + 1500);
    assert_int_equal(core_orders(w, HV_CALL_RESET_RELAY), 1);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    core_free(w);
}

/* With several streams the target does not hear of it, and libvirt's call waits for the target. */
static void a_target_that_keeps_its_copy_after_a_reset_loses_it(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    stops_for_the_switch(w);
    gets_stuck(w, 0, 6000);
    core_answers(w, HV_CALL_RESET_RELAY, ERR_NONE);
    w->relay = (struct hv_relay){.stuck_ms = -1};
    core_pass(w, 1000);
    assert_int_equal(core_remedies(w), 1); /* nothing is destroyed before the source was seen */
    w->source = CORE_RUNS;
    core_told(w, "h1", HV_LIFECYCLE_RESUMED, 0);
    core_pass(w, LADDER_ABORT_MS + 2500);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    assert_int_equal(core_remedies(w), 2);
    core_answers(w, HV_CALL_DROP_COPY, ERR_NONE);
    goes_on_at_the_source(w);
    core_free(w);
}

static void what_waits_for_monitors(struct core_world *w)
{
    TEXT_SET(core_node(w, "h1")->host.oob, "10.0.0.9:4555");
    TEXT_SET(core_node(w, "h2")->host.oob, "10.0.0.9:4555");
}

static void a_guests_own_monitor_breaks_the_stream(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    what_waits_for_monitors(w);
    stops_for_the_switch(w);
    core_pass(w, 5200);
    assert_int_equal(core_orders(w, HV_CALL_YANK_OOB), 1);
    assert_int_equal(core_remedies(w), 1);
    assert_string_equal(core_newest(w, HV_CALL_YANK_OOB)->of.act.node, "h1");
    core_answers(w, HV_CALL_YANK_OOB, ERR_NONE);
    goes_on_at_the_source(w);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "out-of-band monitor"));
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void a_guest_without_one_costs_no_time(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    what_waits_for_monitors(w);
    stops_for_the_switch(w);
    core_pass(w, 5200);
    core_answers(w, HV_CALL_YANK_OOB, ERR_NOT_FOUND);
    core_pass(w, 1200);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    core_free(w);
    w = core_flowing(NULL, false); /* one that may have been obeyed is given its time */
    what_waits_for_monitors(w);
    stops_for_the_switch(w);
    core_pass(w, 5200);
    core_answers(w, HV_CALL_YANK_OOB, ERR_UNREACHABLE);
    core_pass(w, 2000);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 0);
    core_free(w);
}

static void in_pre_copy_nothing_is_reset(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    w->relay.stuck_ms = 20000;
    core_stall(w, 20000);
    assert_int_equal(core_orders(w, HV_CALL_RESET_RELAY), 0);
    core_free(w);
}

static void what_is_not_relayed_asks_no_relay(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    w->relay = (struct hv_relay){.streams = 1, .stuck_ms = 60000};
    stops_for_the_switch(w);
    core_pass(w, 20000);
    assert_int_equal(w->relay_asks, 0);
    assert_int_equal(core_orders(w, HV_CALL_RESET_RELAY), 0);
    core_free(w);
}

/* The stream broke with the process that relayed it; the next one neither asks nor resets. */
static void after_a_restart_the_guest_is_found_at_home_and_the_reason_says_why(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    w->job_type = HV_JOB_NONE;
    w->target = CORE_ABSENT;
    core_restart(w, 1000);
    core_pass(w, 5000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_non_null(
        strstr(core_job(w)->result.failure_reason, "passed through Ferry, which was restart"));
    assert_int_equal(core_orders(w, HV_CALL_RESET_RELAY), 0);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void an_answer_nobody_waits_for_changes_nothing(void **state)
{
    (void)state;
    struct core_world *w = relayed();
    struct input late = {.kind = INPUT_STREAM, .id = 1, .of.stream.relay = {.stuck_ms = 99999}};
    late.of.stream.call = HV_CALL_RELAY_STATS;
    TEXT_SET(late.host, "h1");
    TEXT_SET(late.guest, CORE_GUEST);
    core_feed(w, &late);
    assert_int_equal(core_job(w)->stream.relay_ms, 0);
    core_free(w);
}

TEST_FILE(test_ladder_relay)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_port_of_a_relay_is_known_while_all_is_well),
        cmocka_unit_test(a_stalled_switch_over_is_reset_long_before_its_estimate),
        cmocka_unit_test(a_slow_switch_over_that_moves_is_left_alone),
        cmocka_unit_test(a_reset_that_frees_nobody_is_followed_by_the_next_rung),
        cmocka_unit_test(a_target_that_keeps_its_copy_after_a_reset_loses_it),
        cmocka_unit_test(a_guests_own_monitor_breaks_the_stream),
        cmocka_unit_test(a_guest_without_one_costs_no_time),
        cmocka_unit_test(in_pre_copy_nothing_is_reset),
        cmocka_unit_test(what_is_not_relayed_asks_no_relay),
        cmocka_unit_test(after_a_restart_the_guest_is_found_at_home_and_the_reason_says_why),
        cmocka_unit_test(an_answer_nobody_waits_for_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
