/* test_store_copy.c - a copy from one engine to the other: whole, or refused. */
#include "tests/unit/test_store.h"

#include "base/text.h"
#include "store/any/copy.h"
#include "store/sql.h"

enum { COPY_ROWS = 1203 }; /* more than are put at once */

/* Rows of every kind, a different value in every field. */
static void fill_every_table(struct store_sql *s)
{
    struct err err = {0};
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        const struct row_type *type = rows_type(kind);
        int rows = kind == ROW_SAMPLE || kind == ROW_TRANSITION ? COPY_ROWS : 3;
        assert_true(s->engine->begin(s, type->lane, &err));
        for (int n = 0; n < rows; n++) {
            union any_row row = {0};
            struct sql_value values[SQL_VALUES_MAX];
            char texts[SQL_VALUES_MAX][64];
            size_t columns = rows_values(kind, &row, values);
            for (size_t i = 0; i < columns; i++) {
                (void)snprintf(texts[i], sizeof texts[i], "\xc3\xa9'%zu %d %s", i, n, type->table);
                if (type->columns[i].type == COLUMN_ARRAY && type->columns[i].bytes < 64)
                    texts[i][type->columns[i].bytes - 1] = '\0'; /* as it would be read */
                values[i] = values[i].type == SQL_TEXT  ? sql_text(texts[i])
                            : values[i].type == SQL_INT ? sql_int(INT64_MAX - n * 200 - (int)i)
                                                        : values[i];
                if (values[i].type == SQL_REAL)
                    values[i].real = (double)n + 0.1;
                if (type->columns[i].type == COLUMN_BOOL)
                    values[i] = sql_int(n % 2);
            }
            if (!s->engine->write(s, type->lane,
                                  &(struct sql_write){(enum statement)kind, values, columns, NULL},
                                  &err))
                fail_msg("%s: %s", type->table, err.text);
        }
        assert_true(s->engine->commit(s, type->lane, &err));
    }
}

struct dump {
    const struct row_type *type;
    struct buf text;
};

static bool dump_row(void *ctx, struct sql_cells *cells)
{
    struct dump *dump = ctx;
    for (size_t i = 0; i < dump->type->column_count; i++) {
        int at = (int)i;
        switch (dump->type->columns[i].type) {
        case COLUMN_TEXT:
        case COLUMN_ARRAY: buf_addf(&dump->text, "%s|", cells->text(cells, at)); break;
        case COLUMN_INT:
        case COLUMN_BOOL:
            buf_addf(&dump->text, "%lld|", (long long)cells->number(cells, at));
            break;
        case COLUMN_REAL: buf_addf(&dump->text, "%.17g|", cells->real(cells, at)); break;
        }
    }
    buf_add(&dump->text, "\n");
    return true;
}

/* Everything that a store holds, as text. */
static char *dump_of(const char *place)
{
    struct err err = {0};
    struct dump dump;
    OWNED(store) store = store_open(place, &err);
    if (store == NULL)
        fail_msg("%s", err.text);
    buf_init(&dump.text, 64 * 1024 * 1024);
    for (enum row kind = 0; kind < ROW_COUNT; kind++) {
        char sql[ROWS_SQL_MAX];
        dump.type = rows_type(kind);
        rows_select_sql(kind, NULL,
                        dump.type->key[0] == '\0' && strstr(dump.type->order, "id") != NULL
                            ? "ORDER BY id"
                            : "ORDER BY 1, 2, 3",
                        sql);
        buf_addf(&dump.text, "%s\n", dump.type->table);
        const struct sql_read read = {.sql = sql, .row = dump_row, .ctx = &dump};
        struct store_sql *s = store_sql_of(store);
        if (!s->engine->read(s, dump.type->lane, &read, &err))
            fail_msg("%s", err.text);
    }
    struct store_identity identity;
    assert_true(store->ops->identity(store, &identity, &err));
    buf_addf(&dump.text, "%s %lld %lld %lld\n", identity.id, (long long)identity.epoch,
             (long long)identity.restored_ms, (long long)identity.seen_ms);
    return buf_take(&dump.text);
}

