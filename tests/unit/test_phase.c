/* test_phase.c - laws over the tables of a migration job, and its main stories. A law holds over
 * the whole table, so that no new row can break it quietly. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "engine/model/job/phase.h"

enum { END = -1, TRIGGERS_MAX = 10 };

static const struct story {
    const char *name;
    int triggers[TRIGGERS_MAX]; /* up to END */
    enum phase last;
    unsigned refused; /* how many of them had no row */
} stories[] = {
    {"a plain success",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED, TRIGGER_MOVING,
      TRIGGER_ON_TARGET, END},
     PHASE_SUCCEEDED,
     0},
    {"an abort in pre-copy leaves the guest on the source",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED, TRIGGER_MOVING,
      TRIGGER_ON_SOURCE, END},
     PHASE_FAILED,
     0},
    {"an abort that loses the race is a success",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED, TRIGGER_MOVING,
      TRIGGER_CANCELLED, TRIGGER_ON_TARGET, END},
     PHASE_SUCCEEDED,
     1},
    {"cancelled while it waits", {TRIGGER_CANCELLED, END}, PHASE_FAILED, 0},
    {"cancelled between hand-off and Running",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED,
      TRIGGER_CANCELLED, END},
     PHASE_FAILED,
     0},
    {"a running move is never just cancelled: the hosts say how it ended",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED, TRIGGER_MOVING,
      TRIGGER_CANCELLED, TRIGGER_WAITED_TOO_LONG, TRIGGER_IMPOSSIBLE, END},
     PHASE_RUNNING,
     3},
    {"a running move has no deadline that ends it",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED, TRIGGER_MOVING,
      TRIGGER_WAITED_TOO_LONG, TRIGGER_LOST, END},
     PHASE_FAILED,
     1},
    {"the guest is lost",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED, TRIGGER_MOVING,
      TRIGGER_LOST, END},
     PHASE_FAILED,
     0},
    {"the call fails before anything moved",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED,
      TRIGGER_ON_SOURCE, END},
     PHASE_FAILED,
     0},
    {"so fast that nobody saw it move",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_TARGET_CHECKED,
      TRIGGER_ON_TARGET, END},
     PHASE_SUCCEEDED,
     0},
    {"the queue's deadline passes", {TRIGGER_WAITED_TOO_LONG, END}, PHASE_FAILED, 0},
    {"no node can take it", {TRIGGER_ADMITTED, TRIGGER_IMPOSSIBLE, END}, PHASE_FAILED, 0},
    {"the target says no",
     {TRIGGER_ADMITTED, TRIGGER_PLACED, TRIGGER_HANDED_OFF, TRIGGER_IMPOSSIBLE, END},
     PHASE_FAILED,
     0},
    {"no short cut to Running",
     {TRIGGER_MOVING, TRIGGER_PLACED, TRIGGER_ON_TARGET, TRIGGER_TARGET_CHECKED, END},
     PHASE_PENDING,
     4},
    {"what is over stays over",
     {TRIGGER_CANCELLED, TRIGGER_ADMITTED, TRIGGER_ON_TARGET, END},
     PHASE_FAILED,
     2},
};

static void every_story_ends_as_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        enum phase phase = PHASE_PENDING;
        unsigned refused = 0;
        for (const int *why = stories[i].triggers; *why != END; why++) {
            enum phase next = phase_next(phase, (enum trigger) * why);
            refused += next == PHASE_NONE;
            phase = next == PHASE_NONE ? phase : next;
        }
        if (phase != stories[i].last || refused != stories[i].refused)
            print_message("story: %s\n", stories[i].name);
        assert_int_equal(phase, stories[i].last);
        assert_int_equal(refused, stories[i].refused);
    }
}

static void only_final_phases_have_no_exit(void **state)
{
    (void)state;
    for (enum phase phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++) {
        unsigned exits = 0;
        for (enum trigger why = 0; why < TRIGGER_COUNT; why++)
            exits += phase_next(phase, why) != PHASE_NONE;
        assert_int_equal(phase_is_final(phase), exits == 0);
        assert_false(phase_is_final(phase) && phase_is_busy(phase));
    }
}

static void every_phase_is_reachable_and_every_trigger_used(void **state)
{
    (void)state;
    bool reached[PHASE_COUNT] = {[PHASE_PENDING] = true};
    bool used[TRIGGER_COUNT] = {false};
    for (unsigned round = 0; round < PHASE_COUNT; round++)
        for (enum phase from = PHASE_NONE + 1; from < PHASE_COUNT; from++)
            for (enum trigger why = 0; why < TRIGGER_COUNT; why++) {
                enum phase to = phase_next(from, why);
                if (reached[from] && to != PHASE_NONE)
                    reached[to] = used[why] = true;
            }
    for (enum phase phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++)
        assert_true(reached[phase]);
    for (enum trigger why = 0; why < TRIGGER_COUNT; why++)
        assert_true(used[why]);
}

