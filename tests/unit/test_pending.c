/* test_pending.c - everything a migration can wait for: a story for each row of pending.def, since
 * when and until when it is shown, and what happens when the time is over. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/control/admission.h"
#include "tests/core_move.h"

/* ---- stories: each leaves g1 waiting for one row ---- */

static void slot_fleet(struct core_world *w)
{
    w->fleet->config.parallel_per_fleet = 1;
    core_add_guests(w, "h1", 2, 2);
    assert_non_null(core_ask(w, "g2", NULL));
    assert_non_null(core_ask(w, "g1", NULL));
}

static void slot_source(struct core_world *w)
{
    w->fleet->config.parallel_outbound_per_node = 1;
    core_add_guests(w, "h1", 2, 2);
    assert_non_null(core_ask(w, "g2", NULL));
    assert_non_null(core_ask(w, "g1", NULL));
}

static void slot_target(struct core_world *w)
{
    w->fleet->config.parallel_inbound_per_node = 1;
    core_add_guests(w, "h1", 2, 2);
    assert_non_null(core_ask(w, "g2", NULL));
    assert_non_null(core_ask(w, "g1", NULL));
}

static void bandwidth(struct core_world *w)
{
    w->fleet->config.bandwidth_per_node = 1 << 20;
    core_add_guests(w, "h1", 2, 2);
    assert_non_null(core_ask(w, "g2", NULL));
    assert_non_null(core_ask(w, "g1", NULL));
}

static struct job *automatic(struct core_world *w)
{
    struct err err = {0};
    struct job *job = admission_automatic(
        w->fleet, fleet_guest(w->fleet, CORE_GUEST),
        (struct automatic_request){ORIGIN_UPDATE, PRIORITY_SYSTEM_MAINTENANCE, "ferry", "auto-"},
        w->now, &w->fx, &err);
    assert_non_null(job);
    core_settle(w);
    return job;
}

static void backoff(struct core_world *w)
{
    (void)automatic(w);
    core_fails(w, "g1");
    (void)automatic(w);
}

static void quota(struct core_world *w)
{
    assert_true(core_put(w, OBJECT_QUOTA, "small", "{\"hard\":{\"pods\":1}}"));
    assert_non_null(core_ask(w, "g1", NULL));
}

static void guest_unseen(struct core_world *w)
{
    w->fleet->config.parallel_per_fleet = 1;
    core_add_guests(w, "h2", 2, 2);
    assert_non_null(core_ask(w, "g2", &(struct core_request){.target = "h1"}));
    assert_non_null(core_ask(w, "g1", NULL));
    w->source = CORE_ABSENT;
    core_guest(w, "g1")->host[0] = '\0';
    core_list(w, "h1");
    core_fails(w, "g2");
    core_settle(w);
}

static void source_unreachable(struct core_world *w)
{
    core_connect(w, "h1", false);
    assert_non_null(core_ask(w, "g1", NULL));
}

