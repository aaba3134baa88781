/* sqlite_objects.c - the objects lane: one transaction per turn of the engine.
 *
 * A transaction is open between begin and commit or rollback, and only there. The first failure is
 * kept; later puts do nothing; commit then rolls back and reports it. So the engine checks once per
 * turn, not per row.
 *
 * When commit returns false the rows are lost for this process. One exception: if the log was
 * written but not synced and the machine crashes, the transaction may exist after the restart. It
 * is then complete, and its intents are checked against the hosts, never repeated.
 */
#include <assert.h>

#include "base/clock.h"
#include "store/sqlite_impl.h"

static struct lane_db *lane_of(struct store_sqlite *sq)
{
    return &sq->lanes[LANE_OBJECTS];
}

static void remember(struct store_sqlite *sq, int rc, const char *doing)
{
    if (rc != SQLITE_OK && sq->objects.failure.code == ERR_NONE)
        (void)db_fail(lane_of(sq)->db, rc, lane_path(lane_of(sq)), doing, &sq->objects.failure);
}

void objects_begin(struct store *s)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    struct lane_db *lane = lane_of(sq);
    assert(!sq->objects.is_open);
    if (lane->in_memory)
        (void)pthread_mutex_lock(&lane->lock);
    sq->objects = (struct objects){
        .is_open = true, .events = sq->objects.events, .events_before = sq->objects.events};
    remember(sq, sqlite3_exec(lane->db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
             "cannot begin a transaction");
}

static void put(struct store *s, enum row kind, const void *row)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    assert(sq->objects.is_open);
    if (sq->objects.failure.code != ERR_NONE)
        return;
    char doing[64];
    (void)snprintf(doing, sizeof doing, "cannot write to %s", rows_type(kind)->table);
    remember(sq, lane_put(lane_of(sq), kind, row), doing);
}

#define PUT(id, name)                                                        \
    void objects_put_##name(struct store *s, const struct store_##name *row) \
    {                                                                        \
        put(s, ROW_##id, row);                                               \
    }
PUT(JOB, job)
PUT(TRANSITION, transition)
PUT(INTENT, intent)
PUT(OBSERVATION, observation)
PUT(ERROR, error)
PUT(MODE, mode)
PUT(OBJECT, object)
PUT(DECISION, decision)
PUT(REJECTION, rejection)
PUT(VERDICT, verdict)
PUT(POINT, point)
PUT(NUMBER, number)
PUT(EVIDENCE, evidence)
PUT(INCIDENT, incident)
#undef PUT

void objects_put_event(struct store *s, const struct store_event *row)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    assert(sq->objects.is_open);
    if (sq->objects.failure.code == ERR_NONE)
        remember(sq, events_put(sq, row), "cannot write to events");
}

static void clear(struct store *s, enum chore chore, const char *job_uid, const char *doing)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    assert(sq->objects.is_open && job_uid != NULL);
    if (sq->objects.failure.code == ERR_NONE)
        remember(sq, lane_do(lane_of(sq), chore, job_uid, 0), doing);
}

void objects_clear_rejections(struct store *s, const char *job_uid)
{
    clear(s, CHORE_CLEAR_REJECTIONS, job_uid, "cannot clear rejections");
}

void objects_clear_verdict(struct store *s, const char *job_uid)
{
    static const enum chore parts[] = {CHORE_CLEAR_VERDICT, CHORE_CLEAR_POINTS,
                                       CHORE_CLEAR_NUMBERS};
    for (size_t i = 0; i < COUNT(parts); i++)
        clear(s, parts[i], job_uid, "cannot clear a verdict");
}

static void end(struct store_sqlite *sq, bool was_committed)
{
    struct lane_db *lane = lane_of(sq);
    if (!was_committed) {
        db_rollback(lane->db);
        sq->objects.events = sq->objects.events_before;
    }
    sq->objects.is_open = false;
    if (lane->in_memory)
        (void)pthread_mutex_unlock(&lane->lock);
}

bool objects_commit(struct store *s, struct err *err)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    struct lane_db *lane = lane_of(sq);
    assert(sq->objects.is_open);
    /* In memory times are 0: statistics of a simulation must not depend on the machine. */
    const struct clock *clock = clock_system();
    int64_t start_ms = lane->in_memory ? 0 : clock_mono_ms(clock);
    if (sq->objects.failure.code == ERR_NONE)
        remember(sq, sqlite3_exec(lane->db, "COMMIT", NULL, NULL, NULL), "cannot commit");
    int64_t spent_ms = lane->in_memory ? 0 : clock_mono_ms(clock) - start_ms;

    bool done = sq->objects.failure.code == ERR_NONE;
    if (!done)
        *err = sq->objects.failure;
    end(sq, done);
    atomic_fetch_add(done ? &sq->commits : &sq->commit_failures, 1);
    atomic_fetch_add(&sq->commit_ms_total, (uint64_t)spent_ms);
    return done;
}

void objects_rollback(struct store *s)
{
    struct store_sqlite *sq = store_sqlite_of(s);
    assert(sq->objects.is_open);
    end(sq, false);
}
