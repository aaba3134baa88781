/* test_drain_status.c - a drain as a document: what is refused, what is shown, what a plan says. */
#include "tests/unit/test_drain_laws.h"

/* ---- the spec ---- */

static const struct {
    const char *spec, *error; /* NULL: it is fine */
} specs[] = {
    {"{\"nodeName\":\"n1\"}", NULL},
    {"{\"nodeName\":\"n1\",\"deadlineSeconds\":0,\"retryBudget\":100,\"shutdown\":false}", NULL},
    {"", "spec: "},
    {"[]", "spec: expected an object"},
    {"{}", "spec.nodeName: must name"},
    {"{\"nodeName\":\"\"}", "spec.nodeName: must name"},
    {"{\"nodeName\":7}", "spec.nodeName: expected a string"},
    {"{\"nodeName\":\"0123456789012345678901234567890123456789012345678901234567890123\"}",
     "spec.nodeName: too long"},
    {"{\"nodeName\":\"n1\",\"deadlineSeconds\":-1}", "spec.deadlineSeconds: must be 0 to"},
    {"{\"nodeName\":\"n1\",\"deadlineSeconds\":\"1h\"}", "spec.deadlineSeconds: expected"},
    {"{\"nodeName\":\"n1\",\"deadlineSeconds\":31622401}", "spec.deadlineSeconds: must be 0 to"},
    {"{\"nodeName\":\"n1\",\"retryBudget\":0}", "spec.retryBudget: must be 1 to 100, is 0"},
    {"{\"nodeName\":\"n1\",\"retryBudget\":101}", "spec.retryBudget: must be 1 to 100"},
    {"{\"nodeName\":\"n1\",\"shutdown\":\"yes\"}", "spec.shutdown: expected"},
    {"{\"nodeName\":\"n1\",\"shutDown\":true}", "spec.shutDown: unknown field"},
};

static void a_spec_is_understood_or_the_field_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(specs); i++) {
        struct err err = {0};
        OWNED(drain) drain = drain_parse(specs[i].spec, NULL, 1000, &err);
        assert_int_equal(drain != NULL, specs[i].error == NULL);
        if (drain != NULL)
            continue;
        assert_int_equal(err.code, ERR_UNPROCESSABLE);
        if (!text_has_prefix(err.text, specs[i].error))
            fail_msg("%s: %s", specs[i].spec, err.text);
    }
}

static void what_is_not_said_has_a_default(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(drain) plain = drain_parse(PLAIN, NULL, 1500, &err);
    assert_int_equal(plain->retry_budget, 3);
    assert_int_equal(plain->deadline_ms, 0);
    assert_false(plain->shutdown);
    assert_int_equal(plain->state, DRAIN_DRAINING);
    OWNED(drain)
    full = drain_parse("{\"nodeName\":\"n1\",\"deadlineSeconds\":60,\"retryBudget\":5,"
                       "\"shutdown\":true}",
                       NULL, 1500, &err);
    assert_int_equal(full->retry_budget, 5);
    assert_int_equal(full->deadline_ms, 61500);
    assert_true(full->shutdown);
}

static void a_damaged_status_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"state\":\"Draining\",\"since\":\"yesterday\"}",
        "{\"state\":\"Draining\",\"guests\":{}}",
        "{\"state\":\"Draining\",\"guests\":[{}]}",
        "{\"state\":\"Draining\",\"guests\":[7]}",
        "{\"state\":\"Draining\",\"guests\":[{\"uuid\":\"u\",\"state\":\"Bored\"}]}",
        "{\"state\":\"Draining\",\"guests\":[{\"uuid\":\"u\",\"state\":\"Moved\",\"attempts\":-1}]"
        "}",
        "{\"state\":\"Draining\",\"guests\":[{\"uuid\":\"u\",\"state\":\"Moved\",\"reason\":\"?\"}]"
        "}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct err err = {0};
        if (drain_parse(PLAIN, texts[i], 1000, &err) != NULL)
            fail_msg("%s", texts[i]);
        assert_int_equal(err.code, ERR_UNPROCESSABLE);
        assert_true(text_has_prefix(err.text, "status"));
    }
}

/* ---- names ---- */

