/* check.c - a page written with LIBPROM=system: well formed, with every sample that Ferry's own
 * renderer writes, hard label values and histograms included. Linked against stub.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/prom/promx.h"
#include "tests/page_check.h"

static prom_collector_registry_t *busy_registry(void)
{
    const char *keys[] = {"name", "node"}, *hard[] = {"we\"ird\\na\nme,=\"}", "a"},
               *b[] = {"", "b"};
    prom_collector_registry_t *registry = prom_collector_registry_new("test");
    prom_collector_t *collector = prom_collector_new("own");
    prom_counter_t *counter = prom_counter_new("c_total", "C.", 2, keys);
    prom_gauge_t *gauge = prom_gauge_new("g", "G.", 0, NULL);
    prom_histogram_t *histogram = prom_histogram_new("h", "H.", NULL, 2, keys);
    assert_int_equal(prom_collector_add_metric(collector, counter), 0);
    assert_int_equal(prom_collector_add_metric(collector, histogram), 0);
    assert_int_equal(prom_collector_add_metric(collector, gauge), 0);
    assert_int_equal(prom_collector_registry_register_collector(registry, collector), 0);
    assert_int_equal(prom_counter_add(counter, 3, hard), 0);
    assert_int_equal(promx_metric_touch(counter, b), 0);
    assert_int_equal(prom_gauge_set(gauge, -7, NULL), 0);
    assert_int_equal(prom_histogram_observe(histogram, .3, hard), 0);
    return registry;
}

static void a_page_by_libprom_holds_what_ours_holds(void **state)
{
    (void)state;
    prom_collector_registry_t *registry = busy_registry();
    struct promx_page text, open;
    promx_page_init(&text, PROMX_TEXT, 1 << 20);
    promx_page_init(&open, PROMX_OPENMETRICS, 1 << 20);
    promx_registry_render(registry, &text);
    promx_registry_render(registry, &open); /* this one is always ours */
    promx_page_end(&open);
    struct page_totals as_text, as_open;
    char why[256];
    if (!prom_page_check(text.out.data, false, &as_text, why, sizeof why) ||
        !prom_page_check(open.out.data, true, &as_open, why, sizeof why))
        fail_msg("%s", why);
    assert_int_equal(as_text.samples, as_open.samples);
    char *rest = text.out.data;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '#')
            assert_non_null(strstr(open.out.data, line));
    buf_fini(&text.out);
    buf_fini(&open.out);
    prom_collector_registry_destroy(registry);
}

/* The order tells who wrote it: libprom's families come first, then the histograms. */
static void libprom_wrote_the_counters(void **state)
{
    (void)state;
    prom_collector_registry_t *registry = busy_registry();
    struct promx_page text;
    promx_page_init(&text, PROMX_TEXT, 1 << 20);
    promx_registry_render(registry, &text);
    assert_true(strstr(text.out.data, "# TYPE g ") < strstr(text.out.data, "# TYPE h "));
    buf_fini(&text.out);
    prom_collector_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_by_libprom_holds_what_ours_holds),
        cmocka_unit_test(libprom_wrote_the_counters),
    };
    return cmocka_run_group_tests_name("libprom", tests, NULL, NULL);
}
