/* test_migratable.c - which rows of migratable.def apply to which definition, and that a guest with
 * such a row is refused before anybody is called. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/sim/sim.h"
#include "tests/core_world.h"

static const char *const paths[] = {"/srv/shared", "/mnt/nfs/"};
static const char *const pools[] = {"san"};
static const struct migratable_config shared = {.shared_paths = paths,
                                                .n_shared_paths = COUNT(paths),
                                                .shared_pools = pools,
                                                .n_shared_pools = COUNT(pools)};

/* The rows that apply to a domain of these parts. */
static struct migratable evaluate(const char *parts, const struct migratable_config *config)
{
    char xml[4096];
    struct hv_definition d;
    struct err err = {0};
    struct migratable m;
    (void)snprintf(xml, sizeof xml, "<domain>%s</domain>", parts);
    assert_true(hv_definition_parse(xml, &d, &err));
    migratable_evaluate(&d, config, &m);
    assert_true(m.known);
    return m;
}

#define ROW(id) (1U << UNMOVABLE_##id)
#define DEVICE(text) "<devices>" text "</devices>"
#define DISK(type, source) \
    DEVICE("<disk type='" type "'><source " source "/><target dev='vda'/></disk>")
#define CPU(mode, rest) "<cpu mode='" mode "'" rest "</cpu>"
#define METADATA(text) "<metadata>" text "</metadata>"
#define OWN(text) "<f:guest xmlns:f='urn:ferry:domain:1'>" text "</f:guest>"
#define SYSINFO(entry, text) \
    "<sysinfo type='smbios'><system><entry name='" entry "'>" text "</entry></system></sysinfo>"
#define INVTSC "><feature policy='require' name='invtsc'/>"

