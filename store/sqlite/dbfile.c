/* dbfile.c - see dbfile.h. */
#include "store/sqlite/dbfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* https://www.sqlite.org/fileformat2.html, "The Database Header". */
enum {
    HEADER_BYTES = 108, /* 100 and the start of the schema's first page */
    OFFSET_USER_VERSION = 60,
    OFFSET_APPLICATION_ID = 68,
    OFFSET_SCHEMA_CELLS = 103,
};

#define RESTORE "restore a backup, or move the file away to start empty"

static void sibling(const char *path, const char *suffix, char *out_path)
{
    int n = snprintf(out_path, DB_PATH_MAX, "%s%s", path, suffix);
    assert(n > 0 && n < DB_PATH_MAX); /* statedir_init() left room */
}

/* -1: does not exist. */
static int64_t sibling_bytes(const char *path, const char *suffix)
{
    char name[DB_PATH_MAX];
    struct stat seen;
    sibling(path, suffix, name);
    return stat(name, &seen) == 0 ? (int64_t)seen.st_size : -1;
}

static void remove_sibling(const char *path, const char *suffix)
{
    char name[DB_PATH_MAX];
    sibling(path, suffix, name);
    (void)unlink(name);
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool refuse_owner(const struct dbfile *file, uint32_t id, struct err *err)
{
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (id == schema_of(lane)->application_id)
            return err_set(err, ERR_FOREIGN,
                           "%s: contains %s, not %s; restore the original file names", file->path,
                           schema_of(lane)->what, file->schema->what);
    return err_set(err, ERR_FOREIGN,
                   "%s: a database of another program (application id 0x%08x); move it away, or"
                   " name another state directory",
                   file->path, id);
}

static bool refuse_version(const struct dbfile *file, int64_t version, struct err *err)
{
    if (version < 0)
        return err_set(err, ERR_CORRUPT, "%s: damaged: schema version %lld; " RESTORE, file->path,
                       (long long)version);
    return err_set(err, ERR_NEWER,
                   "%s: made by a newer Ferry (schema version %lld, this one knows %zu); use that"
                   " Ferry, or " RESTORE,
                   file->path, (long long)version, file->schema->step_count);
}

static bool check_header(struct dbfile *file, const unsigned char *head, ssize_t n, int64_t bytes,
                         struct err *err)
{
    static const char magic[16] = "SQLite format 3";
    if (n < HEADER_BYTES || memcmp(head, magic, sizeof magic) != 0)
        return err_set(err, ERR_CORRUPT, "%s: is not a database; " RESTORE, file->path);

    uint32_t id = big_endian(head + OFFSET_APPLICATION_ID);
    int32_t version = (int32_t)big_endian(head + OFFSET_USER_VERSION);
    bool is_blank = id == 0 && version == 0 && head[OFFSET_SCHEMA_CELLS] == 0 &&
                    head[OFFSET_SCHEMA_CELLS + 1] == 0 && bytes <= 65536 &&
                    sibling_bytes(file->path, "-wal") <= 0;
    if (is_blank) { /* an empty database, treated as missing */
        file->is_new = true;
        return true;
    }
    if (id != file->schema->application_id)
        return refuse_owner(file, id, err);
    if (version < 0 || (size_t)version > file->schema->step_count)
        return refuse_version(file, version, err);
    return true;
}

static bool inspect_header(struct dbfile *file, int64_t bytes, struct err *err)
{
    unsigned char head[HEADER_BYTES] = {0};
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return db_fail_errno(errno, file->path, "cannot read it", err);
    ssize_t n = pread(fd, head, sizeof head, 0);
    int errnum = errno;
    (void)close(fd);
    if (n < 0)
        return db_fail_errno(errnum, file->path, "cannot read it", err);
    return check_header(file, head, n, bytes, err);
}

/* A log without its database may hold the only copy of commits; SQLite would delete it. A rollback
 * journal means that another program was interrupted. */
static bool inspect_siblings(const struct dbfile *file, struct err *err)
{
    if (sibling_bytes(file->path, "-journal") > 0)
        return err_set(err, ERR_CORRUPT,
                       "%s: an interrupted transaction of another program (%s-journal); open it "
                       "once with sqlite3 to roll it back, or restore a backup",
                       file->path, file->path);
    if (file->is_new && sibling_bytes(file->path, "-wal") > 0)
        return err_set(err, ERR_CORRUPT,
                       "%s: missing or empty, but its log %s-wal exists; restore both, or move"
                       " the log away to start empty",
                       file->path, file->path);
    return true;
}

static bool inspect_access(const struct dbfile *file, struct err *err)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < COUNT(suffixes); i++) {
        char name[DB_PATH_MAX];
        sibling(file->path, suffixes[i], name);
        int fd = open(name, O_RDWR | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
            return db_fail_errno(errno, name, "cannot open it for writing", err);
        if (fd >= 0)
            (void)close(fd);
    }
    return true;
}

