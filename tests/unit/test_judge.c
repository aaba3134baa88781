/* test_judge.c - how rules are combined, what is kept of the evidence, and where its bounds are. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/judge/judge.h"
#include "analyzer/judge/judge_inside.h"
#include "base/own.h"
#include "base/text.h"

/* Rules of a small world: letters are symptoms. */
static const char rules_text[] =
    "rules:\n"
    "  - {id: wrap, cause: unknown-generic-error, weight: 99, rank: wrapper, any: ['operation "
    "failed']}\n"
    "  - {id: gen, cause: network-interrupted, weight: 95, rank: general, any: ['reset by peer']}\n"
    "  - {id: spec, cause: ram-size-mismatch, weight: 60, rank: specific, any: ['size mismatch'], "
    "proves: 'Sizes differ.'}\n"
    "  - {id: rival, cause: tls-certificate, weight: 62, rank: specific, any: ['certificate']}\n"
    "  - {id: strong, cause: storage-outage, weight: 80, rank: specific, any: ['storage gone']}\n"
    "  - {id: died, cause: destination-vmm-crashed, weight: 62, rank: specific, any: ['target "
    "died']}\n"
    "  - {id: hint-a, cause: quota-exceeded, weight: 70, rank: specific, any: ['quota']}\n"
    "  - {id: hint-b, cause: quota-exceeded, weight: 70, rank: specific, any: ['no room']}\n"
    "  - {id: beater, cause: node-failure, weight: 30, rank: specific, any: ['node down'], beats: "
    "[storage-outage, hint-a]}\n"
    "  - {id: fact, cause: completion-timeout, weight: 80, rank: proof, facts: "
    "['elapsed_ms>1000', 'mode=post-copy']}\n"
    "  - {id: absent, cause: progress-stall, weight: 80, rank: proof, facts: ['stalled', "
    "'!abort_requested']}\n"
    "  - {id: differs, cause: non-converging, weight: 80, rank: proof, facts: ['phase!=Running', "
    "'load~^(str|str)ess$']}\n"
    "  - {id: either, cause: port-unavailable, weight: 80, rank: proof, facts_any: ['p', "
    "'q<-2']}\n"
    "  - {id: both, cause: disk-lock-conflict, weight: 80, rank: specific, all: ['first half', "
    "'second half'], none: ['never mind']}\n"
    "  - {id: there, cause: tpm-state-failed, weight: 80, rank: specific, any: ['tpm'], side: "
    "target}\n"
    "  - {id: nova, cause: rollback-failed, weight: 80, rank: specific, any: ['roll back'], "
    "systems: [nova, vdsm]}\n"
    "  - {id: cancel, cause: user-cancelled, weight: 90, rank: specific, any: ['canceled by "
    "client']}\n"
    "  - {id: asked, gives: ['abort_requested'], any: ['virDomainAbortJob']}\n"
    "  - {id: lock, cause: state-change-lock, weight: 80, rank: specific, any: ['lock leaked'], "
    "plane: control}\n"
    "  - {id: part, family: storage, plane: data, weight: 75, any: ['block layer']}\n"
    "  - {id: whole, family: vmm, plane: data, weight: 30, facts: ['system=qemu']}\n"
    "  - {id: held, cause: state-change-lock, weight: 70, rank: specific, any: ['lock held']}\n"
    "  - {id: counts, cause: throughput-degraded, weight: 80, rank: proof, facts: [n1, n2, n3, n4, "
    "n5, "
    "n6, n7, n8, n9, n10, n11, n12, n13, n14, n15, n16]}\n"
    "  - {id: quotes, cause: config-incompatible, weight: 80, rank: specific, any: ['assertion "
    "`x'' failed for \"y\"']}\n";

struct world {
    struct ruleset *rules;
    struct judge *judge;
    struct verdict verdict;
};

static int set_up(void **state)
{
    static struct world world;
    struct err err = {0};
    world.rules = ruleset_of_text("world", rules_text, &err);
    if (world.rules == NULL)
        fail_msg("%s", err.text);
    world.judge = judge_new(world.rules, &err);
    *state = &world;
    return world.judge == NULL;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    judge_free(world->judge);
    ruleset_free(world->rules);
    return 0;
}

static void say(struct world *w, enum side side, int64_t at_ms, const char *text)
{
    struct evidence_sink sink = judge_sink(w->judge);
    struct evidence_message message = {
        .text = text, .length = strlen(text), .origin = "log:1", .side = side, .at_ms = at_ms};
    sink.message(sink.ctx, &message);
}

