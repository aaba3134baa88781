/* test_prom.c - the prom_* functions: what a page looks like, what is refused, who may race. */
#include "tests/test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "exporter/prom/promx.h"

static const char *one_label[] = {"x"};

static char *value_text(double value)
{
    struct buf out;
    buf_init(&out, 1024);
    promx_add_value(&out, value);
    return buf_take(&out);
}

static const struct number {
    double value;
    const char *text;
} numbers[] = {
    {0, "0"},
    {-0.0, "0"},
    {1, "1"},
    {-1, "-1"},
    {1e6, "1000000"},
    {123456789012, "123456789012"},
    {9007199254740992.0, "9007199254740992"},
    {-9007199254740992.0, "-9007199254740992"},
    {1e300, "1e+300"},
    {0.1, "0.1"},
    {-0.25, "-0.25"},
    {0.001, "0.001"},
    {12.05, "12.05"},
    {1763269659.123, "1763269659.123"},
    {0.0001, "0.0001"},
    {1e-9, "1e-09"},
    {1.0 / 3, "0.3333333333333333"},
    {0.1 + 0.2, "0.30000000000000004"},
    {NAN, "NaN"},
    {-NAN, "NaN"},
    {INFINITY, "+Inf"},
    {-INFINITY, "-Inf"},
    {5e-324, "4.94065645841247e-324"},
};

static void numbers_are_written_plainly(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++) {
        OWNED_TEXT text = value_text(numbers[i].value);
        assert_string_equal(text, numbers[i].text);
    }
}

static void every_number_reads_back_as_itself(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252ULL;
    for (int i = 0; i < 200000; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        double value;
        if (i % 3 == 0)
            value = (double)(int64_t)(seed >> 20) / 1000;
        else if (i % 3 == 1)
            value = (double)(seed % 100000000) / 100000 * (i % 2 == 0 ? 1 : -1);
        else
            memcpy(&value, &seed, sizeof value);
        OWNED_TEXT text = value_text(value);
        assert_true(isnan(value) ? strcmp(text, "NaN") == 0 : strtod(text, NULL) == value);
    }
}

static void every_byte_survives_as_a_label_value(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        const char raw[] = {'a', (char)c, 'z', '\0'};
        struct buf out;
        buf_init(&out, 64);
        promx_add_label_value(&out, raw);
        char want[16];
        if (c == '\\' || c == '"')
            (void)snprintf(want, sizeof want, "a\\%cz", c);
        else if (c == '\n')
            (void)snprintf(want, sizeof want, "a\\nz");
        else if (c >= 0x80)
            (void)snprintf(want, sizeof want, "a\xef\xbf\xbdz");
        else
            (void)snprintf(want, sizeof want, "a%cz", c);
        assert_string_equal(out.data, want);
        buf_fini(&out);
    }
}

static const struct utf8 {
    const char *raw, *want;
} utf8[] = {
    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
    {"\xe2\x82\xac\xf0\x9f\x9b\xb3", "\xe2\x82\xac\xf0\x9f\x9b\xb3"},
    {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
    {"", ""},
};

static void only_well_formed_utf8_is_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(utf8); i++) {
        struct buf out;
        buf_init(&out, 64);
        promx_add_label_value(&out, utf8[i].raw);
        OWNED_TEXT text = buf_take(&out);
        assert_string_equal(text, utf8[i].want);
    }
}

static void malformed_names_make_no_metric(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "1a", "a-b", "a b", "\xc3\xbc", "a\n", NULL};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_null(prom_gauge_new(bad[i], "help", 0, NULL));
    static const char *const bad_labels[] = {"", "1a", "a:b", "a-b", "__name__", NULL};
    for (size_t i = 0; i < COUNT(bad_labels); i++) {
        const char *keys[] = {bad_labels[i]};
        assert_null(prom_gauge_new("a", "help", 1, keys));
    }
    const char *twice[] = {"x", "y", "x"}, *le[] = {"le"};
    assert_null(prom_gauge_new("a", "help", 3, twice));
    assert_null(prom_gauge_new("a", NULL, 0, NULL));
    assert_null(prom_gauge_new("a", "help", PROMX_LABELS_MAX + 1, twice));
    assert_null(prom_histogram_new("a", "help", NULL, 1, le));
    prom_gauge_t *fine = prom_gauge_new("a:b_1", "help", 1, le);
    assert_non_null(fine);
    prom_gauge_destroy(fine);
}

