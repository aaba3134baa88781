/* publish.c - see publish.h. */
#include "engine/publish.h"

#include <stdatomic.h>
#include <string.h>

#include "base/text.h"

/* Guests and the text they point to. */
struct guest_block {
    atomic_uint references;
    uint64_t version;
    size_t n;
    char *texts; /* labels, one after the other */
    struct snapshot_guest guests[];
};

struct snapshot_block {       /* what a reader's pointer really points into */
    struct snapshot snapshot; /* first */
    atomic_uint references;
    struct guest_block *guests;
    struct snapshot_node *nodes;
    struct job_view **views;
    const struct snapshot_job **jobs; /* into the views */
};

struct job_view {
    atomic_uint references;
    uint64_t version;
    struct snapshot_job job;
    char metadata[];
};

struct publisher {
    struct guest_block *guests; /* of the newest version */
};

struct publisher *publisher_new(struct err *err)
{
    struct publisher *p = calloc(1, sizeof *p);
    if (p == NULL)
        err_set(err, ERR_NOMEM, "snapshots");
    return p;
}

static void guests_unref(struct guest_block *block)
{
    if (block == NULL || atomic_fetch_sub(&block->references, 1) != 1)
        return;
    free(block->texts);
    free(block);
}

void publisher_free(struct publisher *p)
{
    if (p == NULL)
        return;
    guests_unref(p->guests);
    free(p);
}

static struct snapshot_block *block_of(const struct snapshot *snapshot)
{
    return (struct snapshot_block *)(uintptr_t)snapshot; /* its first member */
}

const struct snapshot *snapshot_ref(const struct snapshot *snapshot)
{
    if (snapshot != NULL)
        atomic_fetch_add(&block_of(snapshot)->references, 1);
    return snapshot;
}

void publish_drop_view(struct job_view *view)
{
    if (view != NULL && atomic_fetch_sub(&view->references, 1) == 1)
        free(view);
}

static void block_free(struct snapshot_block *block)
{
    guests_unref(block->guests);
    for (size_t i = 0; block->views != NULL && i < block->snapshot.n_jobs; i++)
        publish_drop_view(block->views[i]);
    free(block->nodes);
    free(block->views);
    free(block->jobs);
    free(block);
}

void snapshot_unref(const struct snapshot *snapshot)
{
    if (snapshot != NULL && atomic_fetch_sub(&block_of(snapshot)->references, 1) == 1)
        block_free(block_of(snapshot));
}

static void fill_guest(const struct guest *guest, char **text, struct snapshot_guest *out)
{
    TEXT_SET(out->uuid, guest->uuid);
    TEXT_SET(out->name, guest->name);
    TEXT_SET(out->ns, guest->ns);
    TEXT_SET(out->job_uid, guest->newest_job);
    out->state = HV_STATE_NONE;
    if (guest->owner != NULL) {
        TEXT_SET(out->node, guest->owner->node->name);
        out->state = guest->owner->state;
        out->reason = guest->owner->reason;
        out->node_reachable = guest->owner->node->connected;
        out->migratable = guest->owner->migratable;
    }
    out->persistent = guest->persistent;
    out->memory_kib = guest->memory_kib;
    out->vcpus = guest->vcpus;
    out->seen_ms = guest->seen_wall_ms;
    out->resource_version = guest->version;
    if (guest->labels != NULL) {
        size_t bytes = strlen(guest->labels) + 1;
        memcpy(*text, guest->labels, bytes);
        out->labels = *text;
        *text += bytes;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct snapshot_guest *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->uuid, y->uuid);
}

static struct guest_block *make_guests(const struct fleet *f)
{
    size_t n = HASH_COUNT(f->guests), text_bytes = 1;
    for (const struct guest *guest = f->guests; guest != NULL; guest = guest->hh.next)
        text_bytes += guest->labels != NULL ? strlen(guest->labels) + 1 : 0;
    struct guest_block *block = calloc(1, sizeof *block + n * sizeof block->guests[0]);
    char *texts = malloc(text_bytes);
    if (block == NULL || texts == NULL) {
        free(block);
        free(texts);
        return NULL;
    }
    atomic_init(&block->references, 1);
    block->version = f->guests_version;
    block->texts = texts;
    for (const struct guest *guest = f->guests; guest != NULL; guest = guest->hh.next)
        fill_guest(guest, &texts, &block->guests[block->n++]);
    qsort(block->guests, block->n, sizeof block->guests[0], by_name);
    return block;
}

static bool take_guests(struct publisher *p, const struct fleet *f, struct snapshot_block *block)
{
    if (p->guests == NULL || p->guests->version != f->guests_version) {
        struct guest_block *fresh = make_guests(f);
        if (fresh == NULL)
            return false;
        guests_unref(p->guests);
        p->guests = fresh;
    }
    atomic_fetch_add(&p->guests->references, 1);
    block->guests = p->guests;
    block->snapshot.guests = p->guests->guests;
    block->snapshot.n_guests = p->guests->n;
    return true;
}

static int node_by_name(const void *a, const void *b)
{
    return strcmp(((const struct snapshot_node *)a)->name, ((const struct snapshot_node *)b)->name);
}

