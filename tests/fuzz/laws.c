/* laws.c - see laws.h. */
#include "tests/fuzz/laws.h"

#include <string.h>

#include "base/text.h"
#include "engine/model/fleet/ledger.h"
#include "tests/core_world.h"
#include "tests/fuzz/fuzz.h"

const char *laws_host(unsigned i)
{
    static const char *const names[LAWS_HOSTS] = {"h1", "h2", "h3"};
    return names[i % LAWS_HOSTS];
}

const char *laws_guest(unsigned i)
{
    static const char *const uuids[LAWS_GUESTS] = {CORE_GUEST, CORE_OTHER};
    return uuids[i % LAWS_GUESTS];
}

/* ---- reading an answer ---- */

static bool is_gone(const struct hv_observation *s)
{
    return s->presence == HV_ABSENT ||
           (s->presence == HV_PRESENT &&
            (s->state == HV_STATE_SHUTOFF || s->state == HV_STATE_CRASHED));
}

static bool is_in_trouble(const struct hv_observation *s)
{
    return s->presence == HV_PRESENT && s->state == HV_STATE_PAUSED &&
           (s->reason == HV_PAUSED_IOERROR || s->reason == HV_PAUSED_WATCHDOG ||
            s->reason == HV_PAUSED_CRASHED || s->reason == HV_PAUSED_API_ERROR);
}

static bool is_in_motion(const struct hv_observation *s)
{
    if (s->state == HV_STATE_RUNNING)
        return s->reason == HV_RUNNING_POSTCOPY || s->reason == HV_RUNNING_POSTCOPY_FAILED;
    return s->state == HV_STATE_PAUSED &&
           (s->reason == HV_PAUSED_MIGRATION || s->reason == HV_PAUSED_STARTING_UP ||
            s->reason == HV_PAUSED_POSTCOPY || s->reason == HV_PAUSED_POSTCOPY_FAILED);
}

/* It lives there: running, or at rest for a reason of its own. */
static bool owns(const struct hv_observation *s)
{
    if (s->presence != HV_PRESENT || is_in_trouble(s) || is_in_motion(s))
        return false;
    return s->state == HV_STATE_RUNNING || s->state == HV_STATE_BLOCKED ||
           s->state == HV_STATE_PAUSED || s->state == HV_STATE_SHUTDOWN ||
           s->state == HV_STATE_PMSUSPENDED;
}

/* ---- remembering ---- */

static struct laws_job *find(struct laws *l, const char *uid)
{
    for (unsigned i = 0; i < l->n_jobs; i++)
        if (strcmp(l->jobs[i].uid, uid) == 0)
            return &l->jobs[i];
    return NULL;
}

void laws_got_list(struct laws *l, unsigned host, const struct hv_guest_list *list)
{
    for (unsigned g = 0; g < LAWS_GUESTS; g++) {
        l->facts[host][g] = CORE_ABSENT;
        for (size_t i = 0; i < list->n; i++)
            if (strcmp(list->guests[i].uuid, laws_guest(g)) == 0)
                l->facts[host][g] = (struct hv_observation){.presence = HV_PRESENT,
                                                            .state = list->guests[i].state,
                                                            .reason = list->guests[i].reason};
    }
}

static void answer(struct laws_side *side, uint64_t id, const struct hv_observation *observation)
{
    if (side->id != id || side->answered)
        return; /* to an older question, or for the second time: says nothing */
    side->answered = true;
    side->observation = *observation;
}

void laws_on_observed(struct laws *l, uint64_t id, unsigned host, unsigned guest,
                      const struct hv_observation *observation)
{
    if (observation->presence == HV_PRESENT || observation->presence == HV_ABSENT)
        l->facts[host][guest] = *observation;
    for (unsigned i = 0; i < l->n_jobs; i++) {
        answer(&l->jobs[i].source, id, observation);
        answer(&l->jobs[i].target, id, observation);
    }
}

void laws_got_call(struct laws *l, uint64_t id)
{
    for (unsigned i = 0; i < l->n_jobs; i++) {
        if (l->jobs[i].call == id)
            l->jobs[i].call = 0;
        if (l->jobs[i].abort == id)
            l->jobs[i].abort = 0;
    }
}

void laws_restart(struct laws *l)
{
    l->restarted = true;
    memset(l->facts, 0, sizeof l->facts);
    memset(l->connected, 0, sizeof l->connected);
    for (unsigned i = 0; i < l->n_jobs; i++) {
        l->jobs[i].source = l->jobs[i].target = (struct laws_side){0};
        l->jobs[i].call = l->jobs[i].abort = 0;
    }
}

