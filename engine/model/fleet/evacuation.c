/* evacuation.c - see evacuation.h. */
#include "engine/model/fleet/evacuation.h"

#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

/* The object exists only because of the mark. */
static bool is_only_ours(const struct object *object)
{
    return strcmp(object->requester, OBJECT_OURS) == 0 && object->metadata_json == NULL &&
           strcmp(object->spec_json, "{}") == 0;
}

bool evacuation_set(struct fleet *f, struct guest *guest, const char *node, bool by_descheduler,
                    struct moment now)
{
    if (strcmp(guest->evacuation_node, node) == 0 &&
        (guest->evacuation_by_descheduler == by_descheduler || by_descheduler))
        return true; /* a drain's mark keeps its urgency */
    struct object *object = object_make(f, OBJECT_GUEST, guest->ns, guest->name, now);
    if (object == NULL)
        return false;
    OWNED(json_object) status = object_read_part(object->status_json);
    json_object_object_del(status, "evictionSource");
    json_add_text(status, "evacuationNodeName", node);
    json_add_text(status, "evacuationGuest", guest->uuid);
    json_add_text(status, "evictionSource", by_descheduler ? "descheduler" : NULL);
    if (!object_write_part(status, &object->status_json))
        return false;
    TEXT_SET(guest->evacuation_node, node);
    guest->evacuation_by_descheduler = by_descheduler;
    fleet_object_changed(f, object);
    f->guests_version = fleet_touch(f);
    return true;
}

void evacuation_unset(struct fleet *f, struct guest *guest)
{
    if (guest->evacuation_node[0] == '\0')
        return;
    guest->evacuation_node[0] = '\0';
    guest->evacuation_by_descheduler = false;
    f->guests_version = fleet_touch(f);
    struct object *object = fleet_object(f, OBJECT_GUEST, guest->ns, guest->name);
    if (object == NULL)
        return;
    if (is_only_ours(object)) {
        fleet_remove_object(f, object);
        return;
    }
    OWNED(json_object) status = object_read_part(object->status_json);
    json_object_object_del(status, "evacuationNodeName");
    json_object_object_del(status, "evacuationGuest");
    json_object_object_del(status, "evictionSource");
    if (!object_write_part(status, &object->status_json))
        LOG(WARN, "out_of_memory",
            FIELD_TEXT(WHY, "an evacuation mark was not removed from its object"));
    fleet_object_changed(f, object);
}

void evacuation_restore(struct fleet *f, struct guest *guest)
{
    const struct object *object = fleet_object(f, OBJECT_GUEST, guest->ns, guest->name);
    struct err err = {0};
    const char *node, *uuid, *source;
    if (object == NULL || object->status_json == NULL)
        return;
    OWNED(json_object) status = object_read_part(object->status_json);
    if (!json_get_text(status, "evacuationNodeName", "", &node, &err) ||
        !json_get_text(status, "evacuationGuest", guest->uuid, &uuid, &err) ||
        !json_get_text(status, "evictionSource", "", &source, &err))
        return;
    if (strcmp(uuid, guest->uuid) != 0)
        return; /* of another guest with that name */
    TEXT_SET(guest->evacuation_node, node);
    guest->evacuation_by_descheduler = strcmp(source, "descheduler") == 0;
}
