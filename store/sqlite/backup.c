/* backup.c - see backup.h.
 *
 * The file: a header of HEADER_BYTES bytes of text (the time, then name, size and checksum of each
 * database, padded with blanks), then the databases one after the other. */
#include "store/sqlite/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "store/sqlite/dbfile.h"
#include "store/sqlite/impl.h"
#include "store/sqlite/sqlite.h"

enum { HEADER_BYTES = 512, COPY_BYTES = 1 << 16, STEP_PAGES = 1024, STEP_TRIES_MAX = 100 };
#define MAGIC "ferry backup 1"

struct part {
    char path[DB_PATH_MAX]; /* the database beside the file, while the file is made or read */
    int64_t bytes;
    uint64_t sum;
};

struct archive_file {
    const char *path;
    enum backup_tokens tokens;
    char draft[DB_PATH_MAX];
    int fd;
    int64_t made_ms;
    struct part parts[LANE_COUNT];
};

static bool join(char *out_path, const char *one, const char *other, struct err *err)
{
    int n = snprintf(out_path, DB_PATH_MAX, "%s%s", one, other);
    return (n > 0 && n + 32 < DB_PATH_MAX) ||
           err_set(err, ERR_INVALID, "%.200s...: the path is too long", one);
}

static void remove_database(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < COUNT(suffixes); i++) {
        char name[DB_PATH_MAX + 16];
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        (void)unlink(name);
    }
}

/* FNV-1a: finds damage, not malice. */
static uint64_t mix(uint64_t sum, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * 0x100000001B3ULL;
    return sum;
}

/* Copies `left` bytes, all when negative, and sums them up. */
static bool copy_bytes(int from, int to, int64_t left, struct part *part, const char *path,
                       struct err *err)
{
    unsigned char *buffer = malloc(COPY_BYTES);
    if (buffer == NULL)
        return err_set(err, ERR_NOMEM, "out of memory: copy of %s", path);
    part->bytes = 0;
    part->sum = 0xCBF29CE484222325ULL;
    ssize_t n = 1;
    while (n > 0 && left != 0) {
        size_t most = left > 0 && left < COPY_BYTES ? (size_t)left : COPY_BYTES;
        n = read(from, buffer, most);
        if (n < 0 || (n > 0 && write(to, buffer, (size_t)n) != n)) {
            free(buffer);
            return db_fail_errno(errno != 0 ? errno : ENOSPC, path, "cannot copy it", err);
        }
        part->sum = mix(part->sum, buffer, (size_t)n);
        part->bytes += n;
        left -= left > 0 ? n : 0;
    }
    free(buffer);
    return left <= 0 || err_set(err, ERR_CORRUPT, "%s: it ends too early", path);
}

/* ---- making ---- */

/* BEGIN alone takes no snapshot: the first read does. */
static bool hold_snapshot(sqlite3 *db, const char *path, struct err *err)
{
    int64_t ignored = 0;
    return db_exec(db, path, "cannot read it", "BEGIN", err) &&
           db_int(db, path, "SELECT count(*) FROM sqlite_schema", &ignored, err);
}

static bool copy_pages(sqlite3 *from, sqlite3 *to, const char *path, struct err *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (backup == NULL)
        return db_fail(to, sqlite3_errcode(to), path, "cannot copy it", err);
    int rc = SQLITE_OK;
    for (int tries = 0; rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED;) {
        rc = sqlite3_backup_step(backup, STEP_PAGES);
        if (rc == SQLITE_OK || rc == SQLITE_DONE)
            continue;
        if (++tries == STEP_TRIES_MAX)
            break;
        (void)sqlite3_sleep(50);
    }
    int ended = sqlite3_backup_finish(backup);
    return rc == SQLITE_DONE ||
           db_fail(to, ended != SQLITE_OK ? ended : rc, path, "cannot copy it", err);
}

