/* xml.c - see xml.h. */
#include "hypervisor/xml.h"

#include <string.h>

#include <libxml/parser.h>

/* No host sends a document type: entities are for attacks only. */
static void refuse_dtd(void *parser, const xmlChar *name, const xmlChar *external,
                       const xmlChar *system)
{
    (void)name, (void)external, (void)system;
    xmlStopParser(parser);
}

xmlDocPtr xml_parse(const char *text, size_t bytes_max)
{
    size_t n = strlen(text);
    if (n > bytes_max)
        return NULL;
    xmlParserCtxtPtr parser = xmlNewParserCtxt();
    if (parser == NULL)
        return NULL;
    parser->sax->internalSubset = refuse_dtd;
    xmlDocPtr doc = xmlCtxtReadMemory(parser, text, (int)n, NULL, NULL,
                                      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    if (doc != NULL && parser->disableSAX != 0) { /* stopped in refuse_dtd() */
        xmlFreeDoc(doc);
        doc = NULL;
    }
    xmlFreeParserCtxt(parser);
    return doc;
}

char *xml_print(xmlDocPtr doc, xmlNodePtr node)
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

bool xml_is(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

xmlNodePtr xml_child(const xmlNode *parent, const char *name)
{
    for (xmlNodePtr node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next)
        if (xml_is(node, name))
            return node;
    return NULL;
}

bool xml_attribute_is(const xmlNode *node, const char *name, const char *wanted)
{
    xmlChar *value = node != NULL ? xmlGetNoNsProp(node, (const xmlChar *)name) : NULL;
    bool same = value != NULL && strcmp((const char *)value, wanted) == 0;
    xmlFree(value);
    return same;
}

void xml_set_attribute(xmlNodePtr node, const char *name, const char *value)
{
    (void)xmlSetProp(node, (const xmlChar *)name, (const xmlChar *)value);
}

void xml_remove_child(xmlNodePtr parent, const char *name)
{
    xmlNodePtr node = xml_child(parent, name);
    if (node == NULL)
        return;
    xmlUnlinkNode(node);
    xmlFreeNode(node);
}
