/* test_observed.c - how a migration that somebody else started is noticed: from the event of its
 * arrival, from two nodes' lists, from its departure; and what is not taken for one. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/model/job/launcher.h"
#include "tests/core_restart.h"
#include "tests/unit/test_observed_stage.h"

/* The statistics of the source's job show that it has ended. */
static void job_ends(struct core_world *w, int type)
{
    struct input input = {.kind = INPUT_EVENT};
    input.of.event = (struct hv_event){.kind = HV_EVENT_JOB_ENDED, .a = type};
    TEXT_SET(input.host, "h1");
    TEXT_SET(input.guest, CORE_GUEST);
    TEXT_SET(input.of.event.host, "h1");
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    core_feed(w, &input);
}

static void a_copy_that_starts_elsewhere_is_recorded_at_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    struct job *job = recorded(w);
    assert_non_null(job);
    assert_string_equal(job->source, "h1");
    assert_string_equal(job->target, "h2");
    assert_int_equal(job->phase, PHASE_RUNNING);
    assert_int_equal(w->fleet->busy_jobs, 0); /* no slot */
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_ptr_equal(recorded(w), job);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    core_advance(w, 3000);
    assert_int_equal(job->result.outcome, OUTCOME_SUCCEEDED);
    assert_int_equal(w->fleet->observed.passing.n, 0);
    nothing_was_ordered(w);
    core_free(w);
}

/* A second of a migration, sampled or not. */
static void passes(struct core_world *w, int seconds, bool sampled)
{
    for (int i = 0; i < seconds; i++) {
        struct input input = {.kind = INPUT_SAMPLE};
        TEXT_SET(input.of.sample.job_uid, recorded(w)->uid);
        input.of.sample.stats.type = HV_JOB_UNBOUNDED;
        if (sampled)
            core_feed(w, &input);
        core_advance(w, 1000);
    }
}

/* A query of the source's job holds a lock that libvirt needs to switch over, to cancel and to
 * resume. The collector's samples, which come when that is harmless, tell the same. */
static void the_source_is_not_asked_for_its_job_while_samples_tell(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    unsigned before = w->asks.jobs;
    passes(w, 5, false); /* the first sample may take a while */
    passes(w, 30, true);
    assert_int_equal(w->asks.jobs, before);
    passes(w, 11, false);
    assert_int_equal(w->asks.jobs, before);
    passes(w, 5, false); /* nothing else tells any more */
    assert_true(w->asks.jobs > before);
    assert_int_equal(recorded(w)->phase, PHASE_RUNNING);

    passes(w, 2, true);
    before = w->asks.jobs;
    w->source = CORE_INCOMING; /* paused for it: the switch-over, and its stream stalls */
    passes(w, 5, false);
    w->target = CORE_ABSENT; /* libvirt there has given up */
    passes(w, 60, false);
    assert_int_equal(w->asks.jobs, before);

    w->source = CORE_RUNS; /* QEMU has resumed it, and the copy is gone */
    w->job_type = HV_JOB_NONE;
    passes(w, 3, false);
    assert_int_equal(w->asks.jobs > before, true);
    assert_int_equal(recorded(w)->result.outcome, OUTCOME_FAILED);
    assert_int_equal(recorded(w)->resolution.guest_at, GUEST_AT_SOURCE);
    nothing_was_ordered(w);
    core_free(w);
}

static void the_record_says_what_is_known(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    TEXT_SET(core_node(w, "h1")->facts.uuid, "uuid-of-h1");
    TEXT_SET(core_node(w, "h2")->facts.uuid, "uuid-of-h2");
    fleet_guest(w->fleet, CORE_GUEST)->owner->migratable.manager = HV_MANAGER_NOVA;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    struct job *job = recorded(w);
    assert_string_equal(job->request.managed_by, hv_manager_name(HV_MANAGER_NOVA));
    assert_string_equal(job->resolution.source_host, "uuid-of-h1");
    assert_string_equal(job->resolution.target_host, "uuid-of-h2");
    assert_int_equal(job->times.started_ms, w->now.wall_ms);
    assert_false(job->resolving);
    core_free(w);
}

