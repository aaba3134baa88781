/* pages.h - one object as a page for people: what describe, check and drain print. Pure: an API
 * object goes in, text comes out. Fields that are missing are not shown.
 */
#ifndef CLI_PAGES_PAGES_H
#define CLI_PAGES_PAGES_H

#include "base/json.h"
#include "base/text.h"
#include "cli/common/kinds.h"
#include "cli/common/table.h"

enum { PAGE_MAX = 4 << 20, PAGE_TEXT_MAX = 1024, PAGE_LABEL_WIDTH = 14 };

/* How wide a table may be and whether it may be coloured. */
struct paper {
    size_t width; /* 0: any */
    bool coloured;
};

/* Everything about an object of a kind, but for its events. */
void page_object(enum kind kind, struct json_object *object, const struct paper *paper,
                 struct buf *out);
/* The answer to `ferry check` (engine/control/check.h). True when it can move now. */
bool page_check(struct json_object *status, const struct paper *paper, struct buf *out);
/* What a drain would do, from the status of one that has just begun. True when it would end with
 * the node empty. */
bool page_plan(struct json_object *object, const struct paper *paper, struct buf *out);
/* One line of a drain: "3 of 8 moved, 1 moving, 2 blocked, ETA 2m05s". */
void page_drain_line(struct json_object *object, struct buf *out);

/* ---- parts ---- */
void page_fact(struct buf *out, const char *label, const char *value); /* "Label:  value" */
/* The table, two columns in; frees it. */
void page_table(struct table *take_table, const struct paper *paper, struct buf *out);
/* A map of scalars as "a=1, b=2"; empty when there is none. */
void page_pairs(struct json_object *map, char *out_text, size_t n);
void page_migration(struct json_object *object, const struct paper *paper, struct buf *out);
/* Modes, recovery and what to do about it, remedies, final numbers: pages_move.c. */
void page_move(struct json_object *object, struct buf *out);
void page_observations(struct json_object *object, struct buf *out); /* what both nodes last said */
/* A stored verdict with what it rests on: pages_verdict.c. */
void page_verdict(struct json_object *verdict, struct buf *out);
void page_drain(struct json_object *object, const struct paper *paper, struct buf *out);
/* The settings of a migration (engine/model/settings/migration_config.def) in words, a line each.
 */
void page_settings(struct json_object *settings, struct buf *out);

#endif
