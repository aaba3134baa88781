/* metrics_fleet.c - hosts, guests, slots, queue and drains, from one snapshot. Every value of an
 * enum has a series, also when it is zero. */
#include <math.h>

#include "exporter/metrics/metrics_guests.h"

static const char *name_of_direction(unsigned i)
{
    return i == 0 ? "out" : "in";
}
static const char *name_of_drain_guest(unsigned i)
{
    return drain_guest_state_name((enum drain_guest_state)i);
}
static const char *name_of_drain(unsigned i)
{
    return drain_state_name((enum drain_state)i);
}
static const char *name_of_block(unsigned i)
{
    return block_name((enum block)i);
}

/* An enum as a second label beside the node: one series per value, also when it is zero. */
static const struct node_words {
    enum metric metric;
    const char *label;
    unsigned first, count;
    const char *(*name)(unsigned i);
} guest_words = {METRIC_GUESTS, "state", 0, GUEST_STATES, guest_state_word},
  drain_state_words = {METRIC_DRAIN_STATE, "state", 0, DRAIN_COUNT, name_of_drain},
  drain_words = {METRIC_DRAIN_GUESTS, "state", 0, DRAIN_GUEST_COUNT, name_of_drain_guest},
  block_words = {METRIC_DRAIN_BLOCKED, "reason", BLOCK_NONE + 1, BLOCK_COUNT, name_of_block};

static void add_words(struct promx_page *page, const struct node_words *words, const char *node,
                      const unsigned *counts)
{
    const struct metric_pair pair = {"node", node};
    struct buf labels;
    buf_init(&labels, METRICS_LABELS_MAX);
    metric_add_pairs(&labels, &pair, 1);
    for (unsigned i = words->first; i < words->count && !labels.failed; i++)
        metric_add_labelled(page, words->metric, labels.data, words->label, words->name(i),
                            counts[i]);
    buf_fini(&labels);
}

static void render_guests(const struct snapshot *snapshot, struct promx_page *page)
{
    struct guest_totals totals;
    if (guest_totals_init(&totals, snapshot)) {
        metric_add_header(page, METRIC_GUESTS);
        for (size_t n = 0; n < snapshot->n_nodes; n++)
            add_words(page, &guest_words, snapshot->nodes[n].name,
                      totals.states + n * GUEST_STATES);
        add_words(page, &guest_words, "", totals.states + snapshot->n_nodes * GUEST_STATES);
        metrics_render_stuck(snapshot, &totals, page);
    } else {
        page->out.failed = true;
    }
    guest_totals_fini(&totals);
}

static double node_value(const struct snapshot_node *node, enum metric metric)
{
    switch (metric) {
    case METRIC_NODE_UP: return node->connected;
    case METRIC_NODE_SCHEDULABLE: return node->connected && !node->cordoned;
    case METRIC_NODE_CAPACITY: return (double)node->facts.memory_kib * 1024;
    case METRIC_NODE_RUNNING: return (double)node->running_kib * 1024;
    default: return (double)node->reserved_kib * 1024;
    }
}

enum node_state { NODE_READY, NODE_CORDONED, NODE_DRAINING, NODE_LOST, NODE_STATES };

static enum node_state node_state(const struct snapshot_node *node)
{
    if (!node->connected)
        return NODE_LOST;
    if (node->drain[0] != '\0')
        return NODE_DRAINING;
    return node->cordoned ? NODE_CORDONED : NODE_READY;
}

static void render_node_states(const struct snapshot *snapshot, struct promx_page *page)
{
    static const char *const words[NODE_STATES] = {"ready", "cordoned", "draining", "lost"};
    size_t counts[NODE_STATES] = {0};
    for (size_t i = 0; i < snapshot->n_nodes; i++)
        counts[node_state(&snapshot->nodes[i])]++;
    metric_add_header(page, METRIC_NODES);
    for (enum node_state state = 0; state < NODE_STATES; state++)
        metric_add_labelled(page, METRIC_NODES, "", "state", words[state], (double)counts[state]);
}

static void render_nodes(const struct snapshot *snapshot, struct promx_page *page)
{
    static const enum metric families[] = {METRIC_NODE_UP, METRIC_NODE_SCHEDULABLE,
                                           METRIC_NODE_CAPACITY, METRIC_NODE_RUNNING,
                                           METRIC_NODE_RESERVED};
    render_node_states(snapshot, page);
    for (size_t f = 0; f < COUNT(families); f++) {
        metric_add_header(page, families[f]);
        for (size_t i = 0; i < snapshot->n_nodes; i++)
            if (families[f] != METRIC_NODE_CAPACITY || snapshot->nodes[i].has_facts)
                metric_add_labelled(page, families[f], "", "node", snapshot->nodes[i].name,
                                    node_value(&snapshot->nodes[i], families[f]));
    }
}

static double limit_of(unsigned slots)
{
    return slots == 0 ? (double)INFINITY : (double)slots;
}

static const struct node_words slot_words = {METRIC_NODE_SLOTS_USED, "direction", 0, 2,
                                             name_of_direction};

