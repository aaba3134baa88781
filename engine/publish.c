/* publish.c - see publish.h. */
#include "engine/publish.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/control/drain.h"
#include "engine/data/flags.h"
#include "engine/data/monitor.h"
#include "engine/model/job/launcher.h"

/* Guests and the text they point to. */
struct guest_block {
    atomic_uint references;
    uint64_t version;
    size_t n;
    char *texts; /* labels, one after the other */
    struct snapshot_guest guests[];
};

/* Objects and namespaces. */
struct object_block {
    atomic_uint references;
    uint64_t version;
    size_t n_objects, n_namespaces, n_drains;
    char *texts;
    struct snapshot_object *objects;
    const struct snapshot_object **pointers;
    struct snapshot_namespace *namespaces;
    struct snapshot_drain *drains;
};

struct snapshot_block {       /* the block behind a reader's pointer */
    struct snapshot snapshot; /* first */
    atomic_uint references;
    struct guest_block *guests;
    struct object_block *objects;
    struct incident_block *incidents;
    struct snapshot_node *nodes;
    char *node_texts;
    struct job_view **views;
    const struct snapshot_job **jobs; /* into the views */
    struct newest_block *newest;      /* likewise */
};

struct job_view {
    atomic_uint references;
    uint64_t version;
    struct snapshot_job job;
    char *metadata, *config, *selector, *volumes;
    char *source_address, *target_address, *decision, *eta_note, *error;
    struct rejections *rejections;
};

struct publisher {
    struct guest_block *guests;   /* of the newest version */
    struct object_block *objects; /* likewise */
    struct incident_block *incidents;
    struct newest_block *newest;
    /* Of the snapshot that is being made: jobs with a new view; another list of guests. */
    const struct snapshot_job **changed;
    size_t n_changed;
    bool has_new_guests;
};

struct publisher *publisher_new(struct err *err)
{
    struct publisher *p = calloc(1, sizeof *p);
    if (p == NULL)
        err_set(err, ERR_NOMEM, "out of memory: snapshots");
    return p;
}

static void guests_unref(struct guest_block *block)
{
    if (block == NULL || atomic_fetch_sub(&block->references, 1) != 1)
        return;
    free(block->texts);
    free(block);
}

static void objects_unref(struct object_block *block)
{
    if (block == NULL || atomic_fetch_sub(&block->references, 1) != 1)
        return;
    free(block->texts);
    free(block->objects);
    free(block->pointers);
    free(block->namespaces);
    free(block->drains);
    free(block);
}

void publisher_free(struct publisher *p)
{
    if (p == NULL)
        return;
    guests_unref(p->guests);
    objects_unref(p->objects);
    publish_drop_incidents(p->incidents);
    publish_drop_newest(p->newest);
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
    if (view == NULL || atomic_fetch_sub(&view->references, 1) != 1)
        return;
    free(view->metadata);
    free(view->config);
    free(view->selector);
    free(view->volumes);
    free(view->source_address);
    free(view->target_address);
    free(view->decision);
    free(view->eta_note);
    free(view->error);
    free(view->rejections);
    verdict_rows_unref(view->job.result.verdict);
    free(view);
}

static void block_free(struct snapshot_block *block)
{
    guests_unref(block->guests);
    objects_unref(block->objects);
    publish_drop_incidents(block->incidents);
    publish_drop_newest(block->newest);
    for (size_t i = 0; block->views != NULL && i < block->snapshot.n_jobs; i++)
        publish_drop_view(block->views[i]);
    free(block->nodes);
    free(block->node_texts);
    free(block->views);
    free(block->jobs);
    free(block);
}

void snapshot_unref(const struct snapshot *snapshot)
{
    if (snapshot != NULL && atomic_fetch_sub(&block_of(snapshot)->references, 1) == 1)
        block_free(block_of(snapshot));
}

/* Copies a text to where the block keeps them; NULL stays NULL. */
static const char *keep(char **texts, const char *text)
{
    if (text == NULL)
        return NULL;
    size_t bytes = strlen(text) + 1;
    char *at = memcpy(*texts, text, bytes);
    *texts += bytes;
    return at;
}

