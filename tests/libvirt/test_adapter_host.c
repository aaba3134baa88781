/* test_adapter_host.c - what a host offers and stores, on the fake libvirt: a part that cannot be
 * read is not known, and a host that was lost says nothing. */
#include "tests/libvirt/stage.h"

#include <string.h>

static void everything_that_a_host_offers_is_read(void **state)
{
    struct stage *stage = *state;
    fake.capabilities =
        "<capabilities><host><topology><cells><cell><pages size='4'>100</pages>"
        "<pages size='2048'>30</pages></cell></cells></topology></host>"
        "<guest><arch name='x86_64'><machine>q35</machine></arch></guest></capabilities>";
    fake.networks =
        (struct fake_list){.n = 2, .of = {{.name = "up", .active = 1}, {.name = "down"}}};
    fake.interfaces = (struct fake_list){.n = 2, .of = {{.name = "br0"}, {.name = "eth0"}}};
    fake.pools =
        (struct fake_list){.n = 3,
                           .of = {{.name = "images",
                                   .active = 1,
                                   .xml = "<pool><target><path>/srv</path></target></pool>"},
                                  {.name = "off", .xml = "<pool/>"},
                                  {.name = "unreadable", .active = 1}}};
    fake.free_pages[0] = 12;
    const struct hv_capabilities *offers =
        stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities;
    assert_int_equal(stage->reply.err.code, ERR_NONE);
    assert_true(offers->machines_known && offers->n_machines == 1);
    assert_true(offers->networks_known && offers->n_networks == 2);
    assert_string_equal(offers->networks[0].name, "down"); /* sorted */
    assert_false(offers->networks[0].active);
    assert_true(offers->networks[1].active);
    assert_true(offers->bridges_known && offers->n_bridges == 2);
    assert_string_equal(offers->bridges[0].name, "br0");
    assert_true(offers->pools_known && offers->n_pools == 3);
    assert_string_equal(offers->pools[0].path, "/srv");
    assert_true(offers->pools[0].active);
    assert_false(offers->pools[1].active);
    assert_string_equal(offers->pools[1].path, "");
    assert_string_equal(offers->pools[2].path, "");
    assert_true(offers->pages_known && offers->n_pages == 1);
    assert_int_equal(offers->pages[0].size_kib, 2048);
    assert_int_equal(offers->pages[0].total, 30);
    assert_int_equal(offers->pages[0].free, 12);
    assert_true(offers->hash != 0);
    assert_string_equal(fake_log(), "virConnectListAllNetworks 0\nvirConnectListAllInterfaces 0\n"
                                    "virConnectListAllStoragePools 0\n"
                                    "virStoragePoolGetXMLDesc images 0\n"
                                    "virStoragePoolGetXMLDesc off 0\n"
                                    "virStoragePoolGetXMLDesc unreadable 0\n"
                                    "virNodeGetFreePages 1 first=2048 cell=-1 cells=1 0\n");
}

#define DEVICE(name) \
    "<device><capability type='net'><interface>" name "</interface></capability></device>"

/* Without the interface driver the links are node devices; those of running guests are none. */
static void links_are_found_without_the_interface_driver_too(void **state)
{
    struct stage *stage = *state;
    fake.interfaces.missing = true;
    fake.devices = (struct fake_list){.n = 8,
                                      .of = {{.name = "1", .xml = DEVICE("br0")},
                                             {.name = "2", .xml = DEVICE("vnet12")},
                                             {.name = "3", .xml = DEVICE("vnetwork")},
                                             {.name = "4", .xml = DEVICE("macvtap0")},
                                             {.name = "5", .xml = DEVICE("tap3")},
                                             {.name = "6", .xml = DEVICE("lo")},
                                             {.name = "7", .xml = DEVICE("macvlan")},
                                             {.name = "8", .xml = "<device/>"}}};
    const struct hv_capabilities *offers =
        stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities;
    assert_true(offers->bridges_known);
    assert_int_equal(offers->n_bridges, 2);
    assert_string_equal(offers->bridges[0].name, "br0");
    assert_string_equal(offers->bridges[1].name, "vnetwork");
    assert_non_null(strstr(fake_log(), "virConnectListAllNodeDevices 16\n")); /* links alone */
}

