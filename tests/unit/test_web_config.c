/* test_web_config.c - exporter-toolkit's web configuration file: what is wrong is named with its
 * line, its key and what would be right. */
#include "tests/test.h"

#include "base/own.h"
#include "base/text.h"
#include "exporter/access/web_config.h"

#define HASH "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
#define TLS "tls_server_config:\n  cert_file: c\n  key_file: k\n"

static const struct {
    const char *text, *line, *says;
} wrong[] = {
    {"tls_server_confg:\n  cert_file: c\n", ":1:", "tls_server_config"},
    {"tls_server_config:\n  cert_fil: c\n", ":2:", "cert_file"},
    {"tls_server_config: 3\n", ":1:", "expected a map"},
    {"tls_server_config:\n  cert_file: c\n", ":1:", "cert_file and key_file belong together"},
    {"tls_server_config:\n  min_version: TLS12\n", ":1:", "cert_file and key_file are missing"},
    {TLS "  min_version: TLS9\n", ":4:", "TLS9"},
    {TLS "  min_version: TLS13\n  max_version: TLS12\n", ":1:", "max_version"},
    {TLS "  client_auth_type: RequireAndVerifyClientCrt\n", ":4:", "RequireAndVerifyClientCert"},
    {TLS "  client_auth_type: RequireAndVerifyClientCert\n", ":1:", "needs client_ca_file"},
    {TLS "  client_ca_file: ca\n", ":1:", "needs a client_auth_type"},
    {TLS "  client_allowed_sans: x\n", ":4:", "expected a list"},
    {TLS "  cipher_suites: [TLS_NOTHING]\n", ":4:", "TLS_NOTHING"},
    {TLS "  curve_preferences: [X1]\n", ":4:", "X1"},
    {"http_server_config:\n  headers:\n    a: b\n", ":2:", "set them in a proxy"},
    {"http_server_config:\n  http2: maybe\n", ":2:", "true or false"},
    {"basic_auth_users:\n  alice: secret\n", ":2:", "not a bcrypt hash (htpasswd -nBC 10"},
    {"basic_auth_users:\n  \"a:b\": " HASH "\n", ":2:", "no colon"},
    {"basic_auth_users:\n  alice: $2y$15$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi\n",
     ":2:", "cost of 'alice' is 15, at most 14"},
    {"basic_auth_users: [alice]\n", ":1:", "names and hashes"},
    {"a: 1\n---\nb: 2\n", "", "one YAML document"},
    {"tls_server_config: [\n", ":", "web.yml"},
};

static void what_is_wrong_is_named_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct err err = {0};
        OWNED(web_config) web =
            web_config_parse(wrong[i].text, strlen(wrong[i].text), "web.yml", &err);
        char at[32];
        (void)snprintf(at, sizeof at, "web.yml%s", wrong[i].line);
        if (web != NULL || err.code != ERR_INVALID || strstr(err.text, at) == NULL ||
            strstr(err.text, wrong[i].says) == NULL)
            fail_msg("%s\nis answered: %s (%s)\nwanted: %s %s", wrong[i].text,
                     web != NULL ? "valid" : "invalid", err.text, at, wrong[i].says);
    }
}

static void what_is_right_is_read(void **state)
{
    (void)state;
    static const char text[] = TLS "  client_ca_file: /etc/ca\n"
                                   "  client_auth_type: RequireAndVerifyClientCert\n"
                                   "  client_allowed_sans: [one, two]\n"
                                   "basic_auth_users:\n  alice: " HASH "\n";
    struct err err = {0};
    OWNED(web_config) web = web_config_parse(text, strlen(text), "/etc/ferry/web.yml", &err);
    if (web == NULL)
        fail_msg("%s", err.text);
    assert_string_equal(web->cert_file, "/etc/ferry/c"); /* relative to the file */
    assert_string_equal(web->client_ca_file, "/etc/ca");
    assert_int_equal(web->n_allowed_sans, 2);
    assert_int_equal(web->n_users, 1);
    assert_string_equal(web->users[0].name, "alice");
    assert_string_equal(web->users[0].hash, HASH);
    OWNED(web_config) empty = web_config_parse("", 0, "web.yml", &err);
    assert_non_null(empty);
    assert_int_equal(empty->n_users, 0);
}

TEST_FILE(test_web_config)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(what_is_right_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
