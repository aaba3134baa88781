/* frame.h - a screen of cells: what is drawn before anything reaches a terminal. Pure.
 *
 * A cell holds one character and a style. A character that takes two columns leaves the next cell
 * empty; what a terminal may obey, or cannot show, becomes '?'. What does not fit is cut.
 */
#ifndef CLI_TOP_FRAME_H
#define CLI_TOP_FRAME_H

#include <stdint.h>

#include "base/own.h"
#include "base/text.h"

enum { FRAME_ROWS_MAX = 8192, FRAME_COLUMNS_MAX = 1024 };

enum style { STYLE_PLAIN, STYLE_TITLE, STYLE_GOOD, STYLE_BUSY, STYLE_BAD, STYLE_DIM, STYLE_COUNT };
struct frame_cell {
    uint32_t code; /* 0: the second half of the character before */
    uint8_t style;
    bool reversed; /* the selected row */
};
struct frame {
    int rows, columns;
    struct frame_cell *cells; /* owned */
};
/* Blank. Sizes are held between 1 and the maxima. False: no memory. */
bool frame_init(struct frame *frame, int rows, int columns);
void frame_fini(struct frame *frame);

/* UTF-8 from there on, at most `width` columns; returns how many were used. Outside of the frame:
 * nothing. frame_put_right() ends at column + width. */
int frame_put(struct frame *frame, int row, int column, int width, enum style style,
              const char *text);
void frame_put_right(struct frame *frame, int row, int column, int width, enum style style,
                     const char *text);
void frame_reverse(struct frame *frame, int row);
const struct frame_cell *frame_cell(const struct frame *frame, int row, int column);

/* Columns that the text takes. */
int frame_width(const char *text);
/* The first `rows` rows as lines of text without trailing blanks. */
void frame_text(const struct frame *frame, int rows, struct buf *out);

#endif
