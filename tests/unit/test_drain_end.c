/* test_drain_end.c - stories of how a drain ends, of nodes that do not answer and of restarts; and
 * the laws under anything at all. */
#include "tests/unit/test_drain_laws.h"

/* ---- nodes that do not answer ---- */

static void a_lost_node_is_not_empty(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    world_up(&w, 0, "stays", 512, STAYS);
    world_lose(&w, 0);
    drain_n1(&w, PLAIN);
    assert_state(&w, DRAIN_DRAINING);
    assert_shown(&w, "vm", DRAIN_GUEST_WAITING, BLOCK_NONE, "node n1 is unreachable");
    assert_null(world_job(&w, "vm"));
    world_list(&w, 0);
    advance(&w);
    assert_non_null(world_job(&w, "vm"));
    assert_shown(&w, "stays", DRAIN_GUEST_BLOCKED, BLOCK_STRATEGY_NONE,
                 "eviction strategy is None");
    world_lose(&w, 0);
    advance(&w);
    assert_shown(&w, "stays", DRAIN_GUEST_BLOCKED, BLOCK_STRATEGY_NONE, "is unreachable");
    assert_state(&w, DRAIN_DRAINING);
    world_free(&w);
}

static void a_node_whose_guests_are_not_known_yet_is_not_empty(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_node(&w, 0)->listed = false;
    drain_n1(&w, PLAIN);
    assert_state(&w, DRAIN_DRAINING);
    world_list(&w, 0);
    advance(&w);
    assert_state(&w, DRAIN_SUCCEEDED);
    world_free(&w);
}

/* ---- the end ---- */

static void the_deadline_stops_what_waits_and_leaves_what_moves(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "moves", 256, MOVES);
    world_up(&w, 0, "waits", 512, MOVES);
    drain_n1(&w, "{\"nodeName\":\"n1\",\"deadlineSeconds\":30}");
    assert_true(w.drain->drain->next_ms <= w.now.mono_ms + 30000);
    world_start(&w, "moves", 1);
    world_sleep(&w, 29999);
    advance(&w);
    assert_state(&w, DRAIN_DRAINING);
    world_sleep(&w, 1);
    advance(&w);
    assert_state(&w, DRAIN_FAILED);
    assert_null(world_job(&w, "waits"));
    assert_false(world_job(&w, "moves")->abort.asked);
    assert_string_equal(world_guest(&w, "moves")->evacuation_node, "");
    assert_string_equal(world_guest(&w, "waits")->evacuation_node, "");
    assert_true(world_node(&w, 0)->cordoned);
    assert_int_equal(shown(&w, "waits")->block, BLOCK_DEADLINE);
    drain_follow(w.f, w.drain, w.now, &w.fx);
    assert_int_equal(shown(&w, "moves")->state, DRAIN_GUEST_MOVING);
    world_end(&w, "moves", TRIGGER_ON_SOURCE, OUTCOME_FAILED, "so");
    drain_follow(w.f, w.drain, w.now, &w.fx);
    check_laws(&w);
    assert_state(&w, DRAIN_FAILED);
    assert_int_equal(shown(&w, "moves")->state, DRAIN_GUEST_FAILED);
    assert_string_equal(shown(&w, "moves")->message, "its migration failed after the deadline: so");
    evacuation_advance(w.f, world_guest(&w, "moves"), w.now, &w.fx);
    assert_null(world_job(&w, "moves"));
    world_free(&w);
}

static void no_job_is_made_when_time_is_up(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 256, MOVES);
    drain_n1(&w, "{\"nodeName\":\"n1\",\"deadlineSeconds\":30}");
    world_fail(&w, "vm");
    world_sleep(&w, 30000);
    advance(&w);
    assert_int_equal(world_told(&w, "SuccessfulCreate", ""), 1);
    world_free(&w);
}

static void the_last_guest_leaving_at_the_deadline_is_a_success(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 256, MOVES);
    drain_n1(&w, "{\"nodeName\":\"n1\",\"deadlineSeconds\":10}");
    world_move(&w, "vm", 1); /* takes ten seconds */
    advance(&w);
    assert_state(&w, DRAIN_SUCCEEDED);
    world_free(&w);
}

