/* verdict_rows.c - see verdict_rows.h. */
#include "engine/model/job/verdict_rows.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct block { /* the block behind a reader's pointer; rows and texts follow it */
    struct verdict_rows verdict_rows; /* first */
    atomic_uint references;
};

static struct block *block_of(const struct verdict_rows *verdict_rows)
{
    return (struct block *)(uintptr_t)verdict_rows; /* its first member */
}

/* ---- one block ---- */

/* Every text of a row: first to count their bytes, then to copy them. */
typedef void text_fn(void *ctx, const char **text);

static void each_about_text(struct verdict_subject *about, text_fn *fn, void *ctx)
{
    const char **texts[] = {&about->ns,     &about->migration, &about->guest,
                            &about->source, &about->target,    &about->ended_by};
    for (size_t i = 0; i < COUNT(texts); i++)
        fn(ctx, texts[i]);
}

static void each_verdict_text(struct store_verdict *row, text_fn *fn, void *ctx)
{
    const char **texts[] = {&row->job_uid,       &row->outcome,     &row->plane,    &row->cause,
                            &row->failed_at,     &row->recoverable, &row->guest_at, &row->rule,
                            &row->rules_version, &row->action,      &row->runbook,  &row->family,
                            &row->resembles};
    for (size_t i = 0; i < COUNT(texts); i++)
        fn(ctx, texts[i]);
}

static void each_text(struct verdict_rows *j, struct store_point *points,
                      struct store_number *numbers, struct store_evidence *evidence, text_fn *fn,
                      void *ctx)
{
    each_verdict_text(&j->verdict, fn, ctx);
    each_about_text(&j->about, fn, ctx);
    for (size_t i = 0; i < j->n_points; i++) {
        const char **texts[] = {&points[i].standing, &points[i].rule,  &points[i].side,
                                &points[i].origin,   &points[i].quote, &points[i].note};
        for (size_t k = 0; k < COUNT(texts); k++)
            fn(ctx, texts[k]);
    }
    for (size_t i = 0; i < j->n_numbers; i++) {
        fn(ctx, &numbers[i].name);
        fn(ctx, &numbers[i].unit);
    }
    for (size_t i = 0; i < j->n_evidence; i++) {
        const char **texts[] = {&evidence[i].side, &evidence[i].origin, &evidence[i].key,
                                &evidence[i].text};
        for (size_t k = 0; k < COUNT(texts); k++)
            fn(ctx, texts[k]);
    }
}

static void count_bytes(void *ctx, const char **text)
{
    *(size_t *)ctx += *text != NULL ? strlen(*text) + 1 : 1;
}

