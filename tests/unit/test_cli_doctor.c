/* test_cli_doctor.c - what the facts of hosts mean for migrating between them. */
#include "tests/test.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/doctor/diagnose.h"
#include "cli/doctor/ports.h"
#include "cli/doctor/report.h"
#include "tests/unit/golden.h"

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
    enum way_step daemon, memory;
    enum result result;
    const char *text;
} pairs[] = {
    {NOTHING, CPU_IDENTICAL, WAY_OPEN, WAY_OPEN, RESULT_OK, "identical"},
    {NOTHING, CPU_SUPERSET, WAY_OPEN, WAY_OPEN, RESULT_OK, "more features"},
    {NOTHING, CPU_INCOMPATIBLE, WAY_OPEN, WAY_OPEN, RESULT_FAILED, "lacks CPU features"},
    {NOTHING, CPU_NOT_ASKED, WAY_OPEN, WAY_OPEN, RESULT_UNCHECKED, "why not"},
    {NOTHING, -1, WAY_OPEN, WAY_OPEN, RESULT_UNCHECKED, "not compared"},
    {UNREACHED_FROM, CPU_IDENTICAL, WAY_OPEN, WAY_OPEN, RESULT_FAILED, "source is unreachable"},
    {UNREACHED_TO, CPU_IDENTICAL, WAY_OPEN, WAY_OPEN, RESULT_FAILED, "target is unreachable"},
    {SAME_UUID, CPU_IDENTICAL, WAY_OPEN, WAY_OPEN, RESULT_FAILED, "uuid"},
    {SAME_NAME, CPU_IDENTICAL, WAY_OPEN, WAY_OPEN, RESULT_FAILED, "host name"},
    {OTHER_ARCH, CPU_IDENTICAL, WAY_OPEN, WAY_OPEN, RESULT_FAILED, "x86_64 and aarch64"},
    {OLDER, CPU_IDENTICAL, WAY_OPEN, WAY_OPEN, RESULT_NOTE, "7.2.22 to 6.0.0"},
    {OLDER, CPU_INCOMPATIBLE, WAY_OPEN, WAY_OPEN, RESULT_FAILED, "lacks"},
    /* the way: what was not tried is not ok */
    {NOTHING, CPU_IDENTICAL, WAY_NOT_TRIED, WAY_NOT_TRIED, RESULT_UNCHECKED, "no helper"},
    {OLDER, CPU_IDENTICAL, WAY_NOT_TRIED, WAY_NOT_TRIED, RESULT_UNCHECKED, "no helper"},
    {NOTHING, CPU_IDENTICAL, WAY_OPEN, WAY_NOT_TRIED, RESULT_UNCHECKED, "no helper"},
    {NOTHING, CPU_IDENTICAL, WAY_NO_NAME, WAY_NOT_TRIED, RESULT_FAILED, "cannot resolve the host"},
    {NOTHING, CPU_IDENTICAL, WAY_REFUSED, WAY_NOT_TRIED, RESULT_FAILED, "refuses connections"},
    {NOTHING, CPU_IDENTICAL, WAY_DEAD, WAY_NOT_TRIED, RESULT_FAILED, "daemon does not answer"},
    {NOTHING, CPU_IDENTICAL, WAY_OPEN, WAY_NO_NAME, RESULT_FAILED, "migration address"},
    {NOTHING, CPU_IDENTICAL, WAY_OPEN, WAY_DEAD, RESULT_FAILED, "migration ports do not answer"},
    {NOTHING, CPU_NOT_ASKED, WAY_DEAD, WAY_NOT_TRIED, RESULT_FAILED, "daemon does not answer"},
};

static void a_pair_is_ok_only_if_all_of_it_was_tried(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct diagnosis from = healthy(&host_a, "one"), to = healthy(&host_b, "two");
        struct pair_facts facts = {pairs[i].cpu,
                                   "why not",
                                   {pairs[i].daemon, pairs[i].memory, "b.example:16514", "b:49215",
                                    "no helper"}};
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
        diagnose_pair(&from, &to, &facts, &check);
        if (check.result != pairs[i].result || strstr(check.text, pairs[i].text) == NULL)
            fail_msg("row %zu: %s: %s", i, result_name(check.result), check.text);
    }
}

