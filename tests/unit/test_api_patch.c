/* test_api_patch.c - patches as tables: what an object is after one, and which are refused. */
#include "tests/test.h"

#include "exporter/api/api_request.h"
#include "tests/unit/test_api_world.h"

/* after NULL: refused, and says is part of why. */
static const struct story {
    enum api_patch type;
    const char *before, *patch, *after, *says;
} stories[] = {
    /* RFC 7386 */
    {API_PATCH_MERGE, "{'a':'b'}", "{'a':'c'}", "{'a':'c'}", NULL},
    {API_PATCH_MERGE, "{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}", NULL},
    {API_PATCH_MERGE, "{'a':'b'}", "{'a':null}", "{}", NULL},
    {API_PATCH_MERGE, "{'a':'b','b':'c'}", "{'a':null}", "{'b':'c'}", NULL},
    {API_PATCH_MERGE, "{'a':['b']}", "{'a':'c'}", "{'a':'c'}", NULL},
    {API_PATCH_MERGE, "{'a':'c'}", "{'a':['b']}", "{'a':['b']}", NULL},
    {API_PATCH_MERGE, "{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d'}}", NULL},
    {API_PATCH_MERGE, "{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}", NULL},
    {API_PATCH_MERGE, "{}", "{'a':{'bb':{'ccc':null}}}", "{'a':{'bb':{}}}", NULL},
    {API_PATCH_MERGE, "{'a':1}", "{'a':{'b':2}}", "{'a':{'b':2}}", NULL},
    {API_PATCH_MERGE, "{'a':1}", "{}", "{'a':1}", NULL},
    {API_PATCH_MERGE, "{}", "{'$patch':'replace'}", "{'$patch':'replace'}", NULL},
    {API_PATCH_MERGE, "{}", "[]", NULL, "expected an object"},
    {API_PATCH_MERGE, "{}", "{", NULL, "line 1"},
    /* cordon, uncordon, taint as kubectl sends them */
    {API_PATCH_STRATEGIC, "{'spec':{}}", "{'spec':{'unschedulable':true}}",
     "{'spec':{'unschedulable':true}}", NULL},
    {API_PATCH_STRATEGIC, "{'spec':{'unschedulable':true}}", "{'spec':{'unschedulable':null}}",
     "{'spec':{}}", NULL},
    {API_PATCH_STRATEGIC, "{'taints':[{'key':'a'}]}", "{'taints':[{'key':'b'},{'key':'a'}]}",
     "{'taints':[{'key':'b'},{'key':'a'}]}", NULL},
    {API_PATCH_STRATEGIC, "{'a':{'b':1,'c':2}}", "{'a':{'$patch':'replace','d':3}}",
     "{'a':{'d':3}}", NULL},
    {API_PATCH_STRATEGIC, "{'a':{'b':1}}", "{'a':{'$patch':'merge','d':3}}", "{'a':{'b':1,'d':3}}",
     NULL},
    {API_PATCH_STRATEGIC, "{}", "{'$setElementOrder/a':[],'$retainKeys':['b'],'b':1}", "{'b':1}",
     NULL},
    {API_PATCH_STRATEGIC, "{'a':[]}", "{'a':[{'$patch':'delete','key':'x'}]}", NULL,
     "replaced as a whole"},
    {API_PATCH_STRATEGIC, "{'a':[]}", "{'$deleteFromPrimitiveList/a':['x']}", NULL,
     "is not supported"},
    {API_PATCH_STRATEGIC, "{'a':{}}", "{'a':{'$patch':'delete'}}", NULL, "is not supported"},
    /* RFC 6902 */
    {API_PATCH_JSON, "{'a':1}", "[{'op':'add','path':'/b','value':2}]", "{'a':1,'b':2}", NULL},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'add','path':'/a','value':2}]", "{'a':2}", NULL},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'copy','from':'/a','path':'/b'}]", "{'a':1,'b':1}", NULL},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'move','from':'/a','path':'/b'}]", "{'b':1}", NULL},
    {API_PATCH_JSON, "{'a':[1,2]}", "[{'op':'move','from':'/a/0','path':'/a/-'}]", "{'a':[2,1]}",
     NULL},
    {API_PATCH_JSON, "{'a':{'x':1}}",
     "[{'op':'copy','from':'/a','path':'/b'},{'op':'add','path':'/b/x','value':2}]",
     "{'a':{'x':1},'b':{'x':2}}", NULL},
    {API_PATCH_JSON, "{'a':{}}", "[{'op':'move','from':'/a','path':'/a/b'}]", NULL,
     "is inside of what moves there"},
    {API_PATCH_JSON, "{}", "[{'op':'copy','from':'/a','path':'/b'}]", NULL,
     "from: /a: does not exist"},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'add','path':'/b','value':null}]", "{'a':1,'b':null}",
     NULL},
    {API_PATCH_JSON, "{'a':[1,3]}", "[{'op':'add','path':'/a/1','value':2}]", "{'a':[1,2,3]}",
     NULL},
    {API_PATCH_JSON, "{'a':[1,3]}", "[{'op':'add','path':'/a/0','value':0}]", "{'a':[0,1,3]}",
     NULL},
    {API_PATCH_JSON, "{'a':[1]}", "[{'op':'add','path':'/a/-','value':2}]", "{'a':[1,2]}", NULL},
    {API_PATCH_JSON, "{'a':[1]}", "[{'op':'add','path':'/a/1','value':2}]", "{'a':[1,2]}", NULL},
    {API_PATCH_JSON, "{'a':[1]}", "[{'op':'add','path':'/a/2','value':2}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':[1]}", "[{'op':'add','path':'/a/01','value':2}]", NULL,
     "does not exist"},
    {API_PATCH_JSON, "{'a':[1]}", "[{'op':'add','path':'/a/x','value':2}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{}", "[{'op':'add','path':'/a/b','value':2}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'add','path':'/a/b','value':2}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':{'b':1}}", "[{'op':'remove','path':'/a/b'}]", "{'a':{}}", NULL},
    {API_PATCH_JSON, "{'a':[1,2,3]}", "[{'op':'remove','path':'/a/1'}]", "{'a':[1,3]}", NULL},
    {API_PATCH_JSON, "{'a':[1]}", "[{'op':'remove','path':'/a/-'}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{}", "[{'op':'remove','path':'/a'}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'replace','path':'/a','value':'x'}]", "{'a':'x'}", NULL},
    {API_PATCH_JSON, "{'a':[1,2]}", "[{'op':'replace','path':'/a/0','value':9}]", "{'a':[9,2]}",
     NULL},
    {API_PATCH_JSON, "{}", "[{'op':'replace','path':'/a','value':'x'}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':{'b':[1]}}",
     "[{'op':'test','path':'/a','value':{'b':[1]}},{'op':'add','path':'/c','value':1}]",
     "{'a':{'b':[1]},'c':1}", NULL},
    {API_PATCH_JSON, "{'a':1}",
     "[{'op':'add','path':'/c','value':1},{'op':'test','path':'/a','value':2}]", NULL,
     "the test failed"},
    {API_PATCH_JSON, "{'a/b':1,'c~d':2}",
     "[{'op':'remove','path':'/a~1b'},{'op':'replace','path':'/c~0d','value':3}]", "{'c~d':3}",
     NULL},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'remove','path':'/a~2'}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'remove','path':'a'}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'replace','path':'','value':{}}]", NULL, "does not exist"},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'swap','path':'/b'}]", NULL, "is not one of"},
    {API_PATCH_JSON, "{'a':1}", "[{'op':'add','path':'/b'}]", NULL, "value: is missing"},
    {API_PATCH_JSON, "{'a':1}", "[1]", NULL, "is not an object"},
    {API_PATCH_JSON, "{'a':1}", "{}", NULL, "expected a list"},
    {API_PATCH_JSON, "{}", /* what was put in twice is two things */
     "[{'op':'add','path':'/a','value':{}},{'op':'add','path':'/a/x','value':1},"
     "{'op':'add','path':'/b','value':{}}]",
     "{'a':{'x':1},'b':{}}", NULL},
    /* server-side apply */
    {API_PATCH_APPLY, "{'a':1}", "{'b':2}", "{'a':1,'b':2}", NULL},
    {API_PATCH_APPLY, "{'a':1}", "b: 2\nc:\n  d: x\n", "{'a':1,'b':2,'c':{'d':'x'}}", NULL},
    {API_PATCH_APPLY, NULL, "a: 1\n", "{'a':1}", NULL},
    {API_PATCH_APPLY, NULL, "a: 1\n---\nb: 2\n", NULL, "one document"},
    {API_PATCH_APPLY, NULL, "- 1\n", NULL, "expected an object"},
};

