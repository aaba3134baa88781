/* api_selector.c - label and field selectors: equality, existence, sets. */
#include <string.h>

#include "exporter/api/api.h"

static bool copy_trimmed(char *out, size_t out_bytes, const char *from, size_t n)
{
    while (n > 0 && *from == ' ') {
        from++;
        n--;
    }
    while (n > 0 && from[n - 1] == ' ')
        n--;
    if (n >= out_bytes)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

/* "(a, b)" as "a,b". */
static bool copy_set(char *out, const char *from, size_t n)
{
    if (n < 2 || from[0] != '(' || from[n - 1] != ')')
        return false;
    size_t used = 0;
    for (size_t i = 1; i + 1 < n; i++) {
        if (from[i] == ' ')
            continue;
        if (strchr("()!=", from[i]) != NULL || used + 1 >= API_TERM_SET_MAX)
            return false;
        out[used++] = from[i];
    }
    out[used] = '\0';
    return true;
}

/* "key in (a,b)", "key notin (a,b)". */
static bool parse_set(const char *text, size_t n, struct api_term *out)
{
    while (n > 0 && *text == ' ') {
        text++;
        n--;
    }
    size_t key = 0, word = 0;
    while (key < n && text[key] != ' ')
        key++;
    const char *op = text + key, *end = text + n;
    while (op < end && *op == ' ')
        op++;
    while (op + word < end && op[word] != ' ' && op[word] != '(')
        word++;
    const char *set = op + word;
    while (set < end && *set == ' ')
        set++;
    while (end > set && end[-1] == ' ')
        end--;
    bool is_in = word == 2 && memcmp(op, "in", 2) == 0;
    if (!is_in && !(word == 5 && memcmp(op, "notin", 5) == 0))
        return false;
    out->op = is_in ? TERM_IN : TERM_NOT_IN;
    return copy_trimmed(out->key, sizeof out->key, text, key) && out->key[0] != '\0' &&
           strpbrk(out->key, "()!=") == NULL && copy_set(out->value, set, (size_t)(end - set));
}

static bool parse_term(const char *text, size_t n, struct api_term *out)
{
    const char *equals = memchr(text, '=', n);
    if (memchr(text, '(', n) != NULL)
        return parse_set(text, n, out);
    if (equals == NULL) {
        bool absent = n > 0 && *text == '!';
        out->op = absent ? TERM_ABSENT : TERM_EXISTS;
        out->value[0] = '\0';
        if (!copy_trimmed(out->key, sizeof out->key, text + absent, n - absent))
            return false;
    } else {
        bool differs = equals > text && equals[-1] == '!';
        bool twice = !differs && equals + 1 < text + n && equals[1] == '=';
        const char *value = equals + 1 + twice;
        out->op = differs ? TERM_DIFFERS : TERM_EQUALS;
        if (!copy_trimmed(out->key, sizeof out->key, text, (size_t)(equals - text) - differs) ||
            !copy_trimmed(out->value, sizeof out->value, value, (size_t)(text + n - value)))
            return false;
    }
    return out->key[0] != '\0' && strpbrk(out->key, " ()!=") == NULL &&
           strpbrk(out->value, " ()!=") == NULL;
}

/* Up to the next comma that is outside of a set. */
static size_t term_length(const char *text)
{
    size_t n = 0;
    for (bool is_inside = false; text[n] != '\0' && (is_inside || text[n] != ','); n++)
        is_inside = text[n] == '(' || (is_inside && text[n] != ')');
    return n;
}

bool api_selector_parse(const char *text, struct api_selector *out_selector, struct err *err)
{
    out_selector->n = 0;
    if (text == NULL || *text == '\0')
        return true;
    for (const char *at = text;; at++) {
        size_t n = term_length(at);
        if (out_selector->n == API_TERMS_MAX)
            return err_set(err, ERR_INVALID, "a selector has at most %d terms", API_TERMS_MAX);
        if (!parse_term(at, n, &out_selector->terms[out_selector->n]))
            return err_set(
                err, ERR_INVALID,
                "selector term '%.*s': expected key=value, key!=value, key, !key, key in "
                "(a,b) or key notin (a,b)",
                n > 200 ? 200 : (int)n, at);
        out_selector->n++;
        at += n;
        if (*at == '\0')
            return true;
    }
}

static bool is_in_set(const char *set, const char *value)
{
    size_t n = strlen(value);
    for (const char *at = set;; at++) {
        size_t length = strcspn(at, ",");
        if (length == n && memcmp(at, value, n) == 0)
            return true;
        at += length;
        if (*at == '\0')
            return false;
    }
}

bool api_term_matches(const struct api_term *term, const char *value)
{
    switch (term->op) {
    case TERM_EQUALS: return value != NULL && strcmp(value, term->value) == 0;
    case TERM_DIFFERS: return value == NULL || strcmp(value, term->value) != 0;
    case TERM_EXISTS: return value != NULL;
    case TERM_ABSENT: return value == NULL;
    case TERM_IN: return value != NULL && is_in_set(term->value, value);
    case TERM_NOT_IN: return value == NULL || !is_in_set(term->value, value);
    }
    return false;
}

bool api_selector_matches(const struct api_selector *selector, struct json_object *labels)
{
    for (size_t i = 0; i < selector->n; i++) {
        struct json_object *value = NULL;
        bool found =
            labels != NULL && json_object_object_get_ex(labels, selector->terms[i].key, &value);
        if (!api_term_matches(&selector->terms[i], found ? json_object_get_string(value) : NULL))
            return false;
    }
    return true;
}
