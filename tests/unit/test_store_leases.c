/* test_store_leases.c - leases on both engines: whoever lost one changes nothing any more, by no
 * statement; and time is the database's.
 */
#include "tests/unit/test_store.h"

#include "base/clock.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/impl.h"

enum { TTL_MS = 10000 };

/* Appliances on one store; the database's clock is moved by hand where it can be. */
struct shared {
    char url[POSTGRES_URL_MAX]; /* "": in memory */
    char name[64];
    struct store *keeper; /* takes part in nothing, keeps the store alive */
    int64_t skew_ms;
};
static struct shared shared;

static int64_t skewed_ms(void *ctx)
{
    return clock_wall_ms(clock_system()) + ((struct shared *)ctx)->skew_ms;
}
static const struct clock skewed = {skewed_ms, skewed_ms, &shared};

static struct store *join(const char *appliance, const struct store_fence *fence)
{
    const struct store_sharing sharing = {appliance, *fence};
    struct err err = {0};
    struct store *s = shared.url[0] != '\0' ? store_share(shared.url, &sharing, &err)
                                            : store_sqlite_share(shared.name, fence, &err);
    if (s == NULL)
        fail_msg("%s: %s", err_name(err.code), err.text);
    return s;
}

static int share_memory(void **state)
{
    static unsigned number;
    (void)state;
    shared = (struct shared){.url = ""};
    (void)snprintf(shared.name, sizeof shared.name, "leases-%d-%u", (int)getpid(), number++);
    store_sqlite_clock(&skewed);
    shared.keeper = join("keeper", &(struct store_fence){0});
    return 0;
}
static int share_postgres(void **state)
{
    (void)state;
    shared = (struct shared){.url = ""};
    postgres_new_url(shared.url);
    shared.keeper = join("keeper", &(struct store_fence){0});
    return 0;
}
static int end_sharing(void **state)
{
    (void)state;
    store_free(shared.keeper);
    store_sqlite_clock(NULL);
    return 0;
}

static void declare(const char *cell)
{
    struct err err = {0};
    assert_true(shared.keeper->leases->declare(shared.keeper, cell, &err));
}

/* The epoch; 0: refused. */
static int64_t take(const char *cell, const char *owner, struct store_lease *out_lease)
{
    struct err err = {0};
    struct store_lease lease = {0};
    bool taken = shared.keeper->leases->take(shared.keeper, cell, owner, TTL_MS, &lease, &err);
    if (!taken && err.code != ERR_REFUSED)
        fail_msg("%s: %s", err_name(err.code), err.text);
    if (out_lease != NULL)
        *out_lease = lease;
    return taken ? lease.epoch : 0;
}

static bool renew(const char *cell, int64_t epoch)
{
    struct err err = {0};
    bool done = shared.keeper->leases->renew(shared.keeper, cell, epoch, TTL_MS, &err);
    if (!done)
        assert_int_equal(err.code, ERR_FENCED);
    return done;
}

static bool release(const char *cell, int64_t epoch)
{
    struct err err = {0};
    return shared.keeper->leases->release(shared.keeper, cell, epoch, &err);
}

/* Time passes in the database. */
static void pass(int64_t ms)
{
    shared.skew_ms += ms;
    if (shared.url[0] != '\0') {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "UPDATE leases SET until_ms = until_ms - %lld",
                       (long long)ms);
        postgres_exec(shared.url, sql);
    }
}

static struct store_fence fence_of(const char *cell, int64_t epoch)
{
    struct store_fence fence = {.n = 1};
    (void)snprintf(fence.list[0].cell, STORE_CELL_MAX, "%s", cell);
    fence.list[0].epoch = epoch;
    return fence;
}

static enum err_code try_job(struct store *s, const char *uid)
{
    struct err err = {0};
    s->ops->begin(s);
    put_job(s, uid, 1, "");
    (void)s->ops->commit(s, &err);
    return err.code;
}

/* ---- the lease ---- */

static bool keep_lease(void *ctx, const struct store_lease *row)
{
    *(struct store_lease *)ctx = *row;
    return true;
}