static const struct {
    const char *parts;
    uint32_t rows;
} stories[] = {
    {"", 0},
    {METADATA("<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.0'/>"),
     ROW(MANAGED)},
    {METADATA("<i xmlns='http://openstack.org/xmlns/libvirt/nova/1.1'/>"), ROW(MANAGED)},
    {METADATA("<v:vm xmlns:v='http://ovirt.org/vm/1.0'/>"), ROW(MANAGED)},
    {METADATA("<kubevirt xmlns='http://kubevirt.io'><uid>u</uid></kubevirt>"), ROW(MANAGED)},
    {METADATA("<one:vm xmlns:one='http://opennebula.org/xmlns/libvirt/1.0'/>"), ROW(MANAGED)},
    {SYSINFO("product", "CloudStack KVM Hypervisor"), ROW(MANAGED)},
    {SYSINFO("manufacturer", "Apache Software Foundation"), ROW(MANAGED)},
    {SYSINFO("serial", "CloudStack"), 0},
    {METADATA("<x:app xmlns:x='urn:cockpit'/><app/>text"), 0},
    {METADATA("<x:vm xmlns:x='http://ovirt.org/'/>"), 0},
    {METADATA(OWN("<f:managedBy> pacemaker\n</f:managedBy>")), ROW(MANAGED)},
    {METADATA(OWN("<f:managedBy>our-scripts</f:managedBy>")), ROW(MANAGED)},
    {METADATA(OWN("<f:managedBy/>")), 0},
    {METADATA(OWN("")), 0},
    {DEVICE("<interface type='hostdev'/>"), ROW(INTERFACE)},
    {DEVICE("<interface type='vdpa'><source dev='/dev/vhost-vdpa-0'/></interface>"),
     ROW(INTERFACE)},
    {DEVICE("<interface type='hostdev'><teaming type='transient'/></interface>"), 0},
    {DEVICE("<interface type='bridge'/><interface type='user'/><interface type='direct'/>"), 0},
    {CPU("host-passthrough", " migratable='off'>"), ROW(CPU_MODE) | ROW(HOST_CPU)},
    {CPU("maximum", " migratable='off'>"), ROW(CPU_MODE) | ROW(HOST_CPU)},
    {CPU("host-passthrough", " migratable='on'>"), ROW(HOST_CPU)},
    {CPU("host-passthrough", ">"), ROW(HOST_CPU)},
    {CPU("custom", "><model>qemu64</model>"), 0},
    {DEVICE("<hostdev mode='subsystem' type='pci'/>"), ROW(HOST_DEVICE)},
    {DEVICE("<hostdev mode='subsystem' type='mdev'/>"), ROW(HOST_DEVICE)},
    {"<launchSecurity type='sev'/>", ROW(SEV)},
    {"<launchSecurity type='sev-snp'/>", ROW(SEV)},
    {"<launchSecurity type='tdx'/>", ROW(TDX)},
    {"<launchSecurity type='s390-pv'/>", ROW(SECURE_EXECUTION)},
    {CPU("custom", INVTSC), ROW(TSC)},
    {CPU("custom", INVTSC) "<clock><timer name='tsc' frequency='2000000000'/></clock>", 0},
    {CPU("custom", "><feature policy='disable' name='invtsc'/>"), 0},
    {"<features><hyperv mode='custom'><reenlightenment state='on'/></hyperv></features>", ROW(TSC)},
    {"<features><hyperv mode='passthrough'/></features>", ROW(HYPERV_PASSTHROUGH)},
    {"<features><hyperv mode='custom'/></features>", 0},
    {DEVICE("<filesystem type='mount'><driver type='virtiofs'/></filesystem>"), ROW(VIRTIOFS)},
    {DEVICE("<filesystem type='mount'><driver type='path'/></filesystem>"), ROW(PLAN9)},
    {DEVICE("<filesystem type='mount'/>"), ROW(PLAN9)},
    {DEVICE("<shmem name='m'><model type='ivshmem-plain'/></shmem>"), ROW(SHARED_MEMORY)},
    {DEVICE("<shmem name='m' role='peer'/>"), ROW(SHARED_MEMORY)},
    {DEVICE("<shmem name='m' role='master'/>"), 0},
    {DISK("file", "file='/var/lib/images/a.qcow2'"), ROW(DISKS)},
    {DISK("file", "file='/srv/shared/a.qcow2'"), 0},
    {DISK("file", "file='/srv/shared2/a.qcow2'"), ROW(DISKS)},
    {DISK("file", "file='/srv/shared/../b/a.qcow2'"), ROW(DISKS)},
    {DISK("block", "dev='/mnt/nfs/a'"), 0},
    {DISK("block", "dev='/mnt/nfs'"), 0}, /* the place itself */
    {DISK("block", "dev='/dev/sda'"), ROW(DISKS)},
    {DISK("network", "protocol='nbd' name='x'"), 0},
    {DISK("network", "protocol='nbd'"), 0},
    {DISK("volume", "pool='san' volume='v'"), 0},
    {DISK("volume", "pool='default' volume='v'"), ROW(DISKS)},
    {DISK("nvme", "type='pci'"), ROW(DISKS)},
    {DISK("file", "file='/var/a'") "<launchSecurity type='sev'/>", ROW(SEV) | ROW(DISKS)},
    {DEVICE("<disk type='file' device='cdrom'><target dev='sda'/><readonly/></disk>"), 0},
    {DEVICE("<disk type='file' device='cdrom'><source file='/a.iso'/><readonly/></disk>"),
     ROW(DISKS)},
    {DEVICE("<disk type='block'><source dev='/mnt/nfs/l'><reservations managed='yes'/></source>"
            "</disk>"),
     ROW(RESERVATIONS)},
};

static void each_row_applies_to_what_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct migratable m = evaluate(stories[i].parts, &shared);
        if (m.rows != stories[i].rows)
            print_message("story %zu: %s\n", i, stories[i].parts);
        assert_int_equal(m.rows, stories[i].rows);
    }
}

static void more_than_can_be_checked_is_not_moved(void **state)
{
    (void)state;
    struct hv_definition d = {.cut = 1};
    struct migratable m;
    migratable_evaluate(&d, &shared, &m);
    assert_int_equal(m.rows, ROW(CUT));
    d = (struct hv_definition){.n_disks = 1, .disks[0] = {.kind = HV_DISK_FILE, .cut = true}};
    TEXT_SET(d.disks[0].source, "/srv/shared/long");
    migratable_evaluate(&d, &shared, &m);
    assert_int_equal(m.rows, ROW(DISKS)); /* who knows where the rest of the path leads */
}

