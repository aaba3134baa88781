/* draw_columns.c - the sections of `ferry top` as columns. A column has a width, a rank by which it
 * is left out where there is no room, and a function that fills its cells. See draw.h. */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/own.h"
#include "cli/top/draw.h"

enum { CELL = NOW_TEXT_MAX, COLUMNS_MAX = 12, GAP = 1, BAR_CELLS = 10 };

typedef enum style fill_fn(const struct top *top, const struct now_row *row, char *out);

struct draw_column {
    const char *title;
    int width;  /* at least; 0 ends the list */
    bool grows; /* up to what its cells need; the last column of a section: to the end */
    bool is_right;
    int rank; /* those with the highest go first; 0: never */
    fill_fn *fill;
};

void draw_guest(const struct top *top, const struct now_row *row, char *out, size_t n)
{
    const char *guest = row->guest[0] != '\0' ? row->guest : row->name;
    bool is_spaced = top->ns == NULL && row->ns[0] != '\0' && !text_equal(row->ns, "default");
    (void)snprintf(out, n, "%s%s%s", is_spaced ? row->ns : "", is_spaced ? "/" : "", guest);
}

static enum style fill_guest(const struct top *top, const struct now_row *row, char *out)
{
    draw_guest(top, row, out, CELL);
    return STYLE_PLAIN;
}

static enum style fill_name(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)text_copy(out, CELL, row->name);
    return STYLE_PLAIN;
}

static enum style fill_path(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)snprintf(out, CELL, "%s>%s", row->from, row->to);
    return STYLE_PLAIN;
}

static enum style fill_node(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)text_copy(out, CELL, row->from);
    return STYLE_PLAIN;
}

static enum style fill_state(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)text_copy(out, CELL, row->state);
    if (row->progress.recovering || row->progress.resolving || text_equal(row->state, "Blocked"))
        return STYLE_BAD;
    return text_equal(row->state, "Aborting") ? STYLE_BUSY : STYLE_PLAIN;
}

static enum style fill_bar(const struct top *top, const struct now_row *row, char *out)
{
    int percent = progress_percent(&row->progress);
    (void)top;
    if (percent < 0)
        return STYLE_PLAIN;
    for (int i = 0; i < BAR_CELLS; i++)
        out[i + 1] = i < percent * BAR_CELLS / 100 ? '=' : ' ';
    out[0] = '[';
    out[BAR_CELLS + 1] = ']';
    out[BAR_CELLS + 2] = '\0';
    return STYLE_GOOD;
}

static enum style fill_done(const struct top *top, const struct now_row *row, char *out)
{
    int percent = progress_percent(&row->progress);
    (void)top;
    if (percent >= 0)
        (void)snprintf(out, CELL, "%d%%", percent);
    return STYLE_PLAIN;
}

static enum style fill_left(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    if (row->progress.has_sample)
        human_bytes(row->progress.remaining, out);
    return STYLE_PLAIN;
}

/* Both in the unit of the larger one: "33/65 MiB/s". */
static enum style fill_rates(const struct top *top, const struct now_row *row, char *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const struct progress *p = &row->progress;
    double dirty = (double)p->dirty_bps, rate = (double)p->rate_bps;
    size_t unit = 0;
    (void)top;
    if (!p->has_sample)
        return STYLE_PLAIN;
    for (; (dirty > rate ? dirty : rate) >= 1024 && unit + 1 < COUNT(units); unit++) {
        dirty /= 1024;
        rate /= 1024;
    }
    bool is_small = unit > 0 && (dirty > rate ? dirty : rate) < 10;
    char known[HUMAN_TEXT_MAX] = "?"; /* QEMU measures it at the end of an iteration */
    if (p->dirty_bps > 0 || p->iteration > 1)
        (void)snprintf(known, sizeof known, "%.*f", is_small, dirty);
    (void)snprintf(out, CELL, "%s/%.*f %s/s", known, is_small, rate, units[unit]);
    bool is_precopy = text_equal(p->mode, "PreCopy");
    return is_precopy && p->rate_bps > 0 && p->dirty_bps >= p->rate_bps ? STYLE_BAD : STYLE_PLAIN;
}

static enum style fill_iteration(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    if (row->progress.has_sample)
        (void)snprintf(out, CELL, "%lld", (long long)row->progress.iteration);
    return STYLE_PLAIN;
}

/* "300/900ms", "12.0/20.0s". */
static enum style fill_downtime(const struct top *top, const struct now_row *row, char *out)
{
    bool in_seconds = row->downtime_ms >= 10000 || row->max_downtime_ms >= 10000;
    double scale = in_seconds ? 1000 : 1;
    char expected[HUMAN_TEXT_MAX] = "-", limit[HUMAN_TEXT_MAX] = "-";
    (void)top;
    if (row->downtime_ms < 0 && row->max_downtime_ms < 0)
        return STYLE_PLAIN;
    if (row->downtime_ms >= 0)
        (void)snprintf(expected, sizeof expected, "%.0f", (double)row->downtime_ms / scale);
    if (row->max_downtime_ms >= 0)
        (void)snprintf(limit, sizeof limit, "%.0f", (double)row->max_downtime_ms / scale);
    (void)snprintf(out, CELL, "%s/%s%s", expected, limit, in_seconds ? "s" : "ms");
    return STYLE_PLAIN;
}

