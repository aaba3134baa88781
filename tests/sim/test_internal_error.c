/* test_internal_error.c - the core contradicts itself about one migration: the process lives,
 * nothing of that turn is stored or ordered for it, it is frozen and pages, and everything else
 * goes on.
 *
 * The contradiction is planted: a job whose list of steps is full may take no further one. In
 * memory it stands for a bug; in the store, for rows that no Ferry wrote.
 */
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "engine/impl.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/turn/step.h"
#include "tests/sim/fleet_sim.h"

enum { GUESTS = 4 };

struct world {
    struct fleet_sim fs;
    char uuid[HV_UUID_MAX]; /* guest g0, at home on h0 */
    unsigned orders;        /* that changed g0, so far */
};

static bool count_orders(struct fleet_sim *fs, const struct hv_request *request)
{
    struct world *w = fs->ctx;
    if (hv_call_access(request->call) == HV_ACCESS_ACT && strcmp(request->guest, w->uuid) == 0)
        w->orders++;
    return true;
}

static struct job *job_of(struct world *w)
{
    return fleet_active_job(fleet_sim_engine(&w->fs)->fleet, w->uuid);
}

static uint64_t internal_errors(struct world *w)
{
    struct engine_stats stats;
    engine_stats(fleet_sim_engine(&w->fs), &stats);
    return stats.internal_errors;
}

static void run_for(struct world *w, int64_t ms)
{
    fleet_sim_run(&w->fs, fleet_sim_now(&w->fs) + ms);
}

/* g0 moves from h0 to h1. */
static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    fleet_sim_uuid(0, w->uuid);
    w->fs.ctx = w;
    w->fs.on_submit = count_orders;
    w->fs.wants_snapshots = true;
    fleet_sim_init(&w->fs, 11, 2, GUESTS, 2ULL << 30);
    run_for(w, 2000);
    fleet_sim_migrate(&w->fs, 0, 1);
    for (int i = 0; i < 100 && (job_of(w) == NULL || job_of(w)->phase != PHASE_RUNNING); i++)
        run_for(w, 100);
    assert_int_equal(job_of(w)->phase, PHASE_RUNNING);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    char text[256] = "";
    if (!ledger_check(fleet_sim_engine(&w->fs)->fleet, text, sizeof text))
        fail_msg("ledger: %s", text);
    assert_int_equal(sim_violations(w->fs.sim), 0);
    fleet_sim_fini(&w->fs);
    free(w);
    return 0;
}

struct stored {
    char phase[32], outcome[32], uid[JOB_UID_MAX];
    unsigned transitions, incidents;
};

static bool note_job(void *ctx, const struct store_job *row)
{
    struct stored *stored = ctx;
    TEXT_SET(stored->phase, row->phase);
    TEXT_SET(stored->outcome, row->result.outcome);
    return true;
}

static bool note_transition(void *ctx, const struct store_transition *row)
{
    (void)row;
    ((struct stored *)ctx)->transitions++;
    return true;
}

static bool note_incident(void *ctx, const struct store_incident *row)
{
    struct stored *stored = ctx;
    if (strcmp(row->kind, "internal-error") == 0 && strcmp(row->job_uid, stored->uid) == 0)
        stored->incidents++;
    return true;
}

static struct stored stored_of(struct world *w, const char *uid)
{
    struct stored stored = {.transitions = 0};
    struct err err = {0};
    struct store *store = w->fs.store;
    TEXT_SET(stored.uid, uid);
    assert_true(store->ops->find_job(store, "", uid, note_job, &stored, &err));
    assert_true(store->ops->each_transition(store, uid, note_transition, &stored, &err));
    assert_true(store->ops->each_incident(store, true, note_incident, &stored, &err));
    return stored;
}

static void say(struct world *w, const char *name, enum override_kind word)
{
    struct err err = {0};
    struct resolve_request request = {.kind = word, .ns = "default", .requester = "operator"};
    TEXT_SET(request.name, name);
    TEXT_SET(request.why, "I looked");
    assert_true(engine_post_resolve(fleet_sim_engine(&w->fs), &request, &err));
}

