/* test_remedy.c - remedies for a stalled stream: which one, when, and which never. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/data/remedy.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

/* ---- the choice by itself ---- */

#define BIT(id) (UINT64_C(1) << DECISION_STREAM_##id)
#define QUIET_(ms, ...)                                                              \
    {                                                                                \
        .mode = MODE_PRECOPY, .quiet_ms = (ms), .stopped_ms = -1, .estimate_ms = -1, \
        .since_remedy_ms = -1, __VA_ARGS__                                           \
    }
#define QUIET(ms, ...) QUIET_(ms, .tried = 0, __VA_ARGS__)
#define SWITCH(ms, ...)                                                                 \
    {                                                                                   \
        .mode = MODE_PRECOPY, .quiet_ms = (ms), .stopped_ms = (ms), .estimate_ms = 100, \
        .since_remedy_ms = -1, __VA_ARGS__                                              \
    }
#define ABORTED(ms, state, ...)                                                          \
    {                                                                                    \
        .mode = MODE_PRECOPY, .silent_ms = 600000, .stopped_ms = -1, .aborted_ms = (ms), \
        .stream = HV_STREAM_##state, .source_runs = true, .target_paused = true,         \
        .since_remedy_ms = -1, __VA_ARGS__                                               \
    }
#define BOTH .source_paused = true, .target_paused = true

