/* test_monitor_driver.c - the monitor at the helm: what it decides becomes an order, recorded
 * before it is given, and what the hosts answer becomes the mode, or the next wish. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/data/monitor.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

enum { STEP_MS = 400, MIB = 1 << 20 };

struct orders { /* what was asked of the source, and the newest order of each kind */
    unsigned n[HV_CALL_COUNT];
    uint64_t id[HV_CALL_COUNT], value[HV_CALL_COUNT];
    unsigned decisions, shadows;
};

static void count(const struct core_world *w, struct orders *out)
{
    *out = (struct orders){0};
    for (size_t i = 0; i < w->fx.n; i++) {
        const struct effect *effect = &w->fx.list[i];
        if (effect->kind == EFFECT_DECISION)
            effect->of.decision.shadow ? out->shadows++ : out->decisions++;
        if (effect->kind != EFFECT_DO_TUNE)
            continue;
        out->n[effect->of.act.call]++;
        out->id[effect->of.act.call] = effect->of.act.id;
        out->value[effect->of.act.call] = effect->of.act.value;
    }
}

static void answer(struct core_world *w, enum hv_call call, uint64_t id, enum err_code code)
{
    struct input input = {.kind = INPUT_CALL, .id = id, .of.call = call};
    TEXT_SET(input.guest, CORE_GUEST);
    if (code != ERR_NONE)
        err_set(&input.err, code, "no");
    core_feed(w, &input);
    core_settle(w);
}

/* A guest that writes as fast as the link carries: passes that leave as much as they found. Every
 * order about downtime is taken. */
static void dirty(struct core_world *w, int64_t *elapsed_ms, int64_t until_ms)
{
    uint64_t told = 0;
    for (; *elapsed_ms < until_ms && core_job(w)->phase == PHASE_RUNNING; *elapsed_ms += STEP_MS) {
        uint64_t moved = (uint64_t)*elapsed_ms * 40 * MIB / 1000;
        uint64_t iteration = 1 + (uint64_t)*elapsed_ms / 1200;
        struct input input = {.kind = INPUT_SAMPLE};
        struct sample *sample = &input.of.sample;
        TEXT_SET(sample->job_uid, w->job);
        sample->seq = *elapsed_ms / STEP_MS;
        sample->stats = (struct hv_job_stats){.type = HV_JOB_UNBOUNDED,
                                              .operation = HV_OPERATION_MIGRATION_OUT,
                                              .data_total = 64 * MIB,
                                              .memory_total = 64 * MIB,
                                              .data_processed = moved,
                                              .memory_processed = moved,
                                              .data_remaining = 48 * MIB,
                                              .memory_remaining = 48 * MIB,
                                              .memory_iteration = iteration,
                                              .memory_page_size = 4096,
                                              .memory_dirty_rate = 11264};
        core_feed(w, &input);
        core_advance(w, STEP_MS);
        struct orders orders;
        count(w, &orders);
        if (orders.id[HV_CALL_SET_DOWNTIME] != told) {
            told = orders.id[HV_CALL_SET_DOWNTIME];
            answer(w, HV_CALL_SET_DOWNTIME, told, ERR_NONE);
        }
        if (orders.n[HV_CALL_START_POSTCOPY] + orders.n[HV_CALL_SUSPEND] > 0 ||
            core_job(w)->abort.asked)
            return;
    }
}

static struct core_world *begin(const char *policy)
{
    struct core_world *w = core_new();
    assert_true(core_put(w, OBJECT_POLICY, "p", policy));
    core_create(w);
    core_sample(w);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->target = CORE_INCOMING;
    return w;
}

/* Until the monitor asks for post-copy, whether it was ordered or not. */
static unsigned postcopy_orders(struct core_world *w, int64_t *elapsed_ms, int64_t until_ms)
{
    struct orders orders;
    dirty(w, elapsed_ms, until_ms);
    count(w, &orders);
    return orders.n[HV_CALL_START_POSTCOPY];
}

static void post_copy_is_not_ordered_while_the_targets_libvirtd_does_not_answer(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{},\"allowPostCopy\":true}");
    int64_t elapsed_ms = 0;
    w->loses.observations = true; /* questions hang */
    unsigned observations = w->observations;
    assert_int_equal(postcopy_orders(w, &elapsed_ms, 120000), 0);
    assert_true(w->observations > observations);
    assert_true(w->observations - observations <=
                1 + 120000 / 30000); /* one at a time, not one per sample */
    assert_int_equal(core_count_events(w, "PostCopyRefused", "libvirtd on h2 has not answered"), 1);
    assert_int_equal(core_job(w)->monitor.decision, DECISION_TARGET_SILENT);
    assert_int_equal(core_job(w)->mode, MODE_PRECOPY);

    w->loses.observations = false; /* it wakes up */
    assert_int_equal(postcopy_orders(w, &elapsed_ms, 240000), 1);
    core_free(w);
}

