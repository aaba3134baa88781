/* test_recorded.c - from rows of the store to a verdict: every rule over Ferry's own facts has a
 * tale in which it fires, the engine's words are never changed, and what is stored can be judged
 * again to the same end. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/record/recorded.h"
#include "base/text.h"
#include "store/sqlite/sqlite.h"

enum { BORN_MS = 1000, HANDED_OFF_MS = 2000, MOVED_MS = 3000, SAID_MS = 30000, ENDED_MS = 31000 };
enum { NOTES = 4, REJECTIONS = 3, FIRED_MAX = 256 };

struct observation {
    const char *presence, *state, *reason;
};
struct said {
    const char *err; /* err.def; NULL: no call */
    int code, domain;
    const char *text;
};
struct one_case {
    const char *what, *cause;
    enum plane plane;
    const char *last, *ended_by, *outcome, *guest;
    struct observation source, target, later; /* later: the target, a second after the end */
    struct observation source_later;
    bool falls; /* it is said to have ended on the target */
    struct said said;
    const char *mode, *abort_cause, *recovery, *remedy, *wanted, *pending, *reason;
    int tries;
    bool observed; /* somebody else's */
    const char *job_end, *copy_end;
    const char *notes[NOTES], *rejections[REJECTIONS], *source_log, *target_log;
};

/* clang-format off */
#define RUNS {"present", "running", "booted"}
#define LIMPS {"present", "running", "postcopy-failed"}
#define GONE {"absent", "", ""}
#define DARK {"unreachable", "", ""}
#define OFF(why) {"present", "shutoff", why}
#define HALF(why) {"present", "paused", why}
#define UNSEEN {NULL, NULL, NULL}
#define NO_CALL {NULL, 0, 0, ""}
#define CALL_OK {"none", 0, 0, ""}
#define LOST_CALL {"unreachable", 0, 0, "the connection to h1 was lost"}
#define BLIND(number, from, words) {"unreachable", number, from, words}
#define SAID(number, from, words) {"hypervisor", number, from, words}
static const struct one_case cases[] = {
#define CASE(text, why, where, phase, by, out, at, from, to, call, ...) \
    {.what = text, .cause = why, .plane = PLANE_##where, .last = phase, .ended_by = by, \
     .outcome = out, .guest = at, .source = from, .target = to, .said = call, __VA_ARGS__},
#include "tests/unit/recorded.def"
#undef CASE
};
/* clang-format on */

struct rig {
    struct store *store;
    struct ruleset *rules;
    struct judge *judge;
    char fired[FIRED_MAX][VERDICT_RULE_MAX];
    size_t n_fired;
};

/* ---- a migration as the engine records it ---- */

static bool was_handed_off(const struct one_case *one_case)
{
    enum phase last = phase_from_name(one_case->last);
    return last == PHASE_PREPARING_TARGET || last == PHASE_TARGET_READY || last == PHASE_RUNNING;
}

static void put_steps(struct store *s, const struct one_case *one_case, const char *uid)
{
    enum phase last = phase_from_name(one_case->last);
    int64_t seq = 0;
    for (enum phase phase = PHASE_PENDING; phase <= last; phase++, seq++)
        s->ops->put_transition(s, &(struct store_transition){.job_uid = uid,
                                                             .from = phase_name(phase - 1),
                                                             .to = phase_name(phase),
                                                             .seq = seq,
                                                             .at_ms = BORN_MS});
    bool arrived = strcmp(one_case->outcome, "succeeded") == 0;
    s->ops->put_transition(
        s, &(struct store_transition){.job_uid = uid,
                                      .from = one_case->last,
                                      .to = phase_name(arrived ? PHASE_SUCCEEDED : PHASE_FAILED),
                                      .why = one_case->ended_by,
                                      .seq = seq,
                                      .at_ms = ENDED_MS});
}

static void put_observation(struct store *s, const struct observation *observation,
                            const char *role, const char *moment, const char *uid)
{
    if (observation->presence != NULL)
        s->ops->put_observation(s, &(struct store_observation){.job_uid = uid,
                                                               .role = role,
                                                               .presence = observation->presence,
                                                               .state = observation->state,
                                                               .reason = observation->reason,
                                                               .moment = moment,
                                                               .at_ms = ENDED_MS});
}

