/* test_store_vfs.c - every write, sync and truncate of SQLite fails once, or from then on, or
 * is the last thing the process does: n = 1, 2, 3, ... until a run needs fewer. With
 * FERRY_TEST_SIZE=full each n for each kind of fault; else a sample of them.
 *
 * Laws, for every n:
 *   1. a commit that said true is there after the next open, always;
 *   2. a commit that said false is not seen by this process, and others still work;
 *   3. an open that fails says which file and why, and leaves the directory as it was;
 *   4. the next open, with the fault gone, succeeds (it checks integrity) and has every job
 *      that was there at the start, of an older version too, and each event of it once.
 * The shim is a VFS around SQLite's own, made the default one: the store knows nothing of it.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "tests/unit/test_store_v1.h"

#include "base/clock.h"
#include "base/log.h"
#include "store/sqlite/impl.h"

enum { RUNS_MAX = 5000, JOBS = 2, FIRST_JOBS = 2, KINDS = 5, STRIDE = 19 };

enum blow { BLOW_FAIL, BLOW_KILL };

/* One per test program; SQLite hands it back through the VFS. */
struct faults {
    sqlite3_vfs *real;
    atomic_int left; /* operations until it strikes; < 0: not armed */
    atomic_int hits;
    enum blow blow;
    int code; /* SQLITE_IOERR or SQLITE_FULL */
    bool is_sticky;
};

struct shim_file {
    sqlite3_file base;
    struct faults *faults;
    sqlite3_file *real;
};

static struct shim_file *shim(sqlite3_file *file)
{
    return (struct shim_file *)(void *)file;
}

static bool strikes(struct faults *faults)
{
    int left = atomic_load(&faults->left);
    if (left < 0)
        return false;
    if (left > 1) {
        atomic_fetch_sub(&faults->left, 1);
        return false;
    }
    atomic_fetch_add(&faults->hits, 1);
    atomic_store(&faults->left, faults->is_sticky ? 1 : -1);
    return true;
}

static int strike(struct faults *faults, int code)
{
    if (faults->blow == BLOW_KILL)
        (void)raise(SIGKILL);
    return faults->code == SQLITE_FULL ? SQLITE_FULL : code;
}

/* ---- the file methods: three that fail, the others pass through ---- */

