/* rejection.h - why nodes were rejected, as data: results of placement for readers. */
#ifndef ENGINE_MODEL_FLEET_REJECTION_H
#define ENGINE_MODEL_FLEET_REJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hypervisor/types.h"

enum reject {
#define REJECT(id, name, when, help) REJECT_##id,
#include "engine/model/fleet/rejection.def"
#undef REJECT
    REJECT_COUNT
};
const char *reject_name(enum reject why);
const char *reject_help(enum reject why);
enum reject reject_from_name(const char *name); /* REJECT_COUNT: no such */
bool reject_is_for_ever(enum reject why);

enum {
    PLACEMENT_DETAIL_MAX = 128,
    PLACEMENT_KEPT_MAX = 256, /* rejections kept with details; all are counted */
    PLACEMENT_SCANS = 32,     /* nodes that fit and are compared by score */
};
struct rejection {
    char node[HV_HOST_MAX];
    enum reject why;
    char detail[PLACEMENT_DETAIL_MAX]; /* "needs 4096 MiB, 1024 MiB are free" */
};
struct rejections { /* of one job, newest full scan; owned by the job */
    int64_t at_ms;  /* wall */
    size_t n_nodes; /* nodes checked */
    unsigned counts[REJECT_COUNT];
    size_t n;
    uint16_t tags[PLACEMENT_KEPT_MAX]; /* of the nodes' names, for a fast search; 0: not made */
    struct rejection list[PLACEMENT_KEPT_MAX];
};

struct node;
/* The rejection by that node, if kept; else NULL. */
const struct rejection *rejections_find(const struct rejections *r, const struct node *node);
/* Hash of the node's name, for searches. */
uint16_t rejections_tag(const struct node *node);
bool rejections_all_for_ever(const struct rejections *r);
/* "0/3 nodes are available: 1 cordoned, 1 memory, 1 source-node." as in Kubernetes. */
void rejections_text(const struct rejections *r, char *out_text, size_t bytes);

#endif
