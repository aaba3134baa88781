/* json.c - see json.h.
 *
 * The parser is Ferry's own and builds json-c values: json-c's parser keeps the last of two equal
 * keys, accepts NaN and single quotes, and reports an offset instead of a line. One pass, no
 * recursion deeper than JSON_DEPTH_MAX, nothing allocated but the values themselves.
 */
#include "base/json.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

struct reader {
    const char *text, *at, *end, *where;
    int line, column; /* of the text's first character */
    int depth;
    struct err *err;
};

static bool read_value(struct reader *r, struct json_object **out_value);

/* Fails at `at`: lines and columns are counted only on failure. */
static bool fail_at(struct reader *r, const char *at, const char *what)
{
    int line = r->line, column = r->column;
    for (const char *c = r->text; c < at; c++) {
        if (*c == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80)
            column++;
    }
    return err_set(r->err, ERR_INVALID, "%s: line %d column %d: %s", r->where, line, column, what);
}

static bool fail(struct reader *r, const char *what)
{
    return fail_at(r, r->at, r->at >= r->end ? "the text ends too early" : what);
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && memchr(" \t\r\n", *r->at, 4) != NULL)
        r->at++;
}

static bool no_memory(struct reader *r)
{
    return err_set(r->err, ERR_NOMEM, "%s: no memory for a JSON value", r->where);
}

/* Four hexadecimal digits. */
static bool read_hex4(struct reader *r, unsigned *out_code)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = peek(r);
        if (c >= '0' && c <= '9')
            code = code * 16 + (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            code = code * 16 + (unsigned)((c | 0x20) - 'a' + 10);
        else
            return fail(r, "expected four hexadecimal digits after \\u");
    }
    *out_code = code;
    return true;
}

static void add_utf8(struct buf *out, unsigned code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x80)
        bytes[n++] = (char)code;
    else if (code < 0x800)
        bytes[n++] = (char)(0xC0 | code >> 6);
    else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[n++] = (char)(0xF0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80)
        bytes[n++] = (char)(0x80 | (code & 0x3F));
    buf_add_bytes(out, bytes, n);
}

