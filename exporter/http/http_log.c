/* http_log.c - see http_log.h. */
#include "exporter/http/http_log.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum { LINES_MAX = 5, MINUTE_MS = 60000 };

void http_log_init(struct http_log *log, const struct clock *clock)
{
    *log = (struct http_log){.clock = clock, .since_ms = clock_mono_ms(clock)};
    (void)pthread_mutex_init(&log->lock, NULL);
}

void http_log_fini(struct http_log *log)
{
    (void)pthread_mutex_destroy(&log->lock);
}

static bool may_log(struct http_log *log)
{
    int64_t now_ms = clock_mono_ms(log->clock);
    (void)pthread_mutex_lock(&log->lock);
    if (now_ms - log->since_ms >= MINUTE_MS) {
        log->since_ms = now_ms;
        log->lines = 0;
    }
    bool may = log->lines < LINES_MAX;
    log->lines += may;
    (void)pthread_mutex_unlock(&log->lock);
    return may;
}

void http_log_library(void *cls, const char *fmt, va_list args)
{
    char text[256];
    if (!may_log(cls))
        return;
    (void)vsnprintf(text, sizeof text, fmt, args);
    text[strcspn(text, "\n")] = '\0';
    LOG(DEBUG, "http_library", FIELD_TEXT(TEXT, text));
}
