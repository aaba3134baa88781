/* list_keep.c - see list_keep.h. */
#include "exporter/api/list_keep.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

struct kept {
    const struct versions *versions; /* of its snapshot; NULL: free */
    uint64_t number;
    unsigned readers;
    bool is_paged, was_resumed; /* pages may follow; one did */
    int64_t used_ms;
};

struct list_keep {
    uint64_t id;
    pthread_mutex_t lock; /* the rest */
    uint64_t newest;      /* number */
    struct kept kept[LIST_KEEP_MAX];
};

struct list_keep *list_keep_new(struct err *err)
{
    struct list_keep *keep = calloc(1, sizeof *keep);
    if (keep == NULL || getrandom(&keep->id, sizeof keep->id, 0) != sizeof keep->id) {
        free(keep);
        (void)err_set(err, ERR_NOMEM, "no memory for lists");
        return NULL;
    }
    (void)pthread_mutex_init(&keep->lock, NULL);
    return keep;
}

static void drop(struct kept *kept)
{
    versions_unref(kept->versions);
    *kept = (struct kept){0};
}

void list_keep_free(struct list_keep *keep)
{
    if (keep == NULL)
        return;
    for (size_t i = 0; i < LIST_KEEP_MAX; i++)
        drop(&keep->kept[i]);
    (void)pthread_mutex_destroy(&keep->lock);
    free(keep);
}

uint64_t list_keep_id(const struct list_keep *keep)
{
    return keep->id;
}

/* Guests and nodes are copied for each snapshot in which one has changed; jobs are shared by those
 * in which they are the same. */
static size_t room_for(const struct snapshot *s)
{
    size_t bytes = s->n_guests * sizeof s->guests[0] + s->n_nodes * sizeof s->nodes[0] +
                   s->n_jobs * 2 * sizeof s->jobs[0] + s->n_objects * sizeof *s->objects[0] + 1;
    size_t n = LIST_KEEP_BYTES / bytes;
    return n < LIST_KEEP_MIN ? LIST_KEEP_MIN : n > LIST_KEEP_MAX ? LIST_KEEP_MAX : n;
}

static struct kept *find(struct list_keep *keep, uint64_t number)
{
    for (size_t i = 0; i < LIST_KEEP_MAX; i++)
        if (keep->kept[i].versions != NULL && keep->kept[i].number == number)
            return &keep->kept[i];
    return NULL;
}

static struct kept *find_snapshot(struct list_keep *keep, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < LIST_KEEP_MAX; i++)
        if (keep->kept[i].versions != NULL && keep->kept[i].versions->snapshot == snapshot)
            return &keep->kept[i];
    return NULL;
}

/* Is a to be given up before b (NULL: none)? */
static bool goes_before(const struct kept *a, const struct kept *b)
{
    if (a->readers > 0)
        return false;
    return b == NULL || a->was_resumed < b->was_resumed ||
           (a->was_resumed == b->was_resumed && a->used_ms < b->used_ms);
}

/* A free place among the first `room`, made free where none is; NULL: all are being read. */
static struct kept *make_room(struct list_keep *keep, size_t room)
{
    struct kept *oldest = NULL, *free_one = NULL;
    size_t n = 0;
    for (size_t i = 0; i < LIST_KEEP_MAX; i++) {
        struct kept *kept = &keep->kept[i];
        n += kept->versions != NULL;
        if (kept->versions == NULL)
            free_one = kept;
        else if (goes_before(kept, oldest))
            oldest = kept;
    }
    if (n < room)
        return free_one;
    if (oldest != NULL)
        drop(oldest);
    return oldest;
}

uint64_t list_keep_begin(struct list_keep *keep, const struct versions **versions, int64_t now_ms)
{
    uint64_t number = 0;
    (void)pthread_mutex_lock(&keep->lock);
    struct kept *kept = find_snapshot(keep, (*versions)->snapshot);
    if (kept == NULL) {
        kept = make_room(keep, room_for((*versions)->snapshot));
        if (kept != NULL)
            *kept = (struct kept){.versions = versions_ref(*versions), .number = ++keep->newest};
    }
    if (kept != NULL) {
        kept->readers++;
        kept->used_ms = now_ms;
        number = kept->number;
        *versions = kept->versions;
    }
    (void)pthread_mutex_unlock(&keep->lock);
    return number;
}

const struct versions *list_keep_resume(struct list_keep *keep, uint64_t number, int64_t now_ms)
{
    const struct versions *versions = NULL;
    (void)pthread_mutex_lock(&keep->lock);
    struct kept *kept = find(keep, number);
    if (kept != NULL && kept->is_paged) {
        kept->readers++;
        kept->was_resumed = true;
        kept->used_ms = now_ms;
        versions = kept->versions;
    }
    (void)pthread_mutex_unlock(&keep->lock);
    return versions;
}

void list_keep_end(struct list_keep *keep, uint64_t number, bool is_paged, int64_t now_ms)
{
    (void)pthread_mutex_lock(&keep->lock);
    struct kept *kept = find(keep, number);
    if (kept != NULL) {
        kept->readers--;
        kept->is_paged = kept->is_paged || is_paged;
        kept->used_ms = now_ms;
        if (kept->readers == 0 && !kept->is_paged)
            drop(kept);
    }
    (void)pthread_mutex_unlock(&keep->lock);
}

void list_keep_tick(struct list_keep *keep, int64_t now_ms)
{
    (void)pthread_mutex_lock(&keep->lock);
    for (size_t i = 0; i < LIST_KEEP_MAX; i++)
        if (keep->kept[i].versions != NULL && keep->kept[i].readers == 0 &&
            now_ms - keep->kept[i].used_ms >= LIST_KEEP_MS)
            drop(&keep->kept[i]);
    (void)pthread_mutex_unlock(&keep->lock);
}