static bool take_nodes(const struct fleet *f, struct snapshot_block *block)
{
    size_t n = HASH_COUNT(f->nodes);
    block->nodes = calloc(n + 1, sizeof *block->nodes);
    if (block->nodes == NULL)
        return false;
    struct snapshot_node *out = block->nodes;
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next, out++) {
        TEXT_SET(out->name, node->name);
        TEXT_SET(out->uri, node->host.uri);
        TEXT_SET(out->migration_host, node->host.migration_host);
        TEXT_SET(out->error, node->error);
        out->connected = node->connected;
        out->settled = node->asked && (!node->connected || node->listed);
        out->has_facts = node->has_facts;
        out->facts = node->facts;
        out->since_ms = node->since_wall_ms;
        out->created_ms = node->created_wall_ms;
        out->guests = node->n_places;
        out->resource_version = node->version;
    }
    qsort(block->nodes, n, sizeof *block->nodes, node_by_name);
    block->snapshot.nodes = block->nodes;
    block->snapshot.n_nodes = n;
    return true;
}

static void fill_sight(const struct job_side *side, struct snapshot_sight *out)
{
    out->presence = side->sight.presence;
    out->state = side->sight.state;
    out->reason = side->sight.reason;
    out->at_ms = side->seen_wall_ms;
}

static void fill_names(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    TEXT_SET(out->uid, job->uid);
    TEXT_SET(out->ns, job->ns);
    TEXT_SET(out->name, job->name);
    TEXT_SET(out->guest_uuid, job->guest_uuid);
    TEXT_SET(out->guest_name, job->guest_name);
    TEXT_SET(out->source, job->source);
    TEXT_SET(out->target, job->target);
    TEXT_SET(out->wanted, job->wanted);
    TEXT_SET(out->requester, job->requester);
    TEXT_SET(out->abort_requester, job->abort_requester);
    TEXT_SET(out->abort_why, job->abort_why);
    TEXT_SET(out->pending_reason, job->pending_reason);
    TEXT_SET(out->failure_reason, job->failure_reason);
    const struct node *target = NULL;
    HASH_FIND_STR(f->nodes, job->target, target);
    if (target != NULL)
        TEXT_SET(out->target_address, target->host.migration_host);
}

void publish_job(const struct fleet *f, const struct job *job, struct snapshot_job *out)
{
    memset(out, 0, sizeof *out);
    fill_names(f, job, out);
    out->phase = job->phase;
    out->mode = job->mode;
    out->priority = job->priority;
    out->pending = job->pending;
    if (job->pending != PENDING_NONE) {
        out->waits_since_ms = job->waits_since_ms;
        out->waits_until_ms = job->waits_until_ms;
    }
    out->abort_status = job->abort_status;
    out->resolving = job->resolving;
    out->recovering = job->recovering;
    out->adopted = job->adopted;
    out->abort_asked = job->abort_asked;
    out->outcome = job->outcome;
    out->guest_at = job->guest_at;
    out->error = job->error;
    out->created_ms = job->created_ms;
    out->handed_off_ms = job->handed_off_ms;
    out->started_ms = job->started_ms;
    out->ended_ms = job->ended_ms;
    out->delete_asked_ms = job->delete_asked_ms;
    out->epoch = job->epoch;
    out->n_steps = job->n_steps;
    for (unsigned i = 0; i < job->n_steps; i++)
        out->steps[i] = (struct snapshot_step){job->steps[i].phase, job->steps[i].wall_ms};
    fill_sight(&job->source_side, &out->source_sight);
    fill_sight(&job->target_side, &out->target_sight);
    out->has_sample = job->has_sample;
    out->sample = job->sample;
    out->eta_ms = job_eta_ms(job);
    out->resource_version = job->version;
    out->metadata_json = job->metadata_json;
}

static struct job_view *make_view(const struct fleet *f, const struct job *job)
{
    size_t bytes = job->metadata_json != NULL ? strlen(job->metadata_json) + 1 : 0;
    struct job_view *view = malloc(sizeof *view + bytes);
    if (view == NULL)
        return NULL;
    atomic_init(&view->references, 1); /* the job's own */
    view->version = job->version;
    publish_job(f, job, &view->job);
    if (bytes > 0) {
        memcpy(view->metadata, job->metadata_json, bytes);
        view->job.metadata_json = view->metadata;
    }
    return view;
}

static struct job_view *view_of(const struct fleet *f, struct job *job)
{
    if (job->view == NULL || job->view->version != job->version) {
        struct job_view *fresh = make_view(f, job);
        if (fresh == NULL)
            return NULL;
        publish_drop_view(job->view);
        job->view = fresh;
    }
    atomic_fetch_add(&job->view->references, 1);
    return job->view;
}

static bool take_jobs(struct fleet *f, struct snapshot_block *block)
{
    size_t n = HASH_COUNT(f->jobs);
    block->views = calloc(n + 1, sizeof(struct job_view *));
    block->jobs = calloc(n + 1, sizeof(const struct snapshot_job *));
    if (block->views == NULL || block->jobs == NULL)
        return false;
    for (struct job *job = f->jobs; job != NULL; job = job->hh.next) {
        struct job_view *view = view_of(f, job);
        if (view == NULL)
            return false;
        block->views[block->snapshot.n_jobs] = view;
        block->jobs[block->snapshot.n_jobs] = &view->job;
        block->snapshot.n_jobs++;
    }
    block->snapshot.jobs = block->jobs;
    return true;
}

const struct snapshot *publish(struct publisher *p, struct fleet *f, int64_t wall_ms)
{
    struct snapshot_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1);
    block->snapshot.wall_ms = wall_ms;
    if (!take_guests(p, f, block) || !take_nodes(f, block) || !take_jobs(f, block)) {
        block_free(block);
        return NULL;
    }
    block->snapshot.generation = f->version;
    return &block->snapshot;
}
