/* libvirt.c - see libvirt.h. Creation, submission and end. */
#include "hypervisor/libvirt/libvirt.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

enum { THREAD_STACK_BYTES = 1024 * 1024 };

int64_t libvirt_now(const struct libvirt *libvirt)
{
    return clock_mono_ms(libvirt->clock);
}

void libvirt_ref(struct libvirt *libvirt)
{
    (void)atomic_fetch_add(&libvirt->refs, 1);
}

void libvirt_unref(struct libvirt *libvirt)
{
    if (atomic_fetch_sub(&libvirt->refs, 1) > 1)
        return;
    libvirt_hosts_fini(libvirt);
    (void)pthread_cond_destroy(&libvirt->changed);
    (void)pthread_mutex_destroy(&libvirt->lock);
    (void)pthread_rwlock_destroy(&libvirt->hosts_lock);
    (void)pthread_rwlock_destroy(&libvirt->gate);
    free(libvirt);
}

bool libvirt_thread(struct libvirt *libvirt, struct host *host, void *(*run)(void *), void *arg)
{
    sigset_t all, before; /* signals are for the main thread */
    (void)sigfillset(&all);
    pthread_attr_t attr;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);

    libvirt_ref(libvirt);
    (void)pthread_mutex_lock(&libvirt->lock);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool started = pthread_create(&thread, &attr, run, arg) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    libvirt->threads += started;
    if (host != NULL)
        host->threads += started;
    (void)pthread_mutex_unlock(&libvirt->lock);
    (void)pthread_attr_destroy(&attr);
    if (!started)
        libvirt_unref(libvirt); /* never the last reference: the caller holds one */
    return started;
}

void *libvirt_thread_end(struct libvirt *libvirt, struct host *host)
{
    (void)pthread_mutex_lock(&libvirt->lock);
    libvirt->threads--;
    if (host != NULL)
        host->threads--;
    (void)pthread_cond_broadcast(&libvirt->changed);
    (void)pthread_mutex_unlock(&libvirt->lock);
    libvirt_unref(libvirt);
    return NULL;
}

void libvirt_reply(struct libvirt *libvirt, const struct job *job, struct hv_reply *take_reply)
{
    const struct hv_request *request = &job->request;
    take_reply->id = request->id;
    take_reply->call = request->call;
    TEXT_SET(take_reply->host, request->host);
    TEXT_SET(take_reply->guest, request->guest);
    take_reply->queued_ms = job->queued_ms;

    (void)pthread_rwlock_rdlock(&libvirt->gate);
    if (!libvirt->shut)
        request->reply_to.on_reply(request->reply_to.ctx, take_reply);
    else
        hv_reply_fini(take_reply);
    (void)pthread_rwlock_unlock(&libvirt->gate);
}

void libvirt_emit(struct libvirt *libvirt, const struct hv_event *event)
{
    (void)pthread_rwlock_rdlock(&libvirt->gate);
    if (!libvirt->shut && libvirt->events.on_event != NULL)
        libvirt->events.on_event(libvirt->events.ctx, event);
    (void)pthread_rwlock_unlock(&libvirt->gate);
}

/* Copies what the request borrows. */
static bool copy_parts(struct job *job, const struct hv_request *request, const struct host *target)
{
    if (target != NULL) {
        job->target = malloc(sizeof *job->target);
        if (job->target == NULL)
            return false;
        *job->target = target->config;
    }
    if (request->call == HV_CALL_COMPARE_CPU) {
        job->text = strdup(request->with.text);
        job->request.with.text = job->text;
        return job->text != NULL;
    }
    size_t n = request->call == HV_CALL_MIGRATE ? request->with.migrate.n_volumes : 0;
    if (n == 0)
        return true;
    job->volumes = calloc(n, sizeof *job->volumes);
    if (job->volumes != NULL)
        memcpy(job->volumes, request->with.migrate.volumes, n * sizeof *job->volumes);
    job->request.with.migrate.volumes = job->volumes;
    return job->volumes != NULL;
}

/* NULL with err set. */
static struct job *job_new(struct libvirt *libvirt, struct host *host,
                           const struct hv_request *request, struct err *err)
{
    bool has_target = request->call == HV_CALL_MIGRATE || request->call == HV_CALL_RESUME_STREAM;
    const char *name = has_target                            ? request->with.migrate.target
                       : request->call == HV_CALL_PROBE_PATH ? request->with.peer
                                                             : NULL;
    const struct host *target = name != NULL ? libvirt_hosts_find(libvirt, name) : NULL;
    if (name != NULL && target == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "no host '%s' is configured", name);
        return NULL;
    }
    struct job *job = calloc(1, sizeof *job);
    if (job != NULL) {
        job->request = *request;
        job->host = host;
    }
    if (job == NULL || !copy_parts(job, request, target)) {
        libvirt_job_free(job);
        (void)err_set(err, ERR_NOMEM, "request '%s'", hv_call_name(request->call));
        return NULL;
    }
    return job;
}

/* Calls that need no libvirtd and must work when it hangs. */
static bool is_helper_call(enum hv_call call)
{
    return call == HV_CALL_KILL_STREAM || call == HV_CALL_PROBE_PATH;
}

