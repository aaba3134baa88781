/* test_job_fields.c - laws over store/job_fields.def: a field that has a row there is stored, read
 * back, published and shown without a line of code of its own. Its column: test_store_schema.c. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/persist.h"
#include "engine/publish.h"
#include "exporter/api/api.h"
#include "store/sqlite/sqlite.h"

static struct fleet *fleet;
static struct store *store;

static int setup(void **state)
{
    (void)state;
    struct err err = {0};
    struct fleet_config config = {.jobs_kept_per_guest = 5, .jobs_kept = 100};
    fleet = fleet_new(&config, 1, &err);
    store = store_sqlite_open(NULL, &err);
    return fleet != NULL && store != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    fleet_free(fleet);
    store_free(store);
    return 0;
}

/* ---- a value of its own for every field ---- */

#define FILL_TEXT(detail, to) (void)snprintf(to, sizeof to, "t%d", ++n);
#define FILL_I64(detail, to) to = ++n;
#define FILL_U64(detail, to) to = (uint64_t)++n;
#define FILL_UINT(detail, to) to = (unsigned)++n;
#define FILL_TIME(detail, to) to = INT64_C(1600000000000) + ++n * INT64_C(1000);
#define FILL_BOOL(detail, to) to = yes;
#define FILL_WORD(word, to) to = JOB_WORD_COUNT word - 1;
#define FILL_HAND(detail, to)

static struct job *full_job(bool yes)
{
    struct err err = {0};
    int n = 0;
    struct job *job = job_new(&err);
    assert_non_null(job);
#define JOB_FIELD(at, kind, detail, member, ...) FILL_##kind(detail, job->at member)
#include "store/job_fields.def"
#undef JOB_FIELD
    job->phase = PHASE_RUNNING; /* the end of a job changes other fields */
    job->final.known = job->forecast.made = true;
    return job;
}

#define SAME_TEXT(a, b) strcmp(a, b) == 0
#define SAME_I64(a, b) a == b
#define SAME_U64(a, b) a == b
#define SAME_UINT(a, b) a == b
#define SAME_TIME(a, b) a == b
#define SAME_BOOL(a, b) a == b
#define SAME_WORD(a, b) a == b
#define SAME_HAND(a, b) true

#define EXPECT_SAME(column, kind, a, b) \
    if (!(SAME_##kind(a, b)))           \
        fail_msg("%s is not as it was", column);

/* ---- the laws ---- */

static struct job *stored_and_read(const struct job *job)
{
    struct err err = {0};
    struct job *again = NULL;
    store->ops->begin(store);
    persist_job(store, job);
    assert_true(store->ops->commit(store, &err));
    if (!persist_read_job(store, fleet, job->uid, &again, &err))
        fail_msg("%s", err.text);
    assert_non_null(again);
    return again;
}

static void expect_same_job(const struct job *a, const struct job *b)
{
#define JOB_FIELD(at, kind, detail, member, column, ...) \
    EXPECT_SAME(column, kind, a->at member, b->at member)
#include "store/job_fields.def"
#undef JOB_FIELD
}

static void a_plain_field_survives_a_restart_and_the_next(void **state)
{
    (void)state;
    for (int yes = 0; yes <= 1; yes++) {
        OWNED(job) job = full_job(yes);
        OWNED(job) again = stored_and_read(job);
        expect_same_job(job, again);
        OWNED(job) third = stored_and_read(again);
        expect_same_job(job, third);
    }
}

static void a_plain_field_is_in_the_snapshot(void **state)
{
    (void)state;
    for (int yes = 0; yes <= 1; yes++) {
        OWNED(job) job = full_job(yes);
        struct snapshot_job shown;
        publish_job(fleet, job, &shown);
#define JOB_FIELD(at, kind, detail, member, column, ...) \
    EXPECT_SAME(column, kind, job->at member, shown.at member)
#include "store/job_fields.def"
#undef JOB_FIELD
    }
}

/* As text, in a buffer that the next call overwrites. */
static const char *number_text(int64_t value)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    return text;
}

static const char *time_text(int64_t wall_ms)
{
    static char text[CLOCK_TEXT_MAX];
    clock_format_wall(wall_ms, text);
    return text;
}

#define TEXT_OF_TEXT(detail, value) value
#define TEXT_OF_I64(detail, value) number_text(value)
#define TEXT_OF_U64(detail, value) number_text((int64_t)(value))
#define TEXT_OF_UINT(detail, value) number_text(value)
#define TEXT_OF_TIME(detail, value) time_text(value)
#define TEXT_OF_BOOL(detail, value) ((value) ? "true" : "false")
#define TEXT_OF_WORD(word, value) JOB_WORD_TEXT word(value)

static void expect_at(struct json_object *object, enum job_object where, const char *key,
                      const char *value)
{
    static const char *const paths[] = {
#define JOB_OBJECT(id, path) path,
#include "exporter/api/job_objects.def"
#undef JOB_OBJECT
    };
    char path[128];
    (void)snprintf(path, sizeof path, "%s.%s", paths[where], key);
    struct json_object *found = json_at(object, path);
    if (found == NULL || strcmp(json_object_get_string(found), value) != 0)
        fail_msg("%s is '%s', not '%s'", path,
                 found != NULL ? json_object_get_string(found) : "(nothing)", value);
}

#define SHOWN_HIDDEN(expect)
#define SHOWN_ALWAYS(expect) expect
#define SHOWN_UNLESS_EMPTY(expect) expect
#define SHOWN_UNLESS_NEGATIVE(expect) expect

static void a_field_with_a_key_is_shown_by_the_api(void **state)
{
    (void)state;
    OWNED(job) job = full_job(true);
    struct snapshot_job shown;
    publish_job(fleet, job, &shown);
    OWNED(json_object) object = api_job_object(&shown);
#define JOB_FIELD(at, kind, detail, member, column, api, where, key, help) \
    SHOWN_##api(expect_at(object, JOB_OBJECT_##where, key, TEXT_OF_##kind(detail, job->at member));)
#include "store/job_fields.def"
#undef JOB_FIELD
}

static void an_unknown_enum_value_in_the_store_is_damage(void **state)
{
    (void)state;
    static const struct store_job rows[] = {
        {.uid = "1", .phase = "Flying"},
        {.uid = "2", .phase = ""},
        {.uid = "3", .phase = "Running", .placement.launcher = "Flying"},
        {.uid = "4", .phase = "Running", .wait.pending = "Flying"},
        {.uid = "5", .phase = "Running", .resolution.guest_at = "Flying"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct job *job = NULL;
        store->ops->begin(store);
        store->ops->put_job(store, &rows[i]);
        assert_true(store->ops->commit(store, &err));
        assert_false(persist_read_job(store, fleet, rows[i].uid, &job, &err));
        assert_int_equal(err.code, ERR_CORRUPT);
    }
}

TEST_FILE(test_job_fields)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_field_survives_a_restart_and_the_next),
        cmocka_unit_test(a_plain_field_is_in_the_snapshot),
        cmocka_unit_test(a_field_with_a_key_is_shown_by_the_api),
        cmocka_unit_test(an_unknown_enum_value_in_the_store_is_damage),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
