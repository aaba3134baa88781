/* test_store_open.c - opening a state directory: what is refused is left byte for byte as it
 * was, with a line that says which file, what is wrong and what to do; what a crash or an
 * older Ferry left is taken up. */
#include "tests/unit/test_store_files.h"

#include <errno.h>
#include <fcntl.h>

#include "store/sqlite/impl.h"

enum { NOBODY = 65534 };

static void make_good(struct fixture *f)
{
    must_open(f);
    f->store->ops->begin(f->store);
    for (int i = 0; i < 200; i++) { /* several pages, so that there is a middle to damage */
        char uid[16];
        (void)snprintf(uid, sizeof uid, "job-%d", i);
        f->store->ops->put_job(f->store,
                               &(struct store_job){.uid = uid, .request.metadata_json = f->dir});
    }
    must_commit(f->store);
    struct store_sample sample = {.job_uid = "job-1"};
    assert_true(f->store->ops->append_samples(f->store, &sample, 1));
    must_close(f);
}

static void overwrite(const char *path, const void *bytes, size_t n, off_t at)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    assert_int_equal(close(fd), 0);
}

/* ---- the ways a directory can be bad; each gets the path of ferry.db ---- */

static void not_a_database(const char *path)
{
    static const char text[] = "just some notes, which somebody left under this name; and more,"
                               " since a database header is a hundred bytes and then some";
    assert_int_equal(truncate(path, 0), 0);
    overwrite(path, text, sizeof text, 0);
}
static void too_short(const char *path)
{
    assert_int_equal(truncate(path, 60), 0);
}
static void cut_in_half(const char *path)
{
    struct stat seen;
    assert_int_equal(stat(path, &seen), 0);
    assert_int_equal(truncate(path, seen.st_size / 2), 0);
}
static void a_page_overwritten(const char *path)
{
    char junk[4096];
    memset(junk, 0x5a, sizeof junk);
    overwrite(path, junk, sizeof junk, 2 * 4096);
}
static void a_table_dropped(const char *path)
{
    raw_exec(path, "DROP TABLE intents", false);
}
static void a_column_renamed(const char *path)
{
    raw_exec(path, "ALTER TABLE jobs RENAME COLUMN outcome TO result", false);
}
static void another_programs(const char *path)
{
    raw_exec(path, "PRAGMA application_id=252006673", false);
}
static void nobodys_but_not_empty(const char *path)
{
    assert_int_equal(unlink(path), 0);
    raw_exec(path, "CREATE TABLE recipes(name TEXT)", false);
}
static void nobodys_with_a_log(const char *path)
{
    assert_int_equal(unlink(path), 0);
    raw_exec(path, "PRAGMA journal_mode=WAL; CREATE TABLE recipes(name TEXT)", true);
}
static void the_samples_under_its_name(const char *path)
{
    char samples[TEST_PATH_MAX];
    (void)snprintf(samples, sizeof samples, "%.*s/samples.db", (int)(strrchr(path, '/') - path),
                   path);
    assert_int_equal(rename(samples, path), 0);
}
static void a_newer_version(const char *path)
{
    raw_exec(path, "PRAGMA user_version=99", false);
}
static void the_next_version(const char *path)
{
    char sql[64];
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version=%d", STORE_SCHEMA_VERSION + 1);
    raw_exec(path, sql, false);
}
static void a_newer_version_in_the_log_only(const char *path)
{
    raw_exec(path, "PRAGMA user_version=99", true);
}
static void a_negative_version(const char *path)
{
    raw_exec(path, "PRAGMA user_version=-1", false);
}
static void damage_under_a_log(const char *path)
{
    raw_exec(path, "DELETE FROM jobs WHERE uid='job-7'", true);
    a_page_overwritten(path);
    char junk[4096];
    memset(junk, 0x5a, sizeof junk);
    for (off_t page = 3; page < 8; page++)
        overwrite(path, junk, sizeof junk, page * 4096);
}
static void a_log_without_its_database(const char *path)
{
    raw_exec(path, "DELETE FROM jobs", true);
    assert_int_equal(unlink(path), 0);
}
static void a_log_beside_an_empty_file(const char *path)
{
    raw_exec(path, "DELETE FROM jobs", true);
    assert_int_equal(truncate(path, 0), 0);
}
static void a_journal_left_behind(const char *path)
{
    char journal[TEST_PATH_MAX];
    (void)snprintf(journal, sizeof journal, "%s-journal", path);
    overwrite(journal, "\xd9\xd5\x05\xf9", 4, 0);
}
static void a_directory(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
}
static void damaged_samples_and_no_objects(const char *path)
{
    char samples[TEST_PATH_MAX];
    (void)snprintf(samples, sizeof samples, "%.*s/samples.db", (int)(strrchr(path, '/') - path),
                   path);
    assert_int_equal(unlink(path), 0);
    not_a_database(samples);
}

