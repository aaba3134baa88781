/* test_libvirt_plug.c - what a target is told about a guest whose stored definition was edited:
 * only where its interfaces lead has changed. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

#define GUEST(devices) "<domain type='kvm'><name>web</name><devices>" devices "</devices></domain>"
#define NIC(type, mac, rest) \
    "<interface type='" type "'><mac address='" mac "'/>" rest "</interface>"
#define A "52:54:00:00:00:0a"
#define UPPER_A "52:54:00:00:00:0A"
#define B "52:54:00:00:00:0b"

static const struct story {
    const char *name, *live, *stored;
    const char *has, *lacks; /* of what the target is told */
} stories[] = {
    {"another network",
     NIC("network", A, "<source network='blue' portid='1' bridge='b'/><model type='virtio'/>"),
     NIC("network", A, "<source network='red'/>"),
     "<mac address='" A "'/><model type='virtio'/><source network='red'/>", "blue"},
    {"the same network is left as it is",
     NIC("network", A, "<source network='blue' portid='1' bridge='b'/>"),
     NIC("network", A, "<source network='blue'/>"), "portid='1' bridge='b'", "red"},
    {"from a network to a bridge", NIC("network", A, "<source network='blue'/>"),
     NIC("bridge", A, "<source bridge='br0'/>"), "interface type='bridge'", "network"},
    {"from one bridge to another", NIC("bridge", A, "<source bridge='br0'/>"),
     NIC("bridge", UPPER_A, "<source bridge='br1'/>"), "bridge='br1'", "br0"},
    {"the port of the old network does not follow",
     NIC("network", A, "<source network='blue'/><virtualport type='openvswitch'/>"),
     NIC("network", A, "<source network='red'/><vlan><tag id='7'/></vlan>"), "<tag id='7'/>",
     "openvswitch"},
    {"another interface's wish is not this one's", NIC("network", A, "<source network='blue'/>"),
     NIC("network", B, "<source network='red'/>"), "network='blue'", "red"},
    {"the other half of a team keeps its place",
     NIC("network", A, "<source network='blue'/><teaming type='persistent'/>"),
     NIC("network", A, "<source network='red'/><teaming type='transient' persistent='n'/>"),
     "network='blue'", "red"},
    {"a device is not exchanged", NIC("hostdev", A, "<source><address type='pci'/></source>"),
     NIC("network", A, "<source network='red'/>"), "type='hostdev'", "red"},
    {"nor becomes one", NIC("network", A, "<source network='blue'/>"),
     NIC("hostdev", A, "<source><address type='pci'/></source>"), "network='blue'", "hostdev"},
};

static void canonical(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '"' ? '\'' : *c;
}

static void interfaces_get_the_networks_of_the_persistent_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        char live[2048], stored[2048];
        struct err err = {0};
        (void)snprintf(live, sizeof live, GUEST("%s"), stories[i].live);
        (void)snprintf(stored, sizeof stored, GUEST("%s"), stories[i].stored);
        OWNED_TEXT text = libvirt_plugged(live, stored, &err);
        print_message("%s\n", stories[i].name);
        assert_non_null(text);
        canonical(text);
        assert_non_null(strstr(text, stories[i].has));
        assert_null(strstr(text, stories[i].lacks));
        assert_non_null(strstr(text, "<name>web</name>"));
    }
}

static void without_a_persistent_definition_interfaces_stay(void **state)
{
    (void)state;
    static const char *const nothing[] = {"", "<domain/>", "no XML"};
    for (size_t i = 0; i < COUNT(nothing); i++) {
        struct err err = {0};
        OWNED_TEXT text =
            libvirt_plugged(GUEST(NIC("network", A, "<source network='blue'/>")), nothing[i], &err);
        assert_non_null(text);
        canonical(text);
        assert_string_equal(text, GUEST(NIC("network", A, "<source network='blue'/>")));
    }
}

static void what_is_no_definition_is_not_sent(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "no XML", "<network/>", "<!DOCTYPE domain><domain/>"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct err err = {0};
        assert_null(libvirt_plugged(texts[i], GUEST(""), &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

TEST_FILE(test_libvirt_plug)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interfaces_get_the_networks_of_the_persistent_definition),
        cmocka_unit_test(without_a_persistent_definition_interfaces_stay),
        cmocka_unit_test(what_is_no_definition_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
