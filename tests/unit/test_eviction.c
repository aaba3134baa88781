/* test_eviction.c - the answer to each eviction request, row by row, and the strategies. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "engine/control/eviction.h"

#define UNSET STRATEGY_UNSET
#define NONE STRATEGY_NONE
#define LIVE STRATEGY_LIVE_MIGRATE
#define POSSIBLE STRATEGY_LIVE_MIGRATE_IF_POSSIBLE
#define EXTERNAL STRATEGY_EXTERNAL

static const struct {
    const char *name;
    struct eviction_case c; /* ours, is_target, strategy, migratable, marked, shutdown_allowed,
                               descheduler */
    enum eviction answer;
} stories[] = {
    {"a pod that is no launcher", {0, 0, NONE, 0, 0, 0, 0}, EVICTION_NOT_OURS},
    {"not ours comes first", {0, 1, LIVE, 0, 1, 1, 0}, EVICTION_NOT_OURS},

    {"LiveMigrate", {1, 0, LIVE, 1, 0, 0, 0}, EVICTION_MARKED},
    {"LiveMigrate, shutdown allowed", {1, 0, LIVE, 1, 0, 1, 0}, EVICTION_MARKED},
    {"LiveMigrate, asked again", {1, 0, LIVE, 1, 1, 0, 0}, EVICTION_IN_PROGRESS},
    {"LiveMigrate, the target", {1, 1, LIVE, 1, 0, 0, 0}, EVICTION_TARGET_POD},
    {"LiveMigrate, the target of a marked one", {1, 1, LIVE, 1, 1, 0, 0}, EVICTION_IN_PROGRESS},
    {"LiveMigrate, cannot be", {1, 0, LIVE, 0, 0, 0, 0}, EVICTION_NOT_MIGRATABLE},
    {"LiveMigrate, cannot be, marked", {1, 0, LIVE, 0, 1, 0, 0}, EVICTION_NOT_MIGRATABLE},
    {"LiveMigrate, cannot be, target", {1, 1, LIVE, 0, 0, 0, 0}, EVICTION_NOT_MIGRATABLE},
    {"LiveMigrate, cannot be, shutdown allowed", {1, 0, LIVE, 0, 0, 1, 0}, EVICTION_NOT_MIGRATABLE},

    {"IfPossible", {1, 0, POSSIBLE, 1, 0, 0, 0}, EVICTION_MARKED},
    {"IfPossible, shutdown allowed", {1, 0, POSSIBLE, 1, 0, 1, 0}, EVICTION_MARKED},
    {"IfPossible, asked again", {1, 0, POSSIBLE, 1, 1, 0, 0}, EVICTION_IN_PROGRESS},
    {"IfPossible, the target", {1, 1, POSSIBLE, 1, 0, 0, 0}, EVICTION_TARGET_POD},
    {"IfPossible, cannot be", {1, 0, POSSIBLE, 0, 0, 0, 0}, EVICTION_WOULD_SHUT_DOWN},
    {"IfPossible, cannot be, allowed", {1, 0, POSSIBLE, 0, 0, 1, 0}, EVICTION_SHUT_DOWN},
    {"IfPossible, cannot be any more", {1, 0, POSSIBLE, 0, 1, 1, 0}, EVICTION_SHUT_DOWN},

    {"unset", {1, 0, UNSET, 1, 0, 0, 0}, EVICTION_MARKED_UNSET},
    {"unset, asked again", {1, 0, UNSET, 1, 1, 0, 0}, EVICTION_IN_PROGRESS},
    {"unset, the target", {1, 1, UNSET, 1, 0, 0, 0}, EVICTION_TARGET_POD},
    {"unset, cannot be", {1, 0, UNSET, 0, 0, 0, 0}, EVICTION_WOULD_SHUT_DOWN},
    {"unset, cannot be, allowed", {1, 0, UNSET, 0, 0, 1, 0}, EVICTION_SHUT_DOWN},
    {"unset, the descheduler", {1, 0, UNSET, 1, 0, 0, 1}, EVICTION_WOULD_SHUT_DOWN},
    {"unset, the descheduler, allowed", {1, 0, UNSET, 1, 0, 1, 1}, EVICTION_SHUT_DOWN},

    {"External", {1, 0, EXTERNAL, 1, 0, 0, 0}, EVICTION_MARKED},
    {"External, cannot be", {1, 0, EXTERNAL, 0, 0, 0, 0}, EVICTION_MARKED},
    {"External, shutdown allowed", {1, 0, EXTERNAL, 0, 0, 1, 0}, EVICTION_MARKED},
    {"External, asked again", {1, 0, EXTERNAL, 0, 1, 0, 0}, EVICTION_IN_PROGRESS},
    {"External, the target", {1, 1, EXTERNAL, 1, 0, 0, 0}, EVICTION_TARGET_POD},

    {"None", {1, 0, NONE, 1, 0, 0, 0}, EVICTION_WOULD_SHUT_DOWN},
    {"None, allowed", {1, 0, NONE, 1, 0, 1, 0}, EVICTION_SHUT_DOWN},
    {"None, cannot be", {1, 0, NONE, 0, 0, 0, 0}, EVICTION_WOULD_SHUT_DOWN},
    {"None, with a mark from before", {1, 0, NONE, 1, 1, 1, 0}, EVICTION_SHUT_DOWN},
    {"None, the target: the guest stays up", {1, 1, NONE, 1, 0, 1, 0}, EVICTION_TARGET_POD},
};