static void guest_busy(struct core_world *w)
{
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void unschedulable(struct core_world *w)
{
    core_connect(w, "h2", false);
    assert_non_null(core_ask(w, "g1", NULL));
}

static void backup(struct core_world *w)
{
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void block_job(struct core_world *w)
{
    core_guest(w, "g1")->facts.block_jobs = 1;
    core_define(w, "g1");
    assert_non_null(core_ask(w, "g1", NULL));
}

static void utility_volumes(struct core_world *w)
{
    core_guest(w, "g1")->facts.utility_disks = 1;
    core_define(w, "g1");
    assert_non_null(core_ask(w, "g1", NULL));
}

static void preparing(struct core_world *w)
{
    core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
    core_define(w, "g1");
    w->loses.cpus = true;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void target_silent(struct core_world *w)
{
    w->target = CORE_BLIND;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void store(struct core_world *w)
{
    unschedulable(w);
    w->fleet->store_ok = false;
    core_connect(w, "h2", true);
    core_list(w, "h2"); /* it could go now */
    core_settle(w);
}

static void foreign(struct core_world *w) /* to h2; it takes long */
{
    struct input input = {
        .kind = INPUT_EVENT,
        .of.event = {.kind = HV_EVENT_LIFECYCLE, .a = HV_LIFECYCLE_STARTED, .b = 1, .host = "h2"}};
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    w->target = CORE_INCOMING;
    core_feed(w, &input);
    guest_busy(w);
}

static const struct {
    enum pending pending;
    void (*story)(struct core_world *);
    enum phase phase;
    int64_t limit_s;
    const char *gives_up; /* part of its failure */
} rows[] = {
    {PENDING_SLOT_FLEET, slot_fleet, PHASE_PENDING, 86400,
     "timed out in phase Pending after 86400 s"},
    {PENDING_SLOT_SOURCE, slot_source, PHASE_PENDING, 86400,
     "after 86400 s: 1 migrations leave h1"},
    {PENDING_SLOT_TARGET, slot_target, PHASE_PENDING, 86400, "after 86400 s: 0/2 nodes"},
    {PENDING_BANDWIDTH, bandwidth, PHASE_PENDING, 86400, "after 86400 s: migrations from h1"},
    {PENDING_QUOTA, quota, PHASE_PENDING, 3600, "after 3600 s: exceeded quota: small"},
    {PENDING_GUEST_UNSEEN, guest_unseen, PHASE_PENDING, 900, "after 900 s: the guest has not been"},
    {PENDING_SOURCE_UNREACHABLE, source_unreachable, PHASE_PENDING, 900, "after 900 s: node h1"},
    {PENDING_GUEST_BUSY, guest_busy, PHASE_PENDING, 900,
     "after 900 s: a migration that Ferry did not start"},
    {PENDING_FOREIGN, foreign, PHASE_PENDING, 900,
     "after 900 s: somebody else migrates the guest from h1 to h2 (manager: unknown)"},
    {PENDING_UNSCHEDULABLE, unschedulable, PHASE_PENDING, 300,
     "after 300 s: 0/2 nodes are available: 1 not-ready, 1 source-node"},
    {PENDING_BACKUP, backup, PHASE_PENDING, 3600, "after 3600 s: Waiting for backup of g1"},
    {PENDING_BACKUP, block_job, PHASE_PENDING, 3600, "after 3600 s: Waiting for block job of g1"},
    {PENDING_UTILITY_VOLUMES, utility_volumes, PHASE_PENDING, 150,
     "Migration timeout waiting for utility volumes to detach from VMI [default/g1]. Utility "
     "volumes still present after 150 seconds."},
    {PENDING_PREPARING, preparing, PHASE_SCHEDULING, 60, "after 60 s: asking h2 whether"},
    {PENDING_TARGET_SILENT, target_silent, PHASE_PREPARING_TARGET, 60,
     "timed out in phase PreparingTarget after 60 s: node h2 did not answer"},
    {PENDING_STORE, store, PHASE_PENDING, 900, "after 900 s: the store is not writable"},
};

/* Up to a moment before the deadline, in leaps: nothing that matters happens between. */
static void leap(struct core_world *w, int64_t ms)
{
    while (ms > 0) {
        int64_t by = ms < 1000 ? ms : 1000;
        w->now.mono_ms += by;
        w->now.wall_ms += by;
        core_settle(w);
        ms -= by;
    }
}

static void every_wait_says_since_when_and_until_when(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        rows[i].story(w);
        core_phase(w, "g1", rows[i].phase);
        core_waits(w, "g1", rows[i].pending);
        const struct job *job = core_job_of(w, "g1");
        if (job->wait.until_ms - job->wait.since_ms != rows[i].limit_s * 1000)
            fail_msg("%s: %lld ms", pending_name(rows[i].pending),
                     (long long)(job->wait.until_ms - job->wait.since_ms));
        core_free(w);
    }
}

static void every_wait_ends_the_job_at_its_deadline_and_not_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        rows[i].story(w);
        const struct job *job = core_job_of(w, "g1");
        leap(w, job->wait.until_ms - w->now.wall_ms - 100);
        core_phase(w, "g1", rows[i].phase);
        core_waits(w, "g1", rows[i].pending);
        leap(w, 200);
        core_phase(w, "g1", PHASE_FAILED);
        assert_int_equal(job->result.outcome, OUTCOME_FAILED);
        if (strstr(job->result.failure_reason, rows[i].gives_up) == NULL)
            fail_msg("%s: '%s'", pending_name(rows[i].pending), job->result.failure_reason);
        assert_true(core_count_events(w, "FailedMigration", job->result.failure_reason) == 1);
        assert_false(job->placement.reserved);
        assert_int_equal(job->placement.launcher,
                         rows[i].phase == PHASE_PENDING ? LAUNCHER_NONE : LAUNCHER_FAILED);
        core_ledger(w);
        core_free(w);
    }
}

/* Rows without a deadline have an end of their own: a backoff the time it names, an unproven
 * outcome the hosts' word, a stalled stream and a recovery their own deadlines (test_remedy.c,
 * test_recovery.c). STORAGE is told in test_volumes.c, DEFINITION in test_definition_wait.c. */
static void every_row_is_told_or_has_an_end_of_its_own(void **state)
{
    (void)state;
    for (enum pending row = PENDING_NONE + 1; row < PENDING_COUNT; row++) {
        bool told = row == PENDING_STORAGE || row == PENDING_UNCONFIRMED;
        for (size_t i = 0; i < COUNT(rows); i++)
            told = told || rows[i].pending == row || row == PENDING_DEFINITION;
        bool own_end = row == PENDING_BACKOFF || row == PENDING_UNPROVEN ||
                       row == PENDING_STALLED || row == PENDING_RECOVERY ||
                       row == PENDING_INTERNAL_ERROR;
        assert_true(told || own_end);
        assert_true(own_end == (pending_limit_ms(row) == 0));
    }
}

static void a_backoff_ends_by_itself_and_shows_when(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    backoff(w);
    const struct job *job = core_job_of(w, "g1");
    core_waits(w, "g1", PENDING_BACKOFF);
    assert_int_equal(core_count_events(w, "MigrationBackoff", "backoff migrating vmi default/g1"),
                     1);
    assert_in_range(job->wait.until_ms - job->wait.since_ms, 19000, 20000);
    leap(w, job->wait.until_ms - w->now.wall_ms - 100);
    core_waits(w, "g1", PENDING_BACKOFF);
    leap(w, 200);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_fails(w, "g1");
    job = automatic(w);
    assert_in_range(job->wait.until_ms - job->wait.since_ms, 39000, 40000); /* doubled */
    core_free(w);
}

static void a_human_never_waits_for_a_backoff(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    backoff(w);
    core_abort_asked(w, "g1");
    assert_non_null(core_ask(w, "g1", NULL));
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_fails(w, "g1");
    assert_non_null(core_ask(w, "g1", NULL)); /* nor for his own failures */
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

static void success_ends_the_backoff(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    backoff(w);
    core_abort_asked(w, "g1");
    assert_non_null(core_ask(w, "g1", NULL));
    core_arrives(w, "g1");
    (void)automatic(w);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* ---- annotations ---- */

#define SAYS(key, value) "{\"annotations\":{\"kubevirt.io/" key "\":\"" value "\"}}"

static const struct {
    void (*before)(struct core_world *);
    const char *metadata;
    int64_t limit_s;
} overrides[] = {
    {unschedulable, SAYS("migrationUnschedulablePodTimeoutSeconds", "30"), 30},
    {unschedulable, SAYS("migrationPendingPodTimeoutSeconds", "30"), 300},
    {unschedulable, SAYS("migrationUnschedulablePodTimeoutSeconds", "soon"), 300},
    {unschedulable, SAYS("migrationUnschedulablePodTimeoutSeconds", "-5"), 300},
    {unschedulable, SAYS("migrationUnschedulablePodTimeoutSeconds", ""), 300},
    {unschedulable, SAYS("migrationUnschedulablePodTimeoutSeconds", "30s"), 300},
    {source_unreachable, SAYS("migrationPendingPodTimeoutSeconds", "40"), 40},
    {guest_busy, SAYS("migrationPendingPodTimeoutSeconds", "40"), 40},
    {guest_busy, SAYS("migrationPendingPodTimeoutSeconds", "x"), 900},
    {utility_volumes, SAYS("migrationUtilityVolumesTimeoutSeconds", "20"), 20},
    {utility_volumes, SAYS("migrationUtilityVolumesTimeoutSeconds", "[]"), 150},
    {utility_volumes, SAYS("migrationUnschedulablePodTimeoutSeconds", "20"), 150},
    {unschedulable, "{\"annotations\":[]}", 300},
    {unschedulable, "{\"annotations\":null}", 300},
};

static void annotations_override_and_nonsense_is_passed_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(overrides); i++) {
        struct core_world *w = core_new();
        overrides[i].before(w);
        core_abort_asked(w, "g1"); /* as before, but with the annotation */
        assert_non_null(
            core_ask(w, "g1", &(struct core_request){.metadata = overrides[i].metadata}));
        const struct job *job = core_job_of(w, "g1");
        if (job->wait.until_ms - job->wait.since_ms != overrides[i].limit_s * 1000)
            fail_msg("%s: %lld ms", overrides[i].metadata,
                     (long long)(job->wait.until_ms - job->wait.since_ms));
        leap(w, overrides[i].limit_s * 1000 + 100);
        core_phase(w, "g1", PHASE_FAILED);
        core_free(w);
    }
}

/* ---- never ---- */

static void what_can_never_match_fails_at_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_non_null(core_ask(w, "g1", &(struct core_request){.selector = "{\"zone\":\"mars\"}"}));
    core_phase(w, "g1", PHASE_FAILED);
    assert_non_null(strstr(core_job_of(w, "g1")->result.failure_reason,
                           "no node can ever take the guest: 0/2 nodes are available: "
                           "1 selector, 1 source-node."));
    core_size(w, "h2", 32, 8);
    assert_non_null(core_ask(w, "g1", NULL)); /* 64 MiB */
    core_phase(w, "g1", PHASE_FAILED);
    assert_non_null(strstr(core_job_of(w, "g1")->result.failure_reason, "1 memory-ever"));
    assert_int_equal(w->migrates, 0);
    core_clean(w);
    core_free(w);
}

