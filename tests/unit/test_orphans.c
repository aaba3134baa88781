/* test_orphans.c - guests that carry the mark of a migration: found, left alone, adopted, cleared;
 * and jobs from a backup, which only a mark confirms. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/control/orphans.h"
#include "engine/data/order.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

#define OURS "0123456789abcdef"
#define THEIRS "fedcba9876543210"
#define LOST_JOB "aaaaaaaa-1111-4111-8111-111111111111"

static void identify(struct core_world *w, bool restored)
{
    TEXT_SET(w->fleet->marks.identity.id, OURS);
    w->fleet->marks.identity.epoch = 5;
    w->fleet->marks.identity.restored = restored;
}

/* A world whose appliance has an identity; restored: its store is a backup. */
static struct core_world *identified_world(bool restored)
{
    struct core_world *w = core_new();
    identify(w, restored);
    return w;
}

/* What the definition of g1 on that host says. An empty job: no mark. */
static void mark(struct core_world *w, const char *host, const char *appliance, int64_t life,
                 const char *job)
{
    struct guest_facts facts = core_guest(w, "g1")->facts;
    facts.mark = (struct hv_mark){.appliance_epoch = life, .epoch = 2, .port = 49170};
    TEXT_SET(facts.mark.appliance, appliance);
    TEXT_SET(facts.mark.job, job);
    TEXT_SET(facts.mark.source, "h1");
    TEXT_SET(facts.mark.target, "h2");
    struct input input = {.kind = INPUT_DEFINITION, .of.definition = &facts};
    TEXT_SET(input.host, host);
    TEXT_SET(input.guest, CORE_GUEST);
    core_feed(w, &input);
    core_advance(w, 1000);
}

/* What the hosts show from now on: the migration of somebody else runs; it has arrived. */
static void runs_on_hosts(struct core_world *w)
{
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
}

static void arrives_on_hosts(struct core_world *w)
{
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    w->job_type = HV_JOB_NONE;
}

/* The source lists the guest in that state, and answers so when it is asked. */
static void shows(struct core_world *w, const struct hv_observation *state)
{
    w->source = *state;
    core_guest(w, "g1")->is.state = state->state;
    core_guest(w, "g1")->is.reason = state->reason;
    core_list(w, "h1");
}

/* The guest's copy waits there. */
static void lists_incoming(struct core_world *w, const char *host)
{
    fleet_apply_observation(w->fleet, core_node(w, host), CORE_GUEST, &CORE_INCOMING);
}

static unsigned clears(const struct core_world *w, const char *host)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += w->fx.list[i].kind == EFFECT_DO_CLEAR_MARK &&
             strcmp(w->fx.list[i].of.act.node, host) == 0;
    return n;
}

static bool is_orphan(struct core_world *w)
{
    return orphans_mark(w->fleet, fleet_guest(w->fleet, CORE_GUEST)) != NULL;
}

static bool adopt(struct core_world *w, const char *from, const char *to)
{
    struct input input = {.kind = INPUT_RESOLVE, .of.resolve.kind = RESOLVE_ADOPT};
    struct migration_ref ref = {{0}, {0}, {0}};
    TEXT_SET(input.of.resolve.ns, "default");
    TEXT_SET(input.of.resolve.name, "g1");
    TEXT_SET(input.of.resolve.source, from);
    TEXT_SET(input.of.resolve.target, to);
    TEXT_SET(input.of.resolve.requester, "operator");
    w->err = (struct err){0};
    bool done = reconcile(w->fleet, &input, w->now, &w->fx, &ref, &w->err);
    if (done)
        TEXT_SET(w->job, ref.uid);
    core_settle(w);
    return done;
}

static void the_call_carries_the_mark_and_the_end_clears_it(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    core_create(w);
    core_sample(w);
    assert_string_equal(w->last.mark.appliance, OURS);
    assert_int_equal(w->last.mark.appliance_epoch, 5);
    assert_string_equal(w->last.mark.job, core_job(w)->uid);
    assert_int_equal(w->last.mark.epoch, core_job(w)->epoch);
    assert_string_equal(w->last.mark.target, "h2");
    mark(w, "h1", OURS, 5, core_job(w)->uid);
    assert_false(is_orphan(w));
    assert_int_equal(clears(w, "h1"), 0); /* libvirt would refuse it, and it is needed */
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    static const unsigned after_each_8_s[] = {1, 1, 2, 2, 3, 3, 3, 3, 3, 4};
    for (size_t i = 0; i < COUNT(after_each_8_s); i++) { /* again after 10, 20, 40 s */
        assert_int_equal(clears(w, "h1"), after_each_8_s[i]);
        core_advance(w, 8000);
    }
    assert_int_equal(core_count_events(w, "MarkNotCleared", NULL), 0);
    core_advance(w, 6000000);
    assert_int_equal(clears(w, "h1"), 6); /* it does not help: bounded, and told */
    assert_int_equal(core_count_events(w, "MarkNotCleared", NULL), 1);
    core_clean(w);
    core_free(w);
}

