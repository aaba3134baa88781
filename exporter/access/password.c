/* password.c - see password.h. */
#include "exporter/access/password.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
    DIGEST = 32,
    REMEMBERED_MAX = 64,
    REMEMBERED_MS = 10 * 60 * 1000,
    ADDRESSES_MAX = 256,
    TRIES_BURST = 5,
    TRY_MS = 1000, /* one more try */
};

struct password {
    pthread_mutex_t lock; /* the rest */
    unsigned char key[DIGEST];
    struct remembered {
        unsigned char digest[DIGEST];
        int64_t until_ms;
    } right[REMEMBERED_MAX];
    size_t next;
    /* Wrong tries of addresses with this hash; full when now is before full_ms. */
    int64_t wrong_ms[ADDRESSES_MAX];
    bool is_hashing;
};

struct password *password_new(struct err *err)
{
    struct password *password = calloc(1, sizeof *password);
    if (password == NULL || gnutls_rnd(GNUTLS_RND_KEY, password->key, DIGEST) != 0) {
        free(password);
        (void)err_set(err, ERR_NOMEM, "no memory for passwords");
        return NULL;
    }
    (void)pthread_mutex_init(&password->lock, NULL);
    return password;
}

void password_free(struct password *password)
{
    if (password == NULL)
        return;
    (void)pthread_mutex_destroy(&password->lock);
    explicit_bzero(password, sizeof *password);
    free(password);
}

/* Of user, hash and secret: a changed hash forgets. */
static bool digest_of(const struct password *password, const char *user, const char *hash,
                      const char *secret, unsigned char *out)
{
    gnutls_hmac_hd_t hmac;
    if (gnutls_hmac_init(&hmac, GNUTLS_MAC_SHA256, password->key, DIGEST) != 0)
        return false;
    bool done = gnutls_hmac(hmac, user, strlen(user) + 1) == 0 &&
                gnutls_hmac(hmac, hash, strlen(hash) + 1) == 0 &&
                gnutls_hmac(hmac, secret, strlen(secret)) == 0;
    gnutls_hmac_deinit(hmac, out);
    return done;
}

static bool is_remembered(const struct password *password, const unsigned char *digest,
                          int64_t now_ms)
{
    bool found = false;
    for (size_t i = 0; i < REMEMBERED_MAX; i++)
        found = found || (password->right[i].until_ms > now_ms &&
                          gnutls_memcmp(password->right[i].digest, digest, DIGEST) == 0);
    return found;
}

static void remember(struct password *password, const unsigned char *digest, int64_t now_ms)
{
    struct remembered *row = &password->right[password->next++ % REMEMBERED_MAX];
    memcpy(row->digest, digest, DIGEST);
    row->until_ms = now_ms + REMEMBERED_MS;
}

static int64_t *wrong_of(struct password *password, const char *address)
{
    return &password->wrong_ms[hash_text(HASH_START, address) % ADDRESSES_MAX];
}

/* A leaky bucket as one time: each wrong try moves it TRY_MS on. */
static bool may_try(struct password *password, const struct password_try *attempt)
{
    int64_t *wrong = wrong_of(password, attempt->address);
    if (password->is_hashing || *wrong > attempt->now_ms + (TRIES_BURST - 1) * TRY_MS)
        return false;
    *wrong = (*wrong > attempt->now_ms ? *wrong : attempt->now_ms) + TRY_MS;
    password->is_hashing = true;
    return true;
}

static bool hash_matches(const char *secret, const char *hash)
{
    struct crypt_data *data = calloc(1, sizeof *data);
    const char *made = data == NULL ? NULL : crypt_r(secret, hash, data);
    bool same = made != NULL && strlen(made) == strlen(hash) &&
                gnutls_memcmp(made, hash, strlen(hash)) == 0;
    if (data != NULL)
        explicit_bzero(data, sizeof *data);
    free(data);
    return same;
}

enum password_result password_check(struct password *password, const struct password_try *attempt)
{
    /* Of nobody's password; computed for users that do not exist. */
    static const char nobody[] = "$2b$10$abcdefghijklmnopqrstuuSGbYN6Uf9aX8lQ7nD2DVTzgXzGkqzu2";
    bool is_known = attempt->hash != NULL;
    const char *hash = is_known ? attempt->hash : nobody;
    unsigned char digest[DIGEST];
    if (!digest_of(password, attempt->user, hash, attempt->secret, digest))
        return PASSWORD_BUSY;
    (void)pthread_mutex_lock(&password->lock);
    bool is_right = is_known && is_remembered(password, digest, attempt->now_ms);
    bool may = !is_right && attempt->may_hash && may_try(password, attempt);
    (void)pthread_mutex_unlock(&password->lock);
    if (is_right)
        return PASSWORD_RIGHT;
    if (!attempt->may_hash)
        return PASSWORD_UNKNOWN;
    if (!may)
        return PASSWORD_BUSY;
    is_right = hash_matches(attempt->secret, hash) && is_known;
    (void)pthread_mutex_lock(&password->lock);
    password->is_hashing = false;
    if (is_right) {
        remember(password, digest, attempt->now_ms);
        *wrong_of(password, attempt->address) -= TRY_MS;
    }
    (void)pthread_mutex_unlock(&password->lock);
    return is_right ? PASSWORD_RIGHT : PASSWORD_WRONG;
}
