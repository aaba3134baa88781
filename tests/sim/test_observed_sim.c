/* test_observed_sim.c - somebody else migrates guests, as `virsh migrate` does: Ferry records each
 * migration once, with its pair and its outcome, and gives no order about it. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/impl.h"
#include "tests/sim/fleet_sim.h"

enum { FOREIGN_MAX = 256 };

/* What really happened, noted outside of Ferry. */
struct foreign {
    char guest[HV_UUID_MAX], source[HV_HOST_MAX], target[HV_HOST_MAX];
    bool over, arrived;
    int64_t begun_ms, ended_ms;
};
struct others {
    struct fleet_sim fs;
    struct foreign moves[FOREIGN_MAX];
    size_t n;
    size_t untouched; /* guests below this number are moved by others only */
    unsigned orders;  /* of Ferry about one of them */
    struct record {   /* an observed migration that ended */
        char guest[HV_UUID_MAX], source[HV_HOST_MAX], target[HV_HOST_MAX];
        enum outcome outcome;
    } records[FOREIGN_MAX];
    size_t n_records;
};

static void virsh_returned(void *ctx, struct hv_reply *reply)
{
    struct foreign *move = ctx;
    move->over = true;
    move->ended_ms = reply->ended_ms;
    move->arrived = reply->err.code == ERR_NONE;
    hv_reply_fini(reply);
}

static void nobody_waits(void *ctx, struct hv_reply *reply)
{
    (void)ctx;
    hv_reply_fini(reply);
}

static const char *host_of(struct others *o, const char *uuid)
{
    const char *host = sim_guest_host(o->fs.sim, uuid);
    return host != NULL ? host : "";
}

/* Past Ferry, straight to the source. */
static struct foreign *virsh_migrate(struct others *o, size_t guest, size_t target, unsigned flags)
{
    struct hv *hv = sim_hv(o->fs.sim);
    struct err err = {0};
    assert_true(o->n < FOREIGN_MAX);
    struct foreign *move = &o->moves[o->n++];
    struct hv_request request = {.call = HV_CALL_MIGRATE, .reply_to = {virsh_returned, move}};
    fleet_sim_uuid(guest, move->guest);
    move->begun_ms = fleet_sim_now(&o->fs);
    TEXT_SET(move->source, host_of(o, move->guest));
    TEXT_SET(move->target, o->fs.hosts[target].name);
    TEXT_SET(request.host, move->source);
    TEXT_SET(request.guest, move->guest);
    TEXT_SET(request.with.migrate.target, move->target);
    request.with.migrate.flags = flags;
    assert_true(hv->ops->submit(hv->impl, &request, &err));
    return move;
}

static void virsh(struct others *o, const struct foreign *move, enum hv_call call)
{
    struct hv *hv = sim_hv(o->fs.sim);
    struct err err = {0};
    struct hv_request request = {.call = call, .reply_to = {nobody_waits, NULL}};
    TEXT_SET(request.host, move->source);
    TEXT_SET(request.guest, move->guest);
    assert_true(hv->ops->submit(hv->impl, &request, &err));
}

static void run(struct others *o, int64_t ms)
{
    fleet_sim_run(&o->fs, fleet_sim_now(&o->fs) + ms);
}

static bool is_untouched(const struct others *o, const char *uuid)
{
    for (size_t i = 0; i < o->untouched; i++) {
        char one[HV_UUID_MAX];
        fleet_sim_uuid(i, one);
        if (strcmp(one, uuid) == 0)
            return true;
    }
    return false;
}

static bool spy(struct fleet_sim *fs, const struct hv_request *request)
{
    struct others *o = fs->ctx;
    o->orders +=
        hv_call_access(request->call) != HV_ACCESS_OBSERVE && is_untouched(o, request->guest);
    return true;
}

