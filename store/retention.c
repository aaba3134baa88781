/* retention.c - see retention.h: selects and deletes expired rows. History is deleted by the time
 * of the end (index jobs_ended). Samples have no such index: traces are visited round-robin by uid,
 * a few at a time; the age of a trace is that of its newest sample. While the file is too large
 * after a whole round, the next round halves the limits. */
#include "store/retention.h"

#include <string.h>

#include "base/text.h"
#include "store/sql.h"

enum { ORPHAN_MS = 3600 * 1000, PRESSURE_MAX = 20 };
static const int64_t HOUR_MS = 3600 * 1000;
static const int64_t GIB = INT64_C(1) << 30;

void store_retention_default(struct store_retention *out_retention)
{
    *out_retention = (struct store_retention){
        .full_samples_ms = 48 * HOUR_MS,
        .samples_ms = 14 * 24 * HOUR_MS,
        .history_ms = 365 * 24 * HOUR_MS,
        .samples_bytes = 4 * GIB,
        .history_bytes = 16 * GIB,
    };
}

/* Remote: the history too is dropped by the sample writer, in its own transactions. */
static enum lane lane_for(const struct store_sql *s, enum lane lane)
{
    return s->engine->is_remote ? LANE_SAMPLES : lane;
}

/* One statement, in a transaction of its own. */
static bool change(struct store_sql *s, enum statement id, const struct sql_value *values, size_t n,
                   int64_t *out_changed, struct err *err)
{
    enum lane lane = lane_for(s, statement_lane(id));
    int64_t changed = 0;
    const struct sql_write write = {id, values, n, &changed};
    if (!s->engine->begin(s, lane, err) || !s->engine->write(s, lane, &write, err) ||
        !s->engine->commit(s, lane, err)) {
        s->engine->rollback(s, lane);
        return false;
    }
    *out_changed = changed;
    return true;
}

/* ---- history ---- */

struct uids {
    size_t n;
    char uid[RETENTION_STEP_JOBS][64];
};

static bool keep_uid(void *ctx, struct sql_cells *cells)
{
    struct uids *uids = ctx;
    const char *uid = cells->text(cells, 0);
    TEXT_SET(uids->uid[uids->n++], uid != NULL ? uid : "");
    return uids->n < RETENTION_STEP_JOBS;
}

/* The oldest deletable jobs: ended and without an open incident. */
static bool find_old(struct store_sql *s, int64_t before_ms, struct uids *out, struct err *err)
{
    const struct sql_value values[] = {sql_int(before_ms), sql_int(RETENTION_STEP_JOBS)};
    const struct sql_read read = {
        .sql = "SELECT uid FROM jobs WHERE outcome <> '' AND ended_ms < $1 AND NOT EXISTS"
               " (SELECT 1 FROM incidents WHERE job_uid = uid AND closed_ms = 0)"
               " ORDER BY ended_ms LIMIT $2",
        .values = values,
        .n = COUNT(values),
        .row = keep_uid,
        .ctx = out};
    return s->engine->read(s, LANE_OBJECTS, &read, err);
}

static bool drop_jobs(struct store_sql *s, const struct uids *old, struct err *err)
{
    enum lane lane = lane_for(s, LANE_OBJECTS);
    bool good = s->engine->begin(s, lane, err);
    for (size_t i = 0; i < old->n; i++) {
        const struct sql_value uid = sql_text(old->uid[i]);
        for (enum statement id = STATEMENT_DROP_FIRST; good && id <= STATEMENT_DROP_LAST; id++)
            good = s->engine->write(s, lane, &(struct sql_write){id, &uid, 1, NULL}, err);
    }
    if (good && s->engine->commit(s, lane, err))
        return true;
    s->engine->rollback(s, lane);
    return false;
}

static bool drop_history(struct store_sql *s, int64_t before_ms, bool *out_did, struct err *err)
{
    struct uids old = {0};
    if (!find_old(s, before_ms, &old, err))
        return false;
    if (old.n == 0)
        return true;
    if (!drop_jobs(s, &old, err))
        return false;
    atomic_fetch_add(&s->jobs_dropped, old.n);
    *out_did = true;
    return true;
}

/* Incidents of guests that no migration moved; those of migrations go with them. */
static bool drop_incidents(struct store_sql *s, int64_t before_ms, bool *out_did, struct err *err)
{
    const struct sql_value before = sql_int(before_ms);
    int64_t changed = 0;
    if (!change(s, STATEMENT_DROP_OLD_INCIDENTS, &before, 1, &changed, err))
        return false;
    *out_did = *out_did || changed > 0;
    return true;
}

