/* test_restart.c - the process ends between any two steps and another takes over: nothing is lost,
 * nothing is done twice, deadlines go on, and what was promised stays promised. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

enum { MIB = 1024 * 1024 };

static void waits(struct core_world *w)
{
    core_connect(w, "h2", false);
    assert_non_null(core_ask(w, "g1", NULL));
}

static void waits_for_quota(struct core_world *w)
{
    assert_true(core_put(w, OBJECT_QUOTA, "q", "{\"hard\":{\"pods\":1}}"));
    assert_non_null(core_ask(w, "g1", NULL));
}

static void is_scheduling(struct core_world *w)
{
    core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
    core_define(w, "g1");
    w->loses.cpus = true;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void is_preparing(struct core_world *w)
{
    w->loses.observations = true;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void is_called(struct core_world *w)
{
    assert_non_null(core_ask(w, "g1", NULL));
}

static void runs(struct core_world *w)
{
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
    core_sample(w);
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
}

static const struct {
    void (*to)(struct core_world *);
    enum phase phase;
    enum launcher launcher;
} places[] = {
    {waits, PHASE_PENDING, LAUNCHER_NONE},
    {waits_for_quota, PHASE_PENDING, LAUNCHER_NONE},
    {is_scheduling, PHASE_SCHEDULING, LAUNCHER_SCHEDULED},
    {is_preparing, PHASE_PREPARING_TARGET, LAUNCHER_PREPARED},
    {is_called, PHASE_TARGET_READY, LAUNCHER_READY},
    {runs, PHASE_RUNNING, LAUNCHER_READY},
};

/* What must be the same before and after. */
struct kept {
    char uid[JOB_UID_MAX], name[JOB_NAME_MAX], source[HV_HOST_MAX], target[HV_HOST_MAX];
    enum phase phase;
    enum priority priority;
    enum origin origin;
    enum launcher launcher;
    enum pending pending;
    bool reserved;
    uint64_t memory, vcpus, bandwidth, node_memory;
    int64_t epoch, created_ms, waits_since_ms, launcher_since_ms;
    unsigned n_steps, inbound, busy;
};

static struct kept keep(struct core_world *w)
{
    struct kept k;
    const struct job *job = core_job_of(w, "g1");
    memset(&k, 0, sizeof k);
    TEXT_SET(k.uid, job->uid);
    TEXT_SET(k.name, job->name);
    TEXT_SET(k.source, job->source);
    TEXT_SET(k.target, job->target);
    k.phase = job->phase;
    k.priority = job->request.priority;
    k.origin = job->request.origin;
    k.launcher = job->placement.launcher;
    k.pending = job->wait.pending;
    k.reserved = job->placement.reserved;
    k.memory = job->placement.reserved_memory_kib;
    k.vcpus = job->placement.reserved_vcpus;
    k.bandwidth = job->placement.reserved_bandwidth;
    k.node_memory = core_node(w, "h2")->reserved.memory_kib;
    k.epoch = job->epoch;
    k.created_ms = job->times.created_ms;
    k.waits_since_ms = job->wait.pending != PENDING_NONE ? job->wait.since_ms : 0;
    k.launcher_since_ms = job->placement.launcher_since_ms;
    k.n_steps = job->history.n_steps;
    k.inbound = core_node(w, "h2")->inbound;
    k.busy = w->fleet->busy_jobs;
    return k;
}

static void what_was_stored_is_what_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(places); i++) {
        struct core_world *w = core_new();
        w->fleet->config.bandwidth_per_node = 100 * MIB;
        places[i].to(w);
        core_advance(w, 5000);
        core_phase(w, "g1", places[i].phase);
        assert_int_equal(core_job_of(w, "g1")->placement.launcher, places[i].launcher);
        struct kept before = keep(w);
        core_restart_blind(w, 1000);
        struct kept after = keep(w);
        if (memcmp(&before, &after, sizeof before) != 0)
            fail_msg("%s: another after the restart: %s, reserved %d/%d, %llu/%llu KiB, since "
                     "%lld/%lld",
                     phase_name(places[i].phase), phase_name(after.phase), before.reserved,
                     after.reserved, (unsigned long long)before.memory,
                     (unsigned long long)after.memory, (long long)before.waits_since_ms,
                     (long long)after.waits_since_ms);
        core_ledger(w);
        core_free(w);
    }
}

/* From anywhere, the hosts being there again, it comes to its end; with one call that counts. */
static void every_job_goes_on_to_its_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(places); i++) {
        struct core_world *w = core_new();
        places[i].to(w);
        char uid[JOB_UID_MAX];
        TEXT_SET(uid, core_job_of(w, "g1")->uid);
        w->loses.cpus = w->loses.observations = false;
        core_restart(w, 2000);
        assert_int_equal(HASH_COUNT(w->fleet->jobs), 1);
        if (places[i].to == waits_for_quota)
            assert_true(core_remove(w, OBJECT_QUOTA, "q"));
        core_advance(w, 4000);
        assert_int_equal(HASH_COUNT(w->fleet->jobs), 1); /* not doubled */
        bool had_call = places[i].phase == PHASE_TARGET_READY;
        assert_int_equal(w->migrates, had_call ? 2 : 1); /* made again after proof, or the first */
        assert_int_equal(core_job_of(w, "g1")->epoch, had_call ? 2 : 1);
        if (places[i].to == runs) { /* watched, since the call is nobody's */
            w->source = CORE_ABSENT;
            w->target = CORE_ARRIVED;
            core_advance(w, 3000);
        } else {
            core_arrives(w, "g1");
        }
        core_phase(w, "g1", PHASE_SUCCEEDED);
        assert_string_equal(core_job_of(w, "g1")->uid, uid);
        core_clean(w);
        core_free(w);
    }
}