static void put_case(struct store *s, const struct one_case *one_case, const char *uid)
{
    struct store_job job = {.uid = uid,
                            .ns = "default",
                            .name = uid,
                            .guest_name = "g",
                            .source = "h1",
                            .target = was_handed_off(one_case) ? "h2" : "",
                            .request.wanted = one_case->wanted,
                            .request.origin = one_case->observed ? "observed" : "api",
                            .result.job_end = one_case->job_end,
                            .result.copy_end = one_case->copy_end,
                            .result.outcome = one_case->outcome,
                            .resolution.guest_at = one_case->guest,
                            .mode = one_case->mode,
                            .abort.cause = one_case->abort_cause,
                            .abort.requester = one_case->abort_cause != NULL ? "somebody" : "",
                            .recovery.state = one_case->recovery,
                            .recovery.tries = one_case->tries,
                            .stream.remedy = one_case->remedy,
                            .wait.pending = one_case->pending,
                            .result.failure_reason = one_case->reason,
                            .result.error_hv_code = one_case->said.code,
                            .result.error_hv_domain = one_case->said.domain,
                            .result.error_text = one_case->said.text,
                            .times.created_ms = BORN_MS,
                            .times.handed_off_ms = was_handed_off(one_case) ? HANDED_OFF_MS : 0,
                            .times.started_ms =
                                strcmp(one_case->last, "Running") == 0 ? MOVED_MS : 0,
                            .times.ended_ms = ENDED_MS};
    s->ops->put_job(s, &job);
    put_steps(s, one_case, uid);
    put_observation(s, &one_case->source, "source", "outcome", uid);
    put_observation(s, &one_case->target, "target", "outcome", uid);
    put_observation(s, &one_case->source_later, "source", "later", uid);
    put_observation(s, &one_case->later, "target", "later", uid);
    if (one_case->said.err != NULL)
        s->ops->put_intent(s, &(struct store_intent){.job_uid = uid,
                                                     .epoch = 1,
                                                     .seq = 1,
                                                     .action = "migrate",
                                                     .node = "h1",
                                                     .status = "done",
                                                     .err = one_case->said.err,
                                                     .text = one_case->said.text,
                                                     .asked_ms = HANDED_OFF_MS,
                                                     .done_ms = SAID_MS});
    for (size_t i = 0; i < REJECTIONS && one_case->rejections[i] != NULL; i++)
        s->ops->put_rejection(s, &(struct store_rejection){.job_uid = uid,
                                                           .reason = one_case->rejections[i]});
}

static void note_case(const struct one_case *one_case, struct notes *notes)
{
    for (size_t i = 0; i < NOTES && one_case->notes[i] != NULL; i++) {
        char key[64];
        const char *value = strchr(one_case->notes[i], '=') + 1;
        (void)snprintf(key, sizeof key, "%.*s", (int)(value - one_case->notes[i] - 1),
                       one_case->notes[i]);
        notes_fact(notes, key, "samples", SAID_MS, "%s", value);
    }
    const struct {
        const char *text;
        enum side side;
    } logs[] = {{one_case->source_log, SIDE_SOURCE}, {one_case->target_log, SIDE_TARGET}};
    for (size_t i = 0; i < COUNT(logs); i++)
        if (logs[i].text != NULL)
            notes_message(notes, logs[i].side, "QEMU log", SAID_MS, logs[i].text,
                          strlen(logs[i].text));
}

/* ---- judged ---- */

static void note_fired(void *ctx, const char *rule, enum cause cause, enum point_role role)
{
    struct rig *rig = ctx;
    (void)cause, (void)role;
    for (size_t i = 0; i < rig->n_fired; i++)
        if (strcmp(rig->fired[i], rule) == 0)
            return;
    assert_true(rig->n_fired < FIRED_MAX);
    TEXT_SET(rig->fired[rig->n_fired++], rule);
}

static void judge_case(struct rig *rig, size_t i, struct notes *notes, struct gathered *out_job,
                       struct verdict *out_verdict)
{
    struct err err = {0};
    char uid[16];
    (void)snprintf(uid, sizeof uid, "tale-%zu", i);
    rig->store->ops->begin(rig->store);
    put_case(rig->store, &cases[i], uid);
    assert_true(rig->store->ops->commit(rig->store, &err));
    note_case(&cases[i], notes);
    assert_true(gather_job(rig->store, uid, out_job, &err));
    if (recorded_is_plain(out_job))
        recorded_plain(out_job, rig->rules, out_verdict);
    else
        assert_true(recorded_judge(rig->store, out_job, notes, rig->judge, out_verdict, &err));
    if (!recorded_is_plain(out_job))
        judge_fired(rig->judge, note_fired, rig);
}

