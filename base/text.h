/* text.h - bounded text: copies that report truncation, and one growing buffer with a limit.
 *
 * struct buf is for building pages and statements: init with a maximum, append, check `failed` once
 * at the end. After the limit or a failed allocation every append is a no-op.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies into a fixed array and always terminates; never cuts inside a UTF-8 character, NULL
 * copies as "". False when it had to cut. */
bool text_copy(char *out, size_t out_bytes, const char *text);
#define TEXT_SET(array, text) ((void)text_copy((array), sizeof(array), (text)))

bool text_equal(const char *a, const char *b); /* NULL equals only NULL */
bool text_has_prefix(const char *text, const char *prefix);
/* Lower case letters, digits and '-', 1..63 long, as Kubernetes names are. */
bool text_is_dns_label(const char *text);
/* Whole text is one decimal number in range. */
bool text_to_i64(const char *text, int64_t min, int64_t max, int64_t *out_value);
/* The candidate nearest to word by edits, NULL when none is near: for "did you mean". */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);

/* Bytes of the well-formed UTF-8 character at text; 0 for the end or for a byte that starts none:
 * bytes from hosts may not be UTF-8. */
size_t text_utf8_bytes(const char *text);

/* Bytes of a character at text that a terminal may obey instead of show: control characters (also
 * C1, as UTF-8 or as a lone byte) and marks that change the direction of writing; 0: harmless.
 * *out_code: the character. */
size_t text_unsafe_bytes(const char *text, unsigned *out_code);

struct buf {
    char *data; /* terminated whenever not NULL */
    size_t length, capacity, limit;
    bool failed;
};

void buf_init(struct buf *buf, size_t limit);
void buf_fini(struct buf *buf);
void buf_add(struct buf *buf, const char *text);
void buf_add_bytes(struct buf *buf, const char *bytes, size_t n);
void buf_addf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* For writers of many small pieces: room for n bytes at the end, NULL when there is none; then how
 * many of them were written. */
char *buf_room(struct buf *buf, size_t n);
void buf_wrote(struct buf *buf, size_t n);
/* Hands out the text (caller frees, "" when nothing was added) and leaves the buffer empty and
 * usable; NULL when it failed. */
char *buf_take(struct buf *buf);

#endif
