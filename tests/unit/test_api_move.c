/* test_api_move.c - every field of migrationState and of what status.ferry says about a move, on
 * the job and on its guest. */
#include "base/log.h"
#include "exporter/api/api.h"
#include "tests/unit/test_api_http.h"

/* A move that had everything happen to it. */
static void fill(struct snapshot_job *job)
{
    job->stream.source_address = "192.0.2.9";
    job->stream.port = 49190;
    job->stream.port_min = 49152;
    job->stream.port_max = 49215;
    job->times.handed_off_ms = world_wall_ms - 60000;
    job->mode = MODE_POSTCOPY;
    job->history.modes[0] = (struct job_mode){MODE_PRECOPY, world_wall_ms - 59000, "started"};
    job->history.modes[1] = (struct job_mode){MODE_PAUSED, world_wall_ms - 40000, "late-pause"};
    job->history.modes[2] = (struct job_mode){MODE_POSTCOPY, world_wall_ms - 30000, ""};
    job->history.n_modes = 3;
    job->abort.asked = true;
    job->abort.status = ABORT_FAILED;
    job->abort.cause = ABORT_CAUSE_PROGRESS;
    job->recovery.state = RECOVERY_WAITING;
    job->recovering = true;
    job->recovery.tries = 4;
    job->recovery.since_ms = world_wall_ms - 20000;
    job->recovery.until_ms = world_wall_ms + 220000;
    job->wait.pending = PENDING_RECOVERY;
    TEXT_SET(job->wait.reason, "post-copy resume, attempt 3");
    TEXT_SET(job->stream.remedy, "the stream was broken after 5 s");
    job->userpause.requested = true;
    job->userpause.ran_ms = 120;
    job->final.known = true;
    TEXT_SET(job->final.from, "event");
    job->final.total_ms = 61000;
    job->final.downtime_ms = 231;
    job->final.setup_ms = 12;
    job->final.bytes = 1610612736;
    job->final.iterations = 7;
    job->forecast.made = true;
    job->forecast.total_ms = 50000;
    job->forecast.low_ms = 40000;
    job->forecast.high_ms = 70000;
    job->forecast.downtime_ms = 300;
    job->forecast.percent = 85;
    job->resolution.target = (struct snapshot_observation){
        HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED, world_wall_ms - 1000};
}

static const struct {
    const char *path, *want;
} rows[] = {
    {"migrationState.migrationUid", "20000000-0000-4000-8000-000000000001"},
    {"migrationState.sourceNode", "a"},
    {"migrationState.sourcePod", "virt-launcher-vm2-abcde"},
    {"migrationState.targetNode", "b"},
    {"migrationState.targetPod", "virt-launcher-vm2-fghij"},
    {"migrationState.targetNodeAddress", "192.0.2.1"},
    {"migrationState.targetNodeDomainDetected", "true"},
    {"migrationState.targetNodeDomainReadyTimestamp", ""}, /* half a guest is not ready */
    {"migrationState.targetDirectMigrationNodePorts.49190", "0"},
    {"migrationState.startTimestamp", "2025-11-16T05:06:40Z"},
    {"migrationState.endTimestamp", "2025-11-16T05:07:39Z"},
    {"migrationState.completed", "true"},
    {"migrationState.failed", "true"},
    {"migrationState.abortRequested", "true"},
    {"migrationState.abortStatus", "Failed"},
    {"migrationState.failureReason", "it broke"},
    {"migrationState.mode", "PostCopy"},
    {"migrationState.migrationPolicyName", "gentle"},
    {"migrationState.migrationConfiguration.allowPostCopy", "false"},
    {"ferry.stream.sourceAddress", "192.0.2.9"},
    {"ferry.stream.targetAddress", "192.0.2.1"},
    {"ferry.stream.port", "49190"},
    {"ferry.stream.targetPorts.min", "49152"},
    {"ferry.stream.targetPorts.max", "49215"},
    {"ferry.modeHistory.0.mode", "PreCopy"},
    {"ferry.modeHistory.0.at", "2025-11-16T05:06:40Z"},
    {"ferry.modeHistory.0.cause", "started"},
    {"ferry.modeHistory.1.mode", "Paused"},
    {"ferry.modeHistory.1.at", "2025-11-16T05:06:59Z"},
    {"ferry.modeHistory.1.cause", "late-pause"},
    {"ferry.modeHistory.2.mode", "PostCopy"},
    {"ferry.modeHistory.2.cause", ""},
    {"ferry.modeHistory.3", ""},
    {"ferry.abortCause", "progress-timeout"},
    {"ferry.recovery.state", "waiting"},
    {"ferry.recovery.tries", "4"},
    {"ferry.recovery.since", "2025-11-16T05:07:19Z"},
    {"ferry.recovery.until", "2025-11-16T05:11:19Z"},
    {"ferry.remedy", "the stream was broken after 5 s"},
    {"ferry.pausedByUser", "true"},
    {"ferry.ranDespitePauseMs", "120"},
    {"ferry.final.from", "event"},
    {"ferry.final.totalMs", "61000"},
    {"ferry.final.downtimeMs", "231"},
    {"ferry.final.setupMs", "12"},
    {"ferry.final.bytes", "1610612736"},
    {"ferry.final.iterations", "7"},
    {"ferry.forecast.totalMs", "50000"},
    {"ferry.forecast.lowMs", "40000"},
    {"ferry.forecast.highMs", "70000"},
    {"ferry.forecast.downtimeMs", "300"},
    {"ferry.forecast.convergesPercent", "85"},
};

