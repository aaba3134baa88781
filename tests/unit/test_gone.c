/* test_gone.c - neither source nor target runs the guest: what the inventory, the call and the
 * shut-off reason prove before it counts as lost. */
#include "tests/test.h"

#include "engine/data/gone.h"
#include "tests/core_move.h"

static const struct hv_observation OFF = {.presence = HV_PRESENT, .state = HV_STATE_SHUTOFF};
static const struct hv_observation DEFINED = {
    .presence = HV_PRESENT, .state = HV_STATE_SHUTOFF, .persistent = true};
static const struct hv_observation LEFT = {
    .presence = HV_PRESENT, .state = HV_STATE_SHUTOFF, .reason = HV_SHUTOFF_MIGRATED};
static const struct hv_observation STUCK = {
    .presence = HV_PRESENT, .state = HV_STATE_PAUSED, .reason = HV_PAUSED_IOERROR};

/* A migration whose call failed, with h3 and h4 beside it. */
static struct core_world *begin(const struct hv_observation *source,
                                const struct hv_observation *target)
{
    struct core_world *w = core_moving();
    core_add_host(w, "h3");
    core_add_host(w, "h4");
    struct job *job = core_job(w);
    job->call.over = true;
    job->result.error.code = ERR_HYPERVISOR;
    job->resolution.source_side.observation = *source;
    job->resolution.target_side.observation = *target;
    return w;
}

static void on(struct core_world *w, const char *host, const struct hv_observation *state)
{
    fleet_apply_observation(w->fleet, core_node(w, host), CORE_GUEST, state);
}

static void expect(struct core_world *w, enum gone want, const char *node)
{
    const char *at = NULL;
    assert_int_equal(gone_decide(w->fleet, core_job(w), &at), want);
    if (node != NULL)
        assert_string_equal(at, node);
}

static void the_node_that_runs_it_counts_before_one_that_receives_it(void **state)
{
    (void)state;
    static const char *const orders[][2] = {{"h3", "h4"}, {"h4", "h3"}};
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct core_world *w = begin(&CORE_ABSENT, &CORE_ABSENT);
        on(w, orders[i][0], &CORE_INCOMING);
        expect(w, GONE_UNKNOWN, orders[i][0]);
        on(w, orders[i][1], &CORE_RUNS);
        expect(w, GONE_ELSEWHERE, orders[i][1]);
        core_job(w)->result.error.code = ERR_NONE; /* it had arrived, and was moved on */
        expect(w, GONE_MOVED_ON, orders[i][1]);
        core_free(w);
    }
}

static void a_guest_that_is_stuck_elsewhere_is_not_lost(void **state)
{
    (void)state;
    struct core_world *w = begin(&CORE_ABSENT, &CORE_ABSENT);
    on(w, "h3", &STUCK);
    expect(w, GONE_ELSEWHERE, "h3");
    core_node(w, "h3")->listed = false; /* it was so once */
    expect(w, GONE_UNKNOWN, "h3");
    core_free(w);
}

static void the_order_of_the_inventory_does_not_count(void **state)
{
    (void)state;
    struct core_world *w = begin(&CORE_ABSENT, &CORE_ABSENT);
    on(w, "h3", &CORE_RUNS);
    on(w, "h4", &CORE_INCOMING);
    expect(w, GONE_ELSEWHERE, "h3");
    core_free(w);
}

/* Source and target were observed for this job; the inventory about them may be older. */
static void only_third_nodes_are_looked_up_in_the_inventory(void **state)
{
    (void)state;
    struct core_world *w = begin(&CORE_ABSENT, &CORE_ABSENT);
    on(w, "h1", &CORE_RUNS);
    on(w, "h2", &CORE_RUNS);
    expect(w, GONE_LOST, "h1");
    core_job(w)->stream.unseen = true;
    core_node(w, "h1")->listed = core_node(w, "h2")->listed = false;
    expect(w, GONE_LOST, "h1");
    core_node(w, "h3")->listed = false;
    expect(w, GONE_UNKNOWN, "h3");
    core_free(w);
}

static void a_definition_that_is_shut_off_elsewhere_is_not_the_guest(void **state)
{
    (void)state;
    struct core_world *w = begin(&CORE_ABSENT, &CORE_ABSENT);
    on(w, "h3", &OFF);
    expect(w, GONE_LOST, "h1");
    core_free(w);
}

/* Released, but the target has no definition of it: nothing proves that it arrived. */
static void a_source_that_released_it_needs_a_target_that_has_it(void **state)
{
    (void)state;
    struct core_world *w = begin(&LEFT, &CORE_ABSENT);
    expect(w, GONE_LOST, "h1");
    core_free(w);
}

/* In post-copy the target runs it before all of it is there. */
static void having_run_on_the_target_proves_arrival_only_without_post_copy(void **state)
{
    (void)state;
    struct core_world *w = begin(&CORE_ABSENT, &CORE_ABSENT);
    expect(w, GONE_LOST, NULL);
    core_job(w)->stream.target_resumed = true;
    expect(w, GONE_ARRIVED, NULL);
    core_job(w)->mode = MODE_POSTCOPY;
    expect(w, GONE_LOST, NULL);
    core_free(w);
}