static const struct {
    const char *what;
    struct remedy_facts facts;
    enum decision is;
} rows[] = {
    /* Pre-copy without disks: an abort is right, before the target drops its copy. */
    {"it moves", QUIET(1900, .has_disks = false), DECISION_GOES_ON},
    {"pre-copy, quiet", QUIET(2000, .has_disks = false), DECISION_STREAM_QUIET},
    {"pre-copy, not quiet for long enough", QUIET(11900, .has_disks = false),
     DECISION_STREAM_QUIET},
    {"pre-copy, quiet before the keepalive ends", QUIET(12000, .has_disks = false),
     DECISION_STREAM_ABORTED},
    {"pre-copy, a helper is not asked", QUIET(12000, .source_helps = true),
     DECISION_STREAM_ABORTED},
    {"pre-copy, the abort is under way", QUIET(60000, .abort_asked = true), DECISION_STREAM_QUIET},
    {"parallel streams, not long enough", QUIET(11900, .parallel = true), DECISION_STREAM_QUIET},
    {"parallel streams do not end by an abort", QUIET(12000, .parallel = true),
     DECISION_STREAM_YANKED},
    /* With disks: the streams break before anybody cancels a mirror. */
    {"disks, not long enough", QUIET(3900, .has_disks = true), DECISION_STREAM_QUIET},
    {"disks", QUIET(4000, .has_disks = true), DECISION_STREAM_YANKED},
    {"disks, just yanked",
     {.mode = MODE_PRECOPY,
      .quiet_ms = 9000,
      .stopped_ms = -1,
      .has_disks = true,
      .since_remedy_ms = 9900},
     DECISION_STREAM_QUIET},
    {"disks, yanked, nothing came of it",
     {.mode = MODE_PRECOPY,
      .quiet_ms = 15000,
      .stopped_ms = -1,
      .has_disks = true,
      .tried = BIT(YANKED),
      .since_remedy_ms = 10000},
     DECISION_STREAM_YANKED},
    {"paused to finish, disks",
     {.mode = MODE_PAUSED,
      .quiet_ms = 4000,
      .stopped_ms = -1,
      .has_disks = true,
      .since_remedy_ms = -1},
     DECISION_STREAM_YANKED},
    /* Switch-over. */
    {"switch-over, short", SWITCH(3900, BOTH), DECISION_GOES_ON},
    {"switch-over", SWITCH(4000, BOTH), DECISION_STREAM_COPY_DROPPED},
    {"switch-over that may take long",
     {.mode = MODE_PRECOPY, .stopped_ms = 8900, .estimate_ms = 6000, .since_remedy_ms = -1, BOTH},
     DECISION_GOES_ON},
    {"switch-over that took too long",
     {.mode = MODE_PRECOPY, .stopped_ms = 9000, .estimate_ms = 6000, .since_remedy_ms = -1, BOTH},
     DECISION_STREAM_COPY_DROPPED},
    {"a helper comes first", SWITCH(4000, BOTH, .source_helps = true), DECISION_STREAM_KILLED},
    {"a helper needs nobody standing", SWITCH(4000, .source_helps = true), DECISION_STREAM_KILLED},
    {"a helper with several streams", SWITCH(4000, .source_helps = true, .parallel = true),
     DECISION_STREAM_KILLED},
    {"a helper with disks", SWITCH(4000, .source_helps = true, .has_disks = true),
     DECISION_STREAM_KILLED},
    {"the helper was just asked",
     {.mode = MODE_PRECOPY,
      .stopped_ms = 7000,
      BOTH,
      .source_helps = true,
      .tried = BIT(KILLED),
      .since_remedy_ms = 3900},
     DECISION_STREAM_QUIET},
    {"the helper freed nobody",
     {.mode = MODE_PRECOPY,
      .stopped_ms = 9000,
      BOTH,
      .source_helps = true,
      .tried = BIT(KILLED),
      .since_remedy_ms = 4000},
     DECISION_STREAM_COPY_DROPPED},
    {"nothing is left",
     {.mode = MODE_PRECOPY,
      .stopped_ms = 90000,
      BOTH,
      .source_helps = true,
      .tried = BIT(KILLED) | BIT(COPY_DROPPED),
      .since_remedy_ms = 80000},
     DECISION_STREAM_ABANDONED},
    {"several streams", SWITCH(60000, BOTH, .parallel = true), DECISION_STREAM_ABANDONED},
    {"disks move along", SWITCH(60000, BOTH, .has_disks = true), DECISION_STREAM_ABANDONED},
    {"the guest ran on the target", SWITCH(60000, BOTH, .target_resumed = true),
     DECISION_STREAM_ABANDONED},
    {"the source was not seen", SWITCH(60000, .target_paused = true), DECISION_STREAM_ABANDONED},
    {"the target was not seen", SWITCH(60000, .source_paused = true), DECISION_STREAM_ABANDONED},
    /* libvirt says the same of a guest whose user paused it. */
    {"paused by its user, and it moves",
     {.mode = MODE_PRECOPY, .stopped_ms = 60000, .silent_ms = 400, .since_remedy_ms = -1, BOTH},
     DECISION_GOES_ON},
    {"post-copy was ordered", SWITCH(60000, BOTH, .postcopy_ordered = true),
     DECISION_STREAM_ABANDONED},
    {"dropping the copy was ordered and not answered",
     {.mode = MODE_PRECOPY,
      .stopped_ms = 90000,
      BOTH,
      .tried = BIT(COPY_DROPPED),
      .order_is_out = true,
      .since_remedy_ms = 80000},
     DECISION_STREAM_QUIET},
    /* Aborted, and the call is still out: by what the source's QEMU says. */
    {"aborted, QEMU was not asked", ABORTED(60000, UNKNOWN), DECISION_STREAM_CANCEL_WAITS},
    {"aborted, QEMU cancels", ABORTED(1900, ENDING), DECISION_STREAM_CANCEL_WAITS},
    {"aborted, QEMU cancels for long", ABORTED(2000, ENDING), DECISION_STREAM_CANCEL_YANKED},
    {"aborted, QEMU has not begun to cancel", ABORTED(2000, OPEN), DECISION_STREAM_CANCEL_YANKED},
    {"yanked, QEMU cancels", ABORTED(6000, ENDING, .yanked_ms = 2900, .source_helps = true),
     DECISION_STREAM_CANCEL_WAITS},
    {"yanked in vain", ABORTED(6000, ENDING, .yanked_ms = 3000, .source_helps = true),
     DECISION_STREAM_CANCEL_KILLED},
    {"the yank was refused",
     ABORTED(6000, ENDING, .tried = BIT(CANCEL_YANKED), .source_helps = true),
     DECISION_STREAM_CANCEL_KILLED},
    {"the yank is not answered",
     ABORTED(6000, ENDING, .tried = BIT(CANCEL_YANKED), .source_helps = true, .order_is_out = true),
     DECISION_STREAM_CANCEL_WAITS},
    {"yanked in vain, nobody helps", ABORTED(600000, ENDING, .yanked_ms = 590000),
     DECISION_STREAM_CANCEL_WAITS},
    {"QEMU is done, libvirt's keepalive comes", ABORTED(34900, OVER), DECISION_STREAM_CANCEL_WAITS},
    {"QEMU is done, the call hangs", ABORTED(35000, OVER), DECISION_STREAM_ABORT_DROPPED},
    {"QEMU is done, the source was not seen",
     {.mode = MODE_PRECOPY,
      .stopped_ms = -1,
      .silent_ms = 60000,
      .aborted_ms = 35000,
      .stream = HV_STREAM_OVER,
      .target_paused = true,
      .since_remedy_ms = -1},
     DECISION_STREAM_CANCEL_WAITS},
    {"the copy is not dropped while QEMU cancels", ABORTED(600000, ENDING, .yanked_ms = 590000),
     DECISION_STREAM_CANCEL_WAITS},
    /* libvirt's own keepalive ends a tunnel. */
    {"a tunnel in the switch-over", SWITCH(60000, BOTH, .tunnelled = true), DECISION_STREAM_QUIET},
    {"a tunnel with a helper", SWITCH(60000, .tunnelled = true, .source_helps = true),
     DECISION_STREAM_QUIET},
    /* Post-copy: there is no way back, but another stream can take over. */
    {"post-copy, short",
     {.mode = MODE_POSTCOPY, .quiet_ms = 9900, .stopped_ms = -1, .since_remedy_ms = -1},
     DECISION_STREAM_QUIET},
    {"post-copy",
     {.mode = MODE_POSTCOPY, .quiet_ms = 10000, .stopped_ms = -1, .since_remedy_ms = -1},
     DECISION_STREAM_PAUSED},
    {"post-copy, just paused",
     {.mode = MODE_POSTCOPY, .quiet_ms = 19000, .stopped_ms = -1, .since_remedy_ms = 9000},
     DECISION_STREAM_QUIET},
    {"post-copy, dead at the source only",
     {.mode = MODE_POSTCOPY,
      .silent_ms = 5000,
      .stopped_ms = -1,
      .source_failed = true,
      .target_helps = true,
      .since_remedy_ms = -1},
     DECISION_STREAM_TARGET_KILLED},
    {"post-copy, dead at the source only, nobody helps",
     {.mode = MODE_POSTCOPY,
      .silent_ms = 5000,
      .stopped_ms = -1,
      .source_failed = true,
      .source_helps = true,
      .since_remedy_ms = -1},
     DECISION_STREAM_ABANDONED},
    {"post-copy, the source stands of course",
     {.mode = MODE_POSTCOPY, .quiet_ms = 100, .stopped_ms = 60000, .since_remedy_ms = -1, BOTH},
     DECISION_GOES_ON},
};

