/* sqlite.c - see sqlite.h. Opening can be undone: inspect both files first, then create missing
 * ones, then open for writing, and only then make changes permanent. */
#include "store/sqlite.h"

#include "store/sqlite_impl.h"

static void stats(struct store *s, struct store_stats *out_stats)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    *out_stats = (struct store_stats){
        .commits = atomic_load(&sq->commits),
        .commit_failures = atomic_load(&sq->commit_failures),
        .commit_ms_total = atomic_load(&sq->commit_ms_total),
        .samples_written = atomic_load(&sq->samples_written),
        .samples_dropped = atomic_load(&sq->samples_dropped),
        .sample_batches = atomic_load(&sq->sample_batches),
        .samples_retired = atomic_load(&sq->samples_retired),
        .jobs_dropped = atomic_load(&sq->jobs_dropped),
        .samples_queued = sq->samples.queue != NULL ? queue_depth(sq->samples.queue) : 0,
    };
}

/* undo: opening failed; restores every file. */
static void close_lanes(struct store_sqlite *sq, bool undo)
{
    samples_fini(sq);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        lane_fini(&sq->lanes[lane]);
        if (undo && sq->lanes[lane].file.schema != NULL)
            dbfile_undo(&sq->lanes[lane].file);
    }
    statedir_fini(&sq->state, undo);
    free(sq);
}

static void close_store(struct store *s)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    if (sq->objects.is_open)
        objects_rollback(s);
    close_lanes(sq, false);
}

/* Operations of the store and of a read-only one. */
#define READERS                                                                                    \
    .each_job = read_each_job, .each_recent_job = read_each_recent_job, .find_job = read_find_job, \
    .each_transition = read_each_transition, .each_intent = read_each_intent,                      \
    .each_observation = read_each_observation, .each_error = read_each_error,                      \
    .each_mode = read_each_mode, .each_event = read_each_event, .each_object = read_each_object,   \
    .each_decision = read_each_decision, .each_rejection = read_each_rejection,                    \
    .each_unjudged = read_each_unjudged, .each_verdict = read_each_verdict,                        \
    .each_point = read_each_point, .each_number = read_each_number,                                \
    .each_evidence = read_each_evidence, .each_incident = read_each_incident,                      \
    .each_sample = read_each_sample, .each_monitor_input = read_each_monitor_input,                \
    .each_audit = read_each_audit, .identity = read_identity

static const struct store_ops sqlite_ops = {
    .begin = objects_begin,
    .put_job = objects_put_job,
    .put_transition = objects_put_transition,
    .put_intent = objects_put_intent,
    .put_observation = objects_put_observation,
    .put_error = objects_put_error,
    .put_mode = objects_put_mode,
    .put_event = objects_put_event,
    .put_object = objects_put_object,
    .put_decision = objects_put_decision,
    .clear_rejections = objects_clear_rejections,
    .put_rejection = objects_put_rejection,
    .clear_verdict = objects_clear_verdict,
    .put_verdict = objects_put_verdict,
    .put_point = objects_put_point,
    .put_number = objects_put_number,
    .put_evidence = objects_put_evidence,
    .put_incident = objects_put_incident,
    .commit = objects_commit,
    .rollback = objects_rollback,
    .append_samples = samples_append,
    .append_monitor_input = samples_append_monitor_input,
    .append_audit = samples_append_audit,
    .flush_samples = samples_flush,
    .set_retention = retention_set,
    .retain = retention_step,
    READERS,
    .stats = stats,
    .free = close_store,
};

static bool open_memory(struct store_sqlite *sq, struct err *err)
{
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!lane_open_memory(&sq->lanes[lane], lane, err))
            return false;
    return events_init(sq, err);
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
    if (!events_init(sq, err) || !samples_start(sq, err))
        return false;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) /* no samples are appended yet */
        dbfile_settle(&sq->lanes[lane].file, sq->lanes[lane].db);
    return true;
}

struct store *store_sqlite_open(const char *dir, struct err *err)
{
    struct store_sqlite *sq = calloc(1, sizeof *sq);
    if (sq == NULL) {
        (void)err_set(err, ERR_NOMEM, "store");
        return NULL;
    }
    sq->store.ops = &sqlite_ops;
    sq->state.lock_fd = -1;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        lane_init(&sq->lanes[lane]);
    samples_init(&sq->samples);
    if (dir == NULL ? open_memory(sq, err) : open_files(sq, dir, err))
        return &sq->store;
    close_lanes(sq, true);
    return NULL;
}

/* ---- read-only ---- */

static void close_reader(struct store *s)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        lane_fini(&sq->lanes[lane]);
    samples_fini(sq);
    free(sq);
}

static const struct store_ops reader_ops = {
    READERS,
    .free = close_reader,
};

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
    sq->store.ops = &reader_ops;
    samples_init(&sq->samples);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        lane_init(&sq->lanes[lane]);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (!open_to_read(&sq->lanes[lane], dir, lane, err)) {
            close_reader(&sq->store);
            return NULL;
        }
    return &sq->store;
}
