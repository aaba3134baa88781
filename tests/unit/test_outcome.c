/* test_outcome.c - how it ended is read from both hosts, and nothing is done to a guest on one of
 * them while the other has not said that it is not there. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/order.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

#define LEGACY_PAUSES                                                             \
    "{\"selectors\":{},\"allowPostCopy\":false,\"allowWorkloadDisruption\":true," \
    "\"monitor\":\"legacy\",\"completionTimeoutPerGiB\":10}"

/* KubeVirt's own algorithm wants to pause the guest to finish. */
static struct core_world *asked_to_stop(void)
{
    struct core_world *w = core_flowing(LEGACY_PAUSES, false);
    for (int i = 0; i < 100 && core_orders(w, HV_CALL_SUSPEND) == 0; i++)
        core_flow(w, 400);
    assert_int_equal(core_orders(w, HV_CALL_SUSPEND), 1);
    return w;
}

static struct core_world *stopped_by_us(void)
{
    struct core_world *w = asked_to_stop();
    core_answers(w, HV_CALL_SUSPEND, ERR_NONE);
    assert_true(core_job(w)->monitor.stopped_by_us);
    return w;
}

/* The call comes back with an error, the source has no job any more, and they look like that. */
static void ends(struct core_world *w, struct hv_observation source, struct hv_observation target)
{
    w->job_type = HV_JOB_NONE;
    core_breaks(w, source, target);
}

