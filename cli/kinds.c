/* kinds.c - see kinds.h. */
#include "cli/kinds.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

static const struct {
    const char *plural, *abbreviation, *aliases, *prefix;
    bool namespaced;
} kinds[KIND_COUNT] = {
#define KIND(id, plural, abbreviation, aliases, prefix, namespaced) \
    [KIND_##id] = {plural, abbreviation, aliases, prefix, namespaced},
#include "cli/kinds.def"
#undef KIND
};

static bool is_among(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (n == length && strncmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

bool kind_from_word(const char *word, enum kind *out_kind, struct err *err)
{
    static const char *const usual[] = {"migrations", "guests",    "nodes", "vmim",
                                        "vmi",        "migration", "guest", "node"};
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (text_equal(kinds[kind].plural, word) || text_equal(kinds[kind].abbreviation, word) ||
            is_among(kinds[kind].aliases, word)) {
            *out_kind = kind;
            return true;
        }
    }
    const char *near = text_nearest(word, usual, COUNT(usual));
    return err_set(err, ERR_INVALID, "unknown kind '%s'%s%s%s", word,
                   near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?" : "");
}

const char *kind_short(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return kinds[kind].abbreviation;
}

bool kind_is_namespaced(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return kinds[kind].namespaced;
}

static void add_encoded(struct buf *buf, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (isalnum(*c) || strchr("-._~", *c) != NULL)
            buf_add_bytes(buf, (const char *)c, 1);
        else
            buf_addf(buf, "%%%02X", *c);
    }
}

bool kind_path(enum kind kind, const char *ns, const char *name, char *out_path, struct err *err)
{
    assert(kind < KIND_COUNT);
    if ((ns != NULL && *ns == '\0') || (name != NULL && *name == '\0'))
        return err_set(err, ERR_INVALID, "the %s is empty",
                       ns != NULL && *ns == '\0' ? "namespace" : "name");
    struct buf buf;
    buf_init(&buf, KINDS_PATH_MAX);
    buf_add(&buf, kinds[kind].prefix);
    if (kinds[kind].namespaced && ns != NULL) {
        buf_add(&buf, "/namespaces/");
        add_encoded(&buf, ns);
    }
    buf_addf(&buf, "/%s", kinds[kind].plural);
    if (name != NULL) {
        buf_add(&buf, "/");
        add_encoded(&buf, name);
    }
    bool fits = !buf.failed && text_copy(out_path, KINDS_PATH_MAX, buf.data);
    buf_fini(&buf);
    return fits ? true : err_set(err, ERR_INVALID, "the name is too long");
}
