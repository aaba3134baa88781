/* test_pending_change.c - pending changes that need a migration: rows of what differs. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/definition/pending_change.h"

#define A "52:54:00:00:00:0a"
#define B "52:54:00:00:00:0b"

enum { NICS = 3 };
struct nic {
    const char *mac, *type, *source;
    bool transient;
};

static const struct story {
    const char *name;
    struct nic live[NICS], persistent[NICS];
    enum pending_change_kind is;
    const char *detail;
} stories[] = {
    {"they agree", {{A, "network", "blue", 0}}, {{A, "network", "blue", 0}}, PENDING_CHANGE_NO, ""},
    {"neither has any", {{0}}, {{0}}, PENDING_CHANGE_NO, ""},
    {"in another order",
     {{A, "network", "blue", 0}, {B, "bridge", "br0", 0}},
     {{B, "bridge", "br0", 0}, {A, "network", "blue", 0}},
     PENDING_CHANGE_NO,
     ""},
    {"moved to another network",
     {{A, "network", "blue", 0}},
     {{A, "network", "red", 0}},
     PENDING_CHANGE_NOW,
     "interface " A " changes from network blue to network red"},
    {"moved from a bridge to a network",
     {{A, "bridge", "br0", 0}},
     {{A, "network", "br0", 0}},
     PENDING_CHANGE_NOW,
     "interface " A " changes from bridge br0 to network br0"},
    {"moved to the guest's own process",
     {{A, "network", "blue", 0}},
     {{A, "user", "", 0}},
     PENDING_CHANGE_NOW,
     "interface " A " changes from network blue to type user"},
    {"added",
     {{A, "network", "blue", 0}},
     {{A, "network", "blue", 0}, {B, "network", "red", 0}},
     PENDING_CHANGE_SOON,
     "interface " B " (network red) was added"},
    {"a device of the host was added",
     {{A, "network", "blue", 0}},
     {{A, "network", "blue", 0}, {B, "hostdev", "0000:01:00.1", 0}},
     PENDING_CHANGE_NOW,
     "interface " B " (hostdev 0000:01:00.1) was added"},
    {"a vDPA device of the host was added",
     {{0}},
     {{B, "vdpa", "/dev/vhost-vdpa-0", 0}},
     PENDING_CHANGE_NOW,
     "interface " B " (vdpa /dev/vhost-vdpa-0) was added"},
    {"taken away",
     {{A, "network", "blue", 0}, {B, "network", "red", 0}},
     {{A, "network", "blue", 0}},
     PENDING_CHANGE_SOON,
     "interface " B " (network red) was removed"},
    {"a device of the host was taken away",
     {{B, "hostdev", "0000:01:00.1", 0}},
     {{0}},
     PENDING_CHANGE_SOON,
     "interface " B " (hostdev 0000:01:00.1) was removed"},
    {"the first hit of the persistent definition decides",
     {{A, "network", "blue", 0}},
     {{B, "network", "red", 0}, {A, "network", "red", 0}},
     PENDING_CHANGE_SOON,
     "interface " B " (network red) was added"},
    {"the persistent definition comes before the live one",
     {{B, "network", "blue", 0}, {A, "network", "blue", 0}},
     {{A, "network", "red", 0}},
     PENDING_CHANGE_NOW,
     "interface " A " changes from network blue to network red"},
    {"without an address nothing can be compared",
     {{"", "network", "blue", 0}},
     {{"", "network", "red", 0}},
     PENDING_CHANGE_NO,
     ""},
    {"the halves of a team share their address",
     {{A, "hostdev", "x", 1}, {A, "network", "blue", 0}},
     {{A, "network", "blue", 0}, {A, "hostdev", "x", 1}},
     PENDING_CHANGE_NO,
     ""},
    {"one half of a team moves",
     {{A, "hostdev", "x", 1}, {A, "network", "blue", 0}},
     {{A, "network", "red", 0}, {A, "hostdev", "x", 1}},
     PENDING_CHANGE_NOW,
     "interface " A " changes from network blue to network red"},
};

static void fill(struct hv_definition *d, const struct nic *nics)
{
    memset(d, 0, sizeof *d);
    for (size_t i = 0; i < NICS && nics[i].mac != NULL; i++) {
        struct hv_interface *interface = &d->interfaces[d->n_interfaces++];
        TEXT_SET(interface->mac, nics[i].mac);
        TEXT_SET(interface->type, nics[i].type);
        TEXT_SET(interface->source, nics[i].source);
        interface->transient = nics[i].transient;
    }
}

/* Written again: would a migration that plugs interfaces as stored leave any difference less? */
static bool plugging_changes(const struct hv_definition *d)
{
    struct hv_definition *after = calloc(1, sizeof *after);
    assert_non_null(after);
    *after = d[0];
    pending_change_plug(after, &d[1]);
    bool changes = memcmp(after, &d[0], sizeof *after) != 0;
    free(after);
    return changes;
}

static void each_difference_requires_what_its_row_says(void **state)
{
    struct hv_definition *d = *state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct pending_change pending_change;
        fill(&d[0], stories[i].live);
        fill(&d[1], stories[i].persistent);
        pending_change_evaluate(&d[0], &d[1], &pending_change);
        print_message("%s\n", stories[i].name);
        assert_int_equal(pending_change.is, stories[i].is);
        assert_string_equal(pending_change.detail, stories[i].detail);
        assert_int_equal(pending_change.hash != 0, stories[i].is != PENDING_CHANGE_NO);
        assert_int_equal(pending_change.cures, plugging_changes(d));
        bool is_moved = strstr(pending_change.detail, " changes from ") != NULL &&
                        strstr(pending_change.detail, "to type user") == NULL;
        assert_int_equal(pending_change.todo == NULL,
                         pending_change.is == PENDING_CHANGE_NO || is_moved);
    }
}