static void each_stall_has_its_remedy(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[MONITOR_TEXT_MAX] = "";
        struct remedy_facts facts = rows[i].facts;
        if (facts.silent_ms == 0)
            facts.silent_ms = facts.quiet_ms > facts.stopped_ms ? facts.quiet_ms : facts.stopped_ms;
        facts.aborted_ms = facts.aborted_ms == 0 ? -1 : facts.aborted_ms;
        facts.yanked_ms = facts.yanked_ms == 0 ? -1 : facts.yanked_ms;
        enum decision is = remedy_choose(&facts, text);
        if (is != rows[i].is)
            fail_msg("%s: %s, not %s (%s)", rows[i].what, decision_name(is),
                     decision_name(rows[i].is), text);
    }
}

static void a_yank_that_may_hang_says_so(void **state)
{
    (void)state;
    for (int may_hang = 0; may_hang < 2; may_hang++) {
        char text[MONITOR_TEXT_MAX] = "";
        struct remedy_facts facts =
            QUIET(4000, .has_disks = true, .parallel = true, .yank_may_hang = may_hang != 0);
        facts.silent_ms = facts.quiet_ms;
        facts.aborted_ms = facts.yanked_ms = -1;
        assert_int_equal(remedy_choose(&facts, text), DECISION_STREAM_YANKED);
        assert_int_equal(strstr(text, "QEMU before 11.0 may hang") != NULL, may_hang);
        assert_true(strlen(text) < MONITOR_TEXT_MAX - 1);
    }
}

