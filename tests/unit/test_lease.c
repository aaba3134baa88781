/* test_lease.c - stories and laws of leases (engine/lease.h): time is counted from before the
 * question, nothing is ordered too early or too late, cells are shared evenly.
 */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "engine/lease.h"

static const struct lease_times times = {.ttl_ms = 10000, .call_limit_ms = 7000};

static struct store_lease row_of(int64_t quiet_ms)
{
    return (struct store_lease){
        .cell = "a", .owner = "one", .epoch = 3, .left_ms = 10000, .quiet_ms = quiet_ms};
}

static void a_released_cell_is_ready_at_once_and_one_that_ran_out_is_not(void **state)
{
    (void)state;
    struct store_lease released = row_of(0), ran_out = row_of(10000);
    struct lease lease;
    lease_begin(&lease, &released, &times, 100, 300);
    assert_true(lease_may_order(&lease, &times, 300));
    lease_begin(&lease, &ran_out, &times, 100, 300);
    lease.asked_ms = 12000; /* renewed meanwhile */
    assert_false(lease_may_order(&lease, &times, 300 + 10000 + 7000 - 1));
    assert_true(lease_may_order(&lease, &times, 300 + 10000 + 7000));
}

/* The answer took long: the database's clock may have begun right after the question. */
static void a_lease_is_counted_from_before_it_was_asked(void **state)
{
    (void)state;
    struct store_lease row = row_of(0);
    struct lease lease;
    lease_begin(&lease, &row, &times, 1000, 5000);
    assert_int_equal(lease_sure_until_ms(&lease, &times), 11000);
    assert_true(lease_may_order(&lease, &times, 11000 - lease_margin_ms(&times) - 1));
    assert_false(lease_may_order(&lease, &times, 11000 - lease_margin_ms(&times)));
}

/* Two appliances, every delay of the way there and back, the second one's clock at any offset: when
 * the second may give its first order, the first one's last order has had its call limit. */
static void orders_of_two_holders_never_overlap(void **state)
{
    (void)state;
    unsigned looked_at = 0;
    for (int64_t way = 0; way <= 3000; way += 500) /* of the first one's last renewal */
        for (int64_t answer = 0; answer <= 3000; answer += 500) /* of the second one's taking */
            for (int64_t jump = -20000; jump <= 20000;
                 jump += 5000) { /* the database's clock at a failover */
                int64_t asked_ms = 100000;
                struct store_lease first_row = row_of(0), second_row = row_of(times.ttl_ms);
                struct lease first, second;
                lease_begin(&first, &first_row, &times, asked_ms, asked_ms + way);
                /* The database lets go when its own clock says so. */
                int64_t free_ms = asked_ms + way + times.ttl_ms - jump;
                int64_t taken_ms = (free_ms > asked_ms + way ? free_ms : asked_ms + way) + 1;
                lease_begin(&second, &second_row, &times, taken_ms - 10, taken_ms + answer);
                second.asked_ms = taken_ms + 60000; /* and keeps it */
                int64_t last_ms = lease_sure_until_ms(&first, &times) - lease_margin_ms(&times);
                assert_false(lease_may_order(&first, &times, last_ms));
                assert_false(lease_may_order(&second, &times, last_ms + times.call_limit_ms));
                looked_at++;
            }
    assert_true(looked_at > 400);
}

/* ---- shares ---- */

struct cluster {
    struct store_lease rows[12];
    size_t n;
};

static struct lease_view view_of(const struct cluster *c, const struct lease *mine, size_t n_mine,
                                 size_t appliances)
{
    return (struct lease_view){.self = "one",
                               .rows = c->rows,
                               .n_rows = c->n,
                               .mine = mine,
                               .n_mine = n_mine,
                               .appliances = appliances};
}

/* Everybody takes what it may and gives what it must, in turns, until nothing happens. */
static void settle(struct cluster *c, unsigned *owner, size_t appliances)
{
    for (int round = 0; round < 100; round++)
        for (unsigned who = 1; who <= appliances; who++) {
            struct lease mine[12];
            size_t n = 0, row_of_mine[12];
            for (size_t i = 0; i < c->n; i++)
                if (owner[i] == who) {
                    row_of_mine[n] = i;
                    memcpy(mine[n++].cell, c->rows[i].cell, STORE_CELL_MAX);
                }
            struct lease_view view = view_of(c, mine, n, appliances);
            size_t take = lease_to_take(&view, &times), give = lease_to_give(&view);
            if (take < c->n) {
                owner[take] = who;
                (void)snprintf(c->rows[take].owner, STORE_CELL_MAX, "a%u", who);
                c->rows[take].left_ms = times.ttl_ms;
            } else if (give < n) {
                owner[row_of_mine[give]] = 0;
                c->rows[row_of_mine[give]].owner[0] = '\0';
                c->rows[row_of_mine[give]].left_ms = -1;
            }
        }
}