static void every_row_has_its_own_name_and_every_block_a_way_out(void **state)
{
    (void)state;
    for (unsigned a = 0; a < DRAIN_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(drain_state_name(a), drain_state_name(b));
    for (unsigned a = 0; a < DRAIN_GUEST_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(drain_guest_state_name(a), drain_guest_state_name(b));
    for (unsigned a = 0; a < BLOCK_COUNT; a++) {
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(block_name(a), block_name(b));
        assert_int_equal(block_unblock(a)[0] != '\0', a != BLOCK_NONE);
        assert_int_equal(block_help(a)[0] != '\0', a != BLOCK_NONE);
    }
    assert_false(drain_is_final(DRAIN_DRAINING) || drain_is_final(DRAIN_BLOCKED));
    assert_true(drain_is_final(DRAIN_SUCCEEDED) && drain_is_final(DRAIN_FAILED) &&
                drain_is_final(DRAIN_CANCELLED));
}

static void any_state_of_any_guest_is_read_back(void **state)
{
    (void)state;
    struct object object = {.spec_json = strdup(SHUTDOWN), .created_ms = 5000};
    struct err err = {0};
    OWNED(drain) drain = drain_parse(SHUTDOWN, NULL, 5000, &err);
    struct drain_guest guest = {.unmovable = UNMOVABLE_COUNT, .attempts = 2};
    TEXT_SET(guest.name, "vm \"x\"");
    TEXT_SET(guest.ns, "ns");
    TEXT_SET(guest.message, "caf\xc3\xa9");
    for (unsigned i = 0; i < (unsigned)DRAIN_GUEST_COUNT * BLOCK_COUNT; i++) {
        (void)snprintf(guest.uuid, sizeof guest.uuid, "u%u", i);
        guest.state = i % DRAIN_GUEST_COUNT;
        guest.block = i / DRAIN_GUEST_COUNT;
        guest.unmovable =
            guest.block == BLOCK_NOT_MIGRATABLE ? i % UNMOVABLE_COUNT : UNMOVABLE_COUNT;
        guest.memory_kib = 1000 - i;
        guest.expected_ms = i * 100;
        assert_true(drain_add_guest(drain, &guest));
    }
    drain_order(drain);
    object.drain = drain;
    for (unsigned i = 0; i < DRAIN_COUNT; i++) {
        drain->state = i;
        object.status_json = drain_status(drain);
        assert_parses_back(&object);
        free(object.status_json);
    }
    free(object.spec_json);
}

/* ---- bounds ---- */

static void a_full_drain_forgets_those_that_moved(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(drain) drain = drain_parse(PLAIN, NULL, 0, &err);
    struct drain_guest guest = {.unmovable = UNMOVABLE_COUNT};
    for (unsigned i = 0; i < DRAIN_GUESTS_MAX; i++) {
        (void)snprintf(guest.uuid, sizeof guest.uuid, "%u", i);
        guest.state = i < 10 ? DRAIN_GUEST_MOVED : DRAIN_GUEST_BLOCKED;
        assert_true(drain_add_guest(drain, &guest));
    }
    drain_order(drain);
    for (unsigned i = 0; i < 10; i++) {
        (void)snprintf(guest.uuid, sizeof guest.uuid, "new%u", i);
        assert_true(drain_add_guest(drain, &guest));
    }
    assert_false(drain_add_guest(drain, &guest));
    drain_order(drain);
    assert_int_equal(drain->n, DRAIN_GUESTS_MAX);
    assert_non_null(drain_find(drain, "new9"));
    assert_non_null(drain_find(drain, "10"));
    assert_null(drain_find(drain, "9"));
    assert_null(drain_find(drain, "no such"));
}

/* ---- how long it takes ---- */

static void the_pace_so_far_tells_how_long_the_rest_takes(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "a", 256, MOVES);
    world_up(&w, 0, "b", 512, MOVES);
    world_up(&w, 0, "c", 1024, MOVES);
    world_up(&w, 0, "stays", 4096, STAYS);
    drain_n1(&w, PLAIN);
    assert_int_equal(drain_eta_s(w.drain->drain), -1);
    assert_non_null(strstr(w.drain->status_json, "\"etaSeconds\":null"));
    world_move(&w, "a", 1); /* ten seconds for 256 MiB */
    advance(&w);
    assert_int_equal(drain_eta_s(w.drain->drain), 60);
    world_sleep(&w, 5000);
    advance(&w);
    assert_non_null(strstr(w.drain->status_json, "\"etaSeconds\":60"));
    world_move(&w, "b", 1);
    advance(&w);
    world_move(&w, "c", 1);
    advance(&w);
    assert_int_equal(drain_eta_s(w.drain->drain), -1); /* what is left does not move */
    world_free(&w);
}

/* ---- the plan ---- */

static struct json_object *plan_of(struct world *w, const char *node, bool shutdown)
{
    struct err err = {0};
    uint64_t version = w->f->version, hash = fleet_hash(w->f);
    OWNED_TEXT text = drain_plan(w->f, node, shutdown, w->now, &err);
    assert_non_null(text);
    assert_int_equal(w->f->version, version);
    assert_int_equal(fleet_hash(w->f), hash);
    struct json_object *plan = json_parse(text, strlen(text), "plan", &err);
    assert_non_null(plan);
    return plan;
}

static void assert_planned(struct json_object *plan, size_t i, const char *field, const char *text)
{
    char path[64];
    const char *found;
    struct err err = {0};
    (void)snprintf(path, sizeof path, "guests.%zu.%s", i, field);
    assert_true(json_get_text(plan, path, "", &found, &err));
    assert_string_equal(found, text);
}

static void a_plan_says_who_would_go_where_and_changes_nothing(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "big", 2048, MOVES);
    world_up(&w, 0, "small", 256, MOVES);
    world_up(&w, 0, "stays", 1024, STAYS);
    world_up(&w, 0, "huge", 4096, MOVES);
    world_node(&w, 1)->facts.memory_kib = 3 * 1024 * MIB_KIB;
    world_node(&w, 2)->facts.memory_kib = 1 * MIB_KIB;
    OWNED(json_object) plan = plan_of(&w, "n1", false);
    assert_planned(plan, 0, "name", "small");
    assert_planned(plan, 0, "state", "Waiting");
    assert_planned(plan, 0, "target", "n2");
    assert_planned(plan, 1, "name", "stays");
    assert_planned(plan, 1, "state", "Blocked");
    assert_planned(plan, 1, "reason", "StrategyNone");
    assert_planned(plan, 2, "target", "n2");
    assert_planned(plan, 3, "name", "huge");
    assert_planned(plan, 3, "target", "");
    assert_planned(plan, 3, "state", "Blocked");
    assert_planned(plan, 3, "reason", "Unschedulable");
    assert_int_equal(world_node(&w, 1)->reserved.memory_kib, 0);
    assert_int_equal(world_node(&w, 1)->reserved.launchers, 0);
    assert_false(world_node(&w, 0)->cordoned);
    assert_null(w.f->jobs);
    assert_null(w.f->objects);
    OWNED(json_object) with_shutdown = plan_of(&w, "n1", true);
    assert_planned(with_shutdown, 1, "state", "Stopping");
    world_free(&w);
}

