/* test_ledger.c - the one book: room, reservations, arrivals, charges; and that it always agrees
 * with a count from nothing. */
#include "tests/unit/test_placement_world.h"

static uint64_t memory_gib(const struct fleet *f, const struct node *node, const struct job *job)
{
    return ledger_memory_left(f, node, job) / GIB;
}

static void the_room_is_what_the_host_has_times_the_overcommit(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory_kib;
        unsigned cpus, percent, each;
        uint64_t whole_kib, vcpus;
    } stories[] = {
        {1000, 4, 0, 0, 1000, 40},
        {1000, 4, 150, 2, 1500, 8},
        {1001, 1, 150, 1, 1501, 1},
        {999, 1, 50, 1, 499, 1},
        {0, 0, 150, 2, UINT64_MAX, UINT64_MAX},
        {UINT64_MAX / 4, 2, 300, 1, UINT64_MAX / 4 / 100 * 300 + 9, 2}, /* without overflow */
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        OWNED(fleet) f = world_fleet();
        struct node *node = world_node(f, "a", NULL);
        f->config.memory_overcommit_percent = stories[i].percent;
        f->config.vcpus_per_cpu = stories[i].each;
        node->facts.memory_kib = stories[i].memory_kib;
        node->facts.cpus = stories[i].cpus;
        assert_int_equal(ledger_memory_whole(f, node), stories[i].whole_kib);
        assert_int_equal(ledger_memory_left(f, node, NULL), ledger_memory_whole(f, node));
        assert_int_equal(ledger_vcpus_left(f, node, NULL), stories[i].vcpus);
        node->has_facts = false;
        assert_int_equal(ledger_memory_left(f, node, NULL), UINT64_MAX);
        assert_int_equal(ledger_vcpus_left(f, node, NULL), UINT64_MAX);
    }
}

static void guests_that_are_up_take_room_and_others_do_not(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    static const struct {
        int state;
        bool up;
    } stories[] = {{HV_STATE_RUNNING, true},     {HV_STATE_BLOCKED, true},
                   {HV_STATE_PAUSED, true},      {HV_STATE_SHUTDOWN, true},
                   {HV_STATE_PMSUSPENDED, true}, {HV_STATE_SHUTOFF, false},
                   {HV_STATE_CRASHED, false},    {HV_STATE_NONE, false}};
    for (size_t i = 0; i < COUNT(stories); i++) {
        world_state(f, guest->domains, stories[i].state);
        assert_int_equal(memory_gib(f, a, NULL), stories[i].up ? 60 : 64);
        assert_int_equal(ledger_vcpus_left(f, a, NULL), stories[i].up ? 156 : 160);
        assert_int_equal(guest->namespace->used.launchers, stories[i].up);
        assert_int_equal(guest->namespace->used.memory_kib, stories[i].up ? 4 * GIB : 0);
        world_balanced(f);
    }
    world_state(f, guest->domains, HV_STATE_RUNNING);
    guest->memory_kib = (uint64_t)8 * GIB; /* it was given more */
    ledger_domain(f, guest->domains, false);
    assert_int_equal(memory_gib(f, a, NULL), 56);
    world_balanced(f);
    ledger_domain(f, guest->domains, true);
    assert_int_equal(memory_gib(f, a, NULL), 64);
    assert_int_equal(guest->namespace->used.launchers, 0);
}

static void a_namespace_pays_once_for_a_guest_that_is_up_twice(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL), *b = world_node(f, "b", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct domain *second = world_put(f, guest, b);
    assert_int_equal(memory_gib(f, a, NULL), 60);
    assert_int_equal(memory_gib(f, b, NULL), 60);
    assert_int_equal(guest->namespace->used.launchers, 1);
    world_balanced(f);
    world_state(f, second->next_of, HV_STATE_SHUTOFF);
    assert_int_equal(guest->namespace->used.launchers, 1);
    world_state(f, second, HV_STATE_SHUTOFF);
    assert_int_equal(guest->namespace->used.launchers, 0);
    world_balanced(f);
}

