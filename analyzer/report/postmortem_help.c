/* postmortem_help.c - what would have helped a migration that did not succeed: each candidate is a
 * policy, replayed over the recorded samples; only candidates that would have acted are shown. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/report/postmortem_inside.h"
#include "analyzer/report/replay.h"
#include "base/human.h"
#include "base/json.h"

static const struct candidate {
    const char *what, *policy;
    enum setting setting; /* already set: no candidate */
} candidates[] = {
    {"allowPostCopy: true", "{\"allowPostCopy\":true}", SETTING_post_copy},
    {"allowWorkloadDisruption: true", "{\"allowWorkloadDisruption\":true}", SETTING_disruption},
};

static void add(struct postmortem *pm, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct postmortem *pm, const char *fmt, ...)
{
    char text[2 * POSTMORTEM_TEXT_MAX];
    if (pm->n_helps == POSTMORTEM_HELPS_MAX)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pm_clean(pm->helps[pm->n_helps++], POSTMORTEM_TEXT_MAX, text);
}

/* The decision that ended it, or NULL. */
static const struct store_decision *abort_decision(const struct archive *a)
{
    for (size_t i = a->decisions.n; i-- > 0;)
        if (!a->decisions.rows[i].shadow && strcmp(a->decisions.rows[i].action, "abort") == 0)
            return &a->decisions.rows[i];
    return NULL;
}

static bool is_on(const struct archive *a, enum setting setting)
{
    struct err ignored = {0};
    const char *text = a->job.call.config_json;
    OWNED(json_object) config = json_parse(text, strlen(text), "configuration", &ignored);
    return config != NULL && json_object_get_boolean(json_at(config, setting_name(setting))) != 0;
}

/* Effect on the guest of the last line of a replay that acted. */
static const char *effect_of(const struct monitor_decision *is)
{
    switch (is->action) {
    case MONITOR_POSTCOPY: return "the guest would have been switched to post-copy";
    case MONITOR_PAUSE: return "the guest would have been paused to finish the copy";
    case MONITOR_SET_DOWNTIME: return "the guest would have been paused for the rest of the copy";
    default: return NULL; /* aborted too: no help */
    }
}

static void add_acted(struct postmortem *pm, const char *what, const struct replay *r,
                      const struct store_decision *end)
{
    const struct replay_line *last = &r->lines[r->n_lines - 1];
    const char *effect = effect_of(&last->is);
    char when[PM_NUMBER_MAX], rest[PM_NUMBER_MAX] = "", left[PM_NUMBER_MAX], early[PM_NUMBER_MAX];
    if (effect == NULL)
        return;
    human_duration(last->is.elapsed_ms, when);
    pm_bytes((int64_t)last->is.remaining, left);
    human_duration(last->is.estimate_ms >= 0 ? last->is.estimate_ms : 0, rest);
    int64_t gain_ms = end != NULL ? end->elapsed_ms - last->is.elapsed_ms : 0;
    human_duration(gain_ms, early);
    add(pm,
        "%s: %s %s after hand-off%s%s%s, with %s remaining%s%s (replayed over the recorded "
        "samples; what would have followed is not known)",
        what, effect, when, gain_ms > 0 ? ", " : "", gain_ms > 0 ? early : "",
        gain_ms > 0 ? " before the abort" : "", left,
        last->is.estimate_ms >= 0 ? ", which needs " : "", last->is.estimate_ms >= 0 ? rest : "");
}

static bool try(struct postmortem *pm, const char *what, const struct replay_question *question,
                const struct store_decision *end, struct err *err)
{
    struct replay r;
    struct err why = {0};
    if (!replay_run(pm->archive, question, &r, &why))
        return why.code == ERR_REFUSED || err_set(err, why.code, "%s", why.text);
    if (r.end == REPLAY_ACTED && r.n_lines > 0)
        add_acted(pm, what, &r, end);
    replay_fini(&r);
    return true;
}

static bool try_policies(struct postmortem *pm, const struct store_decision *end, struct err *err)
{
    for (size_t i = 0; i < COUNT(candidates); i++) {
        struct replay_question question = {0};
        struct err why = {0};
        const struct candidate *c = &candidates[i];
        if (is_on(pm->archive, c->setting))
            continue;
        OWNED(json_object) spec = json_parse(c->policy, strlen(c->policy), "policy", &why);
        if (spec != NULL && replay_policy(pm->archive, spec, &question, &why) &&
            !try(pm, c->what, &question, end, err))
            return false;
    }
    return true;
}

/* The monitor aborted because the remaining bytes did not fit: would a higher max downtime have
 * helped? */
static bool try_downtime(struct postmortem *pm, const struct store_decision *end, struct err *err)
{
    char policy[64], what[64];
    struct replay_question question = {0};
    struct err why = {0};
    if (end->bandwidth_bps <= 0 || end->remaining <= 0)
        return true;
    int64_t estimate_ms = (int64_t)((double)end->remaining * 1000 / (double)end->bandwidth_bps) + 1;
    (void)snprintf(policy, sizeof policy, "{\"maxDowntimeMs\":%" PRId64 "}", estimate_ms);
    (void)snprintf(what, sizeof what, "maxDowntimeMs: %" PRId64, estimate_ms);
    OWNED(json_object) spec = json_parse(policy, strlen(policy), "policy", &why);
    return spec == NULL || !replay_policy(pm->archive, spec, &question, &why) ||
           try(pm, what, &question, end, err);
}

static void add_rates(struct postmortem *pm, const struct store_decision *end)
{
    char dirty[PM_NUMBER_MAX], rate[PM_NUMBER_MAX];
    if (end->bandwidth_bps <= 0 || end->dirty_bps < end->bandwidth_bps)
        return;
    pm_bytes(end->dirty_bps, dirty);
    pm_bytes(end->bandwidth_bps, rate);
    add(pm,
        "more bandwidth, or a lower dirty rate: dirty rate %s/s, bandwidth %s/s; at these rates no "
        "number of iterations converges (from the decision to abort)",
        dirty, rate);
}

bool pm_add_helps(struct postmortem *pm, struct err *err)
{
    const struct archive *a = pm->archive;
    const struct store_decision *end = abort_decision(a);
    bool failed =
        a->job.result.outcome[0] != '\0' && strcmp(a->job.result.outcome, "succeeded") != 0;
    if (!failed || end == NULL || a->job.call.config_json[0] == '\0')
        return true; /* no decision of the monitor ended it: another policy would not have helped */
    if (a->monitor_inputs.n > 0 && (!try_policies(pm, end, err) || !try_downtime(pm, end, err)))
        return false;
    add_rates(pm, end);
    return true;
}
