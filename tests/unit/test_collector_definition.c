/* test_collector_definition.c - stories of definitions: when they are read, how many at once, and
 * what is given on. */
#include "tests/unit/test_collector_fake.h"

static const char *const one[] = {GUEST_1};
static const char *const both[] = {GUEST_1, GUEST_2};
static const char *const turned[] = {GUEST_2, GUEST_1};

static size_t n_asked(const struct stage *s)
{
    return s->n_of[HV_CALL_GUEST_XML];
}
static void list(struct stage *s, const char *const *uuids, size_t n)
{
    stage_answer_guests(s, uuids, n, HV_STATE_RUNNING, HV_RUNNING_BOOTED);
}
static void lifecycle(struct stage *s, const char *guest, int what)
{
    stage_event(s, HV_EVENT_LIFECYCLE, HOST_A, guest, what, 0);
}
/* Host A, listed once; what it was asked about definitions is still open. */
static struct stage *stage_listed(const char *const *uuids, size_t n)
{
    struct stage *s = stage_two_hosts();
    stage_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    stage_answer_facts(s);
    list(s, uuids, n);
    return s;
}
/* Lets time pass while the host lists the same guests. */
static void live(struct stage *s, int64_t ms, const char *const *uuids, size_t n)
{
    for (int64_t passed = 0; passed < ms; passed += 1000) {
        stage_run(s, 1000);
        while (stage_open(s, HV_CALL_LIST_GUESTS) != NULL)
            list(s, uuids, n);
        while (stage_open(s, HV_CALL_HOST_FACTS) != NULL)
            stage_answer_facts(s);
    }
}

static void a_new_guest_is_read_one_at_a_time(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(both, 2);
    assert_int_equal(n_asked(s), 1);
    assert_string_equal(stage_open(s, HV_CALL_GUEST_XML)->request.guest, GUEST_1);
    stage_answer_definition(s, "<first/>");
    assert_string_equal(s->definition, "host-a 11111111 <first/>");
    assert_int_equal(n_asked(s), 2);
    stage_answer_definition(s, "<second/>");
    assert_string_equal(s->definition, "host-a 22222222 <second/>");
    live(s, 60000, both, 2);
    live(s, 60000, turned, 2); /* the order of a list says nothing */
    assert_int_equal(n_asked(s), 2);
    assert_int_equal(s->n_definitions, 2);
}

static void an_old_reading_is_repeated_and_passed_only_when_it_changed(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(one, 1);
    stage_answer_definition(s, "<same/>");
    live(s, 590000, one, 1);
    assert_int_equal(n_asked(s), 1);
    live(s, 20000, one, 1);
    assert_int_equal(n_asked(s), 2);
    stage_answer_definition(s, "<same/>");
    assert_int_equal(s->n_definitions, 1);
    live(s, 620000, one, 1);
    stage_answer_definition(s, "<other/>");
    assert_int_equal(s->n_definitions, 2);
}

