/* sqlite_events.c - events: repeated ones are counted, the oldest are deleted at a limit.
 *
 * Both limits hold at every commit without a scan. A new row deletes the events of its object
 * beyond the newest STORE_OBJECT_EVENTS_MAX, by index. The number of all rows is known (counted at
 * open, restored by a rollback); when it passes STORE_EVENTS_MAX a batch of the oldest is deleted.
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
    if (rc != SQLITE_OK || sqlite3_last_insert_rowid(lane->db) == 0) /* 0: a repeated event */
        return rc;

    sq->objects.events++;
    rc = trim(sq, CHORE_TRIM_OBJECT_EVENTS, event.uid, STORE_OBJECT_EVENTS_MAX);
    if (rc == SQLITE_OK && sq->objects.events > STORE_EVENTS_MAX)
        rc = trim(sq, CHORE_TRIM_EVENTS, NULL,
                  sq->objects.events - STORE_EVENTS_MAX + EVENTS_TRIM_BATCH - 1);
    return rc;
}
