/* publish_incidents.c - the incidents of the fleet in the snapshot; see publish.h. */
#include <stdlib.h>

#include "engine/publish.h"

void publish_drop_incidents(struct incident_block *block)
{
    if (block != NULL && atomic_fetch_sub(&block->references, 1) == 1)
        free(block);
}

/* Closed incidents that are not stored yet are the newest of the closed ones. */
static struct incident_block *make_block(const struct incidents *incidents)
{
    size_t most = incidents->n + incidents->n_closed;
    struct incident_block *block = calloc(1, sizeof *block + most * sizeof block->list[0]);
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1);
    block->version = incidents->version;
    for (size_t i = 0; i < incidents->n; i++)
        if (incidents->list[i].end == INCIDENT_END_NONE)
            block->list[block->n++] = incidents->list[i];
    struct incident *closed = block->list + block->n;
    for (size_t i = 0; i < incidents->n_closed; i++)
        closed[block->n_closed++] = incidents->closed[i];
    for (size_t i = 0; i < incidents->n; i++)
        if (incidents->list[i].end != INCIDENT_END_NONE)
            closed[block->n_closed++] = incidents->list[i];
    return block;
}

struct incident_block *publish_incidents(struct incident_block **kept,
                                         const struct incidents *incidents,
                                         struct snapshot *out_snapshot)
{
    if (*kept == NULL || (*kept)->version != incidents->version) {
        struct incident_block *fresh = make_block(incidents);
        if (fresh == NULL)
            return NULL;
        publish_drop_incidents(*kept);
        *kept = fresh;
    }
    (void)atomic_fetch_add(&(*kept)->references, 1);
    out_snapshot->incidents = (*kept)->list;
    out_snapshot->n_incidents = (*kept)->n;
    out_snapshot->n_incidents_closed = (*kept)->n_closed;
    out_snapshot->incident_totals = incidents->totals;
    return *kept;
}
