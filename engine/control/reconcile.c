/* reconcile.c - see reconcile.h. Each input first changes what is known, then the jobs it
 * concerns are moved as far as the facts now allow. */
#include "engine/control/reconcile.h"

#include <string.h>

#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/schedule.h"
#include "engine/data/move.h"

static void advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    enum phase before;
    do {
        before = job->phase;
        if (before == PHASE_TARGET_READY || before == PHASE_RUNNING)
            move_advance(f, job, now, fx);
        else
            schedule_advance(f, job, now, fx);
    } while (job->phase != before && !phase_is_final(job->phase));
}

static void on_host(struct fleet *f, const struct input *input, struct moment now)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    if (node->connected != input->of.connected)
        node->since_wall_ms = now.wall_ms;
    node->connected = input->of.connected;
    node->asked = true;
    node->listed = node->listed && input->of.connected;
    TEXT_SET(node->error, input->of.connected ? "" : input->err.text);
    node->version = fleet_touch(f);
    f->guests_version = f->version; /* guests show whether their node is reachable */
    f->reschedule = true;
}

static void on_facts(struct fleet *f, const struct input *input)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    node->facts = input->of.facts;
    node->has_facts = true;
    node->version = fleet_touch(f);
}

static void on_guests(struct fleet *f, const struct input *input, struct moment now)
{
    struct node *node = fleet_node(f, input->host);
    if (node == NULL)
        return;
    fleet_apply_list(f, node, input->of.guests, now.wall_ms);
    f->reschedule = true;
}

static void on_definition(struct fleet *f, const struct input *input)
{
    struct node *node = fleet_node(f, input->host);
    if (node != NULL)
        fleet_apply_definition(f, node, input->guest, &input->of.migratable);
}

static void on_event(struct fleet *f, const struct input *input, struct moment now,
                     struct effects *fx)
{
    const struct hv_event *event = &input->of.event;
    struct job *job = fleet_active_job(f, event->guest);
    if (job == NULL || job->epoch == 0)
        return;
    bool at_source = strcmp(event->host, job->source) == 0;
    bool at_target = strcmp(event->host, job->target) == 0;
    if (at_source && event->kind == HV_EVENT_ITERATION)
        move_seen(f, job, now, fx);
    if (event->kind == HV_EVENT_LIFECYCLE) {
        if (at_target && event->a == HV_LIFECYCLE_STARTED)
            move_seen(f, job, now, fx);
        /* libvirt's detail 7 of SUSPENDED: the source stopped for post-copy. */
        if (at_source && event->a == HV_LIFECYCLE_SUSPENDED && event->b == 7)
            move_mode(job, MODE_POSTCOPY, "post-copy began", now, fx);
        if (!job->call_out)
            job->next_round_ms = now.mono_ms; /* something changed: look at once */
    }
    advance(f, job, now, fx);
}

static void on_sample(struct fleet *f, const struct input *input, struct moment now,
                      struct effects *fx)
{
    const struct sample *sample = &input->of.sample;
    struct job *job = fleet_job(f, sample->job_uid);
    if (job == NULL)
        return;
    job->sample = *sample; /* the last one, with the real downtime, may come after the end */
    job->has_sample = true;
    job->next_sample_seq = sample->seq + 1;
    job->version = fleet_touch(f);
    if (job->phase != PHASE_TARGET_READY)
        return;
    move_seen(f, job, now, fx);
    advance(f, job, now, fx);
}

static void on_look(struct fleet *f, const struct input *input, struct moment now,
                    struct effects *fx)
{
    struct node *node = fleet_node(f, input->host);
    if (node != NULL)
        fleet_apply_sight(f, node, input->guest, &input->of.sight);
    struct job *job = fleet_active_job(f, input->guest);
    if (job == NULL)
        return;
    struct job_side *side = NULL;
    if (job->source_side.look_id == input->id)
        side = &job->source_side;
    else if (job->target_side.look_id == input->id)
        side = &job->target_side;
    if (side == NULL)
        return; /* an answer to a question of long ago */
    side->look_id = 0;
    side->round = job->round;
    side->sight = input->of.sight;
    side->seen_wall_ms = now.wall_ms;
    side->seen_ms =
        side->sight.at_ms > 0 && side->sight.at_ms < now.mono_ms ? side->sight.at_ms : now.mono_ms;
    job->version = fleet_touch(f);
    advance(f, job, now, fx);
}

/* Only "no job" means that there is none: one that failed or was cancelled is still at its end
 * work. */
static enum job_seen read_job(const struct input *input)
{
    const struct hv_job_stats *stats = &input->of.stats;
    if (input->err.code != ERR_NONE)
        return JOB_SEEN_UNKNOWN; /* the states will tell */
    if (stats->type == HV_JOB_NONE)
        return JOB_SEEN_NONE;
    if (stats->type != HV_JOB_BOUNDED && stats->type != HV_JOB_UNBOUNDED)
        return JOB_SEEN_UNKNOWN;
    bool ours =
        stats->operation == HV_OPERATION_MIGRATION_OUT || stats->operation == HV_OPERATION_UNKNOWN;
    return ours ? JOB_SEEN_ACTIVE : JOB_SEEN_OTHER;
}

static void on_ask_job(struct fleet *f, const struct input *input, struct moment now,
                       struct effects *fx)
{
    struct job *job = fleet_active_job(f, input->guest);
    if (job == NULL || job->hv_job_question != input->id)
        return;
    job->hv_job_question = 0;
    job->hv_job_round = job->round;
    job->hv_job = read_job(input);
    advance(f, job, now, fx);
}

