/* test_api_managers.c - server-side apply as a table of lives: what managers apply and change, one
 * after the other, and what the object is then. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "exporter/api/field_managers.h"

#define KEY "kubevirt.io/nodeName"

/* Text with ' for ". */
static struct json_object *from(const char *text)
{
    char copy[2048];
    struct err err = {0};
    TEXT_SET(copy, text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    struct json_object *value = json_parse(copy, strlen(copy), "test", &err);
    if (value == NULL)
        fail_msg("%s: %s", text, err.text);
    return value;
}

/* "manager: config"; a manager in capitals forces; "manager~ object" is an update to the whole
 * object. */
enum { STEPS_MAX = 6 };
static const struct life {
    const char *name;
    struct step {
        const char *manager;
        enum { APPLIES = 1, FORCES, UPDATES } how;
        const char *object;
        const char *conflict; /* part of the refusal; NULL: none */
    } steps[STEPS_MAX];
    const char *spec; /* at the end */
} lives[] = {
    {"one manager", {{"a", APPLIES, "{'spec':{'x':1}}", NULL}}, "{\"x\":1}"},
    {"what it no longer applies goes",
     {{"a", APPLIES, "{'spec':{'x':1,'y':2}}", NULL}, {"a", APPLIES, "{'spec':{'y':2}}", NULL}},
     "{\"y\":2}"},
    {"a key with a slash goes too",
     {{"a", APPLIES, "{'spec':{'s':{'" KEY "':'n','app':'w'}}}", NULL},
      {"a", APPLIES, "{'spec':{'s':{'app':'w'}}}", NULL}},
     "{\"s\":{\"app\":\"w\"}}"},
    {"an object that is empty by that goes with it",
     {{"a", APPLIES, "{'spec':{'s':{'t':{'u':1}},'v':1}}", NULL},
      {"a", APPLIES, "{'spec':{'v':1}}", NULL}},
     "{\"v\":1}"},
    {"... unless it is applied as an empty one",
     {{"a", APPLIES, "{'spec':{'s':{'t':1}}}", NULL}, {"a", APPLIES, "{'spec':{'s':{}}}", NULL}},
     "{\"s\":{}}"},
    {"what others set stays",
     {{"a", APPLIES, "{'spec':{'x':1}}", NULL},
      {"b", APPLIES, "{'spec':{'y':2}}", NULL},
      {"a", APPLIES, "{'spec':{'z':3}}", NULL}},
     "{\"y\":2,\"z\":3}"},
    {"another value is a conflict that names manager and field",
     {{"a", APPLIES, "{'spec':{'s':{'" KEY "':'n'}}}", NULL},
      {"b", APPLIES, "{'spec':{'s':{'" KEY "':'m'}}}",
       "Apply failed with 1 conflict: conflict with \"a\": .spec.s[\"" KEY "\"]"}},
     "{\"s\":{\"" KEY "\":\"n\"}}"},
    {"the same value is shared, and stays until both have dropped it",
     {{"a", APPLIES, "{'spec':{'x':1}}", NULL},
      {"b", APPLIES, "{'spec':{'x':1,'y':1}}", NULL},
      {"a", APPLIES, "{'spec':{'z':1}}", NULL}},
     "{\"x\":1,\"y\":1,\"z\":1}"},
    {"... then it goes",
     {{"a", APPLIES, "{'spec':{'x':1}}", NULL},
      {"b", APPLIES, "{'spec':{'x':1,'y':1}}", NULL},
      {"a", APPLIES, "{'spec':{'z':1}}", NULL},
      {"b", APPLIES, "{'spec':{'y':1}}", NULL}},
     "{\"y\":1,\"z\":1}"},
    {"force takes the field; who lost it has a conflict",
     {{"a", APPLIES, "{'spec':{'x':1}}", NULL},
      {"b", FORCES, "{'spec':{'x':2}}", NULL},
      {"a", APPLIES, "{'spec':{'x':1}}", "conflict with \"b\": .spec.x"}},
     "{\"x\":2}"},
    {"... and has no part in it any more: it goes with its new manager",
     {{"a", APPLIES, "{'spec':{'x':1,'y':1}}", NULL},
      {"b", FORCES, "{'spec':{'x':2,'z':1}}", NULL},
      {"b", APPLIES, "{'spec':{'z':1}}", NULL}},
     "{\"y\":1,\"z\":1}"},
    {"null is no value: nobody owns it",
     {{"a", APPLIES, "{'spec':{'x':null,'y':1}}", NULL}, {"b", APPLIES, "{'spec':{'x':1}}", NULL}},
     "{\"y\":1,\"x\":1}"},
    {"who lost it keeps it when it no longer applies it",
     {{"a", APPLIES, "{'spec':{'x':1,'y':1}}", NULL},
      {"b", FORCES, "{'spec':{'x':2}}", NULL},
      {"a", APPLIES, "{'spec':{'y':1}}", NULL}},
     "{\"x\":2,\"y\":1}"},
    {"an edit owns what it changed",
     {{"a", APPLIES, "{'spec':{'x':1,'y':1}}", NULL},
      {"edit", UPDATES, "{'spec':{'x':5,'y':1}}", NULL},
      {"a", APPLIES, "{'spec':{'x':1,'y':1}}", "conflict with \"edit\": .spec.x"}},
     "{\"x\":5,\"y\":1}"},
    {"... and nothing else",
     {{"a", APPLIES, "{'spec':{'x':1,'y':1}}", NULL},
      {"edit", UPDATES, "{'spec':{'x':5,'y':1}}", NULL},
      {"a", APPLIES, "{'spec':{'y':2}}", NULL}},
     "{\"x\":5,\"y\":2}"},
    {"what an edit removed is nobody's",
     {{"a", APPLIES, "{'spec':{'x':1,'y':1}}", NULL},
      {"edit", UPDATES, "{'spec':{'y':1}}", NULL},
      {"b", APPLIES, "{'spec':{'x':7}}", NULL}},
     "{\"y\":1,\"x\":7}"},
    {"a list is one field",
     {{"a", APPLIES, "{'spec':{'l':[1,2]}}", NULL},
      {"b", APPLIES, "{'spec':{'l':[1]}}", "conflict with \"a\": .spec.l"},
      {"a", APPLIES, "{'spec':{'l':[3]}}", NULL}},
     "{\"l\":[3]}"},
    {"a value in the place of an object is a conflict",
     {{"a", APPLIES, "{'spec':{'o':{'x':1}}}", NULL},
      {"b", APPLIES, "{'spec':{'o':2}}", "conflict with \"a\": .spec.o"}},
     "{\"o\":{\"x\":1}}"},
    {"metadata that is no object takes nobody's labels away",
     {{"a", APPLIES, "{'metadata':{'labels':{'x':'1'}},'spec':{'x':1}}", NULL},
      {"b", APPLIES, "{'metadata':'none'}", "metadata: expected an object"},
      {"b", FORCES, "{'metadata':[]}", "metadata: expected an object"},
      {"b", APPLIES, "{'metadata':null,'spec':{'y':1}}", NULL},
      {"b", APPLIES, "{'metadata':{'labels':{'x':'2'}}}", "\"a\": .metadata.labels.x"}},
     "{\"x\":1,\"y\":1}"},
};

static void live(const struct life *life, struct json_object **object, const struct step *step,
                 int64_t now_ms)
{
    struct err err = {0};
    const struct field_request request = {.manager = step->manager,
                                          .api_version = "v1",
                                          .is_forced = step->how == FORCES,
                                          .now_ms = now_ms};
    OWNED(json_object) wanted = from(step->object);
    struct json_object *after;
    if (step->how == UPDATES) {
        after = json_object_get(wanted);
        struct json_object *managers = field_managers_update(*object, wanted, &request);
        json_add(json_add_object(after, "metadata"), "managedFields", managers);
    } else {
        after = field_managers_apply(*object, wanted, &request, &err);
    }
    if (step->conflict == NULL && after == NULL)
        fail_msg("%s: %s", life->name, err.text);
    if (step->conflict != NULL && (after != NULL || strstr(err.text, step->conflict) == NULL))
        fail_msg("%s: '%s'; '%s' was expected", life->name, err.text, step->conflict);
    if (after == NULL)
        return;
    json_object_free(*object);
    *object = after;
}

static void lives_end_as_kubernetes_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lives); i++) {
        struct json_object *object = NULL;
        for (size_t s = 0; s < STEPS_MAX && lives[i].steps[s].manager != NULL; s++)
            live(&lives[i], &object, &lives[i].steps[s], 1763269650000 + (int64_t)s);
        const char *text = json_object_to_json_string_ext(
            json_at(object, "spec"), JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (strcmp(text, lives[i].spec) != 0)
            fail_msg("%s: %s", lives[i].name, text);
        json_object_free(object);
    }
}

