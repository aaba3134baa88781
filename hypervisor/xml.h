/* xml.h - libxml2 as the readers of definitions and capabilities use it. Private to hypervisor/.
 *
 * Functions that read accept a NULL node, which has no children and no attributes, so that a path
 * is written as nested calls. Pure; any thread.
 */
#ifndef HYPERVISOR_XML_H
#define HYPERVISOR_XML_H

#include <stdbool.h>
#include <stddef.h>

#include <libxml/tree.h>

/* NULL when it is no XML or longer than bytes_max. Nothing outside the text is fetched. The caller
 * frees with xmlFreeDoc(). */
xmlDocPtr xml_parse(const char *text, size_t bytes_max);
/* The element as text, malloc'ed; NULL when memory is short or there is none. */
char *xml_print(xmlDocPtr doc, xmlNodePtr node);

bool xml_is(const xmlNode *node, const char *name); /* an element of that name; not NULL here */
xmlNodePtr xml_child(const xmlNode *parent, const char *name); /* the first; NULL: none */
bool xml_attribute_is(const xmlNode *node, const char *name, const char *wanted);
void xml_set_attribute(xmlNodePtr node, const char *name, const char *value);
void xml_remove_child(xmlNodePtr parent, const char *name); /* the first, if there is one */

#endif
