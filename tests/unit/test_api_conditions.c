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

/* The Node object says what the host's versions cannot do, as a list and as a condition. */
static void a_node_warns_of_what_its_versions_cannot_do(void **state)
{
    static const struct {
        unsigned long libvirt, qemu;
        const char *status, *reason, *message; /* message: a part */
        const char *first, *side;              /* of the list; NULL: it is empty */
        bool refuses;
    } rows[] = {
        {9000000, 7002022, "False", "NoneKnown", "", NULL, NULL, false},
        {11003000, 10000013, "True", "KnownLimits", "crashes with signal 11",
         "postcopy-resume-kills-target", "target", false},
        {11003000, 11001000, "True", "MigrationRefused", "an argument that QEMU 11.0 removed",
         "postcopy-resume-kills-target", "target", false},
        {13000000, 12000000, "True", "KnownLimits", "newer than the versions",
         "statistics-fail-in-new-states", "source", false},
        {9000000, 11001000, "True", "MigrationRefused", "upgrade its libvirt",
         "cannot-start-a-migration", "source", true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world *world = world_new(600 + i);
        world->nodes[0].facts.libvirt_version = rows[i].libvirt;
        world->nodes[0].facts.hypervisor_version = rows[i].qemu;
        show(*state, world);
        struct answer a = get(*state, "/api/v1/nodes/a");
        const char type[] = "ferry.internal/CapabilityWarnings";
        assert_string_equal(condition(&a, type, "status"), rows[i].status);
        assert_string_equal(condition(&a, type, "reason"), rows[i].reason);
        assert_non_null(strstr(condition(&a, type, "message"), rows[i].message));
        struct json_object *list = json_at(a.json, "status.ferry.warnings");
        assert_int_equal(json_object_array_length(list) == 0, rows[i].first == NULL);
        struct json_object *first = json_object_array_get_idx(list, 0);
        if (first != NULL) {
            assert_string_equal(json_object_get_string(json_at(first, "name")), rows[i].first);
            assert_string_equal(json_object_get_string(json_at(first, "side")), rows[i].side);
            assert_int_equal(json_object_get_boolean(json_at(first, "refuses")), rows[i].refuses);
        }
        answer_fini(&a);
    }
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
        WIRE_TEST(a_node_warns_of_what_its_versions_cannot_do),
        WIRE_TEST(every_condition_of_a_guest_says_since_when),
        WIRE_TEST(a_requirement_turns_true_after_its_grace_and_says_what_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
