/* qmp.c - see qmp.h. */
#include "hypervisor/oob/qmp.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* Nodes that libvirt makes for disks on their way. */
#define MIGRATION_NODE "migration-"

static const char *text_at(struct json_object *object, const char *path)
{
    const char *text;
    struct err ignored = {0};
    return json_get_text(object, path, "", &text, &ignored) ? text : "";
}

static bool offers_oob(struct json_object *greeting)
{
    struct json_object *list = json_at(greeting, "capabilities");
    size_t n = json_object_get_type(list) == json_type_array ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *word = json_object_array_get_idx(list, i);
        if (json_object_get_type(word) == json_type_string &&
            strcmp(json_object_get_string(word), "oob") == 0)
            return true;
    }
    return false;
}

void qmp_read(struct json_object *object, struct qmp_message *out_message)
{
    struct qmp_message message = {.kind = QMP_OTHER};
    if (json_object_get_type(object) == json_type_object) {
        struct json_object *returned = json_at(object, "return");
        TEXT_SET(message.id, text_at(object, "id"));
        if (json_at(object, "QMP") != NULL) {
            message.kind = QMP_GREETING;
            message.oob = offers_oob(json_at(object, "QMP"));
        } else if (returned != NULL) {
            message.kind = QMP_RETURN;
            message.returned = returned;
            if (json_object_get_type(returned) == json_type_object)
                TEXT_SET(message.uuid, text_at(returned, "UUID"));
        } else if (json_at(object, "error") != NULL) {
            message.kind = QMP_ERROR;
            TEXT_SET(message.text, text_at(object, "error.desc"));
        }
    }
    for (char *c = message.uuid; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    *out_message = message;
}

static bool is_ours(struct json_object *instance, bool disks)
{
    if (json_object_get_type(instance) != json_type_object)
        return false;
    const char *type = text_at(instance, "type");
    if (!disks)
        return strcmp(type, "migration") == 0;
    return strcmp(type, "block-node") == 0 &&
           strncmp(text_at(instance, "node-name"), MIGRATION_NODE, strlen(MIGRATION_NODE)) == 0;
}

static void choose(struct json_object *known, bool disks, struct json_object *chosen)
{
    size_t n = json_object_get_type(known) == json_type_array ? json_object_array_length(known) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *instance = json_object_array_get_idx(known, i);
        if (is_ours(instance, disks))
            json_add(chosen, NULL, json_object_get(instance));
    }
}

char *qmp_yank_order(struct json_object *instances, const char *verb, const char *id,
                     struct err *err)
{
    OWNED(json_object) order = json_object_new_object();
    json_add_text(order, verb, "yank");
    struct json_object *chosen = json_add_array(json_add_object(order, "arguments"), "instances");
    choose(instances, true, chosen);
    choose(instances, false, chosen);
    json_add_text(order, "id", id);
    if (chosen != NULL && json_object_array_length(chosen) == 0) {
        (void)err_set(err, ERR_REFUSED, "no stream to break");
        return NULL;
    }
    const char *text = chosen != NULL ? json_object_to_json_string(order) : NULL;
    char *copy = text != NULL ? strdup(text) : NULL;
    if (copy == NULL)
        (void)err_set(err, ERR_NOMEM, "no memory for an order to QEMU");
    return copy;
}
