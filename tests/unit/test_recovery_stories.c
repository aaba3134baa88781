/* test_recovery_stories.c - broken post-copies from beginning to end. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/recovery.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

static void shows(struct core_world *w, enum recovery state)
{
    const struct job *job = core_job(w);
    if (job->recovery.state != state)
        fail_msg("'%s', not '%s': %s", recovery_name(job->recovery.state), recovery_name(state),
                 job->wait.reason);
    assert_int_equal(job->phase, PHASE_RUNNING);
    assert_true(job->recovering && job->resolving);
    assert_int_equal(job->wait.pending, PENDING_RECOVERY);
    assert_true(job->wait.reason[0] != '\0');
}

static void arrives(struct core_world *w)
{
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 3000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_RECOVERED);
    assert_false(core_job(w)->recovering);
    assert_int_equal(core_count_events(w, "PostCopyRecovered", NULL), 1);
    core_clean(w);
}

static struct core_world *broken(void)
{
    struct core_world *w = core_in_postcopy();
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 500);
    return w;
}

static void resume_runs(struct core_world *w, int64_t ms)
{
    w->source = CORE_PC_SOURCE;
    w->target = CORE_PC_TARGET;
    core_flow(w, ms);
}

static void a_broken_stream_is_taken_up_again_by_one_order(void **state)
{
    (void)state;
    struct core_world *w = broken();
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    const struct effect *order = core_newest(w, HV_CALL_MIGRATE);
    assert_string_equal(order->of.act.node, "h1");
    assert_string_equal(order->of.act.migrate.target, "h2");
    assert_true((order->of.act.migrate.flags & HV_MIGRATE_POSTCOPY) != 0);
    shows(w, RECOVERY_RESUMING);
    resume_runs(w, 20000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    assert_int_equal(core_remedies(w), 0);
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    arrives(w);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void a_recovery_sets_the_bandwidth_again(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(
        "{\"selectors\":{},\"allowPostCopy\":true,\"bandwidthPerMigration\":\"8Mi\"}", false);
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_POSTCOPY);
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 500);
    assert_int_equal(core_newest(w, HV_CALL_MIGRATE)->of.act.migrate.postcopy_bandwidth_mibs, 8);
    core_free(w);
}

static void a_refused_try_is_followed_by_the_next_not_at_once(void **state)
{
    (void)state;
    struct core_world *w = broken();
    for (unsigned tries = 1; tries <= 2; tries++) {
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        shows(w, RECOVERY_WAITING);
        core_advance(w, RECOVERY_AGAIN_MS - 500);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries);
        core_advance(w, 2000);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries + 1);
    }
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    arrives(w);
    assert_int_equal(core_job(w)->recovery.tries, 3);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void our_own_connection_lost_in_a_try_changes_nothing(void **state)
{
    (void)state;
    struct core_world *w = broken();
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    resume_runs(w, 300000); /* it runs without us, for longer than any window */
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    shows(w, RECOVERY_WATCHING);
    arrives(w);
    core_free(w);
}

static void nothing_is_ordered_while_bytes_move(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET); /* only libvirt's connection died */
    core_flow(w, 600000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE) + core_remedies(w), 0);
    shows(w, RECOVERY_WATCHING);
    arrives(w);
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 0);
    core_free(w);
}

static void a_stream_that_is_dead_is_ended_then_taken_up(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET);
    core_stall(w, RECOVERY_QUIET_MS - 1200);
    assert_int_equal(core_remedies(w), 0);
    core_stall_until(w, HV_CALL_ABORT, 1, 3000);
    assert_true(core_newest(w, HV_CALL_ABORT)->of.act.postcopy);
    core_answers(w, HV_CALL_ABORT, ERR_NONE);
    core_stall_until(w, HV_CALL_MIGRATE, 1, 3000);
    assert_int_equal(w->aborts, 0);
    core_free(w);
}

