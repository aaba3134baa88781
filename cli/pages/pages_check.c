/* pages_check.c - the answer to `ferry check` as a page. See pages.h. */
#include <stdio.h>

#include "base/human.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"
#include "engine/model/forecast/forecast.h"

static bool all_for_ever(struct json_object *status)
{
    size_t n = view_count(status, "nodes");
    for (size_t i = 0; i < n; i++)
        if (!view_bool(view_element(status, "nodes", i), "forEver"))
            return false;
    return n > 0;
}

static bool ends_in(struct json_object *status, enum forecast_end end)
{
    return text_equal(view_text(status, "forecast.ends"), forecast_end_name(end));
}

/* It can start now: how the forecast expects it to end. */
static void describe_start(struct json_object *status, const char *best, char *out_text, size_t n)
{
    if (ends_in(status, FORECAST_ABORT))
        (void)snprintf(out_text, n, "can start, to %.60s; expected to end in abort", best);
    else if (ends_in(status, FORECAST_POSTCOPY))
        (void)snprintf(out_text, n, "yes, to %.60s; expected to need post-copy", best);
    else if (ends_in(status, FORECAST_PAUSE))
        (void)snprintf(out_text, n, "yes, to %.60s; expected to pause the guest", best);
    else
        (void)snprintf(out_text, n, "yes, to %.60s", best);
}

static void add_answer(struct json_object *status, bool now, struct buf *out)
{
    char text[PAGE_TEXT_MAX];
    const char *best = view_text(status, "best"), *active = view_text(status, "activeMigration");
    const char *refusal = view_text(status, "refusal");
    struct json_object *wait = view_element(status, "wouldWaitFor", 0);
    if (now)
        describe_start(status, best, text, sizeof text);
    else if (*active != '\0')
        (void)snprintf(text, sizeof text, "not now: migration %.253s is active", active);
    else if (!view_bool(status, "migratable"))
        (void)snprintf(text, sizeof text, "no; see the reasons below");
    else if (*refusal != '\0')
        (void)snprintf(text, sizeof text, "no, it is refused: %.300s", refusal);
    else if (*best == '\0')
        (void)snprintf(text, sizeof text, "%s; see the nodes below",
                       all_for_ever(status) ? "no: every node rejects it permanently"
                                            : "not now: every node rejects it");
    else
        (void)snprintf(text, sizeof text, "yes, to %.60s, but Pending first: %.60s", best,
                       view_text(wait, "reason"));
    page_fact(out, "Migratable", text);
}

/* ---- forecast ---- */

static void add_rate(struct json_object *status, struct buf *out)
{
    struct json_object *rate = json_at(status, "dirtyRate");
    const char *from = view_text(rate, "from"), *error = view_text(rate, "error");
    char text[PAGE_TEXT_MAX] = "not measured (`ferry check --measure`)";
    size_t n = view_count(rate, "windows"), used = 0;
    if (rate == NULL)
        return;
    for (size_t i = 0; i < n && used < sizeof text / 2; i++) {
        char bps[HUMAN_TEXT_MAX];
        struct json_object *window = view_element(rate, "windows", i);
        human_rate((uint64_t)view_i64(window, "bytesPerSecond", 0), bps);
        int more = snprintf(text + used, sizeof text - used, "%s%s over %lld s", i > 0 ? ", " : "",
                            bps, (long long)view_i64(window, "seconds", 0));
        used += more > 0 ? (size_t)more : 0;
    }
    if (n > 0)
        (void)snprintf(text + used, sizeof text - used, ", %.20s at %.32s", from,
                       view_text(rate, "at"));
    page_fact(out, "Dirty rate", text);
    if (view_bool(rate, "measuring"))
        page_fact(out, "", "measurement in progress");
    else if (*error != '\0')
        page_fact(out, "Not measured", error);
}

