/* test_collector_state_query.c - stories of looks: one question, exactly one honest answer. */
#include "tests/unit/test_collector_fake.h"

static void a_state_query_is_answered_with_the_observation(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    assert_true(collector_query_state(s->c, 77, HOST_B, GUEST_1, &err));
    stage_step(s);
    stage_answer_state(s, HV_ABSENT, 0, 0);
    assert_int_equal(s->n_observed, 1);
    assert_int_equal(s->observed[0].id, 77);
    assert_string_equal(s->observed[0].host, HOST_B);
    assert_int_equal(s->observed[0].observation.presence, HV_ABSENT);
    assert_int_equal(s->observed[0].code, ERR_NONE);
}

/* A number that a later libvirt invents is handed on, and counted. */
static void unknown_statuses_are_counted(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct collector_stats stats;
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        assert_true(collector_query_state(s->c, 1, HOST_A, GUEST_1, &err));
        stage_step(s);
        struct stage_ask *a = stage_open(s, HV_CALL_DOMAIN_STATE);
        struct hv_reply reply = stage_reply(s, a);
        reply.with.observation = (struct hv_observation){.presence = HV_PRESENT,
                                                         .state = i == 0 ? HV_STATE_RUNNING : 99,
                                                         .job_type = i == 0 ? -1 : 77,
                                                         .job_operation = i == 0 ? 0 : 88};
        stage_send(a, &reply);
        stage_step(s);
        collector_stats(s->c, &stats);
        for (size_t kind = 0; kind < COUNT(stats.unknown_statuses); kind++)
            assert_int_equal(stats.unknown_statuses[kind], i);
    }
    assert_int_equal(s->observed[1].observation.state, 99);
}

static void an_error_never_means_absent(void **state)
{
    (void)state;
    static const struct {
        enum err_code code;
        enum hv_presence presence;
    } rows[] = {
        {ERR_UNREACHABLE, HV_UNREACHABLE},
        {ERR_LIMIT, HV_UNREACHABLE},
        {ERR_NOT_FOUND, HV_UNREACHABLE},
        {ERR_HYPERVISOR, HV_UNKNOWN},
    };
    OWNED(stage) s = stage_two_hosts();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        assert_true(collector_query_state(s->c, i, HOST_A, GUEST_1, &err));
        stage_step(s);
        struct stage_ask *a = stage_open(s, HV_CALL_DOMAIN_STATE);
        struct hv_reply reply = stage_reply(s, a);
        err_set(&reply.err, rows[i].code, "scripted");
        reply.with.observation.presence = HV_ABSENT; /* a careless implementation */
        stage_send(a, &reply);
        stage_step(s);
        assert_int_equal(s->n_observed, i + 1);
        assert_int_equal(s->observed[i].observation.presence, rows[i].presence);
        assert_int_equal(s->observed[i].code, rows[i].code);
    }
}

static void a_state_query_is_answered_exactly_once_in_every_case(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    s->refuse_call = HV_CALL_DOMAIN_STATE;
    assert_true(collector_query_state(s->c, 1, HOST_A, GUEST_1, &err));
    stage_step(s);
    assert_int_equal(s->n_observed, 1);
    assert_int_equal(s->observed[0].observation.presence, HV_UNREACHABLE);
    assert_int_equal(s->observed[0].code, ERR_LIMIT);

    s->refuse_call = -1;
    assert_true(collector_query_state(s->c, 2, HOST_A, GUEST_1, &err));
    stage_run(s, 14999);
    assert_int_equal(s->n_observed, 1);
    stage_run(s, 1);
    assert_int_equal(s->n_observed, 2);
    assert_int_equal(s->observed[1].id, 2);
    assert_int_equal(s->observed[1].observation.presence, HV_UNREACHABLE);
    assert_int_equal(s->observed[1].code, ERR_UNREACHABLE);
    assert_true(
        collector_query_state(s->c, 3, HOST_A, GUEST_1, &err)); /* takes the slot of look 2 */
    stage_step(s);
    s->asks[1].answered = true; /* so that the next answer is for look 2 */
    stage_answer_state(s, HV_PRESENT, HV_STATE_RUNNING, 0);
    assert_int_equal(s->n_observed, 2);
    stage_run(s, 15000);
    assert_int_equal(s->n_observed, 3);
}

static void state_queries_are_bounded(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    for (uint64_t i = 0; i < COLLECTOR_STATE_QUERIES_MAX; i++)
        assert_true(collector_query_state(s->c, i, HOST_A, GUEST_1, &err));
    assert_false(collector_query_state(s->c, 9999, HOST_A, GUEST_1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    stage_step(s);
    stage_answer_state(s, HV_ABSENT, 0, 0);
    err = (struct err){0};
    assert_true(collector_query_state(s->c, 9999, HOST_A, GUEST_1, &err));
}

static void state_queries_expire_each_at_its_own_time(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    struct err err = {0};
    assert_true(collector_query_state(s->c, 1, HOST_A, GUEST_1, &err));
    stage_run(s, 10000);
    assert_true(collector_query_state(s->c, 2, HOST_A, GUEST_1, &err));
    stage_run(s, 4600);
    assert_int_equal(collector_step(s->c), 400); /* it knows when to wake */
    stage_run(s, 400);
    assert_int_equal(s->n_observed, 1);
    assert_int_equal(s->observed[0].id, 1);
    stage_run(s, 9999);
    assert_int_equal(s->n_observed, 1);
    stage_run(s, 1);
    assert_int_equal(s->observed[1].id, 2);
}

TEST_FILE(test_collector_state_query)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_query_is_answered_with_the_observation),
        cmocka_unit_test(unknown_statuses_are_counted),
        cmocka_unit_test(an_error_never_means_absent),
        cmocka_unit_test(a_state_query_is_answered_exactly_once_in_every_case),
        cmocka_unit_test(state_queries_are_bounded),
        cmocka_unit_test(state_queries_expire_each_at_its_own_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
