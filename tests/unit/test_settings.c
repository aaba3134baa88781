/* test_settings.c - what a guest asks of the fleet: each field, the overlay over the metadata, and
 * everything that must be refused rather than passed over. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "engine/model/settings/settings.h"

#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\""
#define TERM(key, value)                                        \
    "{\"labelSelector\":{\"matchLabels\":{\"" key "\":\"" value \
    "\"}},\"topologyKey\":\"kubernetes.io/hostname\"}"

static struct settings parsed(const char *metadata, const char *overlay)
{
    struct settings settings;
    struct err err = {0};
    if (!settings_parse(metadata, overlay, "spec", &settings, &err))
        fail_msg("%s", err.text);
    return settings;
}

static void every_strategy_has_its_name(void **state)
{
    (void)state;
    static const struct {
        enum strategy strategy;
        const char *name;
    } stories[] = {
        {STRATEGY_UNSET, ""},
        {STRATEGY_NONE, "None"},
        {STRATEGY_LIVE_MIGRATE, "LiveMigrate"},
        {STRATEGY_LIVE_MIGRATE_IF_POSSIBLE, "LiveMigrateIfPossible"},
        {STRATEGY_EXTERNAL, "External"},
    };
    assert_int_equal(COUNT(stories), STRATEGY_COUNT);
    for (size_t i = 0; i < COUNT(stories); i++) {
        assert_string_equal(strategy_name(stories[i].strategy), stories[i].name);
        assert_int_equal(strategy_from_name(stories[i].name), stories[i].strategy);
        char json[80] = "{\"evictionStrategy\":\"";
        struct buf buf;
        buf_init(&buf, sizeof json);
        buf_addf(&buf, "%s%s\"}", json, stories[i].name);
        struct settings settings = parsed(buf.data, NULL);
        assert_int_equal(settings.strategy, stories[i].strategy);
        settings_fini(&settings);
        buf_fini(&buf);
    }
    assert_int_equal(strategy_from_name("livemigrate"), STRATEGY_COUNT);
}

static void empty_settings_constrain_nothing(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        NULL, "", "{}",
        "{\"evictionStrategy\":null,\"nodeSelector\":null,\"tolerations\":null,\"affinity\":null}",
        "{\"nodeSelector\":{},\"tolerations\":[],\"affinity\":{\"podAffinity\":{}}}"};
    for (size_t i = 0; i < COUNT(nothing); i++)
        for (size_t j = 0; j < COUNT(nothing); j++) {
            struct settings settings = parsed(nothing[i], nothing[j]);
            assert_int_equal(settings.strategy, STRATEGY_UNSET);
            assert_int_equal(settings.node_selector.n, 0);
            assert_int_equal(settings.n_tolerations, 0);
            assert_int_equal(settings.n_affinities, 0);
            settings_fini(&settings);
        }
}

static void everything_is_read(void **state)
{
    (void)state;
    struct settings s =
        parsed("{\"evictionStrategy\":\"External\",\"nodeSelector\":{\"zone\":\"a\"},"
               "\"tolerations\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"},"
               "{\"operator\":\"Exists\",\"tolerationSeconds\":30}],"
               "\"affinity\":{\"podAffinity\":{" REQUIRED
               ":[" TERM("app", "db") "]},"
                                      "\"podAntiAffinity\":{" REQUIRED
                                      ":[" TERM("app", "web") "," TERM(
                                          "app", "x") "],"
                                                      "\"preferredDuringSchedulingIgnoredDuringExec"
                                                      "ution\":[{\"weight\":1}]}}}",
               NULL);
    assert_int_equal(s.strategy, STRATEGY_EXTERNAL);
    assert_string_equal(labels_get(&s.node_selector, "zone"), "a");
    assert_int_equal(s.n_tolerations, 2);
    assert_string_equal(s.tolerations[0].key, "k");
    assert_string_equal(s.tolerations[0].value, "v");
    assert_string_equal(s.tolerations[0].effect, "NoSchedule");
    assert_false(s.tolerations[0].exists);
    assert_true(s.tolerations[1].exists);
    assert_int_equal(s.n_affinities, 3);
    assert_false(s.affinities[0].anti);
    assert_string_equal(labels_get(&s.affinities[0].match, "app"), "db");
    assert_string_equal(s.affinities[0].topology_key, "kubernetes.io/hostname");
    assert_true(s.affinities[1].anti);
    assert_string_equal(labels_get(&s.affinities[1].match, "app"), "web");
    assert_string_equal(labels_get(&s.affinities[2].match, "app"), "x");
    settings_fini(&s);
    settings_fini(&s);
}

#define META                                                                             \
    "{\"evictionStrategy\":\"None\",\"nodeSelector\":{\"zone\":\"a\",\"disk\":\"ssd\"}," \
    "\"tolerations\":[{\"key\":\"m\",\"operator\":\"Exists\"}],"                         \
    "\"affinity\":{\"podAffinity\":{" REQUIRED ":[" TERM("app", "m") "]}}}"

/* Law: an overlay that speaks of one field changes that field, whole, and no other. */
static void the_overlay_wins_field_by_field(void **state)
{
    (void)state;
    static const struct {
        const char *overlay;
        enum strategy strategy;
        size_t selector, tolerations, affinities;
        bool anti;
    } stories[] = {
        {"{}", STRATEGY_NONE, 2, 1, 1, false},
        {"{\"evictionStrategy\":\"LiveMigrate\"}", STRATEGY_LIVE_MIGRATE, 2, 1, 1, false},
        {"{\"evictionStrategy\":\"\"}", STRATEGY_UNSET, 2, 1, 1, false},
        {"{\"evictionStrategy\":null}", STRATEGY_NONE, 2, 1, 1, false},
        {"{\"nodeSelector\":{\"zone\":\"b\"}}", STRATEGY_NONE, 1, 1, 1, false},
        {"{\"nodeSelector\":{}}", STRATEGY_NONE, 0, 1, 1, false},
        {"{\"tolerations\":[]}", STRATEGY_NONE, 2, 0, 1, false},
        {"{\"tolerations\":[{\"operator\":\"Exists\"},{\"key\":\"z\"}]}", STRATEGY_NONE, 2, 2, 1,
         false},
        {"{\"affinity\":{}}", STRATEGY_NONE, 2, 1, 0, false},
        {"{\"affinity\":{\"podAntiAffinity\":{" REQUIRED ":[" TERM("app", "o") "]}}}",
         STRATEGY_NONE, 2, 1, 1, true},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct settings s = parsed(META, stories[i].overlay);
        print_message("%s\n", stories[i].overlay);
        assert_int_equal(s.strategy, stories[i].strategy);
        assert_int_equal(s.node_selector.n, stories[i].selector);
        assert_int_equal(s.n_tolerations, stories[i].tolerations);
        assert_int_equal(s.n_affinities, stories[i].affinities);
        if (s.n_affinities > 0)
            assert_int_equal(s.affinities[0].anti, stories[i].anti);
        settings_fini(&s);
    }
}

