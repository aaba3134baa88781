/* test_wakes.c - what ends a wait: each change in the fleet that makes room for a waiting job wakes
 * it, and a wake-up is not lost with a job that cannot use it. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "tests/core_world.h"

static void limit(struct core_world *w, unsigned fleet, unsigned out, unsigned in)
{
    w->fleet->config.parallel_per_fleet = fleet;
    w->fleet->config.parallel_outbound_per_node = out;
    w->fleet->config.parallel_inbound_per_node = in;
}

static void a_free_place_is_not_lost_with_the_waiting_job_that_was_woken_for_it(void **state)
{
    (void)state;
    struct core_world *w = core_new(); /* g1 on h1 */
    core_add_host(w, "h3");
    core_add_host(w, "h4");
    core_add_guests(w, "h1", 2, 3);
    (void)core_add_guest(w, "g4", "h3", 64);
    (void)core_add_guest(w, "g5", "h3", 64);
    limit(w, 2, 1, 0);
    const struct core_request to_h2 = {.target = "h2"}, to_h4 = {.target = "h4"};
    (void)core_ask(w, "g1", &to_h2);
    (void)core_ask(w, "g2", &to_h2);
    (void)core_ask(w, "g3", &to_h2);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "g3", PENDING_SLOT_SOURCE);
    (void)core_ask(w, "g4", &to_h4); /* now the fleet is full */
    core_phase(w, "g4", PHASE_TARGET_READY);
    const struct core_request urgent = {.target = "h4", .priority = "system-critical"};
    w->fleet->config.parallel_outbound_per_node = 0;
    (void)core_ask(w, "g5", &urgent);
    core_waits(w, "g5", PENDING_SLOT_FLEET);
    w->fleet->config.parallel_outbound_per_node = 1;
    w->fleet->config.parallel_per_fleet = 2;
    core_arrives(w, "g4"); /* g5 takes its place in the fleet */
    core_phase(w, "g5", PHASE_TARGET_READY);
    w->fleet->config.parallel_per_fleet = 1;
    w->target = CORE_ARRIVED;
    core_arrives(w, "g1"); /* h1 has a place for g2, the fleet has none */
    core_waits(w, "g2", PENDING_SLOT_FLEET);
    core_abort_asked(w, "g2");
    core_phase(w, "g2", PHASE_FAILED);
    core_arrives(w, "g5"); /* nothing moves any more */
    core_advance(w, 1000);
    core_phase(w, "g3", PHASE_TARGET_READY);
    core_free(w);
}

/* Who was woken and found something else in its way leaves the place to the next. */
static void a_target_whose_first_choice_cannot_come_is_offered_to_the_next(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    (void)core_add_guest(w, "g2", "h1", 64);
    (void)core_add_guest(w, "g3", "h1", 64);
    (void)core_add_guest(w, "g4", "h3", 64);
    limit(w, 0, 2, 1);
    assert_true(core_put(w, OBJECT_NODE, "h3", "{\"unschedulable\":true}"));
    (void)core_ask(w, "g1", NULL); /* to h2, the only one */
    (void)core_ask(w, "g2", NULL);
    const struct core_request not_h1 = {.selector = "{\"disk\":\"fast\"}"};
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"labels\":{\"disk\":\"fast\"}}"));
    (void)core_ask(w, "g4", &not_h1);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "g2", PENDING_SLOT_TARGET);
    core_waits(w, "g4", PENDING_SLOT_TARGET);
    /* g2 cannot leave h1 any more, g4 can leave h3. */
    w->fleet->config.parallel_outbound_per_node = 1;
    core_node(w, "h1")->outbound++;
    w->target = CORE_ARRIVED;
    core_arrives(w, "g1");
    core_advance(w, 1000);
    core_waits(w, "g2", PENDING_SLOT_SOURCE);
    core_phase(w, "g4", PHASE_TARGET_READY);
    core_node(w, "h1")->outbound--;
    core_free(w);
}

