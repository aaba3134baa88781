/* postmortem_html.c - the page as self-contained HTML: no script, nothing loaded, printable, light
 * and dark. Every text from outside is escaped. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/report/postmortem_inside.h"
#include "base/human.h"

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#5c6670;--line:#d8dee4;"
    "--card:#f6f8fa;--good:#1a7f37;--bad:#cf222e;--busy:#9a6700;--left:#0969da;"
    "--band:#1a7f37;--dirty:#bc4c00;--mode:#8250df}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--dim:#9198a1;"
    "--line:#30363d;--card:#161b22;--good:#3fb950;--bad:#f85149;--busy:#d29922;--left:#58a6ff;"
    "--band:#3fb950;--dirty:#f0883e;--mode:#bc8cff}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1080px;padding:24px 20px 64px;"
    "background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;margin:32px 0 8px;"
    "border-bottom:1px solid var(--line);padding-bottom:4px}\n"
    "p{margin:4px 0}.dim,.none{color:var(--dim)}.good{color:var(--good)}.bad{color:var(--bad)}"
    ".busy{color:var(--busy)}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--dim);"
    "border-radius:6px;padding:12px 16px;margin:16px 0}.card.good{border-left-color:var(--good)}"
    ".card.bad{border-left-color:var(--bad)}.card.good,.card.bad{color:inherit}"
    ".card b{font-size:17px}\n"
    "table{border-collapse:collapse;width:100%;font-size:14px}"
    "td,th{text-align:left;vertical-align:top;padding:3px 12px 3px 0;"
    "border-bottom:1px solid var(--line);overflow-wrap:anywhere}th{color:var(--dim);"
    "font-weight:600;white-space:nowrap}\n"
    ".facts th{width:1%;padding-right:24px}.num{white-space:nowrap;"
    "font-variant-numeric:tabular-nums;font-family:ui-monospace,monospace;font-size:13px}"
    ".right{text-align:right}.wrap{overflow-x:auto}td.word{white-space:nowrap;font-weight:600}\n"
    "tr.source td.side{color:var(--left)}tr.target td.side{color:var(--dirty)}"
    "tr.bad td.word{color:var(--bad)}td.kind{color:var(--dim);white-space:nowrap}\n"
    "svg{width:100%;height:auto;display:block}svg .grid{stroke:var(--line);stroke-width:1}"
    "svg text{font:11px system-ui,sans-serif;fill:var(--dim)}svg .end{text-anchor:end}"
    "svg .middle{text-anchor:middle}svg "
    ".name{font-weight:600;paint-order:stroke;stroke:var(--bg);stroke-width:4px}\n"
    "polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}polyline.left{stroke:var(--left)}"
    "polyline.dirty{stroke:var(--dirty)}polyline.bandwidth{stroke:var(--band)}"
    "svg text.dirty{fill:var(--dirty)}svg text.bandwidth{fill:var(--band)}\n"
    "svg line.mode{stroke:var(--mode);stroke-width:1.2}svg text.mode{fill:var(--mode)}"
    "svg line.order{stroke:var(--dim);stroke-dasharray:3 3}svg text.order{fill:var(--dim)}"
    "svg line.error{stroke:var(--bad)}svg text.error{fill:var(--bad)}"
    "svg .phase0{fill:var(--card);stroke:var(--line)}svg .phase1{fill:var(--line);"
    "stroke:var(--line)}\n"
    "ul{margin:4px 0;padding-left:20px}blockquote{margin:2px 0;padding-left:10px;"
    "border-left:2px solid var(--line);font-family:ui-monospace,monospace;font-size:13px;"
    "overflow-wrap:anywhere}\n"
    "@media print{body{max-width:none;padding:0}h2{break-after:avoid}tr{break-inside:avoid}}\n";

void pm_html_text(struct buf *out, const char *text)
{
    char clean[4 * POSTMORTEM_TEXT_MAX];
    pm_clean(clean, sizeof clean, text);
    for (const char *c = clean; *c != '\0'; c++) {
        switch (*c) {
        case '&': buf_add(out, "&amp;"); break;
        case '<': buf_add(out, "&lt;"); break;
        case '>': buf_add(out, "&gt;"); break;
        case '"': buf_add(out, "&quot;"); break;
        case '\'': buf_add(out, "&#39;"); break;
        default: buf_add_bytes(out, c, 1);
        }
    }
}

static void cell(struct buf *out, const char *class, const char *text)
{
    buf_addf(out, "<td class=\"%s\">", class);
    pm_html_text(out, text);
    buf_add(out, "</td>");
}

static void fact_row(struct buf *out, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    buf_add(out, "<tr><th>");
    pm_html_text(out, name);
    buf_add(out, "</th>");
    cell(out, "", value);
    buf_add(out, "</tr>\n");
}

static void facts(struct buf *out, const struct pm_fact *list, size_t n)
{
    buf_add(out, "<table class=\"facts\">\n");
    for (size_t i = 0; i < n; i++)
        fact_row(out, list[i].name, list[i].value);
    buf_add(out, "</table>\n");
}

static void points(struct buf *out, const struct archive *a)
{
    if (a->points.n == 0)
        return;
    buf_add(out, "<h2>Evidence</h2>\n<table><tr><th>stands</th><th>from</th><th>what</th></tr>\n");
    for (size_t i = 0; i < a->points.n; i++) {
        const struct store_point *p = &a->points.rows[i];
        buf_add(out, "<tr>");
        cell(out,
             strcmp(p->standing, "for") == 0       ? "word good"
             : strcmp(p->standing, "against") == 0 ? "word bad"
                                                   : "word dim",
             p->standing);
        cell(out, "dim", p->origin);
        buf_add(out, "<td><blockquote>");
        pm_html_text(out, p->quote);
        buf_add(out, "</blockquote>");
        pm_html_text(out, p->note);
        buf_add(out, "</td></tr>\n");
    }
    buf_add(out, "</table>\n");
}

static void verdict(struct buf *out, const struct archive *a)
{
    const struct store_verdict *v = &a->verdict;
    const struct store_job *job = &a->job;
    bool good = strcmp(job->result.outcome, "succeeded") == 0;
    char text[POSTMORTEM_TEXT_MAX];
    buf_addf(out, "<div class=\"card %s\"><b>",
             job->result.outcome[0] == '\0' ? ""
             : good                         ? "good"
                                            : "bad");
    pm_html_text(out, job->result.outcome[0] == '\0' ? "under way" : job->result.outcome);
    if (a->has_verdict && strcmp(v->cause, "none") != 0 && v->cause[0] != '\0') {
        buf_add(out, ": ");
        pm_cause(v, text, sizeof text);
        pm_html_text(out, text);
    }
    buf_add(out, "</b>");
    if (a->has_verdict && v->plane[0] != '\0' && strcmp(v->plane, "none") != 0) {
        buf_addf(out, " <span class=\"dim\">%s plane, confidence %" PRId64 " %%</span>", v->plane,
                 v->confidence_percent);
    }
    if (job->result.failure_reason[0] != '\0') {
        buf_add(out, "<p>");
        pm_html_text(out, job->result.failure_reason);
        buf_add(out, "</p>");
    }
    if (a->has_verdict && v->action[0] != '\0') {
        buf_add(out, "<p><strong>Do next:</strong> ");
        pm_html_text(out, v->action);
        buf_add(out, "</p>");
    }
    if (!a->has_verdict && job->result.outcome[0] != '\0')
        buf_add(out, "<p class=\"dim\">No verdict yet.</p>");
    buf_add(out, "</div>\n");
    if (!a->has_verdict)
        return;
    buf_add(out, "<h2>Verdict</h2>\n<table class=\"facts\">\n");
    fact_row(out, "Family", v->family);
    fact_row(out, "Failed at", v->failed_at);
    fact_row(out, "Guest", v->guest_at);
    fact_row(out, "Recoverable", v->irrecoverable ? "no: irrecoverable" : v->recoverable);
    fact_row(out, "Rule", v->rule);
    fact_row(out, "Runbook", v->runbook);
    for (size_t i = 0; i < a->numbers.n; i++) {
        pm_number(a->numbers.rows[i].value, a->numbers.rows[i].unit, text);
        fact_row(out, a->numbers.rows[i].name, text);
    }
    buf_add(out, "</table>\n");
    points(out, a);
}

static void helps(struct buf *out, const struct postmortem *pm)
{
    if (pm->n_helps == 0)
        return;
    buf_add(out, "<h2>What would have helped</h2>\n<ul>\n");
    for (size_t i = 0; i < pm->n_helps; i++) {
        buf_add(out, "<li>");
        pm_html_text(out, pm->helps[i]);
        buf_add(out, "</li>\n");
    }
    buf_add(out, "</ul>\n");
}

static void phases(struct buf *out, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    buf_add(out, "<h2>Phases</h2>\n<table><tr><th>phase</th><th>entered</th><th>took</th>"
                 "<th>ended by</th></tr>\n");
    for (size_t i = 1; i < a->transitions.n; i++) {
        const struct store_transition *t = &a->transitions.rows[i];
        char spent[PM_NUMBER_MAX], after[PM_NUMBER_MAX];
        human_duration(t->spent_ms, spent);
        pm_after(pm, t->at_ms - t->spent_ms, after);
        buf_add(out, "<tr>");
        cell(out, "word", t->from);
        cell(out, "num", after);
        cell(out, "num", spent);
        cell(out, "", t->why);
        buf_add(out, "</tr>\n");
    }
    buf_add(out, "</table>\n");
    if (a->modes.n == 0)
        return;
    buf_add(out, "<h2>Modes</h2>\n<table><tr><th>after hand-off</th><th>mode</th><th>cause</th>"
                 "</tr>\n");
    for (size_t i = 0; i < a->modes.n; i++) {
        char after[PM_NUMBER_MAX];
        pm_after(pm, a->modes.rows[i].at_ms, after);
        buf_add(out, "<tr>");
        cell(out, "num", after);
        cell(out, "word", a->modes.rows[i].mode);
        cell(out, "", a->modes.rows[i].cause);
        buf_add(out, "</tr>\n");
    }
    buf_add(out, "</table>\n");
}

static void decision_row(struct buf *out, const struct postmortem *pm,
                         const struct store_decision *d)
{
    char after[PM_NUMBER_MAX], left[PM_NUMBER_MAX], rate[PM_NUMBER_MAX], dirty[PM_NUMBER_MAX];
    char rest[PM_NUMBER_MAX] = "";
    pm_after(pm, d->at_ms, after);
    pm_bytes(d->remaining, left);
    pm_bytes(d->bandwidth_bps, rate);
    pm_bytes(d->dirty_bps, dirty);
    if (d->estimate_ms >= 0)
        human_duration(d->estimate_ms, rest);
    buf_addf(out, "<tr class=\"%s\">", strcmp(d->action, "abort") == 0 ? "bad" : "");
    cell(out, "num", after);
    buf_add(out, "<td class=\"word\">");
    pm_html_text(out, d->decision);
    if (d->shadow)
        buf_add(out, " <span class=\"dim\">(shadow)</span>");
    buf_add(out, "</td>");
    cell(out, "kind", strcmp(d->action, "nothing") == 0 ? "" : d->action);
    cell(out, "num right", left);
    cell(out, "num right", rate);
    cell(out, "num right", dirty);
    cell(out, "num right", rest);
    buf_addf(out, "<td class=\"num right\">%" PRId64 "</td></tr>\n", d->iteration);
}

static void decisions(struct buf *out, const struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    if (a->decisions.n == 0)
        return;
    buf_add(out,
            "<h2>Decisions and their inputs</h2>\n<div class=\"wrap\"><table><tr>"
            "<th>after hand-off</th><th>decision</th><th>action</th><th class=\"right\">remaining"
            "</th><th class=\"right\">bandwidth</th><th class=\"right\">dirty rate</th>"
            "<th class=\"right\">estimate</th><th class=\"right\">iteration</th></tr>\n");
    for (size_t i = 0; i < a->decisions.n && i < POSTMORTEM_LINES_MAX; i++)
        decision_row(out, pm, &a->decisions.rows[i]);
    buf_add(out, "</table></div>\n");
}

static void timeline(struct buf *out, const struct postmortem *pm)
{
    buf_add(out, "<h2>Timeline of both hosts (UTC)</h2>\n<div class=\"wrap\"><table><tr>"
                 "<th>time</th><th>after hand-off</th><th>side</th><th>kind</th><th>what</th>"
                 "<th>detail</th></tr>\n");
    for (size_t i = 0; i < pm->n_lines; i++) {
        const struct pm_line *line = &pm->lines[i];
        char at[PM_NUMBER_MAX], after[PM_NUMBER_MAX];
        pm_clock(line->at_ms, at);
        pm_after(pm, line->at_ms, after);
        buf_addf(out, "<tr class=\"%s%s\">", pm_side_name(line->side), line->is_bad ? " bad" : "");
        cell(out, "num", at);
        cell(out, "num right", after);
        cell(out, "side", pm_side_name(line->side));
        cell(out, "kind", pm_kind_name(line->kind));
        cell(out, "word", line->what);
        cell(out, "", line->detail);
        buf_add(out, "</tr>\n");
    }
    buf_add(out, "</table></div>\n");
    if (pm->n_left_out > 0)
        buf_addf(out, "<p class=\"dim\">%zu more lines are not shown.</p>\n", pm->n_left_out);
}

static void rejections(struct buf *out, const struct archive *a)
{
    if (a->rejections.n == 0)
        return;
    buf_add(out, "<h2>Rejected nodes</h2>\n<table><tr><th>node</th><th>reason</th>"
                 "<th>detail</th></tr>\n");
    for (size_t i = 0; i < a->rejections.n; i++) {
        buf_add(out, "<tr>");
        cell(out, "word", a->rejections.rows[i].node);
        cell(out, "", a->rejections.rows[i].reason);
        cell(out, "", a->rejections.rows[i].detail);
        buf_add(out, "</tr>\n");
    }
    buf_add(out, "</table>\n");
}

static void settings(struct buf *out, const struct postmortem *pm)
{
    bool frozen = pm->archive->job.call.config_json[0] != '\0';
    buf_add(out, "<h2>Effective policy</h2>\n");
    if (pm->n_settings > 0)
        facts(out, pm->settings, pm->n_settings);
    buf_addf(out, "<p class=\"dim\">%s</p>\n",
             !frozen               ? "Not handed off by Ferry: no policy is frozen."
             : pm->n_settings == 0 ? "All settings have their defaults."
                                   : "All other settings have their defaults.");
}

void pm_render_html(const struct postmortem *pm, struct buf *out)
{
    const struct store_job *job = &pm->archive->job;
    buf_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                 "<title>Post-mortem of ");
    pm_html_text(out, job->name);
    buf_addf(out, "</title>\n<style>\n%s</style></head><body>\n<h1>", style);
    pm_html_text(out, job->guest_name);
    buf_add(out, ": ");
    pm_html_text(out, job->source);
    buf_add(out, " → ");
    pm_html_text(out, job->target[0] != '\0' ? job->target : "?");
    buf_add(out, "</h1>\n<p class=\"dim\">Post-mortem of migration ");
    pm_html_text(out, job->ns);
    buf_add(out, "/");
    pm_html_text(out, job->name);
    buf_add(out, "</p>\n");
    verdict(out, pm->archive);
    helps(out, pm);
    buf_add(out, "<h2>Transfer</h2>\n");
    pm_plot_svg(pm, out);
    buf_add(out, "<h2>Migration</h2>\n");
    facts(out, pm->facts, pm->n_facts);
    phases(out, pm);
    decisions(out, pm);
    rejections(out, pm->archive);
    settings(out, pm);
    timeline(out, pm);
    buf_add(out, "</body></html>\n");
}
