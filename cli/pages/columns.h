/* columns.h - objects of a kind as a table: what `ferry get` prints. Pure. */
#ifndef CLI_PAGES_COLUMNS_H
#define CLI_PAGES_COLUMNS_H

#include "cli/pages/pages.h"

struct columns {
    enum kind kind;
    bool wide, all_namespaces;
    int64_t now_ms; /* wall clock */
    bool is_untitled;
    struct table_widths *widths; /* of a table that goes on; NULL: it does not */
};
/* The items of a list, or one object. Returns the number of rows; without rows adds nothing. */
size_t columns_render(const struct columns *choice, struct json_object *answer,
                      const struct page_style *style, struct buf *out);

#endif
