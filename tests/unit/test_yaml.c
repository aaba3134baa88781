/* test_yaml.c - configuration text: every error has file and line, clever YAML is refused, a
 * mistyped key finds its neighbour, and the JSON form follows YAML 1.2. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "base/yaml.h"

static struct yaml *parse(const char *text, struct err *err)
{
    *err = (struct err){0};
    return yaml_parse(text, strlen(text), "ferry.yaml", err);
}

static struct yaml *parse_good(const char *text)
{
    struct err err;
    struct yaml *yaml = parse(text, &err);
    if (yaml == NULL)
        print_message("%s\n", err.text);
    assert_non_null(yaml);
    return yaml;
}

static void broken_files_are_refused_with_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } stories[] = {
        {"a: 1\nb: &x 2\n", "ferry.yaml:2: anchors (&name) are not supported"},
        {"a: &x {b: 1}\n", "ferry.yaml:1: anchors (&name) are not supported"},
        {"a: [1]\nb: *x\n", "ferry.yaml:2: aliases (*name) are not supported"},
        {"*x\n", "ferry.yaml:1: aliases (*name) are not supported"},
        {"a: !!int 3\n", "ferry.yaml:1: tags (!name) are not supported"},
        {"a: !thing [1]\n", "ferry.yaml:1: tags (!name) are not supported"},
        {"a: 1\nb: 2\na: 3\n", "ferry.yaml:3: \"a\" is a duplicate of line 1"},
        {"x:\n  k: 1\n  \"k\": 2\n", "ferry.yaml:3: \"k\" is a duplicate of line 2"},
        {"a:\n  ? [b]\n  : c\n", "ferry.yaml:2: a key must be text"},
        {"a:\n\tb: 2\n", "ferry.yaml:2: found character that cannot start any token while "
                         "scanning for the next token (a tab; YAML indents with spaces)"},
        {"a: 1\nb: 'x\n", "ferry.yaml:3: found unexpected end of stream while scanning a quoted "
                          "scalar"},
        {"a: \"x\\0y\"\n", "ferry.yaml:1: a zero character is not allowed in text"},
        {"a: 1\nb: \xff\n", "ferry.yaml:2: invalid leading UTF-8 octet"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err;
        assert_null(parse(stories[i].text, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_string_equal(err.text, stories[i].said);
    }
}

static void syntax_errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *prefix;
    } stories[] = {
        {"a: [1, 2\nb: 3\n", "ferry.yaml:2: "},
        {"ok: 1\nbad: x: y\n", "ferry.yaml:2: "},
        {"- a\nb: 1\n", "ferry.yaml:2: "},
        {"a: }\n", "ferry.yaml:1: "},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err;
        assert_null(parse(stories[i].text, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(text_has_prefix(err.text, stories[i].prefix));
    }
}

static void a_tree_knows_its_lines_and_keys(void **state)
{
    (void)state;
    OWNED(yaml) yaml = parse_good("# comment\nhosts:\n  - name: one\n    uri: 'qemu:///system'\n"
                                  "  - name: two\nempty:\n");
    assert_int_equal(yaml_document_count(yaml), 1);
    assert_string_equal(yaml_file(yaml), "ferry.yaml");
    const struct yaml_node *root = yaml_document(yaml, 0);
    assert_int_equal(root->kind, YAML_MAP);
    const struct yaml_node *hosts = yaml_child(root, "hosts");
    assert_int_equal(hosts->kind, YAML_LIST);
    assert_int_equal(hosts->line, 2);
    assert_string_equal(hosts->key, "hosts");
    const struct yaml_node *uri = yaml_child(hosts->child, "uri");
    assert_string_equal(uri->text, "qemu:///system");
    assert_true(uri->quoted);
    assert_int_equal(uri->line, 4);
    assert_int_equal(uri->column, 5);
    assert_null(hosts->child->key);
    assert_string_equal(yaml_child(hosts->child->next, "name")->text, "two");
    assert_null(hosts->child->next->next);
    assert_int_equal(yaml_child(root, "empty")->kind, YAML_NULL);
    assert_null(yaml_child(root, "nothing"));
    assert_null(yaml_child(hosts, "x"));
    assert_null(yaml_child(NULL, "x"));
}

static void several_documents_are_kept_apart(void **state)
{
    (void)state;
    OWNED(yaml) yaml = parse_good("a: 1\n---\n- 2\n---\nthree\n");
    assert_int_equal(yaml_document_count(yaml), 3);
    assert_int_equal(yaml_document(yaml, 0)->kind, YAML_MAP);
    assert_int_equal(yaml_document(yaml, 1)->kind, YAML_LIST);
    assert_string_equal(yaml_document(yaml, 2)->text, "three");
    OWNED(yaml) nothing = parse_good("# only a comment\n");
    assert_int_equal(yaml_document_count(nothing), 0);
}

static void unknown_keys_are_refused_with_the_nearest_valid_one(void **state)
{
    (void)state;
    static const char *const keys[] = {"hosts", "listen", "limits"};
    struct err err = {0};
    OWNED(yaml) good = parse_good("listen: x\nhosts: []\n");
    assert_true(yaml_only_keys(good, yaml_document(good, 0), keys, COUNT(keys), &err));
    OWNED(yaml) near = parse_good("listen: x\nhoste: []\n");
    assert_false(yaml_only_keys(near, yaml_document(near, 0), keys, COUNT(keys), &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_string_equal(err.text, "ferry.yaml:2: unknown key \"hoste\"; did you mean \"hosts\"?");
    err = (struct err){0};
    OWNED(yaml) far = parse_good("\n\nzebra: 1\n");
    assert_false(yaml_only_keys(far, yaml_document(far, 0), keys, COUNT(keys), &err));
    assert_string_equal(err.text,
                        "ferry.yaml:3: unknown key \"zebra\"; valid here: hosts, listen, limits");
    err = (struct err){0};
    OWNED(yaml) list = parse_good("- a\n");
    assert_false(yaml_only_keys(list, yaml_document(list, 0), keys, COUNT(keys), &err));
    assert_string_equal(err.text, "ferry.yaml:1: expected a map, found a list");
}

static const struct yaml_node *member(const struct yaml *yaml, const char *key)
{
    const struct yaml_node *node = yaml_child(yaml_document(yaml, 0), key);
    assert_non_null(node);
    return node;
}

static void values_are_read_by_type(void **state)
{
    (void)state;
    OWNED(yaml) yaml = parse_good("n: 5\nt: web-1\non: true\noff: False\nnumeric: 12\n");
    struct err err = {0};
    int64_t number = 0;
    bool flag = false;
    const char *text = NULL;
    assert_true(yaml_i64(yaml, member(yaml, "n"), 1, 5, &number, &err));
    assert_int_equal(number, 5);
    assert_true(yaml_text(yaml, member(yaml, "t"), &text, &err));
    assert_string_equal(text, "web-1");
    assert_true(yaml_text(yaml, member(yaml, "numeric"), &text, &err));
    assert_string_equal(text, "12");
    assert_true(yaml_bool(yaml, member(yaml, "on"), &flag, &err));
    assert_true(flag);
    assert_true(yaml_bool(yaml, member(yaml, "off"), &flag, &err));
    assert_false(flag);
}

static void wrong_types_are_reported_with_file_and_line(void **state)
{
    (void)state;
    OWNED(yaml) yaml = parse_good("a: yes\nb: '5'\nc: [1]\nd: 70000\ne:\nf: 5s\n");
    struct err err = {0};
    int64_t number = 0;
    bool flag = false;
    const char *text = NULL;
    assert_false(yaml_bool(yaml, member(yaml, "a"), &flag, &err));
    assert_string_equal(err.text, "ferry.yaml:1: a: expected true or false, found \"yes\"");
    err = (struct err){0};
    assert_false(yaml_i64(yaml, member(yaml, "b"), 0, 9, &number, &err));
    assert_string_equal(err.text, "ferry.yaml:2: b: expected a whole number, found the text \"5\"");
    err = (struct err){0};
    assert_false(yaml_text(yaml, member(yaml, "c"), &text, &err));
    assert_string_equal(err.text, "ferry.yaml:3: c: expected text, found a list");
    err = (struct err){0};
    assert_false(yaml_i64(yaml, member(yaml, "d"), 1, 65535, &number, &err));
    assert_string_equal(err.text, "ferry.yaml:4: d: 70000 is not between 1 and 65535");
    err = (struct err){0};
    assert_false(yaml_text(yaml, member(yaml, "e"), &text, &err));
    assert_string_equal(err.text, "ferry.yaml:5: e: expected text, found nothing");
    err = (struct err){0};
    assert_false(yaml_i64(yaml, member(yaml, "f"), 1, 9, &number, &err));
    assert_string_equal(err.text, "ferry.yaml:6: f: expected a whole number, found \"5s\"");
}

static void the_json_form_follows_the_core_schema(void **state)
{
    (void)state;
    OWNED(yaml) yaml = parse_good(
        "i: 12\nneg: -3\noct: 0o17\nhex: 0xff\nf: 1.5\nexp: 1e3\nt: true\nn: null\ntilde: ~\n"
        "empty:\nq: '12'\nyes: yes\nver: 1.2.3\ninf: .inf\ndash: '-'\nplus: +\nip: 10.0.0.1\n"
        "block: |\n  two\n  lines\nlist: [1, {a: b}, []]\nmap: {}\nbig: 99999999999999999999\n");
    OWNED(json_object) json = yaml_to_json(yaml_document(yaml, 0));
    assert_string_equal(
        json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN),
        "{\"i\":12,\"neg\":-3,\"oct\":15,\"hex\":255,\"f\":1.5,\"exp\":1000.0,\"t\":true,"
        "\"n\":null,\"tilde\":null,\"empty\":null,\"q\":\"12\",\"yes\":\"yes\",\"ver\":\"1.2.3\","
        "\"inf\":\".inf\",\"dash\":\"-\",\"plus\":\"+\",\"ip\":\"10.0.0.1\","
        "\"block\":\"two\\nlines\\n\",\"list\":[1,{\"a\":\"b\"},[]],\"map\":{},"
        "\"big\":1e+20}");
}

static void depth_and_size_are_bounded(void **state)
{
    (void)state;
    char text[64] = "";
    struct err err;
    memset(text, '[', YAML_DEPTH_MAX);
    memset(text + YAML_DEPTH_MAX, ']', YAML_DEPTH_MAX);
    yaml_free(parse_good(text));
    memset(text, '[', YAML_DEPTH_MAX + 1);
    memset(text + YAML_DEPTH_MAX + 1, ']', YAML_DEPTH_MAX + 1);
    assert_null(parse(text, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_string_equal(err.text, "ferry.yaml:1: nested too deep");

    size_t n = 4 * (size_t)YAML_NODES_MAX;
    char *many = malloc(n);
    for (size_t i = 0; i < n; i += 4)
        memcpy(many + i, "- 1\n", 4);
    err = (struct err){0};
    assert_null(yaml_parse(many, n, "many.yaml", &err)); /* the list itself is one too many */
    assert_string_equal(err.text, "many.yaml:200000: too many values in one file");
    err = (struct err){0};
    assert_null(yaml_parse(many, YAML_BYTES_MAX + 1, "huge.yaml", &err));
    assert_int_equal(err.code, ERR_INVALID);
    free(many);
}