static void add_forecast(struct json_object *status, struct buf *out)
{
    struct json_object *f = json_at(status, "forecast");
    char expected[HUMAN_TEXT_MAX], low[HUMAN_TEXT_MAX], high[HUMAN_TEXT_MAX];
    char down[HUMAN_TEXT_MAX], down_high[HUMAN_TEXT_MAX], text[PAGE_TEXT_MAX];
    if (f == NULL || !view_bool(status, "migratable"))
        return;
    const char *ends = view_text(f, "ends");
    human_duration(view_i64(f, "expectedMs", 0), expected);
    human_duration(view_i64(f, "lowMs", 0), low);
    human_duration(view_i64(f, "highMs", 0), high);
    human_duration(view_i64(f, "downtimeMs", 0), down);
    human_duration(view_i64(f, "downtimeHighMs", 0), down_high);
    (void)snprintf(text, sizeof text, "%s (%s to %s), downtime %s (up to %s)", expected, low, high,
                   down, down_high);
    page_fact(out, "Duration", text);
    (void)snprintf(text, sizeof text, "%lld %%; expected end: %.20s",
                   (long long)view_i64(f, "convergePercent", 0), ends);
    page_fact(out, "Convergence", text);
    page_fact(out, "Basis", view_text(f, "why"));
    if (ends_in(status, FORECAST_ABORT))
        page_fact(out, "What helps",
                  "a policy with more bandwidth, auto-converge or post-copy; or "
                  "a time when the guest writes less");
}

static void add_guest(struct json_object *status, struct buf *out)
{
    char text[PAGE_TEXT_MAX];
    const char *node = view_text(status, "guest.node");
    (void)snprintf(text, sizeof text, "%.63s/%.253s%s%.63s", view_text(status, "guest.namespace"),
                   view_text(status, "guest.name"), *node != '\0' ? " on " : ", on no node", node);
    page_fact(out, "Guest", text);
}

static void add_reasons(struct json_object *status, struct buf *out)
{
    size_t n = view_count(status, "reasons");
    if (n > 0)
        buf_add(out, "Not migratable:\n");
    for (size_t i = 0; i < n; i++) {
        struct json_object *reason = view_element(status, "reasons", i);
        char name[TABLE_CELL_MAX], message[PAGE_TEXT_MAX], help[PAGE_TEXT_MAX];
        table_clean(name, sizeof name, view_text(reason, "reason"));
        table_clean(message, sizeof message, view_text(reason, "message"));
        table_clean(help, sizeof help, view_text(reason, "help"));
        buf_addf(out, "  %s: %s\n", name, message);
        if (help[0] != '\0')
            buf_addf(out, "    %s\n", help);
    }
}

/* Whether and why a policy applies. */
static void describe_candidate(struct json_object *row, const char *chosen, char *out_text,
                               size_t n)
{
    const char *why = view_text(row, "why");
    if (!view_bool(row, "matches"))
        (void)snprintf(out_text, n, "no: %s", *why != '\0' ? why : "does not match");
    else if (text_equal(view_text(row, "name"), chosen))
        (void)snprintf(out_text, n, "applies");
    else
        (void)snprintf(out_text, n, "matches, but %.60s is more specific", chosen);
}

static void add_policies(struct json_object *status, const struct page_style *style,
                         struct buf *out)
{
    static const char *const titles[] = {"POLICY", "GUEST LABELS", "NS LABELS", "APPLIES"};
    const char *path = "policy.candidates", *chosen = view_text(status, "policy.name");
    size_t n = view_count(status, path);
    page_fact(out, "Policy", *chosen != '\0' ? chosen : "none: the fleet's defaults apply");
    if (n == 0)
        return;
    struct table table;
    table_init(&table, titles, COUNT(titles));
    for (size_t i = 0; i < n; i++) {
        struct json_object *row = view_element(status, path, i);
        char text[TABLE_CELL_MAX];
        describe_candidate(row, chosen, text, sizeof text);
        table_add_row(&table);
        table_set(&table, 0, view_text(row, "name"));
        table_set(&table, 1, view_text(row, "guestPairs"));
        table_set(&table, 2, view_text(row, "namespacePairs"));
        table_set(&table, 3, text);
        if (text_equal(text, "applies"))
            table_colour(&table, 3, COLOUR_GOOD);
    }
    page_table(&table, style, out);
}

