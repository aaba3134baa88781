/* text.c - see text.h. */
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64, BUF_FIRST_BYTES = 256 };

/* How far to step back so that a cut at n falls between characters. */
static size_t character_border(const char *text, size_t n)
{
    size_t at = n;
    while (at > 0 && n - at < 4 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return ((unsigned char)text[at] & 0xC0) == 0x80 ? n : at; /* not UTF-8 anyway */
}

bool text_copy(char *out, size_t out_bytes, const char *text)
{
    assert(out_bytes > 0);
    size_t length = text == NULL ? 0 : strlen(text);
    bool fits = length < out_bytes;
    if (!fits)
        length = character_border(text, out_bytes - 1);
    if (length > 0)
        memmove(out, text, length);
    out[length] = '\0';
    return fits;
}

bool text_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

bool text_has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool text_is_dns_label(const char *text)
{
    size_t length = strlen(text);
    if (length < 1 || length > 63)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_lower_alnum(text[i]) && text[i] != '-')
            return false;
    return text[0] != '-' && text[length - 1] != '-';
}

bool text_to_i64(const char *text, int64_t min, int64_t max, int64_t *out_value)
{
    /* strtoll would also take spaces, a plus sign and nothing at all. */
    const char *digits = text + (*text == '-');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno != 0 || value < min || value > max)
        return false;
    *out_value = value;
    return true;
}

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, change, swap two neighbours) from a to b, case ignored. Both are at
 * most WORD_MAX long. */
static size_t edits(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *older = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = folded(a[i - 1]), y = folded(b[j - 1]);
            row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == folded(b[j - 2]) && y == folded(a[i - 2]))
                row[j] = least(row[j], older[j - 2] + 1);
        }
        size_t *spare = older;
        older = above;
        above = row;
        row = spare;
    }
    return above[b_length];
}

const char *text_nearest(const char *word, const char *const *candidates, size_t n)
{
    size_t length = strlen(word);
    if (length > WORD_MAX)
        return NULL;
    const char *nearest = NULL;
    size_t best = length / 3 + 1; /* with more edits it is another word */
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(candidates[i]);
        if (other > WORD_MAX)
            continue;
        size_t distance = edits(word, length, candidates[i], other);
        if (distance < other && (nearest == NULL ? distance <= best : distance < best)) {
            nearest = candidates[i];
            best = distance;
        }
    }
    return nearest;
}

size_t text_utf8_bytes(const char *text)
{
    /* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
    static const struct {
        unsigned char first, last, second_min, second_max;
        size_t bytes;
    } forms[] = {
        {0x01, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].first || at[0] > forms[i].last)
            continue;
        if (forms[i].bytes > 1 && (at[1] < forms[i].second_min || at[1] > forms[i].second_max))
            return 0;
        for (size_t j = 2; j < forms[i].bytes; j++)
            if ((at[j] & 0xC0) != 0x80)
                return 0;
        return forms[i].bytes;
    }
    return 0;
}

size_t text_unsafe_bytes(const char *text, unsigned *out_code)
{
    static const struct {
        unsigned from, to;
    } marks[] = {
        {0x7F, 0x9F}, {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
    const unsigned char *at = (const unsigned char *)text;
    size_t n = text_utf8_bytes(text);
    unsigned code = at[0];
    if (at[0] == '\0')
        return 0;
    if (n == 2)
        code = (at[0] & 0x1FU) << 6 | (at[1] & 0x3FU);
    else if (n == 3)
        code = (at[0] & 0x0FU) << 12 | (at[1] & 0x3FU) << 6 | (at[2] & 0x3FU);
    else if (n == 4)
        return 0;
    bool unsafe = code < ' ';
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        unsafe = unsafe || (code >= marks[i].from && code <= marks[i].to);
    *out_code = code;
    return unsafe ? (n > 0 ? n : 1) : 0;
}

void buf_init(struct buf *buf, size_t limit)
{
    *buf = (struct buf){.limit = limit};
}

void buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.limit = buf->limit};
}

/* Makes room for n more bytes and a terminator, or marks the buffer as failed. */
static bool make_room(struct buf *buf, size_t n)
{
    if (buf->failed)
        return false;
    if (n > buf->limit - buf->length) {
        buf->failed = true;
        return false;
    }
    size_t needed = buf->length + n + 1;
    if (needed <= buf->capacity)
        return true;
    size_t capacity = buf->capacity == 0 ? BUF_FIRST_BYTES : buf->capacity * 2;
    if (capacity < needed)
        capacity = needed;
    char *data = realloc(buf->data, capacity);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void buf_add_bytes(struct buf *buf, const char *bytes, size_t n)
{
    if (!make_room(buf, n))
        return;
    if (n > 0)
        memcpy(buf->data + buf->length, bytes, n);
    buf->length += n;
    buf->data[buf->length] = '\0';
}

void buf_add(struct buf *buf, const char *text)
{
    buf_add_bytes(buf, text, strlen(text));
}

char *buf_room(struct buf *buf, size_t n)
{
    return make_room(buf, n) ? buf->data + buf->length : NULL;
}

void buf_wrote(struct buf *buf, size_t n)
{
    assert(n < buf->capacity - buf->length);
    buf->length += n;
    buf->data[buf->length] = '\0';
}

void buf_addf(struct buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    size_t room = buf->capacity - buf->length;
    int wanted = vsnprintf(room > 0 ? buf->data + buf->length : NULL, room, fmt, args);
    va_end(args);
    if (wanted < 0)
        buf->failed = true;
    else if (make_room(buf, (size_t)wanted)) {
        if ((size_t)wanted >= room) /* the first try was cut */
            (void)vsnprintf(buf->data + buf->length, (size_t)wanted + 1, fmt, again);
        buf->length += (size_t)wanted;
    }
    va_end(again);
    if (buf->data != NULL)
        buf->data[buf->length] = '\0'; /* a refused append leaves the buffer unchanged */
}

char *buf_take(struct buf *buf)
{
    buf_add_bytes(buf, "", 0); /* so that an empty text is "", not NULL */
    char *data = buf->failed ? NULL : buf->data;
    if (buf->failed)
        free(buf->data);
    *buf = (struct buf){.limit = buf->limit};
    return data;
}
