/* test_query.c - what may be asked of the store, what may not, and what comes of it. */
#include "tests/test.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "bench/history.h"
#include "cli/common/table.h"
#include "store/any/any.h"
#include "tests/unit/postgres_server.h"

enum { MIGRATIONS = 4000 };

struct filled {
    char dir[64];
    char place[POSTGRES_URL_MAX]; /* what is asked: dir, or a URL */
    struct store *store;          /* open all the while: as beside a running appliance */
};

static bool fill(struct store *store, size_t migrations, int64_t now_ms)
{
    struct err err = {0};
    const struct history history = {.migrations = migrations,
                                    .guests = migrations / 10,
                                    .hosts = 8,
                                    .traced = 400,
                                    .at_once = 1000,
                                    .now_ms = now_ms,
                                    .span_ms = 60LL * 24 * 3600 * 1000,
                                    .seed = 3};
    if (store != NULL && history_fill(store, &history, &err))
        return true;
    print_error("%s\n", err.text);
    return false;
}

static bool make(struct filled *filled, size_t migrations, int64_t now_ms)
{
    struct err err = {0};
    (void)snprintf(filled->dir, sizeof filled->dir, "/tmp/ferry-query-XXXXXX");
    if (mkdtemp(filled->dir) == NULL)
        return false;
    (void)snprintf(filled->place, sizeof filled->place, "%s", filled->dir);
    filled->store = store_open(filled->dir, &err);
    return fill(filled->store, migrations, now_ms);
}

static int setup(void **state)
{
    static struct filled filled;
    *state = &filled;
    return make(&filled, MIGRATIONS, clock_wall_ms(clock_system())) ? 0 : -1;
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
        query_run(((struct filled *)*state)->place, sql, &(struct query_limits){0}, &err);
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

/* ---- the same on PostgreSQL ---- */

enum { PG_MIGRATIONS = 1500 };

/* The same records in both; the state is SQLite's. */
static struct filled both;
static struct store *on_postgres;
static char reader_url[POSTGRES_URL_MAX], writer_url[POSTGRES_URL_MAX];

static int setup_both(void **state)
{
    struct err err = {0};
    int64_t now_ms = clock_wall_ms(clock_system());
    postgres_new_url(writer_url);
    on_postgres = store_open(writer_url, &err);
    *state = &both;
    if (!fill(on_postgres, PG_MIGRATIONS, now_ms) || !make(&both, PG_MIGRATIONS, now_ms))
        return -1;
    postgres_query_url(writer_url, reader_url);
    return 0;
}

static int teardown_both(void **state)
{
    store_free(on_postgres);
    return teardown(state);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_value(struct buf *out, struct json_object *value)
{
    double number = json_object_get_double(value);
    bool is_whole = json_object_is_type(value, json_type_int) || number == floor(number);
    if (json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int))
        buf_addf(out, is_whole ? "%.0f|" : "%.6g|", number);
    else
        buf_addf(out, "%s|", value != NULL ? json_object_get_string(value) : "NULL");
}

/* One text per row, sorted: an order with ties is not one. */
static size_t lines_of(struct json_object *answer, char ***out_lines)
{
    size_t n = rows_of(answer);
    char **lines = calloc(n + 1, sizeof *lines);
    assert_non_null(lines);
    for (size_t i = 0; i < n; i++) {
        struct json_object *row = json_object_array_get_idx(json_at(answer, "rows"), i);
        struct buf line;
        buf_init(&line, 256 * 1024);
        for (size_t k = 0; k < json_object_array_length(row); k++)
            write_value(&line, json_object_array_get_idx(row, k));
        lines[i] = buf_take(&line);
    }
    qsort(lines, n, sizeof *lines, compare_texts);
    *out_lines = lines;
    return n;
}

static void expect_same(const char *sql)
{
    struct err err = {0};
    const struct query_limits limits = {.rows = 20000};
    OWNED(json_object) here = query_run(both.place, sql, &limits, &err);
    if (here == NULL)
        fail_msg("SQLite: %s: %s", sql, err.text);
    OWNED(json_object) there = query_run(reader_url, sql, &limits, &err);
    if (there == NULL)
        fail_msg("PostgreSQL: %s: %s", sql, err.text);
    assert_string_equal(json_object_to_json_string(json_at(here, "columns")),
                        json_object_to_json_string(json_at(there, "columns")));
    char **ours, **theirs;
    size_t n = lines_of(here, &ours), m = lines_of(there, &theirs);
    assert_null(json_at(here, "cut"));
    if (n != m || n == 0)
        fail_msg("%s: %zu rows, on PostgreSQL %zu", sql, n, m);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(ours[i], theirs[i]) != 0)
            fail_msg("%s:\n%s\non PostgreSQL:\n%s", sql, ours[i], theirs[i]);
        free(ours[i]);
        free(theirs[i]);
    }
    free(ours);
    free(theirs);
}

