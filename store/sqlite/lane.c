/* lane.c - one lane: its writing connection with its statements. */
#include "store/sqlite/impl.h"

#include <stdio.h>

void lane_init(struct lane_db *lane)
{
    *lane = (struct lane_db){0};
    pthread_mutexattr_t attr;
    (void)pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr,
                                    PTHREAD_MUTEX_RECURSIVE); /* visitors may call the store */
    (void)pthread_mutex_init(&lane->lock, &attr);
    (void)pthread_mutexattr_destroy(&attr);
}

const char *lane_path(const struct lane_db *lane)
{
    return lane->in_memory ? "memory" : lane->file.path;
}

/* The leases are in the objects' file: samples have no fence here. */
static bool prepare(struct lane_db *lane, enum lane which, const char *fence, struct err *err)
{
    for (enum statement id = 0; id < STATEMENT_COUNT; id++) {
        char sql[ROWS_SQL_MAX];
        if (statement_lane(id) != which)
            continue;
        statement_sql(id, which == LANE_OBJECTS ? fence : "", sql);
        int rc = sqlite3_prepare_v3(lane->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                    &lane->statements[id], NULL);
        if (rc != SQLITE_OK)
            return db_fail(lane->db, rc, lane_path(lane), "cannot use its tables", err);
    }
    return true;
}

bool lane_open_memory(struct lane_db *lane, enum lane which, const struct lane_memory *memory,
                      struct err *err)
{
    char name[128] = ":memory:";
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    if (memory->name != NULL) {
        (void)snprintf(name, sizeof name, "file:/%s-%d?vfs=memdb", memory->name, (int)which);
        flags |= SQLITE_OPEN_URI;
    }
    lane->in_memory = true;
    lane->db = db_open(name, flags, err);
    return lane->db != NULL && schema_bring_forward(lane->db, "memory", schema_of(which), err) &&
           prepare(lane, which, memory->fence, err);
}

bool lane_open_file(struct lane_db *lane, struct err *err)
{
    lane->db = dbfile_open(&lane->file, err);
    return lane->db != NULL && prepare(lane, lane->file.lane, "", err);
}

void lane_fini(struct lane_db *lane)
{
    for (size_t i = 0; i < lane->idle_count; i++)
        db_close(lane->idle[i]);
    for (enum statement id = 0; id < STATEMENT_COUNT; id++)
        (void)sqlite3_finalize(lane->statements[id]);
    db_close(lane->db); /* last: checkpoints and removes the log */
    (void)pthread_mutex_destroy(&lane->lock);
}
