/* test_recovery_blind.c - a post-copy without statistics: the source's QEMU is asked, and what
 * nobody can measure is paged, not ended. */
#include "tests/test.h"

#include "engine/data/recovery.h"
#include "engine/data/stream.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

static void shows(struct core_world *w, enum recovery state)
{
    const struct job *job = core_job(w);
    if (job->recovery.state != state)
        fail_msg("'%s', not '%s': %s", recovery_name(job->recovery.state), recovery_name(state),
                 job->wait.reason);
    assert_true(job->recovering && job->resolving);
    assert_int_equal(job->wait.pending, PENDING_RECOVERY);
}

static void qemu_says(struct core_world *w, enum hv_migration_status status, uint64_t bytes)
{
    w->migration = (struct hv_migration){status, bytes};
}

/* Whatever the sides report: libvirt calls a source postcopy-failed when only its connection broke.
 */
static void missing_statistics_are_never_a_reason_to_end_a_stream(void **state)
{
    (void)state;
    for (int broken_side = 0; broken_side < 2; broken_side++) {
        struct core_world *w = core_in_postcopy();
        core_breaks(w, broken_side ? CORE_PC_BROKEN_SOURCE : CORE_PC_SOURCE, CORE_PC_TARGET);
        core_advance(w, STREAM_PAGE_MS - 2000);
        assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 0);
        core_advance(w, 4000); /* nobody waits in silence */
        shows(w, RECOVERY_BLIND);
        assert_int_equal(core_count_events(w, "PostCopyNotRecovered", "ferry recover"), 1);
        core_advance(w, 3600000);
        shows(w, RECOVERY_BLIND);
        assert_int_equal(core_remedies(w) + core_orders(w, HV_CALL_MIGRATE), 0);
        assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 1);
        core_free(w);
    }
}

static void an_operator_may_end_a_stream_that_cannot_be_measured(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET);
    core_advance(w, STREAM_PAGE_MS + 5000);
    assert_true(core_override(w, RESOLVE_RECOVER));
    core_advance(w, 2000);
    assert_int_equal(core_orders(w, HV_CALL_ABORT), 1);
    assert_true(core_newest(w, HV_CALL_ABORT)->of.act.postcopy);
    w->target = CORE_PC_BROKEN_TARGET;
    core_answers(w, HV_CALL_ABORT, ERR_NONE);
    core_advance(w, 3000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    core_free(w);
}

static void without_statistics_qemu_s_own_bytes_count(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET);
    for (uint64_t i = 1; i <= 300; i++) { /* it moves */
        qemu_says(w, HV_MIGRATION_POSTCOPY_ACTIVE, i << 20);
        core_advance(w, 1000);
    }
    assert_int_equal(core_remedies(w) + core_orders(w, HV_CALL_MIGRATE), 0);
    shows(w, RECOVERY_WATCHING);
    core_advance(w, RECOVERY_QUIET_MS - 2000); /* it does not */
    assert_int_equal(core_remedies(w), 0);
    core_advance(w, 6000);
    assert_int_equal(core_orders(w, HV_CALL_ABORT), 1);
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 0);
    core_free(w);
}

static void a_stream_that_qemu_calls_broken_is_resumed_at_once(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    qemu_says(w, HV_MIGRATION_POSTCOPY_PAUSED, 7 << 20);
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_TARGET);
    core_advance(w, STREAM_BLIND_MS + 3000);
    assert_int_equal(core_orders(w, HV_CALL_ABORT), 1);
    core_free(w);
}

/* A job taken over in mid-stream is not broken, and yet somebody has to know. */
static void a_post_copy_taken_over_and_never_measured_is_paged(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    w->source = CORE_PC_SOURCE;
    w->target = CORE_PC_TARGET;
    core_restart(w, 1000);
    core_advance(w, STREAM_PAGE_MS + 5000);
    shows(w, RECOVERY_BLIND);
    assert_int_equal(core_remedies(w), 0);
    qemu_says(w, HV_MIGRATION_POSTCOPY_ACTIVE, 1 << 20);
    core_advance(w, 1500);
    qemu_says(w, HV_MIGRATION_POSTCOPY_ACTIVE, 2 << 20);
    core_advance(w, 1500);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_NONE);
    assert_int_equal(core_job(w)->wait.pending, PENDING_NONE);
    core_free(w);
}

static bool answers(struct job *job, uint64_t id, enum hv_migration_status status, uint64_t bytes,
                    struct moment now)
{
    const struct err none = {0};
    return stream_answered(job, id, &(struct hv_migration){status, bytes}, &none, now);
}

/* What was true half a minute ago ends no stream. */
static void only_the_answer_that_was_asked_for_and_is_fresh_counts(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    struct job *job = core_job(w);
    struct moment now = w->now;
    job->stream.query = (struct job_stream_query){.id = 7, .asked_ms = now.mono_ms};
    assert_false(answers(job, 8, HV_MIGRATION_POSTCOPY_PAUSED, 100, now));
    assert_int_equal(stream_state(job, now), HV_STREAM_UNKNOWN);
    assert_true(answers(job, 7, HV_MIGRATION_POSTCOPY_PAUSED, 100, now));
    assert_int_equal(stream_state(job, now), HV_STREAM_BROKEN);
    now.mono_ms += STREAM_FRESH_MS + 1;
    assert_int_equal(stream_state(job, now), HV_STREAM_UNKNOWN);
    core_free(w);
}

/* QEMU keeps the number of bytes of a stream that ended: the next one has not stalled since. */
static void the_quiet_of_an_ended_stream_is_not_the_next_one_s(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    struct job *job = core_job(w);
    struct moment now = w->now;
    static const enum hv_migration_status rows[] = {
        HV_MIGRATION_POSTCOPY_ACTIVE, HV_MIGRATION_POSTCOPY_PAUSED, HV_MIGRATION_POSTCOPY_ACTIVE};
    stream_begin(job, now);
    for (size_t i = 0; i < COUNT(rows); i++) {
        now.mono_ms += 60000;
        job->stream.query.id = i + 1;
        assert_true(answers(job, i + 1, rows[i], 100, now));
    }
    assert_int_equal(stream_quiet_ms(job), 0);
    core_free(w);
}

TEST_FILE(test_recovery_blind)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_statistics_are_never_a_reason_to_end_a_stream),
        cmocka_unit_test(an_operator_may_end_a_stream_that_cannot_be_measured),
        cmocka_unit_test(without_statistics_qemu_s_own_bytes_count),
        cmocka_unit_test(a_stream_that_qemu_calls_broken_is_resumed_at_once),
        cmocka_unit_test(a_post_copy_taken_over_and_never_measured_is_paged),
        cmocka_unit_test(only_the_answer_that_was_asked_for_and_is_fresh_counts),
        cmocka_unit_test(the_quiet_of_an_ended_stream_is_not_the_next_one_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
