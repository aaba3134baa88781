/* exporter.c - see exporter.h: holds the newest snapshot and the newest sample of Ferry's own
 * statistics. A page is rendered from these two (scrape.h); counters appear on it at most one such
 * sample later. The engine's thread only swaps a pointer.
 */
#include "exporter/exporter_impl.h"

#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "exporter/api/api.h"
#include "exporter/api/routes.h"

struct self_sample {
    atomic_int references;
    struct exporter_self self;
    struct process_stats process;
    char *names;                  /* the lanes' names, and those of the cells */
    struct exporter_cell *cells;  /* target of self.cells */
    struct exporter_lane lanes[]; /* target of self.lanes */
};

static void self_unref(struct self_sample *sample)
{
    if (sample == NULL || atomic_fetch_sub(&sample->references, 1) != 1)
        return;
    free(sample->names);
    free(sample->cells);
    free(sample);
}

static struct self_sample *self_ref(struct self_sample *sample)
{
    if (sample != NULL)
        (void)atomic_fetch_add(&sample->references, 1);
    return sample;
}

/* Copies a text to *at and advances *at. */
static const char *keep(char **at, const char *text)
{
    size_t n = strlen(text) + 1;
    char *kept = memcpy(*at, text, n);
    *at += n;
    return kept;
}

static struct self_sample *self_copy(const struct exporter_self *self)
{
    size_t bytes = 0;
    for (size_t i = 0; i < self->n_lanes; i++)
        bytes += strlen(self->lanes[i].node) + strlen(self->lanes[i].lane) + 2;
    for (size_t i = 0; i < self->n_cells; i++)
        bytes += strlen(self->cells[i].cell) + strlen(self->cells[i].holder) + 2;
    bytes += self->appliance != NULL ? strlen(self->appliance) : 0;
    struct self_sample *copy = calloc(1, sizeof *copy + self->n_lanes * sizeof copy->lanes[0]);
    struct exporter_cell *cells = calloc(self->n_cells + 1, sizeof *cells);
    char *names = malloc(bytes + 1);
    if (copy == NULL || names == NULL || cells == NULL) {
        free(copy);
        free(cells);
        free(names);
        return NULL;
    }
    atomic_init(&copy->references, 1);
    copy->self = *self;
    copy->self.lanes = copy->lanes;
    copy->names = names;
    copy->cells = cells;
    copy->self.cells = cells;
    copy->self.appliance = keep(&names, self->appliance != NULL ? self->appliance : "");
    for (size_t i = 0; i < self->n_cells; i++) {
        cells[i] = self->cells[i];
        cells[i].cell = keep(&names, self->cells[i].cell);
        cells[i].holder = keep(&names, self->cells[i].holder);
    }
    for (size_t i = 0; i < self->n_lanes; i++) {
        copy->lanes[i] = self->lanes[i];
        copy->lanes[i].node = keep(&names, self->lanes[i].node);
        copy->lanes[i].lane = keep(&names, self->lanes[i].lane);
    }
    process_read(&copy->process);
    return copy;
}

void exporter_set_self(struct exporter *x, const struct exporter_self *self)
{
    struct self_sample *copy = self_copy(self);
    if (copy == NULL)
        return; /* the page keeps the previous one */
    (void)pthread_mutex_lock(&x->lock);
    struct self_sample *before = x->self;
    x->self = copy;
    x->self_number++;
    (void)pthread_mutex_unlock(&x->lock);
    self_unref(before);
}

void exporter_on_snapshot(void *exporter, const struct snapshot *snapshot)
{
    struct exporter *x = exporter;
    (void)snapshot_ref(snapshot);
    (void)pthread_mutex_lock(&x->lock);
    const struct snapshot *before = x->snapshot;
    x->snapshot = snapshot;
    (void)pthread_mutex_unlock(&x->lock);
    snapshot_unref(before);
    feed_take(x->feed, snapshot);
    gate_on_snapshot(x->gate, snapshot);
    metrics_count_late(x->counters, snapshot);
}

const struct versions *exporter_versions_after(struct exporter *x)
{
    feed_settle(x->feed);
    return feed_newest(x->feed);
}

/* The first snapshot is waited for, if there is one. */
const struct versions *exporter_versions(struct exporter *x)
{
    const struct versions *versions = feed_newest(x->feed);
    return versions != NULL ? versions : exporter_versions_after(x);
}

void exporter_on_step(void *exporter, const struct snapshot_job *job, enum phase from,
                      enum trigger why, int64_t spent_ms)
{
    struct exporter *x = exporter;
    enum phase to = phase_next(from, why); /* the job may have moved on */
    metrics_count_step(x->counters, job, from, to != PHASE_NONE ? to : job->phase, spent_ms);
}

