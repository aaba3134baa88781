/* fuzz_qemu_log.c - the end of a QEMU log. The first byte says whether it is a whole file; lines
 * come out as they stand in it, in their order, not too many, never from before the moment asked
 * for. */
#include <string.h>

#include "collector/qemu_log.h"
#include "tests/fuzz/fuzz.h"

struct seen {
    const char *begin, *end, *last;
    size_t lines;
    int64_t since_ms;
};

static void see_line(void *ctx, const char *line, size_t length, int64_t at_ms)
{
    struct seen *seen = ctx;
    FUZZ_LAW(line >= seen->begin && line + length <= seen->end, "a line from elsewhere");
    FUZZ_LAW(seen->last == NULL || line > seen->last, "lines in another order");
    FUZZ_LAW(length > 0 && memchr(line, '\n', length) == NULL, "no line, or more than one");
    FUZZ_LAW(at_ms >= seen->since_ms, "a line from before");
    seen->last = line;
    seen->lines++;
}

FUZZ_TARGET(qemu_log)
{
    if (n == 0)
        return 0;
    const char *text = (const char *)data + 1;
    struct seen all = {.begin = text, .end = text + n - 1};
    struct seen late = {.begin = text, .end = text + n - 1, .since_ms = 1769853600000};
    qemu_log_lines(text, n - 1, (data[0] & 1) != 0, 0, see_line, &all);
    qemu_log_lines(text, n - 1, (data[0] & 1) != 0, late.since_ms, see_line, &late);
    FUZZ_LAW(all.lines <= QEMU_LOG_LINES_MAX && late.lines <= all.lines, "too many lines");
    return 0;
}
