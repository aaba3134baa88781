/* api_listing.c - lists of any kind: filtered, in pages, and sent while they are made.
 *
 * Kubernetes' way: at most `limit` objects, then metadata.continue for the next page, which shows
 * the same moment (list_keep.h). The first piece of a list is made by its handler; where that is
 * not all, the others are made by the server's makers while the client reads (http_stream.h). So a
 * list costs its reader's piece, never its whole text, and a scrape waits for no list. */
#include <string.h>

#include "base/hash.h"
#include "exporter/api/api.h"
#include "exporter/api/api_filter.h"
#include "exporter/exporter_impl.h"

enum {
    PIECE_BYTES = 64 * 1024, /* a piece ends with the object that reaches it */
    FIRST_BYTES = 24 * 1024, /* likewise the first, which is made on the connection's thread */
    FIRST_OBJECTS = 250,     /* looked at for it */
};

/* ---- a list under way ---- */

struct listing {
    struct exporter *x;
    const struct api_view *view;
    const struct versions *versions; /* the call's, or the kept ones */
    uint64_t kept;                   /* its number; 0: not kept */
    uint64_t check;                  /* of what is asked for, in tokens */
    size_t next, limit;              /* the object to look at; limit 0: none */
    int64_t now_ms;
    bool is_whole;             /* its end is written */
    bool has_page, has_failed; /* a page follows; its snapshot could not be kept */
    struct api_filter filter;
    struct api_list list;
};

static void listing_free(void *ctx)
{
    struct listing *l = ctx;
    if (l->kept != 0)
        list_keep_end(l->x->lists, l->kept, l->has_page, clock_mono_ms(l->x->clock));
    buf_fini(&l->list.text);
    free(l);
}

static bool listing_keep(struct listing *l)
{
    if (l->kept == 0)
        l->kept = list_keep_begin(l->x->lists, &l->versions, clock_mono_ms(l->x->clock));
    return l->kept != 0;
}

/* Another path, selector or appliance has another check: its token is not for this list. */
static uint64_t check_of(const struct listing *l, const struct api_call *call)
{
    const char *const texts[] = {call->request->path, http_query(call->request, "labelSelector"),
                                 http_query(call->request, "fieldSelector")};
    uint64_t check = hash_number(HASH_START, list_keep_id(l->x->lists));
    for (size_t i = 0; i < COUNT(texts); i++)
        check = hash_word(check, texts[i] == NULL ? "" : texts[i]);
    return check;
}

static uint64_t seal(uint64_t check, uint64_t kept, size_t next)
{
    return hash_number(hash_number(check, kept), next);
}

static size_t count_from(const struct listing *l, size_t i)
{
    size_t n = 0, all = l->view->count(l->versions->snapshot);
    for (; i < all; i++)
        n += api_filter_sees(&l->filter, l->view, l->versions->snapshot, i);
    return n;
}

/* Kubernetes leaves the count out where selectors would have to be tried. */
static void end_page(struct listing *l)
{
    struct api_page page = {.token = ""};
    if (!listing_keep(l)) {
        l->has_failed = true;
        return;
    }
    (void)snprintf(page.token, sizeof page.token, "%llx.%zx.%016llx", (unsigned long long)l->kept,
                   l->next, (unsigned long long)seal(l->check, l->kept, l->next));
    if (l->filter.labels.n == 0 && l->filter.fields.n == 0)
        page.remaining = count_from(l, l->next);
    l->has_page = true;
    api_list_end(&l->list, &page);
}

/* Adds objects until the piece has so many bytes, max have been looked at, or the list or page
 * ends. */
static void advance(struct listing *l, size_t bytes, size_t max)
{
    size_t all = l->view->count(l->versions->snapshot);
    for (size_t looked = 0; l->next < all && looked < max; l->next++, looked++) {
        if (l->list.text.length >= bytes)
            return;
        if (!api_filter_matches(&l->filter, l->view, l->versions->snapshot, l->next))
            continue;
        if (l->limit > 0 && l->list.n == l->limit) {
            l->is_whole = true;
            end_page(l);
            return;
        }
        api_list_add_nth(&l->list, l->versions, l->next, l->now_ms);
    }
    if (l->next < all)
        return;
    l->is_whole = true;
    api_list_end(&l->list, NULL);
}

