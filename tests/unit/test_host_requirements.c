/* test_host_requirements.c - what a guest needs of a host, from its definition; equal needs are
 * kept once. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/definition/host_requirements.h"

static void add_interface(struct hv_definition *d, const char *type, const char *source)
{
    struct hv_interface *interface = &d->interfaces[d->n_interfaces++];
    TEXT_SET(interface->type, type);
    TEXT_SET(interface->source, source);
}

static void add_disk(struct hv_definition *d, enum hv_disk_kind kind, const char *pool)
{
    struct hv_disk *disk = &d->disks[d->n_disks++];
    disk->kind = kind;
    TEXT_SET(disk->pool, pool);
}

static struct hv_definition *fresh(void **state)
{
    memset(*state, 0, sizeof(struct hv_definition));
    return *state;
}

static void an_interface_requires_what_its_type_implies(void **state)
{
    static const struct {
        const char *type, *source;
        unsigned networks, bridges;
    } stories[] = {
        {"network", "blue", 1, 0}, {"bridge", "br0", 0, 1},  {"direct", "eth0", 0, 1},
        {"user", "x", 0, 0},       {"passt", "eth0", 0, 0},  {"udp", "x", 0, 0},
        {"hostdev", "x", 0, 0},    {"vdpa", "/dev/x", 0, 0}, {"ethernet", "", 0, 0},
        {"network", "", 0, 0},     {"bridge", "", 0, 0},     {"", "x", 0, 0},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct hv_definition *d = fresh(state);
        struct host_requirements_facts facts;
        add_interface(d, stories[i].type, stories[i].source);
        host_requirements_from(d, &facts);
        print_message("%s\n", stories[i].type);
        assert_int_equal(facts.n_networks, stories[i].networks);
        assert_int_equal(facts.n_bridges, stories[i].bridges);
        if (facts.n_networks > 0)
            assert_string_equal(facts.networks[0], stories[i].source);
        if (facts.n_bridges > 0)
            assert_string_equal(facts.bridges[0], stories[i].source);
    }
}

static void only_volume_disks_need_their_pool(void **state)
{
    for (enum hv_disk_kind kind = HV_DISK_OTHER; kind <= HV_DISK_VOLUME; kind++) {
        struct hv_definition *d = fresh(state);
        struct host_requirements_facts facts;
        add_disk(d, kind, "images");
        host_requirements_from(d, &facts);
        assert_int_equal(facts.n_pools, kind == HV_DISK_VOLUME);
    }
}

static void machine_cpu_and_pages_are_taken_over(void **state)
{
    struct hv_definition *d = fresh(state);
    struct host_requirements_facts facts;
    TEXT_SET(d->arch, "x86_64");
    TEXT_SET(d->machine, "pc-q35-7.2");
    d->cpu_hash = 77;
    d->hugepage_kib = 2048;
    host_requirements_from(d, &facts);
    assert_string_equal(facts.arch, "x86_64");
    assert_string_equal(facts.machine, "pc-q35-7.2");
    assert_int_equal(facts.cpu_hash, 77);
    assert_int_equal(facts.hugepage_kib, 2048);
}

/* Law: neither order nor doubles, nor what was in the memory before, make a difference. */
static void equal_requirements_are_equal_bytes(void **state)
{
    struct host_requirements_facts one, other;
    memset(&one, 0xAA, sizeof one);
    memset(&other, 0x55, sizeof other);
    struct hv_definition *d = fresh(state);
    add_interface(d, "network", "long-name-of-a-network");
    add_interface(d, "network", "b");
    add_interface(d, "bridge", "br1");
    add_interface(d, "direct", "br0");
    add_disk(d, HV_DISK_VOLUME, "x");
    add_disk(d, HV_DISK_VOLUME, "y");
    host_requirements_from(d, &one);
    d = fresh(state);
    add_interface(d, "direct", "br1");
    add_interface(d, "network", "b");
    add_interface(d, "network", "b");
    add_interface(d, "bridge", "br0");
    add_interface(d, "network", "long-name-of-a-network");
    add_disk(d, HV_DISK_VOLUME, "y");
    add_disk(d, HV_DISK_VOLUME, "x");
    add_disk(d, HV_DISK_VOLUME, "y");
    host_requirements_from(d, &other);
    assert_int_equal(one.n_networks, 2);
    assert_int_equal(one.n_bridges, 2);
    assert_int_equal(one.n_pools, 2);
    assert_memory_equal(&one, &other, sizeof one);
}

static void what_does_not_fit_is_left_out(void **state)
{
    struct hv_definition *d = fresh(state);
    struct host_requirements_facts facts;
    char longest[REQUIREMENTS_LINK_MAX + 1];
    memset(longest, 'l', sizeof longest - 1);
    longest[REQUIREMENTS_LINK_MAX] = '\0';
    add_interface(d, "network", longest);
    add_interface(d, "network", longest + 1);
    host_requirements_from(d, &facts);
    assert_int_equal(facts.n_networks, 1);
    assert_string_equal(facts.networks[0], longest + 1);

    d = fresh(state);
    for (int i = 0; i < HV_INTERFACES_MAX; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%02d", HV_INTERFACES_MAX - i);
        add_interface(d, "network", name);
        add_disk(d, HV_DISK_VOLUME, name);
    }
    host_requirements_from(d, &facts);
    assert_int_equal(facts.n_networks, REQUIREMENTS_LINKS_MAX);
    assert_int_equal(facts.n_pools, REQUIREMENTS_POOLS_MAX);
    for (unsigned i = 1; i < facts.n_networks; i++)
        assert_true(strcmp(facts.networks[i - 1], facts.networks[i]) < 0);
    for (unsigned i = 1; i < facts.n_pools; i++)
        assert_true(strcmp(facts.pools[i - 1], facts.pools[i]) < 0);
}

static void equal_requirements_are_kept_once_until_the_last_user_goes(void **state)
{
    struct hv_definition *d = fresh(state);
    struct host_requirements *all = NULL;
    struct host_requirements_facts plain, huge;
    host_requirements_from(d, &plain);
    d->hugepage_kib = 2048;
    host_requirements_from(d, &huge);
    struct host_requirements *a = host_requirements_take(&all, &plain),
                             *b = host_requirements_take(&all, &plain);
    struct host_requirements *c = host_requirements_take(&all, &huge);
    assert_non_null(a);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal(a->users, 2);
    assert_int_equal(HASH_COUNT(all), 2);
    host_requirements_drop(&all, a);
    assert_int_equal(HASH_COUNT(all), 2);
    host_requirements_drop(&all, b);
    assert_int_equal(HASH_COUNT(all), 1);
    host_requirements_drop(&all, NULL);
    host_requirements_drop(&all, c);
    assert_null(all);
}

static int definition_new(void **state)
{
    *state = malloc(sizeof(struct hv_definition));
    return *state == NULL;
}

static int definition_free(void **state)
{
    free(*state);
    return 0;
}

TEST_FILE(test_host_requirements)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interface_requires_what_its_type_implies),
        cmocka_unit_test(only_volume_disks_need_their_pool),
        cmocka_unit_test(machine_cpu_and_pages_are_taken_over),
        cmocka_unit_test(equal_requirements_are_equal_bytes),
        cmocka_unit_test(what_does_not_fit_is_left_out),
        cmocka_unit_test(equal_requirements_are_kept_once_until_the_last_user_goes),
    };
    return cmocka_run_group_tests_name("needs", tests, definition_new, definition_free);
}
