/* test_store_backup.c - a backup of a living store is one moment of it, a restored one is stale,
 * and what cannot be restored changes nothing. */
#include "tests/unit/test_store_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sqlite/backup.h"
#include "store/sqlite/impl.h"

enum { WALL_MS = 1700000000 };

static void in(const struct fixture *f, const char *name, char *out_path)
{
    (void)path_in(f, name, out_path);
}

static void append_sample(struct store *s, const char *uid, int64_t seq)
{
    struct err err = {0};
    struct store_sample sample = {.seq = seq};
    (void)snprintf(sample.job_uid, sizeof sample.job_uid, "%s", uid);
    assert_true(s->ops->append_samples(s, &sample, 1));
    assert_true(s->ops->flush_samples(s, 5000, &err));
}

static bool count_sample(void *ctx, const struct store_sample *row)
{
    (void)row;
    ++*(size_t *)ctx;
    return true;
}

static size_t samples_of(struct store *s, const char *uid)
{
    struct err err = {0};
    size_t n = 0;
    assert_true(s->ops->each_sample(s, uid, count_sample, &n, &err));
    return n;
}

static struct backup_report must_back_up(const struct fixture *f, const char *file)
{
    struct err err = {0};
    struct backup_report report;
    if (!backup_make(f->dir, file, WALL_MS, &report, &err))
        fail_msg("backup: %s", err.text);
    return report;
}

static void lives_on_after(struct fixture *f)
{
    commit_job(f->store, "later", 3);
}

static int count_files(const char *dir)
{
    int n = 0;
    DIR *listing = opendir(dir);
    assert_non_null(listing);
    while (readdir(listing) != NULL)
        n++;
    (void)closedir(listing);
    return n - 2;
}

static bool is_unconfirmed(void *ctx, const struct store_job *row)
{
    bool unfinished = row->result.outcome[0] == '\0';
    assert_int_equal(row->unconfirmed, unfinished);
    ++*(size_t *)ctx;
    return true;
}

