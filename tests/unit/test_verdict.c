/* test_verdict.c - stories of how migrations ended, and laws that hold for every end. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/verdict.h"
#include "base/own.h"
#include "base/text.h"

enum { BORN_MS = 1000, HANDED_OFF_MS = 2000, MOVED_MS = 3000, ASKED_MS = 4000, ENDED_MS = 9000 };

/* Initializers for the tables below. */
/* clang-format off */
#define RUNS {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED, ENDED_MS}
#define GONE {.presence = HV_ABSENT, .at_ms = ENDED_MS}
#define DARK {.presence = HV_UNREACHABLE, .at_ms = ENDED_MS}
#define OFF(why) {HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_##why, ENDED_MS}
#define HALF(why) {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_##why, ENDED_MS}
#define UNSEEN {.at_ms = 0}
#define UNTRIED {.presence = HV_UNREACHABLE, .at_ms = 0}
#define QUIET {.code = ERR_NONE}
#define SAID(number, from) {.code = ERR_HYPERVISOR, .hv_code = (number), .hv_domain = (from)}
#define BROKE(number, from) {.code = ERR_UNREACHABLE, .hv_code = (number), .hv_domain = (from)}
/* clang-format on */

struct story {
    const char *what;
    enum outcome outcome;
    enum guest_at guest;
    enum phase last; /* where it was before the end */
    struct err error;
    struct snapshot_sight source, target;
    const char *stopper; /* who asked to stop, or NULL */
    const char *wanted;  /* NULL: b */
    bool adopted;
    enum mode mode;
    enum cause cause;
    enum plane plane;
};

static const struct story stories[] = {
#define STORY(text, out, at, phase, err, from, to, why, where, ...) \
    {.what = text,                                                  \
     .outcome = OUTCOME_##out,                                      \
     .guest = GUEST_AT_##at,                                        \
     .last = PHASE_##phase,                                         \
     .error = err,                                                  \
     .source = from,                                                \
     .target = to,                                                  \
     .cause = CAUSE_##why,                                          \
     .plane = PLANE_##where,                                        \
     __VA_ARGS__},
#include "tests/unit/verdict.def"
#undef STORY
};

/* The way to a phase, as the engine records it. */
static void walk(struct snapshot_job *job, enum phase last, enum phase end)
{
    for (enum phase phase = PHASE_PENDING; phase <= last; phase++)
        job->steps[job->n_steps++] = (struct snapshot_step){phase, BORN_MS};
    job->steps[job->n_steps++] = (struct snapshot_step){end, ENDED_MS};
    job->phase = end;
    job->handed_off_ms = last >= PHASE_PREPARING_TARGET ? HANDED_OFF_MS : 0;
    job->started_ms = last >= PHASE_RUNNING ? MOVED_MS : 0;
}

static void tell(const struct story *story, struct snapshot_job *out)
{
    memset(out, 0, sizeof *out);
    TEXT_SET(out->source, "a");
    TEXT_SET(out->wanted, story->wanted != NULL ? story->wanted : "b");
    walk(out, story->last, story->outcome == OUTCOME_SUCCEEDED ? PHASE_SUCCEEDED : PHASE_FAILED);
    out->outcome = story->outcome;
    out->guest_at = story->guest;
    out->error = story->error;
    out->source_sight = story->source;
    out->target_sight = story->target;
    out->adopted = story->adopted;
    out->mode = story->mode;
    if (story->stopper != NULL) {
        out->abort_asked = true;
        out->delete_asked_ms = ASKED_MS;
        TEXT_SET(out->abort_requester, story->stopper);
    }
}

static void each_story_gets_its_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct snapshot_job job;
        struct verdict verdict;
        tell(&stories[i], &job);
        verdict_of(&job, &verdict);
        if (verdict.cause != stories[i].cause || verdict.plane != stories[i].plane)
            fail_msg("%s: %s, %s", stories[i].what, cause_row(verdict.cause)->name,
                     plane_name(verdict.plane));
        assert_int_equal(verdict.outcome, stories[i].outcome);
        assert_int_equal(verdict.guest, stories[i].guest);
    }
}

