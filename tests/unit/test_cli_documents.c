/* test_cli_documents.c - what `ferry apply` makes of files: documents, complaints with a place, and
 * what would change. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/common/documents.h"

#define POLICY(name)                                                                             \
    "apiVersion: migrations.kubevirt.io/v1alpha1\nkind: MigrationPolicy\nmetadata: {name: " name \
    "}\n"
#define QUOTA "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\n"

static struct documents *parse(const char *text, struct err *err)
{
    OWNED(documents) documents = documents_new(err);
    if (!documents_parse(documents, text, strlen(text), "f.yaml", err))
        return NULL;
    return TAKE(documents);
}

static void documents_are_split_and_have_their_position(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(documents) d =
        parse("# first\n" POLICY("a") "spec: {allowPostCopy: true}\n"
                                      "---\n---\n" QUOTA
                                      "spec: {hard: {memory: 4Gi}}\nstatus: {x: 1}\n",
              &err);
    assert_string_equal(err.text, "");
    assert_int_equal(d->n, 2);
    assert_int_equal(d->items[0].kind, KIND_POLICY);
    assert_string_equal(d->items[0].name, "a");
    assert_int_equal(d->items[0].number, 1);
    assert_int_equal(d->items[0].line, 2);
    assert_int_equal(d->items[1].kind, KIND_QUOTA);
    assert_string_equal(d->items[1].ns, "shop");
    assert_int_equal(d->items[1].number, 3); /* the empty one between them counts */
    assert_int_equal(d->items[1].line, 8);
    assert_null(json_at(d->items[1].object, "status")); /* is not ours to say */
    assert_string_equal(json_object_get_string(json_at(d->items[1].object, "spec.hard.memory")),
                        "4Gi");
}

static void json_is_read_too_and_a_list_is_its_items(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(documents) one = parse("{\"apiVersion\": \"v1\",\n \"kind\": \"Namespace\",\n"
                                 "\t\"metadata\": {\"name\": \"shop\"}}",
                                 &err);
    assert_string_equal(err.text, "");
    assert_int_equal(one->n, 1);
    assert_int_equal(one->items[0].kind, KIND_NAMESPACE);
    OWNED(documents) list = parse("apiVersion: v1\nkind: List\nitems:\n"
                                  "- {apiVersion: v1, kind: Node, metadata: {name: h1}}\n"
                                  "- {apiVersion: v1, kind: Node, metadata: {name: h2}}\n",
                                  &err);
    assert_int_equal(list->n, 2);
    assert_string_equal(list->items[1].name, "h2");
    assert_int_equal(list->items[1].line, 5);
}

static const struct story {
    const char *name, *text, *what;
} stories[] = {
    {"nothing in it", "# only words\n", "f.yaml: contains no document"},
    {"no kind", POLICY("a") "---\nmetadata: {name: x}\n",
     "f.yaml: document 2, line 5: 'kind' is missing"},
    {"a misspelt kind", "apiVersion: v1\nkind: ResourceQuotas\nmetadata: {name: x}\n",
     "f.yaml: document 1, line 1: unknown kind 'ResourceQuotas'; did you mean 'ResourceQuota'?"},
    {"another version", "apiVersion: v1\nkind: MigrationPolicy\nmetadata: {name: x}\n",
     "document 1, line 1: apiVersion of a MigrationPolicy is 'migrations.kubevirt.io/v1alpha1', "
     "not 'v1'"},
    {"no name", "apiVersion: v1\nkind: Node\n", "line 1: 'metadata.name' is missing"},
    {"a misspelt member", POLICY("a") "specs: {}\n",
     "document 1, line 1: unknown key \"specs\"; did you mean \"spec\"?"},
    {"a name that is a number", "apiVersion: v1\nkind: Node\nmetadata: {name: 7}\n",
     "metadata.name: expected a string"},
    {"a pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", "cannot be applied"},
    {"a list", "- a\n- b\n", "document 1, line 1: expected an object"},
    {"no YAML", "a: [1,\nb: }\n", "f.yaml:2"},
};

static void a_wrong_document_is_refused_with_position_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0};
        OWNED(documents) d = parse(stories[i].text, &err);
        if (d != NULL || strstr(err.text, stories[i].what) == NULL)
            fail_msg("%s: got '%s'", stories[i].name, err.text);
    }
}

