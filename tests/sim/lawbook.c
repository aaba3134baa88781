/* lawbook.c - see lawbook.h: notes, orders, the end. */
#include "tests/sim/lawbook.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/sim/lawbook_notes.h"

enum { STORE_EVERY = 16 }; /* publications between two looks into the store */

struct lawbook *lawbook_new(const struct lawbook_rules *rules, const struct lawbook_world *world,
                            struct store *store)
{
    struct lawbook *book = calloc(1, sizeof *book);
    if (book == NULL)
        abort();
    book->rules = *rules;
    book->world = *world;
    book->store = store;
    book->digest = 14695981039346656037u;
    return book;
}

static void forget_documents(struct lawbook *book)
{
    while (book->documents != NULL) {
        struct note_document *next = book->documents->next;
        free(book->documents->spec);
        free(book->documents);
        book->documents = next;
    }
}

void lawbook_reads(struct lawbook *book, struct store *store)
{
    book->store = store;
}

void lawbook_free(struct lawbook *book)
{
    if (book == NULL)
        return;
    struct note_job *job, *next_job;
    HASH_ITER(hh, book->jobs, job, next_job)
    {
        HASH_DEL(book->jobs, job);
        free(job);
    }
    struct note_guest *guest, *next_guest;
    HASH_ITER(hh, book->guests, guest, next_guest)
    {
        HASH_DEL(book->guests, guest);
        free(guest);
    }
    forget_documents(book);
    book->world.drop(book->before);
    free(book);
}

void lawbook_broken(struct lawbook *book, enum law law, const char *fmt, ...)
{
    if (book->law != LAW_NONE)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(book->text, sizeof book->text, fmt, args);
    va_end(args);
    book->law = law;
}

enum law lawbook_verdict(const struct lawbook *book, const char **out_text)
{
    *out_text = book->text;
    return book->law;
}

uint64_t lawbook_digest(const struct lawbook *book)
{
    return book->digest;
}

uint64_t lawbook_checks(const struct lawbook *book, enum law law)
{
    return book->checks[law];
}

/* ---- finding ---- */

bool holds_slot_at_target(const struct snapshot_job *job)
{
    return !phase_is_final(job->phase) && job->placement.launcher >= LAUNCHER_SCHEDULED &&
           job->placement.launcher <= LAUNCHER_READY && job->target[0] != '\0';
}

struct note_job *note_of(struct lawbook *book, const char *uid)
{
    struct note_job *note = NULL;
    HASH_FIND_STR(book->jobs, uid, note);
    return note;
}

struct note_guest *guest_of(struct lawbook *book, const char *uuid)
{
    struct note_guest *note = NULL;
    HASH_FIND_STR(book->guests, uuid, note);
    return note;
}

const struct snapshot_node *node_in(const struct snapshot *s, const char *name)
{
    for (size_t i = 0; s != NULL && i < s->n_nodes; i++)
        if (strcmp(s->nodes[i].name, name) == 0)
            return &s->nodes[i];
    return NULL;
}

const struct snapshot_guest *guest_in(const struct snapshot *s, const char *uuid)
{
    for (size_t i = 0; s != NULL && i < s->n_guests; i++)
        if (strcmp(s->guests[i].uuid, uuid) == 0)
            return &s->guests[i];
    return NULL;
}

const struct snapshot_job *job_in(const struct snapshot *s, const char *uid)
{
    for (size_t i = 0; s != NULL && i < s->n_jobs; i++)
        if (strcmp(s->jobs[i]->uid, uid) == 0)
            return s->jobs[i];
    return NULL;
}

/* ---- what there is and what was asked ---- */

void lawbook_guest(struct lawbook *book, const char *uuid, const char *ns, const char *name,
                   uint64_t memory_kib, unsigned vcpus)
{
    struct note_guest *note = calloc(1, sizeof *note);
    if (note == NULL)
        abort();
    TEXT_SET(note->uuid, uuid);
    TEXT_SET(note->ns, ns);
    TEXT_SET(note->name, name);
    note->memory_kib = memory_kib;
    note->vcpus = vcpus;
    HASH_ADD_STR(book->guests, uuid, note);
}

void lawbook_may_shut_down(struct lawbook *book, const char *uuid)
{
    struct note_guest *note = guest_of(book, uuid);
    if (note != NULL)
        note->may_shut_down = true;
}

