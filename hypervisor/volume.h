/* volume.h - where a guest's disk lies or shall lie, and what hosts say about such places. Plain
 * records, as in types.h. */
#ifndef HYPERVISOR_VOLUME_H
#define HYPERVISOR_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HV_VOLUMES_MAX = 16,   /* disks that one migration moves along */
    HV_DISK_NAME_MAX = 32, /* vda */
};

struct hv_location {
    char pool[64];  /* a storage pool; empty: name is a path */
    char name[256]; /* absolute path of a file or device, or name of a volume */
};
/* A disk that moves along with its guest. */
struct hv_volume {
    char disk[HV_DISK_NAME_MAX]; /* target in the guest's definition: vda */
    struct hv_location to;
    uint64_t slice; /* bytes of a bigger destination that the disk is; 0: all of it */
};

struct hv_block_info { /* BLOCK_INFO: a disk of a running guest */
    uint64_t capacity; /* as the guest sees it, bytes */
    uint64_t allocation;
    bool raw; /* its image has no format of its own, so a part of one can be it */
    struct hv_location location; /* where it lies; empty: it cannot be said so */
};
struct hv_volume_info { /* VOLUME_INFO: a place on a host */
    bool known;         /* the host could tell at all; else the migration itself will */
    bool exists, creatable;
    uint64_t capacity; /* of what exists */
    uint64_t free;     /* where it would be created */
};

#endif
