/* table.c - see table.h. */
#include "cli/common/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2, NARROWEST = 6 };

struct table_cell {
    char *text; /* owned; NULL: empty */
    enum colour colour;
};

void table_init(struct table *table, const char *const *titles, size_t n_columns)
{
    assert(n_columns > 0 && n_columns <= TABLE_COLUMNS_MAX);
    memset(table, 0, sizeof *table);
    table->n_columns = n_columns;
    for (size_t i = 0; i < n_columns; i++)
        table->titles[i] = titles[i];
}

void table_fini(struct table *table)
{
    for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
        free(table->cells[i].text);
    free(table->cells);
    memset(table, 0, sizeof *table);
}

void table_add_row(struct table *table)
{
    if (table->failed)
        return;
    if (table->n_rows == table->capacity) {
        size_t capacity = table->capacity > 0 ? table->capacity * 2 : 16;
        struct table_cell *cells =
            reallocarray(table->cells, capacity * table->n_columns, sizeof *cells);
        if (cells == NULL) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    memset(table->cells + table->n_rows * table->n_columns, 0,
           table->n_columns * sizeof *table->cells);
    table->n_rows++;
}

static struct table_cell *cell_at(const struct table *table, size_t row, size_t column)
{
    return &table->cells[row * table->n_columns + column];
}

void table_clean(char *out, size_t out_bytes, const char *text)
{
    char *to = out;
    unsigned code;
    (void)text_copy(out, out_bytes, text != NULL ? text : "");
    for (const char *at = out; *at != '\0';) {
        size_t unsafe = text_unsafe_bytes(at, &code), n = text_utf8_bytes(at);
        if (unsafe > 0)
            *to++ = '?';
        for (size_t i = 0; unsafe == 0 && i < (n > 0 ? n : 1); i++)
            *to++ = at[i];
        at += unsafe > 0 ? unsafe : n > 0 ? n : 1;
    }
    *to = '\0';
}

void table_set(struct table *table, size_t column, const char *text)
{
    assert(column < table->n_columns);
    if (table->failed || table->n_rows == 0)
        return;
    struct table_cell *cell = cell_at(table, table->n_rows - 1, column);
    const char *shown = text != NULL && *text != '\0' ? text : "-";
    free(cell->text);
    cell->text = malloc(strlen(shown) + 1);
    if (cell->text == NULL)
        table->failed = true;
    else
        table_clean(cell->text, strlen(shown) + 1, shown);
}

void table_colour(struct table *table, size_t column, enum colour colour)
{
    assert(column < table->n_columns);
    if (!table->failed && table->n_rows > 0)
        cell_at(table, table->n_rows - 1, column)->colour = colour;
}

const char *colour_on(enum colour colour, bool coloured)
{
    static const char *const codes[COLOUR_COUNT] = {
        [COLOUR_NONE] = "",        [COLOUR_GOOD] = "\033[32m", [COLOUR_BUSY] = "\033[33m",
        [COLOUR_BAD] = "\033[31m", [COLOUR_DIM] = "\033[2m",
    };
    return coloured ? codes[colour] : "";
}

const char *colour_off(bool coloured)
{
    return coloured ? "\033[0m" : "";
}

enum colour colour_of_phase(const char *phase)
{
    static const struct {
        const char *word;
        enum colour colour;
    } words[] = {
        {"Succeeded", COLOUR_GOOD},
        {"Ready", COLOUR_GOOD},
        {"Failed", COLOUR_BAD},
        {"NotReady", COLOUR_BAD},
        {"Unknown", COLOUR_BAD},
        {"ok", COLOUR_GOOD},
        {"yes", COLOUR_GOOD},
        {"no", COLOUR_BAD},
        {"failed", COLOUR_BAD},
        {"open", COLOUR_BAD},
        {"unknown", COLOUR_BUSY},
        {"warn", COLOUR_BUSY},
        {"Pending", COLOUR_BUSY},
        {"Scheduling", COLOUR_BUSY},
        {"Scheduled", COLOUR_BUSY},
        {"PreparingTarget", COLOUR_BUSY},
        {"TargetReady", COLOUR_BUSY},
        {"Running", COLOUR_BUSY},
        {"Recovering", COLOUR_BUSY},
        {"Irrecoverable", COLOUR_BAD},
        {"recovery-exhausted", COLOUR_BAD},
        {"recovery-unknown", COLOUR_BAD},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(words[i].word, phase))
            return words[i].colour;
    return COLOUR_NONE;
}

static const char *text_of(const struct table_cell *cell)
{
    return cell->text != NULL ? cell->text : "";
}

static void measure(const struct table *table, size_t *widths)
{
    for (size_t column = 0; column < table->n_columns; column++) {
        widths[column] = strlen(table->titles[column]);
        for (size_t row = 0; row < table->n_rows; row++) {
            size_t length = strlen(text_of(cell_at(table, row, column)));
            if (length > widths[column])
                widths[column] = length;
        }
    }
}

static size_t total_of(const struct table *table, const size_t *widths)
{
    size_t total = 0, shown = 0;
    for (size_t column = 0; column < table->n_columns; column++) {
        total += widths[column];
        shown += widths[column] > 0;
    }
    return total + GAP * (shown > 0 ? shown - 1 : 0);
}

/* Drops optional columns, then narrows the widest column step by step. A width of 0: the column is
 * not shown. */
static void narrow(const struct table *table, size_t *widths, size_t width)
{
    for (size_t column = table->n_columns; column-- > 0;)
        if (table->optional[column] && total_of(table, widths) > width)
            widths[column] = 0;
    for (;;) {
        size_t widest = 0;
        for (size_t column = 0; column < table->n_columns; column++)
            if (widths[column] > widths[widest])
                widest = column;
        if (total_of(table, widths) <= width || widths[widest] <= NARROWEST)
            return;
        widths[widest]--;
    }
}

/* As wide as before, at least; what was dropped stays so. */
static void go_on(const struct table_widths *before, size_t n, size_t *widths)
{
    for (size_t i = 0; before != NULL && before->n == n && i < n; i++)
        if (before->widths[i] == 0 || widths[i] < before->widths[i])
            widths[i] = before->widths[i];
}

static void put_cell(struct buf *out, const char *text, size_t width, bool last)
{
    size_t length = strlen(text);
    if (width == 0)
        return;
    if (length > width) {
        buf_add_bytes(out, text, width - 1);
        buf_add(out, "~");
        length = width;
    } else {
        buf_add(out, text);
    }
    if (!last)
        buf_addf(out, "%*s", (int)(width - length + GAP), "");
}

bool table_render(const struct table *table, size_t width, bool coloured, struct buf *out)
{
    size_t widths[TABLE_COLUMNS_MAX];
    measure(table, widths);
    go_on(table->widths, table->n_columns, widths);
    if (width > 0)
        narrow(table, widths, width);
    if (table->widths != NULL)
        memcpy(table->widths->widths, widths, table->n_columns * sizeof *widths);
    if (table->widths != NULL)
        table->widths->n = table->n_columns;
    size_t last = table->n_columns - 1;
    while (last > 0 && widths[last] == 0)
        last--;
    for (size_t column = 0; column < table->n_columns && !table->is_untitled; column++)
        put_cell(out, table->titles[column], widths[column], column == last);
    buf_add(out, table->is_untitled ? "" : "\n");
    for (size_t row = 0; row < table->n_rows; row++) {
        for (size_t column = 0; column < table->n_columns; column++) {
            const struct table_cell *cell = cell_at(table, row, column);
            bool is_coloured = coloured && cell->colour != COLOUR_NONE && widths[column] > 0;
            buf_add(out, colour_on(cell->colour, is_coloured));
            put_cell(out, text_of(cell), widths[column], column == last);
            buf_add(out, colour_off(is_coloured));
        }
        buf_add(out, "\n");
    }
    return !table->failed && !out->failed;
}
