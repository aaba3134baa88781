/* fuzz_query.c - a statement as /query gives it to SQLite, on a store with a few rows: it is
 * answered or refused, changes nothing, and ends soon after its deadline. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "store/any/any.h"
#include "store/sqlite/sqlite.h"
#include "tests/fuzz/fuzz.h"

enum { DEADLINE_MS = 200, LATE_MS = 5000 };

static char dir[] = "/tmp/ferry-fuzz-query-XXXXXX";

static void remove_store(void)
{
    static const char *const names[] = {"ferry.db",   "ferry.db-wal",   "ferry.db-shm",  "lock",
                                        "samples.db", "samples.db-wal", "samples.db-shm"};
    char path[64];
    for (size_t i = 0; i < COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

static void make_store(void)
{
    struct err err = {0};
    FUZZ_LAW(mkdtemp(dir) != NULL, "no directory");
    OWNED(store) store = store_sqlite_open(dir, &err);
    FUZZ_LAW(store != NULL, "%s", err.text);
    store->ops->begin(store);
    for (int i = 0; i < 20; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof uid, "job-%d", i);
        store->ops->put_job(store, &(struct store_job){.uid = uid});
    }
    FUZZ_LAW(store->ops->commit(store, &err), "%s", err.text);
    (void)atexit(remove_store);
}

FUZZ_TARGET(query)
{
    static bool made;
    if (!made)
        make_store();
    made = true;
    OWNED_TEXT sql = fuzz_text(data, n);
    struct err err = {0};
    int64_t began_ms = clock_mono_ms(clock_system());
    OWNED(json_object)
    answer = query_run(dir, sql, &(struct query_limits){.rows = 100, .ms = DEADLINE_MS}, &err);
    int64_t took_ms = clock_mono_ms(clock_system()) - began_ms;
    FUZZ_LAW((answer != NULL) == (err.code == ERR_NONE), "answered and refused: %s", err.text);
    FUZZ_LAW(err.code != ERR_CORRUPT && err.code != ERR_INTERNAL, "%s", err.text);
    FUZZ_LAW(took_ms < LATE_MS, "%lld ms", (long long)took_ms);
    return 0;
}