static void add_waits(struct json_object *status, struct buf *out)
{
    size_t n = view_count(status, "wouldWaitFor");
    if (n > 0)
        buf_add(out, "Pending reasons:\n");
    for (size_t i = 0; i < n; i++) {
        struct json_object *wait = view_element(status, "wouldWaitFor", i);
        char reason[TABLE_CELL_MAX], message[PAGE_TEXT_MAX];
        table_clean(reason, sizeof reason, view_text(wait, "reason"));
        table_clean(message, sizeof message, view_text(wait, "message"));
        buf_addf(out, "  %s%s%s\n", reason, message[0] != '\0' ? ": " : "", message);
    }
}

static void add_nodes(struct json_object *status, const struct page_style *style, struct buf *out)
{
    static const char *const titles[] = {"NODE", "FITS", "REASON", "DETAIL"};
    size_t n = view_count(status, "nodes");
    struct table table;
    if (n == 0)
        return;
    table_init(&table, titles, COUNT(titles));
    for (size_t i = 0; i < n; i++) {
        struct json_object *row = view_element(status, "nodes", i);
        bool fits = view_bool(row, "fits"), for_ever = view_bool(row, "forEver");
        const char *word = fits ? "yes" : for_ever ? "never" : "no";
        table_add_row(&table);
        table_set(&table, 0, view_text(row, "name"));
        table_set(&table, 1, word);
        table_set(&table, 2, view_text(row, "reason"));
        table_set(&table, 3, view_text(row, "detail"));
        table_colour(&table, 1, fits ? COLOUR_GOOD : for_ever ? COLOUR_BAD : COLOUR_BUSY);
    }
    buf_add(out, "Nodes:\n");
    page_table(&table, style, out);
}

/* of: the status, or one of its nodes. */
static void add_notes_of(struct json_object *of, const char *about, struct buf *out)
{
    for (size_t i = 0; i < view_count(of, "notes"); i++) {
        struct json_object *note = view_element(of, "notes", i);
        char node[128], why[256], instead[256];
        table_clean(node, sizeof node, about);
        table_clean(why, sizeof why, view_text(note, "why"));
        table_clean(instead, sizeof instead, view_text(note, "instead"));
        buf_addf(out, "Note%s%s: %s; %s\n", node[0] != '\0' ? " on " : "", node, why, instead);
    }
}

/* On storage that is not checked, and on the versions of a node; most have none. */
static void add_notes(struct json_object *status, struct buf *out)
{
    add_notes_of(status, "", out);
    for (size_t i = 0; i < view_count(status, "nodes"); i++) {
        struct json_object *row = view_element(status, "nodes", i);
        add_notes_of(row, view_text(row, "name"), out);
    }
}

enum check_answer page_check(struct json_object *status, const struct page_style *style,
                             struct buf *out)
{
    bool now = view_bool(status, "migratable") && *view_text(status, "best") != '\0' &&
               *view_text(status, "activeMigration") == '\0' &&
               *view_text(status, "refusal") == '\0' && view_count(status, "wouldWaitFor") == 0;
    add_guest(status, out);
    add_answer(status, now, out);
    bool unset = json_at(status, "evictionStrategy") != NULL &&
                 *view_text(status, "evictionStrategy") == '\0';
    page_fact(out, "Eviction",
              unset ? "not set; a drain treats it as LiveMigrateIfPossible"
                    : view_text(status, "evictionStrategy"));
    add_forecast(status, out);
    add_rate(status, out);
    add_reasons(status, out);
    add_waits(status, out);
    add_policies(status, style, out);
    if (json_at(status, "policy.configuration") != NULL) {
        buf_add(out, "Settings:\n");
        page_settings(json_at(status, "policy.configuration"), out);
    }
    add_nodes(status, style, out);
    add_notes(status, out);
    return !now ? CHECK_NO : ends_in(status, FORECAST_ABORT) ? CHECK_DOUBTFUL : CHECK_YES;
}
