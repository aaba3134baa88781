/* test_store_disk.c - a disk that is really full, really read-only, and a process that is
 * really killed.
 *
 * The disk is a tmpfs of a few pages, mounted in a mount namespace of this process only: it is
 * gone when the process is. That needs root; without it those tests are skipped and say so.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/unit/test_store_v1.h"

#include "base/log.h"

enum { PAGE = 4096, DISK_PAGES = 512, SWEEP_MAX = 200 };

/* ---- a small disk ---- */

static bool can_mount(void)
{
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        return true;
    print_message("skipped: no mount namespace of our own (%s); needs root\n", strerror(errno));
    return false;
}

static void mount_disk(const struct fixture *f, int pages)
{
    char options[64];
    (void)snprintf(options, sizeof options, "mode=0700,size=%d", pages * PAGE);
    if (mount("ferry-test", f->dir, "tmpfs", 0, options) != 0)
        fail_msg("mount: %s", strerror(errno));
}

static void unmount_disk(const struct fixture *f)
{
    if (umount(f->dir) != 0)
        fail_msg("umount: %s", strerror(errno));
}

/* Fills the disk but for so many pages. */
static void fill_disk(const struct fixture *f, int free_pages)
{
    char path[TEST_PATH_MAX], page[PAGE];
    int fd = open(path_in(f, "filler", path), O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    memset(page, 'x', sizeof page);
    off_t pages = 0;
    while (pwrite(fd, page, PAGE, pages * PAGE) == PAGE)
        pages++;
    assert_int_equal(errno, ENOSPC);
    assert_true(pages > free_pages);
    assert_int_equal(ftruncate(fd, (pages - free_pages) * PAGE), 0);
    assert_int_equal(close(fd), 0);
}

static void empty_disk(const struct fixture *f)
{
    char path[TEST_PATH_MAX];
    assert_int_equal(unlink(path_in(f, "filler", path)), 0);
}

/* True when it opened; else it must have been the disk, and nothing may have changed. */
static bool opens_or_leaves_no_trace(struct fixture *f)
{
    char before[TEST_PICTURE_MAX], after[TEST_PICTURE_MAX];
    struct err err = {0};
    take_picture(f->dir, before);
    f->store = store_sqlite_open(f->dir, &err);
    if (f->store != NULL)
        return true;
    take_picture(f->dir, after);
    if (err.code != ERR_FULL || strstr(err.text, "free some space") == NULL ||
        strstr(err.text, f->dir) == NULL)
        fail_msg("%s: %s", err_name(err.code), err.text);
    assert_string_equal(before, after);
    return false;
}

/* Room grows by so many pages from one try to the next; FERRY_TEST_SIZE=full: page by page. */
static int sweep_step(void)
{
    return (int)test_size(7, 3, 1);
}

static int good_step(void)
{
    return (int)test_size(3, 1, 1);
}

/* More and more room, until a new store fits. */
static void a_new_store_on_a_full_disk_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    if (!can_mount())
        skip();
    int pages = 1;
    for (bool opened = false; !opened; pages += sweep_step()) {
        assert_true(pages < SWEEP_MAX);
        mount_disk(f, pages);
        opened = opens_or_leaves_no_trace(f);
        must_close(f);
        unmount_disk(f);
    }
    assert_true(pages > 10);
}

static void a_good_store_on_a_full_disk_is_left_as_it_was(void **state)
{
    struct fixture *f = *state;
    if (!can_mount())
        skip();
    mount_disk(f, DISK_PAGES);
    must_open(f);
    commit_job(f->store, "kept", 1);
    must_close(f);
    int free_pages = 0;
    for (bool opened = false; !opened; free_pages += good_step()) {
        assert_true(free_pages < SWEEP_MAX);
        fill_disk(f, free_pages);
        opened = opens_or_leaves_no_trace(f);
        empty_disk(f);
    }
    assert_true(free_pages > 1);
    assert_true(has_job(f->store, "kept"));
    must_close(f);
    unmount_disk(f);
}

