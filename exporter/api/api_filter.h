/* api_filter.h - which objects a list or a watch is about: namespace, labels, fields. Pure. */
#ifndef EXPORTER_API_API_FILTER_H
#define EXPORTER_API_API_FILTER_H

#include "exporter/api/api.h"
#include "exporter/api/feed.h"

struct api_filter {
    char ns[ROUTE_PART_MAX]; /* "": all */
    struct api_selector labels, fields;
};
/* From the request's path, labelSelector and fieldSelector. ERR_INVALID with the term. */
bool api_filter_init(struct api_filter *filter, const struct http_request *request,
                     const struct api_view *view, struct err *err);
/* One of the kind and of the namespace, whatever the selectors say. */
bool api_filter_sees(const struct api_filter *filter, const struct api_view *view,
                     const struct snapshot *s, size_t i);
bool api_filter_matches(const struct api_filter *filter, const struct api_view *view,
                        const struct snapshot *s, size_t i);
/* The same of an object as it was or is by a change. */
bool api_filter_takes(const struct api_filter *filter, const struct api_view *view,
                      const struct feed_change *change, const struct feed_traits *traits);

#endif
