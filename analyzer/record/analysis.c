/* analysis.c - see analysis.h. */
#include "analyzer/record/analysis.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "analyzer/record/analysis_logs.h"
#include "analyzer/record/recorded.h"
#include "base/log.h"
#include "base/queue.h"
#include "base/text.h"

enum { POST_AGAIN_MS = 100, IDLE_MS = 500, BACKLOG_BATCH = 256 };
enum { CRASHED_MAX = 32 };
enum { JUDGE_AGAIN_MS = 500, JUDGE_AGAIN_MAX_MS = 60 * 1000 }; /* doubled after each failure */

struct item {
    char uid[SNAPSHOT_UID_MAX];
    bool seen;    /* to end, by this process */
    bool crashed; /* it has a verdict from before the crash */
};

struct loss {
    char host[HV_HOST_MAX];
    int64_t at_ms; /* wall */
    char text[160];
};

struct log_dir { /* of a host whose logs can be read from here */
    char node[HV_HOST_MAX];
    char *dir; /* owned */
};

struct analysis {
    struct analysis_parts parts;
    pthread_mutex_t log_dirs_lock;
    struct log_dir *log_dirs;
    size_t n_log_dirs;
    struct queue *queue; /* of struct item */
    struct judge *judge;
    struct analysis_logs *logs;
    struct verdict verdict; /* of the current job: too big for the stack */
    struct recorded_rows rows;
    pthread_t thread;
    bool has_thread;
    atomic_bool stop;
    atomic_bool behind;                    /* the store may have ended jobs that were not posted */
    struct item crashed_jobs[CRASHED_MAX]; /* crashed after arrival and not yet judged again;
                                              retried with the next search */
    size_t n_crashed;
    char reported[CRASHED_MAX][SNAPSHOT_UID_MAX]; /* ring: jobs whose crash was reported */
    size_t n_reported;
    int64_t again_ms, wait_ms; /* monotonic: next search; length of the last wait */
    atomic_uint_fast64_t posted, stored;
    pthread_mutex_t losses_lock;
    struct loss losses[ANALYSIS_LOSSES_MAX]; /* ring */
    size_t n_losses;
    atomic_uint_fast64_t judged, failures;
    atomic_int_fast64_t last_ms, worst_ms;
};

/* ---- input ---- */

void analysis_on_finished(struct analysis *analysis, const struct snapshot_job *job)
{
    struct item item = {.seen = true};
    TEXT_SET(item.uid, job->uid);
    if (!queue_push(analysis->queue, &item))
        atomic_store(&analysis->behind, true);
}

void analysis_on_crashed(struct analysis *analysis, const char *job_uid)
{
    struct item item = {.crashed = true};
    TEXT_SET(item.uid, job_uid);
    if (!queue_push(analysis->queue, &item))
        LOG(ERROR, "verdict_not_renewed", FIELD_TEXT(MIGRATION, job_uid));
}

void analysis_on_judged(struct analysis *analysis, const struct verdict_rows *verdict_rows)
{
    (void)verdict_rows;
    atomic_fetch_add(&analysis->stored, 1);
}

void analysis_on_host(struct analysis *analysis, const char *host, bool connected,
                      const struct err *err)
{
    if (connected)
        return;
    (void)pthread_mutex_lock(&analysis->losses_lock);
    struct loss *loss = &analysis->losses[analysis->n_losses++ % ANALYSIS_LOSSES_MAX];
    TEXT_SET(loss->host, host);
    TEXT_SET(loss->text, err != NULL ? err->text : "");
    loss->at_ms = clock_wall_ms(analysis->parts.clock);
    (void)pthread_mutex_unlock(&analysis->losses_lock);
}

/* ---- gathering ---- */

/* The first loss of the host while the job ran. */
static bool find_loss(struct analysis *analysis, const char *host, const struct gathered *job,
                      struct loss *out_loss)
{
    bool found = false;
    (void)pthread_mutex_lock(&analysis->losses_lock);
    size_t have =
        analysis->n_losses < ANALYSIS_LOSSES_MAX ? analysis->n_losses : ANALYSIS_LOSSES_MAX;
    for (size_t i = analysis->n_losses - have; i < analysis->n_losses && !found; i++) {
        const struct loss *loss = &analysis->losses[i % ANALYSIS_LOSSES_MAX];
        found = strcmp(loss->host, host) == 0 && loss->at_ms >= job->handed_off_ms &&
                loss->at_ms <= job->ended_ms;
        if (found)
            *out_loss = *loss;
    }
    (void)pthread_mutex_unlock(&analysis->losses_lock);
    return found;
}

