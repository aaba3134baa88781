/* report.c - see report.h: inputs, effects, questions. */
#include "tests/decisions/report.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "engine/data/flags.h"
#include "engine/data/monitor.h"

void report_time(int64_t ms, char out_text[static 32])
{
    long long whole = (long long)(ms / 1000), rest = (long long)(ms % 1000);
    if (rest == 0)
        (void)snprintf(out_text, 32, "%lld s", whole);
    else if (rest % 100 == 0)
        (void)snprintf(out_text, 32, "%lld.%lld s", whole, rest / 100);
    else
        (void)snprintf(out_text, 32, "%lld.%03lld s", whole, rest);
}

/* ---- inputs ---- */

static void add_value(struct buf *out, const struct yaml_node *node)
{
    if (node->kind == YAML_SCALAR) {
        buf_add(out, node->text);
        return;
    }
    OWNED(json_object) json = yaml_to_json(node);
    buf_add(out, json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE));
}

void report_input(struct world *w, const struct yaml_node *step)
{
    char time[32];
    report_time(world_elapsed_ms(w), time);
    buf_addf(&w->out, "%sat %s:", w->out.length > 0 ? "\n" : "", time);
    const char *comma = "";
    for (const struct yaml_node *one = step->child; one != NULL; one = one->next) {
        if (strcmp(one->key, "at") == 0)
            continue;
        buf_addf(&w->out, "%s %s ", comma, one->key);
        add_value(&w->out, one);
        comma = ",";
    }
    buf_add(&w->out, "\n");
    w->headed_ms = world_elapsed_ms(w);
}

void report_refusal(struct world *w, const struct err *err)
{
    buf_addf(&w->out, "  refused (%s): %s\n", err_name(err->code), err->text);
}

/* What happens by itself gets a head of its own. */
static void head(struct world *w)
{
    char time[32];
    if (w->headed_ms == world_elapsed_ms(w))
        return;
    w->headed_ms = world_elapsed_ms(w);
    report_time(w->headed_ms, time);
    buf_addf(&w->out, "at %s\n", time);
}

/* ---- questions ---- */

static const char *guest_name(struct world *w, const char *uuid)
{
    const struct world_guest *guest = world_guest_by_uuid(w, uuid);
    return guest != NULL ? guest->is.name : uuid;
}

void report_answer(struct world *w, const struct effect *effect, const char *question,
                   const char *answer)
{
    char text[sizeof w->answers[0].question], said[sizeof w->answers[0].answer];
    TEXT_SET(said, answer);
    (void)snprintf(text, sizeof text, "%.60s: %.30s %.60s", effect->of.act.node, question,
                   guest_name(w, effect->of.act.guest));
    size_t i = 0;
    while (i < w->n_asked && strcmp(w->answers[i].question, text) != 0)
        i++;
    if (i < w->n_asked && strcmp(w->answers[i].answer, said) == 0)
        return;
    if (i == w->n_asked && w->n_asked < WORLD_ASKED_MAX)
        TEXT_SET(w->answers[w->n_asked++].question, text);
    if (i < w->n_asked)
        TEXT_SET(w->answers[i].answer, said);
    head(w);
    buf_addf(&w->out, "  ask %s -> %s\n", text, said);
}

static void observation_text(const struct hv_observation *observation,
                             char out_text[static HV_TEXT_MAX])
{
    char state[HV_TEXT_MAX];
    hv_state_text(observation->state, observation->reason, state);
    if (observation->presence == HV_PRESENT)
        (void)snprintf(out_text, HV_TEXT_MAX, "%.200s%s", state,
                       observation->autostart ? " autostart" : "");
    else
        (void)text_copy(out_text, HV_TEXT_MAX, hv_presence_name(observation->presence));
}

void report_monitor_input(struct world *w, const struct effect *effect,
                          const struct hv_observation *observation)
{
    char text[HV_TEXT_MAX];
    observation_text(observation, text);
    report_answer(w, effect, hv_call_name(HV_CALL_DOMAIN_STATE), text);
}

