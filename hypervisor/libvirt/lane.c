/* lane.c - a queue of requests and the threads that serve it, each with its own connection.
 *
 * A worker opens its connection before it takes a request, so that a request is never stuck behind
 * an opening that hangs: it stays in the queue, where another worker can take it or
 * libvirt_lane_tick() can expire it. Once started, a call is answered when libvirt returns;
 * keepalive bounds that time on a dead host.
 *
 * A lane grows when more requests wait than workers are free (OBSERVE and PROBE: only when the
 * running call hangs) and shrinks to what the last window needed.
 */
#include <assert.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

static const struct rule {
    bool read_only;
    unsigned keep, max;    /* workers */
    int64_t grow_after_ms; /* age at which a running call counts as hanging */
} rules[HV_LANE_COUNT] = {
    [HV_LANE_OBSERVE] = {true, 1, OBSERVE_WORKERS_MAX, LANE_SLOW_MS},
    [HV_LANE_STATS] = {true, 0, LIBVIRT_STATS_WORKERS_MAX, 0},
    [HV_LANE_CONTROL] = {false, 1, LIBVIRT_CONTROL_WORKERS_MAX, 0},
    [HV_LANE_MIGRATE] = {false, 0, LIBVIRT_MIGRATE_WORKERS_MAX, 0},
    [HV_LANE_PROBE] = {false, 0, PROBE_WORKERS_MAX, LANE_SLOW_MS},
};

static int64_t lane_now(const struct lane *lane)
{
    return libvirt_now(lane->host->libvirt);
}

static bool lane_is_closing(const struct lane *lane)
{
    return libvirt_host_is_closing(lane->host);
}

void libvirt_job_free(struct job *job)
{
    if (job == NULL)
        return;
    free(job->text);
    free(job->target);
    free(job->volumes);
    free(job);
}

void libvirt_lane_init(struct lane *lane, struct host *host, enum hv_lane id)
{
    lane->host = host;
    lane->id = id;
    lane->last = &lane->first;
    lane->backoff_ms = LIBVIRT_BACKOFF_MIN_MS;
    (void)pthread_mutex_init(&lane->lock, NULL);
    libvirt_wait_cond_init(&lane->has_work);
}

void libvirt_lane_fini(struct lane *lane)
{
    assert(lane->workers == NULL);
    while (lane->first != NULL) {
        struct job *job = lane->first;
        lane->first = job->next;
        libvirt_job_free(job);
    }
    (void)pthread_cond_destroy(&lane->has_work);
    (void)pthread_mutex_destroy(&lane->lock);
}

static unsigned is_measure(const struct job *job)
{
    return job->request.call == HV_CALL_MEASURE_DIRTY ? 1 : 0;
}

static void push(struct lane *lane, struct job *job)
{
    *lane->last = job;
    lane->last = &job->next;
    lane->n_queued++;
    lane->measuring += is_measure(job);
}

static struct job *pop(struct lane *lane)
{
    struct job *job = lane->first;
    if (job == NULL)
        return NULL;
    lane->first = job->next;
    if (lane->first == NULL)
        lane->last = &lane->first;
    lane->n_queued--;
    lane->measuring -= is_measure(job);
    job->next = NULL;
    return job;
}

/* Answers a request that was never started, and frees it. */
static void refuse(struct lane *lane, struct job *job, const struct err *why)
{
    struct hv_reply reply = {.err = *why, .ended_ms = lane_now(lane)};
    reply.err.code = ERR_UNREACHABLE;
    if (job->request.call == HV_CALL_DOMAIN_STATE)
        reply.with.observation = (struct hv_observation){
            .presence = HV_UNREACHABLE, .job_type = -1, .at_ms = reply.ended_ms};
    libvirt_reply(lane->host->libvirt, job, &reply);
    libvirt_job_free(job);
}

