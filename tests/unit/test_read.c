/* test_read.c - evidence of any kind, hostile bytes included, ends in documents or in an error that
 * says what and where; what is handed on is bounded. The kinds themselves: test_read_golden.c. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "tests/unit/read_transcript.h"

static void assert_has(const struct transcript *t, const char *text)
{
    if (strstr(t->text.data, text) == NULL)
        print_message("no '%s' in\n%.4000s\n%s\n", text, t->text.data, t->err.text);
    assert_non_null(strstr(t->text.data, text));
}

static unsigned count(const struct transcript *t, const char *text)
{
    unsigned n = 0;
    for (const char *at = t->text.data; (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

static void unreadable_formats_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *said;
    } stories[] = {
#define STORY(bytes, said) {bytes, sizeof(bytes) - 1, said}
        STORY("", "x: it contains nothing about a migration"),
        STORY(" \r\n\t\n", "x: it contains nothing about a migration"),
        STORY("\x1f\x8b\x08\0\0\0", "x: gzip is not read; try: zcat"),
        STORY("\xfd"
              "7zXZ\0",
              "x: xz is not read"),
        STORY("\x28\xb5\x2f\xfd\x24", "x: zstd is not read"),
        STORY("PK\x03\x04", "x: zip is not read"),
        STORY("\xff\xfe{\0", "x: UTF-16 is not read; try: iconv"),
        STORY("{\n \"id\": \"a\",\n \"messages\": [\"a\" \"b\"]\n}",
              "x: line 3 column 19: expected ',' or ']'"),
        STORY("{\n \"id\": \"a\",\n \"id\": \"b\"\n}", "x: line 3 column 2: duplicate key"),
        STORY("{\n \"id\": \"a\",\n", "x: line 3 column 1: the text ends too early"),
        STORY("{\"id\": \"a\"", "x: line 1 column 11: the text ends too early"),
        STORY("{\"id\": \"\xff\"}", "x: line 1 column 9: not UTF-8"),
        STORY("[\n{\"id\": \"a\"}\n{\"id\": \"b\"}\n]", "x: line 3 column 1: expected ',' or ']'"),
        STORY("[{\"id\": \"a\"},", "x: line 1 column 14: the text ends too early"),
        STORY("{\n\"kind\": \"PodList\", \"apiVersion\": \"v1\",\n\"items\": [\n{\"a\": "
              "1},\n{\"b\" 1}\n]}",
              "x: line 5 column 6: expected ':' after the key"),
        STORY("{\n\"kind\": \"PodList\", \"apiVersion\": \"v1\",\n\"items\": [\n",
              "x: line 4 column 1: "),
        STORY("{\"a\"\n{\"b\"\n", "x: line 2 column 1: expected ':' after the key"),
        STORY("apiVersion: v1\nkind: [\n", "x (object at line 1):"),
#undef STORY
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct transcript t;
        transcript_of_bytes(stories[i].bytes, stories[i].n, "x", &t);
        if (t.is_fine || strncmp(t.err.text, stories[i].said, strlen(stories[i].said)) != 0)
            print_message("story %zu: '%s', not '%s'\n", i, t.err.text, stories[i].said);
        assert_false(t.is_fine);
        assert_int_equal(strncmp(t.err.text, stories[i].said, strlen(stories[i].said)), 0);
        assert_int_equal(t.open, 0);
        transcript_fini(&t);
    }
}

static void values_before_a_broken_one_are_passed_on(void **state)
{
    (void)state;
    struct transcript t;
    TRANSCRIPT_OF("{\n\"id\": \"a\", \"messages\": [\"m\"]\n}\n{\n\"id\": x\n}\n", "x", &t);
    assert_false(t.is_fine);
    assert_string_equal(t.err.text, "x: line 5 column 7: not a JSON value");
    assert_string_equal(t.text.data, "begin a ()\n? - message 1: m\nend\n");
    assert_int_equal(t.report.documents, 1);
    transcript_fini(&t);
}

static void a_bad_line_of_json_costs_only_itself(void **state)
{
    (void)state;
    struct transcript t;
    TRANSCRIPT_OF("{\"id\":\"a\"}\n"
                  "{\"id\":\"b\", \"facts\": {\"x\": [}\n"
                  "not json at all\n"
                  "{\"id\":\"c\"}}\n"
                  "[1, 2\n"
                  "\n"
                  "{\"id\":\"d\"} {\"id\":\"e\"}\n"
                  "{\"id\":\"f\"",
                  "x", &t);
    assert_true(t.is_fine);
    assert_int_equal(t.report.problems, 5);
    assert_has(&t, "begin a ()");
    assert_has(&t, "problem x: line 2 column 28: not a JSON value");
    assert_has(&t, "problem x: line 3 column 1: not a JSON value");
    assert_has(&t, "begin c ()");
    assert_has(&t, "problem x: line 4 column 11: not a JSON value");
    assert_has(&t, "problem x: line 5 column 6: the text ends too early");
    assert_has(&t, "begin d ()");
    assert_has(&t, "begin e ()");
    assert_has(&t, "problem x: line 8 column 10: the text ends too early");
    transcript_fini(&t);
}

static void problems_are_reported_up_to_a_bound_and_counted_beyond(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_add(&text, "{\"id\":\"a\"}\n");
    for (int i = 0; i < READ_PROBLEMS_MAX + 50; i++)
        buf_add(&text, "{\n");
    struct transcript t;
    transcript_of_bytes(text.data, text.length, "x", &t);
    assert_true(t.is_fine);
    assert_int_equal(t.report.problems, READ_PROBLEMS_MAX + 50);
    assert_int_equal(count(&t, "problem "), READ_PROBLEMS_MAX);
    transcript_fini(&t);
    buf_fini(&text);
}

static void nesting_has_a_bound(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 22);
    buf_add(&text, "{\"facts\": ");
    for (int i = 0; i < 1000000; i++)
        buf_add(&text, "[");
    struct transcript t;
    transcript_of_bytes(text.data, text.length, "x", &t);
    assert_false(t.is_fine);
    assert_non_null(strstr(t.err.text, "nested too deep"));
    transcript_fini(&t);
    buf_fini(&text);
}

static void a_value_has_a_bound(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, (size_t)READ_VALUE_MAX * 2);
    buf_add(&text, "{\"id\":\"large\", \"messages\": [\"");
    while (text.length < READ_VALUE_MAX + 100)
        buf_add(&text, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    buf_add(&text, "\"]}\n{\"id\":\"small\"}\n");
    struct transcript t;
    transcript_of_bytes(text.data, text.length, "x", &t);
    assert_true(t.is_fine);
    assert_has(&t, "problem x: line 1 column 1: a value of more than 16 MiB");
    assert_has(&t, "begin small ()");
    transcript_fini(&t);
    buf_fini(&text);
}

/* The first and the last words of it are what tells. */
static void a_long_line_keeps_its_ends(void **state)
{
    (void)state;
    static const size_t lengths[] = {EVIDENCE_TEXT_MAX - 1, EVIDENCE_TEXT_MAX,
                                     EVIDENCE_TEXT_MAX + 1, READ_LINE_MAX,
                                     READ_LINE_MAX + 70000, 10 * 1024 * 1024};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct buf text;
        buf_init(&text, 1 << 24);
        buf_add(&text, "before\nfirst words ");
        while (text.length < lengths[i] - 11 + 7)
            buf_add(&text, "y");
        buf_add(&text, " last words\nafter\n");
        struct transcript t;
        transcript_of_bytes(text.data, text.length, "x.log", &t);
        bool is_cut = lengths[i] > EVIDENCE_TEXT_MAX;
        assert_true(t.is_fine);
        assert_has(&t, "x.log:1: before\n");
        assert_has(&t, "x.log:2: first words y");
        assert_has(&t, "y last words\n");
        assert_has(&t, "x.log:3: after\n");
        assert_int_equal(t.report.cut > 0, is_cut);
        assert_int_equal(count(&t, " [... cut ...] "), is_cut ? 1 : 0);
        assert_true(t.longest <= EVIDENCE_TEXT_MAX);
        assert_int_equal(t.report.messages, 3);
        transcript_fini(&t);
        buf_fini(&text);
    }
}

