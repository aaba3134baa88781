/* test_clock.c - the two clocks never mix, the fake one moves only when told, times read like
 * Kubernetes writes them. */
#include "tests/test.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"

static void the_system_clock_counts_up_and_has_the_date(void **state)
{
    (void)state;
    const struct clock *clock = clock_system();
    int64_t before = clock_mono_ms(clock);
    clock_sleep_ms(5);
    int64_t spent = clock_mono_ms(clock) - before;
    assert_in_range(spent, 4, 10000);
    int64_t wall_off = clock_wall_ms(clock) / 1000 - (int64_t)time(NULL);
    assert_true(wall_off >= -2 && wall_off <= 2);
}

static void sleeping_for_nothing_returns_at_once(void **state)
{
    (void)state;
    int64_t before = clock_mono_ms(clock_system());
    clock_sleep_ms(0);
    assert_true(clock_mono_ms(clock_system()) - before < 1000);
}

static void the_fake_clock_moves_only_when_set(void **state)
{
    (void)state;
    struct clock_fake fake;
    clock_fake_init(&fake, 1000000);
    assert_int_equal(clock_mono_ms(&fake.clock), 0);
    assert_int_equal(clock_wall_ms(&fake.clock), 1000000);
    clock_sleep_ms(2);
    assert_int_equal(clock_mono_ms(&fake.clock), 0);
    fake.now_ms += 250;
    assert_int_equal(clock_mono_ms(&fake.clock), 250);
    assert_int_equal(clock_wall_ms(&fake.clock), 1000250);
}

static void times_read_like_kubernetes_writes_them(void **state)
{
    (void)state;
    static const struct {
        int64_t wall_ms;
        const char *text;
    } stories[] = {
        {0, "1970-01-01T00:00:00Z"},
        {951782400000, "2000-02-29T00:00:00Z"},
        {1794805659999, "2026-11-16T05:07:39Z"},
        {4102444800000, "2100-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        char text[CLOCK_TEXT_MAX];
        clock_format_wall(stories[i].wall_ms, text);
        assert_string_equal(text, stories[i].text);
    }
}

static void a_time_nobody_can_write_is_a_question_mark(void **state)
{
    (void)state;
    char text[CLOCK_TEXT_MAX];
    clock_format_wall(INT64_MAX, text);
    assert_true(strlen(text) < CLOCK_TEXT_MAX);
    assert_int_equal(strchr(text, 'T') == NULL, strcmp(text, "?") == 0);
}

static void a_follower_goes_back_at_once_and_forward_twice_as_fast_as_time(void **state)
{
    (void)state;
    static const struct {
        int64_t mono_ms, wall_ms, shows_ms;
    } rows[] = {
        {0, 1000, 1000},   {10, 1010, 1010},  {20, 1025, 1025}, /* slewed */
        {30, 9000, 1045},                                       /* jumped */
        {100, 9070, 1185}, {200, 1200, 1200},                   /* set right */
        {210, 500, 500},   {220, 510, 510},
    };
    struct clock_follower follower = {0};
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(clock_follow(&follower, rows[i].mono_ms, rows[i].wall_ms),
                         rows[i].shows_ms);
}

TEST_FILE(test_clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_system_clock_counts_up_and_has_the_date),
        cmocka_unit_test(sleeping_for_nothing_returns_at_once),
        cmocka_unit_test(the_fake_clock_moves_only_when_set),
        cmocka_unit_test(times_read_like_kubernetes_writes_them),
        cmocka_unit_test(a_time_nobody_can_write_is_a_question_mark),
        cmocka_unit_test(a_follower_goes_back_at_once_and_forward_twice_as_fast_as_time),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
