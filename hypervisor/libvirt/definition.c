/* definition.c - the parameters of libvirt's CPU comparison, taken from the guest's definition.
 * <cpu> alone is not enough: libvirt then compares with what KVM offers and refuses the CPU of an
 * emulated guest on its own host. So five parts are read from a whole domain definition; a bare
 * <cpu> is compared with libvirt's defaults.
 */
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/xml.h"

enum { DEFINITION_BYTES_MAX = 4 * 1024 * 1024 };

/* Copies memory of libxml2's allocator into memory for free(). */
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
    xmlDocPtr doc = xml_parse(xml, DEFINITION_BYTES_MAX);
    xmlNodePtr root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    bool is_domain = root != NULL && strcmp((const char *)root->name, "domain") == 0;
    if (is_domain) {
        xmlNodePtr type = xml_child(xml_child(root, "os"), "type");
        xmlNodePtr emulator = xml_child(xml_child(root, "devices"), "emulator");
        *out_definition = (struct definition){
            .cpu = xml_print(doc, xml_child(root, "cpu")),
            .emulator = emulator != NULL ? take(xmlNodeGetContent(emulator)) : NULL,
            .arch = attribute_of(type, "arch"),
            .machine = attribute_of(type, "machine"),
            .virt_type = attribute_of(root, "type"),
        };
    }
    xmlFreeDoc(doc);
    return is_domain;
}
