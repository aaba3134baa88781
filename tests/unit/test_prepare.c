/* test_prepare.c - the target launcher: from a promised place to one that is known to suit, given
 * back on every way out; see engine/control/scheduling/ and launcher.def. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/core_world.h"

enum { MIB = 1024 * 1024 };

static void see_cpu(struct core_world *w, const char *guest, uint64_t hash)
{
    core_guest(w, guest)->facts.requirements.cpu_hash = hash;
    core_define(w, guest);
}

/* ---- ways to where a job can be ---- */

static void waits(struct core_world *w)
{
    core_connect(w, "h2", false);
    assert_non_null(core_ask(w, "g1", NULL));
}

static void is_scheduling(struct core_world *w)
{
    see_cpu(w, "g1", 7);
    w->loses.cpus = true;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void is_between_nodes(struct core_world *w)
{
    is_scheduling(w);
    core_connect(w, "h2", false);
    core_advance(w, 1100);
}

static void is_preparing(struct core_world *w)
{
    w->target = CORE_BLIND;
    assert_non_null(core_ask(w, "g1", NULL));
}

static void is_called(struct core_world *w)
{
    assert_non_null(core_ask(w, "g1", NULL));
}

static void runs(struct core_world *w)
{
    TEXT_SET(w->job, core_ask(w, "g1", NULL)->uid);
    core_sample(w);
}

static const struct {
    void (*to)(struct core_world *);
    enum phase phase;
    enum launcher launcher;
    const char *target;
} places[] = {
    {waits, PHASE_PENDING, LAUNCHER_NONE, ""},
    {is_scheduling, PHASE_SCHEDULING, LAUNCHER_SCHEDULED, "h2"},
    {is_between_nodes, PHASE_SCHEDULING, LAUNCHER_PENDING, ""},
    {is_preparing, PHASE_PREPARING_TARGET, LAUNCHER_PREPARED, "h2"},
    {is_called, PHASE_TARGET_READY, LAUNCHER_READY, "h2"},
    {runs, PHASE_RUNNING, LAUNCHER_READY, "h2"},
};

static void the_launcher_is_as_far_as_its_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(places); i++) {
        struct core_world *w = core_new();
        places[i].to(w);
        core_phase(w, "g1", places[i].phase);
        const struct job *job = core_job_of(w, "g1");
        assert_string_equal(launcher_name(job->placement.launcher),
                            launcher_name(places[i].launcher));
        assert_string_equal(job->target, places[i].target);
        bool promised = places[i].target[0] != '\0';
        assert_int_equal(job->placement.reserved, promised);
        assert_int_equal(core_node(w, "h2")->reserved.memory_kib, promised ? 64 * 1024 : 0);
        assert_int_equal(core_node(w, "h2")->inbound, promised);
        assert_int_equal(job->placement.launcher == LAUNCHER_NONE,
                         job->placement.launcher_since_ms == 0);
        core_ledger(w);
        core_free(w);
    }
}

/* ---- ways out ---- */

static void is_cancelled(struct core_world *w)
{
    core_abort_asked(w, "g1");
    if (core_guest(w, "g1")->migrate_id != 0) {
        core_returns(w, HV_CALL_ABORT, ERR_NONE);
        core_fails(w, "g1");
    }
}

static void takes_too_long(struct core_world *w)
{
    if (core_guest(w, "g1")->migrate_id != 0)
        core_fails(w, "g1");
    for (int i = 0; i < 400 && !phase_is_final(core_job_of(w, "g1")->phase); i++) {
        w->now.mono_ms += 1000;
        w->now.wall_ms += 1000;
        core_settle(w);
    }
}

static void guest_is_gone(struct core_world *w)
{
    w->source = w->target = CORE_ABSENT;
    core_guest(w, "g1")->host[0] = '\0';
    core_list(w, "h1");
    if (core_guest(w, "g1")->migrate_id != 0)
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    for (int i = 0; i < 1000 && fleet_active_job(w->fleet, CORE_GUEST) != NULL; i++) {
        w->now.mono_ms += 1000;
        w->now.wall_ms += 1000;
        core_settle(w);
    }
}

static void arrives(struct core_world *w)
{
    w->loses.cpus = false;
    w->target = CORE_ABSENT;
    core_connect(w, "h2", true);
    core_list(w, "h2");
    for (int i = 0; i < 80 && core_guest(w, "g1")->migrate_id == 0; i++)
        core_advance(w, 1000);
    core_arrives(w, "g1");
}

static void (*const ways_out[])(struct core_world *) = {is_cancelled, takes_too_long, guest_is_gone,
                                                        arrives};