/* In a state that only a migration leaves: nobody knows that it is over. */
static void the_mark_of_a_guest_that_is_between_hosts_is_kept(void **state)
{
    (void)state;
    static const struct hv_observation starts = {
        .presence = HV_PRESENT, .state = HV_STATE_PAUSED, .reason = HV_PAUSED_STARTING_UP};
    static const struct hv_observation broken = {
        .presence = HV_PRESENT, .state = HV_STATE_RUNNING, .reason = HV_RUNNING_POSTCOPY_FAILED};
    static const struct hv_observation *const states[] = {&CORE_PC_BROKEN_SOURCE, &CORE_PC_SOURCE,
                                                          &CORE_INCOMING, &starts, &broken};
    for (size_t i = 0; i < COUNT(states); i++) {
        struct core_world *w = identified_world(false);
        shows(w, states[i]);
        mark(w, "h1", OURS, 5, LOST_JOB); /* of a job that this appliance has forgotten */
        core_advance(w, 60000);
        assert_true(is_orphan(w));
        assert_int_equal(clears(w, "h1"), 0);
        core_free(w);
    }
}

/* A job that ended and left the guest so: an operator decides. */
static void the_mark_of_an_ended_job_is_kept_while_its_guest_is_between_hosts(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    core_create(w);
    core_sample(w);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 2000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    shows(w, &CORE_PC_BROKEN_SOURCE);
    mark(w, "h1", OURS, 5, core_job(w)->uid);
    core_advance(w, 60000);
    assert_int_equal(clears(w, "h1"), 0);
    core_free(w);
}

/* libvirt refuses it meanwhile, and the call of the running job writes its own. */
static void an_old_mark_is_not_cleared_beside_an_active_job(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    core_create(w);
    core_sample(w);
    mark(w, "h1", OURS, 4, LOST_JOB);
    core_advance(w, 60000);
    assert_int_equal(clears(w, "h1"), 0);
    core_free(w);
}

/* On another node it is what a migration left, or a copy that arrives. */
static void a_mark_is_cleared_only_where_the_guest_is(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    fleet_apply_observation(w->fleet, core_node(w, "h2"), CORE_GUEST,
                            &(struct hv_observation){.presence = HV_PRESENT,
                                                     .state = HV_STATE_PAUSED,
                                                     .reason = HV_PAUSED_USER});
    mark(w, "h2", OURS, 4, LOST_JOB);
    core_advance(w, 60000);
    assert_int_equal(clears(w, "h2"), 0);
    core_free(w);
}

/* A definition that is left there says nothing about the guest. */
static void the_mark_of_a_domain_that_is_not_up_makes_no_orphan(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    fleet_apply_observation(w->fleet, core_node(w, "h2"), CORE_GUEST,
                            &(struct hv_observation){.presence = HV_PRESENT,
                                                     .state = HV_STATE_SHUTOFF,
                                                     .persistent = true});
    mark(w, "h2", THEIRS, 4, LOST_JOB);
    assert_false(is_orphan(w));
    core_free(w);
}

static void a_mark_that_goes_is_not_cleared_again(void **state)
{
    (void)state;
    for (int64_t life = 4; life <= 5; life++) { /* an earlier one, and this: forgotten long ago */
        struct core_world *w = identified_world(false);
        mark(w, "h1", OURS, life, LOST_JOB);
        assert_false(is_orphan(w));
        assert_int_equal(clears(w, "h1"), 1);
        mark(w, "h1", "", 0, "");
        core_advance(w, 60000);
        assert_int_equal(clears(w, "h1"), 1);
        core_free(w);
    }
}

static void a_mark_is_not_cleared_on_a_host_that_is_only_read_or_not_connected(void **state)
{
    (void)state;
    for (int observes = 0; observes < 2; observes++) {
        struct core_world *w = identified_world(false);
        struct node *node = core_node(w, "h1");
        *(observes ? &node->host.observe : &node->connected) = observes;
        mark(w, "h1", OURS, 4, LOST_JOB);
        core_advance(w, 60000);
        assert_int_equal(clears(w, "h1"), 0);
        node->connected = true;
        core_free(w);
    }
}