static void a_lease_is_one_appliances_until_it_runs_out_or_is_released(void **state)
{
    (void)state;
    struct store_lease seen = {0}, lease = {0};
    struct err err = {0};
    declare("a");
    declare("a");
    assert_true(shared.keeper->leases->each(shared.keeper, keep_lease, &seen, &err));
    assert_string_equal(seen.owner, "");
    assert_int_equal(seen.epoch, 0);
    assert_int_equal(take("a", "one", &lease), 1);
    assert_int_equal(lease.quiet_ms, 0);
    assert_int_equal(take("a", "two", NULL), 0);
    assert_int_equal(take("a", "one", NULL), 0); /* nor by its name: that may be another process */
    assert_true(shared.keeper->leases->each(shared.keeper, keep_lease, &seen, &err));
    assert_string_equal(seen.owner, "one");
    assert_in_range(seen.left_ms, TTL_MS - 5000, TTL_MS);

    pass(TTL_MS - 3000);
    assert_true(renew("a", 1));
    pass(TTL_MS - 3000);
    assert_int_equal(take("a", "two", NULL), 0); /* it was renewed */
    pass(4000);
    assert_true(renew("a", 1)); /* it ran out, but nobody took it */
    pass(TTL_MS + 1000);
    assert_int_equal(take("a", "two", &lease), 2);
    assert_int_equal(lease.quiet_ms, TTL_MS); /* for so long the first may believe that it has it */
    assert_false(renew("a", 1));
    assert_false(release("a", 1));
    assert_true(release("a", 2));
    assert_false(renew("a", 2)); /* released is over */
    assert_int_equal(take("a", "one", &lease), 3);
    assert_int_equal(lease.quiet_ms, 0);
}

static void a_cell_that_was_not_declared_has_no_lease(void **state)
{
    (void)state;
    assert_int_equal(take("nowhere", "one", NULL), 0);
}

static bool count_appliance(void *ctx, const struct store_appliance *row)
{
    assert_string_equal(row->address, "https://b");
    assert_true(row->age_ms < 5000);
    ++*(int *)ctx;
    return true;
}

static void appliances_are_seen_until_they_leave(void **state)
{
    (void)state;
    const struct store_lease_ops *leases = shared.keeper->leases;
    struct err err = {0};
    int n = 0;
    assert_true(
        leases->note(shared.keeper, &(struct store_appliance){"one", "https://a", "1", 0}, &err));
    assert_true(
        leases->note(shared.keeper, &(struct store_appliance){"one", "https://b", "1", 0}, &err));
    assert_true(leases->each_appliance(shared.keeper, count_appliance, &n, &err));
    assert_int_equal(n, 1);
    assert_true(leases->leave(shared.keeper, "one", &err));
    assert_true(leases->each_appliance(shared.keeper, count_appliance, &n, &err));
    assert_int_equal(n, 1);
}

/* ---- the fence ---- */

static void whoever_lost_the_lease_changes_nothing(void **state)
{
    (void)state;
    declare("a");
    struct store_fence first = fence_of("a", take("a", "one", NULL));
    struct store *one = join("one", &first);
    assert_int_equal(try_job(one, "before"), ERR_NONE);
    pass(TTL_MS + 1000);
    assert_int_equal(try_job(one, "unclaimed"), ERR_NONE); /* nobody has taken it */
    struct store_fence second = fence_of("a", take("a", "two", NULL));
    struct store *two = join("two", &second);
    assert_int_equal(try_job(one, "late"), ERR_FENCED);
    struct err err = {0};
    one->ops->begin(one); /* a transaction that only deletes */
    one->ops->clear_verdict(one, "before");
    assert_false(one->ops->commit(one, &err));
    assert_int_equal(err.code, ERR_FENCED);
    assert_int_equal(try_job(two, "after"), ERR_NONE);
    assert_int_equal(try_job(one, "later"), ERR_FENCED);
    assert_int_equal(jobs_in(two), 3);
    store_free(one);
    store_free(two);
}

static void a_writer_with_two_cells_writes_only_while_it_has_both(void **state)
{
    (void)state;
    declare("a");
    declare("b");
    struct store_fence both = fence_of("a", take("a", "one", NULL));
    both.n = 2;
    (void)snprintf(both.list[1].cell, STORE_CELL_MAX, "b");
    both.list[1].epoch = take("b", "one", NULL);
    struct store *one = join("one", &both);
    assert_int_equal(try_job(one, "both"), ERR_NONE);
    assert_true(release("b", both.list[1].epoch));
    assert_int_equal(try_job(one, "released"), ERR_NONE); /* still its tenure: nobody took it */
    assert_int_equal(take("b", "two", NULL), 2);
    assert_int_equal(try_job(one, "one-left"), ERR_FENCED);
    assert_int_equal(jobs_in(one), 2);
    store_free(one);
}