/* Answers all queued requests. Lock held, dropped meanwhile. */
static void refuse_all(struct lane *lane, const struct err *why)
{
    struct err copy = *why;
    struct job *job;
    unsigned left = lane->n_queued; /* not requests that arrive while this runs */
    while (left-- > 0 && (job = pop(lane)) != NULL) {
        lane->calls++;
        lane->failures++;
        (void)pthread_mutex_unlock(&lane->lock);
        refuse(lane, job, &copy);
        (void)pthread_mutex_lock(&lane->lock);
    }
}

static void note_busy(struct lane *lane, int64_t now)
{
    if (now - lane->window_ms >= LANE_IDLE_MS) {
        lane->last_peak = lane->peak;
        lane->peak = 0;
        lane->window_ms = now;
    }
    if (lane->busy > lane->peak)
        lane->peak = lane->busy;
}

/* Is one worker more here than the last half minute needed? */
static bool has_spare_worker(struct lane *lane)
{
    note_busy(lane, lane_now(lane));
    unsigned needed = lane->peak > lane->last_peak ? lane->peak : lane->last_peak;
    if (needed < rules[lane->id].keep)
        needed = rules[lane->id].keep;
    return lane->n_workers > needed;
}

/* Waits for work. False: this worker must end. Lock held. */
static bool worker_wait(struct worker *worker)
{
    struct lane *lane = worker->lane;
    while (lane->n_queued == 0 && !lane_is_closing(lane)) {
        if (has_spare_worker(lane))
            return false;
        libvirt_wait_cond(&lane->has_work, &lane->lock, LANE_IDLE_MS);
    }
    return !lane_is_closing(lane);
}

static void open_failed(struct lane *lane, const struct err *why)
{
    lane->open_err = *why;
    lane->retry_ms = lane_now(lane) + lane->backoff_ms;
    lane->backoff_ms *= 2;
    if (lane->backoff_ms > LIBVIRT_BACKOFF_MAX_MS)
        lane->backoff_ms = LIBVIRT_BACKOFF_MAX_MS;
}

/* Ensures a live connection, or fails all queued requests. Lock held, dropped during the libvirt
 * call. */
static bool worker_connect(struct worker *worker)
{
    struct lane *lane = worker->lane;
    int64_t now = lane_now(lane);
    (void)pthread_mutex_unlock(&lane->lock);
    bool alive = worker->conn != NULL && libvirt_connection_is_alive(worker->conn);
    (void)pthread_mutex_lock(&lane->lock);
    if (alive)
        return true;
    if (now < lane->retry_ms) {
        refuse_all(lane, &lane->open_err);
        return false;
    }

    struct err err = {0};
    worker->opening_ms = now;
    (void)pthread_mutex_unlock(&lane->lock);
    libvirt_connection_close(worker->conn);
    worker->conn = libvirt_opening(lane->host, lane->id, rules[lane->id].read_only, false, &err);
    if (worker->conn != NULL)
        libvirt_keeper_nudge(&lane->host->keeper);
    (void)pthread_mutex_lock(&lane->lock);
    worker->opening_ms = 0;
    if (worker->conn == NULL) {
        open_failed(lane, &err);
        refuse_all(lane, &err);
        return false;
    }
    lane->retry_ms = 0;
    lane->backoff_ms = LIBVIRT_BACKOFF_MIN_MS;
    return true;
}

static void count(struct lane *lane, const struct hv_reply *reply)
{
    lane->calls++;
    lane->failures += reply->err.code != ERR_NONE;
    lane->total_ms += (uint64_t)(reply->ended_ms - reply->began_ms);
}

void libvirt_lane_count(struct lane *lane, const struct hv_reply *reply)
{
    (void)pthread_mutex_lock(&lane->lock);
    count(lane, reply);
    (void)pthread_mutex_unlock(&lane->lock);
}

