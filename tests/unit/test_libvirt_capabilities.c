/* test_libvirt_capabilities.c - what XML of a host says it offers. */
#include "tests/test.h"

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

DEFINE_OWNED(hv_capabilities)

static const char full[] =
    "<capabilities><host><cpu><arch>x86_64</arch><pages unit='KiB' size='4'/></cpu>"
    "<topology><cells num='2'>"
    "<cell id='0'><memory unit='KiB'>1</memory><pages unit='KiB' size='4'>1000</pages>"
    "<pages unit='KiB' size='2048'>100</pages><pages unit='KiB' size='1048576'>2</pages></cell>"
    "<cell id='1'><pages unit='KiB' size='4'>1000</pages>"
    "<pages unit='KiB' size='2048'>28</pages></cell></cells></topology></host>"
    "<guest><os_type>hvm</os_type><arch name='i686'><machine>isapc</machine></arch></guest>"
    "<guest><os_type>hvm</os_type><arch name='x86_64'>"
    "<machine canonical='pc-i440fx-7.2' maxCpus='255'>pc</machine>"
    "<machine maxCpus='255'>pc-i440fx-7.2</machine><machine>q35</machine>"
    "<domain type='qemu'/><domain type='kvm'><machine>q35</machine><machine>microvm</machine>"
    "</domain></arch></guest></capabilities>";

static struct hv_capabilities *decode(const char *xml)
{
    struct hv_capabilities *a = calloc(1, sizeof *a);
    assert_non_null(a);
    libvirt_capabilities_decode(xml, a);
    hv_capabilities_seal(a);
    return a;
}

static void machines_are_listed_by_both_their_names(void **state)
{
    (void)state;
    static const struct hv_machine expected[] = {
        {"i686", "isapc"},           {"x86_64", "microvm"}, {"x86_64", "pc"},
        {"x86_64", "pc-i440fx-7.2"}, {"x86_64", "q35"},
    };
    OWNED(hv_capabilities) a = decode(full);
    assert_true(a->machines_known);
    assert_int_equal(a->n_machines, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(a->machines[i].arch, expected[i].arch);
        assert_string_equal(a->machines[i].name, expected[i].name);
    }
}

static void huge_pages_are_summed_over_cells_without_normal_pages(void **state)
{
    (void)state;
    OWNED(hv_capabilities) a = decode(full);
    assert_true(a->pages_known);
    assert_int_equal(a->n_pages, 2);
    assert_int_equal(a->pages[0].size_kib, 2048);
    assert_int_equal(a->pages[0].total, 128);
    assert_int_equal(a->pages[1].size_kib, 1048576);
    assert_int_equal(a->pages[1].total, 2);
}

static void page_sizes_are_bounded_and_nonsense_is_skipped(void **state)
{
    (void)state;
    struct buf xml;
    buf_init(&xml, 64 * 1024);
    buf_add(&xml, "<capabilities><host><topology><cells><cell>"
                  "<pages size='0'>1</pages><pages size='x'>1</pages><pages size='3'>-1</pages>"
                  "<pages>9</pages><pages size='5'/>");
    for (int i = 0; i < HV_PAGES_MAX + 2; i++)
        buf_addf(&xml, "<pages size='%d'>%d</pages>", 4 << i, i);
    buf_add(&xml, "</cell></cells></topology></host></capabilities>");
    OWNED_TEXT text = buf_take(&xml);
    OWNED(hv_capabilities) a = decode(text);
    assert_true(a->pages_known);
    assert_int_equal(a->n_pages, HV_PAGES_MAX - 1); /* the smallest is the plain one */
    for (size_t i = 0; i < a->n_pages; i++) {
        bool found = false;
        for (size_t j = 0; j < a->n_pages; j++)
            found =
                found || (a->pages[j].size_kib == (uint64_t)(8 << i) && a->pages[j].total == i + 1);
        assert_true(found);
    }
    OWNED(hv_capabilities) plain =
        decode("<capabilities><host><topology><cells><cell><pages size='4'>7</pages></cell></cells>"
               "</topology></host></capabilities>");
    assert_true(plain->pages_known && plain->n_pages == 0); /* none are huge: that is known */
}

static void missing_parts_are_not_known(void **state)
{
    (void)state;
    OWNED(hv_capabilities) nothing = decode("nonsense");
    assert_false(nothing->machines_known || nothing->pages_known);
    OWNED(hv_capabilities) other = decode("<domain/>");
    assert_false(other->machines_known || other->pages_known);
    OWNED(hv_capabilities) bare = decode("<capabilities><host/></capabilities>");
    assert_true(bare->machines_known && bare->n_machines == 0);
    assert_false(bare->pages_known);
    OWNED(hv_capabilities) xen = decode("<capabilities><guest><arch name='x86_64'/></guest>"
                                        "</capabilities>");
    assert_false(xen->machines_known);
}

/* A list that lacks one would say that it is not there. */
static void a_list_that_is_too_long_is_not_known(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct buf xml;
        buf_init(&xml, 1024 * 1024);
        buf_add(&xml, "<capabilities><guest><arch name='x86_64'>");
        for (int i = 0; i < HV_MACHINES_MAX + extra; i++)
            buf_addf(&xml, "<machine>m%d</machine>", i);
        buf_add(&xml, "</arch></guest></capabilities>");
        OWNED_TEXT text = buf_take(&xml);
        OWNED(hv_capabilities) a = decode(text);
        assert_int_equal(a->machines_known, extra == 0);
        assert_int_equal(a->n_machines, extra == 0 ? HV_MACHINES_MAX : 0);
    }
}

static void a_pool_has_a_path_and_a_device_a_name(void **state)
{
    (void)state;
    char path[16] = "";
    struct hv_bridge link = {""};
    assert_true(libvirt_capabilities_pool_path(
        "<pool type='dir'><name>p</name><target><path>/srv/p</path></target></pool>", path,
        sizeof path));
    assert_string_equal(path, "/srv/p");
    assert_false(libvirt_capabilities_pool_path("<pool type='rbd'><name>p</name></pool>", path,
                                                sizeof path));
    assert_false(libvirt_capabilities_pool_path(
        "<pool><target><path>/a/path/that/does/not/fit</path></target></pool>", path, sizeof path));
    assert_true(libvirt_capabilities_link("<device><name>net_br0_x</name><capability type='net'>"
                                          "<interface>br0</interface></capability></device>",
                                          &link));
    assert_string_equal(link.name, "br0");
    assert_false(libvirt_capabilities_link("<device/>", &link));
    assert_false(libvirt_capabilities_link("", &link));
}

TEST_FILE(test_libvirt_capabilities)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_are_listed_by_both_their_names),
        cmocka_unit_test(huge_pages_are_summed_over_cells_without_normal_pages),
        cmocka_unit_test(page_sizes_are_bounded_and_nonsense_is_skipped),
        cmocka_unit_test(missing_parts_are_not_known),
        cmocka_unit_test(a_list_that_is_too_long_is_not_known),
        cmocka_unit_test(a_pool_has_a_path_and_a_device_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
