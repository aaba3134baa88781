/* test_cli_doctor.c - what the facts of hosts mean for migrating between them. */
#include "tests/test.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/diagnose.h"
#include "cli/ports.h"

static const struct hv_host host_a = {.name = "a", .uri = "qemu+tcp://10.0.0.1/system"};
static const struct hv_host host_b = {.name = "b", .uri = "qemu+tls://b.example/system"};

static struct diagnosis healthy(const struct hv_host *host, const char *tag)
{
    struct diagnosis p = {.host = host, .reached = true};
    TEXT_SET(p.facts.hostname, tag);
    TEXT_SET(p.facts.uuid, tag);
    TEXT_SET(p.facts.arch, "x86_64");
    p.facts.libvirt_version = 9000000;
    p.facts.hypervisor_version = 7002022;
    return p;
}

static const struct uri_row {
    const char *uri, *host;
    bool tls, system;
} uris[] = {
    {"qemu:///system", "", false, true},
    {"qemu:///session", "", false, false},
    {"qemu:///system?socket=/run/x/libvirt-sock", "", false, true},
    {"qemu+unix:///system?socket=/x", "", false, true},
    {"qemu://h1/system", "h1", true, true}, /* remote without a transport is TLS */
    {"qemu+tls://h1/system", "h1", true, true},
    {"qemu+tcp://10.0.0.1:16509/system", "10.0.0.1", false, true},
    {"qemu+ssh://root@h1/system", "h1", false, true},
    {"qemu+tls://[fd00::1]:16514/system", "fd00::1", true, true},
    {"qemu+ssh://u@h1/session", "h1", false, false},
    {"nonsense", "", false, true},
};

static void a_uri_gives_host_tls_and_system(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(uris); i++) {
        char host[HV_TEXT_MAX];
        bool tls, system;
        diagnose_uri(uris[i].uri, host, &tls, &system);
        if (!text_equal(host, uris[i].host) || tls != uris[i].tls || system != uris[i].system)
            fail_msg("%s: host '%s' tls %d system %d", uris[i].uri, host, tls, system);
    }
}

static void the_guests_cpu_is_the_supported_host_model(void **state)
{
    (void)state;
    OWNED_TEXT cpu = diagnose_guest_cpu("<cpu><mode name='maximum' supported='yes'><m/></mode>"
                                        "<mode name='host-model' supported='yes'>\n<model>E</model>"
                                        "</mode><mode name='custom'><model>X</model></mode></cpu>");
    assert_string_equal(cpu, "<cpu>\n<model>E</model></cpu>");
    static const char *const without[] = {
        "<domainCapabilities/>",
        "<mode name='host-model' supported='no'/><mode name='custom' supported='yes'></mode>",
        "<mode name='host-model' supported='no'></mode>",
        "<mode name='host-model' supported='yes'/><mode></mode>",
        "<mode name='host-model' supported='yes'><model>",
        "<mode name='host-model'",
    };
    for (size_t i = 0; i < COUNT(without); i++)
        assert_null(diagnose_guest_cpu(without[i]));
}

enum change { NOTHING, UNREACHED_FROM, UNREACHED_TO, SAME_UUID, SAME_NAME, OTHER_ARCH, OLDER };
static const struct pair_row {
    enum change change;
    int cpu;
    enum result result;
    const char *text;
} pairs[] = {
    {NOTHING, CPU_IDENTICAL, RESULT_OK, "identical"},
    {NOTHING, CPU_SUPERSET, RESULT_OK, "more features"},
    {NOTHING, CPU_INCOMPATIBLE, RESULT_FAILED, "lacks CPU features"},
    {NOTHING, CPU_NOT_ASKED, RESULT_NOTE, "why not"},
    {NOTHING, -1, RESULT_NOTE, "not compared"},
    {UNREACHED_FROM, CPU_IDENTICAL, RESULT_FAILED, "a is unreachable"},
    {UNREACHED_TO, CPU_IDENTICAL, RESULT_FAILED, "b is unreachable"},
    {SAME_UUID, CPU_IDENTICAL, RESULT_FAILED, "uuid"},
    {SAME_NAME, CPU_IDENTICAL, RESULT_FAILED, "host name"},
    {OTHER_ARCH, CPU_IDENTICAL, RESULT_FAILED, "x86_64 and aarch64"},
    {OLDER, CPU_IDENTICAL, RESULT_NOTE, "7.2.22 to 6.0.0"},
    {OLDER, CPU_INCOMPATIBLE, RESULT_FAILED, "lacks"},
};

