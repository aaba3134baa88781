/* test_labels.c - maps of labels: what Kubernetes takes is taken, what it refuses is refused, and
 * equal maps are equal lists. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/model/settings/labels.h"

#define L63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff012"
#define L64 L63 "3"
#define P253                \
    L63 "." L63 "." L63 "." \
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff0"

static struct labels parsed(const char *json)
{
    struct labels labels;
    struct err err = {0};
    if (!labels_parse(json, "labels", &labels, &err))
        fail_msg("%s", err.text);
    return labels;
}

static void keys_and_values_are_those_of_kubernetes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool key, value;
    } stories[] = {
        {"", false, true},
        {"a", true, true},
        {"A", true, true},
        {"0", true, true},
        {"a-b_c.D9", true, true},
        {"-a", false, false},
        {"a-", false, false},
        {"_a", false, false},
        {"a.", false, false},
        {".", false, false},
        {"a b", false, false},
        {"\xC3\xA4", false, false},
        {"a\n", false, false},
        {L63, true, true},
        {L64, false, false},
        {"example.com/a", true, false},
        {"example.com/A_b", true, false},
        {"Example.com/a", false, false},
        {"example..com/a", false, false},
        {"-example.com/a", false, false},
        {"example-/a", false, false},
        {"example-.com/a", false, false},
        {"exa_mple/a", false, false},
        {"/a", false, false},
        {"a/", false, false},
        {"a/b/c", false, false},
        {P253 "/" L63, true, false},
        {P253 "0/a", false, false},
        {"a/" L64, false, false},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        print_message("%s\n", stories[i].text);
        assert_int_equal(label_key_is_valid(stories[i].text), stories[i].key);
        assert_int_equal(label_value_is_valid(stories[i].text), stories[i].value);
    }
    assert_int_equal(strlen(P253 "/" L63) + 1, LABEL_KEY_MAX);
    assert_int_equal(strlen(L63) + 1, LABEL_VALUE_MAX);
}

static void an_absent_text_is_the_empty_map(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL, "", "{}", " { } "};
    for (size_t i = 0; i < COUNT(nothing); i++) {
        struct labels labels = parsed(nothing[i]);
        assert_int_equal(labels.n, 0);
        assert_null(labels_get(&labels, "a"));
        labels_fini(&labels);
    }
}

static void what_is_no_map_of_texts_is_refused_and_leaves_it_empty(void **state)
{
    (void)state;
    static const struct {
        const char *json, *said;
    } stories[] = {
        {"[]", "where: expected an object of strings"},
        {"null", "where: line 1"},
        {"\"a=b\"", "where: expected an object of strings"},
        {"7", "where: expected an object of strings"},
        {"{\"a\":1}", "where.a: expected a string"},
        {"{\"a\":null}", "where.a: expected a string"},
        {"{\"a\":{}}", "where.a: expected a string"},
        {"{\"a\":true}", "where.a: expected a string"},
        {"{\"ok\":\"x\",\"a b\":\"x\"}", "where: \"a b\" is not a label key"},
        {"{\"\":\"x\"}", "where: \"\" is not a label key"},
        {"{\"a\":\"x y\"}", "where.a: \"x y\" is not a label value"},
        {"{\"a\":\"x\",\"a\":\"y\"}", "where: line 1"}, /* twice */
        {"{\"a\":\"x\"", "where: line 1"},
        {"{\"a\":\"x\"} x", "where: line 1"},
        {"{'a':'x'}", "where: line 1"},
        {"{\"a\":\"\\u0000\"}", "where: line 1"},
        {"\x01", "where: line 1"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct labels labels = {.n = 99};
        struct err err = {0};
        assert_false(labels_parse(stories[i].json, "where", &labels, &err));
        assert_int_equal(err.code, ERR_INVALID);
        if (!text_has_prefix(err.text, stories[i].said))
            fail_msg("%s: %s", stories[i].json, err.text);
        assert_int_equal(labels.n, 0);
        assert_null(labels.pairs);
    }
}

static char *map_of(int n)
{
    struct buf buf;
    buf_init(&buf, 1 << 20);
    for (int i = 0; i < n; i++)
        buf_addf(&buf, "%c\"k%d\":\"v%d\"", i == 0 ? '{' : ',', i, i);
    buf_add(&buf, "}");
    return buf_take(&buf);
}

static void a_map_has_a_bound_and_is_whole_up_to_it(void **state)
{
    (void)state;
    OWNED_TEXT most = map_of(LABELS_MAX);
    OWNED_TEXT more = map_of(LABELS_MAX + 1);
    struct labels labels = parsed(most);
    assert_int_equal(labels.n, LABELS_MAX);
    for (int i = 0; i < LABELS_MAX; i++) {
        char key[16], value[16];
        (void)snprintf(key, sizeof key, "k%d", i);
        (void)snprintf(value, sizeof value, "v%d", i);
        assert_string_equal(labels_get(&labels, key), value);
    }
    assert_false(labels_set(&labels, "another", "x"));
    assert_true(labels_set(&labels, "k7", "replaced"));
    assert_string_equal(labels_get(&labels, "k7"), "replaced");
    labels_fini(&labels);
    struct err err = {0};
    assert_false(labels_parse(more, "where", &labels, &err));
    assert_string_equal(err.text, "where: more than 64 labels");
}

