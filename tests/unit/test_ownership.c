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

/* ---- the whole table ---- */

/* What one side's answer proves, without looking at the table. */
struct meaning {
    bool answered; /* the host said something that is understood */
    bool none;     /* it has no guest that runs or could go on */
    bool runs;     /* the guest is whole and executes there, or is paused for a reason of its own */
    bool stuck;    /* ... and that reason is a problem */
    bool held;     /* paused by a migration: neither here nor there */
    bool in_half;  /* its memory is on two hosts */
    bool stream_dead;
};
static const struct meaning meanings[SIDE_COUNT] = {
    [SIDE_BLIND] = {0},
    [SIDE_ABSENT] = {.answered = true, .none = true},
    [SIDE_OFF] = {.answered = true, .none = true},
    [SIDE_LEFT] = {.answered = true, .none = true},
    [SIDE_OWNS] = {.answered = true, .runs = true},
    [SIDE_STUCK] = {.answered = true, .runs = true, .stuck = true},
    [SIDE_MOVING] = {.answered = true, .held = true},
    [SIDE_POSTCOPY] = {.answered = true, .in_half = true},
    [SIDE_POSTCOPY_FAILED] = {.answered = true, .in_half = true, .stream_dead = true},
};

/* The laws, in the order in which they bind; the first that applies names the only verdict allowed.
 */
static enum ownership lawful(const struct meaning *source, const struct meaning *target)
{
    if (!source->answered)
        return OWNERSHIP_BLIND; /* unknown never becomes absent: a silent source proves nothing */
    if (source->runs && (target->runs || target->in_half))
        return OWNERSHIP_SPLIT; /* never two owners without saying so */
    if (source->runs)
        return OWNERSHIP_ON_SOURCE; /* what runs here was not handed over, whatever the target is */
    if (source->held)
        return OWNERSHIP_WAIT; /* the switch-over is not over: nobody may act */
    if (!target->answered)
        return OWNERSHIP_BLIND; /* the guest may be whole there */
    if (source->none && target->none)
        return OWNERSHIP_GONE; /* both answered, none has it */
    if (source->none && target->runs)
        return target->stuck ? OWNERSHIP_WAIT
                             : OWNERSHIP_ON_TARGET; /* success is a guest that works */
    if (source->none && target->held)
        return OWNERSHIP_WAIT; /* its last pages may have arrived: not lost, not a success */
    if (target->none)
        return OWNERSHIP_BROKEN; /* half of its memory went with it */
    if (source->none)
        return target->stream_dead ? OWNERSHIP_BROKEN : OWNERSHIP_WAIT;
    /* The source is in post-copy. A target that goes on by itself may have everything already. */
    if (target->stream_dead)
        return OWNERSHIP_BROKEN;
    return target->held && source->stream_dead ? OWNERSHIP_BROKEN : OWNERSHIP_WAIT;
}

static void every_cell_of_the_table_is_what_the_laws_allow(void **state)
{
    (void)state;
    for (enum ownership_side s = 0; s < SIDE_COUNT; s++)
        for (enum ownership_side t = 0; t < SIDE_COUNT; t++)
            if (ownership_from_sides(s, t) != lawful(&meanings[s], &meanings[t]))
                fail_msg("source %s, target %s: the table says %d, the laws %d",
                         ownership_side_name(s), ownership_side_name(t),
                         (int)ownership_from_sides(s, t), (int)lawful(&meanings[s], &meanings[t]));
}

static void each_verdict_places_the_guest_where_it_is(void **state)
{
    (void)state;
    static const enum guest_at places[] = {
        GUEST_AT_UNKNOWN, /* NONE */
        GUEST_AT_UNKNOWN, /* WAIT */
        GUEST_AT_SOURCE,  GUEST_AT_TARGET, GUEST_AT_LOST,
        GUEST_AT_SPLIT,   GUEST_AT_BROKEN, GUEST_AT_UNKNOWN, /* BLIND: unknown is not lost */
    };
    for (size_t i = 0; i < COUNT(places); i++)
        assert_int_equal(ownership_guest_at((enum ownership)i), places[i]);
    for (enum ownership_side side = 0; side < SIDE_COUNT; side++)
        assert_int_equal(ownership_is_gone(side), meanings[side].none);
}