/* ---- laws of one effect ---- */

/* Before the hand-off a job may only repeat what a host it can reach said last. */
static void law_of_the_place(const struct laws *l, const struct job *job)
{
    for (unsigned h = 0; h < LAWS_HOSTS; h++) {
        bool is_source = job->source[0] == '\0' || strcmp(job->source, laws_host(h)) == 0;
        for (unsigned g = 0; g < LAWS_GUESTS; g++)
            if (is_source && l->connected[h] && strcmp(job->guest_uuid, laws_guest(g)) == 0 &&
                owns(&l->facts[h][g]))
                return;
    }
    fuzz_fail("%s says %s, and no host said so", job->uid, guest_at_name(job->resolution.guest_at));
}

/* A third host said last that it runs the guest. */
static void law_of_the_third_place(const struct laws *l, const struct job *job)
{
    for (unsigned h = 0; h < LAWS_HOSTS; h++)
        for (unsigned g = 0; g < LAWS_GUESTS; g++)
            if (strcmp(job->source, laws_host(h)) != 0 && strcmp(job->target, laws_host(h)) != 0 &&
                strcmp(job->guest_uuid, laws_guest(g)) == 0 &&
                (owns(&l->facts[h][g]) || is_in_trouble(&l->facts[h][g])))
                return;
    fuzz_fail("%s says %s, and no third host said so", job->uid,
              guest_at_name(job->resolution.guest_at));
}

static void law_of_the_outcome(const struct laws *l, const struct laws_job *j,
                               const struct job *job, enum phase from)
{
    const struct laws_side *s = &j->source, *t = &j->target;
    bool handed_off = from == PHASE_TARGET_READY || from == PHASE_RUNNING;
    switch (job->resolution.guest_at) {
    case GUEST_AT_TARGET:
        FUZZ_LAW(s->answered && is_gone(&s->observation), "on the target: the source was not gone");
        FUZZ_LAW(t->answered && owns(&t->observation), "on the target: the target did not own it");
        break;
    case GUEST_AT_SOURCE:
        if (!handed_off)
            law_of_the_place(l, job);
        else
            FUZZ_LAW(s->answered && (owns(&s->observation) || is_in_trouble(&s->observation)),
                     "on the source: the last look did not say so");
        break;
    case GUEST_AT_LOST:
        FUZZ_LAW(s->answered && is_gone(&s->observation) && t->answered && is_gone(&t->observation),
                 "lost: somebody did not say so");
        break;
    case GUEST_AT_CRASHED:
        FUZZ_LAW(t->answered && is_gone(&t->observation), "ended on the target: it is there");
        FUZZ_LAW(s->answered &&
                     is_gone(&s->observation) == (job->result.outcome == OUTCOME_SUCCEEDED),
                 "ended on the target: the source has it, or had not all of it");
        break;
    case GUEST_AT_ELSEWHERE:
        FUZZ_LAW(s->answered && is_gone(&s->observation) && t->answered && is_gone(&t->observation),
                 "elsewhere: a side still has it");
        law_of_the_third_place(l, job);
        break;
    case GUEST_AT_STOPPED:
        FUZZ_LAW(s->answered && is_gone(&s->observation) && s->observation.presence == HV_PRESENT,
                 "stopped on the source: it is not defined there");
        break;
    case GUEST_AT_UNKNOWN: FUZZ_LAW(!handed_off, "an end, and nobody knows where"); break;
    default: fuzz_fail("ended while %s", guest_at_name(job->resolution.guest_at));
    }
    enum guest_at at = job->resolution.guest_at;
    bool arrived = at == GUEST_AT_TARGET || ((at == GUEST_AT_CRASHED || at == GUEST_AT_ELSEWHERE) &&
                                             job->result.outcome == OUTCOME_SUCCEEDED);
    FUZZ_LAW((job->phase == PHASE_SUCCEEDED) == (job->result.outcome == OUTCOME_SUCCEEDED) &&
                 (job->phase == PHASE_SUCCEEDED) == arrived,
             "%s, %s, %s", phase_name(job->phase), outcome_name(job->result.outcome),
             guest_at_name(job->resolution.guest_at));
    FUZZ_LAW(job->result.outcome != OUTCOME_ABORTED || job->abort.asked,
             "aborted, and nobody asked");
}

