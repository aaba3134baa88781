/* test_log.c - a log line is one line: whatever bytes a host sends, text stays printable and
 * quoted, JSON stays JSON. */
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/own.h"

static char output[65536];

/* Sends the log to a pipe, writes one line about text, and reads it back. */
static void log_one(enum log_format format, const char *text)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log_setup(LOG_LEVEL_INFO, format, ends[1]);
    LOG(WARN, "story", FIELD_TEXT(TEXT, text), FIELD_I64(COUNT, -5));
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    (void)close(ends[1]);
    ssize_t n = read(ends[0], output, sizeof output - 1);
    (void)close(ends[0]);
    output[n > 0 ? n : 0] = '\0';
}

static void text_lines_quote_what_is_not_a_word(void **state)
{
    (void)state;
    static const struct {
        const char *value, *written;
    } stories[] = {
        {"web-1", " text=web-1 count=-5\n"},
        {"two words", " text=\"two words\" count=-5\n"},
        {"", " text=\"\" count=-5\n"},
        {NULL, " text=\"\" count=-5\n"},
        {"a=b", " text=\"a=b\" count=-5\n"},
        {"a\nb\t\"c\"\\", " text=\"a\\nb\\t\\\"c\\\"\\\\\" count=-5\n"},
        {"\x1b[31mred", " text=\"\\u001b[31mred\" count=-5\n"},
        {"\xff\xfe", " text=\"\\xff\\xfe\" count=-5\n"},
        {"\xc2\x85\xc2\x9b", " text=\"\\u0085\\u009b\" count=-5\n"},
        {"Gr\u00fc\u00dfe", " text=\"Gr\u00fc\u00dfe\" count=-5\n"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        log_one(LOG_FORMAT_TEXT, stories[i].value);
        const char *rest = strstr(output, " warn story");
        assert_non_null(rest);
        assert_string_equal(rest + strlen(" warn story"), stories[i].written);
    }
}

/* A law over every byte: one line, no control byte, and JSON reads back what was said. */
static void no_byte_breaks_a_line(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        char value[] = {'a', (char)c, 'z', '\0'};
        for (enum log_format format = LOG_FORMAT_TEXT; format <= LOG_FORMAT_JSON; format++) {
            log_one(format, value);
            size_t length = strlen(output);
            assert_true(length > 0 && output[length - 1] == '\n');
            for (size_t i = 0; i + 1 < length; i++)
                assert_true((unsigned char)output[i] >= 0x20 && output[i] != 0x7F);
        }
        struct err err = {0};
        OWNED(json_object) line = json_parse(output, strlen(output), "log", &err);
        assert_non_null(line);
        const char *read = NULL;
        assert_true(json_get_text(line, "text", NULL, &read, &err));
        assert_string_equal(read, c < 0x80 ? value : "a\uFFFDz");
    }
}

static void json_lines_carry_time_level_event_and_typed_fields(void **state)
{
    (void)state;
    log_one(LOG_FORMAT_JSON, "x");
    struct err err = {0};
    OWNED(json_object) line = json_parse(output, strlen(output), "log", &err);
    assert_non_null(line);
    const char *text = NULL;
    int64_t count = 0;
    assert_true(json_get_text(line, "level", NULL, &text, &err));
    assert_string_equal(text, "warn");
    assert_true(json_get_text(line, "event", NULL, &text, &err));
    assert_string_equal(text, "story");
    assert_true(json_get_text(line, "time", NULL, &text, &err));
    assert_int_equal(strlen(text), strlen("2026-11-16T05:07:39.123Z"));
    assert_true(json_get_i64(line, "count", 0, &count, &err));
    assert_int_equal(count, -5);
}

static void long_values_are_cut_and_the_line_stays_whole(void **state)
{
    (void)state;
    static char huge[20000];
    memset(huge, 0x01, sizeof huge - 1); /* each byte becomes six */
    for (enum log_format format = LOG_FORMAT_TEXT; format <= LOG_FORMAT_JSON; format++) {
        log_one(format, huge);
        assert_true(strlen(output) < 4096);
        assert_non_null(strstr(output, "...\""));
        assert_non_null(strstr(output, format == LOG_FORMAT_JSON ? "\"count\":-5}" : "count=-5"));
    }
    struct err err = {0};
    OWNED(json_object) line = json_parse(output, strlen(output), "log", &err);
    assert_non_null(line);
}