static const struct port_row {
    const char *uri;
    unsigned port;
} ports[] = {
    {"qemu+tls://h1/system", 16514},          {"qemu://h1/system", 16514},
    {"qemu+tcp://10.0.0.1/system", 16509},    {"qemu+ssh://root@h1/system", 22},
    {"qemu+ssh://root@h1:2222/system", 2222}, {"qemu+tls://[fd00::1]:17000/system", 17000},
    {"qemu+tls://[fd00::1]/system", 16514},   {"qemu+libssh2://h1/system?keyfile=/x:1", 22},
};

static void a_uri_gives_the_port_of_the_daemon(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ports); i++)
        assert_int_equal(diagnose_uri_port(ports[i].uri), ports[i].port);
}

/* --- certificates, clocks, directories --- */

enum { NOW_S = 1800000000, DAY_S = 86400 };

static const struct end_row {
    bool tls, has_helper;
    int64_t daemon_days, qemu_days; /* 0: not known; qemu -1: no such file */
    enum result result;
    const char *text;
} ends[] = {
    {false, false, 90, 0, RESULT_OK, "valid"},
    {false, false, -1, 0, RESULT_FAILED, "expired: the daemon's certificate"},
    {false, false, 13, 0, RESULT_NOTE, "less than 14 days left"},
    {true, false, 90, 0, RESULT_UNCHECKED, "QEMU's"},
    {true, true, 90, 80, RESULT_OK, "valid"},
    {true, true, 90, 3, RESULT_NOTE, "/etc/pki/qemu/ca-cert.pem"},
    {true, true, 90, -1, RESULT_FAILED, "/etc/pki/qemu/ca-cert.pem is missing"},
    {false, false, 0, 0, RESULT_UNCHECKED, "the daemon's"},
};

static void certificates_are_ok_only_if_read_and_not_about_to_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct hv_host host = host_b;
        struct diagnosis p = healthy(&host, "b");
        struct check checks[CHECK_COUNT];
        host.tls = ends[i].tls;
        p.now_s = NOW_S;
        p.server.asked = ends[i].daemon_days != 0;
        p.server.end_s = NOW_S + ends[i].daemon_days * DAY_S;
        p.facts_known = ends[i].has_helper;
        for (size_t f = 0; f < HOSTD_FACTS; f++)
            p.seen.at[f] = ends[i].qemu_days < 0 ? 0 : NOW_S + ends[i].qemu_days * DAY_S;
        p.seen.at[HOSTD_FACT_CA_END] = p.seen.at[HOSTD_FACT_SERVER_END] = NOW_S + 365 * DAY_S;
        p.seen.at[HOSTD_FACT_CLIENT_END] = HOSTD_FACT_UNKNOWN;
        diagnose_host(&p, 1, 0, checks);
        const struct check *check = &checks[CHECK_CERTIFICATES];
        if (check->result != ends[i].result || strstr(check->text, ends[i].text) == NULL)
            fail_msg("row %zu: %s: %s", i, result_name(check->result), check->text);
    }
}

static void clock_and_userfaultfd_are_what_the_helper_sees(void **state)
{
    (void)state;
    struct diagnosis p = healthy(&host_a, "a");
    struct check checks[CHECK_COUNT];
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_CLOCK].result, RESULT_UNCHECKED);
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_UNCHECKED);
    p.facts_known = true;
    p.clock_off_ms = -1900;
    p.seen.at[HOSTD_FACT_USERFAULTFD] = 1;
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_CLOCK].result, RESULT_OK);
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_OK);
    p.clock_off_ms = -3000;
    p.seen.at[HOSTD_FACT_USERFAULTFD] = 0;
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_CLOCK].result, RESULT_NOTE);
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_NOTE);
    p.clock_doubt_ms = 1500; /* the question took 3 s: nobody knows */
    diagnose_host(&p, 1, 0, checks);
    assert_int_equal(checks[CHECK_CLOCK].result, RESULT_OK);
}

