/* test_list_keep.c - which snapshots are kept for lists, how many, and how long. */
#include "tests/test.h"

#include "exporter/api/list_keep.h"
#include "tests/unit/test_api_world.h"

static struct list_keep *keep_new(void)
{
    struct err err = {0};
    struct list_keep *keep = list_keep_new(&err);
    assert_non_null(keep);
    return keep;
}

static int references(const struct world *world)
{
    return atomic_load(&((struct world *)(uintptr_t)world)->refs);
}

/* A reader of the world's snapshot begins. */
static uint64_t begin(struct list_keep *keep, struct world *world, int64_t now_ms)
{
    const struct versions *versions = versions_next(NULL, &world->snapshot, 1, NULL);
    assert_non_null(versions);
    const struct versions *kept = versions;
    uint64_t number = list_keep_begin(keep, &kept, now_ms);
    versions_unref(versions);
    return number;
}

static void readers_of_one_snapshot_share_it(void **state)
{
    (void)state;
    OWNED(list_keep) keep = keep_new();
    struct world *world = world_new(7);
    uint64_t first = begin(keep, world, 0);
    uint64_t second = begin(keep, world, 0);
    assert_true(first != 0 && first == second);
    assert_int_equal(references(world), 2);
    list_keep_end(keep, first, false, 0);
    assert_int_equal(references(world), 2);
    list_keep_end(keep, second, false, 0);
    assert_int_equal(references(world), 1); /* nobody reads it, no page follows */
    assert_null(list_keep_resume(keep, first, 0));
    snapshot_unref(&world->snapshot);
}

/* An event gives the same snapshot new versions; a reader's own may be gone before its list ends.
 */
static void a_reader_reads_the_versions_that_are_kept(void **state)
{
    (void)state;
    OWNED(list_keep) keep = keep_new();
    struct world *world = world_new(7);
    const struct versions *first = versions_next(NULL, &world->snapshot, 1, NULL);
    const struct versions *later = versions_again(first);
    const struct versions *read[] = {first, later};
    uint64_t number = list_keep_begin(keep, &read[0], 0);
    assert_int_equal(list_keep_begin(keep, &read[1], 0), number);
    versions_unref(later);
    versions_unref(first);
    for (size_t i = 0; i < COUNT(read); i++) {
        assert_ptr_equal(read[i]->snapshot, &world->snapshot); /* with a sanitizer: it lives */
        list_keep_end(keep, number, false, 0);
    }
    assert_int_equal(references(world), 1);
    snapshot_unref(&world->snapshot);
}

static void a_page_keeps_its_snapshot_for_a_while(void **state)
{
    (void)state;
    OWNED(list_keep) keep = keep_new();
    struct world *world = world_new(7);
    uint64_t number = begin(keep, world, 0);
    assert_null(list_keep_resume(keep, number, 0)); /* no page of it was given out yet */
    list_keep_end(keep, number, true, 0);
    list_keep_tick(keep, LIST_KEEP_MS - 1);
    assert_ptr_equal(list_keep_resume(keep, number, LIST_KEEP_MS - 1)->snapshot, &world->snapshot);
    list_keep_tick(keep, 10 * LIST_KEEP_MS); /* it is being read */
    list_keep_end(keep, number, false, 10 * LIST_KEEP_MS);
    list_keep_tick(keep, 11 * LIST_KEEP_MS - 1); /* counted from the last page */
    assert_int_equal(references(world), 2);
    list_keep_tick(keep, 11 * LIST_KEEP_MS);
    assert_int_equal(references(world), 1);
    assert_null(list_keep_resume(keep, number, 11 * LIST_KEEP_MS));
    snapshot_unref(&world->snapshot);
}

/* As many as fit; those that are read are never given up. */
static uint64_t fill(struct list_keep *keep, uint64_t generation, size_t n_guests, int64_t now_ms)
{
    struct world *world = world_new(generation);
    const struct versions *versions = versions_next(NULL, &world->snapshot, 1, NULL);
    assert_non_null(versions);
    world->snapshot.n_guests = n_guests; /* none of them is read */
    const struct versions *kept = versions;
    uint64_t number = list_keep_begin(keep, &kept, now_ms);
    versions_unref(versions);
    snapshot_unref(&world->snapshot);
    return number;
}

static void kept_snapshots_are_bounded_by_number_and_size(void **state)
{
    (void)state;
    static const struct {
        size_t n_guests;
        unsigned kept;
    } rows[] = {
        {5, LIST_KEEP_MAX},
        {LIST_KEEP_BYTES / 4 / sizeof(struct snapshot_guest) - 10, 4},
        {LIST_KEEP_BYTES / sizeof(struct snapshot_guest) * 10, LIST_KEEP_MIN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(list_keep) keep = keep_new();
        unsigned kept = 0;
        for (uint64_t g = 0; g < 2 * LIST_KEEP_MAX; g++)
            kept += fill(keep, g, rows[i].n_guests, 0) != 0;
        assert_int_equal(kept, rows[i].kept);
    }
}

static void the_oldest_that_nobody_went_on_with_is_given_up(void **state)
{
    (void)state;
    OWNED(list_keep) keep = keep_new();
    uint64_t numbers[LIST_KEEP_MAX];
    for (int i = 0; i < LIST_KEEP_MAX; i++) {
        numbers[i] = fill(keep, (uint64_t)i, 5, i);
        if (i > 0)
            list_keep_end(keep, numbers[i], true, i); /* the first is still read */
    }
    assert_non_null(list_keep_resume(keep, numbers[1], 100));
    list_keep_end(keep, numbers[1], true, 100); /* somebody reads its pages */
    assert_true(fill(keep, 50, 5, 200) != 0);
    assert_null(list_keep_resume(keep, numbers[2], 200));
    assert_non_null(list_keep_resume(keep, numbers[1], 200));
    assert_non_null(list_keep_resume(keep, numbers[3], 200));
}

TEST_FILE(test_list_keep)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_of_one_snapshot_share_it),
        cmocka_unit_test(a_reader_reads_the_versions_that_are_kept),
        cmocka_unit_test(a_page_keeps_its_snapshot_for_a_while),
        cmocka_unit_test(kept_snapshots_are_bounded_by_number_and_size),
        cmocka_unit_test(the_oldest_that_nobody_went_on_with_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
