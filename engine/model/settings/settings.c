/* settings.c - see settings.h. Unknown members are refused: a scheduling rule that is silently
 * ignored is violated later. */
#include "engine/model/settings/settings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

enum { WHERE_MAX = 256 };

static const char *const strategies[STRATEGY_COUNT] = {
#define STRATEGY(id, name, moves, marks, help) [STRATEGY_##id] = name,
#include "engine/model/settings/eviction.def"
#undef STRATEGY
};

const char *strategy_name(enum strategy strategy)
{
    assert(strategy < STRATEGY_COUNT);
    return strategies[strategy];
}

enum strategy strategy_from_name(const char *name)
{
    enum strategy strategy = 0;
    while (strategy < STRATEGY_COUNT && strcmp(strategies[strategy], name) != 0)
        strategy++;
    return strategy;
}

/* Builds the path of a member for an error; a long one is truncated. */
__attribute__((format(printf, 2, 3))) static void path_set(char out[static WHERE_MAX],
                                                           const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out, WHERE_MAX, fmt, args);
    va_end(args);
}

/* An object with no other members than these. NULL is one. */
static bool check_members(struct json_object *object, const char *where, const char *const *known,
                          size_t n, struct err *err)
{
    if (object == NULL)
        return true;
    if (!json_object_is_type(object, json_type_object))
        return err_set(err, ERR_INVALID, "%s: expected an object", where);
    json_object_object_foreach(object, key, member)
    {
        (void)member;
        size_t i = 0;
        while (i < n && strcmp(known[i], key) != 0)
            i++;
        if (i < n)
            continue;
        const char *nearest = text_nearest(key, known, n);
        return err_set(err, ERR_INVALID, "%s: unknown field \"%.60s\"%s%s%s", where, key,
                       nearest == NULL ? "" : "; did you mean ", nearest == NULL ? "" : nearest,
                       nearest == NULL ? "" : "?");
    }
    return true;
}

/* A list of at most `most`; NULL is an empty one. */
static bool check_list(struct json_object *array, const char *where, size_t most, size_t *out_n,
                       struct err *err)
{
    *out_n = 0;
    if (array == NULL)
        return true;
    if (!json_object_is_type(array, json_type_array))
        return err_set(err, ERR_INVALID, "%s: expected a list", where);
    size_t n = json_object_array_length(array);
    if (n > most)
        return err_set(err, ERR_INVALID, "%s: more than %zu entries", where, most);
    *out_n = n;
    return true;
}

static bool read_text(struct json_object *object, const char *where, const char *name,
                      const char **out_text, struct err *err)
{
    return json_get_text(object, name, "", out_text, err) || err_wrap(err, "%s", where);
}

static bool is_effect(const char *effect)
{
    return strcmp(effect, "NoSchedule") == 0 || strcmp(effect, "PreferNoSchedule") == 0 ||
           strcmp(effect, "NoExecute") == 0;
}

/* The members common to taints and tolerations. */
struct stain {
    const char *key, *value, *effect;
};
static bool read_stain(struct json_object *entry, const char *where, struct stain *out,
                       struct err *err)
{
    if (!json_object_is_type(entry, json_type_object))
        return err_set(err, ERR_INVALID, "%s: expected an object", where);
    if (!read_text(entry, where, "key", &out->key, err) ||
        !read_text(entry, where, "value", &out->value, err) ||
        !read_text(entry, where, "effect", &out->effect, err))
        return false;
    if (out->key[0] != '\0' && !label_key_is_valid(out->key))
        return err_set(err, ERR_INVALID, "%s.key: \"%.80s\" is not a label key", where, out->key);
    if (!label_value_is_valid(out->value))
        return err_set(err, ERR_INVALID, "%s.value: \"%.80s\" is not a label value", where,
                       out->value);
    if (out->effect[0] != '\0' && !is_effect(out->effect))
        return err_set(err, ERR_INVALID,
                       "%s.effect: \"%.40s\" is not one of NoSchedule, PreferNoSchedule, NoExecute",
                       where, out->effect);
    return true;
}

static bool read_toleration(struct json_object *entry, const char *where, struct toleration *out,
                            struct err *err)
{
    static const char *const known[] = {"key", "operator", "value", "effect", "tolerationSeconds"};
    struct stain stain;
    const char *operator;
    if (!check_members(entry, where, known, COUNT(known), err) ||
        !read_stain(entry, where, &stain, err) ||
        !read_text(entry, where, "operator", &operator, err))
        return false;
    out->exists = strcmp(operator, "Exists") == 0;
    if (!out->exists && operator[0] != '\0' && strcmp(operator, "Equal") != 0)
        return err_set(err, ERR_INVALID, "%s.operator: \"%.40s\" is not one of Equal, Exists",
                       where, operator);
    if (out->exists && stain.value[0] != '\0')
        return err_set(err, ERR_INVALID, "%s.value: must be empty when operator is Exists", where);
    if (!out->exists && stain.key[0] == '\0')
        return err_set(err, ERR_INVALID, "%s.operator: must be Exists when key is empty", where);
    TEXT_SET(out->key, stain.key);
    TEXT_SET(out->value, stain.value);
    TEXT_SET(out->effect, stain.effect);
    return true;
}

