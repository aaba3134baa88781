/* kinds.c - see kinds.h. */
#include "cli/common/kinds.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

/* The kinds of the API. */
enum served {
#define KIND(id, ...) SERVED_##id,
#include "exporter/api/kinds.def"
#undef KIND
    SERVED_COUNT
};
static const struct {
    const char *plural, *name, *api_version;
    bool namespaced;
} served_kinds[SERVED_COUNT] = {
#define KIND(id, plural, singular, kind, api_version, namespaced, short_names, verbs) \
    [SERVED_##id] = {plural, kind, api_version, namespaced},
#include "exporter/api/kinds.def"
#undef KIND
};
static const struct {
    enum served served;
    const char *abbreviation, *aliases;
    enum kind_edit edit;
    const char *noun, *keep;
} kinds[KIND_COUNT] = {
#define KIND(id, served, abbreviation, aliases, edit, noun, keep) \
    [KIND_##id] = {SERVED_##served, abbreviation, aliases, KIND_EDIT_##edit, noun, keep},
#include "cli/common/kinds.def"
#undef KIND
};

static const char *plural_of(enum kind kind)
{
    return served_kinds[kinds[kind].served].plural;
}

/* "/apis/kubevirt.io/v1": the group's path. */
static void add_prefix(struct buf *path, enum kind kind)
{
    const char *version = kind_api_version(kind);
    buf_addf(path, "%s/%s", strchr(version, '/') != NULL ? "/apis" : "/api", version);
}

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

static bool find_kind(const char *word, enum kind *out_kind)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (text_equal(plural_of(kind), word) || text_equal(kinds[kind].abbreviation, word) ||
            is_among(kinds[kind].aliases, word)) {
            *out_kind = kind;
            return true;
        }
    }
    return false;
}

static const char *nearest_word(const char *word)
{
    static const char *const usual[] = {
        "migrations", "guests",   "nodes",     "vmim",   "vmi",        "migration", "guest",
        "node",       "policies", "policy",    "quotas", "namespaces", "drains",    "drain",
        "pods",       "quota",    "incidents", "tokens", "events",
    };
    return text_nearest(word, usual, COUNT(usual));
}

