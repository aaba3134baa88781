/* test_observed_lists.c - what lists and departures tell of a migration that somebody else started,
 * what confirms it, and what only looks like one: remains, Ferry's own, guests that do not run. */
#include "tests/unit/test_observed_stage.h"

/* The name is made of the first digits of a random number. */
static void no_two_records_have_one_name(void **state)
{
    (void)state;
    struct core_world *w = core_new(), *same = core_new();
    core_add_guest(w, "g2", "h1", 64);
    core_add_guest(same, "g2", "h1", 64);
    uint64_t random = same->fleet->random = w->fleet->random;
    happens(same, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_non_null(core_ask(w, "g2", &(struct core_request){.name = recorded(same)->name}));
    w->fleet->random = random;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_string_not_equal(recorded(w)->name, recorded(same)->name);
    core_free(w);
    core_free(same);
}

/* A list showed the copy, and it is being confirmed; then its event comes. */
static void a_copy_that_was_listed_before_its_event_is_recorded_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    assert_int_equal(w->fleet->observed.passing.n, 1);
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_int_equal(w->fleet->observed.passing.n, 0);
    core_advance(w, 3000);
    assert_non_null(recorded(w));
    core_free(w);
}

/* Ferry's own job for the guest has not begun: what leaves is not its. */
static void a_waiting_job_hides_no_departure(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_connect(w, "h3", false);
    assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h3"}));
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    lists(w, "h1", HV_STATE_NONE, 0);
    lists(w, "h2", HV_STATE_RUNNING, HV_RUNNING_MIGRATED);
    core_advance(w, 5000);
    assert_non_null(recorded(w));
    core_free(w);
}

