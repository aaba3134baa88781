/* rows.h - the row types of store.h as tables of columns, so that putting and reading any of
 * them is one piece of code and a new column is one line (here) plus a step (schema.def).
 * Private to the SQLite implementation.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include <sqlite3.h>
#include <stddef.h>

#include "store/store.h"

enum lane { LANE_OBJECTS, LANE_SAMPLES, LANE_COUNT };

enum row {
#define ROW(id, name, table, lane, put, again, order) ROW_##id,
#include "store/rows.def"
#undef ROW
    ROW_COUNT
};

enum { ROWS_SQL_MAX = 2048 };

/* TEXT: a borrowed pointer, NULL is ''. ARRAY: text inside the row. */
enum column_type { COLUMN_TEXT, COLUMN_ARRAY, COLUMN_INT, COLUMN_REAL, COLUMN_BOOL };

struct column {
    const char *name; /* in SQL */
    enum column_type type;
    size_t offset, bytes;
};

struct row_type {
    const char *table, *put, *again, *order; /* as in rows.def */
    enum lane lane;
    const struct column *columns;
    size_t column_count;
};

/* Room for one row of any kind. */
union any_row {
    struct store_job job;
    struct store_transition transition;
    struct store_intent intent;
    struct store_observation observation;
    struct store_error error;
    struct store_mode mode;
    struct store_event event;
    struct store_decision decision;
    struct store_object object;
    struct store_rejection rejection;
    struct store_verdict verdict;
    struct store_point point;
    struct store_number number;
    struct store_evidence evidence;
    struct store_incident incident;
    struct store_sample sample;
    struct store_monitor_input monitor_input;
    struct store_audit audit;
};

const struct row_type *rows_type(enum row kind);
/* "INSERT ..." with one parameter per column. out_sql holds ROWS_SQL_MAX. */
void rows_insert_sql(enum row kind, char *out_sql);
/* "SELECT columns FROM source tail"; source NULL: the table itself. */
void rows_select_sql(enum row kind, const char *source, const char *tail, char *out_sql);

/* SQLite's result code. Text is bound without a copy: step before the row goes away. */
int rows_bind(sqlite3_stmt *stmt, enum row kind, const void *row);
/* Texts point into the statement until its next step. False when memory ran out. */
bool rows_read(sqlite3_stmt *stmt, enum row kind, union any_row *out_row);

#endif
