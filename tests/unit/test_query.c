/* test_query.c - what may be asked of the store, what may not, and what comes of it. */
#include "tests/test.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "bench/history.h"
#include "cli/common/table.h"
#include "store/query.h"
#include "store/sqlite.h"

enum { MIGRATIONS = 4000 };

struct filled {
    char dir[64];
    struct store *store; /* open all the while: as beside a running appliance */
};

static int setup(void **state)
{
    static struct filled filled;
    struct err err = {0};
    (void)snprintf(filled.dir, sizeof filled.dir, "/tmp/ferry-query-XXXXXX");
    if (mkdtemp(filled.dir) == NULL)
        return -1;
    filled.store = store_sqlite_open(filled.dir, &err);
    const struct history history = {.migrations = MIGRATIONS,
                                    .guests = 400,
                                    .hosts = 8,
                                    .traced = 400,
                                    .at_once = 1000,
                                    .now_ms = clock_wall_ms(clock_system()),
                                    .span_ms = 60LL * 24 * 3600 * 1000,
                                    .seed = 3};
    if (filled.store == NULL || !history_fill(filled.store, &history, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    *state = &filled;
    return 0;
}

static int teardown(void **state)
{
    struct filled *filled = *state;
    char command[128];
    store_free(filled->store);
    (void)snprintf(command, sizeof command, "rm -rf %s", filled->dir);
    return system(command);
}

static struct json_object *must_ask(void **state, const char *sql)
{
    struct err err = {0};
    struct json_object *answer =
        query_run(((struct filled *)*state)->dir, sql, &(struct query_limits){0}, &err);
    if (answer == NULL)
        fail_msg("%s: %s", sql, err.text);
    return answer;
}

static size_t rows_of(struct json_object *answer)
{
    return json_object_array_length(json_at(answer, "rows"));
}

static int64_t number(void **state, const char *sql)
{
    OWNED(json_object) answer = must_ask(state, sql);
    assert_int_equal(rows_of(answer), 1);
    return json_object_get_int64(json_at(answer, "rows.0.0"));
}

/* ---- the document ---- */

static void every_query_of_the_document_runs(void **state)
{
    static struct history_question questions[HISTORY_QUESTIONS_MAX];
    struct err err = {0};
    size_t n = history_questions("docs/queries.md", questions, &err);
    assert_int_equal(n, 10);
    for (size_t i = 0; i < n; i++) {
        OWNED(json_object) answer = must_ask(state, questions[i].sql);
        if (rows_of(answer) == 0)
            fail_msg("%s: no row", questions[i].title);
        assert_null(json_at(answer, "cut"));
    }
}

/* What a runbook tells somebody to ask at night is a question that is answered, as a table too. */
static void every_query_of_a_runbook_runs(void **state)
{
    glob_t books;
    size_t asked = 0;
    assert_int_equal(glob("docs/runbooks/Ferry*.md", 0, NULL, &books), 0);
    for (size_t i = 0; i < books.gl_pathc; i++) {
        FILE *book = fopen(books.gl_pathv[i], "re");
        char line[1024];
        assert_non_null(book);
        while (fgets(line, sizeof line, book) != NULL) {
            char *sql = strstr(line, "`ferry query ");
            if (sql == NULL)
                continue;
            sql += strlen("`ferry query ");
            char *end = strchr(sql + 1, *sql);
            assert_non_null(end);
            *end = '\0';
            OWNED(json_object) answer = must_ask(state, sql + 1);
            assert_true(json_object_array_length(json_at(answer, "columns")) <= TABLE_COLUMNS_MAX);
            asked++;
        }
        assert_int_equal(fclose(book), 0);
    }
    globfree(&books);
    assert_true(asked >= 5);
}

/* Law: none of them walks over a whole table. */
static void every_query_uses_an_index(void **state)
{
    static struct history_question questions[HISTORY_QUESTIONS_MAX];
    struct err err = {0};
    size_t n = history_questions("docs/queries.md", questions, &err);
    for (size_t i = 0; i < n; i++) {
        char sql[HISTORY_SQL_MAX + 32];
        (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", questions[i].sql);
        OWNED(json_object) answer = must_ask(state, sql);
        for (size_t k = 0; k < rows_of(answer); k++) {
            char path[32];
            (void)snprintf(path, sizeof path, "rows.%zu.3", k);
            const char *step = json_object_get_string(json_at(answer, path));
            bool walks = strncmp(step, "SCAN ", 5) == 0 && strstr(step, "INDEX") == NULL;
            for (const char *const *made =
                     (const char *const[]){"policy_effect", "paths", "f", "node_trouble", NULL};
                 *made != NULL; made++)
                walks = walks && strcmp(step + 5, *made) != 0; /* of what was found by index */
            if (walks)
                fail_msg("%s: %s", questions[i].title, step);
        }
    }
}

static void every_view_and_column_is_in_the_document(void **state)
{
    static const char *const views[] = {
#define VIEW(name, help, sql) name,
#include "store/views.def"
#undef VIEW
    };
    char *text = calloc(1, 64 * 1024), word[128], sql[128];
    FILE *in = fopen("docs/views.md", "re");
    assert_non_null(in);
    assert_true(fread(text, 1, 64 * 1024 - 1, in) > 0);
    (void)fclose(in);
    for (size_t i = 0; i < COUNT(views); i++) {
        (void)snprintf(word, sizeof word, "\n## %s\n", views[i]);
        char *section = strstr(text, word);
        if (section == NULL) {
            fail_msg("docs/views.md says nothing of %s", views[i]);
            break;
        }
        char *end = strstr(section + strlen(word) - 1, "\n## ");
        char *part = end != NULL ? strndup(section, (size_t)(end - section)) : strdup(section);
        (void)snprintf(sql, sizeof sql, "SELECT * FROM %s LIMIT 1", views[i]);
        OWNED(json_object) answer = must_ask(state, sql);
        struct json_object *columns = json_at(answer, "columns");
        for (size_t k = 0; k < json_object_array_length(columns); k++) {
            const char *name = json_object_get_string(json_object_array_get_idx(columns, k));
            (void)snprintf(word, sizeof word, "`%s`", name);
            if (strstr(part, word) == NULL)
                fail_msg("docs/views.md: %s lacks `%s`", views[i], name);
        }
        free(part);
    }
    free(text);
}

/* ---- views tell the truth ---- */

static void views_count_the_stored_rows(void **state)
{
    assert_int_equal(number(state, "SELECT count(*) FROM migrations"), MIGRATIONS);
    int64_t failed = number(state, "SELECT count(*) FROM failures");
    assert_true(failed > MIGRATIONS / 40);
    assert_int_equal(number(state, "SELECT count(*) FROM jobs WHERE outcome <> 'succeeded'"),
                     failed);
    assert_int_equal(number(state, "SELECT sum(migrations) FROM policy_effect"), MIGRATIONS);
    assert_int_equal(number(state, "SELECT sum(failed) FROM policy_effect"), failed);
    assert_int_equal(number(state, "SELECT sum(migrations) FROM paths"), MIGRATIONS);
    assert_int_equal(number(state, "SELECT count(*) FROM downtime"), MIGRATIONS - failed);
    assert_int_equal(number(state, "SELECT count(*) FROM waste"), failed);
    assert_int_equal(number(state, "SELECT count(*) FROM phases"), 6 * MIGRATIONS);
    assert_int_equal(number(state, "SELECT count(*) FROM node_trouble"), 2 * failed);
    assert_int_equal(number(state, "SELECT count(*) FROM samples"), 400 * 40);
}

/* Told the slow way. */
static void repeat_failures_are_counted_since_the_last_success(void **state)
{
    int64_t found = number(state, "SELECT count(*) FROM repeat_failures");
    assert_true(found > 0);
    int64_t want =
        number(state,
               "SELECT count(*) FROM (SELECT guest_uuid FROM jobs AS j WHERE outcome <> 'succeeded'"
               " AND NOT EXISTS (SELECT 1 FROM jobs AS k WHERE k.guest_uuid = j.guest_uuid"
               " AND k.outcome = 'succeeded' AND k.created_ms >= j.created_ms)"
               " GROUP BY guest_uuid HAVING count(*) >= 2)");
    assert_int_equal(found, want);
}

static void bytes_of_a_failed_migration_are_read_from_its_samples(void **state)
{
    assert_true(number(state, "SELECT count(*) FROM waste WHERE sent_bytes > 0") > 0);
}

/* ---- what is refused ---- */

static void only_reading_is_allowed(void **state)
{
    static const struct {
        const char *sql;
        enum err_code code;
        const char *says;
    } rows[] = {
        {"DELETE FROM jobs", ERR_FORBIDDEN, "only reading"},
        {"UPDATE jobs SET name = 'x'", ERR_FORBIDDEN, "only reading"},
        {"INSERT INTO jobs DEFAULT VALUES", ERR_FORBIDDEN, "only reading"},
        {"DROP TABLE jobs", ERR_FORBIDDEN, "only reading"},
        {"CREATE TABLE t(x)", ERR_FORBIDDEN, "only reading"},
        {"CREATE TEMP TABLE t AS SELECT 1", ERR_FORBIDDEN, "only reading"},
        {"DROP VIEW failures", ERR_FORBIDDEN, "only reading"},
        {"ATTACH '/tmp/x' AS y", ERR_FORBIDDEN, "ATTACH"},
        {"DETACH trace", ERR_FORBIDDEN, "only reading"},
        {"PRAGMA query_only", ERR_FORBIDDEN, "PRAGMA"},
        {"SELECT * FROM pragma_database_list", ERR_FORBIDDEN, "only reading"},
        {"SELECT load_extension('x')", ERR_FORBIDDEN, "load_extension"},
        {"VACUUM INTO '/tmp/ferry-stolen'", ERR_FORBIDDEN, "only reading"},
        {"BEGIN", ERR_FORBIDDEN, "only reading"},
        {"REINDEX", ERR_FORBIDDEN, "only reading"},
        {"ANALYZE", ERR_FORBIDDEN, "only reading"},
        {"SELECT 1; SELECT 2", ERR_INVALID, "one statement"},
        {"SELECT 1; DELETE FROM jobs", ERR_INVALID, "one statement"},
        {"", ERR_INVALID, "no statement"},
        {"  -- nothing", ERR_INVALID, "no statement"},
        {"SELECT", ERR_INVALID, "incomplete input"},
        {"SELECT * FROM faliures", ERR_INVALID, "no such table: faliures"},
        {"SELECT nme FROM migrations", ERR_INVALID, "no such column: nme"},
        {"SELECT ?1", ERR_INVALID, "parameters"},
        {"SELECT zeroblob(100000000)", ERR_INVALID, "too big"},
    };
    struct filled *filled = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        OWNED(json_object)
        answer = query_run(filled->dir, rows[i].sql, &(struct query_limits){0}, &err);
        if (answer != NULL)
            fail_msg("%s was answered", rows[i].sql);
        if (err.code != rows[i].code || strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s: %s: %s", rows[i].sql, err_name(err.code), err.text);
    }
    assert_int_equal(number(state, "SELECT count(*) FROM migrations"), MIGRATIONS);
    assert_int_not_equal(access("/tmp/ferry-stolen", F_OK), 0);
}

/* ---- bounds ---- */

/* The second one allocates nothing: only an interrupt ends it. */
static void a_query_without_end_is_stopped(void **state)
{
    static const char *const endless[] = {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT sum(a.created_ms > b.created_ms + c.created_ms) FROM jobs AS a, jobs AS b, jobs AS "
        "c",
    };
    for (size_t i = 0; i < COUNT(endless); i++) {
        struct err err = {0};
        int64_t began_ms = clock_mono_ms(clock_system());
        OWNED(json_object)
        answer = query_run(((struct filled *)*state)->dir, endless[i],
                           &(struct query_limits){.ms = 200}, &err);
        assert_null(answer);
        assert_int_equal(err.code, ERR_TIMEOUT);
        assert_true(clock_mono_ms(clock_system()) - began_ms < 5000);
    }
}

static void a_result_over_a_limit_is_cut_and_marked(void **state)
{
    struct err err = {0};
    const char *dir = ((struct filled *)*state)->dir;
    struct json_object *answer =
        query_run(dir, "SELECT uid FROM migrations", &(struct query_limits){.rows = 7}, &err);
    assert_int_equal(rows_of(answer), 7);
    assert_string_equal(json_object_get_string(json_at(answer, "cut")), "rows");
    json_object_free(answer);
    answer = query_run(dir, "SELECT uid FROM migrations LIMIT 7", &(struct query_limits){.rows = 7},
                       &err);
    assert_int_equal(rows_of(answer), 7);
    assert_null(json_at(answer, "cut"));
    json_object_free(answer);
    answer = query_run(dir, "SELECT hex(zeroblob(32000)) FROM migrations",
                       &(struct query_limits){0}, &err);
    assert_string_equal(json_object_get_string(json_at(answer, "cut")), "bytes");
    assert_in_range(rows_of(answer), 250, 262);
    json_object_free(answer);
}

static void a_directory_without_a_store_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    assert_null(query_run("/tmp", "SELECT 1", &(struct query_limits){0}, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "state directory"));
}

static void csv_quotes_special_characters(void **state)
{
    OWNED(json_object)
    answer = must_ask(state, "SELECT 1 AS a, 'x,\"y\"' AS b, NULL AS c, 2.5 AS d, 'plain' AS e");
    struct buf text;
    buf_init(&text, 4096);
    query_csv(answer, &text);
    assert_string_equal(text.data, "a,b,c,d,e\r\n1,\"x,\"\"y\"\"\",,2.5,plain\r\n");
    buf_fini(&text);
}

TEST_FILE(test_query)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_query_of_the_document_runs),
        cmocka_unit_test(every_query_of_a_runbook_runs),
        cmocka_unit_test(every_query_uses_an_index),
        cmocka_unit_test(every_view_and_column_is_in_the_document),
        cmocka_unit_test(views_count_the_stored_rows),
        cmocka_unit_test(repeat_failures_are_counted_since_the_last_success),
        cmocka_unit_test(bytes_of_a_failed_migration_are_read_from_its_samples),
        cmocka_unit_test(only_reading_is_allowed),
        cmocka_unit_test(a_query_without_end_is_stopped),
        cmocka_unit_test(a_result_over_a_limit_is_cut_and_marked),
        cmocka_unit_test(a_directory_without_a_store_is_refused),
        cmocka_unit_test(csv_quotes_special_characters),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
