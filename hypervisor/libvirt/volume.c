/* volume.c - storage queries: the size of a guest's disk, what exists at a location of a host.
 *
 * libvirt shows files only through storage pools. A directory without a pool is read through a
 * temporary, transient pool; after a crash in the middle it stays active until the next query
 * destroys it. What cannot be found out that way is answered as not known.
 */
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "hypervisor/definition.h"
#include "hypervisor/libvirt/internal.h"

#define SCAN_POOL "ferry-look-" /* name of a temporary pool, then a number */

/* ---- a guest's disk ---- */

static void read_place(const char *xml, const char *name, struct hv_block_info *out)
{
    struct err err = {0};
    struct hv_definition *definition = calloc(1, sizeof *definition);
    if (definition == NULL || !hv_definition_parse(xml, definition, &err)) {
        free(definition);
        return;
    }
    for (size_t i = 0; i < definition->n_disks; i++) {
        const struct hv_disk *disk = &definition->disks[i];
        bool is_local = disk->kind == HV_DISK_FILE || disk->kind == HV_DISK_BLOCK ||
                        disk->kind == HV_DISK_VOLUME;
        if (strcmp(disk->target, name) != 0)
            continue;
        out->raw = disk->format[0] == '\0' || strcmp(disk->format, "raw") == 0;
        if (is_local && !disk->cut &&
            text_copy(out->location.pool, sizeof out->location.pool, disk->pool))
            TEXT_SET(out->location.name, disk->source);
    }
    free(definition);
}

/* False: libvirt's last error has the reason. */
bool libvirt_block_info(virDomainPtr domain, const char *disk, struct hv_block_info *out_info)
{
    virDomainBlockInfo info;
    OWNED_TEXT xml = virDomainGetXMLDesc(domain, 0);
    if (xml == NULL || virDomainGetBlockInfo(domain, disk, &info, 0) < 0)
        return false;
    out_info->capacity = info.capacity;
    out_info->allocation = info.allocation;
    read_place(xml, disk, out_info);
    return true;
}

/* ---- a location on a host ---- */

static bool fails_with(int code)
{
    const virError *error = virGetLastError();
    return error != NULL && error->code == code;
}

static bool is_scan_pool(virStoragePoolPtr pool)
{
    return text_has_prefix(virStoragePoolGetName(pool), SCAN_POOL);
}

/* On failure *out_code is libvirt's error code. */
static virStoragePoolPtr make_scan_pool(virConnectPtr conn, const char *directory, int *out_code)
{
    char xml[HV_SOURCE_MAX + 128];
    (void)snprintf(xml, sizeof xml,
                   "<pool type='dir'><name>" SCAN_POOL
                   "%016llx</name><target><path>%s</path></target></pool>",
                   (unsigned long long)hash_text(HASH_START, directory), directory);
    virStoragePoolPtr pool = virStoragePoolCreateXML(conn, xml, 0);
    const virError *error = pool == NULL ? virGetLastError() : NULL;
    *out_code = error != NULL ? error->code : VIR_ERR_OK;
    return pool;
}

static void end_pool(virStoragePoolPtr pool)
{
    if (is_scan_pool(pool))
        (void)virStoragePoolDestroy(pool);
    (void)virStoragePoolFree(pool);
}

static bool read_volume(virStorageVolPtr take_volume, struct hv_volume_info *out)
{
    virStorageVolInfo info;
    bool read = virStorageVolGetInfo(take_volume, &info) == 0;
    if (read)
        *out = (struct hv_volume_info){.known = true, .exists = true, .capacity = info.capacity};
    (void)virStorageVolFree(take_volume);
    return read;
}

/* What the pool knows about the location. New files show only after a refresh; libvirt refuses that
 * while a volume of the pool is in use, which is ignored.
 */
static bool inspect(virConnectPtr conn, virStoragePoolPtr pool, const struct hv_location *location,
                    struct hv_volume_info *out)
{
    (void)virStoragePoolRefresh(pool, 0);
    virStorageVolPtr volume = location->pool[0] != '\0'
                                  ? virStorageVolLookupByName(pool, location->name)
                                  : virStorageVolLookupByPath(conn, location->name);
    if (volume != NULL)
        return read_volume(volume, out);
    virStoragePoolInfo info;
    if (!fails_with(VIR_ERR_NO_STORAGE_VOL) || virStoragePoolGetInfo(pool, &info) < 0)
        return false;
    *out = (struct hv_volume_info){
        .known = true, .creatable = !is_scan_pool(pool), .free = info.available};
    return true;
}

static bool is_plain(const char *path) /* valid in XML, and not a device */
{
    return path[0] == '/' && strpbrk(path, "<>&'\"") == NULL && !text_has_prefix(path, "/dev/");
}

/* The pool that contains the location, NULL: none, *out has the answer. */
static virStoragePoolPtr pool_of(virConnectPtr conn, const struct hv_location *location,
                                 struct hv_volume_info *out)
{
    if (location->pool[0] != '\0') {
        virStoragePoolPtr pool = virStoragePoolLookupByName(conn, location->pool);
        bool is_off = pool != NULL && virStoragePoolIsActive(pool) == 0;
        out->known = is_off || (pool == NULL && fails_with(VIR_ERR_NO_STORAGE_POOL));
        if (is_off)
            (void)virStoragePoolFree(pool);
        return is_off ? NULL : pool;
    }
    char directory[sizeof location->name];
    TEXT_SET(directory, location->name);
    char *slash = strrchr(directory, '/');
    if (slash == NULL || slash == directory)
        return NULL;
    *slash = '\0';
    virStoragePoolPtr pool = virStoragePoolLookupByTargetPath(conn, directory);
    if (pool != NULL || !fails_with(VIR_ERR_NO_STORAGE_POOL) || !is_plain(location->name))
        return pool;
    int code = VIR_ERR_OK;
    pool = make_scan_pool(conn, directory, &code);
    out->known = pool == NULL && code == VIR_ERR_SYSTEM_ERROR; /* there is no such directory */
    return pool;
}

bool libvirt_volume_info(virConnectPtr conn, const struct job *job, struct hv_reply *reply)
{
    const struct hv_location *location = &job->request.with.location;
    struct hv_volume_info *out = &reply->with.volume;
    *out = (struct hv_volume_info){0};
    virStoragePoolPtr pool = pool_of(conn, location, out);
    if (pool != NULL) {
        (void)inspect(conn, pool, location, out);
        end_pool(pool);
    }
    /* From a host that was lost nothing is known. */
    return libvirt_connection_is_alive(conn) || libvirt_connection_fail(conn, &reply->err);
}