static void uri_of(const char *path, const char *query, char *out_uri, size_t out_bytes)
{
    size_t used = (size_t)snprintf(out_uri, out_bytes, "%s", path[0] == '/' ? "file://" : "file:");
    for (const char *at = path; *at != '\0' && used + 4 < out_bytes; at++) {
        bool plain = strchr("%?#", *at) == NULL;
        used += (size_t)snprintf(out_uri + used, out_bytes - used, plain ? "%c" : "%%%02X",
                                 (unsigned char)*at);
    }
    (void)snprintf(out_uri + used, out_bytes - used, "%s", query);
}

/* A connection that reads the current content and creates no files. Without a log: immutable,
 * SQLite neither locks nor creates anything. With a log (a crash, or a SQL shell is open):
 * exclusive locking keeps the index of the log in our memory instead of -shm, and with no
 * checkpoint at close the log stays. Exclusive is refused while a shell has the file open; then
 * -shm is alive and an ordinary reader changes nothing either. */
static sqlite3 *open_without_trace(const struct dbfile *file, struct err *err)
{
    char uri[3 * DB_PATH_MAX];
    if (sibling_bytes(file->path, "-wal") <= 0) {
        uri_of(file->path, "?immutable=1", uri, sizeof uri);
        return db_open(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
    }
    sqlite3 *db = db_open(file->path, SQLITE_OPEN_READWRITE, err);
    if (db == NULL)
        return NULL;
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_busy_timeout(db, 0); /* a shell stays open for hours: do not wait */
    int rc = sqlite3_exec(db,
                          "PRAGMA query_only=ON; PRAGMA locking_mode=EXCLUSIVE;"
                          "SELECT count(*) FROM sqlite_schema",
                          NULL, NULL, NULL);
    if ((rc & 0xff) != SQLITE_BUSY)
        return db; /* other failures repeat at the first read */
    db_close(db);
    return db_open(file->path, SQLITE_OPEN_READONLY, err);
}

static void one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ')
            *text = ' ';
}

static bool check_integrity(sqlite3 *db, const struct dbfile *file, int64_t bytes, struct err *err)
{
    const char *sql =
        bytes <= DBFILE_WHOLE_CHECK_BYTES ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)";
    sqlite3_stmt *stmt = NULL;
    char finding[256] = "no result";
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    const unsigned char *text = rc == SQLITE_ROW ? sqlite3_column_text(stmt, 0) : NULL;
    if (text != NULL)
        (void)snprintf(finding, sizeof finding, "%s", (const char *)text);
    (void)sqlite3_finalize(stmt);

    if (rc != SQLITE_ROW)
        return db_fail(db, rc, file->path, "cannot check its integrity", err);
    if (strcmp(finding, "ok") == 0)
        return true;
    one_line(finding);
    return err_set(err, ERR_CORRUPT, "%s: damaged: %s; " RESTORE, file->path, finding);
}