/* A message that comes whole, not as a line. */
static void a_long_message_keeps_its_ends_too(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, (size_t)EVIDENCE_TEXT_MAX * 4);
    buf_add(&text, "{\"id\":\"a\",\"messages\":[\"first words ");
    while (text.length < 2 * EVIDENCE_TEXT_MAX)
        buf_add(&text, "y");
    buf_add(&text, " last words\"]}\n");
    struct transcript t;
    transcript_of_bytes(text.data, text.length, "x", &t);
    assert_true(t.is_fine);
    assert_has(&t, "first words y");
    assert_has(&t, "y [... cut ...] y");
    assert_has(&t, "y last words\n");
    assert_int_equal(t.longest, EVIDENCE_TEXT_MAX);
    transcript_fini(&t);
    buf_fini(&text);
}

static void any_byte_passes(void **state)
{
    (void)state;
    char bytes[256 * 4 + 1];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    bytes[0] = 'x';
    struct transcript t;
    transcript_of_bytes(bytes, sizeof bytes, "x", &t);
    assert_true(t.is_fine);
    assert_int_equal(t.report.documents, 1);
    assert_has(&t, "\\x00");
    assert_has(&t, "\\xff");
    transcript_fini(&t);
}

static void a_mark_of_utf8_and_carriage_returns_are_no_text(void **state)
{
    (void)state;
    struct transcript t;
    TRANSCRIPT_OF("\xEF\xBB\xBF{\"id\":\"a\",\"messages\":[\"m\"]}\r\n", "x", &t);
    assert_string_equal(t.text.data, "begin a ()\n? - message 1: m\nend\n");
    transcript_fini(&t);
    TRANSCRIPT_OF("\xEF\xBB\xBFone\r\ntwo", "x", &t);
    assert_string_equal(t.text.data, "begin x ()\n? - x:1: one\n? - x:2: two\nend\n");
    transcript_fini(&t);
}