static void whatever_the_way_out_nothing_stays_promised(void **state)
{
    (void)state;
    for (size_t from = 0; from < COUNT(places); from++)
        for (size_t out = 0; out < COUNT(ways_out); out++) {
            struct core_world *w = core_new();
            w->fleet->config.bandwidth_per_node = 100 * MIB;
            w->fleet->config.parallel_inbound_per_node = 1;
            places[from].to(w);
            char uid[JOB_UID_MAX];
            TEXT_SET(uid, core_job_of(w, "g1")->uid);
            ways_out[out](w);
            const struct job *job = fleet_job(w->fleet, uid);
            assert_non_null(job);
            if (!phase_is_final(job->phase))
                fail_msg("from %s by way %zu: %s", phase_name(places[from].phase), out,
                         phase_name(job->phase));
            bool moved = job->result.outcome == OUTCOME_SUCCEEDED;
            assert_int_equal(moved, ways_out[out] == arrives);
            assert_true(
                job->placement.launcher ==
                (moved ? LAUNCHER_GONE
                       : (places[from].phase == PHASE_PENDING ? LAUNCHER_NONE : LAUNCHER_FAILED)));
            core_clean(w);
            core_free(w);
        }
}

/* ---- the CPU ---- */

static void a_cpu_is_compared_once_for_a_node(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_add_guests(w, "h1", 2, 4);
    see_cpu(w, "g1", 7);
    see_cpu(w, "g2", 7);
    see_cpu(w, "g3", 8);
    struct core_request to_h2 = {.target = "h2"}, to_h3 = {.target = "h3"};
    assert_non_null(core_ask(w, "g1", &to_h2));
    assert_int_equal(w->compares, 1);
    assert_non_null(core_ask(w, "g2", &to_h2)); /* the same CPU: known */
    assert_int_equal(w->compares, 1);
    core_phase(w, "g2", PHASE_TARGET_READY);
    assert_non_null(core_ask(w, "g3", &to_h2)); /* another */
    assert_int_equal(w->compares, 2);
    core_fails(w, "g1");
    assert_non_null(core_ask(w, "g1", &to_h2)); /* still known */
    assert_int_equal(w->compares, 2);
    core_fails(w, "g1");
    assert_non_null(core_ask(w, "g1", &to_h3)); /* another node */
    assert_int_equal(core_host(w, "h3")->compares, 1);
    assert_non_null(core_ask(w, "g4", &to_h2)); /* its CPU is not known: nothing to compare */
    assert_int_equal(w->compares, 3);
    core_phase(w, "g4", PHASE_TARGET_READY);
    core_free(w);
}

static void a_node_that_changed_is_asked_again(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    see_cpu(w, "g1", 7);
    assert_non_null(core_ask(w, "g1", NULL));
    core_fails(w, "g1");
    for (unsigned i = 0; i < 2; i++) {
        struct hv_capabilities *capabilities = calloc(1, sizeof *capabilities);
        assert_non_null(capabilities);
        capabilities->networks_known = true; /* twice the same */
        hv_capabilities_seal(capabilities);
        core_able(w, "h2", capabilities);
    }
    assert_non_null(core_ask(w, "g1", NULL));
    assert_int_equal(w->compares, 2);
    core_free(w);
}

static void a_node_without_the_cpu_is_given_back_and_another_tried(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_host(w, "h2")->comparison = 0; /* incompatible */
    see_cpu(w, "g1", 7);
    core_add_guests(w, "h1", 2, 2);
    see_cpu(w, "g2", 7);
    assert_non_null(core_ask(w, "g1", NULL));
    core_advance(w, 1100);
    core_phase(w, "g1", PHASE_TARGET_READY);
    assert_string_equal(core_job_of(w, "g1")->target, "h3");
    assert_int_equal(core_node(w, "h2")->reserved.launchers + core_node(w, "h2")->inbound, 0);
    unsigned told = core_count_events(w, "TargetRejected", "h2 cannot provide the CPU");
    assert_int_equal(told, core_host(w, "h2")->compares);
    assert_non_null(core_ask(w, "g2", NULL)); /* it is known now: not even tried */
    assert_string_equal(core_job_of(w, "g2")->target, "h3");
    assert_int_equal(core_host(w, "h2")->compares, told);
    core_ledger(w);
    core_free(w);
}

