/* access_config.h - listeners, roles and names of the configuration file, as plain data. */
#ifndef EXPORTER_ACCESS_ACCESS_CONFIG_H
#define EXPORTER_ACCESS_ACCESS_CONFIG_H

#include "exporter/access/identity.h"

enum {
    ACCESS_LISTEN_MAX = 4,
    ACCESS_GRANTS_MAX = 256,
    ACCESS_HOSTS_MAX = 32,
    ACCESS_PROXIES_MAX = 32,
    ACCESS_TEXT_MAX = 256,
    ACCESS_PATH_MAX = 4096,
    ACCESS_SOCKET_MAX = 108,
};
#define ACCESS_SOCKET_DEFAULT "/run/ferry/ferry.sock"
#define ACCESS_GROUP_DEFAULT "ferry"

/* The role of a user of the web configuration file, or of a name in a client's certificate. */
struct access_grant {
    enum access_source source; /* PASSWORD or CERTIFICATE */
    char name[ACCESS_TEXT_MAX];
    enum access_role role;
    char ns[ACCESS_NAMESPACE_MAX]; /* "": all */
};

struct access_config {
    /* "ADDR:PORT", "http://ADDR:PORT" or "https://ADDR:PORT". Without a scheme: https if the web
     * configuration file has a certificate or the address is not loopback, else http. */
    char listen[ACCESS_LISTEN_MAX][ACCESS_TEXT_MAX];
    size_t n_listen;
    char socket[ACCESS_SOCKET_MAX];       /* "": none */
    bool socket_is_default;               /* nobody named it */
    char group[ACCESS_NAME_MAX];          /* whose members are operators */
    char metrics_listen[ACCESS_TEXT_MAX]; /* a listener for /metrics and health only; "": none */
    bool metrics_open;                    /* auth: none */
    char web_file[ACCESS_PATH_MAX];       /* exporter-toolkit's web configuration file; "": none */
    struct access_grant grants[ACCESS_GRANTS_MAX];
    size_t n_grants;
    char external_url[ACCESS_TEXT_MAX]; /* without a slash at the end; "": none */
    char hosts[ACCESS_HOSTS_MAX][ACCESS_TEXT_MAX];
    size_t n_hosts;
    char proxies[ACCESS_PROXIES_MAX][ACCESS_ADDRESS_MAX]; /* or networks */
    size_t n_proxies;
};

void access_config_default(struct access_config *config);

#endif