static void the_first_line_may_be_the_broken_one(void **state)
{
    (void)state;
    struct transcript t;
    TRANSCRIPT_OF("{\"id\":\"a\", \"messages\": [\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n", "x", &t);
    assert_true(t.is_fine);
    assert_string_equal(t.text.data, "problem x: line 1 column 25: the text ends too early\n"
                                     "begin b ()\nend\nbegin c ()\nend\n");
    transcript_fini(&t);
    TRANSCRIPT_OF("{\"id\":\"a\"\n{\"id\":\"b\"\n{\"id\":\"c\"}\n", "x", &t);
    assert_false(t.is_fine); /* two broken lines are a broken document */
    transcript_fini(&t);
}

static void a_list_is_one_document_wherever_its_lines_end(void **state)
{
    (void)state;
    struct transcript t;
    TRANSCRIPT_OF(
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{}},\n"
        "{\"metadata\":{\"name\":\"a\"},\"status\":{\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"False\",\"reason\":\"KubeletNotReady\",\"message\":\"down\"}]}}\n]}",
        "x", &t);
    assert_true(t.is_fine);
    assert_int_equal(t.report.problems, 0);
    assert_has(&t, "condition Ready of Node a (x): KubeletNotReady: down\n");
    transcript_fini(&t);
}

static void a_broken_object_of_a_list_in_yaml_costs_only_itself(void **state)
{
    (void)state;
#define NODE(name)                                                                \
    "- kind: Node\n  metadata:\n    name: " name "\n  status:\n    conditions:\n" \
    "    - {type: Ready, status: \"False\", message: down}\n"
    struct transcript t;
    TRANSCRIPT_OF("apiVersion: v1\nitems:\n" NODE("a") "- kind: [\n" NODE("b") "kind: List\n", "x",
                  &t);
    assert_true(t.is_fine);
    assert_int_equal(t.report.problems, 1);
    assert_has(&t, "problem x (object at line 9):");
    assert_has(&t, "Node a (x): down\n");
    assert_has(&t, "Node b (x): down\n");
    transcript_fini(&t);
#undef NODE
}

static void blanks_without_end_are_no_end(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 200000; i++)
        buf_add(&text, "\n");
    buf_add(&text, "the end\n");
    struct transcript t;
    transcript_of_bytes(text.data, text.length, "x", &t);
    assert_true(t.is_fine);
    assert_has(&t, "? - x:200001: the end\n");
    transcript_fini(&t);
    buf_fini(&text);
}

static void keys_of_facts_are_bounded(void **state)
{
    (void)state;
#define TEN "0123456789"
#define KEY TEN TEN TEN TEN TEN TEN TEN
    struct transcript t;
    TRANSCRIPT_OF("{\"" KEY "\": 1, \"b\": {\"" KEY "\": 2}}\n"
                  "{\"facts\": {\"" KEY "\": {\"" KEY "\": 3}}}\n",
                  "x", &t);
    assert_true(t.is_fine);
    assert_has(&t, "fact " TEN TEN TEN TEN TEN TEN "012=1\n");
    assert_has(&t, "fact b." TEN TEN TEN TEN TEN TEN "0=2\n");
    assert_has(&t, "fact " TEN TEN TEN TEN TEN TEN "012=3\n");
    transcript_fini(&t);
#undef KEY
#undef TEN
}