static void a_deadline_goes_on_while_nobody_is_there(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    waits(w);
    core_advance(w, 100000);
    int64_t until_ms = core_job_of(w, "g1")->wait.until_ms;
    core_restart_blind(w, 50000);
    core_connect(w, "h1", true);
    core_list(w, "h1");
    core_settle(w);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    int64_t now_until_ms = core_job_of(w, "g1")->wait.until_ms;
    assert_in_range(now_until_ms - until_ms + 1000, 0, 2000);
    core_advance(w, 149000);
    core_phase(w, "g1", PHASE_PENDING);
    core_advance(w, 2000);
    core_phase(w, "g1", PHASE_FAILED);
    core_free(w);
}

static void the_order_of_those_that_wait_is_kept(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.parallel_per_fleet = 1;
    core_add_guests(w, "h1", 2, 4);
    core_connect(w, "h2", false);
    assert_non_null(core_ask(w, "g3", &(struct core_request){.priority = "none"}));
    core_advance(w, 100);
    assert_non_null(core_ask(w, "g2", NULL));
    core_advance(w, 100);
    assert_non_null(core_ask(w, "g1", NULL));
    core_advance(w, 100);
    assert_non_null(core_ask(w, "g4", &(struct core_request){.priority = "system-critical"}));
    core_restart(w, 1000);
    core_advance(w, 500);
    core_phase(w, "g4", PHASE_TARGET_READY);
    core_fails(w, "g4");
    core_phase(w, "g2", PHASE_TARGET_READY);
    core_fails(w, "g2");
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_fails(w, "g1");
    core_phase(w, "g3", PHASE_TARGET_READY);
    core_free(w);
}

static void a_frozen_policy_stays_frozen(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_true(
        core_put(w, OBJECT_POLICY, "p", "{\"selectors\":{},\"bandwidthPerMigration\":\"64Mi\"}"));
    is_preparing(w);
    assert_true(
        core_put(w, OBJECT_POLICY, "p", "{\"selectors\":{},\"bandwidthPerMigration\":\"32Mi\"}"));
    w->loses.observations = false;
    core_restart(w, 1000);
    core_advance(w, 2000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    assert_string_equal(core_job_of(w, "g1")->request.policy, "p");
    assert_int_equal(core_job_of(w, "g1")->call.config.bandwidth, 64 * MIB);
    assert_int_equal(w->last.bandwidth_mibs, 64);
    core_free(w);
}

static void documents_are_there_again(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":true}"));
    assert_true(core_put(w, OBJECT_QUOTA, "q", "{\"hard\":{\"pods\":1}}"));
    assert_true(core_put(w, OBJECT_GUEST, "g1", "{\"nodeSelector\":{\"zone\":\"a\"}}"));
    assert_true(core_put(w, OBJECT_POLICY, "gone", "{\"selectors\":{}}"));
    assert_true(core_remove(w, OBJECT_POLICY, "gone"));
    core_restart(w, 1000);
    assert_true(core_node(w, "h2")->cordoned);
    assert_non_null(fleet_object(w->fleet, OBJECT_QUOTA, "default", "q")->quota);
    assert_null(fleet_object(w->fleet, OBJECT_POLICY, "", "gone"));
    const struct guest *guest = fleet_guest(w->fleet, CORE_GUEST);
    assert_string_equal(labels_get(&guest->settings->node_selector, "zone"), "a");
    core_free(w);
}

static void what_the_request_said_is_remembered(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_connect(w, "h2", false);
    struct core_request request = {
        .priority = "system-maintenance",
        .target = "h2",
        .selector = "{\"kubernetes.io/hostname\":\"h2\"}",
        .bandwidth_mibs = 12,
        .metadata = "{\"annotations\":{\"kubevirt.io/migrationUnschedulablePodTimeoutSeconds\":"
                    "\"77\"}}"};
    assert_non_null(core_ask(w, "g1", &request));
    core_restart_blind(w, 1000);
    const struct job *job = core_job_of(w, "g1");
    assert_int_equal(job->request.priority, PRIORITY_SYSTEM_MAINTENANCE);
    assert_string_equal(job->request.wanted, "h2");
    assert_string_equal(labels_get(&job->request.added_selector, "kubernetes.io/hostname"), "h2");
    assert_int_equal(job->request.bandwidth_mibs, 12);
    assert_int_equal(job->request.timeouts_s[0], 77);
    core_free(w);
}

