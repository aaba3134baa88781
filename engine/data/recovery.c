/* recovery.c - see recovery.h. */
#include "engine/data/recovery.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/final.h"
#include "engine/data/flags.h"
#include "engine/data/order.h"
#include "engine/data/stream.h"
#include "hypervisor/versions.h"

static const enum recovery_plan plans[SIDE_COUNT][SIDE_COUNT] = {
#define RECOVER(source, target, plan) [SIDE_##source][SIDE_##target] = RECOVER_##plan,
#include "engine/data/recovery_plan.def"
#undef RECOVER
};

enum recovery_plan recovery_plan(enum ownership_side source, enum ownership_side target)
{
    return plans[source][target];
}

static void open_window(struct job *job, struct moment now)
{
    job->recovery.until_ms = now.wall_ms + RECOVERY_WINDOW_MS;
    job->recovery.ends_ms = now.mono_ms + RECOVERY_WINDOW_MS;
    /* The window restarts while data flows; the new end is shown only now and then, also while
     * an order is open. */
    bool shown = job->wait.pending == PENDING_RECOVERY && job->wait.until_ms != 0;
    if (shown && job->recovery.until_ms - job->wait.until_ms >= RECOVERY_SHOWN_MS) {
        job->wait.until_ms = job->recovery.until_ms;
        job->changed = true;
    }
}

static void enter(struct job *job, enum recovery state, struct moment now)
{
    if (job->recovery.state == state)
        return;
    bool first = job->recovery.state == RECOVERY_NONE;
    job->recovery.state = state;
    job->recovering = state != RECOVERY_RECOVERED && state != RECOVERY_IRRECOVERABLE;
    job->resolving = job->resolving || job->recovering; /* the ending is not known */
    job->changed = true;
    if (first) {
        job->recovery.since_ms = now.wall_ms;
        open_window(job, now);
    }
}

/* Sets the pending reason; emits an event when it changes. */
static void show(struct job *job, enum recovery state, const char *text, struct moment now,
                 struct effects *fx)
{
    bool state_changed = job->recovery.state != state;
    bool bad = state == RECOVERY_EXHAUSTED || state == RECOVERY_BLIND;
    bool begins = job->recovery.state == RECOVERY_NONE || job->recovery.state == RECOVERY_BLIND ||
                  job->recovery.state == RECOVERY_EXHAUSTED;
    if (state_changed && (bad || begins))
        step_wait_over(job, now); /* another wait, with another end */
    enter(job, state, now);
    const char *source =
        ownership_side_name(ownership_side(&job->resolution.source_side.observation));
    const char *target =
        ownership_side_name(ownership_side(&job->resolution.target_side.observation));
    step_wait(job, PENDING_RECOVERY, now, "%s (source %s %s, target %s %s; attempts: %u)", text,
              job->source, source, job->target, target, job->recovery.tries);
    job->wait.until_ms = bad ? 0 : job->recovery.until_ms;
    if (state_changed)
        effects_event(fx, job, now.wall_ms, true, bad ? "PostCopyNotRecovered" : "PostCopyBroken",
                      "%s", job->wait.reason);
}

/* The new end is shown at once: the first attempt may have to wait for a node or the store. */
static void reopen(struct job *job, const char *text, struct moment now, struct effects *fx)
{
    open_window(job, now);
    show(job, RECOVERY_WAITING, text, now, fx);
}

static void pause_stream(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                    .call = HV_CALL_ABORT,
                                    .intent = INTENT_PAUSE_STREAM,
                                    .node = job->source};
    struct effect *effect = order_give(f, job, ORDER_RECOVERY, &spec, now, fx);
    effect->of.act.postcopy = true;
    job->recovery.next_ms = now.mono_ms + RECOVERY_AGAIN_MS / 4;
    job->recovery.paused = true;
}

/* ---- ways to resume ---- */

static unsigned bit(enum recovery_way way)
{
    return 1U << way;
}

