/* versions.c - see versions.h.
 *
 * Two snapshots mostly hold the same objects in the same order: they are paired from both ends, and
 * what is left in between by their keys. */
#include "exporter/api/versions.h"

#include <stdatomic.h>
#include <string.h>
#include <uthash.h>

enum { KEY_MAX = 512 }; /* namespace, name, uid */

struct version_list {
    atomic_uint references;
    size_t n;
    uint64_t of[];
};

struct versions_block {
    struct versions versions; /* first */
    atomic_uint references;
};

static struct versions_block *block_of(const struct versions *versions)
{
    return (struct versions_block *)(uintptr_t)versions; /* its first member */
}

const struct versions *versions_ref(const struct versions *versions)
{
    if (versions != NULL)
        (void)atomic_fetch_add(&block_of(versions)->references, 1);
    return versions;
}

static void list_unref(struct version_list *list)
{
    if (list != NULL && atomic_fetch_sub(&list->references, 1) == 1)
        free(list);
}

void versions_unref(const struct versions *versions)
{
    struct versions_block *block = block_of(versions);
    if (versions == NULL || atomic_fetch_sub(&block->references, 1) != 1)
        return;
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++)
        list_unref(block->versions.lists[kind]);
    snapshot_unref(block->versions.snapshot);
    free(block);
}

uint64_t versions_of(const struct versions *versions, enum api_kind kind, size_t i)
{
    const struct version_list *list = versions->lists[kind];
    return list != NULL && i < list->n ? list->of[i] : 0;
}

/* ---- comparing one kind ---- */

/* The numbers of the objects that are there. */
struct present {
    size_t n;
    size_t *numbers; /* owned */
};

struct comparison {
    const struct api_view *view;
    enum api_kind kind;
    const struct versions *before;
    struct versions *after;
    const struct version_sink *sink;
    struct version_list *list; /* of the kind, being made */
    struct present was, is;
    bool is_changed, failed;
};

static bool find_present(const struct api_view *view, const struct snapshot *s, struct present *out)
{
    size_t n = view->count(s);
    *out = (struct present){.numbers = malloc((n + 1) * sizeof(size_t))};
    for (size_t i = 0; out->numbers != NULL && i < n; i++)
        if (view->is_there == NULL || view->is_there(s, i))
            out->numbers[out->n++] = i;
    return out->numbers != NULL;
}

static const char *ns_of(const struct api_view *view, const struct snapshot *s, size_t i)
{
    return view->ns == NULL ? "" : view->ns(s, i);
}

static bool has_same_key(const struct comparison *c, size_t was, size_t is)
{
    const struct snapshot *a = c->before->snapshot, *b = c->after->snapshot;
    return strcmp(c->view->name(a, was), c->view->name(b, is)) == 0 &&
           strcmp(ns_of(c->view, a, was), ns_of(c->view, b, is)) == 0 &&
           strcmp(c->view->uid(a, was), c->view->uid(b, is)) == 0;
}

static void tell(struct comparison *c, struct version_change *change)
{
    change->kind = c->kind;
    change->version = ++c->after->newest;
    c->sink->changed(c->sink->ctx, change);
}

/* From state to state: each begins where the one before it ended. */
static void tell_passed(struct comparison *c, struct version_change *change)
{
    struct api_passed states[2];
    const struct snapshot *before = change->before, *after = change->after;
    size_t was = change->was, is = change->is;
    const struct snapshot *known = change->type == CHANGE_ADDED ? NULL : before;
    for (unsigned n = 0; c->view->passed(known, was, after, is, n, &states[n % 2]); n++) {
        change->after = &states[n % 2].snapshot;
        change->is = 0;
        tell(c, change);
        change->type = CHANGE_MODIFIED;
        change->before = change->after;
        change->was = 0;
    }
    change->after = after;
    change->is = is;
    tell(c, change);
}

static void changed(struct comparison *c, enum change_type type, size_t was, size_t is)
{
    struct version_change change = {.type = type,
                                    .before = c->before->snapshot,
                                    .after = c->after->snapshot,
                                    .was = was,
                                    .is = is};
    c->is_changed = true;
    if (type != CHANGE_DELETED && c->view->passed != NULL)
        tell_passed(c, &change);
    else
        tell(c, &change);
    if (type != CHANGE_DELETED)
        c->list->of[is] = c->after->newest;
}

static void pair(struct comparison *c, size_t was, size_t is)
{
    if (c->view->is_same(c->before->snapshot, was, c->after->snapshot, is))
        c->list->of[is] = versions_of(c->before, c->kind, was);
    else
        changed(c, CHANGE_MODIFIED, was, is);
}

struct keyed {
    char key[KEY_MAX];
    size_t is;
    bool is_paired;
    UT_hash_handle hh;
};

static void key_of(const struct api_view *view, const struct snapshot *s, size_t i, char *out)
{
    (void)snprintf(out, KEY_MAX, "%.100s/%.300s/%.60s", ns_of(view, s, i), view->name(s, i),
                   view->uid(s, i));
}

