/* lawbook_lost.c - nothing is lost: what is published is in the store at that moment, what was in
 * the store when Ferry died is there in its next life, and what ended stays as it ended. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/sim/lawbook_notes.h"

enum { SOON_MS = 2000 };

struct reading {
    struct lawbook *book;
    const struct snapshot *now;
    size_t documents, jobs; /* that are shown */
};

static void read_mark(const char *status_json, char out_mark[static HV_HOST_MAX])
{
    const char *mark = "";
    struct err err = {0};
    OWNED(json_object) status = status_json != NULL && status_json[0] != '\0'
                                    ? json_parse(status_json, strlen(status_json), "status", &err)
                                    : NULL;
    (void)json_get_text(status, "evacuationNodeName", "", &mark, &err);
    (void)text_copy(out_mark, HV_HOST_MAX, mark);
}

/* ---- jobs ---- */

static void job_is_as_shown(struct lawbook *book, const struct store_job *row,
                            const struct snapshot_job *job)
{
    if (strcmp(row->phase, phase_name(job->phase)) != 0 ||
        strcmp(row->result.outcome, outcome_name(job->result.outcome)) != 0 ||
        strcmp(row->target, job->target) != 0 ||
        (!phase_is_final(job->phase) && /* its row then says what it waited for at the end */
         strcmp(row->wait.pending, pending_name(job->wait.pending)) != 0))
        lawbook_broken(book, LAW_NOTHING_LOST,
                       "job %s is shown as %s/%s to '%s', waits for '%s'; stored as %s/%s to '%s', "
                       "waits for '%s'",
                       job->name, phase_name(job->phase), outcome_name(job->result.outcome),
                       job->target, pending_name(job->wait.pending), row->phase,
                       row->result.outcome, row->target, row->wait.pending);
}

static void count_unfinished(struct lawbook *book, const struct store_job *row)
{
    struct note_guest *guest = guest_of(book, row->guest_uuid);
    if (row->result.outcome[0] == '\0' && guest != NULL && ++guest->unfinished > 1)
        lawbook_broken(book, LAW_ONE_JOB, "%s has two unfinished jobs in the store, %s is one",
                       row->guest_name, row->name);
}

static bool compare_job(void *ctx, const struct store_job *row)
{
    struct reading *reading = ctx;
    struct lawbook *book = reading->book;
    const struct snapshot_job *job = reading->now != NULL ? job_in(reading->now, row->uid) : NULL;
    struct note_job *note = note_of(book, row->uid);
    if (note != NULL)
        note->stored = true;
    count_unfinished(book, row);
    reading->jobs += job != NULL;
    if (job != NULL)
        job_is_as_shown(book, row, job);
    else if (reading->now != NULL && row->result.outcome[0] == '\0')
        lawbook_broken(book, LAW_NOTHING_LOST, "job %s is stored as %s and not shown", row->name,
                       row->phase);
    if (note != NULL && note->final &&
        (strcmp(row->result.outcome, outcome_name(note->outcome)) != 0 ||
         row->times.ended_ms != note->ended_ms ||
         strcmp(row->resolution.guest_at, guest_at_name(note->guest_at)) != 0))
        lawbook_broken(book, LAW_NOTHING_LOST, "job %s ended as %s (%s), now it is '%s' (%s)",
                       row->name, outcome_name(note->outcome), guest_at_name(note->guest_at),
                       row->result.outcome, row->resolution.guest_at);
    return true;
}

