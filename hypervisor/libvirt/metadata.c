/* metadata.c - reads two pieces of XML: Ferry's element in a guest's definition,
 *
 *     <ferry:guest xmlns:ferry="urn:ferry:domain:1">
 *       <ferry:namespace>prod</ferry:namespace>
 *       <ferry:label key="app" value="db"/>
 *       <ferry:evictionStrategy>LiveMigrate</ferry:evictionStrategy>
 *       <ferry:nodeSelector key="zone" value="a"/>
 *       <ferry:toleration key="gpu" operator="Equal" value="yes" effect="NoSchedule"/>
 *       <ferry:antiAffinity topologyKey="kubernetes.io/hostname">
 *         <ferry:label key="app" value="db"/>
 *       </ferry:antiAffinity>
 *     </ferry:guest>
 *
 * and the host part of a host's capabilities. The first is written by users, so it is bounded and
 * what does not fit is skipped: a guest with broken metadata is in the namespace "default".
 */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/xml.h"

enum {
    METADATA_BYTES_MAX = 64 * 1024,
    CAPABILITIES_BYTES_MAX = 16 * 1024 * 1024,
    LABELS_MAX = 64,
    LABEL_KEY_MAX = 317, /* Kubernetes: prefix of 253, slash, name of 63 */
    LABEL_VALUE_MAX = 63,
    TOLERATIONS_MAX = 16,
    AFFINITIES_MAX = 8, /* of each kind */
};

static const char metadata_uri[] = "urn:ferry:domain:1";

static const char *text_of(const xmlChar *text)
{
    return (const char *)text;
}

/* libvirt selects the element by its namespace and strips the prefixes; other texts may have
 * them. */