bool kind_from_word(const char *word, enum kind *out_kind, struct err *err)
{
    if (find_kind(word, out_kind))
        return true;
    const char *near = nearest_word(word);
    return err_set(err, ERR_INVALID, "unknown kind '%s'%s%s%s", word,
                   near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?" : "");
}

/* ---- KIND/NAME ---- */

/* "shop/till": somebody wrote a namespace where a kind belongs, unless the word is near to one. */
static bool fail_prefix(const char *word, const char *prefix, const char *name, struct err *err)
{
    const char *near = nearest_word(prefix);
    if (*prefix == '\0' || strchr(name, '/') != NULL)
        return err_set(err, ERR_INVALID, "'%s' is neither NAME nor KIND/NAME", word);
    if (near != NULL)
        return err_set(err, ERR_INVALID, "'%s': unknown kind '%s'; did you mean '%s'?", word,
                       prefix, near);
    return err_set(err, ERR_INVALID,
                   "'%s': '%s' is not a kind; a namespace is given with -n: %s -n %s", word, prefix,
                   name, prefix);
}

/* *out_name: behind the slash; NULL without one. */
static bool split(const char *word, enum kind *out_kind, const char **out_name, struct err *err)
{
    const char *slash = strchr(word, '/');
    char prefix[64];
    *out_name = NULL;
    if (slash == NULL)
        return true;
    (void)snprintf(prefix, sizeof prefix, "%.*s", (int)(slash - word), word);
    if (slash[1] == '\0')
        return err_set(err, ERR_INVALID, "'%s': the name is empty", word);
    if (!find_kind(prefix, out_kind))
        return fail_prefix(word, prefix, slash + 1, err);
    *out_name = slash + 1;
    return true;
}

bool kind_name_in(const char *word, enum kind kind, const char **out_name, struct err *err)
{
    enum kind given;
    const char *name;
    if (!split(word, &given, &name, err))
        return false;
    if (name != NULL && given != kind)
        return err_set(err, ERR_INVALID, "'%s' is %s; expected %s, as %s/NAME or NAME", word,
                       kinds[given].noun, kinds[kind].noun, kinds[kind].abbreviation);
    *out_name = name != NULL ? name : word;
    return true;
}

bool kind_and_name(const char *word, const char *name, enum kind *out_kind, const char **out_name,
                   struct err *err)
{
    const char *inside;
    if (!split(word, out_kind, &inside, err))
        return false;
    if (inside != NULL && name != NULL)
        return err_set(err, ERR_INVALID, "'%s' names an object already, not also '%s'", word, name);
    if (inside != NULL) {
        *out_name = inside;
        return true;
    }
    if (!kind_from_word(word, out_kind, err))
        return false;
    *out_name = name;
    return name == NULL || kind_name_in(name, *out_kind, out_name, err);
}

const char *kind_short(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return kinds[kind].abbreviation;
}

const char *kind_noun(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return kinds[kind].noun;
}

const char *kind_keep(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return kinds[kind].keep;
}

const char *kind_name(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return served_kinds[kinds[kind].served].name;
}

enum kind_edit kind_edit(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return kinds[kind].edit;
}

const char *kind_api_version(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return served_kinds[kinds[kind].served].api_version;
}

bool kind_from_document(const char *api_version, const char *name, enum kind *out_kind,
                        struct err *err)
{
    const char *names[KIND_COUNT];
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        names[kind] = kind_name(kind);
        if (!text_equal(names[kind], name))
            continue;
        if (!text_equal(kind_api_version(kind), api_version))
            return err_set(err, ERR_INVALID, "apiVersion of a %s is '%s', not '%.60s'", name,
                           kind_api_version(kind), api_version);
        *out_kind = kind;
        return true;
    }
    const char *near = text_nearest(name, names, KIND_COUNT);
    return err_set(err, ERR_INVALID, "unknown kind '%.60s'%s%s%s", name,
                   near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?" : "");
}

bool kind_is_namespaced(enum kind kind)
{
    assert(kind < KIND_COUNT);
    return served_kinds[kinds[kind].served].namespaced;
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

void path_add_query(struct buf *path, const char *key, const char *value)
{
    if (*value == '\0')
        return;
    bool is_first = path->data == NULL || strchr(path->data, '?') == NULL;
    buf_addf(path, "%s%s=", is_first ? "?" : "&", key);
    add_encoded(path, value);
}

/* Moves the text out of the buffer. */
static bool take_path(struct buf *take_buf, char *out_path, struct err *err)
{
    bool fits = !take_buf->failed && text_copy(out_path, KINDS_PATH_MAX, take_buf->data);
    buf_fini(take_buf);
    return fits ? true : err_set(err, ERR_INVALID, "the name is too long");
}

bool kind_events_path(const char *uid, char *out_path)
{
    if (*uid == '\0' || strspn(uid, "0123456789abcdefABCDEF-") != strlen(uid))
        return false;
    int n = snprintf(out_path, KINDS_PATH_MAX,
                     "/api/v1/events?fieldSelector=involvedObject.uid%%3D%s", uid);
    return n > 0 && n < KINDS_PATH_MAX;
}

bool kind_node_events_path(const char *name, char *out_path)
{
    struct err ignored = {0};
    struct buf buf;
    buf_init(&buf, KINDS_PATH_MAX);
    buf_add(&buf,
            "/api/v1/events?fieldSelector=involvedObject.kind%3DNode%2CinvolvedObject.name%3D");
    add_encoded(&buf, name);
    return take_path(&buf, out_path, &ignored);
}

bool kind_check_path(const char *ns, char *out_path, struct err *err)
{
    struct buf buf;
    if (*ns == '\0')
        return err_set(err, ERR_INVALID, "the namespace is empty");
    buf_init(&buf, KINDS_PATH_MAX);
    add_prefix(&buf, KIND_DRAIN);
    buf_add(&buf, "/namespaces/");
    add_encoded(&buf, ns);
    buf_add(&buf, "/checks");
    return take_path(&buf, out_path, err);
}

bool kind_path(enum kind kind, const char *ns, const char *name, char *out_path, struct err *err)
{
    assert(kind < KIND_COUNT);
    if ((ns != NULL && *ns == '\0') || (name != NULL && *name == '\0'))
        return err_set(err, ERR_INVALID, "the %s is empty",
                       ns != NULL && *ns == '\0' ? "namespace" : "name");
    struct buf buf;
    buf_init(&buf, KINDS_PATH_MAX);
    add_prefix(&buf, kind);
    if (kind_is_namespaced(kind) && ns != NULL) {
        buf_add(&buf, "/namespaces/");
        add_encoded(&buf, ns);
    }
    buf_addf(&buf, "/%s", plural_of(kind));
    if (name != NULL) {
        buf_add(&buf, "/");
        add_encoded(&buf, name);
    }
    return take_path(&buf, out_path, err);
}
