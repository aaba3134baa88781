/* test_remedy_oneway.c - streams without data while the guest runs on the source, or on the target
 * and nobody can measure. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/remedy.h"
#include "engine/data/stream.h"
#include "tests/core_move.h"

/* Packets from the source to the target are lost, those of the target arrive: the last one of a
 * copy that is dropped makes the source's QEMU wait for ever. */
static void a_copy_is_kept_while_the_source_s_qemu_cancels(void **state)
{
    (void)state;
    for (int helps = 0; helps < 2; helps++) {
        struct core_world *w = core_flowing(NULL, false);
        if (helps)
            TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
        core_stall(w, 2400);
        core_cancel(w);
        w->migration.status = HV_MIGRATION_CANCELLING;
        core_returns(w, HV_CALL_ABORT, ERR_NONE);
        core_advance(w, REMEDY_CANCEL_MS - 500);
        assert_int_equal(core_remedies(w), 0);
        core_advance(w, 2000);
        assert_int_equal(core_orders(w, HV_CALL_YANK), 1);
        core_answers(w, HV_CALL_YANK, ERR_NONE);
        core_advance(w, REMEDY_YANKED_MS + 2000);
        assert_int_equal(core_orders(w, HV_CALL_KILL_STREAM), (unsigned)helps);
        core_advance(w, 600000);
        assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 0);
        assert_int_equal(core_orders(w, HV_CALL_YANK), 1);
        if (!helps) {
            assert_non_null(strstr(core_job(w)->wait.reason, "The guest is safe and runs"));
            assert_non_null(strstr(core_job(w)->wait.reason, "Aborted 60")); /* not of long ago */
        }
        core_free(w);
    }
}

static void a_pre_copy_without_data_is_aborted_before_the_target_s_keepalive_ends(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    core_stall(w, REMEDY_PRECOPY_MS - 800);
    assert_int_equal(w->aborts, 0);
    assert_non_null(strstr(core_job(w)->wait.reason, "No data transferred for"));
    assert_null(strstr(core_job(w)->wait.reason, "for 2.")); /* how long now, not at first */
    core_stall(w, 2000);
    assert_int_equal(w->aborts, 1);
    assert_int_equal(core_job(w)->abort.cause, ABORT_CAUSE_STALLED);
    core_stall(w, 5000);
    assert_int_equal(w->aborts, 1);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(core_remedies(w), 0);
    core_free(w);
}

/* An abort has no effect on them, however early. */
static void parallel_streams_without_data_are_yanked_not_aborted(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        struct core_world *w = core_flowing("{\"selectors\":{},\"parallelConnections\":4}", false);
        core_stall(w, 3000);
        if (asked)
            core_cancel(w);
        core_stall(w, asked ? 800 : REMEDY_PRECOPY_MS);
        assert_int_equal(core_orders(w, HV_CALL_YANK), 1);
        assert_int_equal(w->aborts, 0);
        core_free(w);
    }
}

/* Statistics and QEMU are silent while the call is out: nothing is known, so nothing is ended. */
static void a_post_copy_that_cannot_be_measured_is_paged_and_left_to_an_operator(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    w->source = CORE_PC_SOURCE;
    w->target = CORE_PC_TARGET;
    core_advance(w, STREAM_PAGE_MS + 3000);
    assert_int_equal(core_remedies(w), 0);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_BLIND);
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", "ferry recover"), 1);
    core_advance(w, 600000);
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 1);
    assert_int_equal(core_remedies(w), 0);
    core_flow(w, 2000); /* measured again, and it moves */
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_NONE);
    core_advance(w, STREAM_PAGE_MS + 3000);
    assert_true(core_override(w, RESOLVE_RECOVER));
    core_advance(w, 2000);
    assert_int_equal(core_orders(w, HV_CALL_ABORT), 1);
    assert_true(core_newest(w, HV_CALL_ABORT)->of.act.postcopy);
    core_free(w);
}

TEST_FILE(test_remedy_oneway)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_kept_while_the_source_s_qemu_cancels),
        cmocka_unit_test(a_pre_copy_without_data_is_aborted_before_the_target_s_keepalive_ends),
        cmocka_unit_test(parallel_streams_without_data_are_yanked_not_aborted),
        cmocka_unit_test(a_post_copy_that_cannot_be_measured_is_paged_and_left_to_an_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
