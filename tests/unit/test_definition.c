/* test_definition.c - a live definition as facts: what is read, what is passed over, and that no
 * text can hurt. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/xml.h"

static const char full[] =
    "<domain type='kvm' id='4' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
    "<name>g</name><os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>"
    "<features><hyperv mode='passthrough'><reenlightenment state='on'/></hyperv></features>"
    "<cpu mode='host-passthrough' migratable='off'><model fallback='forbid'>EPYC</model>"
    "<feature policy='require' name='invtsc'/></cpu>"
    "<clock offset='utc'><timer name='rtc'/><timer name='tsc' frequency='3000000000'/></clock>"
    "<devices>"
    "<disk type='file' device='disk'><driver name='qemu' cache='none'/>"
    "<source file='/srv/a.qcow2'/><target dev='vda'/><shareable/></disk>"
    "<disk type='file' device='cdrom'><target dev='sda'/><readonly/></disk>"
    "<disk type='network' device='disk'><source protocol='rbd' name='pool/image'/>"
    "<target dev='vdb'/></disk>"
    "<disk type='volume' device='disk'><source pool='san' volume='v1'/><target dev='vdc'/></disk>"
    "<disk type='block' device='lun'><source dev='/dev/sdx'>"
    "<reservations managed='yes'/></source><target dev='sdb'/></disk>"
    "<disk type='nvme' device='disk'><source type='pci'/><target dev='vdd'/></disk>"
    "<interface type='network'><source network='default' bridge='virbr0'/></interface>"
    "<interface type='bridge'><source bridge='br0'/></interface>"
    "<interface type='direct'><source dev='eth0' mode='bridge'/></interface>"
    "<interface type='hostdev'><teaming type='transient' persistent='ua-1'/></interface>"
    "<hostdev mode='subsystem' type='pci'/><hostdev mode='subsystem' type='usb'/>"
    "<hostdev mode='subsystem' type='pci'><teaming type='transient' persistent='x'/></hostdev>"
    "<filesystem type='mount'><driver type='virtiofs'/></filesystem>"
    "<filesystem type='mount' accessmode='mapped'/>"
    "<shmem name='a' role='peer'/><shmem name='b'/><shmem name='c' role='master'/>"
    "<flux-capacitor jigawatts='1.21'><disk type='file'/></flux-capacitor>"
    "</devices><launchSecurity type='sev-snp'/>"
    "<qemu:commandline><qemu:arg value='-device'/><qemu:arg value='ivshmem-plain,memdev=m'/>"
    "<qemu:arg value='ivshmem-plain,memdev=m,master=on'/>"
    "<qemu:arg value='vfio-pci,host=1'/></qemu:commandline></domain>";

static void everything_that_matters_is_read(void **state)
{
    (void)state;
    struct hv_definition d;
    struct err err = {0};
    assert_true(hv_definition_parse(full, &d, &err));
    assert_string_equal(d.arch, "x86_64");
    assert_string_equal(d.machine, "pc-q35-7.2");
    assert_string_equal(d.cpu_mode, "host-passthrough");
    assert_string_equal(d.cpu_model, "EPYC");
    assert_true(d.cpu_fixed && d.invtsc && d.tsc_frequency);
    assert_true(d.reenlightenment && d.hyperv_passthrough);
    assert_string_equal(d.launch_security, "sev-snp");
    assert_int_equal(d.host_devices, 3);
    assert_int_equal(d.virtiofs, 1);
    assert_int_equal(d.plan9, 1);
    assert_int_equal(d.shared_memory_peers, 3);
    assert_int_equal(d.cut, 0);
}

static void disks_and_interfaces_are_read(void **state)
{
    (void)state;
    static const struct {
        enum hv_disk_kind kind;
        const char *target, *source, *pool;
        bool removable, reservations;
    } disks[] = {
        {HV_DISK_FILE, "vda", "/srv/a.qcow2", "", false, false},
        {HV_DISK_FILE, "sda", "", "", true, false},
        {HV_DISK_NETWORK, "vdb", "pool/image", "", false, false},
        {HV_DISK_VOLUME, "vdc", "v1", "san", false, false},
        {HV_DISK_BLOCK, "sdb", "/dev/sdx", "", false, true},
        {HV_DISK_OTHER, "vdd", "?", "", false, false},
    };
    static const struct {
        const char *type, *source;
        bool transient;
    } interfaces[] = {
        {"network", "default", false},
        {"bridge", "br0", false},
        {"direct", "eth0", false},
        {"hostdev", "", true},
    };
    struct hv_definition d;
    struct err err = {0};
    assert_true(hv_definition_parse(full, &d, &err));
    assert_int_equal(d.n_disks, COUNT(disks));
    for (size_t i = 0; i < COUNT(disks); i++) {
        assert_int_equal(d.disks[i].kind, disks[i].kind);
        assert_string_equal(d.disks[i].target, disks[i].target);
        assert_string_equal(d.disks[i].source, disks[i].source);
        assert_string_equal(d.disks[i].pool, disks[i].pool);
        assert_int_equal(d.disks[i].removable, disks[i].removable);
        assert_int_equal(d.disks[i].reservations, disks[i].reservations);
    }
    assert_string_equal(d.disks[0].cache, "none");
    assert_true(d.disks[0].shareable && !d.disks[0].readonly && d.disks[1].readonly);
    assert_int_equal(d.n_interfaces, COUNT(interfaces));
    for (size_t i = 0; i < COUNT(interfaces); i++) {
        assert_string_equal(d.interfaces[i].type, interfaces[i].type);
        assert_string_equal(d.interfaces[i].source, interfaces[i].source);
        assert_int_equal(d.interfaces[i].transient, interfaces[i].transient);
    }
}

static void what_is_no_definition_sets_nothing(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "x",
        "<domain>",
        "<network/>",
        "<!DOCTYPE domain [<!ENTITY a 'b'>]><domain><name>&a;</name></domain>",
        "<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><domain>&a;</domain>",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hv_definition d;
        memset(&d, 0x5a, sizeof d);
        struct hv_definition before = d;
        struct err err = {0};
        assert_false(hv_definition_parse(rows[i], &d, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_memory_equal(&d, &before, sizeof d);
    }
    struct hv_definition d;
    struct err err = {0};
    char *huge = malloc(HV_DEFINITION_BYTES_MAX + 2);
    assert_non_null(huge);
    memset(huge, ' ', HV_DEFINITION_BYTES_MAX + 1);
    huge[HV_DEFINITION_BYTES_MAX + 1] = '\0';
    assert_false(hv_definition_parse(huge, &d, &err));
    free(huge);
}

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct buf xml;
    buf_init(&xml, 1 << 20);
    buf_add(&xml, "<domain><devices>");
    for (int i = 0; i < HV_DISKS_MAX + 3; i++)
        buf_add(&xml, "<disk type='file'/>");
    for (int i = 0; i < HV_INTERFACES_MAX + 2; i++)
        buf_add(&xml, "<interface type='user'/>");
    buf_add(&xml, "</devices></domain>");
    struct hv_definition d;
    struct err err = {0};
    assert_true(hv_definition_parse(xml.data, &d, &err));
    assert_int_equal(d.n_disks, HV_DISKS_MAX);
    assert_int_equal(d.n_interfaces, HV_INTERFACES_MAX);
    assert_int_equal(d.cut, 5);
    buf_fini(&xml);

    buf_init(&xml, 1 << 20);
    buf_add(&xml, "<domain><devices><disk type='file'><source file='/");
    for (int i = 0; i < HV_SOURCE_MAX; i++)
        buf_add(&xml, "x");
    buf_add(&xml, "'/></disk></devices></domain>");
    assert_true(hv_definition_parse(xml.data, &d, &err));
    assert_true(d.disks[0].cut);
    buf_fini(&xml);
}

/* A word that no text may take the facts out of: numbers within their arrays, texts that end. */
static void check(const struct hv_definition *d)
{
    assert_true(d->n_disks <= HV_DISKS_MAX && d->n_interfaces <= HV_INTERFACES_MAX);
    assert_true(memchr(d->cpu_model, '\0', sizeof d->cpu_model) != NULL);
    for (size_t i = 0; i < d->n_disks; i++)
        assert_true(memchr(d->disks[i].source, '\0', sizeof d->disks[i].source) != NULL);
}

