/* scenario.c - see world.h: time, questions and orders. What hosts say about themselves is hosts.c.
 */
#include "tests/decisions/world.h"

#include <stdio.h>
#include <string.h>

#include "engine/incidents.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/fleet/ledger.h"
#include "engine/persist.h"
#include "tests/decisions/report.h"

void world_free(struct world *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->n_guests; i++) {
        free(w->guests[i].is.labels);
        free(w->guests[i].is.settings);
    }
    fleet_free(w->fleet);
    if (w->store != NULL)
        store_free(w->store);
    effects_fini(&w->fx);
    buf_fini(&w->out);
    yaml_free(w->yaml);
    free(w);
}

struct world_host *world_host(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->n_hosts; i++)
        if (strcmp(w->hosts[i].is.name, name) == 0)
            return &w->hosts[i];
    return NULL;
}

struct world_guest *world_guest(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->n_guests; i++)
        if (strcmp(w->guests[i].is.name, name) == 0)
            return &w->guests[i];
    return NULL;
}

struct world_guest *world_guest_by_uuid(struct world *w, const char *id)
{
    for (size_t i = 0; i < w->n_guests; i++)
        if (strcmp(w->guests[i].is.uuid, id) == 0)
            return &w->guests[i];
    return NULL;
}

int64_t world_elapsed_ms(const struct world *w)
{
    return w->now.wall_ms - WORLD_WALL_MS;
}

/* A host that is not connected sees nothing; then what the case says; then what follows from where
 * the guest lives and whether a migration of it is at work. */
struct hv_observation world_observation(struct world *w, const struct world_guest *guest,
                                        const char *host)
{
    const struct world_host *is = world_host(w, host);
    struct hv_observation observation = {.presence = HV_UNREACHABLE, .job_type = -1};
    if (is == NULL || !is->connected || guest == NULL)
        return observation;
    for (size_t i = 0; i < guest->n_seen; i++)
        if (strcmp(guest->seen[i].host, host) == 0)
            return guest->seen[i].is;
    observation.presence = HV_PRESENT;
    observation.state = guest->is.state;
    observation.reason = guest->is.reason;
    observation.persistent = guest->is.persistent;
    if (strcmp(guest->home, host) == 0)
        return observation;
    observation = (struct hv_observation){.presence = HV_ABSENT, .job_type = -1};
    if (guest->moves && strcmp(guest->target, host) == 0) {
        observation.presence = HV_PRESENT;
        observation.state = HV_STATE_PAUSED;
        observation.reason = HV_PAUSED_MIGRATION;
    }
    return observation;
}

bool world_feed(struct world *w, struct input *input, struct migration_ref *out_ref,
                struct err *err)
{
    bool done = reconcile(w->fleet, input, w->now, &w->fx, out_ref, err);
    struct err read = {0};
    if (!world_roll_back(w, &read))
        buf_addf(&w->out, "  internal error: %s\n", read.text);
    return done;
}

static void tell(struct world *w, struct input *input)
{
    struct migration_ref ref = {{0}, {0}, {0}};
    struct err err = {0};
    (void)world_feed(w, input, &ref, &err);
}

/* ---- questions ---- */

static struct input answer_to(const struct effect *effect, enum input_kind kind)
{
    struct input input = {.kind = kind, .id = effect->of.act.id};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    return input;
}

static bool is_connected(struct world *w, const char *host)
{
    const struct world_host *is = world_host(w, host);
    return is != NULL && is->connected;
}

static void answer_observe(struct world *w, const struct effect *effect)
{
    struct input input = answer_to(effect, INPUT_OBSERVED);
    input.of.observation =
        world_observation(w, world_guest_by_uuid(w, effect->of.act.guest), effect->of.act.node);
    report_monitor_input(w, effect, &input.of.observation);
    tell(w, &input);
}

static void answer_job(struct world *w, const struct effect *effect)
{
    const struct world_guest *guest = world_guest_by_uuid(w, effect->of.act.guest);
    struct input input = answer_to(effect, INPUT_ASK_JOB);
    bool present = world_observation(w, guest, effect->of.act.node).presence == HV_PRESENT;
    int operation = HV_OPERATION_UNKNOWN;
    if (guest != NULL && guest->job >= 0)
        operation = guest->job;
    else if (guest != NULL && guest->moves)
        operation = HV_OPERATION_MIGRATION_OUT;
    input.of.stats.operation = operation;
    input.of.stats.type = operation == HV_OPERATION_UNKNOWN ? HV_JOB_NONE : HV_JOB_UNBOUNDED;
    if (!present)
        err_set(&input.err, ERR_UNREACHABLE, "is unreachable");
    report_job(w, effect, present ? operation : -1);
    tell(w, &input);
}

