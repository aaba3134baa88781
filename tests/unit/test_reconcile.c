/* test_reconcile.c - stories of migrations through the pure core, without a host or a clock.
 *
 * The test plays the world: what each host answers when it is looked at, whether a job runs on
 * the source, and what the calls return. Time moves in steps of 100 ms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/reconcile.h"

static const char GUEST[] = "11111111-1111-4111-8111-111111111111";
static const char OTHER[] = "22222222-2222-4222-8222-222222222222";

struct world {
    struct fleet *fleet;
    struct effects fx;
    size_t played; /* effects already played out */
    struct moment now;
    struct hv_sight source, target;
    int job_type; /* what the source says of its job */
    uint64_t migrate_id, abort_id;
    unsigned migrates, aborts, watches, unwatches, warnings;
    char job[JOB_UID_MAX];
    char event[64]; /* reason of the newest warning */
};

static const struct hv_sight RUNS = {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, false, -1, 0, 0};
static const struct hv_sight ARRIVED = {
    HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_MIGRATED, false, -1, 0, 0};
static const struct hv_sight INCOMING = {
    HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION, false, -1, 0, 0};
static const struct hv_sight SUSPENDED = {
    HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_USER, false, -1, 0, 0};
static const struct hv_sight BROKEN_SOURCE = {
    HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED, false, -1, 0, 0};
static const struct hv_sight ABSENT = {.presence = HV_ABSENT};
static const struct hv_sight BLIND = {.presence = HV_UNREACHABLE};

static void feed(struct world *w, const struct input *input)
{
    struct migration_ref ref = {{0}, {0}, {0}};
    struct err err = {0};
    assert_true(reconcile(w->fleet, input, w->now, &w->fx, &ref, &err));
    if (input->kind == INPUT_CREATE)
        TEXT_SET(w->job, ref.uid);
}

static struct job *job_of(struct world *w)
{
    struct job *job = fleet_job(w->fleet, w->job);
    assert_non_null(job);
    return job;
}

static void answer_look(struct world *w, const struct effect *effect)
{
    struct input input = {.kind = INPUT_LOOK, .id = effect->of.act.id};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    input.of.sight = strcmp(effect->of.act.node, "h1") == 0 ? w->source : w->target;
    feed(w, &input);
}

static void answer_ask_job(struct world *w, const struct effect *effect)
{
    struct input input = {.kind = INPUT_ASK_JOB, .id = effect->of.act.id};
    TEXT_SET(input.guest, effect->of.act.guest);
    if (w->source.presence != HV_PRESENT)
        err_set(&input.err, ERR_UNREACHABLE, "no");
    input.of.stats.type = w->job_type;
    feed(w, &input);
}

static void play(struct world *w, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_DO_LOOK:
        answer_look(w, effect);
        break;
    case EFFECT_DO_ASK_JOB:
        answer_ask_job(w, effect);
        break;
    case EFFECT_DO_MIGRATE:
        w->migrate_id = effect->of.act.id;
        w->migrates++;
        break;
    case EFFECT_DO_ABORT:
        w->abort_id = effect->of.act.id;
        w->aborts++;
        break;
    case EFFECT_DO_WATCH:
        w->watches++;
        break;
    case EFFECT_DO_UNWATCH:
        w->unwatches++;
        break;
    case EFFECT_EVENT:
        w->warnings += effect->of.event.warning;
        if (effect->of.event.warning)
            TEXT_SET(w->event, effect->of.event.reason);
        break;
    default:
        break;
    }
}

static void settle(struct world *w)
{
    struct input tick = {.kind = INPUT_TICK};
    feed(w, &tick);
    while (w->played < w->fx.n) {
        struct effect effect = w->fx.list[w->played++];
        play(w, &effect);
    }
}

static void pass(struct world *w, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 100) {
        w->now.mono_ms += 100;
        w->now.wall_ms += 100;
        settle(w);
    }
}

static void connect_host(struct world *w, const char *host, bool connected)
{
    struct input input = {.kind = INPUT_HOST, .of.connected = connected};
    TEXT_SET(input.host, host);
    feed(w, &input);
}

