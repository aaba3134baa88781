/* test_hv_capabilities.c - what a host offers, as one number: the same in any order, another one
 * when anything but the free pages changed. */
#include "tests/test.h"

#include <stdlib.h>

#include "base/own.h"
#include "base/text.h"
#include "hypervisor/types.h"

DEFINE_OWNED(hv_capabilities)

/* Two of everything; turned: the other way round, and the first machine twice. */
static struct hv_capabilities *offer(bool turned)
{
    struct hv_capabilities *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->machines = calloc(3, sizeof *a->machines);
    a->networks = calloc(2, sizeof *a->networks);
    a->bridges = calloc(2, sizeof *a->bridges);
    a->pools = calloc(2, sizeof *a->pools);
    size_t first = turned ? 1 : 0, second = 1 - first;
    a->machines_known = a->networks_known = a->bridges_known = a->pools_known = true;
    a->pages_known = true;
    a->n_machines = turned ? 3 : 2;
    a->n_networks = a->n_bridges = a->n_pools = a->n_pages = 2;
    a->machines[first] = (struct hv_machine){"x86_64", "pc"};
    a->machines[second] = (struct hv_machine){"x86_64", "q35"};
    a->machines[2] = (struct hv_machine){"x86_64", "pc"};
    a->networks[first] = (struct hv_network){"default", true};
    a->networks[second] = (struct hv_network){"prod", false};
    a->bridges[first] = (struct hv_bridge){"br0"};
    a->bridges[second] = (struct hv_bridge){"br1"};
    a->pools[first] = (struct hv_pool){"images", "/srv/images", true};
    a->pools[second] = (struct hv_pool){"rbd", "", false};
    a->pages[first] = (struct hv_pages){2048, 512, 500};
    a->pages[second] = (struct hv_pages){1048576, 4, 4};
    return a;
}

static void order_and_duplicates_do_not_change_the_hash(void **state)
{
    (void)state;
    OWNED(hv_capabilities) one = offer(false);
    OWNED(hv_capabilities) other = offer(true);
    hv_capabilities_seal(one);
    hv_capabilities_seal(other);
    assert_true(one->hash != 0 && one->hash == other->hash);
    assert_int_equal(other->n_machines, 2);
    assert_string_equal(other->machines[0].name, "pc");
    assert_string_equal(other->machines[1].name, "q35");
    assert_int_equal(other->pages[0].size_kib, 2048);
    hv_capabilities_free(NULL);
}

static void change(struct hv_capabilities *a, int what)
{
    switch (what) {
    case 0: TEXT_SET(a->machines[1].name, "virt"); break;
    case 1: TEXT_SET(a->machines[0].arch, "aarch64"); break;
    case 2: a->n_machines = 1; break;
    case 3: a->machines_known = false; break;
    case 4: TEXT_SET(a->networks[1].name, "dev"); break;
    case 5: a->networks[1].active = true; break;
    case 6: a->networks_known = false; break;
    case 7: TEXT_SET(a->bridges[0].name, "br7"); break;
    case 8: a->bridges_known = false; break;
    case 9: TEXT_SET(a->pools[0].path, "/srv/other"); break;
    case 10: a->pools[0].active = false; break;
    case 11: a->pools_known = false; break;
    case 12: a->pages[0].total = 513; break;
    case 13: a->pages_known = false; break;
    case 14: a->n_bridges = a->n_networks = 1; break;
    default: a->n_pools = 0; break;
    }
}

static void every_change_but_free_pages_changes_the_hash(void **state)
{
    (void)state;
    enum { CHANGES = 16 };
    uint64_t hashes[CHANGES + 1];
    for (int i = 0; i <= CHANGES; i++) {
        OWNED(hv_capabilities) a = offer(false);
        if (i > 0)
            change(a, i - 1);
        a->pages[0].free = (uint64_t)i;
        hv_capabilities_seal(a);
        hashes[i] = a->hash;
        for (int j = 0; j < i; j++)
            assert_true(hashes[j] != hashes[i]);
    }
    OWNED(hv_capabilities) used = offer(false);
    used->pages[0].free = 0;
    hv_capabilities_seal(used);
    assert_true(used->hash == hashes[0]);
}

TEST_FILE(test_hv_capabilities)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_duplicates_do_not_change_the_hash),
        cmocka_unit_test(every_change_but_free_pages_changes_the_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