static void publish(struct rig *rig, struct world *take_world)
{
    show_snapshot(rig->x, &take_world->snapshot);
    snapshot_unref(&take_world->snapshot);
}

/* Law: the job and its guest say the same, in the same words. */
static void job_and_guest_tell_everything_about_a_move(void **state)
{
    static const char *const paths[] = {VMIM_PATH "/moving", VMI_PATH "/vm2"};
    struct rig *rig = *state;
    struct world *world = world_new(300);
    fill(&world->jobs[1]);
    world->jobs[1].phase = PHASE_FAILED;
    world->jobs[1].result.outcome = OUTCOME_FAILED;
    world->jobs[1].times.ended_ms = world_wall_ms;
    TEXT_SET(world->jobs[1].result.failure_reason, "it broke");
    publish(rig, world);
    for (size_t p = 0; p < COUNT(paths); p++) {
        struct answer a = get(rig, paths[p]);
        assert_int_equal(a.status, 200);
        for (size_t i = 0; i < COUNT(rows); i++) {
            char path[160];
            (void)snprintf(path, sizeof path, "status.%s", rows[i].path);
            if (strcmp(at(&a, path), rows[i].want) != 0)
                fail_msg("%s: %s is '%s'", paths[p], path, at(&a, path));
        }
        answer_fini(&a);
    }
}

static void fields_of_events_that_did_not_happen_are_absent(void **state)
{
    static const char *const keys[] = {"abortCause",        "recovery", "remedy",   "pausedByUser",
                                       "ranDespitePauseMs", "final",    "forecast", "modeHistory"};
    struct rig *rig = *state;
    struct world *world = world_new(301);
    world->jobs[1].history.n_modes = 0;
    publish(rig, world);
    struct answer a = get(rig, VMIM_PATH "/moving");
    for (size_t i = 0; i < COUNT(keys); i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "status.ferry.%s", keys[i]);
        assert_string_equal(at(&a, path), "");
    }
    assert_string_equal(at(&a, "status.migrationState.abortRequested"), "");
    assert_string_equal(at(&a, "status.migrationState.completed"), "");
    assert_string_equal(at(&a, "status.migrationState.targetNodeDomainDetected"), "");
    answer_fini(&a);
}

