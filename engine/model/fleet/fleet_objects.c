/* fleet_objects.c - objects that users wrote, and the effective values of nodes and guests under
 * them; see fleet.h. An object was checked when it was accepted; one that cannot be parsed
 * nevertheless (an older version's, a damaged one) is ignored and logged. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/model/fleet/fleet_inside.h"
#include "engine/model/objects/drain.h"
#include "engine/model/objects/policy.h"

static void make_key(enum object_kind kind, const char *ns, const char *name, char *out_key)
{
    (void)snprintf(out_key, sizeof((struct object *)NULL)->key, "%s/%s/%s", object_kind_name(kind),
                   ns, name);
}

void object_free(struct object *object)
{
    if (object == NULL)
        return;
    policy_free(object->policy);
    quota_free(object->quota);
    drain_free(object->drain);
    free(object->spec_json);
    free(object->metadata_json);
    free(object->status_json);
    free(object);
}

void fleet_free_objects(struct fleet *f)
{
    struct object *object, *next;
    HASH_ITER(hh, f->objects, object, next)
    {
        HASH_DEL(f->objects, object);
        if (!object->changed)
            object_free(object);
    }
    for (object = f->changed_objects; object != NULL; object = next) {
        next = object->next_changed;
        object_free(object);
    }
}

struct object *fleet_object(struct fleet *f, enum object_kind kind, const char *ns,
                            const char *name)
{
    char key[sizeof((struct object *)NULL)->key];
    make_key(kind, ns, name, key);
    struct object *object = NULL;
    HASH_FIND_STR(f->objects, key, object);
    return object;
}

void fleet_object_changed(struct fleet *f, struct object *object)
{
    object->version = f->objects_version = fleet_touch(f);
    if (object->changed)
        return;
    object->changed = true;
    object->next_changed = f->changed_objects;
    f->changed_objects = object;
}

void fleet_add_object(struct fleet *f, struct object *take_object)
{
    struct object *object = take_object;
    make_key(object->kind, object->ns, object->name, object->key);
    assert(fleet_object(f, object->kind, object->ns, object->name) == NULL);
    HASH_ADD_STR(f->objects, key, object);
    DL_APPEND(f->of_kind[object->kind], object);
    struct namespace *namespace =
        object->kind == OBJECT_QUOTA ? fleet_namespace(f, object->ns) : NULL;
    if (namespace != NULL)
        DL_APPEND2(namespace->quotas, object, prev_here, next_here);
    fleet_object_changed(f, object);
}

void fleet_remove_object(struct fleet *f, struct object *object)
{
    HASH_DEL(f->objects, object);
    DL_DELETE(f->of_kind[object->kind], object);
    if (object->prev_here != NULL)
        DL_DELETE2(fleet_namespace(f, object->ns)->quotas, object, prev_here, next_here);
    object->removed = true;
    fleet_object_changed(f, object); /* the list of objects to store holds it from now on */
}

void fleet_objects_stored(struct fleet *f)
{
    struct object *next;
    for (struct object *object = f->changed_objects; object != NULL; object = next) {
        next = object->next_changed;
        object->next_changed = NULL;
        object->changed = false;
        object->stored = true;
        if (object->removed)
            object_free(object);
    }
    f->changed_objects = NULL;
}

static void log_invalid(const char *kind, const char *name, const struct err *err)
{
    LOG(WARN, "document_not_understood", FIELD_TEXT(KIND, kind), FIELD_TEXT(NAME, name),
        FIELD_TEXT(ERROR, err->text));
}

/* The object's spec as JSON; NULL when there is none. */
static struct json_object *spec_of(const struct object *object)
{
    struct err err = {0};
    if (object == NULL || object->spec_json == NULL)
        return NULL;
    struct json_object *spec =
        json_parse(object->spec_json, strlen(object->spec_json), object->key, &err);
    if (spec == NULL)
        log_invalid(object_kind_name(object->kind), object->name, &err);
    return spec;
}

/* The first text's labels, overridden by the object's. */
static bool lay_labels(const char *own_json, struct json_object *overlay, struct labels *out,
                       struct err *err)
{
    struct labels over = {0};
    struct json_object *member = json_at(overlay, "labels");
    labels_fini(out);
    bool read = labels_parse(own_json, "labels", out, err);
    read = (member == NULL || labels_from(member, "labels", &over, err)) && read;
    for (size_t i = 0; i < over.n; i++)
        (void)labels_set(out, over.pairs[i].key, over.pairs[i].value);
    labels_fini(&over);
    return read;
}