static void render_slots(const struct snapshot *snapshot, struct promx_page *page)
{
    metric_add_header(page, METRIC_NODE_SLOTS_USED);
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        const unsigned used[] = {snapshot->nodes[i].outbound, snapshot->nodes[i].inbound};
        add_words(page, &slot_words, snapshot->nodes[i].name, used);
    }
    metric_add_header(page, METRIC_NODE_SLOTS);
    metric_add_labelled(page, METRIC_NODE_SLOTS, "", "direction", name_of_direction(0),
                        limit_of(snapshot->slots_outbound));
    metric_add_labelled(page, METRIC_NODE_SLOTS, "", "direction", name_of_direction(1),
                        limit_of(snapshot->slots_inbound));
    metric_add_alone(page, METRIC_SLOTS_USED, snapshot->slots_used);
    metric_add_alone(page, METRIC_SLOTS, limit_of(snapshot->slots_fleet));
}

static void render_drains(const struct snapshot *snapshot, struct promx_page *page)
{
    metric_add_header(page, METRIC_DRAINS);
    for (enum drain_state state = 0; state < DRAIN_COUNT; state++)
        metric_add_labelled(page, METRIC_DRAINS, "", "state", drain_state_name(state),
                            snapshot->drain_states[state]);
    metric_add_header(page, METRIC_DRAIN_STATE);
    for (size_t i = 0; i < snapshot->n_drains; i++) {
        unsigned now[DRAIN_COUNT] = {0};
        now[snapshot->drains[i].state] = 1;
        add_words(page, &drain_state_words, snapshot->drains[i].node, now);
    }
    metric_add_header(page, METRIC_DRAIN_DEADLINE);
    for (size_t i = 0; i < snapshot->n_drains; i++)
        if (snapshot->drains[i].deadline_ms != 0 && !drain_is_final(snapshot->drains[i].state))
            metric_add_labelled(page, METRIC_DRAIN_DEADLINE, "", "node", snapshot->drains[i].node,
                                (double)snapshot->drains[i].deadline_ms / 1000);
    metric_add_header(page, METRIC_DRAIN_GUESTS);
    for (size_t i = 0; i < snapshot->n_drains; i++)
        add_words(page, &drain_words, snapshot->drains[i].node, snapshot->drains[i].guests);
    metric_add_header(page, METRIC_DRAIN_BLOCKED);
    for (size_t i = 0; i < snapshot->n_drains; i++)
        add_words(page, &block_words, snapshot->drains[i].node, snapshot->drains[i].blocked);
}

/* Totals of the jobs of a snapshot. */
struct totals {
    size_t phases[PHASE_COUNT];
    size_t queued[PRIORITY_COUNT];
    size_t waiting[PENDING_COUNT], launchers[LAUNCHER_COUNT]; /* unfinished ones */
    double rejections[REJECT_COUNT];
};

static void add_job(struct totals *totals, const struct snapshot_job *job)
{
    totals->phases[job->phase]++;
    if (phase_is_final(job->phase))
        return;
    totals->queued[job->request.priority] += !phase_is_busy(job->phase);
    totals->waiting[job->wait.pending]++;
    totals->launchers[job->placement.launcher]++;
    for (enum reject why = 0; job->placement.rejections != NULL && why < REJECT_COUNT; why++)
        totals->rejections[why] += job->placement.rejections->counts[why];
}

static void render_jobs(const struct snapshot *snapshot, struct promx_page *page)
{
    struct totals totals = {0};
    for (size_t i = 0; i < snapshot->n_jobs; i++)
        add_job(&totals, snapshot->jobs[i]);
    metric_add_header(page, METRIC_WAITING);
    for (enum pending pending = PENDING_NONE + 1; pending < PENDING_COUNT; pending++)
        metric_add_labelled(page, METRIC_WAITING, "", "reason", pending_name(pending),
                            (double)totals.waiting[pending]);
    metric_add_header(page, METRIC_QUEUED);
    for (enum priority priority = 0; priority < PRIORITY_COUNT; priority++)
        metric_add_labelled(page, METRIC_QUEUED, "", "priority", priority_name(priority),
                            (double)totals.queued[priority]);
    metric_add_header(page, METRIC_LAUNCHERS);
    for (enum launcher launcher = LAUNCHER_NONE + 1; launcher < LAUNCHER_COUNT; launcher++)
        metric_add_labelled(page, METRIC_LAUNCHERS, "", "state", launcher_name(launcher),
                            (double)totals.launchers[launcher]);
    metric_add_header(page, METRIC_REJECTIONS);
    for (enum reject why = REJECT_NONE + 1; why < REJECT_COUNT; why++)
        metric_add_labelled(page, METRIC_REJECTIONS, "", "reason", reject_name(why),
                            totals.rejections[why]);
    metric_add_header(page, METRIC_JOBS);
    for (enum phase phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++)
        metric_add_labelled(page, METRIC_JOBS, "", "phase", phase_name(phase),
                            (double)totals.phases[phase]);
}

void metrics_render_fleet(const struct snapshot *snapshot, struct promx_page *page)
{
    render_nodes(snapshot, page);
    render_slots(snapshot, page);
    render_guests(snapshot, page);
    render_drains(snapshot, page);
    render_jobs(snapshot, page);
}
