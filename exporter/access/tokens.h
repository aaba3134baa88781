/* tokens.h - bearer tokens: 256 random bits for the client, their SHA-256 for Ferry.
 *
 * A token is an object (`ferry token list`); a table of them is made from the snapshot whenever
 * they change. Comparing takes the same time for all. */
#ifndef EXPORTER_ACCESS_TOKENS_H
#define EXPORTER_ACCESS_TOKENS_H

#include <stdint.h>

#include "base/err.h"
#include "exporter/access/identity.h"

enum { TOKEN_SECRET_MAX = 64, TOKEN_HASH_MAX = 65, TOKENS_MAX = 1000 };
#define TOKEN_PREFIX "ferry_"

/* A new secret, "ferry_" and 43 characters, and its hash in hexadecimal digits. */
bool token_make(char *out_secret, char *out_hash, struct err *err);
/* The hash of a secret (TOKEN_HASH_MAX). */
bool token_hash(const char *secret, char *out_hash);

struct token {
    char name[ACCESS_NAME_MAX], hash[TOKEN_HASH_MAX], ns[ACCESS_NAMESPACE_MAX];
    enum access_role role;
    int64_t expires_ms; /* 0: never */
};
struct token_table {
    size_t n;
    uint64_t version; /* of the objects it was made from */
    struct token tokens[];
};
/* The token of a secret that has not expired; NULL: none. */
const struct token *token_find(const struct token_table *table, const char *secret,
                               int64_t now_wall_ms);

#endif