/* What is there, what the file says, and the patch between them. */
static const struct {
    const char *name, *now, *wanted, *patch; /* NULL: unchanged */
} changes[] = {
    {"a policy as it is", "{\"metadata\":{\"name\":\"a\",\"uid\":\"1\"},\"spec\":{\"x\":1}}",
     POLICY("a") "spec: {x: 1}\n", NULL},
    {"a policy's value", "{\"spec\":{\"x\":1}}", POLICY("a") "spec: {x: 2}\n",
     "{\"spec\":{\"x\":2}}"},
    {"a policy loses what the file lost", "{\"spec\":{\"x\":1,\"y\":{\"z\":1,\"w\":2}}}",
     POLICY("a") "spec: {y: {z: 1}}\n", "{\"spec\":{\"y\":{\"w\":null},\"x\":null}}"},
    {"a policy loses a key with a slash",
     "{\"spec\":{\"selectors\":{\"virtualMachineInstanceSelector\":{\"kubevirt.io/nodeName\":\"a\","
     "\"app\":\"b\"}}}}",
     POLICY("a") "spec: {selectors: {virtualMachineInstanceSelector: {app: b}}}\n",
     "{\"spec\":{\"selectors\":{\"virtualMachineInstanceSelector\":{\"kubevirt.io/"
     "nodeName\":null}}}}"},
    {"a policy without spec", "{\"metadata\":{}}", POLICY("a") "spec: {x: 1}\n",
     "{\"spec\":{\"x\":1}}"},
    {"a file that does not speak of the spec", "{\"spec\":{\"x\":1}}", POLICY("a"), NULL},
    {"a namespace's labels are replaced, but not the appliance's own",
     "{\"metadata\":{\"labels\":{\"env\":\"dev\",\"old\":\"1\",\"kubernetes.io/metadata.name\":"
     "\"n\"}}}",
     "apiVersion: v1\nkind: Namespace\nmetadata: {name: n, labels: {env: prod}}\n",
     "{\"metadata\":{\"labels\":{\"env\":\"prod\",\"old\":null}}}"},
    {"a node keeps what others gave it",
     "{\"metadata\":{\"labels\":{\"zone\":\"a\"}},\"spec\":{\"unschedulable\":true,\"x\":1}}",
     "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {rack: r1}}\n"
     "spec: {unschedulable: false}\n",
     "{\"metadata\":{\"labels\":{\"rack\":\"r1\"}},\"spec\":{\"unschedulable\":false}}"},
    {"a list is replaced as a whole", "{\"spec\":{\"taints\":[1,2]}}",
     "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {taints: [1]}\n",
     "{\"spec\":{\"taints\":[1]}}"},
    {"a null takes away", "{\"spec\":{\"x\":1}}",
     "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {x: null}\n",
     "{\"spec\":{\"x\":null}}"},
    {"a null for what is not there", "{\"spec\":{}}",
     "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {x: null}\n", NULL},
};

static void only_what_differs_is_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++) {
        struct err err = {0};
        OWNED(documents) d = parse(changes[i].wanted, &err);
        assert_non_null(d);
        OWNED(json_object) now = json_parse(changes[i].now, strlen(changes[i].now), "now", &err);
        assert_non_null(now);
        OWNED(json_object) patch = document_patch(&d->items[0], now);
        const char *text = patch != NULL
                               ? json_object_to_json_string_ext(
                                     patch, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                               : "unchanged";
        if (!text_equal(text, changes[i].patch != NULL ? changes[i].patch : "unchanged"))
            fail_msg("%s: %s", changes[i].name, text);
    }
}

static void files_are_read_and_named(void **state)
{
    (void)state;
    char file[] = "/tmp/ferry-test-XXXXXX";
    struct err err = {0};
    OWNED(documents) d = documents_new(&err);
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, QUOTA, strlen(QUOTA)), (ssize_t)strlen(QUOTA));
    (void)close(fd);
    assert_true(documents_read(d, file, &err));
    assert_true(documents_read(d, file, &err)); /* a second one is added */
    assert_int_equal(d->n, 2);
    assert_string_equal(d->items[1].file, file);
    (void)unlink(file);
    assert_false(documents_read(d, file, &err));
    assert_non_null(strstr(err.text, file));
}

static void more_documents_than_possible_are_refused(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct buf text;
        struct err err = {0};
        buf_init(&text, 4 << 20);
        for (size_t i = 0; i < DOCUMENTS_MAX + extra; i++)
            buf_add(&text, "---\n{apiVersion: v1, kind: Node, metadata: {name: n}}\n");
        OWNED(documents) d = documents_new(&err);
        assert_int_equal(documents_parse(d, text.data, text.length, "f", &err), extra == 0);
        buf_fini(&text);
    }
}

TEST_FILE(test_cli_documents)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_split_and_have_their_position),
        cmocka_unit_test(json_is_read_too_and_a_list_is_its_items),
        cmocka_unit_test(a_wrong_document_is_refused_with_position_and_reason),
        cmocka_unit_test(only_what_differs_is_sent),
        cmocka_unit_test(files_are_read_and_named),
        cmocka_unit_test(more_documents_than_possible_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
