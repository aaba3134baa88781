/* test_libvirt_migrate_params.c - wishes of a migration as libvirt's flags and parameters. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

enum { ALWAYS = VIR_MIGRATE_LIVE | VIR_MIGRATE_PEER2PEER };

static int initialize(void **state)
{
    (void)state;
    return virInitialize(); /* typed parameters crash without it */
}

/* The parameters as one line, in their order. */
static const char *told(const struct migrate_params *params)
{
    static char line[1024];
    size_t used = 0;
    line[0] = '\0';
    assert_false(params->failed);
    for (int i = 0; i < params->n; i++) {
        const virTypedParameter *item = &params->items[i];
        const char *space = i > 0 ? " " : "";
        char *at = line + used;
        size_t left = sizeof line - used;
        if (item->type == VIR_TYPED_PARAM_STRING)
            (void)snprintf(at, left, "%s%s=%s", space, item->field, item->value.s);
        else if (item->type == VIR_TYPED_PARAM_INT)
            (void)snprintf(at, left, "%s%s=%d", space, item->field, item->value.i);
        else
            (void)snprintf(at, left, "%s%s=%llu", space, item->field, item->value.ul);
        used += strlen(at);
    }
    return line;
}

static void expect(struct hv_migrate how, struct hv_host target, unsigned flags,
                   const char *parameters)
{
    struct migrate_params params = libvirt_migrate_params(&how, &target);
    assert_int_equal(params.flags, ALWAYS | flags);
    assert_string_equal(told(&params), parameters);
    libvirt_migrate_params_fini(&params);
}

static void every_flag_is_sent_as_libvirts_flag(void **state)
{
    (void)state;
    static const struct {
        unsigned params, flags;
        const char *parameters;
    } rows[] = {
        {0, 0, ""},
        {HV_MIGRATE_POSTCOPY, VIR_MIGRATE_POSTCOPY, ""},
        {HV_MIGRATE_AUTO_CONVERGE, VIR_MIGRATE_AUTO_CONVERGE, ""},
        {HV_MIGRATE_UNSAFE, VIR_MIGRATE_UNSAFE, ""},
        {HV_MIGRATE_PAUSED, VIR_MIGRATE_PAUSED, ""},
        {HV_MIGRATE_TLS, VIR_MIGRATE_TLS, ""},
        {HV_MIGRATE_NON_SHARED_DISK, VIR_MIGRATE_NON_SHARED_DISK, ""},
        {HV_MIGRATE_NON_SHARED_INC, VIR_MIGRATE_NON_SHARED_INC, ""},
        {HV_MIGRATE_PERSIST, VIR_MIGRATE_PERSIST_DEST | VIR_MIGRATE_UNDEFINE_SOURCE, ""},
        {HV_MIGRATE_AS_DEFINED, 0, ""},
        {HV_MIGRATE_TUNNELLED, VIR_MIGRATE_TUNNELLED, ""},
        {HV_MIGRATE_RESUME, VIR_MIGRATE_POSTCOPY | VIR_MIGRATE_POSTCOPY_RESUME, ""},
        {HV_MIGRATE_XBZRLE, VIR_MIGRATE_COMPRESSED, "compression=xbzrle"},
        {HV_MIGRATE_MT, VIR_MIGRATE_COMPRESSED, "compression=mt"},
        {HV_MIGRATE_ZSTD, VIR_MIGRATE_COMPRESSED, "compression=zstd"},
        {HV_MIGRATE_XBZRLE | HV_MIGRATE_MT, VIR_MIGRATE_COMPRESSED,
         "compression=xbzrle compression=mt"},
    };
    unsigned all = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        all |= rows[i].params;
        expect((struct hv_migrate){.flags = rows[i].params}, (struct hv_host){0}, rows[i].flags,
               rows[i].parameters);
    }
    assert_int_equal(all, 2 * HV_MIGRATE_ZSTD - 1); /* a new flag needs its row here */
}

static void numbers_are_sent_unless_they_are_zero(void **state)
{
    (void)state;
    struct hv_migrate how = {.bandwidth_mibs = 8, .postcopy_bandwidth_mibs = 9};
    expect(how, (struct hv_host){0}, 0, "bandwidth=8 bandwidth.postcopy=9");
    how = (struct hv_migrate){.flags = HV_MIGRATE_AUTO_CONVERGE,
                              .auto_converge_initial = 30,
                              .auto_converge_increment = 5};
    expect(how, (struct hv_host){0}, VIR_MIGRATE_AUTO_CONVERGE,
           "auto_converge.initial=30 auto_converge.increment=5");
    how = (struct hv_migrate){.flags = HV_MIGRATE_ZSTD, .parallel_connections = 4};
    expect(how, (struct hv_host){0}, VIR_MIGRATE_PARALLEL | VIR_MIGRATE_COMPRESSED,
           "parallel.connections=4 compression=zstd");
}

