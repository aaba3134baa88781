/* test_api_tokens.c - bearer tokens: a secret is found by its hash until it expires. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "exporter/access/tokens.h"

static struct token_table *table_of(int64_t expires_ms, char *out_secret)
{
    struct err err = {0};
    struct token_table *table = calloc(1, sizeof *table + sizeof table->tokens[0]);
    assert_non_null(table);
    table->n = 1;
    table->tokens[0].expires_ms = expires_ms;
    assert_true(token_make(out_secret, table->tokens[0].hash, &err));
    return table;
}

static void a_token_is_valid_until_it_expires(void **state)
{
    (void)state;
    char secret[TOKEN_SECRET_MAX];
    struct token_table *table = table_of(5000, secret);
    assert_ptr_equal(token_find(table, secret, 4999), &table->tokens[0]);
    assert_null(token_find(table, secret, 5000));
    assert_null(token_find(table, secret, INT64_MAX));
    free(table);
}

static void a_token_without_expiry_stays_valid(void **state)
{
    (void)state;
    char secret[TOKEN_SECRET_MAX];
    struct token_table *table = table_of(0, secret);
    assert_non_null(token_find(table, secret, INT64_MAX));
    free(table);
}

static void another_secret_finds_no_token(void **state)
{
    (void)state;
    char secret[TOKEN_SECRET_MAX], other[TOKEN_SECRET_MAX], hash[TOKEN_HASH_MAX];
    struct err err = {0};
    struct token_table *table = table_of(0, secret);
    assert_true(token_make(other, hash, &err));
    assert_string_not_equal(secret, other);
    assert_null(token_find(table, other, 1));
    assert_null(token_find(table, table->tokens[0].hash, 1)); /* what the store has is no secret */
    assert_null(token_find(table, "", 1));
    assert_null(token_find(NULL, secret, 1));
    free(table);
}

TEST_FILE(test_api_tokens)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_valid_until_it_expires),
        cmocka_unit_test(a_token_without_expiry_stays_valid),
        cmocka_unit_test(another_secret_finds_no_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
