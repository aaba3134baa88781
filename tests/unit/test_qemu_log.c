/* test_qemu_log.c - what is taken from a guest's QEMU log, and from what never. */
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/qemu_log.h"

struct seen {
    char text[4096];
    size_t lines;
    int64_t last_ms;
};

static void note(void *ctx, const char *line, size_t length, int64_t at_ms)
{
    struct seen *seen = ctx;
    size_t used = strlen(seen->text);
    (void)snprintf(seen->text + used, sizeof seen->text - used, "%.*s|", (int)length, line);
    seen->lines++;
    seen->last_ms = at_ms;
}

static void times_are_read_in_both_ways_of_writing(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t ms;
    } rows[] = {
        {"2026-01-31T10:00:00.123456Z qemu-system-x86_64: hm", 1769853600123},
        {"2026-01-31 10:00:00.123+0000: shutting down, reason=crashed", 1769853600123},
        {"2026-01-31 12:30:00.123+0230: shutting down", 1769853600123},
        {"2026-01-31 04:30:00-05:30: shutting down", 1769853600000},
        {"2026-01-31T10:00:00Z", 1769853600000},
        {"2026-01-31", 0},
        {"2026-13-31T10:00:00Z", 0},
        {"no time", 0},
        {"", 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(qemu_log_time(rows[i].line, strlen(rows[i].line)), rows[i].ms);
}

static const char log_text[] =
    "2026-01-31 09:00:00.000+0000: shutting down, reason=migrated\n"
    "2026-01-31 10:00:00.000+0000: starting up libvirt version: 9.0.0\n"
    "LC_ALL=C \\\n"
    "/usr/bin/qemu-system-x86_64 \\\n"
    "-incoming defer \\\n"
    "-msg timestamp=on\n"
    "char device redirected to /dev/pts/3\r\n"
    "2026-01-31T10:00:05.000000Z qemu-system-x86_64: load of migration failed: Input/output error\n"
    "\n"
    "  second line of it\n"
    "2026-01-31 10:00:05.500+0000: shutting down, reason=failed";

static void only_lines_since_the_given_time_and_no_command_lines(void **state)
{
    (void)state;
    struct seen seen = {0};
    qemu_log_lines(log_text, strlen(log_text), true, 1769853600000, note, &seen);
    assert_string_equal(seen.text,
                        "char device redirected to /dev/pts/3|"
                        "2026-01-31T10:00:05.000000Z qemu-system-x86_64: load of migration failed: "
                        "Input/output error|  second line of it|"
                        "2026-01-31 10:00:05.500+0000: shutting down, reason=failed|");
    assert_int_equal(seen.last_ms, 1769853605500);
}

/* Seen in the lab: the guest had been destroyed there a second before, under the same name. */
static void an_earlier_process_explains_nothing(void **state)
{
    (void)state;
    static const char text[] = "2026-01-31 10:00:04.700+0000: shutting down, reason=destroyed\n"
                               "2026-01-31 10:00:06.000+0000: starting up libvirt version: 9.0.0\n"
                               "2026-01-31 10:00:19.400+0000: shutting down, reason=crashed\n";
    struct seen seen = {0};
    qemu_log_lines(text, strlen(text), true, 0, note, &seen);
    assert_string_equal(seen.text, "2026-01-31 10:00:19.400+0000: shutting down, reason=crashed|");
}

static void a_cut_first_line_is_left_out(void **state)
{
    (void)state;
    struct seen seen = {0};
    const char text[] = "ration failed\n2026-01-31T10:00:00Z a\n";
    qemu_log_lines(text, strlen(text), false, 0, note, &seen);
    assert_string_equal(seen.text, "2026-01-31T10:00:00Z a|");
}

static void the_newest_lines_stay(void **state)
{
    (void)state;
    struct seen seen = {0};
    OWNED_TEXT text = malloc(QEMU_LOG_LINES_MAX * 4 * 2);
    assert_non_null(text);
    size_t n = 0;
    for (int i = 0; i < QEMU_LOG_LINES_MAX + 7; i++)
        n += (size_t)snprintf(text + n, 8, "%d\n", i % 100);
    qemu_log_lines(text, n, true, 0, note, &seen);
    assert_int_equal(seen.lines, QEMU_LOG_LINES_MAX);
    assert_true(strncmp(seen.text, "7|8|", 4) == 0);
}

/* ---- files ---- */

static int dir_setup(void **state)
{
    char *dir = strdup("/tmp/ferry-qemu-log-XXXXXX");
    *state = dir;
    return dir != NULL && mkdtemp(dir) != NULL ? 0 : -1;
}

static void path_of(const char *dir, const char *name, char out[static 256])
{
    (void)snprintf(out, 256, "%s/%s", dir, name);
}

static int dir_teardown(void **state)
{
    static const char *const names[] = {"g.log", "pipe.log", "link.log", "dir.log"};
    char path[256];
    for (size_t i = 0; i < COUNT(names); i++) {
        path_of(*state, names[i], path);
        (void)remove(path);
    }
    (void)rmdir(*state);
    free(*state);
    return 0;
}

static void write_log(const char *dir, size_t padding)
{
    char path[256];
    path_of(dir, "g.log", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < padding; i++)
        (void)fputs(i % 64 == 63 ? "\n" : "x", file);
    (void)fputs("\n2026-01-31T10:00:00Z a\0b\n", file);
    (void)fclose(file);
}

static void the_end_of_a_long_file_is_read(void **state)
{
    struct seen seen = {0};
    struct err err = {0};
    write_log(*state, 3 * QEMU_LOG_TAIL_MAX);
    assert_true(qemu_log_tail(*state, "g", 1, note, &seen, &err));
    assert_string_equal(seen.text, "2026-01-31T10:00:00Z a|");
}

/* A pipe would block for ever, a link may lead anywhere, a name too. */
static void nothing_but_a_plain_file_is_opened(void **state)
{
    struct seen seen = {0};
    char path[256], other[256];
    write_log(*state, 0);
    path_of(*state, "pipe.log", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    path_of(*state, "g.log", other);
    path_of(*state, "link.log", path);
    assert_int_equal(symlink(other, path), 0);
    path_of(*state, "dir.log", path);
    assert_int_equal(mkdir(path, 0700), 0);
    static const struct {
        const char *guest;
        enum err_code code;
    } rows[] = {{"pipe", ERR_INVALID},  {"link", ERR_IO},  {"dir", ERR_INVALID},
                {"../g", ERR_INVALID},  {"", ERR_INVALID}, {".", ERR_INVALID},
                {"none", ERR_NOT_FOUND}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        assert_false(qemu_log_tail(*state, rows[i].guest, 0, note, &seen, &err));
        if (err.code != rows[i].code)
            fail_msg("%s: %s: %s", rows[i].guest, err_name(err.code), err.text);
    }
    assert_int_equal(seen.lines, 0);
}

TEST_FILE(test_qemu_log)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_in_both_ways_of_writing),
        cmocka_unit_test(only_lines_since_the_given_time_and_no_command_lines),
        cmocka_unit_test(an_earlier_process_explains_nothing),
        cmocka_unit_test(a_cut_first_line_is_left_out),
        cmocka_unit_test(the_newest_lines_stay),
        cmocka_unit_test_setup_teardown(the_end_of_a_long_file_is_read, dir_setup, dir_teardown),
        cmocka_unit_test_setup_teardown(nothing_but_a_plain_file_is_opened, dir_setup,
                                        dir_teardown),
    };
    return cmocka_run_group_tests_name("qemu_log", tests, NULL, NULL);
}
