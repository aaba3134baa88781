/* definition.c - see definition.h. */
#include "hypervisor/definition.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "hypervisor/xml.h"

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
    if (source != NULL &&
        !is_named) /* a share without a name, or a source described by child elements */
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
        if (xml_attribute_is(node, "type", kinds[i].name))
            return kinds[i].kind;
    return HV_DISK_OTHER;
}

static bool has_utility_alias(const xmlNode *node)
{
    char alias[HV_SOURCE_MAX];
    (void)READ(xml_child(node, "alias"), "name", alias);
    return text_has_prefix(alias, "ua-utility-");
}

static void read_disk(const xmlNode *node, struct hv_definition *out)
{
    if (out->n_disks == HV_DISKS_MAX) {
        out->cut++;
        return;
    }
    struct hv_disk *disk = &out->disks[out->n_disks++];
    const xmlNode *source = xml_child(node, "source");
    disk->kind = disk_kind(node);
    disk->cut = !read_disk_source(source, disk);
    (void)READ(xml_child(node, "target"), "dev", disk->target);
    (void)READ(xml_child(node, "driver"), "cache", disk->cache);
    (void)READ(xml_child(node, "driver"), "type", disk->format);
    disk->lun = xml_attribute_is(node, "device", "lun");
    disk->readonly = xml_child(node, "readonly") != NULL;
    disk->shareable = xml_child(node, "shareable") != NULL;
    disk->removable =
        xml_attribute_is(node, "device", "cdrom") || xml_attribute_is(node, "device", "floppy");
    disk->reservations = xml_child(source, "reservations") != NULL;
    disk->block_job = xml_child(node, "mirror") != NULL;
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
    const xmlNode *source = xml_child(node, "source");
    (void)READ(node, "type", interface->type);
    /* A live interface of a network also names the bridge or device, and some have their type
     * changed to it: what counts on the target is the network. */
    bool of_network = READ(source, "network", interface->source) && interface->source[0] != '\0';
    if (of_network &&
        (strcmp(interface->type, "bridge") == 0 || strcmp(interface->type, "direct") == 0))
        TEXT_SET(interface->type, "network");
    for (size_t i = 0; i < COUNT(places) && interface->source[0] == '\0'; i++)
        (void)READ(source, places[i], interface->source);
    (void)READ(xml_child(node, "mac"), "address", interface->mac);
    for (char *at = interface->mac; *at != '\0'; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    interface->transient = xml_attribute_is(xml_child(node, "teaming"), "type", "transient");
}

static void read_host_device(const xmlNode *node, struct hv_definition *out)
{
    if (!xml_attribute_is(xml_child(node, "teaming"), "type", "transient"))
        out->host_devices++;
}

static void read_filesystem(const xmlNode *node, struct hv_definition *out)
{
    if (xml_attribute_is(xml_child(node, "driver"), "type", "virtiofs"))
        out->virtiofs++;
    else
        out->plan9++;
    if (out->n_filesystems < HV_FILESYSTEMS_MAX)
        (void)READ(xml_child(node, "target"), "dir", out->filesystems[out->n_filesystems++]);
}

static void read_shared_memory(const xmlNode *node, struct hv_definition *out)
{
    if (!xml_attribute_is(node, "role", "master"))
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
            if (xml_is(node, readers[i].name))
                readers[i].read(node, out);
}

/* --- CPU, clock, features --- */

static void read_cpu(const xmlNode *cpu, struct hv_definition *out)
{
    (void)READ(cpu, "mode", out->cpu_mode);
    out->cpu_fixed = xml_attribute_is(cpu, "migratable", "off");
    const xmlNode *model = xml_child(cpu, "model");
    if (model != NULL)
        (void)copy_out(xmlNodeGetContent(model), out->cpu_model, sizeof out->cpu_model);
    for (const xmlNode *node = cpu != NULL ? cpu->children : NULL; node != NULL; node = node->next)
        if (xml_is(node, "feature") && xml_attribute_is(node, "name", "invtsc") &&
            (xml_attribute_is(node, "policy", "require") ||
             xml_attribute_is(node, "policy", "force")))
            out->invtsc = true;
}

/* Makes a sum of hashes independent of the order of its parts. */
static uint64_t spread(uint64_t hash)
{
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
    return hash ^ (hash >> 31);
}

/* Text between elements is white space and is ignored. */
static uint64_t hash_element(const xmlNode *element)
{
    uint64_t sum = 0;
    bool has_children = false;
    for (const xmlAttr *attr = element->properties; attr != NULL; attr = attr->next) {
        xmlChar *value = xmlGetNoNsProp(element, attr->name);
        uint64_t hash = hash_word(HASH_START, (const char *)attr->name);
        sum += spread(hash_word(hash, value != NULL ? (const char *)value : ""));
        xmlFree(value);
    }
    for (const xmlNode *node = element->children; node != NULL; node = node->next) {
        if (node->type != XML_ELEMENT_NODE)
            continue;
        has_children = true;
        if (!xml_is(node, "topology") && !xml_is(node, "numa"))
            sum += hash_element(node);
    }
    uint64_t hash = hash_word(HASH_START, (const char *)element->name);
    xmlChar *text = has_children ? NULL : xmlNodeGetContent(element);
    if (text != NULL)
        hash = hash_word(hash, (const char *)text);
    xmlFree(text);
    return spread(hash + spread(sum));
}

static void hash_cpu(const xmlNode *domain, const xmlNode *cpu, struct hv_definition *out)
{
    char virt_type[HV_TOKEN_MAX];
    (void)READ(domain, "type", virt_type);
    if (cpu == NULL)
        return;
    uint64_t hash = hash_word(hash_word(hash_word(HASH_START, out->arch), virt_type), out->machine);
    hash = spread(hash + hash_element(cpu));
    out->cpu_hash = hash != 0 ? hash : 1;
}

/* <hugepages/> or <hugepages><page size='2' unit='M'/>; the first size counts. */
static void read_hugepages(const xmlNode *hugepages, struct hv_definition *out)
{
    const xmlNode *page = xml_child(hugepages, "page");
    char size[HV_TOKEN_MAX], unit[HV_TOKEN_MAX];
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
        if (xml_is(node, "timer") && xml_attribute_is(node, "name", "tsc")) {
            char frequency[HV_TOKEN_MAX];
            (void)READ(node, "frequency", frequency);
            out->tsc_frequency = strtoull(frequency, NULL, 10) > 0;
        }
}

static void read_hyperv(const xmlNode *hyperv, struct hv_definition *out)
{
    out->hyperv_passthrough = xml_attribute_is(hyperv, "mode", "passthrough");
    out->reenlightenment = xml_attribute_is(xml_child(hyperv, "reenlightenment"), "state", "on");
}

/* A device on QEMU's command line that libvirt does not manage. */
static void read_command_line(const xmlNode *line, struct hv_definition *out)
{
    for (const xmlNode *node = line != NULL ? line->children : NULL; node != NULL;
         node = node->next) {
        char value[HV_SOURCE_MAX];
        if (!xml_is(node, "arg"))
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
    const xmlNode *type = xml_child(xml_child(domain, "os"), "type");
    (void)READ(type, "arch", out->arch);
    (void)READ(type, "machine", out->machine);
    (void)READ(xml_child(domain, "launchSecurity"), "type", out->launch_security);
    read_cpu(xml_child(domain, "cpu"), out);
    hash_cpu(domain, xml_child(domain, "cpu"), out);
    read_hugepages(xml_child(xml_child(domain, "memoryBacking"), "hugepages"), out);
    read_clock(xml_child(domain, "clock"), out);
    read_hyperv(xml_child(xml_child(domain, "features"), "hyperv"), out);
    read_devices(xml_child(domain, "devices"), out);
    read_command_line(xml_child(domain, "commandline"), out);
    out->manager = hv_manager_of(domain);
}

bool hv_definition_parse(const char *xml, struct hv_definition *out_definition, struct err *err)
{
    size_t n = strlen(xml);
    if (n > HV_DEFINITION_BYTES_MAX)
        return err_set(err, ERR_INVALID, "a definition of %zu bytes; %d are the limit", n,
                       HV_DEFINITION_BYTES_MAX);
    xmlDocPtr doc = xml_parse(xml, HV_DEFINITION_BYTES_MAX);
    const xmlNode *root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    /* A definition never has a DTD: entities would be an attack. */
    bool is_domain = root != NULL && xml_is(root, "domain") && doc->intSubset == NULL;
    if (is_domain) {
        memset(out_definition, 0, sizeof *out_definition);
        read_domain(root, out_definition);
    }
    xmlFreeDoc(doc);
    return is_domain || err_set(err, ERR_INVALID, "not a domain definition");
}
