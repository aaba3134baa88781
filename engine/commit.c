/* commit.c - everything a turn decided, in one transaction; see engine.h.
 *
 * With a committer the engine's thread waits for a commit no longer than commit_patience_ms: then
 * its turn goes on as if the commit had failed (nothing starts, stop orders go out), and the next
 * turns ask whether it has returned. What it stored is not stored a second time.
 */
#include "base/fault.h"
#include "engine/impl.h"
#include "engine/incidents.h"
#include "engine/persist.h"

static int64_t now_ms(const struct engine *e)
{
    return clock_mono_ms(e->parts.clock);
}

/* Crash points of the kill tests, by what this commit is about to make durable. */
static void pass_fault_points(const struct effects *fx, bool committed)
{
    for (size_t i = 0; i < fx->n; i++) {
        const struct effect *effect = &fx->list[i];
        if (effect->kind == EFFECT_STEP && effect->of.step.from == PHASE_NONE)
            fault_point(committed ? FAULT_AFTER_ACCEPT_COMMIT : FAULT_BEFORE_ACCEPT_COMMIT);
        if (effect->kind == EFFECT_STEP && phase_is_final(effect->of.step.to) && !committed)
            fault_point(FAULT_BEFORE_OUTCOME_COMMIT);
        if (effect->kind == EFFECT_STEP && effect->of.step.to == PHASE_SCHEDULING && committed)
            fault_point(FAULT_AFTER_PLACEMENT_COMMIT);
        if (effect->kind == EFFECT_STEP && effect->of.step.to == PHASE_PREPARING_TARGET)
            fault_point(committed ? FAULT_AFTER_HANDOFF_COMMIT : FAULT_BEFORE_HANDOFF_COMMIT);
        if (effect->kind == EFFECT_DO_MIGRATE)
            fault_point(committed ? FAULT_AFTER_INTENT_COMMIT : FAULT_BEFORE_INTENT_COMMIT);
    }
}

static void put_changed(struct engine *e)
{
    struct store *store = e->parts.store;
    for (struct job *job = e->fleet->changed; job != NULL; job = job->links.next_changed) {
        job->version = fleet_touch(e->fleet); /* stored again, published again */
        if (job->frozen)
            continue; /* its row stays as of the last good turn */
        persist_job(store, job);
        if (job->placement.rejections_changed)
            persist_rejections(store, job);
    }
    for (struct object *o = e->fleet->changed_objects; o != NULL; o = o->next_changed)
        persist_object(store, e->fleet, o, clock_wall_ms(e->parts.clock));
}

static void mark_stored(struct engine *e)
{
    struct job *next;
    for (struct job *job = e->fleet->changed; job != NULL; job = next) {
        next = job->links.next_changed;
        job->links.next_changed = NULL;
        job->changed = job->links.listed = job->placement.rejections_changed = false;
    }
    e->fleet->changed = NULL;
    fleet_objects_stored(e->fleet);
    incidents_stored(&e->fleet->incidents);
}

/* A standby was promoted that lacks commits (store/postgres/pg_lane.h). The jobs, objects and open
 * incidents in memory are stored again with the next turn: a restart must not find less. Steps of
 * their history and events that were lost stay so. */
static void store_again_if_lost(struct engine *e)
{
    struct store_stats stats = {0};
    e->parts.store->ops->stats(e->parts.store, &stats);
    if (stats.commits_lost == e->commits_lost)
        return;
    e->commits_lost = stats.commits_lost;
    for (struct job *job = e->fleet->jobs; job != NULL; job = job->hh.next) {
        if (job->frozen)
            continue;
        job->changed = job->placement.rejections_changed = true;
        fleet_settle_job(e->fleet, job);
    }
    for (struct object *o = e->fleet->objects; o != NULL; o = o->hh.next)
        fleet_object_changed(e->fleet, o);
    incidents_store_again(&e->fleet->incidents);
}

bool commit_has_records(struct engine *e)
{
    for (size_t i = 0; i < e->fx.n; i++)
        if (effect_is_record(e->fx.list[i].kind))
            return true;
    return e->fleet->changed != NULL || e->fleet->changed_objects != NULL || e->n_judged > 0 ||
           e->fleet->incidents.changed;
}

/* The effects of the list that are being stored, or no longer are. */
static void mark_effects(struct engine *e, enum effect_stored from, enum effect_stored to)
{
    for (size_t i = 0; i < e->fx.n; i++)
        if (e->fx.list[i].stored == from)
            e->fx.list[i].stored = to;
}

static void put_all(struct engine *e)
{
    struct store *store = e->parts.store;
    store->ops->begin(store);
    put_changed(e);
    for (size_t i = 0; i < e->fx.n; i++)
        if (e->fx.list[i].stored == EFFECT_NOT_STORED)
            persist_effect(store, e->fleet, &e->fx.list[i]);
    for (size_t i = 0; i < e->n_judged; i++)
        verdict_rows_put(store, e->judged[i]);
    incidents_put(store, &e->fleet->incidents);
    mark_effects(e, EFFECT_NOT_STORED, EFFECT_IN_COMMIT);
}

/* Whether the commit has returned by then; *out_good: and succeeded. */
static bool wait_for_commit(struct engine *e, int64_t ms, bool *out_good, struct err *err)
{
    if (committer_wait(e->committer, ms, out_good, err)) {
        e->commit_hangs = false;
        mark_effects(e, EFFECT_IN_COMMIT, *out_good ? EFFECT_STORED : EFFECT_NOT_STORED);
        return true;
    }
    e->commit_hangs = true;
    return err_set(err, ERR_TIMEOUT,
                   "a commit has not returned in time: the disk or the database may hang");
}

static bool store_all(struct engine *e, struct err *err)
{
    bool good = false;
    put_all(e);
    if (e->committer == NULL) {
        good = e->parts.store->ops->commit(e->parts.store, err);
        mark_effects(e, EFFECT_IN_COMMIT, good ? EFFECT_STORED : EFFECT_NOT_STORED);
        return good;
    }
    committer_begin(e->committer);
    return wait_for_commit(e, e->parts.commit_patience_ms, &good, err) && good;
}

/* One that hung has returned: what changed since is stored by the next one. */
static bool settle_late(struct engine *e, struct err *err)
{
    bool good = false;
    return !e->commit_hangs || (wait_for_commit(e, 0, &good, err) && good);
}

bool commit_turn(struct engine *e, struct err *err)
{
    if (!settle_late(e, err)) {
        atomic_fetch_add(&e->commit_failures, !e->commit_hangs);
        return false;
    }
    if (!commit_has_records(e))
        return true;
    if (fleet_is_standby(e->fleet) && e->n_answers == 0) {
        mark_stored(e); /* what it makes of others' records is theirs to store; no request waits */
        return true;
    }
    e->commit_began_ms = now_ms(e);
    pass_fault_points(&e->fx, false);
    if (!store_all(e, err)) {
        atomic_fetch_add(&e->commit_failures, !e->commit_hangs);
        return false;
    }
    mark_stored(e);
    store_again_if_lost(e);
    pass_fault_points(&e->fx, true);
    int64_t spent_ms = now_ms(e) - e->commit_began_ms;
    atomic_store(&e->commit_ms_last, spent_ms);
    if (spent_ms > atomic_load(&e->commit_ms_max))
        atomic_store(&e->commit_ms_max, spent_ms);
    return true;
}
