/* test_cli_move.c - how a move went, as a page and in the list: the exact text. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "cli/pages/columns.h"
#include "cli/pages/pages.h"
#include "engine/model/job/phase.h"

static const struct page_style plain = {TABLE_WIDTH, false};

static struct json_object *parse(const char *text)
{
    struct err err = {0};
    struct json_object *object = json_parse(text, strlen(text), "test", &err);
    if (object == NULL)
        fail_msg("%s", err.text);
    return object;
}

static char *page_of(const char *text)
{
    OWNED(json_object) object = parse(text);
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_MIGRATION, object, &plain, &out);
    return buf_take(&out);
}

static void the_page_of_an_ended_migration_has_its_statistics(void **state)
{
    (void)state;
    OWNED_TEXT page = page_of(
        "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"vmiName\":\"web\"},"
        "\"status\":{\"phase\":\"Succeeded\",\"migrationState\":{\"sourceNode\":\"a\","
        "\"targetNode\":\"b\",\"targetNodeAddress\":\"192.0.2.2\",\"mode\":\"PostCopy\","
        "\"abortStatus\":\"Failed\"},"
        "\"ferry\":{\"abortCause\":\"operator\",\"outcome\":\"succeeded\","
        "\"remedy\":\"the stream was broken\",\"pausedByUser\":true,\"ranDespitePauseMs\":1200,"
        "\"modeHistory\":[{\"mode\":\"PreCopy\",\"at\":\"2025-11-16T05:06:40Z\",\"cause\":"
        "\"started\"},{\"mode\":\"PostCopy\",\"at\":\"2025-11-16T05:07:10Z\",\"cause\":"
        "\"stalled-post-copy\"}],"
        "\"recovery\":{\"state\":\"recovered\",\"tries\":2,\"since\":\"2025-11-16T05:07:19Z\"},"
        "\"forecast\":{\"totalMs\":50000,\"lowMs\":40000,\"highMs\":70000,\"downtimeMs\":300,"
        "\"convergesPercent\":85},"
        "\"final\":{\"from\":\"event\",\"totalMs\":61000,\"downtimeMs\":231,\"setupMs\":12,"
        "\"bytes\":1610612736,\"iterations\":7}}}}");
    assert_string_equal(page,
                        "Name:         m1\n"
                        "Guest:        web\n"
                        "From:         a\n"
                        "To:           b\n"
                        "Address:      192.0.2.2\n"
                        "Phase:        Succeeded\n"
                        "Mode:         PostCopy\n"
                        "Abort:        Failed\n"
                        "Abort cause:  operator\n"
                        "Outcome:      succeeded\n"
                        "Remedy:       the stream was broken\n"
                        "User pause:   during the migration; ran on the target for "
                        "1.2 s\n"
                        "Post-copy recovery:\n"
                        "  state              recovered\n"
                        "                     Post-copy was resumed and the guest arrived.\n"
                        "  attempts           2\n"
                        "  since              2025-11-16T05:07:19Z\n"
                        "Modes:\n"
                        "  PreCopy          2025-11-16T05:06:40Z  +0 ms  started\n"
                        "  PostCopy         2025-11-16T05:07:10Z  +30.0 s  stalled-post-copy\n"
                        "Forecast at hand-off:\n"
                        "  total time         50.0 s\n"
                        "  minimum            40.0 s\n"
                        "  maximum            70.0 s\n"
                        "  downtime           300 ms\n"
                        "  convergence        85%\n"
                        "Final statistics, from the source's last event:\n"
                        "  total time         61.0 s\n"
                        "  downtime           231 ms\n"
                        "  setup              12 ms\n"
                        "  sent               1.5 GiB\n"
                        "  iterations         7\n");
}

/* Each state in which somebody may be needed, and what he is told to do. */
static void each_recovery_state_has_its_next_step(void **state)
{
    (void)state;
    static const struct {
        enum recovery state;
        const char *step; /* NULL: nothing is said */
    } rows[] = {
        {RECOVERY_WATCHING, "none: Ferry observes"},
        {RECOVERY_PAUSING, "none: Ferry recovers"},
        {RECOVERY_RESUMING, "none: Ferry recovers"},
        {RECOVERY_WAITING, "repair the path"},
        {RECOVERY_BLIND, "where it is: ferry resolve m1 --guest-on"},
        {RECOVERY_EXHAUSTED, "then: ferry recover m1 (or, if you know where the guest is: ferry "
                             "resolve m1 --guest-on"},
        {RECOVERY_IRRECOVERABLE, "start the guest from its disks"},
        {RECOVERY_RECOVERED, NULL},
    };
    assert_int_equal(COUNT(rows), RECOVERY_COUNT - 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "{\"metadata\":{\"name\":\"m1\"},\"status\":{\"ferry\":{\"recovery\":"
                       "{\"state\":\"%s\",\"tries\":3}}}}",
                       recovery_name(rows[i].state));
        OWNED_TEXT page = page_of(text);
        const char *step = strstr(page, "  what to do ");
        assert_int_equal(step != NULL, rows[i].step != NULL);
        if (step != NULL && strstr(step, rows[i].step) == NULL)
            fail_msg("%s", page);
        assert_null(strchr(page, '%'));
    }
    OWNED_TEXT newer =
        page_of("{\"status\":{\"ferry\":{\"recovery\":{\"state\":\"tomorrow's\",\"tries\":3}}}}");
    assert_non_null(strstr(newer, "  state              tomorrow's\n"));
}

