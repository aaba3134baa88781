/* test_metrics_formats.c - both formats of the page, judged by a strict reader; what a scrape asks
 * for by its headers; compression; KubeVirt's names. */
#include "tests/test.h"

#include <zlib.h>

#include "exporter/metrics/scrape.h"
#include "tests/page_check.h"
#include "tests/unit/test_metrics_pages.h"

/* ---- the reader itself ---- */

#define G "# HELP g G.\n# TYPE g gauge\n"
#define H "# HELP h H.\n# TYPE h histogram\n"
#define WHOLE "h_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n"
static const struct {
    const char *page;
    bool open;
    const char *complaint; /* "": none */
} pages[] = {
    {"", false, ""},
    {G "g 1\n", false, ""},
    {G "g{a=\"x\\\\\\\"\\n\"} 1\n", false, ""},
    {G "g{a=\"x\"} 1\ng{a=\"y\"} 1\ng{a=\"x\"} 2\n", false, "twice"},
    {G "g 1\n" G, false, "after its samples"},
    {G "g 1\n# HELP f F.\n# TYPE f gauge\nf 1\n" G "g{a=\"1\"} 1\n", false, "twice"},
    {G "g 1 1700000000\n", false, "timestamp"},
    {G "g{a=\"x\"y\"} 1\n", false, "labels"},
    {G "g{a=\"x\\q\"} 1\n", false, "labels"},
    {G "g -nan\n", false, "value"},
    {G "g 1", false, "does not end"},
    {"g 1\n", false, "before HELP"},
    {H WHOLE, false, ""},
    {H "h{le=\"1\"} 1\nh{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n", false, "no sample of a histogram"},
    {H "h_sum 3\nh_count 2\n", false, "without its buckets"},
    {H "h_bucket{le=\"1.0\"} 1\nh_sum 3\nh_count 1\n", false, "no bucket +Inf"},
    {H "h_bucket{le=\"+Inf\"} 1\nh_count 1\n", false, "lacks sum"},
    {H "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n", false, "not its bucket"},
    {H "h_bucket{le=\"2.0\"} 1\nh_bucket{le=\"1.0\"} 1\n", false, "bound"},
    {H "h_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} 1\n", false, "falls"},
    {G "g{le=\"1\"} 1\n", false, "outside of a histogram"},
    {G "g 1\n# EOF\n", true, ""},
    {G "g 1\n", true, "no end"},
    {G "g 1\n# EOF\n" G, true, "after the end"},
    {G "g 1\n# EOF\n", false, "an end"},
    {"# HELP c C.\n# TYPE c counter\nc_total 1 # {a=\"b\"} 1 17.5\nc_created 3\n# EOF\n", true, ""},
    {"# HELP c_total C.\n# TYPE c_total counter\nc_total 1\n# EOF\n", true, "not called"},
    {"# HELP c C.\n# TYPE c counter\nc 1\n# EOF\n", true, "no sample of a counter"},
    {G "g 1 # {a=\"b\"} 1 17.5\n# EOF\n", true, "exemplar"},
    {"# HELP g_seconds G.\n# TYPE g_seconds gauge\n# UNIT g_seconds bytes\n# EOF\n", true, "unit"},
};

static void the_reader_finds_each_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pages); i++) {
        struct page_totals totals;
        char why[256];
        bool fine = prom_page_check(pages[i].page, pages[i].open, &totals, why, sizeof why);
        if (fine != (pages[i].complaint[0] == '\0') || strstr(why, pages[i].complaint) == NULL)
            fail_msg("page %zu: '%s', not '%s'", i, why, pages[i].complaint);
    }
}

/* ---- the page ---- */

static void assert_fine(const char *page, bool open, struct page_totals *out_totals)
{
    char why[512];
    if (!prom_page_check(page, open, out_totals, why, sizeof why))
        fail_msg("%s", why);
}

static void the_page_is_well_formed_in_both_formats(void **state)
{
    (void)state;
    struct world *world = world_new(7);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT text = page_in(PROMX_TEXT, &world->snapshot, counters);
    OWNED_TEXT open = page_in(PROMX_OPENMETRICS, &world->snapshot, counters);
    struct page_totals as_text, as_open;
    assert_fine(text, false, &as_text);
    assert_fine(open, true, &as_open);
    assert_int_equal(as_text.families, as_open.families);
    assert_int_equal(as_text.samples, as_open.samples - as_open.created);
    assert_true(as_open.exemplars > 10 && as_open.created > 100);
    assert_int_equal(as_text.exemplars + as_text.created, 0);
    snapshot_unref(&world->snapshot);
}

