/* test_quota.c - what a namespace may use: names, numbers, and the words of a refusal. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/model/objects/quota.h"

#define KI ((uint64_t)1)
#define MI (KI * 1024)
#define GI (MI * 1024)

static struct quota *parsed(const char *json)
{
    struct err err = {0};
    struct quota *quota = quota_parse(json, &err);
    if (quota == NULL)
        fail_msg("%s: %s", json, err.text);
    return quota;
}

static void limits_are_read_under_all_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        struct quota quota;
    } stories[] = {
        {"{}", {0}},
        {"{\"hard\":null}", {0}},
        {"{\"hard\":{}}", {0}},
        {"{\"hard\":{\"launchers\":\"3\"}}", {true, false, false, {3, 0, 0}}},
        {"{\"hard\":{\"pods\":3}}", {true, false, false, {3, 0, 0}}},
        {"{\"hard\":{\"count/pods\":\"1k\"}}", {true, false, false, {1000, 0, 0}}},
        {"{\"hard\":{\"pods\":0}}", {true, false, false, {0, 0, 0}}},
        {"{\"hard\":{\"memory\":\"4Gi\"}}", {false, true, false, {0, 4 * GI, 0}}},
        {"{\"hard\":{\"requests.memory\":1048576}}", {false, true, false, {0, MI, 0}}},
        {"{\"hard\":{\"limits.memory\":\"1023\"}}", {false, true, false, {0, 0, 0}}},
        {"{\"hard\":{\"cpu\":\"8\"}}", {false, false, true, {0, 0, 8}}},
        {"{\"hard\":{\"requests.cpu\":\"1500m\"}}", {false, false, true, {0, 0, 1}}},
        {"{\"hard\":{\"limits.cpu\":2}}", {false, false, true, {0, 0, 2}}},
        {"{\"hard\":{\"cpu\":\"4\",\"limits.cpu\":\"2\",\"requests.cpu\":\"3\"}}",
         {false, false, true, {0, 0, 2}}},
        {"{\"hard\":{\"pods\":2,\"launchers\":5,\"memory\":\"1Gi\",\"cpu\":1}}",
         {true, true, true, {2, GI, 1}}},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        OWNED(quota) quota = parsed(stories[i].json);
        const struct quota *want = &stories[i].quota;
        print_message("%s\n", stories[i].json);
        assert_int_equal(quota->has_launchers, want->has_launchers);
        assert_int_equal(quota->has_memory, want->has_memory);
        assert_int_equal(quota->has_vcpus, want->has_vcpus);
        assert_int_equal(quota->hard.launchers, want->hard.launchers);
        assert_int_equal(quota->hard.memory_kib, want->hard.memory_kib);
        assert_int_equal(quota->hard.vcpus, want->hard.vcpus);
    }
    quota_free(NULL);
}

static void what_is_wrong_is_refused_with_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *json, *said;
    } stories[] = {
        {"[]", "spec: expected an object"},
        {"{\"hard\":[]}", "spec.hard: expected an object"},
        {"{\"hard\":7}", "spec.hard: expected an object"},
        {"{\"hards\":{}}", "spec: unknown field \"hards\""},
        {"{\"hard\":{},\"scopes\":[]}", "spec: unknown field \"scopes\""},
        {"{\"hard\":{\"memry\":1}}", "spec.hard: \"memry\" cannot be limited; did "
                                     "you mean memory?"},
        {"{\"hard\":{\"persistentvolumeclaims\":1}}",
         "spec.hard: \"persistentvolumeclaims\" cannot be limited; valid: launchers, memory, cpu"},
        {"{\"hard\":{\"memory\":null}}", "spec.hard.memory: expected a quantity"},
        {"{\"hard\":{\"memory\":1.5}}", "spec.hard.memory: expected a quantity"},
        {"{\"hard\":{\"memory\":{}}}", "spec.hard.memory: expected a quantity"},
        {"{\"hard\":{\"memory\":\"much\"}}", "spec.hard.memory: \"much\" is not a quantity"},
        {"{\"hard\":{\"memory\":\"-1Gi\"}}", "spec.hard.memory: must not be negative"},
        {"{\"hard\":{\"cpu\":-1}}", "spec.hard.cpu: must not be negative"},
        {"{\"hard\":{\"memory\":\"9Ei\"}}", "spec.hard.memory: 9Ei is too large"},
        {"{\"hard\":{\"pods\":18446744073709551615}}", "spec.hard.pods: 1844"},
        {"{\"hard\":{\"pods\":\"1.5\"}}", "spec.hard.pods: must be an integer"},
        {"{\"hard\":{\"pods\":\"100m\"}}", "spec.hard.pods: must be an integer"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0};
        assert_null(quota_parse(stories[i].json, &err));
        assert_int_equal(err.code, ERR_UNPROCESSABLE);
        if (!text_has_prefix(err.text, stories[i].said))
            fail_msg("%s: %s", stories[i].json, err.text);
    }
    static const char *const broken[] = {"", "null", "{", "{\"hard\":{\"cpu\":1,\"cpu\":2}}",
                                         "\xFF"};
    for (size_t i = 0; i < COUNT(broken); i++) {
        struct err err = {0};
        assert_null(quota_parse(broken[i], &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static const struct {
    const char *json;
    struct resources used, more;
    const char *said; /* NULL: allowed */
} stories[] = {
    {"{}", {9, 9 * GI, 9}, {1, GI, 1}, NULL},
    {"{\"hard\":{\"memory\":\"4Gi\"}}", {3, 3 * GI, 9}, {1, GI, 9}, NULL},
    {"{\"hard\":{\"memory\":\"4Gi\"}}",
     {3, 3 * GI, 9},
     {1, GI + 1, 9},
     "exceeded quota: q, requested: memory=1048577Ki, used: memory=3Gi, limited: memory=4Gi"},
    {"{\"hard\":{\"memory\":\"4Gi\"}}",
     {3, 4 * GI, 9},
     {1, GI, 9},
     "exceeded quota: q, requested: memory=1Gi, used: memory=4Gi, limited: memory=4Gi"},
    {"{\"hard\":{\"memory\":\"0\"}}",
     {0, 0, 0},
     {1, 1536 * MI, 1},
     "exceeded quota: q, requested: memory=1536Mi, used: memory=0, limited: memory=0"},
    {"{\"hard\":{\"pods\":2}}", {1, 0, 0}, {1, GI, 1}, NULL},
    {"{\"hard\":{\"pods\":2}}",
     {2, 0, 0},
     {1, GI, 1},
     "exceeded quota: q, requested: launchers=1, used: launchers=2, limited: launchers=2"},
    {"{\"hard\":{\"cpu\":8}}", {1, 0, 6}, {1, GI, 2}, NULL},
    {"{\"hard\":{\"cpu\":8}}",
     {1, 0, 7},
     {1, GI, 2},
     "exceeded quota: q, requested: cpu=2, used: cpu=7, limited: cpu=8"},
    {"{\"hard\":{\"cpu\":8,\"pods\":1,\"memory\":\"1Ti\"}}",
     {1, GI, 7},
     {1, GI, 2},
     "exceeded quota: q, requested: cpu=2,launchers=1, used: cpu=7,launchers=1, limited: "
     "cpu=8,launchers=1"},
    {"{\"hard\":{\"cpu\":1,\"pods\":1,\"memory\":\"1Ki\"}}",
     {5, 5, 5},
     {1, 1, 1},
     "exceeded quota: q, requested: cpu=1,launchers=1,memory=1Ki, used: "
     "cpu=5,launchers=5,memory=5Ki, limited: cpu=1,launchers=1,memory=1Ki"},
    {"{\"hard\":{\"cpu\":1}}", {5, 5, 5}, {1, 1, 0}, NULL}, /* over it, but asks for none */
    {"{\"hard\":{\"cpu\":1}}",
     {0, 0, UINT64_MAX},
     {0, 0, 2},
     "exceeded quota: q, requested: cpu=2, used: cpu=18446744073709551615, limited: cpu=1"},
};

static void only_what_is_exceeded_is_told_in_kubernetes_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        OWNED(quota) quota = parsed(stories[i].json);
        char text[QUOTA_TEXT_MAX] = "before";
        bool allowed = quota_allows(quota, "q", &stories[i].used, &stories[i].more, text);
        assert_string_equal(text, stories[i].said == NULL ? "" : stories[i].said);
        assert_int_equal(allowed, stories[i].said == NULL);
    }
}

static void the_longest_refusal_fits(void **state)
{
    (void)state;
    static const struct quota quota = {true, true, true, {0, 1, 0}};
    static const struct resources most = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    char name[254], text[QUOTA_TEXT_MAX];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(quota_allows(&quota, name, &most, &most, text));
    assert_true(strlen(text) < QUOTA_TEXT_MAX - 1);
    assert_non_null(strstr(text, "limited: cpu=0,launchers=0,memory=1Ki"));
}

TEST_FILE(test_quota)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_read_under_all_their_names),
        cmocka_unit_test(what_is_wrong_is_refused_with_the_field),
        cmocka_unit_test(only_what_is_exceeded_is_told_in_kubernetes_words),
        cmocka_unit_test(the_longest_refusal_fits),
    };
    return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
