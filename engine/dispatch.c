/* dispatch.c - carries out the actions of a committed turn. Nothing here blocks; an action that
 * cannot be submitted is answered at once by an input. */
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/data/executor.h"
#include "engine/data/order.h"
#include "engine/impl.h"
#include "engine/persist.h"

enum { ORDER_FRESH_MS = 3000, POSTCOPY_FRESH_MS = 1000 };

/* The answer to an action that could not be submitted; the caller fills it further and posts it.
 * NULL without memory: then it counts as dropped. */
static struct input *refusal(const struct effect *effect, const struct err *err)
{
    struct input *input =
        intake_new(effect_answer(effect->kind), effect->of.act.node, effect->of.act.guest);
    if (input != NULL) {
        input->id = effect->of.act.id;
        input->err = *err;
    }
    return input;
}

static void refuse_order(struct engine *e, const struct effect *effect, const struct err *err)
{
    struct input *input = refusal(effect, err);
    if (input != NULL)
        input->of.call = effect_call(effect);
    (void)intake_post(e, input);
}

static void order(struct engine *e, const struct effect *effect, const struct job *job)
{
    struct err err = {0};
    if (!executor_order(e->parts.act, effect, job, intake_reply_sink(e), &err))
        refuse_order(e, effect, &err);
}

/* An order that waited for its commit is given only if it is still valid: no abort was
 * requested, and the observation of both hosts behind it is not old. Else it is withdrawn, and
 * the core observes again. */
static void migrate(struct engine *e, const struct effect *effect)
{
    const struct job *job = fleet_job(e->fleet, effect->job_uid);
    int64_t waited_ms = clock_wall_ms(e->parts.clock) - effect->wall_ms;
    bool stale = waited_ms > ORDER_FRESH_MS || waited_ms < -ORDER_FRESH_MS;
    bool recovers = (effect->of.act.migrate.flags & HV_MIGRATE_RESUME) != 0;
    bool wanted = job != NULL && (recovers ? !phase_is_final(job->phase) : !job->abort.asked);
    if (wanted && !stale) {
        order(e, effect, job);
        return;
    }
    struct err err = {0};
    err_set(&err, ERR_REFUSED, "the order was withdrawn before it was given");
    refuse_order(e, effect, &err);
}

/* The same for an order about a running migration, or about a backup that blocks it: valid
 * before an outage of the store, perhaps not after it. */
static void tune(struct engine *e, const struct effect *effect)
{
    const struct job *job = fleet_job(e->fleet, effect->job_uid);
    int64_t waited_ms = clock_wall_ms(e->parts.clock) - effect->wall_ms;
    /* The target answered just before the order to switch to post-copy. */
    int64_t fresh_ms =
        effect->of.act.call == HV_CALL_START_POSTCOPY ? POSTCOPY_FRESH_MS : ORDER_FRESH_MS;
    bool stale = waited_ms > fresh_ms || waited_ms < -fresh_ms;
    if (job != NULL && order_stands(job, effect) && !stale) {
        order(e, effect, job);
        return;
    }
    struct err err = {0};
    err_set(&err, ERR_REFUSED, "the order was withdrawn before it was given");
    refuse_order(e, effect, &err);
}

bool dispatch_holds_call(const struct engine *e, const char *job_uid)
{
    for (size_t i = 0; i < e->fx.n; i++)
        if (e->fx.list[i].kind == EFFECT_DO_MIGRATE && strcmp(e->fx.list[i].job_uid, job_uid) == 0)
            return true;
    return false;
}

/* Its call is in the same list and is withdrawn too: there is nothing to abort, and an abort
 * might hit a job of somebody else. */
static void stop(struct engine *e, const struct effect *effect)
{
    if (!dispatch_holds_call(e, effect->job_uid)) {
        order(e, effect, NULL);
        return;
    }
    struct err err = {0};
    err_set(&err, ERR_REFUSED, "no migration was started");
    refuse_order(e, effect, &err);
}

static void observe(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    if (collector_query_state(e->parts.collector, effect->of.act.id, effect->of.act.node,
                              effect->of.act.guest, &err))
        return;
    struct input *input = refusal(effect, &err);
    if (input != NULL)
        input->of.observation.presence = HV_UNREACHABLE;
    (void)intake_post(e, input);
}

static void ask_job(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    struct hv_request request = {
        .id = effect->of.act.id, .call = effect_call(effect), .reply_to = intake_reply_sink(e)};
    TEXT_SET(request.host, effect->of.act.node);
    TEXT_SET(request.guest, effect->of.act.guest);
    if (hv_observe_submit(e->parts.observe, &request, &err))
        return;
    if (effect->kind == EFFECT_DO_ASK_FINAL)
        return; /* the job is over: no answer is needed */
    (void)intake_post(e, refusal(effect, &err));
}

static void probe(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    struct hv_request request = {
        .id = effect->of.act.id, .call = effect_call(effect), .reply_to = intake_reply_sink(e)};
    TEXT_SET(request.host, effect->of.act.node);
    TEXT_SET(request.guest, effect->of.act.guest);
    if (effect->kind == EFFECT_DO_ASK_PATH)
        TEXT_SET(request.with.peer, effect->of.act.from);
    if (!hv_probe_submit(e->parts.probe, &request, &err))
        (void)intake_post(e, refusal(effect, &err));
}

static void watch(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    bool (*begin)(struct collector *, const char *, const char *, const char *, int64_t,
                  struct err *) =
        effect->of.act.foreign ? collector_watch_foreign : collector_watch;
    if (!begin(e->parts.collector, effect->job_uid, effect->of.act.node, effect->of.act.guest,
               effect->of.act.next_seq, &err))
        LOG(WARN, "watch_refused", FIELD_TEXT(MIGRATION, effect->job_uid),
            FIELD_TEXT(ERROR, err.text));
}