static bool make_empty(const char *path, struct err *err)
{
    remove_database(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* not for everybody */
    if (fd < 0)
        return db_fail_errno(errno, path, "cannot create it", err);
    (void)close(fd);
    return true;
}

static bool copy_database(sqlite3 *from, struct part *part, struct err *err)
{
    if (!make_empty(part->path, err))
        return false;
    sqlite3 *to = db_open(part->path, SQLITE_OPEN_READWRITE, err);
    bool done = to != NULL && copy_pages(from, to, part->path, err) &&
                db_exec(to, part->path, "cannot complete it", "PRAGMA journal_mode=DELETE", err);
    db_close(to);
    return done;
}

static bool count_jobs(sqlite3 *db, const char *path, struct backup_report *report, struct err *err)
{
    return db_int(db, path, "SELECT count(*) FROM jobs", &report->migrations, err) &&
           db_int(db, path, "SELECT count(*) FROM jobs WHERE outcome = ''", &report->unfinished,
                  err);
}

/* Samples first: see backup.h. */
static bool copy_databases(const char *dir, struct archive_file *file, struct backup_report *report,
                           struct err *err)
{
    static const enum lane order[LANE_COUNT] = {LANE_SAMPLES, LANE_OBJECTS};
    sqlite3 *from[LANE_COUNT] = {NULL};
    char path[DB_PATH_MAX];
    bool done = true;
    for (size_t i = 0; done && i < COUNT(order); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "/%s", schema_of(order[i])->file);
        done = join(path, dir, name, err);
        from[order[i]] = done ? dbfile_open_read(path, order[i], err) : NULL;
        done = from[order[i]] != NULL && hold_snapshot(from[order[i]], path, err);
    }
    for (enum lane lane = 0; done && lane < LANE_COUNT; lane++)
        done = copy_database(from[lane], &file->parts[lane], err);
    done = done && count_jobs(from[LANE_OBJECTS], dir, report, err);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        if (from[lane] != NULL)
            db_rollback(from[lane]);
        db_close(from[lane]);
    }
    return done;
}

static bool write_header(const struct archive_file *file, struct err *err)
{
    char text[HEADER_BYTES + 1];
    int n = snprintf(text, sizeof text, MAGIC "\n%" PRId64 "\n", file->made_ms);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %" PRId64 " %016" PRIx64 "\n",
                      schema_of(lane)->file, file->parts[lane].bytes, file->parts[lane].sum);
    memset(text + n, ' ', sizeof text - (size_t)n);
    text[HEADER_BYTES - 1] = '\n';
    return pwrite(file->fd, text, HEADER_BYTES, 0) == HEADER_BYTES ||
           db_fail_errno(errno, file->draft, "cannot write it", err);
}

static bool append(struct archive_file *file, struct part *part, struct err *err)
{
    int from = open(part->path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return db_fail_errno(errno, part->path, "cannot read it", err);
    bool done = copy_bytes(from, file->fd, -1, part, file->draft, err);
    (void)close(from);
    return done;
}

static bool pack(struct archive_file *file, struct err *err)
{
    if (!make_empty(file->draft, err))
        return false;
    file->fd = open(file->draft, O_RDWR | O_CLOEXEC);
    if (file->fd < 0 || lseek(file->fd, HEADER_BYTES, SEEK_SET) != HEADER_BYTES)
        return db_fail_errno(errno, file->draft, "cannot write it", err);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!append(file, &file->parts[lane], err))
            return false;
    if (!write_header(file, err))
        return false;
    if (fsync(file->fd) != 0 || rename(file->draft, file->path) != 0)
        return db_fail_errno(errno, file->path, "cannot put the backup in place", err);
    return true;
}

static bool name_drafts(struct archive_file *file, struct err *err)
{
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        char suffix[64];
        (void)snprintf(suffix, sizeof suffix, ".%s.part", schema_of(lane)->file);
        if (!join(file->parts[lane].path, file->path, suffix, err))
            return false;
    }
    return join(file->draft, file->path, ".part", err);
}