static void too_many_long_fields_are_dropped_not_overrun(void **state)
{
    (void)state;
    static char huge[4000];
    memset(huge, 'x', sizeof huge - 1);
    struct log_field fields[40];
    for (size_t i = 0; i < COUNT(fields); i++)
        fields[i] = FIELD_TEXT(TEXT, huge);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, ends[1]);
    log_line(LOG_LEVEL_INFO, huge, fields, COUNT(fields));
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    (void)close(ends[1]);
    ssize_t n = read(ends[0], output, sizeof output - 1);
    (void)close(ends[0]);
    assert_in_range(n, 4000, 16384);
    output[n] = '\0';
    assert_string_equal(output + n - 3, "\"}\n");
}

static void lines_below_the_level_are_not_written(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, ends[1]);
    LOG(WARN, "quiet");
    log_line(LOG_LEVEL_INFO, "quiet", NULL, 0);
    assert_true(read(ends[0], output, sizeof output) < 0);
    LOG(ERROR, "loud");
    assert_true(read(ends[0], output, sizeof output) > 0);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_dead_descriptor_is_ignored_and_errno_is_kept(void **state)
{
    (void)state;
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, -1);
    errno = ENOENT;
    LOG(ERROR, "nowhere");
    assert_int_equal(errno, ENOENT);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
}

static void levels_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"debug", "info", "warn", "error"};
    enum log_level level;
    for (enum log_level i = 0; i < LOG_LEVEL_COUNT; i++) {
        assert_true(log_level_from_name(names[i], &level));
        assert_int_equal(level, i);
    }
    assert_false(log_level_from_name("loud", &level));
}

static void a_stopped_reader_does_not_block_the_logging_thread(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, ends[1]);
    for (int i = 0; i < 20000; i++) /* far more than a pipe holds; nobody reads */
        LOG(INFO, "flood", FIELD_I64(COUNT, i));
    static char page[65536];
    assert_true(read(ends[0], page, sizeof page) > 0);
    LOG(INFO, "after");
    ssize_t n = 0;
    bool told = false;
    while (!told && (n = read(ends[0], page, sizeof page - 1)) > 0) {
        page[n] = '\0';
        told = strstr(page, "log_lines_dropped") != NULL;
    }
    assert_true(told);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void what_a_stopped_journal_did_not_take_is_counted(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JOURNAL, ends[1]);
    for (int i = 0; i < 2000; i++) /* more than its queue holds; nobody reads */
        LOG(INFO, "flood");
    int64_t taken = 0;
    while (read(ends[0], output, sizeof output - 1) > 0)
        taken++;
    LOG(INFO, "after");
    char count[64];
    bool told = false;
    (void)snprintf(count, sizeof count, "FERRY_COUNT=%d\n", (int)(2000 - taken));
    for (ssize_t n; !told && (n = read(ends[0], output, sizeof output - 1)) > 0;) {
        output[n] = '\0';
        told = strstr(output, "FERRY_EVENT=log_lines_dropped\n") != NULL &&
               strstr(output, count) != NULL;
    }
    assert_true(told);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void the_journal_gets_every_field_on_one_line(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JOURNAL, ends[1]);
    LOG(WARN, "story", FIELD_TEXT(NODE, "h1"), FIELD_TEXT(TEXT, "two\nMESSAGE=forged"),
        FIELD_I64(SPENT_MS, -5));
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    ssize_t n = read(ends[0], output, sizeof output - 1);
    output[n > 0 ? n : 0] = '\0';
    assert_string_equal(output, "PRIORITY=4\nSYSLOG_IDENTIFIER=ferry\nFERRY_EVENT=story\n"
                                "FERRY_NODE=h1\nFERRY_TEXT=two\\nMESSAGE=forged\n"
                                "FERRY_SPENT_MS=-5\n"
                                "MESSAGE=story node=h1 text=\"two\\nMESSAGE=forged\" "
                                "spent_ms=-5\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST_FILE(test_log)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_quote_what_is_not_a_word),
        cmocka_unit_test(no_byte_breaks_a_line),
        cmocka_unit_test(json_lines_carry_time_level_event_and_typed_fields),
        cmocka_unit_test(long_values_are_cut_and_the_line_stays_whole),
        cmocka_unit_test(too_many_long_fields_are_dropped_not_overrun),
        cmocka_unit_test(lines_below_the_level_are_not_written),
        cmocka_unit_test(a_dead_descriptor_is_ignored_and_errno_is_kept),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(a_stopped_reader_does_not_block_the_logging_thread),
        cmocka_unit_test(what_a_stopped_journal_did_not_take_is_counted),
        cmocka_unit_test(the_journal_gets_every_field_on_one_line),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
