/* test_placement_choose.c - the best node and the summary of all; laws over random fleets. */
#include "tests/unit/test_placement_world.h"

/* Guest "g" on the first of n nodes n0, n1, ... */
static struct fleet *fleet_of(unsigned n, struct node **out_nodes, struct guest **out_guest)
{
    struct fleet *f = world_fleet();
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        out_nodes[i] = world_node(f, name, NULL);
    }
    *out_guest = world_guest(f, "shop", "g", out_nodes[0]);
    return f;
}

static void the_emptiest_node_with_the_best_record_wins(void **state)
{
    (void)state;
    struct node *n[4];
    struct guest *guest;
    struct placement p;
    OWNED(fleet) f = fleet_of(4, n, &guest);
    f->config.parallel_inbound_per_node = 0;
    placement_of(f, guest, NULL, &p);
    assert_string_equal(placement_choose(f, &p, NULL)->name, "n1"); /* all alike: by name */
    (void)world_guest(f, "shop", "other", n[1]);
    assert_true(placement_score(f, &p, n[1]) < placement_score(f, &p, n[2]));
    assert_string_equal(placement_choose(f, &p, NULL)->name, "n2");
    fleet_count_inbound(f, n[2], 1);
    assert_true(placement_score(f, &p, n[2]) < placement_score(f, &p, n[3]));
    assert_string_equal(placement_choose(f, &p, NULL)->name, "n3");
    n[3]->arrivals.bad = 1;
    assert_string_equal(placement_choose(f, &p, NULL)->name, "n1");
    n[3]->arrivals.good = 9;
    assert_string_equal(placement_choose(f, &p, NULL)->name, "n3");
    n[1]->has_facts = false; /* not known is neither good nor bad */
    double unknown = placement_score(f, &p, n[1]);
    assert_true(unknown > 0 && unknown < placement_score(f, &p, n[3]));
}

static void an_empty_node_with_a_perfect_record_would_get_a_hundred(void **state)
{
    (void)state;
    struct node *n[2];
    struct guest *guest;
    struct placement p;
    OWNED(fleet) f = fleet_of(2, n, &guest);
    guest->memory_kib = 0;
    n[1]->arrivals.good = 4000000;
    placement_of(f, guest, NULL, &p);
    double score = placement_score(f, &p, n[1]);
    assert_true(score > 99.9 && score <= 100);
    guest->memory_kib = (uint64_t)65 * GIB; /* would not fit at all: no room, not less than none */
    score = placement_score(f, &p, n[1]);
    assert_true(score > 59.9 && score <= 60);
}

static void a_named_node_is_the_only_one_looked_at(void **state)
{
    (void)state;
    struct node *n[3];
    struct guest *guest;
    struct placement p;
    struct rejections *r = world_list(1, sizeof *r);
    struct labels added = {0};
    OWNED(fleet) f = fleet_of(3, n, &guest);
    placement_of(f, guest, NULL, &p);
    p.wanted = "n2";
    assert_string_equal(placement_choose(f, &p, r)->name, "n2");
    n[2]->cordoned = true;
    assert_null(placement_choose(f, &p, r));
    assert_int_equal(r->counts[REJECT_SOURCE], 1);
    assert_int_equal(r->counts[REJECT_NOT_WANTED], 1);
    assert_int_equal(r->counts[REJECT_CORDONED], 1);
    p.wanted = "unknown";
    assert_null(placement_choose(f, &p, r));
    assert_int_equal(r->counts[REJECT_NOT_WANTED], 2);
    assert_true(rejections_all_for_ever(r));
    n[2]->cordoned = false;
    p.wanted = "";
    p.added = &added;
    assert_true(labels_set(&added, "kubernetes.io/hostname", "n2"));
    assert_string_equal(placement_choose(f, &p, r)->name, "n2");
    n[2]->cordoned = true;
    assert_null(placement_choose(f, &p, r));
    assert_int_equal(r->counts[REJECT_SELECTOR], 1);
    assert_int_equal(r->counts[REJECT_CORDONED], 1);
    n[2]->cordoned = false;
    world_settings(guest, "{\"nodeSelector\":{\"kubernetes.io/hostname\":\"n1\"}}");
    p.settings = guest->settings; /* the guest's own wins */
    assert_string_equal(placement_choose(f, &p, r)->name, "n1");
    labels_fini(&added);
    free(r);
}

