/* monitor_driver.c - see monitor_driver.h. */
#include "engine/data/monitor_driver.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/expect.h"
#include "engine/data/flags.h"
#include "engine/data/monitor.h"
#include "engine/data/move.h"
#include "engine/data/order.h"

enum { RESUME_SEEN_MS = 1000, RESUME_TRIES_MAX = 8 }; /* about 30 s, as order.h spaces them */
enum {
    TARGET_PROMPT_MS = 1000, /* a slower answer proves nothing about the present */
    TARGET_AGAIN_MS = 1000,  /* between two queries */
    TARGET_LOST_MS = 30000   /* a query without an answer is repeated */
};

/* Does the target's libvirtd answer? Checked right before the switch to post-copy. The source
 * does not inform the target's daemon of post-copy, so the order works although that daemon
 * hangs; then libvirt's keepalive closes the connection, and a daemon that wakes up finds an
 * incoming migration without a source: it destroys the guest, which runs there by then. The
 * remaining risk is a daemon that hangs between its answer and its Finish step. */
struct target_check {
    uint64_t id;                 /* number of the open query; 0: none */
    int64_t asked_ms;            /* monotonic: of the newest query; 0: none yet */
    bool silent;                 /* reported as silent */
    struct monitor_decision due; /* the switch that waits for the answer */
};

/* The monitors of one job. */
struct monitor_driver {
    struct monitor acting, shadow;
    bool has_shadow;
    struct monitor_decision ordered; /* what ORDER_TUNE is about */
    struct target_check target;
    int64_t decisions, inputs; /* recorded so far */
    bool is_new, resumed;      /* its start is not in the trace yet; restored from a state */
    bool awaits_sample;        /* adopted, and no sample since */
    bool allows_postcopy;
    struct monitor_facts facts;
    struct monitor kept; /* as of its last decision */
    bool unsaved;        /* `json` is outdated */
    char *json;          /* owned or NULL */
};

static const struct {
    enum hv_call call;
    enum intent_kind intent;
} orders[MONITOR_ACTION_COUNT] = {
    [MONITOR_SET_DOWNTIME] = {HV_CALL_SET_DOWNTIME, INTENT_SET_DOWNTIME},
    [MONITOR_POSTCOPY] = {HV_CALL_START_POSTCOPY, INTENT_START_POSTCOPY},
    [MONITOR_PAUSE] = {HV_CALL_SUSPEND, INTENT_SUSPEND},
};

static void monitor_driver_free(struct monitor_driver *monitor_driver)
{
    if (monitor_driver != NULL)
        free(monitor_driver->json);
    free(monitor_driver);
}

const char *monitor_driver_json(const struct job *job)
{
    struct monitor_driver *s = job->monitor.monitor_driver;
    if (s != NULL && s->unsaved) {
        free(s->json);
        s->json = monitor_save(&s->kept);
        s->unsaved = false;
    }
    return s != NULL && s->json != NULL ? s->json : job->monitor.json;
}

static bool is_device_of_host(const struct migratable *m)
{
    return migratable_has(m, UNMOVABLE_HOST_DEVICE) || migratable_has(m, UNMOVABLE_INTERFACE);
}

static struct monitor_facts facts_of(struct fleet *f, const struct job *job,
                                     const struct migration_config *config)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    struct monitor_facts facts = {.tuning = monitor_wants_ramp(config),
                                  .disk_bytes = expect_disk_bytes(job)};
    if (guest != NULL)
        facts.memory_bytes = guest->memory_kib << 10;
    if (guest != NULL && guest->owner != NULL)
        facts.vfio = is_device_of_host(&guest->owner->migratable);
    return facts;
}

