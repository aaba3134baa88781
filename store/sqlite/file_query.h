/* file_query.h - one SQL query on the files of a state directory.
 *
 * A read-only connection with both files attached and the views of views.def. An authorizer allows
 * only reading and functions. Any thread; blocks up to the time limit, and about 0.1 s for the
 * current instruction.
 */
#ifndef STORE_SQLITE_FILE_QUERY_H
#define STORE_SQLITE_FILE_QUERY_H

#include "store/query.h"

/* As query_run() (store/any/any.h). */
struct json_object *file_query_run(const char *state_dir, const char *sql,
                                   const struct query_limits *limits, struct err *err);

#endif
