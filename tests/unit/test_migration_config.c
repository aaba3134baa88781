/* test_migration_config.c - laws over every setting: its default, its bounds, its type, who may
 * set it, and that it survives being frozen; and stories of texts that are refused. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/model/settings/migration_config.h"

enum type { T_BOOL, T_COUNT, T_BYTES, T_REAL, T_WORD };

#define YES true
#define NO false
static const struct row {
    const char *name;
    enum type type;
    double fallback, low, high;
    bool policy;
    size_t offset;
} rows[SETTING_COUNT] = {
#define SETTING(id, type, json, fallback, low, high, policy, help) \
    [SETTING_##id] = {                                             \
        json, T_##type, fallback, low, high, policy, offsetof(struct migration_config, id)},
#include "engine/model/settings/migration_config.def"
#undef SETTING
};

static double value_of(const struct migration_config *config, enum setting setting)
{
    const char *at = (const char *)config + rows[setting].offset;
    switch (rows[setting].type) {
    case T_BOOL: return *(const bool *)at;
    case T_COUNT:
    case T_BYTES: return (double)*(const int64_t *)(const void *)at;
    case T_REAL: return *(const double *)(const void *)at;
    case T_WORD: return *(const int *)(const void *)at;
    }
    return -1;
}

/* {"a":{"b":VALUE}} for "a.b". */
static char *document(const char *path, const char *value)
{
    struct buf buf;
    buf_init(&buf, 1000);
    int groups = 0;
    for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1, groups++)
        buf_addf(&buf, "{\"%.*s\":", (int)(dot - path), path);
    buf_addf(&buf, "{\"%s\":%s}", path, value);
    while (groups-- > 0)
        buf_add(&buf, "}");
    return buf_take(&buf);
}

static bool read_text(const char *json, bool from_policy, struct migration_config *config,
                      uint64_t *out_set, struct err *err)
{
    static const char *const ignored[] = {"selectors", NULL};
    OWNED(json_object) object = json_parse(json, strlen(json), "json", err);
    assert_non_null(object);
    return migration_config_read(object, from_policy, ignored, config, out_set, err);
}

static bool read_value(enum setting setting, const char *value, bool from_policy,
                       struct migration_config *config, struct err *err)
{
    OWNED_TEXT json = document(rows[setting].name, value);
    uint64_t set = 0;
    bool ok = read_text(json, from_policy, config, &set, err);
    assert_true(set == (ok ? UINT64_C(1) << setting : 0));
    return ok;
}

static bool is_taken(enum setting setting, const char *value)
{
    struct migration_config config;
    struct err err = {0};
    migration_config_default(&config);
    bool taken = read_value(setting, value, false, &config, &err);
    if (!taken) {
        assert_int_equal(err.code, ERR_UNPROCESSABLE);
        assert_true(text_has_prefix(err.text, "migrations."));
        assert_non_null(strstr(err.text, rows[setting].name));
    }
    return taken;
}

