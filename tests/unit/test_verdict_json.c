/* test_verdict_json.c - a verdict as a document and as a page: every field, any byte. */
#include "tests/test.h"

#include <string.h>

#include "analyzer/judge/verdict.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/pages/verdict_page.h"

static const struct verdict sample = {
    .outcome = OUTCOME_FAILED,
    .plane = PLANE_DATA,
    .family = FAMILY_COMPATIBILITY,
    .family_confidence = 0.93,
    .cause = CAUSE_RAM_SIZE_MISMATCH,
    .failed_at = FAILED_AT_AFTER,
    .guest = GUEST_AT_SOURCE,
    .recoverable = RECOVERABLE_YES,
    .confidence = 0.8899999,
    .action = "Give both the same memory, retry.",
    .rule = "ram-size",
    .rules_version = "0123456789abcdef",
    .n_points = 3,
    .points = {{.rule = "ram-size",
                .quote = "Length mismatch \"pc.ram\"",
                .origin = "qemu.log:7",
                .proves = "Sizes differ.",
                .cause = CAUSE_RAM_SIZE_MISMATCH,
                .side = SIDE_TARGET,
                .at_ms = 1700000000000},
               {.rule = "reset",
                .quote = "reset by peer",
                .origin = "call",
                .role = POINT_AGAINST,
                .cause = CAUSE_NETWORK_INTERRUPTED,
                .side = SIDE_SOURCE},
               {.rule = "wrap", .quote = "operation failed", .role = POINT_FALLOUT}},
    .n_numbers = 2,
    .numbers = {{.name = "elapsed_ms", .value = 1500, .unit = "ms"},
                {.name = "iteration", .value = 7}},
};

static void every_field_is_in_the_document(void **state)
{
    (void)state;
    OWNED(json_object) document = verdict_json(&sample, "case 1");
    assert_string_equal(
        json_object_to_json_string_ext(document,
                                       JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
        "{\"id\":\"case 1\",\"outcome\":\"failed\",\"plane\":\"data\","
        "\"family\":\"compatibility\","
        "\"cause\":\"ram-size-mismatch\",\"failed_at\":\"after-hand-off\",\"confidence\":0.89,"
        "\"family_confidence\":0.93,"
        "\"recoverable\":true,\"guest\":\"running-on-source\",\"irrecoverable\":false,"
        "\"evidence\":[{\"rule\":\"ram-size\",\"role\":\"for\",\"cause\":\"ram-size-mismatch\","
        "\"quote\":\"Length mismatch \\\"pc.ram\\\"\",\"origin\":\"qemu.log:7\","
        "\"side\":\"target\",\"at\":\"2023-11-14T22:13:20Z\",\"proves\":\"Sizes differ.\"}],"
        "\"counter_evidence\":[{\"rule\":\"reset\",\"role\":\"against\","
        "\"cause\":\"network-interrupted\",\"quote\":\"reset by peer\",\"origin\":\"call\","
        "\"side\":\"source\",\"proves\":\"\"},{\"rule\":\"wrap\",\"role\":\"fallout\","
        "\"cause\":\"none\",\"quote\":\"operation failed\",\"origin\":\"\",\"side\":\"unknown\","
        "\"proves\":\"\"}],\"numbers\":{\"elapsed_ms\":{\"value\":1500,\"unit\":\"ms\"},"
        "\"iteration\":{\"value\":7}},\"action\":\"Give both the same memory, retry.\","
        "\"runbook\":\"docs/vocabulary.md#causes-state\",\"rule\":\"ram-size\","
        "\"rules_version\":\"0123456789abcdef\"}");
}

static void what_is_not_known_is_said(void **state)
{
    (void)state;
    struct verdict verdict = {.cause = CAUSE_UNKNOWN, .action = "Read.", .plane = PLANE_CONTROL};
    OWNED(json_object) document = verdict_json(&verdict, NULL);
    assert_null(json_at(document, "id"));
    assert_string_equal(json_object_get_string(json_at(document, "outcome")), "unknown");
    assert_string_equal(json_object_get_string(json_at(document, "recoverable")), "unknown");
    assert_string_equal(json_object_get_string(json_at(document, "guest")), "unknown");
    assert_int_equal(json_object_array_length(json_at(document, "evidence")), 0);
    assert_int_equal(json_object_object_length(json_at(document, "numbers")), 0);
}

static void an_uncertain_cause_is_only_resembled(void **state)
{
    (void)state;
    struct verdict_names names = {.cause = "unknown-generic-error",
                                  .resembles = "block-copy-failed",
                                  .family = "storage",
                                  .plane = "data",
                                  .confidence = 0.42,
                                  .family_confidence = 0.6};
    char line[200];
    verdict_headline(&names, line, sizeof line);
    assert_string_equal(line, "not known; it resembles block-copy-failed (storage, data plane), "
                              "confidence 0.42");
    names.resembles = "";
    verdict_headline(&names, line, sizeof line);
    assert_string_equal(line, "not known; it points to storage (data plane), confidence 0.60");
    names.family = "unknown";
    verdict_headline(&names, line, sizeof line);
    assert_string_equal(line, "not known (data plane)");
    struct verdict verdict = {.cause = CAUSE_UNKNOWN,
                              .resembles = CAUSE_BLOCK_COPY_FAILED,
                              .action = "",
                              .plane = PLANE_DATA,
                              .confidence = 0.42};
    OWNED(json_object) document = verdict_json(&verdict, NULL);
    assert_string_equal(json_object_get_string(json_at(document, "resembles")),
                        "block-copy-failed");
    assert_string_equal(json_object_get_string(json_at(document, "action")), "");
}

static void the_page_says_cause_action_and_evidence(void **state)
{
    (void)state;
    static const char *const words[] = {
        "ram-size-mismatch (compatibility, data plane), confidence 0.89",
        "Give both the same memory, retry.",
        "qemu.log:7, target, rule ram-size: Sizes differ.",
        "rule reset (network-interrupted)",
        "rule wrap (fallout)",
        "1500 ms"};
    struct buf page;
    buf_init(&page, 1 << 16);
    verdict_page(&sample, "a\033[31mb", &page);
    assert_false(page.failed);
    for (size_t i = 0; i < COUNT(words); i++)
        if (strstr(page.data, words[i]) == NULL)
            fail_msg("not there: %s\n%s", words[i], page.data);
    assert_null(strchr(page.data, '\033'));
    buf_fini(&page);
}

TEST_FILE(test_verdict_json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_in_the_document),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(an_uncertain_cause_is_only_resembled),
        cmocka_unit_test(the_page_says_cause_action_and_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
