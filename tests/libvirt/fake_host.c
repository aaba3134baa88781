/* fake_host.c - the fake's host: facts, capabilities, networks, links, storage, CPU comparison. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libvirt/fake_impl.h"

FAKE(char *, virConnectGetHostname, virConnectPtr conn)
{
    return fake_enter_quietly(conn, "virConnectGetHostname") ? fake_text(fake.hostname) : NULL;
}

FAKE(char *, virConnectGetCapabilities, virConnectPtr conn)
{
    return fake_enter_quietly(conn, "virConnectGetCapabilities") ? fake_text(fake.capabilities)
                                                                 : NULL;
}

FAKE(int, virNodeGetInfo, virConnectPtr conn, virNodeInfoPtr info)
{
    if (!fake_enter_quietly(conn, "virNodeGetInfo"))
        return -1;
    *info = fake.node;
    return 0;
}

FAKE(int, virConnectGetLibVersion, virConnectPtr conn, unsigned long *version)
{
    if (!fake_enter_quietly(conn, "virConnectGetLibVersion"))
        return -1;
    *version = fake.libvirt_version;
    return 0;
}

FAKE(int, virConnectGetVersion, virConnectPtr conn, unsigned long *version)
{
    if (!fake_enter_quietly(conn, "virConnectGetVersion"))
        return -1;
    *version = fake.qemu_version;
    return 0;
}

FAKE(unsigned long long, virNodeGetFreeMemory, virConnectPtr conn)
{
    return fake_enter_quietly(conn, "virNodeGetFreeMemory") ? fake.free_memory : 0;
}

FAKE(char *, virConnectGetDomainCapabilities, virConnectPtr conn, const char *emulator,
     const char *arch, const char *machine, const char *type, unsigned flags)
{
    bool plain = emulator == NULL && arch == NULL && machine == NULL && type == NULL;
    return fake_enter(conn, "virConnectGetDomainCapabilities", "%s %u", plain ? "all" : "one",
                      flags)
               ? strdup("<domainCapabilities/>")
               : NULL;
}

static const char *shown(const char *text)
{
    return text != NULL ? text : "-";
}

FAKE(int, virConnectCompareHypervisorCPU, virConnectPtr conn, const char *emulator,
     const char *arch, const char *machine, const char *type, const char *cpu, unsigned flags)
{
    return fake_enter(conn, "virConnectCompareHypervisorCPU", "%s %s %s %s %s %u", shown(emulator),
                      shown(arch), shown(machine), shown(type), shown(cpu), flags)
               ? fake.compared
               : -1;
}

FAKE(int, virConnectCompareCPU, virConnectPtr conn, const char *cpu, unsigned flags)
{
    return fake_enter(conn, "virConnectCompareCPU", "%s %u", cpu, flags) ? fake.compared_host : -1;
}

FAKE(int, virNodeGetFreePages, virConnectPtr conn, unsigned n, unsigned *sizes, int cell,
     unsigned cells, unsigned long long *counts, unsigned flags)
{
    if (!fake_enter(conn, "virNodeGetFreePages", "%u first=%u cell=%d cells=%u %u", n, sizes[0],
                    cell, cells, flags))
        return -1;
    for (unsigned i = 0; i < n && i < 4; i++)
        counts[i] = fake.free_pages[i];
    return fake.free_pages_n != 0 ? fake.free_pages_n : (int)n;
}

/* ---- lists of named things ---- */

struct thing {
    virConnectPtr conn;
    struct fake_named of;
};

static struct thing *thing_new(virConnectPtr conn, const struct fake_named *from)
{
    struct thing *thing = calloc(1, sizeof *thing);
    *thing = (struct thing){conn, *from};
    fake_object(1);
    return thing;
}

static int list(virConnectPtr conn, const char *call, unsigned flags, const struct fake_list *from,
                void ***out)
{
    if (!fake_enter(conn, call, "%u", flags))
        return -1;
    if (from->missing) {
        fake_set_error(VIR_ERR_NO_SUPPORT, VIR_FROM_NONE, "this function is not supported");
        return -1;
    }
    int n = from->claims > from->n ? from->claims : from->n;
    *out = calloc((size_t)n + 1, sizeof **out);
    for (int i = 0; i < n; i++)
        (*out)[i] = thing_new(conn, &from->of[i < from->n ? i : 0]);
    return n;
}