static void a_target_is_ready_since_its_first_running_observation(void **state)
{
    (void)state;
    static const struct {
        enum hv_presence presence;
        int state, reason;
        const char *ready;
    } observations[] = {
        {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_MIGRATED, "2025-11-16T05:07:38Z"},
        {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION, NULL},
        {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED, NULL},
        {HV_ABSENT, HV_STATE_RUNNING, HV_RUNNING_MIGRATED, NULL},
    };
    struct world *world = world_new(1);
    for (size_t i = 0; i < COUNT(observations); i++) {
        struct snapshot_job job = world->jobs[1];
        job.resolution.target =
            (struct snapshot_observation){observations[i].presence, observations[i].state,
                                          observations[i].reason, world_wall_ms - 1000};
        OWNED(json_object) object = api_job_object(&job);
        struct json_object *ready =
            json_at(object, "status.migrationState.targetNodeDomainReadyTimestamp");
        assert_int_equal(ready != NULL, observations[i].ready != NULL);
        if (ready != NULL)
            assert_string_equal(json_object_get_string(ready), observations[i].ready);
    }
    snapshot_unref(&world->snapshot);
}

static void a_port_that_libvirt_chose_is_not_guessed(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    struct snapshot_job job = world->jobs[1];
    job.times.handed_off_ms = world_wall_ms;
    job.stream.port_min = 49152;
    job.stream.port_max = 49215;
    OWNED(json_object) object = api_job_object(&job);
    assert_null(json_at(object, "status.migrationState.targetDirectMigrationNodePorts"));
    assert_null(json_at(object, "status.ferry.stream.port"));
    assert_int_equal(json_object_get_int(json_at(object, "status.ferry.stream.targetPorts.max")),
                     49215);
    job.stream.port_min = job.stream.port_max = 0; /* of a node that is not configured any more */
    OWNED(json_object) gone = api_job_object(&job);
    assert_null(json_at(gone, "status.ferry.stream.targetPorts"));
    snapshot_unref(&world->snapshot);
}

static void unknown_forecast_values_are_left_out(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    struct snapshot_job job = world->jobs[1];
    job.forecast.made = true;
    job.forecast.total_ms = job.forecast.low_ms = job.forecast.high_ms = -1;
    job.forecast.downtime_ms = 0;
    job.forecast.percent = 3;
    OWNED(json_object) object = api_job_object(&job);
    assert_null(json_at(object, "status.ferry.forecast.totalMs"));
    assert_non_null(json_at(object, "status.ferry.forecast.downtimeMs"));
    assert_int_equal(json_object_get_int(json_at(object, "status.ferry.forecast.convergesPercent")),
                     3);
    snapshot_unref(&world->snapshot);
}

/* Law: every state is shown by its name, NONE not at all. */
static void every_state_of_a_recovery_is_shown(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    for (enum recovery r = 0; r < RECOVERY_COUNT; r++) {
        struct snapshot_job job = world->jobs[1];
        job.recovery.state = r;
        job.recovering =
            r != RECOVERY_NONE && r != RECOVERY_RECOVERED && r != RECOVERY_IRRECOVERABLE;
        job.recovery.until_ms = world_wall_ms;
        OWNED(json_object) object = api_job_object(&job);
        struct json_object *said = json_at(object, "status.ferry.recovery.state");
        assert_int_equal(said == NULL, r == RECOVERY_NONE);
        if (said != NULL)
            assert_string_equal(json_object_get_string(said), recovery_name(r));
        assert_int_equal(json_at(object, "status.ferry.recovery.until") != NULL, job.recovering);
        struct json_object *condition = json_at(object, "status.conditions.0");
        assert_int_equal(condition != NULL, job.recovering);
        if (condition == NULL)
            continue;
        assert_string_equal(json_object_get_string(json_at(condition, "type")),
                            "ferry.internal/Recovering");
        assert_string_equal(json_object_get_string(json_at(condition, "reason")),
                            r == RECOVERY_EXHAUSTED ? "RecoveryExhausted"
                            : r == RECOVERY_BLIND   ? "HostUnreachable"
                                                    : "PostCopyBroken");
    }
    snapshot_unref(&world->snapshot);
}

/* The message of the condition that flags it, NULL when there is none. */
static const char *flag_of(const struct answer *a)
{
    struct json_object *list = json_at(a->json, "status.conditions");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (strcmp(json_object_get_string(json_at(item, "type")), "ferry.internal/Irrecoverable") ==
            0)
            return json_object_get_string(json_at(item, "message"));
    }
    return NULL;
}