static void an_apply_that_changes_nothing_changes_no_byte(void **state)
{
    (void)state;
    struct err err = {0};
    struct field_request request = {.manager = "a", .api_version = "v1", .now_ms = 1000};
    OWNED(json_object) config = from("{'metadata':{'labels':{'a':'b'}},'spec':{'x':{'y':1}}}");
    OWNED(json_object) first = field_managers_apply(NULL, config, &request, &err);
    request.now_ms = 999999;
    OWNED(json_object) again = field_managers_apply(first, config, &request, &err);
    assert_true(json_object_equal(first, again));
    assert_string_equal(
        json_object_to_json_string_ext(json_at(first, "metadata.managedFields.0.fieldsV1"),
                                       JSON_C_TO_STRING_PLAIN),
        "{\"f:metadata\":{\"f:labels\":{\"f:a\":{}}},\"f:spec\":{\"f:x\":{\"f:y\":{}}}}");
}

static void there_are_never_more_than_so_many_managers(void **state)
{
    (void)state;
    struct json_object *object = from("{'metadata':{},'spec':{}}");
    for (int i = 0; i < FIELD_MANAGERS_MAX * 2; i++) {
        char name[16], text[64];
        (void)snprintf(name, sizeof name, "m%d", i);
        (void)snprintf(text, sizeof text, "{'metadata':{},'spec':{'x%d':1}}", i);
        OWNED(json_object) after = from(text);
        json_object_object_foreach(json_at(object, "spec"), key, value)
        {
            json_add(json_at(after, "spec"), key, json_object_get(value));
        }
        const struct field_request request = {.manager = name, .api_version = "v1", .now_ms = i};
        json_add(json_at(after, "metadata"), "managedFields",
                 field_managers_update(object, after, &request));
        json_object_free(object);
        object = json_object_get(after);
    }
    struct json_object *managers = json_at(object, "metadata.managedFields");
    assert_int_equal(json_object_array_length(managers), FIELD_MANAGERS_MAX);
    assert_string_equal(
        json_object_get_string(json_at(object, "metadata.managedFields.15.manager")), "m31");
    json_object_free(object);
}