static void other_starts_are_no_migration(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    for (int detail = 0; detail < 6; detail++)
        if (detail != STARTED_MIGRATED)
            happens(w, "h2", HV_LIFECYCLE_STARTED, detail);
    happens(w, "h1", HV_LIFECYCLE_STARTED, STARTED_MIGRATED); /* where it runs already */
    for (int detail = 0; detail < 8; detail++)
        if (detail != STOPPED_MIGRATED)
            happens(w, "h1", HV_LIFECYCLE_STOPPED, detail);
    core_advance(w, 60000);
    assert_null(recorded(w));
    core_free(w);
}

static void what_ferrys_own_target_receives_is_ferrys(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_list(w, "h1");
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    core_advance(w, 5000);
    assert_null(recorded(w));
    core_free(w);
}

/* Ferry was started later, or lost the event. */
static void two_lists_show_it_and_both_nodes_confirm_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    assert_null(recorded(w));
    core_advance(w, 3000);
    assert_non_null(recorded(w));
    assert_string_equal(recorded(w)->target, "h2");
    nothing_was_ordered(w);
    core_free(w);
}

/* A busy host lists the copy long before it tells that it was started. */
static void the_event_of_its_own_start_may_come_after_the_lists(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    core_advance(w, 3000);
    struct job *job = recorded(w);
    assert_non_null(job);
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_ptr_equal(recorded(w), job);
    assert_false(phase_is_final(job->phase));
    core_advance(w, 1000);
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED); /* and this is another one */
    assert_int_equal(job->result.outcome, OUTCOME_FAILED);
    assert_ptr_not_equal(fleet_observed_job(w->fleet, CORE_GUEST), job);
    nothing_was_ordered(w);
    core_free(w);
}

static void a_list_of_the_past_is_not_believed(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION); /* by now its copy is gone */
    core_advance(w, 60000);
    assert_null(recorded(w));
    assert_int_equal(w->fleet->observed.passing.n, 0);
    core_free(w);
}

/* A post-copy: the guest runs on the target. */
static void a_post_copy_is_paired_the_right_way(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->source = (struct hv_observation){.presence = HV_PRESENT,
                                        .state = HV_STATE_PAUSED,
                                        .reason = HV_PAUSED_POSTCOPY,
                                        .job_type = -1};
    w->target = w->source;
    w->target.state = HV_STATE_RUNNING;
    w->target.reason = HV_RUNNING_POSTCOPY;
    lists(w, "h1", HV_STATE_PAUSED, HV_PAUSED_POSTCOPY);
    lists(w, "h2", HV_STATE_RUNNING, HV_RUNNING_POSTCOPY);
    core_advance(w, 5000);
    struct job *job = recorded(w);
    assert_non_null(job);
    assert_string_equal(job->source, "h1");
    assert_string_equal(job->target, "h2");
    assert_int_equal(job->mode, MODE_POSTCOPY);
    assert_false(phase_is_final(job->phase));
    nothing_was_ordered(w);
    core_free(w);
}

static void one_whose_arrival_was_not_seen_is_recorded_afterwards(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    lists(w, "h1", HV_STATE_NONE, 0);
    core_advance(w, 2000);
    assert_null(recorded(w));
    lists(w, "h2", HV_STATE_RUNNING, HV_RUNNING_MIGRATED);
    core_advance(w, 5000);
    struct job *job = recorded(w);
    assert_non_null(job);
    assert_string_equal(job->source, "h1");
    assert_string_equal(job->target, "h2");
    assert_int_equal(job->result.outcome, OUTCOME_SUCCEEDED);
    nothing_was_ordered(w);
    core_free(w);
}

static void one_to_an_unknown_host_is_an_event(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->source = CORE_ABSENT;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    lists(w, "h1", HV_STATE_NONE, 0);
    core_advance(w, 29000);
    assert_int_equal(core_count_events(w, "MovedAway", NULL), 0);
    core_advance(w, 3000);
    assert_int_equal(core_count_events(w, "MovedAway", "away from h1"), 1);
    assert_null(recorded(w));
    assert_null(fleet_guest(w->fleet, CORE_GUEST)); /* and it is forgotten */
    core_free(w);
}