static void expect_same_dump(const char *a, const char *b)
{
    size_t same = 0;
    while (a[same] != '\0' && a[same] == b[same])
        same++;
    if (a[same] != b[same])
        fail_msg("not the same: ...%.200s... and ...%.200s...", a + (same > 100 ? same - 100 : 0),
                 b + (same > 100 ? same - 100 : 0));
}

static void must_copy(const char *from, const char *to)
{
    struct err err = {0};
    struct copy_report report;
    if (!store_copy(from, to, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.migrations, 3);
    assert_int_equal(report.samples, COPY_ROWS);
    assert_int_equal(report.rows, 2 * COPY_ROWS + 3 * (ROW_COUNT - 2));
}

static void a_copy_there_and_back_loses_nothing(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    char url[POSTGRES_URL_MAX], back[300];
    must_open(f);
    fill_every_table(store_sql_of(f->store));
    f->store->ops->set_retention(f->store, &(struct store_retention){0});
    bool more = false;
    assert_true(f->store->ops->retain(f->store, 1700000000000, &more, &err)); /* seen_ms */
    must_close(f);
    postgres_new_url(url);
    (void)snprintf(back, sizeof back, "%s/back", f->dir);
    must_copy(f->dir, url);
    must_copy(url, back);
    OWNED_TEXT first = dump_of(f->dir);
    OWNED_TEXT middle = dump_of(url);
    OWNED_TEXT last = dump_of(back);
    assert_true(strlen(first) > 100000);
    expect_same_dump(first, middle);
    expect_same_dump(first, last);

    must_open(f); /* and the copy goes on by itself: a new row has a number that is free */
    must_close(f);
    OWNED(store) copy = store_open(url, &err);
    copy->ops->begin(copy);
    copy->ops->put_mode(copy, &(struct store_mode){.job_uid = "new"});
    must_commit(copy);
}

static void a_copy_refuses_a_full_target_and_a_store_in_use(void **state)
{
    struct fixture *f = *state;
    struct copy_report report;
    struct err full = {0}, used = {0}, other = {0}, missing = {0};
    char url[POSTGRES_URL_MAX], empty[300];
    must_open(f);
    commit_job(f->store, "a", 1);
    postgres_new_url(url);
    (void)snprintf(empty, sizeof empty, "%s/empty", f->dir);
    assert_false(store_copy(f->dir, url, &report, &used)); /* an appliance runs on the source */
    assert_int_equal(used.code, ERR_LOCKED);
    must_close(f);
    assert_false(store_copy(empty, url, &report, &missing));
    assert_int_equal(missing.code, ERR_NOT_FOUND);
    assert_true(store_copy(f->dir, url, &report, &full));
    assert_false(store_copy(f->dir, url, &report, &full));
    assert_int_equal(full.code, ERR_EXISTS);
    struct store *running = store_open(url, &other);
    assert_non_null(running);
    assert_false(store_copy(url, empty, &report, &other));
    assert_int_equal(other.code, ERR_LOCKED);
    store_free(running);
}

static void no_appliance_starts_on_half_a_copy(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    must_close(f);
    postgres_exec(f->url, "UPDATE appliance SET epoch = -1");
    assert_null(store_open(f->url, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, "not finished"));
}

TEST_FILE(test_store_copy)
{
    const struct CMUnitTest slice[] = {
        cmocka_unit_test_setup_teardown(a_copy_there_and_back_loses_nothing, fixture_setup,
                                        fixture_teardown),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(a_copy_refuses_a_full_target_and_a_store_in_use,
                                        fixture_setup, fixture_teardown),
        POSTGRES_TEST(no_appliance_starts_on_half_a_copy),
    };
    int failed = 0;
    if (postgres_in_slice())
        failed += cmocka_run_group_tests_name("store_copy", slice, NULL, NULL);
    if (postgres_in_full())
        failed += cmocka_run_group_tests_name("store_copy, all", others, NULL, NULL);
    return failed;
}
