/* field_managers.c - see field_managers.h. */
#include "exporter/api/field_managers.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

/* ---- sets of fields ---- */

enum { KEY_MAX = 512 };

struct field_path {
    const char *keys[JSON_DEPTH_MAX + 1];
    size_t n;
};

static bool is_object(struct json_object *value)
{
    return json_object_is_type(value, json_type_object);
}

/* Empty for a value, a list or an empty object: it is owned as a whole. */
static struct json_object *set_of(struct json_object *value)
{
    struct json_object *set = json_object_new_object();
    if (!is_object(value))
        return set;
    json_object_object_foreach(value, key, member)
    {
        char word[KEY_MAX];
        int n = snprintf(word, sizeof word, "f:%s", key);
        if (member != NULL && n > 0 && (size_t)n < sizeof word)
            json_add(set, word, set_of(member));
    }
    return set;
}

/* Everything of an object that a client writes. */
static struct json_object *writable_of(struct json_object *object)
{
    static const char *const metadata[] = {"labels", "annotations"};
    struct json_object *out = json_object_new_object();
    struct json_object *of_metadata = json_object_new_object();
    for (size_t i = 0; object != NULL && i < COUNT(metadata); i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "metadata.%s", metadata[i]);
        struct json_object *found = json_at(object, path);
        if (is_object(found) && json_object_object_length(found) > 0)
            json_add(of_metadata, metadata[i], json_object_get(found));
    }
    if (json_object_object_length(of_metadata) > 0)
        json_add(out, "metadata", json_object_get(of_metadata));
    json_object_free(of_metadata);
    struct json_object *spec = object == NULL ? NULL : json_at(object, "spec");
    if (spec != NULL)
        json_add(out, "spec", json_object_get(spec));
    return out;
}

typedef void leaf_fn(void *ctx, const struct field_path *path);

/* The leaves of a set; depth is bounded by the parsers. */
static void each_leaf(struct json_object *set, struct field_path *path, leaf_fn *fn, void *ctx)
{
    if (json_object_object_length(set) == 0 && path->n > 0)
        fn(ctx, path);
    if (path->n > JSON_DEPTH_MAX)
        return;
    json_object_object_foreach(set, key, inner)
    {
        if (strncmp(key, "f:", 2) != 0 || !is_object(inner))
            continue;
        path->keys[path->n++] = key + 2;
        each_leaf(inner, path, fn, ctx);
        path->n--;
    }
}

static struct json_object *inner_of(struct json_object *set, const char *key)
{
    char word[KEY_MAX];
    (void)snprintf(word, sizeof word, "f:%s", key);
    return json_object_object_get(set, word);
}

/* Is the field, something in it, or a value or list that it would replace, of the set? `object` has
 * the values of the set: who owns an empty object does not own what is put into it. */
static bool touches(struct json_object *set, struct json_object *object,
                    const struct field_path *path)
{
    for (size_t i = 0; i < path->n; i++) {
        set = inner_of(set, path->keys[i]);
        object = is_object(object) ? json_object_object_get(object, path->keys[i]) : NULL;
        if (set == NULL)
            return false;
        if (json_object_object_length(set) == 0)
            return i + 1 == path->n || !is_object(object);
    }
    return true;
}

/* Removes what touches() finds, and what becomes empty by that. True: the set is empty. */
static bool take_away(struct json_object *set, const struct field_path *path, size_t at)
{
    char word[KEY_MAX];
    (void)snprintf(word, sizeof word, "f:%s", path->keys[at]);
    struct json_object *inner = json_object_object_get(set, word);
    bool is_last = at + 1 == path->n;
    if (inner != NULL &&
        (is_last || json_object_object_length(inner) == 0 || take_away(inner, path, at + 1)))
        json_object_object_del(set, word);
    return json_object_object_length(set) == 0;
}

