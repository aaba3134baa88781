/* test_recovery_path.c - a broken post-copy whose nodes may have no path between them: the source's
 * helper is asked before each try. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/recovery.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

static struct core_world *broken(enum hv_path path)
{
    struct core_world *w = core_in_postcopy();
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    w->path = path;
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 500);
    return w;
}

static void shows(struct core_world *w, enum recovery state, const char *text)
{
    const struct job *job = core_job(w);
    assert_string_equal(recovery_name(job->recovery.state), recovery_name(state));
    if (strstr(job->wait.reason, text) == NULL)
        fail_msg("'%s' does not say '%s'", job->wait.reason, text);
    assert_int_equal(job->wait.pending, PENDING_RECOVERY);
}

static void arrives(struct core_world *w)
{
    core_returns(w, HV_CALL_MIGRATE, ERR_NONE);
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 3000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_open_intents(w), 0);
    core_clean(w);
    core_free(w);
}

static void a_path_that_works_costs_one_question_a_try(void **state)
{
    (void)state;
    static const enum hv_path paths[] = {HV_PATH_OPEN, HV_PATH_REFUSED};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct core_world *w = broken(paths[i]);
        assert_int_equal(w->asks.paths, 1);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
        shows(w, RECOVERY_RESUMING, "Resuming post-copy");
        core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        core_advance(w, RECOVERY_AGAIN_MS + 2000);
        assert_int_equal(w->asks.paths, 2);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 2);
        arrives(w);
    }
}

static void without_a_helper_at_the_source_nobody_is_asked(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    TEXT_SET(core_node(w, "h2")->host.helper, "h2:9180");
    w->path = HV_PATH_DEAD;
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 500);
    assert_int_equal(w->asks.paths, 0);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    arrives(w);
}

static void no_try_is_spent_on_a_dead_path_and_the_first_comes_when_it_is_back(void **state)
{
    (void)state;
    struct core_world *w = broken(HV_PATH_DEAD);
    core_advance(w, 60000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    assert_int_equal(core_job(w)->recovery.tries, 0);
    shows(w, RECOVERY_WAITING, "no path between the nodes");
    assert_true(w->asks.paths >= 60000 / (RECOVERY_PATH_MS + 1500));
    assert_true(w->asks.paths <= 60000 / RECOVERY_PATH_MS + 1);
    w->path = HV_PATH_REFUSED;
    core_advance(w, RECOVERY_PATH_MS + 1500);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    shows(w, RECOVERY_RESUMING, "Resuming post-copy");
    assert_int_equal(core_job(w)->recovery.tries, 1);
    arrives(w);
}

/* What a probe says is about its own port. */
static void a_path_called_dead_for_long_is_doubted_once_in_a_while(void **state)
{
    (void)state;
    struct core_world *w = broken(HV_PATH_DEAD);
    core_advance(w, RECOVERY_DOUBT_MS - 5000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    core_advance(w, 10000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, RECOVERY_DOUBT_MS - 20000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    core_free(w);
}

static void a_window_that_ends_on_a_dead_path_says_so_and_stays_ended(void **state)
{
    (void)state;
    struct core_world *w = broken(HV_PATH_DEAD);
    for (int i = 0; i < RECOVERY_WINDOW_MS + 10000; i += 1000) {
        if (core_job(w)->orders[ORDER_RECOVERY].id != 0)
            core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
        core_advance(w, 1000);
    }
    shows(w, RECOVERY_EXHAUSTED, "path between them is dead");
    unsigned asks = w->asks.paths, tries = core_orders(w, HV_CALL_MIGRATE);
    assert_true(tries <= 2);
    core_advance(w, 600000);
    assert_int_equal(w->asks.paths, asks);
    shows(w, RECOVERY_EXHAUSTED, "ferry recover");
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", NULL), 1);
    w->path = HV_PATH_OPEN;
    assert_true(core_override(w, RESOLVE_RECOVER));
    core_advance(w, 1500);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries + 1);
    arrives(w);
}

static void a_helper_that_does_not_answer_holds_nobody_up(void **state)
{
    (void)state;
    struct core_world *w = broken(HV_PATH_UNKNOWN);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    arrives(w);

    w = core_in_postcopy();
    TEXT_SET(core_node(w, "h1")->host.helper, "h1:9180");
    w->loses.paths = true;
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, RECOVERY_ANSWER_MS - 1000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    core_advance(w, 4000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    arrives(w);
}

static void an_answer_of_long_ago_changes_nothing(void **state)
{
    (void)state;
    struct core_world *w = broken(HV_PATH_OPEN);
    struct input late = {.kind = INPUT_PATH, .id = 1, .of.path = HV_PATH_DEAD};
    TEXT_SET(late.host, "h1");
    TEXT_SET(late.guest, CORE_GUEST);
    core_feed(w, &late);
    assert_int_equal(core_job(w)->recovery.path, HV_PATH_OPEN);
    arrives(w);
}

static void the_next_process_probes_anew(void **state)
{
    (void)state;
    struct core_world *w = broken(HV_PATH_DEAD);
    core_advance(w, 5000);
    core_restart(w, 1000);
    unsigned asks = w->asks.paths;
    core_advance(w, 6000);
    assert_true(w->asks.paths > asks);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    w->path = HV_PATH_OPEN;
    core_advance(w, RECOVERY_PATH_MS + 2000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    arrives(w);
}

TEST_FILE(test_recovery_path)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_that_works_costs_one_question_a_try),
        cmocka_unit_test(without_a_helper_at_the_source_nobody_is_asked),
        cmocka_unit_test(no_try_is_spent_on_a_dead_path_and_the_first_comes_when_it_is_back),
        cmocka_unit_test(a_path_called_dead_for_long_is_doubted_once_in_a_while),
        cmocka_unit_test(a_window_that_ends_on_a_dead_path_says_so_and_stays_ended),
        cmocka_unit_test(a_helper_that_does_not_answer_holds_nobody_up),
        cmocka_unit_test(an_answer_of_long_ago_changes_nothing),
        cmocka_unit_test(the_next_process_probes_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