static void texts_change_no_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct snapshot_job job;
        struct verdict before, after;
        tell(&stories[i], &job);
        verdict_of(&job, &before);
        TEXT_SET(job.error.text, "unable to connect to server at 'b:49152': canceled by client");
        TEXT_SET(job.failure_reason, "client socket is closed");
        TEXT_SET(job.abort_why, "an operator asked");
        TEXT_SET(job.pending_reason, "no slot");
        verdict_of(&job, &after);
        assert_int_equal(before.cause, after.cause);
        assert_int_equal(before.plane, after.plane);
    }
}

static void a_job_that_has_not_ended_is_not_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct snapshot_job job;
        struct verdict verdict;
        tell(&stories[i], &job);
        job.outcome = OUTCOME_NONE;
        job.phase = PHASE_RUNNING;
        job.n_steps--;
        verdict_of(&job, &verdict);
        assert_int_equal(verdict.outcome, OUTCOME_NONE);
        assert_int_equal(verdict.cause, CAUSE_NONE);
        assert_int_equal(verdict.plane, PLANE_NONE);
        assert_int_equal(verdict.failed_at, FAILED_AT_NONE);
        assert_false(verdict.irrecoverable);
    }
}

/* ---- laws over every combination of facts ---- */

static const struct err errors[] = {
    QUIET, SAID(1, 7), SAID(38, 7), SAID(78, 10), SAID(9, 10), BROKE(38, 7), BROKE(1, 7),
};
static const struct snapshot_sight sights[] = {
    {0},
    RUNS,
    GONE,
    DARK,
    OFF(SHUTDOWN),
    OFF(CRASHED),
    OFF(MIGRATED),
    HALF(MIGRATION),
    HALF(POSTCOPY_FAILED),
};

typedef void law(const struct snapshot_job *job, const struct verdict *verdict);

static void judge(struct snapshot_job *job, law *holds)
{
    static const struct {
        bool asked;
        const char *by;
    } requests[] = {{false, ""}, {true, "bob"}, {true, "ferry"}};
    for (size_t i = 0; i < COUNT(requests); i++)
        for (enum guest_at at = 0; at < GUEST_AT_COUNT; at++) {
            struct verdict verdict;
            job->abort_asked = requests[i].asked;
            job->delete_asked_ms = requests[i].asked ? ASKED_MS : 0;
            TEXT_SET(job->abort_requester, requests[i].by);
            job->guest_at = at;
            verdict_of(job, &verdict);
            holds(job, &verdict);
        }
}

static void for_every_ending(law *holds)
{
    struct snapshot_job job;
    for (enum outcome outcome = OUTCOME_NONE + 1; outcome < OUTCOME_COUNT; outcome++)
        for (enum phase last = PHASE_PENDING; last <= PHASE_RUNNING; last++)
            for (size_t e = 0; e < COUNT(errors); e++)
                for (size_t s = 0; s < COUNT(sights); s++)
                    for (size_t t = 0; t < COUNT(sights); t++) {
                        tell(&(struct story){.outcome = outcome,
                                             .last = last,
                                             .error = errors[e],
                                             .source = sights[s],
                                             .target = sights[t]},
                             &job);
                        judge(&job, holds);
                    }
}

static void is_sane(const struct snapshot_job *job, const struct verdict *verdict)
{
    bool is_success = job->outcome == OUTCOME_SUCCEEDED;
    assert_int_equal(verdict->outcome, job->outcome);
    assert_int_equal(verdict->guest, job->guest_at);
    assert_true(verdict->plane < PLANE_COUNT);
    assert_true(cause_has_plane(verdict->cause, verdict->plane));
    assert_int_equal(verdict->cause == CAUSE_NONE, is_success);
    assert_int_equal(verdict->failed_at == FAILED_AT_NONE, is_success);
    assert_int_equal(verdict->action[0] == '\0', is_success);
    if (is_success)
        assert_int_equal(verdict->plane, PLANE_NONE);
    else
        assert_int_equal(verdict->failed_at == FAILED_AT_AFTER, job->handed_off_ms != 0);
}

