/* test_orders.c - laws over order.def: an answer is found by its number, closes the record of its
 * order once, and leads to the function of its row. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/order.h"
#include "tests/core_world.h"

static const enum err_code codes[] = {ERR_NONE, ERR_HYPERVISOR, ERR_UNREACHABLE, ERR_REFUSED};

enum late { DROPPED, CLOSES, TAKEN };
static const enum late lates[ORDER_COUNT] = {
#define ORDER(id, answered, late, stands, help) late,
#include "engine/model/job/order.def"
#undef ORDER
};

static struct job_order give(struct core_world *w, enum order which)
{
    const struct order_spec spec = {.effect = EFFECT_DO_TUNE,
                                    .call = HV_CALL_KILL_STREAM,
                                    .intent = INTENT_KILL_STREAM,
                                    .node = "h1",
                                    .argument = "of a test"};
    (void)order_give(w->fleet, core_job(w), which, &spec, w->now, &w->fx);
    w->played = w->fx.n; /* the test answers it, not the world */
    return core_job(w)->orders[which];
}

/* How often the answer closes the record of that order. */
static unsigned closes(struct core_world *w, const struct job_order *order, enum err_code code)
{
    struct input input = {.kind = INPUT_CALL, .id = order->id};
    TEXT_SET(input.host, "h1");
    TEXT_SET(input.guest, CORE_GUEST);
    if (code != ERR_NONE)
        err_set(&input.err, code, "of a test");
    size_t before = w->fx.n;
    unsigned n = 0;
    core_feed(w, &input);
    for (size_t i = before; i < w->fx.n; i++) {
        const struct effect *effect = &w->fx.list[i];
        if (effect->kind != EFFECT_INTENT || effect->of.intent.seq != order->seq)
            continue;
        assert_string_equal(effect->of.intent.status, code == ERR_UNREACHABLE ? "lost" : "done");
        assert_string_equal(effect->of.intent.node, "h1");
        assert_string_equal(effect->of.intent.argument, "of a test");
        n++;
    }
    return n;
}

static void answer(struct core_world *w, enum order which, enum err_code code)
{
    struct err err = {0};
    if (code != ERR_NONE)
        err_set(&err, code, "of a test");
    order_answered(core_job(w), which, &err, w->now, &w->fx);
}

static const struct order_spec again = {.effect = EFFECT_DO_TUNE,
                                        .call = HV_CALL_KILL_STREAM,
                                        .intent = INTENT_KILL_STREAM,
                                        .node = "h1",
                                        .argument = "of a test"};

static void a_repeated_order_is_one_record_at_growing_intervals(void **state)
{
    (void)state;
    static const int64_t waits_ms[] = {200, 400, 800, 1600, 3200, 6400, 10000, 10000};
    struct core_world *w = core_moving();
    struct job *job = core_job(w);
    const int64_t began_ms = w->now.wall_ms, seq = give(w, ORDER_REMEDY).seq;
    unsigned errors = 0;
    size_t before = w->fx.n;
    for (size_t i = 0; i < COUNT(waits_ms); i++) {
        answer(w, ORDER_REMEDY, ERR_HYPERVISOR);
        assert_int_equal(order_due_ms(job, ORDER_REMEDY, &again) - w->now.mono_ms, waits_ms[i]);
        w->now.mono_ms += waits_ms[i];
        w->now.wall_ms += waits_ms[i];
        assert_int_equal(give(w, ORDER_REMEDY).seq, seq);
        assert_int_equal(job->orders[ORDER_REMEDY].times, i + 2);
        assert_int_equal(job->orders[ORDER_REMEDY].first_ms, began_ms);
        assert_int_equal(job->orders[ORDER_REMEDY].asked_ms, w->now.wall_ms);
    }
    for (size_t i = before; i < w->fx.n; i++)
        errors += w->fx.list[i].kind == EFFECT_ERROR;
    assert_int_equal(errors, 1); /* the same error is recorded once */
    answer(w, ORDER_REMEDY, ERR_NONE);
    assert_int_equal(order_due_ms(job, ORDER_REMEDY, &again), 0);
    assert_true(give(w, ORDER_REMEDY).seq > seq); /* it worked: the next one is another order */
    assert_int_equal(job->orders[ORDER_REMEDY].times, 1);
    core_free(w);
}

