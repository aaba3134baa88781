/* test_api_columns.c - columns.def is the one table of columns: its paths are members of the
 * objects, and a Table's cell is what the object has there. */
#include "base/log.h"
#include "exporter/api/api_schema.h"
#include "tests/unit/test_api_http.h"

static const struct {
    enum api_kind kind;
    const char *name, *type, *title, *how, *path;
} columns[] = {
#define COLUMN(kind, name, type, wide, title, when, how, path, help) \
    {KIND_##kind, name, type, title, #how, path},
#include "exporter/api/columns.def"
#undef COLUMN
};

static void every_path_of_a_column_is_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(columns); i++) {
        OWNED(json_object) schema = api_schema(columns[i].kind);
        if (columns[i].path[0] != '\0' && !api_schema_has(schema, columns[i].path))
            fail_msg("%s has no %s", api_kind_row(columns[i].kind)->kind, columns[i].path);
        if (columns[i].name[0] == '\0' && columns[i].title[0] == '\0')
            fail_msg("%s: column %zu is shown nowhere", api_kind_row(columns[i].kind)->kind, i);
    }
}

static bool is_plain(size_t i)
{
    const char *how = columns[i].how;
    return columns[i].path[0] != '\0' && strcmp(columns[i].type, "date") != 0 &&
           (text_equal(how, "TEXT") || text_equal(how, "WORD") || text_equal(how, "STATUS"));
}

/* Each cell, and of plain columns that it is what the object has. Returns how many were. */
static unsigned expect_row(enum api_kind kind, struct json_object *object,
                           struct json_object *cells)
{
    size_t at = 0;
    unsigned compared = 0;
    for (size_t i = 0; i < COUNT(columns); i++) {
        if (columns[i].kind != kind || columns[i].name[0] == '\0')
            continue;
        struct json_object *cell = json_object_array_get_idx(cells, at++);
        assert_non_null(cell);
        bool is_number = json_object_is_type(cell, json_type_int);
        assert_int_equal(is_number, strcmp(columns[i].type, "integer") == 0);
        struct json_object *value = is_plain(i) ? json_at(object, columns[i].path) : NULL;
        if (value == NULL)
            continue;
        if (!text_equal(json_object_get_string(cell), json_object_get_string(value)))
            fail_msg("%s, column %s: '%s', but %s is '%s'", api_kind_row(kind)->kind,
                     columns[i].name, json_object_get_string(cell), columns[i].path,
                     json_object_get_string(value));
        compared++;
    }
    assert_int_equal(json_object_array_length(cells), at);
    return compared;
}

static void a_cell_is_what_its_path_has(void **state)
{
    struct rig *rig = *state;
    unsigned compared = 0;
    const struct versions *v = feed_newest(rig->x->feed);
    for (enum api_kind kind = KIND_NONE + 1; kind < KIND_COUNT; kind++) {
        const struct api_view *view = api_view_of(kind);
        for (size_t i = 0; view != NULL && i < view->count(v->snapshot); i++) {
            if (!api_is_there(view, v->snapshot, i))
                continue;
            OWNED(json_object) object = api_versioned(v, kind, i);
            OWNED(json_object) cells = json_object_new_array();
            view->add_cells(v->snapshot, i, world_wall_ms, cells);
            compared += expect_row(kind, object, cells);
        }
    }
    versions_unref(v);
    assert_true(compared > 60);
}

static void the_cells_of_an_event_are_what_it_has(void **state)
{
    (void)state;
    const struct store_event event = {.kind = "Node",
                                      .ns = "",
                                      .name = "a",
                                      .uid = "u",
                                      .type = "Normal",
                                      .reason = "Because",
                                      .message = "text",
                                      .at_ms = world_wall_ms,
                                      .count = 7};
    OWNED(json_object) object = api_event_object(&event, 1);
    OWNED(json_object) cells = api_event_cells(&event, world_wall_ms);
    (void)json_object_array_del_idx(cells, 0, 1); /* the name */
    assert_int_equal(expect_row(KIND_EVENT, object, cells), 4);
}

TEST_FILE(test_api_columns)
{
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)
    const struct CMUnitTest tests[] = {
        WIRE_TEST(every_path_of_a_column_is_explained),
        WIRE_TEST(a_cell_is_what_its_path_has),
        WIRE_TEST(the_cells_of_an_event_are_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
