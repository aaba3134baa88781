/* engine.c - see engine.h: the turn.
 *
 * Order within a turn, and why: (1) reconcile everything queued; (2) one commit of all records;
 * (3) only then orders, answers and the snapshot. After a crash between any two of these the
 * next process continues from the store and observations of the hosts. */
#include "engine/engine.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/control/check.h"
#include "engine/control/configure.h"
#include "engine/control/drain.h"
#include "engine/data/expect.h"
#include "engine/data/ownership.h"
#include "engine/impl.h"
#include "engine/incidents.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/turn/step.h"
#include "engine/persist.h"

enum { PUBLISH_EVERY_MS = 50, COMMIT_RETRY_MS = 500, INCIDENTS_EVERY_MS = 1000 };

static struct fleet_config fleet_config_from(const struct engine_config *config)
{
    return (struct fleet_config){
        .parallel_per_fleet = config->parallel_per_fleet,
        .parallel_outbound_per_node = config->parallel_outbound_per_node,
        .parallel_inbound_per_node = config->parallel_inbound_per_node,
        .bandwidth_per_node = config->bandwidth_per_node,
        .pending_timeout_ms = config->pending_timeout_ms,
        .abort_guard_ms = 30 * 1000,
        .idle_call_timeout_ms = 300 * 1000,
        .jobs_kept_per_guest = ENGINE_JOBS_KEPT_PER_GUEST,
        .jobs_kept = ENGINE_JOBS_KEPT,
        .migration = config->migration,
        .eviction_strategy = config->eviction_strategy,
        .memory_overcommit_percent = config->memory_overcommit_percent,
        .vcpus_per_cpu = config->vcpus_per_cpu,
        .needs_definition = true,
    };
}

static struct moment now_of(const struct engine *e)
{
    return (struct moment){clock_mono_ms(e->parts.clock), clock_wall_ms(e->parts.clock)};
}

/* Shown with the reason, and paged; nothing is decided for it. */
static void hold_unreadable(struct engine *e, struct job *job)
{
    char why[JOB_REASON_MAX];
    TEXT_SET(why, job->wait.reason);
    job->entered_ms = now_of(e).mono_ms;
    job->queue.wake_ms = job->entered_ms + FLEET_SLOT_KEPT_MS;
    step_wait(job, PENDING_INTERNAL_ERROR, now_of(e), "its rows in the store cannot be read: %s",
              why);
    fleet_settle_job(e->fleet, job);
    if (job->placement.launcher != LAUNCHER_NONE && job->target[0] != '\0')
        ledger_restore(e->fleet, job);
    incidents_unreadable(e->fleet, job, now_of(e).wall_ms);
}

/* Deletes nothing because of a clock that is wrong at the start: what is stored tells how late it
 * was, also where no migration ran for long. */
static void begin_retention(struct engine *e)
{
    struct moment now = now_of(e);
    int64_t newest_ms = e->stored_ms;
    for (const struct job *job = e->fleet->jobs; job != NULL; job = job->hh.next) {
        newest_ms = job->times.created_ms > newest_ms ? job->times.created_ms : newest_ms;
        newest_ms = job->times.ended_ms > newest_ms ? job->times.ended_ms : newest_ms;
    }
    if (newest_ms > 0 && newest_ms < now.wall_ms)
        clock_follower_begin(&e->retention_clock, now.mono_ms, newest_ms);
}

static void restore_unfinished(struct engine *e, struct job *jobs)
{
    struct job *job, *next;
    HASH_ITER(links.hh_guest, jobs, job, next)
    {
        fault_point(FAULT_DURING_ADOPTION);
        if (job->unreadable) {
            hold_unreadable(e, job);
            continue;
        }
        reconcile_restore(e->fleet, job, now_of(e), &e->fx);
        LOG(INFO, "job_restored", FIELD_TEXT(MIGRATION, job->name),
            FIELD_TEXT(FROM, phase_name(job->phase)), FIELD_I64(EPOCH, job->epoch));
    }
}

static void restore_jobs(struct engine *e)
{
    begin_retention(e);
    for (struct job *final = e->fleet->jobs; final != NULL; final = final->hh.next)
        if (phase_is_final(final->phase))
            reconcile_restore_final(final, now_of(e));
    restore_unfinished(e, e->fleet->active);
    restore_unfinished(e, e->fleet->observed.jobs);
    rollback_broken_jobs(e, now_of(e));
}