static struct laws_job *accept(struct laws *l, const struct job *job)
{
    FUZZ_LAW(l->n_jobs < LAWS_JOBS_MAX, "more jobs than were asked for");
    FUZZ_LAW(find(l, job->uid) == NULL, "a uid was given twice");
    struct laws_job *j = &l->jobs[l->n_jobs++];
    TEXT_SET(j->uid, job->uid);
    TEXT_SET(j->guest, job->guest_uuid);
    return j;
}

static void law_of_the_step(struct laws *l, struct fleet *f, const struct effect *effect)
{
    const struct job *job = fleet_job(f, effect->job_uid);
    FUZZ_LAW(job != NULL, "a step of nobody");
    enum phase from = effect->of.step.from, to = effect->of.step.to;
    struct laws_job *j = from == PHASE_NONE ? accept(l, job) : find(l, job->uid);
    FUZZ_LAW(j != NULL && j->phase == from, "a step from %s, where it is not", phase_name(from));
    FUZZ_LAW(from == PHASE_NONE ? to == PHASE_PENDING : phase_next(from, effect->of.step.why) == to,
             "%s to %s is not in phase.def", phase_name(from), phase_name(to));
    FUZZ_LAW(effect->of.step.seq == ++j->n_steps, "step %lld after %lld",
             (long long)effect->of.step.seq, (long long)j->n_steps);
    j->phase = to;
    if (phase_is_final(to))
        law_of_the_outcome(l, j, job, from);
}

static void law_of_the_migrate(struct laws *l, struct fleet *f, struct laws_job *j,
                               const struct effect *effect)
{
    const struct job *job = fleet_job(f, j->uid);
    FUZZ_LAW(!j->final && job != NULL, "a call for a job that has ended");
    for (unsigned i = 0; i < l->n_jobs; i++)
        FUZZ_LAW(l->jobs[i].call == 0 || strcmp(l->jobs[i].guest, j->guest) != 0,
                 "a second call while one is out");
    FUZZ_LAW(strcmp(effect->of.act.node, job->source) == 0 &&
                 strcmp(effect->of.act.migrate.target, job->target) == 0 &&
                 strcmp(job->source, job->target) != 0,
             "a call from %s to %s", effect->of.act.node, effect->of.act.migrate.target);
    FUZZ_LAW(j->source.answered &&
                 (owns(&j->source.observation) || is_in_trouble(&j->source.observation)),
             "a call, and the source did not say that it has the guest");
    FUZZ_LAW(j->target.answered && !owns(&j->target.observation),
             "a call, and the target runs the guest");
    FUZZ_LAW(!job->abort.asked, "a call after somebody asked to stop");
    j->call = effect->of.act.id;
}

static void law_of_the_abort(struct fleet *f, struct laws_job *j, const struct effect *effect)
{
    const struct job *job = fleet_job(f, j->uid);
    FUZZ_LAW(job != NULL && !phase_is_final(job->phase), "a stop order for a job that has ended");
    FUZZ_LAW(job->abort.asked, "a stop order, and nobody asked");
    FUZZ_LAW(j->abort == 0, "a second stop order while one is out");
    FUZZ_LAW(j->phase == PHASE_TARGET_READY || j->phase == PHASE_RUNNING, "a stop order in %s",
             phase_name(j->phase));
    j->abort = effect->of.act.id;
}

static void record_input(struct fleet *f, struct laws_job *j, const struct effect *effect)
{
    const struct job *job = fleet_job(f, j->uid);
    FUZZ_LAW(job != NULL, "a look for nobody");
    bool is_source = strcmp(effect->of.act.node, job->source) == 0;
    FUZZ_LAW(is_source || strcmp(effect->of.act.node, job->target) == 0, "a look elsewhere");
    *(is_source ? &j->source : &j->target) = (struct laws_side){.id = effect->of.act.id};
}

/* Somebody's backup is stopped for what cannot wait, where the policy says so, and once. */
static void law_of_the_backup(struct fleet *f, struct laws_job *j)
{
    const struct job *job = fleet_job(f, j->uid);
    FUZZ_LAW(job != NULL && job->request.priority == PRIORITY_SYSTEM_CRITICAL,
             "a backup of nobody's stop");
    FUZZ_LAW(job->call.config.backup_abort, "a backup is stopped, and no policy allows it");
    FUZZ_LAW(!j->backup_stopped, "a backup is stopped twice");
}