static size_t bytes_of(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static void fill_place(const struct guest *guest, struct snapshot_guest *out)
{
    const struct domain *owner = guest->owner;
    const struct label *missing = NULL;
    TEXT_SET(out->node, owner->node->name);
    out->state = owner->state;
    out->reason = owner->reason;
    out->node_reachable = owner->node->connected;
    out->migratable = owner->migratable;
    out->pending_change = owner->pending_change;
    bool is_late = guest->change_due_ms > guest->change_since_ms;
    out->change_is_due = out->pending_change.is == PENDING_CHANGE_NOW || is_late;
    out->change_since_ms = is_late && out->pending_change.is == PENDING_CHANGE_SOON
                               ? guest->change_due_ms
                               : guest->change_since_ms;
    out->up = domain_is_up(owner);
    if (out->up) {
        launcher_pod(guest->name, guest->uuid, out->node, guest->stay_job, out->pod);
        launcher_uid(guest->uuid, out->node, guest->stay_job, out->pod_uid);
    }
    if (guest->settings != NULL &&
        !labels_cover(&owner->node->labels, &guest->settings->node_selector, &missing))
        (void)snprintf(out->unmet_selector, sizeof out->unmet_selector, "%.60s=%.30s", missing->key,
                       missing->value);
}

static void fill_guest(const struct fleet *f, const struct guest *guest, char **texts,
                       struct snapshot_guest *out)
{
    TEXT_SET(out->uuid, guest->uuid);
    TEXT_SET(out->name, guest->name);
    TEXT_SET(out->ns, guest->ns);
    TEXT_SET(out->job_uid, guest->newest_job);
    TEXT_SET(out->evacuation_node, guest->evacuation_node);
    out->state = HV_STATE_NONE;
    if (guest->owner != NULL)
        fill_place(guest, out);
    out->strategy = evacuation_strategy(f, guest);
    out->persistent = guest->persistent;
    out->memory_kib = guest->memory_kib;
    out->vcpus = guest->vcpus;
    out->seen_ms = guest->seen_wall_ms;
    out->first_seen_ms = guest->first_seen_wall_ms;
    out->here_since_ms = guest->stay_wall_ms != 0 ? guest->stay_wall_ms : guest->first_seen_wall_ms;
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain->mark != NULL && domain->mark->orphan)
            out->orphan = domain->mark->is;
    out->labels = keep(texts, guest->labels_json);
    out->settings = keep(texts, guest->settings_json);
}

int publish_guest_order(const void *a, const void *b)
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
        text_bytes += bytes_of(guest->labels_json) + bytes_of(guest->settings_json);
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
        fill_guest(f, guest, &texts, &block->guests[block->n++]);
    qsort(block->guests, block->n, sizeof block->guests[0], publish_guest_order);
    return block;
}

static bool take_guests(struct publisher *p, const struct fleet *f, struct snapshot_block *block)
{
    int64_t wall_ms = block->snapshot.wall_ms;
    if (p->guests == NULL || p->guests->version != f->guests_version) {
        struct guest_block *fresh = make_guests(f);
        if (fresh == NULL)
            return false;
        publish_since(p->guests != NULL ? p->guests->guests : NULL,
                      p->guests != NULL ? p->guests->n : 0, fresh->guests, fresh->n, wall_ms);
        guests_unref(p->guests);
        p->guests = fresh;
        p->has_new_guests = true;
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

static void fill_use(const struct fleet *f, const struct node *node, struct snapshot_node *out)
{
    out->outbound = node->outbound;
    out->inbound = node->inbound;
    out->running_kib = node->running.memory_kib;
    out->reserved_kib = node->reserved.memory_kib;
    out->running_vcpus = (unsigned)node->running.vcpus;
    out->reserved_vcpus = (unsigned)node->reserved.vcpus;
    for (const struct object *o = f->of_kind[OBJECT_DRAIN]; o != NULL; o = o->next)
        if (!drain_is_final(o->drain->state) && strcmp(o->drain->node, node->name) == 0)
            TEXT_SET(out->drain, o->name);
}

static bool take_nodes(const struct fleet *f, struct snapshot_block *block)
{
    size_t n = HASH_COUNT(f->nodes);
    size_t text_bytes = 1;
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next)
        text_bytes += bytes_of(node->shown.labels) + bytes_of(node->shown.taints);
    block->nodes = calloc(n + 1, sizeof *block->nodes);
    char *texts = block->node_texts = malloc(text_bytes);
    if (block->nodes == NULL || texts == NULL)
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
        out->guests = node->n_positions;
        out->cordoned = node->cordoned;
        out->labels = keep(&texts, node->shown.labels);
        out->taints = keep(&texts, node->shown.taints);
        fill_use(f, node, out);
    }
    qsort(block->nodes, n, sizeof *block->nodes, node_by_name);
    block->snapshot.nodes = block->nodes;
    block->snapshot.n_nodes = n;
    return true;
}

static char *json_text(struct json_object *take_value)
{
    OWNED(json_object) value = take_value;
    return value != NULL ? strdup(json_object_to_json_string(value)) : NULL;
}

