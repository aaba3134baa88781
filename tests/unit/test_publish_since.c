/* test_publish_since.c - since when the conditions of a guest stand, as readers see them. */
#include "tests/test.h"

#include "engine/publish.h"
#include "tests/core_world.h"

static void learn(struct core_world *w, uint32_t rows)
{
    core_guest(w, "g1")->facts.migratable = (struct migratable){.known = true, .rows = rows};
    core_define(w, "g1");
}

static void run_again(struct publisher *p, struct core_world *w, enum guest_condition which,
                      const char *status, int64_t since_ms)
{
    const struct snapshot *shot = publish(p, w->fleet, w->now.wall_ms);
    assert_int_equal(shot->n_guests, 1);
    const char *is = snapshot_condition(&shot->guests[0], which);
    assert_int_equal(is == NULL, status == NULL);
    if (status != NULL)
        assert_string_equal(is, status);
    assert_true(shot->guests[0].since_ms[which] == since_ms);
    snapshot_unref(shot);
}

static void a_condition_stands_since_it_last_changed(void **state)
{
    (void)state;
    struct err err = {0};
    struct core_world *w = core_new();
    struct publisher *p = publisher_new(&err);
    int64_t t0 = w->now.wall_ms;
    run_again(p, w, CONDITION_READY, "True", t0);
    run_again(p, w, CONDITION_LIVE_MIGRATABLE, NULL, t0);
    core_advance(w, 10000);
    learn(w, 0);
    run_again(p, w, CONDITION_LIVE_MIGRATABLE, "True", t0 + 10000);
    run_again(p, w, CONDITION_READY, "True", t0); /* untouched by another's change */
    core_advance(w, 10000);
    learn(w, 1U << UNMOVABLE_HOST_CPU); /* a note changes nothing */
    run_again(p, w, CONDITION_LIVE_MIGRATABLE, "True", t0 + 10000);
    core_advance(w, 10000);
    learn(w, 1U << UNMOVABLE_HOST_DEVICE);
    run_again(p, w, CONDITION_LIVE_MIGRATABLE, "False", t0 + 30000);
    run_again(p, w, CONDITION_STORAGE_MIGRATABLE, "False", t0 + 30000);
    core_advance(w, 10000);
    learn(w, 1U << UNMOVABLE_SEV); /* for another reason, still not */
    run_again(p, w, CONDITION_LIVE_MIGRATABLE, "False", t0 + 30000);
    core_add_guest(w, "a", "h1", 64); /* others come before it in the list */
    core_list(w, "h1");
    const struct snapshot *shot = publish(p, w->fleet, w->now.wall_ms);
    assert_int_equal(shot->n_guests, 2);
    assert_true(shot->guests[0].since_ms[CONDITION_READY] == t0 + 40000);
    assert_true(shot->guests[1].since_ms[CONDITION_READY] == t0);
    snapshot_unref(shot);
    publisher_free(p);
    core_free(w);
}

TEST_FILE(test_publish_since)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_stands_since_it_last_changed),
    };
    return cmocka_run_group_tests_name("publish since", tests, NULL, NULL);
}