static void put_in(struct json_object *set, const struct field_path *path)
{
    for (size_t i = 0; i < path->n; i++) {
        char word[KEY_MAX];
        (void)snprintf(word, sizeof word, "f:%s", path->keys[i]);
        struct json_object *inner = json_object_object_get(set, word);
        set = inner != NULL ? inner : json_add_object(set, word);
    }
}

static struct json_object *value_at(struct json_object *object, const struct field_path *path)
{
    for (size_t i = 0; i < path->n; i++)
        object = is_object(object) ? json_object_object_get(object, path->keys[i]) : NULL;
    return object;
}

/* ".spec.selectors", keys with other characters in quotes. */
static void add_path(struct buf *out, const struct field_path *path)
{
    for (size_t i = 0; i < path->n; i++)
        buf_addf(out, strpbrk(path->keys[i], "./ ") == NULL ? ".%s" : "[\"%s\"]", path->keys[i]);
}

/* ---- entries of managedFields ---- */

static const char *member(struct json_object *entry, const char *key)
{
    const char *text = json_object_get_string(json_object_object_get(entry, key));
    return text == NULL ? "" : text;
}

static struct json_object *set_in(struct json_object *entry)
{
    struct json_object *set = json_object_object_get(entry, "fieldsV1");
    return is_object(set) ? set : NULL;
}

static bool is_of(struct json_object *entry, const char *manager, const char *operation)
{
    return strcmp(member(entry, "manager"), manager) == 0 &&
           strcmp(member(entry, "operation"), operation) == 0;
}

/* A copy of the object's list; without entries that are none. */
static struct json_object *entries_of(struct json_object *object)
{
    struct json_object *out = json_object_new_array();
    struct json_object *found = object == NULL ? NULL : json_at(object, "metadata.managedFields");
    size_t n = json_object_is_type(found, json_type_array) ? json_object_array_length(found) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *entry = json_object_array_get_idx(found, i), *copy = NULL;
        if (is_object(entry) && set_in(entry) != NULL &&
            json_object_deep_copy(entry, &copy, NULL) == 0)
            json_add(out, "", copy);
    }
    return out;
}

static struct json_object *find_entry(struct json_object *entries, const char *manager,
                                      const char *operation)
{
    for (size_t i = 0; i < json_object_array_length(entries); i++)
        if (is_of(json_object_array_get_idx(entries, i), manager, operation))
            return json_object_array_get_idx(entries, i);
    return NULL;
}

static void drop_entry(struct json_object *entries, struct json_object *entry)
{
    for (size_t i = 0; i < json_object_array_length(entries); i++)
        if (json_object_array_get_idx(entries, i) == entry) {
            (void)json_object_array_del_idx(entries, i, 1);
            return;
        }
}

static struct json_object *add_entry(struct json_object *entries,
                                     const struct field_request *request, const char *operation)
{
    struct json_object *entry = json_add_object(entries, "");
    json_add_text(entry, "manager", request->manager);
    json_add_text(entry, "operation", operation);
    json_add_text(entry, "apiVersion", request->api_version);
    json_add_time(entry, "time", request->now_ms);
    json_add_text(entry, "fieldsType", "FieldsV1");
    (void)json_add_object(entry, "fieldsV1");
    return entry;
}

/* The oldest Update, else the oldest Apply. */
static void forget_one(struct json_object *entries)
{
    size_t n = json_object_array_length(entries), i = 0;
    while (i < n &&
           strcmp(member(json_object_array_get_idx(entries, i), "operation"), "Update") != 0)
        i++;
    (void)json_object_array_del_idx(entries, i < n ? i : 0, 1);
}

/* Those without a field go. */
static void tidy(struct json_object *entries)
{
    for (size_t i = json_object_array_length(entries); i > 0; i--) {
        struct json_object *set = set_in(json_object_array_get_idx(entries, i - 1));
        if (set == NULL || json_object_object_length(set) == 0)
            (void)json_object_array_del_idx(entries, i - 1, 1);
    }
    while (json_object_array_length(entries) > FIELD_MANAGERS_MAX)
        forget_one(entries);
}

