/* samples.c - the samples lane: a bounded queue, a writer thread, batches.
 *
 * A producer never waits: samples that do not fit are dropped and counted. The writer collects for
 * at most STORE_SAMPLE_BATCH_MS or STORE_SAMPLE_BATCH_MAX samples, then writes one transaction. A
 * batch that cannot be written (disk full) is dropped and counted too. A flush is a marker in the
 * same queue: when the writer reaches it, everything before is written.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/sql.h"

static void record_loss(struct store_sql *s, const struct err *failure, size_t n)
{
    atomic_fetch_add(&s->samples_dropped, n);
    (void)pthread_mutex_lock(&s->samples.lock);
    bool is_first = !s->samples.is_dropping;
    s->samples.is_dropping = true;
    if (s->samples.loss.code == ERR_NONE)
        s->samples.loss = *failure;
    (void)pthread_mutex_unlock(&s->samples.lock);
    if (is_first) /* logged once when it begins; the counter has the rest */
        LOG(WARN, "samples_lost", FIELD_TEXT(ERROR, err_name(failure->code)),
            FIELD_TEXT(TEXT, failure->text), FIELD_I64(COUNT, n));
}

static bool write_rows(struct store_sql *s, const struct sample_item *items, size_t n,
                       struct err *err)
{
    struct sql_value values[SQL_VALUES_MAX];
    bool good = s->engine->begin(s, LANE_SAMPLES, err);
    for (size_t i = 0; good && i < n; i++) {
        size_t columns = rows_values(items[i].kind, &items[i].row, values);
        good = s->engine->write(
            s, LANE_SAMPLES,
            &(struct sql_write){(enum statement)items[i].kind, values, columns, NULL}, err);
    }
    if (good && s->engine->commit(s, LANE_SAMPLES, err))
        return true;
    s->engine->rollback(s, LANE_SAMPLES);
    return false;
}

static bool write_batch(struct store_sql *s, const struct sample_item *items, size_t n)
{
    struct err failure = {0};
    size_t samples = 0;
    for (size_t i = 0; i < n; i++)
        samples += items[i].kind == ROW_SAMPLE;
    if (!write_rows(s, items, n, &failure)) {
        record_loss(s, &failure, n);
        return false;
    }
    (void)pthread_mutex_lock(&s->samples.lock);
    s->samples.is_dropping = false;
    (void)pthread_mutex_unlock(&s->samples.lock);
    atomic_fetch_add(&s->samples_written, samples);
    atomic_fetch_add(&s->sample_batches, 1);
    return true;
}

struct collected {
    size_t count;
    uint64_t flush;
    bool is_closed;
};

/* Waits for the first item (forever, or first_ms), then for more until the batch is full, old
 * enough, or flushed. */
static struct collected collect(struct samples *samples, int64_t first_ms)
{
    struct collected got = {0};
    const struct clock *clock = clock_system();
    int64_t wait_ms = first_ms, until_ms = 0;
    while (got.count < STORE_SAMPLE_BATCH_MAX) {
        struct sample_item *item = &samples->batch[got.count];
        enum queue_pop pop = queue_pop(samples->queue, item, wait_ms);
        got.is_closed = pop == QUEUE_CLOSED;
        if (pop != QUEUE_ITEM)
            break;
        got.flush = item->flush;
        if (item->flush != 0)
            break;
        got.count++;
        int64_t now_ms = clock_mono_ms(clock);
        if (got.count == 1)
            until_ms = now_ms + STORE_SAMPLE_BATCH_MS;
        wait_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    }
    return got;
}

static void finish_flush(struct store_sql *s, uint64_t number)
{
    struct err failure = {0};
    if (!s->engine->sync_samples(s, &failure))
        record_loss(s, &failure, 0);
    (void)pthread_mutex_lock(&s->samples.lock);
    if (s->samples.flush_done < number)
        s->samples.flush_done = number;
    (void)pthread_cond_broadcast(&s->samples.flushed);
    (void)pthread_mutex_unlock(&s->samples.lock);
}

static void *write_samples(void *ctx)
{
    struct store_sql *s = ctx;
    struct collected got;
    int64_t wait_ms = RETENTION_EVERY_MS, retained_ms = 0;
    do {
        got = collect(&s->samples, wait_ms);
        if (got.count > 0)
            (void)write_batch(s, s->samples.batch, got.count);
        if (got.flush != 0)
            finish_flush(s, got.flush);
        int64_t now_ms = clock_mono_ms(clock_system());
        if (!got.is_closed && now_ms - retained_ms >= wait_ms) {
            int64_t wall_ms = atomic_load(&s->retention.now_ms);
            bool more = wall_ms != 0 && retention_in_background(s, wall_ms);
            wait_ms = more ? RETENTION_AGAIN_MS : RETENTION_EVERY_MS;
            retained_ms = now_ms;
        }
    } while (!got.is_closed);
    return NULL;
}