/* What no facts whatever may lead to. */
static const char *broken_law(const struct remedy_facts *f, enum decision is, const char *text)
{
    enum monitor_action action = decision_action(is);
    bool switching = f->stopped_ms >= 0 && f->mode != MODE_POSTCOPY;
    bool after_abort = is == DECISION_STREAM_ABORT_DROPPED || is == DECISION_STREAM_CANCEL_YANKED ||
                       is == DECISION_STREAM_CANCEL_KILLED;
    bool limited = !after_abort; /* each comes once, or rarely */
    int64_t limit_ms = switching ? REMEDY_SWITCH_MS : REMEDY_AGAIN_MS;
    if (text[0] == '\0')
        return "it says nothing";
    if (action == MONITOR_NOTHING)
        return NULL;
    if (action == MONITOR_RETIRED)
        return "no version decides that any more";
    if (action == MONITOR_POSTCOPY || action == MONITOR_PAUSE)
        return "that is no remedy";
    if (action == MONITOR_ABORT && (f->has_disks || f->parallel || f->mode == MODE_POSTCOPY ||
                                    switching || f->quiet_ms < REMEDY_PRECOPY_MS))
        return "an abort that freezes the guest, frees nobody, or comes too soon";
    if (switching && f->tunnelled)
        return "a tunnel ends by itself";
    if (limited && f->since_remedy_ms >= 0 && f->since_remedy_ms < limit_ms)
        return "too soon after the last one";
    bool aborted = is == DECISION_STREAM_ABORT_DROPPED;
    bool seen_dead =
        is == DECISION_STREAM_TARGET_KILLED || (is == DECISION_STREAM_PAUSED && f->forced);
    if (!switching && !after_abort && !seen_dead && f->quiet_ms < REMEDY_DISKS_MS)
        return "it may still move";
    if (f->silent_ms < REMEDY_QUIET_MS && !f->forced)
        return "it moved just now";
    if (switching && (f->stopped_ms < REMEDY_SWITCH_MS || f->silent_ms < REMEDY_SWITCH_MS))
        return "the switch-over may still end";
    if (action == MONITOR_DROP_COPY && !f->target_paused)
        return "a copy dropped without having just seen it stand";
    if (action == MONITOR_DROP_COPY && !(aborted ? f->source_runs : f->source_paused))
        return "a copy dropped without having just seen the guest";
    if (aborted && (f->aborted_ms < REMEDY_KEEPALIVE_MS || f->stream != HV_STREAM_OVER))
        return "a copy dropped although the source's QEMU may use the stream";
    if (after_abort && f->aborted_ms < 0)
        return "nobody aborted it";
    if (after_abort && !aborted && f->stream != HV_STREAM_ENDING && f->stream != HV_STREAM_OPEN)
        return "QEMU may be done";
    if (action == MONITOR_DROP_COPY &&
        (f->has_disks || f->target_resumed || f->mode == MODE_POSTCOPY))
        return "a copy dropped that may be the guest, or for nothing";
    if (is == DECISION_STREAM_COPY_DROPPED && (f->parallel || f->postcopy_ordered || !switching))
        return "a copy dropped that may run any moment, or for nothing";
    bool at_target = is == DECISION_STREAM_TARGET_KILLED;
    if (action == MONITOR_KILL_STREAM && !at_target && !switching && !after_abort)
        return "only for a switch-over, or after an abort";
    if (at_target && (f->mode != MODE_POSTCOPY || !f->source_failed || !f->target_helps))
        return "nobody knows that it is dead, or nobody helps";
    bool once = action == MONITOR_DROP_COPY || is == DECISION_STREAM_KILLED;
    if (once && (f->tried & UINT64_C(1) << is) != 0)
        return "once is enough";
    if (action == MONITOR_KILL_STREAM && !at_target && !f->source_helps)
        return "there is no helper";
    bool yanks = f->has_disks || f->parallel || after_abort;
    if (action == MONITOR_YANK && (!yanks || switching || f->mode == MODE_POSTCOPY))
        return "a yank frees nobody here";
    if (action == MONITOR_PAUSE_STREAM && f->mode != MODE_POSTCOPY)
        return "that is for post-copy";
    return NULL;
}