static void assert_nothing_is_left_of_it(struct world *w)
{
    for (int i = 0; i < WORLD_GUESTS; i++) {
        const struct guest *guest =
            w->guests[i].uuid[0] != '\0' ? fleet_guest(w->f, w->guests[i].uuid) : NULL;
        if (guest == NULL)
            continue;
        assert_string_not_equal(guest->evacuation_node, "n1");
        const struct job *job = fleet_active_job(w->f, guest->uuid);
        assert_true(job == NULL || !evacuation_is_of(job, "n1") || job->abort.asked);
    }
}

static void cancelling_stops_its_jobs_clears_marks_and_uncordons(void **state)
{
    (void)state;
    for (int by_uncordon = 0; by_uncordon < 2; by_uncordon++) {
        struct world w;
        world_make(&w);
        world_up(&w, 0, "moves", 256, MOVES);
        world_up(&w, 0, "waits", 512, MOVES);
        world_up(&w, 0, "external", 512, EXTERNAL);
        world_up(&w, 0, "moved", 128, MOVES);
        drain_n1(&w, PLAIN);
        world_move(&w, "moved", 2);
        world_start(&w, "moves", 1);
        if (by_uncordon != 0)
            evacuation_node_uncordoned(w.f, world_node(&w, 0), "me", w.now, &w.fx);
        else
            drain_cancel(w.f, w.drain, "me", w.now, &w.fx);
        check_laws(&w);
        assert_state(&w, DRAIN_CANCELLED);
        assert_string_equal(w.drain->drain->message, "cancelled by me");
        assert_nothing_is_left_of_it(&w);
        assert_string_equal(world_job(&w, "moves")->abort.requester, "me");
        if (by_uncordon == 0)
            assert_false(world_node(&w, 0)->cordoned);
        world_end(&w, "moves", TRIGGER_ON_SOURCE, OUTCOME_ABORTED, "");
        evacuation_advance(w.f, world_guest(&w, "moves"), w.now, &w.fx);
        advance(&w);
        assert_null(world_job(&w, "moves"));
        world_free(&w);
    }
}

static void a_cordon_that_was_there_before_stays(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 256, MOVES);
    (void)world_object(&w, OBJECT_NODE, "", "n1", "{\"unschedulable\":true}");
    fleet_refresh_node(w.f, world_node(&w, 0));
    drain_n1(&w, PLAIN);
    drain_cancel(w.f, w.drain, "me", w.now, &w.fx);
    assert_true(world_node(&w, 0)->cordoned);
    world_free(&w);
}

static void the_cordon_of_a_finished_drain_is_the_operators(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    drain_n1(&w, PLAIN);
    assert_state(&w, DRAIN_SUCCEEDED);
    world_up(&w, 0, "vm", 256, MOVES);
    w.drain = world_object(&w, OBJECT_DRAIN, "", "again", PLAIN);
    assert_true(drain_begin(w.f, w.drain, w.now, &w.fx, &err));
    drain_cancel(w.f, w.drain, "me", w.now, &w.fx);
    assert_true(world_node(&w, 0)->cordoned); /* as before that drain */
    world_free(&w);
}

static void a_final_drain_never_changes(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    drain_n1(&w, PLAIN);
    assert_state(&w, DRAIN_SUCCEEDED);
    world_up(&w, 0, "vm", 256, MOVES);
    world_sleep(&w, 100000);
    OWNED_TEXT before = strdup(w.drain->status_json);
    uint64_t version = w.drain->version;
    drain_advance(w.f, w.drain, w.now, &w.fx);
    drain_cancel(w.f, w.drain, "me", w.now, &w.fx);
    evacuation_node_uncordoned(w.f, world_node(&w, 0), "me", w.now, &w.fx);
    assert_string_equal(w.drain->status_json, before);
    assert_int_equal(w.drain->version, version);
    assert_null(world_job(&w, "vm"));
    world_free(&w);
}

static void nothing_is_stored_when_nothing_happened(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 256, MOVES);
    world_up(&w, 0, "device", 256, MOVES);
    world_define(&w, "device", DEVICE);
    drain_n1(&w, PLAIN);
    uint64_t version = w.f->version;
    size_t effects = w.fx.n;
    w.f->drains_due = false;
    for (int i = 0; i < 10; i++) {
        world_sleep(&w, 60000);
        advance(&w);
        evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
        evacuation_advance(w.f, world_guest(&w, "device"), w.now, &w.fx);
    }
    assert_false(w.f->drains_due);
    assert_int_equal(w.f->version, version);
    assert_int_equal(w.fx.n, effects);
    world_free(&w);
}

