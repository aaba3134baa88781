/* placement_choose.c - chooses the best node for a guest, or explains why there is none; see
 * placement.h. */
#include <string.h>

#include "base/text.h"
#include "engine/control/placement_scan.h"
#include "engine/model/fleet/ledger.h"

/* Weights; they add up to 100, the score of an empty node with a perfect record. */
static const double weight_memory = 40, weight_arrivals = 30, weight_record = 30;

double placement_score(const struct fleet *f, const struct placement *p, const struct node *node)
{
    uint64_t whole = ledger_memory_whole(f, node), left = ledger_memory_left(f, node, p->job);
    double room = 0.5; /* not known: neither good nor bad */
    if (whole != UINT64_MAX && whole > 0)
        room =
            left > p->guest->memory_kib ? (double)(left - p->guest->memory_kib) / (double)whole : 0;
    double good = node->arrivals.good, bad = node->arrivals.bad;
    return weight_memory * room + weight_arrivals / (1 + (double)node->inbound) +
           weight_record * (good + 1) / (good + bad + 2);
}

struct candidate {
    struct node *node;
    double score;
};
struct batch {
    size_t n;
    struct candidate list[PLACEMENT_SCANS];
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score;
    return strcmp(a->node->name, b->node->name) < 0;
}

/* The best candidate of the batch that also passes the expensive checks; empties the batch. */
static struct node *best_of(struct placement_scan *scan, struct batch *batch)
{
    while (batch->n > 0) {
        struct candidate *best = &batch->list[0];
        for (size_t i = 1; i < batch->n; i++)
            if (is_better(&batch->list[i], best))
                best = &batch->list[i];
        struct node *node = best->node;
        *best = batch->list[--batch->n];
        if (scan_node(scan, node, SCAN_COSTLY, NULL) == REJECT_NONE) {
            batch->n = 0;
            return node;
        }
    }
    return NULL;
}

/* The only possible node by name; NULL: any. */
static const char *only_name(const struct placement *p)
{
    const char *name = NULL;
    if (p->wanted != NULL && p->wanted[0] != '\0')
        return p->wanted;
    if (p->settings != NULL)
        name = labels_get(&p->settings->node_selector, PLACEMENT_HOSTNAME);
    if (name == NULL && p->added != NULL)
        name = labels_get(p->added, PLACEMENT_HOSTNAME);
    return name;
}

/* Nodes from here on have reached the limit of arrivals for a job that is not one of them. */
static bool is_past_limit(const struct placement_scan *scan, unsigned list)
{
    unsigned limit = scan->f->config.parallel_inbound_per_node;
    const struct job *job = scan->p->job;
    return limit > 0 && list >= limit && (job == NULL || !phase_is_busy(job->phase));
}

/* Prefetches the next node while this one is checked: nodes are scattered in memory. */
static void fetch(const struct node *node)
{
    if (node == NULL)
        return;
    __builtin_prefetch(&node->connected);
    __builtin_prefetch(&node->labels);
}

static struct node *search(struct placement_scan *scan)
{
    struct batch batch = {.n = 0};
    for (unsigned i = 0; i < FLEET_INBOUND_LISTS && !is_past_limit(scan, i); i++) {
        struct node *node;
        DL_FOREACH2(scan->f->by_inbound[i], node, next_inbound)
        {
            fetch(node->next_inbound);
            if (scan_node(scan, node, SCAN_CHEAP, NULL) != REJECT_NONE)
                continue;
            batch.list[batch.n++] =
                (struct candidate){.node = node, .score = placement_score(scan->f, scan->p, node)};
            if (batch.n < PLACEMENT_SCANS)
                continue;
            struct node *best = best_of(scan, &batch);
            if (best != NULL)
                return best;
        }
    }
    return best_of(scan, &batch);
}

static struct node *choose(const struct fleet *f, const struct placement *p)
{
    struct placement_scan scan;
    struct node *node = NULL;
    const char *only = only_name(p);
    placement_scan_begin(&scan, f, p);
    if (only == NULL) {
        node = search(&scan);
    } else {
        HASH_FIND_STR(f->nodes, only, node);
        if (node != NULL && scan_node(&scan, node, SCAN_ALL, NULL) != REJECT_NONE)
            node = NULL;
    }
    return node;
}

struct node *placement_choose(const struct fleet *f, const struct placement *p,
                              struct rejections *out)
{
    struct node *node = choose(f, p);
    struct placement any = *p;
    size_t fits;
    if (node == NULL && p->n_avoided > 0) { /* one that failed is better than none */
        any.n_avoided = 0;
        node = choose(f, &any);
    }
    if (node == NULL && out != NULL)
        placement_explain(f, &any, out, &fits);
    return node;
}

static void explain(struct placement_scan *scan, const struct node *node, struct rejections *out)
{
    bool keep = out->n < PLACEMENT_KEPT_MAX;
    struct rejection *row = keep ? &out->list[out->n] : NULL;
    enum reject why = scan_node(scan, node, SCAN_ALL, keep ? row->detail : NULL);
    out->n_nodes++;
    out->counts[why]++;
    if (why == REJECT_NONE || !keep)
        return;
    row->why = why;
    TEXT_SET(row->node, node->name);
    out->tags[out->n] = rejections_tag(node);
    out->n++;
}

/* With a requested target all other nodes have the same rejection: once the list is full they
 * are only counted. */
static bool knows_rest(const struct placement_scan *scan, const struct rejections *out)
{
    const char *wanted = scan->p->wanted;
    return wanted != NULL && wanted[0] != '\0' && out->n == PLACEMENT_KEPT_MAX;
}

static void explain_rest(struct placement_scan *scan, struct rejections *out)
{
    const struct node *source = scan->p->source, *named = NULL;
    HASH_FIND_STR(scan->f->nodes, scan->p->wanted, named);
    if (source != NULL && source != named && rejections_find(out, source) == NULL)
        explain(scan, source, out);
    if (named != NULL && out->counts[REJECT_NONE] == 0 && rejections_find(out, named) == NULL)
        explain(scan, named, out);
    out->counts[REJECT_NOT_WANTED] += HASH_COUNT(scan->f->nodes) - (unsigned)out->n_nodes;
    out->n_nodes = HASH_COUNT(scan->f->nodes);
}

void placement_explain(const struct fleet *f, const struct placement *p, struct rejections *out,
                       size_t *out_fits)
{
    struct placement_scan scan;
    placement_scan_begin(&scan, f, p);
    if (p->wanted == NULL || p->wanted[0] == '\0')
        placement_scan_names(&scan);
    out->at_ms = 0;
    out->n = out->n_nodes = 0;
    memset(out->counts, 0, sizeof out->counts);
    const struct node *node = f->nodes;
    for (; node != NULL && !knows_rest(&scan, out); node = node->hh.next)
        explain(&scan, node, out);
    if (node != NULL)
        explain_rest(&scan, out);
    *out_fits = out->counts[REJECT_NONE];
}