void exporter_on_decision(void *exporter, const char *monitor, bool shadow, const char *decision)
{
    struct exporter *x = exporter;
    metrics_count_decision(x->counters, monitor, shadow, decision);
}

void exporter_on_finished(void *exporter, const struct snapshot_job *job)
{
    struct exporter *x = exporter;
    metrics_count_finished(x->counters, job);
}

void exporter_on_judged(void *exporter, const struct verdict_rows *verdict_rows)
{
    struct exporter *x = exporter;
    metrics_count_judged(x->counters, verdict_rows, clock_wall_ms(x->clock));
}

void exporter_on_event(void *exporter, const struct store_event *event)
{
    struct exporter *x = exporter;
    feed_take_event(x->feed, event);
}

void exporter_set_ready(struct exporter *x, bool ready, const char *reason)
{
    (void)pthread_mutex_lock(&x->lock);
    x->is_ready = ready;
    TEXT_SET(x->not_ready, reason == NULL ? "" : reason);
    (void)pthread_mutex_unlock(&x->lock);
}

/* ---- /metrics ---- */

static struct http_page *current_page(struct exporter *x, struct scrape_form form)
{
    (void)pthread_mutex_lock(&x->lock);
    const struct snapshot *snapshot = snapshot_ref(x->snapshot);
    struct self_sample *self = self_ref(x->self);
    uint64_t number = x->self_number;
    (void)pthread_mutex_unlock(&x->lock);
    struct metrics_view view = {.version = x->version,
                                .snapshot = snapshot,
                                .self = self == NULL ? NULL : &self->self,
                                .process = self == NULL ? NULL : &self->process,
                                .kubevirt = x->kubevirt_metrics};
    struct http_page *page = scrape_page(x->scrape, form, &view, number, x->counters);
    self_unref(self);
    snapshot_unref(snapshot);
    return page;
}

void serve_metrics(const struct api_call *call, struct http_reply *out_reply)
{
    struct scrape_form form = scrape_form(http_header(call->request, "Accept"),
                                          http_header(call->request, "Accept-Encoding"));
    out_reply->page = current_page(call->x, form);
    out_reply->status = 200;
    if (out_reply->page == NULL)
        reply_refusal(out_reply, 503, "no memory for the page");
}

void serve_healthz(const struct api_call *call, struct http_reply *out_reply)
{
    (void)call;
    reply_text(out_reply, 200, "ok\n");
}

void serve_readyz(const struct api_call *call, struct http_reply *out_reply)
{
    char reason[SNAPSHOT_REASON_MAX + 16];
    (void)pthread_mutex_lock(&call->x->lock);
    bool is_ready = call->x->is_ready;
    (void)snprintf(reason, sizeof reason, "not ready: %s\n", call->x->not_ready);
    (void)pthread_mutex_unlock(&call->x->lock);
    reply_text(out_reply, is_ready ? 200 : 503, is_ready ? "ok\n" : reason);
}

/* ---- lifecycle ---- */

/* Before a handler looks at it: a standby has neither the objects nor the hosts to judge it by. */
static bool is_held_elsewhere(struct exporter *x, const struct http_route *route,
                              const struct http_request *request, struct http_reply *out_reply)
{
    struct route_action storage;
    struct err err = {0};
    struct access_action action = route_action(route, request->ns, &storage);
    if (x->change.may == NULL || action.resource == NULL ||
        !access_is_change(access_rule_find(&action)) || strcmp(route->method, "GET") == 0 ||
        x->change.may(x->change.ctx, &err))
        return false;
    reply_refusal(out_reply, 503, err.text);
    return true;
}

static void serve(void *ctx, const struct http_route *route, const struct http_request *request,
                  const char *allow, struct http_reply *out_reply)
{
    if (route == NULL) {
        reply_no_route(out_reply, request, allow);
        return;
    }
    struct exporter *x = ctx;
    if (is_held_elsewhere(x, route, request, out_reply))
        return;
    const struct versions *versions = exporter_versions(x);
    struct api_call call = {.x = x,
                            .kind = route->kind,
                            .versions = versions,
                            .snapshot = versions == NULL ? NULL : versions->snapshot,
                            .request = request};
    route->handler(&call, out_reply);
    versions_unref(versions);
    if (strcmp(route->method, "GET") != 0)
        feed_settle(x->feed); /* who made a change reads it afterwards */
}

static void refuse(void *ctx, unsigned status, const char *text, struct http_reply *out_reply)
{
    (void)ctx;
    reply_refusal(out_reply, status, text);
}

