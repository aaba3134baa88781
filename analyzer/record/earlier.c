/* earlier.c - see earlier.h. */
#include "analyzer/record/earlier.h"

#include <string.h>

#include "collector/qemu_log.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* QEMU's "2026-01-31T10:00:05.465821Z " begins here. */
static int64_t stamp_at(const char *text)
{
    enum { STAMP_BYTES = sizeof "2026-01-31T10:00:05.465821Z" - 1 };
    bool may = is_digit(text[0]) && strnlen(text, STAMP_BYTES) == STAMP_BYTES && text[10] == 'T' &&
               text[STAMP_BYTES - 1] == 'Z';
    return may ? qemu_log_time(text, STAMP_BYTES) : 0;
}

/* Where the next stamped line begins, or the end of the text. */
static const char *next_stamp(const char *at)
{
    while (*at != '\0' && stamp_at(at) == 0)
        at++;
    return at;
}

bool earlier_lines_drop(const char *text, int64_t since_ms, char *out, size_t size)
{
    bool dropped = false;
    for (const char *at = next_stamp(text); *at != '\0' && !dropped; at = next_stamp(at + 1))
        dropped = stamp_at(at) < since_ms;
    if (!dropped)
        return false;
    size_t used = 0;
    for (const char *at = text, *end; *at != '\0'; at = end) {
        int64_t at_ms = stamp_at(at);
        end = next_stamp(at + 1);
        size_t n = (size_t)(end - at);
        if (at_ms != 0 && at_ms < since_ms)
            continue;
        if (n > size - 1 - used)
            n = size - 1 - used;
        memcpy(out + used, at, n);
        used += n;
    }
    out[used] = '\0';
    return true;
}