/* ---- shutting down ---- */

static void a_guest_is_asked_to_shut_down_again_until_it_does(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 256, STAYS);
    drain_n1(&w, SHUTDOWN);
    assert_int_equal(world_orders(&w, EFFECT_DO_SHUTDOWN), 1);
    world_sleep(&w, DRAIN_STOP_AGAIN_MS - 1);
    advance(&w);
    assert_int_equal(world_orders(&w, EFFECT_DO_SHUTDOWN), 1);
    world_sleep(&w, 1);
    advance(&w);
    assert_int_equal(world_orders(&w, EFFECT_DO_SHUTDOWN), 2);
    assert_string_equal(w.fx.list[w.fx.n - 1].of.act.node, "n1");
    assert_string_equal(w.fx.list[w.fx.n - 1].of.act.guest, w.guests[0].uuid);
    world_set_state(&w, "vm", HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN);
    advance(&w);
    assert_shown(&w, "vm", DRAIN_GUEST_MOVED, BLOCK_NONE, "guest is shut off");
    assert_state(&w, DRAIN_SUCCEEDED);
    world_free(&w);
}

/* ---- beginning, restarting ---- */

static void a_drain_that_cannot_begin_changes_nothing(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0}, other = {0};
    world_make(&w);
    assert_false(begin(&w, "{\"nodeName\":\"n9\"}", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    fleet_remove_object(w.f, w.drain);
    world_up(&w, 0, "vm", 256, MOVES);
    drain_n1(&w, PLAIN);
    struct object *second = world_object(&w, OBJECT_DRAIN, "", "e", PLAIN);
    uint64_t version = w.f->version;
    size_t effects = w.fx.n;
    assert_false(drain_begin(w.f, second, w.now, &w.fx, &other));
    assert_int_equal(other.code, ERR_REFUSED);
    assert_string_equal(other.text, "node n1 is already being drained by d");
    assert_int_equal(w.f->version, version);
    assert_int_equal(w.fx.n, effects);
    world_free(&w);
}

static void a_restart_neither_loses_nor_doubles_anything(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 0, "vm", 256, MOVES);
    world_up(&w, 0, "done", 128, MOVES);
    drain_n1(&w, PLAIN);
    world_move(&w, "done", 1);
    world_fail(&w, "vm");
    advance(&w);
    const struct job *job = world_job(&w, "vm");
    struct drain *again =
        drain_parse(w.drain->spec_json, w.drain->status_json, w.drain->created_ms, &err);
    assert_non_null(again);
    drain_free(w.drain->drain);
    w.drain->drain = again;
    world_node(&w, 0)->cordoned_by_drain = false;
    advance(&w);
    assert_ptr_equal(world_job(&w, "vm"), job);
    assert_int_equal(shown(&w, "vm")->attempts, 1);
    assert_shown(&w, "done", DRAIN_GUEST_MOVED, BLOCK_NONE, "");
    drain_cancel(w.f, w.drain, "me", w.now, &w.fx);
    assert_false(world_node(&w, 0)->cordoned);
    world_free(&w);
}

/* ---- anything at all ---- */

static uint32_t next_number(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33) % below;
}

static int pick_guest(const struct world *w, uint64_t *random)
{
    int i = (int)next_number(random, WORLD_GUESTS);
    return w->guests[i].uuid[0] != '\0' ? i : -1;
}

static void something_comes(struct world *w, uint64_t *random, unsigned number)
{
    static const char *const settings[] = {MOVES, MOVES, MOVES_IF, STAYS, EXTERNAL, NULL};
    char name[16];
    unsigned free_ones = 0;
    for (int i = 0; i < WORLD_GUESTS; i++)
        free_ones += w->guests[i].uuid[0] == '\0';
    if (free_ones == 0)
        return;
    (void)snprintf(name, sizeof name, "vm%u", number);
    world_up(w, 0, name, 128 + next_number(random, 4) * 128, settings[next_number(random, 6)]);
}

