/* api_selector.c - label and field selectors: equality and existence. Sets ("in", "notin") are
 * refused. */
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

static bool parse_term(const char *text, size_t n, struct api_term *out)
{
    const char *equals = memchr(text, '=', n);
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

bool api_selector_parse(const char *text, struct api_selector *out_selector, struct err *err)
{
    out_selector->n = 0;
    if (text == NULL || *text == '\0')
        return true;
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        if (out_selector->n == API_TERMS_MAX)
            return err_set(err, ERR_INVALID, "a selector has at most %d terms", API_TERMS_MAX);
        if (!parse_term(at, n, &out_selector->terms[out_selector->n]))
            return err_set(err, ERR_INVALID,
                           "selector term '%.*s': expected key=value, key!=value, key or !key",
                           n > 200 ? 200 : (int)n, at);
        out_selector->n++;
        at += n;
        if (*at == '\0')
            return true;
    }
}

bool api_term_matches(const struct api_term *term, const char *value)
{
    switch (term->op) {
    case TERM_EQUALS: return value != NULL && strcmp(value, term->value) == 0;
    case TERM_DIFFERS: return value == NULL || strcmp(value, term->value) != 0;
    case TERM_EXISTS: return value != NULL;
    case TERM_ABSENT: return value == NULL;
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
