/* gather.c - see gather.h. */
#include "analyzer/record/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/judge/verdict.h"
#include "analyzer/record/earlier.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/data/ownership.h"

/* Texts are passed once although several rows have them: an error is in its call, its order, its
 * job.
 */
enum { PASSED_MAX = 64 };

struct gathering {
    const struct gathered *job;
    const struct evidence_sink *sink;
    uint64_t passed[PASSED_MAX];
    size_t n_passed;
    char from[32], why[32]; /* of the last step */
    char modes[64];         /* that it went through, in order */
    bool called, ran;
    const char *call_result;        /* a literal; NULL: no call was recorded */
    struct store_decision decision; /* the newest that was not a shadow's; its texts are not kept */
    char decision_name[48];
    char sides[2][3][40];  /* source and target at the end: presence, state, reason */
    const char *later[2];  /* and a second later: what they show */
    char later_reason[40]; /* the target's */
};

/* ---- output ---- */

static void emit_fact(struct gathering *g, const char *key, const char *value, bool is_own)
{
    const struct evidence_fact passed = {.key = key,
                                         .value = value,
                                         .origin = "record",
                                         .at_ms = g->job->ended_ms,
                                         .is_own = is_own};
    if (value != NULL && value[0] != '\0')
        g->sink->fact(g->sink->ctx, &passed);
}

static void fact(struct gathering *g, const char *key, const char *value)
{
    emit_fact(g, key, value, false);
}

/* The engine's own sentences: not searched for patterns of other programs. */
static void own_text(struct gathering *g, const char *key, const char *value)
{
    emit_fact(g, key, value, true);
}

static void fact_bool(struct gathering *g, const char *key, bool value)
{
    fact(g, key, value ? "true" : "false");
}

static void fact_number(struct gathering *g, const char *key, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    fact(g, key, text);
}

static bool is_repeated(struct gathering *g, const char *text)
{
    uint64_t hash = hash_text(HASH_START, text);
    for (size_t i = 0; i < g->n_passed; i++)
        if (g->passed[i] == hash)
            return true;
    if (g->n_passed < PASSED_MAX)
        g->passed[g->n_passed++] = hash;
    return false;
}

static enum side side_of(const struct gathered *job, const char *node)
{
    if (node[0] != '\0' && strcmp(node, job->source) == 0)
        return SIDE_SOURCE;
    return node[0] != '\0' && strcmp(node, job->target) == 0 ? SIDE_TARGET : SIDE_UNKNOWN;
}

/* The migrate call's error combines messages of both sides, so its side is unknown. */
static void call_message(struct gathering *g, const char *call, const char *node, const char *text,
                         int64_t at_ms)
{
    char origin[EVIDENCE_ORIGIN_MAX], rest[ERR_TEXT_MAX];
    bool joint = strcmp(call, "migrate") == 0 || strcmp(call, "recover") == 0;
    int64_t since_ms = g->job->handed_off_ms - GATHERED_CLOCKS_DIFFER_MS;
    if (joint && g->job->target_logged && earlier_lines_drop(text, since_ms, rest, sizeof rest))
        text = rest;
    if (text[0] == '\0' || is_repeated(g, text))
        return;
    (void)snprintf(origin, sizeof origin, "%s call on %s", call, node);
    const struct evidence_message message = {.text = text,
                                             .length = strlen(text),
                                             .origin = origin,
                                             .side = joint ? SIDE_UNKNOWN : side_of(g->job, node),
                                             .at_ms = at_ms};
    g->sink->message(g->sink->ctx, &message);
}

/* ---- rows ---- */

static bool see_step(void *ctx, const struct store_transition *row)
{
    struct gathering *g = ctx;
    enum phase to = phase_from_name(row->to);
    g->ran = g->ran || to == PHASE_RUNNING;
    g->called = g->called || g->ran || to == PHASE_TARGET_READY;
    if (to < PHASE_COUNT && phase_is_final(to)) {
        TEXT_SET(g->from, row->from);
        TEXT_SET(g->why, row->why);
    }
    return true;
}