static void post_copy_is_not_ordered_at_a_target_that_is_unreachable(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{},\"allowPostCopy\":true}");
    int64_t elapsed_ms = 0;
    w->target = CORE_BLIND;
    assert_int_equal(postcopy_orders(w, &elapsed_ms, 120000), 0);
    assert_int_equal(core_count_events(w, "PostCopyRefused", "libvirtd on h2 is unreachable"), 1);
    w->target = CORE_INCOMING;
    assert_int_equal(postcopy_orders(w, &elapsed_ms, 240000), 1);
    core_free(w);
}

static void post_copy_is_not_ordered_on_an_answer_that_came_late(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{},\"allowPostCopy\":true}");
    int64_t elapsed_ms = 0;
    w->loses.observations = true;
    while (core_count_events(w, "PostCopyRefused", NULL) == 0 && elapsed_ms < 120000)
        (void)postcopy_orders(w, &elapsed_ms, elapsed_ms + STEP_MS);
    struct input late = {.kind = INPUT_OBSERVED, .of.observation = CORE_INCOMING};
    for (size_t i = 0; i < w->fx.n; i++) /* the newest question */
        if (w->fx.list[i].kind == EFFECT_DO_OBSERVE)
            late.id = w->fx.list[i].of.act.id;
    TEXT_SET(late.host, "h2");
    TEXT_SET(late.guest, CORE_GUEST);
    core_feed(w, &late);
    core_settle(w);
    struct orders orders;
    count(w, &orders);
    assert_int_equal(orders.n[HV_CALL_START_POSTCOPY], 0);
    core_free(w);
}

static void with_post_copy_allowed_it_ends_in_post_copy(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{},\"allowPostCopy\":true}");
    int64_t elapsed_ms = 0;
    struct orders orders;
    dirty(w, &elapsed_ms, 300000);
    count(w, &orders);
    assert_int_equal(orders.n[HV_CALL_START_POSTCOPY], 1);
    assert_int_equal(core_job(w)->mode, MODE_PRECOPY); /* wished is not yet done */
    assert_int_equal(orders.n[HV_CALL_SUSPEND], 0);
    answer(w, HV_CALL_START_POSTCOPY, orders.id[HV_CALL_START_POSTCOPY], ERR_NONE);
    assert_int_equal(core_job(w)->mode, MODE_POSTCOPY);
    assert_int_equal(w->aborts, 0);
    core_free(w);
}

static void a_refused_order_is_given_again(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{},\"allowPostCopy\":true}");
    int64_t elapsed_ms = 0;
    struct orders orders;
    dirty(w, &elapsed_ms, 300000);
    count(w, &orders);
    answer(w, HV_CALL_START_POSTCOPY, orders.id[HV_CALL_START_POSTCOPY], ERR_HYPERVISOR);
    assert_int_equal(core_job(w)->mode, MODE_PRECOPY);
    w->fx.n = w->played = 0; /* what was is told */
    elapsed_ms += STEP_MS;
    dirty(w, &elapsed_ms, elapsed_ms + 30000);
    count(w, &orders);
    assert_int_equal(orders.n[HV_CALL_START_POSTCOPY], 1);
    core_free(w);
}

/* Only disruption is allowed: any downtime will do, and the mode says that the guest stands. */
static void without_post_copy_but_with_disruption_the_guest_is_stopped(void **state)
{
    (void)state;
    struct core_world *w =
        begin("{\"selectors\":{},\"allowPostCopy\":false,\"allowWorkloadDisruption\":true}");
    int64_t elapsed_ms = 0;
    for (int i = 0; i < 600 && core_job(w)->mode == MODE_PRECOPY; i++) {
        elapsed_ms += STEP_MS;
        dirty(w, &elapsed_ms, elapsed_ms + STEP_MS);
    }
    struct orders orders;
    count(w, &orders);
    assert_int_equal(core_job(w)->mode, MODE_PAUSED);
    assert_int_equal(orders.n[HV_CALL_START_POSTCOPY], 0);
    assert_true(orders.value[HV_CALL_SET_DOWNTIME] == 2000000 || orders.n[HV_CALL_SUSPEND] == 1);
    core_free(w);
}

