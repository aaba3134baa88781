/* budget.h - how much memory, temporary disk space and time SQLite may use for one query.
 *
 * SQLite has limits per connection for the size of a statement and of a value, but none for memory,
 * for temporary files or for the time that preparing a statement takes: a statement of 900 bytes
 * whose WITH clauses refer to each other twice needs gigabytes before its first row. Ferry replaces
 * the allocator and the VFS and counts against the budget of the calling thread. A thread without a
 * budget (every other connection of the store) is not limited.
 *
 * An allocation over the budget, or after the deadline, fails; a temporary file over the budget is
 * SQLITE_FULL. Both end a statement cleanly: SQLite is tested for them at every allocation and
 * every write. A running statement is interrupted at the deadline by a thread of its own, because a
 * progress handler is not called inside one long instruction (count(*) of a large table). Private
 * to store/.
 */
#ifndef STORE_BUDGET_H
#define STORE_BUDGET_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

enum budget_part { BUDGET_NONE, BUDGET_MEMORY, BUDGET_TEMP, BUDGET_TIME };

struct budget {
    int64_t memory_max, temp_max; /* bytes */
    int64_t until_ms;             /* monotonic */
    int64_t memory, temp;         /* in use */
    enum budget_part exceeded;    /* the last one that was */
    unsigned calls;
};

/* Before the first use of SQLite in the process; db_open() calls it. Any thread, any number of
 * times. */
void budget_install(void);

/* Limits this thread until budget_end(); the connection that is limited is opened and closed in
 * between. ERR_INTERNAL when SQLite was used before budget_install(). */
MUST_CHECK bool budget_begin(struct budget *budget, struct err *err);
void budget_end(void);
/* The VFS for connections of this thread; NULL: the default. */
const char *budget_vfs(void);

/* Interrupts what runs on db at the deadline. Stop it before db is closed. */
struct watchdog {
    sqlite3 *db;
    int64_t until_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_stopping;
};
MUST_CHECK bool watchdog_start(struct watchdog *dog, sqlite3 *db, int64_t until_ms,
                               struct err *err);
void watchdog_stop(struct watchdog *dog);

#endif
