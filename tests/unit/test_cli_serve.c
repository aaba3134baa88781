/* test_cli_serve.c - the appliance as a process, over simulated hosts: it starts, serves, moves a
 * guest through the command line's own verbs, reads SIGHUP and stops in order. */
#include "tests/test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appliance/descriptors.h"
#include "appliance/scenario.h"
#include "appliance/self.h"
#include "appliance/wiring.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/table.h"
#include "cli/common/view.h"
#include "cli/common/wait.h"
#include "store/sqlite/sqlite.h"
#include "tests/unit/test_cli_rig.h"

/* Small guests on a fast link: a move takes a fraction of a second. */
static const char fleet[] = "hosts:\n- {name: a, link: 1Gi}\n- {name: b, link: 1Gi}\n"
                            "guests:\n- {name: web, host: a, memory: 64Mi}\n"
                            "- {name: slow, host: a, memory: 12Gi}\n";

static void wait_for_guest(void)
{
    char out[4096];
    for (int i = 0; i < 100; i++) {
        if (run(verb_get, "get guests slow -o json", out, sizeof out) == EXIT_DONE)
            return;
        clock_sleep_ms(50);
    }
    fail_msg("the guests never appeared");
}

static void a_guest_migrates_through_the_whole_appliance(void **state)
{
    (void)state;
    struct appliance a;
    char out[8192], log[4096];
    start(&a, fleet);
    wait_for_guest();
    assert_int_equal(run(verb_get, "get nodes -o name", out, sizeof out), EXIT_DONE);
    assert_string_equal(out, "no/a\nno/b\n");
    assert_int_equal(run(verb_migrate, "migrate web --to b --wait --timeout 20s", out, sizeof out),
                     EXIT_DONE);
    assert_non_null(strstr(out, "'web' migrated from a to b in "));
    assert_int_equal(run(verb_get, "get guests web", out, sizeof out), EXIT_DONE);
    assert_non_null(strstr(out, "running(migrated)"));
    assert_int_equal(run(verb_migrate, "migrate nosuch", out, sizeof out), EXIT_FAILED);
    assert_int_equal(run(verb_describe, "describe vmim nosuch", out, sizeof out), EXIT_FAILED);
    assert_int_equal(kill(a.pid, SIGHUP), 0);
    assert_true(read_until(a.log, "config_refused", log, sizeof log));
    stop(&a);
    assert_int_equal(run(verb_get, "get nodes", out, sizeof out), EXIT_UNREACHABLE);
}

static void each_key_that_is_no_longer_used_is_warned_of_once_at_start(void **state)
{
    (void)state;
    static const char *const keys[] = {"`relay` of hosts", "`outOfBand`", "`migrations.relayed`"};
    char file[32], words[128], log[8192];
    write_file(file, "hosts:\n- {name: h1, uri: 'qemu:///s', relay: 10.0.0.9}\n"
                     "- {name: h2, uri: 'qemu:///s', relay: 10.0.0.9}\n"
                     "outOfBand: {listen: '127.0.0.1:4555'}\nmigrations: {relayed: true}\n");
    struct appliance a;
    start_with(&a, fleet, file, log, sizeof log);
    for (size_t i = 0; i < COUNT(keys); i++) {
        (void)snprintf(words, sizeof words, "%s is no longer used; ", keys[i]);
        const char *first = strstr(log, words);
        assert_non_null(first);
        assert_null(strstr(first + 1, words));
    }
    stop(&a);
    (void)unlink(file);
}

static void a_slow_migration_outlasts_a_wait_and_is_aborted_once(void **state)
{
    (void)state;
    struct appliance a;
    char out[8192];
    start(&a, fleet);
    wait_for_guest();
    assert_int_equal(run(verb_migrate, "migrate slow --name s1 --wait --timeout 300ms", out,
                         sizeof out),
                     EXIT_WAITED);
    /* Nothing is broken or in doubt: nobody's word is needed. */
    assert_int_equal(run(verb_recover, "recover s1", out, sizeof out), EXIT_FAILED);
    assert_int_equal(run(verb_resolve, "resolve s1 --guest-on target --because x --yes", out,
                         sizeof out),
                     EXIT_FAILED);
    assert_int_equal(run(verb_recover, "recover nosuch", out, sizeof out), EXIT_FAILED);
    assert_int_equal(run(verb_abort, "abort s1 --wait --timeout 20s", out, sizeof out), EXIT_DONE);
    assert_string_equal(out, "s1 aborted; 'slow' stays on a\n");
    assert_int_equal(run(verb_abort, "abort s1", out, sizeof out), EXIT_FAILED);
    for (int i = 0; i < 100 && run(verb_explain, "explain s1", out, sizeof out) != EXIT_DONE; i++)
        clock_sleep_ms(50); /* its verdict follows its end */
    assert_non_null(strstr(out, "user-cancelled (no-fault, none plane)"));
    assert_int_equal(run(verb_describe, "describe vmim s1", out, sizeof out), EXIT_DONE);
    assert_non_null(strstr(out, "Outcome:      aborted\n"));
    assert_non_null(strstr(out, "Guest at:     running-on-source\n"));
    assert_non_null(strstr(out, "Verdict:      user-cancelled (plane: none, after-hand-off)\n"));
    assert_non_null(strstr(out, "What to do:   Nothing; migrate again when wanted.\n"));
    stop(&a);
}

