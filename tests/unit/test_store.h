/* test_store.h - what the store's tests share: a state directory that vanishes, a picture of
 * it to compare with later, rows, and a raw connection to play somebody else with.
 */
#ifndef TESTS_UNIT_TEST_STORE_H
#define TESTS_UNIT_TEST_STORE_H

#include <dirent.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/sqlite.h"

enum { TEST_PATH_MAX = 512, TEST_PICTURE_MAX = 4096 };

struct fixture {
    char dir[256];
    struct store *store;
};

/* In memory where possible: these tests sync a lot and prove nothing about a disk's cache. */
static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(f->dir, sizeof f->dir, "%s/ferry-store-XXXXXX", base);
    if (mkdtemp(f->dir) == NULL)
        return -1;
    *state = f;
    return 0;
}

static inline int remove_entry(const char *path, const struct stat *seen, int flag, struct FTW *at)
{
    (void)seen;
    (void)flag;
    (void)at;
    return remove(path);
}

static inline void remove_tree(const char *dir)
{
    (void)nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    store_free(f->store);
    remove_tree(f->dir);
    free(f);
    return 0;
}

static inline const char *path_in(const struct fixture *f, const char *name, char *out_path)
{
    (void)snprintf(out_path, TEST_PATH_MAX, "%s/%s", f->dir, name);
    return out_path;
}

static inline void must_open(struct fixture *f)
{
    struct err err = {0};
    f->store = store_sqlite_open(f->dir, &err);
    if (f->store == NULL)
        fail_msg("open: %s: %s", err_name(err.code), err.text);
}

static inline void must_close(struct fixture *f)
{
    store_free(f->store);
    f->store = NULL;
}

static inline void must_commit(struct store *s)
{
    struct err err = {0};
    if (!s->ops->commit(s, &err))
        fail_msg("commit: %s: %s", err_name(err.code), err.text);
}

static inline void put_job(struct store *s, const char *uid, int64_t created_ms, const char *outcome)
{
    struct store_job job = {.uid = uid, .ns = "default", .name = uid, .outcome = outcome,
                            .created_ms = created_ms};
    s->ops->put_job(s, &job);
}

static inline void commit_job(struct store *s, const char *uid, int64_t created_ms)
{
    s->ops->begin(s);
    put_job(s, uid, created_ms, "");
    must_commit(s);
}

static inline bool count_job(void *ctx, const struct store_job *row)
{
    (void)row;
    ++*(size_t *)ctx;
    return true;
}

static inline size_t jobs_in(struct store *s)
{
    struct err err = {0};
    size_t n = 0;
    if (!s->ops->each_job(s, false, count_job, &n, &err))
        fail_msg("each_job: %s", err.text);
    return n;
}

struct job_search {
    const char *uid;
    bool found;
};

static inline bool match_job(void *ctx, const struct store_job *row)
{
    struct job_search *search = ctx;
    search->found = strcmp(row->uid, search->uid) == 0;
    return !search->found;
}

static inline bool has_job(struct store *s, const char *uid)
{
    struct err err = {0};
    struct job_search search = {.uid = uid};
    if (!s->ops->each_job(s, false, match_job, &search, &err))
        fail_msg("each_job: %s", err.text);
    return search.found;
}

/* Somebody else with a SQL shell. leave_log: goes away as a crash does, the -wal stays. */
static inline void raw_exec(const char *path, const char *sql, bool leave_log)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (leave_log)
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline int64_t raw_int(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return value;
}

static inline uint64_t hash_file(const char *path)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return 0;
    for (int c = getc(in); c != EOF; c = getc(in))
        hash = (hash ^ (uint64_t)(unsigned char)c) * 1099511628211U;
    (void)fclose(in);
    return hash;
}

static inline int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Every file with size, time of change and a hash of its bytes, sorted, as text. Of the lock
 * only that it is there: it holds the pid of whoever tried last. */
static inline void take_picture(const char *dir, char *out_text)
{
    struct dirent **entries = NULL;
    size_t used = 0;
    int n = scandir(dir, &entries, keep_visible, alphasort);
    assert_true(n >= 0);
    out_text[0] = '\0';
    for (int i = 0; i < n; i++) {
        char path[TEST_PATH_MAX];
        struct stat seen;
        (void)snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        assert_int_equal(lstat(path, &seen), 0);
        if (strcmp(entries[i]->d_name, "lock") == 0)
            seen = (struct stat){0};
        used += (size_t)snprintf(out_text + used, TEST_PICTURE_MAX - used,
                                 "%s %lld %lld.%09ld %016llx\n", entries[i]->d_name,
                                 (long long)seen.st_size, (long long)seen.st_mtim.tv_sec,
                                 seen.st_mtim.tv_nsec, (unsigned long long)(seen.st_size > 0 ? hash_file(path) : 0));
        assert_true(used < TEST_PICTURE_MAX);
        free(entries[i]);
    }
    free(entries);
}

#endif
