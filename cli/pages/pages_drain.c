/* pages_drain.c - a drain as a page, a plan and a line. See pages.h; status:
 * engine/control/drain.h. */
#include <stdio.h>

#include "base/human.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"

static size_t count_in(struct json_object *object, const char *state)
{
    size_t n = 0;
    for (size_t i = 0; i < view_count(object, "status.guests"); i++)
        n += text_equal(view_text(view_element(object, "status.guests", i), "state"), state);
    return n;
}

/* Is the guest blocked or given up? */
static bool is_stuck(struct json_object *guest)
{
    const char *state = view_text(guest, "state");
    return text_equal(state, "Blocked") || text_equal(state, "Failed");
}

void page_drain_line(struct json_object *object, struct buf *out)
{
    static const struct {
        const char *state, *word;
    } parts[] = {{"Moving", "moving"},
                 {"Waiting", "waiting"},
                 {"Stopping", "stopping"},
                 {"Blocked", "blocked"},
                 {"Failed", "failed"}};
    buf_addf(out, "%lld of %lld moved", (long long)view_i64(object, "status.moved", 0),
             (long long)view_i64(object, "status.total", 0));
    for (size_t i = 0; i < COUNT(parts); i++) {
        size_t n = count_in(object, parts[i].state);
        if (n > 0)
            buf_addf(out, ", %zu %s", n, parts[i].word);
    }
    int64_t eta = view_i64(object, "status.etaSeconds", -1);
    if (eta > 0 && !text_equal(view_text(object, "status.state"), "Succeeded")) {
        char text[HUMAN_TEXT_MAX];
        human_duration(eta * 1000, text);
        buf_addf(out, ", ETA %s", text);
    }
}

static void fill_name(struct json_object *guest, char *out_cell, size_t n)
{
    (void)snprintf(out_cell, n, "%.63s/%.150s", view_text(guest, "namespace"),
                   view_text(guest, "name"));
}

static enum colour colour_of(const char *state)
{
    if (text_equal(state, "Moved"))
        return COLOUR_GOOD;
    return text_equal(state, "Blocked") || text_equal(state, "Failed") ? COLOUR_BAD : COLOUR_BUSY;
}

/* In a plan: would it wait now, for its namespace's quota or for memory on another node? */
static bool would_wait(struct json_object *guest)
{
    return text_equal(view_text(guest, "state"), "Waiting") &&
           *view_text(guest, "target") == '\0' && *view_text(guest, "message") != '\0';
}

/* planned: a dry run, without failed attempts. */
static void add_guests(struct json_object *object, bool planned, const struct page_style *style,
                       struct buf *out)
{
    static const char *const full[] = {"GUEST", "MEMORY", "STATE", "FAILED", "DETAIL"};
    static const char *const plan[] = {"GUEST", "MEMORY", "STATE", "REASON"};
    size_t n = view_count(object, "status.guests");
    struct table table;
    if (n == 0)
        return;
    table_init(&table, planned ? plan : full, planned ? COUNT(plan) : COUNT(full));
    for (size_t i = 0; i < n; i++) {
        struct json_object *guest = view_element(object, "status.guests", i);
        char name[TABLE_CELL_MAX], memory[HUMAN_TEXT_MAX];
        const char *state = view_text(guest, "state");
        bool moves = planned && text_equal(state, "Waiting") && !would_wait(guest);
        fill_name(guest, name, sizeof name);
        human_bytes((uint64_t)view_i64(guest, "memoryKiB", 0) << 10, memory);
        table_add_row(&table);
        table_set(&table, 0, name);
        table_set(&table, 1, memory);
        table_set(&table, 2, moves ? "Migrates" : planned && would_wait(guest) ? "Waits" : state);
        table_colour(&table, 2, colour_of(state));
        if (!planned)
            table_set(&table, 3, view_text(guest, "attempts"));
        const char *reason = view_text(guest, "reason"); /* a guest that migrates has none */
        if (planned && would_wait(guest))
            reason = view_text(guest, "message");
        table_set(&table, planned ? 3 : 4,
                  *reason != '\0' ? reason : view_text(guest, "migration"));
    }
    page_table(&table, style, out);
}

