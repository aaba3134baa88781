/* test_cli_explain_file.c - `ferry explain --file` run as a shell would: every kind of evidence
 * gets an answer, what cannot be read is said, pages fit. */
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/own.h"
#include "tests/unit/test_cli_rig.h"

enum { OUT_MAX = 256 * 1024 };

struct answer {
    int status;
    char *out; /* both streams; freed by the caller */
};

/* Runs `ferry explain` with standard input from a file and both streams to one place: a file, so
 * that nobody waits for anybody. */
static struct answer explain(const char *words, const char *input)
{
    char copy[256], *argv[16] = {NULL}, *rest = copy;
    int argc = 0, in = open(input, O_RDONLY | O_CLOEXEC);
    int out = memfd_create("out", MFD_CLOEXEC);
    struct answer answer = {.out = calloc(1, OUT_MAX)};
    assert_true(in >= 0 && out >= 0 && answer.out != NULL);
    TEXT_SET(copy, words);
    for (char *word; argc < 15 && (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    int saved = dup(STDIN_FILENO);
    assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
    answer.status = exit_status(start_child(verb_explain, argc, argv, out, out));
    (void)dup2(saved, STDIN_FILENO);
    assert_true(pread(out, answer.out, OUT_MAX - 1, 0) >= 0);
    (void)close(saved);
    (void)close(in);
    (void)close(out);
    return answer;
}

static void expect(const char *out, const char *words)
{
    if (strstr(out, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, out);
}

static unsigned lines_of(const char *text)
{
    unsigned n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

static void every_kind_of_evidence_gets_a_verdict(void **state)
{
    (void)state;
    static const char *const names[] = {
        "libvirtd.log",     "db-1-birch.log", "db-1-alder.log",    "nova-compute.log", "vdsm.log",
        "proxmox-task.log", "klog.log",       "virt-launcher.log", "journal.txt",      "shell.txt",
        "document.json",    "kubectl.json",   "must-gather",       "must-gather-two",
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        char words[256];
        (void)snprintf(words, sizeof words, "explain --file tests/evidence/%s", names[i]);
        struct answer page = explain(words, "/dev/null");
        assert_int_equal(page.status, EXIT_DONE);
        expect(page.out, "Case:");
        expect(page.out, "Outcome:");
        assert_null(strchr(page.out, '\033')); /* no terminal, no colour and no line that moves */
        free(page.out);
    }
}

/* A log of the target that names what did not fit; a killed launcher; the page and the line agree.
 */
static void a_verdict_names_what_the_evidence_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *cause;
    } stories[] = {
        {"klog.log", "quota-exceeded"},
        {"shell.txt", "block-copy-failed"},
        {"virt-launcher.log", "cpu-incompatible"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        char words[256], cause[96];
        (void)snprintf(words, sizeof words, "explain --file tests/evidence/%s", stories[i].name);
        struct answer page = explain(words, "/dev/null");
        expect(page.out, stories[i].cause);
        (void)snprintf(words, sizeof words, "explain -o json --file tests/evidence/%s",
                       stories[i].name);
        struct answer line = explain(words, "/dev/null");
        (void)snprintf(cause, sizeof cause, "\"cause\":\"%s\"", stories[i].cause);
        expect(line.out, cause);
        assert_int_equal(lines_of(line.out), 1);
        free(page.out);
        free(line.out);
    }
}

static void json_lines_get_a_line_each_with_their_id(void **state)
{
    (void)state;
    struct answer answer = explain("explain --file - -o json", "tests/evidence/documents.jsonl");
    assert_int_equal(answer.status, EXIT_USAGE); /* one line is broken */
    static const char *const parts[] = {"{\"id\":\"F900\",", "{\"id\":\"17\",",
                                        "{\"id\":\"stdin:5\",", "{\"id\":\"stdin:6\","};
    const char *at = answer.out;
    for (size_t i = 0; i < COUNT(parts); i++) {
        expect(at, parts[i]);
        at = strstr(at, parts[i]) + 1;
    }
    expect(answer.out, "ferry: stdin: line 4 column 39: the text ends too early\n");
    assert_int_equal(lines_of(answer.out), COUNT(parts) + 1);
    free(answer.out);
}

static void unreadable_evidence_is_reported_with_a_hint(void **state)
{
    (void)state;
    char path[] = "/tmp/ferry-explain-XXXXXX", words[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)snprintf(words, sizeof words, "explain --file %s", path);
    struct answer empty = explain(words, "/dev/null");
    assert_int_equal(empty.status, EXIT_USAGE);
    expect(empty.out, "it contains nothing about a migration\n");
    expect(empty.out, "docs/explain.md lists the formats\n");
    free(empty.out);
    assert_int_equal(write(fd, "\x1f\x8b\x08", 3), 3);
    (void)close(fd);
    struct answer packed = explain(words, "/dev/null");
    assert_int_equal(packed.status, EXIT_USAGE);
    expect(packed.out, "gzip is not read; try: zcat FILE | ferry explain --file -\n");
    free(packed.out);
    (void)unlink(path);
    struct answer missing = explain(words, "/dev/null");
    assert_int_equal(missing.status, EXIT_FAILED);
    expect(missing.out, "No such file or directory\n");
    free(missing.out);
}

/* Words that cannot be broken may stick out; a sentence may not. */
static void pages_fit_eighty_columns(void **state)
{
    (void)state;
    assert_int_equal(setenv("COLUMNS", "80", 1), 0);
    struct answer answer = explain("explain --file tests/evidence/virt-launcher.log", "/dev/null");
    assert_int_equal(unsetenv("COLUMNS"), 0);
    for (const char *line = answer.out; *line != '\0';) {
        size_t n = strcspn(line, "\n"), indent = strspn(line, " ");
        bool is_one_word = memchr(line + indent, ' ', n - indent) == NULL;
        if (n > 80 && !is_one_word)
            fail_msg("%zu columns: %.*s", n, (int)n, line);
        line += n + (line[n] == '\n');
    }
    free(answer.out);
}

/* Neither a pipe without a writer nor an endless device may hold the command. */
static void what_is_no_file_ends_with_an_error(void **state)
{
    (void)state;
    char path[] = "/tmp/ferry-fifo-XXXXXX", words[80];
    assert_non_null(mkdtemp(path));
    char fifo[40];
    (void)snprintf(fifo, sizeof fifo, "%s/f", path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    (void)snprintf(words, sizeof words, "explain --file %s", fifo);
    (void)alarm(20);
    struct answer answer = explain(words, "/dev/null");
    assert_int_equal(answer.status, EXIT_USAGE);
    expect(answer.out, "f: not a regular file; give a stream by: ferry explain --file - < FILE\n");
    free(answer.out);
    answer = explain("explain --file /dev/zero", "/dev/null");
    assert_int_equal(answer.status, EXIT_USAGE);
    free(answer.out);
    answer = explain("explain --file -", "/dev/zero");
    assert_int_equal(answer.status, EXIT_USAGE);
    expect(answer.out, "stdin: a device\n");
    free(answer.out);
    (void)alarm(0);
    (void)unlink(fifo), (void)rmdir(path);
}

TEST_FILE(test_cli_explain_file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_evidence_gets_a_verdict),
        cmocka_unit_test(what_is_no_file_ends_with_an_error),
        cmocka_unit_test(a_verdict_names_what_the_evidence_names),
        cmocka_unit_test(json_lines_get_a_line_each_with_their_id),
        cmocka_unit_test(unreadable_evidence_is_reported_with_a_hint),
        cmocka_unit_test(pages_fit_eighty_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