static void answer_cpu(struct world *w, const struct effect *effect)
{
    const struct world_host *host = world_host(w, effect->of.act.node);
    struct input input = answer_to(effect, INPUT_CPU);
    input.of.comparison = host->comparison;
    if (!host->connected || host->loses_question)
        err_set(&input.err, ERR_UNREACHABLE, "is unreachable");
    else if (host->cannot_compare)
        err_set(&input.err, ERR_HYPERVISOR, "cannot compare");
    report_answer(w, effect, "compare-cpu",
                  input.err.code != ERR_NONE ? input.err.text
                  : host->comparison > 0     ? "has it"
                                             : "incompatible");
    tell(w, &input);
}

static void answer_volumes(struct world *w, const struct effect *effect)
{
    struct world_guest *guest = world_guest_by_uuid(w, effect->of.act.guest);
    struct input input = answer_to(effect, INPUT_VOLUMES);
    struct volume_facts facts = guest->at;
    input.of.volumes = &facts;
    if (!is_connected(w, effect->of.act.node))
        err_set(&input.err, ERR_UNREACHABLE, "is unreachable");
    report_volumes(w, effect, &input);
    tell(w, &input);
}

static void answer_path(struct world *w, const struct effect *effect)
{
    const struct world_host *host = world_host(w, effect->of.act.node);
    struct input input = answer_to(effect, INPUT_PATH);
    input.of.path = host->path;
    if (host->path == HV_PATH_UNKNOWN || !host->connected)
        err_set(&input.err, ERR_UNREACHABLE, "nobody answers");
    report_answer(w, effect, hv_call_name(HV_CALL_PROBE_PATH),
                  input.err.code != ERR_NONE ? input.err.text : hv_path_name(host->path));
    tell(w, &input);
}

/* What a step said, else that the migration runs. */
static void answer_stream(struct world *w, const struct effect *effect)
{
    struct world_guest *guest = world_guest_by_uuid(w, effect->of.act.guest);
    struct input input = answer_to(effect, INPUT_STREAM);
    input.of.migration.transferred = guest->sent;
    input.of.migration.status = guest->stream != HV_MIGRATION_UNKNOWN ? guest->stream
                                : guest->moves                        ? HV_MIGRATION_ACTIVE
                                                                      : HV_MIGRATION_NONE;
    if (!is_connected(w, effect->of.act.node) || guest->monitor_hangs)
        err_set(&input.err, ERR_UNREACHABLE, "nobody answers");
    report_answer(w, effect, hv_call_name(HV_CALL_QUERY_MIGRATE),
                  input.err.code != ERR_NONE ? input.err.text
                                             : hv_migration_status_name(input.of.migration.status));
    tell(w, &input);
}

/* Nobody kept the numbers of the last migration, unless the case says so. */
static void answer_final(struct world *w, const struct effect *effect)
{
    struct input input = answer_to(effect, INPUT_FINAL);
    const struct world_guest *guest = world_guest_by_uuid(w, effect->of.act.guest);
    if (guest != NULL && guest->downtime_ms > 0) {
        input.of.stats.type = HV_JOB_COMPLETED;
        input.of.stats.downtime_ms = (uint64_t)guest->downtime_ms;
    }
    tell(w, &input);
}

/* ---- orders ---- */

static void note_order(struct world *w, const struct effect *effect, enum hv_call call)
{
    if (w->n_orders == WORLD_ORDERS_MAX) { /* the older half is history */
        size_t kept = WORLD_ORDERS_MAX / 2;
        memmove(w->orders, w->orders + WORLD_ORDERS_MAX - kept, kept * sizeof w->orders[0]);
        w->n_orders = kept;
    }
    struct world_order *order = &w->orders[w->n_orders++];
    order->id = effect->of.act.id;
    order->call = call;
    TEXT_SET(order->host, effect->of.act.node);
    TEXT_SET(order->guest, effect->of.act.guest);
}

static void take_migrate(struct world *w, const struct effect *effect)
{
    struct world_guest *guest = world_guest_by_uuid(w, effect->of.act.guest);
    note_order(w, effect, HV_CALL_MIGRATE);
    if (guest == NULL || (effect->of.act.migrate.flags & HV_MIGRATE_RESUME) != 0)
        return;
    guest->moves = true;
    guest->sent = 0;
    TEXT_SET(guest->target, effect->of.act.migrate.target);
}

static void take_tune(struct world *w, const struct effect *effect)
{
    enum hv_call call = effect->of.act.call;
    if (call != HV_CALL_SET_DOWNTIME && call != HV_CALL_SET_SPEED) {
        note_order(w, effect, call);
        return;
    }
    struct input input = answer_to(effect, INPUT_CALL);
    input.of.call = call;
    tell(w, &input);
}

static void forget(struct world *w, const char *uid)
{
    struct job *job = fleet_job(w->fleet, uid);
    if (job != NULL && phase_is_final(job->phase))
        fleet_remove_job(w->fleet, job);
}