/* A registry with one metric in it, and its page. */
static prom_collector_registry_t *registry_with(prom_metric_t *metric)
{
    prom_collector_registry_t *registry = prom_collector_registry_new("test");
    prom_collector_t *collector = prom_collector_new("own");
    assert_int_equal(prom_collector_add_metric(collector, metric), 0);
    assert_int_equal(prom_collector_registry_register_collector(registry, collector), 0);
    return registry;
}

static void assert_page(prom_collector_registry_t *registry, const char *want)
{
    const char *page = prom_collector_registry_bridge(registry);
    assert_non_null(page);
    assert_string_equal(page, want);
    free((char *)(uintptr_t)page);
}

static void a_gauge_goes_up_and_down(void **state)
{
    (void)state;
    prom_gauge_t *gauge = prom_gauge_new("g", "A \\ help\nof two \"lines\".", 1, one_label);
    prom_collector_registry_t *registry = registry_with(gauge);
    const char *a[] = {"a\"\\\n"}, *b[] = {"b"}, *gone[] = {NULL};
    assert_int_equal(prom_gauge_set(gauge, 2.5, a), 0);
    assert_int_equal(prom_gauge_inc(gauge, b), 0);
    assert_int_equal(prom_gauge_add(gauge, -3, b), 0);
    assert_int_equal(prom_gauge_sub(gauge, 1, b), 0);
    assert_int_equal(prom_gauge_dec(gauge, b), 0);
    assert_int_equal(prom_gauge_set(gauge, 1, gone), 1);
    assert_int_equal(prom_gauge_set(gauge, 1, NULL), 1);
    assert_int_equal(prom_counter_inc(gauge, b), 1);
    assert_page(registry, "# HELP g A \\\\ help\\nof two \"lines\".\n# TYPE g gauge\n"
                          "g{x=\"a\\\"\\\\\\n\"} 2.5\ng{x=\"b\"} -4\n");
    prom_collector_registry_destroy(registry);
}

static void a_counter_never_goes_down(void **state)
{
    (void)state;
    prom_counter_t *counter = prom_counter_new("c_total", "C.", 0, NULL);
    prom_collector_registry_t *registry = registry_with(counter);
    assert_int_equal(prom_counter_add(counter, -1, NULL), 1);
    assert_int_equal(prom_counter_add(counter, NAN, NULL), 1);
    assert_int_equal(promx_metric_series(counter), 0); /* a refusal makes no series */
    assert_int_equal(prom_counter_inc(counter, NULL), 0);
    assert_int_equal(prom_counter_add(counter, 1.5, NULL), 0);
    assert_int_equal(promx_counter_set(counter, 2, NULL), 1);
    assert_int_equal(promx_counter_set(counter, 7, NULL), 0);
    assert_int_equal(promx_counter_set(counter, NAN, NULL), 1);
    prom_metric_sample_t *sample = prom_metric_sample_from_labels(counter, NULL);
    assert_int_equal(prom_metric_sample_add(sample, 1), 0);
    assert_int_equal(prom_metric_sample_add(sample, -1), 1);
    assert_int_equal(prom_metric_sample_sub(sample, 1), 1);
    assert_int_equal(prom_metric_sample_set(sample, 1), 1);
    assert_page(registry, "# HELP c_total C.\n# TYPE c_total counter\nc_total 8\n");
    prom_collector_registry_destroy(registry);
}

static void a_histogram_has_buckets_with_the_right_names(void **state)
{
    (void)state;
    prom_histogram_t *h = prom_histogram_new(
        "h_seconds", "H.", prom_histogram_buckets_new(3, 0.1, 1.0, 2.5), 1, one_label);
    prom_collector_registry_t *registry = registry_with(h);
    const char *a[] = {"a"}, *b[] = {"b"};
    assert_int_equal(promx_metric_touch(h, b), 0);
    const double seen[] = {0.05, 0.1, 0.5, 2, 99};
    for (size_t i = 0; i < COUNT(seen); i++)
        assert_int_equal(prom_histogram_observe(h, seen[i], a), 0);
    assert_int_equal(prom_histogram_observe(h, NAN, a), 1);
    assert_null(prom_metric_sample_from_labels(h, a));
    assert_page(registry, "# HELP h_seconds H.\n# TYPE h_seconds histogram\n"
                          "h_seconds_bucket{x=\"b\",le=\"0.1\"} 0\n"
                          "h_seconds_bucket{x=\"b\",le=\"1.0\"} 0\n"
                          "h_seconds_bucket{x=\"b\",le=\"2.5\"} 0\n"
                          "h_seconds_bucket{x=\"b\",le=\"+Inf\"} 0\n"
                          "h_seconds_sum{x=\"b\"} 0\nh_seconds_count{x=\"b\"} 0\n"
                          "h_seconds_bucket{x=\"a\",le=\"0.1\"} 2\n"
                          "h_seconds_bucket{x=\"a\",le=\"1.0\"} 3\n"
                          "h_seconds_bucket{x=\"a\",le=\"2.5\"} 4\n"
                          "h_seconds_bucket{x=\"a\",le=\"+Inf\"} 5\n"
                          "h_seconds_sum{x=\"a\"} 101.65\nh_seconds_count{x=\"a\"} 5\n");
    prom_collector_registry_destroy(registry);
}