static void an_illegal_step_is_rolled_back_and_its_migration_frozen(void **state)
{
    struct world *w = *state;
    char uid[JOB_UID_MAX];
    TEXT_SET(uid, job_of(w)->uid);
    struct stored before = stored_of(w, uid);
    w->fs.internal_errors = 1;
    job_of(w)->history.n_steps = PHASE_COUNT; /* its end is the next step */
    while (internal_errors(w) == 0)
        run_for(w, 100);
    unsigned orders = w->orders;
    run_for(w, 600 * 1000);

    assert_int_equal(internal_errors(w), 1);
    struct job *job = job_of(w);
    assert_non_null(job);
    assert_true(job->frozen);
    assert_int_equal(job->phase, PHASE_RUNNING);
    assert_int_equal(job->wait.pending, PENDING_INTERNAL_ERROR);
    assert_non_null(strstr(job->wait.reason, "there is no step 'on-target' from Running"));
    struct stored after = stored_of(w, uid);
    assert_string_equal(after.phase, before.phase);
    assert_string_equal(after.outcome, "");
    assert_int_equal(after.transitions, before.transitions);
    assert_int_equal(after.incidents, 1);
    assert_int_equal(w->orders, orders);
    assert_int_equal(w->fs.finished[OUTCOME_SUCCEEDED], 0);        /* nobody was told of an end */
    assert_string_equal(sim_guest_host(w->fs.sim, w->uuid), "h1"); /* libvirt went on */
}

static void other_migrations_go_on_beside_a_frozen_one(void **state)
{
    struct world *w = *state;
    w->fs.internal_errors = 1;
    fleet_sim_migrate(&w->fs, 2, 1);
    job_of(w)->history.n_steps = PHASE_COUNT;
    run_for(w, 600 * 1000);
    assert_true(job_of(w)->frozen);
    fleet_sim_migrate(&w->fs, 1, 0);
    fleet_sim_migrate(&w->fs, 0, 0); /* the frozen one keeps its guest: refused */
    run_for(w, 600 * 1000);
    assert_int_equal(w->fs.finished[OUTCOME_SUCCEEDED], 2);
    assert_int_equal(internal_errors(w), 1);
    assert_true(job_of(w)->frozen);
}

static void a_frozen_migration_takes_no_abort_and_recover_adopts_it(void **state)
{
    struct world *w = *state;
    char name[JOB_NAME_MAX], uid[JOB_UID_MAX];
    struct err err = {0};
    w->fs.internal_errors = 1;
    TEXT_SET(name, job_of(w)->name);
    TEXT_SET(uid, job_of(w)->uid);
    job_of(w)->history.n_steps = PHASE_COUNT;
    run_for(w, 600 * 1000);
    unsigned orders = w->orders;
    assert_true(engine_post_cancel(fleet_sim_engine(&w->fs), "default", name, "test", false, &err));
    run_for(w, 10000);
    assert_false(job_of(w)->abort.asked);
    assert_int_equal(w->orders, orders);

    job_of(w)->entered_ms = fleet_sim_now(&w->fs); /* frozen just now */
    say(w, name, RESOLVE_RECOVER);
    run_for(w, 5000);
    assert_true(job_of(w)->frozen); /* an order of before may still be on its way */
    run_for(w, 15000);
    say(w, name, RESOLVE_ACKNOWLEDGE);
    run_for(w, 1000);
    assert_int_equal(stored_of(w, uid).incidents, 1); /* nobody takes a page that nothing ends */
    say(w, name, RESOLVE_RECOVER);
    run_for(w, 60000);
    assert_null(job_of(w));
    assert_int_equal(w->fs.finished[OUTCOME_SUCCEEDED], 1);
    assert_int_equal(internal_errors(w), 1);
    assert_int_equal(stored_of(w, uid).incidents, 0); /* the page is over */
}

static void an_operator_override_ends_a_frozen_migration(void **state)
{
    struct world *w = *state;
    char name[JOB_NAME_MAX];
    w->fs.internal_errors = 1;
    TEXT_SET(name, job_of(w)->name);
    job_of(w)->history.n_steps = PHASE_COUNT;
    run_for(w, 600 * 1000);
    say(w, name, RESOLVE_ON_TARGET);
    run_for(w, 10000);
    assert_null(job_of(w));
    assert_int_equal(w->fs.finished[OUTCOME_SUCCEEDED], 1);
}

static void a_restart_adopts_what_was_frozen(void **state)
{
    struct world *w = *state;
    w->fs.internal_errors = 1;
    job_of(w)->history.n_steps = PHASE_COUNT;
    run_for(w, 600 * 1000);
    assert_true(job_of(w)->frozen);
    fleet_sim_crash(&w->fs);
    run_for(w, 60000);
    assert_null(job_of(w));
    assert_int_equal(w->fs.finished[OUTCOME_SUCCEEDED], 1);
}

/* Rows that no Ferry wrote, found at every start. */
static void rows_that_allow_no_step_freeze_a_migration_at_each_restart(void **state)
{
    struct world *w = *state;
    struct store *store = w->fs.store;
    struct err err = {0};
    char uid[JOB_UID_MAX];
    TEXT_SET(uid, job_of(w)->uid);
    store->ops->begin(store);
    for (int64_t seq = job_of(w)->history.n_steps + 1; seq <= PHASE_COUNT + 3; seq++) {
        struct store_transition row = {.job_uid = uid,
                                       .from = "TargetReady",
                                       .to = "Running",
                                       .why = "moving",
                                       .seq = seq,
                                       .at_ms = 1};
        store->ops->put_transition(store, &row);
    }
    assert_true(store->ops->commit(store, &err));
    for (int life = 1; life <= 2; life++) {
        fleet_sim_crash(&w->fs);
        run_for(w, 600 * 1000);
        assert_true(job_of(w)->frozen);
        assert_int_equal(internal_errors(w), 1);
        assert_int_equal(stored_of(w, uid).incidents, 1);
    }
    w->fs.internal_errors = 2;
}