static void list_guests(struct world *w, const char *host, const char *uuid, const char *name,
                        const struct hv_sight *sight)
{
    struct hv_guest guest = {.state = sight->state, .reason = sight->reason, .memory_kib = 65536};
    TEXT_SET(guest.uuid, uuid);
    TEXT_SET(guest.name, name);
    TEXT_SET(guest.ns, "default");
    struct hv_guest_list list = {sight->presence == HV_PRESENT, &guest};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, host);
    feed(w, &input);
}

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    struct fleet_config config = {.pending_timeout_ms = 900000,
                                  .unschedulable_timeout_ms = 300000,
                                  .prepare_timeout_ms = 60000,
                                  .abort_guard_ms = 30000,
                                  .idle_call_timeout_ms = 300000,
                                  .jobs_kept_per_guest = 5};
    struct err err = {0};
    w->now = (struct moment){1000, 1700000000000};
    w->fleet = fleet_new(&config, 7, &err);
    assert_non_null(w->fleet);
    for (int i = 1; i <= 2; i++) {
        struct hv_host host = {.name = {0}};
        (void)snprintf(host.name, sizeof host.name, "h%d", i);
        assert_true(fleet_add_node(w->fleet, &host, w->now.wall_ms, &err));
        connect_host(w, host.name, true);
    }
    w->source = RUNS;
    w->target = ABSENT;
    list_guests(w, "h1", GUEST, "g1", &w->source);
    return w;
}

static void world_free(struct world *w)
{
    fleet_free(w->fleet);
    effects_fini(&w->fx);
    free(w);
}

static void create(struct world *w)
{
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, "g1");
    TEXT_SET(input.of.create.request.requester, "tester");
    feed(w, &input);
    settle(w);
}

static void cancel(struct world *w)
{
    struct input input = {.kind = INPUT_CANCEL};
    TEXT_SET(input.of.cancel.ns, "default");
    TEXT_SET(input.of.cancel.name, job_of(w)->name);
    TEXT_SET(input.of.cancel.requester, "tester");
    feed(w, &input);
    settle(w);
}

static void sample(struct world *w)
{
    struct input input = {.kind = INPUT_SAMPLE};
    TEXT_SET(input.of.sample.job_uid, w->job);
    input.of.sample.stats.type = HV_JOB_UNBOUNDED;
    feed(w, &input);
    settle(w);
}

static void returns(struct world *w, enum hv_call call, enum err_code code)
{
    struct input input = {.kind = INPUT_CALL, .of.call = call};
    input.id = call == HV_CALL_MIGRATE ? w->migrate_id : w->abort_id;
    TEXT_SET(input.guest, GUEST);
    if (code != ERR_NONE) {
        err_set(&input.err, code, "operation failed");
        input.err.hv_code = code == ERR_HYPERVISOR ? 9 : 38;
        input.err.hv_domain = code == ERR_HYPERVISOR ? 10 : 7;
    }
    feed(w, &input);
    settle(w);
}

static void expect(struct world *w, enum phase phase, enum outcome outcome, enum guest_at at)
{
    struct job *job = job_of(w);
    assert_string_equal(phase_name(job->phase), phase_name(phase));
    assert_string_equal(outcome_name(job->outcome), outcome_name(outcome));
    if (phase_is_final(phase))
        assert_string_equal(guest_at_name(job->guest_at), guest_at_name(at));
}

/* Up to a migration whose memory moves. */
static struct world *moving_world(void)
{
    struct world *w = world_new();
    create(w);
    assert_int_equal(w->migrates, 1);
    expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    sample(w);
    expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->target = INCOMING;
    return w;
}

static void a_plain_migration_succeeds(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->source = ABSENT;
    w->target = ARRIVED;
    returns(w, HV_CALL_MIGRATE, ERR_NONE);
    expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(w->watches, 1);
    assert_int_equal(w->unwatches, 1);
    assert_string_equal(fleet_guest(w->fleet, GUEST)->owner->node->name, "h2");
    world_free(w);
}

static void an_error_with_the_guest_on_the_target_is_success(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->source = ABSENT;
    w->target = ARRIVED;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    world_free(w);
}

static void an_ok_with_the_guest_on_the_source_is_failure(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->target = ABSENT;
    returns(w, HV_CALL_MIGRATE, ERR_NONE);
    expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    world_free(w);
}

static void a_failed_call_leaves_the_guest_on_the_source(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->target = ABSENT;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_non_null(strstr(job_of(w)->failure_reason, "Code=9, Domain=10"));
    world_free(w);
}

static void a_dead_target_libvirtd_is_unreachable_not_absent(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->target = BLIND;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(job_of(w)->target_side.sight.presence, HV_UNREACHABLE);
    world_free(w);
}

