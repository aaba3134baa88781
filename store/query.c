/* query.c - see query.h. */
#include "store/query.h"

#include <string.h>

#include "base/json.h"

static int64_t bounded(int64_t value, int64_t fallback, int64_t max)
{
    return value <= 0 ? fallback : value < max ? value : max;
}

int64_t query_rows(const struct query_limits *limits)
{
    return bounded(limits->rows, QUERY_ROWS_DEFAULT, QUERY_ROWS_MAX);
}

int64_t query_ms(const struct query_limits *limits)
{
    return bounded(limits->ms, QUERY_MS_DEFAULT, QUERY_MS_MAX);
}

/* ---- CSV ---- */

static void add_field(struct buf *out, struct json_object *value)
{
    if (value == NULL)
        return;
    const char *text = json_object_get_string(value);
    if (!json_object_is_type(value, json_type_string) || strpbrk(text, ",\"\r\n") == NULL) {
        buf_add(out, text);
        return;
    }
    buf_add(out, "\"");
    for (; *text != '\0'; text++)
        buf_add_bytes(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    buf_add(out, "\"");
}

static void add_line(struct buf *out, struct json_object *values)
{
    size_t n = values != NULL ? json_object_array_length(values) : 0;
    for (size_t i = 0; i < n; i++) {
        buf_add(out, i > 0 ? "," : "");
        add_field(out, json_object_array_get_idx(values, i));
    }
    buf_add(out, "\r\n");
}

void query_csv(struct json_object *answer, struct buf *out)
{
    struct json_object *rows = json_at(answer, "rows");
    size_t n = rows != NULL ? json_object_array_length(rows) : 0;
    add_line(out, json_at(answer, "columns"));
    for (size_t i = 0; i < n; i++)
        add_line(out, json_object_array_get_idx(rows, i));
}
