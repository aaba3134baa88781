/* test_store.c - the store port on both engines: what is put comes back, whole or not at all. */
#include "tests/unit/test_store.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "store/sql.h"

#include <sqlite3.h>

static int memory_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct err err = {0};
    *state = f;
    f->store = store_sqlite_open(NULL, &err);
    return f->store != NULL ? 0 : -1;
}

static int memory_teardown(void **state)
{
    struct fixture *f = *state;
    store_free(f->store);
    free(f);
    return 0;
}

static int file_setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    must_open(*state);
    return 0;
}

/* ---- every column of every row ---- */

static void *field_of(union any_row *row, const struct column *column)
{
    return (char *)row + column->offset;
}

/* A different value in every field; `texts` keeps the texts alive. */
static void fill(enum row kind, union any_row *row, char texts[][64])
{
    const struct row_type *type = rows_type(kind);
    memset(row, 0, sizeof *row);
    for (size_t i = 0; i < type->column_count; i++) {
        const struct column *column = &type->columns[i];
        bool is_job = strcmp(column->name, "job_uid") == 0 || strcmp(column->name, "uid") == 0;
        (void)snprintf(texts[i], 64, "%s \xc3\xa9'%zu", type->table, i);
        void *field = field_of(row, column);
        if (column->type == COLUMN_TEXT)
            *(const char **)field = is_job ? "job-1" : texts[i];
        else if (column->type == COLUMN_ARRAY)
            (void)snprintf(field, column->bytes, "%s", is_job ? "job-1" : texts[i]);
        else if (column->type == COLUMN_INT)
            *(int64_t *)field = INT64_MAX - (int64_t)i;
        else if (column->type == COLUMN_REAL)
            *(double *)field = (double)i + 0.25;
        else
            *(bool *)field =
                strcmp(type->table, "objects") != 0 && i % 2 == 0; /* removed: unseen */
    }
}

static bool same_field(const struct column *column, union any_row *a, union any_row *b)
{
    const void *x = field_of(a, column), *y = field_of(b, column);
    switch (column->type) {
    case COLUMN_TEXT: return strcmp(*(const char *const *)x, *(const char *const *)y) == 0;
    case COLUMN_ARRAY: return strcmp(x, y) == 0;
    case COLUMN_INT: return *(const int64_t *)x == *(const int64_t *)y;
    case COLUMN_REAL: return fabs(*(const double *)x - *(const double *)y) < 1e-9;
    case COLUMN_BOOL: return *(const bool *)x == *(const bool *)y;
    }
    return false;
}

struct comparison {
    union any_row want;
    size_t rows;
};

static bool compare(struct comparison *c, enum row kind, const void *row, size_t bytes)
{
    union any_row seen;
    memset(&seen, 0, sizeof seen);
    memcpy(&seen, row, bytes);
    const struct row_type *type = rows_type(kind);
    for (size_t i = 0; i < type->column_count; i++)
        if (!same_field(&type->columns[i], &c->want, &seen))
            fail_msg("%s.%s came back different", type->table, type->columns[i].name);
    c->rows++;
    return true;
}