static void a_blind_source_never_ends_a_job(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->source = BLIND;
    w->target = ARRIVED;
    returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    pass(w, 600000);
    expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_true(job_of(w)->resolving);
    w->source = ABSENT; /* it can be asked again */
    pass(w, 2000);
    expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    world_free(w);
}

static void our_own_lost_connection_is_not_an_outcome(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->job_type = HV_JOB_UNBOUNDED; /* it goes on without us */
    returns(w, HV_CALL_MIGRATE, ERR_UNREACHABLE);
    pass(w, 30000);
    expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_int_equal(w->migrates, 1);
    w->source = ABSENT;
    w->target = ARRIVED;
    pass(w, 2000);
    expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    world_free(w);
}

static void a_guest_gone_from_both_is_lost_only_after_a_second_look(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->source = w->target = ABSENT;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    pass(w, 2000);
    expect(w, PHASE_FAILED, OUTCOME_LOST, GUEST_AT_LOST);
    world_free(w);
}

static void a_split_guest_is_never_final(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->target = ARRIVED;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    pass(w, 60000);
    expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_int_equal(job_of(w)->guest_at, GUEST_AT_SPLIT);
    assert_string_equal(w->event, "Split");
    world_free(w);
}

static void a_broken_postcopy_is_never_final_by_itself(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->source = BROKEN_SOURCE;
    w->target = ABSENT;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    pass(w, 60000);
    expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_int_equal(job_of(w)->guest_at, GUEST_AT_BROKEN);
    world_free(w);
}

static void an_abort_succeeds_only_when_the_source_is_proven(void **state)
{
    (void)state;
    struct world *w = moving_world();
    cancel(w);
    assert_int_equal(w->aborts, 1);
    assert_int_equal(job_of(w)->abort_status, ABORT_ABORTING);
    returns(w, HV_CALL_ABORT, ERR_NONE);
    assert_int_equal(job_of(w)->abort_status, ABORT_ABORTING); /* accepted is not done */
    w->target = ABSENT;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(job_of(w)->abort_status, ABORT_SUCCEEDED);
    assert_non_null(strstr(job_of(w)->failure_reason, "tester"));
    world_free(w);
}

static void an_abort_can_lose_the_race(void **state)
{
    (void)state;
    struct world *w = moving_world();
    cancel(w);
    w->source = ABSENT;
    w->target = ARRIVED;
    returns(w, HV_CALL_MIGRATE, ERR_NONE);
    expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(job_of(w)->abort_status, ABORT_FAILED);
    world_free(w);
}

static void an_abort_too_early_is_tried_again(void **state)
{
    (void)state;
    struct world *w = world_new();
    create(w);
    cancel(w);
    assert_int_equal(w->aborts, 1);
    returns(w, HV_CALL_ABORT, ERR_HYPERVISOR); /* no job is active yet */
    pass(w, 1000);
    assert_int_equal(w->aborts, 2);
    world_free(w);
}

static void an_abort_without_result_fails_after_the_guard_but_counts_late(void **state)
{
    (void)state;
    struct world *w = moving_world();
    cancel(w);
    returns(w, HV_CALL_ABORT, ERR_NONE);
    pass(w, 31000);
    assert_int_equal(job_of(w)->abort_status, ABORT_FAILED);
    w->target = ABSENT;
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    assert_int_equal(job_of(w)->abort_status, ABORT_SUCCEEDED);
    expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    world_free(w);
}

static void a_cancel_before_hand_off_asks_nothing_of_a_host(void **state)
{
    (void)state;
    struct world *w = world_new();
    connect_host(w, "h2", false);
    create(w);
    expect(w, PHASE_SCHEDULING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_non_null(strstr(job_of(w)->pending_reason, "h2"));
    cancel(w);
    expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates + w->aborts, 0);
    world_free(w);
}

static void a_waiting_job_goes_on_when_its_target_comes_back(void **state)
{
    (void)state;
    struct world *w = world_new();
    connect_host(w, "h2", false);
    create(w);
    pass(w, 10000);
    connect_host(w, "h2", true);
    settle(w);
    expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    world_free(w);
}

static void a_wait_has_a_deadline(void **state)
{
    (void)state;
    struct world *w = world_new();
    connect_host(w, "h2", false);
    create(w);
    pass(w, 301000);
    expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_non_null(strstr(job_of(w)->failure_reason, "300 s"));
    world_free(w);
}

