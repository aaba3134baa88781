/* archive.c - see archive.h. Rows are copied by their table of columns: a new column needs no
 * change here. */
#include "store/archive.h"

#include <string.h>

#include "store/rows.h"

enum { FIRST_ROWS = 16 };

struct filling {
    struct archive *archive;
    struct err *err;
};

static bool full(struct filling *f)
{
    return err_set(f->err, ERR_NOMEM, "no memory for the records of a migration");
}

/* Makes room for one more; false: no memory. */
static bool grow(void **list, size_t n, size_t *max, size_t bytes)
{
    if (n < *max)
        return true;
    size_t more = *max == 0 ? FIRST_ROWS : *max * 2;
    void *grown = reallocarray(*list, more, bytes);
    if (grown == NULL)
        return false;
    *list = grown;
    *max = more;
    return true;
}

static const char *keep_text(struct archive *a, const char *text)
{
    void *texts = a->texts;
    if (!grow(&texts, a->n_texts, &a->max_texts, sizeof *a->texts))
        return NULL;
    a->texts = texts;
    char *kept = strdup(text != NULL ? text : "");
    if (kept != NULL)
        a->texts[a->n_texts++] = kept;
    return kept;
}

/* The row at `row` still points into the store: its texts are copied. */
static bool own_texts(struct filling *f, enum row kind, void *row)
{
    const struct row_type *type = rows_type(kind);
    for (size_t i = 0; i < type->column_count; i++) {
        if (type->columns[i].type != COLUMN_TEXT)
            continue;
        const char **field = (const char **)(void *)((char *)row + type->columns[i].offset);
        *field = keep_text(f->archive, *field);
        if (*field == NULL)
            return full(f);
    }
    return true;
}

static bool keep_job(void *ctx, const struct store_job *row)
{
    struct filling *f = ctx;
    f->archive->job = *row;
    return own_texts(f, ROW_JOB, &f->archive->job);
}

static bool keep_verdict(void *ctx, const struct store_verdict *row)
{
    struct filling *f = ctx;
    f->archive->verdict = *row;
    f->archive->has_verdict = true;
    return own_texts(f, ROW_VERDICT, &f->archive->verdict);
}

#define KEEP(id, name, list)                                             \
    static bool keep_##name(void *ctx, const struct store_##name *row)   \
    {                                                                    \
        struct filling *f = ctx;                                         \
        struct archive *a = f->archive;                                  \
        void *rows = a->list.rows;                                       \
        if (a->list.n == ARCHIVE_ROWS_MAX) {                             \
            a->is_cut = true;                                            \
            return false;                                                \
        }                                                                \
        if (!grow(&rows, a->list.n, &a->list.max, sizeof *a->list.rows)) \
            return full(f);                                              \
        a->list.rows = rows;                                             \
        a->list.rows[a->list.n] = *row;                                  \
        return own_texts(f, ROW_##id, &a->list.rows[a->list.n++]);       \
    }
#define LISTS                                    \
    KEEP(TRANSITION, transition, transitions)    \
    KEEP(INTENT, intent, intents)                \
    KEEP(OBSERVATION, observation, observations) \
    KEEP(ERROR, error, errors)                   \
    KEEP(MODE, mode, modes)                      \
    KEEP(DECISION, decision, decisions)          \
    KEEP(REJECTION, rejection, rejections)       \
    KEEP(POINT, point, points)                   \
    KEEP(NUMBER, number, numbers)                \
    KEEP(EVIDENCE, evidence, evidence)           \
    KEEP(SAMPLE, sample, samples)                \
    KEEP(MONITOR_INPUT, monitor_input, monitor_inputs)
LISTS
KEEP(EVENT, event, events)
#undef KEEP

static bool fill(struct filling *f, struct store *store)
{
    const char *uid = f->archive->job.uid;
    const struct store_ops *ops = store->ops;
#define KEEP(id, name, list)                                                               \
    if (!ops->each_##name(store, uid, keep_##name, f, f->err) || f->err->code != ERR_NONE) \
        return false;
    LISTS
    KEEP(VERDICT, verdict, verdict)
#undef KEEP
    return ops->each_event(store, uid, ARCHIVE_EVENTS_MAX, keep_event, f, f->err) &&
           f->err->code == ERR_NONE;
}

struct archive *archive_load(struct store *store, const char *ns, const char *name, struct err *err)
{
    OWNED(archive) archive = calloc(1, sizeof *archive);
    if (archive == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the records of a migration");
        return NULL;
    }
    struct filling filling = {archive, err};
    if (!store->ops->find_job(store, ns, name, keep_job, &filling, err) || err->code != ERR_NONE)
        return NULL;
    if (archive->job.uid == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "no migration '%s' in namespace '%s'", name, ns);
        return NULL;
    }
    return fill(&filling, store) ? TAKE(archive) : NULL;
}

void archive_free(struct archive *archive)
{
    if (archive == NULL)
        return;
#define KEEP(id, name, list) free(archive->list.rows);
    LISTS
    KEEP(EVENT, event, events)
#undef KEEP
    for (size_t i = 0; i < archive->n_texts; i++)
        free(archive->texts[i]);
    free(archive->texts);
    free(archive);
}