void monitor_driver_begin(struct fleet *f, struct job *job)
{
    struct monitor_facts facts = facts_of(f, job, &job->call.config);
    if (job->monitor.monitor_driver == NULL)
        job->monitor.monitor_driver = calloc(1, sizeof *job->monitor.monitor_driver);
    job->monitor.free_monitor_driver = monitor_driver_free;
    struct monitor_driver *s = job->monitor.monitor_driver;
    if (s == NULL)
        return; /* without memory the migration runs without a monitor, as with libvirt alone */
    enum monitor_kind kind = (enum monitor_kind)job->call.config.monitor;
    struct migration_config config = job->call.config;
    config.post_copy = flags_allow_postcopy(job); /* it must also be possible */
    const char *json = monitor_driver_json(job);
    s->is_new = true;
    s->awaits_sample = job->adopted;
    s->resumed = json != NULL && monitor_load(json, &s->acting);
    if (!s->resumed)
        monitor_begin(&s->acting, kind, &config, &facts);
    s->allows_postcopy = config.post_copy;
    s->facts = facts;
    s->has_shadow = job->call.config.shadow != SHADOW_NONE;
    if (s->has_shadow)
        monitor_begin(&s->shadow,
                      job->call.config.shadow == SHADOW_LEGACY ? MONITOR_LEGACY : MONITOR_STALL,
                      &config, &facts);
}

static void fill_input(const struct job *job, const struct sample *sample, struct moment now,
                       struct monitor_input *out)
{
    const struct hv_observation *source = &job->resolution.source_side.observation;
    *out = (struct monitor_input){
        .elapsed_ms = now.mono_ms - job->call.begun_ms,
        .has_stats = sample != NULL && sample->source != SAMPLE_COMPLETED,
        .at_iteration = sample != NULL && sample->source == SAMPLE_ITERATION,
        .mode = job->mode,
        .stopped_by_migration =
            source->state == HV_STATE_PAUSED && source->reason == HV_PAUSED_MIGRATION,
        .abort_under_way = job->abort.asked && job->abort.status == ABORT_ABORTING,
    };
    if (sample != NULL)
        out->stats = sample->stats;
}

static void record(struct job *job, const struct monitor *m, const struct monitor_decision *d,
                   bool shadow, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_DECISION, job, now.wall_ms);
    effect->of.decision.seq =
        ++job->monitor.monitor_driver->decisions + job->monitor.decisions_before;
    effect->of.decision.monitor = m->kind == MONITOR_LEGACY ? "legacy" : "stall";
    effect->of.decision.shadow = shadow;
    effect->of.decision.is = *d;
    if (shadow)
        return;
    TEXT_SET(job->monitor.decision_text, d->text);
    job->monitor.decision = (int)d->why;
    job->monitor.decision_ms = now.wall_ms;
    job->monitor.monitor_driver->kept = *m; /* serialized when it is stored */
    job->monitor.monitor_driver->unsaved = true;
    job->changed = true;
    if (d->action != MONITOR_NOTHING && d->why != DECISION_HOLDS_DOWNTIME)
        effects_event(fx, job, now.wall_ms, d->action == MONITOR_ABORT, "MonitorDecided", "%s",
                      d->text);
}

void monitor_driver_begin_advice(struct fleet *f, struct job *job,
                                 const struct migration_config *config)
{
    struct monitor_facts facts = facts_of(f, job, config);
    if (job->monitor.monitor_driver == NULL)
        job->monitor.monitor_driver = calloc(1, sizeof *job->monitor.monitor_driver);
    job->monitor.free_monitor_driver = monitor_driver_free;
    if (job->monitor.monitor_driver != NULL)
        monitor_begin(&job->monitor.monitor_driver->acting, (enum monitor_kind)config->monitor,
                      config, &facts);
}

/* Stalled or late: a downtime that lets the guest stop for long. The others are the usual ramp. */
static bool is_last_downtime(enum decision why)
{
    return why == DECISION_STALLED_HARD || why == DECISION_STALLED_SOFT ||
           why == DECISION_LATE_HARD || why == DECISION_LATE_VFIO;
}

