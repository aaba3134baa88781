/* test_persist.c - what the engine knows of a job survives the store: all of it that a reader, the
 * analyser or an adopting process needs. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/core/reconcile.h"
#include "engine/persist.h"
#include "engine/publish.h"
#include "store/sqlite/sqlite.h"
#include "tests/core_world.h"

static void store_world(struct core_world *w, struct store *store)
{
    struct err err = {0};
    store->ops->begin(store);
    for (struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        persist_job(store, job);
    for (size_t i = 0; i < w->fx.n; i++)
        persist_effect(store, w->fleet, &w->fx.list[i]);
    assert_true(store->ops->commit(store, &err));
}

static struct fleet *load(struct store *store)
{
    struct err err = {0};
    struct fleet_config config = {.jobs_kept_per_guest = 5, .jobs_kept = 100};
    struct fleet *fleet = fleet_new(&config, 1, &err);
    assert_non_null(fleet);
    if (!persist_load(store, fleet, &err))
        fail_msg("%s", err.text);
    return fleet;
}

/* Everything a reader sees, but for what belongs to one process. */
static void expect_same_view(struct core_world *w, const struct fleet *loaded)
{
    struct snapshot_job before, after;
    const struct job *job = loaded->jobs;
    assert_non_null(job);
    publish_job(w->fleet, core_job(w), &before);
    publish_job(loaded, job, &after);
    before.wait.reason[0] = '\0'; /* why it waits is found out anew */
    /* As configured: no node is loaded. */
    after.stream.source_address = before.stream.source_address;
    after.stream.target_address = before.stream.target_address;
    after.stream.port_min = before.stream.port_min;
    after.stream.port_max = before.stream.port_max;
    if (!phase_is_final(before.phase)) /* an adopting process looks for itself */
        before.resolution.source = before.resolution.target = (struct snapshot_observation){0};
    before.resolution.source.at_ms = after.resolution.source.at_ms;
    before.resolution.target.at_ms = after.resolution.target.at_ms;
    before.progress.has_sample =
        false; /* the trace is in the store, the newest sample is not reloaded */
    memset(&before.progress.sample, 0, sizeof before.progress.sample);
    before.progress.eta_ms = after.progress.eta_ms;
    before.progress.eta_low_ms = after.progress.eta_low_ms;
    before.progress.eta_high_ms = after.progress.eta_high_ms;
    before.progress.eta_note = after.progress.eta_note;
    assert_string_equal(before.monitor.decision_text, after.monitor.decision_text);
    before.monitor.decision_text = after.monitor.decision_text;
    assert_string_equal(job_error_text(&before.result.error), job_error_text(&after.result.error));
    before.result.error.text = after.result.error.text;
    assert_memory_equal(&before, &after, sizeof before);
}

static void check_round_trip(struct core_world *w)
{
    struct err err = {0};
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store_world(w, store);
    struct fleet *loaded = load(store);
    expect_same_view(w, loaded);
    fleet_free(loaded);
    store_free(store);
    core_free(w);
}

static void a_failed_job_keeps_its_evidence(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->target = CORE_BLIND;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    check_round_trip(w);
}

struct told {
    char reasons[256];
    bool is_named;
};

static bool add_told(void *ctx, const struct store_event *row)
{
    struct told *told = ctx;
    size_t length = strlen(told->reasons);
    (void)snprintf(told->reasons + length, sizeof told->reasons - length, "%s%s:%s",
                   length > 0 ? " " : "", row->type, row->reason);
    assert_string_equal(row->kind, "VirtualMachineInstance");
    assert_string_equal(row->name, "g1");
    told->is_named = told->is_named && strstr(row->message, ": ") != NULL;
    return true;
}

/* Where it began, each warning, how it ended; what happened in between is the migration's alone. */
static void a_guest_has_the_story_of_its_migration(void **state)
{
    (void)state;
    struct err err = {0};
    struct core_world *w = core_moving();
    const int64_t at = core_job(w)->times.started_ms;
    effects_event(&w->fx, core_job(w), at + 1, true, "PostCopyBroken", "it broke");
    effects_event(&w->fx, core_job(w), at + 2, false, "MonitorDecided", "wait");
    effects_event(&w->fx, core_job(w), at + 3, false, "SuccessfulMigration", "done");
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store_world(w, store);
    struct told told = {.is_named = true};
    assert_true(store->ops->each_event(store, core_job(w)->guest_uuid, 100, add_told, &told, &err));
    assert_string_equal(told.reasons, "Normal:Migrating Warning:PostCopyBroken Normal:Migrated");
    assert_true(told.is_named);
    store_free(store);
    core_free(w);
}

static void a_lost_connection_stays_a_lost_connection(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->job_type = HV_JOB_UNBOUNDED;
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 3000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    check_round_trip(w);
}

static void an_aborted_job_keeps_who_and_why(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_cancel(w);
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    check_round_trip(w);
}

static void a_running_job_is_loaded_as_it_was(void **state)
{
    (void)state;
    check_round_trip(core_moving());
}