static const struct refusal {
    const char *name;
    void (*spoil)(const char *path);
    enum err_code code;
    const char *words;
} refusals[] = {
    {"not a database", not_a_database, ERR_CORRUPT, "ferry.db: is not a database"},
    {"shorter than a header", too_short, ERR_CORRUPT, "ferry.db: is not a database"},
    {"cut in half", cut_in_half, ERR_CORRUPT, "ferry.db: "},
    {"a page overwritten", a_page_overwritten, ERR_CORRUPT, "ferry.db: "},
    {"a table dropped", a_table_dropped, ERR_CORRUPT, "no such table: intents"},
    {"a column renamed", a_column_renamed, ERR_CORRUPT, "outcome"},
    {"another program's", another_programs, ERR_FOREIGN, "another program"},
    {"nobody's, but not empty", nobodys_but_not_empty, ERR_FOREIGN, "another program"},
    {"nobody's, content in the log", nobodys_with_a_log, ERR_FOREIGN, "another program"},
    {"the samples under its name", the_samples_under_its_name, ERR_FOREIGN,
     "contains Ferry's samples"},
    {"a newer version", a_newer_version, ERR_NEWER, "schema version 99"},
    {"the next version", the_next_version, ERR_NEWER, "made by a newer Ferry"},
    {"a newer version, in the log only", a_newer_version_in_the_log_only, ERR_NEWER, "version 99"},
    {"a negative version", a_negative_version, ERR_CORRUPT, "schema version -1"},
    {"damage under a log", damage_under_a_log, ERR_CORRUPT, "ferry.db: "},
    {"a log without its database", a_log_without_its_database, ERR_CORRUPT, "ferry.db-wal"},
    {"a log beside an empty file", a_log_beside_an_empty_file, ERR_CORRUPT, "ferry.db-wal"},
    {"a journal left behind", a_journal_left_behind, ERR_CORRUPT, "ferry.db-journal"},
    {"a directory", a_directory, ERR_FOREIGN, "not a regular file"},
    {"damaged samples, no objects", damaged_samples_and_no_objects, ERR_CORRUPT,
     "samples.db: is not"},
};

static void expect_refusal(const struct fixture *f, enum err_code code, const char *words)
{
    struct err err = {0};
    OWNED(store) s = store_sqlite_open(f->dir, &err);
    assert_null(s);
    if (err.code != code || strstr(err.text, words) == NULL)
        fail_msg("expected %s with '%s', got %s: %s", err_name(code), words, err_name(err.code),
                 err.text);
    assert_non_null(strstr(err.text, f->dir)); /* which */
    assert_non_null(strstr(err.text, "; "));   /* what to do */
    assert_null(strchr(err.text, '\n'));       /* one line */
}

static void a_refused_file_is_left_unchanged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        char path[TEST_PATH_MAX], before[TEST_PICTURE_MAX], after[TEST_PICTURE_MAX];
        struct fixture *f = NULL;
        assert_int_equal(fixture_setup((void **)&f), 0);
        make_good(f);
        refusals[i].spoil(path_in(f, "ferry.db", path));
        take_picture(f->dir, before);
        expect_refusal(f, refusals[i].code, refusals[i].words);
        take_picture(f->dir, after);
        if (strcmp(before, after) != 0)
            fail_msg("%s: was\n%snow\n%s", refusals[i].name, before, after);
        (void)fixture_teardown((void **)&f);
    }
}

