/* test_evacuation.c - stories of guests that were asked to leave their node. */
#include "tests/unit/test_drain_jobs.h"

#include "engine/model/job/backoff.h"

static void mark(struct world *w, const char *name, bool by_descheduler)
{
    struct err err = {0};
    assert_true(evacuation_mark(w->f, world_guest(w, name), by_descheduler, w->now, &w->fx, &err));
}

static const struct object *document_of(struct world *w, const char *name)
{
    return fleet_object(w->f, OBJECT_GUEST, "default", name);
}

/* ---- what a mark asks for ---- */

struct mark_story {
    const char *what, *settings;
    uint32_t rows;
    bool by_descheduler, makes_job;
    enum priority priority;
};
static const struct mark_story mark_stories[] = {
    {"a drain's", MOVES, 0, false, true, PRIORITY_SYSTEM_CRITICAL},
    {"the descheduler's", MOVES, 0, true, true, PRIORITY_SYSTEM_MAINTENANCE},
    {"moved if possible", MOVES_IF, 0, false, true, PRIORITY_SYSTEM_CRITICAL},
    {"not possible", MOVES_IF, 1u << UNMOVABLE_HOST_DEVICE, false, false, 0},
    {"unmovable", MOVES, 1u << UNMOVABLE_HOST_DEVICE, false, false, 0},
    {"a note does not keep it", MOVES, 1u << UNMOVABLE_HOST_CPU, false, true,
     PRIORITY_SYSTEM_CRITICAL},
    {"somebody else moves it", EXTERNAL, 0, false, false, 0},
    {"it stays", STAYS, 0, false, false, 0},
    {"nothing said: if possible", NULL, 0, false, true, PRIORITY_SYSTEM_CRITICAL},
};

static void a_mark_makes_the_job_its_guest_allows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mark_stories); i++) {
        const struct mark_story *story = &mark_stories[i];
        struct world w;
        world_make(&w);
        world_up(&w, 0, "vm", 512, story->settings);
        world_define(&w, "vm", story->rows);
        mark(&w, "vm", story->by_descheduler);
        assert_string_equal(world_guest(&w, "vm")->evacuation_node, "n1");
        const struct job *job = world_job(&w, "vm");
        if ((job != NULL) != story->makes_job)
            fail_msg("%s", story->what);
        if (job != NULL) {
            assert_int_equal(job->request.priority, story->priority);
            assert_int_equal(job->request.origin, ORIGIN_EVACUATION);
            assert_string_equal(job->request.evacuates, "n1");
            assert_true(text_has_prefix(job->name, "kubevirt-evacuation-"));
            assert_int_equal(world_told(&w, "SuccessfulCreate", "Created Migration kubevirt-"), 1);
        }
        bool unmovable = story->rows == 1u << UNMOVABLE_HOST_DEVICE;
        assert_int_equal(world_told(&w, "Migrated",
                                    "EvictionStrategy is set but vmi is not migratable; VMI "
                                    "specifies"),
                         unmovable);
        world_free(&w);
    }
}