static void no_node_with_the_cpu_is_the_end(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_host(w, "h2")->comparison = 0;
    see_cpu(w, "g1", 7);
    assert_non_null(core_ask(w, "g1", NULL));
    core_phase(w, "g1", PHASE_FAILED);
    assert_non_null(strstr(core_job_of(w, "g1")->result.failure_reason,
                           "no node can ever take the guest: 0/2 nodes are available: 1 cpu"));
    assert_int_equal(w->migrates, 0);
    core_clean(w);
    core_free(w);
}

static void a_cpu_that_cannot_be_compared_is_libvirt_s_to_judge(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_host(w, "h2")->unasked = ERR_HYPERVISOR;
    see_cpu(w, "g1", 7);
    assert_non_null(core_ask(w, "g1", NULL));
    core_phase(w, "g1", PHASE_TARGET_READY);
    assert_int_equal(w->compares, 1);
    assert_int_equal(core_count_events(w, "CPUNotCompared", "h2"), 1);
    core_free(w);
}

static void a_node_that_could_not_be_asked_is_passed_over(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    core_host(w, "h2")->unasked = ERR_UNREACHABLE;
    see_cpu(w, "g1", 7);
    assert_non_null(core_ask(w, "g1", NULL));
    core_advance(w, 1100);
    core_phase(w, "g1", PHASE_TARGET_READY);
    assert_string_equal(core_job_of(w, "g1")->target, "h3");
    assert_true(core_host(w, "h2")->compares <= 1);
    core_ledger(w);
    core_free(w);
}

static void a_lost_answer_about_a_cpu_is_asked_for_again(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    is_scheduling(w);
    core_advance(w, 29000);
    assert_int_equal(w->compares, 1);
    w->loses.cpus = false;
    core_advance(w, 2100);
    assert_int_equal(w->compares, 2);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* ---- a target that is lost ---- */

static void before_hand_off_a_lost_or_closed_target_is_replaced(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        struct core_world *w = core_new();
        core_add_host(w, "h3");
        is_scheduling(w);
        char first[HV_HOST_MAX];
        TEXT_SET(first, core_job_of(w, "g1")->target);
        if (how == 0)
            core_connect(w, first, false);
        else
            assert_true(core_put(w, OBJECT_NODE, first, "{\"unschedulable\":true}"));
        w->loses.cpus = false;
        core_advance(w, 1100);
        core_phase(w, "g1", PHASE_TARGET_READY);
        assert_string_not_equal(core_job_of(w, "g1")->target, first);
        assert_int_equal(core_node(w, first)->reserved.launchers, 0);
        assert_int_equal(core_node(w, first)->inbound, 0);
        core_ledger(w);
        core_free(w);
    }
}

static void after_hand_off_the_job_belongs_to_its_target(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_host(w, "h3");
    w->target = CORE_BLIND;
    assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h2"}));
    core_phase(w, "g1", PHASE_PREPARING_TARGET);
    core_connect(w, "h2", false);
    core_advance(w, 59000);
    core_phase(w, "g1", PHASE_PREPARING_TARGET);
    assert_string_equal(core_job_of(w, "g1")->target, "h2");
    core_waits(w, "g1", PENDING_TARGET_SILENT);
    core_advance(w, 2000);
    core_phase(w, "g1", PHASE_FAILED);
    assert_int_equal(w->migrates, 0);
    core_clean(w);
    core_free(w);
}