static void a_user_pause_that_held_is_shown(void **state)
{
    (void)state;
    OWNED_TEXT page =
        page_of("{\"status\":{\"ferry\":{\"pausedByUser\":true,\"ranDespitePauseMs\":0}}}");
    assert_string_equal(page, "User pause:   during the migration; did not run on the target\n");
}

static void the_list_shows_conditions_that_need_an_operator(void **state)
{
    (void)state;
    static const struct {
        const char *ferry, *phase, *word;
    } rows[] = {
        {"\"recovering\":false", "Running", "Running"},
        {"\"recovering\":true,\"recovery\":{\"state\":\"resuming\"}", "Running", "Recovering"},
        {"\"recovering\":true", "Running", "Recovering"},
        {"\"recovering\":true,\"recovery\":{\"state\":\"recovery-exhausted\"}", "Running",
         "recovery-exhausted"},
        {"\"recovering\":true,\"recovery\":{\"state\":\"unknown\"}", "Running", "recovery-unknown"},
        {"\"recovering\":false,\"recovery\":{\"state\":\"recovered\"}", "Succeeded", "Succeeded"},
        {"\"outcome\":\"irrecoverable\",\"recovery\":{\"state\":\"irrecoverable\"}", "Failed",
         "Irrecoverable"},
        {"\"outcome\":\"failed\"", "Failed", "Failed"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[256], want[32];
        (void)snprintf(text, sizeof text,
                       "{\"metadata\":{\"name\":\"m1\"},\"status\":{\"phase\":\"%s\",\"ferry\":"
                       "{%s}}}",
                       rows[i].phase, rows[i].ferry);
        (void)snprintf(want, sizeof want, "\nm1    %s ", rows[i].word);
        OWNED(json_object) object = parse(text);
        const struct columns choice = {.kind = KIND_MIGRATION};
        struct buf out;
        buf_init(&out, PAGE_MAX);
        assert_int_equal(columns_render(&choice, object, &plain, &out), 1);
        if (strstr(out.data, want) == NULL)
            fail_msg("%s: %s", rows[i].word, out.data);
        buf_fini(&out);
    }
    assert_int_equal(colour_of_phase("Irrecoverable"), COLOUR_BAD);
    assert_int_equal(colour_of_phase("recovery-exhausted"), COLOUR_BAD);
    assert_int_equal(colour_of_phase("recovery-unknown"), COLOUR_BAD);
    assert_int_equal(colour_of_phase("Recovering"), COLOUR_BUSY);
}

TEST_FILE(test_cli_move)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_of_an_ended_migration_has_its_statistics),
        cmocka_unit_test(each_recovery_state_has_its_next_step),
        cmocka_unit_test(a_user_pause_that_held_is_shown),
        cmocka_unit_test(the_list_shows_conditions_that_need_an_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
