/* test_query_limits.c - what one query may use: columns, bytes, memory, temporary space, time.
 * Each statement here is small; without its limit it takes gigabytes or minutes. */
#include "tests/test.h"

#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "store/any/query_process.h"
#include "store/sqlite/sqlite.h"

/* One call of SQLite takes 0.1 s at most; the sanitizers and a busy machine get the rest. */
enum { SOON_MS = 3000 };

struct filled {
    char dir[64];
    struct store *store;
};

/* Two documents; the specification of "large" is longer than a value may be. */
static int setup(void **state)
{
    static struct filled filled;
    static char spec[70000];
    struct err err = {0};
    (void)snprintf(filled.dir, sizeof filled.dir, "/tmp/ferry-limits-XXXXXX");
    if (mkdtemp(filled.dir) == NULL)
        return -1;
    filled.store = store_sqlite_open(filled.dir, &err);
    assert_non_null(filled.store);
    memset(spec, 'x', sizeof spec - 1);
    struct store_object row = {.kind = "drain",
                               .ns = "",
                               .name = "large",
                               .uid = "u1",
                               .requester = "tester",
                               .spec_json = spec,
                               .metadata_json = "",
                               .status_json = ""};
    const struct store_ops *ops = filled.store->ops;
    ops->begin(filled.store);
    ops->put_object(filled.store, &row);
    row.name = "small", row.uid = "u2", row.spec_json = "{}";
    ops->put_object(filled.store, &row);
    row.kind = "Token", row.name = "ci", row.uid = "u9", row.spec_json = "{\"sha256\":\"a22e\"}";
    ops->put_object(filled.store, &row);
    if (!ops->commit(filled.store, &err))
        fail_msg("%s", err.text);
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
        fail_msg("%.100s: %s", sql, err.text);
    return answer;
}

static void must_refuse(void **state, const char *sql, int64_t ms, enum err_code code,
                        const char *says)
{
    struct err err = {0};
    OWNED(json_object)
    answer = query_run(((struct filled *)*state)->dir, sql, &(struct query_limits){.ms = ms}, &err);
    if (answer != NULL)
        fail_msg("%.100s: was answered", sql);
    if (err.code != code || strstr(err.text, says) == NULL)
        fail_msg("%.100s: %s: %s", sql, err_name(err.code), err.text);
}

/* "SELECT value, value, ... FROM from", a statement of many columns. */
static char *columns(size_t n, const char *value, const char *from)
{
    struct buf sql;
    buf_init(&sql, QUERY_SQL_MAX);
    for (size_t i = 0; i < n; i++) {
        buf_add(&sql, i == 0 ? "SELECT " : ",");
        buf_add(&sql, value);
    }
    buf_add(&sql, from);
    return buf_take(&sql);
}

/* ---- tokens ---- */

/* A viewer reads everything but tokens (exporter/access/roles.def): neither names nor hashes. */
static void no_statement_reads_a_token(void **state)
{
    static const char *const empty[] = {
        "SELECT * FROM objects WHERE kind = 'Token'",
        "SELECT * FROM \"OBJECTS\" WHERE uid = 'u9'",
        "SELECT * FROM temp.objects WHERE name = 'ci'",
    };
    static const char *const refused[] = {
        "SELECT * FROM main.objects",
        "SELECT count(*) FROM main.objects",
        "SELECT rowid FROM main . [objects]",
        "WITH objects AS (SELECT * FROM main.objects) SELECT * FROM objects",
        "SELECT * FROM (SELECT * FROM main.objects) AS objects",
        "SELECT (SELECT spec_json FROM main.objects AS objects LIMIT 1)",
    };
    for (size_t i = 0; i < COUNT(empty); i++) {
        OWNED(json_object) answer = must_ask(state, empty[i]);
        assert_int_equal(json_object_array_length(json_at(answer, "rows")), 0);
    }
    for (size_t i = 0; i < COUNT(refused); i++)
        must_refuse(state, refused[i], 0, ERR_FORBIDDEN, "main.objects");
    OWNED(json_object) others = must_ask(state, "SELECT name FROM objects");
    assert_int_equal(json_object_array_length(json_at(others, "rows")), 2);
}