/* ---- no permission: as somebody who is not root ---- */

static const struct denied {
    const char *name, *what; /* what loses its write permission; "" the directory */
    bool with_log;
    const char *words;
} denials[] = {
    {"the objects", "ferry.db", false, "ferry.db: cannot open it for writing"},
    {"the samples", "samples.db", false, "samples.db: cannot open it for writing"},
    {"the log", "ferry.db-wal", true, "ferry.db-wal: cannot open it for writing"},
    {"the lock", "lock", false, "lock: cannot open the lock file"},
    {"the directory", "", false, "cannot use the state directory"},
};

static int give_away(const char *path, const struct stat *seen, int flag, struct FTW *at)
{
    (void)seen;
    (void)flag;
    (void)at;
    return chown(path, NOBODY, NOBODY);
}

static void an_unwritable_file_is_refused_and_left_unchanged(void **state)
{
    (void)state;
    bool is_root = geteuid() == 0; /* root may write everything: become somebody else */
    for (size_t i = 0; i < COUNT(denials); i++) {
        char path[TEST_PATH_MAX], before[TEST_PICTURE_MAX], after[TEST_PICTURE_MAX];
        struct fixture *f = NULL;
        assert_int_equal(fixture_setup((void **)&f), 0);
        make_good(f);
        if (denials[i].with_log)
            raw_exec(path_in(f, "ferry.db", path), "DELETE FROM jobs WHERE uid='job-7'", true);
        if (is_root)
            assert_int_equal(nftw(f->dir, give_away, 8, FTW_PHYS), 0);
        path_in(f, denials[i].what, path);
        assert_int_equal(chmod(path, denials[i].what[0] == '\0' ? 0555 : 0444), 0);
        take_picture(f->dir, before);
        if (is_root)
            assert_int_equal(seteuid(NOBODY), 0);
        expect_refusal(f, ERR_READ_ONLY, denials[i].words);
        if (is_root)
            assert_int_equal(seteuid(0), 0);
        take_picture(f->dir, after);
        assert_string_equal(before, after);
        assert_int_equal(chmod(f->dir, 0755), 0);
        (void)fixture_teardown((void **)&f);
    }
}

/* ---- two appliances ---- */

static void a_second_appliance_is_refused_with_the_pid_of_the_first(void **state)
{
    struct fixture *f = *state;
    char words[64];
    must_open(f);
    commit_job(f->store, "a", 1);
    (void)snprintf(words, sizeof words, "another appliance (pid %ld)", (long)getpid());
    expect_refusal(f, ERR_LOCKED, words);
    commit_job(f->store, "b", 2); /* the first did not notice */
    must_close(f);
    must_open(f);
    assert_int_equal(jobs_in(f->store), 2);
}

static void a_dead_appliances_lock_is_no_lock(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    overwrite(path_in(f, "lock", path), "1          \n", 12, 0);
    must_open(f);
}

/* ---- the directory ---- */

static void a_missing_directory_is_made_but_not_its_parents(void **state)
{
    struct fixture *f = *state, inner = {0};
    struct err err = {0};
    (void)snprintf(inner.dir, sizeof inner.dir, "%.200s/state", f->dir);
    must_open(&inner);
    commit_job(inner.store, "a", 1);
    must_close(&inner);
    (void)snprintf(inner.dir, sizeof inner.dir, "%.200s/x/y", f->dir);
    assert_null(store_sqlite_open(inner.dir, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "parent"));
}

static void a_file_is_no_state_directory(void **state)
{
    struct fixture *f = *state, inner = {0};
    (void)snprintf(inner.dir, sizeof inner.dir, "%.200s/file", f->dir);
    overwrite(inner.dir, "x", 1, 0);
    expect_refusal(&inner, ERR_INVALID, "is not a directory");
}

