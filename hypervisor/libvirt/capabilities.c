/* capabilities.c - capabilities from a host's XML: machine types and huge pages from its
 * capabilities, the name of a link from a node device. The text comes from a host: bounded, and
 * what does not fit is skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"
#include "hypervisor/xml.h"

enum { CAPABILITIES_BYTES_MAX = 16 * 1024 * 1024, DEVICE_BYTES_MAX = 64 * 1024 };

/* False when there is none or it does not fit. */
static bool copy_out(xmlChar *take_text, char *out, size_t out_bytes)
{
    bool fits = take_text != NULL && *take_text != '\0' &&
                text_copy(out, out_bytes, (const char *)take_text);
    xmlFree(take_text);
    return fits;
}

static bool read_attribute(const xmlNode *node, const char *name, char *out, size_t out_bytes)
{
    return copy_out(xmlGetNoNsProp(node, (const xmlChar *)name), out, out_bytes);
}

/* --- machine types: <guest><arch name=''><machine canonical=''>pc</machine> --- */

struct machines {
    struct hv_machine *items; /* room for HV_MACHINES_MAX */
    size_t n;
    bool cut;
};

static void add_machine(struct machines *machines, const char *arch, const char *name)
{
    for (size_t i = 0; i < machines->n; i++)
        if (strcmp(machines->items[i].name, name) == 0 &&
            strcmp(machines->items[i].arch, arch) == 0)
            return; /* listed once per domain type */
    machines->cut = machines->cut || machines->n == HV_MACHINES_MAX;
    if (machines->n == HV_MACHINES_MAX)
        return;
    struct hv_machine *machine = &machines->items[machines->n++];
    TEXT_SET(machine->arch, arch);
    TEXT_SET(machine->name, name);
}

static void read_machines(struct machines *machines, const char *arch, const xmlNode *parent)
{
    for (const xmlNode *node = parent->children; node != NULL; node = node->next) {
        char name[sizeof machines->items->name];
        if (xml_is(node, "domain")) /* machines of one domain type only */
            read_machines(machines, arch, node);
        if (!xml_is(node, "machine"))
            continue;
        if (copy_out(xmlNodeGetContent(node), name, sizeof name))
            add_machine(machines, arch, name);
        if (read_attribute(node, "canonical", name, sizeof name))
            add_machine(machines, arch, name);
    }
}

static void read_guests(const xmlNode *root, struct hv_capabilities *capabilities)
{
    struct machines machines = {.items = calloc(HV_MACHINES_MAX, sizeof *machines.items)};
    if (machines.items == NULL)
        return;
    bool has_guests = false;
    for (const xmlNode *guest = root->children; guest != NULL; guest = guest->next) {
        char name[sizeof machines.items->arch];
        has_guests = has_guests || xml_is(guest, "guest");
        const xmlNode *arch = xml_is(guest, "guest") ? xml_child(guest, "arch") : NULL;
        if (arch != NULL && read_attribute(arch, "name", name, sizeof name))
            read_machines(&machines, name, arch);
    }
    /* An incomplete list would mean that the missing machines do not exist; and not every
     * hypervisor has machines.
     */
    if (machines.cut || (has_guests && machines.n == 0)) {
        free(machines.items);
        return;
    }
    struct hv_machine *fitting =
        realloc(machines.items, (machines.n > 0 ? machines.n : 1) * sizeof *machines.items);
    capabilities->machines = fitting != NULL ? fitting : machines.items;
    capabilities->n_machines = machines.n;
    capabilities->machines_known = true;
}

/* --- huge pages: <topology><cells><cell><pages unit='KiB' size='2048'>512</pages> --- */

static void add_pages(struct hv_capabilities *capabilities, uint64_t size_kib, uint64_t total)
{
    size_t i = 0;
    while (i < capabilities->n_pages && capabilities->pages[i].size_kib != size_kib)
        i++;
    if (i == HV_PAGES_MAX)
        return;
    if (i == capabilities->n_pages)
        capabilities->pages[capabilities->n_pages++] = (struct hv_pages){.size_kib = size_kib};
    capabilities->pages[i].total += total;
}

static void read_cell(const xmlNode *cell, struct hv_capabilities *capabilities)
{
    for (const xmlNode *node = cell->children; node != NULL; node = node->next) {
        char size[24] = "", total[24] = "";
        int64_t size_kib, n;
        if (xml_is(node, "pages") && read_attribute(node, "size", size, sizeof size) &&
            copy_out(xmlNodeGetContent(node), total, sizeof total) &&
            text_to_i64(size, 1, INT64_MAX / 1024, &size_kib) &&
            text_to_i64(total, 0, INT64_MAX / 1024, &n))
            add_pages(capabilities, (uint64_t)size_kib, (uint64_t)n);
    }
}

/* The smallest size is the normal page size. */
static void drop_plain_pages(struct hv_capabilities *capabilities)
{
    size_t smallest = 0;
    for (size_t i = 1; i < capabilities->n_pages; i++)
        if (capabilities->pages[i].size_kib < capabilities->pages[smallest].size_kib)
            smallest = i;
    if (capabilities->n_pages > 0)
        capabilities->pages[smallest] = capabilities->pages[--capabilities->n_pages];
}

static void read_topology(const xmlNode *topology, struct hv_capabilities *capabilities)
{
    const xmlNode *cells = xml_child(topology, "cells");
    for (const xmlNode *cell = cells != NULL ? cells->children : NULL; cell != NULL;
         cell = cell->next)
        if (xml_is(cell, "cell"))
            read_cell(cell, capabilities);
    capabilities->pages_known = capabilities->n_pages > 0;
    drop_plain_pages(capabilities);
}

void libvirt_capabilities_decode(const char *xml, struct hv_capabilities *capabilities)
{
    xmlDocPtr doc = xml_parse(xml, CAPABILITIES_BYTES_MAX);
    const xmlNode *root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    if (root != NULL && xml_is(root, "capabilities")) {
        read_guests(root, capabilities);
        read_topology(xml_child(xml_child(root, "host"), "topology"), capabilities);
    }
    xmlFreeDoc(doc);
}

/* <pool><target><path>/srv/images</path> */
bool libvirt_capabilities_pool_path(const char *xml, char *out_path, size_t bytes)
{
    xmlDocPtr doc = xml_parse(xml, DEVICE_BYTES_MAX);
    const xmlNode *root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    const xmlNode *path = xml_child(xml_child(root, "target"), "path");
    bool fits = path != NULL && copy_out(xmlNodeGetContent(path), out_path, bytes);
    xmlFreeDoc(doc);
    return fits;
}

/* <device><capability type='net'><interface>br0</interface> */
bool libvirt_capabilities_link(const char *xml, struct hv_bridge *out_link)
{
    xmlDocPtr doc = xml_parse(xml, DEVICE_BYTES_MAX);
    const xmlNode *root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    const xmlNode *name = xml_child(xml_child(root, "capability"), "interface");
    bool fits =
        name != NULL && copy_out(xmlNodeGetContent(name), out_link->name, sizeof out_link->name);
    xmlFreeDoc(doc);
    return fits;
}
