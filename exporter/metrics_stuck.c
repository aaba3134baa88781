/* metrics_stuck.c - guests that cannot be moved: how many, why, and the names of those that are
 * meant to be movable, so that an alert can say which guest will block the next drain. */
#include <stdlib.h>
#include <string.h>

#include "engine/control/eviction.h"
#include "exporter/metrics.h"

static bool is_fixed(const struct migratable *m)
{
    return migratable_first_live(m) != UNMOVABLE_COUNT;
}

bool metrics_is_stuck(const struct snapshot_guest *guest)
{
    return guest->up && strategy_moves(guest->strategy) == MOVES_YES &&
           is_fixed(&guest->migratable);
}

static void render_movable(const struct snapshot *snapshot, struct promx_page *page)
{
    size_t unknown = 0, yes = 0, no = 0, reasons[UNMOVABLE_COUNT] = {0};
    for (size_t i = 0; i < snapshot->n_guests; i++) {
        const struct migratable *m = &snapshot->guests[i].migratable;
        *(!m->known ? &unknown : is_fixed(m) ? &no : &yes) += 1;
        for (enum unmovable why = 0; m->known && why < UNMOVABLE_COUNT; why++)
            reasons[why] += migratable_has(m, why);
    }
    metric_add_header(page, METRIC_GUESTS_MOVABLE);
    metric_add_labelled(page, METRIC_GUESTS_MOVABLE, "", "movable", "yes", (double)yes);
    metric_add_labelled(page, METRIC_GUESTS_MOVABLE, "", "movable", "no", (double)no);
    metric_add_labelled(page, METRIC_GUESTS_MOVABLE, "", "movable", "unknown", (double)unknown);
    metric_add_header(page, METRIC_GUESTS_UNMOVABLE);
    for (enum unmovable why = 0; why < UNMOVABLE_COUNT; why++)
        if (unmovable_blocks_live(why))
            metric_add_labelled(page, METRIC_GUESTS_UNMOVABLE, "", "reason", unmovable_name(why),
                                (double)reasons[why]);
}

static void render_names(const struct snapshot *snapshot, struct promx_page *page)
{
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_header(page, METRIC_NOT_EVICTABLE);
    for (size_t i = 0, named = 0; i < snapshot->n_guests && named < METRICS_STUCK_MAX; i++) {
        const struct snapshot_guest *guest = &snapshot->guests[i];
        if (!metrics_is_stuck(guest))
            continue;
        const struct metric_pair pairs[] = {
            {"namespace", guest->ns},
            {"name", guest->name},
            {"node", guest->node},
            {"reason", unmovable_name(migratable_first_live(&guest->migratable))}};
        labels.length = 0;
        metric_add_pairs(&labels, pairs, COUNT(pairs));
        if (!labels.failed)
            metric_add_sample(page, METRIC_NOT_EVICTABLE, labels.data, 1);
        named++;
    }
    buf_fini(&labels);
}

static int by_node_name(const void *name, const void *node)
{
    return strcmp(name, ((const struct snapshot_node *)node)->name);
}

static void render_counts(const struct snapshot *snapshot, struct promx_page *page)
{
    unsigned *counts = calloc(snapshot->n_nodes + 1, sizeof *counts);
    if (counts == NULL) {
        page->out.failed = true;
        return;
    }
    for (size_t i = 0; i < snapshot->n_guests; i++) {
        const struct snapshot_guest *guest = &snapshot->guests[i];
        if (!metrics_is_stuck(guest))
            continue;
        const struct snapshot_node *node = bsearch(guest->node, snapshot->nodes, snapshot->n_nodes,
                                                   sizeof *snapshot->nodes, by_node_name);
        counts[node == NULL ? snapshot->n_nodes : (size_t)(node - snapshot->nodes)]++;
    }
    metric_add_header(page, METRIC_GUESTS_NOT_EVICTABLE);
    for (size_t i = 0; i < snapshot->n_nodes; i++)
        metric_add_labelled(page, METRIC_GUESTS_NOT_EVICTABLE, "", "node", snapshot->nodes[i].name,
                            counts[i]);
    free(counts);
}

void metrics_render_stuck(const struct snapshot *snapshot, struct promx_page *page)
{
    render_movable(snapshot, page);
    render_names(snapshot, page);
    render_counts(snapshot, page);
}