static void cells_are_shared_evenly_whoever_comes_and_goes(void **state)
{
    (void)state;
    for (size_t cells = 1; cells <= 12; cells++)
        for (size_t first = 1; first <= 5; first++)
            for (size_t then = 1; then <= 5; then++) {
                struct cluster c = {.n = cells};
                unsigned owner[12] = {0}, count[6] = {0};
                for (size_t i = 0; i < cells; i++)
                    (void)snprintf(c.rows[i].cell, STORE_CELL_MAX, "c%zu", i);
                settle(&c, owner, first);
                for (size_t i = 0; i < cells; i++) /* those that went: their leases run out */
                    if (owner[i] > then) {
                        owner[i] = 0;
                        c.rows[i].left_ms = -1;
                    }
                settle(&c, owner, then);
                for (size_t i = 0; i < cells; i++)
                    count[owner[i]]++;
                assert_int_equal(count[0], 0); /* no cell is without a holder */
                for (unsigned who = 1; who <= then; who++)
                    assert_true(count[who] <= (cells + then - 1) / then);
            }
}

static void a_cell_that_nobody_takes_is_anybodys_in_the_end(void **state)
{
    (void)state;
    struct cluster c = {.n = 2};
    struct lease mine = {.cell = "c0"};
    (void)snprintf(c.rows[0].cell, STORE_CELL_MAX, "c0");
    (void)snprintf(c.rows[0].owner, STORE_CELL_MAX, "one");
    c.rows[0].left_ms = 5000;
    (void)snprintf(c.rows[1].cell, STORE_CELL_MAX, "c1");
    struct lease_view view = view_of(&c, &mine, 1, 2); /* its share is one */
    c.rows[1].left_ms = -times.ttl_ms + 1;
    assert_int_equal(lease_to_take(&view, &times), 2);
    c.rows[1].left_ms = -times.ttl_ms - 1;
    assert_int_equal(lease_to_take(&view, &times), 1);
}

static void nothing_is_given_away_in_the_middle_of_a_migration(void **state)
{
    (void)state;
    struct cluster c = {.n = 2};
    struct lease mine[2] = {{.cell = "c0"}, {.cell = "c1"}};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(c.rows[i].cell, STORE_CELL_MAX, "c%zu", i);
        (void)snprintf(c.rows[i].owner, STORE_CELL_MAX, "one");
        c.rows[i].left_ms = 5000;
    }
    struct lease_view view = view_of(&c, mine, 2, 2);
    assert_int_equal(lease_to_give(&view), 1);
    view.is_busy = true;
    assert_int_equal(lease_to_give(&view), 2);
}

static void a_standby_tells_who_holds_each_cell_and_where(void **state)
{
    (void)state;
    const struct store_appliance appliances[] = {{.name = "a1", .address = "https://a1:9443"},
                                                 {.name = "a2"}};
    const struct store_lease rows[] = {
        {.cell = "default", .owner = "a1", .left_ms = 5000},
        {.cell = "rack-2", .owner = "a2", .left_ms = 5000},
        {.cell = "rack-3", .left_ms = 0},
        {.cell = "rack-4", .owner = "a3", .left_ms = 5000},
    };
    struct lease_view view = {.self = "a3", .rows = rows, .n_rows = 1};
    struct err err = {0};
    assert_false(lease_refuse_standby(&view, appliances, 2, &err));
    assert_int_equal(err_http_status(err.code), 503);
    assert_string_equal(err.text, "this appliance is a standby; cell 'default' is held by 'a1' "
                                  "(https://a1:9443)");
    view.n_rows = 4;
    err = (struct err){0};
    assert_false(lease_refuse_standby(&view, appliances, 2, &err));
    assert_non_null(strstr(err.text, "cell 'rack-2' is held by 'a2'; "));
    assert_non_null(strstr(err.text, "cell 'rack-3' is held by nobody; "));
    assert_non_null(strstr(err.text, "cell 'rack-4' is being taken over: try again"));

    struct store_lease many[STORE_CELLS_MAX]; /* the text is cut, not overrun */
    for (size_t i = 0; i < STORE_CELLS_MAX; i++)
        many[i] = rows[0];
    view.rows = many;
    view.n_rows = STORE_CELLS_MAX;
    err = (struct err){0};
    assert_false(lease_refuse_standby(&view, appliances, 2, &err));
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
}

TEST_FILE(test_lease)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_released_cell_is_ready_at_once_and_one_that_ran_out_is_not),
        cmocka_unit_test(a_lease_is_counted_from_before_it_was_asked),
        cmocka_unit_test(orders_of_two_holders_never_overlap),
        cmocka_unit_test(cells_are_shared_evenly_whoever_comes_and_goes),
        cmocka_unit_test(a_cell_that_nobody_takes_is_anybodys_in_the_end),
        cmocka_unit_test(nothing_is_given_away_in_the_middle_of_a_migration),
        cmocka_unit_test(a_standby_tells_who_holds_each_cell_and_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
