/* http_page.c - see http.h: a body that many connections share. */
#include <microhttpd.h>
#include <stdatomic.h>

#include "exporter/http/http.h"
#include "exporter/http/http_page.h"

struct http_page {
    atomic_int references;
    unsigned readers; /* connections to which it is being sent; under the guard's lock */
    struct MHD_Response *response;
    const char *text; /* the response's */
    size_t n;
};

struct http_page *http_page_new(char *take_body, size_t n, const char *type)
{
    struct http_page *page = calloc(1, sizeof *page);
    if (page != NULL)
        page->response = MHD_create_response_from_buffer(n, take_body, MHD_RESPMEM_MUST_FREE);
    if (page == NULL || page->response == NULL) {
        free(take_body);
        free(page);
        return NULL;
    }
    atomic_init(&page->references, 1);
    page->text = take_body;
    page->n = n;
    (void)MHD_add_response_header(page->response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return page;
}

void http_page_add_header(struct http_page *page, const char *key, const char *value)
{
    (void)MHD_add_response_header(page->response, key, value);
}

const char *http_page_text(const struct http_page *page, size_t *out_n)
{
    *out_n = page->n;
    return page->text;
}

struct http_page *http_page_ref(struct http_page *page)
{
    if (page != NULL)
        (void)atomic_fetch_add(&page->references, 1);
    return page;
}

void http_page_unref(struct http_page *page)
{
    if (page == NULL || atomic_fetch_sub(&page->references, 1) != 1)
        return;
    MHD_destroy_response(page->response); /* connections hold references of their own */
    free(page);
}

unsigned *http_page_readers(struct http_page *page)
{
    return &page->readers;
}

struct MHD_Response *http_page_response(struct http_page *page)
{
    return page->response;
}