static int shim_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
    sqlite3_file *real = shim(file)->real;
    if (!strikes(shim(file)->faults))
        return real->pMethods->xWrite(real, data, n, at);
    (void)real->pMethods->xWrite(real, data, n / 2, at); /* as a torn write does */
    return strike(shim(file)->faults, SQLITE_IOERR_WRITE);
}
static int shim_sync(sqlite3_file *file, int flags)
{
    sqlite3_file *real = shim(file)->real;
    if (!strikes(shim(file)->faults))
        return real->pMethods->xSync(real, flags);
    return strike(shim(file)->faults, SQLITE_IOERR_FSYNC);
}
static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = shim(file)->real;
    if (!strikes(shim(file)->faults))
        return real->pMethods->xTruncate(real, size);
    return strike(shim(file)->faults, SQLITE_IOERR_TRUNCATE);
}
static int shim_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    sqlite3_file *real = shim(file)->real;
    if (extend == 0 || !strikes(shim(file)->faults))
        return real->pMethods->xShmMap(real, page, size, extend, out);
    *out = NULL;
    return strike(shim(file)->faults, SQLITE_IOERR_SHMSIZE);
}
static int shim_close(sqlite3_file *file)
{
    return shim(file)->real->pMethods->xClose(shim(file)->real);
}
static int shim_read(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
    return shim(file)->real->pMethods->xRead(shim(file)->real, data, n, at);
}
static int shim_size(sqlite3_file *file, sqlite3_int64 *out_size)
{
    return shim(file)->real->pMethods->xFileSize(shim(file)->real, out_size);
}
static int shim_lock(sqlite3_file *file, int level)
{
    return shim(file)->real->pMethods->xLock(shim(file)->real, level);
}
static int shim_unlock(sqlite3_file *file, int level)
{
    return shim(file)->real->pMethods->xUnlock(shim(file)->real, level);
}
static int shim_reserved(sqlite3_file *file, int *out_held)
{
    return shim(file)->real->pMethods->xCheckReservedLock(shim(file)->real, out_held);
}
static int shim_control(sqlite3_file *file, int op, void *arg)
{
    return shim(file)->real->pMethods->xFileControl(shim(file)->real, op, arg);
}
static int shim_sector(sqlite3_file *file)
{
    return shim(file)->real->pMethods->xSectorSize(shim(file)->real);
}
static int shim_traits(sqlite3_file *file)
{
    return shim(file)->real->pMethods->xDeviceCharacteristics(shim(file)->real);
}
static int shim_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
    return shim(file)->real->pMethods->xShmLock(shim(file)->real, at, n, flags);
}
static void shim_shm_barrier(sqlite3_file *file)
{
    shim(file)->real->pMethods->xShmBarrier(shim(file)->real);
}
static int shim_shm_unmap(sqlite3_file *file, int remove)
{
    return shim(file)->real->pMethods->xShmUnmap(shim(file)->real, remove);
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_traits,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    struct faults *faults = vfs->pAppData;
    struct shim_file *mine = shim(file);
    mine->base.pMethods = NULL;
    mine->faults = faults;
    mine->real = (sqlite3_file *)(void *)(mine + 1);
    int rc = faults->real->xOpen(faults->real, name, mine->real, flags, out_flags);
    if (mine->real->pMethods != NULL)
        mine->base.pMethods = &shim_methods;
    return rc;
}

static void install(sqlite3_vfs *vfs, struct faults *faults)
{
    faults->real = sqlite3_vfs_find(NULL);
    atomic_store(&faults->left, -1);
    *vfs = *faults->real;
    vfs->zName = "ferry-faults";
    vfs->pNext = NULL;
    vfs->pAppData = faults;
    vfs->szOsFile = (int)sizeof(struct shim_file) + faults->real->szOsFile;
    vfs->xOpen = shim_open;
    assert_int_equal(sqlite3_vfs_register(vfs, 1), SQLITE_OK);
}

/* ---- the work that is done under faults ---- */

struct outcome {
    bool was_opened;
    bool acked[JOBS];
    unsigned refused;
};

static void job_name(int i, char *out_uid)
{
    (void)snprintf(out_uid, 16, "job-%d", i);
}

/* Big enough for several pages. The rider comes after a put that may have failed, and must not
 * travel alone. */
static bool try_commit(struct store *s, int i, struct err *err)
{
    char uid[16], filler[6000];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    job_name(i, uid);
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = uid, .request.metadata_json = filler});
    s->ops->put_job(s, &(struct store_job){.uid = "rider", .ns = uid});
    return s->ops->commit(s, err);
}

static bool is_rider(void *ctx, const struct store_job *row)
{
    struct job_search *search = ctx;
    search->found |= strcmp(row->uid, "rider") == 0 && strcmp(row->ns, search->uid) == 0;
    return true;
}

static bool has_any_of(struct store *s, const char *uid)
{
    struct err err = {0};
    struct job_search rider = {.uid = uid};
    return has_job(s, uid) || !s->ops->each_job(s, false, is_rider, &rider, &err) || rider.found;
}

