/* test_api_conditions.c - the conditions of a guest: what they say, and since when. */
#include "base/log.h"
#include "exporter/api/api.h"
#include "tests/unit/test_api_http.h"

static void show(struct rig *rig, struct world *take_world)
{
    show_snapshot(rig->x, &take_world->snapshot);
    snapshot_unref(&take_world->snapshot);
}

/* A field of one of vm2's conditions; empty: it has none. */
static const char *condition(const struct answer *a, const char *type, const char *field)
{
    struct json_object *list = json_at(a->json, "status.conditions");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const char *is = json_object_get_string(json_at(one, "type"));
        struct json_object *value = strcmp(is, type) == 0 ? json_at(one, field) : NULL;
        if (value != NULL)
            return json_object_get_string(value);
    }
    return "";
}

static void a_requirement_turns_true_after_its_grace_and_says_what_helps(void **state)
{
    static const struct {
        bool is_due, cures;
        const char *todo, *status, *reason, *message;
    } rows[] = {
        {false, true, NULL, "False", "AutoMigrationPending", "interface moved"},
        {true, true, NULL, "True", "AutoMigrationDueToLiveUpdate", "interface moved"},
        {false, false, "restart it", "False", "NotCuredByMigration", "interface moved; restart it"},
        {true, false, "restart it", "True", "NotCuredByMigration", "interface moved; restart it"},
        {true, true, "attach it", "True", "AutoMigrationDueToLiveUpdate",
         "interface moved; attach it"}, /* one of two is cured */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world *world = world_new(300 + i);
        struct snapshot_guest *guest = &world->guests[1];
        guest->change_is_due = rows[i].is_due;
        guest->pending_change.cures = rows[i].cures;
        guest->pending_change.todo = rows[i].todo;
        show(*state, world);
        struct answer a = get(*state, VMI_PATH "/vm2");
        assert_string_equal(condition(&a, "MigrationRequired", "status"), rows[i].status);
        assert_string_equal(condition(&a, "MigrationRequired", "reason"), rows[i].reason);
        assert_string_equal(condition(&a, "MigrationRequired", "message"), rows[i].message);
        assert_string_equal(condition(&a, "MigrationRequired", "lastTransitionTime"),
                            "2025-11-16T05:07:34Z");
        answer_fini(&a);
    }
}

static void every_condition_of_a_guest_says_since_when(void **state)
{
    static const char *const types[CONDITION_COUNT] = {
        "Ready",  "LiveMigratable",    "StorageLiveMigratable",
        "Paused", "EvictionRequested", "ferry.internal/NodeSelectorMet"};
    for (int movable = 0; movable < 2; movable++) {
        struct world *world = world_new(310 + (uint64_t)movable);
        struct snapshot_guest *guest = &world->guests[1];
        guest->state = HV_STATE_PAUSED;
        guest->migratable =
            (struct migratable){.known = true, .rows = movable ? 0 : 1U << UNMOVABLE_HOST_DEVICE};
        for (int c = 0; c < CONDITION_COUNT; c++)
            guest->since_ms[c] = world_wall_ms - c * 1000;
        show(*state, world);
        struct answer a = get(*state, VMI_PATH "/vm2");
        for (int c = 0; c < CONDITION_COUNT; c++) {
            char want[32];
            (void)snprintf(want, sizeof want, "2025-11-16T05:07:%02dZ", 39 - c);
            assert_string_equal(condition(&a, types[c], "lastTransitionTime"), want);
        }
        answer_fini(&a);
    }
}

TEST_FILE(test_api_conditions)
{
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)
    const struct CMUnitTest tests[] = {
        WIRE_TEST(every_condition_of_a_guest_says_since_when),
        WIRE_TEST(a_requirement_turns_true_after_its_grace_and_says_what_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
