/* test_api_metrics.c - /metrics over the wire: formats, encodings, HEAD, and that what one scraper
 * gets every other one gets too. */
#include <math.h>

#include "tests/page_check.h"
#include "tests/unit/test_api_http.h"

#define OPEN "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n"
#define GZIP "Accept-Encoding: gzip\r\n"
#define TEXT_TYPE "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
#define OPEN_TYPE "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"

static const struct {
    const char *headers, *type;
    bool gzip;
} forms[] = {
    {"", TEXT_TYPE, false},
    {OPEN, OPEN_TYPE, false},
    {GZIP, TEXT_TYPE, true},
    {OPEN GZIP, OPEN_TYPE, true},
};

static void each_format_has_its_content_type(void **state)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct answer a = ask(*state, "GET", "/metrics", forms[i].headers, NULL);
        assert_int_equal(a.status, 200);
        assert_non_null(strstr(a.head, forms[i].type));
        assert_non_null(strstr(a.head, "Vary: Accept, Accept-Encoding\r\n"));
        assert_int_equal(strstr(a.head, "Content-Encoding: gzip\r\n") != NULL, forms[i].gzip);
        struct page_totals totals;
        char why[256];
        if (!forms[i].gzip && !prom_page_check(a.body, i == 1, &totals, why, sizeof why))
            fail_msg("%s", why);
        if (forms[i].gzip)
            assert_memory_equal(a.body, "\x1f\x8b\x08", 3);
        answer_fini(&a);
    }
}

static void head_has_the_headers_of_get_without_a_body(void **state)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct answer get = ask(*state, "GET", "/metrics", forms[i].headers, NULL);
        struct answer head = ask(*state, "HEAD", "/metrics", forms[i].headers, NULL);
        char length[64];
        (void)snprintf(length, sizeof length, "Content-Length: %zu\r\n", get.body_bytes);
        assert_int_equal(head.status, 200);
        assert_int_equal(head.body_bytes, 0);
        assert_non_null(strstr(head.head, length));
        assert_non_null(strstr(head.head, forms[i].type));
        answer_fini(&get);
        answer_fini(&head);
    }
}

/* In every form, whoever asks and in whatever order, also after counters moved. */
static void scrapes_of_one_snapshot_are_equal_in_every_form(void **state)
{
    struct rig *rig = *state;
    struct answer first[COUNT(forms)];
    for (size_t i = 0; i < COUNT(forms); i++)
        first[i] = ask(rig, "GET", "/metrics", forms[i].headers, NULL);
    struct snapshot_job job = {.result.outcome = OUTCOME_FAILED, .times.ended_ms = 5};
    exporter_on_finished(rig->x, &job);
    for (size_t i = COUNT(forms); i-- > 0;) {
        struct answer again = ask(rig, "GET", "/metrics", forms[i].headers, NULL);
        assert_int_equal(again.body_bytes, first[i].body_bytes);
        assert_memory_equal(again.body, first[i].body, again.body_bytes);
        answer_fini(&again);
        answer_fini(&first[i]);
    }
}

