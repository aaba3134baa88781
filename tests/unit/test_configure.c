/* test_configure.c - a configuration that is given while the fleet runs: hosts come and go, limits
 * and labels change, and what a job needs stays. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/control/configure.h"
#include "engine/model/objects/drain.h"
#include "tests/core_world.h"

/* The present hosts of the world and its limits, as a configuration. */
static struct setup *setup_now(struct core_world *w, size_t more)
{
    struct setup *setup = setup_new(&w->fleet->config, HASH_COUNT(w->fleet->nodes) + more);
    size_t i = 0;
    assert_non_null(setup);
    for (struct node *node = w->fleet->nodes; node != NULL; node = node->hh.next)
        assert_true(setup_host(setup, i++, &node->host, node->config.labels, node->config.taints));
    return setup;
}

static void name_last(struct setup *setup, const char *name)
{
    struct hv_host host = {.uri = "qemu+tls://new/system"};
    TEXT_SET(host.name, name);
    assert_true(setup_host(setup, setup->n_hosts - 1, &host, NULL, NULL));
}

static struct setup_host *named(struct setup *setup, const char *name)
{
    for (size_t i = 0; i < setup->n_hosts; i++)
        if (text_equal(setup->hosts[i].host.name, name))
            return &setup->hosts[i];
    fail_msg("no %s", name);
    return NULL;
}

static void leave_out(struct setup *setup, const char *name)
{
    struct setup_host *gone = named(setup, name), *last = &setup->hosts[setup->n_hosts - 1];
    struct setup_host keep = *gone;
    *gone = *last;
    *last = keep;
    free(last->labels);
    free(last->taints);
    setup->n_hosts--;
}

static bool give(struct core_world *w, struct setup *take_setup)
{
    OWNED(setup) setup = take_setup;
    struct input input = {.kind = INPUT_CONFIGURE, .of.setup = setup};
    struct migration_ref ref = {0};
    w->err = (struct err){0};
    bool done = reconcile(w->fleet, &input, w->now, &w->fx, &ref, &w->err);
    core_settle(w);
    return done;
}

static void a_host_is_added_while_a_migration_runs(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    struct setup *setup = setup_now(w, 1);
    name_last(setup, "h3");
    assert_true(give(w, setup));
    assert_non_null(core_node(w, "h3"));
    assert_false(core_node(w, "h3")->connected);
    assert_int_equal(core_job(w)->phase, PHASE_RUNNING);
    core_free(w);
}

static void a_job_that_no_node_could_take_goes_to_the_new_one(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_connect(w, "h2", false);
    assert_non_null(core_ask(w, "g1", &(struct core_request){0}));
    core_phase(w, "g1", PHASE_PENDING);
    struct setup *setup = setup_now(w, 1);
    name_last(setup, "h3");
    assert_true(give(w, setup));
    TEXT_SET(w->hosts[w->n_hosts].name, "h3");
    w->hosts[w->n_hosts++].comparison = 1;
    core_connect(w, "h3", true);
    core_size(w, "h3", 4096, 8);
    core_list(w, "h3");
    core_advance(w, 60000);
    assert_string_equal(core_job_of(w, "g1")->target, "h3");
    core_free(w);
}

static void an_idle_host_is_removed_with_its_guests(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    core_add_host(w, "h3");
    (void)core_add_guest(w, "far", "h3", 64);
    struct setup *setup = setup_now(w, 0);
    leave_out(setup, "h3");
    unsigned n = 0;
    assert_true(give(w, setup));
    assert_null(fleet_node(w->fleet, "h3"));
    assert_null(fleet_guest_named(w->fleet, "default", "far", &n));
    core_ledger(w);
    assert_int_equal(core_job(w)->phase, PHASE_RUNNING);
    core_list(w, "h3"); /* a late answer */
    assert_null(fleet_node(w->fleet, "h3"));
    core_free(w);
}