static void an_open_call_and_an_accepted_abort_are_remembered(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_cancel(w);
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    struct err err = {0};
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store_world(w, store);
    struct fleet *loaded = load(store);
    assert_true(loaded->jobs->abort.accepted);
    assert_true(loaded->jobs->call.moved);
    assert_int_equal(loaded->jobs->orders[ORDER_MIGRATE].seq,
                     core_job(w)->orders[ORDER_MIGRATE].seq);
    assert_int_equal(loaded->jobs->intent_seq, core_job(w)->intent_seq);
    fleet_free(loaded);
    store_free(store);
    core_free(w);
}

static void a_decision_of_another_version_is_not_shown(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    struct err err = {0};
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store_world(w, store);
    struct store_decision row = {.job_uid = core_job(w)->uid,
                                 .seq = 99,
                                 .at_ms = 1,
                                 .monitor = "stall",
                                 .decision = "of-another-version",
                                 .action = "nothing",
                                 .text = ""};
    store->ops->begin(store);
    store->ops->put_decision(store, &row);
    assert_true(store->ops->commit(store, &err));
    struct fleet *loaded = load(store);
    struct snapshot_job shown;
    publish_job(loaded, loaded->jobs, &shown);
    assert_string_not_equal(shown.monitor.decision, "of-another-version");
    assert_int_equal(loaded->jobs->monitor.decisions_before, 99); /* its number is taken */
    fleet_free(loaded);
    store_free(store);
    core_free(w);
}

/* The call was answered, the abort was not: it is closed all the same. */
static void an_open_abort_is_closed_when_its_job_is_taken_over(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    core_cancel(w);
    int64_t seq = core_job(w)->orders[ORDER_ABORT].seq;
    assert_true(seq > core_job(w)->orders[ORDER_MIGRATE].seq);
    struct err err = {0};
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store_world(w, store);
    struct fleet *loaded = load(store);
    struct effects fx = {0};
    reconcile_restore(loaded, loaded->jobs, w->now, &fx);
    unsigned closed = 0;
    for (size_t i = 0; i < fx.n; i++)
        if (fx.list[i].kind == EFFECT_INTENT && fx.list[i].of.intent.seq == seq) {
            assert_string_equal(fx.list[i].of.intent.status, "lost");
            assert_int_equal(fx.list[i].of.intent.kind, INTENT_ABORT);
            closed++;
        }
    assert_int_equal(closed, 1);
    effects_fini(&fx);
    fleet_free(loaded);
    store_free(store);
    core_free(w);
}

static void why_nodes_were_rejected_is_known_after_a_restart(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct err err = {0};
    core_add_host(w, "h3");
    core_size(w, "h2", 1, 1);
    core_size(w, "h3", 1, 1);
    const struct rejections *before = core_ask(w, "g1", NULL)->placement.rejections;
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store_world(w, store);
    store->ops->begin(store);
    persist_rejections(store, w->fleet->jobs);
    assert_true(store->ops->commit(store, &err));
    struct fleet *fleet = load(store);
    const struct rejections *after = fleet->jobs->placement.rejections;
    assert_int_equal(before->n, 3);
    assert_int_equal(after->n, 3);
    assert_int_equal(after->n_nodes, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(after->list[i].node, before->list[i].node);
        assert_int_equal(after->list[i].why, before->list[i].why);
    }
    assert_memory_equal(after->counts, before->counts, sizeof after->counts);
    fleet_free(fleet);
    store_free(store);
    core_free(w);
}

static void two_unfinished_jobs_of_a_guest_hold_the_guest(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    struct err err = {0};
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store_world(w, store);
    TEXT_SET(core_job(w)->uid, "ffffffff-ffff-4fff-8fff-ffffffffffff");
    store->ops->begin(store);
    persist_job(store, w->fleet->jobs);
    assert_true(store->ops->commit(store, &err));
    struct fleet *fleet = load(store);
    const struct job *held = fleet_active_job(fleet, w->fleet->jobs->guest_uuid);
    assert_true(held->frozen && held->unreadable);
    assert_int_equal(held->times.created_ms, w->fleet->jobs->times.created_ms);
    assert_non_null(strstr(held->wait.reason, "two unfinished jobs"));
    fleet_free(fleet);
    store_free(store);
    core_free(w);
}

TEST_FILE(test_persist)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_job_keeps_its_evidence),
        cmocka_unit_test(a_guest_has_the_story_of_its_migration),
        cmocka_unit_test(a_lost_connection_stays_a_lost_connection),
        cmocka_unit_test(an_aborted_job_keeps_who_and_why),
        cmocka_unit_test(a_running_job_is_loaded_as_it_was),
        cmocka_unit_test(an_open_call_and_an_accepted_abort_are_remembered),
        cmocka_unit_test(a_decision_of_another_version_is_not_shown),
        cmocka_unit_test(an_open_abort_is_closed_when_its_job_is_taken_over),
        cmocka_unit_test(why_nodes_were_rejected_is_known_after_a_restart),
        cmocka_unit_test(two_unfinished_jobs_of_a_guest_hold_the_guest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