static void wrong_usage_is_status_two(void **state)
{
    (void)state;
    static const struct {
        verb_fn *verb;
        const char *words;
    } rows[] = {
        {verb_get, "get"},
        {verb_get, "get planets"},
        {verb_get, "get nodes --colour"},
        {verb_get, "get nodes -o xml"},
        {verb_get, "get vmi web -A"},
        {verb_describe, "describe vmim"},
        {verb_migrate, "migrate"},
        {verb_migrate, "migrate a b"},
        {verb_migrate, "migrate a --bandwidth fast"},
        {verb_migrate, "migrate a --timeout 5m"},
        {verb_migrate, "migrate a --to "},
        {verb_migrate, "migrate a --name "},
        {verb_abort, "abort"},
        {verb_abort, "abort "},
        {verb_abort, "abort a --timeout 5m"},
        {verb_abort, "abort a -A"},
        {verb_get, "get vmim "},
        {verb_get, "get vmim -n "},
        {verb_describe, "describe vmim "},
        {verb_serve, "serve --simulate demo --listen 0.0.0.0:0"},
        {verb_serve, "serve now"},
        {verb_serve, "serve --config /nonexistent"},
        {verb_serve, "serve --simulate /nonexistent"},
        {verb_doctor, "doctor --config /nonexistent"},
        {verb_get, "get nodes --server ftp://x"},
    };
    char out[8192];
    for (size_t i = 0; i < COUNT(rows); i++)
        if (run(rows[i].verb, rows[i].words, out, sizeof out) != EXIT_USAGE)
            fail_msg("'%s' is not refused as wrong usage", rows[i].words);
}

static const char two_hosts[] = "hosts:\n- {name: h1, uri: 'test:///default'}\n"
                                "- {name: h2, uri: 'test:///default'}\n";

static void too_few_file_descriptors_are_refused_at_the_start_with_the_number(void **state)
{
    (void)state;
    char file[32], text[4096], want[128];
    write_file(file, two_hosts);
    struct err err = {0};
    OWNED(config) config = config_read(file, &err);
    assert_non_null(config);
    uint64_t needed = descriptors_needed(config, config->n_hosts);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char name[] = "ferry serve", flag[] = "--config";
    char *argv[] = {name, flag, file, NULL};
    child_files_max = (rlim_t)needed - 1;
    pid_t pid = start_child(verb_serve, 3, argv, ends[1], ends[1]);
    child_files_max = 0;
    (void)close(ends[1]);
    (void)snprintf(want, sizeof want, "needs %llu file descriptors and the limit is %llu",
                   (unsigned long long)needed, (unsigned long long)needed - 1);
    assert_true(read_until(ends[0], want, text, sizeof text));
    assert_int_equal(exit_status(pid), EXIT_FAILED);
    (void)close(ends[0]);
    (void)unlink(file);
}

static void more_hosts_and_more_migrations_need_more_descriptors(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(config) config = config_new(&err);
    uint64_t few = descriptors_needed(config, 2), many = descriptors_needed(config, 1000);
    assert_true(few < 1024); /* what a process usually starts with does for a few hosts */
    assert_true(many >= 1000 * 8 && many < 65536);
    config->parallel_per_fleet = 0;
    assert_true(descriptors_needed(config, 1000) > many);
}

/* --- an appliance that does not answer --- */

static int wait_for_slow(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct err err = {0};
    OWNED(client) client = client_new(NULL, &err);
    struct json_object *last = NULL;
    const struct wait wait = {
        .client = client, .ns = "default", .name = "s1", .timeout_ms = 700, .quiet = true};
    return wait_until_over(&wait, &last);
}

