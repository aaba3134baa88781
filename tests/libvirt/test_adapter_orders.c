/* test_adapter_orders.c - orders on the fake libvirt: which function, which flags, which
 * parameters, and what is never ordered in the wrong state. */
#include "tests/libvirt/stage.h"

#include <string.h>

static void every_order_is_libvirt_s_call_with_its_arguments(void **state)
{
    struct stage *stage = *state;
    static const struct {
        enum hv_call call;
        uint64_t value;
        bool postcopy;
        const char *function, *arguments;
    } rows[] = {
        {HV_CALL_ABORT, 0, false, "virDomainAbortJob", "a"},
        {HV_CALL_ABORT, 0, true, "virDomainAbortJobFlags", "a 1"},
        {HV_CALL_START_POSTCOPY, 0, false, "virDomainMigrateStartPostCopy", "a 0"},
        {HV_CALL_SET_SPEED, 12, false, "virDomainMigrateSetMaxSpeed", "a 12 0"},
        {HV_CALL_SET_SPEED, 13, true, "virDomainMigrateSetMaxSpeed", "a 13 1"},
        {HV_CALL_SET_DOWNTIME, 300, false, "virDomainMigrateSetMaxDowntime", "a 300 0"},
        {HV_CALL_SUSPEND, 0, false, "virDomainSuspend", "a"},
        {HV_CALL_SHUTDOWN, 0, false, "virDomainShutdown", "a"},
        {HV_CALL_RESUME, 0, false, "virDomainResume", "a"},
        {HV_CALL_SET_AUTOSTART, 1, false, "virDomainSetAutostart", "a 1"},
        {HV_CALL_SET_AUTOSTART, 0, false, "virDomainSetAutostart", "a 0"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hv_request *request = stage_request(stage, rows[i].call);
        request->with.tune.value = rows[i].value;
        request->with.tune.postcopy = rows[i].postcopy;
        assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
        char line[128];
        (void)snprintf(line, sizeof line, "%s %s\n", rows[i].function, rows[i].arguments);
        assert_string_equal(fake_log(), line);
        stage_fails_with(stage, rows[i].function, 1);
    }
}

/* ---- migrate ---- */

static struct hv_migrate *migrate(struct stage *stage)
{
    return &stage_request(stage, HV_CALL_MIGRATE)->with.migrate;
}

static void a_migration_goes_to_the_target_s_peer_uri(void **state)
{
    struct stage *stage = *state;
    struct hv_host *target = &stage->hosts[1].config;
    TEXT_SET(target->migration_host, "10.0.0.2");
    struct hv_migrate *how = migrate(stage);
    how->flags = HV_MIGRATE_POSTCOPY;
    how->port = 49200;
    how->bandwidth_mibs = 9;
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_string_equal(fake_log(), "virDomainMigrateToURI3 a fake://h2 0x8003 bandwidth=9"
                                    " migrate_uri=tcp://10.0.0.2:49200 listen_address=10.0.0.2\n");
    TEXT_SET(target->peer_uri, "peer://h2");
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_non_null(strstr(fake_log(), "virDomainMigrateToURI3 a peer://h2 0x8003"));
    stage_fails_with(stage, "virDomainMigrateToURI3", 1);
}

#define DISKS(vda, vdb)                                                                       \
    "<domain><name>a</name><devices><disk type=\"file\"><source file=\"" vda "\"/><target "   \
    "dev=\"vda\"/></disk><disk type=\"file\"><source file=\"" vdb "\"/><target dev=\"vdb\"/>" \
    "</disk></devices></domain>"

/* The definition that travels is the secure, migratable one; the stored one goes along if the guest
 * is to be defined there. */
static void disks_that_move_are_named_and_placed(void **state)
{
    struct stage *stage = *state;
    static const struct hv_volume volumes[] = {{.disk = "vdb", .to = {.name = "/new/b"}}};
    fake.guests[0].xml = "<domain/>";
    fake.guests[0].migratable = DISKS("/a", "/b");
    fake.guests[0].stored = DISKS("/sa", "/sb");
    struct hv_migrate *how = migrate(stage);
    how->flags = HV_MIGRATE_NON_SHARED_DISK;
    how->volumes = volumes;
    how->n_volumes = 1;
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_string_equal(fake_log(), "virDomainGetXMLDesc a 0x9\n"
                                    "virDomainMigrateToURI3 a fake://h2 0x43 migrate_disks=vdb"
                                    " destination_xml=" DISKS("/a", "/new/b") "\n");
    how = migrate(stage);
    how->flags = HV_MIGRATE_PERSIST;
    how->volumes = volumes;
    how->n_volumes = 1;
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_string_equal(
        fake_log(),
        "virDomainGetXMLDesc a 0x9\nvirDomainGetXMLDesc a 0xb\n"
        "virDomainMigrateToURI3 a fake://h2 0x1b migrate_disks=vdb"
        " destination_xml=" DISKS("/a", "/new/b") " persistent_xml=" DISKS("/sa", "/new/b") "\n");
}

#define NETWORK(name)                                                                   \
    "<domain><devices><interface type=\"network\"><mac address=\"52:54:00:00:00:01\"/>" \
    "<source network=\"" name "\"/></interface></devices></domain>"

static void interfaces_are_plugged_as_defined_in_the_live_definition_only(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].migratable = NETWORK("old");
    fake.guests[0].stored = NETWORK("new");
    struct hv_migrate *how = migrate(stage);
    how->flags = HV_MIGRATE_AS_DEFINED | HV_MIGRATE_PERSIST;
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    const char *log = fake_log();
    const char *sent = strstr(log, "destination_xml=");
    assert_non_null(sent);
    assert_non_null(strstr(sent, "source network=\"new\""));
    assert_null(strstr(sent, "source network=\"old\""));
    assert_int_equal(fake_count("virDomainGetXMLDesc"), 3); /* live, stored, stored again */
}

