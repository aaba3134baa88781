/* postmortem_text.c - the page for a terminal and as Markdown: the same sections in the same
 * order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/report/postmortem_inside.h"
#include "base/human.h"

/* Output and its format. */
struct writer {
    struct buf *out;
    bool markdown;
    size_t width;
};

/* Escapes characters of Markdown and HTML. */
static void put(const struct writer *writer, const char *text)
{
    for (; writer->markdown && *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            buf_add(writer->out, *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : "&amp;");
        else if (strchr("|`*_[]\\#~", *text) != NULL)
            buf_addf(writer->out, "\\%c", *text);
        else
            buf_add_bytes(writer->out, text, 1);
    }
    if (!writer->markdown)
        buf_add(writer->out, text);
}

/* A text from the store, unchecked. */
static void put_raw(const struct writer *writer, const char *text)
{
    char clean[2 * POSTMORTEM_TEXT_MAX];
    pm_clean(clean, sizeof clean, text);
    put(writer, clean);
}

static void heading(const struct writer *writer, const char *text)
{
    buf_addf(writer->out, writer->markdown ? "\n## %s\n\n" : "\n%s\n", text);
}

static void row(const struct writer *writer, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    if (writer->markdown) {
        buf_add(writer->out, "| ");
        put(writer, name);
        buf_add(writer->out, " | ");
        put_raw(writer, value);
        buf_add(writer->out, " |\n");
        return;
    }
    buf_addf(writer->out, "  %-14s ", name);
    put_raw(writer, value);
    buf_add(writer->out, "\n");
}

static void table(const struct writer *writer, const char *titles)
{
    if (!writer->markdown)
        return;
    buf_addf(writer->out, "| %s |\n|", titles);
    for (const char *c = titles; c != NULL; c = strchr(c + 1, '|'))
        buf_add(writer->out, " --- |");
    buf_add(writer->out, "\n");
}

static void item(const struct writer *writer, const char *text)
{
    buf_add(writer->out, writer->markdown ? "- " : "  - ");
    put(writer, text);
    buf_add(writer->out, "\n");
}

/* ---- sections ---- */

static void verdict(const struct writer *writer, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    const struct store_verdict *v = &a->verdict;
    char text[POSTMORTEM_TEXT_MAX];
    heading(writer, "Verdict");
    if (!a->has_verdict) {
        item(writer,
             a->job.result.outcome[0] == '\0' ? "The migration has not ended." : "No verdict yet.");
        return;
    }
    table(writer, "what | verdict");
    row(writer, "outcome", v->outcome);
    pm_cause(v, text, sizeof text);
    row(writer, "cause", text);
    row(writer, "family", v->family);
    row(writer, "plane", v->plane);
    row(writer, "failed at", v->failed_at);
    row(writer, "guest", v->guest_at);
    row(writer, "recoverable", v->irrecoverable ? "no: irrecoverable" : v->recoverable);
    (void)snprintf(text, sizeof text, "%" PRId64 " %%", v->confidence_percent);
    row(writer, "confidence", text);
    row(writer, "do next", v->action);
    row(writer, "runbook", v->runbook);
    (void)snprintf(text, sizeof text, "%s%s%s", v->rule, v->rule[0] != '\0' ? ", rules " : "",
                   v->rule[0] != '\0' ? v->rules_version : "");
    row(writer, "rule", text);
    for (size_t i = 0; i < a->numbers.n; i++) {
        pm_number(a->numbers.rows[i].value, a->numbers.rows[i].unit, text);
        row(writer, a->numbers.rows[i].name, text);
    }
    if (a->points.n == 0)
        return;
    heading(writer, "Evidence");
    table(writer, "role | origin | quote");
    for (size_t i = 0; i < a->points.n; i++) {
        const struct store_point *p = &a->points.rows[i];
        buf_add(writer->out, writer->markdown ? "| " : "  ");
        put_raw(writer, p->standing);
        buf_add(writer->out, writer->markdown ? " | " : "  ");
        put_raw(writer, p->origin);
        buf_add(writer->out, writer->markdown ? " | " : ": ");
        put_raw(writer, p->quote);
        if (p->note[0] != '\0') {
            buf_add(writer->out, writer->markdown ? " — " : "\n      ");
            put_raw(writer, p->note);
        }
        buf_add(writer->out, writer->markdown ? " |\n" : "\n");
    }
}

static void helps(const struct writer *writer, const struct postmortem *pm)
{
    if (pm->n_helps == 0)
        return;
    heading(writer, "What would have helped");
    for (size_t i = 0; i < pm->n_helps; i++)
        item(writer, pm->helps[i]);
}

static void phases(const struct writer *writer, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    heading(writer, "Phases");
    table(writer, "phase | took");
    for (size_t i = 1; i < a->transitions.n; i++) {
        char spent[PM_NUMBER_MAX];
        human_duration(a->transitions.rows[i].spent_ms, spent);
        row(writer, a->transitions.rows[i].from, spent);
    }
    if (a->modes.n == 0)
        return;
    heading(writer, "Modes");
    table(writer, "after hand-off | mode and cause");
    for (size_t i = 0; i < a->modes.n; i++) {
        char after[PM_NUMBER_MAX], text[POSTMORTEM_TEXT_MAX];
        pm_after(pm, a->modes.rows[i].at_ms, after);
        (void)snprintf(text, sizeof text, "%s, %s", a->modes.rows[i].mode, a->modes.rows[i].cause);
        row(writer, after, text);
    }
}