/* It may have waited for a connection or a worker. Lock held, dropped meanwhile. */
static bool refuse_unless_permitted(struct lane *lane, struct job *job)
{
    const struct hv_permit *permit = &lane->host->libvirt->permit;
    struct err err = {0};
    if (permit->ok == NULL || hv_call_access(job->request.call) != HV_ACCESS_ACT ||
        permit->ok(permit->ctx, &err))
        return false;
    lane->calls++;
    lane->failures++;
    (void)pthread_mutex_unlock(&lane->lock);
    refuse(lane, job, &err);
    (void)pthread_mutex_lock(&lane->lock);
    return true;
}

/* Runs one call. Lock held, dropped meanwhile. The lane's counters are updated before the sink gets
 * the reply. */
static void worker_serve(struct worker *worker, struct job *job)
{
    struct lane *lane = worker->lane;
    struct hv_reply reply = {.began_ms = lane_now(lane)};
    worker->began_ms = reply.began_ms;
    lane->busy++;
    lane->measuring += is_measure(job);
    note_busy(lane, reply.began_ms);
    (void)pthread_mutex_unlock(&lane->lock);

    libvirt_call_run(worker->conn, job, &reply);
    reply.ended_ms = lane_now(lane);
    if (job->request.call == HV_CALL_DOMAIN_STATE)
        reply.with.observation.at_ms = reply.ended_ms;

    (void)pthread_mutex_lock(&lane->lock);
    worker->began_ms = 0;
    lane->busy--;
    lane->measuring -= is_measure(job);
    count(lane, &reply);
    (void)pthread_mutex_unlock(&lane->lock);

    libvirt_reply(lane->host->libvirt, job, &reply);
    libvirt_job_free(job);
    (void)pthread_mutex_lock(&lane->lock);
}

static void worker_unlink(struct worker *worker)
{
    struct worker **at = &worker->lane->workers;
    while (*at != worker)
        at = &(*at)->next;
    *at = worker->next;
    worker->lane->n_workers--;
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct lane *lane = worker->lane;
    struct host *host = lane->host;

    (void)pthread_mutex_lock(&lane->lock);
    if (worker->opens_early)
        (void)worker_connect(worker);
    while (worker_wait(worker)) {
        struct job *job = worker_connect(worker) ? pop(lane) : NULL;
        if (job != NULL && !refuse_unless_permitted(lane, job))
            worker_serve(worker, job);
    }
    worker_unlink(worker);
    (void)pthread_mutex_unlock(&lane->lock);

    libvirt_connection_close(worker->conn);
    free(worker);
    return libvirt_thread_end(host->libvirt, host);
}

static bool start_worker(struct lane *lane, bool opens_early)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return false;
    worker->lane = lane;
    worker->opens_early = opens_early;
    if (!libvirt_thread(lane->host->libvirt, lane->host, worker_main, worker)) {
        free(worker);
        return false;
    }
    worker->next = lane->workers;
    lane->workers = worker;
    lane->n_workers++;
    return true;
}

static bool has_slow_opening(const struct lane *lane, int64_t now)
{
    for (const struct worker *worker = lane->workers; worker != NULL; worker = worker->next)
        if (worker->opening_ms != 0 && now - worker->opening_ms > LANE_SLOW_MS)
            return true;
    return false;
}

static int64_t oldest_call_ms(const struct lane *lane, int64_t now)
{
    int64_t oldest = 0;
    for (const struct worker *worker = lane->workers; worker != NULL; worker = worker->next)
        if (worker->began_ms != 0 && now - worker->began_ms > oldest)
            oldest = now - worker->began_ms;
    return oldest;
}

/* Adds a worker if one is missing and would help. More threads that open a connection to an
 * unreachable host would not. */
static void grow(struct lane *lane)
{
    const struct rule *rule = &rules[lane->id];
    int64_t now = lane_now(lane);
    if (lane->n_queued <= lane->n_workers - lane->busy || lane->n_workers >= rule->max)
        return;
    bool hangs = lane->measuring > 0 || oldest_call_ms(lane, now) >= rule->grow_after_ms;
    if (lane->n_workers > 0 && (!hangs || has_slow_opening(lane, now)))
        return;
    (void)start_worker(lane, false); /* no thread: the existing workers go on */
}

