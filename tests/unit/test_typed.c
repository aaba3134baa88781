/* test_typed.c - facts that are read once: rates with units, versions, ends of processes, blocks.
 */
#include "tests/test.h"

#include <string.h>

#include "analyzer/judge/typed.h"
#include "base/own.h"

static const struct {
    const char *text;
    enum typed_key key;
    const char *value;
} texts[] = {
    {"dirty rate 300 MiB/s, bandwidth 100 MiB/s", TYPED_DIRTY_PCT, "300"},
    {"Dirty rate: 25600 pages/s; Memory bandwidth: 100.0 MiB/s", TYPED_DIRTY_PCT, "100"},
    {"throughput: 800 mbps, dirty rate: 50 MB/s", TYPED_DIRTY_PCT, "50"},
    {"dirty rate 300, bandwidth 100", TYPED_DIRTY_PCT, ""}, /* of what? */
    {"dirty pages rate is high", TYPED_DIRTY_PCT, ""},
    {"qemu terminated by signal 11", TYPED_DIED_OF, "crash"},
    {"qemu: terminating on signal 15 from pid 1", TYPED_DIED_OF, ""},
    {"container compute: exit code 137", TYPED_DIED_OF, "kill"},
    {"exit code 1", TYPED_DIED_OF, "exit"},
    {"exit status: 139", TYPED_DIED_OF, "crash"},
    {"Unknown ramblock \"0000:00:02.0/vga.vram\", cannot accept", TYPED_RAM_BLOCK, "device"},
    {"Unknown ramblock '/rom@etc/acpi/tables'", TYPED_RAM_BLOCK, "rom"},
    {"RAM block 'pc.ram' resized", TYPED_RAM_BLOCK, "system"},
    {"Unknown ramblock", TYPED_RAM_BLOCK, ""},
    {"", TYPED_RAM_BLOCK, ""},
};

static void texts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct typed typed = {0};
        typed_see(&typed, texts[i].text);
        typed_conclude(&typed);
        if (strcmp(typed.value[texts[i].key], texts[i].value) != 0)
            fail_msg("%s: %s=%s", texts[i].text, typed_key_name(texts[i].key),
                     typed.value[texts[i].key]);
    }
}

static void the_first_value_stays(void **state)
{
    (void)state;
    struct typed typed = {0};
    typed_see(&typed, "exit code 137");
    typed_see(&typed, "exit code 1");
    assert_string_equal(typed.value[TYPED_DIED_OF], "kill");
}

static void facts_have_units_too(void **state)
{
    (void)state;
    struct typed typed = {0};
    typed_see_fact(&typed, "dirty_rate", "2 Gbps");
    typed_see_fact(&typed, "bandwidth", "1000 Mbps");
    typed_conclude(&typed);
    assert_string_equal(typed.value[TYPED_DIRTY_PCT], "200");
}

static void versions_have_an_order(void **state)
{
    (void)state;
    assert_string_equal(typed_version_order("8.2.0", "8.10.0"), "target-newer");
    assert_string_equal(typed_version_order("QEMU 7.2", "qemu-kvm 6.2.0-40"), "target-older");
    assert_string_equal(typed_version_order("10.0.13", "10.0.13"), "equal");
    assert_null(typed_version_order("master", "8.0"));
}

TEST_FILE(test_typed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(the_first_value_stays),
        cmocka_unit_test(facts_have_units_too),
        cmocka_unit_test(versions_have_an_order),
    };
    return cmocka_run_group_tests_name("typed", tests, NULL, NULL);
}