static void a_target_that_has_the_guest_is_refused_before_any_call(void **state)
{
    (void)state;
    struct world *w = world_new();
    w->target = RUNS;
    create(w);
    expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates, 0);
    world_free(w);
}

static void a_namesake_on_the_target_is_refused_before_any_call(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct hv_guest guest = {.state = HV_STATE_RUNNING, .reason = HV_RUNNING_BOOTED};
    TEXT_SET(guest.uuid, OTHER);
    TEXT_SET(guest.name, "g1");
    TEXT_SET(guest.ns, "elsewhere");
    struct hv_guest_list list = {1, &guest};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, "h2");
    feed(w, &input);
    create(w);
    expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates, 0);
    world_free(w);
}

static void a_paused_guest_is_asked_to_arrive_paused(void **state)
{
    (void)state;
    struct world *w = world_new();
    w->source = SUSPENDED;
    create(w);
    assert_int_equal(w->migrates, 1);
    assert_true(job_of(w)->flags & HV_MIGRATE_PAUSED);
    w->source = ABSENT;
    w->target = SUSPENDED;
    returns(w, HV_CALL_MIGRATE, ERR_NONE);
    expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    world_free(w);
}

/* What a new process does with a job it finds in the store. */
static void restart(struct world *w)
{
    struct job *job = job_of(w);
    job->call_out = job->call_over = job->resolving = false;
    job->call_id = job->abort_call_id = 0;
    job->source_side = job->target_side = (struct job_side){0};
    job->round = job->judged_round = 0;
    job->hv_job_question = 0;
    reconcile_restore(w->fleet, job, w->now, &w->fx);
    settle(w);
}

static void a_running_migration_is_adopted_and_followed_to_its_end(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->job_type = HV_JOB_UNBOUNDED;
    restart(w);
    pass(w, 20000);
    expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_true(job_of(w)->adopted);
    assert_false(job_of(w)->resolving); /* it is seen moving */
    assert_int_equal(w->migrates, 1);   /* never blindly repeated */
    w->source = ABSENT;
    w->target = ARRIVED;
    pass(w, 2000);
    expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    world_free(w);
}

static void a_migration_that_ended_while_we_were_away_gets_its_outcome(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->target = ABSENT;
    restart(w);
    pass(w, 3000);
    expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    assert_int_equal(w->migrates, 1);
    world_free(w);
}

static void a_recorded_call_that_was_never_made_is_made_after_proof(void **state)
{
    (void)state;
    struct world *w = world_new();
    create(w);
    expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    int64_t epoch = job_of(w)->epoch;
    restart(w);
    assert_int_equal(w->migrates, 1); /* not before the proof has stood for a while */
    pass(w, 3000);
    assert_int_equal(w->migrates, 2);
    assert_int_equal(job_of(w)->epoch, epoch + 1);
    world_free(w);
}

static void an_adopted_job_waits_for_a_source_it_cannot_see(void **state)
{
    (void)state;
    struct world *w = world_new();
    create(w);
    w->source = BLIND;
    restart(w);
    pass(w, 60000);
    assert_int_equal(w->migrates, 1);
    expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    world_free(w);
}

static void an_abort_of_an_adopted_migration_works(void **state)
{
    (void)state;
    struct world *w = moving_world();
    w->job_type = HV_JOB_UNBOUNDED;
    restart(w);
    pass(w, 1000);
    cancel(w);
    assert_int_equal(w->aborts, 1);
    w->job_type = HV_JOB_NONE;
    w->target = ABSENT;
    returns(w, HV_CALL_ABORT, ERR_NONE);
    pass(w, 3000);
    expect(w, PHASE_FAILED, OUTCOME_ABORTED, GUEST_AT_SOURCE);
    assert_int_equal(job_of(w)->abort_status, ABORT_SUCCEEDED);
    world_free(w);
}

static void refused(struct world *w, const char *guest, const char *target, enum err_code code)
{
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, guest);
    TEXT_SET(input.of.create.request.target, target);
    struct migration_ref ref;
    struct err err = {0};
    unsigned jobs = HASH_COUNT(w->fleet->jobs);
    assert_false(reconcile(w->fleet, &input, w->now, &w->fx, &ref, &err));
    assert_string_equal(err_name(err.code), err_name(code));
    assert_int_equal(HASH_COUNT(w->fleet->jobs), jobs);
}

