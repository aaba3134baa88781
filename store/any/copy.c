/* copy.c - see copy.h. */
#include "store/any/copy.h"

#include <stdio.h>

#include "store/any/any.h"
#include "store/sql.h"

enum { ROWS_AT_ONCE = 1000, UNFINISHED = -1 };

struct copying {
    struct store_sql *from, *to;
    enum row kind;
    enum lane lane;
    int64_t in_batch, rows;
    struct err *err;
};

static bool refuse_source(const char *from, struct err *err)
{
    struct store *source = store_read(from, err);
    bool good = source != NULL;
    store_free(source);
    return good;
}

static bool count_rows(struct store_sql *s, enum row kind, int64_t *out_n, struct err *err)
{
    char sql[128];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", rows_type(kind)->table);
    return store_sql_int(s, rows_type(kind)->lane, sql, out_n, err);
}

static bool refuse_full_target(struct store_sql *to, struct err *err)
{
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        int64_t n = 0;
        if (!count_rows(to, kind, &n, err))
            return false;
        if (n > 0)
            return err_set(err, ERR_EXISTS,
                           "%s: has records already (%lld in %s); name an empty database, schema "
                           "or directory",
                           to->engine->place(to, LANE_OBJECTS), (long long)n,
                           rows_type(kind)->table);
    }
    return true;
}

static bool put_identity(struct store_sql *to, const struct store_identity *identity,
                         struct err *err)
{
    const struct sql_value values[] = {sql_text(identity->id), sql_int(identity->epoch),
                                       sql_int(identity->restored_ms), sql_int(identity->seen_ms)};
    const struct sql_write write = {STATEMENT_PUT_IDENTITY, values, COUNT(values), NULL};
    if (to->engine->begin(to, LANE_OBJECTS, err) &&
        to->engine->write(to, LANE_OBJECTS, &write, err) &&
        to->engine->commit(to, LANE_OBJECTS, err))
        return true;
    to->engine->rollback(to, LANE_OBJECTS);
    return false;
}

static bool put_row(struct copying *c, const union any_row *row)
{
    struct sql_value values[SQL_VALUES_MAX];
    const struct sql_engine *engine = c->to->engine;
    size_t n = rows_values(c->kind, row, values);
    if (c->in_batch == 0 && !engine->begin(c->to, c->lane, c->err))
        return false;
    c->in_batch++;
    c->rows++;
    const struct sql_write write = {(enum statement)c->kind, values, n, NULL};
    if (!engine->write(c->to, c->lane, &write, c->err))
        return false;
    if (c->in_batch < ROWS_AT_ONCE)
        return true;
    c->in_batch = 0;
    return engine->commit(c->to, c->lane, c->err);
}

static bool copy_row(void *ctx, struct sql_cells *cells)
{
    struct copying *c = ctx;
    union any_row row;
    return rows_read(cells, c->kind, &row) && put_row(c, &row);
}

/* Where rows have a number of their own, its order is that in which they happened. */
static bool copy_table(struct copying *c)
{
    char sql[ROWS_SQL_MAX];
    bool is_numbered =
        strstr(rows_type(c->kind)->order, "id") != NULL && rows_type(c->kind)->key[0] == '\0';
    c->lane = rows_type(c->kind)->lane;
    rows_select_sql(c->kind, NULL, is_numbered ? "ORDER BY id" : "", sql);
    const struct sql_read read = {.sql = sql, .row = copy_row, .ctx = c};
    bool good = c->from->engine->read(c->from, c->lane, &read, c->err) && c->err->code == ERR_NONE;
    if (good && c->in_batch > 0)
        good = c->to->engine->commit(c->to, c->lane, c->err);
    if (!good)
        c->to->engine->rollback(c->to, c->lane);
    c->in_batch = 0;
    return good;
}

static bool compare_counts(struct copying *c)
{
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        int64_t here = 0, there = 0;
        if (!count_rows(c->from, kind, &here, c->err) || !count_rows(c->to, kind, &there, c->err))
            return false;
        if (here != there)
            return err_set(c->err, ERR_CORRUPT, "%s: %lld rows, in the copy %lld; it is not used",
                           rows_type(kind)->table, (long long)here, (long long)there);
    }
    return true;
}

static bool copy_all(struct copying *c)
{
    struct store_identity identity, unfinished;
    if (!c->from->store.ops->identity(&c->from->store, &identity, c->err) ||
        !refuse_full_target(c->to, c->err))
        return false;
    unfinished = identity;
    unfinished.epoch = UNFINISHED;
    if (!put_identity(c->to, &unfinished, c->err))
        return false;
    for (c->kind = 0; c->kind < ROW_COUNT; c->kind++)
        if (!copy_table(c))
            return false;
    return c->to->engine->sync_samples(c->to, c->err) && compare_counts(c) &&
           put_identity(c->to, &identity, c->err);
}

bool store_copy(const char *from, const char *to, struct copy_report *out_report, struct err *err)
{
    if (!refuse_source(from, err))
        return false;
    OWNED(store) source = store_open(from, err);
    OWNED(store) target = source != NULL ? store_open(to, err) : NULL;
    if (target == NULL)
        return false;
    struct copying c = {.from = store_sql_of(source), .to = store_sql_of(target), .err = err};
    struct copy_report report = {0};
    if (!copy_all(&c) || !count_rows(c.to, ROW_JOB, &report.migrations, err) ||
        !count_rows(c.to, ROW_SAMPLE, &report.samples, err))
        return false;
    report.rows = c.rows;
    *out_report = report;
    return true;
}
