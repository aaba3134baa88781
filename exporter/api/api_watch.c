/* api_watch.c - watches: a list that goes on. Kubernetes' way.
 *
 * Events are JSON objects, one in a line. A watch from a version gets the changes after it; one
 * without a version, or with 0, or with sendInitialEvents, first gets each object there is as
 * ADDED. Bookmarks say how far it is when nothing happens. One that is too slow, or from a version
 * that is not kept, ends with the error 410 Gone: the client lists again.
 *
 * A watch holds its place in the feed and the piece that is being sent. What it begins with is a
 * list: where that does not fit into the first piece its snapshot is kept as for one, and the
 * client has as long as for one. */
#include <string.h>

#include "exporter/api/api_filter.h"
#include "exporter/api/feed_change.h"
#include "exporter/exporter_impl.h"

enum {
    PIECE_BYTES = 64 * 1024,
    FIRST_BYTES = 24 * 1024, /* of the first piece, which is made on the connection's thread */
    FIRST_OBJECTS = 250,     /* scanned for it */
    BOOKMARK_MS = 60 * 1000,
    ALIVE_MS = 10 * 1000, /* at least so often it is checked that the client is still there */
    TIMEOUT_MAX_S = 3600,
};

struct watching {
    struct exporter *x;
    enum api_kind kind;
    const struct api_view *view;
    struct api_filter filter;
    bool as_table, has_columns; /* columns are sent with the first row only */
    enum api_rows rows;
    bool wants_bookmarks, wants_end; /* end: of the initial events */
    const struct versions *initial;  /* while they are sent */
    uint64_t kept;                   /* their number in list_keep.h; 0: not kept yet */
    size_t next;                     /* of these */
    const struct versions *newest;   /* during the request only */
    uint64_t at;                     /* all changes up to this version were sent */
    int64_t bookmark_ms, ends_ms;    /* mono */
    bool has_ended;
    struct feed_waiter waiter;
    void (*wake)(void *wake_ctx);
    void *wake_ctx;
};

static void end_initial(struct watching *w)
{
    if (w->kept != 0)
        list_keep_end(w->x->lists, w->kept, false, clock_mono_ms(w->x->clock));
    w->kept = 0;
    w->initial = NULL;
}

static void watching_free(void *ctx)
{
    struct watching *w = ctx;
    end_initial(w);
    free(w);
}

/* ---- events ---- */

static void begin_row(struct watching *w, struct buf *out)
{
    buf_add(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{},"
                 "\"columnDefinitions\":");
    if (w->has_columns)
        buf_add(out, "null");
    else
        api_add_columns(out, w->kind);
    w->has_columns = true;
}

static void add_row(struct watching *w, const struct feed_change *change, struct buf *out)
{
    begin_row(w, out);
    buf_addf(out, ",\"rows\":[{\"cells\":%s", change->cells);
    if (w->rows == API_ROW_OBJECT) {
        buf_add(out, ",\"object\":");
        buf_add(out, change->object);
    } else if (w->rows == API_ROW_METADATA) {
        buf_add(out, API_PARTIAL_METADATA);
        buf_add(out, change->metadata);
        buf_add(out, "}");
    }
    buf_add(out, "}]}");
}

static void add_event(struct watching *w, enum change_type type, const struct feed_change *change,
                      struct buf *out)
{
    static const char *const names[CHANGE_TYPES] = {"ADDED", "MODIFIED", "DELETED"};
    buf_addf(out, "{\"type\":\"%s\",\"object\":", names[type]);
    if (w->as_table)
        add_row(w, change, out);
    else
        buf_add(out, change->object);
    buf_add(out, "}\n");
}

/* For who selects, an object that is no longer selected is deleted, one that newly is, added. */
static void add_change(struct watching *w, const struct feed_change *change, struct buf *out)
{
    bool was =
        change->type != CHANGE_ADDED && api_filter_takes(&w->filter, w->view, change, &change->was);
    bool is = change->type != CHANGE_DELETED &&
              api_filter_takes(&w->filter, w->view, change, &change->is);
    if (was || is)
        add_event(w, is && was ? CHANGE_MODIFIED : is ? CHANGE_ADDED : CHANGE_DELETED, change, out);
}