static void a_migration_is_counted_once_from_promise_to_stay(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL), *b = world_node(f, "b", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct job *job = world_job(f, guest, b);
    job->call.config.bandwidth = 10;
    world_reserve(f, job, guest);
    assert_int_equal(memory_gib(f, b, NULL), 60);
    assert_int_equal(memory_gib(f, b, job), 64); /* its own promise is not in its way */
    assert_int_equal(ledger_vcpus_left(f, b, NULL), 156);
    assert_int_equal(ledger_vcpus_left(f, b, job), 160);
    assert_int_equal(memory_gib(f, a, job), 60);
    assert_int_equal(guest->namespace->used.launchers, 2);
    assert_int_equal(a->out_bandwidth, 10);
    assert_int_equal(b->in_bandwidth, 10);
    assert_int_equal(a->in_bandwidth + b->out_bandwidth, 0);
    world_balanced(f);
    world_reserve(f, job, guest); /* again: nothing more */
    assert_int_equal(memory_gib(f, b, NULL), 60);

    struct domain *there = world_put(f, guest, b); /* it arrives */
    assert_false(there->counted);
    assert_int_equal(memory_gib(f, b, NULL), 60);
    assert_int_equal(guest->namespace->used.launchers, 2);
    world_balanced(f);
    world_state(f, there->next_of, HV_STATE_SHUTOFF); /* and leaves */
    assert_int_equal(memory_gib(f, a, NULL), 64);
    assert_int_equal(guest->namespace->used.launchers, 1);
    world_balanced(f);

    f->queue.improved = NULL;
    b->improved = false;
    ledger_release(f, job);
    assert_true(b->improved);
    assert_true(there->counted);
    assert_int_equal(memory_gib(f, b, NULL), 60);
    assert_int_equal(guest->namespace->used.launchers, 1);
    assert_int_equal(a->out_bandwidth + b->in_bandwidth, 0);
    assert_int_equal(b->reserved.launchers, 0);
    world_balanced(f);
    ledger_release(f, job); /* twice is fine */
    assert_int_equal(memory_gib(f, b, NULL), 60);
    world_balanced(f);
}

static void a_failed_migration_leaves_nothing_behind(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL), *b = world_node(f, "b", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct job *job = world_job(f, guest, b);
    world_reserve(f, job, guest);
    ledger_release(f, job);
    assert_int_equal(memory_gib(f, b, NULL), 64);
    assert_int_equal(guest->namespace->used.launchers, 1);
    assert_int_equal(job->placement.reserved_memory_kib + job->placement.reserved_vcpus, 0);
    world_balanced(f);
}

static void a_promise_taken_over_covers_a_guest_that_is_there_already(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL), *b = world_node(f, "b", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct domain *there = world_put(f, guest, b);
    struct job *job = world_job(f, guest, b);
    assert_true(there->counted);
    world_reserve(f, job, guest);
    assert_false(there->counted);
    assert_int_equal(memory_gib(f, b, NULL), 60);
    world_balanced(f);
}

static void a_promise_to_a_guest_that_is_not_seen_is_given_back_all_the_same(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL), *b = world_node(f, "b", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct job *job = world_job(f, guest, b);
    TEXT_SET(job->guest_uuid, "never-seen");
    world_reserve(f, job, guest);
    assert_int_equal(guest->namespace->used.launchers, 2);
    ledger_release(f, job);
    assert_int_equal(guest->namespace->used.launchers, 1);
    assert_int_equal(memory_gib(f, b, NULL), 64);
    TEXT_SET(job->guest_uuid, guest->uuid);
    world_balanced(f);
}

