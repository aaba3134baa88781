/* test_transitions.c - KubeVirt's tables of transitions, row by row, on the phases of phase.def.
 *
 * Rows of the normal transitions that cannot occur here: WaitingForSync and Synchronizing (a
 * migration between clusters); the attachment pod of hot-plugged volumes, and the hand-over of
 * backend storage (there are no such pods and volumes). A change of size does not keep a job in
 * Running: libvirt applies it on either host. KubeVirt takes one step per look; here a job goes as
 * far as the facts allow.
 *
 * Rows of the failures that cannot occur: the guest's migration state cleared or taken over by
 * another job (7, 8: it is the job's own record, and a guest has one unfinished job), the
 * attachment pod (11), and the recovery of backend storage ("interrupt").
 */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/core_world.h"

/* How often a step was recorded. */
static unsigned went(const struct core_world *w, enum phase from, enum phase to, enum trigger why)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++) {
        const struct effect *e = &w->fx.list[i];
        n += e->kind == EFFECT_STEP && e->of.step.from == from && e->of.step.to == to &&
             (from == PHASE_NONE || e->of.step.why == why);
    }
    return n;
}

/* ---- ways to a phase ---- */

static void is_new(struct core_world *w)
{
    w->loses.jobs = true; /* whether its host is at work with it is not answered yet */
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
}

static void has_a_backup(struct core_world *w)
{
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
}

static void has_utility_volumes(struct core_world *w)
{
    core_guest(w, "g1")->facts.utility_disks = 1;
    core_define(w, "g1");
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
}

static void is_scheduling(struct core_world *w)
{
    core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
    core_define(w, "g1");
    w->loses.cpus = true;
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
}

static void is_preparing(struct core_world *w)
{
    w->target = CORE_BLIND;
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
}

static void is_ready(struct core_world *w)
{
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
}

static void runs(struct core_world *w)
{
    is_ready(w);
    core_sample(w);
    w->target = CORE_INCOMING;
}

/* ---- what happens then ---- */

static void nothing(struct core_world *w)
{
    core_advance(w, 500);
}

static void host_answers(struct core_world *w)
{
    w->loses.jobs = false;
    core_advance(w, 13000); /* an answer that got lost is not awaited for ever */
}

static void cpu_is_told(struct core_world *w)
{
    struct input answer = {
        .kind = INPUT_CPU, .id = core_job(w)->placement.probe_id, .of.comparison = 2};
    TEXT_SET(answer.host, "h2");
    TEXT_SET(answer.guest, CORE_GUEST);
    core_feed(w, &answer);
}

static void target_answers(struct core_world *w)
{
    w->target = CORE_ABSENT;
    core_advance(w, 1200);
}

static void memory_moves(struct core_world *w)
{
    core_sample(w);
}

static void an_iteration_begins(struct core_world *w)
{
    struct input input = {.kind = INPUT_EVENT, .of.event.kind = HV_EVENT_ITERATION};
    TEXT_SET(input.of.event.host, "h1");
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    core_feed(w, &input);
}

static void target_starts(struct core_world *w)
{
    struct input input = {.kind = INPUT_EVENT, .of.event.kind = HV_EVENT_LIFECYCLE};
    input.of.event.a = HV_LIFECYCLE_STARTED;
    TEXT_SET(input.of.event.host, "h2");
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    core_feed(w, &input);
}

static void it_arrives(struct core_world *w)
{
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
}

static void it_is_on_both(struct core_world *w)
{
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    core_advance(w, 3000);
}

static void call_fails(struct core_world *w)
{
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
}

static void guest_shuts_down(struct core_world *w)
{
    w->source =
        (struct hv_observation){HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN, true, -1, 0, 0};
    w->target = CORE_ABSENT;
    core_guest(w, "g1")->is.state = HV_STATE_SHUTOFF;
    core_list(w, "h1");
    if (core_guest(w, "g1")->migrate_id != 0)
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 12000);
}

