/* test_sim_change.c - a world that others change: what hosts offer and lack, guests that are edited
 * while they run, guests that are asked to go. */
#include "hypervisor/definition.h"
#include "tests/unit/test_sim_world.h"

enum { DEFINED_UPDATED = 1, SHUTDOWN_GUEST = 1, STOPPED_SHUTDOWN = 0 };

static struct hv_definition *definition_of(struct world *w, enum hv_call call, const char *host)
{
    struct err err = {0};
    struct hv_definition *d = calloc(1, sizeof *d);
    assert_non_null(d);
    const struct hv_reply *reply = world_wait(w, world_ask(w, call, host, UUID_1), 1000);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_true(hv_definition_parse(reply->with.text, d, &err));
    return d;
}

static const struct hv_capabilities *offer_of(struct world *w, const char *host)
{
    return world_wait(w, world_ask(w, HV_CALL_HOST_CAPABILITIES, host, ""), 1000)
        ->with.capabilities;
}

static const struct hv_guest *listed(struct world *w, const char *host)
{
    uint64_t id = world_ask(w, HV_CALL_LIST_GUESTS, host, "");
    return &world_wait(w, id, 1000)->with.guests->guests[0];
}

static struct sim_guest full_guest(void)
{
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.persistent = true;
    guest.shared_disk = guest.utility_disk = guest.block_job = true;
    guest.hugepage_kib = 2048;
    TEXT_SET(guest.labels, "{\"app\":\"web\"}");
    TEXT_SET(guest.settings, "{\"evictionStrategy\":\"None\"}");
    TEXT_SET(guest.machine, "pc-q35-7.2");
    TEXT_SET(guest.network, "prod");
    TEXT_SET(guest.bridge, "br1");
    return guest;
}

static void the_definition_shows_the_guests_devices(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    struct sim_guest guest = full_guest();
    world_add(w, "h1", &guest);
    struct hv_definition *d = definition_of(w, HV_CALL_GUEST_XML, "h1");
    assert_string_equal(d->machine, "pc-q35-7.2");
    assert_int_equal(d->hugepage_kib, 2048);
    assert_int_equal(d->n_disks, 2);
    assert_string_equal(d->disks[0].pool, "shared");
    assert_true(d->disks[0].block_job && !d->disks[0].utility);
    assert_true(d->disks[1].utility && !d->disks[1].block_job);
    assert_int_equal(d->n_interfaces, 2);
    assert_string_equal(d->interfaces[0].type, "network");
    assert_string_equal(d->interfaces[0].source, "prod");
    assert_int_equal(strlen(d->interfaces[0].mac), 17);
    assert_string_equal(d->interfaces[1].source, "br1");
    assert_string_not_equal(d->interfaces[0].mac, d->interfaces[1].mac);
    free(d);
    assert_string_equal(listed(w, "h1")->labels, guest.labels);
    assert_string_equal(listed(w, "h1")->settings, guest.settings);
    world_free(w);
}

static void an_edit_changes_the_definition_and_sends_an_event(void **state)
{
    (void)state;
    static const struct {
        enum sim_which which;
        const char *live, *stored;
        bool live_changed, stored_changed;
    } rows[] = {
        {SIM_LIVE, "storage", "prod", true, false},
        {SIM_STORED, "prod", "storage", false, true},
        {SIM_BOTH, "storage", "storage", true, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world *w = world_new(2);
        struct err err = {0};
        struct sim_guest guest = full_guest();
        world_add(w, "h1", &guest);
        TEXT_SET(guest.network, "storage");
        guest.memory_bytes = 1; /* size and state are not edited */
        guest.persistent = false;
        assert_true(sim_set_guest(w->sim, &guest, rows[i].which, &err));
        assert_int_equal(w->n_events, 2); /* no event while the clock does not advance */
        world_run(w, 0);
        assert_int_equal(world_told(w, "h1", HV_EVENT_CHANGED, 0, 0), rows[i].live_changed);
        assert_int_equal(world_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_DEFINED,
                                    DEFINED_UPDATED),
                         rows[i].stored_changed);
        struct hv_definition *live = definition_of(w, HV_CALL_GUEST_XML, "h1");
        struct hv_definition *stored = definition_of(w, HV_CALL_GUEST_XML_STORED, "h1");
        assert_string_equal(live->interfaces[0].source, rows[i].live);
        assert_string_equal(stored->interfaces[0].source, rows[i].stored);
        assert_string_equal(live->interfaces[0].mac, stored->interfaces[0].mac);
        assert_int_equal(listed(w, "h1")->memory_kib, 1 << 20);
        free(live);
        free(stored);
        world_free(w);
    }
}

