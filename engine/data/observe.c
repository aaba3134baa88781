/* observe.c - see observe.h. */
#include "engine/data/observe.h"

#include <string.h>

#include "base/text.h"
#include "collector/foreign_pace.h"
#include "engine/data/ownership.h"

enum { FRESH_MS = 1000, OBSERVE_AGAIN_MAX = 3, STATE_LOST_MS = 60000 };
enum { RESIDUE_MS = 10000 };
enum {
    JOB_ANSWER_MS = 10000,                  /* limit for an answer about the source's job */
    SAMPLED_MS = 2 * FOREIGN_SLOW_MS + 2000 /* the collector samples more often than that */
};

static void record_side(const struct job *job, const struct hv_observation *observation,
                        bool is_source, const char *moment, struct moment now, struct effects *fx)
{
    struct effect *effect = effects_add(fx, EFFECT_OBSERVATION, job, now.wall_ms);
    TEXT_SET(effect->of.observation.node, is_source ? job->source : job->target);
    effect->of.observation.role = is_source ? "source" : "target";
    effect->of.observation.moment = moment;
    effect->of.observation.observation = *observation;
}

void observe_record_sides(struct job *job, const char *moment, struct moment now,
                          struct effects *fx)
{
    record_side(job, &job->resolution.source_side.observation, true, moment, now, fx);
    record_side(job, &job->resolution.target_side.observation, false, moment, now, fx);
}

static void query(struct fleet *f, struct job *job, struct job_side *side, const char *node,
                  struct moment now, struct effects *fx)
{
    side->query_id = ++f->next_call_id;
    side->asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_OBSERVE, job, now.wall_ms);
    effect->of.act.id = side->query_id;
    TEXT_SET(effect->of.act.node, node);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

void observe_later(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    job->result.observe_later = false;
    query(f, job, &job->resolution.source_side, job->source, now, fx);
    query(f, job, &job->resolution.target_side, job->target, now, fx);
}

/* The guest migrated. A definition left behind is not changed from here: an order based on an
 * old observation may hit another guest. NULL: all is as expected. */
static const char *residue_of(const struct job *job, const struct hv_observation *observation,
                              bool is_source)
{
    if (job->result.outcome != OUTCOME_SUCCEEDED || observation->presence != HV_PRESENT)
        return NULL;
    if (is_source &&
        (observation->state == HV_STATE_SHUTOFF || observation->state == HV_STATE_CRASHED))
        return "DefinitionLeft";
    bool missing = (job->call.flags & HV_MIGRATE_PERSIST) != 0 && !observation->persistent;
    return !is_source && missing ? "DefinitionMissing" : NULL;
}

/* Hosts may clean up slowly: what was observed once is observed again before it is reported. */
static void report_residue(struct job *job, const char *what, bool again, bool is_source,
                           struct moment now, struct effects *fx)
{
    if (what == NULL)
        return;
    if (!again) {
        job->result.residue = job->result.observe_later = true;
        job->queue.wake_ms = now.mono_ms + RESIDUE_MS;
    } else if (is_source) {
        effects_event(fx, job, now.wall_ms, true, what,
                      "The guest runs on %s, but its definition is still on %s, where it could be "
                      "started a second time: undefine it there.",
                      job->target, job->source);
    } else {
        effects_event(fx, job, now.wall_ms, true, what,
                      "The guest runs on %s but has no persistent definition there: it is lost "
                      "when it stops. "
                      "Define it there.",
                      job->target);
    }
}

bool observe_answered_later(struct fleet *f, struct job *job, uint64_t id,
                            const struct hv_observation *observation, struct moment now,
                            struct effects *fx)
{
    bool is_source = job->resolution.source_side.query_id == id;
    if (id == 0 || (!is_source && job->resolution.target_side.query_id != id))
        return false;
    (is_source ? &job->resolution.source_side : &job->resolution.target_side)->query_id = 0;
    const struct hv_observation trusted = observe_trusted(f, job, is_source, observation);
    observation = &trusted;
    const struct job *next = fleet_active_job(f, job->guest_uuid);
    if (!is_source && job->result.outcome == OUTCOME_SUCCEEDED && next != NULL && next->epoch > 0)
        return true; /* the guest migrates again: its absence proves nothing */
    record_side(job, observation, is_source, "later", now, fx);
    report_residue(job, residue_of(job, observation, is_source),
                   job->result.residue && !job->result.observe_later, is_source, now, fx);
    return true;
}

void observe_note_hosts(struct fleet *f, struct job *job)
{
    const struct node *source = fleet_node(f, job->source), *target = fleet_node(f, job->target);
    TEXT_SET(job->resolution.source_host, source != NULL ? source->facts.uuid : "");
    TEXT_SET(job->resolution.target_host, target != NULL ? target->facts.uuid : "");
    job->changed = true;
}

/* uuid: as noted; empty: not known, so nothing can be compared. */
static bool is_other(const struct node *node, const char *uuid)
{
    return node != NULL && node->facts_fresh && node->facts.uuid[0] != '\0' && uuid[0] != '\0' &&
           strcmp(node->facts.uuid, uuid) != 0;
}

struct hv_observation observe_trusted(struct fleet *f, const struct job *job, bool is_source,
                                      const struct hv_observation *observation)
{
    const struct node *node = fleet_node(f, is_source ? job->source : job->target);
    const char *uuid = is_source ? job->resolution.source_host : job->resolution.target_host;
    bool unproven = node != NULL && !node->facts_fresh && uuid[0] != '\0';
    if (!unproven && !is_other(node, uuid))
        return *observation;
    return (struct hv_observation){
        .presence = HV_UNREACHABLE, .job_type = -1, .at_ms = observation->at_ms};
}