static void know(struct world *w, const char *key, const char *value)
{
    struct evidence_sink sink = judge_sink(w->judge);
    struct evidence_fact fact = {.key = key, .value = value, .origin = "record"};
    sink.fact(sink.ctx, &fact);
}

static const struct verdict *give(struct world *w)
{
    judge_give(w->judge, &w->verdict);
    return &w->verdict;
}

/* Messages are separated by '|', facts are "key=value" behind a '#'. */
static enum cause judge_text(struct world *w, const char *evidence)
{
    char copy[2048], *save = NULL;
    TEXT_SET(copy, evidence);
    judge_reset(w->judge);
    for (char *part = strtok_r(copy, "|", &save); part != NULL; part = strtok_r(NULL, "|", &save)) {
        char *equals = part[0] == '#' ? strchr(part, '=') : NULL;
        if (equals != NULL) {
            *equals = '\0';
            know(w, part + 1, equals + 1);
        } else
            say(w, SIDE_UNKNOWN, 0, part);
    }
    const struct verdict *verdict = give(w);
    return verdict->resembles != CAUSE_NONE ? verdict->resembles : verdict->cause;
}

/* ---- combining ---- */

static const struct {
    const char *what, *evidence;
    enum cause cause;
} stories[] = {
    {"nothing is known", "", CAUSE_UNKNOWN},
    {"nothing that a rule knows", "all is well", CAUSE_UNKNOWN},
    {"a wrapper alone", "operation failed", CAUSE_UNKNOWN},
    {"a wrapper and a symptom", "operation failed: Connection reset by peer",
     CAUSE_NETWORK_INTERRUPTED},
    {"a higher rank wins whatever the weights", "Connection reset by peer|size mismatch",
     CAUSE_RAM_SIZE_MISMATCH},
    {"between near rivals the earlier", "size mismatch|bad certificate", CAUSE_RAM_SIZE_MISMATCH},
    {"and the other way round", "bad certificate|size mismatch", CAUSE_TLS_CERTIFICATE},
    {"also within one message", "size mismatch; bad certificate", CAUSE_RAM_SIZE_MISMATCH},
    {"a far stronger one wins although later", "size mismatch|storage gone", CAUSE_STORAGE_OUTAGE},
    {"hints of one cause add up", "storage gone|quota|no room", CAUSE_QUOTA_EXCEEDED},
    {"what a broken stream looks like gives way to what is as clear", "target died|bad certificate",
     CAUSE_TLS_CERTIFICATE},
    {"not to what is less clear", "target died|size mismatch", CAUSE_DESTINATION_VMM_CRASHED},
    {"who is beaten is fallout", "storage gone|node down", CAUSE_NODE_FAILURE},
    {"also a single rule", "quota|node down", CAUSE_NODE_FAILURE},
    {"numbers and words of facts", "#elapsed_ms=1001|#mode=PostCopy", CAUSE_COMPLETION_TIMEOUT},
    {"a number that is not above", "#elapsed_ms=1000|#mode=postcopy", CAUSE_UNKNOWN},
    {"a fact that is missing", "#elapsed_ms=5000", CAUSE_UNKNOWN},
    {"a fact that is there and one that is not", "#stalled=yes", CAUSE_PROGRESS_STALL},
    {"a fact that is there but false", "#stalled=false", CAUSE_UNKNOWN},
    {"a fact that must not be there", "#stalled=yes|#abort_requested=true", CAUSE_UNKNOWN},
    {"a fact that is another", "#phase=Pending|#load=stress", CAUSE_NON_CONVERGING},
    {"a fact that is not another", "#phase=running|#load=stress", CAUSE_UNKNOWN},
    {"absent is not another", "#load=stress", CAUSE_UNKNOWN},
    {"a pattern is of the value only", "#phase=Pending|#load=much stress", CAUSE_UNKNOWN},
    {"and of its key only", "#phase=Pending|#other=stress", CAUSE_UNKNOWN},
    {"one of two facts", "#q=-3", CAUSE_PORT_UNAVAILABLE},
    {"the other one", "#p=x", CAUSE_PORT_UNAVAILABLE},
    {"neither", "#q=-2|#p=0", CAUSE_UNKNOWN},
    {"all in different messages", "first half|second half", CAUSE_DISK_LOCK_CONFLICT},
    {"not all", "first half", CAUSE_UNKNOWN},
    {"a word that silences", "first half|second half|never mind", CAUSE_UNKNOWN},
    {"a fact is text too", "first half|#note=second half", CAUSE_DISK_LOCK_CONFLICT},
    {"the system of a rule", "roll back|#system=nova", CAUSE_ROLLBACK_FAILED},
    {"no system told", "roll back", CAUSE_ROLLBACK_FAILED},
    {"another system", "roll back|#system=qemu", CAUSE_UNKNOWN},
    {"canceled, and nobody asked", "canceled by client", CAUSE_UNKNOWN},
    {"canceled, and somebody asked", "canceled by client|#abort_requested=true",
     CAUSE_USER_CANCELLED},
    {"canceled, and the request is in a log", "virDomainAbortJob: dom=1|canceled by client",
     CAUSE_USER_CANCELLED},
    {"quotation marks and line breaks", "Assertion\n\t`x\xe2\x80\x99 failed  for \\\"y\\\"",
     CAUSE_CONFIG_INCOMPATIBLE},
    {"colours", "\x1b[31mstorage\x1b[0m gone", CAUSE_STORAGE_OUTAGE},
    {"case", "STORAGE Gone", CAUSE_STORAGE_OUTAGE},
};

