/* api_stored.c - stored objects: policies, quotas, namespaces, drains. Shown as written, with a
 * status. A namespace in use is also shown without a stored object. */
#include <string.h>

#include "base/human.h"
#include "exporter/api/api.h"

static struct json_object *labels_of(const struct snapshot_object *document)
{
    return api_object_from(document->metadata_json, "labels");
}

/* Everything but the status; returns the object, new. */
static struct json_object *object_of(enum api_kind kind, const struct snapshot_object *document)
{
    const struct api_meta meta = {document->ns, document->name, document->uid,
                                  document->created_ms};
    struct json_object *out = json_object_new_object();
    struct json_object *metadata = api_add_meta(out, kind, &meta);
    OWNED(json_object) labels = labels_of(document);
    if (json_object_object_length(labels) > 0)
        json_add(metadata, "labels", TAKE(labels));
    api_add_annotations(metadata, document->metadata_json);
    json_add(out, "spec", api_object_from(document->spec_json, NULL));
    return out;
}

static void add_texts(struct json_object *cells, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        json_add_text(cells, "", texts[i]);
}

/* ---- shared; numbers are indexes of the snapshot's objects ---- */

static size_t count(const struct snapshot *s)
{
    return s->n_objects;
}
static const char *ns(const struct snapshot *s, size_t i)
{
    return s->objects[i]->ns;
}
static const char *name(const struct snapshot *s, size_t i)
{
    return s->objects[i]->name;
}
static const char *uid(const struct snapshot *s, size_t i)
{
    return s->objects[i]->uid;
}
static struct json_object *labels(const struct snapshot *s, size_t i)
{
    return labels_of(s->objects[i]);
}
static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    return api_documents_are_same(a->objects[i], b->objects[j]);
}

/* ---- policies ---- */

static bool is_policy(const struct snapshot *s, size_t i)
{
    return s->objects[i]->kind == OBJECT_POLICY;
}

static struct json_object *policy_object(const struct snapshot *s, size_t i)
{
    struct json_object *out = object_of(KIND_POLICY, s->objects[i]);
    json_add(out, "status", api_object_from(s->objects[i]->status_json, NULL));
    return out;
}

/* "a=b,c=d"; "<all>" for an empty selector, "<none>" where there is none at all. */
static void selector_text(struct json_object *selectors, const char *key, struct buf *out)
{
    OWNED(json_object) none = json_object_new_object();
    struct json_object *pairs = selectors == NULL ? NULL : json_at(selectors, key);
    if (!json_object_is_type(pairs, json_type_object))
        pairs = none;
    json_object_object_foreach(pairs, label, value)
    {
        buf_addf(out, "%s%s=%s", out->length > 0 ? "," : "", label, json_object_get_string(value));
    }
    if (out->length == 0)
        buf_add(out, selectors == NULL ? "<none>" : "<all>");
}

static void policy_cells(const struct snapshot *s, size_t i, int64_t now_ms,
                         struct json_object *cells)
{
    enum { SELECTOR_TEXT_MAX = 4096 };
    static const char *const keys[] = {"virtualMachineInstanceSelector", "namespaceSelector"};
    OWNED(json_object) spec = api_object_from(s->objects[i]->spec_json, NULL);
    for (size_t k = 0; k < COUNT(keys); k++) {
        struct buf text;
        buf_init(&text, SELECTOR_TEXT_MAX);
        selector_text(json_at(spec, "selectors"), keys[k], &text);
        json_add_text(cells, "", text.data == NULL ? "" : text.data);
        buf_fini(&text);
    }
    char age[API_SHORT_TEXT_MAX];
    api_age_text(s->objects[i]->created_ms, now_ms, age);
    json_add_text(cells, "", age);
}

const struct api_view api_policies = {.count = count,
                                      .name = name,
                                      .uid = uid,
                                      .is_same = is_same,
                                      .labels = labels,
                                      .object = policy_object,
                                      .add_cells = policy_cells,
                                      .is_there = is_policy};

/* ---- namespaces ---- */

static const struct snapshot_namespace *find_namespace(const struct snapshot *s, const char *wanted)
{
    size_t low = 0, high = s->n_namespaces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(s->namespaces[middle].name, wanted);
        if (order == 0)
            return &s->namespaces[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_same_use(const struct snapshot_namespace *a, const struct snapshot_namespace *b)
{
    return a == b || (a != NULL && b != NULL && a->launchers == b->launchers &&
                      a->memory_kib == b->memory_kib && a->vcpus == b->vcpus);
}

/* ---- quotas ---- */

static bool is_quota(const struct snapshot *s, size_t i)
{
    return s->objects[i]->kind == OBJECT_QUOTA;
}

/* The resources of a quota by Kubernetes' name, and their usage. */
static void used_text(const struct snapshot_namespace *namespace, const char *key, char *out)
{
    static const struct {
        const char *word;
        enum { LAUNCHERS, MEMORY, VCPUS } what;
    } rows[] = {{"memory", MEMORY}, {"cpu", VCPUS}, {"pods", LAUNCHERS}, {"launchers", LAUNCHERS}};
    static const struct snapshot_namespace nothing;
    const struct snapshot_namespace *used = namespace == NULL ? &nothing : namespace;
    out[0] = '\0';
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strstr(key, rows[i].word) == NULL)
            continue;
        unsigned long long value = rows[i].what == MEMORY  ? used->memory_kib
                                   : rows[i].what == VCPUS ? used->vcpus
                                                           : used->launchers;
        (void)snprintf(out, API_SHORT_TEXT_MAX, rows[i].what == MEMORY ? "%lluKi" : "%llu", value);
        return;
    }
}

