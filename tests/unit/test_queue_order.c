/* test_queue_order.c - who goes first: the class, then the age; and what runs is never kept up by
 * what waits. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/core_world.h"

static void the_classes_have_their_order(void **state)
{
    (void)state;
    static const struct {
        enum priority is;
        const char *name;
    } rows[] = {{PRIORITY_SYSTEM_CRITICAL, "system-critical"},
                {PRIORITY_USER_TRIGGERED, "user-triggered"},
                {PRIORITY_SYSTEM_MAINTENANCE, "system-maintenance"},
                {PRIORITY_DEFAULT, "none"}};
    assert_int_equal(COUNT(rows), PRIORITY_COUNT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(rows[i].is, i);
        assert_string_equal(priority_name(rows[i].is), rows[i].name);
    }
}

/* Starts one after the other, each ending before the next; the names in the order of starts. */
static void run_all(struct core_world *w, char *out_order, size_t bytes)
{
    size_t used = 0;
    out_order[0] = '\0';
    for (unsigned turn = 0; turn < w->n_guests; turn++)
        for (unsigned g = 0; g < w->n_guests; g++) {
            if (w->guests[g].migrate_id == 0)
                continue;
            const char *name = w->guests[g].is.name;
            (void)snprintf(out_order + used, bytes - used, "%s ", name);
            used = strlen(out_order);
            core_fails(w, name);
            break;
        }
}

static const struct {
    const char *classes[6]; /* of g2, g3, ... in the order of arrival, while g1 has the place */
    const char *order;
} orders[] = {
    {{"", "", "", "", "", ""}, "g1 g2 g3 g4 g5 g6 g7 "},
    {{"none", "system-maintenance", "user-triggered", "system-critical", "", ""},
     "g1 g5 g4 g6 g7 g3 g2 "},
    {{"system-critical", "user-triggered", "system-maintenance", "none", "none", "none"},
     "g1 g2 g3 g4 g5 g6 g7 "},
    {{"none", "none", "none", "system-critical", "system-critical", "system-critical"},
     "g1 g5 g6 g7 g2 g3 g4 "},
    {{"system-maintenance", "none", "system-maintenance", "none", "", "system-critical"},
     "g1 g7 g6 g2 g4 g3 g5 "},
};

/* The place they wait for: of the fleet, of the source, of the target. */
static void set_place(struct core_world *w, int which)
{
    struct fleet_config *config = &w->fleet->config;
    config->parallel_per_fleet = which == 0;
    config->parallel_outbound_per_node = which == 1;
    config->parallel_inbound_per_node = which == 2;
    config->bandwidth_per_node = which == 3 ? 1 << 20 : 0;
}

static void a_better_class_goes_first_and_then_the_older(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++)
        for (int which = 0; which < 4; which++) {
            struct core_world *w = core_new();
            set_place(w, which);
            core_add_guests(w, "h1", 2, 7);
            assert_non_null(core_ask(w, "g1", NULL));
            for (unsigned g = 0; g < 6; g++)
                assert_non_null(core_ask(w, w->guests[g + 1].is.name,
                                         &(struct core_request){.priority = orders[i].classes[g]}));
            char order[128];
            run_all(w, order, sizeof order);
            assert_string_equal(order, orders[i].order);
            core_clean(w);
            core_free(w);
        }
}

/* A quota's room goes to the best of those it kept back as well. */
static void freed_quota_goes_to_the_best_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct core_world *w = core_new();
        core_add_guests(w, "h1", 2, 7);
        assert_true(core_put(w, OBJECT_QUOTA, "q", "{\"hard\":{\"pods\":8}}"));
        assert_non_null(core_ask(w, "g1", NULL));
        for (unsigned g = 0; g < 6; g++)
            assert_non_null(core_ask(w, w->guests[g + 1].is.name,
                                     &(struct core_request){.priority = orders[i].classes[g]}));
        core_waits(w, "g2", PENDING_QUOTA);
        char order[128];
        run_all(w, order, sizeof order);
        assert_string_equal(order, orders[i].order);
        core_free(w);
    }
}

static void a_node_that_comes_back_takes_the_best_first(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.parallel_inbound_per_node = 1;
    core_add_guests(w, "h1", 2, 3);
    core_connect(w, "h2", false);
    assert_non_null(core_ask(w, "g1", &(struct core_request){.priority = "none"}));
    assert_non_null(core_ask(w, "g2", NULL));
    assert_non_null(core_ask(w, "g3", &(struct core_request){.priority = "system-critical"}));
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_settle(w);
    char order[64];
    run_all(w, order, sizeof order);
    assert_string_equal(order, "g3 g2 g1 ");
    core_free(w);
}