/* The first one failed a moment ago, and its end is not read yet. */
static void another_attempt_to_another_node_is_another_record(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 500);
    struct job *first = recorded(w);
    happens(w, "h3", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_int_equal(first->result.outcome, OUTCOME_FAILED);
    assert_int_equal(first->resolution.guest_at, GUEST_AT_SOURCE);
    struct job *second = fleet_observed_job(w->fleet, CORE_GUEST);
    assert_string_equal(second->target, "h3");
    nothing_was_ordered(w);
    core_free(w);
}

/* There and back, before the end of the first was read. */
static void one_that_returns_at_once_is_another_record(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 500);
    struct job *first = recorded(w);
    happens(w, "h1", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_int_equal(first->result.outcome, OUTCOME_SUCCEEDED);
    struct job *second = fleet_observed_job(w->fleet, CORE_GUEST);
    assert_string_equal(second->source, "h2");
    assert_string_equal(second->target, "h1");
    core_free(w);
}

/* It stays in the lists, and is no other migration. */
static void a_copy_that_is_left_behind_is_recorded_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    for (unsigned i = 0; i < 6; i++) {
        lists(w, "h2", HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
        core_advance(w, 10000);
    }
    assert_int_equal(recorded(w)->result.outcome, OUTCOME_FAILED);
    nothing_was_ordered(w);
    core_free(w);
}

/* Nobody knows why it ended; the guest is where it was. */
static void one_that_ended_on_its_source_gives_no_reason(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 5000);
    assert_false(phase_is_final(recorded(w)->phase));
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_advance(w, 5000);
    assert_int_equal(recorded(w)->result.outcome, OUTCOME_FAILED);
    assert_int_equal(recorded(w)->resolution.guest_at, GUEST_AT_SOURCE);
    assert_non_null(strstr(recorded(w)->result.failure_reason, "somebody else"));
    nothing_was_ordered(w);
    core_free(w);
}

/* Statistics and events show how libvirt ended it; who asked for that is never known. */
static void how_libvirt_ended_it_is_recorded(void **state)
{
    (void)state;
    static const struct {
        int type, stopped; /* of the source's job, of the target's copy; -1: not seen */
        enum outcome outcome;
        const char *job_end, *copy_end, *reason;
    } rows[] = {
        {HV_JOB_CANCELLED, STOPPED_FAILED, OUTCOME_ABORTED, "cancelled", "failed",
         "was cancelled; who asked for that is unknown"},
        {HV_JOB_FAILED, STOPPED_FAILED, OUTCOME_FAILED, "failed", "failed",
         "failed; libvirt's error went to who started it"},
        {HV_JOB_FAILED, 1, OUTCOME_FAILED, "failed", "destroyed", "failed;"},
        {-1, 2, OUTCOME_FAILED, "", "crashed", "ended; who started it knows why"},
        {-1, -1, OUTCOME_FAILED, "", "", "ended; who started it knows why"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        w->target = CORE_INCOMING;
        w->job_type = HV_JOB_UNBOUNDED;
        w->job_operation = HV_OPERATION_MIGRATION_OUT;
        happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
        core_advance(w, 3000);
        if (rows[i].type >= 0)
            job_ends(w, rows[i].type);
        w->target = CORE_ABSENT;
        w->job_type = HV_JOB_NONE;
        if (rows[i].stopped >= 0)
            happens(w, "h2", HV_LIFECYCLE_STOPPED, rows[i].stopped);
        core_advance(w, 5000);
        const struct job *job = recorded(w);
        assert_int_equal(job->result.outcome, rows[i].outcome);
        assert_int_equal(job->resolution.guest_at, GUEST_AT_SOURCE);
        assert_string_equal(job->result.job_end, rows[i].job_end);
        assert_string_equal(job->result.copy_end, rows[i].copy_end);
        assert_non_null(strstr(job->result.failure_reason, rows[i].reason));
        assert_string_equal(job->abort.requester, "");
        nothing_was_ordered(w);
        core_free(w);
    }
}

/* libvirt reported its job as cancelled, but the guest arrived: the hosts decide. */
static void a_cancelled_one_that_arrived_has_arrived(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    job_ends(w, HV_JOB_CANCELLED);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 5000);
    assert_int_equal(recorded(w)->result.outcome, OUTCOME_SUCCEEDED);
    core_free(w);
}

