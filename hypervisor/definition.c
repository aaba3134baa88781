/* definition.c - see definition.h. */
#include "hypervisor/definition.h"

#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "base/text.h"

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static xmlNodePtr child_of(const xmlNode *parent, const char *name)
{
    for (xmlNodePtr node = parent != NULL ? parent->children : NULL; node != NULL;
         node = node->next)
        if (is_element(node, name))
            return node;
    return NULL;
}

static bool copy_out(xmlChar *take_text, char *out, size_t out_bytes)
{
    bool fits = text_copy(out, out_bytes, take_text != NULL ? (const char *)take_text : "");
    xmlFree(take_text);
    return fits;
}

/* Empty when there is none; false when it was cut. */
static bool read_attribute(const xmlNode *node, const char *name, char *out, size_t out_bytes)
{
    return copy_out(node != NULL ? xmlGetNoNsProp(node, (const xmlChar *)name) : NULL, out,
                    out_bytes);
}
#define READ(node, name, array) read_attribute(node, name, array, sizeof(array))

static bool attribute_is(const xmlNode *node, const char *name, const char *wanted)
{
    char word[HV_WORD_MAX];
    return READ(node, name, word) && strcmp(word, wanted) == 0;
}

/* --- disks --- */

static bool read_disk_source(const xmlNode *source, struct hv_disk *disk)
{
    static const char *const places[] = {
        [HV_DISK_OTHER] = "dir", /* enough to know that it has one */
        [HV_DISK_FILE] = "file",    [HV_DISK_BLOCK] = "dev",
        [HV_DISK_NETWORK] = "name", [HV_DISK_VOLUME] = "volume",
    };
    bool whole = READ(source, places[disk->kind], disk->source);
    if (disk->kind == HV_DISK_VOLUME)
        whole = READ(source, "pool", disk->pool) && whole;
    bool is_named = disk->source[0] != '\0' || disk->kind == HV_DISK_FILE ||
                    disk->kind == HV_DISK_BLOCK || disk->kind == HV_DISK_VOLUME;
    if (source != NULL && !is_named) /* a share without a name, a device in words of its own */
        TEXT_SET(disk->source, "?");
    return whole;
}

static enum hv_disk_kind disk_kind(const xmlNode *node)
{
    static const struct {
        const char *name;
        enum hv_disk_kind kind;
    } kinds[] = {
        {"file", HV_DISK_FILE},
        {"block", HV_DISK_BLOCK},
        {"network", HV_DISK_NETWORK},
        {"volume", HV_DISK_VOLUME},
    };
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (attribute_is(node, "type", kinds[i].name))
            return kinds[i].kind;
    return HV_DISK_OTHER;
}

static bool has_utility_alias(const xmlNode *node)
{
    char alias[HV_SOURCE_MAX];
    (void)READ(child_of(node, "alias"), "name", alias);
    return text_has_prefix(alias, "ua-utility-");
}

static void read_disk(const xmlNode *node, struct hv_definition *out)
{
    if (out->n_disks == HV_DISKS_MAX) {
        out->cut++;
        return;
    }
    struct hv_disk *disk = &out->disks[out->n_disks++];
    const xmlNode *source = child_of(node, "source");
    disk->kind = disk_kind(node);
    disk->cut = !read_disk_source(source, disk);
    (void)READ(child_of(node, "target"), "dev", disk->target);
    (void)READ(child_of(node, "driver"), "cache", disk->cache);
    (void)READ(child_of(node, "driver"), "type", disk->format);
    disk->lun = attribute_is(node, "device", "lun");
    disk->readonly = child_of(node, "readonly") != NULL;
    disk->shareable = child_of(node, "shareable") != NULL;
    disk->removable =
        attribute_is(node, "device", "cdrom") || attribute_is(node, "device", "floppy");
    disk->reservations = child_of(source, "reservations") != NULL;
    disk->block_job = child_of(node, "mirror") != NULL;
    disk->utility = has_utility_alias(node);
}

/* --- the other devices --- */