static void a_helper_at_the_target_tells_it_that_the_stream_is_dead(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    TEXT_SET(core_node(w, "h2")->host.helper, "h2:9180");
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET);
    core_stall_until(w, HV_CALL_ABORT, 1, 10000);
    core_answers(w, HV_CALL_ABORT, ERR_NONE);
    core_stall_until(w, HV_CALL_KILL_STREAM, 1, 3000);
    assert_string_equal(core_newest(w, HV_CALL_KILL_STREAM)->of.act.node, "h2");
    w->target = CORE_PC_BROKEN_TARGET;
    core_answers(w, HV_CALL_KILL_STREAM, ERR_NONE);
    core_stall_until(w, HV_CALL_MIGRATE, 1, 3000);
    core_free(w);
}

/* The new stream stalls as well, and its order does not come back. */
static void a_stream_that_was_taken_up_and_dies_is_ended_too(void **state)
{
    (void)state;
    struct core_world *w = broken();
    resume_runs(w, 5000);
    core_stall_until(w, HV_CALL_ABORT, 1, 15000);
    core_answers(w, HV_CALL_ABORT, ERR_NONE);
    w->source = CORE_PC_BROKEN_SOURCE;
    w->target = CORE_PC_BROKEN_TARGET;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 6000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 2);
    core_free(w);
}

static void a_half_that_is_gone_is_flagged_within_five_seconds(void **state)
{
    (void)state;
    const struct {
        struct hv_observation source, target;
        const char *says;
    } stories[] = {
        {CORE_PC_BROKEN_SOURCE, CORE_ABSENT, "the domain on h2 is gone"},
        {CORE_PC_SOURCE, CORE_ABSENT, "the domain on h2 is gone"},
        {CORE_ABSENT, CORE_PC_BROKEN_TARGET, "the domain on h1 is gone"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct core_world *w = core_in_postcopy();
        core_breaks(w, stories[i].source, stories[i].target);
        core_advance(w, 700);
        core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN); /* one look proves nothing */
        core_advance(w, 4000);
        core_expect(w, PHASE_FAILED, OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
        assert_non_null(strstr(core_job(w)->result.failure_reason, stories[i].says));
        assert_int_equal(core_count_events(w, "Irrecoverable", NULL), 1);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE) + core_remedies(w), 0);
        assert_false(core_job(w)->recovering);
        core_clean(w);
        core_free(w);
    }
}

static void a_half_that_dies_during_a_try_is_flagged(void **state)
{
    (void)state;
    struct core_world *w = broken();
    w->target = CORE_ABSENT;
    core_advance(w, 5000);
    core_expect(w, PHASE_FAILED, OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 1000);
    core_expect(w, PHASE_FAILED, OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_IRRECOVERABLE);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

/* An unreachable side is not gone. */
static void a_host_that_cannot_be_asked_is_watched_for_ever(void **state)
{
    (void)state;
    for (int at_source = 0; at_source < 2; at_source++) {
        struct core_world *w = core_in_postcopy();
        core_breaks(w, at_source ? CORE_BLIND : CORE_PC_BROKEN_SOURCE,
                    at_source ? CORE_PC_BROKEN_TARGET : CORE_BLIND);
        core_advance(w, 3600000);
        shows(w, RECOVERY_BLIND);
        assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 1);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE) + core_remedies(w), 0);
        w->source = CORE_PC_BROKEN_SOURCE;
        w->target = CORE_PC_BROKEN_TARGET;
        core_advance(w, 2500);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1); /* with a whole window */
        shows(w, RECOVERY_RESUMING);
        core_advance(w, RECOVERY_WINDOW_MS / 2);
        shows(w, RECOVERY_RESUMING);
        core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
        arrives(w);
        core_free(w);
    }
}

static void refuse_all(struct core_world *w, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 1000) {
        if (core_job(w)->orders[ORDER_RECOVERY].id == core_newest(w, HV_CALL_MIGRATE)->of.act.id)
            core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        core_advance(w, 1000);
    }
}

