/* schema.c - see schema.h.
 *
 * A released step never changes: existing files were made by it. A new column or table is a new
 * step at the end, STORE_SCHEMA_VERSION + 1, and a line in rows.c. Both files count the same
 * versions; a step that does not concern a file is "" there. Plain tables, text for enums, readable
 * in a SQL shell.
 */
#include "store/schema.h"

#include <assert.h>
#include <stdio.h>

#include "store/db.h"
#include "store/sqlite.h"

static const char *const object_steps[] = {
    "CREATE TABLE jobs ("
    "  uid TEXT NOT NULL PRIMARY KEY, ns TEXT NOT NULL, name TEXT NOT NULL,"
    "  guest_uuid TEXT NOT NULL, guest_name TEXT NOT NULL,"
    "  source_node TEXT NOT NULL, target_node TEXT NOT NULL, wanted_node TEXT NOT NULL,"
    "  phase TEXT NOT NULL, mode TEXT NOT NULL,"
    "  requester TEXT NOT NULL, priority TEXT NOT NULL, triggered_by TEXT NOT NULL,"
    "  abort_status TEXT NOT NULL, abort_requester TEXT NOT NULL, abort_why TEXT NOT NULL,"
    "  failure_reason TEXT NOT NULL, outcome TEXT NOT NULL, guest_at TEXT NOT NULL,"
    "  metadata_json TEXT NOT NULL, config_json TEXT NOT NULL,"
    "  resolving INTEGER NOT NULL, recovering INTEGER NOT NULL, adopted INTEGER NOT NULL,"
    "  removed INTEGER NOT NULL, bandwidth_mibs INTEGER NOT NULL, flags INTEGER NOT NULL,"
    "  epoch INTEGER NOT NULL, resource_version INTEGER NOT NULL,"
    "  created_ms INTEGER NOT NULL, handed_off_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL,"
    "  ended_ms INTEGER NOT NULL, delete_asked_ms INTEGER NOT NULL,"
    "  error_hv_code INTEGER NOT NULL, error_hv_domain INTEGER NOT NULL,"
    "  error_text TEXT NOT NULL) STRICT;"
    "CREATE INDEX jobs_by_time ON jobs (created_ms, uid);"
    "CREATE INDEX jobs_unfinished ON jobs (created_ms, uid) WHERE outcome = '';"
    "CREATE INDEX jobs_by_name ON jobs (ns, name);"
    "CREATE INDEX jobs_by_guest ON jobs (guest_uuid, created_ms);"

    "CREATE TABLE transitions ("
    "  job_uid TEXT NOT NULL, seq INTEGER NOT NULL,"
    "  from_phase TEXT NOT NULL, to_phase TEXT NOT NULL, why TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL, spent_ms INTEGER NOT NULL,"
    "  PRIMARY KEY (job_uid, seq)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE intents ("
    "  job_uid TEXT NOT NULL, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,"
    "  action TEXT NOT NULL, node TEXT NOT NULL, argument TEXT NOT NULL, status TEXT NOT NULL,"
    "  asked_ms INTEGER NOT NULL, done_ms INTEGER NOT NULL,"
    "  err TEXT NOT NULL, hv_code INTEGER NOT NULL, hv_domain INTEGER NOT NULL,"
    "  text TEXT NOT NULL,"
    "  PRIMARY KEY (job_uid, epoch, seq)) STRICT;"
    "CREATE INDEX intents_open ON intents (asked_ms) WHERE status = 'open';"

    "CREATE TABLE sightings ("
    "  id INTEGER PRIMARY KEY, job_uid TEXT NOT NULL, node TEXT NOT NULL, role TEXT NOT NULL,"
    "  presence TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, moment TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX sightings_by_job ON sightings (job_uid, at_ms);"

    "CREATE TABLE errors ("
    "  id INTEGER PRIMARY KEY, job_uid TEXT NOT NULL, node TEXT NOT NULL, call TEXT NOT NULL,"
    "  hv_code INTEGER NOT NULL, hv_domain INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    "  text TEXT NOT NULL) STRICT;"
    "CREATE INDEX errors_by_job ON errors (job_uid, at_ms);"

    "CREATE TABLE modes ("
    "  id INTEGER PRIMARY KEY, job_uid TEXT NOT NULL, mode TEXT NOT NULL, cause TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX modes_by_job ON modes (job_uid, at_ms);"

    "CREATE TABLE events ("
    "  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL,"
    "  uid TEXT NOT NULL, type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX events_by_object ON events (uid, at_ms);"
    "CREATE INDEX events_by_time ON events (at_ms);",

    "ALTER TABLE jobs ADD COLUMN policy_name TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN selector_json TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN volumes_json TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN evacuates TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN pending TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN pending_reason TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN launcher TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN monitor_json TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN arrival INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN requirement INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN streak INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN waited_before_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN waits_since_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN launcher_since_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN reserved_memory_kib INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN reserved_vcpus INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN reserved_huge_kib INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN reserved_bandwidth INTEGER NOT NULL DEFAULT 0;"

    /* Events are counted and bounded from here on. Only the newest 50000 are looked at, so that
     * a file that grew for years takes no longer; of those that repeat the newest stays. */
    "CREATE TABLE events_2 ("
    "  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL,"
    "  uid TEXT NOT NULL, type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL, first_ms INTEGER NOT NULL, count INTEGER NOT NULL) STRICT;"
    "INSERT INTO events_2"
    "  SELECT id, kind, ns, name, uid, type, reason, message, at_ms, first, n FROM"
    "  (SELECT *, min(at_ms) OVER same AS first, count(*) OVER same AS n,"
    "   row_number() OVER (same ORDER BY at_ms DESC, id DESC) AS nth"
    "   FROM (SELECT * FROM events ORDER BY at_ms DESC, id DESC LIMIT 50000)"
    "   WINDOW same AS (PARTITION BY uid, reason, message))"
    "  WHERE nth = 1 ORDER BY id;"
    "DROP TABLE events;"
    "ALTER TABLE events_2 RENAME TO events;"
    "CREATE INDEX events_by_object ON events (uid, at_ms);"
    "CREATE INDEX events_by_time ON events (at_ms);"
    "CREATE UNIQUE INDEX events_once ON events (uid, reason, message);"
    "DELETE FROM events WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER"
    "  (PARTITION BY uid ORDER BY at_ms DESC, id DESC) AS nth FROM events) WHERE nth > 200);"

    "CREATE TABLE objects ("
    "  kind TEXT NOT NULL, ns TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL,"
    "  requester TEXT NOT NULL, spec_json TEXT NOT NULL, metadata_json TEXT NOT NULL,"
    "  status_json TEXT NOT NULL, created_ms INTEGER NOT NULL, changed_ms INTEGER NOT NULL,"
    "  resource_version INTEGER NOT NULL, removed INTEGER NOT NULL,"
    "  PRIMARY KEY (kind, ns, name)) STRICT;"
    "CREATE INDEX objects_by_time ON objects (created_ms, kind, ns, name) WHERE removed = 0;"

    "CREATE TABLE rejections ("
    "  id INTEGER PRIMARY KEY, job_uid TEXT NOT NULL, node TEXT NOT NULL, reason TEXT NOT NULL,"
    "  detail TEXT NOT NULL, for_ever INTEGER NOT NULL, at_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX rejections_by_job ON rejections (job_uid, at_ms);"

    "CREATE TABLE decisions ("
    "  job_uid TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    "  monitor TEXT NOT NULL, shadow INTEGER NOT NULL, decision TEXT NOT NULL,"
    "  action TEXT NOT NULL, text TEXT NOT NULL, downtime_ms INTEGER NOT NULL,"
    "  elapsed_ms INTEGER NOT NULL, budget_ms INTEGER NOT NULL, estimate_ms INTEGER NOT NULL,"
    "  remaining INTEGER NOT NULL, low_water INTEGER NOT NULL, bandwidth_bps INTEGER NOT NULL,"
    "  dirty_bps INTEGER NOT NULL, iteration INTEGER NOT NULL,"
    "  PRIMARY KEY (job_uid, seq)) STRICT, WITHOUT ROWID;",

    /* 3: what the data plane learns of a job: why it was stopped, how a broken post-copy went on,
     * what it came to and what was expected. */
    "ALTER TABLE jobs ADD COLUMN abort_cause TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN recovery TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN recovery_tries INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN recovery_since_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN recovery_until_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN remedy_text TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN paused_by_user INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN ran_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN final_from TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE jobs ADD COLUMN final_total_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN final_downtime_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN final_setup_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN final_bytes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN final_passes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN forecast_total_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN forecast_low_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN forecast_high_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN forecast_downtime_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE jobs ADD COLUMN forecast_percent INTEGER NOT NULL DEFAULT -1;",

    /* 4: why a migration ended as it did, what that was read from, and who must look at it. */
    "CREATE TABLE verdicts ("
    "  job_uid TEXT NOT NULL PRIMARY KEY, at_ms INTEGER NOT NULL, outcome TEXT NOT NULL,"
    "  plane TEXT NOT NULL, cause TEXT NOT NULL, failed_at TEXT NOT NULL,"
    "  recoverable TEXT NOT NULL, guest_at TEXT NOT NULL, irrecoverable INTEGER NOT NULL,"
    "  confidence_percent INTEGER NOT NULL, rule TEXT NOT NULL, rules_version TEXT NOT NULL,"
    "  action TEXT NOT NULL, runbook TEXT NOT NULL, judged_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX verdicts_by_time ON verdicts (at_ms, job_uid);"
    "CREATE INDEX verdicts_by_cause ON verdicts (cause, at_ms);"

    "CREATE TABLE verdict_points ("
    "  job_uid TEXT NOT NULL, seq INTEGER NOT NULL, standing TEXT NOT NULL, rule TEXT NOT NULL,"
    "  side TEXT NOT NULL, origin TEXT NOT NULL, at_ms INTEGER NOT NULL, quote TEXT NOT NULL,"
    "  note TEXT NOT NULL, PRIMARY KEY (job_uid, seq)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE verdict_numbers ("
    "  job_uid TEXT NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,"
    "  unit TEXT NOT NULL, PRIMARY KEY (job_uid, seq)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE evidence ("
    "  job_uid TEXT NOT NULL, seq INTEGER NOT NULL, side TEXT NOT NULL, origin TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,"
    "  PRIMARY KEY (job_uid, seq)) STRICT;"

    "CREATE TABLE incidents ("
    "  job_uid TEXT NOT NULL PRIMARY KEY, ns TEXT NOT NULL, name TEXT NOT NULL,"
    "  node TEXT NOT NULL, plane TEXT NOT NULL, cause TEXT NOT NULL, kind TEXT NOT NULL,"
    "  opened_ms INTEGER NOT NULL, closed_ms INTEGER NOT NULL, closed_by TEXT NOT NULL,"
    "  closed_why TEXT NOT NULL) STRICT;"
    "CREATE INDEX incidents_by_time ON incidents (opened_ms, job_uid);"
    "CREATE INDEX incidents_open ON incidents (opened_ms, job_uid) WHERE closed_ms = 0;",

    /* 5: for what is asked of the past (views.def, written with these very conditions) and for
     * what is dropped from it. Only jobs that ended are in them: no cost while one is under way. */
    "CREATE INDEX jobs_ended ON jobs (ended_ms) WHERE outcome <> '';"
    "CREATE INDEX jobs_failed ON jobs (ended_ms) WHERE outcome NOT IN ('', 'succeeded');"
    "CREATE INDEX jobs_failed_guest ON jobs (guest_uuid, created_ms, outcome)"
    "  WHERE outcome NOT IN ('', 'succeeded');"
    "CREATE INDEX jobs_guest_ends ON jobs (guest_uuid, outcome, created_ms) WHERE outcome <> '';"
    "CREATE INDEX jobs_policy ON jobs (policy_name, outcome, handed_off_ms, ended_ms, mode,"
    "  final_from, final_downtime_ms, final_total_ms, forecast_percent, forecast_total_ms,"
    "  forecast_low_ms, forecast_high_ms) WHERE outcome <> '';"
    "CREATE INDEX jobs_path ON jobs (source_node, target_node, outcome, handed_off_ms, ended_ms,"
    "  final_from, final_total_ms, final_bytes, final_downtime_ms) WHERE outcome <> '';",

    /* 6: an incident names its migration and the hosts itself: the job may be gone by then. */
    "ALTER TABLE incidents ADD COLUMN migration TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE incidents ADD COLUMN source_node TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE incidents ADD COLUMN target_node TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE incidents ADD COLUMN guest_at TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE incidents ADD COLUMN ended_ms INTEGER NOT NULL DEFAULT 0;"
    "UPDATE incidents SET migration = job_uid, ended_ms = opened_ms;"
    "UPDATE incidents SET (migration, source_node, target_node, guest_at, ended_ms) ="
    "  (SELECT j.name, j.source_node, j.target_node, j.guest_at, j.ended_ms FROM jobs AS j"
    "   WHERE j.uid = job_uid) WHERE EXISTS (SELECT 1 FROM jobs AS j WHERE j.uid = job_uid);",

    /* 7: where the target listens for a migration's memory, and which orders of a recovery ended a
     * host's daemon: neither may be forgotten by a restart. */
    ("ALTER TABLE jobs ADD COLUMN stream_port INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE jobs ADD COLUMN recovery_unsafe TEXT NOT NULL DEFAULT '';"),

    /* 8: names of the field: docs/glossary.md. */
    "ALTER TABLE sightings RENAME TO observations;"
    "DROP INDEX sightings_by_job;"
    "CREATE INDEX observations_by_job ON observations (job_uid, at_ms);"
    "ALTER TABLE jobs RENAME COLUMN final_passes TO final_iterations;",
};

