/* test_publish_drains.c - what a snapshot counts of drains: one row per node, from the drain that
 * matters, and gone with it. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "engine/publish.h"
#include "exporter/http/limits.h"
#include "exporter/metrics/metrics.h"
#include "tests/core_world.h"

static const struct snapshot *shot(struct core_world *w)
{
    struct err err = {0};
    struct publisher *publisher = publisher_new(&err);
    assert_non_null(publisher);
    const struct snapshot *snapshot = publish(publisher, w->fleet, w->now.wall_ms);
    assert_non_null(snapshot);
    publisher_free(publisher);
    return snapshot;
}

static void put(struct core_world *w, enum object_kind kind, const char *name, const char *spec)
{
    if (!core_put(w, kind, name, spec))
        fail_msg("%s: %s", name, w->err.text);
    core_settle(w);
}

/* Hosts and drains of now as /metrics shows them. */
static char *fleet_page(struct core_world *w)
{
    const struct snapshot *s = shot(w);
    struct promx_page page;
    promx_page_init(&page, PROMX_TEXT, EXPORTER_PAGE_MAX);
    metrics_render_fleet(s, &page);
    snapshot_unref(s);
    char *text = buf_take(&page.out);
    assert_non_null(text);
    return text;
}

/* g1 and g2 move, g3 stays, g4 is somebody else's business. */
static struct core_world *four_guests(void)
{
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 4);
    put(w, OBJECT_GUEST, "g1", "{\"evictionStrategy\":\"LiveMigrate\"}");
    put(w, OBJECT_GUEST, "g2", "{\"evictionStrategy\":\"LiveMigrate\"}");
    put(w, OBJECT_GUEST, "g3", "{\"evictionStrategy\":\"None\"}");
    put(w, OBJECT_GUEST, "g4", "{\"evictionStrategy\":\"External\"}");
    return w;
}

/* The row of a node as "node waiting/moving/moved/blocked/failed/stopping". */
static void assert_row(const struct snapshot *s, size_t i, const char *want)
{
    char text[128];
    assert_true(i < s->n_drains);
    const unsigned *n = s->drains[i].guests;
    (void)snprintf(text, sizeof text, "%s %u/%u/%u/%u/%u/%u", s->drains[i].node,
                   n[DRAIN_GUEST_WAITING], n[DRAIN_GUEST_MOVING], n[DRAIN_GUEST_MOVED],
                   n[DRAIN_GUEST_BLOCKED], n[DRAIN_GUEST_FAILED], n[DRAIN_GUEST_STOPPING]);
    assert_string_equal(text, want);
}

static void guests_are_counted_by_how_far_they_are(void **state)
{
    (void)state;
    struct core_world *w = four_guests();
    const struct snapshot *s = shot(w);
    assert_int_equal(s->n_drains, 0);
    snapshot_unref(s);
    put(w, OBJECT_DRAIN, "d", "{\"nodeName\":\"h1\"}");
    core_arrives(w, "g1");
    core_settle(w);
    s = shot(w);
    assert_int_equal(s->n_drains, 1);
    assert_row(s, 0, "h1 0/1/1/2/0/0");
    assert_int_equal(s->drains[0].blocked[BLOCK_STRATEGY_NONE], 1);
    assert_int_equal(s->drains[0].blocked[BLOCK_EXTERNAL], 1);
    assert_int_equal(s->drains[0].blocked[BLOCK_NOT_MIGRATABLE], 0);
    assert_int_equal(s->drains[0].blocked[BLOCK_NONE], 0);
    snapshot_unref(s);
    core_free(w);
}