static void read_interface(const xmlNode *node, struct hv_definition *out)
{
    static const char *const places[] = {"bridge", "dev"};
    if (out->n_interfaces == HV_INTERFACES_MAX) {
        out->cut++;
        return;
    }
    struct hv_interface *interface = &out->interfaces[out->n_interfaces++];
    const xmlNode *source = child_of(node, "source");
    (void)READ(node, "type", interface->type);
    /* A live interface of a network names the bridge or device too, and some change their type to
     * it: the network is what was asked for, and what the target will be asked for. */
    bool of_network = READ(source, "network", interface->source) && interface->source[0] != '\0';
    if (of_network &&
        (strcmp(interface->type, "bridge") == 0 || strcmp(interface->type, "direct") == 0))
        TEXT_SET(interface->type, "network");
    for (size_t i = 0; i < COUNT(places) && interface->source[0] == '\0'; i++)
        (void)READ(source, places[i], interface->source);
    (void)READ(child_of(node, "mac"), "address", interface->mac);
    for (char *at = interface->mac; *at != '\0'; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    interface->transient = attribute_is(child_of(node, "teaming"), "type", "transient");
}

static void read_host_device(const xmlNode *node, struct hv_definition *out)
{
    if (!attribute_is(child_of(node, "teaming"), "type", "transient"))
        out->host_devices++;
}

static void read_filesystem(const xmlNode *node, struct hv_definition *out)
{
    if (attribute_is(child_of(node, "driver"), "type", "virtiofs"))
        out->virtiofs++;
    else
        out->plan9++;
    if (out->n_filesystems < HV_FILESYSTEMS_MAX)
        (void)READ(child_of(node, "target"), "dir", out->filesystems[out->n_filesystems++]);
}

static void read_shared_memory(const xmlNode *node, struct hv_definition *out)
{
    if (!attribute_is(node, "role", "master"))
        out->shared_memory_peers++;
}

static void read_devices(const xmlNode *devices, struct hv_definition *out)
{
    static const struct {
        const char *name;
        void (*read)(const xmlNode *node, struct hv_definition *out);
    } readers[] = {
        {"disk", read_disk},           {"interface", read_interface},
        {"hostdev", read_host_device}, {"filesystem", read_filesystem},
        {"shmem", read_shared_memory},
    };
    for (const xmlNode *node = devices != NULL ? devices->children : NULL; node != NULL;
         node = node->next)
        for (size_t i = 0; i < COUNT(readers); i++)
            if (is_element(node, readers[i].name))
                readers[i].read(node, out);
}

/* --- CPU, clock, features --- */

static void read_cpu(const xmlNode *cpu, struct hv_definition *out)
{
    (void)READ(cpu, "mode", out->cpu_mode);
    out->cpu_fixed = attribute_is(cpu, "migratable", "off");
    const xmlNode *model = child_of(cpu, "model");
    if (model != NULL)
        (void)copy_out(xmlNodeGetContent(model), out->cpu_model, sizeof out->cpu_model);
    for (const xmlNode *node = cpu != NULL ? cpu->children : NULL; node != NULL; node = node->next)
        if (is_element(node, "feature") && attribute_is(node, "name", "invtsc") &&
            (attribute_is(node, "policy", "require") || attribute_is(node, "policy", "force")))
            out->invtsc = true;
}

/* FNV-1a, then spread: sums of such numbers tell sets apart, whatever their order. */
static uint64_t mix_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3ULL;
    while (*text++ != '\0');
    return hash;
}

static uint64_t spread(uint64_t hash)
{
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
    return hash ^ (hash >> 31);
}

static const uint64_t hash_start = 0xCBF29CE484222325ULL;

/* Text between elements is white space and counts for nothing. */
static uint64_t hash_element(const xmlNode *element)
{
    uint64_t sum = 0;
    bool has_children = false;
    for (const xmlAttr *attr = element->properties; attr != NULL; attr = attr->next) {
        xmlChar *value = xmlGetNoNsProp(element, attr->name);
        uint64_t hash = mix_text(hash_start, (const char *)attr->name);
        sum += spread(mix_text(hash, value != NULL ? (const char *)value : ""));
        xmlFree(value);
    }
    for (const xmlNode *node = element->children; node != NULL; node = node->next) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        has_children = true;
        if (!is_element(node, "topology") && !is_element(node, "numa"))
            sum += hash_element(node);
    }
    uint64_t hash = mix_text(hash_start, (const char *)element->name);
    xmlChar *text = has_children ? NULL : xmlNodeGetContent(element);
    if (text != NULL)
        hash = mix_text(hash, (const char *)text);
    xmlFree(text);
    return spread(hash + spread(sum));
}

