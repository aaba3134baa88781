/* test_store_verdicts.c - verdicts with what they stand on, evidence, incidents: replaced as a
 * whole, read by time, and there after an older file was brought forward. */
#include "tests/unit/test_store_files.h"

#include "store/sqlite/impl.h"

static int file_setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    must_open(*state);
    return 0;
}

/* What a visitor saw, as one line. */
struct line {
    char text[512];
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *line, const char *format, ...)
{
    size_t used = strlen(line->text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line->text + used, sizeof line->text - used, format, args);
    va_end(args);
}

static bool add_verdict(void *ctx, const struct store_verdict *row)
{
    add(ctx, "%s=%s ", row->job_uid, row->cause);
    return true;
}
static bool add_point(void *ctx, const struct store_point *row)
{
    add(ctx, "%s:%s ", row->standing, row->quote);
    return true;
}
static bool add_number(void *ctx, const struct store_number *row)
{
    add(ctx, "%s=%g%s ", row->name, row->value, row->unit);
    return true;
}
static bool add_evidence(void *ctx, const struct store_evidence *row)
{
    add(ctx, "%s:%s ", row->key, row->text);
    return true;
}
static bool add_incident(void *ctx, const struct store_incident *row)
{
    add(ctx, "%s:%s ", row->job_uid, row->kind);
    return true;
}

static void put_verdict(struct store *s, const char *job_uid, const char *cause, int64_t at_ms)
{
    struct store_verdict verdict = {.job_uid = job_uid, .cause = cause, .at_ms = at_ms};
    struct store_point points[] = {{.job_uid = job_uid, .standing = "for", .quote = cause},
                                   {.job_uid = job_uid, .seq = 1, .standing = "against"}};
    struct store_number number = {.job_uid = job_uid, .name = "stalled", .value = 9, .unit = "ms"};
    s->ops->clear_verdict(s, job_uid);
    s->ops->put_verdict(s, &verdict);
    for (size_t i = 0; i < COUNT(points); i++)
        s->ops->put_point(s, &points[i]);
    s->ops->put_number(s, &number);
}

static void expect_verdicts(struct store *s, const char *job_uid, const char *want)
{
    struct line line = {0};
    struct err err = {0};
    assert_true(s->ops->each_verdict(s, job_uid, add_verdict, &line, &err));
    assert_string_equal(line.text, want);
}

static void expect_grounds(struct store *s, const char *job_uid, const char *want)
{
    struct line line = {0};
    struct err err = {0};
    assert_true(s->ops->each_point(s, job_uid, add_point, &line, &err));
    assert_true(s->ops->each_number(s, job_uid, add_number, &line, &err));
    assert_string_equal(line.text, want);
}

static void verdicts_come_by_time_or_by_job(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    s->ops->begin(s);
    put_verdict(s, "b", "guest-stopped", 300);
    put_verdict(s, "a", "user-cancelled", 400);
    put_verdict(s, "c", "none", 300);
    must_commit(s);
    expect_verdicts(s, NULL, "b=guest-stopped c=none a=user-cancelled ");
    expect_verdicts(s, "a", "a=user-cancelled ");
    expect_verdicts(s, "nobody", "");
}

static void a_verdict_judged_again_is_replaced_with_its_grounds(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    s->ops->begin(s);
    put_verdict(s, "a", "unknown", 1);
    put_verdict(s, "b", "unknown", 2);
    must_commit(s);
    s->ops->begin(s);
    put_verdict(s, "a", "guest-stopped", 1);
    must_commit(s);
    expect_verdicts(s, NULL, "a=guest-stopped b=unknown ");
    expect_grounds(s, "a", "for:guest-stopped against: stalled=9ms ");
    expect_grounds(s, "b", "for:unknown against: stalled=9ms ");
    s->ops->begin(s);
    s->ops->clear_verdict(s, "a");
    s->ops->rollback(s);
    expect_grounds(s, "a", "for:guest-stopped against: stalled=9ms ");
}

