/* test_remedy_retired.c - what earlier versions stored: memory relayed through Ferry and streams
 * broken through a second monitor. Nothing makes such rows any more; all of them are read. */
#include "tests/test.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/data/flags.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/order.h"
#include "engine/data/remedy.h"
#include "engine/publish.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

enum { PORT = 49190 };

/* A relayed migration in whose switch-over an earlier version ordered such a remedy and ended. */
static struct core_world *ordered(enum decision decision, enum intent_kind kind)
{
    struct core_world *w = core_flowing(NULL, false);
    struct job *job = core_job(w);
    struct monitor_decision is = {.why = decision, .text = "as it was"};
    is.action = decision_action(decision);
    job->call.flags |= FLAGS_RELAYED;
    job->stream.port = PORT;
    monitor_driver_record(job, "remedy", &is, w->now, &w->fx);
    order_open(w->fleet, job, ORDER_REMEDY,
               &(struct order_spec){.intent = kind, .node = job->source}, w->now, &w->fx);
    return w;
}

static const struct {
    enum decision decision;
    enum intent_kind intent;
    const char *name, *action;
} remedies[] = {
    {DECISION_STREAM_RESET, INTENT_RETIRED_RESET_RELAY, "stalled-switch-reset-relay",
     "reset-relay"},
    {DECISION_STREAM_YANKED_OOB, INTENT_RETIRED_YANK_OOB, "stalled-yank-oob", "yank-oob"},
};

static void the_stored_names_are_those_of_earlier_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(remedies); i++) {
        assert_string_equal(decision_name(remedies[i].decision), remedies[i].name);
        assert_int_equal(decision_action(remedies[i].decision), MONITOR_RETIRED);
        assert_string_equal(intent_kind_name(remedies[i].intent), remedies[i].action);
    }
    assert_int_equal(FLAGS_RELAYED, 1 << 14);
    assert_int_equal(flag_from_name("relayed"), FLAG_RELAYED);
}

/* The stream broke with the process that relayed it. */
static void a_relayed_job_is_found_at_home_its_remedy_closed_and_the_reason_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(remedies); i++) {
        struct core_world *w = ordered(remedies[i].decision, remedies[i].intent);
        w->job_type = HV_JOB_NONE;
        w->target = CORE_ABSENT;
        core_restart(w, 1000);
        core_advance(w, 5000);
        core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
        assert_non_null(
            strstr(core_job(w)->result.failure_reason, "passed through Ferry, which was rest"));
        assert_int_equal(core_intents(w, remedies[i].action), 1);
        assert_int_equal(core_open_intents(w), 0);
        assert_int_equal(core_remedies(w), 0);
        core_clean(w);
        core_free(w);
    }
}

static void an_old_migration_is_shown_with_its_flag_decision_and_port(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(remedies); i++) {
        struct core_world *w = ordered(remedies[i].decision, remedies[i].intent);
        struct snapshot_job shown;
        core_restart(w, 1000);
        publish_job(w->fleet, core_job(w), &shown);
        assert_true((shown.call.shown & UINT32_C(1) << FLAG_RELAYED) != 0);
        assert_string_equal(shown.monitor.decision, remedies[i].name);
        assert_string_equal(shown.monitor.decision_text, "as it was");
        assert_int_equal(shown.stream.port, PORT);
        core_free(w);
    }
}

/* Its stream outlived Ferry after all: the remedies of today are for it too. */
static void a_relayed_job_that_still_stalls_gets_a_remedy_of_today(void **state)
{
    (void)state;
    struct core_world *w = ordered(DECISION_STREAM_RESET, INTENT_RETIRED_RESET_RELAY);
    w->source = CORE_SWITCHING;
    core_restart(w, 1000);
    core_advance(w, 30000);
    assert_int_equal(core_orders(w, HV_CALL_DROP_COPY), 1);
    assert_int_equal(core_open_intents(w), 1);
    core_free(w);
}

/* No hypervisor is told of it. */
static void a_call_of_today_is_not_relayed(void **state)
{
    (void)state;
    struct core_world *w = core_flowing(NULL, false);
    struct hv_migrate how = {0};
    core_job(w)->call.flags |= FLAGS_RELAYED;
    flags_fill(core_job(w), &how);
    assert_int_equal(how.flags & FLAGS_RELAYED, 0);
    core_free(w);
}

static void a_stored_policy_with_the_retired_setting_is_warned_of_once_at_start(void **state)
{
    (void)state;
    struct core_world *w = core_flowing("{\"selectors\":{},\"relayed\":true}", false);
    char log[2048] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log_setup(LOG_LEVEL_WARN, LOG_FORMAT_TEXT, ends[1]);
    core_restart(w, 1000);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, STDERR_FILENO);
    (void)close(ends[1]);
    assert_true(read(ends[0], log, sizeof log - 1) > 0);
    (void)close(ends[0]);
    const char *first = strstr(log, "`relayed` is no longer used: ");
    assert_non_null(first);
    assert_null(strstr(first + 1, "`relayed` is no longer used"));
    core_free(w);
}

TEST_FILE(test_remedy_retired)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stored_names_are_those_of_earlier_versions),
        cmocka_unit_test(a_relayed_job_is_found_at_home_its_remedy_closed_and_the_reason_says_why),
        cmocka_unit_test(an_old_migration_is_shown_with_its_flag_decision_and_port),
        cmocka_unit_test(a_relayed_job_that_still_stalls_gets_a_remedy_of_today),
        cmocka_unit_test(a_call_of_today_is_not_relayed),
        cmocka_unit_test(a_stored_policy_with_the_retired_setting_is_warned_of_once_at_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
