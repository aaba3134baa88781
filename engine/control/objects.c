/* objects.c - see objects.h. One row per kind: how its spec is parsed, and what follows when an
 * object is created, changed or removed. */
#include "engine/control/objects.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/control/drain.h"
#include "engine/model/objects/policy.h"

/* ---- parsing ---- */

/* Accepts the listed members; an unknown one is refused by name. */
static bool only_members(struct json_object *spec, const char *const *names, struct err *err)
{
    if (!json_object_is_type(spec, json_type_object))
        return err_set(err, ERR_UNPROCESSABLE, "spec: must be an object");
    json_object_object_foreach(spec, key, value)
    {
        (void)value;
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], key) != 0)
            i++;
        if (names[i] == NULL)
            return err_set(err, ERR_UNPROCESSABLE, "spec.%.100s: unknown field", key);
    }
    return true;
}

static struct json_object *parse_spec(const struct object *object, struct err *err)
{
    return json_parse(object->spec_json, strlen(object->spec_json), "spec", err);
}

static bool labels_are_valid(struct json_object *spec, struct err *err)
{
    struct labels labels = {0};
    struct json_object *member = json_at(spec, "labels");
    bool good = member == NULL || labels_from(member, "labels", &labels, err);
    labels_fini(&labels);
    return good;
}

static bool read_policy(struct fleet *f, struct object *object, struct err *err)
{
    (void)f;
    object->policy = policy_parse(object->spec_json, err);
    return object->policy != NULL;
}

static bool read_quota(struct fleet *f, struct object *object, struct err *err)
{
    (void)f;
    object->quota = quota_parse(object->spec_json, err);
    return object->quota != NULL;
}

static bool read_namespace(struct fleet *f, struct object *object, struct err *err)
{
    (void)f;
    static const char *const names[] = {"labels", NULL};
    OWNED(json_object) spec = parse_spec(object, err);
    return spec != NULL && only_members(spec, names, err) && labels_are_valid(spec, err);
}

static bool read_node(struct fleet *f, struct object *object, struct err *err)
{
    static const char *const names[] = {"labels", "taints", "unschedulable", NULL};
    if (fleet_node(f, object->name) == NULL)
        return err_set(err, ERR_NOT_FOUND, "nodes \"%s\" not found", object->name);
    OWNED(json_object) spec = parse_spec(object, err);
    struct taint taints[TAINTS_MAX];
    size_t n = 0;
    bool cordoned = false;
    struct json_object *list = json_at(spec, "taints");
    return spec != NULL && only_members(spec, names, err) && labels_are_valid(spec, err) &&
           (list == NULL || taints_from(list, "spec.taints", taints, &n, err)) &&
           json_get_bool(spec, "unschedulable", false, &cordoned, err);
}

static bool read_guest(struct fleet *f, struct object *object, struct err *err)
{
    (void)f;
    static const char *const names[] = {"labels",      "evictionStrategy", "nodeSelector",
                                        "tolerations", "affinity",         NULL};
    OWNED(json_object) spec = parse_spec(object, err);
    struct settings settings = {0};
    if (spec == NULL || !only_members(spec, names, err) || !labels_are_valid(spec, err))
        return false;
    json_object_object_del(spec, "labels");
    bool good = settings_parse(NULL, json_object_to_json_string(spec), "spec", &settings, err);
    settings_fini(&settings);
    return good;
}

static bool read_drain(struct fleet *f, struct object *object, struct err *err)
{
    (void)f;
    object->drain = drain_parse(object->spec_json, object->status_json, object->created_ms, err);
    return object->drain != NULL;
}

/* Only its hash is stored. What a role means is the exporter's (exporter/access/roles.def). */
static bool read_token(struct fleet *f, struct object *object, struct err *err)
{
    (void)f;
    static const char *const names[] = {"role", "namespace", "sha256", "expiresMs", NULL};
    enum { SHA256_DIGITS = 64 };
    OWNED(json_object) spec = parse_spec(object, err);
    const char *role, *ns, *hash;
    int64_t expires_ms;
    if (spec == NULL || !only_members(spec, names, err) ||
        !json_get_text(spec, "role", "", &role, err) ||
        !json_get_text(spec, "namespace", "", &ns, err) ||
        !json_get_text(spec, "sha256", "", &hash, err) ||
        !json_get_i64(spec, "expiresMs", 0, &expires_ms, err))
        return false;
    return (role[0] != '\0' && strlen(hash) == SHA256_DIGITS) ||
           err_set(err, ERR_UNPROCESSABLE, "spec: a token has a role and a hash");
}

/* ---- consequences ---- */

/* Policies are matched when they are needed; the exporter reads tokens from the snapshot. */
static void nothing_follows(struct fleet *f, struct object *object, const char *who,
                            struct moment now, struct effects *fx)
{
    (void)f, (void)object, (void)who, (void)now, (void)fx;
}

static void quota_changed(struct fleet *f, struct object *object, const char *who,
                          struct moment now, struct effects *fx)
{
    (void)who, (void)now, (void)fx;
    struct namespace *namespace = fleet_namespace(f, object->ns);
    if (namespace == NULL)
        return;
    namespace->quota_changed = true;
    fleet_quota_changed(f, namespace);
}

