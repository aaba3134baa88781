/* test_collector_inventory.c - stories of hosts: when facts and guests are asked, what is
 * believed, and what a flood of posts may and may not lose. */
#include "tests/unit/test_collector_fake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"

static size_t n_list_asks(const struct stage *s)
{
    return s->n_of[HV_CALL_LIST_GUESTS];
}
static void connect_host(struct stage *s, const char *host)
{
    stage_event(s, HV_EVENT_CONNECTED, host, "", 0, 0);
}
static void guest_event(struct stage *s)
{
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_STARTED, 0);
}

static void a_host_is_queried_when_it_connects(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_run(s, 30000);
    assert_int_equal(s->n_asks, 0); /* nobody asks a host that is not there */
    connect_host(s, HOST_A);
    assert_int_equal(s->n_connected, 1);
    assert_int_equal(s->n_of[HV_CALL_HOST_FACTS], 1);
    assert_int_equal(n_list_asks(s), 1);
    stage_answer_facts(s);
    stage_answer_list(s, 3);
    assert_int_equal(s->n_facts, 1);
    assert_int_equal(s->n_lists, 1);
    assert_int_equal(s->guests_in_last_list, 3);
}

static void events_request_a_list_soon_but_not_too_often(void **state)
{
    (void)state;
    struct collector_config config = {.inventory_ms = 1000000};
    OWNED(stage) s = stage_new(NULL, &config);
    stage_host(s, HOST_A);
    connect_host(s, HOST_A);
    stage_answer_list(s, 1);
    stage_run(s, 1000);
    guest_event(s);
    assert_int_equal(n_list_asks(s), 2); /* at once, the last is long ago */
    guest_event(s);
    stage_run(s, 600);
    assert_int_equal(n_list_asks(s), 2); /* one in flight */
    stage_answer_list(s, 2);
    assert_int_equal(n_list_asks(s), 3); /* something happened meanwhile */
    stage_answer_list(s, 2);
    for (int i = 0; i < 10; i++)
        guest_event(s);
    stage_run(s, 499);
    assert_int_equal(n_list_asks(s), 3);
    stage_run(s, 1);
    assert_int_equal(n_list_asks(s), 4); /* one for all ten */
    stage_answer_list(s, 2);
    stage_run(s, 5000);
    assert_int_equal(n_list_asks(s), 4);
    assert_int_equal(s->n_events, 12);
}

static void lists_come_regularly(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    connect_host(s, HOST_A);
    stage_answer_facts(s);
    stage_answer_list(s, 1);
    for (int i = 0; i < 60; i++) {
        stage_run(s, 1000);
        while (stage_open(s, HV_CALL_LIST_GUESTS) != NULL)
            stage_answer_list(s, 1);
        while (stage_open(s, HV_CALL_HOST_FACTS) != NULL)
            stage_answer_facts(s);
    }
    assert_int_equal(n_list_asks(s), 7);
    assert_int_equal(s->n_facts, 7);
}

static void a_list_that_fails_is_not_an_empty_list(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    connect_host(s, HOST_A);
    stage_answer_error(s, HV_CALL_LIST_GUESTS, ERR_HYPERVISOR, 38);
    assert_int_equal(s->n_lists, 0);
    stage_run(s, 1999);
    assert_int_equal(n_list_asks(s), 1);
    stage_run(s, 1);
    assert_int_equal(n_list_asks(s), 2); /* asked again, without a hurry */
    stage_answer_error(s, HV_CALL_LIST_GUESTS, ERR_UNREACHABLE, 0);
    assert_int_equal(s->n_lists, 0);
    assert_int_equal(s->n_lost, 0); /* only the connection's own event says that */
}

static size_t count_lines(FILE *log, const char *word)
{
    char text[4096];
    size_t n = 0;
    rewind(log);
    while (fgets(text, sizeof text, log) != NULL)
        n += strstr(text, word) != NULL;
    return n;
}