/* Rows that this version cannot read: those of one job come back with a word of the future. */
static struct {
    const struct store_ops *real;
    struct store_ops ops;
    store_job_fn *fn;
    void *ctx;
} future; /* store_ops have no context of their own */

static bool make_unreadable(void *ctx, const struct store_job *row)
{
    (void)ctx;
    struct store_job copy = *row;
    copy.phase = "Teleporting";
    return future.fn(future.ctx, &copy);
}

static bool each_unreadable(struct store *s, int64_t limit, store_job_fn *fn, void *ctx,
                            struct err *err)
{
    future.fn = fn;
    future.ctx = ctx;
    return future.real->each_recent_job(s, limit, make_unreadable, NULL, err);
}

/* So many slots are in use, of the fleet and of both nodes; the target's reservation stays. */
static void assert_slots(struct world *w, unsigned n)
{
    struct fleet *f = fleet_sim_engine(&w->fs)->fleet;
    assert_int_equal(f->busy_jobs, n);
    assert_int_equal(fleet_node(f, "h0")->outbound, n);
    assert_int_equal(fleet_node(f, "h1")->inbound, n);
    assert_int_equal(fleet_node(f, "h1")->reserved.launchers, 1);
    assert_true(fleet_node(f, "h1")->reserved.memory_kib > 0);
}

static void a_frozen_migration_gives_its_slots_back_after_a_minute(void **state)
{
    struct world *w = *state;
    struct fleet *fleet = fleet_sim_engine(&w->fs)->fleet;
    char name[JOB_NAME_MAX];
    TEXT_SET(name, job_of(w)->name);
    w->fs.internal_errors = 1;
    fleet_freeze_job(fleet, job_of(w), "planted");
    run_for(w, 50 * 1000);
    assert_true(job_of(w)->frozen);
    assert_slots(w, 1);
    run_for(w, 11 * 1000);
    assert_slots(w, 0);
    assert_true(job_of(w)->frozen);
    say(w, name, RESOLVE_RECOVER); /* goes on, in slots again */
    run_for(w, 60 * 1000);
    assert_null(job_of(w));
    assert_int_equal(fleet->busy_jobs, 0);
    assert_int_equal(fleet_node(fleet, "h0")->outbound, 0);
    assert_int_equal(fleet_node(fleet, "h1")->inbound, 0);
    assert_int_equal(fleet_node(fleet, "h1")->reserved.launchers, 0);
}

static void a_job_that_cannot_be_read_holds_its_guest_and_stops_nothing_else(void **state)
{
    struct world *w = *state;
    char uid[JOB_UID_MAX], name[JOB_NAME_MAX];
    TEXT_SET(uid, job_of(w)->uid);
    TEXT_SET(name, job_of(w)->name);
    future.real = w->fs.store->ops;
    future.ops = *future.real;
    future.ops.each_recent_job = each_unreadable;
    w->fs.store->ops = &future.ops;
    fleet_sim_crash(&w->fs); /* it starts */
    w->fs.store->ops = future.real;
    unsigned orders = w->orders;
    run_for(w, 1000);
    assert_slots(w, 1);
    run_for(w, 60 * 1000);
    assert_slots(w, 0);
    assert_true(job_of(w)->frozen && job_of(w)->unreadable);
    assert_int_equal(w->orders, orders);
    assert_string_equal(stored_of(w, uid).phase, "Running"); /* its row is left alone */
    const struct fleet *f = fleet_sim_engine(&w->fs)->fleet;
    const struct incident *incident = incidents_find(&f->incidents, "default", name);
    assert_non_null(incident);
    assert_int_equal(incident->kind, INCIDENT_UNREADABLE);
    fleet_sim_migrate(&w->fs, 0, 1); /* refused: there is an unfinished one */
    fleet_sim_migrate(&w->fs, 2, 1);
    say(w, name, RESOLVE_RECOVER); /* refused: what was decided for it is not known */
    run_for(w, 60 * 1000);
    assert_true(job_of(w)->unreadable);
    assert_int_equal(w->orders, orders);
    assert_int_equal(w->fs.finished[OUTCOME_SUCCEEDED], 1);

    say(w, name, RESOLVE_ON_TARGET); /* where it arrived meanwhile: somebody looked */
    run_for(w, 1000);
    assert_null(job_of(w));
    assert_string_equal(stored_of(w, uid).outcome, "succeeded");
    assert_null(incidents_find(&f->incidents, "default", name));
    fleet_sim_migrate(&w->fs, 0, 0);
    run_for(w, 60 * 1000);
    assert_string_equal(sim_guest_host(w->fs.sim, w->uuid), "h0");
}

