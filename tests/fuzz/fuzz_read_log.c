/* fuzz_read_log.c - lines taken apart and put together to records. */
#include <string.h>
#include <unistd.h>

#include "analyzer/read/read_log.h"
#include "analyzer/read/read_time.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_laws.h"

/* The message of a line is the end of that line; nothing is lost behind it. */
static void law_of_a_line(const char *line, size_t n)
{
    struct log_line parts;
    log_line_parse(line, n, &parts);
    FUZZ_LAW(parts.text >= line && parts.text + parts.length == line + n, "a message elsewhere");
    FUZZ_LAW(parts.logger_length == 0 ||
                 (parts.logger >= line && parts.logger + parts.logger_length <= line + n),
             "a logger elsewhere");
    FUZZ_LAW(parts.side < SIDES && parts.level <= LEVEL_ERROR, "no such side or level");
    (void)log_line_is_continued(line, n);
}

static void law_of_times(const char *text, size_t n)
{
    int64_t wall_ms = 0;
    size_t used = read_time(text, n, &wall_ms);
    FUZZ_LAW(used <= n, "a time longer than the text");
    FUZZ_LAW(wall_ms > -86400000 && wall_ms < 32503766400000 + 86400000, "a time out of range");
}

FUZZ_TARGET(read_log)
{
    for (size_t at = 0; at < n;) {
        const uint8_t *end = memchr(data + at, '\n', n - at);
        size_t length = end == NULL ? n - at : (size_t)(end - (data + at));
        law_of_a_line((const char *)data + at, length);
        law_of_times((const char *)data + at, length);
        at += length + 1;
    }
    struct read_laws laws;
    struct read_visitor visitor = read_laws_visitor(&laws);
    struct read_out out;
    struct input in;
    struct err err = {0};
    int fd = read_laws_fd(data, n);
    if (read_out_init(&out, &visitor, &err) && input_open(&in, fd, "fuzz.log", &out, &err)) {
        struct log_taker taker = log_to_document(&out);
        read_out_begin(&out, "fuzz", system_from_words((const char *)data, n));
        bool is_fine = log_read(&in, SIDE_UNKNOWN, &taker, &err);
        read_out_end(&out);
        read_laws_check(&laws, &out.report, is_fine, &err);
        input_close(&in);
    }
    read_out_fini(&out);
    (void)close(fd);
    return 0;
}