static struct json_object *quota_object(const struct snapshot *s, size_t i)
{
    const struct snapshot_object *document = s->objects[i];
    const struct snapshot_namespace *namespace = find_namespace(s, document->ns);
    struct json_object *out = object_of(KIND_QUOTA, document);
    struct json_object *status = json_add_object(out, "status");
    OWNED(json_object) hard = api_object_from(document->spec_json, "hard");
    struct json_object *used = json_add_object(status, "used");
    json_object_object_foreach(hard, key, value)
    {
        char text[API_SHORT_TEXT_MAX];
        (void)value;
        used_text(namespace, key, text);
        json_add_text(used, key, text);
    }
    json_add(status, "hard", TAKE(hard));
    return out;
}

static void quota_cells(const struct snapshot *s, size_t i, int64_t now_ms,
                        struct json_object *cells)
{
    enum { USED_TEXT_MAX = 1024 };
    const struct snapshot_namespace *namespace = find_namespace(s, s->objects[i]->ns);
    OWNED(json_object) hard = api_object_from(s->objects[i]->spec_json, "hard");
    char text[API_SHORT_TEXT_MAX];
    struct buf all;
    buf_init(&all, USED_TEXT_MAX);
    json_object_object_foreach(hard, key, value)
    {
        used_text(namespace, key, text);
        buf_addf(&all, "%s%s: %s/%s", all.length > 0 ? ", " : "", key, text,
                 json_object_get_string(value));
    }
    json_add_text(cells, "", all.data == NULL ? "" : all.data);
    buf_fini(&all);
    api_age_text(s->objects[i]->created_ms, now_ms, text);
    json_add_text(cells, "", text);
}

static bool is_same_quota(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    return is_same(a, i, b, j) &&
           is_same_use(find_namespace(a, a->objects[i]->ns), find_namespace(b, b->objects[j]->ns));
}

const struct api_view api_quotas = {.count = count,
                                    .ns = ns,
                                    .name = name,
                                    .uid = uid,
                                    .is_same = is_same_quota,
                                    .labels = labels,
                                    .object = quota_object,
                                    .add_cells = quota_cells,
                                    .is_there = is_quota};

/* ---- namespaces: first those in use, then stored ones ---- */

static size_t namespace_count(const struct snapshot *s)
{
    return s->n_namespaces + s->n_objects;
}

static bool is_namespace(const struct snapshot *s, size_t i)
{
    if (i < s->n_namespaces)
        return true;
    const struct snapshot_object *document = s->objects[i - s->n_namespaces];
    return document->kind == OBJECT_NAMESPACE && find_namespace(s, document->name) == NULL;
}

static const char *namespace_name(const struct snapshot *s, size_t i)
{
    return i < s->n_namespaces ? s->namespaces[i].name : s->objects[i - s->n_namespaces]->name;
}

static struct json_object *namespace_labels(const struct snapshot *s, size_t i)
{
    if (i < s->n_namespaces && s->namespaces[i].labels != NULL)
        return api_object_from(s->namespaces[i].labels, NULL);
    const struct snapshot_object *document =
        api_document(s, OBJECT_NAMESPACE, "", namespace_name(s, i));
    return api_object_from(document == NULL ? NULL : document->spec_json, "labels");
}

static const char *namespace_uid(const struct snapshot *s, size_t i)
{
    const struct snapshot_object *document =
        api_document(s, OBJECT_NAMESPACE, "", namespace_name(s, i));
    return document == NULL ? "" : document->uid;
}

static bool is_same_namespace(const struct snapshot *a, size_t i, const struct snapshot *b,
                              size_t j)
{
    const struct snapshot_namespace *x = i < a->n_namespaces ? &a->namespaces[i] : NULL;
    const struct snapshot_namespace *y = j < b->n_namespaces ? &b->namespaces[j] : NULL;
    return is_same_use(x, y) && (x == NULL || text_equal(x->labels, y->labels)) &&
           api_documents_are_same(api_document(a, OBJECT_NAMESPACE, "", namespace_name(a, i)),
                                  api_document(b, OBJECT_NAMESPACE, "", namespace_name(b, j)));
}