/* Without the definition the guest would arrive with its old disks: then it must not leave. */
static void without_its_definition_a_guest_does_not_move(void **state)
{
    struct stage *stage = *state;
    static const struct hv_volume volumes[] = {{.disk = "vda", .to = {.name = "/new/a"}}};
    fake.guests[0].migratable = DISKS("/a", "/b");
    fake.guests[0].stored = DISKS("/a", "/b");
    for (int nth = 1; nth <= 2; nth++) {
        struct hv_migrate *how = migrate(stage);
        how->flags = HV_MIGRATE_PERSIST;
        how->volumes = volumes;
        how->n_volumes = 1;
        stage_fails_with(stage, "virDomainGetXMLDesc", nth);
        assert_int_equal(fake_count("virDomainMigrateToURI3"), 0);
    }
    fake.guests[0].migratable = "<domain><devices/></domain>"; /* the disk was unplugged */
    assert_int_equal(stage_run(stage)->err.code, ERR_INVALID);
    assert_int_equal(fake_count("virDomainMigrateToURI3"), 0);
    fake.guests[0].migratable = "<network/>";
    assert_int_equal(stage_run(stage)->err.code, ERR_INVALID);
    assert_int_equal(fake_count("virDomainMigrateToURI3"), 0);
}

static void a_resume_sends_no_definition_and_no_disk(void **state)
{
    struct stage *stage = *state;
    static const struct hv_volume volumes[] = {{.disk = "vda", .to = {.name = "/new/a"}}};
    struct hv_migrate *how = migrate(stage);
    how->flags = HV_MIGRATE_RESUME | HV_MIGRATE_PERSIST | HV_MIGRATE_AS_DEFINED;
    how->volumes = volumes;
    how->n_volumes = 1;
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_string_equal(fake_log(), "virDomainMigrateToURI3 a fake://h2 0x8801b\n");
}

/* ---- orders for a stream that is stuck or broken ---- */

#define ACCEPTED "{\"return\":{}}"
#define REFUSED "{\"error\":{\"desc\":\"no\"}}"

