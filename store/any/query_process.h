/* query_process.h - a query in a process of its own: whatever SQLite does, the appliance goes on.
 *
 * query.h bounds a statement from inside; planning a join or one long instruction cannot be
 * interrupted there. The process that runs it has limits of CPU time, memory and file size, and is
 * killed shortly after the deadline. It is this program again, with the verb QUERY_WORKER: the
 * request comes in as JSON on standard input, the answer goes out on standard output. Any thread.
 */
#ifndef STORE_QUERY_PROCESS_H
#define STORE_QUERY_PROCESS_H

#include "store/any/any.h"

#define QUERY_WORKER "query-worker"
enum {
    QUERY_GRACE_MS = 500,                     /* after the deadline, then it is killed */
    QUERY_PROCESS_MEMORY = 256 * 1024 * 1024, /* SQLite's limit, the result and the program */
    QUERY_ANSWER_MAX = 64 * 1024 * 1024,      /* bytes of JSON that are read from it */
};

/* As query_run(). */
struct json_object *query_process_run(const char *state_dir, const char *sql,
                                      const struct query_limits *limits, struct err *err);
/* The other end: the whole life of the process. Returns its exit status. */
int query_process_main(void);

#endif
