/* golden.h - a page against its recorded copy in tests/golden/. UPDATE=1 records it anew, for a
 * reviewer to read in the diff. Run from the project's root. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

static inline char *file_text(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    struct buf out;
    buf_init(&out, 1 << 20);
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        buf_add_bytes(&out, part, n);
    (void)fclose(file);
    return buf_take(&out);
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline void assert_golden(const char *page, const char *path)
{
    if (getenv("UPDATE") != NULL)
        write_file(path, page);
    OWNED_TEXT recorded = file_text(path);
    assert_non_null(recorded);
    assert_string_equal(page, recorded);
}

#endif
