/* statements.h - every statement that changes rows, as a table: one for each kind of row that puts
 * it, and those of statements.def. An engine prepares each of a lane once. Private to store/.
 */
#ifndef STORE_STATEMENTS_H
#define STORE_STATEMENTS_H

#include "store/rows.h"

/* Puts are numbered as the rows. */
enum statement {
    STATEMENT_PUT_LAST = ROW_COUNT - 1,
#define STATEMENT(id, lane, doing, sql) STATEMENT_##id,
#include "store/statements.def"
#undef STATEMENT
    STATEMENT_COUNT
};

enum { STATEMENT_DOING_MAX = 64 };

enum lane statement_lane(enum statement id);
/* With that condition in it, so that a writer whose tenure is over changes nothing ("": none). Not
 * in what records requests: any appliance may. out_sql holds ROWS_SQL_MAX. */
void statement_sql(enum statement id, const char *fence, char *out_sql);
bool statement_is_fenced(enum statement id);
bool statement_is_put(enum statement id); /* changes a row where the fence holds */
/* "cannot write to jobs". out_doing holds STATEMENT_DOING_MAX. */
void statement_doing(enum statement id, char *out_doing);

#endif
