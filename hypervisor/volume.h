/* volume.h - location of a guest's disk, now or after a migration, and what a host knows of it.
 * Plain records, as in types.h. */
#ifndef HYPERVISOR_VOLUME_H
#define HYPERVISOR_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HV_VOLUMES_MAX = 16,   /* disks that one migration copies */
    HV_DISK_NAME_MAX = 32, /* vda */
};

struct hv_location {
    char pool[64];  /* a storage pool; empty: name is a path */
    char name[256]; /* absolute path of a file or device, or name of a volume */
};
/* A disk that is migrated with its guest. */
struct hv_volume {
    char disk[HV_DISK_NAME_MAX]; /* target in the guest's definition: vda */
    struct hv_location to;
    uint64_t slice; /* bytes of a bigger destination that the disk uses; 0: all of it */
};

struct hv_block_info { /* BLOCK_INFO: a disk of a running guest */
    uint64_t capacity; /* as the guest sees it, bytes */
    uint64_t allocation;
    bool raw;                    /* raw image, so it can use a part of a bigger destination */
    struct hv_location location; /* empty: neither a path nor a pool and a name */
};
struct hv_volume_info { /* VOLUME_INFO: a location on a host */
    bool known;         /* false: the host could not check; the migration will find out */
    bool exists, creatable;
    uint64_t capacity; /* of what exists */
    uint64_t free;     /* where the volume would be created */
};

#endif
