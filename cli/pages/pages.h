/* pages.h - an object as a text page: the output of describe, check and drain. Pure: an API object
 * goes in, text comes out. Missing fields are not shown.
 */
#ifndef CLI_PAGES_PAGES_H
#define CLI_PAGES_PAGES_H

#include "base/json.h"
#include "base/text.h"
#include "cli/common/kinds.h"
#include "cli/common/table.h"

enum { PAGE_MAX = 4 << 20, PAGE_TEXT_MAX = 1024, PAGE_LABEL_WIDTH = 14 };

/* Width of tables, and whether to use colour. */
struct page_style {
    size_t width; /* 0: unlimited */
    bool coloured;
};

/* The page of an object, without its events. */
void page_object(enum kind kind, struct json_object *object, const struct page_style *style,
                 struct buf *out);
/* The newest events of the object with that uid, of a list of events; NULL: none. */
enum { PAGE_EVENTS_MAX = 20 };
void page_events(struct json_object *events, const char *uid, struct buf *out);
/* The answer to `ferry check` (engine/control/check.h). No: not now, or never. Doubtful: it can
 * start, but the forecast expects an abort. */
enum check_answer { CHECK_NO, CHECK_DOUBTFUL, CHECK_YES };
enum check_answer page_check(struct json_object *status, const struct page_style *style,
                             struct buf *out);
/* The plan of a drain, from the status of a dry run. True: the node would become empty. */
bool page_plan(struct json_object *object, const struct page_style *style, struct buf *out);
/* One line of a drain: "3 of 8 moved, 1 moving, 2 blocked, ETA 2m05s". */
void page_drain_line(struct json_object *object, struct buf *out);

/* ---- parts ---- */
void page_fact(struct buf *out, const char *label, const char *value); /* "Label:  value" */
/* The table, two columns in; frees it. */
void page_table(struct table *take_table, const struct page_style *style, struct buf *out);
/* A map of scalars as "a=1, b=2". */
void page_pairs(struct json_object *map, char *out_text, size_t n);
void page_migration(struct json_object *object, const struct page_style *style, struct buf *out);
/* Modes, recovery, remedies, final statistics: pages_move.c. */
void page_move(struct json_object *object, struct buf *out);
void page_observations(struct json_object *object,
                       struct buf *out); /* last observations of both nodes */
/* A stored verdict with its evidence: pages_verdict.c. */
void page_verdict(struct json_object *verdict, struct buf *out);
void page_drain(struct json_object *object, const struct page_style *style, struct buf *out);
/* The settings of a migration (engine/model/settings/migration_config.def), a line each.
 */
void page_settings(struct json_object *settings, struct buf *out);

#endif