/* ack >= 0: each acknowledged job is written there at once, for the one who outlives us. */
static struct outcome work(const char *dir, int ack, struct err *err)
{
    struct outcome done = {0};
    struct store *s = store_sqlite_open(dir, err);
    if (s == NULL)
        return done;
    done.was_opened = true;
    /* Brings checkpoints into commits, and writes (of a cache that overflows) into puts. */
    (void)sqlite3_exec(store_sqlite_of(s)->lanes[LANE_OBJECTS].db,
                       "PRAGMA wal_autocheckpoint=3; PRAGMA cache_size=1", NULL, NULL, NULL);
    for (int i = 0; i < JOBS; i++) {
        struct err refusal = {0};
        char uid[16];
        job_name(i, uid);
        done.acked[i] = try_commit(s, i, &refusal);
        done.refused += !done.acked[i];
        if (!done.acked[i] && (has_any_of(s, uid) || refusal.text[0] == '\0'))
            abort(); /* law 2; also in a forked child */
        if (done.acked[i] && ack >= 0 && write(ack, &i, sizeof i) != sizeof i)
            abort();
    }
    struct store_sample sample = {.job_uid = "job-0"};
    struct err lost = {0};
    (void)s->ops->append_samples(s, &sample, 1);
    (void)s->ops->flush_samples(s, 5000, &lost);
    store_free(s);
    return done;
}

/* ---- where it starts from ---- */

static void from_nothing(struct fixture *f)
{
    (void)f;
}
static void from_empty_files(struct fixture *f)
{
    char path[TEST_PATH_MAX];
    FILE *out = fopen(path_in(f, "ferry.db", path), "wb");
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
    raw_exec(path_in(f, "samples.db", path), "VACUUM", false); /* a header and nothing else */
}
static void from_a_clean_stop(struct fixture *f)
{
    must_open(f);
    for (int i = 0; i < FIRST_JOBS; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof uid, "first-%d", i);
        commit_job(f->store, uid, i);
    }
    must_close(f);
}
static void from_a_crash(struct fixture *f)
{
    char path[TEST_PATH_MAX];
    from_a_clean_stop(f);
    raw_exec(path_in(f, "ferry.db", path), "UPDATE jobs SET name = 'renamed'", true);
}

static void from_version_1(struct fixture *f)
{
    v1_build(f);
}
static void from_a_crash_of_version_1(struct fixture *f)
{
    char path[TEST_PATH_MAX];
    v1_build(f);
    raw_exec(path_in(f, "ferry.db", path), "UPDATE jobs SET name = 'renamed'", true);
}

static const struct start {
    const char *name;
    void (*prepare)(struct fixture *f);
    size_t jobs;
    bool has_log; /* that stays, with what an open that failed had brought forward in it */
} starts[] = {
    {"nothing", from_nothing, 0, false},
    {"empty files", from_empty_files, 0, false},
    {"a clean stop", from_a_clean_stop, FIRST_JOBS, false},
    {"a crash", from_a_crash, FIRST_JOBS, true},
    {"version 1", from_version_1, V1_JOBS, false},
    {"a crash of version 1", from_a_crash_of_version_1, V1_JOBS, true},
};

/* A directory prepared once per kind of start, copied for each run. */
static void copy_file(const char *from, const char *to)
{
    char block[4096];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in != NULL && out != NULL);
    for (size_t n = fread(block, 1, sizeof block, in); n > 0; n = fread(block, 1, sizeof block, in))
        assert_int_equal(fwrite(block, 1, n, out), n);
    (void)fclose(in);
    assert_int_equal(fclose(out), 0);
}

static struct fixture *copy_of(const struct fixture *original)
{
    static const char *const names[] = {"ferry.db", "ferry.db-wal", "ferry.db-shm", "samples.db"};
    struct fixture *f = NULL;
    assert_int_equal(fixture_setup((void **)&f), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        char from[TEST_PATH_MAX], to[TEST_PATH_MAX];
        if (access(path_in(original, names[i], from), F_OK) == 0)
            copy_file(from, path_in(f, names[i], to));
    }
    return f;
}

/* From one fault to the next; each kind begins at its own place. */
static int stride(void)
{
    return (int)test_size(4 * STRIDE * KINDS, STRIDE * KINDS, 1);
}
static int first_fault(int kind)
{
    return stride() == 1 ? 1 : 1 + kind;
}

