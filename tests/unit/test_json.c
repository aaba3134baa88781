/* test_json.c - what json-c lets pass is refused with line and column, what is read names its
 * path, what is built is JSON whatever bytes go in. */
#include "tests/test.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"

static struct json_object *parse(const char *text, struct err *err)
{
    *err = (struct err){0};
    return json_parse(text, strlen(text), "body", err);
}

static struct json_object *parse_good(const char *text)
{
    struct err err;
    struct json_object *value = parse(text, &err);
    if (value == NULL)
        print_message("%s -> %s\n", text, err.text);
    assert_non_null(value);
    return value;
}

static void broken_documents_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } stories[] = {
        {"", "line 1 column 1: the text ends too early"},
        {"{", "line 1 column 2: the text ends too early"},
        {"{\n  \"a\": 1,\n  \"a\": 2\n}", "line 3 column 3: duplicate key"},
        {"{\"a\": 1, \"\\u0061\": 2}", "line 1 column 10: duplicate key"},
        {"{\"a\": NaN}", "line 1 column 7: not a JSON value"},
        {"[Infinity]", "line 1 column 2: not a JSON value"},
        {"[-Infinity]", "line 1 column 2: not a JSON value"},
        {"{'a': 1}", "line 1 column 2: expected a key in double quotes"},
        {"{\"a\": 'b'}", "line 1 column 7: text needs double quotes"},
        {"{\"a\" 1}", "line 1 column 6: expected ':' after the key"},
        {"{\"a\": 1,}", "line 1 column 9: expected a key in double quotes"},
        {"[1,]", "line 1 column 4: not a JSON value"},
        {"[1 2]", "line 1 column 4: expected ',' or ']'"},
        {"{\"a\":1 \"b\":2}", "line 1 column 8: expected ',' or '}'"},
        {"{} x", "line 1 column 4: text after the end of the document"},
        {"{}{}", "line 1 column 3: text after the end of the document"},
        {"[01]", "line 1 column 2: a number with a leading zero"},
        {"[1.]", "line 1 column 4: expected digits after the point"},
        {"[1e]", "line 1 column 4: expected digits in the exponent"},
        {"[1e999]", "line 1 column 2: a number too large"},
        {"[+1]", "line 1 column 2: not a JSON value"},
        {"[.5]", "line 1 column 2: not a JSON value"},
        {"// c\n{}", "line 1 column 1: not a JSON value"},
        {"[\"\\x\"]", "line 1 column 4: no such escape"},
        {"[\"\\u12g4\"]", "line 1 column 7: expected four hexadecimal digits after \\u"},
        {"[\"\\u0000\"]", "line 1 column 3: a zero character is not allowed in text"},
        {"[\"\\ud800\"]", "line 1 column 3: half of a surrogate pair"},
        {"[\"\\udc00\"]", "line 1 column 3: half of a surrogate pair"},
        {"[\"\\ud800\\u0041\"]", "line 1 column 3: half of a surrogate pair"},
        {"[\"a\nb\"]", "line 1 column 4: a control character in text; write it as an escape"},
        {"[\"\xff\"]", "line 1 column 3: not UTF-8"},
        {"[\"\xe2\x82\"]", "line 1 column 3: not UTF-8"},
        {"[\"\u20ac\u20ac\", x]", "line 1 column 8: not a JSON value"}, /* characters, not bytes */
        {"[tru]", "line 1 column 2: not a JSON value"},
        {"[TRUE]", "line 1 column 2: not a JSON value"},
        {"null", "line 1 column 1: the document is null"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err;
        char wanted[256];
        (void)snprintf(wanted, sizeof wanted, "body: %s", stories[i].said);
        assert_null(parse(stories[i].text, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_string_equal(err.text, wanted);
    }
}

/* Every prefix of a good document is a broken one, and says so without reading past its end. */
static void no_prefix_of_a_document_is_a_document(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\": [1, -2.5e3, true, null, \"\\u20ac\\n\xe2\x82\xac\"], "
                                "\"b\": {\"c\": {}}, \"d\": []}";
    json_object_free(parse_good(whole));
    for (size_t n = 0; n + 1 < sizeof whole - 1; n++) {
        char *cut = malloc(n + 1); /* exact size: ASan sees one byte too far */
        memcpy(cut, whole, n);
        struct err err = {0};
        assert_null(json_parse(cut, n, "cut", &err));
        assert_int_equal(err.code, ERR_INVALID);
        free(cut);
    }
}

static void good_documents_keep_their_values(void **state)
{
    (void)state;
    static const struct {
        const char *text, *again;
    } stories[] = {
        {" { } ", "{}"},
        {"[]", "[]"},
        {"\"x\"", "\"x\""},
        {"[9223372036854775807,-9223372036854775808,18446744073709551615]",
         "[9223372036854775807,-9223372036854775808,18446744073709551615]"},
        {"[0, -0, 0.10, 1E+2, 123456789012345678901234567890]",
         "[0,0,0.10,1E+2,123456789012345678901234567890]"},
        {"[\"\\ud83d\\ude00\", \"\\/\\b\\f\"]", "[\"\U0001F600\",\"/\\b\\f\"]"},
        {"{\"b\":1,\"a\":null,\"\":false}", "{\"b\":1,\"a\":null,\"\":false}"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        OWNED(json_object) value = parse_good(stories[i].text);
        assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE),
                            stories[i].again);
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[2 * (JSON_DEPTH_MAX + 1) + 1] = "";
    for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        text[2 * depth] = '\0';
        struct err err;
        OWNED(json_object) value = parse(text, &err);
        assert_int_equal(value != NULL, depth <= JSON_DEPTH_MAX);
        if (value == NULL)
            assert_string_equal(err.text, "body: line 1 column 33: nested too deep");
    }
}

static void size_is_bounded(void **state)
{
    (void)state;
    char *text = malloc(JSON_BYTES_MAX + 1);
    memset(text, ' ', JSON_BYTES_MAX + 1);
    text[0] = '{';
    text[1] = '}';
    struct err err = {0};
    assert_null(json_parse(text, JSON_BYTES_MAX + 1, "body", &err));
    assert_int_equal(err.code, ERR_INVALID);
    err = (struct err){0};
    OWNED(json_object) value = json_parse(text, JSON_BYTES_MAX, "body", &err);
    assert_non_null(value);
    free(text);
}

static void reading_falls_back_only_when_nothing_is_there(void **state)
{
    (void)state;
    OWNED(json_object) object = parse_good("{\"spec\": {\"name\": \"web\", \"n\": 5, \"on\": true, "
                                           "\"none\": null, \"list\": [1, {\"x\": 2}]}}");
    struct err err = {0};
    const char *text = NULL;
    int64_t number = 0;
    bool flag = false;
    assert_true(json_get_text(object, "spec.name", "other", &text, &err));
    assert_string_equal(text, "web");
    assert_true(json_get_text(object, "spec.none", "other", &text, &err));
    assert_string_equal(text, "other");
    assert_true(json_get_text(object, "metadata.name.deep", NULL, &text, &err));
    assert_null(text);
    assert_true(json_get_i64(object, "spec.n", 1, &number, &err));
    assert_int_equal(number, 5);
    assert_true(json_get_i64(object, "spec.m", 1, &number, &err));
    assert_int_equal(number, 1);
    assert_true(json_get_i64(object, "spec.list.1.x", 1, &number, &err));
    assert_int_equal(number, 2);
    assert_true(json_get_bool(object, "spec.on", false, &flag, &err));
    assert_true(flag);
    assert_true(json_get_bool(object, "spec.off", true, &flag, &err));
    assert_true(flag);
    assert_non_null(json_at(object, "spec.list"));
    assert_null(json_at(object, "spec.list.9"));
    assert_null(json_at(object, "spec.name.x"));
    assert_null(json_at(NULL, "a"));
}

static void a_wrong_type_is_reported_with_its_path(void **state)
{
    (void)state;
    OWNED(json_object) object = parse_good(
        "{\"spec\": {\"vmiName\": 3, \"n\": 1.5, \"big\": 18446744073709551615, \"s\": \"x\"}}");
    OWNED(json_object) list = parse_good("[]");
    const char *text = NULL;
    int64_t number = 0;
    bool flag = false;
    struct err err = {0};
    assert_false(json_get_text(object, "spec.vmiName", NULL, &text, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_string_equal(err.text, "spec.vmiName: expected a string, found a number");
    err = (struct err){0};
    assert_false(json_get_i64(object, "spec.n", 0, &number, &err));
    assert_string_equal(err.text, "spec.n: expected a whole number, found a fraction");
    err = (struct err){0};
    assert_false(json_get_i64(object, "spec.big", 0, &number, &err));
    assert_string_equal(err.text, "spec.big: the number is too large");
    err = (struct err){0};
    assert_false(json_get_bool(object, "spec", false, &flag, &err));
    assert_string_equal(err.text, "spec: expected true or false, found an object");
    err = (struct err){0};
    assert_false(json_get_text(object, "spec.s.deeper.still", NULL, &text, &err));
    assert_string_equal(err.text, "spec.s: expected an object, found a string");
    err = (struct err){0};
    assert_false(json_get_text(list, "spec", NULL, &text, &err));
    assert_string_equal(err.text, "expected an object, found a list");
}

static void building_requires_no_checks(void **state)
{
    (void)state;
    OWNED(json_object) object = json_object_new_object();
    json_add_text(object, "name", "a\"b\n");
    json_add_text(object, "absent", NULL);
    json_add_text(object, "bytes", "x\xff\xe2\x82y");
    json_add_i64(object, "n", INT64_MIN);
    json_add_bool(object, "on", true);
    json_add_time(object, "never", 0);
    json_add_time(object, "at", 1794805659000);
    json_add_text(json_add_object(object, "inner"), "k", "v");
    struct json_object *list = json_add_array(object, "list");
    json_add_i64(list, NULL, 1);
    json_add_bool(json_add_object(list, NULL), "deep", false);
    json_add(object, "null", NULL);
    assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
                        "{\"name\":\"a\\\"b\\n\",\"bytes\":\"x\uFFFD\uFFFD\uFFFDy\","
                        "\"n\":-9223372036854775808,\"on\":true,\"at\":\"2026-11-16T05:07:39Z\","
                        "\"inner\":{\"k\":\"v\"},\"list\":[1,{\"deep\":false}],\"null\":null}");
}

static void adding_to_nothing_does_nothing_and_leaks_nothing(void **state)
{
    (void)state;
    json_add_text(NULL, "a", "b");
    assert_null(json_add_object(NULL, "a"));
    assert_null(json_add_array(NULL, "a"));
}

/* A law: whatever bytes come, there is either a document or a reason; the sanitizers watch. */
static void no_damage_to_the_text_breaks_the_reader(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\": [1, -2.5e3, true, null, \"\\u20ac\\n\\ud83d\\ude00\"], "
                                "\"b\": {\"c\": {}, \"d\": \"\xe2\x82\xac\"}, \"e\": []}";
    uint32_t dice = 1;
    for (int round = 0; round < 5000; round++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        size_t n = sizeof whole - 1;
        for (int hits = 1 + round % 4; hits > 0; hits--) {
            dice = dice * 1664525 + 1013904223;
            text[(dice >> 8) % n] = (char)(dice >> 24);
        }
        struct err err = {0};
        OWNED(json_object) value = json_parse(text, n, "damaged", &err);
        assert_int_equal(value != NULL, err.code == ERR_NONE);
    }
}

TEST_FILE(test_json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_documents_are_refused_with_their_place),
        cmocka_unit_test(no_prefix_of_a_document_is_a_document),
        cmocka_unit_test(good_documents_keep_their_values),
        cmocka_unit_test(no_damage_to_the_text_breaks_the_reader),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(reading_falls_back_only_when_nothing_is_there),
        cmocka_unit_test(a_wrong_type_is_reported_with_its_path),
        cmocka_unit_test(building_requires_no_checks),
        cmocka_unit_test(adding_to_nothing_does_nothing_and_leaks_nothing),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
