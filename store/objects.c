/* objects.c - the objects lane: one transaction per turn of the engine.
 *
 * A transaction is open between begin and commit or rollback, and only there. The first failure is
 * kept; later puts do nothing; commit then rolls back and reports it. So the engine checks once per
 * turn, not per row.
 *
 * When commit returns false the rows are lost for this process. One exception: if the log was
 * written but not synced and the machine crashes, the transaction may exist after the restart. It
 * is then complete, and its intents are checked against the hosts, never repeated.
 *
 * Events: repeated ones are counted, the oldest are deleted at a limit. Both limits hold at every
 * commit without a scan. A new row deletes the events of its object beyond the newest
 * STORE_OBJECT_EVENTS_MAX, by index. The number of all rows is known (counted at open); when a
 * transaction would pass STORE_EVENTS_MAX it deletes a batch of the oldest.
 */
#include <assert.h>

#include "base/clock.h"
#include "store/sql.h"
#include "store/sql_ops.h"

void objects_begin(struct store *store)
{
    struct store_sql *s = store_sql_of(store);
    assert(!s->objects.is_open);
    s->objects = (struct objects){.is_open = true, .events = s->objects.events};
    (void)s->engine->begin(s, LANE_OBJECTS, &s->objects.failure);
}

static void write_one(struct store_sql *s, const struct sql_write *write)
{
    assert(s->objects.is_open);
    if (s->objects.failure.code == ERR_NONE)
        (void)s->engine->write(s, LANE_OBJECTS, write, &s->objects.failure);
}

static void put(struct store *store, enum row kind, const void *row, int64_t *tally)
{
    struct sql_value values[SQL_VALUES_MAX];
    size_t n = rows_values(kind, row, values);
    write_one(store_sql_of(store), &(struct sql_write){(enum statement)kind, values, n, tally});
}

#define PUT(id, name)                                                        \
    void objects_put_##name(struct store *s, const struct store_##name *row) \
    {                                                                        \
        put(s, ROW_##id, row, NULL);                                         \
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

void objects_put_event(struct store *store, const struct store_event *row)
{
    struct store_sql *s = store_sql_of(store);
    struct store_event event = *row;
    event.uid = row->uid != NULL ? row->uid : "";
    event.count = row->count > 0 ? row->count : 1;
    event.first_ms = row->first_ms != 0 ? row->first_ms : row->at_ms;
    int64_t before = s->objects.made;
    put(store, ROW_EVENT, &event, &s->objects.made);
    s->objects.events_put++;
    if (!s->engine->is_remote && s->objects.made == before)
        return; /* a repeated one */
    const struct sql_value values[] = {sql_text(event.uid), sql_int(STORE_OBJECT_EVENTS_MAX)};
    write_one(s, &(struct sql_write){STATEMENT_TRIM_OBJECT_EVENTS, values, COUNT(values),
                                     &s->objects.trimmed});
}

static void clear(struct store *store, enum statement id, const char *job_uid)
{
    assert(job_uid != NULL);
    const struct sql_value uid = sql_text(job_uid);
    write_one(store_sql_of(store), &(struct sql_write){id, &uid, 1, NULL});
}

void objects_clear_rejections(struct store *s, const char *job_uid)
{
    clear(s, STATEMENT_CLEAR_REJECTIONS, job_uid);
}

void objects_clear_verdict(struct store *s, const char *job_uid)
{
    static const enum statement parts[] = {STATEMENT_CLEAR_VERDICT, STATEMENT_CLEAR_POINTS,
                                           STATEMENT_CLEAR_NUMBERS};
    for (size_t i = 0; i < COUNT(parts); i++)
        clear(s, parts[i], job_uid);
}

static int64_t events_of(const struct objects *objects)
{
    return objects->events + objects->made - objects->trimmed;
}

static void trim_events(struct store_sql *s)
{
    struct objects *objects = &s->objects;
    if (objects->failure.code != ERR_NONE ||
        objects->events + objects->events_put <= STORE_EVENTS_MAX ||
        !s->engine->settle(s, LANE_OBJECTS, &objects->failure))
        return;
    int64_t n = events_of(objects) - STORE_EVENTS_MAX;
    if (n <= 0)
        return;
    const struct sql_value value = sql_int(n + EVENTS_TRIM_BATCH - 1);
    write_one(s, &(struct sql_write){STATEMENT_TRIM_EVENTS, &value, 1, &objects->trimmed});
}

static void end(struct store_sql *s, bool was_committed)
{
    if (was_committed)
        s->objects.events = events_of(&s->objects);
    else
        s->engine->rollback(s, LANE_OBJECTS);
    s->objects.is_open = false;
}

bool objects_commit(struct store *store, struct err *err)
{
    struct store_sql *s = store_sql_of(store);
    assert(s->objects.is_open);
    /* In memory times are 0: statistics of a simulation must not depend on the machine. */
    const struct clock *clock = clock_system();
    int64_t start_ms = s->in_memory ? 0 : clock_mono_ms(clock);
    trim_events(s);
    if (s->objects.failure.code == ERR_NONE)
        (void)s->engine->commit(s, LANE_OBJECTS, &s->objects.failure);
    int64_t spent_ms = s->in_memory ? 0 : clock_mono_ms(clock) - start_ms;

    bool done = s->objects.failure.code == ERR_NONE;
    if (!done)
        *err = s->objects.failure;
    end(s, done);
    atomic_fetch_add(done ? &s->commits : &s->commit_failures, 1);
    atomic_fetch_add(&s->commit_ms_total, (uint64_t)spent_ms);
    return done;
}

void objects_rollback(struct store *store)
{
    struct store_sql *s = store_sql_of(store);
    assert(s->objects.is_open);
    end(s, false);
}
