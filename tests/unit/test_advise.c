/* test_advise.c - what Ferry would do about a migration that somebody else started: said with its
 * command, never done. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/model/job/advice.h"
#include "tests/core_world.h"

enum { STARTED_MIGRATED = 1 };

static const struct hv_observation HALF_SOURCE = {.presence = HV_PRESENT,
                                                  .state = HV_STATE_PAUSED,
                                                  .reason = HV_PAUSED_POSTCOPY_FAILED,
                                                  .job_type = -1};
static const struct hv_observation HALF_TARGET = {.presence = HV_PRESENT,
                                                  .state = HV_STATE_RUNNING,
                                                  .reason = HV_RUNNING_POSTCOPY_FAILED,
                                                  .job_type = -1};

static void happens(struct core_world *w, const char *host, int what, int detail)
{
    struct input input = {.kind = INPUT_EVENT};
    input.of.event = (struct hv_event){.kind = HV_EVENT_LIFECYCLE, .a = what, .b = detail};
    TEXT_SET(input.host, host);
    TEXT_SET(input.guest, CORE_GUEST);
    TEXT_SET(input.of.event.host, host);
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    core_feed(w, &input);
}

/* virsh migrates g1 from h1 to h2. */
static struct job *foreign(struct core_world *w)
{
    w->target = CORE_INCOMING;
    w->job_type = HV_JOB_UNBOUNDED;
    w->job_operation = HV_OPERATION_MIGRATION_OUT;
    happens(w, "h2", HV_LIFECYCLE_STARTED, STARTED_MIGRATED);
    struct job *job = fleet_observed_job(w->fleet, CORE_GUEST);
    assert_non_null(job);
    return job;
}

static void samples(struct core_world *w, const struct job *job, unsigned seconds, uint64_t bps)
{
    static uint64_t processed = 1 << 20;
    for (unsigned i = 0; i < seconds * 2; i++) {
        struct input input = {.kind = INPUT_SAMPLE};
        struct sample *sample = &input.of.sample;
        processed += bps / 2;
        *sample = (struct sample){.source = SAMPLE_POLL,
                                  .seq = i,
                                  .mono_ms = w->now.mono_ms,
                                  .wall_ms = w->now.wall_ms,
                                  .bandwidth_bps = bps};
        sample->stats = (struct hv_job_stats){.type = HV_JOB_UNBOUNDED,
                                              .operation = HV_OPERATION_MIGRATION_OUT,
                                              .data_total = 1 << 30,
                                              .data_processed = processed,
                                              .data_remaining = 900 << 20,
                                              .memory_total = 1 << 30,
                                              .memory_page_size = 4096,
                                              .memory_iteration = 1};
        TEXT_SET(sample->job_uid, job->uid);
        TEXT_SET(sample->host, "h1");
        TEXT_SET(sample->guest, CORE_GUEST);
        core_feed(w, &input);
        core_advance(w, 500);
    }
}

static void nothing_was_ordered(struct core_world *w)
{
    assert_int_equal(w->migrates + w->aborts + w->asks.streams + w->asks.paths, 0);
    core_ledger(w);
}

static void one_that_makes_progress_gets_no_advice(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct job *job = foreign(w);
    samples(w, job, 20, 50 << 20);
    assert_int_equal(job->advice.is, ADVICE_NONE);
    assert_int_equal(core_count_events(w, "Advice", NULL), 0);
    nothing_was_ordered(w);
    core_free(w);
}

static void a_stalled_one_is_to_be_aborted_until_data_flows_again(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct job *job = foreign(w);
    samples(w, job, 5, 50 << 20);
    samples(w, job, 9, 0);
    assert_int_equal(job->wait.pending, PENDING_STALLED); /* what FerryStreamStalled goes by */
    assert_int_equal(job->advice.is, ADVICE_NONE);
    samples(w, job, 8, 0);
    assert_int_equal(job->advice.is, ADVICE_ABORT);
    assert_string_equal(job->advice.command, "virsh domjobabort g1");
    assert_string_equal(job->advice.node, "h1");
    assert_int_equal(core_count_events(w, "Advice", "virsh domjobabort g1"), 1);
    assert_false(job->abort.asked);
    samples(w, job, 5, 50 << 20);
    assert_int_equal(job->advice.is, ADVICE_NONE);
    assert_int_equal(job->wait.pending, PENDING_NONE);
    nothing_was_ordered(w);
    core_free(w);
}

