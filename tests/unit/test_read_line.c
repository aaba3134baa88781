/* test_read_line.c - times and lines of logs as programs write them. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyzer/read/read_line.h"
#include "analyzer/read/read_time.h"
#include "base/clock.h"
#include "base/own.h"

static void times_as_logs_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t used; /* 0: the whole text */
        const char *wall;
        int ms;
    } stories[] = {
        {"2024-03-11T09:21:07Z", 0, "2024-03-11T09:21:07Z", 0},
        {"2024-03-11T09:21:07.880123456Z", 0, "2024-03-11T09:21:07Z", 880},
        {"2024-03-11 09:21:07.915+0100", 0, "2024-03-11T08:21:07Z", 915},
        {"2024-03-11 09:21:07,915-05:30", 0, "2024-03-11T14:51:07Z", 915},
        {"2024-03-11 09:21:07", 0, "2024-03-11T09:21:07Z", 0},
        {"2024-03-11 09:21:07 +0000 UTC", 25, "2024-03-11T09:21:07Z", 0},
        {"2024-03-11 09:21:07 7 ERROR", 19, "2024-03-11T09:21:07Z", 0},
        {"2024-03-11 09:21:07 -1 left", 19, "2024-03-11T09:21:07Z", 0},
        {"2024/03/11 09:21:07.5 x", 21, "2024-03-11T09:21:07Z", 500},
        {"2024-02-29T23:59:60Z", 0, "2024-03-01T00:00:00Z", 0},
        {"Mon Mar 11 09:21:07 2024", 0, "2024-03-11T09:21:07Z", 0},
        {"Tue Jan  2 15:04:05 2024 [Z0]", 24, "2024-01-02T15:04:05Z", 0},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        int64_t wall_ms = -1;
        char text[CLOCK_TEXT_MAX];
        size_t n = strlen(stories[i].text);
        size_t used = read_time(stories[i].text, n, &wall_ms);
        clock_format_wall(wall_ms, text);
        if (used != (stories[i].used == 0 ? n : stories[i].used))
            print_message("%s: %zu bytes\n", stories[i].text, used);
        assert_int_equal(used, stories[i].used == 0 ? n : stories[i].used);
        assert_string_equal(text, stories[i].wall);
        assert_int_equal(wall_ms % 1000, stories[i].ms);
    }
}

static void times_without_a_year_are_found_and_not_known(void **state)
{
    (void)state;
    static const char *const texts[] = {"Jan  2 15:04:05", "Mar 11 09:21:07", "Mar 11 09:21:07.123",
                                        "E0607 08:00:03.123456", "Sat Mar  9 09:21:07"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t wall_ms = -1;
        assert_int_equal(read_time(texts[i], strlen(texts[i]), &wall_ms), strlen(texts[i]));
        assert_int_equal(wall_ms, 0);
    }
}

static void what_only_resembles_a_time_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "2024",
        "2024-13-01T00:00:00Z",
        "2024-01-32T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01x00:00:00Z",
        "1969-12-31T23:59:59Z",
        "Jan",
        "Jan  0 00:00:00",
        "Januar 1 00:00:00",
        "E0607 08:00:03",
        "E1307 08:00:03.1",
        "error: 2024-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t wall_ms = -1;
        if (read_time(texts[i], strlen(texts[i]), &wall_ms) != 0)
            print_message("'%s' is a time\n", texts[i]);
        assert_int_equal(read_time(texts[i], strlen(texts[i]), &wall_ms), 0);
        assert_int_equal(read_time_of(texts[i]), 0);
    }
    assert_int_equal(read_time_of(NULL), 0);
    assert_int_equal(read_time_of("2024-01-01T00:00:00Z and more"), 0);
}

/* Days that a month does not have are counted on, as the C library does. */
static void each_day_is_as_many_seconds_after_1970_as_the_c_library_counts(void **state)
{
    (void)state;
    for (int day = 0; day < (3000 - 1970) * 12 * 31; day++) {
        struct tm parts = {.tm_year = 70 + day / 372,
                           .tm_mon = day / 31 % 12,
                           .tm_mday = 1 + day % 31,
                           .tm_hour = day % 24,
                           .tm_sec = day % 61};
        char text[48];
        int n = snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:00:%02dZ", 1900 + parts.tm_year,
                         parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_sec);
        int64_t wall_ms = -1;
        assert_int_equal(read_time(text, (size_t)n, &wall_ms), n);
        assert_int_equal(wall_ms, (int64_t)timegm(&parts) * 1000);
    }
}

