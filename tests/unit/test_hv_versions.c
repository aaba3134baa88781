/* test_hv_versions.c - laws over versions.def, and which versions have which quirk. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "hypervisor/versions.h"

static const struct {
    enum hv_quirk quirk;
    unsigned long libvirt, qemu;
    bool has;
} rows[] = {
    {HV_QUIRK_RESUME_KILLS_TARGET, 0, 0, false},
    {HV_QUIRK_RESUME_KILLS_TARGET, 9000000, 7002022, false},
    {HV_QUIRK_RESUME_KILLS_TARGET, 11001009, 10000000, false},
    {HV_QUIRK_RESUME_KILLS_TARGET, 11002000, 10000000, true},
    {HV_QUIRK_RESUME_KILLS_TARGET, 11003999, 0, true},
    {HV_QUIRK_RESUME_KILLS_TARGET, 11004000, 10000000, false},
    {HV_QUIRK_CANNOT_START, 9000000, 7002022, false},
    {HV_QUIRK_CANNOT_START, 11003000, 10002001, false},
    {HV_QUIRK_CANNOT_START, 11003000, 11000000, true},
    {HV_QUIRK_CANNOT_START, 9000000, 11001002, true},
    {HV_QUIRK_CANNOT_START, 11004000, 11000000, false},
    {HV_QUIRK_CANNOT_START, 12008000, 11001002, false},
    {HV_QUIRK_CANNOT_START, 0, 11001002, false}, /* not known */
    {HV_QUIRK_CANNOT_START, 9000000, 0, false},
    {HV_QUIRK_STORES_LIVE_DEFINITION, 9010000, 8000000, false},
    {HV_QUIRK_STORES_LIVE_DEFINITION, 10000000, 8000000, true},
    {HV_QUIRK_STORES_LIVE_DEFINITION, 10009000, 0, true},
    {HV_QUIRK_STORES_LIVE_DEFINITION, 10010000, 9000000, false},
    {HV_QUIRK_STATISTICS_FAIL, 12008000, 10001000, false},
    {HV_QUIRK_STATISTICS_FAIL, 12008000, 10002000, true},
    {HV_QUIRK_STATISTICS_FAIL, 0, 0, false},
    {HV_QUIRK_YANK_HANGS, 9000000, 7002022, true},
    {HV_QUIRK_YANK_HANGS, 12008000, 11000000, false},
    {HV_QUIRK_YANK_HANGS, 12008000, 0, false},
    {HV_QUIRK_NO_MT, 9000000, 7002022, false},
    {HV_QUIRK_NO_MT, 10009000, 9000004, false},
    {HV_QUIRK_NO_MT, 11003000, 9001000, true},
    {HV_QUIRK_NO_ZSTD, 9003000, 8000000, true},
    {HV_QUIRK_NO_ZSTD, 9004000, 7002022, false},
};

static void a_quirk_belongs_to_the_versions_of_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (hv_quirk_of(rows[i].quirk, rows[i].libvirt, rows[i].qemu) != rows[i].has)
            fail_msg("row %zu: %s", i, hv_quirk_name(rows[i].quirk));
}

static void versions_that_are_not_known_have_no_quirk(void **state)
{
    (void)state;
    for (int i = 0; i < HV_QUIRK_COUNT; i++)
        assert_false(hv_quirk_of((enum hv_quirk)i, 0, 0));
}

static void every_quirk_has_a_name_of_its_own_a_reason_and_a_way_around_it(void **state)
{
    (void)state;
    for (int i = 0; i < HV_QUIRK_COUNT; i++) {
        assert_true(strlen(hv_quirk_why((enum hv_quirk)i)) > 20);
        assert_true(strlen(hv_quirk_instead((enum hv_quirk)i)) > 20);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(hv_quirk_name((enum hv_quirk)i),
                                    hv_quirk_name((enum hv_quirk)j));
    }
}

static void a_host_is_asked_for_the_quirks_of_its_part_only(void **state)
{
    (void)state;
    struct hv_facts facts = {.libvirt_version = 11003000, .hypervisor_version = 11001000};
    assert_int_equal(hv_quirk_next(-1, &facts, HV_QUIRK_OF_SOURCE, HV_QUIRK_REFUSES),
                     HV_QUIRK_CANNOT_START);
    assert_int_equal(hv_quirk_next(-1, &facts, HV_QUIRK_OF_TARGET, HV_QUIRK_REFUSES),
                     HV_QUIRK_COUNT);
    assert_int_equal(hv_quirk_next(-1, &facts, HV_QUIRK_OF_TARGET, HV_QUIRK_NOTE),
                     HV_QUIRK_RESUME_KILLS_TARGET);
    assert_int_equal(hv_quirk_next(HV_QUIRK_RESUME_KILLS_TARGET, &facts, HV_QUIRK_OF_TARGET,
                                   HV_QUIRK_NOTE),
                     HV_QUIRK_COUNT);
    assert_int_equal(hv_quirk_next(HV_QUIRK_RESUME_KILLS_TARGET, &facts, HV_QUIRK_OF_EITHER,
                                   HV_QUIRK_NOTE),
                     HV_QUIRK_STATISTICS_FAIL);
}

static void only_a_newer_minor_version_is_newer_than_known(void **state)
{
    (void)state;
    struct hv_facts facts = {.libvirt_version = hv_newest_libvirt,
                             .hypervisor_version = hv_newest_qemu};
    assert_false(hv_is_newer_than_known(&facts));
    facts.hypervisor_version += 7;
    assert_false(hv_is_newer_than_known(&facts));
    facts.hypervisor_version += 1000;
    assert_true(hv_is_newer_than_known(&facts));
    facts = (struct hv_facts){.libvirt_version = hv_newest_libvirt + 1000};
    assert_true(hv_is_newer_than_known(&facts));
}

static void a_version_is_shown_as_its_parts(void **state)
{
    (void)state;
    char text[HV_VERSION_TEXT_MAX];
    hv_version_text(11003002, text);
    assert_string_equal(text, "11.3.2");
}

TEST_FILE(test_hv_versions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quirk_belongs_to_the_versions_of_its_row),
        cmocka_unit_test(versions_that_are_not_known_have_no_quirk),
        cmocka_unit_test(every_quirk_has_a_name_of_its_own_a_reason_and_a_way_around_it),
        cmocka_unit_test(a_host_is_asked_for_the_quirks_of_its_part_only),
        cmocka_unit_test(only_a_newer_minor_version_is_newer_than_known),
        cmocka_unit_test(a_version_is_shown_as_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