const char *recovery_unsafe_text(const struct job *job)
{
    static const char *const texts[] = {"", "libvirt", "monitor", "libvirt monitor"};
    _Static_assert(COUNT(texts) == 1U << RECOVERY_WAY_COUNT, "one text for each set of ways");
    return texts[job->recovery.unsafe % COUNT(texts)];
}

void recovery_read_unsafe(struct job *job, const char *text)
{
    job->recovery.unsafe = 0;
    for (enum recovery_way way = 0; way < RECOVERY_WAY_COUNT; way++)
        if (strstr(text, recovery_way_name(way)) != NULL)
            job->recovery.unsafe |= bit(way);
}

static uint64_t losses_of(struct fleet *f, const struct job *job)
{
    const struct node *source = fleet_node(f, job->source), *target = fleet_node(f, job->target);
    return (source != NULL ? source->lost.times : 0) + (target != NULL ? target->lost.times : 0);
}

/* The node whose daemon ended while the newest order was open, or within seconds of its answer;
 * NULL: none. */
static const struct node *killed_node(struct fleet *f, const struct job *job)
{
    const struct node *nodes[] = {fleet_node(f, job->target), fleet_node(f, job->source)};
    if (job->recovery.tried_ms == 0 || job->recovery.way == RECOVERY_WAY_COUNT ||
        losses_of(f, job) == job->recovery.losses)
        return NULL;
    int64_t until_ms = job->orders[ORDER_RECOVERY].id != 0 ? INT64_MAX
                       : job->recovery.answered_ms > job->recovery.tried_ms
                           ? job->recovery.answered_ms + RECOVERY_DEATH_MS
                           : job->recovery.tried_ms + RECOVERY_DEATH_MS;
    for (size_t i = 0; i < COUNT(nodes); i++)
        if (nodes[i] != NULL && nodes[i]->lost.closed &&
            nodes[i]->lost.at_ms >= job->recovery.tried_ms && nodes[i]->lost.at_ms <= until_ms)
            return nodes[i];
    return NULL;
}

/* An order after which a daemon ended is not repeated without an operator's request. */
static void note_death(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct node *node = killed_node(f, job);
    if (node == NULL || (job->recovery.unsafe & bit(job->recovery.way)) != 0)
        return;
    job->recovery.unsafe |= bit(job->recovery.way);
    job->changed = true;
    effects_event(
        fx, job, now.wall_ms, true, "DaemonEnded",
        "libvirtd on %s ended %lld ms after attempt %u to resume the post-copy by %s; it is not "
        "repeated.",
        node->name, (long long)(node->lost.at_ms - job->recovery.tried_ms), job->recovery.tries,
        recovery_way_name(job->recovery.way));
}

/* The target's libvirt version decides how post-copy can be resumed; it is known shortly after
 * the target connects. */
static bool knows_version(struct fleet *f, const struct job *job)
{
    const struct node *target = fleet_node(f, job->target);
    return target != NULL && target->facts_fresh;
}

/* COUNT: no way is known to be safe, out_why has the reason. libvirt's own way comes first: it
 * leaves no trace in the guest's process. */
static enum recovery_way choose_way(struct fleet *f, const struct job *job, char *out_why,
                                    size_t bytes)
{
    const struct node *target = fleet_node(f, job->target);
    unsigned long version = target != NULL ? target->facts.libvirt_version : 0;
    bool quirk = target != NULL && hv_quirk_of(HV_QUIRK_RESUME_KILLS_TARGET, version,
                                               target->facts.hypervisor_version);
    bool tunnelled = (job->call.flags & HV_MIGRATE_TUNNELLED) != 0;
    bool has_port = job->stream.port != 0 && !tunnelled && target != NULL &&
                    hv_host_listens_on_address(&target->host);
    if (!quirk && (job->recovery.unsafe & bit(RECOVERY_WAY_LIBVIRT)) == 0)
        return RECOVERY_WAY_LIBVIRT;
    if (has_port && (job->recovery.unsafe & bit(RECOVERY_WAY_MONITOR)) == 0)
        return RECOVERY_WAY_MONITOR;
    char text[HV_VERSION_TEXT_MAX];
    hv_version_text(version, text);
    if (quirk)
        (void)snprintf(out_why, bytes, "%s has libvirt %s: %s", job->target, text,
                       hv_quirk_why(HV_QUIRK_RESUME_KILLS_TARGET));
    else
        (void)snprintf(out_why, bytes, "a libvirtd ended right after the last attempt by %s",
                       recovery_unsafe_text(job));
    size_t n = strlen(out_why);
    (void)snprintf(out_why + n, bytes - n, "; %s",
                   has_port ? "a libvirtd ended after the monitor's command too"
                            : "the port for the monitor's command is not known");
    return RECOVERY_WAY_COUNT;
}