static void each_case_gets_its_verdict(void **state)
{
    struct rig *rig = *state;
    struct verdict verdict;
    unsigned wrong = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct notes notes = {0};
        struct gathered job;
        judge_case(rig, i, &notes, &job, &verdict);
        const char *cause = cause_row(verdict.cause)->name;
        bool right = strcmp(cause, cases[i].cause) == 0 && verdict.plane == cases[i].plane;
        if (!right)
            print_message("%s: %s, %s by %s\n", cases[i].what, cause, plane_name(verdict.plane),
                          verdict.rule);
        wrong += !right;
        notes_fini(&notes);
    }
    assert_int_equal(wrong, 0);
}

/* Law: outcome, place and whether it is irrecoverable are the engine's, but that a guest which fell
 * after its arrival is not said to run. */
static void the_engines_outcome_is_copied(void **state)
{
    struct rig *rig = *state;
    struct verdict verdict;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct notes notes = {0};
        struct gathered job;
        judge_case(rig, i, &notes, &job, &verdict);
        assert_string_equal(outcome_name(verdict.outcome), cases[i].outcome);
        assert_string_equal(guest_at_name(verdict.guest),
                            cases[i].falls ? "stopped-on-target" : cases[i].guest);
        bool half = strcmp(cases[i].outcome, "irrecoverable") == 0;
        bool gone = half || strcmp(cases[i].outcome, "lost") == 0;
        assert_int_equal(verdict.irrecoverable, half);
        assert_true(!gone || verdict.recoverable == RECOVERABLE_NO);
        assert_string_equal(job.ended_by, cases[i].ended_by);
        bool plain = verdict.cause == CAUSE_NONE;
        assert_int_equal(verdict.failed_at == FAILED_AT_NONE, plain);
        if (!plain)
            assert_int_equal(verdict.failed_at == FAILED_AT_AFTER, was_handed_off(&cases[i]));
        assert_true(plain || (verdict.cause != CAUSE_UNKNOWN) == (verdict.action[0] != '\0'));
        notes_fini(&notes);
    }
}

/* ---- laws over every ending ---- */

static const struct observation law_observations[] = {
    UNSEEN, RUNS, GONE, DARK, OFF("crashed"), HALF("postcopy-failed")};
static const struct said law_said[] = {NO_CALL,
                                       CALL_OK,
                                       LOST_CALL,
                                       SAID(1, 7, "client socket is closed"),
                                       SAID(38, 7, "unable to connect to server"),
                                       SAID(78, 10, "canceled by client")};
static const struct {
    const char *outcome, *guest, *by;
} law_ends[] = {
    {"succeeded", "running-on-target", "on-target"},
    {"failed", "running-on-source", "on-source"},
    {"aborted", "running-on-source", "on-source"},
    {"lost", "lost", "lost"},
    {"irrecoverable", "paused-irrecoverable", "irrecoverable"},
};

static void check_laws(const struct one_case *one_case, const struct verdict *verdict)
{
    bool is_fine = strcmp(one_case->outcome, "succeeded") == 0;
    bool was_called = one_case->said.err != NULL;
    assert_string_equal(outcome_name(verdict->outcome), one_case->outcome);
    assert_string_equal(guest_at_name(verdict->guest), one_case->guest);
    assert_true(verdict->plane < PLANE_COUNT && cause_has_plane(verdict->cause, verdict->plane));
    assert_true(!is_fine || verdict->plane == PLANE_NONE);
    assert_true(is_fine || verdict->cause != CAUSE_NONE);
    assert_true(verdict->cause != CAUSE_USER_CANCELLED ||
                one_case->said.code == 78); /* nobody asked Ferry: libvirt must say so */
    assert_true(verdict->plane != PLANE_DATA || was_called ||
                verdict->outcome == OUTCOME_IRRECOVERABLE || verdict->outcome == OUTCOME_LOST);
    assert_int_equal(verdict->irrecoverable, strcmp(one_case->outcome, "irrecoverable") == 0);
    bool is_over = verdict->cause == CAUSE_NONE; /* nothing failed, so nothing tells why */
    for (unsigned i = 0; is_over && i < verdict->n_points; i++)
        assert_int_equal(verdict->points[i].role, POINT_FALLOUT);
}