void lawbook_document(struct lawbook *book, enum object_kind kind, const char *ns, const char *name)
{
    for (struct note_document *d = book->documents; d != NULL; d = d->next)
        if (d->kind == kind && strcmp(d->ns, ns) == 0 && strcmp(d->name, name) == 0)
            d->touched = true;
}

void lawbook_unmarks(struct lawbook *book, const char *uuid)
{
    for (struct note_guest *note = book->guests; note != NULL; note = note->hh.next)
        if (uuid == NULL || strcmp(note->uuid, uuid) == 0)
            note->unmarked = true;
}

/* ---- what happens ---- */

static void mix(struct lawbook *book, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        book->digest = (book->digest ^ bytes[i]) * 1099511628211u;
}

static void digest(struct lawbook *book, const struct snapshot *now)
{
    mix(book, &now->generation, sizeof now->generation);
    mix(book, &now->wall_ms, sizeof now->wall_ms);
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (phase_is_final(job->phase))
            continue;
        mix(book, job->uid, strlen(job->uid));
        mix(book, job->target, strlen(job->target));
        mix(book, &job->phase, sizeof job->phase);
        mix(book, &job->wait.pending, sizeof job->wait.pending);
    }
}

static struct note_job *note_job(struct lawbook *book, const struct snapshot_job *job)
{
    struct note_job *note = note_of(book, job->uid);
    if (note == NULL) {
        note = calloc(1, sizeof *note);
        if (note == NULL)
            abort();
        TEXT_SET(note->uid, job->uid);
        TEXT_SET(note->name, job->name);
        HASH_ADD_STR(book->jobs, uid, note);
    }
    return note;
}

/* Jobs that did not change are shared by publications. Both are in the order of creation. */
static bool is_shared(const struct snapshot *before, const struct snapshot_job *job, size_t *at)
{
    for (size_t i = *at; before != NULL && i < before->n_jobs; i++)
        if (before->jobs[i] == job) {
            *at = i + 1;
            return true;
        }
    return false;
}

static void remember(struct lawbook *book, const struct snapshot *now)
{
    size_t at = 0;
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (is_shared(book->before, job, &at))
            continue;
        struct note_job *note = note_job(book, job);
        bool goes_on = note->pending == job->wait.pending && note->since_ms == job->wait.since_ms;
        note->final = phase_is_final(job->phase);
        note->phase = job->phase;
        note->outcome = job->result.outcome;
        note->guest_at = job->resolution.guest_at;
        note->ended_ms = job->times.ended_ms;
        if (job->wait.until_ms != 0 || !goes_on)
            note->until_ms = job->wait.until_ms;
        note->pending = job->wait.pending;
        note->since_ms = job->wait.since_ms;
        TEXT_SET(note->target, holds_slot_at_target(job) ? job->target : "");
    }
    book->world.drop(book->before);
    book->before = book->world.keep(now);
}

/* None may be shut down, IfPossible when it cannot be moved; one that is not set anywhere too,
 * since a descheduler's eviction takes it for None. Nobody else. */
static bool strategy_permits(const struct snapshot_guest *guest)
{
    bool movable = migratable_first_live(&guest->migratable) == UNMOVABLE_COUNT;
    return guest->strategy == STRATEGY_NONE || guest->strategy == STRATEGY_UNSET ||
           (guest->strategy == STRATEGY_LIVE_MIGRATE_IF_POSSIBLE && !movable);
}

/* Shut down against its strategy as it was shown before the order, and as it is shown after it. */
static void law_of_strategy(struct lawbook *book, const struct snapshot *now)
{
    for (struct note_guest *note = book->guests; note != NULL; note = note->hh.next) {
        const struct snapshot_guest *guest = note->denied ? guest_in(now, note->uuid) : NULL;
        if (guest != NULL && !strategy_permits(guest))
            lawbook_broken(book, LAW_GUESTS_LIVE, "%s is shut down, its strategy is %s",
                           guest->name, strategy_name(guest->strategy));
        note->denied = false;
    }
}