/* The one to h2 failed, and another one to a host that is not configured began at once. */
static void another_one_to_an_unknown_host_is_no_loss(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 5000);
    struct job *job = recorded(w);
    w->target = CORE_ABSENT;
    happens(w, "h2", HV_LIFECYCLE_STOPPED, STOPPED_FAILED);
    core_advance(w, 5000);
    assert_int_equal(job->result.outcome, OUTCOME_FAILED);
    assert_int_equal(job->resolution.guest_at, GUEST_AT_SOURCE);
    w->source = CORE_ABSENT;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    lists(w, "h1", HV_STATE_NONE, 0);
    core_advance(w, 60000);
    assert_ptr_equal(recorded(w), job);
    assert_int_equal(core_count_events(w, "MovedAway", "away from h1"), 1);
    nothing_was_ordered(w);
    core_free(w);
}

/* The same, so fast that the end of the first was not read. */
static void a_short_one_to_an_unknown_host_is_no_loss(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    core_advance(w, 5000);
    struct job *job = recorded(w);
    w->target = CORE_ABSENT;
    happens(w, "h2", HV_LIFECYCLE_STOPPED, STOPPED_FAILED);
    core_advance(w, 300);
    w->source = CORE_ABSENT;
    happens(w, "h1", HV_LIFECYCLE_STOPPED, STOPPED_MIGRATED);
    lists(w, "h1", HV_STATE_NONE, 0);
    core_advance(w, 60000);
    assert_int_equal(job->result.outcome, OUTCOME_FAILED);
    assert_int_equal(job->resolution.guest_at, GUEST_AT_ELSEWHERE);
    nothing_was_ordered(w);
    core_free(w);
}

/* It ended while Ferry did not run: that nobody has the guest proves no loss. Whether the migration
 * came to its end, and where its manager took the guest then, nobody saw. */
static void one_that_ended_while_ferry_did_not_run_is_no_loss(void **state)
{
    (void)state;
    for (unsigned seen_again = 0; seen_again < 2; seen_again++) {
        struct core_world *w = core_new();
        w->target = CORE_INCOMING;
        w->job_type = HV_JOB_UNBOUNDED;
        w->job_operation = HV_OPERATION_MIGRATION_OUT;
        happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
        core_advance(w, 3000);
        core_restart_blind(w, 60000);
        if (!seen_again)
            w->source = w->target = CORE_ABSENT;
        core_connect(w, "h1", true);
        core_connect(w, "h2", true);
        core_advance(w, 3000);
        w->source = w->target = CORE_ABSENT;
        core_advance(w, 10000);
        const struct job *job = recorded(w);
        assert_int_equal(job->result.outcome, seen_again ? OUTCOME_LOST : OUTCOME_FAILED);
        assert_int_equal(job->resolution.guest_at, seen_again ? GUEST_AT_LOST : GUEST_AT_UNKNOWN);
        nothing_was_ordered(w);
        core_free(w);
    }
}

