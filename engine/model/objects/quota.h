/* quota.h - ResourceQuota of a namespace: launchers, memory, CPUs. A target launcher counts like
 * the guest's own, so a namespace needs headroom to migrate. Pure. */
#ifndef ENGINE_MODEL_OBJECTS_QUOTA_H
#define ENGINE_MODEL_OBJECTS_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

struct resources { /* of one launcher, or the sum of many */
    uint64_t launchers, memory_kib, vcpus;
};
struct quota {
    bool has_launchers, has_memory, has_vcpus;
    struct resources hard;
};
enum { QUOTA_TEXT_MAX = 512 };

/* {"hard": {"launchers"|"pods"|"count/pods": n, "memory"|"requests.memory"|"limits.memory": q,
 * "cpu"|"requests.cpu"|"limits.cpu": q}}; of two names for one resource the smaller limit
 * counts. Other names are refused. ERR_UNPROCESSABLE. */
struct quota *quota_parse(const char *spec_json, struct err *err);
void quota_free(struct quota *quota);
DEFINE_OWNED(quota)

/* False with a text like Kubernetes': "exceeded quota: NAME, requested: memory=1Gi, used:
 * memory=3Gi, limited: memory=4Gi"; lists only what is exceeded. */
bool quota_allows(const struct quota *quota, const char *name, const struct resources *used,
                  const struct resources *more, char out_text[static QUOTA_TEXT_MAX]);

#endif