#define ROW(id, name, table, lane, put, again, order)                     \
    static bool compare_##name(void *ctx, const struct store_##name *row) \
    {                                                                     \
        return compare(ctx, ROW_##id, row, sizeof *row);                  \
    }
#include "store/rows.def"
#undef ROW

static void put_any(struct store *s, enum row kind, const union any_row *row)
{
    switch (kind) {
#define PUT(id, name) \
    case ROW_##id: s->ops->put_##name(s, &row->name); break;
        PUT(JOB, job)
        PUT(TRANSITION, transition)
        PUT(INTENT, intent)
        PUT(OBSERVATION, observation)
        PUT(ERROR, error)
        PUT(MODE, mode)
        PUT(DECISION, decision)
        PUT(EVENT, event)
        PUT(OBJECT, object)
        PUT(REJECTION, rejection)
        PUT(VERDICT, verdict)
        PUT(POINT, point)
        PUT(NUMBER, number)
        PUT(EVIDENCE, evidence)
        PUT(INCIDENT, incident)
#undef PUT
    case ROW_SAMPLE: assert_true(s->ops->append_samples(s, &row->sample, 1)); break;
    case ROW_MONITOR_INPUT:
        assert_true(s->ops->append_monitor_input(s, &row->monitor_input));
        break;
    case ROW_AUDIT: assert_true(s->ops->append_audit(s, &row->audit)); break;
    case ROW_COUNT: break;
    }
}

static bool compare_any(struct store *s, enum row kind, struct comparison *c, struct err *err)
{
    switch (kind) {
#define READ(id, name) \
    case ROW_##id: return s->ops->each_##name(s, "job-1", compare_##name, c, err);
        READ(TRANSITION, transition)
        READ(INTENT, intent)
        READ(OBSERVATION, observation)
        READ(ERROR, error)
        READ(MODE, mode)
        READ(DECISION, decision)
        READ(REJECTION, rejection)
        READ(VERDICT, verdict)
        READ(POINT, point)
        READ(NUMBER, number)
        READ(EVIDENCE, evidence)
        READ(SAMPLE, sample)
        READ(MONITOR_INPUT, monitor_input)
#undef READ
    case ROW_JOB: return s->ops->each_job(s, false, compare_job, c, err);
    case ROW_INCIDENT: return s->ops->each_incident(s, false, compare_incident, c, err);
    case ROW_EVENT: return s->ops->each_event(s, "job-1", 10, compare_event, c, err);
    case ROW_OBJECT: return s->ops->each_object(s, compare_object, c, err);
    case ROW_AUDIT: return s->ops->each_audit(s, compare_audit, c, err);
    case ROW_COUNT: break;
    }
    return false;
}

static void every_field_of_every_row_comes_back(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        struct comparison c = {0};
        struct err err = {0};
        char texts[96][64];
        fill(kind, &c.want, texts);
        s->ops->begin(s);
        put_any(s, kind, &c.want);
        must_commit(s);
        assert_true(s->ops->flush_samples(s, 5000, &err));
        assert_true(compare_any(s, kind, &c, &err));
        assert_int_equal(c.rows, 1);
    }
}

static bool expect_empty_texts(void *ctx, const struct store_intent *row)
{
    assert_string_equal(row->action, "");
    assert_string_equal(row->text, "");
    ++*(size_t *)ctx;
    return true;
}

static void no_text_is_stored_as_empty_text(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    size_t n = 0;
    s->ops->begin(s);
    s->ops->put_intent(s, &(struct store_intent){.job_uid = "j"});
    must_commit(s);
    assert_true(s->ops->each_intent(s, "j", expect_empty_texts, &n, &err));
    assert_int_equal(n, 1);
}

/* ---- order and choice ---- */

struct names {
    char text[256];
    size_t stop_after, seen;
};

static bool add_name(struct names *names, const char *name)
{
    size_t used = strlen(names->text);
    (void)snprintf(names->text + used, sizeof names->text - used, "%s ", name);
    names->seen++;
    return names->stop_after == 0 || names->seen < names->stop_after;
}
static bool name_job(void *ctx, const struct store_job *row)
{
    return add_name(ctx, row->uid);
}
static bool name_event(void *ctx, const struct store_event *row)
{
    return add_name(ctx, row->reason);
}
static bool name_transition(void *ctx, const struct store_transition *row)
{
    return add_name(ctx, row->to);
}

static void jobs_come_by_age_and_unfinished_means_no_outcome(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct names all = {0}, unfinished = {0}, first = {.stop_after = 2};
    s->ops->begin(s);
    put_job(s, "c", 300, "");
    put_job(s, "a", 200, "succeeded");
    put_job(s, "b", 200, "");
    put_job(s, "d", 100, "");
    must_commit(s);
    assert_true(s->ops->each_job(s, false, name_job, &all, &err));
    assert_true(s->ops->each_job(s, true, name_job, &unfinished, &err));
    assert_true(s->ops->each_job(s, false, name_job, &first, &err)); /* the visitor stops */
    assert_string_equal(all.text, "d a b c ");
    assert_string_equal(unfinished.text, "d b c ");
    assert_string_equal(first.text, "d a ");
}

static void a_job_put_again_replaces_the_first(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct names unfinished = {0};
    commit_job(s, "a", 1);
    s->ops->begin(s);
    put_job(s, "a", 1, "failed");
    must_commit(s);
    assert_int_equal(jobs_in(s), 1);
    assert_true(s->ops->each_job(s, true, name_job, &unfinished, &err));
    assert_string_equal(unfinished.text, "");
}

