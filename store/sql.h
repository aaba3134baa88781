/* sql.h - what the store asks of a SQL engine, and the store made of it.
 *
 * Everything that means the same on every engine is written once, above this port: the operations
 * of store.h (objects.c, read.c, samples.c, retention.c), their SQL (statements.def, rows.c). An
 * engine (store/sqlite/, store/postgres/) opens the database and carries statements out. SQL is
 * what both understand; parameters are $1, $2, ... in the order of their first use.
 *
 * begin to commit is the one place where a transaction of a lane begins and ends. Private to
 * store/.
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/queue.h"
#include "store/rows.h"
#include "store/statements.h"
#include "store/store.h"

enum {
    SQL_VALUE_BYTES_MAX = 8 * 1024 * 1024, /* one text; more is ERR_LIMIT */
    SQL_VALUES_MAX = 112,                  /* of one statement */
    EVENTS_TRIM_BATCH = 256,
};

/* One statement inside a transaction. */
struct sql_write {
    enum statement id;
    const struct sql_value *values; /* copied, or used before write() returns */
    size_t n;
    /* NULL, or what is added to when the statement was carried out, at the latest by commit: the
     * first column of what it returns, or if it returns nothing the number of changed rows. */
    int64_t *tally;
};

/* A SELECT. False from row: enough. */
struct sql_read {
    const char *sql;
    const struct sql_value *values;
    size_t n;
    bool (*row)(void *ctx, struct sql_cells *cells);
    void *ctx;
};

struct store_sql;
struct sql_engine {
    /* A failure of a write may come later, at the latest from commit: then nothing of the
     * transaction is stored. After a failure: rollback. Objects: the engine's thread (commit: also
     * its committer's); samples: the writer's. */
    bool (*begin)(struct store_sql *s, enum lane lane, struct err *err);
    bool (*write)(struct store_sql *s, enum lane lane, const struct sql_write *write,
                  struct err *err);
    /* Carries out what was queued, so that the tallies are right. */
    bool (*settle)(struct store_sql *s, enum lane lane, struct err *err);
    /* False: nothing is stored. Returns when that is known, however long it takes. */
    bool (*commit)(struct store_sql *s, enum lane lane, struct err *err);
    void (*rollback)(struct store_sql *s, enum lane lane);
    /* What is committed, from any thread. */
    bool (*read)(struct store_sql *s, enum lane lane, const struct sql_read *read, struct err *err);
    /* One statement of leases.c, committed when it returns, on a connection of its own. */
    bool (*run)(struct store_sql *s, const struct sql_read *read, struct err *err);
    /* What the sample writer committed so far is on disk. Its thread. */
    bool (*sync_samples)(struct store_sql *s, struct err *err);
    /* Bytes that the rows of a lane take, about; 0: not known. */
    int64_t (*bytes)(struct store_sql *s, enum lane lane);
    /* How the database is named in errors; without secrets. */
    const char *(*place)(const struct store_sql *s, enum lane lane);
    void (*free)(struct store_sql *s);
    /* Retention of both lanes is the sample writer's: a slow database must not hold up the thread
     * of the engine. */
    bool is_remote;
};

/* The objects lane: the open transaction. One thread. */
struct objects {
    bool is_open;
    struct err failure;    /* the first one since begin */
    int64_t events;        /* rows in the table, as of the last commit */
    int64_t events_put;    /* in this transaction, of them repeated ones */
    int64_t made, trimmed; /* rows of events in this transaction, as far as is known */
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
    int64_t noted_ms;  /* the time that was stored last */
};

struct store_sql {
    struct store store; /* first */
    const struct sql_engine *engine;
    char fence[FENCE_SQL_MAX]; /* of every statement that writes; empty: nobody else writes */
    bool in_memory; /* of SQLite: no thread, times are 0, so that a simulation is repeatable */
    struct objects objects;
    struct samples samples;
    atomic_uint_fast64_t commits, commit_failures, commit_ms_total;
    atomic_uint_fast64_t samples_written, samples_dropped, sample_batches;
    atomic_uint_fast64_t samples_retired, jobs_dropped, commits_lost;
    struct retaining retention;
};

static inline struct store_sql *store_sql_of(struct store *s)
{
    return (struct store_sql *)(void *)s;
}

static inline struct sql_value sql_text(const char *text)
{
    return (struct sql_value){.type = SQL_TEXT, .text = text, .bytes = strlen(text)};
}
static inline struct sql_value sql_int(int64_t number)
{
    return (struct sql_value){.type = SQL_INT, .number = number};
}

/* sql.c. For an engine: before anything else; when the database is open; before it is closed. */
void store_sql_init(struct store_sql *s, const struct sql_engine *engine, bool read_only);
MUST_CHECK bool store_sql_start(struct store_sql *s, struct err *err);
void store_sql_stop(struct store_sql *s);
/* leases.c: the condition, into FENCE_SQL_MAX bytes; locks: the rows of leases stay until the end
 * of the transaction. */
void fence_sql(const struct store_fence *fence, bool locks, char *out_sql);
MUST_CHECK bool fence_is_valid(const struct store_fence *fence, struct err *err);
/* One number. */
MUST_CHECK bool store_sql_int(struct store_sql *s, enum lane lane, const char *sql,
                              int64_t *out_value, struct err *err);

/* objects.c, samples.c, retention.c, read.c: the operations of store.h. */
extern const struct store_ops sql_ops; /* all */
extern const struct store_lease_ops sql_lease_ops;
extern const struct store_ops sql_reader_ops; /* the each_* readers, find_job, identity, free */

void samples_init(struct samples *samples);
MUST_CHECK bool samples_start(struct store_sql *s, struct err *err); /* not in memory */
void samples_fini(struct store_sql *s);                              /* writes what is queued */
bool samples_append(struct store *s, const struct store_sample *rows, size_t n);
bool samples_append_monitor_input(struct store *s, const struct store_monitor_input *row);
bool samples_append_audit(struct store *s, const struct store_audit *row);
bool samples_flush(struct store *s, int64_t timeout_ms, struct err *err);

void objects_begin(struct store *s);
bool objects_commit(struct store *s, struct err *err);
void objects_rollback(struct store *s);

void retention_set(struct store *s, const struct store_retention *retention);
bool retention_step(struct store *s, int64_t now_ms, bool *out_did, struct err *err);
/* The sample writer's part; true: there may be more. */
bool retention_in_background(struct store_sql *s, int64_t now_ms);

#endif
