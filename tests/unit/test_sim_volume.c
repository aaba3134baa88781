/* test_sim_volume.c - storage of the simulated world: what is at a place, and disks that move along
 * with a guest as on a real host. */
#include "tests/unit/test_sim_world.h"

#define GIB (1024 * MIB)

static struct world *world_with_disk(void)
{
    struct world *w = world_new(7);
    struct sim_guest guest = a_guest("g1", UUID_1);
    guest.local_disk = guest.persistent = true;
    guest.disk_bytes = 2 * GIB;
    world_add(w, "h1", &guest);
    return w;
}

static struct hv_volume to_path(const char *path)
{
    struct hv_volume volume = {.disk = "vda"};
    TEXT_SET(volume.to.name, path);
    return volume;
}

static uint64_t move(struct world *w, const struct hv_volume *volume, uint64_t mibs)
{
    return world_migrate(w, "h1", UUID_1, "h2",
                         (struct hv_migrate){.flags =
                                                 HV_MIGRATE_NON_SHARED_DISK | HV_MIGRATE_PERSIST,
                                             .bandwidth_mibs = mibs,
                                             .volumes = volume,
                                             .n_volumes = volume != NULL});
}

static struct hv_volume_info info_of(struct world *w, const char *host, struct hv_location location)
{
    struct hv_request request = {.call = HV_CALL_VOLUME_INFO, .with.location = location};
    TEXT_SET(request.host, host);
    return world_wait(w, world_submit(w, request), 1000)->with.volume;
}

static void a_volume_exists_or_can_be_created_in_a_pool_or_neither(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    struct err err = {0};
    struct sim_host host = {.name = "h2", .pool_free = 5 * GIB, .lacks_pool = "shared"};
    assert_true(sim_set_host(w->sim, &host, &err));
    assert_true(sim_set_volume(w->sim, "h2", "/mnt/x.img", GIB, &err));
    assert_false(sim_set_volume(w->sim, "h9", "/mnt/x.img", GIB, &err));
    struct hv_volume_info info = info_of(w, "h2", (struct hv_location){.name = "/mnt/x.img"});
    assert_true(info.known && info.exists && info.capacity == GIB);
    info = info_of(w, "h1", (struct hv_location){.name = "/mnt/x.img"});
    assert_true(info.known && !info.exists && !info.creatable);
    info = info_of(w, "h2", (struct hv_location){.pool = "default", .name = "y.img"});
    assert_true(info.known && !info.exists && info.creatable && info.free == 5 * GIB);
    info = info_of(w, "h2", (struct hv_location){.name = "/srv/default/y.img"});
    assert_true(info.creatable);
    info = info_of(w, "h2", (struct hv_location){.name = "/srv/default/deep/y.img"});
    assert_true(!info.creatable);
    info = info_of(w, "h2", (struct hv_location){.pool = "shared", .name = "y.img"});
    assert_true(!info.exists && !info.creatable);
    assert_true(sim_set_volume(w->sim, "h2", "/mnt/x.img", 0, &err));
    assert_true(!info_of(w, "h2", (struct hv_location){.name = "/mnt/x.img"}).exists);
    world_free(w);
}

static void a_disk_has_a_size_and_a_location(void **state)
{
    (void)state;
    struct world *w = world_with_disk();
    struct hv_request request = {.call = HV_CALL_BLOCK_INFO, .host = "h1", .guest = UUID_1};
    TEXT_SET(request.with.disk, "vda");
    const struct hv_reply *reply = world_wait(w, world_submit(w, request), 1000);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_true(reply->with.block.capacity == 2 * GIB && reply->with.block.raw);
    assert_non_null(strstr(reply->with.block.location.name, UUID_1));
    TEXT_SET(request.with.disk, "vdx");
    assert_int_equal(world_wait(w, world_submit(w, request), 1000)->err.code, ERR_HYPERVISOR);
    TEXT_SET(request.host, "h2");
    assert_int_equal(world_wait(w, world_submit(w, request), 1000)->err.code, ERR_NOT_FOUND);
    world_free(w);
}

static void what_a_real_host_refuses_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *disk, *path;
        int hv_code;
    } stories[] = {
        {NULL, NULL, 81},                 /* its disk is not shared and not named */
        {"vdx", "/srv/default/x.img", 8}, /* it has no such disk */
        {"vda", "/mnt/x.img", 49},        /* nobody can make that */
        {"vda", "/mnt/small.img", 9},     /* too small */
        {"vda", "/mnt/big.img", 9},       /* too big, and not as a part */
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct world *w = world_with_disk();
        struct err err = {0};
        assert_true(sim_set_volume(w->sim, "h2", "/mnt/small.img", GIB, &err));
        assert_true(sim_set_volume(w->sim, "h2", "/mnt/big.img", 3 * GIB, &err));
        struct hv_volume volume = to_path(stories[i].path != NULL ? stories[i].path : "");
        if (stories[i].disk != NULL)
            TEXT_SET(volume.disk, stories[i].disk);
        uint64_t id = move(w, stories[i].disk != NULL ? &volume : NULL, 0);
        memset(&volume, 0xff, sizeof volume); /* submit has its own copy */
        assert_int_equal(world_wait(w, id, 60000)->err.hv_code, stories[i].hv_code);
        world_assert_state(w, "h1", UUID_1, "running(booted)");
        world_free(w);
    }
}

