/* migration_config.h - the settings of one migration as a struct, from migration_config.def; and
 * to and from JSON. Pure. */
#ifndef ENGINE_MODEL_SETTINGS_MIGRATION_CONFIG_H
#define ENGINE_MODEL_SETTINGS_MIGRATION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct json_object;

enum setting {
#define SETTING(id, type, json, fallback, low, high, policy, help) SETTING_##id,
#include "engine/model/settings/migration_config.def"
#undef SETTING
    SETTING_COUNT
};
_Static_assert(SETTING_COUNT <= 64, "what a policy sets is a set of 64 bits");

enum monitor_kind { MONITOR_STALL, MONITOR_LEGACY };
enum shadow_kind { SHADOW_NONE, SHADOW_STALL, SHADOW_LEGACY };
enum compression { COMPRESSION_NONE, COMPRESSION_ZSTD, COMPRESSION_XBZRLE, COMPRESSION_MT };

struct migration_config {
    bool disruption_set; /* allowWorkloadDisruption was set, not derived */
#define TYPE_BOOL bool
#define TYPE_COUNT int64_t
#define TYPE_BYTES int64_t
#define TYPE_REAL double
#define TYPE_WORD int
#define SETTING(id, type, json, fallback, low, high, policy, help) TYPE_##type id;
#include "engine/model/settings/migration_config.def"
#undef SETTING
#undef TYPE_BOOL
#undef TYPE_COUNT
#undef TYPE_BYTES
#undef TYPE_REAL
#undef TYPE_WORD
};

/* A setting of earlier versions: accepted with any value, without effect. */
#define SETTING_RETIRED "relayed"

void migration_config_default(struct migration_config *out_config);
/* Reads the object's members into *config and leaves other settings unchanged; *out_set (may be
 * NULL) gets a bit 1 << enum setting for each. from_policy: settings that a policy may not set
 * are refused, as are unknown names; `ignored` names members of other readers ("selectors"),
 * NULL-ended. ERR_UNPROCESSABLE with the path, which begins with "spec" in a policy and with
 * "migrations" in the configuration: "spec.maxDowntimeMs: 0 is below 1". KubeVirt's texts where
 * it has one ("must not be negative"). stallDetector and downtimeTuning exclude each other. */
bool migration_config_read(struct json_object *object, bool from_policy, const char *const *ignored,
                           struct migration_config *config, uint64_t *out_set, struct err *err);
/* Copies the settings whose bit is set. */
void migration_config_overlay(struct migration_config *config,
                              const struct migration_config *values, uint64_t set);
/* Every setting under its name, as a new JSON object. */
struct json_object *migration_config_json(const struct migration_config *config);
/* The reverse, for frozen settings; NULL, "" and unknown names are accepted. */
void migration_config_restore(const char *json, struct migration_config *out_config);
const char *setting_name(enum setting setting); /* its JSON name */

#endif
