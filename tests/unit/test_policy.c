/* test_policy.c - which MigrationPolicy applies, rule by rule, and what configuration comes out. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/model/objects/policy.h"

static struct policy *parsed(const char *json)
{
    struct err err = {0};
    struct policy *policy = policy_parse(json, &err);
    if (policy == NULL)
        fail_msg("%s: %s", json, err.text);
    return policy;
}

#define SELECT(ns, guest) \
    "{\"selectors\":{\"namespaceSelector\":" ns ",\"virtualMachineInstanceSelector\":" guest "}}"

static const struct {
    const char *name, *policy, *guest, *ns;
    int guest_pairs, ns_pairs; /* -1: does not match */
    const char *why_not;
} matches[] = {
    {"no selectors never match", "{}", "{}", "{}", -1, 0, "no selectors"},
    {"no selectors, with labels", "{\"allowPostCopy\":true}", "{\"a\":\"1\"}", "{\"b\":\"2\"}", -1,
     0, "no selectors"},
    {"selectors null are none", "{\"selectors\":null}", "{}", "{}", -1, 0, "no selectors"},
    {"empty selectors match everything", "{\"selectors\":{}}", "{\"a\":\"1\"}", "{}", 0, 0, ""},
    {"empty maps match everything", SELECT("{}", "{}"), "{}", "{}", 0, 0, ""},
    {"null maps match everything", SELECT("null", "null"), "{}", "{}", 0, 0, ""},
    {"the guest's pair", SELECT("{}", "{\"a\":\"1\"}"), "{\"a\":\"1\",\"z\":\"9\"}", "{}", 1, 0,
     ""},
    {"the guest has another value", SELECT("{}", "{\"a\":\"1\"}"), "{\"a\":\"2\"}", "{}", -1, 0,
     "guest: label a=1 is missing"},
    {"the guest has no such label", SELECT("{}", "{\"a\":\"1\"}"), "{\"b\":\"1\"}", "{}", -1, 0,
     "guest: label a=1 is missing"},
    {"a guest without labels", SELECT("{}", "{\"a\":\"1\"}"), "{}", "{}", -1, 0,
     "guest: label a=1 is missing"},
    {"the namespace's pair", SELECT("{\"env\":\"prod\"}", "{}"), "{}", "{\"env\":\"prod\"}", 0, 1,
     ""},
    {"the namespace has another value", SELECT("{\"env\":\"prod\"}", "{}"), "{}",
     "{\"env\":\"test\"}", -1, 0, "namespace: label env=prod is missing"},
    {"a namespace without labels", SELECT("{\"env\":\"prod\"}", "{}"), "{\"env\":\"prod\"}", "{}",
     -1, 0, "namespace: label env=prod is missing"},
    {"a guest without labels in the wrong namespace", SELECT("{\"env\":\"prod\"}", "{}"), "{}",
     "{}", -1, 0, "namespace: label env=prod is missing"},
    {"the guest's label does not stand for the namespace's", SELECT("{}", "{\"env\":\"prod\"}"),
     "{}", "{\"env\":\"prod\"}", -1, 0, "guest: label env=prod is missing"},
    {"all pairs", SELECT("{\"env\":\"prod\"}", "{\"a\":\"1\",\"b\":\"2\"}"),
     "{\"a\":\"1\",\"b\":\"2\"}", "{\"env\":\"prod\"}", 2, 1, ""},
    {"one of many misses", SELECT("{\"env\":\"prod\"}", "{\"a\":\"1\",\"b\":\"2\"}"),
     "{\"a\":\"1\",\"b\":\"3\"}", "{\"env\":\"prod\"}", -1, 0, "guest: label b=2 is missing"},
    {"the namespace's misses", SELECT("{\"env\":\"prod\"}", "{\"a\":\"1\"}"), "{\"a\":\"1\"}", "{}",
     -1, 0, "namespace: label env=prod is missing"},
};

static struct policy_score score_of(const char *json, const char *guest_json, const char *ns_json)
{
    OWNED(policy) policy = parsed(json);
    struct labels guest, ns;
    struct err err = {0};
    struct policy_score score;
    assert_true(labels_parse(guest_json, "guest", &guest, &err));
    assert_true(labels_parse(ns_json, "ns", &ns, &err));
    policy_match(policy, &guest, &ns, &score);
    labels_fini(&guest);
    labels_fini(&ns);
    return score;
}

