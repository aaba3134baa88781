/* rows.h - the row types of store.h as tables of columns, so that putting and reading any of
 * them is one piece of code and a new column is one line (here) plus a step (schema.def).
 * Texts for SQL are of both engines: parameters are $1, $2, ... Private to store/.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include <stddef.h>

#include "store/store.h"

enum lane { LANE_OBJECTS, LANE_SAMPLES, LANE_COUNT };

enum row {
#define ROW(id, name, table, lane, key, again, order) ROW_##id,
#include "store/rows.def"
#undef ROW
    ROW_COUNT
};

/* FENCE: the condition with the tenures of leases.h. */
enum { FENCE_SQL_MAX = 8192, ROWS_SQL_MAX = 8192 + FENCE_SQL_MAX };

/* TEXT: a borrowed pointer, NULL is ''. ARRAY: text inside the row. */
enum column_type { COLUMN_TEXT, COLUMN_ARRAY, COLUMN_INT, COLUMN_REAL, COLUMN_BOOL };

struct column {
    const char *name; /* in SQL */
    enum column_type type;
    size_t offset, bytes;
};

struct row_type {
    const char *table, *key, *again, *order; /* as in rows.def */
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
/* "INSERT ..." with one parameter per column, of a row only where the fence holds ("": always).
 * out_sql holds ROWS_SQL_MAX. */
void rows_insert_sql(enum row kind, const char *fence, char *out_sql);
/* "SELECT columns FROM source tail"; source NULL: the table itself. */
void rows_select_sql(enum row kind, const char *source, const char *tail, char *out_sql);

/* A value for a statement; text is borrowed. */
enum sql_type { SQL_TEXT, SQL_INT, SQL_REAL };
struct sql_value {
    enum sql_type type;
    const char *text;
    size_t bytes; /* of text */
    int64_t number;
    double real;
};

/* A row of a result, behind the engine. Text is valid until the next row; NULL: a null, or no
 * memory. */
struct sql_cells {
    const char *(*text)(const struct sql_cells *cells, int at);
    int64_t (*number)(const struct sql_cells *cells, int at);
    double (*real)(const struct sql_cells *cells, int at);
    void *of; /* the engine's */
    int row;
    bool failed; /* a text could not be read: no memory */
};

/* One value per column, into out_values; they point into the row. How many. */
size_t rows_values(enum row kind, const void *row, struct sql_value *out_values);
/* Texts point into the cells. False, with cells->failed, when a text is missing. */
bool rows_read(struct sql_cells *cells, enum row kind, union any_row *out_row);

#endif
