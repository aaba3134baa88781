/* test_cli_terminal.c - what reaches a terminal and what reaches a pipe: text written by others,
 * widths. */
#include "tests/test.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"

#define ESC "\033[31m"
#define C1 "\xC2\x9B"
#define LONE_C1 "\x9B"
#define BIDI "\xE2\x80\xAE"
#define HOSTILE "a" ESC "b" C1 "c" LONE_C1 "d" BIDI "e\xC3\x9F"

static void print_it(bool json)
{
    struct buf text;
    if (json) {
        OWNED(json_object) value = json_object_new_string(HOSTILE);
        assert_int_equal(cli_print_json(value), 0);
        return;
    }
    buf_init(&text, 1000);
    buf_add(&text, HOSTILE "\tx\n");
    assert_int_equal(cli_print_data(&text), 0);
}

/* What arrives at the other end of standard output. */
static void printed_to(bool terminal, bool json, char *out, size_t bytes)
{
    int ends[2], kept = dup(STDOUT_FILENO);
    assert_int_equal(terminal ? openpty(&ends[0], &ends[1], NULL, NULL, NULL) : pipe(ends), 0);
    assert_true(dup2(ends[1], STDOUT_FILENO) >= 0);
    print_it(json);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    ssize_t n = read(ends[0], out, bytes - 1);
    assert_true(n > 0);
    out[n] = '\0';
    (void)close(kept), (void)close(ends[0]), (void)close(ends[1]);
}

static void a_terminal_gets_nothing_that_it_would_obey(void **state)
{
    (void)state;
    char out[200];
    printed_to(true, false, out, sizeof out);
    assert_string_equal(out, "a?[31mb?c?d?e\xC3\x9F\tx\r\n");
    printed_to(true, true, out, sizeof out);
    assert_string_equal(out, "\"a\\u001b[31mb\\u009bc\\u009bd\\u202ee\xC3\x9F\"\r\n");
}

static void a_pipe_gets_every_byte(void **state)
{
    (void)state;
    char out[200];
    printed_to(false, false, out, sizeof out);
    assert_string_equal(out, HOSTILE "\tx\n");
    printed_to(false, true, out, sizeof out);
    assert_non_null(strstr(out, BIDI));
}

static void tables_are_cut_for_a_terminal_or_by_columns_only(void **state)
{
    (void)state;
    int ends[2], kept = dup(STDOUT_FILENO);
    struct winsize size = {.ws_col = 90, .ws_row = 20};
    assert_int_equal(unsetenv("COLUMNS"), 0);
    assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, &size), 0);
    assert_true(dup2(ends[1], STDOUT_FILENO) >= 0);
    size_t seen[3] = {cli_table_width(OUTPUT_TABLE), cli_table_width(OUTPUT_WIDE)};
    assert_int_equal(setenv("COLUMNS", "70", 1), 0);
    seen[2] = cli_table_width(OUTPUT_TABLE);
    int null = open("/dev/null", O_WRONLY);
    assert_true(dup2(null, STDOUT_FILENO) >= 0);
    size_t piped[2] = {cli_table_width(OUTPUT_TABLE)};
    assert_int_equal(unsetenv("COLUMNS"), 0);
    piped[1] = cli_table_width(OUTPUT_TABLE);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    (void)close(kept), (void)close(null), (void)close(ends[0]), (void)close(ends[1]);
    assert_int_equal(seen[0], 90);
    assert_int_equal(seen[1], 0);
    assert_int_equal(seen[2], 70);
    assert_int_equal(piped[0], 70);
    assert_int_equal(piped[1], 0);
}

static void a_long_cell_is_whole_where_nothing_is_cut(void **state)
{
    (void)state;
    static const char *const titles[] = {"A"};
    char cell[2 * TABLE_CELL_MAX];
    struct table table;
    struct buf out;
    memset(cell, 'x', sizeof cell - 1);
    cell[sizeof cell - 1] = '\0';
    table_init(&table, titles, 1);
    table_add_row(&table);
    table_set(&table, 0, cell);
    buf_init(&out, 10000);
    assert_true(table_render(&table, 0, false, &out));
    assert_non_null(strstr(out.data, cell));
    buf_fini(&out);
    table_fini(&table);
}

TEST_FILE(test_cli_terminal)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_gets_nothing_that_it_would_obey),
        cmocka_unit_test(a_pipe_gets_every_byte),
        cmocka_unit_test(tables_are_cut_for_a_terminal_or_by_columns_only),
        cmocka_unit_test(a_long_cell_is_whole_where_nothing_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
