/* test_cli_token.c - `ferry token` and `ferry kubeconfig` against an appliance with https: what
 * they print opens it, for the role that was asked for, until the token is deleted. */
#include <sched.h>
#include <sys/mount.h>

#include "tests/unit/test_cli_rig.h"

static const char fleet[] = "hosts:\n- {name: a}\n- {name: b}\n"
                            "guests:\n- {name: web, host: a, memory: 64Mi}\n";

struct served {
    struct appliance a;
    char state[32], https[64], certificate[64];
};

static int serve(void **state)
{
    static struct served served;
    struct appliance *a = &served.a;
    char text[4096], server[64];
    int ends[2];
    TEXT_SET(served.state, "/tmp/ferry-token-XXXXXX");
    assert_non_null(mkdtemp(served.state));
    (void)snprintf(served.certificate, sizeof served.certificate, "%s/tls.crt", served.state);
    write_file(a->file, fleet);
    (void)snprintf(a->socket, sizeof a->socket, "%s.s", a->file);
    assert_int_equal(pipe(ends), 0);
    char name[] = "ferry serve", simulate[] = "--simulate", dir[] = "--state",
         socket[] = "--socket", listen[] = "--listen", address[] = "https://127.0.0.1:0";
    char *argv[] = {name,   simulate,  a->file, dir,     served.state,
                    socket, a->socket, listen,  address, NULL};
    a->pid = start_child(verb_serve, 9, argv, ends[1], ends[1]);
    (void)close(ends[1]);
    a->log = ends[0];
    assert_true(read_until(a->log, "serving", text, sizeof text));
    const char *at = strstr(text, "https://127.0.0.1:");
    assert_non_null(at);
    (void)snprintf(served.https, sizeof served.https, "%.*s", (int)strcspn(at, " \"\n"), at);
    (void)snprintf(server, sizeof server, "unix:%s", a->socket);
    (void)setenv("FERRY_SERVER", server, 1);
    *state = &served;
    return 0;
}

static int end(void **state)
{
    struct served *served = *state;
    char command[96];
    stop(&served->a);
    (void)snprintf(command, sizeof command, "rm -rf %s", served->state);
    return system(command);
}

/* A verb over https, with the token in a file as an administrator keeps it. */
static int over_https(const struct served *served, verb_fn *verb, const char *words,
                      const char *secret, char *out, size_t n)
{
    char file[32], all[256];
    write_file(file, secret);
    (void)snprintf(all, sizeof all, "%s --server %s --ca-file %s --token-file %s", words,
                   served->https, served->certificate, file);
    int status = run_all(verb, all, out, n);
    (void)unlink(file);
    return status;
}

static void a_token_opens_https_for_its_role_until_it_is_deleted(void **state)
{
    const struct served *served = *state;
    char out[8192], secret[128];
    assert_int_equal(run(verb_token, "token create ci --role viewer --expires 1h", secret,
                         sizeof secret),
                     EXIT_DONE);
    assert_true(text_has_prefix(secret, "ferry_"));
    assert_int_equal(over_https(served, verb_get, "get nodes -o name", secret, out, sizeof out),
                     EXIT_DONE);
    assert_string_equal(out, "no/a\nno/b\n");
    assert_int_equal(over_https(served, verb_cordon, "cordon a", secret, out, sizeof out),
                     EXIT_FAILED);
    assert_non_null(strstr(out, "operator")); /* what is missing */

    assert_int_equal(run(verb_token, "token list", out, sizeof out), EXIT_DONE);
    assert_non_null(strstr(out, "ci "));
    assert_non_null(strstr(out, "viewer"));
    secret[strcspn(secret, "\n")] = '\0';
    assert_null(strstr(out, secret));

    assert_int_equal(run_all(verb_token, "token create ci --role admin", out, sizeof out),
                     EXIT_FAILED); /* the name is taken */
    assert_int_equal(run(verb_token, "token delete ci", out, sizeof out), EXIT_DONE);
    assert_int_not_equal(over_https(served, verb_get, "get nodes", secret, out, sizeof out),
                         EXIT_DONE);
    assert_non_null(strstr(out, "not valid"));
    assert_int_not_equal(run(verb_token, "token delete ci", out, sizeof out), EXIT_DONE);
}

static void what_a_token_may_not_be_is_said(void **state)
{
    static const struct {
        const char *words, *says;
    } rows[] = {
        {"token create x --role owner", "viewer, operator, admin"},
        {"token create x --role viewer --expires soon", "90d, 12h or never"},
        {"token create x --role viewer --expires 0d", "90d, 12h or never"},
        {"token create X!y --role viewer", "name"},
        {"token create x", "--role is missing"},
        {"token create", "NAME"},
        {"token revoke x", "expected create, list or delete"},
    };
    char out[4096];
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int status = run_all(verb_token, rows[i].words, out, sizeof out);
        if (status == EXIT_DONE || strstr(out, rows[i].says) == NULL)
            fail_msg("%s: %d: %s", rows[i].words, status, out);
    }
    assert_int_equal(run(verb_token, "token list", out, sizeof out), EXIT_DONE);
    assert_null(strstr(out, "viewer")); /* nothing was made */
}

