/* migration_status.h - what the source's QEMU itself says of a migration. */
#ifndef HYPERVISOR_MIGRATION_STATUS_H
#define HYPERVISOR_MIGRATION_STATUS_H

#include <stdint.h>

/* States of an outgoing migration in QEMU, and what each means for the stream. */
enum hv_migration_status {
#define MIGRATION_STATUS(id, name, stream) HV_MIGRATION_##id,
#include "hypervisor/migration_status.def"
#undef MIGRATION_STATUS
    HV_MIGRATION_STATUS_COUNT
};
enum hv_stream {
    HV_STREAM_UNKNOWN,
    HV_STREAM_OVER,
    HV_STREAM_OPEN,
    HV_STREAM_ENDING,
    HV_STREAM_BROKEN
};
const char *hv_migration_status_name(enum hv_migration_status status);
enum hv_migration_status hv_migration_status_from_name(const char *name); /* UNKNOWN: not listed */
enum hv_stream hv_migration_status_stream(enum hv_migration_status status);

struct hv_migration { /* QEMU's own answer; libvirt's statistics may be missing */
    enum hv_migration_status status;
    uint64_t transferred; /* bytes of memory; 0 where the state has none */
};

#endif