const struct node *observe_other_machine(struct fleet *f, const struct job *job)
{
    const struct node *source = fleet_node(f, job->source), *target = fleet_node(f, job->target);
    if (is_other(source, job->resolution.source_host))
        return source;
    return is_other(target, job->resolution.target_host) ? target : NULL;
}

/* An answer that never comes (a full queue, no memory) counts as unreachable. */
static void mark_lost(struct job *job, struct job_side *side, struct moment now)
{
    if (side->query_id == 0 || now.mono_ms - side->asked_ms < STATE_LOST_MS)
        return;
    side->query_id = 0;
    side->round = job->resolution.round;
    side->observation = (struct hv_observation){.presence = HV_UNREACHABLE, .job_type = -1};
    side->seen_ms = now.mono_ms;
    side->seen_wall_ms = now.wall_ms;
}

void observe_begin(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->resolution.source_side.query_id != 0 || job->resolution.target_side.query_id != 0)
        return;
    job->resolution.round++;
    job->resolution.again = 0;
    query(f, job, &job->resolution.source_side, job->source, now, fx);
    query(f, job, &job->resolution.target_side, job->target, now, fx);
}

/* A host that does not answer delays a round by many seconds; the other host's answer is
 * outdated by then. Queried again a few times at most: two slow hosts must not delay a job for
 * ever. An unreachable host's observation does not age. */
static bool has_aged(const struct job *job, const struct job_side *side, struct moment now)
{
    bool is_fact =
        side->observation.presence == HV_PRESENT || side->observation.presence == HV_ABSENT;
    return is_fact && job->resolution.again < OBSERVE_AGAIN_MAX &&
           now.mono_ms - side->seen_ms > FRESH_MS;
}

bool observe_answered(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct job_side *source = &job->resolution.source_side, *target = &job->resolution.target_side;
    mark_lost(job, source, now);
    mark_lost(job, target, now);
    if (job->resolution.round == 0 || source->round != job->resolution.round ||
        target->round != job->resolution.round)
        return false;
    if (job->resolution.decided_round == job->resolution.round)
        return true;
    bool source_aged = has_aged(job, source, now), target_aged = has_aged(job, target, now);
    if (!source_aged && !target_aged)
        return true;
    job->resolution.again++;
    if (source_aged) {
        source->round = 0;
        query(f, job, source, job->source, now, fx);
    }
    if (target_aged) {
        target->round = 0;
        query(f, job, target, job->target, now, fx);
    }
    return false;
}

uint64_t observe_guest(struct fleet *f, const struct guest *guest, struct moment now,
                       struct effects *fx)
{
    uint64_t first = f->next_call_id + 1;
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of) {
        struct effect *effect =
            effects_order(fx, EFFECT_DO_OBSERVE, domain->node->name, guest->uuid, now.wall_ms);
        effect->of.act.id = ++f->next_call_id;
    }
    return first;
}

static void answered_without_asking(struct job *job, enum job_seen answer)
{
    job->resolution.hv_job = answer;
    job->resolution.hv_job_question = 0;
    job->resolution.hv_job_round = job->resolution.round;
}

/* Somebody else's migration: the query holds a lock that libvirt needs to end it, so the
 * collector's samples tell as long as they come (collector/foreign_pace.h). Paused for the
 * switch-over it is never queried: Ferry gives no order that depends on the answer. */
static bool is_sampled(const struct job *job, struct moment now)
{
    enum ownership_side target = ownership_side(&job->resolution.target_side.observation);
    return job_is_observed(job) && !job->call.over && !ownership_is_gone(target) &&
           job->stream.sampled_ms != 0 && now.mono_ms - job->stream.sampled_ms < SAMPLED_MS;
}

/* Is the job of a guest in that state queried? It runs there, or was left paused by a target that
 * is gone; during the switch-over the query would hang, and hold the lock that an abort needs. */
static bool is_job_asked(const struct job *job, struct moment now)
{
    enum ownership_side source = ownership_side(&job->resolution.source_side.observation);
    bool is_left = source == SIDE_MOVING && !job_is_observed(job) &&
                   ownership_is_gone(ownership_side(&job->resolution.target_side.observation)) &&
                   now.mono_ms - job->resolution.ownership_since_ms >= OBSERVE_LEFTOVER_MS;
    return source == SIDE_OWNS || source == SIDE_STUCK || is_left;
}

bool observe_knows_job(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (!is_job_asked(job, now) || job->resolution.hv_job_round == job->resolution.round)
        return true;
    if (is_sampled(job, now)) {
        answered_without_asking(job, JOB_SEEN_ACTIVE);
        return true;
    }
    if (job->resolution.hv_job_question != 0) {
        int64_t until_ms = job->resolution.hv_job_asked_ms + JOB_ANSWER_MS;
        if (now.mono_ms < until_ms) {
            if (job->queue.wake_ms > until_ms)
                job->queue.wake_ms = until_ms;
            return false;
        }
        answered_without_asking(job, JOB_SEEN_UNKNOWN);
        return true;
    }
    job->resolution.hv_job_question = ++f->next_call_id;
    job->resolution.hv_job_asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_JOB, job, now.wall_ms);
    effect->of.act.id = job->resolution.hv_job_question;
    TEXT_SET(effect->of.act.node, job->source);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
    return false;
}