static bool see_intent(void *ctx, const struct store_intent *row)
{
    struct gathering *g = ctx;
    bool done = strcmp(row->status, "done") == 0;
    bool worked = done && strcmp(row->err, err_name(ERR_NONE)) == 0;
    bool blind = done && strcmp(row->err, err_name(ERR_UNREACHABLE)) == 0;
    if (strcmp(row->action, "migrate") == 0)
        g->call_result = worked ? "ok" : done && !blind ? "failed" : "lost";
    if (done && !worked)
        call_message(g, row->action, row->node, row->text, row->done_ms);
    return true;
}

static bool see_error(void *ctx, const struct store_error *row)
{
    call_message(ctx, row->call, row->node, row->text, row->at_ms);
    return true;
}

static struct hv_observation observation_of(const char *presence, const char *state,
                                            const char *reason)
{
    struct hv_observation observation = {.presence = hv_presence_from_name(presence)};
    if (observation.presence == HV_PRESENT)
        hv_state_from_names(state, reason, &observation.state, &observation.reason);
    return observation;
}

static const char *view_of(const char *presence, const char *state, const char *reason)
{
    struct hv_observation observation = observation_of(presence, state, reason);
    return ownership_side_name(ownership_side(&observation));
}

static bool see_observation(void *ctx, const struct store_observation *row)
{
    struct gathering *g = ctx;
    bool is_source = strcmp(row->role, "source") == 0;
    if (strcmp(row->moment, "later") == 0 && g->later[is_source ? 0 : 1] == NULL) {
        g->later[is_source ? 0 : 1] = view_of(row->presence, row->state, row->reason);
        if (!is_source)
            TEXT_SET(g->later_reason, row->reason);
    }
    if (strcmp(row->moment, "outcome") != 0)
        return true;
    TEXT_SET(g->sides[is_source ? 0 : 1][0], row->presence);
    TEXT_SET(g->sides[is_source ? 0 : 1][1], row->state);
    TEXT_SET(g->sides[is_source ? 0 : 1][2], row->reason);
    return true;
}

static bool see_mode(void *ctx, const struct store_mode *row)
{
    struct gathering *g = ctx;
    size_t n = strlen(g->modes);
    (void)snprintf(g->modes + n, sizeof g->modes - n, "%s%s", n > 0 ? ">" : "", row->mode);
    return true;
}

static bool see_decision(void *ctx, const struct store_decision *row)
{
    struct gathering *g = ctx;
    if (row->shadow)
        return true;
    g->decision = *row;
    TEXT_SET(g->decision_name, row->decision);
    return true;
}

static bool see_rejection(void *ctx, const struct store_rejection *row)
{
    struct gathering *g = ctx;
    char passed[160];
    (void)snprintf(passed, sizeof passed, "rejection %s", row->reason);
    if (!is_repeated(g, passed))
        fact(g, "rejection", row->reason);
    return true;
}

static size_t count_disks(const char *volumes_json)
{
    struct err err = {0};
    OWNED(json_object) disks =
        volumes_json[0] != '\0' ? json_parse(volumes_json, strlen(volumes_json), "", &err) : NULL;
    return disks != NULL && json_object_is_type(disks, json_type_array)
               ? json_object_array_length(disks)
               : 0;
}

/* Whether somebody asked to stop it is not known. */
static void see_observed(struct gathering *g, const struct store_job *row)
{
    fact_bool(g, "observed", true);
    fact(g, "job_end", row->result.job_end);
    fact(g, "copy_end", row->result.copy_end);
}

