/* test_config_dir.c - hosts.d beside ferry.yaml: what is read there, and how a bad file is named.
 */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "appliance/config.h"
#include "base/own.h"

#define ONE_HOST "hosts:\n- name: h1\n  uri: qemu+ssh://root@h1/system\n"

struct files {
    char dir[32], file[64], hosts[64];
};

static struct files make_files(const char *yaml)
{
    struct files f = {.dir = "/tmp/ferry-test-XXXXXX"};
    assert_non_null(mkdtemp(f.dir));
    (void)snprintf(f.file, sizeof f.file, "%s/ferry.yaml", f.dir);
    (void)snprintf(f.hosts, sizeof f.hosts, "%s/hosts.d", f.dir);
    FILE *out = fopen(f.file, "w");
    assert_non_null(out);
    (void)fputs(yaml, out);
    (void)fclose(out);
    return f;
}

static void put_file(const struct files *f, const char *name, const char *text)
{
    char path[160];
    (void)mkdir(f->hosts, 0755);
    (void)snprintf(path, sizeof path, "%s/%s", f->hosts, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    (void)fputs(text, out);
    (void)fclose(out);
}

static void remove_files(const struct files *f)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", f->dir);
    assert_int_equal(system(command), 0);
}

static void hosts_of_a_directory_are_added_in_order_of_file_names(void **state)
{
    (void)state;
    struct err err = {0};
    struct files f = make_files(ONE_HOST);
    put_file(&f, "b.yaml", "hosts:\n- {name: h3, uri: 'qemu:///system', schedulable: false}\n");
    put_file(&f, "a.yaml", "- {name: h2, uri: 'qemu:///system', labels: {zone: a}}\n");
    put_file(&f, "c.yaml", "");
    put_file(&f, ".hidden.yaml", "nonsense: [");
    put_file(&f, "notes.txt", "nonsense: [");
    OWNED(config) c = config_read(f.file, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(c->n_hosts, 3);
    assert_string_equal(c->hosts[1].name, "h2");
    assert_string_equal(c->host_settings[1].labels, "{\"zone\":\"a\"}");
    assert_string_equal(c->hosts[2].name, "h3");
    assert_true(c->host_settings[2].cordoned && !c->host_settings[1].cordoned);
    remove_files(&f);
}

static void an_inventory_tool_writes_file_sd(void **state)
{
    (void)state;
    struct err err = {0};
    struct files f = make_files("log: {level: debug}\n");
    put_file(&f, "rack7.json",
             "[{\"targets\": [\"h1\", \"h2\"],\n"
             "  \"labels\": {\"rack\": \"7\", \"__peer_uri__\": "
             "\"qemu+tcp://{target}.mig/system\",\n"
             "   \"__tls__\": \"true\", \"__migration_address__\": \"{target}.mig\"}},\n"
             " {\"targets\": [\"h3\"], \"labels\": {\"__uri__\": "
             "\"qemu+ssh://root@{target}/system\"}},\n"
             " {\"targets\": [\"h4\"]}]\n");
    OWNED(config) c = config_read(f.file, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(c->n_hosts, 4);
    assert_string_equal(c->hosts[0].uri, "qemu+tls://h1/system");
    assert_string_equal(c->hosts[1].peer_uri, "qemu+tcp://h2.mig/system");
    assert_string_equal(c->hosts[1].migration_host, "h2.mig");
    assert_true(c->hosts[0].tls && c->hosts[1].tls && !c->hosts[2].tls);
    assert_string_equal(c->host_settings[1].labels, "{\"rack\":\"7\"}");
    assert_string_equal(c->hosts[2].uri, "qemu+ssh://root@h3/system");
    assert_null(c->host_settings[2].labels);
    assert_string_equal(c->hosts[3].peer_uri, "qemu+tls://h4/system");
    remove_files(&f);
}

static void a_bad_file_of_the_directory_is_named_with_line_and_key(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } rows[] = {
        {"a.yaml", "- name: h2\n  urii: x\n", "a.yaml:2: "},
        {"a.yaml", "- name: h2\n  urii: x\n", "did you mean \"uri\""},
        {"a.yaml", "- {name: h1, uri: 'qemu:///system'}\n",
         "a.yaml:1: host 'h1' is a duplicate of"},
        {"a.yaml", "host: []\n", "did you mean \"hosts\""},
        {"a.json", "[{\"targets\": [\"h2\"],\n \"labels\": {\"__peer_url__\": \"x\"}}]",
         "did you mean \"peerUri\""},
        {"a.json", "[{\"targets\": [\"h2\"],\n \"label\": {}}]", "did you mean \"labels\""},
        {"a.json", "{}", "list of groups"},
        {"a.json", "[{\"targets\": [\"NOT A NAME\"]}]", "a.json:1: "},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct files f = make_files(ONE_HOST);
        put_file(&f, rows[i].name, rows[i].text);
        OWNED(config) c = config_read(f.file, &err);
        assert_null(c);
        if (strstr(err.text, rows[i].says) == NULL)
            fail_msg("row %zu: %s", i, err.text);
        remove_files(&f);
    }
}

/* What is read once, at the start. */
static void a_part_that_needs_a_restart_is_known(void **state)
{
    (void)state;
    static const char later[] =
        " appliance state store listen log.format migrations.unsafeMigrationOverride "
        "migrations.allowManagedElsewhere sampling analyzer retention "
        "storage ";
    size_t n = 0;
    for (enum config_part part = 0; part < CONFIG_PART_COUNT; part++) {
        char word[64];
        (void)snprintf(word, sizeof word, " %s ", config_part_name(part));
        assert_int_equal(config_part_requires_restart(part), strstr(later, word) != NULL);
        n += config_part_requires_restart(part);
    }
    assert_int_equal(n, 11);
}

TEST_FILE(test_config_dir)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_that_needs_a_restart_is_known),
        cmocka_unit_test(hosts_of_a_directory_are_added_in_order_of_file_names),
        cmocka_unit_test(an_inventory_tool_writes_file_sd),
        cmocka_unit_test(a_bad_file_of_the_directory_is_named_with_line_and_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
