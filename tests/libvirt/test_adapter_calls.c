/* test_adapter_calls.c - read-only calls on the fake libvirt: answers, refusals, connections that
 * break in the middle, lists that fail midway. */
#include "tests/libvirt/stage.h"

#include <string.h>

/* ---- one guest's state ---- */

static void a_guest_s_state_is_read_without_its_job(void **state)
{
    struct stage *stage = *state;
    static const struct {
        int persistent, autostart;
        bool is_persistent, is_autostart;
    } rows[] = {
        {1, 1, true, true}, {1, 0, true, false}, {0, 1, false, false}, {0, 0, false, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        fake.guests[0].state = VIR_DOMAIN_PAUSED;
        fake.guests[0].reason = VIR_DOMAIN_PAUSED_IOERROR;
        fake.guests[0].persistent = rows[i].persistent;
        fake.guests[0].autostart = rows[i].autostart;
        const struct hv_reply *reply = stage_call(stage, HV_CALL_DOMAIN_STATE);
        assert_int_equal(reply->err.code, ERR_NONE);
        assert_int_equal(reply->with.observation.presence, HV_PRESENT);
        assert_int_equal(reply->with.observation.state, HV_STATE_PAUSED);
        assert_int_equal(reply->with.observation.reason, HV_PAUSED_IOERROR);
        assert_int_equal(reply->with.observation.persistent, rows[i].is_persistent);
        assert_int_equal(reply->with.observation.autostart, rows[i].is_autostart);
        assert_int_equal(reply->with.observation.job_type, -1);
        assert_string_equal(fake_log(), "virDomainGetState a 0\n");
    }
}

/* Absent is said by the host alone: any other failure leaves the guest unknown. */
static void only_the_host_s_own_words_make_a_guest_absent(void **state)
{
    struct stage *stage = *state;
    static const char *const functions[] = {"virDomainLookupByUUIDString", "virDomainGetState",
                                            "virDomainIsPersistent", "virDomainGetAutostart"};
    for (size_t i = 0; i < COUNT(functions); i++) {
        fake_fail(functions[i], 1, VIR_ERR_NO_DOMAIN, "Domain not found"); /* gone meanwhile */
        const struct hv_reply *reply = stage_call(stage, HV_CALL_DOMAIN_STATE);
        assert_int_equal(reply->with.observation.presence, HV_ABSENT);
        assert_int_equal(reply->err.code, ERR_NONE);
        assert_int_equal(reply->err.hv_code, 0);

        fake_fail(functions[i], 1, VIR_ERR_INTERNAL_ERROR, "no");
        reply = stage_call(stage, HV_CALL_DOMAIN_STATE);
        assert_int_equal(reply->with.observation.presence, HV_UNKNOWN);
        assert_int_equal(reply->err.code, ERR_HYPERVISOR);
        assert_int_equal(reply->with.observation.job_type, -1);

        fake_fail_broken(functions[i], 1);
        reply = stage_call(stage, HV_CALL_DOMAIN_STATE);
        assert_int_equal(reply->with.observation.presence, HV_UNREACHABLE);
        assert_int_equal(reply->err.code, ERR_UNREACHABLE);
        stage_reconnect(stage);
    }
    fake.n_guests = 0;
    assert_int_equal(stage_call(stage, HV_CALL_DOMAIN_STATE)->with.observation.presence, HV_ABSENT);
}

static void a_connection_that_may_live_counts_as_alive(void **state)
{
    struct stage *stage = *state;
    fake_fail("virConnectIsAlive", 0, 0, "");
    fake_fail("virDomainGetState", 1, VIR_ERR_INTERNAL_ERROR, "no");
    assert_int_equal(stage_call(stage, HV_CALL_DOMAIN_STATE)->err.code, ERR_HYPERVISOR);
    fake_heal();
    assert_true(libvirt_connection_is_alive(stage->conn));
    fake_break(VIR_CONNECT_CLOSE_REASON_EOF, false);
    assert_false(libvirt_connection_is_alive(stage->conn));
    stage_reconnect(stage);
}

/* ---- lists ---- */

static void three_guests(void)
{
    static const char *const uuids[] = {GUEST, SECOND, THIRD};
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++)
        fake.guests[i] = (struct fake_guest){.uuid = uuids[i],
                                             .name = names[i],
                                             .state = VIR_DOMAIN_RUNNING,
                                             .reason = VIR_DOMAIN_RUNNING_MIGRATED,
                                             .persistent = i == 1,
                                             .memory_kib = 1000 + i,
                                             .balloon_kib = 7,
                                             .vcpus = (unsigned short)(i + 1)};
    fake.guests[1].metadata = "<guest><namespace>prod</namespace></guest>";
    fake.n_guests = 3;
}

