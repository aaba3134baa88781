/* needs.c - see needs.h. */
#define HASH_NONFATAL_OOM 1
#include "engine/model/needs.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Adds a name to a sorted list without doubles: guests that name the same things in another order
 * need the same. */
static void add_name(char (*list)[NEEDS_LINK_MAX], unsigned most, unsigned *n, const char *name)
{
    if (name[0] == '\0' || strlen(name) >= NEEDS_LINK_MAX || *n == most)
        return;
    unsigned at = 0;
    while (at < *n && strcmp(list[at], name) < 0)
        at++;
    if (at < *n && strcmp(list[at], name) == 0)
        return;
    memmove(list + at + 1, list + at, (*n - at) * sizeof *list);
    memset(list[at], 0, sizeof *list); /* compared as bytes: nothing may stay behind the end */
    (void)text_copy(list[at], sizeof *list, name);
    (*n)++;
}

void needs_from(const struct hv_definition *definition, struct needs_facts *out_facts)
{
    struct needs_facts *facts = out_facts;
    memset(facts, 0, sizeof *facts);
    TEXT_SET(facts->arch, definition->arch);
    TEXT_SET(facts->machine, definition->machine);
    facts->cpu_hash = definition->cpu_hash;
    facts->hugepage_kib = definition->hugepage_kib;
    for (size_t i = 0; i < definition->n_interfaces; i++) {
        const struct hv_interface *interface = &definition->interfaces[i];
        if (strcmp(interface->type, "network") == 0)
            add_name(facts->networks, NEEDS_LINKS_MAX, &facts->n_networks, interface->source);
        else if (strcmp(interface->type, "bridge") == 0 || strcmp(interface->type, "direct") == 0)
            add_name(facts->bridges, NEEDS_LINKS_MAX, &facts->n_bridges, interface->source);
    }
    for (size_t i = 0; i < definition->n_disks; i++)
        if (definition->disks[i].kind == HV_DISK_VOLUME)
            add_name(facts->pools, NEEDS_POOLS_MAX, &facts->n_pools, definition->disks[i].pool);
}

static void add_disk(struct needs_facts *facts, const char *target, unsigned flags)
{
    if (facts->n_disks == NEEDS_DISKS_MAX || strlen(target) >= NEEDS_DISK_MAX) {
        facts->disks_cut = true;
        return;
    }
    struct needs_disk *disk = &facts->disks[facts->n_disks++];
    TEXT_SET(disk->target, target);
    disk->flags = (unsigned char)flags;
}

void needs_add_disks(const struct hv_definition *definition, const struct migratable_config *config,
                     struct needs_facts *facts)
{
    for (size_t i = 0; i < definition->n_disks; i++) {
        const struct hv_disk *disk = &definition->disks[i];
        unsigned flags = 0;
        flags |= migratable_disk_is_shared(disk, config) ? NEEDS_DISK_SHARED : 0U;
        flags |= disk->shareable ? NEEDS_DISK_SHAREABLE : 0U;
        flags |= disk->lun ? NEEDS_DISK_LUN : 0U;
        flags |= disk->readonly ? NEEDS_DISK_READONLY : 0U;
        flags |= disk->removable ? NEEDS_DISK_REMOVABLE : 0U;
        add_disk(facts, disk->target, flags);
    }
    for (size_t i = 0; i < definition->n_filesystems; i++)
        add_disk(facts, definition->filesystems[i], NEEDS_DISK_FILESYSTEM);
}

struct needs *needs_take(struct needs **all, const struct needs_facts *facts)
{
    struct needs *needs = NULL;
    HASH_FIND(hh, *all, facts, sizeof *facts, needs);
    if (needs != NULL) {
        needs->users++;
        return needs;
    }
    needs = calloc(1, sizeof *needs);
    if (needs == NULL)
        return NULL;
    memcpy(&needs->facts, facts, sizeof *facts); /* bytes, gaps included */
    needs->users = 1;
    HASH_ADD(hh, *all, facts, sizeof *facts, needs);
    if (needs->hh.tbl == NULL) { /* no memory for the table: it was not added */
        free(needs);
        return NULL;
    }
    return needs;
}

void needs_drop(struct needs **all, struct needs *needs)
{
    if (needs == NULL || --needs->users > 0)
        return;
    HASH_DELETE(hh, *all, needs);
    free(needs);
}