static void a_histogram_without_labels_has_only_le(void **state)
{
    (void)state;
    prom_histogram_t *h =
        prom_histogram_new("h", "H.", prom_histogram_buckets_new(1, 1.0), 0, NULL);
    prom_collector_registry_t *registry = registry_with(h);
    assert_int_equal(prom_histogram_observe(h, INFINITY, NULL), 0);
    assert_page(registry, "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"1.0\"} 0\n"
                          "h_bucket{le=\"+Inf\"} 1\nh_sum +Inf\nh_count 1\n");
    prom_collector_registry_destroy(registry);
}

static void buckets_must_ascend(void **state)
{
    (void)state;
    assert_null(prom_histogram_buckets_new(0, 1.0));
    assert_null(prom_histogram_buckets_new(2, 1.0, 1.0));
    assert_null(prom_histogram_buckets_new(2, 1.0, INFINITY));
    assert_null(prom_histogram_buckets_linear(0, -1, 3));
    assert_null(prom_histogram_buckets_exponential(1, 1, 3));
    assert_null(prom_histogram_buckets_exponential(0, 2, 3));
    assert_null(prom_histogram_buckets_linear(0, 1, PROMX_BUCKETS_MAX + 1));
    prom_histogram_buckets_t *b = prom_histogram_buckets_exponential(0.5, 2, 10);
    assert_int_equal(prom_histogram_buckets_count(b), 10);
    prom_histogram_buckets_destroy(b);
}

static void one_page_never_names_a_sample_twice(void **state)
{
    (void)state;
    prom_collector_registry_t *registry =
        registry_with(prom_histogram_new("h", "H.", NULL, 0, NULL));
    static const struct {
        const char *name;
        int refused;
    } rows[] = {{"h", 1}, {"h_count", 1}, {"h_sum", 1}, {"h_bucket", 1}, {"h_total", 0}, {"hh", 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        prom_collector_t *collector = prom_collector_new(rows[i].name);
        prom_metric_t *metric = prom_gauge_new(rows[i].name, "X.", 0, NULL);
        assert_int_equal(prom_collector_add_metric(collector, metric), 0);
        assert_int_equal(prom_collector_registry_register_collector(registry, collector),
                         rows[i].refused);
        if (rows[i].refused)
            prom_collector_destroy(collector);
        else
            assert_int_equal(prom_collector_registry_register_collector(registry, collector), 1);
    }
    prom_collector_registry_destroy(registry);
}

static void the_default_registry_takes_metrics(void **state)
{
    (void)state;
    prom_gauge_t *gauge = prom_gauge_new("d", "D.", 0, NULL);
    assert_int_equal(prom_collector_registry_register_metric(gauge), 1); /* not there yet */
    assert_int_equal(prom_collector_registry_default_init(), 0);
    assert_int_equal(prom_collector_registry_default_init(), 0);
    assert_ptr_equal(prom_collector_registry_must_register_metric(gauge), gauge);
    assert_int_equal(prom_gauge_set(gauge, 3, NULL), 0);
    assert_page(PROM_COLLECTOR_REGISTRY_DEFAULT, "# HELP d D.\n# TYPE d gauge\nd 3\n");
    prom_gauge_t *again = prom_gauge_new("d", "D.", 0, NULL);
    assert_int_equal(prom_collector_registry_register_metric(again), 1);
    prom_gauge_destroy(again);
    prom_collector_registry_destroy(PROM_COLLECTOR_REGISTRY_DEFAULT);
    assert_null(PROM_COLLECTOR_REGISTRY_DEFAULT);
}

static void deleted_series_are_gone_and_the_rest_stays(void **state)
{
    (void)state;
    prom_gauge_t *gauge = prom_gauge_new("g", "G.", 1, one_label);
    char text[16];
    const char *values[] = {text};
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        assert_int_equal(prom_gauge_set(gauge, i, values), 0);
    }
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        if (i % 1000 != 7)
            assert_int_equal(promx_metric_delete(gauge, values), 0);
    }
    assert_int_equal(promx_metric_delete(gauge, values), 1);
    prom_collector_registry_t *registry = registry_with(gauge);
    assert_page(registry, "# HELP g G.\n# TYPE g gauge\n"
                          "g{x=\"7\"} 7\ng{x=\"1007\"} 1007\ng{x=\"2007\"} 2007\n");
    assert_int_equal(promx_metric_clear(gauge), 0);
    assert_page(registry, "# HELP g G.\n# TYPE g gauge\n");
    prom_collector_registry_destroy(registry);
}