/* The target may run it: what we stopped stays stopped until the target was asked. */
static void what_we_stopped_runs_again_only_when_the_target_is_proven_empty(void **state)
{
    (void)state;
    static const struct {
        const struct hv_observation *target;
        bool resumes;
    } rows[] = {{&CORE_BLIND, false}, {&CORE_INCOMING, false}, {&CORE_ABSENT, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = stopped_by_us();
        ends(w, CORE_SUSPENDED, *rows[i].target);
        core_advance(w, 30000);
        assert_int_equal(core_orders(w, HV_CALL_RESUME) > 0, rows[i].resumes);
        core_expect(w, PHASE_RUNNING, OUTCOME_NONE, core_job(w)->resolution.guest_at);
        if (!rows[i].resumes)
            assert_int_equal(core_job(w)->wait.pending, PENDING_UNPROVEN);
        w->target = CORE_ABSENT; /* it answers */
        core_advance(w, 3000);
        core_answers(w, HV_CALL_RESUME, ERR_NONE);
        w->source = CORE_RUNS;
        core_advance(w, 3000);
        core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
        core_free(w);
    }
}

/* The target never comes back: an operator override resumes the guest, it does not only end the
 * job. */
static void a_guest_that_ferry_paused_is_resumed_by_an_operator_override(void **state)
{
    (void)state;
    struct core_world *w = stopped_by_us();
    ends(w, CORE_SUSPENDED, CORE_BLIND);
    core_advance(w, 30000);
    assert_non_null(strstr(core_job(w)->wait.reason, "Ferry paused the guest"));
    assert_int_equal(core_orders(w, HV_CALL_RESUME), 0);
    assert_true(core_override(w, RESOLVE_ON_SOURCE));
    assert_int_equal(core_orders(w, HV_CALL_RESUME), 1);
    unsigned stand = 0; /* the shell asks once the turn is committed: the job has ended by then */
    for (size_t i = 0; i < w->fx.n; i++)
        stand += w->fx.list[i].kind == EFFECT_DO_TUNE && order_stands(core_job(w), &w->fx.list[i]);
    assert_int_equal(stand, 1);
    core_answers(w, HV_CALL_RESUME, ERR_NONE);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

/* An order to pause that the host refused paused no guest: a paused one was paused by its
 * user, also in the eyes of the next process. One whose answer got lost may have been ours. */
static void a_refused_pause_is_not_taken_back_after_a_restart(void **state)
{
    (void)state;
    static const struct {
        enum err_code answer;
        bool ours;
    } rows[] = {{ERR_HYPERVISOR, false}, {ERR_UNREACHABLE, true}, {ERR_NONE, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = asked_to_stop();
        core_answers(w, HV_CALL_SUSPEND, rows[i].answer);
        assert_int_equal(core_job(w)->monitor.stopped_by_us, rows[i].ours);
        w->source = CORE_SUSPENDED;
        w->target = CORE_ABSENT;
        w->job_type = HV_JOB_NONE;
        core_restart(w, 5000);
        assert_int_equal(core_job(w)->monitor.stopped_by_us, rows[i].ours);
        core_advance(w, 5000);
        assert_int_equal(core_orders(w, HV_CALL_RESUME) > 0, rows[i].ours);
        core_free(w);
    }
}

/* What the target says of the copy that comes in: it is transient until it has arrived. */
static void lists_incoming(struct core_world *w)
{
    struct hv_guest copy = core_guest(w, "g1")->is;
    copy.persistent = false;
    copy.state = HV_STATE_PAUSED;
    copy.reason = HV_PAUSED_MIGRATION;
    struct hv_guest_list list = {.guests = &copy, .n = 1};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, "h2");
    core_feed(w, &input);
}

static bool shown_persistent(struct core_world *w)
{
    return fleet_guest(w->fleet, CORE_GUEST)->persistent;
}

/* Nothing happens on the source when a migration is aborted, so nobody lists it again. */
static void a_persistent_guest_moves_with_its_definition_after_an_abort(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_guest(w, "g1")->is.persistent = w->source.persistent = true;
    core_list(w, "h1");
    core_create(w);
    assert_true((w->last.flags & HV_MIGRATE_PERSIST) != 0);
    core_sample(w);
    w->target = CORE_INCOMING;
    lists_incoming(w);
    assert_true(shown_persistent(w));
    core_cancel(w);
    core_advance(w, 300);
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 1000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);

    core_create(w);
    assert_int_equal(w->migrates, 2);
    assert_true((w->last.flags & HV_MIGRATE_PERSIST) != 0);
    core_free(w);
}

/* Whoever undefined it, or defined it, did so after it was last listed. */
static void what_the_source_says_at_the_call_decides(void **state)
{
    (void)state;
    for (int is = 0; is < 2; is++) {
        struct core_world *w = core_new();
        core_guest(w, "g1")->is.persistent = is == 0;
        core_list(w, "h1");
        w->source.persistent = is == 1;
        core_create(w);
        assert_int_equal((w->last.flags & HV_MIGRATE_PERSIST) != 0, is == 1);
        assert_int_equal(shown_persistent(w), is == 1);
        core_free(w);
    }
}

static const struct hv_observation TAKEN_BACK = {
    HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_UNPAUSED, false, false, -1, 0, 0};

/* ---- was the switch-over reached? ---- */

static void stops_to_switch(struct core_world *w)
{
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_MIGRATED);
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_RESUMED, 1);
}
static void is_seen_switching(struct core_world *w)
{
    w->source = CORE_SWITCHING;
    core_stall(w, 6000);
    w->source = CORE_RUNS;
    core_stall(w, 2000);
}
static void target_lets_it_run(struct core_world *w)
{
    core_lifecycle_event(w, "h2", HV_LIFECYCLE_RESUMED, 1);
}
static void only_copies(struct core_world *w)
{
    core_flow(w, 2000);
}

/* libvirt takes the guest back to the source when the target's last answer is lost, although the
 * target may run it by then. */
