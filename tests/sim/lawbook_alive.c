/* lawbook_alive.c - no guest dies of Ferry: see lawbook_notes.h. */
#include <string.h>

#include "tests/sim/lawbook_notes.h"

void lawbook_may_die(struct lawbook *book, const char *uuid)
{
    struct note_guest *note = guest_of(book, uuid);
    if (note != NULL)
        note->may_die = true;
}

void lawbook_is_defined(struct lawbook *book, const char *uuid)
{
    struct note_guest *note = guest_of(book, uuid);
    if (note != NULL)
        note->defined = true;
}

/* Between two moves: while it moves its definition does too. */
static void stays_defined(struct lawbook *book, const struct note_guest *note,
                          const struct snapshot *now)
{
    for (size_t i = 0; i < now->n_jobs; i++)
        if (!phase_is_final(now->jobs[i]->phase) &&
            strcmp(now->jobs[i]->guest_uuid, note->uuid) == 0)
            return;
    if (!note->defined || note->may_die)
        return;
    book->checks[LAW_DEFINED]++;
    if (!book->world.is_defined(book->world.ctx, note->uuid))
        lawbook_broken(book, LAW_DEFINED, "%s was defined, now it only runs", note->name);
}

static void end_is_true(struct lawbook *book, const struct snapshot_job *job)
{
    const struct note_job *before = note_of(book, job->uid);
    const struct note_guest *guest = guest_of(book, job->guest_uuid);
    bool lost =
        job->result.outcome == OUTCOME_LOST || job->result.outcome == OUTCOME_IRRECOVERABLE ||
        job->resolution.guest_at == GUEST_AT_BROKEN || job->resolution.guest_at == GUEST_AT_LOST;
    if (!phase_is_final(job->phase) || (before != NULL && before->final) || guest == NULL)
        return;
    book->checks[LAW_HALVES]++;
    if (lost && !guest->may_die)
        lawbook_broken(book, LAW_HALVES, "job %s says of %s %s (%s), but nothing killed it",
                       job->name, guest->name, outcome_name(job->result.outcome),
                       job->result.failure_reason);
}

void law_alive(struct lawbook *book, const struct snapshot *now)
{
    for (const struct note_guest *note = book->guests; note != NULL; note = note->hh.next)
        if (!note->may_die && book->world.host_of(book->world.ctx, note->uuid) == NULL)
            lawbook_broken(book, LAW_GUESTS_LIVE, "%s is nowhere, and nothing killed it",
                           note->name);
    for (const struct note_guest *note = book->guests; note != NULL; note = note->hh.next)
        stays_defined(book, note, now);
    for (size_t i = 0; i < now->n_jobs; i++)
        end_is_true(book, now->jobs[i]);
}