static void huge_pages_are_promised_in_whole_pages(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL), *b = world_node(f, "b", NULL);
    (void)world_capabilities(b);
    static const struct {
        uint64_t page_kib, memory_kib, need_kib, left_kib;
    } stories[] = {
        {2048, 4096, 4096, 16 * GIB},
        {2048, 4097, 6144, 16 * GIB},
        {1024 * 1024, 1, GIB, 2 * GIB},
        {1, 4097, 6144, 16 * GIB}, /* the host's default: 2 MiB here */
        {64, 65, 128, 0},          /* it has no such pages */
        {0, 5, 0, 0},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        uint64_t page = stories[i].page_kib;
        assert_int_equal(ledger_huge_need(b, page, stories[i].memory_kib), stories[i].need_kib);
        assert_int_equal(ledger_huge_left(b, page, NULL), stories[i].left_kib);
        assert_int_equal(ledger_huge_left(a, page, NULL), UINT64_MAX); /* not known */
    }
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct host_requirements_facts facts = {.hugepage_kib = 2048};
    world_requirements(f, guest, &facts);
    guest->memory_kib = (uint64_t)4 * GIB + 1;
    ledger_domain(f, guest->domains, false);
    struct job *job = world_job(f, guest, b);
    world_reserve(f, job, guest);
    assert_int_equal(job->placement.reserved_huge_kib, 4 * GIB + 2048);
    assert_int_equal(ledger_huge_left(b, 2048, NULL), 12 * GIB - 2048);
    assert_int_equal(ledger_huge_left(b, 2048, job), 16 * GIB);
    world_balanced(f);
    ledger_release(f, job);
    assert_int_equal(b->reserved_huge_kib, 0);
}

static void a_job_is_promised_its_limit_and_without_one_the_whole_budget(void **state)
{
    (void)state;
    static const struct {
        uint64_t budget, asked_mibs;
        int64_t configured;
        uint64_t promised;
    } stories[] = {
        {0, 0, 0, 0},     {0, 3, 5, 3 * 1048576}, {0, 0, 5, 5},       {100, 0, 0, 100},
        {100, 0, 60, 60}, {100, 1, 60, 100},      {100, 0, 101, 100},
    };
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct job *job = world_job(f, guest, NULL);
    for (size_t i = 0; i < COUNT(stories); i++) {
        f->config.bandwidth_per_node = stories[i].budget;
        job->request.bandwidth_mibs = stories[i].asked_mibs;
        job->call.config.bandwidth = stories[i].configured;
        assert_int_equal(ledger_bandwidth(f, job), stories[i].promised);
    }
}

static void a_wrong_book_is_found(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *a = world_node(f, "a", NULL), *b = world_node(f, "b", NULL);
    struct guest *guest = world_guest(f, "shop", "g", a);
    struct job *job = world_job(f, guest, b);
    world_reserve(f, job, guest);
    world_balanced(f);
    uint64_t *const numbers[] = {
        &a->running.launchers,
        &a->running.memory_kib,
        &a->running.vcpus,
        &b->reserved.launchers,
        &b->reserved.memory_kib,
        &b->reserved.vcpus,
        &b->reserved_huge_kib,
        &b->in_bandwidth,
        &a->out_bandwidth,
        &guest->namespace->used.vcpus,
        &guest->namespace->used.launchers,
        &guest->namespace->used.memory_kib,
        &guest->charged.memory_kib,
        &guest->domains->resources.vcpus,
    };
    char text[256];
    for (size_t i = 0; i < COUNT(numbers); i++) {
        *numbers[i] += 1;
        assert_false(ledger_check(f, text, sizeof text));
        assert_non_null(strstr(text, "counted"));
        *numbers[i] -= 1;
    }
    guest->domains->counted = false;
    assert_false(ledger_check(f, text, sizeof text));
    guest->domains->counted = true;
    enum phase phase = job->phase;
    job->phase = PHASE_FAILED;
    assert_false(ledger_check(f, text, sizeof text)); /* a finished job that holds something */
    job->phase = phase;
    world_balanced(f);
}

/* ---- law ---- */

enum { NODES = 4, GUESTS = 8 };

static struct domain *domain_on(const struct guest *guest, const struct node *node)
{
    struct domain *domain = guest->domains;
    while (domain != NULL && domain->node != node)
        domain = domain->next_of;
    return domain;
}

