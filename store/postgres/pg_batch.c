/* pg_batch.c - see pg_lane.h: the statements of a transaction, in memory until they are sent. */
#include "store/postgres/pg_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32, FIRST_BYTES = 64 * 1024, FIRST_OPS = 64 };

void pg_batch_clear(struct pg_batch *batch)
{
    batch->used = batch->n = batch->sent = 0;
    if (batch->room > 16 * FIRST_BYTES) { /* a rare large one does not stay */
        free(batch->text);
        batch->text = NULL;
        batch->room = 0;
    }
}

void pg_batch_fini(struct pg_batch *batch)
{
    free(batch->text);
    free(batch->ops);
    *batch = (struct pg_batch){0};
}

static bool make_room(struct pg_batch *batch, size_t bytes, struct err *err)
{
    size_t room = batch->room == 0 ? FIRST_BYTES : batch->room;
    while (room < batch->used + bytes)
        room *= 2;
    if (room > PG_BATCH_BYTES_MAX)
        return err_set(err, ERR_LIMIT, "a transaction of more than %d MiB",
                       PG_BATCH_BYTES_MAX >> 20);
    if (room != batch->room) {
        char *text = realloc(batch->text, room);
        if (text == NULL)
            return err_set(err, ERR_NOMEM, "no memory for a transaction");
        batch->text = text;
        batch->room = room;
    }
    if (batch->n == batch->max) {
        size_t max = batch->max == 0 ? FIRST_OPS : batch->max * 2;
        struct pg_op *ops = reallocarray(batch->ops, max, sizeof *ops);
        if (ops == NULL)
            return err_set(err, ERR_NOMEM, "no memory for a transaction");
        batch->ops = ops;
        batch->max = max;
    }
    return true;
}

static void add_value(struct pg_batch *batch, const struct sql_value *value)
{
    char *at = batch->text + batch->used;
    if (value->type == SQL_TEXT)
        pg_text(value->text, value->bytes, at);
    else if (value->type == SQL_INT)
        (void)snprintf(at, NUMBER_BYTES, "%lld", (long long)value->number);
    else
        (void)snprintf(at, NUMBER_BYTES, "%.17g", value->real);
    batch->used += strlen(at) + 1;
}

bool pg_batch_add(struct pg_batch *batch, const struct sql_write *write, struct err *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < write->n; i++) {
        bool is_text = write->values[i].type == SQL_TEXT;
        if (is_text && write->values[i].bytes > SQL_VALUE_BYTES_MAX) {
            char doing[STATEMENT_DOING_MAX];
            statement_doing(write->id, doing);
            return err_set(err, ERR_LIMIT, "%s: a value is too long (%zu bytes); shorten it", doing,
                           write->values[i].bytes);
        }
        bytes += is_text ? write->values[i].bytes + 1 : NUMBER_BYTES;
    }
    if (!make_room(batch, bytes, err))
        return false;
    batch->ops[batch->n++] = (struct pg_op){write->id, write->n, batch->used, write->tally};
    for (size_t i = 0; i < write->n; i++)
        add_value(batch, &write->values[i]);
    return true;
}

void pg_batch_texts(const struct pg_batch *batch, const struct pg_op *op, const char **out_texts)
{
    const char *at = batch->text + op->at;
    for (size_t i = 0; i < op->n; i++) {
        out_texts[i] = at;
        at += strlen(at) + 1;
    }
}
