/* test_fold.c - long lines of a page go on below what they belong to. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "cli/common/fold.h"

static void continuation_lines_are_indented(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t width;
        const char *folded;
    } stories[] = {
        {"short\n", 20, "short\n"},
        {"no end of line", 20, "no end of line\n"},
        {"", 20, ""},
        {"one two three four five six\n", 12, "one two\n  three four\n  five six\n"},
        {"  one two three four\n", 12, "  one two\n    three\n    four\n"},
        {"Cause:   one two three\n", 18, "Cause:   one two\n         three\n"},
        {"To do:   one two three\n", 18, "To do:   one two\n         three\n"},
        {"a /very/long/path/that/stays/whole b\n", 12, "a /very/long/path/that/stays/whole\n  b\n"},
        {"exactly twelve\n", 14, "exactly twelve\n"},
        {"any width at all, since nothing is broken\n", 0,
         "any width at all, since nothing is broken\n"},
        {"\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f x\n", 7, "\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f x\n"},
        {"first\n\nsecond\n", 80, "first\n\nsecond\n"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct buf out;
        buf_init(&out, 4096);
        buf_add(&out, "");
        fold_page(stories[i].text, stories[i].width, &out);
        assert_string_equal(out.data, stories[i].folded);
        buf_fini(&out);
    }
}

/* Whatever the width: no word is lost, and only a word can be wider. */
static void words_are_not_broken_and_lines_fit(void **state)
{
    (void)state;
    static const char text[] = "Label:       the quick brown fox jumps over the lazy dog again\n"
                               "  indented words of a sentence that has no end in sight at all\n";
    for (size_t width = 1; width < 100; width++) {
        struct buf out;
        buf_init(&out, 4096);
        fold_page(text, width, &out);
        const char *at = out.data;
        for (const char *word = text; *word != '\0';) {
            size_t n = strcspn(word, " \n");
            at += strspn(at, " \n");
            assert_memory_equal(at, word, n);
            at += n;
            word += n + strspn(word + n, " \n");
        }
        for (const char *line = out.data; width > 30 && *line != '\0';) {
            size_t n = strcspn(line, "\n");
            assert_true(n <= width);
            line += n + 1;
        }
        buf_fini(&out);
    }
}

TEST_FILE(test_fold)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(continuation_lines_are_indented),
        cmocka_unit_test(words_are_not_broken_and_lines_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