static void each_story_gets_its_cause(void **state)
{
    for (size_t i = 0; i < COUNT(stories); i++) {
        enum cause cause = judge_text(*state, stories[i].evidence);
        if (cause != stories[i].cause)
            fail_msg("%s: %s", stories[i].what, cause_row(cause)->name);
    }
}

static void times_decide_which_message_is_earlier_where_known(void **state)
{
    struct world *w = *state;
    judge_reset(w->judge);
    say(w, SIDE_SOURCE, 2000, "size mismatch");
    say(w, SIDE_TARGET, 1000, "bad certificate");
    assert_int_equal(give(w)->cause, CAUSE_TLS_CERTIFICATE); /* what came later is fallout */
    judge_reset(w->judge);
    say(w, SIDE_SOURCE, 0, "size mismatch");
    say(w, SIDE_TARGET, 0, "bad certificate");
    assert_int_equal(give(w)->cause, CAUSE_UNKNOWN); /* disputed: not given as cause */
    assert_int_equal(w->verdict.resembles, CAUSE_RAM_SIZE_MISMATCH);
    assert_string_equal(w->verdict.action, "");
}

/* Who printed an unknown text shows plane and family, never a cause. */
static void an_emitter_decides_plane_and_family_only(void **state)
{
    struct world *w = *state;
    assert_int_equal(judge_text(w, "the block layer is upset"), CAUSE_UNKNOWN);
    assert_int_equal(w->verdict.family, FAMILY_STORAGE);
    assert_int_equal(w->verdict.plane, PLANE_DATA);
    assert_true(w->verdict.family_confidence >= VERDICT_KNOWN_FROM);
    assert_string_equal(w->verdict.rule, "part");
    assert_int_equal(judge_text(w, "#system=qemu|gibberish"), CAUSE_UNKNOWN);
    assert_int_equal(w->verdict.family, FAMILY_VMM);
    assert_true(w->verdict.family_confidence < VERDICT_KNOWN_FROM);
    assert_int_equal(judge_text(w, "#system=qemu|operation failed"), CAUSE_UNKNOWN);
    assert_int_equal(w->verdict.family, FAMILY_UNKNOWN); /* only a wrapper: no reason was printed */
    assert_int_equal(judge_text(w, "the block layer: storage gone"), CAUSE_STORAGE_OUTAGE);
    assert_int_equal(w->verdict.plane, cause_row(CAUSE_STORAGE_OUTAGE)->plane);
}

static void the_first_error_in_time_wins_over_a_stronger_one_later(void **state)
{
    struct world *w = *state;
    judge_reset(w->judge);
    say(w, SIDE_SOURCE, 5000, "storage gone");
    say(w, SIDE_TARGET, 1000, "bad certificate");
    const struct verdict *verdict = give(w);
    assert_int_equal(verdict->resembles != CAUSE_NONE ? verdict->resembles : verdict->cause,
                     CAUSE_TLS_CERTIFICATE);
    double timed = verdict->confidence;
    judge_reset(w->judge);
    say(w, SIDE_TARGET, 0, "bad certificate");
    say(w, SIDE_SOURCE, 0, "storage gone");
    verdict = give(w); /* without times: the stronger */
    assert_int_equal(verdict->resembles != CAUSE_NONE ? verdict->resembles : verdict->cause,
                     CAUSE_STORAGE_OUTAGE);
    assert_true(timed > 0);
}

