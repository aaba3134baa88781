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
    HV_SECRET_MAX = 129, /* the secret that Ferry and a host's helper share */
    HV_PORT_MIN = 49152, /* libvirt's own range for streams */
    HV_PORT_MAX = 49215,
};

struct hv_host {
    char name[HV_HOST_MAX];
    char cell[HV_HOST_MAX];           /* empty: default. Guests stay in their cell */
    char uri[HV_URI_MAX];             /* how Ferry reaches it */
    char peer_uri[HV_URI_MAX];        /* how other hosts' libvirtd reach it (p2p); default: uri */
    char migration_host[HV_TEXT_MAX]; /* address for the memory stream; empty: libvirt decides */
    char listen[HV_TEXT_MAX];   /* where it listens for the stream; empty: migration_host if that is
                                   an address, else libvirt decides */
    char tls_name[HV_TEXT_MAX]; /* name in its certificate, if streams go to another one */
    bool observe;               /* it is only read: no read-write connection, no probe, no order */
    bool tls;                   /* its QEMU is set up for TLS: the stream is encrypted */
    char helper[HV_URI_MAX];    /* address of its `ferry hostd`; empty: it has none */
    char helper_secret[HV_SECRET_MAX]; /* the secret of that helper */
    unsigned port_min, port_max; /* its libvirt's port range for streams; 0: libvirt's default */
    int keepalive_interval_s, keepalive_count; /* 0: 5 and 5 */
};
/* Is it an address and not a name? Then without brackets into out_address. */
bool hv_literal_address(const char *host, char *out_address, size_t bytes);
/* Does it listen for the stream on one known address? Only then can Ferry choose a port: listening
 * on all addresses QEMU accepts a port that is free on some, and the stream could reach another
 * program. */
bool hv_host_listens_on_address(const struct hv_host *host);

#endif