static void a_wait_ends_in_time_although_the_appliance_hangs(void **state)
{
    (void)state;
    struct appliance a;
    char out[4096];
    start(&a, fleet);
    wait_for_guest();
    assert_int_equal(run(verb_migrate, "migrate slow --name s1", out, sizeof out), EXIT_DONE);
    assert_int_equal(kill(a.pid, SIGSTOP), 0);
    int64_t began = clock_mono_ms(clock_system());
    int status = run(wait_for_slow, "wait", out, sizeof out);
    int64_t took = clock_mono_ms(clock_system()) - began;
    assert_int_equal(kill(a.pid, SIGCONT), 0);
    assert_int_equal(status, EXIT_WAITED);
    assert_true(took < 5000);
    stop(&a);
}

static void a_migration_that_is_gone_ends_the_wait(void **state)
{
    (void)state;
    struct appliance a;
    char out[4096], text[4096];
    int ends[2];
    start(&a, fleet);
    assert_int_equal(pipe(ends), 0);
    char name[] = "wait";
    char *argv[] = {name, NULL};
    pid_t pid = start_child(wait_for_slow, 1, argv, ends[1], ends[1]); /* there is no s1 */
    (void)close(ends[1]);
    assert_true(read_until(ends[0], "get guests", text, sizeof text));
    assert_non_null(strstr(text, "migration 's1' does not exist"));
    assert_int_equal(exit_status(pid), EXIT_FAILED);
    (void)close(ends[0]);
    assert_int_equal(run(verb_get, "get nodes", out, sizeof out), EXIT_DONE);
    stop(&a);
}

/* Takes requests and hangs up without a word. */
static pid_t start_silent_server(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    (void)setenv("FERRY_SERVER", url, 1);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (char byte;;) {
            int client = accept(fd, NULL, NULL);
            ssize_t got = read(client, &byte, 1);
            (void)got; /* a client that left is fine */
            (void)close(client);
        }
    }
    (void)close(fd);
    return pid;
}

static void a_change_without_an_answer_is_in_doubt_a_read_is_not(void **state)
{
    (void)state;
    char out[4096];
    pid_t server = start_silent_server();
    assert_int_equal(run(verb_migrate, "migrate web", out, sizeof out), EXIT_WAITED);
    assert_int_equal(run(verb_get, "get nodes", out, sizeof out), EXIT_UNREACHABLE);
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, NULL, 0), server);
    (void)unsetenv("FERRY_SERVER");
}

/* --- standard files --- */

static int open_a_file_with_none_standing(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)close(STDIN_FILENO);
    (void)close(STDERR_FILENO);
    return cli_hold_standard_files() && open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 1;
}

static int print_to_a_full_disk(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (freopen("/dev/full", "w", stdout) == NULL)
        return 99;
    (void)printf("an answer\n");
    return cli_end(EXIT_DONE);
}

static void closed_and_full_standard_files_do_no_harm(void **state)
{
    (void)state;
    char out[64];
    assert_int_equal(run(open_a_file_with_none_standing, "x", out, sizeof out), 0);
    assert_int_equal(run(print_to_a_full_disk, "x", out, sizeof out), EXIT_FAILED);
}

static void a_cell_sends_no_codes_to_the_terminal(void **state)
{
    (void)state;
    char out[32];
    table_clean(out, sizeof out,
                "a\033[2Jb\x7f\nc\xc2\x9b"
                "31md");
    assert_string_equal(out, "a?[2Jb??c?31md");
    table_clean(out, sizeof out, "gr\xc3\xbc\xc3\x9f \xc2\xa0");
    assert_string_equal(out, "gr\xc3\xbc\xc3\x9f \xc2\xa0");
}

/* --- numbers about itself --- */

static void every_loss_is_counted_under_its_own_name(void **state)
{
    (void)state;
    const struct collector_stats collector = {.samples = 100, .posts_dropped = 7};
    const struct engine_stats engine = {.posts_dropped = 5};
    const struct store_stats store = {.samples_dropped = 3};
    const struct analysis_stats analysis = {.judged = 90, .failures = 2, .queue = 11};
    struct exporter_self self;
    self_fill(&collector, &engine, &store, &analysis, &self);
    assert_int_equal(self.samples, 100);
    assert_int_equal(self.samples_dropped, 3);
    assert_int_equal(self.collector_drops, 7);
    assert_int_equal(self.engine_drops, 5);
    assert_int_equal(self.verdict_failures, 2);
    assert_int_equal(self.analyser_queue, 11);
}

