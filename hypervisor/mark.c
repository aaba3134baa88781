/* mark.c - see mark.h. */
#include "hypervisor/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hypervisor/definition.h"
#include "hypervisor/xml.h"

/* Names come from a configuration and may hold anything: what would need escapes is left out. */
static const char *plain(const char *text)
{
    return text[strcspn(text, "<>&'\"")] == '\0' ? text : "";
}

void hv_mark_print(const struct hv_mark *mark, char *out_text)
{
    (void)snprintf(out_text, HV_MARK_TEXT_MAX,
                   "<migration appliance='%s' applianceEpoch='%" PRId64 "' job='%s' epoch='%" PRId64
                   "' source='%s' target='%s' port='%u'/>",
                   plain(mark->appliance), mark->appliance_epoch, plain(mark->job), mark->epoch,
                   plain(mark->source), plain(mark->target), mark->port);
}

static bool text_in(const xmlNode *node, const char *name, char *out, size_t bytes)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    bool fits = value != NULL && strlen((const char *)value) < bytes;
    if (fits)
        (void)text_copy(out, bytes, (const char *)value);
    xmlFree(value);
    return fits;
}

static int64_t number_in(const xmlNode *node, const char *name, int64_t max)
{
    char text[24];
    int64_t value = 0;
    if (!text_in(node, name, text, sizeof text) || !text_to_i64(text, 0, max, &value))
        return 0;
    return value;
}

static bool is_mark(const xmlNode *node)
{
    bool ours = node->ns == NULL || node->ns->href == NULL ||
                strcmp((const char *)node->ns->href, HV_MARK_URI) == 0;
    return xml_is(node, "migration") && ours;
}

static const xmlNode *find(const xmlNode *root)
{
    if (root == NULL || is_mark(root))
        return root;
    const xmlNode *metadata = xml_child(root, "metadata");
    for (const xmlNode *node = metadata != NULL ? metadata->children : NULL; node != NULL;
         node = node->next)
        if (is_mark(node) && node->ns != NULL) /* there are other elements of that name */
            return node;
    return NULL;
}

bool hv_mark_parse(const char *xml, struct hv_mark *out_mark)
{
    *out_mark = (struct hv_mark){.port = 0};
    if (xml == NULL || strstr(xml, "applianceEpoch") == NULL) /* nearly always */
        return false;
    xmlDocPtr doc = xml_parse(xml, HV_DEFINITION_BYTES_MAX);
    const xmlNode *node = doc != NULL ? find(xmlDocGetRootElement(doc)) : NULL;
    struct hv_mark mark = {.port = 0};
    bool found = node != NULL &&
                 text_in(node, "appliance", mark.appliance, sizeof mark.appliance) &&
                 text_in(node, "job", mark.job, sizeof mark.job) && mark.appliance[0] != '\0' &&
                 mark.job[0] != '\0';
    if (found) {
        mark.appliance_epoch = number_in(node, "applianceEpoch", INT64_MAX);
        mark.epoch = number_in(node, "epoch", INT64_MAX);
        (void)text_in(node, "source", mark.source, sizeof mark.source);
        (void)text_in(node, "target", mark.target, sizeof mark.target);
        mark.port = (unsigned)number_in(node, "port", 65535);
        *out_mark = mark;
    }
    if (doc != NULL)
        xmlFreeDoc(doc);
    return found;
}
