/* leases.c - see leases.h. All of its SQL; the clock is the database's in every statement. */
#include "store/sql.h"

#include "base/text.h"

static bool run(struct store *store, const struct sql_read *read, struct err *err)
{
    struct store_sql *s = store_sql_of(store);
    return s->engine->run(s, read, err);
}

static bool note_row(void *ctx, struct sql_cells *cells)
{
    (void)cells;
    *(bool *)ctx = true;
    return true;
}

static bool declare(struct store *s, const char *cell, struct err *err)
{
    const struct sql_value values[] = {sql_text(cell)};
    bool is_new = false;
    const struct sql_read read = {
        .sql = "INSERT INTO leases (cell, owner, epoch, until_ms, ttl_ms, quiet_ms, taken_ms)"
               " VALUES ($1, '', 0, ferry_now_ms(), 0, 0, 0) ON CONFLICT (cell) DO NOTHING "
               "RETURNING 1",
        .values = values,
        .n = COUNT(values),
        .row = note_row,
        .ctx = &is_new};
    return run(s, &read, err);
}

#define LEASE_COLUMNS "cell, owner, epoch, until_ms - ferry_now_ms(), ttl_ms, quiet_ms, taken_ms"

static void read_text(struct sql_cells *cells, int at, char *out, size_t bytes)
{
    const char *text = cells->text(cells, at);
    (void)text_copy(out, bytes, text != NULL ? text : "");
}

static void read_lease(struct sql_cells *cells, struct store_lease *out_lease)
{
    read_text(cells, 0, out_lease->cell, sizeof out_lease->cell);
    read_text(cells, 1, out_lease->owner, sizeof out_lease->owner);
    out_lease->epoch = cells->number(cells, 2);
    out_lease->left_ms = cells->number(cells, 3);
    out_lease->ttl_ms = cells->number(cells, 4);
    out_lease->quiet_ms = cells->number(cells, 5);
    out_lease->taken_ms = cells->number(cells, 6);
}

struct taking {
    struct store_lease lease;
    bool taken;
};

static bool take_row(void *ctx, struct sql_cells *cells)
{
    struct taking *taking = ctx;
    read_lease(cells, &taking->lease);
    taking->taken = true;
    return true;
}

static bool take(struct store *s, const char *cell, const char *owner, int64_t ttl_ms,
                 struct store_lease *out_lease, struct err *err)
{
    struct taking taking = {0};
    const struct sql_value values[] = {sql_text(owner), sql_int(ttl_ms), sql_text(cell)};
    const struct sql_read read = {
        .sql = "UPDATE leases SET owner = $1, epoch = epoch + 1,"
               " quiet_ms = CASE WHEN owner = '' THEN 0 ELSE ttl_ms END,"
               " ttl_ms = $2, until_ms = ferry_now_ms() + $2, taken_ms = ferry_now_ms()"
               " WHERE cell = $3 AND (owner = '' OR until_ms < ferry_now_ms())"
               " RETURNING " LEASE_COLUMNS,
        .values = values,
        .n = COUNT(values),
        .row = take_row,
        .ctx = &taking};
    if (!run(s, &read, err))
        return false;
    if (!taking.taken)
        return err_set(err, ERR_REFUSED, "cell %s: another appliance has its lease", cell);
    *out_lease = taking.lease;
    return true;
}

/* One that changes the row of that tenure, or nothing. */
static bool change(struct store *s, const struct sql_read *as, const char *cell, struct err *err)
{
    bool done = false;
    struct sql_read read = *as;
    read.row = note_row;
    read.ctx = &done;
    return run(s, &read, err) &&
           (done ||
            err_set(err, ERR_FENCED, "cell %s: its lease is another appliance's by now", cell));
}

static bool renew(struct store *s, const char *cell, int64_t epoch, int64_t ttl_ms, struct err *err)
{
    const struct sql_value values[] = {sql_int(ttl_ms), sql_text(cell), sql_int(epoch)};
    const struct sql_read read = {
        .sql = "UPDATE leases SET ttl_ms = $1, until_ms = ferry_now_ms() + $1"
               " WHERE cell = $2 AND epoch = $3 AND owner <> '' RETURNING 1",
        .values = values,
        .n = COUNT(values)};
    return change(s, &read, cell, err);
}

static bool release(struct store *s, const char *cell, int64_t epoch, struct err *err)
{
    const struct sql_value values[] = {sql_text(cell), sql_int(epoch)};
    const struct sql_read read = {.sql =
                                      "UPDATE leases SET owner = '', until_ms = ferry_now_ms()"
                                      " WHERE cell = $1 AND epoch = $2 AND owner <> '' RETURNING 1",
                                  .values = values,
                                  .n = COUNT(values)};
    return change(s, &read, cell, err);
}