/* The appliance runs on: the backup has what was committed before it, and no more. */
static void a_backup_of_a_running_store_comes_back_stale(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct store_identity before, after;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX];
    must_open(f);
    assert_true(f->store->ops->identity(f->store, &before, &err));
    assert_int_equal(strlen(before.id), 16);
    f->store->ops->begin(f->store);
    put_job(f->store, "running", 1, "");
    put_job(f->store, "ended", 2, "succeeded");
    must_commit(f->store);
    append_sample(f->store, "running", 1);
    in(f, "b.ferry", file);
    struct backup_report report = must_back_up(f, file);
    assert_int_equal(report.migrations, 2);
    assert_int_equal(report.unfinished, 1);
    lives_on_after(f);

    in(f, "elsewhere", dir);
    if (!backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS + 60000, &report, &err))
        fail_msg("restore: %s", err.text);
    assert_int_equal(report.made_ms, WALL_MS);
    assert_int_equal(count_files(dir), 3); /* two databases and the lock */
    struct store *restored = store_sqlite_open(dir, &err);
    assert_non_null(restored);
    size_t n = 0;
    assert_true(restored->ops->each_job(restored, false, is_unconfirmed, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(samples_of(restored, "running"), 1);
    assert_true(restored->ops->identity(restored, &after, &err));
    assert_string_equal(after.id, before.id);
    assert_true(after.epoch > before.epoch);
    assert_int_equal(after.restored_ms, WALL_MS + 60000);
    store_free(restored);
    assert_int_equal(jobs_in(f->store), 3); /* the living one is as it was */
}

static void a_drain_that_was_under_way_is_cancelled(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX], path[TEST_PATH_MAX + 16];
    must_open(f);
    struct store_object drain = {.kind = "Drain",
                                 .ns = "",
                                 .name = "h1",
                                 .uid = "d",
                                 .requester = "",
                                 .spec_json = "{}",
                                 .metadata_json = "",
                                 .status_json = "{\"state\":\"Draining\"}"};
    struct store_object guest = drain;
    guest.kind = "VirtualMachineInstance";
    guest.name = "g";
    guest.status_json = "{\"evacuationNodeName\":\"h1\",\"kept\":1}";
    f->store->ops->begin(f->store);
    f->store->ops->put_object(f->store, &drain);
    f->store->ops->put_object(f->store, &guest);
    must_commit(f->store);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    must_close(f);
    in(f, "elsewhere", dir);
    struct backup_report report;
    assert_true(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
    (void)snprintf(path, sizeof path, "%s/ferry.db", dir);
    assert_int_equal(raw_int(path, "SELECT count(*) FROM objects WHERE kind = 'Drain' AND "
                                   "json_extract(status_json, '$.state') = 'Cancelled'"),
                     1);
    assert_int_equal(
        raw_int(path, "SELECT count(*) FROM objects WHERE status_json = '{\"kept\":1}'"), 1);
}

/* The administrator restores as root; the service runs as a user of its own. */
static void what_root_restores_belongs_to_the_owner_of_the_directory(void **state)
{
    enum { SOMEBODY = 65534 };
    struct fixture *f = *state;
    struct err err = {0};
    struct backup_report report;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX], path[TEST_PATH_MAX + 16];
    static const char *const names[] = {"ferry.db", "samples.db", "lock"};
    if (geteuid() != 0)
        skip();
    must_open(f);
    commit_job(f->store, "a", 1);
    must_close(f);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    in(f, "of-a-service", dir);
    assert_int_equal(mkdir(dir, 0750), 0);
    assert_int_equal(chown(dir, SOMEBODY, SOMEBODY), 0);
    assert_true(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
    for (size_t i = 0; i < COUNT(names); i++) {
        struct stat seen;
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(stat(path, &seen), 0);
        assert_int_equal(seen.st_uid, SOMEBODY);
        assert_int_equal(seen.st_gid, SOMEBODY);
    }
}

static void tokens_come_back_counted_or_not_at_all(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct backup_report report;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX], path[TEST_PATH_MAX + 16];
    static const char valid[] = "SELECT count(*) FROM objects WHERE kind = 'Token' AND removed = 0";
    must_open(f);
    f->store->ops->begin(f->store);
    struct store_object row = {.kind = "Token",
                               .ns = "",
                               .name = "ci",
                               .uid = "t",
                               .requester = "",
                               .spec_json = "{}",
                               .metadata_json = "",
                               .status_json = ""};
    f->store->ops->put_object(f->store, &row);
    row.kind = "ResourceQuota";
    f->store->ops->put_object(f->store, &row);
    must_commit(f->store);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    must_close(f);
    for (enum backup_tokens tokens = BACKUP_TOKENS_KEEP; tokens <= BACKUP_TOKENS_REMOVE; tokens++) {
        in(f, tokens == BACKUP_TOKENS_KEEP ? "kept" : "removed", dir);
        assert_true(backup_restore(file, dir, tokens, WALL_MS, &report, &err));
        (void)snprintf(path, sizeof path, "%s/ferry.db", dir);
        assert_int_equal(report.tokens, tokens == BACKUP_TOKENS_KEEP);
        assert_int_equal(raw_int(path, valid), report.tokens);
        assert_int_equal(raw_int(path, "SELECT count(*) FROM objects WHERE removed = 0"),
                         report.tokens + 1);
    }
}

static void a_stopped_store_is_backed_up_too(void **state)
{
    struct fixture *f = *state;
    char file[TEST_PATH_MAX];
    must_open(f);
    commit_job(f->store, "a", 1);
    must_close(f);
    in(f, "b.ferry", file);
    assert_int_equal(must_back_up(f, file).migrations, 1);
    assert_int_equal(must_back_up(f, file).migrations, 1); /* replaces the first */
    assert_true(count_files(f->dir) <= 8); /* readers leave -wal and -shm; no drafts stay */
}