static bool read_tolerations(struct json_object *array, const char *where, struct settings *out,
                             struct err *err)
{
    size_t n;
    if (!check_list(array, where, SETTINGS_TOLERATIONS_MAX, &n, err))
        return false;
    if (n == 0)
        return true;
    out->tolerations = calloc(n, sizeof *out->tolerations);
    if (out->tolerations == NULL)
        return err_set(err, ERR_NOMEM, "%s: out of memory", where);
    out->n_tolerations = n;
    for (size_t i = 0; i < n; i++) {
        char at[WHERE_MAX];
        path_set(at, "%s[%zu]", where, i);
        if (!read_toleration(json_object_array_get_idx(array, i), at, &out->tolerations[i], err))
            return false;
    }
    return true;
}

static bool read_affinity(struct json_object *entry, const char *where, bool anti,
                          struct affinity *out, struct err *err)
{
    static const char *const known[] = {"labelSelector", "topologyKey"};
    static const char *const selector_known[] = {"matchLabels"};
    char at[WHERE_MAX];
    if (entry == NULL)
        return err_set(err, ERR_INVALID, "%s: expected an object", where);
    if (!check_members(entry, where, known, COUNT(known), err))
        return false;
    struct json_object *selector = json_at(entry, "labelSelector");
    path_set(at, "%s.labelSelector", where);
    if (!check_members(selector, at, selector_known, COUNT(selector_known), err))
        return false;
    /* In Kubernetes a missing selector matches nothing and an empty one everything: the request
     * must be explicit. */
    struct json_object *match = json_at(selector, "matchLabels");
    if (match == NULL || !json_object_is_type(match, json_type_object) ||
        json_object_object_length(match) == 0)
        return err_set(err, ERR_INVALID, "%s.matchLabels: must name at least one label", at);
    path_set(at, "%s.labelSelector.matchLabels", where);
    const char *topology_key;
    if (!read_text(entry, where, "topologyKey", &topology_key, err))
        return false;
    if (!label_key_is_valid(topology_key))
        return err_set(err, ERR_INVALID,
                       "%s.topologyKey: must be a label key, such as "
                       "kubernetes.io/hostname",
                       where);
    if (!labels_from(match, at, &out->match, err))
        return false;
    TEXT_SET(out->topology_key, topology_key);
    out->anti = anti;
    return true;
}

/* podAffinity or podAntiAffinity; appends. */
static bool read_affinities(struct json_object *object, const char *where, bool anti,
                            struct settings *out, struct err *err)
{
    static const char *const known[] = {REQUIRED, PREFERRED};
    if (!check_members(object, where, known, COUNT(known), err))
        return false;
    struct json_object *array = json_at(object, REQUIRED);
    char at[WHERE_MAX];
    path_set(at, "%s." REQUIRED, where);
    size_t n;
    if (!check_list(array, at, SETTINGS_AFFINITIES_MAX - out->n_affinities, &n, err))
        return false;
    if (n == 0)
        return true;
    struct affinity *all =
        reallocarray(out->affinities, out->n_affinities + n, sizeof *out->affinities);
    if (all == NULL)
        return err_set(err, ERR_NOMEM, "%s: out of memory", where);
    out->affinities = all;
    for (size_t i = 0; i < n; i++) {
        char item[WHERE_MAX];
        path_set(item, "%s[%zu]", at, i);
        struct affinity affinity = {0};
        if (!read_affinity(json_object_array_get_idx(array, i), item, anti, &affinity, err))
            return false;
        all[out->n_affinities++] = affinity;
    }
    return true;
}

static bool read_affinity_field(struct json_object *object, const char *where, struct settings *out,
                                struct err *err)
{
    static const char *const known[] = {"podAffinity", "podAntiAffinity"};
    if (!check_members(object, where, known, COUNT(known), err))
        return false;
    for (size_t i = 0; i < COUNT(known); i++) {
        char at[WHERE_MAX];
        path_set(at, "%s.%s", where, known[i]);
        if (!read_affinities(json_at(object, known[i]), at, i == 1, out, err))
            return false;
    }
    return true;
}

static bool read_strategy(struct json_object *member, const char *where, struct settings *out,
                          struct err *err)
{
    const char *name =
        json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
    if (name == NULL)
        return err_set(err, ERR_INVALID, "%s: expected a string", where);
    out->strategy = strategy_from_name(name);
    if (out->strategy < STRATEGY_COUNT)
        return true;
    struct buf names;
    buf_init(&names, 512);
    for (enum strategy s = STRATEGY_UNSET + 1; s < STRATEGY_COUNT; s++)
        buf_addf(&names, "%s%s", names.length > 0 ? ", " : "", strategies[s]);
    (void)err_set(err, ERR_INVALID, "%s: \"%.60s\" is not one of %s", where, name,
                  names.data == NULL ? "the known values" : names.data);
    buf_fini(&names);
    return false;
}

