/* test_read_golden.c - every input of tests/evidence/ gives the transcript that lies beside it in
 * tests/evidence/expected/. UPDATE=1 writes them again. */
#include "tests/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "tests/unit/read_transcript.h"

static char *read_text(const char *path)
{
    struct buf text;
    char block[4096];
    buf_init(&text, 1 << 20);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        buf_add_bytes(&text, block, n);
    (void)fclose(file);
    return buf_take(&text);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void check(const char *name)
{
    char path[512], expected_path[512];
    (void)snprintf(path, sizeof path, "tests/evidence/%.200s", name);
    (void)snprintf(expected_path, sizeof expected_path, "tests/evidence/expected/%.200s.txt", name);
    struct transcript t;
    transcript_of_path(path, &t);
    if (!t.is_fine)
        buf_addf(&t.text, "failed %s\n", t.err.text);
    assert_int_equal(t.open, 0);
    assert_false(t.text.failed);
    if (getenv("UPDATE") != NULL)
        write_text(expected_path, t.text.data);
    OWNED_TEXT expected = read_text(expected_path);
    if (expected == NULL || strcmp(expected, t.text.data) != 0)
        print_message("%s: now\n%s", path, t.text.data);
    assert_non_null(expected);
    assert_string_equal(expected, t.text.data);
    transcript_fini(&t);
}

static void every_kind_of_evidence_is_read_as_written_down(void **state)
{
    (void)state;
    struct dirent **entries = NULL;
    int n = scandir("tests/evidence", &entries, NULL, alphasort);
    int checked = 0;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.' && strcmp(name, "expected") != 0) {
            check(name);
            checked++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(checked > 10);
}

TEST_FILE(test_read_golden)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_evidence_is_read_as_written_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
