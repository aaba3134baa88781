/* http_log.h - the lines that libmicrohttpd logs, one per lost client: a few a minute. Any thread.
 */
#ifndef EXPORTER_HTTP_HTTP_LOG_H
#define EXPORTER_HTTP_HTTP_LOG_H

#include <pthread.h>
#include <stdarg.h>

#include "base/clock.h"

struct http_log {
    const struct clock *clock;
    pthread_mutex_t lock; /* the rest */
    int64_t since_ms;     /* this minute */
    unsigned lines;
};
void http_log_init(struct http_log *log, const struct clock *clock);
void http_log_fini(struct http_log *log);
/* An MHD_LogCallback; cls: the log. */
void http_log_library(void *cls, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
