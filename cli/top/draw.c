/* draw.c - see draw.h. The head, the sections, the strip about the selected row, the line of keys.
 */
#include "cli/top/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/own.h"
#include "cli/common/fold.h"
#include "cli/common/table.h"

enum {
    HEAD_ROWS = 2,
    STRIP_ROWS = 5,  /* a line between, the name, three of text */
    ROOMY_ROWS = 20, /* from here on with the strip and lines between sections */
    LINE = 2 * NOW_TEXT_MAX + 3 * NOW_NAME_MAX,
};

static bool is_roomy(const struct top *top, int rows)
{
    return rows >= ROOMY_ROWS || top->is_plain;
}

static int foot_rows(const struct top *top, int rows)
{
    return top->is_plain ? 0 : is_roomy(top, rows) ? STRIP_ROWS + 1 : 1;
}

size_t top_page_rows(const struct top *top, int rows)
{
    int n = top->view == VIEW_PAGE ? rows - 2 : rows - HEAD_ROWS - foot_rows(top, rows) - 2;
    return n > 1 ? (size_t)n : 1;
}

int top_plain_rows(const struct top *top)
{
    int rows = HEAD_ROWS + (int)top->now.n;
    for (enum now_section section = 0; section < SECTIONS; section++)
        rows += now_count(&top->now, section) > 0 ? 2 : 0;
    return rows > HEAD_ROWS ? rows : rows + 2;
}

/* ---- the head ---- */

static enum style link_text(const struct top *top, char *out)
{
    char since[CLOCK_TEXT_MAX], ago[HUMAN_TEXT_MAX], retry[HUMAN_TEXT_MAX];
    if (top->link.is_connected) {
        (void)snprintf(out, LINE, "%s", now_is_synced(&top->now) ? "connected" : "reading");
        return now_is_synced(&top->now) ? STYLE_GOOD : STYLE_BUSY;
    }
    if (!top->link.was_connected && top->link.why[0] == '\0') {
        (void)snprintf(out, LINE, "connecting");
        return STYLE_BUSY;
    }
    clock_format_wall(top->link.since_ms, since);
    human_age(top->wall_ms > top->link.since_ms ? top->wall_ms - top->link.since_ms : 0, ago);
    human_age(top->link.retry_in_ms > 0 ? top->link.retry_in_ms + 999 : 0, retry);
    (void)snprintf(out, LINE, "not connected, since %.8s (%s); next try in %s", since + 11, ago,
                   retry);
    return STYLE_BAD;
}

static void draw_head(const struct top *top, struct frame *frame)
{
    char text[LINE], at[CLOCK_TEXT_MAX];
    clock_format_wall(top->wall_ms, at);
    int column = frame_put(frame, 0, 0, frame->columns, STYLE_TITLE, "ferry top");
    (void)snprintf(text, sizeof text, "  %s%s%s", top->server, top->ns != NULL ? "  -n " : "",
                   top->ns != NULL ? top->ns : "");
    (void)frame_put(frame, 0, column, frame->columns - column - 10, STYLE_PLAIN, text);
    frame_put_right(frame, 0, frame->columns - 9, 9, STYLE_PLAIN, at + 11);
    enum style style = link_text(top, text);
    column = frame_put(frame, 1, 0, frame->columns, style, text);
    if (!top->link.is_connected)
        return;
    (void)snprintf(text, sizeof text, "  sorted by %s%s", top_sort_name(top->sort),
                   top->is_reversed ? ", reversed" : "");
    column += frame_put(frame, 1, column, frame->columns - column, STYLE_DIM, text);
    size_t omitted = 0;
    for (enum now_kind kind = 0; kind < NOW_KINDS; kind++)
        omitted += top->now.omitted[kind];
    if (omitted > 0) {
        (void)snprintf(text, sizeof text, "  %zu more are not shown (-n NAMESPACE)", omitted);
        (void)frame_put(frame, 1, column, frame->columns - column, STYLE_BUSY, text);
    }
}

/* ---- the sections ---- */