static void a_yank_breaks_the_streams_that_qemu_lists(void **state)
{
    struct stage *stage = *state;
    struct fake_guest *guest = &fake.guests[0];
    guest->answers[0] = "{\"return\":[{\"type\":\"migration\"}]}";
    guest->answers[1] = ACCEPTED;
    assert_int_equal(stage_call(stage, HV_CALL_YANK)->err.code, ERR_NONE);
    assert_string_equal(
        fake_log(),
        "virDomainQemuMonitorCommand a {\"execute\":\"query-yank\"} 0\n"
        "virDomainQemuMonitorCommand a { \"execute\": \"yank\", \"arguments\": { \"instances\": [ "
        "{ \"type\": \"migration\" } ] } } 0\n");
    stage_fails_with(stage, "virDomainQemuMonitorCommand", 1);
    stage_fails_with(stage, "virDomainQemuMonitorCommand", 2);
    guest->answers[1] = REFUSED;
    const struct hv_reply *reply = stage_call(stage, HV_CALL_YANK);
    assert_int_equal(reply->err.code, ERR_HYPERVISOR);
    assert_string_equal(reply->err.text, "no");
    guest->answers[0] = "{\"return\":[]}"; /* nothing to break: no second command */
    assert_int_equal(stage_call(stage, HV_CALL_YANK)->err.hv_code, VIR_ERR_OPERATION_INVALID);
    assert_int_equal(fake_count("virDomainQemuMonitorCommand"), 1);
}

/* Only what is paused for an incoming migration is destroyed: any other guest is somebody's. */
static void only_an_incoming_copy_is_ever_destroyed(void **state)
{
    struct stage *stage = *state;
    struct fake_guest *guest = &fake.guests[0];
    static const int operations[] = {VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN,
                                     VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT,
                                     VIR_DOMAIN_JOB_OPERATION_UNKNOWN,
                                     VIR_DOMAIN_JOB_OPERATION_SAVE};
    for (int domain_state = 0; domain_state <= VIR_DOMAIN_PMSUSPENDED; domain_state++)
        for (int reason = 0; reason <= HV_PAUSED_API_ERROR; reason++)
            for (size_t i = 0; i < COUNT(operations); i++) {
                guest->state = domain_state;
                guest->reason = reason;
                guest->job[0] = (struct fake_param){VIR_DOMAIN_JOB_OPERATION, operations[i], true};
                bool may = domain_state == VIR_DOMAIN_PAUSED &&
                           reason == VIR_DOMAIN_PAUSED_MIGRATION &&
                           operations[i] == VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN;
                const struct hv_reply *reply = stage_call(stage, HV_CALL_DROP_COPY);
                assert_int_equal(reply->err.code, may ? ERR_NONE : ERR_HYPERVISOR);
                assert_int_equal(reply->err.hv_code, may ? 0 : VIR_ERR_OPERATION_INVALID);
                assert_int_equal(fake_count("virDomainDestroyFlags"), may ? 1 : 0);
            }
}

/* libvirt refuses statistics of an incoming migration as unsupported; no other refusal tells the
 * direction. */
static void statistics_refused_as_unsupported_mean_an_incoming_copy(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].state = VIR_DOMAIN_PAUSED;
    fake.guests[0].reason = VIR_DOMAIN_PAUSED_MIGRATION;
    static const struct {
        int code;
        bool may;
    } rows[] = {{VIR_ERR_OPERATION_UNSUPPORTED, true},
                {VIR_ERR_OPERATION_INVALID, false},
                {VIR_ERR_NO_SUPPORT, false},
                {VIR_ERR_OPERATION_TIMEOUT, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        fake_fail("virDomainGetJobStats", 1, rows[i].code, "no");
        (void)stage_call(stage, HV_CALL_DROP_COPY);
        assert_int_equal(fake_count("virDomainDestroyFlags"), rows[i].may ? 1 : 0);
    }
    fake.guests[0].job[0] =
        (struct fake_param){VIR_DOMAIN_JOB_OPERATION, VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN, true};
    assert_int_equal(stage_call(stage, HV_CALL_DROP_COPY)->err.code, ERR_NONE);
    assert_string_equal(fake_log(), "virDomainGetJobStats a 0\nvirDomainGetState a 0\n"
                                    "virDomainDestroyFlags a 0\n"); /* the state right before */
    stage_fails_with(stage, "virDomainDestroyFlags", 1);
    stage_fails_with(stage, "virDomainGetState", 1);
}

