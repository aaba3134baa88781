/* test_bench.c - the life that the bench of the core lives is a life: jobs move, wait, end and are
 * refused, and the books are right at its end. */
#include "tests/test.h"

#include "bench/life.h"
#include "engine/model/fleet/ledger.h"

enum { DECISIONS = 2000, WAITING = 200 };

static const struct life_size tiny = {.hosts = 20, .guests = 600, .namespaces = 6, .running = 8};

static void a_workload_has_everything_that_is_measured(void **state)
{
    (void)state;
    OWNED(life) life = life_new(&tiny, 1);
    struct life_figures f;
    char text[256];
    life_fill(life, WAITING);
    assert_in_range(life_fleet(life)->waiting_jobs, WAITING, WAITING + 16);
    life_run(life, DECISIONS, &f);
    assert_in_range(life_decisions(&f), DECISIONS, DECISIONS + 64);
    assert_true(f.steps > DECISIONS / 4 && f.parks > DECISIONS / 20 && f.refusals > 0);
    assert_true(f.ended > DECISIONS / 20 && f.inputs > f.n_times && f.n_times > DECISIONS / 20);
    assert_true(life_fleet(life)->busy_jobs <= tiny.running);
    assert_in_range(life_fleet(life)->waiting_jobs, WAITING / 2, WAITING + 16);
    if (!ledger_check(life_fleet(life), text, sizeof text))
        fail_msg("%s", text);
    life_figures_fini(&f);
}

static void equal_seeds_give_equal_workloads(void **state)
{
    (void)state;
    uint64_t hashes[3];
    for (unsigned i = 0; i < 3; i++) {
        OWNED(life) life = life_new(&tiny, i < 2 ? 7 : 8);
        struct life_figures f;
        life_fill(life, WAITING);
        life_run(life, DECISIONS / 4, &f);
        life_figures_fini(&f);
        hashes[i] = fleet_hash(life_fleet(life));
    }
    assert_true(hashes[0] == hashes[1]);
    assert_true(hashes[0] != hashes[2]);
}

TEST_FILE(test_bench)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_has_everything_that_is_measured),
        cmocka_unit_test(equal_seeds_give_equal_workloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
