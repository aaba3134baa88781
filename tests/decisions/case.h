/* case.h - one case: a fleet and what happens to it, read from NAME.in (README.md has the words).
 */
#ifndef TESTS_DECISIONS_CASE_H
#define TESTS_DECISIONS_CASE_H

#include "tests/decisions/world.h"

/* Plays the whole file; its report, malloc'ed. NULL: it is not understood, err names file and line.
 */
char *case_play(const char *file, struct err *err);

/* The fleet as the document says it; setup.c. */
bool case_set_up(struct world *w, const struct yaml_node *document, struct err *err);
/* One step; steps.c. */
bool case_step(struct world *w, const struct yaml_node *step, struct err *err);
/* Writes a document, as a request does. */
bool case_put(struct world *w, enum object_kind kind, const char *name, const char *spec_json,
              struct err *err);

/* Members of a map; one that is missing leaves the value as it is. Numbers may have units. */
bool case_text(const struct world *w, const struct yaml_node *map, const char *key,
               const char **out_text, struct err *err);
bool case_number(const struct world *w, const struct yaml_node *map, const char *key,
                 uint64_t *out_value, struct err *err);
bool case_bool(const struct world *w, const struct yaml_node *map, const char *key, bool *out_value,
               struct err *err);
bool case_seconds(const struct world *w, const struct yaml_node *map, const char *key,
                  int64_t *out_ms, struct err *err);
/* "paused(migration)", "absent", "unreachable". */
bool case_observation(const struct world *w, const struct yaml_node *node,
                      struct hv_observation *out_observation, struct err *err);

#endif