/* After "\u": one character, written as one or, above U+FFFF, two escapes. */
static bool read_unicode(struct reader *r, struct buf *out)
{
    const char *start = r->at - 2;
    unsigned code, low;
    if (!read_hex4(r, &code))
        return false;
    if (code == 0)
        return fail_at(r, start, "a zero character is not allowed in text");
    if (code >= 0xD800 && code <= 0xDFFF) {
        bool has_pair = code <= 0xDBFF && r->end - r->at >= 2 && memcmp(r->at, "\\u", 2) == 0;
        if (!has_pair)
            return fail_at(r, start, "half of a surrogate pair");
        r->at += 2;
        if (!read_hex4(r, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return fail_at(r, start, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    add_utf8(out, code);
    return true;
}

static bool read_escape(struct reader *r, struct buf *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    r->at++;
    char c = peek(r);
    const char *found = c == '\0' ? NULL : strchr(names, c);
    if (c != 'u' && found == NULL)
        return fail(r, "no such escape");
    r->at++;
    if (c == 'u')
        return read_unicode(r, out);
    buf_add_bytes(out, values + (found - names), 1);
    return true;
}

/* Bytes that need no escape: most of any text. */
static size_t plain_run(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
        at++;
    return (size_t)(at - start);
}

static bool read_characters(struct reader *r, struct buf *out)
{
    r->at++; /* the opening quote */
    while (peek(r) != '"') {
        if (r->at >= r->end || (unsigned char)*r->at < 0x20)
            return fail(r, "a control character in text; write it as an escape");
        if (*r->at == '\\') {
            if (!read_escape(r, out))
                return false;
            continue;
        }
        size_t plain = plain_run(r->at, r->end);
        if (plain > 0) {
            buf_add_bytes(out, r->at, plain);
            r->at += plain;
            continue;
        }
        size_t bytes = text_utf8_bytes(r->at); /* safe at the end: the text is terminated */
        if (bytes == 0 || bytes > (size_t)(r->end - r->at))
            return fail(r, "not UTF-8");
        buf_add_bytes(out, r->at, bytes);
        r->at += bytes;
    }
    r->at++;
    return true;
}

/* A quoted text; the caller frees it. */
static bool read_text(struct reader *r, char **out_text)
{
    struct buf out;
    buf_init(&out, JSON_BYTES_MAX);
    bool is_fine = read_characters(r, &out);
    char *text = is_fine ? buf_take(&out) : NULL;
    buf_fini(&out);
    if (is_fine && text == NULL)
        return no_memory(r);
    *out_text = text;
    return is_fine;
}

static size_t skip_digits(struct reader *r)
{
    const char *start = r->at;
    while (peek(r) >= '0' && peek(r) <= '9')
        r->at++;
    return (size_t)(r->at - start);
}

/* Whole numbers keep 64 bits, unsigned ones too; the rest is a double that prints as written. */
static struct json_object *number_from(const char *digits, bool is_whole)
{
    errno = 0;
    if (is_whole) {
        long long value = strtoll(digits, NULL, 10);
        if (errno == 0)
            return json_object_new_int64(value);
        errno = 0;
        unsigned long long big = strtoull(digits, NULL, 10);
        if (errno == 0 && *digits != '-')
            return json_object_new_uint64(big);
    }
    return json_object_new_double_s(strtod(digits, NULL), digits);
}

static bool read_number(struct reader *r, struct json_object **out_value)
{
    enum { NUMBER_MAX = 64 };
    const char *start = r->at;
    bool is_whole = true;
    r->at += peek(r) == '-';
    bool has_zero = peek(r) == '0';
    size_t n = skip_digits(r);
    if (n == 0 || (has_zero && n > 1))
        return fail_at(r, start, n == 0 ? "not a JSON value" : "a number with a leading zero");
    if (peek(r) == '.') {
        is_whole = false;
        r->at++;
        if (skip_digits(r) == 0)
            return fail(r, "expected digits after the point");
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        is_whole = false;
        r->at++;
        r->at += peek(r) == '+' || peek(r) == '-';
        if (skip_digits(r) == 0)
            return fail(r, "expected digits in the exponent");
    }
    char digits[NUMBER_MAX];
    size_t length = (size_t)(r->at - start);
    if (length >= sizeof digits)
        return fail_at(r, start, "a number too long");
    memcpy(digits, start, length);
    digits[length] = '\0';
    if (!is_whole && (strtod(digits, NULL) > 1e308 || strtod(digits, NULL) < -1e308))
        return fail_at(r, start, "a number too large");
    *out_value = number_from(digits, is_whole);
    return *out_value != NULL || no_memory(r);
}

/* One '"key": value' of an object. */
static bool read_member(struct reader *r, struct json_object *object)
{
    const char *start = r->at;
    OWNED_TEXT key = NULL;
    if (peek(r) != '"')
        return fail(r, "expected a key in double quotes");
    if (!read_text(r, &key))
        return false;
    if (json_object_object_get_ex(object, key, NULL))
        return fail_at(r, start, "duplicate key");
    skip_space(r);
    if (peek(r) != ':')
        return fail(r, "expected ':' after the key");
    r->at++;
    struct json_object *value = NULL;
    if (!read_value(r, &value))
        return false;
    if (json_object_object_add(object, key, value) != 0) {
        json_object_free(value);
        return no_memory(r);
    }
    return true;
}

static bool read_element(struct reader *r, struct json_object *array)
{
    struct json_object *value = NULL;
    if (!read_value(r, &value))
        return false;
    if (json_object_array_add(array, value) != 0) {
        json_object_free(value);
        return no_memory(r);
    }
    return true;
}

/* The inside of {...} or [...], commas and the closing bracket included. */
static bool read_items(struct reader *r, struct json_object *into, char close)
{
    bool is_object = close == '}';
    r->at++;
    skip_space(r);
    if (peek(r) == close) {
        r->at++;
        return true;
    }
    for (;;) {
        skip_space(r);
        if (!(is_object ? read_member(r, into) : read_element(r, into)))
            return false;
        skip_space(r);
        char c = peek(r);
        if (c != ',' && c != close)
            return fail(r, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
        r->at++;
        if (c == close)
            return true;
    }
}

static bool read_container(struct reader *r, bool is_object, struct json_object **out_value)
{
    if (r->depth >= JSON_DEPTH_MAX)
        return fail(r, "nested too deep");
    OWNED(json_object) into = is_object ? json_object_new_object() : json_object_new_array();
    if (into == NULL)
        return no_memory(r);
    r->depth++;
    bool is_fine = read_items(r, into, is_object ? '}' : ']');
    r->depth--;
    if (is_fine)
        *out_value = TAKE(into);
    return is_fine;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool read_value(struct reader *r, struct json_object **out_value)
{
    skip_space(r);
    char c = peek(r);
    if (c == '{' || c == '[')
        return read_container(r, c == '{', out_value);
    if (c == '"') {
        OWNED_TEXT text = NULL;
        if (!read_text(r, &text))
            return false;
        *out_value = json_object_new_string(text);
        return *out_value != NULL || no_memory(r);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(r, out_value);
    if (take_word(r, "null")) {
        *out_value = NULL; /* json-c's null */
        return true;
    }
    bool is_true = take_word(r, "true");
    if (!is_true && !take_word(r, "false"))
        return fail(r, c == '\'' ? "text needs double quotes" : "not a JSON value");
    *out_value = json_object_new_boolean(is_true);
    return *out_value != NULL || no_memory(r);
}

struct json_object *json_parse(const char *text, size_t n, const char *where, struct err *err)
{
    return json_parse_part(text, n, where, 1, 1, err);
}

struct json_object *json_parse_part(const char *text, size_t n, const char *where, int line,
                                    int column, struct err *err)
{
    if (n > JSON_BYTES_MAX) {
        err_set(err, ERR_INVALID, "%s: line %d column %d: %zu bytes, more than %d", where, line,
                column, n, JSON_BYTES_MAX);
        return NULL;
    }
    /* A terminated copy, so that reading one character ahead stays in bounds. */
    OWNED_TEXT copy = malloc(n + 1);
    if (copy == NULL) {
        err_set(err, ERR_NOMEM, "%s: no memory for %zu bytes", where, n);
        return NULL;
    }
    if (n > 0)
        memcpy(copy, text, n);
    copy[n] = '\0';

    struct reader r = {.text = copy,
                       .at = copy,
                       .end = copy + n,
                       .where = where,
                       .line = line,
                       .column = column,
                       .err = err};
    OWNED(json_object) value = NULL;
    if (!read_value(&r, &value))
        return NULL;
    skip_space(&r);
    if (r.at < r.end) {
        fail(&r, "text after the end of the document");
        return NULL;
    }
    if (value == NULL) /* NULL means failure, so a bare null cannot be returned */
        fail_at(&r, copy, "the document is null");
    return TAKE(value);
}

static const char *kind_name(struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null: return "nothing";
    case json_type_boolean: return "a boolean";
    case json_type_double: return "a fraction";
    case json_type_int: return "a number";
    case json_type_object: return "an object";
    case json_type_array: return "a list";
    case json_type_string: return "a string";
    }
    return "something else";
}

/* Walks a dotted path. NULL when a part is missing. When a part has no members at all, *out_wrong
 * is that part and *out_wrong_at the number of characters of path that lead to it. */
static struct json_object *walk(struct json_object *object, const char *path,
                                struct json_object **out_wrong, size_t *out_wrong_at)
{
    char part[128];
    const char *at = path;
    *out_wrong = NULL;
    while (object != NULL) {
        size_t n = strcspn(at, ".");
        if (n >= sizeof part)
            return NULL;
        memcpy(part, at, n);
        part[n] = '\0';
        struct json_object *member = NULL;
        int64_t index = 0;
        if (json_object_is_type(object, json_type_object))
            (void)json_object_object_get_ex(object, part, &member);
        else if (json_object_is_type(object, json_type_array) &&
                 text_to_i64(part, 0, INT32_MAX, &index))
            member = json_object_array_get_idx(object, (size_t)index);
        else {
            *out_wrong = object;
            *out_wrong_at = at > path ? (size_t)(at - path) - 1 : 0;
            return NULL;
        }
        if (at[n] == '\0')
            return member;
        object = member;
        at += n + 1;
    }
    return NULL;
}

struct json_object *json_at(struct json_object *object, const char *path)
{
    struct json_object *wrong;
    size_t wrong_at;
    return walk(object, path, &wrong, &wrong_at);
}

/* True with *out_member NULL when it is missing or null. */
static bool get(struct json_object *object, const char *path, json_type type, const char *wanted,
                struct json_object **out_member, struct err *err)
{
    struct json_object *wrong;
    size_t wrong_at;
    struct json_object *member = walk(object, path, &wrong, &wrong_at);
    if (wrong != NULL)
        return err_set(err, ERR_INVALID, "%.*s%sexpected an object, found %s", (int)wrong_at, path,
                       wrong_at > 0 ? ": " : "", kind_name(wrong));
    if (member != NULL && !json_object_is_type(member, type))
        return err_set(err, ERR_INVALID, "%s: expected %s, found %s", path, wanted,
                       kind_name(member));
    *out_member = member;
    return true;
}

bool json_get_text(struct json_object *object, const char *path, const char *fallback,
                   const char **out_text, struct err *err)
{
    struct json_object *member;
    if (!get(object, path, json_type_string, "a string", &member, err))
        return false;
    *out_text = member == NULL ? fallback : json_object_get_string(member);
    return true;
}

bool json_get_i64(struct json_object *object, const char *path, int64_t fallback,
                  int64_t *out_value, struct err *err)
{
    struct json_object *member;
    if (!get(object, path, json_type_int, "a whole number", &member, err))
        return false;
    if (member != NULL && json_object_get_uint64(member) > INT64_MAX)
        return err_set(err, ERR_INVALID, "%s: the number is too large", path);
    *out_value = member == NULL ? fallback : json_object_get_int64(member);
    return true;
}

bool json_get_bool(struct json_object *object, const char *path, bool fallback, bool *out_value,
                   struct err *err)
{
    struct json_object *member;
    if (!get(object, path, json_type_boolean, "true or false", &member, err))
        return false;
    *out_value = member == NULL ? fallback : json_object_get_boolean(member) != 0;
    return true;
}

/* False when it could not be added; the value is freed then. */
static bool add(struct json_object *object, const char *key, struct json_object *take_value)
{
    int failed = -1;
    if (json_object_is_type(object, json_type_array))
        failed = json_object_array_add(object, take_value);
    else if (object != NULL)
        failed = json_object_object_add(object, key, take_value);
    if (failed != 0)
        json_object_free(take_value);
    return failed == 0;
}

void json_add(struct json_object *object, const char *key, struct json_object *take_value)
{
    (void)add(object, key, take_value);
}

/* The text with every byte that is not UTF-8 replaced by U+FFFD; NULL when memory is short. */
static struct json_object *clean_text(const char *text)
{
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    while (*text != '\0') {
        size_t bytes = text_utf8_bytes(text);
        if (bytes == 0)
            buf_add(&out, "\xEF\xBF\xBD");
        else
            buf_add_bytes(&out, text, bytes);
        text += bytes == 0 ? 1 : bytes;
    }
    OWNED_TEXT clean = buf_take(&out);
    return clean == NULL ? NULL : json_object_new_string(clean);
}

static bool is_utf8(const char *text)
{
    size_t bytes;
    while ((bytes = text_utf8_bytes(text)) > 0)
        text += bytes;
    return *text == '\0';
}

void json_add_text(struct json_object *object, const char *key, const char *text)
{
    if (text != NULL)
        json_add(object, key, is_utf8(text) ? json_object_new_string(text) : clean_text(text));
}

void json_add_i64(struct json_object *object, const char *key, int64_t value)
{
    json_add(object, key, json_object_new_int64(value));
}

void json_add_bool(struct json_object *object, const char *key, bool value)
{
    json_add(object, key, json_object_new_boolean(value));
}

void json_add_time(struct json_object *object, const char *key, int64_t wall_ms)
{
    if (wall_ms == 0)
        return;
    char text[CLOCK_TEXT_MAX];
    clock_format_wall(wall_ms, text);
    json_add_text(object, key, text);
}

struct json_object *json_add_object(struct json_object *object, const char *key)
{
    struct json_object *member = json_object_new_object();
    return add(object, key, member) ? member : NULL;
}

struct json_object *json_add_array(struct json_object *object, const char *key)
{
    struct json_object *member = json_object_new_array();
    return add(object, key, member) ? member : NULL;
}