/* After a restore only the jobs in memory prove that a mark is over; also one before the last. */
static void the_mark_of_an_earlier_job_of_the_guest_is_over(void **state)
{
    (void)state;
    struct core_world *w = identified_world(true);
    const struct job *jobs[2];
    for (int i = 0; i < 2; i++) {
        jobs[i] = core_ask(w, "g1", &(struct core_request){.target = "h2"});
        core_advance(w, 60000); /* the second waits a while after the failure of the first */
        core_fails(w, "g1");
        core_advance(w, 5000);
        assert_int_equal(jobs[i]->phase, PHASE_FAILED);
    }
    mark(w, "h1", OURS, 5, jobs[0]->uid);
    assert_false(is_orphan(w));
    core_free(w);
}

/* Another appliance's, a newer life of this one, or one that a restored store does not know. */
static const struct {
    const char *appliance;
    int64_t life;
    bool restored;
} strangers[] = {{THEIRS, 1, false}, {OURS, 6, false}, {OURS, 5, true}};

static void an_orphan_is_reported_and_not_touched(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(strangers); i++) {
        struct core_world *w = identified_world(strangers[i].restored);
        uint64_t version = w->fleet->guests_version;
        mark(w, "h1", strangers[i].appliance, strangers[i].life, LOST_JOB);
        assert_true(is_orphan(w));
        assert_true(w->fleet->guests_version > version); /* it is shown */
        core_advance(w, 60000);
        assert_int_equal(core_count_events(w, "Orphaned", NULL), 1);
        assert_int_equal(clears(w, "h1"), 0);
        assert_null(core_ask(w, "g1", &(struct core_request){.target = "h2"}));
        assert_int_equal(w->err.code, ERR_REFUSED);
        assert_non_null(strstr(w->err.text, "carries the mark"));
        assert_int_equal(w->migrates, 0);
        mark(w, "h1", "", 0, ""); /* its owner has ended */
        assert_false(is_orphan(w));
        assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h2"}));
        core_free(w);
    }
}

static void a_drain_neither_moves_nor_shuts_down_an_orphan(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    assert_true(core_put(w, OBJECT_DRAIN, "d", "{\"nodeName\":\"h1\",\"shutdown\":true}"));
    core_advance(w, 60000);
    assert_int_equal(w->migrates + w->shutdowns, 0);
    assert_null(fleet_active_job(w->fleet, CORE_GUEST));
    core_free(w);
}

static void an_adopted_orphan_is_followed_to_its_end(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    runs_on_hosts(w);
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    lists_incoming(w, "h2");
    w->fleet->config.migration.max_downtime_ms = 77;
    assert_true(adopt(w, "h1", "h2"));
    const struct job *job = core_job(w);
    assert_int_equal(job->call.config.max_downtime_ms, 77);
    assert_int_equal(job->times.started_ms, w->now.wall_ms);
    assert_int_equal(job->call.begun_ms, w->now.mono_ms);
    assert_int_equal(job->placement.launcher, LAUNCHER_READY);
    assert_int_equal(job->mode, MODE_PRECOPY);
    assert_string_not_equal(job->uid, LOST_JOB); /* the store may still hold that one's record */
    assert_string_equal(job->marked_as, LOST_JOB);
    assert_int_equal(job->stream.port, 49170);
    assert_int_equal(job->epoch, 2);
    assert_true(job->adopted);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_false(is_orphan(w));
    assert_int_equal(w->migrates, 0);
    arrives_on_hosts(w);
    core_advance(w, 5000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(w->migrates, 0);
    core_clean(w);
    core_free(w);
}

static unsigned orders_given(const struct core_world *w)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += w->fx.list[i].kind == EFFECT_INTENT &&
             strcmp(w->fx.list[i].of.intent.status, "open") == 0;
    return n;
}

/* The job is one that a backup held. */
static void restore_from_backup(struct core_world *w)
{
    identify(w, true);
    core_job(w)->unconfirmed = core_job(w)->changed = true;
    core_settle(w);
}

/* The hosts have told who is there; no definition was read yet. */
static void restart(struct core_world *w, bool restored)
{
    core_restart_blind(w, 60000);
    identify(w, restored);
    core_connect(w, "h1", true);
    core_connect(w, "h2", true);
    core_list(w, "h1");
    core_list(w, "h2");
    core_settle(w);
}

