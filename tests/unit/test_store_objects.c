/* test_store_objects.c - what is not history: documents that are replaced, rejections that are
 * replaced as a set, events that are counted and make room. */
#include "tests/unit/test_store_files.h"

#include "store/sql.h"

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

/* ---- documents ---- */

static bool add_object(void *ctx, const struct store_object *row)
{
    add(ctx, "%s/%s/%s=%s ", row->kind, row->ns, row->name, row->spec_json);
    return true;
}

static void expect_objects(struct store *s, const char *want)
{
    struct line line = {0};
    struct err err = {0};
    assert_true(s->ops->each_object(s, add_object, &line, &err));
    assert_string_equal(line.text, want);
}

static void put_object(struct store *s, const char *kind, const char *ns, const char *name,
                       const char *spec, int64_t created_ms)
{
    struct store_object row = {
        .kind = kind, .ns = ns, .name = name, .spec_json = spec, .created_ms = created_ms};
    s->ops->put_object(s, &row);
}

static void documents_come_by_creation_then_by_key(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    s->ops->begin(s);
    put_object(s, "Quota", "b", "q", "1", 20);
    put_object(s, "Quota", "a", "r", "2", 20);
    put_object(s, "Quota", "a", "q", "3", 20);
    put_object(s, "Policy", "", "p", "4", 20);
    put_object(s, "Drain", "", "d", "5", 10);
    must_commit(s);
    expect_objects(s, "Drain//d=5 Policy//p=4 Quota/a/q=3 Quota/a/r=2 Quota/b/q=1 ");
}

static void a_document_put_again_is_replaced_and_only_that_one(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    s->ops->begin(s);
    put_object(s, "Policy", "", "p", "old", 1);
    put_object(s, "Drain", "", "p", "other kind", 2);
    put_object(s, "Policy", "n", "p", "other ns", 3);
    must_commit(s);
    s->ops->begin(s);
    put_object(s, "Policy", "", "p", "new", 1);
    must_commit(s);
    expect_objects(s, "Policy//p=new Drain//p=other kind Policy/n/p=other ns ");
}

static void a_removed_document_is_kept_and_not_handed_out(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    int64_t kept = 0;
    s->ops->begin(s);
    put_object(s, "Drain", "", "d", "1", 1);
    put_object(s, "Drain", "", "e", "2", 2);
    must_commit(s);
    s->ops->begin(s);
    struct store_object gone = {
        .kind = "Drain", .ns = "", .name = "d", .spec_json = "1", .created_ms = 1, .removed = true};
    s->ops->put_object(s, &gone);
    must_commit(s);
    expect_objects(s, "Drain//e=2 ");
    assert_true(
        store_sql_int(store_sql_of(s), LANE_OBJECTS, "SELECT count(*) FROM objects", &kept, &err));
    assert_int_equal(kept, 2);

    s->ops->begin(s); /* the name is free for a new one */
    put_object(s, "Drain", "", "d", "3", 3);
    must_commit(s);
    expect_objects(s, "Drain//e=2 Drain//d=3 ");
}

/* ---- rejections ---- */

static bool add_rejection(void *ctx, const struct store_rejection *row)
{
    add(ctx, "%s:%s%s ", row->node, row->reason, row->for_ever ? "!" : "");
    return true;
}

static void expect_rejections(struct store *s, const char *job_uid, const char *want)
{
    struct line line = {0};
    struct err err = {0};
    assert_true(s->ops->each_rejection(s, job_uid, add_rejection, &line, &err));
    assert_string_equal(line.text, want);
}

static void put_rejection(struct store *s, const char *job_uid, const char *node,
                          const char *reason, bool for_ever)
{
    struct store_rejection row = {
        .job_uid = job_uid, .node = node, .reason = reason, .for_ever = for_ever, .at_ms = 7};
    s->ops->put_rejection(s, &row);
}

