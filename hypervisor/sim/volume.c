/* volume.c - storage of simulated hosts: volumes, and disks that are migrated with a guest.
 *
 * A host has the pools of offer.c, each a directory /srv/NAME, and files that a script puts
 * somewhere. A guest with a local disk has one, vda; it is migrated only when it is named.
 */
#include <string.h>
#include <utlist.h>

#include "base/text.h"
#include "hypervisor/sim/inside.h"

enum { DISK_BYTES = 1 << 30, POOL_FREE_BYTES_LOG2 = 50 };

static const char disk_name[] = "vda";

uint64_t sim_disk_bytes(const struct sim_guest *guest)
{
    return guest->disk_bytes != 0 ? guest->disk_bytes : DISK_BYTES;
}

static void path_of(const struct hv_location *location, char out_path[static SIM_PATH_MAX])
{
    if (location->pool[0] != '\0')
        (void)snprintf(out_path, SIM_PATH_MAX, "/srv/%s/%s", location->pool, location->name);
    else
        (void)snprintf(out_path, SIM_PATH_MAX, "%s", location->name);
}

static struct volume *find(const struct host *host, const char *path)
{
    struct volume *volume;
    DL_FOREACH(host->volumes, volume)
    {
        if (strcmp(volume->path, path) == 0)
            return volume;
    }
    return NULL;
}

static bool put(struct host *host, const char *path, uint64_t bytes)
{
    struct volume *volume = find(host, path);
    if (volume != NULL && bytes == 0) {
        DL_DELETE(host->volumes, volume);
        free(volume);
        return true;
    }
    if (volume == NULL && bytes != 0) {
        volume = calloc(1, sizeof *volume);
        if (volume == NULL)
            return false;
        TEXT_SET(volume->path, path);
        DL_APPEND(host->volumes, volume);
    }
    if (volume != NULL)
        volume->bytes = bytes;
    return true;
}

void sim_volumes_free(struct host *host)
{
    struct volume *volume, *next;
    DL_FOREACH_SAFE(host->volumes, volume, next)
    {
        free(volume);
    }
    host->volumes = NULL;
}

bool sim_set_volume(struct sim *sim, const char *host_name, const char *path, uint64_t bytes,
                    struct err *err)
{
    struct host *host;
    HASH_FIND_STR(sim->hosts, host_name, host);
    if (host == NULL)
        return err_set(err, ERR_NOT_FOUND, "no host '%s'", host_name);
    return put(host, path, bytes) || err_set(err, ERR_NOMEM, "no memory for '%s'", path);
}

/* The pool whose directory is the path's. */
static bool is_in_pool(const struct host *host, const char *path)
{
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash != NULL && sim_offer_pool(i) != NULL; i++) {
        char directory[SIM_PATH_MAX];
        (void)snprintf(directory, sizeof directory, "/srv/%s", sim_offer_pool(i));
        if (strcmp(sim_offer_pool(i), host->what.lacks_pool) != 0 &&
            strlen(directory) == (size_t)(slash - path) &&
            strncmp(path, directory, strlen(directory)) == 0)
            return true;
    }
    return false;
}

void sim_volume_info(const struct host *host, const struct hv_location *location,
                     struct hv_volume_info *out_info)
{
    char path[SIM_PATH_MAX];
    path_of(location, path);
    const struct volume *volume = find(host, path);
    *out_info = (struct hv_volume_info){.known = true};
    if (volume != NULL) {
        out_info->exists = true;
        out_info->capacity = volume->bytes;
    } else if (is_in_pool(host, path)) {
        out_info->creatable = true;
        out_info->free =
            host->what.pool_free != 0 ? host->what.pool_free : UINT64_C(1) << POOL_FREE_BYTES_LOG2;
    }
}

bool sim_block_info(const struct guest *guest, const char *disk, struct hv_block_info *out_info)
{
    if (!guest->what.local_disk || strcmp(disk, disk_name) != 0)
        return false;
    out_info->capacity = out_info->allocation = sim_disk_bytes(&guest->what);
    out_info->raw = true;
    sim_disk_location(&guest->what, &out_info->location);
    return true;
}

void sim_disk_location(const struct sim_guest *guest, struct hv_location *out_place)
{
    *out_place = guest->disk;
    if (guest->disk.name[0] == '\0')
        (void)snprintf(out_place->name, sizeof out_place->name, "/var/lib/libvirt/images/%s.qcow2",
                       guest->uuid);
}

enum sim_error sim_volume_refusal(const struct guest *guest, const struct host *to,
                                  const struct hv_migrate *how)
{
    struct hv_volume_info info;
    for (size_t i = 0; i < how->n_volumes; i++) {
        if (!guest->what.local_disk || strcmp(how->volumes[i].disk, disk_name) != 0)
            return SIM_ERROR_NO_DISK;
        sim_volume_info(to, &how->volumes[i].to, &info);
        if (!info.exists && !info.creatable)
            return SIM_ERROR_NO_POOL;
    }
    bool is_unsafe = guest->what.local_disk && how->n_volumes == 0;
    return is_unsafe && (how->flags & HV_MIGRATE_UNSAFE) == 0 ? SIM_ERROR_UNSAFE : SIM_ERROR_NONE;
}

/* QEMU mirrors onto a destination of exactly the same size, or onto a slice of that size. */
bool sim_volume_fits(const struct guest *guest, const struct host *to, const struct hv_volume *v)
{
    struct hv_volume_info info;
    uint64_t bytes = sim_disk_bytes(&guest->what);
    sim_volume_info(to, &v->to, &info);
    if (!info.exists)
        return info.creatable && info.free >= bytes;
    return info.capacity == bytes || (v->slice == bytes && info.capacity > bytes);
}

void sim_volume_moved(struct guest *guest, struct host *to, const struct hv_volume *volume)
{
    char path[SIM_PATH_MAX];
    path_of(&volume->to, path);
    if (find(to, path) == NULL)
        (void)put(to, path,
                  sim_disk_bytes(&guest->what)); /* no memory: the volume will not be found */
    guest->what.disk = volume->to;
    if (guest->stored != NULL)
        guest->stored->disk = volume->to;
}
