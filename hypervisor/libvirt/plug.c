/* plug.c - a guest's definition as its target shall get it when its stored one was edited: its
 * interfaces lead where they lead there by now. Only that changes; what the guest sees stays. */
#include <string.h>

#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/xml.h"

/* Only these lead to something by name; others are devices, which a migration cannot exchange. */
static bool is_plugged(const xmlNode *interface)
{
    return xml_attribute_is(interface, "type", "network") ||
           xml_attribute_is(interface, "type", "bridge");
}

static bool has_same(const xmlNode *a, const xmlNode *b, const char *child, const char *attribute)
{
    const xmlNode *a_child = child != NULL ? xml_child(a, child) : a;
    const xmlNode *b_child = child != NULL ? xml_child(b, child) : b;
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
        if (xml_is(node, "interface") && xml_child(node, "mac") != NULL &&
            has_same(node, like, "mac", "address") && has_same(node, like, "teaming", "type"))
            return node;
    return NULL;
}

static void take_child(xmlNodePtr interface, const xmlNode *wanted, const char *name)
{
    xmlNodePtr node = xml_child(wanted, name);
    xml_remove_child(interface, name);
    node = node != NULL ? xmlDocCopyNode(node, interface->doc, 1) : NULL;
    if (node != NULL)
        (void)xmlAddChild(interface, node);
}

/* Where it leads changes, with what belongs to that place; what the guest sees of it stays. */
static void plug(xmlNodePtr interface, const xmlNode *wanted)
{
    static const char *const place[] = {"source", "virtualport", "vlan"};
    bool same =
        has_same(interface, wanted, NULL, "type") &&
        has_same(interface, wanted, "source", "network") &&
        (xml_attribute_is(interface, "type", "network") || /* there a bridge is only shown */
         has_same(interface, wanted, "source", "bridge"));
    if (same || !is_plugged(interface) || !is_plugged(wanted))
        return;
    xml_set_attribute(interface, "type",
                      xml_attribute_is(wanted, "type", "bridge") ? "bridge" : "network");
    for (size_t i = 0; i < COUNT(place); i++)
        take_child(interface, wanted, place[i]);
}

static void plug_all(const xmlNode *root, const char *stored_xml)
{
    xmlDocPtr stored = xml_parse(stored_xml, HV_DEFINITION_BYTES_MAX);
    const xmlNode *to = stored != NULL ? xmlDocGetRootElement(stored) : NULL;
    const xmlNode *devices = xml_child(root, "devices");
    for (xmlNodePtr node = devices != NULL ? devices->children : NULL; node != NULL;
         node = node->next) {
        const xmlNode *wanted =
            xml_is(node, "interface") ? find_interface(xml_child(to, "devices"), node) : NULL;
        if (wanted != NULL)
            plug(node, wanted);
    }
    xmlFreeDoc(stored);
}

char *libvirt_plugged(const char *xml, const char *stored_xml, struct err *err)
{
    xmlDocPtr doc = xml_parse(xml, HV_DEFINITION_BYTES_MAX);
    xmlNodePtr root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    bool is_domain =
        root != NULL && doc->intSubset == NULL && strcmp((const char *)root->name, "domain") == 0;
    if (is_domain)
        plug_all(root, stored_xml);
    char *text = is_domain ? xml_print(doc, root) : NULL;
    if (text == NULL)
        (void)err_set(err, is_domain ? ERR_NOMEM : ERR_INVALID, "a definition to plug elsewhere");
    xmlFreeDoc(doc);
    return text;
}