static void one_node_that_may_do_later_is_waited_for(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_size(w, "h2", 32, 8);
    core_connect(w, "h3", false);
    assert_non_null(core_ask(w, "g1", NULL));
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    assert_int_equal(core_count_events(w, "migrationTargetPodUnschedulable",
                                       "Migration target pod for VMI [default/g1] is currently "
                                       "unschedulable."),
                     1);
    core_advance(w, 60000);
    assert_int_equal(core_count_events(w, "migrationTargetPodUnschedulable", NULL), 1); /* once */
    core_free(w);
}

/* ---- waits that follow one another ---- */

static void each_wait_has_its_own_clock_and_it_goes_on(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    unschedulable(w);
    leap(w, 200000);
    core_connect(w, "h1", false); /* another wait: 100 s of it */
    core_guest(w, "g1")->facts.block_jobs = 1;
    fleet_queue_ready(w->fleet, core_job_of(w, "g1"));
    core_feed(w, &(struct input){.kind = INPUT_TICK});
    core_waits(w, "g1", PENDING_SOURCE_UNREACHABLE);
    leap(w, 100000);
    core_connect(w, "h1", true);
    core_settle(w);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE); /* 200 s are used up already */
    const struct job *job = core_job_of(w, "g1");
    assert_in_range(job->wait.until_ms - w->now.wall_ms, 90000, 100100);
    leap(w, 100200);
    core_phase(w, "g1", PHASE_FAILED);
    core_free(w);
}