void report_job(struct world *w, const struct effect *effect, int operation)
{
    const char *answer = "a job";
    if (operation < 0)
        answer = "unreachable";
    else if (operation == HV_OPERATION_UNKNOWN)
        answer = "no job";
    else if (operation == HV_OPERATION_MIGRATION_OUT)
        answer = "migration out";
    else if (operation == HV_OPERATION_BACKUP)
        answer = "backup";
    report_answer(w, effect, hv_call_name(HV_CALL_JOB_STATS), answer);
}

void report_volumes(struct world *w, const struct effect *effect, const struct input *answer)
{
    char text[WORLD_TEXT_MAX] = "";
    size_t used = 0;
    for (size_t i = 0; i < answer->of.volumes->n && answer->err.code == ERR_NONE; i++) {
        const struct hv_volume_info *at = &answer->of.volumes->list[i].at;
        int more = snprintf(text + used, sizeof text - used, "%s%llu MiB %s", i > 0 ? ", " : "",
                            (unsigned long long)(at->capacity >> 20),
                            at->exists      ? "there"
                            : at->creatable ? "can be made"
                            : at->known     ? "missing"
                                            : "not known");
        used += more > 0 && (size_t)more < sizeof text - used ? (size_t)more : 0;
    }
    report_answer(w, effect, hv_call_name(HV_CALL_VOLUME_INFO),
                  answer->err.code != ERR_NONE ? answer->err.text : text);
}

/* ---- records ---- */

static const char *job_name(struct world *w, const char *uid)
{
    const struct job *job = fleet_job(w->fleet, uid);
    return job != NULL ? job->name : uid;
}

static void add_error(struct buf *out, const struct err *err)
{
    if (err->code == ERR_NONE)
        return;
    buf_addf(out, ": %s", err_name(err->code));
    if (err->hv_code != 0)
        buf_addf(out, " %d/%d", err->hv_code, err->hv_domain);
}

static void show_step(struct world *w, const struct effect *effect)
{
    if (effect->of.step.from == PHASE_NONE)
        buf_addf(&w->out, "phase %s (accepted)\n", phase_name(effect->of.step.to));
    else
        buf_addf(&w->out, "phase %s -> %s (%s)\n", phase_name(effect->of.step.from),
                 phase_name(effect->of.step.to), trigger_name(effect->of.step.why));
}

static void show_observation(struct world *w, const struct effect *effect)
{
    char text[HV_TEXT_MAX];
    observation_text(&effect->of.observation.observation, text);
    buf_addf(&w->out, "seen (%s): %s %s %s\n", effect->of.observation.moment,
             effect->of.observation.role, effect->of.observation.node, text);
}

static void show_intent(struct world *w, const struct effect *effect)
{
    buf_addf(&w->out, "intent %lld.%lld %s: %s at %s", (long long)effect->of.intent.epoch,
             (long long)effect->of.intent.seq, effect->of.intent.status,
             intent_kind_name(effect->of.intent.kind), effect->of.intent.node);
    if (effect->of.intent.argument[0] != '\0')
        buf_addf(&w->out, ", %s", effect->of.intent.argument);
    if (effect->of.intent.times > 1)
        buf_addf(&w->out, " (%lld times)", (long long)effect->of.intent.times);
    add_error(&w->out, &effect->of.intent.err);
    buf_add(&w->out, "\n");
}

static void show_decision(struct world *w, const struct effect *effect)
{
    const struct monitor_decision *is = &effect->of.decision.is;
    buf_addf(&w->out, "decision (%s%s): %s -> %s: %s\n", effect->of.decision.monitor,
             effect->of.decision.shadow ? ", shadow" : "", decision_name(is->why),
             monitor_action_name(is->action), is->text);
}

