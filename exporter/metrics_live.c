/* metrics_live.c - the series of active migrations, and of the fleet, from one snapshot.
 *
 * A series of a migration exists only while the migration is not final, so nothing has to be
 * cleaned up and no dead migration lingers on a dashboard. Its labels are escaped once and
 * reused in every family.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/metrics.h"
#include "exporter/promx.h"

enum { PAIRS_TEXT_MAX = 16 * 1024 };

/* The active jobs of a snapshot, each with its labels as the page shows them. */
struct active {
    const struct snapshot *snapshot;
    size_t n;
    struct active_job {
        const struct snapshot_job *job;
        char *labels;
    } * jobs;
};

static char *job_labels(const struct snapshot_job *job)
{
    const char *const pairs[][2] = {{"namespace", job->ns},
                                    {"name", job->guest_name},
                                    {"source", job->source},
                                    {"target", job->target},
                                    {"migration", job->name}};
    struct buf labels;
    buf_init(&labels, PAIRS_TEXT_MAX);
    for (size_t i = 0; i < COUNT(pairs); i++) {
        buf_add(&labels, i == 0 ? "" : ",");
        buf_add(&labels, pairs[i][0]);
        buf_add(&labels, "=\"");
        promx_add_label_value(&labels, pairs[i][1]);
        buf_add(&labels, "\"");
    }
    return buf_take(&labels);
}

static void active_fini(struct active *active)
{
    for (size_t i = 0; i < active->n; i++)
        free(active->jobs[i].labels);
    free(active->jobs);
}

static bool active_init(struct active *active, const struct snapshot *snapshot)
{
    *active = (struct active){.snapshot = snapshot};
    active->jobs = calloc(snapshot->n_jobs + 1, sizeof *active->jobs);
    if (active->jobs == NULL)
        return false;
    for (size_t i = 0; i < snapshot->n_jobs; i++) {
        const struct snapshot_job *job = snapshot->jobs[i];
        if (phase_is_final(job->phase))
            continue;
        char *labels = job_labels(job);
        if (labels == NULL)
            return false;
        active->jobs[active->n++] = (struct active_job){job, labels};
    }
    return true;
}

/* ---- numbers ---- */

/* A number of the newest sample: where it is, and what one of it is in the metric's unit. */
static const struct measure {
    enum metric metric;
    size_t offset; /* in struct hv_job_stats */
    double divisor;
} measures[] = {
#define MEASURE(metric, field, divisor)                                          \
    {                                                                            \
        METRIC_MIGRATION_##metric, offsetof(struct hv_job_stats, field), divisor \
    }
    MEASURE(DATA_TOTAL, data_total, 1),
    MEASURE(DATA_PROCESSED, data_processed, 1),
    MEASURE(DATA_REMAINING, data_remaining, 1),
    MEASURE(MEMORY_TOTAL, memory_total, 1),
    MEASURE(MEMORY_PROCESSED, memory_processed, 1),
    MEASURE(MEMORY_REMAINING, memory_remaining, 1),
    MEASURE(DISK_TOTAL, disk_total, 1),
    MEASURE(DISK_PROCESSED, disk_processed, 1),
    MEASURE(DISK_REMAINING, disk_remaining, 1),
    MEASURE(ITERATION, memory_iteration, 1),
    MEASURE(THROTTLE, auto_converge_throttle, 100),
    MEASURE(DOWNTIME, downtime_ms, 1000),
    MEASURE(POSTCOPY_REQUESTS, memory_postcopy_requests, 1),
#undef MEASURE
};

static void render_measure(const struct active *active, const struct measure *measure,
                           struct buf *out)
{
    metric_add_header(out, measure->metric);
    for (size_t i = 0; i < active->n; i++) {
        const struct snapshot_job *job = active->jobs[i].job;
        if (!job->has_sample)
            continue;
        uint64_t value;
        memcpy(&value, (const char *)&job->sample.stats + measure->offset, sizeof value);
        metric_add_sample(out, measure->metric, active->jobs[i].labels,
                          (double)value / measure->divisor);
    }
}

/* A number that is more than one field. False: there is none now. */
typedef bool number_fn(const struct snapshot *snapshot, const struct snapshot_job *job,
                       double *out_value);

static bool dirty_rate(const struct snapshot *snapshot, const struct snapshot_job *job,
                       double *out_value)
{
    (void)snapshot;
    *out_value =
        (double)job->sample.stats.memory_dirty_rate * (double)job->sample.stats.memory_page_size;
    return job->has_sample;
}

