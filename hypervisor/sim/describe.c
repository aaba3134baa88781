/* describe.c - definitions and capabilities as XML, with what readers of libvirt's XML look at
 * first: name, uuid, memory, machine, CPU model. */
#include "base/text.h"
#include "hypervisor/sim/inside.h"

enum { XML_MAX = 16384 };

char *sim_describe_guest(const struct copy *copy)
{
    const struct sim_guest *guest = &copy->guest->what;
    struct buf xml;
    buf_init(&xml, XML_MAX);
    buf_addf(&xml, "<domain type='kvm'>\n  <name>%s</name>\n  <uuid>%s</uuid>\n", copy->name,
             guest->uuid);
    buf_addf(&xml,
             "  <metadata>\n    <ferry:guest xmlns:ferry='urn:ferry:domain:1'>\n"
             "      <ferry:namespace>%s</ferry:namespace>\n    </ferry:guest>\n  </metadata>\n",
             guest->ns);
    buf_addf(&xml, "  <memory unit='KiB'>%llu</memory>\n",
             (unsigned long long)(guest->memory_bytes / 1024));
    buf_addf(&xml, "  <vcpu placement='static'>%u</vcpu>\n", guest->vcpus);
    buf_add(&xml, "  <os><type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type></os>\n"
                  "  <cpu mode='custom' match='exact' check='full'>\n"
                  "    <model fallback='forbid'>qemu64</model>\n  </cpu>\n"
                  "  <devices>\n    <emulator>/usr/bin/qemu-system-x86_64</emulator>\n");
    if (guest->local_disk)
        buf_addf(&xml,
                 "    <disk type='file' device='disk'>\n      <driver name='qemu' type='qcow2'/>\n"
                 "      <source file='/var/lib/libvirt/images/%s.qcow2'/>\n"
                 "      <target dev='vda' bus='virtio'/>\n    </disk>\n",
                 guest->uuid);
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