static void show_error(struct world *w, const struct effect *effect)
{
    buf_addf(&w->out, "error of %s at %s", effect->of.error.call, effect->of.error.node);
    add_error(&w->out, &effect->of.error.err);
    buf_addf(&w->out, " '%s'\n", effect->of.error.err.text);
}

static void show_record(struct world *w, const struct effect *effect)
{
    head(w);
    bool about_other = effect->kind == EFFECT_EVENT && effect->of.event.kind != NULL;
    if (about_other)
        buf_addf(&w->out, "  %s %s: ", effect->of.event.kind, effect->of.event.name);
    else
        buf_addf(&w->out, "  %s: ", job_name(w, effect->job_uid));
    switch (effect->kind) {
    case EFFECT_STEP: show_step(w, effect); break;
    case EFFECT_EVENT:
        buf_addf(&w->out, "%s %s: %s\n", effect->of.event.warning ? "Warning" : "Normal",
                 effect->of.event.reason, effect->of.event.message);
        break;
    case EFFECT_OBSERVATION: show_observation(w, effect); break;
    case EFFECT_ERROR: show_error(w, effect); break;
    case EFFECT_MODE:
        buf_addf(&w->out, "mode %s (%s)\n", mode_name(effect->of.mode.mode), effect->of.mode.cause);
        break;
    case EFFECT_DECISION: show_decision(w, effect); break;
    default: show_intent(w, effect); break;
    }
}

/* ---- waits ---- */

/* Numbers are left out, digits of a name are not. */
static void without_numbers(const char *text, char *out, size_t bytes)
{
    size_t n = 0;
    bool in_word = false;
    for (; *text != '\0' && n + 1 < bytes; text++) {
        bool is_digit = strchr("0123456789.", *text) != NULL;
        in_word = isalpha((unsigned char)*text) || (in_word && is_digit);
        if (in_word || !is_digit)
            out[n++] = *text;
    }
    out[n] = '\0';
}

static void show_wait(struct world *w, const struct job *job)
{
    char time[32], text[WORLD_TEXT_MAX], plain[WORLD_TEXT_MAX] = "";
    size_t i = 0;
    while (i < w->n_waits && strcmp(w->waits[i].uid, job->uid) != 0)
        i++;
    if (i == COUNT(w->waits))
        return;
    if (i == w->n_waits) {
        w->n_waits++;
        TEXT_SET(w->waits[i].uid, job->uid);
        w->waits[i].text[0] = '\0';
    }
    (void)snprintf(text, sizeof text, "%s: %s", pending_name(job->wait.pending), job->wait.reason);
    if (job->wait.pending != PENDING_NONE)
        without_numbers(text, plain, sizeof plain);
    if (strcmp(w->waits[i].text, plain) == 0)
        return;
    TEXT_SET(w->waits[i].text, plain);
    if (job->wait.pending == PENDING_NONE)
        return;
    head(w);
    buf_addf(&w->out, "  %s: waits for %s", job->name, pending_name(job->wait.pending));
    if (job->wait.until_ms != 0) {
        report_time(job->wait.until_ms - WORLD_WALL_MS, time);
        buf_addf(&w->out, " until %s", time);
    }
    buf_addf(&w->out, ": %s\n", job->wait.reason);
}