/* Every start of a time is no time and no crash. */
static void a_time_that_is_cut_off_is_none(void **state)
{
    (void)state;
    static const char whole[] = "2024-03-11T09:21:0";
    for (size_t n = 0; n < sizeof whole; n++) {
        int64_t wall_ms;
        assert_int_equal(read_time(whole, n, &wall_ms), 0);
    }
}

static void lines_are_parsed(void **state)
{
    (void)state;
#define T "2024-03-11 09:21:07"
    static const struct {
        const char *line, *text, *logger;
        enum level level;
        enum side side;
    } stories[] = {
        {T ".915+0100: 21: error : virNetSocketReadWire:1791 : End of file", "End of file",
         "virNetSocketReadWire:1791", LEVEL_ERROR, SIDE_UNKNOWN},
        {T ".915+0100: 21: warning : text with : colons", "text with : colons", "", LEVEL_WARNING,
         SIDE_UNKNOWN},
        {T ".915+0000: shutting down, reason=failed", "shutting down, reason=failed", "",
         LEVEL_UNKNOWN, SIDE_UNKNOWN},
        {T
         ".123 7 ERROR nova.virt.libvirt.driver [req-1 - -] [instance: 3d] Live Migration failure",
         "Live Migration failure", "nova.virt.libvirt.driver", LEVEL_ERROR, SIDE_UNKNOWN},
        {T ".123 7 TRACE nova.compute.manager [-] x", "x", "nova.compute.manager", LEVEL_ERROR,
         SIDE_UNKNOWN},
        {T ",123+0200 ERROR (migsrc/8c) [virt.vm] (vmId='8c') Failed", "Failed", "virt.vm",
         LEVEL_ERROR, SIDE_SOURCE},
        {T ",123 DEBUG [c.c.a.Agent] (Thread-1:ctx) (logid:1) sent", "(logid:1) sent",
         "c.c.a.Agent", LEVEL_DEBUG, SIDE_UNKNOWN},
        {T " [pve3] kvm: cannot open", "kvm: cannot open", "", LEVEL_UNKNOWN, SIDE_TARGET},
        {T " [VMM][E]: Error", "[VMM][E]: Error", "", LEVEL_UNKNOWN, SIDE_UNKNOWN},
        {T " ERROR: migration aborted", "migration aborted", "", LEVEL_ERROR, SIDE_UNKNOWN},
        {T " migration status: active", "migration status: active", "", LEVEL_UNKNOWN,
         SIDE_UNKNOWN},
        {"2024-03-11T09:21:07.880Z qemu-kvm: load of migration failed",
         "qemu-kvm: load of migration failed", "", LEVEL_UNKNOWN, SIDE_UNKNOWN},
        {"2024-03-11T09:21:07.880Z stderr F " T ".915+0000: 21: error : f:1 : inner", "inner",
         "f:1", LEVEL_ERROR, SIDE_UNKNOWN},
        {"Mar 11 09:21:07 alder libvirtd[2101]: Cannot recv data", "Cannot recv data", "libvirtd",
         LEVEL_UNKNOWN, SIDE_UNKNOWN},
        {"Mar 11 09:21:07 alder kernel: Out of memory", "Out of memory", "kernel", LEVEL_UNKNOWN,
         SIDE_UNKNOWN},
        {"E0607 08:00:03.123456       1 migration.go:12] \"failed\" err=\"x\"",
         "\"failed\" err=\"x\"", "migration.go:12", LEVEL_ERROR, SIDE_UNKNOWN},
        {"W0607 08:00:03.123456       1 a.go:1] w", "w", "a.go:1", LEVEL_WARNING, SIDE_UNKNOWN},
        {"TASK ERROR: migration problems", "TASK ERROR: migration problems", "", LEVEL_ERROR,
         SIDE_UNKNOWN},
        {"error: operation failed", "error: operation failed", "", LEVEL_ERROR, SIDE_UNKNOWN},
        {"nothing known", "nothing known", "", LEVEL_UNKNOWN, SIDE_UNKNOWN},
        {T, "", "", LEVEL_UNKNOWN, SIDE_UNKNOWN},
        {"", "", "", LEVEL_UNKNOWN, SIDE_UNKNOWN},
    };
#undef T
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct log_line line;
        char text[256], logger[64];
        log_line_parse(stories[i].line, strlen(stories[i].line), &line);
        (void)snprintf(text, sizeof text, "%.*s", (int)line.length, line.text);
        (void)snprintf(logger, sizeof logger, "%.*s", (int)line.logger_length, line.logger);
        if (strcmp(text, stories[i].text) != 0 || strcmp(logger, stories[i].logger) != 0)
            print_message("%s\n", stories[i].line);
        assert_string_equal(text, stories[i].text);
        assert_string_equal(logger, stories[i].logger);
        assert_int_equal(line.level, stories[i].level);
        assert_int_equal(line.side, stories[i].side);
    }
}

