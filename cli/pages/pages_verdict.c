/* pages_verdict.c - a stored verdict of the API as a page. See pages.h. */
#include <stdio.h>

#include "analyzer/judge/verdict.h"
#include "base/human.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"

static void add_end(struct json_object *verdict, struct buf *out)
{
    char text[PAGE_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s; the guest: %s%s", view_text(verdict, "outcome"),
                   view_text(verdict, "guest"),
                   view_bool(verdict, "irrecoverable") ? ", IRRECOVERABLE" : "");
    page_fact(out, "Outcome", text);
    page_fact(out, "Ended", view_text(verdict, "ended"));
    int64_t spent_ms = view_time(verdict, "judged") - view_time(verdict, "ended");
    if (spent_ms > 60 * 1000) /* analyzed later, after a restart */
        page_fact(out, "Judged", view_text(verdict, "judged"));
    page_fact(out, "Failed", view_text(verdict, "failed_at"));
}

static void add_cause(struct json_object *verdict, struct buf *out)
{
    char text[PAGE_TEXT_MAX];
    struct verdict_names names = {
        .cause = view_text(verdict, "cause"),
        .resembles = view_text(verdict, "resembles"),
        .family = view_text(verdict, "family"),
        .plane = view_text(verdict, "plane"),
        .confidence = json_object_get_double(json_at(verdict, "confidence")),
        .family_confidence = json_object_get_double(json_at(verdict, "family_confidence")),
    };
    verdict_headline(&names, text, sizeof text);
    page_fact(out, "Cause", text);
    page_fact(out, "What to do", view_text(verdict, "action"));
    page_fact(out, "More", view_text(verdict, "runbook"));
}

static void add_point(struct json_object *point, struct buf *out)
{
    char quote[PAGE_TEXT_MAX], origin[PAGE_TEXT_MAX], proves[PAGE_TEXT_MAX];
    const char *side = view_text(point, "side");
    table_clean(quote, sizeof quote, view_text(point, "quote"));
    table_clean(origin, sizeof origin, view_text(point, "origin"));
    table_clean(proves, sizeof proves, view_text(point, "proves"));
    bool has_side = side[0] != '\0' && !text_equal(side, "unknown");
    buf_addf(out, "  %s\n    %s%s%s, rule %s", quote, origin, has_side ? ", " : "",
             has_side ? side : "", view_text(point, "rule"));
    if (text_equal(view_text(point, "role"), "for"))
        buf_addf(out, ": %s\n", proves);
    else
        buf_addf(out, " (%s)\n", view_text(point, "role"));
}

static void add_points(struct json_object *verdict, const char *key, const char *title,
                       struct buf *out)
{
    size_t n = view_count(verdict, key);
    if (n > 0)
        buf_addf(out, "%s:\n", title);
    for (size_t i = 0; i < n; i++)
        add_point(view_element(verdict, key, i), out);
}

static void add_numbers(struct json_object *verdict, struct buf *out)
{
    struct json_object *numbers = json_at(verdict, "numbers");
    if (numbers == NULL || json_object_object_length(numbers) == 0)
        return;
    buf_add(out, "Numbers:\n");
    json_object_object_foreach(numbers, key, value)
    {
        char name[TABLE_CELL_MAX];
        table_clean(name, sizeof name, key);
        buf_addf(out, "  %-24s %.15g %s\n", name, json_object_get_double(json_at(value, "value")),
                 view_text(value, "unit"));
    }
}

void page_verdict(struct json_object *verdict, struct buf *out)
{
    page_fact(out, "Migration", view_text(verdict, "id"));
    page_fact(out, "Guest", view_text(verdict, "vmiName"));
    add_end(verdict, out);
    if (!text_equal(view_text(verdict, "cause"), "none"))
        add_cause(verdict, out);
    add_points(verdict, "evidence", "Evidence", out);
    add_points(verdict, "counter_evidence", "Counter-evidence and fallout", out);
    add_numbers(verdict, out);
}
