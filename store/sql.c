/* sql.c - see sql.h: the beginning and the end of a store on a SQL engine. */
#include "store/sql.h"

#include "base/text.h"
#include "store/sql_ops.h"

void store_sql_init(struct store_sql *s, const struct sql_engine *engine, bool read_only)
{
    s->store.ops = read_only ? &sql_reader_ops : &sql_ops;
    s->store.leases = read_only ? NULL : &sql_lease_ops;
    s->engine = engine;
    samples_init(&s->samples);
}

static bool read_number(void *ctx, struct sql_cells *cells)
{
    *(int64_t *)ctx = cells->number(cells, 0);
    return false;
}

bool store_sql_int(struct store_sql *s, enum lane lane, const char *sql, int64_t *out_value,
                   struct err *err)
{
    const struct sql_read read = {.sql = sql, .row = read_number, .ctx = out_value};
    return s->engine->read(s, lane, &read, err);
}

/* store/any/copy.c marks a target so until it is complete. */
static bool refuse_unfinished(struct store_sql *s, struct err *err)
{
    int64_t epoch = 0;
    return store_sql_int(s, LANE_OBJECTS, "SELECT epoch FROM appliance", &epoch, err) &&
           (epoch >= 0 || err_set(err, ERR_CORRUPT,
                                  "%s: a copy into it was not finished; empty it and run `ferry "
                                  "store copy` again",
                                  s->engine->place(s, LANE_OBJECTS)));
}

bool store_sql_start(struct store_sql *s, struct err *err)
{
    return refuse_unfinished(s, err) &&
           store_sql_int(s, LANE_OBJECTS, "SELECT count(*) FROM events", &s->objects.events, err) &&
           (s->in_memory || samples_start(s, err));
}

void store_sql_stop(struct store_sql *s)
{
    samples_fini(s);
}

static void close_store(struct store *store)
{
    struct store_sql *s = store_sql_of(store);
    if (s->objects.is_open)
        objects_rollback(store);
    s->engine->free(s);
}

static void stats(struct store *store, struct store_stats *out_stats)
{
    struct store_sql *s = store_sql_of(store);
    *out_stats = (struct store_stats){
        .commits = atomic_load(&s->commits),
        .commit_failures = atomic_load(&s->commit_failures),
        .commit_ms_total = atomic_load(&s->commit_ms_total),
        .samples_written = atomic_load(&s->samples_written),
        .samples_dropped = atomic_load(&s->samples_dropped),
        .sample_batches = atomic_load(&s->sample_batches),
        .samples_retired = atomic_load(&s->samples_retired),
        .jobs_dropped = atomic_load(&s->jobs_dropped),
        .commits_lost = atomic_load(&s->commits_lost),
        .samples_queued = s->samples.queue != NULL ? queue_depth(s->samples.queue) : 0,
    };
}

static bool read_cells_of_identity(void *ctx, struct sql_cells *cells)
{
    struct store_identity *identity = ctx;
    const char *id = cells->text(cells, 0);
    TEXT_SET(identity->id, id != NULL ? id : "");
    identity->epoch = cells->number(cells, 1);
    identity->restored_ms = cells->number(cells, 2);
    identity->seen_ms = cells->number(cells, 3);
    return false;
}

static bool read_identity(struct store *store, struct store_identity *out_identity, struct err *err)
{
    struct store_sql *s = store_sql_of(store);
    struct store_identity identity = {0};
    const struct sql_read read = {.sql = "SELECT id, epoch, restored_ms, seen_ms FROM appliance",
                                  .row = read_cells_of_identity,
                                  .ctx = &identity};
    if (!s->engine->read(s, LANE_OBJECTS, &read, err))
        return false;
    if (identity.id[0] == '\0')
        return err_set(err, ERR_CORRUPT, "%s: table appliance is empty; restore a backup",
                       s->engine->place(s, LANE_OBJECTS));
    *out_identity = identity;
    return true;
}

const struct store_ops sql_ops = {
    .begin = objects_begin,
    .commit = objects_commit,
    .rollback = objects_rollback,
    SQL_PUTS,
    .append_samples = samples_append,
    .append_monitor_input = samples_append_monitor_input,
    .append_audit = samples_append_audit,
    .flush_samples = samples_flush,
    .set_retention = retention_set,
    .retain = retention_step,
    SQL_READERS,
    .identity = read_identity,
    .stats = stats,
    .free = close_store,
};

const struct store_ops sql_reader_ops = {
    SQL_READERS,
    .identity = read_identity,
    .free = close_store,
};
