/* migratable.c - see migratable.h. */
#include "engine/model/definition/migratable.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define YES true
#define NO false
static const struct {
    const char *name, *message, *help;
    bool live, storage;
} rows[UNMOVABLE_COUNT] = {
#define UNMOVABLE(id, name, live, storage, message, help) \
    [UNMOVABLE_##id] = {name, message, help, live, storage},
#include "engine/model/definition/migratable.def"
#undef UNMOVABLE
};
#undef YES
#undef NO

const char *unmovable_name(enum unmovable row)
{
    assert(row < UNMOVABLE_COUNT);
    return rows[row].name;
}

const char *unmovable_help(enum unmovable row)
{
    assert(row < UNMOVABLE_COUNT);
    return rows[row].help;
}

bool unmovable_blocks_live(enum unmovable row)
{
    assert(row < UNMOVABLE_COUNT);
    return rows[row].live;
}

bool unmovable_blocks_storage(enum unmovable row)
{
    assert(row < UNMOVABLE_COUNT);
    return rows[row].storage;
}

void unmovable_text(enum unmovable row, const struct migratable *m,
                    char out_text[static MIGRATABLE_TEXT_MAX])
{
    assert(row < UNMOVABLE_COUNT);
    const char *message = rows[row].message, *gap = strstr(message, "%s");
    char count[16];
    (void)snprintf(count, sizeof count, "%u", m->snapshots);
    const char *about = row == UNMOVABLE_SNAPSHOTS ? count
                        : row == UNMOVABLE_MANAGED ? hv_manager_title(m->manager)
                        : row == UNMOVABLE_HOTPLUG ? m->plugged
                                                   : m->disk;
    if (gap == NULL)
        (void)text_copy(out_text, MIGRATABLE_TEXT_MAX, message);
    else
        (void)snprintf(out_text, MIGRATABLE_TEXT_MAX, "%.*s%s%s", (int)(gap - message), message,
                       about, gap + 2);
}

bool migratable_has(const struct migratable *m, enum unmovable row)
{
    return (m->rows >> row & 1) != 0;
}

enum unmovable migratable_first_live(const struct migratable *m)
{
    return migratable_first_for(m, HV_MANAGER_NONE);
}

enum unmovable migratable_first_for(const struct migratable *m, enum hv_manager asks)
{
    bool is_its_own = asks != HV_MANAGER_NONE && asks == m->manager;
    enum unmovable row = 0;
    while (row < UNMOVABLE_COUNT &&
           !(migratable_has(m, row) && rows[row].live && !(row == UNMOVABLE_MANAGED && is_its_own)))
        row++;
    return row;
}

enum unmovable migratable_first_storage(const struct migratable *m)
{
    enum unmovable row = 0;
    while (row < UNMOVABLE_COUNT && !(migratable_has(m, row) && rows[row].storage))
        row++;
    return row;
}

/* --- disks --- */

/* Below a declared path, not only with the same beginning: /srv/vm is not the parent of
 * /srv/vm2. A path with ".." may lead anywhere. */
static bool is_below(const char *path, const char *parent)
{
    size_t n = strlen(parent);
    while (n > 1 && parent[n - 1] == '/')
        n--;
    if (strncmp(path, parent, n) != 0 || strstr(path, "/..") != NULL)
        return false;
    return path[n] == '/' || path[n] == '\0' || parent[n - 1] == '/';
}

static bool is_shared_path(const struct hv_disk *disk, const struct migratable_config *config)
{
    for (size_t i = 0; i < config->n_shared_paths; i++)
        if (is_below(disk->source, config->shared_paths[i]))
            return true;
    return false;
}

static bool is_shared_pool(const struct hv_disk *disk, const struct migratable_config *config)
{
    for (size_t i = 0; i < config->n_shared_pools; i++)
        if (strcmp(disk->pool, config->shared_pools[i]) == 0)
            return true;
    return false;
}

bool migratable_disk_is_shared(const struct hv_disk *disk, const struct migratable_config *config)
{
    bool is_empty = disk->removable && disk->source[0] == '\0';
    if (config->unsafe || is_empty || disk->kind == HV_DISK_NETWORK)
        return true;
    if (disk->cut)
        return false;
    switch (disk->kind) {
    case HV_DISK_FILE:
    case HV_DISK_BLOCK: return is_shared_path(disk, config);
    case HV_DISK_VOLUME: return is_shared_pool(disk, config);
    case HV_DISK_NETWORK:
    case HV_DISK_OTHER: break;
    }
    return false;
}

static const struct hv_disk *first_local_disk(const struct hv_definition *d, bool plugged,
                                              const struct migratable_config *config)
{
    for (size_t i = 0; i < d->n_disks; i++)
        if (d->disks[i].plugged == plugged && !migratable_disk_is_shared(&d->disks[i], config))
            return &d->disks[i];
    return NULL;
}

static bool has_disk(const struct hv_definition *d, const char *target)
{
    for (size_t i = 0; i < d->n_disks; i++)
        if (strcmp(d->disks[i].target, target) == 0)
            return true;
    return d->cut > 0; /* it may be one of those that were not checked */
}

void migratable_mark_plugged(struct hv_definition *live, const struct hv_definition *persistent)
{
    for (size_t i = 0; i < live->n_disks; i++)
        live->disks[i].plugged =
            live->disks[i].target[0] != '\0' && !has_disk(persistent, live->disks[i].target);
}

static bool has_reservations(const struct hv_definition *d)
{
    for (size_t i = 0; i < d->n_disks; i++)
        if (d->disks[i].reservations)
            return true;
    return false;
}

/* --- other checks --- */

static bool has_host_interface(const struct hv_definition *d)
{
    for (size_t i = 0; i < d->n_interfaces; i++) {
        const struct hv_interface *interface = &d->interfaces[i];
        bool is_host_part =
            strcmp(interface->type, "hostdev") == 0 || strcmp(interface->type, "vdpa") == 0;
        if (is_host_part && !interface->transient)
            return true;
    }
    return false;
}

static bool is_host_cpu(const struct hv_definition *d)
{
    return strcmp(d->cpu_mode, "host-passthrough") == 0 || strcmp(d->cpu_mode, "maximum") == 0;
}

void migratable_evaluate(const struct hv_definition *d, const struct migratable_config *config,
                         struct migratable *out)
{
    const struct hv_disk *disk = first_local_disk(d, false, config);
    const struct hv_disk *plugged = first_local_disk(d, true, config);
    const bool applies[UNMOVABLE_COUNT] = {
        [UNMOVABLE_MANAGED] = d->manager != HV_MANAGER_NONE && !config->allow_managed,
        [UNMOVABLE_INTERFACE] = has_host_interface(d),
        [UNMOVABLE_CPU_MODE] = is_host_cpu(d) && d->cpu_fixed,
        [UNMOVABLE_HOST_DEVICE] = d->host_devices > 0,
        [UNMOVABLE_SEV] = text_has_prefix(d->launch_security, "sev"),
        [UNMOVABLE_TDX] = strcmp(d->launch_security, "tdx") == 0,
        [UNMOVABLE_SECURE_EXECUTION] = strcmp(d->launch_security, "s390-pv") == 0,
        [UNMOVABLE_TSC] = (d->invtsc || d->reenlightenment) && !d->tsc_frequency,
        [UNMOVABLE_HYPERV_PASSTHROUGH] = d->hyperv_passthrough,
        [UNMOVABLE_VIRTIOFS] = d->virtiofs > 0,
        [UNMOVABLE_PLAN9] = d->plan9 > 0,
        [UNMOVABLE_SHARED_MEMORY] = d->shared_memory_peers > 0,
        [UNMOVABLE_CUT] = d->cut > 0,
        [UNMOVABLE_SNAPSHOTS] = d->snapshots > 0,
        [UNMOVABLE_DISKS] = disk != NULL,
        [UNMOVABLE_HOTPLUG] = plugged != NULL,
        [UNMOVABLE_RESERVATIONS] = has_reservations(d),
        [UNMOVABLE_HOST_CPU] = is_host_cpu(d),
    };
    *out = (struct migratable){.known = true, .snapshots = d->snapshots, .manager = d->manager};
    for (enum unmovable row = 0; row < UNMOVABLE_COUNT; row++)
        out->rows |= applies[row] ? 1U << row : 0U;
    if (disk != NULL)
        TEXT_SET(out->disk, disk->target[0] != '\0' ? disk->target : "without a name");
    if (plugged != NULL)
        TEXT_SET(out->plugged, plugged->target);
}