/* ---- a backup in the way ---- */

static void a_backup_is_asked_about_at_the_pace_of_the_class(void **state)
{
    (void)state;
    static const struct {
        const char *class;
        unsigned asks; /* in 30 s */
    } paces[] = {
        {"system-critical", 30}, {"user-triggered", 10}, {"system-maintenance", 6}, {"none", 6}};
    for (size_t i = 0; i < COUNT(paces); i++) {
        struct core_world *w = core_new();
        w->job_type = HV_JOB_UNBOUNDED;
        w->job_operation = HV_OPERATION_BACKUP;
        assert_non_null(core_ask(w, "g1", &(struct core_request){.priority = paces[i].class}));
        w->asks.jobs = 0;
        core_advance(w, 30000);
        assert_in_range(w->asks.jobs, paces[i].asks - 1, paces[i].asks + 1);
        w->job_type = HV_JOB_NONE; /* it is over */
        core_advance(w, 5100);
        core_phase(w, "g1", PHASE_TARGET_READY);
        core_free(w);
    }
}

static void a_backup_is_aborted_once_for_what_cannot_wait_where_the_policy_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *class;
        bool allowed, block_job;
        unsigned stops;
    } cases[] = {
        {"system-critical", true, false, 1},
        {"system-critical", false, false, 0},
        {"user-triggered", true, false, 0},
        {"system-maintenance", true, false, 0},
        {"none", true, false, 0},
        {"system-critical", true, true, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct core_world *w = core_new();
        if (cases[i].allowed)
            assert_true(
                core_put(w, OBJECT_POLICY, "p", "{\"selectors\":{},\"allowBackupAbort\":true}"));
        w->job_type = cases[i].block_job ? HV_JOB_NONE : HV_JOB_UNBOUNDED;
        w->job_operation = HV_OPERATION_BACKUP;
        core_guest(w, "g1")->facts.block_jobs = cases[i].block_job;
        core_define(w, "g1");
        assert_non_null(core_ask(w, "g1", &(struct core_request){.priority = cases[i].class}));
        core_advance(w, 60000);
        core_waits(w, "g1", PENDING_BACKUP);
        assert_int_equal(w->backup_stops, cases[i].stops);
        assert_int_equal(core_count_events(w, "BackupAbortedForMigration",
                                           "Aborting backup of g1 for system-critical migration"),
                         cases[i].stops);
        core_free(w);
    }
}