static void a_host_with_a_job_stays_and_nothing_else_changes(void **state)
{
    (void)state;
    static const char *const hosts[] = {"h1", "h2"};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        struct core_world *w = core_moving();
        core_add_host(w, "h3");
        struct setup *setup = setup_now(w, 1);
        name_last(setup, "h4");
        leave_out(setup, hosts[i]);
        setup->config.parallel_per_fleet = 77;
        assert_false(give(w, setup));
        assert_int_equal(w->err.code, ERR_REFUSED);
        assert_non_null(strstr(w->err.text, hosts[i]));
        assert_non_null(strstr(w->err.text, core_job(w)->name));
        assert_non_null(core_node(w, hosts[i]));
        assert_null(fleet_node(w->fleet, "h4")); /* nor is a new host added */
        assert_int_not_equal(w->fleet->config.parallel_per_fleet, 77);
        setup = setup_now(w, 0);
        TEXT_SET(named(setup, hosts[i])->host.uri, "qemu+ssh://elsewhere/system");
        assert_false(give(w, setup));
        assert_non_null(strstr(w->err.text, "reached another way"));
        core_free(w);
    }
}

static void a_host_that_a_waiting_job_asked_for_stays(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_connect(w, "h3", false);
    assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h3"}));
    struct setup *setup = setup_now(w, 0);
    leave_out(setup, "h3");
    assert_false(give(w, setup));
    assert_int_equal(w->err.code, ERR_REFUSED);
    core_free(w);
}

/* Somebody else moved its guest while it waited. */
static void the_host_of_a_waiting_jobs_guest_stays(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 2);
    w->fleet->config.parallel_per_fleet = 1;
    assert_non_null(core_ask(w, "g2", &(struct core_request){0}));
    const struct job *job = core_ask(w, "g1", &(struct core_request){0});
    TEXT_SET(core_guest(w, "g1")->host, "h3");
    core_list(w, "h1");
    core_list(w, "h3");
    core_phase(w, "g1", PHASE_PENDING);
    assert_string_equal(job->source, ""); /* known when it has a slot */
    struct setup *setup = setup_now(w, 0);
    leave_out(setup, "h3");
    assert_false(give(w, setup));
    assert_non_null(strstr(w->err.text, job->name));
    core_free(w);
}

static void a_host_under_a_drain_stays(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    (void)core_add_guest(w, "far", "h3", 64);
    core_connect(w, "h3", false); /* so that the drain cannot end */
    assert_true(core_put(w, OBJECT_DRAIN, "empty", "{\"nodeName\":\"h3\"}"));
    struct setup *setup = setup_now(w, 0);
    leave_out(setup, "h3");
    assert_false(give(w, setup));
    assert_int_equal(w->err.code, ERR_REFUSED);
    core_free(w);
}

static void an_unfinished_drain_of_an_empty_host_holds_it_and_a_finished_one_does_not(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    assert_true(core_put(w, OBJECT_DRAIN, "empty", "{\"nodeName\":\"h3\"}"));
    struct object *drain = fleet_object(w->fleet, OBJECT_DRAIN, "", "empty");
    enum drain_state ended = drain->drain->state;
    assert_true(drain_is_final(ended));
    drain->drain->state = DRAIN_DRAINING;
    struct setup *setup = setup_now(w, 0);
    leave_out(setup, "h3");
    assert_false(give(w, setup));
    assert_non_null(strstr(w->err.text, "drain empty is not finished"));
    drain = fleet_object(w->fleet, OBJECT_DRAIN, "", "empty");
    drain->drain->state = ended;
    setup = setup_now(w, 0);
    leave_out(setup, "h3");
    assert_true(give(w, setup));
    assert_null(fleet_node(w->fleet, "h3"));
    core_free(w);
}

/* A field that is forgotten here would go on with the old connection. */
static void every_field_of_the_way_to_a_host_is_compared(void **state)
{
    (void)state;
    const struct hv_host one = {.name = "h"};
    struct hv_host other[] = {
        {.uri = "x"},    {.peer_uri = "x"}, {.migration_host = "x"},     {.listen = "x"},
        {.helper = "x"}, {.tls_name = "x"}, {.helper_secret = "x"},      {.tls = true},
        {.port_min = 1}, {.port_max = 1},   {.keepalive_interval_s = 1}, {.keepalive_count = 1},
    };
    assert_false(configure_reconnects(&one, &one));
    for (size_t i = 0; i < COUNT(other); i++) {
        TEXT_SET(other[i].name, "h");
        if (!configure_reconnects(&one, &other[i]) || !configure_reconnects(&other[i], &one))
            fail_msg("field %zu is not compared", i);
    }
}

