/* schema.c - see schema.h. The steps are rows of schema.def. */
#include "store/sqlite/schema.h"

#include <assert.h>
#include <stdio.h>

#include "store/sqlite/db.h"
#include "store/sqlite/sqlite.h"

static const char *const object_steps[] = {
#define SCHEMA_STEP(objects, samples) objects,
#include "store/schema.def"
#undef SCHEMA_STEP
};

static const char *const sample_steps[] = {
#define SCHEMA_STEP(objects, samples) samples,
#include "store/schema.def"
#undef SCHEMA_STEP
};

const struct schema *schema_of(enum lane lane)
{
    static const struct schema schemas[LANE_COUNT] = {
        [LANE_OBJECTS] = {"ferry.db", "Ferry's objects", 0x4665724f /* FerO */, "FULL",
                          object_steps, COUNT(object_steps)},
        [LANE_SAMPLES] = {"samples.db", "Ferry's samples", 0x46657253 /* FerS */, "NORMAL",
                          sample_steps, COUNT(sample_steps)},
    };
    assert(lane < LANE_COUNT);
    return &schemas[lane];
}

static bool step_forward(sqlite3 *db, const char *path, const struct schema *schema, size_t from,
                         struct err *err)
{
    char marks[128];
    (void)snprintf(marks, sizeof marks, "PRAGMA application_id=%u; PRAGMA user_version=%zu;",
                   schema->application_id, from + 1);
    char doing[64];
    (void)snprintf(doing, sizeof doing, "cannot upgrade it to schema version %zu", from + 1);

    const char *const parts[] = {"BEGIN IMMEDIATE", schema->steps[from], marks, "COMMIT"};
    for (size_t i = 0; i < COUNT(parts); i++)
        if (!db_exec(db, path, doing, parts[i], err)) {
            db_rollback(db);
            return false;
        }
    return true;
}

bool schema_bring_forward(sqlite3 *db, const char *path, const struct schema *schema,
                          struct err *err)
{
    int64_t version = 0;
    if (!db_int(db, path, "PRAGMA user_version", &version, err))
        return false;
    assert(version >= 0); /* checked by dbfile_inspect() */
    for (size_t from = (size_t)version; from < schema->step_count; from++)
        if (!step_forward(db, path, schema, from, err))
            return false;
    return true;
}

bool schema_check(sqlite3 *db, const char *path, enum lane lane, struct err *err)
{
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        if (rows_type(kind)->lane != lane)
            continue;
        char sql[ROWS_SQL_MAX];
        rows_insert_sql(kind, "", sql);
        sqlite3_stmt *stmt = NULL;
        int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
        (void)sqlite3_finalize(stmt);
        if (rc == SQLITE_ERROR)
            return err_set(err, ERR_CORRUPT,
                           "%s: a table is missing or was changed by hand (%s); restore a backup, "
                           "or move the file away to start empty",
                           path, sqlite3_errmsg(db));
        if (rc != SQLITE_OK)
            return db_fail(db, rc, path, "cannot check its tables", err);
    }
    return true;
}
