/* test_recovery.c - a post-copy that broke: what is done about it, and what never is. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/recovery.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

/* ---- the plan by itself ---- */

static bool in_postcopy(enum ownership_side side)
{
    return side == SIDE_POSTCOPY || side == SIDE_POSTCOPY_FAILED;
}

static bool is_gone(enum ownership_side side)
{
    return side == SIDE_ABSENT || side == SIDE_OFF;
}

/* In post-copy and yet nothing to mend: each with its reason. */
static const struct {
    enum ownership_side source, target;
    const char *why;
} left_alone[] = {
    {SIDE_POSTCOPY, SIDE_OWNS, "it arrived; the source will say so"},
    {SIDE_POSTCOPY_FAILED, SIDE_OWNS, "it arrived; the source was not told"},
    {SIDE_POSTCOPY, SIDE_STUCK, "it arrived and has trouble of its own"},
    {SIDE_POSTCOPY_FAILED, SIDE_STUCK, "it arrived and has trouble of its own"},
    {SIDE_POSTCOPY, SIDE_MOVING, "the switch is under way"},
    {SIDE_POSTCOPY_FAILED, SIDE_MOVING, "broken before the target ran: somebody must look"},
    {SIDE_MOVING, SIDE_POSTCOPY, "the switch is under way"},
    {SIDE_MOVING, SIDE_POSTCOPY_FAILED, "a source that knows of no post-copy: somebody must look"},
    {SIDE_POSTCOPY, SIDE_LEFT, "it migrated on: somebody must look"},
    {SIDE_POSTCOPY_FAILED, SIDE_LEFT, "it migrated on: somebody must look"},
    {SIDE_LEFT, SIDE_POSTCOPY, "all pages went; the target will say so"},
    {SIDE_LEFT, SIDE_POSTCOPY_FAILED, "the source says that it left: somebody must look"},
    {SIDE_ABSENT, SIDE_POSTCOPY, "the source ended; the target will say how"},
    {SIDE_OFF, SIDE_POSTCOPY, "the source ended; the target will say how"},
};

static bool is_left_alone(enum ownership_side source, enum ownership_side target)
{
    for (size_t i = 0; i < COUNT(left_alone); i++)
        if (left_alone[i].source == source && left_alone[i].target == target)
            return true;
    return false;
}

static void each_pair_in_post_copy_has_a_plan_or_a_reason_for_none(void **state)
{
    (void)state;
    for (enum ownership_side s = 0; s < SIDE_COUNT; s++)
        for (enum ownership_side t = 0; t < SIDE_COUNT; t++) {
            enum ownership ownership = ownership_from_sides(s, t);
            enum recovery_plan plan = recovery_plan(s, t);
            bool broken = in_postcopy(s) || in_postcopy(t);
            bool proven = ownership == OWNERSHIP_ON_SOURCE || ownership == OWNERSHIP_ON_TARGET ||
                          ownership == OWNERSHIP_GONE || ownership == OWNERSHIP_SPLIT;
            bool planned = plan != RECOVER_NOT;
            if (planned != (broken && !proven && !is_left_alone(s, t)))
                fail_msg("%s, %s: plan %d", ownership_side_name(s), ownership_side_name(t), plan);
        }
}

static void a_plan_never_goes_beyond_what_is_proven(void **state)
{
    (void)state;
    for (enum ownership_side s = 0; s < SIDE_COUNT; s++)
        for (enum ownership_side t = 0; t < SIDE_COUNT; t++) {
            enum recovery_plan plan = recovery_plan(s, t);
            if (plan == RECOVER_GONE) /* one half is there and needs the other, which is not */
                assert_true((in_postcopy(s) && is_gone(t)) ||
                            (t == SIDE_POSTCOPY_FAILED && is_gone(s)));
            if (plan == RECOVER_WATCH || plan == RECOVER_PAUSE || plan == RECOVER_RESUME)
                assert_true(in_postcopy(s) && in_postcopy(t)); /* both were seen alive */
            if (plan == RECOVER_RESUME)
                assert_int_equal(ownership_from_sides(s, t), OWNERSHIP_BROKEN);
            if (plan == RECOVER_BLIND)
                assert_int_equal(ownership_from_sides(s, t), OWNERSHIP_BLIND);
        }
}

TEST_FILE(test_recovery)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_in_post_copy_has_a_plan_or_a_reason_for_none),
        cmocka_unit_test(a_plan_never_goes_beyond_what_is_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
