/* page_check.h - a strict reader of pages of metrics, for tests: what Prometheus and promtool let
 * pass in silence (a series twice, a histogram without buckets) is an error here.
 *
 * Both formats: families in one piece, HELP and TYPE before samples, names that fit the type,
 * labels well formed, values that read, no series twice, histograms whole and cumulative, no
 * timestamps. OpenMetrics besides: UNIT that fits the name, exemplars only where they may be, an
 * end. */
#ifndef TESTS_PAGE_CHECK_H
#define TESTS_PAGE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct page_totals {
    size_t families, samples, exemplars, created;
};
/* False: out_why says what is wrong, and in which line. */
bool prom_page_check(const char *page, bool open, struct page_totals *out_totals, char *out_why,
                     size_t why_bytes);

#endif
