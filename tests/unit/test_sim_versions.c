/* test_sim_versions.c - what simulated hosts of other versions of libvirt do, as measured on real
 * ones. */
#include "tests/unit/test_sim_world.h"

enum { PORT = 49190, WRONG_PORT = 49191, NO_DOMAIN = 42, DEADLINE_MS = 60000 };

/* A post-copy from h1 to h2 whose stream was reset, and both sides know. */
static struct world *broken(unsigned long target_version)
{
    struct world *w = world_new(4);
    struct err err = {0};
    struct sim_host host = {.memory_kib = 64 << 20, .cpus = 8, .libvirt_version = target_version};
    TEXT_SET(host.name, "h2");
    assert_true(sim_set_host(w->sim, &host, &err));
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    struct hv_migrate how = {.flags = HV_MIGRATE_POSTCOPY,
                             .port = PORT,
                             .bandwidth_mibs = 100,
                             .postcopy_bandwidth_mibs = 100};
    uint64_t id = world_migrate(w, "h1", UUID_1, "h2", how);
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    world_run(w, 1000);
    uint64_t order = world_ask(w, HV_CALL_START_POSTCOPY, "h1", UUID_1);
    assert_int_equal(world_wait(w, order, 100)->err.code, ERR_NONE);
    world_run(w, 1000);
    struct sim_fault reset = {.kind = SIM_FAULT_STREAM_RESET, .after_iteration_ms = -1};
    TEXT_SET(reset.guest, UUID_1);
    assert_true(sim_add_fault(w->sim, &reset, &err));
    assert_int_equal(world_wait(w, id, DEADLINE_MS)->err.code, ERR_HYPERVISOR);
    world_run(w, 10000);
    return w;
}

static enum err_code resume(struct world *w)
{
    struct hv_migrate how = {.flags = HV_MIGRATE_RESUME | HV_MIGRATE_POSTCOPY,
                             .postcopy_bandwidth_mibs = 100};
    return world_wait(w, world_migrate(w, "h1", UUID_1, "h2", how), DEADLINE_MS)->err.code;
}

static int resume_by_monitor(struct world *w, unsigned port)
{
    struct hv_request request = {.call = HV_CALL_RESUME_STREAM};
    TEXT_SET(request.host, "h1");
    TEXT_SET(request.guest, UUID_1);
    TEXT_SET(request.with.migrate.target, "h2");
    request.with.migrate.port = port;
    return world_wait(w, world_submit(w, request), 1000)->err.hv_code;
}

static void a_resume_ends_the_daemon_of_a_target_with_libvirt_11_3(void **state)
{
    (void)state;
    struct world *w = broken(11003000);
    assert_int_equal(resume(w), ERR_HYPERVISOR);
    world_run(w, 100);
    assert_int_equal(sim_daemons_ended(w->sim), 1);
    assert_true(world_told(w, "h2", HV_EVENT_DISCONNECTED, 0, 0));
    world_run(w, 5000); /* its service manager started it again */
    world_assert_state(w, "h1", UUID_1, "paused(postcopy-failed)");
    world_assert_state(w, "h2", UUID_1, "running(postcopy-failed)");
    world_free(w);
}

static void recovery_through_the_monitor_works_on_every_version(void **state)
{
    (void)state;
    static const unsigned long versions[] = {0, 9000000, 11003000, 12008000};
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct world *w = broken(versions[i]);
        assert_int_equal(resume_by_monitor(w, PORT), 0);
        world_run(w, 60000);
        world_assert_state(w, "h1", UUID_1, "absent");
        world_assert_state(w, "h2", UUID_1, "running(migrated)");
        assert_int_equal(resume_by_monitor(w, PORT), NO_DOMAIN);
        assert_int_equal(sim_daemons_ended(w->sim), 0);
        world_free(w);
    }
}

static void a_wrong_port_changes_nothing(void **state)
{
    (void)state;
    struct world *w = broken(11003000);
    assert_int_equal(resume_by_monitor(w, WRONG_PORT), 0); /* accepted is not connected */
    world_run(w, 5000);
    world_assert_state(w, "h1", UUID_1, "paused(postcopy-failed)");
    world_assert_state(w, "h2", UUID_1, "running(postcopy-failed)");
    assert_int_equal(resume_by_monitor(w, PORT), 0);
    world_run(w, 60000);
    world_assert_state(w, "h2", UUID_1, "running(migrated)");
    world_free(w);
}

static void other_versions_survive_a_resume(void **state)
{
    (void)state;
    static const unsigned long versions[] = {9000000, 11001000, 11004000, 12008000};
    for (size_t i = 0; i < COUNT(versions); i++) {
        struct world *w = broken(versions[i]);
        assert_int_equal(resume(w), ERR_NONE);
        world_assert_state(w, "h2", UUID_1, "running(migrated)");
        assert_int_equal(sim_daemons_ended(w->sim), 0);
        world_free(w);
    }
}

TEST_FILE(test_sim_versions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resume_ends_the_daemon_of_a_target_with_libvirt_11_3),
        cmocka_unit_test(recovery_through_the_monitor_works_on_every_version),
        cmocka_unit_test(a_wrong_port_changes_nothing),
        cmocka_unit_test(other_versions_survive_a_resume),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
