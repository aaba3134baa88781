/* scrape.h - what a scrape asks for by its headers, and the page it gets.
 *
 * A page is rendered once per snapshot and sample of Ferry itself, in each form that somebody
 * wants, and shared by all who want it then: two scrapes of one snapshot are equal byte for byte.
 * Threads: any; whoever comes first renders, the others wait for that.
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
/* By RFC 9110: the quality a client gives decides, a form it does not name is not sent, and text
 * is for everybody who names none of ours. The headers may be NULL. */
struct scrape_form scrape_form(const char *accept, const char *accept_encoding);

struct scrape;
struct scrape *scrape_new(struct err *err);
void scrape_free(struct scrape *scrape); /* NULL is fine */
/* The page of a view; self_number says which sample of Ferry itself it holds. One reference, the
 * caller's; NULL when it does not fit in memory. The view's number is filled in. */
struct http_page *scrape_page(struct scrape *scrape, struct scrape_form form,
                              struct metrics_view *view, uint64_t self_number,
                              struct metrics_counters *counters);

/* The same bytes as one gzip member; NULL when memory is short. */
char *gzip_text(const char *text, size_t n, size_t *out_n);

#endif
