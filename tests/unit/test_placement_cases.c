/* test_placement_cases.c - what must not be mistaken for a rejection, and the other ways to one;
 * the rows themselves are in test_placement.c. */
#include "tests/unit/test_placement_stage.h"

static void guest_selector(struct stage *s)
{
    assert_true(labels_set(&s->b->labels, "disk", "hdd"));
}
static void arch(struct stage *s)
{
    TEXT_SET(s->requirements.arch, "s390x");
    set_requirements(s);
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
static void uuid_taken(struct stage *s)
{
    (void)world_put(s->f, s->guest, s->b);
}
static void bandwidth(struct stage *s)
{
    s->b->in_bandwidth += 41 * MIB_S;
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
static void cpu(struct stage *s)
{
    cpus_learn(&s->f->cpus, 77, "b", CPU_FIT_NO);
    TEXT_SET(s->b->facts.cpu_model, "Westmere");
}

static void network_inactive(struct stage *s)
{
    TEXT_SET(s->requirements.networks[s->requirements.n_networks++], "backup");
    set_requirements(s);
}
static void bridge_missing(struct stage *s)
{
    TEXT_SET(s->requirements.bridges[s->requirements.n_bridges++], "br9");
    set_requirements(s);
}
static void pool_inactive(struct stage *s)
{
    TEXT_SET(s->requirements.pools[s->requirements.n_pools++], "cold");
    set_requirements(s);
}
static void nothing_is_known(struct stage *s)
{
    arch(s);
    network(s);
    volume(s);
    hv_capabilities_free(s->b->capabilities);
    s->b->capabilities = NULL;
    s->b->facts = (struct hv_facts){0};
}
static void size_is_not_known_yet(struct stage *s)
{
    s->b->has_facts = false;
}
static void no_part_is_known(struct stage *s)
{
    struct hv_capabilities *a = s->b->capabilities;
    arch(s);
    network(s);
    bridge_missing(s);
    volume(s);
    huge_pages(s);
    a->machines_known = a->networks_known = a->bridges_known = false;
    a->pools_known = a->pages_known = false;
}
static void requirements_are_not_known(struct stage *s)
{
    arch(s);
    cpu(s);
    huge_pages(s);
    s->p.requirements = NULL;
}
static void empty_list_is_known(struct stage *s)
{
    s->b->capabilities->n_bridges = 0;
}
static void known_to_have_no_emulator(struct stage *s)
{
    s->b->capabilities->n_machines = 0;
}
static void arch_is_not_said(struct stage *s)
{
    s->requirements.arch[0] = '\0';
    set_requirements(s);
}
static void not_listed(struct stage *s)
{
    s->b->listed = false;
}
static void drained(struct stage *s)
{
    s->b->cordoned = s->b->cordoned_by_drain = true;
}
static void taint_prefers(struct stage *s)
{
    s->b->taints[s->b->n_taints++] = (struct taint){"gpu", "", "PreferNoSchedule"};
}
static void taint_tolerated(struct stage *s)
{
    s->b->taints[s->b->n_taints++] = (struct taint){"night", "late", "NoExecute"};
}
static void taint_without_value(struct stage *s)
{
    s->b->taints[s->b->n_taints++] = (struct taint){"gpu", "", "NoExecute"};
    s->p.settings = NULL;
}
static void selector_met(struct stage *s)
{
    assert_true(labels_set(&s->added, "zone", "south"));
}
static void selector_on_a_key_of_the_guest(struct stage *s)
{
    assert_true(labels_set(&s->added, "disk", "hdd")); /* the guest's ssd wins */
}
static void selector_cannot_relax(struct stage *s)
{
    assert_true(labels_set(&s->added, "disk", "hdd"));
    guest_selector(s);
}
static void selector_without_label(struct stage *s)
{
    assert_true(labels_set(&s->added, "rack", "7"));
}
static void wanted_itself(struct stage *s)
{
    s->p.wanted = "b";
}
static void namesake_elsewhere(struct stage *s)
{
    (void)world_guest(s->f, "shop", "g", s->c);
}
static void own_definition_there(struct stage *s)
{
    uuid_taken(s);
    world_state(s->f, s->guest->domains, HV_STATE_SHUTOFF);
    s->guest->domains->persistent = true;
}
static void inbound_without_limit(struct stage *s)
{
    fleet_count_inbound(s->f, s->b, 5);
    s->f->config.parallel_inbound_per_node = 0;
}
static void bandwidth_just_fits(struct stage *s)
{
    s->b->in_bandwidth = 40 * MIB_S;
}
static void bandwidth_without_budget(struct stage *s)
{
    bandwidth(s);
    s->f->config.bandwidth_per_node = 0;
}
static void no_limit_takes_the_whole_budget(struct stage *s)
{
    s->b->in_bandwidth = 1 * MIB_S;
    s->p.bandwidth = 0;
}
static void no_limit_alone(struct stage *s)
{
    s->p.bandwidth = 0;
}
static void memory_just_fits(struct stage *s)
{
    s->b->facts.memory_kib = (uint64_t)8 * GIB; /* db has four of them */
}
static void memory_promised(struct stage *s)
{
    s->b->facts.memory_kib = (uint64_t)11 * GIB;
    struct guest *other = world_guest(s->f, "shop", "other", s->c);
    world_reserve(s->f, world_job(s->f, other, s->b), other);
}
static void own_promise(struct stage *s)
{
    s->b->facts.memory_kib = (uint64_t)8 * GIB;
    s->b->facts.cpus = 8;
    s->f->config.vcpus_per_cpu = 1;
    for (size_t i = 0; i < s->b->capabilities->n_pages; i++)
        s->b->capabilities->pages[i].free = 2048;
    struct job *job = world_job(s->f, s->guest, s->b);
    world_reserve(s->f, job, s->guest);
    job->phase = PHASE_SCHEDULING;
    fleet_job_moved(s->f, job, PHASE_PENDING);
    fleet_count_inbound(s->f, s->b, 1);
    s->p.job = job;
}
static void default_pages(struct stage *s)
{
    s->requirements.hugepage_kib = 1;
    set_requirements(s);
}
static void pages_of_another_size(struct stage *s)
{
    s->requirements.hugepage_kib = 512;
    set_requirements(s);
}
static void db_of_another_namespace(struct stage *s)
{
    affinity(s);
    (void)guest_with(s, "else", "db", s->b);
}
static void web_of_another_namespace(struct stage *s)
{
    (void)guest_with(s, "else", "web", s->b);
}
static void web_in_another_zone(struct stage *s)
{
    (void)guest_with(s, "shop", "web", s->c);
}
static void db_that_is_down(struct stage *s)
{
    world_state(s->f, s->db->domains, HV_STATE_SHUTOFF);
}
static void web_that_is_down(struct stage *s)
{
    world_state(s->f, guest_with(s, "shop", "web", s->b)->domains, HV_STATE_SHUTOFF);
}
static void web_on_its_way(struct stage *s)
{
    struct guest *web = guest_with(s, "shop", "web", s->c);
    struct node *d = world_node(s->f, "d", (const char *const[]){"zone", "south", NULL});
    world_reserve(s->f, world_job(s->f, web, d), web);
}
static void web_on_its_way_to_the_node(struct stage *s)
{
    struct guest *web = guest_with(s, "shop", "web", s->c);
    TEXT_SET(s->guest->settings->affinities[1].topology_key, "kubernetes.io/hostname");
    world_reserve(s->f, world_job(s->f, web, s->b), web);
}
static void itself_is_web(struct stage *s)
{
    assert_true(labels_set(&s->guest->labels, "app", "web"));
    assert_true(labels_set(&s->b->labels, "zone", "north"));
}
static void first_of_its_kind(struct stage *s)
{
    affinity(s);
    assert_true(labels_set(&s->guest->labels, "app", "db"));
}
static void not_the_first(struct stage *s)
{
    first_of_its_kind(s);
    (void)guest_with(s, "shop", "db", s->c);
}
static void zone_without_label(struct stage *s)
{
    TEXT_SET(s->guest->settings->affinities[0].topology_key, "rack");
}
static void db_in_the_zone(struct stage *s)
{
    affinity(s);
    TEXT_SET(s->guest->settings->affinities[0].topology_key, "zone");
    (void)guest_with(s, "shop", "db",
                     world_node(s->f, "d", (const char *const[]){"zone", "south", NULL}));
}
static void many_zones(struct stage *s)
{
    char name[32];
    db_in_the_zone(s);
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        (void)guest_with(s, "shop", "db",
                         world_node(s->f, name, (const char *const[]){"zone", name, NULL}));
    }
    labels_fini(&s->b->labels);
    assert_true(labels_set(&s->b->labels, "disk", "ssd"));
    assert_true(labels_set(&s->b->labels, "zone", "n99")); /* one of those not kept */
}
static void another_cpu(struct stage *s)
{
    cpus_learn(&s->f->cpus, 78, "b", CPU_FIT_NO);
    cpus_learn(&s->f->cpus, 77, "c", CPU_FIT_NO);
}
static void cpu_asked_again(struct stage *s)
{
    cpu(s);
    cpus_learn(&s->f->cpus, 77, "b", CPU_FIT_YES);
}
static void cpu_forgotten(struct stage *s)
{
    cpu(s);
    cpus_forget_node(&s->f->cpus, "b");
}

static const struct {
    void (*change)(struct stage *s);
    enum reject why;
    const char *detail; /* NULL: any */
} variations[] = {
    {network_inactive, REJECT_NETWORK, "network backup is not active"},
    {bridge_missing, REJECT_NETWORK, "bridge br9 is missing"},
    {empty_list_is_known, REJECT_NETWORK, "bridge br0 is missing"},
    {pool_inactive, REJECT_VOLUME, "pool cold is not active"},
    {known_to_have_no_emulator, REJECT_ARCH, "no emulator for x86_64"},
    {arch_is_not_said, REJECT_NONE, ""},
    {nothing_is_known, REJECT_NONE, ""},
    {size_is_not_known_yet, REJECT_NOT_READY, "capacity is not known yet"},
    {no_part_is_known, REJECT_NONE, ""},
    {requirements_are_not_known, REJECT_NONE, ""},
    {not_listed, REJECT_NOT_READY, "guests are not listed yet"},
    {drained, REJECT_CORDONED, "node is being drained"},
    {taint_prefers, REJECT_NONE, ""},
    {taint_tolerated, REJECT_NONE, ""},
    {taint_without_value, REJECT_TAINT, "taint gpu:NoExecute is not tolerated"},
    {selector_met, REJECT_NONE, ""},
    {selector_on_a_key_of_the_guest, REJECT_NONE, ""},
    {selector_cannot_relax, REJECT_GUEST_SELECTOR, "label disk is hdd, must be ssd"},
    {selector_without_label, REJECT_SELECTOR, "label rack is missing, must be 7"},
    {wanted_itself, REJECT_NONE, ""},
    {namesake_elsewhere, REJECT_NONE, ""},
    {own_definition_there, REJECT_NONE, ""},
    {inbound_without_limit, REJECT_NONE, ""},
    {bandwidth_just_fits, REJECT_NONE, ""},
    {bandwidth_without_budget, REJECT_NONE, ""},
    {no_limit_takes_the_whole_budget, REJECT_BANDWIDTH,
     "needs 100 MiB/s, 1 of 100 MiB/s are reserved"},
    {no_limit_alone, REJECT_NONE, ""},
    {memory_just_fits, REJECT_NONE, ""},
    {memory_promised, REJECT_BANDWIDTH, NULL}, /* a job without limit takes that as well */
    {own_promise, REJECT_NONE, ""},
    {default_pages, REJECT_NONE, ""},
    {pages_of_another_size, REJECT_HUGE_PAGES, "needs 4096 MiB in huge pages, 0 MiB are free"},
    {db_that_is_down, REJECT_AFFINITY, NULL},
    {db_of_another_namespace, REJECT_AFFINITY, NULL},
    {web_of_another_namespace, REJECT_NONE, ""},
    {web_in_another_zone, REJECT_NONE, ""},
    {web_that_is_down, REJECT_NONE, ""},
    {web_on_its_way, REJECT_ANTI_AFFINITY, NULL},
    {web_on_its_way_to_the_node, REJECT_BANDWIDTH, NULL},
    {itself_is_web, REJECT_NONE, ""},
    {first_of_its_kind, REJECT_NONE, ""},
    {not_the_first, REJECT_AFFINITY, NULL},
    {zone_without_label, REJECT_AFFINITY, "no guest with app=db runs in its rack"},
    {db_in_the_zone, REJECT_NONE, ""},
    {many_zones, REJECT_NONE, ""},
    {another_cpu, REJECT_NONE, ""},
    {cpu_asked_again, REJECT_NONE, ""},
    {cpu_forgotten, REJECT_NONE, ""},
};

static void each_variation_is_judged_as_it_should_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(variations); i++) {
        struct stage s;
        char detail[PLACEMENT_DETAIL_MAX];
        begin(&s);
        variations[i].change(&s);
        enum reject why = placement_check(s.f, &s.p, s.b, detail);
        if (why != variations[i].why)
            fail_msg("variation %zu: %s (%s)", i, reject_name(why), detail);
        if (variations[i].detail != NULL)
            assert_string_equal(detail, variations[i].detail);
        end(&s);
    }
}