static enum http_admission admit(void *ctx, const struct http_route *route,
                                 const struct http_request *request, bool may_wait,
                                 struct access_identity *out_identity, struct http_reply *out_reply)
{
    struct exporter *x = ctx;
    struct route_action storage;
    struct gate_refusal refusal;
    struct gate_ask ask = {0};
    if (route != NULL)
        ask = (struct gate_ask){.action = route_action(route, request->ns, &storage),
                                .is_costly = route->lane == HTTP_LANE_WORKER};
    enum http_admission admission =
        gate_admit(x->gate, route == NULL ? NULL : &ask, request, may_wait, out_identity, &refusal);
    if (admission == HTTP_REFUSED) {
        reply_refusal(out_reply, refusal.status, refusal.text);
        out_reply->challenge = refusal.status == 401;
    }
    return admission;
}

static void done(void *ctx, const struct http_route *route, const struct http_request *request,
                 unsigned status, int64_t spent_ms)
{
    struct exporter *x = ctx;
    request_log_done(x->request_log, route, request, status, spent_ms);
}

static bool open_http(struct exporter *x, const struct exporter_config *config,
                      const struct exporter_parts *parts, struct err *err)
{
    const struct http_service service = {.ctx = x,
                                         .find = route_find,
                                         .lane = route_lane,
                                         .admit = admit,
                                         .done = done,
                                         .serve = serve,
                                         .refuse = refuse};
    struct http_listener_config listeners[HTTP_LISTENERS_MAX];
    x->gate = gate_new(config->access, parts->state_dir, parts->clock, err);
    if (x->gate == NULL)
        return false;
    const struct http_config http = {.listeners = listeners,
                                     .n_listeners = gate_listeners(x->gate, listeners),
                                     .tls = gate_tls(x->gate)};
    x->http = http_new(&http, parts->clock, &service, err);
    return x->http != NULL;
}

static bool know_event(void *ctx, const struct store_event *row)
{
    feed_know_event(ctx, row);
    return true;
}

/* How often the newest events were seen in earlier runs; without that they count from 1. */
static void know_events(struct exporter *x)
{
    struct err err = {0};
    if (x->store != NULL && x->store->ops->each_event != NULL &&
        !x->store->ops->each_event(x->store, NULL, EXPORTER_EVENTS_KNOWN, know_event, x->feed,
                                   &err))
        LOG(WARN, "events_not_read", FIELD_TEXT(ERROR, err.text));
}

struct exporter *exporter_new(const struct exporter_config *config,
                              const struct exporter_parts *parts, struct err *err)
{
    struct exporter *x = calloc(1, sizeof *x);
    if (x == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the exporter");
        return NULL;
    }
    x->clock = parts->clock;
    x->requests = parts->requests;
    x->store = parts->store;
    x->reload = parts->reload;
    x->logs = parts->logs;
    x->change = parts->change;
    TEXT_SET(x->version, config->version);
    TEXT_SET(x->query_place, config->query_place != NULL ? config->query_place : parts->state_dir);
    x->is_stored = parts->state_dir != NULL;
    TEXT_SET(x->not_ready, "starting");
    (void)pthread_mutex_init(&x->lock, NULL);
    x->kubevirt_metrics = config->kubevirt_metrics;
    x->counters = metrics_counters_new(parts->clock, config->kubevirt_metrics, err);
    x->scrape = scrape_new(err);
    x->request_log = request_log_new(parts->clock, parts->store, err);
    x->lists = list_keep_new(err);
    x->feed = feed_new(parts->clock, true, err);
    if (x->feed != NULL)
        know_events(x);
    if (x->counters != NULL && x->scrape != NULL && x->request_log != NULL && x->lists != NULL &&
        x->feed != NULL && open_http(x, config, parts, err))
        return x;
    exporter_free(x);
    return NULL;
}

void exporter_free(struct exporter *x)
{
    if (x == NULL)
        return;
    feed_stop(x->feed);
    http_free(x->http); /* waits for the last handler */
    gate_free(x->gate);
    request_log_free(x->request_log);
    list_keep_free(x->lists);
    feed_free(x->feed);
    scrape_free(x->scrape);
    snapshot_unref(x->snapshot);
    self_unref(x->self);
    metrics_counters_free(x->counters);
    (void)pthread_mutex_destroy(&x->lock);
    free(x);
}

unsigned exporter_port(const struct exporter *x, size_t listener)
{
    return http_port(x->http, listener);
}

bool exporter_reload_access(struct exporter *x, struct err *err)
{
    return gate_reload(x->gate, err);
}

void exporter_tick(struct exporter *x)
{
    gate_tick(x->gate);
    list_keep_tick(x->lists, clock_mono_ms(x->clock));
}