void lawbook_see(struct lawbook *book, const struct snapshot *now)
{
    if (book->law != LAW_NONE)
        return;
    bool new_job = book->before == NULL || now->n_jobs != book->before->n_jobs;
    digest(book, now);
    law_limits(book, now);
    law_one_job(book, now);
    law_one_promise(book, now);
    law_gives_reason(book, now);
    law_order(book, now);
    law_may_come(book, now);
    law_of_strategy(book, now);
    law_alive(book, now);
    if (book->fresh)
        law_after_crash(book, now);
    if (book->fresh || new_job || book->seen % STORE_EVERY == 0)
        law_nothing_lost(book, now);
    if (book->world.violations(book->world.ctx) != 0)
        lawbook_broken(book, LAW_GUESTS_LIVE, "a guest has two running copies");
    if (book->fresh)
        forget_documents(book);
    book->fresh = false;
    book->seen++;
    remember(book, now);
}

/* ---- orders ---- */

struct permission {
    const char *node;
    bool given;
};

static bool find_drain(void *ctx, const struct store_object *row)
{
    struct permission *permission = ctx;
    struct err err = {0};
    if (strcmp(row->kind, object_kind_name(OBJECT_DRAIN)) != 0)
        return true;
    OWNED(json_object) spec = json_parse(row->spec_json, strlen(row->spec_json), "spec", &err);
    const char *node = "";
    bool shutdown = false;
    (void)json_get_text(spec, "nodeName", "", &node, &err);
    (void)json_get_bool(spec, "shutdown", false, &shutdown, &err);
    if (shutdown && strcmp(node, permission->node) == 0)
        permission->given = true;
    return !permission->given;
}

static void law_of_shutdown(struct lawbook *book, const struct hv_request *request)
{
    struct note_guest *note = guest_of(book, request->guest);
    const struct snapshot_guest *guest = guest_in(book->before, request->guest);
    struct permission permission = {request->host, note != NULL && note->may_shut_down};
    struct err err = {0};
    book->checks[LAW_GUESTS_LIVE]++;
    if (!permission.given &&
        !book->store->ops->each_object(book->store, find_drain, &permission, &err))
        lawbook_broken(book, LAW_GUESTS_LIVE, "the store cannot be read: %s", err.text);
    if (!permission.given)
        lawbook_broken(book, LAW_GUESTS_LIVE, "%s on %s is shut down and nobody asked for that",
                       note != NULL ? note->name : request->guest, request->host);
    if (guest != NULL && note != NULL)
        note->denied = !strategy_permits(guest); /* it may have changed since: see() judges */
}

void lawbook_order(struct lawbook *book, const struct hv_request *request)
{
    struct note_guest *note = guest_of(book, request->guest);
    if (book->law != LAW_NONE)
        return;
    if (request->call == HV_CALL_SHUTDOWN) {
        law_of_shutdown(book, request);
        lawbook_may_die(book, request->guest);
    }
    if (request->call != HV_CALL_MIGRATE || note == NULL)
        return;
    note->ordered_bps = request->with.migrate.bandwidth_mibs << 20;
    note->ordered[0] = '\0';
    for (size_t i = 0; book->before != NULL && i < book->before->n_jobs; i++) {
        const struct snapshot_job *job = book->before->jobs[i];
        if (!phase_is_final(job->phase) && strcmp(job->guest_uuid, note->uuid) == 0)
            TEXT_SET(note->ordered, job->uid);
    }
    if (book->rules.bandwidth != 0 && note->ordered_bps == 0)
        lawbook_broken(book, LAW_LIMITS, "%s is moved without a limit, nodes have a budget",
                       note->name);
}

/* ---- the end ---- */

/* A place that somebody holds whose outcome no host can prove is waited for a whole day. */
static bool waits_for_slot(const struct snapshot_job *job)
{
    return job->wait.pending == PENDING_SLOT_SOURCE || job->wait.pending == PENDING_SLOT_TARGET ||
           job->wait.pending == PENDING_BANDWIDTH;
}

/* An outcome that no host can prove, or a post-copy that only an operator can recover. */
static bool is_stuck(const struct snapshot_job *job)
{
    bool given_up =
        job->wait.pending == PENDING_RECOVERY &&
        (job->recovery.state == RECOVERY_EXHAUSTED || job->recovery.state == RECOVERY_BLIND);
    return (job->wait.pending == PENDING_UNPROVEN || given_up) && job->wait.reason[0] != '\0';
}