static void a_source_that_runs_is_no_proof_once_the_switch_over_was_seen(void **state)
{
    (void)state;
    static const struct {
        void (*before)(struct core_world *);
        bool open;
    } rows[] = {{stops_to_switch, true},
                {is_seen_switching, true},
                {target_lets_it_run, true},
                {only_copies, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_flowing(NULL, false);
        rows[i].before(w);
        ends(w, TAKEN_BACK, CORE_BLIND);
        core_advance(w, 100000);
        if ((core_job(w)->phase == PHASE_RUNNING) != rows[i].open)
            fail_msg("row %zu: %s", i, phase_name(core_job(w)->phase));
        if (rows[i].open) {
            assert_int_equal(core_job(w)->wait.pending, PENDING_UNPROVEN);
            assert_int_equal(core_count_events(w, "OutcomeUnknown", "h2"), 1);
            assert_false(core_job(w)->queue.holds_slot);
            w->target = i % 2 == 0 ? CORE_ABSENT : CORE_ARRIVED; /* it is seen again */
            core_advance(w, 5000);
        }
        bool split = rows[i].open && i % 2 == 1;
        core_expect(w, split ? PHASE_RUNNING : PHASE_FAILED, split ? OUTCOME_NONE : OUTCOME_FAILED,
                    GUEST_AT_SOURCE);
        assert_int_equal(core_count_events(w, "Split", "both"), split ? 1 : 0);
        core_free(w);
    }
}

/* Nobody watched: whether it stopped meanwhile is told by the state alone. */
static void what_happened_unseen_is_read_from_the_sources_state(void **state)
{
    (void)state;
    static const struct {
        const struct hv_observation *source;
        bool open;
    } rows[] = {{&TAKEN_BACK, true}, {&CORE_RUNS, false}};
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        struct core_world *w = core_flowing(NULL, false);
        w->job_type = HV_JOB_NONE;
        w->source = *rows[i / 2].source;
        w->target = CORE_BLIND;
        if (i % 2 == 0)
            core_restart(w, 5000);
        else
            core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
        core_advance(w, 30000);
        assert_int_equal(core_job(w)->phase, rows[i / 2].open ? PHASE_RUNNING : PHASE_FAILED);
        core_free(w);
    }
}

static void an_override_ends_an_unresolved_migration(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    stops_to_switch(w);
    ends(w, TAKEN_BACK, CORE_BLIND);
    core_advance(w, 5000);
    assert_true(core_override(w, RESOLVE_ON_SOURCE));
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

/* ---- left standing on the source ---- */

static void nothing(struct core_world *w)
{
    (void)w;
}
static void target_was_away(struct core_world *w)
{
    core_connect(w, "h2", false);
    core_connect(w, "h2", true);
}
static void ran_there_once(struct core_world *w)
{
    w->target = CORE_ARRIVED;
    core_stall(w, 2000);
}
static void something_was_not_heard(struct core_world *w)
{
    core_feed(w, &(struct input){.kind = INPUT_MISSED});
}
static void nobody_watched(struct core_world *w)
{
    w->target = CORE_ABSENT;
    core_restart(w, 1000);
}
static void its_user_paused_it(struct core_world *w)
{
    w->source = CORE_SUSPENDED;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_PAUSED);
    w->source = CORE_SWITCHING;
}

/* libvirt leaves it so when it does not know whether the target got it. Ferry does know where it
 * watched the target all the time, and asked both sides and the source's job again. */