/* One text, checked as a whole even where the overlay wins. */
static bool read_settings(struct json_object *object, const char *where, struct settings *out,
                          struct err *err)
{
    static const char *const known[] = {"evictionStrategy", "nodeSelector", "tolerations",
                                        "affinity"};
    char at[4][WHERE_MAX];
    if (!check_members(object, where, known, COUNT(known), err))
        return false;
    for (size_t i = 0; i < COUNT(known); i++)
        path_set(at[i], "%.150s.%s", where, known[i]);
    struct json_object *strategy = json_at(object, "evictionStrategy");
    return (strategy == NULL || read_strategy(strategy, at[0], out, err)) &&
           labels_from(json_at(object, "nodeSelector"), at[1], &out->node_selector, err) &&
           read_tolerations(json_at(object, "tolerations"), at[2], out, err) &&
           read_affinity_field(json_at(object, "affinity"), at[3], out, err);
}

/* NULL and "": no settings, *out_object is NULL. */
static bool parse_text(const char *json, const char *where, struct json_object **out_object,
                       struct err *err)
{
    *out_object = NULL;
    if (json == NULL || json[0] == '\0')
        return true;
    *out_object = json_parse(json, strlen(json), where, err);
    return *out_object != NULL;
}

/* Moves the overlay's fields into base; the replaced ones are left in `over`. */
static void lay_over(struct settings *base, struct settings *over, struct json_object *overlay)
{
    const struct settings replaced = *base;
    if (json_at(overlay, "evictionStrategy") != NULL)
        base->strategy = over->strategy;
    if (json_at(overlay, "nodeSelector") != NULL) {
        base->node_selector = over->node_selector;
        over->node_selector = replaced.node_selector;
    }
    if (json_at(overlay, "tolerations") != NULL) {
        base->tolerations = over->tolerations;
        base->n_tolerations = over->n_tolerations;
        over->tolerations = replaced.tolerations;
        over->n_tolerations = replaced.n_tolerations;
    }
    if (json_at(overlay, "affinity") != NULL) {
        base->affinities = over->affinities;
        base->n_affinities = over->n_affinities;
        over->affinities = replaced.affinities;
        over->n_affinities = replaced.n_affinities;
    }
}

bool settings_parse(const char *metadata_json, const char *overlay_json, const char *where,
                    struct settings *out_settings, struct err *err)
{
    *out_settings = (struct settings){0};
    struct json_object *parsed[2] = {NULL, NULL};
    struct settings base = {0}, over = {0};
    bool ok = parse_text(metadata_json, where, &parsed[0], err) &&
              parse_text(overlay_json, where, &parsed[1], err) &&
              read_settings(parsed[0], where, &base, err) &&
              read_settings(parsed[1], where, &over, err);
    if (ok) {
        lay_over(&base, &over, parsed[1]);
        *out_settings = base;
        base = (struct settings){0};
    }
    settings_fini(&base);
    settings_fini(&over);
    json_object_free(parsed[0]);
    json_object_free(parsed[1]);
    return ok;
}

void settings_fini(struct settings *settings)
{
    labels_fini(&settings->node_selector);
    for (size_t i = 0; i < settings->n_affinities; i++)
        labels_fini(&settings->affinities[i].match);
    free(settings->affinities);
    free(settings->tolerations);
    *settings = (struct settings){0};
}

bool settings_tolerate(const struct settings *settings, const struct taint *taint)
{
    for (size_t i = 0; i < settings->n_tolerations; i++) {
        const struct toleration *t = &settings->tolerations[i];
        if ((t->effect[0] == '\0' || strcmp(t->effect, taint->effect) == 0) &&
            (t->key[0] == '\0' || strcmp(t->key, taint->key) == 0) &&
            (t->exists || strcmp(t->value, taint->value) == 0))
            return true;
    }
    return false;
}

bool taints_from(struct json_object *array, const char *where, struct taint *out_taints,
                 size_t *out_n, struct err *err)
{
    static const char *const known[] = {"key", "value", "effect", "timeAdded"};
    struct taint taints[TAINTS_MAX] = {0};
    size_t n;
    if (!check_list(array, where, TAINTS_MAX, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        char at[WHERE_MAX];
        path_set(at, "%s[%zu]", where, i);
        struct json_object *entry = json_object_array_get_idx(array, i);
        struct stain stain;
        if (!check_members(entry, at, known, COUNT(known), err) ||
            !read_stain(entry, at, &stain, err))
            return false;
        if (stain.key[0] == '\0' || stain.effect[0] == '\0')
            return err_set(err, ERR_INVALID, "%s: a taint must have a key and an effect", at);
        TEXT_SET(taints[i].key, stain.key);
        TEXT_SET(taints[i].value, stain.value);
        TEXT_SET(taints[i].effect, stain.effect);
    }
    memcpy(out_taints, taints, n * sizeof *taints);
    *out_n = n;
    return true;
}

bool taint_repels(const struct taint *taint)
{
    return strcmp(taint->effect, "NoSchedule") == 0 || strcmp(taint->effect, "NoExecute") == 0;
}
