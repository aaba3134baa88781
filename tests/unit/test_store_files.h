/* test_store_files.h - the store's files seen from outside: a raw connection to play somebody
 * else with, and a picture of the directory to compare with later. */
#ifndef TESTS_UNIT_TEST_STORE_FILES_H
#define TESTS_UNIT_TEST_STORE_FILES_H

#include <dirent.h>
#include <sqlite3.h>

#include "base/hash.h"
#include "tests/unit/test_store.h"

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
    uint64_t hash = HASH_START;
    char block[4096];
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return 0;
    for (size_t n; (n = fread(block, 1, sizeof block, in)) > 0;)
        hash = hash_bytes(hash, block, n);
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
                                 seen.st_mtim.tv_nsec,
                                 (unsigned long long)(seen.st_size > 0 ? hash_file(path) : 0));
        assert_true(used < TEST_PICTURE_MAX);
        free(entries[i]);
    }
    free(entries);
}

#endif