static void note_loss(struct analysis *analysis, const char *host, enum side side,
                      const struct gathered *job, struct notes *notes)
{
    struct loss loss;
    if (host[0] == '\0' || job->handed_off_ms == 0 || !find_loss(analysis, host, job, &loss))
        return;
    int64_t end_ms = job->answered_ms > loss.at_ms ? job->answered_ms : job->ended_ms;
    int64_t before_ms = end_ms > loss.at_ms ? end_ms - loss.at_ms : 1; /* 0 means never */
    notes_fact(notes, side == SIDE_SOURCE ? "source_lost_ms" : "target_lost_ms", "connection",
               loss.at_ms, "%lld", (long long)before_ms);
    char origin[EVIDENCE_ORIGIN_MAX];
    (void)snprintf(origin, sizeof origin, "connection to %s", host);
    notes_message(notes, side, origin, loss.at_ms, loss.text, strlen(loss.text));
}

/* Into out_dir, PATH_MAX bytes; empty: not readable from here. */
static void log_dir_of(struct analysis *analysis, const char *node, char *out_dir)
{
    out_dir[0] = '\0';
    (void)pthread_mutex_lock(&analysis->log_dirs_lock);
    for (size_t i = 0; i < analysis->n_log_dirs; i++)
        if (strcmp(analysis->log_dirs[i].node, node) == 0)
            (void)text_copy(out_dir, PATH_MAX, analysis->log_dirs[i].dir);
    (void)pthread_mutex_unlock(&analysis->log_dirs_lock);
}

bool analysis_qemu_log(struct analysis *analysis, const char *node, const char *guest,
                       struct buf *out, struct err *err)
{
    char dir[PATH_MAX];
    log_dir_of(analysis, node, dir);
    if (dir[0] == '\0')
        return err_set(err, ERR_NOT_FOUND, "the host has no qemuLogDir");
    struct notes notes = {0};
    const struct analysis_log log = {.dir = dir, .guest = guest, .node = node, .side = SIDE_SOURCE};
    analysis_logs_read(analysis->logs, &log, &notes);
    bool is_read = true;
    for (size_t i = 0; i < notes.n; i++) {
        bool is_line = notes.rows[i].key[0] == '\0';
        if (is_line)
            buf_addf(out, "%s\n", notes.rows[i].text);
        else
            is_read = err_set(err, ERR_IO, "%s", notes.rows[i].text);
    }
    notes_fini(&notes);
    return is_read;
}

static void free_log_dirs(struct log_dir *dirs, size_t n)
{
    for (size_t i = 0; dirs != NULL && i < n; i++)
        free(dirs[i].dir);
    free(dirs);
}

bool analysis_set_hosts(struct analysis *analysis, const struct analysis_host *hosts, size_t n,
                        struct err *err)
{
    size_t kept = 0;
    bool copied = true;
    struct log_dir *dirs = calloc(n + 1, sizeof *dirs);
    for (size_t i = 0; dirs != NULL && copied && i < n; i++) {
        if (hosts[i].log_dir == NULL || hosts[i].log_dir[0] == '\0')
            continue;
        TEXT_SET(dirs[kept].node, hosts[i].name);
        dirs[kept].dir = strdup(hosts[i].log_dir);
        copied = dirs[kept++].dir != NULL;
    }
    if (dirs == NULL || !copied) {
        free_log_dirs(dirs, kept);
        return err_set(err, ERR_NOMEM, "no memory for the logs of %zu hosts", n);
    }
    (void)pthread_mutex_lock(&analysis->log_dirs_lock);
    struct log_dir *before = analysis->log_dirs;
    size_t n_before = analysis->n_log_dirs;
    analysis->log_dirs = dirs;
    analysis->n_log_dirs = kept;
    (void)pthread_mutex_unlock(&analysis->log_dirs_lock);
    free_log_dirs(before, n_before);
    return true;
}

static void note_logs(struct analysis *analysis, const struct gathered *job, struct notes *notes)
{
    const struct {
        const char *node;
        enum side side;
    } ends[] = {{job->source, SIDE_SOURCE}, {job->target, SIDE_TARGET}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        char dir[PATH_MAX];
        log_dir_of(analysis, ends[i].node, dir);
        const struct analysis_log log = {.dir = dir,
                                         .guest = job->guest,
                                         .node = ends[i].node,
                                         .side = ends[i].side,
                                         .since_ms =
                                             job->handed_off_ms - GATHERED_CLOCKS_DIFFER_MS};
        analysis_logs_read(analysis->logs, &log, notes);
    }
}