static const struct {
    const char *json, *said;
} refused[] = {
    {"[]", "spec: expected an object"},
    {"7", "spec: expected an object"},
    {"null", "spec: line 1"},
    {"{", "spec: line 1"},
    {"{\"evictionStrategy\":7}", "spec.evictionStrategy: expected a string"},
    {"{\"evictionStrategy\":\"Livemigrate\"}", "spec.evictionStrategy: \"Livemigrate\" is not one "
                                               "of None, LiveMigrate, LiveMigrateIfPossible, "
                                               "External"},
    {"{\"evictionstrategy\":\"None\"}",
     "spec: unknown field \"evictionstrategy\"; did you mean evictionStrategy?"},
    {"{\"domain\":{}}", "spec: unknown field \"domain\""},
    {"{\"nodeSelector\":[]}", "spec.nodeSelector: expected an object of strings"},
    {"{\"nodeSelector\":{\"a\":\"b c\"}}", "spec.nodeSelector.a: \"b c\" is not a label value"},
    {"{\"tolerations\":{}}", "spec.tolerations: expected a list"},
    {"{\"tolerations\":[7]}", "spec.tolerations[0]: expected an object"},
    {"{\"tolerations\":[null]}", "spec.tolerations[0]: expected an object"},
    {"{\"tolerations\":[{\"key\":\"a\"},{\"key\":7}]}",
     "spec.tolerations[1]: key: expected a string"},
    {"{\"tolerations\":[{\"key\":\"a b\"}]}",
     "spec.tolerations[0].key: \"a b\" is not a label key"},
    {"{\"tolerations\":[{\"key\":\"a\",\"value\":\"a b\"}]}",
     "spec.tolerations[0].value: \"a b\" is not a label value"},
    {"{\"tolerations\":[{\"key\":\"a\",\"effect\":\"no\"}]}",
     "spec.tolerations[0].effect: \"no\" is not one of NoSchedule"},
    {"{\"tolerations\":[{\"key\":\"a\",\"operator\":\"In\"}]}",
     "spec.tolerations[0].operator: \"In\" is not one of Equal, Exists"},
    {"{\"tolerations\":[{\"key\":\"a\",\"operator\":\"Exists\",\"value\":\"x\"}]}",
     "spec.tolerations[0].value: must be empty"},
    {"{\"tolerations\":[{}]}", "spec.tolerations[0].operator: must be Exists when key is empty"},
    {"{\"tolerations\":[{\"keys\":\"a\"}]}", "spec.tolerations[0]: unknown field \"keys\""},
    {"{\"affinity\":[]}", "spec.affinity: expected an object"},
    {"{\"affinity\":{\"nodeAffinity\":{}}}", "spec.affinity: unknown field \"nodeAffinity\""},
    {"{\"affinity\":{\"podAffinity\":[]}}", "spec.affinity.podAffinity: expected an object"},
    {"{\"affinity\":{\"podAffinity\":{" REQUIRED ":{}}}}", "spec.affinity.podAffinity.required"},
    {"{\"affinity\":{\"podAffinity\":{" REQUIRED ":[null]}}}", "spec.affinity.podAffinity"},
    {"{\"affinity\":{\"podAffinity\":{" REQUIRED ":[{\"topologyKey\":\"a\"}]}}}",
     "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
     "matchLabels: must name"},
    {"{\"affinity\":{\"podAffinity\":{" REQUIRED
     ":[{\"labelSelector\":{\"matchLabels\":{}},\"topologyKey\":\"a\"}]}}}",
     "spec.affinity.podAffinity"},
    {"{\"affinity\":{\"podAffinity\":{" REQUIRED
     ":[{\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"}}}]}}}",
     "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey"},
    {"{\"affinity\":{\"podAffinity\":{" REQUIRED
     ":[{\"labelSelector\":{\"matchExpressions\":[]},\"topologyKey\":\"a\"}]}}}",
     "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: "
     "unknown field \"matchExpressions\""},
    {"{\"affinity\":{\"podAntiAffinity\":{" REQUIRED
     ":[" TERM("a", "b") "," TERM("a", "b c") "]}}}",
     "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[1]."
     "labelSelector.matchLabels.a: \"b c\""},
};

