/* config_read.h - how the files that read ferry.yaml work together; nobody else's business.
 *
 * Each map of the file is one table of keys, each key one reader; the same table refuses unknown
 * keys and names the nearest valid one. Duplicate keys are refused by yaml.h already.
 */
#ifndef APPLIANCE_CONFIG_READ_H
#define APPLIANCE_CONFIG_READ_H

#include "appliance/config.h"
#include "base/yaml.h"

/* Where a reader stands: the file, the configuration being filled, the host being filled. */
struct reading {
    const struct yaml *yaml;
    struct config *config;
    size_t host;
};

typedef bool read_fn(struct reading *r, const struct yaml_node *node, struct err *err);

struct key {
    const char *name;
    read_fn *read;
};

bool config_read_map(struct reading *r, const struct yaml_node *map, const struct key *keys,
                     size_t n, struct err *err);
/* A text that is not empty and fits. */
bool config_read_text(struct reading *r, const struct yaml_node *node, char *out, size_t out_bytes,
                      struct err *err);

read_fn config_read_helper_secret; /* of all hosts; before the hosts */
read_fn config_read_hosts, config_read_migrations, config_read_eviction;
bool config_hosts_differ(const struct config *a, const struct config *b);
bool config_migrations_differ(const struct config *a, const struct config *b);

#endif