/* ---- the result ---- */

static void a_result_has_at_most_100_columns(void **state)
{
    OWNED_TEXT fits = columns(100, "1", "");
    OWNED(json_object) answer = must_ask(state, fits);
    assert_int_equal(json_object_array_length(json_at(answer, "columns")), 100);
    OWNED_TEXT wide = columns(101, "1", "");
    must_refuse(state, wide, 0, ERR_INVALID, "too many columns in result set: at most 100");
}

static void a_value_has_at_most_64_kib(void **state)
{
    OWNED(json_object) answer = must_ask(state, "SELECT hex(zeroblob(32767)) || 'xx'");
    assert_int_equal(json_object_get_string_len(json_at(answer, "rows.0.0")), 65536);
    must_refuse(state, "SELECT zeroblob(65537)", 0, ERR_INVALID, "at most 65536 bytes");
    must_refuse(state, "SELECT hex(zeroblob(32767)) || 'xxx'", 0, ERR_INVALID,
                "at most 65536 bytes");
}

static void a_stored_value_over_64_kib_is_refused_and_its_row_can_be_read(void **state)
{
    must_refuse(state, "SELECT spec_json FROM objects", 0, ERR_INVALID, "at most 65536 bytes");
    OWNED(json_object)
    answer = must_ask(state, "SELECT name, status_json FROM objects ORDER BY name");
    assert_string_equal(json_object_get_string(json_at(answer, "rows.0.0")), "large");
    OWNED(json_object)
    small = must_ask(state, "SELECT spec_json FROM objects WHERE name = 'small'");
    assert_string_equal(json_object_get_string(json_at(small, "rows.0.0")), "{}");
}

/* 100 columns of 64 KiB are 6.25 MiB a row: two fit in 16 MiB, a part of the third is not shown. */
static void bytes_of_a_result_are_counted_per_column(void **state)
{
    OWNED_TEXT sql = columns(100, "hex(zeroblob(32767))", " FROM (VALUES (1), (2), (3), (4))");
    OWNED(json_object) answer = must_ask(state, sql);
    assert_string_equal(json_object_get_string(json_at(answer, "cut")), "bytes");
    assert_int_equal(json_object_array_length(json_at(answer, "rows")), 2);
    assert_int_equal(json_object_array_length(json_at(answer, "rows.1")), 100);
}

/* ---- time ---- */

static void no_single_function_call_takes_long(void **state)
{
    static const char *const calls[] = {
        "trim(printf('%.*c', 65000, 'a'), printf('%.*c', 5400, 'b') || 'a')",
        "ltrim(printf('%.*c', 65000, 'a'), printf('%.*c', 5400, 'b') || 'a')",
        "rtrim(printf('%.*c', 65000, 'a'), printf('%.*c', 5400, 'b') || 'a')",
        "instr(hex(zeroblob(500000)), hex(zeroblob(250000)) || '1')",
        "replace(hex(zeroblob(500000)), hex(zeroblob(250000)) || '1', 'x')",
        "hex(zeroblob(32000)) GLOB '*' || replace(hex(zeroblob(20)), '00', '[1-30]') || '1'",
        "instr(hex(zeroblob(32000)), hex(zeroblob(16000)) || '1')",
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        char sql[256];
        struct err err = {0};
        int64_t began_ms = clock_mono_ms(clock_system());
        (void)snprintf(sql, sizeof sql, "SELECT %s", calls[i]);
        json_object_free(query_run(((struct filled *)*state)->dir, sql,
                                   &(struct query_limits){.ms = 5000}, &err));
        int64_t took_ms = clock_mono_ms(clock_system()) - began_ms;
        if (took_ms > SOON_MS)
            fail_msg("%s took %lld ms", sql, (long long)took_ms);
    }
}