static void something_happens_to(struct world *w, int i, uint64_t *random)
{
    const char *name = w->guests[i].name;
    struct job *job = world_job(w, name);
    switch (next_number(random, 6)) {
    case 0:
        if (job != NULL && job->phase == PHASE_PENDING && w->at[i] == 0)
            world_start(w, name, 1 + (int)next_number(random, 2));
        break;
    case 1:
        if (job != NULL && job->phase == PHASE_RUNNING)
            world_arrive(w, name);
        break;
    case 2:
        if (job != NULL && job->phase == PHASE_RUNNING)
            world_end(w, name, TRIGGER_ON_SOURCE,
                      job->abort.asked ? OUTCOME_ABORTED : OUTCOME_FAILED, "so");
        break;
    case 3: world_define(w, name, next_number(random, 2) != 0 ? DEVICE : 0); break;
    case 4:
        if (job == NULL)
            world_gone(w, name);
        break;
    default:
        if (job == NULL)
            world_set_state(w, name, HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN);
        break;
    }
}

static void something_happens(struct world *w, uint64_t *random, unsigned number)
{
    int i = pick_guest(w, random);
    switch (next_number(random, 8)) {
    case 0: something_comes(w, random, number); break;
    case 1: world_lose(w, 0); break;
    case 2: world_list(w, 0); break;
    case 3: world_sleep(w, next_number(random, 30000)); break;
    case 4: w->f->store_ok = next_number(random, 3) != 0; break;
    default:
        if (i >= 0 && world_node(w, 0)->listed)
            something_happens_to(w, i, random);
        break;
    }
}

static void restart(struct world *w)
{
    struct err err = {0};
    struct drain *again =
        drain_parse(w->drain->spec_json, w->drain->status_json, w->drain->created_ms, &err);
    assert_non_null(again);
    drain_free(w->drain->drain);
    w->drain->drain = again;
}

static void one_seed(uint64_t seed)
{
    uint64_t random = seed;
    struct world w;
    world_make(&w);
    for (unsigned i = 0; i < 4; i++)
        something_comes(&w, &random, 1000 + i);
    drain_n1(&w, next_number(&random, 2) != 0
                     ? "{\"nodeName\":\"n1\",\"deadlineSeconds\":600,\"retryBudget\":2}"
                     : SHUTDOWN);
    for (unsigned i = 0; i < 120; i++) {
        something_happens(&w, &random, i);
        if (next_number(&random, 20) == 0)
            restart(&w);
        advance(&w);
        if (drain_is_final(w.drain->drain->state))
            break;
    }
    if (w.drain->drain->state == DRAIN_SUCCEEDED)
        for (struct domain *domain = world_node(&w, 0)->domains; domain; domain = domain->next_here)
            assert_false(domain_is_up(domain));
    bool cancelled = !drain_is_final(w.drain->drain->state);
    drain_cancel(w.f, w.drain, "me", w.now, &w.fx);
    check_laws(&w);
    if (cancelled)
        assert_nothing_is_left_of_it(&w);
    assert_int_equal(world_node(&w, 0)->cordoned, !cancelled);
    world_free(&w);
}

static void the_laws_hold_whatever_happens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= test_size(10, 50, 50); seed++)
        one_seed(seed);
}

TEST_FILE(test_drain_end)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_node_is_not_empty),
        cmocka_unit_test(a_node_whose_guests_are_not_known_yet_is_not_empty),
        cmocka_unit_test(the_deadline_stops_what_waits_and_leaves_what_moves),
        cmocka_unit_test(no_job_is_made_when_time_is_up),
        cmocka_unit_test(the_last_guest_leaving_at_the_deadline_is_a_success),
        cmocka_unit_test(cancelling_stops_its_jobs_clears_marks_and_uncordons),
        cmocka_unit_test(a_cordon_that_was_there_before_stays),
        cmocka_unit_test(the_cordon_of_a_finished_drain_is_the_operators),
        cmocka_unit_test(a_final_drain_never_changes),
        cmocka_unit_test(nothing_is_stored_when_nothing_happened),
        cmocka_unit_test(a_guest_is_asked_to_shut_down_again_until_it_does),
        cmocka_unit_test(a_drain_that_cannot_begin_changes_nothing),
        cmocka_unit_test(a_restart_neither_loses_nor_doubles_anything),
        cmocka_unit_test(the_laws_hold_whatever_happens),
    };
    return cmocka_run_group_tests_name("drain-end", tests, NULL, NULL);
}
