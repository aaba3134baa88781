/* postmortem_text.c - the page for a terminal and as Markdown: the same sections in the same order,
 * in two ways of writing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/report/postmortem_inside.h"

/* How something is written. */
struct pen {
    struct buf *out;
    bool markdown;
    size_t width;
};

/* Markdown takes many characters for its own, and HTML is let through. */
static void put(const struct pen *pen, const char *text)
{
    for (; pen->markdown && *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            buf_add(pen->out, *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : "&amp;");
        else if (strchr("|`*_[]\\#~", *text) != NULL)
            buf_addf(pen->out, "\\%c", *text);
        else
            buf_add_bytes(pen->out, text, 1);
    }
    if (!pen->markdown)
        buf_add(pen->out, text);
}

/* From the store, as it came. */
static void put_raw(const struct pen *pen, const char *text)
{
    char clean[2 * POSTMORTEM_TEXT_MAX];
    pm_clean(clean, sizeof clean, text);
    put(pen, clean);
}

static void heading(const struct pen *pen, const char *text)
{
    buf_addf(pen->out, pen->markdown ? "\n## %s\n\n" : "\n%s\n", text);
}

static void row(const struct pen *pen, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    if (pen->markdown) {
        buf_add(pen->out, "| ");
        put(pen, name);
        buf_add(pen->out, " | ");
        put_raw(pen, value);
        buf_add(pen->out, " |\n");
        return;
    }
    buf_addf(pen->out, "  %-14s ", name);
    put_raw(pen, value);
    buf_add(pen->out, "\n");
}

static void table(const struct pen *pen, const char *titles)
{
    if (!pen->markdown)
        return;
    buf_addf(pen->out, "| %s |\n|", titles);
    for (const char *c = titles; c != NULL; c = strchr(c + 1, '|'))
        buf_add(pen->out, " --- |");
    buf_add(pen->out, "\n");
}

static void item(const struct pen *pen, const char *text)
{
    buf_add(pen->out, pen->markdown ? "- " : "  - ");
    put(pen, text);
    buf_add(pen->out, "\n");
}

/* ---- sections ---- */

static void verdict(const struct pen *pen, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    const struct store_verdict *v = &a->verdict;
    char text[POSTMORTEM_TEXT_MAX];
    heading(pen, "Verdict");
    if (!a->has_verdict) {
        item(pen, a->job.result.outcome[0] == '\0' ? "It has not ended." : "There is none yet.");
        return;
    }
    table(pen, "what | verdict");
    row(pen, "outcome", v->outcome);
    row(pen, "cause", v->cause);
    row(pen, "plane", v->plane);
    row(pen, "failed at", v->failed_at);
    row(pen, "guest", v->guest_at);
    row(pen, "recoverable", v->irrecoverable ? "no: irrecoverable" : v->recoverable);
    (void)snprintf(text, sizeof text, "%" PRId64 " %%", v->confidence_percent);
    row(pen, "confidence", text);
    row(pen, "do next", v->action);
    row(pen, "runbook", v->runbook);
    (void)snprintf(text, sizeof text, "%s%s%s", v->rule, v->rule[0] != '\0' ? ", rules " : "",
                   v->rule[0] != '\0' ? v->rules_version : "");
    row(pen, "rule", text);
    for (size_t i = 0; i < a->numbers.n; i++) {
        pm_number(a->numbers.rows[i].value, a->numbers.rows[i].unit, text);
        row(pen, a->numbers.rows[i].name, text);
    }
    if (a->points.n == 0)
        return;
    heading(pen, "Evidence");
    table(pen, "stands | from | quote");
    for (size_t i = 0; i < a->points.n; i++) {
        const struct store_point *p = &a->points.rows[i];
        buf_add(pen->out, pen->markdown ? "| " : "  ");
        put_raw(pen, p->standing);
        buf_add(pen->out, pen->markdown ? " | " : "  ");
        put_raw(pen, p->origin);
        buf_add(pen->out, pen->markdown ? " | " : ": ");
        put_raw(pen, p->quote);
        if (p->note[0] != '\0') {
            buf_add(pen->out, pen->markdown ? " — " : "\n      ");
            put_raw(pen, p->note);
        }
        buf_add(pen->out, pen->markdown ? " |\n" : "\n");
    }
}

static void helps(const struct pen *pen, const struct postmortem *pm)
{
    if (pm->n_helps == 0)
        return;
    heading(pen, "What would have helped");
    for (size_t i = 0; i < pm->n_helps; i++)
        item(pen, pm->helps[i]);
}

static void phases(const struct pen *pen, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    heading(pen, "Phases");
    table(pen, "phase | took");
    for (size_t i = 1; i < a->transitions.n; i++) {
        char spent[PM_NUMBER_MAX];
        pm_duration(a->transitions.rows[i].spent_ms, spent);
        row(pen, a->transitions.rows[i].from, spent);
    }
    if (a->modes.n == 0)
        return;
    heading(pen, "Modes");
    table(pen, "after hand-off | mode and cause");
    for (size_t i = 0; i < a->modes.n; i++) {
        char after[PM_NUMBER_MAX], text[POSTMORTEM_TEXT_MAX];
        pm_after(pm, a->modes.rows[i].at_ms, after);
        (void)snprintf(text, sizeof text, "%s, %s", a->modes.rows[i].mode, a->modes.rows[i].cause);
        row(pen, after, text);
    }
}

