/* progress.c - see progress.h. */
#include "cli/common/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/text.h"
#include "cli/common/table.h"

enum { FIELD_MAX = 96, BAR_MIN = 6, BAR_MAX = 24 };

/* Fields in display order; the field with the lowest `worth` is dropped first. */
enum field { STATE, MODE, BAR, PERCENT, LEFT, RATE, DIRTY, ITERATION, ETA, FIELD_COUNT };
static const int worth[FIELD_COUNT] = {
    [STATE] = 100, [PERCENT] = 90, [ETA] = 80,       [LEFT] = 70, [RATE] = 60,
    [MODE] = 40,   [DIRTY] = 30,   [ITERATION] = 20, [BAR] = 10,
};

struct line {
    char fields[FIELD_COUNT][FIELD_MAX]; /* empty: not shown */
};

int progress_percent(const struct progress *p)
{
    if (!p->has_sample || p->total == 0)
        return -1;
    uint64_t left = p->remaining < p->total ? p->remaining : p->total;
    return (int)(100.0 * (double)(p->total - left) / (double)p->total);
}

/* A condition replaces the phase. */
static const char *state_word(const struct progress *p)
{
    if (p->recovering) /* then it is also resolving */
        return "Recovering";
    if (p->resolving)
        return "Resolving";
    if (text_equal(p->abort_status, "Aborting"))
        return "Aborting";
    return p->phase[0] != '\0' ? p->phase : "Accepted";
}

static void fill_fields(const struct progress *p, struct line *line)
{
    char text[HUMAN_TEXT_MAX];
    memset(line, 0, sizeof *line);
    TEXT_SET(line->fields[STATE], state_word(p));
    if (!p->has_sample)
        return;
    TEXT_SET(line->fields[MODE], p->mode);
    int percent = progress_percent(p);
    if (percent >= 0)
        (void)snprintf(line->fields[PERCENT], FIELD_MAX, "%3d%%", percent);
    human_bytes(p->remaining, text);
    (void)snprintf(line->fields[LEFT], FIELD_MAX, "%7s left", text);
    human_rate(p->rate_bps, text);
    (void)snprintf(line->fields[RATE], FIELD_MAX, "%9s", text);
    human_rate(p->dirty_bps, text);
    (void)snprintf(line->fields[DIRTY], FIELD_MAX, "dirty %9s", text);
    (void)snprintf(line->fields[ITERATION], FIELD_MAX, "#%lld", (long long)p->iteration);
    if (p->eta_ms >= 0)
        human_duration(p->eta_ms, text);
    else
        TEXT_SET(text, "?");
    (void)snprintf(line->fields[ETA], FIELD_MAX, "ETA %-10s", text);
}

/* Width without the bar, which gets the remaining columns. */
static size_t used(const struct line *line)
{
    size_t total = 0;
    for (int field = 0; field < FIELD_COUNT; field++)
        if (field != BAR && line->fields[field][0] != '\0')
            total += strlen(line->fields[field]) + (total > 0);
    return total;
}

static void drop_least(struct line *line)
{
    int least = STATE;
    for (int field = 0; field < FIELD_COUNT; field++)
        if (line->fields[field][0] != '\0' && worth[field] < worth[least])
            least = field;
    line->fields[least][0] = '\0';
}

static void draw_bar(const struct progress *p, struct line *line, size_t room)
{
    int percent = progress_percent(p);
    if (percent < 0 || room < BAR_MIN + 3) /* brackets and a space */
        return;
    size_t cells = room - 3 < BAR_MAX ? room - 3 : BAR_MAX;
    size_t full = cells * (size_t)percent / 100;
    char *at = line->fields[BAR];
    *at++ = '[';
    for (size_t i = 0; i < cells; i++)
        *at++ = i < full ? '=' : i == full ? '>' : ' ';
    *at++ = ']';
    *at = '\0';
}

/* Fields worth less than the bar are dropped for it. */
static void fit(const struct progress *p, struct line *line, size_t width)
{
    bool wants_bar = progress_percent(p) >= 0;
    for (;;) {
        size_t need = used(line) + (wants_bar ? BAR_MIN + 3 : 0);
        if (need <= width)
            break;
        bool others_cheaper = false;
        for (int field = 0; field < FIELD_COUNT; field++)
            others_cheaper |=
                field != BAR && line->fields[field][0] != '\0' && worth[field] < worth[BAR];
        if (wants_bar && !others_cheaper)
            wants_bar = false;
        else if (line->fields[STATE][0] == '\0')
            break;
        else
            drop_least(line);
    }
    if (wants_bar)
        draw_bar(p, line, width - used(line));
}