void monitor_driver_advise(struct job *job, const struct sample *sample, struct moment now,
                           struct effects *fx, struct monitor_decision *out_decision)
{
    struct monitor_driver *s = job->monitor.monitor_driver;
    struct monitor_input input;
    *out_decision = (struct monitor_decision){.why = DECISION_GOES_ON};
    if (s == NULL || job->phase != PHASE_RUNNING)
        return; /* without memory there is no advice */
    fill_input(job, sample, now, &input);
    monitor_step(&s->acting, &input, out_decision);
    if (monitor_decision_changed(&s->acting, out_decision))
        record(job, &s->acting, out_decision, true, now, fx);
    if (out_decision->action == MONITOR_SET_DOWNTIME && !is_last_downtime(out_decision->why)) {
        monitor_done(&s->acting, out_decision, true, input.elapsed_ms);
        *out_decision = (struct monitor_decision){.why = DECISION_GOES_ON};
    }
}

static bool is_tuning(const struct job *job, enum intent_kind kind)
{
    return order_is_out(job, ORDER_TUNE) && job->orders[ORDER_TUNE].kind == kind;
}

int64_t monitor_driver_downtime_ms(const struct job *job)
{
    const struct monitor_driver *s = job->monitor.monitor_driver;
    if (s == NULL)
        return 0;
    bool is_out = is_tuning(job, INTENT_SET_DOWNTIME);
    int64_t accepted_ms = s->acting.downtime_ms;
    return is_out && s->ordered.downtime_ms > accepted_ms ? s->ordered.downtime_ms : accepted_ms;
}

int64_t monitor_driver_estimate_ms(const struct job *job)
{
    const struct monitor_driver *s = job->monitor.monitor_driver;
    if (s == NULL || s->acting.flow.bandwidth < 1)
        return -1;
    return (int64_t)((double)s->acting.remaining * 1000 / s->acting.flow.bandwidth);
}

struct job_budget monitor_driver_budget(const struct job *job)
{
    if (job->monitor.monitor_driver == NULL || !job->monitor.monitor_driver->acting.sampled)
        return (struct job_budget){0};
    const struct monitor *m = &job->monitor.monitor_driver->acting;
    return (struct job_budget){
        .known = true,
        .used_ms = m->now_ms > m->begin_ms ? m->now_ms - m->begin_ms : 0,
        .whole_ms = m->budget_ms,
        .still_ms = m->now_ms > m->progress_ms ? m->now_ms - m->progress_ms : 0,
        .has_low_water = m->has_watermark,
        .low_water = m->watermark,
    };
}

bool monitor_driver_is_pausing(const struct job *job)
{
    return is_tuning(job, INTENT_SUSPEND);
}

void monitor_driver_record(struct job *job, const char *by, const struct monitor_decision *decision,
                           struct moment now, struct effects *fx)
{
    if (job->monitor.monitor_driver == NULL)
        return; /* no memory for it: the event has the text */
    struct effect *effect = effects_add(fx, EFFECT_DECISION, job, now.wall_ms);
    effect->of.decision.seq =
        ++job->monitor.monitor_driver->decisions + job->monitor.decisions_before;
    effect->of.decision.monitor = by;
    effect->of.decision.is = *decision;
    TEXT_SET(job->monitor.decision_text, decision->text);
    job->monitor.decision = (int)decision->why;
    job->monitor.decision_ms = now.wall_ms;
    job->changed = true;
}

/* One row of the trace, so that `ferry replay` can recompute the decision. */
static struct effect *note(struct job *job, enum monitor_input_kind kind, struct moment now,
                           struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_DO_RECORD_MONITOR_INPUT, job, now.wall_ms);
    effect->of.monitor_input.kind = kind;
    effect->of.monitor_input.seq =
        ++job->monitor.monitor_driver->inputs + job->monitor.inputs_before;
    effect->of.monitor_input.elapsed_ms = now.mono_ms - job->call.begun_ms;
    effect->of.monitor_input.sample_seq = -1;
    effect->of.monitor_input.mode = job->mode;
    return effect;
}

