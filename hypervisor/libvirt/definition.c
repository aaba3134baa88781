/* definition.c - the question "can this host provide this guest's CPU?", taken from the
 * guest's definition. A CPU alone is not enough: libvirt compares with what KVM offers unless
 * told otherwise, and refuses the CPU of an emulated guest on the very host it runs on. So a
 * whole domain definition is taken apart into the five things libvirt wants to know; a bare
 * <cpu> is asked with libvirt's defaults.
 */
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

enum { DEFINITION_BYTES_MAX = 4 * 1024 * 1024 };

static xmlNodePtr child_of(xmlNodePtr parent, const char *name)
{
    for (xmlNodePtr node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    return NULL;
}

/* libxml2 gives out memory of its own allocator; ours is freed with free(). */
static char *take(xmlChar *text)
{
    char *copy = text != NULL ? strdup((const char *)text) : NULL;
    xmlFree(text);
    return copy;
}

static char *attribute_of(xmlNodePtr node, const char *name)
{
    return node != NULL ? take(xmlGetNoNsProp(node, (const xmlChar *)name)) : NULL;
}

static char *element_text(xmlDocPtr doc, xmlNodePtr node)
{
    xmlBufferPtr buffer = node != NULL ? xmlBufferCreate() : NULL;
    if (buffer == NULL)
        return NULL;
    char *text = xmlNodeDump(buffer, doc, node, 0, 0) >= 0
                     ? strdup((const char *)xmlBufferContent(buffer))
                     : NULL;
    xmlBufferFree(buffer);
    return text;
}

void libvirt_definition_fini(struct definition *definition)
{
    free(definition->cpu);
    free(definition->emulator);
    free(definition->arch);
    free(definition->machine);
    free(definition->virt_type);
}

/* False when it is no domain; then nothing is set. */
bool libvirt_definition_decode(const char *xml, struct definition *out_definition)
{
    size_t n = strlen(xml);
    xmlDocPtr doc = n <= DEFINITION_BYTES_MAX
                        ? xmlReadMemory(xml, (int)n, NULL, NULL,
                                        XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING)
                        : NULL;
    xmlNodePtr root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    bool is_domain = root != NULL && strcmp((const char *)root->name, "domain") == 0;
    if (is_domain) {
        xmlNodePtr type = child_of(child_of(root, "os"), "type");
        xmlNodePtr emulator = child_of(child_of(root, "devices"), "emulator");
        *out_definition = (struct definition){
            .cpu = element_text(doc, child_of(root, "cpu")),
            .emulator = emulator != NULL ? take(xmlNodeGetContent(emulator)) : NULL,
            .arch = attribute_of(type, "arch"),
            .machine = attribute_of(type, "machine"),
            .virt_type = attribute_of(root, "type"),
        };
    }
    xmlFreeDoc(doc);
    return is_domain;
}