static bool add_job(void *ctx, const struct store_job *row)
{
    add(ctx, "%s ", row->uid);
    return true;
}

static void jobs_that_ended_without_a_verdict_are_found(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct line line = {0};
    struct err err = {0};
    s->ops->begin(s);
    put_job(s, "runs", 1, "");
    put_job(s, "judged", 2, "failed");
    put_job(s, "late", 4, "failed");
    put_job(s, "early", 3, "succeeded");
    put_verdict(s, "judged", "unknown", 2);
    must_commit(s);
    assert_true(s->ops->each_unjudged(s, add_job, &line, &err));
    assert_string_equal(line.text, "early late ");
    assert_true(s->ops->find_job(s, "", "runs", add_job, &line, &err));
    assert_true(s->ops->find_job(s, "", "nobody", add_job, &line, &err));
    assert_string_equal(line.text, "early late runs ");
}

static void evidence_comes_in_its_order_and_a_second_time_is_replaced(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct line line = {0};
    struct err err = {0};
    s->ops->begin(s);
    for (int64_t seq = 2; seq >= 0; seq--) {
        struct store_evidence row = {
            .job_uid = "a", .seq = seq, .key = seq == 1 ? "stalled_ms" : ""};
        row.text = seq == 0 ? "first" : "last";
        s->ops->put_evidence(s, &row);
    }
    s->ops->put_evidence(s, &(struct store_evidence){.job_uid = "a", .seq = 2, .text = "again"});
    s->ops->put_evidence(s, &(struct store_evidence){.job_uid = "b", .text = "other"});
    must_commit(s);
    assert_true(s->ops->each_evidence(s, "a", add_evidence, &line, &err));
    assert_string_equal(line.text, ":first stalled_ms:last :again ");
}

static void open_incidents_are_asked_apart_from_all(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct line open = {0}, all = {0};
    struct err err = {0};
    struct store_incident rows[] = {
        {.job_uid = "late", .kind = "split", .opened_ms = 30},
        {.job_uid = "over", .kind = "ordinary", .opened_ms = 10, .closed_ms = 40},
        {.job_uid = "early", .kind = "unknown", .opened_ms = 20},
    };
    s->ops->begin(s);
    for (size_t i = 0; i < COUNT(rows); i++)
        s->ops->put_incident(s, &rows[i]);
    must_commit(s);
    assert_true(s->ops->each_incident(s, true, add_incident, &open, &err));
    assert_true(s->ops->each_incident(s, false, add_incident, &all, &err));
    assert_string_equal(open.text, "early:unknown late:split ");
    assert_string_equal(all.text, "over:ordinary early:unknown late:split ");
}

/* ---- a file from before there were verdicts ---- */

enum { BEFORE_VERDICTS = 3 };

static void build_version(const struct fixture *f, enum lane lane, size_t version)
{
    char path[TEST_PATH_MAX];
    struct err err = {0};
    struct schema then = *schema_of(lane);
    then.step_count = version;
    raw_exec(path_in(f, then.file, path), "PRAGMA journal_mode=WAL", false);
    sqlite3 *db = db_open(path, SQLITE_OPEN_READWRITE, &err);
    assert_non_null(db);
    assert_true(schema_bring_forward(db, path, &then, &err));
    db_close(db);
}

