/* migratable.h - is this guest live-migratable? Computed from its definition alone, in advance:
 * which rows of migratable.def apply. Pure. */
#ifndef ENGINE_MODEL_DEFINITION_MIGRATABLE_H
#define ENGINE_MODEL_DEFINITION_MIGRATABLE_H

#include "hypervisor/definition.h"

enum unmovable {
#define UNMOVABLE(id, name, live, storage, message, help) UNMOVABLE_##id,
#include "engine/model/definition/migratable.def"
#undef UNMOVABLE
    UNMOVABLE_COUNT
};
_Static_assert(UNMOVABLE_COUNT <= 32, "the rows that apply are a set of 32 bits");

enum { MIGRATABLE_TEXT_MAX = 256, MIGRATABLE_DISK_MAX = 16 };

struct migratable { /* zeroed: not known yet */
    bool known;
    uint32_t rows;                     /* bit 1 << enum unmovable: the row applies */
    char disk[MIGRATABLE_DISK_MAX];    /* the first disk that is not shared */
    char plugged[MIGRATABLE_DISK_MAX]; /* ... of the hot-plugged ones */
    unsigned snapshots;
    enum hv_manager manager; /* whose mark the guest has */
};

const char *unmovable_name(enum unmovable row);
const char *unmovable_help(enum unmovable row); /* what to do about it */
bool unmovable_blocks_live(enum unmovable row);
bool unmovable_blocks_storage(enum unmovable row);
/* The row's message for this guest. */
void unmovable_text(enum unmovable row, const struct migratable *m,
                    char out_text[static MIGRATABLE_TEXT_MAX]);

bool migratable_has(const struct migratable *m, enum unmovable row);
/* The first row that makes LiveMigratable (or StorageLiveMigratable) false; UNMOVABLE_COUNT when
 * none does, also when nothing is known. */
enum unmovable migratable_first_live(const struct migratable *m);
enum unmovable migratable_first_storage(const struct migratable *m);
/* migratable_first_live() for a migration that was asked for by this manager (NONE: by nobody's):
 * a guest may be migrated by whom it belongs to. */
enum unmovable migratable_first_for(const struct migratable *m, enum hv_manager asks);

struct migratable_config {           /* borrowed texts */
    const char *const *shared_paths; /* paths with the same content on every host */
    size_t n_shared_paths;
    const char *const *shared_pools; /* libvirt storage pools that are the same everywhere */
    size_t n_shared_pools;
    bool unsafe;        /* every disk is declared shared */
    bool allow_managed; /* guests of other managers are migrated */
};
/* ReadWriteMany in KubeVirt's terms: every host sees the same bytes under the same name. */
bool migratable_disk_is_shared(const struct hv_disk *disk, const struct migratable_config *config);
/* Which disks of the live definition were hot-plugged: the persistent one lacks them. */
void migratable_mark_plugged(struct hv_definition *live, const struct hv_definition *persistent);
/* All rows that apply. */
void migratable_evaluate(const struct hv_definition *definition,
                         const struct migratable_config *config, struct migratable *out);

#endif
