/* api_schema.h - the schemas of the kinds, from properties.def, store/job_fields.def and
 * engine/model/settings/migration_config.def. Pure. */
#ifndef EXPORTER_API_API_SCHEMA_H
#define EXPORTER_API_API_SCHEMA_H

#include "base/json.h"
#include "exporter/api/routes.h"

/* OpenAPI's schema of the kind's objects, new. */
struct json_object *api_schema(enum api_kind kind);
/* Of all schemas: another one after each change of a table. */
uint64_t api_schema_hash(void);
/* Has the kind a field at that path? Parts are separated by dots, items of lists and keys of maps
 * are
 * "*", as in properties.def. */
bool api_schema_has(struct json_object *schema, const char *path);

#endif