/* As at hand-off, bandwidth included: limits of the old stream do not apply to a new one. */
static void resume(struct fleet *f, struct job *job, enum recovery_way way, struct moment now,
                   struct effects *fx)
{
    bool by_monitor = way == RECOVERY_WAY_MONITOR;
    char number[32];
    (void)snprintf(number, sizeof number, "attempt %u by %s", ++job->recovery.tries,
                   recovery_way_name(way));
    const struct order_spec spec = {.effect = by_monitor ? EFFECT_DO_TUNE : EFFECT_DO_MIGRATE,
                                    .call = by_monitor ? HV_CALL_RESUME_STREAM : HV_CALL_MIGRATE,
                                    .intent = INTENT_RECOVER,
                                    .node = job->source,
                                    .argument = number};
    struct effect *effect = order_give(f, job, ORDER_RECOVERY, &spec, now, fx);
    flags_fill(job, &effect->of.act.migrate);
    TEXT_SET(effect->of.act.migrate.target, job->target);
    effect->of.act.migrate.flags |= HV_MIGRATE_RESUME | HV_MIGRATE_POSTCOPY;
    /* libvirt makes the target's QEMU listen anew: on the same port, so that this stays the way for
     * the monitor's command too. Once: that port may be what made the attempt fail. */
    if (!by_monitor && job->recovery.tries > 1)
        job->stream.port = 0;
    effect->of.act.migrate.port = job->stream.port;
    job->recovery.way = way;
    job->recovery.losses = losses_of(f, job);
    job->recovery.next_ms = now.mono_ms + RECOVERY_AGAIN_MS;
    job->recovery.path_ms = 0;
    job->recovery.paused = job->recovery.tries % 5 != 0; /* the source may have resumed */
    /* A new stream: no data about it yet. */
    job->recovery.forced = false;
    job->recovery.tried_ms = now.mono_ms;
    stream_begin(job, now);
}

static void probe(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->recovery.state != RECOVERY_WAITING) /* else the present reason stays */
        show(job, RECOVERY_WAITING, "Post-copy broken; probing the path between the nodes first",
             now, fx);
    job->recovery.path_id = ++f->next_call_id;
    job->recovery.path_asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_PATH, job, now.wall_ms);
    effect->of.act.id = job->recovery.path_id;
    TEXT_SET(effect->of.act.node, job->source);
    TEXT_SET(effect->of.act.from, job->target);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

/* Is an attempt useful? True as well where this is not known. */
static bool path_allows(struct fleet *f, struct job *job, struct moment now)
{
    struct job_recovery *recovery = &job->recovery;
    bool tunnelled = (job->call.flags & HV_MIGRATE_TUNNELLED) != 0;
    if (tunnelled || !fleet_has_helper(f, job->source))
        return true;
    bool doubtful =
        recovery->path_dead_ms != 0 && now.mono_ms - recovery->path_dead_ms >= RECOVERY_DOUBT_MS;
    if (doubtful)
        recovery->path_dead_ms = now.mono_ms;
    bool fresh = recovery->path_ms != 0 && now.mono_ms - recovery->path_ms <= RECOVERY_ANSWER_MS;
    return doubtful || (fresh && recovery->path != HV_PATH_DEAD);
}