static void promises_to_others_count_without_a_budget_too(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct stage *s);
        enum reject why;
    } stories[] = {{memory_promised, REJECT_MEMORY},
                   {web_on_its_way_to_the_node, REJECT_ANTI_AFFINITY}};
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct stage s;
        char detail[PLACEMENT_DETAIL_MAX];
        begin(&s);
        s.f->config.bandwidth_per_node = 0;
        stories[i].change(&s);
        assert_int_equal(placement_check(s.f, &s.p, s.b, detail), stories[i].why);
        end(&s);
    }
}

static void a_placement_comes_from_the_job_where_there_is_one(void **state)
{
    (void)state;
    struct stage s;
    struct placement p;
    begin(&s);
    s.f->config.migration.bandwidth = 5;
    placement_of(s.f, s.guest, NULL, &p);
    assert_ptr_equal(p.source, s.a);
    assert_ptr_equal(p.requirements, s.guest->owner->requirements);
    assert_ptr_equal(p.settings, s.guest->settings);
    assert_string_equal(p.wanted, "");
    assert_int_equal(p.bandwidth, 5);
    struct job *job = world_job(s.f, s.guest, NULL);
    TEXT_SET(job->request.wanted, "c");
    TEXT_SET(job->source, "b");
    job->call.config.bandwidth = 7;
    placement_of(s.f, s.guest, job, &p);
    assert_ptr_equal(p.source, s.b);
    assert_ptr_equal(p.job, job);
    assert_ptr_equal(p.added, &job->request.added_selector);
    assert_string_equal(p.wanted, "c");
    assert_int_equal(p.bandwidth, 7);
    end(&s);
}