static void move_in(void *ctx, const char **text)
{
    char **at = ctx;
    const char *from = *text != NULL ? *text : "";
    size_t bytes = strlen(from) + 1;
    *text = memcpy(*at, from, bytes);
    *at += bytes;
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

/* The bytes of a copy's texts. The rows are only read. */
static size_t text_bytes(const struct verdict_rows *rows, const struct verdict_rows *sizes)
{
    struct verdict_rows view = *sizes;
    size_t bytes = 0;
    each_text(&view, (struct store_point *)(uintptr_t)rows->points,
              (struct store_number *)(uintptr_t)rows->numbers,
              (struct store_evidence *)(uintptr_t)rows->evidence, count_bytes, &bytes);
    return bytes;
}

static void number_rows(struct verdict_rows *j, struct store_point *points,
                        struct store_number *numbers, struct store_evidence *evidence)
{
    for (size_t i = 0; i < j->n_points; i++) {
        points[i].job_uid = j->verdict.job_uid;
        points[i].seq = (int64_t)i;
    }
    for (size_t i = 0; i < j->n_numbers; i++) {
        numbers[i].job_uid = j->verdict.job_uid;
        numbers[i].seq = (int64_t)i;
    }
    for (size_t i = 0; i < j->n_evidence; i++) {
        evidence[i].job_uid = j->verdict.job_uid;
        evidence[i].seq = (int64_t)i;
    }
}

struct verdict_rows *verdict_rows_new(const struct verdict_rows *rows, bool without_evidence)
{
    struct verdict_rows sizes = *rows;
    sizes.n_points = at_most(rows->n_points, VERDICT_ROWS_POINTS_MAX);
    sizes.n_numbers = at_most(rows->n_numbers, VERDICT_ROWS_NUMBERS_MAX);
    sizes.n_evidence = without_evidence ? 0 : at_most(rows->n_evidence, VERDICT_ROWS_EVIDENCE_MAX);
    size_t point_bytes = sizes.n_points * sizeof(struct store_point);
    size_t number_bytes = sizes.n_numbers * sizeof(struct store_number);
    size_t evidence_bytes = sizes.n_evidence * sizeof(struct store_evidence);
    struct block *block = malloc(sizeof *block + point_bytes + number_bytes + evidence_bytes +
                                 text_bytes(rows, &sizes));
    if (block == NULL)
        return NULL;
    atomic_init(&block->references, 1);
    char *at = (char *)(block + 1);
    struct store_point *points = (struct store_point *)(void *)at;
    at += point_bytes;
    struct store_number *numbers = (struct store_number *)(void *)at;
    at += number_bytes;
    struct store_evidence *evidence = (struct store_evidence *)(void *)at;
    at += evidence_bytes;
    if (point_bytes > 0)
        memcpy(points, rows->points, point_bytes);
    if (number_bytes > 0)
        memcpy(numbers, rows->numbers, number_bytes);
    if (evidence_bytes > 0)
        memcpy(evidence, rows->evidence, evidence_bytes);
    block->verdict_rows = sizes;
    block->verdict_rows.points = points;
    block->verdict_rows.numbers = numbers;
    block->verdict_rows.evidence = evidence;
    each_text(&block->verdict_rows, points, numbers, evidence, move_in, &at);
    number_rows(&block->verdict_rows, points, numbers, evidence);
    return &block->verdict_rows;
}

struct verdict_rows *verdict_rows_ref(struct verdict_rows *verdict_rows)
{
    if (verdict_rows != NULL)
        atomic_fetch_add(&block_of(verdict_rows)->references, 1);
    return verdict_rows;
}

void verdict_rows_unref(const struct verdict_rows *verdict_rows)
{
    if (verdict_rows != NULL && atomic_fetch_sub(&block_of(verdict_rows)->references, 1) == 1)
        free(block_of(verdict_rows));
}

/* ---- to and from the store ---- */

void verdict_rows_put(struct store *store, const struct verdict_rows *verdict_rows)
{
    store->ops->clear_verdict(store, verdict_rows->verdict.job_uid);
    store->ops->put_verdict(store, &verdict_rows->verdict);
    for (size_t i = 0; i < verdict_rows->n_points; i++)
        store->ops->put_point(store, &verdict_rows->points[i]);
    for (size_t i = 0; i < verdict_rows->n_numbers; i++)
        store->ops->put_number(store, &verdict_rows->numbers[i]);
    for (size_t i = 0; i < verdict_rows->n_evidence; i++)
        store->ops->put_evidence(store, &verdict_rows->evidence[i]);
}

/* A verdict that grows by one row at a time; rows are few, and loaded once per job in memory. */
struct loading {
    struct verdict_rows *have; /* NULL: no verdict, or no memory */
    bool starved;
};

static void grow(struct loading *loading, const struct verdict_rows *grown)
{
    struct verdict_rows *next = verdict_rows_new(grown, true);
    verdict_rows_unref(loading->have);
    loading->have = next;
    loading->starved = loading->starved || next == NULL;
}

static bool load_verdict(void *ctx, const struct store_verdict *row)
{
    grow(ctx, &(struct verdict_rows){.verdict = *row});
    return true;
}

static bool load_point(void *ctx, const struct store_point *row)
{
    struct loading *loading = ctx;
    struct store_point all[VERDICT_ROWS_POINTS_MAX];
    size_t n = loading->have != NULL ? loading->have->n_points : 0;
    if (loading->have == NULL || n == COUNT(all))
        return false;
    if (n > 0)
        memcpy(all, loading->have->points, n * sizeof all[0]);
    all[n] = *row;
    struct verdict_rows grown = *loading->have;
    grown.points = all;
    grown.n_points = n + 1;
    grow(loading, &grown);
    return true;
}

static bool load_number(void *ctx, const struct store_number *row)
{
    struct loading *loading = ctx;
    struct store_number all[VERDICT_ROWS_NUMBERS_MAX];
    size_t n = loading->have != NULL ? loading->have->n_numbers : 0;
    if (loading->have == NULL || n == COUNT(all))
        return false;
    if (n > 0)
        memcpy(all, loading->have->numbers, n * sizeof all[0]);
    all[n] = *row;
    struct verdict_rows grown = *loading->have;
    grown.numbers = all;
    grown.n_numbers = n + 1;
    grow(loading, &grown);
    return true;
}

bool verdict_rows_load(struct store *store, const char *job_uid,
                       struct verdict_rows **out_verdict_rows, struct err *err)
{
    struct loading loading = {0};
    bool read = store->ops->each_verdict(store, job_uid, load_verdict, &loading, err);
    if (read && loading.have != NULL)
        read = store->ops->each_point(store, job_uid, load_point, &loading, err) &&
               store->ops->each_number(store, job_uid, load_number, &loading, err);
    if (read && loading.starved)
        read = err_set(err, ERR_NOMEM, "out of memory: verdict");
    if (read)
        *out_verdict_rows = loading.have;
    else
        verdict_rows_unref(loading.have);
    return read;
}