/* Where the clock of retention stands; see begin_retention() of the engine. */
static bool note_time(struct store_sql *s, int64_t now_ms, struct err *err)
{
    int64_t since_ms = now_ms - s->retention.noted_ms, changed = 0;
    const struct sql_value now = sql_int(now_ms);
    if (since_ms >= 0 && since_ms < HOUR_MS)
        return true;
    s->retention.noted_ms = now_ms;
    return change(s, STATEMENT_NOTE_TIME, &now, 1, &changed, err);
}

static bool retain_history(struct store_sql *s, int64_t now_ms, bool *out_did, struct err *err)
{
    const struct store_retention *r = &s->retention.settings;
    bool too_large = r->history_bytes > 0 && s->engine->bytes(s, LANE_OBJECTS) > r->history_bytes;
    int64_t age_ms = too_large ? ORPHAN_MS : r->history_ms; /* too large: the oldest, of any age */
    return age_ms <= 0 || (drop_history(s, now_ms - age_ms, out_did, err) &&
                           drop_incidents(s, now_ms - age_ms, out_did, err));
}

/* ---- samples ---- */

struct trace {
    char uid[64];
    int64_t newest_ms;       /* of its samples and monitor inputs */
    bool has_monitor_inputs; /* not thinned yet */
};

static bool keep_trace(void *ctx, struct sql_cells *cells)
{
    struct trace *trace = ctx;
    const char *uid = cells->text(cells, 0);
    int64_t sample_ms = cells->number(cells, 1), input_ms = cells->number(cells, 2);
    TEXT_SET(trace->uid, uid != NULL ? uid : "");
    trace->newest_ms = sample_ms > input_ms ? sample_ms : input_ms;
    trace->has_monitor_inputs = cells->number(cells, 3) != 0;
    return false;
}

/* The next trace after the cursor; uid "" at the end. */
static bool next_trace(struct store_sql *s, const char *after, struct trace *out)
{
    struct err ignored = {0};
    const struct sql_value cursor = sql_text(after);
    const struct sql_read read = {
        .sql = "SELECT t.uid, coalesce((SELECT at_ms FROM samples WHERE job_uid = t.uid"
               " ORDER BY seq DESC LIMIT 1), 0), coalesce((SELECT at_ms FROM monitor_inputs"
               " WHERE job_uid = t.uid ORDER BY seq DESC LIMIT 1), 0),"
               " CASE WHEN EXISTS (SELECT 1 FROM monitor_inputs WHERE job_uid = t.uid) THEN 1"
               " ELSE 0 END FROM (SELECT min(uid) AS uid FROM (SELECT min(job_uid) AS uid FROM"
               " samples WHERE job_uid > $1 UNION ALL SELECT min(job_uid) FROM monitor_inputs"
               " WHERE job_uid > $1) AS firsts) AS t WHERE t.uid IS NOT NULL",
        .values = &cursor,
        .n = 1,
        .row = keep_trace,
        .ctx = out};
    *out = (struct trace){0};
    return s->engine->read(s, LANE_SAMPLES, &read, &ignored);
}

enum job_state { JOB_GONE, JOB_ENDED, JOB_UNFINISHED, JOB_NOT_KNOWN };

static bool keep_state(void *ctx, struct sql_cells *cells)
{
    *(enum job_state *)ctx = cells->number(cells, 0) != 0 ? JOB_UNFINISHED : JOB_ENDED;
    return false;
}

/* Traces of unfinished jobs are kept. */
static enum job_state state_of(struct store_sql *s, const char *uid)
{
    struct err ignored = {0};
    enum job_state state = JOB_GONE;
    const struct sql_value value = sql_text(uid);
    const struct sql_read read = {
        .sql = "SELECT CASE WHEN outcome = '' THEN 1 ELSE 0 END FROM jobs WHERE uid = $1",
        .values = &value,
        .n = 1,
        .row = keep_state,
        .ctx = &state};
    return s->engine->read(s, LANE_OBJECTS, &read, &ignored) ? state : JOB_NOT_KNOWN;
}

static int64_t step_of(struct store_sql *s, enum statement id, const char *uid)
{
    struct err ignored = {0};
    int64_t changed = 0;
    const struct sql_value values[] = {sql_text(uid), sql_int(RETENTION_STEP_ROWS)};
    (void)change(s, id, values, COUNT(values), &changed, &ignored);
    return changed;
}