/* Being looked at in vain does not make a job younger. */
static void a_job_keeps_its_age_through_its_waits(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 3);
    w->fleet->config.parallel_per_fleet = 1;
    core_connect(w, "h2", false);
    assert_non_null(core_ask(w, "g1", NULL)); /* looked at: no node */
    core_advance(w, 5000);
    assert_non_null(core_ask(w, "g2", NULL));
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_settle(w);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_phase(w, "g2", PHASE_PENDING);
    core_free(w);
}

static void a_new_job_does_not_take_the_place_of_one_that_waits(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 3);
    w->fleet->config.parallel_outbound_per_node = 1;
    assert_non_null(core_ask(w, "g1", NULL));
    assert_non_null(core_ask(w, "g2", NULL));
    /* In one turn: the place is free, and somebody new asks. */
    core_guest(w, "g1")->migrate_id = 0;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    assert_non_null(core_ask(w, "g3", NULL));
    core_phase(w, "g2", PHASE_TARGET_READY);
    core_phase(w, "g3", PHASE_PENDING);
    core_free(w);
}

/* Another whose source is free may pass one that waits for its own source: nothing is idle. */
static void who_waits_for_his_source_keeps_nobody_else_up(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 2);
    core_add_guests(w, "h3", 3, 3);
    w->fleet->config.parallel_outbound_per_node = 1;
    assert_non_null(core_ask(w, "g1", NULL));
    assert_non_null(core_ask(w, "g2", &(struct core_request){.priority = "system-critical"}));
    assert_non_null(core_ask(w, "g3", &(struct core_request){.priority = "none"}));
    core_phase(w, "g2", PHASE_PENDING);
    core_phase(w, "g3", PHASE_TARGET_READY);
    core_free(w);
}

/* ---- what runs is not kept up ---- */

static void a_running_job_goes_on_however_many_better_ones_wait(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 12);
    w->fleet->config.parallel_per_fleet = 1;
    core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
    core_define(w, "g1");
    w->loses.cpus = true;
    struct job *job = core_ask(w, "g1", &(struct core_request){.priority = "none"});
    for (unsigned i = 1; i < 12; i++)
        assert_non_null(core_ask(w, w->guests[i].is.name,
                                 &(struct core_request){.priority = "system-critical"}));
    core_phase(w, "g1", PHASE_SCHEDULING);
    struct input answer = {.kind = INPUT_CPU, .id = job->placement.probe_id, .of.comparison = 1};
    TEXT_SET(answer.host, "h2");
    TEXT_SET(answer.guest, CORE_GUEST);
    core_feed(w, &answer); /* one turn: through Scheduled to the looks */
    core_phase(w, "g1", PHASE_PREPARING_TARGET);
    core_settle(w);
    core_phase(w, "g1", PHASE_TARGET_READY);
    assert_int_equal(w->fleet->busy_jobs, 1);
    core_free(w);
}

static void a_job_that_lost_its_target_keeps_its_place(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 2);
    w->fleet->config.parallel_per_fleet = 1;
    core_guest(w, "g1")->facts.requirements.cpu_hash = 7;
    core_define(w, "g1");
    w->loses.cpus = true;
    struct job *job = core_ask(w, "g1", &(struct core_request){.priority = "none"});
    assert_non_null(core_ask(w, "g2", &(struct core_request){.priority = "system-critical"}));
    char first[HV_HOST_MAX];
    TEXT_SET(first, job->target);
    core_connect(w, first, false);
    core_advance(w, 1100);
    core_phase(w, "g1", PHASE_SCHEDULING);
    assert_string_not_equal(job->target, first);
    assert_string_not_equal(job->target, "");
    core_phase(w, "g2", PHASE_PENDING);
    core_ledger(w);
    core_free(w);
}

TEST_FILE(test_queue_order)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_classes_have_their_order),
        cmocka_unit_test(a_better_class_goes_first_and_then_the_older),
        cmocka_unit_test(freed_quota_goes_to_the_best_first),
        cmocka_unit_test(a_node_that_comes_back_takes_the_best_first),
        cmocka_unit_test(a_job_keeps_its_age_through_its_waits),
        cmocka_unit_test(a_new_job_does_not_take_the_place_of_one_that_waits),
        cmocka_unit_test(who_waits_for_his_source_keeps_nobody_else_up),
        cmocka_unit_test(a_running_job_goes_on_however_many_better_ones_wait),
        cmocka_unit_test(a_job_that_lost_its_target_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