/* The step to the current version does not fit: version 1 is untouched, until there is room. */
static void a_file_of_version_1_on_a_full_disk_is_left_as_it_was(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    if (!can_mount())
        skip();
    mount_disk(f, DISK_PAGES);
    v1_build(f);
    int free_pages = 0;
    for (bool opened = false; !opened; free_pages += sweep_step()) {
        assert_true(free_pages < SWEEP_MAX);
        fill_disk(f, free_pages);
        opened = opens_or_leaves_no_trace(f);
        empty_disk(f);
    }
    assert_true(free_pages > 15); /* it did fail inside the step */
    assert_int_equal(jobs_in(f->store), V1_JOBS);
    must_close(f);
    assert_int_equal(raw_int(path_in(f, "ferry.db", path), "SELECT sum(count) FROM events"),
                     V1_EVENTS);
    unmount_disk(f);
}

static bool commit_big(struct store *s, const char *uid, struct err *err)
{
    char text[5 * PAGE];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = uid, .request.metadata_json = text});
    s->ops->put_transition(s, &(struct store_transition){.job_uid = uid, .seq = 1});
    put_job(s, "rider", 2, "");
    return s->ops->commit(s, err);
}

static void a_commit_on_a_full_disk_fails_whole_and_works_again_later(void **state)
{
    struct fixture *f = *state;
    if (!can_mount())
        skip();
    mount_disk(f, DISK_PAGES);
    must_open(f);
    commit_job(f->store, "kept", 1);
    int failures = 0;
    for (bool done = false; !done; failures++) {
        struct err err = {0};
        assert_true(failures < SWEEP_MAX);
        fill_disk(f, failures);
        done = commit_big(f->store, "big", &err);
        assert_true(done || err.code == ERR_FULL);
        assert_true(has_job(f->store, "kept"));
        assert_int_equal(jobs_in(f->store), done ? 3 : 1);
        empty_disk(f);
    }
    assert_true(failures > 2); /* the last one was none */
    struct store_stats stats;
    f->store->ops->stats(f->store, &stats);
    assert_int_equal(stats.commit_failures, failures - 1);
    commit_job(f->store, "after", 3);
    must_close(f);
    must_open(f);
    assert_int_equal(jobs_in(f->store), 4);
    must_close(f);
    unmount_disk(f);
}

static bool count_sample(void *ctx, const struct store_sample *row)
{
    (void)row;
    ++*(size_t *)ctx;
    return true;
}

static size_t count_lines(FILE *log, const char *word)
{
    char text[4096];
    size_t n = 0;
    rewind(log);
    while (fgets(text, sizeof text, log) != NULL)
        n += strstr(text, word) != NULL;
    return n;
}

static void samples_on_a_full_disk_are_counted_as_lost_and_flush_says_why(void **state)
{
    struct fixture *f = *state;
    struct err full = {0}, err = {0};
    struct store_stats stats;
    size_t n = 0;
    if (!can_mount())
        skip();
    mount_disk(f, DISK_PAGES);
    must_open(f);
    struct store *s = f->store;
    fill_disk(f, 0);
    struct store_sample row = {.job_uid = "j"};
    for (row.seq = 0; row.seq < 300; row.seq++)
        assert_true(s->ops->append_samples(s, &row, 1));
    assert_false(s->ops->flush_samples(s, 5000, &full));
    assert_int_equal(full.code, ERR_FULL);
    s->ops->stats(s, &stats);
    assert_int_equal(stats.samples_written + stats.samples_dropped, 300);
    assert_true(stats.samples_dropped > 0);

    empty_disk(f);
    assert_true(s->ops->append_samples(s, &row, 1));
    if (!s->ops->flush_samples(s, 5000, &err))
        fail_msg("%s", err.text);
    assert_true(s->ops->each_sample(s, "j", count_sample, &n, &err));
    assert_int_equal(n, stats.samples_written + 1);

    /* Nobody flushes in the appliance: a second loss must be told all the same. */
    FILE *log = tmpfile();
    log_setup(LOG_LEVEL_WARN, LOG_FORMAT_TEXT, fileno(log));
    fill_disk(f, 0);
    for (int i = 0; i < 2; i++) {
        for (row.seq = 0; row.seq < 300; row.seq++)
            assert_true(s->ops->append_samples(s, &row, 1));
        assert_false(s->ops->flush_samples(s, 5000, &(struct err){0}));
    }
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    assert_int_equal(count_lines(log, "samples_lost"), 1);
    (void)fclose(log);
    must_close(f);
    unmount_disk(f);
}

