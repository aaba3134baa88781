/* ask.c - how long the ten queries of docs/queries.md take on a store with a million migrations:
 * each must take less than a second. Fills the store first, with a progress bar; an existing store
 * is used again.
 *
 * ask DIR [MIGRATIONS] [RUNS]. Prints for each query the time of the first run and the median of
 * RUNS, opening the files included as in `ferry query`, and the median CPU time, which decides: it
 * excludes other programs. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "bench/history.h"
#include "store/any/any.h"
#include "store/sqlite/sqlite.h"

enum { RUNS = 5, RUNS_MAX = 99, LIMIT_MS = 1000, BAR = 50 };

static void show_progress(void *ctx, size_t done, size_t of)
{
    int64_t began_ms = *(const int64_t *)ctx;
    int64_t spent_ms = clock_mono_ms(clock_system()) - began_ms;
    size_t full = done * BAR / of;
    char bar[BAR + 1];
    memset(bar, '.', BAR);
    memset(bar, '#', full);
    bar[BAR] = '\0';
    int64_t left_s =
        done > 0 ? (int64_t)((double)spent_ms * (double)(of - done) / (double)done) / 1000 : 0;
    (void)fprintf(stderr, "\r[%s] %zu of %zu, %" PRId64 " s left   ", bar, done, of, left_s);
    if (done == of)
        (void)fputs("\n", stderr);
}

/* ---- filling: a million rows go in far faster when their indexes are made afterwards ---- */

enum { INDEXES_MAX = 64 };
struct indexes {
    size_t n;
    char *name[INDEXES_MAX], *sql[INDEXES_MAX];
};

/* All but those of events, whose statement needs its own. */
static bool take_indexes(sqlite3 *db, struct indexes *out)
{
    sqlite3_stmt *stmt = NULL;
    char sql[256];
    *out = (struct indexes){0};
    if (sqlite3_prepare_v2(db,
                           "SELECT name, sql FROM sqlite_schema WHERE type = 'index'"
                           " AND sql IS NOT NULL AND tbl_name <> 'events'",
                           -1, &stmt, NULL) != SQLITE_OK)
        return false;
    while (sqlite3_step(stmt) == SQLITE_ROW && out->n < INDEXES_MAX) {
        out->name[out->n] = strdup((const char *)sqlite3_column_text(stmt, 0));
        out->sql[out->n++] = strdup((const char *)sqlite3_column_text(stmt, 1));
    }
    (void)sqlite3_finalize(stmt);
    bool good = true;
    for (size_t i = 0; i < out->n; i++) {
        (void)snprintf(sql, sizeof sql, "DROP INDEX %s", out->name[i]);
        good = sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && good;
    }
    return good;
}

static bool make_indexes(sqlite3 *db, struct indexes *indexes)
{
    bool good = sqlite3_exec(db, "PRAGMA cache_size=-262144", NULL, NULL, NULL) == SQLITE_OK;
    for (size_t i = 0; i < indexes->n; i++) {
        (void)fprintf(stderr, "\rindex %zu of %zu  ", i + 1, indexes->n);
        good = sqlite3_exec(db, indexes->sql[i], NULL, NULL, NULL) == SQLITE_OK && good;
        free(indexes->name[i]);
        free(indexes->sql[i]);
    }
    (void)fputs("\n", stderr);
    return good;
}

static bool fill_bare(const char *dir, struct store *store, const struct history *history,
                      struct err *err)
{
    char path[4096];
    sqlite3 *db = NULL;
    struct indexes indexes = {0};
    (void)snprintf(path, sizeof path, "%s/ferry.db", dir);
    bool done = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                take_indexes(db, &indexes) && history_fill(store, history, err) &&
                make_indexes(db, &indexes);
    if (!done && err->code == ERR_NONE)
        (void)err_set(err, ERR_IO, "%s: %s", path, sqlite3_errmsg(db));
    (void)sqlite3_close(db);
    return done;
}

