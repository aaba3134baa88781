/* settings.h - what a guest asks of the fleet: where it may run, what may happen to it when its
 * node is emptied. Comes from the domain's metadata, and from the overlay object set through the
 * API, which wins field by field. Pure.
 *
 * JSON, all optional, KubeVirt's and Kubernetes' names:
 *   {"evictionStrategy": "LiveMigrate",
 *    "nodeSelector": {"zone": "a"},
 *    "tolerations": [{"key": "k", "operator": "Equal"|"Exists", "value": "v", "effect":
 * "NoSchedule"}], "affinity": {"podAffinity"|"podAntiAffinity":
 *        {"requiredDuringSchedulingIgnoredDuringExecution":
 *            [{"labelSelector": {"matchLabels": {..}}, "topologyKey": "kubernetes.io/hostname"}]}}}
 */
#ifndef ENGINE_MODEL_SETTINGS_SETTINGS_H
#define ENGINE_MODEL_SETTINGS_SETTINGS_H

#include "engine/model/settings/labels.h"

enum strategy {
#define STRATEGY(id, name, moves, marks, help) STRATEGY_##id,
#include "engine/model/settings/eviction.def"
#undef STRATEGY
    STRATEGY_COUNT
};
const char *strategy_name(enum strategy strategy);
enum strategy strategy_from_name(const char *name); /* STRATEGY_COUNT: no such */

enum { SETTINGS_TOLERATIONS_MAX = 16, SETTINGS_AFFINITIES_MAX = 8, TAINTS_MAX = 16 };

struct taint {                                                   /* of a node */
    char key[LABEL_KEY_MAX], value[LABEL_VALUE_MAX], effect[24]; /* NoSchedule, NoExecute... */
};
struct toleration {
    char key[LABEL_KEY_MAX], value[LABEL_VALUE_MAX], effect[24]; /* empty: any */
    bool exists;                                                 /* any value */
};
struct affinity {        /* required terms only; preferences are ignored */
    struct labels match; /* of other guests in its namespace */
    char topology_key[LABEL_KEY_MAX];
    bool anti;
};
struct settings { /* zeroed: no settings */
    enum strategy strategy;
    struct labels node_selector;
    size_t n_tolerations, n_affinities;
    struct toleration *tolerations; /* owned */
    struct affinity *affinities;    /* owned */
};

/* Both texts may be NULL; where names the object in errors. */
bool settings_parse(const char *metadata_json, const char *overlay_json, const char *where,
                    struct settings *out_settings, struct err *err);
void settings_fini(struct settings *settings);
bool settings_tolerate(const struct settings *settings, const struct taint *taint);

/* [{"key","value","effect"}] of a node. */
struct json_object;
bool taints_from(struct json_object *array, const char *where, struct taint *out_taints,
                 size_t *out_n, struct err *err);
/* Does the taint reject guests that do not tolerate it? NoSchedule and NoExecute do,
 * PreferNoSchedule does not. */
bool taint_repels(const struct taint *taint);

#endif