static void say_often(struct world *w, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        say(w, SIDE_UNKNOWN, 0, text);
}

static void distant_messages_neither_suppress_nor_complete_a_rule(void **state)
{
    struct world *w = *state;
    judge_reset(w->judge);
    say(w, SIDE_UNKNOWN, 0, "never mind");
    say_often(w, JUDGE_NEAR, "nothing of note");
    say(w, SIDE_UNKNOWN, 0, "first half");
    assert_int_equal(give(w)->cause, CAUSE_UNKNOWN);
    say(w, SIDE_UNKNOWN, 0, "second half");
    assert_int_equal(give(w)->cause, CAUSE_DISK_LOCK_CONFLICT);
    say(w, SIDE_UNKNOWN, 0, "never mind");
    assert_int_equal(give(w)->cause, CAUSE_UNKNOWN);
    judge_reset(w->judge);
    say(w, SIDE_UNKNOWN, 0, "first half");
    say_often(w, JUDGE_NEAR, "nothing of note");
    say(w, SIDE_UNKNOWN, 0, "second half");
    assert_int_equal(give(w)->cause, CAUSE_UNKNOWN);
    say_often(w, JUDGE_NEAR, "nothing of note");
    say_often(w, 3000, "first half");
    say_often(w, JUDGE_NEAR, "nothing of note");
    say(w, SIDE_UNKNOWN, 0, "second half");
    assert_int_equal(give(w)->cause, CAUSE_UNKNOWN);
    say(w, SIDE_UNKNOWN, 0, "first half");
    assert_int_equal(give(w)->cause, CAUSE_DISK_LOCK_CONFLICT);
}

static void a_rule_of_one_side_ignores_the_other(void **state)
{
    struct world *w = *state;
    static const struct {
        enum side side;
        enum cause cause;
    } rows[] = {{SIDE_TARGET, CAUSE_TPM_STATE_FAILED},
                {SIDE_UNKNOWN, CAUSE_TPM_STATE_FAILED},
                {SIDE_SOURCE, CAUSE_UNKNOWN},
                {SIDE_MANAGER, CAUSE_UNKNOWN}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        judge_reset(w->judge);
        say(w, rows[i].side, 0, "tpm: no");
        assert_int_equal(give(w)->cause, rows[i].cause);
    }
}

static void an_open_plane_follows_the_rule_or_how_far_it_came(void **state)
{
    struct world *w = *state;
    assert_int_equal(judge_text(w, "lock leaked"), CAUSE_STATE_CHANGE_LOCK);
    assert_int_equal(w->verdict.plane, PLANE_CONTROL);
    (void)judge_text(w, "lock held");
    assert_int_equal(w->verdict.plane, PLANE_NONE);
    (void)judge_text(w, "operation failed|#handed_off=true");
    assert_int_equal(w->verdict.plane, PLANE_DATA);
    assert_int_equal(w->verdict.failed_at, FAILED_AT_AFTER);
    (void)judge_text(w, "operation failed|#handed_off=false");
    assert_int_equal(w->verdict.plane, PLANE_CONTROL);
    assert_int_equal(w->verdict.failed_at, FAILED_AT_BEFORE);
    (void)judge_text(w, "operation failed");
    assert_int_equal(w->verdict.plane, PLANE_CONTROL);
    assert_int_equal(w->verdict.failed_at, FAILED_AT_UNKNOWN);
    (void)judge_text(w, "operation failed|#mode=precopy");
    assert_int_equal(w->verdict.plane, PLANE_DATA);
}

/* ---- what is repeated and what is shown ---- */