/* A verb over https as a script runs it, with all it needs in the environment. */
static int with_token(const struct served *served, const char *secret, verb_fn *verb,
                      const char *words, char *out, size_t n)
{
    char before[64];
    TEXT_SET(before, getenv("FERRY_SERVER"));
    (void)setenv("FERRY_SERVER", served->https, 1);
    (void)setenv("FERRY_CA_FILE", served->certificate, 1);
    (void)setenv("FERRY_TOKEN", secret, 1);
    int status = run_all(verb, words, out, n);
    (void)setenv("FERRY_SERVER", before, 1);
    (void)unsetenv("FERRY_CA_FILE");
    (void)unsetenv("FERRY_TOKEN");
    return status;
}

/* A uid names a migration wherever it is; a role of one namespace must not read another's by it. */
static void a_role_of_one_namespace_reads_no_migration_of_another_by_its_uid(void **state)
{
    static const struct {
        verb_fn *verb;
        const char *verb_name;
    } reads[] = {{verb_postmortem, "postmortem"}, {verb_explain, "explain"}};
    const struct served *served = *state;
    char out[65536], uid[64] = "", here[128], there[128], words[128];
    for (int i = 0; i < 50; i++) { /* until the guest is known */
        if (run(verb_migrate, "migrate web --to b --wait", out, sizeof out) == EXIT_DONE)
            break;
        clock_sleep_ms(100);
    }
    for (int i = 0; i < 100 && strlen(uid) < 36; i++, clock_sleep_ms(100)) /* until it is judged */
        if (run(verb_query, "query SELECT/**/job_uid/**/FROM/**/verdicts -ocsv", out, sizeof out) ==
            EXIT_DONE)
            (void)sscanf(out, "job_uid\r\n%63[a-f0-9-]", uid);
    assert_int_equal(strlen(uid), 36);
    assert_int_equal(run(verb_token, "token create here --role viewer", here, sizeof here),
                     EXIT_DONE);
    assert_int_equal(run(verb_token, "token create there --role admin --namespace other", there,
                         sizeof there),
                     EXIT_DONE);
    here[strcspn(here, "\n")] = there[strcspn(there, "\n")] = '\0';
    for (size_t i = 0; i < COUNT(reads); i++) {
        (void)snprintf(words, sizeof words, "%s %s -n other", reads[i].verb_name, uid);
        if (with_token(served, here, reads[i].verb, words, out, sizeof out) != EXIT_DONE)
            fail_msg("%s: %s", words, out);
        assert_int_not_equal(with_token(served, there, reads[i].verb, words, out, sizeof out),
                             EXIT_DONE);
        assert_null(strstr(out, "web"));
    }
    assert_int_equal(run(verb_token, "token delete here", out, sizeof out), EXIT_DONE);
    assert_int_equal(run(verb_token, "token delete there", out, sizeof out), EXIT_DONE);
}

/* What a backup holds is old: who deleted a token since must hear of it. */
static void a_restore_counts_the_tokens_that_are_valid_again_or_removes_them(void **state)
{
    const struct served *served = *state;
    static const struct {
        const char *option, *says;
    } restores[] = {{"", "1 access tokens are valid"}, {" --without-tokens", ""}};
    char out[4096], words[256], file[64];
    (void)snprintf(file, sizeof file, "%s/b.backup", served->state);
    assert_int_equal(run(verb_token, "token create old --role admin", out, sizeof out), EXIT_DONE);
    (void)snprintf(words, sizeof words, "backup %s --state %s", file, served->state);
    assert_int_equal(run_all(verb_backup, words, out, sizeof out), EXIT_DONE);
    assert_int_equal(run(verb_token, "token delete old", out, sizeof out), EXIT_DONE);
    for (size_t i = 0; i < COUNT(restores); i++) {
        (void)snprintf(words, sizeof words, "restore %s --state %s/r%zu%s", file, served->state, i,
                       restores[i].option);
        assert_int_equal(run_all(verb_restore, words, out, sizeof out), EXIT_DONE);
        assert_non_null(strstr(out, restores[i].says));
        assert_int_equal(strstr(out, "tokens") != NULL, restores[i].says[0] != '\0');
    }
}