static bool transfer_rate(const struct snapshot *snapshot, const struct snapshot_job *job,
                          double *out_value)
{
    (void)snapshot;
    *out_value = (double)job->sample.bandwidth_bps;
    return job->has_sample;
}

static bool elapsed(const struct snapshot *snapshot, const struct snapshot_job *job,
                    double *out_value)
{
    int64_t ms = snapshot->wall_ms - job->started_ms;
    *out_value = ms > 0 ? (double)ms / 1000 : 0; /* a stepped wall clock gives no negative age */
    return job->started_ms != 0;
}

static bool eta(const struct snapshot *snapshot, const struct snapshot_job *job, double *out_value)
{
    (void)snapshot;
    *out_value = (double)job->eta_ms / 1000;
    return job->has_sample && job->eta_ms >= 0;
}

static bool recovery_attempts(const struct snapshot *snapshot, const struct snapshot_job *job,
                              double *out_value)
{
    (void)snapshot;
    *out_value = job->recovery_tries;
    return true;
}

static bool resolving(const struct snapshot *snapshot, const struct snapshot_job *job,
                      double *out_value)
{
    (void)snapshot;
    *out_value = job->resolving;
    return true;
}

static bool recovering(const struct snapshot *snapshot, const struct snapshot_job *job,
                       double *out_value)
{
    (void)snapshot;
    *out_value = job->recovering;
    return true;
}

static void render_number(const struct active *active, enum metric metric, number_fn *number,
                          struct buf *out)
{
    metric_add_header(out, metric);
    for (size_t i = 0; i < active->n; i++) {
        double value;
        if (number(active->snapshot, active->jobs[i].job, &value))
            metric_add_sample(out, metric, active->jobs[i].labels, value);
    }
}

/* ---- states ---- */

static const char *name_of_phase(unsigned i)
{
    return phase_name((enum phase)i);
}
static unsigned phase_now(const struct snapshot_job *job)
{
    return job->phase;
}
static const char *name_of_mode(unsigned i)
{
    return mode_name((enum mode)i);
}
static unsigned mode_now(const struct snapshot_job *job)
{
    return job->mode;
}
static const char *name_of_abort(unsigned i)
{
    return abort_status_name((enum abort_status)i);
}
static unsigned abort_now(const struct snapshot_job *job)
{
    return job->abort_status;
}

static const char *name_of_recovery(unsigned i)
{
    return recovery_name((enum recovery)i);
}
static unsigned recovery_now(const struct snapshot_job *job)
{
    return job->recovery;
}

/* A vocabulary as a state set: one series per word, 1 for the word that holds. Word 0 is "none"
 * in all of them and has no series. */
static const struct state_set {
    enum metric metric;
    const char *label;
    unsigned count;
    const char *(*name)(unsigned i);
    unsigned (*now)(const struct snapshot_job *job);
} state_sets[] = {
    {METRIC_MIGRATION_PHASE, "phase", PHASE_COUNT, name_of_phase, phase_now},
    {METRIC_MIGRATION_MODE, "mode", MODE_COUNT, name_of_mode, mode_now},
    {METRIC_MIGRATION_ABORT_STATUS, "status", ABORT_COUNT, name_of_abort, abort_now},
    {METRIC_MIGRATION_RECOVERY_STATE, "state", RECOVERY_COUNT, name_of_recovery, recovery_now},
};

static void render_state_set(const struct active *active, const struct state_set *set,
                             struct buf *out)
{
    metric_add_header(out, set->metric);
    for (size_t i = 0; i < active->n; i++)
        for (unsigned word = 1; word < set->count; word++)
            metric_add_labelled(out, set->metric, active->jobs[i].labels, set->label,
                                set->name(word), set->now(active->jobs[i].job) == word);
}

