/* test_placement.c - every row of rejection.def: a node that would do, one thing wrong, exactly
 * that row with a detail that names it. */
#include "engine/model/definition/volumes.h"
#include "tests/unit/test_placement_stage.h"

/* ---- one thing wrong ---- */

static void source(struct stage *s)
{
    s->p.source = s->b;
}
static void other_cell(struct stage *s)
{
    TEXT_SET(s->b->host.cell, "east");
}
static void not_wanted(struct stage *s)
{
    s->p.wanted = "c";
}
static void selector(struct stage *s)
{
    assert_true(labels_set(&s->added, "zone", "west"));
}
static void guest_selector(struct stage *s)
{
    assert_true(labels_set(&s->b->labels, "disk", "hdd"));
}
static void observed_only(struct stage *s)
{
    s->b->host.observe = true;
}
static void cordoned(struct stage *s)
{
    s->b->cordoned = true;
}
static void not_ready(struct stage *s)
{
    s->b->connected = false;
    TEXT_SET(s->b->error, "no route");
}
static void versions(struct stage *s)
{
    s->a->facts.libvirt_version = 11003000;
    s->a->facts.hypervisor_version = 11000000;
}
static void taint(struct stage *s)
{
    s->b->taints[s->b->n_taints++] = (struct taint){"gpu", "yes", "NoSchedule"};
}
static void arch(struct stage *s)
{
    TEXT_SET(s->requirements.arch, "s390x");
    set_requirements(s);
}
static void machine(struct stage *s)
{
    TEXT_SET(s->requirements.machine, "pc-q35-9.1");
    set_requirements(s);
}
static void name_taken(struct stage *s)
{
    struct guest *other = world_guest(s->f, "else", "g", s->b);
    world_state(s->f, other->domains, HV_STATE_SHUTOFF); /* its name is taken all the same */
}
static void uuid_taken(struct stage *s)
{
    (void)world_put(s->f, s->guest, s->b);
}
static void stale_domain(struct stage *s)
{
    struct domain *left = world_put(s->f, s->guest, s->b);
    world_state(s->f, left, HV_STATE_SHUTOFF);
    left->persistent = false;
}
static void network(struct stage *s)
{
    TEXT_SET(s->requirements.networks[s->requirements.n_networks++], "dmz");
    set_requirements(s);
}
static void volume(struct stage *s)
{
    TEXT_SET(s->requirements.pools[s->requirements.n_pools++], "tape");
    set_requirements(s);
}
static void tls(struct stage *s)
{
    s->p.encrypted = s->a->host.tls = true;
}
static void inbound(struct stage *s)
{
    fleet_count_inbound(s->f, s->b, 2);
}
static void bandwidth(struct stage *s)
{
    s->b->in_bandwidth += 41 * MIB_S;
}
static void memory(struct stage *s)
{
    struct guest *big = world_guest(s->f, "shop", "big", NULL);
    big->memory_kib = (uint64_t)58 * GIB;
    (void)world_put(s->f, big, s->b);
}
static void memory_ever(struct stage *s)
{
    s->b->facts.memory_kib = (uint64_t)3 * GIB;
}
static void vcpu(struct stage *s)
{
    s->b->facts.cpus = 1;
    s->f->config.vcpus_per_cpu = 7; /* db has four of them, or five guests have all */
}
static void huge_pages(struct stage *s)
{
    for (size_t i = 0; i < s->b->capabilities->n_pages; i++)
        s->b->capabilities->pages[i].free = 1;
}
static void affinity(struct stage *s)
{
    assert_true(labels_set(&s->db->labels, "app", "cache"));
}
static void anti_affinity(struct stage *s)
{
    (void)guest_with(s, "shop", "web",
                     world_node(s->f, "d", (const char *const[]){"zone", "south", NULL}));
}
static void cpu(struct stage *s)
{
    cpus_learn(&s->f->cpus, 77, "b", CPU_FIT_NO);
    TEXT_SET(s->b->facts.cpu_model, "Westmere");
}
static void volume_size(struct stage *s)
{
    static struct volumes_report report = {.n_small = 1,
                                           .small = {{.node = "b", .detail = "vda is too big"}}};
    static struct job job;
    job.request.volumes = &report;
    s->p.job = &job;
}
static void preparation(struct stage *s)
{
    static const char failed[][HV_HOST_MAX] = {"x", "b"};
    s->p.failed = failed;
    s->p.n_failed = COUNT(failed);
}

static void refused_before(struct stage *s)
{
    s->p.avoided[s->p.n_avoided++] = "b";
}

