/* fuzz.c - see fuzz.h. */
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fputs("law broken: ", stderr);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    abort();
}

char *fuzz_text(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    if (text == NULL)
        abort();
    if (n > 0)
        memcpy(text, data, n);
    text[n] = '\0';
    return text;
}

uint8_t fuzz_byte(struct fuzz_bytes *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

uint64_t fuzz_u64(struct fuzz_bytes *in)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | fuzz_byte(in);
    return value;
}