static void the_stream_goes_where_the_target_listens(void **state)
{
    (void)state;
    static const struct {
        const char *migration_host, *listen, *parameters;
    } rows[] = {
        {"", "", ""},
        {"h2", "", "migrate_uri=tcp://h2"},
        {"10.0.0.2", "", "migrate_uri=tcp://10.0.0.2 listen_address=10.0.0.2"},
        {"fd00::2", "", "migrate_uri=tcp://[fd00::2] listen_address=fd00::2"},
        {"[fd00::2]", "", "migrate_uri=tcp://[fd00::2] listen_address=fd00::2"},
        {"10.0.0.2", "0.0.0.0", "migrate_uri=tcp://10.0.0.2 listen_address=0.0.0.0"},
        {"h2", "10.0.0.2", "migrate_uri=tcp://h2 listen_address=10.0.0.2"},
        {"", "10.0.0.2", "listen_address=10.0.0.2"},
        {"10.0.0.2x", "", "migrate_uri=tcp://10.0.0.2x"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hv_host target = {0};
        TEXT_SET(target.migration_host, rows[i].migration_host);
        TEXT_SET(target.listen, rows[i].listen);
        expect((struct hv_migrate){0}, target, 0, rows[i].parameters);
        expect((struct hv_migrate){.flags = HV_MIGRATE_TUNNELLED}, target, VIR_MIGRATE_TUNNELLED,
               ""); /* no address of its own */
    }
}

static void the_tls_name_is_sent_with_tls_only(void **state)
{
    (void)state;
    struct hv_host target = {.tls_name = "h2.example"};
    expect((struct hv_migrate){0}, target, 0, "");
    expect((struct hv_migrate){.flags = HV_MIGRATE_TLS}, target, VIR_MIGRATE_TLS,
           "tls.destination=h2.example");
}

static void a_post_copy_resume_sends_its_bandwidth_and_nothing_else(void **state)
{
    (void)state;
    struct hv_migrate how = {.flags = HV_MIGRATE_RESUME | HV_MIGRATE_POSTCOPY | HV_MIGRATE_PERSIST |
                                      HV_MIGRATE_XBZRLE | HV_MIGRATE_AUTO_CONVERGE |
                                      HV_MIGRATE_NON_SHARED_DISK,
                             .bandwidth_mibs = 8,
                             .postcopy_bandwidth_mibs = 9,
                             .auto_converge_initial = 30,
                             .parallel_connections = 2};
    struct hv_host target = {.migration_host = "10.0.0.2"};
    expect(how, target,
           VIR_MIGRATE_POSTCOPY | VIR_MIGRATE_POSTCOPY_RESUME | VIR_MIGRATE_PERSIST_DEST |
               VIR_MIGRATE_UNDEFINE_SOURCE,
           "bandwidth.postcopy=9 migrate_uri=tcp://10.0.0.2 listen_address=10.0.0.2");
}

static void the_target_listens_on_the_port_that_was_chosen(void **state)
{
    (void)state;
    struct hv_migrate how = {.flags = HV_MIGRATE_POSTCOPY, .port = 49190};
    struct hv_host target = {.migration_host = "h2"};
    expect(how, target, VIR_MIGRATE_POSTCOPY, "migrate_uri=tcp://h2:49190");
    TEXT_SET(target.migration_host, "fd00::2");
    expect(how, target, VIR_MIGRATE_POSTCOPY,
           "migrate_uri=tcp://[fd00::2]:49190 listen_address=fd00::2");
    TEXT_SET(target.migration_host, ""); /* libvirt takes no port without an address */
    expect(how, target, VIR_MIGRATE_POSTCOPY, "");
    TEXT_SET(target.migration_host, "h2"); /* a new listener, in the first one's place */
    how.flags |= HV_MIGRATE_RESUME;
    expect(how, target, VIR_MIGRATE_POSTCOPY | VIR_MIGRATE_POSTCOPY_RESUME,
           "migrate_uri=tcp://h2:49190");
}

static void a_defined_guest_s_live_definition_is_never_sent_without_the_stored_one(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags < HV_MIGRATE_ZSTD << 1; flags++)
        for (size_t n = 0; n < 2; n++) {
            struct hv_migrate how = {.flags = flags, .n_volumes = n};
            unsigned sent = libvirt_sent_definitions(&how);
            bool live = (sent & LIBVIRT_SENDS_LIVE) != 0,
                 stored = (sent & LIBVIRT_SENDS_STORED) != 0;
            bool changes = n > 0 || (flags & HV_MIGRATE_AS_DEFINED) != 0;
            assert_int_equal(live, changes && (flags & HV_MIGRATE_RESUME) == 0);
            assert_int_equal(stored, live && (flags & HV_MIGRATE_PERSIST) != 0);
        }
}

TEST_FILE(test_libvirt_migrate_params)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flag_is_sent_as_libvirts_flag),
        cmocka_unit_test(numbers_are_sent_unless_they_are_zero),
        cmocka_unit_test(the_stream_goes_where_the_target_listens),
        cmocka_unit_test(the_tls_name_is_sent_with_tls_only),
        cmocka_unit_test(a_post_copy_resume_sends_its_bandwidth_and_nothing_else),
        cmocka_unit_test(the_target_listens_on_the_port_that_was_chosen),
        cmocka_unit_test(a_defined_guest_s_live_definition_is_never_sent_without_the_stored_one),
    };
    return cmocka_run_group_tests(tests, initialize, NULL);
}
