/* test_api_overlay.c - what the API shows beside the snapshot's own: annotations that were set on a
 * guest, and the version of each group. */
#include "base/log.h"
#include "exporter/api/api.h"
#include "tests/unit/test_api_http.h"

static const char *annotation(const struct answer *a, const char *key)
{
    struct json_object *all = json_at(a->json, "metadata.annotations");
    const char *value = json_object_get_string(json_object_object_get(all, key));
    return value == NULL ? "" : value;
}

/* vm1 has annotations of Ferry's own, vm2 has none. */
static void annotations_of_an_overlay_are_shown_beside_ferrys_own(void **state)
{
    struct rig *rig = *state;
    struct world *world = world_new(43);
    const char *const note = "{\"annotations\":{\"note\":\"mine\"}}";
    (void)world_put(world, OBJECT_GUEST, "default", "vm1", "{}", note);
    (void)world_put(world, OBJECT_GUEST, "default", "vm2", "{}", note);
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    struct answer a = get(*state, VMI_PATH "/vm1");
    assert_string_equal(annotation(&a, "note"), "mine");
    assert_non_null(strstr(annotation(&a, "ferry.internal/reasons"), "SEVNotLiveMigratable"));
    answer_fini(&a);
    a = get(*state, VMI_PATH "/vm2");
    assert_string_equal(annotation(&a, "note"), "mine");
    assert_string_equal(annotation(&a, "ferry.internal/reasons"), "");
    answer_fini(&a);
}

/* Law: of every group, the parts of groupVersion and the one version that is preferred. */
static void every_group_prefers_its_only_version(void **state)
{
    struct answer a = get(*state, "/apis");
    struct json_object *list = json_at(a.json, "groups");
    assert_true(json_object_array_length(list) > 0);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *group = json_object_array_get_idx(list, i);
        char whole[160];
        (void)snprintf(whole, sizeof whole, "%s/%s", json_object_get_string(json_at(group, "name")),
                       json_object_get_string(json_at(group, "preferredVersion.version")));
        assert_string_equal(json_object_get_string(json_at(group, "preferredVersion.groupVersion")),
                            whole);
        assert_int_equal(json_object_array_length(json_at(group, "versions")), 1);
        assert_true(
            json_object_equal(json_at(group, "versions.0"), json_at(group, "preferredVersion")));
    }
    answer_fini(&a);
}

TEST_FILE(test_api_overlay)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(annotations_of_an_overlay_are_shown_beside_ferrys_own,
                                        rig_up, rig_down),
        cmocka_unit_test_setup_teardown(every_group_prefers_its_only_version, rig_up, rig_down),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api overlay", tests, NULL, NULL);
}