static void add_bookmark(struct watching *w, bool is_end, struct buf *out)
{
    const struct api_kind_row *row = api_kind_row(w->kind);
    buf_addf(out, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",",
             w->as_table ? "Table" : row->kind, w->as_table ? "meta.k8s.io/v1" : row->api_version);
    if (w->as_table)
        buf_add(out, "\"columnDefinitions\":null,\"rows\":null,");
    buf_addf(out, "\"metadata\":{\"resourceVersion\":\"%llu\"%s}}}\n", (unsigned long long)w->at,
             is_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    w->bookmark_ms = clock_mono_ms(w->x->clock) + BOOKMARK_MS;
}

static void add_gone(struct watching *w, struct buf *out)
{
    buf_addf(out,
             "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
             "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: %llu; "
             "list again\",\"reason\":\"Expired\",\"code\":410}}\n",
             (unsigned long long)w->at);
}

/* ---- pieces ---- */

/* As a change, so that it is written the same way. */
static void add_initial(struct watching *w, size_t i, struct buf *out)
{
    const struct snapshot *s = w->initial->snapshot;
    struct buf object, metadata, cells;
    OWNED(json_object) shown = api_versioned(w->initial, w->kind, i);
    OWNED(json_object) row = json_object_new_array();
    buf_init(&object, PIECE_BYTES * 16);
    buf_init(&metadata, PIECE_BYTES * 16);
    buf_init(&cells, PIECE_BYTES);
    json_add_text(row, "", w->view->name(s, i));
    w->view->add_cells(s, i, clock_wall_ms(w->x->clock), row);
    api_add_json(&object, shown);
    api_add_json(&metadata, json_at(shown, "metadata"));
    api_add_json(&cells, row);
    const struct feed_change change = {
        .object = object.data, .metadata = metadata.data, .cells = cells.data};
    if (object.failed || metadata.failed || cells.failed)
        out->failed = true;
    else
        add_event(w, CHANGE_ADDED, &change, out);
    buf_fini(&object);
    buf_fini(&metadata);
    buf_fini(&cells);
}

static void advance_initial(struct watching *w, size_t bytes, size_t max, struct buf *out)
{
    const struct snapshot *s = w->initial->snapshot;
    size_t all = w->view->count(s);
    for (size_t n = 0; w->next < all && out->length < bytes && n < max; w->next++, n++)
        if (api_filter_matches(&w->filter, w->view, s, w->next))
            add_initial(w, w->next, out);
    if (w->next < all)
        return;
    end_initial(w);
    if (w->wants_end)
        add_bookmark(w, true, out);
}

/* False: there is none yet. */
static bool advance_changes(struct watching *w, struct buf *out)
{
    while (out->length < PIECE_BYTES) {
        const struct feed_change *change;
        uint64_t at;
        switch (feed_next(w->x->feed, w->kind, w->at, &change, &at)) {
        case FEED_FOUND:
            add_change(w, change, out);
            w->at = change->version;
            feed_change_unref(change);
            break;
        case FEED_NONE: w->at = at; return out->length > 0;
        case FEED_GONE:
            add_gone(w, out);
            w->has_ended = true;
            return true;
        case FEED_ENDS: w->has_ended = true; return true;
        }
    }
    return true;
}

static enum http_next next_piece(void *ctx, struct buf *out)
{
    struct watching *w = ctx;
    int64_t now_ms = clock_mono_ms(w->x->clock);
    (void)feed_warm(w->x->feed, w->kind);
    if (w->initial != NULL)
        advance_initial(w, PIECE_BYTES, SIZE_MAX, out);
    if (w->initial != NULL)
        return STREAM_MORE;
    bool has_piece = advance_changes(w, out);
    if (!w->has_ended && now_ms >= w->ends_ms)
        w->has_ended = true;
    if (w->has_ended)
        return STREAM_LAST;
    if (!has_piece && w->wants_bookmarks && now_ms >= w->bookmark_ms) {
        add_bookmark(w, false, out);
        has_piece = true;
    }
    return has_piece ? STREAM_MORE : STREAM_LATER;
}

static void on_wake(void *ctx)
{
    struct watching *w = ctx;
    w->wake(w->wake_ctx);
}

static void wait_for_change(void *ctx, void (*wake)(void *wake_ctx), void *wake_ctx)
{
    struct watching *w = ctx;
    int64_t now_ms = clock_mono_ms(w->x->clock);
    w->wake = wake;
    w->wake_ctx = wake_ctx;
    w->waiter = (struct feed_waiter){.until_ms = now_ms + ALIVE_MS < w->ends_ms ? now_ms + ALIVE_MS
                                                                                : w->ends_ms,
                                     .after = w->at,
                                     .ctx = w,
                                     .wake = on_wake};
    feed_wait(w->x->feed, &w->waiter);
}

/* ---- the request ---- */

static bool is_true(const char *text)
{
    return text != NULL && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

/* From which version, or with everything there is first. */
static bool read_start(struct watching *w, const struct api_call *call, struct err *err)
{
    const char *version = http_query(call->request, "resourceVersion");
    bool sends_all = is_true(http_query(call->request, "sendInitialEvents"));
    int64_t number = 0;
    if (version != NULL && version[0] != '\0' && !text_to_i64(version, 0, INT64_MAX, &number))
        return err_set(err, ERR_INVALID, "resourceVersion '%.40s' is not a version of Ferry's",
                       version);
    w->wants_end = sends_all && w->wants_bookmarks;
    w->at = (uint64_t)number;
    if (number != 0 && !sends_all)
        return true;
    w->initial = w->newest;
    w->at = w->newest->newest;
    return true;
}

static bool read_request(struct watching *w, const struct api_call *call, struct err *err)
{
    const char *timeout = http_query(call->request, "timeoutSeconds");
    int64_t seconds = TIMEOUT_MAX_S, now_ms = clock_mono_ms(call->x->clock);
    if (timeout != NULL && !text_to_i64(timeout, 0, INT32_MAX, &seconds))
        return err_set(err, ERR_INVALID, "timeoutSeconds '%.40s' is not a number of seconds",
                       timeout);
    if (seconds == 0 || seconds > TIMEOUT_MAX_S)
        seconds = TIMEOUT_MAX_S;
    w->ends_ms = now_ms + seconds * 1000;
    w->bookmark_ms = now_ms + BOOKMARK_MS;
    w->wants_bookmarks = is_true(http_query(call->request, "allowWatchBookmarks"));
    return api_filter_init(&w->filter, call->request, w->view, err) && read_start(w, call, err);
}

/* A place that is gone is said as a status, not as the first event: older clients see it sooner. */
static bool is_kept(struct watching *w, struct err *err)
{
    const struct feed_change *change = NULL;
    uint64_t at;
    bool is_gone =
        w->initial == NULL && feed_next(w->x->feed, w->kind, w->at, &change, &at) == FEED_GONE;
    feed_change_unref(change);
    return !is_gone || err_set(err, ERR_EXPIRED, "too old resource version: %llu; list again",
                               (unsigned long long)w->at);
}

/* Events are read from the store: as many as a list has. */
struct first_events {
    struct watching *w;
    struct buf *out;
};

static bool add_first_event(void *ctx, const struct store_event *row)
{
    struct first_events *first = ctx;
    struct watching *w = first->w;
    struct change_block *block =
        feed_change_of_event(row, CHANGE_ADDED, w->at, clock_wall_ms(w->x->clock));
    if (block == NULL)
        first->out->failed = true;
    else if (api_filter_takes(&w->filter, w->view, &block->change, &block->change.is))
        add_event(w, CHANGE_ADDED, &block->change, first->out);
    feed_change_unref(block == NULL ? NULL : &block->change);
    return !first->out->failed;
}

static void add_first_events(struct watching *w, const struct api_call *call, struct buf *out)
{
    struct err err = {0};
    struct first_events first = {w, out};
    if (!api_each_event(call, add_first_event, &first, &err))
        out->failed = true;
    end_initial(w);
    if (w->wants_end)
        add_bookmark(w, true, out);
}

/* The first piece; what is left of the initial events is kept for the others. */
static bool send_first(struct watching *w, const struct api_call *call,
                       struct http_reply *out_reply)
{
    struct buf first;
    buf_init(&first, 16 * PIECE_BYTES);
    if (w->initial != NULL && w->kind == KIND_EVENT)
        add_first_events(w, call, &first);
    else if (w->initial != NULL)
        advance_initial(w, FIRST_BYTES, FIRST_OBJECTS, &first);
    if (w->initial != NULL)
        w->kept = list_keep_begin(w->x->lists, &w->initial, clock_mono_ms(w->x->clock));
    if (w->initial != NULL && w->kept == 0) {
        buf_fini(&first);
        reply_refusal(out_reply, 503, "too many long lists are being read; try again");
        return false;
    }
    reply_buf(out_reply, 200, &first);
    return out_reply->status == 200;
}

/* A kind that was not kept: what is shown after the turn under way can be gone on from. */
static const struct versions *take_newest(const struct api_call *call)
{
    bool was_warm = feed_warm(call->x->feed, call->kind);
    return was_warm ? versions_ref(call->versions) : exporter_versions_after(call->x);
}

/* 422 makes newer clients that ask for initial events fall back to listing. */
static bool refuses(const struct api_call *call, struct http_reply *reply)
{
    if (strstr(api_kind_row(call->kind)->verbs, "watch") != NULL)
        return false;
    reply_refusal(reply, http_query(call->request, "sendInitialEvents") != NULL ? 422 : 405,
                  "this kind cannot be watched; list again instead");
    return true;
}

void serve_watch(const struct api_call *call, struct http_reply *out_reply)
{
    struct err err = {0};
    if (refuses(call, out_reply))
        return;
    if (call->versions == NULL) {
        reply_refusal(out_reply, 503, "Ferry is starting: no snapshot yet");
        return;
    }
    struct watching *w = calloc(1, sizeof *w);
    if (w == NULL) {
        reply_refusal(out_reply, 503, "no memory for a watch");
        return;
    }
    w->x = call->x;
    w->kind = call->kind;
    w->view = api_view_of(call->kind);
    w->as_table = api_wants_table(call->request);
    w->rows = api_rows_wanted(call->request);
    w->newest = take_newest(call);
    bool is_begun = read_request(w, call, &err) && is_kept(w, &err);
    if (!is_begun)
        reply_err(out_reply, &err, call->kind, NULL);
    is_begun = is_begun && send_first(w, call, out_reply);
    versions_unref(w->newest);
    if (!is_begun) {
        w->initial = NULL;
        watching_free(w);
        return;
    }
    out_reply->type = w->as_table ? "application/json;as=Table;v=v1;g=meta.k8s.io;stream=watch"
                                  : "application/json;stream=watch";
    out_reply->stream = (struct http_stream){
        .ctx = w, .next = next_piece, .wait = wait_for_change, .free = watching_free};
}