static void functions_whose_cost_is_not_bounded_are_not_offered(void **state)
{
    must_refuse(state, "SELECT json_patch('{}', '{}')", 0, ERR_FORBIDDEN, "json_patch");
    must_refuse(state, "SELECT randomblob(10)", 0, ERR_FORBIDDEN, "randomblob");
    must_refuse(state, "SELECT rtreecheck('objects')", 0, ERR_FORBIDDEN, "rtreecheck");
    must_refuse(state, "SELECT 'x' LIKE hex(zeroblob(65))", 0, ERR_INVALID, "pattern too complex");
}

static void trim_removes_any_of_the_given_characters(void **state)
{
    static const struct {
        const char *call, *want;
    } rows[] = {
        {"trim('xyaxbyx', 'xy')", "axb"},
        {"ltrim('xyaxbyx', 'xy')", "axbyx"},
        {"rtrim('1.500', '0')", "1.5"},
        {"trim('aaa', 'a')", ""},
        {"trim('', 'a')", ""},
        {"trim('a', '')", "a"},
        {"trim('  a ')", "a"},
        {"trim('-ä-', '-')", "ä"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "SELECT %s, trim(NULL, 'a'), trim('a', NULL)",
                       rows[i].call);
        OWNED(json_object) answer = must_ask(state, sql);
        assert_string_equal(json_object_get_string(json_at(answer, "rows.0.0")), rows[i].want);
        assert_null(json_at(answer, "rows.0.1"));
        assert_null(json_at(answer, "rows.0.2"));
    }
    must_refuse(state, "SELECT trim('äa', 'ä')", 0, ERR_INVALID, "only ASCII");
}

/* ---- memory and temporary space ---- */

/* Each name stands for twice the one before: preparing the statement takes memory for 2^levels
 * SELECTs, before the first row and without an instruction that could be interrupted. */
static char *doubling(unsigned levels)
{
    struct buf sql;
    buf_init(&sql, QUERY_SQL_MAX);
    buf_add(&sql, "WITH a0 AS (SELECT 1 AS x)");
    for (unsigned i = 1; i <= levels; i++)
        buf_addf(&sql, ", a%u AS (SELECT 1 AS x FROM a%u, a%u)", i, i - 1, i - 1);
    buf_addf(&sql, " SELECT 1 FROM a%u", levels);
    return buf_take(&sql);
}

static void preparing_a_statement_has_a_memory_limit(void **state)
{
    OWNED_TEXT sql = doubling(18);
    must_refuse(state, sql, QUERY_MS_MAX, ERR_UNPROCESSABLE, "more than 64 MiB of memory");
    OWNED_TEXT small = doubling(4);
    json_object_free(must_ask(state, small));
}

static void preparing_a_statement_has_a_deadline(void **state)
{
    OWNED_TEXT sql = doubling(16);
    must_refuse(state, sql, 10, ERR_TIMEOUT, "the query was stopped");
}

static void temporary_space_is_limited(void **state)
{
    must_refuse(state,
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                " SELECT count(*) FROM (SELECT DISTINCT zeroblob(60000) || i FROM n)",
                QUERY_MS_MAX, ERR_UNPROCESSABLE, "more than 256 MiB of temporary space");
}

static void a_sort_in_temporary_files_succeeds(void **state)
{
    OWNED(json_object)
    answer =
        must_ask(state, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                        " LIMIT 2000)"
                        " SELECT max(i), count(*) FROM (SELECT DISTINCT i, zeroblob(20000) || i"
                        " FROM n ORDER BY 2)");
    assert_int_equal(json_object_get_int64(json_at(answer, "rows.0.0")), 2000);
    assert_int_equal(json_object_get_int64(json_at(answer, "rows.0.1")), 2000);
}

static void a_query_over_its_limits_leaves_the_store_usable(void **state)
{
    struct filled *filled = *state;
    struct err err = {0};
    OWNED_TEXT sql = doubling(18);
    must_refuse(state, sql, QUERY_MS_MAX, ERR_UNPROCESSABLE, "memory");
    const struct store_object row = {.kind = "drain",
                                     .ns = "",
                                     .name = "later",
                                     .uid = "u3",
                                     .requester = "tester",
                                     .spec_json = "{}",
                                     .metadata_json = "",
                                     .status_json = ""};
    filled->store->ops->begin(filled->store);
    filled->store->ops->put_object(filled->store, &row);
    if (!filled->store->ops->commit(filled->store, &err))
        fail_msg("%s", err.text);
    OWNED(json_object) answer = must_ask(state, "SELECT count(*) FROM objects");
    assert_int_equal(json_object_get_int64(json_at(answer, "rows.0.0")), 3);
}

