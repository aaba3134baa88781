/* test_remedy_facts.c - the facts behind a remedy, gathered from a job: each field of its own, and
 * how old an observation may be. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/remedy.h"
#include "tests/core_move.h"

static struct remedy_facts gather(struct core_world *w)
{
    struct remedy_facts facts;
    remedy_gather(w->fleet, core_job(w), w->now, &facts);
    return facts;
}

/* A job whose stream is untouched: nothing measured, nothing stopped, nobody observed. */
static struct core_world *untouched(void)
{
    struct core_world *w = core_moving();
    struct job *job = core_job(w);
    w->now.mono_ms += 100000;
    job->stream = (struct job_stream){0};
    job->progress.has_sample = false;
    job->resolution.source_side = job->resolution.target_side = (struct job_side){0};
    TEXT_SET(core_node(w, "h1")->host.helper, "");
    TEXT_SET(core_node(w, "h2")->host.helper, "");
    return w;
}

static void without_anything_seen_every_fact_is_empty(void **state)
{
    (void)state;
    struct core_world *w = untouched();
    struct remedy_facts facts = gather(w);
    assert_int_equal(facts.mode, core_job(w)->mode);
    assert_false(facts.has_disks || facts.parallel || facts.yank_may_hang || facts.tunnelled);
    assert_int_equal(facts.quiet_ms, 0);
    assert_int_equal(facts.silent_ms, 0); /* no measurement is no silence */
    assert_int_equal(facts.stopped_ms, -1);
    assert_int_equal(facts.aborted_ms, -1);
    assert_int_equal(facts.since_remedy_ms, -1);
    assert_false(facts.source_runs || facts.source_paused || facts.target_paused);
    assert_false(facts.target_resumed || facts.postcopy_ordered || facts.source_failed);
    assert_false(facts.source_helps || facts.target_helps);
    assert_int_equal(facts.tried, 0);
    core_free(w);
}

static void times_are_counted_from_their_own_moments(void **state)
{
    (void)state;
    struct core_world *w = untouched();
    struct job *job = core_job(w);
    int64_t now = w->now.mono_ms;
    job->stream.flow_ms = now - 700;
    job->stream.sampled_ms = now - 200;
    assert_int_equal(gather(w).quiet_ms, 500); /* measured: up to the newest sample */
    assert_int_equal(gather(w).silent_ms, 700);
    job->stream.stopped_ms = now - 300;
    assert_int_equal(gather(w).stopped_ms, 300);
    assert_int_equal(gather(w).aborted_ms, -1);
    job->stream.aborted_ms = now - 400;
    assert_int_equal(gather(w).aborted_ms, 400);
    assert_int_equal(gather(w).since_remedy_ms, -1);
    job->stream.ordered_ms = now - 50;
    assert_int_equal(gather(w).since_remedy_ms, 50);
    job->userpause.requested = true; /* its user stopped it, not the switch-over */
    assert_int_equal(gather(w).stopped_ms, -1);
    core_free(w);
}

static void the_estimate_is_what_is_left_over_the_bandwidth(void **state)
{
    (void)state;
    struct core_world *w = untouched();
    struct job *job = core_job(w);
    job->progress.has_sample = true;
    job->progress.sample.stats.data_remaining = 3000;
    job->progress.sample.bandwidth_bps = 1000;
    assert_int_equal(gather(w).estimate_ms, 3000);
    job->progress.sample.bandwidth_bps = 0; /* not measured: not "at once" */
    int64_t earlier = gather(w).estimate_ms;
    job->progress.sample.bandwidth_bps = 1000;
    job->progress.has_sample = false;
    assert_int_equal(gather(w).estimate_ms, earlier);
    assert_int_not_equal(earlier, 3000);
    core_free(w);
}

static void set_flags(struct job *job)
{
    job->stream.target_resumed = true;
}
static void set_ordered(struct job *job)
{
    job->stream.postcopy_ordered = true;
}
static void set_tried(struct job *job)
{
    job->stream.tried = UINT64_C(1) << DECISION_STREAM_YANKED;
}
static void set_tunnelled(struct job *job)
{
    job->call.flags |= HV_MIGRATE_TUNNELLED;
}
static void set_disks(struct job *job)
{
    job->request.volumes_json = strdup("[]");
}

/* Each sets one fact and no other. */
static void each_mark_of_the_job_is_one_fact(void **state)
{
    (void)state;
    void (*const marks[])(struct job *) = {set_flags, set_ordered, set_tried, set_tunnelled,
                                           set_disks};
    for (size_t i = 0; i < COUNT(marks); i++) {
        struct core_world *w = untouched();
        marks[i](core_job(w));
        struct remedy_facts facts = gather(w);
        assert_int_equal(facts.target_resumed, i == 0);
        assert_int_equal(facts.postcopy_ordered, i == 1);
        assert_int_equal(facts.tried, i == 2 ? UINT64_C(1) << DECISION_STREAM_YANKED : 0);
        assert_int_equal(facts.tunnelled, i == 3);
        assert_int_equal(facts.has_disks, i == 4);
        core_free(w);
    }
}

static void a_helper_is_that_of_its_own_node(void **state)
{
    (void)state;
    struct core_world *w = untouched();
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    assert_true(gather(w).source_helps && !gather(w).target_helps);
    TEXT_SET(core_node(w, "h1")->host.helper, "");
    TEXT_SET(core_node(w, "h2")->host.helper, "h2:9180");
    assert_true(!gather(w).source_helps && gather(w).target_helps);
    core_free(w);
}