static void what_is_wrong_is_refused_in_either_text_and_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(refused); i++) {
        const char *bad = refused[i / 2].json;
        struct settings s = {.n_tolerations = 9};
        struct err err = {0};
        assert_false(
            settings_parse(i % 2 == 0 ? bad : META, i % 2 == 0 ? META : bad, "spec", &s, &err));
        assert_int_equal(err.code, ERR_INVALID);
        if (!text_has_prefix(err.text, refused[i / 2].said))
            fail_msg("%s: %s", bad, err.text);
        assert_int_equal(s.n_tolerations, 0);
        assert_null(s.tolerations);
        assert_null(s.affinities);
    }
}

static char *list_of(const char *head, const char *item, int n, const char *tail)
{
    struct buf buf;
    buf_init(&buf, 1 << 22);
    buf_add(&buf, head);
    for (int i = 0; i < n; i++)
        buf_addf(&buf, "%s%s", i > 0 ? "," : "", item);
    buf_add(&buf, tail);
    return buf_take(&buf);
}

static bool is_taken(const char *json)
{
    struct settings s;
    struct err err = {0};
    bool taken = settings_parse(json, NULL, "spec", &s, &err);
    settings_fini(&s);
    return taken;
}

static void lists_have_bounds(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        OWNED_TEXT tolerations = list_of("{\"tolerations\":[", "{\"operator\":\"Exists\"}",
                                         SETTINGS_TOLERATIONS_MAX + over, "]}");
        OWNED_TEXT affinities = list_of("{\"affinity\":{\"podAffinity\":{" REQUIRED
                                        ":[" TERM("a", "b") "]},"
                                                            "\"podAntiAffinity\":{" REQUIRED ":[",
                                        TERM("a", "b"), SETTINGS_AFFINITIES_MAX - 1 + over, "]}}}");
        assert_int_equal(is_taken(tolerations), over == 0);
        assert_int_equal(is_taken(affinities), over == 0);
    }
    OWNED_TEXT deep = list_of("", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 1000, "");
    OWNED_TEXT wide = list_of("{\"tolerations\":[", "{\"operator\":\"Exists\"}", 50000, "]}");
    assert_false(is_taken(deep));
    assert_false(is_taken(wide));
}