static void a_list_has_every_guest_with_its_numbers(void **state)
{
    struct stage *stage = *state;
    three_guests();
    const struct hv_reply *reply = stage_call(stage, HV_CALL_LIST_GUESTS);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_int_equal(reply->with.guests->n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct hv_guest *guest = &reply->with.guests->guests[i];
        assert_string_equal(guest->uuid, fake.guests[i].uuid);
        assert_string_equal(guest->name, fake.guests[i].name);
        assert_string_equal(guest->ns, i == 1 ? "prod" : "default");
        assert_int_equal(guest->state, HV_STATE_RUNNING);
        assert_int_equal(guest->reason, HV_RUNNING_MIGRATED);
        assert_int_equal(guest->persistent, i == 1);
        assert_int_equal(guest->memory_kib, 1000 + i);
        assert_int_equal(guest->vcpus, i + 1);
    }
    assert_string_equal(fake_log(), "virConnectGetAllDomainStats 1 0\n"
                                    "virDomainGetMetadata a 2 urn:ferry:domain:1 0\n"
                                    "virDomainGetMetadata b 2 urn:ferry:domain:1 0\n"
                                    "virDomainGetMetadata c 2 urn:ferry:domain:1 0\n");
    fake.n_guests = 0;
    reply = stage_call(stage, HV_CALL_LIST_GUESTS);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_int_equal(reply->with.guests->n, 0);
}

/* A guest that is missing from a list counts as absent, so a list is whole or it is none. */
static void a_list_that_fails_midway_is_no_list(void **state)
{
    struct stage *stage = *state;
    static const char *const functions[] = {"virDomainIsPersistent", "virDomainGetInfo",
                                            "virDomainGetUUIDString"};
    three_guests();
    for (size_t i = 0; i < COUNT(functions); i++) {
        (void)stage_request(stage, HV_CALL_LIST_GUESTS);
        stage_fails_with(stage, functions[i], 2);
        assert_null(stage->reply.with.guests);

        fake_fail(functions[i], 2, VIR_ERR_NO_DOMAIN, "Domain not found"); /* gone meanwhile */
        const struct hv_reply *reply = stage_call(stage, HV_CALL_LIST_GUESTS);
        assert_int_equal(reply->err.code, ERR_NONE);
        assert_int_equal(reply->with.guests->n, 2);
        assert_string_equal(reply->with.guests->guests[0].name, "a");
        assert_string_equal(reply->with.guests->guests[1].name, "c");
        assert_false(reply->with.guests->guests[1].persistent);
        fake_heal();
    }
    (void)stage_request(stage, HV_CALL_LIST_GUESTS);
    stage_fails_with(stage, "virConnectGetAllDomainStats", 1);
    fake.guests[2].hides_state = true;
    const struct hv_reply *reply = stage_call(stage, HV_CALL_LIST_GUESTS);
    assert_int_equal(reply->err.code, ERR_HYPERVISOR);
    assert_null(reply->with.guests);
}

static void a_list_that_is_too_long_is_refused(void **state)
{
    struct stage *stage = *state;
    fake.claims_guests = HV_GUESTS_MAX;
    const struct hv_reply *reply = stage_call(stage, HV_CALL_LIST_GUESTS);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_int_equal(reply->with.guests->n, HV_GUESTS_MAX);
    fake.claims_guests = HV_GUESTS_MAX + 1;
    reply = stage_call(stage, HV_CALL_LIST_GUESTS);
    assert_int_equal(reply->err.code, ERR_LIMIT);
    assert_null(reply->with.guests);
}

