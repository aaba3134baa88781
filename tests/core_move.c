/* core_move.c - see core_move.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "tests/core_move.h"

enum { SAMPLE_MS = 400, MIB = 1 << 20 };

#define OBSERVATION(state, reason)                        \
    {                                                     \
        HV_PRESENT, state, reason, false, false, -1, 0, 0 \
    }
const struct hv_observation CORE_SWITCHING = OBSERVATION(HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
const struct hv_observation CORE_PC_SOURCE = OBSERVATION(HV_STATE_PAUSED, HV_PAUSED_POSTCOPY);
const struct hv_observation CORE_PC_TARGET = OBSERVATION(HV_STATE_RUNNING, HV_RUNNING_POSTCOPY);
const struct hv_observation CORE_PC_BROKEN_SOURCE =
    OBSERVATION(HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED);
const struct hv_observation CORE_PC_BROKEN_TARGET =
    OBSERVATION(HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED);

/* Orders about downtime are taken. */
static void tuned(struct core_world *w)
{
    if (core_orders(w, HV_CALL_SET_DOWNTIME) == 0)
        return;
    uint64_t id = core_newest(w, HV_CALL_SET_DOWNTIME)->of.act.id;
    if (w->tuned_id != id)
        core_answers(w, HV_CALL_SET_DOWNTIME, ERR_NONE);
    w->tuned_id = id;
}

static void sample(struct core_world *w, uint64_t bytes)
{
    const struct job *job = core_job(w);
    struct input input = {.kind = INPUT_SAMPLE};
    struct sample *one = &input.of.sample;
    TEXT_SET(one->job_uid, w->job);
    one->seq = job->monitor.next_sample_seq;
    one->mono_ms = w->now.mono_ms;
    one->wall_ms = w->now.wall_ms;
    one->bandwidth_bps = 10 * MIB;
    one->stats = (struct hv_job_stats){.type = HV_JOB_UNBOUNDED,
                                       .operation = HV_OPERATION_MIGRATION_OUT,
                                       .data_total = UINT64_C(1) << 40,
                                       .memory_total = UINT64_C(1) << 40,
                                       .data_processed = bytes,
                                       .memory_processed = bytes,
                                       .data_remaining = w->rest_bytes,
                                       .memory_remaining = w->rest_bytes,
                                       .memory_iteration = 1 + bytes / (48 * MIB),
                                       .memory_dirty_rate = 10240,
                                       .memory_page_size = 4096};
    core_feed(w, &input);
    core_settle(w);
    tuned(w);
}

void core_flow(struct core_world *w, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += SAMPLE_MS) {
        core_advance(w, SAMPLE_MS);
        sample(w, core_job(w)->stream.bytes + 16 * MIB);
    }
}

void core_stall(struct core_world *w, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += SAMPLE_MS) {
        core_advance(w, SAMPLE_MS);
        sample(w, core_job(w)->stream.bytes);
    }
}

void core_stall_until(struct core_world *w, enum hv_call call, unsigned n, int64_t limit_ms)
{
    for (int64_t i = 0; core_orders(w, call) < n; i += SAMPLE_MS) {
        if (i >= limit_ms)
            fail_msg("%u orders %s after %lld ms, not %u; waits for '%s'", core_orders(w, call),
                     hv_call_name(call), (long long)limit_ms, n, core_job(w)->wait.reason);
        core_stall(w, SAMPLE_MS);
    }
}

void core_lifecycle_event(struct core_world *w, const char *host, int lifecycle, int detail)
{
    struct input input = {.kind = INPUT_EVENT};
    struct hv_event *event = &input.of.event;
    event->kind = HV_EVENT_LIFECYCLE;
    event->a = lifecycle;
    event->b = detail;
    event->at_ms = w->now.mono_ms;
    TEXT_SET(event->host, host);
    TEXT_SET(event->guest, CORE_GUEST);
    TEXT_SET(input.host, host);
    TEXT_SET(input.guest, CORE_GUEST);
    core_feed(w, &input);
    core_settle(w);
}

struct core_world *core_flowing(const char *policy, bool disks)
{
    struct core_world *w = core_new();
    if (policy != NULL)
        assert_true(core_put(w, OBJECT_POLICY, "p", policy));
    w->volumes.n = 1;
    w->volumes.list[0].block = (struct hv_block_info){.capacity = MIB};
    w->volumes.list[0].at = (struct hv_volume_info){.known = true, .exists = true, .capacity = MIB};
    struct core_request request = {
        .volumes = disks ? "[{\"name\":\"vda\",\"destination\":{\"path\":\"/b/g.img\"}}]" : NULL};
    const struct job *job = core_ask(w, "g1", &request);
    assert_non_null(job);
    TEXT_SET(w->job, job->uid);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    core_flow(w, 2000);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    return w;
}