static void a_metric_has_a_limit_of_series(void **state)
{
    (void)state;
    prom_counter_t *counter = prom_counter_new("c_total", "C.", 1, one_label);
    char text[16];
    const char *values[] = {text};
    for (int i = 0; i < PROMX_SERIES_MAX; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        assert_int_equal(prom_counter_inc(counter, values), 0);
    }
    (void)snprintf(text, sizeof text, "one more");
    assert_int_equal(prom_counter_inc(counter, values), 1);
    assert_null(prom_metric_sample_from_labels(counter, values));
    (void)snprintf(text, sizeof text, "0");
    assert_int_equal(prom_counter_inc(counter, values), 0); /* those it has go on */
    prom_counter_destroy(counter);
}

struct race {
    prom_collector_registry_t *registry;
    prom_metric_t *gauge, *counter, *histogram;
};

enum { RACE_ROUNDS = 2000 };

static void *write_series(void *arg)
{
    struct race *race = arg;
    char text[16];
    const char *values[] = {text}, *fixed[] = {"fixed"};
    for (int i = 0; i < RACE_ROUNDS; i++) {
        (void)snprintf(text, sizeof text, "%d", i % 50);
        (void)prom_gauge_set(race->gauge, i, values);
        (void)prom_counter_inc(race->counter, fixed);
        (void)prom_histogram_observe(race->histogram, i, fixed);
        (void)promx_metric_delete(race->gauge, values);
    }
    return NULL;
}

static void *scrape(void *arg)
{
    struct race *race = arg;
    for (int i = 0; i < RACE_ROUNDS / 10; i++)
        free((char *)(uintptr_t)prom_collector_registry_bridge(race->registry));
    return NULL;
}

static void scrapers_and_writers_run_concurrently(void **state)
{
    (void)state;
    struct race race = {prom_collector_registry_new("race"),
                        prom_gauge_new("g", "G.", 1, one_label),
                        prom_counter_new("c_total", "C.", 1, one_label),
                        prom_histogram_new("h", "H.", NULL, 1, one_label)};
    prom_collector_t *collector = prom_collector_new("own");
    assert_int_equal(prom_collector_registry_register_collector(race.registry, collector), 0);
    assert_int_equal(prom_collector_add_metric(collector, race.gauge), 0);
    assert_int_equal(prom_collector_add_metric(collector, race.counter), 0);
    assert_int_equal(prom_collector_add_metric(collector, race.histogram), 0);

    pthread_t threads[4];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? write_series : scrape, &race),
                         0);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    const char *fixed[] = {"fixed"};
    assert_int_equal(promx_counter_set(race.counter, 2 * RACE_ROUNDS - 1, fixed), 1);
    assert_int_equal(promx_counter_set(race.counter, 2 * RACE_ROUNDS, fixed), 0);
    assert_int_equal(promx_metric_series(race.gauge), 0);
    prom_collector_registry_destroy(race.registry);
}

TEST_FILE(test_prom)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_plainly),
        cmocka_unit_test(every_number_reads_back_as_itself),
        cmocka_unit_test(every_byte_survives_as_a_label_value),
        cmocka_unit_test(only_well_formed_utf8_is_written),
        cmocka_unit_test(malformed_names_make_no_metric),
        cmocka_unit_test(a_gauge_goes_up_and_down),
        cmocka_unit_test(a_counter_never_goes_down),
        cmocka_unit_test(a_histogram_has_buckets_with_the_right_names),
        cmocka_unit_test(a_histogram_without_labels_has_only_le),
        cmocka_unit_test(buckets_must_ascend),
        cmocka_unit_test(one_page_never_names_a_sample_twice),
        cmocka_unit_test(the_default_registry_takes_metrics),
        cmocka_unit_test(deleted_series_are_gone_and_the_rest_stays),
        cmocka_unit_test(a_metric_has_a_limit_of_series),
        cmocka_unit_test(scrapers_and_writers_run_concurrently),
    };
    return cmocka_run_group_tests_name("prom", tests, NULL, NULL);
}