static void a_pair_migrates_only_without_a_failed_check(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct diagnosis from = healthy(&host_a, "one"), to = healthy(&host_b, "two");
        struct check check;
        from.reached = pairs[i].change != UNREACHED_FROM;
        to.reached = pairs[i].change != UNREACHED_TO;
        if (pairs[i].change == SAME_UUID)
            TEXT_SET(to.facts.uuid, "one");
        if (pairs[i].change == SAME_NAME)
            TEXT_SET(to.facts.hostname, "one");
        if (pairs[i].change == OTHER_ARCH)
            TEXT_SET(to.facts.arch, "aarch64");
        if (pairs[i].change == OLDER)
            to.facts.hypervisor_version = 6000000;
        diagnose_pair(&from, &to, pairs[i].cpu, "why not", &check);
        if (check.result != pairs[i].result || strstr(check.text, pairs[i].text) == NULL)
            fail_msg("row %zu: %s: %s", i, result_name(check.result), check.text);
    }
}

static void a_healthy_host_fails_no_check_and_shows_its_notes(void **state)
{
    (void)state;
    struct diagnosis diagnoses[] = {healthy(&host_a, "one"), healthy(&host_b, "two")};
    struct check checks[CHECK_COUNT];
    diagnoses[1].tls_port = PORT_ANSWERS;
    diagnose_host(diagnoses, 2, 1, checks);
    assert_int_equal(checks[CHECK_REACHABLE].result, RESULT_OK);
    assert_string_equal(checks[CHECK_REACHABLE].text, "libvirt 9.0.0, QEMU 7.2.22");
    assert_int_equal(checks[CHECK_IDENTITY].result, RESULT_OK);
    assert_int_equal(checks[CHECK_TLS].result, RESULT_OK);
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_NOTE);
    assert_int_equal(checks[CHECK_CLOCK].result, RESULT_NOTE);
    assert_non_null(strstr(checks[CHECK_CLOCK].text, "libvirt does not report"));
}

static void an_unreachable_host_fails_once_and_is_not_checked(void **state)
{
    (void)state;
    struct diagnosis diagnoses[] = {healthy(&host_a, "one"), {.host = &host_b}};
    struct check checks[CHECK_COUNT];
    size_t failures = 0;
    TEXT_SET(diagnoses[1].err.text, "Connection refused");
    diagnose_host(diagnoses, 2, 1, checks);
    for (size_t i = 0; i < CHECK_COUNT; i++)
        failures += checks[i].result == RESULT_FAILED;
    assert_int_equal(failures, 1);
    assert_string_equal(checks[CHECK_REACHABLE].text, "Connection refused");
    /* two hosts without facts are not "the same" host */
    diagnoses[0].reached = false;
    memset(&diagnoses[0].facts, 0, sizeof diagnoses[0].facts);
    diagnose_host(diagnoses, 2, 0, checks);
    assert_int_equal(checks[CHECK_IDENTITY].result, RESULT_NOTE);
}

static void duplicate_identities_and_old_hosts_are_found(void **state)
{
    (void)state;
    struct diagnosis diagnoses[] = {healthy(&host_a, "one"), healthy(&host_b, "one")};
    struct check checks[CHECK_COUNT];
    diagnoses[0].facts.hypervisor_version = 2004000;
    diagnose_host(diagnoses, 2, 0, checks);
    assert_int_equal(checks[CHECK_IDENTITY].result, RESULT_FAILED);
    assert_non_null(strstr(checks[CHECK_IDENTITY].text, "as b"));
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_FAILED);
}

static void a_libvirt_that_crashes_on_resume_requires_an_address(void **state)
{
    (void)state;
    struct hv_host host = host_a;
    struct diagnosis diagnosis = healthy(&host, "one");
    struct check checks[CHECK_COUNT];
    diagnosis.facts.libvirt_version = 11003000;
    diagnose_host(&diagnosis, 1, 0, checks);
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_NOTE);
    assert_non_null(strstr(checks[CHECK_POSTCOPY].text, "set its 'migrationAddress'"));
    TEXT_SET(host.migration_host, "10.0.0.1");
    diagnose_host(&diagnosis, 1, 0, checks);
    assert_null(strstr(checks[CHECK_POSTCOPY].text, "migrationAddress"));
}

