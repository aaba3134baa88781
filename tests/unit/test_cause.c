/* test_cause.c - the table of causes: names that differ, sentences that are some, a way back. */
#include "tests/test.h"

#include <ctype.h>
#include <string.h>

#include "analyzer/judge/verdict.h"
#include "base/own.h"
#include "base/text.h"

static void check_sentence(const char *text)
{
    size_t n = strlen(text);
    assert_true(n > 1 && isupper((unsigned char)text[0]) && text[n - 1] == '.');
}

static void rows_are_sane(void **state)
{
    (void)state;
    for (enum cause cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
        const struct cause_row *row = cause_row(cause);
        assert_true(strspn(row->name, "abcdefghijklmnopqrstuvwxyz-") == strlen(row->name));
        for (enum cause other = 0; other < cause; other++)
            assert_string_not_equal(row->name, cause_row(other)->name);
        check_sentence(row->meaning);
        check_sentence(row->action);
        assert_true(row->recoverable < RECOVERABLE_COUNT);
        assert_int_equal(cause_from_name(row->name), cause);
        assert_true(cause != CAUSE_UNKNOWN || row->recoverable == RECOVERABLE_UNKNOWN);
    }
    assert_string_equal(cause_row(CAUSE_NONE)->name, "none");
    assert_int_equal(cause_from_name("none of these"), CAUSE_COUNT);
    for (enum plane plane = 0; plane < PLANE_COUNT; plane++)
        assert_string_not_equal(plane_name(plane), "");
    for (enum recoverable can = 0; can < RECOVERABLE_COUNT; can++)
        assert_string_not_equal(recoverable_name(can), "");
    assert_string_equal(failed_at_name(FAILED_AT_NONE), "");
    assert_string_equal(failed_at_name(FAILED_AT_AFTER), "after-hand-off");
}

static void every_family_has_a_cause(void **state)
{
    (void)state;
    for (enum family family = 0; family < FAMILY_COUNT; family++) {
        unsigned n = 0;
        for (enum cause cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++)
            n += cause_row(cause)->family == family;
        assert_true(n > 0);
        assert_int_equal(family_from_name(family_name(family)), family);
    }
    assert_int_equal(family_from_name("cousins"), FAMILY_COUNT);
    for (enum side side = 0; side < SIDES; side++)
        assert_int_equal(side_of_name(side_name(side)), side);
    assert_int_equal(side_of_name("middle"), SIDES);
    assert_int_equal(cause_row(CAUSE_UNKNOWN)->family, FAMILY_UNKNOWN);
}

static void ties_name_causes(void **state)
{
    (void)state;
    static const struct {
        const char *causes, *which;
    } ties[] = {
#define TIE(causes, which) {causes, which},
#include "analyzer/judge/cause.def"
#undef TIE
    };
    for (size_t i = 0; i < COUNT(ties); i++) {
        char copy[200], *save = NULL;
        TEXT_SET(copy, ties[i].causes);
        for (char *name = strtok_r(copy, ", ", &save); name != NULL;
             name = strtok_r(NULL, ", ", &save)) {
            if (cause_from_name(name) == CAUSE_COUNT || strstr(ties[i].which, name) == NULL)
                fail_msg("%s: of a tie, and no cause or not in its rule", name);
        }
        assert_int_equal(ties[i].which[strlen(ties[i].which) - 1], '.');
    }
}

TEST_FILE(test_cause)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sane),
        cmocka_unit_test(every_family_has_a_cause),
        cmocka_unit_test(ties_name_causes),
    };
    return cmocka_run_group_tests_name("cause", tests, NULL, NULL);
}