static void keep_record(struct fleet_sim *fs, const struct snapshot_job *job)
{
    struct others *o = fs->ctx;
    if (job->request.origin != ORIGIN_OBSERVED)
        return;
    assert_true(o->n_records < FOREIGN_MAX);
    struct record *record = &o->records[o->n_records++];
    TEXT_SET(record->guest, job->guest_uuid);
    TEXT_SET(record->source, job->source);
    TEXT_SET(record->target, job->target);
    record->outcome = job->result.outcome;
}

static struct others *begin_in(bool observes, uint64_t seed, size_t n_hosts, size_t n_guests,
                               uint64_t bytes)
{
    struct others *o = calloc(1, sizeof *o);
    assert_non_null(o);
    o->fs.ctx = o;
    o->fs.observes = observes;
    o->fs.on_submit = spy;
    o->fs.on_finished = keep_record;
    o->fs.wants_snapshots = true;
    o->untouched = n_guests;
    fleet_sim_init(&o->fs, seed, n_hosts, n_guests, bytes);
    run(o, 3000);
    return o;
}

static struct others *begin(uint64_t seed, size_t n_hosts, size_t n_guests, uint64_t bytes)
{
    return begin_in(false, seed, n_hosts, n_guests, bytes);
}

static void end(struct others *o)
{
    assert_int_equal(o->orders, 0);
    fleet_sim_fini(&o->fs);
    free(o);
}

static const struct snapshot_job *record_of(const struct others *o, const struct foreign *move,
                                            size_t which)
{
    for (size_t i = 0; i < o->fs.snapshot->n_jobs; i++) {
        const struct snapshot_job *job = o->fs.snapshot->jobs[i];
        if (job->request.origin == ORIGIN_OBSERVED && strcmp(job->guest_uuid, move->guest) == 0 &&
            which-- == 0)
            return job;
    }
    return NULL;
}

/* The record of the one migration of that guest. */
static const struct snapshot_job *recorded(const struct others *o, const struct foreign *move)
{
    const struct snapshot_job *job = record_of(o, move, 0);
    assert_non_null(job);
    assert_null(record_of(o, move, 1));
    assert_string_equal(job->source, move->source);
    assert_string_equal(job->target, move->target);
    assert_string_equal(job->request.requester, "unknown");
    assert_string_equal(job->request.managed_by, "unknown");
    return job;
}

static void expect(const struct snapshot_job *job, enum outcome outcome, enum guest_at at)
{
    assert_true(phase_is_final(job->phase));
    assert_string_equal(outcome_name(job->result.outcome), outcome_name(outcome));
    assert_string_equal(guest_at_name(job->resolution.guest_at), guest_at_name(at));
}

/* ---- stories ---- */