/* The last look before the call finds what placement could not know. */
static void the_last_observation_decides(void **state)
{
    (void)state;
    static const struct {
        struct hv_observation source, target;
        const char *says;
    } rows[] = {
        {{HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, false, false, -1, 0, 0},
         {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, false, false, -1, 0, 0},
         "node h2 already has an active guest with this UUID"},
        {{HV_ABSENT, 0, 0, false, false, -1, 0, 0},
         {HV_ABSENT, 0, 0, false, false, -1, 0, 0},
         "the guest no longer runs on h1"},
        {{HV_PRESENT, HV_STATE_SHUTOFF, 0, false, false, -1, 0, 0},
         {HV_ABSENT, 0, 0, false, false, -1, 0, 0},
         "the guest no longer runs on h1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        w->source = rows[i].source;
        w->target = rows[i].target;
        w->job_type = HV_JOB_NONE;
        assert_non_null(core_ask(w, "g1", NULL));
        core_phase(w, "g1", PHASE_FAILED);
        assert_non_null(strstr(core_job_of(w, "g1")->result.failure_reason, rows[i].says));
        assert_int_equal(w->migrates, 0);
        core_clean(w);
        core_free(w);
    }
}

static void a_target_with_a_domain_of_that_name_is_waited_for(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct core_guest *twin = core_add_guest(w, "twin", "h2", 64);
    TEXT_SET(twin->is.name, "g1");
    TEXT_SET(twin->is.ns, "elsewhere");
    core_list(w, "h2");
    assert_non_null(core_ask(w, "g1", NULL));
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    assert_non_null(strstr(core_job_of(w, "g1")->wait.reason, "name-taken"));
    assert_int_equal(w->migrates, 0);
    core_free(w);
}

/* What its host said when the job came may be long ago: it is asked once more before hand-off. */
static void a_backup_that_began_while_it_waited_is_seen_before_hand_off(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    waits(w);
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_BACKUP;
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_settle(w);
    core_waits(w, "g1", PENDING_BACKUP);
    assert_int_equal(core_job_of(w, "g1")->epoch, 0);
    w->job_type = HV_JOB_NONE;
    core_advance(w, 3100);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* ---- hand-off ---- */

/* Its definition is read, or changes, while it waits for a node. */
static void a_guest_that_turns_out_immovable_fails_before_any_call(void **state)
{
    (void)state;
    for (unsigned between = 0; between < 2; between++) {
        struct core_world *w = core_new();
        if (between == 0)
            waits(w);
        else
            is_between_nodes(w);
        struct migratable *migratable = &core_guest(w, "g1")->facts.migratable;
        migratable->known = true;
        migratable->rows |= UINT32_C(1) << UNMOVABLE_DISKS;
        core_define(w, "g1");
        core_connect(w, "h2", true);
        core_list(w, "h2");
        core_advance(w, 2000);
        core_phase(w, "g1", PHASE_FAILED);
        const struct job *job = core_job_of(w, "g1");
        assert_non_null(strstr(job->result.failure_reason, "Reason: DisksNotLiveMigratable"));
        assert_int_equal(core_guest(w, "g1")->migrate_id, 0);
        assert_int_equal(job->times.handed_off_ms, 0);
        assert_int_equal(core_node(w, "h2")->inbound, 0);
        core_ledger(w);
        core_free(w);
    }
}

static void a_policy_is_frozen_at_hand_off_and_not_before(void **state)
{
    (void)state;
    for (int handed_off = 0; handed_off < 2; handed_off++) {
        struct core_world *w = core_new();
        assert_true(core_put(w, OBJECT_POLICY, "p",
                             "{\"selectors\":{},\"bandwidthPerMigration\":\"64Mi\"}"));
        if (handed_off != 0)
            is_preparing(w);
        else
            is_scheduling(w);
        assert_true(core_put(w, OBJECT_POLICY, "p",
                             "{\"selectors\":{},\"bandwidthPerMigration\":\"32Mi\"}"));
        assert_true(core_put(w, OBJECT_POLICY, "a",
                             "{\"selectors\":{},\"bandwidthPerMigration\":\"16Mi\"}"));
        w->loses.cpus = false;
        w->target = CORE_ABSENT;
        core_advance(w, 32000); /* a lost answer is asked for again by then */
        core_phase(w, "g1", PHASE_TARGET_READY);
        assert_int_equal(w->last.bandwidth_mibs, handed_off != 0 ? 64 : 16);
        const struct job *job = core_job_of(w, "g1");
        assert_string_equal(job->request.policy, handed_off != 0 ? "p" : "a");
        assert_int_equal(job->call.config.bandwidth, handed_off != 0 ? 64 * MIB : 16 * MIB);
        core_free(w);
    }
}

static const char required[] = "{\"selectors\":{},\"requireTLS\":true}";

static void what_both_hosts_can_and_the_guest_is_reaches_the_call(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_node(w, "h1")->host.tls = core_node(w, "h2")->host.tls = true;
    core_guest(w, "g1")->is.persistent = w->source.persistent = true;
    core_list(w, "h1");
    assert_true(core_put(w, OBJECT_POLICY, "p",
                         "{\"selectors\":{},\"allowPostCopy\":true,\"parallelConnections\":4}"));
    is_called(w);
    assert_int_equal(w->last.flags, HV_MIGRATE_PERSIST | HV_MIGRATE_TLS | HV_MIGRATE_POSTCOPY);
    assert_int_equal(w->last.parallel_connections, 0);
    assert_int_equal(
        core_count_events(w, "SuccessfulHandOver",
                          "policy p. Note: parallel streams left out: post-copy is allowed"),
        1);
    core_free(w);
}

static void a_guest_its_user_pauses_after_hand_off_is_not_post_copied(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_true(core_put(w, OBJECT_POLICY, "p",
                         "{\"selectors\":{},\"allowPostCopy\":true,\"parallelConnections\":4}"));
    w->source = (struct hv_observation){.presence = HV_PRESENT,
                                        .state = HV_STATE_PAUSED,
                                        .reason = HV_PAUSED_USER,
                                        .job_type = HV_JOB_NONE};
    is_called(w);
    assert_int_equal(w->last.flags, HV_MIGRATE_PAUSED);
    assert_int_equal(w->last.parallel_connections, 4);
    core_free(w);
}

static void encryption_that_is_required_and_missing_fails_at_once(void **state)
{
    (void)state;
    static const struct {
        bool source, target;
        const char *detail;
    } rows[] = {
        {true, false, "h2 has no `tls: true` in the configuration"},
        {false, true, "the source h1 has no `tls: true` in the configuration"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        core_node(w, "h1")->host.tls = rows[i].source;
        core_node(w, "h2")->host.tls = rows[i].target;
        assert_true(core_put(w, OBJECT_POLICY, "p", required));
        const struct job *job = core_ask(w, "g1", NULL);
        assert_non_null(job);
        assert_int_equal(job->phase, PHASE_FAILED);
        assert_int_equal(w->migrates, 0);
        assert_int_equal(job->placement.rejections->counts[REJECT_TLS], 1);
        for (size_t n = 0; n < job->placement.rejections->n; n++)
            if (job->placement.rejections->list[n].why == REJECT_TLS)
                assert_string_equal(job->placement.rejections->list[n].detail, rows[i].detail);
        core_free(w);
    }
}

static void encryption_required_after_the_target_was_chosen_is_not_forgotten(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    is_scheduling(w);
    assert_true(core_put(w, OBJECT_POLICY, "p", required));
    w->loses.cpus = false;
    core_advance(w, 31000);
    const struct job *job = core_job_of(w, "g1");
    assert_int_equal(job->phase, PHASE_FAILED);
    assert_int_equal(w->migrates, 0);
    assert_non_null(strstr(job->result.failure_reason, "requireTLS"));
    core_free(w);
}

static void hand_off_counts_an_epoch_and_says_so(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_true(core_put(w, OBJECT_POLICY, "p", "{\"selectors\":{}}"));
    is_preparing(w);
    const struct job *job = core_job_of(w, "g1");
    assert_int_equal(job->epoch, 1);
    assert_true(job->times.handed_off_ms > 0);
    assert_int_equal(
        core_count_events(w, "SuccessfulHandOver",
                          "Migration target pod is ready for preparation: h1 to h2, epoch 1, "
                          "policy p."),
        1);
    assert_int_equal(
        core_count_events(w, "SuccessfulCreate", "Created migration target pod virt-launcher-"), 1);
    core_free(w);
}

TEST_FILE(test_prepare)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_launcher_is_as_far_as_its_job),
        cmocka_unit_test(whatever_the_way_out_nothing_stays_promised),
        cmocka_unit_test(a_cpu_is_compared_once_for_a_node),
        cmocka_unit_test(a_node_that_changed_is_asked_again),
        cmocka_unit_test(a_node_without_the_cpu_is_given_back_and_another_tried),
        cmocka_unit_test(no_node_with_the_cpu_is_the_end),
        cmocka_unit_test(a_cpu_that_cannot_be_compared_is_libvirt_s_to_judge),
        cmocka_unit_test(a_node_that_could_not_be_asked_is_passed_over),
        cmocka_unit_test(a_lost_answer_about_a_cpu_is_asked_for_again),
        cmocka_unit_test(before_hand_off_a_lost_or_closed_target_is_replaced),
        cmocka_unit_test(after_hand_off_the_job_belongs_to_its_target),
        cmocka_unit_test(the_last_observation_decides),
        cmocka_unit_test(a_target_with_a_domain_of_that_name_is_waited_for),
        cmocka_unit_test(a_backup_that_began_while_it_waited_is_seen_before_hand_off),
        cmocka_unit_test(a_guest_that_turns_out_immovable_fails_before_any_call),
        cmocka_unit_test(a_policy_is_frozen_at_hand_off_and_not_before),
        cmocka_unit_test(what_both_hosts_can_and_the_guest_is_reaches_the_call),
        cmocka_unit_test(a_guest_its_user_pauses_after_hand_off_is_not_post_copied),
        cmocka_unit_test(encryption_that_is_required_and_missing_fails_at_once),
        cmocka_unit_test(encryption_required_after_the_target_was_chosen_is_not_forgotten),
        cmocka_unit_test(hand_off_counts_an_epoch_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