static void try_again(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (!knows_version(f, job)) {
        show(job, RECOVERY_WAITING,
             "Post-copy broken; the target's libvirt version is not known yet", now, fx);
        return;
    }
    if (!path_allows(f, job, now)) {
        probe(f, job, now, fx);
        return;
    }
    char why[JOB_NOTE_MAX * 2];
    enum recovery_way way = choose_way(f, job, why, sizeof why);
    if (way == RECOVERY_WAY_COUNT) {
        char text[JOB_REASON_MAX / 2 + JOB_NOTE_MAX];
        (void)snprintf(
            text, sizeof text,
            "Post-copy broken, both sides are alive, and there is no safe way to resume: %s", why);
        show(job, RECOVERY_EXHAUSTED, text, now, fx);
        return;
    }
    show(job, RECOVERY_RESUMING, "Resuming post-copy", now, fx);
    resume(f, job, way, now, fx);
}

/* The target does not know that the stream is dead: its own helper can close it. */
static void kill_at_target(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                    .call = HV_CALL_KILL_STREAM,
                                    .intent = INTENT_KILL_STREAM,
                                    .node = job->target};
    (void)order_give(f, job, ORDER_RECOVERY, &spec, now, fx);
    job->recovery.killed = true;
    job->recovery.next_ms = now.mono_ms + RECOVERY_AGAIN_MS / 4;
}

/* Bytes were measured to move just now. */
static bool moves(const struct job *job, struct moment now)
{
    bool measured = job->progress.has_sample || job->stream.query.flow_ms != 0;
    return measured && job->stream.flow_ms > job->recovery.tried_ms &&
           now.mono_ms - job->stream.flow_ms < RECOVERY_QUIET_MS;
}

/* The stream is dead if bytes were measured not to move for long enough, if the source's QEMU
 * itself says so, or if an operator decided. Missing measurements prove nothing. */
static bool is_dead(const struct job *job, int64_t stable_ms, struct moment now)
{
    return (stream_quiet_ms(job) >= RECOVERY_QUIET_MS && stable_ms >= RECOVERY_QUIET_MS) ||
           stream_state(job, now) == HV_STREAM_BROKEN ||
           (job->recovery.forced && stream_blind_ms(job, now) >= STREAM_PAGE_MS);
}

bool recovery_is_unmeasured(const struct job *job, struct moment now)
{
    return stream_blind_ms(job, now) >= STREAM_PAGE_MS && !job->recovery.forced;
}

void recovery_unmeasured(struct job *job, struct moment now, struct effects *fx)
{
    if (job->recovery.state == RECOVERY_EXHAUSTED)
        return;
    char text[JOB_REASON_MAX / 2];
    (void)snprintf(text, sizeof text,
                   "Post-copy: %.64s has reported no statistics and its QEMU has not answered for "
                   "%d s, so the stream may be dead or alive; nothing is ordered. `ferry recover` "
                   "ends the stream and resumes post-copy",
                   job->source, STREAM_PAGE_MS / 1000);
    show(job, RECOVERY_BLIND, text, now, fx);
}

void recovery_measured(struct job *job, struct moment now)
{
    if (job->recovery.state != RECOVERY_BLIND)
        return;
    job->recovery.state = RECOVERY_NONE; /* the window begins anew */
    job->recovering = false;
    step_wait_over(job, now);
    job->changed = true;
}

/* Adopted in mid-stream, without a sign that it broke. */
static bool is_whole(const struct job *job)
{
    return job->recovery.state == RECOVERY_NONE && !job->call.over &&
           ownership_side(&job->resolution.source_side.observation) == SIDE_POSTCOPY &&
           ownership_side(&job->resolution.target_side.observation) == SIDE_POSTCOPY;
}