/* ---- a process of its own ---- */

/* Nothing inside SQLite gets a turn any more: here its files are pipes that nobody writes. A call
 * in this process would never return. */
static void a_query_that_hangs_is_killed(void **state)
{
    (void)state;
    char dir[] = "/tmp/ferry-hang-XXXXXX", path[64];
    struct err err = {0};
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/samples.db", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    int64_t began_ms = clock_mono_ms(clock_system());
    OWNED(json_object)
    answer = query_process_run(dir, "SELECT 1", &(struct query_limits){.ms = 100}, &err);
    int64_t took_ms = clock_mono_ms(clock_system()) - began_ms;
    assert_null(answer);
    assert_int_equal(err.code, ERR_TIMEOUT);
    if (took_ms > SOON_MS)
        fail_msg("it took %lld ms", (long long)took_ms);
    (void)unlink(path), (void)rmdir(dir);
}

static void a_process_answers_and_refuses_as_a_call_does(void **state)
{
    const struct filled *filled = *state;
    static const struct {
        const char *sql;
        enum err_code code;
    } rows[] = {
        {"SELECT name FROM objects ORDER BY name", ERR_NONE},
        {"SELECT nonsense", ERR_INVALID},
        {"DELETE FROM jobs", ERR_FORBIDDEN},
        {"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
         ERR_TIMEOUT},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0}, same = {0};
        const struct query_limits limits = {.ms = rows[i].code == ERR_TIMEOUT ? 300 : 20000};
        OWNED(json_object) answer = query_process_run(filled->dir, rows[i].sql, &limits, &err);
        OWNED(json_object) here = query_run(filled->dir, rows[i].sql, &limits, &same);
        if (err.code != rows[i].code || same.code != rows[i].code)
            fail_msg("%s: %s, %s", rows[i].sql, err_name(err.code), err.text);
        if (rows[i].code == ERR_NONE)
            assert_string_equal(json_object_get_string(json_at(answer, "rows")),
                                json_object_get_string(json_at(here, "rows")));
        else if (rows[i].code != ERR_TIMEOUT)
            assert_string_equal(err.text, same.text);
    }
}

/* The process's parent; 0: it is gone. */
static pid_t parent_of(const char *stat_path, pid_t *out_pid)
{
    int parent = 0;
    FILE *file = fopen(stat_path, "r");
    if (file != NULL && fscanf(file, "%d %*s %*c %d", out_pid, &parent) != 2)
        parent = 0;
    if (file != NULL)
        (void)fclose(file);
    return parent;
}

/* The only child of that process; 0: it has none. */
static pid_t child_of(pid_t parent)
{
    glob_t found = {0};
    pid_t child = 0;
    (void)glob("/proc/[1-9]*/stat", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && child == 0; i++) {
        pid_t pid = 0;
        if (parent_of(found.gl_pathv[i], &pid) == parent)
            child = pid;
    }
    globfree(&found);
    return child;
}

/* What the kernel shows of a process; "": it is gone. */
static void read_of(pid_t pid, const char *what, char *out, size_t n)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
    FILE *file = fopen(path, "r");
    out[file != NULL ? fread(out, 1, n - 1, file) : 0] = '\0';
    if (file != NULL)
        (void)fclose(file);
}

static void *ask_for_long(void *dir)
{
    struct err err = {0};
    json_object_put(query_process_run(
        dir, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
        &(struct query_limits){.ms = 20000}, &err));
    return NULL;
}