/* Laws 1 and 4. */
static void expect_durable(struct fixture *f, const bool *acked, const char *who, int n)
{
    struct err err = {0};
    f->store = store_sqlite_open(f->dir, &err);
    if (f->store == NULL)
        fail_msg("%s, fault %d: the next open fails: %s", who, n, err.text);
    for (int i = 0; i < JOBS; i++) {
        char uid[16];
        job_name(i, uid);
        if (acked[i] && !has_job(f->store, uid))
            fail_msg("%s, fault %d: %s was acknowledged and is gone", who, n, uid);
    }
    commit_job(f->store, "after", 99);
}

static bool sum_events(void *ctx, const struct store_event *row)
{
    int64_t *sums = ctx;
    sums[0]++;
    sums[1] += row->count;
    return true;
}

/* Law 4, of the version whose events were not counted yet: none is lost, none counts twice. */
static void expect_events_once(struct store *s, const struct start *start)
{
    struct err err = {0};
    int64_t sums[2] = {0};
    bool was_v1 = start->prepare == from_version_1 || start->prepare == from_a_crash_of_version_1;
    assert_true(s->ops->each_event(s, NULL, 100, sum_events, sums, &err));
    assert_int_equal(sums[0], was_v1 ? V1_EVENTS_ONCE : 0);
    assert_int_equal(sums[1], was_v1 ? V1_EVENTS : 0);
}

/* ---- failing ---- */

static void run_failing(struct faults *faults, const struct start *start,
                        const struct fixture *original, int n)
{
    char before[TEST_PICTURE_MAX], after[TEST_PICTURE_MAX];
    struct fixture *f = copy_of(original);
    struct err err = {0};
    take_picture(f->dir, before);
    atomic_store(&faults->hits, 0);
    atomic_store(&faults->left, n);
    struct outcome done = work(f->dir, -1, &err);
    atomic_store(&faults->left, -1);
    take_picture(f->dir, after);

    if (!done.was_opened) { /* law 3 */
        enum err_code want = faults->code == SQLITE_FULL ? ERR_FULL : ERR_IO;
        if (err.code != want || strstr(err.text, ".db") == NULL)
            fail_msg("%s, fault %d: %s: %s", start->name, n, err_name(err.code), err.text);
        if (strcmp(before, after) != 0 && !start->has_log)
            fail_msg("%s, fault %d: was\n%snow\n%s", start->name, n, before, after);
    }
    if (!faults->is_sticky)
        assert_true(done.refused <= 1); /* law 2: the next one works */
    expect_durable(f, done.acked, start->name, n);
    for (size_t i = 0; i < start->jobs; i++) {
        char uid[32];
        (void)snprintf(uid, sizeof uid, "first-%zu", i);
        assert_true(has_job(f->store, uid));
    }
    expect_events_once(f->store, start);
    (void)fixture_teardown((void **)&f);
}

static void run_all_failing(struct faults *faults, int kind, int code, bool is_sticky)
{
    faults->blow = BLOW_FAIL;
    faults->code = code;
    faults->is_sticky = is_sticky;
    for (size_t i = 0; i < COUNT(starts); i++) {
        struct fixture *original = NULL;
        assert_int_equal(fixture_setup((void **)&original), 0);
        starts[i].prepare(original);
        int n = first_fault(kind);
        do {
            assert_true(n < RUNS_MAX);
            run_failing(faults, &starts[i], original, n);
            n += stride();
        } while (atomic_load(&faults->hits) > 0);
        assert_true(n > 20); /* the faults do reach the work */
        (void)fixture_teardown((void **)&original);
    }
}

static void with_an_io_error_once(void **state)
{
    run_all_failing(*state, 0, SQLITE_IOERR, false);
}
static void with_a_disk_that_stays_broken(void **state)
{
    run_all_failing(*state, 1, SQLITE_IOERR, true);
}
static void with_a_disk_that_is_full_once(void **state)
{
    run_all_failing(*state, 2, SQLITE_FULL, false);
}
static void with_a_disk_that_stays_full(void **state)
{
    run_all_failing(*state, 3, SQLITE_FULL, true);
}