/* What a host answered is not asked again; what it did not live to answer may be. */
static void law_of_the_backups_record(struct laws_job *j, const struct effect *effect)
{
    if (effect->of.intent.kind != INTENT_STOP_BACKUP)
        return;
    bool opens = strcmp(effect->of.intent.status, "open") == 0;
    FUZZ_LAW(opens != j->backup_out, "the record of a backup is %s twice",
             opens ? "opened" : "closed");
    j->backup_out = opens;
    enum err_code code = effect->of.intent.err.code;
    j->backup_stopped =
        j->backup_stopped || (!opens && (code == ERR_NONE || code == ERR_HYPERVISOR));
}

static void law_of_the_comparison(struct fleet *f, const struct laws_job *j,
                                  const struct effect *effect)
{
    const struct job *job = fleet_job(f, j->uid);
    FUZZ_LAW(job != NULL && j->phase == PHASE_SCHEDULING, "a CPU is compared in %s",
             phase_name(j->phase));
    FUZZ_LAW(strcmp(effect->of.act.from, job->source) == 0, "a CPU of another node");
}

/* About a guest, a node or a drain: there is no job to it. A look may be at a guest that two nodes
 * seem to run. */
static bool is_of_no_job(const struct effect *effect)
{
    return (effect->kind == EFFECT_EVENT && effect->of.event.kind != NULL) ||
           (effect->kind == EFFECT_DO_OBSERVE && effect->job_uid[0] == '\0') ||
           effect->kind == EFFECT_DO_SHUTDOWN || effect->kind == EFFECT_DO_PAUSE ||
           effect->kind == EFFECT_DO_UNPAUSE || effect->kind == EFFECT_DO_CLEAR_MARK;
}

static void check_effect(struct laws *l, struct fleet *f, const struct effect *effect)
{
    if (effect->kind == EFFECT_STEP)
        law_of_the_step(l, f, effect);
    if (is_of_no_job(effect))
        return;
    struct laws_job *j = find(l, effect->job_uid);
    FUZZ_LAW(j != NULL, "an effect about nobody");
    bool later = effect->kind == EFFECT_DO_OBSERVE || effect->kind == EFFECT_OBSERVATION;
    if (effect->kind == EFFECT_INTENT)
        law_of_the_backups_record(j, effect);
    FUZZ_LAW(!j->final || later || effect->kind == EFFECT_DO_REMOVE,
             "a final job still does something");
    switch (effect->kind) {
    case EFFECT_DO_OBSERVE: record_input(f, j, effect); break;
    case EFFECT_DO_MIGRATE: law_of_the_migrate(l, f, j, effect); break;
    case EFFECT_DO_ABORT: law_of_the_abort(f, j, effect); break;
    case EFFECT_DO_STOP_BACKUP: law_of_the_backup(f, j); break;
    case EFFECT_DO_COMPARE_CPU: law_of_the_comparison(f, j, effect); break;
    default: break;
    }
}

/* ---- laws of the whole ---- */

static struct laws_record record_of(const struct job *job)
{
    struct laws_record r;
    memset(&r, 0, sizeof r);
    r.phase = job->phase;
    r.outcome = job->result.outcome;
    r.guest_at = job->resolution.guest_at;
    r.abort_status = job->abort.status;
    r.mode = job->mode;
    r.n_steps = job->history.n_steps;
    r.epoch = job->epoch;
    r.ended_ms = job->times.ended_ms;
    TEXT_SET(r.source, job->source);
    TEXT_SET(r.target, job->target);
    TEXT_SET(r.failure_reason, job->result.failure_reason);
    return r;
}

static void check_job(struct laws *l, struct fleet *f, const struct job *job)
{
    struct laws_job *j = find(l, job->uid);
    FUZZ_LAW(j != NULL, "a job that was never accepted");
    FUZZ_LAW(job_flaw(job) == NULL, "%s: %s", job->uid, job_flaw(job));
    FUZZ_LAW(!job->frozen, "internal error: %s", job->wait.reason);
    FUZZ_LAW(j->phase == job->phase, "%s by its steps, %s by itself", phase_name(j->phase),
             phase_name(job->phase));
    FUZZ_LAW(phase_is_final(job->phase) == (fleet_active_job(f, job->guest_uuid) != job),
             "%s is %s", job->uid, phase_name(job->phase));
    FUZZ_LAW(job->abort.asked || !j->abort_asked, "a request to stop was forgotten");
    j->abort_asked = job->abort.asked;
    if (!phase_is_final(job->phase))
        return;
    struct laws_record now = record_of(job);
    FUZZ_LAW(!j->final || memcmp(&now, &j->record, sizeof now) == 0,
             "a final job changed: %s %s '%s', was %s %s '%s'", phase_name(now.phase),
             guest_at_name(now.guest_at), now.failure_reason, phase_name(j->record.phase),
             guest_at_name(j->record.guest_at), j->record.failure_reason);
    j->final = true;
    j->record = now;
}

