/* test_misleading.c - the built-in rules on evidence that lies: misleading.def. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/judge/judge.h"
#include "base/own.h"
#include "base/text.h"

static const struct story {
    const char *what, *evidence;
    enum cause cause;
    enum plane plane;
} stories[] = {
#define STORY(what, evidence, cause, plane) {what, evidence, CAUSE_##cause, PLANE_##plane},
#include "tests/unit/misleading.def"
#undef STORY
};

static void tell_piece(const struct evidence_sink *sink, char *piece)
{
    char *equals = piece[0] == '#' ? strchr(piece, '=') : NULL;
    if (equals != NULL) {
        *equals = '\0';
        struct evidence_fact fact = {.key = piece + 1, .value = equals + 1, .origin = "facts"};
        sink->fact(sink->ctx, &fact);
        return;
    }
    struct evidence_message message = {.text = piece, .origin = "log"};
    if (text_has_prefix(piece, "S:") || text_has_prefix(piece, "T:")) {
        message.side = piece[0] == 'S' ? SIDE_SOURCE : SIDE_TARGET;
        message.text += 2;
    }
    message.length = strlen(message.text);
    sink->message(sink->ctx, &message);
}

static void tell(struct judge *judge, const char *evidence)
{
    struct evidence_sink sink = judge_sink(judge);
    char copy[2048], *save = NULL;
    judge_reset(judge);
    assert_true(text_copy(copy, sizeof copy, evidence));
    for (char *piece = strtok_r(copy, "|", &save); piece != NULL;
         piece = strtok_r(NULL, "|", &save))
        tell_piece(&sink, piece);
}

static void each_story_gets_its_cause(void **state)
{
    struct judge *judge = *state;
    struct verdict verdict;
    for (size_t i = 0; i < COUNT(stories); i++) {
        tell(judge, stories[i].evidence);
        judge_give(judge, &verdict);
        if (verdict.cause != stories[i].cause || verdict.plane != stories[i].plane)
            fail_msg("%s: %s, %s by %s", stories[i].what, cause_row(verdict.cause)->name,
                     plane_name(verdict.plane), verdict.rule);
    }
}

/* What other words are there must not be lost: an operator wants to see why they do not count. */
static void misleading_messages_are_counter_evidence(void **state)
{
    struct judge *judge = *state;
    struct verdict verdict;
    tell(judge, "S:Unable to write to socket: Connection reset by peer|"
                "T:qemu-kvm: Length mismatch: pc.ram: 0x7d000000 in != 0x3e800000: Invalid "
                "argument|T:load of migration failed: Invalid argument");
    judge_give(judge, &verdict);
    assert_int_equal(verdict.cause, CAUSE_RAM_SIZE_MISMATCH);
    assert_int_equal(verdict.points[0].side, SIDE_TARGET);
    unsigned others = 0;
    for (unsigned i = 0; i < verdict.n_points; i++)
        others += verdict.points[i].role != POINT_FOR && verdict.points[i].side == SIDE_SOURCE;
    assert_true(others > 0);
}

TEST_FILE(test_misleading)
{
    struct err err = {0};
    OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, &err);
    OWNED(judge) judge = rules != NULL ? judge_new(rules, &err) : NULL;
    if (judge == NULL) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(each_story_gets_its_cause, judge),
        cmocka_unit_test_prestate(misleading_messages_are_counter_evidence, judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