/* Its hosts do not answer any more: an operator says where the guest is; nothing is ordered. */
static void one_in_doubt_is_ended_by_an_operator(void **state)
{
    (void)state;
    static const enum override_kind kinds[] = {RESOLVE_ON_SOURCE, RESOLVE_ON_TARGET, RESOLVE_GONE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct core_world *w = core_new();
        w->target = CORE_INCOMING;
        w->job_type = HV_JOB_UNBOUNDED;
        w->job_operation = HV_OPERATION_MIGRATION_OUT;
        happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
        core_advance(w, 3000);
        struct job *own = core_ask(w, "g1", NULL);
        core_waits(w, "g1", PENDING_FOREIGN);
        core_connect(w, "h1", false);
        core_connect(w, "h2", false);
        w->source = w->target = CORE_BLIND;
        core_advance(w, 20000);
        struct input input = {.kind = INPUT_RESOLVE, .of.resolve = {.kind = kinds[i]}};
        struct migration_ref ref = {{0}, {0}, {0}};
        struct err err = {0};
        TEXT_SET(input.of.resolve.ns, "default");
        TEXT_SET(input.of.resolve.name, recorded(w)->name);
        TEXT_SET(input.of.resolve.requester, "alice");
        if (!reconcile(w->fleet, &input, w->now, &w->fx, &ref, &err))
            fail_msg("%s", err.text);
        assert_true(phase_is_final(recorded(w)->phase));
        assert_int_not_equal(own->wait.pending, PENDING_FOREIGN);
        nothing_was_ordered(w);
        core_free(w);
    }
}

/* An operator asks to end the guest with its node's drain, while somebody else takes it away. */
static void its_guest_is_not_shut_down(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.eviction_strategy = STRATEGY_NONE;
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_true(core_put(w, OBJECT_DRAIN, "d1", "{\"nodeName\":\"h1\",\"shutdown\":true}"));
    core_advance(w, 20000);
    assert_int_equal(w->shutdowns, 0);
    struct eviction_request evict = {.ns = "default", .allow_shutdown = true, .requester = "alice"};
    launcher_pod("g1", CORE_GUEST, "h1", "", evict.pod);
    assert_false(core_evict(w, &evict));
    assert_non_null(strstr(w->err.text, "somebody else"));
    assert_int_equal(w->shutdowns, 0);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_advance(w, 20000);
    assert_true(phase_is_final(recorded(w)->phase));
    assert_true(w->shutdowns > 0); /* it stayed: the drain goes on */
    core_free(w);
}

/* Durations, samples' trends and logs are taken from that moment (analyzer/record, views.def). */
static void it_counts_as_handed_off_when_it_was_seen(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->target = CORE_INCOMING;
    core_advance(w, 1000);
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    assert_true(recorded(w)->times.handed_off_ms > 0);
    assert_int_equal(recorded(w)->times.handed_off_ms, recorded(w)->times.started_ms);
    core_free(w);
}

TEST_FILE(test_observed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_that_starts_elsewhere_is_recorded_at_once),
        cmocka_unit_test(the_source_is_not_asked_for_its_job_while_samples_tell),
        cmocka_unit_test(the_record_says_what_is_known),
        cmocka_unit_test(other_starts_are_no_migration),
        cmocka_unit_test(what_ferrys_own_target_receives_is_ferrys),
        cmocka_unit_test(two_lists_show_it_and_both_nodes_confirm_it),
        cmocka_unit_test(the_event_of_its_own_start_may_come_after_the_lists),
        cmocka_unit_test(a_list_of_the_past_is_not_believed),
        cmocka_unit_test(a_post_copy_is_paired_the_right_way),
        cmocka_unit_test(one_whose_arrival_was_not_seen_is_recorded_afterwards),
        cmocka_unit_test(one_to_an_unknown_host_is_an_event),
        cmocka_unit_test(another_attempt_to_another_node_is_another_record),
        cmocka_unit_test(one_that_returns_at_once_is_another_record),
        cmocka_unit_test(a_copy_that_is_left_behind_is_recorded_once),
        cmocka_unit_test(one_that_ended_on_its_source_gives_no_reason),
        cmocka_unit_test(how_libvirt_ended_it_is_recorded),
        cmocka_unit_test(a_cancelled_one_that_arrived_has_arrived),
        cmocka_unit_test(one_that_ended_while_ferry_did_not_run_is_no_loss),
        cmocka_unit_test(one_in_doubt_is_ended_by_an_operator),
        cmocka_unit_test(its_guest_is_not_shut_down),
        cmocka_unit_test(it_counts_as_handed_off_when_it_was_seen),
        cmocka_unit_test(another_one_to_an_unknown_host_is_no_loss),
        cmocka_unit_test(a_short_one_to_an_unknown_host_is_no_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