static void every_pair_must_be_met_by_whom_it_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(matches); i++) {
        print_message("%s\n", matches[i].name);
        struct policy_score score = score_of(matches[i].policy, matches[i].guest, matches[i].ns);
        assert_int_equal(score.matches, matches[i].guest_pairs >= 0);
        if (score.matches) {
            assert_int_equal(score.guest_pairs, matches[i].guest_pairs);
            assert_int_equal(score.ns_pairs, matches[i].ns_pairs);
            assert_string_equal(score.why_not, "");
        } else
            assert_true(text_has_prefix(score.why_not, matches[i].why_not));
    }
}

static void the_better_policy_is_found_by_sum_then_guest_then_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct policy_score a, b; /* matches, guest_pairs, ns_pairs */
        const char *a_name, *b_name;
    } stories[] = {
        {"larger sum", {1, 1, 1, ""}, {1, 1, 0, ""}, "z", "a"},
        {"the sum, not the guest's pairs", {1, 0, 3, ""}, {1, 2, 0, ""}, "z", "a"},
        {"equal sum: more of the guest", {1, 2, 0, ""}, {1, 1, 1, ""}, "z", "a"},
        {"equal sum: more of the guest, all of it", {1, 2, 0, ""}, {1, 0, 2, ""}, "z", "a"},
        {"equal score: the smaller name", {1, 1, 1, ""}, {1, 1, 1, ""}, "a", "b"},
        {"names are compared as bytes", {1, 0, 0, ""}, {1, 0, 0, ""}, "B", "a"},
        {"a name that goes on is larger", {1, 0, 0, ""}, {1, 0, 0, ""}, "a", "a-0"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        print_message("%s\n", stories[i].name);
        assert_true(
            policy_better(&stories[i].a, stories[i].a_name, &stories[i].b, stories[i].b_name));
        assert_false(
            policy_better(&stories[i].b, stories[i].b_name, &stories[i].a, stories[i].a_name));
    }
}

/* Law: of two policies exactly one is better, so that the order of looking never matters. */
static void better_is_a_strict_order(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    enum { N = 27 };
    struct policy_score scores[N];
    const char *name[N];
    for (unsigned i = 0; i < N; i++) {
        scores[i] = (struct policy_score){true, i % 3, i / 3 % 3, ""};
        name[i] = names[i / 9];
    }
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            bool forth = policy_better(&scores[i], name[i], &scores[j], name[j]);
            bool back = policy_better(&scores[j], name[j], &scores[i], name[i]);
            assert_int_equal(forth != back, i != j);
            for (size_t k = 0; k < N && forth; k++)
                if (policy_better(&scores[j], name[j], &scores[k], name[k]))
                    assert_true(policy_better(&scores[i], name[i], &scores[k], name[k]));
        }
}

static bool as_bool(const struct migration_config *config, const char *name)
{
    OWNED(json_object) json = migration_config_json(config);
    return json_object_get_boolean(json_at(json, name));
}

/* The settings that differ, as bits, seen through their JSON: not through what merge uses. */
static uint64_t differing(const struct migration_config *a, const struct migration_config *b)
{
    OWNED(json_object) one = migration_config_json(a);
    OWNED(json_object) other = migration_config_json(b);
    uint64_t set = 0;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
        if (!json_object_equal(json_at(one, setting_name(setting)),
                               json_at(other, setting_name(setting))))
            set |= UINT64_C(1) << setting;
    return set;
}