static void uncordoning_wakes_every_job_that_named_the_node(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_size(w, "h1", 8192, 16);
    core_size(w, "h2", 512, 16);
    (void)core_add_guest(w, "g2", "h2", 400);
    (void)core_add_guest(w, "big1", "h1", 300);
    (void)core_add_guest(w, "big2", "h1", 300);
    limit(w, 0, 0, 2);
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":true}"));
    const struct core_request to_h2 = {.target = "h2"};
    (void)core_ask(w, "big1", &to_h2);
    (void)core_ask(w, "big2", &to_h2);
    (void)core_ask(w, "g1", &to_h2);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":false}"));
    core_waits(w, "big1", PENDING_UNSCHEDULABLE);
    assert_non_null(strstr(core_job_of(w, "big1")->wait.reason, "memory"));
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* g1 to g3 wait for h1; all else about them is known. */
static void wait_for_node(struct core_world *w)
{
    core_add_host(w, "h3");
    (void)core_add_guest(w, "g9", "h3", 64);
    limit(w, 1, 0, 0);
    const struct core_request to_h2 = {.target = "h2"};
    (void)core_ask(w, "g9", &to_h2); /* the fleet is full, so that they wait in line */
    (void)core_ask(w, "g1", NULL);
    (void)core_ask(w, "g2", NULL);
    (void)core_ask(w, "g3", NULL);
    core_waits(w, "g3", PENDING_SLOT_FLEET);
    core_connect(w, "h1", false);
    core_arrives(w, "g9");
}

/* The wait for a node ends with the node's return, whoever goes first then. */
static void a_node_that_is_back_is_not_waited_for_any_more(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 3);
    wait_for_node(w);
    limit(w, 0, 1, 0);
    core_waits(w, "g3", PENDING_SOURCE_UNREACHABLE);
    core_connect(w, "h1", true);
    core_list(w, "h1");
    core_advance(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "g2", PENDING_SLOT_SOURCE);
    core_waits(w, "g3", PENDING_SLOT_SOURCE);
    core_free(w);
}

static void a_store_that_works_again_is_not_waited_for_any_more(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 3);
    wait_for_node(w);
    w->fleet->store_ok = false;
    core_connect(w, "h1", true);
    core_list(w, "h1");
    core_advance(w, 200);
    core_waits(w, "g3", PENDING_STORE);
    w->fleet->store_ok = true;
    core_advance(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "g2", PENDING_SLOT_FLEET);
    core_waits(w, "g3", PENDING_SLOT_FLEET);
    core_free(w);
}