static void another_way_to_a_host_is_a_new_connection(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct setup *setup = setup_now(w, 0);
    TEXT_SET(named(setup, "h2")->host.uri, "qemu+ssh://other/system");
    unsigned lost = (unsigned)core_node(w, "h2")->lost.times;
    assert_true(core_node(w, "h2")->listed);
    assert_true(give(w, setup));
    const struct node *node = core_node(w, "h2");
    assert_false(node->connected);
    assert_false(node->listed || node->has_facts); /* its guests may be others now */
    assert_int_equal(node->lost.times, lost + 1);  /* so that a job knows that events were missed */
    assert_string_equal(node->host.uri, "qemu+ssh://other/system");
    core_connect(w, "h2", true);
    assert_true(core_node(w, "h2")->connected);
    core_free(w);
}

static void labels_taints_and_cordons_change_at_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct setup *setup = setup_now(w, 0);
    named(setup, "h2")->labels = strdup("{\"zone\":\"b\"}");
    named(setup, "h2")->taints = strdup("[{\"key\":\"gpu\",\"effect\":\"NoSchedule\"}]");
    named(setup, "h2")->cordoned = true;
    assert_true(give(w, setup));
    assert_non_null(strstr(core_node(w, "h2")->config.taints, "gpu"));
    assert_true(core_node(w, "h2")->connected);
    assert_true(core_node(w, "h2")->cordoned);
    assert_non_null(strstr(core_node(w, "h2")->shown.labels, "zone"));
    core_free(w);
}

static void a_wider_limit_lets_waiting_jobs_go(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 3);
    struct fleet_config *config = &w->fleet->config;
    config->parallel_outbound_per_node = 1;
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(core_ask(w, w->guests[i].is.name, &(struct core_request){0}));
    unsigned waiting = 0;
    for (const struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        waiting += job->wait.pending == PENDING_SLOT_SOURCE;
    assert_int_equal(waiting, 2);
    struct setup *setup = setup_now(w, 0);
    setup->config.parallel_outbound_per_node = 3;
    assert_true(give(w, setup));
    core_advance(w, 1000);
    for (const struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        assert_int_not_equal(job->wait.pending, PENDING_SLOT_SOURCE);
    core_free(w);
}

static void a_higher_overcommit_lets_a_job_go_that_no_node_had_memory_for(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_size(w, "h2", 1024, 8);
    (void)core_add_guest(w, "fat", "h2", 1000);
    assert_non_null(core_ask(w, "g1", &(struct core_request){0}));
    core_phase(w, "g1", PHASE_PENDING);
    struct setup *setup = setup_now(w, 0);
    setup->config.memory_overcommit_percent = 200;
    assert_true(give(w, setup));
    assert_string_equal(core_job_of(w, "g1")->target, "h2"); /* at once, not at its next look */
    core_free(w);
}

static void a_name_given_twice_changes_nothing(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct setup *setup = setup_now(w, 1);
    name_last(setup, "h1");
    assert_false(give(w, setup));
    assert_int_equal(w->err.code, ERR_EXISTS);
    core_free(w);
}

TEST_FILE(test_configure)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_added_while_a_migration_runs),
        cmocka_unit_test(a_job_that_no_node_could_take_goes_to_the_new_one),
        cmocka_unit_test(an_idle_host_is_removed_with_its_guests),
        cmocka_unit_test(a_host_with_a_job_stays_and_nothing_else_changes),
        cmocka_unit_test(a_host_that_a_waiting_job_asked_for_stays),
        cmocka_unit_test(the_host_of_a_waiting_jobs_guest_stays),
        cmocka_unit_test(a_host_under_a_drain_stays),
        cmocka_unit_test(an_unfinished_drain_of_an_empty_host_holds_it_and_a_finished_one_does_not),
        cmocka_unit_test(every_field_of_the_way_to_a_host_is_compared),
        cmocka_unit_test(another_way_to_a_host_is_a_new_connection),
        cmocka_unit_test(labels_taints_and_cordons_change_at_once),
        cmocka_unit_test(a_wider_limit_lets_waiting_jobs_go),
        cmocka_unit_test(a_higher_overcommit_lets_a_job_go_that_no_node_had_memory_for),
        cmocka_unit_test(a_name_given_twice_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
