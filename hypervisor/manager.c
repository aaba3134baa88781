/* manager.c - see manager.h. The text is a guest's definition: not trusted, bounded by its reader.
 */
#include "hypervisor/manager.h"

#include <assert.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "hypervisor/xml.h"

static const char own_uri[] = "urn:ferry:domain:1";

static const struct {
    const char *name, *title;
} managers[HV_MANAGER_COUNT] = {
#define MANAGER(id, name, title, help) [HV_MANAGER_##id] = {name, title},
#include "hypervisor/manager.def"
#undef MANAGER
};

static const struct {
    enum hv_manager manager;
    const char *prefix;
} uris[] = {
#define MANAGER_URI(id, prefix) {HV_MANAGER_##id, prefix},
#include "hypervisor/manager.def"
#undef MANAGER_URI
};

static const struct {
    enum hv_manager manager;
    const char *entry, *prefix;
} entries[] = {
#define MANAGER_SYSINFO(id, entry, prefix) {HV_MANAGER_##id, entry, prefix},
#include "hypervisor/manager.def"
#undef MANAGER_SYSINFO
};

const char *hv_manager_name(enum hv_manager manager)
{
    assert(manager < HV_MANAGER_COUNT);
    return managers[manager].name;
}

const char *hv_manager_title(enum hv_manager manager)
{
    assert(manager < HV_MANAGER_COUNT);
    return managers[manager].title;
}

enum hv_manager hv_manager_from_name(const char *name)
{
    for (enum hv_manager manager = 0; manager < HV_MANAGER_COUNT; manager++)
        if (strcmp(managers[manager].name, name) == 0)
            return manager;
    return HV_MANAGER_OTHER;
}

static const char *uri_of(const xmlNode *node)
{
    return node->ns != NULL && node->ns->href != NULL ? (const char *)node->ns->href : "";
}

/* <ferry:managedBy>pacemaker</ferry:managedBy>; an empty one is none. */
static enum hv_manager named_in(const xmlNode *own)
{
    xmlNodePtr element = xml_child(own, "managedBy");
    xmlChar *content = element != NULL ? xmlNodeGetContent(element) : NULL;
    char name[32] = "";
    if (content == NULL)
        return HV_MANAGER_NONE;
    const char *from = (const char *)content + strspn((const char *)content, " \t\r\n");
    size_t n = strcspn(from, " \t\r\n");
    bool fits = n < sizeof name;
    if (fits)
        memcpy(name, from, n);
    xmlFree(content);
    return fits ? hv_manager_from_name(name) : HV_MANAGER_OTHER;
}

static enum hv_manager marked_in(const xmlNode *metadata)
{
    enum hv_manager found = HV_MANAGER_NONE;
    for (const xmlNode *node = metadata != NULL ? metadata->children : NULL; node != NULL;
         node = node->next) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        enum hv_manager named =
            strcmp(uri_of(node), own_uri) == 0 ? named_in(node) : HV_MANAGER_NONE;
        if (named != HV_MANAGER_NONE)
            return named;
        for (size_t i = 0; i < COUNT(uris) && found == HV_MANAGER_NONE; i++)
            if (text_has_prefix(uri_of(node), uris[i].prefix))
                found = uris[i].manager;
    }
    return found;
}

static enum hv_manager sold_as(const xmlNode *entry)
{
    xmlChar *content = xmlNodeGetContent(entry);
    enum hv_manager found = HV_MANAGER_NONE;
    for (size_t i = 0; content != NULL && i < COUNT(entries); i++)
        if (xml_attribute_is(entry, "name", entries[i].entry) &&
            text_has_prefix((const char *)content, entries[i].prefix))
            found = entries[i].manager;
    xmlFree(content);
    return found;
}

enum hv_manager hv_manager_of(const xmlNode *domain)
{
    enum hv_manager found = marked_in(xml_child(domain, "metadata"));
    const xmlNode *system = xml_child(xml_child(domain, "sysinfo"), "system");
    for (const xmlNode *node = system != NULL ? system->children : NULL;
         node != NULL && found == HV_MANAGER_NONE; node = node->next)
        if (xml_is(node, "entry"))
            found = sold_as(node);
    return found;
}