static void on_call(struct fleet *f, const struct input *input, struct moment now,
                    struct effects *fx)
{
    struct job *job = fleet_active_job(f, input->guest);
    if (job == NULL)
        return;
    if (input->of.call == HV_CALL_MIGRATE && job->call_out && job->call_id == input->id)
        move_called(job, &input->err, now, fx);
    else if (input->of.call == HV_CALL_ABORT && job->abort_call_id == input->id)
        move_abort_called(job, &input->err, now, fx);
    else
        return;
    job->version = fleet_touch(f);
    advance(f, job, now, fx);
}

static void name_job(const struct job *job, struct migration_ref *out_ref)
{
    TEXT_SET(out_ref->uid, job->uid);
    TEXT_SET(out_ref->ns, job->ns);
    TEXT_SET(out_ref->name, job->name);
}

static bool on_create(struct fleet *f, const struct input *input, struct moment now,
                      struct effects *fx, struct migration_ref *out_ref, struct err *err)
{
    OWNED(job) job = admission_admit(f, &input->of.create.request, now, err);
    if (job == NULL)
        return false;
    name_job(job, out_ref);
    if (input->of.create.request.dry_run)
        return true;
    struct job *kept = TAKE(job);
    fleet_add_job(f, kept);
    struct effect *effect = effects_add(fx, EFFECT_STEP, kept, now.wall_ms);
    effect->of.step.from = PHASE_NONE;
    effect->of.step.to = PHASE_PENDING;
    effect->of.step.seq = 1;
    effects_event(fx, kept, now.wall_ms, false, "Accepted", "Asked for by %s.", kept->requester);
    f->reschedule = true;
    return true;
}

static bool on_cancel(struct fleet *f, const struct input *input, struct moment now,
                      struct effects *fx, struct migration_ref *out_ref, struct err *err)
{
    struct job *job = fleet_job_named(f, input->of.cancel.ns, input->of.cancel.name);
    if (job == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "virtualmachineinstancemigrations.kubevirt.io \"%s\" not found",
                       input->of.cancel.name);
    name_job(job, out_ref);
    if (phase_is_final(job->phase)) {
        if (!input->of.cancel.remove)
            return err_set(err, ERR_REFUSED, "migration %s has ended already (%s)", job->name,
                           phase_name(job->phase));
        job->remove_when_final = job->changed = true;
        (void)effects_add(fx, EFFECT_DO_REMOVE, job, now.wall_ms);
        return true;
    }
    job->remove_when_final = job->remove_when_final || input->of.cancel.remove;
    move_ask_abort(job, input->of.cancel.requester, "an operator asked", now, fx);
    job->version = fleet_touch(f);
    advance(f, job, now, fx);
    return true;
}

/* What runs comes first and is never delayed by what waits. */
static void tick_due(struct fleet *f, struct moment now, struct effects *fx)
{
    struct job *job, *next;
    HASH_ITER(hh_guest, f->active, job, next)
    {
        if (job->wake_ms <= now.mono_ms)
            advance(f, job, now, fx);
    }
}

/* Then, if something changed that a waiting job may have waited for, those: by class, oldest
 * first. */
static void tick_waiting(struct fleet *f, struct moment now, struct effects *fx)
{
    for (enum priority class = 0; class < PRIORITY_COUNT; class ++) {
        struct job *job, *next;
        DL_FOREACH_SAFE(f->waiting[class], job, next)
        {
            advance(f, job, now, fx);
        }
    }
}

static void on_tick(struct fleet *f, struct moment now, struct effects *fx)
{
    bool reschedule = f->reschedule;
    f->reschedule = false;
    if (reschedule)
        tick_waiting(f, now, fx);
    tick_due(f, now, fx);
}

bool reconcile(struct fleet *f, const struct input *input, struct moment now, struct effects *fx,
               struct migration_ref *out_ref, struct err *err)
{
    switch (input->kind) {
    case INPUT_TICK: on_tick(f, now, fx); break;
    case INPUT_HOST: on_host(f, input, now); break;
    case INPUT_FACTS: on_facts(f, input); break;
    case INPUT_GUESTS: on_guests(f, input, now); break;
    case INPUT_MOVABLE: on_definition(f, input); break;
    case INPUT_EVENT: on_event(f, input, now, fx); break;
    case INPUT_SAMPLE: on_sample(f, input, now, fx); break;
    case INPUT_LOOK: on_look(f, input, now, fx); break;
    case INPUT_ASK_JOB: on_ask_job(f, input, now, fx); break;
    case INPUT_CALL: on_call(f, input, now, fx); break;
    case INPUT_CREATE: return on_create(f, input, now, fx, out_ref, err);
    case INPUT_CANCEL: return on_cancel(f, input, now, fx, out_ref, err);
    }
    return true;
}

void reconcile_restore(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    job->entered_ms = job->wake_ms = now.mono_ms;
    if (job->phase == PHASE_TARGET_READY || job->phase == PHASE_RUNNING)
        move_adopt(job, now, fx);
    f->reschedule = true;
}

int64_t reconcile_next_ms(const struct fleet *f, int64_t now_ms)
{
    if (f->reschedule)
        return now_ms;
    int64_t next_ms = now_ms + 1000;
    for (const struct job *job = f->active; job != NULL; job = job->hh_guest.next)
        if (job->wake_ms < next_ms)
            next_ms = job->wake_ms;
    return next_ms;
}
