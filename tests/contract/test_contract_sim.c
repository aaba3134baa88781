/* test_contract_sim.c - the contract, kept by the simulator: each case in a fresh world, then all
 * of them in one, as the real hosts run them. */
#include "tests/test.h"

#include "base/text.h"
#include "hypervisor/sim/sim.h"
#include "tests/contract/contract.h"

enum { STEP_MS = 10 };
#define MIB (UINT64_C(1) << 20)

static bool advance_until(void *ctx, bool (*is_done)(void *arg), void *arg, int64_t timeout_ms)
{
    struct sim *sim = ctx;
    int64_t until = clock_mono_ms(sim_clock(sim)) + timeout_ms;
    while (!is_done(arg)) {
        int64_t now = clock_mono_ms(sim_clock(sim));
        if (now >= until)
            return false;
        sim_advance(sim, now + STEP_MS);
    }
    return true;
}

static void add_guest(struct sim *sim, const char *host, const char *name, const char *uuid)
{
    struct sim_guest guest = {
        .memory_bytes = 128 * MIB, .working_set_bytes = 4 * MIB, .dirty_bps = MIB, .vcpus = 1};
    struct err err = {0};
    TEXT_SET(guest.name, name);
    TEXT_SET(guest.uuid, uuid);
    assert_true(sim_add_guest(sim, host, &guest, &err));
}

static struct sim_guest a_persistent_guest(void)
{
    struct sim_guest guest = {.memory_bytes = 32 * MIB, .vcpus = 1, .persistent = true};
    TEXT_SET(guest.name, "keeper");
    TEXT_SET(guest.uuid, "44444444-4444-4444-8444-444444444444");
    TEXT_SET(guest.labels, "{\"app\":\"contract\"}");
    TEXT_SET(guest.settings, "{\"evictionStrategy\":\"LiveMigrate\"}");
    return guest;
}

static bool edit(void *ctx, const char *host, const char *uuid)
{
    (void)host;
    struct sim_guest guest = a_persistent_guest();
    struct err err = {0};
    assert_string_equal(uuid, guest.uuid);
    return sim_set_guest(ctx, &guest, SIM_LIVE, &err);
}

static bool snapshot(void *ctx, const char *host, const char *uuid, bool there)
{
    (void)host;
    struct sim_guest guest = a_persistent_guest();
    struct err err = {0};
    assert_string_equal(uuid, guest.uuid);
    guest.snapshot = there;
    return sim_set_guest(ctx, &guest, SIM_LIVE, &err);
}

static bool break_stream(void *ctx, const char *host, const char *uuid)
{
    (void)host;
    struct sim_fault fault = {.kind = SIM_FAULT_STREAM_RESET, .after_iteration_ms = -1};
    struct err err = {0};
    TEXT_SET(fault.guest, uuid);
    return sim_add_fault(ctx, &fault, &err);
}

static void fill(struct sim *sim, struct contract_world *w)
{
    struct err err = {0};
    const char *const hosts[] = {"h1", "h2", "dead"};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        struct sim_host host = {.memory_kib = 8 << 20, .cpus = 4, .link_bps = 1024 * MIB};
        TEXT_SET(host.name, hosts[i]);
        assert_true(sim_add_host(sim, &host, &err));
    }
    struct sim_fault death = {.kind = SIM_FAULT_KILL_LIBVIRTD, .after_iteration_ms = -1};
    TEXT_SET(death.host, "dead");
    assert_true(sim_add_fault(sim, &death, &err));
    add_guest(sim, "h1", "web", "11111111-1111-4111-8111-111111111111");
    add_guest(sim, "h1", "twin", "22222222-2222-4222-8222-222222222222");
    add_guest(sim, "h2", "twin", "33333333-3333-4333-8333-333333333333");
    struct sim_guest persistent = a_persistent_guest();
    assert_true(sim_add_guest(sim, "h1", &persistent, &err));
    TEXT_SET(w->persistent, persistent.uuid);
    TEXT_SET(w->volume, "/srv/ferry/contract.img");
    assert_true(sim_set_volume(sim, "h2", w->volume, CONTRACT_VOLUME_BYTES, &err));
    w->edit = edit;
    w->snapshot = snapshot;
    w->break_stream = break_stream;
    TEXT_SET(w->hosts[0], "h1");
    TEXT_SET(w->hosts[1], "h2");
    TEXT_SET(w->dead_host, "dead");
    TEXT_SET(w->guest, "11111111-1111-4111-8111-111111111111");
    TEXT_SET(w->twin, "22222222-2222-4222-8222-222222222222");
}

static void keep(size_t first, size_t n)
{
    struct err err = {0};
    struct contract_seen *seen = contract_seen_new();
    assert_non_null(seen);
    struct hv_event_sink events = contract_event_sink(seen);
    struct sim *sim = sim_new(7, 0, &events, &err);
    assert_non_null(sim);
    struct contract_world w = {.hv = sim_hv(sim), .seen = seen, .wait = advance_until, .ctx = sim};
    fill(sim, &w);
    sim_advance(sim, 100);
    for (size_t i = first; i < first + n; i++)
        if (!contract_cases[i].holds(&w))
            fail_msg("%s: %s", contract_cases[i].name, w.failure);
    assert_int_equal(sim_violations(sim), 0);
    sim_free(sim);
    contract_seen_free(seen);
}

static void each_case_holds_in_a_fresh_world(void **state)
{
    (void)state;
    for (size_t i = 0; i < contract_case_count; i++)
        keep(i, 1);
}

static void all_cases_hold_one_after_the_other(void **state)
{
    (void)state;
    keep(0, contract_case_count);
}

TEST_FILE(test_contract_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_holds_in_a_fresh_world),
        cmocka_unit_test(all_cases_hold_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