/* A value that is not the default, as JSON. */
static void other_value(enum setting setting, char out[static 32])
{
    const struct row *row = &rows[setting];
    switch (row->type) {
    case T_BOOL: (void)snprintf(out, 32, "%s", row->fallback > 0 ? "false" : "true"); break;
    case T_COUNT:
    case T_BYTES: (void)snprintf(out, 32, "%.0f", row->high - 1); break;
    case T_REAL: (void)snprintf(out, 32, "%.3f", (row->low + row->high) / 2 + 0.125); break;
    case T_WORD:
        (void)snprintf(out, 32, "%s",
                       setting == SETTING_monitor || setting == SETTING_shadow ? "\"legacy\""
                                                                               : "\"mt\"");
    }
}

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    struct migration_config config;
    memset(&config, 0xFF, sizeof config);
    migration_config_default(&config);
    assert_false(config.disruption_set);
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
        assert_true(value_of(&config, setting) == rows[setting].fallback);
    /* KubeVirt's, so that nobody changes a row by accident. */
    assert_int_equal(config.completion_timeout, 150);
    assert_int_equal(config.progress_timeout, 150);
    assert_int_equal(config.max_downtime_ms, 900);
    assert_int_equal(config.utility_volumes_timeout, 150);
    assert_int_equal(config.downtime_initial_ms, 150);
    assert_int_equal(config.downtime_steps, 7);
    assert_int_equal(config.downtime_after, 3);
    assert_int_equal(config.downtime_cooldown, 10);
    assert_int_equal(config.stall_margin, 4);
    assert_int_equal(config.stall_timeout, 40);
    assert_int_equal(config.switchover_timeout, 60);
    assert_true(config.ewma_alpha == 0.4);
    assert_true(config.precopy_factor == 1.5);
    assert_true(config.patience_decay == 0.5);
    assert_true(config.local_minima);
    assert_true(config.completion_factor == 2);
    assert_int_equal(config.monitor, MONITOR_STALL);
    assert_int_equal(config.compression, COMPRESSION_NONE);
}

/* Law: reading one setting changes that one and no other, and freezing keeps it. */
static void each_setting_is_read_alone_and_survives_freezing(void **state)
{
    (void)state;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++) {
        struct migration_config config, thawed;
        struct err err = {0};
        char value[32];
        migration_config_default(&config);
        other_value(setting, value);
        print_message("%s: %s\n", setting_name(setting), value);
        assert_string_equal(setting_name(setting), rows[setting].name);
        assert_true(read_value(setting, value, false, &config, &err));
        for (enum setting other = 0; other < SETTING_COUNT; other++)
            assert_int_equal(value_of(&config, other) != rows[other].fallback, other == setting);
        assert_int_equal(config.disruption_set, setting == SETTING_disruption);
        OWNED(json_object) frozen = migration_config_json(&config);
        migration_config_restore(json_object_to_json_string(frozen), &thawed);
        for (enum setting other = 0; other < SETTING_COUNT; other++) {
            assert_non_null(json_at(frozen, rows[other].name));
            assert_true(value_of(&thawed, other) == value_of(&config, other));
        }
    }
}

/* Law: both ends of a range are in it, and what lies beyond is not. */
static void each_number_has_its_bounds(void **state)
{
    (void)state;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++) {
        const struct row *row = &rows[setting];
        if (row->type == T_BOOL || row->type == T_WORD)
            continue;
        double step = row->type == T_REAL ? 0.001 : 1;
        const double values[] = {row->low - step, row->low, row->high, row->high + step};
        for (size_t i = 0; i < COUNT(values); i++) {
            char value[32];
            (void)snprintf(value, sizeof value, row->type == T_REAL ? "%.3f" : "%.0f", values[i]);
            print_message("%s: %s\n", row->name, value);
            assert_int_equal(is_taken(setting, value), i == 1 || i == 2);
        }
    }
}

/* Law: a value of another type is refused, whatever it is. */
static void each_setting_refuses_other_types(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool taken[5]; /* by type */
    } values[] = {
        {"[]", {0}},
        {"{}", {0}},
        {"\"\"", {0}},
        {"\"x\"", {0}},
        {"true", {[T_BOOL] = true}},
        {"1", {[T_COUNT] = true, [T_BYTES] = true, [T_REAL] = true}},
        {"1.0", {[T_REAL] = true}},
        {"\"1\"", {[T_BYTES] = true, [T_REAL] = true}},
        {"\"1Mi\"", {[T_BYTES] = true}},
        {"99999999999999999999", {0}},
        {"18446744073709551615", {0}},
        {"-9223372036854775808", {0}},
        {"1e300", {0}},
        {"-1", {0}},
        {"\"-1\"", {0}},
        {"\"9999E\"", {0}},
    };
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
        for (size_t i = 0; i < COUNT(values); i++) {
            print_message("%s: %s\n", rows[setting].name, values[i].value);
            assert_int_equal(is_taken(setting, values[i].value),
                             values[i].taken[rows[setting].type]);
        }
}