static void guest_vanishes(struct core_world *w)
{
    w->source = w->target = CORE_ABSENT;
    core_guest(w, "g1")->host[0] = '\0';
    core_list(w, "h1");
    if (core_guest(w, "g1")->migrate_id != 0)
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 12000);
}

static void is_deleted(struct core_world *w)
{
    core_cancel(w);
}

static void target_is_lost(struct core_world *w)
{
    core_connect(w, "h2", false);
    w->target = CORE_BLIND;
    core_advance(w, 2000);
}

static void target_stays_lost(struct core_world *w)
{
    target_is_lost(w);
    core_advance(w, 310000);
}

/* ---- the tables ---- */

static const struct {
    const char *row;
    void (*from)(struct core_world *);
    void (*then)(struct core_world *);
    enum phase was, is;
    enum trigger why; /* TRIGGER_COUNT: it stays */
    const char *says; /* part of why it waits, or why it failed */
} rows[] = {
    /* Normal transitions */
    {"unset -> Pending: the guest is free", is_new, nothing, PHASE_PENDING, PHASE_PENDING,
     TRIGGER_COUNT, "asking node h1 whether a job runs"},
    {"Pending stays: a backup is in progress", has_a_backup, nothing, PHASE_PENDING, PHASE_PENDING,
     TRIGGER_COUNT, "Waiting for backup of g1 to complete"},
    {"Pending stays: utility volumes", has_utility_volumes, nothing, PHASE_PENDING, PHASE_PENDING,
     TRIGGER_COUNT, "Migration waiting for utility volumes to detach from VMI [default/g1]."},
    {"Pending -> Scheduling: a target launcher exists", is_new, host_answers, PHASE_PENDING,
     PHASE_TARGET_READY, TRIGGER_ADMITTED, ""},
    {"Scheduling stays: the launcher is not ready", is_scheduling, nothing, PHASE_SCHEDULING,
     PHASE_SCHEDULING, TRIGGER_COUNT, "h2 whether it has the guest's CPU"},
    {"Scheduling -> Scheduled: the launcher is ready", is_scheduling, cpu_is_told, PHASE_SCHEDULING,
     PHASE_PREPARING_TARGET, TRIGGER_PLACED, ""},
    {"PreparingTarget stays: the target does not answer", is_preparing, nothing,
     PHASE_PREPARING_TARGET, PHASE_PREPARING_TARGET, TRIGGER_COUNT, "node h2 did not answer"},
    {"PreparingTarget -> TargetReady: it answers", is_preparing, target_answers,
     PHASE_PREPARING_TARGET, PHASE_TARGET_READY, TRIGGER_TARGET_CHECKED, ""},
    {"TargetReady stays: nothing moves yet", is_ready, nothing, PHASE_TARGET_READY,
     PHASE_TARGET_READY, TRIGGER_COUNT, ""},
    {"TargetReady -> Running: it started", is_ready, memory_moves, PHASE_TARGET_READY,
     PHASE_RUNNING, TRIGGER_MOVING, ""},
    {"TargetReady -> Running: an iteration began", is_ready, an_iteration_begins,
     PHASE_TARGET_READY, PHASE_RUNNING, TRIGGER_MOVING, ""},
    {"TargetReady -> Running: the target started", is_ready, target_starts, PHASE_TARGET_READY,
     PHASE_RUNNING, TRIGGER_MOVING, ""},
    {"Running -> Succeeded: completed", runs, it_arrives, PHASE_RUNNING, PHASE_SUCCEEDED,
     TRIGGER_ON_TARGET, ""},
    {"Running stays: completed is not proven", runs, it_is_on_both, PHASE_RUNNING, PHASE_RUNNING,
     TRIGGER_COUNT, ""},
    {"TargetReady -> Succeeded: faster than the eye", is_ready, it_arrives, PHASE_TARGET_READY,
     PHASE_SUCCEEDED, TRIGGER_ON_TARGET, ""},
    /* 2, 3: the guest is gone or off */
    {"guest gone: Scheduling -> Failed", is_scheduling, guest_vanishes, PHASE_SCHEDULING,
     PHASE_FAILED, TRIGGER_IMPOSSIBLE, "the guest is no longer on its node"},
    {"guest gone: PreparingTarget -> Failed", is_preparing, guest_vanishes, PHASE_PREPARING_TARGET,
     PHASE_FAILED, TRIGGER_IMPOSSIBLE, "the guest no longer runs on h1"},
    {"guest gone: Running -> Failed", runs, guest_vanishes, PHASE_RUNNING, PHASE_FAILED,
     TRIGGER_LOST, "the guest runs on neither node"},
    {"guest off: PreparingTarget -> Failed", is_preparing, guest_shuts_down, PHASE_PREPARING_TARGET,
     PHASE_FAILED, TRIGGER_IMPOSSIBLE, "the guest no longer runs on h1"},
    {"guest off: Running -> Failed", runs, guest_shuts_down, PHASE_RUNNING, PHASE_FAILED,
     TRIGGER_LOST, "the guest runs on neither node: off on h1"},
    /* 4: deleted before hand-off, and here until the call is made: at once */
    {"deleted: Pending -> Failed", is_new, is_deleted, PHASE_PENDING, PHASE_FAILED,
     TRIGGER_CANCELLED, "cancelled by tester before the migrate call"},
    {"deleted: Scheduling -> Failed", is_scheduling, is_deleted, PHASE_SCHEDULING, PHASE_FAILED,
     TRIGGER_CANCELLED, "cancelled by tester before the migrate call"},
    {"deleted: PreparingTarget -> Failed", is_preparing, is_deleted, PHASE_PREPARING_TARGET,
     PHASE_FAILED, TRIGGER_CANCELLED, "cancelled by tester before the migrate call"},
    /* 5, 6: the target launcher is down or gone */
    {"target lost: Scheduling stays and looks for another", is_scheduling, target_is_lost,
     PHASE_SCHEDULING, PHASE_SCHEDULING, TRIGGER_COUNT, "1 not-ready"},
    {"target lost: Scheduling -> Failed", is_scheduling, target_stays_lost, PHASE_SCHEDULING,
     PHASE_FAILED, TRIGGER_WAITED_TOO_LONG, "timed out in phase Scheduling after 300 s"},
    {"target lost: PreparingTarget -> Failed", is_preparing, target_stays_lost,
     PHASE_PREPARING_TARGET, PHASE_FAILED, TRIGGER_WAITED_TOO_LONG,
     "timed out in phase PreparingTarget after 60 s"},
    {"target lost: Running stays, an unreachable host is no outcome", runs, target_is_lost,
     PHASE_RUNNING, PHASE_RUNNING, TRIGGER_COUNT, ""},
    /* 9: the source reports failure */
    {"call fails: TargetReady -> Failed", is_ready, call_fails, PHASE_TARGET_READY, PHASE_FAILED,
     TRIGGER_ON_SOURCE, "operation failed"},
    {"call fails: Running -> Failed", runs, call_fails, PHASE_RUNNING, PHASE_FAILED,
     TRIGGER_ON_SOURCE, "operation failed"},
    /* 10: deleted after hand-off: the request is recorded, the hosts decide */
    {"deleted: TargetReady stays", is_ready, is_deleted, PHASE_TARGET_READY, PHASE_TARGET_READY,
     TRIGGER_COUNT, ""},
    {"deleted: Running stays", runs, is_deleted, PHASE_RUNNING, PHASE_RUNNING, TRIGGER_COUNT, ""},
};