static void decisions(const struct pen *pen, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    if (a->decisions.n == 0)
        return;
    heading(pen, "Decisions and what they were based on");
    table(pen, "after hand-off | decision and inputs");
    for (size_t i = 0; i < a->decisions.n && i < POSTMORTEM_LINES_MAX; i++) {
        const struct store_decision *d = &a->decisions.rows[i];
        char after[PM_NUMBER_MAX], text[POSTMORTEM_TEXT_MAX];
        pm_after(pm, d->at_ms, after);
        (void)snprintf(text, sizeof text, "%s%s: %s", d->shadow ? "(shadow) " : "", d->decision,
                       d->text);
        row(pen, after, text);
    }
}

static void timeline(const struct pen *pen, const struct postmortem *pm)
{
    heading(pen, "Timeline, both hosts on one clock (UTC)");
    table(pen, "time | after hand-off | side | what | detail");
    for (size_t i = 0; i < pm->n_lines; i++) {
        const struct pm_line *line = &pm->lines[i];
        char at[PM_NUMBER_MAX], after[PM_NUMBER_MAX];
        pm_clock(line->at_ms, at);
        pm_after(pm, line->at_ms, after);
        if (pen->markdown) {
            buf_addf(pen->out, "| %s | %s | %s | %s ", at, after, pm_side_name(line->side),
                     pm_kind_name(line->kind));
            put(pen, line->what);
            buf_add(pen->out, " | ");
            put(pen, line->detail);
            buf_add(pen->out, " |\n");
        } else {
            buf_addf(pen->out, "%c %s %12s %-6s %-8s ", line->is_bad ? '!' : ' ', at, after,
                     pm_side_name(line->side), pm_kind_name(line->kind));
            put(pen, line->what);
            buf_add(pen->out, line->detail[0] != '\0' ? ": " : "");
            put(pen, line->detail);
            buf_add(pen->out, "\n");
        }
    }
    if (pm->n_left_out > 0)
        buf_addf(pen->out, "\n%zu more lines are left out.\n", pm->n_left_out);
}

static void rejections(const struct pen *pen, const struct archive *a)
{
    if (a->rejections.n == 0)
        return;
    heading(pen, "Nodes that would not do");
    table(pen, "node | why");
    for (size_t i = 0; i < a->rejections.n; i++) {
        char text[POSTMORTEM_TEXT_MAX];
        (void)snprintf(text, sizeof text, "%s%s%s", a->rejections.rows[i].reason,
                       a->rejections.rows[i].detail[0] != '\0' ? ": " : "",
                       a->rejections.rows[i].detail);
        row(pen, a->rejections.rows[i].node, text);
    }
}

static void settings(const struct pen *pen, const struct postmortem *pm)
{
    heading(pen, "Effective policy");
    if (pm->n_settings == 0) {
        item(pen, pm->archive->job.call.config_json[0] == '\0'
                      ? "It was never handed off: none is frozen."
                      : "Everything is at its default.");
        return;
    }
    table(pen, "setting | value");
    for (size_t i = 0; i < pm->n_settings; i++)
        row(pen, pm->settings[i].name, pm->settings[i].value);
    buf_add(pen->out,
            pen->markdown ? "\nThe rest is at its default.\n" : "  the rest is at its default\n");
}

static void page(const struct pen *pen, const struct postmortem *pm)
{
    const struct store_job *job = &pm->archive->job;
    char name[POSTMORTEM_TEXT_MAX];
    (void)snprintf(name, sizeof name, "%s/%s", job->ns, job->name);
    buf_add(pen->out, pen->markdown ? "# Post-mortem of " : "Post-mortem of ");
    put_raw(pen, name);
    buf_add(pen->out, pen->markdown ? "\n\n" : "\n\n");
    table(pen, "what | is");
    for (size_t i = 0; i < pm->n_facts; i++)
        row(pen, pm->facts[i].name, pm->facts[i].value);
    verdict(pen, pm);
    helps(pen, pm);
    heading(pen, "How it moved");
    buf_add(pen->out, pen->markdown ? "```text\n" : "");
    pm_plot_blocks(pm, pen->width, pen->out);
    buf_add(pen->out, pen->markdown ? "```\n" : "");
    phases(pen, pm);
    decisions(pen, pm);
    rejections(pen, pm->archive);
    settings(pen, pm);
    timeline(pen, pm);
}

void pm_render_text(const struct postmortem *pm, size_t width, struct buf *out)
{
    page(&(struct pen){out, false, width > 0 ? width : 100}, pm);
}

void pm_render_markdown(const struct postmortem *pm, struct buf *out)
{
    page(&(struct pen){out, true, 100}, pm);
}
