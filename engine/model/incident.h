/* incident.h - open incidents: migrations whose end somebody must look at, one for each.
 *
 * Opened with the verdict, closed when the guest's fate is settled (incident.def says how).
 * Bounded: when as many are open as are kept, the oldest ordinary one makes room, else the new one
 * is only counted. Everything is stored, so that a page to an operator outlives a restart. Pure:
 * no clock, no I/O.
 */
#ifndef ENGINE_MODEL_INCIDENT_H
#define ENGINE_MODEL_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hypervisor/types.h"

enum { INCIDENTS_MAX = 1000, INCIDENT_AGE_MS = 15 * 60 * 1000, INCIDENT_WORD_MAX = 64 };

enum incident_kind {
#define INCIDENT_KIND(id, name, lasts, help) INCIDENT_##id,
#include "engine/model/incident.def"
#undef INCIDENT_KIND
    INCIDENT_KINDS
};
enum incident_end {
#define INCIDENT_END(id, name, help) INCIDENT_END_##id,
#include "engine/model/incident.def"
#undef INCIDENT_END
    INCIDENT_ENDS
};
const char *incident_kind_name(enum incident_kind kind);
enum incident_kind incident_kind_from_name(const char *name); /* INCIDENT_KINDS: no such */
bool incident_lasts(enum incident_kind kind);
const char *incident_end_name(enum incident_end end);

struct incident {
    char uid[37]; /* of the migration; the key */
    char ns[HV_HOST_MAX], guest[HV_NAME_MAX], node[HV_HOST_MAX], migration[254];
    char plane[INCIDENT_WORD_MAX], cause[INCIDENT_WORD_MAX];
    enum incident_kind kind;
    int64_t opened_ms; /* wall */
    enum incident_end end;
    int64_t closed_ms;
    char by[64];  /* who closed it */
    bool changed; /* must be stored */
};
struct incident_totals { /* since start */
    uint64_t opened[INCIDENT_KINDS], closed[INCIDENT_ENDS], overflow;
};

#endif