bool backup_make(const char *dir, const char *file, int64_t wall_ms,
                 struct backup_report *out_report, struct err *err)
{
    struct archive_file made = {.path = file, .fd = -1, .made_ms = wall_ms};
    struct backup_report report = {.made_ms = wall_ms};
    if (!name_drafts(&made, err))
        return false;
    bool done = copy_databases(dir, &made, &report, err) && pack(&made, err);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        remove_database(made.parts[lane].path);
    if (made.fd >= 0)
        (void)close(made.fd);
    (void)unlink(made.draft);
    if (!done)
        return false;
    report.bytes = HEADER_BYTES + made.parts[0].bytes + made.parts[1].bytes;
    *out_report = report;
    return true;
}

/* ---- restoring ---- */

static bool read_header(struct archive_file *file, struct err *err)
{
    char text[HEADER_BYTES + 1] = "";
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0)
        return db_fail_errno(errno, file->path, "cannot read it", err);
    ssize_t n = read(file->fd, text, HEADER_BYTES);
    int used = 0;
    if (n != HEADER_BYTES || sscanf(text, MAGIC " %" SCNd64 " %n", &file->made_ms, &used) != 1)
        return err_set(err, ERR_CORRUPT, "%s: is not a backup made by `ferry backup`", file->path);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        char name[64];
        int more = 0;
        struct part *part = &file->parts[lane];
        if (sscanf(text + used, "%63s %" SCNd64 " %" SCNx64 " %n", name, &part->bytes, &part->sum,
                   &more) != 3 ||
            strcmp(name, schema_of(lane)->file) != 0 || part->bytes <= 0)
            return err_set(err, ERR_CORRUPT, "%s: its header is damaged; use another backup",
                           file->path);
        used += more;
    }
    return true;
}

