/* verdict_page.c - see verdict_page.h. */
#include "cli/pages/verdict_page.h"

#include <stdio.h>

#include "cli/common/table.h"
#include "cli/pages/pages.h"

static void add_end(const struct verdict *verdict, struct buf *out)
{
    char text[PAGE_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s; the guest: %s%s",
                   verdict->outcome == OUTCOME_NONE ? "unknown" : outcome_name(verdict->outcome),
                   guest_at_name(verdict->guest), verdict->irrecoverable ? ", IRRECOVERABLE" : "");
    page_fact(out, "Outcome", text);
    if (verdict->cause != CAUSE_NONE)
        page_fact(out, "Failed", failed_at_name(verdict->failed_at));
}

static void add_cause(const struct verdict *verdict, struct buf *out)
{
    const struct cause_row *row = cause_row(verdict->cause);
    char text[PAGE_TEXT_MAX];
    struct verdict_names names = {
        .cause = row->name,
        .resembles = verdict->resembles != CAUSE_NONE ? cause_row(verdict->resembles)->name : "",
        .family = family_name(verdict->family),
        .plane = plane_name(verdict->plane),
        .confidence = verdict->confidence,
        .family_confidence = verdict->family_confidence,
    };
    verdict_headline(&names, text, sizeof text);
    page_fact(out, "Cause", text);
    page_fact(out, "Meaning", row->meaning);
    page_fact(out, "What to do", verdict->action);
    page_fact(out, "More", row->runbook);
}

static void add_point(const struct verdict_point *point, struct buf *out)
{
    char quote[VERDICT_QUOTE_MAX], origin[EVIDENCE_ORIGIN_MAX], proves[VERDICT_PROVES_MAX];
    table_clean(quote, sizeof quote, point->quote);
    table_clean(origin, sizeof origin, point->origin);
    table_clean(proves, sizeof proves, point->proves);
    buf_addf(out, "  %s\n    %s%s%s, rule %s", quote, origin,
             point->side != SIDE_UNKNOWN ? ", " : "",
             point->side != SIDE_UNKNOWN ? side_name(point->side) : "", point->rule);
    if (point->role == POINT_FOR)
        buf_addf(out, ": %s\n", proves);
    else
        buf_addf(out, " (%s)\n",
                 point->role == POINT_FALLOUT ? "fallout" : cause_row(point->cause)->name);
}

static void add_points(const struct verdict *verdict, bool is_for, const char *title,
                       struct buf *out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < verdict->n_points; i++) {
        if ((verdict->points[i].role == POINT_FOR) != is_for)
            continue;
        if (n++ == 0)
            buf_addf(out, "%s:\n", title);
        add_point(&verdict->points[i], out);
    }
}

static void add_numbers(const struct verdict *verdict, struct buf *out)
{
    if (verdict->n_numbers > 0)
        buf_add(out, "Numbers:\n");
    for (unsigned i = 0; i < verdict->n_numbers; i++) {
        char name[EVIDENCE_KEY_MAX];
        table_clean(name, sizeof name, verdict->numbers[i].name);
        buf_addf(out, "  %-24s %.15g %s\n", name, verdict->numbers[i].value,
                 verdict->numbers[i].unit);
    }
}

void verdict_page(const struct verdict *verdict, const char *id, struct buf *out)
{
    char clean[PAGE_TEXT_MAX];
    table_clean(clean, sizeof clean, id);
    page_fact(out, "Case", clean);
    add_end(verdict, out);
    add_cause(verdict, out);
    add_points(verdict, true, "Evidence", out);
    add_points(verdict, false, "Counter-evidence and fallout", out);
    add_numbers(verdict, out);
}