static void shows_deadline(struct core_world *w)
{
    const struct job *job = core_job(w);
    assert_int_equal(job->wait.pending, PENDING_RECOVERY);
    assert_int_equal(job->wait.until_ms, job->recovery.until_ms);
    assert_true(job->wait.until_ms > w->now.wall_ms);
    assert_null(strstr(job->wait.reason, "no attempt worked")); /* the earlier window's end */
}

static void an_exhausted_recovery_is_reported_and_an_override_starts_it_again(void **state)
{
    (void)state;
    struct core_world *w = broken();
    refuse_all(w, RECOVERY_WINDOW_MS - 5000);
    assert_int_not_equal(core_job(w)->recovery.state, RECOVERY_EXHAUSTED);
    refuse_all(w, 10000);
    shows(w, RECOVERY_EXHAUSTED);
    unsigned tries = core_orders(w, HV_CALL_MIGRATE);
    assert_true(tries >= 30 && tries <= RECOVERY_WINDOW_MS / RECOVERY_AGAIN_MS + 2);
    core_advance(w, 600000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries);
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", "ferry recover"), 1);
    w->target = CORE_BLIND; /* so that no attempt can begin yet */
    core_advance(w, 1000);
    assert_true(core_override(w, RESOLVE_RECOVER));
    shows_deadline(w);
    w->target = CORE_PC_BROKEN_TARGET;
    core_advance(w, 1000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries + 1);
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    arrives(w);
    core_free(w);
}

static void a_clock_that_jumps_neither_ends_nor_stops_it(void **state)
{
    (void)state;
    const int64_t jumps_ms[] = {-3600000, 3600000};
    for (size_t i = 0; i < COUNT(jumps_ms); i++) {
        struct core_world *w = broken();
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        w->now.wall_ms += jumps_ms[i];
        core_advance(w, 6000);
        shows(w, RECOVERY_RESUMING);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 2);
        refuse_all(w, RECOVERY_WINDOW_MS);
        shows(w, RECOVERY_EXHAUSTED);
        core_free(w);
    }
}

/* ---- the next process ---- */

static void recovery_goes_on_after_a_restart(void **state)
{
    (void)state;
    for (int away = 0; away < 2; away++) {
        struct core_world *w = broken(); /* an order is out */
        unsigned tries = core_orders(w, HV_CALL_MIGRATE);
        core_restart_blind(w, away ? 3600000 : 1000);
        assert_int_equal(core_job(w)->wait.until_ms, w->now.wall_ms + RECOVERY_WINDOW_MS);
        core_restart(w, 1000); /* nobody tried while nobody was there */
        core_advance(w, 2000);
        shows(w, RECOVERY_RESUMING);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries + 1);
        assert_int_equal(core_job(w)->mode, MODE_POSTCOPY);
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        core_restart(w, 1000); /* waiting */
        core_advance(w, 2000);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries + 2);
        core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
        arrives(w);
        assert_int_equal(core_open_intents(w), 0);
        core_free(w);
    }
}

/* A place in the limits is for what moves, or may. */
static void only_what_was_given_up_gives_its_place_to_others(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_restart(w, 1000);
    core_flow(w, 200000);
    assert_int_equal(w->fleet->busy_jobs, 1); /* whole, and moving */
    w->target = CORE_BLIND;
    core_advance(w, 55000);
    assert_int_equal(w->fleet->busy_jobs, 1);
    core_advance(w, 15000);
    assert_int_equal(w->fleet->busy_jobs, 0);
    core_free(w);

    w = core_in_postcopy();
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET);
    core_flow(w, 200000);
    assert_int_equal(w->fleet->busy_jobs, 1);
    core_free(w);
}