static void put_two_sets(struct store *s)
{
    s->ops->begin(s);
    put_rejection(s, "a", "h2", "memory", false);
    put_rejection(s, "a", "h2", "machine", true); /* a node may have several */
    put_rejection(s, "a", "h1", "source", true);
    put_rejection(s, "b", "h1", "cordoned", false);
    must_commit(s);
}

static void rejections_come_as_they_were_put(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    put_two_sets(s);
    expect_rejections(s, "a", "h2:memory h2:machine! h1:source! ");
    expect_rejections(s, "b", "h1:cordoned ");
    expect_rejections(s, "c", "");
}

static void the_rejections_of_a_job_are_replaced_as_a_whole(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    put_two_sets(s);
    s->ops->begin(s);
    s->ops->clear_rejections(s, "a");
    put_rejection(s, "a", "h3", "vcpu", false);
    must_commit(s);
    expect_rejections(s, "a", "h3:vcpu ");
    expect_rejections(s, "b", "h1:cordoned ");

    s->ops->begin(s);
    s->ops->clear_rejections(s, "a");
    s->ops->clear_rejections(s, "nobody");
    must_commit(s);
    expect_rejections(s, "a", "");
    expect_rejections(s, "b", "h1:cordoned ");
}

static void rejections_cleared_and_rolled_back_are_there_again(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    put_two_sets(s);
    s->ops->begin(s);
    s->ops->clear_rejections(s, "a");
    put_rejection(s, "a", "h3", "vcpu", false);
    s->ops->rollback(s);
    expect_rejections(s, "a", "h2:memory h2:machine! h1:source! ");
}

static void after_a_failed_put_nothing_is_cleared(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    struct store_transition step = {.job_uid = "a", .seq = 1};
    put_two_sets(s);
    s->ops->begin(s);
    s->ops->put_transition(s, &step);
    s->ops->put_transition(s, &step);
    s->ops->clear_rejections(s, "a");
    s->ops->put_event(s, &(struct store_event){.uid = "x"});
    assert_false(s->ops->commit(s, &err));
    assert_non_null(strstr(err.text, "transitions"));
    expect_rejections(s, "a", "h2:memory h2:machine! h1:source! ");
}

/* ---- events: counted ---- */

static bool add_event(void *ctx, const struct store_event *row)
{
    add(ctx, "%s:%s:%s:%s %lld-%lld x%lld; ", row->uid, row->type, row->reason, row->message,
        (long long)row->first_ms, (long long)row->at_ms, (long long)row->count);
    return true;
}

static void expect_events(struct store *s, const char *want, const char *story)
{
    struct line line = {0};
    struct err err = {0};
    assert_true(s->ops->each_event(s, NULL, 100, add_event, &line, &err));
    if (strcmp(line.text, want) != 0)
        fail_msg("%s: '%s', not '%s'", story, line.text, want);
}

struct event_put {
    const char *uid, *type, *reason, *message;
    int64_t at_ms, first_ms, count;
};

