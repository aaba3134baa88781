/* postmortem_plot.c - remaining bytes, dirty rate and bandwidth from hand-off to the end: as SVG
 * with phases, modes and orders marked, and in block characters. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/report/postmortem_inside.h"
#include "base/human.h"

/* ---- the numbers ---- */

static int64_t dirty_of(const struct store_sample *row)
{
    int64_t page = row->memory_page_size > 0 ? row->memory_page_size : 4096;
    return row->memory_dirty_rate > INT64_MAX / page ? INT64_MAX : row->memory_dirty_rate * page;
}

static int64_t left_of(const struct store_sample *row)
{
    return row->memory_total > 0 && row->disk_total == 0 ? row->memory_remaining
                                                         : row->data_remaining;
}

static void raise(int64_t *value, int64_t to)
{
    *value = to > *value ? to : *value;
}

static void take(struct pm_points *p, const struct store_sample *row, size_t columns)
{
    int64_t span = p->to_ms - p->from_ms;
    int64_t at = span > 0 ? (row->at_ms - p->from_ms) * (int64_t)(columns - 1) / span : 0;
    int64_t column_ms = p->from_ms + (columns > 1 ? at * span / (int64_t)(columns - 1) : 0);
    if (p->n == 0 || p->at_ms[p->n - 1] < column_ms) {
        if (p->n == PM_POINTS_MAX)
            return;
        p->at_ms[p->n] = column_ms;
        p->remaining[p->n] = p->dirty[p->n] = p->bandwidth[p->n] = 0;
        p->n++;
    }
    raise(&p->remaining[p->n - 1], left_of(row));
    raise(&p->dirty[p->n - 1], dirty_of(row));
    raise(&p->bandwidth[p->n - 1], row->bandwidth_bps);
    raise(&p->max_remaining, left_of(row));
    raise(&p->max_rate, dirty_of(row));
    raise(&p->max_rate, row->bandwidth_bps);
}

bool pm_points(const struct archive *archive, size_t columns, struct pm_points *out)
{
    const struct store_job *job = &archive->job;
    memset(out, 0, sizeof *out);
    if (archive->samples.n < 2 || columns < 2)
        return false;
    const struct store_sample *first = archive->samples.rows;
    const struct store_sample *last = &archive->samples.rows[archive->samples.n - 1];
    out->from_ms = job->times.handed_off_ms > 0 && job->times.handed_off_ms < first->at_ms
                       ? job->times.handed_off_ms
                       : first->at_ms;
    out->to_ms = job->times.ended_ms > last->at_ms ? job->times.ended_ms : last->at_ms;
    if (out->to_ms <= out->from_ms)
        return false;
    columns = columns < PM_POINTS_MAX ? columns : PM_POINTS_MAX;
    for (size_t i = 0; i < archive->samples.n; i++)
        if (strcmp(archive->samples.rows[i].source, "completed") != 0)
            take(out, &archive->samples.rows[i], columns);
    return out->n >= 2;
}

/* ---- block characters ---- */

enum { BLOCK_ROWS = 5, BLOCK_LABEL = 11, BLOCK_MIN = 24, BLOCK_MAX = 160 };

static void add_blocks(struct buf *out, const char *title, const int64_t *values,
                       const struct pm_points *p, size_t columns, int64_t max)
{
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    int64_t per_column[BLOCK_MAX];
    char label[PM_NUMBER_MAX];
    for (size_t i = 0; i < columns; i++)
        per_column[i] = -1;
    for (size_t i = 0; i < p->n; i++) {
        size_t at =
            (size_t)((p->at_ms[i] - p->from_ms) * (int64_t)(columns - 1) / (p->to_ms - p->from_ms));
        raise(&per_column[at], values[i]);
    }
    for (size_t i = 1; i < columns; i++) /* between two samples the value stays */
        if (per_column[i] < 0 &&
            p->from_ms + (int64_t)i * (p->to_ms - p->from_ms) / (int64_t)columns <
                p->at_ms[p->n - 1])
            per_column[i] = per_column[i - 1];
    buf_addf(out, "%s\n", title);
    pm_bytes(max, label);
    for (int row = BLOCK_ROWS - 1; row >= 0; row--) {
        buf_addf(out, "%*s %s", BLOCK_LABEL,
                 row == BLOCK_ROWS - 1 ? label
                 : row == 0            ? "0"
                                       : "",
                 row == BLOCK_ROWS - 1 || row == 0 ? "┤" : "│");
        for (size_t i = 0; i < columns; i++) {
            int64_t value = per_column[i] < 0 ? 0 : per_column[i];
            int64_t level = max > 0 ? (int64_t)((double)value / (double)max * 8 * BLOCK_ROWS) : 0;
            level = value > 0 && level == 0 ? 1 : level; /* not nothing */
            level -= (int64_t)row * 8;
            buf_add(out, eighths[level < 0 ? 0 : level > 8 ? 8 : level]);
        }
        buf_add(out, "\n");
    }
}