static void check_row(size_t i)
{
    struct core_world *w = core_new();
    rows[i].from(w);
    core_phase(w, "g1", rows[i].was);
    rows[i].then(w);
    const struct job *job = core_job(w);
    const char *reason = job->phase == PHASE_FAILED ? job->result.failure_reason : job->wait.reason;
    if (job->phase != rows[i].is || strstr(reason, rows[i].says) == NULL)
        fail_msg("%s: it is %s, '%s'", rows[i].row, phase_name(job->phase), reason);
    if (rows[i].why < TRIGGER_COUNT &&
        went(w, rows[i].was, phase_next(rows[i].was, rows[i].why), rows[i].why) != 1)
        fail_msg("%s: not by %s", rows[i].row, trigger_name(rows[i].why));
    if (job->phase == PHASE_FAILED)
        assert_int_equal(core_count_events(w, "FailedMigration", job->result.failure_reason), 1);
    if (phase_is_final(job->phase))
        core_clean(w);
    core_free(w);
}

static void every_row_of_the_tables_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(i);
}

static void a_job_walks_through_every_phase_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    runs(w);
    it_arrives(w);
    assert_int_equal(went(w, PHASE_NONE, PHASE_PENDING, 0), 1);
    assert_int_equal(went(w, PHASE_PENDING, PHASE_SCHEDULING, TRIGGER_ADMITTED), 1);
    assert_int_equal(went(w, PHASE_SCHEDULING, PHASE_SCHEDULED, TRIGGER_PLACED), 1);
    assert_int_equal(went(w, PHASE_SCHEDULED, PHASE_PREPARING_TARGET, TRIGGER_HANDED_OFF), 1);
    assert_int_equal(went(w, PHASE_PREPARING_TARGET, PHASE_TARGET_READY, TRIGGER_TARGET_CHECKED),
                     1);
    assert_int_equal(went(w, PHASE_TARGET_READY, PHASE_RUNNING, TRIGGER_MOVING), 1);
    assert_int_equal(went(w, PHASE_RUNNING, PHASE_SUCCEEDED, TRIGGER_ON_TARGET), 1);
    const struct job *job = core_job(w);
    assert_int_equal(job->history.n_steps, 7);
    for (unsigned i = 1; i < job->history.n_steps; i++)
        assert_true(job->history.steps[i].wall_ms >= job->history.steps[i - 1].wall_ms);
    core_free(w);
}