/* What is between the ends, from first on: deleted ones, pairs, added ones. */
static void join_rest(struct comparison *c, size_t first, size_t was_end, size_t is_end)
{
    struct keyed *fresh = calloc(is_end - first + 1, sizeof *fresh), *index = NULL, *found;
    if (fresh == NULL) {
        c->failed = true;
        return;
    }
    for (size_t i = first; i < is_end; i++) {
        struct keyed *keyed = &fresh[i - first];
        keyed->is = c->is.numbers[i];
        key_of(c->view, c->after->snapshot, keyed->is, keyed->key);
        HASH_ADD_STR(index, key, keyed);
    }
    for (size_t i = first; i < was_end; i++) {
        char key[KEY_MAX];
        key_of(c->view, c->before->snapshot, c->was.numbers[i], key);
        HASH_FIND_STR(index, key, found);
        if (found != NULL && !found->is_paired) {
            found->is_paired = true;
            pair(c, c->was.numbers[i], found->is);
        } else {
            changed(c, CHANGE_DELETED, c->was.numbers[i], 0);
        }
    }
    for (size_t i = 0; i < is_end - first; i++)
        if (!fresh[i].is_paired)
            changed(c, CHANGE_ADDED, 0, fresh[i].is);
    HASH_CLEAR(hh, index);
    free(fresh);
}

static void join(struct comparison *c)
{
    size_t first = 0, was_end = c->was.n, is_end = c->is.n;
    while (first < was_end && first < is_end &&
           has_same_key(c, c->was.numbers[first], c->is.numbers[first])) {
        pair(c, c->was.numbers[first], c->is.numbers[first]);
        first++;
    }
    while (was_end > first && is_end > first &&
           has_same_key(c, c->was.numbers[was_end - 1], c->is.numbers[is_end - 1])) {
        pair(c, c->was.numbers[--was_end], c->is.numbers[--is_end]);
    }
    if (first < was_end || first < is_end)
        join_rest(c, first, was_end, is_end);
}

static struct version_list *list_new(size_t n)
{
    struct version_list *list = calloc(1, sizeof *list + n * sizeof list->of[0]);
    if (list == NULL)
        return NULL;
    atomic_init(&list->references, 1);
    list->n = n;
    return list;
}

/* A list without a change is shared. */
static bool compare(struct comparison *c)
{
    struct version_list *old = c->before->lists[c->kind];
    size_t n = c->view->count(c->after->snapshot);
    c->list = list_new(n);
    bool is_ready = c->list != NULL && find_present(c->view, c->before->snapshot, &c->was) &&
                    find_present(c->view, c->after->snapshot, &c->is);
    if (is_ready)
        join(c);
    free(c->was.numbers);
    free(c->is.numbers);
    if (!is_ready || c->failed) {
        list_unref(c->list);
        return false;
    }
    bool is_equal = !c->is_changed && old != NULL && old->n == n &&
                    memcmp(old->of, c->list->of, n * sizeof c->list->of[0]) == 0;
    if (is_equal) {
        list_unref(c->list);
        (void)atomic_fetch_add(&old->references, 1);
        c->list = old;
    }
    c->after->lists[c->kind] = c->list;
    return true;
}

/* The first snapshot: each object that is there has a number. */
static bool number_all(struct versions *v, enum api_kind kind)
{
    const struct api_view *view = api_view_of(kind);
    size_t n = view->count(v->snapshot);
    struct version_list *list = v->lists[kind] = list_new(n);
    for (size_t i = 0; list != NULL && i < n; i++)
        if (view->is_there == NULL || view->is_there(v->snapshot, i))
            list->of[i] = ++v->newest;
    return list != NULL;
}

const struct versions *versions_again(const struct versions *before)
{
    struct versions_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1);
    block->versions = *before;
    (void)snapshot_ref(before->snapshot);
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++)
        if (before->lists[kind] != NULL)
            (void)atomic_fetch_add(&before->lists[kind]->references, 1);
    return &block->versions;
}

uint64_t versions_number(const struct versions *fresh)
{
    return ++block_of(fresh)->versions.newest;
}

const struct versions *versions_next(const struct versions *before, const struct snapshot *snapshot,
                                     uint64_t first_version, const struct version_sink *sink)
{
    struct versions_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    struct versions *v = &block->versions;
    atomic_init(&block->references, 1);
    v->snapshot = snapshot_ref(snapshot);
    v->newest = before == NULL ? first_version : before->newest;
    bool is_made = true;
    for (enum api_kind kind = 0; is_made && kind < KIND_COUNT; kind++) {
        struct comparison c = {
            .view = api_view_of(kind), .kind = kind, .before = before, .after = v, .sink = sink};
        if (c.view != NULL)
            is_made = before == NULL ? number_all(v, kind) : compare(&c);
    }
    if (is_made)
        return v;
    versions_unref(v);
    return NULL;
}