/* ---- a host ---- */

static void a_host_s_facts_are_read_whole_or_not_at_all(void **state)
{
    struct stage *stage = *state;
    static const char *const functions[] = {"virConnectGetHostname", "virConnectGetCapabilities",
                                            "virNodeGetInfo", "virConnectGetLibVersion",
                                            "virConnectGetVersion"};
    fake.node = (virNodeInfo){.model = "x86_64", .memory = 4096, .cpus = 6};
    fake.free_memory = 5 * 1024 + 1;
    fake.capabilities = "<capabilities><host><uuid>" SECOND
                        "</uuid><cpu><model>EPYC</model></cpu></host></capabilities>";
    const struct hv_reply *reply = stage_call(stage, HV_CALL_HOST_FACTS);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_string_equal(reply->with.facts.hostname, "fake.example");
    assert_string_equal(reply->with.facts.uuid, SECOND);
    assert_string_equal(reply->with.facts.cpu_model, "EPYC");
    assert_string_equal(reply->with.facts.arch, "x86_64");
    assert_int_equal(reply->with.facts.libvirt_version, 9000000);
    assert_int_equal(reply->with.facts.hypervisor_version, 7002000);
    assert_int_equal(reply->with.facts.cpus, 6);
    assert_int_equal(reply->with.facts.memory_kib, 4096);
    assert_int_equal(reply->with.facts.free_memory_kib, 5);
    for (size_t i = 0; i < COUNT(functions); i++)
        stage_fails_with(stage, functions[i], 1);
    fake_fail("virNodeGetFreeMemory", 1, VIR_ERR_NO_SUPPORT, "no");
    reply = stage_call(stage, HV_CALL_HOST_FACTS);
    assert_int_equal(reply->err.code, ERR_NONE); /* not available is no failure */
    assert_int_equal(reply->with.facts.free_memory_kib, 0);
}

static void capabilities_are_passed_on_as_text(void **state)
{
    struct stage *stage = *state;
    fake.capabilities = "<capabilities>x</capabilities>";
    assert_string_equal(stage_call(stage, HV_CALL_CAPABILITIES)->with.text,
                        "<capabilities>x</capabilities>");
    stage_fails_with(stage, "virConnectGetCapabilities", 1);
    assert_string_equal(stage_call(stage, HV_CALL_DOMAIN_CAPABILITIES)->with.text,
                        "<domainCapabilities/>");
    assert_string_equal(fake_log(), "virConnectGetDomainCapabilities all 0\n");
    stage_fails_with(stage, "virConnectGetDomainCapabilities", 1);
}

/* ---- CPUs ---- */

static const struct hv_reply *compare(struct stage *stage, const char *xml)
{
    (void)stage_request(stage, HV_CALL_COMPARE_CPU);
    free(stage->job.text);
    stage->job.text = strdup(xml);
    return stage_run(stage);
}

#define CPU "<cpu mode=\"custom\"/>"

static void a_guest_s_cpu_is_compared_as_its_definition_says(void **state)
{
    struct stage *stage = *state;
    fake.compared = VIR_CPU_COMPARE_INCOMPATIBLE;
    fake.compared_host = VIR_CPU_COMPARE_IDENTICAL;
    const struct hv_reply *reply =
        compare(stage,
                "<domain type='kvm'><os><type arch='x86_64' machine='q35'>hvm</type></os>" CPU
                "<devices><emulator>/q</emulator></devices></domain>");
    assert_int_equal(reply->with.comparison, VIR_CPU_COMPARE_INCOMPATIBLE);
    assert_string_equal(fake_log(), "virConnectCompareHypervisorCPU /q x86_64 q35 kvm " CPU " 0\n");
    reply = compare(stage, CPU); /* alone: with libvirt's defaults */
    assert_int_equal(reply->with.comparison, VIR_CPU_COMPARE_INCOMPATIBLE);
    assert_string_equal(fake_log(), "virConnectCompareHypervisorCPU - - - - " CPU " 0\n");
    reply = compare(stage, "<domain type='kvm'/>"); /* the hypervisor's default fits every host */
    assert_int_equal(reply->with.comparison, VIR_CPU_COMPARE_SUPERSET);
    assert_string_equal(fake_log(), "");
}