static void the_outcome_is_copied_and_never_derived(void **state)
{
    struct world *w = *state;
    (void)judge_text(w, "storage gone");
    assert_int_equal(w->verdict.outcome, OUTCOME_NONE);
    assert_int_equal(w->verdict.guest, GUEST_AT_UNKNOWN);
    assert_false(w->verdict.irrecoverable);
    (void)judge_text(w, "storage gone|#outcome=lost|#guest=lost");
    assert_int_equal(w->verdict.outcome, OUTCOME_LOST);
    assert_false(w->verdict.irrecoverable); /* gone as a whole */
    assert_int_equal(w->verdict.recoverable, RECOVERABLE_NO);
    (void)judge_text(w, "storage gone|#outcome=failed|#guest=paused-irrecoverable");
    assert_true(w->verdict.irrecoverable);
    assert_int_equal(w->verdict.recoverable, RECOVERABLE_NO);
    (void)judge_text(w, "operation failed|#outcome=succeeded|#guest=running-on-target");
    assert_int_equal(w->verdict.cause, CAUSE_NONE);
    assert_int_equal(w->verdict.plane, PLANE_NONE);
    assert_string_equal(w->verdict.action, "");
    (void)judge_text(w, "storage gone|#outcome=nonsense|#guest=nowhere");
    assert_int_equal(w->verdict.outcome, OUTCOME_NONE);
    assert_int_equal(w->verdict.guest, GUEST_AT_UNKNOWN);
}

static void points_say_where_they_come_from_and_what_they_are(void **state)
{
    struct world *w = *state;
    judge_reset(w->judge);
    say(w, SIDE_SOURCE, 7000, "error: operation failed: size mismatch: 5 != 6");
    say(w, SIDE_UNKNOWN, 0, "read: Connection reset by peer");
    const struct verdict *v = give(w);
    assert_int_equal(v->n_points, 3);
    assert_string_equal(v->rule, "spec");
    assert_string_equal(v->points[0].rule, "spec");
    assert_string_equal(v->points[0].quote, "error: operation failed: size mismatch: 5 != 6");
    assert_string_equal(v->points[0].origin, "log:1");
    assert_string_equal(v->points[0].proves, "Sizes differ.");
    assert_int_equal(v->points[0].role, POINT_FOR);
    assert_int_equal(v->points[0].side, SIDE_SOURCE);
    assert_int_equal(v->points[0].at_ms, 7000);
    assert_int_equal(v->points[1].role, POINT_FALLOUT);
    assert_int_equal(v->points[1].cause, CAUSE_NETWORK_INTERRUPTED);
    assert_int_equal(v->points[2].role, POINT_FALLOUT);
}

static void a_fact_is_quoted_when_there_is_no_text(void **state)
{
    struct world *w = *state;
    (void)judge_text(w, "#elapsed_ms=2000|#mode=postcopy");
    assert_string_equal(w->verdict.points[0].quote, "elapsed_ms=2000");
    assert_string_equal(w->verdict.points[0].origin, "record");
    assert_string_equal(w->verdict.numbers[0].name, "elapsed_ms");
    assert_string_equal(w->verdict.numbers[0].unit, "ms");
    assert_true(w->verdict.numbers[0].value == 2000.0);
}

static void nanoseconds_printed_as_seconds_are_ignored(void **state)
{
    struct world *w = *state;
    (void)judge_text(w, "Live migration stuck for 150000000000 sec, reset by peer");
    assert_int_equal(w->verdict.n_numbers, 1);
    assert_string_equal(w->verdict.numbers[0].name, "stuck_s");
    assert_true(w->verdict.numbers[0].value == 150.0);
    (void)judge_text(w, "stuck for 150 seconds, reset by peer");
    assert_true(w->verdict.numbers[0].value == 150.0);
    (void)judge_text(w, "CPU#1 stuck for 22s! reset by peer");
    assert_true(w->verdict.numbers[0].value == 22.0);
    (void)judge_text(w, "stuck for 5 pages, reset by peer|#stall_s=5000000000");
    assert_int_equal(w->verdict.n_numbers, 1);
    assert_true(w->verdict.numbers[0].value == 5.0);
}

/* A rule may ask for as many numbers as a verdict has room for; what the text says finds none. */
static void numbers_of_a_verdict_are_bounded(void **state)
{
    struct world *w = *state;
    char key[8];
    judge_reset(w->judge);
    for (int i = 1; i <= VERDICT_NUMBERS_MAX; i++) {
        (void)snprintf(key, sizeof key, "n%d", i);
        know(w, key, "7");
    }
    say(w, SIDE_UNKNOWN, 0, "Live migration stuck for 160 sec");
    judge_give(w->judge, &w->verdict);
    assert_string_equal(w->verdict.rule, "counts");
    assert_int_equal(w->verdict.n_numbers, VERDICT_NUMBERS_MAX);
    assert_string_equal(w->verdict.numbers[VERDICT_NUMBERS_MAX - 1].name, "n16");
}