static void an_engine_without_a_turn_for_ten_seconds_is_not_ready_and_its_store_not_ok(void **state)
{
    (void)state;
    static const struct {
        int64_t turn_age_ms;
        bool store_ok;
        const char *trouble; /* NULL: none */
    } rows[] = {
        {0, true, NULL},
        {9999, true, NULL},
        {10001, true, "no turn of the engine has ended for 10 s"},
        {10001, false, "no turn of the engine has ended for 10 s"},
        {300, false, "the store cannot commit"},
    };
    const struct collector_stats collector = {0};
    const struct store_stats store = {0};
    const struct analysis_stats analysis = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct engine_stats engine = {.turn_age_ms = rows[i].turn_age_ms,
                                            .store_ok = rows[i].store_ok};
        const char *trouble = self_trouble(&engine);
        assert_int_equal(trouble == NULL, rows[i].trouble == NULL);
        if (trouble != NULL)
            assert_non_null(strstr(trouble, rows[i].trouble));
        struct exporter_self self;
        self_fill(&collector, &engine, &store, &analysis, &self);
        assert_int_equal(self.turn_age_ms, rows[i].turn_age_ms);
        assert_int_equal(self.store_ok, rows[i].trouble == NULL);
    }
}

/* --- worlds --- */

static void on_event(void *ctx, const struct hv_event *event)
{
    (void)ctx;
    (void)event;
}

static bool load(const char *text, struct err *err)
{
    char file[32];
    const struct hv_event_sink events = {on_event, NULL};
    struct scenario scenario = {0};
    write_file(file, text);
    OWNED(sim) sim = sim_new(1, 0, &events, err);
    bool loaded = scenario_load(file, sim, &scenario, err);
    scenario_fini(&scenario);
    (void)unlink(file);
    return loaded;
}

static bool count_object(void *ctx, const struct store_object *row)
{
    unsigned *seen = ctx;
    bool is_policy = text_equal(row->kind, "MigrationPolicy");
    assert_string_equal(row->name, is_policy ? "databases" : "small");
    assert_string_equal(row->ns, is_policy ? "" : "shop");
    (*seen)++;
    return true;
}

static void the_demo_has_a_policy_a_quota_and_a_guest_that_stays(void **state)
{
    (void)state;
    struct err err = {0};
    struct scenario scenario;
    const struct hv_event_sink events = {on_event, NULL};
    OWNED(sim) sim = sim_new(1, 0, &events, &err);
    assert_true(scenario_load("demo", sim, &scenario, &err));
    assert_int_equal(scenario.n_hosts, 2);
    assert_string_equal(scenario.hosts[1].uri, "sim://ferry-b");
    assert_int_equal(sim_guest_count(sim), 5);
    assert_string_equal(scenario.host_settings[1].labels, "{\"zone\":\"b\"}");
    assert_int_equal(scenario.n_objects, 2);
    assert_int_equal(scenario.objects[0].kind, OBJECT_POLICY);
    assert_int_equal(scenario.objects[1].kind, OBJECT_QUOTA);
    OWNED(store) store = store_sqlite_open(NULL, &err);
    assert_true(scenario_seed(&scenario, store, 5, &err));
    unsigned seen = 0;
    assert_true(store->ops->each_object(store, count_object, &seen, &err));
    assert_int_equal(seen, 2);
    scenario_fini(&scenario);
}

static void a_wrong_scenario_is_refused_with_line_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"hosts: []\n", "1 to"},
        {"guests: []\n", "hosts"},
        {"hosts: [{name: A}]\n", "DNS label"},
        {"hosts: [{name: a, cpu: 1}]\n", "cpus"},
        {"hosts: [{name: a, memory: lots}]\n", "2Gi"},
        {"hosts: [{name: a, libvirt: 11.3}]\n", "libvirt '11.3' is not a version like"},
        {"hosts: [{name: a, qemu: 10.0.1x}]\n", "qemu '10.0.1x' is not a version like"},
        {"hosts: [{name: a, qemu: 10.-1.1}]\n", "qemu '10.-1.1' is not a version like"},
        {"hosts: [{name: a}]\nguests: [{name: g}]\n", ":2: "},
        {"hosts: [{name: a}]\nguests: [{name: g, host: b}]\n", ":2: "},
        {"hosts: [{name: a}]\nfaults: [{kind: nonsense}]\n", "nonsense"},
        {"hosts: [{name: a, labels: [x]}]\n", "labels"},
        {"hosts: [{name: a}]\nguests: [{name: g, host: a, evictionStrategy: Up}]\n", "Up"},
        {"hosts: [{name: a}]\nguests: [{name: g, host: a, label: {}}]\n", "labels"},
        {"hosts: [{name: a}]\nobjects: [{kind: Drain, name: d, spec: {}}]\n", "none of"},
        {"hosts: [{name: a}]\nobjects: [{kind: ResourceQuota, name: q, spec: {}}]\n",
         "'namespace'"},
        {"hosts: [{name: a}]\nobjects:\n- {kind: MigrationPolicy, name: p, spec: {x: 1}}\n",
         ":3: "},
        {"hosts: [{name: a}]\nobjects: [{kind: MigrationPolicy, name: P, spec: {}}]\n", "DNS"},
        {"hosts: [{name: a}]\nobjects: [{kind: MigrationPolicy, name: p}]\n", "'spec'"},
        {"hosts: [{name: a}]\nfaults: [{kind: kill-target-qemu, guest: x}]\n", "unknown guest 'x'"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        if (load(rows[i].text, &err) || strstr(err.text, rows[i].what) == NULL)
            fail_msg("row %zu: '%s'", i, err.text);
    }
    struct err err = {0};
    assert_true(load("hosts: [{name: a}]\nguests: [{name: g, host: a}]\n"
                     "faults: [{kind: guest-poweroff, guest: g, at: 5}]\n",
                     &err));
}

