/* table.h - aligned columns that fit a width.
 *
 * A table that is too wide first drops its optional columns, the last first; then its widest
 * columns are cut with '~'. Width 0 cuts nothing (-o wide). Cells are copied; control bytes become
 * '?'. Colour is a property of a cell, written only when the caller asks for it. Pure: the text
 * goes into a buffer.
 */
#ifndef CLI_COMMON_TABLE_H
#define CLI_COMMON_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { TABLE_COLUMNS_MAX = 20, TABLE_CELL_MAX = 256, TABLE_WIDTH = 80 };

enum colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_BUSY, COLOUR_BAD, COLOUR_DIM, COLOUR_COUNT };

/* Of a table that goes on, row by row: columns keep their place, and may become wider. Zero: none
 * yet. */
struct table_widths {
    size_t n, widths[TABLE_COLUMNS_MAX];
};

struct table {
    size_t n_columns, n_rows, capacity; /* rows without the header */
    const char *titles[TABLE_COLUMNS_MAX];
    bool optional[TABLE_COLUMNS_MAX]; /* dropped when there is no room */
    bool is_untitled;                 /* rows only */
    struct table_widths *widths;      /* NULL: of these rows alone; borrowed */
    struct table_cell *cells;         /* n_rows * n_columns; owned */
    bool failed;                      /* no memory; table_render returns false */
};

void table_init(struct table *table, const char *const *titles, size_t n_columns);
void table_fini(struct table *table);
/* Starts a row of empty cells; then set its cells by column. */
void table_add_row(struct table *table);
void table_set(struct table *table, size_t column, const char *text);
void table_colour(struct table *table, size_t column, enum colour colour);
/* False: no memory. */
bool table_render(const struct table *table, size_t width, bool coloured, struct buf *out);

/* A copy without control bytes; out holds out_bytes. */
void table_clean(char *out, size_t out_bytes, const char *text);
const char *colour_on(enum colour colour, bool coloured);
const char *colour_off(bool coloured);
/* Colour of a phase or state: succeeded, failed, in progress. */
enum colour colour_of_phase(const char *phase);

#endif