static void a_name_that_is_empty_or_endless_is_refused(void **state)
{
    (void)state;
    char endless[2 * DB_PATH_MAX];
    memset(endless, 'x', sizeof endless);
    endless[0] = '/';
    endless[sizeof endless - 1] = '\0';
    const char *const names[] = {"", endless};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct err err = {0};
        assert_null(store_sqlite_open(names[i], &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static void odd_names_are_only_names(void **state)
{
    static const char *const names[] = {"file:x?mode=memory", "50%25 #1?", "a b"};
    struct fixture *f = *state;
    char home[TEST_PATH_MAX];
    assert_non_null(getcwd(home, sizeof home));
    assert_int_equal(chdir(f->dir), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        struct fixture odd = {0};
        (void)snprintf(odd.dir, sizeof odd.dir, "%s", names[i]);
        must_open(&odd);
        commit_job(odd.store, "a", 1);
        must_close(&odd);
        must_open(&odd);
        assert_int_equal(jobs_in(odd.store), 1);
        must_close(&odd);
        assert_int_equal(access(names[i], F_OK), 0);
    }
    assert_int_equal(chdir(home), 0);
}

/* ---- what is taken up ---- */

static void nothing_but_the_two_files_and_the_lock_is_left_after_a_clean_stop(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"ferry.db", "samples.db", "lock"};
    make_good(f);
    struct dirent **entries = NULL;
    int n = scandir(f->dir, &entries, keep_visible, alphasort);
    assert_int_equal(n, COUNT(names));
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[TEST_PATH_MAX];
        assert_int_equal(access(path_in(f, names[i], path), F_OK), 0);
    }
}

static void both_files_carry_owner_version_log_mode_and_strict_tables(void **state)
{
    struct fixture *f = *state;
    make_good(f);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        const struct schema *schema = schema_of(lane);
        char path[TEST_PATH_MAX];
        path_in(f, schema->file, path);
        assert_int_equal(raw_int(path, "PRAGMA application_id"), schema->application_id);
        assert_int_equal(raw_int(path, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
        assert_int_equal(raw_int(path, "SELECT count(*) FROM pragma_journal_mode"
                                       " WHERE journal_mode='wal'"),
                         1);
        assert_int_equal(raw_int(path, "SELECT count(*) FROM pragma_table_list WHERE type='table'"
                                       " AND name NOT LIKE 'sqlite_%' AND strict=0"),
                         0);
        assert_int_equal(raw_int(path, "SELECT min(strict) FROM pragma_table_list"
                                       " WHERE name IN ('jobs', 'samples')"),
                         1);
    }
}

/* Which sync a kill cannot show: 2 is FULL, 1 is NORMAL. */
static void objects_are_synced_at_each_commit_and_samples_at_checkpoints(void **state)
{
    struct fixture *f = *state;
    static const int64_t wanted[LANE_COUNT] = {[LANE_OBJECTS] = 2, [LANE_SAMPLES] = 1};
    must_open(f);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        struct err err = {0};
        int64_t level = 0;
        assert_true(db_int(store_sqlite_of(f->store)->lanes[lane].db, "test", "PRAGMA synchronous",
                           &level, &err));
        assert_int_equal(level, wanted[lane]);
    }
}

static void what_a_crash_left_in_the_log_is_there(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    make_good(f);
    raw_exec(path_in(f, "ferry.db", path), "DELETE FROM jobs WHERE uid <> 'job-7'", true);
    must_open(f);
    assert_int_equal(jobs_in(f->store), 1);
    assert_true(has_job(f->store, "job-7"));
}

static void empty_files_are_taken_as_new(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    overwrite(path_in(f, "ferry.db", path), "", 0, 0);
    raw_exec(path_in(f, "samples.db", path), "VACUUM", false); /* a header and nothing else */
    overwrite(path_in(f, "ferry.db.new", path), "half a draft", 12, 0);
    must_open(f);
    commit_job(f->store, "a", 1);
    must_close(f);
    nothing_but_the_two_files_and_the_lock_is_left_after_a_clean_stop(state);
}

static void an_open_sql_shell_keeps_nobody_from_starting(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    make_good(f);
    sqlite3 *shell = NULL;
    assert_int_equal(sqlite3_open(path_in(f, "ferry.db", path), &shell), SQLITE_OK);
    assert_int_equal(sqlite3_exec(shell,
                                  "DELETE FROM jobs WHERE uid <> 'job-7'; BEGIN;"
                                  "SELECT count(*) FROM jobs",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    must_open(f);
    commit_job(f->store, "new", 1);
    assert_int_equal(jobs_in(f->store), 2);
    assert_int_equal(sqlite3_close(shell), SQLITE_OK);
}

static void a_shell_that_holds_the_write_lock_makes_commit_fail_in_bounded_time(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    struct err err = {0};
    must_open(f);
    sqlite3 *shell = NULL;
    assert_int_equal(sqlite3_open(path_in(f, "ferry.db", path), &shell), SQLITE_OK);
    assert_int_equal(sqlite3_exec(shell, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_busy_timeout(store_sqlite_of(f->store)->lanes[LANE_OBJECTS].db, 10);
    f->store->ops->begin(f->store);
    put_job(f->store, "a", 1, "");
    assert_false(f->store->ops->commit(f->store, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    assert_int_equal(sqlite3_close(shell), SQLITE_OK); /* and with it the lock */
    commit_job(f->store, "b", 2);
    assert_int_equal(jobs_in(f->store), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static void others_cannot_read_the_databases(void **state)
{
    struct fixture *f = *state;
    char path[DB_PATH_MAX];
    struct stat seen;
    make_good(f);
    static const char *const names[] = {"ferry.db", "samples.db", "lock"};
    for (size_t i = 0; i < COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", f->dir, names[i]);
        assert_int_equal(chmod(path, 0664), 0);
    }
    must_open(f);
    for (size_t i = 0; i < COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", f->dir, names[i]);
        assert_int_equal(stat(path, &seen), 0);
        assert_int_equal(seen.st_mode & 0777, 0660);
    }
    must_close(f);
}

static void a_directory_that_others_can_write_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    assert_int_equal(mkdir(f->dir, 0700) == 0 || errno == EEXIST, 1);
    assert_int_equal(chmod(f->dir, 0777), 0);
    assert_null(store_sqlite_open(f->dir, &err));
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "others can write it; chmod o-w"));
    assert_int_equal(chmod(f->dir, 0750), 0);
    must_open(f);
    must_close(f);
}

TEST_FILE(test_store_open)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_file_is_left_unchanged),
        cmocka_unit_test(an_unwritable_file_is_refused_and_left_unchanged),
        cmocka_unit_test(a_name_that_is_empty_or_endless_is_refused),
        TEST(others_cannot_read_the_databases),
        TEST(a_directory_that_others_can_write_is_refused),
        TEST(a_second_appliance_is_refused_with_the_pid_of_the_first),
        TEST(a_dead_appliances_lock_is_no_lock),
        TEST(a_missing_directory_is_made_but_not_its_parents),
        TEST(a_file_is_no_state_directory),
        TEST(odd_names_are_only_names),
        TEST(nothing_but_the_two_files_and_the_lock_is_left_after_a_clean_stop),
        TEST(both_files_carry_owner_version_log_mode_and_strict_tables),
        TEST(objects_are_synced_at_each_commit_and_samples_at_checkpoints),
        TEST(what_a_crash_left_in_the_log_is_there),
        TEST(empty_files_are_taken_as_new),
        TEST(an_open_sql_shell_keeps_nobody_from_starting),
        TEST(a_shell_that_holds_the_write_lock_makes_commit_fail_in_bounded_time),
    };
    return cmocka_run_group_tests_name("store_open", tests, NULL, NULL);
}