static void deep_and_huge_texts_are_refused(void **state)
{
    (void)state;
    struct buf deep;
    buf_init(&deep, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_add(&deep, "{\"a\":");
    OWNED_TEXT text = buf_take(&deep);
    OWNED_TEXT wide = map_of(50000);
    struct labels labels;
    struct err err = {0}, other = {0};
    assert_false(labels_parse(text, "where", &labels, &err));
    assert_false(labels_parse(wide, "where", &labels, &other));
}

static void pairs_are_sorted_however_they_came(void **state)
{
    (void)state;
    struct labels a = parsed("{\"b\":\"2\",\"a\":\"1\",\"c\":\"\"}"), b = {0};
    assert_true(labels_set(&b, "c", ""));
    assert_true(labels_set(&b, "a", "x"));
    assert_true(labels_set(&b, "b", "2"));
    assert_false(labels_equal(&a, &b));
    assert_true(labels_set(&b, "a", "1"));
    assert_true(labels_equal(&a, &b));
    assert_int_equal(b.n, 3);
    for (size_t i = 0; i < a.n; i++) {
        assert_string_equal(a.pairs[i].key, b.pairs[i].key);
        assert_true(i == 0 || strcmp(a.pairs[i - 1].key, a.pairs[i].key) < 0);
    }
    labels_fini(&a);
    labels_fini(&b);
    labels_fini(&b);
}

/* What can be seen without looking is true, and most of the time it can be seen. */
static void a_map_that_seems_to_lack_a_pair_lacks_it(void **state)
{
    (void)state;
    enum { MAPS = 64 };
    struct labels maps[MAPS] = {{0}};
    unsigned lacking = 0, seen = 0;
    for (int i = 0; i < MAPS; i++) {
        char zone[16], host[16];
        (void)snprintf(zone, sizeof zone, "z%d", i % 10);
        (void)snprintf(host, sizeof host, "host-%d", i);
        assert_true(labels_set(&maps[i], "zone", i % 3 == 0 ? "old" : zone));
        assert_true(labels_set(&maps[i], "zone", zone)); /* what was replaced leaves no trace */
        assert_true(i % 2 == 0 || labels_set(&maps[i], "host", host));
    }
    for (int i = 0; i < MAPS; i++)
        for (int j = 0; j < MAPS; j++) {
            const struct label *missing = NULL;
            bool covers = labels_cover(&maps[i], &maps[j], &missing);
            assert_int_equal(labels_cover(&maps[i], &maps[j], NULL), covers);
            assert_false(covers && labels_lack(&maps[i], &maps[j]));
            lacking += !covers;
            seen += labels_lack(&maps[i], &maps[j]);
        }
    assert_true(seen > lacking * 3 / 4);
    for (int i = 0; i < MAPS; i++)
        labels_fini(&maps[i]);
}

static void a_map_covers_a_selector_only_with_every_pair(void **state)
{
    (void)state;
    static const struct {
        const char *have, *wanted, *missing;
    } stories[] = {
        {"{}", "{}", NULL},
        {"{\"a\":\"1\"}", "{}", NULL},
        {"{\"a\":\"1\",\"b\":\"2\"}", "{\"b\":\"2\"}", NULL},
        {"{\"a\":\"1\",\"b\":\"2\"}", "{\"a\":\"1\",\"b\":\"2\"}", NULL},
        {"{}", "{\"a\":\"1\"}", "a"},
        {"{\"a\":\"2\"}", "{\"a\":\"1\"}", "a"},
        {"{}", "{\"a\":\"\"}", "a"},
        {"{\"a\":\"\"}", "{\"a\":\"\"}", NULL},
        {"{\"a\":\"1\"}", "{\"a\":\"1\",\"c\":\"3\",\"b\":\"2\"}", "b"},
        {"{\"A\":\"1\"}", "{\"a\":\"1\"}", "a"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct labels have = parsed(stories[i].have), wanted = parsed(stories[i].wanted);
        const struct label *missing = NULL;
        assert_int_equal(labels_cover(&have, &wanted, &missing), stories[i].missing == NULL);
        assert_int_equal(labels_cover(&have, &wanted, NULL), stories[i].missing == NULL);
        if (stories[i].missing != NULL)
            assert_string_equal(missing->key, stories[i].missing);
        labels_fini(&have);
        labels_fini(&wanted);
    }
}

static void a_copy_stands_alone(void **state)
{
    (void)state;
    struct labels from = parsed("{\"a\":\"1\",\"b\":\"2\"}"), copy;
    assert_true(labels_copy(&from, &copy));
    assert_true(labels_equal(&from, &copy));
    labels_fini(&from);
    assert_string_equal(labels_get(&copy, "b"), "2");
    labels_fini(&copy);
}

TEST_FILE(test_labels)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_values_are_those_of_kubernetes),
        cmocka_unit_test(an_absent_text_is_the_empty_map),
        cmocka_unit_test(what_is_no_map_of_texts_is_refused_and_leaves_it_empty),
        cmocka_unit_test(a_map_has_a_bound_and_is_whole_up_to_it),
        cmocka_unit_test(deep_and_huge_texts_are_refused),
        cmocka_unit_test(pairs_are_sorted_however_they_came),
        cmocka_unit_test(a_map_that_seems_to_lack_a_pair_lacks_it),
        cmocka_unit_test(a_map_covers_a_selector_only_with_every_pair),
        cmocka_unit_test(a_copy_stands_alone),
    };
    return cmocka_run_group_tests_name("labels", tests, NULL, NULL);
}
