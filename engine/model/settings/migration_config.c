/* migration_config.c - see migration_config.h. */
#include "engine/model/settings/migration_config.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"

enum type { BOOL, WHOLE, BYTES, REAL, WORD };
enum { PATH_MAX_BYTES = 256 };

#define YES true
#define NO false
#define TYPE_BOOL BOOL
#define TYPE_COUNT WHOLE
#define TYPE_BYTES BYTES
#define TYPE_REAL REAL
#define TYPE_WORD WORD
static const struct row {
    const char *json;
    enum type type;
    size_t offset;
    double fallback, low, high;
    bool policy;
} rows[SETTING_COUNT] = {
#define SETTING(id, type, json, fallback, low, high, policy, help)                             \
    [SETTING_##id] = {json, TYPE_##type, offsetof(struct migration_config, id), fallback, low, \
                      high, policy},
#include "engine/model/settings/migration_config.def"
#undef SETTING
};
#undef TYPE_BOOL
#undef TYPE_COUNT
#undef TYPE_BYTES
#undef TYPE_REAL
#undef TYPE_WORD
#undef YES
#undef NO

static const char *const monitor_values[] = {
    [MONITOR_STALL] = "stall",
    [MONITOR_LEGACY] = "legacy",
};
static const char *const shadow_values[] = {
    [SHADOW_NONE] = "none",
    [SHADOW_STALL] = "stall",
    [SHADOW_LEGACY] = "legacy",
};
static const char *const compression_values[] = {
    [COMPRESSION_NONE] = "none",
    [COMPRESSION_ZSTD] = "zstd",
    [COMPRESSION_XBZRLE] = "xbzrle",
    [COMPRESSION_MT] = "mt",
};
static const struct {
    const char *const *list;
    size_t n;
} choices[SETTING_COUNT] = {
    [SETTING_monitor] = {monitor_values, COUNT(monitor_values)},
    [SETTING_shadow] = {shadow_values, COUNT(shadow_values)},
    [SETTING_compression] = {compression_values, COUNT(compression_values)},
};

const char *setting_name(enum setting setting)
{
    assert(setting < SETTING_COUNT);
    return rows[setting].json;
}

/* The field of a setting; its row has the type. */
static void *field(struct migration_config *config, enum setting setting)
{
    return (char *)config + rows[setting].offset;
}

static const void *field_const(const struct migration_config *config, enum setting setting)
{
    return (const char *)config + rows[setting].offset;
}

void migration_config_default(struct migration_config *out_config)
{
    *out_config = (struct migration_config){
#define SETTING(id, type, json, fallback, low, high, policy, help) .id = fallback,
#include "engine/model/settings/migration_config.def"
#undef SETTING
    };
}

static bool wrong(struct err *err, const char *where, const char *what)
{
    return err_set(err, ERR_UNPROCESSABLE, "%s: %s", where, what);
}

static bool in_range(const struct row *row, double value, const char *where, struct err *err)
{
    if (value < 0)
        return wrong(err, where, "must not be negative");
    if (value < row->low)
        return err_set(err, ERR_UNPROCESSABLE, "%s: %.15g is below %.15g", where, value, row->low);
    if (value > row->high)
        return err_set(err, ERR_UNPROCESSABLE, "%s: %.15g is above %.15g", where, value, row->high);
    return true;
}

static bool read_bool(struct json_object *value, const char *where, bool *out, struct err *err)
{
    if (!json_object_is_type(value, json_type_boolean))
        return wrong(err, where, "expected true or false");
    *out = json_object_get_boolean(value) != 0;
    return true;
}

static bool read_quantity(const char *text, const char *where, bool whole, int64_t *out,
                          struct err *err)
{
    if (whole ? quantity_parse_whole(text, where, out, err) : quantity_parse(text, where, out, err))
        return true;
    err->code = ERR_UNPROCESSABLE;
    return false;
}

/* COUNT and BYTES. */
static bool read_whole(const struct row *row, struct json_object *value, const char *where,
                       int64_t *out, struct err *err)
{
    int64_t number = 0;
    if (json_object_is_type(value, json_type_int)) {
        if (json_object_get_uint64(value) > INT64_MAX)
            return wrong(err, where, "the number is too large");
        number = json_object_get_int64(value);
    } else if (row->type == BYTES && json_object_is_type(value, json_type_string)) {
        if (!read_quantity(json_object_get_string(value), where, true, &number, err))
            return false;
    } else
        return wrong(err, where,
                     row->type == BYTES ? "expected a quantity such as \"64Mi\""
                                        : "expected a whole number");
    if (!in_range(row, (double)number, where, err))
        return false;
    *out = number;
    return true;
}

