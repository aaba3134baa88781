/* test_hash.c - the values of hash.h: stored ones are compared with them, so they never change. */
#include "tests/test.h"

#include "base/hash.h"
#include "base/own.h"

/* The published vectors of FNV-1a with 64 bits. */
static void text_has_the_published_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t hash;
    } known[] = {
        {"", UINT64_C(0xcbf29ce484222325)},       {"a", UINT64_C(0xaf63dc4c8601ec8c)},
        {"b", UINT64_C(0xaf63df4c8601f1a5)},      {"fo", UINT64_C(0x08985907b541d342)},
        {"foob", UINT64_C(0xdd120e790c2512af)},   {"fooba", UINT64_C(0xcac165afa2fef40a)},
        {"foobar", UINT64_C(0x85944171f73967e8)},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        assert_true(hash_text(HASH_START, known[i].text) == known[i].hash);
}

static void bytes_above_127_are_not_signed(void **state)
{
    (void)state;
    assert_true(hash_text(HASH_START, "\xff") == hash_step(HASH_START, 0xff));
    assert_true(hash_bytes(HASH_START, "\x80", 1) == hash_step(HASH_START, 0x80));
}

static void hash_word_ends_its_text_and_hash_text_does_not(void **state)
{
    (void)state;
    assert_true(hash_text(hash_text(HASH_START, "foo"), "bar") == hash_text(HASH_START, "foobar"));
    assert_true(hash_word(HASH_START, "foobar") == UINT64_C(0x34531ca7168b8f38));
    assert_true(hash_word(HASH_START, "") == hash_step(HASH_START, 0));
    assert_true(hash_word(hash_word(HASH_START, "a"), "bc") !=
                hash_word(hash_word(HASH_START, "ab"), "c"));
}

static void a_number_is_its_bytes(void **state)
{
    (void)state;
    const unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    assert_true(hash_number(HASH_START, number) == hash_bytes(HASH_START, bytes, sizeof bytes));
    assert_true(hash_step(HASH_START, 300) != hash_step(HASH_START, 300 & 0xff));
}

TEST_FILE(test_hash)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_the_published_values),
        cmocka_unit_test(bytes_above_127_are_not_signed),
        cmocka_unit_test(hash_word_ends_its_text_and_hash_text_does_not),
        cmocka_unit_test(a_number_is_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