/* A user's pause that waited for its commit: he was not told that it was accepted, and the guest
 * may be in a migration by now. */
static bool is_stale_pause(struct engine *e, const struct effect *effect)
{
    int64_t waited_ms = clock_wall_ms(e->parts.clock) - effect->wall_ms;
    bool by_user = effect->kind == EFFECT_DO_PAUSE || effect->kind == EFFECT_DO_UNPAUSE;
    return by_user && (waited_ms > ORDER_FRESH_MS || waited_ms < -ORDER_FRESH_MS);
}

/* An order whose result shows in the next observation: a guest that stops. */
static void order_guest(struct engine *e, const struct effect *effect)
{
    struct err err = {0};
    enum hv_call call = effect_call(effect);
    struct hv_request request = {.call = call, .reply_to = intake_reply_sink(e)};
    TEXT_SET(request.host, effect->of.act.node);
    TEXT_SET(request.guest, effect->of.act.guest);
    bool given = is_stale_pause(e, effect)
                     ? err_set(&err, ERR_REFUSED, "the order was withdrawn before it was given")
                     : hv_act_submit(e->parts.act, &request, &err);
    if (!given)
        LOG(WARN, "order_not_given", FIELD_TEXT(NODE, effect->of.act.node),
            FIELD_TEXT(GUEST, effect->of.act.guest), FIELD_TEXT(CALL, hv_call_name(call)),
            FIELD_TEXT(ERROR, err.text));
}

static bool is_only_read(struct engine *e, const char *name)
{
    const struct node *node = fleet_node(e->fleet, name);
    return node != NULL && node->host.observe;
}

/* Whatever was decided, perhaps by an earlier process in another mode: a host in observe mode is
 * only read, and no guest is sent to it. The one that the order is about; NULL: none. */
static const char *forbidden_at(struct engine *e, const struct effect *effect)
{
    enum hv_call call = effect_is_record(effect->kind) ? HV_CALL_COUNT : effect_call(effect);
    if (call == HV_CALL_COUNT || hv_call_access(call) == HV_ACCESS_OBSERVE)
        return NULL;
    const char *const nodes[] = {effect->of.act.node, effect->of.act.from,
                                 effect->of.act.migrate.target};
    for (size_t i = 0; i < COUNT(nodes); i++)
        if (is_only_read(e, nodes[i]))
            return nodes[i];
    return NULL;
}

static void withhold(struct engine *e, const struct effect *effect, const struct err *err)
{
    LOG(WARN, "order_withheld", FIELD_TEXT(NODE, effect->of.act.node),
        FIELD_TEXT(GUEST, effect->of.act.guest),
        FIELD_TEXT(CALL, hv_call_name(effect_call(effect))), FIELD_TEXT(ERROR, err->text));
    enum input_kind answer = effect_answer(effect->kind);
    if (answer == INPUT_CALL)
        refuse_order(e, effect, err);
    else if (answer != INPUT_COUNT)
        (void)intake_post(e, refusal(effect, err));
}

static void forbid(struct engine *e, const struct effect *effect, const char *node)
{
    struct err err = {0};
    err_set(&err, ERR_REFUSED, "node %s is in observe mode", node);
    withhold(e, effect, &err);
}

/* Of several appliances only the one with enough of the lease left changes a guest, and also stops
 * one only then: the next holder may have given other orders. */
static bool is_withheld(struct engine *e, const struct effect *effect, struct err *err)
{
    enum hv_call call = effect_is_record(effect->kind) ? HV_CALL_COUNT : effect_call(effect);
    if (call == HV_CALL_COUNT || hv_call_access(call) != HV_ACCESS_ACT)
        return false;
    if (atomic_load(&e->is_fenced))
        return !err_set(err, ERR_REFUSED, "another appliance holds the lease by now");
    return e->parts.permit.ok != NULL && !e->parts.permit.ok(e->parts.permit.ctx, err);
}

void dispatch(struct engine *e, const struct effect *effect)
{
    struct err withheld = {0};
    if (is_withheld(e, effect, &withheld)) {
        withhold(e, effect, &withheld);
        return;
    }
    const char *forbidden = forbidden_at(e, effect);
    if (forbidden != NULL) {
        forbid(e, effect, forbidden);
        return;
    }
    switch (effect->kind) {
    case EFFECT_DO_OBSERVE: observe(e, effect); break;
    case EFFECT_DO_ASK_JOB:
    case EFFECT_DO_ASK_FINAL: ask_job(e, effect); break;
    case EFFECT_DO_ASK_STREAM:
    case EFFECT_DO_ASK_PATH: probe(e, effect); break;
    case EFFECT_DO_MIGRATE: migrate(e, effect); break;
    case EFFECT_DO_ABORT: stop(e, effect); break;
    case EFFECT_DO_TUNE: tune(e, effect); break;
    case EFFECT_DO_COMPARE_CPU: probe_cpu(e, effect); break;
    case EFFECT_DO_ASK_VOLUMES: probe_volumes(e, effect); break;
    case EFFECT_DO_SHUTDOWN:
    case EFFECT_DO_PAUSE:
    case EFFECT_DO_UNPAUSE:
    case EFFECT_DO_CLEAR_MARK: order_guest(e, effect); break;
    case EFFECT_DO_STOP_BACKUP: tune(e, effect); break;
    case EFFECT_DO_WATCH: watch(e, effect); break;
    case EFFECT_DO_UNWATCH: collector_unwatch(e->parts.collector, effect->job_uid); break;
    case EFFECT_DO_RECORD_MONITOR_INPUT: persist_monitor_input(e->parts.store, effect); break;
    default: break; /* a record: already stored */
    }
}