static void what_is_learned_about_cpus_is_bounded(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    for (uint64_t i = 1; i <= 65536; i++)
        cpus_learn(&f->cpus, i, "n", CPU_FIT_NO);
    cpus_learn(&f->cpus, 65536, "n", CPU_FIT_YES); /* known already: nothing is lost */
    assert_int_equal(f->cpus.n, 65536);
    assert_int_equal(cpus_find(&f->cpus, 1, "n"), CPU_FIT_NO);
    assert_int_equal(cpus_find(&f->cpus, 65536, "n"), CPU_FIT_YES);
    cpus_learn(&f->cpus, 65537, "n", CPU_FIT_NO);
    assert_int_equal(f->cpus.n, 1);
    assert_int_equal(cpus_find(&f->cpus, 1, "n"), CPU_FIT_UNKNOWN);
    assert_int_equal(cpus_find(&f->cpus, 65537, "n"), CPU_FIT_NO);
    cpus_learn(&f->cpus, 65537, "n", CPU_FIT_UNKNOWN);
    cpus_learn(&f->cpus, 0, "n", CPU_FIT_NO); /* a CPU that is not known is nobody's */
    assert_int_equal(f->cpus.n, 0);
    assert_int_equal(cpus_find(&f->cpus, 0, "n"), CPU_FIT_UNKNOWN);
}

TEST_FILE(test_placement_cases)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_variation_is_judged_as_it_should_be),
        cmocka_unit_test(promises_to_others_count_without_a_budget_too),
        cmocka_unit_test(a_placement_comes_from_the_job_where_there_is_one),
        cmocka_unit_test(what_is_learned_about_cpus_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
