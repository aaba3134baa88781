/* metrics.c - the table of metrics.def and how one sample is written. */
#include "exporter/metrics/metrics.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct metric_row rows[METRIC_COUNT] = {
#define METRIC(id, name, type, plane, unit, labels, help) \
    [METRIC_##                                            \
        id] = {name, sizeof(name) - 1, PROMX_##type, METRIC_PLANE_##plane, unit, labels, help},
#include "exporter/metrics/metrics.def"
#undef METRIC
};

const struct metric_row *metric_row(enum metric metric)
{
    assert(metric < METRIC_COUNT);
    return &rows[metric];
}

void metric_add_header(struct promx_page *page, enum metric metric)
{
    const struct metric_row *row = metric_row(metric);
    const struct promx_family family = {row->name, row->type, row->unit, row->help};
    promx_add_family(page, &family);
}

/* Name and labels, up to the space before the value. last: one more label, or NULL. */
static void add_start(struct buf *out, const char *name, size_t bytes, const char *labels,
                      const struct metric_pair *last)
{
    buf_add_bytes(out, name, bytes);
    if (labels[0] != '\0' || last != NULL)
        buf_add_bytes(out, "{", 1);
    buf_add(out, labels);
    if (last != NULL) {
        buf_add(out, labels[0] == '\0' ? "" : ",");
        buf_add(out, last->key);
        buf_add_bytes(out, "=\"", 2);
        promx_add_label_value(out, last->text);
        buf_add_bytes(out, "\"", 1);
    }
    buf_add(out, labels[0] != '\0' || last != NULL ? "} " : " ");
}

/* Counters outside prom_* start with the process. */
static void add_created(struct promx_page *page, const struct metric_row *row, const char *labels,
                        const struct metric_pair *last)
{
    if (page->format != PROMX_OPENMETRICS || row->type != PROMX_COUNTER || page->created_s <= 0)
        return;
    char name[128];
    int n = snprintf(name, sizeof name, "%.*s_created",
                     (int)promx_family_bytes(row->name, row->type), row->name);
    add_start(&page->out, name, (size_t)n, labels, last);
    promx_add_value(&page->out, page->created_s);
    buf_add_bytes(&page->out, "\n", 1);
}

void metric_add_sample(struct promx_page *page, enum metric metric, const char *labels,
                       double value)
{
    const struct metric_row *row = &rows[metric];
    size_t bytes = strlen(labels);
    char *start = buf_room(&page->out, row->name_bytes + bytes + PROMX_VALUE_MAX + 4), *at = start;
    if (at == NULL)
        return;
    at = mempcpy(at, row->name, row->name_bytes);
    if (bytes > 0) {
        *at++ = '{';
        at = mempcpy(at, labels, bytes);
        *at++ = '}';
    }
    *at++ = ' ';
    at = promx_put_value(at, value);
    *at++ = '\n';
    buf_wrote(&page->out, (size_t)(at - start));
    add_created(page, row, labels, NULL);
}

void metric_add_labelled(struct promx_page *page, enum metric metric, const char *labels,
                         const char *key, const char *text, double value)
{
    const struct metric_row *row = &rows[metric];
    const struct metric_pair last = {key, text};
    add_start(&page->out, row->name, row->name_bytes, labels, &last);
    promx_add_value(&page->out, value);
    buf_add_bytes(&page->out, "\n", 1);
    add_created(page, row, labels, &last);
}

void metric_add_pairs(struct buf *out, const struct metric_pair *labels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (out->length > 0)
            buf_add_bytes(out, ",", 1);
        buf_add(out, labels[i].key);
        buf_add_bytes(out, "=\"", 2);
        promx_add_label_value(out, labels[i].text);
        buf_add_bytes(out, "\"", 1);
    }
}

void metric_add_alone(struct promx_page *page, enum metric metric, double value)
{
    metric_add_header(page, metric);
    metric_add_sample(page, metric, "", value);
}

void metrics_render(const struct metrics_view *view, struct promx_page *page)
{
    if (view->snapshot != NULL) {
        metrics_render_migrations(view->snapshot, page);
        page->created_s = view->process != NULL ? view->process->start_s : 0;
        metrics_render_incidents(view->snapshot, page);
        metrics_render_fleet(view->snapshot, page);
        if (view->kubevirt)
            metrics_render_kubevirt(view->snapshot, page);
    }
    metrics_render_self(view, page);
}