static void a_frozen_migration_keeps_the_page_of_a_guest_that_runs_twice(void **state)
{
    struct world *w = *state;
    struct fleet *fleet = fleet_sim_engine(&w->fs)->fleet;
    w->fs.internal_errors = 1;
    incidents_split(fleet, job_of(w), 1);
    fleet_freeze_job(fleet, job_of(w), "planted");
    run_for(w, 100);
    assert_int_equal(internal_errors(w), 1);
    const struct incident *incident = incidents_find(&fleet->incidents, "default", job_of(w)->name);
    assert_int_equal(incident->kind, INCIDENT_SPLIT);
}

/* The flaw is found before anything follows from the step: no drain makes a second job. */
static void a_flawed_end_is_rolled_back_before_anything_follows_from_it(void **state)
{
    struct world *w = *state;
    struct engine *engine = fleet_sim_engine(&w->fs);
    struct moment now = {.mono_ms = fleet_sim_now(&w->fs), .wall_ms = 1};
    struct step_ending ending = {.outcome = OUTCOME_NONE};
    w->fs.internal_errors = 1;
    step_finish(engine->fleet, job_of(w), TRIGGER_ON_TARGET, &ending, now, &engine->fx);
    assert_non_null(job_of(w));
    run_for(w, 100);
    assert_int_equal(internal_errors(w), 1);
    assert_true(job_of(w)->frozen);
    assert_non_null(strstr(job_of(w)->wait.reason, "final without an outcome"));
    assert_int_equal(job_of(w)->phase, PHASE_RUNNING);
}

struct asking {
    struct engine_requests requests;
    const char *name;
    struct err err;
    atomic_bool done;
    bool accepted;
};

static void *ask(void *ctx)
{
    struct asking *asking = ctx;
    asking->accepted = asking->requests.cancel(asking->requests.ctx, "default", asking->name,
                                               "operator", false, &asking->err);
    atomic_store(&asking->done, true);
    return NULL;
}

static void a_request_that_was_rolled_back_is_answered_with_an_internal_error(void **state)
{
    struct world *w = *state;
    struct engine *engine = fleet_sim_engine(&w->fs);
    w->fs.internal_errors = 1;
    engine->fleet->config.parallel_per_fleet = 1;
    fleet_sim_migrate(&w->fs, 2, 1);
    run_for(w, 200);
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(2, uuid);
    struct job *job = fleet_active_job(engine->fleet, uuid);
    assert_int_equal(job->phase, PHASE_PENDING);
    job->history.n_steps = PHASE_COUNT;

    pthread_t thread;
    struct asking asking = {.requests = engine_requests(engine), .name = strdup(job->name)};
    assert_int_equal(pthread_create(&thread, NULL, ask, &asking), 0);
    while (!atomic_load(&asking.done)) {
        run_for(w, 1);
        clock_sleep_ms(1);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(asking.accepted);
    assert_int_equal(asking.err.code, ERR_INTERNAL);
    assert_non_null(strstr(asking.err.text, "no step 'cancelled' from Pending"));
    job = fleet_active_job(engine->fleet, uuid);
    assert_int_equal(job->phase, PHASE_PENDING);
    assert_true(job->frozen);
    assert_false(job->abort.asked);
    run_for(w, 600 * 1000); /* its slot is free by now; it is not started */
    assert_string_equal(sim_guest_host(w->fs.sim, uuid), "h0");
    free((void *)(uintptr_t)asking.name);
}

TEST_FILE(test_internal_error)
{
    const struct CMUnitTest tests[] = {
#define STORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
        STORY(an_illegal_step_is_rolled_back_and_its_migration_frozen),
        STORY(other_migrations_go_on_beside_a_frozen_one),
        STORY(a_frozen_migration_takes_no_abort_and_recover_adopts_it),
        STORY(an_operator_override_ends_a_frozen_migration),
        STORY(a_restart_adopts_what_was_frozen),
        STORY(a_frozen_migration_keeps_the_page_of_a_guest_that_runs_twice),
        STORY(a_flawed_end_is_rolled_back_before_anything_follows_from_it),
        STORY(a_frozen_migration_gives_its_slots_back_after_a_minute),
        STORY(a_job_that_cannot_be_read_holds_its_guest_and_stops_nothing_else),
        STORY(rows_that_allow_no_step_freeze_a_migration_at_each_restart),
        STORY(a_request_that_was_rolled_back_is_answered_with_an_internal_error),
#undef STORY
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