static void text_in_brackets_is_text(void **state)
{
    (void)state;
    struct transcript t;
    TRANSCRIPT_OF("[2024-01-02 03:04:05] migration failed\n{guest} gone\n", "x", &t);
    assert_true(t.is_fine);
    assert_has(&t, "migration failed\n");
    assert_has(&t, "{guest} gone\n");
    transcript_fini(&t);
}

static void objects_may_follow_each_other(void **state)
{
    (void)state;
    struct transcript t;
    TRANSCRIPT_OF(
        "{\n\"kind\":\"VirtualMachineInstanceMigration\",\"apiVersion\":\"kubevirt.io/v1\","
        "\"metadata\":{\"name\":\"m\",\"namespace\":\"n\",\"uid\":\"1\"},"
        "\"spec\":{\"vmiName\":\"g\"},\"status\":{\"phase\":\"Running\"}}\n"
        "{\"kind\":\"EventList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{},"
        "\"reason\":\"FailedMigration\",\"message\":\"why\",\"involvedObject\":"
        "{\"kind\":\"VirtualMachineInstance\",\"namespace\":\"n\",\"name\":\"g\"}}]}",
        "x", &t);
    assert_true(t.is_fine);
    assert_string_equal(t.text.data,
                        "begin n/m (kubevirt)\nfact system=kubevirt\nfact phase=Running\n"
                        "manager - event of VirtualMachineInstance g: "
                        "FailedMigration: why\nend\n");
    transcript_fini(&t);
}

static void a_guest_that_migrated_twice_has_two_documents(void **state)
{
    (void)state;
#define MOVE(name, uid, day)                                                                 \
    "{\"kind\":\"VirtualMachineInstanceMigration\",\"apiVersion\":\"kubevirt.io/v1\","       \
    "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"" uid                 \
    "\",\"creationTimestamp\":\"2024-01-0" day "T10:00:00Z\"},\"spec\":{\"vmiName\":\"g\"}," \
    "\"status\":{\"phase\":\"Failed\",\"phaseTransitionTimestamps\":[{\"phase\":\"Failed\"," \
    "\"phaseTransitionTimestamp\":\"2024-01-0" day "T10:05:00Z\"}]}}\n"
#define EVENT(text, day)                                                            \
    "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{},\"message\":\"" text \
    "\",\"lastTimestamp\":\"2024-01-0" day "T10:04:00Z\",\"involvedObject\":"       \
    "{\"kind\":\"VirtualMachineInstance\",\"namespace\":\"n\",\"name\":\"g\"}}\n"
    struct transcript t;
    TRANSCRIPT_OF(EVENT("first", "1") MOVE("a", "1", "1") MOVE("b", "2", "2") EVENT("second", "2"),
                  "x", &t);
    assert_true(t.is_fine);
    assert_int_equal(t.report.documents, 2);
    const char *b = strstr(t.text.data, "begin n/b");
    const char *first = strstr(t.text.data, ": first"), *second = strstr(t.text.data, ": second");
    assert_true(b != NULL && first != NULL && second != NULL);
    assert_true(first < b && second > b);
    assert_int_equal(count(&t, ": first"), 1);
    assert_int_equal(count(&t, ": second"), 1);
    transcript_fini(&t);
#undef MOVE
#undef EVENT
}

/* Deleting a migration that runs is asking it to stop; clearing one that ended is not. */
static void a_deleted_migration_was_aborted_only_if_it_still_ran(void **state)
{
    (void)state;
#define DELETED(phases)                                                                \
    "{\"kind\":\"VirtualMachineInstanceMigration\",\"apiVersion\":\"kubevirt.io/v1\"," \
    "\"metadata\":{\"name\":\"m\",\"namespace\":\"n\",\"uid\":\"1\","                  \
    "\"deletionTimestamp\":\"2024-01-01T10:00:00Z\"},\"status\":{" phases "}}"
    struct transcript t;
    TRANSCRIPT_OF(DELETED("\"phase\":\"Running\""), "x", &t);
    assert_has(&t, "fact abort_requested=true\n");
    transcript_fini(&t);
    TRANSCRIPT_OF(DELETED("\"phase\":\"Failed\",\"phaseTransitionTimestamps\":[{\"phase\":"
                          "\"Failed\",\"phaseTransitionTimestamp\":\"2024-01-01T10:00:05Z\"}]"),
                  "x", &t);
    assert_has(&t, "fact abort_requested=true\n");
    transcript_fini(&t);
    TRANSCRIPT_OF(DELETED("\"phase\":\"Failed\",\"phaseTransitionTimestamps\":[{\"phase\":"
                          "\"Failed\",\"phaseTransitionTimestamp\":\"2024-01-01T09:00:05Z\"}]"),
                  "x", &t);
    assert_int_equal(count(&t, "abort_requested"), 0);
    transcript_fini(&t);
#undef DELETED
}