/* Monitor inputs are deleted when the samples have been thinned: a replay needs all samples. */
static int64_t thin_rows(struct store_sql *s, const char *uid)
{
    int64_t thinned = step_of(s, STATEMENT_THIN_SAMPLES, uid);
    return thinned > 0 ? thinned : step_of(s, STATEMENT_DROP_INPUTS, uid);
}

static int64_t under_pressure(int64_t age_ms, unsigned pressure)
{
    return age_ms <= 0 ? (pressure == 0 ? 0 : 365 * 24 * HOUR_MS >> pressure) : age_ms >> pressure;
}

/* True: rows were deleted. */
static bool retain_trace(struct store_sql *s, const struct trace *trace, int64_t now_ms)
{
    struct retaining *r = &s->retention;
    int64_t age_ms = now_ms - trace->newest_ms, deleted = 0;
    int64_t full_ms = under_pressure(r->settings.full_samples_ms, r->pressure);
    int64_t keep_ms = under_pressure(r->settings.samples_ms, r->pressure);
    if (age_ms < ORPHAN_MS && r->pressure < PRESSURE_MAX)
        return false; /* may be active or just ended */
    enum job_state state = state_of(s, trace->uid);
    if (state == JOB_UNFINISHED || state == JOB_NOT_KNOWN)
        return false;
    if (state == JOB_GONE || (keep_ms > 0 && age_ms > keep_ms))
        deleted = step_of(s, STATEMENT_DROP_SAMPLES, trace->uid) +
                  step_of(s, STATEMENT_DROP_INPUTS, trace->uid);
    else if (full_ms > 0 && age_ms > full_ms && trace->has_monitor_inputs)
        deleted = thin_rows(s, trace->uid);
    atomic_fetch_add(&s->samples_retired, (uint64_t)deleted);
    return deleted > 0;
}

/* After a whole round: adjusts the pressure to the file size. */
static void round_over(struct store_sql *s)
{
    struct retaining *r = &s->retention;
    r->cursor[0] = '\0';
    bool too_large = r->settings.samples_bytes > 0 &&
                     s->engine->bytes(s, LANE_SAMPLES) > r->settings.samples_bytes;
    r->pressure = !too_large ? 0 : r->pressure < PRESSURE_MAX ? r->pressure + 1 : PRESSURE_MAX;
}

/* By age, as the history, and by number: a flood of changes does not fill the disk. */
static void retain_audit(struct store_sql *s, int64_t now_ms)
{
    struct err ignored = {0};
    int64_t age_ms = s->retention.settings.history_ms, changed = 0;
    const struct sql_value before = sql_int(now_ms - age_ms), most = sql_int(RETENTION_AUDIT_ROWS);
    if (age_ms > 0)
        (void)change(s, STATEMENT_DROP_AUDIT_BY_AGE, &before, 1, &changed, &ignored);
    (void)change(s, STATEMENT_DROP_AUDIT_BY_NUMBER, &most, 1, &changed, &ignored);
}

static bool retain_samples(struct store_sql *s, int64_t now_ms)
{
    struct retaining *r = &s->retention;
    retain_audit(s, now_ms);
    for (int i = 0; i < RETENTION_STEP_TRACES; i++) {
        struct trace trace;
        if (!next_trace(s, r->cursor, &trace))
            return false;
        if (trace.uid[0] == '\0') {
            round_over(s);
            return r->pressure > 0;
        }
        if (retain_trace(s, &trace, now_ms))
            return true; /* visit it again: there may be more */
        TEXT_SET(r->cursor, trace.uid);
    }
    return false;
}

bool retention_in_background(struct store_sql *s, int64_t now_ms)
{
    struct err ignored = {0};
    bool more = false;
    if (!atomic_load(&s->retention.is_set))
        return false;
    bool did = retain_samples(s, now_ms);
    if (s->engine->is_remote && note_time(s, now_ms, &ignored))
        (void)retain_history(s, now_ms, &more, &ignored);
    return did || more;
}

/* ---- the operations of store.h ---- */

void retention_set(struct store *store, const struct store_retention *retention)
{
    struct store_sql *s = store_sql_of(store);
    s->retention.settings = *retention; /* before is_set */
    atomic_store(&s->retention.is_set, true);
}

bool retention_step(struct store *store, int64_t now_ms, bool *out_did, struct err *err)
{
    struct store_sql *s = store_sql_of(store);
    *out_did = false;
    atomic_store(&s->retention.now_ms, now_ms);
    if (!atomic_load(&s->retention.is_set) || s->engine->is_remote)
        return true;
    if (s->in_memory) /* no thread: at once */
        *out_did = retain_samples(s, now_ms);
    return note_time(s, now_ms, err) && retain_history(s, now_ms, out_did, err);
}