/* Each use is a line that tests/targets.mk reads. */
#define THING(pointer) ((struct thing *)(void *)(pointer))
#define LIST(function, type, from)                                              \
    FAKE(int, function, virConnectPtr conn, type **out, unsigned flags)         \
    {                                                                           \
        return list(conn, #function, flags, &fake.from, (void ***)(void *)out); \
    }
#define FREE(function, type)        \
    FAKE(int, function, type thing) \
    {                               \
        fake_object(-1);            \
        free(thing);                \
        return 0;                   \
    }
#define NAME(function, type)                 \
    FAKE(const char *, function, type thing) \
    {                                        \
        return THING(thing)->of.name;        \
    }
#define ACTIVE(function, type)          \
    FAKE(int, function, type thing)     \
    {                                   \
        return THING(thing)->of.active; \
    }
#define XML(function, type)                                                                     \
    FAKE(char *, function, type thing, unsigned flags)                                          \
    {                                                                                           \
        return fake_enter(THING(thing)->conn, #function, "%s %u", THING(thing)->of.name, flags) \
                   ? fake_text(THING(thing)->of.xml)                                            \
                   : NULL;                                                                      \
    }
LIST(virConnectListAllNetworks, virNetworkPtr, networks)
LIST(virConnectListAllInterfaces, virInterfacePtr, interfaces)
LIST(virConnectListAllNodeDevices, virNodeDevicePtr, devices)
LIST(virConnectListAllStoragePools, virStoragePoolPtr, pools)
FREE(virNetworkFree, virNetworkPtr)
FREE(virInterfaceFree, virInterfacePtr)
FREE(virNodeDeviceFree, virNodeDevicePtr)
FREE(virStoragePoolFree, virStoragePoolPtr)
FREE(virStorageVolFree, virStorageVolPtr)
NAME(virNetworkGetName, virNetworkPtr)
NAME(virInterfaceGetName, virInterfacePtr)
NAME(virStoragePoolGetName, virStoragePoolPtr)
ACTIVE(virNetworkIsActive, virNetworkPtr)
ACTIVE(virStoragePoolIsActive, virStoragePoolPtr)
XML(virNodeDeviceGetXMLDesc, virNodeDevicePtr)
XML(virStoragePoolGetXMLDesc, virStoragePoolPtr)

/* ---- storage ---- */

static void *find(virConnectPtr conn, const struct fake_list *in, bool by_path, const char *what,
                  int code)
{
    for (int i = 0; i < in->n; i++) {
        const char *has = by_path ? in->of[i].path : in->of[i].name;
        if (has != NULL && strcmp(has, what) == 0)
            return thing_new(conn, &in->of[i]);
    }
    fake_set_error(code, VIR_FROM_STORAGE, "not found");
    return NULL;
}

FAKE(virStoragePoolPtr, virStoragePoolLookupByName, virConnectPtr conn, const char *name)
{
    return fake_enter(conn, "virStoragePoolLookupByName", "%s", name)
               ? find(conn, &fake.pools, false, name, VIR_ERR_NO_STORAGE_POOL)
               : NULL;
}

FAKE(virStoragePoolPtr, virStoragePoolLookupByTargetPath, virConnectPtr conn, const char *path)
{
    return fake_enter(conn, "virStoragePoolLookupByTargetPath", "%s", path)
               ? find(conn, &fake.pools, true, path, VIR_ERR_NO_STORAGE_POOL)
               : NULL;
}

FAKE(virStoragePoolPtr, virStoragePoolCreateXML, virConnectPtr conn, const char *xml,
     unsigned flags)
{
    static char name[64];
    if (!fake_enter(conn, "virStoragePoolCreateXML", "%s %u", xml, flags))
        return NULL;
    const char *from = strstr(xml, "<name>") + 6;
    (void)snprintf(name, sizeof name, "%.*s", (int)(strstr(from, "</name>") - from), from);
    struct fake_named made = {.name = name, .active = 1};
    return (virStoragePoolPtr)(void *)thing_new(conn, &made);
}

FAKE(int, virStoragePoolDestroy, virStoragePoolPtr pool)
{
    return fake_enter(THING(pool)->conn, "virStoragePoolDestroy", "%s", THING(pool)->of.name) ? 0
                                                                                              : -1;
}

FAKE(int, virStoragePoolRefresh, virStoragePoolPtr pool, unsigned flags)
{
    return fake_enter(THING(pool)->conn, "virStoragePoolRefresh", "%u", flags) ? 0 : -1;
}

FAKE(int, virStoragePoolGetInfo, virStoragePoolPtr pool, virStoragePoolInfoPtr info)
{
    if (!fake_enter_quietly(THING(pool)->conn, "virStoragePoolGetInfo"))
        return -1;
    *info = (virStoragePoolInfo){.capacity = 3, .allocation = 2, .available = THING(pool)->of.size};
    return 0;
}

FAKE(virStorageVolPtr, virStorageVolLookupByName, virStoragePoolPtr pool, const char *name)
{
    virConnectPtr conn = THING(pool)->conn;
    return fake_enter(conn, "virStorageVolLookupByName", "%s %s", THING(pool)->of.name, name)
               ? find(conn, &fake.volumes, false, name, VIR_ERR_NO_STORAGE_VOL)
               : NULL;
}

FAKE(virStorageVolPtr, virStorageVolLookupByPath, virConnectPtr conn, const char *path)
{
    return fake_enter(conn, "virStorageVolLookupByPath", "%s", path)
               ? find(conn, &fake.volumes, true, path, VIR_ERR_NO_STORAGE_VOL)
               : NULL;
}

FAKE(int, virStorageVolGetInfo, virStorageVolPtr volume, virStorageVolInfoPtr info)
{
    if (!fake_enter_quietly(THING(volume)->conn, "virStorageVolGetInfo"))
        return -1;
    *info = (virStorageVolInfo){.capacity = THING(volume)->of.size, .allocation = 1};
    return 0;
}