static struct json_object *namespace_object(const struct snapshot *s, size_t i)
{
    static const struct snapshot_object nothing;
    const char *wanted = namespace_name(s, i);
    const struct snapshot_object *found = api_document(s, OBJECT_NAMESPACE, "", wanted);
    const struct snapshot_object *document = found == NULL ? &nothing : found;
    const struct api_meta meta = {NULL, wanted, document->uid, document->created_ms};
    struct json_object *out = json_object_new_object();
    struct json_object *metadata = api_add_meta(out, KIND_NAMESPACE, &meta);
    if (found == NULL)
        json_add(metadata, "creationTimestamp", NULL);
    json_add(metadata, "labels", namespace_labels(s, i));
    api_add_annotations(metadata, document->metadata_json);
    (void)json_add_object(out, "spec");
    struct json_object *status = json_add_object(out, "status");
    json_add_text(status, "phase", "Active");
    if (i >= s->n_namespaces)
        return out;
    struct json_object *ferry = json_add_object(status, "ferry");
    json_add_i64(ferry, "launchers", (int64_t)s->namespaces[i].launchers);
    json_add_i64(ferry, "memoryKiB", (int64_t)s->namespaces[i].memory_kib);
    json_add_i64(ferry, "vcpus", (int64_t)s->namespaces[i].vcpus);
    return out;
}

static void namespace_cells(const struct snapshot *s, size_t i, int64_t now_ms,
                            struct json_object *cells)
{
    static const struct snapshot_namespace nothing;
    const struct snapshot_namespace *namespace = i < s->n_namespaces ? &s->namespaces[i] : &nothing;
    const struct snapshot_object *document =
        api_document(s, OBJECT_NAMESPACE, "", namespace_name(s, i));
    char memory[API_SHORT_TEXT_MAX], age[API_SHORT_TEXT_MAX];
    human_bytes(namespace->memory_kib * 1024, memory);
    api_age_text(document == NULL ? 0 : document->created_ms, now_ms, age);
    json_add_text(cells, "", "Active");
    json_add_i64(cells, "", (int64_t) namespace->launchers);
    json_add_text(cells, "", memory);
    json_add_i64(cells, "", (int64_t) namespace->vcpus);
    json_add_text(cells, "", age);
}

const struct api_view api_namespaces = {.count = namespace_count,
                                        .name = namespace_name,
                                        .uid = namespace_uid,
                                        .is_same = is_same_namespace,
                                        .labels = namespace_labels,
                                        .object = namespace_object,
                                        .add_cells = namespace_cells,
                                        .is_there = is_namespace};

/* ---- drains ---- */

static bool is_drain(const struct snapshot *s, size_t i)
{
    return s->objects[i]->kind == OBJECT_DRAIN;
}

static struct json_object *drain_object(const struct snapshot *s, size_t i)
{
    struct json_object *out = object_of(KIND_DRAIN, s->objects[i]);
    json_add(out, "status", api_object_from(s->objects[i]->status_json, NULL));
    return out;
}

static int64_t number_at(struct json_object *object, const char *path, int64_t fallback)
{
    struct err ignored = {0};
    int64_t value = fallback;
    return json_get_i64(object, path, fallback, &value, &ignored) ? value : fallback;
}

static const char *text_at(struct json_object *object, const char *path)
{
    struct err ignored = {0};
    const char *text = "";
    return json_get_text(object, path, "", &text, &ignored) ? text : "";
}

static void drain_cells(const struct snapshot *s, size_t i, int64_t now_ms,
                        struct json_object *cells)
{
    OWNED(json_object) spec = api_object_from(s->objects[i]->spec_json, NULL);
    OWNED(json_object) status = api_object_from(s->objects[i]->status_json, NULL);
    char eta[API_SHORT_TEXT_MAX] = "", age[API_SHORT_TEXT_MAX];
    int64_t total = number_at(status, "total", 0), moved = number_at(status, "moved", 0);
    int64_t eta_s = number_at(status, "etaSeconds", -1);
    if (eta_s >= 0 && eta_s < INT32_MAX)
        api_age_text(1, 1 + eta_s * 1000, eta);
    api_age_text(s->objects[i]->created_ms, now_ms, age);
    const char *const first[] = {text_at(status, "state"), text_at(spec, "nodeName")};
    add_texts(cells, first, COUNT(first));
    json_add_i64(cells, "", moved);
    json_add_i64(cells, "", number_at(status, "blocked", 0));
    json_add_i64(cells, "", total > moved ? total - moved : 0);
    const char *const last[] = {eta, age};
    add_texts(cells, last, COUNT(last));
}

const struct api_view api_drains = {.count = count,
                                    .name = name,
                                    .uid = uid,
                                    .is_same = is_same,
                                    .labels = labels,
                                    .object = drain_object,
                                    .add_cells = drain_cells,
                                    .is_there = is_drain};