static void every_ending_obeys_the_laws(void **state)
{
    struct rig *rig = *state;
    struct verdict verdict;
    struct err err = {0};
    unsigned n = 0;
    const size_t step = test_size(5, 1, 1);
    for (size_t e = 0; e < COUNT(law_ends); e++)
        for (size_t c = 0; c < COUNT(law_said); c++)
            for (size_t s = 0; s < COUNT(law_observations); s++)
                for (size_t t = (e + c + s) % step; t < COUNT(law_observations); t += step) {
                    const struct one_case one_case = {.last = law_said[c].err != NULL ? "Running"
                                                                                      : "Pending",
                                                      .outcome = law_ends[e].outcome,
                                                      .guest = law_ends[e].guest,
                                                      .ended_by = law_ends[e].by,
                                                      .said = law_said[c],
                                                      .source = law_observations[s],
                                                      .target = law_observations[t]};
                    if (one_case.said.err == NULL && (s > 0 || t > 0))
                        continue; /* nobody looks before something was asked */
                    struct gathered job;
                    struct notes notes = {0};
                    char uid[16];
                    (void)snprintf(uid, sizeof uid, "law-%u", n++);
                    rig->store->ops->begin(rig->store);
                    put_case(rig->store, &one_case, uid);
                    assert_true(rig->store->ops->commit(rig->store, &err));
                    assert_true(gather_job(rig->store, uid, &job, &err));
                    assert_true(
                        recorded_judge(rig->store, &job, &notes, rig->judge, &verdict, &err));
                    check_laws(&one_case, &verdict);
                }
}

/* Law: no rule over Ferry's facts is dead. */
static void every_rule_over_ferrys_own_facts_fires_in_a_case(void **state)
{
    struct rig *rig = *state;
    struct verdict verdict;
    char line[256], id[VERDICT_RULE_MAX];
    unsigned rules = 0, dead = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct notes notes = {0};
        struct gathered job;
        judge_case(rig, i, &notes, &job, &verdict);
        notes_fini(&notes);
    }
    FILE *file = fopen("analyzer/rules/ferry.yaml", "r"); /* run from the project's root */
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, " - id: %63s", id) != 1)
            continue;
        bool fired = false;
        for (size_t i = 0; i < rig->n_fired; i++)
            fired = fired || strcmp(rig->fired[i], id) == 0;
        if (!fired)
            print_message("%s never fires\n", id);
        dead += !fired;
        rules++;
    }
    (void)fclose(file);
    assert_true(rules > 40);
    assert_int_equal(dead, 0);
}

/* What is stored with a verdict is enough to find it again. */
static void what_was_stored_is_judged_to_the_same_end(void **state)
{
    struct rig *rig = *state;
    struct verdict *first = calloc(2, sizeof *first), *again = first + 1;
    struct recorded_rows *rows = calloc(1, sizeof *rows);
    assert_true(first != NULL && rows != NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct notes notes = {0};
        struct gathered job;
        struct verdict_rows verdict_rows;
        struct err err = {0};
        judge_case(rig, i, &notes, &job, first);
        recorded_fill(first, &job, &notes, 40000, rows, &verdict_rows);
        struct verdict_rows *copy = verdict_rows_new(&verdict_rows, false);
        assert_non_null(copy);
        rig->store->ops->begin(rig->store);
        verdict_rows_put(rig->store, copy);
        assert_true(rig->store->ops->commit(rig->store, &err));
        verdict_rows_unref(copy);
        if (!recorded_is_plain(&job)) {
            assert_true(recorded_judge(rig->store, &job, NULL, rig->judge, again, &err));
            assert_int_equal(again->cause, first->cause);
            assert_string_equal(again->rule, first->rule);
            assert_int_equal(again->n_points, first->n_points);
        }
        notes_fini(&notes);
    }
    free(rows);
    free(first);
}

/* ---- trends ---- */