/* Law: null says nothing, also about a whole group. */
static void null_is_not_said(void **state)
{
    (void)state;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++) {
        OWNED_TEXT json = document(rows[setting].name, "null");
        struct migration_config config;
        struct err err = {0};
        uint64_t set = 1;
        migration_config_default(&config);
        assert_true(read_text(json, false, &config, &set, &err));
        assert_int_equal(set, 0);
        assert_false(config.disruption_set);
    }
    struct migration_config config;
    struct err err = {0};
    migration_config_default(&config);
    assert_true(read_text("{\"experimental\":null}", true, &config, NULL, &err));
    assert_true(migration_config_read(NULL, true, NULL, &config, NULL, &err));
}

/* Law: a policy may set what its row allows and nothing else. */
static void a_policy_sets_only_what_it_may(void **state)
{
    (void)state;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++) {
        struct migration_config config;
        struct err err = {0};
        char value[32];
        migration_config_default(&config);
        other_value(setting, value);
        assert_int_equal(read_value(setting, value, true, &config, &err), rows[setting].policy);
        if (!rows[setting].policy)
            assert_non_null(strstr(err.text, "only the fleet's configuration may set this"));
    }
    assert_false(rows[SETTING_progress_timeout].policy);
    assert_false(rows[SETTING_utility_volumes_timeout].policy);
    assert_false(rows[SETTING_unsafe].policy);
    assert_false(rows[SETTING_no_tls].policy);
    assert_true(rows[SETTING_bandwidth].policy);
}

static void quantities_and_words_are_understood(void **state)
{
    (void)state;
    struct migration_config config;
    struct err err = {0};
    migration_config_default(&config);
    assert_true(
        read_text("{\"selectors\":7,\"bandwidthPerMigration\":\"64Mi\",\"monitor\":\"legacy\","
                  "\"experimental\":{\"compression\":\"zstd\","
                  "\"stallDetector\":{\"ewmaAlpha\":\"0.25\",\"stallMargin\":0}}}",
                  true, &config, NULL, &err));
    assert_int_equal(config.bandwidth, 64 * 1024 * 1024);
    assert_int_equal(config.monitor, MONITOR_LEGACY);
    assert_int_equal(config.compression, COMPRESSION_ZSTD);
    assert_true(config.ewma_alpha == 0.25);
    assert_int_equal(config.stall_margin, 0);
    static const char *const packed[] = {"\"none\"", "\"zstd\"", "\"xbzrle\"", "\"mt\""};
    for (int i = 0; i < (int)COUNT(packed); i++) {
        assert_true(read_value(SETTING_compression, packed[i], true, &config, &err));
        assert_int_equal(config.compression, i);
    }
    assert_int_equal(COUNT(packed), rows[SETTING_compression].low);
    assert_int_equal(rows[SETTING_monitor].low, 2);
}