/* As far as is known only libvirt's connection broke. */
static void watch(struct fleet *f, struct job *job, int64_t stable_ms, struct moment now,
                  struct effects *fx)
{
    bool target_is_blind =
        ownership_side(&job->resolution.source_side.observation) == SIDE_POSTCOPY_FAILED;
    if (stream_blind_ms(job, now) >= STREAM_BLIND_MS)
        stream_ask(f, job, now, fx);
    if (!is_dead(job, stable_ms, now)) {
        if (recovery_is_unmeasured(job, now)) {
            recovery_unmeasured(job, now, fx);
        } else if (!is_whole(job)) {
            show(job, RECOVERY_WATCHING,
                 "Post-copy lost its libvirt connection; QEMU may finish by itself", now, fx);
        } else if (job->resolving) {
            job->resolving = false; /* the migration simply runs, without a call of this process; it
                                       is observed */
            job->changed = true;
        }
        return;
    }
    if (!job->recovery.paused) {
        show(job, RECOVERY_PAUSING,
             job->recovery.forced
                 ? "An operator decided that the stream, which cannot be measured, is dead; "
                   "closing it"
                 : "No data is transferred; closing the dead post-copy stream",
             now, fx);
        pause_stream(f, job, now, fx);
    } else if (target_is_blind && fleet_has_helper(f, job->target) && !job->recovery.killed) {
        show(job, RECOVERY_PAUSING, "The target's helper closes the dead post-copy stream", now,
             fx);
        kill_at_target(f, job, now, fx);
    } else {
        try_again(f, job, now, fx);
    }
}

static void flag_irrecoverable(struct fleet *f, struct job *job, struct moment now,
                               struct effects *fx)
{
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    bool target_gone = target == SIDE_ABSENT || target == SIDE_OFF;
    struct step_ending ending = {.outcome = OUTCOME_IRRECOVERABLE, .guest_at = GUEST_AT_BROKEN};
    (void)snprintf(
        ending.reason, sizeof ending.reason,
        "irrecoverable: post-copy broke and the domain on %s is gone (source %s %s, target %s %s); "
        "what is left is not touched",
        target_gone ? job->target : job->source, job->source, ownership_side_name(source),
        job->target, ownership_side_name(target));
    enter(job, RECOVERY_IRRECOVERABLE, now);
    effects_event(fx, job, now.wall_ms, true, "Irrecoverable", "%s", ending.reason);
    if (job->abort.asked)
        job->abort.status = ABORT_FAILED;
    final_finish(f, job, TRIGGER_IRRECOVERABLE, &ending, now, fx);
}

/* A lost answer is not awaited for ever; a path without an answer is tried. */
static bool is_probing(struct job *job, struct moment now)
{
    struct job_recovery *recovery = &job->recovery;
    if (recovery->path_id == 0 || now.mono_ms - recovery->path_asked_ms < RECOVERY_ANSWER_MS)
        return recovery->path_id != 0;
    recovery->path_id = 0;
    recovery->path = HV_PATH_UNKNOWN;
    recovery->path_ms = now.mono_ms;
    return false;
}

/* An attempt is due, unless an order is open or the window is over. The window counts from the
 * last byte that moved: a slow stream is not abandoned. */
static bool is_due(struct job *job, struct moment now, struct effects *fx)
{
    if (job->recovery.state == RECOVERY_EXHAUSTED)
        return false;
    if (moves(job, now))
        open_window(job, now);
    bool tries = job->recovery.state != RECOVERY_NONE && job->recovery.state != RECOVERY_BLIND;
    if (tries && now.mono_ms >= job->recovery.ends_ms) {
        bool dead = job->recovery.path == HV_PATH_DEAD;
        show(job, RECOVERY_EXHAUSTED,
             dead ? "Post-copy broken, both sides are alive, the path between them is dead; `ferry "
                    "recover` tries again"
                  : "Post-copy broken, both sides are alive, no attempt worked in time; `ferry "
                    "recover` tries again",
             now, fx);
        return false;
    }
    return job->orders[ORDER_RECOVERY].id == 0 && !is_probing(job, now) &&
           now.mono_ms >= job->recovery.next_ms;
}