/* The mark has the uid of the lost job, not that of the adopted one. */
static void an_adopted_job_keeps_its_mark_over_a_restart_and_clears_it_at_the_end(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    runs_on_hosts(w);
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    assert_true(adopt(w, "h1", "h2"));
    restart(w, false);
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    assert_string_equal(core_job(w)->marked_as, LOST_JOB);
    assert_false(is_orphan(w));
    assert_int_equal(clears(w, "h1"), 0);
    arrives_on_hosts(w);
    core_advance(w, 5000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    TEXT_SET(core_guest(w, "g1")->host, "h2");
    core_list(w, "h1");
    core_list(w, "h2");
    mark(w, "h2", THEIRS, 1, LOST_JOB);
    assert_false(is_orphan(w));
    assert_int_equal(clears(w, "h2"), 1);
    core_free(w);
}

static void an_adopted_job_from_a_backup_is_confirmed_by_the_mark_it_was_adopted_from(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    runs_on_hosts(w);
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    assert_true(adopt(w, "h1", "h2"));
    restore_from_backup(w);
    restart(w, true);
    assert_true(core_job(w)->unconfirmed);
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    assert_false(core_job(w)->unconfirmed);
    core_free(w);
}

/* In post-copy the source must never run again: what the job is told by the states of both. */
static void an_orphan_that_is_broken_in_post_copy_is_adopted_in_that_mode(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    w->target = CORE_PC_BROKEN_TARGET;
    shows(w, &CORE_PC_BROKEN_SOURCE);
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    assert_true(adopt(w, "h1", "h2"));
    assert_int_equal(core_job(w)->mode, MODE_POSTCOPY);
    assert_true(core_job(w)->placement.reserved); /* nobody else takes its room on the target */
    core_free(w);
}

static void an_adopted_persistent_guest_stays_persistent(void **state)
{
    (void)state;
    for (int persistent = 0; persistent < 2; persistent++) {
        struct core_world *w = identified_world(false);
        runs_on_hosts(w);
        core_guest(w, "g1")->is.persistent = persistent != 0;
        core_list(w, "h1");
        mark(w, "h1", THEIRS, 1, LOST_JOB);
        assert_true(adopt(w, "h1", "h2"));
        assert_int_equal((core_job(w)->call.flags & HV_MIGRATE_PERSIST) != 0, persistent);
        core_free(w);
    }
}

static void only_an_orphan_between_two_known_nodes_is_adopted(void **state)
{
    (void)state;
    struct core_world *w = identified_world(false);
    assert_false(adopt(w, "h1", "h2"));
    assert_non_null(strstr(w->err.text, "nothing to adopt"));
    mark(w, "h1", THEIRS, 1, LOST_JOB);
    assert_false(adopt(w, "h1", "h1"));
    assert_false(adopt(w, "h1", "h9"));
    assert_int_equal(w->err.code, ERR_UNPROCESSABLE);
    assert_false(adopt(w, "h2", "h1")); /* the other way round */
    assert_non_null(strstr(w->err.text, "from h1 to h2, not from h2 to h1"));
    assert_true(adopt(w, "h1", "h2"));
    assert_false(adopt(w, "h1", "h2")); /* it has a job now */
    core_free(w);
}

/* ---- after a restore ---- */

static void a_running_job_gets_no_order_before_its_mark_is_seen(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    restore_from_backup(w);
    runs_on_hosts(w);
    restart(w, true);
    unsigned before = orders_given(w);
    core_advance(w, 120000);
    assert_int_equal(orders_given(w), before);
    assert_true(core_job(w)->unconfirmed);
    mark(w, "h1", OURS, 4, "another-job");
    assert_true(core_job(w)->unconfirmed);
    mark(w, "h1", OURS, 4, core_job(w)->uid);
    assert_false(core_job(w)->unconfirmed);
    assert_int_equal(core_count_events(w, "Confirmed", NULL), 1);
    core_free(w);
}

static void a_job_that_ended_meanwhile_is_resolved_without_an_order(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    restore_from_backup(w);
    arrives_on_hosts(w);
    restart(w, true);
    unsigned before = orders_given(w);
    core_advance(w, 5000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(orders_given(w), before);
    core_free(w);
}

/* Waiting when the backup was made. */
static struct core_world *waiting(void)
{
    struct core_world *w = core_new();
    core_node(w, "h2")->cordoned = true;
    core_create(w);
    core_phase(w, "g1", PHASE_PENDING);
    restore_from_backup(w);
    restart(w, true);
    return w;
}

static void a_waiting_job_without_a_mark_is_not_begun(void **state)
{
    (void)state;
    struct core_world *w = waiting();
    core_advance(w, 5000);
    assert_int_equal(core_job(w)->wait.pending, PENDING_UNCONFIRMED);
    assert_int_equal(w->migrates, 0);
    mark(w, "h1", "", 0, "");
    assert_int_equal(core_job(w)->phase, PHASE_FAILED);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "backup"));
    core_advance(w, 60000);
    assert_int_equal(w->migrates, 0);
    core_free(w);
}

