/* test_err.c - the failure record: first failure wins, context goes in front, texts are cut, and
 * the table of codes is whole. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

static void err_set_returns_false_and_keeps_code_and_text(void **state)
{
    (void)state;
    struct err err = {0};
    assert_false(err_set(&err, ERR_NOT_FOUND, "no guest '%s'", "web-1"));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "no guest 'web-1'");
}

static void context_goes_in_front_and_keeps_code_and_numbers(void **state)
{
    (void)state;
    struct err err = {.hv_domain = 10, .hv_code = 38};
    (void)err_set(&err, ERR_HYPERVISOR, "refused");
    assert_false(err_wrap(&err, "host %d", 7));
    assert_false(err_wrap(&err, "drain"));
    assert_string_equal(err.text, "drain: host 7: refused");
    assert_int_equal(err.code, ERR_HYPERVISOR);
    assert_int_equal(err.hv_domain, 10);
    assert_int_equal(err.hv_code, 38);
}

static void long_texts_are_cut_not_overrun(void **state)
{
    (void)state;
    char text[3 * ERR_TEXT_MAX];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct err err = {0};
    (void)err_set(&err, ERR_IO, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    (void)err_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    assert_int_equal(err.code, ERR_IO);
}

static void every_code_has_a_name_that_leads_back_to_it(void **state)
{
    (void)state;
    for (enum err_code code = ERR_NONE; code < ERR_COUNT; code++) {
        assert_non_null(err_name(code));
        assert_true(strlen(err_name(code)) > 0);
        assert_int_equal(err_from_name(err_name(code)), code); /* unique, too */
    }
    assert_int_equal(err_from_name("no-such-code"), ERR_COUNT);
}

/* 0 done, 1 failed, 2 usage or input, 3 unreachable, 4 a wait ran out; nothing else. */
static void every_code_has_a_sensible_http_and_exit_status(void **state)
{
    (void)state;
    assert_int_equal(err_http_status(ERR_NONE), 200);
    assert_int_equal(err_exit_status(ERR_NONE), 0);
    for (enum err_code code = ERR_NONE + 1; code < ERR_COUNT; code++) {
        assert_in_range(err_http_status(code), 400, 599);
        assert_in_range(err_exit_status(code), 1, 4);
        if (err_exit_status(code) == 2)
            assert_in_range(err_http_status(code), 400, 499);
    }
    assert_int_equal(err_exit_status(ERR_UNREACHABLE), 3);
    assert_int_equal(err_exit_status(ERR_TIMEOUT), 4);
}

TEST_FILE(test_err)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_set_returns_false_and_keeps_code_and_text),
        cmocka_unit_test(context_goes_in_front_and_keeps_code_and_numbers),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
        cmocka_unit_test(every_code_has_a_name_that_leads_back_to_it),
        cmocka_unit_test(every_code_has_a_sensible_http_and_exit_status),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
