/* test_incident.c - open incidents: what opens one, what closes it, the bound, and that a restart
 * changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/incidents.h"
#include "engine/publish.h"
#include "store/sqlite.h"

static const int64_t start_ms = INT64_C(1763269659000);

static struct fleet *new_fleet(void)
{
    struct err err = {0};
    const struct fleet_config config = {0};
    struct fleet *f = fleet_new(&config, 7, &err);
    assert_non_null(f);
    return f;
}

static struct job ended(const char *name, enum outcome outcome, enum guest_at guest_at)
{
    struct job job = {.outcome = outcome, .guest_at = guest_at, .epoch = 1, .ended_ms = start_ms};
    (void)snprintf(job.uid, sizeof job.uid, "uid-%s", name);
    TEXT_SET(job.ns, "prod");
    TEXT_SET(job.name, name);
    TEXT_SET(job.guest_name, "db");
    TEXT_SET(job.source, "a");
    TEXT_SET(job.target, "b");
    return job;
}

static const struct store_verdict data_plane = {.plane = "data", .cause = "data-connect-failed"},
                                  nobodys = {.plane = "none", .cause = "user-cancelled"};

/* What a verdict makes of an end; "": no incident. */
static const struct {
    enum outcome outcome;
    enum guest_at guest_at;
    const struct store_verdict *verdict;
    int64_t epoch;
    bool told;
    const char *kind, *node;
} ends[] = {
    {OUTCOME_SUCCEEDED, GUEST_AT_TARGET, &nobodys, 1, false, "", ""},
    {OUTCOME_ABORTED, GUEST_AT_SOURCE, &nobodys, 1, false, "", ""},
    {OUTCOME_ABORTED, GUEST_AT_SOURCE, &data_plane, 1, false, "ordinary", "a"}, /* Ferry gave up */
    {OUTCOME_FAILED, GUEST_AT_SOURCE, &nobodys, 1, false, "", ""},
    {OUTCOME_FAILED, GUEST_AT_SOURCE, &data_plane, 1, false, "ordinary", "a"},
    {OUTCOME_FAILED, GUEST_AT_UNKNOWN, &data_plane, 0, false, "ordinary", "a"},
    {OUTCOME_FAILED, GUEST_AT_UNKNOWN, &data_plane, 1, false, "unknown", "a"},
    {OUTCOME_FAILED, GUEST_AT_SPLIT, &data_plane, 1, false, "split", "a"},
    {OUTCOME_LOST, GUEST_AT_LOST, &data_plane, 1, false, "lost", "a"},
    {OUTCOME_LOST, GUEST_AT_LOST, &nobodys, 1, false, "", ""},
    {OUTCOME_LOST, GUEST_AT_LOST, &data_plane, 1, true, "", ""},
    {OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN, &data_plane, 1, false, "irrecoverable", "b"},
    {OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN, &nobodys, 1, true, "irrecoverable", "b"},
};

static void each_end_opens_what_it_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ends); i++) {
        OWNED(fleet) f = new_fleet();
        struct job job = ended("m", ends[i].outcome, ends[i].guest_at);
        job.epoch = ends[i].epoch;
        job.told = ends[i].told;
        incidents_judged(f, &job, ends[i].verdict, start_ms + 1000);
        assert_int_equal(f->incidents.n_open, ends[i].kind[0] != '\0');
        if (f->incidents.n_open == 0)
            continue;
        const struct incident *incident = incidents_find(&f->incidents, "prod", "m");
        assert_non_null(incident);
        assert_string_equal(incident_kind_name(incident->kind), ends[i].kind);
        assert_string_equal(incident->node, ends[i].node);
        assert_string_equal(incident->guest, "db");
        assert_string_equal(incident->cause, ends[i].verdict->cause);
        assert_int_equal(f->incidents.totals.opened[incident->kind], 1);
    }
}