static void a_manager_is_known_by_its_mark_and_may_be_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *parts;
        enum hv_manager manager;
        const char *title;
    } marks[] = {
        {METADATA("<i xmlns='http://openstack.org/xmlns/libvirt/nova/1.1'/>"), HV_MANAGER_NOVA,
         "OpenStack Nova"},
        {METADATA("<v:vm xmlns:v='http://ovirt.org/vm/1.0'/>"), HV_MANAGER_OVIRT, "oVirt"},
        {METADATA("<k xmlns='http://kubevirt.io'/>"), HV_MANAGER_KUBEVIRT, "KubeVirt"},
        {METADATA("<o:vm xmlns:o='http://opennebula.org/xmlns/libvirt/1.0'/>"),
         HV_MANAGER_OPENNEBULA, "OpenNebula"},
        {SYSINFO("product", "CloudStack KVM Hypervisor"), HV_MANAGER_CLOUDSTACK, "CloudStack"},
        {METADATA(OWN("<f:managedBy>pacemaker</f:managedBy>")), HV_MANAGER_PACEMAKER, "Pacemaker"},
        {METADATA(OWN("<f:managedBy>our-scripts</f:managedBy>")), HV_MANAGER_OTHER,
         "another manager"},
        /* what the owner wrote by hand comes first, wherever it stands */
        {METADATA("<v:vm xmlns:v='http://ovirt.org/vm/1.0'/>" OWN(
             "<f:managedBy>pacemaker</f:managedBy>")),
         HV_MANAGER_PACEMAKER, "Pacemaker"},
        {SYSINFO("product", "CloudStack") METADATA("<v:vm xmlns:v='http://ovirt.org/vm/1.0'/>"),
         HV_MANAGER_OVIRT, "oVirt"},
    };
    const struct migratable_config allowed = {.allow_managed = true};
    char text[MIGRATABLE_TEXT_MAX];
    for (size_t i = 0; i < COUNT(marks); i++) {
        struct migratable m = evaluate(marks[i].parts, &shared);
        assert_int_equal(m.manager, marks[i].manager);
        assert_int_equal(migratable_first_live(&m), UNMOVABLE_MANAGED);
        assert_int_equal(migratable_first_storage(&m), UNMOVABLE_MANAGED);
        unmovable_text(UNMOVABLE_MANAGED, &m, text);
        assert_non_null(strstr(text, marks[i].title));
        m = evaluate(marks[i].parts, &allowed);
        assert_int_equal(m.rows, 0);
        assert_int_equal(m.manager, marks[i].manager); /* still known */
    }
    for (enum hv_manager manager = 0; manager < HV_MANAGER_COUNT; manager++)
        assert_int_equal(hv_manager_from_name(hv_manager_name(manager)), manager);
}

static struct migratable evaluate_plugged(const char *live, const char *stored)
{
    struct hv_definition d, s;
    struct err err = {0};
    struct migratable m;
    assert_true(hv_definition_parse(live, &d, &err) && hv_definition_parse(stored, &s, &err));
    migratable_mark_plugged(&d, &s);
    migratable_evaluate(&d, &shared, &m);
    return m;
}

#define LOCAL(dev) "<disk type='file'><source file='/var/a'/><target dev='" dev "'/></disk>"
#define SHARED(dev) "<disk type='file'><source file='/srv/shared/a'/><target dev='" dev "'/></disk>"
#define DOMAIN(disks) "<domain>" DEVICE(disks) "</domain>"

static void a_disk_that_was_plugged_in_is_told_apart_from_one_that_belongs_to_it(void **state)
{
    (void)state;
    static const struct {
        const char *live, *stored;
        uint32_t rows;
        const char *plugged, *disk;
    } pairs[] = {
        {DOMAIN(SHARED("vda") LOCAL("vdb")), DOMAIN(SHARED("vda")), ROW(HOTPLUG), "vdb", ""},
        {DOMAIN(SHARED("vda") SHARED("vdb")), DOMAIN(SHARED("vda")), 0, "", ""}, /* it moves */
        {DOMAIN(LOCAL("vda")), DOMAIN(LOCAL("vda")), ROW(DISKS), "", "vda"},
        {DOMAIN(LOCAL("vda") LOCAL("vdb")), DOMAIN(LOCAL("vda")), ROW(DISKS) | ROW(HOTPLUG), "vdb",
         "vda"},
        {DOMAIN(SHARED("vda")), DOMAIN(SHARED("vda") LOCAL("vdb")), 0, "", ""}, /* not yet there */
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct migratable m = evaluate_plugged(pairs[i].live, pairs[i].stored);
        assert_int_equal(m.rows, pairs[i].rows);
        assert_string_equal(m.plugged, pairs[i].plugged);
        assert_string_equal(m.disk, pairs[i].disk);
    }
    char text[MIGRATABLE_TEXT_MAX];
    struct migratable both = evaluate_plugged(pairs[3].live, pairs[3].stored);
    unmovable_text(UNMOVABLE_HOTPLUG, &both, text);
    assert_string_equal(text, "cannot migrate VMI: disk vdb was hot-plugged and is not shared");
    unmovable_text(UNMOVABLE_DISKS, &both, text);
    assert_non_null(strstr(text, "disk vda is not shared"));
}