static const struct {
    const char *name;
    struct event_put puts[4];
    const char *want;
} event_stories[] = {
    {"one", {{"u", "N", "R", "m", 10, 10, 1}}, "u:N:R:m 10-10 x1; "},
    {"repeated: counted, newest time, first time kept",
     {{"u", "N", "R", "m", 10, 10, 1},
      {"u", "N", "R", "m", 20, 20, 1},
      {"u", "N", "R", "m", 30, 30, 1}},
     "u:N:R:m 10-30 x3; "},
    {"the type of the newest wins",
     {{"u", "N", "R", "m", 10, 10, 1}, {"u", "W", "R", "m", 20, 20, 1}},
     "u:W:R:m 10-20 x2; "},
    {"another object, reason or message is another event",
     {{"u", "N", "R", "m", 10, 10, 1},
      {"v", "N", "R", "m", 11, 11, 1},
      {"u", "N", "S", "m", 12, 12, 1},
      {"u", "N", "R", "n", 13, 13, 1}},
     "u:N:R:m 10-10 x1; v:N:R:m 11-11 x1; u:N:S:m 12-12 x1; u:N:R:n 13-13 x1; "},
    {"one that repeats is the newest again",
     {{"u", "N", "R", "m", 10, 10, 1},
      {"u", "N", "S", "m", 20, 20, 1},
      {"u", "N", "R", "m", 30, 30, 1}},
     "u:N:S:m 20-20 x1; u:N:R:m 10-30 x2; "},
    {"no count is one, no first is its time",
     {{"u", "N", "R", "m", 10, 0, 0}},
     "u:N:R:m 10-10 x1; "},
    {"counts are added, the first keeps its first",
     {{"u", "N", "R", "m", 10, 5, 3}, {"u", "N", "R", "m", 20, 12, 4}},
     "u:N:R:m 5-20 x7; "},
    {"no text is empty text",
     {{NULL, "N", "R", NULL, 10, 10, 1}, {"", "N", "R", "", 20, 20, 1}},
     ":N:R: 10-20 x2; "},
};

static void put_event(struct store *s, const struct event_put *put)
{
    struct store_event row = {.uid = put->uid,
                              .type = put->type,
                              .reason = put->reason,
                              .message = put->message,
                              .at_ms = put->at_ms,
                              .first_ms = put->first_ms,
                              .count = put->count};
    s->ops->put_event(s, &row);
}

/* Each story in a store of its own, in one transaction or one each. */
static void tell_event_stories(bool on_postgres)
{
    for (size_t i = 0; i < 2 * COUNT(event_stories); i++) {
        struct err err = {0};
        char url[POSTGRES_URL_MAX];
        if (on_postgres)
            postgres_new_url(url);
        OWNED(store) s = store_open(on_postgres ? url : NULL, &err);
        bool one_each = i % 2 == 1;
        assert_non_null(s);
        s->ops->begin(s);
        for (size_t k = 0; k < 4 && event_stories[i / 2].puts[k].type != NULL; k++) {
            put_event(s, &event_stories[i / 2].puts[k]);
            if (one_each) {
                must_commit(s);
                s->ops->begin(s);
            }
        }
        must_commit(s);
        expect_events(s, event_stories[i / 2].want, event_stories[i / 2].name);
    }
}

static void an_event_that_repeats_is_counted(void **state)
{
    (void)state;
    tell_event_stories(false);
}

static void an_event_that_repeats_is_counted_on_postgres(void **state)
{
    (void)state;
    tell_event_stories(true);
}

/* ---- events: bounded ---- */

static int64_t ask_events(struct store *s, const char *what)
{
    struct err err = {0};
    char sql[256];
    int64_t value = 0;
    (void)snprintf(sql, sizeof sql, "SELECT %s FROM events", what);
    if (!store_sql_int(store_sql_of(s), LANE_OBJECTS, sql, &value, &err))
        fail_msg("%s", err.text);
    return value;
}

static void put_numbered(struct store *s, const char *uid, int64_t n)
{
    char message[32];
    (void)snprintf(message, sizeof message, "m%lld", (long long)n);
    put_event(s, &(struct event_put){uid, "Normal", "R", message, n, n, 1});
}

static void an_object_has_at_most_so_many_events_and_the_oldest_go(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    s->ops->begin(s);
    put_numbered(s, "quiet", 1);
    for (int64_t n = 1; n <= STORE_OBJECT_EVENTS_MAX; n++)
        put_numbered(s, "busy", n);
    must_commit(s);
    assert_int_equal(ask_events(s, "count(*)"), STORE_OBJECT_EVENTS_MAX + 1);

    s->ops->begin(s);
    put_event(s, &(struct event_put){"busy", "Normal", "R", "m1", 500, 500, 1}); /* seen again */
    put_numbered(s, "busy", 501);
    put_numbered(s, "busy", 502);
    must_commit(s);
    assert_int_equal(ask_events(s, "count(*)"), STORE_OBJECT_EVENTS_MAX + 1);
    assert_int_equal(
        ask_events(s, "count(CASE WHEN message IN ('m2', 'm3') AND uid = 'busy' THEN 1 END)"), 0);
    assert_int_equal(
        ask_events(s, "count(CASE WHEN message IN ('m1', 'm4', 'm501', 'm502') THEN 1 END)"), 5);
    assert_int_equal(ask_events(s, "count(CASE WHEN uid = 'quiet' THEN 1 END)"), 1);
}

