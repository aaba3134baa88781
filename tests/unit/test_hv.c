/* test_hv.c - laws of the hypervisor port's tables and of its three interfaces. */
#include "tests/test.h"

#include "hypervisor/act.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"

static void every_call_has_a_unique_name_an_access_and_a_lane(void **state)
{
    (void)state;
    for (enum hv_call call = 0; call < HV_CALL_COUNT; call++) {
        assert_non_null(hv_call_name(call));
        assert_true(hv_call_access(call) < HV_ACCESS_COUNT);
        assert_true(hv_call_lane(call) < HV_LANE_COUNT);
        for (enum hv_call other = 0; other < call; other++)
            assert_string_not_equal(hv_call_name(call), hv_call_name(other));
    }
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++) {
        assert_non_null(hv_lane_name(lane));
        for (enum hv_lane other = 0; other < lane; other++)
            assert_string_not_equal(hv_lane_name(lane), hv_lane_name(other));
    }
}

/* Lanes that serve observers have read-only connections, so an order there would fail. */
static void orders_and_queries_never_share_a_lane(void **state)
{
    (void)state;
    for (enum hv_call a = 0; a < HV_CALL_COUNT; a++)
        for (enum hv_call b = 0; b < HV_CALL_COUNT; b++)
            if (hv_call_lane(a) == hv_call_lane(b))
                assert_int_equal(hv_call_access(a), hv_call_access(b));
}

static void only_migrate_uses_the_lane_of_calls_that_last_minutes(void **state)
{
    (void)state;
    for (enum hv_call call = 0; call < HV_CALL_COUNT; call++)
        assert_int_equal(hv_call_lane(call) == HV_LANE_MIGRATE, call == HV_CALL_MIGRATE);
}

