/* descriptors.c - see descriptors.h. */
#include "appliance/descriptors.h"

#include <sys/resource.h>

#include "exporter/http/limits.h"

enum {
    OWN = 128,            /* store and its readers, log, event loop, rules, QEMU logs */
    PER_CONNECTION = 2,   /* its socket, and an eventfd of GLib's */
    PER_HOST = 5,         /* connections: keeper, OBSERVE, CONTROL, PROBE, one that hangs */
    PER_MIGRATION = 4,    /* connections: MIGRATE, STATS, CONTROL at the source, OBSERVE */
    PER_NODE_DEFAULT = 5, /* migrations, where the configuration has no limit */
};

static uint64_t migrations(const struct config *config, uint64_t n_hosts)
{
    uint64_t per_node = config->parallel_outbound_per_node != 0 ? config->parallel_outbound_per_node
                                                                : PER_NODE_DEFAULT;
    uint64_t n = n_hosts * per_node;
    bool is_limited = config->parallel_per_fleet != 0 && config->parallel_per_fleet < n;
    return is_limited ? config->parallel_per_fleet : n;
}

uint64_t descriptors_needed(const struct config *config, size_t n_hosts)
{
    uint64_t connections = n_hosts * PER_HOST + migrations(config, n_hosts) * PER_MIGRATION;
    return OWN + EXPORTER_CONNECTIONS_MAX + EXPORTER_SOCKET_CONNECTIONS_MAX +
           connections * PER_CONNECTION;
}

bool descriptors_check(uint64_t needed, struct err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= needed)
        return true;
    return err_set(err, ERR_LIMIT,
                   "this configuration needs %llu file descriptors and the limit is %llu: raise it "
                   "(LimitNOFILE= of the unit, ulimit -n)",
                   (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
}