static void every_view_is_the_same_on_both_engines(void **state)
{
    (void)state;
    static const char *const views[] = {
#define VIEW(name, help, sql) name,
#include "store/views.def"
#undef VIEW
    };
    for (size_t i = 0; i < COUNT(views); i++) {
        char sql[128];
        if (strcmp(views[i], "audit") == 0)
            continue; /* nobody asked for a change */
        bool is_long = strcmp(views[i], "timeline") == 0 || strcmp(views[i], "phases") == 0;
        (void)snprintf(sql, sizeof sql, "SELECT * FROM %s%s", views[i],
                       is_long ? " WHERE job_uid < '00000100'" : "");
        expect_same(sql);
    }
    struct err err = {0};
    OWNED(json_object) audit =
        query_run(reader_url, "SELECT * FROM audit", &(struct query_limits){0}, &err);
    assert_non_null(audit);
}

static void every_documented_query_is_the_same_on_both_engines(void **state)
{
    (void)state;
    static struct history_question questions[HISTORY_QUESTIONS_MAX];
    struct err err = {0};
    size_t n = history_questions("docs/queries.md", questions, &err);
    assert_int_equal(n, 10);
    for (size_t i = 0; i < n; i++) {
        char sql[HISTORY_SQL_MAX];
        (void)snprintf(sql, sizeof sql, "%s", questions[i].sql);
        char *limit = strstr(sql, "LIMIT 20");
        if (limit != NULL) /* of several that are equal either may be the twentieth */
            *limit = '\0';
        expect_same(sql);
    }
}

static void queries_of_runbooks_run_on_postgres(void **state)
{
    struct filled asked = {.place = ""};
    (void)state;
    (void)snprintf(asked.place, sizeof asked.place, "%s", reader_url);
    void *as_state = &asked;
    every_query_of_a_runbook_runs(&as_state);
}