void recovery_await_call(struct job *job, const char *text, struct moment now, struct effects *fx)
{
    bool over = job->recovery.state != RECOVERY_NONE && now.mono_ms >= job->recovery.ends_ms;
    if (job->recovery.state != RECOVERY_EXHAUSTED)
        show(job, over ? RECOVERY_EXHAUSTED : RECOVERY_WATCHING, text, now, fx);
}

/* Both sides are alive and reachable. */
static void mend(struct fleet *f, struct job *job, enum recovery_plan plan, int64_t stable_ms,
                 struct moment now, struct effects *fx)
{
    if (plan != RECOVER_WATCH || !recovery_is_unmeasured(job, now))
        recovery_measured(job, now);
    char why[JOB_NOTE_MAX * 2];
    bool kept = job->recovery.tries == 0 && job->recovery.path != HV_PATH_DEAD &&
                knows_version(f, job) && choose_way(f, job, why, sizeof why) != RECOVERY_WAY_COUNT;
    if (job->recovery.state == RECOVERY_EXHAUSTED && kept)
        reopen(job, "Post-copy broken; libvirt's call that blocked it has ended", now, fx);
    if (!f->store_ok || !is_due(job, now, fx))
        return;
    if (plan == RECOVER_WATCH) {
        watch(f, job, stable_ms, now, fx);
    } else if ((plan == RECOVER_PAUSE && !job->recovery.paused) ||
               job->recovery.refused >= RECOVERY_REFUSALS) {
        show(job, RECOVERY_PAUSING,
             "The source does not know that the post-copy stream is dead; closing it", now, fx);
        pause_stream(f, job, now, fx);
    } else {
        try_again(f, job, now, fx);
    }
}

bool recovery_advance(struct fleet *f, struct job *job, int64_t stable_ms, struct moment now,
                      struct effects *fx)
{
    enum recovery_plan plan =
        recovery_plan(ownership_side(&job->resolution.source_side.observation),
                      ownership_side(&job->resolution.target_side.observation));
    if (plan == RECOVER_NOT || job->phase != PHASE_RUNNING)
        return false;
    if (job_is_observed(job) && plan != RECOVER_GONE)
        return is_whole(job); /* to mend it is not Ferry's */
    job->resolution.guest_at = GUEST_AT_UNKNOWN;
    note_death(f, job, now, fx);
    if (plan == RECOVER_GONE) {
        if (stable_ms >= RECOVERY_GONE_MS)
            flag_irrecoverable(f, job, now, fx);
    } else if (plan == RECOVER_BLIND) {
        if (stable_ms >= 3 * RECOVERY_GONE_MS)
            show(job, RECOVERY_BLIND, "Post-copy broken and a node cannot be reached", now, fx);
    } else {
        mend(f, job, plan, stable_ms, now, fx);
    }
    return true;
}

void recovery_called(struct job *job, const struct err *err, struct moment now, struct effects *fx)
{
    (void)fx;
    bool was_try = job->recovery.state == RECOVERY_RESUMING;
    job->recovery.answered_ms = now.mono_ms;
    bool refused = was_try && err->hv_code == RECOVERY_REFUSED;
    job->recovery.refused = refused ? job->recovery.refused + 1 : 0;
    if (was_try && err->code != ERR_NONE) {
        enter(job, RECOVERY_WAITING, now);
        bool cheap =
            job->recovery.way == RECOVERY_WAY_MONITOR; /* no side is prepared for a stream */
        job->recovery.next_ms = now.mono_ms + (cheap ? RECOVERY_AGAIN_MS / 4 : RECOVERY_AGAIN_MS);
    }
    job->resolution.next_round_ms = now.mono_ms; /* a change: observe at once */
}