static void each_other_state_goes_on_after_a_restart(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET);
    core_flow(w, 4000);
    core_restart(w, 1000);
    core_flow(w, 30000);
    shows(w, RECOVERY_WATCHING);
    assert_int_equal(core_remedies(w), 0);
    core_stall_until(w, HV_CALL_ABORT, 1, 12000);
    shows(w, RECOVERY_PAUSING);
    core_restart(w, 1000);
    assert_int_equal(core_open_intents(w), 0);
    core_stall_until(w, HV_CALL_ABORT, 2, 12000); /* whether that one worked nobody knows */
    w->target = CORE_BLIND;
    core_advance(w, 5000);
    shows(w, RECOVERY_BLIND);
    core_restart(w, 1000);
    core_advance(w, 10000);
    shows(w, RECOVERY_BLIND);
    w->target = CORE_PC_BROKEN_TARGET;
    core_advance(w, 2000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    refuse_all(w, RECOVERY_WINDOW_MS + 5000);
    shows(w, RECOVERY_EXHAUSTED);
    unsigned tries = core_orders(w, HV_CALL_MIGRATE);
    core_restart(w, 1000);
    core_advance(w, 20000);
    shows(w, RECOVERY_EXHAUSTED);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries); /* only a word opens it again */
    assert_true(core_override(w, RESOLVE_RECOVER));
    core_advance(w, 1000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries + 1);
    w->target = CORE_ABSENT;
    core_restart(w, 1000);
    core_advance(w, 5000);
    core_expect(w, PHASE_FAILED, OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    core_free(w);
}

static void a_post_copy_taken_over_whole_is_not_called_broken(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_restart(w, 1000);
    core_flow(w, 600000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_int_equal(core_count_events(w, "PostCopyBroken", NULL), 0);
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 0);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_NONE);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE) + core_remedies(w), 0);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 3000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_free(w);
}

/* Taken over while it copied, it goes to post-copy, and breaks. */
static void one_that_breaks_long_after_it_was_taken_over_is_mended_too(void **state)
{
    (void)state;
    struct core_world *w = core_flowing("{\"selectors\":{},\"allowPostCopy\":true}", false);
    core_restart(w, 1000);
    core_flow(w, 3000);
    assert_false(core_job(w)->resolving);
    w->source = CORE_PC_SOURCE; /* the event that told of it was missed */
    w->target = CORE_PC_TARGET;
    core_flow(w, 3000);
    assert_int_equal(core_job(w)->mode, MODE_POSTCOPY);
    w->source = CORE_PC_BROKEN_SOURCE;
    w->target = CORE_PC_BROKEN_TARGET;
    core_advance(w, 3000);
    shows(w, RECOVERY_RESUMING);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    assert_true(core_override(w, RESOLVE_ON_TARGET)); /* it is in doubt, so a word counts */
    core_free(w);
}

/* ---- what people ask for ---- */

static void an_abort_in_post_copy_is_refused_with_the_reason(void **state)
{
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        struct core_world *w = core_in_postcopy();
        if (restarted)
            core_restart(w, 1000);
        core_cancel(w);
        core_advance(w, 3000);
        assert_int_equal(w->aborts + core_remedies(w), 0);
        assert_int_equal(core_job(w)->abort.status, ABORT_FAILED);
        assert_int_equal(core_count_events(w, "FailedAbortMigration", "already runs on the target"),
                         1);
        w->source = CORE_ABSENT;
        w->target = CORE_ARRIVED;
        if (!restarted)
            core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
        core_advance(w, 3000);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        core_free(w);
    }
}

static void an_override_ends_a_broken_post_copy(void **state)
{
    (void)state;
    const struct {
        enum override_kind word;
        enum phase phase;
        enum outcome outcome;
        enum guest_at at;
    } words[] = {
        {RESOLVE_ON_SOURCE, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE},
        {RESOLVE_ON_TARGET, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET},
        {RESOLVE_GONE, PHASE_FAILED, OUTCOME_LOST, GUEST_AT_LOST},
    };
    for (size_t i = 0; i < COUNT(words); i++) {
        struct core_world *w = broken();
        unsigned orders = core_orders(w, HV_CALL_MIGRATE) + core_remedies(w);
        assert_true(core_override(w, words[i].word));
        core_expect(w, words[i].phase, words[i].outcome, words[i].at);
        assert_int_equal(core_count_events(w, "ResolvedByOperator", "I went there and looked"), 1);
        core_advance(w, 10000);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE) + core_remedies(w), orders);
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR); /* the try comes back late */
        core_expect(w, words[i].phase, words[i].outcome, words[i].at);
        assert_int_equal(core_open_intents(w), 0);
        assert_false(core_override(w, RESOLVE_RECOVER));
        assert_non_null(strstr(w->err.text, "has ended"));
        core_clean(w);
        core_free(w);
    }
}

