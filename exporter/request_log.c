/* request_log.c - see request_log.h. */
#include "exporter/request_log.h"

#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "engine/snapshot.h"

enum { MINUTE_MS = 60000 };

struct request_log {
    const struct clock *clock;
    pthread_mutex_t lock; /* the rest */
    int64_t since_ms;     /* this minute */
    unsigned lines, suppressed;
};

struct request_log *request_log_new(const struct clock *clock, struct err *err)
{
    struct request_log *log = calloc(1, sizeof *log);
    if (log == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the log of requests");
        return NULL;
    }
    log->clock = clock;
    log->since_ms = clock_mono_ms(clock);
    (void)pthread_mutex_init(&log->lock, NULL);
    return log;
}

void request_log_free(struct request_log *log)
{
    if (log == NULL)
        return;
    (void)pthread_mutex_destroy(&log->lock);
    free(log);
}

/* Changes are always logged; refused requests are limited, since any client can repeat them. */
static bool may_log_refusal(struct request_log *log)
{
    int64_t now_ms = clock_mono_ms(log->clock);
    unsigned suppressed = 0;
    (void)pthread_mutex_lock(&log->lock);
    if (now_ms - log->since_ms >= MINUTE_MS) {
        suppressed = log->suppressed;
        log->since_ms = now_ms;
        log->lines = log->suppressed = 0;
    }
    bool may = log->lines < REQUEST_LOG_REFUSALS_MAX;
    if (may)
        log->lines++;
    else
        log->suppressed++;
    (void)pthread_mutex_unlock(&log->lock);
    if (suppressed > 0)
        LOG(WARN, "http_refusals_not_logged", FIELD_I64(COUNT, suppressed));
    return may;
}

void request_log_done(struct request_log *log, const struct http_route *route,
                      const struct http_request *request, unsigned status, int64_t spent_ms)
{
    (void)route;
    char who[SNAPSHOT_WHO_MAX];
    bool changes = strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0;
    enum log_level level = changes ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
    if (!log_enabled(level) || (changes && status >= 400 && !may_log_refusal(log)))
        return;
    access_identity_id(request->identity, who, sizeof who);
    const struct log_field fields[] = {
        FIELD_TEXT(METHOD, request->method), FIELD_TEXT(PATH, request->path),
        FIELD_I64(STATUS, status),           FIELD_I64(SPENT_MS, spent_ms),
        FIELD_TEXT(IDENTITY, who),           FIELD_TEXT(ADDRESS, request->identity->address)};
    log_line(level, "http_request", fields, COUNT(fields));
}
