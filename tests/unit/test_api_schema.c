/* test_api_schema.c - `kubectl explain`: each member of each object that is shown has a schema with
 * a sentence. */
#include "tests/unit/test_api_http.h"

#include "exporter/api/api_schema.h"

/* Paths of labels and the like end where the map begins. */
static bool is_map(struct json_object *schema, const char *path)
{
    char below[512];
    (void)snprintf(below, sizeof below, "%s.anything", path);
    return api_schema_has(schema, below);
}

static void expect_all(struct json_object *schema, const char *kind, struct json_object *value,
                       const char *path)
{
    if (*path != '\0' && !api_schema_has(schema, path))
        fail_msg("%s: properties.def has no %s", kind, path);
    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            char item[512];
            (void)snprintf(item, sizeof item, "%s.*", path);
            expect_all(schema, kind, json_object_array_get_idx(value, i), item);
        }
        return;
    }
    if (!json_object_is_type(value, json_type_object) || (*path != '\0' && is_map(schema, path)))
        return;
    json_object_object_foreach(value, key, member)
    {
        char inner[512];
        (void)snprintf(inner, sizeof inner, "%s%s%s", path, *path == '\0' ? "" : ".", key);
        expect_all(schema, kind, member, inner);
    }
}

static void every_member_that_is_shown_is_explained(void **state)
{
    struct rig *rig = *state;
    unsigned seen = 0;
    const struct versions *v = feed_newest(rig->x->feed);
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct api_view *view = api_view_of(kind);
        OWNED(json_object) schema = api_schema(kind);
        for (size_t i = 0; view != NULL && i < view->count(v->snapshot); i++) {
            if (!api_is_there(view, v->snapshot, i))
                continue;
            OWNED(json_object) object = api_versioned(v, kind, i);
            expect_all(schema, api_kind_row(kind)->kind, object, "");
            seen++;
        }
    }
    versions_unref(v);
    assert_in_range(seen, 10, 1000);
}

static void expect_sentences(const char *kind, struct json_object *schema)
{
    struct json_object *named = json_object_object_get(schema, "properties");
    if (named == NULL)
        return;
    json_object_object_foreach(named, key, inner)
    {
        const char *text = json_object_get_string(json_object_object_get(inner, "description"));
        if (text == NULL || text[0] == '\0' || text[strlen(text) - 1] != '.')
            fail_msg("%s: %s has no sentence", kind, key);
        expect_sentences(kind, inner);
    }
}

static void every_kind_and_every_field_has_a_sentence(void **state)
{
    (void)state;
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        OWNED(json_object) schema = api_schema(kind);
        assert_non_null(json_object_object_get(schema, "description"));
        expect_sentences(api_kind_row(kind)->kind, schema);
    }
}

static void the_path_of_a_schema_changes_with_it_and_has_it(void **state)
{
    struct answer a = get(*state, "/openapi/v3");
    struct json_object *paths = json_object_object_get(a.json, "paths");
    struct json_object *path = json_object_object_get(paths, "apis/kubevirt.io/v1");
    const char *url = json_object_get_string(json_object_object_get(path, "serverRelativeURL"));
    char want[64];
    (void)snprintf(want, sizeof want, "hash=%llX", (unsigned long long)api_schema_hash());
    assert_non_null(strstr(url, want));
    struct answer b = get(*state, url);
    struct json_object *schemas = json_at(b.json, "components.schemas");
    struct json_object *vmim =
        json_object_object_get(schemas, "ferry.VirtualMachineInstanceMigration");
    assert_string_equal(
        json_object_get_string(json_at(vmim, "properties.spec.properties.vmiName.description")),
        "The guest's name.");
    answer_fini(&a);
    answer_fini(&b);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_schema)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(every_member_that_is_shown_is_explained),
        cmocka_unit_test(every_kind_and_every_field_has_a_sentence),
        WIRE_TEST(the_path_of_a_schema_changes_with_it_and_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