static void resolving_a_migration_whose_abort_was_asked_for_ends_it_once(void **state)
{
    (void)state;
    for (enum override_kind word = RESOLVE_ON_SOURCE; word <= RESOLVE_GONE; word++) {
        struct core_world *w = broken();
        core_cancel(w);
        assert_true(core_job(w)->abort.asked);
        assert_true(core_override(w, word));
        assert_null(w->fleet->broken);
        assert_true(phase_is_final(core_job(w)->phase));
        assert_int_equal(core_count_events(w, "ResolvedByOperator", NULL), 1);
        core_advance(w, 5000);
        core_clean(w);
        core_free(w);
    }
}

static void an_override_of_a_healthy_migration_is_refused(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    for (enum override_kind word = RESOLVE_RECOVER; word <= RESOLVE_GONE; word++) {
        assert_false(core_override(w, word));
        assert_int_equal(w->err.code, ERR_REFUSED);
    }
    core_restart(w, 1000);
    core_flow(w, 3000); /* found running: nothing is in doubt either */
    assert_false(core_override(w, RESOLVE_GONE));
    core_free(w);

    w = core_in_postcopy();
    assert_false(core_override(w, RESOLVE_ON_TARGET));
    assert_false(core_override(w, RESOLVE_RECOVER));
    core_restart(w, 1000);
    core_flow(w, 3000);
    assert_false(core_override(w, RESOLVE_ON_SOURCE));
    core_free(w);
}

static void nothing_is_ordered_while_nothing_can_be_recorded(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    w->fleet->store_ok = false;
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 30000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE) + core_remedies(w), 0);
    w->fleet->store_ok = true;
    core_advance(w, 2000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    core_free(w);
}

TEST_FILE(test_recovery_stories)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_stream_is_taken_up_again_by_one_order),
        cmocka_unit_test(a_recovery_sets_the_bandwidth_again),
        cmocka_unit_test(a_refused_try_is_followed_by_the_next_not_at_once),
        cmocka_unit_test(our_own_connection_lost_in_a_try_changes_nothing),
        cmocka_unit_test(nothing_is_ordered_while_bytes_move),
        cmocka_unit_test(a_stream_that_is_dead_is_ended_then_taken_up),
        cmocka_unit_test(a_helper_at_the_target_tells_it_that_the_stream_is_dead),
        cmocka_unit_test(a_stream_that_was_taken_up_and_dies_is_ended_too),
        cmocka_unit_test(a_half_that_is_gone_is_flagged_within_five_seconds),
        cmocka_unit_test(a_half_that_dies_during_a_try_is_flagged),
        cmocka_unit_test(a_host_that_cannot_be_asked_is_watched_for_ever),
        cmocka_unit_test(an_exhausted_recovery_is_reported_and_an_override_starts_it_again),
        cmocka_unit_test(a_clock_that_jumps_neither_ends_nor_stops_it),
        cmocka_unit_test(recovery_goes_on_after_a_restart),
        cmocka_unit_test(only_what_was_given_up_gives_its_place_to_others),
        cmocka_unit_test(each_other_state_goes_on_after_a_restart),
        cmocka_unit_test(a_post_copy_taken_over_whole_is_not_called_broken),
        cmocka_unit_test(one_that_breaks_long_after_it_was_taken_over_is_mended_too),
        cmocka_unit_test(an_abort_in_post_copy_is_refused_with_the_reason),
        cmocka_unit_test(an_override_ends_a_broken_post_copy),
        cmocka_unit_test(resolving_a_migration_whose_abort_was_asked_for_ends_it_once),
        cmocka_unit_test(an_override_of_a_healthy_migration_is_refused),
        cmocka_unit_test(nothing_is_ordered_while_nothing_can_be_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
