/* core_world.c - see core_world.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/core_world.h"

const struct hv_sight CORE_RUNS = {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, false, -1, 0,
                                   0};
const struct hv_sight CORE_ARRIVED = {
    HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_MIGRATED, false, -1, 0, 0};
const struct hv_sight CORE_INCOMING = {
    HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION, false, -1, 0, 0};
const struct hv_sight CORE_SUSPENDED = {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_USER, false, -1, 0,
                                        0};
const struct hv_sight CORE_BROKEN = {
    HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED, false, -1, 0, 0};
const struct hv_sight CORE_ABSENT = {.presence = HV_ABSENT};
const struct hv_sight CORE_BLIND = {.presence = HV_UNREACHABLE};

void core_feed(struct core_world *w, const struct input *input)
{
    struct migration_ref ref = {{0}, {0}, {0}};
    struct err err = {0};
    struct input own = *input;
    assert_true(reconcile(w->fleet, &own, w->now, &w->fx, &ref, &err));
    if (input->kind == INPUT_CREATE)
        TEXT_SET(w->job, ref.uid);
}

struct job *core_job(struct core_world *w)
{
    struct job *job = fleet_job(w->fleet, w->job);
    assert_non_null(job);
    return job;
}

static void answer_look(struct core_world *w, const struct effect *effect)
{
    if (w->loses_looks)
        return;
    struct input input = {.kind = INPUT_LOOK, .id = effect->of.act.id};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    input.of.sight = strcmp(effect->of.act.node, "h1") == 0 ? w->source : w->target;
    core_feed(w, &input);
}

static void answer_ask_job(struct core_world *w, const struct effect *effect)
{
    struct input input = {.kind = INPUT_ASK_JOB, .id = effect->of.act.id};
    TEXT_SET(input.guest, effect->of.act.guest);
    if (w->source.presence != HV_PRESENT)
        err_set(&input.err, ERR_UNREACHABLE, "no");
    input.of.stats.type = w->job_type;
    input.of.stats.operation = w->job_operation;
    core_feed(w, &input);
}

static void play(struct core_world *w, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_DO_LOOK: answer_look(w, effect); break;
    case EFFECT_DO_ASK_JOB: answer_ask_job(w, effect); break;
    case EFFECT_DO_MIGRATE:
        w->migrate_id = effect->of.act.id;
        w->migrates++;
        break;
    case EFFECT_DO_ABORT:
        w->abort_id = effect->of.act.id;
        w->aborts++;
        break;
    case EFFECT_DO_WATCH: w->watches++; break;
    case EFFECT_DO_UNWATCH: w->unwatches++; break;
    case EFFECT_EVENT:
        w->warnings += effect->of.event.warning;
        if (effect->of.event.warning)
            TEXT_SET(w->event, effect->of.event.reason);
        break;
    default: break;
    }
}

void core_settle(struct core_world *w)
{
    struct input tick = {.kind = INPUT_TICK};
    core_feed(w, &tick);
    while (w->played < w->fx.n) {
        struct effect effect = w->fx.list[w->played++];
        play(w, &effect);
    }
}

void core_pass(struct core_world *w, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 100) {
        w->now.mono_ms += 100;
        w->now.wall_ms += 100;
        core_settle(w);
    }
}

void core_connect(struct core_world *w, const char *host, bool connected)
{
    struct input input = {.kind = INPUT_HOST, .of.connected = connected};
    TEXT_SET(input.host, host);
    core_feed(w, &input);
}

static void list_guests(struct core_world *w, const char *host, const char *uuid, const char *name,
                        const struct hv_sight *sight)
{
    struct hv_guest guest = {.state = sight->state, .reason = sight->reason, .memory_kib = 65536};
    TEXT_SET(guest.uuid, uuid);
    TEXT_SET(guest.name, name);
    TEXT_SET(guest.ns, "default");
    struct hv_guest_list list = {sight->presence == HV_PRESENT, &guest};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, host);
    core_feed(w, &input);
}

struct core_world *core_new(void)
{
    struct core_world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    struct fleet_config config = {.pending_timeout_ms = 900000,
                                  .unschedulable_timeout_ms = 300000,
                                  .prepare_timeout_ms = 60000,
                                  .abort_guard_ms = 30000,
                                  .idle_call_timeout_ms = 300000,
                                  .jobs_kept_per_guest = 5,
                                  .jobs_kept = 100};
    migration_config_default(&config.migration);
    struct err err = {0};
    w->now = (struct moment){1000, 1700000000000};
    w->fleet = fleet_new(&config, 7, &err);
    assert_non_null(w->fleet);
    for (int i = 1; i <= 2; i++) {
        struct hv_host host = {.name = {0}};
        (void)snprintf(host.name, sizeof host.name, "h%d", i);
        assert_true(fleet_add_node(w->fleet, &host, w->now.wall_ms, &err));
        core_connect(w, host.name, true);
    }
    w->source = CORE_RUNS;
    w->target = CORE_ABSENT;
    list_guests(w, "h1", CORE_GUEST, "g1", &w->source);
    list_guests(w, "h2", CORE_GUEST, "g1", &w->target);
    return w;
}

void core_free(struct core_world *w)
{
    fleet_free(w->fleet);
    effects_fini(&w->fx);
    free(w);
}

void core_create(struct core_world *w)
{
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, "g1");
    TEXT_SET(input.of.create.request.requester, "tester");
    core_feed(w, &input);
    core_settle(w);
}

void core_cancel(struct core_world *w)
{
    struct input input = {.kind = INPUT_CANCEL};
    TEXT_SET(input.of.cancel.ns, "default");
    TEXT_SET(input.of.cancel.name, core_job(w)->name);
    TEXT_SET(input.of.cancel.requester, "tester");
    core_feed(w, &input);
    core_settle(w);
}

void core_sample(struct core_world *w)
{
    struct input input = {.kind = INPUT_SAMPLE};
    TEXT_SET(input.of.sample.job_uid, w->job);
    input.of.sample.stats.type = HV_JOB_UNBOUNDED;
    core_feed(w, &input);
    core_settle(w);
}

void core_returns(struct core_world *w, enum hv_call call, enum err_code code)
{
    struct input input = {.kind = INPUT_CALL, .of.call = call};
    input.id = call == HV_CALL_MIGRATE ? w->migrate_id : w->abort_id;
    TEXT_SET(input.guest, CORE_GUEST);
    if (code != ERR_NONE) {
        err_set(&input.err, code, "operation failed");
        input.err.hv_code = code == ERR_HYPERVISOR ? 9 : 38;
        input.err.hv_domain = code == ERR_HYPERVISOR ? 10 : 7;
    }
    core_feed(w, &input);
    core_settle(w);
}

void core_expect(struct core_world *w, enum phase phase, enum outcome outcome, enum guest_at at)
{
    struct job *job = core_job(w);
    assert_string_equal(phase_name(job->phase), phase_name(phase));
    assert_string_equal(outcome_name(job->outcome), outcome_name(outcome));
    if (phase_is_final(phase))
        assert_string_equal(guest_at_name(job->guest_at), guest_at_name(at));
}

/* Up to a migration whose memory moves. */
struct core_world *core_moving(void)
{
    struct core_world *w = core_new();
    core_create(w);
    assert_int_equal(w->migrates, 1);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_sample(w);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->target = CORE_INCOMING;
    return w;
}
