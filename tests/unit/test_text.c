/* test_text.c - copies that say when they cut, numbers without surprises, "did you mean", and the
 * growing buffer at and above its limit. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

static void a_copy_is_terminated_and_reports_truncation(void **state)
{
    (void)state;
    char out[6];
    assert_true(text_copy(out, sizeof out, "hello"));
    assert_string_equal(out, "hello");
    assert_false(text_copy(out, sizeof out, "hello!"));
    assert_string_equal(out, "hello");
    assert_true(text_copy(out, sizeof out, NULL));
    assert_string_equal(out, "");
    assert_false(text_copy(out, 1, "x"));
    assert_string_equal(out, "");
}

static void a_cut_never_splits_a_character(void **state)
{
    (void)state;
    char out[6];
    assert_false(text_copy(out, sizeof out, "abcd\u20ac")); /* the euro sign has three bytes */
    assert_string_equal(out, "abcd");
    assert_true(text_copy(out, sizeof out, "ab\u20ac"));
    assert_string_equal(out, "ab\u20ac");
    assert_false(text_copy(out, sizeof out, "\x80\x80\x80\x80\x80\x80\x80")); /* not UTF-8 */
    assert_int_equal(strlen(out), 5);
}

static void equality_and_prefixes(void **state)
{
    (void)state;
    assert_true(text_equal("a", "a"));
    assert_false(text_equal("a", "b"));
    assert_false(text_equal(NULL, ""));
    assert_true(text_equal(NULL, NULL));
    assert_true(text_has_prefix("qemu+tls://x", "qemu"));
    assert_true(text_has_prefix("qemu", ""));
    assert_false(text_has_prefix("qe", "qemu"));
}

static void only_dns_labels_are_dns_labels(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "web-1", "0", "a--b"};
    static const char *const bad[] = {"", "-a", "a-", "A", "a.b", "a_b", "\u00e4", "a b"};
    char long_label[65];
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(text_is_dns_label(good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_is_dns_label(bad[i]));
    memset(long_label, 'a', 64);
    long_label[64] = '\0';
    assert_false(text_is_dns_label(long_label));
    long_label[63] = '\0';
    assert_true(text_is_dns_label(long_label));
}

static void a_number_is_the_whole_text_and_in_range(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "-", " 1", "1 ", "+1", "1x", "0x1", "1.0", "--1", "9223372036854775808", "101", "-6"};
    int64_t value = 42;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(text_to_i64(bad[i], -5, 100, &value));
    assert_int_equal(value, 42); /* written only on success */
    assert_true(text_to_i64("100", -5, 100, &value));
    assert_int_equal(value, 100);
    assert_true(text_to_i64("-5", -5, 100, &value));
    assert_int_equal(value, -5);
    assert_true(text_to_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &value));
    assert_true(value == INT64_MIN);
    assert_true(text_to_i64("9223372036854775807", INT64_MIN, INT64_MAX, &value));
    assert_true(value == INT64_MAX);
}

static void a_typing_mistake_finds_its_word(void **state)
{
    (void)state;
    static const char *const keys[] = {"hosts", "limits", "listen", "migrationAddress", "uri"};
    static const struct {
        const char *word, *nearest;
    } stories[] = {
        {"host", "hosts"},
        {"hosst", "hosts"},
        {"shots", "hosts"},
        {"listne", "listen"},
        {"limit", "limits"},
        {"migrationaddress", "migrationAddress"},
        {"migratonAdress", "migrationAddress"},
        {"url", "uri"},
        {"completely-different", NULL},
        {"", NULL},
        {"x", NULL},
        {"HOSTS", "hosts"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        const char *nearest = text_nearest(stories[i].word, keys, COUNT(keys));
        if (stories[i].nearest == NULL && nearest != NULL)
            print_message("%s -> %s\n", stories[i].word, nearest);
        assert_true(text_equal(nearest, stories[i].nearest));
    }
    char huge[200];
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(text_nearest(huge, keys, COUNT(keys)));
    assert_null(text_nearest("hosts", NULL, 0));
}

static void only_well_formed_utf8_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
    } stories[] = {
        {"", 0},
        {"a", 1},
        {"\u00e4", 2},
        {"\u20ac", 3},
        {"\U0001F600", 4},
        {"\x80", 0},
        {"\xC0\x80", 0},
        {"\xC2", 0},
        {"\xE0\x80\x80", 0},
        {"\xED\xA0\x80", 0},
        {"\xF4\x90\x80\x80", 0},
        {"\xF0\x9F\x98", 0},
        {"\xFF", 0},
    };
    for (size_t i = 0; i < COUNT(stories); i++)
        assert_int_equal(text_utf8_bytes(stories[i].text), stories[i].bytes);
}

static void a_buffer_grows_to_its_limit_and_not_beyond(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1000);
    for (int i = 0; i < 100; i++)
        buf_addf(&buf, "%09d\n", i);
    assert_int_equal(buf.length, 1000);
    assert_false(buf.failed);
    buf_add_bytes(&buf, "", 0);
    assert_false(buf.failed);
    buf_add(&buf, "x");
    assert_true(buf.failed);
    assert_int_equal(buf.length, 1000);
    assert_string_equal(buf.data + 990, "000000099\n");
    assert_null(buf_take(&buf));
    buf_add(&buf, "again"); /* taking empties it, failure included */
    OWNED_TEXT text = buf_take(&buf);
    assert_string_equal(text, "again");
    buf_fini(&buf);
}

static void a_refused_append_leaves_the_buffer_unchanged(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 8);
    buf_add(&buf, "12345");
    buf_addf(&buf, "%s", "6789");
    assert_true(buf.failed);
    assert_string_equal(buf.data, "12345");
    buf_add(&buf, "6"); /* would fit, but order matters: nothing after a failure */
    assert_string_equal(buf.data, "12345");
    buf_fini(&buf);
    assert_null(buf.data);
}

static void an_empty_buffer_gives_an_empty_text(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 0);
    OWNED_TEXT text = buf_take(&buf);
    assert_string_equal(text, "");
    buf_addf(&buf, "%s", "");
    assert_false(buf.failed);
    buf_fini(&buf);
}

static void bytes_may_be_zero(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100);
    buf_add_bytes(&buf, "a\0b", 3);
    assert_int_equal(buf.length, 3);
    assert_memory_equal(buf.data, "a\0b", 4);
    buf_fini(&buf);
}

TEST_FILE(test_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_terminated_and_reports_truncation),
        cmocka_unit_test(a_cut_never_splits_a_character),
        cmocka_unit_test(equality_and_prefixes),
        cmocka_unit_test(only_dns_labels_are_dns_labels),
        cmocka_unit_test(a_number_is_the_whole_text_and_in_range),
        cmocka_unit_test(a_typing_mistake_finds_its_word),
        cmocka_unit_test(only_well_formed_utf8_counts),
        cmocka_unit_test(a_buffer_grows_to_its_limit_and_not_beyond),
        cmocka_unit_test(a_refused_append_leaves_the_buffer_unchanged),
        cmocka_unit_test(an_empty_buffer_gives_an_empty_text),
        cmocka_unit_test(bytes_may_be_zero),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
