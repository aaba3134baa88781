/* test_limits.c - how many migrate at once: in the fleet, from a node, to a node, and with how much
 * bandwidth; and who is woken when a place is free again. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/core_world.h"

enum { MIB = 1024 * 1024 };

static unsigned count(struct core_world *w, enum phase phase)
{
    unsigned n = 0;
    for (const struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        n += job->phase == phase;
    return n;
}

/* ---- the table: six guests on h1 ask at once, h2 and h3 could take them ---- */

static const struct {
    unsigned fleet, outbound, inbound;
    uint64_t bandwidth_mib;
    unsigned run;         /* so many go at once */
    enum pending pending; /* the others wait for that */
    const char *says;
} limits[] = {
    {0, 0, 0, 0, 6, PENDING_NONE, ""},
    {1, 0, 0, 0, 1, PENDING_SLOT_FLEET, "all 1 migration slots of the fleet are in use"},
    {5, 0, 0, 0, 5, PENDING_SLOT_FLEET, "all 5 migration slots of the fleet are in use"},
    {6, 0, 0, 0, 6, PENDING_NONE, ""},
    {0, 2, 0, 0, 2, PENDING_SLOT_SOURCE, "2 migrations leave h1, its limit"},
    {0, 6, 0, 0, 6, PENDING_NONE, ""},
    {0, 0, 1, 0, 2, PENDING_SLOT_TARGET, "2 inbound-limit"}, /* one to each of the two */
    {0, 0, 2, 0, 4, PENDING_SLOT_TARGET, "2 inbound-limit"},
    {0, 0, 3, 0, 6, PENDING_NONE, ""},
    {0, 0, 0, 30, 3, PENDING_BANDWIDTH, "migrations from h1 use 31457280 of its 31457280"},
    {0, 0, 0, 60, 6, PENDING_NONE, ""},
    {3, 2, 1, 0, 2, PENDING_SLOT_SOURCE, "2 migrations leave h1, its limit"}, /* the tightest */
};

static struct core_world *six_ask(size_t row)
{
    struct core_world *w = core_new();
    struct fleet_config *config = &w->fleet->config;
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 6);
    config->parallel_per_fleet = limits[row].fleet;
    config->parallel_outbound_per_node = limits[row].outbound;
    config->parallel_inbound_per_node = limits[row].inbound;
    config->bandwidth_per_node = limits[row].bandwidth_mib * MIB;
    for (unsigned i = 0; i < 6; i++)
        assert_non_null(
            core_ask(w, w->guests[i].is.name, &(struct core_request){.bandwidth_mibs = 10}));
    return w;
}

static void every_limit_lets_so_many_go_and_no_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(limits); i++) {
        struct core_world *w = six_ask(i);
        unsigned run = limits[i].run;
        assert_int_equal(count(w, PHASE_TARGET_READY), run);
        assert_int_equal(count(w, PHASE_PENDING), 6 - run);
        assert_int_equal(w->migrates, run);
        for (unsigned g = 0; g < 6; g++) /* the older ones go */
            core_phase(w, w->guests[g].is.name, g < run ? PHASE_TARGET_READY : PHASE_PENDING);
        for (unsigned g = run; g < 6; g++) {
            core_waits(w, w->guests[g].is.name, limits[i].pending);
            if (strstr(core_job_of(w, w->guests[g].is.name)->wait.reason, limits[i].says) == NULL)
                fail_msg("%s", core_job_of(w, w->guests[g].is.name)->wait.reason);
        }
        core_ledger(w);
        core_free(w);
    }
}

static void each_end_lets_exactly_the_oldest_of_those_go_that_wait(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(limits); i++) {
        struct core_world *w = six_ask(i);
        for (unsigned ended = 0; ended < 6; ended++) {
            if (ended % 2 == 0)
                core_fails(w, w->guests[ended].is.name);
            else
                core_arrives(w, w->guests[ended].is.name);
            unsigned go = limits[i].run + ended + 1;
            for (unsigned g = ended + 1; g < 6; g++)
                core_phase(w, w->guests[g].is.name, g < go ? PHASE_TARGET_READY : PHASE_PENDING);
        }
        core_clean(w);
        core_free(w);
    }
}

/* ---- who is woken ---- */