/* 1: what is final stays as it is; only its record goes when it is deleted. */
static void a_final_job_changes_no_more(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    is_ready(w);
    call_fails(w);
    struct input stop = {.kind = INPUT_CANCEL};
    struct migration_ref ref;
    struct err err = {0};
    TEXT_SET(stop.of.cancel.ns, "default");
    TEXT_SET(stop.of.cancel.name, core_job(w)->name);
    assert_false(reconcile(w->fleet, &stop, w->now, &w->fx, &ref, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.text, "has already ended (Failed)"));
    err = (struct err){0};
    stop.of.cancel.remove = true;
    assert_true(reconcile(w->fleet, &stop, w->now, &w->fx, &ref, &err));
    core_settle(w);
    assert_int_equal(w->removes, 1);
    core_phase(w, "g1", PHASE_FAILED);
    core_free(w);
}

/* A finalizer: a job that is deleted stays until it is final. */
static void a_deleted_job_stays_until_it_is_final(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    runs(w);
    struct input stop = {.kind = INPUT_CANCEL, .of.cancel.remove = true};
    TEXT_SET(stop.of.cancel.ns, "default");
    TEXT_SET(stop.of.cancel.name, core_job(w)->name);
    TEXT_SET(stop.of.cancel.requester, "tester");
    core_feed(w, &stop);
    core_settle(w);
    assert_int_equal(w->removes, 0);
    assert_int_equal(w->aborts, 1);
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    assert_int_equal(w->removes, 0);
    call_fails(w);
    core_phase(w, "g1", PHASE_FAILED);
    assert_int_equal(core_job(w)->result.outcome, OUTCOME_ABORTED);
    assert_int_equal(w->removes, 1);
    core_free(w);
}

TEST_FILE(test_transitions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_tables_holds),
        cmocka_unit_test(a_job_walks_through_every_phase_once),
        cmocka_unit_test(a_final_job_changes_no_more),
        cmocka_unit_test(a_deleted_job_stays_until_it_is_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