/* JSON with single quotes, to be readable here; the caller frees it. */
static char *json_text(const char *text)
{
    char *copy = strdup(text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

static struct json_object *json_of(const char *text)
{
    struct err err = {0};
    OWNED_TEXT copy = json_text(text);
    struct json_object *value = json_parse(copy, strlen(copy), "test", &err);
    if (value == NULL)
        fail_msg("%s: %s", err.text, text);
    return value;
}

static void each_patch_gives_the_expected_object(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0};
        OWNED(json_object) before = stories[i].before == NULL ? NULL : json_of(stories[i].before);
        OWNED_TEXT patch = json_text(stories[i].patch);
        OWNED(json_object) after = api_patch(stories[i].type, before, patch, strlen(patch), &err);
        if (stories[i].after == NULL) {
            if (after != NULL || strstr(err.text, stories[i].says) == NULL)
                fail_msg("%s: '%s' does not say '%s'", patch, err.text, stories[i].says);
            assert_true(err.code == ERR_INVALID || err.code == ERR_UNPROCESSABLE);
        } else {
            OWNED(json_object) want = json_of(stories[i].after);
            if (after == NULL || !json_object_equal(after, want))
                fail_msg("%s: %s: %s", patch, err.text, json_object_to_json_string(after));
        }
        if (stories[i].before != NULL) { /* Law: what was there before is not touched. */
            OWNED(json_object) untouched = json_of(stories[i].before);
            assert_true(json_object_equal(before, untouched));
        }
    }
}

