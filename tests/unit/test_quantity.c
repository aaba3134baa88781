/* test_quantity.c - Kubernetes' numbers with a unit: exact, rounded up, refused when too large. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/quantity.h"

enum { REFUSED = -1 };

static void quantities_are_read_exactly_and_rounded_up(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t whole, milli;
    } stories[] = {
        {"0", 0, 0},
        {"1", 1, 1000},
        {"+1", 1, 1000},
        {"-0", 0, 0},
        {"007", 7, 7000},
        {"1.", 1, 1000},
        {".5", 1, 500},
        {"1.5", 2, 1500},
        {"0.0001", 1, 1},
        {"1n", 1, 1},
        {"1000000n", 1, 1},
        {"1000001n", 1, 2},
        {"1u", 1, 1},
        {"1500u", 1, 2},
        {"250m", 1, 250},
        {"1000m", 1, 1000},
        {"1001m", 2, 1001},
        {"1k", 1000, 1000000},
        {"1M", 1000000, 1000000000},
        {"1G", 1000000000, 1000000000000},
        {"1T", 1000000000000, 1000000000000000},
        {"1P", 1000000000000000, 1000000000000000000},
        {"1E", 1000000000000000000, REFUSED},
        {"1Ki", 1024, 1024000},
        {"64Mi", 67108864, 67108864000},
        {"1.5Gi", 1610612736, 1610612736000},
        {"1Ti", 1099511627776, 1099511627776000},
        {"1Pi", 1125899906842624, 1125899906842624000},
        {"7Ei", 8070450532247928832, REFUSED},
        {"8Ei", REFUSED, REFUSED},
        {"7.9999999999999999999Ei", REFUSED, REFUSED},
        {"0.1Ki", 103, 102400},
        {"1e3", 1000, 1000000},
        {"1E3", 1000, 1000000},
        {"1e+3", 1000, 1000000},
        {"15e-1", 2, 1500},
        {"1e-100", 1, 1},
        {"1e100", REFUSED, REFUSED},
        {"0e99999999999", 0, 0},
        {"1e-99999999999", 1, 1},
        {"9223372036854775807", INT64_MAX, REFUSED},
        {"9223372036854775806.5", INT64_MAX, REFUSED},
        {"9223372036854775807.1", REFUSED, REFUSED},
        {"9223372036854775808", REFUSED, REFUSED},
        {"9223372036854775.807", 9223372036854776, INT64_MAX},
        {"0.00000000000000000000000000000000000000000000000000000000000001", 1, 1},
        {"0000000000000000000000000000000000000000000000000000000000000012", 12, 12000},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0}, err_milli = {0};
        int64_t whole = REFUSED, milli = REFUSED;
        print_message("%s\n", stories[i].text);
        assert_int_equal(quantity_parse_whole(stories[i].text, "x", &whole, &err),
                         stories[i].whole != REFUSED);
        assert_true(whole == stories[i].whole); /* a refusal leaves it alone */
        assert_int_equal(quantity_parse(stories[i].text, "x", &milli, &err_milli),
                         stories[i].milli != REFUSED);
        assert_true(milli == stories[i].milli);
        if (stories[i].whole == REFUSED)
            assert_non_null(strstr(err.text, "too large"));
    }
}

static void what_is_no_quantity_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",    " ",   "1 ",       " 1",   "+",    "-",     ".",     "+.",  "1.2.3", "1kb",
        "1K",  "1ki", "1mi",      "1g",   "1e",   "1e+",   "e3",    "Ki",  "1KiB",  "1Kii",
        "0x1", "1,5", "1_0",      "1e3k", "1E3M", "1.5.m", "--1",   "+-1", "1e1.",  "nan",
        "inf", "1\n", "\xC3\xA4", "1i",   "1Zi",  "1m3",   "1e--1", "1d",  "1eE3",  "%s%n",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err = {0};
        int64_t value = 77;
        assert_false(quantity_parse_whole(bad[i], "spec.hard.memory", &value, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_int_equal(value, 77);
        assert_non_null(strstr(err.text, "spec.hard.memory: \""));
        assert_non_null(strstr(err.text, "is not a quantity"));
        assert_non_null(strstr(err.text, "64Mi"));
    }
}

static void a_text_without_end_is_refused(void **state)
{
    (void)state;
    static char huge[100000];
    memset(huge, '1', sizeof huge - 1);
    struct err err = {0};
    int64_t value;
    assert_false(quantity_parse(huge, "x", &value, &err));
    assert_true(strlen(err.text) < 200);
}

static void less_than_nothing_is_refused_in_kubernetes_words(void **state)
{
    (void)state;
    static const char *const bad[] = {"-1", "-1Mi", "-0.001", "-1e-30", "-99999999999999999999E"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err = {0};
        int64_t value;
        assert_false(quantity_parse(bad[i], "spec.bandwidth", &value, &err));
        assert_string_equal(err.text, "spec.bandwidth: must not be negative");
    }
}

/* Law: every unit is what it says, also with a fraction that needs exact arithmetic. */
static void every_unit_scales_alike(void **state)
{
    (void)state;
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    int64_t unit = 1;
    for (size_t i = 0; i < COUNT(units); i++, unit *= 1024) {
        char text[64];
        struct err err = {0};
        int64_t value;
        (void)snprintf(text, sizeof text, "3.0000000000000000000000001%s", units[i]);
        assert_true(quantity_parse_whole(text, "x", &value, &err));
        assert_true(value == 3 * unit + 1);
    }
}

TEST_FILE(test_quantity)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_read_exactly_and_rounded_up),
        cmocka_unit_test(what_is_no_quantity_is_refused_with_its_place),
        cmocka_unit_test(a_text_without_end_is_refused),
        cmocka_unit_test(less_than_nothing_is_refused_in_kubernetes_words),
        cmocka_unit_test(every_unit_scales_alike),
    };
    return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