/* An empty list that is known means none; one that could not be read means nothing. */
static void a_part_that_cannot_be_read_is_not_known(void **state)
{
    struct stage *stage = *state;
    const struct hv_capabilities *offers =
        stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities;
    assert_true(offers->networks_known && offers->bridges_known && offers->pools_known);
    assert_int_equal(offers->n_networks + offers->n_bridges + offers->n_pools, 0);

    fake.networks.missing = fake.pools.missing = true;
    fake.interfaces.missing = fake.devices.missing = true;
    offers = stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities;
    assert_false(offers->networks_known || offers->bridges_known || offers->pools_known ||
                 offers->pages_known);
}

static void a_list_beyond_its_bound_is_not_known(void **state)
{
    struct stage *stage = *state;
    static const struct fake_named one = {.name = "x", .active = 1, .xml = "<device/>"};
    const struct fake_list links = {.n = 1, .of = {one}, .claims = HV_LINKS_MAX};
    const struct fake_list pools = {.n = 1, .of = {one}, .claims = HV_POOLS_MAX};
    for (int more = 0; more < 2; more++) {
        fake.networks = fake.interfaces = links;
        fake.pools = pools;
        fake.networks.claims += more;
        fake.interfaces.claims += more;
        fake.pools.claims += more;
        const struct hv_capabilities *offers =
            stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities;
        assert_int_equal(offers->networks_known, more == 0);
        assert_int_equal(offers->bridges_known, more == 0);
        assert_int_equal(offers->pools_known, more == 0);
    }
    fake.interfaces = (struct fake_list){.missing = true};
    fake.devices = (struct fake_list){
        .n = 1, .of = {{.name = "x", .xml = DEVICE("br0")}}, .claims = HV_LINKS_MAX};
    assert_true(stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities->bridges_known);
    assert_int_equal(stage->reply.with.capabilities->n_bridges, 1); /* the same name once */
    fake.devices.claims++;
    assert_false(stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities->bridges_known);
}

static void free_pages_are_known_for_every_size_or_not_at_all(void **state)
{
    struct stage *stage = *state;
    fake.capabilities = "<capabilities><host><topology><cells><cell><pages size='4'>1</pages>"
                        "<pages size='2048'>2</pages><pages size='1048576'>3</pages></cell></cells>"
                        "</topology></host></capabilities>";
    fake.free_pages[0] = 7;
    fake.free_pages[1] = 8;
    const struct hv_capabilities *offers =
        stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities;
    assert_true(offers->pages_known);
    assert_int_equal(offers->n_pages, 2);
    assert_int_equal(offers->pages[0].free + offers->pages[1].free, 15);
    fake.free_pages_n = 1;
    offers = stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities;
    assert_false(offers->pages_known);
    assert_int_equal(offers->n_pages, 0);
    fake_fail("virNodeGetFreePages", 1, VIR_ERR_NO_SUPPORT, "no");
    assert_false(stage_call(stage, HV_CALL_HOST_CAPABILITIES)->with.capabilities->pages_known);
}

/* What a host did not say because it was lost is not what it lacks. */
static void a_host_lost_in_the_middle_offers_nothing(void **state)
{
    struct stage *stage = *state;
    static const char *const functions[] = {"virConnectListAllNetworks",
                                            "virConnectListAllInterfaces",
                                            "virConnectListAllStoragePools"};
    for (size_t i = 0; i < COUNT(functions); i++) {
        fake_fail_broken(functions[i], 1);
        const struct hv_reply *reply = stage_call(stage, HV_CALL_HOST_CAPABILITIES);
        assert_int_equal(reply->err.code, ERR_UNREACHABLE);
        assert_null(reply->with.capabilities);
        stage_reconnect(stage);
    }
    (void)stage_request(stage, HV_CALL_HOST_CAPABILITIES);
    stage_fails_with(stage, "virConnectGetCapabilities", 1);
}

/* ---- storage ---- */

static const struct hv_volume_info *query_volume(struct stage *stage, const char *pool,
                                                 const char *name)
{
    struct hv_location *location = &stage_request(stage, HV_CALL_VOLUME_INFO)->with.location;
    TEXT_SET(location->pool, pool);
    TEXT_SET(location->name, name);
    return &stage_run(stage)->with.volume;
}

