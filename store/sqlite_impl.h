/* sqlite_impl.h - what the parts of the SQLite store share. Private to store/.
 *
 * Each lane (objects, samples) is one file with one writing connection and a few idle reading ones.
 * In memory there is only the writing connection; then one recursive lock per lane, held from begin
 * to commit, hides open transactions from other threads, and samples are written at once, without a
 * thread, so that a simulation is repeatable.
 */
#ifndef STORE_SQLITE_IMPL_H
#define STORE_SQLITE_IMPL_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "base/queue.h"
#include "store/db.h"
#include "store/dbfile.h"
#include "store/rows.h"
#include "store/statedir.h"
#include "store/store.h"

enum { READERS_IDLE_MAX = 4 };
enum { EVENTS_TRIM_BATCH = 256 };

/* Statements other than puts. */
enum chore {
    CHORE_CLEAR_REJECTIONS,
    CHORE_CLEAR_VERDICT,
    CHORE_CLEAR_POINTS,
    CHORE_CLEAR_NUMBERS,
    CHORE_TRIM_OBJECT_EVENTS,
    CHORE_TRIM_EVENTS,
    CHORE_COUNT
};

struct lane_db {
    bool in_memory;
    struct dbfile file;
    sqlite3 *db;                  /* the writer */
    sqlite3_stmt *put[ROW_COUNT]; /* of this lane, prepared once */
    sqlite3_stmt *chores[CHORE_COUNT];
    pthread_mutex_t lock; /* recursive; guards `idle`, and `db` when in memory */
    sqlite3 *idle[READERS_IDLE_MAX];
    size_t idle_count;
};

/* The objects lane: the open transaction. One thread. */
struct objects {
    bool is_open;
    struct err failure;            /* the first one since begin */
    int64_t events, events_before; /* rows in the table: now, and at begin */
};

/* Items of the sample writer's queue. */
struct sample_item {
    uint64_t flush; /* not 0: a flush marker, no row */
    enum row kind;  /* ROW_SAMPLE, ROW_MONITOR_INPUT or ROW_AUDIT */
    union {
        struct store_sample sample;
        struct store_monitor_input monitor_input;
        struct store_audit audit;
    } row;
};

struct samples {
    struct queue *queue; /* NULL in memory */
    pthread_t thread;
    bool is_running;
    struct sample_item *batch; /* the writer's, STORE_SAMPLE_BATCH_MAX */
    pthread_mutex_t lock;      /* guards the rest */
    pthread_cond_t flushed;
    uint64_t flush_asked, flush_done;
    struct err loss;  /* the first failure since the last flush */
    bool is_dropping; /* the newest batch could not be written */
};

struct retaining {
    atomic_bool is_set;         /* `settings` is final */
    atomic_int_fast64_t now_ms; /* of the last retain(): the sample writer's clock; 0: none yet */
    struct store_retention settings;
    char cursor[64];   /* the last trace visited; the sample writer's, as `pressure` */
    unsigned pressure; /* how often the ages are halved: the file is too large */
    int64_t noted_ms;  /* the time that was stored last; the engine's */
};

struct store_sqlite {
    struct store store; /* first */
    struct statedir state;
    struct lane_db lanes[LANE_COUNT];
    struct objects objects;
    struct samples samples;
    atomic_uint_fast64_t commits, commit_failures, commit_ms_total;
    atomic_uint_fast64_t samples_written, samples_dropped, sample_batches;
    atomic_uint_fast64_t samples_retired, jobs_dropped;
    struct retaining retention;
};

static inline struct store_sqlite *store_sqlite_of(struct store *s)
{
    return (struct store_sqlite *)(void *)s;
}

/* sqlite_lane.c */
void lane_init(struct lane_db *lane);
MUST_CHECK bool lane_open_memory(struct lane_db *lane, enum lane which, struct err *err);
MUST_CHECK bool lane_open_file(struct lane_db *lane, struct err *err); /* after dbfile_make() */
void lane_fini(struct lane_db *lane);
/* Puts one row with the prepared statement. SQLite's result code. */
int lane_put(struct lane_db *lane, enum row kind, const void *row);
/* uid and number: parameters, if the chore has them. SQLite's result code. */
int lane_do(struct lane_db *lane, enum chore chore, const char *uid, int64_t number);
const char *lane_path(const struct lane_db *lane);
/* A connection to read from; return it. */
sqlite3 *lane_borrow_reader(struct lane_db *lane, struct err *err);
void lane_return_reader(struct lane_db *lane, sqlite3 *db);