static void a_node_has_the_row_of_the_drain_that_matters(void **state)
{
    (void)state;
    struct core_world *w = four_guests();
    core_add_host(w, "h3");
    put(w, OBJECT_DRAIN, "z", "{\"nodeName\":\"h3\"}"); /* empty: over at once */
    put(w, OBJECT_DRAIN, "c", "{\"nodeName\":\"h1\",\"deadlineSeconds\":60}");
    core_arrives(w, "g1");
    core_arrives(w, "g2");
    core_advance(w, 61000);        /* over: it failed */
    w->now.wall_ms -= 3600 * 1000; /* a clock that was set back makes the next one look older */
    put(w, OBJECT_DRAIN, "b", "{\"nodeName\":\"h1\"}");
    const struct snapshot *s = shot(w);
    assert_int_equal(s->n_drains, 2);
    assert_row(s, 0, "h1 0/0/0/2/0/0"); /* the one that goes on */
    assert_row(s, 1, "h3 0/0/0/0/0/0"); /* zero, not absent */
    snapshot_unref(s);
    assert_true(core_remove(w, OBJECT_DRAIN, "b"));
    s = shot(w);
    assert_row(s, 0, "h1 0/0/2/2/0/0"); /* what is left to tell of */
    snapshot_unref(s);
    assert_true(core_remove(w, OBJECT_DRAIN, "c"));
    assert_true(core_remove(w, OBJECT_DRAIN, "z"));
    s = shot(w);
    assert_int_equal(s->n_drains, 0);
    snapshot_unref(s);
    core_free(w);
}

static void of_drains_that_are_over_the_newest_counts(void **state)
{
    (void)state;
    struct core_world *w = four_guests();
    static const char spec[] = "{\"nodeName\":\"h1\",\"deadlineSeconds\":60}";
    put(w, OBJECT_DRAIN, "a", spec);
    core_arrives(w, "g1");
    core_arrives(w, "g2");
    core_advance(w, 61000);
    put(w, OBJECT_DRAIN, "b", spec);
    core_advance(w, 61000);
    const struct snapshot *s = shot(w);
    assert_int_equal(s->n_drains, 1);
    assert_row(s, 0, "h1 0/0/0/2/0/0");
    snapshot_unref(s);
    core_free(w);
}

/* What FerryDrainLate asks for: a drain that missed its deadline is over, and says so for as long
 * as it is there; its deadline is not told any more. */
static void a_drain_that_missed_its_deadline_is_failed_on_the_page(void **state)
{
    (void)state;
    static const char deadline[] = "\nferry_drain_deadline_timestamp_seconds{node=\"h1\"} ";
    struct core_world *w = four_guests();
    put(w, OBJECT_DRAIN, "a", "{\"nodeName\":\"h1\",\"deadlineSeconds\":60}");
    OWNED_TEXT before = fleet_page(w);
    assert_non_null(strstr(before, "\nferry_drain_state{node=\"h1\",state=\"Failed\"} 0\n"));
    assert_non_null(strstr(before, deadline));
    core_advance(w, 61000);
    for (int hour = 0; hour < 3; hour++) {
        OWNED_TEXT late = fleet_page(w);
        assert_non_null(strstr(late, "\nferry_drain_state{node=\"h1\",state=\"Failed\"} 1\n"));
        assert_non_null(strstr(late, "\nferry_node_schedulable{node=\"h1\"} 0\n"));
        assert_null(strstr(late, deadline));
        core_advance(w, 3600 * 1000);
    }
    assert_true(core_remove(w, OBJECT_DRAIN, "a"));
    OWNED_TEXT after = fleet_page(w);
    assert_null(strstr(after, "\nferry_drain_state{"));
    core_free(w);
}

TEST_FILE(test_publish_drains)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guests_are_counted_by_how_far_they_are),
        cmocka_unit_test(a_node_has_the_row_of_the_drain_that_matters),
        cmocka_unit_test(of_drains_that_are_over_the_newest_counts),
        cmocka_unit_test(a_drain_that_missed_its_deadline_is_failed_on_the_page),
    };
    return cmocka_run_group_tests_name("publish-drains", tests, NULL, NULL);
}