static bool is_ferry(const xmlNode *node, const char *name)
{
    if (!xml_is(node, name))
        return false;
    return node->ns == NULL || node->ns->href == NULL ||
           strcmp(text_of(node->ns->href), metadata_uri) == 0;
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

/* All elements of that name as one JSON object; NULL when there are none. */
static struct json_object *labels_in(const xmlNode *parent, const char *name)
{
    OWNED(json_object) labels = json_object_new_object();
    if (labels == NULL)
        return NULL;
    for (const xmlNode *node = parent->children; node != NULL; node = node->next)
        if (is_ferry(node, name) && json_object_object_length(labels) < LABELS_MAX)
            add_label(labels, node);
    return json_object_object_length(labels) > 0 ? TAKE(labels) : NULL;
}

/* Takes the object; NULL stays NULL. */
static char *json_text(struct json_object *take_object)
{
    if (take_object == NULL)
        return NULL;
    char *text = strdup(json_object_to_json_string_ext(
        take_object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_free(take_object);
    return text;
}

/* --- scheduling settings, with the names of Kubernetes --- */

static void add_attribute(struct json_object *object, const xmlNode *node, const char *name,
                          size_t length_max)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    if (value != NULL && strlen(text_of(value)) <= length_max)
        json_add_text(object, name, text_of(value));
    xmlFree(value);
}

static void add_tolerations(struct json_object *settings, const xmlNode *guest)
{
    OWNED(json_object) list = json_object_new_array();
    for (const xmlNode *node = guest->children; node != NULL && list != NULL; node = node->next) {
        if (!is_ferry(node, "toleration") || json_object_array_length(list) == TOLERATIONS_MAX)
            continue;
        struct json_object *toleration = json_add_object(list, "");
        add_attribute(toleration, node, "key", LABEL_KEY_MAX);
        add_attribute(toleration, node, "operator", LABEL_VALUE_MAX);
        add_attribute(toleration, node, "value", LABEL_VALUE_MAX);
        add_attribute(toleration, node, "effect", LABEL_VALUE_MAX);
    }
    if (list != NULL && json_object_array_length(list) > 0)
        json_add(settings, "tolerations", TAKE(list));
}

/* One term: other guests with these labels, on the same or on another value of the node's label. */
static void add_term(struct json_object *terms, const xmlNode *node)
{
    struct json_object *labels = labels_in(node, "label");
    if (labels == NULL)
        return; /* selects no guest */
    struct json_object *term = json_add_object(terms, "");
    json_add(json_add_object(term, "labelSelector"), "matchLabels", labels);
    add_attribute(term, node, "topologyKey", LABEL_KEY_MAX);
    if (json_at(term, "topologyKey") == NULL)
        json_add_text(term, "topologyKey", "kubernetes.io/hostname");
}

static void add_affinity(struct json_object *affinity, const xmlNode *guest, const char *element,
                         const char *name)
{
    OWNED(json_object) terms = json_object_new_array();
    for (const xmlNode *node = guest->children; node != NULL && terms != NULL; node = node->next)
        if (is_ferry(node, element) && json_object_array_length(terms) < AFFINITIES_MAX)
            add_term(terms, node);
    if (terms != NULL && json_object_array_length(terms) > 0)
        json_add(json_add_object(affinity, name), "requiredDuringSchedulingIgnoredDuringExecution",
                 TAKE(terms));
}

static struct json_object *settings_in(const xmlNode *guest)
{
    OWNED(json_object) settings = json_object_new_object();
    for (const xmlNode *node = guest->children; node != NULL; node = node->next) {
        char strategy[LABEL_VALUE_MAX];
        if (is_ferry(node, "evictionStrategy") && content_of(node, strategy, sizeof strategy))
            json_add_text(settings, "evictionStrategy", strategy);
    }
    struct json_object *selector = labels_in(guest, "nodeSelector");
    if (selector != NULL)
        json_add(settings, "nodeSelector", selector);
    add_tolerations(settings, guest);
    OWNED(json_object) affinity = json_object_new_object();
    add_affinity(affinity, guest, "affinity", "podAffinity");
    add_affinity(affinity, guest, "antiAffinity", "podAntiAffinity");
    if (affinity != NULL && json_object_object_length(affinity) > 0)
        json_add(settings, "affinity", TAKE(affinity));
    return settings != NULL && json_object_object_length(settings) > 0 ? TAKE(settings) : NULL;
}

static void read_guest(const xmlNode *guest, char *out_ns, char **out_labels, char **out_settings)
{
    for (const xmlNode *node = guest->children; node != NULL; node = node->next) {
        char ns[HV_HOST_MAX];
        if (is_ferry(node, "namespace") && content_of(node, ns, sizeof ns) && text_is_dns_label(ns))
            (void)text_copy(out_ns, HV_HOST_MAX, ns);
    }
    *out_labels = json_text(labels_in(guest, "label"));
    *out_settings = json_text(settings_in(guest));
}

void libvirt_metadata_decode(const char *xml, char *out_ns, char **out_labels, char **out_settings)
{
    (void)text_copy(out_ns, HV_HOST_MAX, "default");
    *out_labels = NULL;
    *out_settings = NULL;
    xmlDocPtr doc = xml != NULL ? xml_parse(xml, METADATA_BYTES_MAX) : NULL;
    if (doc == NULL)
        return;
    const xmlNode *root = xmlDocGetRootElement(doc);
    if (root != NULL && is_ferry(root, "guest"))
        read_guest(root, out_ns, out_labels, out_settings);
    xmlFreeDoc(doc);
}

void libvirt_metadata_host(const char *capabilities, struct hv_facts *facts)
{
    xmlDocPtr doc = xml_parse(capabilities, CAPABILITIES_BYTES_MAX);
    if (doc == NULL)
        return;
    const xmlNode *host = xml_child(xmlDocGetRootElement(doc), "host");
    const xmlNode *cpu = xml_child(host, "cpu");
    (void)content_of(xml_child(host, "uuid"), facts->uuid, sizeof facts->uuid);
    (void)content_of(xml_child(cpu, "model"), facts->cpu_model, sizeof facts->cpu_model);
    (void)content_of(xml_child(cpu, "arch"), facts->arch, sizeof facts->arch);
    xmlFreeDoc(doc);
}
