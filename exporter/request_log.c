/* request_log.c - see request_log.h. */
#include "exporter/request_log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/snapshot.h"

enum { MINUTE_MS = 60000 };

struct request_log {
    const struct clock *clock;
    struct store *store;  /* NULL: no rows */
    pthread_mutex_t lock; /* the rest */
    struct budget {
        int64_t since_ms; /* this minute */
        unsigned used, suppressed;
    } lines, rows;
};

struct request_log *request_log_new(const struct clock *clock, struct store *store, struct err *err)
{
    struct request_log *log = calloc(1, sizeof *log);
    if (log == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the log of requests");
        return NULL;
    }
    log->clock = clock;
    log->store = store;
    log->lines.since_ms = log->rows.since_ms = clock_mono_ms(clock);
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
static bool take(struct request_log *log, struct budget *budget, unsigned max,
                 unsigned *out_suppressed)
{
    int64_t now_ms = clock_mono_ms(log->clock);
    *out_suppressed = 0;
    (void)pthread_mutex_lock(&log->lock);
    if (now_ms - budget->since_ms >= MINUTE_MS) {
        *out_suppressed = budget->suppressed;
        *budget = (struct budget){.since_ms = now_ms};
    }
    bool may = budget->used < max;
    if (may)
        budget->used++;
    else
        budget->suppressed++;
    (void)pthread_mutex_unlock(&log->lock);
    return may;
}

static bool may_log_refusal(struct request_log *log)
{
    unsigned suppressed;
    bool may = take(log, &log->lines, REQUEST_LOG_REFUSALS_MAX, &suppressed);
    if (suppressed > 0)
        LOG(WARN, "http_refusals_not_logged", FIELD_I64(COUNT, suppressed));
    return may;
}

/* ---- audit ---- */

static void put_row(struct request_log *log, const struct store_audit *row)
{
    if (log->store->ops->append_audit != NULL)
        (void)log->store->ops->append_audit(log->store, row); /* the store counts what it loses */
}

/* A minute that had more refusals than rows. */
static void put_sum(struct request_log *log, unsigned n)
{
    struct store_audit row = {.at_ms = clock_wall_ms(log->clock), .count = n};
    TEXT_SET(row.verb, "refused");
    put_row(log, &row);
}

static void audit(struct request_log *log, const struct http_route *route,
                  const struct http_request *request, unsigned status)
{
    struct route_action storage;
    struct access_action action = route_action(route, request->ns, &storage);
    struct store_audit row = {
        .at_ms = clock_wall_ms(log->clock), .accepted = status < 400, .status = status, .count = 1};
    unsigned suppressed = 0;
    bool has_room = row.accepted || take(log, &log->rows, AUDIT_REFUSALS_MAX, &suppressed);
    if (suppressed > 0)
        put_sum(log, suppressed);
    if (!has_room)
        return;
    access_identity_id(request->identity, row.identity, sizeof row.identity);
    TEXT_SET(row.role, access_role_name(request->identity->role));
    TEXT_SET(row.address, request->identity->address);
    TEXT_SET(row.verb, action.verb);
    (void)snprintf(row.resource, sizeof row.resource, "%.40s%s%.20s", storage.resource,
                   storage.subresource[0] == '\0' ? "" : "/", storage.subresource);
    TEXT_SET(row.ns, request->ns == NULL ? "" : request->ns);
    (void)text_copy(row.name, sizeof row.name, request->name == NULL ? "" : request->name);
    put_row(log, &row);
}

static bool is_change(const struct http_route *route)
{
    struct route_action storage;
    if (route == NULL || strcmp(route->method, "GET") == 0)
        return false;
    struct access_action action = route_action(route, NULL, &storage);
    return access_is_change(access_rule_find(&action));
}

void request_log_done(struct request_log *log, const struct http_route *route,
                      const struct http_request *request, unsigned status, int64_t spent_ms)
{
    if (log->store != NULL && is_change(route))
        audit(log, route, request, status);
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
