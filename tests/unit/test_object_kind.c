/* test_object_kind.c - the kinds of documents that people write, by name and by place. */
#include "tests/test.h"

#include "engine/model/objects/object.h"

static void each_kind_has_its_name_and_its_place(void **state)
{
    (void)state;
    static const struct {
        enum object_kind kind;
        const char *name;
        bool spaced;
    } rows[] = {
        {OBJECT_POLICY, "MigrationPolicy", false},
        {OBJECT_QUOTA, "ResourceQuota", true},
        {OBJECT_NAMESPACE, "Namespace", false},
        {OBJECT_NODE, "Node", false},
        {OBJECT_GUEST, "VirtualMachineInstance", true},
        {OBJECT_DRAIN, "Drain", false},
        {OBJECT_TOKEN, "Token", false},
    };
    assert_int_equal(COUNT(rows), OBJECT_COUNT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(object_kind_name(rows[i].kind), rows[i].name);
        assert_int_equal(object_kind_from_name(rows[i].name), rows[i].kind);
        assert_int_equal(object_kind_is_spaced(rows[i].kind), rows[i].spaced);
    }
    assert_int_equal(object_kind_from_name("drain"), OBJECT_COUNT);
    assert_int_equal(object_kind_from_name(""), OBJECT_COUNT);
}

TEST_FILE(test_object_kind)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_name_and_its_place),
    };
    return cmocka_run_group_tests_name("object_kind", tests, NULL, NULL);
}