/* The longest way from a phase to its end; fails when a way is longer than there are phases,
 * which means that it can turn in a circle. */
static unsigned longest_way(enum phase from, unsigned steps)
{
    assert_true(steps < PHASE_COUNT);
    unsigned longest = steps;
    for (enum trigger why = 0; why < TRIGGER_COUNT; why++) {
        enum phase to = phase_next(from, why);
        if (to == PHASE_NONE)
            continue;
        unsigned way = longest_way(to, steps + 1);
        longest = way > longest ? way : longest;
    }
    return longest;
}

static void every_path_ends_within_a_bound(void **state)
{
    (void)state;
    assert_in_range(longest_way(PHASE_PENDING, 0), 6, PHASE_COUNT - 1);
}

static bool leads_to(enum phase from, enum phase wanted)
{
    if (from == wanted)
        return true;
    for (enum trigger why = 0; why < TRIGGER_COUNT; why++) {
        enum phase to = phase_next(from, why);
        if (to != PHASE_NONE && leads_to(to, wanted))
            return true;
    }
    return false;
}

static void every_open_phase_can_still_succeed_or_fail(void **state)
{
    (void)state;
    for (enum phase phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++) {
        if (phase_is_final(phase))
            continue;
        assert_true(leads_to(phase, PHASE_SUCCEEDED));
        assert_true(leads_to(phase, PHASE_FAILED));
    }
}

/* Success has one proof only, or an operator override where there is none; cancelling works
 * before data moves. */
static void only_the_hosts_or_an_operator_make_a_success(void **state)
{
    (void)state;
    for (enum phase phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++) {
        for (enum trigger why = 0; why < TRIGGER_COUNT; why++)
            if (phase_next(phase, why) == PHASE_SUCCEEDED)
                assert_true(why == TRIGGER_ON_TARGET || why == TRIGGER_OVERRIDE_ON_TARGET);
        if (!phase_is_final(phase) && phase != PHASE_RUNNING)
            assert_int_equal(phase_next(phase, TRIGGER_CANCELLED), PHASE_FAILED);
    }
}

static void phase_none_has_no_transitions(void **state)
{
    (void)state;
    for (enum trigger why = 0; why < TRIGGER_COUNT; why++)
        assert_int_equal(phase_next(PHASE_NONE, why), PHASE_NONE);
    assert_string_equal(phase_name(PHASE_NONE), "");
}

/* One law for all vocabularies: a name leads back to its value, so names are unique too. */
#define ASSERT_ROUND_TRIP(type, prefix, count)          \
    for (unsigned i = 0; i < (count); i++) {            \
        const char *name = prefix##_name((enum type)i); \
        assert_non_null(name);                          \
        assert_int_equal(prefix##_from_name(name), i);  \
    }                                                   \
    assert_int_equal(prefix##_from_name("no such name"), count)

static void all_names_are_unique_and_lead_back(void **state)
{
    (void)state;
    ASSERT_ROUND_TRIP(phase, phase, PHASE_COUNT);
    ASSERT_ROUND_TRIP(mode, mode, MODE_COUNT);
    ASSERT_ROUND_TRIP(pending, pending, PENDING_COUNT);
    ASSERT_ROUND_TRIP(priority, priority, PRIORITY_COUNT);
    ASSERT_ROUND_TRIP(abort_status, abort_status, ABORT_COUNT);
    ASSERT_ROUND_TRIP(outcome, outcome, OUTCOME_COUNT);
    ASSERT_ROUND_TRIP(guest_at, guest_at, GUEST_AT_COUNT);
    for (enum trigger a = 0; a < TRIGGER_COUNT; a++)
        for (enum trigger b = a + 1; b < TRIGGER_COUNT; b++)
            assert_string_not_equal(trigger_name(a), trigger_name(b));
    for (enum phase phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++)
        assert_true(strlen(phase_help(phase)) > 0);
}

TEST_FILE(test_phase)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_story_ends_as_told),
        cmocka_unit_test(only_final_phases_have_no_exit),
        cmocka_unit_test(every_phase_is_reachable_and_every_trigger_used),
        cmocka_unit_test(every_path_ends_within_a_bound),
        cmocka_unit_test(every_open_phase_can_still_succeed_or_fail),
        cmocka_unit_test(only_the_hosts_or_an_operator_make_a_success),
        cmocka_unit_test(phase_none_has_no_transitions),
        cmocka_unit_test(all_names_are_unique_and_lead_back),
    };
    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