static void without_post_copy_and_pause_a_stalled_migration_is_aborted(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{}}");
    int64_t elapsed_ms = 0;
    dirty(w, &elapsed_ms, 300000);
    const struct job *job = core_job(w);
    assert_true(job->abort.asked);
    assert_string_equal(job->abort.requester, "ferry");
    assert_non_null(strstr(job->abort.why,
                           "; remaining 48 MiB, bandwidth 40 MiB/s, dirty rate 44 MiB/s, "
                           "completion timeout 150 s"));
    core_advance(w, 200);
    assert_int_equal(w->aborts, 1);
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_ABORT, ERR_NONE);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_non_null(strstr(core_job(w)->result.failure_reason, "aborted by ferry"));
    assert_null(strstr(core_job(w)->result.failure_reason, "operator"));
    core_free(w);
}

/* KubeVirt's own algorithm pauses; if the migration fails then, the guest runs again first. */
static void a_guest_that_we_stopped_runs_again_before_the_job_is_over(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{},\"allowPostCopy\":false,"
                                 "\"allowWorkloadDisruption\":true,\"monitor\":\"legacy\","
                                 "\"completionTimeoutPerGiB\":60}");
    int64_t elapsed_ms = 0;
    struct orders orders;
    dirty(w, &elapsed_ms, 300000);
    count(w, &orders);
    assert_int_equal(orders.n[HV_CALL_SUSPEND], 1);
    answer(w, HV_CALL_SUSPEND, orders.id[HV_CALL_SUSPEND], ERR_NONE);
    assert_int_equal(core_job(w)->mode, MODE_PAUSED);
    assert_true(core_job(w)->monitor.stopped_by_us);

    w->source = CORE_SUSPENDED;
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 1000);
    count(w, &orders);
    assert_int_equal(orders.n[HV_CALL_RESUME], 1);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN); /* not while it is paused */
    answer(w, HV_CALL_RESUME, orders.id[HV_CALL_RESUME], ERR_NONE);
    w->source = CORE_RUNS;
    core_advance(w, 3000);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_guest_its_user_paused_is_not_resumed(void **state)
{
    (void)state;
    struct core_world *w = begin("{\"selectors\":{}}");
    w->source = CORE_SUSPENDED;
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 3000);
    struct orders orders;
    count(w, &orders);
    assert_int_equal(orders.n[HV_CALL_RESUME], 0);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_shadow_only_talks(void **state)
{
    (void)state;
    struct core_world *w =
        begin("{\"selectors\":{},\"monitor\":\"legacy\",\"shadowMonitor\":\"stall\"}");
    int64_t elapsed_ms = 0;
    struct orders orders;
    dirty(w, &elapsed_ms, 120000);
    count(w, &orders);
    assert_true(orders.shadows > 1);
    assert_int_equal(orders.n[HV_CALL_SET_DOWNTIME], 0); /* the acting one has no ramp */
    assert_false(core_job(w)->abort.asked);              /* and waits for its 150 s */
    core_free(w);
}

/* One look at a copy of disks that has come so far; memory waits for its turn. */
static void copy_disks(struct core_world *w, uint64_t moved, uint64_t whole)
{
    struct input input = {.kind = INPUT_SAMPLE};
    struct sample *sample = &input.of.sample;
    TEXT_SET(sample->job_uid, w->job);
    sample->seq = core_job(w)->monitor.next_sample_seq;
    sample->stats = (struct hv_job_stats){.type = HV_JOB_UNBOUNDED,
                                          .operation = HV_OPERATION_MIGRATION_OUT,
                                          .data_total = whole,
                                          .data_processed = moved,
                                          .data_remaining = whole - moved};
    core_feed(w, &input);
    core_settle(w);
}

/* 40 GiB at 40 MiB/s take 1024 s; the memory alone would have had 150 s. */
static void disks_that_move_along_have_time_of_their_own(void **state)
{
    (void)state;
    static const char *const policies[] = {"{\"selectors\":{}}",
                                           "{\"selectors\":{},\"monitor\":\"legacy\"}"};
    const uint64_t whole = UINT64_C(40) << 30;
    for (size_t i = 0; i < COUNT(policies); i++) {
        struct core_world *w = core_new();
        assert_true(core_put(w, OBJECT_POLICY, "p", policies[i]));
        w->volumes.n = 1;
        w->volumes.list[0].block = (struct hv_block_info){.capacity = whole};
        w->volumes.list[0].at =
            (struct hv_volume_info){.known = true, .exists = true, .capacity = whole};
        struct core_request request = {
            .volumes = "[{\"name\":\"vda\",\"destination\":{\"path\":\"/b/g.img\"}}]"};
        TEXT_SET(w->job, core_ask(w, "g1", &request)->uid);
        w->target = CORE_INCOMING;
        for (int64_t ms = STEP_MS; ms < 1000000; ms += STEP_MS) {
            core_advance(w, STEP_MS);
            copy_disks(w, (uint64_t)ms * 40 * MIB / 1000, whole);
            w->fx.n = w->played = 0; /* what was is told */
            if (core_job(w)->abort.asked)
                fail_msg("%s: %s", policies[i], core_job(w)->abort.why);
        }
        core_free(w);
    }
}