static enum result storage_of(const char *one, const char *two, enum err_code failed)
{
    struct diagnosis d[] = {healthy(&host_a, "a"), healthy(&host_b, "b")};
    const char *identities[] = {one, two};
    struct check checks[CHECK_COUNT];
    for (size_t i = 0; i < 2; i++) {
        d[i].n_paths = 1;
        d[i].paths[0] = (struct path_seen){.path = "/srv", .asked = true};
        TEXT_SET(d[i].paths[0].identity, identities[i]);
    }
    d[0].paths[0].err.code = failed;
    diagnose_host(d, 2, 0, checks);
    return checks[CHECK_STORAGE].result;
}

static void shared_paths_are_ok_only_if_all_hosts_have_the_same(void **state)
{
    (void)state;
    assert_int_equal(storage_of("network:6969:2", "network:6969:2", ERR_NONE), RESULT_OK);
    assert_int_equal(storage_of("network:6969:2", "local:ef53:2", ERR_NONE), RESULT_FAILED);
    assert_int_equal(storage_of("", "network:6969:2", ERR_NOT_FOUND), RESULT_FAILED);
    assert_int_equal(storage_of("", "network:6969:2", ERR_INVALID), RESULT_UNCHECKED);
    assert_int_equal(storage_of("network:6969:2", "", ERR_NONE), RESULT_UNCHECKED);
    assert_int_equal(storage_of("fuse:1:2", "fuse:1:3", ERR_NONE), RESULT_NOTE);
}

static void a_local_uri_without_peer_uri_fails(void **state)
{
    (void)state;
    static const struct hv_host local = {.name = "c", .uri = "qemu:///system"};
    struct diagnosis d[] = {healthy(&local, "c"), healthy(&host_a, "a")};
    struct check checks[CHECK_COUNT];
    diagnose_host(d, 1, 0, checks);
    assert_int_equal(checks[CHECK_PEER].result, RESULT_NOTE);
    diagnose_host(d, 2, 0, checks);
    assert_int_equal(checks[CHECK_PEER].result, RESULT_FAILED);
    diagnose_host(d, 2, 1, checks); /* resolves nowhere that we know of */
    assert_int_equal(checks[CHECK_PEER].result, RESULT_UNCHECKED);
    TEXT_SET(d[1].peer_ip, "10.0.0.1");
    diagnose_host(d, 2, 1, checks);
    assert_int_equal(checks[CHECK_PEER].result, RESULT_OK);
}

/* --- the report --- */

enum { FLEET = 60, DOWN = 6, NAMELESS = 22, OLD_CPU = 40, LAX = 51 };

/* Hosts that Ferry only watches need nothing that a migration of its own would. */
static void a_host_in_observe_mode_needs_no_peer_uri(void **state)
{
    (void)state;
    static const struct hv_host watched = {
        .name = "w", .uri = "qemu:///system?socket=/x/libvirt-sock-ro", .observe = true};
    struct diagnosis d[] = {healthy(&watched, "w"), healthy(&host_b, "b")};
    struct check checks[CHECK_COUNT] = {0}, pair = {0};
    const struct way untried = {.why = ""};
    const struct pair_facts facts = {CPU_NOT_ASKED, "", untried};
    diagnose_host(d, 2, 0, checks);
    assert_int_equal(checks[CHECK_PEER].result, RESULT_NOTE);
    assert_non_null(strstr(checks[CHECK_REACHABLE].text, "read-only"));
    diagnose_pair(&d[0], &d[1], &facts, &pair);
    assert_int_equal(pair.result, RESULT_NOTE);
    assert_non_null(strstr(pair.text, "mode observe"));
}

/* Sixty hosts, one of them down, one whose peer URI no host resolves, one with fewer CPU features,
 * and one without a helper. */