void field_managers_fit(struct json_object *managers, size_t bytes)
{
    while (json_object_array_length(managers) > 0 &&
           strlen(json_object_to_json_string_ext(managers, JSON_C_TO_STRING_PLAIN)) > bytes)
        forget_one(managers);
}

/* ---- apply ---- */

enum { CONFLICTS_TEXT_MAX = 400 };

struct applying {
    struct json_object *before, *config, *entries; /* the object, what is applied, all entries */
    struct json_object *own;                       /* of the manager; NULL: none yet */
    struct json_object *set;                       /* of the config */
    struct json_object *after;
    bool is_forced;
    unsigned conflicts;
    struct buf text;
};

/* Somebody else's value that this apply would change. */
static void check_leaf(void *ctx, const struct field_path *path)
{
    struct applying *a = ctx;
    if (json_object_equal(value_at(a->before, path), value_at(a->config, path)))
        return;
    for (size_t i = 0; i < json_object_array_length(a->entries); i++) {
        struct json_object *entry = json_object_array_get_idx(a->entries, i);
        if (entry == a->own || !touches(set_in(entry), a->before, path))
            continue;
        if (a->is_forced) {
            (void)take_away(set_in(entry), path, 0);
            continue;
        }
        buf_addf(&a->text, "%s conflict with \"%s\": ", a->conflicts++ == 0 ? "" : ",",
                 member(entry, "manager"));
        add_path(&a->text, path);
    }
}

/* Deletes the member, and objects that are empty by that and not applied. True: `in` is empty. */
static bool delete_at(struct json_object *in, const struct field_path *path, size_t at)
{
    struct json_object *inner = json_object_object_get(in, path->keys[at]);
    bool is_last = at + 1 == path->n;
    if (is_last || (is_object(inner) && delete_at(inner, path, at + 1)))
        json_object_object_del(in, path->keys[at]);
    return json_object_object_length(in) == 0;
}

/* A field that was applied before and is not now: removed, unless it is somebody else's too. */
static void drop_leaf(void *ctx, const struct field_path *path)
{
    struct applying *a = ctx;
    if (touches(a->set, a->config, path))
        return;
    for (size_t i = 0; i < json_object_array_length(a->entries); i++) {
        struct json_object *entry = json_object_array_get_idx(a->entries, i);
        if (entry != a->own && touches(set_in(entry), a->before, path))
            return;
    }
    (void)delete_at(a->after, path, 0);
}

static void merge_into(struct json_object *into, struct json_object *config)
{
    json_object_object_foreach(config, key, value)
    {
        struct json_object *old = json_object_object_get(into, key), *copy = NULL;
        if (value == NULL)
            continue;
        if (is_object(value))
            merge_into(is_object(old) ? old : json_add_object(into, key), value);
        else if (json_object_deep_copy(value, &copy, NULL) == 0)
            json_add(into, key, copy);
    }
}

/* The time stays where the set does: an apply that changes nothing changes nothing. */
static void take_set(struct applying *a, const struct field_request *request)
{
    if (a->own != NULL && json_object_equal(set_in(a->own), a->set))
        return;
    if (a->own != NULL)
        drop_entry(a->entries, a->own);
    json_add(add_entry(a->entries, request, "Apply"), "fieldsV1", json_object_get(a->set));
}