static void only_a_driver_that_cannot_compare_is_asked_about_the_host_s_cpu(void **state)
{
    struct stage *stage = *state;
    fake.compared_host = VIR_CPU_COMPARE_IDENTICAL;
    fake_fail("virConnectCompareHypervisorCPU", 1, VIR_ERR_NO_SUPPORT, "not supported");
    const struct hv_reply *reply = compare(stage, CPU);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_int_equal(reply->with.comparison, VIR_CPU_COMPARE_IDENTICAL);
    assert_non_null(strstr(fake_log(), "virConnectCompareCPU " CPU " 0\n"));
    stage_fails_with(stage, "virConnectCompareHypervisorCPU", 1);
    assert_int_equal(fake_count("virConnectCompareCPU"), 0);
    fake.compared = VIR_CPU_COMPARE_INCOMPATIBLE; /* 0 is an answer */
    assert_int_equal(compare(stage, CPU)->err.code, ERR_NONE);
}

/* ---- jobs and definitions ---- */

static void statistics_are_those_of_the_running_or_of_the_last_job(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].job_type = VIR_DOMAIN_JOB_UNBOUNDED;
    fake.guests[0].job[0] = (struct fake_param){VIR_DOMAIN_JOB_DATA_TOTAL, 77, false};
    fake.guests[0].completed[0] = (struct fake_param){VIR_DOMAIN_JOB_DOWNTIME, 55, false};
    const struct hv_reply *reply = stage_call(stage, HV_CALL_JOB_STATS);
    assert_int_equal(reply->with.stats.type, HV_JOB_UNBOUNDED);
    assert_int_equal(reply->with.stats.data_total, 77);
    assert_string_equal(fake_log(), "virDomainGetJobStats a 0\n");
    stage_fails_with(stage, "virDomainGetJobStats", 1);
    /* Kept: somebody else may want them too. */
    reply = stage_call(stage, HV_CALL_COMPLETED_STATS);
    assert_int_equal(reply->with.stats.type, HV_JOB_COMPLETED);
    assert_int_equal(reply->with.stats.downtime_ms, 55);
    assert_string_equal(fake_log(), "virDomainGetJobStats a 0x3\n");
}

static void definitions_are_those_asked_for(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].xml = "<live/>";
    fake.guests[0].stored = "<stored/>";
    fake.guests[0].migratable = "<sent/>";
    fake.guests[0].snapshots = 2;
    const struct hv_reply *reply = stage_call(stage, HV_CALL_GUEST_XML);
    assert_string_equal(reply->with.text, "<live/>");
    assert_int_equal(reply->snapshots, 2);
    assert_string_equal(fake_log(), "virDomainSnapshotNum a 0\nvirDomainGetXMLDesc a 0\n");
    stage_fails_with(stage, "virDomainGetXMLDesc", 1);
    fake_fail("virDomainSnapshotNum", 1, VIR_ERR_NO_SUPPORT, "no");
    reply = stage_call(stage, HV_CALL_GUEST_XML);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_int_equal(reply->snapshots, -1);

    assert_string_equal(stage_call(stage, HV_CALL_MIGRATABLE_XML)->with.text, "<sent/>");
    assert_string_equal(fake_log(), "virDomainGetXMLDesc a 0x8\n");
    stage_fails_with(stage, "virDomainGetXMLDesc", 1);
    assert_string_equal(stage_call(stage, HV_CALL_GUEST_XML_STORED)->with.text, "<stored/>");
    assert_string_equal(fake_log(), "virDomainGetXMLDesc a 0x2\n");
    stage_fails_with(stage, "virDomainGetXMLDesc", 1);
    stage_fails_with(stage, "virDomainIsPersistent", 1);
}

static void a_transient_guest_has_no_stored_definition(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].persistent = 0;
    const struct hv_reply *reply = stage_call(stage, HV_CALL_GUEST_XML_STORED);
    assert_int_equal(reply->err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(reply->err.text, "'a' is transient"));
    assert_null(reply->with.text);
    assert_string_equal(fake_log(), "");
}