static void fill_fleet(struct hv_host *hosts, struct diagnosis *d, struct check *host_checks,
                       struct check *pairs_checks)
{
    for (size_t i = 0; i < FLEET; i++) {
        char name[HV_HOST_MAX];
        (void)snprintf(name, sizeof name, "h%zu", i + 1);
        TEXT_SET(hosts[i].name, name);
        (void)snprintf(hosts[i].uri, sizeof hosts[i].uri, "qemu+tls://%s.example/system", name);
        (void)snprintf(hosts[i].helper, sizeof hosts[i].helper, "10.0.0.%zu:7011", i + 1);
        if (i == LAX)
            hosts[i].helper[0] = '\0';
        d[i] = healthy(&hosts[i], name);
        d[i].reached = i != DOWN;
        if (i == DOWN)
            (void)err_set(&d[i].err, ERR_UNREACHABLE, "no route to host");
        d[i].tls_port = i == DOWN ? PORT_SILENT : PORT_ANSWERS;
        d[i].helper_asked = i != LAX;
        if (i == DOWN)
            (void)err_set(&d[i].helper_err, ERR_UNREACHABLE, "no route to host");
        d[i].facts_known = i != LAX && i != DOWN;
        d[i].seen.at[HOSTD_FACT_USERFAULTFD] = 1;
        d[i].now_s = NOW_S;
        d[i].server = (struct certificate_seen){.asked = i != DOWN, .end_s = NOW_S + 90 * DAY_S};
        if (i != NAMELESS)
            TEXT_SET(d[i].peer_ip, "10.0.0.1");
    }
    for (size_t i = 0; i < FLEET; i++)
        diagnose_host(d, FLEET, i, &host_checks[i * CHECK_COUNT]);
    for (size_t i = 0; i < (size_t)FLEET * FLEET; i++) {
        size_t from = i / FLEET, to = i % FLEET;
        struct pair_facts facts = {to == OLD_CPU ? CPU_INCOMPATIBLE : CPU_IDENTICAL,
                                   "",
                                   {.daemon = WAY_OPEN, .memory = WAY_OPEN}};
        if (to == NAMELESS)
            facts.way = (struct way){.daemon = WAY_NO_NAME, .daemon_at = "h23.example:16514"};
        if (from == LAX)
            facts.way =
                (struct way){.why = "the source has no helper (ferry hostd) that could try"};
        if (from != to)
            diagnose_pair(&d[from], &d[to], &facts, &pairs_checks[i]);
    }
}

static void sixty_hosts_fit_a_screen_and_json_has_all(void **state)
{
    (void)state;
    static struct hv_host hosts[FLEET];
    static struct diagnosis diagnoses[FLEET];
    static struct check host_checks[FLEET * CHECK_COUNT], pair_checks[FLEET * FLEET];
    fill_fleet(hosts, diagnoses, host_checks, pair_checks);
    const struct report report = {FLEET, hosts, host_checks, pair_checks};
    struct buf page;
    buf_init(&page, 1 << 20);
    assert_true(report_page(&report, 120, false, &page));
    OWNED_TEXT text = buf_take(&page);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_true(lines <= 50);
    assert_golden(text, "tests/golden/doctor.txt");

    OWNED(json_object) json = json_object_new_object();
    report_json(&report, json);
    assert_int_equal(json_object_array_length(json_at(json, "pairs")), FLEET * (FLEET - 1));
    assert_int_equal(json_object_array_length(json_at(json, "hosts")), FLEET * CHECK_COUNT);
    struct report_counts counts = report_count(&report);
    int64_t failures = 0, unchecked = 0;
    struct err err = {0};
    assert_true(json_get_i64(json, "failures", 0, &failures, &err));
    assert_true(json_get_i64(json, "notChecked", 0, &unchecked, &err));
    assert_int_equal(failures, counts.of[RESULT_FAILED]);
    assert_int_equal(unchecked, counts.of[RESULT_UNCHECKED]);
}