struct visiting {
    store_lease_fn *lease;
    store_appliance_fn *appliance;
    void *ctx;
};

static bool visit_lease(void *ctx, struct sql_cells *cells)
{
    struct visiting *visiting = ctx;
    struct store_lease lease = {0};
    read_lease(cells, &lease);
    return visiting->lease(visiting->ctx, &lease);
}

static bool each(struct store *s, store_lease_fn *fn, void *ctx, struct err *err)
{
    struct visiting visiting = {.lease = fn, .ctx = ctx};
    const struct sql_read read = {.sql = "SELECT " LEASE_COLUMNS " FROM leases ORDER BY cell",
                                  .row = visit_lease,
                                  .ctx = &visiting};
    return run(s, &read, err);
}

static bool note(struct store *s, const struct store_appliance *appliance, struct err *err)
{
    const struct sql_value values[] = {sql_text(appliance->name), sql_text(appliance->address),
                                       sql_text(appliance->version)};
    bool done = false;
    const struct sql_read read = {
        .sql = "INSERT INTO appliances (name, address, version, seen_ms)"
               " VALUES ($1, $2, $3, ferry_now_ms()) ON CONFLICT (name) DO UPDATE SET"
               " address = excluded.address, version = excluded.version,"
               " seen_ms = excluded.seen_ms RETURNING 1",
        .values = values,
        .n = COUNT(values),
        .row = note_row,
        .ctx = &done};
    return run(s, &read, err);
}

static bool leave(struct store *s, const char *name, struct err *err)
{
    const struct sql_value values[] = {sql_text(name)};
    bool done = false;
    const struct sql_read read = {.sql = "DELETE FROM appliances WHERE name = $1 RETURNING 1",
                                  .values = values,
                                  .n = COUNT(values),
                                  .row = note_row,
                                  .ctx = &done};
    return run(s, &read, err);
}

static bool visit_appliance(void *ctx, struct sql_cells *cells)
{
    struct visiting *visiting = ctx;
    struct store_appliance appliance = {0};
    read_text(cells, 0, appliance.name, sizeof appliance.name);
    read_text(cells, 1, appliance.address, sizeof appliance.address);
    read_text(cells, 2, appliance.version, sizeof appliance.version);
    appliance.age_ms = cells->number(cells, 3);
    return visiting->appliance(visiting->ctx, &appliance);
}

static bool each_appliance(struct store *s, store_appliance_fn *fn, void *ctx, struct err *err)
{
    struct visiting visiting = {.appliance = fn, .ctx = ctx};
    const struct sql_read read = {.sql = "SELECT name, address, version, ferry_now_ms() - seen_ms"
                                         " FROM appliances ORDER BY name",
                                  .row = visit_appliance,
                                  .ctx = &visiting};
    return run(s, &read, err);
}

const struct store_lease_ops sql_lease_ops = {
    .declare = declare,
    .take = take,
    .renew = renew,
    .release = release,
    .each = each,
    .note = note,
    .leave = leave,
    .each_appliance = each_appliance,
};

/* ---- the fence ---- */

/* Cells are DNS labels (store_fence_is_valid): literals are safe. KEY SHARE: a takeover changes the
 * epoch, which is part of a key, and so waits for this transaction; a renewal does not. */
void fence_sql(const struct store_fence *fence, bool locks, char *out_sql)
{
    struct buf sql;
    buf_init(&sql, FENCE_SQL_MAX);
    if (fence->n == 0)
        buf_add(&sql, "1 = 0");
    for (size_t i = 0; i < fence->n; i++)
        buf_addf(&sql, "%s(cell = '%s' AND epoch = %lld)",
                 i == 0 ? "(SELECT count(*) FROM (SELECT 1 FROM leases WHERE " : " OR ",
                 fence->list[i].cell, (long long)fence->list[i].epoch);
    if (fence->n > 0)
        buf_addf(&sql, "%s) AS held) = %zu", locks ? " FOR KEY SHARE" : "", fence->n);
    OWNED_TEXT text = buf_take(&sql);
    /* Without memory: a fence that nothing passes. */
    if (text == NULL || !text_copy(out_sql, FENCE_SQL_MAX, text))
        (void)text_copy(out_sql, FENCE_SQL_MAX, "1 = 0");
}

bool fence_is_valid(const struct store_fence *fence, struct err *err)
{
    if (fence->n > STORE_CELLS_MAX)
        return err_set(err, ERR_LIMIT, "at most %d cells", STORE_CELLS_MAX);
    for (size_t i = 0; i < fence->n; i++)
        if (!text_is_dns_label(fence->list[i].cell))
            return err_set(err, ERR_INVALID, "cell '%s' is not a DNS label", fence->list[i].cell);
    return true;
}
