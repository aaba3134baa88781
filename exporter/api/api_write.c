/* api_write.c - creates, changes and deletes stored objects, and the overlays of nodes and guests.
 *
 * A change is applied to the object as shown; its storable part is sent to the engine, which
 * validates it. For a node that is labels, taints and cordon; for a guest labels and settings: an
 * overlay that holds only the changes made here, so that later changes in the configuration or the
 * domain take effect elsewhere. Any other change is refused, never ignored.
 *
 * Concurrent writers: the engine compares the resourceVersion that was read. On a conflict the
 * change is applied again to the new version, unless the client named a version.
 */
#include <string.h>

#include "exporter/api/api_request.h"
#include "exporter/api/field_managers.h"
#include "exporter/exporter_impl.h"

enum { TRIES_MAX = 5 };

/* Updates `spec`, the stored part (empty for a new object), from `before` to `after`, the objects
 * as shown; before is NULL for a new object. */
typedef bool spec_fn(struct json_object *spec, struct json_object *before,
                     struct json_object *after, struct err *err);
static spec_fn spec_of_object, spec_of_namespace, spec_of_node, spec_of_guest;

static const struct writable {
    enum api_kind kind;
    enum object_kind object;
    bool keeps_labels; /* beside the spec, else inside */
    bool is_overlay;   /* over an object that exists without it */
    spec_fn *spec;
} writables[] = {
    {KIND_POLICY, OBJECT_POLICY, true, false, spec_of_object},
    {KIND_QUOTA, OBJECT_QUOTA, true, false, spec_of_object},
    {KIND_DRAIN, OBJECT_DRAIN, true, false, spec_of_object},
    {KIND_TOKEN, OBJECT_TOKEN, true, false, spec_of_object},
    {KIND_NAMESPACE, OBJECT_NAMESPACE, false, true, spec_of_namespace},
    {KIND_NODE, OBJECT_NODE, false, true, spec_of_node},
    {KIND_INSTANCE, OBJECT_GUEST, false, true, spec_of_guest},
};

static const struct writable *writable_of(enum api_kind kind)
{
    size_t i = 0;
    while (writables[i].kind != kind)
        i++;
    return &writables[i];
}

/* ---- stored parts ---- */

/* The stored part is the spec: replaced as a whole. */
static bool spec_of_object(struct json_object *spec, struct json_object *before,
                           struct json_object *after, struct err *err)
{
    (void)before;
    OWNED(json_object) none = json_object_new_object();
    struct json_object *wanted = json_at(after, "spec");
    if (!api_object_or_absent(wanted, "spec", err))
        return false;
    json_object_object_foreach(spec, old, was)
    {
        (void)was;
        json_object_object_del(spec, old);
    }
    wanted = wanted == NULL ? none : wanted;
    json_object_object_foreach(wanted, key, value)
    {
        json_add(spec, key, json_object_get(value));
    }
    return true;
}

