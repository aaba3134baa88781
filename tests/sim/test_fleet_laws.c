/* test_fleet_laws.c - the laws of the control plane over random fleets: see lawbook.h for the laws,
 * wild_fleet.h for what happens. A seed that breaks one is printed with how to replay it.
 *
 * Environment: SEED=n lives through that one (LAWS_TRACE=1 tells what happens in it, SIM_LOG=1
 * what Ferry says); SEEDS=n through 1..n (FROM=m: m..n) and those remembered, JOB=i JOBS=j through
 * every j-th of them. Without any of these it is a quick look.
 */
#include "tests/test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "tests/sim/wild_fleet.h"

enum { SEEDS = 22, TWICE_EVERY = 10, SHOW_EVERY = 50 };

/* Seeds that once broke a law. 53: a node whose size was not known yet took everybody. 64: after a
 * start what a namespace used was not known yet. 80: a job woken to leave a node, whose guest was
 * gone, told nobody else. 134: a new target was chosen, the namespace's quota not asked again.
 * 182: a full node was cordoned, and whoever waited for its places waited a day. 360: as many
 * reasons of each kind, but of other nodes, were no news. 614: a new target was chosen, the
 * source's bandwidth not asked again. 1077: a place passed on went to one who waited for less. 698:
 * a recovery that was asked for again waited without a deadline. 9188: the law itself counted
 * guests of a node that was connected after the promise. 449: a node got other labels twice in a
 * turn, the law saw only the last. */
static const uint64_t remembered[] = {53,  64,  80,   134,  182,  360,  441,  449, 469,
                                      614, 698, 1077, 2280, 2815, 5002, 6791, 9188};

static uint64_t from_environment(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : fallback;
}

/* True: no law was broken. Adds up how much each law had to look at. */
static bool obeys(uint64_t seed, bool twice, uint64_t checks[static LAW_COUNT])
{
    const char *text;
    struct wild_fleet *w = wild_fleet_run(seed);
    if (twice && lawbook_verdict(w->book, &text) == LAW_NONE) {
        struct wild_fleet *again = wild_fleet_run(seed);
        checks[LAW_SAME_AGAIN]++;
        if (wild_fleet_hash(w) != wild_fleet_hash(again))
            lawbook_broken(w->book, LAW_SAME_AGAIN, "it came out otherwise the second time");
        wild_fleet_free(again);
    }
    enum law law = lawbook_verdict(w->book, &text);
    if (law != LAW_NONE)
        print_message("law %d broken by seed %llu: %s\n  replay: make laws SEED=%llu\n", (int)law,
                      (unsigned long long)seed, text, (unsigned long long)seed);
    for (enum law one = 0; one < LAW_COUNT; one++)
        checks[one] += lawbook_checks(w->book, one);
    wild_fleet_free(w);
    return law == LAW_NONE;
}

/* A bar on a terminal, a line now and then elsewhere. */
static void show(uint64_t done, uint64_t all, unsigned broken, bool last)
{
    char bar[41];
    if (getenv("SEEDS") == NULL)
        return;
    bool terminal = isatty(STDERR_FILENO) != 0;
    if (!last && done % (terminal ? 5 : SHOW_EVERY) != 0)
        return;
    for (uint64_t i = 0; i < sizeof bar - 1; i++)
        bar[i] = i < done * (sizeof bar - 1) / all ? '#' : '.';
    bar[sizeof bar - 1] = '\0';
    (void)fprintf(
        stderr,
        terminal ? "\r[%s] %llu/%llu seeds, %u broken%s" : "[%s] %llu/%llu seeds, %u broken%s", bar,
        (unsigned long long)done, (unsigned long long)all, broken, terminal && !last ? "" : "\n");
}

static void no_random_fleet_breaks_a_law(void **state)
{
    (void)state;
    uint64_t checks[LAW_COUNT] = {0};
    uint64_t seeds = from_environment("SEEDS", test_size(SEEDS / 3, SEEDS, SEEDS)),
             jobs = from_environment("JOBS", 1);
    uint64_t job = from_environment("JOB", 0), from = from_environment("FROM", 1) + job;
    uint64_t all = 0, done = 0;
    unsigned broken = 0;
    if (getenv("SEED") != NULL) {
        assert_true(obeys(from_environment("SEED", 1), true, checks));
        return;
    }
    for (size_t i = 0; getenv("SEEDS") != NULL && job == 0 && i < COUNT(remembered); i++)
        broken += !obeys(remembered[i], false, checks);
    for (uint64_t seed = from; seed <= seeds; seed += jobs)
        all++;
    for (uint64_t seed = from; seed <= seeds; seed += jobs) {
        broken += !obeys(seed, done % TWICE_EVERY == 0, checks);
        done++;
        show(done, all, broken, done == all);
    }
    for (enum law law = LAW_NONE + 1; law < LAW_LEASES; law++)
        if (checks[law] == 0)
            fail_msg("law %d had nothing to look at", (int)law);
    assert_int_equal(broken, 0);
}

TEST_FILE(test_fleet_laws)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_random_fleet_breaks_a_law)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
