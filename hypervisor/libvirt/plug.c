/* plug.c - a guest's definition as its target shall get it when its stored one was edited: its
 * interfaces lead where they lead there by now. Only that changes; what the guest sees stays. */
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

static bool is_interface(const xmlNode *node)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, "interface") == 0;
}

/* Only these lead to something by name; others are devices, which a migration cannot exchange. */
static bool is_plugged(const xmlNode *interface)
{
    return attribute_is(interface, "type", "network") || attribute_is(interface, "type", "bridge");
}

static bool has_same(const xmlNode *a, const xmlNode *b, const char *child, const char *attribute)
{
    const xmlNode *a_child = child != NULL ? child_of(a, child) : a;
    const xmlNode *b_child = child != NULL ? child_of(b, child) : b;
    xmlChar *one = a_child != NULL ? xmlGetNoNsProp(a_child, (const xmlChar *)attribute) : NULL;
    xmlChar *two = b_child != NULL ? xmlGetNoNsProp(b_child, (const xmlChar *)attribute) : NULL;
    bool same = one == NULL || two == NULL ? one == two : xmlStrcasecmp(one, two) == 0;
    xmlFree(one);
    xmlFree(two);
    return same;
}

/* By address; the halves of a team have one, and differ in which of them comes and goes. */
static xmlNodePtr find_interface(const xmlNode *devices, const xmlNode *like)
{
    for (xmlNodePtr node = devices != NULL ? devices->children : NULL; node != NULL;
         node = node->next)
        if (is_interface(node) && child_of(node, "mac") != NULL &&
            has_same(node, like, "mac", "address") && has_same(node, like, "teaming", "type"))
            return node;
    return NULL;
}

static void take_child(xmlNodePtr interface, const xmlNode *wanted, const char *name)
{
    xmlNodePtr node = child_of(wanted, name);
    remove_child(interface, name);
    node = node != NULL ? xmlDocCopyNode(node, interface->doc, 1) : NULL;
    if (node != NULL)
        (void)xmlAddChild(interface, node);
}

/* Where it leads changes, with what belongs to that place; what the guest sees of it stays. */
static void plug(xmlNodePtr interface, const xmlNode *wanted)
{
    static const char *const place[] = {"source", "virtualport", "vlan"};
    bool same = has_same(interface, wanted, NULL, "type") &&
                has_same(interface, wanted, "source", "network") &&
                (attribute_is(interface, "type", "network") || /* there a bridge is only shown */
                 has_same(interface, wanted, "source", "bridge"));
    if (same || !is_plugged(interface) || !is_plugged(wanted))
        return;
    set_attribute(interface, "type", attribute_is(wanted, "type", "bridge") ? "bridge" : "network");
    for (size_t i = 0; i < COUNT(place); i++)
        take_child(interface, wanted, place[i]);
}

static xmlDocPtr parse(const char *xml)
{
    size_t bytes = strlen(xml);
    return bytes <= HV_DEFINITION_BYTES_MAX
               ? xmlReadMemory(xml, (int)bytes, NULL, NULL,
                               XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)
               : NULL;
}

static void plug_all(const xmlNode *root, const char *stored_xml)
{
    xmlDocPtr stored = parse(stored_xml);
    const xmlNode *to = stored != NULL ? xmlDocGetRootElement(stored) : NULL;
    const xmlNode *devices = child_of(root, "devices");
    for (xmlNodePtr node = devices != NULL ? devices->children : NULL; node != NULL;
         node = node->next) {
        const xmlNode *wanted =
            is_interface(node) ? find_interface(child_of(to, "devices"), node) : NULL;
        if (wanted != NULL)
            plug(node, wanted);
    }
    xmlFreeDoc(stored);
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

char *libvirt_plugged(const char *xml, const char *stored_xml, struct err *err)
{
    xmlDocPtr doc = parse(xml);
    xmlNodePtr root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    bool is_domain =
        root != NULL && doc->intSubset == NULL && strcmp((const char *)root->name, "domain") == 0;
    if (is_domain)
        plug_all(root, stored_xml);
    char *text = is_domain ? print(doc, root) : NULL;
    if (text == NULL)
        (void)err_set(err, is_domain ? ERR_NOMEM : ERR_INVALID, "a definition to plug elsewhere");
    xmlFreeDoc(doc);
    return text;
}
