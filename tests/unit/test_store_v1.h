/* test_store_v1.h - a state directory as the Ferry of schema version 1 left it: the tables word
 * for word as they were released, whatever schema.def says today, and rows that are hard to bring
 * forward: events that repeat, with times in disorder. */
#ifndef TESTS_UNIT_TEST_STORE_V1_H
#define TESTS_UNIT_TEST_STORE_V1_H

#include "tests/unit/test_store_files.h"

enum { V1_JOBS = 2, V1_EVENTS = 8, V1_EVENTS_ONCE = 4, V1_SAMPLES = 3 };

static const char v1_objects[] =
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
    "CREATE INDEX events_by_time ON events (at_ms);";

static const char v1_samples[] =
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
    "  PRIMARY KEY (job_uid, seq)) STRICT, WITHOUT ROWID;";

static const char v1_rows[] =
    "INSERT INTO jobs SELECT 'first-' || n, 'ns' || n, 'name' || n, 'guest' || n, 'vm' || n,"
    "  'h1', 'h2', 'h3', 'Running', 'PreCopy', 'ann', 'none', 'user', 'none', 'bob', 'late',"
    "  'why', '', 'source', '{\"a\":' || n || '}', '{\"b\":' || n || '}', 1, 0, 1, 0,"
    "  64, 513, 3, 77, 1000 + n, 1001, 1002, 0, 1003, -2, 10, 'text ' || n"
    "  FROM (SELECT 0 AS n UNION SELECT 1);"
    "INSERT INTO transitions VALUES ('first-0', 1, 'Pending', 'Running', 'asked', 1001, 5);"
    "INSERT INTO intents VALUES"
    "  ('first-0', 3, 1, 'migrate', 'h1', '', 'open', 1002, 0, '', 0, 0, '');"
    /* Three of one kind, the newest neither first nor last; two at the same moment. */
    "INSERT INTO events(kind, ns, name, uid, type, reason, message, at_ms) VALUES"
    "  ('Job', 'ns0', 'name0', 'first-0', 'Normal', 'Waiting', 'no room', 100),"
    "  ('Job', 'ns0', 'name0', 'first-0', 'Warning', 'Waiting', 'no room', 300),"
    "  ('Job', 'ns0', 'name0', 'first-0', 'Normal', 'Waiting', 'no room', 200),"
    "  ('Job', 'ns0', 'name0', 'first-0', 'Normal', 'Waiting', 'no slot', 250),"
    "  ('Job', 'ns1', 'name1', 'first-1', 'Normal', 'Waiting', 'no room', 150),"
    "  ('Job', 'ns1', 'name1', 'first-1', 'Normal', 'Started', '', 160),"
    "  ('Job', 'ns1', 'name1', 'first-1', 'Warning', 'Started', '', 160),"
    "  ('Job', 'ns1', 'name1', 'first-1', 'Normal', 'Started', '', 159);";

static inline void v1_file(const struct fixture *f, const char *name, uint32_t application_id,
                           const char *tables)
{
    char path[TEST_PATH_MAX], marks[128];
    path_in(f, name, path);
    (void)snprintf(marks, sizeof marks,
                   "PRAGMA journal_mode=WAL; PRAGMA application_id=%u; PRAGMA user_version=1",
                   application_id);
    raw_exec(path, marks, false);
    raw_exec(path, tables, false);
}

static inline void v1_build(const struct fixture *f)
{
    char path[TEST_PATH_MAX];
    v1_file(f, "ferry.db", 0x4665724f, v1_objects);
    v1_file(f, "samples.db", 0x46657253, v1_samples);
    raw_exec(path_in(f, "ferry.db", path), v1_rows, false);
    raw_exec(path_in(f, "samples.db", path),
             "WITH RECURSIVE c(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM c WHERE n < 2)"
             "INSERT INTO samples SELECT 'first-0', n, 'poll', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,"
             "  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24 FROM c",
             false);
}

#endif
