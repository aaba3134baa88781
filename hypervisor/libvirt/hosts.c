/* hosts.c - the list of hosts, which may change while Ferry runs. */
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

/* A callback of libvirt's may still run for a moment after it was deregistered. */
enum { REAP_AFTER_MS = 60000 };

bool libvirt_host_is_closing(const struct host *host)
{
    return atomic_load(&host->removed) || atomic_load(&host->libvirt->closing);
}

/* Where it is, or would be inserted. */
static size_t find_index(const struct libvirt *libvirt, const char *name)
{
    size_t low = 0, high = libvirt->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(libvirt->hosts[middle]->config.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct host *libvirt_hosts_find(struct libvirt *libvirt, const char *name)
{
    size_t i = find_index(libvirt, name);
    return i < libvirt->n && text_equal(libvirt->hosts[i]->config.name, name) ? libvirt->hosts[i]
                                                                              : NULL;
}

static struct host *host_new(struct libvirt *libvirt, const struct hv_host *config)
{
    struct host *host = calloc(1, sizeof *host);
    if (host == NULL)
        return NULL;
    host->config = *config;
    host->libvirt = libvirt;
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
        libvirt_lane_init(&host->lanes[lane], host, lane);
    libvirt_keeper_init(&host->keeper);
    libvirt_openings_init(&host->openings);
    return host;
}

static void host_free(struct host *host)
{
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
        libvirt_lane_fini(&host->lanes[lane]);
    libvirt_keeper_fini(&host->keeper);
    libvirt_openings_fini(&host->openings);
    explicit_bzero(host->config.helper_secret, sizeof host->config.helper_secret);
    free(host);
}

static bool insert(struct libvirt *libvirt, struct host *host)
{
    struct host **grown = realloc(libvirt->hosts, (libvirt->n + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    libvirt->hosts = grown;
    size_t at = find_index(libvirt, host->config.name);
    memmove(&grown[at + 1], &grown[at], (libvirt->n - at) * sizeof *grown);
    grown[at] = host;
    libvirt->n++;
    return true;
}

bool libvirt_hosts_add(struct libvirt *libvirt, const struct hv_host *config, struct err *err)
{
    if (config->name[0] == '\0' || config->uri[0] == '\0')
        return err_set(err, ERR_INVALID, "a host needs a name and a URI");
    (void)pthread_rwlock_wrlock(&libvirt->hosts_lock);
    bool is_twice = libvirt_hosts_find(libvirt, config->name) != NULL;
    struct host *host = is_twice ? NULL : host_new(libvirt, config);
    bool added = host != NULL && insert(libvirt, host);
    (void)pthread_rwlock_unlock(&libvirt->hosts_lock);
    if (is_twice)
        return err_set(err, ERR_INVALID, "two hosts are called '%s'", config->name);
    if (!added && host != NULL)
        host_free(host);
    return added || err_set(err, ERR_NOMEM, "host '%s'", config->name);
}

/* Takes it from the list; NULL: no such. */
static struct host *take(struct libvirt *libvirt, const char *name)
{
    (void)pthread_rwlock_wrlock(&libvirt->hosts_lock);
    struct host *host = libvirt_hosts_find(libvirt, name);
    if (host != NULL) {
        size_t at = find_index(libvirt, name);
        libvirt->n--;
        memmove(&libvirt->hosts[at], &libvirt->hosts[at + 1],
                (libvirt->n - at) * sizeof libvirt->hosts[0]);
    }
    (void)pthread_rwlock_unlock(&libvirt->hosts_lock);
    return host;
}

bool libvirt_add_host(struct hv *hv, const struct hv_host *config, struct err *err)
{
    struct libvirt *libvirt = hv->impl;
    if (!libvirt_hosts_add(libvirt, config, err))
        return false;
    (void)pthread_rwlock_rdlock(&libvirt->hosts_lock);
    struct host *host = libvirt_hosts_find(libvirt, config->name);
    bool started = host != NULL && libvirt_thread(libvirt, host, libvirt_keeper_main, host);
    (void)pthread_rwlock_unlock(&libvirt->hosts_lock);
    if (started)
        return true;
    host = take(libvirt, config->name);
    if (host != NULL)
        host_free(host);
    return err_set(err, ERR_LIMIT, "no thread for host '%s'", config->name);
}

bool libvirt_remove_host(struct hv *hv, const char *name)
{
    struct libvirt *libvirt = hv->impl;
    struct host *host = take(libvirt, name);
    if (host == NULL)
        return false;
    (void)pthread_mutex_lock(&host->keeper.lock);
    atomic_store(&host->removed, true); /* no connection event of it from now on */
    (void)pthread_mutex_unlock(&host->keeper.lock);
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
        libvirt_lane_close(&host->lanes[lane]);
    libvirt_keeper_nudge(&host->keeper);
    (void)pthread_mutex_lock(&libvirt->lock);
    host->removed_ms = clock_mono_ms(clock_system());
    host->next_removed = libvirt->removed;
    libvirt->removed = host;
    (void)pthread_mutex_unlock(&libvirt->lock);
    return true;
}

void libvirt_hosts_reap(struct libvirt *libvirt)
{
    int64_t now_ms = clock_mono_ms(clock_system());
    (void)pthread_mutex_lock(&libvirt->lock);
    for (struct host **link = &libvirt->removed; *link != NULL;) {
        struct host *host = *link;
        if (host->threads > 0 || now_ms - host->removed_ms < REAP_AFTER_MS) {
            link = &host->next_removed;
            continue;
        }
        *link = host->next_removed;
        host_free(host);
    }
    (void)pthread_mutex_unlock(&libvirt->lock);
}

void libvirt_hosts_fini(struct libvirt *libvirt)
{
    for (size_t i = 0; i < libvirt->n; i++)
        host_free(libvirt->hosts[i]);
    free(libvirt->hosts);
    while (libvirt->removed != NULL) {
        struct host *host = libvirt->removed;
        libvirt->removed = host->next_removed;
        host_free(host);
    }
}
