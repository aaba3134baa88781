/* test_pause.c - a user pauses and unpauses a guest: what is ordered, and when it is refused. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "tests/core_move.h"

static unsigned ordered(const struct core_world *w, enum effect_kind kind)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += w->fx.list[i].kind == kind;
    return n;
}

/* The orders are not carried out: the test says what the host reports. */
static bool request(struct core_world *w, enum override_kind kind, const char *guest, bool dry_run)
{
    struct input input = {.kind = INPUT_RESOLVE, .of.resolve = {.kind = kind, .dry_run = dry_run}};
    struct migration_ref ref = {{0}, {0}, {0}};
    TEXT_SET(input.of.resolve.ns, "default");
    TEXT_SET(input.of.resolve.name, guest);
    TEXT_SET(input.of.resolve.requester, "alice");
    w->err = (struct err){0};
    return reconcile(w->fleet, &input, w->now, &w->fx, &ref, &w->err);
}

static void refused(struct core_world *w, enum override_kind kind, const char *guest,
                    const char *says)
{
    effects_clear(&w->fx);
    assert_false(request(w, kind, guest, false));
    if (strstr(w->err.text, says) == NULL)
        fail_msg("%s; '%s' was expected", w->err.text, says);
    assert_int_equal(ordered(w, EFFECT_DO_PAUSE) + ordered(w, EFFECT_DO_UNPAUSE), 0);
}

static void is_now(struct core_world *w, int domain_state, int reason)
{
    struct domain *owner = fleet_guest(w->fleet, CORE_GUEST)->owner;
    owner->state = domain_state;
    owner->reason = reason;
}

static void a_running_guest_is_paused_and_a_paused_one_runs(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    effects_clear(&w->fx);
    assert_true(request(w, RESOLVE_PAUSE, "g1", true)); /* dry run */
    assert_int_equal(ordered(w, EFFECT_DO_PAUSE), 0);
    assert_true(request(w, RESOLVE_PAUSE, "g1", false));
    assert_int_equal(ordered(w, EFFECT_DO_PAUSE), 1);
    assert_int_equal(ordered(w, EFFECT_EVENT), 1);
    refused(w, RESOLVE_UNPAUSE, "g1", "VMI is not paused");
    is_now(w, HV_STATE_PAUSED, HV_PAUSED_USER);
    refused(w, RESOLVE_PAUSE, "g1", "VMI is already paused");
    effects_clear(&w->fx);
    assert_true(request(w, RESOLVE_UNPAUSE, "g1", false));
    assert_int_equal(ordered(w, EFFECT_DO_UNPAUSE), 1);
    core_free(w);
}

static void a_guest_that_is_paused_otherwise_is_not_resumed(void **state)
{
    (void)state;
    static const int reasons[] = {HV_PAUSED_MIGRATION, HV_PAUSED_IOERROR, HV_PAUSED_POSTCOPY,
                                  HV_PAUSED_POSTCOPY_FAILED};
    struct core_world *w = core_new();
    for (size_t i = 0; i < COUNT(reasons); i++) {
        is_now(w, HV_STATE_PAUSED, reasons[i]);
        refused(w, RESOLVE_UNPAUSE, "g1", "but not by a user");
    }
    is_now(w, HV_STATE_SHUTOFF, 0);
    refused(w, RESOLVE_PAUSE, "g1", "VMI is not running");
    refused(w, RESOLVE_UNPAUSE, "g1", "VMI is not running");
    core_free(w);
}

static void what_is_not_known_or_moves_is_left_alone(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    refused(w, RESOLVE_PAUSE, "nobody", "does not exist");
    core_connect(w, "h1", false);
    refused(w, RESOLVE_PAUSE, "g1", "node h1 is unreachable");
    core_free(w);
    w = core_moving();
    refused(w, RESOLVE_PAUSE, "g1", "VMI is being migrated");
    core_free(w);
}

/* Nobody gives an order about a migration that somebody else started, also not to its guest. */
static void a_guest_that_somebody_else_migrates_is_left_alone(void **state)
{
    (void)state;
    enum { STARTED_MIGRATED = 1 };
    struct core_world *w = core_new();
    struct input input = {.kind = INPUT_EVENT};
    input.of.event = (struct hv_event){
        .kind = HV_EVENT_LIFECYCLE, .a = HV_LIFECYCLE_STARTED, .b = STARTED_MIGRATED};
    TEXT_SET(input.host, "h2");
    TEXT_SET(input.guest, CORE_GUEST);
    TEXT_SET(input.of.event.host, "h2");
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    w->target = CORE_INCOMING;
    core_feed(w, &input);
    assert_non_null(fleet_observed_job(w->fleet, CORE_GUEST));
    refused(w, RESOLVE_PAUSE, "g1", "VMI is being migrated");
    is_now(w, HV_STATE_PAUSED, HV_PAUSED_USER);
    refused(w, RESOLVE_UNPAUSE, "g1", "VMI is being migrated");
    core_free(w);
}

/* The order would not be given: whoever asked is told so. */
static void in_observe_mode_it_is_refused(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_node(w, "h1")->host.observe = true;
    refused(w, RESOLVE_PAUSE, "g1", "node h1 is in observe mode");
    is_now(w, HV_STATE_PAUSED, HV_PAUSED_USER);
    refused(w, RESOLVE_UNPAUSE, "g1", "node h1 is in observe mode");
    core_free(w);
}

TEST_FILE(test_pause)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_guest_is_paused_and_a_paused_one_runs),
        cmocka_unit_test(a_guest_that_is_paused_otherwise_is_not_resumed),
        cmocka_unit_test(what_is_not_known_or_moves_is_left_alone),
        cmocka_unit_test(a_guest_that_somebody_else_migrates_is_left_alone),
        cmocka_unit_test(in_observe_mode_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