/* A number, or a text like "1.5": KubeVirt writes both. */
static bool read_real(const struct row *row, struct json_object *value, const char *where,
                      double *out, struct err *err)
{
    bool is_text = json_object_is_type(value, json_type_string);
    if (!is_text && !json_object_is_type(value, json_type_int) &&
        !json_object_is_type(value, json_type_double))
        return wrong(err, where, "expected a number");
    double number;
    if (is_text) {
        int64_t milli;
        const char *text = json_object_get_string(value), *dot = strchr(text, '.');
        if (!read_quantity(text, where, false, &milli, err))
            return false;
        size_t decimals = dot == NULL ? 0 : strspn(dot + 1, "0123456789");
        if (text[strspn(text, "0123456789.")] != '\0' || decimals > 3)
            return wrong(err, where, "expected a number of at most 3 decimals");
        number = (double)milli / 1000;
    } else
        number = json_object_get_double(value);
    if (!in_range(row, number, where, err))
        return false;
    double rounded = (double)(int64_t)(number * 1000 + 0.5) / 1000;
    if (rounded - number > 1e-9 || number - rounded > 1e-9)
        return wrong(err, where, "expected a number of at most 3 decimals");
    *out = rounded;
    return true;
}

static bool read_choice(enum setting setting, struct json_object *value, const char *where,
                        int *out, struct err *err)
{
    const char *text =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
    for (size_t i = 0; text != NULL && i < choices[setting].n; i++)
        if (strcmp(choices[setting].list[i], text) == 0) {
            *out = (int)i;
            return true;
        }
    struct buf list;
    buf_init(&list, 256);
    for (size_t i = 0; i < choices[setting].n; i++)
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", choices[setting].list[i]);
    if (text == NULL)
        (void)err_set(err, ERR_UNPROCESSABLE, "%s: expected one of %s", where,
                      list.data == NULL ? "its values" : list.data);
    else
        (void)err_set(err, ERR_UNPROCESSABLE, "%s: \"%.40s\" is not one of %s", where, text,
                      list.data == NULL ? "its values" : list.data);
    buf_fini(&list);
    return false;
}

static bool read_setting(enum setting setting, struct json_object *value, const char *where,
                         struct migration_config *config, struct err *err)
{
    const struct row *row = &rows[setting];
    void *out = field(config, setting);
    if (setting == SETTING_disruption)
        config->disruption_set = true;
    switch (row->type) {
    case BOOL: return read_bool(value, where, out, err);
    case WHOLE:
    case BYTES: return read_whole(row, value, where, out, err);
    case REAL: return read_real(row, value, where, out, err);
    case WORD: return read_choice(setting, value, where, out, err);
    }
    return wrong(err, where, "cannot be parsed");
}

/* One parse: `prefix` is the path to the present object, with its dot. */
struct reading {
    const char *where;
    bool from_policy;
    const char *const *ignored;
    struct migration_config config;
    uint64_t set;
};

static bool is_ignored(const struct reading *r, const char *path)
{
    for (size_t i = 0; r->ignored != NULL && r->ignored[i] != NULL; i++)
        if (strcmp(r->ignored[i], path) == 0)
            return true;
    return false;
}

static bool is_retired(const char *key)
{
    return strcmp(key, SETTING_RETIRED) == 0;
}

static enum setting find(const char *path)
{
    enum setting setting = 0;
    while (setting < SETTING_COUNT && strcmp(rows[setting].json, path) != 0)
        setting++;
    return setting;
}

static bool is_group(const char *path)
{
    size_t length = strlen(path);
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
        if (strncmp(rows[setting].json, path, length) == 0 && rows[setting].json[length] == '.')
            return true;
    return false;
}

static bool unknown(const struct reading *r, const char *path, struct err *err)
{
    const char *names[SETTING_COUNT];
    size_t n = 0;
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
        if (rows[setting].policy || !r->from_policy)
            names[n++] = rows[setting].json;
    const char *nearest = text_nearest(path, names, n);
    return err_set(err, ERR_UNPROCESSABLE, "%s.%.120s: unknown field%s%s%s", r->where, path,
                   nearest == NULL ? "" : "; did you mean ", nearest == NULL ? "" : nearest,
                   nearest == NULL ? "" : "?");
}

static bool read_group(struct reading *r, struct json_object *object, const char *prefix,
                       struct err *err);