/* The header in the file may be older than the log; these values are current. */
static bool check_marks(sqlite3 *db, const struct dbfile *file, int64_t *out_version,
                        struct err *err)
{
    int64_t id = 0, version = 0;
    if (!db_int(db, file->path, "PRAGMA application_id", &id, err) ||
        !db_int(db, file->path, "PRAGMA user_version", &version, err))
        return false;
    if ((uint32_t)id != file->schema->application_id)
        return refuse_owner(file, (uint32_t)id, err);
    if (version < 0 || (size_t)version > file->schema->step_count)
        return refuse_version(file, version, err);
    *out_version = version;
    return true;
}

static bool inspect_content(const struct dbfile *file, int64_t bytes, struct err *err)
{
    sqlite3 *db = open_without_trace(file, err);
    if (db == NULL)
        return false;
    int64_t version = 0;
    bool is_good = check_marks(db, file, &version, err) &&
                   (bytes > DBFILE_QUICK_CHECK_BYTES || check_integrity(db, file, bytes, err)) &&
                   ((size_t)version < file->schema->step_count ||
                    schema_check(db, file->path, file->lane, err));
    db_close(db);
    return is_good;
}

bool dbfile_inspect(struct dbfile *file, const struct statedir *state, enum lane lane,
                    struct err *err)
{
    *file = (struct dbfile){.lane = lane, .schema = schema_of(lane)};
    int n = snprintf(file->path, sizeof file->path, "%s/%s", state->dir, file->schema->file);
    assert(n > 0 && n + 16 < DB_PATH_MAX);
    (void)n;
    file->had_wal = sibling_bytes(file->path, "-wal") >= 0;
    file->had_shm = sibling_bytes(file->path, "-shm") >= 0;

    struct stat seen;
    bool is_there = stat(file->path, &seen) == 0;
    if (!is_there && errno != ENOENT)
        return db_fail_errno(errno, file->path, "cannot stat it", err);
    if (is_there && !S_ISREG(seen.st_mode))
        return err_set(err, ERR_FOREIGN, "%s: not a regular file; move it away", file->path);
    file->was_there = is_there;
    file->is_new = !is_there || seen.st_size == 0;
    if (!file->is_new && !inspect_header(file, seen.st_size, err))
        return false;
    return inspect_siblings(file, err) && inspect_access(file, err) &&
           (file->is_new || inspect_content(file, seen.st_size, err));
}

/* In rollback mode until the end, so that commits are in the file itself. */
static bool build(const char *path, const struct schema *schema, struct err *err)
{
    const char *doing = "cannot make a new database";
    sqlite3 *db = db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (db == NULL)
        return false;
    bool built =
        db_exec(db, path, doing, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL", err) &&
        schema_bring_forward(db, path, schema, err) &&
        db_exec(db, path, doing, "PRAGMA journal_mode=WAL", err);
    db_close(db);
    return built;
}

static void remove_whole(const char *path)
{
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < COUNT(suffixes); i++)
        remove_sibling(path, suffixes[i]);
}

static bool put_in_place(struct dbfile *file, const char *draft, struct err *err)
{
    char old[DB_PATH_MAX];
    sibling(file->path, ".old", old);
    if (file->was_there && rename(file->path, old) != 0)
        return db_fail_errno(errno, file->path, "cannot move the empty file aside", err);
    file->made = true; /* dbfile_undo() removes it */
    if (rename(draft, file->path) != 0)
        return db_fail_errno(errno, file->path, "cannot put the new database in place", err);
    return true;
}

bool dbfile_make(struct dbfile *file, const struct statedir *state, struct err *err)
{
    if (!file->is_new)
        return true;
    char draft[DB_PATH_MAX];
    sibling(file->path, ".new", draft);
    remove_whole(draft); /* left by a killed process */
    if (build(draft, file->schema, err) && put_in_place(file, draft, err))
        return statedir_sync(state, err);
    remove_whole(draft);
    return false;
}