static enum style fill_eta(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    if (row->progress.eta_ms >= 0)
        human_age(row->progress.eta_ms, out);
    else
        (void)text_copy(out, CELL, "?");
    return STYLE_PLAIN;
}

static enum style fill_policy(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)text_copy(out, CELL, row->policy);
    return STYLE_PLAIN;
}

static enum style fill_reason(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)text_copy(out, CELL, row->reason);
    return row->section == SECTION_INCIDENTS ? STYLE_BAD : STYLE_PLAIN;
}

static enum style fill_since(const struct top *top, const struct now_row *row, char *out)
{
    int64_t since = row->since_ms != 0 ? row->since_ms : row->created_ms;
    if (since != 0)
        human_age(top->wall_ms > since ? top->wall_ms - since : 0, out);
    return STYLE_PLAIN;
}

static enum style fill_deadline(const struct top *top, const struct now_row *row, char *out)
{
    if (row->deadline_ms == 0)
        return STYLE_PLAIN;
    int64_t left = row->deadline_ms - top->wall_ms;
    human_age(left > 0 ? left : 0, out);
    return left < 60000 ? STYLE_BAD : STYLE_PLAIN;
}

static enum style fill_text(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    bool is_waiting = row->section == SECTION_WAITING;
    (void)text_copy(out, CELL, row->text[0] != '\0' || !is_waiting ? row->text : row->state);
    return STYLE_PLAIN;
}

/* "data plane; guest running-on-source; what to do". */
static enum style fill_verdict(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    if (row->plane[0] == '\0' && !row->has_verdict)
        return STYLE_PLAIN;
    (void)snprintf(out, CELL, "%s%s%s%s%s%.240s", row->plane, row->plane[0] != '\0' ? " plane" : "",
                   row->guest_at[0] != '\0' ? "; guest " : "", row->guest_at,
                   row->note[0] != '\0' ? "; " : "", row->note);
    return STYLE_PLAIN;
}

static enum style fill_moved(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)snprintf(out, CELL, "%lld of %lld", (long long)row->moved, (long long)row->total);
    return STYLE_PLAIN;
}

static enum style fill_blocked(const struct top *top, const struct now_row *row, char *out)
{
    (void)top;
    (void)snprintf(out, CELL, "%lld", (long long)row->blocked);
    return row->blocked > 0 ? STYLE_BAD : STYLE_PLAIN;
}

/* The title of the first one is the section's. */
static const struct draw_column columns[SECTIONS][COLUMNS_MAX] = {
    [SECTION_MOVING] = {{"MOVING", 8, true, false, 0, fill_guest},
                        {"FROM>TO", 8, true, false, 3, fill_path},
                        {"MODE", 10, false, false, 2, fill_state},
                        {"", BAR_CELLS + 2, false, false, 8, fill_bar},
                        {"DONE", 4, false, true, 0, fill_done},
                        {"LEFT", 8, false, true, 0, fill_left},
                        {"DIRTY/RATE", 13, false, true, 4, fill_rates},
                        {"IT", 3, false, true, 6, fill_iteration},
                        {"DOWNTIME", 9, false, true, 5, fill_downtime},
                        {"ETA", 6, false, true, 0, fill_eta},
                        {"MIGRATION", 15, true, false, 7, fill_name},
                        {"POLICY", 10, true, false, 9, fill_policy}},
    [SECTION_WAITING] = {{"WAITING", 9, true, false, 0, fill_guest},
                         {"FOR", 6, false, true, 0, fill_since},
                         {"AT MOST", 7, false, true, 0, fill_deadline},
                         {"REASON", 13, true, false, 3, fill_reason},
                         {"MIGRATION", 15, true, false, 4, fill_name},
                         {"WHY", 36, true, false, 0, fill_text}},
    [SECTION_INCIDENTS] = {{"INCIDENTS", 11, true, false, 0, fill_guest},
                           {"AGE", 6, false, true, 0, fill_since},
                           {"NODE", 6, true, false, 2, fill_node},
                           {"KIND", 8, true, false, 3, fill_state},
                           {"CAUSE", 16, true, false, 0, fill_reason},
                           {"VERDICT", 32, true, false, 1, fill_verdict}},
    [SECTION_DRAINS] = {{"DRAINS", 8, true, false, 0, fill_name},
                        {"NODE", 6, true, false, 2, fill_node},
                        {"STATE", 9, false, false, 0, fill_state},
                        {"MOVED", 10, false, false, 0, fill_moved},
                        {"BLOCKED", 7, false, true, 0, fill_blocked},
                        {"ETA", 6, false, true, 0, fill_eta},
                        {"AT MOST", 7, false, true, 3, fill_deadline},
                        {"", 10, true, false, 4, fill_text}},
};