static bool fill(const char *dir, size_t migrations, struct err *err)
{
    int64_t began_ms = clock_mono_ms(clock_system());
    const struct history history = {.migrations = migrations,
                                    .guests = 50000,
                                    .hosts = 100,
                                    .traced = migrations / 50, /* younger than their retention */
                                    .at_once = 20000,
                                    .now_ms = clock_wall_ms(clock_system()),
                                    .span_ms = 365LL * 24 * 3600 * 1000,
                                    .seed = 1,
                                    .progress = show_progress,
                                    .ctx = &began_ms};
    OWNED(store) store = store_sqlite_open(dir, err);
    if (store == NULL || !fill_bare(dir, store, &history, err))
        return false;
    (void)printf("filled in %" PRId64 " s\n", (clock_mono_ms(clock_system()) - began_ms) / 1000);
    return true;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t processor_ms(void)
{
    struct timespec spent;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
}

/* The milliseconds of one answer; -1 and a line on failure. */
static int64_t ask(const char *dir, const struct history_question *q, int64_t *out_processor_ms,
                   size_t *out_rows)
{
    struct err err = {0};
    int64_t before_ms = processor_ms();
    int64_t began_ms = clock_mono_ms(clock_system());
    OWNED(json_object)
    answer = query_run(dir, q->sql, &(struct query_limits){.ms = QUERY_MS_MAX}, &err);
    if (answer == NULL) {
        (void)fprintf(stderr, "%s: %s\n", q->title, err.text);
        return -1;
    }
    *out_rows = json_object_array_length(json_at(answer, "rows"));
    *out_processor_ms = processor_ms() - before_ms;
    return clock_mono_ms(clock_system()) - began_ms;
}

static bool measure(const char *dir, const struct history_question *q, int runs)
{
    int64_t times[RUNS_MAX], worked[RUNS_MAX];
    size_t rows = 0;
    int64_t first = ask(dir, q, &worked[0], &rows);
    for (int i = 0; i < runs && first >= 0; i++)
        times[i] = ask(dir, q, &worked[i], &rows);
    if (first < 0)
        return false;
    qsort(times, (size_t)runs, sizeof *times, by_value);
    qsort(worked, (size_t)runs, sizeof *worked, by_value);
    bool good = worked[runs / 2] < LIMIT_MS;
    (void)printf("%-64.64s %7" PRId64 " %7" PRId64 " %9" PRId64 " %5zu%s\n", q->title, first,
                 times[runs / 2], worked[runs / 2], rows, good ? "" : "  TOO SLOW");
    (void)fflush(stdout);
    return good;
}

static int64_t size_of(const char *dir, const char *file)
{
    char path[4096];
    struct stat seen;
    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    return stat(path, &seen) == 0 ? (int64_t)seen.st_size >> 20 : 0;
}

int main(int argc, char **argv)
{
    static struct history_question questions[HISTORY_QUESTIONS_MAX];
    struct err err = {0};
    int64_t migrations = 1000000, runs = RUNS;
    if (argc < 2 || (argc > 2 && !text_to_i64(argv[2], 1, 100000000, &migrations)) ||
        (argc > 3 && !text_to_i64(argv[3], 1, RUNS_MAX, &runs))) {
        (void)fputs("usage: ask DIR [MIGRATIONS] [RUNS]\n", stderr);
        return 2;
    }
    const char *dir = argv[1];
    size_t n = history_questions("docs/queries.md", questions, &err);
    if (n == 0 || (size_of(dir, "ferry.db") < 1 && !fill(dir, (size_t)migrations, &err))) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    (void)printf("%" PRId64 " migrations; ferry.db %" PRId64 " MiB, samples.db %" PRId64
                 " MiB; milliseconds, files opened anew for each\n\n",
                 migrations, size_of(dir, "ferry.db"), size_of(dir, "samples.db"));
    double load[1] = {0};
    (void)getloadavg(load, 1);
    (void)printf("load of the machine before: %.1f on %ld cores\n\n%-64s %7s %7s %9s %5s\n",
                 load[0], sysconf(_SC_NPROCESSORS_ONLN), "question", "first", "median", "processor",
                 "rows");
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good = measure(dir, &questions[i], (int)runs) && good;
    (void)printf("\n%s\n", good ? "every query takes less than a second of CPU time"
                                : "NOT every query takes less than a second");
    return good ? 0 : 1;
}