static void a_guest_with_snapshots_is_not_moved(void **state)
{
    (void)state;
    struct hv_definition d = {.snapshots = 3};
    struct migratable m;
    char text[MIGRATABLE_TEXT_MAX];
    migratable_evaluate(&d, &shared, &m);
    assert_int_equal(m.rows, ROW(SNAPSHOTS));
    unmovable_text(UNMOVABLE_SNAPSHOTS, &m, text);
    assert_string_equal(text, "VMI has 3 snapshots on its host: libvirt does not migrate "
                              "a guest with snapshots");
}

static void an_override_takes_every_disk_for_shared(void **state)
{
    (void)state;
    struct migratable_config unsafe = {.unsafe = true}, none = {0};
    assert_int_equal(evaluate(DISK("file", "file='/a'"), &unsafe).rows, 0);
    assert_int_equal(evaluate(DEVICE("<hostdev/>"), &unsafe).rows, ROW(HOST_DEVICE));
    assert_int_equal(evaluate(DISK("file", "file='/a'"), &none).rows, ROW(DISKS));
    static const char *const root[] = {"/"};
    struct migratable_config all = {.shared_paths = root, .n_shared_paths = 1};
    assert_int_equal(evaluate(DISK("file", "file='/a'"), &all).rows, 0);
}

/* --- laws over the table --- */

static void law_names_differ_and_texts_are_whole(void **state)
{
    (void)state;
    const struct migratable m = {
        .known = true, .disk = "vda-is-a-disk15", .plugged = "vdb-is-a-disk15", .snapshots = 9};
    for (enum unmovable a = 0; a < UNMOVABLE_COUNT; a++) {
        for (enum unmovable b = 0; b < a; b++)
            assert_string_not_equal(unmovable_name(a), unmovable_name(b));
        char text[MIGRATABLE_TEXT_MAX];
        unmovable_text(a, &m, text);
        assert_true(strlen(text) > 5 && strlen(text) < MIGRATABLE_TEXT_MAX - 1);
        assert_null(strchr(text, '%'));
        const char *help = unmovable_help(a);
        assert_true(help[strlen(help) - 1] == '.');
    }
}

static void law_every_row_has_a_story(void **state)
{
    (void)state;
    uint32_t seen = ROW(CUT) | ROW(HOTPLUG) | ROW(SNAPSHOTS); /* have their own above */
    for (size_t i = 0; i < COUNT(stories); i++)
        seen |= stories[i].rows;
    assert_int_equal(seen, (1U << UNMOVABLE_COUNT) - 1);
}

/* Written again by hand from KubeVirt's rules: what only the disks, or only one of the two, say. */
static void law_what_each_row_refuses(void **state)
{
    (void)state;
    for (enum unmovable row = 0; row < UNMOVABLE_COUNT; row++) {
        bool live = row != UNMOVABLE_RESERVATIONS && row != UNMOVABLE_HOST_CPU;
        bool storage = row != UNMOVABLE_DISKS && row != UNMOVABLE_HOTPLUG &&
                       row != UNMOVABLE_SECURE_EXECUTION && row != UNMOVABLE_HOST_CPU;
        struct migratable m = {.known = true, .rows = 1U << row};
        assert_int_equal(migratable_first_live(&m), live ? row : UNMOVABLE_COUNT);
        assert_int_equal(migratable_first_storage(&m), storage ? row : UNMOVABLE_COUNT);
    }
    struct migratable all = {.known = true, .rows = UINT32_MAX};
    assert_int_equal(migratable_first_live(&all), UNMOVABLE_MANAGED);
    assert_int_equal(migratable_first_storage(&all), UNMOVABLE_MANAGED);
    all.rows &= ~ROW(MANAGED);
    assert_int_equal(migratable_first_live(&all), UNMOVABLE_INTERFACE);
    assert_int_equal(migratable_first_storage(&all), UNMOVABLE_INTERFACE);
}

