/* impl.h - what the parts of the SQLite store share. Private to store/sqlite/.
 *
 * Each lane (objects, samples) is one file with one writing connection and a few idle reading ones.
 * In memory there is only the writing connection; then one recursive lock per lane, held from begin
 * to commit, hides open transactions from other threads.
 */
#ifndef STORE_SQLITE_IMPL_H
#define STORE_SQLITE_IMPL_H

#include <pthread.h>
#include <sqlite3.h>

#include "store/sql.h"
#include "store/sqlite/db.h"
#include "store/sqlite/dbfile.h"
#include "store/sqlite/statedir.h"

enum { READERS_IDLE_MAX = 4 };

struct lane_db {
    bool in_memory;
    struct dbfile file;
    sqlite3 *db;                               /* the writer */
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* of this lane, prepared once */
    pthread_mutex_t lock; /* recursive; guards `idle`, and `db` when in memory */
    sqlite3 *idle[READERS_IDLE_MAX];
    size_t idle_count;
};

struct store_sqlite {
    struct store_sql sql; /* first */
    struct statedir state;
    struct lane_db lanes[LANE_COUNT];
};

static inline struct store_sqlite *store_sqlite_of(struct store *s)
{
    return (struct store_sqlite *)(void *)s;
}

/* lane.c */
void lane_init(struct lane_db *lane);
struct lane_memory {
    const char *name; /* of databases in memory that several stores share; NULL: its own */
    const char *fence;
};
MUST_CHECK bool lane_open_memory(struct lane_db *lane, enum lane which,
                                 const struct lane_memory *memory, struct err *err);
MUST_CHECK bool lane_open_file(struct lane_db *lane, struct err *err); /* after dbfile_make() */
void lane_fini(struct lane_db *lane);
const char *lane_path(const struct lane_db *lane);

/* engine.c: the operations of sql.h but free; transactions, writes and reads. */
extern const struct sql_engine sqlite_engine;
bool engine_begin(struct store_sql *s, enum lane lane, struct err *err);
bool engine_write(struct store_sql *s, enum lane lane, const struct sql_write *write,
                  struct err *err);
bool engine_settle(struct store_sql *s, enum lane lane, struct err *err);
bool engine_commit(struct store_sql *s, enum lane lane, struct err *err);
void engine_rollback(struct store_sql *s, enum lane lane);
bool engine_read(struct store_sql *s, enum lane lane, const struct sql_read *read, struct err *err);
bool engine_run(struct store_sql *s, const struct sql_read *read, struct err *err);
bool engine_sync_samples(struct store_sql *s, struct err *err);
int64_t engine_bytes(struct store_sql *s, enum lane lane);
const char *engine_place(const struct store_sql *s, enum lane lane);

#endif
