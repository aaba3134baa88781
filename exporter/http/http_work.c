/* http_work.c - the worker threads of http.h. Jobs are members of their requests, so the queue is a
 * list and a push allocates nothing. */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "exporter/http/http.h"

enum { QUIET_NICE = 10 };

struct http_work {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_job *first, **last;
    unsigned waiting, capacity;
    bool stopping, is_quiet;
    unsigned n_threads;
    pthread_t threads[];
};

static struct http_job *take(struct http_work *work, bool *out_stopping)
{
    (void)pthread_mutex_lock(&work->lock);
    while (work->first == NULL && !work->stopping)
        (void)pthread_cond_wait(&work->changed, &work->lock);
    struct http_job *job = work->first;
    if (job != NULL) {
        work->first = job->next;
        if (work->first == NULL)
            work->last = &work->first;
        work->waiting--;
    }
    *out_stopping = work->stopping;
    (void)pthread_mutex_unlock(&work->lock);
    return job;
}

static void *run_jobs(void *arg)
{
    bool stopping;
    const struct http_work *work = arg;
    if (work->is_quiet) /* a thread has a priority of its own in Linux; refused: as the others */
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), QUIET_NICE);
    for (struct http_job *job; (job = take(arg, &stopping)) != NULL;)
        job->run(job, stopping);
    return NULL;
}

struct http_work *http_work_new(unsigned threads, unsigned capacity, bool is_quiet, struct err *err)
{
    struct http_work *work = calloc(1, sizeof *work + threads * sizeof work->threads[0]);
    if (work == NULL) {
        err_set(err, ERR_NOMEM, "no memory for %u workers", threads);
        return NULL;
    }
    (void)pthread_mutex_init(&work->lock, NULL);
    (void)pthread_cond_init(&work->changed, NULL);
    work->last = &work->first;
    work->capacity = capacity;
    work->is_quiet = is_quiet;
    for (; work->n_threads < threads; work->n_threads++)
        if (pthread_create(&work->threads[work->n_threads], NULL, run_jobs, work) != 0) {
            http_work_free(work);
            err_set(err, ERR_NOMEM, "cannot start %u workers", threads);
            return NULL;
        }
    return work;
}

bool http_work_push(struct http_work *work, struct http_job *job)
{
    (void)pthread_mutex_lock(&work->lock);
    bool fits = work->waiting < work->capacity && !work->stopping;
    if (fits) {
        job->next = NULL;
        *work->last = job;
        work->last = &job->next;
        work->waiting++;
        (void)pthread_cond_signal(&work->changed);
    }
    (void)pthread_mutex_unlock(&work->lock);
    return fits;
}

bool http_work_is_stopping(struct http_work *work)
{
    (void)pthread_mutex_lock(&work->lock);
    bool stopping = work->stopping;
    (void)pthread_mutex_unlock(&work->lock);
    return stopping;
}

void http_work_stop(struct http_work *work)
{
    (void)pthread_mutex_lock(&work->lock);
    work->stopping = true;
    (void)pthread_cond_broadcast(&work->changed);
    (void)pthread_mutex_unlock(&work->lock);
    for (unsigned i = 0; i < work->n_threads; i++)
        (void)pthread_join(work->threads[i], NULL);
    work->n_threads = 0;
}

void http_work_free(struct http_work *work)
{
    if (work == NULL)
        return;
    http_work_stop(work);
    (void)pthread_cond_destroy(&work->changed);
    (void)pthread_mutex_destroy(&work->lock);
    free(work);
}