static void namespace_changed(struct fleet *f, struct object *object, const char *who,
                              struct moment now, struct effects *fx)
{
    (void)who, (void)now, (void)fx;
    struct err err = {0};
    struct namespace *namespace = fleet_namespace(f, object->name);
    if (namespace == NULL)
        return;
    labels_fini(&namespace->labels);
    OWNED(json_object) spec = object->removed ? NULL : parse_spec(object, &err);
    if (json_at(spec, "labels") != NULL)
        (void)labels_from(json_at(spec, "labels"), "labels", &namespace->labels, &err);
}

static void node_changed(struct fleet *f, struct object *object, const char *who, struct moment now,
                         struct effects *fx)
{
    struct node *node = fleet_node(f, object->name);
    if (node == NULL)
        return;
    bool cordoned = node->cordoned;
    fleet_refresh_node(f, node);
    if (cordoned && !node->cordoned)
        evacuation_node_uncordoned(f, node, who, now, fx);
    f->drains_due = true;
}

static void guest_changed(struct fleet *f, struct object *object, const char *who,
                          struct moment now, struct effects *fx)
{
    (void)who, (void)now, (void)fx;
    unsigned count = 0;
    struct guest *guest = fleet_guest_named(f, object->ns, object->name, &count);
    for (; guest != NULL; guest = guest->next_namesake) {
        fleet_refresh_guest(f, guest);
        if (object->removed)
            evacuation_unset(f, guest); /* an evacuation mark lives in the object only */
        struct job *job = fleet_active_job(f, guest->uuid);
        if (job != NULL && job->phase == PHASE_PENDING)
            fleet_queue_ready(f, job);
    }
}

static void drain_changed(struct fleet *f, struct object *object, const char *who,
                          struct moment now, struct effects *fx)
{
    if (object->removed && !drain_is_final(object->drain->state))
        drain_cancel(f, object, who, now, fx);
    f->drains_due = true;
}

static const struct {
    bool (*read)(struct fleet *, struct object *, struct err *);
    void (*changed)(struct fleet *, struct object *, const char *, struct moment, struct effects *);
} kinds[OBJECT_COUNT] = {
    [OBJECT_POLICY] = {read_policy, nothing_follows},
    [OBJECT_QUOTA] = {read_quota, quota_changed},
    [OBJECT_NAMESPACE] = {read_namespace, namespace_changed},
    [OBJECT_NODE] = {read_node, node_changed},
    [OBJECT_GUEST] = {read_guest, guest_changed},
    [OBJECT_DRAIN] = {read_drain, drain_changed},
    [OBJECT_TOKEN] = {read_token, nothing_follows},
};

/* ---- writing ---- */

static struct object *make(struct fleet *f, const struct object_request *request, struct moment now,
                           struct err *err)
{
    struct object *object = calloc(1, sizeof *object);
    if (object == NULL) {
        err_set(err, ERR_NOMEM, "out of memory: object");
        return NULL;
    }
    object->kind = request->kind;
    fleet_make_uid(f, object->uid);
    TEXT_SET(object->ns, request->ns);
    TEXT_SET(object->name, request->name);
    TEXT_SET(object->requester, request->requester);
    object->created_ms = now.wall_ms;
    object->spec_json = strdup(request->spec_json != NULL ? request->spec_json : "{}");
    object->metadata_json = request->metadata_json != NULL ? strdup(request->metadata_json) : NULL;
    if (object->spec_json == NULL || (request->metadata_json != NULL && !object->metadata_json)) {
        err_set(err, ERR_NOMEM, "out of memory: object");
        object_free(object);
        return NULL;
    }
    return object;
}

static size_t bytes_of(const char *spec, const char *metadata)
{
    return (spec != NULL ? strlen(spec) : 0) + (metadata != NULL ? strlen(metadata) : 0);
}

/* Caps: of the object's size, of its kind's number, of all objects' bytes. */
static bool fits(const struct fleet *f, const struct object_request *request, bool is_new,
                 struct err *err)
{
    const char *kind = object_kind_name(request->kind);
    size_t bytes = bytes_of(request->spec_json, request->metadata_json), n = 0;
    if (bytes > OBJECT_BYTES_MAX)
        return err_set(err, ERR_FORBIDDEN,
                       "%s \"%s\" has %zu bytes of spec and metadata; at most %d are accepted",
                       kind, request->name, bytes, OBJECT_BYTES_MAX);
    for (enum object_kind of = 0; of < OBJECT_COUNT; of++) {
        const struct object *object;
        DL_FOREACH(f->of_kind[of], object)
        {
            bytes += bytes_of(object->spec_json, object->metadata_json);
            n += of == request->kind;
        }
    }
    if (is_new && n >= object_kind_max(request->kind))
        return err_set(err, ERR_FORBIDDEN, "limit reached: %u %s objects; delete some first",
                       object_kind_max(request->kind), kind);
    if (bytes > OBJECTS_BYTES_MAX)
        return err_set(err, ERR_FORBIDDEN, "limit reached: %d bytes of objects; delete some first",
                       OBJECTS_BYTES_MAX);
    return true;
}