/* A migrate call is never queued behind others: they last minutes. A measurement takes up to a
 * minute: some workers must stay free for other probes. */
static bool is_full(const struct lane *lane, const struct job *job)
{
    if (is_measure(job) > 0 && lane->measuring >= LIBVIRT_MEASURES_MAX)
        return true;
    if (lane->id == HV_LANE_MIGRATE)
        return lane->n_queued + lane->busy >= rules[lane->id].max;
    return lane->n_queued >= LIBVIRT_LANE_QUEUE_MAX;
}

bool libvirt_lane_submit(struct lane *lane, struct job *take_job, struct err *err)
{
    (void)pthread_mutex_lock(&lane->lock);
    if (is_full(lane, take_job)) {
        (void)err_set(err, ERR_LIMIT, "host '%s': %u requests wait in lane '%s'",
                      lane->host->config.name, lane->n_queued, hv_lane_name(lane->id));
    } else {
        take_job->queued_ms = lane_now(lane);
        push(lane, take_job);
        grow(lane);
        if (lane->n_workers == 0) {
            (void)pop(lane); /* it was the only request: no other can have been lost */
            (void)err_set(err, ERR_LIMIT, "host '%s': no thread for lane '%s'",
                          lane->host->config.name, hv_lane_name(lane->id));
        } else {
            (void)pthread_cond_signal(&lane->has_work);
        }
    }
    (void)pthread_mutex_unlock(&lane->lock);
    if (err->code != ERR_NONE)
        libvirt_job_free(take_job);
    return err->code == ERR_NONE;
}

void libvirt_lane_warm(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    if (lane->n_workers == 0)
        (void)start_worker(lane, true);
    (void)pthread_mutex_unlock(&lane->lock);
}

void libvirt_lane_tick(struct lane *lane)
{
    static const struct err no_answer = {.code = ERR_UNREACHABLE,
                                         .text = "the host does not answer"};
    (void)pthread_mutex_lock(&lane->lock);
    int64_t now = lane_now(lane);
    while (lane->first != NULL && now - lane->first->queued_ms >= LANE_WAIT_MAX_MS) {
        struct job *job = pop(lane);
        lane->calls++;
        lane->failures++;
        (void)pthread_mutex_unlock(&lane->lock);
        refuse(lane, job, &no_answer);
        (void)pthread_mutex_lock(&lane->lock);
    }
    if (lane->n_queued > 0)
        grow(lane);
    (void)pthread_mutex_unlock(&lane->lock);
}

void libvirt_lane_retry_now(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->retry_ms = 0;
    lane->backoff_ms = LIBVIRT_BACKOFF_MIN_MS;
    (void)pthread_mutex_unlock(&lane->lock);
}

void libvirt_lane_wake(struct lane *lane)
{
    (void)pthread_mutex_lock(&lane->lock);
    (void)pthread_cond_broadcast(&lane->has_work);
    (void)pthread_mutex_unlock(&lane->lock);
}

void libvirt_lane_close(struct lane *lane)
{
    struct err gone = {0};
    (void)err_set(&gone, ERR_UNREACHABLE, "host '%s' was removed from the configuration",
                  lane->host->config.name);
    (void)pthread_mutex_lock(&lane->lock);
    refuse_all(lane, &gone);
    (void)pthread_cond_broadcast(&lane->has_work);
    (void)pthread_mutex_unlock(&lane->lock);
}

void libvirt_lane_status(struct lane *lane, struct hv_lane_status *out_status)
{
    (void)pthread_mutex_lock(&lane->lock);
    *out_status = (struct hv_lane_status){
        .workers = lane->n_workers,
        .in_flight = lane->busy,
        .oldest_ms = oldest_call_ms(lane, lane_now(lane)),
        .calls = lane->calls,
        .failures = lane->failures,
        .total_ms = lane->total_ms,
    };
    (void)pthread_mutex_unlock(&lane->lock);
    libvirt_openings_count(&lane->host->openings, lane->id, out_status);
}