struct core_world *core_in_postcopy(void)
{
    struct core_world *w = core_flowing("{\"selectors\":{},\"allowPostCopy\":true}", false);
    w->source = CORE_PC_SOURCE;
    w->target = CORE_PC_TARGET;
    core_lifecycle_event(w, "h1", HV_LIFECYCLE_SUSPENDED, CORE_SUSPENDED_POSTCOPY);
    core_lifecycle_event(w, "h2", HV_LIFECYCLE_RESUMED, 3);
    core_flow(w, 1200);
    assert_int_equal(core_job(w)->mode, MODE_POSTCOPY);
    return w;
}

void core_breaks(struct core_world *w, struct hv_observation source, struct hv_observation target)
{
    w->source = source;
    w->target = target;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
}

/* ---- orders ---- */

static bool is_order(const struct effect *effect, enum hv_call call)
{
    if (effect->kind == EFFECT_DO_MIGRATE)
        return call == HV_CALL_MIGRATE && (effect->of.act.migrate.flags & HV_MIGRATE_RESUME) != 0;
    return effect->kind == EFFECT_DO_TUNE && effect->of.act.call == call;
}

unsigned core_orders(const struct core_world *w, enum hv_call call)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += is_order(&w->fx.list[i], call);
    return n;
}

unsigned core_remedies(const struct core_world *w)
{
    return core_orders(w, HV_CALL_YANK) + core_orders(w, HV_CALL_DROP_COPY) +
           core_orders(w, HV_CALL_KILL_STREAM) + core_orders(w, HV_CALL_ABORT);
}

const struct effect *core_newest(const struct core_world *w, enum hv_call call)
{
    for (size_t i = w->fx.n; i-- > 0;)
        if (is_order(&w->fx.list[i], call))
            return &w->fx.list[i];
    fail_msg("no order %s was given", hv_call_name(call));
    return NULL;
}

void core_answers(struct core_world *w, enum hv_call call, enum err_code code)
{
    const struct effect *order = core_newest(w, call);
    struct input input = {.kind = INPUT_CALL, .id = order->of.act.id, .of.call = call};
    TEXT_SET(input.host, order->of.act.node);
    TEXT_SET(input.guest, CORE_GUEST);
    if (code != ERR_NONE) {
        err_set(&input.err, code, "operation refused");
        input.err.hv_code = code == ERR_HYPERVISOR ? 55 : 38;
    }
    core_feed(w, &input);
    core_settle(w);
}

void core_stop_answered(struct core_world *w, enum err_code code)
{
    struct input input = {.kind = INPUT_CALL, .id = w->stop_id, .of.call = HV_CALL_ABORT};
    TEXT_SET(input.host, "h1");
    TEXT_SET(input.guest, CORE_GUEST);
    if (code != ERR_NONE)
        err_set(&input.err, code, "operation refused");
    core_feed(w, &input);
}

void core_answer_stream(struct core_world *w, const struct effect *effect)
{
    w->asks.streams++;
    if (w->loses.streams)
        return;
    struct input input = {
        .kind = INPUT_STREAM, .id = effect->of.act.id, .of.migration = w->migration};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    if (w->migration.status == HV_MIGRATION_UNKNOWN)
        err_set(&input.err, ERR_HYPERVISOR, "the monitor does not answer");
    core_feed(w, &input);
}

void core_answer_stop(struct core_world *w, const struct effect *effect)
{
    w->backup_stops++;
    w->stop_id = effect->of.act.id;
    if (!w->loses.stops)
        core_stop_answered(w, ERR_NONE);
}

bool core_override(struct core_world *w, enum override_kind word)
{
    struct input input = {.kind = INPUT_RESOLVE, .of.resolve.kind = word};
    struct migration_ref ref = {{0}, {0}, {0}};
    TEXT_SET(input.of.resolve.ns, "default");
    TEXT_SET(input.of.resolve.name, core_job(w)->name);
    TEXT_SET(input.of.resolve.requester, "operator");
    TEXT_SET(input.of.resolve.why, "I went there and looked");
    w->err = (struct err){0};
    bool done = reconcile(w->fleet, &input, w->now, &w->fx, &ref, &w->err);
    assert_int_equal(done, w->err.code == ERR_NONE);
    core_settle(w);
    return done;
}

static bool is_closed(const struct core_world *w, const struct effect *opened)
{
    for (size_t i = 0; i < w->fx.n; i++) {
        const struct effect *effect = &w->fx.list[i];
        if (effect->kind == EFFECT_INTENT && effect->of.intent.seq == opened->of.intent.seq &&
            effect->of.intent.epoch == opened->of.intent.epoch &&
            strcmp(effect->job_uid, opened->job_uid) == 0 &&
            strcmp(effect->of.intent.status, "open") != 0)
            return true;
    }
    return false;
}

unsigned core_open_intents(const struct core_world *w)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += w->fx.list[i].kind == EFFECT_INTENT &&
             strcmp(w->fx.list[i].of.intent.status, "open") == 0 && !is_closed(w, &w->fx.list[i]);
    return n;
}

unsigned core_intents(const struct core_world *w, const char *action)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += w->fx.list[i].kind == EFFECT_INTENT &&
             strcmp(w->fx.list[i].of.intent.status, "open") == 0 &&
             strcmp(effect_intent_name(&w->fx.list[i]), action) == 0;
    return n;
}