/* The main thread handles signals: all are blocked in the writer. */
static bool start_writer(struct store_sql *s, struct err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int errnum = pthread_create(&s->samples.thread, NULL, write_samples, s);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->samples.is_running = errnum == 0;
    return errnum == 0 || err_set(err, ERR_NOMEM, "cannot start the sample writer's thread");
}

void samples_init(struct samples *samples)
{
    (void)pthread_mutex_init(&samples->lock, NULL);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&samples->flushed, &attr);
    (void)pthread_condattr_destroy(&attr);
}

bool samples_start(struct store_sql *s, struct err *err)
{
    struct samples *samples = &s->samples;
    samples->batch = calloc(STORE_SAMPLE_BATCH_MAX, sizeof *samples->batch);
    if (samples->batch == NULL)
        return err_set(err, ERR_NOMEM, "sample batch of %d", STORE_SAMPLE_BATCH_MAX);
    samples->queue = queue_new(sizeof(struct sample_item), STORE_SAMPLE_QUEUE_MAX, err);
    return samples->queue != NULL && start_writer(s, err);
}

void samples_fini(struct store_sql *s)
{
    struct samples *samples = &s->samples;
    if (samples->is_running) {
        queue_close(samples->queue);
        (void)pthread_join(samples->thread, NULL);
    }
    queue_free(samples->queue);
    free(samples->batch);
    (void)pthread_cond_destroy(&samples->flushed);
    (void)pthread_mutex_destroy(&samples->lock);
}

static bool append(struct store_sql *s, const struct sample_item *item)
{
    if (s->in_memory)
        return write_batch(s, item, 1);
    bool taken = queue_push(s->samples.queue, item);
    atomic_fetch_add(&s->samples_dropped, taken ? 0 : 1);
    return taken;
}

bool samples_append(struct store *store, const struct store_sample *rows, size_t n)
{
    bool all = true;
    for (size_t i = 0; i < n; i++) {
        struct sample_item item = {.kind = ROW_SAMPLE, .row.sample = rows[i]};
        all = append(store_sql_of(store), &item) && all;
    }
    return all;
}

bool samples_append_monitor_input(struct store *store, const struct store_monitor_input *row)
{
    struct sample_item item = {.kind = ROW_MONITOR_INPUT, .row.monitor_input = *row};
    return append(store_sql_of(store), &item);
}

bool samples_append_audit(struct store *store, const struct store_audit *row)
{
    struct sample_item item = {.kind = ROW_AUDIT, .row.audit = *row};
    return append(store_sql_of(store), &item);
}

/* The condition variable uses the clock of clock_system(). */
static bool wait_flushed(struct samples *samples, uint64_t number, int64_t deadline_ms)
{
    struct timespec at = {.tv_sec = (time_t)(deadline_ms / 1000),
                          .tv_nsec = (long)(deadline_ms % 1000) * 1000000L};
    while (samples->flush_done < number)
        if (pthread_cond_timedwait(&samples->flushed, &samples->lock, &at) == ETIMEDOUT)
            return samples->flush_done >= number;
    return true;
}

static bool report_loss(struct samples *samples, struct err *err)
{
    struct err loss = samples->loss;
    samples->loss = (struct err){0};
    if (loss.code == ERR_NONE)
        return true;
    *err = loss;
    return err_wrap(err, "samples were lost");
}

bool samples_flush(struct store *s, int64_t timeout_ms, struct err *err)
{
    struct samples *samples = &store_sql_of(s)->samples;
    int64_t deadline_ms = clock_mono_ms(clock_system()) + timeout_ms;
    (void)pthread_mutex_lock(&samples->lock);
    struct sample_item marker = {.flush = ++samples->flush_asked};
    (void)pthread_mutex_unlock(&samples->lock);

    bool is_sent = samples->queue == NULL || queue_push_wait(samples->queue, &marker, timeout_ms);
    (void)pthread_mutex_lock(&samples->lock);
    bool done =
        is_sent && (samples->queue == NULL || wait_flushed(samples, marker.flush, deadline_ms));
    done = done ? report_loss(samples, err)
                : err_set(err, ERR_TIMEOUT, "samples were not on disk after %lld ms",
                          (long long)timeout_ms);
    (void)pthread_mutex_unlock(&samples->lock);
    return done;
}
