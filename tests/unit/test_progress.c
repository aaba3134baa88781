/* test_progress.c - the progress line: what is shown, what is dropped, and that it always fits. */
#include "tests/test.h"

#include "base/own.h"
#include "base/text.h"
#include "cli/common/progress.h"

static struct progress copying(void)
{
    return (struct progress){
        .phase = "Running",
        .mode = "PreCopy",
        .elapsed_ms = 4200,
        .has_sample = true,
        .remaining = 512ull << 20,
        .processed = 600ull << 20,
        .total = 1024ull << 20,
        .rate_bps = 110ull << 20,
        .dirty_bps = 30ull << 20,
        .eta_ms = 12300,
        .iteration = 3,
    };
}

static void eighty_columns_hold_every_field(void **state)
{
    (void)state;
    char line[PROGRESS_LINE_MAX];
    struct progress p = copying();
    (void)progress_live(&p, 80, false, line);
    assert_non_null(strstr(line, "Running PreCopy  50%"));
    assert_non_null(strstr(line, " 50% 512 MiB left 110 MiB/s dirty  30 MiB/s #3 ETA 12.3 s"));
    (void)progress_live(&p, 100, false, line);
    assert_non_null(strstr(line, "Running PreCopy ["));
}

static void fields_are_dropped_in_order_of_worth(void **state)
{
    (void)state;
    static const char *const leaving[] = {"[",         "#3",   "dirty", "PreCopy",
                                          "110 MiB/s", "left", "ETA",   "50%"};
    char line[PROGRESS_LINE_MAX];
    struct progress p = copying();
    size_t gone_before = 0;
    for (size_t width = 100; width >= 7; width--) {
        (void)progress_live(&p, width, false, line);
        size_t gone = 0;
        while (gone < COUNT(leaving) && strstr(line, leaving[gone]) == NULL)
            gone++;
        for (size_t i = gone; i < COUNT(leaving); i++)
            assert_non_null(strstr(line, leaving[i])); /* nobody leaves before his turn */
        assert_true(gone >= gone_before);
        gone_before = gone;
    }
    assert_int_equal(gone_before, COUNT(leaving));
    assert_string_equal(line, "Running");
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    char line[PROGRESS_LINE_MAX];
    struct progress many[4] = {copying(), copying(), copying(), copying()};
    many[1].remaining = UINT64_MAX;
    many[1].total = UINT64_MAX;
    many[1].rate_bps = UINT64_MAX;
    many[1].dirty_bps = UINT64_MAX;
    many[1].eta_ms = INT64_MAX;
    many[1].iteration = INT64_MAX;
    many[2].has_sample = false;
    memset(many[2].reason, 'r', sizeof many[2].reason - 1);
    many[3].is_unreachable = true;
    for (size_t i = 0; i < COUNT(many); i++)
        for (size_t width = 0; width < 300; width++) {
            size_t length = progress_live(&many[i], width, false, line);
            assert_int_equal(length, strlen(line));
            assert_true(length <= width);
        }
}

static void colour_codes_do_not_count_as_width(void **state)
{
    (void)state;
    char plain[PROGRESS_LINE_MAX], coloured[PROGRESS_LINE_MAX];
    struct progress p = copying();
    (void)progress_live(&p, 80, false, plain);
    (void)progress_live(&p, 80, true, coloured);
    char stripped[PROGRESS_LINE_MAX];
    size_t n = 0;
    for (const char *c = coloured; *c != '\0'; c++) {
        if (*c == '\033')
            c += strcspn(c, "m");
        else
            stripped[n++] = *c;
    }
    stripped[n] = '\0';
    assert_string_equal(stripped, plain);
    assert_string_not_equal(coloured, plain);
}

static void percent_is_the_share_already_transferred(void **state)
{
    (void)state;
    static const struct {
        uint64_t remaining, total;
        int percent;
    } rows[] = {
        {0, 100, 100},
        {100, 100, 0},
        {50, 100, 50},
        {200, 100, 0},
        {1, 3, 66},
        {0, 0, -1},
        {UINT64_MAX, UINT64_MAX, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct progress p = {
            .has_sample = true, .remaining = rows[i].remaining, .total = rows[i].total};
        assert_int_equal(progress_percent(&p), rows[i].percent);
    }
    struct progress blind = {.total = 100};
    assert_int_equal(progress_percent(&blind), -1);
}

static void conditions_replace_the_phase(void **state)
{
    (void)state;
    char line[PROGRESS_LINE_MAX];
    struct progress p = copying();
    TEXT_SET(p.abort_status, "Aborting");
    (void)progress_live(&p, 80, false, line);
    assert_true(text_has_prefix(line, "Aborting PreCopy"));
    p.resolving = true;
    (void)progress_live(&p, 80, false, line);
    assert_true(text_has_prefix(line, "Resolving PreCopy"));
    (void)progress_plain(&p, line);
    assert_non_null(strstr(line, "4.2 s Resolving PreCopy"));
}

static void a_waiting_migration_shows_its_reason(void **state)
{
    (void)state;
    char line[PROGRESS_LINE_MAX];
    struct progress p = {
        .phase = "Pending", .reason = "2 of 2 slots on h1 are busy", .elapsed_ms = 65000};
    (void)progress_live(&p, 80, false, line);
    assert_string_equal(line, "Pending 65.0 s: 2 of 2 slots on h1 are busy");
    (void)progress_plain(&p, line);
    assert_string_equal(line, "65.0 s Pending: 2 of 2 slots on h1 are busy");
    TEXT_SET(p.reason, "bad\033[2Jname");
    (void)progress_live(&p, 80, false, line);
    assert_null(strchr(line, '\033'));
}

static void the_plain_line_has_every_field(void **state)
{
    (void)state;
    char line[PROGRESS_LINE_MAX];
    struct progress p = copying();
    p.throttle_percent = 20;
    (void)progress_plain(&p, line);
    assert_string_equal(line, "4.2 s Running PreCopy remaining 512 MiB of 1.0 GiB, rate 110 MiB/s, "
                              "dirty 30 MiB/s, iteration 3, ETA 12.3 s, throttle 20%");
    p.eta_ms = -1;
    (void)progress_plain(&p, line);
    assert_non_null(strstr(line, "ETA unknown"));
}

TEST_FILE(test_progress)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eighty_columns_hold_every_field),
        cmocka_unit_test(fields_are_dropped_in_order_of_worth),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(colour_codes_do_not_count_as_width),
        cmocka_unit_test(percent_is_the_share_already_transferred),
        cmocka_unit_test(conditions_replace_the_phase),
        cmocka_unit_test(a_waiting_migration_shows_its_reason),
        cmocka_unit_test(the_plain_line_has_every_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