static bool see_job(void *ctx, const struct store_job *row)
{
    struct gathering *g = ctx;
    bool asked = row->abort.requester[0] != '\0';
    fact(g, "outcome", row->result.outcome);
    fact(g, "guest", row->resolution.guest_at);
    fact_bool(g, "handed_off", row->times.handed_off_ms != 0);
    fact(g, "mode", row->mode);
    if (strcmp(row->request.origin, origin_name(ORIGIN_OBSERVED)) == 0)
        see_observed(g, row);
    else
        fact_bool(g, "abort_requested", asked);
    fact(g, "abort_by", row->abort.requester);
    fact(g, "abort_cause", row->abort.cause);
    fact(g, "abort_status", row->abort.status);
    fact_bool(g, "adopted", row->adopted);
    fact_bool(g, "named_source",
              row->request.wanted[0] != '\0' && strcmp(row->request.wanted, row->source) == 0);
    if (row->result.error_hv_code != 0) {
        fact_number(g, "error_code", row->result.error_hv_code);
        fact_number(g, "error_domain", row->result.error_hv_domain);
    }
    fact(g, "recovery", row->recovery.state);
    if (row->recovery.tries > 0)
        fact_number(g, "recovery_tries", row->recovery.tries);
    own_text(g, "remedy", row->stream.remedy);
    fact(g, "pending", row->wait.pending);
    own_text(g, "failure_reason", row->result.failure_reason);
    if (row->request.volumes_json[0] != '\0')
        fact_number(g, "disks", (int64_t)count_disks(row->request.volumes_json));
    int64_t waited_until_ms =
        row->times.handed_off_ms != 0 ? row->times.handed_off_ms : row->times.ended_ms;
    if (waited_until_ms > row->times.created_ms)
        fact_number(g, "waited_ms", waited_until_ms - row->times.created_ms);
    int64_t end_ms = g->job->answered_ms != 0 ? g->job->answered_ms : row->times.ended_ms;
    if (row->times.started_ms != 0 && end_ms > row->times.started_ms)
        fact_number(g, "elapsed_ms", end_ms - row->times.started_ms);
    call_message(g, "migrate", row->source, row->result.error_text, g->job->answered_ms);
    return true;
}

/* ---- facts ---- */

static void emit_side(struct gathering *g, const char *role, const char sides[3][40])
{
    static const char *const words[] = {"presence", "state", "reason"};
    char key[EVIDENCE_KEY_MAX];
    if (sides[0][0] == '\0')
        return;
    for (size_t i = 0; i < COUNT(words); i++) {
        (void)snprintf(key, sizeof key, "%s_%s", role, words[i]);
        fact(g, key, sides[i]);
    }
    (void)snprintf(key, sizeof key, "%s_view", role);
    fact(g, key, view_of(sides[0], sides[1], sides[2]));
}

static void emit_observations(struct gathering *g)
{
    fact(g, "phase", g->from);
    fact(g, "ended_by", g->why);
    fact_bool(g, "called", g->called);
    fact_bool(g, "ran", g->ran);
    fact(g, "call_result", g->call_result);
    emit_side(g, "source", g->sides[0]);
    emit_side(g, "target", g->sides[1]);
    fact(g, "source_later", g->later[0]);
    fact(g, "target_later", g->later[1]);
    fact(g, "target_later_reason", g->later_reason);
    fact(g, "modes", g->modes);
    fact(g, "decision", g->decision_name);
    if (g->decision.budget_ms > 0)
        fact_number(g, "budget_ms", g->decision.budget_ms);
}

bool gather_record(struct store *store, const struct gathered *job,
                   const struct evidence_sink *sink, struct err *err)
{
    struct gathering g = {.job = job, .sink = sink};
    const struct store_ops *ops = store->ops;
    bool read = ops->each_transition(store, job->uid, see_step, &g, err) &&
                ops->each_error(store, job->uid, see_error, &g, err) &&
                ops->each_intent(store, job->uid, see_intent, &g, err) &&
                ops->each_observation(store, job->uid, see_observation, &g, err) &&
                ops->each_mode(store, job->uid, see_mode, &g, err) &&
                ops->each_decision(store, job->uid, see_decision, &g, err) &&
                ops->find_job(store, "", job->uid, see_job, &g, err) &&
                ops->each_rejection(store, job->uid, see_rejection, &g, err);
    if (read)
        emit_observations(&g);
    return read;
}

/* ---- the job ---- */