/* What the answer says about the next look at the same backup. */
static void the_record_of_a_stopped_backup_is_closed_by_its_answer(void **state)
{
    (void)state;
    static const struct {
        enum err_code says;
        unsigned stops;
        const char *waits;
    } answers[] = {
        {ERR_NONE, 1, "Waiting for the aborted backup of g1 to complete"},
        {ERR_HYPERVISOR, 1, "Waiting for backup of g1 to complete"}, /* it was asked, and said no */
        {ERR_UNREACHABLE, 2, "Waiting for the aborted backup of g1 to complete"},
        {ERR_REFUSED, 2, "Waiting for the aborted backup of g1 to complete"}, /* never given */
    };
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct core_world *w = core_new();
        w->fleet->config.migration.backup_abort = true;
        w->job_type = HV_JOB_UNBOUNDED;
        w->job_operation = HV_OPERATION_BACKUP;
        w->loses.stops = true;
        const struct job *job =
            core_ask(w, "g1", &(struct core_request){.priority = "system-critical"});
        core_advance(w, 5000); /* while it is out nothing follows from looks */
        assert_int_equal(w->backup_stops, 1);
        assert_int_equal(core_open_intents(w), 1);
        core_stop_answered(w, answers[i].says);
        assert_int_equal(core_open_intents(w), 0);
        assert_int_equal(w->backup_stops, 1);
        w->loses.stops = false;
        core_advance(w, 5000);
        assert_int_equal(w->backup_stops, answers[i].stops);
        assert_string_equal(job->wait.reason, answers[i].waits);
        assert_int_equal(core_open_intents(w), 0);
        core_free(w);
    }
}