static void a_late_one_is_to_be_aborted_by_the_policy_that_would_apply(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    w->fleet->config.migration.completion_timeout = 10;
    struct job *job = foreign(w);
    samples(w, job, 60, 10 << 20);
    assert_int_not_equal(job->advice.is, ADVICE_NONE);
    assert_true(job->advice.by_monitor);
    assert_true(job->advice.command[0] != '\0');
    nothing_was_ordered(w);
    core_free(w);
}

static void a_broken_post_copy_is_to_be_resumed(void **state)
{
    (void)state;
    for (unsigned reachable = 0; reachable < 2; reachable++) {
        struct core_world *w = core_new();
        struct node *target = core_node(w, "h2");
        TEXT_SET(target->host.peer_uri, reachable != 0 ? "qemu+tcp://h2/system" : "qemu:///system");
        struct job *job = foreign(w);
        core_advance(w, 1000);
        w->source = HALF_SOURCE;
        w->target = HALF_TARGET;
        core_advance(w, 5000);
        assert_int_equal(job->advice.is, ADVICE_RESUME_STREAM);
        assert_string_equal(job->advice.command, reachable != 0
                                                     ? "virsh migrate --live --p2p --postcopy "
                                                       "--postcopy-resume g1 qemu+tcp://h2/system"
                                                     : ""); /* no other host can open that URI */
        target->facts.libvirt_version = 11002000;           /* it dies of such a resume */
        core_advance(w, 5000);
        assert_int_equal(job->advice.is, ADVICE_WAIT);
        assert_string_equal(job->advice.command, "");
        nothing_was_ordered(w);
        core_free(w);
    }
}

/* A name goes into a shell's command line only if a shell reads it as it is. */
static void odd_names_are_replaced_by_the_uuid(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_safe;
    } rows[] = {{"web-1.prod", true}, {"a b", false}, {"-x", false},
                {"$(reboot)", false}, {"a;b", false}, {"", false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct job_advice advice = {.is = ADVICE_ABORT};
        char want[ADVICE_COMMAND_MAX];
        advice_command(&advice, &(struct advice_for){.source = "h1",
                                                     .target = "h2",
                                                     .guest = rows[i].name,
                                                     .uuid = CORE_GUEST,
                                                     .peer_uri = ""});
        (void)snprintf(want, sizeof want, "virsh domjobabort %s",
                       rows[i].is_safe ? rows[i].name : CORE_GUEST);
        assert_string_equal(advice.command, want);
    }
}

static void each_advice_has_a_name_and_a_command_that_fits(void **state)
{
    (void)state;
    char uri[HV_URI_MAX], name[HV_NAME_MAX];
    memset(uri, 'u', sizeof uri);
    memset(name, 'n', sizeof name);
    uri[200] = name[sizeof name - 1] = '\0';
    for (enum advice is = ADVICE_NONE + 1; is < ADVICE_COUNT; is++) {
        struct job_advice advice = {.is = is};
        assert_true(advice_name(is)[0] != '\0' && advice_help(is)[0] != '\0');
        advice_command(&advice, &(struct advice_for){.source = "h1",
                                                     .target = "h2",
                                                     .guest = name,
                                                     .uuid = CORE_GUEST,
                                                     .peer_uri = uri,
                                                     .number = 30000});
        assert_null(strchr(advice.command, '%'));
        assert_int_equal(advice.node[0] == '\0', advice.command[0] == '\0');
        if (is == ADVICE_DROP_COPY)
            assert_string_equal(advice.node, "h2");
    }
}

TEST_FILE(test_advise)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_makes_progress_gets_no_advice),
        cmocka_unit_test(a_stalled_one_is_to_be_aborted_until_data_flows_again),
        cmocka_unit_test(a_late_one_is_to_be_aborted_by_the_policy_that_would_apply),
        cmocka_unit_test(a_broken_post_copy_is_to_be_resumed),
        cmocka_unit_test(odd_names_are_replaced_by_the_uuid),
        cmocka_unit_test(each_advice_has_a_name_and_a_command_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