/* Each guest that blocks the drain, why, and what to do. */
static size_t add_blockers(struct json_object *object, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < view_count(object, "status.guests"); i++) {
        struct json_object *guest = view_element(object, "status.guests", i);
        char name[TABLE_CELL_MAX], clean[TABLE_CELL_MAX], reason[TABLE_CELL_MAX];
        char message[PAGE_TEXT_MAX], unblock[PAGE_TEXT_MAX];
        if (!is_stuck(guest))
            continue;
        fill_name(guest, name, sizeof name);
        table_clean(clean, sizeof clean, name);
        table_clean(reason, sizeof reason, view_text(guest, "reason"));
        table_clean(message, sizeof message, view_text(guest, "message"));
        table_clean(unblock, sizeof unblock, view_text(guest, "unblock"));
        buf_addf(out, "%s  %s: %s%s%s\n", n++ == 0 ? "Blocked by:\n" : "", clean, reason,
                 reason[0] != '\0' && message[0] != '\0' ? ": " : "", message);
        if (unblock[0] != '\0')
            buf_addf(out, "    %s\n", unblock);
    }
    return n;
}

/* Guests that the drain leaves: they do not run. */
static void add_shut_off(struct json_object *object, struct buf *out)
{
    char name[TABLE_CELL_MAX];
    int64_t total = view_i64(object, "status.shutOff", 0);
    size_t listed = view_count(object, "status.shutOffGuests");
    if (total <= 0)
        return;
    buf_addf(out,
             "Shut off and defined on this node only, so a wipe of the host loses them: %lld\n",
             (long long)total);
    for (size_t i = 0; i < listed; i++) {
        struct json_object *one = view_element(object, "status.shutOffGuests", i);
        table_clean(name, sizeof name, one != NULL ? json_object_get_string(one) : "");
        buf_addf(out, "  %s\n", name);
    }
    if ((size_t)total > listed)
        buf_addf(out, "  and %lld more: `virsh list --inactive`\n",
                 (long long)total - (long long)listed);
}

static void add_unset(struct json_object *object, struct buf *out)
{
    int64_t n = view_i64(object, "status.strategyUnset", 0);
    if (n > 0)
        buf_addf(out,
                 "%lld of them %s no eviction strategy, nor does the fleet: treated as "
                 "LiveMigrateIfPossible.\n",
                 (long long)n, n == 1 ? "has" : "have");
}

bool page_plan(struct json_object *object, const struct page_style *style, struct buf *out)
{
    char node[TABLE_CELL_MAX];
    size_t total = view_count(object, "status.guests"), stuck = 0, waits = 0;
    for (size_t i = 0; i < total; i++) {
        stuck += is_stuck(view_element(object, "status.guests", i));
        waits += would_wait(view_element(object, "status.guests", i));
    }
    table_clean(node, sizeof node, view_text(object, "spec.nodeName"));
    if (total == 0)
        buf_addf(out, "%s has no guests: a drain would complete at once.\n", node);
    else
        buf_addf(out, "Drain of %s: %zu of %zu guests would migrate, in this order%s\n", node,
                 total - stuck - waits, total, stuck > 0 ? "; others are blocked." : ".");
    if (waits > 0)
        buf_addf(out, "%zu would wait for what %s row says.\n", waits,
                 waits == 1 ? "its" : "their");
    add_unset(object, out);
    add_guests(object, true, style, out);
    (void)add_blockers(object, out);
    add_shut_off(object, out);
    return stuck == 0;
}

void page_drain(struct json_object *object, const struct page_style *style, struct buf *out)
{
    static const struct {
        const char *label, *path;
    } facts[] = {
        {"Name", "metadata.name"},       {"Node", "spec.nodeName"},
        {"State", "status.state"},       {"Created", "metadata.creationTimestamp"},
        {"Since", "status.since"},       {"Deadline", "status.deadline"},
        {"Retries", "spec.retryBudget"},
    };
    for (size_t i = 0; i < COUNT(facts); i++)
        page_fact(out, facts[i].label, view_text(object, facts[i].path));
    if (view_bool(object, "spec.shutdown"))
        page_fact(out, "Shutdown", "of guests whose eviction strategy allows it");
    struct buf line;
    buf_init(&line, PAGE_TEXT_MAX);
    page_drain_line(object, &line);
    page_fact(out, "Progress", line.data != NULL ? line.data : "");
    buf_fini(&line);
    if (view_count(object, "status.guests") > 0)
        buf_add(out, "Guests:\n");
    add_guests(object, false, style, out);
    add_unset(object, out);
    (void)add_blockers(object, out);
    add_shut_off(object, out);
}
