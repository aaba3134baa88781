/* sqlite_events.c - events: counted when they repeat, the oldest gone when there are too many.
 *
 * Both bounds hold at every commit and cost no scan. Only a row that is new can break one: of
 * its object then what lies beyond the newest STORE_OBJECT_EVENTS_MAX goes, a walk of an index
 * as long as that bound; and the number of all rows is known (counted once at open, taken back
 * with a rollback), so a batch of the oldest goes each time it passes STORE_EVENTS_MAX.
 */
#include "store/sqlite_impl.h"

static struct lane_db *lane_of(struct store_sqlite *sq)
{
    return &sq->lanes[LANE_OBJECTS];
}

bool events_init(struct store_sqlite *sq, struct err *err)
{
    return db_int(lane_of(sq)->db, lane_path(lane_of(sq)), "SELECT count(*) FROM events",
                  &sq->objects.events, err);
}

static int trim(struct store_sqlite *sq, enum chore chore, const char *uid, int64_t number)
{
    int rc = lane_do(lane_of(sq), chore, uid, number);
    if (rc == SQLITE_OK)
        sq->objects.events -= sqlite3_changes64(lane_of(sq)->db);
    return rc;
}

int events_put(struct store_sqlite *sq, const struct store_event *row)
{
    struct lane_db *lane = lane_of(sq);
    struct store_event event = *row;
    event.uid = row->uid != NULL ? row->uid : "";
    event.count = row->count > 0 ? row->count : 1;
    event.first_ms = row->first_ms != 0 ? row->first_ms : row->at_ms;
    sqlite3_set_last_insert_rowid(lane->db, 0);
    int rc = lane_put(lane, ROW_EVENT, &event);
    if (rc != SQLITE_OK || sqlite3_last_insert_rowid(lane->db) == 0) /* 0: it was counted */
        return rc;

    sq->objects.events++;
    rc = trim(sq, CHORE_TRIM_OBJECT_EVENTS, event.uid, STORE_OBJECT_EVENTS_MAX);
    if (rc == SQLITE_OK && sq->objects.events > STORE_EVENTS_MAX)
        rc = trim(sq, CHORE_TRIM_EVENTS, NULL,
                  sq->objects.events - STORE_EVENTS_MAX + EVENTS_TRIM_BATCH - 1);
    return rc;
}
