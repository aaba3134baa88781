/* http_page.h - a page's response, for http.c. */
#ifndef EXPORTER_HTTP_HTTP_PAGE_H
#define EXPORTER_HTTP_HTTP_PAGE_H

struct MHD_Response;
struct http_page;
struct MHD_Response *http_page_response(struct http_page *page); /* borrowed */
unsigned *http_page_readers(struct http_page *page);             /* for guard_take_shared() */

#endif