static bool is_among(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Every member of `a` at path that is not `free` to change is the same in `b`. */
static bool covers(struct json_object *a, struct json_object *b, const char *path,
                   struct api_words free, struct err *err)
{
    struct json_object *from = json_at(a, path), *to = json_at(b, path);
    if (from == NULL)
        return true;
    json_object_object_foreach(from, key, value)
    {
        struct json_object *other = NULL;
        if (json_object_is_type(to, json_type_object))
            (void)json_object_object_get_ex(to, key, &other);
        if (!is_among(key, free.words, free.n) && !json_object_equal(value, other))
            return err_set(err, ERR_UNPROCESSABLE, "%s.%.100s: cannot be changed here", path, key);
    }
    return true;
}

static bool only_changes(struct json_object *before, struct json_object *after, const char *path,
                         struct api_words free, struct err *err)
{
    return api_object_or_absent(json_at(after, path), path, err) &&
           covers(after, before, path, free, err) && covers(before, after, path, free, err);
}

static struct json_object *member(struct json_object *object, const char *key)
{
    return json_object_is_type(object, json_type_object) ? json_object_object_get(object, key)
                                                         : NULL;
}

/* Merges one changed member of the object into the overlay. False: the change removes a member that
 * is not from the overlay. */
static bool merge_overlay_member(struct json_object *overlay, const char *key,
                                 struct json_object *before, struct json_object *after)
{
    if (json_object_equal(before, after))
        return true;
    if (after != NULL) {
        json_add(overlay, key, json_object_get(after));
        return true;
    }
    bool was_there = json_object_object_get_ex(overlay, key, NULL);
    json_object_object_del(overlay, key);
    return was_there;
}

static bool refuse_removal(const char *path, const char *key, struct err *err)
{
    return err_set(err, ERR_UNPROCESSABLE,
                   "%s.%.100s: comes from the host or the configuration and can only be removed "
                   "there",
                   path, key);
}

/* Updates the overlay's labels. derived: labels computed by Ferry. */
static bool merge_overlay_labels(struct json_object *overlay, struct json_object *before,
                                 struct json_object *after, struct api_words derived,
                                 struct err *err)
{
    OWNED(json_object) holder = json_object_new_object();
    OWNED(json_object) none = json_object_new_object();
    if (!api_copy_texts(after, "labels", true, holder, err))
        return false;
    struct json_object *old = before == NULL ? none : json_at(before, "metadata.labels");
    struct json_object *new = member(holder, "labels"), *kept = member(overlay, "labels");
    old = old == NULL ? none : old;
    new = new == NULL ? none : new;
    if (!json_object_is_type(kept, json_type_object))
        kept = json_add_object(overlay, "labels");
    for (size_t i = 0; i < derived.n; i++)
        if (!json_object_equal(member(old, derived.words[i]), member(new, derived.words[i])))
            return err_set(err, ERR_UNPROCESSABLE,
                           "metadata.labels.%s: is set by Ferry and cannot be changed",
                           derived.words[i]);
    json_object_object_foreach(new, key, value)
    {
        (void)merge_overlay_member(kept, key, member(old, key), value);
    }
    json_object_object_foreach(old, gone, was)
    {
        if (member(new, gone) == NULL && !merge_overlay_member(kept, gone, was, NULL))
            return refuse_removal("metadata.labels", gone, err);
    }
    return true;
}

/* The same for members of the spec. */
static bool merge_overlay_spec(struct json_object *overlay, struct json_object *before,
                               struct json_object *after, struct api_words keys, struct err *err)
{
    struct json_object *old = json_at(before, "spec"), *new = json_at(after, "spec");
    for (size_t i = 0; i < keys.n; i++)
        if (!merge_overlay_member(overlay, keys.words[i], member(old, keys.words[i]),
                                  member(new, keys.words[i])))
            return refuse_removal("spec", keys.words[i], err);
    return true;
}

static bool spec_of_namespace(struct json_object *spec, struct json_object *before,
                              struct json_object *after, struct err *err)
{
    static const char *const free[] = {"finalizers"}; /* kubectl sends Kubernetes' own */
    struct json_object *was = before == NULL ? after : before;
    return only_changes(was, after, "spec", API_WORDS(free), err) &&
           merge_overlay_labels(spec, before, after, (struct api_words){0}, err);
}

/* An explicit schedulable or empty taints override the configuration. */
static bool spec_of_node(struct json_object *spec, struct json_object *before,
                         struct json_object *after, struct err *err)
{
    static const char *const free[] = {"taints", "unschedulable"};
    static const char *const derived[] = {"kubernetes.io/hostname", "kubernetes.io/arch"};
    struct json_object *taints = json_at(after, "spec.taints");
    bool was, cordoned;
    if (!only_changes(before, after, "spec", API_WORDS(free), err) ||
        !json_get_bool(before, "spec.unschedulable", false, &was, err) ||
        !json_get_bool(after, "spec.unschedulable", false, &cordoned, err) ||
        !merge_overlay_labels(spec, before, after, API_WORDS(derived), err))
        return false;
    if (taints != NULL && !json_object_is_type(taints, json_type_array))
        return err_set(err, ERR_INVALID, "spec.taints: expected a list");
    if (!json_object_equal(json_at(before, "spec.taints"), taints))
        json_add(spec, "taints",
                 taints == NULL ? json_object_new_array() : json_object_get(taints));
    if (was != cordoned)
        json_add_bool(spec, "unschedulable", cordoned);
    return true;
}

static bool spec_of_guest(struct json_object *spec, struct json_object *before,
                          struct json_object *after, struct err *err)
{
    static const char *const free[] = {"evictionStrategy", "nodeSelector", "tolerations",
                                       "affinity"};
    static const char *const derived[] = {"kubevirt.io/nodeName"};
    return only_changes(before, after, "spec", API_WORDS(free), err) &&
           merge_overlay_labels(spec, before, after, API_WORDS(derived), err) &&
           merge_overlay_spec(spec, before, after, API_WORDS(free), err);
}

/* ---- one write ---- */

struct change {
    const struct api_call *call;
    const struct writable *row;
    const struct versions *versions;        /* a reference */
    const struct snapshot *s;               /* theirs */
    struct json_object *before;             /* owned; NULL: new */
    struct json_object *after;              /* owned: as requested */
    bool is_applied;                        /* after has its managers */
    struct json_object *spec, *kept;        /* owned: stored parts */
    const struct snapshot_object *document; /* of s; NULL: none yet */
    struct object_request request;
};

static void change_fini(struct change *c)
{
    json_object_free(c->before);
    json_object_free(c->after);
    json_object_free(c->spec);
    json_object_free(c->kept);
    versions_unref(c->versions);
}

/* The object in the newest snapshot. */
static bool change_init(struct change *c, const struct api_call *call, const char *name,
                        struct err *err)
{
    const struct http_request *http = call->request;
    size_t i;
    *c = (struct change){.call = call, .row = writable_of(call->kind)};
    c->request.kind = c->row->object;
    api_requester(http, c->request.requester);
    if (!api_namespace_is_valid(http->ns, err) || !api_dry_run(http, &c->request.dry_run, err))
        return false;
    TEXT_SET(c->request.ns, http->ns);
    TEXT_SET(c->request.name, name);
    c->versions = exporter_versions_after(call->x);
    if (c->versions == NULL)
        return err_set(err, ERR_UNREACHABLE, "Ferry is starting: no snapshot yet");
    c->s = c->versions->snapshot;
    if (api_find(api_view_of(call->kind), c->s, http->ns, name, &i))
        c->before = api_versioned(c->versions, call->kind, i);
    c->document = api_document(c->s, c->row->object, c->request.ns, name);
    return true;
}

/* A resourceVersion of the client must match. */
static bool check_version(struct change *c, struct err *err)
{
    const char *wanted, *now;
    if (!json_get_text(c->after, "metadata.resourceVersion", "", &wanted, err))
        return false;
    if (*wanted == '\0' || c->before == NULL)
        return true;
    if (!json_get_text(c->before, "metadata.resourceVersion", "", &now, err))
        return false;
    if (strcmp(wanted, now) == 0)
        return true;
    return err_set(err, ERR_REFUSED,
                   "Operation cannot be fulfilled on %s \"%.100s\": the object has been modified; "
                   "please apply your changes to the latest version and try again",
                   api_kind_row(c->call->kind)->plural, c->request.name);
}

static bool check_identity(struct change *c, struct err *err)
{
    const char *name, *prefix, *uid, *old;
    if (!api_check_type(c->after, c->call->kind, err) ||
        !api_read_names(c->after, c->call->request->ns, &name, &prefix, err) ||
        !json_get_text(c->after, "metadata.uid", "", &uid, err))
        return false;
    if (*name != '\0' && strcmp(name, c->request.name) != 0)
        return err_set(
            err, ERR_INVALID,
            "the name of the object (%.100s) does not match the name on the URL (%.100s)", name,
            c->request.name);
    if (c->before == NULL || *uid == '\0')
        return true;
    if (!json_get_text(c->before, "metadata.uid", "", &old, err))
        return false;
    return strcmp(uid, old) == 0 ||
           err_set(err, ERR_REFUSED, "precondition: its uid is '%s', not %.40s", old, uid);
}

/* fieldManager, else the client's name, as in Kubernetes. */
static void read_manager(const struct http_request *http, char *out)
{
    const char *named = http_query(http, "fieldManager");
    const char *agent = http_header(http, "User-Agent");
    const char *from = named != NULL && *named != '\0' ? named : agent == NULL ? "unknown" : agent;
    size_t n = from == named ? strlen(from) : strcspn(from, "/");
    (void)snprintf(out, FIELD_MANAGER_NAME_MAX, "%.*s", (int)(n > 128 ? 128 : n), from);
}

/* Who set which field, kept beside labels and annotations, as far as there is room: it never keeps
 * anybody from a change. */
static void keep_managers(struct change *c)
{
    char manager[FIELD_MANAGER_NAME_MAX];
    const struct field_request request = {.manager = manager,
                                          .api_version = api_kind_row(c->call->kind)->api_version,
                                          .now_ms = clock_wall_ms(c->call->x->clock)};
    read_manager(c->call->request, manager);
    struct json_object *metadata = json_at(c->after, "metadata");
    OWNED(json_object) managers = c->is_applied
                                      ? json_object_get(json_at(metadata, "managedFields"))
                                      : field_managers_update(c->before, c->after, &request);
    size_t used = strlen(json_object_to_json_string_ext(c->kept, JSON_C_TO_STRING_PLAIN)) +
                  sizeof ",\"managedFields\":";
    if (managers != NULL)
        field_managers_fit(managers, used < REQUEST_METADATA_MAX ? REQUEST_METADATA_MAX - used : 0);
    if (managers != NULL && json_object_array_length(managers) > 0)
        json_add(c->kept, "managedFields", json_object_get(managers));
    if (json_object_is_type(metadata, json_type_object) && managers != NULL)
        json_add(metadata, "managedFields", TAKE(managers));
}

/* Computes the stored parts from the requested object. */
static bool change_finish(struct change *c, struct err *err)
{
    static const char reasons[] = "ferry.internal/reasons"; /* Ferry's own; see api_instance.c */
    if (!check_identity(c, err) || !check_version(c, err))
        return false;
    c->kept = json_object_new_object();
    if ((c->row->keeps_labels && !api_copy_texts(c->after, "labels", true, c->kept, err)) ||
        !api_copy_texts(c->after, "annotations", false, c->kept, err))
        return false;
    struct json_object *annotations = json_object_object_get(c->kept, "annotations");
    if (c->call->kind == KIND_INSTANCE && annotations != NULL)
        json_object_object_del(annotations, reasons);
    if (annotations != NULL && json_object_object_length(annotations) == 0)
        json_object_object_del(c->kept, "annotations");
    c->spec = api_object_from(c->document == NULL ? NULL : c->document->spec_json, NULL);
    keep_managers(c);
    if (!c->row->spec(c->spec, c->before, c->after, err) ||
        !api_kept_text(c->kept, &c->request.metadata_json, err))
        return false;
    if (c->request.metadata_json == NULL && c->document != NULL)
        c->request.metadata_json = "{}"; /* removes them */
    c->request.spec_json = json_object_to_json_string_ext(c->spec, JSON_C_TO_STRING_PLAIN);
    return true;
}

/* The plan of a drain, as its status. */
static bool add_plan(struct change *c, struct err *err)
{
    struct question question = {.kind = QUESTION_DRAIN_PLAN};
    const char *node;
    if (!json_get_text(c->spec, "nodeName", "", &node, err) ||
        !json_get_bool(c->spec, "shutdown", false, &question.shutdown, err))
        return false;
    if (!text_copy(question.name, sizeof question.name, node))
        return err_set(err, ERR_NOT_FOUND, "spec.nodeName: no node has a name that long");
    OWNED_TEXT text = NULL;
    if (!c->call->x->requests.ask(c->call->x->requests.ctx, &question, &text, err))
        return false;
    json_add(c->after, "status", api_object_from(text, NULL));
    return true;
}

static void fill_type(struct change *c, const struct migration_ref *ref)
{
    const struct api_kind_row *row = api_kind_row(c->call->kind);
    json_add_text(c->after, "apiVersion", row->api_version);
    json_add_text(c->after, "kind", row->kind);
    struct json_object *metadata = json_object_object_get(c->after, "metadata");
    if (metadata == NULL)
        metadata = json_add_object(c->after, "metadata");
    json_add_text(metadata, "name", c->request.name);
    if (row->namespaced)
        json_add_text(metadata, "namespace", c->request.ns);
    if (ref->uid[0] != '\0')
        json_add_text(metadata, "uid", ref->uid);
}

/* The object in the newest snapshot; for a dry run the requested object. */
static void reply_written(struct change *c, unsigned status, const struct migration_ref *ref,
                          struct http_reply *reply)
{
    const struct api_view *view = api_view_of(c->call->kind);
    const struct versions *v = c->request.dry_run ? NULL : exporter_versions_after(c->call->x);
    size_t i;
    if (v != NULL && api_find(view, v->snapshot, c->call->request->ns, c->request.name, &i)) {
        reply_json(reply, status, api_versioned(v, c->call->kind, i));
    } else {
        fill_type(c, ref);
        reply_json(reply, status, json_object_get(c->after));
    }
    versions_unref(v);
}

static bool put(struct change *c, struct http_reply *reply, struct err *err)
{
    struct migration_ref ref = {0};
    bool is_new = c->before == NULL;
    c->request.must_be_new = is_new;
    c->request.must_exist = !is_new && !c->row->is_overlay;
    c->request.if_version = c->document == NULL ? 0 : c->document->resource_version;
    if (!c->call->x->requests.put(c->call->x->requests.ctx, &c->request, &ref, err))
        return false;
    if (c->request.dry_run && c->call->kind == KIND_DRAIN && !add_plan(c, err))
        return false;
    reply_written(c, is_new ? 201 : 200, &ref, reply);
    return true;
}

/* ---- the handlers ---- */

static bool create(const struct api_call *call, struct json_object *body, struct http_reply *reply,
                   struct err *err)
{
    const char *name, *prefix;
    if (!api_check_type(body, call->kind, err) ||
        !api_read_names(body, call->request->ns, &name, &prefix, err))
        return false;
    if (*name == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "metadata.name: is missing%s",
                       *prefix == '\0' ? "" : "; generateName is for migrations only");
    struct change c;
    bool is_done = change_init(&c, call, name, err);
    if (is_done && c.before != NULL && c.document != NULL)
        is_done = err_set(err, ERR_EXISTS, "%s \"%.100s\" already exists",
                          api_kind_row(call->kind)->plural, name);
    if (is_done) {
        json_object_free(c.before); /* a namespace without a stored object counts as new */
        c.before = NULL;
        c.after = json_object_get(body);
        is_done = change_finish(&c, err) && put(&c, reply, err);
    }
    change_fini(&c);
    return is_done;
}

void serve_document_create(const struct api_call *call, struct http_reply *out_reply)
{
    api_serve_create(call, create, out_reply);
}

/* Server-side apply: the body is what the manager wants, and nothing else. */
static struct json_object *apply_config(struct change *c, struct err *err)
{
    const struct http_request *http = c->call->request;
    const char *manager = http_query(http, "fieldManager");
    if (manager == NULL || *manager == '\0' || strlen(manager) >= FIELD_MANAGER_NAME_MAX) {
        (void)err_set(err, ERR_UNPROCESSABLE,
                      "fieldManager: is required for an apply patch, at most %d bytes",
                      FIELD_MANAGER_NAME_MAX - 1);
        return NULL;
    }
    OWNED(json_object) config = api_apply_body(http->body, http->body_bytes, err);
    if (config == NULL)
        return NULL;
    const struct field_request request = {.manager = manager,
                                          .api_version = api_kind_row(c->call->kind)->api_version,
                                          .is_forced =
                                              text_equal(http_query(http, "force"), "true"),
                                          .now_ms = clock_wall_ms(c->call->x->clock)};
    c->is_applied = true;
    return field_managers_apply(c->before, config, &request, err);
}

/* patch COUNT: the body is the whole object. */
static bool apply(struct change *c, enum api_patch patch, struct err *err)
{
    const struct http_request *http = c->call->request;
    bool may_make =
        patch == API_PATCH_APPLY && strstr(api_kind_row(c->call->kind)->verbs, "create");
    if (c->before == NULL && !may_make) {
        const struct api_kind_row *row = api_kind_row(c->call->kind);
        return err_set(err, ERR_NOT_FOUND, "%s \"%.256s\" not found", row->plural, http->name);
    }
    c->after = patch == API_PATCH_COUNT ? api_body(http, err)
               : patch == API_PATCH_APPLY
                   ? apply_config(c, err)
                   : api_patch(patch, c->before, http->body, http->body_bytes, err);
    return c->after != NULL && change_finish(c, err);
}

/* Was the object changed meanwhile? */
static bool has_moved(const struct change *c)
{
    const struct versions *v = exporter_versions_after(c->call->x);
    const struct snapshot_object *now =
        api_document(v->snapshot, c->row->object, c->request.ns, c->request.name);
    bool moved = (now == NULL) != (c->document == NULL) ||
                 (now != NULL && now->resource_version != c->document->resource_version);
    versions_unref(v);
    return moved;
}

/* *out_again: nothing was written; retry. */
static bool try_write(const struct api_call *call, enum api_patch patch, struct http_reply *reply,
                      bool *out_again, struct err *err)
{
    struct change c;
    *out_again = false;
    bool is_ready = change_init(&c, call, call->request->name, err) && apply(&c, patch, err);
    bool is_done = is_ready && put(&c, reply, err);
    if (is_ready && !is_done && err->code == ERR_REFUSED && patch != API_PATCH_COUNT)
        *out_again = has_moved(&c);
    change_fini(&c);
    return is_done;
}

static void write_until_done(const struct api_call *call, enum api_patch patch,
                             struct http_reply *reply)
{
    for (unsigned tries = 1;; tries++) {
        struct err err = {0};
        bool again;
        if (try_write(call, patch, reply, &again, &err))
            return;
        if (again && tries < TRIES_MAX)
            continue;
        if (err.code == ERR_NOT_FOUND)
            reply_not_found(reply, call->kind, call->request->name);
        else
            reply_err(reply, &err, call->kind, call->request->name);
        return;
    }
}

void serve_document_replace(const struct api_call *call, struct http_reply *out_reply)
{
    if (api_is_json(call->request, out_reply))
        write_until_done(call, API_PATCH_COUNT, out_reply);
}

void serve_document_patch(const struct api_call *call, struct http_reply *out_reply)
{
    enum api_patch patch;
    if (api_is_patch(call->request, &patch, out_reply))
        write_until_done(call, patch, out_reply);
}

static bool remove_document(const struct api_call *call, const struct snapshot_object *document,
                            struct http_reply *reply, struct err *err)
{
    const struct http_request *http = call->request;
    struct object_ref ref = {.kind = writable_of(call->kind)->object};
    api_requester(http, ref.requester);
    TEXT_SET(ref.ns, http->ns);
    TEXT_SET(ref.name, http->name);
    if (!call->x->requests.remove(call->x->requests.ctx, &ref, err))
        return false;
    reply_deleted(reply, call->kind, http->name, document == NULL ? NULL : document->uid);
    return true;
}

void serve_document_delete(const struct api_call *call, struct http_reply *out_reply)
{
    const struct http_request *http = call->request;
    const struct snapshot_object *document =
        call->snapshot == NULL ? NULL
                               : api_document(call->snapshot, writable_of(call->kind)->object,
                                              http->ns == NULL ? "" : http->ns, http->name);
    struct api_delete_options options;
    struct err err = {0};
    bool is_done = api_read_delete(http, &options, &err) &&
                   api_check_uid(&options, document == NULL ? NULL : document->uid, &err);
    if (is_done && options.dry_run && document != NULL)
        reply_deleted(out_reply, call->kind, http->name, document->uid);
    else if (is_done && options.dry_run)
        reply_not_found(out_reply, call->kind, http->name);
    else if (is_done)
        is_done = remove_document(call, document, out_reply, &err);
    if (is_done)
        return;
    if (err.code == ERR_NOT_FOUND)
        reply_not_found(out_reply, call->kind, http->name);
    else
        reply_err(out_reply, &err, call->kind, http->name);
}
