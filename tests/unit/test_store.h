/* test_store.h - what the store's tests share: a state directory that vanishes, and jobs. */
#ifndef TESTS_UNIT_TEST_STORE_H
#define TESTS_UNIT_TEST_STORE_H

#include "tests/test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/any/any.h"
#include "store/sqlite/sqlite.h"
#include "tests/unit/postgres_server.h"

enum { TEST_PATH_MAX = 512, TEST_PICTURE_MAX = 4096 };

struct fixture {
    char dir[256];
    char url[POSTGRES_URL_MAX]; /* "": the store is in dir */
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
    f->store = store_open(f->url[0] != '\0' ? f->url : f->dir, &err);
    if (f->store == NULL)
        fail_msg("open: %s: %s", err_name(err.code), err.text);
}

/* A store on PostgreSQL, in a schema of its own. */
static inline int postgres_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    postgres_new_url(f->url);
    must_open(f);
    return 0;
}

static inline int postgres_teardown(void **state)
{
    struct fixture *f = *state;
    store_free(f->store);
    free(f);
    return 0;
}

#define POSTGRES_TEST(name) cmocka_unit_test_setup_teardown(name, postgres_setup, postgres_teardown)

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

static inline void put_job(struct store *s, const char *uid, int64_t created_ms,
                           const char *outcome)
{
    struct store_job job = {.uid = uid,
                            .ns = "default",
                            .name = uid,
                            .result.outcome = outcome,
                            .times.created_ms = created_ms};
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

#endif
