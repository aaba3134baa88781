/* report.c - see report.h. */
#include "cli/doctor/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/table.h"

enum {
    NAMES_MAX = 4,     /* named in one cell */
    PAIR_ROWS_MAX = 8, /* of one group */
};

struct report_counts report_count(const struct report *report)
{
    struct report_counts counts = {0};
    for (size_t i = 0; i < report->n * CHECK_COUNT; i++)
        counts.of[report->hosts_checks[i].result]++;
    for (size_t i = 0; report->pairs != NULL && i < report->n * report->n; i++)
        if (i / report->n != i % report->n)
            counts.of[report->pairs[i].result]++;
    return counts;
}

static bool is_same(const struct check *a, const struct check *b)
{
    return a->result == b->result && text_equal(a->text, b->text);
}

/* --- sets of hosts --- */

static size_t count_in(const bool *in, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += in[i];
    return count;
}

static void add_names(const struct report *report, const bool *in, bool wanted, struct buf *out)
{
    size_t named = 0, left = 0;
    for (size_t i = 0; i < report->n; i++) {
        if (in[i] != wanted)
            continue;
        if (named < NAMES_MAX)
            buf_addf(out, "%s%s", named++ > 0 ? " " : "", report->hosts[i].name);
        else
            left++;
    }
    if (left > 0)
        buf_addf(out, " and %zu more", left);
}

/* "all 60", "all but h3", "h1 h2 and 3 more"; malloc'ed. */
static char *set_text(const struct report *report, const bool *in)
{
    struct buf out;
    size_t count = count_in(in, report->n);
    buf_init(&out, 4096);
    if (count == report->n && count > 1) {
        buf_addf(&out, "all %zu", count);
    } else if (report->n - count <= NAMES_MAX && count > NAMES_MAX) {
        buf_add(&out, "all but ");
        add_names(report, in, false, &out);
    } else {
        add_names(report, in, true, &out);
    }
    return buf_take(&out);
}

/* --- rows --- */

struct row {
    const char *cells[2];
    const struct check *check;
    bool is_one; /* its detail is shown too */
    const char *more;
};

static void add_row(struct table *table, const struct row *row)
{
    static const enum colour colours[RESULT_COUNT] = {[RESULT_OK] = COLOUR_GOOD,
                                                      [RESULT_NOTE] = COLOUR_DIM,
                                                      [RESULT_UNCHECKED] = COLOUR_BUSY,
                                                      [RESULT_FAILED] = COLOUR_BAD};
    char result[32], text[2 * DIAGNOSE_TEXT_MAX + 8];
    bool detailed = row->is_one && row->check->detail[0] != '\0';
    (void)snprintf(result, sizeof result, "%s %s", result_mark(row->check->result),
                   result_name(row->check->result));
    (void)snprintf(text, sizeof text, "%s%s%s%s%s", row->check->text, detailed ? " (" : "",
                   detailed ? row->check->detail : "", detailed ? ")" : "", row->more);
    table_add_row(table);
    table_set(table, 0, row->cells[0]);
    table_set(table, 1, row->cells[1]);
    table_set(table, 2, result);
    table_colour(table, 2, colours[row->check->result]);
    table_set(table, 3, text);
}

/* --- hosts: one row for each check and result --- */

static void add_host_group(const struct report *report, size_t check, size_t first, bool *done,
                           struct table *table)
{
    const struct check *checks = report->hosts_checks;
    const struct check *leader = &checks[first * CHECK_COUNT + check];
    bool *in = calloc(report->n, sizeof *in);
    if (in == NULL) {
        table->failed = true;
        return;
    }
    for (size_t i = first; i < report->n; i++)
        if (is_same(leader, &checks[i * CHECK_COUNT + check]))
            in[i] = done[i] = true;
    OWNED_TEXT hosts = set_text(report, in);
    bool is_one = count_in(in, report->n) == 1;
    add_row(table, &(struct row){{leader->name, hosts}, leader, is_one, ""});
    free(in);
}