bool recovery_probed(struct job *job, uint64_t id, enum hv_path path, const struct err *err,
                     struct moment now, struct effects *fx)
{
    struct job_recovery *recovery = &job->recovery;
    if (recovery->path_id == 0 || recovery->path_id != id)
        return false;
    recovery->path_id = 0;
    recovery->path = err->code == ERR_NONE ? path : HV_PATH_UNKNOWN;
    recovery->path_ms = now.mono_ms;
    job->changed = true;
    if (recovery->path != HV_PATH_DEAD) {
        recovery->path_dead_ms = 0;
        job->resolution.next_round_ms = now.mono_ms; /* it may be back for a moment only */
        return true;
    }
    recovery->next_ms = now.mono_ms + RECOVERY_PATH_MS;
    if (recovery->path_dead_ms == 0)
        recovery->path_dead_ms = now.mono_ms;
    if (recovery->state == RECOVERY_WAITING)
        show(job, RECOVERY_WAITING,
             "Post-copy broken and no path between the nodes; waiting for the path", now, fx);
    return true;
}

/* An order of the earlier process without an answer: if a daemon is gone now, the order ended
 * it. */
static void adopt_order(struct fleet *f, struct job *job, struct moment now)
{
    job->recovery.way = RECOVERY_WAY_COUNT;
    for (unsigned i = 0; i < job->resolution.n_left; i++)
        for (enum recovery_way way = 0; way < RECOVERY_WAY_COUNT; way++)
            if (job->resolution.left[i].order.kind == INTENT_RECOVER &&
                strstr(job->resolution.left[i].order.argument, recovery_way_name(way)) != NULL)
                job->recovery.way = way;
    if (job->recovery.way == RECOVERY_WAY_COUNT)
        return;
    job->recovery.tried_ms = job->recovery.answered_ms = now.mono_ms;
    job->recovery.losses = losses_of(f, job);
}

void recovery_adopt(struct fleet *f, struct job *job, struct moment now)
{
    adopt_order(f, job, now);
    if (job->recovery.state == RECOVERY_NONE || job->recovery.state == RECOVERY_EXHAUSTED)
        return;
    open_window(job, now);
    if (job->wait.pending == PENDING_RECOVERY && job->recovery.state != RECOVERY_BLIND)
        job->wait.until_ms = job->recovery.until_ms;
}

void recovery_arrived(struct job *job, struct moment now, struct effects *fx)
{
    if (job->recovery.state == RECOVERY_NONE)
        return;
    enter(job, RECOVERY_RECOVERED, now);
    effects_event(fx, job, now.wall_ms, false, "PostCopyRecovered",
                  "Post-copy recovered: the guest runs on %s; attempts: %u.", job->target,
                  job->recovery.tries);
}

bool recovery_request(struct job *job, const char *requester, struct moment now, struct effects *fx,
                      struct err *err)
{
    if (phase_is_final(job->phase))
        return err_set(err, ERR_REFUSED, "migration %s has ended (%s): nothing to recover",
                       job->name, phase_name(job->phase));
    if (job->recovery.state == RECOVERY_NONE)
        return err_set(err, ERR_REFUSED, "migration %s is not broken in post-copy", job->name);
    if (job->recovery.state == RECOVERY_EXHAUSTED)
        reopen(job, "Post-copy broken; another attempt was asked for", now, fx);
    else
        open_window(job, now);
    job->recovery.next_ms = job->resolution.next_round_ms = job->queue.wake_ms = now.mono_ms;
    job->recovery.paused = job->recovery.killed = false;
    job->recovery.forced =
        stream_blind_ms(job, now) >= STREAM_PAGE_MS &&
        recovery_plan(ownership_side(&job->resolution.source_side.observation),
                      ownership_side(&job->resolution.target_side.observation)) == RECOVER_WATCH;
    job->recovery.path_ms = job->recovery.path_dead_ms = 0;
    job->recovery.path = HV_PATH_UNKNOWN;
    job->recovery.unsafe = 0; /* an operator decided; quirks of a version still apply */
    job->recovery.way = RECOVERY_WAY_COUNT;
    job->changed = true;
    effects_event(fx, job, now.wall_ms, false, "RecoveryRequested", "%s asked for another attempt.",
                  requester);
    return true;
}