static void a_free_place_on_one_source_wakes_nobody_of_another(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    w->fleet->config.parallel_outbound_per_node = 1;
    core_add_guests(w, "h1", 2, 2);
    core_add_guests(w, "h2", 3, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_non_null(core_ask(w, w->guests[i].is.name, &(struct core_request){.target = "h3"}));
    core_waits(w, "g2", PENDING_SLOT_SOURCE);
    core_waits(w, "g4", PENDING_SLOT_SOURCE);
    assert_ptr_equal(core_job_of(w, "g4")->queue.wait.in, &core_node(w, "h2")->blocked.out);
    uint64_t before = core_job_of(w, "g4")->version;
    core_fails(w, "g1");
    core_phase(w, "g2", PHASE_TARGET_READY);
    core_phase(w, "g4", PHASE_PENDING);
    assert_ptr_equal(core_job_of(w, "g4")->queue.wait.in, &core_node(w, "h2")->blocked.out);
    assert_int_equal(core_job_of(w, "g4")->version, before);
    core_free(w);
}

static void a_free_place_at_a_target_wakes_who_named_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 4);
    w->fleet->config.parallel_inbound_per_node = 1;
    assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h2"}));
    assert_non_null(core_ask(w, "g2", &(struct core_request){.target = "h3"}));
    assert_non_null(core_ask(w, "g3", &(struct core_request){.target = "h3"}));
    assert_non_null(core_ask(
        w, "g4", &(struct core_request){.selector = "{\"kubernetes.io/hostname\":\"h2\"}"}));
    core_waits(w, "g3", PENDING_SLOT_TARGET);
    core_waits(w, "g4", PENDING_SLOT_TARGET);
    core_fails(w, "g2"); /* h3 is free */
    core_phase(w, "g3", PHASE_TARGET_READY);
    core_phase(w, "g4", PHASE_PENDING);
    core_fails(w, "g1"); /* h2 is free */
    core_phase(w, "g4", PHASE_TARGET_READY);
    assert_string_equal(core_job_of(w, "g4")->target, "h2");
    core_free(w);
}

static void a_full_target_that_was_not_named_is_passed_by(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 2);
    w->fleet->config.parallel_inbound_per_node = 1;
    assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h2"}));
    assert_non_null(core_ask(w, "g2", NULL));
    assert_string_equal(core_job_of(w, "g2")->target, "h3");
    core_free(w);
}

static void who_waits_for_a_target_holds_no_place_in_the_fleet(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 3);
    w->fleet->config.parallel_inbound_per_node = 1;
    w->fleet->config.parallel_per_fleet = 2;
    assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h2"}));
    assert_non_null(core_ask(w, "g2", &(struct core_request){.target = "h2"}));
    core_waits(w, "g2", PENDING_SLOT_TARGET);
    assert_non_null(core_ask(w, "g3", NULL)); /* takes the other place */
    core_phase(w, "g3", PHASE_TARGET_READY);
    assert_int_equal(w->fleet->busy_jobs, 2);
    core_free(w);
}

/* A node that gets better wakes those for whom it now does, and no others. */
static void a_node_that_has_room_wakes_those_it_has_room_for(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_size(w, "h2", 100, 8);
    core_add_guest(w, "big", "h1", 3000);
    core_add_guest(w, "middle", "h1", 300);
    core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":true}");
    assert_non_null(core_ask(w, "middle", NULL));
    assert_non_null(core_ask(w, "g1", NULL));
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    core_waits(w, "middle", PENDING_UNSCHEDULABLE);
    core_put(w, OBJECT_NODE, "h2", "{}");
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_phase(w, "middle", PHASE_FAILED); /* now it is clear that none is ever big enough */
    assert_non_null(strstr(core_job_of(w, "middle")->result.failure_reason, "memory-ever"));
    core_free(w);
}

static void released_memory_wakes_the_job_that_waits_for_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_size(w, "h2", 200, 8);
    core_add_guest(w, "big", "h1", 180);
    assert_non_null(core_ask(w, "g1", NULL));
    assert_non_null(core_ask(w, "big", NULL));
    core_waits(w, "big", PENDING_UNSCHEDULABLE);
    assert_non_null(strstr(core_job_of(w, "big")->wait.reason, "1 memory"));
    core_fails(w, "g1");
    core_phase(w, "big", PHASE_TARGET_READY);
    core_ledger(w);
    core_free(w);
}