/* The same samples, to the letter: a series does not change when a scraper changes its mind. */
static void every_sample_of_the_text_is_in_openmetrics(void **state)
{
    (void)state;
    struct world *world = world_new(7);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT text = page_in(PROMX_TEXT, &world->snapshot, counters);
    OWNED_TEXT open = page_in(PROMX_OPENMETRICS, &world->snapshot, counters);
    char *rest = text;
    size_t n = 0;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char wanted[1024];
        (void)snprintf(wanted, sizeof wanted, "\n%s", line);
        const char *found = *line == '#' || *line == '\0' ? "\n" : strstr(open, wanted);
        if (found == NULL)
            fail_msg("not in OpenMetrics: %s", line);
        n += *line != '#';
    }
    assert_true(n > 1000);
    snapshot_unref(&world->snapshot);
}

static void an_exemplar_names_the_migration(void **state)
{
    (void)state;
    struct world *world = world_new(7);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT open = page_in(PROMX_OPENMETRICS, &world->snapshot, counters);
    assert_non_null(strstr(
        open, "ferry_migrations_total{outcome=\"succeeded\",trigger=\"user\","
              "policy=\"\",managed_by=\"ferry\"} 1 # {uid=\"20000000-0000-4000-8000-000000000000\","
              "namespace=\"default\",migration=\"done\"} 1 1763269630.5\n"));
    struct snapshot_job job = world->jobs[0];
    memset(job.name, 'n', 200); /* too long for an exemplar */
    job.request.origin = ORIGIN_UPDATE;
    metrics_count_finished(counters, &job);
    OWNED_TEXT again = page_in(PROMX_OPENMETRICS, &world->snapshot, counters);
    assert_non_null(strstr(again, "trigger=\"live-update\",policy=\"\",managed_by=\"ferry\"} 1 # "
                                  "{uid=\"20000000-0000-4000-8000-000000000000\"} 1 "));
    struct page_totals totals;
    assert_fine(again, true, &totals);
    snapshot_unref(&world->snapshot);
}

static void no_two_families_share_a_name_in_openmetrics(void **state)
{
    (void)state;
    for (enum metric a = 0; a < METRIC_COUNT; a++)
        for (enum metric b = 0; b < a; b++) {
            const struct metric_row *x = metric_row(a), *y = metric_row(b);
            size_t n = promx_family_bytes(x->name, x->type);
            assert_false(n == promx_family_bytes(y->name, y->type) &&
                         strncmp(x->name, y->name, n) == 0);
        }
}

static void kubevirts_names_are_optional(void **state)
{
    (void)state;
    struct world *world = world_new(7);
    struct err err = {0};
    OWNED(metrics_counters) counters = metrics_counters_new(clock_system(), true, &err);
    metrics_count_step(counters, &world->jobs[0], PHASE_RUNNING, PHASE_SUCCEEDED, 30000);
    struct metrics_view view = {.version = "0.1.0", .snapshot = &world->snapshot, .kubevirt = true};
    world->guests[0].up = true;
    for (enum promx_format format = 0; format < PROMX_FORMATS; format++) {
        struct promx_page page;
        struct page_totals totals;
        promx_page_init(&page, format, EXPORTER_PAGE_MAX);
        metrics_render(&view, &page);
        metrics_counters_render(counters, &world->snapshot, &page);
        promx_page_end(&page);
        OWNED_TEXT text = buf_take(&page.out);
        assert_fine(text, format == PROMX_OPENMETRICS, &totals);
        static const char *const lines[] = {
            "# TYPE kubevirt_vmi_migration_data_bytes_total gauge\n",
            "\nkubevirt_vmi_migration_data_bytes_total{namespace=\"default\",name=\"vm2\","
            "node=\"a\"} 2147483648\n",
            "\nkubevirt_vmi_migration_end_time_seconds{node=\"b\",namespace=\"default\","
            "name=\"vm1\",migration_name=\"done\",status=\"succeeded\"} 1763269630.5\n",
            "\nkubevirt_vmi_migration_succeeded{vmi=\"vm1\",vmim=\"done\",namespace=\"default\"} "
            "1\n",
            "\nkubevirt_vmi_migrations_in_pending_phase 1\n",
            "\nkubevirt_vmi_migrations_in_running_phase 2\n",
            "\nkubevirt_vmi_migration_phase_transition_time_from_creation_seconds_bucket{"
            "phase=\"Succeeded\",le=\"40.0\"} 1",
            "\nkubevirt_vmi_non_evictable{node=\"b\",namespace=\"default\",name=\"vm1\"} ",
        };
        for (size_t i = 0; i < COUNT(lines); i++)
            if (strstr(text, lines[i]) == NULL)
                fail_msg("no line '%s'", lines[i]);
    }
    snapshot_unref(&world->snapshot);
}