static void files_are_read_and_missing_ones_are_named(void **state)
{
    (void)state;
    struct err err = {0};
    assert_null(yaml_read_file("no/such/file.yaml", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.text, "no/such/file.yaml: No such file or directory");
    err = (struct err){0};
    assert_null(yaml_read_file(".", &err));
    assert_int_equal(err.code, ERR_IO);

    char name[64];
    int fd = memfd_create("ferry.yaml", 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\n", 5), 5);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    err = (struct err){0};
    OWNED(yaml) yaml = yaml_read_file(name, &err);
    (void)close(fd);
    assert_non_null(yaml);
    assert_string_equal(yaml_child(yaml_document(yaml, 0), "a")->text, "1");
}

/* A law: whatever bytes come, there is either a document or a reason; the sanitizers watch. */
static void no_damage_to_the_text_breaks_the_reader(void **state)
{
    (void)state;
    static const char whole[] =
        "hosts:\n  - name: one\n    uri: 'qemu:///system'\n    labels: {a: \"b\\n\"}\n"
        "limits:\n  x: [1, 2.5, ~]\n  t: |\n    two\n    lines\n---\n- end\n";
    uint32_t dice = 1;
    for (int round = 0; round < 3000; round++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        size_t n = sizeof whole - 1;
        for (int hits = 1 + round % 4; hits > 0; hits--) {
            dice = dice * 1664525 + 1013904223;
            text[(dice >> 8) % n] = (char)(dice >> 24);
        }
        struct err err = {0};
        OWNED(yaml) yaml = yaml_parse(text, n, "damaged", &err);
        assert_int_equal(yaml != NULL, err.code == ERR_NONE);
        for (size_t i = 0; yaml != NULL && i < yaml_document_count(yaml); i++)
            json_object_free(yaml_to_json(yaml_document(yaml, i)));
    }
}

static void json_as_yaml_is_read_back_as_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\":1,\"b\":-2.5,\"c\":true,\"d\":null,\"e\":[],\"f\":{},\"g\":[1,[2],{\"h\":\"i\"}]}",
        "{\"t\":[\"\",\"true\",\"No\",\"on\",\"null\",\"~\",\"1\",\"0x1f\",\"1e3\",\".5\",\"-\",\"+"
        "1\"]}",
        "{\"t\":[\"2026-11-18T20:00:00Z\",\"1795032726038230\",\"a: b\",\"# c\",\"- d\",\"'q'\"]}",
        "{\"t\":[\"two\\nlines\",\"\\u00e4\",\" blanks "
        "\",\"{x}\",\"*y\",\"&z\",\"@\",\"%\",\"!u\"]}",
        "{\"kubevirt.io/vmi-name\":\"web\",\"true\":\"key\",\"1\":\"number\"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err err = {0};
        struct buf out;
        OWNED(json_object) value = json_parse(texts[i], strlen(texts[i]), "test", &err);
        assert_non_null(value);
        buf_init(&out, 10000);
        yaml_write(value, &out);
        assert_false(out.failed);
        OWNED(yaml) yaml = yaml_parse(out.data, out.length, "test", &err);
        if (yaml == NULL)
            fail_msg("%s: %s", err.text, out.data);
        OWNED(json_object) again = yaml_to_json(yaml_document(yaml, 0));
        if (json_object_equal(value, again) != 1)
            fail_msg("%s became %s", texts[i], out.data);
        buf_fini(&out);
    }
}

TEST_FILE(test_yaml)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files_are_refused_with_file_and_line),
        cmocka_unit_test(syntax_errors_name_the_line),
        cmocka_unit_test(a_tree_knows_its_lines_and_keys),
        cmocka_unit_test(several_documents_are_kept_apart),
        cmocka_unit_test(unknown_keys_are_refused_with_the_nearest_valid_one),
        cmocka_unit_test(values_are_read_by_type),
        cmocka_unit_test(wrong_types_are_reported_with_file_and_line),
        cmocka_unit_test(the_json_form_follows_the_core_schema),
        cmocka_unit_test(no_damage_to_the_text_breaks_the_reader),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(files_are_read_and_missing_ones_are_named),
        cmocka_unit_test(json_as_yaml_is_read_back_as_the_same),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