static void compare_jobs(struct lawbook *book, const struct snapshot *now)
{
    struct reading reading = {.book = book, .now = now};
    struct err err = {0};
    for (struct note_job *note = book->jobs; note != NULL; note = note->hh.next)
        note->stored = false;
    for (struct note_guest *guest = book->guests; guest != NULL; guest = guest->hh.next)
        guest->unfinished = 0;
    if (!book->store->ops->each_job(book->store, false, compare_job, &reading, &err))
        lawbook_broken(book, LAW_NOTHING_LOST, "the store cannot be read: %s", err.text);
    if (now != NULL && reading.jobs != now->n_jobs)
        lawbook_broken(book, LAW_NOTHING_LOST, "%zu jobs are shown, %zu of them are stored",
                       now->n_jobs, reading.jobs);
    for (struct note_job *note = book->jobs; note != NULL; note = note->hh.next)
        if (!note->stored)
            lawbook_broken(book, LAW_NOTHING_LOST, "job %s was accepted and is not stored",
                           note->name);
}

static void final_jobs_stay(struct lawbook *book, const struct snapshot *now)
{
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        const struct note_job *note = note_of(book, job->uid);
        if (note != NULL && note->final &&
            (note->phase != job->phase || note->outcome != job->result.outcome ||
             note->guest_at != job->resolution.guest_at || note->ended_ms != job->times.ended_ms))
            lawbook_broken(book, LAW_NOTHING_LOST, "job %s had ended as %s, now it is %s/%s",
                           job->name, outcome_name(note->outcome), phase_name(job->phase),
                           outcome_name(job->result.outcome));
    }
}

void law_kept(struct lawbook *book)
{
    compare_jobs(book, book->before);
}

/* ---- documents and marks ---- */

static const struct snapshot_object *object_in(const struct snapshot *s, const char *kind,
                                               const char *ns, const char *name)
{
    for (size_t i = 0; i < s->n_objects; i++)
        if (strcmp(object_kind_name(s->objects[i]->kind), kind) == 0 &&
            strcmp(s->objects[i]->ns, ns) == 0 && strcmp(s->objects[i]->name, name) == 0)
            return s->objects[i];
    return NULL;
}

static void mark_is_stored(struct lawbook *book, const struct snapshot *now,
                           const struct store_object *row)
{
    char mark[HV_HOST_MAX];
    if (strcmp(row->kind, object_kind_name(OBJECT_GUEST)) != 0)
        return;
    read_mark(row->status_json, mark);
    const struct snapshot_guest *guest = snapshot_find_guest(now, row->ns, row->name);
    if (guest != NULL && strcmp(guest->evacuation_node, mark) != 0)
        lawbook_broken(book, LAW_NOTHING_LOST, "%s is marked to leave '%s', stored is '%s'",
                       guest->name, guest->evacuation_node, mark);
}

static bool compare_object(void *ctx, const struct store_object *row)
{
    struct reading *reading = ctx;
    const struct snapshot_object *object = object_in(reading->now, row->kind, row->ns, row->name);
    const char *status = object != NULL && object->status_json != NULL ? object->status_json : "";
    reading->documents++;
    if (object == NULL)
        lawbook_broken(reading->book, LAW_NOTHING_LOST, "%s %s is stored and not shown", row->kind,
                       row->name);
    else if (strcmp(object->spec_json, row->spec_json) != 0 ||
             strcmp(status, row->status_json) != 0)
        lawbook_broken(reading->book, LAW_NOTHING_LOST,
                       "%s %s is shown as %.200s %.200s and stored as %.200s %.200s", row->kind,
                       row->name, object->spec_json, status, row->spec_json, row->status_json);
    mark_is_stored(reading->book, reading->now, row);
    return true;
}

static void marked_have_documents(struct lawbook *book, const struct snapshot *now)
{
    for (size_t i = 0; i < now->n_guests; i++) {
        const struct snapshot_guest *guest = &now->guests[i];
        if (guest->evacuation_node[0] != '\0' &&
            object_in(now, object_kind_name(OBJECT_GUEST), guest->ns, guest->name) == NULL)
            lawbook_broken(book, LAW_NOTHING_LOST, "%s is marked and no document says so",
                           guest->name);
    }
}