static const struct {
    enum reject why;
    bool for_ever;
    void (*spoil)(struct stage *s);
    const char *name, *detail;
} rows[] = {
    {REJECT_SOURCE, true, source, "source-node", "the guest runs here"},
    {REJECT_OTHER_CELL, true, other_cell, "other-cell", "node is in cell east"},
    {REJECT_NOT_WANTED, true, not_wanted, "not-the-named-node", "the request names c"},
    {REJECT_SELECTOR, true, selector, "selector", "label zone is south, must be west"},
    {REJECT_GUEST_SELECTOR, false, guest_selector, "guest-selector",
     "label disk is hdd, must be ssd"},
    {REJECT_OBSERVED_ONLY, false, observed_only, "observe-mode", "node is in observe mode"},
    {REJECT_CORDONED, false, cordoned, "cordoned", "node is cordoned"},
    {REJECT_NOT_READY, false, not_ready, "not-ready", "no route"},
    {REJECT_VERSIONS, false, versions, "versions",
     "a: libvirt before 11.4 starts a migration with an argument that QEMU 11.0 removed"},
    {REJECT_TAINT, false, taint, "taint", "taint gpu=yes:NoSchedule is not tolerated"},
    {REJECT_TLS, true, tls, "tls-missing", "b has no `tls: true` in the configuration"},
    {REJECT_ARCH, true, arch, "architecture", "no emulator for s390x"},
    {REJECT_MACHINE, true, machine, "machine-type", "machine type pc-q35-9.1 is not supported"},
    {REJECT_NAME_TAKEN, false, name_taken, "name-taken",
     "name g is used by guest 00000000-0000-4000-8000-000000000002"},
    {REJECT_UUID_TAKEN, false, uuid_taken, "uuid-taken",
     "UUID 00000000-0000-4000-8000-000000000000 is on the node, running"},
    {REJECT_STALE_DOMAIN, false, stale_domain, "stale-domain",
     "00000000-0000-4000-8000-000000000000 is left there, shutoff and without a definition: "
     "restart libvirtd there"},
    {REJECT_NETWORK, false, network, "network-missing", "network dmz is missing"},
    {REJECT_VOLUME, false, volume, "volume-not-visible", "pool tape is missing"},
    {REJECT_INBOUND, false, inbound, "inbound-limit", "2 migrations arrive, limit 2"},
    {REJECT_BANDWIDTH, false, bandwidth, "bandwidth-budget",
     "needs 60 MiB/s, 41 of 100 MiB/s are reserved"},
    {REJECT_MEMORY, false, memory, "memory", "needs 4096 MiB, 2048 MiB are free"},
    {REJECT_MEMORY_EVER, true, memory_ever, "memory-ever",
     "needs 4096 MiB, the node has 3072 MiB in total"},
    {REJECT_VCPU, false, vcpu, "vcpu", "needs 4 vCPUs, 3 are free"},
    {REJECT_HUGE_PAGES, false, huge_pages, "huge-pages",
     "needs 4096 MiB in huge pages, 2 MiB are free"},
    {REJECT_AFFINITY, false, affinity, "affinity",
     "no guest with app=db runs in its kubernetes.io/hostname"},
    {REJECT_ANTI_AFFINITY, false, anti_affinity, "anti-affinity",
     "a guest with app=web runs in its zone"},
    {REJECT_CPU, true, cpu, "cpu", "CPU (Westmere) is incompatible with the guest's"},
    {REJECT_VOLUME_SIZE, false, volume_size, "volume-size", "vda is too big"},
    {REJECT_PREPARATION, false, preparation, "preparation", "preparation failed a moment ago"},
    {REJECT_REFUSED_BEFORE, false, refused_before, "refused-before",
     "the last migration to it failed before data moved"},
};

static void each_row_is_found_alone_and_says_what_is_missing(void **state)
{
    (void)state;
    assert_int_equal(COUNT(rows), REJECT_COUNT - 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stage s;
        char detail[PLACEMENT_DETAIL_MAX] = "x";
        begin(&s);
        assert_int_equal(placement_check(s.f, &s.p, s.b, detail), REJECT_NONE);
        assert_string_equal(detail, "");
        rows[i].spoil(&s);
        assert_int_equal(placement_check(s.f, &s.p, s.b, detail), rows[i].why);
        assert_string_equal(detail, rows[i].detail);
        assert_int_equal(rows[i].why, i + 1); /* every row, in order */
        assert_string_equal(reject_name(rows[i].why), rows[i].name);
        assert_int_equal(reject_from_name(rows[i].name), rows[i].why);
        assert_int_equal(reject_is_for_ever(rows[i].why), rows[i].for_ever);
        assert_true(strlen(reject_help(rows[i].why)) > 10);
        end(&s);
    }
    assert_int_equal(reject_from_name("no such"), REJECT_COUNT);
}

static void of_two_things_wrong_the_row_that_comes_first_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t j = i + 1; j < COUNT(rows); j++) {
            struct stage s;
            char detail[PLACEMENT_DETAIL_MAX];
            if (rows[i].why == REJECT_MEMORY && rows[j].why == REJECT_MEMORY_EVER)
                continue; /* what is too big for ever is not too big for now */
            begin(&s);
            rows[j].spoil(&s);
            rows[i].spoil(&s);
            assert_int_equal(placement_check(s.f, &s.p, s.b, detail), rows[i].why);
            end(&s);
        }
}

TEST_FILE(test_placement)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_found_alone_and_says_what_is_missing),
        cmocka_unit_test(of_two_things_wrong_the_row_that_comes_first_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
