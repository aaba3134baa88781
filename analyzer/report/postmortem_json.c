/* postmortem_json.c - the page as one JSON document, for programs. */
#include <string.h>

#include "analyzer/report/postmortem_inside.h"
#include "base/json.h"

static void add_facts(struct json_object *page, const char *key, const struct pm_fact *facts,
                      size_t n)
{
    struct json_object *object = json_add_object(page, key);
    for (size_t i = 0; i < n; i++)
        json_add_text(object, facts[i].name, facts[i].value);
}

static void add_verdict(struct json_object *page, const struct archive *a)
{
    const struct store_verdict *v = &a->verdict;
    if (!a->has_verdict)
        return;
    struct json_object *out = json_add_object(page, "verdict");
    json_add_text(out, "outcome", v->outcome);
    json_add_text(out, "plane", v->plane);
    json_add_text(out, "family", v->family);
    json_add_text(out, "cause", v->cause);
    json_add_text(out, "resembles", v->resembles);
    json_add_text(out, "failedAt", v->failed_at);
    json_add_text(out, "guest", v->guest_at);
    json_add_text(out, "recoverable", v->recoverable);
    json_add_bool(out, "irrecoverable", v->irrecoverable);
    json_add_i64(out, "confidencePercent", v->confidence_percent);
    json_add_text(out, "rule", v->rule);
    json_add_text(out, "rulesVersion", v->rules_version);
    json_add_text(out, "action", v->action);
    json_add_text(out, "runbook", v->runbook);
    struct json_object *points = json_add_array(out, "points");
    for (size_t i = 0; i < a->points.n; i++) {
        const struct store_point *p = &a->points.rows[i];
        struct json_object *one = json_add_object(points, "");
        json_add_text(one, "standing", p->standing);
        json_add_text(one, "rule", p->rule);
        json_add_text(one, "side", p->side);
        json_add_text(one, "origin", p->origin);
        json_add_i64(one, "atMs", p->at_ms);
        json_add_text(one, "quote", p->quote);
        json_add_text(one, "note", p->note);
    }
    struct json_object *numbers = json_add_array(out, "numbers");
    for (size_t i = 0; i < a->numbers.n; i++) {
        struct json_object *one = json_add_object(numbers, "");
        json_add_text(one, "name", a->numbers.rows[i].name);
        json_add(one, "value", json_object_new_double((double)a->numbers.rows[i].value));
        json_add_text(one, "unit", a->numbers.rows[i].unit);
    }
}

static void add_timeline(struct json_object *page, const struct postmortem *pm)
{
    struct json_object *lines = json_add_array(page, "timeline");
    for (size_t i = 0; i < pm->n_lines; i++) {
        const struct pm_line *line = &pm->lines[i];
        struct json_object *one = json_add_object(lines, "");
        json_add_i64(one, "atMs", line->at_ms);
        json_add_i64(one, "afterMs", line->at_ms - pm->zero_ms);
        json_add_text(one, "side", pm_side_name(line->side));
        json_add_text(one, "kind", pm_kind_name(line->kind));
        json_add_text(one, "what", line->what);
        json_add_text(one, "detail", line->detail);
        if (line->is_bad)
            json_add_bool(one, "bad", true);
    }
    if (pm->n_left_out > 0)
        json_add_i64(page, "timelineLeftOut", (int64_t)pm->n_left_out);
}