static void an_abort_needs_a_request(const struct snapshot_job *job, const struct verdict *verdict)
{
    assert_true(verdict->cause != CAUSE_USER_CANCELLED || job->abort_asked);
}

static void only_the_engine_says_irrecoverable(const struct snapshot_job *job,
                                               const struct verdict *verdict)
{
    bool is_gone = job->guest_at == GUEST_AT_LOST || job->guest_at == GUEST_AT_BROKEN;
    assert_int_equal(verdict->irrecoverable, is_gone && job->outcome != OUTCOME_SUCCEEDED);
}

static void the_data_plane_fails_only_after_a_call(const struct snapshot_job *job,
                                                   const struct verdict *verdict)
{
    bool was_called = job->steps[job->n_steps - 2].phase >= PHASE_TARGET_READY;
    assert_true(verdict->plane != PLANE_DATA || was_called);
}

static void a_side_that_was_not_seen_proves_nothing(const struct snapshot_job *job,
                                                    const struct verdict *verdict)
{
    if (job->source_sight.at_ms != 0 || job->target_sight.at_ms != 0)
        return;
    assert_true(verdict->cause == CAUSE_NONE || verdict->cause == CAUSE_UNKNOWN ||
                verdict->cause == CAUSE_USER_CANCELLED);
}

static void every_verdict_obeys_the_laws(void **state)
{
    (void)state;
    for_every_ending(is_sane);
    for_every_ending(an_abort_needs_a_request);
    for_every_ending(only_the_engine_says_irrecoverable);
    for_every_ending(the_data_plane_fails_only_after_a_call);
    for_every_ending(a_side_that_was_not_seen_proves_nothing);
}

/* ---- the table ---- */

static void check_sentence(const char *text)
{
    size_t n = strlen(text);
    assert_true(n > 1 && isupper((unsigned char)text[0]) && text[n - 1] == '.');
}

static void rows_are_sane(void **state)
{
    (void)state;
    for (enum cause cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
        const struct cause_row *row = cause_row(cause);
        assert_true(strspn(row->name, "abcdefghijklmnopqrstuvwxyz-") == strlen(row->name));
        for (enum cause other = 0; other < cause; other++)
            assert_string_not_equal(row->name, cause_row(other)->name);
        check_sentence(row->meaning);
        check_sentence(row->action);
        assert_true(row->recoverable < RECOVERABLE_COUNT);
        assert_int_equal(cause_from_name(row->name), cause);
        assert_true(cause != CAUSE_UNKNOWN || row->recoverable == RECOVERABLE_UNKNOWN);
    }
    assert_string_equal(cause_row(CAUSE_NONE)->name, "none");
    assert_int_equal(cause_from_name("none of these"), CAUSE_COUNT);
    for (enum plane plane = 0; plane < PLANE_COUNT; plane++)
        assert_string_not_equal(plane_name(plane), "");
    for (enum recoverable can = 0; can < RECOVERABLE_COUNT; can++)
        assert_string_not_equal(recoverable_name(can), "");
    assert_string_equal(failed_at_name(FAILED_AT_NONE), "");
    assert_string_equal(failed_at_name(FAILED_AT_AFTER), "after-hand-off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_story_gets_its_verdict),
        cmocka_unit_test(texts_change_no_verdict),
        cmocka_unit_test(a_job_that_has_not_ended_is_not_judged),
        cmocka_unit_test(every_verdict_obeys_the_laws),
        cmocka_unit_test(rows_are_sane),
    };
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
