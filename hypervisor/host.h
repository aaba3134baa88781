/* host.h - a host as the configuration gives it. */
#ifndef HYPERVISOR_HOST_H
#define HYPERVISOR_HOST_H

#include <stdbool.h>
#include <stddef.h>

enum {
    HV_HOST_MAX = 64,  /* a host's configured name, with terminator */
    HV_NAME_MAX = 128, /* a guest's name */
    HV_UUID_MAX = 37,
    HV_URI_MAX = 256,
    HV_TEXT_MAX = 128,
    HV_SECRET_MAX = 129, /* what Ferry and a host's helper share */
    HV_PORT_MIN = 49152, /* libvirt's own range for streams */
    HV_PORT_MAX = 49215,
};

struct hv_host {
    char name[HV_HOST_MAX];
    char uri[HV_URI_MAX];             /* how Ferry reaches it */
    char peer_uri[HV_URI_MAX];        /* how other hosts' libvirtd reach it (p2p); default: uri */
    char migration_host[HV_TEXT_MAX]; /* address for the memory stream; empty: libvirt decides */
    char listen[HV_TEXT_MAX];   /* where it listens for the stream; empty: migration_host if that is
                                   an address, else libvirt decides */
    char tls_name[HV_TEXT_MAX]; /* name in its certificate, if streams go to another one */
    bool tls;                   /* its QEMU has what TLS needs: memory travels encrypted */
    char helper[HV_URI_MAX];    /* where its `ferry hostd` listens; empty: it has none */
    char helper_secret[HV_SECRET_MAX]; /* what that one and Ferry both know */
    unsigned port_min, port_max;       /* where its libvirt lets streams in; 0: its default */
    int keepalive_interval_s, keepalive_count; /* 0: 5 and 5 */
};
/* Is it an address and not a name? Then without brackets into out_address. */
bool hv_literal_address(const char *host, char *out_address, size_t bytes);
/* Does it listen for memory on one address that is known? Only then can a port be chosen for it: on
 * all addresses QEMU is content with those that are free, and the stream could reach a stranger. */
bool hv_host_listens_on_address(const struct hv_host *host);

#endif