static void paths_that_are_not_there_say_so(void **state)
{
    (void)state;
    struct transcript t;
    transcript_of_path("/nonexistent/evidence", &t);
    assert_false(t.is_fine);
    assert_int_equal(t.err.code, ERR_NOT_FOUND);
    transcript_fini(&t);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_folder_is_read_without_its_links(void **state)
{
    (void)state;
    char dir[] = "/tmp/ferry-read-XXXXXX", link_path[64], command[64];
    assert_non_null(mkdtemp(dir));
    write_file(dir, "b.log", "from b\n");
    write_file(dir, "a-target.log", "from a\n");
    write_file(dir, "packed.gz", "\x1f\x8b\x08");
    write_file(dir, ".hidden", "hidden\n");
    (void)snprintf(link_path, sizeof link_path, "%s/outside", dir);
    assert_int_equal(symlink("/etc/passwd", link_path), 0);
    (void)snprintf(link_path, sizeof link_path, "%s/loop", dir);
    assert_int_equal(symlink(dir, link_path), 0);
    struct transcript t;
    transcript_of_path(dir, &t);
    assert_true(t.is_fine);
    assert_int_equal(t.report.documents, 1);
    assert_int_equal(t.report.files, 3);
    assert_int_equal(count(&t, "root:"), 0);
    assert_int_equal(count(&t, "hidden"), 0);
    assert_has(&t, "problem packed.gz: gzip is not read");
    assert_has(&t, "target - a-target.log:1: from a\n? - b.log:1: from b\n");
    transcript_fini(&t);
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void an_empty_folder_is_an_error(void **state)
{
    (void)state;
    char dir[] = "/tmp/ferry-read-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct transcript t;
    transcript_of_path(dir, &t);
    assert_false(t.is_fine);
    transcript_fini(&t);
    assert_int_equal(rmdir(dir), 0);
}

/* Nobody wants the document: it is read, and nothing is handed on. */
static const struct evidence_sink *refuse(void *ctx, const struct read_case *of)
{
    (void)of;
    ++*(unsigned *)ctx;
    return NULL;
}

static void fail_on_end(void *ctx)
{
    (void)ctx;
    fail();
}

static void an_unwanted_document_is_skipped(void **state)
{
    (void)state;
    unsigned begun = 0;
    struct read_visitor visitor = {.ctx = &begun, .begin = refuse, .end = fail_on_end};
    struct read_report report;
    struct err err = {0};
    assert_true(read_evidence_path("tests/evidence/documents.jsonl", &visitor, &report, &err));
    assert_int_equal(begun, 4);
}

TEST_FILE(test_read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unreadable_formats_are_named),
        cmocka_unit_test(values_before_a_broken_one_are_passed_on),
        cmocka_unit_test(a_bad_line_of_json_costs_only_itself),
        cmocka_unit_test(problems_are_reported_up_to_a_bound_and_counted_beyond),
        cmocka_unit_test(nesting_has_a_bound),
        cmocka_unit_test(a_value_has_a_bound),
        cmocka_unit_test(a_long_line_keeps_its_ends),
        cmocka_unit_test(a_long_message_keeps_its_ends_too),
        cmocka_unit_test(any_byte_passes),
        cmocka_unit_test(a_mark_of_utf8_and_carriage_returns_are_no_text),
        cmocka_unit_test(the_first_line_may_be_the_broken_one),
        cmocka_unit_test(a_list_is_one_document_wherever_its_lines_end),
        cmocka_unit_test(a_broken_object_of_a_list_in_yaml_costs_only_itself),
        cmocka_unit_test(blanks_without_end_are_no_end),
        cmocka_unit_test(keys_of_facts_are_bounded),
        cmocka_unit_test(text_in_brackets_is_text),
        cmocka_unit_test(objects_may_follow_each_other),
        cmocka_unit_test(a_guest_that_migrated_twice_has_two_documents),
        cmocka_unit_test(a_deleted_migration_was_aborted_only_if_it_still_ran),
        cmocka_unit_test(paths_that_are_not_there_say_so),
        cmocka_unit_test(a_folder_is_read_without_its_links),
        cmocka_unit_test(an_empty_folder_is_an_error),
        cmocka_unit_test(an_unwanted_document_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
