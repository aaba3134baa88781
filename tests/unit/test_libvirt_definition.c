/* test_libvirt_definition.c - what a guest's CPU depends on is found in its definition. */
#include "tests/test.h"

#include "hypervisor/libvirt/internal.h"

static void a_domain_is_split_into_its_parts(void **state)
{
    (void)state;
    struct definition guest;
    assert_true(libvirt_definition_decode(
        "<domain type='qemu' id='3'><name>g</name><os>"
        "<type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type></os>"
        "<cpu mode='custom' match='exact'><model>qemu64</model><feature name='lahf_lm'/></cpu>"
        "<devices><emulator>/usr/bin/qemu-system-x86_64</emulator></devices></domain>",
        &guest));
    assert_string_equal(guest.virt_type, "qemu");
    assert_string_equal(guest.arch, "x86_64");
    assert_string_equal(guest.machine, "pc-i440fx-7.2");
    assert_string_equal(guest.emulator, "/usr/bin/qemu-system-x86_64");
    assert_string_equal(guest.cpu, "<cpu mode=\"custom\" match=\"exact\"><model>qemu64</model>"
                                   "<feature name=\"lahf_lm\"/></cpu>");
    libvirt_definition_fini(&guest);
}

static void missing_parts_are_null(void **state)
{
    (void)state;
    struct definition guest;
    assert_true(libvirt_definition_decode("<domain><os/></domain>", &guest));
    assert_null(guest.cpu);
    assert_null(guest.emulator);
    assert_null(guest.arch);
    assert_null(guest.machine);
    assert_null(guest.virt_type);
    libvirt_definition_fini(&guest);
}

static void anything_else_is_no_domain(void **state)
{
    (void)state;
    struct definition guest;
    assert_false(libvirt_definition_decode("<cpu><model>qemu64</model></cpu>", &guest));
    assert_false(libvirt_definition_decode("<domain>", &guest));
    assert_false(libvirt_definition_decode("domain", &guest));
    assert_false(libvirt_definition_decode("", &guest));
}

TEST_FILE(test_libvirt_definition)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_domain_is_split_into_its_parts),
        cmocka_unit_test(missing_parts_are_null),
        cmocka_unit_test(anything_else_is_no_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
