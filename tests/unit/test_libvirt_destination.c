/* test_libvirt_destination.c - a definition whose disks lie elsewhere: what changes and what stays.
 */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/libvirt/internal.h"

#define DISK(target, inside) \
    "<disk type='file' device='disk'>" inside "<target dev='" target "'/></disk>"
#define DOMAIN(devices)                                                                          \
    "<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>g</name>" \
    "<devices>" devices "</devices>"                                                             \
    "<qemu:commandline><qemu:arg value='-snapshot'/></qemu:commandline></domain>"
#define VDA DISK("vda", "<driver name='qemu' type='raw'/><source file='/a/g.img' index='1'/>")
#define VDB DISK("vdb", "<source file='/a/other.img'/>")

static const struct hv_volume to_file = {.disk = "vda", .to = {.name = "/b/g.img"}};

static char *moved(const char *xml, const struct hv_volume *volume, bool live)
{
    struct err err = {0};
    char *text = libvirt_destination(xml, volume, 1, live, &err);
    if (text == NULL)
        print_message("%s\n", err.text);
    assert_non_null(text);
    return text;
}

static void each_location_is_written_as_libvirt_reads_it(void **state)
{
    (void)state;
    static const struct {
        struct hv_location to;
        enum hv_disk_kind kind;
        const char *source, *pool, *says;
    } stories[] = {
        {{.name = "/b/g.img"}, HV_DISK_FILE, "/b/g.img", "", "<source file=\"/b/g.img\"/>"},
        {{.name = "/b/a&b<c>'d\".img"}, HV_DISK_FILE, "/b/a&b<c>'d\".img", "", "type=\"file\""},
        {{.name = "/dev/vg/lv"}, HV_DISK_BLOCK, "/dev/vg/lv", "", "<source dev=\"/dev/vg/lv\"/>"},
        {{.pool = "p", .name = "v"}, HV_DISK_VOLUME, "v", "p", "<source pool=\"p\" volume=\"v\"/>"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct hv_volume volume = {.disk = "vda", .to = stories[i].to};
        struct hv_definition *is = calloc(1, sizeof *is);
        struct err err = {0};
        char *text = moved(DOMAIN(VDA VDB), &volume, true);
        assert_true(hv_definition_parse(text, is, &err));
        assert_int_equal(is->n_disks, 2);
        assert_int_equal(is->disks[0].kind, stories[i].kind);
        assert_string_equal(is->disks[0].source, stories[i].source);
        assert_string_equal(is->disks[0].pool, stories[i].pool);
        assert_string_equal(is->disks[0].target, "vda");
        assert_string_equal(is->disks[0].format, "raw");
        assert_string_equal(is->disks[1].source, "/a/other.img"); /* not named, not touched */
        assert_non_null(strstr(text, stories[i].says));
        assert_null(strstr(text, "index="));
        assert_non_null(strstr(text, "qemu:arg value=\"-snapshot\"")); /* nor is anything else */
        free(text);
        free(is);
    }
}

static void parts_of_the_disk_are_kept_and_parts_of_the_location_are_not(void **state)
{
    (void)state;
    char *text =
        moved(DOMAIN(DISK("vda", "<source file='/a/g.img'><slices><slice type='storage' "
                                 "offset='0' size='5'/></slices><encryption format='luks'/>"
                                 "<seclabel model='dac' relabel='no'/><reservations "
                                 "managed='yes'/></source><backingStore type='file'>"
                                 "<source file='/a/base.img'/></backingStore><serial>x"
                                 "</serial>")),
              &to_file, true);
    assert_non_null(strstr(text, "<encryption format=\"luks\"/>"));
    assert_non_null(strstr(text, "<seclabel model=\"dac\" relabel=\"no\"/>"));
    assert_non_null(strstr(text, "<serial>x</serial>"));
    static const char *const gone[] = {"slice", "reservations", "backingStore", "/a/"};
    for (size_t i = 0; i < COUNT(gone); i++)
        assert_null(strstr(text, gone[i]));
    free(text);
}

static void a_slice_is_written_for_the_running_guest_only(void **state)
{
    (void)state;
    struct hv_volume volume = to_file;
    volume.slice = 4096;
    char *live = moved(DOMAIN(VDA), &volume, true);
    char *stored = moved(DOMAIN(VDA), &volume, false);
    assert_non_null(strstr(live, "<slices><slice type=\"storage\" offset=\"0\" size=\"4096\"/>"));
    assert_null(strstr(stored, "slice"));
    assert_non_null(strstr(stored, "/b/g.img"));
    free(live);
    free(stored);
}

static void a_disk_that_is_gone_is_an_error_in_the_running_guest_only(void **state)
{
    (void)state;
    struct err err = {0};
    char *stored = moved(DOMAIN(VDB), &to_file, false);
    assert_non_null(strstr(stored, "/a/other.img"));
    free(stored);
    assert_null(libvirt_destination(DOMAIN(VDB), &to_file, 1, true, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "vda"));
}

static void a_drive_without_a_medium_gets_one(void **state)
{
    (void)state;
    char *text = moved(DOMAIN(DISK("vda", "")), &to_file, true);
    assert_non_null(strstr(text, "<source file=\"/b/g.img\"/>"));
    free(text);
}

static void what_is_no_definition_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "x", "<domain>", "<network/>",
        "<!DOCTYPE domain [<!ENTITY a 'b'>]><domain><devices/></domain>"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct err err = {0};
        assert_null(libvirt_destination(texts[i], &to_file, 1, false, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

TEST_FILE(test_libvirt_destination)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_location_is_written_as_libvirt_reads_it),
        cmocka_unit_test(parts_of_the_disk_are_kept_and_parts_of_the_location_are_not),
        cmocka_unit_test(a_slice_is_written_for_the_running_guest_only),
        cmocka_unit_test(a_disk_that_is_gone_is_an_error_in_the_running_guest_only),
        cmocka_unit_test(a_drive_without_a_medium_gets_one),
        cmocka_unit_test(what_is_no_definition_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
