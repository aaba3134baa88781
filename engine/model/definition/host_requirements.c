/* host_requirements.c - see host_requirements.h. */
#define HASH_NONFATAL_OOM 1
#include "engine/model/definition/host_requirements.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Adds a name to a sorted list without duplicates: guests that name the same things in another
 * order have equal requirements. */
static void add_name(char (*list)[REQUIREMENTS_LINK_MAX], unsigned most, unsigned *n,
                     const char *name)
{
    if (name[0] == '\0' || strlen(name) >= REQUIREMENTS_LINK_MAX || *n == most)
        return;
    unsigned at = 0;
    while (at < *n && strcmp(list[at], name) < 0)
        at++;
    if (at < *n && strcmp(list[at], name) == 0)
        return;
    memmove(list + at + 1, list + at, (*n - at) * sizeof *list);
    memset(list[at], 0, sizeof *list); /* compared as bytes: bytes after the end must be zero */
    (void)text_copy(list[at], sizeof *list, name);
    (*n)++;
}

void host_requirements_from(const struct hv_definition *definition,
                            struct host_requirements_facts *out_facts)
{
    struct host_requirements_facts *facts = out_facts;
    memset(facts, 0, sizeof *facts);
    TEXT_SET(facts->arch, definition->arch);
    TEXT_SET(facts->machine, definition->machine);
    facts->cpu_hash = definition->cpu_hash;
    facts->hugepage_kib = definition->hugepage_kib;
    for (size_t i = 0; i < definition->n_interfaces; i++) {
        const struct hv_interface *interface = &definition->interfaces[i];
        if (strcmp(interface->type, "network") == 0)
            add_name(facts->networks, REQUIREMENTS_LINKS_MAX, &facts->n_networks,
                     interface->source);
        else if (strcmp(interface->type, "bridge") == 0 || strcmp(interface->type, "direct") == 0)
            add_name(facts->bridges, REQUIREMENTS_LINKS_MAX, &facts->n_bridges, interface->source);
    }
    for (size_t i = 0; i < definition->n_disks; i++)
        if (definition->disks[i].kind == HV_DISK_VOLUME)
            add_name(facts->pools, REQUIREMENTS_POOLS_MAX, &facts->n_pools,
                     definition->disks[i].pool);
}

static void add_disk(struct host_requirements_facts *facts, const char *target, unsigned flags)
{
    if (facts->n_disks == REQUIREMENTS_DISKS_MAX || strlen(target) >= REQUIREMENTS_DISK_MAX) {
        facts->disks_cut = true;
        return;
    }
    struct host_requirements_disk *disk = &facts->disks[facts->n_disks++];
    TEXT_SET(disk->target, target);
    disk->flags = (unsigned char)flags;
}

void host_requirements_add_disks(const struct hv_definition *definition,
                                 const struct migratable_config *config,
                                 struct host_requirements_facts *facts)
{
    for (size_t i = 0; i < definition->n_disks; i++) {
        const struct hv_disk *disk = &definition->disks[i];
        unsigned flags = 0;
        flags |= migratable_disk_is_shared(disk, config) ? REQUIREMENTS_DISK_SHARED : 0U;
        bool by_name = disk->kind == HV_DISK_FILE || disk->kind == HV_DISK_BLOCK ||
                       disk->kind == HV_DISK_VOLUME;
        flags |= by_name && disk->source[0] != '\0' ? REQUIREMENTS_DISK_BY_NAME : 0U;
        flags |= disk->shareable ? REQUIREMENTS_DISK_SHAREABLE : 0U;
        flags |= disk->lun ? REQUIREMENTS_DISK_LUN : 0U;
        flags |= disk->readonly ? REQUIREMENTS_DISK_READONLY : 0U;
        flags |= disk->removable ? REQUIREMENTS_DISK_REMOVABLE : 0U;
        add_disk(facts, disk->target, flags);
    }
    for (size_t i = 0; i < definition->n_filesystems; i++)
        add_disk(facts, definition->filesystems[i], REQUIREMENTS_DISK_FILESYSTEM);
}

struct host_requirements *host_requirements_take(struct host_requirements **all,
                                                 const struct host_requirements_facts *facts)
{
    struct host_requirements *requirements = NULL;
    HASH_FIND(hh, *all, facts, sizeof *facts, requirements);
    if (requirements != NULL) {
        requirements->users++;
        return requirements;
    }
    requirements = calloc(1, sizeof *requirements);
    if (requirements == NULL)
        return NULL;
    memcpy(&requirements->facts, facts, sizeof *facts); /* bytes, padding included */
    requirements->users = 1;
    HASH_ADD(hh, *all, facts, sizeof *facts, requirements);
    if (requirements->hh.tbl == NULL) { /* no memory for the table: not added */
        free(requirements);
        return NULL;
    }
    return requirements;
}

void host_requirements_drop(struct host_requirements **all, struct host_requirements *requirements)
{
    if (requirements == NULL || --requirements->users > 0)
        return;
    HASH_DELETE(hh, *all, requirements);
    free(requirements);
}