static void a_store_is_never_overwritten(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct backup_report report;
    char file[TEST_PATH_MAX];
    must_open(f);
    commit_job(f->store, "a", 1);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    assert_false(backup_restore(file, f->dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
    assert_int_equal(err.code, ERR_LOCKED); /* it runs */
    must_close(f);
    err = (struct err){0};
    assert_false(backup_restore(file, f->dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
    assert_int_equal(err.code, ERR_EXISTS);
    must_open(f);
    assert_int_equal(jobs_in(f->store), 1);
}

/* A journal that an old database left would be played into the restored one. */
static void what_a_lost_store_left_behind_stops_a_restore(void **state)
{
    struct fixture *f = *state;
    static const char *const left[] = {"ferry.db-wal", "samples.db-wal", "samples.db"};
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX], name[TEST_PATH_MAX + 32];
    must_open(f);
    commit_job(f->store, "a", 1);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    for (size_t i = 0; i < COUNT(left); i++) {
        struct err err = {0};
        struct backup_report report;
        in(f, "other", dir);
        assert_int_equal(mkdir(dir, 0700), 0);
        (void)snprintf(name, sizeof name, "%s/%s", dir, left[i]);
        FILE *out = fopen(name, "w");
        assert_non_null(out);
        assert_int_equal(fclose(out), 0);
        assert_false(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
        assert_int_equal(err.code, ERR_EXISTS);
        assert_int_equal(unlink(name), 0);
        assert_true(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
        remove_tree(dir);
    }
}

/* What a killed `ferry restore` left is its own. */
static void a_restore_that_was_killed_is_begun_anew(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct backup_report report;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX], name[TEST_PATH_MAX + 32];
    must_open(f);
    commit_job(f->store, "a", 1);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    in(f, "other", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    (void)snprintf(name, sizeof name, "%s/restore.new", dir);
    assert_int_equal(mkdir(name, 0700), 0);
    (void)snprintf(name, sizeof name, "%s/restore.new/ferry.db", dir);
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
    assert_true(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
    assert_int_equal(report.migrations, 1);
    remove_tree(dir);
}

/* A kill between the two leaves samples only: that is not taken for a store. */
static void the_objects_are_put_in_place_last(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct backup_report report;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX], order[256] = "";
    char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    must_open(f);
    commit_job(f->store, "a", 1);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    in(f, "other", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(watch, dir, IN_MOVED_TO) >= 0);
    assert_true(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
    ssize_t n = read(watch, room, sizeof room);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const void *)(room + at);
        size_t used = strlen(order);
        (void)snprintf(order + used, sizeof order - used, "%.64s ", event->name);
        at += (ssize_t)(sizeof *event + event->len);
    }
    assert_string_equal(order, "samples.db ferry.db ");
    (void)close(watch);
    remove_tree(dir);
}

/* ---- beside a writer ---- */

enum { PAIRS_MAX = 500, BACKUPS = 3, OLD_JOBS = 2000 };
struct writer {
    struct store *store;
    atomic_bool stops;
    atomic_int written;
};

static void pair_name(int i, char *out)
{
    (void)snprintf(out, 32, "pair-%d", i);
}

/* A migration, then its sample: never the other way round. */
static void *write_pairs(void *arg)
{
    struct writer *writer = arg;
    char uid[32];
    for (int i = 0; i < PAIRS_MAX && !writer->stops; i++) {
        pair_name(i, uid);
        commit_job(writer->store, uid, i + 1);
        append_sample(writer->store, uid, 1);
        writer->written = i + 1;
    }
    return NULL;
}

static bool found(void *ctx, const struct store_job *row)
{
    (void)row;
    *(bool *)ctx = true;
    return true;
}

static void must_be_one_moment(const char *dir, int written)
{
    struct err err = {0};
    struct store *restored = store_sqlite_open(dir, &err);
    assert_non_null(restored);
    for (int i = 0; i < written; i++) {
        char uid[32];
        bool known = false;
        pair_name(i, uid);
        assert_true(restored->ops->find_job(restored, "default", uid, found, &known, &err));
        if (!known && samples_of(restored, uid) > 0)
            fail_msg("a sample of %s, which the backup does not know", uid);
    }
    store_free(restored);
}

static void no_sample_is_of_a_migration_that_the_backup_does_not_know(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct backup_report report;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX], old[32];
    pthread_t thread;
    must_open(f);
    f->store->ops->begin(f->store);
    for (int i = 0; i < OLD_JOBS; i++) { /* so that a copy lasts longer than a commit */
        (void)snprintf(old, sizeof old, "old-%d", i);
        put_job(f->store, old, 1, "succeeded");
    }
    must_commit(f->store);
    struct writer writer = {.store = f->store};
    assert_int_equal(pthread_create(&thread, NULL, write_pairs, &writer), 0);
    in(f, "b.ferry", file);
    in(f, "other", dir);
    for (int i = 0; i < BACKUPS; i++) {
        int before = writer.written;
        while (writer.written < before + 2 && before < PAIRS_MAX - 10)
            (void)usleep(1000);
        (void)must_back_up(f, file);
        int written = writer.written + 5;
        assert_true(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
        must_be_one_moment(dir, written);
        remove_tree(dir);
    }
    writer.stops = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Every byte of header and databases that is flipped is noticed, every missing one too. */
static struct {
    struct store *store; /* NULL: nothing more is to be committed */
    char first[TEST_PATH_MAX];
} between;

/* SQLite calls it for every database that is opened. */
static int commit_between(sqlite3 *db, const char **message, const struct sqlite3_api_routines *api)
{
    (void)message;
    (void)api;
    struct store *store = between.store;
    const char *name = sqlite3_db_filename(db, "main");
    if (store == NULL || strcmp(name, between.first) == 0)
        return SQLITE_OK;
    bool is_first = between.first[0] == '\0';
    (void)snprintf(between.first, sizeof between.first, "%s", name);
    if (is_first)
        return SQLITE_OK;
    between.store = NULL;
    commit_job(store, "pair-0", 1);
    append_sample(store, "pair-0", 1);
    return SQLITE_OK;
}

/* The migration and its sample are stored after the first snapshot and before the second. */
static void a_pair_between_the_two_snapshots_is_no_orphan(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct backup_report report;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX];
    must_open(f);
    in(f, "b.ferry", file);
    in(f, "other", dir);
    between.store = f->store;
    between.first[0] = '\0';
    assert_int_equal(sqlite3_auto_extension((void (*)(void))commit_between), SQLITE_OK);
    (void)must_back_up(f, file);
    sqlite3_reset_auto_extension();
    assert_null(between.store); /* it was stored */
    assert_true(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err));
    must_be_one_moment(dir, 1);
}

static void damage_is_refused_and_leaves_no_directory(void **state)
{
    struct fixture *f = *state;
    char file[TEST_PATH_MAX], dir[TEST_PATH_MAX];
    struct stat seen;
    must_open(f);
    commit_job(f->store, "a", 1);
    in(f, "b.ferry", file);
    (void)must_back_up(f, file);
    in(f, "elsewhere", dir);
    assert_int_equal(stat(file, &seen), 0);
    assert_int_equal(seen.st_mode & 0777, 0600);
    const off_t places[] = {0, 20, 700, seen.st_size / 2, seen.st_size - 1, -1};
    for (size_t i = 0; i < COUNT(places); i++) {
        struct err err = {0};
        struct backup_report report;
        char byte = 0;
        int fd = open(file, O_RDWR);
        assert_true(fd >= 0);
        if (places[i] < 0) {
            assert_int_equal(ftruncate(fd, seen.st_size - 1), 0);
        } else {
            assert_int_equal(pread(fd, &byte, 1, places[i]), 1);
            byte = (char)(byte ^ 1);
            assert_int_equal(pwrite(fd, &byte, 1, places[i]), 1);
        }
        bool is_time = places[i] == 20; /* of the backup: any number will do */
        assert_int_equal(backup_restore(file, dir, BACKUP_TOKENS_KEEP, WALL_MS, &report, &err),
                         is_time);
        if (!is_time) {
            assert_int_equal(err.code, ERR_CORRUPT);
            assert_int_equal(access(dir, F_OK), -1);
        } else {
            remove_tree(dir);
        }
        byte = (char)(byte ^ 1);
        if (places[i] >= 0)
            assert_int_equal(pwrite(fd, &byte, 1, places[i]), 1);
        (void)close(fd);
    }
}

TEST_FILE(test_store_backup)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_backup_of_a_running_store_comes_back_stale, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_drain_that_was_under_way_is_cancelled, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(what_root_restores_belongs_to_the_owner_of_the_directory,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(tokens_come_back_counted_or_not_at_all, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_stopped_store_is_backed_up_too, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(what_a_lost_store_left_behind_stops_a_restore,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_restore_that_was_killed_is_begun_anew, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_store_is_never_overwritten, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(the_objects_are_put_in_place_last, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(no_sample_is_of_a_migration_that_the_backup_does_not_know,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_pair_between_the_two_snapshots_is_no_orphan,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(damage_is_refused_and_leaves_no_directory, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests_name("store_backup", tests, NULL, NULL);
}