static const struct {
    const char *json, *said;
} refused[] = {
    {"[]", "spec: expected an object"},
    {"7", "spec: expected an object"},
    {"{\"maxDowntimeMs\":0}", "spec.maxDowntimeMs: 0 is below 1"},
    {"{\"maxDowntimeMs\":2000001}", "spec.maxDowntimeMs: 2000001 is above 2000000"},
    {"{\"maxDowntimeMs\":-1}", "spec.maxDowntimeMs: must not be negative"},
    {"{\"completionTimeoutPerGiB\":-1}", "spec.completionTimeoutPerGiB: must not be negative"},
    {"{\"bandwidthPerMigration\":-1}", "spec.bandwidthPerMigration: must not be negative"},
    {"{\"bandwidthPerMigration\":\"-1Mi\"}", "spec.bandwidthPerMigration: must not be negative"},
    {"{\"bandwidthPerMigration\":\"fast\"}",
     "spec.bandwidthPerMigration: \"fast\" is not a quantity"},
    {"{\"allowPostCopy\":\"yes\"}", "spec.allowPostCopy: expected true or false"},
    {"{\"maxDowntimeMs\":1.5}", "spec.maxDowntimeMs: expected a whole number"},
    {"{\"monitor\":\"best\"}", "spec.monitor: \"best\" is not one of stall, legacy"},
    {"{\"monitor\":1}", "spec.monitor: expected one of stall, legacy"},
    {"{\"experimental\":{\"compression\":\"gzip\"}}",
     "spec.experimental.compression: \"gzip\" is not one of none, zstd, xbzrle, mt"},
    {"{\"experimental\":{\"stallDetector\":{\"ewmaAlpha\":0.4001}}}",
     "spec.experimental.stallDetector.ewmaAlpha: expected a number of at most 3 decimals"},
    {"{\"experimental\":{\"stallDetector\":{\"ewmaAlpha\":\"0.4001\"}}}",
     "spec.experimental.stallDetector.ewmaAlpha: expected a number of at most 3 decimals"},
    {"{\"experimental\":{\"stallDetector\":{\"ewmaAlpha\":\"400m\"}}}",
     "spec.experimental.stallDetector.ewmaAlpha: expected a number of at most 3 decimals"},
    {"{\"experimental\":{\"stallDetector\":{\"ewmaAlpha\":0}}}",
     "spec.experimental.stallDetector.ewmaAlpha: 0 is below 0.001"},
    {"{\"experimental\":7}", "spec.experimental: expected an object"},
    {"{\"experimental\":[]}", "spec.experimental: expected an object"},
    {"{\"experimental\":{\"stallDetector\":true}}",
     "spec.experimental.stallDetector: expected an object"},
    {"{\"experimental\":{\"stallDetector\":{},\"downtimeTuning\":{}}}",
     "spec.experimental: stallDetector and downtimeTuning exclude each other"},
    {"{\"experimental\":{\"downtimeTuning\":{\"steps\":3},\"stallDetector\":{\"stallMargin\":3}}}",
     "spec.experimental: stallDetector and downtimeTuning exclude each other"},
    {"{\"allowPostcopy\":true}", "spec.allowPostcopy: unknown field; did you mean allowPostCopy?"},
    {"{\"experimental\":{\"compresion\":\"zstd\"}}",
     "spec.experimental.compresion: unknown field; did you mean experimental.compression?"},
    {"{\"experimental\":{\"selectors\":{}}}", "spec.experimental.selectors: unknown field"},
    {"{\"experimental.compression\":\"zstd\"}", "spec.experimental.compression: unknown field"},
    {"{\"experimental\":{\"stallDetector.stallMargin\":1}}",
     "spec.experimental.stallDetector.stallMargin: unknown field"},
    {"{\"\":1}", "spec.: unknown field"},
    {"{\"parallelMigrationsPerCluster\":5}", "spec.parallelMigrationsPerCluster: unknown field"},
};

static void what_is_wrong_is_refused_with_its_path_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(refused); i++) {
        struct migration_config config, before;
        struct err err = {0};
        uint64_t set = 77;
        memset(&config, 0, sizeof config);
        migration_config_default(&config);
        memcpy(&before, &config, sizeof config);
        assert_false(read_text(refused[i / 2].json, i % 2 == 0, &config, &set, &err));
        assert_int_equal(err.code, ERR_UNPROCESSABLE);
        const char *root = i % 2 == 0 ? "spec" : "migrations"; /* of a policy, of the file */
        const char *said = refused[i / 2].said + strlen("spec");
        if (!text_has_prefix(err.text, root) || !text_has_prefix(err.text + strlen(root), said))
            fail_msg("%s: %s", refused[i / 2].json, err.text);
        assert_int_equal(set, 77);
        for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
            assert_true(value_of(&config, setting) == value_of(&before, setting));
        assert_int_equal(config.disruption_set, before.disruption_set);
    }
}