static void bad_requests_are_refused_with_a_type(void **state)
{
    (void)state;
    struct world *w = world_new();
    refused(w, "", "", ERR_UNPROCESSABLE);
    refused(w, "nobody", "", ERR_NOT_FOUND);
    refused(w, "g1", "h9", ERR_UNPROCESSABLE);
    refused(w, "g1", "h1", ERR_REFUSED);
    create(w);
    refused(w, "g1", "", ERR_REFUSED); /* one unfinished job per guest */
    w->fleet->store_ok = false;
    refused(w, "g1", "", ERR_IO);
    world_free(w);
}

static void five_finished_jobs_of_a_guest_are_kept(void **state)
{
    (void)state;
    struct world *w = world_new();
    for (int i = 0; i < 8; i++) {
        create(w);
        returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
        fleet_prune_jobs(w->fleet, GUEST);
    }
    assert_int_equal(HASH_COUNT(w->fleet->jobs), 5);
    assert_int_equal(w->fleet->busy_jobs, 0);
    world_free(w);
}

static void limits_are_kept_and_the_oldest_goes_first(void **state)
{
    (void)state;
    struct world *w = world_new();
    w->fleet->config.parallel_per_fleet = 1;
    struct hv_guest guests[2] = {{.state = HV_STATE_RUNNING}, {.state = HV_STATE_RUNNING}};
    TEXT_SET(guests[0].uuid, GUEST);
    TEXT_SET(guests[0].name, "g1");
    TEXT_SET(guests[0].ns, "default");
    TEXT_SET(guests[1].uuid, OTHER);
    TEXT_SET(guests[1].name, "g2");
    TEXT_SET(guests[1].ns, "default");
    struct hv_guest_list list = {2, guests};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, "h1");
    feed(w, &input);
    create(w);
    struct input second = {.kind = INPUT_CREATE};
    TEXT_SET(second.of.create.request.ns, "default");
    TEXT_SET(second.of.create.request.guest_name, "g2");
    char first[JOB_UID_MAX];
    TEXT_SET(first, w->job);
    feed(w, &second);
    settle(w);
    expect(w, PHASE_PENDING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    assert_non_null(strstr(job_of(w)->pending_reason, "limit"));
    returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR); /* the first ends */
    pass(w, 100);
    expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_migration_succeeds),
        cmocka_unit_test(an_error_with_the_guest_on_the_target_is_success),
        cmocka_unit_test(an_ok_with_the_guest_on_the_source_is_failure),
        cmocka_unit_test(a_failed_call_leaves_the_guest_on_the_source),
        cmocka_unit_test(a_dead_target_libvirtd_is_unreachable_not_absent),
        cmocka_unit_test(a_blind_source_never_ends_a_job),
        cmocka_unit_test(our_own_lost_connection_is_not_an_outcome),
        cmocka_unit_test(a_guest_gone_from_both_is_lost_only_after_a_second_look),
        cmocka_unit_test(a_split_guest_is_never_final),
        cmocka_unit_test(a_broken_postcopy_is_never_final_by_itself),
        cmocka_unit_test(an_abort_succeeds_only_when_the_source_is_proven),
        cmocka_unit_test(an_abort_can_lose_the_race),
        cmocka_unit_test(an_abort_too_early_is_tried_again),
        cmocka_unit_test(an_abort_without_result_fails_after_the_guard_but_counts_late),
        cmocka_unit_test(a_cancel_before_hand_off_asks_nothing_of_a_host),
        cmocka_unit_test(a_waiting_job_goes_on_when_its_target_comes_back),
        cmocka_unit_test(a_wait_has_a_deadline),
        cmocka_unit_test(a_target_that_has_the_guest_is_refused_before_any_call),
        cmocka_unit_test(a_namesake_on_the_target_is_refused_before_any_call),
        cmocka_unit_test(a_paused_guest_is_asked_to_arrive_paused),
        cmocka_unit_test(a_running_migration_is_adopted_and_followed_to_its_end),
        cmocka_unit_test(a_migration_that_ended_while_we_were_away_gets_its_outcome),
        cmocka_unit_test(a_recorded_call_that_was_never_made_is_made_after_proof),
        cmocka_unit_test(an_adopted_job_waits_for_a_source_it_cannot_see),
        cmocka_unit_test(an_abort_of_an_adopted_migration_works),
        cmocka_unit_test(bad_requests_are_refused_with_a_type),
        cmocka_unit_test(five_finished_jobs_of_a_guest_are_kept),
        cmocka_unit_test(limits_are_kept_and_the_oldest_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