void metrics_render_migrations(const struct snapshot *snapshot, struct buf *out)
{
    struct active active;
    if (!active_init(&active, snapshot)) {
        out->failed = true;
        active_fini(&active);
        return;
    }
    for (size_t i = 0; i < COUNT(state_sets); i++)
        render_state_set(&active, &state_sets[i], out);
    render_number(&active, METRIC_MIGRATION_RESOLVING, resolving, out);
    render_number(&active, METRIC_MIGRATION_RECOVERING, recovering, out);
    render_number(&active, METRIC_MIGRATION_RECOVERY_ATTEMPTS, recovery_attempts, out);
    render_number(&active, METRIC_MIGRATION_ELAPSED, elapsed, out);
    render_number(&active, METRIC_MIGRATION_ETA, eta, out);
    for (size_t i = 0; i < COUNT(measures); i++)
        render_measure(&active, &measures[i], out);
    render_number(&active, METRIC_MIGRATION_DIRTY_RATE, dirty_rate, out);
    render_number(&active, METRIC_MIGRATION_TRANSFER_RATE, transfer_rate, out);
    active_fini(&active);
}

/* ---- the fleet ---- */

static const struct {
    int number;
    const char *name;
} states[] = {
#define STATE(id, number, name) {number, name},
#include "hypervisor/state.def"
#undef STATE
    {-1, "unknown"}, /* a state that libvirt invents later */
};

static size_t state_index(int state)
{
    size_t i = 0;
    while (i < COUNT(states) - 1 && states[i].number != state)
        i++;
    return i;
}

static int by_node_name(const void *name, const void *node)
{
    return strcmp(name, ((const struct snapshot_node *)node)->name);
}

/* Guests per node and state; the row after the last node is for guests without an owner. */
static unsigned *count_guests(const struct snapshot *snapshot)
{
    unsigned *counts = calloc((snapshot->n_nodes + 1) * COUNT(states), sizeof *counts);
    for (size_t i = 0; counts != NULL && i < snapshot->n_guests; i++) {
        const struct snapshot_guest *guest = &snapshot->guests[i];
        const struct snapshot_node *node = bsearch(guest->node, snapshot->nodes, snapshot->n_nodes,
                                                   sizeof *snapshot->nodes, by_node_name);
        size_t row = node == NULL ? snapshot->n_nodes : (size_t)(node - snapshot->nodes);
        counts[row * COUNT(states) + state_index(guest->state)]++;
    }
    return counts;
}

static const char *name_of_state(unsigned i)
{
    return states[i].name;
}
static const char *name_of_drain_guest(unsigned i)
{
    return drain_guest_state_name((enum drain_guest_state)i);
}
static const char *name_of_block(unsigned i)
{
    return block_name((enum block)i);
}

/* A vocabulary as a second label beside the node: one series per word, also where it is zero. */
static const struct node_words {
    enum metric metric;
    const char *label;
    unsigned first, count;
    const char *(*name)(unsigned i);
} guest_words = {METRIC_GUESTS, "state", 0, COUNT(states), name_of_state},
  drain_words = {METRIC_DRAIN_GUESTS, "state", 0, DRAIN_GUEST_COUNT, name_of_drain_guest},
  block_words = {METRIC_DRAIN_BLOCKED, "reason", BLOCK_NONE + 1, BLOCK_COUNT, name_of_block};

static void add_words(struct buf *out, const struct node_words *words, const char *node,
                      const unsigned *counts)
{
    struct buf labels;
    buf_init(&labels, PAIRS_TEXT_MAX);
    buf_add(&labels, "node=\"");
    promx_add_label_value(&labels, node);
    buf_add(&labels, "\"");
    for (unsigned i = words->first; i < words->count && !labels.failed; i++)
        metric_add_labelled(out, words->metric, labels.data, words->label, words->name(i),
                            counts[i]);
    buf_fini(&labels);
}

static void render_guests(const struct snapshot *snapshot, struct buf *out)
{
    unsigned *counts = count_guests(snapshot);
    if (counts == NULL) {
        out->failed = true;
        return;
    }
    metric_add_header(out, METRIC_GUESTS);
    for (size_t n = 0; n < snapshot->n_nodes; n++)
        add_words(out, &guest_words, snapshot->nodes[n].name, counts + n * COUNT(states));
    add_words(out, &guest_words, "", counts + snapshot->n_nodes * COUNT(states));
    free(counts);
}

static double node_value(const struct snapshot_node *node, enum metric metric)
{
    switch (metric) {
    case METRIC_NODE_UP: return node->connected;
    case METRIC_NODE_SCHEDULABLE: return node->connected && !node->cordoned;
    case METRIC_NODE_RUNNING: return (double)node->running_kib * 1024;
    default: return (double)node->reserved_kib * 1024;
    }
}

