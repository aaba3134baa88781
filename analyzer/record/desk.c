/* desk.c - see desk.h. */
#include "analyzer/record/desk.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "analyzer/record/desk_logs.h"
#include "analyzer/record/recorded.h"
#include "base/log.h"
#include "base/queue.h"
#include "base/text.h"

enum { POST_AGAIN_MS = 100, IDLE_MS = 500, BACKLOG_BATCH = 256 };
enum { FALLEN_MAX = 32 };
enum { JUDGE_AGAIN_MS = 500, JUDGE_AGAIN_MAX_MS = 60 * 1000 }; /* doubled while it does not help */

struct item {
    char uid[SNAPSHOT_UID_MAX];
    bool seen; /* to end, by this process */
    bool fell; /* it has a verdict, without what was seen since */
};

struct loss {
    char host[HV_HOST_MAX];
    int64_t at_ms; /* wall */
    char text[160];
};

struct desk {
    struct desk_parts parts;
    struct queue *queue; /* of struct item */
    struct judge *judge;
    struct desk_logs *logs;
    struct verdict verdict; /* the one at hand: too big for a stack */
    struct recorded_rows rows;
    pthread_t thread;
    bool has_thread;
    atomic_bool stop;
    atomic_bool behind;             /* the store may hold jobs that nobody will tell of */
    struct item fallen[FALLEN_MAX]; /* that could not be judged again yet, with the next look */
    size_t n_fallen;
    char told[FALLEN_MAX][SNAPSHOT_UID_MAX]; /* ring: jobs that were said to have fallen */
    size_t n_told;
    int64_t again_ms, wait_ms; /* monotonic: not looked for before; how long the last wait was */
    atomic_uint_fast64_t posted, stored;
    pthread_mutex_t losses_lock;
    struct loss losses[DESK_LOSSES_MAX]; /* ring */
    size_t n_losses;
    atomic_uint_fast64_t judged, failures;
    atomic_int_fast64_t last_ms, worst_ms;
};

/* ---- what is told ---- */

void desk_on_finished(struct desk *desk, const struct snapshot_job *job)
{
    struct item item = {.seen = true};
    TEXT_SET(item.uid, job->uid);
    if (!queue_push(desk->queue, &item))
        atomic_store(&desk->behind, true);
}

void desk_on_fell(struct desk *desk, const char *job_uid)
{
    struct item item = {.fell = true};
    TEXT_SET(item.uid, job_uid);
    if (!queue_push(desk->queue, &item))
        LOG(ERROR, "verdict_not_renewed", FIELD_TEXT(MIGRATION, job_uid));
}

void desk_on_judged(struct desk *desk, const struct judgement *judgement)
{
    (void)judgement;
    atomic_fetch_add(&desk->stored, 1);
}

void desk_on_host(struct desk *desk, const char *host, bool connected, const struct err *err)
{
    if (connected)
        return;
    (void)pthread_mutex_lock(&desk->losses_lock);
    struct loss *loss = &desk->losses[desk->n_losses++ % DESK_LOSSES_MAX];
    TEXT_SET(loss->host, host);
    TEXT_SET(loss->text, err != NULL ? err->text : "");
    loss->at_ms = clock_wall_ms(desk->parts.clock);
    (void)pthread_mutex_unlock(&desk->losses_lock);
}

/* ---- gathering ---- */

/* The first time that the host was lost while the job was under way. */
static bool find_loss(struct desk *desk, const char *host, const struct gathered *job,
                      struct loss *out_loss)
{
    bool found = false;
    (void)pthread_mutex_lock(&desk->losses_lock);
    size_t have = desk->n_losses < DESK_LOSSES_MAX ? desk->n_losses : DESK_LOSSES_MAX;
    for (size_t i = desk->n_losses - have; i < desk->n_losses && !found; i++) {
        const struct loss *loss = &desk->losses[i % DESK_LOSSES_MAX];
        found = strcmp(loss->host, host) == 0 && loss->at_ms >= job->handed_off_ms &&
                loss->at_ms <= job->ended_ms;
        if (found)
            *out_loss = *loss;
    }
    (void)pthread_mutex_unlock(&desk->losses_lock);
    return found;
}

static void note_loss(struct desk *desk, const char *host, enum side side,
                      const struct gathered *job, struct notes *notes)
{
    struct loss loss;
    if (host[0] == '\0' || job->handed_off_ms == 0 || !find_loss(desk, host, job, &loss))
        return;
    int64_t end_ms = job->answered_ms > loss.at_ms ? job->answered_ms : job->ended_ms;
    int64_t before_ms = end_ms > loss.at_ms ? end_ms - loss.at_ms : 1; /* 0 would say: never */
    notes_fact(notes, side == SIDE_SOURCE ? "source_lost_ms" : "target_lost_ms", "connection",
               loss.at_ms, "%lld", (long long)before_ms);
    char origin[EVIDENCE_ORIGIN_MAX];
    (void)snprintf(origin, sizeof origin, "connection to %s", host);
    notes_message(notes, side, origin, loss.at_ms, loss.text, strlen(loss.text));
}