static enum http_next next_piece(void *ctx, struct buf *out)
{
    struct listing *l = ctx;
    advance(l, PIECE_BYTES, SIZE_MAX);
    size_t limit = l->list.text.limit;
    buf_fini(out);
    *out = l->list.text; /* handed over: no second copy */
    buf_init(&l->list.text, limit);
    out->failed = out->failed || l->has_failed;
    return l->is_whole ? STREAM_LAST : STREAM_MORE;
}

/* ---- the request ---- */

/* A token as end_page() writes it: is it one, of this list, and not expired? */
static bool resume(struct listing *l, const char *token, struct err *err)
{
    unsigned long long kept, sealed;
    size_t next;
    int end = 0;
    if (sscanf(token, "%16llx.%16zx.%16llx%n", &kept, &next, &sealed, &end) != 3 ||
        token[end] != '\0')
        return err_set(err, ERR_INVALID, "continue '%.80s' is not the token of a list", token);
    if (sealed == seal(l->check, kept, next))
        l->versions = list_keep_resume(l->x->lists, kept, clock_mono_ms(l->x->clock));
    else
        l->versions = NULL;
    if (l->versions == NULL)
        return err_set(err, ERR_EXPIRED,
                       "the continue parameter is too old, or of another list: start a new list "
                       "without it");
    l->kept = kept;
    l->next = next;
    return true;
}

static bool read_request(struct listing *l, const struct api_call *call, struct err *err)
{
    const char *limit = http_query(call->request, "limit");
    const char *token = http_query(call->request, "continue");
    int64_t n = 0;
    if (limit != NULL && !text_to_i64(limit, 0, INT64_MAX, &n))
        return err_set(err, ERR_INVALID, "limit '%.40s' is not a number of objects", limit);
    if (!api_filter_init(&l->filter, call->request, l->view, err))
        return false;
    l->limit = (size_t)n;
    l->check = check_of(l, call);
    return token == NULL || token[0] == '\0' || resume(l, token, err);
}

static void reply_busy(struct http_reply *reply)
{
    reply_refusal(reply, 503, "too many long lists are being read; try again");
}

/* Takes the listing. */
static void send(struct listing *l, struct http_reply *out_reply)
{
    bool is_kept = l->is_whole ? !l->has_failed : listing_keep(l);
    if (!is_kept) {
        reply_busy(out_reply);
        listing_free(l);
        return;
    }
    reply_buf(out_reply, 200, &l->list.text);
    if (l->is_whole || out_reply->status != 200)
        listing_free(l);
    else
        out_reply->stream =
            (struct http_stream){.ctx = l, .next = next_piece, .free = listing_free};
}

void serve_list(const struct api_call *call, struct http_reply *out_reply)
{
    struct err err = {0};
    if (call->versions == NULL) {
        reply_refusal(out_reply, 503, "Ferry is starting: no snapshot yet");
        return;
    }
    if (api_wants_watch(call->request)) {
        serve_watch(call, out_reply);
        return;
    }
    (void)feed_warm(call->x->feed, call->kind);
    struct listing *l = calloc(1, sizeof *l);
    if (l == NULL) {
        reply_busy(out_reply);
        return;
    }
    l->x = call->x;
    l->view = api_view_of(call->kind);
    l->versions = call->versions;
    l->now_ms = clock_wall_ms(call->x->clock);
    if (!read_request(l, call, &err)) {
        reply_err(out_reply, &err, call->kind, NULL);
        listing_free(l);
        return;
    }
    api_list_begin(&l->list, call->kind, call->request, l->versions->newest);
    advance(l, FIRST_BYTES, FIRST_OBJECTS);
    send(l, out_reply);
}