static void act(struct world *w, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_DO_OBSERVE: answer_observe(w, effect); break;
    case EFFECT_DO_ASK_JOB: answer_job(w, effect); break;
    case EFFECT_DO_ASK_FINAL: answer_final(w, effect); break;
    case EFFECT_DO_COMPARE_CPU: answer_cpu(w, effect); break;
    case EFFECT_DO_ASK_VOLUMES: answer_volumes(w, effect); break;
    case EFFECT_DO_ASK_STREAM: answer_stream(w, effect); break;
    case EFFECT_DO_ASK_PATH: answer_path(w, effect); break;
    case EFFECT_DO_MIGRATE: take_migrate(w, effect); break;
    case EFFECT_DO_ABORT:
    case EFFECT_DO_STOP_BACKUP: note_order(w, effect, HV_CALL_ABORT); break;
    case EFFECT_DO_SHUTDOWN: note_order(w, effect, HV_CALL_SHUTDOWN); break;
    case EFFECT_DO_TUNE: take_tune(w, effect); break;
    case EFFECT_DO_REMOVE: forget(w, effect->job_uid); break;
    default: break;
    }
}

/* ---- turns ---- */

/* Questions and stop orders go out although nothing can be recorded. */
static bool goes_uncommitted(const struct effect *effect)
{
    enum effect_commit commit = effect_commit(effect->kind);
    return commit == EFFECT_GOES || commit == EFFECT_STOPS ||
           (commit == EFFECT_MAY_STOP && effect->of.act.stops);
}

static void commit(struct world *w)
{
    struct store *store = w->store;
    struct fleet *f = w->fleet;
    struct job *next;
    struct err err = {0};
    store->ops->begin(store);
    for (struct job *job = f->changed; job != NULL; job = next) {
        next = job->links.next_changed;
        if (!job->frozen) {
            persist_job(store, job);
            if (job->placement.rejections_changed)
                persist_rejections(store, job);
        }
        job->links.next_changed = NULL;
        job->changed = job->links.listed = job->placement.rejections_changed = false;
    }
    f->changed = NULL;
    for (const struct object *o = f->changed_objects; o != NULL; o = o->next_changed)
        persist_object(store, f, o, w->now.wall_ms);
    for (size_t i = 0; i < w->fx.n; i++)
        persist_effect(store, f, &w->fx.list[i]);
    incidents_put(store, &f->incidents);
    if (!store->ops->commit(store, &err))
        buf_addf(&w->out, "  not stored: %s\n", err.text);
    fleet_objects_stored(f);
    incidents_stored(&f->incidents);
}

static void show(struct world *w)
{
    for (; w->shown < w->fx.n; w->shown++)
        report_effect(w, &w->fx.list[w->shown]);
}

/* While commits fail the list grows; what went out is not done again later. */
static void turn_without_commit(struct world *w)
{
    while (w->asked < w->fx.n) {
        struct effect effect = w->fx.list[w->asked++];
        if (!goes_uncommitted(&effect))
            continue;
        w->fx.list[w->asked - 1].kind = EFFECT_DO_RECORD_MONITOR_INPUT;
        act(w, &effect);
        show(w);
    }
}

static void turn(struct world *w)
{
    show(w);
    if (w->store_fails) {
        turn_without_commit(w);
        return;
    }
    commit(w);
    struct effects done = w->fx;
    w->fx = (struct effects){0};
    w->shown = w->asked = 0;
    for (size_t i = 0; i < done.n; i++) {
        act(w, &done.list[i]);
        show(w);
    }
    effects_fini(&done);
}

void world_settle(struct world *w)
{
    enum { TURNS_MAX = 200 };
    struct input tick = {.kind = INPUT_TICK};
    if (reconcile_next_ms(w->fleet, w->now.mono_ms) <= w->now.mono_ms)
        tell(w, &tick);
    incidents_tick(w->fleet, w->now.wall_ms);
    unsigned turns = 0;
    do {
        turn(w);
        if (++turns > TURNS_MAX) {
            buf_add(&w->out, "  it never rests: more than 200 turns in one moment\n");
            return;
        }
    } while (w->store_fails ? w->asked < w->fx.n : w->fx.n > 0);
    report_waits(w);
}

void world_iteration(struct world *w, int64_t until_ms)
{
    while (world_elapsed_ms(w) < until_ms) {
        int64_t left_ms = until_ms - world_elapsed_ms(w);
        int64_t step_ms = left_ms < WORLD_STEP_MS ? left_ms : WORLD_STEP_MS;
        w->now.mono_ms += step_ms;
        w->now.wall_ms += step_ms;
        world_settle(w);
    }
}

bool world_is_lawful(struct world *w, struct err *err)
{
    char text[512];
    if (!ledger_check(w->fleet, text, sizeof text))
        return err_set(err, ERR_INTERNAL, "the ledger differs from a recount: %s", text);
    for (const struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        if (job_flaw(job) != NULL)
            return err_set(err, ERR_INTERNAL, "%s: %s", job->name, job_flaw(job));
    return true;
}