static void each_request_gets_the_answer_of_its_row(void **state)
{
    (void)state;
    bool seen[EVICTION_COUNT] = {false};
    for (size_t i = 0; i < COUNT(stories); i++) {
        print_message("%s\n", stories[i].name);
        assert_int_equal(eviction_answer(&stories[i].c), stories[i].answer);
        seen[stories[i].answer] = true;
    }
    for (enum eviction answer = 0; answer < EVICTION_COUNT; answer++)
        assert_true(seen[answer]); /* a new row needs a story */
}

static void texts_are_those_that_others_parse(void **state)
{
    (void)state;
    static const struct {
        enum eviction answer;
        bool allowed;
        const char *format;
    } rows[] = {
        {EVICTION_NOT_OURS, true, ""},
        {EVICTION_NOT_MIGRATABLE, false,
         "VMI %s is configured with an eviction strategy but is not live-migratable"},
        {EVICTION_IN_PROGRESS, false,
         "Evacuation in progress: Eviction triggered evacuation of VMI \"%s/%s\""},
        {EVICTION_TARGET_POD, false, "Eviction request for target Pod"},
        {EVICTION_MARKED, false, "Eviction triggered evacuation of VMI \"%s/%s\""},
        {EVICTION_MARKED_UNSET, false,
         "Eviction triggered evacuation of VMI \"%s/%s\" (no eviction strategy is set: treated as "
         "LiveMigrateIfPossible)"},
        {EVICTION_WOULD_SHUT_DOWN, false,
         "VMI \"%s/%s\" would be shut down by its eviction strategy; annotate the Eviction with "
         "ferry.internal/allow-shutdown=true if that is wanted"},
        {EVICTION_SHUT_DOWN, true, "VMI \"%s/%s\" is being shut down"},
    };
    assert_int_equal(COUNT(rows), EVICTION_COUNT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(rows[i].answer, i); /* the order in which they are tried */
        assert_int_equal(eviction_is_allowed(rows[i].answer), rows[i].allowed);
        assert_string_equal(eviction_format(rows[i].answer), rows[i].format);
    }
}

static struct eviction_case case_of(unsigned bits, enum strategy strategy)
{
    return (struct eviction_case){.descheduler = bits & 32,
                                  .ours = bits & 1,
                                  .is_target = bits & 2,
                                  .strategy = strategy,
                                  .migratable = bits & 4,
                                  .marked = bits & 8,
                                  .shutdown_allowed = bits & 16};
}

/* Laws over every case there is. */
static void a_guest_goes_down_only_when_it_and_the_asker_agree(void **state)
{
    (void)state;
    for (enum strategy strategy = UNSET; strategy < STRATEGY_COUNT; strategy++)
        for (unsigned bits = 0; bits < 64; bits++) {
            struct eviction_case c = case_of(bits, strategy);
            enum eviction answer = eviction_answer(&c);
            if (eviction_is_allowed(answer) && c.ours) {
                assert_true(c.shutdown_allowed && !c.is_target);
                bool if_possible = strategy == POSSIBLE || strategy == UNSET;
                assert_true(strategy == NONE || (strategy == UNSET && c.descheduler) ||
                            (if_possible && !c.migratable));
            }
            if (answer == EVICTION_MARKED || answer == EVICTION_IN_PROGRESS)
                assert_true(strategy_marks(strategy));
            if (strategy == EXTERNAL && c.ours && !c.is_target)
                assert_int_equal(answer, c.marked ? EVICTION_IN_PROGRESS : EVICTION_MARKED);
        }
}

static void strategies_move_and_mark_as_their_rows_say(void **state)
{
    (void)state;
    static const struct {
        enum strategy strategy;
        enum moves moves;
        bool marks;
    } rows[] = {
        {UNSET, MOVES_IF_POSSIBLE, true},    {NONE, MOVES_NO, false},    {LIVE, MOVES_YES, true},
        {POSSIBLE, MOVES_IF_POSSIBLE, true}, {EXTERNAL, MOVES_NO, true},
    };
    assert_int_equal(COUNT(rows), STRATEGY_COUNT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(strategy_moves(rows[i].strategy), rows[i].moves);
        assert_int_equal(strategy_marks(rows[i].strategy), rows[i].marks);
    }
}

static void the_guests_eviction_strategy_comes_before_the_fleets(void **state)
{
    (void)state;
    for (enum strategy fleet = 0; fleet < STRATEGY_COUNT; fleet++) {
        assert_int_equal(strategy_effective(UNSET, fleet), fleet);
        for (enum strategy guest = NONE; guest < STRATEGY_COUNT; guest++)
            assert_int_equal(strategy_effective(guest, fleet), guest);
    }
}

TEST_FILE(test_eviction)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_gets_the_answer_of_its_row),
        cmocka_unit_test(texts_are_those_that_others_parse),
        cmocka_unit_test(a_guest_goes_down_only_when_it_and_the_asker_agree),
        cmocka_unit_test(strategies_move_and_mark_as_their_rows_say),
        cmocka_unit_test(the_guests_eviction_strategy_comes_before_the_fleets),
    };
    return cmocka_run_group_tests_name("eviction", tests, NULL, NULL);
}