static void only_existing_guests_and_hosts_can_be_changed(void **state)
{
    (void)state;
    struct world *w = world_new(3);
    struct err err = {0};
    struct sim_guest guest = a_guest("web", UUID_2);
    assert_false(sim_set_guest(w->sim, &guest, SIM_BOTH, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    struct sim_host host = {.name = "h9"};
    err = (struct err){0};
    assert_false(sim_set_host(w->sim, &host, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    world_free(w);
}

/* Each thing a host can lack is not offered, stops the guest that needs it, and only that one. */
static void a_missing_capability_refuses_a_guest(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *network, *bridge;
        bool other_cpu, few_pages;
        int hv_code, hv_domain; /* 0: it comes */
    } rows[] = {
        {"", "", "", false, false, 0, 0},
        {"pc-q35-7.2", "", "", false, false, 67, 10},
        {"pc-i440fx-7.2", "", "", false, false, 0, 0},
        {"", "prod", "", false, false, 43, 19},
        {"", "default", "", false, false, 0, 0},
        {"", "", "br1", false, false, 38, 0},
        {"", "", "", true, false, 9, 10},
        {"", "", "", false, true, 1, 10},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world *w = world_new(4);
        struct err err = {0};
        struct sim_guest guest = full_guest();
        guest.block_job = false;
        world_add(w, "h1", &guest);
        struct sim_host host = {.name = "h2", .memory_kib = 64 << 20, .cpus = 8};
        host.other_cpu = rows[i].other_cpu;
        host.hugepages = rows[i].few_pages ? 511 : 512;
        TEXT_SET(host.lacks_machine, rows[i].machine);
        TEXT_SET(host.lacks_network, rows[i].network);
        TEXT_SET(host.lacks_bridge, rows[i].bridge);
        uint64_t before = offer_of(w, "h2")->hash;
        assert_true(sim_set_host(w->sim, &host, &err));
        assert_true(offer_of(w, "h2")->hash != before); /* the pages at least */
        struct hv_migrate how = {.flags = HV_MIGRATE_PERSIST};
        const struct hv_reply *reply =
            world_wait(w, world_migrate(w, "h1", UUID_1, "h2", how), 120000);
        assert_int_equal(reply->err.hv_code, rows[i].hv_code);
        assert_int_equal(reply->err.hv_domain, rows[i].hv_domain);
        assert_string_equal(sim_guest_host(w->sim, UUID_1), rows[i].hv_code == 0 ? "h2" : "h1");
        assert_int_equal(offer_of(w, "h2")->pages[0].free,
                         rows[i].hv_code == 0 ? 0 : host.hugepages);
        world_free(w);
    }
}

/* Its stored definition is on "storage" by now; the target lacks one of the two networks. */
static void a_guest_arrives_plugged_as_defined_if_requested(void **state)
{
    (void)state;
    static const struct {
        bool as_defined;
        const char *lacks, *network; /* that it is on then; NULL: it does not come */
    } rows[] = {
        {false, "", "prod"},     {true, "", "storage"}, {false, "storage", "prod"},
        {true, "storage", NULL}, {false, "prod", NULL}, {true, "prod", "storage"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world *w = world_new(5);
        struct err err = {0};
        struct sim_guest guest = full_guest();
        struct sim_host host = {.name = "h2", .memory_kib = 64 << 20, .cpus = 8};
        guest.block_job = false;
        guest.hugepage_kib = 0;
        world_add(w, "h1", &guest);
        TEXT_SET(guest.network, "storage");
        assert_true(sim_set_guest(w->sim, &guest, SIM_STORED, &err));
        TEXT_SET(host.lacks_network, rows[i].lacks);
        assert_true(sim_set_host(w->sim, &host, &err));
        struct hv_migrate how = {.flags = HV_MIGRATE_PERSIST};
        how.flags |= rows[i].as_defined ? HV_MIGRATE_AS_DEFINED : 0U;
        const struct hv_reply *reply =
            world_wait(w, world_migrate(w, "h1", UUID_1, "h2", how), 120000);
        assert_int_equal(reply->err.code == ERR_NONE, rows[i].network != NULL);
        if (rows[i].network != NULL) {
            struct hv_definition *live = definition_of(w, HV_CALL_GUEST_XML, "h2");
            assert_string_equal(live->interfaces[0].source, rows[i].network);
            free(live);
        }
        world_free(w);
    }
}

static void capabilities_omit_what_is_missing(void **state)
{
    (void)state;
    struct world *w = world_new(5);
    struct err err = {0};
    struct hv_capabilities all = *offer_of(w, "h2");
    struct sim_host host = {.name = "h2", .cpus = 8};
    TEXT_SET(host.lacks_machine, "pc");
    TEXT_SET(host.lacks_network, "prod");
    TEXT_SET(host.lacks_bridge, "br0");
    TEXT_SET(host.lacks_pool, "shared");
    assert_true(sim_set_host(w->sim, &host, &err));
    const struct hv_capabilities *less = offer_of(w, "h2");
    assert_int_equal(less->n_machines, all.n_machines - 1);
    assert_int_equal(less->n_networks, all.n_networks - 1);
    assert_int_equal(less->n_bridges, all.n_bridges - 1);
    assert_int_equal(less->n_pools, all.n_pools - 1);
    assert_string_equal(less->bridges[0].name, "br1");
    assert_true(less->machines_known && less->networks_known && less->bridges_known &&
                less->pools_known && less->pages_known);
    struct hv_request request = {.call = HV_CALL_COMPARE_CPU, .with.text = "<cpu/>"};
    TEXT_SET(request.host, "h2");
    assert_int_equal(world_wait(w, world_submit(w, request), 1000)->with.comparison, 1);
    host.other_cpu = true;
    assert_true(sim_set_host(w->sim, &host, &err));
    assert_int_equal(world_wait(w, world_submit(w, request), 1000)->with.comparison, 0);
    world_free(w);
}

static void a_guest_shuts_down_on_request(void **state)
{
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        struct world *w = world_new(6);
        struct sim_guest guest = a_guest("web", UUID_1);
        guest.persistent = persistent == 1;
        world_add(w, "h1", &guest);
        uint64_t first = world_ask(w, HV_CALL_SHUTDOWN, "h1", UUID_1);
        uint64_t second = world_ask(w, HV_CALL_SHUTDOWN, "h1", UUID_1); /* twice is once */
        assert_int_equal(world_wait(w, first, 1000)->err.code, ERR_NONE);
        assert_int_equal(world_wait(w, second, 1000)->err.code, ERR_NONE);
        world_assert_state(w, "h1", UUID_1, "running(booted)");
        world_run(w, 1100);
        assert_true(world_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_SHUTDOWN, SHUTDOWN_GUEST));
        assert_true(
            world_told(w, "h1", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_STOPPED, STOPPED_SHUTDOWN));
        world_assert_state(w, "h1", UUID_1, persistent == 1 ? "shutoff(shutdown)" : "absent");
        assert_true(sim_next_ms(w->sim) == INT64_MAX);
        uint64_t third = world_ask(w, HV_CALL_SHUTDOWN, "h1", UUID_1);
        assert_int_equal(world_wait(w, third, 1000)->err.hv_code, persistent == 1 ? 55 : 42);
        world_free(w);
    }
}

/* libvirt's lock: the order waits for the migration and finds the guest gone. */
static void a_migrating_guest_is_not_shut_down(void **state)
{
    (void)state;
    struct world *w = world_new(7);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    uint64_t move = world_migrate(w, "h1", UUID_1, "h2", (struct hv_migrate){0});
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    uint64_t order = world_ask(w, HV_CALL_SHUTDOWN, "h1", UUID_1);
    assert_int_equal(world_wait(w, move, 120000)->err.code, ERR_NONE);
    assert_int_not_equal(world_wait(w, order, 60000)->err.code, ERR_NONE);
    world_run(w, 5000);
    world_assert_state(w, "h2", UUID_1, "running(migrated)");
    world_free(w);
}

/* It was asked first and moved then: it goes off where it is. */
static void a_guest_that_migrates_while_it_shuts_down_ends_on_the_target(void **state)
{
    (void)state;
    struct world *w = world_new(8);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    (void)world_wait(w, world_ask(w, HV_CALL_SHUTDOWN, "h1", UUID_1), 1000);
    uint64_t move = world_migrate(w, "h1", UUID_1, "h2", (struct hv_migrate){0});
    assert_int_equal(world_wait(w, move, 120000)->err.code, ERR_NONE);
    world_run(w, 2000);
    assert_true(world_told(w, "h2", HV_EVENT_LIFECYCLE, HV_LIFECYCLE_STOPPED, STOPPED_SHUTDOWN));
    world_assert_state(w, "h2", UUID_1, "absent");
    world_free(w);
}

TEST_FILE(test_sim_change)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_definition_shows_the_guests_devices),
        cmocka_unit_test(an_edit_changes_the_definition_and_sends_an_event),
        cmocka_unit_test(only_existing_guests_and_hosts_can_be_changed),
        cmocka_unit_test(a_missing_capability_refuses_a_guest),
        cmocka_unit_test(a_guest_arrives_plugged_as_defined_if_requested),
        cmocka_unit_test(capabilities_omit_what_is_missing),
        cmocka_unit_test(a_guest_shuts_down_on_request),
        cmocka_unit_test(a_migrating_guest_is_not_shut_down),
        cmocka_unit_test(a_guest_that_migrates_while_it_shuts_down_ends_on_the_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