static void a_guest_that_leaves_the_target_wakes_the_job_that_waits_for_its_room(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_size(w, "h2", 200, 8);
    core_add_guest(w, "there", "h2", 180);
    assert_non_null(core_ask(w, "g1", NULL));
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    core_guest(w, "there")->is.state = HV_STATE_SHUTOFF;
    core_list(w, "h2");
    core_settle(w);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* ---- bandwidth ---- */

static void two_jobs_are_never_promised_the_same_memory(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_size(w, "h2", 100, 8); /* room for one guest of 64 MiB */
    core_add_guests(w, "h1", 2, 2);
    assert_non_null(core_ask(w, "g1", NULL));
    assert_non_null(core_ask(w, "g2", NULL));
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "g2", PENDING_UNSCHEDULABLE);
    core_ledger(w);
    core_free(w);
}

/* What a job is promised is what the call is limited to, or the promise to others is broken. */
static const struct {
    uint64_t budget, asked, configured, limited;
} promises[] = {
    {0, 0, 0, 0},     {0, 50, 0, 50},   {0, 0, 70, 70},     {0, 50, 70, 50},    {100, 0, 0, 100},
    {100, 50, 0, 50}, {100, 0, 70, 70}, {100, 200, 0, 100}, {100, 0, 300, 100},
};

static void the_call_is_limited_to_what_was_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(promises); i++) {
        struct core_world *w = core_new();
        w->fleet->config.bandwidth_per_node = promises[i].budget * MIB;
        w->fleet->config.migration.bandwidth = (int64_t)promises[i].configured * MIB;
        assert_non_null(
            core_ask(w, "g1", &(struct core_request){.bandwidth_mibs = promises[i].asked}));
        core_phase(w, "g1", PHASE_TARGET_READY);
        assert_int_equal(w->last.bandwidth_mibs, promises[i].limited);
        assert_int_equal(core_job_of(w, "g1")->placement.reserved_bandwidth,
                         promises[i].limited * MIB);
        core_free(w);
    }
}

static void the_budget_counts_at_the_target_too(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h3", 2, 2);
    w->fleet->config.bandwidth_per_node = 100 * MIB;
    struct core_request request = {.target = "h2", .bandwidth_mibs = 60};
    assert_non_null(core_ask(w, "g1", &request));
    assert_non_null(core_ask(w, "g2", &request));
    core_waits(w, "g2", PENDING_BANDWIDTH);
    core_fails(w, "g1");
    core_phase(w, "g2", PHASE_TARGET_READY);
    core_free(w);
}

static void a_job_of_any_size_goes_when_it_is_alone(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 2);
    w->fleet->config.bandwidth_per_node = 100 * MIB;
    assert_non_null(core_ask(w, "g1", &(struct core_request){.bandwidth_mibs = 5000}));
    core_phase(w, "g1", PHASE_TARGET_READY);
    assert_non_null(core_ask(w, "g2", &(struct core_request){.bandwidth_mibs = 1}));
    core_waits(w, "g2", PENDING_BANDWIDTH);
    core_free(w);
}

TEST_FILE(test_limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_lets_so_many_go_and_no_more),
        cmocka_unit_test(each_end_lets_exactly_the_oldest_of_those_go_that_wait),
        cmocka_unit_test(a_free_place_on_one_source_wakes_nobody_of_another),
        cmocka_unit_test(a_free_place_at_a_target_wakes_who_named_it),
        cmocka_unit_test(a_full_target_that_was_not_named_is_passed_by),
        cmocka_unit_test(who_waits_for_a_target_holds_no_place_in_the_fleet),
        cmocka_unit_test(a_node_that_has_room_wakes_those_it_has_room_for),
        cmocka_unit_test(released_memory_wakes_the_job_that_waits_for_it),
        cmocka_unit_test(a_guest_that_leaves_the_target_wakes_the_job_that_waits_for_its_room),
        cmocka_unit_test(two_jobs_are_never_promised_the_same_memory),
        cmocka_unit_test(the_call_is_limited_to_what_was_promised),
        cmocka_unit_test(the_budget_counts_at_the_target_too),
        cmocka_unit_test(a_job_of_any_size_goes_when_it_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