static const char *log_dir_of(const struct desk *desk, const char *node)
{
    for (size_t i = 0; i < desk->parts.n_hosts; i++)
        if (strcmp(desk->parts.hosts[i].name, node) == 0)
            return desk->parts.hosts[i].log_dir;
    return NULL;
}

static void note_logs(struct desk *desk, const struct gathered *job, struct notes *notes)
{
    enum { CLOCKS_DIFFER_MS = 2000 };
    const struct {
        const char *node;
        enum side side;
    } ends[] = {{job->source, SIDE_SOURCE}, {job->target, SIDE_TARGET}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        const struct desk_log log = {.dir = log_dir_of(desk, ends[i].node),
                                     .guest = job->guest,
                                     .node = ends[i].node,
                                     .side = ends[i].side,
                                     .since_ms = job->handed_off_ms - CLOCKS_DIFFER_MS};
        desk_logs_read(desk->logs, &log, notes);
    }
}

/* Samples are written behind: those of the last moments are waited for, a little. */
static bool gather(struct desk *desk, const struct gathered *job, struct notes *notes,
                   struct err *err)
{
    struct store *store = desk->parts.store;
    struct err late = {0};
    if (!job->handed_off)
        return true;
    (void)store->ops->flush_samples(store, DESK_SAMPLES_WAIT_MS, &late);
    if (!gather_trends(store, job, notes, err))
        return false;
    note_loss(desk, job->source, SIDE_SOURCE, job, notes);
    note_loss(desk, job->target, SIDE_TARGET, job, notes);
    note_logs(desk, job, notes);
    return true;
}

/* ---- judging ---- */

static void hand_back(struct desk *desk, const struct gathered *job, const struct notes *notes)
{
    struct judgement judgement;
    struct err err = {0};
    recorded_fill(&desk->verdict, job, notes, clock_wall_ms(desk->parts.clock), &desk->rows,
                  &judgement);
    while (!desk->parts.post(desk->parts.ctx, &judgement, &err)) {
        if (!desk->has_thread || atomic_load(&desk->stop)) {
            atomic_store(&desk->behind, true);
            return;
        }
        clock_sleep_ms(POST_AGAIN_MS);
        err = (struct err){0};
    }
    atomic_fetch_add(&desk->posted, 1);
    atomic_fetch_add(&desk->judged, 1);
}

/* The look that finds it may come before its first verdict, or twice. */
static bool was_told(struct desk *desk, const char *uid)
{
    for (size_t i = 0; i < desk->n_told && i < FALLEN_MAX; i++)
        if (strcmp(desk->told[i], uid) == 0)
            return true;
    TEXT_SET(desk->told[desk->n_told++ % FALLEN_MAX], uid);
    return false;
}

static void note_time(struct desk *desk, const struct gathered *job)
{
    int64_t spent_ms = clock_wall_ms(desk->parts.clock) - job->ended_ms;
    atomic_store(&desk->last_ms, spent_ms);
    if (spent_ms > atomic_load(&desk->worst_ms))
        atomic_store(&desk->worst_ms, spent_ms);
}

static bool judge_item(struct desk *desk, const struct item *item, struct err *err)
{
    struct gathered job;
    struct notes notes = {0};
    if (!gather_job(desk->parts.store, item->uid, &job, err))
        return false;
    if (job.outcome == OUTCOME_NONE || (item->fell && !job.fell))
        return true; /* no such job, or not over; nothing new */
    bool done = true;
    if (recorded_is_plain(&job))
        recorded_plain(&job, desk->parts.rules, &desk->verdict);
    else
        done = gather(desk, &job, &notes, err) &&
               recorded_judge(desk->parts.store, &job, &notes, desk->judge, &desk->verdict, err);
    bool fell = desk->verdict.guest == GUEST_AT_FELL;
    if (done && (fell ? !was_told(desk, item->uid) : !item->fell)) /* else nothing new */
        hand_back(desk, &job, &notes);
    if (done && item->seen)
        note_time(desk, &job);
    notes_fini(&notes);
    return done;
}

static bool add_unjudged(void *ctx, const struct store_job *row)
{
    struct desk *desk = ctx;
    struct item item = {.seen = false};
    TEXT_SET(item.uid, row->uid);
    if (queue_depth(desk->queue) < BACKLOG_BATCH && queue_push(desk->queue, &item))
        return true;
    atomic_store(&desk->behind, true); /* the rest with the next look */
    return false;
}