static void more_evidence_raises_confidence_and_a_rival_lowers_it(void **state)
{
    struct world *w = *state;
    (void)judge_text(w, "quota");
    double one = w->verdict.confidence;
    (void)judge_text(w, "quota|no room");
    double two = w->verdict.confidence;
    (void)judge_text(w, "quota|no room|size mismatch");
    double disputed = w->verdict.confidence;
    (void)judge_text(w, "operation failed");
    double unknown = w->verdict.confidence;
    assert_true(two > one && two > disputed && unknown < one);
    assert_true(two <= 1 && unknown >= 0);
}

static void judging_twice_gives_the_same_verdict_and_a_reset_clears_the_case(void **state)
{
    struct world *w = *state;
    struct verdict again;
    (void)judge_text(w, "virDomainAbortJob|canceled by client|#x=1");
    judge_give(w->judge, &again);
    assert_memory_equal(&again, &w->verdict, sizeof again);
    judge_reset(w->judge);
    assert_int_equal(give(w)->cause, CAUSE_UNKNOWN);
    assert_int_equal(w->verdict.n_points, 0);
    assert_int_equal(w->verdict.n_numbers, 0);
}

/* ---- bounds ---- */

static void any_byte_may_come(void **state)
{
    struct world *w = *state;
    struct evidence_sink sink = judge_sink(w->judge);
    char bytes[1024];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 37);
    memcpy(bytes + 500, "storage gone", 12);
    judge_reset(w->judge);
    struct evidence_message message = {.text = bytes, .length = sizeof bytes};
    sink.message(sink.ctx, &message);
    assert_int_equal(give(w)->cause, CAUSE_UNKNOWN); /* that is no text */
    for (size_t i = 0; i < sizeof bytes; i++)
        if ((unsigned char)bytes[i] < ' ' && i % 16 != 0)
            bytes[i] = (char)0x80;
    sink.message(sink.ctx, &message);
    assert_int_equal(give(w)->cause, CAUSE_STORAGE_OUTAGE);
    const char *quote = w->verdict.points[0].quote;
    assert_non_null(strstr(quote, "storage gone"));
    for (size_t i = 0, n; quote[i] != '\0'; i += n)
        assert_true((n = text_utf8_bytes(quote + i)) > 0);
}

static void a_long_message_is_searched_to_its_end(void **state)
{
    struct world *w = *state;
    struct evidence_sink sink = judge_sink(w->judge);
    enum { LONG = 1 << 20 };
    OWNED_TEXT text = malloc(LONG);
    assert_non_null(text);
    memset(text, 'x', LONG);
    for (size_t at = EVIDENCE_TEXT_MAX - 40; at < EVIDENCE_TEXT_MAX + 40; at++) {
        memcpy(text + at, "storage gone", 12);
        judge_reset(w->judge);
        struct evidence_message message = {.text = text, .length = LONG};
        sink.message(sink.ctx, &message);
        assert_int_equal(give(w)->cause, CAUSE_STORAGE_OUTAGE);
        memset(text + at, 'x', 12);
    }
    memcpy(text + LONG - 12, "storage gone", 12);
    struct evidence_message message = {.text = text, .length = LONG};
    judge_reset(w->judge);
    sink.message(sink.ctx, &message);
    assert_int_equal(give(w)->cause, CAUSE_STORAGE_OUTAGE);
    assert_true(strlen(w->verdict.points[0].quote) < VERDICT_QUOTE_MAX);
    assert_true(text_has_prefix(w->verdict.points[0].quote, "..."));
}

static void a_long_fact_is_searched_to_its_end(void **state)
{
    struct world *w = *state;
    char value[8192];
    memset(value, 'x', sizeof value);
    (void)snprintf(value + sizeof value - 16, 16, "storage gone");
    judge_reset(w->judge);
    know(w, "note", value);
    assert_int_equal(give(w)->cause, CAUSE_STORAGE_OUTAGE);
    assert_non_null(strstr(w->verdict.points[0].quote, "storage gone"));
}

static void facts_without_end_are_bounded(void **state)
{
    struct world *w = *state;
    char key[32];
    judge_reset(w->judge);
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(key, sizeof key, "key%c", 'a' + i % 26);
        know(w, key, "12");
    }
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(key, sizeof key, "%d", i);
        know(w, key, "12");
    }
    assert_int_equal(w->judge->n_facts, JUDGE_FACTS_MAX);
    assert_int_equal(give(w)->n_numbers, VERDICT_NUMBERS_MAX);
}