static void events_are_the_newest_and_come_oldest_first(void **state)
{
    static const struct {
        const char *uid, *reason;
        int64_t at_ms;
    } rows[] = {{"x", "1", 10}, {"y", "2", 20}, {"x", "3", 30}, {"x", "4", 30}, {"y", "5", 25}};
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct names all = {0}, of_x = {0}, none = {0};
    s->ops->begin(s);
    for (size_t i = 0; i < COUNT(rows); i++)
        s->ops->put_event(s, &(struct store_event){.uid = rows[i].uid,
                                                   .reason = rows[i].reason,
                                                   .at_ms = rows[i].at_ms});
    must_commit(s);
    assert_true(s->ops->each_event(s, NULL, 3, name_event, &all, &err));
    assert_true(s->ops->each_event(s, "x", 2, name_event, &of_x, &err));
    assert_true(s->ops->each_event(s, NULL, 0, name_event, &none, &err));
    assert_string_equal(all.text, "5 3 4 ");
    assert_string_equal(of_x.text, "3 4 ");
    assert_string_equal(none.text, "");
}

static void steps_come_in_the_order_they_happened_even_if_the_clock_jumped(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct names names = {0};
    s->ops->begin(s);
    for (int64_t seq = 0; seq < 3; seq++) {
        static const char *const to[] = {"Pending", "Running", "Failed"};
        struct store_transition row = {
            .job_uid = "a", .to = to[seq], .seq = seq, .at_ms = 100 - seq};
        s->ops->put_transition(s, &row);
        row.job_uid = "b";
        s->ops->put_transition(s, &row);
    }
    must_commit(s);
    assert_true(s->ops->each_transition(s, "a", name_transition, &names, &err));
    assert_string_equal(names.text, "Pending Running Failed ");
}

/* ---- whole or not at all ---- */

static void rollback_forgets_everything(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    commit_job(s, "kept", 1);
    s->ops->begin(s);
    put_job(s, "forgotten", 2, "");
    s->ops->rollback(s);
    commit_job(s, "after", 3);
    assert_false(has_job(s, "forgotten"));
    assert_int_equal(jobs_in(s), 2);
}

static void a_failed_put_fails_the_commit_and_only_that(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct store_transition step = {.job_uid = "a", .seq = 1};
    commit_job(s, "kept", 1);
    s->ops->begin(s);
    put_job(s, "before", 2, "");
    s->ops->put_transition(s, &step);
    s->ops->put_transition(s, &step); /* history is not rewritten */
    put_job(s, "after", 3, "");
    assert_false(s->ops->commit(s, &err));
    assert_int_equal(err.code, ERR_INTERNAL);
    assert_non_null(strstr(err.text, "transitions"));
    assert_int_equal(jobs_in(s), 1);

    s->ops->begin(s);
    s->ops->put_transition(s, &step);
    put_job(s, "later", 4, "");
    must_commit(s);
    assert_int_equal(jobs_in(s), 2);
    struct store_stats stats;
    s->ops->stats(s, &stats);
    assert_int_equal(stats.commits, 2);
    assert_int_equal(stats.commit_failures, 1);
}

static void rollback_after_a_failed_put_clears_the_failure(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct store_transition step = {.job_uid = "a", .seq = 1};
    s->ops->begin(s);
    s->ops->put_transition(s, &step);
    s->ops->put_transition(s, &step);
    s->ops->rollback(s);
    commit_job(s, "a", 1);
    assert_int_equal(jobs_in(s), 1);
}

static void a_text_beyond_the_limit_is_refused(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    OWNED_TEXT huge = malloc(SQL_VALUE_BYTES_MAX + 2);
    assert_non_null(huge);
    memset(huge, 'x', SQL_VALUE_BYTES_MAX + 1);
    huge[SQL_VALUE_BYTES_MAX + 1] = '\0';
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = "a", .request.metadata_json = huge});
    assert_false(s->ops->commit(s, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(jobs_in(s), 0);
}

static void a_thousand_jobs_are_one_commit(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct store_stats stats;
    s->ops->begin(s);
    for (int i = 0; i < 1000; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof uid, "job-%04d", i);
        put_job(s, uid, i, "");
    }
    must_commit(s);
    s->ops->stats(s, &stats);
    assert_int_equal(stats.commits, 1);
    assert_int_equal(jobs_in(s), 1000);
}

