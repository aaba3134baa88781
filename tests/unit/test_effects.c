/* test_effects.c - laws over effect.def, input.def and intent.def, and what becomes of an order
 * whose name another version stored. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/core/reconcile.h"
#include "engine/persist.h"
#include "store/sqlite/sqlite.h"
#include "tests/core_world.h"

static void a_record_waits_for_its_commit_and_asks_nobody(void **state)
{
    (void)state;
    for (enum effect_kind kind = 0; kind < EFFECT_COUNT; kind++) {
        struct effect effect = {.kind = kind};
        if (!effect_is_record(kind))
            continue;
        assert_int_equal(effect_commit(kind), EFFECT_WAITS);
        assert_int_equal(effect_call(&effect), HV_CALL_COUNT);
        assert_int_equal(effect_answer(kind), INPUT_COUNT);
    }
}

static void without_a_commit_only_questions_and_stop_orders_go_out(void **state)
{
    (void)state;
    for (enum effect_kind kind = 0; kind < EFFECT_COUNT; kind++) {
        struct effect effect = {.kind = kind, .of.act.call = HV_CALL_SUSPEND}; /* TUNE's own */
        enum hv_call call = effect_call(&effect);
        bool acts = call != HV_CALL_COUNT && hv_call_access(call) == HV_ACCESS_ACT;
        if (effect_commit(kind) == EFFECT_GOES)
            assert_true(call != HV_CALL_COUNT && !acts);
        if (effect_commit(kind) == EFFECT_STOPS)
            assert_int_equal(call, HV_CALL_ABORT);
        if (effect_commit(kind) == EFFECT_MAY_STOP)
            assert_true(acts);
    }
}

static void an_effects_answer_is_an_input_about_the_same_call(void **state)
{
    (void)state;
    for (enum effect_kind kind = 0; kind < EFFECT_COUNT; kind++) {
        enum input_kind answer = effect_answer(kind);
        struct effect effect = {.kind = kind};
        if (answer == INPUT_COUNT)
            continue;
        assert_int_equal(input_class(answer), INPUT_IS_FACT);
        assert_int_not_equal(effect_call(&effect), HV_CALL_COUNT);
    }
}

static void every_name_of_an_order_is_found_again(void **state)
{
    (void)state;
    for (enum intent_kind kind = 0; kind < INTENT_COUNT; kind++) {
        assert_int_equal(intent_kind_from_name(intent_kind_name(kind)), kind);
        assert_true(strlen(intent_kind_name(kind)) < INTENT_NAME_MAX);
    }
    assert_int_equal(intent_kind_from_name("order"), INTENT_COUNT);
    assert_int_equal(intent_kind_from_name(""), INTENT_COUNT);
}

static bool expect_closed(void *ctx, const struct store_intent *row)
{
    unsigned *closed = ctx;
    if (row->seq != 7)
        return true;
    assert_string_equal(row->action, "of-the-next-version");
    assert_string_equal(row->status, "lost");
    (*closed)++;
    return true;
}

static void an_order_of_another_version_is_closed_under_its_own_name(void **state)
{
    (void)state;
    struct err err = {0};
    struct core_world *w = core_moving();
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    store->ops->begin(store);
    persist_job(store, core_job(w));
    store->ops->put_intent(store, &(struct store_intent){.job_uid = core_job(w)->uid,
                                                         .epoch = core_job(w)->epoch,
                                                         .seq = 7,
                                                         .action = "of-the-next-version",
                                                         .node = "a",
                                                         .status = "open"});
    assert_true(store->ops->commit(store, &err));

    struct fleet *fleet = fleet_new(&(struct fleet_config){.jobs_kept = 100}, 1, &err);
    assert_non_null(fleet);
    assert_true(persist_load(store, fleet, &err));
    struct effects fx = {0};
    reconcile_restore(fleet, fleet->jobs, w->now, &fx);
    store->ops->begin(store);
    for (size_t i = 0; i < fx.n; i++)
        persist_effect(store, fleet, &fx.list[i]);
    assert_true(store->ops->commit(store, &err));
    unsigned closed = 0;
    assert_true(store->ops->each_intent(store, core_job(w)->uid, expect_closed, &closed, &err));
    assert_int_equal(closed, 1);
    effects_fini(&fx);
    fleet_free(fleet);
    store_free(store);
    core_free(w);
}

TEST_FILE(test_effects)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_waits_for_its_commit_and_asks_nobody),
        cmocka_unit_test(without_a_commit_only_questions_and_stop_orders_go_out),
        cmocka_unit_test(an_effects_answer_is_an_input_about_the_same_call),
        cmocka_unit_test(every_name_of_an_order_is_found_again),
        cmocka_unit_test(an_order_of_another_version_is_closed_under_its_own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
