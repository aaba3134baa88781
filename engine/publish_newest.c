/* publish_newest.c - see publish.h: which job a guest shows. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/publish.h"

void publish_drop_newest(struct newest_block *block)
{
    if (block != NULL && atomic_fetch_sub(&block->references, 1) == 1)
        free(block);
}

static struct newest_block *block_new(size_t n)
{
    struct newest_block *block = calloc(1, sizeof *block + n * sizeof block->jobs[0]);
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1); /* of *kept */
    block->n = n;
    return block;
}

static const struct snapshot_job *job_of(struct fleet *f, const struct snapshot_guest *guest)
{
    const struct job *job = guest->job_uid[0] != '\0' ? fleet_job(f, guest->job_uid) : NULL;
    return job != NULL ? publish_view_job(job->links.view) : NULL;
}

static struct newest_block *find_all(struct fleet *f, const struct newest_jobs *from)
{
    struct newest_block *block = block_new(from->n_guests);
    for (size_t i = 0; block != NULL && i < from->n_guests; i++)
        block->jobs[i] = job_of(f, &from->guests[i]);
    return block;
}

/* Guests of one name differ by their uuid: the key has it. */
static const struct snapshot_guest *guest_of(const struct newest_jobs *from,
                                             const struct snapshot_job *job)
{
    struct snapshot_guest key = {.name = ""};
    TEXT_SET(key.ns, job->ns);
    TEXT_SET(key.name, job->guest_name);
    TEXT_SET(key.uuid, job->guest_uuid);
    return bsearch(&key, from->guests, from->n_guests, sizeof key, publish_guest_order);
}

static struct newest_block *change_some(const struct newest_block *old,
                                        const struct newest_jobs *from)
{
    struct newest_block *block = block_new(old->n);
    if (block == NULL)
        return NULL;
    memcpy(block->jobs, old->jobs, old->n * sizeof old->jobs[0]);
    for (size_t i = 0; i < from->n_changed; i++) {
        const struct snapshot_guest *guest = guest_of(from, from->changed[i]);
        if (guest != NULL && strcmp(guest->job_uid, from->changed[i]->uid) == 0)
            block->jobs[guest - from->guests] = from->changed[i];
    }
    return block;
}

struct newest_block *publish_newest(struct newest_block **kept, struct fleet *f,
                                    const struct newest_jobs *from)
{
    if (*kept == NULL || from->has_new_guests || from->n_changed > 0) {
        struct newest_block *fresh =
            *kept == NULL || from->has_new_guests ? find_all(f, from) : change_some(*kept, from);
        if (fresh == NULL)
            return NULL;
        publish_drop_newest(*kept);
        *kept = fresh;
    }
    atomic_fetch_add(&(*kept)->references, 1);
    return *kept;
}