/* Its stored rows cannot be read: where it goes is not known. */
static void what_an_unreadable_job_moves_is_not_taken_for_somebody_elses(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_add_host(w, "h3");
    core_job(w)->unreadable = true;
    happens(w, "h3", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_null(recorded(w));
    core_job(w)->unreadable = false;
    happens(w, "h3", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_string_equal(recorded(w)->target, "h3");
    core_free(w);
}

static void that_ferrys_own_guest_left_is_no_news(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    assert_int_equal(w->fleet->observed.passing.n, 0);
    core_free(w);
}

/* At the switch-over the source is the copy that waits: it looks like a way back. */
static void the_end_of_ferrys_own_migration_is_no_other_one(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    lists(w, "h1", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    lists(w, "h2", HV_STATE_RUNNING, HV_RUNNING_MIGRATED);
    assert_int_equal(w->fleet->observed.passing.n, 0);
    core_free(w);
}

/* A paused copy beside the running guest is what their last migration left, whichever way it went;
 * one that never began left nothing. */
static void a_copy_that_the_last_migration_left_is_no_new_one(void **state)
{
    (void)state;
    static const struct {
        const char *source, *target;
        int64_t epoch;
        bool left_it;
    } rows[] = {
        {"h1", "h2", 1, true},  {"h2", "h1", 1, true},  {"h1", "h2", 0, false},
        {"h3", "h2", 1, false}, {"h1", "h3", 1, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        core_add_host(w, "h3");
        struct job *last = core_ask(w, "g1", &(struct core_request){.dry_run = false});
        core_fails(w, "g1");
        core_advance(w, 10000);
        assert_true(phase_is_final(last->phase));
        TEXT_SET(last->source, rows[i].source);
        TEXT_SET(last->target, rows[i].target);
        last->epoch = rows[i].epoch;
        w->target = CORE_INCOMING;
        lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
        assert_int_equal(w->fleet->observed.passing.n, !rows[i].left_it);
        core_free(w);
    }
}

static void a_pair_is_a_guest_that_runs_and_a_copy_that_waits_for_it(void **state)
{
    (void)state;
    static const struct {
        int state, reason, copy_reason;
        bool is_pair;
    } rows[] = {
        {HV_STATE_RUNNING, 0, HV_PAUSED_MIGRATION, true},
        {HV_STATE_RUNNING, 0, HV_PAUSED_STARTING_UP, true},
        {HV_STATE_RUNNING, 0, HV_PAUSED_USER, false},
        {HV_STATE_PAUSED, HV_PAUSED_USER, HV_PAUSED_MIGRATION, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        lists(w, "h1", rows[i].state, rows[i].reason);
        lists(w, "h2", HV_STATE_PAUSED, rows[i].copy_reason);
        assert_int_equal(w->fleet->observed.passing.n, rows[i].is_pair);
        core_free(w);
    }
}

/* Both nodes are asked once, and after half a minute without their answers it is given up. */
static void a_pair_that_is_not_confirmed_is_not_recorded(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->loses.observations = true;
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    core_advance(w, 3000);
    unsigned asked = w->observations;
    core_advance(w, 20000);
    assert_int_equal(w->observations, asked);
    assert_int_equal(w->fleet->observed.passing.n, 1);
    core_advance(w, 10000);
    assert_int_equal(w->fleet->observed.passing.n, 0);
    assert_null(recorded(w));
    core_free(w);
}

/* Another appliance moves it, or lost it: it has its own ways (test_orphans.c). */
static void a_pair_that_carries_a_mark_is_not_recorded(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct guest_facts facts = core_guest(w, "g1")->facts;
    facts.mark = (struct hv_mark){
        .appliance = "fedcba9876543210", .job = "x", .source = "h1", .target = "h2"};
    struct input input = {.kind = INPUT_DEFINITION, .of.definition = &facts};
    TEXT_SET(input.host, "h1");
    TEXT_SET(input.guest, CORE_GUEST);
    core_feed(w, &input);
    w->target = CORE_INCOMING;
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    core_advance(w, 5000);
    assert_null(recorded(w));
    core_free(w);
}

/* Not from the moment Ferry was started. */
static void an_arrival_is_waited_for_from_the_departure_on(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_advance(w, 60000);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    lists(w, "h1", HV_STATE_NONE, 0);
    core_advance(w, 5000);
    assert_int_equal(core_count_events(w, "MovedAway", NULL), 0);
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION); /* it is there, and does not run yet */
    core_advance(w, 5000);
    assert_null(recorded(w));
    lists(w, "h2", HV_STATE_RUNNING, HV_RUNNING_MIGRATED);
    core_advance(w, 5000);
    assert_string_equal(recorded(w)->source, "h1");
    core_free(w);
}

static void a_definition_elsewhere_is_no_arrival(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->source = CORE_ABSENT;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    lists(w, "h1", HV_STATE_NONE, 0);
    lists(w, "h2", HV_STATE_SHUTOFF, 0);
    core_advance(w, 60000);
    assert_null(recorded(w));
    assert_int_equal(core_count_events(w, "MovedAway", "away from h1"), 1);
    core_free(w);
}

static void a_guest_that_is_off_is_not_migrated(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    lists(w, "h1", HV_STATE_SHUTOFF, 0);
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_null(recorded(w));
    core_free(w);
}

/* Ferry's own job began meanwhile: what becomes of the guest is its matter. */
static void a_departure_is_not_followed_beside_ferrys_own_migration(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_connect(w, "h3", false);
    struct job *own = core_ask(w, "g1", &(struct core_request){.target = "h3"});
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    assert_int_equal(w->fleet->observed.passing.n, 1);
    own->epoch = 1;
    lists(w, "h1", HV_STATE_NONE, 0);
    core_advance(w, 2000);
    assert_int_equal(w->fleet->observed.passing.n, 0);
    own->epoch = 0;
    core_free(w);
}

/* Nor is one that was on its way looked for any longer. */
static void what_was_followed_is_forgotten_with_the_record(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_non_null(recorded(w));
    assert_string_equal(fleet_guest(w->fleet, CORE_GUEST)->passage.from, "");
    core_free(w);
}

/* ---- one after the other ---- */

static void a_migration_whose_source_completed_its_job_arrived(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 300);
    struct job *first = recorded(w);
    first->call.over = true;
    happens(w, "h3", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_int_equal(first->result.outcome, OUTCOME_SUCCEEDED);
    struct job *second = fleet_observed_job(w->fleet, CORE_GUEST);
    assert_string_equal(second->source, "h2");
    assert_string_equal(second->target, "h3");
    core_free(w);
}

static void a_frozen_record_is_not_ended_by_the_next_migration(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 300);
    struct job *job = recorded(w);
    job->frozen = true;
    happens(w, "h3", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_false(phase_is_final(job->phase));
    job->frozen = false;
    core_free(w);
}

/* The last event of a migration comes after its end was read; the next departure is from its
 * target. */
static void a_departure_belongs_to_the_migration_that_just_ended_only_at_its_source(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 300);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    for (int i = 0; i < 100 && !phase_is_final(recorded(w)->phase); i++)
        core_advance(w, 100);
    assert_int_equal(recorded(w)->result.outcome, OUTCOME_SUCCEEDED);
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    assert_int_equal(w->fleet->observed.passing.n, 0);
    happens(w, "h2", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    assert_int_equal(w->fleet->observed.passing.n, 1);
    core_free(w);
}

/* Ferry's call failed while the target's daemon hung: no start was told. */
static struct core_world *refused_unheard(void)
{
    struct core_world *w = core_new();
    core_create(w);
    assert_int_equal(w->migrates, 1);
    core_fails(w, "g1");
    return w;
}

/* A daemon that goes on still starts the copy of a call that has failed meanwhile. */
static void the_late_start_of_ferrys_own_copy_is_no_other_migration(void **state)
{
    (void)state;
    struct core_world *w = refused_unheard();
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 5000);
    assert_null(recorded(w));
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED); /* one copy has one start */
    assert_non_null(recorded(w));
    core_free(w);
}

static void a_start_long_after_ferrys_own_is_another_migration(void **state)
{
    (void)state;
    struct core_world *w = refused_unheard();
    core_advance(w, 31000);
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_non_null(recorded(w));
    core_free(w);
}

static void a_start_elsewhere_than_ferrys_own_is_another_migration(void **state)
{
    (void)state;
    struct core_world *w = refused_unheard();
    core_add_host(w, "h3");
    happens(w, "h3", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_non_null(recorded(w));
    core_free(w);
}

static void a_start_after_ferrys_own_was_told_is_another_migration(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_create(w);
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_fails(w, "g1");
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_non_null(recorded(w));
    core_free(w);
}

/* Memory moved, so its copy had been started long before. */
static void a_start_after_ferrys_own_that_moved_is_another_migration(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_ABSENT;
    core_fails(w, "g1");
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_non_null(recorded(w));
    core_free(w);
}

TEST_FILE(test_observed_lists)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_late_start_of_ferrys_own_copy_is_no_other_migration),
        cmocka_unit_test(a_start_long_after_ferrys_own_is_another_migration),
        cmocka_unit_test(a_start_elsewhere_than_ferrys_own_is_another_migration),
        cmocka_unit_test(a_start_after_ferrys_own_was_told_is_another_migration),
        cmocka_unit_test(a_start_after_ferrys_own_that_moved_is_another_migration),
        cmocka_unit_test(no_two_records_have_one_name),
        cmocka_unit_test(a_copy_that_was_listed_before_its_event_is_recorded_once),
        cmocka_unit_test(a_waiting_job_hides_no_departure),
        cmocka_unit_test(what_an_unreadable_job_moves_is_not_taken_for_somebody_elses),
        cmocka_unit_test(that_ferrys_own_guest_left_is_no_news),
        cmocka_unit_test(the_end_of_ferrys_own_migration_is_no_other_one),
        cmocka_unit_test(a_copy_that_the_last_migration_left_is_no_new_one),
        cmocka_unit_test(a_pair_is_a_guest_that_runs_and_a_copy_that_waits_for_it),
        cmocka_unit_test(a_pair_that_is_not_confirmed_is_not_recorded),
        cmocka_unit_test(a_pair_that_carries_a_mark_is_not_recorded),
        cmocka_unit_test(an_arrival_is_waited_for_from_the_departure_on),
        cmocka_unit_test(a_definition_elsewhere_is_no_arrival),
        cmocka_unit_test(a_guest_that_is_off_is_not_migrated),
        cmocka_unit_test(a_departure_is_not_followed_beside_ferrys_own_migration),
        cmocka_unit_test(what_was_followed_is_forgotten_with_the_record),
        cmocka_unit_test(a_migration_whose_source_completed_its_job_arrived),
        cmocka_unit_test(a_frozen_record_is_not_ended_by_the_next_migration),
        cmocka_unit_test(a_departure_belongs_to_the_migration_that_just_ended_only_at_its_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