static void add_hosts(const struct report *report, struct table *table)
{
    bool *done = calloc(report->n, sizeof *done);
    for (size_t check = 0; done != NULL && check < CHECK_COUNT; check++) {
        memset(done, 0, report->n * sizeof *done);
        for (int result = RESULT_COUNT; result-- > 0;)
            for (size_t i = 0; i < report->n; i++)
                if (!done[i] && (int)report->hosts_checks[i * CHECK_COUNT + check].result == result)
                    add_host_group(report, check, i, done, table);
    }
    table->failed |= done == NULL;
    free(done);
}

/* --- pairs: sources with the same targets, or targets with the same sources, whichever is shorter
 * --- */

struct group { /* pairs with the same result and text */
    const struct report *report;
    const struct check *leader;
    bool *in, *turned; /* n * n by source and target, and by target and source */
    size_t size;
    struct table *table;
};

static void add_pair_row(struct group *group, const char *from, const char *to, const char *more)
{
    bool is_one = group->size == 1;
    add_row(group->table, &(struct row){{from, to}, group->leader, is_one, more});
}

/* Do hosts i and j have the same partners? Whole ones have each other instead of themselves. */
static bool has_same_partners(const bool *in, size_t n, size_t i, size_t j)
{
    const bool *a = &in[i * n], *b = &in[j * n];
    if (count_in(a, n) == n - 1 && count_in(b, n) == n - 1)
        return true;
    return memcmp(a, b, n * sizeof *a) == 0;
}

static char *partners_text(const struct report *report, const bool *partners)
{
    struct buf out;
    if (count_in(partners, report->n) < report->n - 1)
        return set_text(report, partners);
    buf_init(&out, 64);
    buf_add(&out, report->n > 2 ? "all others" : "the other");
    return buf_take(&out);
}

/* Rows of hosts with the same partners. With a table they are added to it, PAIR_ROWS_MAX at most.
 */
static size_t walk_rows(struct group *group, const bool *in, bool *done, bool as_source,
                        bool is_shown)
{
    const struct report *report = group->report;
    size_t n = report->n, rows = 0, left = 0;
    memset(done, 0, n * sizeof *done);
    for (size_t i = 0; i < n; i++) {
        const bool *partners = &in[i * n];
        bool hosts[REPORT_PAIRED_MAX];
        if (done[i] || count_in(partners, n) == 0)
            continue;
        for (size_t j = 0; j < n; j++) {
            hosts[j] = j >= i && !done[j] && has_same_partners(in, n, i, j);
            done[j] |= hosts[j];
        }
        if (rows++ >= PAIR_ROWS_MAX)
            left += count_in(hosts, n) * count_in(partners, n);
        if (!is_shown || rows > PAIR_ROWS_MAX)
            continue;
        OWNED_TEXT names = set_text(report, hosts);
        OWNED_TEXT others = partners_text(report, partners);
        add_pair_row(group, as_source ? names : others, as_source ? others : names, "");
    }
    char text[64];
    (void)snprintf(text, sizeof text, "%zu pairs more", left);
    if (is_shown && left > 0)
        add_pair_row(group, text, "", " (all: -o json)");
    return rows;
}

static void add_group(struct group *group, bool *done)
{
    size_t n = group->report->n;
    for (size_t i = 0; i < n * n; i++)
        group->turned[i % n * n + i / n] = group->in[i];
    bool as_source = walk_rows(group, group->in, done, true, false) <=
                     walk_rows(group, group->turned, done, false, false);
    (void)walk_rows(group, as_source ? group->in : group->turned, done, as_source, true);
}

static void collect(struct group *group, size_t first, bool *done)
{
    size_t n = group->report->n;
    group->leader = &group->report->pairs[first];
    group->size = 0;
    memset(group->in, 0, n * n * sizeof *group->in);
    for (size_t i = first; i < n * n; i++)
        if (i / n != i % n && !done[i] && is_same(group->leader, &group->report->pairs[i])) {
            group->in[i] = done[i] = true;
            group->size++;
        }
}

/* What holds for most pairs, if not for all, needs no list: all others have rows of their own. */
static bool is_most(const struct group *group)
{
    size_t all = group->report->n * (group->report->n - 1);
    return group->size * 2 > all && group->size < all;
}