static void a_pre_copy_is_recorded(void **state)
{
    (void)state;
    struct others *o = begin(1, 3, 2, 4ULL << 30);
    const struct foreign *move = virsh_migrate(o, 0, 1, 0);
    run(o, 1500);
    const struct snapshot_job *job = recorded(o, move);
    assert_string_equal(phase_name(job->phase), "Running");
    assert_string_equal(mode_name(job->mode), "PreCopy");
    assert_true(job->progress.has_sample);
    assert_null(job->call.config_json); /* whoever called it chose the settings */
    run(o, 120000);
    assert_true(move->over && move->arrived);
    job = recorded(o, move);
    expect(job, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_true(job->final.known && job->final.bytes > 0);
    end(o);
}

static void a_migration_shorter_than_a_second_is_recorded(void **state)
{
    (void)state;
    struct others *o = begin(2, 3, 2, 16ULL << 20);
    const struct foreign *move = virsh_migrate(o, 0, 2, 0);
    int64_t from_ms = fleet_sim_now(&o->fs);
    while (!move->over)
        run(o, 10);
    assert_true(fleet_sim_now(&o->fs) - from_ms < 1000);
    run(o, 5000);
    expect(recorded(o, move), OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    end(o);
}

static void a_post_copy_is_recorded_with_its_modes(void **state)
{
    (void)state;
    struct others *o = begin(3, 3, 2, 8ULL << 30);
    const struct foreign *move = virsh_migrate(o, 0, 1, HV_MIGRATE_POSTCOPY);
    run(o, 2000);
    virsh(o, move, HV_CALL_START_POSTCOPY);
    run(o, 500);
    assert_string_equal(mode_name(recorded(o, move)->mode), "PostCopy");
    run(o, 120000);
    const struct snapshot_job *job = recorded(o, move);
    expect(job, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(job->history.n_modes, 2);
    end(o);
}

static void an_aborted_one_stays_on_its_source(void **state)
{
    (void)state;
    struct others *o = begin(4, 3, 2, 8ULL << 30);
    const struct foreign *move = virsh_migrate(o, 0, 1, 0);
    run(o, 2000);
    virsh(o, move, HV_CALL_ABORT);
    run(o, 30000);
    assert_true(move->over && !move->arrived);
    const struct snapshot_job *job = recorded(o, move);
    expect(job, OUTCOME_FAILED, GUEST_AT_SOURCE); /* why it ended is not known to Ferry */
    assert_non_null(strstr(job->result.failure_reason, "somebody else"));
    end(o);
}

static void a_failed_one_stays_on_its_source(void **state)
{
    (void)state;
    struct others *o = begin(5, 3, 2, 8ULL << 30);
    struct err err = {0};
    const struct foreign *move = virsh_migrate(o, 0, 1, 0);
    run(o, 2000);
    struct sim_fault fault = {
        .kind = SIM_FAULT_STREAM_RESET, .at_ms = fleet_sim_now(&o->fs), .after_iteration_ms = -1};
    TEXT_SET(fault.guest, move->guest);
    assert_true(sim_add_fault(o->fs.sim, &fault, &err));
    run(o, 60000);
    assert_true(move->over && !move->arrived);
    expect(recorded(o, move), OUTCOME_FAILED, GUEST_AT_SOURCE);
    end(o);
}

static void ferrys_own_job_for_that_guest_waits_and_then_goes(void **state)
{
    (void)state;
    struct others *o = begin(7, 3, 2, 8ULL << 30);
    o->untouched = 0;
    const struct foreign *move = virsh_migrate(o, 0, 1, 0);
    run(o, 1000);
    fleet_sim_migrate(&o->fs, 0, 2);
    run(o, 500);
    const struct snapshot_job *own = NULL;
    for (size_t i = 0; i < o->fs.snapshot->n_jobs; i++)
        if (o->fs.snapshot->jobs[i]->request.origin == ORIGIN_HUMAN)
            own = o->fs.snapshot->jobs[i];
    assert_non_null(own);
    assert_string_equal(phase_name(own->phase), "Pending");
    assert_string_equal(pending_name(own->wait.pending), "foreign-migration");
    assert_non_null(strstr(own->wait.reason, move->target));
    run(o, 240000);
    expect(recorded(o, move), OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_string_equal(host_of(o, move->guest), "h2");
    end(o);
}

static void a_restart_in_the_middle_changes_nothing(void **state)
{
    (void)state;
    struct others *o = begin(11, 3, 2, 4ULL << 30);
    const struct foreign *move = virsh_migrate(o, 0, 1, 0);
    run(o, 1500);
    assert_false(phase_is_final(recorded(o, move)->phase));
    fleet_sim_crash(&o->fs);
    run(o, 2500);
    const struct snapshot_job *job = recorded(o, move);
    assert_false(phase_is_final(job->phase));
    assert_true(job->progress.has_sample); /* the collector was told of it again */
    assert_true(job->times.handed_off_ms > 0);
    run(o, 120000);
    expect(recorded(o, move), OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    end(o);
}

static void nobody_can_stop_what_ferry_only_observes(void **state)
{
    (void)state;
    struct others *o = begin(8, 3, 2, 8ULL << 30);
    const struct foreign *move = virsh_migrate(o, 0, 1, 0);
    struct err err = {0};
    run(o, 1000);
    assert_true(engine_post_cancel(fleet_sim_engine(&o->fs), "default", recorded(o, move)->name,
                                   "somebody", false, &err));
    run(o, 120000);
    expect(recorded(o, move), OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    end(o);
}

/* ---- observe mode ---- */

static bool spy_on_all(struct fleet_sim *fs, const struct hv_request *request)
{
    struct others *o = fs->ctx;
    o->orders += hv_call_access(request->call) != HV_ACCESS_OBSERVE;
    return true;
}

static void in_observe_mode_hosts_are_only_read_and_requests_are_refused(void **state)
{
    (void)state;
    struct others *o = begin_in(true, 9, 3, 4, 4ULL << 30);
    struct engine *engine = fleet_sim_engine(&o->fs);
    struct err err = {0};
    o->fs.on_submit = spy_on_all;
    struct migration_request asked = {.ns = "default", .guest_name = "g1", .requester = "somebody"};
    struct object_request drain = {.kind = OBJECT_DRAIN,
                                   .name = "d1",
                                   .requester = "somebody",
                                   .spec_json = "{\"nodeName\":\"h1\",\"shutdown\":true}"};
    const struct foreign *move = virsh_migrate(o, 0, 1, HV_MIGRATE_POSTCOPY);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(engine_post_create(engine, &asked, &err));
        assert_true(engine_post_put(engine, &drain, &err));
        run(o, 1000);
    }
    run(o, 120000);
    expect(recorded(o, move), OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(o->fs.snapshot->n_jobs, 1); /* no request became one */
    for (size_t i = 0; i < o->fs.snapshot->n_objects; i++)
        assert_int_not_equal(o->fs.snapshot->objects[i]->kind, OBJECT_DRAIN);
    end(o);
}

/* A job of the time before: the mode was changed while it ran. */
static void a_job_of_the_time_before_gives_no_order_any_more(void **state)
{
    (void)state;
    struct others *o = begin(10, 3, 2, 8ULL << 30);
    o->untouched = 0;
    fleet_sim_migrate(&o->fs, 0, 1);
    run(o, 2000);
    for (size_t i = 0; i < o->fs.n_hosts; i++)
        o->fs.hosts[i].observe = true;
    fleet_sim_crash(&o->fs); /* it starts again with another configuration */
    o->fs.on_submit = spy_on_all;
    run(o, 240000);
    assert_string_equal(host_of(o, "00000000-0000-4000-8000-000000000000"), "h1");
    end(o);
}

/* ---- the law ---- */

static bool is_moving(const struct others *o, const char *uuid)
{
    for (size_t i = 0; i < o->n; i++)
        if (!o->moves[i].over && strcmp(o->moves[i].guest, uuid) == 0)
            return true;
    return false;
}

/* A random guest of the others goes somewhere, or one that goes is aborted or broken. */
static void something_happens(struct others *o)
{
    struct fleet_sim *fs = &o->fs;
    struct err err = {0};
    size_t guest = fleet_sim_dice(fs, o->untouched), target = fleet_sim_dice(fs, fs->n_hosts);
    char uuid[HV_UUID_MAX];
    fleet_sim_uuid(guest, uuid);
    if (!is_moving(o, uuid)) {
        if (strcmp(host_of(o, uuid), fs->hosts[target].name) != 0 && o->n < FOREIGN_MAX)
            (void)virsh_migrate(o, guest, target,
                                fleet_sim_dice(fs, 2) == 0 ? HV_MIGRATE_POSTCOPY : 0);
        return;
    }
    struct foreign *move = NULL;
    for (size_t i = 0; i < o->n; i++)
        if (!o->moves[i].over && strcmp(o->moves[i].guest, uuid) == 0)
            move = &o->moves[i];
    struct sim_fault fault = {
        .kind = SIM_FAULT_STREAM_RESET, .at_ms = fleet_sim_now(fs), .after_iteration_ms = -1};
    TEXT_SET(fault.guest, uuid);
    switch (fleet_sim_dice(fs, 3)) {
    case 0: virsh(o, move, HV_CALL_ABORT); break;
    case 1: virsh(o, move, HV_CALL_START_POSTCOPY); break;
    default: assert_true(sim_add_fault(fs->sim, &fault, &err)); break;
    }
}

static size_t count_records(const struct others *o, const struct foreign *like, bool arrived)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n_records; i++) {
        const struct record *record = &o->records[i];
        n += strcmp(record->guest, like->guest) == 0 && strcmp(record->source, like->source) == 0 &&
             strcmp(record->target, like->target) == 0 &&
             (record->outcome == OUTCOME_SUCCEEDED) == arrived;
    }
    return n;
}

/* Ended before the target had started its copy: nobody but its caller can know of it. */
static bool has_no_copy(const struct foreign *move)
{
    enum { COPY_STARTED_MS = 1100 };
    return !move->arrived && move->ended_ms - move->begun_ms <= COPY_STARTED_MS;
}

static size_t count_moves(const struct others *o, const struct foreign *like, size_t *out_hidden)
{
    size_t n = 0;
    *out_hidden = 0;
    for (size_t i = 0; i < o->n; i++) {
        const struct foreign *move = &o->moves[i];
        bool is_alike =
            strcmp(move->guest, like->guest) == 0 && strcmp(move->source, like->source) == 0 &&
            strcmp(move->target, like->target) == 0 && move->over && move->arrived == like->arrived;
        n += is_alike;
        *out_hidden += is_alike && has_no_copy(move);
    }
    return n;
}

static void live_through(uint64_t seed)
{
    struct others *o = begin(seed, 4, 12, 1ULL << 30);
    o->untouched = 6; /* the others are Ferry's */
    for (unsigned i = 0; i < 60; i++) {
        something_happens(o);
        if (fleet_sim_dice(&o->fs, 2) == 0)
            fleet_sim_migrate(&o->fs, 6 + fleet_sim_dice(&o->fs, 6), fleet_sim_dice(&o->fs, 4));
        run(o, (int64_t)fleet_sim_dice(&o->fs, 4000));
    }
    run(o, 300000);
    for (size_t i = 0; i < o->n; i++) {
        if (!o->moves[i].over)
            continue; /* a post-copy that broke hangs in its call */
        size_t records = count_records(o, &o->moves[i], o->moves[i].arrived);
        size_t hidden = 0, moves = count_moves(o, &o->moves[i], &hidden);
        if (records > moves || records + hidden < moves)
            fail_msg("seed %llu: %s from %s to %s: %zu migrations %s, %zu records",
                     (unsigned long long)seed, o->moves[i].guest, o->moves[i].source,
                     o->moves[i].target, moves, o->moves[i].arrived ? "arrived" : "did not arrive",
                     records);
    }
    assert_true(o->n > 10);
    end(o);
}

static void law_each_is_recorded_once_and_nothing_is_ordered(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= test_size(3, 10, 100); seed++)
        live_through(seed);
}

TEST_FILE(test_observed_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pre_copy_is_recorded),
        cmocka_unit_test(a_migration_shorter_than_a_second_is_recorded),
        cmocka_unit_test(a_post_copy_is_recorded_with_its_modes),
        cmocka_unit_test(an_aborted_one_stays_on_its_source),
        cmocka_unit_test(a_failed_one_stays_on_its_source),
        cmocka_unit_test(ferrys_own_job_for_that_guest_waits_and_then_goes),
        cmocka_unit_test(a_restart_in_the_middle_changes_nothing),
        cmocka_unit_test(nobody_can_stop_what_ferry_only_observes),
        cmocka_unit_test(in_observe_mode_hosts_are_only_read_and_requests_are_refused),
        cmocka_unit_test(a_job_of_the_time_before_gives_no_order_any_more),
        cmocka_unit_test(law_each_is_recorded_once_and_nothing_is_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
