/* metrics_guests.c - totals of the guests of a snapshot, in one pass: every page counts up to
 * 50,000. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/control/eviction.h"
#include "exporter/metrics/metrics.h"
#include "exporter/metrics/metrics_guests.h"

/* ---- nodes by name ---- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = hash_text(HASH_START, text);
    return hash ^ (hash >> 32);
}

/* Index of nodes by name. */
struct node_index {
    const struct snapshot *snapshot;
    size_t mask;
    uint32_t *slots; /* number of a node + 1; 0: free */
};

static bool index_nodes(struct node_index *index, const struct snapshot *snapshot)
{
    size_t n = 16;
    while (n < snapshot->n_nodes * 2)
        n *= 2;
    *index = (struct node_index){snapshot, n - 1, calloc(n, sizeof *index->slots)};
    for (size_t i = 0; index->slots != NULL && i < snapshot->n_nodes; i++) {
        size_t slot = hash_of(snapshot->nodes[i].name) & index->mask;
        while (index->slots[slot] != 0)
            slot = (slot + 1) & index->mask;
        index->slots[slot] = (uint32_t)i + 1;
    }
    return index->slots != NULL;
}

/* n_nodes: not found. */
static size_t node_number(const struct node_index *index, const char *name)
{
    size_t slot = hash_of(name) & index->mask;
    for (; index->slots[slot] != 0; slot = (slot + 1) & index->mask)
        if (strcmp(index->snapshot->nodes[index->slots[slot] - 1].name, name) == 0)
            return index->slots[slot] - 1;
    return index->snapshot->n_nodes;
}

/* ---- guests ---- */

static const struct {
    int number;
    const char *name;
} states[GUEST_STATES] = {
#define STATE(id, number, name) {number, name},
#include "hypervisor/state.def"
#undef STATE
    {-1, "unknown"}, /* a state of a later libvirt */
};

const char *guest_state_word(unsigned i)
{
    return states[i].name;
}

static size_t state_index(int state)
{
    size_t i = 0;
    while (i < GUEST_STATES - 1 && states[i].number != state)
        i++;
    return i;
}

static bool is_fixed(const struct migratable *m)
{
    return m->rows != 0 && migratable_first_live(m) != UNMOVABLE_COUNT;
}

bool metrics_is_stuck(const struct snapshot_guest *guest)
{
    return guest->up && is_fixed(&guest->migratable) &&
           strategy_moves(guest->strategy) == MOVES_YES;
}

static void add_guest(struct guest_totals *totals, const struct snapshot_guest *guest, size_t node)
{
    const struct migratable *m = &guest->migratable;
    totals->states[node * GUEST_STATES + state_index(guest->state)]++;
    *(!m->known ? &totals->unknown : is_fixed(m) ? &totals->fixed : &totals->movable) += 1;
    for (enum unmovable why = 0; m->known && m->rows >> why != 0 && why < UNMOVABLE_COUNT; why++)
        totals->reasons[why] += migratable_has(m, why);
    bool stuck = metrics_is_stuck(guest);
    totals->stuck[node] += stuck;
    totals->n_stuck += stuck;
}

bool guest_totals_init(struct guest_totals *totals, const struct snapshot *snapshot)
{
    size_t nodes = snapshot->n_nodes + 1; /* one more for guests without an owner */
    struct node_index index;
    *totals = (struct guest_totals){0};
    totals->states = calloc(nodes * GUEST_STATES, sizeof *totals->states);
    totals->stuck = calloc(nodes, sizeof *totals->stuck);
    bool fine = index_nodes(&index, snapshot) && totals->states != NULL && totals->stuck != NULL;
    for (size_t i = 0; fine && i < snapshot->n_guests; i++)
        add_guest(totals, &snapshot->guests[i], node_number(&index, snapshot->guests[i].node));
    free(index.slots);
    return fine;
}

void guest_totals_fini(struct guest_totals *totals)
{
    free(totals->states);
    free(totals->stuck);
}

/* ---- rendering ---- */

static void render_movable(const struct guest_totals *totals, struct promx_page *page)
{
    metric_add_header(page, METRIC_GUESTS_MOVABLE);
    metric_add_labelled(page, METRIC_GUESTS_MOVABLE, "", "movable", "yes", (double)totals->movable);
    metric_add_labelled(page, METRIC_GUESTS_MOVABLE, "", "movable", "no", (double)totals->fixed);
    metric_add_labelled(page, METRIC_GUESTS_MOVABLE, "", "movable", "unknown",
                        (double)totals->unknown);
    metric_add_header(page, METRIC_GUESTS_UNMOVABLE);
    for (enum unmovable why = 0; why < UNMOVABLE_COUNT; why++)
        if (unmovable_blocks_live(why))
            metric_add_labelled(page, METRIC_GUESTS_UNMOVABLE, "", "reason", unmovable_name(why),
                                totals->reasons[why]);
}

/* Stops after the last one that is counted. */
static void render_names(const struct snapshot *snapshot, const struct guest_totals *totals,
                         struct promx_page *page)
{
    size_t left = totals->n_stuck < METRICS_STUCK_MAX ? totals->n_stuck : METRICS_STUCK_MAX;
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_header(page, METRIC_NOT_EVICTABLE);
    for (size_t i = 0; i < snapshot->n_guests && left > 0; i++) {
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
        left--;
    }
    buf_fini(&labels);
}

/* Two walks, and both only over what is there: nearly always nothing. */
static void render_orphans(const struct snapshot *snapshot, struct promx_page *page)
{
    size_t n = 0;
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_header(page, METRIC_ORPHANED_GUEST);
    for (size_t i = 0; i < snapshot->n_guests; i++) {
        const struct snapshot_guest *guest = &snapshot->guests[i];
        const struct hv_mark *mark = &guest->orphan;
        if (mark->job[0] == '\0' || ++n > METRICS_STUCK_MAX)
            continue;
        const struct metric_pair pairs[] = {
            {"namespace", guest->ns},       {"name", guest->name},    {"node", guest->node},
            {"appliance", mark->appliance}, {"migration", mark->job}, {"source", mark->source},
            {"target", mark->target}};
        labels.length = 0;
        metric_add_pairs(&labels, pairs, COUNT(pairs));
        if (!labels.failed)
            metric_add_sample(page, METRIC_ORPHANED_GUEST, labels.data, 1);
    }
    buf_fini(&labels);
    metric_add_alone(page, METRIC_ORPHANED_GUESTS, (double)n);
}

void metrics_render_stuck(const struct snapshot *snapshot, const struct guest_totals *totals,
                          struct promx_page *page)
{
    render_movable(totals, page);
    render_names(snapshot, totals, page);
    metric_add_header(page, METRIC_GUESTS_NOT_EVICTABLE);
    for (size_t i = 0; i < snapshot->n_nodes; i++)
        metric_add_labelled(page, METRIC_GUESTS_NOT_EVICTABLE, "", "node", snapshot->nodes[i].name,
                            totals->stuck[i]);
    render_orphans(snapshot, page);
}