static char mark_of(const struct pm_line *line)
{
    if (line->kind == PM_MODE)
        return strcmp(line->what, "PostCopy") == 0 ? 'P'
               : strcmp(line->what, "Paused") == 0 ? 'S'
                                                   : 'm';
    if (line->kind == PM_ASKED && strcmp(line->what, "abort") == 0)
        return 'A';
    if (line->kind == PM_ASKED && strcmp(line->what, "set-downtime") == 0)
        return 'd';
    return line->kind == PM_ERROR ? '!' : '\0';
}

static void add_marks(struct buf *out, const struct postmortem *pm, const struct pm_points *p,
                      size_t columns)
{
    char row[BLOCK_MAX + 1], end[PM_NUMBER_MAX];
    memset(row, ' ', columns);
    row[columns] = '\0';
    for (size_t i = 0; i < pm->n_lines; i++) {
        const struct pm_line *line = &pm->lines[i];
        char mark = mark_of(line);
        if (mark == '\0' || line->at_ms < p->from_ms || line->at_ms > p->to_ms)
            continue;
        size_t at =
            (size_t)((line->at_ms - p->from_ms) * (int64_t)(columns - 1) / (p->to_ms - p->from_ms));
        if (row[at] == ' ' || mark != 'd')
            row[at] = mark;
    }
    human_duration(p->to_ms - p->from_ms, end);
    buf_addf(out, "%*s %s\n", BLOCK_LABEL + 1, "", row);
    buf_addf(out, "%*s 0%*s\n", BLOCK_LABEL + 1, "", (int)columns - 1, end);
    buf_addf(out, "%*s m mode  P post-copy  S paused  d downtime set  A abort  ! error\n",
             BLOCK_LABEL + 1, "");
}

void pm_plot_blocks(const struct postmortem *pm, size_t width, struct buf *out)
{
    struct pm_points p;
    size_t columns = width > BLOCK_LABEL + 2 + BLOCK_MIN ? width - BLOCK_LABEL - 2 : BLOCK_MIN;
    columns = columns < BLOCK_MAX ? columns : BLOCK_MAX;
    if (!pm_points(pm->archive, columns, &p)) {
        buf_add(out, "No samples are stored.\n");
        return;
    }
    add_blocks(out, "remaining", p.remaining, &p, columns, p.max_remaining);
    add_blocks(out, "bandwidth, bytes per second", p.bandwidth, &p, columns, p.max_rate);
    add_blocks(out, "dirty rate, bytes per second", p.dirty, &p, columns, p.max_rate);
    add_marks(out, pm, &p, columns);
}

/* ---- SVG ---- */

enum {
    SVG_WIDTH = 960,
    SVG_HEIGHT = 400,
    SVG_LEFT = 78,
    SVG_RIGHT = 946,
    SVG_TOP_A = 46, /* remaining bytes */
    SVG_BASE_A = 176,
    SVG_TOP_B = 214, /* the rates */
    SVG_BASE_B = 324,
    SVG_STRIP = 340, /* the phases */
    SVG_STRIP_HEIGHT = 18,
};

