/* config_read.h - shared by the files that read ferry.yaml; private to config*.c.
 *
 * Each map of the file is a table of keys with a reader each; the table also rejects unknown keys
 * and names the nearest valid one. yaml.h rejects duplicate keys.
 */
#ifndef APPLIANCE_CONFIG_READ_H
#define APPLIANCE_CONFIG_READ_H

#include "appliance/config.h"
#include "base/yaml.h"

/* State of a reader: the file, the configuration and the host being filled. */
struct reading {
    const struct yaml *yaml;
    struct config *config;
    size_t host;
};

static inline bool config_read_map(struct reading *r, const struct yaml_node *map,
                                   const struct yaml_key *keys, size_t n, struct err *err)
{
    return yaml_read_map(r->yaml, map, keys, n, r, err);
}
/* A text that is not empty and not too long. */
bool config_read_text(struct reading *r, const struct yaml_node *node, char *out, size_t out_bytes,
                      struct err *err);

yaml_reader config_read_helper_secret; /* of all hosts; before the hosts */
yaml_reader config_read_appliance;
yaml_reader config_read_cell; /* of a host */
/* Once all are read; appliance: its node, or NULL. */
bool config_settle_cells(struct reading *r, const struct yaml_node *appliance, struct err *err);
bool config_appliance_differs(const struct config *a, const struct config *b);
yaml_reader config_read_hosts, config_read_migrations, config_read_eviction;
/* One host from a map, appended. */
bool config_add_host(struct reading *r, const struct yaml_node *map, struct err *err);
/* Hosts of the files in hosts.d beside the file, if there is such a directory. */
bool config_read_dir(struct reading *r, const char *config_file, struct err *err);
/* Once all are read: at least one, no name twice. */
bool config_check_hosts(const struct config *config, struct err *err);
yaml_reader config_read_listen, config_read_socket, config_read_metrics, config_read_web_file;
yaml_reader config_read_access, config_read_external_url, config_read_proxies,
    config_read_allowed_hosts;
bool config_access_differs(const struct config *a, const struct config *b);
/* `mode`: observe or manage. */
bool config_read_mode(struct reading *r, const struct yaml_node *node, bool *out_observe,
                      struct err *err);
bool config_hosts_differ(const struct config *a, const struct config *b);
bool config_migrations_differ(const struct config *a, const struct config *b);

#endif
