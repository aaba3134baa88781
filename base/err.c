/* err.c - see err.h. */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int http, exit;
} codes[ERR_COUNT] = {
#define ERR(id, name, http, exit, help) [ERR_##id] = {name, http, exit},
#include "base/err.def"
#undef ERR
};

bool err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    assert(err != NULL);
    assert(err->code == ERR_NONE);
    assert(code > ERR_NONE && code < ERR_COUNT);

    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, args); /* a cut text is fine */
    va_end(args);
    err->code = code;
    return false;
}

bool err_wrap(struct err *err, const char *fmt, ...)
{
    assert(err->code != ERR_NONE);

    char inner[ERR_TEXT_MAX];
    memcpy(inner, err->text, sizeof inner);
    va_list args;
    va_start(args, fmt);
    int used = vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->text)
        (void)snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", inner);
    return false;
}

const char *err_name(enum err_code code)
{
    assert(code < ERR_COUNT);
    return codes[code].name;
}

enum err_code err_from_name(const char *name)
{
    for (enum err_code code = ERR_NONE; code < ERR_COUNT; code++)
        if (strcmp(codes[code].name, name) == 0)
            return code;
    return ERR_COUNT;
}

int err_http_status(enum err_code code)
{
    assert(code < ERR_COUNT);
    return codes[code].http;
}

int err_exit_status(enum err_code code)
{
    assert(code < ERR_COUNT);
    return codes[code].exit;
}
