/* test_sim_path.c - paths that helpers try, as the simulator has them. */
#include "tests/unit/test_sim_world.h"

enum { FOR_EVER = 0 };

static void strike(struct world *w, enum sim_fault_kind kind, const char *host, int64_t ms)
{
    struct sim_fault fault = {.kind = kind, .after_iteration_ms = -1, .duration_ms = ms};
    struct err err = {0};
    TEXT_SET(fault.host, host);
    TEXT_SET(fault.guest, host[0] == '\0' ? UUID_1 : "");
    assert_true(sim_add_fault(w->sim, &fault, &err));
    world_run(w, 1);
}

/* h1 and h2 with helpers, and a guest that moves at 100 MiB/s, a second into pass 1. */
static struct world *moving(struct sim_guest guest, struct hv_migrate how, uint64_t *out_id)
{
    struct world *w = world_new(4);
    struct err err = {0};
    for (int i = 1; i <= 2; i++) {
        struct sim_host host = {.memory_kib = 64 << 20, .cpus = 8, .helper = true};
        (void)snprintf(host.name, sizeof host.name, "h%d", i);
        assert_true(sim_set_host(w->sim, &host, &err));
    }
    world_add(w, "h1", &guest);
    how.bandwidth_mibs = how.postcopy_bandwidth_mibs = 100;
    *out_id = world_migrate(w, "h1", UUID_1, "h2", how);
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    world_run(w, 1000);
    return w;
}

static struct world *in_postcopy(uint64_t *out_id)
{
    struct sim_guest guest = a_guest("web", UUID_1);
    struct world *w = moving(guest, (struct hv_migrate){.flags = HV_MIGRATE_POSTCOPY}, out_id);
    uint64_t id = world_ask(w, HV_CALL_START_POSTCOPY, "h1", UUID_1);
    assert_int_equal(world_wait(w, id, 100)->err.code, ERR_NONE);
    world_run(w, 1000);
    return w;
}

static const struct hv_reply *probe_path(struct world *w)
{
    struct hv_request request = {.call = HV_CALL_PROBE_PATH, .with.peer = "h2"};
    TEXT_SET(request.host, "h1");
    TEXT_SET(request.guest, UUID_1);
    return world_wait(w, world_submit(w, request), 6000);
}

/* A port at which nobody listens answers all the same, if there is a path. */
static void a_helper_distinguishes_a_dead_path_from_a_working_one(void **state)
{
    (void)state;
    static const struct {
        enum sim_fault_kind fault;
        const char *host;
        enum err_code code;
        enum hv_path path;
    } rows[] = {
        {SIM_FAULT_STREAM_RESET, "", ERR_NONE, HV_PATH_REFUSED},
        {SIM_FAULT_STREAM_STALL, "", ERR_NONE, HV_PATH_DEAD},
        {SIM_FAULT_STREAM_STALL_OUT, "", ERR_NONE, HV_PATH_DEAD},
        {SIM_FAULT_LINK_DOWN, "h2", ERR_NONE, HV_PATH_DEAD},
        {SIM_FAULT_PORT_DROPPED, "h2", ERR_NONE, HV_PATH_DEAD},
        {SIM_FAULT_STOP_LIBVIRTD, "h1", ERR_NONE, HV_PATH_REFUSED},
        {SIM_FAULT_HOST_LOST, "h1", ERR_UNREACHABLE, HV_PATH_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t id;
        struct world *w = in_postcopy(&id);
        strike(w, rows[i].fault, rows[i].host, FOR_EVER);
        const struct hv_reply *reply = probe_path(w);
        assert_int_equal(reply->err.code, rows[i].code);
        if (reply->err.code == ERR_NONE)
            assert_string_equal(hv_path_name(reply->with.path), hv_path_name(rows[i].path));
        assert_true(reply->ended_ms - reply->began_ms <= 5100);
        world_free(w);
    }
}

TEST_FILE(test_sim_path)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_helper_distinguishes_a_dead_path_from_a_working_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
