/* request_log.h - a log line for each request: changes always, refusals at most so many a minute,
 * reads at level debug. Any thread. */
#ifndef EXPORTER_REQUEST_LOG_H
#define EXPORTER_REQUEST_LOG_H

#include "base/clock.h"
#include "exporter/api/routes.h"

enum { REQUEST_LOG_REFUSALS_MAX = 30 }; /* a minute */

struct request_log;
struct request_log *request_log_new(const struct clock *clock, struct err *err);
void request_log_free(struct request_log *log); /* NULL is fine */
DEFINE_OWNED(request_log)
/* As http_service.done. */
void request_log_done(struct request_log *log, const struct http_route *route,
                      const struct http_request *request, unsigned status, int64_t spent_ms);

#endif
