/* test_recorded_earlier.c - lines of an earlier QEMU process in libvirt's error explain nothing. */
#include "tests/test.h"

#include <string.h>

#include "analyzer/record/earlier.h"
#include "analyzer/record/recorded.h"
#include "store/sqlite/sqlite.h"

/* Seen with libvirt 9.0: the copy on the target was destroyed, and the error quoted what the copy
 * of the migration before, which was aborted, had written 3 s earlier. */
static void lines_of_an_earlier_qemu_process_are_no_evidence(void **state)
{
    static const char earlier[] = "internal error: qemu unexpectedly closed the monitor: "
                                  "2026-01-31T10:00:02.850150Z qemu-system-x86_64: "
                                  "check_section_footer: Read section footer failed: -5\n"
                                  "2026-01-31T10:00:02.850235Z qemu-system-x86_64: load of "
                                  "migration failed: Invalid argument";
    static const char log[] = "2026-01-31T10:00:07.195538Z qemu-system-x86_64: terminating on "
                              "signal 15 from pid 15682 (libvirtd)\n"
                              "2026-01-31 10:00:07.397+0000: shutting down, reason=destroyed";
    enum { HANDED_OFF_S = 1769853605 }; /* 10:00:05 */
    const int64_t at_ms = (int64_t)HANDED_OFF_S * 1000;
    (void)state;
    struct err err = {0};
    OWNED(store) s = store_sqlite_open(NULL, &err);
    OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, &err);
    OWNED(judge) judge = judge_new(rules, &err);
    assert_true(s != NULL && judge != NULL);
    struct notes notes = {0};
    struct gathered job;
    struct verdict verdict;
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = "again",
                                           .name = "again",
                                           .guest_name = "g",
                                           .source = "h1",
                                           .target = "h2",
                                           .result.outcome = "failed",
                                           .resolution.guest_at = "running-on-source",
                                           .mode = "PreCopy",
                                           .result.error_hv_code = 1,
                                           .result.error_hv_domain = 10,
                                           .result.error_text = earlier,
                                           .times = {.created_ms = at_ms,
                                                     .handed_off_ms = at_ms,
                                                     .started_ms = at_ms,
                                                     .ended_ms = at_ms + 2500}});
    s->ops->put_intent(s, &(struct store_intent){.job_uid = "again",
                                                 .epoch = 1,
                                                 .seq = 1,
                                                 .action = "migrate",
                                                 .node = "h1",
                                                 .status = "done",
                                                 .err = "hypervisor",
                                                 .text = earlier,
                                                 .asked_ms = at_ms,
                                                 .done_ms = at_ms + 2200});
    s->ops->put_transition(
        s,
        &(struct store_transition){
            .job_uid = "again", .seq = 1, .from = "TargetReady", .to = "Running", .at_ms = at_ms});
    s->ops->put_transition(s, &(struct store_transition){.job_uid = "again",
                                                         .seq = 2,
                                                         .from = "Running",
                                                         .to = "Failed",
                                                         .why = "on-source",
                                                         .at_ms = at_ms + 2500});
    assert_true(s->ops->commit(s, &err));
    notes_message(&notes, SIDE_TARGET, "QEMU log on h2", at_ms + 2195, log, strlen(log));
    assert_true(gather_job(s, "again", &job, &err));
    assert_true(recorded_judge(s, &job, &notes, judge, &verdict, &err));
    assert_string_equal(cause_row(verdict.cause)->name, "user-cancelled");
    /* Without a line of the log nothing shows that the two clocks agree: the lines stay. */
    assert_true(recorded_judge(s, &job, &(struct notes){0}, judge, &verdict, &err));
    assert_string_not_equal(cause_row(verdict.cause)->name, "user-cancelled");
    notes_fini(&notes);
}

static void only_lines_before_the_migration_are_dropped(void **state)
{
    (void)state;
    enum { SINCE_S = 1769853603 }; /* 10:00:03 */
    const int64_t since_ms = (int64_t)SINCE_S * 1000;
    char out[128];
    assert_true(earlier_lines_drop("closed: 2026-01-31T10:00:02.999999Z qemu: old\n"
                                   "2026-01-31T10:00:03.000000Z qemu: new",
                                   since_ms, out, sizeof out));
    assert_string_equal(out, "closed: 2026-01-31T10:00:03.000000Z qemu: new");
    assert_true(
        earlier_lines_drop("2026-01-31T10:00:02.000000Z qemu: old", since_ms, out, sizeof out));
    assert_string_equal(out, "");
    assert_false(earlier_lines_drop("closed: 2026-01-31T10:00:03.000000Z qemu: new", since_ms, out,
                                    sizeof out));
    assert_false(earlier_lines_drop("no stamp, 2026-01-31T10:00", since_ms, out, sizeof out));
    assert_false(earlier_lines_drop("", since_ms, out, sizeof out));
    assert_true(earlier_lines_drop("a longer text: 2026-01-31T10:00:02.000000Z old", since_ms, out,
                                   8)); /* cut */
    assert_string_equal(out, "a longe");
}

TEST_FILE(test_recorded_earlier)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_an_earlier_qemu_process_are_no_evidence),
        cmocka_unit_test(only_lines_before_the_migration_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