static void a_flush_that_cannot_sync_says_so(void **state)
{
    struct faults *faults = *state;
    struct fixture *f = NULL;
    struct err err = {0}, again = {0};
    struct store_sample sample = {.job_uid = "job-0"};
    struct store_stats stats = {0};
    assert_int_equal(fixture_setup((void **)&f), 0);
    must_open(f);
    assert_true(f->store->ops->append_samples(f->store, &sample, 1));
    for (int i = 0; i < 500 && stats.samples_written == 0; i++) {
        clock_sleep_ms(10);
        f->store->ops->stats(f->store, &stats);
    }
    assert_int_equal(stats.samples_written, 1);
    faults->blow = BLOW_FAIL;
    faults->code = SQLITE_IOERR;
    faults->is_sticky = true;
    atomic_store(&faults->left, 1);
    bool flushed = f->store->ops->flush_samples(f->store, 5000, &err);
    atomic_store(&faults->left, -1);
    assert_false(flushed);
    assert_int_equal(err.code, ERR_IO);
    assert_true(f->store->ops->flush_samples(f->store, 5000, &again)); /* said once */
    (void)fixture_teardown((void **)&f);
}

/* ---- dying ---- */

/* The acknowledged jobs, read from a child that was killed or not. */
static bool read_acks(int fd, pid_t child, bool *acked)
{
    int i = 0, status = 0;
    while (read(fd, &i, sizeof i) == sizeof i) {
        assert_in_range(i, 0, JOBS - 1);
        acked[i] = true;
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static bool run_dying(struct faults *faults, const struct start *start,
                      const struct fixture *original, int n)
{
    struct fixture *f = copy_of(original);
    bool acked[JOBS] = {false};
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct err err = {0};
        (void)close(pipe_fds[0]);
        atomic_store(&faults->left, n);
        _exit(work(f->dir, pipe_fds[1], &err).was_opened ? 0 : 1);
    }
    assert_int_equal(close(pipe_fds[1]), 0);
    bool was_killed = read_acks(pipe_fds[0], child, acked);
    expect_durable(f, acked, start->name, n);
    assert_true(jobs_in(f->store) >= start->jobs + 1);
    expect_events_once(f->store, start);
    (void)fixture_teardown((void **)&f);
    return was_killed;
}

static void with_the_process_killed(void **state)
{
    struct faults *faults = *state;
    faults->blow = BLOW_KILL;
    faults->is_sticky = false;
    for (size_t i = 0; i < COUNT(starts); i++) {
        struct fixture *original = NULL;
        assert_int_equal(fixture_setup((void **)&original), 0);
        starts[i].prepare(original);
        int n = first_fault(KINDS - 1);
        while (run_dying(faults, &starts[i], original, n)) {
            n += stride();
            assert_true(n < RUNS_MAX);
        }
        assert_true(n > 20);
        (void)fixture_teardown((void **)&original);
    }
}

TEST_FILE(test_store_vfs)
{
    struct faults faults = {0};
    sqlite3_vfs vfs;
    install(&vfs, &faults);
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO); /* lost samples are the plan */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(with_an_io_error_once, &faults),
        cmocka_unit_test_prestate(with_a_disk_that_stays_broken, &faults),
        cmocka_unit_test_prestate(with_a_disk_that_is_full_once, &faults),
        cmocka_unit_test_prestate(with_a_disk_that_stays_full, &faults),
        cmocka_unit_test_prestate(a_flush_that_cannot_sync_says_so, &faults),
        cmocka_unit_test_prestate(with_the_process_killed, &faults),
    };
    return cmocka_run_group_tests_name("store_vfs", tests, NULL, NULL);
}
