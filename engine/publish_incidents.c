/* publish_incidents.c - the open incidents of the fleet as readers see them; see publish.h. */
#include <stdlib.h>

#include "engine/publish.h"

void publish_drop_incidents(struct incident_block *block)
{
    if (block != NULL && atomic_fetch_sub(&block->references, 1) == 1)
        free(block);
}

static struct incident_block *make_block(const struct incidents *incidents)
{
    struct incident_block *block = calloc(1, sizeof *block + incidents->n * sizeof block->list[0]);
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1);
    block->version = incidents->version;
    for (size_t i = 0; i < incidents->n; i++)
        if (incidents->list[i].end == INCIDENT_END_NONE)
            block->list[block->n++] = incidents->list[i];
    return block;
}

struct incident_block *publish_incidents(struct incident_block **kept,
                                         const struct incidents *incidents)
{
    if (*kept == NULL || (*kept)->version != incidents->version) {
        struct incident_block *fresh = make_block(incidents);
        if (fresh == NULL)
            return NULL;
        publish_drop_incidents(*kept);
        *kept = fresh;
    }
    (void)atomic_fetch_add(&(*kept)->references, 1);
    return *kept;
}