static void a_broken_post_copy_is_reconnected_by_its_source_only(void **state)
{
    struct stage *stage = *state;
    struct fake_guest *guest = &fake.guests[0];
    struct hv_host *target = &stage->hosts[1].config;
    TEXT_SET(target->migration_host, "fd00::2");
    guest->answers[0] = ACCEPTED;
    for (int domain_state = 0; domain_state <= VIR_DOMAIN_PMSUSPENDED; domain_state++)
        for (int reason = 0; reason <= HV_PAUSED_API_ERROR; reason++) {
            guest->state = domain_state;
            guest->reason = reason;
            stage_request(stage, HV_CALL_RESUME_STREAM)->with.migrate.port = 49200;
            bool may =
                domain_state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_POSTCOPY_FAILED;
            const struct hv_reply *reply = stage_run(stage);
            assert_int_equal(reply->err.code, may ? ERR_NONE : ERR_HYPERVISOR);
            assert_int_equal(reply->err.hv_code, may ? 0 : VIR_ERR_OPERATION_INVALID);
            assert_int_equal(fake_count("virDomainQemuMonitorCommand"), may ? 1 : 0);
        }
    guest->state = VIR_DOMAIN_PAUSED;
    guest->reason = VIR_DOMAIN_PAUSED_POSTCOPY_FAILED;
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_string_equal(fake_log(),
                        "virDomainGetState a 0\nvirDomainQemuMonitorCommand a "
                        "{\"arguments\":{\"uri\":\"tcp:[fd00::2]:49200\",\"resume\":true},"
                        "\"execute\":\"migrate\"} 0\n");
    stage_fails_with(stage, "virDomainGetState", 1);
    stage_fails_with(stage, "virDomainQemuMonitorCommand", 1);
    guest->answers[0] = REFUSED;
    assert_string_equal(stage_run(stage)->err.text, "no");
}

static void without_an_address_and_a_port_nothing_is_reconnected(void **state)
{
    struct stage *stage = *state;
    struct hv_host *target = &stage->hosts[1].config;
    fake.guests[0].state = VIR_DOMAIN_PAUSED;
    fake.guests[0].reason = VIR_DOMAIN_PAUSED_POSTCOPY_FAILED;
    fake.guests[0].answers[0] = ACCEPTED;
    static const struct {
        const char *address;
        unsigned port;
    } rows[] = {{"", 49200}, {"10.0.0.2", 0}, {"", 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        TEXT_SET(target->migration_host, rows[i].address);
        stage_request(stage, HV_CALL_RESUME_STREAM)->with.migrate.port = rows[i].port;
        assert_int_equal(stage_run(stage)->err.hv_code, VIR_ERR_OPERATION_INVALID);
        assert_string_equal(fake_log(), "");
    }
}

TEST_FILE(test_adapter_orders)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_order_is_libvirt_s_call_with_its_arguments),
        TEST(a_migration_goes_to_the_target_s_peer_uri),
        TEST(disks_that_move_are_named_and_placed),
        TEST(interfaces_are_plugged_as_defined_in_the_live_definition_only),
        TEST(without_its_definition_a_guest_does_not_move),
        TEST(a_resume_sends_no_definition_and_no_disk),
        TEST(a_yank_breaks_the_streams_that_qemu_lists),
        TEST(only_an_incoming_copy_is_ever_destroyed),
        TEST(statistics_refused_as_unsupported_mean_an_incoming_copy),
        TEST(a_broken_post_copy_is_reconnected_by_its_source_only),
        TEST(without_an_address_and_a_port_nothing_is_reconnected),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