static void put_sample(struct store *s, int64_t seq, int64_t at_ms, int64_t processed,
                       int64_t remaining)
{
    struct store_sample row = {.seq = seq,
                               .at_ms = at_ms,
                               .source = "poll",
                               .job_uid = "moves",
                               .data_total = 1000000,
                               .data_processed = processed,
                               .data_remaining = remaining,
                               .memory_dirty_rate = 100,
                               .memory_page_size = 4096,
                               .memory_iteration = 3};
    assert_true(s->ops->append_samples(s, &row, 1));
}

static const char *noted(const struct notes *notes, const char *key)
{
    for (size_t i = 0; i < notes->n; i++)
        if (strcmp(notes->rows[i].key, key) == 0)
            return notes->rows[i].text;
    return "";
}

static void trends_are_read_from_differences(void **state)
{
    struct rig *rig = *state;
    struct notes notes = {0};
    struct err err = {0};
    const struct gathered job = {.uid = "moves", .answered_ms = 20000, .ended_ms = 29000};
    for (int64_t i = 0; i <= 10; i++) /* 1 MB/s for 10 s; the least remains after 5 */
        put_sample(rig->store, i, 1000 * i, 1000000 * i, i <= 5 ? 900 - i : 950);
    put_sample(rig->store, 11, 14000, 10000000, 950); /* no byte since */
    put_sample(rig->store, 12, 21000, 99000000, 0);   /* after the end */
    assert_true(gather_trends(rig->store, &job, &notes, &err));
    assert_string_equal(noted(&notes, "stalled_ms"), "10000");
    assert_string_equal(noted(&notes, "quiet_ms"), "10000");
    assert_string_equal(noted(&notes, "no_progress_ms"), "15000");
    assert_string_equal(noted(&notes, "low_water"), "895");
    assert_string_equal(noted(&notes, "remaining"), "950");
    assert_string_equal(noted(&notes, "dirty_bps"), "409600");
    assert_string_equal(noted(&notes, "bandwidth_bps"), "200000"); /* 1 MB in the last 5 s */
    assert_string_equal(noted(&notes, "dirty_pct"), "204");
    notes_fini(&notes);
    const struct gathered nobody = {.uid = "nobody"};
    assert_true(gather_trends(rig->store, &nobody, &notes, &err));
    assert_int_equal(notes.n, 0);
}

static void a_sample_of_the_last_moment_counts(void **state)
{
    struct rig *rig = *state;
    struct notes notes = {0};
    struct err err = {0};
    const struct gathered job = {.uid = "moves", .answered_ms = 3000, .ended_ms = 29000};
    for (int64_t i = 1; i <= 4; i++)
        put_sample(rig->store, i, 1000 * i, 1000000 * i, 900 - 100 * i);
    assert_true(gather_trends(rig->store, &job, &notes, &err));
    assert_string_equal(noted(&notes, "remaining"), "600");
    notes_fini(&notes);
}

/* A sample without numbers (statistics that could not be read) is no moment of the stream. */
static void samples_without_numbers_are_left_out(void **state)
{
    struct rig *rig = *state;
    struct notes notes = {0};
    struct err err = {0};
    const struct gathered job = {.uid = "moves", .answered_ms = 20000, .ended_ms = 29000};
    const struct store_sample nothing = {
        .seq = 12, .at_ms = 12000, .source = "poll", .job_uid = "moves"};
    for (int64_t i = 0; i <= 10; i++)
        put_sample(rig->store, i, 1000 * i, 1000000 * i, 900);
    assert_true(rig->store->ops->append_samples(rig->store, &nothing, 1));
    assert_true(gather_trends(rig->store, &job, &notes, &err));
    assert_string_equal(noted(&notes, "remaining"), "900");
    assert_string_equal(noted(&notes, "bandwidth_bps"), "1000000");
    notes_fini(&notes);
}

/* Somebody else's is sampled seldom: the time between two samples is no stall. */
static void seldom_samples_are_no_stall(void **state)
{
    struct rig *rig = *state;
    struct notes notes = {0};
    struct err err = {0};
    const struct gathered job = {.uid = "moves", .ended_ms = 19000, .observed = true};
    for (int64_t i = 0; i <= 3; i++)
        put_sample(rig->store, i, 5000 * i, 1000000 * i, 900);
    assert_true(gather_trends(rig->store, &job, &notes, &err));
    assert_string_equal(noted(&notes, "stalled_ms"), "0");
    assert_string_equal(noted(&notes, "quiet_ms"), "0");
    notes_fini(&notes);
}