static void step(struct fleet *f, struct node **nodes, struct guest **guests, struct job **jobs)
{
    static const int states[] = {HV_STATE_RUNNING, HV_STATE_PAUSED, HV_STATE_SHUTOFF};
    size_t g = fleet_random(f) % GUESTS;
    struct node *node = nodes[fleet_random(f) % NODES];
    struct guest *guest = guests[g];
    struct domain *domain = domain_on(guest, node);
    struct resources resources = ledger_resources(guest);
    switch (fleet_random(f) % 5) {
    case 0:
        if (!jobs[g]->placement.reserved && node != guest->owner->node) {
            TEXT_SET(jobs[g]->target, node->name);
            jobs[g]->call.config.bandwidth = (int64_t)(fleet_random(f) % 100);
            ledger_reserve(f, jobs[g], &resources);
        }
        break;
    case 1: ledger_release(f, jobs[g]); break;
    case 2:
        if (domain == NULL)
            (void)world_put(f, guest, node);
        break;
    case 3:
        if (domain != NULL)
            world_state(f, domain, states[fleet_random(f) % COUNT(states)]);
        break;
    default:
        guest->memory_kib = (1 + fleet_random(f) % 40) * GIB;
        for (domain = guest->domains; domain != NULL; domain = domain->next_of)
            ledger_domain(f, domain, false);
    }
}

static void any_sequence_keeps_the_book_true_and_ends_at_nothing(void **state)
{
    (void)state;
    OWNED(fleet) f = world_fleet();
    struct node *nodes[NODES];
    struct guest *guests[GUESTS];
    struct job *jobs[GUESTS];
    char name[16];
    for (unsigned i = 0; i < NODES; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        nodes[i] = world_node(f, name, NULL);
    }
    for (unsigned i = 0; i < GUESTS; i++) {
        (void)snprintf(name, sizeof name, "g%u", i);
        guests[i] = world_guest(f, i % 2 == 0 ? "even" : "odd", name, nodes[i % NODES]);
        jobs[i] = world_job(f, guests[i], NULL);
    }
    for (unsigned round = 0; round < 5000; round++) {
        step(f, nodes, guests, jobs);
        world_balanced(f);
        for (unsigned i = 0; i < NODES; i++)
            assert_true(ledger_memory_left(f, nodes[i], NULL) <= ledger_memory_whole(f, nodes[i]));
    }
    for (unsigned i = 0; i < GUESTS; i++) {
        ledger_release(f, jobs[i]);
        for (struct domain *domain = guests[i]->domains; domain != NULL; domain = domain->next_of)
            world_state(f, domain, HV_STATE_SHUTOFF);
    }
    world_balanced(f);
    for (unsigned i = 0; i < NODES; i++) {
        assert_int_equal(nodes[i]->running.memory_kib + nodes[i]->reserved.memory_kib, 0);
        assert_int_equal(nodes[i]->in_bandwidth + nodes[i]->out_bandwidth, 0);
    }
    assert_int_equal(fleet_namespace(f, "even")->used.launchers, 0);
    assert_int_equal(fleet_namespace(f, "odd")->used.memory_kib, 0);
}

TEST_FILE(test_ledger)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_room_is_what_the_host_has_times_the_overcommit),
        cmocka_unit_test(guests_that_are_up_take_room_and_others_do_not),
        cmocka_unit_test(a_namespace_pays_once_for_a_guest_that_is_up_twice),
        cmocka_unit_test(a_migration_is_counted_once_from_promise_to_stay),
        cmocka_unit_test(a_failed_migration_leaves_nothing_behind),
        cmocka_unit_test(a_promise_taken_over_covers_a_guest_that_is_there_already),
        cmocka_unit_test(a_promise_to_a_guest_that_is_not_seen_is_given_back_all_the_same),
        cmocka_unit_test(huge_pages_are_promised_in_whole_pages),
        cmocka_unit_test(a_job_is_promised_its_limit_and_without_one_the_whole_budget),
        cmocka_unit_test(a_wrong_book_is_found),
        cmocka_unit_test(any_sequence_keeps_the_book_true_and_ends_at_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