/* Shorter than any scrape interval: begun and over between two snapshots. */
static void a_migration_between_two_scrapes_is_counted(void **state)
{
    struct rig *rig = *state;
    struct snapshot_job job = {.result.outcome = OUTCOME_SUCCEEDED,
                               .phase = PHASE_SUCCEEDED,
                               .mode = MODE_PRECOPY,
                               .epoch = 1,
                               .times.created_ms = 1000,
                               .times.started_ms = 1100,
                               .times.ended_ms = 1400,
                               .final.known = true,
                               .final.downtime_ms = 42,
                               .final.setup_ms = 7,
                               .final.bytes = 3000,
                               .final.whole_bytes = 2000,
                               .final.total_ms = 290};
    TEXT_SET(job.uid, "20000000-0000-4000-8000-00000000000f");
    TEXT_SET(job.ns, "default");
    TEXT_SET(job.name, "quick");
    TEXT_SET(job.source, "a");
    TEXT_SET(job.target, "b");
    exporter_on_step(rig->x, &job, PHASE_PENDING, TRIGGER_ADMITTED, 10);
    exporter_on_step(rig->x, &job, PHASE_SCHEDULED, TRIGGER_HANDED_OFF, 1);
    exporter_on_step(rig->x, &job, PHASE_PREPARING_TARGET, TRIGGER_TARGET_CHECKED, 5);
    exporter_on_finished(rig->x, &job);
    struct exporter_self self = {0};
    exporter_set_self(rig->x, &self); /* the next page */
    struct answer a = ask(rig, "GET", "/metrics", OPEN, NULL);
    static const char *const lines[] = {
        "\nferry_migration_downtime_seconds_bucket{mode=\"PreCopy\",le=\"0.05\"} 1 # "
        "{uid=\"20000000-0000-4000-8000-00000000000f\",namespace=\"default\",migration=\"quick\"} "
        "0.042 1.4\n",
        "\nferry_migration_setup_seconds_sum 0.007\n",
        "\nferry_migration_sent_memory_ratio_sum{mode=\"PreCopy\"} 1.5\n",
        "\nferry_migration_duration_seconds_sum{outcome=\"succeeded\"} 0.3\n",
        "\nferry_path_migrations_total{source=\"a\",target=\"b\",outcome=\"succeeded\"} 1 # ",
        "\nferry_path_migrations_total{source=\"a\",target=\"b\",outcome=\"failed\"} 0\n",
        "\nferry_path_moved_bytes_total{source=\"a\",target=\"b\"} 3000 # ",
        "\nferry_target_preparations_total{node=\"b\",result=\"ready\"} 1 # ",
        "\nferry_target_preparations_total{node=\"b\",result=\"failed\"} 0\n",
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        if (strstr(a.body, lines[i]) == NULL)
            fail_msg("no line '%s'", lines[i]);
    assert_null(strstr(a.body, "ferry_migration_elapsed_seconds{namespace=\"default\",name=\"\""));
    answer_fini(&a);
}

/* The numbers of an arrival come from the target after it: counted once, when they come. */
static void late_statistics_are_counted_once(void **state)
{
    struct rig *rig = *state;
    struct world *world = world_new(500);
    struct snapshot_job *job = &world->jobs[0];
    exporter_on_finished(rig->x, job);
    exporter_on_snapshot(rig->x, &world->snapshot);
    struct world *then = world_new(501);
    then->jobs[0].final.known = true;
    then->jobs[0].final.downtime_ms = 120;
    exporter_on_snapshot(rig->x, &then->snapshot);
    exporter_on_snapshot(rig->x, &then->snapshot);
    struct answer a = ask(rig, "GET", "/metrics", "", NULL);
    assert_non_null(
        strstr(a.body, "\nferry_migration_downtime_seconds_sum{mode=\"PreCopy\"} 0.12\n"));
    assert_non_null(
        strstr(a.body, "\nferry_migration_downtime_seconds_count{mode=\"PreCopy\"} 1\n"));
    answer_fini(&a);
    snapshot_unref(&world->snapshot);
    snapshot_unref(&then->snapshot);
}

static void decisions_are_counted_by_monitor_and_role(void **state)
{
    struct rig *rig = *state;
    exporter_on_decision(rig->x, "stall", false, "late-post-copy");
    exporter_on_decision(rig->x, "legacy", true, "not-completed");
    struct answer a = ask(rig, "GET", "/metrics", "", NULL);
    assert_non_null(strstr(a.body,
                           "\nferry_monitor_decisions_total{monitor=\"stall\",role=\"acting\","
                           "decision=\"late-post-copy\"} 1\n"));
    assert_non_null(strstr(a.body,
                           "\nferry_monitor_decisions_total{monitor=\"legacy\",role=\"shadow\","
                           "decision=\"not-completed\"} 1\n"));
    assert_non_null(strstr(a.body,
                           "\nferry_monitor_decisions_total{monitor=\"legacy\",role=\"acting\","
                           "decision=\"not-completed\"} 0\n"));
    answer_fini(&a);
}

TEST_FILE(test_api_metrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_format_has_its_content_type, rig_up, rig_down),
        cmocka_unit_test_setup_teardown(head_has_the_headers_of_get_without_a_body, rig_up,
                                        rig_down),
        cmocka_unit_test_setup_teardown(scrapes_of_one_snapshot_are_equal_in_every_form, rig_up,
                                        rig_down),
        cmocka_unit_test_setup_teardown(a_migration_between_two_scrapes_is_counted, rig_up,
                                        rig_down),
        cmocka_unit_test_setup_teardown(late_statistics_are_counted_once, rig_up, rig_down),
        cmocka_unit_test_setup_teardown(decisions_are_counted_by_monitor_and_role, rig_up,
                                        rig_down),
    };
    return cmocka_run_group_tests_name("api metrics", tests, NULL, NULL);
}
