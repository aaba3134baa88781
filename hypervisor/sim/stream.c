/* stream.c - the memory stream of a migration: bandwidth, progress, statistics.
 *
 * Streams that flow share their hosts' links: each gets an equal part of the sender's outgoing and
 * of the receiver's incoming link, whichever is less, and no more than its own limit. When one
 * begins, ends, stalls or flows again, only the streams of those two hosts are updated.
 *
 * Progress is not simulated in steps: `left` and `dirtied` are values at moved_ms and follow from
 * the rate until something changes; the job's timer is set to the end of the iteration.
 */
#include <assert.h>
#include <utlist.h>

#include "hypervisor/sim/inside.h"

enum {
    ITERATION_MIN_MS = 10,     /* the shortest iteration; QEMU checks its clock about as often */
    POSTCOPY_FAULT_PAGES = 16, /* one page request per so many pages; the others are pushed */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t bytes_in(uint64_t bps, int64_t ms)
{
    return (uint64_t)((unsigned __int128)bps * (uint64_t)ms / 1000);
}

/* Rounded up: an iteration ends with its last byte. */
static int64_t ms_for(uint64_t bytes, uint64_t bps)
{
    return (int64_t)(((unsigned __int128)bytes * 1000 + bps - 1) / bps);
}

static uint64_t moved_now(const struct sim *sim, const struct job *job)
{
    return smaller(job->stream.left, bytes_in(job->stream.rate_bps, sim->now_ms - job->moved_ms));
}

static uint64_t dirtied_now(const struct sim *sim, const struct job *job)
{
    const struct sim_guest *guest = &job->guest->what;
    bool writes =
        job->phase == JOB_COPY && job->source != NULL && job->source->state == HV_STATE_RUNNING;
    if (!writes)
        return job->stream.dirtied;
    uint64_t bps = guest->dirty_bps * (100 - job->stream.throttle) / 100;
    uint64_t set = smaller(guest->working_set_bytes, guest->memory_bytes);
    return smaller(set, job->stream.dirtied + bytes_in(bps, sim->now_ms - job->moved_ms));
}

void sim_stream_settle(struct sim *sim, struct job *job)
{
    uint64_t moved = moved_now(sim, job);
    job->stream.dirtied = dirtied_now(sim, job);
    job->stream.left -= moved;
    job->stream.processed += moved;
    job->moved_ms = sim->now_ms;
}

static void set_end(struct sim *sim, struct job *job)
{
    if (job->held)
        return; /* the timer is due and waits for a libvirtd */
    if (job->stream.rate_bps == 0) {
        timer_clear(&sim->timers, &job->timer);
        return;
    }
    int64_t end_ms = sim->now_ms + ms_for(job->stream.left, job->stream.rate_bps);
    if (job->phase == JOB_SWITCHOVER)
        end_ms += (int64_t)job->stream.overhead_ms;
    if (end_ms < job->iteration_began_ms + ITERATION_MIN_MS)
        end_ms = job->iteration_began_ms + ITERATION_MIN_MS;
    timer_set(&sim->timers, &job->timer, end_ms);
}

static uint64_t share(const struct job *job)
{
    if (!job->stream.flows)
        return 0;
    uint64_t limit_bps =
        job->phase == JOB_POSTCOPY ? job->stream.postcopy_limit_bps : job->stream.limit_bps;
    uint64_t bps = smaller(job->from->what.link_bps / job->from->streams_out,
                           job->to->what.link_bps / job->to->streams_in);
    return limit_bps == 0 ? bps : smaller(bps, limit_bps);
}

static void set_rate(struct sim *sim, struct job *job)
{
    uint64_t bps = share(job);
    if (bps == job->stream.rate_bps)
        return;
    sim_stream_settle(sim, job);
    job->stream.rate_bps = bps;
    if (bps != 0)
        job->stream.shown_bps =
            bps; /* the reported rate does not change in a stall, as with QEMU */
    set_end(sim, job);
}

static void set_rates_around(struct sim *sim, struct job *job)
{
    struct job *other;
    DL_FOREACH2(job->from->out, other, out_next)
    {
        set_rate(sim, other);
    }
    DL_FOREACH2(job->to->in, other, in_next)
    {
        set_rate(sim, other);
    }
}

static void set_flow(struct sim *sim, struct job *job, bool flows)
{
    if (flows == job->stream.flows)
        return;
    job->stream.flows = flows;
    if (flows) {
        job->from->streams_out++;
        job->to->streams_in++;
    } else {
        job->from->streams_out--;
        job->to->streams_in--;
    }
    set_rates_around(sim, job);
}

/* A stall of the migration port does not affect a tunnelled stream. */
static bool is_linked(const struct job *job, unsigned stalls)
{
    bool tunnelled = (job->how.flags & HV_MIGRATE_TUNNELLED) != 0;
    return sim_host_is_linked(job->from) && sim_host_is_linked(job->to) &&
           (tunnelled || stalls == 0);
}

bool sim_stream_has_path(const struct job *job)
{
    return is_linked(job, job->stalls + job->stalls_out);
}

bool sim_stream_has_return_path(const struct job *job)
{
    return is_linked(job, job->stalls);
}

void sim_stream_update(struct sim *sim, struct job *job)
{
    bool open = job->phase == JOB_DISKS || job->phase == JOB_COPY || job->phase == JOB_SWITCHOVER ||
                job->phase == JOB_POSTCOPY;
    set_flow(sim, job, open && sim_stream_has_path(job));
    set_rate(sim, job);
}

void sim_stream_close(struct sim *sim, struct job *job)
{
    set_flow(sim, job, false);
    timer_clear(&sim->timers, &job->timer);
}

void sim_stream_begin(struct sim *sim, struct job *job, uint64_t bytes)
{
    job->stream.left = job->stream.iteration_bytes = bytes;
    job->stream.dirtied = 0;
    job->moved_ms = job->iteration_began_ms = sim->now_ms;
    sim_stream_update(sim, job);
    set_end(sim, job);
}

static uint64_t expected_downtime_ms(const struct job *job)
{
    if (job->stream.iteration <= 1 || job->stream.shown_bps == 0)
        return job->stream.downtime_limit_ms;
    return (uint64_t)ms_for(job->stream.iteration_bytes, job->stream.shown_bps);
}

static void disk_stats(const struct sim *sim, const struct job *job, struct hv_job_stats *out)
{
    uint64_t left = job->stream.left - moved_now(sim, job);
    out->time_elapsed_ms = (uint64_t)(sim->now_ms - job->began_ms);
    out->disk_total = out->data_total = job->disk_bytes;
    out->disk_remaining = out->data_remaining = left;
    out->disk_processed = out->data_processed = job->disk_bytes - left;
    out->disk_bps = job->stream.shown_bps;
}

void sim_stream_stats(const struct sim *sim, const struct job *job, struct hv_job_stats *out_stats)
{
    *out_stats = (struct hv_job_stats){
        .type = HV_JOB_UNBOUNDED,
        .operation = HV_OPERATION_MIGRATION_OUT,
    };
    if (job->phase == JOB_DISKS)
        disk_stats(sim, job, out_stats);
    if (job->stream.iteration == 0)
        return; /* QEMU has not started yet: a job with zeros */
    uint64_t moved = moved_now(sim, job);
    uint64_t processed = job->stream.processed + moved, left = job->stream.left - moved;
    out_stats->time_elapsed_ms = (uint64_t)(sim->now_ms - job->began_ms);
    out_stats->downtime_ms = expected_downtime_ms(job);
    out_stats->setup_ms = job->stream.setup_ms;
    out_stats->memory_total = out_stats->data_total = job->guest->what.memory_bytes;
    out_stats->memory_processed = out_stats->data_processed = processed;
    out_stats->memory_remaining = out_stats->data_remaining = left;
    out_stats->disk_total = out_stats->disk_processed = job->disk_bytes;
    out_stats->data_total += job->disk_bytes;
    out_stats->data_processed += job->disk_bytes;
    out_stats->memory_bps = job->stream.shown_bps;
    out_stats->memory_normal = processed / SIM_PAGE_BYTES;
    out_stats->memory_normal_bytes = out_stats->memory_normal * SIM_PAGE_BYTES;
    out_stats->memory_dirty_rate = job->stream.dirty_pages;
    out_stats->memory_page_size = SIM_PAGE_BYTES;
    out_stats->memory_iteration = job->stream.iteration;
    if (sim_job_in_postcopy(job))
        out_stats->memory_postcopy_requests =
            (job->stream.iteration_bytes - left) / SIM_PAGE_BYTES / POSTCOPY_FAULT_PAGES;
    out_stats->auto_converge_throttle = job->stream.throttle;
}
