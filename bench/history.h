/* history.h - a store filled with generated migrations, to measure and test queries over history.
 * Equal seeds give equal stores. */
#ifndef BENCH_HISTORY_H
#define BENCH_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

enum { HISTORY_QUESTIONS_MAX = 16, HISTORY_SQL_MAX = 4096 };

struct history {
    size_t migrations, guests, hosts;
    size_t traced;           /* of the newest migrations, how many have samples */
    size_t at_once;          /* per transaction */
    int64_t now_ms, span_ms; /* they ended within that span, evenly */
    uint64_t seed;
    void (*progress)(void *ctx, size_t done, size_t of); /* may be NULL */
    void *ctx;
};
/* A twentieth fails, of twelve causes; some guests keep failing; half have no policy. */
bool history_fill(struct store *store, const struct history *history, struct err *err);

struct history_question {
    char title[128], sql[HISTORY_SQL_MAX];
};
/* The questions of docs/queries.md: every "## title" with the SQL under it. Returns how many. */
size_t history_questions(const char *file, struct history_question *out_questions, struct err *err);

#endif
