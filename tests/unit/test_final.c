/* test_final.c - what a migration came to, in numbers. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

/* ---- final numbers ---- */

static const struct effect *question(const struct core_world *w)
{
    for (size_t i = w->fx.n; i-- > 0;)
        if (w->fx.list[i].kind == EFFECT_DO_ASK_FINAL)
            return &w->fx.list[i];
    return NULL;
}

static void tell_event(struct core_world *w, uint64_t downtime_ms)
{
    struct input input = {.kind = INPUT_SAMPLE};
    TEXT_SET(input.of.sample.job_uid, w->job);
    input.of.sample.source = SAMPLE_COMPLETED;
    input.of.sample.stats = (struct hv_job_stats){.type = HV_JOB_COMPLETED,
                                                  .time_elapsed_ms = 4000,
                                                  .downtime_ms = downtime_ms,
                                                  .data_processed = 1000,
                                                  .memory_iteration = 3};
    core_feed(w, &input);
    core_settle(w);
}

static void answer_final(struct core_world *w, int type, enum err_code code)
{
    const struct effect *asked = question(w);
    assert_non_null(asked);
    assert_string_equal(asked->of.act.node, "h2");
    struct input input = {.kind = INPUT_FINAL, .id = asked->of.act.id};
    TEXT_SET(input.guest, CORE_GUEST);
    if (code != ERR_NONE)
        err_set(&input.err, code, "no");
    input.of.stats = (struct hv_job_stats){
        .type = type, .time_elapsed_ms = 5000, .downtime_ms = 70, .data_processed = 2000};
    core_feed(w, &input);
    core_settle(w);
}

static void finish(struct core_world *w)
{
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 2000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
}

static void final_numbers_come_from_the_event(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    tell_event(w, 55);
    finish(w);
    assert_null(question(w)); /* nobody has to be asked */
    core_restart(w, 1000);
    const struct job_final *final = &core_job(w)->final;
    assert_true(final->known);
    assert_string_equal(final->from, "event");
    assert_int_equal(final->downtime_ms, 55);
    assert_int_equal(final->total_ms, 4000);
    assert_int_equal(final->bytes, 1000);
    assert_int_equal(final->iterations, 3);
    core_free(w);
}

static void final_numbers_come_from_the_target_where_no_event_did(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    finish(w);
    answer_final(w, HV_JOB_COMPLETED, ERR_NONE);
    assert_string_equal(core_job(w)->final.from, "target");
    assert_int_equal(core_job(w)->final.downtime_ms, 70);
    tell_event(w, 55); /* the source knows better, also when it is late */
    assert_string_equal(core_job(w)->final.from, "event");
    assert_int_equal(core_job(w)->final.downtime_ms, 55);
    core_free(w);

    w = core_flowing(NULL, false); /* both, the event first */
    finish(w);
    tell_event(w, 55);
    answer_final(w, HV_JOB_COMPLETED, ERR_NONE);
    assert_string_equal(core_job(w)->final.from, "event");
    assert_int_equal(core_job(w)->final.downtime_ms, 55);
    core_free(w);
}

static void final_numbers_nobody_told_are_not_known(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    finish(w);
    answer_final(w, HV_JOB_NONE, ERR_NONE);
    assert_false(core_job(w)->final.known);
    core_restart(w, 1000);
    assert_false(core_job(w)->final.known);
    core_free(w);

    w = core_flowing(NULL, false);
    finish(w);
    answer_final(w, HV_JOB_COMPLETED, ERR_UNREACHABLE);
    assert_false(core_job(w)->final.known);
    core_free(w);
}

static void a_migration_that_failed_has_no_final_numbers(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    w->target = CORE_ABSENT;
    w->job_type = HV_JOB_NONE;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_null(question(w));
    assert_false(core_job(w)->final.known);
    core_free(w);
}
TEST_FILE(test_final)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(final_numbers_come_from_the_event),
        cmocka_unit_test(final_numbers_come_from_the_target_where_no_event_did),
        cmocka_unit_test(final_numbers_nobody_told_are_not_known),
        cmocka_unit_test(a_migration_that_failed_has_no_final_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