static bool take_job(void *ctx, const struct store_job *row)
{
    struct gathered *job = ctx;
    TEXT_SET(job->uid, row->uid);
    TEXT_SET(job->ns, row->ns);
    TEXT_SET(job->name, row->name);
    TEXT_SET(job->guest, row->guest_name);
    TEXT_SET(job->source, row->source);
    TEXT_SET(job->target, row->target);
    enum outcome outcome = outcome_from_name(row->result.outcome);
    enum guest_at guest_at = guest_at_from_name(row->resolution.guest_at);
    job->outcome = outcome < OUTCOME_COUNT ? outcome : OUTCOME_NONE;
    job->guest_at = guest_at < GUEST_AT_COUNT ? guest_at : GUEST_AT_UNKNOWN;
    job->observed = strcmp(row->request.origin, origin_name(ORIGIN_OBSERVED)) == 0;
    job->handed_off = row->times.handed_off_ms != 0;
    job->has_error = row->result.error_hv_code != 0 || row->result.error_text[0] != '\0';
    job->recovered = row->recovery.tries > 0;
    job->created_ms = row->times.created_ms;
    job->handed_off_ms = row->times.handed_off_ms;
    job->started_ms = row->times.started_ms;
    job->ended_ms = row->times.ended_ms;
    return true;
}

static bool take_call(void *ctx, const struct store_intent *row)
{
    struct gathered *job = ctx;
    if (strcmp(row->action, "migrate") == 0) {
        job->called_ms = row->asked_ms;
        job->answered_ms = row->done_ms;
    }
    return true;
}

static bool take_later(void *ctx, const struct store_observation *row)
{
    struct gathered *job = ctx;
    struct hv_observation observation = observation_of(row->presence, row->state, row->reason);
    enum ownership_side side = ownership_side(&observation);
    if (job->outcome != OUTCOME_SUCCEEDED || strcmp(row->moment, "later") != 0)
        return true;
    bool is_source = strcmp(row->role, "source") == 0;
    if (is_source)
        job->back = job->back || side == SIDE_OWNS;
    else if (!job->seen_later)
        job->crashed = side == SIDE_OFF || side == SIDE_ABSENT;
    job->seen_later = job->seen_later || !is_source;
    return true;
}

static bool take_end(void *ctx, const struct store_transition *row)
{
    struct gathered *job = ctx;
    enum phase to = phase_from_name(row->to);
    if (to < PHASE_COUNT && phase_is_final(to))
        TEXT_SET(job->ended_by, row->why);
    return true;
}

bool gather_job(struct store *store, const char *job_uid, struct gathered *out_job, struct err *err)
{
    *out_job = (struct gathered){0};
    bool read = store->ops->find_job(store, "", job_uid, take_job, out_job, err) &&
                store->ops->each_transition(store, job_uid, take_end, out_job, err) &&
                store->ops->each_intent(store, job_uid, take_call, out_job, err) &&
                store->ops->each_observation(store, job_uid, take_later, out_job, err);
    if (out_job->back || strcmp(out_job->ended_by, trigger_name(TRIGGER_ON_TARGET)) != 0)
        out_job->crashed =
            false; /* it was migrated back; or an operator override without observation */
    return read;
}

/* ---- stored evidence ---- */

static bool find_target_log(void *ctx, const struct store_evidence *row)
{
    bool *found = ctx;
    *found = *found || gather_is_target_log(row);
    return true;
}

bool gather_is_target_log(const struct store_evidence *row)
{
    return row->key[0] == '\0' && strcmp(row->side, side_name(SIDE_TARGET)) == 0 &&
           strncmp(row->origin, "QEMU log", strlen("QEMU log")) == 0;
}

bool gather_has_target_log(struct store *store, const char *job_uid, bool *out_has, struct err *err)
{
    bool found = false;
    if (!store->ops->each_evidence(store, job_uid, find_target_log, &found, err))
        return false;
    *out_has = found;
    return true;
}

static bool emit_evidence(void *ctx, const struct store_evidence *row)
{
    notes_emit_row(row, ctx);
    return true;
}

bool gather_stored(struct store *store, const char *job_uid, const struct evidence_sink *sink,
                   struct err *err)
{
    struct evidence_sink to = *sink;
    return store->ops->each_evidence(store, job_uid, emit_evidence, &to, err);
}