/* A policy's spec that gives one setting another value than its default. */
static void spec_of(enum setting setting, char out[static 200])
{
    struct migration_config config;
    migration_config_default(&config);
    OWNED(json_object) json = migration_config_json(&config);
    struct json_object *now = json_at(json, setting_name(setting));
    char value[32];
    if (json_object_is_type(now, json_type_boolean))
        (void)snprintf(value, sizeof value, "%s", json_object_get_boolean(now) ? "false" : "true");
    else if (json_object_is_type(now, json_type_string))
        (void)snprintf(value, sizeof value, "\"%s\"",
                       setting == SETTING_monitor || setting == SETTING_shadow ? "legacy" : "zstd");
    else if (json_object_is_type(now, json_type_double))
        (void)snprintf(value, sizeof value, "%s",
                       setting == SETTING_precopy_factor      ? "2.5"
                       : setting == SETTING_completion_factor ? "3"
                                                              : "0.7");
    else
        (void)snprintf(value, sizeof value, "%d", 11);
    const char *path = setting_name(setting);
    struct buf buf;
    buf_init(&buf, 199);
    int groups = 1;
    for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1, groups++)
        buf_addf(&buf, "{\"%.*s\":", (int)(dot - path), path);
    buf_addf(&buf, "{\"%s\":%s", path, value);
    while (groups-- > 0)
        buf_add(&buf, "}");
    assert_false(buf.failed);
    (void)text_copy(out, 200, buf.data);
    buf_fini(&buf);
}

/* Law: a policy that sets X changes X, and nothing else but disruption for post-copy. */
static void a_policy_changes_only_what_it_sets(void **state)
{
    (void)state;
    struct migration_config fleet, merged;
    migration_config_default(&fleet);
    unsigned tried = 0;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++) {
        char spec[200];
        struct err err = {0};
        spec_of(setting, spec);
        OWNED(policy) policy = policy_parse(spec, &err);
        if (policy == NULL) {
            assert_non_null(strstr(err.text, "only the fleet's configuration may set this"));
            continue;
        }
        print_message("%s\n", spec);
        uint64_t bit = UINT64_C(1) << setting;
        assert_true(policy->set == bit);
        policy_merge(&fleet, policy, &merged);
        uint64_t expected =
            setting == SETTING_post_copy ? bit | UINT64_C(1) << SETTING_disruption : bit;
        assert_true(differing(&fleet, &merged) == expected);
        tried++;
    }
    assert_int_equal(tried, SETTING_COUNT - 4);
}

/* -1: not said. */
static const struct {
    int fleet_post_copy, fleet_disruption, policy_post_copy, policy_disruption;
    bool post_copy, disruption;
} mergers[] = {
    {-1, -1, -1, -1, false, false},
    {1, -1, -1, -1, true, true}, /* follows post-copy when not said */
    {1, 0, -1, -1, true, false},
    {0, 1, -1, -1, false, true},
    {-1, -1, 1, -1, true, true}, /* the policy's post-copy speaks for disruption too */
    {-1, -1, 1, 0, true, false},
    {-1, -1, 0, 1, false, true},
    {-1, -1, -1, 1, false, true},
    {1, -1, 0, -1, false, false},
    {1, 1, 0, -1, false, false}, /* also over what the fleet said */
    {0, 0, 1, -1, true, true},
    {1, 1, -1, 0, true, false},
    {1, -1, -1, 0, true, false},
};

static void say(struct buf *buf, const char *name, int value)
{
    if (value >= 0)
        buf_addf(buf, "%s\"%s\":%s", buf->length > 1 ? "," : "", name, value ? "true" : "false");
}

static char *said(int post_copy, int disruption)
{
    struct buf buf;
    buf_init(&buf, 200);
    buf_add(&buf, "{");
    say(&buf, "allowPostCopy", post_copy);
    say(&buf, "allowWorkloadDisruption", disruption);
    buf_add(&buf, "}");
    return buf_take(&buf);
}

static void disruption_follows_post_copy_when_not_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mergers); i++) {
        OWNED_TEXT fleet_json = said(mergers[i].fleet_post_copy, mergers[i].fleet_disruption);
        OWNED_TEXT policy_json = said(mergers[i].policy_post_copy, mergers[i].policy_disruption);
        OWNED(json_object) object =
            json_parse(fleet_json, strlen(fleet_json), "x", &(struct err){0});
        OWNED(policy) policy = parsed(policy_json);
        struct migration_config fleet, merged;
        struct err err = {0};
        print_message("%s + %s\n", fleet_json, policy_json);
        migration_config_default(&fleet);
        assert_true(migration_config_read(object, false, NULL, &fleet, NULL, &err));
        bool says_nothing = strcmp(policy_json, "{}") == 0;
        policy_merge(&fleet, says_nothing && i % 2 == 0 ? NULL : policy, &merged);
        assert_int_equal(as_bool(&merged, "allowPostCopy"), mergers[i].post_copy);
        assert_int_equal(as_bool(&merged, "allowWorkloadDisruption"), mergers[i].disruption);
    }
}

