/* statements.c - see statements.h. */
#include "store/statements.h"

#include <assert.h>
#include <stdio.h>

#include "base/text.h"

static const struct {
    enum lane lane;
    const char *doing, *sql;
} table[] = {
#define STATEMENT(id, lane, doing, sql) {LANE_##lane, doing, sql},
#include "store/statements.def"
#undef STATEMENT
};

enum lane statement_lane(enum statement id)
{
    assert(id < STATEMENT_COUNT);
    return id < (enum statement)ROW_COUNT ? rows_type((enum row)id)->lane
                                          : table[id - ROW_COUNT].lane;
}

bool statement_is_fenced(enum statement id)
{
    return id != (enum statement)ROW_AUDIT && id != STATEMENT_DROP_AUDIT_BY_AGE &&
           id != STATEMENT_DROP_AUDIT_BY_NUMBER;
}

bool statement_is_put(enum statement id)
{
    return id < (enum statement)ROW_COUNT;
}

void statement_sql(enum statement id, const char *fence, char *out_sql)
{
    assert(id < STATEMENT_COUNT);
    if (!statement_is_fenced(id))
        fence = "";
    if (id < (enum statement)ROW_COUNT)
        rows_insert_sql((enum row)id, fence, out_sql);
    else
        (void)snprintf(out_sql, ROWS_SQL_MAX, "%s%s%s", table[id - ROW_COUNT].sql,
                       fence[0] != '\0' ? " AND " : "", fence);
}

void statement_doing(enum statement id, char *out_doing)
{
    assert(id < STATEMENT_COUNT);
    if (id < (enum statement)ROW_COUNT)
        (void)snprintf(out_doing, STATEMENT_DOING_MAX, "cannot write to %s",
                       rows_type((enum row)id)->table);
    else
        (void)text_copy(out_doing, STATEMENT_DOING_MAX, table[id - ROW_COUNT].doing);
}