static void a_guest_that_is_not_there_is_not_found(void **state)
{
    struct stage *stage = *state;
    static const enum hv_call calls[] = {
        HV_CALL_JOB_STATS,  HV_CALL_GUEST_XML,    HV_CALL_GUEST_XML_STORED,
        HV_CALL_BLOCK_INFO, HV_CALL_ABORT,        HV_CALL_MIGRATE,
        HV_CALL_YANK,       HV_CALL_RESUME_STREAM};
    fake.n_guests = 0;
    for (size_t i = 0; i < COUNT(calls); i++) {
        assert_int_equal(stage_call(stage, calls[i])->err.code, ERR_NOT_FOUND);
        assert_string_equal(fake_log(), "");
    }
}

static void a_measured_dirty_rate_is_waited_for(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].dirty[0] =
        (struct fake_param){"dirtyrate.calc_status", VIR_DOMAIN_DIRTYRATE_MEASURED, true};
    fake.guests[0].dirty[1] = (struct fake_param){"dirtyrate.megabytes_per_second", 3, false};
    stage_request(stage, HV_CALL_MEASURE_DIRTY)->with.tune.value = 0;
    const struct hv_reply *reply = stage_run(stage);
    assert_int_equal(reply->err.code, ERR_NONE);
    assert_int_equal(reply->with.dirty_bps, 3 * 1024 * 1024);
    assert_string_equal(fake_log(), "virDomainStartDirtyRateCalc a 0 0\n"
                                    "virDomainListGetStats a 512 0\n");
    stage_fails_with(stage, "virDomainStartDirtyRateCalc", 1);
    stage_fails_with(stage, "virDomainListGetStats", 1);
    stage_request(stage, HV_CALL_MEASURE_DIRTY)->with.tune.value = UINT64_MAX;
    atomic_store(&stage->libvirt->closing, true);
    reply = stage_run(stage);
    assert_int_equal(reply->err.code, ERR_HYPERVISOR);
    assert_string_equal(fake_log(), "virDomainStartDirtyRateCalc a 2147483647 0\n");
}

/* One second is measured; the answer is asked for when it is over, not before. */
static void a_rate_that_is_not_measured_yet_is_asked_for_again(void **state)
{
    struct stage *stage = *state;
    fake.guests[0].dirty[0] =
        (struct fake_param){"dirtyrate.calc_status", VIR_DOMAIN_DIRTYRATE_MEASURED, true};
    fake.guests[0].dirty[1] = (struct fake_param){"dirtyrate.megabytes_per_second", 3, false};
    stage_request(stage, HV_CALL_MEASURE_DIRTY)->with.tune.value = 1;
    int64_t before = clock_mono_ms(clock_system());
    assert_int_equal(stage_run(stage)->err.code, ERR_NONE);
    assert_true(clock_mono_ms(clock_system()) - before >= 1000);
    assert_int_equal(fake_count("virDomainListGetStats"), 1);
}

TEST_FILE(test_adapter_calls)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_guest_s_state_is_read_without_its_job),
        TEST(only_the_host_s_own_words_make_a_guest_absent),
        TEST(a_connection_that_may_live_counts_as_alive),
        TEST(a_list_has_every_guest_with_its_numbers),
        TEST(a_list_that_fails_midway_is_no_list),
        TEST(a_list_that_is_too_long_is_refused),
        TEST(a_host_s_facts_are_read_whole_or_not_at_all),
        TEST(capabilities_are_passed_on_as_text),
        TEST(a_guest_s_cpu_is_compared_as_its_definition_says),
        TEST(only_a_driver_that_cannot_compare_is_asked_about_the_host_s_cpu),
        TEST(statistics_are_those_of_the_running_or_of_the_last_job),
        TEST(definitions_are_those_asked_for),
        TEST(a_transient_guest_has_no_stored_definition),
        TEST(a_guest_that_is_not_there_is_not_found),
        TEST(a_measured_dirty_rate_is_waited_for),
        TEST(a_rate_that_is_not_measured_yet_is_asked_for_again),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