static void a_job_that_ends_first_still_closes_the_record(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.migration.backup_abort = true;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    w->loses.stops = true;
    const struct job *job =
        core_ask(w, "g1", &(struct core_request){.priority = "system-critical"});
    TEXT_SET(w->job, job->uid);
    core_cancel(w);
    assert_int_equal(job->result.outcome, OUTCOME_ABORTED);
    assert_int_equal(core_open_intents(w), 1);
    core_stop_answered(w, ERR_NONE);
    assert_int_equal(core_open_intents(w), 0);
    core_free(w);
}

static void other_jobs_on_the_guest_are_waited_for_too(void **state)
{
    (void)state;
    for (int operation = HV_OPERATION_START; operation <= HV_OPERATION_SNAPSHOT_DELETE;
         operation++) {
        struct core_world *w = core_new();
        w->fleet->config.migration.backup_abort = true;
        w->job_type = HV_JOB_UNBOUNDED;
        w->job_operation = operation;
        assert_non_null(core_ask(w, "g1", &(struct core_request){.priority = "system-critical"}));
        core_advance(w, 5000);
        assert_int_equal(w->backup_stops, operation == HV_OPERATION_BACKUP);
        core_waits(w, "g1",
                   operation == HV_OPERATION_MIGRATION_OUT ? PENDING_GUEST_BUSY : PENDING_BACKUP);
        assert_int_equal(w->migrates, 0);
        core_free(w);
    }
}

static void a_block_job_that_ends_lets_it_go(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    block_job(w);
    core_guest(w, "g1")->facts.block_jobs = 0;
    core_define(w, "g1"); /* told by an event, not found by asking */
    core_settle(w);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

static void utility_volumes_are_told_of_with_the_time_left(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    utility_volumes(w);
    assert_int_equal(core_count_events(w, "UtilityVolumeMigrationPending",
                                       "Migration waiting for utility volumes to detach from VMI "
                                       "[default/g1]. Will timeout in 150 seconds."),
                     1);
    core_guest(w, "g1")->facts.utility_disks = 0;
    core_define(w, "g1");
    core_settle(w);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

TEST_FILE(test_pending)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wait_says_since_when_and_until_when),
        cmocka_unit_test(every_wait_ends_the_job_at_its_deadline_and_not_before),
        cmocka_unit_test(every_row_is_told_or_has_an_end_of_its_own),
        cmocka_unit_test(a_backoff_ends_by_itself_and_shows_when),
        cmocka_unit_test(a_human_never_waits_for_a_backoff),
        cmocka_unit_test(success_ends_the_backoff),
        cmocka_unit_test(annotations_override_and_nonsense_is_passed_over),
        cmocka_unit_test(what_can_never_match_fails_at_once),
        cmocka_unit_test(one_node_that_may_do_later_is_waited_for),
        cmocka_unit_test(each_wait_has_its_own_clock_and_it_goes_on),
        cmocka_unit_test(a_backup_is_asked_about_at_the_pace_of_the_class),
        cmocka_unit_test(a_backup_is_aborted_once_for_what_cannot_wait_where_the_policy_says_so),
        cmocka_unit_test(the_record_of_a_stopped_backup_is_closed_by_its_answer),
        cmocka_unit_test(a_job_that_ends_first_still_closes_the_record),
        cmocka_unit_test(other_jobs_on_the_guest_are_waited_for_too),
        cmocka_unit_test(a_block_job_that_ends_lets_it_go),
        cmocka_unit_test(utility_volumes_are_told_of_with_the_time_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
