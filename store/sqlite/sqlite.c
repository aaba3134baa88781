/* sqlite.c - see sqlite.h. Opening can be undone: inspect both files first, then create missing
 * ones, then open for writing, and only then make changes permanent. */
#include "store/sqlite/sqlite.h"

#include "store/sqlite/impl.h"

/* undo: opening failed; restores every file. */
static void close_lanes(struct store_sqlite *sq, bool undo)
{
    store_sql_stop(&sq->sql);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        lane_fini(&sq->lanes[lane]);
        if (undo && sq->lanes[lane].file.schema != NULL)
            dbfile_undo(&sq->lanes[lane].file);
    }
    statedir_fini(&sq->state, undo);
    free(sq);
}

static void free_store(struct store_sql *s)
{
    close_lanes(store_sqlite_of(&s->store), false);
}

#define ENGINE                                                                                    \
    .begin = engine_begin, .write = engine_write, .settle = engine_settle,                        \
    .commit = engine_commit, .rollback = engine_rollback, .read = engine_read, .run = engine_run, \
    .sync_samples = engine_sync_samples, .bytes = engine_bytes, .place = engine_place

const struct sql_engine sqlite_engine = {ENGINE, .free = free_store};

static bool open_memory(struct store_sqlite *sq, const char *name, struct err *err)
{
    const struct lane_memory memory = {name, sq->sql.fence};
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!lane_open_memory(&sq->lanes[lane], lane, &memory, err))
            return false;
    sq->sql.in_memory = true;
    return store_sql_start(&sq->sql, err);
}

static bool open_files(struct store_sqlite *sq, const char *dir, struct err *err)
{
    if (!statedir_init(&sq->state, dir, err))
        return false;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!dbfile_inspect(&sq->lanes[lane].file, &sq->state, lane, err))
            return false;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!dbfile_make(&sq->lanes[lane].file, &sq->state, err))
            return false;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!lane_open_file(&sq->lanes[lane], err))
            return false;
    if (!store_sql_start(&sq->sql, err))
        return false;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) /* no samples are appended yet */
        dbfile_settle(&sq->lanes[lane].file, sq->lanes[lane].db);
    return true;
}

static struct store_sqlite *make(struct err *err)
{
    struct store_sqlite *sq = calloc(1, sizeof *sq);
    if (sq == NULL) {
        (void)err_set(err, ERR_NOMEM, "store");
        return NULL;
    }
    store_sql_init(&sq->sql, &sqlite_engine, false);
    sq->state.lock_fd = -1;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        lane_init(&sq->lanes[lane]);
    return sq;
}

struct store *store_sqlite_open(const char *dir, struct err *err)
{
    struct store_sqlite *sq = make(err);
    if (sq == NULL)
        return NULL;
    if (dir == NULL ? open_memory(sq, NULL, err) : open_files(sq, dir, err))
        return &sq->sql.store;
    close_lanes(sq, true);
    return NULL;
}

struct store *store_sqlite_share(const char *name, const struct store_fence *fence, struct err *err)
{
    struct store_sqlite *sq = fence == NULL || fence_is_valid(fence, err) ? make(err) : NULL;
    if (sq == NULL)
        return NULL;
    if (fence != NULL)
        fence_sql(fence, false, sq->sql.fence);
    if (open_memory(sq, name, err))
        return &sq->sql.store;
    close_lanes(sq, true);
    return NULL;
}

/* ---- read-only ---- */

static void close_reader(struct store_sql *s)
{
    struct store_sqlite *sq = store_sqlite_of(&s->store);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        lane_fini(&sq->lanes[lane]);
    store_sql_stop(s);
    free(sq);
}

static const struct sql_engine reader_engine = {ENGINE, .free = close_reader};

/* Opens the first reader, so that errors of a file are detected now. */
static bool open_to_read(struct lane_db *lane, const char *dir, enum lane which, struct err *err)
{
    lane->file.lane = which;
    lane->file.schema = schema_of(which);
    int n =
        snprintf(lane->file.path, sizeof lane->file.path, "%s/%s", dir, lane->file.schema->file);
    if (n < 0 || (size_t)n >= sizeof lane->file.path)
        return err_set(err, ERR_LIMIT, "%.200s...: the path is too long", dir);
    sqlite3 *db = dbfile_open_read(lane->file.path, which, err);
    if (db == NULL)
        return false;
    lane->idle[lane->idle_count++] = db;
    return true;
}

struct store *store_sqlite_read(const char *dir, struct err *err)
{
    struct store_sqlite *sq = calloc(1, sizeof *sq);
    if (sq == NULL) {
        (void)err_set(err, ERR_NOMEM, "store");
        return NULL;
    }
    store_sql_init(&sq->sql, &reader_engine, true);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        lane_init(&sq->lanes[lane]);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!open_to_read(&sq->lanes[lane], dir, lane, err)) {
            close_reader(&sq->sql);
            return NULL;
        }
    return &sq->sql.store;
}