static const char *const sample_steps[] = {
    "CREATE TABLE samples ("
    "  job_uid TEXT NOT NULL, seq INTEGER NOT NULL, source TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL, mono_ms INTEGER NOT NULL,"
    "  time_elapsed_ms INTEGER NOT NULL, downtime_ms INTEGER NOT NULL, setup_ms INTEGER NOT NULL,"
    "  data_total INTEGER NOT NULL, data_processed INTEGER NOT NULL,"
    "  data_remaining INTEGER NOT NULL,"
    "  memory_total INTEGER NOT NULL, memory_processed INTEGER NOT NULL,"
    "  memory_remaining INTEGER NOT NULL, memory_bps INTEGER NOT NULL,"
    "  memory_dirty_rate INTEGER NOT NULL, memory_page_size INTEGER NOT NULL,"
    "  memory_iteration INTEGER NOT NULL, memory_postcopy_requests INTEGER NOT NULL,"
    "  memory_constant INTEGER NOT NULL, memory_normal_bytes INTEGER NOT NULL,"
    "  disk_total INTEGER NOT NULL, disk_processed INTEGER NOT NULL,"
    "  disk_remaining INTEGER NOT NULL, disk_bps INTEGER NOT NULL,"
    "  throttle_percent INTEGER NOT NULL, bandwidth_bps INTEGER NOT NULL,"
    "  PRIMARY KEY (job_uid, seq)) STRICT, WITHOUT ROWID;",
    "",
    "",
    "",

    /* 5: what a monitor was given to look at, so that its decisions can be computed again. */
    "CREATE TABLE looks ("
    "  job_uid TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,"
    "  at_ms INTEGER NOT NULL, elapsed_ms INTEGER NOT NULL, sample_seq INTEGER NOT NULL,"
    "  mode TEXT NOT NULL, stopped INTEGER NOT NULL, aborting INTEGER NOT NULL,"
    "  resumed INTEGER NOT NULL, vfio INTEGER NOT NULL, tuning INTEGER NOT NULL,"
    "  post_copy INTEGER NOT NULL, memory_bytes INTEGER NOT NULL, disk_bytes INTEGER NOT NULL,"
    "  PRIMARY KEY (job_uid, seq)) STRICT, WITHOUT ROWID;",
    "",
    "",
    "ALTER TABLE looks RENAME TO monitor_inputs;",
};

_Static_assert(COUNT(object_steps) == STORE_SCHEMA_VERSION, "one step per version");
_Static_assert(COUNT(sample_steps) == STORE_SCHEMA_VERSION, "one step per version, may be empty");

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
        rows_insert_sql(kind, sql);
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