/* Samples are written with a delay: waits briefly for the last ones. */
static bool gather(struct analysis *analysis, const struct gathered *job, struct notes *notes,
                   struct err *err)
{
    struct store *store = analysis->parts.store;
    struct err late = {0};
    if (!job->handed_off)
        return true;
    (void)store->ops->flush_samples(store, ANALYSIS_SAMPLES_WAIT_MS, &late);
    if (!gather_trends(store, job, notes, err))
        return false;
    note_loss(analysis, job->source, SIDE_SOURCE, job, notes);
    note_loss(analysis, job->target, SIDE_TARGET, job, notes);
    note_logs(analysis, job, notes);
    return true;
}

/* ---- judging ---- */

static void hand_back(struct analysis *analysis, const struct gathered *job,
                      const struct notes *notes)
{
    struct verdict_rows verdict_rows;
    struct err err = {0};
    recorded_fill(&analysis->verdict, job, notes, clock_wall_ms(analysis->parts.clock),
                  &analysis->rows, &verdict_rows);
    while (!analysis->parts.post(analysis->parts.ctx, &verdict_rows, &err)) {
        if (!analysis->has_thread || atomic_load(&analysis->stop)) {
            atomic_store(&analysis->behind, true);
            return;
        }
        clock_sleep_ms(POST_AGAIN_MS);
        err = (struct err){0};
    }
    atomic_fetch_add(&analysis->posted, 1);
    atomic_fetch_add(&analysis->judged, 1);
}

/* The observation of the crash may come before the first verdict, or twice. */
static bool is_crash_reported(struct analysis *analysis, const char *uid)
{
    for (size_t i = 0; i < analysis->n_reported && i < CRASHED_MAX; i++)
        if (strcmp(analysis->reported[i], uid) == 0)
            return true;
    TEXT_SET(analysis->reported[analysis->n_reported++ % CRASHED_MAX], uid);
    return false;
}

static void note_time(struct analysis *analysis, const struct gathered *job)
{
    int64_t spent_ms = clock_wall_ms(analysis->parts.clock) - job->ended_ms;
    atomic_store(&analysis->last_ms, spent_ms);
    if (spent_ms > atomic_load(&analysis->worst_ms))
        atomic_store(&analysis->worst_ms, spent_ms);
}

static bool judge_item(struct analysis *analysis, const struct item *item, struct err *err)
{
    struct gathered job;
    struct notes notes = {0};
    if (!gather_job(analysis->parts.store, item->uid, &job, err))
        return false;
    if (job.outcome == OUTCOME_NONE || (item->crashed && !job.crashed))
        return true; /* no such job, or not ended */
    bool done = true;
    if (recorded_is_plain(&job))
        recorded_plain(&job, analysis->parts.rules, &analysis->verdict);
    else
        done = gather(analysis, &job, &notes, err) &&
               recorded_judge(analysis->parts.store, &job, &notes, analysis->judge,
                              &analysis->verdict, err);
    bool crashed = analysis->verdict.guest == GUEST_AT_CRASHED;
    if (done &&
        (crashed ? !is_crash_reported(analysis, item->uid) : !item->crashed)) /* else nothing new */
        hand_back(analysis, &job, &notes);
    if (done && item->seen)
        note_time(analysis, &job);
    notes_fini(&notes);
    return done;
}

/* Another appliance judges its own. */
static bool is_ours(const struct fleet_cells *cells, const char *cell)
{
    for (size_t i = 0; cells != NULL && i < cells->n; i++)
        if (text_equal(cells->list[i], cell))
            return true;
    return cells == NULL;
}

static bool add_unjudged(void *ctx, const struct store_job *row)
{
    struct analysis *analysis = ctx;
    struct item item = {.seen = false};
    if (!is_ours(analysis->parts.cells, row->cell))
        return true;
    TEXT_SET(item.uid, row->uid);
    if (queue_depth(analysis->queue) < BACKLOG_BATCH && queue_push(analysis->queue, &item))
        return true;
    atomic_store(&analysis->behind, true); /* the rest with the next search */
    return false;
}

/* Only when all posted verdicts are stored: one in flight is not in the store yet. */
static void find_unjudged(struct analysis *analysis)
{
    struct err err = {0};
    if (clock_mono_ms(analysis->parts.clock) < analysis->again_ms ||
        atomic_load(&analysis->posted) != atomic_load(&analysis->stored) ||
        !atomic_exchange(&analysis->behind, false))
        return;
    while (analysis->n_crashed > 0 &&
           queue_push(analysis->queue, &analysis->crashed_jobs[analysis->n_crashed - 1]))
        analysis->n_crashed--;
    struct store *store = analysis->parts.store;
    if (!store->ops->each_unjudged(store, add_unjudged, analysis, &err)) {
        atomic_store(&analysis->behind, true);
        LOG(WARN, "verdicts_not_found", FIELD_TEXT(ERROR, err.text));
    }
}