/* Every state and reason of libvirt's, those of later versions too, on a host that has the guest.
 */
static void every_state_and_reason_has_its_side(void **state)
{
    (void)state;
    for (int presence = HV_UNKNOWN; presence <= HV_UNREACHABLE; presence++)
        for (int domain = -1; domain <= HV_STATE_PMSUSPENDED + 2; domain++)
            for (int reason = -1; reason <= HV_PAUSED_API_ERROR + 2; reason++) {
                struct hv_observation seen = {
                    .presence = (enum hv_presence)presence, .state = domain, .reason = reason};
                const struct meaning *means = &meanings[ownership_side(&seen)];
                bool present = presence == HV_PRESENT;
                bool running = present && domain == HV_STATE_RUNNING;
                bool paused = present && domain == HV_STATE_PAUSED;
                bool off = present && (domain == HV_STATE_SHUTOFF || domain == HV_STATE_CRASHED);
                bool known = domain >= HV_STATE_RUNNING && domain <= HV_STATE_PMSUSPENDED;
                bool dead = (running && reason == HV_RUNNING_POSTCOPY_FAILED) ||
                            (paused && reason == HV_PAUSED_POSTCOPY_FAILED);
                bool in_half = dead || (running && reason == HV_RUNNING_POSTCOPY) ||
                               (paused && reason == HV_PAUSED_POSTCOPY);
                bool held =
                    paused && (reason == HV_PAUSED_MIGRATION || reason == HV_PAUSED_STARTING_UP);
                bool stuck =
                    paused && (reason == HV_PAUSED_IOERROR || reason == HV_PAUSED_CRASHED ||
                               reason == HV_PAUSED_WATCHDOG || reason == HV_PAUSED_API_ERROR);
                assert_int_equal(means->answered, presence == HV_ABSENT || (present && known));
                assert_int_equal(means->none, presence == HV_ABSENT || off);
                assert_int_equal(means->in_half, in_half);
                assert_int_equal(means->stream_dead, dead);
                assert_int_equal(means->held, held);
                assert_int_equal(means->stuck, stuck);
                assert_int_equal(means->runs, present && known && !off && !in_half && !held);
                assert_int_equal(ownership_side(&seen) == SIDE_LEFT,
                                 present && domain == HV_STATE_SHUTOFF &&
                                     reason == HV_SHUTOFF_MIGRATED);
            }
}

static const struct {
    struct hv_observation observation;
    enum ownership_side side;
} answers[] = {
    {{.presence = HV_UNREACHABLE}, SIDE_BLIND},
    {{.presence = HV_UNKNOWN}, SIDE_BLIND},
    {{.presence = HV_ABSENT}, SIDE_ABSENT},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, false, false, -1, 0, 0}, SIDE_OWNS},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_MIGRATED, false, false, -1, 0, 0}, SIDE_OWNS},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY, false, false, -1, 0, 0}, SIDE_POSTCOPY},
    {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED, false, false, -1, 0, 0},
     SIDE_POSTCOPY_FAILED},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_USER, false, false, -1, 0, 0}, SIDE_OWNS},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_IOERROR, false, false, -1, 0, 0}, SIDE_STUCK},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION, false, false, -1, 0, 0}, SIDE_MOVING},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY, false, false, -1, 0, 0}, SIDE_POSTCOPY},
    {{HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED, false, false, -1, 0, 0},
     SIDE_POSTCOPY_FAILED},
    {{HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_MIGRATED, true, false, -1, 0, 0}, SIDE_LEFT},
    {{HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN, true, false, -1, 0, 0}, SIDE_OFF},
    {{HV_PRESENT, HV_STATE_CRASHED, 0, true, false, -1, 0, 0}, SIDE_OFF},
    {{HV_PRESENT, 42, 0, true, false, -1, 0, 0}, SIDE_BLIND}, /* a state from the future */
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
        cmocka_unit_test(every_cell_of_the_table_is_what_the_laws_allow),
        cmocka_unit_test(each_verdict_places_the_guest_where_it_is),
        cmocka_unit_test(every_state_and_reason_has_its_side),
        cmocka_unit_test(an_answer_is_read_for_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