static void node_labels(struct node *node, struct json_object *overlay)
{
    struct err err = {0};
    if (!lay_labels(node->config.labels, overlay, &node->labels, &err))
        log_invalid("Node", node->name, &err);
    (void)labels_set(&node->labels, "kubernetes.io/hostname", node->name);
    if (node->has_facts && node->facts.arch[0] != '\0')
        (void)labels_set(&node->labels, "kubernetes.io/arch", node->facts.arch);
}

static void node_taints(struct node *node, struct json_object *overlay)
{
    struct err err = {0};
    struct json_object *taints = json_at(overlay, "taints");
    OWNED(json_object) configured = NULL;
    if (taints == NULL && node->config.taints != NULL) {
        configured = json_parse(node->config.taints, strlen(node->config.taints), "taints", &err);
        taints = configured;
    }
    node->n_taints = 0;
    if (taints != NULL && !taints_from(taints, "taints", node->taints, &node->n_taints, &err))
        log_invalid("Node", node->name, &err);
}

/* As text, new; NULL for nothing. Takes the value. */
static char *text_of(struct json_object *take_value)
{
    OWNED(json_object) value = take_value;
    return value != NULL ? strdup(json_object_to_json_string(value)) : NULL;
}

static struct json_object *taints_json(const struct node *node)
{
    if (node->n_taints == 0)
        return NULL;
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < node->n_taints; i++) {
        struct json_object *taint = json_add_object(array, "");
        json_add_text(taint, "key", node->taints[i].key);
        if (node->taints[i].value[0] != '\0')
            json_add_text(taint, "value", node->taints[i].value);
        json_add_text(taint, "effect", node->taints[i].effect);
    }
    return array;
}

void fleet_refresh_node(struct fleet *f, struct node *node)
{
    struct err err = {0};
    const struct object *object = fleet_object(f, OBJECT_NODE, "", node->name);
    OWNED(json_object) overlay = spec_of(object);
    node_labels(node, overlay);
    node_taints(node, overlay);
    node->cordoned = node->config.cordoned;
    if (!json_get_bool(overlay, "unschedulable", node->cordoned, &node->cordoned, &err))
        log_invalid("Node", node->name, &err);
    free(node->shown.labels);
    free(node->shown.taints);
    node->shown.labels = text_of(labels_json(&node->labels));
    node->shown.taints = text_of(taints_json(node));
    (void)fleet_touch(f);
    f->guests_version = f->version; /* the status of a guest shows whether its node suits it */
    fleet_node_improved(f, node);
}

/* The object's settings, without its labels: as text, new. */
static char *overlay_text(struct json_object *overlay)
{
    if (overlay == NULL)
        return NULL;
    struct json_object *settings = json_object_new_object();
    json_object_object_foreach(overlay, key, value)
    {
        if (strcmp(key, "labels") != 0)
            json_add(settings, key, json_object_get(value));
    }
    return text_of(settings);
}

/* The domain's settings, overridden by the object's. */
static char *settings_text(const struct guest *guest, const char *own)
{
    struct err err = {0};
    OWNED(json_object) overlay = own != NULL ? json_parse(own, strlen(own), "own", &err) : NULL;
    struct json_object *all = NULL;
    if (guest->metadata_settings != NULL)
        all = json_parse(guest->metadata_settings, strlen(guest->metadata_settings), "settings",
                         &err);
    if (all == NULL)
        all = json_object_new_object();
    if (overlay != NULL) {
        json_object_object_foreach(overlay, key, value) json_add(all, key, json_object_get(value));
    }
    if (json_object_object_length(all) > 0)
        return text_of(all);
    json_object_free(all);
    return NULL;
}

void fleet_refresh_guest(struct fleet *f, struct guest *guest)
{
    struct err err = {0};
    const struct object *object = fleet_object(f, OBJECT_GUEST, guest->ns, guest->name);
    OWNED(json_object) overlay = spec_of(object);
    if (!lay_labels(guest->metadata_labels, overlay, &guest->labels, &err))
        log_invalid("VirtualMachineInstance", guest->name, &err);
    err = (struct err){0};
    if (guest->settings != NULL)
        settings_fini(guest->settings);
    free(guest->settings);
    guest->settings = NULL;
    free(guest->labels_json);
    free(guest->settings_json);
    guest->labels_json = text_of(labels_json(&guest->labels));
    char *own = overlay_text(overlay);
    guest->settings_json = settings_text(guest, own);
    if (guest->metadata_settings != NULL || own != NULL) {
        guest->settings = calloc(1, sizeof *guest->settings);
        if (guest->settings != NULL &&
            !settings_parse(guest->metadata_settings, own, guest->name, guest->settings, &err)) {
            log_invalid("VirtualMachineInstance", guest->name, &err);
            free(guest->settings);
            guest->settings = NULL;
        }
    }
    free(own);
    f->guests_version = fleet_touch(f);
    f->drains_due = f->queue.affinity_changed = true;
}