/* Who waits says for what, and there is an end to it. */
static void law_of_the_wait(const struct fleet *f, const struct job *job)
{
    bool looked_at =
        f->queue.fresh == NULL && !f->queue.crowded; /* not before the queue was looked at */
    if (!looked_at || job->phase != PHASE_PENDING)
        return;
    FUZZ_LAW(job->wait.pending != PENDING_NONE && job->wait.reason[0] != '\0', "waits for nothing");
    FUZZ_LAW(job->wait.since_ms > 0 && job->wait.until_ms > job->wait.since_ms,
             "waits for '%s' for ever", pending_name(job->wait.pending));
    FUZZ_LAW(job->queue.wait.in != NULL || job->queue.timer.in != NULL, "nobody will wake it");
}

/* A place is promised to those that are on their way, and to nobody else. */
static void law_of_the_promise(const struct fleet *f, const struct job *job)
{
    FUZZ_LAW(!job->placement.reserved || phase_is_busy(job->phase), "%s holds a promise in %s",
             job->uid, phase_name(job->phase));
    FUZZ_LAW(!phase_is_busy(job->phase) || job->target[0] == '\0' || job->placement.reserved,
             "%s goes to %s, and nothing is reserved", job->uid, job->target);
    FUZZ_LAW(job->phase != PHASE_PENDING || job->placement.launcher == LAUNCHER_NONE,
             "a launcher of a job that waits");
    (void)f;
}

/* The counters that limits are read from are what a count gives. */
static void law_of_the_counters(const struct laws *l, struct fleet *f)
{
    unsigned slots = 0, finished = 0, outbound[LAWS_HOSTS] = {0}, inbound[LAWS_HOSTS] = {0};
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next) {
        slots += job->queue.holds_slot;
        finished += phase_is_final(job->phase);
        for (unsigned h = 0; h < LAWS_HOSTS && phase_is_busy(job->phase); h++) {
            outbound[h] += strcmp(job->source, laws_host(h)) == 0;
            inbound[h] += strcmp(job->target, laws_host(h)) == 0;
        }
    }
    FUZZ_LAW(f->busy_jobs == slots, "%u places taken, %u counted", slots, f->busy_jobs);
    FUZZ_LAW(f->finished_jobs == finished, "%u ended, %u counted", finished, f->finished_jobs);
    FUZZ_LAW(l->restarted || f->config.parallel_per_fleet == 0 ||
                 slots <= f->config.parallel_per_fleet,
             "%u at once", slots);
    for (unsigned h = 0; h < LAWS_HOSTS; h++) {
        const struct node *node = fleet_node(f, laws_host(h));
        if (node == NULL)
            continue;
        FUZZ_LAW(node->outbound == outbound[h], "%u leave %s, %u counted", outbound[h], node->name,
                 node->outbound);
        FUZZ_LAW(node->inbound == inbound[h], "%u come to %s, %u counted", inbound[h], node->name,
                 node->inbound);
        FUZZ_LAW(f->config.parallel_inbound_per_node == 0 ||
                     inbound[h] <= f->config.parallel_inbound_per_node,
                 "%u come to %s", inbound[h], node->name);
        FUZZ_LAW(f->config.bandwidth_per_node == 0 ||
                     (node->in_bandwidth <= f->config.bandwidth_per_node &&
                      node->out_bandwidth <= f->config.bandwidth_per_node),
                 "more bandwidth is promised than %s gives", node->name);
        FUZZ_LAW(f->config.parallel_outbound_per_node == 0 ||
                     outbound[h] <= f->config.parallel_outbound_per_node,
                 "%u leave %s", outbound[h], node->name);
    }
}

void laws_check(struct laws *l, struct fleet *f, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_effect(l, f, &effects[i]);
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next) {
        check_job(l, f, job);
        law_of_the_wait(f, job);
        law_of_the_promise(f, job);
    }
    char text[512];
    FUZZ_LAW(ledger_check(f, text, sizeof text), "%s", text);
    for (unsigned i = 0; i < l->n_jobs; i++)
        FUZZ_LAW(l->jobs[i].final || fleet_job(f, l->jobs[i].uid) != NULL,
                 "a job that was accepted is not there any more");
    law_of_the_counters(l, f);
}
