/* pending_change.c - see pending_change.h. */
#include "engine/model/definition/pending_change.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

enum { DESCRIBED_MAX = HV_TOKEN_MAX + 32 };

/* Both interfaces of a team have one MAC address; the transient one tells them apart. */
static bool is_same(const struct hv_interface *a, const struct hv_interface *b)
{
    return a->mac[0] != '\0' && strcmp(a->mac, b->mac) == 0 && a->transient == b->transient;
}

static const struct hv_interface *find(const struct hv_definition *in,
                                       const struct hv_interface *wanted)
{
    for (size_t i = 0; i < in->n_interfaces; i++)
        if (is_same(&in->interfaces[i], wanted))
            return &in->interfaces[i];
    return NULL;
}

static bool is_host_device(const struct hv_interface *interface)
{
    return strcmp(interface->type, "hostdev") == 0 || strcmp(interface->type, "vdpa") == 0;
}

static bool is_moved(const struct hv_interface *a, const struct hv_interface *b)
{
    return strcmp(a->type, b->type) != 0 || strcmp(a->source, b->source) != 0;
}

static uint64_t hash_interfaces(const struct hv_definition *definition)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < definition->n_interfaces; i++) {
        const struct hv_interface *interface = &definition->interfaces[i];
        hash = hash_word(hash, interface->mac);
        hash = hash_word(hash, interface->type);
        hash = hash_word(hash, interface->source);
        hash = hash_word(hash, interface->transient ? "transient" : "");
    }
    return hash == 0 ? 1 : hash; /* 0 means no pending change */
}

/* Were all interfaces read? */
static bool is_whole(const struct hv_definition *definition)
{
    return definition != NULL &&
           (definition->cut == 0 || definition->n_interfaces < HV_INTERFACES_MAX);
}

/* "network blue" or "type user". */
static void describe(const struct hv_interface *interface, char out_text[static DESCRIBED_MAX])
{
    bool named = interface->source[0] != '\0';
    (void)snprintf(out_text, DESCRIBED_MAX, "%s %.30s", named ? interface->type : "type",
                   named ? interface->source : interface->type);
}

static bool is_plugged(const struct hv_interface *interface)
{
    return strcmp(interface->type, "network") == 0 || strcmp(interface->type, "bridge") == 0;
}

/* Would a migration connect it to another network? */
static bool is_cured(const struct hv_interface *present, const struct hv_interface *wanted)
{
    return is_moved(present, wanted) && is_plugged(present) && is_plugged(wanted);
}

static bool any_is_cured(const struct hv_definition *live, const struct hv_definition *persistent)
{
    for (size_t i = 0; i < live->n_interfaces; i++) {
        const struct hv_interface *wanted = find(persistent, &live->interfaces[i]);
        if (wanted != NULL && is_cured(&live->interfaces[i], wanted))
            return true;
    }
    return false;
}

static bool compare_wanted(const struct hv_definition *live, const struct hv_interface *wanted,
                           struct pending_change *out)
{
    const struct hv_interface *present = find(live, wanted);
    char to[DESCRIBED_MAX], from[DESCRIBED_MAX];
    describe(wanted, to);
    if (present == NULL) {
        out->is = is_host_device(wanted) ? PENDING_CHANGE_NOW : PENDING_CHANGE_SOON;
        out->todo = "a migration cannot add an interface: attach it to the running guest (virsh "
                    "attach-device --live) or restart the guest";
        (void)snprintf(out->detail, sizeof out->detail, "interface %s (%s) was added", wanted->mac,
                       to);
        return true;
    }
    if (!is_moved(present, wanted))
        return false;
    describe(present, from);
    out->is = PENDING_CHANGE_NOW;
    if (!is_cured(present, wanted))
        out->todo = "a migration cannot change the type of an interface: restart the guest";
    (void)snprintf(out->detail, sizeof out->detail, "interface %s changes from %s to %s",
                   wanted->mac, from, to);
    return true;
}

static void compare(const struct hv_definition *live, const struct hv_definition *persistent,
                    struct pending_change *out)
{
    for (size_t i = 0; i < persistent->n_interfaces; i++)
        if (persistent->interfaces[i].mac[0] != '\0' &&
            compare_wanted(live, &persistent->interfaces[i], out))
            return;
    for (size_t i = 0; i < live->n_interfaces; i++) {
        const struct hv_interface *present = &live->interfaces[i];
        if (present->mac[0] == '\0' || find(persistent, present) != NULL)
            continue;
        char from[DESCRIBED_MAX];
        describe(present, from);
        out->is = PENDING_CHANGE_SOON;
        out->todo =
            "a migration cannot remove an interface: detach it from the running guest (virsh "
            "detach-device --live) or restart the guest";
        (void)snprintf(out->detail, sizeof out->detail, "interface %s (%s) was removed",
                       present->mac, from);
        return;
    }
}

void pending_change_plug(struct hv_definition *live, const struct hv_definition *persistent)
{
    for (size_t i = 0; i < live->n_interfaces; i++) {
        struct hv_interface *present = &live->interfaces[i];
        const struct hv_interface *wanted = find(persistent, present);
        if (wanted == NULL || !is_plugged(present) || !is_plugged(wanted))
            continue;
        TEXT_SET(present->type, wanted->type);
        TEXT_SET(present->source, wanted->source);
    }
}

void pending_change_evaluate(const struct hv_definition *live,
                             const struct hv_definition *persistent,
                             struct pending_change *out_change)
{
    struct pending_change pending_change = {0};
    if (is_whole(live) && is_whole(persistent))
        compare(live, persistent, &pending_change);
    if (pending_change.is != PENDING_CHANGE_NO) {
        pending_change.hash = hash_interfaces(persistent);
        pending_change.cures = any_is_cured(live, persistent);
    }
    *out_change = pending_change;
}