/* A file with so many events already, one object each, opened. */
static void open_with(struct fixture *f, int n)
{
    char path[TEST_PATH_MAX], sql[512];
    must_close(f);
    if (f->url[0] != '\0') {
        (void)snprintf(
            sql, sizeof sql,
            "INSERT INTO events(kind, ns, name, uid, type, reason, message, at_ms, first_ms, count)"
            " SELECT '', '', '', 'u' || n, '', 'R', '', n, n, 1 FROM generate_series(1, %d) AS n",
            n);
        postgres_exec(f->url, sql);
        must_open(f);
        return;
    }
    (void)snprintf(
        sql, sizeof sql,
        "WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < %d)"
        "INSERT INTO events(kind, ns, name, uid, type, reason, message, at_ms, first_ms, count)"
        "  SELECT '', '', '', 'u' || n, '', 'R', '', n, n, 1 FROM c",
        n);
    raw_exec(path_in(f, "ferry.db", path), sql, false);
    must_open(f);
}

static void there_are_at_most_so_many_events_and_the_oldest_go(void **state)
{
    struct fixture *f = *state;
    open_with(f, STORE_EVENTS_MAX - 1);
    struct store *s = f->store;
    s->ops->begin(s);
    put_numbered(s, "new", 100000);
    put_numbered(s, "new", 100000); /* counted: no new row */
    must_commit(s);
    assert_int_equal(ask_events(s, "count(*)"), STORE_EVENTS_MAX);
    assert_int_equal(ask_events(s, "min(at_ms)"), 1);

    s->ops->begin(s);
    put_numbered(s, "new", 100001);
    must_commit(s);
    assert_int_equal(ask_events(s, "count(*)"), STORE_EVENTS_MAX + 1 - EVENTS_TRIM_BATCH);
    assert_int_equal(ask_events(s, "min(at_ms)"), 1 + EVENTS_TRIM_BATCH);
    assert_int_equal(ask_events(s, "count(CASE WHEN uid = 'new' THEN 1 END)"), 2);
}

/* However many in one transaction, at every commit the bound holds. */
static void the_bound_on_events_holds_at_every_commit(void **state)
{
    struct fixture *f = *state;
    open_with(f, STORE_EVENTS_MAX);
    struct store *s = f->store;
    static const int sizes[] = {1, 255, 256, 257, 1000};
    int64_t n = 100000;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        s->ops->begin(s);
        for (int k = 0; k < sizes[i]; k++, n++) {
            char uid[32];
            (void)snprintf(uid, sizeof uid, "v%lld", (long long)(n / 100));
            put_numbered(s, uid, n);
        }
        must_commit(s);
        assert_in_range(ask_events(s, "count(*)"), STORE_EVENTS_MAX + 1 - EVENTS_TRIM_BATCH,
                        STORE_EVENTS_MAX);
        assert_int_equal(ask_events(s, "count(CASE WHEN at_ms >= 100000 THEN 1 END)"),
                         n - 100000); /* the newest stay */
    }
}