static void without_a_cell_only_the_audit_log_is_written(void **state)
{
    (void)state;
    struct err err = {0};
    struct store *s = join("standby", &(struct store_fence){0});
    const struct store_audit audit = {.at_ms = 1, .verb = "create", .name = "m", .count = 1};
    assert_int_equal(try_job(s, "j"), ERR_FENCED);
    assert_true(s->ops->append_audit(s, &audit));
    if (shared.url[0] != '\0') {
        assert_true(s->ops->flush_samples(s, 20000, &err));
        assert_int_equal(postgres_int(shared.url, "SELECT count(*) FROM audit_log"), 1);
    }
    store_free(s);
}

/* ---- every statement ---- */

/* Each statement as a former tenure carries it out, with rows that it could change; then as the
 * present one does, so that the law is not empty. */
static int changed_by(sqlite3 *db, enum statement id, const char *fence)
{
    char sql[ROWS_SQL_MAX];
    sqlite3_stmt *stmt = NULL;
    statement_sql(id, fence, sql);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++)
        assert_int_equal(sqlite3_bind_int64(stmt, i, 7), SQLITE_OK);
    int before = sqlite3_total_changes(db);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        continue;
    (void)sqlite3_finalize(stmt);
    return sqlite3_total_changes(db) - before;
}

static void no_statement_of_a_former_tenure_changes_a_row(void **state)
{
    (void)state;
    char past[FENCE_SQL_MAX], present[FENCE_SQL_MAX];
    struct store_fence former = fence_of("a", 1), held = fence_of("a", 2);
    struct err err = {0};
    unsigned fenced = 0, puts = 0;
    fence_sql(&former, false, past);
    fence_sql(&held, false, present);
    for (enum statement id = 0; id < STATEMENT_COUNT; id++) {
        char doing[STATEMENT_DOING_MAX], sql[ROWS_SQL_MAX];
        struct store *s = store_sqlite_open(NULL, &err);
        assert_non_null(s);
        if (statement_lane(id) != LANE_OBJECTS || !statement_is_fenced(id)) {
            store_free(s);
            continue;
        }
        assert_true(s->leases->declare(s, "a", &err));
        struct store_lease lease;
        for (int i = 0; i < 2; i++) {
            assert_true(s->leases->take(s, "a", "x", TTL_MS, &lease, &err));
            if (i == 0)
                assert_true(s->leases->release(s, "a", 1, &err));
        }
        sqlite3 *db = store_sqlite_of(s)->lanes[LANE_OBJECTS].db;
        statement_doing(id, doing);
        statement_sql(id, past, sql);
        if (strstr(sql, past) == NULL)
            fail_msg("%s: has no fence", doing);
        if (changed_by(db, id, past) != 0)
            fail_msg("%s: by a former tenure", doing);
        fenced++;
        if (statement_is_put(id)) {
            assert_true(changed_by(db, id, present) > 0);
            assert_int_equal(changed_by(db, id, past), 0); /* nor the row that is there now */
            puts++;
        }
        store_free(s);
    }
    assert_true(fenced > 30 && puts >= 15);
}

/* ---- a takeover and a transaction that is under way ---- */

static void a_takeover_waits_for_a_transaction_and_a_renewal_does_not(void **state)
{
    (void)state;
    struct err err = {0}, late = {0};
    struct store_lease lease;
    declare("a");
    struct store_fence first = fence_of("a", take("a", "one", NULL));
    struct store *one = join("one", &first);
    struct store_sql *sql = store_sql_of(one);
    one->ops->begin(one);
    put_job(one, "under-way", 1, "");
    assert_true(sql->engine->settle(sql, LANE_OBJECTS, &err)); /* sent, and not committed */
    assert_true(renew("a", 1));
    pass(TTL_MS + 1000);
    assert_false(shared.keeper->leases->take(shared.keeper, "a", "two", TTL_MS, &lease, &late));
    assert_int_not_equal(late.code, ERR_REFUSED);
    must_commit(one);
    assert_int_equal(take("a", "two", NULL), 2); /* whoever reads now, reads that job */
    assert_int_equal(jobs_in(shared.keeper), 1);
    store_free(one);
}