static void only_reading_is_allowed_on_postgres(void **state)
{
    static const struct {
        const char *sql;
        enum err_code code;
        const char *says;
    } rows[] = {
        {"DELETE FROM jobs", ERR_FORBIDDEN, "only reading"},
        {"DELETE FROM jobs RETURNING uid", ERR_FORBIDDEN, "only reading"},
        {"WITH d AS (DELETE FROM jobs RETURNING uid) SELECT * FROM d", ERR_FORBIDDEN,
         "only reading"},
        {"DROP TABLE jobs", ERR_FORBIDDEN, "only reading"},
        {"BEGIN", ERR_FORBIDDEN, "only reading"},
        {"SET default_transaction_read_only = off", ERR_FORBIDDEN, "only reading"},
        {"COPY jobs TO STDOUT", ERR_FORBIDDEN, "only reading"},
        {"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
         " 'ferry objects'",
         ERR_FORBIDDEN, "only reading"},
        {"SELECT pg_read_file('/etc/passwd')", ERR_FORBIDDEN, "only reading"},
        {"SELECT 1; DELETE FROM jobs", ERR_INVALID, "one statement"},
        {"", ERR_INVALID, "no statement"},
        {"SELECT nme FROM migrations", ERR_INVALID, "nme"},
        {"SELECT $1::text", ERR_INVALID, "parameters"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        OWNED(json_object)
        answer = query_run(reader_url, rows[i].sql, &(struct query_limits){0}, &err);
        if (answer != NULL)
            fail_msg("%s was answered", rows[i].sql);
        if (err.code != rows[i].code || strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s: %s: %s", rows[i].sql, err_name(err.code), err.text);
    }
    assert_int_equal(postgres_int(writer_url, "SELECT count(*) FROM jobs"), PG_MIGRATIONS);
}

static void limits_hold_on_postgres(void **state)
{
    struct err err = {0};
    (void)state;
    int64_t began_ms = clock_mono_ms(clock_system());
    assert_null(query_run(reader_url,
                          "SELECT count(*) FROM jobs AS a, jobs AS b, jobs AS c WHERE"
                          " a.created_ms > b.created_ms + c.created_ms",
                          &(struct query_limits){.ms = 200}, &err));
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_true(clock_mono_ms(clock_system()) - began_ms < 5000);
    OWNED(json_object) rows = query_run(reader_url, "SELECT uid FROM migrations",
                                        &(struct query_limits){.rows = 7}, &err);
    assert_int_equal(rows_of(rows), 7);
    assert_string_equal(json_object_get_string(json_at(rows, "cut")), "rows");
    OWNED(json_object) bytes = query_run(reader_url, "SELECT repeat('x', 60000) FROM migrations",
                                         &(struct query_limits){0}, &err);
    assert_string_equal(json_object_get_string(json_at(bytes, "cut")), "bytes");
}

/* The appliance's own role could end its sessions with a SELECT. */
static void a_role_that_may_write_is_refused(void **state)
{
    struct err err = {0};
    (void)state;
    assert_null(query_run(writer_url, "SELECT 1", &(struct query_limits){0}, &err));
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "storeQuery"));
}

static void tokens_are_hidden_from_queries_on_postgres(void **state)
{
    struct err err = {0};
    (void)state;
    postgres_exec(writer_url,
                  "INSERT INTO objects SELECT kind, '', 'ci', kind, '', '{}', '', '', 0, 0, 1, 0"
                  " FROM (VALUES ('Token'), ('drain')) AS kinds(kind)");
    assert_int_equal(postgres_int(writer_url, "SELECT count(*) FROM objects WHERE kind = 'Token'"),
                     1);
    OWNED(json_object) answer =
        query_run(reader_url, "SELECT count(*) FROM objects WHERE kind = 'Token'",
                  &(struct query_limits){0}, &err);
    if (answer == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(json_object_get_int64(json_at(answer, "rows.0.0")), 0);
    OWNED(json_object) others =
        query_run(reader_url, "SELECT count(*) FROM objects", &(struct query_limits){0}, &err);
    assert_int_equal(json_object_get_int64(json_at(others, "rows.0.0")), 1);
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
    const struct CMUnitTest postgres[] = {
        cmocka_unit_test(every_view_is_the_same_on_both_engines),
        cmocka_unit_test(every_documented_query_is_the_same_on_both_engines),
        cmocka_unit_test(queries_of_runbooks_run_on_postgres),
        cmocka_unit_test(only_reading_is_allowed_on_postgres),
        cmocka_unit_test(limits_hold_on_postgres),
        cmocka_unit_test(a_role_that_may_write_is_refused),
        cmocka_unit_test(tokens_are_hidden_from_queries_on_postgres),
    };
    int failed = cmocka_run_group_tests(tests, setup, teardown);
    if (postgres_in_slice())
        failed +=
            cmocka_run_group_tests_name("query on PostgreSQL", postgres, setup_both, teardown_both);
    return failed;
}