static void a_toleration_tolerates_what_it_names(void **state)
{
    (void)state;
    static const struct {
        const char *toleration;
        struct taint taint;
        bool tolerated;
    } stories[] = {
        {"{\"operator\":\"Exists\"}", {"k", "v", "NoSchedule"}, true},
        {"{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}", {"k", "v", "NoSchedule"}, false},
        {"{\"operator\":\"Exists\",\"effect\":\"NoExecute\"}", {"k", "v", "NoExecute"}, true},
        {"{\"key\":\"k\",\"operator\":\"Exists\"}", {"k", "v", "NoSchedule"}, true},
        {"{\"key\":\"k\",\"operator\":\"Exists\"}", {"q", "v", "NoSchedule"}, false},
        {"{\"key\":\"k\",\"value\":\"v\"}", {"k", "v", "NoSchedule"}, true},
        {"{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\"}", {"k", "v", "NoExecute"}, true},
        {"{\"key\":\"k\",\"value\":\"v\"}", {"k", "w", "NoSchedule"}, false},
        {"{\"key\":\"k\",\"value\":\"v\"}", {"q", "v", "NoSchedule"}, false},
        {"{\"key\":\"k\"}", {"k", "", "NoSchedule"}, true},
        {"{\"key\":\"k\"}", {"k", "v", "NoSchedule"}, false},
        {"{\"key\":\"k\",\"effect\":\"NoSchedule\"}", {"k", "", "NoExecute"}, false},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        OWNED_TEXT json =
            list_of("{\"tolerations\":[{\"key\":\"else\"},", stories[i].toleration, 1, "]}");
        struct settings s = parsed(json, NULL);
        print_message("%s\n", stories[i].toleration);
        assert_int_equal(settings_tolerate(&s, &stories[i].taint), stories[i].tolerated);
        settings_fini(&s);
    }
    struct settings none = {0};
    assert_false(settings_tolerate(&none, &stories[0].taint));
}

static bool read_taints(const char *json, struct taint *taints, size_t *n, struct err *err)
{
    OWNED(json_object) array = json_parse(json, strlen(json), "taints", err);
    return taints_from(array, "spec.taints", taints, n, err);
}

static void taints_are_read_and_two_of_three_effects_repel(void **state)
{
    (void)state;
    struct taint taints[TAINTS_MAX];
    size_t n = 0;
    struct err err = {0};
    assert_true(read_taints("[{\"key\":\"a\",\"value\":\"1\",\"effect\":\"NoSchedule\"},"
                            "{\"key\":\"b/c\",\"effect\":\"PreferNoSchedule\",\"timeAdded\":\"x\"},"
                            "{\"key\":\"c\",\"effect\":\"NoExecute\"}]",
                            taints, &n, &err));
    assert_int_equal(n, 3);
    assert_string_equal(taints[0].value, "1");
    assert_string_equal(taints[1].key, "b/c");
    assert_true(taint_repels(&taints[0]));
    assert_false(taint_repels(&taints[1]));
    assert_true(taint_repels(&taints[2]));
    assert_true(taints_from(NULL, "spec.taints", taints, &n, &err));
    assert_int_equal(n, 0);
}

static void wrong_taints_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{}",
        "[7]",
        "[null]",
        "[{\"key\":\"a\"}]",
        "[{\"effect\":\"NoSchedule\"}]",
        "[{\"key\":\"a\",\"effect\":\"Never\"}]",
        "[{\"key\":\"a b\",\"effect\":\"NoSchedule\"}]",
        "[{\"key\":\"a\",\"value\":\"-\",\"effect\":\"NoSchedule\"}]",
        "[{\"key\":\"a\",\"effect\":\"NoSchedule\",\"colour\":\"red\"}]",
    };
    struct taint taints[TAINTS_MAX];
    size_t n = 7;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct err err = {0};
        print_message("%s\n", bad[i]);
        assert_false(read_taints(bad[i], taints, &n, &err));
        assert_true(text_has_prefix(err.text, "spec.taints"));
        assert_int_equal(n, 7);
    }
    static const char item[] = "{\"key\":\"a\",\"effect\":\"NoSchedule\"}";
    OWNED_TEXT most = list_of("[", item, TAINTS_MAX, "]");
    OWNED_TEXT more = list_of("[", item, TAINTS_MAX + 1, "]");
    struct err err = {0};
    assert_true(read_taints(most, taints, &n, &err));
    assert_false(read_taints(more, taints, &n, &err));
}

TEST_FILE(test_settings)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_has_its_name),
        cmocka_unit_test(empty_settings_constrain_nothing),
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(the_overlay_wins_field_by_field),
        cmocka_unit_test(what_is_wrong_is_refused_in_either_text_and_leaves_nothing),
        cmocka_unit_test(lists_have_bounds),
        cmocka_unit_test(a_toleration_tolerates_what_it_names),
        cmocka_unit_test(taints_are_read_and_two_of_three_effects_repel),
        cmocka_unit_test(wrong_taints_are_refused),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
