/* describe.c - definitions and capabilities as XML, with what Ferry reads: name, uuid, memory,
 * machine, CPU model. */
#include "base/hash.h"
#include "base/text.h"
#include "hypervisor/sim/inside.h"

enum { XML_MAX = 16384 };

static void describe_local(struct buf *xml, const struct sim_guest *guest, const char *mirror)
{
    struct hv_location location;
    sim_disk_location(guest, &location);
    bool is_volume = location.pool[0] != '\0';
    buf_addf(xml, "    <disk type='%s' device='disk'>\n      <driver name='qemu' type='raw'/>\n",
             is_volume ? "volume" : "file");
    if (is_volume)
        buf_addf(xml, "      <source pool='%s' volume='%s'/>\n", location.pool, location.name);
    else
        buf_addf(xml, "      <source file='%s'/>\n", location.name);
    buf_addf(xml, "%s      <target dev='vda' bus='virtio'/>\n    </disk>\n", mirror);
}

static void describe_disks(struct buf *xml, const struct sim_guest *guest)
{
    const char *mirror = guest->block_job ? "      <mirror type='file' job='copy'/>\n" : "";
    if (guest->local_disk)
        describe_local(xml, guest, mirror);
    if (guest->shared_disk)
        buf_addf(xml,
                 "    <disk type='volume' device='disk'>\n"
                 "      <driver name='qemu' type='qcow2' cache='none'/>\n"
                 "      <source pool='shared' volume='%s.qcow2'/>\n%s"
                 "      <target dev='vdb' bus='virtio'/>\n    </disk>\n",
                 guest->uuid, guest->local_disk ? "" : mirror);
    if (guest->utility_disk)
        buf_add(xml, "    <disk type='network' device='disk'>\n"
                     "      <source protocol='nbd' name='helper'/>\n"
                     "      <target dev='vdz' bus='virtio'/>\n"
                     "      <alias name='ua-utility-helper'/>\n    </disk>\n");
}

/* The address follows from the uuid, so that it stays when the network changes. */
static void describe_interface(struct buf *xml, const struct sim_guest *guest, const char *type,
                               const char *source, unsigned number)
{
    if (source[0] == '\0')
        return;
    uint64_t hash = hash_word(number, guest->uuid);
    buf_addf(xml,
             "    <interface type='%s'>\n      <mac address='52:54:%02x:%02x:%02x:%02x'/>\n"
             "      <source %s='%s'/>\n      <model type='virtio'/>\n    </interface>\n",
             type, number, (unsigned)(hash >> 16 & 255), (unsigned)(hash >> 8 & 255),
             (unsigned)(hash & 255), type, source);
}

/* As libvirt prints it: with the prefix that it was set with. */
static void describe_mark(struct buf *xml, const struct hv_mark *mark)
{
    char text[HV_MARK_TEXT_MAX];
    if (mark->job[0] == '\0')
        return;
    hv_mark_print(mark, text);
    buf_addf(xml, "    <f:migration xmlns:f='" HV_MARK_URI "'%s\n", text + strlen("<migration"));
}

char *sim_describe_guest(const struct copy *copy, bool stored)
{
    const struct sim_guest *guest =
        stored && copy->guest->stored != NULL ? copy->guest->stored : &copy->guest->what;
    struct buf xml;
    buf_init(&xml, XML_MAX);
    buf_addf(&xml, "<domain type='kvm'>\n  <name>%s</name>\n  <uuid>%s</uuid>\n", copy->name,
             guest->uuid);
    buf_addf(&xml,
             "  <metadata>\n    <ferry:guest xmlns:ferry='urn:ferry:domain:1'>\n"
             "      <ferry:namespace>%s</ferry:namespace>\n    </ferry:guest>\n",
             guest->ns);
    if (!stored)
        describe_mark(&xml, &copy->mark);
    buf_add(&xml, "  </metadata>\n");
    buf_addf(&xml, "  <memory unit='KiB'>%llu</memory>\n",
             (unsigned long long)(guest->memory_bytes / 1024));
    buf_addf(&xml, "  <vcpu placement='static'>%u</vcpu>\n", guest->vcpus);
    if (guest->hugepage_kib > 1)
        buf_addf(&xml,
                 "  <memoryBacking><hugepages><page size='%llu' unit='KiB'/></hugepages>"
                 "</memoryBacking>\n",
                 (unsigned long long)guest->hugepage_kib);
    else if (guest->hugepage_kib == 1)
        buf_add(&xml, "  <memoryBacking><hugepages/></memoryBacking>\n");
    buf_addf(&xml, "  <os><type arch='x86_64' machine='%s'>hvm</type></os>\n",
             guest->machine[0] != '\0' ? guest->machine : SIM_MACHINE);
    buf_add(&xml, "  <cpu mode='custom' match='exact' check='full'>\n"
                  "    <model fallback='forbid'>qemu64</model>\n  </cpu>\n"
                  "  <devices>\n    <emulator>/usr/bin/qemu-system-x86_64</emulator>\n");
    describe_disks(&xml, guest);
    describe_interface(&xml, guest, "network", guest->network, 1);
    describe_interface(&xml, guest, "bridge", guest->bridge, 2);
    if (guest->host_device)
        buf_add(&xml, "    <hostdev mode='subsystem' type='pci' managed='yes'/>\n");
    buf_add(&xml, "  </devices>\n</domain>\n");
    return buf_take(&xml);
}

char *sim_describe_host(const struct host *host)
{
    struct buf xml;
    buf_init(&xml, XML_MAX);
    buf_addf(&xml,
             "<capabilities>\n  <host>\n    <uuid>00000000-0000-4000-8000-%012x</uuid>\n"
             "    <cpu>\n      <arch>x86_64</arch>\n      <model>qemu64</model>\n"
             "      <topology sockets='1' cores='%u' threads='1'/>\n    </cpu>\n"
             "    <migration_features><live/></migration_features>\n  </host>\n",
             host->number, host->what.cpus);
    buf_add(&xml, "  <guest>\n    <os_type>hvm</os_type>\n    <arch name='x86_64'>\n"
                  "      <emulator>/usr/bin/qemu-system-x86_64</emulator>\n"
                  "      <machine maxCpus='255'>pc-i440fx-7.2</machine>\n"
                  "      <domain type='qemu'/>\n      <domain type='kvm'/>\n"
                  "    </arch>\n  </guest>\n</capabilities>\n");
    return buf_take(&xml);
}

char *sim_describe_emulator(const struct host *host)
{
    struct buf xml;
    buf_init(&xml, XML_MAX);
    buf_addf(&xml,
             "<domainCapabilities>\n  <path>/usr/bin/qemu-system-x86_64</path>\n"
             "  <domain>kvm</domain>\n  <machine>pc-i440fx-7.2</machine>\n"
             "  <arch>x86_64</arch>\n  <vcpu max='%u'/>\n"
             "  <cpu>\n    <mode name='custom' supported='yes'>\n"
             "      <model usable='yes'>qemu64</model>\n    </mode>\n  </cpu>\n"
             "</domainCapabilities>\n",
             host->what.cpus > 255 ? host->what.cpus : 255u);
    return buf_take(&xml);
}