/* Whoever is left must be such a one and say so, or wait for such a one's place. */
static void law_of_jobs_end(struct lawbook *book, int64_t asked_before_ms)
{
    bool stuck = false;
    for (size_t i = 0; i < book->before->n_jobs; i++)
        stuck = stuck || is_stuck(book->before->jobs[i]);
    for (size_t i = 0; i < book->before->n_jobs; i++) {
        const struct snapshot_job *job = book->before->jobs[i];
        book->checks[LAW_ENDS]++;
        if (!phase_is_final(job->phase) && !is_stuck(job) &&
            job->times.created_ms < asked_before_ms && !(stuck && waits_for_slot(job)))
            lawbook_broken(book, LAW_ENDS, "job %s of %s never ended: %s, waits for %s: %s",
                           job->name, job->guest_name, phase_name(job->phase),
                           pending_name(job->wait.pending), job->wait.reason);
    }
}

static bool has_unfinished_job(const struct snapshot *s, const char *uuid)
{
    for (size_t i = 0; i < s->n_jobs; i++)
        if (strcmp(s->jobs[i]->guest_uuid, uuid) == 0 && !phase_is_final(s->jobs[i]->phase))
            return true;
    return false;
}

static void law_of_drain_guest(struct lawbook *book, const char *drain, const char *drain_state,
                               struct json_object *guest, bool *out_goes_on)
{
    const char *state = "", *reason = "", *uuid = "", *name = "";
    struct err err = {0};
    (void)json_get_text(guest, "state", "", &state, &err);
    (void)json_get_text(guest, "reason", "", &reason, &err);
    (void)json_get_text(guest, "uuid", "", &uuid, &err);
    (void)json_get_text(guest, "name", "", &name, &err);
    if (strcmp(state, "Stopping") == 0)
        *out_goes_on = true; /* it was asked to shut down, and is asked again every minute */
    if ((strcmp(state, "Blocked") == 0 || strcmp(state, "Failed") == 0) && reason[0] == '\0')
        lawbook_broken(book, LAW_ENDS, "drain %s: %s is %s and nobody says why", drain, name,
                       state);
    if (strcmp(drain_state, "Blocked") == 0 && strcmp(state, "Moved") != 0 &&
        (strcmp(state, "Moving") == 0 || has_unfinished_job(book->before, uuid)))
        lawbook_broken(book, LAW_ENDS, "drain %s is Blocked, but %s still moves", drain, name);
}

static void law_of_drain_end(struct lawbook *book, const struct snapshot_object *drain)
{
    const char *state = "", *node_name = "";
    const char *status_json = drain->status_json != NULL ? drain->status_json : "{}";
    struct err err = {0};
    OWNED(json_object) status = json_parse(status_json, strlen(status_json), "status", &err);
    (void)json_get_text(status, "state", "", &state, &err);
    struct json_object *guests = json_at(status, "guests");
    size_t n = guests != NULL ? json_object_array_length(guests) : 0;
    bool waits = false;
    for (size_t i = 0; i < n; i++) {
        struct json_object *guest = json_object_array_get_idx(guests, i);
        const char *uuid = "";
        (void)json_get_text(guest, "uuid", "", &uuid, &err);
        waits = waits || has_unfinished_job(book->before, uuid);
        law_of_drain_guest(book, drain->name, state, guest, &waits);
    }
    book->checks[LAW_ENDS]++;
    OWNED(json_object) spec = json_parse(drain->spec_json, strlen(drain->spec_json), "spec", &err);
    (void)json_get_text(spec, "nodeName", "", &node_name, &err);
    const struct snapshot_node *node = node_in(book->before, node_name);
    if (strcmp(state, "Draining") == 0 && !waits)
        lawbook_broken(book, LAW_ENDS,
                       "drain %s of %s is %s, but no job of it goes on (connected %d settled %d "
                       "inbound %u): %.600s",
                       drain->name, node_name, state, node != NULL && node->connected,
                       node != NULL && node->settled, node != NULL ? node->inbound : 0,
                       status_json);
    if (strcmp(state, "Blocked") == 0 && n == 0)
        lawbook_broken(book, LAW_ENDS, "drain %s is Blocked by nobody", drain->name);
}

void lawbook_close(struct lawbook *book, int64_t asked_before_ms)
{
    if (book->law != LAW_NONE || book->before == NULL)
        return;
    law_of_jobs_end(book, asked_before_ms);
    for (size_t i = 0; i < book->before->n_objects; i++)
        if (book->before->objects[i]->kind == OBJECT_DRAIN)
            law_of_drain_end(book, book->before->objects[i]);
    law_nothing_lost(book, book->before);
    law_kept(book);
}