static void a_page_has_no_kubevirt_names_by_default(void **state)
{
    (void)state;
    struct world *world = world_new(7);
    OWNED(metrics_counters) counters = busy_counters(world);
    OWNED_TEXT text = page_in(PROMX_TEXT, &world->snapshot, counters);
    assert_null(strstr(text, "kubevirt_"));
    snapshot_unref(&world->snapshot);
}

/* ---- what is asked for ---- */

#define OM "application/openmetrics-text"
static const struct {
    const char *accept, *encoding;
    enum promx_format format;
    bool gzip;
} requests[] = {
    {NULL, NULL, PROMX_TEXT, false},
    {"", "", PROMX_TEXT, false},
    {"*/*", "identity", PROMX_TEXT, false},
    {OM ";version=1.0.0," OM ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     "gzip", PROMX_OPENMETRICS, true}, /* Prometheus 2.42 */
    {OM "; version=1.0.0; charset=utf-8", "GZIP;q=1.0", PROMX_OPENMETRICS, true},
    {OM, "deflate, gzip;q=0.5", PROMX_OPENMETRICS, true},
    {OM ";version=\"1.0.0\"", "br", PROMX_OPENMETRICS, false},
    {OM ";version=0.0.1", "gzip;q=0", PROMX_TEXT, false},
    {OM ";q=0", "*", PROMX_TEXT, true},
    {OM ";q=0.3,text/plain;q=0.6", "*;q=0", PROMX_TEXT, false},
    {OM ";q=0.6,text/plain;q=0.3", "*;q=0, gzip", PROMX_OPENMETRICS, true},
    {"text/plain", "x-gzip", PROMX_TEXT, true},
    {"application/json", ",,;q=,gzip;;q=9", PROMX_TEXT, false},
};

static void each_scraper_gets_the_negotiated_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        struct scrape_form form = scrape_form(requests[i].accept, requests[i].encoding);
        if (form.format != requests[i].format || form.gzip != requests[i].gzip)
            fail_msg("wish %zu", i);
    }
}

static void fill_text(char *text, size_t n, int kind)
{
    uint32_t noise = 1;
    for (size_t b = 0; b < n; b++) {
        noise = noise * 1664525U + 1013904223U;
        text[b] = (char)(kind == 0 ? b * b % 251 : kind == 1 ? noise >> 24 : 'a');
    }
}

static void assert_unpacks(char *packed, size_t n, const char *want, size_t want_n)
{
    OWNED_TEXT back = calloc(1, want_n + 1);
    assert_non_null(packed);
    z_stream z = {.next_in = (unsigned char *)packed,
                  .avail_in = (unsigned)n,
                  .next_out = (unsigned char *)back,
                  .avail_out = (unsigned)want_n + 1};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, want_n);
    assert_int_equal(z.avail_in, 0);
    assert_memory_equal(want, back, want_n);
    (void)inflateEnd(&z);
}

/* Also what cannot be made smaller. */
static void a_compressed_page_decompresses_to_the_same_bytes(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 65535, 300000, 3000000};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (int kind = 0; kind < 3; kind++) {
            size_t n = 0;
            OWNED_TEXT text = calloc(1, sizes[i] + 1);
            fill_text(text, sizes[i], kind);
            OWNED_TEXT packed = gzip_text(text, sizes[i], &n);
            assert_unpacks(packed, n, text, sizes[i]);
        }
}

TEST_FILE(test_metrics_formats)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reader_finds_each_fault),
        cmocka_unit_test(the_page_is_well_formed_in_both_formats),
        cmocka_unit_test(every_sample_of_the_text_is_in_openmetrics),
        cmocka_unit_test(an_exemplar_names_the_migration),
        cmocka_unit_test(no_two_families_share_a_name_in_openmetrics),
        cmocka_unit_test(kubevirts_names_are_optional),
        cmocka_unit_test(a_page_has_no_kubevirt_names_by_default),
        cmocka_unit_test(each_scraper_gets_the_negotiated_format),
        cmocka_unit_test(a_compressed_page_decompresses_to_the_same_bytes),
    };
    return cmocka_run_group_tests_name("metrics formats", tests, NULL, NULL);
}