/* The process that answers a question of that one, once it has begun. */
static pid_t answering(pid_t parent)
{
    char text[4096] = "";
    pid_t child = 0;
    for (int i = 0; i < 1000 && strstr(text, "Max open files            64 ") == NULL; i++) {
        clock_sleep_ms(2);
        child = child_of(parent);
        if (child != 0)
            read_of(child, "limits", text, sizeof text);
    }
    clock_sleep_ms(5); /* the last limit is set by now */
    return child;
}

/* Where the deadline inside does not hold, these do. */
static void the_kernel_limits_the_process_too(void **state)
{
    const struct filled *filled = *state;
    static const struct {
        const char *what;
        long long soft, hard;
    } rows[] = {{"Max cpu time", 21, 22},
                {"Max file size", QUERY_TEMP_MAX, QUERY_TEMP_MAX},
                {"Max core file size", 0, 0},
                {"Max open files", 64, 64}};
    char dir[sizeof filled->dir], limits[4096] = "", status[4096] = "", environment[64] = "x";
    pthread_t asker;
    TEXT_SET(dir, filled->dir);
    assert_int_equal(pthread_create(&asker, NULL, ask_for_long, dir), 0);
    pid_t child = answering(getpid());
    if (child != 0) {
        read_of(child, "limits", limits, sizeof limits);
        read_of(child, "status", status, sizeof status);
        read_of(child, "environ", environment, sizeof environment);
        (void)kill(child, SIGKILL);
    }
    assert_int_equal(pthread_join(asker, NULL), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *line = strstr(limits, rows[i].what);
        long long soft = -1, hard = -1;
        if (line == NULL || sscanf(line + 26, "%lld %lld", &soft, &hard) != 2 ||
            soft != rows[i].soft || hard != rows[i].hard)
            fail_msg("%s: %lld, %lld in:\n%s", rows[i].what, soft, hard, limits);
    }
    assert_non_null(strstr(status, "NoNewPrivs:\t1"));
    assert_string_equal(environment, ""); /* no secret of the appliance's */
}

/* An appliance that is killed leaves none behind. */
static void the_process_ends_with_the_one_that_asked(void **state)
{
    struct filled filled = *(struct filled *)*state;
    char stat[4096] = "x";
    pid_t asker = fork();
    if (asker == 0) {
        (void)ask_for_long(filled.dir);
        _exit(0);
    }
    pid_t child = answering(asker);
    assert_true(child != 0);
    (void)kill(asker, SIGKILL);
    assert_int_equal(waitpid(asker, NULL, 0), asker);
    for (int i = 0; i < 1000 && stat[0] != '\0' && strstr(stat, ") Z ") == NULL; i++) {
        clock_sleep_ms(2);
        read_of(child, "stat", stat, sizeof stat);
    }
    (void)kill(child, SIGKILL);
    assert_true(stat[0] == '\0' || strstr(stat, ") Z ") != NULL);
}

TEST_FILE(test_query_limits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_that_hangs_is_killed),
        cmocka_unit_test(a_process_answers_and_refuses_as_a_call_does),
        cmocka_unit_test(the_kernel_limits_the_process_too),
        cmocka_unit_test(the_process_ends_with_the_one_that_asked),
        cmocka_unit_test(no_statement_reads_a_token),
        cmocka_unit_test(a_result_has_at_most_100_columns),
        cmocka_unit_test(a_value_has_at_most_64_kib),
        cmocka_unit_test(a_stored_value_over_64_kib_is_refused_and_its_row_can_be_read),
        cmocka_unit_test(bytes_of_a_result_are_counted_per_column),
        cmocka_unit_test(no_single_function_call_takes_long),
        cmocka_unit_test(functions_whose_cost_is_not_bounded_are_not_offered),
        cmocka_unit_test(trim_removes_any_of_the_given_characters),
        cmocka_unit_test(preparing_a_statement_has_a_memory_limit),
        cmocka_unit_test(preparing_a_statement_has_a_deadline),
        cmocka_unit_test(temporary_space_is_limited),
        cmocka_unit_test(a_sort_in_temporary_files_succeeds),
        cmocka_unit_test(a_query_over_its_limits_leaves_the_store_usable),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