static void versions_that_cannot_migrate_fail_and_newer_ones_are_noted(void **state)
{
    (void)state;
    struct diagnosis old = healthy(&host_a, "one"), new = healthy(&host_b, "two");
    struct check checks[CHECK_COUNT], pair;
    diagnose_host(&old, 1, 0, checks);
    assert_int_equal(checks[CHECK_VERSIONS].result, RESULT_OK);
    new.facts.libvirt_version = 13000000;
    diagnose_host(&new, 1, 0, checks);
    assert_int_equal(checks[CHECK_VERSIONS].result, RESULT_NOTE);
    assert_non_null(
        strstr(checks[CHECK_VERSIONS].text, "newer than the versions that Ferry was tested with"));
    new.facts.hypervisor_version = 11001000; /* both notes */
    diagnose_host(&new, 1, 0, checks);
    assert_int_equal(checks[CHECK_VERSIONS].result, RESULT_NOTE);
    assert_non_null(
        strstr(checks[CHECK_VERSIONS].text, "newer than the versions that Ferry was tested with"));
    assert_non_null(strstr(checks[CHECK_VERSIONS].text, "postcopy-device"));
    old.facts.libvirt_version = 11003000;
    old.facts.hypervisor_version = 11000000;
    diagnose_host(&old, 1, 0, checks);
    assert_int_equal(checks[CHECK_VERSIONS].result, RESULT_FAILED);
    diagnose_pair(&old, &new, CPU_IDENTICAL, "", &pair); /* it leaves from there */
    assert_int_equal(pair.result, RESULT_FAILED);
    assert_non_null(strstr(pair.text, "upgrade its libvirt"));
    diagnose_pair(&new, &old, CPU_IDENTICAL, "", &pair);
    assert_int_not_equal(pair.result, RESULT_FAILED);
}

/* A loopback socket that listens; the port. */
static int listen_on(int backlog, int *out_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

static void silent_ports_are_checked_in_parallel(void **state)
{
    (void)state;
    enum { HOSTS = 40 };
    static const struct hv_host host = {.name = "a", .uri = "qemu+tcp://127.0.0.1/system"};
    static const struct hv_host local = {.name = "b", .uri = "qemu:///system"};
    static struct diagnosis diagnoses[HOSTS];
    int port, fd = listen_on(0, &port); /* takes one, then lets everybody wait */
    for (size_t i = 0; i < HOSTS; i++)
        diagnoses[i].host = i == 1 ? &local : &host;
    int64_t began = clock_mono_ms(clock_system());
    ports_ask(diagnoses, HOSTS, port, 10000);
    assert_true(clock_mono_ms(clock_system()) - began < 4 * PORTS_CONNECT_MS);
    assert_int_equal(diagnoses[0].tls_port, PORT_ANSWERS);
    assert_int_equal(diagnoses[1].tls_port, PORT_NOT_ASKED);
    assert_int_equal(diagnoses[HOSTS - 1].tls_port, PORT_SILENT);
    (void)close(fd);
    ports_ask(diagnoses, 1, port, 10000);
    assert_int_equal(diagnoses[0].tls_port, PORT_SILENT); /* refused */
    ports_ask(diagnoses, 1, port, 0);
    assert_int_equal(diagnoses[0].tls_port, PORT_NO_TIME);
}

static void a_helper_is_missing_checked_or_failed(void **state)
{
    (void)state;
    static const struct hv_host helped = {
        .name = "c", .uri = "qemu:///system", .helper = "10.0.0.1:7011"};
    struct diagnosis p = healthy(&host_a, "a");
    struct check checks[CHECK_COUNT];
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_HELPER].result, RESULT_NOTE);
    p.host = &helped;
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_HELPER].result, RESULT_NOTE); /* no time for it */
    p.helper_asked = true;
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_HELPER].result, RESULT_OK);
    (void)err_set(&p.helper_err, ERR_FORBIDDEN, "wrong secret");
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_HELPER].result, RESULT_FAILED);
    assert_string_equal(checks[CHECK_HELPER].text, "wrong secret");
}

static void tls_of_a_host_that_is_down_is_not_ok(void **state)
{
    (void)state;
    static const struct hv_host host = {.name = "h1", .uri = "qemu+tls://h1/system"};
    struct diagnosis down = {.host = &host, .tls_port = PORT_SILENT};
    struct check checks[CHECK_COUNT];
    (void)err_set(&down.err, ERR_UNREACHABLE, "no answer");
    diagnose_host(&down, 1, 0, checks);
    assert_int_equal(checks[CHECK_TLS].result, RESULT_NOTE);
    assert_non_null(strstr(checks[CHECK_TLS].text, "not checked"));
}

TEST_FILE(test_cli_doctor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_gives_host_tls_and_system),
        cmocka_unit_test(the_guests_cpu_is_the_supported_host_model),
        cmocka_unit_test(a_pair_migrates_only_without_a_failed_check),
        cmocka_unit_test(a_healthy_host_fails_no_check_and_shows_its_notes),
        cmocka_unit_test(an_unreachable_host_fails_once_and_is_not_checked),
        cmocka_unit_test(duplicate_identities_and_old_hosts_are_found),
        cmocka_unit_test(a_libvirt_that_crashes_on_resume_requires_an_address),
        cmocka_unit_test(versions_that_cannot_migrate_fail_and_newer_ones_are_noted),
        cmocka_unit_test(silent_ports_are_checked_in_parallel),
        cmocka_unit_test(a_helper_is_missing_checked_or_failed),
        cmocka_unit_test(tls_of_a_host_that_is_down_is_not_ok),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