static void what_costs_time_is_asked_of_the_others_when_the_best_fails_it(void **state)
{
    (void)state;
    enum { N = PLACEMENT_SCANS * 2 + 3 };
    struct node *n[N];
    struct guest *guest;
    struct placement p;
    struct host_requirements_facts requirements = {.cpu_hash = 5};
    OWNED(fleet) f = fleet_of(N, n, &guest);
    world_requirements(f, guest, &requirements);
    placement_of(f, guest, NULL, &p);
    for (unsigned i = 1; i < N; i++) { /* one after the other says no, to the last */
        struct node *node = placement_choose(f, &p, NULL);
        assert_non_null(node);
        cpus_learn(&f->cpus, 5, node->name, CPU_FIT_NO);
    }
    struct rejections *r = world_list(1, sizeof *r);
    assert_null(placement_choose(f, &p, r));
    assert_int_equal(r->counts[REJECT_CPU], N - 1);
    assert_true(rejections_all_for_ever(r));
    free(r);
}

static void a_job_that_arrives_there_may_keep_its_node(void **state)
{
    (void)state;
    struct node *n[2];
    struct guest *guest;
    struct placement p;
    OWNED(fleet) f = fleet_of(2, n, &guest);
    f->config.parallel_inbound_per_node = 1;
    struct job *job = world_job(f, guest, n[1]);
    job->phase = PHASE_SCHEDULING;
    fleet_job_moved(f, job, PHASE_PENDING);
    assert_int_equal(n[1]->inbound, 1);
    placement_of(f, guest, job, &p);
    assert_ptr_equal(placement_choose(f, &p, NULL), n[1]);
    p.job = NULL;
    assert_null(placement_choose(f, &p, NULL));
}

static void the_summary_reads_like_kubernetes(void **state)
{
    (void)state;
    struct rejections *r = world_list(1, sizeof *r);
    char text[256];
    rejections_text(r, text, sizeof text);
    assert_string_equal(text, "0/0 nodes are available.");
    assert_false(rejections_all_for_ever(r));
    r->n_nodes = 3;
    r->counts[REJECT_SOURCE] = r->counts[REJECT_CORDONED] = r->counts[REJECT_MEMORY] = 1;
    rejections_text(r, text, sizeof text);
    assert_string_equal(text, "0/3 nodes are available: 1 cordoned, 1 memory, 1 source-node.");
    assert_false(rejections_all_for_ever(r));
    r->counts[REJECT_MEMORY] = r->counts[REJECT_CORDONED] = 0;
    assert_true(rejections_all_for_ever(r));
    r->counts[REJECT_NONE] = 2;
    assert_false(rejections_all_for_ever(r));
    rejections_text(r, text, sizeof text);
    assert_string_equal(text, "2/3 nodes are available: 1 source-node.");
    for (size_t bytes = 1; bytes < 41; bytes++) { /* too small: cut, never overrun */
        memset(text, 'x', sizeof text);
        rejections_text(r, text, bytes);
        assert_int_equal(strlen(text), bytes - 1 < 39 ? bytes - 1 : 39);
        assert_int_equal(text[bytes], 'x');
    }
    free(r);
}

static void many_rejections_are_all_counted_and_some_kept(void **state)
{
    (void)state;
    enum { N = PLACEMENT_KEPT_MAX + 50 };
    struct node **n = world_list(N, sizeof(struct node *));
    struct guest *guest;
    struct placement p;
    size_t fits;
    OWNED(fleet) f = fleet_of(N, n, &guest);
    for (unsigned i = 1; i < N; i++)
        n[i]->cordoned = true;
    placement_of(f, guest, NULL, &p);
    struct rejections *r = world_list(1, sizeof *r);
    assert_null(placement_choose(f, &p, r));
    assert_int_equal(r->n_nodes, N);
    assert_int_equal(r->n, PLACEMENT_KEPT_MAX);
    assert_int_equal(r->counts[REJECT_CORDONED], N - 1);
    n[7]->cordoned = false;
    placement_explain(f, &p, r, &fits);
    assert_int_equal(fits, 1);
    assert_int_equal(r->counts[REJECT_NONE], 1);
    assert_string_equal(r->list[0].node, "n0");
    assert_int_equal(r->list[0].why, REJECT_SOURCE);
    assert_string_equal(r->list[1].detail, "node is cordoned");
    free(r);
    free(n);
}

