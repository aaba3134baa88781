/* destination.c - a guest's definition as its target shall get it: the named disks lie elsewhere.
 *
 * Only the source of a disk changes; what the guest sees of it stays. Of the old source its
 * encryption and labels are kept, because they belong to the disk; its backing files are not, since
 * a whole copy has none. A part (slice) is said of the running guest only: where the destination is
 * bigger, QEMU takes no other, and the next start may use all of it.
 */
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/libvirt/internal.h"

static xmlNodePtr child_of(const xmlNode *parent, const char *name)
{
    for (xmlNodePtr node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    return NULL;
}

static bool attribute_is(const xmlNode *node, const char *name, const char *wanted)
{
    xmlChar *value = node != NULL ? xmlGetNoNsProp(node, (const xmlChar *)name) : NULL;
    bool same = value != NULL && strcmp((const char *)value, wanted) == 0;
    xmlFree(value);
    return same;
}

static xmlNodePtr find_disk(const xmlNode *devices, const char *name)
{
    for (xmlNodePtr node = devices != NULL ? devices->children : NULL; node != NULL;
         node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, "disk") == 0 &&
            attribute_is(child_of(node, "target"), "dev", name))
            return node;
    return NULL;
}

static void set_attribute(xmlNodePtr node, const char *name, const char *value)
{
    (void)xmlSetProp(node, (const xmlChar *)name, (const xmlChar *)value);
}

static void remove_child(xmlNodePtr parent, const char *name)
{
    xmlNodePtr node = child_of(parent, name);
    if (node == NULL)
        return;
    xmlUnlinkNode(node);
    xmlFreeNode(node);
}

/* Moves what belongs to the disk, not to the place, from the old source to the new one. */
static void keep_children(xmlNodePtr old, xmlNodePtr source)
{
    static const char *const kept[] = {"encryption", "seclabel"};
    for (size_t i = 0; i < COUNT(kept); i++) {
        xmlNodePtr node = child_of(old, kept[i]);
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
    set_attribute(slice, "type", "storage");
    set_attribute(slice, "offset", "0");
    set_attribute(slice, "size", number);
}

static bool move_disk(xmlNodePtr disk, const struct hv_volume *volume, bool live)
{
    xmlNodePtr old = child_of(disk, "source");
    xmlNodePtr source = xmlNewNode(NULL, (const xmlChar *)"source");
    if (source == NULL)
        return false;
    bool is_device = text_has_prefix(volume->to.name, "/dev/");
    if (volume->to.pool[0] != '\0') {
        set_attribute(disk, "type", "volume");
        set_attribute(source, "pool", volume->to.pool);
        set_attribute(source, "volume", volume->to.name);
    } else {
        set_attribute(disk, "type", is_device ? "block" : "file");
        set_attribute(source, is_device ? "dev" : "file", volume->to.name);
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
    remove_child(disk, "backingStore");
    remove_child(disk, "mirror");
    return true;
}

static char *print(xmlDocPtr doc, xmlNodePtr root)
{
    xmlBufferPtr buffer = xmlBufferCreate();
    char *text = buffer != NULL && xmlNodeDump(buffer, doc, root, 0, 0) >= 0
                     ? strdup((const char *)xmlBufferContent(buffer))
                     : NULL;
    if (buffer != NULL)
        xmlBufferFree(buffer);
    return text;
}

static bool move_disks(const xmlNode *root, const struct hv_volume *volumes, size_t n, bool live,
                       struct err *err)
{
    const xmlNode *devices = child_of(root, "devices");
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
    size_t bytes = strlen(xml);
    xmlDocPtr doc = bytes <= HV_DEFINITION_BYTES_MAX
                        ? xmlReadMemory(xml, (int)bytes, NULL, NULL,
                                        XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)
                        : NULL;
    xmlNodePtr root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    bool is_domain =
        root != NULL && doc->intSubset == NULL && strcmp((const char *)root->name, "domain") == 0;
    char *text = NULL;
    if (!is_domain)
        (void)err_set(err, ERR_INVALID, "not a domain definition");
    else if (move_disks(root, volumes, n, live, err)) {
        text = print(doc, root);
        if (text == NULL)
            (void)err_set(err, ERR_NOMEM, "a definition");
    }
    xmlFreeDoc(doc);
    return text;
}