void report_waits(struct world *w)
{
    for (const struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        show_wait(w, job);
}

/* ---- orders ---- */

static void add_flags(struct buf *out, const struct hv_migrate *how)
{
    enum { ALWAYS = 0, STREAMS = 0 };
    static const struct {
        unsigned bit;
        const char *name;
    } flags[] = {
#define FLAG(id, bit, name, words) {bit, name},
#include "engine/data/flags.def"
#undef FLAG
    };
    const char *comma = " with ";
    for (size_t i = 0; i < COUNT(flags); i++) {
        if ((how->flags & flags[i].bit) == 0)
            continue;
        buf_addf(out, "%s%s", comma, flags[i].name);
        comma = ", ";
    }
}

static void show_migrate(struct world *w, const struct effect *effect)
{
    const struct hv_migrate *how = &effect->of.act.migrate;
    const struct job *job = fleet_job(w->fleet, effect->job_uid);
    buf_addf(&w->out, "migrate %s to %s", guest_name(w, effect->of.act.guest), how->target);
    add_flags(&w->out, how);
    if (how->port != 0)
        buf_addf(&w->out, "; port %u", how->port);
    if (how->bandwidth_mibs != 0)
        buf_addf(&w->out, "; bandwidth %llu MiB/s", (unsigned long long)how->bandwidth_mibs);
    if (how->postcopy_bandwidth_mibs != 0)
        buf_addf(&w->out, "; post-copy bandwidth %llu MiB/s",
                 (unsigned long long)how->postcopy_bandwidth_mibs);
    if (how->parallel_connections != 0)
        buf_addf(&w->out, "; %d connections", how->parallel_connections);
    if (job != NULL && job->request.volumes_json != NULL)
        buf_addf(&w->out, "; volumes %s", job->request.volumes_json);
    buf_add(&w->out, "\n");
}

static void show_tune(struct world *w, const struct effect *effect)
{
    enum hv_call call = effect->of.act.call;
    buf_addf(&w->out, "%s %s", hv_call_name(call), guest_name(w, effect->of.act.guest));
    if (call == HV_CALL_SET_DOWNTIME)
        buf_addf(&w->out, " %llu ms", (unsigned long long)effect->of.act.value);
    if (call == HV_CALL_SET_SPEED)
        buf_addf(&w->out, " %llu MiB/s", (unsigned long long)effect->of.act.value);
    if (call == HV_CALL_RESUME_STREAM)
        buf_addf(&w->out, " to %s port %u", effect->of.act.migrate.target,
                 effect->of.act.migrate.port);
    buf_addf(&w->out, "%s%s\n", effect->of.act.postcopy ? " (post-copy stream)" : "",
             effect->of.act.stops ? " (instead of abort)" : "");
}

void report_effect(struct world *w, const struct effect *effect)
{
    if (effect_is_record(effect->kind)) {
        show_record(w, effect);
        return;
    }
    enum input_kind answer = effect_answer(effect->kind);
    if (effect->kind == EFFECT_DO_RECORD_MONITOR_INPUT ||
        (answer != INPUT_COUNT && answer != INPUT_CALL))
        return; /* questions are shown with their answers */
    head(w);
    if (effect->kind == EFFECT_DO_REMOVE || effect->kind == EFFECT_DO_UNWATCH) {
        buf_addf(&w->out, "  order: %s %s\n",
                 effect->kind == EFFECT_DO_REMOVE ? "take out of view" : "stop sampling",
                 job_name(w, effect->job_uid));
        return;
    }
    buf_addf(&w->out, "  order %s: ", effect->of.act.node);
    const char *guest = guest_name(w, effect->of.act.guest);
    switch (effect->kind) {
    case EFFECT_DO_MIGRATE: show_migrate(w, effect); break;
    case EFFECT_DO_TUNE: show_tune(w, effect); break;
    case EFFECT_DO_ABORT:
        buf_addf(&w->out, "abort %s%s\n", guest,
                 effect->of.act.postcopy ? " (post-copy stream)" : "");
        break;
    case EFFECT_DO_CLEAR_MARK: buf_addf(&w->out, "clear-mark %s\n", guest); break;
    case EFFECT_DO_SHUTDOWN: buf_addf(&w->out, "shutdown %s\n", guest); break;
    case EFFECT_DO_PAUSE: buf_addf(&w->out, "pause %s\n", guest); break;
    case EFFECT_DO_UNPAUSE: buf_addf(&w->out, "unpause %s\n", guest); break;
    case EFFECT_DO_STOP_BACKUP: buf_addf(&w->out, "abort %s (its backup)\n", guest); break;
    default: buf_addf(&w->out, "sample %s\n", guest); break;
    }
}