static void an_event_of_a_guest_makes_it_read_again(void **state)
{
    (void)state;
    static const struct {
        int what;
        bool reads;
    } rows[] = {
        {HV_LIFECYCLE_DEFINED, true},    {HV_LIFECYCLE_STARTED, true},
        {HV_LIFECYCLE_RESUMED, true},    {HV_LIFECYCLE_SUSPENDED, false},
        {HV_LIFECYCLE_STOPPED, false},   {HV_LIFECYCLE_SHUTDOWN, false},
        {HV_LIFECYCLE_CRASHED, false},   {HV_LIFECYCLE_PMSUSPENDED, false},
        {HV_LIFECYCLE_UNDEFINED, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(stage) s = stage_listed(one, 1);
        stage_answer_definition(s, "<same/>");
        lifecycle(s, GUEST_1, rows[i].what);
        assert_int_equal(n_asked(s), rows[i].reads ? 2 : 1);
        if (rows[i].reads)
            stage_answer_definition(s, "<same/>");
        assert_int_equal(s->n_definitions, rows[i].reads ? 2 : 1); /* told in any case */
    }
}

static void an_event_during_a_reading_makes_another(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(one, 1);
    lifecycle(s, GUEST_1, HV_LIFECYCLE_STARTED);
    assert_int_equal(n_asked(s), 1);
    stage_answer_definition(s, "<same/>");
    assert_int_equal(n_asked(s), 2);
    stage_answer_definition(s, "<same/>");
    assert_int_equal(s->n_definitions, 2);
    assert_int_equal(n_asked(s), 2);
}

static void a_guest_that_left_and_came_back_is_new(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(both, 2);
    stage_answer_definition(s, "<first/>");
    live(s, 11000, one, 1); /* the second left before its answer came */
    stage_answer_definition(s, "<late/>");
    assert_int_equal(s->n_definitions, 1);
    live(s, 11000, both, 2);
    assert_int_equal(n_asked(s), 3);
    stage_answer_definition(s, "<second/>");
    assert_string_equal(s->definition, "host-a 22222222 <second/>");
}

static void an_incoming_copy_is_not_read(void **state)
{
    (void)state;
    OWNED(stage) s = stage_two_hosts();
    stage_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    stage_answer_guests(s, one, 1, HV_STATE_PAUSED, HV_PAUSED_MIGRATION);
    assert_int_equal(n_asked(s), 0);
    lifecycle(s, GUEST_1, HV_LIFECYCLE_RESUMED); /* it arrived */
    assert_int_equal(n_asked(s), 1);
}

static void a_reading_that_fails_is_retried_with_the_next_list(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(one, 1);
    stage_answer_error(s, HV_CALL_GUEST_XML, ERR_HYPERVISOR, 38);
    assert_int_equal(s->n_definitions, 0);
    live(s, 11000, one, 1);
    assert_int_equal(n_asked(s), 2);
    s->loses_definitions = true; /* the engine had no room */
    stage_answer_definition(s, "<same/>");
    live(s, 11000, one, 1);
    assert_int_equal(n_asked(s), 3);
    s->loses_definitions = false;
    stage_answer_definition(s, "<same/>");
    assert_int_equal(s->n_definitions, 2);
    live(s, 30000, one, 1);
    assert_int_equal(n_asked(s), 3);
}

static void a_definition_query_times_out_after_a_minute(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(both, 2);
    live(s, 59000, both, 2);
    assert_int_equal(n_asked(s), 1);
    live(s, 2000, both, 2);
    assert_int_equal(n_asked(s), 2); /* the other one's turn */
    assert_string_equal(stage_open(s, HV_CALL_GUEST_XML)->request.guest, GUEST_2);
}

static void a_lost_host_is_not_queried(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(both, 2);
    stage_event(s, HV_EVENT_DISCONNECTED, HOST_A, "", 0, 0);
    stage_answer_error(s, HV_CALL_GUEST_XML, ERR_UNREACHABLE, 0);
    assert_int_equal(n_asked(s), 1);
    stage_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    assert_int_equal(n_asked(s), 2);
}

static void definition_queries_are_bounded_and_every_host_gets_a_turn(void **state)
{
    (void)state;
    enum { HOSTS = COLLECTOR_DEFINITIONS_MAX + 10 };
    OWNED(stage) s = stage_new(NULL, NULL);
    for (int i = 0; i < HOSTS; i++) {
        char name[HV_HOST_MAX];
        (void)snprintf(name, sizeof name, "h%d", i);
        stage_host(s, name);
    }
    for (int i = 0; i < HOSTS; i++) {
        char name[HV_HOST_MAX];
        (void)snprintf(name, sizeof name, "h%d", i);
        stage_event(s, HV_EVENT_CONNECTED, name, "", 0, 0);
        list(s, one, 1);
    }
    assert_int_equal(n_asked(s), COLLECTOR_DEFINITIONS_MAX);
    for (int i = 0; i < 10; i++)
        stage_answer_definition(s, "<same/>");
    assert_int_equal(n_asked(s), HOSTS);
    assert_int_equal(stage_n_open(s, HV_CALL_GUEST_XML), COLLECTOR_DEFINITIONS_MAX);
}

static struct stage *stage_persistent(void)
{
    struct stage *s = stage_two_hosts();
    s->lists_persistent = true;
    stage_event(s, HV_EVENT_CONNECTED, HOST_A, "", 0, 0);
    stage_answer_facts(s);
    list(s, both, 2);
    return s;
}

static void a_persistent_guest_is_read_twice_and_passed_once(void **state)
{
    (void)state;
    OWNED(stage) s = stage_persistent();
    stage_answer_definition(s, "<live/>");
    assert_int_equal(s->n_definitions, 0);
    assert_int_equal(n_asked(s), 1); /* the next guest waits for both */
    assert_string_equal(stage_open(s, HV_CALL_GUEST_XML_STORED)->request.guest, GUEST_1);
    stage_answer_stored(s, "<edited/>");
    assert_string_equal(s->definition, "host-a 11111111 <live/> stored <edited/>");
    assert_int_equal(n_asked(s), 2);
    stage_answer_definition(s, "<second/>");
    stage_answer_stored(s, "<second/>");
    assert_int_equal(s->n_definitions, 2);
}

static void a_change_of_either_definition_is_passed_on(void **state)
{
    (void)state;
    static const struct {
        const char *live, *stored;
        bool tells;
    } rows[] = {
        {"<a/>", "<b/>", false},
        {"<a/>", "<c/>", true},
        {"<c/>", "<b/>", true},
        {"<b/>", "<a/>", true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(stage) s = stage_persistent();
        for (int n = 0; n < 2; n++) {
            stage_answer_definition(s, "<a/>");
            stage_answer_stored(s, "<b/>");
        }
        stage_event(s, HV_EVENT_CHANGED, HOST_A, GUEST_1, 0, 0);
        stage_answer_definition(s, rows[i].live);
        stage_answer_stored(s, rows[i].stored);
        assert_int_equal(s->n_definitions, rows[i].tells ? 3 : 2);
        assert_int_equal(s->n_events, 0); /* nobody else's business */
    }
}

static void snapshots_are_passed_with_the_definition_and_read_again_sooner(void **state)
{
    (void)state;
    OWNED(stage) s = stage_persistent();
    s->keeps_snapshots = 2;
    stage_answer_definition(s, "<a/>");
    stage_answer_stored(s, "<b/>");
    assert_int_equal(s->snapshots, 2);
    s->keeps_snapshots = 0;
    stage_answer_definition(s, "<a/>"); /* the other guest, without any */
    stage_answer_stored(s, "<b/>");
    assert_int_equal(s->n_definitions, 2);
    size_t before = n_asked(s);
    live(s, 45000, both, 2); /* long before a definition is old */
    assert_int_equal(n_asked(s), before + 1);
    assert_string_equal(stage_open(s, HV_CALL_GUEST_XML)->request.guest, GUEST_1);
    stage_answer_definition(s, "<a/>"); /* the same texts, and none any more */
    stage_answer_stored(s, "<b/>");
    assert_int_equal(s->n_definitions, 3);
    assert_int_equal(s->snapshots, 0);
    before = n_asked(s);
    live(s, 60000, both, 2);
    assert_int_equal(n_asked(s), before);
}

/* Undefined between the two questions: the live one still counts. */
static void a_refused_second_reading_leaves_the_first(void **state)
{
    (void)state;
    OWNED(stage) s = stage_persistent();
    stage_answer_definition(s, "<live/>");
    stage_answer_error(s, HV_CALL_GUEST_XML_STORED, ERR_NOT_FOUND, 0);
    assert_string_equal(s->definition, "host-a 11111111 <live/>");
    stage_answer_definition(s, "<second/>");
    stage_answer_error(s, HV_CALL_GUEST_XML_STORED, ERR_UNREACHABLE, 0);
    assert_int_equal(s->n_definitions, 1); /* a host that is gone says nothing */
}

static void a_second_reading_that_never_ends_times_out(void **state)
{
    (void)state;
    OWNED(stage) s = stage_persistent();
    stage_answer_definition(s, "<live/>");
    live(s, 59000, both, 2);
    assert_int_equal(n_asked(s), 1);
    live(s, 12000, both, 2);
    assert_int_equal(n_asked(s), 2);
    assert_string_equal(stage_open(s, HV_CALL_GUEST_XML)->request.guest, GUEST_2);
    stage_answer_stored(s, "<late/>");
    assert_int_equal(s->n_definitions, 0);
}

static void a_refused_second_query_passes_the_first_answer(void **state)
{
    (void)state;
    OWNED(stage) s = stage_persistent();
    s->refuse_call = HV_CALL_GUEST_XML_STORED;
    stage_answer_definition(s, "<live/>");
    assert_string_equal(s->definition, "host-a 11111111 <live/>");
    assert_int_equal(n_asked(s), 2);
}

static void a_guest_that_becomes_persistent_is_read_again(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(one, 1);
    stage_answer_definition(s, "<live/>");
    assert_int_equal(s->n_of[HV_CALL_GUEST_XML_STORED], 0);
    s->lists_persistent = true;
    live(s, 11000, one, 1);
    stage_answer_definition(s, "<live/>");
    stage_answer_stored(s, "<live/>");
    assert_string_equal(s->definition, "host-a 11111111 <live/> stored <live/>");
    s->lists_persistent = false;
    live(s, 11000, one, 1);
    stage_answer_definition(s, "<live/>");
    assert_string_equal(s->definition, "host-a 11111111 <live/>");
    assert_int_equal(s->n_definitions, 3);
}

/* A device was plugged in: seen at once, and the list (labels, settings) is read too. */
static void a_change_makes_it_read_at_once(void **state)
{
    (void)state;
    OWNED(stage) s = stage_listed(one, 1);
    stage_answer_definition(s, "<same/>");
    size_t lists = s->n_of[HV_CALL_LIST_GUESTS];
    stage_event(s, HV_EVENT_CHANGED, HOST_A, GUEST_1, 0, 0);
    assert_int_equal(n_asked(s), 2);
    stage_run(s, 600);
    assert_int_equal(s->n_of[HV_CALL_LIST_GUESTS], lists + 1);
    stage_answer_definition(s, "<plugged/>");
    assert_string_equal(s->definition, "host-a 11111111 <plugged/>");
}

TEST_FILE(test_collector_definition)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_persistent_guest_is_read_twice_and_passed_once),
        cmocka_unit_test(a_change_of_either_definition_is_passed_on),
        cmocka_unit_test(a_refused_second_reading_leaves_the_first),
        cmocka_unit_test(snapshots_are_passed_with_the_definition_and_read_again_sooner),
        cmocka_unit_test(a_second_reading_that_never_ends_times_out),
        cmocka_unit_test(a_refused_second_query_passes_the_first_answer),
        cmocka_unit_test(a_guest_that_becomes_persistent_is_read_again),
        cmocka_unit_test(a_change_makes_it_read_at_once),
        cmocka_unit_test(a_new_guest_is_read_one_at_a_time),
        cmocka_unit_test(an_old_reading_is_repeated_and_passed_only_when_it_changed),
        cmocka_unit_test(an_event_of_a_guest_makes_it_read_again),
        cmocka_unit_test(an_event_during_a_reading_makes_another),
        cmocka_unit_test(a_guest_that_left_and_came_back_is_new),
        cmocka_unit_test(an_incoming_copy_is_not_read),
        cmocka_unit_test(a_reading_that_fails_is_retried_with_the_next_list),
        cmocka_unit_test(a_definition_query_times_out_after_a_minute),
        cmocka_unit_test(a_lost_host_is_not_queried),
        cmocka_unit_test(definition_queries_are_bounded_and_every_host_gets_a_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