/* How many rows of each section are shown: one of each first, then in turn what is left. */
static void share(const struct top_rows *rows, int room, bool is_roomy, size_t *out_shown)
{
    bool gave = true;
    for (enum now_section s = 0; s < SECTIONS; s++) {
        out_shown[s] = 0;
        room -= rows->of[s] > 0 ? 1 + is_roomy : 0;
    }
    while (gave) {
        gave = false;
        for (enum now_section s = 0; s < SECTIONS && room > 0; s++) {
            if (out_shown[s] == rows->of[s])
                continue;
            out_shown[s]++;
            room--;
            gave = true;
        }
    }
}

/* The first shown row of a section: the selected one is always among them. */
static size_t first_of(const struct top *top, const struct draw_section *what)
{
    for (size_t i = 0; i < what->n; i++)
        if (what->rows[i]->key == top->selected)
            return i < what->shown ? 0 : i - what->shown + 1;
    return 0;
}

static void draw_nothing(const struct top *top, struct frame *frame, int row)
{
    if (now_is_synced(&top->now))
        (void)frame_put(frame, row, 0, frame->columns, STYLE_PLAIN,
                        "Nothing moves, nothing waits, no incident is open.");
}

static void draw_sections(const struct top *top, struct frame *frame)
{
    struct top_rows rows;
    size_t shown[SECTIONS], at = 0;
    bool roomy = is_roomy(top, frame->rows);
    int row = HEAD_ROWS, end = frame->rows - foot_rows(top, frame->rows);
    if (!top_rows(top, &rows))
        return;
    share(&rows, end - row, roomy, shown);
    if (rows.n == 0)
        draw_nothing(top, frame, row + roomy);
    for (enum now_section s = 0; s < SECTIONS; at += rows.of[s], s++) {
        struct draw_section what = {.top = top,
                                    .frame = frame,
                                    .section = s,
                                    .rows = rows.rows + at,
                                    .n = rows.of[s],
                                    .shown = shown[s]};
        if (what.n == 0 || row + roomy >= end)
            continue;
        row += roomy;
        what.first = first_of(top, &what);
        draw_section(&what, row);
        row += 1 + (int)what.shown;
    }
    top_rows_fini(&rows);
}

/* ---- the strip about the selected row ---- */

static void add_eta(const struct now_row *row, struct buf *out)
{
    char low[HUMAN_TEXT_MAX], high[HUMAN_TEXT_MAX];
    if (row->eta_low_ms < 0 || row->eta_high_ms < 0)
        return;
    human_duration(row->eta_low_ms, low);
    human_duration(row->eta_high_ms, high);
    buf_addf(out, " ETA between %s and %s%s%s.", low, high, row->note[0] != '\0' ? "; " : "",
             row->note);
}

static void add_wait(const struct now_row *row, struct buf *out)
{
    char at[CLOCK_TEXT_MAX];
    if (row->deadline_ms == 0)
        return;
    clock_format_wall(row->deadline_ms, at);
    buf_addf(out, " Fails at %s if it still waits for that.", at);
}

static void strip_text(const struct now_row *row, struct buf *out)
{
    switch (row->section) {
    case SECTION_MOVING:
        buf_addf(out, "%s%s", row->text, row->text[0] != '\0' ? "." : "");
        add_eta(row, out);
        break;
    case SECTION_WAITING:
        buf_addf(out, "%s.", row->text[0] != '\0' ? row->text : row->progress.phase);
        add_wait(row, out);
        break;
    case SECTION_INCIDENTS:
        buf_addf(out, "%s%s%s", row->note, row->note[0] != '\0' ? " " : "", row->text);
        break;
    case SECTION_DRAINS:
    case SECTIONS: buf_add(out, row->text); break;
    }
}