/* A text that was searched before is not searched again; nothing else may differ. */
static void a_remembered_text_counts_as_a_searched_one(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    static const char *const texts[] = {"size mismatch", "nothing at all", "certificate and quota",
                                        "node down: storage gone", "stuck for 7 s, reset by peer"};
    OWNED(judge) plain = judge_new(w->rules, &err);
    assert_non_null(plain);
    repeats_fini(&plain->repeats); /* remembers nothing */
    for (int round = 0; round < 2; round++) {
        struct judge *both[] = {w->judge, plain};
        for (size_t k = 0; k < 2; k++) {
            struct evidence_sink sink = judge_sink(both[k]);
            judge_reset(both[k]);
            for (int i = 0; i < 400; i++) {
                const char *text = texts[(size_t)(i * 7 + i / 9) % COUNT(texts)];
                sink.message(sink.ctx,
                             &(struct evidence_message){.text = text,
                                                        .length = strlen(text),
                                                        .side = i % 3 ? SIDE_SOURCE : SIDE_TARGET});
            }
        }
        assert_int_equal(w->judge->n_hits, plain->n_hits);
        for (unsigned i = 0; i < plain->n_hits; i++) {
            const struct judge_hit *a = &w->judge->hits[i], *b = &plain->hits[i];
            assert_memory_equal(a->positions, b->positions, sizeof a->positions);
            assert_int_equal(a->n_positions, b->n_positions);
            assert_int_equal(a->end, b->end);
            assert_string_equal(a->quote, b->quote);
        }
        assert_memory_equal(&w->judge->words, &plain->words, sizeof plain->words);
        assert_string_equal(w->judge->stuck.name, "stuck_s");
    }
}

/* A log of a million lines that never repeat leaves the table alone. */
static void a_text_is_remembered_from_its_second_time_on(void **state)
{
    struct world *w = *state;
    struct repeats *repeats = &w->judge->repeats;
    static const char text[] = "a line that nobody wrote before";
    for (int time = 1; time <= 3; time++) {
        bool is_known = repeats_find(repeats, text, strlen(text)) != NULL;
        assert_int_equal(is_known, time == 3);
        assert_int_equal(repeats->filling != NULL, time == 2);
        if (!is_known)
            repeats_end(repeats, text, strlen(text), 1);
    }
}

static void the_same_message_a_million_times_costs_one_quote(void **state)
{
    struct world *w = *state;
    judge_reset(w->judge);
    for (int i = 0; i < 100000; i++)
        say(w, SIDE_SOURCE, i, "operation failed: storage gone");
    assert_int_equal(w->judge->n_hits, 2);
    assert_int_equal(give(w)->points[0].at_ms, 0);
}

TEST_FILE(test_judge)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_story_gets_its_cause),
        cmocka_unit_test(an_emitter_decides_plane_and_family_only),
        cmocka_unit_test(the_first_error_in_time_wins_over_a_stronger_one_later),
        cmocka_unit_test(times_decide_which_message_is_earlier_where_known),
        cmocka_unit_test(distant_messages_neither_suppress_nor_complete_a_rule),
        cmocka_unit_test(a_rule_of_one_side_ignores_the_other),
        cmocka_unit_test(an_open_plane_follows_the_rule_or_how_far_it_came),
        cmocka_unit_test(the_outcome_is_copied_and_never_derived),
        cmocka_unit_test(points_say_where_they_come_from_and_what_they_are),
        cmocka_unit_test(a_fact_is_quoted_when_there_is_no_text),
        cmocka_unit_test(nanoseconds_printed_as_seconds_are_ignored),
        cmocka_unit_test(numbers_of_a_verdict_are_bounded),
        cmocka_unit_test(more_evidence_raises_confidence_and_a_rival_lowers_it),
        cmocka_unit_test(judging_twice_gives_the_same_verdict_and_a_reset_clears_the_case),
        cmocka_unit_test(any_byte_may_come),
        cmocka_unit_test(a_long_message_is_searched_to_its_end),
        cmocka_unit_test(a_long_fact_is_searched_to_its_end),
        cmocka_unit_test(facts_without_end_are_bounded),
        cmocka_unit_test(a_remembered_text_counts_as_a_searched_one),
        cmocka_unit_test(a_text_is_remembered_from_its_second_time_on),
        cmocka_unit_test(the_same_message_a_million_times_costs_one_quote),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