static void record_input(struct job *job, const struct sample *sample,
                         const struct monitor_input *input, struct moment now, struct effects *fx)
{
    struct monitor_driver *s = job->monitor.monitor_driver;
    if (s->is_new) {
        struct effect *begin = note(job, MONITOR_INPUT_BEGIN, now, fx);
        begin->of.monitor_input.resumed = s->resumed;
        begin->of.monitor_input.post_copy = s->allows_postcopy;
        begin->of.monitor_input.facts = s->facts;
        s->is_new = false;
    }
    struct effect *step = note(job, MONITOR_INPUT_STEP, now, fx);
    step->of.monitor_input.stopped = input->stopped_by_migration;
    step->of.monitor_input.aborting = input->abort_under_way;
    if (sample != NULL)
        step->of.monitor_input.sample_seq = sample->seq;
}

static enum abort_cause abort_cause(enum decision why)
{
    if (why == DECISION_NO_PROGRESS)
        return ABORT_CAUSE_PROGRESS;
    return why == DECISION_STALLED_ABORT ? ABORT_CAUSE_STALLED : ABORT_CAUSE_COMPLETION;
}

static void order(struct fleet *f, struct job *job, const struct monitor_decision *d,
                  struct moment now, struct effects *fx)
{
    struct monitor_driver *s = job->monitor.monitor_driver;
    if (d->action == MONITOR_ABORT) {
        move_ask_abort(job, "ferry", abort_cause(d->why), d->text, now, fx);
        monitor_done(&s->acting, d, true, d->elapsed_ms);
        return;
    }
    char argument[32] = "";
    if (d->action == MONITOR_SET_DOWNTIME)
        (void)snprintf(argument, sizeof argument, "%lld ms", (long long)d->downtime_ms);
    const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                    .call = orders[d->action].call,
                                    .intent = orders[d->action].intent,
                                    .node = job->source,
                                    .argument = argument};
    if (now.mono_ms < order_due_ms(job, ORDER_TUNE, &spec))
        return; /* refused a moment ago; the monitor decides it again */
    s->ordered = *d;
    job->stream.postcopy_ordered = job->stream.postcopy_ordered || d->action == MONITOR_POSTCOPY;
    struct effect *effect = order_give(f, job, ORDER_TUNE, &spec, now, fx);
    effect->of.act.value = (uint64_t)d->downtime_ms;
}

/* While the migration runs, in this process's call or found running, and is not being resolved. */
static bool is_driven(const struct job *job)
{
    bool runs = order_is_out(job, ORDER_MIGRATE) || job->resolution.hv_job == JOB_SEEN_ACTIVE;
    return job->monitor.monitor_driver != NULL && job->phase == PHASE_RUNNING && runs &&
           !job->resolving && !job->call.over && move_is_ours(job);
}

/* Recorded once for each time that the target becomes silent. */
static void note_silent(struct job *job, const char *why, struct moment now, struct effects *fx)
{
    struct monitor_driver *s = job->monitor.monitor_driver;
    if (s->target.silent)
        return;
    s->target.silent = true;
    struct monitor_decision d = {.why = DECISION_TARGET_SILENT,
                                 .action = decision_action(DECISION_TARGET_SILENT),
                                 .elapsed_ms = now.mono_ms - job->call.begun_ms,
                                 .estimate_ms = -1};
    (void)snprintf(d.text, sizeof d.text,
                   "post-copy is due but not ordered: libvirtd on %.64s %s; checked again "
                   "every second, pre-copy continues",
                   job->target, why);
    monitor_driver_record(job, "remedy", &d, now, fx);
    effects_event(fx, job, now.wall_ms, true, "PostCopyRefused", "%s", d.text);
}

/* The order follows when the target answers promptly: monitor_driver_target_seen(). */
static void ask_target(struct fleet *f, struct job *job, const struct monitor_decision *d,
                       struct moment now, struct effects *fx)
{
    struct target_check *target = &job->monitor.monitor_driver->target;
    int64_t asked_ago_ms = now.mono_ms - target->asked_ms;
    target->due = *d;
    if (target->id != 0 && asked_ago_ms > TARGET_PROMPT_MS)
        note_silent(job, "has not answered for more than a second", now, fx);
    bool waits = target->id != 0 && asked_ago_ms < TARGET_LOST_MS;
    bool too_soon = target->asked_ms != 0 && asked_ago_ms < TARGET_AGAIN_MS;
    if (waits || too_soon)
        return;
    target->id = ++f->next_call_id;
    target->asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_OBSERVE, job, now.wall_ms);
    effect->of.act.id = target->id;
    TEXT_SET(effect->of.act.node, job->target);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