/* While the store is down both hosts are looked at now and then, not as fast as they answer. */
static void a_store_outage_before_the_call_does_not_multiply_observations(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->loses.observations = true;
    core_create(w);
    core_expect(w, PHASE_PREPARING_TARGET, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->fleet->store_ok = false;
    w->loses.observations = false;
    unsigned before = w->observations;
    /* The two looks that are out are answered; count what follows without playing it. */
    for (unsigned turn = 0; turn < 50; turn++) {
        struct job *job = core_job(w);
        struct input observed = {.kind = INPUT_OBSERVED, .of.observation = CORE_RUNS};
        TEXT_SET(observed.guest, CORE_GUEST);
        TEXT_SET(observed.host, "h1");
        observed.id = job->resolution.source_side.query_id;
        if (observed.id != 0)
            core_feed(w, &observed);
        observed.of.observation = CORE_ABSENT;
        TEXT_SET(observed.host, "h2");
        observed.id = job->resolution.target_side.query_id;
        if (observed.id != 0)
            core_feed(w, &observed);
    }
    for (size_t i = 0; i < w->fx.n; i++)
        before += i >= w->played && w->fx.list[i].kind == EFFECT_DO_OBSERVE;
    assert_true(before - w->observations <= 4);
    w->fleet->store_ok = true;
    w->played = w->fx.n;
    w->target = CORE_ABSENT;
    core_advance(w, 70000);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void quota_given_back_at_once_wakes_who_was_kept_back_in_between(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    (void)core_add_guest(w, "g2", "h1", 64);
    assert_true(core_put(w, OBJECT_QUOTA, "q", "{\"hard\":{\"pods\":\"3\"}}"));
    core_connect(w, "h1", false);
    (void)core_ask(w, "g1", NULL);
    (void)core_ask(w, "g2", NULL);
    w->loses.observations = true; /* so that the first stays where a cancel ends it at once */
    core_connect(w, "h1", true);  /* both are tried: g1 takes the quota, g2 does not get it */
    core_list(w, "h1");
    core_advance(w, 1200); /* what a namespace uses is known once every node is listed */
    struct job *first = core_job_of(w, "g1");
    assert_true(phase_is_busy(first->phase));
    core_waits(w, "g2", PENDING_QUOTA);
    struct input cancel = {.kind = INPUT_CANCEL}; /* the very next thing */
    TEXT_SET(cancel.of.cancel.ns, "default");
    TEXT_SET(cancel.of.cancel.name, first->name);
    TEXT_SET(cancel.of.cancel.requester, "tester");
    core_feed(w, &cancel);
    w->loses.observations = false;
    core_advance(w, 1000);
    core_phase(w, "g2", PHASE_TARGET_READY);
    core_free(w);
}

static void what_a_guest_asks_for_in_its_definition_wakes_its_job(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    char strict[] = "{\"nodeSelector\":{\"zone\":\"moon\"}}";
    struct core_guest *g1 = core_guest(w, "g1");
    g1->is.settings = strict;
    core_list(w, "h1");
    (void)core_ask(w, "g1", NULL);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    g1->is.settings = NULL;
    core_list(w, "h1");
    core_advance(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

#define NEAR(kind)                                                                     \
    "{\"affinity\":{\"" kind "\":{\"requiredDuringSchedulingIgnoredDuringExecution\":" \
    "[{\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}},"                          \
    "\"topologyKey\":\"zone\"}]}}}"

static void company_that_comes_wakes_who_waited_for_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_host(w, "h4");
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"labels\":{\"zone\":\"a\"}}"));
    assert_true(core_put(w, OBJECT_NODE, "h3", "{\"labels\":{\"zone\":\"b\"}}"));
    assert_true(
        core_put(w, OBJECT_NODE, "h4", "{\"labels\":{\"zone\":\"b\"},\"unschedulable\":true}"));
    assert_true(core_put(w, OBJECT_GUEST, "g1", NEAR("podAffinity")));
    (void)core_ask(w, "g1", NULL);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    struct core_guest *db = core_add_guest(w, "db", "h4", 64); /* near h3, not on it */
    char labels[] = "{\"app\":\"db\"}";
    db->is.labels = labels;
    core_list(w, "h4");
    core_advance(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    assert_string_equal(core_job_of(w, "g1")->target, "h3");
    core_free(w);
}

static void a_rival_that_goes_wakes_who_waited_for_that(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_host(w, "h4");
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":true}"));
    assert_true(core_put(w, OBJECT_NODE, "h3", "{\"labels\":{\"zone\":\"b\"}}"));
    assert_true(
        core_put(w, OBJECT_NODE, "h4", "{\"labels\":{\"zone\":\"b\"},\"unschedulable\":true}"));
    struct core_guest *db = core_add_guest(w, "db", "h4", 64);
    char labels[] = "{\"app\":\"db\"}";
    db->is.labels = labels;
    core_list(w, "h4");
    assert_true(core_put(w, OBJECT_GUEST, "g1", NEAR("podAntiAffinity")));
    const struct core_request to_h3 = {.target = "h3"};
    (void)core_ask(w, "g1", &to_h3);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    db->is.state = HV_STATE_SHUTOFF;
    core_list(w, "h4");
    core_advance(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

static void the_guests_own_selector_says_which_node_it_waits_for(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    assert_true(
        core_put(w, OBJECT_GUEST, "g1", "{\"nodeSelector\":{\"kubernetes.io/hostname\":\"h3\"}}"));
    assert_true(core_put(w, OBJECT_NODE, "h3", "{\"unschedulable\":true}"));
    const struct core_request request = {.selector = "{\"kubernetes.io/hostname\":\"h2\"}"};
    (void)core_ask(w, "g1", &request);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    assert_true(core_put(w, OBJECT_NODE, "h3", "{\"unschedulable\":false}"));
    core_advance(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

TEST_FILE(test_wakes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_place_is_not_lost_with_the_waiting_job_that_was_woken_for_it),
        cmocka_unit_test(a_target_whose_first_choice_cannot_come_is_offered_to_the_next),
        cmocka_unit_test(uncordoning_wakes_every_job_that_named_the_node),
        cmocka_unit_test(a_node_that_is_back_is_not_waited_for_any_more),
        cmocka_unit_test(a_store_that_works_again_is_not_waited_for_any_more),
        cmocka_unit_test(a_store_outage_before_the_call_does_not_multiply_observations),
        cmocka_unit_test(quota_given_back_at_once_wakes_who_was_kept_back_in_between),
        cmocka_unit_test(what_a_guest_asks_for_in_its_definition_wakes_its_job),
        cmocka_unit_test(company_that_comes_wakes_who_waited_for_it),
        cmocka_unit_test(a_rival_that_goes_wakes_who_waited_for_that),
        cmocka_unit_test(the_guests_own_selector_says_which_node_it_waits_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
