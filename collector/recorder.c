/* recorder.c - see recorder.h. */
#include "collector/recorder.h"

#include <assert.h>

#include "base/text.h"

struct recorder {
    struct store *store;
};

struct recorder *recorder_new(struct store *store, struct err *err)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (r == NULL) {
        err_set(err, ERR_NOMEM, "recorder");
        return NULL;
    }
    r->store = store;
    return r;
}

void recorder_free(struct recorder *r)
{
    free(r);
}

static int64_t as_i64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void fill_row(struct store_sample *row, const struct sample *sample)
{
    const struct hv_job_stats *stats = &sample->stats;
    *row = (struct store_sample){
        .seq = sample->seq,
        .at_ms = sample->wall_ms,
        .mono_ms = sample->mono_ms,
        .time_elapsed_ms = as_i64(stats->time_elapsed_ms),
        .downtime_ms = as_i64(stats->downtime_ms),
        .setup_ms = as_i64(stats->setup_ms),
        .data_total = as_i64(stats->data_total),
        .data_processed = as_i64(stats->data_processed),
        .data_remaining = as_i64(stats->data_remaining),
        .memory_total = as_i64(stats->memory_total),
        .memory_processed = as_i64(stats->memory_processed),
        .memory_remaining = as_i64(stats->memory_remaining),
        .memory_bps = as_i64(stats->memory_bps),
        .memory_dirty_rate = as_i64(stats->memory_dirty_rate),
        .memory_page_size = as_i64(stats->memory_page_size),
        .memory_iteration = as_i64(stats->memory_iteration),
        .memory_postcopy_requests = as_i64(stats->memory_postcopy_requests),
        .memory_constant = as_i64(stats->memory_constant),
        .memory_normal_bytes = as_i64(stats->memory_normal_bytes),
        .disk_total = as_i64(stats->disk_total),
        .disk_processed = as_i64(stats->disk_processed),
        .disk_remaining = as_i64(stats->disk_remaining),
        .disk_bps = as_i64(stats->disk_bps),
        .throttle_percent = as_i64(stats->auto_converge_throttle),
        .bandwidth_bps = as_i64(sample->bandwidth_bps),
    };
    TEXT_SET(row->job_uid, sample->job_uid);
    TEXT_SET(row->source, sample_source_name(sample->source));
}

void recorder_append(struct recorder *r, const struct sample *sample)
{
    assert(sample->job_uid[0] != '\0');
    struct store_sample row;
    fill_row(&row, sample);
    (void)r->store->ops->append_samples(r->store, &row, 1); /* the store counts lost samples */
}