/* ---- widths ---- */

struct layout {
    const struct draw_column *columns;
    int n, widths[COLUMNS_MAX]; /* 0: left out */
};

static int total(const struct layout *layout)
{
    int sum = 0, shown = 0;
    for (int i = 0; i < layout->n; i++) {
        sum += layout->widths[i];
        shown += layout->widths[i] > 0;
    }
    return sum + GAP * (shown > 0 ? shown - 1 : 0);
}

static void leave_out(struct layout *layout, int room)
{
    while (total(layout) > room) {
        int worst = 0;
        for (int i = 0; i < layout->n; i++)
            if (layout->widths[i] > 0 && layout->columns[i].rank > layout->columns[worst].rank)
                worst = i;
        if (layout->columns[worst].rank == 0)
            return;
        layout->widths[worst] = 0;
    }
}

static int last_shown(const struct layout *layout)
{
    int last = layout->n - 1;
    while (last > 0 && layout->widths[last] == 0)
        last--;
    return last;
}

/* The title of the first column has the number of rows and, where there is room, which of them are
 * shown. */
static void first_title(const struct draw_section *what, int width, char *out)
{
    const char *title = columns[what->section][0].title;
    (void)snprintf(out, CELL, "%s %zu-%zu/%zu", title, what->first + 1, what->first + what->shown,
                   what->n);
    if (what->shown == what->n || what->shown == 0 || frame_width(out) > width)
        (void)snprintf(out, CELL, "%s %zu", title, what->n);
}

static int widest(const struct draw_section *what, const struct draw_column *column)
{
    int most = frame_width(column->title);
    for (size_t i = 0; i < what->shown; i++) {
        char cell[CELL] = "";
        (void)column->fill(what->top, what->rows[what->first + i], cell);
        int width = frame_width(cell);
        most = width > most ? width : most;
    }
    return most;
}

static struct layout lay_out(const struct draw_section *what)
{
    struct layout layout = {.columns = columns[what->section]};
    char title[CELL];
    for (; layout.n < COLUMNS_MAX && layout.columns[layout.n].width > 0; layout.n++)
        layout.widths[layout.n] = layout.columns[layout.n].width;
    first_title(what, what->frame->columns, title);
    leave_out(&layout, what->frame->columns);
    int last = last_shown(&layout), room = what->frame->columns - total(&layout);
    for (int i = 0; i < layout.n && room > 0; i++) {
        if (layout.widths[i] == 0 || !layout.columns[i].grows)
            continue;
        int wants = widest(what, &layout.columns[i]);
        if (i == 0 && frame_width(title) > wants)
            wants = frame_width(title);
        int more = i == last ? room : wants - layout.widths[i];
        more = more > room ? room : more > 0 ? more : 0;
        layout.widths[i] += more;
        room -= more;
    }
    return layout;
}

/* ---- drawing ---- */

/* Where a cell is. */
struct place {
    int row, column, width;
    bool is_right;
};

static void put(struct frame *frame, const struct place *at, enum style style, const char *text)
{
    bool is_cut = frame_width(text) > at->width;
    if (at->is_right && !is_cut)
        frame_put_right(frame, at->row, at->column, at->width, style, text);
    else
        (void)frame_put(frame, at->row, at->column, is_cut ? at->width - 1 : at->width, style,
                        text);
    if (is_cut)
        (void)frame_put(frame, at->row, at->column + at->width - 1, 1, style, "~");
}

static void draw_row(const struct draw_section *what, const struct layout *layout, int row,
                     const struct now_row *of)
{
    bool is_stale = !what->top->link.is_connected;
    int column = 0;
    for (int i = 0; i < layout->n; i++) {
        char cell[CELL] = "";
        if (layout->widths[i] == 0)
            continue;
        enum style style = layout->columns[i].fill(what->top, of, cell);
        const struct place at = {row, column, layout->widths[i], layout->columns[i].is_right};
        put(what->frame, &at, is_stale ? STYLE_DIM : style, cell);
        column += layout->widths[i] + GAP;
    }
    if (!what->top->is_plain && of->key == what->top->selected)
        frame_reverse(what->frame, row);
}

void draw_section(const struct draw_section *what, int row)
{
    struct layout layout = lay_out(what);
    char title[CELL];
    int column = 0;
    for (int i = 0; i < layout.n; i++) {
        first_title(what, layout.widths[0], title);
        if (layout.widths[i] == 0)
            continue;
        const struct place at = {row, column, layout.widths[i], layout.columns[i].is_right};
        put(what->frame, &at, STYLE_TITLE, i == 0 ? title : layout.columns[i].title);
        column += layout.widths[i] + GAP;
    }
    for (size_t i = 0; i < what->shown; i++)
        draw_row(what, &layout, row + 1 + (int)i, what->rows[what->first + i]);
}
