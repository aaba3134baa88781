/* test_libvirt_stats.c - typed parameters of a job become numbers; nothing else gets in. */
#include "tests/test.h"

#include "hypervisor/libvirt/internal.h"

struct list {
    virTypedParameterPtr items;
    int n, capacity;
};

static int initialize(void **state)
{
    (void)state;
    return virInitialize(); /* typed parameters crash without it */
}

static void add(struct list *list, const char *name, uint64_t value)
{
    assert_int_equal(virTypedParamsAddULLong(&list->items, &list->n, &list->capacity, name, value),
                     0);
}

static void a_running_job_is_read_field_by_field(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
#define FIELD(name, member) {name, offsetof(struct hv_job_stats, member)}
        FIELD("time_elapsed", time_elapsed_ms),
        FIELD("downtime", downtime_ms),
        FIELD("setup_time", setup_ms),
        FIELD("data_total", data_total),
        FIELD("data_processed", data_processed),
        FIELD("data_remaining", data_remaining),
        FIELD("memory_total", memory_total),
        FIELD("memory_processed", memory_processed),
        FIELD("memory_remaining", memory_remaining),
        FIELD("memory_bps", memory_bps),
        FIELD("memory_constant", memory_constant),
        FIELD("memory_normal", memory_normal),
        FIELD("memory_normal_bytes", memory_normal_bytes),
        FIELD("memory_dirty_rate", memory_dirty_rate),
        FIELD("memory_page_size", memory_page_size),
        FIELD("memory_iteration", memory_iteration),
        FIELD("memory_postcopy_requests", memory_postcopy_requests),
        FIELD("disk_total", disk_total),
        FIELD("disk_processed", disk_processed),
        FIELD("disk_remaining", disk_remaining),
        FIELD("disk_bps", disk_bps),
        FIELD("auto_converge_throttle", auto_converge_throttle),
#undef FIELD
    };
    struct list list = {0};
    for (size_t i = 0; i < COUNT(fields); i++)
        add(&list, fields[i].name, UINT64_MAX - i);
    struct hv_job_stats stats;
    libvirt_stats_decode(list.items, list.n, &stats);
    for (size_t i = 0; i < COUNT(fields); i++) {
        uint64_t value;
        memcpy(&value, (const unsigned char *)&stats + fields[i].offset, sizeof value);
        assert_true(value == UINT64_MAX - i);
    }
    /* The whole record is covered: two ints, then one field per row. */
    assert_int_equal(sizeof stats, 2 * sizeof(int) + COUNT(fields) * sizeof(uint64_t));
    virTypedParamsFree(list.items, list.n);
}

static void any_whole_number_is_accepted_and_negative_ones_count_as_zero(void **state)
{
    (void)state;
    struct list list = {0};
    (void)virTypedParamsAddInt(&list.items, &list.n, &list.capacity, "operation", 5);
    (void)virTypedParamsAddInt(&list.items, &list.n, &list.capacity, "auto_converge_throttle", 40);
    (void)virTypedParamsAddUInt(&list.items, &list.n, &list.capacity, "memory_iteration", 3);
    (void)virTypedParamsAddLLong(&list.items, &list.n, &list.capacity, "data_total", 7);
    (void)virTypedParamsAddLLong(&list.items, &list.n, &list.capacity, "data_remaining", -7);
    struct hv_job_stats stats;
    libvirt_stats_decode(list.items, list.n, &stats);
    assert_int_equal(stats.operation, HV_OPERATION_MIGRATION_OUT);
    assert_int_equal(stats.auto_converge_throttle, 40);
    assert_int_equal(stats.memory_iteration, 3);
    assert_int_equal(stats.data_total, 7);
    assert_int_equal(stats.data_remaining, 0);
    virTypedParamsFree(list.items, list.n);
}

static void unknown_names_and_wrong_types_are_skipped(void **state)
{
    (void)state;
    struct list list = {0};
    (void)virTypedParamsAddString(&list.items, &list.n, &list.capacity, "data_total", "many");
    (void)virTypedParamsAddDouble(&list.items, &list.n, &list.capacity, "memory_bps", 1.5);
    (void)virTypedParamsAddBoolean(&list.items, &list.n, &list.capacity, "success", 1);
    add(&list, "invented_in_2031", 9);
    add(&list, "operation", UINT64_MAX); /* does not fit: none */
    add(&list, "disk_bps", 11);
    struct hv_job_stats stats;
    memset(&stats, 0xff, sizeof stats); /* whatever was there is gone */
    libvirt_stats_decode(list.items, list.n, &stats);
    struct hv_job_stats expected = {.disk_bps = 11};
    assert_memory_equal(&stats, &expected, sizeof stats);
    virTypedParamsFree(list.items, list.n);
}

static void no_job_has_no_fields_and_is_all_zeros(void **state)
{
    (void)state;
    struct hv_job_stats stats, expected = {0};
    memset(&stats, 0xff, sizeof stats);
    libvirt_stats_decode(NULL, 0, &stats);
    assert_memory_equal(&stats, &expected, sizeof stats);
}

TEST_FILE(test_libvirt_stats)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_job_is_read_field_by_field),
        cmocka_unit_test(any_whole_number_is_accepted_and_negative_ones_count_as_zero),
        cmocka_unit_test(unknown_names_and_wrong_types_are_skipped),
        cmocka_unit_test(no_job_has_no_fields_and_is_all_zeros),
    };
    return cmocka_run_group_tests(tests, initialize, NULL);
}