/* The timer runs everywhere; a person who asks for a file must not believe that there is one. */
static void a_backup_of_records_in_postgresql_is_refused_unless_the_timer_asks(void **state)
{
    static const struct {
        const char *option;
        int status;
    } rows[] = {{"", EXIT_FAILED}, {" --skip-postgresql", EXIT_DONE}};
    const struct served *served = *state;
    char config[32], words[256], out[4096], file[64];
    write_file(config, "hosts: [{name: a, uri: 'test:///default'}]\n"
                       "store: postgresql://ferry@db.example/ferry\n");
    (void)snprintf(file, sizeof file, "%s/p.backup", served->state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        (void)snprintf(words, sizeof words, "backup %s --config %s%s", file, config,
                       rows[i].option);
        assert_int_equal(run_all(verb_backup, words, out, sizeof out), rows[i].status);
        assert_non_null(strstr(out, "PostgreSQL's own"));
        assert_int_not_equal(access(file, F_OK), 0);
    }
    (void)unlink(config);
    (void)snprintf(words, sizeof words, "backup %s --config %s --skip-postgresql", file, config);
    assert_int_not_equal(run_all(verb_backup, words, out, sizeof out), EXIT_DONE); /* no file */
}

/* The value behind a key, to the end of the line. */
static void value_of(const char *text, const char *key, char *out, size_t n)
{
    const char *at = strstr(text, key);
    assert_non_null(at);
    at += strlen(key);
    assert_true(strcspn(at, "\n") < n);
    (void)snprintf(out, n, "%.*s", (int)strcspn(at, "\n"), at);
}

static void a_kubeconfig_has_the_certificate_and_a_token_that_works(void **state)
{
    const struct served *served = *state;
    static char text[16384], found[8192], expected[8192];
    char out[4096], command[128];
    assert_int_equal(run(verb_kubeconfig, "kubeconfig --role operator --name kc -n default", text,
                         sizeof text),
                     EXIT_DONE);
    value_of(text, "server: ", found, sizeof found);
    assert_string_equal(found, served->https);
    (void)snprintf(command, sizeof command, "base64 -w 0 %s", served->certificate);
    FILE *base64 = popen(command, "re");
    assert_non_null(base64);
    assert_non_null(fgets(expected, sizeof expected, base64));
    assert_int_equal(pclose(base64), 0);
    value_of(text, "certificate-authority-data: ", found, sizeof found);
    assert_string_equal(found, expected);
    assert_non_null(strstr(text, "context: {cluster: ferry, user: kc, namespace: default}"));

    value_of(text, "token: ", found, sizeof found);
    assert_int_equal(over_https(served, verb_get, "get guests web", found, out, sizeof out),
                     EXIT_DONE);
    /* -n: the role holds there only. */
    assert_int_equal(over_https(served, verb_get, "get nodes", found, out, sizeof out),
                     EXIT_FAILED);

    assert_int_equal(run_all(verb_kubeconfig, "kubeconfig --name kc", out, sizeof out),
                     EXIT_FAILED);
    assert_non_null(strstr(out, "--name"));
    assert_int_equal(run(verb_token, "token delete kc", out, sizeof out), EXIT_DONE);
}

static bool copy(const char *from, const char *to)
{
    char command[256];
    (void)snprintf(command, sizeof command, "cp %s %s", from, to);
    return system(command) == 0;
}

/* libcurl also trusts what lies in the system's folder, unless it is told not to. */
static void only_the_ca_file_is_trusted_where_one_is_named(void **state)
{
    static const char bundle[] = "/etc/ssl/certs/ca-certificates.crt";
    const struct served *served = *state;
    char other[32], words[256], out[4096];
    if (access(bundle, R_OK) != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        print_message("skipped: needs root, for a mount namespace, and %s\n", bundle);
        skip();
    }
    write_file(other, "");
    assert_true(copy(bundle, other));
    assert_int_equal(mount("ferry-test", "/etc/ssl/certs", "tmpfs", 0, "size=1m"), 0);
    assert_true(copy(served->certificate, "/etc/ssl/certs/ferry.pem"));
    (void)snprintf(words, sizeof words, "get nodes --server %s --ca-file %s", served->https,
                   served->certificate);
    assert_int_equal(run(verb_get, words, out, sizeof out), EXIT_DONE);
    (void)snprintf(words, sizeof words, "get nodes --server %s --ca-file %s", served->https, other);
    assert_int_not_equal(run_all(verb_get, words, out, sizeof out), EXIT_DONE);
    assert_non_null(strstr(out, "certificate"));
    assert_int_equal(umount("/etc/ssl/certs"), 0);
    (void)unlink(other);
}

TEST_FILE(test_cli_token)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_token_may_not_be_is_said),
        cmocka_unit_test(a_token_opens_https_for_its_role_until_it_is_deleted),
        cmocka_unit_test(a_role_of_one_namespace_reads_no_migration_of_another_by_its_uid),
        cmocka_unit_test(a_restore_counts_the_tokens_that_are_valid_again_or_removes_them),
        cmocka_unit_test(a_backup_of_records_in_postgresql_is_refused_unless_the_timer_asks),
        cmocka_unit_test(a_kubeconfig_has_the_certificate_and_a_token_that_works),
        cmocka_unit_test(
            only_the_ca_file_is_trusted_where_one_is_named), /* last: its mounts stay its own */
    };
    return cmocka_run_group_tests(tests, serve, end);
}