/* It holds the row of the lease: the server ends its session, not the takeover. */
static void an_appliance_that_stopped_in_a_transaction_is_ended(void **state)
{
    (void)state;
    struct err err = {0};
    declare("a");
    struct store_fence first = fence_of("a", take("a", "one", NULL));
    struct store *one = join("one", &first);
    struct store_sql *sql = store_sql_of(one);
    one->ops->begin(one);
    put_job(one, "stopped", 1, "");
    assert_true(sql->engine->settle(sql, LANE_OBJECTS, &err));
    pass(TTL_MS + 1000);
    struct store_lease lease = {0};
    bool taken = false;
    for (int i = 0; i < 10 && !taken; i++) { /* each waits two seconds for the row */
        struct err again = {0};
        taken = shared.keeper->leases->take(shared.keeper, "a", "two", TTL_MS, &lease, &again);
    }
    assert_true(taken);
    assert_false(one->ops->commit(one, &err));
    assert_int_equal(jobs_in(shared.keeper), 0);
    store_free(one);
}

/* The server lets go of a session's lock when its process has ended, on a busy machine later than
 * the client that closed it. */
static struct store *open_when_free(bool is_shared)
{
    const struct store_sharing sharing = {"keeper", {0}};
    for (int i = 0; i < 200; i++) {
        struct err err = {0};
        struct store *s =
            is_shared ? store_share(shared.url, &sharing, &err) : store_open(shared.url, &err);
        if (s != NULL)
            return s;
        assert_int_equal(err.code, ERR_LOCKED);
        clock_sleep_ms(50);
    }
    fail_msg("the lock of a session that was closed is still held");
    return NULL;
}

static void an_appliance_alone_and_those_that_share_exclude_each_other(void **state)
{
    (void)state;
    struct err err = {0};
    assert_null(store_open(shared.url, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    store_free(shared.keeper);
    shared.keeper = NULL;
    struct store *alone = open_when_free(false);
    const struct store_sharing sharing = {"one", {0}};
    struct err other = {0};
    assert_null(store_share(shared.url, &sharing, &other));
    assert_int_equal(other.code, ERR_LOCKED);
    assert_non_null(strstr(other.text, "does not share it"));
    store_free(alone);
    shared.keeper = open_when_free(true);
}

/* Two processes by one name: the second was meant. */
static void a_second_appliance_of_the_same_name_replaces_the_first(void **state)
{
    (void)state;
    declare("a");
    struct store_fence fence = fence_of("a", take("a", "one", NULL));
    struct store *first = join("one", &fence);
    assert_int_equal(try_job(first, "first"), ERR_NONE);
    struct store *second = join("one", &fence);
    assert_int_equal(try_job(first, "late"), ERR_LOCKED);
    assert_int_equal(try_job(second, "second"), ERR_NONE);
    store_free(first);
    store_free(second);
}

#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, share_memory, end_sharing)
#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, share_postgres, end_sharing)
#define CONTRACT(TEST)                                                                            \
    TEST(a_lease_is_one_appliances_until_it_runs_out_or_is_released),                             \
        TEST(a_cell_that_was_not_declared_has_no_lease),                                          \
        TEST(appliances_are_seen_until_they_leave), TEST(whoever_lost_the_lease_changes_nothing), \
        TEST(a_writer_with_two_cells_writes_only_while_it_has_both),                              \
        TEST(without_a_cell_only_the_audit_log_is_written)

TEST_FILE(test_store_leases)
{
    const struct CMUnitTest in_memory[] = {
        CONTRACT(MEMORY_TEST),
        cmocka_unit_test(no_statement_of_a_former_tenure_changes_a_row),
    };
    const struct CMUnitTest on_postgres[] = {
        CONTRACT(SHARED_TEST),
        SHARED_TEST(a_takeover_waits_for_a_transaction_and_a_renewal_does_not),
        SHARED_TEST(an_appliance_alone_and_those_that_share_exclude_each_other),
        SHARED_TEST(a_second_appliance_of_the_same_name_replaces_the_first),
    };
    const struct CMUnitTest slow[] = {
        SHARED_TEST(an_appliance_that_stopped_in_a_transaction_is_ended),
    };
    int failed = cmocka_run_group_tests_name("leases", in_memory, NULL, NULL);
    if (postgres_in_slice())
        failed += cmocka_run_group_tests_name("leases on PostgreSQL", on_postgres, NULL, NULL);
    if (postgres_in_full())
        failed += cmocka_run_group_tests_name("slow leases", slow, NULL, NULL);
    return failed;
}
