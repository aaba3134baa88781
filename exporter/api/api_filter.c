/* api_filter.c - see api_filter.h. */
#include "exporter/api/api_filter.h"

#include <string.h>

static bool is_word_of(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, word, n) == 0)
            return true;
        at += length;
    }
    return false;
}

/* Checks that all fields are selectable, as Kubernetes does. */
static bool fields_are_known(const struct api_selector *fields, const struct api_view *view,
                             struct err *err)
{
    for (size_t i = 0; i < fields->n; i++)
        if (!is_word_of("metadata.name metadata.namespace", fields->terms[i].key) &&
            !is_word_of(view->fields, fields->terms[i].key))
            return err_set(err, ERR_INVALID,
                           "field selector '%.100s': only metadata.name metadata.namespace %s",
                           fields->terms[i].key, view->fields == NULL ? "" : view->fields);
    return true;
}

static const char *ns_of(const struct api_view *view, const struct snapshot *s, size_t i)
{
    return view->ns == NULL ? "" : view->ns(s, i);
}

static bool fields_match(const struct api_selector *fields, const struct api_view *view,
                         const struct snapshot *s, size_t i)
{
    for (size_t t = 0; t < fields->n; t++) {
        const char *key = fields->terms[t].key;
        const char *value = strcmp(key, "metadata.name") == 0        ? view->name(s, i)
                            : strcmp(key, "metadata.namespace") == 0 ? ns_of(view, s, i)
                                                                     : view->field(s, i, key);
        if (!api_term_matches(&fields->terms[t], value))
            return false;
    }
    return true;
}

bool api_filter_init(struct api_filter *filter, const struct http_request *request,
                     const struct api_view *view, struct err *err)
{
    TEXT_SET(filter->ns, request->ns == NULL ? "" : request->ns);
    return api_selector_parse(http_query(request, "labelSelector"), &filter->labels, err) &&
           api_selector_parse(http_query(request, "fieldSelector"), &filter->fields, err) &&
           fields_are_known(&filter->fields, view, err);
}

/* One of the kind and of the namespace. */
bool api_filter_sees(const struct api_filter *filter, const struct api_view *view,
                     const struct snapshot *s, size_t i)
{
    return api_is_there(view, s, i) &&
           (filter->ns[0] == '\0' || strcmp(filter->ns, ns_of(view, s, i)) == 0);
}

bool api_filter_matches(const struct api_filter *filter, const struct api_view *view,
                        const struct snapshot *s, size_t i)
{
    if (!api_filter_sees(filter, view, s, i) || !fields_match(&filter->fields, view, s, i))
        return false;
    if (filter->labels.n == 0)
        return true;
    OWNED(json_object) labels = view->labels(s, i);
    return api_selector_matches(&filter->labels, labels);
}

/* ---- changes ---- */

static const char *field_of(const struct api_view *view, const struct feed_traits *traits,
                            const char *key)
{
    size_t n = 0, bytes = strlen(key);
    for (const char *at = view->fields; at != NULL && *at != '\0'; at += strspn(at, " "), n++) {
        size_t length = strcspn(at, " ");
        if (length == bytes && memcmp(at, key, bytes) == 0)
            return traits->fields[n];
        at += length;
    }
    return NULL;
}

bool api_filter_takes(const struct api_filter *filter, const struct api_view *view,
                      const struct feed_change *change, const struct feed_traits *traits)
{
    if (filter->ns[0] != '\0' && strcmp(filter->ns, change->ns) != 0)
        return false;
    for (size_t t = 0; t < filter->fields.n; t++) {
        const char *key = filter->fields.terms[t].key;
        const char *value = strcmp(key, "metadata.name") == 0        ? change->name
                            : strcmp(key, "metadata.namespace") == 0 ? change->ns
                                                                     : field_of(view, traits, key);
        if (!api_term_matches(&filter->fields.terms[t], value))
            return false;
    }
    for (size_t t = 0; t < filter->labels.n; t++) {
        const struct api_term *term = &filter->labels.terms[t];
        if (!api_term_matches(term, feed_label(traits, term->key)))
            return false;
    }
    return true;
}
