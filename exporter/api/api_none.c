/* api_none.c - kinds of which there are none here, that clients look for (kinds.def). */
#include "exporter/api/api.h"

static size_t count(const struct snapshot *s)
{
    (void)s;
    return 0;
}
static const char *text(const struct snapshot *s, size_t i)
{
    (void)s, (void)i;
    return "";
}
static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    (void)a, (void)b;
    return i == j;
}
static struct json_object *object(const struct snapshot *s, size_t i)
{
    (void)s, (void)i;
    return NULL;
}
static void add_cells(const struct snapshot *s, size_t i, int64_t now_ms, struct json_object *cells)
{
    (void)s, (void)i, (void)now_ms, (void)cells;
}

const struct api_view api_none = {.count = count,
                                  .ns = text,
                                  .name = text,
                                  .uid = text,
                                  .is_same = is_same,
                                  .labels = object,
                                  .object = object,
                                  .add_cells = add_cells};