static struct setup *setup_from(const struct engine_config *config)
{
    struct fleet_config fleet_config = fleet_config_from(config);
    OWNED(setup) setup = setup_new(&fleet_config, config->n_hosts);
    for (size_t i = 0; setup != NULL && i < config->n_hosts; i++) {
        static const struct host_settings none;
        const struct host_settings *settings =
            config->host_settings != NULL ? &config->host_settings[i] : &none;
        setup->hosts[i].cordoned = settings->cordoned;
        if (!setup_host(setup, i, &config->hosts[i], settings->labels, settings->taints))
            return NULL;
    }
    return setup != NULL ? TAKE(setup) : NULL;
}

struct input *engine_configure_input(const struct engine_config *config)
{
    struct input *input = intake_new(INPUT_CONFIGURE, "", "");
    if (input == NULL)
        return NULL;
    input->of.setup = setup_from(config);
    if (input->of.setup != NULL)
        return input;
    input_free(input);
    return NULL;
}

static bool fill(struct engine *e, const struct engine_config *config, struct err *err)
{
    struct fleet_config fleet_config = fleet_config_from(config);
    uint64_t seed = e->parts.seed;
    if (seed == 0 && getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        return err_set(err, ERR_IO, "no random numbers from the system");
    e->fleet = fleet_new(&fleet_config, seed, err);
    e->inbox = queue_new(sizeof(struct input *), ENGINE_QUEUE_MAX, err);
    if (e->fleet == NULL || e->inbox == NULL)
        return false;
    e->publisher = publisher_new(err);
    if (e->publisher == NULL)
        return false;
    OWNED(setup) setup = setup_from(config);
    if (setup == NULL)
        return err_set(err, ERR_NOMEM, "out of memory: %zu nodes", config->n_hosts);
    if (!configure_fleet(e->fleet, setup, now_of(e), err))
        return false;
    struct store_identity identity = {0};
    e->fleet->marks.cells = config->cells != NULL ? *config->cells : (struct fleet_cells){0};
    if (!e->parts.store->ops->identity(e->parts.store, &identity, err) ||
        !persist_load(e->parts.store, e->fleet, err))
        return false;
    TEXT_SET(e->fleet->marks.identity.id, identity.id);
    e->fleet->marks.identity.epoch = identity.epoch;
    e->fleet->marks.identity.restored = identity.restored_ms > 0;
    e->stored_ms = identity.seen_ms;
    expect_restore(e->fleet);
    return true;
}

struct engine *engine_new(const struct engine_config *config, const struct engine_parts *parts,
                          struct err *err)
{
    OWNED(engine) e = calloc(1, sizeof *e);
    if (e == NULL) {
        err_set(err, ERR_NOMEM, "out of memory: engine");
        return NULL;
    }
    e->parts = *parts;
    e->storage = config->storage;
    e->storage.unsafe = config->migration.unsafe;
    (void)pthread_mutex_init(&e->probes_lock, NULL);
    atomic_init(&e->store_ok, true);
    atomic_init(&e->turn_ended_ms, now_of(e).mono_ms);
    if (!fill(e, config, err))
        return NULL;
    if (parts->commit_patience_ms > 0) {
        e->committer = committer_new(parts->store, err);
        if (e->committer == NULL)
            return NULL;
    }
    restore_jobs(e);
    return TAKE(e);
}

void engine_free(struct engine *e)
{
    if (e == NULL)
        return;
    committer_free(e->committer);
    struct input *input;
    while (e->inbox != NULL && queue_pop(e->inbox, &input, 0) == QUEUE_ITEM) {
        if (input->slot != NULL) {
            struct answer answer = {.slot = input->slot};
            err_set(&answer.err, ERR_UNREACHABLE, "the appliance is stopping");
            intake_answer(&answer);
        }
        input_free(input);
    }
    for (size_t i = 0; i < e->n_answers; i++) {
        struct answer answer = {.slot = e->answers[i].slot, .text = e->answers[i].text};
        err_set(&answer.err, ERR_UNREACHABLE, "the appliance is stopping");
        intake_answer(&answer);
    }
    for (size_t i = 0; i < e->n_judged; i++)
        verdict_rows_unref(e->judged[i]);
    probe_free_all(e);
    probe_volumes_free_all(e);
    probe_dirty_free_all(e);
    (void)pthread_mutex_destroy(&e->probes_lock);
    queue_free(e->inbox);
    effects_fini(&e->fx);
    publisher_free(e->publisher);
    fleet_free(e->fleet);
    free(e);
}

static void log_host(const struct input *input)
{
    if (input->of.connected)
        LOG(INFO, "node_connected", FIELD_TEXT(NODE, input->host));
    else
        LOG(WARN, "node_lost", FIELD_TEXT(NODE, input->host), FIELD_TEXT(ERROR, input->err.text));
}

/* A question changes nothing and needs no commit. */
static void answer_question(struct engine *e, const struct question *question,
                            struct answer *answer)
{
    switch (question->kind) {
    case QUESTION_CHECK:
        if (question->measure_s > 0)
            probe_dirty(e, question);
        answer->text = check_guest(e->fleet, question, now_of(e), &answer->err);
        break;
    case QUESTION_DRAIN_PLAN:
        answer->text =
            drain_plan(e->fleet, question->name, question->shutdown, now_of(e), &answer->err);
        break;
    }
}

static void log_request(const struct input *input, const struct answer *answer)
{
    const char *what = input->kind == INPUT_CREATE      ? "migration_asked"
                       : input->kind == INPUT_CANCEL    ? "abort_asked"
                       : input->kind == INPUT_PUT       ? "document_written"
                       : input->kind == INPUT_REMOVE    ? "document_removed"
                       : input->kind == INPUT_CONFIGURE ? "configuration_given"
                                                        : "eviction_asked";
    const char *name = input->kind == INPUT_EVICT    ? input->of.evict.pod
                       : input->kind == INPUT_REMOVE ? input->of.remove.name
                                                     : answer->ref.name;
    LOG(INFO, what, FIELD_TEXT(NAME, name), FIELD_TEXT(ERROR, answer->err.text));
}

/* Kept for the commit, with its incident, and set in the job if that is still in memory. There
 * is room: engine_post_verdict_rows() accepts no more than that. */
static void take_verdict_rows(struct engine *e, struct input *input)
{
    struct verdict_rows *judged = input->of.judged;
    struct job *job = fleet_job(e->fleet, judged->verdict.job_uid);
    assert(e->n_judged < COUNT(e->judged));
    e->judged[e->n_judged++] = verdict_rows_ref(judged);
    incidents_judged(e->fleet, judged, now_of(e).wall_ms);
    struct verdict_rows *shown = job != NULL ? verdict_rows_new(judged, true) : NULL;
    if (shown == NULL)
        return;
    verdict_rows_unref(job->result.verdict_rows);
    job->result.verdict_rows = shown;
    job->version = fleet_touch(e->fleet);
    bool crashed = guest_at_from_name(judged->verdict.guest_at) == GUEST_AT_CRASHED;
    if (crashed && job->resolution.guest_at != GUEST_AT_CRASHED) {
        job->resolution.guest_at = GUEST_AT_CRASHED;
        job->changed = true;
        effects_event(&e->fx, job, now_of(e).wall_ms, true, "FellAfterArrival",
                      "The guest arrived on %s and ended there a moment later: %s", job->target,
                      judged->verdict.cause);
        fleet_settle_job(e->fleet, job);
    }
}

static void handle(struct engine *e, struct input *input)
{
    if (input->kind == INPUT_HOST)
        log_host(input);
    struct answer answer = {.slot = input->slot};
    if (input->kind == INPUT_ASK)
        answer_question(e, &input->of.ask, &answer);
    else if (input->kind == INPUT_JUDGED)
        take_verdict_rows(e, input);
    else
        (void)reconcile(e->fleet, input, now_of(e), &e->fx, &answer.ref, &answer.err);
    atomic_fetch_add(&e->events, 1);
    if (input_class(input->kind) == INPUT_IS_REQUEST)
        log_request(input, &answer);
    if (answer.slot != NULL)
        e->answers[e->n_answers++] = answer;
    rollback_broken_jobs(e, now_of(e)); /* an answer may belong to one */
    input_free(input);
}

/* Before any decision: a job must not take a lost message for silence of a host. */
static void note_missed(struct engine *e)
{
    struct collector_stats collector;
    collector_stats(e->parts.collector, &collector);
    uint64_t missed = collector.events_dropped + atomic_load(&e->messages_dropped);
    struct input input = {.kind = INPUT_MISSED};
    if (missed != e->missed)
        (void)reconcile(e->fleet, &input, now_of(e), &e->fx, NULL, NULL);
    e->missed = missed;
}

static bool take_inputs(struct engine *e)
{
    note_missed(e);
    struct input *input;
    bool any = false;
    for (unsigned i = 0; i < ENGINE_TURN_MAX && e->n_answers < COUNT(e->answers); i++) {
        if (queue_pop(e->inbox, &input, 0) != QUEUE_ITEM)
            break;
        handle(e, input);
        any = true;
    }
    struct input tick = {.kind = INPUT_TICK};
    if (reconcile_next_ms(e->fleet, now_of(e).mono_ms) <= now_of(e).mono_ms)
        (void)reconcile(e->fleet, &tick, now_of(e), &e->fx, NULL, NULL);
    rollback_broken_jobs(e, now_of(e));
    return any;
}

static void notify_step(struct engine *e, const struct effect *effect)
{
    const struct job *job = fleet_job(e->fleet, effect->job_uid);
    if (job == NULL)
        return;
    LOG(INFO, "migration_step", FIELD_TEXT(MIGRATION, job->name),
        FIELD_TEXT(GUEST, job->guest_name), FIELD_TEXT(FROM, phase_name(effect->of.step.from)),
        FIELD_TEXT(TO, phase_name(effect->of.step.to)),
        FIELD_TEXT(WHY, effect->of.step.from == PHASE_NONE ? "accepted"
                                                           : trigger_name(effect->of.step.why)),
        FIELD_I64(SPENT_MS, effect->of.step.spent_ms),
        FIELD_TEXT(TEXT, job->result.failure_reason));
    struct snapshot_job view;
    publish_job(e->fleet, job, &view);
    if (e->parts.sink.on_step != NULL)
        e->parts.sink.on_step(e->parts.sink.ctx, &view, effect->of.step.from, effect->of.step.why,
                              effect->of.step.spent_ms);
    if (phase_is_final(effect->of.step.to) && e->parts.sink.on_finished != NULL)
        e->parts.sink.on_finished(e->parts.sink.ctx, &view);
}

/* The target's events are no longer received: only the observation after the end can show it. */
static void report_crashed(struct engine *e, const struct effect *effect)
{
    const struct job *job = fleet_job(e->fleet, effect->job_uid);
    if (job == NULL || job->result.outcome != OUTCOME_SUCCEEDED ||
        e->parts.sink.on_crashed == NULL || strcmp(effect->of.observation.moment, "later") != 0 ||
        strcmp(effect->of.observation.role, "target") != 0)
        return;
    const struct guest *guest = fleet_guest(e->fleet, job->guest_uuid);
    const struct domain *owner = guest != NULL ? guest->owner : NULL;
    if (owner != NULL && domain_is_up(owner) && strcmp(owner->node->name, job->target) != 0)
        return; /* the guest was migrated again */
    enum ownership_side side = ownership_side(&effect->of.observation.observation);
    if (side == SIDE_OFF || side == SIDE_ABSENT)
        e->parts.sink.on_crashed(e->parts.sink.ctx, job->uid);
}

static void notify_event(struct engine *e, const struct effect *effect)
{
    char text[PERSIST_TEXT_MAX];
    struct store_event event = persist_event(e->fleet, effect);
    e->parts.sink.on_event(e->parts.sink.ctx, &event);
    if (persist_guest_event(e->fleet, effect, text, &event))
        e->parts.sink.on_event(e->parts.sink.ctx, &event);
}

static void notify(struct engine *e, const struct effect *effect)
{
    if (effect->kind == EFFECT_OBSERVATION)
        report_crashed(e, effect);
    if (effect->kind == EFFECT_STEP)
        notify_step(e, effect);
    if (effect->kind == EFFECT_DECISION && e->parts.sink.on_decision != NULL)
        e->parts.sink.on_decision(e->parts.sink.ctx, effect->of.decision.monitor,
                                  effect->of.decision.shadow,
                                  decision_name(effect->of.decision.is.why));
    if (effect->kind == EFFECT_EVENT && e->parts.sink.on_event != NULL)
        notify_event(e, effect);
    if (effect->kind == EFFECT_EVENT && effect->of.event.warning)
        LOG(WARN, "migration_event", FIELD_TEXT(MIGRATION, effect->job_uid),
            FIELD_TEXT(WHY, effect->of.event.reason), FIELD_TEXT(TEXT, effect->of.event.message));
    if (effect->kind == EFFECT_ERROR)
        LOG(WARN, "hypervisor_error", FIELD_TEXT(MIGRATION, effect->job_uid),
            FIELD_TEXT(NODE, effect->of.error.node), FIELD_TEXT(CALL, effect->of.error.call),
            FIELD_I64(HV_CODE, effect->of.error.err.hv_code),
            FIELD_I64(HV_DOMAIN, effect->of.error.err.hv_domain),
            FIELD_TEXT(TEXT, effect->of.error.err.text));
}

static void notify_verdict(struct engine *e)
{
    for (size_t i = 0; i < e->n_judged; i++) {
        const struct store_verdict *verdict = &e->judged[i]->verdict;
        const struct job *job = fleet_job(e->fleet, verdict->job_uid);
        LOG(INFO, "migration_judged",
            FIELD_TEXT(MIGRATION, job != NULL ? job->name : verdict->job_uid),
            FIELD_TEXT(CAUSE, verdict->cause), FIELD_TEXT(PLANE, verdict->plane),
            FIELD_TEXT(TEXT, verdict->action));
        if (e->parts.sink.on_judged != NULL)
            e->parts.sink.on_judged(e->parts.sink.ctx, e->judged[i]);
        verdict_rows_unref(e->judged[i]);
    }
    atomic_fetch_sub(&e->judging, e->n_judged);
    e->n_judged = 0;
}

/* Finished jobs leave memory when their owner deleted them or five newer ones exist. */
static void forget(struct engine *e)
{
    for (size_t i = 0; i < e->fx.n; i++) {
        const struct effect *effect = &e->fx.list[i];
        struct job *job = fleet_job(e->fleet, effect->job_uid);
        if (job == NULL || !phase_is_final(job->phase))
            continue;
        if (effect->kind == EFFECT_DO_REMOVE) {
            fleet_remove_job(e->fleet, job);
        } else if (effect->kind == EFFECT_STEP && phase_is_final(effect->of.step.to)) {
            char guest[HV_UUID_MAX];
            TEXT_SET(guest, job->guest_uuid);
            fleet_prune_jobs(e->fleet, guest);
        }
    }
}

static void publish_if_due(struct engine *e, bool at_once)
{
    struct moment now = now_of(e);
    bool changed = e->fleet->version != e->published;
    if (e->parts.sink.on_snapshot == NULL || !changed ||
        (!at_once && e->published != 0 && now.mono_ms - e->published_ms < PUBLISH_EVERY_MS))
        return;
    const struct snapshot *snapshot = publish(e->publisher, e->fleet, now.wall_ms);
    if (snapshot == NULL)
        return; /* out of memory: the old one stays */
    e->published = e->fleet->version;
    e->published_ms = now.mono_ms;
    e->parts.sink.on_snapshot(e->parts.sink.ctx, snapshot);
    snapshot_unref(snapshot);
}

/* Commits fail or hang: nothing is started and no request is accepted, but queries and abort orders
 * still go out. An abort for a call that waits in this very list is not given: there is nothing
 * to abort. */
static bool goes_uncommitted(const struct engine *e, const struct effect *effect)
{
    switch (effect_commit(effect->kind)) {
    case EFFECT_WAITS: return false;
    case EFFECT_GOES: return true;
    case EFFECT_STOPS: return !dispatch_holds_call(e, effect->job_uid);
    case EFFECT_MAY_STOP: return effect->of.act.stops && !dispatch_holds_call(e, effect->job_uid);
    }
    return false;
}

static void turn_without_commit(struct engine *e, const struct err *err)
{
    if (err->code == ERR_FENCED && !atomic_exchange(&e->is_fenced, true))
        LOG(ERROR, "commit_fenced", FIELD_TEXT(ERROR, err->text));
    if (atomic_exchange(&e->store_ok, false))
        LOG(ERROR, "commit_failed", FIELD_TEXT(ERROR, err->text));
    e->fleet->store_ok = false;
    e->retry_at_ms = now_of(e).mono_ms + COMMIT_RETRY_MS;
    size_t left = 0;
    for (size_t i = 0; i < e->n_answers;
         i++) /* a refusal needs no commit; some requesters have left */
        if (!intake_answer_uncommitted(&e->answers[i]))
            e->answers[left++] = e->answers[i];
    e->n_answers = left;

    left = 0;
    for (size_t i = 0; i < e->fx.n; i++) { /* actions that went out leave the list */
        struct effect *effect = &e->fx.list[i];
        if (goes_uncommitted(e, effect))
            dispatch(e, effect);
        else if (left++ != i)
            e->fx.list[left - 1] = *effect;
    }
    e->fx.n = left;
}

static void turn_after_commit(struct engine *e)
{
    if (!atomic_exchange(&e->store_ok, true)) {
        LOG(INFO, "commit_works_again", FIELD_I64(COUNT, e->fx.n));
        e->fleet->drains_due = true;
        e->fleet->queue.crowded = true;
    }
    e->fleet->store_ok = true;
    for (size_t i = 0; i < e->fx.n; i++) {
        dispatch(e, &e->fx.list[i]);
        notify(e, &e->fx.list[i]);
    }
    notify_verdict(e);
    forget(e);
    publish_if_due(e, e->n_answers > 0);
    for (size_t i = 0; i < e->n_answers; i++)
        intake_answer(&e->answers[i]);
    e->n_answers = 0;
    effects_clear(&e->fx);
}

static void retain(struct engine *e)
{
    struct moment now = now_of(e);
    struct err err = {0};
    bool more = false;
    if (fleet_is_standby(e->fleet) || e->parts.store->ops->retain == NULL ||
        now.mono_ms < e->retain_at_ms)
        return;
    int64_t wall_ms = clock_follow(&e->retention_clock, now.mono_ms, now.wall_ms);
    if (!e->parts.store->ops->retain(e->parts.store, wall_ms, &more, &err))
        LOG(WARN, "retention_failed", FIELD_TEXT(ERROR, err.text));
    e->retain_at_ms = now_of(e).mono_ms + (more ? RETENTION_AGAIN_MS : RETENTION_EVERY_MS);
}

int64_t engine_step(struct engine *e)
{
    bool busy = take_inputs(e);
    struct moment now = now_of(e);
    bool idle = !busy && !commit_has_records(e) && atomic_load(&e->store_ok);
    if (now.mono_ms - e->aged_ms >= INCIDENTS_EVERY_MS) {
        incidents_tick(e->fleet, now.wall_ms);
        e->aged_ms = now.mono_ms;
    }
    if (atomic_load(&e->store_ok) || now.mono_ms >= e->retry_at_ms) {
        struct err err = {0};
        if (commit_turn(e, &err))
            turn_after_commit(e);
        else
            turn_without_commit(e, &err);
    }
    if (idle && atomic_load(&e->store_ok)) /* a commit of this very turn may hang by now */
        retain(e);
    atomic_fetch_add(&e->turns, 1);
    if (!e->commit_hangs)
        atomic_store(&e->turn_ended_ms, now_of(e).mono_ms);
    atomic_store(&e->active_jobs, HASH_CNT(links.hh_guest, e->fleet->active));
    if (busy && queue_depth(e->inbox) > 0)
        return 0;
    int64_t wait_ms = reconcile_next_ms(e->fleet, now.mono_ms) - now.mono_ms;
    if (e->fleet->version != e->published && wait_ms > PUBLISH_EVERY_MS)
        wait_ms = PUBLISH_EVERY_MS;
    return wait_ms < 0 ? 0 : wait_ms;
}

void engine_wait(struct engine *e, int64_t timeout_ms)
{
    struct input *input;
    if (timeout_ms <= 0)
        return;
    if (e->n_answers == COUNT(e->answers)) /* the queue is not read: commits fail */
        clock_sleep_ms(timeout_ms);
    else if (queue_pop(e->inbox, &input, timeout_ms) == QUEUE_ITEM) {
        note_missed(e);
        handle(e, input);
    }
}

void engine_stats(struct engine *e, struct engine_stats *out_stats)
{
    *out_stats = (struct engine_stats){
        .turns = atomic_load(&e->turns),
        .events = atomic_load(&e->events),
        .posts_dropped = atomic_load(&e->posts_dropped),
        .commit_failures = atomic_load(&e->commit_failures),
        .internal_errors = atomic_load(&e->internal_errors),
        .queue_depth = queue_depth(e->inbox),
        .active_jobs = atomic_load(&e->active_jobs),
        .store_ok = atomic_load(&e->store_ok),
        .is_fenced = atomic_load(&e->is_fenced),
        .commit_ms_last = atomic_load(&e->commit_ms_last),
        .commit_ms_max = atomic_load(&e->commit_ms_max),
        .turn_age_ms = now_of(e).mono_ms - atomic_load(&e->turn_ended_ms),
    };
}

uint64_t engine_hash(struct engine *e)
{
    return fleet_hash(e->fleet);
}
