/* test_review2.c - stories of waits that nothing ended, of wake-ups that got lost, of marks and
 * jobs that a restart or an answer of somebody else's changed: each was once a fault of the control
 * plane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/drain.h"
#include "tests/core_world.h"

#define UUID_OF(w, name) (core_guest((w), (name))->is.uuid)

static void limit(struct core_world *w, unsigned fleet, unsigned out, unsigned in)
{
    w->fleet->config.parallel_per_fleet = fleet;
    w->fleet->config.parallel_outbound_per_node = out;
    w->fleet->config.parallel_inbound_per_node = in;
}

/* ---- restart ---- */

/* Not seen yet is not gone: a job that was choosing its target waits for the first lists. */
static void a_restart_while_a_target_is_chosen_does_not_fail_the_job(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct err err = {0};
    struct fleet_config config = core_config();
    fleet_free(w->fleet);
    w->fleet = fleet_new(&config, 8, &err);
    struct hv_host host = {.name = "h1"};
    assert_true(fleet_add_node(w->fleet, &host, w->now.wall_ms, &err));
    TEXT_SET(host.name, "h2");
    assert_true(fleet_add_node(w->fleet, &host, w->now.wall_ms, &err));

    struct job *job = job_new(&err); /* as the store held it */
    assert_non_null(job);
    TEXT_SET(job->uid, "u-1");
    TEXT_SET(job->ns, "default");
    TEXT_SET(job->name, "m-1");
    TEXT_SET(job->guest_uuid, CORE_GUEST);
    TEXT_SET(job->guest_name, "g1");
    TEXT_SET(job->source, "h1");
    TEXT_SET(job->target, "h2");
    TEXT_SET(w->job, "u-1");
    job->phase = PHASE_SCHEDULING;
    job->launcher = LAUNCHER_SCHEDULED;
    job->created_ms = job->steps[0].wall_ms = w->now.wall_ms - 1000;
    job->n_steps = 2;
    job->steps[1].phase = PHASE_SCHEDULING;
    job->reserved_memory_kib = 64 * 1024;
    job->reserved_vcpus = 1;
    fleet_add_job(w->fleet, job);
    reconcile_restore(w->fleet, job, w->now, &w->fx);
    core_pass(w, 2000); /* the hosts are not connected yet */
    assert_string_equal(phase_name(core_job(w)->phase), "Scheduling");
    assert_true(core_job(w)->pending != PENDING_NONE && core_job(w)->waits_until_ms > 0);
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_pass(w, 2000);
    assert_string_equal(phase_name(core_job(w)->phase), "Scheduling");
    core_connect(w, "h1", true);
    core_list(w, "h1");
    core_pass(w, 3000);
    assert_int_equal(w->migrates, 1);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_ledger(w);
    core_free(w);
}

/* ---- what wakes whom ---- */

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
    const struct core_wish to_h2 = {.target = "h2"}, to_h4 = {.target = "h4"};
    (void)core_ask(w, "g1", &to_h2);
    (void)core_ask(w, "g2", &to_h2);
    (void)core_ask(w, "g3", &to_h2);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "g3", PENDING_SLOT_SOURCE);
    (void)core_ask(w, "g4", &to_h4); /* now the fleet is full */
    core_phase(w, "g4", PHASE_TARGET_READY);
    const struct core_wish urgent = {.target = "h4", .priority = "system-critical"};
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
    core_pass(w, 1000);
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
    const struct core_wish not_h1 = {.selector = "{\"disk\":\"fast\"}"};
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
    core_pass(w, 1000);
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
    const struct core_wish to_h2 = {.target = "h2"};
    (void)core_ask(w, "big1", &to_h2);
    (void)core_ask(w, "big2", &to_h2);
    (void)core_ask(w, "g1", &to_h2);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":false}"));
    core_waits(w, "big1", PENDING_UNSCHEDULABLE);
    assert_non_null(strstr(core_job_of(w, "big1")->pending_reason, "memory"));
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* g1 to g3 wait for h1; all else about them is known. */
static void wait_for_node(struct core_world *w)
{
    core_add_host(w, "h3");
    (void)core_add_guest(w, "g9", "h3", 64);
    limit(w, 1, 0, 0);
    const struct core_wish to_h2 = {.target = "h2"};
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
    core_pass(w, 1000);
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
    core_pass(w, 200);
    core_waits(w, "g3", PENDING_STORE);
    w->fleet->store_ok = true;
    core_pass(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "g2", PENDING_SLOT_FLEET);
    core_waits(w, "g3", PENDING_SLOT_FLEET);
    core_free(w);
}