/* A definition of another node says nothing about it. */
static void a_waiting_job_is_not_failed_by_a_node_that_does_not_own_its_guest(void **state)
{
    (void)state;
    struct core_world *w = waiting();
    fleet_apply_observation(w->fleet, core_node(w, "h2"), CORE_GUEST, &CORE_INCOMING);
    mark(w, "h2", "", 0, "");
    assert_int_equal(core_job(w)->phase, PHASE_PENDING);
    core_free(w);
}

/* The hook on a host refuses what carries an older epoch. */
static void the_epoch_of_a_job_never_goes_back(void **state)
{
    (void)state;
    struct core_world *w = waiting();
    core_job(w)->epoch = 7;
    runs_on_hosts(w);
    mark(w, "h1", OURS, 4, core_job(w)->uid); /* of epoch 2 */
    assert_int_equal(core_job(w)->phase, PHASE_RUNNING);
    assert_int_equal(core_job(w)->epoch, 8);
    core_free(w);
}

static void a_waiting_job_whose_guest_is_never_seen_fails_at_its_deadline(void **state)
{
    (void)state;
    struct core_world *w = waiting();
    core_advance(w, 901000);
    assert_int_equal(core_job(w)->phase, PHASE_FAILED);
    assert_int_equal(w->migrates, 0);
    core_free(w);
}

static void a_waiting_job_that_was_begun_after_the_backup_is_adopted(void **state)
{
    (void)state;
    struct core_world *w = waiting();
    runs_on_hosts(w);
    mark(w, "h1", OURS, 4, core_job(w)->uid);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_true(core_job(w)->adopted);
    assert_false(core_job(w)->unconfirmed);
    assert_int_equal(w->migrates, 0);
    arrives_on_hosts(w);
    core_advance(w, 5000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    core_clean(w);
    core_free(w);
}

TEST_FILE(test_orphans)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_call_carries_the_mark_and_the_end_clears_it),
        cmocka_unit_test(a_mark_that_goes_is_not_cleared_again),
        cmocka_unit_test(a_mark_is_not_cleared_on_a_host_that_is_only_read_or_not_connected),
        cmocka_unit_test(the_mark_of_an_earlier_job_of_the_guest_is_over),
        cmocka_unit_test(the_mark_of_a_guest_that_is_between_hosts_is_kept),
        cmocka_unit_test(the_mark_of_an_ended_job_is_kept_while_its_guest_is_between_hosts),
        cmocka_unit_test(an_old_mark_is_not_cleared_beside_an_active_job),
        cmocka_unit_test(a_mark_is_cleared_only_where_the_guest_is),
        cmocka_unit_test(the_mark_of_a_domain_that_is_not_up_makes_no_orphan),
        cmocka_unit_test(an_orphan_that_is_broken_in_post_copy_is_adopted_in_that_mode),
        cmocka_unit_test(an_adopted_persistent_guest_stays_persistent),
        cmocka_unit_test(a_waiting_job_is_not_failed_by_a_node_that_does_not_own_its_guest),
        cmocka_unit_test(the_epoch_of_a_job_never_goes_back),
        cmocka_unit_test(an_orphan_is_reported_and_not_touched),
        cmocka_unit_test(a_drain_neither_moves_nor_shuts_down_an_orphan),
        cmocka_unit_test(an_adopted_orphan_is_followed_to_its_end),
        cmocka_unit_test(an_adopted_job_keeps_its_mark_over_a_restart_and_clears_it_at_the_end),
        cmocka_unit_test(an_adopted_job_from_a_backup_is_confirmed_by_the_mark_it_was_adopted_from),
        cmocka_unit_test(only_an_orphan_between_two_known_nodes_is_adopted),
        cmocka_unit_test(a_running_job_gets_no_order_before_its_mark_is_seen),
        cmocka_unit_test(a_job_that_ended_meanwhile_is_resolved_without_an_order),
        cmocka_unit_test(a_waiting_job_without_a_mark_is_not_begun),
        cmocka_unit_test(a_waiting_job_whose_guest_is_never_seen_fails_at_its_deadline),
        cmocka_unit_test(a_waiting_job_that_was_begun_after_the_backup_is_adopted),
    };
    return cmocka_run_group_tests_name("orphans", tests, NULL, NULL);
}