static void a_disk_mounted_read_only_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    if (!can_mount())
        skip();
    mount_disk(f, DISK_PAGES);
    must_open(f);
    must_close(f);
    assert_int_equal(mount("none", f->dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_null(store_sqlite_open(f->dir, &err));
    assert_int_equal(err.code, ERR_READ_ONLY);
    assert_non_null(strstr(err.text, f->dir));
    unmount_disk(f);
}

/* ---- a process that is killed ---- */

enum { ROUNDS = 5, ACKS_PER_ROUND = 25 };

static void commit_for_ever(const char *dir, int ack, int first)
{
    struct err err = {0};
    struct store *s = store_sqlite_open(dir, &err);
    for (int i = first; s != NULL; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof uid, "job-%d", i);
        s->ops->begin(s);
        put_job(s, uid, i, "");
        s->ops->put_intent(s, &(struct store_intent){.job_uid = uid, .status = "open"});
        if (!s->ops->commit(s, &err) || write(ack, &i, sizeof i) != sizeof i)
            break;
    }
    _exit(1);
}

/* Lets it commit some, kills it wherever it is, and returns the last job it acknowledged. */
static int run_and_kill(const struct fixture *f, int first)
{
    int pipe_fds[2], last = first - 1, i = 0, status = 0;
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        commit_for_ever(f->dir, pipe_fds[1], first);
    assert_int_equal(close(pipe_fds[1]), 0);
    while (last < first + ACKS_PER_ROUND && read(pipe_fds[0], &i, sizeof i) == sizeof i)
        last = i;
    assert_int_equal(kill(child, SIGKILL), 0);
    while (read(pipe_fds[0], &i, sizeof i) == sizeof i)
        last = i; /* acknowledged before it died */
    assert_int_equal(close(pipe_fds[0]), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return last;
}

static bool count_intent(void *ctx, const struct store_intent *row)
{
    assert_string_equal(row->status, "open");
    ++*(size_t *)ctx;
    return true;
}

static void every_acknowledged_job_is_there_after_a_kill(void **state)
{
    struct fixture *f = *state;
    int last = -1;
    for (int round = 0; round < ROUNDS; round++) {
        last = run_and_kill(f, last + 1);
        must_open(f);
        size_t n = jobs_in(f->store);
        assert_in_range(n, last + 1, last + 2); /* one more may be committed, not acknowledged */
        for (int i = 0; i <= last; i++) {
            char uid[16];
            struct err err = {0};
            size_t intents = 0;
            (void)snprintf(uid, sizeof uid, "job-%d", i);
            assert_true(f->store->ops->each_intent(f->store, uid, count_intent, &intents, &err));
            assert_int_equal(intents, 1);
        }
        last = (int)n - 1;
        must_close(f);
    }
    assert_true(last >= ROUNDS * ACKS_PER_ROUND);
}

static void the_lock_of_a_killed_appliance_is_free(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    int pipe_fds[2], i = 0;
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        commit_for_ever(f->dir, pipe_fds[1], 0);
    assert_int_equal(close(pipe_fds[1]), 0);
    assert_int_equal(read(pipe_fds[0], &i, sizeof i), sizeof i);
    char words[32];
    (void)snprintf(words, sizeof words, "(pid %ld)", (long)child);
    assert_null(store_sqlite_open(f->dir, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    assert_non_null(strstr(err.text, words));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(close(pipe_fds[0]), 0);
    must_open(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

TEST_FILE(test_store_disk)
{
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO); /* lost samples are the plan */
    const struct CMUnitTest tests[] = {
        TEST(a_new_store_on_a_full_disk_leaves_nothing),
        TEST(a_good_store_on_a_full_disk_is_left_as_it_was),
        TEST(a_file_of_version_1_on_a_full_disk_is_left_as_it_was),
        TEST(a_commit_on_a_full_disk_fails_whole_and_works_again_later),
        TEST(samples_on_a_full_disk_are_counted_as_lost_and_flush_says_why),
        TEST(a_disk_mounted_read_only_is_refused),
        TEST(every_acknowledged_job_is_there_after_a_kill),
        TEST(the_lock_of_a_killed_appliance_is_free),
    };
    return cmocka_run_group_tests_name("store_disk", tests, NULL, NULL);
}