static void a_rollback_takes_the_number_of_events_back(void **state)
{
    struct fixture *f = *state;
    open_with(f, STORE_EVENTS_MAX - 1);
    struct store *s = f->store;
    for (int i = 0; i < 3; i++) {
        s->ops->begin(s);
        for (int64_t n = 0; n < 100; n++)
            put_numbered(s, "gone", 100000 + n);
        s->ops->rollback(s);
    }
    assert_int_equal(ask_events(s, "count(*)"), STORE_EVENTS_MAX - 1);
    s->ops->begin(s);
    put_numbered(s, "new", 100000); /* exactly full */
    must_commit(s);
    assert_int_equal(ask_events(s, "count(*)"), STORE_EVENTS_MAX);
    s->ops->begin(s);
    put_numbered(s, "new", 100001);
    must_commit(s);
    assert_int_equal(ask_events(s, "count(*)"), STORE_EVENTS_MAX + 1 - EVENTS_TRIM_BATCH);
}

static void an_event_beyond_the_limit_fails_the_commit(void **state)
{
    struct store *s = ((struct fixture *)*state)->store;
    struct err err = {0};
    OWNED_TEXT huge = malloc(SQL_VALUE_BYTES_MAX + 2);
    assert_non_null(huge);
    memset(huge, 'x', SQL_VALUE_BYTES_MAX + 1);
    huge[SQL_VALUE_BYTES_MAX + 1] = '\0';
    s->ops->begin(s);
    put_event(s, &(struct event_put){"u", "N", "R", huge, 1, 1, 1});
    assert_false(s->ops->commit(s, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.text, "events"));
    expect_events(s, "", "nothing was stored");
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, file_setup, fixture_teardown)
#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, memory_setup, memory_teardown)
#define BOTH(name) FILE_TEST(name), MEMORY_TEST(name)

TEST_FILE(test_store_objects)
{
    const struct CMUnitTest tests[] = {
        BOTH(documents_come_by_creation_then_by_key),
        BOTH(a_document_put_again_is_replaced_and_only_that_one),
        BOTH(a_removed_document_is_kept_and_not_handed_out),
        BOTH(rejections_come_as_they_were_put),
        BOTH(the_rejections_of_a_job_are_replaced_as_a_whole),
        BOTH(rejections_cleared_and_rolled_back_are_there_again),
        BOTH(after_a_failed_put_nothing_is_cleared),
        cmocka_unit_test(an_event_that_repeats_is_counted),
        BOTH(an_object_has_at_most_so_many_events_and_the_oldest_go),
        FILE_TEST(there_are_at_most_so_many_events_and_the_oldest_go),
        FILE_TEST(the_bound_on_events_holds_at_every_commit),
        FILE_TEST(a_rollback_takes_the_number_of_events_back),
        BOTH(an_event_beyond_the_limit_fails_the_commit),
    };
    const struct CMUnitTest on_postgres[] = {
        cmocka_unit_test(an_event_that_repeats_is_counted_on_postgres),
        POSTGRES_TEST(documents_come_by_creation_then_by_key),
        POSTGRES_TEST(a_document_put_again_is_replaced_and_only_that_one),
        POSTGRES_TEST(a_removed_document_is_kept_and_not_handed_out),
        POSTGRES_TEST(rejections_come_as_they_were_put),
        POSTGRES_TEST(the_rejections_of_a_job_are_replaced_as_a_whole),
        POSTGRES_TEST(rejections_cleared_and_rolled_back_are_there_again),
        POSTGRES_TEST(after_a_failed_put_nothing_is_cleared),
        POSTGRES_TEST(an_object_has_at_most_so_many_events_and_the_oldest_go),
        POSTGRES_TEST(there_are_at_most_so_many_events_and_the_oldest_go),
        POSTGRES_TEST(the_bound_on_events_holds_at_every_commit),
        POSTGRES_TEST(a_rollback_takes_the_number_of_events_back),
        POSTGRES_TEST(an_event_beyond_the_limit_fails_the_commit),
    };
    int failed = cmocka_run_group_tests_name("store_objects", tests, NULL, NULL);
    if (postgres_in_full())
        failed +=
            cmocka_run_group_tests_name("store_objects on PostgreSQL", on_postgres, NULL, NULL);
    return failed;
}
