/* scrape.h - content negotiation of a scrape, and its page. A page is rendered once per snapshot
 * and self sample for each requested form, and shared: two scrapes of one snapshot are equal byte
 * for byte. Threads: any; the first renders, the others wait for it.
 */
#ifndef EXPORTER_METRICS_SCRAPE_H
#define EXPORTER_METRICS_SCRAPE_H

#include "exporter/http/http.h"
#include "exporter/http/limits.h"
#include "exporter/metrics/metrics.h"

struct scrape_form {
    enum promx_format format;
    bool gzip;
};
/* By RFC 9110: the client's quality decides; text is sent to clients that name neither format. The
 * headers may be NULL. */
struct scrape_form scrape_form(const char *accept, const char *accept_encoding);

struct scrape;
struct scrape *scrape_new(struct err *err);
void scrape_free(struct scrape *scrape); /* NULL is fine */
/* The page of a view; self_number: which self sample it shows. One reference, the caller's; NULL
 * without memory. Sets the view's number. */
struct http_page *scrape_page(struct scrape *scrape, struct scrape_form form,
                              struct metrics_view *view, uint64_t self_number,
                              struct metrics_counters *counters);

/* The same bytes as one gzip member; NULL without memory. */
char *gzip_text(const char *text, size_t n, size_t *out_n);

#endif