static void a_volume_is_found_by_its_pool_or_its_path(void **state)
{
    struct stage *stage = *state;
    fake.pools = (struct fake_list){.n = 1, .of = {{"images", 1, NULL, "/srv", 500}}};
    fake.volumes = (struct fake_list){.n = 1, .of = {{"a.img", 1, NULL, "/srv/a.img", 77}}};
    static const char *const places[][2] = {{"images", "a.img"}, {"", "/srv/a.img"}};
    for (size_t i = 0; i < COUNT(places); i++) {
        const struct hv_volume_info *info = query_volume(stage, places[i][0], places[i][1]);
        assert_int_equal(stage->reply.err.code, ERR_NONE);
        assert_true(info->known && info->exists && !info->creatable);
        assert_int_equal(info->capacity, 77);
        assert_int_equal(fake_count("virStoragePoolRefresh"), 1);
        assert_int_equal(fake_count("virStoragePoolDestroy"), 0);
    }
    fake_fail("virStoragePoolRefresh", 0, VIR_ERR_OPERATION_INVALID, "in use");
    assert_true(
        query_volume(stage, "images", "a.img")->exists); /* what it knew before is good enough */
    fake_heal();
    fake_fail("virStorageVolGetInfo", 1, VIR_ERR_INTERNAL_ERROR, "no");
    const struct hv_volume_info *info = query_volume(stage, "images", "a.img");
    assert_false(info->known || info->exists);
}

static void a_missing_volume_can_be_created_in_a_pool(void **state)
{
    struct stage *stage = *state;
    fake.pools = (struct fake_list){
        .n = 2, .of = {{"images", 1, NULL, "/srv", 500}, {"off", 0, NULL, "/off", 1}}};
    static const char *const places[][2] = {{"images", "b.img"}, {"", "/srv/b.img"}};
    for (size_t i = 0; i < COUNT(places); i++) {
        const struct hv_volume_info *info = query_volume(stage, places[i][0], places[i][1]);
        assert_true(info->known && !info->exists && info->creatable);
        assert_int_equal(info->free, 500);
        fake_fail("virStoragePoolGetInfo", 1, VIR_ERR_INTERNAL_ERROR, "no");
        info = query_volume(stage, places[i][0], places[i][1]);
        assert_false(info->known);
    }
    const struct hv_volume_info *info = query_volume(stage, "off", "b.img");
    assert_true(info->known && !info->exists && !info->creatable);
    info = query_volume(stage, "nowhere", "b.img");
    assert_true(info->known && !info->exists && !info->creatable);
    fake_fail("virStoragePoolLookupByName", 1, VIR_ERR_INTERNAL_ERROR, "no");
    assert_false(query_volume(stage, "images", "b.img")->known);
    fake_fail("virStorageVolLookupByName", 1, VIR_ERR_INTERNAL_ERROR, "no");
    assert_false(query_volume(stage, "images", "b.img")->known);
}

/* A directory without a pool is read through a temporary one, which is destroyed again. */
static void a_directory_without_a_pool_is_read_through_a_temporary_one(void **state)
{
    struct stage *stage = *state;
    fake.volumes = (struct fake_list){.n = 1, .of = {{"a.img", 1, NULL, "/data/vm/a.img", 77}}};
    const struct hv_volume_info *info = query_volume(stage, "", "/data/vm/a.img");
    assert_true(info->known && info->exists);
    assert_non_null(
        strstr(fake_log(), "virStoragePoolCreateXML <pool type='dir'><name>ferry-look-"));
    assert_non_null(strstr(fake_log(), "<target><path>/data/vm</path></target></pool> 0\n"));
    assert_non_null(strstr(fake_log(), "virStoragePoolDestroy ferry-look-"));
    info = query_volume(stage, "", "/data/vm/b.img");
    assert_true(info->known && !info->exists && !info->creatable); /* no pool stays */

    fake_fail("virStoragePoolCreateXML", 1, VIR_ERR_SYSTEM_ERROR, "no such directory");
    info = query_volume(stage, "", "/data/vm/a.img");
    assert_true(info->known && !info->exists && !info->creatable);
    fake_fail("virStoragePoolCreateXML", 1, VIR_ERR_INTERNAL_ERROR, "no");
    assert_false(query_volume(stage, "", "/data/vm/a.img")->known);
    fake_fail("virStoragePoolLookupByTargetPath", 1, VIR_ERR_INTERNAL_ERROR, "no");
    assert_false(query_volume(stage, "", "/data/vm/a.img")->known);
    assert_int_equal(fake_count("virStoragePoolCreateXML"), 0);
}

static void no_pool_is_made_over_what_is_no_plain_directory(void **state)
{
    struct stage *stage = *state;
    static const char *const names[] = {"/dev/vg/lv", "relative/a", "/a'b/c", "/a<b/c",
                                        "/a&b/c",     "plain",      "/top"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_false(query_volume(stage, "", names[i])->known);
        assert_int_equal(stage->reply.err.code, ERR_NONE);
        assert_int_equal(fake_count("virStoragePoolCreateXML"), 0);
    }
}