/* ---- facts ---- */

static void keep_fact(void *ctx, const struct evidence_fact *fact)
{
    notes_fact(ctx, fact->key, fact->origin, fact->at_ms, "%s", fact->value);
}

static void ignore_message(void *ctx, const struct evidence_message *message)
{
    (void)ctx;
    (void)message;
}

static void facts_are_those_of_the_rows(void **state)
{
    struct rig *rig = *state;
    struct notes notes = {0};
    struct gathered job;
    struct err err = {0};
    const struct evidence_sink sink = {&notes, ignore_message, keep_fact};
    const struct one_case one_case = {.last = "Running",
                                      .ended_by = "on-target",
                                      .outcome = "succeeded",
                                      .guest = "target",
                                      .source = GONE,
                                      .target = RUNS,
                                      .later = OFF("crashed"),
                                      .said = CALL_OK,
                                      .recovery = "recovered",
                                      .tries = 3};
    rig->store->ops->begin(rig->store);
    put_case(rig->store, &one_case, "facts");
    assert_true(rig->store->ops->commit(rig->store, &err));
    assert_true(gather_job(rig->store, "facts", &job, &err));
    assert_true(gather_record(rig->store, &job, &sink, &err));
    assert_string_equal(noted(&notes, "recovery_tries"), "3");
    assert_string_equal(noted(&notes, "source_presence"), "absent");
    assert_string_equal(noted(&notes, "target_state"), "running");
    assert_string_equal(noted(&notes, "source_later"), ""); /* not observed again */
    assert_string_equal(noted(&notes, "target_later_reason"), "crashed");
    notes_fini(&notes);
}

static void notes_have_a_bound_and_end_at_a_zero(void **state)
{
    (void)state;
    struct notes notes = {0};
    char *long_text = calloc(1, EVIDENCE_TEXT_MAX + 100);
    assert_non_null(long_text);
    memset(long_text, 'x', EVIDENCE_TEXT_MAX + 99);
    notes_message(&notes, SIDE_TARGET, "log", 1, "a\0b", 3);
    notes_message(&notes, SIDE_TARGET, "log", 1, long_text, EVIDENCE_TEXT_MAX + 99);
    assert_string_equal(notes.rows[0].text, "a");
    assert_int_equal(strlen(notes.rows[1].text), EVIDENCE_TEXT_MAX);
    for (int i = 0; i < NOTES_MAX + 10; i++)
        notes_fact(&notes, "k", "o", 0, "%d", i);
    assert_int_equal(notes.n, NOTES_MAX);
    for (int i = 0; i < 40; i++)
        notes_message(&notes, SIDE_TARGET, "log", 1, long_text, EVIDENCE_TEXT_MAX);
    assert_true(notes.bytes <= NOTES_BYTES_MAX);
    notes_fini(&notes);
    free(long_text);
}

static int rig_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct err err = {0};
    *state = rig;
    rig->store = store_sqlite_open(NULL, &err);
    rig->rules = ruleset_new(NULL, NULL, NULL, &err);
    rig->judge = rig->rules != NULL ? judge_new(rig->rules, &err) : NULL;
    if (rig->judge == NULL)
        print_message("%s\n", err.text);
    return rig->store != NULL && rig->judge != NULL ? 0 : -1;
}

static int rig_down(void **state)
{
    struct rig *rig = *state;
    judge_free(rig->judge);
    ruleset_free(rig->rules);
    store_free(rig->store);
    free(rig);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_up, rig_down)

TEST_FILE(test_recorded)
{
    const struct CMUnitTest tests[] = {
        TEST(each_case_gets_its_verdict),
        TEST(the_engines_outcome_is_copied),
        TEST(every_ending_obeys_the_laws),
        TEST(every_rule_over_ferrys_own_facts_fires_in_a_case),
        TEST(what_was_stored_is_judged_to_the_same_end),
        TEST(trends_are_read_from_differences),
        TEST(a_sample_of_the_last_moment_counts),
        TEST(samples_without_numbers_are_left_out),
        TEST(seldom_samples_are_no_stall),
        TEST(facts_are_those_of_the_rows),
        cmocka_unit_test(notes_have_a_bound_and_end_at_a_zero),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