void law_nothing_lost(struct lawbook *book, const struct snapshot *now)
{
    struct reading reading = {.book = book, .now = now};
    struct err err = {0};
    book->checks[LAW_NOTHING_LOST]++;
    final_jobs_stay(book, now);
    compare_jobs(book, now);
    if (!book->store->ops->each_object(book->store, compare_object, &reading, &err))
        lawbook_broken(book, LAW_NOTHING_LOST, "the store cannot be read: %s", err.text);
    if (reading.documents != now->n_objects)
        lawbook_broken(book, LAW_NOTHING_LOST, "%zu documents are shown, %zu are stored",
                       now->n_objects, reading.documents);
    marked_have_documents(book, now);
}

/* ---- across a crash ---- */

static bool keep_document(void *ctx, const struct store_object *row)
{
    struct lawbook *book = ctx;
    struct note_document *note = calloc(1, sizeof *note);
    if (note == NULL)
        abort();
    note->kind = object_kind_from_name(row->kind);
    TEXT_SET(note->ns, row->ns);
    TEXT_SET(note->name, row->name);
    note->spec = strdup(row->spec_json);
    note->ours = strncmp(row->requester, "ferry:", 6) == 0;
    read_mark(row->status_json, note->mark);
    note->next = book->documents;
    book->documents = note;
    return true;
}

/* What is in the store now is all that the next life has. */
void lawbook_crashed(struct lawbook *book)
{
    struct err err = {0};
    if (book->law != LAW_NONE)
        return;
    compare_jobs(book, NULL);
    while (book->documents != NULL) { /* of a life in which nothing was seen */
        struct note_document *next = book->documents->next;
        free(book->documents->spec);
        free(book->documents);
        book->documents = next;
    }
    if (!book->store->ops->each_object(book->store, keep_document, book, &err))
        lawbook_broken(book, LAW_NOTHING_LOST, "the store cannot be read: %s", err.text);
    for (struct note_guest *note = book->guests; note != NULL; note = note->hh.next)
        note->unmarked = false;
    book->fresh = true;
}

/* A mark goes with its drain, whose deadline may have passed while nothing could be stored. */
static bool drain_ended(const struct lawbook *book, const struct snapshot *now, const char *node)
{
    const struct snapshot_node *was = node_in(book->before, node), *is = node_in(now, node);
    return was != NULL && is != NULL && strcmp(was->drain, is->drain) != 0;
}

void law_after_crash(struct lawbook *book, const struct snapshot *now)
{
    bool soon = book->before != NULL && now->wall_ms - book->before->wall_ms < SOON_MS;
    for (const struct note_document *d = book->documents; d != NULL; d = d->next) {
        const struct snapshot_object *object =
            object_in(now, object_kind_name(d->kind), d->ns, d->name);
        /* Ferry itself lifts cordons and marks. */
        bool plain = d->kind == OBJECT_POLICY || d->kind == OBJECT_QUOTA ||
                     d->kind == OBJECT_NAMESPACE || d->kind == OBJECT_DRAIN;
        if (d->touched)
            continue;
        if (object == NULL && !d->ours)
            lawbook_broken(book, LAW_NOTHING_LOST, "%s %s did not outlive the crash",
                           object_kind_name(d->kind), d->name);
        if (object != NULL && plain && strcmp(object->spec_json, d->spec) != 0)
            lawbook_broken(book, LAW_NOTHING_LOST, "%s %s came back from the crash as %.200s",
                           object_kind_name(d->kind), d->name, object->spec_json);
        const struct snapshot_guest *guest = snapshot_find_guest(now, d->ns, d->name);
        const struct note_guest *note = guest != NULL ? guest_of(book, guest->uuid) : NULL;
        if (soon && d->kind == OBJECT_GUEST && d->mark[0] != '\0' && note != NULL &&
            !note->unmarked && !drain_ended(book, now, d->mark) &&
            strcmp(guest->node, d->mark) == 0 && strcmp(guest->evacuation_node, d->mark) != 0)
            lawbook_broken(book, LAW_NOTHING_LOST, "the mark of %s did not outlive the crash",
                           d->name);
    }
}