bool monitor_driver_target_seen(struct fleet *f, struct job *job, uint64_t id,
                                const struct hv_observation *observation, struct moment now,
                                struct effects *fx)
{
    struct monitor_driver *s = job->monitor.monitor_driver;
    if (s == NULL || s->target.id == 0 || s->target.id != id)
        return false;
    s->target.id = 0;
    bool prompt = now.mono_ms - s->target.asked_ms <= TARGET_PROMPT_MS;
    bool wanted = is_driven(job) && f->store_ok && !order_is_out(job, ORDER_TUNE) &&
                  !job->abort.asked && job->mode != MODE_POSTCOPY;
    if (observation->presence == HV_PRESENT && prompt) {
        s->target.silent = false;
        if (wanted)
            order(f, job, &s->target.due, now, fx);
    } else if (wanted) {
        note_silent(job,
                    observation->presence == HV_ABSENT    ? "reports no such guest"
                    : observation->presence == HV_PRESENT ? "took more than a second to answer"
                                                          : "is unreachable",
                    now, fx);
    }
    return true;
}

void monitor_driver_step(struct fleet *f, struct job *job, const struct sample *sample,
                         struct moment now, struct effects *fx)
{
    if (!is_driven(job) || !f->store_ok || job->unconfirmed)
        return;
    struct monitor_driver *s = job->monitor.monitor_driver;
    job->monitor.driven_ms = now.mono_ms;
    struct monitor_input input;
    fill_input(job, sample, now, &input);
    if (s->awaits_sample && !input.has_stats)
        return; /* the time since is not known yet */
    record_input(job, sample, &input, now, fx);
    if (s->awaits_sample && s->resumed)
        monitor_continue(&s->acting, input.elapsed_ms);
    s->awaits_sample = false;
    struct monitor_decision decision;
    if (s->has_shadow) {
        monitor_step(&s->shadow, &input, &decision);
        if (monitor_decision_changed(&s->shadow, &decision))
            record(job, &s->shadow, &decision, true, now, fx);
        if (decision.action != MONITOR_NOTHING)
            monitor_done(&s->shadow, &decision, true, input.elapsed_ms);
    }
    monitor_step(&s->acting, &input, &decision);
    if (monitor_decision_changed(&s->acting, &decision))
        record(job, &s->acting, &decision, false, now, fx);
    if (decision.action == MONITOR_POSTCOPY && !order_is_out(job, ORDER_TUNE))
        ask_target(f, job, &decision, now, fx);
    else if (decision.action != MONITOR_NOTHING && !order_is_out(job, ORDER_TUNE))
        order(f, job, &decision, now, fx);
}

/* Consequences of a decision that the hypervisor accepted. */
static void take_effect(struct job *job, const struct monitor_decision *d, struct moment now,
                        struct effects *fx)
{
    if (d->action == MONITOR_POSTCOPY)
        move_mode(job, MODE_POSTCOPY, decision_name(d->why), now, fx);
    if (d->action == MONITOR_PAUSE)
        job->monitor.stopped_by_us = true;
    bool hard = d->why == DECISION_STALLED_HARD || d->why == DECISION_LATE_HARD ||
                d->why == DECISION_LATE_VFIO;
    if ((d->action == MONITOR_PAUSE || hard) && job->mode != MODE_POSTCOPY)
        move_mode(job, MODE_PAUSED, decision_name(d->why), now, fx);
}

void monitor_driver_resumed(struct job *job, const struct err *err, struct moment now,
                            struct effects *fx)
{
    (void)fx;
    job->userpause.ours_ms = now.mono_ms; /* what was observed before shows Ferry's pause */
    if (err->code == ERR_NONE)
        job->monitor.stopped_by_us = false;
}