static size_t join(const struct line *line, const struct progress *p, bool coloured, char *out_line)
{
    size_t length = 0;
    out_line[0] = '\0';
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (line->fields[field][0] == '\0')
            continue;
        bool is_coloured = coloured && field == STATE;
        int n =
            snprintf(out_line + length, PROGRESS_LINE_MAX - length, "%s%s%s%s",
                     length > 0 ? " " : "",
                     colour_on(is_coloured ? colour_of_phase(p->phase) : COLOUR_NONE, is_coloured),
                     line->fields[field], colour_off(is_coloured));
        length += (size_t)n; /* fields are bounded: the sum stays below PROGRESS_LINE_MAX */
    }
    return length;
}

/* Without a sample: the state, its duration and its reason. */
static size_t waiting(const struct progress *p, size_t width, char *out_line)
{
    char elapsed[HUMAN_TEXT_MAX], reason[PROGRESS_REASON_MAX];
    human_duration(p->elapsed_ms, elapsed);
    table_clean(reason, sizeof reason, p->reason);
    int n = snprintf(out_line, PROGRESS_LINE_MAX, "%s %s%s%s", state_word(p), elapsed,
                     reason[0] != '\0' ? ": " : "", reason);
    size_t length = n > 0 ? (size_t)n : 0;
    if (length > width) {
        length = width;
        out_line[length] = '\0';
    }
    return length;
}

size_t progress_live(const struct progress *p, size_t width, bool coloured, char *out_line)
{
    if (width >= PROGRESS_LINE_MAX / 2)
        width = PROGRESS_LINE_MAX / 2; /* leaves room for colour codes */
    if (p->is_unreachable) {
        struct progress unreachable = *p;
        TEXT_SET(unreachable.reason, "the appliance does not answer; retrying");
        return waiting(&unreachable, width, out_line);
    }
    if (!p->has_sample)
        return waiting(p, width, out_line);
    struct line line;
    fill_fields(p, &line);
    fit(p, &line, width);
    return join(&line, p, coloured, out_line);
}

size_t progress_plain(const struct progress *p, char *out_line)
{
    char elapsed[HUMAN_TEXT_MAX], left[HUMAN_TEXT_MAX], total[HUMAN_TEXT_MAX];
    char rate[HUMAN_TEXT_MAX], dirty[HUMAN_TEXT_MAX], eta[HUMAN_TEXT_MAX] = "unknown";
    char reason[PROGRESS_REASON_MAX];
    human_duration(p->elapsed_ms, elapsed);
    int n;
    if (p->is_unreachable || !p->has_sample) {
        table_clean(reason, sizeof reason,
                    p->is_unreachable ? "the appliance does not answer; retrying" : p->reason);
        n = snprintf(out_line, PROGRESS_LINE_MAX, "%s %s%s%s", elapsed, state_word(p),
                     reason[0] != '\0' ? ": " : "", reason);
        return n > 0 ? (size_t)n : 0;
    }
    human_bytes(p->remaining, left);
    human_bytes(p->total, total);
    human_rate(p->rate_bps, rate);
    human_rate(p->dirty_bps, dirty);
    if (p->eta_ms >= 0)
        human_duration(p->eta_ms, eta);
    n = snprintf(out_line, PROGRESS_LINE_MAX,
                 "%s %s %s remaining %s of %s, rate %s, dirty %s, iteration %lld, ETA %s", elapsed,
                 state_word(p), p->mode[0] != '\0' ? p->mode : "-", left, total, rate, dirty,
                 (long long)p->iteration, eta);
    if (p->throttle_percent > 0 && n > 0 && n < PROGRESS_LINE_MAX)
        n += snprintf(out_line + n, (size_t)(PROGRESS_LINE_MAX - n), ", throttle %lld%%",
                      (long long)p->throttle_percent);
    return n > 0 ? (size_t)n : 0;
}
