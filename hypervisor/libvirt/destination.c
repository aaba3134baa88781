/* destination.c - a guest's definition for its target: the named disks get new locations.
 *
 * Only the source of a disk changes; what the guest sees of it stays. Of the old source its
 * encryption and labels are kept, because they belong to the disk; its backing files are not, since
 * a whole copy has none. A slice is written for the running guest only: QEMU needs it where the
 * destination is bigger, and the next start may use all of it.
 */
#include <string.h>

#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/xml.h"

static xmlNodePtr find_disk(const xmlNode *devices, const char *name)
{
    for (xmlNodePtr node = devices != NULL ? devices->children : NULL; node != NULL;
         node = node->next)
        if (xml_is(node, "disk") && xml_attribute_is(xml_child(node, "target"), "dev", name))
            return node;
    return NULL;
}

/* Moves what belongs to the disk, not to its location, from the old source to the new one. */
static void keep_children(xmlNodePtr old, xmlNodePtr source)
{
    static const char *const kept[] = {"encryption", "seclabel"};
    for (size_t i = 0; i < COUNT(kept); i++) {
        xmlNodePtr node = xml_child(old, kept[i]);
        if (node != NULL) {
            xmlUnlinkNode(node);
            (void)xmlAddChild(source, node);
        }
    }
}

static void add_slice(xmlNodePtr source, uint64_t bytes)
{
    char number[32];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)bytes);
    xmlNodePtr slices = xmlNewChild(source, NULL, (const xmlChar *)"slices", NULL);
    xmlNodePtr slice =
        slices != NULL ? xmlNewChild(slices, NULL, (const xmlChar *)"slice", NULL) : NULL;
    if (slice == NULL)
        return;
    xml_set_attribute(slice, "type", "storage");
    xml_set_attribute(slice, "offset", "0");
    xml_set_attribute(slice, "size", number);
}

static bool move_disk(xmlNodePtr disk, const struct hv_volume *volume, bool live)
{
    xmlNodePtr old = xml_child(disk, "source");
    xmlNodePtr source = xmlNewNode(NULL, (const xmlChar *)"source");
    if (source == NULL)
        return false;
    bool is_device = text_has_prefix(volume->to.name, "/dev/");
    if (volume->to.pool[0] != '\0') {
        xml_set_attribute(disk, "type", "volume");
        xml_set_attribute(source, "pool", volume->to.pool);
        xml_set_attribute(source, "volume", volume->to.name);
    } else {
        xml_set_attribute(disk, "type", is_device ? "block" : "file");
        xml_set_attribute(source, is_device ? "dev" : "file", volume->to.name);
    }
    if (live && volume->slice != 0)
        add_slice(source, volume->slice);
    keep_children(old, source);
    if (old != NULL) {
        (void)xmlReplaceNode(old, source);
        xmlFreeNode(old);
    } else {
        (void)xmlAddChild(disk, source);
    }
    xml_remove_child(disk, "backingStore");
    xml_remove_child(disk, "mirror");
    return true;
}

static bool move_disks(const xmlNode *root, const struct hv_volume *volumes, size_t n, bool live,
                       struct err *err)
{
    const xmlNode *devices = xml_child(root, "devices");
    for (size_t i = 0; i < n; i++) {
        xmlNodePtr disk = find_disk(devices, volumes[i].disk);
        if (disk == NULL && live)
            return err_set(err, ERR_INVALID, "the guest has no disk '%s' any more",
                           volumes[i].disk);
        if (disk != NULL && !move_disk(disk, &volumes[i], live))
            return err_set(err, ERR_NOMEM, "a definition");
    }
    return true;
}

char *libvirt_destination(const char *xml, const struct hv_volume *volumes, size_t n, bool live,
                          struct err *err)
{
    xmlDocPtr doc = xml_parse(xml, HV_DEFINITION_BYTES_MAX);
    xmlNodePtr root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    bool is_domain =
        root != NULL && doc->intSubset == NULL && strcmp((const char *)root->name, "domain") == 0;
    char *text = NULL;
    if (!is_domain)
        (void)err_set(err, ERR_INVALID, "not a domain definition");
    else if (move_disks(root, volumes, n, live, err)) {
        text = xml_print(doc, root);
        if (text == NULL)
            (void)err_set(err, ERR_NOMEM, "a definition");
    }
    xmlFreeDoc(doc);
    return text;
}
