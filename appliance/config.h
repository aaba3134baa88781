/* config.h - ferry.yaml as a struct. Unknown keys and bad values are errors with file, line and
 * the nearest valid key. config_read() adds the hosts of hosts.d beside the file (config_dir.c).
 * Owns its memory. */
#ifndef APPLIANCE_CONFIG_H
#define APPLIANCE_CONFIG_H

#include "base/log.h"
#include "base/own.h"
#include "engine/engine.h"
#include "engine/lease.h"
#include "engine/model/fleet/fleet.h"
#include "engine/model/settings/migration_config.h"
#include "engine/model/settings/settings.h"
#include "exporter/access/access_config.h"
#include "hypervisor/types.h"
#include "store/retention.h"

enum { CONFIG_HOSTS_MAX = 10000, CONFIG_PATH_MAX = 4096, CONFIG_SHARED_MAX = 64 };
#define CONFIG_FILE_DEFAULT "/etc/ferry/ferry.yaml"
#define CONFIG_STATE_DEFAULT "/var/lib/ferry"

/* Keys of earlier versions: accepted with any value, ignored, with a warning. */
enum config_retired {
    CONFIG_RETIRED_RELAY,       /* hosts[].relay */
    CONFIG_RETIRED_OUT_OF_BAND, /* outOfBand */
    CONFIG_RETIRED_RELAYED,     /* migrations.relayed */
    CONFIG_RETIRED_COUNT
};

#define CONFIG_CELL_DEFAULT "default" /* inside Ferry its name is empty */

/* `appliance:`: one of several on one store. */
struct config_appliance {
    char name[STORE_CELL_MAX];       /* empty: it is alone */
    char address[STORE_ADDRESS_MAX]; /* https://..., for the others; empty: not known */
    struct lease_times times;
};

struct config {
    size_t n_hosts;
    struct hv_host *hosts;
    struct host_settings *host_settings; /* one per host; owns its texts */
    struct config_appliance appliance;
    struct fleet_cells cells;          /* of all hosts of the file */
    char rules_dir[CONFIG_PATH_MAX];   /* the site's own rules of the analyser; "": none */
    char helper_secret[HV_SECRET_MAX]; /* of hosts without a file of their own */
    char state_dir[CONFIG_PATH_MAX];   /* default /var/lib/ferry */
    char store[CONFIG_PATH_MAX];       /* postgresql://...; "": files in state_dir */
    char store_query[CONFIG_PATH_MAX]; /* the same as a role that may only read; "": no queries */
    struct access_config access;       /* listeners, roles, names */
    enum log_level log_level;
    enum log_format log_format;
    /* migrations: KubeVirt's MigrationConfiguration names */
    struct migration_config migration;
    uint64_t
        bandwidth_per_node; /* bytes per second each way, for all its migrations; 0: no limit */
    unsigned parallel_per_fleet, parallel_outbound_per_node; /* 0: no limit */
    unsigned parallel_inbound_per_node;
    unsigned memory_overcommit_percent, vcpus_per_cpu;
    enum strategy eviction_strategy; /* default of guests */
    int64_t sample_ms;               /* 0: default */
    struct store_retention retention;
    /* storage: shared by all hosts */
    char *shared_paths[CONFIG_SHARED_MAX], *shared_pools[CONFIG_SHARED_MAX];
    size_t n_shared_paths, n_shared_pools;
    bool observe;       /* hosts without a mode of their own are only read */
    bool allow_managed; /* guests that another manager marks as its own are migrated */
    unsigned retired; /* keys in the file that are no longer used, as bits by enum config_retired */
};

/* All defaults and no hosts. */
struct config *config_new(struct err *err);
struct config *config_read(const char *file, struct err *err);
struct config *config_parse(const char *text, size_t n, const char *file, struct err *err);
void config_free(struct config *config);
DEFINE_OWNED(config)
/* Where they were written is no difference. */
bool config_settings_differ(const struct host_settings *a, const struct host_settings *b);
void config_free_settings(struct host_settings *settings, size_t n); /* and their texts */
void config_free_texts(struct host_settings *settings);              /* of one host */
/* Only the hosts of these cells are left. */
void config_keep_cells(struct config *config, const struct fleet_cells *held);
const char *config_retired_text(enum config_retired key); /* the warning */

/* An externalUrl without the slash at its end; out_url holds ACCESS_TEXT_MAX. False: it is none. */
bool config_external_url(const char *text, char *out_url);

enum config_part {
#define PART(id, name, how) CONFIG_PART_##id,
#include "appliance/config_parts.def"
#undef PART
    CONFIG_PART_COUNT
};
const char *config_part_name(enum config_part part);
bool config_part_requires_restart(enum config_part part);
/* The parts that differ, as bits by enum config_part. */
unsigned config_compare(const struct config *now, const struct config *next);
/* Takes what needs no restart from `next`, which gets the former hosts. */
void config_take(struct config *config, struct config *next);

#endif