/* The job is found in the store again, unless it has a verdict; the interval grows for one that can
 * never be judged. */
static void judge_again(struct analysis *analysis, const struct item *item)
{
    if (item->crashed && analysis->n_crashed < CRASHED_MAX)
        analysis->crashed_jobs[analysis->n_crashed++] = *item;
    int64_t now_ms = clock_mono_ms(analysis->parts.clock);
    atomic_store(&analysis->behind, true);
    if (now_ms < analysis->again_ms)
        return; /* with the other failed jobs */
    int64_t wait_ms = analysis->wait_ms == 0 ? JUDGE_AGAIN_MS : analysis->wait_ms * 2;
    analysis->wait_ms = wait_ms < JUDGE_AGAIN_MAX_MS ? wait_ms : JUDGE_AGAIN_MAX_MS;
    analysis->again_ms = now_ms + analysis->wait_ms;
}

static bool take(struct analysis *analysis, int64_t wait_ms)
{
    struct item item;
    struct err err = {0};
    if (queue_depth(analysis->queue) == 0)
        find_unjudged(analysis);
    if (queue_pop(analysis->queue, &item, wait_ms) != QUEUE_ITEM)
        return false;
    if (!judge_item(analysis, &item, &err)) {
        atomic_fetch_add(&analysis->failures, 1);
        judge_again(analysis, &item);
        LOG(ERROR, "verdict_failed", FIELD_TEXT(MIGRATION, item.uid), FIELD_TEXT(ERROR, err.text));
    } else if (!item.seen) {
        analysis->wait_ms = 0;
    }
    return true;
}

bool analysis_step(struct analysis *analysis)
{
    return take(analysis, 0);
}

/* ---- creation and end ---- */

static void *work(void *ctx)
{
    struct analysis *analysis = ctx;
    while (!atomic_load(&analysis->stop))
        (void)take(analysis, IDLE_MS);
    return NULL;
}

struct analysis *analysis_new(const struct analysis_parts *parts, struct err *err)
{
    OWNED(analysis) analysis = calloc(1, sizeof *analysis);
    if (analysis == NULL) {
        (void)err_set(err, ERR_NOMEM, "the analysis worker");
        return NULL;
    }
    analysis->parts = *parts;
    (void)pthread_mutex_init(&analysis->losses_lock, NULL);
    (void)pthread_mutex_init(&analysis->log_dirs_lock, NULL);
    atomic_init(&analysis->behind, true);
    analysis->queue = queue_new(sizeof(struct item), ANALYSIS_QUEUE_MAX, err);
    analysis->judge = analysis->queue != NULL ? judge_new(parts->rules, err) : NULL;
    analysis->logs = analysis->judge != NULL ? analysis_logs_new(err) : NULL;
    return analysis->logs != NULL ? TAKE(analysis) : NULL;
}

bool analysis_start(struct analysis *analysis, struct err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    analysis->has_thread = true;
    int failure = pthread_create(&analysis->thread, NULL, work, analysis);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    analysis->has_thread = failure == 0;
    return failure == 0 || err_set(err, ERR_LIMIT, "cannot start the analyser's thread");
}

void analysis_free(struct analysis *analysis)
{
    if (analysis == NULL)
        return;
    atomic_store(&analysis->stop, true);
    if (analysis->queue != NULL)
        queue_close(analysis->queue);
    if (analysis->has_thread)
        (void)pthread_join(analysis->thread, NULL);
    queue_free(analysis->queue);
    judge_free(analysis->judge);
    analysis_logs_free(analysis->logs);
    (void)pthread_mutex_destroy(&analysis->losses_lock);
    free_log_dirs(analysis->log_dirs, analysis->n_log_dirs);
    (void)pthread_mutex_destroy(&analysis->log_dirs_lock);
    free(analysis);
}

void analysis_stats(struct analysis *analysis, struct analysis_stats *out_stats)
{
    *out_stats = (struct analysis_stats){
        .judged = atomic_load(&analysis->judged),
        .failures = atomic_load(&analysis->failures),
        .last_ms = atomic_load(&analysis->last_ms),
        .worst_ms = atomic_load(&analysis->worst_ms),
        .queue = queue_depth(analysis->queue),
    };
}
