/* query_guard.c - see query_guard.h. */
#include "store/sqlite/query_guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "store/query.h"

enum { LIKE_BYTES_MAX = 128, DEPTH_MAX = 200, COMPOUND_MAX = 64 };

/* ---- functions ---- */

/* Excluded: functions that access files, sleep, load code or read the database, full-text search,
 * and json_patch, which is quadratic. */
static const char functions[] =
    " -> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat "
    "concat_ws cos cosh count cume_dist current_date current_time current_timestamp date "
    "datetime degrees dense_rank exp first_value floor format glob group_concat hex if ifnull "
    "iif instr json json_array json_array_length json_extract json_group_array "
    "json_group_object json_insert json_object json_quote json_remove json_replace json_set "
    "json_type json_valid julianday lag last_value lead length like likelihood likely ln log "
    "log10 log2 lower ltrim max min mod nth_value ntile nullif octet_length percent_rank pi "
    "pow power printf quote radians random rank replace round row_number rtrim sign sin sinh "
    "soundex sqlite_version sqrt strftime string_agg substr substring sum tan tanh time "
    "timediff total trim trunc typeof unhex unicode unixepoch unlikely upper zeroblob ";

/* SQLite passes the registered name, in lower case. */
static bool is_listed(const char *function)
{
    char word[64];
    int n = snprintf(word, sizeof word, " %s ", function);
    return n > 0 && (size_t)n < sizeof word && strstr(functions, word) != NULL;
}

/* trim(X, Y), ltrim and rtrim with a set of characters. SQLite's version is quadratic: 64 KiB and a
 * set of 5000 take a second. This one is linear. */
enum trim_ends { TRIM_LEFT = 1, TRIM_RIGHT = 2 };
static const struct {
    const char *name;
    enum trim_ends ends;
} trims[] = {{"ltrim", TRIM_LEFT}, {"rtrim", TRIM_RIGHT}, {"trim", TRIM_LEFT | TRIM_RIGHT}};

static void trim(sqlite3_context *context, int n_args, sqlite3_value **args)
{
    (void)n_args;
    const enum trim_ends *ends = sqlite3_user_data(context);
    const char *text = (const char *)sqlite3_value_text(args[0]);
    const unsigned char *set = sqlite3_value_text(args[1]);
    bool is_in[256] = {false};
    if (text == NULL || set == NULL)
        return; /* NULL */
    for (; *set != '\0'; set++) {
        if (*set >= 0x80) {
            sqlite3_result_error(context, "trim: only ASCII characters can be removed", -1);
            return;
        }
        is_in[*set] = true;
    }
    const char *end = text + strlen(text);
    while ((*ends & TRIM_LEFT) != 0 && text < end && is_in[(unsigned char)*text])
        text++;
    while ((*ends & TRIM_RIGHT) != 0 && end > text && is_in[(unsigned char)end[-1]])
        end--;
    sqlite3_result_text(context, text, (int)(end - text), SQLITE_TRANSIENT);
}

static bool replace_trims(sqlite3 *db)
{
    for (size_t i = 0; i < COUNT(trims); i++) {
        /* SQLite does not write through the pointer. */
        void *ends = (void *)(uintptr_t)&trims[i].ends;
        if (sqlite3_create_function(db, trims[i].name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, ends,
                                    trim, NULL, NULL) != SQLITE_OK)
            return false;
    }
    return true;
}

/* ---- actions ---- */

static int authorize(void *ctx, int action, const char *a, const char *b, const char *database,
                     const char *view)
{
    struct query_guard *guard = ctx;
    (void)view;
    /* Without a database only for a table without a column, as it is written: temp comes first. */
    bool is_hidden = action == SQLITE_READ && a != NULL && strcasecmp(a, "objects") == 0 &&
                     database != NULL && strcasecmp(database, "temp") != 0;
    if (is_hidden) {
        if (guard->refused[0] == '\0')
            TEXT_SET(guard->refused, "main.objects, which has tokens; objects is without them");
        return SQLITE_DENY;
    }
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ||
        (action == SQLITE_FUNCTION && b != NULL && is_listed(b)))
        return SQLITE_OK;
    const char *what = action == SQLITE_ATTACH     ? "ATTACH"
                       : action == SQLITE_PRAGMA   ? "PRAGMA"
                       : action == SQLITE_FUNCTION ? b
                       : a != NULL                 ? a
                                                   : "";
    if (guard->refused[0] == '\0')
        TEXT_SET(guard->refused, what == NULL ? "" : what);
    return SQLITE_DENY;
}

bool query_guard_set(struct query_guard *guard, sqlite3 *db, struct err *err)
{
    static const struct {
        int id, max;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, QUERY_VALUE_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, QUERY_SQL_MAX},
        {SQLITE_LIMIT_COLUMN, QUERY_COLUMNS_MAX},
        {SQLITE_LIMIT_EXPR_DEPTH, DEPTH_MAX},
        {SQLITE_LIMIT_COMPOUND_SELECT, COMPOUND_MAX},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_BYTES_MAX},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    if (!replace_trims(db))
        return err_set(err, ERR_NOMEM, "no memory for a query");
    for (size_t i = 0; i < COUNT(limits); i++)
        (void)sqlite3_limit(db, limits[i].id, limits[i].max);
    (void)sqlite3_set_authorizer(db, authorize, guard);
    return true;
}