/* ---- readers ---- */

static bool commit_meanwhile(void *ctx, const struct store_job *row)
{
    struct store *s = ctx;
    char uid[32];
    (void)snprintf(uid, sizeof uid, "%s-child", row->uid);
    commit_job(s, uid, row->times.created_ms + 1000);
    return true;
}

static void a_reader_keeps_its_view_while_the_writer_commits(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    commit_job(s, "a", 1);
    commit_job(s, "b", 2);
    assert_true(s->ops->each_job(s, false, commit_meanwhile, s, &err));
    assert_int_equal(jobs_in(s), 4); /* two visited, two new: the new ones were not visited */
}

static void what_is_not_committed_is_not_read(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    s->ops->begin(s);
    put_job(s, "a", 1, "");
    assert_int_equal(jobs_in(s), 0);
    must_commit(s);
    assert_int_equal(jobs_in(s), 1);
}

enum { GROUPS = 60, GROUP_JOBS = 7 };

struct race {
    struct store *store;
    atomic_bool is_over;
    atomic_uint reads, torn, failed;
};

static void *read_always(void *ctx)
{
    struct race *race = ctx;
    while (!atomic_load(&race->is_over)) {
        struct err err = {0};
        size_t n = 0;
        if (!race->store->ops->each_job(race->store, false, count_job, &n, &err))
            atomic_fetch_add(&race->failed, 1);
        atomic_fetch_add(&race->torn, n % GROUP_JOBS != 0);
        atomic_fetch_add(&race->reads, 1);
    }
    return NULL;
}

static void readers_in_other_threads_see_whole_transactions(void **state)
{
    struct race race = {.store = ((struct fixture *)*state)->store};
    pthread_t threads[6]; /* more than are kept idle */
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_always, &race), 0);
    while (atomic_load(&race.reads) == 0)
        (void)sched_yield(); /* on a busy machine all would be written before the first read */
    for (int group = 0; group < GROUPS; group++) {
        race.store->ops->begin(race.store);
        for (int i = 0; i < GROUP_JOBS; i++) {
            char uid[32];
            (void)snprintf(uid, sizeof uid, "%d-%d", group, i);
            put_job(race.store, uid, group, "");
        }
        must_commit(race.store);
    }
    atomic_store(&race.is_over, true);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(race.reads > 0);
    assert_int_equal(race.torn, 0);
    assert_int_equal(race.failed, 0);
    assert_int_equal(jobs_in(race.store), GROUPS * GROUP_JOBS);
}

/* ---- samples ---- */

static bool check_seq(void *ctx, const struct store_sample *row)
{
    int64_t *next = ctx;
    assert_int_equal(row->seq, *next);
    ++*next;
    return true;
}

static void samples_come_back_in_order_per_job(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct store_sample rows[200];
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(rows[i].job_uid, sizeof rows[i].job_uid, "job-%d", i % 2);
        rows[i].seq = i / 2;
    }
    assert_true(s->ops->append_samples(s, rows, COUNT(rows)));
    assert_true(s->ops->append_samples(s, rows, 0));
    assert_true(s->ops->flush_samples(s, 5000, &err));
    int64_t next = 0;
    assert_true(s->ops->each_sample(s, "job-1", check_seq, &next, &err));
    assert_int_equal(next, 100);
    struct store_stats stats;
    s->ops->stats(s, &stats);
    assert_int_equal(stats.samples_written, 200);
    assert_int_equal(stats.samples_dropped, 0);
    assert_int_equal(stats.samples_queued, 0);
}

static void samples_queued_at_the_end_are_written(void **state)
{
    struct fixture *f = *state;
    struct store_sample row = {.job_uid = "j"};
    for (row.seq = 0; row.seq < 1500; row.seq++)
        assert_true(f->store->ops->append_samples(f->store, &row, 1));
    must_close(f);
    must_open(f);
    struct err err = {0};
    int64_t next = 0;
    assert_true(f->store->ops->each_sample(f->store, "j", check_seq, &next, &err));
    assert_int_equal(next, 1500);
}