static void a_host_that_cannot_list_is_logged_once(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    FILE *log = tmpfile();
    assert_non_null(log);
    log_setup(LOG_LEVEL_WARN, LOG_FORMAT_TEXT, fileno(log));
    connect_host(s, HOST_A);
    for (int i = 0; i < 5; i++) {
        stage_answer_error(s, HV_CALL_LIST_GUESTS, ERR_HYPERVISOR, 38);
        stage_run(s, 2000);
    }
    assert_int_equal(count_lines(log, "guests_not_listed node=" HOST_A), 1);
    stage_answer_list(s, 3);
    stage_run(s, 10000);
    stage_answer_error(s, HV_CALL_LIST_GUESTS, ERR_HYPERVISOR, 38);
    assert_int_equal(count_lines(log, "guests_not_listed node=" HOST_A), 2); /* anew */
    stage_run(s, 2000);
    stage_answer_list(s, 3);
    stage_run(s, 10000);
    stage_answer_error(s, HV_CALL_LIST_GUESTS, ERR_UNREACHABLE, 38);
    assert_int_equal(count_lines(log, "guests_not_listed"), 2); /* the connection tells that */
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    (void)fclose(log);
}

static void a_refused_list_is_retried(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    s->refuse_call = HV_CALL_LIST_GUESTS;
    connect_host(s, HOST_A);
    assert_int_equal(n_list_asks(s), 0);
    s->refuse_call = -1;
    stage_run(s, 2000);
    assert_int_equal(n_list_asks(s), 1);
}

static void a_lost_host_is_not_queried_and_its_late_list_is_ignored(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    connect_host(s, HOST_A);
    stage_event(s, HV_EVENT_DISCONNECTED, HOST_A, "", 0, 0);
    assert_int_equal(s->n_lost, 1);
    stage_answer_list(s, 5);
    assert_int_equal(s->n_lists, 0);
    guest_event(s);
    stage_run(s, 60000);
    assert_int_equal(n_list_asks(s), 1);
    connect_host(s, HOST_A);
    assert_int_equal(s->n_connected, 2);
    assert_int_equal(n_list_asks(s), 2);
}

static void a_list_that_never_comes_times_out(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    connect_host(s, HOST_A);
    stage_run(s, 59999);
    assert_int_equal(n_list_asks(s), 1);
    assert_int_equal(s->n_of[HV_CALL_HOST_FACTS], 1);
    struct stage_ask *late = stage_open(s, HV_CALL_LIST_GUESTS);
    stage_run(s, 1);
    assert_int_equal(n_list_asks(s), 2);
    assert_int_equal(s->n_of[HV_CALL_HOST_FACTS], 2);
    stage_answer_list(s, 2); /* the new one */
    assert_int_equal(s->n_lists, 1);
    assert_false(late->answered);
    stage_answer_list(s, 9); /* the old one: older knowledge */
    assert_int_equal(s->n_lists, 1);
    assert_int_equal(s->guests_in_last_list, 2);
}

static void ten_thousand_hosts_are_spread_over_the_interval(void **state)
{
    (void)state;
    OWNED(stage) s = stage_new(NULL, NULL);
    char name[HV_HOST_MAX];
    for (int i = 0; i < COLLECTOR_HOSTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "host-%d", i);
        stage_host(s, name);
    }
    struct err err = {0};
    assert_false(collector_add_host(s->c, "one-more", &err));
    assert_int_equal(err.code, ERR_LIMIT);
    for (int i = 0; i < COLLECTOR_HOSTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "host-%d", i);
        stage_post_event(s, HV_EVENT_CONNECTED, name, "", 0, 0);
    }
    stage_step(s);
    assert_int_equal(s->n_connected, COLLECTOR_HOSTS_MAX);
    assert_int_equal(n_list_asks(s), COLLECTOR_HOSTS_MAX);
    for (size_t i = 0; i < s->n_asks; i++) {
        struct hv_reply reply = stage_reply(s, &s->asks[i]);
        err_set(&reply.err, ERR_HYPERVISOR, "scripted");
        if (s->asks[i].request.call == HV_CALL_LIST_GUESTS) {
            reply.err = (struct err){0};
            reply.with.guests = calloc(1, sizeof *reply.with.guests);
        }
        stage_send(&s->asks[i], &reply);
    }
    stage_step(s);
    assert_int_equal(s->n_lists, COLLECTOR_HOSTS_MAX);
    s->n_asks = 0;
    for (int i = 0; i < 20; i++) { /* 2 s: a fifth of all, and never a burst */
        size_t before = n_list_asks(s);
        stage_run(s, 100);
        if (i >= 5) /* hosts whose moment came right after connecting wait for the next one */
            assert_in_range(n_list_asks(s) - before, 90, 110);
    }
}