static void a_file_of_version_3_takes_verdicts_and_keeps_its_jobs(void **state)
{
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        build_version(f, lane, BEFORE_VERDICTS);
    path_in(f, "ferry.db", path);
    raw_exec(path, "INSERT INTO rejections VALUES (1, 'old', 'h1', 'memory', '', 0, 5)", false);
    assert_int_equal(raw_int(path, "PRAGMA user_version"), BEFORE_VERDICTS);
    must_open(f);
    f->store->ops->begin(f->store);
    put_verdict(f->store, "old", "target-unschedulable", 5);
    must_commit(f->store);
    expect_verdicts(f->store, NULL, "old=target-unschedulable ");
    must_close(f);
    assert_int_equal(raw_int(path, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_int_equal(raw_int(path, "SELECT count(*) FROM rejections WHERE job_uid='old'"), 1);
}

/* ---- a file from when an incident did not name its migration ---- */

static void an_incident_of_version_5_gets_its_name_from_its_job(void **state)
{
    enum { BEFORE_NAMES = 5 };
    struct fixture *f = *state;
    char path[TEST_PATH_MAX];
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        build_version(f, lane, BEFORE_NAMES);
    path_in(f, "ferry.db", path);
    raw_exec(
        path,
        "INSERT INTO jobs(uid, ns, name, guest_uuid, guest_name, source_node, target_node,"
        "  wanted_node, phase, mode, requester, priority, triggered_by, abort_status,"
        "  abort_requester, abort_why, failure_reason, outcome, guest_at, metadata_json,"
        "  config_json, resolving, recovering, adopted, removed, bandwidth_mibs, flags, epoch,"
        "  resource_version, created_ms, handed_off_ms, started_ms, ended_ms, delete_asked_ms,"
        "  error_hv_code, error_hv_domain, error_text)"
        " VALUES ('known', 'prod', 'm7', '', 'db', 'h1', 'h2', '', '', '', '', '', '', '', '',"
        "  '', '', 'failed', 'running-on-source', '', '', 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4,"
        "  0, 0, 0, '');"
        "INSERT INTO incidents VALUES ('known', 'prod', 'db', 'h1', 'data', 'c', 'ordinary', 9,"
        "  0, '', ''), ('gone', 'prod', 'db', 'h1', 'data', 'c', 'lost', 8, 0, '', '')",
        false);
    must_open(f);
    must_close(f);
    assert_int_equal(raw_int(path, "SELECT count(*) FROM incidents WHERE job_uid = 'known' AND"
                                   " migration = 'm7' AND source_node = 'h1' AND target_node = 'h2'"
                                   " AND guest_at = 'running-on-source' AND ended_ms = 4"),
                     1);
    assert_int_equal(raw_int(path, "SELECT count(*) FROM incidents WHERE job_uid = 'gone' AND"
                                   " migration = 'gone' AND target_node = '' AND ended_ms = 8"),
                     1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, file_setup, fixture_teardown)

TEST_FILE(test_store_verdicts)
{
    const struct CMUnitTest tests[] = {
        TEST(verdicts_come_by_time_or_by_job),
        TEST(a_verdict_judged_again_is_replaced_with_its_grounds),
        TEST(jobs_that_ended_without_a_verdict_are_found),
        TEST(evidence_comes_in_its_order_and_a_second_time_is_replaced),
        TEST(open_incidents_are_asked_apart_from_all),
        cmocka_unit_test_setup_teardown(a_file_of_version_3_takes_verdicts_and_keeps_its_jobs,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(an_incident_of_version_5_gets_its_name_from_its_job,
                                        fixture_setup, fixture_teardown),
    };
    const struct CMUnitTest on_postgres[] = {
        POSTGRES_TEST(verdicts_come_by_time_or_by_job),
        POSTGRES_TEST(a_verdict_judged_again_is_replaced_with_its_grounds),
        POSTGRES_TEST(jobs_that_ended_without_a_verdict_are_found),
        POSTGRES_TEST(evidence_comes_in_its_order_and_a_second_time_is_replaced),
        POSTGRES_TEST(open_incidents_are_asked_apart_from_all),
    };
    int failed = cmocka_run_group_tests_name("store_verdicts", tests, NULL, NULL);
    if (postgres_in_full())
        failed +=
            cmocka_run_group_tests_name("store_verdicts on PostgreSQL", on_postgres, NULL, NULL);
    return failed;
}
