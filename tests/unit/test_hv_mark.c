/* test_hv_mark.c - what is written into a guest is read back, and nothing else is taken for it. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "hypervisor/mark.h"

static const struct hv_mark whole = {.appliance = "df8db283adcdc558",
                                     .appliance_epoch = 1763443200,
                                     .job = "df1491ad-d710-4322-bf15-14522f4ccd68",
                                     .epoch = 3,
                                     .source = "h1",
                                     .target = "h2",
                                     .port = 49170};

static void assert_whole(const struct hv_mark *mark)
{
    assert_string_equal(mark->appliance, whole.appliance);
    assert_int_equal(mark->appliance_epoch, whole.appliance_epoch);
    assert_string_equal(mark->job, whole.job);
    assert_int_equal(mark->epoch, 3);
    assert_string_equal(mark->source, "h1");
    assert_string_equal(mark->target, "h2");
    assert_int_equal(mark->port, 49170);
}

static void a_mark_is_read_as_it_was_written(void **state)
{
    (void)state;
    char text[HV_MARK_TEXT_MAX], domain[2 * HV_MARK_TEXT_MAX];
    struct hv_mark mark;
    hv_mark_print(&whole, text);
    assert_true(hv_mark_parse(text, &mark));
    assert_whole(&mark);
    (void)snprintf(domain, sizeof domain,
                   "<domain><metadata><f:guest xmlns:f='urn:ferry:domain:1'/>"
                   "<m:migration xmlns:m='" HV_MARK_URI "'%s</metadata></domain>",
                   text + strlen("<migration"));
    assert_true(hv_mark_parse(domain, &mark));
    assert_whole(&mark);
}

static void xml_without_a_whole_mark_has_no_mark(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "<domain/>",
        "<domain><metadata/></domain>",
        "<domain><metadata><migration appliance='a' applianceEpoch='1' "
        "job='j'/></metadata></domain>",
        "<domain><metadata><x:migration xmlns:x='urn:other' appliance='a' applianceEpoch='1' "
        "job='j'/></metadata></domain>",
        "<migration appliance='' applianceEpoch='1' job='j'/>",
        "<migration appliance='a' applianceEpoch='1'/>",
        "<migration applianceEpoch='1' appliance='a234567890123456789012345678901234567890' "
        "job='j'/>",
        "<migration applianceEpoch='1' appliance='a' job='j'",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hv_mark mark = whole;
        assert_false(hv_mark_parse(texts[i], &mark));
        assert_string_equal(mark.job, "");
    }
    struct hv_mark mark = whole;
    assert_false(hv_mark_parse(NULL, &mark));
}

static void odd_names_do_not_break_the_element(void **state)
{
    (void)state;
    char text[HV_MARK_TEXT_MAX];
    struct hv_mark odd = whole, mark;
    (void)snprintf(odd.source, sizeof odd.source, "h'1<&>");
    hv_mark_print(&odd, text);
    assert_true(hv_mark_parse(text, &mark));
    assert_string_equal(mark.source, "");
    assert_string_equal(mark.target, "h2");
    assert_true(hv_mark_parse("<migration applianceEpoch='-1' epoch='x' port='70000' appliance='a' "
                              "job='j'/>",
                              &mark));
    assert_int_equal(mark.appliance_epoch + mark.epoch + mark.port, 0);
}

TEST_FILE(test_hv_mark)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_is_read_as_it_was_written),
        cmocka_unit_test(xml_without_a_whole_mark_has_no_mark),
        cmocka_unit_test(odd_names_do_not_break_the_element),
    };
    return cmocka_run_group_tests_name("hv_mark", tests, NULL, NULL);
}
