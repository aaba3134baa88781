/* host_capabilities.c - what a host offers to arriving guests, read part by part. A driver may lack
 * any part (a libvirtd without storage or without the interface driver): that part is not known.
 * The call fails only when the host is unreachable.
 *
 * A list that is longer than its bound is not known either: a name missing from a list counts as
 * absent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

DEFINE_OWNED(hv_capabilities)

static void list_networks(virConnectPtr conn, struct hv_capabilities *capabilities)
{
    virNetworkPtr *networks = NULL;
    int n = virConnectListAllNetworks(conn, &networks, 0);
    if (n < 0)
        return;
    bool fits = n <= HV_LINKS_MAX;
    struct hv_network *list = fits ? calloc((size_t)n + 1, sizeof *list) : NULL;
    for (int i = 0; i < n; i++) {
        struct hv_network *one = list != NULL ? &list[capabilities->n_networks] : NULL;
        if (one != NULL && text_copy(one->name, sizeof one->name, virNetworkGetName(networks[i]))) {
            one->active = virNetworkIsActive(networks[i]) == 1;
            capabilities->n_networks++;
        }
        (void)virNetworkFree(networks[i]);
    }
    free(networks);
    capabilities->networks = list;
    capabilities->networks_known = list != NULL;
}

/* Excludes devices that libvirt creates for running guests. */
static bool is_lasting(const char *name)
{
    static const char *const passing[] = {"vnet", "macvtap", "macvlan", "tap", "lo"};
    for (size_t i = 0; i < COUNT(passing); i++) {
        size_t n = strlen(passing[i]);
        if (strncmp(name, passing[i], n) == 0 && strspn(name + n, "0123456789") == strlen(name + n))
            return false;
    }
    return name[0] != '\0';
}

static void keep_link(struct hv_capabilities *capabilities, const char *name)
{
    struct hv_bridge *link = &capabilities->bridges[capabilities->n_bridges];
    if (is_lasting(name) && text_copy(link->name, sizeof link->name, name))
        capabilities->n_bridges++;
}

/* False: this host has no such driver. */
static bool list_interfaces(virConnectPtr conn, struct hv_capabilities *capabilities)
{
    virInterfacePtr *interfaces = NULL;
    int n = virConnectListAllInterfaces(conn, &interfaces, 0);
    if (n < 0)
        return false;
    bool fits = n <= HV_LINKS_MAX;
    capabilities->bridges = fits ? calloc((size_t)n + 1, sizeof *capabilities->bridges) : NULL;
    for (int i = 0; i < n; i++) {
        if (capabilities->bridges != NULL)
            keep_link(capabilities, virInterfaceGetName(interfaces[i]));
        (void)virInterfaceFree(interfaces[i]);
    }
    free(interfaces);
    capabilities->bridges_known = capabilities->bridges != NULL;
    return true;
}

static void list_net_devices(virConnectPtr conn, struct hv_capabilities *capabilities)
{
    virNodeDevicePtr *devices = NULL;
    int n = virConnectListAllNodeDevices(conn, &devices, VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET);
    if (n < 0)
        return;
    bool fits = n <= HV_LINKS_MAX;
    capabilities->bridges = fits ? calloc((size_t)n + 1, sizeof *capabilities->bridges) : NULL;
    for (int i = 0; i < n; i++) {
        struct hv_bridge link;
        OWNED_TEXT xml =
            capabilities->bridges != NULL ? virNodeDeviceGetXMLDesc(devices[i], 0) : NULL;
        if (xml != NULL && libvirt_capabilities_link(xml, &link))
            keep_link(capabilities, link.name);
        (void)virNodeDeviceFree(devices[i]);
    }
    free(devices);
    capabilities->bridges_known = capabilities->bridges != NULL;
}

static bool read_pool(virStoragePoolPtr pool, struct hv_pool *out_pool)
{
    if (!text_copy(out_pool->name, sizeof out_pool->name, virStoragePoolGetName(pool)))
        return false;
    out_pool->active = virStoragePoolIsActive(pool) == 1;
    OWNED_TEXT xml = virStoragePoolGetXMLDesc(pool, 0);
    if (xml == NULL || !libvirt_capabilities_pool_path(xml, out_pool->path, sizeof out_pool->path))
        out_pool->path[0] = '\0'; /* a pool of network volumes has none */
    return true;
}

static void list_pools(virConnectPtr conn, struct hv_capabilities *capabilities)
{
    virStoragePoolPtr *pools = NULL;
    int n = virConnectListAllStoragePools(conn, &pools, 0);
    if (n < 0)
        return;
    bool fits = n <= HV_POOLS_MAX;
    struct hv_pool *list = fits ? calloc((size_t)n + 1, sizeof *list) : NULL;
    for (int i = 0; i < n; i++) {
        if (list != NULL && read_pool(pools[i], &list[capabilities->n_pools]))
            capabilities->n_pools++;
        (void)virStoragePoolFree(pools[i]);
    }
    free(pools);
    capabilities->pools = list;
    capabilities->pools_known = list != NULL;
}

/* Cell -1 is the whole host. */
static void count_free_pages(virConnectPtr conn, struct hv_capabilities *capabilities)
{
    unsigned sizes[HV_PAGES_MAX];
    unsigned long long counts[HV_PAGES_MAX] = {0};
    unsigned n = (unsigned)capabilities->n_pages;
    for (unsigned i = 0; i < n; i++)
        sizes[i] = (unsigned)capabilities->pages[i].size_kib;
    if (!capabilities->pages_known || n == 0)
        return;
    capabilities->pages_known = virNodeGetFreePages(conn, n, sizes, -1, 1, counts, 0) == (int)n;
    for (unsigned i = 0; i < n; i++)
        capabilities->pages[i].free = counts[i];
    if (!capabilities->pages_known)
        capabilities->n_pages = 0;
}

bool libvirt_capabilities(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    (void)job;
    OWNED_TEXT xml = virConnectGetCapabilities(conn);
    if (xml == NULL)
        return libvirt_connection_fail(conn, &reply->err);
    OWNED(hv_capabilities) capabilities = calloc(1, sizeof *capabilities);
    if (capabilities == NULL)
        return err_set(&reply->err, ERR_NOMEM, "capabilities of a host");
    libvirt_capabilities_decode(xml, capabilities);
    list_networks(conn, capabilities);
    if (!list_interfaces(conn, capabilities))
        list_net_devices(conn, capabilities);
    list_pools(conn, capabilities);
    count_free_pages(conn, capabilities);
    /* The host was lost during the call: missing parts do not mean that it lacks them. */
    if (!libvirt_connection_is_alive(conn))
        return libvirt_connection_fail(conn, &reply->err);
    hv_capabilities_seal(capabilities);
    reply->with.capabilities = TAKE(capabilities);
    return true;
}