/* The oldest finished drain makes room for a new one: nobody deletes them. */
static void drop_finished_drain(struct fleet *f)
{
    struct object *object, *oldest = NULL;
    unsigned n = 0;
    DL_FOREACH(f->of_kind[OBJECT_DRAIN], object)
    {
        n++;
        if (object->drain != NULL && drain_is_final(object->drain->state) &&
            (oldest == NULL || object->created_ms < oldest->created_ms))
            oldest = object;
    }
    if (n >= object_kind_max(OBJECT_DRAIN) && oldest != NULL)
        fleet_remove_object(f, oldest);
}

static bool may_put(const struct fleet *f, const struct object_request *request,
                    const struct object *old, struct err *err)
{
    const char *kind = object_kind_name(request->kind);
    if (!f->store_ok)
        return err_set(err, ERR_IO, "the store is not writable; no new objects are accepted");
    if (request->must_be_new && old != NULL)
        return err_set(err, ERR_EXISTS, "%s \"%s\" already exists", kind, request->name);
    if (request->must_exist && old == NULL)
        return err_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", kind, request->name);
    if (old != NULL && request->if_version != 0 && request->if_version != old->version)
        return err_set(err, ERR_REFUSED,
                       "%s \"%s\" was changed meanwhile; read it again and apply your changes "
                       "to the new version",
                       kind, request->name);
    if (old != NULL && old->kind == OBJECT_DRAIN)
        return err_set(err, ERR_REFUSED, "a Drain cannot be changed; delete it and create another");
    return fits(f, request, old == NULL, err);
}

/* Can it be parsed and take effect? A dry run gets the same answer. */
static bool is_acceptable(struct fleet *f, struct object *object, struct err *err)
{
    return kinds[object->kind].read(f, object, err) &&
           (object->kind != OBJECT_DRAIN || drain_may_begin(f, object, err));
}

/* Replaces spec and metadata; Ferry's own state of the object stays. */
static void replace(struct object *old, struct object *fresh)
{
    struct object before = *old;
    old->spec_json = fresh->spec_json;
    old->policy = fresh->policy;
    old->quota = fresh->quota;
    fresh->spec_json = before.spec_json;
    fresh->policy = before.policy;
    fresh->quota = before.quota;
    if (fresh->metadata_json != NULL) {
        old->metadata_json = fresh->metadata_json;
        fresh->metadata_json = before.metadata_json;
    }
    TEXT_SET(old->requester, fresh->requester);
    object_free(fresh);
}

static void fill_ref(const struct object *object, struct migration_ref *out_ref)
{
    TEXT_SET(out_ref->uid, object->uid);
    TEXT_SET(out_ref->ns, object->ns);
    TEXT_SET(out_ref->name, object->name);
}

bool objects_put(struct fleet *f, const struct object_request *request, struct moment now,
                 struct effects *fx, struct migration_ref *out_ref, struct err *err)
{
    if (request->kind == OBJECT_DRAIN && !request->dry_run)
        drop_finished_drain(f);
    struct object *old = fleet_object(f, request->kind, request->ns, request->name);
    if (!may_put(f, request, old, err))
        return false;
    struct object *object = make(f, request, now, err);
    if (object == NULL)
        return false;
    if (!is_acceptable(f, object, err) || request->dry_run) {
        fill_ref(old != NULL ? old : object, out_ref);
        object_free(object);
        return err->code == ERR_NONE;
    }
    if (old != NULL) {
        replace(old, object);
        object = old;
        fleet_object_changed(f, object);
    } else {
        fleet_add_object(f, object);
    }
    fill_ref(object, out_ref);
    if (object->kind == OBJECT_DRAIN && !drain_begin(f, object, now, fx, err)) {
        fleet_remove_object(f, object);
        return false;
    }
    kinds[object->kind].changed(f, object, request->requester, now, fx);
    return true;
}

bool objects_remove(struct fleet *f, const struct object_ref *ref, struct moment now,
                    struct effects *fx, struct err *err)
{
    struct object *object = fleet_object(f, ref->kind, ref->ns, ref->name);
    if (object == NULL)
        return err_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", object_kind_name(ref->kind),
                       ref->name);
    if (!f->store_ok)
        return err_set(err, ERR_IO, "the store is not writable; no object is removed");
    fleet_remove_object(f, object);
    kinds[object->kind].changed(f, object, ref->requester, now, fx);
    return true;
}

bool objects_restore(struct fleet *f, struct object *take_object, struct err *err)
{
    struct object *object = take_object;
    struct effects none = {0};
    if (!kinds[object->kind].read(f, object, err)) {
        object_free(object);
        return false;
    }
    fleet_add_object(f, object);
    if (object->kind != OBJECT_DRAIN)
        kinds[object->kind].changed(f, object, "", (struct moment){0}, &none);
    effects_fini(&none);
    return true;
}