/* A definition on the target may be an old one. */
static void a_definition_on_the_target_proves_arrival_only_if_the_call_makes_one(void **state)
{
    (void)state;
    struct core_world *w = begin(&CORE_ABSENT, &DEFINED);
    core_job(w)->call.flags = 0;
    expect(w, GONE_LOST, NULL);
    core_job(w)->call.flags = HV_MIGRATE_PERSIST;
    expect(w, GONE_ARRIVED, NULL);
    core_job(w)->resolution.target_side.observation = OFF;
    expect(w, GONE_LOST, NULL);
    core_free(w);
}

static void a_source_that_released_it_proves_arrival_unless_somebody_else_moved_it(void **state)
{
    (void)state;
    struct core_world *w = begin(&LEFT, &OFF);
    expect(w, GONE_ARRIVED, NULL);
    core_job(w)->resolution.foreign = true;
    expect(w, GONE_LOST, NULL);
    core_free(w);
}

/* Unobserved, it may have been moved on to a node whose guests are not known. */
static void a_node_that_is_not_listed_leaves_it_open(void **state)
{
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++) {
        struct core_world *w = begin(&CORE_ABSENT, &CORE_ABSENT);
        core_node(w, "h3")->listed = false;
        expect(w, GONE_LOST, NULL); /* observed all the time: it cannot be there */
        core_job(w)->resolution.foreign = foreign != 0;
        core_job(w)->stream.unseen = foreign == 0;
        expect(w, GONE_UNKNOWN, "h3");
        core_job(w)->result.error.code = ERR_NONE;
        expect(w, GONE_UNKNOWN, "h3");
        core_job(w)->resolution.target_side.observation = OFF; /* it ended where it arrived */
        expect(w, GONE_ARRIVED, NULL);
        core_free(w);
    }
}

static void a_guest_that_is_off_on_the_source_ended_there(void **state)
{
    (void)state;
    struct core_world *w = begin(&OFF, &CORE_ABSENT);
    expect(w, GONE_STOPPED, NULL);
    core_free(w);
}

/* ---- what the source's events say ---- */

/* Whose migration it was that ended: the observed one, or a later one, if the copy on the observed
 * one's target was seen to be gone before and had never run. */
static void an_end_is_that_of_another_migration_once_the_observed_copy_is_gone(void **state)
{
    (void)state;
    enum { STOPPED_MIGRATED = 3, STOPPED_DESTROYED = 1 };
    static const struct hv_event completed = {.kind = HV_EVENT_JOB_COMPLETED};
    static const struct hv_event left = {
        .kind = HV_EVENT_LIFECYCLE, .a = HV_LIFECYCLE_STOPPED, .b = STOPPED_MIGRATED};
    static const struct hv_event stopped = {
        .kind = HV_EVENT_LIFECYCLE, .a = HV_LIFECYCLE_STOPPED, .b = STOPPED_DESTROYED};
    static const struct hv_event iteration = {
        .kind = HV_EVENT_ITERATION, .a = HV_LIFECYCLE_STOPPED, .b = STOPPED_MIGRATED};
    static const struct {
        enum origin origin;
        bool seen, there, resumed;
        const struct hv_event *event;
        bool foreign, over;
    } rows[] = {
        {ORIGIN_OBSERVED, true, false, false, &completed, true, false},
        {ORIGIN_OBSERVED, true, false, false, &left, true, false},
        {ORIGIN_OBSERVED, true, false, false, &stopped, false, false},
        {ORIGIN_OBSERVED, true, false, false, &iteration, false, false},
        {ORIGIN_OBSERVED, true, false, true, &completed, false, true},
        {ORIGIN_OBSERVED, true, true, false, &completed, false, true},
        {ORIGIN_OBSERVED, false, false, false, &completed, false, true},
        {ORIGIN_HUMAN, true, false, false, &completed, false, true},
        {ORIGIN_HUMAN, true, false, false, &left, false, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct job *job = job_new(&err);
        job->request.origin = rows[i].origin;
        job->resolution.target_side.seen_wall_ms = rows[i].seen;
        job->resolution.target_side.observation = rows[i].there ? CORE_INCOMING : CORE_ABSENT;
        job->stream.target_resumed = rows[i].resumed;
        gone_event(job, rows[i].event);
        if (job->resolution.foreign != rows[i].foreign || job->call.over != rows[i].over)
            fail_msg("row %zu: foreign %d, over %d", i, job->resolution.foreign, job->call.over);
        job_free(job);
    }
}

TEST_FILE(test_gone)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_that_of_another_migration_once_the_observed_copy_is_gone),
        cmocka_unit_test(the_node_that_runs_it_counts_before_one_that_receives_it),
        cmocka_unit_test(the_order_of_the_inventory_does_not_count),
        cmocka_unit_test(only_third_nodes_are_looked_up_in_the_inventory),
        cmocka_unit_test(a_definition_that_is_shut_off_elsewhere_is_not_the_guest),
        cmocka_unit_test(a_source_that_released_it_needs_a_target_that_has_it),
        cmocka_unit_test(a_guest_that_is_stuck_elsewhere_is_not_lost),
        cmocka_unit_test(having_run_on_the_target_proves_arrival_only_without_post_copy),
        cmocka_unit_test(a_definition_on_the_target_proves_arrival_only_if_the_call_makes_one),
        cmocka_unit_test(a_source_that_released_it_proves_arrival_unless_somebody_else_moved_it),
        cmocka_unit_test(a_node_that_is_not_listed_leaves_it_open),
        cmocka_unit_test(a_guest_that_is_off_on_the_source_ended_there),
    };
    return cmocka_run_group_tests_name("gone", tests, NULL, NULL);
}
