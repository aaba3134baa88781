/* columns.h - objects of a kind as a table: what `ferry get` prints. Pure. */
#ifndef CLI_PAGES_COLUMNS_H
#define CLI_PAGES_COLUMNS_H

#include "cli/pages/pages.h"

struct columns {
    enum kind kind;
    bool wide, all_namespaces;
    int64_t now_ms; /* wall, for ages */
};
/* A list's items, or the one object. Returns the rows; without any, nothing is added. */
size_t columns_render(const struct columns *choice, struct json_object *answer,
                      const struct paper *paper, struct buf *out);

#endif
