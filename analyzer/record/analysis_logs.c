/* analysis_logs.c - see analysis_logs.h. */
#include "analyzer/record/analysis_logs.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "collector/qemu_log.h"
#include "hypervisor/types.h"

struct analysis_logs {
    atomic_uint holders; /* the worker, and every reading */
    atomic_uint stuck;
};

/* Two references: the worker, which may time out, and the reading thread, which may be late. */
struct reading {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned holders;
    bool done, read;
    struct analysis_logs *logs;
    char dir[512], guest[HV_NAME_MAX], node[HV_HOST_MAX], origin[EVIDENCE_ORIGIN_MAX];
    enum side side;
    int64_t since_ms;
    struct notes notes;
    struct err err;
};

static void logs_drop(struct analysis_logs *logs)
{
    if (atomic_fetch_sub(&logs->holders, 1) == 1)
        free(logs);
}

struct analysis_logs *analysis_logs_new(struct err *err)
{
    struct analysis_logs *logs = calloc(1, sizeof *logs);
    if (logs == NULL)
        (void)err_set(err, ERR_NOMEM, "the reader of logs");
    else
        atomic_init(&logs->holders, 1);
    return logs;
}

void analysis_logs_free(struct analysis_logs *logs)
{
    if (logs != NULL)
        logs_drop(logs);
}

static void reading_drop(struct reading *reading)
{
    (void)pthread_mutex_lock(&reading->lock);
    bool last = --reading->holders == 0;
    (void)pthread_mutex_unlock(&reading->lock);
    if (!last)
        return;
    (void)pthread_cond_destroy(&reading->ended);
    (void)pthread_mutex_destroy(&reading->lock);
    logs_drop(reading->logs);
    notes_fini(&reading->notes);
    free(reading);
}

static void take_line(void *ctx, const char *line, size_t length, int64_t at_ms)
{
    struct reading *reading = ctx;
    notes_message(&reading->notes, reading->side, reading->origin, at_ms, line, length);
}

static void *read_log(void *ctx)
{
    struct reading *reading = ctx;
    reading->read = qemu_log_tail(reading->dir, reading->guest, reading->since_ms, take_line,
                                  reading, &reading->err);
    atomic_fetch_sub(&reading->logs->stuck, 1);
    (void)pthread_mutex_lock(&reading->lock);
    reading->done = true;
    (void)pthread_cond_signal(&reading->ended);
    (void)pthread_mutex_unlock(&reading->lock);
    reading_drop(reading);
    return NULL;
}

static struct reading *reading_new(struct analysis_logs *logs, const struct analysis_log *log)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL)
        return NULL;
    (void)pthread_mutex_init(&reading->lock, NULL);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&reading->ended, &attr);
    (void)pthread_condattr_destroy(&attr);
    reading->holders = 2;
    reading->logs = logs;
    atomic_fetch_add(&logs->holders, 1);
    TEXT_SET(reading->dir, log->dir);
    TEXT_SET(reading->guest, log->guest);
    TEXT_SET(reading->node, log->node);
    (void)snprintf(reading->origin, sizeof reading->origin, "QEMU log on %s", log->node);
    reading->side = log->side;
    reading->since_ms = log->since_ms;
    return reading;
}

/* Starts a detached thread with all signals blocked: main handles them. */
static bool start(struct reading *reading)
{
    sigset_t all, before;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, read_log, reading) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        (void)pthread_detach(thread);
    return started;
}

static bool await(struct reading *reading)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ANALYSIS_LOGS_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    int rc = 0;
    (void)pthread_mutex_lock(&reading->lock);
    while (!reading->done && rc == 0)
        rc = pthread_cond_timedwait(&reading->ended, &reading->lock, &until);
    bool done = reading->done;
    (void)pthread_mutex_unlock(&reading->lock);
    return done;
}

static void unreadable(struct notes *notes, const struct analysis_log *log, const char *why)
{
    notes_fact(notes, log->side == SIDE_SOURCE ? "source_log" : "target_log", "analysis", 0,
               "not read: %s", why);
}

void analysis_logs_read(struct analysis_logs *logs, const struct analysis_log *log,
                        struct notes *notes)
{
    if (log->dir == NULL || log->dir[0] == '\0')
        return;
    if (atomic_fetch_add(&logs->stuck, 1) >= ANALYSIS_LOGS_STUCK_MAX) {
        atomic_fetch_sub(&logs->stuck, 1);
        unreadable(notes, log, "earlier log readings hang");
        return;
    }
    struct reading *reading = reading_new(logs, log);
    if (reading == NULL || !start(reading)) {
        atomic_fetch_sub(&logs->stuck, 1);
        if (reading != NULL) {
            reading->holders = 1;
            reading_drop(reading);
        }
        unreadable(notes, log, "no thread to read it");
        return;
    }
    if (!await(reading)) {
        unreadable(notes, log, "timeout");
    } else if (!reading->read) {
        unreadable(notes, log, reading->err.text);
    } else {
        for (size_t i = 0; i < reading->notes.n; i++)
            notes_message(notes, log->side, reading->origin, reading->notes.rows[i].at_ms,
                          reading->notes.rows[i].text, strlen(reading->notes.rows[i].text));
    }
    reading_drop(reading);
}
