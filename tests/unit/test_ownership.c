/* test_ownership.c - the truth table: laws over every pair of answers, and the recorded cases. */
#include "tests/test.h"

#include "base/own.h"
#include "engine/data/ownership.h"

static void every_pair_of_answers_has_a_verdict(void **state)
{
    (void)state;
    for (enum ownership_side s = 0; s < SIDE_COUNT; s++)
        for (enum ownership_side t = 0; t < SIDE_COUNT; t++)
            assert_int_not_equal(ownership_from_sides(s, t), OWNERSHIP_NONE);
}

static void success_requires_a_reachable_source_that_released_the_guest(void **state)
{
    (void)state;
    for (enum ownership_side s = 0; s < SIDE_COUNT; s++)
        for (enum ownership_side t = 0; t < SIDE_COUNT; t++)
            if (ownership_from_sides(s, t) == OWNERSHIP_ON_TARGET) {
                assert_true(s == SIDE_ABSENT || s == SIDE_LEFT || s == SIDE_OFF);
                assert_int_equal(t, SIDE_OWNS);
            }
}

static void failure_requires_a_source_that_runs_the_guest(void **state)
{
    (void)state;
    for (enum ownership_side s = 0; s < SIDE_COUNT; s++)
        for (enum ownership_side t = 0; t < SIDE_COUNT; t++)
            if (ownership_from_sides(s, t) == OWNERSHIP_ON_SOURCE)
                assert_true(s == SIDE_OWNS || s == SIDE_STUCK);
}

static void nothing_is_gone_while_a_host_cannot_be_asked(void **state)
{
    (void)state;
    for (enum ownership_side side = 0; side < SIDE_COUNT; side++) {
        assert_int_not_equal(ownership_from_sides(SIDE_BLIND, side), OWNERSHIP_GONE);
        assert_int_not_equal(ownership_from_sides(side, SIDE_BLIND), OWNERSHIP_GONE);
        assert_int_not_equal(ownership_from_sides(SIDE_BLIND, side), OWNERSHIP_ON_TARGET);
    }
}

static void two_owners_are_a_split(void **state)
{
    (void)state;
    assert_int_equal(ownership_from_sides(SIDE_OWNS, SIDE_OWNS), OWNERSHIP_SPLIT);
    assert_int_equal(ownership_guest_at(OWNERSHIP_SPLIT), GUEST_AT_SPLIT);
}

static const struct {
    struct hv_observation observation;
    enum ownership_side side;
} answers[] = {
    {{.presence = HV_UNREACHABLE}, SIDE_BLIND},
    {{.presence = HV_UNKNOWN}, SIDE_BLIND},
    {{.presence = HV_ABSENT}, SIDE_ABSENT},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, false, -1, 0, 0}, SIDE_OWNS},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_MIGRATED, false, -1, 0, 0}, SIDE_OWNS},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY, false, -1, 0, 0}, SIDE_POSTCOPY},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED, false, -1, 0, 0},
     SIDE_POSTCOPY_FAILED},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_USER, false, -1, 0, 0}, SIDE_OWNS},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_IOERROR, false, -1, 0, 0}, SIDE_STUCK},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION, false, -1, 0, 0}, SIDE_MOVING},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY, false, -1, 0, 0}, SIDE_POSTCOPY},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED, false, -1, 0, 0},
     SIDE_POSTCOPY_FAILED},
    {{HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_MIGRATED, true, -1, 0, 0}, SIDE_LEFT},
    {{HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN, true, -1, 0, 0}, SIDE_OFF},
    {{HV_PRESENT, HV_STATE_CRASHED, 0, true, -1, 0, 0}, SIDE_OFF},
    {{HV_PRESENT, 42, 0, true, -1, 0, 0}, SIDE_BLIND}, /* a state from the future */
};

static void an_answer_is_read_for_what_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++)
        assert_int_equal(ownership_side(&answers[i].observation), answers[i].side);
}

TEST_FILE(test_ownership)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_answers_has_a_verdict),
        cmocka_unit_test(success_requires_a_reachable_source_that_released_the_guest),
        cmocka_unit_test(failure_requires_a_source_that_runs_the_guest),
        cmocka_unit_test(nothing_is_gone_while_a_host_cannot_be_asked),
        cmocka_unit_test(two_owners_are_a_split),
        cmocka_unit_test(an_answer_is_read_for_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
