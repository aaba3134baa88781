/* draw.h - the frame of `ferry top`. Pure. */
#ifndef CLI_TOP_DRAW_H
#define CLI_TOP_DRAW_H

#include "cli/top/frame.h"
#include "cli/top/top.h"

/* Into a blank frame. After top_settle(). */
void top_draw(const struct top *top, struct frame *frame);
/* Rows of a frame that shows everything (is_plain). */
int top_plain_rows(const struct top *top);
/* Rows of a page of that frame, for top_press(). */
size_t top_page_rows(const struct top *top, int rows);

/* What a section's columns are filled with; draw_columns.c. */
struct draw_section {
    const struct top *top;
    struct frame *frame;
    enum now_section section;
    const struct now_row *const *rows; /* all of the section */
    size_t n, first, shown;
};
/* Its title line at `row`, and the shown rows below it. */
void draw_section(const struct draw_section *what, int row);
/* The name of a guest, with its namespace where that is not the default one. */
void draw_guest(const struct top *top, const struct now_row *row, char *out, size_t n);

#endif