static void a_guest_left_standing_runs_again_when_the_target_never_had_it(void **state)
{
    (void)state;
    static const struct {
        void (*before)(struct core_world *);
        int job_type;
        bool resumes;
    } rows[] = {{nothing, HV_JOB_NONE, true},
                {nothing, HV_JOB_UNBOUNDED, false},
                {target_was_away, HV_JOB_NONE, false},
                {ran_there_once, HV_JOB_NONE, false},
                {nobody_watched, HV_JOB_NONE, false},
                {its_user_paused_it, HV_JOB_NONE, false},
                {something_was_not_heard, HV_JOB_NONE, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_flowing(NULL, false);
        w->source = CORE_SWITCHING;
        core_stall(w, 1200);
        rows[i].before(w);
        w->job_type = rows[i].job_type;
        w->target = CORE_ABSENT;
        if (order_is_out(core_job(w), ORDER_MIGRATE))
            core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        core_advance(w, 9000);
        assert_int_equal(core_orders(w, HV_CALL_RESUME), 0); /* it may still settle by itself */
        core_advance(w, 20000);
        if ((core_orders(w, HV_CALL_RESUME) > 0) != rows[i].resumes)
            fail_msg("row %zu: %u orders", i, core_orders(w, HV_CALL_RESUME));
        assert_int_equal(core_intents(w, "resume"), rows[i].resumes ? 1 : 0);
        core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
        if (!rows[i].resumes) {
            assert_int_equal(core_count_events(w, "Unfinished", "is paused on the source"), 1);
            assert_int_equal(core_count_events(w, "Unfinished", "Neither"), 0);
            core_free(w);
            continue;
        }
        assert_int_equal(core_count_events(w, "LeftStanding", "h1"), 1);
        core_answers(w, HV_CALL_RESUME, ERR_NONE);
        w->source = TAKEN_BACK;
        core_advance(w, 3000);
        core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
        core_free(w);
    }
}

static void who_has_taken_it_over_is_told_truly(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    ends(w, CORE_SWITCHING, CORE_ARRIVED);
    core_advance(w, 15000);
    assert_int_equal(core_count_events(w, "Unfinished", "target has the guest"), 1);
    assert_int_equal(core_count_events(w, "Unfinished", "Neither"), 0);
    core_free(w);
}

/* ---- definitions ---- */

static const struct hv_observation LEFT_DEFINED = {
    HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_MIGRATED, true, false, -1, 0, 0};

/* It moved, so it succeeded; what it left behind is told if it stays so. */
static void a_definition_left_behind_or_lost_is_told_and_the_move_still_succeeded(void **state)
{
    (void)state;
    static const struct {
        bool persistent, left, defined, mended;
        unsigned stale, missing;
    } rows[] = {
        {true, false, true, false, 0, 0},  {true, true, true, false, 1, 0},
        {true, false, false, false, 0, 1}, {true, true, false, false, 1, 1},
        {true, true, false, true, 0, 0},   {false, false, false, false, 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        w->source.persistent = rows[i].persistent;
        core_create(w);
        core_sample(w);
        w->source = rows[i].left ? LEFT_DEFINED : CORE_ABSENT;
        w->target = CORE_ARRIVED;
        w->target.persistent = rows[i].defined;
        core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
        core_advance(w, 3000);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        assert_int_equal(core_count_events(w, "DefinitionLeft", NULL),
                         0); /* the hosts may be slow */
        assert_int_equal(core_count_events(w, "DefinitionMissing", NULL), 0);
        if (rows[i].mended) {
            w->source = CORE_ABSENT;
            w->target.persistent = true;
        }
        core_advance(w, 60000);
        assert_int_equal(core_count_events(w, "DefinitionLeft", "h1"), rows[i].stale);
        assert_int_equal(core_count_events(w, "DefinitionMissing", "h2"), rows[i].missing);
        core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
        core_free(w);
    }
}

/* ---- running on two nodes ---- */

/* h2 says that it runs g1 as well. */
static void lists(struct core_world *w, struct hv_guest *guest)
{
    struct hv_guest_list list = {.guests = guest, .n = 1};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, "h2");
    core_feed(w, &input);
}

static void lists_running(struct core_world *w)
{
    struct hv_guest copy = core_guest(w, "g1")->is;
    lists(w, &copy);
}

/* Lists are of different moments: only what both nodes say again, twice, is told, and once. */
static void a_guest_listed_as_running_twice_is_told_when_both_nodes_say_it_again(void **state)
{
    (void)state;
    const struct hv_observation *const observed[] = {&CORE_ARRIVED, &CORE_ABSENT, &CORE_BLIND};
    for (size_t i = 0; i < COUNT(observed); i++) {
        struct core_world *w = core_new();
        w->target = *observed[i];
        lists_running(w);
        core_advance(w, 60000);
        assert_int_equal(core_count_events(w, "Split", "both h1 and h2"), i == 0 ? 1 : 0);
        assert_true(w->observations <= 20);
        if (i == 2) { /* it can be asked again */
            w->target = CORE_ARRIVED;
            core_advance(w, 15000);
            assert_int_equal(core_count_events(w, "Split", "both h1 and h2"), 1);
        }
        core_free(w);
    }
}

/* The last look at both sides, after the end, is one too. */
static void a_split_found_by_a_late_observation_is_reported(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    ends(w, CORE_RUNS, CORE_ABSENT);
    core_advance(w, 300);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    w->target = CORE_ARRIVED;
    core_advance(w, 10000);
    assert_int_equal(core_count_events(w, "Split", "both h1 and h2"),
                     2); /* of the guest, of the job */
    const struct job *job = core_job(w);
    const struct incident *incident = incidents_find(&w->fleet->incidents, job->ns, job->name);
    assert_non_null(incident); /* somebody is paged, although the job is long over */
    assert_int_equal(incident->kind, INCIDENT_SPLIT);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_connect(w, "h2", false);
    core_advance(w, 60000);
    assert_non_null(incidents_find(&w->fleet->incidents, job->ns, job->name));
    core_connect(w, "h2", true);
    struct hv_guest stands = core_guest(w, "g1")->is;
    stands.state = HV_STATE_PAUSED;
    lists(w, &stands);
    core_advance(w, 60000); /* it may run again: not over */
    assert_non_null(incidents_find(&w->fleet->incidents, job->ns, job->name));
    core_list(w, "h2"); /* somebody stopped that copy */
    core_advance(w, 5000);
    assert_non_null(incidents_find(&w->fleet->incidents, job->ns, job->name));
    core_advance(w, 6000);
    assert_null(incidents_find(&w->fleet->incidents, job->ns, job->name));
    assert_int_equal(w->fleet->incidents.totals.closed[INCIDENT_END_SETTLED], 1);
    lists_running(w); /* and started it again */
    core_advance(w, 10000);
    assert_int_equal(core_count_events(w, "Split", "both h1 and h2"), 4);
    assert_non_null(incidents_find(&w->fleet->incidents, job->ns, job->name));
    core_free(w);
}

/* Not of the newest, which went elsewhere and had nothing to do with it. */
static void a_split_is_reported_for_the_job_between_its_two_nodes(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    const char *const targets[] = {"h2", "h3"};
    char names[COUNT(targets)][JOB_NAME_MAX];
    for (size_t i = 0; i < COUNT(targets); i++) {
        const struct core_request request = {.target = targets[i]};
        struct job *job = core_ask(w, "g1", &request);
        TEXT_SET(names[i], job->name);
        TEXT_SET(w->job, job->uid);
        core_phase(w, "g1", PHASE_TARGET_READY);
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        core_advance(w, 15000);
        core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    }
    w->target = CORE_ARRIVED;
    lists_running(w);
    core_advance(w, 10000);
    const struct incident *incident = incidents_find(&w->fleet->incidents, "default", names[0]);
    assert_non_null(incident);
    assert_int_equal(incident->kind, INCIDENT_SPLIT);
    assert_null(incidents_find(&w->fleet->incidents, "default", names[1]));
    core_free(w);
}

/* One of the two is paused: an operator must check it, but nothing is written twice. */
static void a_copy_that_stands_still_is_no_split(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    w->source = CORE_SUSPENDED;
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    core_advance(w, 5000);
    assert_false(phase_is_final(core_job(w)->phase));
    assert_null(incidents_find(&w->fleet->incidents, "default", core_job(w)->name));
    core_free(w);
}

TEST_FILE(test_outcome)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_we_stopped_runs_again_only_when_the_target_is_proven_empty),
        cmocka_unit_test(a_guest_that_ferry_paused_is_resumed_by_an_operator_override),
        cmocka_unit_test(a_refused_pause_is_not_taken_back_after_a_restart),
        cmocka_unit_test(a_persistent_guest_moves_with_its_definition_after_an_abort),
        cmocka_unit_test(what_the_source_says_at_the_call_decides),
        cmocka_unit_test(a_source_that_runs_is_no_proof_once_the_switch_over_was_seen),
        cmocka_unit_test(what_happened_unseen_is_read_from_the_sources_state),
        cmocka_unit_test(an_override_ends_an_unresolved_migration),
        cmocka_unit_test(a_guest_left_standing_runs_again_when_the_target_never_had_it),
        cmocka_unit_test(who_has_taken_it_over_is_told_truly),
        cmocka_unit_test(a_definition_left_behind_or_lost_is_told_and_the_move_still_succeeded),
        cmocka_unit_test(a_split_is_reported_for_the_job_between_its_two_nodes),
        cmocka_unit_test(a_guest_listed_as_running_twice_is_told_when_both_nodes_say_it_again),
        cmocka_unit_test(a_copy_that_stands_still_is_no_split),
        cmocka_unit_test(a_split_found_by_a_late_observation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
