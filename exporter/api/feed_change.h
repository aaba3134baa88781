/* feed_change.h - a change of the feed as it is kept: all its texts in one piece of memory, so that
 * the bytes that are counted are the bytes that it costs. */
#ifndef EXPORTER_API_FEED_CHANGE_H
#define EXPORTER_API_FEED_CHANGE_H

#include <stdatomic.h>

#include "exporter/api/feed.h"

struct change_block {
    struct feed_change change; /* first */
    atomic_uint references;
    enum api_kind kind;
    size_t bytes;
    struct change_block *next; /* of all, by version */
    char text[];               /* what the change's pointers point into */
};

/* Writes the changed object as text. One reference, the caller's; NULL without memory, or when the
 * texts are longer than 2 MiB. */
struct change_block *feed_change_new(const struct version_change *change, int64_t now_ms);

struct store_event;
/* The same of an event. */
struct change_block *feed_change_of_event(const struct store_event *event, enum change_type type,
                                          uint64_t version, int64_t now_ms);

#endif