static bool unpack(struct archive_file *file, struct part *part, struct err *err)
{
    struct part seen = {.bytes = 0};
    int to = open(part->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (to < 0)
        return db_fail_errno(errno, part->path, "cannot create it", err);
    bool done = copy_bytes(file->fd, to, part->bytes, &seen, file->path, err);
    if (done && seen.sum != part->sum)
        done = err_set(err, ERR_CORRUPT, "%s: damaged (checksum); use another backup", file->path);
    if (done && fsync(to) != 0)
        done = db_fail_errno(errno, part->path, "cannot write it", err);
    (void)close(to);
    return done;
}

/* Everything that is stale from now on; see backup.h. */
static bool mark_stale(sqlite3 *db, const char *path, enum backup_tokens tokens, int64_t wall_ms,
                       struct err *err)
{
    static const char *const sql =
        "BEGIN IMMEDIATE;"
        "UPDATE appliance SET epoch = max(epoch + 1, %" PRId64 " / 1000), restored_ms = %" PRId64
        ";"
        "UPDATE jobs SET unconfirmed = 1 WHERE outcome = '';"
        "UPDATE objects SET status_json = json_set(status_json, '$.state', 'Cancelled', "
        "  '$.message', 'restored from a backup: what became of it is not known; drain again')"
        "  WHERE kind = 'Drain' AND removed = 0 AND status_json <> ''"
        "  AND json_extract(status_json, '$.state') IN ('Draining', 'Blocked');"
        "UPDATE objects SET removed = 1 WHERE kind = 'Drain' AND status_json = '';"
        "UPDATE objects SET status_json = json_remove(status_json, '$.evacuationNodeName', "
        "  '$.evacuationGuest', '$.evictionSource')"
        "  WHERE kind = 'VirtualMachineInstance' AND status_json <> '';"
        "UPDATE objects SET removed = 1 WHERE kind = 'Token' AND %d;"
        "COMMIT";
    char text[2048];
    (void)snprintf(text, sizeof text, sql, wall_ms, wall_ms, tokens == BACKUP_TOKENS_REMOVE);
    if (db_exec(db, path, "cannot mark it as restored", text, err))
        return true;
    db_rollback(db);
    return false;
}

/* Checks, upgrades and marks the copy by opening it as a store; closing it leaves plain files. */
static bool prepare(const char *dir, enum backup_tokens tokens, int64_t wall_ms,
                    struct backup_report *report, struct err *err)
{
    OWNED(store) store = store_sqlite_open(dir, err);
    if (store == NULL)
        return false;
    struct lane_db *lane = &store_sqlite_of(store)->lanes[LANE_OBJECTS];
    return mark_stale(lane->db, lane->file.path, tokens, wall_ms, err) &&
           count_jobs(lane->db, lane->file.path, report, err) &&
           db_int(lane->db, lane->file.path,
                  "SELECT count(*) FROM objects WHERE kind = 'Token' AND removed = 0",
                  &report->tokens, err);
}

/* A store that is there is never overwritten, half of one neither. */
static bool check_empty(const struct statedir *state, struct err *err)
{
    static const char *const suffixes[] = {"", "-wal"};
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        for (size_t i = 0; i < COUNT(suffixes); i++) {
            char name[DB_PATH_MAX + 64];
            (void)snprintf(name, sizeof name, "%s/%s%s", state->dir, schema_of(lane)->file,
                           suffixes[i]);
            if (access(name, F_OK) == 0)
                return err_set(err, ERR_EXISTS,
                               "%s exists; move it and what lies beside it away first, or name "
                               "another state directory",
                               name);
        }
    return true;
}

static void remove_drafts(const struct archive_file *file, const char *dir)
{
    char lock[DB_PATH_MAX + 16];
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        remove_database(file->parts[lane].path);
    (void)snprintf(lock, sizeof lock, "%s/lock", dir);
    (void)unlink(lock);
    (void)rmdir(dir);
}

/* The objects last: without them the directory is not taken for a store. */
static bool put_in_place(const struct archive_file *file, const struct statedir *state,
                         struct err *err)
{
    static const enum lane order[LANE_COUNT] = {LANE_SAMPLES, LANE_OBJECTS};
    for (size_t i = 0; i < COUNT(order); i++) {
        char name[DB_PATH_MAX + 64];
        (void)snprintf(name, sizeof name, "%s/%s", state->dir, schema_of(order[i])->file);
        if (rename(file->parts[order[i]].path, name) != 0)
            return db_fail_errno(errno, name, "cannot put it in place", err);
    }
    return statedir_sync(state, err);
}

static bool restore_into(struct archive_file *file, const struct statedir *state, int64_t wall_ms,
                         struct backup_report *report, struct err *err)
{
    char draft[DB_PATH_MAX];
    if (!check_empty(state, err) || !join(draft, state->dir, "/restore.new", err))
        return false;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        char name[64];
        (void)snprintf(name, sizeof name, "/%s", schema_of(lane)->file);
        if (!join(file->parts[lane].path, draft, name, err))
            return false;
    }
    remove_drafts(file, draft); /* left by a killed process */
    bool done = mkdir(draft, 0700) == 0 || db_fail_errno(errno, draft, "cannot create it", err);
    for (enum lane lane = 0; done && lane < LANE_COUNT; lane++)
        done = unpack(file, &file->parts[lane], err);
    done = done && prepare(draft, file->tokens, wall_ms, report, err) &&
           put_in_place(file, state, err);
    remove_drafts(file, draft);
    return done;
}

bool backup_restore(const char *file, const char *dir, enum backup_tokens tokens, int64_t wall_ms,
                    struct backup_report *out_report, struct err *err)
{
    struct archive_file read = {.path = file, .tokens = tokens, .fd = -1};
    struct backup_report report = {0};
    struct statedir state = {.lock_fd = -1};
    bool done = read_header(&read, err) && statedir_init(&state, dir, err);
    if (done) {
        done = restore_into(&read, &state, wall_ms, &report, err);
        statedir_fini(&state, !done);
    }
    if (read.fd >= 0)
        (void)close(read.fd);
    if (!done)
        return false;
    report.made_ms = read.made_ms;
    report.bytes = HEADER_BYTES + read.parts[0].bytes + read.parts[1].bytes;
    *out_report = report;
    return true;
}