static void add_groups(struct group *group, bool *done, bool *scratch)
{
    const struct report *report = group->report;
    size_t n = report->n, most = 0;
    const struct check *leader = NULL;
    for (int result = RESULT_COUNT; result-- > 0;)
        for (size_t i = 0; i < n * n; i++) {
            if (i / n == i % n || done[i] || (int)report->pairs[i].result != result)
                continue;
            collect(group, i, done);
            if (is_most(group)) {
                most = group->size;
                leader = group->leader;
            } else {
                add_group(group, scratch);
            }
        }
    if (leader == NULL)
        return;
    char from[64];
    (void)snprintf(from, sizeof from, "the other %zu pairs", most);
    group->leader = leader;
    group->size = most;
    add_pair_row(group, from, "", "");
}

static void add_pairs(const struct report *report, struct table *table)
{
    size_t n = report->n;
    bool *flags = calloc(3 * n * n + n, sizeof *flags);
    if (flags == NULL) {
        table->failed = true;
        return;
    }
    struct group group = {.report = report, .in = flags, .turned = flags + n * n, .table = table};
    add_groups(&group, flags + 2 * n * n, flags + 3 * n * n);
    free(flags);
}

/* --- the page --- */

static void add_summary(const struct report *report, struct buf *out)
{
    struct report_counts counts = report_count(report);
    buf_addf(out, "\n%zu hosts", report->n);
    for (int result = RESULT_COUNT; result-- > 0;)
        buf_addf(out, ", %zu %s", counts.of[result], result_name((enum result)result));
    buf_add(out, "\n");
}

bool report_page(const struct report *report, size_t width, bool coloured, struct buf *out)
{
    static const char *const host_titles[] = {"CHECK", "HOSTS", "RESULT", "DETAIL"};
    static const char *const pair_titles[] = {"FROM", "TO", "RESULT", "DETAIL"};
    struct table hosts, pairs;
    table_init(&hosts, host_titles, COUNT(host_titles));
    table_init(&pairs, pair_titles, COUNT(pair_titles));
    add_hosts(report, &hosts);
    bool done = table_render(&hosts, width, coloured, out);
    buf_add(out, "\n");
    if (report->pairs == NULL) {
        buf_addf(out, "pairs are not compared: %zu hosts are too many\n", report->n);
    } else if (report->n < 2) {
        buf_add(out, "no pairs to compare: only one host is configured\n");
    } else {
        add_pairs(report, &pairs);
        done = table_render(&pairs, width, coloured, out) && done;
    }
    add_summary(report, out);
    table_fini(&hosts);
    table_fini(&pairs);
    return done && !out->failed;
}

/* --- JSON --- */

static void add_json(struct json_object *row, const struct check *check)
{
    json_add_text(row, "check", check->name);
    json_add_text(row, "result", result_name(check->result));
    json_add_text(row, "text", check->text);
    if (check->detail[0] != '\0')
        json_add_text(row, "detail", check->detail);
}

void report_json(const struct report *report, struct json_object *page)
{
    struct report_counts counts = report_count(report);
    struct json_object *hosts = json_add_array(page, "hosts"), *pairs;
    for (size_t i = 0; i < report->n * CHECK_COUNT; i++) {
        struct json_object *row = json_add_object(hosts, "");
        json_add_text(row, "host", report->hosts[i / CHECK_COUNT].name);
        add_json(row, &report->hosts_checks[i]);
    }
    pairs = json_add_array(page, "pairs");
    for (size_t i = 0; report->pairs != NULL && i < report->n * report->n; i++) {
        if (i / report->n == i % report->n)
            continue;
        struct json_object *row = json_add_object(pairs, "");
        json_add_text(row, "from", report->hosts[i / report->n].name);
        json_add_text(row, "to", report->hosts[i % report->n].name);
        add_json(row, &report->pairs[i]);
    }
    json_add_i64(page, "failures", (int64_t)counts.of[RESULT_FAILED]);
    json_add_i64(page, "notChecked", (int64_t)counts.of[RESULT_UNCHECKED]);
}
