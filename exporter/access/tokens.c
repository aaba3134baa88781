/* tokens.c - see tokens.h. */
#include "exporter/access/tokens.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { SECRET_BYTES = 32, DIGEST_BYTES = 32 };

bool token_hash(const char *secret, char *out_hash)
{
    unsigned char digest[DIGEST_BYTES];
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, secret, strlen(secret), digest) != 0)
        return false;
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(out_hash + 2 * i, 3, "%02x", digest[i]);
    return true;
}

bool token_make(char *out_secret, char *out_hash, struct err *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[SECRET_BYTES + 1] = {0};
    if (gnutls_rnd(GNUTLS_RND_KEY, bytes, SECRET_BYTES) != 0)
        return err_set(err, ERR_INTERNAL, "no random numbers for a token");
    size_t n = (size_t)snprintf(out_secret, TOKEN_SECRET_MAX, TOKEN_PREFIX);
    for (size_t bit = 0; bit < SECRET_BYTES * 8; bit += 6) {
        unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
        out_secret[n++] = digits[pair >> (10 - bit % 8) & 63];
    }
    out_secret[n] = '\0';
    explicit_bzero(bytes, sizeof bytes);
    return token_hash(out_secret, out_hash) || err_set(err, ERR_INTERNAL, "no hash for a token");
}

const struct token *token_find(const struct token_table *table, const char *secret,
                               int64_t now_wall_ms)
{
    char hash[TOKEN_HASH_MAX];
    const struct token *found = NULL;
    if (table == NULL || !token_hash(secret, hash))
        return NULL;
    for (size_t i = 0; i < table->n; i++)
        if (gnutls_memcmp(table->tokens[i].hash, hash, sizeof hash) == 0)
            found = &table->tokens[i];
    if (found != NULL && found->expires_ms != 0 && found->expires_ms <= now_wall_ms)
        return NULL;
    return found;
}