/* While the store is down both hosts are looked at now and then, not as fast as they answer. */
static void a_store_outage_before_the_call_does_not_make_looks_spin(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->loses_looks = true;
    core_create(w);
    core_expect(w, PHASE_PREPARING_TARGET, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->fleet->store_ok = false;
    w->loses_looks = false;
    unsigned before = w->looks;
    /* The two looks that are out are answered; count what follows without playing it. */
    for (unsigned turn = 0; turn < 50; turn++) {
        struct job *job = core_job(w);
        struct input look = {.kind = INPUT_LOOK, .of.sight = CORE_RUNS};
        TEXT_SET(look.guest, CORE_GUEST);
        TEXT_SET(look.host, "h1");
        look.id = job->source_side.look_id;
        if (look.id != 0)
            core_feed(w, &look);
        look.of.sight = CORE_ABSENT;
        TEXT_SET(look.host, "h2");
        look.id = job->target_side.look_id;
        if (look.id != 0)
            core_feed(w, &look);
    }
    for (size_t i = 0; i < w->fx.n; i++)
        before += i >= w->played && w->fx.list[i].kind == EFFECT_DO_LOOK;
    assert_true(before - w->looks <= 4);
    w->fleet->store_ok = true;
    w->played = w->fx.n;
    w->target = CORE_ABSENT;
    core_pass(w, 70000);
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
    w->loses_looks = true;       /* so that the first stays where a cancel ends it at once */
    core_connect(w, "h1", true); /* both are tried: g1 takes the quota, g2 does not get it */
    core_list(w, "h1");
    core_pass(w, 1200); /* what a namespace uses is known once every node is listed */
    struct job *first = core_job_of(w, "g1");
    assert_true(phase_is_busy(first->phase));
    core_waits(w, "g2", PENDING_QUOTA);
    struct input cancel = {.kind = INPUT_CANCEL}; /* the very next thing */
    TEXT_SET(cancel.of.cancel.ns, "default");
    TEXT_SET(cancel.of.cancel.name, first->name);
    TEXT_SET(cancel.of.cancel.requester, "tester");
    core_feed(w, &cancel);
    w->loses_looks = false;
    core_pass(w, 1000);
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
    core_pass(w, 1000);
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
    core_pass(w, 1000);
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
    const struct core_wish to_h3 = {.target = "h3"};
    (void)core_ask(w, "g1", &to_h3);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    db->is.state = HV_STATE_SHUTOFF;
    core_list(w, "h4");
    core_pass(w, 1000);
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
    const struct core_wish wish = {.selector = "{\"kubernetes.io/hostname\":\"h2\"}"};
    (void)core_ask(w, "g1", &wish);
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    assert_true(core_put(w, OBJECT_NODE, "h3", "{\"unschedulable\":false}"));
    core_pass(w, 1000);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* ---- preparation ---- */

static void a_target_that_did_not_answer_once_is_asked_again_when_there_is_no_other(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_guest(w, "g1")->facts.needs.cpu_hash = 7;
    core_define(w, "g1");
    core_host(w, "h2")->unasked = ERR_UNREACHABLE;
    core_create(w);
    core_expect(w, PHASE_SCHEDULING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_host(w, "h2")->unasked = ERR_NONE;
    core_pass(w, 60000);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

static void a_target_that_never_answers_is_no_reason_for_an_event_each_second(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_guest(w, "g1")->facts.needs.cpu_hash = 7;
    core_define(w, "g1");
    core_host(w, "h2")->unasked = ERR_UNREACHABLE;
    core_create(w);
    core_pass(w, 400000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_true(core_said(w, "TargetRejected", NULL) <= 40);
    core_clean(w);
    core_free(w);
}

static void utility_volumes_that_appear_late_are_waited_for_only_as_long_as_they_stay(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->loses_jobs = true; /* no answer yet: it stays where it is */
    core_create(w);
    w->loses_jobs = false;
    core_pass(w, 10100); /* ... and goes on without it; then the second question is lost */
    struct job *job = core_job(w);
    if (job->phase != PHASE_SCHEDULING) {
        core_free(w);
        w = core_new();
        core_guest(w, "g1")->facts.needs.cpu_hash = 7;
        core_define(w, "g1");
        w->loses_cpus = true;
        core_create(w);
        job = core_job(w);
    }
    assert_string_equal(phase_name(job->phase), "Scheduling");
    core_guest(w, "g1")->facts.utility_disks = 1;
    core_define(w, "g1");
    core_pass(w, 3000);
    core_waits(w, "g1", PENDING_UTILITY_VOLUMES);
    core_guest(w, "g1")->facts.utility_disks = 0;
    core_define(w, "g1");
    w->loses_cpus = false;
    core_pass(w, 60000);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_free(w);
}

/* ---- answers ---- */

/* The order to end a backup is nobody's abort: its answer says nothing about the migration. */
static void the_answer_of_a_stopped_backup_is_not_an_abort_of_the_migration(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.migration.backup_abort = true;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    const struct core_wish urgent = {.priority = "system-critical"};
    struct job *job = core_ask(w, "g1", &urgent);
    assert_non_null(job);
    assert_int_equal(w->backup_stops, 1); /* and answered */
    assert_false(job->resolving);
    assert_false(job->abort_accepted);
    core_waits(w, "g1", PENDING_BACKUP); /* it is being ended, not gone */
    for (size_t i = 0; i < w->fx.n; i++)
        assert_false(w->fx.list[i].kind == EFFECT_INTENT &&
                     w->fx.list[i].of.intent.kind == INTENT_ABORT);
    core_free(w);
}

/* ---- drains and marks ---- */

static void drain(struct core_world *w, const char *node)
{
    char spec[100];
    (void)snprintf(spec, sizeof spec, "{\"nodeName\":\"%s\"}", node);
    assert_true(core_put(w, OBJECT_DRAIN, "d", spec));
}

static void a_drain_that_waits_does_not_ask_for_the_next_look_at_once(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.eviction_strategy = STRATEGY_LIVE_MIGRATE;
    drain(w, "h1");
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_pass(w, 1000);
    assert_false(w->fleet->drains_due);
    assert_true(reconcile_next_ms(w->fleet, w->now.mono_ms) > w->now.mono_ms);
    core_free(w);
}

/* A guest that is gone takes its mark along: the same one started later is not moved away. */
static void a_mark_does_not_outlive_its_guest(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.eviction_strategy = STRATEGY_LIVE_MIGRATE;
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"unschedulable\":true}"));
    drain(w, "h1");
    assert_string_equal(fleet_guest(w->fleet, CORE_GUEST)->evacuation_node, "h1");
    w->source = CORE_ABSENT;
    TEXT_SET(core_guest(w, "g1")->host, "nowhere"); /* turned off, and transient */
    core_list(w, "h1");
    core_pass(w, 1000);
    assert_null(fleet_guest(w->fleet, CORE_GUEST));
    assert_true(core_remove(w, OBJECT_DRAIN, "d"));
    assert_true(core_put(w, OBJECT_NODE, "h1", "{\"unschedulable\":false}"));
    TEXT_SET(core_guest(w, "g1")->host, "h1");
    w->source = CORE_RUNS;
    core_list(w, "h1");
    core_pass(w, 1000);
    assert_string_equal(fleet_guest(w->fleet, CORE_GUEST)->evacuation_node, "");
    assert_null(fleet_active_job(w->fleet, CORE_GUEST));
    assert_null(fleet_object(w->fleet, OBJECT_GUEST, "default", "g1"));
    core_free(w);
}

static void a_mark_goes_with_the_document_that_holds_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.eviction_strategy = STRATEGY_EXTERNAL;
    struct guest *guest = fleet_guest(w->fleet, CORE_GUEST);
    struct err err = {0};
    assert_true(evacuation_mark(w->fleet, guest, false, w->now, &w->fx, &err));
    assert_true(core_remove(w, OBJECT_GUEST, "g1"));
    core_pass(w, 1000);
    assert_string_equal(guest->evacuation_node, "");
    core_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_while_a_target_is_chosen_does_not_fail_the_job),
        cmocka_unit_test(a_free_place_is_not_lost_with_the_waiting_job_that_was_woken_for_it),
        cmocka_unit_test(a_target_whose_first_choice_cannot_come_is_offered_to_the_next),
        cmocka_unit_test(uncordoning_wakes_every_job_that_named_the_node),
        cmocka_unit_test(a_node_that_is_back_is_not_waited_for_any_more),
        cmocka_unit_test(a_store_that_works_again_is_not_waited_for_any_more),
        cmocka_unit_test(a_store_outage_before_the_call_does_not_make_looks_spin),
        cmocka_unit_test(quota_given_back_at_once_wakes_who_was_kept_back_in_between),
        cmocka_unit_test(what_a_guest_asks_for_in_its_definition_wakes_its_job),
        cmocka_unit_test(company_that_comes_wakes_who_waited_for_it),
        cmocka_unit_test(a_rival_that_goes_wakes_who_waited_for_that),
        cmocka_unit_test(the_guests_own_selector_says_which_node_it_waits_for),
        cmocka_unit_test(a_target_that_did_not_answer_once_is_asked_again_when_there_is_no_other),
        cmocka_unit_test(a_target_that_never_answers_is_no_reason_for_an_event_each_second),
        cmocka_unit_test(utility_volumes_that_appear_late_are_waited_for_only_as_long_as_they_stay),
        cmocka_unit_test(the_answer_of_a_stopped_backup_is_not_an_abort_of_the_migration),
        cmocka_unit_test(a_drain_that_waits_does_not_ask_for_the_next_look_at_once),
        cmocka_unit_test(a_mark_does_not_outlive_its_guest),
        cmocka_unit_test(a_mark_goes_with_the_document_that_holds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