static bool run(struct applying *a, const struct field_request *request, struct err *err)
{
    struct field_path path = {.n = 0};
    each_leaf(a->set, &path, check_leaf, a);
    if (a->conflicts > 0)
        return err_set(err, ERR_REFUSED, "Apply failed with %u conflict%s:%.400s", a->conflicts,
                       a->conflicts == 1 ? "" : "s", a->text.data == NULL ? "" : a->text.data);
    if (a->own != NULL)
        each_leaf(set_in(a->own), &path, drop_leaf, a);
    merge_into(a->after, a->config);
    take_set(a, request);
    tidy(a->entries);
    struct json_object *metadata = json_object_object_get(a->after, "metadata");
    if (!is_object(metadata))
        metadata = json_add_object(a->after, "metadata");
    json_add(metadata, "managedFields", json_object_get(a->entries));
    return true;
}

struct json_object *field_managers_apply(struct json_object *before, struct json_object *config,
                                         const struct field_request *request, struct err *err)
{
    struct json_object *after = NULL, *metadata = json_object_object_get(config, "metadata");
    if (metadata != NULL && !is_object(metadata)) { /* would take the place of everybody's */
        (void)err_set(err, ERR_INVALID, "metadata: expected an object");
        return NULL;
    }
    if (before == NULL)
        after = json_object_new_object();
    else if (json_object_deep_copy(before, &after, NULL) != 0)
        after = NULL;
    OWNED(json_object) written = writable_of(config);
    OWNED(json_object) set = set_of(written);
    OWNED(json_object) entries = entries_of(before);
    OWNED(json_object) out = after;
    if (out == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the patch");
        return NULL;
    }
    struct applying a = {.before = before,
                         .config = config,
                         .entries = entries,
                         .own = find_entry(entries, request->manager, "Apply"),
                         .set = set,
                         .after = out,
                         .is_forced = request->is_forced};
    buf_init(&a.text, CONFLICTS_TEXT_MAX * 64);
    bool is_done = run(&a, request, err);
    buf_fini(&a.text);
    return is_done ? TAKE(out) : NULL;
}

/* ---- other changes ---- */

struct updating {
    struct json_object *before, *after, *entries;
    struct json_object *set; /* of what changed */
};

static void note_changed(void *ctx, const struct field_path *path)
{
    struct updating *u = ctx;
    if (json_object_equal(value_at(u->before, path), value_at(u->after, path)))
        return;
    for (size_t i = 0; i < json_object_array_length(u->entries); i++)
        (void)take_away(set_in(json_object_array_get_idx(u->entries, i)), path, 0);
    put_in(u->set, path);
}

static void note_gone(void *ctx, const struct field_path *path)
{
    struct updating *u = ctx;
    if (value_at(u->after, path) != NULL)
        return;
    for (size_t i = 0; i < json_object_array_length(u->entries); i++)
        (void)take_away(set_in(json_object_array_get_idx(u->entries, i)), path, 0);
}

static void merge_sets(struct json_object *into, struct json_object *set)
{
    json_object_object_foreach(set, key, inner)
    {
        struct json_object *old = json_object_object_get(into, key);
        if (old == NULL)
            json_add(into, key, json_object_get(inner));
        else
            merge_sets(old, inner);
    }
}

struct json_object *field_managers_update(struct json_object *before, struct json_object *after,
                                          const struct field_request *request)
{
    struct field_path path = {.n = 0};
    OWNED(json_object) was = writable_of(before);
    OWNED(json_object) is = writable_of(after);
    OWNED(json_object) old_set = set_of(was);
    OWNED(json_object) new_set = set_of(is);
    OWNED(json_object) changed = json_object_new_object();
    OWNED(json_object) entries = entries_of(before);
    struct updating u = {.before = was, .after = is, .entries = entries, .set = changed};
    each_leaf(new_set, &path, note_changed, &u);
    each_leaf(old_set, &path, note_gone, &u);
    if (json_object_object_length(changed) > 0) {
        struct json_object *entry = find_entry(entries, request->manager, "Update");
        if (entry == NULL)
            entry = add_entry(entries, request, "Update");
        else
            json_add_time(entry, "time", request->now_ms);
        merge_sets(set_in(entry), changed);
    }
    tidy(entries);
    return TAKE(entries);
}