static void names_tell_the_side(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum side side;
    } stories[] = {
        {"logs/source/libvirtd.log", SIDE_SOURCE},
        {"qemu-dst.log", SIDE_TARGET},
        {"Destination host.txt", SIDE_TARGET},
        {"target1.log", SIDE_TARGET},
        {"resources.log", SIDE_UNKNOWN},
        {"sourceforge.txt", SIDE_UNKNOWN},
        {"retarget.log", SIDE_UNKNOWN},
        {"virt-handler-x1/current.log", SIDE_MANAGER},
        {"", SIDE_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(stories); i++)
        assert_int_equal(side_of_path(stories[i].name), stories[i].side);
}

static void a_manager_is_named_before_what_it_manages(void **state)
{
    (void)state;
    static const char text[] = "nova.compute.manager said libvirtd said qemu-kvm failed";
    assert_string_equal(system_from_words(text, sizeof text - 1), "nova");
    assert_string_equal(system_from_words("", 0), "");
}

static void a_system_is_known_by_the_words_of_its_log(void **state)
{
    (void)state;
    static const struct {
        const char *line, *system;
    } lines[] = {
        {"{\"component\":\"virt-controller\",\"level\":\"info\"}", "kubevirt"},
        {"{\"component\": \"virt-api\", \"level\": \"info\"}", "kubevirt"},
        {"apiVersion: kubevirt.io/v1", "kubevirt"},
        {"virt-launcher-vm1-abcde", "kubevirt"},
        {"pod virt-handler-x", "kubevirt"},
        {"image harvesterhci/x", "harvester"},
        {"ERROR nova.compute.manager [-]", "nova"},
        {"DEBUG nova.virt.libvirt.driver [-]", "nova"},
        {"WARNING nova.conductor.tasks.live_migrate", "nova"},
        {"systemd[1]: nova-compute stopped", "nova"},
        {"INFO  (migsrc/d3ad) [virt.vm] (vmId=1)", "ovirt"},
        {"(migsrc/d3ad) x", "ovirt"},
        {"vdsmd running", "ovirt"},
        {"/var/log/ovirt-engine/engine.log", "ovirt"},
        {"TASK ERROR: migration aborted", "proxmox"},
        {"starting migration of VM 100 to node 'b'", "proxmox"},
        {"starting VM 100 on remote node 'b'", "proxmox"},
        {"root: qm migrate 100 b", "proxmox"},
        {"DEBUG [c.c.x] com.cloud.utils", "cloudstack"},
        {"org.apache.cloudstack.engine", "cloudstack"},
        {"LibvirtMigrateCommandWrapper", "cloudstack"},
        {"[VMM][D]: Message received", "opennebula"},
        {"ganeti-noded pid=1", "ganeti"},
        {"xenopsd-xc: [error]", "xen"},
        {"xc_domain_save failed", "xen"},
        {"lxd[1]: x", "lxd"},
        {"incusd x", "incus"},
        {"2024-01-02 03:04:05.678+0000: starting up libvirt version: 9.0.0", "qemu"},
        {"virNetSocketReadWire:1791 : End of file", "libvirt"},
        {"systemd[1]: libvirtd.service", "libvirt"},
        {"virtqemud[812]: x", "libvirt"},
        {"2024-01-02 03:04:05.678+0000: 12: error : qemuMonitorIO:575 : internal", "libvirt"},
        {"2024-01-02 03:04:05.678+0000: 12: error : virHashFoo:1 : x", "libvirt"},
        {"error: operation failed: job 'migration out'", "libvirt"},
        {"qemu-system-x86_64: load of migration failed", "qemu"},
        {"qemu-kvm: Unknown savevm section", "qemu"},
        {"something else", ""},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        const char *system = system_from_words(lines[i].line, strlen(lines[i].line));
        if (strcmp(system, lines[i].system) != 0)
            fail_msg("'%s' is of '%s', not '%s'", lines[i].line, lines[i].system, system);
    }
}

TEST_FILE(test_read_line)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_as_logs_write_them),
        cmocka_unit_test(each_day_is_as_many_seconds_after_1970_as_the_c_library_counts),
        cmocka_unit_test(times_without_a_year_are_found_and_not_known),
        cmocka_unit_test(what_only_resembles_a_time_is_none),
        cmocka_unit_test(a_time_that_is_cut_off_is_none),
        cmocka_unit_test(lines_are_parsed),
        cmocka_unit_test(names_tell_the_side),
        cmocka_unit_test(a_manager_is_named_before_what_it_manages),
        cmocka_unit_test(a_system_is_known_by_the_words_of_its_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
