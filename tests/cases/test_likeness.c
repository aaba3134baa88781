/* test_likeness.c - words of known failures: learned from tests/cases/, and worth something.
 *
 *   test_likeness          the tests
 *   test_likeness --learn  writes what analyzer/judge/likeness.def should be (make likeness)
 *
 * What is learned from a case says nothing about it; so each real case is judged once more with
 * itself taken out of the counts.
 */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/judge/likeness.h"
#include "base/text.h"
#include "tests/cases/cases.h"

enum { WORDS_MAX = 1 << 18, SEEN_LEAST = 2, TEXT_MAX = 1 << 20 };

static const struct {
    const char *file;
    bool is_real;
} files[] = {
    {"tests/cases/known.jsonl", true},
    {"tests/cases/held.jsonl", true},
    {"tests/cases/harvested.jsonl", true},
    {"tests/cases/gathered.jsonl", true},
    {"tests/cases/novel.jsonl", true},
    {"tests/cases/sampled.jsonl", true}, /* unseen.jsonl is not: nothing is learned from it */
    {"tests/cases/misleading.jsonl", false},
    {"tests/cases/invented_control.jsonl", false},
    {"tests/cases/invented_data.jsonl", false},
    {"tests/cases/composed.jsonl", false},
};

typedef char word_text[LIKENESS_WORD_MAX];

/* One case: its words are a piece of the lesson's list, in order, each once. */
struct taught {
    struct case_result is;
    unsigned first, n;
    bool is_real;
};
struct lesson {
    word_text *words;
    unsigned n_words;
    struct taught *cases;
    unsigned n_cases;
    struct likeness table; /* what is learned from all of it */
};

/* ---- reading ---- */

static void on_message(void *ctx, const struct evidence_message *message)
{
    buf_add_bytes(ctx, message->text, message->length);
    buf_add(ctx, "\n");
}

static void on_fact(void *ctx, const struct evidence_fact *fact)
{
    buf_addf(ctx, "%s=%s\n", fact->key, fact->value);
}

static void add_word(void *ctx, const char *word)
{
    struct lesson *lesson = ctx;
    assert_true(lesson->n_words < WORDS_MAX);
    TEXT_SET(lesson->words[lesson->n_words], word);
    lesson->n_words++;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sorts a list and leaves each word that stands in it at least `least` times, once. */
static unsigned tidy(word_text *words, unsigned n, unsigned least)
{
    unsigned kept = 0;
    qsort(words, n, sizeof *words, by_text);
    for (unsigned i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && strcmp(words[i], words[i + run]) == 0;)
            run++;
        if (run >= least)
            memmove(words[kept++], words[i], sizeof *words);
    }
    return kept;
}

static void add_case(struct lesson *lesson, const char *line, size_t n, bool is_real)
{
    struct err err = {0};
    struct buf text;
    struct json_object *json = json_parse(line, n, "case", &err);
    struct evidence_sink sink = {.ctx = &text, .message = on_message, .fact = on_fact};
    assert_true(lesson->n_cases < CASES_MAX);
    struct taught *one = &lesson->cases[lesson->n_cases++];
    *one = (struct taught){.is_real = is_real, .first = lesson->n_words};
    assert_true(json != NULL && cases_label(json, &one->is, &err));
    buf_init(&text, TEXT_MAX);
    cases_give(json, &sink);
    assert_false(text.failed);
    likeness_words(text.data, text.length, add_word, lesson);
    one->n = tidy(lesson->words + one->first, lesson->n_words - one->first, 1);
    lesson->n_words = one->first + one->n;
    buf_fini(&text);
    (void)json_object_put(json);
}

static void add_files(struct lesson *lesson)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        FILE *in = fopen(files[i].file, "re");
        char *line = NULL;
        size_t room = 0;
        assert_non_null(in);
        for (ssize_t n; (n = getline(&line, &room, in)) > 1;)
            add_case(lesson, line, (size_t)n, files[i].is_real);
        free(line);
        (void)fclose(in);
    }
}

/* ---- learning ---- */

static void count(struct likeness *table, const struct lesson *lesson, const struct taught *one,
                  int by)
{
    for (unsigned i = 0; i < one->n; i++) {
        unsigned word = likeness_find(table, lesson->words[one->first + i]);
        if (word == LIKENESS_WORDS_MAX)
            continue;
        table->seen[word] += (unsigned)by;
        table->counts[word][one->is.cause] =
            (unsigned short)(table->counts[word][one->is.cause] + by);
    }
    table->cases[one->is.cause] += (unsigned)by;
    table->n_cases += (unsigned)by;
}

static int learn(void **state)
{
    static struct lesson lesson;
    struct likeness *table = &lesson.table;
    lesson.words = calloc(WORDS_MAX, sizeof *lesson.words);
    lesson.cases = calloc(CASES_MAX, sizeof *lesson.cases);
    table->words = calloc(WORDS_MAX, sizeof *table->words);
    assert_true(lesson.words != NULL && lesson.cases != NULL && table->words != NULL);
    add_files(&lesson);
    memcpy(table->words, lesson.words, lesson.n_words * sizeof *table->words);
    table->n_words = tidy(table->words, lesson.n_words, SEEN_LEAST);
    assert_true(table->n_words <= LIKENESS_WORDS_MAX);
    table->seen = calloc(table->n_words, sizeof *table->seen);
    table->counts = calloc(table->n_words, sizeof *table->counts);
    assert_true(table->seen != NULL && table->counts != NULL);
    for (unsigned i = 0; i < lesson.n_cases; i++)
        count(table, &lesson, &lesson.cases[i], 1);
    *state = &lesson;
    return 0;
}