static void a_guest_on_no_node_is_not_marked(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    struct guest lost = *world_guest(&w, "vm");
    lost.owner = NULL;
    assert_false(evacuation_mark(w.f, &lost, false, w.now, &w.fx, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    world_free(&w);
}

static void a_second_mark_makes_no_second_job_and_never_less_urgent(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    mark(&w, "vm", false);
    mark(&w, "vm", true);
    assert_false(world_guest(&w, "vm")->evacuation_by_descheduler);
    assert_int_equal(world_told(&w, "SuccessfulCreate", ""), 1);
    assert_int_equal(w.f->waiting_jobs, 1);
    world_free(&w);
}

/* ---- how it ends ---- */

static void a_mark_goes_when_its_guest_has_left(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    mark(&w, "vm", false);
    world_start(&w, "vm", 1);
    evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    assert_string_equal(world_guest(&w, "vm")->evacuation_node, "n1");
    world_arrive(&w, "vm");
    evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    assert_string_equal(world_guest(&w, "vm")->evacuation_node, "");
    assert_null(document_of(&w, "vm"));
    assert_null(world_job(&w, "vm"));
    world_free(&w);
}

static void a_mark_goes_when_its_guest_shut_down(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, EXTERNAL);
    mark(&w, "vm", false);
    world_set_state(&w, "vm", HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN);
    evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    assert_string_equal(world_guest(&w, "vm")->evacuation_node, "");
    world_free(&w);
}

static void a_failed_job_is_followed_by_another_until_too_many_failed(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    mark(&w, "vm", false);
    for (int i = 0; i < BACKOFF_ATTEMPTS_MAX; i++) {
        assert_non_null(world_job(&w, "vm"));
        world_fail(&w, "vm");
        evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    }
    assert_null(world_job(&w, "vm"));
    assert_string_equal(world_guest(&w, "vm")->evacuation_node, "n1");
    world_free(&w);
}

static void a_device_that_is_detached_lets_the_marked_guest_go(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    world_define(&w, "vm", 1u << UNMOVABLE_HOST_DEVICE);
    mark(&w, "vm", false);
    assert_null(world_job(&w, "vm"));
    world_define(&w, "vm", 0);
    evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    assert_non_null(world_job(&w, "vm"));
    world_free(&w);
}

static void no_job_is_made_while_it_could_not_be_recorded(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    w.f->store_ok = false;
    mark(&w, "vm", false);
    assert_null(world_job(&w, "vm"));
    w.f->store_ok = true;
    evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    assert_non_null(world_job(&w, "vm"));
    world_free(&w);
}

static void taking_the_mark_back_stops_the_job_it_made_and_no_other(void **state)
{
    (void)state;
    struct world w;
    struct err err = {0};
    world_make(&w);
    world_up(&w, 0, "waits", 512, MOVES);
    world_up(&w, 0, "moves", 512, MOVES);
    world_up(&w, 0, "human", 512, MOVES);
    assert_non_null(admission_automatic(
        w.f, world_guest(&w, "human"),
        (struct automatic_request){ORIGIN_HUMAN, PRIORITY_USER_TRIGGERED, "me", "migration-"},
        w.now, &w.fx, &err));
    mark(&w, "waits", false);
    mark(&w, "moves", false);
    mark(&w, "human", false);
    world_start(&w, "moves", 1);
    evacuation_clear(w.f, world_guest(&w, "waits"), "me", w.now, &w.fx);
    evacuation_clear(w.f, world_guest(&w, "moves"), "me", w.now, &w.fx);
    evacuation_clear(w.f, world_guest(&w, "human"), "me", w.now, &w.fx);
    assert_null(world_job(&w, "waits"));
    assert_true(world_job(&w, "moves")->abort.asked);
    assert_string_equal(world_job(&w, "moves")->abort.requester, "me");
    assert_false(world_job(&w, "human")->abort.asked);
    const char *const names[] = {"waits", "moves", "human"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_string_equal(world_guest(&w, names[i])->evacuation_node, "");
        assert_null(document_of(&w, names[i]));
    }
    world_end(&w, "moves", TRIGGER_ON_SOURCE, OUTCOME_ABORTED, "");
    evacuation_advance(w.f, world_guest(&w, "moves"), w.now, &w.fx);
    assert_null(world_job(&w, "moves"));
    world_free(&w);
}

static void clearing_what_is_not_marked_changes_nothing(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    uint64_t version = w.f->version;
    evacuation_clear(w.f, world_guest(&w, "vm"), "me", w.now, &w.fx);
    evacuation_advance(w.f, world_guest(&w, "vm"), w.now, &w.fx);
    assert_int_equal(w.f->version, version);
    assert_int_equal(w.fx.n, 0);
    world_free(&w);
}

/* ---- documents ---- */

static void a_mark_leaves_a_persons_document_as_it_was(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, EXTERNAL);
    (void)world_object(&w, OBJECT_GUEST, "default", "vm", "{\"labels\":{\"a\":\"b\"}}");
    mark(&w, "vm", true);
    assert_string_equal(document_of(&w, "vm")->spec_json, "{\"labels\":{\"a\":\"b\"}}");
    assert_non_null(strstr(document_of(&w, "vm")->status_json, "\"evacuationNodeName\":\"n1\""));
    assert_non_null(strstr(document_of(&w, "vm")->status_json, "\"descheduler\""));
    evacuation_clear(w.f, world_guest(&w, "vm"), "me", w.now, &w.fx);
    assert_string_equal(document_of(&w, "vm")->status_json, "{}");
    assert_string_equal(document_of(&w, "vm")->spec_json, "{\"labels\":{\"a\":\"b\"}}");
    world_free(&w);
}