static void one_wrong_field_spoils_the_right_ones_before_it(void **state)
{
    (void)state;
    struct migration_config config;
    struct err err = {0};
    migration_config_default(&config);
    assert_false(read_text("{\"maxDowntimeMs\":5,\"allowWorkloadDisruption\":true,\"x\":1}", true,
                           &config, NULL, &err));
    assert_int_equal(config.max_downtime_ms, 900);
    assert_false(config.disruption_set);
}

static void names_without_end_are_refused(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    buf_add(&buf, "{\"experimental\":{\"");
    for (int i = 0; i < 10000; i++)
        buf_add(&buf, "stallDetector");
    buf_add(&buf, "\":1}}");
    OWNED_TEXT json = buf_take(&buf);
    struct migration_config config;
    struct err err = {0};
    migration_config_default(&config);
    assert_false(read_text(json, true, &config, NULL, &err));
    assert_non_null(strstr(err.text, "unknown field"));
}

/* Law: the overlay copies the settings it is told to, and no other. */
static void an_overlay_copies_what_is_set(void **state)
{
    (void)state;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++) {
        struct migration_config config, values;
        struct err err = {0};
        migration_config_default(&config);
        migration_config_default(&values);
        for (enum setting other = 0; other < SETTING_COUNT; other++) {
            char value[32];
            other_value(other, value);
            assert_true(read_value(other, value, false, &values, &err));
        }
        migration_config_overlay(&config, &values, 0);
        for (enum setting other = 0; other < SETTING_COUNT; other++)
            assert_true(value_of(&config, other) == rows[other].fallback);
        migration_config_overlay(&config, &values, UINT64_C(1) << setting);
        for (enum setting other = 0; other < SETTING_COUNT; other++)
            assert_int_equal(value_of(&config, other) == value_of(&values, other),
                             other == setting);
    }
}

static void thawing_takes_anything(void **state)
{
    (void)state;
    static const char *const texts[] = {NULL,
                                        "",
                                        "{",
                                        "[]",
                                        "7",
                                        "null",
                                        "{}",
                                        "{\"later\":{\"deep\":[1]},\"maxDowntimeMs\":\"x\"}",
                                        "{\"experimental\":7}",
                                        "{\"monitor\":\"of tomorrow\"}",
                                        "{\"maxDowntimeMs\":-5}"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct migration_config config;
        migration_config_restore(texts[i], &config);
        for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
            assert_true(value_of(&config, setting) == rows[setting].fallback);
    }
    struct migration_config config;
    migration_config_restore("{\"monitor\":\"?\",\"maxDowntimeMs\":5}", &config);
    assert_int_equal(config.max_downtime_ms, 5);
}

static void a_factor_is_shown_as_it_was_written(void **state)
{
    (void)state;
    struct migration_config config;
    migration_config_default(&config);
    OWNED(json_object) json = migration_config_json(&config);
    const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
    assert_non_null(strstr(text, "\"ewmaAlpha\":0.4,"));
}

TEST_FILE(test_migration_config)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(each_setting_is_read_alone_and_survives_freezing),
        cmocka_unit_test(each_number_has_its_bounds),
        cmocka_unit_test(each_setting_refuses_other_types),
        cmocka_unit_test(null_is_not_said),
        cmocka_unit_test(a_policy_sets_only_what_it_may),
        cmocka_unit_test(quantities_and_words_are_understood),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_path_and_changes_nothing),
        cmocka_unit_test(one_wrong_field_spoils_the_right_ones_before_it),
        cmocka_unit_test(names_without_end_are_refused),
        cmocka_unit_test(an_overlay_copies_what_is_set),
        cmocka_unit_test(thawing_takes_anything),
        cmocka_unit_test(a_factor_is_shown_as_it_was_written),
    };
    return cmocka_run_group_tests_name("migration_config", tests, NULL, NULL);
}