static void another_order_and_an_operators_are_due_at_once(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    struct job *job = core_job(w);
    struct order_spec other = again;
    other.argument = "something else";
    (void)give(w, ORDER_REMEDY);
    answer(w, ORDER_REMEDY, ERR_HYPERVISOR);
    assert_true(order_due_ms(job, ORDER_REMEDY, &again) > w->now.mono_ms);
    assert_int_equal(order_due_ms(job, ORDER_REMEDY, &other), 0);
    order_hurry(job, ORDER_REMEDY);
    assert_true(order_due_ms(job, ORDER_REMEDY, &again) <= w->now.mono_ms);
    int64_t seq = give(w, ORDER_REMEDY).seq;
    answer(w, ORDER_REMEDY, ERR_HYPERVISOR);
    job->epoch++;
    assert_int_equal(order_due_ms(job, ORDER_REMEDY, &again), 0);
    assert_int_equal(give(w, ORDER_REMEDY).seq, seq + 1);
    core_free(w);
}

/* A refusal proves nothing about the one before it, which was not answered. */
static void an_order_that_may_have_worked_stays_lost_when_a_repeat_is_refused(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    (void)give(w, ORDER_REMEDY);
    answer(w, ORDER_REMEDY, ERR_UNREACHABLE);
    (void)give(w, ORDER_REMEDY);
    size_t before = w->fx.n;
    answer(w, ORDER_REMEDY, ERR_HYPERVISOR);
    assert_int_equal(w->fx.list[before].kind, EFFECT_INTENT);
    assert_string_equal(w->fx.list[before].of.intent.status, "lost");
    (void)give(w, ORDER_REMEDY);
    before = w->fx.n;
    answer(w, ORDER_REMEDY, ERR_NONE);
    assert_string_equal(w->fx.list[before].of.intent.status, "done");
    core_free(w);
}

static void an_answer_closes_its_order_once(void **state)
{
    (void)state;
    for (enum order which = 0; which < ORDER_COUNT; which++)
        for (size_t i = 0; i < COUNT(codes); i++) {
            struct core_world *w = core_moving();
            struct job_order order = give(w, which);
            assert_int_equal(order_with_id(core_job(w), order.id), which);
            assert_int_equal(closes(w, &order, codes[i]), 1);
            assert_int_equal(order_with_id(core_job(w), order.id), ORDER_COUNT);
            assert_int_equal(closes(w, &order, codes[i]), 0);
            core_free(w);
        }
}

static void an_answer_after_the_end_closes_its_order_unless_it_is_dropped(void **state)
{
    (void)state;
    for (enum order which = 0; which < ORDER_COUNT; which++)
        for (size_t i = 0; i < COUNT(codes); i++) {
            struct core_world *w = core_moving();
            w->target = CORE_BLIND;
            core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
            core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
            struct job_order order = give(w, which);
            assert_int_equal(closes(w, &order, codes[i]), lates[which] != DROPPED);
            assert_int_equal(core_job(w)->phase, PHASE_FAILED);
            core_free(w);
        }
}

/* A call that is made again begins a new epoch, and its intents begin at 1 again. */
static void an_answer_closes_the_record_of_the_epoch_that_it_was_given_in(void **state)
{
    (void)state;
    for (enum order which = 0; which < ORDER_COUNT; which++) {
        struct core_world *w = core_moving();
        int64_t epoch = core_job(w)->epoch;
        struct job_order order = give(w, which);
        core_job(w)->epoch++;
        core_job(w)->intent_seq = 0;
        size_t before = w->fx.n;
        assert_int_equal(closes(w, &order, ERR_HYPERVISOR), 1);
        for (size_t i = before; i < w->fx.n; i++)
            if (w->fx.list[i].kind == EFFECT_INTENT && w->fx.list[i].of.intent.seq == order.seq)
                assert_int_equal(w->fx.list[i].of.intent.epoch, epoch);
        core_free(w);
    }
}

static void no_number_is_no_order(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    assert_int_equal(order_with_id(core_job(w), 0), ORDER_COUNT);
    core_free(w);
}

TEST_FILE(test_orders)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_closes_its_order_once),
        cmocka_unit_test(a_repeated_order_is_one_record_at_growing_intervals),
        cmocka_unit_test(another_order_and_an_operators_are_due_at_once),
        cmocka_unit_test(an_order_that_may_have_worked_stays_lost_when_a_repeat_is_refused),
        cmocka_unit_test(an_answer_after_the_end_closes_its_order_unless_it_is_dropped),
        cmocka_unit_test(an_answer_closes_the_record_of_the_epoch_that_it_was_given_in),
        cmocka_unit_test(no_number_is_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
