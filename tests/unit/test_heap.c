/* test_heap.c - a queue whose entries may leave from anywhere: the smallest always comes first. */
#include "tests/test.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/own.h"

enum { ENTRIES = 500, TURNS = 20000 };

struct entry {
    struct heap_link link;
    int64_t first, second;
    bool in;
};

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245U + 12345U;
    return *seed >> 16;
}

static void an_empty_heap_gives_nothing(void **state)
{
    (void)state;
    struct heap heap = {0};
    struct heap_link link = {0};
    assert_null(heap_top(&heap));
    assert_null(heap_take(&heap));
    heap_remove(&link); /* in none */
    heap_fini(&heap);
    heap_fini(&heap);
}

static void entries_come_out_by_their_first_number_then_by_their_second(void **state)
{
    (void)state;
    static const int64_t keys[][2] = {{2, 1},          {1, 9},         {1, -9}, {INT64_MAX, 0},
                                      {INT64_MIN, 5},  {0, 0},         {2, 0},  {INT64_MIN, 4},
                                      {INT64_MAX, -1}, {1, INT64_MIN}, {0, 1},  {-1, INT64_MAX}};
    static const size_t order[] = {7, 4, 11, 5, 10, 9, 2, 1, 6, 0, 8, 3};
    struct entry entries[COUNT(keys)] = {0};
    struct heap heap = {0};
    for (size_t i = 0; i < COUNT(keys); i++)
        heap_put(&heap, &entries[i].link, keys[i][0], keys[i][1], &entries[i]);
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_ptr_equal(heap_top(&heap), &entries[order[i]]);
        assert_ptr_equal(heap_take(&heap), &entries[order[i]]);
        assert_null(entries[order[i]].link.in);
    }
    assert_null(heap_take(&heap));
    heap_fini(&heap);
}

static void putting_again_moves_it_up_and_down(void **state)
{
    (void)state;
    struct entry a = {0}, b = {0}, c = {0};
    struct heap heap = {0};
    heap_put(&heap, &a.link, 1, 0, &a);
    heap_put(&heap, &b.link, 2, 0, &b);
    heap_put(&heap, &c.link, 3, 0, &c);
    heap_put(&heap, &a.link, 9, 0, &a);
    assert_int_equal(heap.n, 3);
    assert_ptr_equal(heap_top(&heap), &b);
    heap_put(&heap, &a.link, 0, 0, &a);
    assert_int_equal(heap.n, 3);
    assert_ptr_equal(heap_top(&heap), &a);
    heap_fini(&heap);
}

static void putting_it_into_another_heap_takes_it_out_of_the_first(void **state)
{
    (void)state;
    struct entry a = {0}, b = {0};
    struct heap one = {0}, other = {0};
    heap_put(&one, &a.link, 1, 0, &a);
    heap_put(&one, &b.link, 2, 0, &b);
    heap_put(&other, &a.link, 1, 0, &a);
    assert_ptr_equal(heap_top(&one), &b);
    assert_int_equal(one.n, 1);
    assert_ptr_equal(heap_top(&other), &a);
    assert_ptr_equal(a.link.in, &other);
    heap_fini(&one);
    heap_fini(&other);
}

static void links_of_a_finished_heap_are_zeroed(void **state)
{
    (void)state;
    struct entry a = {0};
    struct heap heap = {0}, other = {0};
    heap_put(&heap, &a.link, 1, 0, &a);
    heap_fini(&heap);
    assert_null(a.link.in);
    heap_remove(&a.link);
    heap_put(&other, &a.link, 1, 0, &a);
    assert_ptr_equal(heap_take(&other), &a);
    heap_fini(&other);
}

static const struct entry *smallest(const struct entry *entries, size_t *out_n)
{
    const struct entry *least = NULL;
    *out_n = 0;
    for (size_t i = 0; i < ENTRIES; i++) {
        const struct entry *e = &entries[i];
        *out_n += e->in;
        if (e->in && (least == NULL || e->first < least->first ||
                      (e->first == least->first && e->second < least->second)))
            least = e;
    }
    return least;
}

/* Against a list that is searched from end to end. */
static void the_top_is_the_smallest_after_any_puts_and_removals(void **state)
{
    (void)state;
    struct entry *entries = calloc(ENTRIES, sizeof *entries);
    assert_non_null(entries);
    struct heap heap = {0};
    unsigned seed = 7;
    for (int turn = 0; turn < TURNS; turn++) {
        size_t at = next_random(&seed) % ENTRIES;
        struct entry *e = &entries[at];
        unsigned what = next_random(&seed) % 8;
        if (what < 5) {
            e->first = (int64_t)(next_random(&seed) % 10) - 5;
            e->second = (int64_t)at; /* unique */
            heap_put(&heap, &e->link, e->first, e->second, e);
            e->in = true;
        } else if (what < 7) {
            heap_remove(&e->link);
            e->in = false;
        } else {
            struct entry *taken = heap_take(&heap);
            if (taken != NULL)
                taken->in = false;
        }
        size_t n;
        assert_ptr_equal(heap_top(&heap), smallest(entries, &n));
        assert_int_equal(heap.n, n);
    }
    for (size_t i = 0; i < heap.n; i++) {
        assert_int_equal(heap.list[i].link->at, i);
        assert_int_equal(heap.list[i].first, heap.list[i].link->first);
        assert_int_equal(heap.list[i].second, heap.list[i].link->second);
    }
    heap_fini(&heap);
    free(entries);
}

TEST_FILE(test_heap)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_gives_nothing),
        cmocka_unit_test(entries_come_out_by_their_first_number_then_by_their_second),
        cmocka_unit_test(putting_again_moves_it_up_and_down),
        cmocka_unit_test(putting_it_into_another_heap_takes_it_out_of_the_first),
        cmocka_unit_test(links_of_a_finished_heap_are_zeroed),
        cmocka_unit_test(the_top_is_the_smallest_after_any_puts_and_removals),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