static void the_disk_is_copied_before_memory_and_the_definition_has_the_new_location(void **state)
{
    (void)state;
    struct world *w = world_with_disk();
    struct hv_volume volume = to_path("/srv/default/new.img");
    uint64_t id = move(w, &volume, 512);
    world_run(w, 3000); /* of the four seconds that the disk takes, after less than one */
    const struct hv_reply *reply = world_wait(w, world_ask(w, HV_CALL_JOB_STATS, "h1", UUID_1), 99);
    const struct hv_job_stats *stats = &reply->with.stats;
    assert_true(stats->disk_total == 2 * GIB && stats->disk_remaining > 0);
    assert_true(stats->disk_processed > 0 && stats->memory_total == 0);
    assert_true(stats->disk_processed + stats->disk_remaining == stats->disk_total);
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    reply = world_wait(w, world_ask(w, HV_CALL_JOB_STATS, "h1", UUID_1), 99);
    assert_true(reply->with.stats.disk_remaining == 0 && reply->with.stats.memory_total == GIB);
    assert_true(reply->with.stats.data_total == 3 * GIB);
    assert_int_equal(world_wait(w, id, 60000)->err.code, ERR_NONE);
    world_assert_state(w, "h2", UUID_1, "running(migrated)");
    world_assert_state(w, "h1", UUID_1, "absent");
    for (enum hv_call call = HV_CALL_GUEST_XML; call <= HV_CALL_GUEST_XML_STORED; call++)
        assert_non_null(strstr(world_wait(w, world_ask(w, call, "h2", UUID_1), 99)->with.text,
                               "<source file='/srv/default/new.img'/>"));
    assert_true(info_of(w, "h2", volume.to).exists);
    world_free(w);
}

static void a_slice_of_a_bigger_file_is_accepted(void **state)
{
    (void)state;
    struct world *w = world_with_disk();
    struct err err = {0};
    assert_true(sim_set_volume(w->sim, "h2", "/mnt/big.img", 3 * GIB, &err));
    struct hv_volume volume = to_path("/mnt/big.img");
    volume.slice = 2 * GIB;
    assert_int_equal(world_wait(w, move(w, &volume, 0), 60000)->err.code, ERR_NONE);
    world_free(w);
}

static void an_abort_while_the_disk_is_copied_leaves_the_guest_with_the_old_one(void **state)
{
    (void)state;
    struct world *w = world_with_disk();
    struct hv_volume volume = to_path("/srv/default/new.img");
    uint64_t id = move(w, &volume, 64);
    world_run(w, 5000);
    assert_int_equal(world_wait(w, world_ask(w, HV_CALL_ABORT, "h1", UUID_1), 999)->err.code, 0);
    assert_int_equal(world_wait(w, id, 5000)->err.hv_code, 78);
    world_assert_state(w, "h1", UUID_1, "running(booted)");
    world_assert_state(w, "h2", UUID_1, "absent");
    const char *xml = world_wait(w, world_ask(w, HV_CALL_GUEST_XML, "h1", UUID_1), 99)->with.text;
    assert_null(strstr(xml, "new.img"));
    world_free(w);
}

static void faults_while_the_disk_is_copied_leave_the_guest_on_its_host(void **state)
{
    (void)state;
    static const enum sim_fault_kind kinds[] = {SIM_FAULT_KILL_TARGET_QEMU, SIM_FAULT_STREAM_RESET};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct world *w = world_with_disk();
        struct err err = {0};
        struct hv_volume volume = to_path("/srv/default/new.img");
        struct sim_fault fault = {.kind = kinds[i], .at_ms = 4000, .after_iteration_ms = -1};
        TEXT_SET(fault.guest, UUID_1);
        assert_true(sim_add_fault(w->sim, &fault, &err));
        assert_int_equal(world_wait(w, move(w, &volume, 64), 60000)->err.code, ERR_HYPERVISOR);
        world_assert_state(w, "h1", UUID_1, "running(booted)");
        world_free(w);
    }
}

TEST_FILE(test_sim_volume)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_volume_exists_or_can_be_created_in_a_pool_or_neither),
        cmocka_unit_test(a_disk_has_a_size_and_a_location),
        cmocka_unit_test(what_a_real_host_refuses_is_refused),
        cmocka_unit_test(the_disk_is_copied_before_memory_and_the_definition_has_the_new_location),
        cmocka_unit_test(a_slice_of_a_bigger_file_is_accepted),
        cmocka_unit_test(an_abort_while_the_disk_is_copied_leaves_the_guest_with_the_old_one),
        cmocka_unit_test(faults_while_the_disk_is_copied_leave_the_guest_on_its_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