/* hosts_lock held: the host stays until its lane has the request. */
static bool submit_locked(struct libvirt *libvirt, const struct hv_request *request,
                          struct err *err)
{
    struct host *host = libvirt_hosts_find(libvirt, request->host);
    if (host == NULL)
        return err_set(err, ERR_NOT_FOUND, "no host '%s' is configured", request->host);
    if (host->config.observe && hv_call_access(request->call) != HV_ACCESS_OBSERVE)
        return err_set(err, ERR_REFUSED, "host '%s' is in observe mode: %s is not called",
                       request->host, hv_call_name(request->call));
    struct job *job = job_new(libvirt, host, request, err);
    if (job == NULL)
        return false;
    if (is_helper_call(request->call))
        return libvirt_helper_submit(host, job, err);
    /* An abort must not wait until a connection is opened for it. */
    if (request->call == HV_CALL_MIGRATE)
        libvirt_lane_warm(&host->lanes[HV_LANE_CONTROL]);
    return libvirt_lane_submit(&host->lanes[hv_call_lane(request->call)], job, err);
}

static bool submit(void *impl, const struct hv_request *request, struct err *err)
{
    struct libvirt *libvirt = impl;
    (void)pthread_rwlock_rdlock(&libvirt->hosts_lock);
    bool submitted = submit_locked(libvirt, request, err);
    (void)pthread_rwlock_unlock(&libvirt->hosts_lock);
    return submitted;
}

static bool status(void *impl, const char *name, enum hv_lane lane,
                   struct hv_lane_status *out_status)
{
    struct libvirt *libvirt = impl;
    (void)pthread_rwlock_rdlock(&libvirt->hosts_lock);
    struct host *host = libvirt_hosts_find(libvirt, name);
    if (host != NULL)
        libvirt_lane_status(&host->lanes[lane], out_status);
    (void)pthread_rwlock_unlock(&libvirt->hosts_lock);
    return host != NULL;
}

static void tick_lanes(struct libvirt *libvirt)
{
    (void)pthread_rwlock_rdlock(&libvirt->hosts_lock);
    for (size_t i = 0; i < libvirt->n; i++)
        for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
            libvirt_lane_tick(&libvirt->hosts[i]->lanes[lane]);
    (void)pthread_rwlock_unlock(&libvirt->hosts_lock);
}

static void *housekeeping_main(void *arg)
{
    struct libvirt *libvirt = arg;
    while (!atomic_load(&libvirt->closing)) {
        tick_lanes(libvirt);
        libvirt_hosts_reap(libvirt);
        (void)pthread_mutex_lock(&libvirt->lock);
        if (!atomic_load(&libvirt->closing))
            libvirt_wait_cond(&libvirt->changed, &libvirt->lock, TICK_MS);
        (void)pthread_mutex_unlock(&libvirt->lock);
    }
    return libvirt_thread_end(libvirt, NULL);
}

static void wake_all(struct libvirt *libvirt)
{
    (void)pthread_rwlock_rdlock(&libvirt->hosts_lock);
    for (size_t i = 0; i < libvirt->n; i++) {
        for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
            libvirt_lane_wake(&libvirt->hosts[i]->lanes[lane]);
        libvirt_keeper_nudge(&libvirt->hosts[i]->keeper);
    }
    (void)pthread_rwlock_unlock(&libvirt->hosts_lock);
}

/* After this returns no sink is called. Queued requests are dropped; threads inside a call that
 * hangs remain and clean up when it returns. */
static void shut(void *impl)
{
    struct libvirt *libvirt = impl;
    (void)pthread_rwlock_wrlock(&libvirt->gate);
    libvirt->shut = true;
    (void)pthread_rwlock_unlock(&libvirt->gate);

    atomic_store(&libvirt->closing, true);
    wake_all(libvirt);
    int64_t until = clock_mono_ms(clock_system()) + FREE_WAIT_MS;
    (void)pthread_mutex_lock(&libvirt->lock);
    (void)pthread_cond_broadcast(&libvirt->changed);
    for (int64_t left = FREE_WAIT_MS; libvirt->threads > 0 && left > 0;
         left = until - clock_mono_ms(clock_system()))
        libvirt_wait_cond(&libvirt->changed, &libvirt->lock, left);
    (void)pthread_mutex_unlock(&libvirt->lock);
    libvirt_unref(libvirt);
}

static bool start_threads(struct libvirt *libvirt)
{
    bool started = libvirt_thread(libvirt, NULL, housekeeping_main, libvirt);
    for (size_t i = 0; started && i < libvirt->n; i++)
        started =
            libvirt_thread(libvirt, libvirt->hosts[i], libvirt_keeper_main, libvirt->hosts[i]);
    return started;
}

void libvirt_permit(struct hv *hv, const struct hv_permit *permit)
{
    ((struct libvirt *)hv->impl)->permit = *permit;
}

struct hv *libvirt_new(const struct hv_host *hosts, size_t n, const struct clock *clock,
                       const struct hv_event_sink *events, struct err *err)
{
    static const struct hv_ops ops = {submit, status, shut};
    if (!libvirt_loop_start(err))
        return NULL;
    struct libvirt *libvirt = calloc(1, sizeof *libvirt);
    if (libvirt == NULL) {
        (void)err_set(err, ERR_NOMEM, "%zu hosts", n);
        return NULL;
    }
    libvirt->hv = (struct hv){&ops, libvirt};
    libvirt->clock = clock;
    if (events != NULL)
        libvirt->events = *events;
    atomic_store(&libvirt->refs, 1);
    (void)pthread_rwlock_init(&libvirt->gate, NULL);
    (void)pthread_rwlock_init(&libvirt->hosts_lock, NULL);
    (void)pthread_mutex_init(&libvirt->lock, NULL);
    libvirt_wait_cond_init(&libvirt->changed);
    for (size_t i = 0; i < n; i++)
        if (!libvirt_hosts_add(libvirt, &hosts[i], err)) {
            libvirt_unref(libvirt);
            return NULL;
        }
    if (!start_threads(libvirt)) {
        (void)err_set(err, ERR_LIMIT, "no threads for %zu hosts", n);
        shut(libvirt);
        return NULL;
    }
    return &libvirt->hv;
}