static void render_nodes(const struct snapshot *snapshot, struct buf *out)
{
    static const enum metric families[] = {METRIC_NODE_UP, METRIC_NODE_SCHEDULABLE,
                                           METRIC_NODE_RUNNING, METRIC_NODE_RESERVED};
    size_t connected = 0;
    for (size_t f = 0; f < COUNT(families); f++) {
        metric_add_header(out, families[f]);
        for (size_t i = 0; i < snapshot->n_nodes; i++)
            metric_add_labelled(out, families[f], "", "node", snapshot->nodes[i].name,
                                node_value(&snapshot->nodes[i], families[f]));
    }
    for (size_t i = 0; i < snapshot->n_nodes; i++)
        connected += snapshot->nodes[i].connected;
    metric_add_header(out, METRIC_NODES);
    metric_add_labelled(out, METRIC_NODES, "", "state", "connected", (double)connected);
    metric_add_labelled(out, METRIC_NODES, "", "state", "lost",
                        (double)(snapshot->n_nodes - connected));
}

/* Nodes know who drains them: nobody reads a status here. */
static void render_drains(const struct snapshot *snapshot, struct buf *out)
{
    size_t all = 0, active = 0;
    for (size_t i = 0; i < snapshot->n_objects; i++)
        all += snapshot->objects[i]->kind == OBJECT_DRAIN;
    for (size_t i = 0; i < snapshot->n_nodes; i++)
        active += snapshot->nodes[i].drain[0] != '\0';
    metric_add_header(out, METRIC_DRAINS);
    metric_add_labelled(out, METRIC_DRAINS, "", "state", "active", (double)active);
    metric_add_labelled(out, METRIC_DRAINS, "", "state", "over",
                        all > active ? (double)(all - active) : 0);
    metric_add_header(out, METRIC_DRAIN_GUESTS);
    for (size_t i = 0; i < snapshot->n_drains; i++)
        add_words(out, &drain_words, snapshot->drains[i].node, snapshot->drains[i].guests);
    metric_add_header(out, METRIC_DRAIN_BLOCKED);
    for (size_t i = 0; i < snapshot->n_drains; i++)
        add_words(out, &block_words, snapshot->drains[i].node, snapshot->drains[i].blocked);
}

/* What the jobs of a snapshot add up to. */
struct totals {
    size_t phases[PHASE_COUNT];
    size_t waiting[PENDING_COUNT], launchers[LAUNCHER_COUNT]; /* unfinished ones */
    double rejections[REJECT_COUNT];
};

static void add_job(struct totals *totals, const struct snapshot_job *job)
{
    totals->phases[job->phase]++;
    if (phase_is_final(job->phase))
        return;
    totals->waiting[job->pending]++;
    totals->launchers[job->launcher]++;
    for (enum reject why = 0; job->rejections != NULL && why < REJECT_COUNT; why++)
        totals->rejections[why] += job->rejections->counts[why];
}

static void render_jobs(const struct snapshot *snapshot, struct buf *out)
{
    struct totals totals = {0};
    for (size_t i = 0; i < snapshot->n_jobs; i++)
        add_job(&totals, snapshot->jobs[i]);
    metric_add_header(out, METRIC_WAITING);
    for (enum pending pending = PENDING_NONE + 1; pending < PENDING_COUNT; pending++)
        metric_add_labelled(out, METRIC_WAITING, "", "reason", pending_name(pending),
                            (double)totals.waiting[pending]);
    metric_add_header(out, METRIC_LAUNCHERS);
    for (enum launcher launcher = LAUNCHER_NONE + 1; launcher < LAUNCHER_COUNT; launcher++)
        metric_add_labelled(out, METRIC_LAUNCHERS, "", "state", launcher_name(launcher),
                            (double)totals.launchers[launcher]);
    metric_add_header(out, METRIC_REJECTIONS);
    for (enum reject why = REJECT_NONE + 1; why < REJECT_COUNT; why++)
        metric_add_labelled(out, METRIC_REJECTIONS, "", "reason", reject_name(why),
                            totals.rejections[why]);
    metric_add_header(out, METRIC_JOBS);
    for (enum phase phase = PHASE_NONE + 1; phase < PHASE_COUNT; phase++)
        metric_add_labelled(out, METRIC_JOBS, "", "phase", phase_name(phase),
                            (double)totals.phases[phase]);
}

void metrics_render_fleet(const struct snapshot *snapshot, struct buf *out)
{
    render_nodes(snapshot, out);
    render_guests(snapshot, out);
    render_drains(snapshot, out);
    render_jobs(snapshot, out);
}