static void only_ordinary_ones_age(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct job plain = ended("plain", OUTCOME_FAILED, GUEST_AT_SOURCE);
    struct job half = ended("half", OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    incidents_judged(f, &plain, &data_plane, start_ms);
    incidents_judged(f, &half, &data_plane, start_ms);
    incidents_tick(f, start_ms + INCIDENT_AGE_MS - 1);
    assert_int_equal(f->incidents.n_open, 2);
    uint64_t version = f->version;
    incidents_tick(f, start_ms + INCIDENT_AGE_MS);
    assert_int_equal(f->incidents.n_open, 1);
    assert_true(f->version > version); /* it is published */
    assert_int_equal(f->incidents.totals.closed[INCIDENT_END_AGED], 1);
    incidents_tick(f, start_ms + INT64_C(1000) * 86400 * 365);
    assert_non_null(incidents_find(&f->incidents, "prod", "half"));
}

static void what_is_history_opens_nothing(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct job plain = ended("plain", OUTCOME_FAILED, GUEST_AT_SOURCE);
    struct job half = ended("half", OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    incidents_judged(f, &plain, &data_plane, start_ms + INCIDENT_AGE_MS);
    incidents_judged(f, &half, &data_plane, start_ms + INCIDENT_NEWS_MS);
    assert_int_equal(f->incidents.n, 0);
    incidents_judged(f, &half, &data_plane, start_ms + INCIDENT_NEWS_MS - 1);
    assert_int_equal(f->incidents.n_open, 1);
}

static void a_word_closes_one_and_a_move_closes_all_of_the_guest(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct err err = {0};
    struct job first = ended("m1", OUTCOME_FAILED, GUEST_AT_SOURCE), second = first, other = first;
    TEXT_SET(second.uid, "uid-m2");
    TEXT_SET(second.name, "m2");
    TEXT_SET(other.uid, "uid-m3");
    TEXT_SET(other.name, "m3");
    TEXT_SET(other.guest_name, "web");
    incidents_judged(f, &first, &data_plane, start_ms);
    incidents_judged(f, &second, &data_plane, start_ms);
    incidents_judged(f, &other, &data_plane, start_ms);
    assert_true(incidents_said(f, "prod", "m1", INCIDENT_END_ACKNOWLEDGED, "bob", start_ms, &err));
    assert_false(incidents_said(f, "prod", "m1", INCIDENT_END_ACKNOWLEDGED, "bob", start_ms, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(f->incidents.n_open, 2);
    struct job moved = ended("m4", OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    incidents_judged(f, &moved, &nobodys, start_ms);
    assert_int_equal(f->incidents.n_open, 1);
    assert_non_null(incidents_find(&f->incidents, "prod", "m3"));
    assert_int_equal(f->incidents.totals.closed[INCIDENT_END_MOVED], 1);
}

/* Closed ones are shown for a while: the newest, each once, and not beside an open one. */
static void closed_ones_stay_in_view_for_a_while(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct err err = {0};
    char name[16];
    for (int i = 0; i <= INCIDENTS_CLOSED_MAX; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        struct job job = ended(name, OUTCOME_FAILED, GUEST_AT_SOURCE);
        incidents_judged(f, &job, &data_plane, start_ms);
        assert_true(
            incidents_said(f, "prod", name, INCIDENT_END_ACKNOWLEDGED, "bob", start_ms + i, &err));
        incidents_stored(&f->incidents);
    }
    assert_int_equal(f->incidents.n, 0);
    assert_int_equal(f->incidents.n_closed, INCIDENTS_CLOSED_MAX);
    assert_string_equal(f->incidents.closed[0].migration, "m1"); /* the oldest made room */
    assert_string_equal(f->incidents.closed[INCIDENTS_CLOSED_MAX - 1].by, "bob");
    struct job again = ended("m1", OUTCOME_FAILED, GUEST_AT_SOURCE);
    incidents_judged(f, &again, &data_plane, start_ms);
    assert_int_equal(f->incidents.n_open, 1);
    assert_int_equal(f->incidents.n_closed, INCIDENTS_CLOSED_MAX - 1);
}

/* Readers get the open ones first, then the closed, stored or not. */
static void readers_see_open_ones_before_closed_ones(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    static const char *const names[] = {"stored", "fresh", "open"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct err err = {0};
        struct job job = ended(names[i], OUTCOME_FAILED, GUEST_AT_SOURCE);
        incidents_judged(f, &job, &data_plane, start_ms);
        if (i < 2)
            assert_true(incidents_said(f, "prod", names[i], INCIDENT_END_ACKNOWLEDGED, "bob",
                                       start_ms, &err));
        if (i == 0)
            incidents_stored(&f->incidents);
    }
    struct snapshot seen = {0};
    struct incident_block *kept = NULL, *block = publish_incidents(&kept, &f->incidents, &seen);
    assert_non_null(block);
    assert_int_equal(seen.n_incidents, 1);
    assert_int_equal(seen.n_incidents_closed, 2);
    assert_string_equal(seen.incidents[0].migration, "open");
    assert_string_equal(seen.incidents[1].migration, "stored");
    assert_string_equal(seen.incidents[2].migration, "fresh");
    assert_int_equal(seen.incident_totals.opened[INCIDENT_ORDINARY], 3);
    publish_drop_incidents(block);
    publish_drop_incidents(kept);
}

static void a_second_verdict_changes_the_one_that_is_open(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct job job = ended("m", OUTCOME_FAILED, GUEST_AT_SOURCE);
    const struct store_verdict better = {.plane = "control", .cause = "libvirt-connect-failed"};
    incidents_judged(f, &job, &data_plane, start_ms);
    incidents_judged(f, &job, &better, start_ms + 10);
    assert_int_equal(f->incidents.n, 1);
    assert_string_equal(f->incidents.list[0].cause, "libvirt-connect-failed");
    assert_int_equal(f->incidents.totals.opened[INCIDENT_ORDINARY], 1);
}

/* Ordinary ones give way to newer ones, lasting ones to nobody. */
static void the_bound_holds(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    char name[16];
    for (int i = 0; i < INCIDENTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        struct job job = i == 0 ? ended(name, OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN)
                                : ended(name, OUTCOME_FAILED, GUEST_AT_SOURCE);
        incidents_judged(f, &job, &data_plane, start_ms);
    }
    assert_int_equal(f->incidents.totals.overflow, 0);
    struct job one_more = ended("more", OUTCOME_FAILED, GUEST_AT_SOURCE);
    incidents_judged(f, &one_more, &data_plane, start_ms);
    assert_int_equal(f->incidents.n_open, INCIDENTS_MAX);
    assert_int_equal(f->incidents.totals.overflow, 1);
    assert_non_null(incidents_find(&f->incidents, "prod", "m0"));
    assert_null(incidents_find(&f->incidents, "prod", "m1"));
    assert_non_null(incidents_find(&f->incidents, "prod", "more"));
    incidents_stored(&f->incidents);
    assert_int_equal(f->incidents.n, INCIDENTS_MAX);
    for (size_t i = 0; i < f->incidents.n; i++)
        f->incidents.list[i].kind = INCIDENT_LOST;
    struct job last = ended("last", OUTCOME_FAILED, GUEST_AT_SOURCE);
    incidents_judged(f, &last, &data_plane, start_ms);
    assert_null(incidents_find(&f->incidents, "prod", "last"));
    assert_int_equal(f->incidents.totals.overflow, 2);
}

static void a_restart_changes_nothing_but_what_was_closed(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(store) store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    OWNED(fleet) before = new_fleet();
    struct job kept = ended("kept", OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    struct job gone = ended("gone", OUTCOME_FAILED, GUEST_AT_SOURCE);
    incidents_judged(before, &kept, &data_plane, start_ms + 5);
    incidents_judged(before, &gone, &data_plane, start_ms + 6);
    for (int round = 0; round < 2; round++) { /* open, then closed: each stored as it is */
        store->ops->begin(store);
        incidents_put(store, &before->incidents);
        assert_true(store->ops->commit(store, &err));
        incidents_stored(&before->incidents);
        assert_false(before->incidents.changed);
        if (round == 0)
            assert_true(incidents_said(before, "prod", "gone", INCIDENT_END_ACKNOWLEDGED, "bob",
                                       start_ms + 7, &err));
    }
    assert_int_equal(before->incidents.n, 1);
    OWNED(fleet) after = new_fleet();
    assert_true(incidents_load(store, after, &err));
    assert_int_equal(after->incidents.n_open, 1);
    const struct incident *incident = &after->incidents.list[0];
    assert_string_equal(incident->uid, kept.uid);
    assert_string_equal(incident->migration, kept.uid); /* its job is not in view here */
    assert_string_equal(incident->guest, "db");
    assert_string_equal(incident->node, "b");
    assert_int_equal(incident->kind, INCIDENT_IRRECOVERABLE);
    assert_int_equal(incident->opened_ms, start_ms + 5);
    assert_false(after->incidents.changed); /* what is on disk need not be written again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_opens_what_it_should),
        cmocka_unit_test(only_ordinary_ones_age),
        cmocka_unit_test(what_is_history_opens_nothing),
        cmocka_unit_test(a_word_closes_one_and_a_move_closes_all_of_the_guest),
        cmocka_unit_test(closed_ones_stay_in_view_for_a_while),
        cmocka_unit_test(readers_see_open_ones_before_closed_ones),
        cmocka_unit_test(a_second_verdict_changes_the_one_that_is_open),
        cmocka_unit_test(the_bound_holds),
        cmocka_unit_test(a_restart_changes_nothing_but_what_was_closed),
    };
    return cmocka_run_group_tests_name("incident", tests, NULL, NULL);
}