/* Only with several streams, and only a source whose QEMU has that bug. */
static void a_yank_may_hang_with_parallel_streams_of_an_old_source(void **state)
{
    (void)state;
    for (int parallel = 0; parallel < 2; parallel++)
        for (int old = 0; old < 2; old++) {
            struct core_world *w = untouched();
            struct job *job = core_job(w);
            job->call.config.channels = parallel ? 4 : 0;
            core_node(w, "h1")->facts.libvirt_version = 9000000;
            core_node(w, "h1")->facts.hypervisor_version = old ? 7002000 : 11000000;
            core_node(w, "h2")->facts.hypervisor_version = old ? 11000000 : 7002000;
            assert_int_equal(gather(w).parallel, parallel);
            assert_int_equal(gather(w).yank_may_hang, parallel && old);
            core_free(w);
        }
}

/* ---- observations ---- */

struct seen {
    int64_t age_ms;
    struct hv_observation is;
};

static struct remedy_facts gather_seen(bool at_source, struct seen seen)
{
    struct core_world *w = untouched();
    struct job *job = core_job(w);
    struct job_side *side = at_source ? &job->resolution.source_side : &job->resolution.target_side;
    side->observation = seen.is;
    side->seen_ms = seen.age_ms < 0 ? 0 : w->now.mono_ms - seen.age_ms; /* below 0: never */
    struct remedy_facts facts = gather(w);
    core_free(w);
    return facts;
}

static void an_observation_counts_while_it_is_fresh_and_on_its_side(void **state)
{
    (void)state;
    static const struct hv_observation runs = {.presence = HV_PRESENT, .state = HV_STATE_RUNNING};
    static const struct hv_observation paused = {
        .presence = HV_PRESENT, .state = HV_STATE_PAUSED, .reason = HV_PAUSED_MIGRATION};
    static const struct hv_observation failed = {
        .presence = HV_PRESENT, .state = HV_STATE_PAUSED, .reason = HV_PAUSED_POSTCOPY_FAILED};
    static const int64_t ages[] = {0, REMEDY_FRESH_MS, REMEDY_FRESH_MS + 1, -1};
    for (size_t i = 0; i < COUNT(ages); i++) {
        bool fresh = ages[i] >= 0 && ages[i] <= REMEDY_FRESH_MS;
        struct remedy_facts facts = gather_seen(true, (struct seen){ages[i], runs});
        assert_int_equal(facts.source_runs, fresh);
        assert_false(facts.source_paused || facts.target_paused || facts.source_failed);
        facts = gather_seen(true, (struct seen){ages[i], paused});
        assert_int_equal(facts.source_paused, fresh);
        assert_false(facts.source_runs || facts.target_paused || facts.source_failed);
        facts = gather_seen(true, (struct seen){ages[i], failed});
        assert_int_equal(facts.source_failed, fresh);
        assert_false(facts.source_runs || facts.source_paused || facts.target_paused);
        facts = gather_seen(false, (struct seen){ages[i], paused});
        assert_int_equal(facts.target_paused, fresh);
        assert_false(facts.source_runs || facts.source_paused || facts.source_failed);
        facts = gather_seen(false, (struct seen){ages[i], failed});
        assert_false(facts.target_paused || facts.source_failed);
    }
}

/* What was not said is not seen. */
static void no_other_answer_is_taken_for_a_pause_or_a_guest_that_runs(void **state)
{
    (void)state;
    for (int presence = HV_UNKNOWN; presence <= HV_UNREACHABLE; presence++)
        for (int domain = 0; domain <= HV_STATE_PMSUSPENDED; domain++)
            for (int reason = 0; reason <= HV_PAUSED_API_ERROR; reason++) {
                struct hv_observation is = {
                    .presence = (enum hv_presence)presence, .state = domain, .reason = reason};
                struct remedy_facts source = gather_seen(true, (struct seen){0, is});
                struct remedy_facts target = gather_seen(false, (struct seen){0, is});
                bool present = presence == HV_PRESENT;
                bool waits = present && domain == HV_STATE_PAUSED && reason == HV_PAUSED_MIGRATION;
                assert_int_equal(source.source_runs, present && domain == HV_STATE_RUNNING);
                assert_int_equal(source.source_paused, waits);
                assert_int_equal(target.target_paused, waits);
            }
}

/* Once the call is answered the stream is recovery's. */
static void a_failed_source_counts_only_while_the_call_is_out(void **state)
{
    (void)state;
    struct core_world *w = untouched();
    struct job *job = core_job(w);
    job->resolution.source_side =
        (struct job_side){.observation = CORE_PC_BROKEN_SOURCE, .seen_ms = w->now.mono_ms};
    assert_true(gather(w).source_failed);
    uint64_t id = job->orders[ORDER_MIGRATE].id;
    job->orders[ORDER_MIGRATE].id = 0;
    assert_false(gather(w).source_failed);
    job->orders[ORDER_MIGRATE].id = id;
    core_free(w);
}

TEST_FILE(test_remedy_facts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_anything_seen_every_fact_is_empty),
        cmocka_unit_test(times_are_counted_from_their_own_moments),
        cmocka_unit_test(the_estimate_is_what_is_left_over_the_bandwidth),
        cmocka_unit_test(each_mark_of_the_job_is_one_fact),
        cmocka_unit_test(a_helper_is_that_of_its_own_node),
        cmocka_unit_test(a_yank_may_hang_with_parallel_streams_of_an_old_source),
        cmocka_unit_test(an_observation_counts_while_it_is_fresh_and_on_its_side),
        cmocka_unit_test(no_other_answer_is_taken_for_a_pause_or_a_guest_that_runs),
        cmocka_unit_test(a_failed_source_counts_only_while_the_call_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
