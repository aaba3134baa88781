/* test_judged.c - a verdict on its way through the engine: stored, then shown and told, once; there
 * after a restart; kept while commits fail. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/impl.h"
#include "tests/sim/fleet_sim.h"

#define MIB (UINT64_C(1) << 20)

struct rig {
    struct fleet_sim fs;
    char ended[SNAPSHOT_UID_MAX];
    unsigned told;
};

static void note_end(struct fleet_sim *fs, const struct snapshot_job *job)
{
    struct rig *rig = fs->ctx;
    TEXT_SET(rig->ended, job->uid);
    assert_null(job->result.verdict);
}

static bool count_evidence(void *ctx, const struct store_evidence *row)
{
    assert_string_equal(row->text, "line");
    ++*(unsigned *)ctx;
    return true;
}

/* What is told is on disk. */
static void note_verdict(struct fleet_sim *fs, const struct verdict_rows *verdict_rows)
{
    struct rig *rig = fs->ctx;
    struct err err = {0};
    unsigned n = 0;
    assert_string_equal(verdict_rows->verdict.job_uid, rig->ended);
    assert_true(fs->store->ops->each_evidence(fs->store, rig->ended, count_evidence, &n, &err));
    assert_int_equal(n, 2);
    rig->told++;
}

static void run(struct fleet_sim *fs, int64_t ms)
{
    fleet_sim_run(fs, fleet_sim_now(fs) + ms);
}

static struct rig *rig_new(void)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->fs.ctx = rig;
    rig->fs.on_finished = note_end;
    rig->fs.on_judged = note_verdict;
    rig->fs.wants_snapshots = true;
    fleet_sim_init(&rig->fs, 5, 2, 1, 64 * MIB);
    run(&rig->fs, 5000);
    fleet_sim_migrate(&rig->fs, 0, 1);
    run(&rig->fs, 60000);
    assert_true(rig->ended[0] != '\0');
    return rig;
}

static void rig_free(struct rig *rig)
{
    fleet_sim_fini(&rig->fs);
    free(rig);
}

static const struct verdict_rows *shown(struct rig *rig)
{
    const struct snapshot *s = rig->fs.snapshot;
    for (size_t i = 0; i < s->n_jobs; i++)
        if (strcmp(s->jobs[i]->uid, rig->ended) == 0)
            return s->jobs[i]->result.verdict;
    fail_msg("%s is not in view", rig->ended);
    return NULL;
}

static void post(struct rig *rig, const char *cause)
{
    struct err err = {0};
    struct store_point points[] = {{.standing = "for", .quote = "a"},
                                   {.standing = "against", .quote = "b"}};
    struct store_number numbers[] = {{.name = "stalled", .value = 1.5, .unit = "s"}};
    struct store_evidence evidence[] = {{.text = "line"}, {.text = "line"}};
    const struct verdict_rows verdict_rows = {
        .verdict = {.job_uid = rig->ended, .cause = cause, .plane = "data"},
        .points = points,
        .numbers = numbers,
        .evidence = evidence,
        .n_points = COUNT(points),
        .n_numbers = COUNT(numbers),
        .n_evidence = COUNT(evidence),
    };
    assert_true(engine_post_verdict_rows(fleet_sim_engine(&rig->fs), &verdict_rows, &err));
}

static void expect_shown(struct rig *rig, const char *cause)
{
    const struct verdict_rows *verdict = shown(rig);
    assert_non_null(verdict);
    assert_string_equal(verdict->verdict.cause, cause);
    assert_int_equal(verdict->n_points, 2);
    assert_string_equal(verdict->points[1].quote, "b");
    assert_int_equal(verdict->points[1].seq, 1);
    assert_int_equal(verdict->n_numbers, 1);
    assert_true(verdict->numbers[0].value > 1.4 && verdict->numbers[0].value < 1.6);
    assert_int_equal(verdict->n_evidence, 0); /* on disk; memory is for what is shown */
}

static void a_verdict_is_stored_shown_and_reported_once(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    assert_null(shown(rig));
    post(rig, "none");
    run(&rig->fs, 1000);
    assert_int_equal(rig->told, 1);
    expect_shown(rig, "none");
    run(&rig->fs, 5000);
    assert_int_equal(rig->told, 1);
    rig_free(rig);
}

static void a_verdict_survives_a_restart_and_is_not_reported_again(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    post(rig, "guest-stopped-during-migration");
    run(&rig->fs, 1000);
    fleet_sim_crash(&rig->fs);
    run(&rig->fs, 5000);
    expect_shown(rig, "guest-stopped-during-migration");
    assert_int_equal(rig->told, 1);
    rig_free(rig);
}

static void a_verdict_about_a_job_out_of_view_is_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct err err = {0};
    char name[SNAPSHOT_NAME_MAX];
    TEXT_SET(name, rig->fs.snapshot->jobs[0]->name);
    assert_true(engine_post_cancel(fleet_sim_engine(&rig->fs), "default", name, "me", true, &err));
    run(&rig->fs, 1000);
    assert_int_equal(rig->fs.snapshot->n_jobs, 0);
    post(rig, "none");
    run(&rig->fs, 1000);
    assert_int_equal(rig->told, 1);
    rig_free(rig);
}

static void rows_beyond_the_limits_are_left_out(void **state)
{
    (void)state;
    struct store_point points[VERDICT_ROWS_POINTS_MAX + 3] = {{.quote = NULL}};
    struct verdict_rows rows = {.points = points, .n_points = COUNT(points)};
    struct verdict_rows *copy = verdict_rows_new(&rows, false);
    assert_non_null(copy);
    assert_int_equal(copy->n_points, VERDICT_ROWS_POINTS_MAX);
    assert_string_equal(copy->points[0].quote, "");
    assert_string_equal(copy->verdict.cause, "");
    assert_ptr_equal(verdict_rows_ref(copy), copy);
    verdict_rows_unref(copy);
    verdict_rows_unref(copy);
    verdict_rows_unref(NULL);
}

TEST_FILE(test_judged)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_is_stored_shown_and_reported_once),
        cmocka_unit_test(a_verdict_survives_a_restart_and_is_not_reported_again),
        cmocka_unit_test(a_verdict_about_a_job_out_of_view_is_stored),
        cmocka_unit_test(rows_beyond_the_limits_are_left_out),
    };
    return cmocka_run_group_tests_name("judged", tests, NULL, NULL);
}