/* On the job for good, on the guest while what is left of it is found as it was left. */
static void an_irrecoverable_guest_is_flagged(void **state)
{
    struct rig *rig = *state;
    static const struct {
        int state, reason;
        bool flagged;
    } guests[] = {
        {HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED, true},
        {HV_STATE_PAUSED, HV_PAUSED_POSTCOPY, true},
        {HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED, true},
        {HV_STATE_PAUSED, HV_PAUSED_USER, false},
        {HV_STATE_RUNNING, HV_RUNNING_BOOTED, false},
    };
    for (size_t i = 0; i < COUNT(guests); i++) {
        struct world *world = world_new(310 + i);
        struct snapshot_job *job = &world->jobs[1];
        job->phase = PHASE_FAILED;
        job->result.outcome = OUTCOME_IRRECOVERABLE;
        struct verdict_rows verdict_rows = world_bad;
        verdict_rows.verdict.irrecoverable = true;
        job->result.verdict = &verdict_rows;
        job->recovery.state = RECOVERY_IRRECOVERABLE;
        job->resolution.guest_at = GUEST_AT_BROKEN;
        TEXT_SET(job->result.failure_reason, "the half on b is gone");
        world->guests[1].state = guests[i].state;
        world->guests[1].reason = guests[i].reason;
        publish(rig, world);
        struct answer a = get(rig, VMIM_PATH "/moving");
        assert_string_equal(flag_of(&a), "the half on b is gone");
        assert_string_equal(at(&a, "status.ferry.outcome"), "irrecoverable");
        assert_string_equal(at(&a, "status.ferry.guestAt"), "paused-irrecoverable");
        assert_string_equal(at(&a, "status.ferry.verdict.irrecoverable"), "true");
        answer_fini(&a);
        a = get(rig, VMI_PATH "/vm2");
        assert_int_equal(flag_of(&a) != NULL, guests[i].flagged);
        answer_fini(&a);
    }
}

static void a_pause_says_whose_it_is(void **state)
{
    struct rig *rig = *state;
    static const struct {
        int reason;
        enum mode mode;
        enum phase phase;
        const char *want;
    } pauses[] = {
        {HV_PAUSED_USER, MODE_PAUSED, PHASE_RUNNING, "PausedByUser"},
        {HV_PAUSED_IOERROR, MODE_PRECOPY, PHASE_RUNNING, "PausedIOError"},
        {HV_PAUSED_MIGRATION, MODE_PAUSED, PHASE_RUNNING, "PausedByMigrationMonitor"},
        {HV_PAUSED_MIGRATION, MODE_PAUSED, PHASE_FAILED, "Paused"},
        {HV_PAUSED_MIGRATION, MODE_PRECOPY, PHASE_RUNNING, "Paused"}, /* its switch-over */
        {HV_PAUSED_POSTCOPY, MODE_POSTCOPY, PHASE_RUNNING, "Paused"},
    };
    for (size_t i = 0; i < COUNT(pauses); i++) {
        struct world *world = world_new(320 + i);
        world->jobs[1].mode = pauses[i].mode;
        world->jobs[1].phase = pauses[i].phase;
        world->guests[1].state = HV_STATE_PAUSED;
        world->guests[1].reason = pauses[i].reason;
        publish(rig, world);
        struct answer a = get(rig, VMI_PATH "/vm2");
        char want[96];
        (void)snprintf(want, sizeof want,
                       "{\"type\":\"Paused\",\"status\":\"True\",\"reason\":\"%s\"",
                       pauses[i].want);
        if (strstr(a.body, want) == NULL)
            fail_msg("row %zu: %s", i, a.body);
        answer_fini(&a);
    }
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_move)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(job_and_guest_tell_everything_about_a_move),
        WIRE_TEST(fields_of_events_that_did_not_happen_are_absent),
        cmocka_unit_test(a_target_is_ready_since_its_first_running_observation),
        cmocka_unit_test(a_port_that_libvirt_chose_is_not_guessed),
        cmocka_unit_test(unknown_forecast_values_are_left_out),
        cmocka_unit_test(every_state_of_a_recovery_is_shown),
        WIRE_TEST(an_irrecoverable_guest_is_flagged),
        WIRE_TEST(a_pause_says_whose_it_is),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api move", tests, NULL, NULL);
}