static void a_patch_has_a_bound(void **state)
{
    (void)state;
    for (int more = 0; more <= 1; more++) {
        struct err err = {0};
        struct buf text;
        buf_init(&text, 1 << 20);
        for (int i = 0; i < API_PATCH_OPS_MAX + more; i++)
            buf_addf(&text, "%s{\"op\":\"add\",\"path\":\"/a\",\"value\":%d}", i == 0 ? "[" : ",",
                     i);
        buf_add(&text, "]");
        OWNED(json_object) before = json_object_new_object();
        OWNED(json_object) after = api_patch(API_PATCH_JSON, before, text.data, text.length, &err);
        assert_int_equal(after != NULL, more == 0);
        buf_fini(&text);
    }
}

/* Each operation may nest as deep as a body; together they must not nest deeper. */
static void operations_cannot_nest_deeper_than_a_body(void **state)
{
    (void)state;
    struct err err = {0};
    struct buf text, path;
    buf_init(&text, 1 << 20);
    buf_init(&path, 1 << 12);
    for (int i = 0; i < JSON_DEPTH_MAX + 1; i++) {
        buf_add(&path, "/a");
        buf_addf(&text, "%s{\"op\":\"add\",\"path\":\"%s\",\"value\":{}}", i == 0 ? "[" : ",",
                 path.data);
    }
    buf_add(&text, "]");
    OWNED(json_object) before = json_object_new_object();
    OWNED(json_object) after = api_patch(API_PATCH_JSON, before, text.data, text.length, &err);
    assert_null(after);
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "too deep"));
    buf_fini(&text);
    buf_fini(&path);
}

TEST_FILE(test_api_patch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_patch_gives_the_expected_object),
        cmocka_unit_test(a_patch_has_a_bound),
        cmocka_unit_test(operations_cannot_nest_deeper_than_a_body),
    };
    return cmocka_run_group_tests_name("api patch", tests, NULL, NULL);
}
