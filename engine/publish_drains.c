/* publish_drains.c - the progress of each node's drain; see publish.h. Counted here, once per
 * change, so that no reader has to parse a status. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/drain.h"
#include "engine/publish.h"

/* By node; the active one first, then the newest first. */
static int drain_order_of(const void *a, const void *b)
{
    const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;
    int order = strcmp(x->drain->node, y->drain->node);
    if (order != 0)
        return order;
    bool x_over = drain_is_final(x->drain->state), y_over = drain_is_final(y->drain->state);
    if (x_over != y_over)
        return x_over ? 1 : -1;
    if (x->created_ms != y->created_ms)
        return x->created_ms > y->created_ms ? -1 : 1;
    return strcmp(x->name, y->name);
}

struct snapshot_drain *publish_drains(const struct fleet *f, size_t *out_n)
{
    size_t n = 0, kept = 0;
    for (const struct object *o = f->of_kind[OBJECT_DRAIN]; o != NULL; o = o->next)
        n++;
    const struct object **all = calloc(n + 1, sizeof(const struct object *));
    struct snapshot_drain *drains = calloc(n + 1, sizeof *drains);
    if (all == NULL || drains == NULL) {
        free(all);
        free(drains);
        return NULL;
    }
    n = 0;
    for (const struct object *o = f->of_kind[OBJECT_DRAIN]; o != NULL; o = o->next)
        all[n++] = o;
    qsort(all, n, sizeof(const struct object *), drain_order_of);
    for (size_t i = 0; i < n; i++) {
        const struct drain *drain = all[i]->drain;
        if (kept > 0 && strcmp(drains[kept - 1].node, drain->node) == 0)
            continue;
        TEXT_SET(drains[kept].node, drain->node);
        drains[kept].state = drain->state;
        drains[kept].deadline_ms = drain->deadline_ms;
        drain_count(drain, drains[kept].guests);
        drain_count_blocks(drain, drains[kept].blocked);
        kept++;
    }
    free(all);
    *out_n = kept;
    return drains;
}