static void namesakes_are_found_also_when_there_are_too_many_to_remember(void **state)
{
    (void)state;
    for (unsigned taken = 1; taken < 140; taken += 23) { /* some, and more than are kept */
        enum { N = 150 };
        struct node *n[N];
        struct guest *guest;
        struct placement p;
        size_t fits;
        OWNED(fleet) f = fleet_of(N, n, &guest);
        for (unsigned i = 1; i <= taken; i++)
            (void)world_guest(f, i % 2 == 0 ? "shop" : "else", "g", n[i]);
        placement_of(f, guest, NULL, &p);
        struct rejections *r = world_list(1, sizeof *r);
        placement_explain(f, &p, r, &fits);
        assert_int_equal(r->counts[REJECT_NAME_TAKEN], taken);
        assert_int_equal(fits, N - 1 - taken);
        free(r);
    }
}

static void hosts_that_are_not_alike_are_told_apart(void **state)
{
    (void)state;
    struct node *n[6];
    struct guest *guest;
    struct placement p;
    struct host_requirements_facts requirements = {.n_pools = 1, .pools = {"images"}};
    size_t fits;
    OWNED(fleet) f = fleet_of(6, n, &guest);
    world_requirements(f, guest, &requirements);
    placement_of(f, guest, NULL, &p);
    for (unsigned i = 1; i < 6; i++) {
        struct hv_capabilities *a = world_capabilities(n[i]);
        a->pools[1].active = i % 2 == 0; /* n2 and n4: images comes second */
        hv_capabilities_seal(a);
    }
    struct rejections *r = world_list(1, sizeof *r);
    placement_explain(f, &p, r, &fits);
    assert_int_equal(r->counts[REJECT_VOLUME], 3);
    assert_int_equal(fits, 2);
    free(r);
}

/* ---- laws ---- */

enum { FLEET = 12 };

static bool chance(struct fleet *f, unsigned percent)
{
    return fleet_random(f) % 100 < percent;
}

static void set_random(struct fleet *f, struct labels *labels, const char *key, unsigned percent)
{
    static const char *const values[] = {"x", "y", "z"};
    if (chance(f, percent))
        assert_true(labels_set(labels, key, values[fleet_random(f) % COUNT(values)]));
}

static void set_all(struct fleet *f, struct labels *labels, unsigned percent)
{
    static const char *const keys[] = {"zone", "rack", "disk"};
    for (size_t i = 0; i < COUNT(keys); i++)
        set_random(f, labels, keys[i], percent);
}

static void spoil(struct fleet *f, struct node *node)
{
    node->cordoned = chance(f, 10);
    node->connected = !chance(f, 10);
    if (chance(f, 10))
        node->taints[node->n_taints++] = (struct taint){"gpu", "", "NoSchedule"};
    node->facts.memory_kib = (3 + fleet_random(f) % 12) * GIB;
    node->arrivals.good = (unsigned)(fleet_random(f) % 3);
    node->arrivals.bad = (unsigned)(fleet_random(f) % 3);
    fleet_count_inbound(f, node, (int)(fleet_random(f) % 4));
    if (chance(f, 20))
        (void)world_guest(f, "shop", chance(f, 30) ? "g" : "h", node);
    if (chance(f, 10))
        cpus_learn(&f->cpus, 9, node->name, chance(f, 50) ? CPU_FIT_NO : CPU_FIT_YES);
}

static struct fleet *random_fleet(uint64_t seed, struct node **n, struct guest **out_guest)
{
    struct fleet *f = fleet_of(FLEET, n, out_guest);
    struct host_requirements_facts requirements = {.cpu_hash = 9};
    f->random = seed;
    world_requirements(f, *out_guest, &requirements);
    for (unsigned i = 0; i < FLEET; i++) {
        set_all(f, &n[i]->labels, 80);
        if (i > 0)
            spoil(f, n[i]);
    }
    world_settings(*out_guest, "{}");
    set_all(f, &(*out_guest)->settings->node_selector, 15);
    return f;
}