static struct rejections *copy_rejections(const struct rejections *from)
{
    if (from == NULL)
        return NULL;
    size_t bytes = offsetof(struct rejections, list) + from->n * sizeof from->list[0];
    struct rejections *copy = malloc(bytes);
    return copy != NULL ? memcpy(copy, from, bytes) : NULL;
}

/* NULL for an empty text: most are. */
static char *own(const char *text)
{
    return text != NULL && text[0] != '\0' ? strdup(text) : NULL;
}

/* Few migrations have these; they are as long as they are. */
static void own_texts(struct job_view *view)
{
    struct snapshot_job *job = &view->job;
    job->stream.source_address = view->source_address = own(job->stream.source_address);
    job->stream.target_address = view->target_address = own(job->stream.target_address);
    job->monitor.decision_text = view->decision = own(job->monitor.decision_text);
    job->progress.eta_note = view->eta_note = own(job->progress.eta_note);
    job->result.error.text = view->error = own(job->result.error.text);
}

static struct job_view *make_view(const struct fleet *f, const struct job *job)
{
    struct job_view *view = calloc(1, sizeof *view);
    if (view == NULL)
        return NULL;
    atomic_init(&view->references, 1); /* the job's own */
    view->version = job->version;
    publish_job(f, job, &view->job);
    own_texts(view);
    view->metadata = job->request.metadata_json != NULL ? strdup(job->request.metadata_json) : NULL;
    bool has_config = job->epoch > 0 && !job_is_observed(job);
    view->config = has_config ? json_text(migration_config_json(&job->call.config)) : NULL;
    view->selector = json_text(labels_json(&job->request.added_selector));
    view->volumes = job->request.volumes_json != NULL ? strdup(job->request.volumes_json) : NULL;
    view->rejections = copy_rejections(job->placement.rejections);
    view->job.request.metadata_json = view->metadata;
    view->job.call.config_json = view->config;
    view->job.request.selector_json = view->selector;
    view->job.request.volumes_json = view->volumes;
    view->job.placement.rejections = view->rejections;
    view->job.result.verdict = verdict_rows_ref(job->result.verdict_rows);
    return view;
}

const struct snapshot_job *publish_view_job(const struct job_view *view)
{
    return view != NULL ? &view->job : NULL;
}

static struct job_view *view_of(struct publisher *p, const struct fleet *f, struct job *job)
{
    if (job->links.view == NULL || job->links.view->version != job->version) {
        struct job_view *fresh = make_view(f, job);
        if (fresh == NULL)
            return NULL;
        publish_drop_view(job->links.view);
        job->links.view = fresh;
        job->links.drop_view = publish_drop_view;
        p->changed[p->n_changed++] = &fresh->job;
    }
    atomic_fetch_add(&job->links.view->references, 1);
    return job->links.view;
}

static bool take_jobs(struct publisher *p, struct fleet *f, struct snapshot_block *block)
{
    size_t n = HASH_COUNT(f->jobs);
    block->views = calloc(n + 1, sizeof(struct job_view *));
    block->jobs = calloc(n + 1, sizeof(const struct snapshot_job *));
    p->changed = calloc(n + 1, sizeof(const struct snapshot_job *));
    p->n_changed = 0;
    if (block->views == NULL || block->jobs == NULL || p->changed == NULL)
        return false;
    for (struct job *job = f->jobs; job != NULL; job = job->hh.next) {
        struct job_view *view = view_of(p, f, job);
        if (view == NULL)
            return false;
        block->views[block->snapshot.n_jobs] = view;
        block->jobs[block->snapshot.n_jobs] = &view->job;
        block->snapshot.n_jobs++;
    }
    block->snapshot.jobs = block->jobs;
    return true;
}

static bool take_newest(struct publisher *p, struct fleet *f, struct snapshot_block *block)
{
    const struct newest_jobs from = {.guests = p->guests->guests,
                                     .n_guests = p->guests->n,
                                     .has_new_guests = p->has_new_guests,
                                     .changed = p->changed,
                                     .n_changed = p->n_changed};
    block->newest = publish_newest(&p->newest, f, &from);
    if (block->newest == NULL)
        return false;
    block->snapshot.newest = block->newest->jobs;
    p->has_new_guests = false;
    return true;
}

/* ---- objects and namespaces ---- */

static int object_order(const void *a, const void *b)
{
    const struct snapshot_object *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int order = strcmp(x->ns, y->ns);
    return order != 0 ? order : strcmp(x->name, y->name);
}

static int namespace_order(const void *a, const void *b)
{
    return strcmp(((const struct snapshot_namespace *)a)->name,
                  ((const struct snapshot_namespace *)b)->name);
}

