/* fold.c - see fold.h. */
#include "cli/common/fold.h"

#include <string.h>

/* Columns of a text: its UTF-8 characters. */
static size_t columns_of(const char *text, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}

/* Indent of continuation lines. */
static size_t indent_of(const char *line, size_t n, size_t width)
{
    enum { LABEL_MAX = 16 };
    size_t blanks = 0;
    while (blanks < n && line[blanks] == ' ')
        blanks++;
    size_t indent = blanks + 2;
    const char *label = memmem(line, n < LABEL_MAX ? n : LABEL_MAX, ":  ", 3);
    if (blanks == 0 && label != NULL)
        for (indent = (size_t)(label - line) + 1; indent < n && line[indent] == ' ';)
            indent++;
    return indent < width / 2 ? indent : width / 2;
}

static void fold_line(const char *line, size_t n, size_t width, struct buf *out)
{
    size_t indent = indent_of(line, n, width), at = 0, column = 0;
    while (at < n) {
        size_t word = at;
        while (word < n && line[word] == ' ')
            word++;
        size_t end = word;
        while (end < n && line[end] != ' ')
            end++;
        size_t needed = (word - at) + columns_of(line + word, end - word);
        if (column > indent && column + needed > width && end > word) {
            buf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
            at = word;
            continue;
        }
        buf_add_bytes(out, line + at, end - at);
        column += needed;
        at = end;
    }
    buf_add(out, "\n");
}

void fold_page(const char *text, size_t width, struct buf *out)
{
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        if (width == 0 || columns_of(text, n) <= width) {
            buf_add_bytes(out, text, n);
            buf_add(out, "\n");
        } else
            fold_line(text, n, width, out);
        text += n + (text[n] == '\n');
    }
}
