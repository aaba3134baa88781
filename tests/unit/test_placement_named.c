/* test_placement_named.c - where a target is named, the rest of a big fleet is counted without
 * being asked; the answer is the same as if each had been. */
#include "tests/test.h"

#include <string.h>

#include "bench/life.h"
#include "engine/control/placement.h"

static void check_named(struct fleet *f, const struct guest *guest, const char *wanted)
{
    struct placement p;
    static struct rejections found;
    unsigned counts[REJECT_COUNT] = {0};
    size_t fits = 0;
    placement_of(f, guest, NULL, &p);
    p.wanted = wanted;
    placement_explain(f, &p, &found, &fits);
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        char detail[PLACEMENT_DETAIL_MAX];
        counts[placement_check(f, &p, node, detail)]++;
    }
    assert_memory_equal(found.counts, counts, sizeof counts);
    assert_int_equal(fits, counts[REJECT_NONE]);
    assert_int_equal(found.n_nodes, HASH_COUNT(f->nodes));
    assert_in_range(found.n, PLACEMENT_KEPT_MAX - 2, PLACEMENT_KEPT_MAX);
}

static const struct rejection *searched(const struct rejections *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->list[i].node, name) == 0)
            return &r->list[i];
    return NULL;
}

/* The second time as it comes from the store, where only names are kept. */
static void what_a_node_said_is_found_again(void **state)
{
    (void)state;
    struct life_size size = {.hosts = 300, .guests = 300, .namespaces = 3, .running = 4};
    OWNED(life) life = life_new(&size, 1);
    struct fleet *f = life_fleet(life);
    static struct rejections found;
    struct placement p;
    size_t fits = 0;
    placement_of(f, f->guests, NULL, &p);
    p.wanted = "host-00270";
    placement_explain(f, &p, &found, &fits);
    assert_int_equal(found.n, PLACEMENT_KEPT_MAX);
    for (int again = 0; again < 2; again++) {
        for (const struct node *node = f->nodes; node != NULL; node = node->hh.next)
            assert_ptr_equal(rejections_find(&found, node), searched(&found, node->name));
        memset(found.tags, 0, sizeof found.tags);
    }
}

static void rejections_counted_in_bulk_equal_rejections_of_each_node(void **state)
{
    (void)state;
    static const char *const wanted[] = {"host-00000", "host-00001", "host-00255", "host-00256",
                                         "host-00257", "host-00299", "nowhere"};
    struct life_size size = {.hosts = 300, .guests = 300, .namespaces = 3, .running = 4};
    OWNED(life) life = life_new(&size, 1);
    struct fleet *f = life_fleet(life);
    unsigned n = 0;
    for (const struct guest *guest = f->guests; guest != NULL; guest = guest->hh.next, n++)
        for (size_t i = 0; i < COUNT(wanted) && (n < 3 || n > 252); i++)
            check_named(f, guest, wanted[i]);
    fleet_node(f, "host-00299")->cordoned = true;
    fleet_node(f, "host-00001")->cordoned = true;
    for (size_t i = 0; i < COUNT(wanted); i++)
        check_named(f, f->guests, wanted[i]);
}

TEST_FILE(test_placement_named)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejections_counted_in_bulk_equal_rejections_of_each_node),
        cmocka_unit_test(what_a_node_said_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
