/* test_api_verdict.c - verdicts as the API shows them: in short with the migration, in full apart.
 */
#include "base/log.h"
#include "exporter/api/api.h"
#include "tests/unit/test_api_http.h"

static void a_failure_is_shown_with_its_verdict(void **state)
{
    (void)state;
    struct world *world = world_new(1);
    struct snapshot_job job = world->jobs[1];
    job.phase = PHASE_FAILED;
    job.result.outcome = OUTCOME_FAILED;
    job.resolution.guest_at = GUEST_AT_SOURCE;
    job.result.verdict = &world_bad;
    OWNED(json_object) object = api_job_object(&job);
    struct json_object *verdict = json_at(object, "status.ferry.verdict");
    static const struct {
        const char *key, *want;
    } rows[] = {
        {"outcome", "failed"},
        {"plane", "control"},
        {"cause", "control-connection-lost"},
        {"failedAt", "after-hand-off"},
        {"irrecoverable", "false"},
        {"confidencePercent", "87"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(json_object_get_string(json_at(verdict, rows[i].key)), rows[i].want);
    assert_non_null(strstr(json_object_get_string(json_at(verdict, "action")), "both nodes"));
    snapshot_unref(&world->snapshot);
}

static void a_verdict_comes_with_what_it_rests_on(void **state)
{
    struct rig *rig = *state;
    struct world *world = world_new(77);
    world->jobs[1].phase = PHASE_FAILED;
    world->jobs[1].result.outcome = OUTCOME_FAILED;
    world->jobs[1].result.verdict = &world_bad;
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    static const char path[] = VMIM_PATH "/";
    char at_path[256];
    (void)snprintf(at_path, sizeof at_path, "%smoving/verdict", path);
    struct answer a = get(rig, at_path);
    assert_int_equal(a.status, 200);
    static const char *const rows[][2] = {
        {"kind", "Verdict"},
        {"metadata.name", "moving"},
        {"vmiName", "vm2"},
        {"cause", "control-connection-lost"},
        {"plane", "control"},
        {"confidence", "0.87"},
        {"recoverable", "unknown"},
        {"evidence.0.quote", "client socket is closed"},
        {"evidence.0.origin", "migrate call on a"},
        {"evidence.1", ""},
        {"counter_evidence.0.role", "fallout"},
        {"numbers.stalled_ms.unit", "ms"},
        {"judged", "2025-11-16T05:07:39Z"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(at(&a, rows[i][0]), rows[i][1]);
    answer_fini(&a);
    static const struct {
        const char *name;
        int status;
    } others[] = {{"waiting", 404}, {"nobody", 404}, {"gone", 200}, {"done", 200}};
    for (size_t i = 0; i < COUNT(others); i++) {
        (void)snprintf(at_path, sizeof at_path, "%s%s/verdict", path, others[i].name);
        a = get(rig, at_path);
        assert_int_equal(a.status, others[i].status);
        answer_fini(&a);
    }
}

#define WIRE_TEST(name) cmocka_unit_test_setup_teardown(name, rig_up, rig_down)

TEST_FILE(test_api_verdict)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_failure_is_shown_with_its_verdict),
        WIRE_TEST(a_verdict_comes_with_what_it_rests_on),
    };
    return cmocka_run_group_tests_name("api verdict", tests, NULL, NULL);
}