static void the_choice_is_one_that_fits_and_none_means_that_none_does(void **state)
{
    (void)state;
    struct rejections *r = world_list(1, sizeof *r);
    unsigned found = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct node *n[FLEET];
        struct guest *guest;
        struct placement p;
        struct labels added = {0};
        char detail[PLACEMENT_DETAIL_MAX];
        size_t fits, sum = 0;
        OWNED(fleet) f = random_fleet(seed, n, &guest);
        set_all(f, &added, 15);
        placement_of(f, guest, NULL, &p);
        p.added = &added;
        struct node *best = placement_choose(f, &p, NULL);
        placement_explain(f, &p, r, &fits);
        for (unsigned i = 0; i < REJECT_COUNT; i++)
            sum += r->counts[i];
        assert_int_equal(sum, FLEET);
        assert_int_equal(r->n + fits, FLEET);
        assert_int_equal(fits > 0, best != NULL);
        found += best != NULL;
        for (unsigned i = 0; i < FLEET; i++) {
            enum reject why = placement_check(f, &p, n[i], detail);
            assert_int_equal(why == REJECT_NONE, detail[0] == '\0');
            if (n[i] == best)
                assert_int_equal(why, REJECT_NONE);
            if (why == REJECT_NONE) /* fewer fit than are looked at: the best of all */
                assert_true(placement_score(f, &p, n[i]) <= placement_score(f, &p, best));
        }
        labels_fini(&added);
    }
    assert_in_range(found, 200, 950); /* both happen */
    free(r);
}

static void what_a_request_adds_only_takes_nodes_away(void **state)
{
    (void)state;
    unsigned taken = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct node *n[FLEET];
        struct guest *guest;
        struct placement p;
        struct labels added = {0};
        char detail[PLACEMENT_DETAIL_MAX];
        OWNED(fleet) f = random_fleet(seed, n, &guest);
        set_all(f, &added, 40);
        placement_of(f, guest, NULL, &p);
        for (unsigned i = 0; i < FLEET; i++) {
            p.added = NULL;
            bool before = placement_check(f, &p, n[i], detail) == REJECT_NONE;
            p.added = &added;
            bool after = placement_check(f, &p, n[i], detail) == REJECT_NONE;
            assert_true(before || !after);
            taken += before && !after;
        }
        labels_fini(&added);
    }
    assert_true(taken > 100);
}

static void the_choice_does_not_depend_on_the_order_of_the_lists(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct node *n[FLEET];
        struct guest *guest;
        struct placement p;
        OWNED(fleet) f = random_fleet(seed, n, &guest);
        placement_of(f, guest, NULL, &p);
        const struct node *best = placement_choose(f, &p, NULL);
        for (unsigned i = 0; i < 20; i++) { /* to the end of its list and back */
            struct node *node = n[fleet_random(f) % FLEET];
            int by = node->inbound < 4 ? 4 : -3;
            fleet_count_inbound(f, node, by);
            fleet_count_inbound(f, node, -by);
        }
        assert_ptr_equal(placement_choose(f, &p, NULL), best);
    }
}

TEST_FILE(test_placement_choose)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_emptiest_node_with_the_best_record_wins),
        cmocka_unit_test(an_empty_node_with_a_perfect_record_would_get_a_hundred),
        cmocka_unit_test(a_named_node_is_the_only_one_looked_at),
        cmocka_unit_test(what_costs_time_is_asked_of_the_others_when_the_best_fails_it),
        cmocka_unit_test(a_job_that_arrives_there_may_keep_its_node),
        cmocka_unit_test(the_summary_reads_like_kubernetes),
        cmocka_unit_test(many_rejections_are_all_counted_and_some_kept),
        cmocka_unit_test(namesakes_are_found_also_when_there_are_too_many_to_remember),
        cmocka_unit_test(hosts_that_are_not_alike_are_told_apart),
        cmocka_unit_test(the_choice_is_one_that_fits_and_none_means_that_none_does),
        cmocka_unit_test(what_a_request_adds_only_takes_nodes_away),
        cmocka_unit_test(the_choice_does_not_depend_on_the_order_of_the_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