static const char *const monitors[] = {
    "{\"selectors\":{},\"allowWorkloadDisruption\":true}",
    "{\"selectors\":{},\"allowWorkloadDisruption\":true,\"monitor\":\"legacy\"}"};

/* Neither aborted nor paused. */
static void goes_on(struct core_world *w, const char *policy, const char *when)
{
    const struct job *job = core_job(w);
    if (job->abort.asked || core_orders(w, HV_CALL_SUSPEND) > 0 || job->mode != MODE_PRECOPY)
        fail_msg("%s, %s: %s %s", policy, when, mode_name(job->mode), job->monitor.decision_text);
}

/* Time servers set clocks. An hour more on the wall is no hour of migration. */
static void a_clock_that_is_set_uses_up_no_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(monitors); i++) {
        struct core_world *w = core_flowing(monitors[i], false);
        core_flow(w, 10000);
        w->now.wall_ms += 3600 * 1000;
        core_flow(w, 10000);
        goes_on(w, monitors[i], "an hour ahead");
        core_free(w);
    }
}

/* Nor does one that is set back give any. */
static void a_clock_that_is_set_back_gives_no_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(monitors); i++) {
        struct core_world *w = core_flowing(monitors[i], false);
        core_flow(w, 10000);
        w->now.wall_ms -= 3600 * 1000;
        for (int s = 0; s < 200 && core_job(w)->mode == MODE_PRECOPY; s++)
            core_flow(w, 1000);
        assert_true(core_job(w)->mode == MODE_PAUSED || core_orders(w, HV_CALL_SUSPEND) > 0);
        core_free(w);
    }
}

/* The last decision is three minutes old, and the first look after the start has no measurement:
 * time without samples is not a stall. */
static void a_restart_is_no_lack_of_progress(void **state)
{
    (void)state;
    static const char *const policies[] = {
        "{\"selectors\":{},\"completionTimeoutPerGiB\":3000}",
        "{\"selectors\":{},\"monitor\":\"legacy\",\"completionTimeoutPerGiB\":3000}"};
    for (size_t i = 0; i < COUNT(policies); i++) {
        struct core_world *w = core_flowing(policies[i], false);
        for (int s = 0; s < 30; s++) {
            w->rest_bytes = (UINT64_C(4) << 30) - (uint64_t)s * MIB;
            core_flow(w, 400);
        }
        core_restart(w, 200000);
        core_advance(w, 10000);
        goes_on(w, policies[i], "no measurement yet");
        w->rest_bytes += MIB; /* another pass began meanwhile */
        core_flow(w, 400);
        goes_on(w, policies[i], "measured");
        core_flow(w, 10000);
        goes_on(w, policies[i], "measured again");
        core_free(w);
    }
}

TEST_FILE(test_monitor_driver)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(post_copy_is_not_ordered_while_the_targets_libvirtd_does_not_answer),
        cmocka_unit_test(post_copy_is_not_ordered_at_a_target_that_is_unreachable),
        cmocka_unit_test(post_copy_is_not_ordered_on_an_answer_that_came_late),
        cmocka_unit_test(with_post_copy_allowed_it_ends_in_post_copy),
        cmocka_unit_test(a_refused_order_is_given_again),
        cmocka_unit_test(without_post_copy_but_with_disruption_the_guest_is_stopped),
        cmocka_unit_test(without_post_copy_and_pause_a_stalled_migration_is_aborted),
        cmocka_unit_test(a_guest_that_we_stopped_runs_again_before_the_job_is_over),
        cmocka_unit_test(a_guest_its_user_paused_is_not_resumed),
        cmocka_unit_test(a_shadow_only_talks),
        cmocka_unit_test(disks_that_move_along_have_time_of_their_own),
        cmocka_unit_test(a_clock_that_is_set_uses_up_no_time),
        cmocka_unit_test(a_clock_that_is_set_back_gives_no_time),
        cmocka_unit_test(a_restart_is_no_lack_of_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