/* On a file system without shared memory (some network ones) WAL mode is not possible. */
static bool check_wal(sqlite3 *db, const struct dbfile *file, struct err *err)
{
    int64_t is_wal = 0;
    if (!db_int(db, file->path,
                "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'", &is_wal,
                err))
        return false;
    return is_wal == 1 || err_set(err, ERR_IO,
                                  "%s: its file system does not support a write-ahead log; use a "
                                  "state directory on a local disk",
                                  file->path);
}

sqlite3 *dbfile_open(const struct dbfile *file, struct err *err)
{
    const char *doing = "cannot open it for writing";
    sqlite3 *db = db_open(file->path, SQLITE_OPEN_READWRITE, err);
    if (db == NULL)
        return NULL;
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    char sync[64];
    (void)snprintf(sync, sizeof sync, "PRAGMA synchronous=%s", file->schema->synchronous);
    /* BEGIN IMMEDIATE takes the write lock: another writer is detected now, not at a commit. */
    if (db_exec(db, file->path, doing, "PRAGMA wal_autocheckpoint=0; PRAGMA journal_mode=WAL",
                err) &&
        check_wal(db, file, err) && db_exec(db, file->path, doing, sync, err) &&
        db_exec(db, file->path, doing, "BEGIN IMMEDIATE; ROLLBACK", err) &&
        schema_bring_forward(db, file->path, file->schema, err))
        return db;
    db_rollback(db);
    db_close(db);
    return NULL;
}

void dbfile_settle(const struct dbfile *file, sqlite3 *db)
{
    (void)sqlite3_exec(db, "PRAGMA wal_autocheckpoint=1000; PRAGMA journal_size_limit=67108864",
                       NULL, NULL, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    if (file->made && file->was_there)
        remove_sibling(file->path, ".old");
}

void dbfile_undo(struct dbfile *file)
{
    if (!file->had_wal)
        remove_sibling(file->path, "-wal");
    if (!file->had_shm)
        remove_sibling(file->path, "-shm");
    if (!file->made)
        return;
    char old[DB_PATH_MAX];
    sibling(file->path, ".old", old);
    if (file->was_there)
        (void)rename(old, file->path);
    else
        (void)unlink(file->path); /* it is empty */
    file->made = false;
}

/* A reader of a write-ahead log needs its -shm file. If that can be neither used nor created, there
 * is no writer, and the file is opened as immutable. */
static sqlite3 *open_immutable(const char *path, struct err *err)
{
    char uri[3 * DB_PATH_MAX];
    uri_of(path, "?immutable=1", uri, sizeof uri);
    return db_open(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

sqlite3 *dbfile_open_read(const char *path, enum lane lane, struct err *err)
{
    struct dbfile named = {.lane = lane, .schema = schema_of(lane)};
    (void)snprintf(named.path, sizeof named.path, "%s", path);
    if (access(path, F_OK) != 0) {
        (void)err_set(err, ERR_NOT_FOUND, "%s: does not exist; name the state directory", path);
        return NULL;
    }
    sqlite3 *db = db_open(path, SQLITE_OPEN_READONLY, err);
    if (db != NULL && sibling_bytes(path, "-wal") < 0 &&
        sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK) {
        db_close(db);
        db = open_immutable(path, err);
    }
    int64_t version = 0;
    if (db == NULL || !check_marks(db, &named, &version, err)) {
        db_close(db);
        return NULL;
    }
    if ((size_t)version == named.schema->step_count)
        return db;
    (void)err_set(
        err, ERR_REFUSED,
        "%s: schema version %lld, this ferry reads %zu; start `ferry serve` on it once to upgrade",
        path, (long long)version, named.schema->step_count);
    db_close(db);
    return NULL;
}