static void a_plan_promises_no_memory_twice(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "a", 2048, MOVES);
    world_up(&w, 0, "b", 2048, MOVES);
    world_up(&w, 0, "c", 2048, MOVES);
    world_node(&w, 1)->facts.memory_kib = 3 * 1024 * MIB_KIB;
    world_node(&w, 2)->facts.memory_kib = 3 * 1024 * MIB_KIB;
    OWNED(json_object) plan = plan_of(&w, "n1", false);
    const char *one, *other;
    struct err err = {0};
    assert_true(json_get_text(plan, "guests.0.target", "", &one, &err));
    assert_true(json_get_text(plan, "guests.1.target", "", &other, &err));
    assert_string_not_equal(one, other);
    assert_planned(plan, 2, "target", "");
    assert_planned(plan, 2, "state", "Waiting"); /* a node may have room later */
    world_free(&w);
}

static void a_plan_promises_nothing_that_quota_or_admission_would_refuse(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 0, "small", 256, MOVES);
    struct guest *guest = world_node(&w, 0)->domains->guest;
    struct object quota = {.quota = quota_parse("{\"hard\":{\"launchers\":1}}", &err)};
    assert_non_null(quota.quota);
    TEXT_SET(quota.name, "tight");
    guest->namespace->quotas = &quota;
    struct json_object *plan = plan_of(&w, "n1", false);
    assert_planned(plan, 0, "target", "");
    assert_planned(plan, 0, "state", "Waiting");
    assert_planned(plan, 0, "message",
                   "exceeded quota: tight, requested: launchers=1, used: launchers=1, limited: "
                   "launchers=1");
    json_object_free(plan);
    guest->namespace->quotas = NULL;
    quota_free(quota.quota);
    w.f->store_ok = false;
    plan = plan_of(&w, "n1", false);
    assert_planned(plan, 0, "target", "");
    assert_planned(plan, 0, "message", "the store is not writable");
    json_object_free(plan);
    world_free(&w);
}

static void a_plan_of_no_node_is_not_found(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    assert_null(drain_plan(w.f, "n9", false, w.now, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    world_free(&w);
}

TEST_FILE(test_drain_status)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_is_understood_or_the_field_is_named),
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(a_damaged_status_is_refused),
        cmocka_unit_test(every_row_has_its_own_name_and_every_block_a_way_out),
        cmocka_unit_test(any_state_of_any_guest_is_read_back),
        cmocka_unit_test(a_full_drain_forgets_those_that_moved),
        cmocka_unit_test(the_pace_so_far_tells_how_long_the_rest_takes),
        cmocka_unit_test(a_plan_says_who_would_go_where_and_changes_nothing),
        cmocka_unit_test(a_plan_promises_no_memory_twice),
        cmocka_unit_test(a_plan_promises_nothing_that_quota_or_admission_would_refuse),
        cmocka_unit_test(a_plan_of_no_node_is_not_found),
    };
    return cmocka_run_group_tests_name("drain-status", tests, NULL, NULL);
}