/* --- admission --- */

static void learn(struct core_world *w, const char *host, const char *parts)
{
    struct guest_facts facts = {.migratable = evaluate(parts, &shared)};
    struct input input = {.kind = INPUT_DEFINITION, .of.definition = &facts};
    TEXT_SET(input.host, host);
    TEXT_SET(input.guest, CORE_GUEST);
    core_feed(w, &input);
}

static bool ask_with(struct core_world *w, const char *metadata_json, bool dry_run, struct err *err)
{
    struct migration_ref ref;
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, "g1");
    TEXT_SET(input.of.create.request.target, "h2");
    input.of.create.request.metadata_json = metadata_json;
    input.of.create.request.dry_run = dry_run;
    return reconcile(w->fleet, &input, w->now, &w->fx, &ref, err);
}

static bool ask(struct core_world *w, struct err *err)
{
    return ask_with(w, NULL, true, err);
}

static void a_guest_that_cannot_move_is_refused_with_the_first_reason(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct err err = {0};
    assert_true(ask(w, &err)); /* nobody knows yet: accepted */
    learn(w, "h1", DISK("file", "file='/var/a'"));
    assert_false(ask(w, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_string_equal(err.text,
                        "Cannot migrate VMI, Reason: DisksNotLiveMigratable, Message: cannot "
                        "migrate VMI: disk vda is not shared, live migration requires that all "
                        "disks must be shared (using ReadWriteMany access mode)");
    learn(w, "h1", DISK("file", "file='/var/a'") "<launchSecurity type='tdx'/>");
    err = (struct err){0};
    assert_false(ask(w, &err));
    assert_string_equal(err.text,
                        "Cannot migrate VMI, Reason: TDXNotLiveMigratable, Message: VMI uses TDX");
    learn(w, "h1", CPU("host-passthrough", ">")); /* a note refuses nothing */
    err = (struct err){0};
    assert_true(ask(w, &err));
    assert_int_equal(w->migrates, 0);
    core_free(w);
}

static void a_guest_of_another_manager_is_refused_until_that_lets_it_go(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct err err = {0};
    learn(w, "h1",
          METADATA("<v:vm xmlns:v='http://ovirt.org/vm/1.0'/>") DISK("file", "file='/var/a'"));
    assert_false(ask(w, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    assert_string_equal(err.text,
                        "Cannot migrate VMI, Reason: ManagedElsewhere, Message: the guest is "
                        "managed by oVirt, which may start, stop and move it at any time");
    learn(w, "h1", ""); /* its manager has let it go */
    err = (struct err){0};
    assert_true(ask(w, &err));
    assert_int_equal(w->migrates, 0);
    core_free(w);
}

#define ON_BEHALF_OF(manager) "{\"annotations\":{\"ferry.internal/on-behalf-of\":" manager "}}"

/* The manager of a guest may ask for its migration; that is no way around any other reason. */
static void a_manager_may_have_its_own_guest_migrated(void **state)
{
    (void)state;
    static const struct {
        const char *devices, *metadata_json;
        const char *reason; /* of the refusal; NULL: admitted */
    } rows[] = {
        {"", NULL, "ManagedElsewhere"},
        {"", ON_BEHALF_OF("\"ovirt\""), NULL},
        {"", ON_BEHALF_OF("\"nova\""), "ManagedElsewhere"},
        {"", ON_BEHALF_OF("\"ovirt2\""), "ManagedElsewhere"},
        {"", ON_BEHALF_OF("\"\""), "ManagedElsewhere"},
        {"", ON_BEHALF_OF("null"), "ManagedElsewhere"},
        {"", ON_BEHALF_OF("[\"ovirt\"]"), "ManagedElsewhere"},
        {DISK("file", "file='/var/a'"), ON_BEHALF_OF("\"ovirt\""), "DisksNotLiveMigratable"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        struct err err = {0};
        char text[1024];
        (void)snprintf(text, sizeof text, "%s%s",
                       METADATA("<v:vm xmlns:v='http://ovirt.org/vm/1.0'/>"), rows[i].devices);
        learn(w, "h1", text);
        assert_int_equal(ask_with(w, rows[i].metadata_json, true, &err), rows[i].reason == NULL);
        if (rows[i].reason != NULL && strstr(err.text, rows[i].reason) == NULL)
            fail_msg("row %zu: %s", i, err.text);
        core_free(w);
    }
}

/* ... also when the definition is read again while the migration waits for its turn. */
static void a_migration_on_behalf_of_the_manager_is_handed_off(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct err err = {0};
    learn(w, "h1", METADATA("<v:vm xmlns:v='http://ovirt.org/vm/1.0'/>"));
    if (!ask_with(w, ON_BEHALF_OF("\"ovirt\""), false, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 20 && w->migrates == 0; i++)
        core_advance(w, 1000);
    assert_int_equal(w->migrates, 1);
    core_free(w);
}

static void only_the_definition_where_it_lives_counts(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct err err = {0};
    learn(w, "h2", DEVICE("<hostdev/>"));
    learn(w, "nowhere", DEVICE("<hostdev/>"));
    assert_true(ask(w, &err));
    uint64_t before = w->fleet->guests_version;
    learn(w, "h1", DEVICE("<hostdev/>"));
    assert_true(w->fleet->guests_version > before); /* readers see it */
    before = w->fleet->guests_version;
    learn(w, "h1", DEVICE("<hostdev/>"));
    assert_int_equal(w->fleet->guests_version, before); /* and nothing when nothing changed */
    assert_false(ask(w, &err));
    core_free(w);
}

/* --- the simulator speaks the same language --- */

static void keep_reply(void *ctx, struct hv_reply *reply)
{
    *(struct hv_reply *)ctx = *reply;
}

static uint32_t rows_of_simulated(bool local_disk, bool host_device)
{
    struct err err = {0};
    struct hv_event_sink nobody = {0};
    OWNED(sim) sim = sim_new(1, 0, &nobody, &err);
    const struct sim_host host = {.name = "h1", .cpus = 4, .link_bps = 1 << 20};
    const struct sim_guest guest = {.name = "g1",
                                    .uuid = CORE_GUEST,
                                    .memory_bytes = 1 << 20,
                                    .vcpus = 1,
                                    .local_disk = local_disk,
                                    .host_device = host_device};
    assert_true(sim_add_host(sim, &host, &err) && sim_add_guest(sim, "h1", &guest, &err));
    struct hv_reply reply = {0};
    struct hv_request request = {.call = HV_CALL_GUEST_XML,
                                 .host = "h1",
                                 .guest = CORE_GUEST,
                                 .reply_to = {keep_reply, &reply}};
    const struct hv *hv = sim_hv(sim);
    assert_true(hv->ops->submit(hv->impl, &request, &err));
    sim_advance(sim, 10000);
    assert_non_null(reply.with.text);
    struct hv_definition d;
    struct migratable m;
    assert_true(hv_definition_parse(reply.with.text, &d, &err));
    migratable_evaluate(&d, &shared, &m);
    hv_reply_fini(&reply);
    return m.rows;
}

static void simulated_guests_can_be_kept_where_they_are(void **state)
{
    (void)state;
    assert_int_equal(rows_of_simulated(false, false), 0);
    assert_int_equal(rows_of_simulated(true, false), ROW(DISKS));
    assert_int_equal(rows_of_simulated(true, true), ROW(DISKS) | ROW(HOST_DEVICE));
}

TEST_FILE(test_migratable)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_applies_to_what_it_says),
        cmocka_unit_test(more_than_can_be_checked_is_not_moved),
        cmocka_unit_test(a_disk_that_was_plugged_in_is_told_apart_from_one_that_belongs_to_it),
        cmocka_unit_test(a_guest_with_snapshots_is_not_moved),
        cmocka_unit_test(a_manager_is_known_by_its_mark_and_may_be_allowed),
        cmocka_unit_test(an_override_takes_every_disk_for_shared),
        cmocka_unit_test(law_names_differ_and_texts_are_whole),
        cmocka_unit_test(law_every_row_has_a_story),
        cmocka_unit_test(law_what_each_row_refuses),
        cmocka_unit_test(a_guest_that_cannot_move_is_refused_with_the_first_reason),
        cmocka_unit_test(a_guest_of_another_manager_is_refused_until_that_lets_it_go),
        cmocka_unit_test(a_manager_may_have_its_own_guest_migrated),
        cmocka_unit_test(a_migration_on_behalf_of_the_manager_is_handed_off),
        cmocka_unit_test(only_the_definition_where_it_lives_counts),
        cmocka_unit_test(simulated_guests_can_be_kept_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
