/* plug.c - a guest's definition for its target after the persistent one was edited: its interfaces
 * get the networks of the persistent definition. Nothing else changes; the guest sees the same
 * devices. */
#include <string.h>

#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/xml.h"

/* Only these refer to a network by name; others are devices, which a migration cannot exchange. */
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

/* By MAC address; the two devices of a failover pair share one and differ in being transient. */
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

/* Replaces the source and what depends on it; what the guest sees stays. */
static void plug(xmlNodePtr interface, const xmlNode *wanted)
{
    static const char *const place[] = {"source", "virtualport", "vlan"};
    bool same = has_same(interface, wanted, NULL, "type") &&
                has_same(interface, wanted, "source", "network") &&
                (xml_attribute_is(interface, "type",
                                  "network") || /* with a network, the bridge is only informative */
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
        (void)err_set(err, is_domain ? ERR_NOMEM : ERR_INVALID, "a definition with new networks");
    xmlFreeDoc(doc);
    return text;
}