/* Only when everything handed back is stored: what is on its way has no verdict there yet. */
static void find_unjudged(struct desk *desk)
{
    struct err err = {0};
    if (clock_mono_ms(desk->parts.clock) < desk->again_ms ||
        atomic_load(&desk->posted) != atomic_load(&desk->stored) ||
        !atomic_exchange(&desk->behind, false))
        return;
    while (desk->n_fallen > 0 && queue_push(desk->queue, &desk->fallen[desk->n_fallen - 1]))
        desk->n_fallen--;
    struct store *store = desk->parts.store;
    if (!store->ops->each_unjudged(store, add_unjudged, desk, &err)) {
        atomic_store(&desk->behind, true);
        LOG(WARN, "verdicts_not_found", FIELD_TEXT(ERROR, err.text));
    }
}

/* It is found in the store again, unless it has a verdict; one that can never be judged costs less
 * and less. */
static void judge_again(struct desk *desk, const struct item *item)
{
    if (item->fell && desk->n_fallen < FALLEN_MAX)
        desk->fallen[desk->n_fallen++] = *item;
    int64_t now_ms = clock_mono_ms(desk->parts.clock);
    atomic_store(&desk->behind, true);
    if (now_ms < desk->again_ms)
        return; /* with the others that could not be read */
    int64_t wait_ms = desk->wait_ms == 0 ? JUDGE_AGAIN_MS : desk->wait_ms * 2;
    desk->wait_ms = wait_ms < JUDGE_AGAIN_MAX_MS ? wait_ms : JUDGE_AGAIN_MAX_MS;
    desk->again_ms = now_ms + desk->wait_ms;
}

static bool take(struct desk *desk, int64_t wait_ms)
{
    struct item item;
    struct err err = {0};
    if (queue_depth(desk->queue) == 0)
        find_unjudged(desk);
    if (queue_pop(desk->queue, &item, wait_ms) != QUEUE_ITEM)
        return false;
    if (!judge_item(desk, &item, &err)) {
        atomic_fetch_add(&desk->failures, 1);
        judge_again(desk, &item);
        LOG(ERROR, "verdict_failed", FIELD_TEXT(MIGRATION, item.uid), FIELD_TEXT(ERROR, err.text));
    } else if (!item.seen) {
        desk->wait_ms = 0;
    }
    return true;
}

bool desk_step(struct desk *desk)
{
    return take(desk, 0);
}

/* ---- life ---- */

static void *work(void *ctx)
{
    struct desk *desk = ctx;
    while (!atomic_load(&desk->stop))
        (void)take(desk, IDLE_MS);
    return NULL;
}

struct desk *desk_new(const struct desk_parts *parts, struct err *err)
{
    OWNED(desk) desk = calloc(1, sizeof *desk);
    if (desk == NULL) {
        (void)err_set(err, ERR_NOMEM, "the analyser's desk");
        return NULL;
    }
    desk->parts = *parts;
    (void)pthread_mutex_init(&desk->losses_lock, NULL);
    atomic_init(&desk->behind, true);
    desk->queue = queue_new(sizeof(struct item), DESK_QUEUE_MAX, err);
    desk->judge = desk->queue != NULL ? judge_new(parts->rules, err) : NULL;
    desk->logs = desk->judge != NULL ? desk_logs_new(err) : NULL;
    return desk->logs != NULL ? TAKE(desk) : NULL;
}

bool desk_start(struct desk *desk, struct err *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    desk->has_thread = true;
    int failure = pthread_create(&desk->thread, NULL, work, desk);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    desk->has_thread = failure == 0;
    return failure == 0 || err_set(err, ERR_LIMIT, "cannot start the analyser's thread");
}

void desk_free(struct desk *desk)
{
    if (desk == NULL)
        return;
    atomic_store(&desk->stop, true);
    if (desk->queue != NULL)
        queue_close(desk->queue);
    if (desk->has_thread)
        (void)pthread_join(desk->thread, NULL);
    queue_free(desk->queue);
    judge_free(desk->judge);
    desk_logs_free(desk->logs);
    (void)pthread_mutex_destroy(&desk->losses_lock);
    free(desk);
}

void desk_stats(struct desk *desk, struct desk_stats *out_stats)
{
    *out_stats = (struct desk_stats){
        .judged = atomic_load(&desk->judged),
        .failures = atomic_load(&desk->failures),
        .last_ms = atomic_load(&desk->last_ms),
        .worst_ms = atomic_load(&desk->worst_ms),
        .queue = queue_depth(desk->queue),
    };
}
