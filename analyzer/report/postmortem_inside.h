/* postmortem_inside.h - what the files of the post-mortem page share. No other file includes it. */
#ifndef ANALYZER_REPORT_POSTMORTEM_INSIDE_H
#define ANALYZER_REPORT_POSTMORTEM_INSIDE_H

#include "analyzer/report/postmortem.h"

enum { PM_NUMBER_MAX = 48 }; /* at least HUMAN_TEXT_MAX */

/* UTF-8 without control characters; what is neither becomes '?'. Cut where it does not fit. */
void pm_clean(char *out, size_t n, const char *text);
void pm_bytes(int64_t bytes, char *out); /* human_bytes(); out holds PM_NUMBER_MAX, as below */
void pm_number(double value, const char *unit, char *out);            /* as fits its unit */
void pm_clock(int64_t wall_ms, char *out);                            /* "14:05:07.123" */
void pm_after(const struct postmortem *pm, int64_t at_ms, char *out); /* "+12.345 s" */

/* The cause, or that it is not known and what it resembles: as verdict_headline(), without numbers.
 */
void pm_cause(const struct store_verdict *verdict, char *out, size_t out_bytes);

/* Adds what would have helped, if anything can be computed: postmortem_help.c. */
bool pm_add_helps(struct postmortem *pm, struct err *err);

/* ---- plots: postmortem_plot.c ---- */
enum { PM_POINTS_MAX = 480 };
struct pm_points { /* at most one per column of the plot: the largest value of the column */
    size_t n;
    int64_t from_ms, to_ms;
    int64_t at_ms[PM_POINTS_MAX];
    int64_t remaining[PM_POINTS_MAX], dirty[PM_POINTS_MAX], bandwidth[PM_POINTS_MAX];
    int64_t max_remaining, max_rate;
};
/* False when there are fewer than two samples. */
bool pm_points(const struct archive *archive, size_t columns, struct pm_points *out);
void pm_plot_blocks(const struct postmortem *pm, size_t width, struct buf *out);
void pm_plot_svg(const struct postmortem *pm, struct buf *out);
void pm_html_text(struct buf *out, const char *text); /* escaped */

void pm_render_text(const struct postmortem *pm, size_t width, struct buf *out);
void pm_render_markdown(const struct postmortem *pm, struct buf *out);
void pm_render_html(const struct postmortem *pm, struct buf *out);
struct json_object *pm_json(const struct postmortem *pm); /* new */

#endif