/* Somebody holds samples.db, so that the writer is blocked. */
static void samples_beyond_the_queue_are_dropped_counted_and_never_waited_for(void **state)
{
    enum { SENT = STORE_SAMPLE_QUEUE_MAX + STORE_SAMPLE_BATCH_MAX + 1000 };
    struct fixture *f = *state;
    struct store *s = f->store;
    struct err err = {0}, late = {0};
    char path[TEST_PATH_MAX];
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(path_in(f, "samples.db", path), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);

    struct store_sample row = {.job_uid = "j"};
    bool all = true;
    for (row.seq = 0; row.seq < SENT; row.seq++)
        all = s->ops->append_samples(s, &row, 1) && all;
    assert_false(all);
    assert_false(s->ops->flush_samples(s, 10, &late));
    assert_int_equal(late.code, ERR_TIMEOUT);
    commit_job(s, "intent", 1); /* the other lane does not care */

    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    (void)s->ops->flush_samples(s, 5000, &err); /* a batch may have waited too long: counted */
    struct store_stats stats;
    s->ops->stats(s, &stats);
    assert_int_equal(stats.samples_written + stats.samples_dropped, SENT);
    assert_true(stats.samples_dropped >= 1000);
    assert_true(stats.samples_written >= STORE_SAMPLE_QUEUE_MAX - STORE_SAMPLE_BATCH_MAX);
    assert_true(stats.sample_batches <= stats.samples_written / 100); /* batches, not rows */
}

static void in_memory_a_sample_is_there_at_once_and_figures_repeat(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct store_sample row = {.job_uid = "j"};
    assert_true(s->ops->append_samples(s, &row, 1));
    int64_t next = 0;
    assert_true(s->ops->each_sample(s, "j", check_seq, &next, &err));
    assert_int_equal(next, 1);
    commit_job(s, "a", 1);
    struct store_stats stats;
    s->ops->stats(s, &stats);
    assert_int_equal(stats.commit_ms_total, 0);
    assert_int_equal(stats.samples_written, 1);
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, file_setup, fixture_teardown)
#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, memory_setup, memory_teardown)

/* What every engine does. */
#define CONTRACT(TEST)                                                                        \
    TEST(every_field_of_every_row_comes_back), TEST(no_text_is_stored_as_empty_text),         \
        TEST(jobs_come_by_age_and_unfinished_means_no_outcome),                               \
        TEST(a_job_put_again_replaces_the_first),                                             \
        TEST(events_are_the_newest_and_come_oldest_first),                                    \
        TEST(steps_come_in_the_order_they_happened_even_if_the_clock_jumped),                 \
        TEST(rollback_forgets_everything), TEST(a_failed_put_fails_the_commit_and_only_that), \
        TEST(rollback_after_a_failed_put_clears_the_failure),                                 \
        TEST(a_text_beyond_the_limit_is_refused), TEST(a_thousand_jobs_are_one_commit),       \
        TEST(readers_in_other_threads_see_whole_transactions),                                \
        TEST(samples_come_back_in_order_per_job)
TEST_FILE(test_store)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(FILE_TEST),
        CONTRACT(MEMORY_TEST),
        FILE_TEST(a_reader_keeps_its_view_while_the_writer_commits),
        FILE_TEST(what_is_not_committed_is_not_read),
        FILE_TEST(samples_queued_at_the_end_are_written),
        FILE_TEST(samples_beyond_the_queue_are_dropped_counted_and_never_waited_for),
        MEMORY_TEST(in_memory_a_sample_is_there_at_once_and_figures_repeat),
    };
    const struct CMUnitTest on_postgres[] = {
        CONTRACT(POSTGRES_TEST),
        POSTGRES_TEST(a_reader_keeps_its_view_while_the_writer_commits),
        POSTGRES_TEST(what_is_not_committed_is_not_read),
        POSTGRES_TEST(samples_queued_at_the_end_are_written),
    };
    int failed = cmocka_run_group_tests_name("store", tests, NULL, NULL);
    if (postgres_in_slice())
        failed += cmocka_run_group_tests_name("store on PostgreSQL", on_postgres, NULL, NULL);
    return failed;
}
