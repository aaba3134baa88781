/* password.h - checks passwords against bcrypt hashes without letting that cost much.
 *
 * A password that was right is remembered (as an HMAC with a key of this process) for ten minutes.
 * One hash is computed at a time; each address may be wrong a few times, then once a second. An
 * unknown user costs as much as a known one. Any thread. */
#ifndef EXPORTER_ACCESS_PASSWORD_H
#define EXPORTER_ACCESS_PASSWORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

enum password_result {
    PASSWORD_RIGHT,
    PASSWORD_WRONG,
    PASSWORD_UNKNOWN, /* not remembered; ask again with may_hash, on a thread that may wait */
    PASSWORD_BUSY,    /* too many tries: later */
};

struct password;
struct password *password_new(struct err *err);
void password_free(struct password *password); /* NULL is fine */
DEFINE_OWNED(password)
struct password_try {
    const char *user, *secret, *address;
    const char *hash; /* bcrypt's, of the user; NULL: there is no such user */
    int64_t now_ms;   /* monotonic */
    bool may_hash;
};
enum password_result password_check(struct password *password, const struct password_try *attempt);

#endif
