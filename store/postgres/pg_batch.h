/* pg_batch.h - the statements of a transaction, in memory until they are sent. Private to
 * store/postgres/.
 */
#ifndef STORE_POSTGRES_PG_BATCH_H
#define STORE_POSTGRES_PG_BATCH_H

#include "store/postgres/pg_lane.h"

void pg_batch_clear(struct pg_batch *batch);
void pg_batch_fini(struct pg_batch *batch);
/* Copies. ERR_LIMIT, ERR_NOMEM. */
MUST_CHECK bool pg_batch_add(struct pg_batch *batch, const struct sql_write *write,
                             struct err *err);
/* The parameters of one, SQL_VALUES_MAX at most. */
void pg_batch_texts(const struct pg_batch *batch, const struct pg_op *op, const char **out_texts);

#endif