static int forget(void **state)
{
    struct lesson *lesson = *state;
    free(lesson->words);
    free(lesson->cases);
    free(lesson->table.words);
    free(lesson->table.seen);
    free(lesson->table.counts);
    return 0;
}

static void write_table(const struct likeness *table, FILE *out)
{
    (void)fputs(
        "/* likeness.def - words of known failures: KNOWN(cause, failures), WORD(word, in how\n"
        " * many of them it stood, by cause). Made by `make likeness`; likeness.h says what for. "
        "*/\n",
        out);
    for (enum cause cause = 0; cause < CAUSE_COUNT; cause++)
        if (table->cases[cause] > 0)
            (void)fprintf(out, "KNOWN(\"%s\", %u)\n", cause_row(cause)->name, table->cases[cause]);
    for (unsigned i = 0; i < table->n_words; i++) {
        const char *space = "";
        (void)fprintf(out, "WORD(\"%s\", \"", table->words[i]);
        for (enum cause cause = 0; cause < CAUSE_COUNT; cause++)
            if (table->counts[i][cause] > 0) {
                (void)fprintf(out, "%s%s:%u", space, cause_row(cause)->name,
                              (unsigned)table->counts[i][cause]);
                space = " ";
            }
        (void)fputs("\")\n", out);
    }
}

/* ---- tests ---- */

static void the_table_is_what_the_cases_teach(void **state)
{
    const struct lesson *lesson = *state;
    struct err err = {0};
    struct likeness *built_in = likeness_new(&err);
    assert_non_null(built_in);
    if (built_in->n_words != lesson->table.n_words || built_in->n_cases != lesson->table.n_cases)
        fail_msg("analyzer/judge/likeness.def is old: make likeness");
    for (unsigned i = 0; i < built_in->n_words; i++)
        if (strcmp(built_in->words[i], lesson->table.words[i]) != 0 ||
            memcmp(built_in->counts[i], lesson->table.counts[i], sizeof *built_in->counts) != 0)
            fail_msg("analyzer/judge/likeness.def is old at '%s': make likeness",
                     built_in->words[i]);
    likeness_free(built_in);
}

static void a_real_case_is_placed_by_the_others(void **state)
{
    struct lesson *lesson = *state;
    unsigned n = 0, causes = 0, planes = 0;
    for (unsigned i = 0; i < lesson->n_cases; i++) {
        const struct taught *one = &lesson->cases[i];
        struct likeness_case seen_words = {0};
        struct likeness_guess guess;
        if (!one->is_real)
            continue;
        for (unsigned w = 0; w < one->n; w++)
            likeness_add(&lesson->table, &seen_words, lesson->words[one->first + w],
                         strlen(lesson->words[one->first + w]));
        count(&lesson->table, lesson, one, -1);
        (void)likeness_guess(&lesson->table, &seen_words, &guess);
        count(&lesson->table, lesson, one, 1);
        n++;
        causes += guess.cause == one->is.cause;
        planes += cause_has_plane(guess.cause, one->is.plane);
    }
    print_message("%u real cases, each judged by the words of all others: plane %.1f %%, cause "
                  "%.1f %%\n",
                  n, 100.0 * planes / n, 100.0 * causes / n);
    /* A quarter of them was chosen for words that no other has. */
    assert_true(100.0 * planes / n >= 83 && 100.0 * causes / n >= 50);
}

static void note(void *ctx, const char *word)
{
    char *all = ctx;
    size_t n = strlen(all);
    (void)snprintf(all + n, 200 - n, "[%s]", word);
}

static void words_are_letters(void **state)
{
    (void)state;
    char all[200] = "";
    const char text[] = "Unable to OPEN '/dev/vhost_net': a b2 \xc3\xa9t\xc3\xa9 "
                        "averyveryveryveryveryveryverylongname ok";
    likeness_words(text, strlen(text), note, all);
    assert_string_equal(all, "[unable][to][open][dev][vhost_net][ok]");
}

static void no_guess_from_too_few_or_too_many_words(void **state)
{
    struct lesson *lesson = *state;
    struct likeness_case seen_words = {0};
    struct likeness_guess guess;
    assert_false(likeness_guess(&lesson->table, &seen_words, &guess));
    likeness_add(&lesson->table, &seen_words, "error", 5);
    assert_false(likeness_guess(&lesson->table, &seen_words, &guess));
    static const char said[] =
        "qemu unexpectedly closed the monitor: failed to load device state\n";
    for (size_t n = 0; n <= LIKENESS_TEXT_MAX; n += sizeof said - 1)
        likeness_add(&lesson->table, &seen_words, said, sizeof said - 1);
    assert_false(likeness_guess(&lesson->table, &seen_words, &guess));
}

TEST_FILE(test_likeness)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_what_the_cases_teach),
        cmocka_unit_test(a_real_case_is_placed_by_the_others),
        cmocka_unit_test(words_are_letters),
        cmocka_unit_test(no_guess_from_too_few_or_too_many_words),
    };
    char **arguments = test_arguments();
    if (arguments[0] != NULL && strcmp(arguments[0], "--learn") == 0) {
        void *state = NULL;
        (void)learn(&state);
        write_table(&((struct lesson *)state)->table, stdout);
        return forget(&state);
    }
    return cmocka_run_group_tests_name("likeness", tests, learn, forget);
}