void monitor_driver_answered(struct job *job, const struct err *err, struct moment now,
                             struct effects *fx)
{
    struct monitor_driver *s = job->monitor.monitor_driver;
    if (s == NULL)
        return;
    bool accepted = err->code == ERR_NONE;
    if (accepted && !phase_is_final(job->phase))
        take_effect(job, &s->ordered, now, fx);
    if (err->code == ERR_UNREACHABLE && s->ordered.action == MONITOR_PAUSE)
        job->monitor.stopped_by_us =
            true; /* result not known: if the guest is paused, it was by this order */
    if (s->ordered.action == MONITOR_POSTCOPY &&
        (err->code == ERR_HYPERVISOR || err->code == ERR_REFUSED))
        job->stream.postcopy_ordered = false;
    monitor_done(&s->acting, &s->ordered, accepted, now.mono_ms - job->call.begun_ms);
    (void)note(job, accepted ? MONITOR_INPUT_ACCEPTED : MONITOR_INPUT_REFUSED, now, fx);
}

bool monitor_driver_must_resume(const struct job *job)
{
    const struct hv_observation *observation = &job->resolution.source_side.observation;
    bool is_paused = observation->presence == HV_PRESENT && observation->state == HV_STATE_PAUSED &&
                     observation->reason == HV_PAUSED_USER;
    return job->monitor.stopped_by_us && is_paused && !job->userpause.requested &&
           job->monitor.resume_tries < RESUME_TRIES_MAX;
}

static struct order_spec resume_spec(const struct job *job)
{
    return (struct order_spec){.effect = EFFECT_DO_TUNE,
                               .call = HV_CALL_RESUME,
                               .intent = INTENT_RESUME,
                               .node = job->source};
}

/* True: an order is open, failed a moment ago, or is too recent for an observation to show it. */
static bool is_resuming(const struct job *job, struct moment now)
{
    const struct order_spec spec = resume_spec(job);
    int64_t since_ms = now.wall_ms - job->orders[ORDER_RESUME].asked_ms;
    return order_is_out(job, ORDER_RESUME) || (since_ms >= 0 && since_ms < RESUME_SEEN_MS) ||
           now.mono_ms < order_due_ms(job, ORDER_RESUME, &spec);
}

static void order_resume(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct order_spec spec = resume_spec(job);
    job->monitor.resume_tries++;
    (void)order_give(f, job, ORDER_RESUME, &spec, now, fx);
}

bool monitor_driver_resume_guest(struct fleet *f, struct job *job, struct moment now,
                                 struct effects *fx)
{
    if (monitor_driver_is_pausing(job))
        return true; /* waits for an order that may still pause the guest */
    if (!monitor_driver_must_resume(job))
        return false;
    if (!is_resuming(job, now))
        order_resume(f, job, now, fx);
    return true;
}

void monitor_driver_resume_by_override(struct fleet *f, struct job *job, struct moment now,
                                       struct effects *fx)
{
    if (monitor_driver_must_resume(job) && !is_resuming(job, now))
        order_resume(f, job, now, fx);
}

bool monitor_driver_resume_leftover(struct fleet *f, struct job *job, const char *why,
                                    struct moment now, struct effects *fx)
{
    if (is_resuming(job, now))
        return true;
    if (job->monitor.resume_tries >= RESUME_TRIES_MAX)
        return false;
    if (job->monitor.resume_tries == 0) {
        struct monitor_decision decision = {.why = DECISION_LEFT_STANDING,
                                            .action = decision_action(DECISION_LEFT_STANDING),
                                            .elapsed_ms = now.mono_ms - job->call.begun_ms,
                                            .estimate_ms = -1};
        TEXT_SET(decision.text, why);
        monitor_driver_record(job, "remedy", &decision, now, fx);
        effects_event(fx, job, now.wall_ms, true, "LeftStanding", "%s", why);
    }
    order_resume(f, job, now, fx);
    return true;
}
