/* report.h - doctor's findings as a page or as JSON. Pure.
 *
 * The page groups: hosts with the same result of a check are one row, and pairs with the same
 * result are few rows ("all 60", "all others"), failures first. JSON has a row for every host and
 * every pair.
 */
#ifndef CLI_DOCTOR_REPORT_H
#define CLI_DOCTOR_REPORT_H

#include "base/json.h"
#include "base/text.h"
#include "cli/doctor/diagnose.h"

enum { REPORT_PAIRED_MAX = 64 }; /* with more hosts pairs are not compared: n*(n-1) calls */

struct report {
    size_t n;                    /* hosts */
    const struct hv_host *hosts; /* their names */
    struct check *hosts_checks;  /* n * CHECK_COUNT */
    struct check
        *pairs; /* n * n by source and target, the diagonal is unused; NULL: not compared */
};

struct report_counts {
    size_t of[RESULT_COUNT];
};
struct report_counts report_count(const struct report *report);

/* Width 0 cuts nothing. False: no memory. */
bool report_page(const struct report *report, size_t width, bool coloured, struct buf *out);
void report_json(const struct report *report, struct json_object *page);

#endif