/* All apply: the one that came last is known, the first is forgotten. */
static void of_too_many_that_apply_the_oldest_is_forgotten(void **state)
{
    (void)state;
    struct json_object *object = NULL;
    for (int i = 0; i <= FIELD_MANAGERS_MAX; i++) {
        char name[16], text[64];
        struct err err = {0};
        (void)snprintf(name, sizeof name, "m%d", i);
        (void)snprintf(text, sizeof text, "{'spec':{'x%d':1}}", i);
        OWNED(json_object) config = from(text);
        const struct field_request request = {.manager = name, .api_version = "v1", .now_ms = i};
        struct json_object *after = field_managers_apply(object, config, &request, &err);
        assert_non_null(after);
        json_object_free(object);
        object = after;
    }
    struct json_object *managers = json_at(object, "metadata.managedFields");
    assert_int_equal(json_object_array_length(managers), FIELD_MANAGERS_MAX);
    assert_string_equal(json_object_get_string(json_at(object, "metadata.managedFields.0.manager")),
                        "m1");
    assert_string_equal(
        json_object_get_string(json_at(object, "metadata.managedFields.15.manager")), "m16");
    json_object_free(object);
}

/* Who set what is a note: it never keeps anybody from a change. */
#define ENTRY(manager, operation)                              \
    "{'manager':'" manager "','operation':'" operation "',"    \
    "'fieldsV1':{'f:spec':{'f:a-field-with-a-name-that-is-so-" \
    "long-that-not-many-fit':{}}}}"
static void managers_fit_into_what_is_left(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        const char *left;
    } rows[] = {{1000, "a b c "}, {300, "a c "}, {170, "c "}, {20, ""}, {0, ""}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char left[64] = "";
        OWNED(json_object) managers =
            from("[" ENTRY("a", "Apply") "," ENTRY("b", "Update") "," ENTRY("c", "Apply") "]");
        field_managers_fit(managers, rows[i].bytes);
        for (size_t k = 0; k < json_object_array_length(managers); k++) {
            struct json_object *entry = json_object_array_get_idx(managers, k);
            size_t n = strlen(left);
            (void)snprintf(left + n, sizeof left - n, "%s ",
                           json_object_get_string(json_object_object_get(entry, "manager")));
        }
        assert_string_equal(left, rows[i].left);
    }
}

TEST_FILE(test_api_managers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_end_as_kubernetes_says),
        cmocka_unit_test(an_apply_that_changes_nothing_changes_no_byte),
        cmocka_unit_test(of_too_many_that_apply_the_oldest_is_forgotten),
        cmocka_unit_test(managers_fit_into_what_is_left),
        cmocka_unit_test(there_are_never_more_than_so_many_managers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
