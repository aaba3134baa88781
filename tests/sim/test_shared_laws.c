/* test_shared_laws.c - random fleets of several appliances on one store (shared_fleet.h): no law is
 * broken, and each planted bug breaks one.
 *
 * Environment as test_fleet_laws.c: SEED=n, SEEDS=n, FROM=m, JOB=i JOBS=j.
 */
#include "tests/test.h"

#include <stdio.h>

#include "tests/sim/shared_fleet.h"

enum { SEEDS = 14, PLANT_SEEDS = 20 };

static uint64_t from_environment(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : fallback;
}

static enum law live(uint64_t seed, enum shared_plant plant, struct shared_counts *counts,
                     bool tells)
{
    const char *text;
    struct shared_fleet *s = shared_fleet_run(seed, plant);
    enum law law = lawbook_verdict(shared_fleet_book(s), &text);
    const struct shared_counts *one = shared_fleet_counts(s);
    if (law != LAW_NONE && tells)
        print_message("law %d broken by seed %llu: %s\n", (int)law, (unsigned long long)seed, text);
    counts->takeovers += one->takeovers;
    counts->stopped += one->stopped;
    counts->orders += one->orders;
    counts->withheld += one->withheld;
    counts->fenced += one->fenced;
    counts->lost_answers += one->lost_answers;
    counts->promotions += one->promotions;
    counts->commits += one->commits;
    shared_fleet_free(s);
    return law;
}

static void no_law_is_broken_by_several_appliances(void **state)
{
    (void)state;
    struct shared_counts counts = {0};
    uint64_t seeds = from_environment("SEEDS", test_size(SEEDS / 3, SEEDS, SEEDS)),
             jobs = from_environment("JOBS", 1), broken = 0;
    if (getenv("SEED") != NULL) {
        assert_int_equal(live(from_environment("SEED", 1), PLANT_NONE, &counts, true), LAW_NONE);
        return;
    }
    for (uint64_t seed = from_environment("FROM", 1) + from_environment("JOB", 0); seed <= seeds;
         seed += jobs) {
        broken += live(seed, PLANT_NONE, &counts, true) != LAW_NONE;
        if (getenv("SEEDS") != NULL && seed % 100 == 0)
            print_message("%llu seeds, %llu broken\n", (unsigned long long)seed,
                          (unsigned long long)broken);
    }
    print_message("%llu takeovers, %llu stops, %llu orders, %llu withheld, %llu fenced, %llu lost"
                  " answers, %llu promotions, %llu commits\n",
                  (unsigned long long)counts.takeovers, (unsigned long long)counts.stopped,
                  (unsigned long long)counts.orders, (unsigned long long)counts.withheld,
                  (unsigned long long)counts.fenced, (unsigned long long)counts.lost_answers,
                  (unsigned long long)counts.promotions, (unsigned long long)counts.commits);
    assert_int_equal(broken, 0);
    if (seeds < SEEDS)
        return; /* too few to have seen everything */
    assert_true(counts.takeovers > 0 && counts.stopped > 0 && counts.fenced > 0 &&
                counts.lost_answers > 0 && counts.promotions > 0);
}

static void every_planted_bug_breaks_a_law(void **state)
{
    (void)state;
    for (enum shared_plant plant = PLANT_NONE + 1; plant < PLANT_COUNT; plant++) {
        struct shared_counts counts = {0};
        enum law law = LAW_NONE;
        uint64_t seed = plant == PLANT_NO_PERMIT ? 40 : 0; /* the fence alone holds for long */
        while (law == LAW_NONE && seed < PLANT_SEEDS + 40)
            law = live(++seed, plant, &counts, true);
        print_message("plant %d: law %d, seed %llu\n", (int)plant, (int)law,
                      (unsigned long long)seed);
        if (law == LAW_NONE)
            fail_msg("plant %d: no law was broken by %d seeds", (int)plant, PLANT_SEEDS);
    }
}

TEST_FILE(test_shared_laws)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_law_is_broken_by_several_appliances),
        cmocka_unit_test(every_planted_bug_breaks_a_law),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
