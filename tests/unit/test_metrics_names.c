/* test_metrics_names.c - what is known is on the page with zero before it is counted: rate() and
 * increase() never see the first of a series that begins with one. */
#include "tests/test.h"

#include "tests/unit/test_metrics_pages.h"

static void assert_line(const char *page, const char *line)
{
    if (strstr(page, line) == NULL)
        fail_msg("no line '%s'", line);
}

/* Before any job came near them. */
static void hosts_paths_and_policies_are_counted_from_zero(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    (void)world_put(world, OBJECT_POLICY, "", "gentle", "{}", NULL);
    OWNED(metrics_counters) counters = new_counters();
    OWNED_TEXT page = page_of(&world->snapshot, counters);
    for (size_t i = 0; i < WORLD_NODES; i++) {
        static const char *const results[] = {"ready", "failed", "cancelled"};
        for (size_t r = 0; r < COUNT(results); r++) {
            char line[128];
            (void)snprintf(line, sizeof line,
                           "\nferry_target_preparations_total{node=\"%s\",result=\"%s\"} 0\n",
                           world->nodes[i].name, results[r]);
            assert_line(page, line);
        }
    }
    assert_line(page, "\nferry_path_migrations_total{source=\"a\",target=\"c\","
                      "outcome=\"failed\"} 0\n");
    assert_line(page, "\nferry_path_migrations_total{source=\"c\",target=\"b\","
                      "outcome=\"gave-up\"} 0\n");
    assert_line(page, "\nferry_path_downtime_seconds_total{source=\"b\",target=\"a\"} 0\n");
    assert_null(strstr(page, "source=\"a\",target=\"a\""));
    assert_line(page, "\nferry_migrations_total{outcome=\"failed\",trigger=\"evacuation\","
                      "policy=\"gentle\",managed_by=\"ferry\"} 0\n");
    assert_line(page, "\nferry_migrations_total{outcome=\"failed\",trigger=\"observed\","
                      "policy=\"gentle\",managed_by=\"unknown\"} 0\n");
    snapshot_unref(&world->snapshot);
}

/* Failed within one scrape interval: the second page shows one where the first showed zero. */
static void a_preparation_that_fails_at_once_is_an_increase(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    OWNED(metrics_counters) counters = new_counters();
    struct snapshot_job job = {.result.outcome = OUTCOME_FAILED, .source = "a", .target = "b"};
    OWNED_TEXT before = page_of(&world->snapshot, counters);
    assert_line(before, "\nferry_target_preparations_total{node=\"b\",result=\"failed\"} 0\n");
    metrics_count_step(counters, &job, PHASE_SCHEDULED, PHASE_PREPARING_TARGET, 1);
    metrics_count_step(counters, &job, PHASE_PREPARING_TARGET, PHASE_FAILED, 1);
    for (int scrape = 0; scrape < 2; scrape++) { /* what is foreseen again keeps its count */
        OWNED_TEXT page = page_of(&world->snapshot, counters);
        assert_line(page, "\nferry_target_preparations_total{node=\"b\",result=\"failed\"} 1\n");
    }
    snapshot_unref(&world->snapshot);
}

/* The product of all hosts is not made for a large fleet; a path is there from its first job on. */
static void a_large_fleet_has_only_paths_that_were_used(void **state)
{
    (void)state;
    static struct snapshot_node nodes[9];
    for (size_t i = 0; i < COUNT(nodes); i++)
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "n%zu", i);
    for (size_t n = COUNT(nodes) - 1; n <= COUNT(nodes); n++) {
        const struct snapshot snapshot = {.n_nodes = n, .nodes = nodes};
        OWNED(metrics_counters) counters = new_counters();
        OWNED_TEXT page = page_of(&snapshot, counters);
        assert_int_equal(strstr(page, "source=\"n0\",target=\"n7\"") != NULL,
                         n * n <= METRICS_PATHS_AHEAD);
        assert_line(page, "\nferry_target_preparations_total{node=\"n7\",result=\"ready\"} 0\n");
    }
}

/* Policies that nobody uses leave room for those that are. */
static void preset_policies_are_bounded(void **state)
{
    (void)state;
    enum { POLICIES = METRICS_POLICIES_AHEAD + 2 };
    static struct snapshot_object objects[POLICIES];
    const struct snapshot_object *list[POLICIES];
    for (size_t i = 0; i < POLICIES; i++) {
        objects[i].kind = OBJECT_POLICY;
        (void)snprintf(objects[i].name, sizeof objects[i].name, "p%02zu", i);
        list[i] = &objects[i];
    }
    const struct snapshot snapshot = {.n_objects = POLICIES, .objects = list};
    OWNED(metrics_counters) counters = new_counters();
    OWNED_TEXT page = page_of(&snapshot, counters);
    assert_line(page, "trigger=\"user\",policy=\"p31\",managed_by=\"ferry\"} 0\n");
    assert_null(strstr(page, "policy=\"p32\""));
    struct snapshot_job job = {.result.outcome = OUTCOME_FAILED, .request.policy = "p33"};
    metrics_count_finished(counters, &job);
    OWNED_TEXT after = page_of(&snapshot, counters);
    assert_line(after,
                "outcome=\"failed\",trigger=\"user\",policy=\"p33\",managed_by=\"ferry\"} 1\n");
    assert_null(strstr(after, "policy=\"other\""));
}

TEST_FILE(test_metrics_names)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_paths_and_policies_are_counted_from_zero),
        cmocka_unit_test(a_preparation_that_fails_at_once_is_an_increase),
        cmocka_unit_test(a_large_fleet_has_only_paths_that_were_used),
        cmocka_unit_test(preset_policies_are_bounded),
    };
    return cmocka_run_group_tests_name("metrics words", tests, NULL, NULL);
}
