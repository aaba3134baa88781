/* frame.c - see frame.h. */
#include "cli/top/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static int held(int value, int max)
{
    return value < 1 ? 1 : value > max ? max : value;
}

bool frame_init(struct frame *frame, int rows, int columns)
{
    frame->rows = held(rows, FRAME_ROWS_MAX);
    frame->columns = held(columns, FRAME_COLUMNS_MAX);
    size_t n = (size_t)frame->rows * (size_t)frame->columns;
    frame->cells = calloc(n, sizeof *frame->cells);
    for (size_t i = 0; frame->cells != NULL && i < n; i++)
        frame->cells[i].code = ' ';
    return frame->cells != NULL;
}

void frame_fini(struct frame *frame)
{
    free(frame->cells);
    *frame = (struct frame){0};
}

static struct frame_cell *cell_at(const struct frame *frame, int row, int column)
{
    assert(row >= 0 && row < frame->rows && column >= 0 && column < frame->columns);
    return &frame->cells[row * frame->columns + column];
}

const struct frame_cell *frame_cell(const struct frame *frame, int row, int column)
{
    return cell_at(frame, row, column);
}

/* The next character; it is '?' where a terminal may obey it or cannot show it. */
static uint32_t take_character(const char **text, int *out_width)
{
    const unsigned char *at = (const unsigned char *)*text;
    unsigned code;
    size_t unsafe = text_unsafe_bytes(*text, &code), n = text_utf8_bytes(*text);
    *text += unsafe > 0 ? unsafe : n > 0 ? n : 1;
    *out_width = 1;
    if (unsafe > 0 || n == 0)
        return '?';
    if (n == 1)
        return at[0];
    uint32_t value = at[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        value = value << 6 | (at[i] & 0x3f);
    int width = wcwidth((wchar_t)value); /* -1 in a locale that does not know it */
    if (width < 1)
        return '?';
    *out_width = width;
    return value;
}

int frame_width(const char *text)
{
    int total = 0, width;
    while (*text != '\0') {
        (void)take_character(&text, &width);
        total += width;
    }
    return total;
}

int frame_put(struct frame *frame, int row, int column, int width, enum style style,
              const char *text)
{
    int at = column, of_character;
    if (row < 0 || row >= frame->rows || column < 0)
        return 0;
    while (*text != '\0') {
        uint32_t code = take_character(&text, &of_character);
        if (at + of_character > column + width || at + of_character > frame->columns)
            break;
        for (int i = 0; i < of_character; i++) {
            struct frame_cell *cell = cell_at(frame, row, at + i);
            cell->code = i == 0 ? code : 0;
            cell->style = (uint8_t)style;
        }
        at += of_character;
    }
    return at - column;
}

void frame_put_right(struct frame *frame, int row, int column, int width, enum style style,
                     const char *text)
{
    int of_text = frame_width(text);
    int skip = of_text < width ? width - of_text : 0;
    (void)frame_put(frame, row, column + skip, width - skip, style, text);
}

void frame_reverse(struct frame *frame, int row)
{
    for (int column = 0; row >= 0 && row < frame->rows && column < frame->columns; column++)
        cell_at(frame, row, column)->reversed = true;
}

static void add_character(struct buf *out, uint32_t code)
{
    char bytes[4];
    if (code < 0x80) {
        bytes[0] = (char)code;
        buf_add_bytes(out, bytes, 1);
        return;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)((0xf00 >> n & 0xff) | code);
    buf_add_bytes(out, bytes, n);
}

void frame_text(const struct frame *frame, int rows, struct buf *out)
{
    for (int row = 0; row < rows && row < frame->rows; row++) {
        int end = frame->columns;
        while (end > 0 && cell_at(frame, row, end - 1)->code == ' ')
            end--;
        for (int column = 0; column < end; column++)
            if (cell_at(frame, row, column)->code != 0)
                add_character(out, cell_at(frame, row, column)->code);
        buf_add(out, "\n");
    }
}