/* Every FIRST-th, FIRST + STEP-th, ... combination of times, with the facts in F as they are. */
static void check_laws(struct remedy_facts *f, size_t first, size_t step)
{
    static const int64_t quiets[] = {0, 2000, 4000, 11999, 60000},
                         stops[] = {-1, 3999, 4000, 60000};
    static const int64_t sinces[] = {-1, 3999, 4000, 10000};
    static const uint64_t tried[] = {0, BIT(KILLED) | BIT(YANKED), BIT(COPY_DROPPED) | BIT(KILLED),
                                     ~UINT64_C(0)};
    size_t all = COUNT(quiets) * COUNT(stops) * COUNT(sinces) * COUNT(tried) * 2;
    for (size_t i = first; i < all; i += step) {
        size_t n = i;
        char text[MONITOR_TEXT_MAX] = "";
        f->quiet_ms = quiets[n % COUNT(quiets)];
        n /= COUNT(quiets);
        f->stopped_ms = stops[n % COUNT(stops)];
        n /= COUNT(stops);
        f->since_remedy_ms = sinces[n % COUNT(sinces)];
        n /= COUNT(sinces);
        f->tried = tried[n % COUNT(tried)];
        f->estimate_ms = n / COUNT(tried) != 0 ? -1 : 500;
        f->silent_ms = n / COUNT(tried) != 0 && f->quiet_ms < 4000 ? 4000 : f->quiet_ms;
        enum decision is = remedy_choose(f, text);
        const char *law = broken_law(f, is, text);
        if (law != NULL)
            fail_msg("%s: mode %s, disks %d parallel %d tunnelled %d stands %d %d resumed %d "
                     "helps %d quiet %lld stopped %lld since %lld: %s",
                     law, mode_name(f->mode), f->has_disks, f->parallel, f->tunnelled,
                     f->source_paused, f->target_paused, f->target_resumed, f->source_helps,
                     (long long)f->quiet_ms, (long long)f->stopped_ms,
                     (long long)f->since_remedy_ms, text);
    }
}

/* One bit for each fact, so that every fact is tried with and without every other; but a source
 * does not stand and run at once. With each set of facts every 11th combination of times;
 * FERRY_TEST_SIZE=full: all of them. */
static void no_facts_lead_to_a_remedy_that_could_harm(void **state)
{
    (void)state;
    size_t step = test_size(41, 11, 1);
    for (unsigned bits = 0; bits < 1U << 14; bits++)
        for (enum mode mode = MODE_NONE; mode < MODE_COUNT; mode++) {
            struct remedy_facts f = {
                .mode = mode,
                .has_disks = (bits & 1U << 0) != 0,
                .parallel = (bits & 1U << 1) != 0,
                .tunnelled = (bits & 1U << 2) != 0,
                .source_paused = (bits & 1U << 3) != 0,
                .target_paused = (bits & 1U << 4) != 0,
                .target_resumed = (bits & 1U << 5) != 0,
                .source_helps = (bits & 1U << 6) != 0,
                .target_helps = (bits & 1U << 7) != 0,
                .postcopy_ordered = (bits & 1U << 8) != 0,
                .source_failed = (bits & 1U << 9) != 0,
                .source_runs = (bits & 1U << 10) != 0,
                .aborted_ms = (bits & 1U << 11) != 0 ? REMEDY_KEEPALIVE_MS : -1,
                .yanked_ms = (bits & 1U << 12) != 0 ? REMEDY_YANKED_MS : -1,
                .forced = (bits & 1U << 13) != 0 && mode == MODE_POSTCOPY,
                .order_is_out = (bits & 1U << 13) != 0 && mode != MODE_POSTCOPY,
                .stream = (enum hv_stream)((bits + mode) % 5),
            };
            if (!f.source_paused || !f.source_runs)
                check_laws(&f, (bits + mode) % step, step);
        }
}

TEST_FILE(test_remedy)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stall_has_its_remedy),
        cmocka_unit_test(a_yank_that_may_hang_says_so),
        cmocka_unit_test(no_facts_lead_to_a_remedy_that_could_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