static void from_a_host_that_was_lost_no_volume_is_known(void **state)
{
    struct stage *stage = *state;
    fake.pools = (struct fake_list){.n = 1, .of = {{"images", 1, NULL, "/srv", 500}}};
    static const char *const functions[] = {"virStoragePoolLookupByName", "virStoragePoolRefresh",
                                            "virStoragePoolGetInfo"};
    for (size_t i = 0; i < COUNT(functions); i++) {
        fake_fail_broken(functions[i], 1);
        (void)query_volume(stage, "images", "b.img");
        assert_int_equal(stage->reply.err.code, ERR_UNREACHABLE);
        stage_reconnect(stage);
    }
}

static void a_disk_s_size_and_place_are_read(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].capacity = 100;
    fake.guests[0].allocation = 60;
    fake.guests[0].xml =
        "<domain><devices><disk type='file'><driver type='qcow2'/><source file='/a'/>"
        "<target dev='vda'/></disk><disk type='volume'><driver type='raw'/>"
        "<source pool='p' volume='v'/><target dev='vdb'/></disk><disk type='network'>"
        "<source protocol='rbd' name='r'/><target dev='vdc'/></disk></devices></domain>";
    static const struct {
        const char *disk, *pool, *name;
        bool raw;
    } rows[] = {{"vda", "", "/a", false}, {"vdb", "p", "v", true}, {"vdc", "", "", true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        TEXT_SET(stage_request(stage, HV_CALL_BLOCK_INFO)->with.disk, rows[i].disk);
        const struct hv_block_info *info = &stage_run(stage)->with.block;
        assert_int_equal(stage->reply.err.code, ERR_NONE);
        assert_int_equal(info->capacity, 100);
        assert_int_equal(info->allocation, 60);
        assert_string_equal(info->location.pool, rows[i].pool);
        assert_string_equal(info->location.name, rows[i].name);
        assert_int_equal(info->raw, rows[i].raw);
    }
    stage_fails_with(stage, "virDomainGetXMLDesc", 1);
    stage_fails_with(stage, "virDomainGetBlockInfo", 1);
    fake.guests[0].xml = "not XML";
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_string_equal(stage->reply.with.block.location.name, "");
}

/* ---- connections ---- */

static void keepalive_is_the_host_s_or_five_times_five_seconds(void **state)
{
    struct stage *stage = *state;
    struct hv_host *config = &stage->hosts[0].config;
    static const struct {
        int interval, count;
        bool read_only;
        const char *log;
    } rows[] = {
        {0, 0, true, "virConnectOpenReadOnly fake://h1\nvirConnectSetKeepAlive 5 5\n"},
        {2, 0, false, "virConnectOpen fake://h1\nvirConnectSetKeepAlive 2 5\n"},
        {0, 9, false, "virConnectOpen fake://h1\nvirConnectSetKeepAlive 5 9\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        config->keepalive_interval_s = rows[i].interval;
        config->keepalive_count = rows[i].count;
        fake_log_clear();
        virConnectPtr conn = libvirt_connection_open(config, rows[i].read_only, &err);
        assert_non_null(conn);
        assert_string_equal(fake_log(), rows[i].log);
        libvirt_connection_close(conn);
    }
    struct err err = {0};
    fake_fail("virConnectOpen", 1, VIR_ERR_NO_DOMAIN, "whatever it says");
    assert_null(libvirt_connection_open(config, false, &err));
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_string_equal(err.text, "whatever it says");
    libvirt_connection_close(NULL);
}

TEST_FILE(test_adapter_host)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(everything_that_a_host_offers_is_read),
        TEST(links_are_found_without_the_interface_driver_too),
        TEST(a_part_that_cannot_be_read_is_not_known),
        TEST(a_list_beyond_its_bound_is_not_known),
        TEST(free_pages_are_known_for_every_size_or_not_at_all),
        TEST(a_host_lost_in_the_middle_offers_nothing),
        TEST(a_volume_is_found_by_its_pool_or_its_path),
        TEST(a_missing_volume_can_be_created_in_a_pool),
        TEST(a_directory_without_a_pool_is_read_through_a_temporary_one),
        TEST(no_pool_is_made_over_what_is_no_plain_directory),
        TEST(from_a_host_that_was_lost_no_volume_is_known),
        TEST(a_disk_s_size_and_place_are_read),
        TEST(keepalive_is_the_host_s_or_five_times_five_seconds),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
