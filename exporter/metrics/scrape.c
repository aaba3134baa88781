/* scrape.c - see scrape.h. */
#include "exporter/metrics/scrape.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- negotiation ---- */

enum { ITEM_MAX = 128 };

/* One item of a list like "a;q=0.5, b": its name, version and q. */
struct item {
    char word[ITEM_MAX], version[16];
    double quality;
};

static void trim(char *text)
{
    char *start = text + strspn(text, " \t");
    memmove(text, start, strlen(start) + 1);
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        text[--n] = '\0';
}

static double quality_of(const char *text)
{
    char *end;
    double q = strtod(text, &end);
    return end == text || !(q >= 0) || q > 1 ? 0 : q;
}

/* Removes the first item of *list; false at the end. Skips an item that is too long. */
static bool next_item(const char **list, struct item *out)
{
    if (**list == '\0')
        return false;
    size_t n = strcspn(*list, ",");
    char text[ITEM_MAX * 2], *rest = text;
    bool fits = n < sizeof text;
    (void)snprintf(text, sizeof text, "%.*s", fits ? (int)n : 0, *list);
    *list += n + ((*list)[n] == ',');
    *out = (struct item){.quality = 1};
    TEXT_SET(out->word, strsep(&rest, ";"));
    trim(out->word);
    for (char *parameter; (parameter = strsep(&rest, ";")) != NULL;) {
        trim(parameter);
        if (strncasecmp(parameter, "q=", 2) == 0)
            out->quality = quality_of(parameter + 2);
        else if (strncasecmp(parameter, "version=", 8) == 0)
            TEXT_SET(out->version, parameter + 8);
    }
    return true;
}

static bool version_is(const struct item *item, const char *version)
{
    char quoted[24];
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", version);
    return item->version[0] == '\0' || strcmp(item->version, version) == 0 ||
           strcmp(item->version, quoted) == 0;
}

/* OpenMetrics is sent to clients that name it with at least the quality of text. */
static enum promx_format wanted_format(const char *accept)
{
    double open = 0, text = -1, any = -1;
    struct item item;
    for (const char *rest = accept; next_item(&rest, &item);) {
        if (strcasecmp(item.word, "application/openmetrics-text") == 0) {
            if (version_is(&item, "1.0.0") && item.quality > open)
                open = item.quality;
        } else if (strcasecmp(item.word, "text/plain") == 0) {
            if (version_is(&item, "0.0.4") && item.quality > text)
                text = item.quality;
        } else if (strcasecmp(item.word, "*/*") == 0 || strcasecmp(item.word, "text/*") == 0) {
            if (item.quality > any)
                any = item.quality;
        }
    }
    return open > 0 && open >= (text >= 0 ? text : any) ? PROMX_OPENMETRICS : PROMX_TEXT;
}

static bool wants_gzip(const char *accept)
{
    double gzip = -1, any = -1;
    struct item item;
    for (const char *rest = accept; next_item(&rest, &item);) {
        if (strcasecmp(item.word, "gzip") == 0 || strcasecmp(item.word, "x-gzip") == 0)
            gzip = item.quality;
        else if (strcmp(item.word, "*") == 0)
            any = item.quality;
    }
    return (gzip >= 0 ? gzip : any) > 0;
}

struct scrape_form scrape_form(const char *accept, const char *accept_encoding)
{
    return (struct scrape_form){accept == NULL ? PROMX_TEXT : wanted_format(accept),
                                accept_encoding != NULL && wants_gzip(accept_encoding)};
}

/* ---- pages ---- */

struct scrape {
    pthread_mutex_t lock; /* held while a page is rendered; only other scrapes wait for it */
    struct http_page *pages[PROMX_FORMATS][2];
    bool has_snapshot;
    uint64_t generation, self_number, number; /* what the pages were rendered from; how many */
};

struct scrape *scrape_new(struct err *err)
{
    struct scrape *scrape = calloc(1, sizeof *scrape);
    if (scrape == NULL)
        (void)err_set(err, ERR_NOMEM, "no memory for the metrics page");
    else
        (void)pthread_mutex_init(&scrape->lock, NULL);
    return scrape;
}

static void drop_pages(struct scrape *scrape)
{
    for (enum promx_format format = 0; format < PROMX_FORMATS; format++)
        for (size_t i = 0; i < 2; i++) {
            http_page_unref(scrape->pages[format][i]);
            scrape->pages[format][i] = NULL;
        }
}

void scrape_free(struct scrape *scrape)
{
    if (scrape == NULL)
        return;
    drop_pages(scrape);
    (void)pthread_mutex_destroy(&scrape->lock);
    free(scrape);
}

static struct http_page *render(enum promx_format format, const struct metrics_view *view,
                                struct metrics_counters *counters)
{
    struct promx_page page;
    promx_page_init(&page, format, EXPORTER_PAGE_MAX);
    metrics_render(view, &page);
    metrics_counters_render(counters, view->snapshot, &page);
    promx_page_end(&page);
    size_t n = page.out.length;
    char *text = buf_take(&page.out);
    struct http_page *made =
        text == NULL ? NULL : http_page_new(text, n, promx_content_type(format));
    if (made != NULL)
        http_page_add_header(made, "Vary", "Accept, Accept-Encoding");
    return made;
}

static struct http_page *compress(enum promx_format format, const struct http_page *plain)
{
    size_t n, packed_n = 0;
    const char *text = http_page_text(plain, &n);
    char *packed = gzip_text(text, n, &packed_n);
    struct http_page *made =
        packed == NULL ? NULL : http_page_new(packed, packed_n, promx_content_type(format));
    if (made != NULL) {
        http_page_add_header(made, "Vary", "Accept, Accept-Encoding");
        http_page_add_header(made, "Content-Encoding", "gzip");
    }
    return made;
}

/* Lock held. Drops pages of an older snapshot or sample. */
static void drop_stale_pages(struct scrape *scrape, const struct metrics_view *view,
                             uint64_t self_number)
{
    uint64_t generation = view->snapshot == NULL ? 0 : view->snapshot->generation;
    if (scrape->number != 0 && scrape->has_snapshot == (view->snapshot != NULL) &&
        scrape->generation == generation && scrape->self_number == self_number)
        return;
    drop_pages(scrape);
    scrape->has_snapshot = view->snapshot != NULL;
    scrape->generation = generation;
    scrape->self_number = self_number;
    scrape->number++;
}

struct http_page *scrape_page(struct scrape *scrape, struct scrape_form form,
                              struct metrics_view *view, uint64_t self_number,
                              struct metrics_counters *counters)
{
    (void)pthread_mutex_lock(&scrape->lock);
    drop_stale_pages(scrape, view, self_number);
    struct http_page **plain = &scrape->pages[form.format][0],
                     **packed = &scrape->pages[form.format][1];
    view->number = scrape->number;
    if (*plain == NULL)
        *plain = render(form.format, view, counters);
    if (*plain != NULL && form.gzip && *packed == NULL)
        *packed = compress(form.format, *plain);
    /* Without memory to compress, the plain page is sent. */
    struct http_page *page = http_page_ref(form.gzip && *packed != NULL ? *packed : *plain);
    (void)pthread_mutex_unlock(&scrape->lock);
    return page;
}
