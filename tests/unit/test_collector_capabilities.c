/* test_collector_capabilities.c - stories of what hosts offer: when it is asked, how many at once,
 * and what is given on. */
#include "tests/unit/test_collector_fake.h"

static size_t n_asked(const struct stage *s)
{
    return s->n_of[HV_CALL_HOST_CAPABILITIES];
}
static struct stage *stage_connected(void)
{
    struct stage *s = stage_two_hosts();
    stage_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    return s;
}

static void capabilities_are_queried_on_connecting_and_every_minute(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_run(s, 5000);
    assert_int_equal(n_asked(s), 0);
    stage_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    assert_int_equal(n_asked(s), 1);
    stage_answer_capabilities(s, 7, 5);
    assert_int_equal(s->n_capabilities, 1);
    stage_run(s, 59000);
    assert_int_equal(n_asked(s), 1);
    stage_run(s, 1500);
    assert_int_equal(n_asked(s), 2);
    assert_string_equal(stage_open(s, HV_CALL_HOST_CAPABILITIES)->request.host, HOST_A);
}

static void the_sink_gets_capabilities_only_when_they_changed(void **state)
{
    (void)state;
    static const struct {
        uint64_t hash, free_pages;
        size_t told;
    } rows[] = {{7, 5, 1}, {7, 5, 1}, {7, 4, 2}, {7, 4, 2}, {8, 4, 3}, {7, 5, 4}};
    OWNED(stage) s = stage_connected();
    for (size_t i = 0; i < COUNT(rows); i++) {
        stage_answer_capabilities(s, rows[i].hash, rows[i].free_pages);
        assert_int_equal(s->n_capabilities, rows[i].told);
        stage_run(s, 61000);
    }
    assert_int_equal(s->free_pages, 5);
    struct collector_stats stats;
    collector_stats(s->c, &stats);
    assert_int_equal(stats.capabilities, COUNT(rows));
}

/* The reader may have lost it while the host was away. */
static void the_sink_gets_capabilities_after_each_connection(void **state)
{
    (void)state;
    OWNED(stage) s = stage_connected();
    stage_answer_capabilities(s, 7, 5);
    stage_event(s, HV_EVENT_DISCONNECTED, HOST_A, "", 0, 0);
    stage_run(s, 200000);
    assert_int_equal(n_asked(s), 1); /* nobody asks a host that is gone */
    stage_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    stage_answer_capabilities(s, 7, 5);
    assert_int_equal(s->n_capabilities, 2);
}

/* The sanitizer is the judge of who frees. */
static void capabilities_that_the_sink_could_not_keep_are_passed_again(void **state)
{
    (void)state;
    OWNED(stage) s = stage_connected();
    s->loses_capabilities = true;
    stage_answer_capabilities(s, 7, 5);
    stage_run(s, 61000);
    s->loses_capabilities = false;
    stage_answer_capabilities(s, 7, 5);
    stage_run(s, 61000);
    stage_answer_capabilities(s, 7, 5);
    assert_int_equal(s->n_capabilities, 2);
}

static void a_failure_is_no_change_and_is_retried_soon(void **state)
{
    (void)state;
    OWNED(stage) s = stage_connected();
    stage_answer_error(s, HV_CALL_HOST_CAPABILITIES, ERR_HYPERVISOR, 1);
    stage_run(s, 11000);
    assert_int_equal(n_asked(s), 2);
    assert_int_equal(s->n_capabilities, 0);
    s->refuse_call = HV_CALL_HOST_CAPABILITIES;
    stage_answer_error(s, HV_CALL_HOST_CAPABILITIES, ERR_HYPERVISOR, 1);
    stage_run(s, 20000);
    s->refuse_call = -1;
    stage_run(s, 3000);
    assert_int_equal(n_asked(s), 3);
}

static void a_query_without_an_answer_times_out(void **state)
{
    (void)state;
    OWNED(stage) s = stage_connected();
    stage_run(s, 58000);
    assert_int_equal(n_asked(s), 1);
    stage_run(s, 4000);
    assert_int_equal(n_asked(s), 2);
}

/* Answers are long: a fleet that connects at once is asked in good order. */
static void queries_in_flight_are_bounded(void **state)
{
    (void)state;
    enum { HOSTS = COLLECTOR_CAPABILITIES_MAX + 50 };
    OWNED(stage) s = stage_new(NULL, NULL);
    char name[HV_HOST_MAX];
    for (int i = 0; i < HOSTS; i++) {
        (void)snprintf(name, sizeof name, "host-%d", i);
        stage_host(s, name);
    }
    for (int i = 0; i < HOSTS; i++) {
        (void)snprintf(name, sizeof name, "host-%d", i);
        stage_event(s, HV_EVENT_CONNECTED, name, "", 0, 0);
    }
    assert_int_equal(stage_n_open(s, HV_CALL_HOST_CAPABILITIES), COLLECTOR_CAPABILITIES_MAX);
    stage_event(s, HV_EVENT_DISCONNECTED, name, "", 0, 0); /* the last one does not wait any more */
    for (int i = 0; i < HOSTS - 1; i++)
        stage_answer_capabilities(s, 7, 5);
    assert_int_equal(n_asked(s), HOSTS - 1);
    assert_int_equal(s->n_capabilities, HOSTS - 1);
}

TEST_FILE(test_collector_capabilities)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capabilities_are_queried_on_connecting_and_every_minute),
        cmocka_unit_test(the_sink_gets_capabilities_only_when_they_changed),
        cmocka_unit_test(the_sink_gets_capabilities_after_each_connection),
        cmocka_unit_test(capabilities_that_the_sink_could_not_keep_are_passed_again),
        cmocka_unit_test(a_failure_is_no_change_and_is_retried_soon),
        cmocka_unit_test(a_query_without_an_answer_times_out),
        cmocka_unit_test(queries_in_flight_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