static bool read_member(struct reading *r, const char *prefix, const char *key,
                        struct json_object *value, struct err *err)
{
    char path[PATH_MAX_BYTES], where[PATH_MAX_BYTES * 2];
    if (prefix[0] == '\0' && (is_ignored(r, key) || is_retired(key)))
        return true;
    bool fits = snprintf(path, sizeof path, "%s%s", prefix, key) < (int)sizeof path;
    bool is_path = strchr(key, '.') != NULL; /* a name with a dot does not lead into a group */
    enum setting setting = fits && !is_path ? find(path) : SETTING_COUNT;
    bool group = fits && !is_path && is_group(path);
    if (setting == SETTING_COUNT && !group)
        return unknown(r, path, err);
    (void)snprintf(where, sizeof where, "%s.%s", r->where, path);
    if (setting < SETTING_COUNT && r->from_policy && !rows[setting].policy)
        return wrong(err, where, "only the fleet's configuration may set this");
    if (value == NULL)
        return true;
    if (group) {
        (void)snprintf(path, sizeof path, "%s%s.", prefix, key);
        if (!json_object_is_type(value, json_type_object))
            return wrong(err, where, "expected an object");
        return read_group(r, value, path, err);
    }
    r->set |= UINT64_C(1) << setting;
    return read_setting(setting, value, where, &r->config, err);
}

/* As deep as the names in the table, no deeper. */
static bool read_group(struct reading *r, struct json_object *object, const char *prefix,
                       struct err *err)
{
    json_object_object_foreach(object, key, value)
    {
        if (!read_member(r, prefix, key, value, err))
            return false;
    }
    return true;
}

bool migration_config_read(struct json_object *object, bool from_policy, const char *const *ignored,
                           struct migration_config *config, uint64_t *out_set, struct err *err)
{
    const char *where = from_policy ? "spec" : "migrations";
    struct reading r = {
        .where = where, .from_policy = from_policy, .ignored = ignored, .config = *config};
    if (object != NULL && !json_object_is_type(object, json_type_object))
        return wrong(err, where, "expected an object");
    if (object != NULL && !read_group(&r, object, "", err))
        return false;
    if (json_at(object, "experimental.stallDetector") != NULL &&
        json_at(object, "experimental.downtimeTuning") != NULL)
        return err_set(err, ERR_UNPROCESSABLE,
                       "%s.experimental: stallDetector and downtimeTuning exclude each other",
                       where);
    *config = r.config;
    if (out_set != NULL)
        *out_set = r.set;
    return true;
}

static void copy_setting(struct migration_config *config, const struct migration_config *values,
                         enum setting setting)
{
    static const size_t bytes[] = {
        [BOOL] = sizeof(bool),   [WHOLE] = sizeof(int64_t), [BYTES] = sizeof(int64_t),
        [REAL] = sizeof(double), [WORD] = sizeof(int),
    };
    memcpy(field(config, setting), field_const(values, setting), bytes[rows[setting].type]);
}

void migration_config_overlay(struct migration_config *config,
                              const struct migration_config *values, uint64_t set)
{
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
        if ((set & UINT64_C(1) << setting) != 0)
            copy_setting(config, values, setting);
    if ((set & UINT64_C(1) << SETTING_disruption) != 0)
        config->disruption_set = true;
}

static struct json_object *setting_json(const struct migration_config *config, enum setting setting)
{
    const void *at = field_const(config, setting);
    char text[32];
    switch (rows[setting].type) {
    case BOOL: return json_object_new_boolean(*(const bool *)at);
    case WHOLE:
    case BYTES: return json_object_new_int64(*(const int64_t *)at);
    case REAL:
        (void)snprintf(text, sizeof text, "%.10g", *(const double *)at);
        return json_object_new_double_s(*(const double *)at, text);
    case WORD: return json_object_new_string(choices[setting].list[*(const int *)at]);
    }
    return NULL;
}

/* Adds a value under a dotted name, creating the groups on the way. */
static void add_at(struct json_object *object, const char *path, struct json_object *take_value)
{
    char part[PATH_MAX_BYTES];
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(path, '.')) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(dot - path), path);
        struct json_object *member = json_at(object, part);
        object = member != NULL ? member : json_add_object(object, part);
        path = dot + 1;
    }
    json_add(object, path, take_value);
}

struct json_object *migration_config_json(const struct migration_config *config)
{
    struct json_object *object = json_object_new_object();
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++)
        add_at(object, rows[setting].json, setting_json(config, setting));
    return object;
}

void migration_config_restore(const char *json, struct migration_config *out_config)
{
    migration_config_default(out_config);
    if (json == NULL || json[0] == '\0')
        return;
    struct err err = {0};
    OWNED(json_object) object = json_parse(json, strlen(json), "configuration", &err);
    for (enum setting setting = 0; setting < SETTING_COUNT; setting++) {
        struct json_object *value = json_at(object, rows[setting].json);
        struct err ignored = {
            0}; /* a value that a later version wrote differently keeps its default */
        struct migration_config read = *out_config;
        if (value != NULL && read_setting(setting, value, rows[setting].json, &read, &ignored))
            *out_config = read;
    }
}