static void hash_cpu(const xmlNode *domain, const xmlNode *cpu, struct hv_definition *out)
{
    char virt_type[HV_WORD_MAX];
    (void)READ(domain, "type", virt_type);
    if (cpu == NULL)
        return;
    uint64_t hash = mix_text(mix_text(mix_text(hash_start, out->arch), virt_type), out->machine);
    hash = spread(hash + hash_element(cpu));
    out->cpu_hash = hash != 0 ? hash : 1;
}

/* <hugepages/> or <hugepages><page size='2' unit='M'/>; the first size counts. */
static void read_hugepages(const xmlNode *hugepages, struct hv_definition *out)
{
    const xmlNode *page = child_of(hugepages, "page");
    char size[HV_WORD_MAX], unit[HV_WORD_MAX];
    (void)READ(page, "size", size);
    (void)READ(page, "unit", unit);
    uint64_t number = strtoull(size, NULL, 10);
    unsigned shift = unit[0] == 'M' ? 10 : unit[0] == 'G' ? 20 : unit[0] == 'T' ? 30 : 0;
    if (hugepages == NULL)
        return;
    bool is_plausible = number > 0 && number <= UINT32_MAX;
    out->hugepage_kib = is_plausible ? number << shift : 1;
}

static void read_clock(const xmlNode *clock, struct hv_definition *out)
{
    for (const xmlNode *node = clock != NULL ? clock->children : NULL; node != NULL;
         node = node->next)
        if (is_element(node, "timer") && attribute_is(node, "name", "tsc")) {
            char frequency[HV_WORD_MAX];
            (void)READ(node, "frequency", frequency);
            out->tsc_frequency = strtoull(frequency, NULL, 10) > 0;
        }
}

static void read_hyperv(const xmlNode *hyperv, struct hv_definition *out)
{
    out->hyperv_passthrough = attribute_is(hyperv, "mode", "passthrough");
    out->reenlightenment = attribute_is(child_of(hyperv, "reenlightenment"), "state", "on");
}

/* A device given to QEMU past libvirt, which knows nothing of it. */
static void read_command_line(const xmlNode *line, struct hv_definition *out)
{
    for (const xmlNode *node = line != NULL ? line->children : NULL; node != NULL;
         node = node->next) {
        char value[HV_SOURCE_MAX];
        if (!is_element(node, "arg"))
            continue;
        (void)READ(node, "value", value);
        bool is_ivshmem =
            strncmp(value, "ivshmem", strlen("ivshmem")) == 0 || strstr(value, "\"ivshmem") != NULL;
        if (is_ivshmem && strstr(value, "master=on") == NULL &&
            strstr(value, "\"master\":true") == NULL)
            out->shared_memory_peers++;
        if (strncmp(value, "vfio-pci", strlen("vfio-pci")) == 0)
            out->host_devices++;
    }
}

static void read_domain(const xmlNode *domain, struct hv_definition *out)
{
    const xmlNode *type = child_of(child_of(domain, "os"), "type");
    (void)READ(type, "arch", out->arch);
    (void)READ(type, "machine", out->machine);
    (void)READ(child_of(domain, "launchSecurity"), "type", out->launch_security);
    read_cpu(child_of(domain, "cpu"), out);
    hash_cpu(domain, child_of(domain, "cpu"), out);
    read_hugepages(child_of(child_of(domain, "memoryBacking"), "hugepages"), out);
    read_clock(child_of(domain, "clock"), out);
    read_hyperv(child_of(child_of(domain, "features"), "hyperv"), out);
    read_devices(child_of(domain, "devices"), out);
    read_command_line(child_of(domain, "commandline"), out);
}

bool hv_definition_parse(const char *xml, struct hv_definition *out_definition, struct err *err)
{
    size_t n = strlen(xml);
    if (n > HV_DEFINITION_BYTES_MAX)
        return err_set(err, ERR_INVALID, "a definition of %zu bytes; %d are the limit", n,
                       HV_DEFINITION_BYTES_MAX);
    xmlDocPtr doc = xmlReadMemory(xml, (int)n, NULL, NULL,
                                  XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    const xmlNode *root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    /* A definition never has a DTD of its own: entities are somebody's trick. */
    bool is_domain = root != NULL && is_element(root, "domain") && doc->intSubset == NULL;
    if (is_domain) {
        memset(out_definition, 0, sizeof *out_definition);
        read_domain(root, out_definition);
    }
    xmlFreeDoc(doc);
    return is_domain || err_set(err, ERR_INVALID, "not a domain definition");
}
