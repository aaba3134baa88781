/* metadata.c - the two pieces of XML that become facts: Ferry's element in a guest's
 * definition,
 *
 *     <ferry:guest xmlns:ferry="urn:ferry:domain:1">
 *       <ferry:namespace>prod</ferry:namespace>
 *       <ferry:label key="app" value="db"/>
 *     </ferry:guest>
 *
 * and the host part of a host's capabilities. Whoever can define a guest writes the first, so
 * it is bounded and whatever does not fit is passed over: a guest with broken metadata is
 * still a guest, in the namespace "default".
 */
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "base/json.h"
#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

enum {
    METADATA_BYTES_MAX = 64 * 1024,
    CAPABILITIES_BYTES_MAX = 16 * 1024 * 1024,
    LABELS_MAX = 64,
    LABEL_KEY_MAX = 317, /* Kubernetes: prefix of 253, slash, name of 63 */
    LABEL_VALUE_MAX = 63,
};

static const char metadata_uri[] = "urn:ferry:domain:1";

/* NULL when it is no XML. Nothing outside the text is ever fetched or expanded. */
static xmlDocPtr parse(const char *xml, size_t bytes_max)
{
    size_t n = strlen(xml);
    if (n > bytes_max)
        return NULL;
    return xmlReadMemory(xml, (int)n, NULL, NULL,
                         XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
}

static const char *text_of(const xmlChar *text)
{
    return (const char *)text;
}

/* libvirt chose the element by its namespace and then took the prefixes away; text from
 * elsewhere may still carry them. */
static bool is_ferry(const xmlNode *node, const char *name)
{
    if (node->type != XML_ELEMENT_NODE || strcmp(text_of(node->name), name) != 0)
        return false;
    return node->ns == NULL || node->ns->href == NULL ||
           strcmp(text_of(node->ns->href), metadata_uri) == 0;
}

static const xmlNode *child_of(const xmlNode *parent, const char *name)
{
    for (const xmlNode *node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp(text_of(node->name), name) == 0)
            return node;
    return NULL;
}

/* The element's text without the white space around it; false when there is none or it is
 * too long. */
static bool content_of(const xmlNode *node, char *out, size_t out_bytes)
{
    xmlChar *content = node != NULL ? xmlNodeGetContent(node) : NULL;
    if (content == NULL)
        return false;
    const char *from = text_of(content) + strspn(text_of(content), " \t\r\n");
    size_t n = strlen(from);
    while (n > 0 && strchr(" \t\r\n", from[n - 1]) != NULL)
        n--;
    bool fits = n > 0 && n < out_bytes;
    if (fits) {
        memcpy(out, from, n);
        out[n] = '\0';
    }
    xmlFree(content);
    return fits;
}

static void add_label(struct json_object *labels, const xmlNode *node)
{
    xmlChar *key = xmlGetNoNsProp(node, (const xmlChar *)"key");
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)"value");
    if (key != NULL && *key != '\0' && strlen(text_of(key)) <= LABEL_KEY_MAX &&
        (value == NULL || strlen(text_of(value)) <= LABEL_VALUE_MAX))
        json_add_text(labels, text_of(key), value != NULL ? text_of(value) : "");
    xmlFree(key);
    xmlFree(value);
}

static char *labels_of(const xmlNode *guest)
{
    OWNED(json_object) labels = json_object_new_object();
    if (labels == NULL)
        return NULL;
    for (const xmlNode *node = guest->children; node != NULL; node = node->next)
        if (is_ferry(node, "label") && json_object_object_length(labels) < LABELS_MAX)
            add_label(labels, node);
    if (json_object_object_length(labels) == 0)
        return NULL;
    return strdup(json_object_to_json_string_ext(labels, JSON_C_TO_STRING_PLAIN));
}

static void read_guest(const xmlNode *guest, char *out_ns, char **out_labels)
{
    for (const xmlNode *node = guest->children; node != NULL; node = node->next) {
        char ns[HV_HOST_MAX];
        if (is_ferry(node, "namespace") && content_of(node, ns, sizeof ns) && text_is_dns_label(ns))
            (void)text_copy(out_ns, HV_HOST_MAX, ns);
    }
    *out_labels = labels_of(guest);
}

/* xml may be NULL: the guest has no such element. Labels are malloc'ed, NULL when none. */
void libvirt_metadata_decode(const char *xml, char *out_ns, char **out_labels)
{
    (void)text_copy(out_ns, HV_HOST_MAX, "default");
    *out_labels = NULL;
    xmlDocPtr doc = xml != NULL ? parse(xml, METADATA_BYTES_MAX) : NULL;
    if (doc == NULL)
        return;
    const xmlNode *root = xmlDocGetRootElement(doc);
    if (root != NULL && is_ferry(root, "guest"))
        read_guest(root, out_ns, out_labels);
    xmlFreeDoc(doc);
}

void libvirt_metadata_host(const char *capabilities, struct hv_facts *facts)
{
    xmlDocPtr doc = parse(capabilities, CAPABILITIES_BYTES_MAX);
    if (doc == NULL)
        return;
    const xmlNode *host = child_of(xmlDocGetRootElement(doc), "host");
    const xmlNode *cpu = child_of(host, "cpu");
    (void)content_of(child_of(host, "uuid"), facts->uuid, sizeof facts->uuid);
    (void)content_of(child_of(cpu, "model"), facts->cpu_model, sizeof facts->cpu_model);
    (void)content_of(child_of(cpu, "arch"), facts->arch, sizeof facts->arch);
    xmlFreeDoc(doc);
}