static uint32_t dice(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static void damaged_definitions_do_no_harm(void **state)
{
    (void)state;
    static const char alphabet[] = "<>/='\"& \n\1\x80\xff;![]-aZ0";
    uint32_t seed = 2463534242U;
    unsigned read = 0;
    for (int round = 0; round < 3000; round++) {
        char text[sizeof full];
        memcpy(text, full, sizeof full);
        for (uint32_t hits = dice(&seed) % 4; hits > 0; hits--) {
            size_t at = dice(&seed) % (sizeof full - 1);
            if (dice(&seed) % 3 == 0) { /* a piece moves */
                size_t from = dice(&seed) % (sizeof full - 1), n = dice(&seed) % 64;
                size_t room = sizeof full - 1 - (at > from ? at : from);
                memmove(text + at, text + from, n < room ? n : room);
            } else {
                text[at] = alphabet[dice(&seed) % (sizeof alphabet - 1)];
            }
        }
        struct hv_definition d;
        struct err err = {0};
        if (hv_definition_parse(text, &d, &err)) {
            check(&d);
            read++;
        }
    }
    assert_true(read > 500 && read < 3000); /* some live, some die, or nothing was tested */
}

#define DOMAIN_OF(type, machine, inside)                                                           \
    "<domain type='" type "'><os><type arch='x86_64' machine='" machine "'>hvm</type></os>" inside \
    "</domain>"
#define TCG(inside) DOMAIN_OF("qemu", "pc", inside)
#define CPU "<cpu mode='custom' match='exact'><model fallback='forbid'>EPYC</model>"
#define AVX "<feature policy='require' name='avx'/>"
#define SVM "<feature policy='disable' name='svm'/>"

static uint64_t cpu_hash(const char *xml)
{
    struct hv_definition d;
    struct err err = {0};
    assert_true(hv_definition_parse(xml, &d, &err));
    return d.cpu_hash;
}

/* Rows of one group are one CPU, rows of different groups are different ones. */
static void equal_cpus_have_equal_numbers_and_others_do_not(void **state)
{
    (void)state;
    static const struct {
        int group;
        const char *xml;
    } rows[] = {
        {1, TCG(CPU AVX SVM "</cpu>")},
        {1, TCG(CPU SVM "\n    " AVX "\n  </cpu>")},
        {1, TCG("<cpu match='exact' mode='custom'><model fallback='forbid'>EPYC</model>" AVX SVM
                "</cpu>")},
        {1, TCG(CPU AVX "<topology sockets='1' cores='2' threads='1'/>" SVM "</cpu>")},
        {1, TCG(CPU AVX SVM "<numa><cell id='0' cpus='0-1' memory='1' unit='KiB'/></numa></cpu>")},
        {2, TCG(CPU AVX "</cpu>")},
        {3, TCG(CPU "<feature policy='disable' name='avx'/>" SVM "</cpu>")},
        {4,
         TCG("<cpu mode='custom' match='exact'><model fallback='forbid'>EPYC-Rome</model>" AVX SVM
             "</cpu>")},
        {5, TCG("<cpu mode='host-model'><model fallback='forbid'>EPYC</model>" AVX SVM "</cpu>")},
        {6, DOMAIN_OF("kvm", "pc", CPU AVX SVM "</cpu>")},
        {7, DOMAIN_OF("qemu", "q35", CPU AVX SVM "</cpu>")},
        {8, TCG(CPU AVX AVX SVM "</cpu>")},
        {9, TCG("<cpu/>")},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t j = 0; j < COUNT(rows); j++)
            if ((cpu_hash(rows[i].xml) == cpu_hash(rows[j].xml)) !=
                (rows[i].group == rows[j].group))
                fail_msg("rows %zu and %zu", i, j);
    assert_true(cpu_hash(rows[COUNT(rows) - 1].xml) != 0);
    assert_true(cpu_hash(TCG("")) == 0);
}

static void pages_are_plain_huge_or_of_a_size(void **state)
{
    (void)state;
    static const struct {
        const char *inside;
        uint64_t kib;
    } rows[] = {
        {"", 0},
        {"<memoryBacking><locked/></memoryBacking>", 0},
        {"<memoryBacking><hugepages/></memoryBacking>", 1},
        {"<memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages></memoryBacking>",
         2048},
        {"<memoryBacking><hugepages><page size='2048'/></hugepages></memoryBacking>", 2048},
        {"<memoryBacking><hugepages><page size='2' unit='M'/></hugepages></memoryBacking>", 2048},
        {"<memoryBacking><hugepages><page size='1' unit='GiB' nodeset='0'/>"
         "<page size='2' unit='M'/></hugepages></memoryBacking>",
         1048576},
        {"<memoryBacking><hugepages><page size='x'/></hugepages></memoryBacking>", 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char xml[512];
        struct hv_definition d;
        struct err err = {0};
        (void)snprintf(xml, sizeof xml, "<domain>%s</domain>", rows[i].inside);
        assert_true(hv_definition_parse(xml, &d, &err));
        if (d.hugepage_kib != rows[i].kib)
            fail_msg("%s: %llu", rows[i].inside, (unsigned long long)d.hugepage_kib);
    }
}

static void what_happens_to_disks_and_who_an_interface_is(void **state)
{
    (void)state;
    struct hv_definition d;
    struct err err = {0};
    assert_true(hv_definition_parse(
        "<domain><devices>"
        "<disk type='file'><source file='/a'/><mirror type='file' job='copy'/></disk>"
        "<disk type='file'><source file='/b'/><alias name='ua-utility-7'/></disk>"
        "<disk type='file'><source file='/c'/><alias name='virtio-disk0'/></disk>"
        "<interface type='bridge'><mac address='52:54:00:AB:cd:Ef'/><source "
        "bridge='b'/></interface>"
        "<interface type='user'/></devices></domain>",
        &d, &err));
    assert_true(d.disks[0].block_job && !d.disks[0].utility);
    assert_true(!d.disks[1].block_job && d.disks[1].utility);
    assert_true(!d.disks[2].block_job && !d.disks[2].utility);
    assert_string_equal(d.interfaces[0].mac, "52:54:00:ab:cd:ef");
    assert_string_equal(d.interfaces[1].mac, "");
}

/* As libvirt 9 shows one interface of a network before and after its guest started. */
static void an_interface_of_a_network_stays_one(void **state)
{
    (void)state;
    static const struct {
        const char *xml, *type, *source;
    } rows[] = {
        {"<interface type='network'><source network='ext'/></interface>", "network", "ext"},
        {"<interface type='network'><source network='ext' bridge='virbr0'/></interface>", "network",
         "ext"},
        {"<interface type='bridge'><source network='ext' portid='x' bridge='br7'/></interface>",
         "network", "ext"},
        {"<interface type='direct'><source network='ext' dev='eth0' mode='vepa'/></interface>",
         "network", "ext"},
        {"<interface type='hostdev'><source network='ext'/></interface>", "hostdev", "ext"},
        {"<interface type='bridge'><source bridge='br7'/></interface>", "bridge", "br7"},
        {"<interface type='direct'><source dev='eth0'/></interface>", "direct", "eth0"},
        {"<interface type='user'/>", "user", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char xml[256];
        struct hv_definition d;
        struct err err = {0};
        (void)snprintf(xml, sizeof xml, "<domain><devices>%s</devices></domain>", rows[i].xml);
        assert_true(hv_definition_parse(xml, &d, &err));
        assert_string_equal(d.interfaces[0].type, rows[i].type);
        assert_string_equal(d.interfaces[0].source, rows[i].source);
    }
}

/* A host or a guest's metadata could make the reader expand entities, or fetch files. */
static void a_document_type_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "<!DOCTYPE d [<!ENTITY a 'x'>]><domain>&a;</domain>",
        "<!DOCTYPE domain SYSTEM 'file:///etc/passwd'><domain/>",
        "<!DOCTYPE domain><domain/>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(xml_parse(bad[i], 1000));
    static const char *const good[] = {"<domain/>", "<domain><!-- <!DOCTYPE x> --></domain>",
                                       "<domain>&lt;!DOCTYPE x></domain>"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        xmlDocPtr doc = xml_parse(good[i], 1000);
        assert_non_null(doc);
        xmlFreeDoc(doc);
    }
}

TEST_FILE(test_definition)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_type_is_refused),
        cmocka_unit_test(an_interface_of_a_network_stays_one),
        cmocka_unit_test(equal_cpus_have_equal_numbers_and_others_do_not),
        cmocka_unit_test(pages_are_plain_huge_or_of_a_size),
        cmocka_unit_test(what_happens_to_disks_and_who_an_interface_is),
        cmocka_unit_test(everything_that_matters_is_read),
        cmocka_unit_test(disks_and_interfaces_are_read),
        cmocka_unit_test(what_is_no_definition_sets_nothing),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(damaged_definitions_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