static void fill_objects(const struct fleet *f, struct object_block *block, char *texts)
{
    for (const struct object *o = f->objects; o != NULL; o = o->hh.next) {
        struct snapshot_object *out = &block->objects[block->n_objects++];
        out->kind = o->kind;
        TEXT_SET(out->uid, o->uid);
        TEXT_SET(out->ns, o->ns);
        TEXT_SET(out->name, o->name);
        out->spec_json = keep(&texts, o->spec_json);
        out->metadata_json = keep(&texts, o->metadata_json);
        out->status_json = keep(&texts, o->status_json);
        out->created_ms = o->created_ms;
        out->resource_version = o->version;
    }
    qsort(block->objects, block->n_objects, sizeof block->objects[0], object_order);
    for (size_t i = 0; i < block->n_objects; i++)
        block->pointers[i] = &block->objects[i];
}

static void fill_namespaces(const struct fleet *f, struct object_block *block)
{
    for (const struct namespace *namespace = f->namespaces; namespace != NULL;
         namespace = namespace->hh.next) {
        struct snapshot_namespace *out = &block->namespaces[block->n_namespaces++];
        TEXT_SET(out->name, namespace->name);
        out->launchers = namespace->used.launchers;
        out->memory_kib = namespace->used.memory_kib;
        out->vcpus = namespace->used.vcpus;
    }
    qsort(block->namespaces, block->n_namespaces, sizeof block->namespaces[0], namespace_order);
}

static struct object_block *make_objects(const struct fleet *f)
{
    size_t text_bytes = 1;
    for (const struct object *o = f->objects; o != NULL; o = o->hh.next)
        text_bytes +=
            bytes_of(o->spec_json) + bytes_of(o->metadata_json) + bytes_of(o->status_json);
    struct object_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1);
    block->version = f->objects_version;
    block->texts = malloc(text_bytes);
    block->objects = calloc(HASH_COUNT(f->objects) + 1, sizeof *block->objects);
    block->pointers = calloc(HASH_COUNT(f->objects) + 1, sizeof(const struct snapshot_object *));
    block->namespaces = calloc(HASH_COUNT(f->namespaces) + 1, sizeof *block->namespaces);
    block->drains = publish_drains(f, &block->n_drains);
    if (block->texts == NULL || block->objects == NULL || block->pointers == NULL ||
        block->namespaces == NULL || block->drains == NULL) {
        objects_unref(block);
        return NULL;
    }
    fill_objects(f, block, block->texts);
    fill_namespaces(f, block);
    return block;
}

/* The usage of namespaces changes with every launcher, so it is as old as the newest job. */
static bool take_objects(struct publisher *p, const struct fleet *f, struct snapshot_block *block)
{
    struct object_block *fresh = make_objects(f);
    if (fresh == NULL)
        return false;
    objects_unref(p->objects);
    p->objects = fresh;
    atomic_fetch_add(&fresh->references, 1);
    block->objects = fresh;
    block->snapshot.objects = fresh->pointers;
    block->snapshot.n_objects = fresh->n_objects;
    block->snapshot.namespaces = fresh->namespaces;
    block->snapshot.n_namespaces = fresh->n_namespaces;
    block->snapshot.drains = fresh->drains;
    block->snapshot.n_drains = fresh->n_drains;
    for (const struct object *o = f->of_kind[OBJECT_DRAIN]; o != NULL; o = o->next)
        block->snapshot.drain_states[o->drain->state]++;
    return true;
}

static bool take_incidents(struct publisher *p, const struct fleet *f, struct snapshot_block *block)
{
    block->incidents = publish_incidents(&p->incidents, &f->incidents, &block->snapshot);
    return block->incidents != NULL;
}

static void take_slots(const struct fleet *f, struct snapshot *out)
{
    out->slots_used = f->busy_jobs;
    out->slots_fleet = f->config.parallel_per_fleet;
    out->slots_outbound = f->config.parallel_outbound_per_node;
    out->slots_inbound = f->config.parallel_inbound_per_node;
}

const struct snapshot *publish(struct publisher *p, struct fleet *f, int64_t wall_ms)
{
    struct snapshot_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1);
    block->snapshot.wall_ms = wall_ms;
    bool is_made = take_guests(p, f, block) && take_nodes(f, block) && take_jobs(p, f, block) &&
                   take_newest(p, f, block) && take_objects(p, f, block) &&
                   take_incidents(p, f, block);
    free(p->changed);
    p->changed = NULL;
    if (!is_made) {
        p->has_new_guests = true; /* which jobs changed is forgotten: look them all up */
        block_free(block);
        return NULL;
    }
    take_slots(f, &block->snapshot);
    block->snapshot.generation = f->version;
    return &block->snapshot;
}