/* --- the relay --- */

static bool answer_cancel(void *ctx, const char *ns, const char *name, const char *requester,
                          bool remove, struct err *err)
{
    (void)ns, (void)name, (void)requester, (void)remove, (void)err;
    struct wiring *wiring = ctx;
    assert_int_equal(wiring_waiting(wiring), 1);
    wiring_close(wiring); /* a stop that begins while this request is inside */
    return true;
}

static void a_closed_wiring_refuses_but_lets_pending_requests_finish(void **state)
{
    (void)state;
    struct wiring wiring = {0};
    struct err err = {0};
    wiring.requests = (struct engine_requests){.ctx = &wiring, .cancel = answer_cancel};
    struct engine_requests port = wiring_requests(&wiring);
    assert_true(port.cancel(port.ctx, "", "", "", false, &err));
    assert_int_equal(wiring_waiting(&wiring), 0);
    assert_false(port.cancel(port.ctx, "", "", "", false, &err));
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_int_equal(wiring_waiting(&wiring), 0);
    wiring_fini(&wiring);
}

static void ferry_is_in_trouble_when_nothing_is_committed_or_no_turn_ends(void **state)
{
    (void)state;
    static const struct {
        struct engine_stats stats;
        const char *says; /* NULL: no trouble */
    } rows[] = {
        {{.store_ok = true, .turn_age_ms = SELF_TURN_AGE_MAX_MS}, NULL},
        {{.store_ok = true, .turn_age_ms = SELF_TURN_AGE_MAX_MS + 1}, "no turn of the engine"},
        {{.store_ok = false}, "the store cannot commit"},
        {{.store_ok = false, .turn_age_ms = SELF_TURN_AGE_MAX_MS + 1}, "no turn of the engine"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *trouble = self_trouble(&rows[i].stats);
        if (rows[i].says == NULL)
            assert_null(trouble);
        else
            assert_ptr_equal(strstr(trouble, rows[i].says), trouble);
    }
}

TEST_FILE(test_cli_serve)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ferry_is_in_trouble_when_nothing_is_committed_or_no_turn_ends),
        cmocka_unit_test(a_guest_migrates_through_the_whole_appliance),
        cmocka_unit_test(each_key_that_is_no_longer_used_is_warned_of_once_at_start),
        cmocka_unit_test(a_slow_migration_outlasts_a_wait_and_is_aborted_once),
        cmocka_unit_test(wrong_usage_is_status_two),
        cmocka_unit_test(too_few_file_descriptors_are_refused_at_the_start_with_the_number),
        cmocka_unit_test(more_hosts_and_more_migrations_need_more_descriptors),
        cmocka_unit_test(a_wait_ends_in_time_although_the_appliance_hangs),
        cmocka_unit_test(a_migration_that_is_gone_ends_the_wait),
        cmocka_unit_test(a_change_without_an_answer_is_in_doubt_a_read_is_not),
        cmocka_unit_test(closed_and_full_standard_files_do_no_harm),
        cmocka_unit_test(a_cell_sends_no_codes_to_the_terminal),
        cmocka_unit_test(every_loss_is_counted_under_its_own_name),
        cmocka_unit_test(
            an_engine_without_a_turn_for_ten_seconds_is_not_ready_and_its_store_not_ok),
        cmocka_unit_test(the_demo_has_a_policy_a_quota_and_a_guest_that_stays),
        cmocka_unit_test(a_wrong_scenario_is_refused_with_line_and_reason),
        cmocka_unit_test(a_closed_wiring_refuses_but_lets_pending_requests_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