static void add_steps(struct json_object *page, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    struct json_object *phases = json_add_array(page, "phases");
    for (size_t i = 1; i < a->transitions.n; i++) {
        struct json_object *one = json_add_object(phases, "");
        json_add_text(one, "phase", a->transitions.rows[i].from);
        json_add_i64(one, "enteredMs",
                     a->transitions.rows[i].at_ms - a->transitions.rows[i].spent_ms);
        json_add_i64(one, "spentMs", a->transitions.rows[i].spent_ms);
        json_add_text(one, "why", a->transitions.rows[i].why);
    }
    struct json_object *modes = json_add_array(page, "modes");
    for (size_t i = 0; i < a->modes.n; i++) {
        struct json_object *one = json_add_object(modes, "");
        json_add_i64(one, "atMs", a->modes.rows[i].at_ms);
        json_add_text(one, "mode", a->modes.rows[i].mode);
        json_add_text(one, "cause", a->modes.rows[i].cause);
    }
    struct json_object *rejections = json_add_array(page, "rejections");
    for (size_t i = 0; i < a->rejections.n; i++) {
        struct json_object *one = json_add_object(rejections, "");
        json_add_text(one, "node", a->rejections.rows[i].node);
        json_add_text(one, "reason", a->rejections.rows[i].reason);
        json_add_text(one, "detail", a->rejections.rows[i].detail);
        json_add_bool(one, "forEver", a->rejections.rows[i].for_ever);
    }
}

static void add_decisions(struct json_object *page, const struct archive *a)
{
    struct json_object *decisions = json_add_array(page, "decisions");
    for (size_t i = 0; i < a->decisions.n && i < POSTMORTEM_LINES_MAX; i++) {
        const struct store_decision *d = &a->decisions.rows[i];
        struct json_object *one = json_add_object(decisions, "");
        json_add_i64(one, "atMs", d->at_ms);
        json_add_text(one, "monitor", d->monitor);
        json_add_bool(one, "shadow", d->shadow);
        json_add_text(one, "decision", d->decision);
        json_add_text(one, "action", d->action);
        json_add_text(one, "text", d->text);
        struct json_object *inputs = json_add_object(one, "inputs");
        json_add_i64(inputs, "elapsedMs", d->elapsed_ms);
        json_add_i64(inputs, "budgetMs", d->budget_ms);
        json_add_i64(inputs, "estimateMs", d->estimate_ms);
        json_add_i64(inputs, "downtimeMs", d->downtime_ms);
        json_add_i64(inputs, "remaining", d->remaining);
        json_add_i64(inputs, "lowWater", d->low_water);
        json_add_i64(inputs, "bandwidthBps", d->bandwidth_bps);
        json_add_i64(inputs, "dirtyBps", d->dirty_bps);
        json_add_i64(inputs, "iteration", d->iteration);
    }
}

static void add_plot(struct json_object *page, const struct archive *a)
{
    struct pm_points p;
    if (!pm_points(a, PM_POINTS_MAX, &p))
        return;
    struct json_object *points = json_add_array(page, "samples");
    for (size_t i = 0; i < p.n; i++) {
        struct json_object *one = json_add_object(points, "");
        json_add_i64(one, "atMs", p.at_ms[i]);
        json_add_i64(one, "remaining", p.remaining[i]);
        json_add_i64(one, "dirtyBps", p.dirty[i]);
        json_add_i64(one, "bandwidthBps", p.bandwidth[i]);
    }
}

struct json_object *pm_json(const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    const struct store_job *job = &a->job;
    struct err ignored = {0};
    struct json_object *page = json_object_new_object();
    json_add_text(page, "uid", job->uid);
    json_add_text(page, "namespace", job->ns);
    json_add_text(page, "name", job->name);
    json_add_text(page, "guest", job->guest_name);
    json_add_text(page, "source", job->source);
    json_add_text(page, "target", job->target);
    json_add_text(page, "outcome", job->result.outcome);
    json_add_i64(page, "zeroMs", pm->zero_ms);
    add_facts(page, "facts", pm->facts, pm->n_facts);
    add_verdict(page, a);
    struct json_object *helps = json_add_array(page, "wouldHaveHelped");
    for (size_t i = 0; i < pm->n_helps; i++)
        json_add_text(helps, "", pm->helps[i]);
    add_steps(page, pm);
    add_decisions(page, a);
    add_facts(page, "policy", pm->settings, pm->n_settings);
    if (job->call.config_json[0] != '\0')
        json_add(page, "configuration",
                 json_parse(job->call.config_json, strlen(job->call.config_json), "configuration",
                            &ignored));
    add_timeline(page, pm);
    add_plot(page, a);
    return page;
}