static void decisions(const struct writer *writer, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    if (a->decisions.n == 0)
        return;
    heading(writer, "Decisions and their inputs");
    table(writer, "after hand-off | decision and inputs");
    for (size_t i = 0; i < a->decisions.n && i < POSTMORTEM_LINES_MAX; i++) {
        const struct store_decision *d = &a->decisions.rows[i];
        char after[PM_NUMBER_MAX], text[POSTMORTEM_TEXT_MAX];
        pm_after(pm, d->at_ms, after);
        (void)snprintf(text, sizeof text, "%s%s: %s", d->shadow ? "(shadow) " : "", d->decision,
                       d->text);
        row(writer, after, text);
    }
}

static void timeline(const struct writer *writer, const struct postmortem *pm)
{
    heading(writer, "Timeline of both hosts (UTC)");
    table(writer, "time | after hand-off | side | what | detail");
    for (size_t i = 0; i < pm->n_lines; i++) {
        const struct pm_line *line = &pm->lines[i];
        char at[PM_NUMBER_MAX], after[PM_NUMBER_MAX];
        pm_clock(line->at_ms, at);
        pm_after(pm, line->at_ms, after);
        if (writer->markdown) {
            buf_addf(writer->out, "| %s | %s | %s | %s ", at, after, pm_side_name(line->side),
                     pm_kind_name(line->kind));
            put(writer, line->what);
            buf_add(writer->out, " | ");
            put(writer, line->detail);
            buf_add(writer->out, " |\n");
        } else {
            buf_addf(writer->out, "%c %s %12s %-6s %-8s ", line->is_bad ? '!' : ' ', at, after,
                     pm_side_name(line->side), pm_kind_name(line->kind));
            put(writer, line->what);
            buf_add(writer->out, line->detail[0] != '\0' ? ": " : "");
            put(writer, line->detail);
            buf_add(writer->out, "\n");
        }
    }
    if (pm->n_left_out > 0)
        buf_addf(writer->out, "\n%zu more lines are not shown.\n", pm->n_left_out);
}

static void rejections(const struct writer *writer, const struct archive *a)
{
    if (a->rejections.n == 0)
        return;
    heading(writer, "Rejected nodes");
    table(writer, "node | why");
    for (size_t i = 0; i < a->rejections.n; i++) {
        char text[POSTMORTEM_TEXT_MAX];
        (void)snprintf(text, sizeof text, "%s%s%s", a->rejections.rows[i].reason,
                       a->rejections.rows[i].detail[0] != '\0' ? ": " : "",
                       a->rejections.rows[i].detail);
        row(writer, a->rejections.rows[i].node, text);
    }
}

static void settings(const struct writer *writer, const struct postmortem *pm)
{
    heading(writer, "Effective policy");
    if (pm->n_settings == 0) {
        item(writer, pm->archive->job.call.config_json[0] == '\0'
                         ? "Not handed off by Ferry: no policy is frozen."
                         : "All settings have their defaults.");
        return;
    }
    table(writer, "setting | value");
    for (size_t i = 0; i < pm->n_settings; i++)
        row(writer, pm->settings[i].name, pm->settings[i].value);
    buf_add(writer->out, writer->markdown ? "\nAll other settings have their defaults.\n"
                                          : "  all other settings have their defaults\n");
}

static void page(const struct writer *writer, const struct postmortem *pm)
{
    const struct store_job *job = &pm->archive->job;
    char name[POSTMORTEM_TEXT_MAX];
    (void)snprintf(name, sizeof name, "%s/%s", job->ns, job->name);
    buf_add(writer->out, writer->markdown ? "# Post-mortem of " : "Post-mortem of ");
    put_raw(writer, name);
    buf_add(writer->out, writer->markdown ? "\n\n" : "\n\n");
    table(writer, "what | is");
    for (size_t i = 0; i < pm->n_facts; i++)
        row(writer, pm->facts[i].name, pm->facts[i].value);
    verdict(writer, pm);
    helps(writer, pm);
    heading(writer, "Transfer");
    buf_add(writer->out, writer->markdown ? "```text\n" : "");
    pm_plot_blocks(pm, writer->width, writer->out);
    buf_add(writer->out, writer->markdown ? "```\n" : "");
    phases(writer, pm);
    decisions(writer, pm);
    rejections(writer, pm->archive);
    settings(writer, pm);
    timeline(writer, pm);
}

void pm_render_text(const struct postmortem *pm, size_t width, struct buf *out)
{
    page(&(struct writer){out, false, width > 0 ? width : 100}, pm);
}

void pm_render_markdown(const struct postmortem *pm, struct buf *out)
{
    page(&(struct writer){out, true, 100}, pm);
}
