/* test_queue.c - the bounded queue: order, bound, waiting, closing, and many threads at once. */
#include "tests/test.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/queue.h"

static struct queue *new_queue(size_t item_bytes, size_t capacity)
{
    struct err err = {0};
    struct queue *q = queue_new(item_bytes, capacity, &err);
    assert_non_null(q);
    return q;
}

static void items_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    OWNED(queue) q = new_queue(sizeof(int), 3);
    int next_in = 0, next_out = 0, item = -1;
    for (int round = 0; round < 10; round++) { /* the ring wraps at every offset */
        for (int i = 0; i < 1 + round % 3; i++, next_in++)
            assert_true(queue_push(q, &next_in));
        for (int i = 0; i < 1 + round % 3; i++, next_out++) {
            assert_int_equal(queue_pop(q, &item, 0), QUEUE_ITEM);
            assert_int_equal(item, next_out);
        }
    }
    assert_int_equal(queue_depth(q), 0);
}

static void a_full_queue_refuses_and_keeps_what_it_has(void **state)
{
    (void)state;
    OWNED(queue) q = new_queue(sizeof(int), 2);
    int one = 1, two = 2, three = 3, item = 0;
    assert_int_equal(queue_capacity(q), 2);
    assert_true(queue_push(q, &one));
    assert_true(queue_push(q, &two));
    assert_false(queue_push(q, &three));
    assert_int_equal(queue_depth(q), 2);
    assert_int_equal(queue_pop(q, &item, 0), QUEUE_ITEM);
    assert_int_equal(item, 1);
    assert_true(queue_push(q, &three));
    assert_int_equal(queue_pop(q, &item, 0), QUEUE_ITEM);
    assert_int_equal(queue_pop(q, &item, 0), QUEUE_ITEM);
    assert_int_equal(item, 3);
}

static void waits_end_when_their_time_is_over(void **state)
{
    (void)state;
    OWNED(queue) q = new_queue(sizeof(int), 1);
    int item = 7;
    int64_t start = clock_mono_ms(clock_system());
    assert_int_equal(queue_pop(q, &item, 30), QUEUE_EMPTY);
    assert_true(clock_mono_ms(clock_system()) - start >= 29);
    assert_int_equal(item, 7); /* untouched */
    assert_true(queue_push(q, &item));
    start = clock_mono_ms(clock_system());
    assert_false(queue_push_wait(q, &item, 30));
    assert_true(clock_mono_ms(clock_system()) - start >= 29);
    assert_int_equal(queue_depth(q), 1);
}

static void after_close_what_is_inside_still_comes_out(void **state)
{
    (void)state;
    OWNED(queue) q = new_queue(sizeof(int), 4);
    int item = 5;
    assert_true(queue_push(q, &item));
    queue_close(q);
    assert_false(queue_push(q, &item));
    assert_false(queue_push_wait(q, &item, -1)); /* must not hang */
    item = 0;
    assert_int_equal(queue_pop(q, &item, -1), QUEUE_ITEM);
    assert_int_equal(item, 5);
    assert_int_equal(queue_pop(q, &item, -1), QUEUE_CLOSED);
    assert_int_equal(queue_pop(q, &item, 0), QUEUE_CLOSED);
}

static void items_of_odd_sizes_are_copied_whole(void **state)
{
    (void)state;
    struct odd {
        char bytes[13];
    } in[3], out;
    OWNED(queue) q = new_queue(sizeof(struct odd), 3);
    for (int i = 0; i < 3; i++) {
        memset(in[i].bytes, 'a' + i, sizeof in[i].bytes);
        assert_true(queue_push(q, &in[i]));
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(queue_pop(q, &out, 0), QUEUE_ITEM);
        assert_memory_equal(&out, &in[i], sizeof out);
    }
}

static void *close_soon(void *arg)
{
    clock_sleep_ms(20);
    queue_close(arg);
    return NULL;
}

static void closing_wakes_a_consumer_that_waits_for_ever(void **state)
{
    (void)state;
    OWNED(queue) q = new_queue(sizeof(int), 1);
    pthread_t closer;
    int item;
    assert_int_equal(pthread_create(&closer, NULL, close_soon, q), 0);
    assert_int_equal(queue_pop(q, &item, -1), QUEUE_CLOSED);
    (void)pthread_join(closer, NULL);
}

static void closing_wakes_a_producer_that_waits_for_ever(void **state)
{
    (void)state;
    OWNED(queue) q = new_queue(sizeof(int), 1);
    int item = 1;
    pthread_t closer;
    assert_true(queue_push(q, &item));
    assert_int_equal(pthread_create(&closer, NULL, close_soon, q), 0);
    assert_false(queue_push_wait(q, &item, -1));
    (void)pthread_join(closer, NULL);
}

enum { PRODUCERS = 4, ITEMS_EACH = 2000 };

struct message {
    int producer, number;
};

struct producer {
    struct queue *q;
    int id;
};

static void *produce(void *arg)
{
    const struct producer *self = arg;
    for (int i = 0; i < ITEMS_EACH; i++) {
        struct message message = {self->id, i};
        if (!queue_push_wait(self->q, &message, -1))
            return NULL;
    }
    return NULL;
}

static void many_producers_lose_nothing_and_keep_their_own_order(void **state)
{
    (void)state;
    OWNED(queue) q = new_queue(sizeof(struct message), 8);
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];
    int next[PRODUCERS] = {0};
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){q, i};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (int i = 0; i < PRODUCERS * ITEMS_EACH; i++) {
        struct message message;
        assert_int_equal(queue_pop(q, &message, 10000), QUEUE_ITEM);
        assert_int_equal(message.number, next[message.producer]);
        next[message.producer]++;
        assert_true(queue_depth(q) <= queue_capacity(q));
    }
    for (int i = 0; i < PRODUCERS; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(next[i], ITEMS_EACH);
    }
    struct message none;
    assert_int_equal(queue_pop(q, &none, 0), QUEUE_EMPTY);
}

TEST_FILE(test_queue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_out_in_the_order_they_went_in),
        cmocka_unit_test(a_full_queue_refuses_and_keeps_what_it_has),
        cmocka_unit_test(waits_end_when_their_time_is_over),
        cmocka_unit_test(after_close_what_is_inside_still_comes_out),
        cmocka_unit_test(items_of_odd_sizes_are_copied_whole),
        cmocka_unit_test(closing_wakes_a_consumer_that_waits_for_ever),
        cmocka_unit_test(closing_wakes_a_producer_that_waits_for_ever),
        cmocka_unit_test(many_producers_lose_nothing_and_keep_their_own_order),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