/* Law: with one definition not known, or a guest that agrees with itself, nothing is required. */
static void what_is_not_known_requires_nothing(void **state)
{
    struct hv_definition *d = *state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct pending_change pending_change;
        fill(&d[0], stories[i].live);
        fill(&d[1], stories[i].persistent);
        pending_change_evaluate(&d[0], NULL, &pending_change);
        assert_int_equal(pending_change.is, PENDING_CHANGE_NO);
        pending_change_evaluate(NULL, &d[1], &pending_change);
        assert_int_equal(pending_change.is, PENDING_CHANGE_NO);
        pending_change_evaluate(&d[1], &d[1], &pending_change);
        assert_int_equal(pending_change.is, PENDING_CHANGE_NO);
    }
}

static void interfaces_that_did_not_fit_are_not_missed(void **state)
{
    struct hv_definition *d = *state;
    struct pending_change pending_change;
    fill(&d[0], stories[0].live);
    fill(&d[1], stories[0].live);
    d[1].n_interfaces = HV_INTERFACES_MAX;
    for (size_t i = 1; i < HV_INTERFACES_MAX; i++)
        TEXT_SET(d[1].interfaces[i].mac, B);
    pending_change_evaluate(&d[0], &d[1], &pending_change);
    assert_int_equal(pending_change.is, PENDING_CHANGE_SOON);
    d[1].cut = 1;
    pending_change_evaluate(&d[0], &d[1], &pending_change);
    assert_int_equal(pending_change.is, PENDING_CHANGE_NO);
    pending_change_evaluate(&d[1], &d[0], &pending_change);
    assert_int_equal(pending_change.is, PENDING_CHANGE_NO);
    d[1].n_interfaces = 2; /* it was disks that did not fit */
    pending_change_evaluate(&d[0], &d[1], &pending_change);
    assert_int_equal(pending_change.is, PENDING_CHANGE_SOON);
}

static void a_migration_plugs_what_is_plugged_and_nothing_else(void **state)
{
    struct hv_definition *d = *state;
    static const struct {
        struct nic live, persistent;
        const char *type, *source;
    } rows[] = {
        {{A, "network", "blue", 0}, {A, "network", "red", 0}, "network", "red"},
        {{A, "network", "blue", 0}, {A, "bridge", "br0", 0}, "bridge", "br0"},
        {{A, "bridge", "br0", 0}, {A, "network", "red", 0}, "network", "red"},
        {{A, "network", "blue", 0}, {A, "network", "red", 1}, "network", "blue"},
        {{A, "network", "blue", 0}, {B, "network", "red", 0}, "network", "blue"},
        {{A, "network", "blue", 0}, {A, "user", "", 0}, "network", "blue"},
        {{A, "hostdev", "0000:01:00.1", 0}, {A, "network", "red", 0}, "hostdev", "0000:01:00.1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct nic live[NICS] = {rows[i].live}, persistent[NICS] = {rows[i].persistent};
        fill(&d[0], live);
        fill(&d[1], persistent);
        pending_change_plug(&d[0], &d[1]);
        assert_int_equal(d[0].n_interfaces, 1);
        assert_string_equal(d[0].interfaces[0].type, rows[i].type);
        assert_string_equal(d[0].interfaces[0].source, rows[i].source);
    }
}

static void different_pending_changes_have_different_hashes(void **state)
{
    struct hv_definition *d = *state;
    static const struct nic live[NICS] = {{A, "network", "blue", 0}};
    static const struct nic requests[][NICS] = {
        {{A, "network", "red", 0}},
        {{A, "network", "green", 0}},
        {{A, "bridge", "red", 0}},
        {{B, "network", "red", 0}},
        {{A, "network", "red", 0}, {B, "network", "red", 0}},
        {{A, "network", "", 0}},
        {{0}},
    };
    uint64_t hashes[COUNT(requests)];
    for (size_t i = 0; i < COUNT(requests); i++) {
        struct pending_change pending_change, again;
        fill(&d[0], live);
        fill(&d[1], requests[i]);
        pending_change_evaluate(&d[0], &d[1], &pending_change);
        pending_change_evaluate(&d[0], &d[1], &again);
        assert_true(pending_change.hash != 0 && pending_change.hash == again.hash);
        hashes[i] = pending_change.hash;
        for (size_t j = 0; j < i; j++)
            assert_true(hashes[j] != hashes[i]);
    }
}

static int definitions_new(void **state)
{
    *state = calloc(2, sizeof(struct hv_definition));
    return *state == NULL;
}

static int definitions_free(void **state)
{
    free(*state);
    return 0;
}

TEST_FILE(test_pending_change)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_difference_requires_what_its_row_says),
        cmocka_unit_test(what_is_not_known_requires_nothing),
        cmocka_unit_test(interfaces_that_did_not_fit_are_not_missed),
        cmocka_unit_test(a_migration_plugs_what_is_plugged_and_nothing_else),
        cmocka_unit_test(different_pending_changes_have_different_hashes),
    };
    return cmocka_run_group_tests_name("required", tests, definitions_new, definitions_free);
}