static double x_of(const struct pm_points *p, int64_t at_ms)
{
    double part = (double)(at_ms - p->from_ms) / (double)(p->to_ms - p->from_ms);
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return SVG_LEFT + part * (SVG_RIGHT - SVG_LEFT);
}

static double y_of(int64_t value, int64_t max, int top, int base)
{
    return max > 0 ? base - (double)value / (double)max * (base - top) : base;
}

struct series {
    const int64_t *values;
    int64_t max;
    int top, base; /* of its panel */
    const char *class;
};

static void add_series(struct buf *out, const struct pm_points *p, struct series s)
{
    buf_addf(out, "<polyline class=\"%s\" points=\"", s.class);
    for (size_t i = 0; i < p->n; i++)
        buf_addf(out, "%s%.1f,%.1f", i > 0 ? " " : "", x_of(p, p->at_ms[i]),
                 y_of(s.values[i], s.max, s.top, s.base));
    buf_add(out, "\"/>\n");
}

static void add_grid(struct buf *out, int64_t max, int top, int base, const char *per)
{
    for (int i = 0; i <= 2; i++) {
        char label[PM_NUMBER_MAX];
        int y = base - (base - top) * i / 2;
        pm_bytes(max / 2 * i, label);
        buf_addf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>", SVG_LEFT, y,
                 SVG_RIGHT, y);
        buf_addf(out, "<text class=\"axis end\" x=\"%d\" y=\"%d\">%s%s</text>\n", SVG_LEFT - 6,
                 y + 4, label, per);
    }
}

/* A round step that gives at most 8 ticks. */
static int64_t step_of(int64_t span_ms)
{
    static const int64_t steps[] = {100,     200,     500,     1000,     2000,    5000,   10000,
                                    20000,   30000,   60000,   120000,   300000,  600000, 1200000,
                                    1800000, 3600000, 7200000, 21600000, 86400000};
    for (size_t i = 0; i < COUNT(steps); i++)
        if (span_ms / steps[i] <= 8)
            return steps[i];
    return span_ms / 8;
}

static void add_time_axis(struct buf *out, const struct pm_points *p)
{
    int64_t span = p->to_ms - p->from_ms, step = step_of(span);
    for (int64_t at = 0; at <= span; at += step) {
        double x = x_of(p, p->from_ms + at);
        buf_addf(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>", x,
                 SVG_TOP_A, x, SVG_BASE_B);
        if (step < 1000)
            buf_addf(out, "<text class=\"axis middle\" x=\"%.1f\" y=\"%d\">%.1f s</text>\n", x,
                     SVG_HEIGHT - 16, (double)at / 1000);
        else if (span < 600000)
            buf_addf(out, "<text class=\"axis middle\" x=\"%.1f\" y=\"%d\">%" PRId64 " s</text>\n",
                     x, SVG_HEIGHT - 16, at / 1000);
        else
            buf_addf(out,
                     "<text class=\"axis middle\" x=\"%.1f\" y=\"%d\">%" PRId64 " min</text>\n", x,
                     SVG_HEIGHT - 16, at / 60000);
    }
}

static void add_phase(struct buf *out, const struct pm_points *p, const char *name, int64_t from_ms,
                      int64_t to_ms, size_t number)
{
    if (to_ms <= p->from_ms || from_ms >= p->to_ms)
        return;
    double x = x_of(p, from_ms), width = x_of(p, to_ms) - x;
    width = width < 1 ? 1 : width;
    buf_addf(out, "<g><rect class=\"phase%zu\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
             number % 2, x, SVG_STRIP, width, SVG_STRIP_HEIGHT);
    buf_add(out, "<title>");
    pm_html_text(out, name);
    buf_add(out, "</title>");
    if (width > 8.0 * (double)strlen(name)) {
        buf_addf(out, "<text class=\"axis middle\" x=\"%.1f\" y=\"%d\">", x + width / 2,
                 SVG_STRIP + 13);
        pm_html_text(out, name);
        buf_add(out, "</text>");
    }
    buf_add(out, "</g>\n");
}