static void without_a_policy_the_fleet_decides(void **state)
{
    (void)state;
    struct migration_config fleet, merged;
    migration_config_default(&fleet);
    fleet.max_downtime_ms = 5;
    policy_merge(&fleet, NULL, &merged);
    assert_true(differing(&fleet, &merged) == 0);
    policy_merge(&fleet, NULL, &fleet); /* in place */
    assert_int_equal(fleet.max_downtime_ms, 5);
}

static void what_is_wrong_is_refused_with_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        enum err_code code;
        const char *said;
    } stories[] = {
        {"", ERR_INVALID, "spec: line 1"},
        {"null", ERR_INVALID, "spec: line 1"},
        {"{\"a\":1,\"a\":1}", ERR_INVALID, "spec: line 1"},
        {"[]", ERR_UNPROCESSABLE, "spec: expected an object"},
        {"{\"selectors\":[]}", ERR_UNPROCESSABLE, "spec.selectors: expected an object"},
        {"{\"selectors\":{\"vmiSelector\":{}}}", ERR_UNPROCESSABLE,
         "spec.selectors: unknown field \"vmiSelector\""},
        {SELECT("[]", "{}"), ERR_UNPROCESSABLE,
         "spec.selectors.namespaceSelector: expected an object of strings"},
        {SELECT("{}", "{\"a\":1}"), ERR_UNPROCESSABLE,
         "spec.selectors.virtualMachineInstanceSelector.a: expected a string"},
        {SELECT("{}", "{\"matchLabels\":{\"a\":\"1\"}}"), ERR_UNPROCESSABLE,
         "spec.selectors.virtualMachineInstanceSelector.matchLabels: expected a string"},
        {SELECT("{\"a\":\"1\"}", "{\"a b\":\"1\"}"), ERR_UNPROCESSABLE,
         "spec.selectors.virtualMachineInstanceSelector: \"a b\" is not a label key"},
        {"{\"completionTimeoutPerGiB\":-1}", ERR_UNPROCESSABLE,
         "spec.completionTimeoutPerGiB: must not be negative"},
        {"{\"bandwidthPerMigration\":\"-1\"}", ERR_UNPROCESSABLE,
         "spec.bandwidthPerMigration: must not be negative"},
        {"{\"progressTimeout\":1}", ERR_UNPROCESSABLE,
         "spec.progressTimeout: only the fleet's configuration may set this"},
        {"{\"colour\":1}", ERR_UNPROCESSABLE, "spec.colour: unknown field"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0};
        assert_null(policy_parse(stories[i].json, &err));
        if (!text_has_prefix(err.text, stories[i].said))
            fail_msg("%s: %s", stories[i].json, err.text);
        assert_int_equal(err.code, stories[i].code);
    }
    policy_free(NULL);
}

static void a_setting_of_earlier_versions_is_accepted_and_changes_nothing(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(policy) old = policy_parse("{\"relayed\":true,\"allowPostCopy\":true}", &err);
    OWNED(policy) same = policy_parse("{\"allowPostCopy\":true}", &err);
    assert_string_equal(err.text, "");
    assert_true(old->retired && !same->retired);
    assert_int_equal(old->set, same->set);
}

TEST_FILE(test_policy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_must_be_met_by_whom_it_names),
        cmocka_unit_test(the_better_policy_is_found_by_sum_then_guest_then_name),
        cmocka_unit_test(better_is_a_strict_order),
        cmocka_unit_test(a_policy_changes_only_what_it_sets),
        cmocka_unit_test(disruption_follows_post_copy_when_not_said),
        cmocka_unit_test(without_a_policy_the_fleet_decides),
        cmocka_unit_test(what_is_wrong_is_refused_with_the_field),
        cmocka_unit_test(a_setting_of_earlier_versions_is_accepted_and_changes_nothing),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