static void a_mark_survives_a_restart(void **state)
{
    (void)state;
    for (int by_descheduler = 0; by_descheduler < 2; by_descheduler++) {
        struct world w;
        world_make(&w);
        world_up(&w, 0, "vm", 512, EXTERNAL);
        mark(&w, "vm", by_descheduler != 0);
        struct guest *guest = world_guest(&w, "vm");
        guest->evacuation_node[0] = '\0';
        guest->evacuation_by_descheduler = false;
        evacuation_restore(w.f, guest);
        assert_string_equal(guest->evacuation_node, "n1");
        assert_int_equal(guest->evacuation_by_descheduler, by_descheduler);
        guest->evacuation_node[0] = '\0';
        TEXT_SET(guest->uuid, "11111111-1111-1111-1111-111111111111");
        evacuation_restore(w.f, guest); /* another guest of that name */
        assert_string_equal(guest->evacuation_node, "");
        TEXT_SET(guest->uuid, w.guests[0].uuid);
        world_free(&w);
    }
}

static void a_damaged_document_is_no_mark(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "{", "{\"evacuationNodeName\":7}", "{}"};
    struct world w;
    world_make(&w);
    world_up(&w, 0, "vm", 512, MOVES);
    struct object *object = world_object(&w, OBJECT_GUEST, "default", "vm", "{}");
    for (size_t i = 0; i < COUNT(texts); i++) {
        free(object->status_json);
        object->status_json = strdup(texts[i]);
        evacuation_restore(w.f, world_guest(&w, "vm"));
        assert_string_equal(world_guest(&w, "vm")->evacuation_node, "");
    }
    world_free(&w);
}

/* ---- nodes ---- */

static void an_uncordoned_node_keeps_no_mark(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    world_up(&w, 0, "a", 512, MOVES);
    world_up(&w, 0, "b", 512, EXTERNAL);
    world_up(&w, 1, "other", 512, MOVES);
    mark(&w, "a", false);
    mark(&w, "b", false);
    mark(&w, "other", false);
    evacuation_node_uncordoned(w.f, world_node(&w, 0), "me", w.now, &w.fx);
    assert_string_equal(world_guest(&w, "a")->evacuation_node, "");
    assert_string_equal(world_guest(&w, "b")->evacuation_node, "");
    assert_null(world_job(&w, "a"));
    assert_string_equal(world_guest(&w, "other")->evacuation_node, "n2");
    assert_non_null(world_job(&w, "other"));
    world_free(&w);
}

static void only_the_drains_own_cordon_is_lifted(void **state)
{
    (void)state;
    struct world w;
    world_make(&w);
    struct node *node = world_node(&w, 0);
    evacuation_uncordon(w.f, node, w.now, &w.fx);
    assert_int_equal(w.fx.n, 0);
    evacuation_cordon(w.f, node, w.now, &w.fx);
    assert_true(node->cordoned && node->cordoned_by_drain);
    assert_int_equal(world_told(&w, "NodeNotSchedulable", "n1"), 1);
    fleet_refresh_node(w.f, node);
    assert_true(node->cordoned);     /* it is in the document */
    node->cordoned_by_drain = false; /* as after a restart */
    evacuation_uncordon(w.f, node, w.now, &w.fx);
    assert_false(node->cordoned);
    assert_int_equal(world_told(&w, "NodeSchedulable", "n1"), 1);

    evacuation_cordon(w.f, node, w.now, &w.fx);
    evacuation_keep_cordon(w.f, node);
    evacuation_uncordon(w.f, node, w.now, &w.fx);
    assert_true(node->cordoned);
    evacuation_cordon(w.f, node, w.now, &w.fx); /* it stands already */
    evacuation_uncordon(w.f, node, w.now, &w.fx);
    assert_true(node->cordoned);
    world_free(&w);
}

TEST_FILE(test_evacuation)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_makes_the_job_its_guest_allows),
        cmocka_unit_test(a_guest_on_no_node_is_not_marked),
        cmocka_unit_test(a_second_mark_makes_no_second_job_and_never_less_urgent),
        cmocka_unit_test(a_mark_goes_when_its_guest_has_left),
        cmocka_unit_test(a_mark_goes_when_its_guest_shut_down),
        cmocka_unit_test(a_failed_job_is_followed_by_another_until_too_many_failed),
        cmocka_unit_test(a_device_that_is_detached_lets_the_marked_guest_go),
        cmocka_unit_test(no_job_is_made_while_it_could_not_be_recorded),
        cmocka_unit_test(taking_the_mark_back_stops_the_job_it_made_and_no_other),
        cmocka_unit_test(clearing_what_is_not_marked_changes_nothing),
        cmocka_unit_test(a_mark_leaves_a_persons_document_as_it_was),
        cmocka_unit_test(a_mark_survives_a_restart),
        cmocka_unit_test(a_damaged_document_is_no_mark),
        cmocka_unit_test(an_uncordoned_node_keeps_no_mark),
        cmocka_unit_test(only_the_drains_own_cordon_is_lifted),
    };
    return cmocka_run_group_tests_name("evacuation", tests, NULL, NULL);
}
