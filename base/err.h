/* err.h - one failure, as facts.
 *
 * Caller-owned, last parameter of everything that can fail, never NULL, empty on entry.
 * A hypervisor's own error is kept as number, domain and text, copied at once; decisions
 * read code and hv_*, never the text.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

enum err_code {
#define ERR(id, name, http, exit, help) ERR_##id,
#include "base/err.def"
#undef ERR
    ERR_COUNT
};

enum { ERR_TEXT_MAX = 1024 };

struct err {
    enum err_code code;
    int hv_domain, hv_code; /* libvirt's virErrorDomain and virErrorNumber, else 0 */
    char text[ERR_TEXT_MAX];
};

/* Records a failure and returns false, so that one line fails: `return err_set(err, ERR_LIMIT,
 * "...")`. The first failure wins: setting an err that already holds one is a bug. Long text is
 * cut. */
bool err_set(struct err *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text of a failure that is already set; returns false. */
bool err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *err_name(enum err_code code);
enum err_code err_from_name(const char *name); /* ERR_COUNT when there is none */
int err_http_status(enum err_code code);
int err_exit_status(enum err_code code);

#endif