static void a_page_of_scattered_pairs_is_bounded(void **state)
{
    (void)state;
    static struct hv_host hosts[FLEET];
    static struct diagnosis diagnoses[FLEET];
    static struct check host_checks[FLEET * CHECK_COUNT], pair_checks[FLEET * FLEET];
    fill_fleet(hosts, diagnoses, host_checks, pair_checks);
    for (size_t i = 0; i < (size_t)FLEET * FLEET; i++)
        if (((uint32_t)i * 2654435761u >> 16) % 3 == 1) {
            pair_checks[i].result = RESULT_FAILED;
            TEXT_SET(pair_checks[i].text, "scattered");
        }
    const struct report report = {FLEET, hosts, host_checks, pair_checks};
    struct buf page;
    buf_init(&page, 1 << 20);
    assert_true(report_page(&report, 0, false, &page));
    OWNED_TEXT text = buf_take(&page);
    assert_non_null(strstr(text, " pairs more"));
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_true(lines <= 80);
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
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_UNCHECKED);
    assert_int_equal(checks[CHECK_CLOCK].result, RESULT_UNCHECKED);
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
    assert_int_equal(checks[CHECK_IDENTITY].result, RESULT_UNCHECKED);
}

static void duplicate_identities_and_old_hosts_are_found(void **state)
{
    (void)state;
    struct diagnosis diagnoses[] = {healthy(&host_a, "one"), healthy(&host_b, "one")};
    struct check checks[CHECK_COUNT];
    diagnoses[0].facts.hypervisor_version = 2004000;
    diagnose_host(diagnoses, 2, 0, checks);
    assert_int_equal(checks[CHECK_IDENTITY].result, RESULT_FAILED);
    assert_string_equal(checks[CHECK_IDENTITY].detail, "as b");
    assert_int_equal(checks[CHECK_POSTCOPY].result, RESULT_FAILED);
    for (unsigned same = 0; same < 4; same++) { /* its uuid, its name */
        TEXT_SET(diagnoses[1].facts.uuid, (same & 1) != 0 ? diagnoses[0].facts.uuid : "two");
        TEXT_SET(diagnoses[1].facts.hostname, (same & 2) != 0 ? diagnoses[0].facts.hostname : "b");
        diagnose_host(diagnoses, 2, 0, checks);
        assert_int_equal(checks[CHECK_IDENTITY].result, same == 0 ? RESULT_OK : RESULT_FAILED);
    }
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
    const struct pair_facts facts = {CPU_IDENTICAL, "", {WAY_OPEN, WAY_OPEN, "", "", ""}};
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
    diagnose_pair(&old, &new, &facts, &pair); /* it leaves from there */
    assert_int_equal(pair.result, RESULT_FAILED);
    assert_non_null(strstr(pair.text, "upgrade its libvirt"));
    diagnose_pair(&new, &old, &facts, &pair);
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
    assert_int_equal(checks[CHECK_HELPER].result, RESULT_UNCHECKED); /* no time for it */
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
    assert_int_equal(checks[CHECK_TLS].result, RESULT_UNCHECKED);
    assert_int_equal(checks[CHECK_CERTIFICATES].result, RESULT_UNCHECKED);
}

TEST_FILE(test_cli_doctor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_gives_host_tls_and_system),
        cmocka_unit_test(the_guests_cpu_is_the_supported_host_model),
        cmocka_unit_test(a_pair_is_ok_only_if_all_of_it_was_tried),
        cmocka_unit_test(a_uri_gives_the_port_of_the_daemon),
        cmocka_unit_test(certificates_are_ok_only_if_read_and_not_about_to_end),
        cmocka_unit_test(clock_and_userfaultfd_are_what_the_helper_sees),
        cmocka_unit_test(shared_paths_are_ok_only_if_all_hosts_have_the_same),
        cmocka_unit_test(a_local_uri_without_peer_uri_fails),
        cmocka_unit_test(a_host_in_observe_mode_needs_no_peer_uri),
        cmocka_unit_test(sixty_hosts_fit_a_screen_and_json_has_all),
        cmocka_unit_test(a_page_of_scattered_pairs_is_bounded),
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