static void add_phases(struct buf *out, const struct archive *a, const struct pm_points *p)
{
    for (size_t i = 0; i + 1 < a->transitions.n; i++)
        add_phase(out, p, a->transitions.rows[i].to, a->transitions.rows[i].at_ms,
                  a->transitions.rows[i + 1].at_ms, i);
    if (a->transitions.n > 0 && a->job.times.ended_ms == 0)
        add_phase(out, p, a->transitions.rows[a->transitions.n - 1].to,
                  a->transitions.rows[a->transitions.n - 1].at_ms, p->to_ms, a->transitions.n);
}

/* Mode changes and orders: a line through both plots; the text of each in a row of its own when it
 * would run into the one before. */
static void add_events(struct buf *out, const struct postmortem *pm, const struct pm_points *p)
{
    double busy[2] = {0, 0}; /* up to which x each row is taken */
    for (size_t i = 0; i < pm->n_lines; i++) {
        const struct pm_line *line = &pm->lines[i];
        bool is_mode = line->kind == PM_MODE;
        bool is_order = line->kind == PM_ASKED && strcmp(line->what, "migrate") != 0;
        if (!(is_mode || is_order || line->kind == PM_ERROR) || line->at_ms < p->from_ms ||
            line->at_ms > p->to_ms)
            continue;
        const char *ending = line->kind == PM_ERROR ? " failed" : "";
        double x = x_of(p, line->at_ms);
        double width = 6.4 * (double)(strlen(line->what) + strlen(ending));
        double text_x = x + width > SVG_RIGHT ? SVG_RIGHT - width : x + 3;
        const char *class = is_mode ? "mode" : line->kind == PM_ERROR ? "error" : "order";
        int row = busy[0] <= text_x ? 0 : busy[1] <= text_x ? 1 : -1;
        buf_addf(out, "<g><line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/><title>",
                 class, x, row == 1 ? SVG_TOP_A - 16 : SVG_TOP_A - 30, x, SVG_BASE_B);
        pm_html_text(out, line->what);
        buf_add(out, ": ");
        pm_html_text(out, line->detail);
        buf_add(out, "</title>");
        if (row >= 0) {
            busy[row] = text_x + width + 8;
            buf_addf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">", class, text_x,
                     SVG_TOP_A - 22 + 14 * row);
            pm_html_text(out, line->what);
            buf_addf(out, "%s</text>", ending);
        }
        buf_add(out, "</g>\n");
    }
}

void pm_plot_svg(const struct postmortem *pm, struct buf *out)
{
    struct pm_points p;
    if (!pm_points(pm->archive, PM_POINTS_MAX, &p)) {
        buf_add(out, "<p class=\"none\">No samples are stored.</p>\n");
        return;
    }
    buf_addf(out,
             "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Remaining bytes, dirty rate and "
             "bandwidth over time\">\n",
             SVG_WIDTH, SVG_HEIGHT);
    add_time_axis(out, &p);
    add_grid(out, p.max_remaining, SVG_TOP_A, SVG_BASE_A, "");
    add_grid(out, p.max_rate, SVG_TOP_B, SVG_BASE_B, "/s");
    add_series(out, &p,
               (struct series){p.remaining, p.max_remaining, SVG_TOP_A, SVG_BASE_A, "left"});
    add_series(out, &p, (struct series){p.dirty, p.max_rate, SVG_TOP_B, SVG_BASE_B, "dirty"});
    add_series(out, &p,
               (struct series){p.bandwidth, p.max_rate, SVG_TOP_B, SVG_BASE_B, "bandwidth"});
    buf_addf(out,
             "<text class=\"axis name\" x=\"%d\" y=\"%d\">remaining</text>"
             "<text class=\"axis name bandwidth\" x=\"%d\" y=\"%d\">bandwidth</text>"
             "<text class=\"axis name dirty\" x=\"%d\" y=\"%d\">dirty rate</text>\n",
             SVG_LEFT + 6, SVG_BASE_A - 8, SVG_LEFT + 6, SVG_BASE_B - 8, SVG_LEFT + 84,
             SVG_BASE_B - 8);
    add_phases(out, pm->archive, &p);
    add_events(out, pm, &p);
    buf_add(out, "</svg>\n");
}