static void a_flood_of_events_loses_no_reply(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    connect_host(s, HOST_A);
    stage_watch(s, "job-1", 0);
    for (int i = 0; i < COLLECTOR_QUEUE_MAX; i++)
        stage_post_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_2, HV_LIFECYCLE_STARTED, 0);
    struct collector_stats stats;
    collector_stats(s->c, &stats);
    assert_int_equal(stats.posts_dropped, COLLECTOR_QUEUE_MAX / 2);
    assert_int_equal(stats.events_dropped, COLLECTOR_QUEUE_MAX / 2);
    assert_int_equal(stats.queue_depth, COLLECTOR_QUEUE_MAX / 2);
    stage_post_event(s, HV_EVENT_DISCONNECTED, HOST_A, "", 0, 0);
    struct hv_job_stats copying = stage_copying(MIB, MIB);
    stage_answer_stats(s, &copying);
    assert_int_equal(s->n_samples, 1);
    assert_int_equal(s->n_lost, 1);
    collector_stats(s->c, &stats);
    assert_int_equal(stats.posts_dropped, COLLECTOR_QUEUE_MAX / 2);
    assert_int_equal(stats.queue_depth, 0);
}

static void a_lost_connection_event_is_replaced_by_the_next_list(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    stage_step(s);
    for (int i = 0; i < COLLECTOR_QUEUE_MAX; i++) /* nothing steps: the queue fills */
        collector_unwatch(s->c, "nobody");
    stage_post_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    assert_false(collector_watch(s->c, "job-1", HOST_A, GUEST_1, 0, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    err = (struct err){0};
    assert_false(collector_query_state(s->c, 1, HOST_A, GUEST_1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    struct collector_stats stats;
    collector_stats(s->c, &stats);
    assert_int_equal(stats.posts_dropped, 3);
    assert_int_equal(stats.events_dropped, 1);
    stage_run(s, 20000);
    assert_int_equal(s->n_connected, 0);
    assert_int_equal(n_list_asks(s), 2); /* both hosts are in doubt */
    stage_answer_error(s, HV_CALL_LIST_GUESTS, ERR_UNREACHABLE, 0);
    assert_int_equal(s->n_connected, 0);
    assert_int_equal(s->n_lost, 0); /* it was not connected before */
    stage_answer_list(s, 4);
    assert_int_equal(s->n_connected, 1);
    assert_int_equal(s->guests_in_last_list, 4);
    assert_true(collector_watch(s->c, "job-1", HOST_A, GUEST_1, 0, &err));
}

static void waiting_returns_when_something_is_posted_and_loses_nothing(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_step(s);
    collector_wait(s->c, 0);
    stage_post_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    stage_post_event(s, HV_EVENT_CONNECTED, HOST_B, "", 0, 0);
    collector_wait(s->c, 60000);
    collector_wait(s->c, 60000); /* still unhandled: returns at once */
    stage_step(s);
    assert_int_equal(s->n_connected, 2);
    stage_post_event(s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, 0, 0);
    collector_wait(s->c, 0); /* and a held post is freed with the collector */
}

static void host_names_are_unique(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    assert_false(collector_add_host(s->c, HOST_A, &err));
    assert_int_equal(err.code, ERR_EXISTS);
    err = (struct err){0};
    assert_false(collector_add_host(s->c, "", &err));
    assert_int_equal(err.code, ERR_INVALID);
    char long_name[HV_HOST_MAX + 1];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    err = (struct err){0};
    assert_false(collector_add_host(s->c, long_name, &err));
    assert_int_equal(err.code, ERR_INVALID);
    connect_host(s, "a-stranger");
    assert_int_equal(s->n_connected, 0);
}

enum { POSTERS = 3, POSTS_EACH = 2000 };
struct poster {
    struct stage *s;
    uint64_t asked, first_id;
    atomic_bool done;
};

static void *post_from_elsewhere(void *arg)
{
    struct poster *p = arg;
    struct collector_stats stats;
    for (uint64_t i = 0; i < POSTS_EACH; i++) {
        struct err err = {0};
        stage_post_event(p->s, HV_EVENT_LIFECYCLE, HOST_A, GUEST_1, HV_LIFECYCLE_STARTED, 0);
        if (i % 50 == 0 && collector_query_state(p->s->c, p->first_id + i, HOST_A, GUEST_1, &err))
            p->asked++;
        if (i % 100 == 0)
            collector_stats(p->s->c, &stats);
    }
    atomic_store(&p->done, true);
    return NULL;
}

static void posts_from_many_threads_all_arrive(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_step(s);
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];
    for (size_t i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.s = s, .first_id = i * POSTS_EACH};
        assert_int_equal(pthread_create(&threads[i], NULL, post_from_elsewhere, &posters[i]), 0);
    }
    for (size_t i = 0; i < POSTERS; i++)
        while (!atomic_load(&posters[i].done)) {
            collector_wait(s->c, 10);
            (void)collector_step(s->c);
        }
    uint64_t asked = 0;
    for (size_t i = 0; i < POSTERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        asked += posters[i].asked;
    }
    stage_run(s, 15000); /* nobody answers */
    assert_int_equal(s->n_events, POSTERS * POSTS_EACH);
    assert_int_equal(asked, POSTERS * POSTS_EACH / 50);
    assert_int_equal(s->n_observed, asked);
}

static void a_host_can_be_added_while_others_are_queried(void **state)
{
    (void)state;
    OWNED(stage) s = stage_new(NULL, NULL);
    struct err err = {0};
    stage_host(s, HOST_A);
    connect_host(s, HOST_A);
    stage_host(s, HOST_B); /* after the first step: handled with the next */
    connect_host(s, HOST_B);
    assert_int_equal(s->n_connected, 2);
    assert_int_equal(n_list_asks(s), 2);
    assert_true(collector_watch(s->c, "job", HOST_B, GUEST_1, 1, &err));
}

static void a_removed_host_is_forgotten_with_its_queries(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    connect_host(s, HOST_A);
    connect_host(s, HOST_B);
    assert_int_equal(n_list_asks(s), 2);
    assert_true(collector_remove_host(s->c, HOST_B, &err));
    stage_step(s);
    stage_answer_list(s, 3); /* of either host: only one of them is known */
    stage_answer_list(s, 3);
    stage_answer_facts(s);
    stage_answer_facts(s);
    assert_int_equal(s->n_lists, 1);
    assert_int_equal(s->n_facts, 1);
    assert_false(collector_watch(s->c, "job", HOST_B, GUEST_1, 1, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    size_t connected = s->n_connected;
    connect_host(s, HOST_B); /* a late event */
    assert_int_equal(s->n_connected, connected);
    stage_run(s, 120000);
    stage_host(s, HOST_B); /* it returns, in the slot that became free */
    connect_host(s, HOST_B);
    assert_int_equal(s->n_connected, connected + 1);
}

TEST_FILE(test_collector_inventory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_queried_when_it_connects),
        cmocka_unit_test(events_request_a_list_soon_but_not_too_often),
        cmocka_unit_test(lists_come_regularly),
        cmocka_unit_test(a_list_that_fails_is_not_an_empty_list),
        cmocka_unit_test(a_host_that_cannot_list_is_logged_once),
        cmocka_unit_test(a_refused_list_is_retried),
        cmocka_unit_test(a_lost_host_is_not_queried_and_its_late_list_is_ignored),
        cmocka_unit_test(a_list_that_never_comes_times_out),
        cmocka_unit_test(ten_thousand_hosts_are_spread_over_the_interval),
        cmocka_unit_test(a_flood_of_events_loses_no_reply),
        cmocka_unit_test(a_lost_connection_event_is_replaced_by_the_next_list),
        cmocka_unit_test(waiting_returns_when_something_is_posted_and_loses_nothing),
        cmocka_unit_test(host_names_are_unique),
        cmocka_unit_test(posts_from_many_threads_all_arrive),
        cmocka_unit_test(a_host_can_be_added_while_others_are_queried),
        cmocka_unit_test(a_removed_host_is_forgotten_with_its_queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