/* sqlite_events.c: counting and limits of events. */
MUST_CHECK bool events_init(struct store_sqlite *sq, struct err *err); /* after the lane opened */
int events_put(struct store_sqlite *sq, const struct store_event *row);

/* sqlite_objects.c, sqlite_samples.c, sqlite_read.c: the operations of store.h */
void objects_begin(struct store *s);
bool objects_commit(struct store *s, struct err *err);
void objects_rollback(struct store *s);
void objects_put_job(struct store *s, const struct store_job *row);
void objects_put_transition(struct store *s, const struct store_transition *row);
void objects_put_intent(struct store *s, const struct store_intent *row);
void objects_put_observation(struct store *s, const struct store_observation *row);
void objects_put_error(struct store *s, const struct store_error *row);
void objects_put_mode(struct store *s, const struct store_mode *row);
void objects_put_event(struct store *s, const struct store_event *row);
void objects_put_object(struct store *s, const struct store_object *row);
void objects_put_decision(struct store *s, const struct store_decision *row);
void objects_clear_rejections(struct store *s, const char *job_uid);
void objects_put_rejection(struct store *s, const struct store_rejection *row);
void objects_clear_verdict(struct store *s, const char *job_uid);
void objects_put_verdict(struct store *s, const struct store_verdict *row);
void objects_put_point(struct store *s, const struct store_point *row);
void objects_put_number(struct store *s, const struct store_number *row);
void objects_put_evidence(struct store *s, const struct store_evidence *row);
void objects_put_incident(struct store *s, const struct store_incident *row);

void samples_init(struct samples *samples);
/* Not in memory. */
MUST_CHECK bool samples_start(struct store_sqlite *sq, struct err *err);
/* Writes what is queued. */
void samples_fini(struct store_sqlite *sq);
bool samples_append(struct store *s, const struct store_sample *rows, size_t n);
bool samples_append_monitor_input(struct store *s, const struct store_monitor_input *row);
bool samples_append_audit(struct store *s, const struct store_audit *row);
bool samples_flush(struct store *s, int64_t timeout_ms, struct err *err);

/* retention.c */
void retention_set(struct store *s, const struct store_retention *retention);
bool retention_step(struct store *s, int64_t now_ms, bool *out_did, struct err *err);
bool retention_samples(struct store_sqlite *sq, int64_t now_ms); /* true: there may be more */

bool read_identity(struct store *s, struct store_identity *out_identity, struct err *err);
bool read_each_audit(struct store *s, store_audit_fn *fn, void *ctx, struct err *err);
bool read_each_job(struct store *s, bool unfinished, store_job_fn *fn, void *ctx, struct err *err);
bool read_each_unjudged(struct store *s, store_job_fn *fn, void *ctx, struct err *err);
bool read_each_verdict(struct store *s, const char *job_uid, store_verdict_fn *fn, void *ctx,
                       struct err *err);
bool read_each_incident(struct store *s, bool only_open, store_incident_fn *fn, void *ctx,
                        struct err *err);
bool read_each_recent_job(struct store *s, int64_t limit, store_job_fn *fn, void *ctx,
                          struct err *err);
bool read_find_job(struct store *s, const char *ns, const char *name, store_job_fn *fn, void *ctx,
                   struct err *err);
bool read_each_object(struct store *s, store_object_fn *fn, void *ctx, struct err *err);
bool read_each_event(struct store *s, const char *uid, size_t limit, store_event_fn *fn, void *ctx,
                     struct err *err);
#define READ(name)                                                                                \
    bool read_each_##name(struct store *s, const char *job_uid, store_##name##_fn *fn, void *ctx, \
                          struct err *err);
READ(transition)
READ(intent)
READ(observation)
READ(error)
READ(mode)
READ(decision)
READ(rejection)
READ(point)
READ(number)
READ(evidence)
READ(sample)
READ(monitor_input)
#undef READ

#endif