static void a_backup_is_not_aborted_a_second_time(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_true(core_put(w, OBJECT_POLICY, "p", "{\"selectors\":{},\"allowBackupAbort\":true}"));
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    assert_non_null(core_ask(w, "g1", &(struct core_request){.priority = "system-critical"}));
    assert_int_equal(w->backup_stops, 1);
    core_restart(w, 1000);
    core_advance(w, 5000);
    core_waits(w, "g1", PENDING_BACKUP);
    assert_int_equal(w->backup_stops, 1);
    core_free(w);
}

static struct core_world *ends_a_backup(void)
{
    struct core_world *w = core_new();
    assert_true(core_put(w, OBJECT_POLICY, "p", "{\"selectors\":{},\"allowBackupAbort\":true}"));
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    w->loses.stops = true;
    assert_non_null(core_ask(w, "g1", &(struct core_request){.priority = "system-critical"}));
    assert_int_equal(w->backup_stops, 1);
    assert_int_equal(core_open_intents(w), 1); /* nobody said that it was done */
    return w;
}

static void an_order_to_end_a_backup_that_died_with_its_process_is_given_again(void **state)
{
    (void)state;
    struct core_world *w = ends_a_backup();
    w->loses.stops = false;
    core_restart(w, 1000);
    core_advance(w, 2000);
    assert_int_equal(w->backup_stops, 2); /* the backup was seen to go on */
    assert_int_equal(core_open_intents(w), 0);
    core_restart(w, 1000); /* this one was answered */
    core_advance(w, 5000);
    assert_int_equal(w->backup_stops, 2);
    w->job_type = HV_JOB_NONE;
    core_advance(w, 2000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

static void a_backup_that_is_gone_after_a_restart_is_not_ended_again(void **state)
{
    (void)state;
    struct core_world *w = ends_a_backup();
    w->job_type = HV_JOB_NONE;
    core_restart(w, 1000);
    core_advance(w, 2000);
    assert_int_equal(w->backup_stops, 1);
    assert_int_equal(core_open_intents(w), 1); /* the migration's own: what was left is closed */
    assert_int_equal(core_intents(w, "migrate"), 1);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* Not seen yet is not gone: a job that was choosing its target waits for the first lists. */
static void a_restart_while_a_target_is_chosen_does_not_fail_the_job(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct err err = {0};
    struct fleet_config config = core_config();
    fleet_free(w->fleet);
    w->fleet = fleet_new(&config, 8, &err);
    struct hv_host host = {.name = "h1"};
    assert_true(fleet_add_node(w->fleet, &host, w->now.wall_ms, &err));
    TEXT_SET(host.name, "h2");
    assert_true(fleet_add_node(w->fleet, &host, w->now.wall_ms, &err));

    struct job *job = job_new(&err); /* as the store held it */
    assert_non_null(job);
    TEXT_SET(job->uid, "u-1");
    TEXT_SET(job->ns, "default");
    TEXT_SET(job->name, "m-1");
    TEXT_SET(job->guest_uuid, CORE_GUEST);
    TEXT_SET(job->guest_name, "g1");
    TEXT_SET(job->source, "h1");
    TEXT_SET(job->target, "h2");
    TEXT_SET(w->job, "u-1");
    job->phase = PHASE_SCHEDULING;
    job->placement.launcher = LAUNCHER_SCHEDULED;
    job->times.created_ms = job->history.steps[0].wall_ms = w->now.wall_ms - 1000;
    job->history.n_steps = 2;
    job->history.steps[1].phase = PHASE_SCHEDULING;
    job->placement.reserved_memory_kib = 64 * 1024;
    job->placement.reserved_vcpus = 1;
    fleet_add_job(w->fleet, job);
    reconcile_restore(w->fleet, job, w->now, &w->fx);
    core_advance(w, 2000); /* the hosts are not connected yet */
    assert_string_equal(phase_name(core_job(w)->phase), "Scheduling");
    assert_true(core_job(w)->wait.pending != PENDING_NONE && core_job(w)->wait.until_ms > 0);
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_advance(w, 2000);
    assert_string_equal(phase_name(core_job(w)->phase), "Scheduling");
    core_connect(w, "h1", true);
    core_list(w, "h1");
    core_advance(w, 3000);
    assert_int_equal(w->migrates, 1);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_ledger(w);
    core_free(w);
}

TEST_FILE(test_restart)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_stored_is_what_is_found),
        cmocka_unit_test(every_job_goes_on_to_its_end),
        cmocka_unit_test(a_deadline_goes_on_while_nobody_is_there),
        cmocka_unit_test(the_order_of_those_that_wait_is_kept),
        cmocka_unit_test(a_frozen_policy_stays_frozen),
        cmocka_unit_test(documents_are_there_again),
        cmocka_unit_test(what_the_request_said_is_remembered),
        cmocka_unit_test(a_backup_is_not_aborted_a_second_time),
        cmocka_unit_test(an_order_to_end_a_backup_that_died_with_its_process_is_given_again),
        cmocka_unit_test(a_backup_that_is_gone_after_a_restart_is_not_ended_again),
        cmocka_unit_test(a_restart_while_a_target_is_chosen_does_not_fail_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