static void strip_name(const struct top *top, const struct now_row *row, char *out)
{
    char guest[LINE / 2];
    draw_guest(top, row, guest, sizeof guest);
    if (row->section == SECTION_DRAINS)
        (void)snprintf(out, LINE, "drain %s of node %s", row->name, row->from);
    else if (row->section == SECTION_INCIDENTS)
        (void)snprintf(out, LINE, "incident %s of guest %s%s%s", row->name, guest,
                       row->guest_at[0] != '\0' ? ", which is " : "", row->guest_at);
    else
        (void)snprintf(out, LINE, "%s of guest %s%s%s%s%s", row->name, guest,
                       row->from[0] != '\0' ? ", " : "", row->from,
                       row->to[0] != '\0' ? " to " : "", row->to);
}

static void draw_strip(const struct top *top, struct frame *frame, int row)
{
    const struct now_row *selected = top_selected(top);
    struct buf text, folded;
    char name[LINE];
    if (selected == NULL)
        return;
    strip_name(top, selected, name);
    (void)frame_put(frame, row + 1, 0, frame->columns, STYLE_TITLE, name);
    buf_init(&text, LINE);
    buf_init(&folded, 2 * LINE);
    buf_add(&text, "");
    strip_text(selected, &text);
    if (text.data != NULL)
        fold_page(text.data, (size_t)frame->columns, &folded);
    const char *at = folded.data != NULL ? folded.data : "";
    for (int i = 2; i < STRIP_ROWS && *at != '\0'; i++) {
        char line[LINE];
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        (void)frame_put(frame, row + i, 0, frame->columns, STYLE_PLAIN, line);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    buf_fini(&text);
    buf_fini(&folded);
}

/* ---- the last line ---- */

static void draw_foot(const struct top *top, struct frame *frame)
{
    int row = frame->rows - 1;
    char text[LINE];
    if (top->view == VIEW_CONFIRM) {
        (void)snprintf(text, sizeof text, "Abort %s of guest %s? y: yes, any other key: no",
                       top->target.name, top->target.guest);
        (void)frame_put(frame, row, 0, frame->columns, STYLE_BAD, text);
        frame_reverse(frame, row);
    } else if (top->message[0] != '\0') {
        (void)frame_put(frame, row, 0, frame->columns, top->is_failure ? STYLE_BAD : STYLE_GOOD,
                        top->message);
    } else if (!top->link.is_connected && top->link.why[0] != '\0') {
        (void)frame_put(frame, row, 0, frame->columns, STYLE_BAD, top->link.why);
    } else {
        (void)snprintf(text, sizeof text,
                       "q quit  arrows select  s sort  r reverse  d describe%s  ? help",
                       top_may_abort(top) ? "  a abort" : "");
        (void)frame_put(frame, row, 0, frame->columns, STYLE_DIM, text);
    }
}

/* ---- a page ---- */

static void draw_page(const struct top *top, struct frame *frame)
{
    size_t line = 0;
    char text[LINE];
    (void)frame_put(frame, 0, 0, frame->columns, STYLE_TITLE, top->page_title);
    for (const char *at = top->page != NULL ? top->page : ""; *at != '\0'; line++) {
        size_t n = strcspn(at, "\n");
        int row = 1 + (int)(line - top->page_first);
        if (line >= top->page_first && row < frame->rows - 1) {
            (void)snprintf(text, sizeof text, "%.*s", n < LINE ? (int)n : LINE - 1, at);
            (void)frame_put(frame, row, 0, frame->columns, STYLE_PLAIN, text);
        }
        at += n + (at[n] == '\n');
    }
    (void)snprintf(text, sizeof text, "q back  arrows scroll  %zu of %zu lines",
                   top->page_first + 1, top->page_lines);
    (void)frame_put(frame, frame->rows - 1, 0, frame->columns, STYLE_DIM, text);
}

void top_draw(const struct top *top, struct frame *frame)
{
    if (top->view == VIEW_PAGE) {
        draw_page(top, frame);
        return;
    }
    draw_head(top, frame);
    draw_sections(top, frame);
    if (top->is_plain)
        return;
    if (is_roomy(top, frame->rows))
        draw_strip(top, frame, frame->rows - foot_rows(top, frame->rows));
    draw_foot(top, frame);
}
