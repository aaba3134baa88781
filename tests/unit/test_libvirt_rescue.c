/* test_libvirt_rescue.c - what a yank chooses to break, what QEMU's answers mean, and a measured
 * rate. */
#include "tests/test.h"

#include "hypervisor/libvirt/internal.h"

#define MIGRATION "{ \"type\": \"migration\" }"
#define MONITOR "{ \"type\": \"chardev\", \"id\": \"charmonitor\" }"
#define DISK "{ \"type\": \"block-node\", \"node-name\": \"migration-vda-storage\" }"
#define OWN_DISK "{ \"type\": \"block-node\", \"node-name\": \"libvirt-1-storage\" }"
#define ORDER(list) "{ \"execute\": \"yank\", \"arguments\": { \"instances\": [ " list " ] } }"

static void only_a_migration_s_own_streams_are_broken_disks_first(void **state)
{
    (void)state;
    static const struct {
        const char *known, *order; /* NULL: refused */
    } rows[] = {
        {"{\"return\":[" MONITOR "," MIGRATION "],\"id\":\"libvirt-9\"}", ORDER(MIGRATION)},
        {"{\"return\":[" MIGRATION "," MONITOR "," DISK "]}", ORDER(DISK ", " MIGRATION)},
        {"{\"return\":[" DISK "," DISK "]}", ORDER(DISK ", " DISK)},
        {"{\"return\":[" MONITOR "," OWN_DISK "]}", NULL},
        {"{\"return\":[]}", NULL},
        {"{\"return\":{}}", NULL},
        {"{\"return\":[{\"type\":7},{},\"migration\",null]}", NULL},
        {"{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"no\"}}", NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        OWNED_TEXT order = libvirt_yank_order(rows[i].known, &err);
        if (rows[i].order != NULL) {
            assert_non_null(order);
            assert_string_equal(order, rows[i].order);
            continue;
        }
        assert_null(order);
        assert_int_equal(err.code, ERR_HYPERVISOR);
        assert_int_equal(err.hv_code, VIR_ERR_OPERATION_INVALID);
    }
    struct err err = {0};
    assert_null(libvirt_yank_order("not JSON", &err));
    assert_int_not_equal(err.code, ERR_NONE);
}

static void an_error_in_qemu_s_answer_is_a_failure(void **state)
{
    (void)state;
    struct err err = {0};
    assert_true(libvirt_monitor_accepted("{\"return\":{},\"id\":\"libvirt-1\"}", &err));
    assert_false(libvirt_monitor_accepted(
        "{\"id\":\"libvirt-1\",\"error\":{\"class\":\"GenericError\",\"desc\":\"no instance\"}}",
        &err));
    assert_string_equal(err.text, "no instance");
}

static void a_rate_counts_once_it_is_measured(void **state)
{
    (void)state;
    static const struct {
        int status;
        long long mibs;
        bool done;
    } rows[] = {
        {VIR_DOMAIN_DIRTYRATE_UNSTARTED, 0, false}, {VIR_DOMAIN_DIRTYRATE_MEASURING, 5, false},
        {VIR_DOMAIN_DIRTYRATE_MEASURED, 72, true},  {VIR_DOMAIN_DIRTYRATE_MEASURED, 0, true},
        {VIR_DOMAIN_DIRTYRATE_MEASURED, -1, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        virTypedParameterPtr items = NULL;
        int n = 0, capacity = 0;
        assert_int_equal(virTypedParamsAddInt(&items, &n, &capacity, "dirtyrate.calc_status",
                                              rows[i].status),
                         0);
        assert_int_equal(virTypedParamsAddLLong(&items, &n, &capacity,
                                                "dirtyrate.megabytes_per_second", rows[i].mibs),
                         0);
        uint64_t bps = 7;
        assert_int_equal(libvirt_dirty_decode(items, n, &bps), rows[i].done);
        assert_int_equal(bps, rows[i].done ? (uint64_t)rows[i].mibs * 1024 * 1024 : 7);
        virTypedParamsFree(items, n);
    }
    uint64_t bps = 7;
    assert_false(libvirt_dirty_decode(NULL, 0, &bps));
}

static int initialize(void **state)
{
    (void)state;
    return virInitialize();
}

static void a_broken_post_copy_is_reconnected_by_one_command(void **state)
{
    (void)state;
    static const struct {
        const char *host, *uri;
    } rows[] = {{"h2", "tcp:h2:49190"},
                {"10.0.0.2", "tcp:10.0.0.2:49190"},
                {"fd00::2", "tcp:[fd00::2]:49190"},
                {"[fd00::2]", "tcp:[fd00::2]:49190"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char want[160];
        (void)snprintf(want, sizeof want,
                       "{\"arguments\":{\"uri\":\"%s\",\"resume\":true},\"execute\":\"migrate\"}",
                       rows[i].uri);
        OWNED_TEXT order = libvirt_resume_order(rows[i].host, 49190);
        assert_string_equal(order, want);
    }
}

TEST_FILE(test_libvirt_rescue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_migration_s_own_streams_are_broken_disks_first),
        cmocka_unit_test(an_error_in_qemu_s_answer_is_a_failure),
        cmocka_unit_test(a_broken_post_copy_is_reconnected_by_one_command),
        cmocka_unit_test(a_rate_counts_once_it_is_measured),
    };
    return cmocka_run_group_tests(tests, initialize, NULL);
}