static void states_and_reasons_have_libvirts_names(void **state)
{
    (void)state;
    static const struct {
        int state, reason;
        const char *text;
    } stories[] = {
        {HV_STATE_RUNNING, HV_RUNNING_BOOTED, "running(booted)"},
        {HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED, "running(postcopy-failed)"},
        {HV_STATE_PAUSED, HV_PAUSED_MIGRATION, "paused(migration)"},
        {HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED, "paused(postcopy-failed)"},
        {HV_STATE_SHUTOFF, HV_SHUTOFF_MIGRATED, "shutoff(migrated)"},
        {HV_STATE_CRASHED, 0, "crashed(unknown)"},
        {HV_STATE_PAUSED, 99, "paused(unknown-99)"},
        {42, 7, "unknown-42(unknown-7)"},
        {-1, -1, "unknown--1(unknown--1)"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        char text[HV_TEXT_MAX];
        hv_state_text(stories[i].state, stories[i].reason, text);
        assert_string_equal(text, stories[i].text);
    }
    assert_string_equal(hv_state_name(42), "unknown");
    assert_string_equal(hv_reason_name(HV_STATE_RUNNING, 99), "unknown");
    assert_string_equal(hv_lifecycle_name(HV_LIFECYCLE_CRASHED), "crashed");
    assert_string_equal(hv_lifecycle_name(HV_LIFECYCLE_CRASHED + 1), "unknown");
    assert_string_equal(hv_lifecycle_name(-1), "unknown");
    assert_string_equal(hv_presence_name(HV_ABSENT), "absent");
    assert_string_equal(hv_presence_name(HV_UNREACHABLE), "unreachable");
}

/* A port that only counts. */
struct counter {
    struct hv hv;
    unsigned submitted, freed;
    enum hv_call last;
};

static bool count_submit(void *impl, const struct hv_request *request, struct err *err)
{
    struct counter *counter = impl;
    counter->submitted++;
    counter->last = request->call;
    if (request->host[0] == '\0')
        return err_set(err, ERR_NOT_FOUND, "no host");
    return true;
}

static bool count_status(void *impl, const char *host, enum hv_lane lane,
                         struct hv_lane_status *out_status)
{
    (void)impl;
    *out_status = (struct hv_lane_status){.workers = lane};
    return *host != '\0';
}

static void count_free(void *impl)
{
    ((struct counter *)impl)->freed++;
}

static void ignore_reply(void *ctx, struct hv_reply *take_reply)
{
    (void)ctx;
    hv_reply_fini(take_reply);
}

static const struct hv_ops counting = {count_submit, count_status, count_free};
static const struct hv_ops nobodys = {count_submit, count_status, NULL};

static void each_interface_accepts_its_own_calls(void **state)
{
    (void)state;
    struct counter counter = {.hv = {&counting, NULL}};
    counter.hv.impl = &counter;
    struct hv_observe observe = {&counter.hv};
    struct hv_probe probe = {&counter.hv};
    struct hv_act act = {&counter.hv};
    for (enum hv_call call = 0; call < HV_CALL_COUNT; call++) {
        struct hv_request request = {.call = call, .host = "h1", .reply_to = {ignore_reply, NULL}};
        struct err err = {0};
        bool sent = false;
        switch (hv_call_access(call)) {
        case HV_ACCESS_OBSERVE: sent = hv_observe_submit(&observe, &request, &err); break;
        case HV_ACCESS_PROBE: sent = hv_probe_submit(&probe, &request, &err); break;
        default: sent = hv_act_submit(&act, &request, &err);
        }
        assert_true(sent);
        assert_int_equal(counter.last, call);
    }
    assert_int_equal(counter.submitted, HV_CALL_COUNT);
}

static void refusals_and_status_come_from_the_implementation(void **state)
{
    (void)state;
    struct counter counter = {.hv = {&counting, NULL}};
    counter.hv.impl = &counter;
    struct hv_observe observe = {&counter.hv};
    struct hv_request request = {.call = HV_CALL_DOMAIN_STATE, .reply_to = {ignore_reply, NULL}};
    struct err err = {0};
    assert_false(hv_observe_submit(&observe, &request, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    struct hv_lane_status status;
    assert_false(hv_lane_status(&counter.hv, "", HV_LANE_STATS, &status));
    assert_true(hv_lane_status(&counter.hv, "h1", HV_LANE_STATS, &status));
    assert_int_equal(status.workers, HV_LANE_STATS);
}

static void free_calls_the_implementation_and_accepts_null(void **state)
{
    (void)state;
    struct counter counter = {.hv = {&counting, NULL}};
    counter.hv.impl = &counter;
    hv_free(NULL);
    hv_free(&counter.hv);
    assert_int_equal(counter.freed, 1);
    counter.hv.ops = &nobodys; /* somebody else owns it, as with the simulator */
    hv_free(&counter.hv);
    assert_int_equal(counter.freed, 1);
}

/* The sanitizer is the judge: nothing leaks, nothing is freed twice. */
static void fini_frees_what_the_call_answers_with(void **state)
{
    (void)state;
    hv_reply_fini(NULL);
    hv_guest_list_free(NULL);
    for (enum hv_call call = 0; call < HV_CALL_COUNT; call++) {
        struct hv_reply failed = {.call = call, .err = {.code = ERR_UNREACHABLE}};
        hv_reply_fini(&failed);
    }
    struct hv_reply xml = {.call = HV_CALL_GUEST_XML, .with.text = strdup("<domain/>")};
    hv_reply_fini(&xml);
    assert_null(xml.with.text);
    hv_reply_fini(&xml);

    struct hv_guest_list *list = calloc(1, sizeof *list);
    list->guests = calloc(2, sizeof *list->guests);
    list->n = 2;
    list->guests[1].labels = strdup("{\"app\":\"db\"}");
    list->guests[1].settings = strdup("{\"nodeSelector\":{\"zone\":\"a\"}}");
    struct hv_reply guests = {.call = HV_CALL_LIST_GUESTS, .with.guests = list};
    hv_reply_fini(&guests);
    assert_null(guests.with.guests);

    struct hv_reply stored = {.call = HV_CALL_GUEST_XML_STORED, .with.text = strdup("<domain/>")};
    hv_reply_fini(&stored);
    assert_null(stored.with.text);

    struct hv_reply offer = {.call = HV_CALL_HOST_CAPABILITIES,
                             .with.capabilities = calloc(1, sizeof(struct hv_capabilities))};
    offer.with.capabilities->machines = calloc(1, sizeof(struct hv_machine));
    offer.with.capabilities->networks = calloc(1, sizeof(struct hv_network));
    offer.with.capabilities->bridges = calloc(1, sizeof(struct hv_bridge));
    offer.with.capabilities->pools = calloc(1, sizeof(struct hv_pool));
    hv_reply_fini(&offer);
    assert_null(offer.with.capabilities);
    hv_reply_fini(&offer);

    struct hv_reply stats = {.call = HV_CALL_JOB_STATS, .with.stats = {.data_total = UINT64_MAX}};
    hv_reply_fini(&stats);
    assert_true(stats.with.stats.data_total == UINT64_MAX);
}

TEST_FILE(test_hv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_has_a_unique_name_an_access_and_a_lane),
        cmocka_unit_test(orders_and_queries_never_share_a_lane),
        cmocka_unit_test(only_migrate_uses_the_lane_of_calls_that_last_minutes),
        cmocka_unit_test(states_and_reasons_have_libvirts_names),
        cmocka_unit_test(each_interface_accepts_its_own_calls),
        cmocka_unit_test(refusals_and_status_come_from_the_implementation),
        cmocka_unit_test(free_calls_the_implementation_and_accepts_null),
        cmocka_unit_test(fini_frees_what_the_call_answers_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
